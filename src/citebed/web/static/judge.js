// A judge's page: judge by click or key. Judgements are saved at once; a later visit continues there.

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
const undoable = []; // the state before each judgement of this tab
let current = null;
let refusals = 0;
let judgementCount = 0; // in this tab

const queue = new Queue(form, page.dataset.api, { saved, refused, changed: showSaving });

// --- lookup --------------------------------------------------------------------------------

const findAll = (selector, root = page) => [...root.querySelectorAll(selector)];
const papers = () => findAll(".question:not([data-stated='']) .paper");
const paperOf = (item) => page.querySelector(`.paper[data-item="${Number(item)}"]`);
const questionOf = (number) => page.querySelector(`.question[data-number="${Number(number)}"]`);
const valueOf = (text) => (text === "u" ? null : Number(text));
const commentOf = (paper) => paper.querySelector(".comment textarea");
const isSingle = () => document.body.classList.contains("single");
const isTyping = (target) => target.matches("textarea, input, select");

// --- display -------------------------------------------------------------------------------

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
  else if (queue.isClosed) show(saving, `${acts.length} stored here, not saved`, "refused");
  else if (!queue.failures) show(saving, `Saving ${acts.length}…`, "waiting");
  else show(saving, `${acts.length} not saved yet; trying again${stay}`, "refused");
  showProgress();
}

function showProgress() {
  const every = papers();
  const done = every.filter((paper) => paper.dataset.value !== "").length;
  const said = meter.getAttribute("aria-label").toLowerCase();
  progress.textContent = every.length ? `${done} of ${every.length} ${said}` : "";
  meter.max = Math.max(1, every.length);
  meter.value = done;
  meter.hidden = !every.length;
}

function showValue(paper, value) {
  paper.dataset.value = value;
  for (const button of findAll(".choices button", paper)) {
    button.setAttribute("aria-pressed", String(button.dataset.value === value));
  }
}

// Make a paper the current one, which the keys judge; null means the end of the list.
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
  } catch { /* the next visit starts with the default view */ }
}

function usualView() {
  const usual = phase === 1 ? "list" : "single";
  try {
    return localStorage.getItem(`citebed:view:${phase}`) ?? usual;
  } catch {
    return usual;
  }
}

// --- judging -----------------------------------------------------------------------------

function judge(paper, value, took = watch.read()) {
  if (!paper?.dataset.item) return;
  const before = { paper, value: paper.dataset.value, comment: paper.dataset.comment ?? "" };
  const comment = commentOf(paper).value.trim();
  if (value !== before.value || comment !== before.comment) undoable.push(before);
  record(paper, value, took);
}

// Record a judgement; an empty value withdraws the earlier one.
function record(paper, value, took) {
  const withdrawn = value === "";
  const text = commentOf(paper).value.trim();
  const comment = withdrawn ? "" : text;
  showValue(paper, value);
  paper.dataset.comment = comment;
  if (withdrawn && text) drafts.save(paper, text);
  else drafts.drop(paper);
  if (paper === current) watch.start();
  judgementCount += 1;
  const answer = withdrawn ? null : valueOf(value);
  queue.add("judgement", { item: Number(paper.dataset.item), value: answer, comment, withdrawn, took });
  document.getElementById("undo").disabled = !undoable.length;
}

function withdraw(paper) {
  if (paper && paper.dataset.value !== "") judge(paper, "");
}

function undo() {
  const before = undoable.pop();
  if (!before) return;
  const { paper, value, comment } = before;
  if (value !== "") commentOf(paper).value = comment;
  choose(paper);
  record(paper, value, null);
}

function judgeAndMove(value) {
  const paper = current;
  judge(paper, value);
  if (paper === current) move(1);
}

// Judge by a click. In the single view, the next paper follows; the second click of a double click
// must not judge that one.
function click(paper, value, { isSecond, took }) {
  if (isSecond) return;
  if (isSingle()) judgeAndMove(value);
  else judge(paper, value, took);
}

function saveComment(paper) {
  const text = commentOf(paper).value.trim();
  if (paper.dataset.value !== "") {
    if (text !== (paper.dataset.comment ?? "")) judge(paper, paper.dataset.value);
    paper.dataset.comment = text;
  } else if (text) {
    drafts.save(paper, text);
    show(paper.querySelector(".status"), "comment stored here; it is sent with your judgement", "waiting");
  }
}

function restoreDrafts() {
  for (const paper of papers()) {
    paper.dataset.comment = commentOf(paper).value.trim();
    drafts.restore(paper, commentOf(paper));
  }
  for (const better of findAll(".better")) {
    drafts.restore(better.closest(".question"), better);
    saveWording(better.closest(".question"));
  }
}

const isReworded = (better) =>
  better.value.trim() !== "" && better.value.trim() !== better.defaultValue.trim();

function saveWording(section) {
  const better = section.querySelector(".better");
  if (!isReworded(better)) return;
  drafts.save(section, better.value.trim());
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
  const sections = findAll(".question");
  const number = Math.max(0, ...sections.map((each) => Number(each.dataset.number))) + 1;
  if (number > Number(page.dataset.most)) return null;
  const section = document.getElementById("blank").content.firstElementChild.cloneNode(true);
  section.dataset.number = number;
  section.querySelector(".nth").textContent = number;
  document.getElementById("questions").append(section);
  return section;
}

