"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const AHEAD = 64, KNOWN = 500;
  let session, outbox;
  let queue = [];            // keys of the next tasks, as the server knows them
  let trail = [], at = -1;   // keys of the tasks displayed so far, and the index of the current one
  let acts = [];             // events that can be undone: {id, task, kind, before}
  let focus = null;          // the selected topic
  let since = 0, seen = 0, lastTopic = null, filling = false;
  const tasks = new Map();   // loaded tasks by key
  const handled = new Set(); // keys that were judged or skipped in this window

  const now = () => trail[at] !== undefined ? tasks.get(trail[at]) : undefined;
  const ready = () => $("desk").dataset.shown === trail[at] && now() !== undefined;
  const topicOf = (task) => session.topics.find((topic) => topic.topic === task.topic);
  const pairs = () => session.mode === "preferences";
  const names = (task) => task.documents.map((doc) => doc.title || doc.document);
  const quoted = (task) => names(task).map((name) => `“${name.length > 60 ? name.slice(0, 59) + "…" : name}”`).join(" and ");
  const address = (path, more = {}) => {
    const asked = new URLSearchParams(more);
    if (focus !== null) asked.set("topic", focus);
    return `api/${path}?${asked}`;
  };
  const uuid = () => crypto.randomUUID ? crypto.randomUUID()
    : [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

  async function get(path, more) {
    const response = await fetch(address(path, more), { signal: AbortSignal.timeout(20000) });
    const answer = await response.json();
    if (!response.ok) throw Object.assign(new Error(answer.error), { status: response.status });
    return answer;
  }

  /* ------------------------------------------------------------------------------------- judgments */

  const choices = () => pairs()
    ? [
      { key: "1", grade: 1, meaning: "A is better" },
      { key: "0", grade: 0, meaning: "Equally good" },
      { key: "2", grade: -1, meaning: "B is better" },
    ]
    : session.grades.map(({ grade, meaning }) => ({ key: grade >= 0 && grade <= 9 ? String(grade) : null, grade, meaning }));
  const meaning = (grade) => choices().find((choice) => choice.grade === grade)?.meaning ?? String(grade);
  const gradeLabel = (grade) => pairs() ? meaning(grade) : `${grade} · ${meaning(grade)}`;

  /* An action applies to the task that is displayed; the next one is displayed after it. */
  function judge(grade) {
    if (!ready()) return;
    const task = now(), before = task.current;
    const event = act(pairs() ? "preference" : "grade", task, { grade, replaces: before?.id ?? null });
    acts.push({ id: event.id, task: task.task, kind: event.kind, before });
    task.current = { id: event.id, grade };
    handled.add(task.task);
    tell(`${quoted(task)}: ${gradeLabel(grade)}`);
    onward();
  }

  function skip() {
    if (!ready()) return;
    const task = now();
    if (!task.current && !task.skipped) {
      const event = act("skip", task, {});
      acts.push({ id: event.id, task: task.task, kind: "skip", before: null });
      task.skipped = true;
      tell(`${quoted(task)}: skipped`);
    }
    handled.add(task.task);
    onward();
  }

  function undo() {
    const last = acts.pop();
    if (!last) return tell("There is nothing to undo");
    act("undo", { task: last.task }, { replaces: last.id });
    handled.delete(last.task);
    const task = tasks.get(last.task);
    if (task) {
      if (last.kind === "skip") task.skipped = false;
      else task.current = last.before;
      tell(`${quoted(task)}: undone`);
    }
    visit(last.task);
  }

  function act(kind, task, more) {
    const seconds = kind === "note" || kind === "undo" ? null : Math.round(10 * elapsed()) / 10000;
    const event = { id: uuid(), task: task.task, kind, seconds, ...more };
    outbox.add(event);
    return event;
  }

  /* Handle the response of the server to an event. */
  function answered(event, status, answer) {
    const task = tasks.get(event.task);
    const later = outbox.waiting.some((each) => each.task === event.task);
    if (status === 200) {
      queue = answer.queue;
      session.progress = answer.progress;
      const topic = session.topics.find((each) => each.topic === answer.topic.topic);
      if (topic) topic.progress = answer.topic.progress;
      if (task && !later && event.kind === "undo") task.current = answer.current;
    } else {
      acts = acts.filter((each) => each.id !== event.id);
      if (status === 409) conflict(event, task, answer);
      else notice(`This could not be saved: ${answer?.error ?? status}`);
      if (!later && !task?.current) handled.delete(event.task);
    }
    progress();
    fill();
  }

  async function conflict(event, task, answer) {
    if (!task) { // from an earlier window
      try { await know((await get("tasks", { keys: event.task }))[0]); } catch { /* it is no longer pooled */ }
      task = tasks.get(event.task);
    }
    if (task && answer.current !== undefined) task.current = answer.current;
    if (trail[at] === event.task) show();
    const what = task ? quoted(task) : "This document";
    if (event.kind === "undo") return notice(`${what} was judged again in another window; nothing was undone.`);
    if (answer.current?.grade === event.grade) return; // the same grade
    const state = answer.current
      ? `was judged “${gradeLabel(answer.current.grade)}” in another window at ${new Date(answer.current.time).toLocaleTimeString()}`
      : "was withdrawn in another window";
    notice(`${what} ${state}. Your “${gradeLabel(event.grade)}” was not saved.`, `Save “${gradeLabel(event.grade)}”`, () => {
      if (!task) return;
      const again = act(event.kind, task, { grade: event.grade, replaces: task.current?.id ?? null });
      acts.push({ id: again.id, task: task.task, kind: event.kind, before: task.current });
      task.current = { id: again.id, grade: event.grade };
      if (trail[at] === task.task) show();
    }, answer.current ? `Keep “${gradeLabel(answer.current.grade)}”` : "Leave it");
  }

  /* ------------------------------------------------------------------------------------- navigation */

  const next = () => queue.find((key) => !handled.has(key) && key !== trail[trail.length - 1]);

  /* Go to the next open task: of those displayed before, else a new one. */
  function onward() {
    do at += 1; while (at < trail.length && handled.has(trail[at]));
    if (at >= trail.length) {
      at = trail.length;
      const key = next();
      if (key !== undefined) trail.push(key); // else all is done, or more has to be loaded
    }
    show();
    fill();
  }

  function back() {
    if (at <= 0) return tell("This is the first document");
    at -= 1;
    show();
    fill();
  }

  /* Display an earlier or skipped task; the current one comes after it. */
  function visit(key) {
    const before = trail.lastIndexOf(key);
    if (before >= 0) at = before;
    else {
      at = Math.min(Math.max(at, 0), trail.length);
      trail.splice(at, 0, key);
    }
    show();
    fill();
  }

  async function choose(topic) {
    focus = topic;
    const here = trail[at];
    if (here !== undefined && at === trail.length - 1 && !handled.has(here) && !tasks.get(here)?.current) trail.pop();
    at = trail.length;
    blank("Loading …");
    try {
      ({ queue, progress: session.progress } = await get("queue"));
    } catch (error) { return failed(error); }
    at = trail.length - 1;
    onward();
  }

  /* Load the next tasks in advance. */
  async function fill() {
    if (filling) return;
    filling = true;
    try {
      for (;;) {
        const wanted = [...new Set([trail[at], trail[at - 1], ...queue])].filter((key) => key !== undefined && !tasks.has(key) && (key === trail[at] || !handled.has(key)));
        if (!wanted.length) break;
        for (const task of await get("tasks", { keys: wanted.slice(0, 16).join(",") })) await know(task);
        if (at >= trail.length && next() !== undefined) onwardSoon();
        else if (!ready()) show();
      }
      if (at >= trail.length) next() !== undefined ? onwardSoon() : show();
    } catch (error) {
      if (error.status === 422) await forget().catch(failed);
      else failed(error);
      setTimeout(fill, 2000);
    } finally { filling = false; }
  }

  /* The tasks have changed on the server: continue with those that are loaded. */
  async function forget() {
    trail = trail.filter((key) => tasks.has(key));
    ({ queue, progress: session.progress } = await get("queue"));
    onwardSoon();
  }

  function onwardSoon() { at = trail.length - 1; onward(); }

  async function know(task) {
    await Promise.all(task.documents.map(async (doc, which) => {
      if (!doc.media?.startsWith("image/")) return;
      const response = await fetch(address(`image/${task.task}/${which}`));
      if (response.ok) doc.address = URL.createObjectURL(await response.blob());
    }));
    const waiting = outbox.waiting.filter((event) => event.task === task.task && event.kind !== "note");
    for (const event of waiting) { // recorded before this window was opened, and not yet on the server
      if (event.kind === "skip") task.skipped = true;
      else if (event.kind !== "undo") task.current = { id: event.id, grade: event.grade };
      else if (event.replaces === task.current?.id) task.current = null;
    }
    tasks.set(task.task, task);
    for (const [key, old] of tasks) {
      if (tasks.size <= KNOWN) break;
      if (key === trail[at] || queue.includes(key)) continue;
      for (const doc of old.documents) if (doc.address) URL.revokeObjectURL(doc.address);
      tasks.delete(key);
    }
  }

  /* ---------------------------------------------------------------------------------------- display */

  function blank(text) {
    $("desk").dataset.shown = "";
    $("documents").replaceChildren(made("p", { class: "waiting" }, text));
  }

  function show() {
    const task = now(), ended = at >= trail.length;
    $("end").hidden = true;
    $("documents").hidden = false;
    $("given").hidden = !task?.given; // of an adjudicator
    $("given").replaceChildren(...(task?.given ?? []).map(({ assessor, grade, note }) =>
      made("li", {}, made("strong", {}, assessor), ` ${gradeLabel(grade)}`, note && `: ${note}`)));
    if (task === undefined) {
      blank(ended && outbox.waiting.length ? "Saving …" : "Loading …");
      if (ended && !outbox.waiting.length && next() === undefined) finish();
    } else {
      const held = $("documents").contains(document.activeElement), topic = topicOf(task);
      if (task.task !== $("desk").dataset.shown) { since = performance.now(); seen = 0; }
      $("desk").dataset.shown = task.task;
      const sides = task.documents.length > 1 ? ["A", "B"] : [null];
      const cards = task.documents.map((doc, which) => documentCard(doc, topic.terms, sides[which], which ? "" : task.note));
      $("documents").replaceChildren(...cards);
      const fresh = about(topic);
      cards.forEach(begin);
      if (scrollY > 0) scrollTo({ top: fresh ? 0 : $("documents").getBoundingClientRect().top + scrollY - 12 });
      if (held) cards[0].querySelector(".text, iframe").focus({ preventScroll: true });
    }
    for (const button of $("grades").children) {
      const chosen = task?.current && String(task.current.grade) === button.dataset.grade;
      button.setAttribute("aria-pressed", chosen ? "true" : "false");
      button.disabled = task === undefined;
    }
    progress();
  }

  function about(topic) {
    if (lastTopic === topic.topic) { $("fresh").hidden = true; return false; }
    $("fresh").hidden = lastTopic === null || session.topics.length < 2;
    if (!$("fresh").hidden) tell(`New topic: ${topic.title}`);
    lastTopic = topic.topic;
    for (const part of ["description", "narrative"]) $(part).replaceChildren(marked(topic[part], []));
    $("topic-title").textContent = topic.title;
    $("description").hidden = !topic.description || topic.description === topic.title;
    $("more").hidden = !topic.narrative;
    $("structure").textContent = topic.structure.length ? `Target elements: ${topic.structure.join(" · ")}` : "";
    $("keywords").textContent = topic.keywords ? `Keywords: ${topic.keywords}` : "";
    $("topics").value = topic.topic;
    $("topic").scrollTop = 0;
    return true;
  }

  function progress() {
    const saved = session.progress;
    const done = saved.done, all = done + saved.remaining + saved.skipped;
    const left = saved.remaining + saved.skipped;
    const parts = [pairs() && left ? `${done} judged, at most ${left} to go` : `${done} of ${all} judged`];
    if (saved.skipped) parts.push(`${saved.skipped} skipped`);
    if (saved.seconds !== null && left) parts.push(duration(saved.seconds));
    $("progress").textContent = parts.join(" · ");
    $("bar").setAttribute("aria-valuemax", all);
    $("bar").setAttribute("aria-valuenow", done);
    $("bar").firstElementChild.style.transform = `scaleX(${all ? done / all : 1})`;
    for (const option of $("topics").options) {
      const topic = session.topics.find((each) => each.topic === option.value);
      const { done: had, left: more, skipped } = topic.progress;
      option.textContent = `${topic.title} (${more + skipped ? `${had} of ${had + more + skipped}` : "done"})`;
    }
  }

  function duration(seconds) {
    const minutes = Math.round(seconds / 60);
    if (minutes < 1) return "less than a minute left";
    if (minutes < 60) return `about ${minutes} min left`;
    const hours = Math.floor(minutes / 60), rest = minutes % 60;
    return `about ${hours} h${rest ? ` ${rest} min` : ""} left`;
  }

  function finish() {
    const { done, left, skipped } = session.progress;
    $("documents").hidden = true;
    $("end").hidden = false;
    const none = done + left + skipped === 0;
    $("end-title").textContent = none ? "Nothing to judge" : skipped ? "Almost done" : "All done, thank you";
    $("end-text").textContent = none ? "No documents of your topics are pooled."
      : skipped ? `You judged ${done} and skipped ${skipped}.` : `You judged ${done}. Everything is saved.`;
    $("end-aside").hidden = !skipped;
    $("end-list").hidden = !done;
    if (document.activeElement === document.body) $("end").focus();
  }

  const tell = (text) => { $("last").textContent = text; };

  function notice(text, yes, does, no = "Close") {
    const box = made("div", { class: "notice" }, made("p", {}, text));
    const button = (label, main, then) => {
      const one = made("button", { type: "button", class: main }, label);
      one.addEventListener("click", () => { box.remove(); then?.(); });
      box.append(one);
    };
    if (yes) button(yes, "main", does);
    button(no, null);
    $("notices").append(box);
  }

  function saved(state, waiting) {
    const many = waiting > 1 ? ` ${waiting}` : "";
    const text = {
      saved: "Saved", saving: `Saving${many} …`, waiting: `Not saved yet: ${waiting}`, locked: `Not saved: ${waiting}`,
    }[state];
    $("saved").dataset.state = state;
    $("saved-text").textContent = text;
    $("saved").title = state === "waiting" ? "The server cannot be reached. Judgments are stored in this browser and saved as soon as possible."
      : state === "locked" ? "Open your link again in this browser to save everything." : "";
  }

  function failed(error) {
    if (error.status === 401 || error.status === 403) closed(error.status);
    else if (!ready()) blank("The server cannot be reached; trying again …");
  }

  function closed() {
    if (session) return saved("locked", outbox.waiting.length);
    $("closed").hidden = false;
    $("closed-text").textContent = "Open the link that you were given in this browser: it identifies you. If it is lost or no longer valid, ask for a new one.";
  }

  /* -------------------------------------------------------------------------------------- dialogs */

  function note() {
    if (!ready()) return;
    const task = now(), dialog = $("note");
    $("note-of").textContent = quoted(task);
    $("note-text").value = task.note;
    dialog.returnValue = "";
    dialog.onclose = () => {
      const text = $("note-text").value.trim();
      if (dialog.returnValue !== "save" || text === task.note) return;
      act("note", task, { note: text });
      task.note = text;
      tell(`${quoted(task)}: ${text ? "note saved" : "note deleted"}`);
      if (trail[at] === task.task) show();
    };
    dialog.showModal();
    $("note-text").focus();
  }

  async function list() {
    let found;
    try { found = await get("list"); } catch { return tell("The list cannot be loaded: the server cannot be reached"); }
    const group = (title, lines) => lines.length ? [made("h3", {}, `${title} (${lines.length})`), made("ul", {}, ...lines.map((line) => {
      const topic = session.topics.find((each) => each.topic === line.topic);
      const button = made("button", { type: "button" },
        made("span", {}, line.titles.join(" and ")),
        made("span", {}, line.grade === null ? "" : gradeLabel(line.grade)),
        made("span", { class: "of" }, [topic?.title, line.note && `note: ${line.note}`].filter(Boolean).join(" · ")));
      button.addEventListener("click", () => { $("list").close(); tasks.delete(line.task); visit(line.task); });
      return made("li", {}, button);
    }))] : [];
    const parts = [...group("Skipped", found.aside), ...group("Judged", found.judged)];
    $("listed").replaceChildren(...(parts.length ? parts : [made("p", {}, "No judgments yet.")]));
    $("list").showModal();
  }

  async function aside() {
    let found;
    try { found = await get("list"); } catch (error) { return failed(error); }
    at = trail.length - 1;
    for (const { task } of found.aside) {
      trail.push(task);
      handled.delete(task);
      tasks.delete(task);
    }
    onward();
  }

  function help() { $("help").showModal(); }

  /* ------------------------------------------------------------------------------------------ keys */

  const KEYS = { u: undo, s: skip, n: note, b: back, l: list, "?": help, f: () => document.querySelector(".jump")?.click() };

  function pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (document.querySelector("dialog[open]")) return;
    // (For a moment, the focus is still in a dialog that was closed.)
    if (event.target.closest?.("input, textarea, select") && !event.target.closest("dialog")) return;
    if (!$("keys").checked || $("desk").hidden) return;
    const choice = choices().find((each) => each.key === event.key);
    const does = choice ? () => judge(choice.grade) : KEYS[event.key] ?? KEYS[event.key.toLowerCase()];
    if (!does) return scroll(event);
    event.preventDefault();
    if (!event.repeat) does(); // a key that is held down judges once
  }

  /* Keys that scroll the document, unless something else has the focus. */
  function scroll(event) {
    const pane = document.querySelector(".document .text");
    if (document.activeElement !== document.body || !pane || getComputedStyle(pane).overflowY !== "auto") return;
    const page = 0.9 * pane.clientHeight, end = pane.scrollHeight;
    const by = { ArrowDown: 48, ArrowUp: -48, PageDown: page, PageUp: -page, " ": event.shiftKey ? -page : page, Home: -end, End: end }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    pane.scrollBy({ top: by });
  }

  /* Keys pressed in a frame do not reach the page: after a click it loses the focus, with the Tab key it may keep it. */
  let tabbed = 0;
  function releaseFocus() {
    setTimeout(() => {
      if (document.activeElement?.tagName !== "IFRAME") return;
      if (performance.now() - tabbed > 500) { document.activeElement.blur(); window.focus(); }
      else tell("The keys scroll the document now; press Tab to judge again");
    });
  }

  const elapsed = () => seen + (document.hidden ? 0 : performance.now() - since);

  /* ----------------------------------------------------------------------------------------- begin */

  function set() {
    document.title = `${session.campaign}: judging`;
    $("campaign").textContent = session.campaign;
    $("assessor").textContent = session.assessor;
    $("desk").classList.toggle("pairs", pairs());
    $("topics").replaceChildren(...session.topics.map((topic) => made("option", { value: topic.topic }, topic.title)));
    $("grades").replaceChildren(...choices().map(({ key, grade, meaning: text }) => {
      const button = made("button", { type: "button", "data-grade": grade, "aria-pressed": "false", "aria-keyshortcuts": key }, key === null ? null : made("kbd", {}, key), text);
      button.addEventListener("click", () => judge(grade));
      return button;
    }));
    $("help-how").textContent = session.mode === "adjudication"
      ? "Read the topic, the document, and the grades and notes of the assessors, and decide. Your decision counts."
      : pairs()
      ? "Read the topic, then both documents, and choose the more relevant one."
      : "Read the topic, then the document, and grade its relevance. A grade is saved, and the next document is shown.";
    const keys = [...choices().filter((each) => each.key !== null).map(({ key, meaning: text }) => [key, text]),
      ["u", "undo the last judgment"], ["s", "skip the document, and return to it later"], ["n", "write a note"],
      ["b", "go back to the previous document"], ["l", "list your judgments and skipped documents"], ["f", "long text: best passage, or the start"], ["?", "this help"]];
    $("help-keys").replaceChildren(...keys.flatMap(([key, text]) => [made("dt", {}, made("kbd", {}, key)), made("dd", {}, text)]));
  }

  async function begun() {
    const token = location.hash.slice(1);
    if (token) {
      history.replaceState(null, "", location.pathname);
      const response = await fetch("api/enter", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token }) });
      await response.text(); // so that the connection is free again
      if (!response.ok) return closed();
    }
    session = await get("session");
    queue = session.queue;
    acts = session.acts;
    trail = [...new Set(acts.map((each) => each.task).reverse())].reverse();
    trail.forEach((key) => handled.add(key));
    set();
    outbox = new Outbox(`calipers ${session.id} ${session.assessor} `, () => address("events"), answered, saved);
    for (const event of outbox.waiting) {
      if (event.kind === "undo") { handled.delete(event.task); acts = acts.filter((each) => each.id !== event.replaces); }
      else if (event.kind !== "note") {
        handled.add(event.task);
        if (!acts.some((each) => each.id === event.id)) acts.push({ id: event.id, task: event.task, kind: event.kind, before: null });
      }
    }
    at = trail.length - 1;
    $("more").open = !matchMedia("(max-width: 54rem)").matches;
    $("desk").hidden = false;
    onward();
  }

  async function start() {
    try { await begun(); } catch (error) {
      if (error.status === 401 || error.status === 403) return closed();
      $("closed").hidden = false;
      $("closed-title").textContent = "The server cannot be reached";
      $("closed-text").textContent = "Trying again …";
      setTimeout(() => { $("closed").hidden = true; $("closed-title").textContent = "Open your link"; start(); }, 1500);
    }
  }

  try { $("keys").checked = localStorage.getItem("calipers keys") !== "off"; } catch { /* the default */ }
  $("keys").addEventListener("change", () => { try { localStorage.setItem("calipers keys", $("keys").checked ? "on" : "off"); } catch { /* for this window only */ } });
  $("topics").addEventListener("change", () => { choose($("topics").value); $("topics").blur(); });
  $("end-aside").addEventListener("click", aside);
  $("end-list").addEventListener("click", list);
  $("note-text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) $("note").close("save");
  });
  for (const button of document.querySelectorAll("[data-act]")) button.addEventListener("click", KEYS[{ undo: "u", skip: "s", note: "n", back: "b", list: "l", help: "?" }[button.dataset.act]]);
  addEventListener("keydown", (event) => { if (event.key === "Tab") tabbed = performance.now(); pressed(event); });
  addEventListener("blur", releaseFocus);
  addEventListener("hashchange", () => { if (location.hash.length > 1) location.reload(); });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) seen += performance.now() - since;
    else since = performance.now();
  });
  start();
})();
