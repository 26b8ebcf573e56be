// The frame around every room: keys, light or dark, the choice of a collection, words that come and go.

const body = document.body;
const fields = "textarea, input, select, [contenteditable]";

export const collection = body.dataset.collection ?? "";

/* An address of the API, about the collection at hand. */
export const api = (...parts) =>
  ["/api/collections", collection, ...parts].map((part, at) => at ? encodeURIComponent(part) : part).join("/");

/* Ask the server; what it refuses is an Error with its own words. */
export async function ask(address, { method = "GET", json, form, signal } = {}) {
  const headers = { Accept: "application/json", "X-Citebed-Token": body.dataset.token };
  if (json !== undefined) headers["Content-Type"] = "application/json";
  const sent = json !== undefined ? JSON.stringify(json) : form;
  const answer = await fetch(address, { method, headers, body: sent, signal });
  const said = await answer.json().catch(() => ({ message: `the server answered ${answer.status}` }));
  if (!answer.ok) throw Object.assign(new Error(said.message), { status: answer.status, said });
  return said;
}

/* An element with attributes, texts and other elements in it: text is never read as HTML. */
export function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/* Only an address on the web may be followed. */
export const webLink = (address) => /^https?:\/\//i.test(address ?? "") ? address : null;

/* Words that come and go; `act` ({words, key, does}) is a button in them, which may have a key of its own. */
let fading = 0;
export function tell(words, act = null) {
  const toast = document.getElementById("toast");
  const done = () => toast.classList.remove("shown");
  toast.replaceChildren(words);
  if (act) {
    toast.append(make("button", { type: "button", onclick: () => [done(), act.does()] }, act.words,
      act.key ? make("kbd", { "aria-hidden": "true" }, act.key) : null));
  }
  toast.classList.add("shown");
  clearTimeout(fading);
  fading = setTimeout(done, act ? 10_000 : 4000);
}

/* A room's own keys: a map from key to what it does; none while somebody types. */
const own = new Map();
export const onKey = (key, act) => own.set(key, act);

let goes = false;
function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches(fields)) return;
  if (document.querySelector("dialog[open]") && event.key !== "?") return;
  const room = goes && document.querySelector(`.rooms a[data-key="${CSS.escape(event.key)}"]`);
  goes = event.key === "g";
  if (room) return void room.click();
  const acts = { "?": showKeys, "/": () => document.querySelector("[data-search]")?.focus() };
  const act = own.get(event.key) ?? acts[event.key];
  if (!act) return;
  event.preventDefault();
  act(event);
}

function showKeys() {
  const keys = document.getElementById("keys");
  if (keys.open) keys.close();
  else keys.showModal();
}

function turnTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme ?? (dark ? "dark" : "light");
  document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
  localStorage.setItem("citebed-theme", document.documentElement.dataset.theme);
}

const theme = localStorage.getItem("citebed-theme");
if (theme) document.documentElement.dataset.theme = theme;
document.addEventListener("keydown", pressed);
document.getElementById("theme").addEventListener("click", turnTheme);
document.getElementById("keys-button").addEventListener("click", showKeys);
const choice = document.getElementById("collection-choice");
choice?.addEventListener("change", () => {
  location.href = choice.value;
});
addEventListener("pageshow", () => {
  if (choice) choice.value = choice.querySelector("[selected]")?.value ?? choice.value;
});

/* Where the rooms do not fit, the one at hand is in view. */
const rooms = document.querySelector(".rooms");
const here = rooms?.querySelector("[aria-current]");
if (here) rooms.scrollLeft = here.offsetLeft - rooms.offsetLeft - (rooms.clientWidth - here.offsetWidth) / 2;
