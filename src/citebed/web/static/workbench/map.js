// A map that one can walk: by mouse, touch and keys. Papers keep their size, the map around them grows.

import { make, onKey } from "./frame.js";
import { draftId } from "./desk.js";
import { isTaken, ready, showAll, turn } from "./citing.js";

const map = document.getElementById("map");
const most = 8;
let view = { scale: 1, x: 0, y: 0 };
let size = { width: 1000, height: 640 };
let nodes = [];
let atHand = null;

/* --- Where everything is --- */

const place = (node) => ({
  x: node.x * size.width * view.scale + view.x,
  y: node.y * size.height * view.scale + view.y,
});

function draw() {
  map.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
  for (const node of nodes) {
    node.at = place(node);
    node.element.setAttribute("transform", `translate(${node.at.x} ${node.at.y})`);
  }
  for (const line of map.querySelectorAll("#edges line")) {
    const [from, to] = [nodes[line.dataset.from].at, nodes[line.dataset.to].at];
    const ends = { x1: from.x, y1: from.y, x2: to.x, y2: to.y };
    for (const [name, value] of Object.entries(ends)) line.setAttribute(name, value);
  }
  label();
}

/* Words that would lie on others are left out: groups first, then papers in the order of their roles. */
function label() {
  const taken = nodes.map(({ at }) => ({ ...box(at.x, at.y, 16, 16), weight: 1 }));
  for (const text of map.querySelectorAll(".group-label")) {
    const at = place({ x: +text.dataset.x, y: +text.dataset.y });
    const away = at.x < -60 || at.x > size.width + 60 || at.y < -60 || at.y > size.height + 60;
    text.classList.toggle("off", away);
    if (away) continue;
    const width = text.getComputedTextLength() + 12;
    const spots = aside.map(([right, below]) => ({
      x: Math.min(Math.max(at.x + right, width / 2 + 4), size.width - width / 2 - 4),
      y: Math.min(Math.max(at.y + below, 20), size.height - 10),
    }));
    const own = (spot) => box(spot.x, spot.y - 5, width, 22);
    const cost = (spot) => taken.reduce((sum, each) => sum + (meets(each, own(spot)) ? each.weight : 0),
      Math.hypot(spot.x - at.x, spot.y - at.y) / 80);
    const spot = spots.reduce((best, each) => cost(each) < cost(best) ? each : best);
    text.setAttribute("x", spot.x);
    text.setAttribute("y", spot.y);
    taken.push({ ...own(spot), weight: 10 });
  }
  const order = ["centre", "cited", "recommended", "citing", "cited-with", "similar"];
  const rank = (node) => node === atHand ? -1 : order.findIndex((role) => node.element.classList.contains(role));
  for (const node of [...nodes].sort((a, b) => rank(a) - rank(b))) {
    const text = node.element.querySelector(".short");
    const mine = box(node.at.x, node.at.y + 17, text.textContent.length * 6.6 + 6, 14);
    const inside = mine.left > 0 && mine.right < size.width && mine.bottom < size.height;
    const shown = node === atHand || (inside && !taken.some((each) => meets(each, mine)));
    text.classList.toggle("off", !shown);
    if (shown) taken.push(mine);
  }
}

const aside = [0, -20, 20, -40, 40, -60, 60, -80, 80].flatMap((below) => [0, -40, 40].map((right) => [right, below]));
const box = (x, y, width, height) =>
  ({ left: x - width / 2, right: x + width / 2, top: y - height / 2, bottom: y + height / 2 });
const meets = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/* --- Nearer and farther --- */

function zoom(by, at = { x: size.width / 2, y: size.height / 2 }) {
  const scale = Math.min(most, Math.max(1, view.scale * by));
  const share = scale / view.scale;
  view = bounded({ scale, x: at.x - (at.x - view.x) * share, y: at.y - (at.y - view.y) * share });
  draw();
}

/* The map never leaves its frame. */
const bounded = ({ scale, x, y }) => ({
  scale,
  x: Math.min(0, Math.max(size.width * (1 - scale), x)),
  y: Math.min(0, Math.max(size.height * (1 - scale), y)),
});

function pan(dx, dy) {
  view = bounded({ ...view, x: view.x + dx, y: view.y + dy });
  draw();
}

function whole() {
  view = { scale: 1, x: 0, y: 0 };
  draw();
}

function measure() {
  const { width, height } = map.getBoundingClientRect();
  if (!width || !height) return;
  size = { width, height };
  map.classList.toggle("narrow", width < 600);
  view = bounded(view);
  draw();
}

/* --- The paper at hand --- */

function see(node) {
  look(node);
  const margin = 40;
  const { x, y } = place(node);
  pan(x < margin ? margin - x : Math.min(0, size.width - margin - x),
    y < margin ? margin - y : Math.min(0, size.height - margin - y));
}

/* Tell of a paper, and show what it is tied to. */
function look(node) {
  atHand = node;
  for (const each of nodes) {
    each.element.setAttribute("tabindex", each === node ? "0" : "-1");
    each.element.classList.toggle("at-hand", each === node);
  }
  const mine = nodes.indexOf(node);
  for (const line of map.querySelectorAll("#edges line")) {
    line.classList.toggle("near", +line.dataset.from === mine || +line.dataset.to === mine);
  }
  tellOf(node);
}

