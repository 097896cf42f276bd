// What is under the pointer: values, marks and bars in a tip; the brush that zooms.
const tell = (x, y, ...content) => {
  tip.replaceChildren(...content);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = x + 16 + box.width > innerWidth ? x - 16 - box.width : x + 16;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, Math.min(y + 14, innerHeight - box.height - 4))}px`;
};
const hush = () => {
  tip.hidden = true;
  all(".cursor").forEach((cursor) => { cursor.hidden = true; });
  all(".pointed").forEach((mark) => mark.classList.remove("pointed"));
};
const told = (text) => {
  const [first, ...rest] = text.split("\n");
  return [make("b", { textContent: first }), make("span", { textContent: rest.join("\n") })];
};
const cursorAt = (percent) => all(".cursor").forEach((cursor) => {
  cursor.hidden = percent < 0 || percent > 100;
  cursor.style.left = `${percent}%`;
});
const nearest = (seconds) => {
  let best = 0;
  use.times.forEach((time, at) => { if (Math.abs(time - seconds) < Math.abs(use.times[best] - seconds)) best = at; });
  return best;
};
const TOLD = 10;
const readPanel = (panel, at, x, y) => {
  const measure = MEASURES[panel.dataset.measure];
  const rows = visible().map((key) => [lineName(key), valuesOf(key, measure)[at], styleOf(key)])
    .filter(([, value]) => value !== null).sort((a, b) => b[1] - a[1]);
  const more = rows.length - TOLD;
  const table = make("table");
  const row = (name, value, style) => {
    const line = table.insertRow();
    const cell = line.insertCell();
    if (style) cell.append(swatch(style));
    cell.append(make("bdi", { textContent: name }));
    line.insertCell().textContent = measure.label(value);
  };
  rows.slice(0, TOLD).forEach((each) => row(...each));
  if (more > 0) row(`and ${more} more lines`, rows.slice(TOLD).reduce((sum, [, value]) => sum + value, 0));
  if (restCount() > 0) row(`the other ${restCount()}`, restAt(measure, at));
  row("all extensions", use.total[measure.index][at]);
  cursorAt(place(use.times[at]));
  tell(x, y, make("b", { textContent: `at ${elapsed(use.times[at])}` }), table);
};
const point = (mark, x, y) => {
  all(".pointed").forEach((other) => other.classList.remove("pointed"));
  mark.classList.add("pointed");
  tell(x, y, ...told(mark.getAttribute("aria-label")));
};
const readBars = (drawing, clientX, y) => {
  const box = drawing.getBoundingClientRect();
  const { first, last, bars } = histograms.get(drawing);
  const ms = 10 ** (first + ((clientX - box.left) / box.width) * (last - first));
  const bar = Math.max(0, Math.ceil(4 * Math.log2(ms / 1e-4)));
  const total = [...bars.values()].reduce((sum, count) => sum + count, 0);
  const count = bars.get(bar) ?? 0;
  const range = `${latency(barEnd(bar - 1))} to ${latency(barEnd(bar))}`;
  tell(clientX, y, make("b", { textContent: range }), `${count.toLocaleString("en-US")} of ${total.toLocaleString("en-US")} answers (${short((100 * count) / total)} %)`);
};

let drag = null;
const inPlot = (plot, clientX) => {
  const box = plot.getBoundingClientRect();
  return (clientX - box.left) / box.width;
};
const secondsAt = (fraction) => view.from + Math.min(1, Math.max(0, fraction)) * (view.to - view.from);
document.addEventListener("pointermove", (event) => {
  if (drag) {
    drag.to = inPlot(drag.plot, event.clientX);
    const [left, right] = [drag.from, drag.to].map((part) => 100 * Math.min(1, Math.max(0, part))).sort((a, b) => a - b);
    all(".brush").forEach((brush) => {
      brush.hidden = false;
      brush.style.left = `${left}%`;
      brush.style.width = `${right - left}%`;
    });
    hush();
    return;
  }
  const plot = event.target.closest?.(".plot");
  const histogram = event.target.closest?.(".histogram");
  if (histograms.has(histogram)) return readBars(histogram, event.clientX, event.clientY);
  if (!plot) return hush();
  const fraction = inPlot(plot, event.clientX);
  const panel = plot.closest(".panel");
  const mark = event.target.closest("[data-a]");
  if (panel) return readPanel(panel, nearest(secondsAt(fraction)), event.clientX, event.clientY);
  cursorAt(100 * fraction);
  if (mark) return point(mark, event.clientX, event.clientY);
  tip.hidden = true;
  all(".pointed").forEach((other) => other.classList.remove("pointed"));
});
document.addEventListener("pointerdown", (event) => {
  const plot = event.target.closest?.(".plot");
  if (!plot || event.button !== 0 || event.pointerType === "touch") return;
  const from = inPlot(plot, event.clientX);
  drag = { plot, from, to: from };
});
addEventListener("pointerup", () => {
  if (!drag) return;
  const [from, to] = [drag.from, drag.to].sort((a, b) => a - b);
  const wide = (to - from) * drag.plot.getBoundingClientRect().width > 5;
  drag = null;
  all(".brush").forEach((brush) => { brush.hidden = true; });
  if (wide) zoom(secondsAt(from), secondsAt(to));
});
addEventListener("pointercancel", () => {
  drag = null;
  all(".brush").forEach((brush) => { brush.hidden = true; });
});
document.addEventListener("dblclick", (event) => { if (event.target.closest?.(".plot")) zoom(0, data.end); });
document.documentElement.addEventListener("pointerleave", hush);
addEventListener("scroll", hush, { passive: true });
