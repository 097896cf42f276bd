// Tables: sorted by a click on a column, filtered, shown in parts; bars in cells, and small lines of CPU and memory.
const spark = (values, index) => {
  const size = Math.max(1, values.length / 40);
  const ranges = Array.from({ length: Math.ceil(values.length / size) }, (_, at) => [Math.floor(at * size), Math.floor((at + 1) * size)]);
  const peaks = ranges.map(([from, to]) => values.slice(from, to).filter((value) => value !== null).reduce((a, b) => Math.max(a, b), -1));
  const most = Math.max(...peaks) || 1;
  let d = "", down = false;
  peaks.forEach((value, at) => {
    if (value >= 0) d += `${down ? "L" : "M"}${Math.round((58 * use.times[ranges[at][0]]) / data.end)} ${Math.round(18 - (16 * value) / most)}`;
    down = value >= 0;
  });
  return svg("svg", { class: `s${index}`, "aria-hidden": "true" }, svg("path", { d }));
};
const addSparks = (table) => {  // behind the columns of CPU and memory, each in its own scale
  const lines = new Map(use.ids.map((id, index) => [id, use.lines[index]]));
  [2, 4].forEach((column, index) => {
    one("thead tr", table).cells[column].after(make("th", { scope: "col", className: "spark", textContent: "over time" }));
    for (const row of table.tBodies[0].rows) {
      const line = lines.get(row.id);
      row.cells[column].after(make("td", { className: "spark" }, ...(line ? [spark(line[index], index)] : [])));
    }
  });
  one(".caption", table.closest("section")).append(" The small lines have each their own scale.");
};
const addBars = (rows, column) => {
  const value = (row) => Math.max(0, Number(row.cells[column].dataset.v ?? 0));
  const most = rows.reduce((sofar, row) => Math.max(sofar, value(row)), 0);
  if (most) rows.forEach((row) => row.cells[column].prepend(styled(make("i"), { width: `${(100 * value(row)) / most}%` })));
};
const enhance = (table) => {
  const [body, rest] = table.tBodies;
  const atOnce = rest ? body.rows.length : Infinity;
  let rows = all("tbody tr", table);
  rest?.remove();
  const heads = all("thead th", table);
  heads.forEach((head, column) => { if ("bar" in head.dataset) addBars(rows, column); });
  if (rows.length < 2) return;
  let most = atOnce, wanted = "";
  const filter = make("input", { type: "search", id: "filter", placeholder: table.dataset.filter, ariaLabel: table.dataset.filter });
  const found = make("span", { id: "count", role: "status" });
  const more = make("button", { type: "button", id: "more" });
  const showRows = () => {
    const has = (row) => `${row.cells[0].textContent} ${row.cells[1].textContent}`.toLowerCase().includes(wanted);
    const fitting = wanted ? rows.filter(has) : rows;
    body.replaceChildren(...fitting.slice(0, most));
    found.textContent = wanted ? `${fitting.length.toLocaleString("en-US")} of ${rows.length.toLocaleString("en-US")}` : "";
    more.hidden = fitting.length <= most;
    more.textContent = `show more: ${(fitting.length - most).toLocaleString("en-US")} are left`;
  };
  const collator = new Intl.Collator("en", { numeric: true });
  const sortBy = (head) => {
    const column = head.cellIndex;
    const isText = head.classList.contains("text");
    const was = head.ariaSort;
    const order = was ? (was === "descending" ? "ascending" : "descending") : isText ? "ascending" : "descending";
    heads.forEach((each) => each.removeAttribute("aria-sort"));
    head.ariaSort = order;
    const sign = order === "ascending" ? 1 : -1;
    const key = ({ cells: { [column]: cell } }) => (isText ? cell.textContent : cell.dataset.v === undefined ? null : Number(cell.dataset.v));
    const keyed = rows.map((row) => [key(row), row]);
    const known = keyed.filter(([value]) => value !== null);
    known.sort(([a], [b]) => sign * (isText ? collator.compare(a, b) : a - b));
    rows = [...known, ...keyed.filter(([value]) => value === null)].map(([, row]) => row);
    showRows();
  };
  heads.forEach((head) => {
    const button = make("button", { type: "button", title: head.title, textContent: head.textContent });
    head.replaceChildren(button);
    head.removeAttribute("title");
    button.addEventListener("click", () => sortBy(head));
  });
  if (table.dataset.filter && rows.length > 8) {
    table.parentNode.before(make("p", { className: "filter" }, filter, " ", found));
    filter.addEventListener("input", () => { wanted = filter.value.trim().toLowerCase(); most = atOnce; showRows(); });
    addEventListener("hashchange", () => {  // a link to a row that the filter hides
      if (!filter.value) return;
      filter.value = "";
      filter.dispatchEvent(new Event("input"));
      document.getElementById(location.hash.slice(1))?.scrollIntoView();
    });
  }
  if (rest) {
    table.parentNode.after(make("p", { className: "more" }, more));
    more.addEventListener("click", () => { most *= 4; showRows(); });
    showRows();
  }
};
all("main table").forEach(enhance);
const costs = one("#costs table");
if (costs && use?.times.length > 1) addSparks(costs);
