// The menu of drafts: open, create, rename and remove drafts.

import { api, make, showToast } from "./frame.js";
import { clearCurrentDraft, draftId, listDrafts, removeDraft, saveDraft } from "./desk.js";

const at = (id) => document.getElementById(id);
const dialog = at("drafts");
const NEW = "New draft";
const WHEN = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

export const nameOf = (draft) => {
  const begin = (draft.excerpt ?? draft.text ?? "").trim().split(/\s+/).slice(0, 8).join(" ");
  return draft.name || begin.slice(0, 60) || draft.file || NEW;
};

const addressOf = (id) => {
  const address = new URL(location.href);
  address.search = "";
  if (id) address.searchParams.set("draft", id);
  return address;
};

export const showName = (draft) => {
  at("draft-name").textContent = draft ? nameOf(draft) : NEW;
};

function newDraft() {
  clearCurrentDraft();
  location.href = addressOf("");
}

async function remove(draft) {
  try {
    await removeDraft(draft.draft_id);
  } catch (error) {
    return void showToast(error.message);
  }
  showToast(`“${nameOf(draft)}” was removed.`);
  if (draft.draft_id === draftId()) newDraft();
  else showDrafts();
}

/* Return a button that asks before it removes a draft. */
function removeButton(draft) {
  const label = `Remove: ${nameOf(draft)}`;
  const button = make("button", { type: "button", class: "plain-button", "aria-label": label, onclick: () => {
    const sure = make("button", { type: "button", class: "danger", onclick: () => remove(draft) }, "Remove permanently");
    const keep = make("button", { type: "button", onclick: () => showDrafts() }, "Keep");
    button.replaceWith(make("span", { class: "row sure-row" }, sure, keep));
    sure.focus();
  } }, "Remove");
  return button;
}

function line(draft) {
  const isHere = draft.draft_id === draftId();
  const basket = draft.basket ? ` · ${draft.basket === 1 ? "1 paper" : `${draft.basket} papers`}` : "";
  return make("li", {},
    make("div", {},
      make("a", { href: addressOf(draft.draft_id), "aria-current": isHere ? "true" : null }, nameOf(draft)),
      make("span", { class: "quiet" }, `${WHEN.format(new Date(draft.changed))}${basket}`)),
    removeButton(draft));
}

async function showDrafts() {
  try {
    const drafts = await listDrafts();
    at("draft-list").replaceChildren(...drafts.map(line));
    const here = drafts.find((draft) => draft.draft_id === draftId());
    at("rename").hidden = !here;
    at("new-name").value = here?.name ?? "";
    at("new-name").placeholder = here ? nameOf(here) : "";
  } catch (error) {
    at("draft-list").replaceChildren(make("li", { class: "problem" }, error.message));
  }
}

/* Set up the menu; it calls `onRename` with a renamed draft. */
export function startMenu(onRename) {
  at("drafts-button").addEventListener("click", async () => {
    await showDrafts();
    dialog.showModal();
  });
  at("close-drafts").addEventListener("click", () => dialog.close());
  at("new-draft").addEventListener("click", newDraft);
  at("rename").addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      onRename(await saveDraft(draftId(), { name: at("new-name").value.trim() }));
      showDrafts();
    } catch (error) {
      showToast(error.message);
    }
  });
  at("qrels").href = api("desk", "qrels");
  at("queries").href = api("desk", "queries");
}
