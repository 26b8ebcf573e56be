// A draft that was read from files: its passages and their places, its notes, the author's .bib files.

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

/* Show what was read: its passages, of which one may be chosen, and the .bib files beside it. */
export function showRead(file, chosen, { choose, takeAway }) {
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
    make("button", { type: "button", "aria-label": `Without ${name}`, onclick: () => takeAway(name) }, "×"))));
  at("file-notes").replaceChildren(...(file?.notes ?? []).map((note) => make("li", {}, note)));
  allowLibrary(Boolean(file?.libraries.length));
}

/* Which passage asks now. */
export function markChosen(number) {
  const buttons = [...at("passages").querySelectorAll("button")];
  buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(index + 1 === number)));
}

// --- Which files are read ---

const ENDINGS = /\.(tex|ltx|latex|zip|md|markdown|mdown|pandoc|qmd|rmd|txt|text|docx|docm|odt|ipynb|typ|rst|rest|pdf|bib|bibtex|bbl)$/i;
const LIBRARY = /\.(bib|bibtex|bbl)$/i;
const BIBLIOGRAPHY = /\.(ris|enw|nbib|ciw|rdf|endnote)$/i;
const MOST = 900;
const FEW = 6;

export const isLibrary = ({ path }) => LIBRARY.test(path);

/* Of several files only what drafts are made of; one that came by itself is read whatever it is. Of each that is
   not taken, why. */
export function sorted(given) {
  const [chosen, passed] = [[], []];
  for (const each of given) {
    if (BIBLIOGRAPHY.test(each.path)) passed.push({ ...each, isBibliography: true });
    else if (given.length > 1 && !ENDINGS.test(each.path)) passed.push({ ...each, why: "no draft, and no .bib" });
    else if (chosen.length >= MOST) passed.push({ ...each, why: `more than ${MOST} files` });
    else chosen.push(each);
  }
  return { chosen, passed };
}

function passedLine({ path, why, isBibliography }) {
  if (!isBibliography) return make("li", {}, `${path}: not read (${why}).`);
  return make("li", {}, `${path}: a bibliography: `,
    make("a", { href: `/c/${encodeURIComponent(collection)}/collection` }, "import it in the Collection room"), ".");
}

/* Say of each file that is not read why. */
export function showPassed(passed) {
  const ordered = [...passed].sort((a, b) => Number(Boolean(b.isBibliography)) - Number(Boolean(a.isBibliography)));
  const lines = ordered.map(passedLine);
  const more = lines.splice(lines.length > FEW ? FEW - 1 : FEW);
  if (more.length) lines.push(make("li", {}, make("details", {}, make("summary", {}, `${more.length} more files are not read`), make("ul", { class: "plain" }, more))));
  at("file-passed").replaceChildren(...lines);
}
