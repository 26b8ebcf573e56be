// The basket of a draft: what it will cite, the keys to type, and the ways to hand it on.

import { make, tell } from "./frame.js";
import { exportAddress } from "./desk.js";
import { authorsOf, documentAddress } from "./result.js";

const at = (id) => document.getElementById(id);
const basket = at("basket");
const wide = matchMedia("(min-width: 56.01rem)");

/* Put a text where it can be pasted from; older ways where a browser allows no other. */
async function copy(words) {
  try {
    await navigator.clipboard.writeText(words);
  } catch {
    const place = make("textarea", { class: "hide" });
    place.value = words;
    document.body.append(place);
    place.select();
    document.execCommand("copy");
    place.remove();
  }
}

function line(paper, remove) {
  const who = [authorsOf(paper.authors), paper.year].filter(Boolean).join(", ");
  return make("li", {},
    make("div", {},
      make("a", { href: documentAddress(paper.doc_id), title: paper.title || paper.doc_id }, paper.title || paper.doc_id),
      make("span", { class: "quiet" }, who ? `${who} · ` : "", make("code", {}, paper.key))),
    make("button", { type: "button", class: "icon", "aria-label": `Out of the basket: ${paper.title || paper.doc_id}`, title: "Out of the basket", onclick: () => remove(paper.doc_id) }, "×"));
}

let keys = [];
let draftId = "";

/* Show what is in the basket of a draft. */
export function showBasket(id, papers, remove) {
  draftId = id;
  keys = papers.map((paper) => paper.key);
  at("basket-list").replaceChildren(...papers.map((paper) => line(paper, remove)));
  at("basket-count").textContent = papers.length;
  at("basket-empty").hidden = papers.length > 0;
  at("basket-out").hidden = !papers.length;
  basket.classList.toggle("has-papers", papers.length > 0);
  for (const link of basket.querySelectorAll("a[data-form]")) {
    if (papers.length) link.href = exportAddress(id, link.dataset.form);
    else link.removeAttribute("href"); // there is nothing to download
  }
}

export async function copyKeys() {
  if (!keys.length) return void tell("The basket is empty: cite a paper first.");
  const words = `\\cite{${keys.join(",")}}`;
  await copy(words);
  tell(`Copied ${words}`);
}

async function copyBibtex() {
  const answer = await fetch(exportAddress(draftId, "bibtex"));
  if (!answer.ok) return void tell("That did not work: the server does not answer.");
  await copy(await answer.text());
  tell(keys.length === 1 ? "Copied 1 entry" : `Copied ${keys.length} entries`);
}

const fit = () => {
  basket.open = wide.matches;
};
fit();
wide.addEventListener("change", fit);
at("copy-keys").addEventListener("click", copyKeys);
at("copy-bibtex").addEventListener("click", copyBibtex);
