// The charts of CPU and memory: which lines are drawn, and their scale.
const shown = new Map();  // key of a line -> whether it is drawn
if (data.lines) {
  for (let index = 0; index < data.named; index++) shown.set(String(index), true);
  shown.set("host", false);
}
const valuesOf = (key, measure) => (key === "host" ? data.host : data.lines[key])[measure.index];
const nameOf = (key) => (key === "host" ? "zot itself" : data.names[key] || "(no name)");
const visible = () => [...shown].filter(([, drawn]) => drawn).map(([key]) => key);
const restAt = (measure, at) =>
  Math.max(0, visible().reduce((left, key) => (key === "host" ? left : left - (valuesOf(key, measure)[at] ?? 0)),
    data.total[measure.index][at]));
const highest = (values) => {
  let most = 0;
  const from = Math.max(0, data.times.findIndex((time) => time >= view.from) - 1);
  for (let at = from; at < values.length && (data.times[at] <= view.to || at === from); at++) most = Math.max(most, values[at] ?? 0);
  return most;
};
const scale = (panel, x, width) => {
  const measure = MEASURES[panel.dataset.measure];
  const isTotal = panel.dataset.kind === "total";
  const most = isTotal ? highest(data.total[measure.index])
    : Math.max(0, ...visible().map((key) => highest(valuesOf(key, measure))));
  const [step, top] = measure.upto(most, isTotal ? 2 : 4);
  one(".inner", panel).setAttribute("viewBox", `${x} ${-top} ${width} ${top}`);
  const ticks = Array.from({ length: Math.round(top / step) + 1 }, (_, index) => index * step);
  one(".y", panel).replaceChildren(...ticks.map((value) => {
    const span = make("span", { textContent: measure.label(value) });
    span.style.top = `${100 * (1 - value / top)}%`;
    return span;
  }));
  one(".rules", panel).replaceChildren(...ticks.map((value) => {
    const line = document.createElementNS(SVG, "line");
    line.setAttribute("x2", "100%");
    for (const end of ["y1", "y2"]) line.setAttribute(end, `${100 * (1 - value / top)}%`);
    return line;
  }));
};
const xs = (data.times ?? []).map((time) => ((1000 * time) / data.end).toFixed(2));
const path = (values) => {
  let drawn = "", down = false;
  values.forEach((value, at) => {
    if (value !== null) {
      const alone = !down && (values[at + 1] ?? null) === null;
      drawn += `${down ? "L" : "M"}${xs[at]} ${value}${alone ? "h0" : ""}`;
    }
    down = value !== null;
  });
  return drawn;
};
const area = (lower, upper) => {
  const x = xs.length === 1 ? [Number(xs[0]) - 5, Number(xs[0]) + 5] : xs;
  const [low, high] = xs.length === 1 ? [[lower[0], lower[0]], [upper[0], upper[0]]] : [lower, upper];
  const there = x.map((each, at) => `${each} ${high[at]}`);
  const back = x.map((each, at) => `${each} ${low[at]}`).reverse();
  return `M${there.join("L")}L${back.join("L")}Z`;
};
const chosen = () => {  // after a line was added, shown or hidden
  for (const panel of panels) {
    const measure = MEASURES[panel.dataset.measure];
    if (panel.dataset.kind === "total") {
      const rest = data.times.map((_, at) => restAt(measure, at));
      one(".sum", panel).setAttribute("d", area(rest, data.total[measure.index]));
      one(".band", panel).setAttribute("d", area(rest.map(() => 0), rest));
    } else {
      all(".line", panel).forEach((line) => line.classList.toggle("off", !shown.get(line.dataset.key)));
    }
  }
  const others = data.lines.length - visible().filter((key) => key !== "host").length;
  const rest = one(".key.rest");
  if (rest) rest.lastChild.textContent = `the other ${others}, summed`;
  show();
};
const swatch = (style) => {
  const drawn = document.createElementNS(SVG, "svg");
  drawn.setAttribute("class", "swatch");
  const shape = document.createElementNS(SVG, "path");
  shape.setAttribute("class", `line ${style}`);
  shape.setAttribute("d", "M1 6H21");
  drawn.append(shape);
  return drawn;
};
const styleOf = (key) => (key === "host" ? "host" : `c${[...shown.keys()].filter((each) => each !== "host").indexOf(key) % 8}`);
const wireKey = (button) => {
  const key = button.dataset.key;
  button.addEventListener("click", () => {
    shown.set(key, !shown.get(key));
    button.setAttribute("aria-pressed", String(shown.get(key)));
    chosen();
  });
  const emphasize = (on) => all(`.panel .line[data-key]`).forEach((line) => {
    line.classList.toggle("hot", on && line.dataset.key === key);
    line.classList.toggle("dim", on && line.dataset.key !== key);
  });
  for (const kind of ["pointerenter", "focus"]) button.addEventListener(kind, () => emphasize(true));
  for (const kind of ["pointerleave", "blur"]) button.addEventListener(kind, () => emphasize(false));
};
all("button.key").forEach(wireKey);
const adder = one("#add");
if (adder) {
  const offer = () => adder.replaceChildren(
    make("option", { value: "", textContent: "add a line for …" }),
    ...data.names.map((name, index) => [name, String(index)]).filter(([, key]) => !shown.has(key))
      .sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }))
      .map(([name, key]) => make("option", { value: key, textContent: name || "(no name)" })),
  );
  offer();
  adder.hidden = false;
  adder.addEventListener("change", () => {
    if (adder.value === "") return;
    const key = adder.value;
    shown.set(key, true);
    const button = make("button", { type: "button", className: "key" });
    button.setAttribute("aria-pressed", "true");
    button.dataset.key = key;
    button.append(swatch(styleOf(key)), make("bdi", { textContent: nameOf(key) }));
    one(".key.rest").before(button);
    wireKey(button);
    all('.panel[data-kind="lines"]').forEach((panel) => {
      const line = document.createElementNS(SVG, "path");
      line.setAttribute("class", `line ${styleOf(key)}${xs.length === 1 ? " dot" : ""}`);
      line.dataset.key = key;
      line.setAttribute("d", path(valuesOf(key, MEASURES[panel.dataset.measure])));
      one(".inner g", panel).append(line);
    });
    offer();
    chosen();
  });
}
