// The frame of every page: keyboard shortcuts, the theme, the choice of a collection, toasts.

const body = document.body;
const fields = "textarea, input, select, [contenteditable]";

export const collection = body.dataset.collection ?? "";

/* Return a URL of the API for the current collection. */
export const api = (...parts) =>
  ["/api/collections", collection, ...parts].map((part, at) => at ? encodeURIComponent(part) : part).join("/");

/* Send a request and return the parsed response. On failure, throw an Error with the server's message. */
export async function request(address, { method = "GET", json, form, signal } = {}) {
  const headers = { Accept: "application/json", "X-Citebed-Token": body.dataset.token };
  if (json !== undefined) headers["Content-Type"] = "application/json";
  const sent = json !== undefined ? JSON.stringify(json) : form;
  const response = await fetch(address, { method, headers, body: sent, signal });
  const content = await response.json().catch(() => ({ message: `the server responded with status ${response.status}` }));
  if (!response.ok) throw Object.assign(new Error(content.message), { status: response.status, content });
  return content;
}

/* Create an element with attributes and children. Text is never parsed as HTML. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/* Return the address if it is a web address, else null. */
export const webLink = (address) => /^https?:\/\//i.test(address ?? "") ? address : null;

/* Show a short message. `act` ({words, key, does}) adds a button with an optional key. */
let toastTimer = 0;
export function showToast(words, act = null) {
  const toast = document.getElementById("toast");
  const done = () => toast.classList.remove("shown");
  toast.replaceChildren(words);
  if (act) {
    toast.append(make("button", { type: "button", onclick: () => [done(), act.does()] }, act.words,
      act.key ? make("kbd", { "aria-hidden": "true" }, act.key) : null));
  }
  toast.classList.add("shown");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(done, act ? 10_000 : 4000);
}

/* The page's own keys and their actions. Keys do nothing while the user types in a field. */
const pageKeys = new Map();
export const onKey = (key, act) => pageKeys.set(key, act);

let isGoPressed = false; // the last key was g, which goes to a page
function handleKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches(fields)) return;
  if (document.querySelector("dialog[open]") && event.key !== "?") return;
  const link = isGoPressed && document.querySelector(`.rooms a[data-key="${CSS.escape(event.key)}"]`);
  isGoPressed = event.key === "g";
  if (link) return void link.click();
  const acts = { "?": showKeys, "/": () => document.querySelector("[data-search]")?.focus() };
  const act = pageKeys.get(event.key) ?? acts[event.key];
  if (!act) return;
  event.preventDefault();
  act(event);
}

function showKeys() {
  const keys = document.getElementById("keys");
  if (keys.open) keys.close();
  else keys.showModal();
}

function toggleTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme ?? (dark ? "dark" : "light");
  document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
  localStorage.setItem("citebed-theme", document.documentElement.dataset.theme);
}

const theme = localStorage.getItem("citebed-theme");
if (theme) document.documentElement.dataset.theme = theme;
document.addEventListener("keydown", handleKey);
document.getElementById("theme").addEventListener("click", toggleTheme);
document.getElementById("keys-button").addEventListener("click", showKeys);
const choice = document.getElementById("collection-choice");
choice?.addEventListener("change", () => {
  location.href = choice.value;
});
addEventListener("pageshow", () => {
  if (choice) choice.value = choice.querySelector("[selected]")?.value ?? choice.value;
});

/* Scroll the navigation to the current page. */
const rooms = document.querySelector(".rooms");
const here = rooms?.querySelector("[aria-current]");
if (here) rooms.scrollLeft = here.offsetLeft - rooms.offsetLeft - (rooms.clientWidth - here.offsetWidth) / 2;
