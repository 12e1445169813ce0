// Tables that can be sorted by a column.
import "./page.js";
import { element, say } from "./say.js";

for (const table of document.querySelectorAll("table[data-sortable]")) sortable(table);

function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, at) => {
    const button = element("button", head.textContent.trim(), "sorter");
    button.type = "button";
    head.replaceChildren(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of heads) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      sort(table.tBodies[0], at, up ? 1 : -1);
      say(`Sorted by ${button.textContent}, ${up ? "ascending" : "descending"}`);
    });
  });
}

/** Numbers by value, words alphabetically; empty cells come last in both directions. */
function sort(body, at, sign) {
  const rows = [...body.rows].map((row) => ({ row, value: valueOf(row.cells[at]) }));
  rows.sort((one, other) => {
    if (one.value === null || other.value === null) return (one.value === null) - (other.value === null);
    if (typeof one.value === typeof other.value) {
      return sign * (typeof one.value === "number" ? one.value - other.value : one.value.localeCompare(other.value));
    }
    return typeof one.value === "number" ? -1 : 1;
  });
  body.append(...rows.map((one) => one.row));
}

function valueOf(cell) {
  const text = (cell.dataset.value ?? cell.textContent).trim();
  if (text === "" || text === "–") return null;
  const number = Number(text.replace(/^\$/, "").replaceAll(",", "").split(" ")[0]);
  return cell.classList.contains("num") && !Number.isNaN(number) ? number : text;
}
