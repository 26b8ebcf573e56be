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

const looks = document.querySelector("[data-looks]");
const isByYear = () => looks?.elements.by.value === "year";

/* A place on the screen; across a map by year, papers lie by their year, those without one at the left. */
const onScreen = (x, y) => ({ x: x * size.width * view.scale + view.x, y: y * size.height * view.scale + view.y });
const place = (node) => onScreen(isByYear() ? node.time : node.x, isByYear() ? node.down : node.y);

/* Find the places by year: across by the year, down as before, moved so that no paper lies on another. */
function placeByYear() {
  const years = nodes.map((node) => node.year).filter(Boolean);
  const [first, last] = [Math.min(...years), Math.max(...years)];
  const left = years.length < nodes.length ? 0.14 : 0.06;
  const across = (year) => year ? left + (last > first ? (year - first) / (last - first) : 0.5) * (0.94 - left) : 0.05;
  const apart = looks.elements.size.checked ? 28 : 20; // pixels
  const least = { x: apart / size.width, y: apart / size.height };
  const done = [];
  for (const node of [...nodes].sort((a, b) => a.y - b.y)) {
    node.time = across(node.year);
    const beside = done.filter((other) => Math.abs(other.time - node.time) < least.x).map((other) => other.down);
    const isFree = (down) => beside.every((each) => Math.abs(each - down) >= least.y);
    const steps = Array.from({ length: 80 }, (_, step) => node.y + (step % 2 ? 1 : -1) * Math.ceil(step / 2) * least.y / 2);
    node.down = steps.find((down) => down > 0.04 && down < 0.92 && isFree(down)) ?? node.y;
    done.push(node);
  }
  return { first, last, across };
}

/* Lines of years behind the papers: as many as there is room for. */
function drawYears() {
  const lines = map.querySelector("#years");
  lines.replaceChildren();
  if (!isByYear()) return;
  const { first, last, across } = placeByYear();
  if (!Number.isFinite(first)) return;
  const room = Math.max(2, Math.floor(size.width * view.scale / 60));
  const step = [1, 2, 5, 10, 20, 50, 100, 500].find((each) => (last - first) / each <= room) ?? 1000;
  for (let year = Math.ceil(first / step) * step; year <= last; year += step) {
    const { x } = onScreen(across(year), 0);
    const line = svg("line", { class: "year-line", x1: x, x2: x, y1: 0, y2: size.height - 22 });
    const name = svg("text", { class: "year-name", x, y: size.height - 8 });
    name.textContent = year;
    lines.append(line, name);
  }
}

