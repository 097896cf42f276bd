"use strict";
// Everything that is drawn is there without this; it adds zooming, values under the pointer, lines to choose, sorting.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
  const one = (selector, root = document) => root.querySelector(selector);
  const make = (tag, properties) => Object.assign(document.createElement(tag), properties);
  const SVG = "http://www.w3.org/2000/svg";
  const MIB = 2 ** 20;
  const SHORTEST = 0.01;
  const view = { from: 0, to: data.end };
  const tip = one("#tip");

  // --- numbers, as the rest of the page has them -------------------------------------------------------------
  const short = (value) => {
    const size = Math.abs(value);
    if (size === 0) return "0";
    if (size >= 100) return Math.round(value).toLocaleString("en-US");
    return String(Number(value.toFixed(size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.1 ? 3 : 4)));
  };
  const bytes = (mib) => {
    let value = mib * MIB;
    for (const unit of ["B", "KiB", "MiB", "GiB"]) {
      if (Math.abs(value) < 1024) return `${short(value)} ${unit}`;
      value /= 1024;
    }
    return `${short(value)} TiB`;
  };
  const latency = (ms) => (ms < 1 ? `${short(ms * 1000)} µs` : ms < 1000 ? `${short(ms)} ms` : `${short(ms / 1000)} s`);
  const elapsed = (seconds) => {
    if (seconds === 0) return "0 s";
    if (seconds < 1) return `${short(seconds * 1000)} ms`;
    if (seconds < 59.995) return `${short(seconds)} s`;
    const whole = Math.round(seconds);
    const two = (value) => String(value).padStart(2, "0");
    const [days, hours, minutes] = [Math.floor(whole / 86400), Math.floor(whole / 3600) % 24, Math.floor(whole / 60) % 60];
    if (!days && !hours) return `${minutes}:${two(whole % 60)}`;
    return `${days ? `${days} d ` : ""}${hours}:${two(minutes)}:${two(whole % 60)}`;
  };
  const upto = (highest, ticks) => {
    const rough = Math.max(highest, SHORTEST) / ticks;
    const size = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((factor) => factor * size).find((each) => each >= rough * (1 - 1e-9));
    return [step, step * Math.max(1, Math.ceil(highest / step - 1e-9))];
  };
  const bytesUpto = (mib, ticks) => {
    const highest = Math.max(mib, SHORTEST);
    let unit = 1;
    while (highest >= 1024 * unit) unit *= 1024;
    while (highest < unit) unit /= 1024;
    return upto(highest / unit, ticks).map((value) => value * unit);
  };
  const MEASURES = {
    cpu: { index: 0, label: (value) => `${short(value)} %`, upto },
    rss: { index: 1, label: bytes, upto: bytesUpto },
  };
  const STEPS = [
    ...[1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1].flatMap((size) => [size, 2 * size, 5 * size]),
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800,
  ];
  const ticksNow = (most) => {
    const span = view.to - view.from;
    if (data.ticks) {
      const seen = data.ticks.filter(([at]) => at >= view.from && at <= view.to);
      const every = Math.max(1, Math.ceil(seen.length / most));
      return seen.filter((_, index) => index % every === 0);
    }
    const step = STEPS.find((size) => span / size <= most) ?? span / most;
    const ticks = [];
    for (let index = Math.ceil(view.from / step - 1e-9); index * step <= view.to * (1 + 1e-12); index++) {
      ticks.push([index * step, elapsed(index * step)]);
    }
    return ticks;
  };
  const place = (seconds) => (100 * (seconds - view.from)) / (view.to - view.from);

  // --- zoom: the charts change their view box, the marks move ---------------------------------------------------
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

  // --- CPU and memory ----------------------------------------------------------------------------------------
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

  // --- what is under the pointer -----------------------------------------------------------------------------
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
    data.times.forEach((time, at) => { if (Math.abs(time - seconds) < Math.abs(data.times[best] - seconds)) best = at; });
    return best;
  };
  const TOLD = 10;
  const readPanel = (panel, at, x, y) => {
    const measure = MEASURES[panel.dataset.measure];
    const rows = visible().map((key) => [nameOf(key), valuesOf(key, measure)[at], styleOf(key)])
      .filter(([, value]) => value !== null).sort((a, b) => b[1] - a[1]);
    const more = rows.length - TOLD;
    const table = make("table", {});
    const row = (name, value, style) => {
      const line = table.insertRow();
      const cell = line.insertCell();
      if (style) cell.append(swatch(style));
      cell.append(make("bdi", { textContent: name }));
      line.insertCell().textContent = measure.label(value);
    };
    rows.slice(0, TOLD).forEach((each) => row(...each));
    if (more > 0) row(`and ${more} more lines`, rows.slice(TOLD).reduce((sum, [, value]) => sum + value, 0));
    const others = data.lines.length - visible().filter((key) => key !== "host").length;
    if (others > 0) row(`the other ${others}`, restAt(measure, at));
    row("all extensions", data.total[measure.index][at]);
    cursorAt(place(data.times[at]));
    tell(x, y, make("b", { textContent: `at ${elapsed(data.times[at])}` }), table);
  };
  const point = (mark, x, y) => {
    all(".pointed").forEach((other) => other.classList.remove("pointed"));
    mark.classList.add("pointed");
    tell(x, y, ...told(mark.getAttribute("aria-label")));
  };
  all("[data-a]").forEach((mark) => {  // our own tips are there at once; two would be one too many
    const title = one("title", mark);
    if (!title) return;
    mark.setAttribute("aria-label", title.textContent);
    title.remove();
  });
  const readBars = (histogram, clientX, y) => {
    const box = histogram.getBoundingClientRect();
    const [first, last] = histogram.dataset.axis.split(",").map(Number);
    const ms = 10 ** (first + ((clientX - box.left) / box.width) * (last - first));
    const bars = new Map(histogram.dataset.bars.split(";").map((bar) => bar.split(",").map(Number)));
    const bar = Math.max(0, Math.ceil(4 * Math.log2(ms / 1e-4)));
    const total = [...bars.values()].reduce((sum, count) => sum + count, 0);
    const count = bars.get(bar) ?? 0;
    const range = `${latency(1e-4 * 2 ** ((bar - 1) / 4))} to ${latency(1e-4 * 2 ** (bar / 4))}`;
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
    const histogram = event.target.closest?.("[data-bars]");
    if (histogram) return readBars(histogram, event.clientX, event.clientY);
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
  addEventListener("resize", () => { if (one(".plots")) show(); });
  addEventListener("beforeprint", () => all("details").forEach((each) => { each.open = true; }));
  all("details").forEach((each) => each.addEventListener("toggle", () => { if (one(".plots")) show(); }));

  // --- keyboard ----------------------------------------------------------------------------------------------
  const move = (kind) => {
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
  all("[data-zoom]").forEach((button) => button.addEventListener("click", () => move(button.dataset.zoom)));
  const KEYS = { "+": "in", "=": "in", "-": "out", Escape: "all" };
  document.addEventListener("keydown", (event) => {
    const plot = event.target.closest?.(".plot");
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") hush();
    if (!plot) return;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (KEYS[event.key]) move(KEYS[event.key]);
    else if (step && event.shiftKey) move(step < 0 ? "left" : "right");
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
      walked = Math.min(Math.max(walked + step, 0), data.times.length - 1);
      readPanel(panel, walked, box.left + (box.width * place(data.times[walked])) / 100, box.top);
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

  // --- the table ---------------------------------------------------------------------------------------------
  const table = one("#costs table");
  if (table) {
    const body = table.tBodies[0];
    const heads = all("thead th", table);
    const sortBy = (column) => {
      const head = heads[column];
      const isText = head.classList.contains("text");
      const was = head.getAttribute("aria-sort");
      const order = was ? (was === "descending" ? "ascending" : "descending") : isText ? "ascending" : "descending";
      heads.forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const keyed = Array.from(body.rows, (row) => {
        const cell = row.cells[column];
        return [isText ? cell.textContent : Number(cell.dataset.v), row];
      });
      keyed.sort(([a], [b]) => sign * (isText ? a.localeCompare(b, "en", { numeric: true }) : a - b));
      body.append(...keyed.map(([, row]) => row));
    };
    heads.forEach((head, column) => one("button", head)?.addEventListener("click", () => sortBy(column)));
    const filter = one("#filter");
    one(".filter").hidden = body.rows.length < 9;
    filter.addEventListener("input", () => {
      const wanted = filter.value.trim().toLowerCase();
      let count = 0;
      for (const row of body.rows) {
        row.hidden = !`${row.cells[0].textContent} ${row.cells[1].textContent}`.toLowerCase().includes(wanted);
        count += row.hidden ? 0 : 1;
      }
      one("#count").textContent = wanted ? `${count} of ${body.rows.length}` : "";
    });
    addEventListener("hashchange", () => {  // a link to a row that the filter hides
      if (filter.value) { filter.value = ""; filter.dispatchEvent(new Event("input")); }
    });
  }
  all(".toolbar").forEach((toolbar) => { toolbar.hidden = false; });
  if (one(".plots")) show();
  document.documentElement.dataset.ready = "yes";
})();
