// The basket of a draft: the papers that it will cite, with their citation keys and downloads.

import { make, showToast } from "./frame.js";
import { exportAddress } from "./desk.js";
import { documentAddress, formatAuthors } from "./result.js";

const at = (id) => document.getElementById(id);
const basket = at("basket");
const wide = matchMedia("(min-width: 56.01rem)");

/* Copy a text to the clipboard. Without permission for the clipboard, use the old execCommand. */
async function copyText(words) {
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
  const who = [formatAuthors(paper.authors), paper.year].filter(Boolean).join(", ");
  return make("li", {},
    make("div", {},
      make("a", { href: documentAddress(paper.doc_id), title: paper.title || paper.doc_id }, paper.title || paper.doc_id),
      make("span", { class: "quiet" }, who ? `${who} · ` : "", make("code", {}, paper.key))),
    make("button", { type: "button", class: "icon", "aria-label": `Remove from the basket: ${paper.title || paper.doc_id}`, title: "Remove from the basket", onclick: () => remove(paper.doc_id) }, "×"));
}

let keys = [];
let draftId = "";

/* Show the basket of a draft. */
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
    else link.removeAttribute("href"); // nothing to download
  }
}

export async function copyKeys() {
  if (!keys.length) return void showToast("The basket is empty: cite a paper first.");
  const words = `\\cite{${keys.join(",")}}`;
  await copyText(words);
  showToast(`Copied ${words}`);
}

async function copyBibtex() {
  const answer = await fetch(exportAddress(draftId, "bibtex"));
  if (!answer.ok) return void showToast("The server does not respond. Try again.");
  await copyText(await answer.text());
  showToast(keys.length === 1 ? "Copied 1 entry" : `Copied ${keys.length} entries`);
}

const openIfWide = () => {
  basket.open = wide.matches;
};
openIfWide();
wide.addEventListener("change", openIfWide);
at("copy-keys").addEventListener("click", copyKeys);
at("copy-bibtex").addEventListener("click", copyBibtex);
