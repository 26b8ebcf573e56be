// Buttons that add a paper to the basket of the current draft or remove it.

import { showToast } from "./frame.js";
import { cite, loadCurrentDraft } from "./desk.js";

let basket = new Set();

function show(button) {
  const isCited = basket.has(button.dataset.cite);
  button.setAttribute("aria-pressed", String(isCited));
  button.textContent = isCited ? "Cited" : "Cite";
  const title = button.getAttribute("aria-label")?.replace(/^Cited? /, "");
  if (title) button.setAttribute("aria-label", `${button.textContent} ${title}`);
  button.hidden = false;
}

export const updateCiteButtons = () => document.querySelectorAll("[data-cite]").forEach(show);
export const isInBasket = (docId) => basket.has(docId);

/* Add a paper to the basket, or remove it. */
export async function toggleCited(docId) {
  try {
    const draft = await cite(docId, !basket.has(docId));
    basket = new Set(draft.basket);
    showToast(basket.has(docId) ? `In the basket: ${basket.size}` : "Removed from the basket");
    updateCiteButtons();
    document.dispatchEvent(new CustomEvent("citebed-basket", { detail: draft }));
  } catch (error) {
    showToast(error.message);
  }
}

/* Load the basket and show the buttons. This creates no draft. */
export async function startCiting() {
  const draft = await loadCurrentDraft().catch(() => null);
  basket = new Set(draft?.basket ?? []);
  updateCiteButtons();
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-cite]");
    if (button) toggleCited(button.dataset.cite);
  });
}
