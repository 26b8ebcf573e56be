// What keeps papers from being shown: said at the top of them, or beside the filter at fault.

import { collection, make } from "./frame.js";
import { blameFilter } from "./filters.js";

const at = (id) => document.getElementById(id);
const results = at("results");
const READY = "The server is getting ready: on a new machine this takes about a minute.";
const SLOW = 3000;
let hasAnswered = false;
let slow = 0;

/* The answer shown is for what is asked now, or it is not. */
export function markBusy(isBusy) {
  results.setAttribute("aria-busy", String(isBusy));
}

/* Something is looked for: that is said at once where nothing else is to be seen, and later anyway. */
export function looking() {
  clearTimeout(slow);
  markBusy(true);
  if (!results.querySelector(".result")) at("state").replaceChildren(make("p", { class: "lead" }, "Looking …"));
  slow = setTimeout(gettingReady, SLOW);
}

export function gettingReady() {
  const words = hasAnswered ? "Still looking: this takes longer than most." : READY;
  clearTimeout(slow);
  if (results.querySelector(".result")) at("status").textContent = words;
  else at("state").replaceChildren(make("p", { class: "lead" }, "Looking …"), make("p", { class: "quiet", role: "status" }, words));
}

/* There is an answer: nothing is wrong any more. */
export function answered(isAnswer = true) {
  clearTimeout(slow);
  hasAnswered ||= isAnswer;
  markBusy(false);
  results.classList.remove("stale");
  at("trouble").replaceChildren();
  blameFilter("");
}

/* Say what is wrong, above papers that are then not what was asked for. */
export function trouble(words, again = null) {
  clearTimeout(slow);
  markBusy(false);
  results.classList.add("stale");
  at("status").textContent = "";
  at("state").replaceChildren();
  const isOfFilter = blameFilter(words);
  const toIndex = /citebed index/.test(words) ? make("a", { href: `/c/${encodeURIComponent(collection)}/collection` }, "To the collection, where it is indexed") : null;
  at("trouble").replaceChildren(...isOfFilter ? [] : [make("p", { class: "problem", role: "alert" }, words),
    again || toIndex ? make("p", { class: "row" }, again ? make("button", { type: "button", onclick: again }, "Try again") : null, toIndex) : ""]);
  if (document.activeElement !== at("text")) at("papers-title").scrollIntoView({ block: "nearest" });
}
