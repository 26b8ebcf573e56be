// The current draft and its basket, for all pages. The server stores them; the browser stores the draft's id.

import { api, collection, request } from "./frame.js";

const STORAGE_KEY = `citebed-draft-${collection}`;

/* Return the id of the draft in the URL, or of the last one that was open. */
export const draftId = () => new URLSearchParams(location.search).get("draft") || localStorage.getItem(STORAGE_KEY) || "";

export const setCurrentDraft = (draft) => {
  localStorage.setItem(STORAGE_KEY, draft.draft_id);
  return draft;
};

export const clearCurrentDraft = () => localStorage.removeItem(STORAGE_KEY);

/* Load the current draft; null if there is none. */
export async function loadCurrentDraft() {
  const id = draftId();
  if (!id) return null;
  try {
    return setCurrentDraft(await request(api("drafts", id)));
  } catch (error) {
    if (error.status !== 404) throw error; // 404: the draft was removed
    clearCurrentDraft();
    return null;
  }
}

/* Load the current draft, or create one. Simultaneous calls create one draft only. */
let creating = null;
export async function ensureDraft(text = "") {
  const draft = await loadCurrentDraft();
  if (draft) return draft;
  creating ??= request(api("drafts"), { method: "POST", json: { text } }).then(setCurrentDraft).finally(() => {
    creating = null;
  });
  return creating;
}

/* Create another draft. `setCurrentDraft` makes it the current one. */
export const newDraft = (text = "") => request(api("drafts"), { method: "POST", json: { text } });

export const loadDraft = (id) => request(api("drafts", id));
export const listDrafts = async () => (await request(api("drafts"))).drafts;
export const saveDraft = (id, changes, signal) => request(api("drafts", id), { method: "PUT", json: changes, signal });
export const chooseVersion = (id, chosen) => request(api("drafts", id, "versions"), { method: "POST", json: chosen });
export const removeDraft = (id) => request(api("drafts", id), { method: "DELETE" });
export const loadPapers = (id) => request(api("drafts", id, "papers"));
export const loadFiles = (id) => request(api("drafts", id, "files"));
export const exportAddress = (id, form) => `${api("drafts", id, "export")}?${new URLSearchParams({ form })}`;

/* Upload files in a form. */
export const sendFiles = (id, form) => request(api("drafts", id, "files"), { method: "POST", form });

export const removeFile = (id, name) =>
  request(`${api("drafts", id, "files")}?${new URLSearchParams({ file: name })}`, { method: "DELETE" });

/* Add a document to the basket of the current draft, or remove it. */
export async function cite(docId, isCited = true) {
  const { draft_id: id } = await ensureDraft();
  return request(api("drafts", id, "basket"), { method: "POST", json: { doc_id: docId, taken: isCited } });
}

/* Judge a document as good (1) or not (0) for a passage; null withdraws the judgement. */
export async function judge(docId, relevance, text = "") {
  const { draft_id: id } = await ensureDraft();
  return request(api("drafts", id, "judgements"), { method: "POST", json: { doc_id: docId, relevance, text } });
}
