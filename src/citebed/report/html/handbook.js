// Search the sections of all pages; collapse the list of pages on small screens.
"use strict";

const box = document.getElementById("site-search");
const hits = document.getElementById("site-hits");
const MOST = 20;
const USUAL = 1500; // characters; in longer texts a word counts less

function score(section, words) {
  const [, title, , heading, text] = section;
  let sum = 0;
  for (const word of words) {
    const counts = [[heading, 20], [title, 8], [text, 1]].map(([where, weight]) => {
      const times = where.toLowerCase().split(word).length - 1;
      return weight * Math.min(times, 5) / (1 + where.length / USUAL);
    });
    const own = counts[0] + counts[1] + counts[2];
    if (!own) return 0;
    sum += own;
  }
  return sum;
}

function excerpt(text, word) {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 60);
  return (at ? "… " : "") + text.slice(at, at + 180) + (text.length > at + 180 ? " …" : "");
}

function entry([file, title, anchor, heading, text], word) {
  const item = document.createElement("li");
  const link = item.appendChild(document.createElement("a"));
  link.href = anchor ? `${file}#${anchor}` : file;
  link.append(heading && heading !== title ? `${title}: ${heading}` : title);
  link.appendChild(document.createElement("p")).append(excerpt(text, word));
  return item;
}

function show() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  hits.hidden = !words.length;
  const scored = SECTIONS.map((section) => [score(section, words), section]).filter(([n]) => n);
  scored.sort((one, other) => other[0] - one[0]);
  hits.replaceChildren(...scored.slice(0, MOST).map(([, section]) => entry(section, words[0])));
  if (words.length && !scored.length) {
    const none = hits.appendChild(document.createElement("li"));
    none.className = "none";
    none.append("No section contains all these words.");
  }
}

box.addEventListener("input", show);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== box) {
    event.preventDefault();
    box.focus();
  }
  if (event.key === "Escape") hits.hidden = true;
});
hits.addEventListener("click", () => { hits.hidden = true; });
if (matchMedia("(max-width: 50rem)").matches) document.getElementById("site-pages").open = false;
