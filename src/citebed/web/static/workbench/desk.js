// The draft at hand and its basket, for every room: kept on the server, known by its id in the browser.

import { api, ask, collection } from "./frame.js";

const PLACE = `citebed-draft-${collection}`;

/* The draft that the address names, or the last one worked on. */
export const draftId = () => new URLSearchParams(location.search).get("draft") || localStorage.getItem(PLACE) || "";

/* The draft, made if there is none. */
export async function draft() {
  const id = draftId();
  if (id) {
    try {
      return remember(await ask(api("drafts", id)));
    } catch (error) {
      if (error.status !== 404) throw error; // gone from the desk
    }
  }
  return remember(await ask(api("drafts"), { method: "POST", json: {} }));
}

const remember = (found) => {
  localStorage.setItem(PLACE, found.draft_id);
  return found;
};

export const write = (id, text) => ask(api("drafts", id), { method: "PUT", json: { text } });

/* Put a document into the basket of the draft at hand, or take it out. */
export async function cite(docId, taken = true) {
  const { draft_id: id } = await draft();
  return ask(api("drafts", id, "basket"), { method: "POST", json: { doc_id: docId, taken } });
}

/* Say that a document is good (1) or not (0) for a passage; null takes it back. */
export async function judge(docId, relevance, text = "") {
  const { draft_id: id } = await draft();
  return ask(api("drafts", id, "judgements"), { method: "POST", json: { doc_id: docId, relevance, text } });
}
