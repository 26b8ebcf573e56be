// A judge's page: answers by click or key, saved at once, and taken up again where one stopped.

import { Drafts } from "./drafts.js";
import { Queue } from "./queue.js";
import { Watch } from "./watch.js";

const page = document.getElementById("judge");
const phase = Number(page.dataset.phase);
const form = page.dataset.form;
const progress = document.getElementById("progress");
const meter = document.getElementById("meter");
const saving = document.getElementById("saving");
const trouble = document.getElementById("trouble");
const guidelines = document.getElementById("guidelines");
const watch = new Watch();
const drafts = new Drafts(form);
const undoable = []; // what stood before each judgement that was made here
let current = null;
let refusals = 0;
let said = 0; // judgements made in this tab

const queue = new Queue(form, page.dataset.api, { saved, refused, changed: showSaving });

// --- finding things ------------------------------------------------------------------------

const all = (selector, root = page) => [...root.querySelectorAll(selector)];
const papers = () => all(".question:not([data-stated='']) .paper");
const paperOf = (item) => page.querySelector(`.paper[data-item="${Number(item)}"]`);
const questionOf = (number) => page.querySelector(`.question[data-number="${Number(number)}"]`);
const valueOf = (text) => (text === "u" ? null : Number(text));
const commentOf = (paper) => paper.querySelector(".comment textarea");
const isSingle = () => document.body.classList.contains("single");
const isTyping = (target) => target.matches("textarea, input, select");

// --- what the page shows -------------------------------------------------------------------

function show(element, text, kind = "") {
  element.textContent = text;
  element.dataset.kind = kind;
}

function statusOf(act) {
  if (act.what === "judgement") return paperOf(act.body.item)?.querySelector(".status");
  if (act.what === "finished") return document.getElementById("finished");
  return questionOf(act.body.number)?.querySelector(".wording .status");
}

function showSaving() {
  const acts = queue.acts();
  for (const act of acts) {
    const status = statusOf(act);
    if (status) show(status, queue.failures ? "not saved yet" : "saving…", "waiting");
  }
  const stay = queue.isKept ? "" : ": keep this page open";
  const refusedToo = refusals ? ` · ${refusals} refused` : "";
  if (!acts.length) show(saving, `All saved${refusedToo}`, refusals ? "refused" : "saved");
  else if (queue.isClosed) show(saving, `${acts.length} kept here, not saved`, "refused");
  else if (!queue.failures) show(saving, `Saving ${acts.length}…`, "waiting");
  else show(saving, `${acts.length} not saved yet; trying again${stay}`, "refused");
  showProgress();
}

function showProgress() {
  const every = papers();
  const done = every.filter((paper) => paper.dataset.value !== "").length;
  progress.textContent = every.length ? `${done} of ${every.length} judged` : "";
  meter.max = Math.max(1, every.length);
  meter.value = done;
  meter.hidden = !every.length;
}

function showValue(paper, value) {
  paper.dataset.value = value;
  for (const button of all(".choices button", paper)) {
    button.setAttribute("aria-pressed", String(button.dataset.value === value));
  }
}

// The paper that keys are for; after the last one there is none.
function choose(paper, { scroll = true } = {}) {
  if (paper !== current) watch.start();
  current?.classList.remove("current");
  current?.closest(".question").classList.remove("has-current");
  current = paper;
  paper?.classList.add("current");
  paper?.closest(".question").classList.add("has-current");
  const every = papers();
  document.getElementById("next").disabled = !paper;
  document.getElementById("place").textContent =
    paper ? `${every.indexOf(paper) + 1} of ${every.length}` : "the end";
  if (scroll) shown(paper).scrollIntoView({ block: paper && isSingle() ? "start" : "nearest" });
}

function shown(paper) {
  if (!paper) return document.querySelector(".end");
  return isSingle() ? paper.closest(".question") : paper;
}

function move(by) {
  const every = papers();
  const at = current ? every.indexOf(current) : every.length;
  choose(every[Math.max(0, at + by)] ?? null);
}

