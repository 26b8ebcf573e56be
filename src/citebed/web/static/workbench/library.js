// The library: cite papers, select papers to find similar ones, keyboard shortcuts.

import { onKey, showToast } from "./frame.js";
import { startCiting, toggleCited } from "./citing.js";

const cards = [...document.querySelectorAll(".paper-card")];
const current = () => cards.findIndex((card) => card.contains(document.activeElement));

function step(by) {
  const at = current();
  const next = cards[at < 0 ? (by > 0 ? 0 : cards.length - 1) : at + by];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

function updateSelection() {
  const boxes = document.querySelectorAll("[name=like]:checked");
  const words = document.querySelector("[data-selected]");
  const button = document.querySelector("[data-like]");
  if (!button) return;
  button.disabled = boxes.length === 0;
  words.textContent = boxes.length ? `${boxes.length} selected` : "Select papers to find similar ones.";
  document.querySelector("[data-selecting]").classList.toggle("some", boxes.length > 0);
}

const currentPaper = () => cards[current()] ?? document.querySelector("article.document");

async function copy(button) {
  const text = document.querySelector(button.dataset.copy).textContent;
  try {
    await navigator.clipboard.writeText(text);
    showToast("Copied");
  } catch {
    getSelection().selectAllChildren(document.querySelector(button.dataset.copy));
    showToast("Press Ctrl+C to copy the selected text");
  }
}

onKey("c", () => currentPaper() && toggleCited(currentPaper().dataset.doc));
if (document.querySelector("article.document")) {
  onKey("b", () => document.querySelector("[data-copy]")?.click());
} else {
  for (const key of ["n", "j"]) onKey(key, () => step(1));
  for (const key of ["p", "k"]) onKey(key, () => step(-1));
  onKey("m", () => cards[current()]?.querySelector("[name=like]").click());
}
document.addEventListener("change", updateSelection);
for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", () => copy(button));
}
if (matchMedia("(max-width: 56rem)").matches) document.querySelector(".facet-box")?.removeAttribute("open");
updateSelection();
await startCiting();
citebedReady();
