// Recommending while somebody types: a moment after the last key, the last question only.

import { api, ask, collection, make, onKey, tell } from "./frame.js";
import * as desk from "./desk.js";
import { VERY_LONG, askedOf, paragraphAt } from "./asking.js";
import { copyKeys, showBasket } from "./basket.js";
import { nameOf, showName, startMenu } from "./draft_menu.js";
import { dropZone, formOf } from "./dropping.js";
import { filters, startFilters } from "./filters.js";
import { Keeping } from "./keeping.js";
import { isLibrary, markChosen, showPassed, showRead, sorted } from "./reading.js";
import { documentAddress, resultCard, showAbstract } from "./result.js";
import { silence, welcome } from "./silence.js";
import { answered, gettingReady, looking, markBusy, trouble } from "./trouble.js";

const WAIT = 120; // milliseconds after the last key
const WAIT_BUSY = 250; // while the server still works on an older question
const RETRIES = [2, 3, 5, 8, 10, 15, 20, 30];
const at = (id) => document.getElementById(id);
const text = at("text");
const results = at("results");

const state = {
  draft: null, // on the desk, or null before anything is kept
  file: null, // what was read from files
  passage: null, // the one chosen of a file
  found: null, // the last answer
  best: false, // show the best there is, whether it fits or not
  open: new Set(), // abstracts
  gone: null, // the paper that was just set aside
};

const papers = (number) => number === 1 ? "1 paper" : `${number.toLocaleString("en")} papers`;
const scope = () => document.querySelector("[name=scope]:checked").value;

// --- Asking -----------------------------------------------------------------------------------

/* What is asked now; null where there is nothing to ask. */
function question() {
  const asked = filters();
  if (state.best) asked.min_probability = 0;
  if (state.file?.file) {
    if (scope() !== "sentence") return { ...asked, each: scope() };
    return state.passage ? { ...asked, passage: state.passage } : null;
  }
  const typed = askedOf(text, scope());
  return typed && { ...asked, ...typed };
}

let asking = null;
let waiting = 0;
let retries = 0;
let last = ""; // what was asked last
let shown = ""; // what the papers that are shown were asked with

async function recommend({ again = false } = {}) {
  clearTimeout(waiting);
  const asked = question();
  const form = JSON.stringify(asked);
  if (form === last && !again) return void mark();
  stopAsking();
  last = form;
  if (!asked) return void showFound(null, form);
  if (asked.isLong) return void tooLong();
  const mine = new AbortController();
  asking = mine;
  looking();
  try {
    const json = { ...asked, draft: state.draft?.draft_id ?? "" };
    const found = await ask(api("recommend"), { method: "POST", json, signal: mine.signal });
    retries = 0;
    showFound(found, form);
  } catch (error) {
    if (error.name !== "AbortError") failed(error);
  } finally {
    if (asking === mine) asking = null;
  }
}

/* Papers that are not for what stands there now are grey. */
const mark = () => markBusy(JSON.stringify(question()) !== shown);

/* Ask in a moment. A question that is no longer the one at hand is cancelled at once. */
const soon = () => {
  clearTimeout(waiting);
  mark();
  const isBusy = asking !== null;
  if (isBusy && JSON.stringify(question()) !== last) stopAsking();
  waiting = setTimeout(recommend, isBusy ? WAIT_BUSY : WAIT);
};

function stopAsking() {
  asking?.abort();
  asking = null;
  last = "";
}

function tooLong() {
  showFound(null, last);
  trouble(VERY_LONG);
}

/* A server that is not ready is asked again; what it refuses is said. */
function failed(error) {
  last = "";
  const again = () => recommend({ again: true });
  const isWaiting = !error.status || error.status === 503;
  if (isWaiting && retries < RETRIES.length) {
    waiting = setTimeout(again, 1000 * RETRIES[retries]);
    retries += 1;
    if (error.status) return void gettingReady();
  }
  trouble(error.status ? error.message : "The server does not answer. Is citebed still running? It is asked again.", again);
}

// --- Showing ----------------------------------------------------------------------------------

const passageOf = (row) => state.found?.passages.find((each) => each.number === row.passage);
const rowOf = (card) => state.found?.rows.find((row) => row.doc_id === card.dataset.doc && String(row.passage) === card.dataset.passage);
const isOpen = (row) => `${row.doc_id} ${row.passage}`;

function card(row) {
  const is = {
    cited: state.draft?.basket.includes(row.doc_id) ?? false,
    good: state.draft?.judged[row.doc_id] === 1,
    open: state.open.has(isOpen(row)),
  };
  const isPart = (passageOf(row)?.text.length ?? 0) > row.sentence.length + 10;
  const made = resultCard(row, is, isPart);
  if (is.open) showAbstract(made, passageOf(row)?.text ?? "");
  return made;
}

