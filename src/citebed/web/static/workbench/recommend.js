// Suggest papers while the user types: search shortly after the last key, and show the latest search only.

import { api, collection, make, onKey, request, showToast } from "./frame.js";
import * as desk from "./desk.js";
import { VERY_LONG, paragraphAt, textInScope } from "./asking.js";
import { copyKeys, showBasket } from "./basket.js";
import { nameOf, showName, startMenu } from "./draft_menu.js";
import { dropZone, makeForm } from "./dropping.js";
import { filters, startFilters } from "./filters.js";
import { DraftSaver } from "./keeping.js";
import { isLibrary, markChosen, showReadFile, showSkipped, sortFiles } from "./reading.js";
import { documentAddress, resultCard, showAbstract } from "./result.js";
import { explainNoPapers, welcome } from "./silence.js";
import { clearProblem, markBusy, showProblem, showSearching, showWaiting } from "./trouble.js";

const WAIT = 120; // milliseconds after the last key
const WAIT_BUSY = 250; // while an older search runs
const RETRIES = [2, 3, 5, 8, 10, 15, 20, 30]; // seconds
const at = (id) => document.getElementById(id);
const text = at("text");
const results = at("results");

const state = {
  draft: null, // the draft on the server; null before the first save
  file: null, // the draft read from files
  passage: null, // the chosen passage of that draft
  response: null, // the last response
  best: false, // also show papers below the probability threshold
  open: new Set(), // open abstracts
  removed: null, // the paper that the user just set aside
};

const papers = (number) => number === 1 ? "1 paper" : `${number.toLocaleString("en")} papers`;
const scope = () => document.querySelector("[name=scope]:checked").value;

// --- Searching --------------------------------------------------------------------------------

/* Return the current request; null if there is no text. */
function currentRequest() {
  const params = filters();
  if (state.best) params.min_probability = 0;
  if (state.file?.file) {
    if (scope() !== "sentence") return { ...params, each: scope() };
    return state.passage ? { ...params, passage: state.passage } : null;
  }
  const typed = textInScope(text, scope());
  return typed && { ...params, ...typed };
}

let running = null;
let timer = 0;
let retries = 0;
let last = ""; // the last request
let shown = ""; // the request of the shown papers

async function search({ again = false } = {}) {
  clearTimeout(timer);
  const params = currentRequest();
  const form = JSON.stringify(params);
  if (form === last && !again) return void markOutdated();
  cancelSearch();
  last = form;
  if (!params) return void showFound(null, form);
  if (params.isLong) return void showTooLong();
  const mine = new AbortController();
  running = mine;
  showSearching();
  try {
    const json = { ...params, draft: state.draft?.draft_id ?? "" };
    const response = await request(api("recommend"), { method: "POST", json, signal: mine.signal });
    retries = 0;
    showFound(response, form);
  } catch (error) {
    if (error.name !== "AbortError") handleFailure(error);
  } finally {
    if (running === mine) running = null;
  }
}

/* Grey out papers that belong to an older request. */
const markOutdated = () => markBusy(JSON.stringify(currentRequest()) !== shown);

/* Search after a short delay. Cancel a running search if its request is out of date. */
const searchSoon = () => {
  clearTimeout(timer);
  markOutdated();
  const isBusy = running !== null;
  if (isBusy && JSON.stringify(currentRequest()) !== last) cancelSearch();
  timer = setTimeout(search, isBusy ? WAIT_BUSY : WAIT);
};

function cancelSearch() {
  running?.abort();
  running = null;
  last = "";
}

function showTooLong() {
  showFound(null, last);
  showProblem(VERY_LONG);
}

/* Retry if the server is not ready, and show the problem. */
function handleFailure(error) {
  last = "";
  const again = () => search({ again: true });
  const isWaiting = !error.status || error.status === 503;
  if (isWaiting && retries < RETRIES.length) {
    timer = setTimeout(again, 1000 * RETRIES[retries]);
    retries += 1;
    if (error.status) return void showWaiting();
  }
  showProblem(error.status ? error.message : "The server does not respond. Is citebed still running? Trying again…", again);
}

