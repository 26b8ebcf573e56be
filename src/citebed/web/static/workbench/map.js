// A map to explore by mouse, touch and keys. Zooming moves papers apart but does not enlarge them.

import { make, onKey } from "./frame.js";
import { draftId } from "./desk.js";
import { isInBasket, startCiting, toggleCited, updateCiteButtons } from "./citing.js";

const map = document.getElementById("map");
const MAX_SCALE = 8;
let view = { scale: 1, x: 0, y: 0 };
let size = { width: 1000, height: 640 };
let nodes = [];
let current = null;

/* --- Positions and drawing --- */

const options = document.querySelector("[data-looks]");
const isByYear = () => options?.elements.by.value === "year";

/* Return a position on the screen. On a map by year, x is the year; papers without a year are at the left. */
const onScreen = (x, y) => ({ x: x * size.width * view.scale + view.x, y: y * size.height * view.scale + view.y });
const place = (node) => onScreen(isByYear() ? node.time : node.x, isByYear() ? node.down : node.y);

/* Compute the positions by year: x is the year; y is as before, moved until no paper covers another. */
function placeByYear() {
  const years = nodes.map((node) => node.year).filter(Boolean);
  const [first, last] = [Math.min(...years), Math.max(...years)];
  const left = years.length < nodes.length ? 0.14 : 0.06;
  const across = (year) => year ? left + (last > first ? (year - first) / (last - first) : 0.5) * (0.94 - left) : 0.05;
  const gap = options.elements.size.checked ? 28 : 20; // pixels
  const least = { x: gap / size.width, y: gap / size.height };
  const done = [];
  for (const node of [...nodes].sort((a, b) => a.y - b.y)) {
    node.time = across(node.year);
    const beside = done.filter((other) => Math.abs(other.time - node.time) < least.x).map((other) => other.down);
    const isFree = (y) => beside.every((each) => Math.abs(each - y) >= least.y);
    const steps = Array.from({ length: 80 }, (_, step) => node.y + (step % 2 ? 1 : -1) * Math.ceil(step / 2) * least.y / 2);
    node.down = steps.find((y) => y > 0.04 && y < 0.92 && isFree(y)) ?? node.y;
    done.push(node);
  }
  return { first, last, across };
}

