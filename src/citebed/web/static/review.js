// Review one annotated paper. The page asks about doubtful items only, saves each step at once and can undo it.

import { frontElement, frontForm, newForm, paragraphElement, referenceElement, referenceName, sentenceForm } from "./review_drawing.js";
import { Pages } from "./review_pages.js";
import { Sender, Work } from "./review_sending.js";

const main = document.getElementById("review");
const { stem, base, token } = main.dataset;
const byId = (id) => document.getElementById(id);
const annotation = byId("annotation");
const help = byId("help");
const DRAFT_KEY = `citebed:editing:${stem}`;
const work = new Work();
const sender = new Sender(base, token, (text, kind) => showStatus(text, kind));
const pages = new Pages(byId("pages"), base, (item) => enqueue(() => goTo(item)));
let paper = null; // the paper's state, as the server last sent it
let current = null;
let editing = null; // the item that is edited in place
let queue = Promise.resolve();

// --- display -------------------------------------------------------------------------------

function showStatus(text, kind = "") {
  byId("saving").textContent = text;
  byId("saving").dataset.kind = kind;
}

function showAlert(text) {
  byId("alert").textContent = text;
  byId("alert").hidden = !text;
  if (text) byId("alert").scrollIntoView({ block: "nearest" });
}

function draw() {
  byId("front").replaceChildren(frontElement(paper, current === "front"));
  const paragraphs = paper.paragraphs.map((each, number) => paragraphElement(paper, each, number + 1, current));
  byId("paragraphs").replaceChildren(...paragraphs);
  byId("references").replaceChildren(...paper.references.map((each) => referenceElement(paper, each, each.item === current)));
  elementOf(current)?.classList.add("current");
  elementOf(current)?.setAttribute("aria-current", "true");
  pages.draw(paper);
  drawProgress();
}

function drawProgress() {
  const [all, left] = [paper.asked.length, paper.open.length];
  byId("progress").textContent = paper.finished ? "Confirmed" : left ? `${left} of ${all} left to check` : "Nothing left to check";
  byId("meter").max = Math.max(1, all);
  byId("meter").value = all ? all - left : 1;
  byId("title").textContent = paper.front.title || stem;
  for (const button of document.querySelectorAll("[data-do=undo]")) button.disabled = !paper.steps;
  byId("finish").disabled = paper.finished;
  byId("finish").classList.toggle("strong", !left && !paper.finished);
  byId("done").hidden = !paper.finished;
  const whole = Math.round(paper.seconds);
  byId("took").textContent = `It took ${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")} minutes.`;
}

const elementOf = (item) => (item ? annotation.querySelector(`.item[data-item="${CSS.escape(item)}"]`) : null);
const sentences = () => paper.paragraphs.flatMap((each) => each.sentences);
const sentenceOf = (item) => sentences().find((each) => each.item === item);
const paragraphOf = (item) => paper.paragraphs.find((each) => each.item === item || each.sentences.some((one) => one.item === item));
const referenceOf = (item) => paper.references.find((each) => each.item === item);

// Return all items in page order. A paragraph is an item of its own only if the page asks about it.
function items() {
  const inside = paper.paragraphs.flatMap((each) => [
    ...(paper.asked.includes(each.item) ? [each.item] : []), ...each.sentences.map((one) => one.item)]);
  return ["front", ...inside, ...paper.references.map((each) => each.item)];
}

function choose(item, { focus = true } = {}) {
  if (editing && item !== editing) closeEditor();
  current = item;
  draw();
  const chosen = elementOf(item);
  if (focus) chosen?.focus({ preventScroll: true });
  chosen?.scrollIntoView({ block: "nearest" });
  pages.show(item);
}

function findItem(by, isWanted) {
  const order = items();
  const from = order.indexOf(current);
  const next = by > 0 ? order.slice(from + 1).find(isWanted) : order.slice(0, Math.max(0, from)).findLast(isWanted);
  return next ?? null;
}

