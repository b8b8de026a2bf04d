"use strict";
// Put a chart that answers to the pointer in the place of each picture. The `ast` interpreter runs
// Vega's expressions without eval, which the page's policy forbids.
for (const figure of document.querySelectorAll("figure[data-chart]")) {
  const plot = figure.querySelector(".plot");
  const spec = JSON.parse(figure.querySelector("script").textContent);
  const live = document.createElement("div");
  const options = {
    actions: false,
    ast: true,
    defaultStyle: false,
    renderer: "svg",
    tooltip: { disableDefaultStyle: true },
  };
  vegaEmbed(live, spec, options).then(
    () => {
      plot.replaceChildren(live);
      figure.dataset.rendered = "true";
    },
    (error) => {
      figure.dataset.rendered = "failed"; // the picture stays
      console.error(error);
    },
  );
}
