// The draft at hand and its basket, for every room: kept on the server, known by its id in the browser.

import { api, ask, collection } from "./frame.js";

const PLACE = `citebed-draft-${collection}`;

/* The draft that the address names, or the last one worked on. */
export const draftId = () => new URLSearchParams(location.search).get("draft") || localStorage.getItem(PLACE) || "";

const remember = (found) => {
  localStorage.setItem(PLACE, found.draft_id);
  return found;
};

export const forget = () => localStorage.removeItem(PLACE);

/* The draft at hand, or null where there is none. */
export async function draftAtHand() {
  const id = draftId();
  if (!id) return null;
  try {
    return remember(await ask(api("drafts", id)));
  } catch (error) {
    if (error.status !== 404) throw error; // gone from the desk
    forget();
    return null;
  }
}

/* The draft at hand, made if there is none: once, however many ask for it at the same time. */
let making = null;
export async function draft(text = "") {
  const found = await draftAtHand();
  if (found) return found;
  making ??= ask(api("drafts"), { method: "POST", json: { text } }).then(remember).finally(() => {
    making = null;
  });
  return making;
}

/* Another draft, whatever is at hand; it is at hand once it is `taken`. */
export const newDraft = (text = "") => ask(api("drafts"), { method: "POST", json: { text } });
export const taken = remember;

export const draftOf = (id) => ask(api("drafts", id));
export const drafts = async () => (await ask(api("drafts"))).drafts;
export const write = (id, said, signal) => ask(api("drafts", id), { method: "PUT", json: said, signal });
export const chooseVersion = (id, chosen) => ask(api("drafts", id, "versions"), { method: "POST", json: chosen });
export const removeDraft = (id) => ask(api("drafts", id), { method: "DELETE" });
export const papers = (id) => ask(api("drafts", id, "papers"));
export const files = (id) => ask(api("drafts", id, "files"));
export const exportAddress = (id, form) => `${api("drafts", id, "export")}?${new URLSearchParams({ form })}`;

/* Send files, as a form of them. */
export const sendFiles = (id, form) => ask(api("drafts", id, "files"), { method: "POST", form });

export const removeFile = (id, name) =>
  ask(`${api("drafts", id, "files")}?${new URLSearchParams({ file: name })}`, { method: "DELETE" });

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
