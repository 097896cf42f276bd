// Zoom: the charts change their view box, the marks move.
const panels = all(".panel");
const marks = all("[data-a]").map((node) => ({
  node, from: Number(node.dataset.a), to: node.dataset.b === undefined ? null : Number(node.dataset.b),
}));
const zoom = (from, to) => {
  const span = Math.min(Math.max(to - from, Math.min(data.end, data.ticks ? 4 : 1e-3)), data.end);
  view.from = Math.min(Math.max(0, from), data.end - span);
  view.to = view.from + span;
  show();
};
const show = () => {
  const x = (1000 * view.from) / data.end;
  const width = (1000 * (view.to - view.from)) / data.end;
  all(".lane .inner").forEach((inner) => inner.setAttribute("viewBox", `${x} 0 ${width} 24`));
  panels.forEach((panel) => scale(panel, x, width));
  for (const { node, from, to } of marks) {
    const left = place(from);
    const right = to === null ? left : place(to);
    node.style.display = right < 0 || left > 100 ? "none" : "";
    if (to === null) {
      node.setAttribute("x", `${left}%`);
    } else if (node.tagName === "text") {  // a label stays in what is seen of its bar, if it has the room
      const start = Math.max(left, 0);
      node.setAttribute("x", `${start}%`);
      if (node.style.display === "none") continue;
      const room = ((Math.min(right, 100) - start) / 100) * node.ownerSVGElement.clientWidth;
      node.style.display = room < 9 + 7 * node.textContent.length ? "none" : "";
    } else {
      const start = Math.max(left, 0);
      node.setAttribute("x", `${start}%`);
      node.setAttribute("width", `${Math.max(Math.min(right, 100) - start, 0.02)}%`);
    }
  }
  all(".plots").forEach((plots) => {
    const most = Math.max(2, Math.floor(one(".axis .x", plots).clientWidth / 95)) || 10;
    const ticks = ticksNow(most);
    one(".grid", plots).replaceChildren(...ticks.map(([at]) => {
      const line = make("i", {});
      line.style.left = `${place(at)}%`;
      return line;
    }));
    one(".axis .x", plots).replaceChildren(...ticks.map(([at, label]) => {
      const span = make("span", { textContent: label });
      span.style.left = `${place(at)}%`;
      span.style.transform = place(at) < 2 ? "none" : place(at) > 98 ? "translateX(-100%)" : "";
      return span;
    }));
  });
  const whole = view.from === 0 && view.to === data.end;
  const part = one("#window");
  if (part) part.textContent = data.ticks ? "" : `${elapsed(view.from)} to ${elapsed(view.to)}`;
  all('[data-zoom="all"], [data-zoom="out"]').forEach((button) => { button.disabled = whole; });
};
