// The same with the keyboard: zoom, pan, and walk from sample to sample.
const pan = (kind) => {
  const span = view.to - view.from;
  const middle = view.from + span / 2;
  ({
    in: () => zoom(middle - span / 4, middle + span / 4),
    out: () => zoom(middle - span, middle + span),
    left: () => zoom(view.from - span / 4, view.to - span / 4),
    right: () => zoom(view.from + span / 4, view.to + span / 4),
    all: () => zoom(0, data.end),
  })[kind]();
};
const KEYS = { "+": "in", "=": "in", "-": "out", Escape: "all" };
document.addEventListener("keydown", (event) => {
  const plot = event.target.closest?.(".plot");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") hush();
  if (!plot) return;
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (KEYS[event.key]) pan(KEYS[event.key]);
  else if (step && event.shiftKey) pan(step < 0 ? "left" : "right");
  else if (step) walk(plot, step);
  else return;
  event.preventDefault();
});
let walked = -1;  // sample, of a chart
let walkedMark = null;
const walk = (plot, step) => {  // from sample to sample, or from mark to mark
  const box = plot.getBoundingClientRect();
  const panel = plot.closest(".panel");
  if (panel) {
    walked = Math.min(Math.max(walked + step, 0), use.times.length - 1);
    readPanel(panel, walked, box.left + (box.width * place(use.times[walked])) / 100, box.top);
    return;
  }
  const own = all("[data-a][aria-label]", plot).filter((mark) => mark.style.display !== "none");
  if (!own.length) return;
  const mark = own[Math.min(Math.max(own.indexOf(walkedMark) + step, 0), own.length - 1)];
  walkedMark = mark;
  point(mark, box.left + (box.width * Math.max(0, place(Number(mark.dataset.a)))) / 100, box.bottom - 8);
};
document.addEventListener("focusout", () => {
  walked = -1;
  walkedMark = null;
  hush();
});