// --- responses ----------------------------------------------------------------------------

function saved(act, answer) {
  const status = statusOf(act);
  tabs.postMessage("saved");
  const words = { approval: act.body.approved ? "saved: approved" : "saved: your wording" };
  const message = act.body.withdrawn ? "taken back" : words[act.what] ?? "saved";
  if (status) show(status, message, "saved");
  if (answer.outcome === "later" && status) {
    show(status, "not changed: you gave a later answer elsewhere", "refused");
  }
  if (act.what === "question") openQuestion(answer);
  if (act.what === "finished" && status) show(status, "Thank you! Your judgements are recorded.", "saved");
}

// Show judgements from other tabs and devices, except for papers with unsaved acts of this tab.
const tabs = new BroadcastChannel(`citebed:${form}`);

async function refresh() {
  const before = judgementCount;
  const response = await fetch(location.href, { redirect: "error" }).catch(() => null);
  if (!response?.ok) return; // the next visit tries again
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  if (judgementCount !== before) return void refresh(); // the fetched page lacks a new judgement
  const waiting = new Set(queue.acts().map((act) => act.body.item));
  for (const freshPaper of fresh.querySelectorAll(".paper[data-item]")) {
    const paper = freshPaper.dataset.item && paperOf(freshPaper.dataset.item);
    if (!paper || waiting.has(Number(freshPaper.dataset.item))) continue;
    const comment = commentOf(freshPaper).value.trim();
    if (freshPaper.dataset.value === paper.dataset.value && comment === (paper.dataset.comment ?? "")) continue;
    showValue(paper, freshPaper.dataset.value);
    if (document.activeElement !== commentOf(paper)) commentOf(paper).value = comment;
    paper.dataset.comment = comment;
    show(paper.querySelector(".status"), freshPaper.dataset.value === "" ? "" : "saved", "saved");
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
  for (const paper of findAll(".paper", section)) {
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
    `${message} Your unsaved judgements are stored in this browser. They are sent when you open a ` +
    `new link here.${contact}`;
  trouble.hidden = false;
  trouble.scrollIntoView({ block: "nearest" });
}

// --- events --------------------------------------------------------------------------------

page.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  const paper = event.target.closest(".paper");
  const took = paper === current ? watch.read() : null; // unknown for other papers
  if (paper && paper !== current) choose(paper, { scroll: false });
  if (!button) return;
  const section = button.closest(".question");
  const options = { isSecond: event.detail > 1, took };
  if (button.matches(".choices button")) click(paper, button.dataset.value, options);
  else if (button.matches(".back")) withdraw(paper);
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
  for (const better of findAll(".better").filter(isReworded)) approve(better.closest(".question"), false);
  queue.add("finished", {});
}

page.addEventListener("change", (event) => {
  if (event.target.matches("textarea.text")) stateQuestion(event.target.closest(".question"));
  if (event.target.matches(".comment textarea")) saveComment(event.target.closest(".paper"));
  if (event.target.matches(".better")) saveWording(event.target.closest(".question"));
});

// Save the last text before the page closes.
addEventListener("pagehide", () => {
  const active = document.activeElement;
  if (active?.matches(".comment textarea")) saveComment(active.closest(".paper"));
  if (active?.matches("textarea.text")) stateQuestion(active.closest(".question"));
  if (active?.matches(".better")) saveWording(active.closest(".question"));
});

for (const button of document.querySelectorAll("[data-view]")) {
  button.addEventListener("click", () => {
    setView(button.dataset.view);
    choose(current);
  });
}
document.getElementById("undo").addEventListener("click", undo);
document.getElementById("ask").addEventListener("click", () => guidelines.showModal());
guidelines.addEventListener("click", (event) => { // on the backdrop or on the button
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
  if (button) judgeAndMove(button.dataset.value);
  else if (key === "n") move(1);
  else if (key === "p") move(-1);
  else if (key === "z") undo();
  else if (key === "delete" || key === "backspace") withdraw(current);
  else if (key === "?") guidelines.showModal();
  else if (key === "l") document.querySelector("[data-view][aria-pressed=false]").click();
  else if (key === "e" && current) {
    current.querySelector(".comment").open = true;
    commentOf(current).focus();
  } else return;
  if (current !== before) { // Tab continues from there
    (current ?? document.querySelector(".end")).focus({ preventScroll: true });
  }
  event.preventDefault();
});

addEventListener("beforeunload", (event) => {
  if (!queue.isKept && queue.acts().length) event.preventDefault();
});

// --- start ---------------------------------------------------------------------------------

function start() {
  for (const text of findAll("textarea.text")) {
    text.closest(".question").dataset.sent = text.value.trim();
  }
  for (const act of queue.acts()) { // acts of an earlier visit that are not saved yet
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
      const better = section.querySelector(".better"); // missing on a second judge's page
      if (better && !act.body.approved) better.defaultValue = act.body.text;
    }
  }
  setView(usualView());
  restoreDrafts();
  const every = papers();
  const open = every.find((paper) => paper.dataset.value === "");
  const isBegun = every.some((paper) => paper.dataset.value !== "");
  choose(open ?? null, { scroll: isBegun && Boolean(open) });
}

start();
showSaving();
queue.send();
fetch(`${page.dataset.api}/opened`, { method: "POST" }).catch(() => {});
citebedReady();
