// Save what is typed: it stays in this browser until the server has it, and no save overwrites another page's text.

import { api, collection, make, tell } from "./frame.js";
import * as desk from "./desk.js";

const SOON = 500;
const PAUSES = [1, 2, 4, 8, 15, 30];
const PATIENCE = 30_000;
const TOO_LONG = [413, 422];
const WRITER = "citebed-writer";
const writer = Math.random().toString(36).slice(2);

// --- The copies in this browser ---------------------------------------------------------------

const place = (id, by = writer) => `citebed-typed|${collection}|${id || "new"}|${by}`;
const before = sessionStorage.getItem(WRITER); // this tab, before it was loaded again
sessionStorage.setItem(WRITER, writer);
navigator.locks?.request(WRITER + writer, () => new Promise(() => {})); // held while this page is open

function copy(id, text, base) {
  try {
    localStorage.setItem(place(id), JSON.stringify({ text, base, at: Date.now() }));
  } catch {
    // no room: the server is all there is
  }
}

function dropCopy(id, words) {
  const mine = localStorage.getItem(place(id));
  if (mine && JSON.parse(mine).text === words) localStorage.removeItem(place(id));
}

/* Copies of a draft that closed pages left here, oldest first; a page that is open saves its own. */
async function leftCopies(id) {
  const held = (await navigator.locks?.query())?.held.map((lock) => lock.name) ?? [];
  const isOpen = (by) => by !== before && held.includes(WRITER + by);
  return Object.keys(localStorage).filter((key) => key.startsWith(place(id, "")) && !isOpen(key.split("|").at(-1)))
    .map((key) => ({ key, ...JSON.parse(localStorage.getItem(key)) })).sort((a, b) => a.at - b.at);
}

// --- Sending ----------------------------------------------------------------------------------

/* Saves the text of a field. `page` has the draft (`draft`), creates it (`kept`), shows what the server answers
   (`took`), forgets a draft that was removed (`lost`), and shows the state of saving (`say`). */
export class Keeping {
  #waiting = 0;
  #writing = null;
  #failures = 0;
  #number = 0;
  #base = { version: "", text: "" }; // the server's text that the field's text changes
  #news = new BroadcastChannel(`citebed-drafts-${collection}`);

