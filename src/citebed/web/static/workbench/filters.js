// The filters of suggested papers. The URL stores them, so that it can be shared.

import { api, make, request } from "./frame.js";

const form = document.getElementById("filters");
const button = document.getElementById("filter-button");
const chips = document.getElementById("chosen-venues");
let venues = [];
let changed = () => {};

const field = (name) => form.elements[name];

/* Return the filters as parameters of the API. */
export function filters() {
  const [first, last] = [field("first").value.trim(), field("last").value.trim()];
  const params = {};
  if (first || last) params.years = first === last ? first : `${first}-${last}`;
  if (venues.length) params.venues = venues;
  if (field("type").value) params.types = [field("type").value];
  if (field("before").value) params.before = field("before").value;
  if (field("in_bib").checked && !field("in_bib").disabled) params.in_bib = true;
  if (field("cited").checked) params.keep_cited = true;
  return params;
}

/* Return the number of filters that exclude papers. */
const countFilters = () => Object.keys(filters()).filter((name) => name !== "keep_cited").length;
export const isFiltered = () => countFilters() > 0;

/* A name that is not the full name of a venue selects all venues whose names contain its words. */
function describeVenue(name) {
  const known = [...document.getElementById("venues").options].map((each) => each.value.toLowerCase());
  const words = name.toLowerCase().split(/\s+/);
  return !known.includes(words.join(" ")) && known.some((each) => words.every((word) => each.includes(word))) ? `all venues with “${name}”` : name;
}

function show() {
  const some = Object.keys(filters()).length;
  button.textContent = some ? `Filter (${some})` : "Filter";
  chips.replaceChildren(...venues.map((name) => make("li", {}, describeVenue(name),
    make("button", { type: "button", "aria-label": `Remove ${name}`, onclick: () => choose(venues.filter((each) => each !== name)) }, "×"))));
}

const NAMES = ["first", "last", "type", "before"];
function storeInAddress() {
  const address = new URL(location.href);
  const set = (name, value) => value ? address.searchParams.set(name, value) : address.searchParams.delete(name);
  for (const name of NAMES) set(name, field(name).value.trim());
  for (const name of ["in_bib", "cited"]) set(name, field(name).checked && "1");
  address.searchParams.delete("venue");
  for (const name of venues) address.searchParams.append("venue", name);
  history.replaceState(null, "", address);
}

function update() {
  show();
  storeInAddress();
  changed();
}

function choose(chosen) {
  venues = [...new Set(chosen)];
  update();
}

function addVenue() {
  const name = field("venue").value.trim();
  if (!name) return;
  field("venue").value = "";
  choose([...venues, name]);
}

export function clearFilters() {
  form.reset();
  choose([]);
}

/* Allow the filter for the user's .bib files only if there are such files. */
export function allowLibrary(hasLibrary) {
  field("in_bib").disabled = !hasLibrary;
  document.getElementById("no-library").hidden = hasLibrary;
  show();
}

/* Patterns of the server's messages about each filter, such as `years: …`. */
const ABOUT = { years: /years?\b/i, venues: /\bvenues?\b/i, types: /\btypes?\b/i, before: /\bbefore\b|\bdate\b/i };
const FIELDS = { years: ["first", "last"], venues: ["venue"], types: ["type"], before: ["before"] };

/* Show a message next to the filter that it is about. Return whether there is such a filter. */
export function blameFilter(words) {
  const problem = document.getElementById("filter-problem");
  const params = filters();
  const name = words && Object.keys(ABOUT).find((each) => each in params && ABOUT[each].test(words));
  for (const each of Object.values(FIELDS).flat()) field(each).removeAttribute("aria-invalid");
  problem.hidden = !name;
  problem.textContent = name ? words : "";
  if (!name) return false;
  toggleFilters(true);
  for (const each of FIELDS[name]) field(each).setAttribute("aria-invalid", "true");
  return true;
}

export function toggleFilters(open = form.hidden) {
  form.hidden = !open;
  button.setAttribute("aria-expanded", String(open));
}

async function loadChoices() {
  const choices = await request(api("choices")).catch(() => null);
  if (!choices) return;
  document.getElementById("venues").replaceChildren(...choices.venues.map((each) => make("option", { value: each.name })));
  const kinds = choices.types.map((each) => make("option", { value: each.name }, `${each.name} (${each.documents.toLocaleString("en")})`));
  const chosen = field("type").value;
  field("type").replaceChildren(field("type").options[0], ...kinds);
  if (chosen && !choices.types.some((each) => each.name === chosen)) field("type").append(make("option", { value: chosen }, chosen));
  field("type").value = chosen;
  [field("first").placeholder, field("last").placeholder] = choices.years.map((year) => year ?? "");
  show();
}

/* Read the filters from the URL and load their choices; `onChange` is called after every change. */
export function startFilters(onChange) {
  const query = new URLSearchParams(location.search);
  if (query.get("type")) field("type").append(make("option", { value: query.get("type") }, query.get("type")));
  for (const name of NAMES) field(name).value = query.get(name) ?? "";
  for (const name of ["in_bib", "cited"]) field(name).checked = query.has(name);
  venues = query.getAll("venue");
  toggleFilters([...NAMES, "in_bib", "cited", "venue"].some((name) => query.has(name)));
  show();
  changed = onChange;
  loadChoices();
}

button.addEventListener("click", () => toggleFilters());
document.getElementById("clear-filters").addEventListener("click", clearFilters);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  addVenue();
});
form.addEventListener("change", (event) => event.target.name === "venue" ? addVenue() : update());
form.addEventListener("input", (event) => {
  const { type, value } = event.target;
  if (type === "number" && (value.length === 4 || !value)) update(); // wait for all four digits
});