/* Draw a grid of years behind the papers, with as many lines as fit. */
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
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/* Size the marks equally, or with an area that grows with the number of citing papers. */
function sizeMarks() {
  const largest = Math.max(1, ...nodes.map((node) => node.citations));
  for (const node of nodes) {
    node.times = options?.elements.size.checked ? 0.7 + 1.3 * Math.sqrt(node.citations / largest) : 1;
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
  placeLabels();
}

/* Place the names so that they cover no paper and no other name: groups first, then papers by role. Names that do
   not fit are hidden; the list below the map has all names. */
function placeLabels() {
  const half = (node) => 12 * node.times;
  const taken = nodes.map((node) => box(node.at.x, node.at.y, 2 * half(node) + 2, 2 * half(node) + 2));
  const isFree = (own) => own.left > 0 && own.right < size.width && own.top > 0 && own.bottom < size.height
    && !taken.some((each) => overlaps(each, own));
  for (const text of map.querySelectorAll(".group-label")) {
    const at = onScreen(+text.dataset.x, +text.dataset.y);
    const placed = isByYear() ? null : [[text.dataset.name], splitName(text.dataset.name)].map((lines) => {
      showLines(text, lines);
      const width = Math.max(...[...text.children].map((line) => line.getComputedTextLength())) + 8;
      const own = ([right, below]) => box(at.x + right, at.y + below, width, 18 * lines.length);
      return { lines, own, spot: labelOffsets.find((each) => isFree(own(each))) };
    }).find(({ spot }) => spot);
    text.classList.toggle("off", !placed);
    if (!placed) continue;
    showLines(text, placed.lines, at.x + placed.spot[0], at.y + placed.spot[1]);
    taken.push(placed.own(placed.spot));
  }
  const order = ["centre", "cited", "recommended", "citing", "cited-with", "similar"];
  const rank = (node) => node === current ? -1 : order.findIndex((role) => node.element.classList.contains(role));
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

/* Break a name into two lines at the space nearest to its middle. */
function splitName(name) {
  const blanks = [...name.matchAll(/ /g)].map(({ index }) => index);
  const cut = blanks.sort((a, b) => Math.abs(a - name.length / 2) - Math.abs(b - name.length / 2))[0];
  return cut === undefined ? [name] : [name.slice(0, cut), name.slice(cut + 1)];
}

function showLines(text, lines, x = 0, y = 0) {
  text.replaceChildren(...lines.map((line, at) => {
    const element = svg("tspan", { x, y: y + 5 + 18 * (at - (lines.length - 1) / 2) });
    element.textContent = line;
    return element;
  }));
}

/* Offsets to try for the name of a group, nearest first. */
const steps = [-160, -140, -120, -100, -80, -60, -40, -20, 0, 20, 40, 60, 80, 100, 120, 140, 160];
const labelOffsets = steps.flatMap((below) => steps.map((right) => [right, below])).sort((a, b) => Math.hypot(...a) - Math.hypot(...b));
const box = (x, y, width, height) =>
  ({ left: x - width / 2, right: x + width / 2, top: y - height / 2, bottom: y + height / 2 });
const overlaps = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/* Position and size papers as the user chooses, and store the choice in the URL. */
function startOptions() {
  const query = new URLSearchParams(location.search);
  options.hidden = false;
  if (query.get("by") === "year") options.elements.by.value = "year";
  options.elements.size.checked = query.get("size") === "cited";
  options.addEventListener("change", () => {
    const address = new URL(location.href);
    for (const [name, value] of [["by", options.elements.by.value], ["size", options.elements.size.checked ? "cited" : ""]]) {
      if (value) address.searchParams.set(name, value);
      else address.searchParams.delete(name);
    }
    history.replaceState(null, "", address);
    sizeMarks();
    draw();
  });
  sizeMarks();
}

/* --- Zoom and pan --- */

function zoom(by, at = { x: size.width / 2, y: size.height / 2 }) {
  const scale = Math.min(MAX_SCALE, Math.max(1, view.scale * by));
  const share = scale / view.scale;
  view = bounded({ scale, x: at.x - (at.x - view.x) * share, y: at.y - (at.y - view.y) * share });
  draw();
}

/* Limit the view so that the map fills its frame. */
const bounded = ({ scale, x, y }) => ({
  scale,
  x: Math.min(0, Math.max(size.width * (1 - scale), x)),
  y: Math.min(0, Math.max(size.height * (1 - scale), y)),
});

function pan(dx, dy) {
  view = bounded({ ...view, x: view.x + dx, y: view.y + dy });
  draw();
}

function resetView() {
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

/* --- The current paper --- */

function showPaper(node) {
  selectPaper(node);
  const margin = 40;
  const { x, y } = place(node);
  pan(x < margin ? margin - x : Math.min(0, size.width - margin - x),
    y < margin ? margin - y : Math.min(0, size.height - margin - y));
}

/* Make a paper current: show its details and its edges. */
function selectPaper(node) {
  current = node;
  for (const each of nodes) {
    each.element.setAttribute("tabindex", each === node ? "0" : "-1");
    each.element.classList.toggle("at-hand", each === node);
  }
  const mine = nodes.indexOf(node);
  for (const line of map.querySelectorAll("#edges line")) {
    line.classList.toggle("near", +line.dataset.from === mine || +line.dataset.to === mine);
  }
  showDetails(node);
}

function showDetails(node) {
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
      make("button", { type: "button", class: "strong cite", "data-cite": docId, "aria-pressed": String(isInBasket(docId)) }, "Cite"),
      make("a", { class: "button", href: `?doc=${encodeURIComponent(docId)}` }, "Map around it")));
  details.hidden = false;
  updateCiteButtons();
}

/* Move to the nearest paper in a direction. */
function moveSelection(dx, dy) {
  const from = current ?? nodes[0];
  const cost = ({ at }) => {
    const along = (at.x - from.at.x) * dx + (at.y - from.at.y) * dy;
    const across = Math.abs((at.x - from.at.x) * dy) + Math.abs((at.y - from.at.y) * dx);
    return along > 0.5 && across <= along * 2 ? along + 2 * across : Infinity;
  };
  const best = nodes.reduce((a, b) => cost(b) < cost(a) ? b : a);
  if (best !== from && cost(best) < Infinity) best.element.focus();
}

const directions = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
function handleKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (directions[event.key]) moveSelection(...directions[event.key]);
  else if (event.key === "Home") nodes[0].element.focus();
  else return;
  event.preventDefault();
}

