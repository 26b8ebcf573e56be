// The reformulation desk: suggestions are put into the text by a click, classes tick themselves.

const form = document.getElementById("wording");
const text = form.elements.text;
const box = form.querySelector(".suggestions");
const accepted = new Set();

function tick(kind) {
  form.elements[`class-${kind}`].checked = true;
}

// Where something of the first text stands now, after the suggestions that were accepted.
function shifted(place) {
  let at = place;
  for (const { start, end, instead } of accepted) {
    if (end <= place) at += instead.length - (end - start);
  }
  return at;
}

function current() {
  let result = box.dataset.text;
  const ordered = [...accepted].sort((one, other) => other.start - one.start);
  for (const { start, end, instead } of ordered) {
    result = result.slice(0, start) + instead + result.slice(end);
  }
  return result;
}

function select(start, end) {
  text.focus();
  text.setSelectionRange(start, end);
}

box?.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const { kind, instead } = button.dataset;
  // Places are counted in characters there, in halves of some of them here.
  const units = (count) => [...box.dataset.text].slice(0, count).join("").length;
  const [start, end] = [units(Number(button.dataset.start)), units(Number(button.dataset.end))];
  tick(kind);
  if (button.matches(".show")) {
    select(shifted(start), shifted(end));
    return;
  }
  const found = box.dataset.text.slice(start, end);
  if (text.value === current()) { // nobody typed meanwhile: places are known exactly
    accepted.add({ start, end, instead });
    text.value = current();
  } else if (found && text.value.includes(found)) {
    text.value = text.value.replace(found, () => instead);
  } else if (!found) {
    text.value += instead;
  }
  button.disabled = true;
  button.textContent = "Accepted";
});
citebedReady();