/* Where a passage stands; in a text that is typed, with the way there. */
function placeOf(passage) {
  if (state.file?.file) return passage.place;
  if (scope() === "sentence") return "at the cursor";
  const { number, start, end } = paragraphAt(text.value, passage.line);
  return make("button", { type: "button", class: "plain-button to-text", onclick: () => showInText(start, end) }, `paragraph ${number}`);
}

function showInText(start, end) {
  text.focus();
  text.setSelectionRange(start, start); // which scrolls there
  text.blur();
  text.focus();
  text.setSelectionRange(start, end);
}

function passageHead(passage) {
  return make("header", { class: "asking" },
    make("h3", {}, passage.section ? `${passage.section} · ` : "", placeOf(passage), passage.wanted ? make("span", { class: "tag" }, "citation placeholder") : null),
    make("p", { class: "asking-text" }, passage.text));
}

function lists(found) {
  if (scope() === "text" || found.passages.length < 2 && scope() !== "sentence") {
    return [make("ol", { class: "plain" }, found.rows.map(card))];
  }
  return found.passages.map((passage) => {
    const own = found.rows.filter((row) => row.passage === passage.number);
    return make("div", { class: "group" }, passageHead(passage),
      own.length ? make("ol", { class: "plain" }, own.map(card)) : make("p", { class: "quiet" }, "Nothing fits."));
  });
}

/* Whoever was at a paper is there afterwards; where it is gone, at the one that followed it, or came before. */
function keepingPlace(change) {
  const here = document.activeElement?.closest?.(".result");
  const name = (each) => `${each.dataset.doc} ${each.dataset.passage}`;
  const before = cards().map(name);
  const [index, act] = [here ? before.indexOf(name(here)) : -1, document.activeElement?.dataset?.act];
  change();
  if (!here) return;
  const now = new Map(cards().map((each) => [name(each), each]));
  const wanted = [...before.slice(index), ...before.slice(0, index).reverse()].find((each) => now.has(each));
  const place = now.get(wanted) ?? cards()[0];
  (act ? place?.querySelector(`[data-act="${act}"]`) ?? place : place)?.focus({ preventScroll: true });
  if (wanted !== before[index]) place?.scrollIntoView({ block: "nearest" });
}

/* How many papers there are, and for how many of several passages. */
function counted(found) {
  const number = papers(new Set(found.rows.map((row) => row.doc_id)).size);
  const asked = found.passages.length + found.silent;
  const answered = new Set(found.rows.map((row) => row.passage)).size;
  return asked > 1 ? `${number} for ${answered} of ${asked} passages` : number;
}

function showFound(found, form) {
  state.found = found;
  shown = form;
  answered(Boolean(found));
  keepingPlace(() => results.replaceChildren(...goneLine(), ...(found ? lists(found) : [])));
  at("status").textContent = found?.rows.length ? counted(found) : "";
  at("best").hidden = !state.best || !found;
  at("notes").replaceChildren(...(found?.rows.length ? found.notes : []).map((note) => make("li", {}, note)));
  showState(found);
  results.dataset.shown = String(Number(results.dataset.shown ?? 0) + 1);
}

/* What is said where there is no paper to show. */
function showState(found) {
  const words = found ? () => silence(found, state.best, () => showBest(true)) : () => welcome(Boolean(state.file?.file), tryText);
  at("state").replaceChildren(...(found?.rows.length ? [] : words()));
}

/* Have a text in the field as if it were typed. */
function tryText(words) {
  text.value = words;
  text.dispatchEvent(new Event("input"));
  text.focus();
}

function showBest(is) {
  state.best = is;
  recommend({ again: true });
}

/* Of a paper that was just set aside, with the way back. */
function goneLine() {
  if (!state.gone) return [];
  const { doc_id: id, title } = state.gone;
  return [make("p", { class: "gone", role: "status" }, make("span", {}, `Set aside for this draft: ${title || id}`),
    make("button", { type: "button", id: "undo", title: "Undo (z)", onclick: undo }, "Undo"))];
}

function undo() {
  if (state.gone) say(state.gone.doc_id, null);
}

// --- The draft --------------------------------------------------------------------------------

/* The draft of this page, created once when there is first something to keep. Never the draft of another tab. */
let making = null;
async function kept() {
  if (state.draft) return state.draft;
  making ??= desk.newDraft(text.value).then((made) => {
    state.draft = desk.taken(made);
    keeping.basedOn(made);
    nameInAddress();
    showDraft();
  }).finally(() => {
    making = null;
  });
  await making;
  return state.draft;
}

function nameInAddress() {
  const address = new URL(location.href);
  if (state.draft) address.searchParams.set("draft", state.draft.draft_id);
  else address.searchParams.delete("draft");
  history.replaceState(null, "", address);
}

