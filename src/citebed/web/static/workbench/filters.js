// Which papers somebody wants to see: kept in the address, so that it can be sent.

import { api, ask, make } from "./frame.js";

const form = document.getElementById("filters");
const button = document.getElementById("filter-button");
const chips = document.getElementById("chosen-venues");
let venues = [];
let changed = () => {};

const field = (name) => form.elements[name];

/* What is asked for, in the words of the API. */
export function filters() {
  const [first, last] = [field("first").value.trim(), field("last").value.trim()];
  const asked = {};
  if (first || last) asked.years = first === last ? first : `${first}-${last}`;
  if (venues.length) asked.venues = venues;
  if (field("type").value) asked.types = [field("type").value];
  if (field("before").value) asked.before = field("before").value;
  if (field("in_bib").checked && !field("in_bib").disabled) asked.in_bib = true;
  if (field("cited").checked) asked.keep_cited = true;
  return asked;
}

/* How many filters let only some papers through. */
const number = () => Object.keys(filters()).filter((name) => name !== "keep_cited").length;
export const isFiltered = () => number() > 0;

function show() {
  const some = Object.keys(filters()).length;
  button.textContent = some ? `Filter (${some})` : "Filter";
  chips.replaceChildren(...venues.map((name) => make("li", {}, name,
    make("button", { type: "button", "aria-label": `Not only ${name}`, onclick: () => choose(venues.filter((each) => each !== name)) }, "×"))));
}

const NAMES = ["first", "last", "type", "before"];
function remember() {
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
  remember();
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

/* Whether there are .bib files to choose by. */
export function allowLibrary(has) {
  field("in_bib").disabled = !has;
  document.getElementById("no-library").hidden = has;
  show();
}

export function toggleFilters(open = form.hidden) {
  form.hidden = !open;
  button.setAttribute("aria-expanded", String(open));
}

async function offer() {
  const found = await ask(api("choices")).catch(() => null);
  if (!found) return;
  document.getElementById("venues").replaceChildren(...found.venues.map((each) => make("option", { value: each.name })));
  const kinds = found.types.map((each) => make("option", { value: each.name }, `${each.name} (${each.documents.toLocaleString("en")})`));
  const chosen = field("type").dataset.wanted ?? "";
  field("type").append(...kinds);
  if (chosen) field("type").value = chosen;
  [field("first").placeholder, field("last").placeholder] = found.years.map((year) => year ?? "");
}

/* Begin with what the address says; `onChange` is called after every change. */
export async function startFilters(onChange) {
  const said = new URLSearchParams(location.search);
  for (const name of NAMES) field(name).value = said.get(name) ?? "";
  field("type").dataset.wanted = said.get("type") ?? "";
  for (const name of ["in_bib", "cited"]) field(name).checked = said.has(name);
  venues = said.getAll("venue");
  toggleFilters([...NAMES, "in_bib", "cited", "venue"].some((name) => said.has(name)));
  await offer();
  show();
  changed = onChange;
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
  if (type === "number" && (value.length === 4 || !value)) update(); // half a year is none
});
