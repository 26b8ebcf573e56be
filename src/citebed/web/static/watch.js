// Measure how long a judge looks at a paper while the page is visible.

const LONGEST = 86400000; // one day, in milliseconds

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
