// Texts for a page without papers: a welcome, or why there are none.

import { api, make, request } from "./frame.js";
import { clearFilters, isFiltered } from "./filters.js";

const bestButton = (isBest, showBest) =>
  isBest ? "" : make("button", { type: "button", id: "show-best", onclick: showBest }, "Show the best matches anyway");

/* Welcome the user before the first search; `take` puts an example into the draft. */
export function welcome(isFile, take) {
  if (isFile) return [make("p", { class: "lead" }, "Choose a passage of your draft.")];
  return [make("p", { class: "lead" }, "Papers appear here while you write."),
    make("p", { class: "quiet" }, "Paste a paragraph, or drop a draft anywhere on this page: LaTeX (with its folder, or a .zip), Word, OpenDocument, Markdown, Quarto, a notebook, Typst, reStructuredText, plain text or a PDF. Drop your .bib too, and citebed uses your own keys."),
    example(take)];
}

/* Offer an example passage on a subject of this collection. A collection without texts has none. */
let pending = null;
function example(take) {
  const place = make("div", { class: "example" });
  pending ??= request(api("example"));
  pending.then(({ text }) => {
    if (!text) return;
    const id = "example-title";
    place.append(make("p", { class: "quiet", id }, "Or try an example:"),
      make("button", { type: "button", id: "example", "aria-describedby": id, onclick: () => take(text) }, text));
  }).catch(() => {
    pending = null; // the page works without an example
  });
  return place;
}

const REPEATED = /^skipped 1 passage (without a good match|without a match in the collection)/;

/* Explain why there are no suggestions, and what the user can do. */
export function explainNoPapers(response, isBest, showBest) {
  const notes = response.notes.filter((note) => !REPEATED.test(note)).map((note) => make("li", {}, note));
  const why = notes.length ? make("ul", { class: "plain quiet notes" }, notes) : "";
  if (isFiltered()) {
    return [make("p", { class: "lead" }, "Nothing fits within these filters."), why,
      make("p", { class: "row" }, make("button", { type: "button", onclick: clearFilters }, "Clear the filters"), bestButton(isBest, showBest))];
  }
  const words = isBest ? "Nothing in this collection has anything in common with this text." : "Nothing in this collection fits this text well enough to recommend it.";
  return [make("p", { class: "lead" }, words), why, make("p", { class: "row" }, bestButton(isBest, showBest))];
}
