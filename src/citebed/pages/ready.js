"use strict";
/* Mark the page as busy until its own script calls citebedReady(). Earlier keys and clicks are replayed then. */
const citebedReady = (() => {
  const page = document.documentElement;
  const fields = "textarea, input, select";
  const delayed = [];

  /* Delay only what our script handles. The browser handles typing and form submission itself. */
  const isOurs = (event) => event.type === "click"
    ? event.target.closest("button[type=button]")
    : !(event.ctrlKey || event.metaKey || event.altKey || event.target.matches(fields));
  const delay = (event) => {
    if (isOurs(event)) delayed.push(event);
  };

  /* After a key that moved the focus into a field, later keys are text for that field. */
  const replay = (event, before) => {
    const place = document.activeElement;
    const isTyped = event.type === "keydown" && place !== before && place.matches(fields);
    if (!isTyped) event.target.dispatchEvent(new event.constructor(event.type, event));
    else if (event.key.length === 1) document.execCommand("insertText", false, event.key);
  };

  const ready = () => {
    if (!page.hasAttribute("aria-busy")) return;
    for (const type of ["keydown", "click"]) document.removeEventListener(type, delay, true);
    page.removeAttribute("aria-busy");
    const before = document.activeElement;
    for (const event of delayed) replay(event, before);
    page.dataset.ready = "";
  };

  page.setAttribute("aria-busy", "true");
  for (const type of ["keydown", "click"]) document.addEventListener(type, delay, true);
  document.addEventListener("DOMContentLoaded", () => {
    if (page.dataset.waits === undefined) ready();
  });
  return ready;
})();
