// CPU and memory over time: a chart of all extensions together, and below it a line for each of the heaviest. The
// coordinates are data: thousandths of the run across, percent or MiB upwards.
const use = data.use;
const drawn = new Map();  // key of a line -> whether it is drawn
const xs = (use?.times ?? []).map((time) => ((1000 * time) / data.end).toFixed(2));
const dot = xs.length === 1 ? " dot" : "";
const valuesOf = (key, measure) => (key === "host" ? use.host : use.lines[key])[measure.index];
const lineName = (key) => (key === "host" ? "zot itself" : nameOf(use.names[key]));
const visible = () => [...drawn].filter(([, isDrawn]) => isDrawn).map(([key]) => key);
const restAt = (measure, at) =>
  Math.max(0, visible().reduce((left, key) => (key === "host" ? left : left - (valuesOf(key, measure)[at] ?? 0)),
    use.total[measure.index][at]));
const restCount = () => use.lines.length - visible().filter((key) => key !== "host").length;
const restText = () => {  // lines at zero are the last ones
  const zeros = use.lines.slice(use.lines.length - use.zeros).filter((_, at) => !drawn.get(String(use.lines.length - use.zeros + at))).length;
  const told = zeros === 1 ? "1 extension at zero" : `${zeros} extensions at zero`;
  const others = restCount() - zeros;
  return others === 0 ? told : `the other ${others}, summed${zeros ? `, and ${told}` : ""}`;
};
const highest = (values) => {
  let most = 0;
  const from = Math.max(0, use.times.findIndex((time) => time >= view.from) - 1);
  for (let at = from; at < values.length && (use.times[at] <= view.to || at === from); at++) most = Math.max(most, values[at] ?? 0);
  return most;
};
const scale = (panel, x, width) => {
  const measure = MEASURES[panel.dataset.measure];
  const isTotal = panel.dataset.kind === "total";
  const most = isTotal ? highest(use.total[measure.index])
    : Math.max(0, ...visible().map((key) => highest(valuesOf(key, measure))));
  const [step, top] = measure.upto(most, isTotal ? 2 : 4);
  const ticks = multiples(step, top);
  one(".inner", panel).setAttribute("viewBox", `${x} ${-top} ${width} ${top}`);
  one(".y", panel).replaceChildren(...downwards(ticks, top, measure.label));
  one(".rules", panel).replaceChildren(...rulesAt(ticks.map((value) => 100 * (1 - value / top))));
};
const path = (values) => {
  let d = "", down = false;
  values.forEach((value, at) => {
    if (value !== null) {
      const alone = !down && (values[at + 1] ?? null) === null;
      d += `${down ? "L" : "M"}${xs[at]} ${value}${alone ? "h0" : ""}`;
    }
    down = value !== null;
  });
  return d;
};
const chosen = () => {  // after a line was added, shown or hidden
  for (const panel of panels) {
    const measure = MEASURES[panel.dataset.measure];
    if (panel.dataset.kind === "total") {
      const rest = use.times.map((_, at) => restAt(measure, at));
      const wide = (values) => (dot ? [values[0], values[0]] : values);  // a single point is an area, to be visible
      const at = dot ? [Number(xs[0]) - 5, Number(xs[0]) + 5] : xs;
      one(".sum", panel).setAttribute("d", area(at, wide(rest), wide(use.total[measure.index])));
      one(".band", panel).setAttribute("d", area(at, wide(rest.map(() => 0)), wide(rest)));
    } else {
      all(".line", panel).forEach((line) => line.classList.toggle("off", !drawn.get(line.dataset.key)));
    }
  }
  const rest = one(".key.rest");
  if (rest) rest.lastChild.textContent = restText();
};
const swatch = (style) => svg("svg", { class: "swatch", "aria-hidden": "true" }, style === "band"
  ? svg("rect", { class: "band", y: 2, width: 22, height: 8 }) : svg("path", { class: `line ${style}`, d: "M1 6H21" }));
