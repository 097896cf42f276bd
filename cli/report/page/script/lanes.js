// The lanes of the timeline, below each other on the time axis of the other charts.
const SYMBOLS = {
  started: '<path d="M-3.5-4.5 4.5 0-3.5 4.5Z"/>',
  restarted: '<circle r="5.5" class="back"/><path d="M-2.5-3.5 3.5 0-2.5 3.5Z"/>',
  reloaded: '<circle r="5.5" class="back"/><path d="M-3 2.5 0-3.5 3 2.5Z"/>',
  exited: '<path class="stroke" d="M-4-4 4 4M-4 4 4-4"/>',
  stopped: '<rect x="-4" y="-4" width="8" height="8"/>',
  failed: '<rect x="-6" y="-6" width="12" height="12" rx="2"/><path class="cut" d="M-3-3 3 3M-3 3 3-3"/>',
  limit: '<path d="M0-6 6 5H-6Z"/><path class="cut" d="M0-2V1.6M0 3V3.6"/>',
  no_verdict: '<path d="M0-6 6 0 0 6-6 0Z"/><path class="cut" d="M-2 0H2"/>',
  warning: '<circle r="3.5"/>',
  error: '<path d="M-2.5-6H2.5L6-2.5V2.5L2.5 6H-2.5L-6 2.5V-2.5Z"/><path class="cut" d="M0-3V1M0 2.6V3"/>',
  blocked: '<circle r="6"/><path class="cut" d="M-3.5 0H3.5"/>',
  call: '<rect x="-1.5" y="-5" width="3" height="10"/>',
};
const ROW = 20;  // height in pixels of a row of calls that overlap
const symbol = (kind, attributes) => svg("use", { href: `#s-${kind}`, class: `k-${kind}`, ...attributes });
const place1000 = (at) => (1000 * at) / data.end;
const laneOf = (lane) => {
  const height = lane.rows === 1 ? 24 : ROW * lane.rows;
  const plot = styled(svg("svg",
    { class: "plot", role: "group", tabindex: 0, "aria-label": `${nameOf(lane.name)}: ${plural(lane.total, "event")}` }),
    { height: `${height}px` });
  if (lane.lives.length) {
    const paths = ["up", "down", "failed"].map((state) => svg("path", { class: state, d: lane.lives
      .filter(([, , each]) => each === state)
      .map(([from, to]) => `M${place1000(from)} 12H${place1000(to)}`).join("") }));
    plot.append(stretched({ class: "inner" }, ...paths));
  }
  for (const [from, to, kind, isBad, many, row, label, told] of lane.marks) {
    const isPoint = to === null;
    const [y, tall] = lane.rows === 1 ? [3, height - 6] : [row * ROW + 2, ROW - 4];
    const node = isPoint ? symbol(kind, { y: height / 2 })
      : svg("rect", { class: `k-${kind}${isBad ? " bad" : ""}`, y, height: tall });
    if (!isPoint && many > 1) node.setAttribute("fill-opacity", Math.min(1, 0.3 + 0.07 * many));
    node.dataset.a = from;
    node.setAttribute("aria-label", told);
    marks.push({ node, from, to });
    plot.append(node);
    if (label && !isPoint && lane.marks.length <= 500) {
      const text = svg("text", { dx: 5, y: y + tall / 2 + 4 }, label);
      marks.push({ node: text, from, to });
      plot.append(text);
    }
  }
  return make("div", { className: `lane ${lane.kind}` },
    make("div", { className: "gutter" }, lane.row ? linked(lane.name, lane.row) : make("b", { textContent: lane.name }),
      make("small", { textContent: lane.total.toLocaleString("en-US") })),
    plot);
};
if (data.lanes) {
  const { lanes, words, shown } = data.lanes;
  const definitions = svg("defs");
  definitions.innerHTML = Object.entries(SYMBOLS).map(([kind, shape]) => `<g id="s-${kind}">${shape}</g>`).join("");
  document.body.append(svg("svg", { width: 0, height: 0, class: "definitions", "aria-hidden": "true" }, definitions));
  const happened = lanes.flatMap((lane) => lane.marks);
  const kinds = new Set(happened.map(([, , kind]) => kind));
  const keys = Object.keys(SYMBOLS).filter((kind) => kinds.has(kind)).map((kind) => make("span", { className: "key" },
    svg("svg", { class: "symbol", "aria-hidden": "true", viewBox: "-8 -8 16 16" }, symbol(kind)), words[kind]));
  if (happened.some(([, to, , isBad]) => isBad && to !== null)) {
    keys.push(make("span", { className: "key" }, make("i", { className: "chip" }), "failed call or turn"));
  }
  const rest = lanes.slice(shown);
  draw("lanes", make("div", { className: "legend" }, ...keys), plots(...lanes.slice(0, shown).map(laneOf)),
    ...(rest.length ? [folded(`${plural(rest.length, "more extension")}, with less to tell`, plots(...rest.map(laneOf)))] : []));
}