/* --- Mouse and touch --- */

const pointers = new Map();
let moved = 0;
const point = (event) => {
  const { left, top } = map.getBoundingClientRect();
  return { x: event.clientX - left, y: event.clientY - top };
};

function startDrag(event) {
  if (event.button) return;
  if (!pointers.size) moved = 0;
  pointers.set(event.pointerId, point(event));
}

function drag(event) {
  const before = pointers.get(event.pointerId);
  if (!before) return;
  const now = point(event);
  const others = [...pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
  pointers.set(event.pointerId, now);
  moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
  if (moved > 6 && !map.hasPointerCapture(event.pointerId)) map.setPointerCapture(event.pointerId);
  if (others.length) {
    const [other] = others;
    const distance = (at) => Math.hypot(at.x - other.x, at.y - other.y) || 1;
    zoom(distance(now) / distance(before), { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 });
  } else {
    pan(now.x - before.x, now.y - before.y);
  }
}

const endDrag = (event) => pointers.delete(event.pointerId);

/* The first click on a paper selects it, the second one opens it. The end of a drag does not count as a click. */
function handleClick(event) {
  const element = event.target.closest(".node");
  if (!element || event.detail === 0) return; // Enter opens
  if (moved > 6) return void event.preventDefault();
  const node = nodes.find((each) => each.element === element);
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (node !== clickedBefore) event.preventDefault();
  clickedBefore = node;
  if (document.activeElement !== element) element.focus();
  else showPaper(node);
}
let clickedBefore = null;

function showGap(group) {
  const mine = nodes.filter((node) => node.element.dataset.group === group);
  for (const node of nodes) node.element.classList.toggle("in-gap", mine.includes(node));
  mine[0]?.element.focus();
}

/* --- Start --- */

function start() {
  nodes = [...map.querySelectorAll(".node")].map((element) =>
    ({ element, x: +element.dataset.x, y: +element.dataset.y, year: +element.dataset.year, citations: +element.dataset.citations }));
  for (const node of nodes) {
    node.element.querySelector("title").remove(); // the details panel replaces the tooltip
    node.element.addEventListener("focus", () => showPaper(node));
  }
  nodes.forEach((node, at) => node.element.setAttribute("tabindex", at ? "-1" : "0"));
  map.classList.add("alive");
  for (const text of map.querySelectorAll(".group-label")) text.dataset.name = text.textContent;
  startOptions();
  new ResizeObserver(measure).observe(map);
  measure();
  map.addEventListener("keydown", handleKey);
  map.addEventListener("pointerdown", startDrag);
  map.addEventListener("pointermove", drag);
  for (const end of ["pointerup", "pointercancel"]) map.addEventListener(end, endDrag);
  map.addEventListener("click", handleClick);
  map.addEventListener("dragstart", (event) => event.preventDefault());
  map.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && view.scale === 1 && event.deltaY > 0) return; // let the page scroll
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 400), point(event));
  }, { passive: false });
  const zooms = { in: () => zoom(1.5), out: () => zoom(1 / 1.5), all: resetView };
  document.querySelector("[data-zooms]").hidden = false;
  for (const button of document.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", zooms[button.dataset.zoom]);
  }
  for (const button of document.querySelectorAll("[data-gap]")) {
    button.addEventListener("click", () => showGap(button.dataset.gap));
  }
  selectPaper(nodes[0]);
  for (const key of ["+", "="]) onKey(key, zooms.in);
  onKey("-", zooms.out);
  onKey("f", resetView);
  onKey("c", () => current && toggleCited(current.element.dataset.doc));
}

/* Without a draft or paper in the URL, go to the map of the current draft. Return whether the page changes. */
function openDraftMap() {
  const id = draftId();
  const query = new URLSearchParams(location.search);
  if (!id || query.has("draft") || query.has("doc")) return false;
  query.set("draft", id);
  location.replace(`?${query}`);
  return true;
}

if (map?.querySelector(".node")) {
  start();
  await startCiting();
  citebedReady();
} else if (!openDraftMap()) {
  citebedReady();
}
