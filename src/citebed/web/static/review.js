// One paper: only what is in doubt is asked, each step is saved at once, and any can be taken back.

import { frontElement, frontForm, newForm, paragraphElement, referenceElement, referenceName, sentenceForm } from "./review_drawing.js";
import { Pages } from "./review_pages.js";
import { Sender, Work } from "./review_sending.js";

const main = document.getElementById("review");
const { stem, base, token } = main.dataset;
const at = (id) => document.getElementById(id);
const annotation = at("annotation");
const help = at("help");
const kept = `citebed:editing:${stem}`;
const work = new Work();
const sender = new Sender(base, token, (text, kind) => tell(text, kind));
const pages = new Pages(at("pages"), base, (item) => act(() => goTo(item)));
let stand = null;
let current = null;
let editing = null; // the item that is edited in place
let queue = Promise.resolve();

// --- what the page shows -------------------------------------------------------------------

function tell(text, kind = "") {
  at("saving").textContent = text;
  at("saving").dataset.kind = kind;
}

function warn(text) {
  at("alert").textContent = text;
  at("alert").hidden = !text;
  if (text) at("alert").scrollIntoView({ block: "nearest" });
}

function draw() {
  at("front").replaceChildren(frontElement(stand, current === "front"));
  const paragraphs = stand.paragraphs.map((each, number) => paragraphElement(stand, each, number + 1, current));
  at("paragraphs").replaceChildren(...paragraphs);
  at("references").replaceChildren(...stand.references.map((each) => referenceElement(stand, each, each.item === current)));
  elementOf(current)?.classList.add("current");
  elementOf(current)?.setAttribute("aria-current", "true");
  pages.draw(stand);
  drawProgress();
}

function drawProgress() {
  const [all, left] = [stand.asked.length, stand.open.length];
  at("progress").textContent = stand.finished ? "Confirmed" : left ? `${left} of ${all} in doubt left` : "Nothing in doubt is left";
  at("meter").max = Math.max(1, all);
  at("meter").value = all ? all - left : 1;
  at("title").textContent = stand.front.title || stem;
  for (const button of document.querySelectorAll("[data-do=undo]")) button.disabled = !stand.steps;
  at("finish").disabled = stand.finished;
  at("finish").classList.toggle("strong", !left && !stand.finished);
  at("done").hidden = !stand.finished;
  const whole = Math.round(stand.seconds);
  at("took").textContent = `It took ${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")} minutes.`;
}

const elementOf = (item) => (item ? annotation.querySelector(`.item[data-item="${CSS.escape(item)}"]`) : null);
const sentences = () => stand.paragraphs.flatMap((each) => each.sentences);
const sentenceOf = (item) => sentences().find((each) => each.item === item);
const paragraphOf = (item) => stand.paragraphs.find((each) => each.item === item || each.sentences.some((one) => one.item === item));
const referenceOf = (item) => stand.references.find((each) => each.item === item);

