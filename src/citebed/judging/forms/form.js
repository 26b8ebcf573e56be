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

  // Return the values of the filled fields by the fields' names.
  const filled = () => {
    const values = {};
    for (const field of fields) {
      if (isRadio(field) ? field.checked : isBox(field) ? field.checked : field.value.trim()) {
        values[field.name] = isBox(field) ? "on" : field.value;
      }
    }
    return values;
  };

  const judgements = (values) => {
    const list = [];
    for (const name of groups) {
      if (!(name in values)) continue;
      const [question, paper] = numbers(name);
      const value = values[name] === "?" ? null : Number(values[name]);
      const one = { question, paper, value };
      const comment = values[`comment.${question}.${paper}`];
      if (comment) one.comment = comment;
      list.push(one);
    }
    return list;
  };

  // Return the text of the answer file, with one judgement per line.
  const answerFile = () => {
    const values = filled();
    const questions = {};
    const approved = {};
    for (const name of Object.keys(values)) {
      const [number] = numbers(name);
      if (name.startsWith("question.")) questions[number] = values[name];
      if (name.startsWith("approve.") && !(`better.${number}` in values)) approved[number] = true;
      if (name.startsWith("better.")) approved[number] = values[name];
    }
    const lines = judgements(values).map((one) => JSON.stringify(one)).join(",\n");
    return (
      `{"citebed":"answers","version":1,"form":${JSON.stringify(data.form)},"phase":${data.phase},` +
      `\n"numbers":${JSON.stringify(data.numbers)},\n"questions":${JSON.stringify(questions)},` +
      `\n"said":[\n${lines}\n],\n"approved":${JSON.stringify(approved)},` +
      `\n"opted_out":${"opt_out" in values}}\n`
    );
  };

  const warnings = (values) => {
    const messages = [];
    const graded = new Set(groups.filter((name) => name in values).map((name) => numbers(name)[0]));
    if (data.phase === 1) {
      for (const number of graded) {
        if (!(`question.${number}` in values)) messages.push(`Question ${number} has grades, but no text.`);
      }
    }
    for (const name of Object.keys(values)) {
      const pair = name.replace("comment.", "");
      if (name.startsWith("comment.") && !(`verdict.${pair}` in values)) {
        messages.push(`Document ${pair} has a comment, but is not judged.`);
      }
    }
    return messages;
  };

  const reveal = (number) => {
    for (const part of document.querySelectorAll(`[data-question="${number}"]`)) part.hidden = false;
  };
  const hiddenQuestion = () => document.querySelector(".question[hidden]");

  const show = () => {
    const values = filled();
    const required = groups.filter((name) => {
      if (data.phase === 2) return true;
      const question = `question.${numbers(name)[0]}`;
      return question in values || name in values;
    });
    const done = required.filter((name) => name in values).length;
    by("progress").max = Math.max(required.length, 1);
    by("progress").value = done;
    by("count").textContent =
      data.phase === 1 && !required.length ? "no question yet" : `${done} of ${required.length} answered`;
    by("text").value = answerFile();
    by("warnings").replaceChildren(
      ...warnings(values).map((text) => Object.assign(document.createElement("li"), { textContent: text })),
    );
    if (by("more")) by("more").hidden = !hiddenQuestion();
  };

  // Answers are saved in IndexedDB, which confirms a write, and in localStorage: some browsers
  // refuse one of the two or lose what a page wrote just before it was closed.
  const table = "answers";
  const database = new Promise((resolve) => {
    try {
      const request = indexedDB.open("citebed-forms", 1);
      request.onupgradeneeded = () => request.result.createObjectStore(table);
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => resolve(null);
    } catch {
      resolve(null);
    }
    setTimeout(() => resolve(null), 3000); // some databases never answer
  });
  let latest = { at: 0, filled: {} };

  const saveInLocalStorage = () => {
    try {
      localStorage.setItem(key, JSON.stringify(latest));
      return true;
    } catch {
      return false;
    }
  };

  // Run `act` on the object store; resolve to its result, or undefined if that fails.
  const inDatabase = async (mode, act) => {
    const opened = await database;
    return new Promise((resolve) => {
      try {
        const change = opened.transaction(table, mode);
        const request = act(change.objectStore(table));
        change.oncomplete = () => resolve(request.result);
        change.onabort = () => resolve(undefined);
      } catch {
        resolve(undefined);
      }
    });
  };

  const save = async (note = "saved in this browser") => {
    latest = { at: Math.max(Date.now(), latest.at + 1), filled: filled() };
    const { at } = latest;
    by("kept").textContent = "";
    by("saved").textContent = "";
    show();
    const isInStorage = saveInLocalStorage();
    const isInDatabase = await inDatabase("readwrite", (answers) => answers.put(latest, key));
    if (at !== latest.at) return;
    by("kept").textContent = isInDatabase || isInStorage
      ? note
      : "this browser cannot save your answers: save the answer file before you leave this page";
  };

  const loadFromLocalStorage = () => {
    try {
      return JSON.parse(localStorage.getItem(key));
    } catch {
      return null;
    }
  };

  const restore = async () => {
    const inDatabaseAnswers = await inDatabase("readonly", (answers) => answers.get(key));
    for (const saved of [loadFromLocalStorage(), inDatabaseAnswers]) {
      if (saved?.filled instanceof Object && saved.at > latest.at) latest = saved;
    }
    for (const field of fields) {
      const value = latest.filled[field.name];
      if (isRadio(field)) field.checked = field.value === value;
      else if (isBox(field)) field.checked = value === "on";
      else field.value = typeof value === "string" ? value : "";
      if (value !== undefined && /^(question|grade)\./.test(field.name)) reveal(numbers(field.name)[0]);
    }
  };

  // Earlier choices, the newest last, for the Undo button.
  const undoStack = [];
  const remember = (name) => {
    undoStack.push({ name, value: latest.filled[name] });
    by("undo").disabled = false;
  };
  const undo = () => {
    const { name, value } = undoStack.pop() ?? {};
    by("undo").disabled = !undoStack.length;
    if (!name) return;
    const group = fields.filter((field) => field.name === name);
    for (const field of group) field.checked = field.value === value;
    (group.find((field) => field.checked) ?? group[0]).focus();
    save("undone; saved in this browser");
  };
  by("undo").addEventListener("click", undo);

  // A click on the chosen answer or Delete takes it back; other keys choose an answer.
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
      save();
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
      wanted.checked = true; // the same key twice keeps the answer; Delete takes it back
      wanted.focus();
    }
    event.preventDefault();
    save();
  });

  document.addEventListener("input", (event) => {
    if (isRadio(event.target)) remember(event.target.name);
    // A better wording clears the approval; approving never deletes a better wording.
    const [, kind, number] = /^(approve|better)\.(\d+)$/.exec(event.target.name) || [];
    const better = kind && fields.find((field) => field.name === `better.${number}`);
    if (better && better.value.trim()) {
      fields.find((field) => field.name === `approve.${number}`).checked = false;
    }
    if (kind === "approve" && better.value.trim()) {
      save("to approve the new wording, delete your better one first");
    } else if (event.target.id !== "text") {
      save();
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
    link.href = URL.createObjectURL(new Blob([answerFile()], { type: "application/json" }));
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
      await navigator.clipboard.writeText(answerFile());
      done = true;
    } catch {
      by("text").select();
      done = document.execCommand("copy");
    }
    by("copied").textContent = done ? "copied" : "press Ctrl+C to copy the marked text";
    if (!done) by("text").select();
  });

  // The form stays inert until the saved answers are restored.
  restore().finally(() => {
    show();
    for (const part of document.querySelectorAll("main, footer")) part.inert = false;
    citebedReady();
  });
})();