const isOpen = (item) => paper.open.includes(item);

// Choose the next doubtful item; after the last one, continue at the start.
function chooseNextOpen() {
  const next = findItem(1, isOpen) ?? paper.open[0] ?? null;
  if (next) choose(next);
  else {
    choose(current);
    byId("finish").focus();
  }
}

// --- steps ---------------------------------------------------------------------------------

const enqueue = (what) => {
  queue = queue.then(what).catch((error) => showAlert(`Something went wrong: ${error.message}. Reload the page.`));
  return queue;
};

async function send(what, more) {
  const seconds = work.take();
  showStatus("Saving…", "waiting");
  const { ok, status, content } = await sender.send(what, { version: paper.version, seconds, ...more });
  if (ok) {
    paper = content;
    showStatus("All saved", "saved");
    showAlert("");
    return true;
  }
  work.spent += 1000 * seconds;
  showStatus("Not saved", "refused");
  if (status === 409) paper = content.stand;
  const again = " The page now shows the current state. Repeat the step if you still want it.";
  showAlert(`${content.message}${status === 409 ? again : ""}`);
  if (!items().includes(current)) current = paper.open[0] ?? "front";
  if (status === 409) choose(current);
  return false;
}

async function sendStep(body, after = () => choose(current)) {
  if (await send("step", { step: body })) after();
}

// Return a function that chooses the item again, or the one in its place if the step removed it.
function keepPlace(item) {
  const before = items();
  const place = before.indexOf(item);
  return () => choose(items().includes(item) ? item : items()[Math.min(place, items().length - 1)]);
}

const accept = () => sendStep({ kind: "accept", item: current }, chooseNextOpen);
const stepOnParagraph = (kind) => {
  const paragraph = paragraphOf(current);
  return paragraph ? sendStep({ kind, item: paragraph.item }, keepPlace(current)) : null;
};
const stepOnSentence = (kind) => (sentenceOf(current) ? sendStep({ kind, item: current }, keepPlace(current)) : null);

function drop() {
  const paragraph = paragraphOf(current);
  if (!paragraph) return null;
  return sendStep({ kind: "drop", item: paragraph.item, dropped: !paragraph.dropped }, paragraph.dropped ? undefined : chooseNextOpen);
}

function anonymise() {
  const sentence = sentenceOf(current);
  return sentence && sendStep({ kind: "sentence", item: current, anonymised: !sentence.anonymised });
}

async function undo() {
  const item = paper.last;
  if (paper.steps && await send("undo", {})) choose(items().includes(item) ? item : current && items().includes(current) ? current : "front");
}

async function finish() {
  const left = paper.open.length;
  await sendStep({ kind: "finish" }, () => {
    choose(current, { focus: false });
    if (left) byId("took").textContent += ` ${left === 1 ? "1 unchecked item was" : `${left} unchecked items were`} accepted. Press z to undo that.`;
    annotation.scrollTop = 0;
    byId("done").querySelector("a").focus();
  });
}

// Expand "3, 5-7" to labels of the reference list; other text becomes a label unchanged.
function parseLabels(text) {
  const known = new Set(paper.references.map((each) => each.ref_id));
  return text.split(/[\s,;]+/).filter(Boolean).flatMap((part) => {
    const range = /^(\d{1,4})[-–](\d{1,4})$/.exec(part);
    if (!range || known.has(part) || Number(range[2]) - Number(range[1]) > 100) return [part.replace(/^\[|\]$/g, "")];
    const [from, to] = [Number(range[1]), Number(range[2])];
    return Array.from({ length: Math.max(0, to - from + 1) }, (_, number) => String(from + number));
  });
}

function showHint(field) {
  const names = parseLabels(field.value).map((label) => {
    const reference = paper.references.find((each) => each.ref_id === label);
    return `${label}: ${reference ? referenceName(reference) : "not in the list"}`;
  });
  field.closest(".markers").querySelector(".hint").textContent = names.join(" · ");
}

