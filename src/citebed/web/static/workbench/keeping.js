// Save typed text. The browser keeps a copy until the server has it; a save never overwrites another page's text.

import { api, collection, make, showToast } from "./frame.js";
import * as desk from "./desk.js";

const SAVE_DELAY = 500; // milliseconds
const RETRY_DELAYS = [1, 2, 4, 8, 15, 30]; // seconds
const TIMEOUT = 30_000; // milliseconds
const TOO_LONG = [413, 422];
const WRITER = "citebed-writer";
const writer = Math.random().toString(36).slice(2);

// --- Copies in the browser --------------------------------------------------------------------

const copyKey = (id, by = writer) => `citebed-typed|${collection}|${id || "new"}|${by}`;
const before = sessionStorage.getItem(WRITER); // this tab's id before a reload
sessionStorage.setItem(WRITER, writer);
navigator.locks?.request(WRITER + writer, () => new Promise(() => {})); // held while this page is open

function storeCopy(id, text, base) {
  try {
    localStorage.setItem(copyKey(id), JSON.stringify({ text, base, at: Date.now() }));
  } catch {
    // storage full: only the server has the text
  }
}

function dropCopy(id, words) {
  const mine = localStorage.getItem(copyKey(id));
  if (mine && JSON.parse(mine).text === words) localStorage.removeItem(copyKey(id));
}

/* Return the copies of a draft that closed pages left, oldest first. Open pages save their own. */
async function loadLeftCopies(id) {
  const heldLocks = (await navigator.locks?.query())?.held.map((lock) => lock.name) ?? [];
  const isOpen = (by) => by !== before && heldLocks.includes(WRITER + by);
  return Object.keys(localStorage).filter((key) => key.startsWith(copyKey(id, "")) && !isOpen(key.split("|").at(-1)))
    .map((key) => ({ key, ...JSON.parse(localStorage.getItem(key)) })).sort((a, b) => a.at - b.at);
}

// --- Saving -----------------------------------------------------------------------------------

/* Saves the text of a field. Callbacks of `page`: `draft` returns the draft, `ensureDraft` creates it if needed,
   `onSaved` gets the server's version, `onRemoved` forgets a removed draft, `showState` shows the state. */
export class DraftSaver {
  #timer = 0;
  #writing = null;
  #failures = 0;
  #number = 0;
  #base = { version: "", text: "" }; // the server's version that the field edits
  #channel = new BroadcastChannel(`citebed-drafts-${collection}`);

