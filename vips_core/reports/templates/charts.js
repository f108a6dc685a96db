// Charts take the colours of the page; a saved image keeps the page's background, so that it stays readable.
const dark = matchMedia("(prefers-color-scheme: dark)");
function draw(onPaper) {
  const night = dark.matches && !onPaper;
  const ink = night ? "#e6eaee" : "#1d2733", grid = night ? "#353d47" : "#dfe3e8";
  const page = night ? "#12161b" : "#ffffff";
  for (const place of document.querySelectorAll(".chart")) {
    const figure = JSON.parse(place.nextElementSibling.textContent);
    Object.assign(figure.layout, {
      font: { color: ink, size: 13, family: getComputedStyle(document.body).fontFamily },
      paper_bgcolor: page,
      modebar: { bgcolor: page, color: night ? "#a3adb8" : "#5a6673", activecolor: ink },
    });
    figure.layout.margin.r = 24;
    for (const axis of [figure.layout.xaxis, figure.layout.yaxis]) {
      Object.assign(axis, { gridcolor: grid, linecolor: grid, tickcolor: grid });
      axis.title = { ...axis.title, standoff: 12 };
    }
    Plotly.react(place, figure.data, figure.layout, {
      responsive: true,
      displaylogo: false,
      displayModeBar: true,
      modeBarButtons: [["toImage"]],
      toImageButtonOptions: { format: "svg", filename: place.dataset.name },
    });
  }
}
draw(false);
dark.addEventListener("change", () => draw(false));
addEventListener("beforeprint", () => draw(true));
addEventListener("afterprint", () => draw(false));
