// Show the pages of the paper at the left, with boxes around sentences, markers and references.

const SVG = "http://www.w3.org/2000/svg";
const PHONE = 700;

export class Pages {
  constructor(pane, base, choose) {
    this.pane = pane;
    this.base = base;
    this.figures = [...pane.querySelectorAll(".page")];
    this.zoom = pane.clientWidth < PHONE ? 1.9 : 1;
    pane.addEventListener("click", (event) => {
      const item = event.target.closest("[data-item]")?.dataset.item;
      if (item && !this.onBox) choose(item);
    });
    pane.addEventListener("pointerdown", (event) => this.startBox(event));
    this.observer = new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting) this.load(entry.target);
    }, { root: pane, rootMargin: "100% 0px" });
    this.size();
    for (const figure of this.figures) this.observer.observe(figure);
    new ResizeObserver(() => this.size()).observe(pane);
  }

  size() {
    for (const figure of this.figures) {
      figure.style.width = `${100 * this.zoom}%`;
      figure.style.aspectRatio = `${figure.dataset.width} / ${figure.dataset.height}`;
    }
  }

  // Load a page at the screen's resolution, unless the loaded image is large enough.
  load(figure) {
    const wanted = Math.min(6000, Math.max(100, Math.ceil(figure.clientWidth * devicePixelRatio / 200) * 200));
    if (Number(figure.dataset.loaded ?? 0) >= wanted) return;
    figure.dataset.loaded = wanted;
    const image = figure.querySelector("img");
    image.addEventListener("load", () => figure.classList.add("shown"), { once: true });
    image.addEventListener("error", () => figure.classList.add("missing"), { once: true });
    image.src = `${this.base}/pages/${figure.dataset.page}.png?width=${wanted}`;
  }

  resize(by) {
    this.zoom = Math.min(4, Math.max(0.5, this.zoom * by));
    this.size();
    for (const figure of this.figures) if (figure.querySelector("img").src) this.load(figure);
    this.show(this.current);
  }

  // Call `onBox` with each box that the user draws with a mouse or pen; null stops this. Touch still scrolls.
  listenFor(onBox) {
    this.onBox = onBox;
    this.pane.classList.toggle("marking", Boolean(onBox));
  }

  startBox(event) {
    const figure = event.target.closest(".page");
    if (!this.onBox || !figure || event.button || event.pointerType === "touch") return;
    event.preventDefault();
    const svg = figure.querySelector("svg");
    const rect = document.createElementNS(SVG, "rect");
    rect.setAttribute("class", "marked");
    svg.append(rect);
    const place = ({ clientX, clientY }) => {
      const page = svg.getBoundingClientRect();
      const inside = (share, size) => Math.min(1, Math.max(0, share)) * Number(size);
      return [inside((clientX - page.left) / page.width, figure.dataset.width), inside((clientY - page.top) / page.height, figure.dataset.height)];
    };
    const from = place(event);
    let box = null;
    const move = (now) => {
      const to = place(now);
      box = [Math.min(from[0], to[0]), Math.min(from[1], to[1]), Math.max(from[0], to[0]), Math.max(from[1], to[1])];
      const values = { x: box[0], y: box[1], width: box[2] - box[0], height: box[3] - box[1] };
      for (const [name, value] of Object.entries(values)) rect.setAttribute(name, value.toFixed(2));
    };
    const end = () => {
      document.removeEventListener("pointermove", move);
      rect.remove();
      if (box && box[2] - box[0] > 3 && box[3] - box[1] > 3) this.onBox?.(figure.dataset.page, box);
    };
    document.addEventListener("pointermove", move);
    document.addEventListener("pointerup", end, { once: true });
  }

  draw(paper) {
    const boxes = this.figures.map(() => []);
    const add = (kind, item, places) => {
      for (const [page, left, top, right, bottom] of places) boxes[page]?.push([kind, item, left, top, right, bottom]);
    };
    for (const paragraph of paper.paragraphs) {
      const suffix = paragraph.dropped ? " dropped" : "";
      for (const sentence of paragraph.sentences) {
        add(`sentence${suffix}`, sentence.item, sentence.boxes);
        for (const marker of sentence.markers) add(`marker${suffix}`, sentence.item, marker.boxes);
      }
    }
    for (const reference of paper.references) add("reference", reference.item, reference.boxes);
    const open = new Set(paper.open);
    this.figures.forEach((figure, page) => {
      const order = (kind) => (kind.startsWith("marker") ? 1 : 0);
      const rects = boxes[page].sort((a, b) => order(a[0]) - order(b[0])).map((box) => this.box(box, open));
      figure.querySelector("svg").replaceChildren(...rects);
    });
    this.markCurrent();
  }

  box([kind, item, left, top, right, bottom], open) {
    const rect = document.createElementNS(SVG, "rect");
    rect.setAttribute("class", `${kind}${open.has(item) ? " doubtful" : ""}`);
    rect.dataset.item = item;
    const values = { x: left - 1, y: top, width: right - left + 2, height: bottom - top, rx: 1.5 };
    for (const [name, value] of Object.entries(values)) rect.setAttribute(name, value.toFixed(2));
    return rect;
  }

  markCurrent() {
    for (const rect of this.pane.querySelectorAll("rect")) {
      rect.classList.toggle("current", rect.dataset.item === this.current);
    }
  }

  // Make an item current and scroll to it.
  show(item) {
    this.current = item;
    this.markCurrent();
    const rect = this.pane.querySelector("rect.current");
    if (!rect) return;
    const page = rect.closest(".page");
    this.load(page);
    const places = [...page.querySelectorAll("rect.current")].map((each) => each.getBoundingClientRect());
    // A sentence may continue in the next column: scroll to its first box.
    const place = places[0];
    const left = Math.min(...places.filter((each) => each.left <= place.right).map((each) => each.left));
    const pane = this.pane.getBoundingClientRect();
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.pane.scrollBy({
      top: place.top - pane.top - pane.height / 3,
      left: left - pane.left - 12,
      behavior: isCalm ? "auto" : "smooth",
    });
  }
}
