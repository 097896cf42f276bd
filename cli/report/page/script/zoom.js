// The part of the run that is shown: the charts change their view box, the marks move.
const view = { from: 0, to: data.end };
const panels = [];  // charts of CPU and memory
const marks = [];  // nodes of the timeline, from where to where; to is null for a point
const zoom = (from, to) => {
  const span = Math.min(Math.max(to - from, Math.min(data.end, data.ticks ? 4 : 1e-3)), data.end);
  view.from = Math.min(Math.max(0, from), data.end - span);
  view.to = view.from + span;
  show();
};
const move = ({ node, from, to }) => {
  const left = place(from);
  const right = to === null ? left : place(to);
  const start = to === null ? left : Math.max(left, 0);
  const seen = Math.min(right, 100) - start;
  let hides = right < 0 || left > 100;
  node.setAttribute("x", `${start}%`);
  if (node.tagName === "rect") node.setAttribute("width", `${Math.max(seen, 0.02)}%`);
  if (node.tagName === "text" && !hides) {  // a label stays in what is seen of its bar, if it has the room
    hides = (seen / 100) * node.ownerSVGElement.clientWidth < 9 + 7 * node.textContent.length;
  }
  node.style.display = hides ? "none" : "";
};
const show = () => {
  const x = (1000 * view.from) / data.end;
  const width = (1000 * (view.to - view.from)) / data.end;
  all(".lane .inner").forEach((inner) => inner.setAttribute("viewBox", `${x} 0 ${width} 24`));
  panels.forEach((panel) => scale(panel, x, width));
  marks.forEach(move);
  all(".plots").forEach((plots) => {
    const most = Math.max(2, Math.floor(one(".axis .x", plots).clientWidth / 95)) || 10;
    const ticks = ticksNow(most).map(([at, label]) => [place(at), label]);
    one(".grid", plots).replaceChildren(...ticks.map(([at]) => styled(make("i"), { left: `${at}%` })));
    one(".axis .x", plots).replaceChildren(...across(ticks));
  });
  const whole = view.from === 0 && view.to === data.end;
  one("#window").textContent = data.ticks ? "" : `${elapsed(view.from)} to ${elapsed(view.to)}`;
  all('[data-zoom="all"], [data-zoom="out"]').forEach((button) => { button.disabled = whole; });
};
const ZOOMS = [
  ["in", "+", "Zoom in (+)"], ["out", "−", "Zoom out (-)"], ["left", "◀", "Earlier (Shift+Left)"],
  ["right", "▶", "Later (Shift+Right)"], ["all", "whole run", "The whole run (Esc)"],
];
const addToolbar = () => {  // above the charts with a time axis, and in sight as long as they are
  const toolbar = make("div", { className: "toolbar", role: "toolbar", ariaLabel: "Part of the run that is shown" },
    ...ZOOMS.map(([kind, textContent, title]) => {
      const button = make("button", { type: "button", textContent, title });
      button.dataset.zoom = kind;
      return button;
    }),
    make("output", { id: "window" }),
    make("span", { className: "hint", textContent: "Drag across a chart to zoom in; double-click for the whole run." }));
  const timed = all("#use, #timeline");
  const around = make("div", { className: "timed" });
  timed[0].before(around);
  around.append(toolbar, ...timed);
};
