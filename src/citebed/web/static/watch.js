// How long a judge looks at a paper: from its choosing on, while the page can be seen.

const LONGEST = 86400000; // milliseconds; more is nobody's reading

export class Watch {
  constructor() {
    this.start();
    document.addEventListener("visibilitychange", () => {
      this.spent = this.read();
      this.since = document.visibilityState === "visible" ? performance.now() : null;
    });
  }

  start() {
    this.spent = 0;
    this.since = performance.now();
  }

  read() {
    const now = this.since === null ? 0 : performance.now() - this.since;
    return Math.min(LONGEST, Math.round(this.spent + now));
  }
}
