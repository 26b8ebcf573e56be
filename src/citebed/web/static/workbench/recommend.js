// Recommending while somebody types: a moment after the last key, the last question only.

import { api, ask, make, webLink } from "./frame.js";
import { draft, write } from "./desk.js";

const WAIT = 250;
const text = document.getElementById("text");
const status = document.getElementById("status");
let asking = null;
let waiting = 0;
let current = null;

function shown(row) {
  const link = webLink(row.link);
  const title = link ? make("a", { href: link, rel: "noreferrer" }, row.title) : row.title;
  return make("li", { class: "result", "data-doc": row.doc_id },
    make("h3", {}, title),
    make("p", { class: "who" }, [row.authors.join(", "), row.year, row.venue].filter(Boolean).join(" · ")),
    make("p", { class: "quiet" }, row.sure));
}

async function recommend() {
  asking?.abort();
  asking = new AbortController();
  const { signal } = asking;
  if (!text.value.trim()) return void document.getElementById("results").replaceChildren();
  status.textContent = "…";
  try {
    const found = await ask(api("recommend"), { method: "POST", json: { text: text.value }, signal });
    document.getElementById("results").replaceChildren(...found.rows.map(shown));
    document.getElementById("notes").replaceChildren(...found.notes.map((note) => make("li", {}, note)));
    status.textContent = `${found.rows.length} papers`;
    write(current.draft_id, text.value);
  } catch (error) {
    if (error.name !== "AbortError") status.textContent = error.message;
  }
}

current = await draft();
text.value = current.text;
if (text.value) recommend();
text.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(recommend, WAIT);
});
citebedReady();
