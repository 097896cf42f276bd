// Histograms: of each extension's latency, on one axis to be compared; and of what the tasks of a batch cost.
const OPEN = 12;  // shown at once; the others are folded away
const histograms = new Map();  // of a latency: the drawing -> its axis and bars
const barEnd = (bar) => 1e-4 * 2 ** (bar / 4);
const latencyCell = (each, first, last) => {
  const at = (ms) => 100 * Math.min(1, Math.max(0, (Math.log10(Math.max(ms, 1e-9)) - first) / (last - first)));
  const most = Math.max(...each.bars.map(([, many]) => many));
  const shapes = each.bars.map(([bar, many]) => barOf(10 * at(barEnd(bar - 1)), 10 * at(barEnd(bar)), many / most));
  const [p50, p99] = each.percentiles;
  if (!shapes.length && p50 !== null && p99 !== null) {
    const left = 10 * at(p50);
    shapes.push(svg("path", { class: "range", d: `M${left} 50H${Math.max(10 * at(p99), left + 1)}` }));
  }
  const powers = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  const every = Math.max(1, Math.ceil((last - first) / 4));
  const lines = ["p50", "p99"].map((name, index) => [name, each.percentiles[index], each.told[index]])
    .filter(([, ms]) => ms !== null).map(([name, ms, told]) =>
      svg("line", { class: name, x1: `${at(ms)}%`, x2: `${at(ms)}%`, y2: "100%" }, svg("title", {}, `${name} ${told}`)));
  const answers = plural(each.answers, "answer");
  const drawing = svg("svg", { class: "histogram", role: "img", tabindex: 0,
    "aria-label": `${nameOf(each.name)}: ${answers}, p50 ${each.told[0]}, p99 ${each.told[1]}` },
    svg("g", { class: "rules" }, ...powers.map((power) => svg("line", { x1: `${at(10 ** power)}%`, x2: `${at(10 ** power)}%`, y2: "100%" }))),
    stretched({}, svg("g", { class: "bars" }, ...shapes)), ...lines);
  if (each.bars.length) histograms.set(drawing, { first, last, bars: new Map(each.bars) });
  const ticks = powers.filter((_, index) => index % every === 0).map((power) => [at(10 ** power), latency(10 ** power)]);
  return cell(linked(each.name, each.row), answers, drawing, ticks, [["p50", each.told[0]], ["p99", each.told[1]]]);
};
if (data.latency) {
  const values = data.latency.flatMap((each) => [...each.percentiles, ...each.bars.map(([bar]) => barEnd(bar))]).filter((ms) => ms > 0);
  const first = Math.floor(Math.log10(Math.min(100, ...values)));
  const last = Math.max(first + 2, Math.ceil(Math.log10(Math.max(1e-4, ...values))));
  const cells = data.latency.map((each) => latencyCell(each, first, last));
  const rest = cells.slice(OPEN);
  draw("latency", make("div", { className: "cells" }, ...cells.slice(0, OPEN)),
    ...(rest.length ? [folded(`${rest.length} more, faster ones`, make("div", { className: "cells" }, ...rest))] : []));
}
const distributionCell = ({ title, tasks, bars, told, aside }) => {
  const more = aside ? [make("p", { className: "aside", textContent: aside })] : [];
  if (!bars.length) {
    more.unshift(make("p", { className: "empty", textContent: "Nothing is known yet." }));
    return make("figure", { className: "cell" }, make("figcaption", {}, make("b", { textContent: title })), ...more);
  }
  const most = Math.max(...bars.map(([, many]) => many));
  const width = 1000 / bars.length;
  const shapes = bars.map(([range, many], at) => many && barOf((at + 0.06) * width, (at + 1.06) * width, many / most, `${range}: ${plural(many, "task")}`));
  const drawing = stretched({ class: "histogram", role: "img", "aria-label": `${title}. ${told.map((each) => each.join(" ")).join(", ")}` },
    svg("g", { class: "bars" }, ...shapes.filter(Boolean)));
  const every = Math.max(1, Math.ceil(bars.length / 5));
  const ticks = bars.map(([range], at) => [(100 * at) / bars.length, range.split(" to ")[0]])
    .filter((_, at) => at % every === 0 && (at === 0 || at <= bars.length - every * 0.6));
  const [, end] = bars.at(-1)[0].split(" to ");
  return cell(make("b", { textContent: title }), plural(tasks, "task"), drawing, end ? [...ticks, [100, end]] : ticks, told, ...more);
};
if (data.distributions) {
  draw("distributions", make("div", { className: "cells" }, ...data.distributions.map(distributionCell)));
}
