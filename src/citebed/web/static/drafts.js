// What was typed and not sent: the comment on a paper, the wording of a question.

export class Drafts {
  constructor(form) {
    this.prefix = `citebed:${form}:draft:`;
  }

  name({ dataset: { item, number } }) {
    return this.prefix + (item ?? `question-${number}`);
  }

  keep(place, text) {
    try {
      localStorage.setItem(this.name(place), text);
    } catch { /* it still stands on the page */ }
  }

  drop(place) {
    try {
      localStorage.removeItem(this.name(place));
    } catch { /* there was none */ }
  }

  bring(place, text) {
    try {
      const kept = localStorage.getItem(this.name(place));
      if (kept === null) return;
      text.value = kept;
      text.closest("details").open = true;
    } catch { /* none can be kept */ }
  }
}
