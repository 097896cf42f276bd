// Parts of charts: places for them, names of extensions, ticks, areas, histograms.
const draw = (kind, ...nodes) => {
  const place = one(`[data-figure="${kind}"]`);
  place.append(...nodes);
  const section = place.closest("section");
  section.hidden = false;
  all(".told", section).forEach((told) => { told.open = false; });
};
const nameOf = (name) => name.trim() || "(no name)";
const linked = (name, row) => make("a", { href: `#${row}` }, make("bdi", { textContent: nameOf(name), title: name }));
const plots = (...content) => make("div", { className: "plots" },
  make("div", { className: "overlay", ariaHidden: "true" },
    make("div", { className: "grid" }), make("i", { className: "cursor", hidden: true }), make("i", { className: "brush", hidden: true })),
  ...content,
  make("div", { className: "axis" }, make("div", { className: "gutter" }), make("div", { className: "x" })));
const multiples = (step, top) => Array.from({ length: Math.round(top / step) + 1 }, (_, index) => index * step);
const downwards = (values, top, label) => values.map((value) =>
  styled(make("span", { textContent: label(value) }), { top: `${100 * (1 - value / top)}%` }));
const rulesAt = (percents) => percents.map((at) => svg("line", { x2: "100%", y1: `${at}%`, y2: `${at}%` }));
const across = (ticks) => ticks.map(([at, label]) => styled(make("span", { textContent: label }),
  { left: `${at}%`, transform: at < 2 ? "none" : at > 98 ? "translateX(-100%)" : "" }));
const area = (xs, lower, upper) => {
  const there = xs.map((x, at) => `${x} ${upper[at]}`);
  const back = xs.map((x, at) => `${x} ${lower[at]}`).reverse();
  return `M${there.join("L")}L${back.join("L")}Z`;
};
const stretched = (attributes, ...content) => svg("svg",
  { width: "100%", height: "100%", viewBox: "0 0 1000 100", preserveAspectRatio: "none", ...attributes }, ...content);
const barOf = (left, right, share, told) => {
  const tall = Math.max(2, 94 * share);
  const bar = svg("rect", { x: left, y: 100 - tall, width: 0.88 * (right - left), height: tall });
  if (told) bar.append(svg("title", {}, told));
  return bar;
};
const cell = (title, aside, drawn, ticks, told, ...more) => make("figure", { className: "cell" },
  make("figcaption", {}, title, make("span", { textContent: aside })), drawn,
  make("div", { className: "x" }, ...across(ticks)),
  make("div", { className: "said" }, ...told.flatMap(([label, value]) => [`${label} `, make("b", { textContent: value })])), ...more);
const plural = (count, noun) => `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
const folded = (summary, ...content) => make("details", {}, make("summary", { textContent: summary }), ...content);