  constructor(field, page) {
    this.field = field;
    this.page = page;
    addEventListener("online", () => this.now());
    addEventListener("pagehide", () => this.#leave());
    addEventListener("focus", () => this.#look());
    addEventListener("pageshow", (event) => event.persisted && this.#look());
    document.addEventListener("visibilitychange", () => document.hidden ? this.now() : this.#look());
    this.#news.onmessage = ({ data }) => data === page.draft()?.draft_id && this.#look();
  }

  get #isKept() {
    return this.field.value === this.#base.text;
  }

  /* The field's text changes this version of the draft from now on. */
  basedOn({ version, text }) {
    this.#base = { version, text };
  }

  /* Something was typed: save it in a moment, or at once if it has no draft yet. */
  typed() {
    const draft = this.page.draft();
    copy(draft?.draft_id, this.field.value, this.#base.version);
    if (!this.#failures) this.page.say("");
    if (!this.#failures) this.#in(draft ? SOON : 0);
  }

  /* Save now; returns whether the text is saved. */
  async now() {
    clearTimeout(this.#waiting);
    if (this.#isKept && !this.#writing) return true;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  /* Fill the field of a page that was just loaded; what was typed before and not saved is in it. */
  async start(draft) {
    const left = (await leftCopies(draft?.draft_id)).filter((each) => {
      if (each.text === (draft?.text ?? "")) localStorage.removeItem(each.key);
      return each.text !== (draft?.text ?? "");
    });
    const last = left.pop();
    this.basedOn(draft ?? { version: "", text: "" });
    for (const each of left) await this.#sendLeft(draft, each);
    if (draft?.copies.length && !last) this.#settle(draft).catch((error) => tell(error.message));
    this.field.value = last?.text ?? draft?.text ?? "";
    if (!last) return;
    this.#base = { version: last.base, text: null };
    localStorage.removeItem(last.key);
    this.typed();
    tell("What you typed here last was not kept: it is back.");
  }

  /* Send what another page left here; the server keeps it beside the draft if both changed. */
  async #sendLeft(draft, { key, text, base }) {
    try {
      if (draft) await desk.write(draft.draft_id, { text, base });
      else await desk.newDraft(text);
    } catch (error) {
      if (error.status !== 409) return; // it stays here
    }
    localStorage.removeItem(key);
  }

  #in(pause) {
    clearTimeout(this.#waiting);
    this.#waiting = setTimeout(() => this.now(), pause);
  }

  /* One save at a time, then what was typed meanwhile. */
  async #write() {
    try {
      do {
        const isNew = !this.page.draft();
        const { draft_id: id } = await this.page.kept();
        if (isNew) {
          localStorage.removeItem(place(""));
          copy(id, this.field.value, this.#base.version);
        }
        const words = this.field.value;
        if (!this.#isKept) await this.#send(id, words);
        dropCopy(id, words);
      } while (!this.#isKept);
      this.#failures = 0;
      this.page.say("kept");
      return true;
    } catch (error) {
      this.#failed(error);
      return false;
    }
  }

  async #send(id, words) {
    try {
      const saved = await desk.write(id, this.#said(words), AbortSignal.timeout(PATIENCE));
      this.basedOn(saved);
      this.page.took(saved);
      this.#news.postMessage(id);
    } catch (error) {
      if (error.status !== 409) throw error;
      if (this.field.value !== words) return; // the rest of it is sent before the author chooses
      dropCopy(id, words);
      this.#take(await choose(error.said, this.page.say));
      this.#news.postMessage(id);
    }
  }

  #said(words) {
    this.#number += 1;
    return { text: words, base: this.#base.version, writer, number: this.#number };
  }

  #failed(error) {
    if (TOO_LONG.includes(error.status)) {
      this.page.say("not kept: too long", true);
      return void tell("The text is too long to be kept. Drop it as a file instead.");
    }
    if ([400, 404].includes(error.status)) {
      this.page.lost();
      this.basedOn({ version: "", text: "" });
    }
    this.page.say("not kept yet: trying again", true);
    if (!this.#failures) tell(`The text is not kept yet: ${error.status ? error.message : "the server does not answer."} It is tried again, and a copy lies in this browser.`);
    this.#in(1000 * PAUSES[Math.min(this.#failures, PAUSES.length - 1)]);
    this.#failures += 1;
  }

  /* The page goes: send once more what is not saved; its copy stays here. */
  #leave() {
    const draft = this.page.draft();
    if (!draft || this.#isKept) return;
    fetch(api("drafts", draft.draft_id), {
      method: "PUT", keepalive: true, body: JSON.stringify(this.#said(this.field.value)),
      headers: { "Content-Type": "application/json", "X-Citebed-Token": document.body.dataset.token },
    }).catch(() => {});
  }

  // --- Other pages with the same draft ---

  /* Show what another page saved, if nothing was typed here since. A server that does not answer is not asked
     again: the next save reports it. */
  async #look() {
    const id = this.page.draft()?.draft_id;
    if (!id || this.#writing || !this.#isKept) return;
    const found = await desk.draftOf(id).catch(() => null);
    if (!found || this.page.draft()?.draft_id !== id || this.#writing || !this.#isKept) return;
    if (found.version !== this.#base.version) this.#take(found);
  }

  /* Have the text of the server in the field, the cursor where it was. */
  #take(draft) {
    const { selectionStart, selectionEnd } = this.field;
    const isOther = this.field.value !== draft.text;
    this.basedOn(draft);
    if (isOther) {
      this.field.value = draft.text;
      this.field.setSelectionRange(selectionStart, selectionEnd);
    }
    this.page.took(draft, isOther);
  }

  /* Ask about texts that were kept beside the draft and not chosen from. */
  async #settle(draft) {
    let found = draft;
    while (found.copies.length) {
      found = await choose({ draft: found, copy: await desk.draftOf(found.copies[0]) }, this.page.say);
      this.#take(found);
    }
    this.page.say("kept");
  }
}

// --- Two texts of one draft -------------------------------------------------------------------

const at = (id) => document.getElementById(id);

/* Show a text with the part marked that the other does not have. */
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

/* Let the author choose between the draft's text and the copy's; returns the draft as it is then. */
function choose({ draft, copy: other }, say) {
  say("two versions: choose one", true);
  const scrolls = [showText(at("version-copy"), other.text, draft.text), showText(at("version-draft"), draft.text, other.text)];
  const dialog = at("versions");
  if (!dialog.open) dialog.showModal();
  for (const scroll of scrolls) scroll();
  return new Promise((done) => {
    dialog.oncancel = (event) => event.preventDefault(); // one of them has to be chosen
    dialog.onclick = async ({ target }) => {
      const chosen = target.closest("[data-version]")?.dataset.version;
      if (!chosen) return;
      const base = draft.version;
      try {
        done(await desk.chooseVersion(draft.draft_id, { copy_id: other.draft_id, chosen, base }));
        dialog.close();
        tell("The other text is under Drafts, as “" + other.name + "”.");
      } catch (error) {
        if (error.status === 409) return void done(choose(error.said, say)); // it changed once more
        if (error.status === 400) return void location.reload(); // chosen in another tab
        tell(error.status ? error.message : "That was not kept: the server does not answer. Try again.");
      }
    };
  });
}
