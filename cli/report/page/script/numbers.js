// Numbers and times, written as by cli/number_format.py (a test compares them); ticks and positions on the time axis.
const decimals = (size) => (size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : size >= 0.1 ? 3 : 4);
const short = (value) => {
  if (value === 0) return "0";
  if (Math.abs(value) >= 99.95) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toFixed(decimals(Math.abs(value)))));
};
const bytes = (mib) => {
  let value = mib * MIB;
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (Math.abs(value) < 1023.5) return `${short(value)} ${unit}`;
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
  const units = [[Math.floor(whole / 86400), "d"], [Math.floor(whole / 3600) % 24, "h"], [Math.floor(whole / 60) % 60, "m"], [whole % 60, "s"]];
  while (units[0][0] === 0) units.shift();
  while (units.at(-1)[0] === 0) units.pop();
  return units.map(([value, unit], at) => `${at ? String(value).padStart(2, "0") : value}${unit}`).join("");
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
  cpu: { index: 0, title: "CPU", label: (value) => `${short(value)} %`, upto },
  rss: { index: 1, title: "Memory", label: bytes, upto: bytesUpto },
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
