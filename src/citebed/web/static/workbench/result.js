// The card of a suggested paper: its metadata, probability, reasons and actions.

import { api, collection, make, request, webLink } from "./frame.js";

const MOST_AUTHORS = 3;
const abstracts = new Map();

/* Turn "Family, Given" into "Given Family". */
const readName = (name) => {
  const parts = name.split(", ");
  return parts.length > 1 ? `${parts.at(-1)} ${parts[0]}` : name;
};

export function formatAuthors(names) {
  const read = names.slice(0, MOST_AUTHORS).map(readName);
  return names.length > MOST_AUTHORS ? `${read[0]} and ${names.length - 1} others` : read.join(", ");
}

export const documentAddress = (docId) =>
  `/c/${encodeURIComponent(collection)}/document?${new URLSearchParams({ doc: docId })}`;

/* Link to the paper by its DOI, else by the address in its record. */
function externalLink(row) {
  const address = webLink(row.doi ? `https://doi.org/${encodeURI(row.doi)}` : row.link);
  if (!address) return null;
  const words = row.doi ? "DOI" : new URL(address).hostname.replace(/^www\./, "");
  return make("a", { href: address, rel: "noreferrer noopener", target: "_blank", class: "outside" }, words,
    make("span", { class: "hide" }, ` of ${row.title || row.doc_id}, in a new window`));
}

function about(row) {
  const parts = [formatAuthors(row.authors), row.year, row.venue].filter(Boolean).map(String);
  const link = externalLink(row);
  return make("p", { class: "who" }, parts.join(" · "), link && parts.length ? " · " : "", link);
}

const level = (row) => ({ strong: "high", fair: "middle" })[row.strength] ?? "low";

function reasons(row) {
  return make("p", { class: "why" },
    make("span", { class: `sure ${level(row)}` }, row.sure),
    row.reason ? make("span", { class: "terms" }, make("span", { class: "hide" }, "because of "), row.reason) : null);
}

const quote = (label, words, by = "") => make("p", { class: "said" },
  make("span", { class: "label" }, label), " ", make("q", {}, words), by ? make("span", { class: "by" }, ` ${by}`) : null);

/* Quote the papers that cite it. */
function citingQuotes(row) {
  if (!row.citing_sentences.length) return null;
  const number = row.citing_sentences.length;
  return make("details", { class: "citers" },
    make("summary", {}, number === 1 ? "Quoted from 1 citing paper" : `Quoted from ${number} citing papers`),
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

/* Make the card of a paper; `is` has whether it is cited, good, and its abstract open. */
export function resultCard(row, is, several) {
  const title = make("a", { href: documentAddress(row.doc_id), class: "title" }, row.title || row.doc_id);
  return make("li", { class: `result${is.cited ? " is-cited" : ""}`, "data-doc": row.doc_id, "data-passage": row.passage, tabindex: "-1" },
    make("h3", {}, title, row.in_bib ? make("span", { class: "tag" }, "in your .bib") : null),
    about(row),
    reasons(row),
    several && row.sentence ? quote("asked by", row.sentence) : null,
    row.abstract_sentence ? quote("abstract", row.abstract_sentence) : null,
    row.reprints.length ? make("p", { class: "said" }, make("span", { class: "label" }, "also as"), ` ${row.reprints.join("; ")}`) : null,
    citingQuotes(row),
    make("div", { class: "abstract-text", hidden: true }),
    actions(row, is));
}

/* Show the abstract in a card, with the words highlighted that also occur in the query text. */
export async function showAbstract(card, text) {
  const place = card.querySelector(".abstract-text");
  place.hidden = false;
  const id = card.dataset.doc;
  const key = `${id}\n${text}`;
  if (!abstracts.has(key)) place.replaceChildren(make("p", { class: "quiet" }, "…"));
  try {
    if (!abstracts.has(key)) {
      const response = await request(api("abstract"), { method: "POST", json: { doc_id: id, text } });
      if (abstracts.size > 200) abstracts.clear();
      abstracts.set(key, response.pieces);
    }
    const pieces = abstracts.get(key).map((piece) => piece.marked ? make("mark", {}, piece.text) : piece.text);
    place.replaceChildren(make("p", {}, pieces.length ? pieces : "There is no abstract."));
  } catch (error) {
    place.replaceChildren(make("p", { class: "problem" }, error.message));
  }
}
