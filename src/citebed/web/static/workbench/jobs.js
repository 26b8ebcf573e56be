// Jobs of the server. The page polls them once a second while one runs; they continue without the page.

import { collection, make, request, showToast } from "./frame.js";

const POLL_INTERVAL = 1000; // milliseconds
const SHOWN = 3; // finished jobs
const LABELS = { queued: "waiting", running: "running", done: "done", failed: "failed", cancelled: "cancelled" };
const isOver = (job) => ["done", "failed", "cancelled"].includes(job.state);
const counts = new Intl.NumberFormat("en");

/* Describe the progress of a job. */
export function describeProgress(job) {
  if (job.state === "queued") return "waiting for another job of this collection";
  const [step, unit] = job.step.split(": ");
  if (!job.total || job.done > job.total) return step || "starting";
  const isBytes = ["import", "demo"].includes(job.kind) && step === "reading";
  const amount = isBytes
    ? `${(job.done / 1e6).toFixed(1)} of ${(job.total / 1e6).toFixed(1)} MB`
    : `${counts.format(job.done)} of ${counts.format(job.total)}${unit ? ` ${unit}` : ""}`;
  return `${step} · ${amount}`;
}

/* Make a list of a job's results, such as the counts of an import. */
export const makeAccount = (lines) => make("dl", { class: "account" },
  lines.map(([label, text]) => make("div", {}, make("dt", {}, label), make("dd", {}, text))));

/* The jobs that the user dismissed; the server removes old jobs itself. */
const STORAGE_KEY = "citebed-jobs-gone";
const dismissed = () => new Set(JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "[]"));

const describe = (job) => `${job.what}: ${LABELS[job.state]}`;

class Card {
  constructor(job, more) {
    this.more = more;
    this.bar = make("progress", { "aria-label": job.what });
    this.status = make("p", { class: "quiet job-said", role: "status" });
    this.cancel = make("button", { type: "button", class: "small", "aria-label": `Cancel: ${job.what}`, onclick: () => this.stop() }, "Cancel");
    this.dismissal = make("button", { type: "button", class: "small dismiss", hidden: true, "aria-label": `Dismiss: ${job.what}`, title: "Dismiss", onclick: () => this.dismiss() }, "×");
    this.state = make("span", { class: "pill" });
    this.body = make("div", { class: "job-body" });
    this.element = make("li", { class: "job", "data-job": job.job_id },
      make("div", { class: "row job-head" }, make("strong", {}, job.what), this.state, this.cancel, this.dismissal),
      this.bar, this.status, this.body);
  }

  async stop() {
    this.cancel.disabled = true;
    try {
      await request(`/api/jobs/${this.job.job_id}/cancel`, { method: "POST" });
    } catch (error) {
      showToast(error.message);
    }
  }

  dismiss() {
    localStorage.setItem(STORAGE_KEY, JSON.stringify([...dismissed(), this.job.job_id].slice(-100)));
    this.element.remove();
  }

  show(job) {
    const before = this.job?.state;
    this.job = job;
    this.element.dataset.state = job.state;
    this.state.textContent = LABELS[job.state];
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
    this.status.textContent = isOver(job) ? job.message || job.summary : describeProgress(job);
    if (isOver(job) && before !== job.state) this.finish(job, before);
  }

  /* Add links or buttons for a finished job. */
  offer(...links) {
    this.dismissal.before(...links);
  }

  async finish(job, before) {
    const whole = await request(`/api/jobs/${job.job_id}`);
    this.body.replaceChildren(...[
      whole.lines.length ? make("details", { open: before !== undefined && job.kind !== "search" },
        make("summary", {}, "Details"), makeAccount(whole.lines)) : null,
      ...whole.notes.map((note) => make("p", { class: "quiet" }, `Note: ${note}`)),
    ].filter(Boolean));
    this.element.dataset.told = "";
    this.more?.(whole, before !== undefined, this);
  }
}

/* A list of jobs of some kinds. It calls `more` with each finished job, whether the page saw it run, and its card. */
export class JobList {
  constructor(list, { kinds, of = collection, more } = {}) {
    Object.assign(this, { list, kinds, of, more, cards: new Map(), waiting: 0 });
  }

  isOurs(job) {
    return this.kinds.includes(job.kind) && (!this.of || job.collection === this.of);
  }

  async look() {
    clearTimeout(this.waiting);
    let isActive = true;
    try {
      const { rows } = await request("/api/jobs");
      const hidden = dismissed();
      const ours = rows.filter((job) => this.isOurs(job) && !hidden.has(job.job_id));
      this.show(ours.filter((job, at) => at < SHOWN || !isOver(job)));
      isActive = ours.some((job) => !isOver(job));
    } catch (error) {
      if (error.status) showToast(error.message);
    }
    if (isActive) this.waiting = setTimeout(() => this.look(), POLL_INTERVAL);
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

  /* Start a job and watch it. */
  async begin(address, sent = {}) {
    const job = await request(address, { method: "POST", ...sent });
    showToast(describe(job));
    await this.look();
    return job;
  }
}