function showDraft() {
  const draft = state.draft;
  showName(draft);
  const map = at("map-link");
  map.hidden = !draft;
  if (draft) map.href = `/c/${encodeURIComponent(collection)}/map?${new URLSearchParams({ draft: draft.draft_id })}`;
}

async function showPapers() {
  if (!state.draft) return void showBasket("", [], () => {});
  const found = await desk.papers(state.draft.draft_id);
  showBasket(state.draft.draft_id, found.basket, (id) => cite(id, false));
  const aside = found.judged.filter((paper) => paper.relevance === 0);
  at("aside").hidden = !aside.length;
  at("aside").querySelector("summary").textContent = `${papers(aside.length)} set aside for this draft`;
  at("aside").querySelector("ul").replaceChildren(...aside.map((paper) => make("li", {},
    make("span", {}, paper.title || paper.doc_id),
    make("button", { type: "button", class: "plain-button", "aria-label": `Bring back: ${paper.title || paper.doc_id}`, onclick: () => say(paper.doc_id, null) }, "Bring back"))));
}

const keeping = new Keeping(text, {
  draft: () => state.draft,
  kept,
  took: ({ text: words, name, changed }, isOther = false) => {
    state.draft = { ...state.draft, text: words, name, changed };
    showName(state.draft);
    if (isOther) recommend();
  },
  lost: () => {
    state.draft = null;
  },
  say: (words, isBad = false) => {
    at("kept").textContent = words;
    at("kept").classList.toggle("not-kept", isBad);
  },
});

/* Do something with the draft; where it fails that is said, and nothing is shown that is not so. */
async function change(act) {
  try {
    await kept();
    state.draft = await act();
    showPapers().catch((error) => tell(error.message)); // beside what comes next
    return true;
  } catch (error) {
    tell(error.status ? error.message : "That was not kept: the server does not answer.");
    return false;
  }
}

async function cite(id, taken) {
  if (!await change(() => desk.cite(id, taken))) return;
  keepingPlace(() => {
    for (const old of results.querySelectorAll(".result")) {
      if (old.dataset.doc === id) old.replaceWith(card(rowOf(old)));
    }
  });
}

/* Say of a paper that it is good (1) or not (0), or take that back (null), and rank anew at once. */
async function say(id, relevance, row = null) {
  if (!await change(() => desk.judge(id, relevance, row ? passageOf(row)?.text ?? "" : ""))) return;
  state.gone = relevance === 0 ? row : null;
  if (state.gone) tell("Set aside for this draft.", { words: "Undo", key: "z", does: undo });
  await recommend({ again: true });
}

// --- Files ------------------------------------------------------------------------------------

const showFile = () => showRead(state.file, state.passage, { choose, takeAway });

function choose(number) {
  state.passage = number;
  document.querySelector("[name=scope][value=sentence]").checked = true;
  markChosen(number);
  recommend();
}

async function send(given) {
  const { chosen, passed } = sorted(given);
  const problem = at("file-problem");
  showPassed(passed);
  problem.hidden = chosen.length > 0 || passed.some((each) => each.isBibliography);
  problem.textContent = "There is no draft in what was opened.";
  if (!chosen.length) return;
  at("kept").textContent = chosen.length === 1 ? `reading ${chosen[0].path} …` : `reading ${chosen.length} files …`;
  try {
    await opened(chosen);
    at("kept").textContent = "kept";
  } catch (error) {
    at("kept").textContent = "";
    problem.textContent = error.status ? error.message : "The files could not be sent: the server does not answer.";
    problem.hidden = false;
  }
}

/* Read files: a draft beside one that is typed is another draft, and what is typed stays. */
async function opened(chosen) {
  const isNew = Boolean(text.value.trim()) && !state.file?.file && !chosen.every(isLibrary);
  const had = isNew ? "" : state.file?.file;
  if (isNew && !await keeping.now()) throw Object.assign(new Error("What you typed is not kept yet: open the file once it is."), { status: 1 });
  const { draft_id: id } = isNew ? await desk.newDraft() : await kept();
  try {
    state.file = await desk.sendFiles(id, formOf(chosen));
  } catch (error) {
    if (isNew) await desk.removeDraft(id).catch(() => {});
    throw error;
  }
  await take(await desk.draftOf(id), isNew);
  if (state.file.file && state.file.file !== had) {
    state.passage = null;
    document.querySelector("[name=scope][value=paragraph]").checked = true;
  }
  showFile();
  await showPapers();
  recommend({ again: true });
}

/* Have another draft at hand. */
async function take(draft, isNew) {
  state.draft = desk.taken(draft);
  state.gone = null;
  nameInAddress();
  showDraft();
  if (!isNew) return;
  text.value = draft.text;
  keeping.basedOn(draft);
  tell(`“${nameOf(draft)}” is a new draft. What you typed is under Drafts, as it was.`);
}

