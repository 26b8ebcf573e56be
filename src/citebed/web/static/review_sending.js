// Steps are sent one after the other, and each is saved before the next one is thought of.

const AGAIN = 1500; // milliseconds until a step that got no answer is sent again
const IDLE = 60000; // who does nothing for longer is not at work

// How long somebody worked: while the page can be seen, and something is done now and then.
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
    const isSeen = isLast || document.visibilityState === "visible";
    if (isSeen) this.spent += Math.min(now - this.last, IDLE);
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
  constructor(base, token, tell) {
    this.base = base;
    this.headers = { "Content-Type": "application/json", Accept: "application/json", "X-Citebed-Token": token };
    this.tell = tell;
  }

  // What the server answers; without any answer it is asked again until there is one.
  async send(what, body) {
    for (let tries = 0; ; tries += 1) {
      let answer;
      try {
        answer = await fetch(`${this.base}/${what}`, { method: "POST", headers: this.headers, body: JSON.stringify(body) });
      } catch {
        this.tell("Not saved yet: citebed does not answer. Trying again…", "refused");
        await new Promise((done) => setTimeout(done, AGAIN));
        continue;
      }
      const said = await answer.json();
      // It was saved, and only the answer was lost on the way.
      const isLost = tries > 0 && answer.status === 409 && said.stand.version === body.version + 1;
      return { ok: answer.ok || isLost, status: answer.status, said: isLost ? said.stand : said };
    }
  }

  // The page goes away: what was worked since is noted all the same.
  last(what, body) {
    fetch(`${this.base}/${what}`, { method: "POST", headers: this.headers, body: JSON.stringify(body), keepalive: true }).catch(() => {});
  }
}
