// The list of papers: writing the files.

const main = document.querySelector("main");
const button = document.getElementById("export");
const told = document.getElementById("exported");

function tell(text, kind) {
  told.textContent = text;
  told.dataset.kind = kind;
}

async function write() {
  button.disabled = true;
  tell("writing…", "waiting");
  try {
    const answer = await fetch("/export", {
      method: "POST",
      headers: { "X-Citebed-Token": main.dataset.token, Accept: "application/json" },
    });
    const { message } = await answer.json();
    tell(message, answer.ok ? "saved" : "refused");
  } catch {
    tell("citebed does not answer: is it still running?", "refused");
  }
  button.disabled = false;
}

button?.addEventListener("click", write);
citebedReady();