async function takeAway(name) {
  if (!await change(() => desk.removeFile(state.draft.draft_id, name))) return;
  state.file = await desk.files(state.draft.draft_id);
  showFile();
  await showPapers();
  recommend({ again: true });
}

// --- Keys and clicks --------------------------------------------------------------------------

const cards = () => [...results.querySelectorAll(".result")];
const current = () => document.activeElement?.closest?.(".result") ?? results.querySelector(".result.current");

function step(by) {
  const all = cards();
  const index = all.indexOf(current());
  const next = all[index < 0 ? 0 : Math.min(Math.max(index + by, 0), all.length - 1)];
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "nearest" });
}

const acts = {
  cite: (row) => cite(row.doc_id, !state.draft?.basket.includes(row.doc_id)),
  good: (row) => say(row.doc_id, state.draft?.judged[row.doc_id] === 1 ? null : 1, row),
  bad: (row) => say(row.doc_id, 0, row),
  abstract: (row, place) => {
    const isNew = !state.open.delete(isOpen(row));
    if (isNew) state.open.add(isOpen(row));
    place.querySelector("[data-act=abstract]").setAttribute("aria-pressed", String(isNew));
    if (isNew) showAbstract(place, passageOf(row)?.text ?? "");
    else place.querySelector(".abstract-text").hidden = true;
  },
  open: (row) => {
    location.href = documentAddress(row.doc_id);
  },
};

function act(name, place) {
  const row = place && rowOf(place);
  if (row) acts[name](row, place);
}

results.addEventListener("click", (event) => {
  const button = event.target.closest("[data-act]");
  if (button) act(button.dataset.act, button.closest(".result"));
});
results.addEventListener("focusin", (event) => {
  for (const each of results.querySelectorAll(".current")) each.classList.remove("current");
  event.target.closest(".result")?.classList.add("current");
});
for (const key of ["n", "j"]) onKey(key, () => step(1));
for (const key of ["p", "k"]) onKey(key, () => step(-1));
for (const [key, name] of Object.entries({ c: "cite", 1: "bad", 2: "good", a: "abstract", o: "open" })) {
  onKey(key, () => act(name, current()));
}
onKey("y", copyKeys);
onKey("z", undo);

text.addEventListener("input", () => {
  state.gone = null;
  keeping.typed();
  soon();
});
text.addEventListener("keydown", (event) => {
  if (event.key === "Escape") text.blur();
});
document.addEventListener("selectionchange", () => {
  if (scope() === "sentence" && document.activeElement === text) soon();
});
for (const input of document.querySelectorAll("[name=scope]")) input.addEventListener("change", () => recommend());
at("only-fitting").addEventListener("click", () => showBest(false));
at("leave-file").addEventListener("click", () => takeAway(state.file.file));
addEventListener("online", () => recommend());

// --- Beginning --------------------------------------------------------------------------------

/* The draft at hand: until it is there nothing can be typed over it. */
async function loaded() {
  for (let tries = 0; ; tries += 1) {
    try {
      const draft = await desk.draftAtHand();
      const file = draft && (draft.file || draft.libraries.length) ? await desk.files(draft.draft_id) : null;
      return { draft, file };
    } catch (error) {
      if (error.status && error.status !== 503) throw error;
      at("state").replaceChildren(make("p", { class: "lead" }, "Loading your draft …"),
        make("p", { class: "quiet", role: "status" }, error.status ? "The server is getting ready." : "The server does not answer. It is asked again."));
      await new Promise((done) => setTimeout(done, 1000 * RETRIES[Math.min(tries, RETRIES.length - 1)]));
    }
  }
}

async function startText() {
  await keeping.start(state.draft);
  text.readOnly = false;
  text.placeholder = text.dataset.hint;
}

async function begin() {
  startFilters(() => recommend());
  if (desk.draftId()) {
    const wanted = new URLSearchParams(location.search).get("draft");
    at("draft-name").textContent = "Loading …";
    Object.assign(state, await loaded());
    if (wanted && !state.draft) tell("That draft is no longer on the desk.");
    nameInAddress();
  }
  await startText();
  if (state.file?.file) document.querySelector("[name=scope][value=paragraph]").checked = true;
  showDraft();
  showFile();
  recommend({ again: true });
  await showPapers().catch((error) => tell(error.message));
}

startMenu((draft) => {
  state.draft = draft;
  showName(draft);
  tell(`Now called “${nameOf(draft)}”.`);
});
dropZone(document.body, send);
try {
  await begin();
} catch (error) {
  trouble(error.message, () => location.reload());
}
citebedReady();
