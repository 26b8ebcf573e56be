// The reformulation desk: a click puts a suggestion into the text and ticks its class.

const form = document.getElementById("wording");
const text = form.elements.text;
const box = form.querySelector(".suggestions");
const accepted = new Set();

function tick(kind) {
  form.elements[`class-${kind}`].checked = true;
}

// Map a position in the original text to the text with the accepted suggestions.
function shiftedPosition(place) {
  let at = place;
  for (const { start, end, instead } of accepted) {
    if (end <= place) at += instead.length - (end - start);
  }
  return at;
}

function acceptedText() {
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
  // The server counts code points; JavaScript counts UTF-16 code units.
  const units = (count) => [...box.dataset.text].slice(0, count).join("").length;
  const [start, end] = [units(Number(button.dataset.start)), units(Number(button.dataset.end))];
  tick(kind);
  if (button.matches(".show")) {
    select(shiftedPosition(start), shiftedPosition(end));
    return;
  }
  const original = box.dataset.text.slice(start, end);
  if (text.value === acceptedText()) { // no other edits: the positions are exact
    accepted.add({ start, end, instead });
    text.value = acceptedText();
  } else if (original && text.value.includes(original)) {
    text.value = text.value.replace(original, () => instead);
  } else if (!original) {
    text.value += instead;
  }
  button.disabled = true;
  button.textContent = "Accepted";
});
citebedReady();