// --- Showing ----------------------------------------------------------------------------------

const passageOf = (row) => state.response?.passages.find((each) => each.number === row.passage);
const rowOf = (card) => state.response?.rows.find((row) => row.doc_id === card.dataset.doc && String(row.passage) === card.dataset.passage);
const openKey = (row) => `${row.doc_id} ${row.passage}`;

function card(row) {
  const is = {
    cited: state.draft?.basket.includes(row.doc_id) ?? false,
    good: state.draft?.judged[row.doc_id] === 1,
    open: state.open.has(openKey(row)),
  };
  const isPart = (passageOf(row)?.text.length ?? 0) > row.sentence.length + 10;
  const element = resultCard(row, is, isPart);
  if (is.open) showAbstract(element, passageOf(row)?.text ?? "");
  return element;
}

/* Return the place of a passage; in a typed text, as a button that selects it there. */
function placeOf(passage) {
  if (state.file?.file) return passage.place;
  if (scope() === "sentence") return "at the cursor";
  const { number, start, end } = paragraphAt(text.value, passage.line);
  return make("button", { type: "button", class: "plain-button to-text", onclick: () => showInText(start, end) }, `paragraph ${number}`);
}

function showInText(start, end) {
  text.focus();
  text.setSelectionRange(start, start); // scrolls there
  text.blur();
  text.focus();
  text.setSelectionRange(start, end);
}

function passageHead(passage) {
  return make("header", { class: "asking" },
    make("h3", {}, passage.section ? `${passage.section} · ` : "", placeOf(passage), passage.wanted ? make("span", { class: "tag" }, "citation placeholder") : null),
    make("p", { class: "asking-text" }, passage.text));
}

function lists(response) {
  if (scope() === "text" || response.passages.length < 2 && scope() !== "sentence") {
    return [make("ol", { class: "plain" }, response.rows.map(card))];
  }
  return response.passages.map((passage) => {
    const own = response.rows.filter((row) => row.passage === passage.number);
    return make("div", { class: "group" }, passageHead(passage),
      own.length ? make("ol", { class: "plain" }, own.map(card)) : make("p", { class: "quiet" }, "Nothing fits."));
  });
}