const styleOf = (key) => (key === "host" ? "host" : `c${[...drawn.keys()].filter((each) => each !== "host").indexOf(key) % 8}`);
const keyButton = (key) => {
  const button = make("button", { type: "button", className: "key", ariaPressed: String(drawn.get(key)) },
    swatch(styleOf(key)), make("bdi", { textContent: lineName(key) }));
  button.dataset.key = key;
  button.addEventListener("click", () => {
    drawn.set(key, !drawn.get(key));
    button.ariaPressed = String(drawn.get(key));
    chosen();
    show();
  });
  const emphasize = (on) => all(".panel .line[data-key]").forEach((line) => {
    line.classList.toggle("hot", on && line.dataset.key === key);
    line.classList.toggle("dim", on && line.dataset.key !== key);
  });
  for (const kind of ["pointerenter", "focus"]) button.addEventListener(kind, () => emphasize(true));
  for (const kind of ["pointerleave", "blur"]) button.addEventListener(kind, () => emphasize(false));
  return button;
};
const lineOf = (key, measure) => {
  const line = svg("path", { class: `line ${styleOf(key)}${dot}`, d: path(valuesOf(key, measure)) });
  line.dataset.key = key;
  return line;
};
const panelOf = (name, kind, title, told, ...lines) => {
  const panel = make("div", { className: `panel ${kind}` },
    make("div", { className: "gutter" }, make("b", { textContent: title }), make("small", { textContent: told }),
      make("div", { className: "y", ariaHidden: "true" })),
    svg("svg", { class: "plot", role: "img", tabindex: 0, "aria-label": `${title}, ${told}` }, svg("g", { class: "rules" }),
      stretched({ class: "inner" }, svg("g", { transform: "scale(1,-1)" }, ...lines))));
  Object.assign(panel.dataset, { measure: name, kind });
  panels.push(panel);
  return panel;
};
const panelsOf = ([name, measure]) => {
  const together = use.lines.length === 1 ? "the one extension" : `all ${use.lines.length} together`;
  const areas = ["sum", "band"].map((style) => svg("path", { class: style }));
  const total = svg("path", { class: "line total", d: path(use.total[measure.index]) });
  return [
    panelOf(name, "total", `${measure.title}, ${together}`, `at most ${measure.label(use.peaks[measure.index])}`, ...areas, total),
    panelOf(name, "lines", measure.title, "each by itself", ...["host", ...visible()].map((key) => lineOf(key, measure))),
  ];
};
const adderOf = (rest) => {
  const adder = make("select", { id: "add", ariaLabel: "Add an extension to the charts" });
  const offer = () => adder.replaceChildren(
    make("option", { value: "", textContent: "add a line for …" }),
    ...use.names.map((name, index) => [name, String(index)]).filter(([, key]) => !drawn.has(key))
      .sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }))
      .map(([name, key]) => make("option", { value: key, textContent: nameOf(name) })),
  );
  adder.addEventListener("change", () => {
    if (adder.value === "") return;
    const key = adder.value;
    drawn.set(key, true);
    rest.before(keyButton(key));
    all('.panel[data-kind="lines"]').forEach((panel) => one(".inner g", panel).append(lineOf(key, MEASURES[panel.dataset.measure])));
    offer();
    chosen();
    show();
  });
  offer();
  return adder;
};
if (use) {
  for (let index = 0; index < use.named; index++) drawn.set(String(index), true);
  const keys = visible().map(keyButton);
  drawn.set("host", false);
  const rest = make("span", { className: "key rest" }, swatch("band"), "");
  const others = use.lines.length > use.named;
  const legend = make("div", { className: "legend", role: "group", ariaLabel: "Lines of the charts" },
    ...keys, ...(others ? [rest] : []), keyButton("host"), ...(others ? [adderOf(rest)] : []));
  draw("use", legend, plots(...Object.entries(MEASURES).flatMap(panelsOf)));
  chosen();
}
