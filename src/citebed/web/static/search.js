// The manual search desk: mark results by click or key, without leaving the list.

const hits = [...document.querySelectorAll(".hit")];
let current = -1;
const undoable = []; // results whose marks were changed here, in that order

function choose(at) {
  if (!hits.length) return;
  hits[current]?.classList.remove("current");
  current = Math.min(hits.length - 1, Math.max(0, at));
  hits[current].classList.add("current");
  hits[current].scrollIntoView({ block: "nearest" });
}

async function toggle(hit, { isUndo = false } = {}) {
  const form = hit.querySelector("form");
  const button = form.querySelector("button");
  const isOn = form.elements.on.value === "1";
  button.disabled = true;
  try {
    const response = await fetch(form.action, {
      method: "POST",
      headers: { Accept: "application/json" },
      body: new URLSearchParams(new FormData(form)),
      redirect: "error",
    });
    if (!response.ok) throw new Error((await response.json()).message);
    hit.classList.toggle("marked", isOn);
    button.setAttribute("aria-pressed", String(isOn));
    button.textContent = isOn ? "marked" : "mark";
    form.elements.on.value = isOn ? "0" : "1";
    if (!isUndo) undoable.push(hit);
    form.elements.search.value = isOn ? "" : form.elements.found.value;
    await showMarks();
  } catch (error) {
    button.textContent = `not saved, try again: ${error.message}`;
  }
  button.disabled = false;
}

// Reload the marks and the log at the side.
async function showMarks() {
  const response = await fetch(location.href, { redirect: "error" });
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  document.querySelector("aside").replaceWith(fresh.querySelector("aside"));
}

for (const [at, hit] of hits.entries()) {
  hit.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    choose(at);
    toggle(hit);
  });
}

// Keys apply to the result that has the focus.
document.addEventListener("focusin", (event) => {
  const at = hits.indexOf(event.target.closest(".hit"));
  if (at >= 0 && at !== current) choose(at);
});

function undo() {
  const hit = undoable.pop();
  if (!hit) return;
  choose(hits.indexOf(hit));
  toggle(hit, { isUndo: true });
}

function go(by) {
  choose(current + by);
  hits[current]?.focus({ preventScroll: true }); // Tab continues from there
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") event.target.blur?.();
  if (event.target.matches("textarea, input, select")) return;
  if (event.key === "n") go(1);
  else if (event.key === "p") go(-1);
  else if (event.key === "m" && current >= 0) toggle(hits[current]);
  else if (event.key === "z") undo();
  else if (event.key === "/") document.querySelector("#searching [name=text]").focus();
  else return;
  event.preventDefault();
});
citebedReady();
