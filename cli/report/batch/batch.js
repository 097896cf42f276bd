// The table of all tasks: its rows are made from the data, as many as are wanted; sorting and filtering see all tasks.
const MIB = 2 ** 20, SHORTEST = 0.01;
const data = JSON.parse(document.getElementById("data").textContent);
const one = (selector, root = document) => root.querySelector(selector);
const make = (tag, properties) => Object.assign(document.createElement(tag), properties);
const count = (value) => value.toLocaleString("en-US");
const dollars = (value) => {
  if (value > 0 && value < 1e-5) return "under $0.00001";
  const shown = short(value);
  return `$${shown === "0" && value > 0 ? value.toFixed(5) : shown}`;
};
const GOOD = "ok", WAITS = ["running", "interrupted"], PLAIN = ["not_run"];
const styleOf = (state) => (state === GOOD ? "good" : WAITS.includes(state) ? "waits" : PLAIN.includes(state) ? "plain" : "bad");
const table = one("#tasks table");
if (table) {
  const [body] = table.tBodies;
  const heads = Array.from(table.querySelectorAll("thead th"));
  const more = one("#more"), filter = one("#filter");
  const tasks = data.tasks;
  let most = data.most, order = tasks, column = -1, sign = 1;
  const row = ([id, state, attempts, seconds, cost, tokens, page]) => {
    const line = make("tr");
    const name = make("bdi", { textContent: id.trim() ? id : "(no name)" });
    const head = make("th", { scope: "row" });
    head.append(page ? make("a", { href: `${data.folder}/${page}` }) : name);
    if (page) head.firstChild.append(name);
    const cell = (text) => make("td", { textContent: text });
    const outcome = make("td", { className: "text" });
    outcome.append(make("span", { className: `state ${styleOf(state)}`, textContent: state }));
    line.append(
      head, outcome, cell(count(attempts)), cell(seconds === null ? "-" : elapsed(seconds)),
      cell(attempts === 0 ? "-" : cost === null ? "not known" : dollars(cost)), cell(tokens === null ? "-" : count(tokens)),
    );
    return line;
  };
  const draw = () => {
    const wanted = filter.value.trim().toLowerCase();
    const found = wanted ? order.filter(([id, state]) => `${id} ${state}`.toLowerCase().includes(wanted)) : order;
    body.replaceChildren(...found.slice(0, most).map(row));
    one("#count").textContent = wanted ? `${count(found.length)} of ${count(tasks.length)}` : "";
    more.hidden = found.length <= most;
    more.textContent = `show more: ${count(found.length - most)} are left`;
  };
  const sortBy = (index) => {
    const isText = index < 2;
    sign = column === index ? -sign : isText ? 1 : -1;
    column = index;
    heads.forEach((head, at) => {
      if (at === index) head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    const known = (task) => task[index] !== null;
    const compared = isText
      ? new Intl.Collator("en", { numeric: true }).compare
      : (a, b) => a - b;
    order = [...tasks.filter(known).sort((a, b) => sign * compared(a[index], b[index])), ...tasks.filter((task) => !known(task))];
    draw();
  };
  heads.forEach((head, index) => one("button", head).addEventListener("click", () => sortBy(index)));
  filter.addEventListener("input", () => { most = data.most; draw(); });
  more.addEventListener("click", () => { most *= 4; draw(); });
  one("#tasks .filter").hidden = tasks.length < 9;
  draw();
}
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => { each.open = true; }));
document.documentElement.dataset.ready = "yes";