function setView(view) {
  document.body.classList.toggle("single", view === "single");
  for (const button of document.querySelectorAll("[data-view]")) {
    button.setAttribute("aria-pressed", String(button.dataset.view === view));
  }
  try {
    localStorage.setItem(`citebed:view:${phase}`, view);
  } catch { /* it is only a habit */ }
}

function usualView() {
  const usual = phase === 1 ? "list" : "single";
  try {
    return localStorage.getItem(`citebed:view:${phase}`) ?? usual;
  } catch {
    return usual;
  }
}

// --- what a judge does ---------------------------------------------------------------------

function judge(paper, value, took = watch.read()) {
  if (!paper?.dataset.item) return;
  const before = { paper, value: paper.dataset.value, comment: paper.dataset.comment ?? "" };
  const comment = commentOf(paper).value.trim();
  if (value !== before.value || comment !== before.comment) undoable.push(before);
  say(paper, value, took);
}

// Nothing said of a paper, an empty value, takes back what was.
function say(paper, value, took) {
  const withdrawn = value === "";
  const text = commentOf(paper).value.trim();
  const comment = withdrawn ? "" : text;
  showValue(paper, value);
  paper.dataset.comment = comment;
  if (withdrawn && text) drafts.keep(paper, text);
  else drafts.drop(paper);
  if (paper === current) watch.start();
  said += 1;
  const answer = withdrawn ? null : valueOf(value);
  queue.add("judgement", { item: Number(paper.dataset.item), value: answer, comment, withdrawn, took });
  document.getElementById("undo").disabled = !undoable.length;
}

function takeBack(paper) {
  if (paper && paper.dataset.value !== "") judge(paper, "");
}

function undo() {
  const before = undoable.pop();
  if (!before) return;
  const { paper, value, comment } = before;
  if (value !== "") commentOf(paper).value = comment;
  choose(paper);
  say(paper, value, null);
}

function judgeAndGoOn(value) {
  const paper = current;
  judge(paper, value);
  if (paper === current) move(1);
}

// A click in the list stays there; of single papers the next one comes by itself. A second click
// in a row was not meant for that one.
function click(paper, value, { isSecond, took }) {
  if (isSecond) return;
  if (isSingle()) judgeAndGoOn(value);
  else judge(paper, value, took);
}

function saveComment(paper) {
  const text = commentOf(paper).value.trim();
  if (paper.dataset.value !== "") {
    if (text !== (paper.dataset.comment ?? "")) judge(paper, paper.dataset.value);
    paper.dataset.comment = text;
  } else if (text) {
    drafts.keep(paper, text);
    show(paper.querySelector(".status"), "comment kept; it is saved with your judgement", "waiting");
  }
}

function bringDrafts() {
  for (const paper of papers()) {
    paper.dataset.comment = commentOf(paper).value.trim();
    drafts.bring(paper, commentOf(paper));
  }
  for (const better of all(".better")) {
    drafts.bring(better.closest(".question"), better);
    keepWording(better.closest(".question"));
  }
}

const isReworded = (better) =>
  better.value.trim() !== "" && better.value.trim() !== better.defaultValue.trim();

function keepWording(section) {
  const better = section.querySelector(".better");
  if (!isReworded(better)) return;
  drafts.keep(section, better.value.trim());
  show(section.querySelector(".wording .status"), "not saved yet: press “Save wording”", "waiting");
}

function stateQuestion(section) {
  const text = section.querySelector("textarea.text").value.trim();
  if (!text) {
    show(section.querySelector(".wording .status"), "write the question first", "refused");
    return;
  }
  if (text === section.dataset.sent) return;
  section.dataset.sent = text;
  queue.add("question", { number: Number(section.dataset.number), text });
}

function approve(section, approved) {
  const better = section.querySelector(".better");
  const text = approved ? "" : better.value.trim();
  if (!approved && !text) {
    show(section.querySelector(".wording .status"), "write the wording first", "refused");
    return;
  }
  better.defaultValue = better.value;
  drafts.drop(section);
  section.querySelector(".approve")?.setAttribute("aria-pressed", String(approved));
  queue.add("approval", { number: Number(section.dataset.number), approved, text });
}

