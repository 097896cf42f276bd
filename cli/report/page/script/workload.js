// How many runs of a batch there were over time, those that waited on top of the others.
if (data.workload) {
  const { end, columns, starts } = data.workload;
  const [step, top] = upto(Math.max(1, ...columns.map(([running, paused]) => running + paused)), 4);
  const width = 1000 / columns.length;
  const edges = columns.flatMap((_, index) => [index * width, (index + 1) * width]);
  const heights = (value) => columns.flatMap((each) => Array(2).fill(100 * (1 - value(each) / top)));
  const running = heights(([runs]) => runs);
  const both = heights(([runs, waiting]) => runs + waiting);
  const isPaused = columns.some(([, waiting]) => waiting);
  const told = columns.map(([runs, waiting], index) => svg("rect", { x: index * width, width, height: 100 },
    svg("title", {}, `at ${elapsed((index * end) / columns.length)}: ${short(runs)} running, ${short(waiting)} paused`)));
  const values = multiples(step, top);
  const key = (style, label) => make("span", { className: "key" }, make("i", { className: style }), label);
  const drawing = stretched({ role: "img", "aria-label": "Runs over time" },
    svg("g", { class: "rules" }, ...rulesAt(values.map((value) => 100 * (1 - value / top)))),
    svg("path", { class: "run", d: area(edges, edges.map(() => 100), running) }),
    svg("path", { class: "pause", d: area(edges, running, both) }),
    svg("g", { class: "columns" }, ...told));
  view.to = end;
  draw("workload",
    make("p", { className: "legend" }, key("run", "running"), ...(isPaused ? [key("pause", "paused: waits")] : [])),
    make("div", { className: "workload" },
      make("div", { className: "y", ariaHidden: "true" }, ...downwards(values, top, short)),
      make("div", { className: "drawn" }, drawing,
        ...starts.map(([at, title]) => styled(make("i", { className: "start", title }), { left: `${(100 * at) / end}%` })),
        make("div", { className: "x" }, ...across(ticksNow(7).map(([at, label]) => [place(at), label]))))));
}