  constructor(field, page) {
    this.field = field;
    this.page = page;
    addEventListener("online", () => this.save());
    addEventListener("pagehide", () => this.#leave());
    addEventListener("focus", () => this.#refresh());
    addEventListener("pageshow", (event) => event.persisted && this.#refresh());
    document.addEventListener("visibilitychange", () => document.hidden ? this.save() : this.#refresh());
    this.#channel.onmessage = ({ data }) => data === page.draft()?.draft_id && this.#refresh();
  }

  get #isSaved() {
    return this.field.value === this.#base.text;
  }

  /* Set the version of the draft that the field edits. */
  setBase({ version, text }) {
    this.#base = { version, text };
  }

  /* Save after typing: with a short delay, or at once if there is no draft yet. */
  typed() {
    const draft = this.page.draft();
    storeCopy(draft?.draft_id, this.field.value, this.#base.version);
    if (!this.#failures) this.page.showState("");
    if (!this.#failures) this.#schedule(draft ? SAVE_DELAY : 0);
  }

  /* Save now. Return whether the text is saved. */
  async save() {
    clearTimeout(this.#timer);
    if (this.#isSaved && !this.#writing) return true;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  /* Fill the field of a new page, with unsaved text from earlier if there is any. */
  async start(draft) {
    const left = (await loadLeftCopies(draft?.draft_id)).filter((each) => {
      if (each.text === (draft?.text ?? "")) localStorage.removeItem(each.key);
      return each.text !== (draft?.text ?? "");
    });
    const last = left.pop();
    this.setBase(draft ?? { version: "", text: "" });
    for (const each of left) await this.#sendLeft(draft, each);
    if (draft?.copies.length && !last) this.#resolve(draft).catch((error) => showToast(error.message));
    this.field.value = last?.text ?? draft?.text ?? "";
    if (!last) return;
    this.#base = { version: last.base, text: null };
    localStorage.removeItem(last.key);
    this.typed();
    showToast("Your unsaved text was restored.");
  }

  /* Send a copy that another page left. If the draft changed too, the server stores it as another version. */
  async #sendLeft(draft, { key, text, base }) {
    try {
      if (draft) await desk.saveDraft(draft.draft_id, { text, base });
      else await desk.newDraft(text);
    } catch (error) {
      if (error.status !== 409) return; // keep the copy
    }
    localStorage.removeItem(key);
  }

  #schedule(pause) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.save(), pause);
  }

  /* Save until the server has the text of the field, also if the user types meanwhile. */
  async #write() {
    try {
      do {
        const isNew = !this.page.draft();
        const { draft_id: id } = await this.page.ensureDraft();
        if (isNew) {
          localStorage.removeItem(copyKey(""));
          storeCopy(id, this.field.value, this.#base.version);
        }
        const words = this.field.value;
        if (!this.#isSaved) await this.#send(id, words);
        dropCopy(id, words);
      } while (!this.#isSaved);
      this.#failures = 0;
      this.page.showState("saved");
      return true;
    } catch (error) {
      this.#failed(error);
      return false;
    }
  }

  async #send(id, words) {
    try {
      const saved = await desk.saveDraft(id, this.#makeBody(words), AbortSignal.timeout(TIMEOUT));
      this.setBase(saved);
      this.page.onSaved(saved);
      this.#channel.postMessage(id);
    } catch (error) {
      if (error.status !== 409) throw error;
      if (this.field.value !== words) return; // send the newer text before the user chooses
      dropCopy(id, words);
      this.#fill(await choose(error.content, this.page.showState));
      this.#channel.postMessage(id);
    }
  }

  #makeBody(words) {
    this.#number += 1;
    return { text: words, base: this.#base.version, writer, number: this.#number };
  }

  #failed(error) {
    if (TOO_LONG.includes(error.status)) {
      this.page.showState("not saved: too long", true);
      return void showToast("The text is too long to save. Drop it as a file instead.");
    }
    if ([400, 404].includes(error.status)) {
      this.page.onRemoved();
      this.setBase({ version: "", text: "" });
    }
    this.page.showState("not saved yet: trying again", true);
    if (!this.#failures) showToast(`Not saved yet: ${error.status ? error.message : "the server does not respond."} citebed tries again; a copy is in this browser.`);
    this.#schedule(1000 * RETRY_DELAYS[Math.min(this.#failures, RETRY_DELAYS.length - 1)]);
    this.#failures += 1;
  }

  /* Send unsaved text while the page closes. The copy stays in the browser. */
  #leave() {
    const draft = this.page.draft();
    if (!draft || this.#isSaved) return;
    fetch(api("drafts", draft.draft_id), {
      method: "PUT", keepalive: true, body: JSON.stringify(this.#makeBody(this.field.value)),
      headers: { "Content-Type": "application/json", "X-Citebed-Token": document.body.dataset.token },
    }).catch(() => {});
  }

  // --- Other pages with the same draft ---

  /* Show what another page saved, unless this page has unsaved text. Ignore errors: the next save reports them. */
  async #refresh() {
    const id = this.page.draft()?.draft_id;
    if (!id || this.#writing || !this.#isSaved) return;
    const latest = await desk.loadDraft(id).catch(() => null);
    if (!latest || this.page.draft()?.draft_id !== id || this.#writing || !this.#isSaved) return;
    if (latest.version !== this.#base.version) this.#fill(latest);
  }

  /* Put the server's text into the field and keep the cursor. */
  #fill(draft) {
    const { selectionStart, selectionEnd } = this.field;
    const isOther = this.field.value !== draft.text;
    this.setBase(draft);
    if (isOther) {
      this.field.value = draft.text;
      this.field.setSelectionRange(selectionStart, selectionEnd);
    }
    this.page.onSaved(draft, isOther);
  }

  /* Ask the user about stored other versions of the draft. */
  async #resolve(draft) {
    let latest = draft;
    while (latest.copies.length) {
      latest = await choose({ draft: latest, copy: await desk.loadDraft(latest.copies[0]) }, this.page.showState);
      this.#fill(latest);
    }
    this.page.showState("saved");
  }
}

// --- Two versions of a draft ------------------------------------------------------------------

const at = (id) => document.getElementById(id);

/* Show a text and highlight the part that differs from the other text. */
function showText(element, text, other) {
  const most = Math.min(text.length, other.length);
  let [start, end] = [0, 0];
  while (start < most && text[start] === other[start]) start += 1;
  while (end < most - start && text.at(-1 - end) === other.at(-1 - end)) end += 1;
  const marked = make("mark", {}, text.slice(start, text.length - end));
  element.replaceChildren(text.slice(0, start), marked, text.slice(text.length - end));
  return () => {
    element.scrollTop = marked.offsetTop - 40;
  };
}

/* Let the user choose between the draft's text and the copy's. Return the resulting draft. */
function choose({ draft, copy: other }, showState) {
  showState("two versions: choose one", true);
  const scrolls = [showText(at("version-copy"), other.text, draft.text), showText(at("version-draft"), draft.text, other.text)];
  const dialog = at("versions");
  if (!dialog.open) dialog.showModal();
  for (const scroll of scrolls) scroll();
  return new Promise((done) => {
    dialog.oncancel = (event) => event.preventDefault(); // the user has to choose one
    dialog.onclick = async ({ target }) => {
      const chosen = target.closest("[data-version]")?.dataset.version;
      if (!chosen) return;
      const base = draft.version;
      try {
        done(await desk.chooseVersion(draft.draft_id, { copy_id: other.draft_id, chosen, base }));
        dialog.close();
        showToast("The other text is under Drafts, as “" + other.name + "”.");
      } catch (error) {
        if (error.status === 409) return void done(choose(error.content, showState)); // the draft changed again
        if (error.status === 400) return void location.reload(); // the user chose in another tab
        showToast(error.status ? error.message : "Not saved: the server does not respond. Try again.");
      }
    };
  });
}
