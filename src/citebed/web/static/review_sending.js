// Send review steps one at a time: each is saved before the next one is sent.

const RETRY_DELAY = 1500; // milliseconds
const IDLE = 60000; // milliseconds; longer pauses count as this much work

// Measure the working time: the time while the page is visible, without long pauses.
export class Work {
  constructor() {
    this.spent = 0;
    this.last = performance.now();
    for (const type of ["keydown", "pointerdown", "pointermove", "wheel", "scroll"]) {
      document.addEventListener(type, () => this.note(), { capture: true, passive: true });
    }
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") this.last = performance.now();
      else this.note(true);
    });
  }

  note(isLast = false) {
    const now = performance.now();
    const isVisible = isLast || document.visibilityState === "visible";
    if (isVisible) this.spent += Math.min(now - this.last, IDLE);
    this.last = now;
  }

  take() {
    this.note();
    const seconds = Math.min(3600, Math.round(this.spent / 100) / 10);
    this.spent = 0;
    return seconds;
  }
}

export class Sender {
  constructor(base, token, showStatus) {
    this.base = base;
    this.headers = { "Content-Type": "application/json", Accept: "application/json", "X-Citebed-Token": token };
    this.showStatus = showStatus;
  }

  // Send a step and return the server's response. Retry until the server responds.
  async send(what, body) {
    for (let tries = 0; ; tries += 1) {
      let response;
      try {
        response = await fetch(`${this.base}/${what}`, { method: "POST", headers: this.headers, body: JSON.stringify(body) });
      } catch {
        this.showStatus("Not saved yet: citebed does not respond. Trying again…", "refused");
        await new Promise((done) => setTimeout(done, RETRY_DELAY));
        continue;
      }
      const content = await response.json();
      // The step was saved by an earlier try whose response got lost.
      const isLost = tries > 0 && response.status === 409 && content.stand.version === body.version + 1;
      return { ok: response.ok || isLost, status: response.status, content: isLost ? content.stand : content };
    }
  }

  // Send while the page closes, without waiting for a response.
  last(what, body) {
    fetch(`${this.base}/${what}`, { method: "POST", headers: this.headers, body: JSON.stringify(body), keepalive: true }).catch(() => {});
  }
}