// Save the field of a marker or a reference. Leaving the field or pressing Enter calls this.
function saveField(field) {
  const item = field.closest(".item")?.dataset.item;
  if (!item || field.dataset.sent || field.value === field.defaultValue) return null;
  field.dataset.sent = "1";
  if (field.dataset.marker !== undefined) {
    return enqueue(() => sendStep({ kind: "marker", item, marker: Number(field.dataset.marker), cites: parseLabels(field.value) }));
  }
  const text = field.value.trim();
  const isAddress = /^(https?|ftp):\/\//i.test(text) && !/10\.\d{4,9}\//.test(text);
  return enqueue(() => sendStep({ kind: "reference", item, ...(isAddress ? { url: text } : { doi: text }) }, undefined));
}

function candidate(number) {
  const reference = referenceOf(current);
  const chosen = reference?.candidates[number];
  return chosen ? sendStep({ kind: "reference", item: current, doc_id: chosen.doc_id }, chooseNextOpen) : null;
}

const chooseNone = () => (referenceOf(current) ? sendStep({ kind: "reference", item: current }, chooseNextOpen) : null);

// --- editing in place ----------------------------------------------------------------------

function edit(draft = null) {
  const place = elementOf(current);
  const sentence = sentenceOf(current);
  if (referenceOf(current)) return place.querySelector("[data-points]").select();
  if (!place || !(sentence || current === "front")) return null;
  const form = sentence ? sentenceForm(sentence, draft) : frontForm(paper.front, draft);
  editing = current;
  place.replaceChildren(form);
  const area = form.querySelector("textarea");
  form.scrollIntoView({ block: "nearest" });
  area.focus({ preventScroll: true });
  area.setSelectionRange(area.value.length, area.value.length);
  return form;
}

// Open a form for a new paragraph after the current one, or before all others.
function add(draft = null) {
  const paragraph = paragraphOf(draft?.after ?? current);
  const form = newForm(paragraph?.section ?? paper.paragraphs[0]?.section ?? "introduction", paragraph?.item ?? "front", draft);
  annotation.querySelector("form.adding")?.remove();
  const place = paragraph && elementOf(paragraph.item)?.closest(".paragraph");
  if (place) place.after(form);
  else byId("paragraphs").prepend(form);
  editing = "new";
  form.scrollIntoView({ block: "nearest" });
  form.elements.text.focus();
  pages.listenFor((page, box) => enqueue(() => insertBoxText(page, box)));
}

// Append the text in a box that the user drew on a page.
async function insertBoxText(page, [left, top, right, bottom]) {
  const area = annotation.querySelector("form.adding textarea");
  const response = await fetch(`${base}/pages/${page}/text?${new URLSearchParams({ left, top, right, bottom })}`, { headers: { Accept: "application/json" } });
  const content = await response.json();
  showAlert(response.ok ? "" : content.message);
  if (!response.ok || !area) return;
  area.value = [area.value.trimEnd(), content.text.trim()].filter(Boolean).join("\n");
  area.dispatchEvent(new Event("input", { bubbles: true }));
  area.focus();
}

async function saveNew(form) {
  const { text, section, after } = fieldsOf(form);
  const before = new Set(items());
  await sendStep({ kind: "add", after, section, text }, () => {
    closeEditor();
    choose(items().find((item) => !before.has(item)) ?? current);
  });
}

function fieldsOf(form) {
  if (form.dataset.item === "new") return { text: form.elements.text.value, section: form.elements.section.value, after: form.dataset.after };
  const value = (name) => form.elements[name]?.value.replace(/\s+/g, " ").trim();
  if (form.dataset.item === "front") return { title: value("title"), abstract: value("abstract"), doi: value("doi") };
  return { text: value("text"), cites: value("cites"), anonymised: form.elements.anonymised.checked };
}

