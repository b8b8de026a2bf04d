"use strict";
/* Display of documents. Text is always text; HTML is in a frame without scripts, resources and links. */

/* Create an element: attributes, then content. Strings become text. */
function made(name, attributes, ...inside) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...inside.filter((each) => each !== null && each !== undefined));
  return element;
}

/* Pattern of words that begin with a term and are at most slightly longer, singular or plural. */
function pattern(terms) {
  if (!terms.length) return null;
  const plain = terms.map((term) => term.replace(/(?<=.{3}[^s])s$|(?<=.{4})ing$/u, ""));
  const safe = plain.map((term) => term.replace(/[^\p{L}\p{N}]/gu, "\\$&")).sort((a, b) => b.length - a.length);
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${safe.join("|")})\\p{L}{0,3}(?![\\p{L}\\p{N}])`, "giu");
}

/* Text with highlighted terms, as nodes of a document. */
function marked(text, terms, owner = document) {
  const found = pattern(terms), parts = owner.createDocumentFragment();
  let from = 0;
  for (const match of found ? text.matchAll(found) : []) {
    const mark = owner.createElement("mark");
    mark.textContent = match[0];
    parts.append(text.slice(from, match.index), mark);
    from = match.index + match[0].length;
  }
  parts.append(text.slice(from));
  return parts;
}

/* The mark with the largest number of different words nearby. */
function best(words) {
  const marks = [...words.querySelectorAll("mark")];
  const at = marks.map((mark) => mark.getBoundingClientRect().top);
  let most = 0, found = null;
  marks.forEach((mark, i) => {
    const near = new Set();
    for (let j = i; j < marks.length && at[j] - at[i] < 200; j++) near.add(marks[j].textContent.slice(0, 4).toLowerCase());
    if (near.size > most) { most = near.size; found = mark; }
  });
  return found;
}

const KEPT = new Set(["colspan", "rowspan", "dir", "lang", "start", "alt"]);

/* HTML as the document of a frame, without scripts and resources, which the policy of the frame forbids as well. */
function framed(text, terms, title) {
  const parsed = new DOMParser().parseFromString(text, "text/html");
  const gone = "script, style, link, meta, base, iframe, frame, object, embed, form, input, button, select, textarea, svg, math, template, audio, video, noscript, title";
  for (const element of parsed.querySelectorAll(gone)) {
    if (/^(FORM|BUTTON|NOSCRIPT)$/.test(element.tagName)) element.replaceWith(...element.childNodes);
    else element.remove();
  }
  for (const element of [...parsed.body.querySelectorAll("*"), parsed.body]) {
    const within = element.tagName === "IMG" && /^data:image\/(png|jpeg|gif|webp);/i.test(element.getAttribute("src") ?? "");
    for (const { name } of [...element.attributes]) {
      if (!KEPT.has(name) && !(within && name === "src")) element.removeAttribute(name);
    }
    if (element.tagName === "IMG" && !within) element.replaceWith(`[image${element.alt ? ": " + element.alt : ""}]`);
  }
  const walker = parsed.createTreeWalker(parsed.body, NodeFilter.SHOW_TEXT), nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  for (const node of nodes) node.replaceWith(marked(node.data, terms, parsed));
  const style = document.getElementById("document-style").innerHTML;
  const policy = document.getElementById("document-style").dataset.policy;
  const frame = made("iframe", { sandbox: "", title: title || "The document", referrerpolicy: "no-referrer", tabindex: "0" });
  frame.srcdoc = `<!doctype html><html lang=""><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}"><title></title>${style}<body dir="auto">${parsed.body.innerHTML}</body></html>`;
  return frame;
}

/* The name of an XML element, with its attributes, as a label next to its content. */
function tagged(element) {
  const label = made("span", { class: "tag" }, element.tag);
  for (const [name, value] of Object.entries(element.attributes ?? {})) label.append(made("span", { class: "attribute" }, ` ${name}="${value}"`));
  return label;
}