function svg(tag, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/* A paper's mark is as it is, or larger the more papers here cite it: its area grows with their number. */
function sizeMarks() {
  const largest = Math.max(1, ...nodes.map((node) => node.citations));
  for (const node of nodes) {
    node.times = looks?.elements.size.checked ? 0.7 + 1.3 * Math.sqrt(node.citations / largest) : 1;
    node.element.querySelector(".mark").setAttribute("transform", `scale(${node.times})`);
  }
}

function draw() {
  map.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
  drawYears();
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

/* Names cover no paper and no other name: groups first, then papers in the order of their roles. A name for which
   there is no room is left out; the panel and the list below have them all. */
function label() {
  const half = (node) => 12 * node.times;
  const taken = nodes.map((node) => box(node.at.x, node.at.y, 2 * half(node) + 2, 2 * half(node) + 2));
  const isFree = (own) => own.left > 0 && own.right < size.width && own.top > 0 && own.bottom < size.height
    && !taken.some((each) => meets(each, own));
  for (const text of map.querySelectorAll(".group-label")) {
    const at = onScreen(+text.dataset.x, +text.dataset.y);
    const found = isByYear() ? null : [[text.dataset.name], halves(text.dataset.name)].map((lines) => {
      showLines(text, lines);
      const width = Math.max(...[...text.children].map((line) => line.getComputedTextLength())) + 8;
      const own = ([right, below]) => box(at.x + right, at.y + below, width, 18 * lines.length);
      return { lines, own, spot: aside.find((each) => isFree(own(each))) };
    }).find(({ spot }) => spot);
    text.classList.toggle("off", !found);
    if (!found) continue;
    showLines(text, found.lines, at.x + found.spot[0], at.y + found.spot[1]);
    taken.push(found.own(found.spot));
  }
  const order = ["centre", "cited", "recommended", "citing", "cited-with", "similar"];
  const rank = (node) => node === atHand ? -1 : order.findIndex((role) => node.element.classList.contains(role));
  for (const node of [...nodes].sort((a, b) => rank(a) - rank(b))) {
    const text = node.element.querySelector(".short");
    const width = text.getComputedTextLength() + 6;
    const far = half(node) + 2;
    const spots = [[0, far + 8], [0, -far - 8], [far + width / 2, 0], [-far - width / 2, 0]];
    const own = ([right, below]) => box(node.at.x + right, node.at.y + below, width, 14);
    const spot = spots.find((each) => isFree(own(each)));
    text.classList.toggle("off", !spot);
    if (!spot) continue;
    text.setAttribute("x", spot[0]);
    text.setAttribute("y", spot[1] + 4);
    taken.push(own(spot));
  }
}

/* A name in two lines, cut at the blank nearest to its middle. */
function halves(name) {
  const blanks = [...name.matchAll(/ /g)].map(({ index }) => index);
  const cut = blanks.sort((a, b) => Math.abs(a - name.length / 2) - Math.abs(b - name.length / 2))[0];
  return cut === undefined ? [name] : [name.slice(0, cut), name.slice(cut + 1)];
}

function showLines(text, lines, x = 0, y = 0) {
  text.replaceChildren(...lines.map((line, at) => {
    const made = svg("tspan", { x, y: y + 5 + 18 * (at - (lines.length - 1) / 2) });
    made.textContent = line;
    return made;
  }));
}

/* Where a group's name may stand, the nearest place first. */
const steps = [-160, -140, -120, -100, -80, -60, -40, -20, 0, 20, 40, 60, 80, 100, 120, 140, 160];
const aside = steps.flatMap((below) => steps.map((right) => [right, below])).sort((a, b) => Math.hypot(...a) - Math.hypot(...b));
const box = (x, y, width, height) =>
  ({ left: x - width / 2, right: x + width / 2, top: y - height / 2, bottom: y + height / 2 });
const meets = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/* Place and size papers as chosen; the address keeps the choice. */
function startLooks() {
  const asked = new URLSearchParams(location.search);
  looks.hidden = false;
  if (asked.get("by") === "year") looks.elements.by.value = "year";
  looks.elements.size.checked = asked.get("size") === "cited";
  looks.addEventListener("change", () => {
    const address = new URL(location.href);
    for (const [name, value] of [["by", looks.elements.by.value], ["size", looks.elements.size.checked ? "cited" : ""]]) {
      if (value) address.searchParams.set(name, value);
      else address.searchParams.delete(name);
    }
    history.replaceState(null, "", address);
    sizeMarks();
    draw();
  });
  sizeMarks();
}

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
      `.group-label[data-group="${node.element.dataset.group}"]`).dataset.name),
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
    ({ element, x: +element.dataset.x, y: +element.dataset.y, year: +element.dataset.year, citations: +element.dataset.citations }));
  for (const node of nodes) {
    node.element.querySelector("title").remove(); // the panel tells
    node.element.addEventListener("focus", () => see(node));
  }
  nodes.forEach((node, at) => node.element.setAttribute("tabindex", at ? "-1" : "0"));
  map.classList.add("alive");
  for (const text of map.querySelectorAll(".group-label")) text.dataset.name = text.textContent;
  startLooks();
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
  onKey("f", whole);
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
