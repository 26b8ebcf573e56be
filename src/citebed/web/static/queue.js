// What a judge did and the server has not confirmed yet.
//
// Every act is kept in the browser before it is sent, under a place of its own, so that neither a
// lost connection nor a closed window nor a second window loses one. Acts are sent one after the
// other in the order in which they were done; the key of an act stays the same, so that sending
// it twice is doing it once. Their order is told by numbers that this browser counts, for clocks
// may be set back.

const PATIENCE = 15000; // milliseconds until an answer is given up
const LONGEST_PAUSE = 15000;
const LONGEST_AGO = 366 * 86400000; // more is not believed: some clock was wrong

class Memory {
  // Stands in where a browser keeps nothing for pages.
  constructor() { this.kept = new Map(); }
  get length() { return this.kept.size; }
  key(at) { return [...this.kept.keys()][at]; }
  getItem(name) { return this.kept.get(name) ?? null; }
  setItem(name, text) { this.kept.set(name, text); }
  removeItem(name) { this.kept.delete(name); }
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
  // crypto.randomUUID is not there on pages without https.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// The name of this browser; one that keeps nothing is another at each visit.
function browserOf(storage) {
  const known = storage.getItem("citebed:browser");
  if (known) return known;
  const made = newKey();
  try {
    storage.setItem("citebed:browser", made);
  } catch { /* its store is full */ }
  return made;
}

export class Queue {
  constructor(form, api, { saved, refused, changed }) {
    this.prefix = `citebed:${form}:act:`;
    this.api = api;
    this.told = { saved, refused, changed };
    this.storage = usualStorage();
    this.isKept = !(this.storage instanceof Memory);
    this.browser = browserOf(this.storage);
    this.sequence = 0;
    this.since = new Map(); // when acts of this page were done, by a clock that nobody sets
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
    } catch { // the browser's store is full
      const memory = new Memory();
      for (const each of this.acts()) memory.setItem(each.name, JSON.stringify(each));
      // What is counted from here on is forgotten with this page: it is counted under another name.
      act.body.browser = this.browser = newKey();
      memory.setItem(name, JSON.stringify(act));
      this.storage = memory;
      this.isKept = false;
    }
    this.told.changed();
    this.send();
  }

  // Larger than all before in this browser, also those of earlier visits that still wait.
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
      this.told.changed();
    }
    this.isSending = false;
    if (pause && !this.isClosed) this.timer = setTimeout(() => this.send(), pause);
  }

  // How long to wait before the next try; 0 if this act is done with.
  async sendOne(act) {
    const ticks = performance.now() - (this.since.get(act.body.key) ?? performance.now());
    const waited = Math.min(LONGEST_AGO, Math.round(Math.max(0, Date.now() - act.at, ticks)));
    let response, answer;
    try {
      response = await post(`${this.api}/${act.what}`, { ...act.body, ago: waited });
      answer = await response.json();
    } catch {
      return this.later();
    }
    if (response.status >= 500 || response.status === 408 || response.status === 429) {
      return this.later();
    }
    this.failures = 0;
    if (response.status === 403) { // the link ended: the acts stay here for a new one
      this.isClosed = true;
      this.told.refused(act, answer.message, true);
      return 0;
    }
    this.storage.removeItem(act.name);
    if (response.ok) this.told.saved(act, answer);
    else this.told.refused(act, answer.message, false);
    return 0;
  }

  later() {
    this.failures += 1;
    return Math.min(LONGEST_PAUSE, 250 * 2 ** this.failures) * (0.75 + Math.random() / 2);
  }
}

async function post(address, body) {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), PATIENCE);
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