const STRESSED = new Map(Object.entries({ it: "em", i: "em", em: "em", emph: "em", b: "strong", bold: "strong", strong: "strong", sub: "sub", sup: "sup", tt: "code", code: "code" }));

/* Content within text: words, inline elements, and blocks such as lists. */
function within(content, terms) {
  return content.map((part) => {
    if (typeof part === "string") return marked(part, terms);
    if (part.shape === "group") return structured(part, terms);
    if (part.shape === "line") return made("span", { title: part.tag }, ...inlineElements(part, terms));
    if (/^(br|lb)$/i.test(part.tag)) return made("br");
    if (part.shape === "empty") return part.attributes ? tagged(part) : "";
    const name = STRESSED.get(part.tag.toLowerCase()) ?? "span";
    return made(name, { title: part.tag }, ...within(part.content, terms));
  });
}

/* Short elements next to each other, such as the parts of a name. */
function inlineElements(element, terms) {
  return element.content.flatMap((part) => [made("span", { class: "part" }, tagged(part), " ", ...within(part.content, terms)), " "]);
}

/* An XML element: its name, and its content as plain text. */
function structured(element, terms) {
  const { shape, content } = element;
  const heading = shape === "heading" ? { role: "heading", "aria-level": "3" } : null;
  const body = shape === "group" ? content.map((part) => structured(part, terms))
    : shape === "empty" ? []
    : [made("div", { class: element.preformatted ? "preformatted" : null, ...heading }, ...(shape === "line" ? inlineElements(element, terms) : within(content, terms)))];
  return made("div", { class: `element ${shape}` }, tagged(element), ...body);
}

/* A document to be judged; `side` is its name next to another one. */
function documentCard(doc, terms, side, note) {
  const title = doc.title || doc.document;
  const heading = made("h2", {}, side ? made("span", { class: "side" }, side) : null, side ? " " : "", title);
  const head = made("div", { class: "title" }, heading);
  const card = made("article", { class: "document", "aria-label": side ? `Document ${side}` : "Document" }, head);
  if (doc.title) head.append(made("span", { class: "id" }, doc.document));
  if (note) card.append(made("p", { class: "note" }, `Your note: ${note}`));
  const pane = made("div", { class: "text", tabindex: "0", role: "region", "aria-label": `Document ${side ?? ""}: ${title}`.replace("Document :", "Document:") });
  if (doc.media === "text/html") {
    card.append(framed(doc.text, terms, title));
    return card;
  }
  if (doc.media === null) {
    pane.append(made("p", { class: "none" }, "What this document says is not in the campaign. Look it up by its name, and judge it here."));
  } else if (doc.tree) {
    pane.append(made("div", { class: "words xml" }, ...doc.tree.map((element) => structured(element, terms))));
  } else if (doc.text !== null) {
    const words = made("div", { class: "words" });
    words.append(marked(doc.text, terms));
    pane.append(words);
  } else {
    const image = made("img", { alt: title, src: doc.address });
    image.addEventListener("load", () => image.classList.toggle("small", image.naturalWidth <= 64));
    pane.classList.add("picture");
    pane.append(image);
  }
  card.append(pane);
  return card;
}

/* A long text is scrolled to the passage with most of the terms; a key shows its start. */
function begin(card) {
  const pane = card.querySelector(".text"), words = card.querySelector(".words");
  if (!words || pane.scrollHeight < 1.5 * pane.clientHeight || getComputedStyle(pane).overflowY !== "auto") return;
  const mark = best(words);
  const below = mark ? mark.getBoundingClientRect().top - pane.getBoundingClientRect().top : 0;
  if (below < 0.8 * pane.clientHeight) return;
  const jump = made("button", { type: "button", class: "jump", "aria-keyshortcuts": "f" });
  let away = false;
  const turn = () => {
    away = !away;
    pane.scrollTop = away ? below - 0.25 * pane.clientHeight : 0;
    jump.textContent = away ? "Best passage shown · from the start (f)" : "To the best passage (f)";
  };
  jump.addEventListener("click", turn);
  card.querySelector(".title").append(jump);
  turn();
}
