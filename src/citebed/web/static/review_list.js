// The list of papers: export the annotations.

const main = document.querySelector("main");
const button = document.getElementById("export");
const status = document.getElementById("exported");

function showStatus(text, kind) {
  status.textContent = text;
  status.dataset.kind = kind;
}

async function exportFiles() {
  button.disabled = true;
  showStatus("writing…", "waiting");
  try {
    const response = await fetch("/export", {
      method: "POST",
      headers: { "X-Citebed-Token": main.dataset.token, Accept: "application/json" },
    });
    const { message } = await response.json();
    showStatus(message, response.ok ? "saved" : "refused");
  } catch {
    showStatus("citebed does not respond. Is it still running?", "refused");
  }
  button.disabled = false;
}

button?.addEventListener("click", exportFiles);
citebedReady();
