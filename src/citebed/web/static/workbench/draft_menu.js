// The drafts on the desk: another one, a new one, a name, and away with one after asking.

import { api, make, tell } from "./frame.js";
import { draftId, drafts, forget, removeDraft, write } from "./desk.js";

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
  forget();
  location.href = addressOf("");
}

async function away(draft) {
  try {
    await removeDraft(draft.draft_id);
  } catch (error) {
    return void tell(error.message);
  }
  tell(`“${nameOf(draft)}” is removed.`);
  if (draft.draft_id === draftId()) newDraft();
  else fill();
}

/* Two steps: what it is and what will be gone is said before it is. */
function removeButton(draft) {
  const label = `Remove: ${nameOf(draft)}`;
  const button = make("button", { type: "button", class: "plain-button", "aria-label": label, onclick: () => {
    const sure = make("button", { type: "button", class: "danger", onclick: () => away(draft) }, "Remove for good");
    const keep = make("button", { type: "button", onclick: () => fill() }, "Keep");
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

async function fill() {
  try {
    const found = await drafts();
    at("draft-list").replaceChildren(...found.map(line));
    const here = found.find((draft) => draft.draft_id === draftId());
    at("rename").hidden = !here;
    at("new-name").value = here?.name ?? "";
    at("new-name").placeholder = here ? nameOf(here) : "";
  } catch (error) {
    at("draft-list").replaceChildren(make("li", { class: "problem" }, error.message));
  }
}

/* `renamed` is told the draft after it got another name. */
export function startMenu(renamed) {
  at("drafts-button").addEventListener("click", async () => {
    await fill();
    dialog.showModal();
  });
  at("close-drafts").addEventListener("click", () => dialog.close());
  at("new-draft").addEventListener("click", newDraft);
  at("rename").addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      renamed(await write(draftId(), { name: at("new-name").value.trim() }));
      fill();
    } catch (error) {
      tell(error.message);
    }
  });
  at("qrels").href = api("desk", "qrels");
  at("queries").href = api("desk", "queries");
}
