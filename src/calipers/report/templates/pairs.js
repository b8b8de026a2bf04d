"use strict";
// Every pair of many systems: a matrix by one measure, and the differences of the pair that is chosen.
(() => {
  const place = document.querySelector(".pairs");
  const data = JSON.parse(place.querySelector("script").textContent);
  const measures = Object.keys(data.measures);
  const of = new Map();
  data.pairs.forEach(([a, b], i) => of.set(`${a} ${b}`, [i, 1]).set(`${b} ${a}`, [i, -1]));
  const turned = { better: "worse", worse: "better", higher: "lower", lower: "higher" };
  const shown = (n, digits) =>
    n === null ? "undefined" : (n / 10 ** digits).toFixed(Math.min(digits, 10));
  const pText = (p) => (p === null ? "–" : p < 10 ? "<0.001" : (p / 1e4).toFixed(p < 1000 ? 3 : 2));

  // The difference of one system and another by a measure, whichever way it was computed.
  function difference(measure, a, b) {
    const found = of.get(`${a} ${b}`);
    if (!found) return null;
    const [i, sign] = found;
    const [digits, values, lows, highs, ps, verdicts, margin, inferior, within] = data.measures[measure];
    if (values[i] === undefined) return null;
    const ends = sign > 0 ? [lows[i], highs[i]] : [highs[i], lows[i]];
    const flip = (n) => (n === null ? null : sign * n);
    const verdict = data.verdicts[verdicts[i]];
    return {
      value: shown(flip(values[i]), digits),
      interval: ends[0] === null ? "" : `[${ends.map((n) => shown(flip(n), digits)).join(", ")}]`,
      p: pText(ps[i]),
      verdict: sign > 0 ? verdict : turned[verdict] || verdict,
      // Of the pair the other way round nobody asked whether it is worse.
      margin: margin === undefined ? undefined
        : [`±${margin}`, sign > 0 ? pText(inferior[i]) : "–", pText(within[i])],
    };
  }

  const element = (name, text, kind) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  function choice(label, options) {
    const select = document.createElement("select");
    options.forEach((name, i) => select.append(new Option(name, i)));
    const outer = element("label", `${label} `);
    outer.append(select);
    bar.append(outer);
    select.addEventListener("change", draw);
    return select;
  }
  function row(cells, head) {
    const made = document.createElement("tr");
    for (const [text, kind] of cells) made.append(element(head ? "th" : "td", text, kind));
    return made;
  }

  // The systems in the order of the ranking, where there is one.
  const ranked = [...document.querySelectorAll(".ranking tbody tr th")].map((th) => th.textContent);
  const position = (name) => (ranked.includes(name) ? ranked.indexOf(name) : ranked.length);
  const order = data.systems.map((_, i) => i);
  order.sort((a, b) => position(data.systems[a]) - position(data.systems[b]));

  const bar = element("p", undefined, "choose");
  const matrix = element("div", undefined, "scroll");
  const table = element("div", undefined, "scroll");
  const measure = choice("Measure", measures);
  const first = choice("System", order.map((i) => data.systems[i]));
  const second = choice("minus", order.map((i) => data.systems[i]));
  second.selectedIndex = Math.min(1, order.length - 1);
  for (const part of [matrix, table]) {
    part.tabIndex = 0;
    part.setAttribute("role", "region");
  }
  matrix.setAttribute("aria-label", "All pairs");
  table.setAttribute("aria-label", "Selected pair");
  const key = "Row minus column: + better, − worse, · not significant, ? not tested. Click a cell to choose its pair.";
  place.append(bar, matrix, element("p", key, "traits"), table);

  const signed = (verdict) => (marked(verdict) ? `${sign[verdict]} ` : "") + verdict;
  const kind = (verdict) =>
    `verdict ${sign[verdict] === "+" ? "up" : sign[verdict] === "−" ? "down" : ""}`.trim();
  const sign = { better: "+", higher: "+", worse: "−", lower: "−", undefined: "?", "not tested": "?" };
  const marked = (verdict) => sign[verdict] && sign[verdict] !== "?";
  function drawMatrix() {
    const made = element("table", undefined, "matrix");
    const head = row([["System", "name"], ...order.map((_, i) => [String(i + 1), "number"])], true);
    made.append(head);
    order.forEach((a, i) => {
      const line = row([[`${i + 1} ${data.systems[a]}`, "name"]], true);
      order.forEach((b, j) => {
        const d = a === b ? null : difference(measures[measure.value], a, b);
        const text = d ? sign[d.verdict] || "·" : "";
        const cell = element("td", text, text === "+" ? "up" : text === "−" ? "down" : "");
        if (d) {
          cell.title = `${data.systems[a]} less ${data.systems[b]}: ${d.value} ${d.interval} p ${d.p}`;
          cell.dataset.pair = `${i} ${j}`;
        }
        line.append(cell);
      });
      made.append(line);
    });
    matrix.replaceChildren(made);
  }
  matrix.addEventListener("click", (event) => {
    const pair = event.target.dataset && event.target.dataset.pair;
    if (!pair) return;
    [first.selectedIndex, second.selectedIndex] = pair.split(" ").map(Number);
    draw();
  });

  let drawn;
  function draw() {
    if (drawn !== measure.value) drawMatrix();
    drawn = measure.value;
    const made = element("table", undefined, "differences");
    const head = document.createElement("thead");
    const level = `${place.dataset.level} CI`;
    const margins = measures.some((name) => data.measures[name].length > 6);
    const names = ["Measure", "Difference", level, place.dataset.p, "Verdict"];
    if (margins) names.push("Margin", "p (non-inferiority)", "p (equivalence)");
    head.append(row(names.map((name, i) => [name, i && i !== 4 ? "number" : ""]), true));
    const body = document.createElement("tbody");
    for (const name of measures) {
      const d = difference(name, order[first.selectedIndex], order[second.selectedIndex]);
      if (!d) continue;
      const line = row([[name, ""], [d.value, "number value"], [d.interval, "number"],
        [d.p, "number"], [signed(d.verdict), kind(d.verdict)],
        ...(margins ? (d.margin || ["", "", ""]).map((text) => [text, "number"]) : [])], false);
      line.className = marked(d.verdict) ? "told" : "untold";
      body.append(line);
    }
    made.append(head, body);
    table.replaceChildren(made);
  }
  draw();
})();
