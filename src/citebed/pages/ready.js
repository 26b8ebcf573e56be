"use strict";
/* The page is busy until its own script listens and says so; what is pressed before is done then. */
const citebedReady = (() => {
  const page = document.documentElement;
  const fields = "textarea, input, select";
  const early = [];

  /* What a browser does by itself, such as typing and sending a form, it does at once. */
  const isOurs = (event) => event.type === "click"
    ? event.target.closest("button[type=button]")
    : !(event.ctrlKey || event.metaKey || event.altKey || event.target.matches(fields));
  const keep = (event) => {
    if (isOurs(event)) early.push(event);
  };

  /* Keys after one that led into a field were meant for it. */
  const doAgain = (event, before) => {
    const place = document.activeElement;
    const isTyped = event.type === "keydown" && place !== before && place.matches(fields);
    if (!isTyped) event.target.dispatchEvent(new event.constructor(event.type, event));
    else if (event.key.length === 1) document.execCommand("insertText", false, event.key);
  };

  const ready = () => {
    if (!page.hasAttribute("aria-busy")) return;
    for (const type of ["keydown", "click"]) document.removeEventListener(type, keep, true);
    page.removeAttribute("aria-busy");
    const before = document.activeElement;
    for (const event of early) doAgain(event, before);
    page.dataset.ready = "";
  };

  page.setAttribute("aria-busy", "true");
  for (const type of ["keydown", "click"]) document.addEventListener(type, keep, true);
  document.addEventListener("DOMContentLoaded", () => {
    if (page.dataset.waits === undefined) ready();
  });
  return ready;
})();
