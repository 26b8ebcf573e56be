// A queue of the judge's acts that the server has not confirmed yet.
//
// The queue stores every act in the browser before it sends it, so that a lost connection, a
// closed window or a second window loses none. It sends acts one at a time, in their order. An
// act keeps its key when it is sent again, so that the server applies it once. A counter orders
// the acts, because clocks may be set back.

const TIMEOUT = 15000; // milliseconds to wait for a response
const LONGEST_PAUSE = 15000;
const LONGEST_AGO = 366 * 86400000; // a longer time means that some clock was wrong

class Memory {
  // Replaces localStorage if the browser does not allow it.
  constructor() { this.items = new Map(); }
  get length() { return this.items.size; }
  key(at) { return [...this.items.keys()][at]; }
  getItem(name) { return this.items.get(name) ?? null; }
  setItem(name, text) { this.items.set(name, text); }
  removeItem(name) { this.items.delete(name); }
}

function usualStorage() {
  try {
    localStorage.setItem("citebed:test", "1");
    localStorage.removeItem("citebed:test");
    return localStorage;
  } catch {
    return new Memory();
  }
}

export function newKey() {
  // Pages without https have no crypto.randomUUID.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Return the id of this browser. If the browser stores nothing, the id is new at each visit.
function browserOf(storage) {
  const stored = storage.getItem("citebed:browser");
  if (stored) return stored;
  const created = newKey();
  try {
    storage.setItem("citebed:browser", created);
  } catch { /* the storage is full */ }
  return created;
}

export class Queue {
  constructor(form, api, { saved, refused, changed }) {
    this.prefix = `citebed:${form}:act:`;
    this.api = api;
    this.callbacks = { saved, refused, changed };
    this.storage = usualStorage();
    this.isKept = !(this.storage instanceof Memory);
    this.browser = browserOf(this.storage);
    this.sequence = 0;
    this.since = new Map(); // when acts of this page were done, by a clock that never jumps
    this.failures = 0;
    this.isClosed = false;
    this.isSending = false;
    this.timer = undefined;
    addEventListener("online", () => this.send());
  }

  acts() {
    const names = [];
    for (let at = 0; at < this.storage.length; at += 1) {
      const name = this.storage.key(at);
      if (name.startsWith(this.prefix)) names.push(name);
    }
    return names.sort().flatMap((name) => {
      const text = this.storage.getItem(name);
      return text === null ? [] : [{ name, ...JSON.parse(text) }];
    });
  }

  add(what, body) {
    const sequence = this.nextNumber();
    const act = { what, at: Date.now(), body: { ...body, key: newKey(), sequence } };
    this.since.set(act.body.key, performance.now());
    const name = `${this.prefix}${String(sequence).padStart(15, "0")}000000:${act.body.key}`;
    act.body.browser = this.browser;
    try {
      this.storage.setItem("citebed:sequence", String(sequence));
      this.storage.setItem(name, JSON.stringify(act));
    } catch { // the browser's storage is full
      const memory = new Memory();
      for (const each of this.acts()) memory.setItem(each.name, JSON.stringify(each));
      // This page forgets its counter when it closes, so it needs a browser id of its own.
      act.body.browser = this.browser = newKey();
      memory.setItem(name, JSON.stringify(act));
      this.storage = memory;
      this.isKept = false;
    }
    this.callbacks.changed();
    this.send();
  }

  // Return a number above all earlier ones of this browser, including acts that still wait.
  nextNumber() {
    const waiting = this.acts().at(-1)?.name.slice(this.prefix.length, this.prefix.length + 15);
    const counted = this.storage.getItem("citebed:sequence");
    this.sequence = Math.max(this.sequence, Number(waiting ?? 0), Number(counted ?? 0)) + 1;
    return this.sequence;
  }

  async send() {
    if (this.isSending || this.isClosed) return;
    this.isSending = true;
    clearTimeout(this.timer);
    let pause = 0;
    for (let [act] = this.acts(); act && !pause && !this.isClosed; [act] = this.acts()) {
      pause = await this.sendOne(act);
      this.callbacks.changed();
    }
    this.isSending = false;
    if (pause && !this.isClosed) this.timer = setTimeout(() => this.send(), pause);
  }

  // Send an act. Return 0 if it is finished, else the milliseconds to wait before the next try.
  async sendOne(act) {
    const ticks = performance.now() - (this.since.get(act.body.key) ?? performance.now());
    const waited = Math.min(LONGEST_AGO, Math.round(Math.max(0, Date.now() - act.at, ticks)));
    let response, answer;
    try {
      response = await post(`${this.api}/${act.what}`, { ...act.body, ago: waited });
      answer = await response.json();
    } catch {
      return this.nextPause();
    }
    if (response.status >= 500 || response.status === 408 || response.status === 429) {
      return this.nextPause();
    }
    this.failures = 0;
    if (response.status === 403) { // the link expired: keep the acts for a new link
      this.isClosed = true;
      this.callbacks.refused(act, answer.message, true);
      return 0;
    }
    this.storage.removeItem(act.name);
    if (response.ok) this.callbacks.saved(act, answer);
    else this.callbacks.refused(act, answer.message, false);
    return 0;
  }

  nextPause() {
    this.failures += 1;
    return Math.min(LONGEST_PAUSE, 250 * 2 ** this.failures) * (0.75 + Math.random() / 2);
  }
}

async function post(address, body) {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), TIMEOUT);
  try {
    return await fetch(address, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify(body),
      signal: stop.signal,
    });
  } finally {
    clearTimeout(timer);
  }
}
