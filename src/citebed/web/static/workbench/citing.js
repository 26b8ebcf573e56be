// Buttons that take a paper into the basket of the draft at hand, wherever a page has them.

import { tell } from "./frame.js";
import { cite, draftAtHand } from "./desk.js";

let basket = new Set();

function show(button) {
  const taken = basket.has(button.dataset.cite);
  button.setAttribute("aria-pressed", String(taken));
  button.textContent = taken ? "Cited" : "Cite";
  const title = button.getAttribute("aria-label")?.replace(/^Cited? /, "");
  if (title) button.setAttribute("aria-label", `${button.textContent} ${title}`);
  button.hidden = false;
}

export const showAll = () => document.querySelectorAll("[data-cite]").forEach(show);
export const isTaken = (docId) => basket.has(docId);

/* Take a paper into the basket, or out of it if it is in there. */
export async function turn(docId) {
  try {
    const draft = await cite(docId, !basket.has(docId));
    basket = new Set(draft.basket);
    tell(basket.has(docId) ? `In the basket: ${basket.size}` : "Out of the basket again");
    showAll();
    document.dispatchEvent(new CustomEvent("citebed-basket", { detail: draft }));
  } catch (error) {
    tell(error.message);
  }
}

/* What the basket has; a page that is only looked at makes no draft. */
export async function ready() {
  const draft = await draftAtHand().catch(() => null);
  basket = new Set(draft?.basket ?? []);
  showAll();
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-cite]");
    if (button) turn(button.dataset.cite);
  });
}
