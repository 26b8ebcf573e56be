"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const key = `citebed-form-${data.form}`;
  const by = (id) => document.getElementById(id);
  const fields = [...document.querySelectorAll("main [name], footer [name]")];
  const isRadio = (field) => field.type === "radio";
  const isBox = (field) => field.type === "checkbox";
  const groups = [...new Set(fields.filter(isRadio).map((field) => field.name))];
  const numbers = (name) => name.split(".").slice(1).map(Number);

  // What is filled in, by the names of the fields.
  const filled = () => {
    const found = {};
    for (const field of fields) {
      if (isRadio(field) ? field.checked : isBox(field) ? field.checked : field.value.trim()) {
        found[field.name] = isBox(field) ? "on" : field.value;
      }
    }
    return found;
  };

  const judged = (found) => {
    const said = [];
    for (const name of groups) {
      if (!(name in found)) continue;
      const [question, paper] = numbers(name);
      const value = found[name] === "?" ? null : Number(found[name]);
      const one = { question, paper, value };
      const comment = found[`comment.${question}.${paper}`];
      if (comment) one.comment = comment;
      said.push(one);
    }
    return said;
  };

  // The answer file, a judgement on each line.
  const written = () => {
    const found = filled();
    const questions = {};
    const approved = {};
    for (const name of Object.keys(found)) {
      const [number] = numbers(name);
      if (name.startsWith("question.")) questions[number] = found[name];
      if (name.startsWith("approve.") && !(`better.${number}` in found)) approved[number] = true;
      if (name.startsWith("better.")) approved[number] = found[name];
    }
    const said = judged(found).map((one) => JSON.stringify(one)).join(",\n");
    return (
      `{"citebed":"answers","version":1,"form":${JSON.stringify(data.form)},"phase":${data.phase},` +
      `\n"numbers":${JSON.stringify(data.numbers)},\n"questions":${JSON.stringify(questions)},` +
      `\n"said":[\n${said}\n],\n"approved":${JSON.stringify(approved)},` +
      `\n"opted_out":${"opt_out" in found}}\n`
    );
  };

  const warnings = (found) => {
    const told = [];
    const graded = new Set(groups.filter((name) => name in found).map((name) => numbers(name)[0]));
    if (data.phase === 1) {
      for (const number of graded) {
        if (!(`question.${number}` in found)) told.push(`Question ${number} has grades, but no text.`);
      }
    }
    for (const name of Object.keys(found)) {
      const pair = name.replace("comment.", "");
      if (name.startsWith("comment.") && !(`verdict.${pair}` in found)) {
        told.push(`Document ${pair} has a comment, but is not judged.`);
      }
    }
    return told;
  };

  const reveal = (number) => {
    for (const part of document.querySelectorAll(`[data-question="${number}"]`)) part.hidden = false;
  };
  const hiddenQuestion = () => document.querySelector(".question[hidden]");

  const show = () => {
    const found = filled();
    const asked = groups.filter((name) => {
      if (data.phase === 2) return true;
      const question = `question.${numbers(name)[0]}`;
      return question in found || name in found;
    });
    const done = asked.filter((name) => name in found).length;
    by("progress").max = Math.max(asked.length, 1);
    by("progress").value = done;
    by("count").textContent =
      data.phase === 1 && !asked.length ? "no question yet" : `${done} of ${asked.length} answered`;
    by("text").value = written();
    by("warnings").replaceChildren(
      ...warnings(found).map((text) => Object.assign(document.createElement("li"), { textContent: text })),
    );
    if (by("more")) by("more").hidden = !hiddenQuestion();
  };

  // Answers are kept in the browser's database, which says when it has them, and beside it: some
  // browsers refuse one of the two, or forget what was written just before a page was left.
  const table = "answers";
  const database = new Promise((resolve) => {
    try {
      const asked = indexedDB.open("citebed-forms", 1);
      asked.onupgradeneeded = () => asked.result.createObjectStore(table);
      asked.onsuccess = () => resolve(asked.result);
      asked.onerror = () => resolve(null);
    } catch {
      resolve(null);
    }
    setTimeout(() => resolve(null), 3000); // one that never answers
  });
  let latest = { at: 0, filled: {} };

  const keepBeside = () => {
    try {
      localStorage.setItem(key, JSON.stringify(latest));
      return true;
    } catch {
      return false;
    }
  };

  // What the database answers once it has done something; nothing where it cannot.
  const inDatabase = async (mode, act) => {
    const opened = await database;
    return new Promise((resolve) => {
      try {
        const change = opened.transaction(table, mode);
        const asked = act(change.objectStore(table));
        change.oncomplete = () => resolve(asked.result);
        change.onabort = () => resolve(undefined);
      } catch {
        resolve(undefined);
      }
    });
  };

  const keep = async (note = "kept in this browser") => {
    latest = { at: Math.max(Date.now(), latest.at + 1), filled: filled() };
    const { at } = latest;
    by("kept").textContent = "";
    by("saved").textContent = "";
    show();
    const isBeside = keepBeside();
    const isInside = await inDatabase("readwrite", (answers) => answers.put(latest, key));
    if (at !== latest.at) return;
    by("kept").textContent = isInside || isBeside
      ? note
      : "this browser keeps nothing: save the answer file before you leave";
  };

  const foundBeside = () => {
    try {
      return JSON.parse(localStorage.getItem(key));
    } catch {
      return null;
    }
  };

  const restore = async () => {
    const inside = await inDatabase("readonly", (answers) => answers.get(key));
    for (const found of [foundBeside(), inside]) {
      if (found?.filled instanceof Object && found.at > latest.at) latest = found;
    }
    for (const field of fields) {
      const value = latest.filled[field.name];
      if (isRadio(field)) field.checked = field.value === value;
      else if (isBox(field)) field.checked = value === "on";
      else field.value = typeof value === "string" ? value : "";
      if (value !== undefined && /^(question|grade)\./.test(field.name)) reveal(numbers(field.name)[0]);
    }
  };

  // What was chosen for a paper before, newest last: each change can be undone.
  const undoable = [];
  const remember = (name) => {
    undoable.push({ name, value: latest.filled[name] });
    by("undo").disabled = false;
  };
  const undo = () => {
    const { name, value } = undoable.pop() ?? {};
    by("undo").disabled = !undoable.length;
    if (!name) return;
    const group = fields.filter((field) => field.name === name);
    for (const field of group) field.checked = field.value === value;
    (group.find((field) => field.checked) ?? group[0]).focus();
    keep("undone; kept in this browser");
  };
  by("undo").addEventListener("click", undo);

  // A chosen answer is taken back by a click on it, or by Delete; keys choose, too.
  let chosen = null;
  document.addEventListener("pointerdown", (event) => {
    const radio = event.target.closest(".choices label")?.querySelector("input");
    chosen = radio?.checked ? radio : null;
  });
  document.addEventListener("click", (event) => {
    if (chosen && event.target === chosen) {
      remember(chosen.name);
      chosen.checked = false;
      chosen = null;
      keep();
    }
  });
  document.addEventListener("keydown", (event) => {
    const radio = event.target;
    const isTyped = radio.matches("textarea, input:not([type=radio], [type=checkbox])");
    if (isTyped || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key.toLowerCase() === "z" && !event.repeat) undo();
    if (!isRadio(radio)) return;
    const group = fields.filter((field) => field.name === radio.name);
    if (event.key === "Delete" || event.key === "Backspace") {
      if (radio.name in latest.filled) remember(radio.name);
      for (const field of group) field.checked = false;
    } else {
      const wanted = group.find((field) => field.dataset.keys.split(" ").includes(event.key.toLowerCase()));
      if (!wanted) return;
      if (!wanted.checked) remember(wanted.name);
      wanted.checked = true; // the key of an answer gives this answer; Delete takes it back
      wanted.focus();
    }
    event.preventDefault();
    keep();
  });

  document.addEventListener("input", (event) => {
    if (isRadio(event.target)) remember(event.target.name);
    // A better wording takes an approval back; it is never deleted by one.
    const [, kind, number] = /^(approve|better)\.(\d+)$/.exec(event.target.name) || [];
    const better = kind && fields.find((field) => field.name === `better.${number}`);
    if (better && better.value.trim()) {
      fields.find((field) => field.name === `approve.${number}`).checked = false;
    }
    if (kind === "approve" && better.value.trim()) {
      keep("to approve the wording, delete the better one first");
    } else if (event.target.id !== "text") {
      keep();
    }
  });

  by("more")?.addEventListener("click", () => {
    const next = hiddenQuestion();
    if (!next) return;
    reveal(next.dataset.question);
    next.querySelector("textarea").focus();
    show();
  });

  by("save").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([written()], { type: "application/json" }));
    link.download = `${data.form}.answers.json`;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    by("saved").textContent = `Saved as ${link.download}. Please send this file back by mail.`;
  });

  by("copy").addEventListener("click", async () => {
    let done = false;
    try {
      await navigator.clipboard.writeText(written());
      done = true;
    } catch {
      by("text").select();
      done = document.execCommand("copy");
    }
    by("copied").textContent = done ? "copied" : "press Ctrl+C to copy the marked text";
    if (!done) by("text").select();
  });

  // Nothing can be filled in, since the page was read, before what was kept is there.
  restore().finally(() => {
    show();
    for (const part of document.querySelectorAll("main, footer")) part.inert = false;
    citebedReady();
  });
})();