// All items in the order of the pages; a paragraph itself only where it is asked.
function items() {
  const inside = stand.paragraphs.flatMap((each) => [
    ...(stand.asked.includes(each.item) ? [each.item] : []), ...each.sentences.map((one) => one.item)]);
  return ["front", ...inside, ...stand.references.map((each) => each.item)];
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

function go(by, isWanted) {
  const every = items();
  const from = every.indexOf(current);
  const next = by > 0 ? every.slice(from + 1).find(isWanted) : every.slice(0, Math.max(0, from)).findLast(isWanted);
  return next ?? null;
}

const isOpen = (item) => stand.open.includes(item);

// The next one in doubt, from the start again behind the last.
function goOn() {
  const next = go(1, isOpen) ?? stand.open[0] ?? null;
  if (next) choose(next);
  else {
    choose(current);
    at("finish").focus();
  }
}

// --- what a person does --------------------------------------------------------------------

const act = (what) => {
  queue = queue.then(what).catch((error) => warn(`Something went wrong here: ${error.message}. Load the page again.`));
  return queue;
};

async function send(what, more) {
  const seconds = work.take();
  tell("Saving…", "waiting");
  const { ok, status, said } = await sender.send(what, { version: stand.version, seconds, ...more });
  if (ok) {
    stand = said;
    tell("All saved", "saved");
    warn("");
    return true;
  }
  work.spent += 1000 * seconds;
  tell("Not done", "refused");
  if (status === 409) stand = said.stand;
  const again = " Here is how it stands now; do it again where that is still right.";
  warn(`${said.message}${status === 409 ? again : ""}`);
  if (!items().includes(current)) current = stand.open[0] ?? "front";
  if (status === 409) choose(current);
  return false;
}

async function step(body, after = () => choose(current)) {
  if (await send("step", { step: body })) after();
}

// Where an item is gone with a step, the one that has its place is next.
function stay(item) {
  const before = items();
  const place = before.indexOf(item);
  return () => choose(items().includes(item) ? item : items()[Math.min(place, items().length - 1)]);
}

const accept = () => step({ kind: "accept", item: current }, goOn);
const inParagraph = (kind) => {
  const paragraph = paragraphOf(current);
  return paragraph ? step({ kind, item: paragraph.item }, stay(current)) : null;
};
const ofSentence = (kind) => (sentenceOf(current) ? step({ kind, item: current }, stay(current)) : null);

function drop() {
  const paragraph = paragraphOf(current);
  if (!paragraph) return null;
  return step({ kind: "drop", item: paragraph.item, dropped: !paragraph.dropped }, paragraph.dropped ? undefined : goOn);
}

function anonymise() {
  const sentence = sentenceOf(current);
  return sentence && step({ kind: "sentence", item: current, anonymised: !sentence.anonymised });
}

async function undo() {
  const item = stand.last;
  if (stand.steps && await send("undo", {})) choose(items().includes(item) ? item : current && items().includes(current) ? current : "front");
}

async function finish() {
  const left = stand.open.length;
  await step({ kind: "finish" }, () => {
    choose(current, { focus: false });
    if (left) at("took").textContent += ` ${left} in doubt ${left === 1 ? "was" : "were"} accepted without a look: z undoes that.`;
    annotation.scrollTop = 0;
    at("done").querySelector("a").focus();
  });
}

// "3, 5-7" as labels of the list; what is no range is taken as it is.
function labels(text) {
  const known = new Set(stand.references.map((each) => each.ref_id));
  return text.split(/[\s,;]+/).filter(Boolean).flatMap((part) => {
    const range = /^(\d{1,4})[-–](\d{1,4})$/.exec(part);
    if (!range || known.has(part) || Number(range[2]) - Number(range[1]) > 100) return [part.replace(/^\[|\]$/g, "")];
    const [from, to] = [Number(range[1]), Number(range[2])];
    return Array.from({ length: Math.max(0, to - from + 1) }, (_, number) => String(from + number));
  });
}

function hint(field) {
  const names = labels(field.value).map((label) => {
    const reference = stand.references.find((each) => each.ref_id === label);
    return `${label}: ${reference ? referenceName(reference) : "not in the list"}`;
  });
  field.closest(".markers").querySelector(".hint").textContent = names.join(" · ");
}

// A field of a marker or a reference is saved when it is left, or with Enter.
function saveField(field) {
  const item = field.closest(".item")?.dataset.item;
  if (!item || field.dataset.sent || field.value === field.defaultValue) return null;
  field.dataset.sent = "1";
  if (field.dataset.marker !== undefined) {
    return act(() => step({ kind: "marker", item, marker: Number(field.dataset.marker), cites: labels(field.value) }));
  }
  const text = field.value.trim();
  const isAddress = /^(https?|ftp):\/\//i.test(text) && !/10\.\d{4,9}\//.test(text);
  return act(() => step({ kind: "reference", item, ...(isAddress ? { url: text } : { doi: text }) }, undefined));
}

function candidate(number) {
  const reference = referenceOf(current);
  const chosen = reference?.candidates[number];
  return chosen ? step({ kind: "reference", item: current, doc_id: chosen.doc_id }, goOn) : null;
}

const none = () => (referenceOf(current) ? step({ kind: "reference", item: current }, goOn) : null);

// --- editing in place ----------------------------------------------------------------------

function edit(draft = null) {
  const place = elementOf(current);
  const sentence = sentenceOf(current);
  if (referenceOf(current)) return place.querySelector("[data-points]").select();
  if (!place || !(sentence || current === "front")) return null;
  const form = sentence ? sentenceForm(sentence, draft) : frontForm(stand.front, draft);
  editing = current;
  place.replaceChildren(form);
  const area = form.querySelector("textarea");
  form.scrollIntoView({ block: "nearest" });
  area.focus({ preventScroll: true });
  area.setSelectionRange(area.value.length, area.value.length);
  return form;
}

// Behind the current paragraph, or before all others.
function add(draft = null) {
  const paragraph = paragraphOf(draft?.after ?? current);
  const form = newForm(paragraph?.section ?? stand.paragraphs[0]?.section ?? "introduction", paragraph?.item ?? "front", draft);
  annotation.querySelector("form.adding")?.remove();
  const place = paragraph && elementOf(paragraph.item)?.closest(".paragraph");
  if (place) place.after(form);
  else at("paragraphs").prepend(form);
  editing = "new";
  form.scrollIntoView({ block: "nearest" });
  form.elements.text.focus();
  pages.listenFor((page, box) => act(() => take(page, box)));
}

// The text of a box that was drawn on a page, behind what is there.
async function take(page, [left, top, right, bottom]) {
  const area = annotation.querySelector("form.adding textarea");
  const answer = await fetch(`${base}/pages/${page}/text?${new URLSearchParams({ left, top, right, bottom })}`, { headers: { Accept: "application/json" } });
  const said = await answer.json();
  warn(answer.ok ? "" : said.message);
  if (!answer.ok || !area) return;
  area.value = [area.value.trimEnd(), said.text.trim()].filter(Boolean).join("\n");
  area.dispatchEvent(new Event("input", { bubbles: true }));
  area.focus();
}

async function saveNew(form) {
  const { text, section, after } = fieldsOf(form);
  const before = new Set(items());
  await step({ kind: "add", after, section, text }, () => {
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
  sessionStorage.removeItem(kept);
}

async function saveEditor(form) {
  if (form.dataset.item === "new") {
    await saveNew(form);
    return;
  }
  const item = form.dataset.item;
  const fields = fieldsOf(form);
  const body = item === "front" ? { kind: "front", ...fields } : { kind: "sentence", item, ...changed(item, fields) };
  const goBack = stay(item);
  await step(body, () => {
    closeEditor();
    goBack();
  });
}

// Only what was changed is a decision.
function changed(item, { text, cites, anonymised }) {
  const sentence = sentenceOf(item);
  const wanted = labels(cites);
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
  if (item === "front") return Object.entries(fields).some(([name, value]) => value !== stand.front[name]);
  return Object.keys(changed(item, fields)).length > 0;
}

// Whoever goes elsewhere saves what was typed; what is refused holds one back.
async function leave() {
  const form = annotation.querySelector("form.editing");
  if (!editing || !form) return true;
  if (isChanged(form)) await saveEditor(form);
  else closeEditor();
  return editing === null;
}

async function goTo(item) {
  if (await leave()) choose(item);
}

// The text is saved as it was edited, and cut where the cursor is.
async function cut(form) {
  const area = form.elements.text;
  const item = form.dataset.item;
  if (!area || item === "new") return;
  const place = area.value.slice(0, area.selectionStart).replace(/\s+/g, " ").trimStart().length;
  const { text } = fieldsOf(form);
  if (text !== sentenceOf(item).text && !await send("step", { step: { kind: "sentence", item, text } })) return;
  await step({ kind: "split sentence", item, at: place }, () => {
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
    draft = JSON.parse(sessionStorage.getItem(kept));
  } catch { /* nothing is kept */ }
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

const DO = {
  accept, undo, finish, drop, anonymise, none, cancel,
  edit: () => edit(),
  add: () => add(),
  merge: () => inParagraph("merge"),
  split: () => ofSentence("split"),
  join: () => ofSentence("join sentence"),
  cite: () => elementOf(current)?.querySelector("[data-marker]")?.select(),
  next: () => { const item = go(1, isOpen); if (item) choose(item); },
  previous: () => { const item = go(-1, isOpen); if (item) choose(item); },
  down: () => { const item = go(1, () => true); if (item) choose(item); },
  up: () => { const item = go(-1, () => true); if (item) choose(item); },
  larger: () => pages.resize(1.25),
  smaller: () => pages.resize(0.8),
  help: () => help.showModal(),
};
const KEYS = {
  Enter: "accept", e: "edit", c: "cite", X: "anonymise", M: "merge", S: "split", J: "join", D: "drop", I: "add",
  z: "undo", n: "next", p: "previous", A: "finish", "?": "help", ArrowDown: "down", ArrowUp: "up",
  "+": "larger", "=": "larger", "-": "smaller", 0: "none",
};
const AT_ONCE = new Set(["help", "larger", "smaller"]);
const run = (what) => (AT_ONCE.has(what) ? DO[what]() : act(DO[what]));

function leaveAndRun(what) {
  if (what === "cancel" || AT_ONCE.has(what)) run(what);
  else act(async () => (await leave()) && DO[what]());
}

function typed(event) {
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
    act(() => (event.ctrlKey || event.metaKey ? cut(form) : saveEditor(form)));
  } else if (key === "Enter") {
    event.preventDefault();
    if (!saveField(target)) elementOf(current)?.focus();
  }
}

function pressed(event) {
  if (event.defaultPrevented || help.open || event.isComposing) return;
  if (event.target.matches?.("input, textarea, select")) {
    typed(event);
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Enter" && event.target.closest?.("button, a")) return;
  if (/^[1-9]$/.test(event.key)) act(() => candidate(Number(event.key) - 1));
  else if (KEYS[event.key]) run(KEYS[event.key]);
  else return;
  event.preventDefault();
}

function clicked(event) {
  const button = event.target.closest("[data-do]");
  const item = event.target.closest(".item")?.dataset.item;
  if (button?.dataset.do === "candidate") act(() => candidate(Number(button.dataset.number)));
  else if (button?.dataset.do === "cut") act(() => cut(button.closest("form")));
  else if (button) {
    const place = button.closest(".paragraph-head");
    if (place && paragraphOf(current)?.item !== item) current = sentenceOf(paragraphOf(item).sentences[0].item).item;
    leaveAndRun(button.dataset.do);
  } else if (item && item !== current && !event.target.closest("input, textarea") && getSelection().isCollapsed) {
    act(() => goTo(sentenceOf(item) || !paragraphOf(item) || stand.asked.includes(item) ? item : paragraphOf(item).sentences[0].item));
  }
}

document.addEventListener("keydown", pressed);
document.addEventListener("click", clicked);
document.addEventListener("submit", (event) => {
  const form = event.target.closest("form.editing");
  if (!form) return;
  event.preventDefault();
  act(() => saveEditor(form));
});
document.addEventListener("input", (event) => {
  const form = event.target.closest("form.editing");
  if (form) sessionStorage.setItem(kept, JSON.stringify({ item: form.dataset.item, fields: fieldsOf(form) }));
  else if (event.target.dataset.marker !== undefined) hint(event.target);
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
  const answer = await fetch(`${base}/stand`, { headers: { Accept: "application/json" } });
  const said = await answer.json();
  if (!answer.ok) {
    warn(said.message);
    return;
  }
  stand = said;
  tell("All saved", "saved");
  if (!reopen()) choose(stand.open[0] ?? items()[1] ?? "front", { focus: !stand.finished });
}

start().catch(() => warn("citebed does not answer: is it still running?")).finally(() => citebedReady());
