// What is typed is not lost: it lies in this browser until the server has it, and is sent until it does.

import { api, collection, tell } from "./frame.js";
import * as desk from "./desk.js";

const SOON = 500;
const PAUSES = [1, 2, 4, 8, 15, 30];
const PATIENCE = 30_000;
const TOO_LONG = [413, 422];
const writer = Math.random().toString(36).slice(2);

// --- The copy in this browser -----------------------------------------------------------------

const place = (id) => `citebed-typed-${collection}-${id || "new"}`;

/* What was typed for a draft and is not known to be kept, or null. */
export function copyOf(id) {
  try {
    return JSON.parse(localStorage.getItem(place(id)));
  } catch {
    return null;
  }
}

function copy(id, words) {
  try {
    localStorage.setItem(place(id), JSON.stringify({ text: words }));
  } catch {
    // no room: the server is all there is
  }
}

function dropCopy(id, words) {
  if (copyOf(id)?.text === words) localStorage.removeItem(place(id));
}

// --- Sending ----------------------------------------------------------------------------------

/* Keeps the text of a field. `page` knows the draft (`draft`), puts it on the desk (`kept`), takes what the
   server answers (`took`), lets go of a draft that is gone (`lost`) and says how it stands (`say`). */
export class Keeping {
  #waiting = 0;
  #writing = null;
  #failures = 0;
  #version = 0;

  constructor(field, page) {
    this.field = field;
    this.page = page;
    addEventListener("online", () => this.now());
    addEventListener("pagehide", () => this.#leave());
    document.addEventListener("visibilitychange", () => document.hidden && this.now());
  }

  get #isKept() {
    const draft = this.page.draft();
    return draft ? draft.text === this.field.value : !this.field.value;
  }

  /* Something was typed: it is kept in a moment, or at once where it has no place yet. */
  typed() {
    const draft = this.page.draft();
    copy(draft?.draft_id, this.field.value);
    if (!this.#failures) this.page.say("");
    if (!this.#failures) this.#in(draft ? SOON : 0);
  }

  /* Keep it now; whether that was done. */
  async now() {
    clearTimeout(this.#waiting);
    if (this.#isKept && !this.#writing) return true;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  #in(pause) {
    clearTimeout(this.#waiting);
    this.#waiting = setTimeout(() => this.now(), pause);
  }

  /* One save at a time, and what was typed meanwhile after it. */
  async #write() {
    try {
      do {
        const { draft_id: id, text: there } = await this.page.kept();
        if (copyOf("")) copy(id, this.field.value);
        localStorage.removeItem(place(""));
        const words = this.field.value;
        if (there !== words) this.page.took(await desk.write(id, this.#said(words), AbortSignal.timeout(PATIENCE)));
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

  #said(words) {
    this.#version += 1;
    return { text: words, writer, version: this.#version };
  }

  #failed(error) {
    if (TOO_LONG.includes(error.status)) {
      this.page.say("not kept: too long", true);
      return void tell("The text is too long to be kept. Drop it as a file instead.");
    }
    if ([400, 404].includes(error.status)) this.page.lost();
    this.page.say("not kept yet: trying again", true);
    if (!this.#failures) tell(`The text is not kept yet: ${error.status ? error.message : "the server does not answer."} It is tried again, and a copy lies in this browser.`);
    this.#in(1000 * PAUSES[Math.min(this.#failures, PAUSES.length - 1)]);
    this.#failures += 1;
  }

  /* The page goes: what is not kept is sent once more, and its copy stays. */
  #leave() {
    const draft = this.page.draft();
    if (!draft || this.#isKept) return;
    fetch(api("drafts", draft.draft_id), {
      method: "PUT", keepalive: true, body: JSON.stringify(this.#said(this.field.value)),
      headers: { "Content-Type": "application/json", "X-Citebed-Token": document.body.dataset.token },
    }).catch(() => {});
  }
}

/* What to begin with: the copy of what was typed here, where the server does not have it. */
export function begunWith(draft) {
  const mine = copyOf(draft?.draft_id)?.text;
  const there = draft?.text ?? "";
  if (mine === undefined || mine === there) {
    if (mine !== undefined) dropCopy(draft?.draft_id, mine);
    return { words: there, isBack: false, other: null };
  }
  return { words: mine, isBack: true, other: there.trim() && !mine.startsWith(there) ? there : null };
}