function tellOf(node) {
  const entry = document.querySelector(`.as-list li[data-doc="${CSS.escape(node.element.dataset.doc)}"]`);
  const about = entry.querySelector(".quiet").textContent;
  const details = document.getElementById("details");
  const docId = node.element.dataset.doc;
  details.replaceChildren(
    make("h2", {}, make("a", { href: node.element.getAttribute("href") }, entry.querySelector("a").textContent)),
    make("p", { class: "quiet" }, about),
    make("p", { class: "quiet" }, "Group: ", document.querySelector(
      `.group-label[data-group="${node.element.dataset.group}"]`).textContent),
    make("p", { class: "row" },
      make("button", { type: "button", class: "strong cite", "data-cite": docId, "aria-pressed": String(isTaken(docId)) }, "Cite"),
      make("a", { class: "button", href: `?doc=${encodeURIComponent(docId)}` }, "Map around it")));
  details.hidden = false;
  showAll();
}

/* The nearest paper that lies more this way than aside. */
function walk(dx, dy) {
  const from = atHand ?? nodes[0];
  const cost = ({ at }) => {
    const along = (at.x - from.at.x) * dx + (at.y - from.at.y) * dy;
    const aside = Math.abs((at.x - from.at.x) * dy) + Math.abs((at.y - from.at.y) * dx);
    return along > 0.5 && aside <= along * 2 ? along + 2 * aside : Infinity;
  };
  const best = nodes.reduce((a, b) => cost(b) < cost(a) ? b : a);
  if (best !== from && cost(best) < Infinity) best.element.focus();
}

const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (ways[event.key]) walk(...ways[event.key]);
  else if (event.key === "Home") nodes[0].element.focus();
  else return;
  event.preventDefault();
}

/* --- Mouse and fingers --- */

const fingers = new Map();
let moved = 0;
const point = (event) => {
  const { left, top } = map.getBoundingClientRect();
  return { x: event.clientX - left, y: event.clientY - top };
};

function down(event) {
  if (event.button) return;
  if (!fingers.size) moved = 0;
  fingers.set(event.pointerId, point(event));
}

function move(event) {
  const before = fingers.get(event.pointerId);
  if (!before) return;
  const now = point(event);
  const others = [...fingers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
  fingers.set(event.pointerId, now);
  moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
  if (moved > 6 && !map.hasPointerCapture(event.pointerId)) map.setPointerCapture(event.pointerId);
  if (others.length) {
    const [other] = others;
    const apart = (at) => Math.hypot(at.x - other.x, at.y - other.y) || 1;
    zoom(apart(now) / apart(before), { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 });
  } else {
    pan(now.x - before.x, now.y - before.y);
  }
}

const up = (event) => fingers.delete(event.pointerId);

/* A click looks at a paper, a second one opens it; the end of a move is no click. */
function clicked(event) {
  const element = event.target.closest(".node");
  if (!element || event.detail === 0) return; // Enter opens
  if (moved > 6) return void event.preventDefault();
  const node = nodes.find((each) => each.element === element);
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (node !== seenBefore) event.preventDefault();
  seenBefore = node;
  if (document.activeElement !== element) element.focus();
  else see(node);
}
let seenBefore = null;

function gap(group) {
  const mine = nodes.filter((node) => node.element.dataset.group === group);
  for (const node of nodes) node.element.classList.toggle("in-gap", mine.includes(node));
  mine[0]?.element.focus();
}

/* --- Begin --- */

function begin() {
  nodes = [...map.querySelectorAll(".node")].map((element) =>
    ({ element, x: +element.dataset.x, y: +element.dataset.y }));
  for (const node of nodes) {
    node.element.querySelector("title").remove(); // the panel tells
    node.element.addEventListener("focus", () => see(node));
  }
  nodes.forEach((node, at) => node.element.setAttribute("tabindex", at ? "-1" : "0"));
  map.classList.add("alive");
  new ResizeObserver(measure).observe(map);
  measure();
  map.addEventListener("keydown", pressed);
  map.addEventListener("pointerdown", down);
  map.addEventListener("pointermove", move);
  for (const end of ["pointerup", "pointercancel"]) map.addEventListener(end, up);
  map.addEventListener("click", clicked);
  map.addEventListener("dragstart", (event) => event.preventDefault());
  map.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && view.scale === 1 && event.deltaY > 0) return; // the page scrolls on
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 400), point(event));
  }, { passive: false });
  const zooms = { in: () => zoom(1.5), out: () => zoom(1 / 1.5), all: whole };
  document.querySelector("[data-zooms]").hidden = false;
  for (const button of document.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", zooms[button.dataset.zoom]);
  }
  for (const button of document.querySelectorAll("[data-gap]")) {
    button.addEventListener("click", () => gap(button.dataset.gap));
  }
  look(nodes[0]);
  for (const key of ["+", "="]) onKey(key, zooms.in);
  onKey("-", zooms.out);
  onKey("0", whole);
  onKey("c", () => atHand && turn(atHand.element.dataset.doc));
}

/* Without a draft in the address, the one at hand is mapped; if it has no map, the page says why. */
function toDraft() {
  const id = draftId();
  const asked = new URLSearchParams(location.search);
  if (!id || asked.has("draft") || asked.has("doc")) return false;
  asked.set("draft", id);
  location.replace(`?${asked}`);
  return true;
}

if (map?.querySelector(".node")) {
  begin();
  await ready();
  citebedReady();
} else if (!toDraft()) {
  citebedReady();
}
