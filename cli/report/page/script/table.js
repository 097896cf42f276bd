// The table of costs: sorting and filtering. Then the page is ready.
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
