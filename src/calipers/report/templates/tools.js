"use strict";
// What a reader may do with the page: sort, filter and copy tables, take charts and results along, and
// follow links to folded parts. Without it everything can still be read.
(() => {
  function element(name, text, attributes = {}) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }
  function button(text, act, label) {
    const made = element("button", text, { type: "button", class: "tool" });
    if (label) made.setAttribute("aria-label", label);
    made.addEventListener("click", () => act(made));
    return made;
  }
  function save(blob, name) {
    const link = element("a", undefined, { download: name });
    link.href = URL.createObjectURL(blob);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }
  const fileName = (text) => text.replace(/[^\w.-]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 80) || "chart";
  const cellText = (cell) => {
    const copy = cell.cloneNode(true);
    for (const part of copy.querySelectorAll(".hidden, .narrow, .arrow, svg, .ends")) part.remove();
    return copy.textContent.replace(/\s+/g, " ").trim();
  };

  // --- Links to folded parts --------------------------------------------------------------------
  function reveal() {
    let id;
    try {
      id = decodeURIComponent(location.hash.slice(1));
    } catch {
      return;
    }
    const target = id && document.getElementById(id);
    if (!target) return;
    for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    if (target.matches("figure[hidden]")) {
      const select = target.closest(".choice").querySelector("select");
      select.value = target.dataset.choice;
      select.dispatchEvent(new Event("change"));
    }
    target.scrollIntoView();
  }
  addEventListener("hashchange", reveal);
  reveal();

  // --- Print: what is folded as well, also where the style cannot unfold it -----------------------
  let unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll("details:not([open])")];
    for (const part of unfolded) part.open = true;
  });
  addEventListener("afterprint", () => {
    for (const part of unfolded) part.open = false;
  });

  // --- Tables -----------------------------------------------------------------------------------
  // Cells that stand for several rows are written into each, so that rows can move.
  function loosened(table) {
    if (table.dataset.loose) return table.tBodies[0];
    table.dataset.loose = "yes";
    const body = table.tBodies[0];
    for (const part of [...table.tBodies]) {
      const head = part.querySelector("th[rowspan]");
      [...part.rows].forEach((row, i) => {
        if (head && i) {
          const copy = head.cloneNode(true);
          copy.classList.add("again");
          row.prepend(copy);
        }
        if (part !== body) body.append(row);
      });
      if (part !== body) part.remove();
    }
    for (const head of body.querySelectorAll("th[rowspan]")) {
      head.removeAttribute("rowspan");
      head.scope = "row";
    }
    return body;
  }
  function valueOf(row, column) {
    const cell = row.cells[column];
    const text = cell ? cellText(cell) : "";
    const bare = text.replace(/[−–]/g, "-").replace(/[,%<>±\s]/g, "");
    const number = text === "" ? NaN : parseFloat(bare.replace(/^\[/, ""));
    return /^\[?[-+]?(\d|\.\d)/.test(bare) ? number : text.toLowerCase();
  }
  function sort(table, column, head) {
    const down = head.getAttribute("aria-sort") === "ascending";
    const body = loosened(table);
    const rows = [...body.rows].map((row) => [valueOf(row, column), row]);
    const order = down ? -1 : 1;
    rows.sort(([a], [b]) => {
      if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1; // numbers first, then words
      return (a < b ? -1 : a > b ? 1 : 0) * order;
    });
    body.append(...rows.map(([, row]) => row));
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
  }
  const shownRows = (table) => [...table.rows].filter((row) => !row.hidden);
  function copy(table, made) {
    const body = loosened(table);
    const skip = [...table.tHead.rows[0].cells].map((cell) => cell.classList.contains("drawn"));
    const lines = shownRows(table).map((row) =>
      [...row.cells].filter((_, i) => !skip[i]).map(cellText).join("\t"));
    const text = lines.join("\n");
    const done = (worked) => {
      const before = made.textContent;
      made.textContent = worked ? `Copied ${body.rows.length ? lines.length - 1 : 0} rows` : "Not copied";
      setTimeout(() => (made.textContent = before), 2000);
    };
    const byHand = () => {
      const area = element("textarea", undefined, { "aria-hidden": "true" });
      area.value = text;
      document.body.append(area);
      area.select();
      const worked = document.execCommand("copy");
      area.remove();
      done(worked);
    };
    if (navigator.clipboard && window.isSecureContext)
      navigator.clipboard.writeText(text).then(() => done(true), byHand);
    else byHand();
  }
  function equip(scroll) {
    const table = scroll.querySelector("table");
    if (!table || !table.tHead || scroll.closest(".explorer, .pairs")) return;
    const number = [...table.tBodies].reduce((sum, body) => sum + body.rows.length, 0);
    if (number < 2) return;
    const name = scroll.getAttribute("aria-label") || "table";
    const bar = element("div", undefined, { class: "tools" });
    if (number > 8) {
      const input = element("input", undefined, { type: "search", size: 12 });
      const label = element("label", "Filter ");
      label.append(input);
      const left = element("span", "", { role: "status" });
      input.addEventListener("input", () => {
        const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
        const body = loosened(table);
        let many = 0;
        for (const row of body.rows) {
          const text = row.textContent.toLowerCase();
          row.hidden = !wanted.every((word) => text.includes(word));
          many += !row.hidden;
        }
        left.textContent = wanted.length ? `${many} of ${body.rows.length} rows` : "";
      });
      bar.append(label, left);
    }
    bar.append(button("Copy", (made) => copy(table, made), `Copy the table: ${name}`));
    scroll.before(bar);
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if (head.classList.contains("drawn") || !head.textContent.trim()) return;
      const made = element("button", undefined, { type: "button", class: "sort" });
      made.append(...head.childNodes);
      made.addEventListener("click", () => sort(table, column, head));
      head.append(made);
    });
  }
  for (const scroll of document.querySelectorAll(".scroll")) equip(scroll);

  // --- Charts -----------------------------------------------------------------------------------
  function pictureOf(figure) {
    const svg = figure.querySelector(".plot svg").cloneNode(true);
    const box = svg.viewBox.baseVal;
    svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    const [width, height] = [box.width || 600, box.height || 400];
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    svg.setAttribute("color", "#1c2024"); // on white, whatever the page is on
    svg.setAttribute("style", "background: #ffffff");
    return { text: new XMLSerializer().serializeToString(svg), width, height };
  }
  async function png(figure) {
    const { text, width, height } = pictureOf(figure);
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    await image.decode();
    const canvas = element("canvas");
    [canvas.width, canvas.height] = [2 * width, 2 * height];
    const context = canvas.getContext("2d");
    context.fillStyle = "#ffffff";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((give) => canvas.toBlob(give, "image/png"));
  }
  const quoted = (value) => {
    if (value === null || value === undefined) return "";
    // The charts have a character that is not seen behind names that JavaScript has for itself.
    const own = typeof value === "string" && value.endsWith("\u200c") && value.slice(0, -1) in Object.prototype;
    const text = own ? value.slice(0, -1) : String(value);
    const plain = typeof value === "string" && /^[\s']*[=+\-@]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(plain) ? `"${plain.replace(/"/g, '""')}"` : plain;
  };
  function dataOf(figure) {
    const spec = JSON.parse(figure.querySelector("script").textContent);
    const parts = Object.values(spec.datasets || {}).map((columns) =>
      Object.entries(columns).map(([name, column]) => [
        name,
        column.runs ? column.runs.flatMap(([value, times]) => Array(times).fill(value)) : column,
      ]));
    return parts.filter((columns) => columns.length).map((columns) => [
      columns.map(([name]) => quoted(name)).join(","),
      ...columns[0][1].map((_, i) => columns.map(([, list]) => quoted(list[i])).join(",")),
    ].join("\n")).join("\n\n");
  }
  const text = (made, kind) => new Blob([made], { type: kind });
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    const title = figure.querySelector("h3").firstChild.textContent.trim();
    const name = fileName(title);
    const bar = element("p", undefined, { class: "tools" });
    bar.append(
      button("SVG", () => save(text(pictureOf(figure).text, "image/svg+xml"), `${name}.svg`), `${title} as SVG`),
      button("PNG", async () => save(await png(figure), `${name}.png`), `${title} as PNG`),
      button("CSV", () => save(text(dataOf(figure), "text/csv"), `${name}.csv`), `The data of ${title} as CSV`));
    figure.querySelector("figcaption").after(bar);
  }

  // --- The result itself ------------------------------------------------------------------------
  async function unpacked(script) {
    const bytes = Uint8Array.from(atob(script.textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).blob();
  }
  const files = document.querySelector(".files");
  for (const script of files ? files.querySelectorAll("script") : [])
    files.append(button(script.dataset.name.split(".").pop().toUpperCase().replace("TEX", "LaTeX"),
      async () => save(await unpacked(script), script.dataset.name), `Download ${script.dataset.name}`));
  if (files) files.hidden = false;
})();
