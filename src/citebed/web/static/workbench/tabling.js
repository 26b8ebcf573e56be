// Draw citebed's tables: a caption, column heads with explanations, and cells.

import { make } from "./frame.js";

const signs = (text, column) => column.left ? text : text.replaceAll("-", "−");
const kind = (column) => column.left ? null : "number";

/* Show a hint above a table while it is wider than its box. */
function withScrollHint(box) {
  const hint = make("p", { class: "quiet sideways", hidden: true }, "scrolls sideways →");
  box.prepend(hint);
  new ResizeObserver(() => {
    hint.hidden = box.scrollWidth <= box.clientWidth + 1;
  }).observe(box);
  return box;
}

function cell(value, column, isFirst) {
  return make(isFirst ? "th" : "td", { scope: isFirst && "row", class: kind(column) },
    make("bdi", { title: value.whole }, signs(value.text, column)),
    value.mark.trim() ? make("span", { class: "mark" }, value.mark) : null,
    value.small ? make("small", {}, signs(value.small, column)) : null);
}

export function makeTable(table, { caption = true } = {}) {
  const head = table.columns.map((column) => make(column.head ? "th" : "td", { scope: column.head ? "col" : null, class: kind(column), title: column.title || null }, column.head));
  const rows = table.rows.map((row) => make("tr", {}, row.map((value, at) => cell(value, table.columns[at], at === 0))));
  return withScrollHint(make("div", { class: "table-box", tabindex: "0", role: "region", "aria-label": table.caption || "Table" },
    make("table", {},
      table.caption && make("caption", { class: caption ? null : "hide" }, table.caption),
      make("thead", {}, make("tr", {}, head)), make("tbody", {}, rows)),
    table.note ? make("p", { class: "quiet" }, table.note) : null));
}

/* Make a table of plain text. A head that begins with # marks a column of numbers. */
export function makePlainTable(caption, heads, rows) {
  return makeTable({
    caption, note: "",
    columns: heads.map((head) => ({ head: head.replace(/^#/, ""), title: "", left: !head.startsWith("#") })),
    rows: rows.map((row) => row.map((text) => ({ text: String(text ?? ""), small: "", mark: "" }))),
  });
}
