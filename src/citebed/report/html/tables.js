"use strict";
/* Buttons in the column heads sort tables marked data-sortable; boxes show whether they scroll. */
const citebed = (() => {
  const collator = new Intl.Collator("en", { numeric: true });

  function key(cell) {
    return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
  }

  /* Compare numbers by size and texts alphabetically. Cells without a number come last in both directions. */
  function compare(a, b, direction) {
    const numbers = [typeof a === "number", typeof b === "number"];
    if (numbers[0] && numbers[1]) return direction * (a - b);
    if (numbers[0] !== numbers[1]) return numbers[0] ? -1 : 1;
    return direction * collator.compare(a, b);
  }

  function sort(table, at, direction) {
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [key(row.cells[at]), row]);
    rows.sort((a, b) => compare(a[0], b[0], direction));
    body.append(...rows.map(([, row]) => row));
    show(table, at, direction);
  }

  function show(table, at, direction) {
    [...table.tHead.rows[0].cells].forEach((head, place) => {
      if (place === at) head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
  }

  function sortable(table) {
    [...table.tHead.rows[0].cells].forEach((head, at) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      const first = head.classList.contains("number") ? -1 : 1;
      button.addEventListener("click", () => {
        const now = { ascending: 1, descending: -1 }[head.getAttribute("aria-sort")];
        sort(table, at, now ? -now : first);
      });
    });
  }

  /* Mark boxes that are wider than the page. */
  function measure() {
    document.querySelectorAll(".box").forEach((box) => {
      box.classList.toggle("scrolls", box.scrollWidth > box.clientWidth + 1);
    });
  }

  document.querySelectorAll("table[data-sortable]").forEach(sortable);
  measure();
  addEventListener("resize", measure);
  document.addEventListener("toggle", measure, true);
  return { sortable, show };
})();