function closeEditor() {
  editing = null;
  pages.listenFor(null);
  sessionStorage.removeItem(DRAFT_KEY);
}

async function saveEditor(form) {
  if (form.dataset.item === "new") {
    await saveNew(form);
    return;
  }
  const item = form.dataset.item;
  const fields = fieldsOf(form);
  const body = item === "front" ? { kind: "front", ...fields } : { kind: "sentence", item, ...changedFields(item, fields) };
  const goBack = keepPlace(item);
  await sendStep(body, () => {
    closeEditor();
    goBack();
  });
}

// Return the changed fields only: unchanged ones are not decisions.
function changedFields(item, { text, cites, anonymised }) {
  const sentence = sentenceOf(item);
  const wanted = parseLabels(cites);
  return {
    ...(text !== sentence.text ? { text } : {}),
    ...(wanted.join() !== sentence.cites.join() ? { cites: wanted } : {}),
    ...(anonymised !== sentence.anonymised ? { anonymised } : {}),
  };
}

function isChanged(form) {
  const { item } = form.dataset;
  const fields = fieldsOf(form);
  if (item === "new") return fields.text.trim() !== "";
  if (item === "front") return Object.entries(fields).some(([name, value]) => value !== paper.front[name]);
  return Object.keys(changedFields(item, fields)).length > 0;
}

// Save the open form before the user leaves it. Return false if the server refuses it.
async function saveOpenForm() {
  const form = annotation.querySelector("form.editing");
  if (!editing || !form) return true;
  if (isChanged(form)) await saveEditor(form);
  else closeEditor();
  return editing === null;
}

async function goTo(item) {
  if (await saveOpenForm()) choose(item);
}

// Save the edited text, then split the sentence at the cursor.
async function splitAtCursor(form) {
  const area = form.elements.text;
  const item = form.dataset.item;
  if (!area || item === "new") return;
  const place = area.value.slice(0, area.selectionStart).replace(/\s+/g, " ").trimStart().length;
  const { text } = fieldsOf(form);
  if (text !== sentenceOf(item).text && !await send("step", { step: { kind: "sentence", item, text } })) return;
  await sendStep({ kind: "split sentence", item, at: place }, () => {
    closeEditor();
    choose(item);
  });
}

function cancel() {
  const item = editing === "new" ? current : editing;
  closeEditor();
  if (item) choose(item);
}

function reopen() {
  let draft = null;
  try {
    draft = JSON.parse(sessionStorage.getItem(DRAFT_KEY));
  } catch { /* the draft is not readable */ }
  if (draft?.item === "new") {
    choose(paragraphOf(draft.fields.after)?.sentences[0].item ?? "front");
    add(draft.fields);
    return true;
  }
  if (!draft || !items().includes(draft.item)) return false;
  choose(draft.item);
  edit(draft.fields);
  return true;
}

// --- keys and clicks -----------------------------------------------------------------------

const ACTIONS = {
  accept, undo, finish, drop, anonymise, cancel,
  none: chooseNone, edit: () => edit(),
  add: () => add(),
  merge: () => stepOnParagraph("merge"),
  split: () => stepOnSentence("split"),
  join: () => stepOnSentence("join sentence"),
  cite: () => elementOf(current)?.querySelector("[data-marker]")?.select(),
  next: () => { const item = findItem(1, isOpen); if (item) choose(item); },
  previous: () => { const item = findItem(-1, isOpen); if (item) choose(item); },
  down: () => { const item = findItem(1, () => true); if (item) choose(item); },
  up: () => { const item = findItem(-1, () => true); if (item) choose(item); },
  larger: () => pages.resize(1.25),
  smaller: () => pages.resize(0.8),
  help: () => help.showModal(),
};
const KEYS = {
  Enter: "accept", e: "edit", c: "cite", X: "anonymise", M: "merge", S: "split", J: "join", D: "drop", I: "add",
  z: "undo", n: "next", p: "previous", A: "finish", "?": "help", ArrowDown: "down", ArrowUp: "up",
  "+": "larger", "=": "larger", "-": "smaller", 0: "none",
};
const IMMEDIATE = new Set(["help", "larger", "smaller"]);
const run = (what) => (IMMEDIATE.has(what) ? ACTIONS[what]() : enqueue(ACTIONS[what]));

