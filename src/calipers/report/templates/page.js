"use strict";
// Put a chart that answers to the pointer in the place of each picture: those in sight at once, one
// after the other, those of a closed part of the page when it is opened. The `ast` interpreter runs
// Vega's expressions without eval, which the page's policy forbids.

const MIN_WIDTH = 120;

// Data by column, each a list or runs of equal values, as rows.
function unpacked(columns) {
  const lists = Object.entries(columns).map(([name, column]) => [
    name,
    column.runs ? column.runs.flatMap(([value, times]) => Array(times).fill(value)) : column,
  ]);
  const rows = lists.length === 0 ? [] : lists[0][1];
  return rows.map((_, i) => Object.fromEntries(lists.map(([name, list]) => [name, list[i]])));
}

// Whether the panels of a chart that have a width in pixels were made narrower.
function narrowed(spec, excess) {
  const panels = [spec, ...(spec.vconcat || [])].filter((panel) => typeof panel.width === "number");
  for (const panel of panels) panel.width = Math.max(MIN_WIDTH, panel.width - Math.ceil(excess));
  return panels.length > 0;
}

async function enliven(figure) {
  const plot = figure.querySelector(".plot");
  const spec = JSON.parse(figure.querySelector("script").textContent);
  for (const name in spec.datasets) spec.datasets[name] = unpacked(spec.datasets[name]);
  const live = document.createElement("div");
  const options = {
    actions: false,
    ast: true,
    defaultStyle: false,
    renderer: "svg",
    tooltip: { disableDefaultStyle: true },
  };
  figure.dataset.rendered = "pending";
  try {
    const view = (await vegaEmbed(live, spec, options)).view;
    // Where there is less room than the chart takes, it is drawn narrower rather than smaller: its
    // text keeps its size.
    const excess = live.querySelector("svg").viewBox.baseVal.width - plot.clientWidth;
    if (plot.clientWidth && excess > 0 && narrowed(spec, excess)) {
      view.finalize();
      await vegaEmbed(live, spec, options);
    }
    // The sentence of the figure says what it shows; of marks nobody wants to hear one by one.
    live.querySelector("svg").setAttribute("aria-hidden", "true");
    plot.replaceChildren(live);
    figure.dataset.rendered = "true";
  } catch (error) {
    figure.dataset.rendered = "failed"; // the picture stays
    console.error(error);
  }
}

async function enlivenAll(figures) {
  for (const figure of figures) {
    if (figure.dataset.rendered !== undefined) continue;
    await enliven(figure);
    await new Promise((resume) => setTimeout(resume)); // let the page answer in between
  }
}

// Where there is a chart for each of many systems, measures or pairs, show the one that is chosen.
function offer(place) {
  const figures = [...place.querySelectorAll("figure")];
  const label = document.createElement("label");
  const select = document.createElement("select");
  for (const figure of figures) select.append(new Option(figure.dataset.choice));
  label.append(`${place.dataset.by} `, select);
  place.prepend(label);
  const show = () => {
    for (const [i, figure] of figures.entries()) figure.hidden = i !== select.selectedIndex;
  };
  select.addEventListener("change", () => {
    show();
    enlivenAll([figures[select.selectedIndex]]);
  });
  show();
}

const inSight = (figure) => !figure.hidden && !figure.closest("details.more:not([open])");

for (const place of document.querySelectorAll(".choice")) offer(place);
const figures = [...document.querySelectorAll("figure[data-chart]")];
enlivenAll(figures.filter(inSight));
for (const part of document.querySelectorAll("details.more"))
  part.addEventListener("toggle", () => enlivenAll(figures.filter(inSight)));
