// The house's tables, as a page sets them: a caption, heads that tell what they mean, cells.

import { make } from "./frame.js";

const signs = (text, column) => column.left ? text : text.replaceAll("-", "−");
const kind = (column) => column.left ? null : "number";

/* Says that a table is wider than its place, while it is. */
function hinted(box) {
  const hint = make("p", { class: "quiet sideways", hidden: true }, "scrolls sideways →");
  box.prepend(hint);
  new ResizeObserver(() => {
    hint.hidden = box.scrollWidth <= box.clientWidth + 1;
  }).observe(box);
  return box;
}

function cell(of, column, isFirst) {
  return make(isFirst ? "th" : "td", { scope: isFirst && "row", class: kind(column) },
    make("bdi", { title: of.whole }, signs(of.text, column)),
    of.mark.trim() ? make("span", { class: "mark" }, of.mark) : null,
    of.small ? make("small", {}, signs(of.small, column)) : null);
}

export function tableOf(table, { caption = true } = {}) {
  const head = table.columns.map((column) => make(column.head ? "th" : "td", { scope: column.head ? "col" : null, class: kind(column), title: column.title || null }, column.head));
  const rows = table.rows.map((row) => make("tr", {}, row.map((of, at) => cell(of, table.columns[at], at === 0))));
  return hinted(make("div", { class: "table-box", tabindex: "0", role: "region", "aria-label": table.caption || "Table" },
    make("table", {},
      table.caption && make("caption", { class: caption ? null : "hide" }, table.caption),
      make("thead", {}, make("tr", {}, head)), make("tbody", {}, rows)),
    table.note ? make("p", { class: "quiet" }, table.note) : null));
}

/* A table of plain texts: heads, and rows of texts. */
export function plainTable(caption, heads, rows) {
  return tableOf({
    caption, note: "",
    columns: heads.map((head) => ({ head: head.replace(/^#/, ""), title: "", left: !head.startsWith("#") })),
    rows: rows.map((row) => row.map((text) => ({ text: String(text ?? ""), small: "", mark: "" }))),
  });
}
