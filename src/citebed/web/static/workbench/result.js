// A recommended paper: what it is, how likely it is right, what speaks for it, and what to do with it.

import { api, ask, collection, make, webLink } from "./frame.js";

const MOST_AUTHORS = 3;
const abstracts = new Map();

/* "Family, Given" as one reads it. */
const readName = (name) => {
  const parts = name.split(", ");
  return parts.length > 1 ? `${parts.at(-1)} ${parts[0]}` : name;
};

export function authorsOf(names) {
  const read = names.slice(0, MOST_AUTHORS).map(readName);
  return names.length > MOST_AUTHORS ? `${read[0]} and ${names.length - 1} others` : read.join(", ");
}

export const documentAddress = (docId) =>
  `/c/${encodeURIComponent(collection)}/document?${new URLSearchParams({ doc: docId })}`;

/* Where it can be read: by its DOI, else where its record says. */
function outside(row) {
  const address = webLink(row.doi ? `https://doi.org/${encodeURI(row.doi)}` : row.link);
  if (!address) return null;
  const words = row.doi ? "DOI" : new URL(address).hostname.replace(/^www\./, "");
  return make("a", { href: address, rel: "noreferrer noopener", target: "_blank", class: "outside" }, words,
    make("span", { class: "hide" }, ` of ${row.title || row.doc_id}, in another window`));
}

function about(row) {
  const parts = [authorsOf(row.authors), row.year, row.venue].filter(Boolean).map(String);
  const link = outside(row);
  return make("p", { class: "who" }, parts.join(" · "), link && parts.length ? " · " : "", link);
}

const LEVELS = [[0.5, "high"], [0.2, "middle"], [0, "low"]];
const level = (row) => {
  if (row.probability !== null) return LEVELS.find(([least]) => row.probability >= least)[1];
  return { strong: "high", fair: "middle" }[row.strength] ?? "low";
};

function reasons(row) {
  const terms = row.terms.slice(0, 6).join(", ");
  return make("p", { class: "why" },
    make("span", { class: `sure ${level(row)}` }, row.sure),
    terms ? make("span", { class: "terms" }, make("span", { class: "hide" }, "because of "), terms) : null);
}

const quote = (label, words, by = "") => make("p", { class: "said" },
  make("span", { class: "label" }, label), " ", make("q", {}, words), by ? make("span", { class: "by" }, ` ${by}`) : null);

/* What others say when they cite it, and who. */
function citers(row) {
  if (!row.citing_sentences.length) return null;
  const number = row.citing_sentences.length;
  return make("details", { class: "citers" },
    make("summary", {}, number === 1 ? "What a paper that cites it says" : `What ${number} papers that cite it say`),
    row.citing_sentences.map((words, at) => make("blockquote", {}, words,
      row.cited_by[at] ? make("footer", {}, row.cited_by[at]) : null)));
}

const button = (act, words, key, pressed, title) =>
  make("button", { type: "button", "data-act": act, "aria-pressed": pressed, "aria-label": `${words}: ${title}`, title: `${words} (${key})` }, words);

function actions(row, is) {
  const title = row.title || row.doc_id;
  return make("div", { class: "acts" },
    button("cite", is.cited ? "Cited" : "Cite", "c", String(is.cited), title),
    button("good", "Good", "2", String(is.good), title),
    button("bad", "Not this", "1", null, title),
    button("abstract", "Abstract", "a", String(is.open), title));
}

/* A paper in the list; `is` says whether it is cited, good, and its abstract open. */
export function resultCard(row, is, several) {
  const title = make("a", { href: documentAddress(row.doc_id), class: "title" }, row.title || row.doc_id);
  return make("li", { class: `result${is.cited ? " is-cited" : ""}`, "data-doc": row.doc_id, "data-passage": row.passage, tabindex: "-1" },
    make("h3", {}, title, row.in_bib ? make("span", { class: "tag" }, "in your .bib") : null),
    about(row),
    reasons(row),
    several && row.sentence ? quote("asked by", row.sentence) : null,
    row.abstract_sentence ? quote("abstract", row.abstract_sentence) : null,
    row.reprints.length ? make("p", { class: "said" }, make("span", { class: "label" }, "also as"), ` ${row.reprints.join("; ")}`) : null,
    citers(row),
    make("div", { class: "abstract-text", hidden: true }),
    actions(row, is));
}

/* Show an abstract in a card, the words marked that it has in common with the text that asked. */
export async function showAbstract(card, text) {
  const place = card.querySelector(".abstract-text");
  place.hidden = false;
  const id = card.dataset.doc;
  const key = `${id}\n${text}`;
  if (!abstracts.has(key)) place.replaceChildren(make("p", { class: "quiet" }, "…"));
  try {
    if (!abstracts.has(key)) {
      const found = await ask(api("abstract"), { method: "POST", json: { doc_id: id, text } });
      if (abstracts.size > 200) abstracts.clear();
      abstracts.set(key, found.pieces);
    }
    const pieces = abstracts.get(key).map((piece) => piece.marked ? make("mark", {}, piece.text) : piece.text);
    place.replaceChildren(make("p", {}, pieces.length ? pieces : "There is no abstract."));
  } catch (error) {
    place.replaceChildren(make("p", { class: "problem" }, error.message));
  }
}
