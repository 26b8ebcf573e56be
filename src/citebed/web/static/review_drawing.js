// Draw the annotation at the right. All text is inserted as text, never as HTML.

export function element(tag, { text, kind, data, ...attributes } = {}, ...inside) {
  const node = document.createElement(tag);
  if (kind) node.className = kind;
  if (text !== undefined) node.textContent = text;
  Object.assign(node.dataset, data ?? {});
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null) node.setAttribute(name, value);
  }
  node.append(...inside.filter((each) => each !== null));
  return node;
}

const button = (what, key, text, more = {}) =>
  element("button", { type: "button", data: { do: what }, ...more }, ...(key ? [element("kbd", { text: key }), " "] : []), text);
const percent = (confidence) => `${Math.round(100 * confidence)} % sure`;
const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1).trimEnd()}…` : text);
const joinLabels = (cites) => cites.join(", ");

export function referenceName(reference) {
  return short(reference.title || reference.text, 90);
}

function badge(paper, item, confidence) {
  if (paper.open.includes(item)) return element("span", { kind: "badge doubt", text: percent(confidence) });
  if (paper.decided.includes(item)) return element("span", { kind: "badge seen", text: "checked" });
  return null;
}

// Return the text of a sentence with its citation markers highlighted.
function highlightMarkers(sentence) {
  const pieces = [];
  let at = 0;
  for (const marker of sentence.markers) {
    const start = sentence.text.indexOf(marker.text, at);
    if (start < 0 || !marker.text) continue;
    pieces.push(sentence.text.slice(at, start), element("span", { kind: "cite-mark", text: marker.text }));
    at = start + marker.text.length;
  }
  return [...pieces, sentence.text.slice(at)];
}

function chips(paper, cites) {
  return cites.map((cite) => {
    const reference = paper.references.find((each) => each.ref_id === cite);
    return element("li", { kind: "chip" }, element("b", { text: cite }), ` ${reference ? short(referenceName(reference), 46) : "not in the list"}`);
  });
}

function markerField(marker, number) {
  const name = `Marker ${marker.text} cites`;
  return element("label", { kind: "marker-field" },
    element("span", { kind: "cite-mark", text: marker.text }), element("span", { kind: "quiet", text: "cites" }),
    element("input", { value: joinLabels(marker.cites), data: { marker: number }, "aria-label": name, autocomplete: "off", spellcheck: "false", placeholder: "cites nothing" }));
}

export function sentenceElement(paper, sentence, paragraph, isCurrent) {
  const head = [badge(paper, sentence.item, sentence.confidence), sentence.anonymised ? element("span", { kind: "badge", text: "anonymised" }) : null];
  const node = element("div", {
    kind: `sentence item${paper.open.includes(sentence.item) ? " doubtful" : ""}`, tabindex: isCurrent ? "0" : "-1", data: { item: sentence.item, paragraph: paragraph.item },
    role: "group", "aria-label": `Sentence: ${short(sentence.text, 80)}`,
  }, element("p", { kind: "text", dir: "auto" }, ...highlightMarkers(sentence)));
  const notes = head.filter((each) => each !== null);
  if (notes.length) node.prepend(element("p", { kind: "badges" }, ...notes));
  if (sentence.cites.length) node.append(element("ul", { kind: "chips plain", "aria-label": "Cites" }, ...chips(paper, sentence.cites)));
  if (isCurrent) {
    if (sentence.markers.length) node.append(element("div", { kind: "markers" }, ...sentence.markers.map(markerField), element("p", { kind: "hint quiet", "aria-live": "polite" })));
    node.append(element("div", { kind: "tools" },
      button("accept", "↵", "Accept", { class: "strong" }), button("edit", "e", "Edit"),
      button("anonymise", "X", sentence.anonymised ? "Restore names" : "Anonymise"),
      button("split", "S", "Split here"), button("join", "J", "Join next")));
  }
  return node;
}

export function paragraphElement(paper, paragraph, number, current) {
  const heading = paragraph.heading && paragraph.heading.toLowerCase() !== paragraph.section ? ` · ${paragraph.heading}` : "";
  const why = paragraph.dropped ? "dropped: not exported" : paragraph.cites ? "" : "cites nothing: not exported";
  const head = element("header", { kind: `paragraph-head item${paper.open.includes(paragraph.item) ? " doubtful" : ""}`, tabindex: "-1", data: { item: paragraph.item, paragraph: paragraph.item } },
    element("h3", {}, element("span", { kind: "number", text: String(number) }), ` ${paragraph.section}`, element("span", { kind: "quiet", text: heading })),
    badge(paper, paragraph.item, paragraph.confidence), why ? element("span", { kind: "badge gone", text: why }) : null,
    element("span", { kind: "paragraph-tools" },
      button("add", "I", "Insert after"), ...(paragraph.dropped ? [] : [button("merge", "M", "Merge with next")]), button("drop", "D", paragraph.dropped ? "Restore" : "Drop")));
  const inside = paragraph.sentences.map((each) => sentenceElement(paper, each, paragraph, each.item === current));
  return element("section", { kind: `paragraph${paragraph.dropped ? " dropped" : ""}`, "aria-label": `Paragraph ${number}, ${paragraph.section}` }, head, ...inside);
}

export function frontElement(paper, isCurrent) {
  const { title, abstract, doi } = paper.front;
  const open = paper.open.includes("front");
  const node = element("section", { kind: `front item${open ? " doubtful" : ""}`, tabindex: isCurrent ? "0" : "-1", data: { item: "front" }, role: "group", "aria-label": "Title and abstract" },
    element("h2", { dir: "auto", text: title || "No title was found" }),
    element("p", { kind: "quiet", text: doi ? `DOI ${doi}` : "no DOI" }),
    element("p", { kind: `abstract-text${isCurrent ? "" : " clipped"}`, dir: "auto", text: abstract || "No abstract was found." }));
  if (isCurrent) node.append(element("div", { kind: "tools" }, button("accept", "↵", "Accept", { class: "strong" }), button("edit", "e", "Edit")));
  return node;
}

function targetOf(reference) {
  if (reference.doi) return [element("span", { kind: "points", text: reference.doi })];
  if (reference.url) return [element("span", { kind: "points", text: reference.url })];
  if (reference.doc_id) return [element("span", { kind: "points", text: reference.doc_id })];
  return [element("span", { kind: "points none", text: "no DOI or address" })];
}

function candidate(reference, each, number) {
  const chosen = reference.doc_id === each.doc_id;
  return button("candidate", number < 9 ? String(number + 1) : "", `${short(each.title, 110)} · ${Math.round(100 * each.probability)} %`,
    { class: "candidate", "aria-pressed": String(chosen), "data-number": String(number) });
}

export function referenceElement(paper, reference, isCurrent) {
  const node = element("li", {
    kind: `reference item${paper.open.includes(reference.item) ? " doubtful" : ""}`, tabindex: isCurrent ? "0" : "-1", data: { item: reference.item },
    "aria-label": `Reference ${reference.ref_id}`,
  }, element("p", { kind: "text", dir: "auto" }, element("b", { text: `[${reference.ref_id}] ` }), reference.text),
  element("p", { kind: "badges" }, ...targetOf(reference), badge(paper, reference.item, reference.confidence) ?? "",
    reference.cited ? "" : element("span", { kind: "badge", text: "not cited in these paragraphs" })));
  if (!isCurrent) return node;
  const choices = reference.candidates.map((each, number) => candidate(reference, each, number));
  if (choices.length) node.append(element("div", { kind: "candidates", role: "group", "aria-label": "Possible documents" }, ...choices));
  node.append(element("div", { kind: "row pointing" },
    element("label", { kind: "grow" }, element("span", { kind: "quiet", text: "DOI or address" }),
      element("input", { value: reference.doi || reference.url || "", data: { points: "" }, autocomplete: "off", spellcheck: "false" }))),
  element("div", { kind: "tools" }, button("accept", "↵", "Accept", { class: "strong" }), button("edit", "e", "Edit"), button("none", "0", choices.length ? "None of these" : "None")));
  return node;
}

// Return a form to edit a sentence in place. Enter saves it.
export function sentenceForm(sentence, draft) {
  return element("form", { kind: "editing", data: { item: sentence.item } },
    element("label", {}, element("span", { kind: "quiet", text: "Text" }), area(draft?.text ?? sentence.text, "text")),
    sentence.printed && sentence.printed !== sentence.text ? element("p", { kind: "quiet printed", dir: "auto", text: `Printed: ${sentence.printed}` }) : null,
    element("div", { kind: "row" },
      element("label", { kind: "grow" }, element("span", { kind: "quiet", text: "Cites" }), element("input", { name: "cites", value: draft?.cites ?? joinLabels(sentence.cites), autocomplete: "off", spellcheck: "false" })),
      element("label", { kind: "tick" }, element("input", { type: "checkbox", name: "anonymised", checked: draft ? draft.anonymised : sentence.anonymised }), " anonymised")),
    element("div", { kind: "tools" }, element("button", { kind: "strong" }, element("kbd", { text: "↵" }), " Save"), button("cut", "Ctrl ↵", "Split at the cursor"), button("cancel", "Esc", "Cancel")));
}

export function frontForm(front, draft) {
  const value = { ...front, ...draft };
  return element("form", { kind: "editing", data: { item: "front" } },
    element("label", {}, element("span", { kind: "quiet", text: "Title" }), area(value.title, "title")),
    element("label", {}, element("span", { kind: "quiet", text: "DOI" }), element("input", { name: "doi", value: value.doi, autocomplete: "off", spellcheck: "false" })),
    element("label", {}, element("span", { kind: "quiet", text: "Abstract" }), area(value.abstract, "abstract")),
    element("div", { kind: "tools" }, element("button", { kind: "strong" }, element("kbd", { text: "↵" }), " Save"), button("cancel", "Esc", "Cancel")));
}

// Return a form for a paragraph that citebed missed.
export function newForm(section, after, draft) {
  const value = { section, text: "", ...draft };
  return element("form", { kind: "editing adding", data: { item: "new", after } },
    element("label", {}, element("span", { kind: "quiet", text: "Text of the missing paragraph: draw a box around it on the page, or type it here" }), area(value.text, "text", 6)),
    element("label", {}, element("span", { kind: "quiet", text: "Section" }), element("input", { name: "section", value: value.section, autocomplete: "off" })),
    element("div", { kind: "tools" }, element("button", { kind: "strong" }, element("kbd", { text: "↵" }), " Insert"), button("cancel", "Esc", "Cancel")));
}

function area(text, name, least = 1) {
  const node = element("textarea", { name, rows: String(Math.min(14, Math.max(least, 1 + Math.ceil(text.length / 66)))), dir: "auto" });
  node.value = text;
  return node;
}