function addQuestion() {
  const sections = all(".question");
  const number = Math.max(0, ...sections.map((each) => Number(each.dataset.number))) + 1;
  if (number > Number(page.dataset.most)) return null;
  const made = document.getElementById("blank").content.firstElementChild.cloneNode(true);
  made.dataset.number = number;
  made.querySelector(".nth").textContent = number;
  document.getElementById("questions").append(made);
  return made;
}

// --- what the server says ------------------------------------------------------------------

function saved(act, answer) {
  const status = statusOf(act);
  tabs.postMessage("saved");
  const words = { approval: act.body.approved ? "saved: approved" : "saved: your wording" };
  const told = act.body.withdrawn ? "taken back" : words[act.what] ?? "saved";
  if (status) show(status, told, "saved");
  if (answer.outcome === "later" && status) {
    show(status, "you answered differently elsewhere since; that answer stays", "refused");
  }
  if (act.what === "question") openQuestion(answer);
  if (act.what === "finished" && status) show(status, "Thank you! It is on record.", "saved");
}

// What was judged in another tab or on another device: shown here too, unless this tab has an act
// on the same paper that is not saved yet.
const tabs = new BroadcastChannel(`citebed:${form}`);

async function refresh() {
  const before = said;
  const response = await fetch(location.href, { redirect: "error" }).catch(() => null);
  if (!response?.ok) return; // the next visit tries again
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  if (said !== before) return void refresh(); // the page is older than what was judged meanwhile
  const waiting = new Set(queue.acts().map((act) => act.body.item));
  for (const there of fresh.querySelectorAll(".paper[data-item]")) {
    const paper = there.dataset.item && paperOf(there.dataset.item);
    if (!paper || waiting.has(Number(there.dataset.item))) continue;
    const comment = commentOf(there).value.trim();
    if (there.dataset.value === paper.dataset.value && comment === (paper.dataset.comment ?? "")) continue;
    showValue(paper, there.dataset.value);
    if (document.activeElement !== commentOf(paper)) commentOf(paper).value = comment;
    paper.dataset.comment = comment;
    show(paper.querySelector(".status"), there.dataset.value === "" ? "" : "saved", "saved");
  }
  showProgress();
}

tabs.addEventListener("message", refresh);
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") refresh();
});

function openQuestion({ number, items }) {
  const section = questionOf(number);
  if (!section) return;
  const isNew = section.dataset.stated === "";
  section.dataset.stated = "yes";
  section.querySelector(".papers").hidden = false;
  for (const paper of all(".paper", section)) {
    paper.dataset.item = items[paper.dataset.entry] ?? "";
  }
  if (isNew) choose(section.querySelector(".paper"), { scroll: false });
  showProgress();
}

function refused(act, message, isClosed) {
  refusals += 1;
  if (act.what === "question") delete questionOf(act.body.number)?.dataset.sent;
  const status = statusOf(act);
  if (status) show(status, `not saved: ${message}`, "refused");
  if (!isClosed) return;
  const contact = page.dataset.contact ? ` Please write to ${page.dataset.contact}.` : "";
  trouble.textContent =
    `${message} What you answered and could not be saved is kept in this browser, and will be ` +
    `sent when you open a new link here.${contact}`;
  trouble.hidden = false;
  trouble.scrollIntoView({ block: "nearest" });
}

// --- listening -----------------------------------------------------------------------------

page.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  const paper = event.target.closest(".paper");
  const took = paper === current ? watch.read() : null; // how long it was read nobody knows
  if (paper && paper !== current) choose(paper, { scroll: false });
  if (!button) return;
  const section = button.closest(".question");
  const how = { isSecond: event.detail > 1, took };
  if (button.matches(".choices button")) click(paper, button.dataset.value, how);
  else if (button.matches(".back")) takeBack(paper);
  else if (button.matches(".state")) stateQuestion(section);
  else if (button.matches(".approve")) approve(section, true);
  else if (button.matches(".correct")) approve(section, false);
  else if (button.id === "add") addQuestion()?.querySelector("textarea").focus();
  else if (button.id === "next") move(1);
  else if (button.id === "previous") move(-1);
  else if (button.id === "finish") finish();
});

