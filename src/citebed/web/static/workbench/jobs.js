// Jobs: watched once a second while some are at work; they are the server's, and outlive the page.

import { ask, collection, make, tell } from "./frame.js";

const EVERY = 1000;
const SHOWN = 3;
const SAID = { queued: "waits", running: "at work", done: "done", failed: "failed", cancelled: "cancelled" };
const isOver = (job) => ["done", "failed", "cancelled"].includes(job.state);
const counts = new Intl.NumberFormat("en");

/* How far a job is, in words. */
export function progressOf(job) {
  if (job.state === "queued") return "waits for another job of this collection";
  const [step, unit] = job.step.split(": ");
  if (!job.total || job.done > job.total) return step || "starts";
  const isBytes = ["import", "demo"].includes(job.kind) && step === "reading";
  const amount = isBytes
    ? `${(job.done / 1e6).toFixed(1)} of ${(job.total / 1e6).toFixed(1)} MB`
    : `${counts.format(job.done)} of ${counts.format(job.total)}${unit ? ` ${unit}` : ""}`;
  return `${step} · ${amount}`;
}

/* What was read, kept and left out: the command's own account. */
export const account = (lines) => make("dl", { class: "account" },
  lines.map(([label, text]) => make("div", {}, make("dt", {}, label), make("dd", {}, text))));

/* Jobs that somebody has seen enough of; the server forgets its jobs by itself. */
const GONE = "citebed-jobs-gone";
const gone = () => new Set(JSON.parse(localStorage.getItem(GONE) ?? "[]"));

const named = (job) => `${job.what}: ${SAID[job.state]}`;

class Card {
  constructor(job, more) {
    this.more = more;
    this.bar = make("progress", { "aria-label": job.what });
    this.said = make("p", { class: "quiet job-said", role: "status" });
    this.cancel = make("button", { type: "button", class: "small", "aria-label": `Cancel: ${job.what}`, onclick: () => this.stop() }, "Cancel");
    this.dismissal = make("button", { type: "button", class: "small dismiss", hidden: true, "aria-label": `Dismiss: ${job.what}`, title: "Dismiss", onclick: () => this.dismiss() }, "×");
    this.state = make("span", { class: "pill" });
    this.body = make("div", { class: "job-body" });
    this.element = make("li", { class: "job", "data-job": job.job_id },
      make("div", { class: "row job-head" }, make("strong", {}, job.what), this.state, this.cancel, this.dismissal),
      this.bar, this.said, this.body);
  }

  async stop() {
    this.cancel.disabled = true;
    try {
      await ask(`/api/jobs/${this.job.job_id}/cancel`, { method: "POST" });
    } catch (error) {
      tell(error.message);
    }
  }

  dismiss() {
    localStorage.setItem(GONE, JSON.stringify([...gone(), this.job.job_id].slice(-100)));
    this.element.remove();
  }

  show(job) {
    const before = this.job?.state;
    this.job = job;
    this.element.dataset.state = job.state;
    this.state.textContent = SAID[job.state];
    this.state.dataset.state = job.state;
    this.bar.hidden = job.state !== "running";
    this.cancel.hidden = isOver(job);
    this.dismissal.hidden = !isOver(job);
    if (job.total && job.done <= job.total && job.state === "running") {
      this.bar.max = job.total;
      this.bar.value = job.done;
    } else {
      this.bar.removeAttribute("value");
    }
    this.said.textContent = isOver(job) ? job.message || job.summary : progressOf(job);
    if (isOver(job) && before !== job.state) this.finish(job, before);
  }

  /* What can be done with it now that it is over. */
  offer(...links) {
    this.dismissal.before(...links);
  }

  async finish(job, before) {
    const whole = await ask(`/api/jobs/${job.job_id}`);
    this.body.replaceChildren(...[
      whole.lines.length ? make("details", { open: before !== undefined && job.kind !== "search" },
        make("summary", {}, "What was done"), account(whole.lines)) : null,
      ...whole.notes.map((note) => make("p", { class: "quiet" }, `Note: ${note}`)),
    ].filter(Boolean));
    this.element.dataset.told = "";
    this.more?.(whole, before !== undefined, this);
  }
}

/* The jobs of some kinds in a list; `more` is told of each that is over, whether it was seen at work, and its card. */
export class JobList {
  constructor(list, { kinds, of = collection, more } = {}) {
    Object.assign(this, { list, kinds, of, more, cards: new Map(), waiting: 0 });
  }

  isOurs(job) {
    return this.kinds.includes(job.kind) && (!this.of || job.collection === this.of);
  }

  async look() {
    clearTimeout(this.waiting);
    let atWork = true;
    try {
      const { rows } = await ask("/api/jobs");
      const left = gone();
      const ours = rows.filter((job) => this.isOurs(job) && !left.has(job.job_id));
      this.show(ours.filter((job, at) => at < SHOWN || !isOver(job)));
      atWork = ours.some((job) => !isOver(job));
    } catch (error) {
      if (error.status) tell(error.message);
    }
    if (atWork) this.waiting = setTimeout(() => this.look(), EVERY);
  }

  show(jobs) {
    const known = new Set(jobs.map((job) => job.job_id));
    for (const [id, card] of this.cards) {
      if (!known.has(id)) {
        card.element.remove();
        this.cards.delete(id);
      }
    }
    for (const job of [...jobs].reverse()) {
      if (!this.cards.has(job.job_id)) {
        const card = new Card(job, this.more);
        this.cards.set(job.job_id, card);
        this.list.prepend(card.element);
      }
      this.cards.get(job.job_id).show(job);
    }
    const heading = this.list.closest("section")?.querySelector("[data-jobs-heading]");
    if (heading) heading.hidden = !jobs.length;
  }

  /* Begin one, and watch it. */
  async begin(address, sent = {}) {
    const job = await ask(address, { method: "POST", ...sent });
    tell(named(job));
    await this.look();
    return job;
  }
}