function saveAndRun(what) {
  if (what === "cancel" || IMMEDIATE.has(what)) run(what);
  else enqueue(async () => (await saveOpenForm()) && ACTIONS[what]());
}

function handleFieldKey(event) {
  const { target, key } = event;
  const form = target.closest("form.editing");
  if (key === "Escape") {
    event.preventDefault();
    if (form) run("cancel");
    else {
      target.value = target.defaultValue;
      elementOf(current)?.focus();
    }
  } else if (key === "Enter" && form) {
    event.preventDefault();
    enqueue(() => (event.ctrlKey || event.metaKey ? splitAtCursor(form) : saveEditor(form)));
  } else if (key === "Enter") {
    event.preventDefault();
    if (!saveField(target)) elementOf(current)?.focus();
  }
}

function handleKey(event) {
  if (event.defaultPrevented || help.open || event.isComposing) return;
  if (event.target.matches?.("input, textarea, select")) {
    handleFieldKey(event);
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Enter" && event.target.closest?.("button, a")) return;
  if (/^[1-9]$/.test(event.key)) enqueue(() => candidate(Number(event.key) - 1));
  else if (KEYS[event.key]) run(KEYS[event.key]);
  else return;
  event.preventDefault();
}

function handleClick(event) {
  const button = event.target.closest("[data-do]");
  const item = event.target.closest(".item")?.dataset.item;
  if (button?.dataset.do === "candidate") enqueue(() => candidate(Number(button.dataset.number)));
  else if (button?.dataset.do === "cut") enqueue(() => splitAtCursor(button.closest("form")));
  else if (button) {
    const place = button.closest(".paragraph-head");
    if (place && paragraphOf(current)?.item !== item) current = sentenceOf(paragraphOf(item).sentences[0].item).item;
    saveAndRun(button.dataset.do);
  } else if (item && item !== current && !event.target.closest("input, textarea") && getSelection().isCollapsed) {
    enqueue(() => goTo(sentenceOf(item) || !paragraphOf(item) || paper.asked.includes(item) ? item : paragraphOf(item).sentences[0].item));
  }
}

document.addEventListener("keydown", handleKey);
document.addEventListener("click", handleClick);
document.addEventListener("submit", (event) => {
  const form = event.target.closest("form.editing");
  if (!form) return;
  event.preventDefault();
  enqueue(() => saveEditor(form));
});
document.addEventListener("input", (event) => {
  const form = event.target.closest("form.editing");
  if (form) sessionStorage.setItem(DRAFT_KEY, JSON.stringify({ item: form.dataset.item, fields: fieldsOf(form) }));
  else if (event.target.dataset.marker !== undefined) showHint(event.target);
});
document.addEventListener("focusout", (event) => {
  if (event.target.matches?.("[data-marker], [data-points]") && event.target.isConnected) saveField(event.target);
});
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState !== "hidden") return;
  const seconds = work.take();
  if (seconds) sender.last("seconds", { seconds });
});

async function start() {
  const response = await fetch(`${base}/stand`, { headers: { Accept: "application/json" } });
  const content = await response.json();
  if (!response.ok) {
    showAlert(content.message);
    return;
  }
  paper = content;
  showStatus("All saved", "saved");
  if (!reopen()) choose(paper.open[0] ?? items()[1] ?? "front", { focus: !paper.finished });
}

start().catch(() => showAlert("citebed does not respond. Is it still running?")).finally(() => citebedReady());