// Keys are for the paper in which one is, however one came there.
page.addEventListener("focusin", (event) => {
  const paper = event.target.closest(".paper");
  if (paper && paper !== current) choose(paper, { scroll: false });
});

function finish() {
  for (const paper of papers()) saveComment(paper);
  for (const better of all(".better").filter(isReworded)) approve(better.closest(".question"), false);
  queue.add("finished", {});
}

page.addEventListener("change", (event) => {
  if (event.target.matches("textarea.text")) stateQuestion(event.target.closest(".question"));
  if (event.target.matches(".comment textarea")) saveComment(event.target.closest(".paper"));
  if (event.target.matches(".better")) keepWording(event.target.closest(".question"));
});

// On the web a window may go away at any time: what was typed last is put away at once.
addEventListener("pagehide", () => {
  const active = document.activeElement;
  if (active?.matches(".comment textarea")) saveComment(active.closest(".paper"));
  if (active?.matches("textarea.text")) stateQuestion(active.closest(".question"));
  if (active?.matches(".better")) keepWording(active.closest(".question"));
});

for (const button of document.querySelectorAll("[data-view]")) {
  button.addEventListener("click", () => {
    setView(button.dataset.view);
    choose(current);
  });
}
document.getElementById("undo").addEventListener("click", undo);
document.getElementById("ask").addEventListener("click", () => guidelines.showModal());
guidelines.addEventListener("click", (event) => { // beside it, or on its button
  if (event.target === guidelines || event.target.closest("button")) guidelines.close();
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === "Escape" && isTyping(event.target)) event.target.blur();
  if (isTyping(event.target) || guidelines.open) return;
  const key = event.key.toLowerCase();
  const button = current?.querySelector(`.choices button[data-keys~="${CSS.escape(key)}"]`);
  if (event.repeat && key !== "n" && key !== "p") return; // a key held down judges one paper
  const before = current;
  if (button) judgeAndGoOn(button.dataset.value);
  else if (key === "n") move(1);
  else if (key === "p") move(-1);
  else if (key === "z") undo();
  else if (key === "delete" || key === "backspace") takeBack(current);
  else if (key === "?") guidelines.showModal();
  else if (key === "l") document.querySelector("[data-view][aria-pressed=false]").click();
  else if (key === "e" && current) {
    current.querySelector(".comment").open = true;
    commentOf(current).focus();
  } else return;
  if (current !== before) { // Tab goes on from there
    (current ?? document.querySelector(".end")).focus({ preventScroll: true });
  }
  event.preventDefault();
});

addEventListener("beforeunload", (event) => {
  if (!queue.isKept && queue.acts().length) event.preventDefault();
});

// --- beginning -----------------------------------------------------------------------------

function takeUp() {
  for (const text of all("textarea.text")) {
    text.closest(".question").dataset.sent = text.value.trim();
  }
  for (const act of queue.acts()) { // what was done before and is not saved yet
    if (act.what === "judgement") {
      const paper = paperOf(act.body.item);
      if (!paper) continue;
      showValue(paper, act.body.withdrawn ? "" : String(act.body.value ?? "u"));
      if (!act.body.withdrawn) commentOf(paper).value = act.body.comment;
    } else if (act.what === "question") {
      let section = questionOf(act.body.number);
      while (!section && addQuestion()) section = questionOf(act.body.number);
      if (section) section.querySelector("textarea.text").value = act.body.text;
    } else if (act.what === "approval" && questionOf(act.body.number)) {
      const section = questionOf(act.body.number);
      section.querySelector(".approve")?.setAttribute("aria-pressed", String(act.body.approved));
      const better = section.querySelector(".better"); // none on a second judge's page
      if (better && !act.body.approved) better.defaultValue = act.body.text;
    }
  }
  setView(usualView());
  bringDrafts();
  const every = papers();
  const open = every.find((paper) => paper.dataset.value === "");
  const isBegun = every.some((paper) => paper.dataset.value !== "");
  choose(open ?? null, { scroll: isBegun && Boolean(open) });
}

takeUp();
showSaving();
queue.send();
fetch(`${page.dataset.api}/opened`, { method: "POST" }).catch(() => {});
citebedReady();
