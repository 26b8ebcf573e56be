// Recommending while somebody types: a moment after the last key, the last question only.

import { api, ask, collection, make, onKey, tell } from "./frame.js";
import * as desk from "./desk.js";
import { copyKeys, showBasket } from "./basket.js";
import { nameOf, showName, startMenu } from "./draft_menu.js";
import { dropZone, formOf } from "./dropping.js";
import { filters, startFilters } from "./filters.js";
import { markChosen, needed, showRead } from "./reading.js";
import { documentAddress, resultCard, showAbstract } from "./result.js";
import { silence, welcome } from "./silence.js";

const WAIT = 250;
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

/* Line and column, counted in characters as the server does. */
function caret() {
  const before = text.value.slice(0, text.selectionStart);
  const line = before.split("\n");
  return { line: line.length, column: [...line.at(-1)].length + 1 };
}

/* What is asked now; null where there is nothing to ask. */
function question() {
  const asked = { ...filters(), draft: state.draft?.draft_id ?? "" };
  if (state.best) asked.min_probability = 0;
  if (state.file?.file) {
    if (scope() !== "sentence") return { ...asked, each: scope() };
    return state.passage ? { ...asked, passage: state.passage } : null;
  }
  if (!text.value.trim()) return null;
  if (scope() !== "sentence") return { ...asked, text: text.value, each: scope() };
  return { ...asked, text: text.value, ...caret() };
}

let asking = null;
let waiting = 0;
let last = "";

async function recommend({ again = false } = {}) {
  clearTimeout(waiting);
  const asked = question();
  const form = JSON.stringify(asked);
  if (form === last && !again) return;
  last = form;
  asking?.abort();
  if (!asked) return void showFound(null);
  asking = new AbortController();
  const { signal } = asking;
  results.setAttribute("aria-busy", "true");
  try {
    showFound(await ask(api("recommend"), { method: "POST", json: asked, signal }));
  } catch (error) {
    if (error.name !== "AbortError") failed(error);
  } finally {
    if (!signal.aborted) results.setAttribute("aria-busy", "false");
  }
}

const soon = () => {
  clearTimeout(waiting);
  waiting = setTimeout(recommend, WAIT);
};