/* Keep the focus on the same paper during a change. If the paper disappears, focus the next one or the one before. */
function keepFocus(change) {
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

/* Describe the number of papers, and of passages with papers. */
function describeCount(response) {
  const number = papers(new Set(response.rows.map((row) => row.doc_id)).size);
  const total = response.passages.length + response.silent;
  const answered = new Set(response.rows.map((row) => row.passage)).size;
  return total > 1 ? `${number} for ${answered} of ${total} passages` : number;
}

function showFound(response, form) {
  state.response = response;
  shown = form;
  clearProblem(Boolean(response));
  keepFocus(() => results.replaceChildren(...removedLine(), ...(response ? lists(response) : [])));
  at("status").textContent = response?.rows.length ? describeCount(response) : "";
  at("best").hidden = !state.best || !response;
  at("notes").replaceChildren(...(response?.rows.length ? response.notes : []).map((note) => make("li", {}, note)));
  showState(response);
  results.dataset.shown = String(Number(results.dataset.shown ?? 0) + 1);
}

/* Show a text if there are no papers. */
function showState(response) {
  const words = response ? () => explainNoPapers(response, state.best, () => showBest(true)) : () => welcome(Boolean(state.file?.file), tryText);
  at("state").replaceChildren(...(response?.rows.length ? [] : words()));
}

/* Put a text into the field, as if the user typed it. */
function tryText(words) {
  text.value = words;
  text.dispatchEvent(new Event("input"));
  text.focus();
}

function showBest(is) {
  state.best = is;
  search({ again: true });
}

/* Return a line about the paper that was just set aside, with an Undo button. */
function removedLine() {
  if (!state.removed) return [];
  const { doc_id: id, title } = state.removed;
  return [make("p", { class: "gone", role: "status" }, make("span", {}, `Set aside for this draft: ${title || id}`),
    make("button", { type: "button", id: "undo", title: "Undo (z)", onclick: undo }, "Undo"))];
}

function undo() {
  if (state.removed) judge(state.removed.doc_id, null);
}

// --- The draft --------------------------------------------------------------------------------

/* Return the draft of this page. Create it if needed, but never use the draft of another tab. */
let creating = null;
async function ensureDraft() {
  if (state.draft) return state.draft;
  creating ??= desk.newDraft(text.value).then((created) => {
    state.draft = desk.setCurrentDraft(created);
    saver.setBase(created);
    nameInAddress();
    showDraft();
  }).finally(() => {
    creating = null;
  });
  await creating;
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
  const response = await desk.loadPapers(state.draft.draft_id);
  showBasket(state.draft.draft_id, response.basket, (id) => cite(id, false));
  const aside = response.judged.filter((paper) => paper.relevance === 0);
  at("aside").hidden = !aside.length;
  at("aside").querySelector("summary").textContent = `${papers(aside.length)} set aside for this draft`;
  at("aside").querySelector("ul").replaceChildren(...aside.map((paper) => make("li", {},
    make("span", {}, paper.title || paper.doc_id),
    make("button", { type: "button", class: "plain-button", "aria-label": `Restore: ${paper.title || paper.doc_id}`, onclick: () => judge(paper.doc_id, null) }, "Restore"))));
}

const saver = new DraftSaver(text, {
  draft: () => state.draft,
  ensureDraft,
  onSaved: ({ text: words, name, changed }, isOther = false) => {
    state.draft = { ...state.draft, text: words, name, changed };
    showName(state.draft);
    if (isOther) search();
  },
  onRemoved: () => {
    state.draft = null;
  },
  showState: (words, isBad = false) => {
    at("kept").textContent = words;
    at("kept").classList.toggle("not-kept", isBad);
  },
});

/* Change the draft on the server. Return whether that worked; on failure, show why. */
async function change(act) {
  try {
    await ensureDraft();
    state.draft = await act();
    showPapers().catch((error) => showToast(error.message)); // in the background
    return true;
  } catch (error) {
    showToast(error.status ? error.message : "Not saved: the server does not respond.");
    return false;
  }
}

async function cite(id, isCited) {
  if (!await change(() => desk.cite(id, isCited))) return;
  keepFocus(() => {
    for (const old of results.querySelectorAll(".result")) {
      if (old.dataset.doc === id) old.replaceWith(card(rowOf(old)));
    }
  });
}

/* Judge a paper as good (1) or not (0), or withdraw the judgement (null), and rank again. */
async function judge(id, relevance, row = null) {
  if (!await change(() => desk.judge(id, relevance, row ? passageOf(row)?.text ?? "" : ""))) return;
  state.removed = relevance === 0 ? row : null;
  if (state.removed) showToast("Set aside for this draft.", { words: "Undo", key: "z", does: undo });
  await search({ again: true });
}

// --- Files ------------------------------------------------------------------------------------

const showFile = () => showReadFile(state.file, state.passage, { choose, removeFile });

function choose(number) {
  state.passage = number;
  document.querySelector("[name=scope][value=sentence]").checked = true;
  markChosen(number);
  search();
}

async function send(files) {
  const { chosen, skipped } = sortFiles(files);
  const problem = at("file-problem");
  showSkipped(skipped);
  problem.hidden = chosen.length > 0 || skipped.some((each) => each.isBibliography);
  problem.textContent = "None of these files is a draft.";
  if (!chosen.length) return;
  at("kept").textContent = chosen.length === 1 ? `reading ${chosen[0].path} …` : `reading ${chosen.length} files …`;
  try {
    await openFiles(chosen);
    at("kept").textContent = "saved";
  } catch (error) {
    at("kept").textContent = "";
    problem.textContent = error.status ? error.message : "The files could not be sent: the server does not respond.";
    problem.hidden = false;
  }
}

/* Read files. If there is typed text, they become another draft and the typed draft stays. */
async function openFiles(chosen) {
  const isNew = Boolean(text.value.trim()) && !state.file?.file && !chosen.every(isLibrary);
  const had = isNew ? "" : state.file?.file;
  if (isNew && !await saver.save()) throw Object.assign(new Error("Your text is not saved yet. Open the file when it is."), { status: 1 });
  const { draft_id: id } = isNew ? await desk.newDraft() : await ensureDraft();
  try {
    state.file = await desk.sendFiles(id, makeForm(chosen));
  } catch (error) {
    if (isNew) await desk.removeDraft(id).catch(() => {});
    throw error;
  }
  await openDraft(await desk.loadDraft(id), isNew);
  if (state.file.file && state.file.file !== had) {
    state.passage = null;
    document.querySelector("[name=scope][value=paragraph]").checked = true;
  }
  showFile();
  await showPapers();
  search({ again: true });
}

/* Make another draft the current one. */
async function openDraft(draft, isNew) {
  state.draft = desk.setCurrentDraft(draft);
  state.removed = null;
  nameInAddress();
  showDraft();
  if (!isNew) return;
  text.value = draft.text;
  saver.setBase(draft);
  showToast(`“${nameOf(draft)}” is a new draft. Your typed text is under Drafts.`);
}

async function removeFile(name) {
  if (!await change(() => desk.removeFile(state.draft.draft_id, name))) return;
  state.file = await desk.loadFiles(state.draft.draft_id);
  showFile();
  await showPapers();
  search({ again: true });
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
  good: (row) => judge(row.doc_id, state.draft?.judged[row.doc_id] === 1 ? null : 1, row),
  bad: (row) => judge(row.doc_id, 0, row),
  abstract: (row, place) => {
    const isNew = !state.open.delete(openKey(row));
    if (isNew) state.open.add(openKey(row));
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
  state.removed = null;
  saver.typed();
  searchSoon();
});
text.addEventListener("keydown", (event) => {
  if (event.key === "Escape") text.blur();
});
document.addEventListener("selectionchange", () => {
  if (scope() === "sentence" && document.activeElement === text) searchSoon();
});
for (const input of document.querySelectorAll("[name=scope]")) input.addEventListener("change", () => search());
at("only-fitting").addEventListener("click", () => showBest(false));
at("leave-file").addEventListener("click", () => removeFile(state.file.file));
addEventListener("online", () => search());

// --- Start ------------------------------------------------------------------------------------

/* Load the current draft. The text field is read-only until then. */
async function loadDraftAndFile() {
  for (let tries = 0; ; tries += 1) {
    try {
      const draft = await desk.loadCurrentDraft();
      const file = draft && (draft.file || draft.libraries.length) ? await desk.loadFiles(draft.draft_id) : null;
      return { draft, file };
    } catch (error) {
      if (error.status && error.status !== 503) throw error;
      at("state").replaceChildren(make("p", { class: "lead" }, "Loading your draft …"),
        make("p", { class: "quiet", role: "status" }, error.status ? "The server is getting ready." : "The server does not respond. Trying again…"));
      await new Promise((done) => setTimeout(done, 1000 * RETRIES[Math.min(tries, RETRIES.length - 1)]));
    }
  }
}

async function startText() {
  await saver.start(state.draft);
  text.readOnly = false;
  text.placeholder = text.dataset.hint;
}

async function start() {
  startFilters(() => search());
  if (desk.draftId()) {
    const wanted = new URLSearchParams(location.search).get("draft");
    at("draft-name").textContent = "Loading …";
    Object.assign(state, await loadDraftAndFile());
    if (wanted && !state.draft) showToast("That draft no longer exists.");
    nameInAddress();
  }
  await startText();
  if (state.file?.file) document.querySelector("[name=scope][value=paragraph]").checked = true;
  showDraft();
  showFile();
  search({ again: true });
  await showPapers().catch((error) => showToast(error.message));
}

startMenu((draft) => {
  state.draft = draft;
  showName(draft);
  showToast(`Renamed to “${nameOf(draft)}”.`);
});
dropZone(document.body, send);
try {
  await start();
} catch (error) {
  showProblem(error.message, () => location.reload());
}
citebedReady();
