// Store unsent text in the browser: comments on papers and wordings of questions.

export class Drafts {
  constructor(form) {
    this.prefix = `citebed:${form}:draft:`;
  }

  name({ dataset: { item, number } }) {
    return this.prefix + (item ?? `question-${number}`);
  }

  save(place, text) {
    try {
      localStorage.setItem(this.name(place), text);
    } catch { /* the text is still on the page */ }
  }

  drop(place) {
    try {
      localStorage.removeItem(this.name(place));
    } catch { /* the browser stores nothing */ }
  }

  restore(place, text) {
    try {
      const saved = localStorage.getItem(this.name(place));
      if (saved === null) return;
      text.value = saved;
      text.closest("details").open = true;
    } catch { /* the browser stores nothing */ }
  }
}