function failed(error) {
  last = "";
  const words = error.status ? error.message : "The server does not answer. Is citebed still running?";
  at("status").textContent = "";
  at("state").replaceChildren(make("p", { class: "problem", role: "alert" }, words),
    make("p", { class: "row" },
      make("button", { type: "button", onclick: () => recommend({ again: true }) }, "Try again"),
      /citebed index/.test(words) ? make("a", { href: `/c/${encodeURIComponent(collection)}/collection` }, "To the collection, where it is indexed") : null));
  if (error.status === 503) waiting = setTimeout(() => recommend({ again: true }), 2000);
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

function passageHead(passage) {
  const where = [passage.section, state.file?.file || passage.line > 1 ? passage.place : ""].filter(Boolean).join(" · ");
  return make("header", { class: "asking" },
    make("h3", {}, where || "Passage", passage.wanted ? make("span", { class: "tag" }, "a citation is to come") : null),
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

function keepingPlace(change) {
  const here = document.activeElement?.closest?.(".result");
  const [doc, passage, act] = [here?.dataset.doc, here?.dataset.passage, document.activeElement?.dataset?.act];
  change();
  if (!here) return;
  const same = [...results.querySelectorAll(".result")].find((each) => each.dataset.doc === doc && each.dataset.passage === passage);
  const place = same ?? results.querySelector(".result");
  (act ? place?.querySelector(`[data-act="${act}"]`) ?? place : place)?.focus({ preventScroll: true });
}

/* How many papers there are, and for how many of several passages. */
function counted(found) {
  const number = papers(new Set(found.rows.map((row) => row.doc_id)).size);
  const asked = found.passages.length + found.silent;
  const answered = new Set(found.rows.map((row) => row.passage)).size;
  return asked > 1 ? `${number} for ${answered} of ${asked} passages` : number;
}

function showFound(found) {
  state.found = found;
  results.setAttribute("aria-busy", "false");
  keepingPlace(() => results.replaceChildren(...goneLine(), ...(found ? lists(found) : [])));
  at("status").textContent = found?.rows.length ? counted(found) : "";
  at("best").hidden = !state.best || !found;
  at("notes").replaceChildren(...(found?.rows.length ? found.notes : []).map((note) => make("li", {}, note)));
  showState(found);
  results.dataset.shown = String(Number(results.dataset.shown ?? 0) + 1);
}

/* What is said where there is no paper to show. */
function showState(found) {
  const words = found ? () => silence(found, state.best, () => showBest(true)) : () => welcome(Boolean(state.file?.file));
  at("state").replaceChildren(...(found?.rows.length ? [] : words()));
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
    make("button", { type: "button", id: "undo", onclick: () => say(id, null) }, "Undo"))];
}

// --- The draft --------------------------------------------------------------------------------

/* The draft on the desk, put there when there is first something to keep. */
async function kept() {
  if (!state.draft) {
    state.draft = await desk.draft(text.value);
    const address = new URL(location.href);
    address.searchParams.set("draft", state.draft.draft_id);
    history.replaceState(null, "", address);
    showDraft();
  }
  return state.draft;
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

let writing = null;
let unwritten = false;

/* Keep the text: one at a time, and what was typed meanwhile after it. */
async function keepText() {
  unwritten = true;
  if (writing) return;
  try {
    writing = (async () => {
      while (unwritten) {
        unwritten = false;
        const { draft_id: id } = await kept();
        if (state.draft.text !== text.value) state.draft = await desk.write(id, { text: text.value });
      }
    })();
    await writing;
    at("kept").textContent = "kept";
    showName(state.draft);
  } catch (error) {
    at("kept").textContent = "not kept";
    tell(`The text is not kept: ${error.status ? error.message : "the server does not answer."}`);
    keeping = setTimeout(keepText, 5000);
  } finally {
    writing = null;
  }
}

let keeping = 0;
const keepSoon = () => {
  at("kept").textContent = "";
  clearTimeout(keeping);
  keeping = setTimeout(keepText, 2 * WAIT);
};

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
  const chosen = needed(given);
  const problem = at("file-problem");
  problem.hidden = chosen.length > 0;
  problem.textContent = "There is no draft in this folder.";
  if (!chosen.length) return;
  at("kept").textContent = chosen.length === 1 ? `reading ${chosen[0].path} …` : `reading ${chosen.length} files …`;
  try {
    const { draft_id: id } = await kept();
    const had = state.file?.file;
    state.file = await desk.sendFiles(id, formOf(chosen));
    state.draft = await desk.draftAtHand();
    if (state.file.file && state.file.file !== had) {
      state.passage = null;
      document.querySelector("[name=scope][value=paragraph]").checked = true;
    }
    showDraft();
    showFile();
    await showPapers();
    recommend({ again: true });
    at("kept").textContent = "kept";
  } catch (error) {
    at("kept").textContent = "";
    problem.textContent = error.status ? error.message : "The files could not be sent: the server does not answer.";
    problem.hidden = false;
  }
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
onKey("j", () => step(1));
onKey("k", () => step(-1));
for (const [key, name] of Object.entries({ c: "cite", "+": "good", "=": "good", "-": "bad", a: "abstract", o: "open" })) {
  onKey(key, () => act(name, current()));
}
onKey("y", copyKeys);

text.addEventListener("input", () => {
  state.gone = null;
  soon();
  if (state.draft) keepSoon();
  else keepText(); // there is a place for it before anything else is done
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
addEventListener("pagehide", () => {
  if (!state.draft || state.draft.text === text.value) return;
  fetch(api("drafts", state.draft.draft_id), {
    method: "PUT", keepalive: true, body: JSON.stringify({ text: text.value }),
    headers: { "Content-Type": "application/json", "X-Citebed-Token": document.body.dataset.token },
  });
});

// --- Beginning --------------------------------------------------------------------------------

async function begin() {
  const wanted = new URLSearchParams(location.search).get("draft");
  state.draft = await desk.draftAtHand();
  if (wanted && !state.draft) tell("That draft is no longer on the desk.");
  if (state.draft) {
    const address = new URL(location.href);
    address.searchParams.set("draft", state.draft.draft_id);
    history.replaceState(null, "", address);
    if (!text.value) text.value = state.draft.text;
    if (state.draft.file || state.draft.libraries.length) state.file = await desk.files(state.draft.draft_id);
    if (state.file?.file) document.querySelector("[name=scope][value=paragraph]").checked = true;
  }
  showDraft();
  showFile();
  await Promise.all([showPapers(), startFilters(() => recommend())]);
  recommend({ again: true });
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
  failed(error);
}
citebedReady();
