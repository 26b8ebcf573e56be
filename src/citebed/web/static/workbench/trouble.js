// Show progress and problems of a search, above the papers or next to the filter that caused them.

import { collection, make } from "./frame.js";
import { blameFilter } from "./filters.js";

const at = (id) => document.getElementById(id);
const results = at("results");
const READY = "The server is getting ready: on a new machine this takes about a minute.";
const SLOW = 3000; // milliseconds
let hasAnswered = false;
let slow = 0;

/* Mark the papers as out of date while a search runs. */
export function markBusy(isBusy) {
  results.setAttribute("aria-busy", String(isBusy));
}

/* Show that a search runs: at once if there are no papers to see, else after a while. */
export function showSearching() {
  clearTimeout(slow);
  markBusy(true);
  if (!results.querySelector(".result")) at("state").replaceChildren(make("p", { class: "lead" }, "Searching …"));
  slow = setTimeout(showWaiting, SLOW);
}

export function showWaiting() {
  const words = hasAnswered ? "Still searching: this takes longer than usual." : READY;
  clearTimeout(slow);
  if (results.querySelector(".result")) at("status").textContent = words;
  else at("state").replaceChildren(make("p", { class: "lead" }, "Searching …"), make("p", { class: "quiet", role: "status" }, words));
}

/* Clear progress and problems after a response. */
export function clearProblem(isAnswer = true) {
  clearTimeout(slow);
  hasAnswered ||= isAnswer;
  markBusy(false);
  results.classList.remove("stale");
  at("trouble").replaceChildren();
  blameFilter("");
}

/* Show a problem above the papers, which are marked as out of date. */
export function showProblem(words, again = null) {
  clearTimeout(slow);
  markBusy(false);
  results.classList.add("stale");
  at("status").textContent = "";
  at("state").replaceChildren();
  const isAboutFilter = blameFilter(words);
  const toIndex = /citebed index/.test(words) ? make("a", { href: `/c/${encodeURIComponent(collection)}/collection` }, "Index the collection") : null;
  at("trouble").replaceChildren(...isAboutFilter ? [] : [make("p", { class: "problem", role: "alert" }, words),
    again || toIndex ? make("p", { class: "row" }, again ? make("button", { type: "button", onclick: again }, "Try again") : null, toIndex) : ""]);
  if (document.activeElement !== at("text")) at("papers-title").scrollIntoView({ block: "nearest" });
}
