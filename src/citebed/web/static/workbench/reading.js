// A draft that citebed read from files: its passages, their places, notes, and the user's .bib files.

import { collection, make } from "./frame.js";
import { allowLibrary } from "./filters.js";

const at = (id) => document.getElementById(id);

function line(passage, index, all, chosen, choose) {
  const heading = passage.section && passage.section !== all[index - 1]?.section ? make("h2", {}, passage.section) : null;
  return make("li", { class: passage.silent ? "is-silent" : null }, heading,
    make("button", { type: "button", "aria-pressed": String(chosen === index + 1), onclick: () => choose(index + 1) },
      make("span", { class: "place" }, passage.place, passage.wanted ? make("span", { class: "tag" }, "citation placeholder") : null),
      make("span", { class: "passage-text" }, passage.text)));
}

/* Show the draft's passages with the chosen one, and its .bib files. */
export function showReadFile(file, chosen, { choose, removeFile }) {
  const isRead = Boolean(file?.file);
  at("typed").hidden = isRead;
  at("read").hidden = !isRead;
  for (const label of document.querySelectorAll("[data-file]")) {
    label.dataset.typed ??= label.textContent;
    label.textContent = isRead ? label.dataset.file : label.dataset.typed;
  }
  at("read-name").textContent = file?.file ?? "";
  const cites = file?.cites ? ` · cites ${file.cites === 1 ? "1 work" : `${file.cites} works`}` : "";
  const number = file?.passages.length ?? 0;
  at("read-facts").textContent = `${number === 1 ? "1 passage" : `${number} passages`}${cites}`;
  at("passages").replaceChildren(...(file?.passages ?? []).map((passage, index, all) => line(passage, index, all, chosen, choose)));
  at("libraries").replaceChildren(...(file?.libraries ?? []).map((name) => make("li", {}, name,
    make("button", { type: "button", "aria-label": `Remove ${name}`, onclick: () => removeFile(name) }, "×"))));
  at("file-notes").replaceChildren(...(file?.notes ?? []).map((note) => make("li", {}, note)));
  allowLibrary(Boolean(file?.libraries.length));
}

/* Mark the chosen passage. */
export function markChosen(number) {
  const buttons = [...at("passages").querySelectorAll("button")];
  buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(index + 1 === number)));
}

// --- File types ---

const ENDINGS = /\.(tex|ltx|latex|zip|md|markdown|mdown|pandoc|qmd|rmd|txt|text|docx|docm|odt|ipynb|typ|rst|rest|pdf|bib|bibtex|bbl)$/i;
const LIBRARY = /\.(bib|bibtex|bbl)$/i;
const BIBLIOGRAPHY = /\.(ris|enw|nbib|ciw|rdf|endnote)$/i;
const MAX_FILES = 900;
const MAX_SHOWN = 6;

export const isLibrary = ({ path }) => LIBRARY.test(path);

/* Choose the files to read; skip the others with a reason. A single file is always read unless it is a
   bibliography to import. */
export function sortFiles(files) {
  const [chosen, skipped] = [[], []];
  for (const each of files) {
    if (BIBLIOGRAPHY.test(each.path)) skipped.push({ ...each, isBibliography: true });
    else if (files.length > 1 && !ENDINGS.test(each.path)) skipped.push({ ...each, why: "neither a draft nor a .bib file" });
    else if (chosen.length >= MAX_FILES) skipped.push({ ...each, why: `more than ${MAX_FILES} files` });
    else chosen.push(each);
  }
  return { chosen, skipped };
}

function skippedLine({ path, why, isBibliography }) {
  if (!isBibliography) return make("li", {}, `${path}: not read (${why}).`);
  return make("li", {}, `${path}: a bibliography: `,
    make("a", { href: `/c/${encodeURIComponent(collection)}/collection` }, "import it on the Collection page"), ".");
}

/* Show the skipped files, with reasons. */
export function showSkipped(skipped) {
  const ordered = [...skipped].sort((a, b) => Number(Boolean(b.isBibliography)) - Number(Boolean(a.isBibliography)));
  const lines = ordered.map(skippedLine);
  const more = lines.splice(lines.length > MAX_SHOWN ? MAX_SHOWN - 1 : MAX_SHOWN);
  if (more.length) lines.push(make("li", {}, make("details", {}, make("summary", {}, `${more.length} more files were not read`), make("ul", { class: "plain" }, more))));
  at("file-passed").replaceChildren(...lines);
}
