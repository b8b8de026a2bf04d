"use strict";
// A threshold that the reader moves: the matrix, the measures, the points of the curves and the lines
// in the densities follow. Everything is counted from the true and false positives at each threshold.
(() => {
  const place = document.querySelector(".explorer");
  const data = JSON.parse(place.querySelector("script").textContent);
  const [positive, negative] = data.classes;
  const SVG = "http://www.w3.org/2000/svg";

  function element(name, text, attributes = {}) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }
  function drawn(name, attributes, parent) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (parent) parent.append(made);
    return made;
  }
  const number = (x, digits) => {
    if (x === null || Number.isNaN(x)) return "undefined";
    if (!Number.isFinite(x)) return "∞";
    if (digits !== undefined) return x.toFixed(digits);
    return Number.isInteger(x) ? x.toLocaleString("en") : String(Number(x.toPrecision(6)));
  };

  // --- What stands at a threshold ---------------------------------------------------------------
  function cells(s, i) {
    const [p, n] = s.totals;
    const tp = s.tp[i], fp = s.fp[i];
    return { tp, fp, fn: p - tp, tn: n - fp };
  }
  function wilson(hits, of) {
    if (data.z === null || !(of > 0)) return null;
    const z2 = data.z * data.z, p = hits / of;
    const middle = (p + z2 / (2 * of)) / (1 + z2 / of);
    const half = (data.z / (1 + z2 / of)) * Math.sqrt((p * (1 - p)) / of + z2 / (4 * of * of));
    return [Math.max(0, middle - half), Math.min(1, middle + half)];
  }
  const share = (hits, of) => ({ value: of > 0 ? hits / of : NaN, interval: wilson(hits, of) });
  function measures({ tp, fp, fn, tn }, prevalence) {
    const se = share(tp, tp + fn), sp = share(tn, tn + fp), all = tp + fp + fn + tn;
    const out = [
      ["Sensitivity (recall)", se],
      ["Specificity", sp],
      ["PPV (precision)", share(tp, tp + fp)],
      ["NPV", share(tn, tn + fn)],
      ["LR+", { value: fp > 0 ? se.value / (1 - sp.value) : NaN }],
      ["LR−", { value: tn > 0 ? (1 - se.value) / sp.value : NaN }],
      ["Accuracy", share(tp + tn, all)],
      ["F1", { value: 2 * tp + fp + fn > 0 ? (2 * tp) / (2 * tp + fp + fn) : NaN }],
      ["Youden's J", { value: se.value + sp.value - 1 }],
      ["Predicted positive", share(tp + fp, all)],
    ];
    if (prevalence > 0 && prevalence < 1) {
      const hit = se.value * prevalence, alarm = (1 - sp.value) * (1 - prevalence);
      const miss = (1 - se.value) * prevalence, rest = sp.value * (1 - prevalence);
      out.push([`PPV at prevalence ${prevalence}`, { value: hit / (hit + alarm) }]);
      out.push([`NPV at prevalence ${prevalence}`, { value: rest / (rest + miss) }]);
    }
    return out;
  }
  // The lowest threshold that rules in with such a PPV, the highest that rules out with such an NPV.
  function regions(s, ppv, npv) {
    let rulesIn = null, rulesOut = null;
    s.at.forEach((_, i) => {
      const { tp, fp, fn, tn } = cells(s, i);
      if (ppv !== null && tp + fp > 0 && tp / (tp + fp) >= ppv - 1e-12) rulesIn = i;
      if (npv !== null && rulesOut === null && tn + fn > 0 && tn / (tn + fn) >= npv - 1e-12) rulesOut = i;
    });
    return [rulesIn, rulesOut];
  }

  // --- Controls ---------------------------------------------------------------------------------
  const form = element("div", undefined, { class: "controls" });
  function labelled(text, control) {
    const label = element("label", `${text} `);
    label.append(control);
    form.append(label);
    return control;
  }
  const systems = labelled("System", document.createElement("select"));
  data.systems.forEach((s, i) => systems.append(new Option(s.name, i)));
  systems.parentElement.hidden = data.systems.length === 1;
  const slider = element("input", undefined, { type: "range", min: 0, step: 1, class: "slide" });
  labelled("Threshold", slider);
  const shown = element("output", "", { class: "at" });
  slider.parentElement.append(" ", shown);
  const asked = (text, title) => {
    const input = element("input", undefined, {
      type: "number", min: 0, max: 1, step: "any", placeholder: "–", title });
    return labelled(text, input);
  };
  const ppv = asked("Rule in: PPV ≥", "The largest region of scores with at least this PPV");
  const npv = asked("Rule out: NPV ≥", "The largest region of scores with at least this NPV");
  const use = asked("Target prevalence", "Prevalence in the target population");
  const given = (input) => (input.value === "" ? null : Number(input.value));

  // --- The drawings -----------------------------------------------------------------------------
  const W = 300, H = 240, L = 44, B = 34;
  const panel = element("div", undefined, { class: "panels" });
  function plane(title, xTitle, yTitle) {
    const figure = element("div", undefined, { class: "panel" });
    figure.append(element("h3", title));
    const svg = drawn("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": title });
    const frame = drawn("g", { class: "frame" }, svg);
    drawn("path", { d: `M${L} 8V${H - B}H${W - 8}` }, frame);
    drawn("text", { x: (L + W) / 2, y: H - 4, "text-anchor": "middle" }, frame).textContent = xTitle;
    const y = drawn("text", {
      x: 10, y: (H - B) / 2, "text-anchor": "middle", transform: `rotate(-90 10 ${(H - B) / 2})` }, frame);
    y.textContent = yTitle;
    const ends = drawn("g", { class: "ends" }, svg);
    const body = drawn("g", {}, svg);
    figure.append(svg);
    panel.append(figure);
    return { figure, ends, body };
  }
  const px = (x) => L + x * (W - 8 - L);
  const py = (y) => H - B - y * (H - B - 8);
  function ticks(group, low, high, top) {
    group.replaceChildren();
    const decimals = Math.min(10, Math.max(0, 2 - Math.floor(Math.log10(high - low || 1))));
    for (const [at, x] of [[low, 0], [high, 1]])
      drawn("text", { x: px(x), y: H - B + 14, "text-anchor": x ? "end" : "start" }, group)
        .textContent = number(Number(at.toFixed(decimals)) + 0);
    drawn("text", { x: L - 4, y: py(1) + 9, "text-anchor": "end" }, group).textContent = top;
    drawn("text", { x: L - 4, y: py(0), "text-anchor": "end" }, group).textContent = "0";
  }
  const roc = plane("ROC curve", "FPR = 1 − specificity", "sensitivity");
  const pr = plane("Precision-recall curve", "recall", "precision");
  const dens = plane("Score distributions by class", "score", "density");
  const line = (points) =>
    points.map(([x, y], i) => `${i ? "L" : "M"}${px(x).toFixed(1)} ${py(y).toFixed(1)}`).join("");

  function curves(s) {
    const [p, n] = s.totals;
    const inRoc = [[0, 0], ...s.at.map((_, i) => [s.fp[i] / n, s.tp[i] / p])];
    const inPr = s.at.map((_, i) => [s.tp[i] / p, s.tp[i] / (s.tp[i] + s.fp[i])]);
    for (const [part, points] of [[roc, inRoc], [pr, inPr]]) {
      part.body.replaceChildren();
      ticks(part.ends, 0, 1, "1");
      drawn("path", { class: "curve", d: line(points) }, part.body);
      part.regions = drawn("g", {}, part.body);
      part.dot = drawn("circle", { class: "now", r: 5 }, part.body);
    }
    drawn("path", { class: "chance", d: line([[0, 0], [1, 1]]) }, roc.body);
    dens.figure.hidden = s.densities.length === 0;
    dens.body.replaceChildren();
    if (dens.figure.hidden) return;
    const all = s.densities.flatMap((d) => d.x).filter((x) => x !== null);
    const top = Math.max(...s.densities.flatMap((d) => d.y).filter((y) => y !== null));
    s.low = all.reduce((a, b) => Math.min(a, b));
    s.span = all.reduce((a, b) => Math.max(a, b)) - s.low || 1;
    ticks(dens.ends, s.low, s.low + s.span, number(Number(top.toPrecision(2))));
    dens.regions = drawn("g", {}, dens.body);
    s.densities.forEach(({ x, y }, k) => {
      let d = "";
      for (let i = 0; i + 1 < x.length; i++) {
        const [from, to] = [x[i], x[i + 1]].map((v) => px((v - s.low) / s.span).toFixed(1));
        d += `${i ? "L" : "M"}${from} ${py((y[i] || 0) / top).toFixed(1)}H${to}`;
      }
      drawn("path", { class: k ? "positive" : "negative", d }, dens.body);
    });
    dens.line = drawn("path", { class: "now" }, dens.body);
  }

  // --- The tables -------------------------------------------------------------------------------
  const matrix = element("table", undefined, { class: "cells" });
  const list = element("table", undefined, { class: "values" });
  function row(parts, head) {
    const made = document.createElement("tr");
    parts.forEach((text, i) => {
      const cell = element(head || i === 0 ? "th" : "td", text);
      if (head || i === 0) cell.scope = head ? "col" : "row";
      if (i) cell.className = "number";
      made.append(cell);
    });
    return made;
  }
  function table(made, caption, head, rows) {
    const top = document.createElement("thead"), body = document.createElement("tbody");
    top.append(row(head, true));
    body.append(...rows.map((parts) => row(parts)));
    made.replaceChildren(element("caption", caption), top, body);
  }
  const said = element("p", "", { class: "traits", "aria-live": "polite" });

  function shade(s, i, j) {
    for (const part of [roc, pr]) part.regions.replaceChildren();
    const dots = [["in", i], ["out", j]].filter(([, at]) => at !== null);
    for (const [kind, at] of dots) {
      const { tp, fp } = cells(s, at), [p, n] = s.totals;
      for (const [part, x, y] of [[roc, fp / n, tp / p], [pr, tp / p, tp / (tp + fp)]]) {
        const size = 6;
        drawn("rect", { class: `region ${kind}`, x: px(x) - size, y: py(y) - size, width: 2 * size,
          height: 2 * size }, part.regions);
      }
    }
    if (dens.figure.hidden) return;
    dens.regions.replaceChildren();
    for (const [kind, at] of dots) {
      const x = px(Math.min(1, Math.max(0, (s.at[at] - s.low) / s.span)));
      const [from, to] = kind === "in" ? [x, px(1)] : [px(0), x];
      drawn("rect", { class: `region ${kind}`, x: from, y: 8, width: Math.max(0, to - from),
        height: H - B - 8 }, dens.regions);
    }
  }
  function regionsText(s, i, j) {
    const [p, n] = s.totals, all = p + n, parts = [];
    const percent = (x) => `${(100 * x).toFixed(1)}%`;
    if (given(ppv) !== null) {
      if (i === null) parts.push("No threshold shown reaches that PPV.");
      else parts.push(`Rule in at ${number(s.at[i])} and above: ${percent((s.tp[i] + s.fp[i]) / all)} of the rows.`);
    }
    if (given(npv) !== null) {
      if (j === null) parts.push("No threshold shown reaches that NPV.");
      else parts.push(`Rule out below ${number(s.at[j])}: ${percent(1 - (s.tp[j] + s.fp[j]) / all)} of the rows.`);
    }
    if (i !== null && j !== null && s.at[i] > s.at[j])
      parts.push(`Open between: ${percent((s.tp[j] + s.fp[j] - s.tp[i] - s.fp[i]) / all)}.`);
    return parts.join(" ");
  }

  function show() {
    const s = data.systems[Number(systems.value)];
    const i = s.at.length - 1 - Number(slider.value);
    const of = cells(s, i), at = number(s.at[i]), [p, n] = s.totals;
    shown.textContent = at;
    slider.setAttribute("aria-valuetext", `${at}: score at or above is ${positive}`);
    table(matrix, "Rows by truth and prediction", ["truth \\ predicted", positive, negative], [
      [positive, number(of.tp), number(of.fn)],
      [negative, number(of.fp), number(of.tn)],
    ]);
    table(list, `At threshold ${at}`, ["Measure", "Value", `${data.level} CI`],
      measures(of, given(use)).map(([name, { value, interval }]) => {
        const digits = name.startsWith("LR") && value >= 10 ? 1 : 3;
        const ends = interval ? `[${interval.map((x) => x.toFixed(3)).join(", ")}]` : "";
        return [name, number(value, digits), ends];
      }));
    roc.dot.setAttribute("cx", px(of.fp / n));
    roc.dot.setAttribute("cy", py(of.tp / p));
    pr.dot.setAttribute("cx", px(of.tp / p));
    pr.dot.setAttribute("cy", py(of.tp / (of.tp + of.fp || 1)));
    if (!dens.figure.hidden) {
      const x = px(Math.min(1, Math.max(0, (s.at[i] - s.low) / s.span)));
      dens.line.setAttribute("d", `M${x} 8V${H - B}`);
    }
    const [a, b] = regions(s, given(ppv), given(npv));
    shade(s, a, b);
    said.textContent = regionsText(s, a, b);
  }
  function choose() {
    const s = data.systems[Number(systems.value)];
    slider.max = s.at.length - 1;
    // Where the threshold in use is, else in the middle.
    const goal = s.cut === null ? s.at[Math.floor(s.at.length / 2)] : s.cut;
    const i = s.at.reduce((best, t, k) => (t >= goal ? k : best), 0);
    slider.value = s.at.length - 1 - i;
    curves(s);
    show();
  }
  slider.addEventListener("input", show);
  for (const input of [ppv, npv, use]) input.addEventListener("input", show);
  systems.addEventListener("change", choose);
  const tables = element("div", undefined, { class: "tables" });
  tables.append(matrix, list);
  place.append(form, tables, panel, said);
  choose();
})();
