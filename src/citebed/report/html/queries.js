/* Query by query: a chart of differences, a table of queries, and the rankings of the chosen query.
   All data is inserted as text, never parsed as HTML. */
(() => {
  const place = document.getElementById("queries");
  if (!place) return;
  const data = JSON.parse(document.getElementById("query-data").textContent);
  const isSingleRun = data.runs.length < 2;
  const state = { measure: 0, base: data.base, run: 0, rows: [], chosen: null };
  state.run = isSingleRun ? 0 : data.base === 0 ? 1 : 0;

  // --- making elements ---

  function fill(part, values, inside) {
    for (const [name, value] of Object.entries(values)) {
      if (value !== null && value !== false) part.setAttribute(name, value);
    }
    part.append(...inside.filter((x) => x !== null));
    return part;
  }
  const make = (name, values, ...inside) => fill(document.createElement(name), values, inside);
  const draw = (name, values, ...inside) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", name), values, inside);
  const bdi = (text) => make("bdi", { dir: "auto" }, text);
  const score = (value) => (value === null ? "–" : value.toFixed(4));
  const signed = (value) =>
    value === null ? "–" : (value > 0 ? "+" : value < 0 ? "−" : "") + Math.abs(value).toFixed(4);

  function select(label, options, at, change) {
    const box = make("select", {}, ...options.map((name, i) => make("option", { value: i }, name)));
    box.value = at;
    box.addEventListener("change", () => change(Number(box.value)));
    return [make("label", {}, label, box), box];
  }

  function button(text, act, values = {}) {
    const element = make("button", { type: "button", class: "button", ...values }, text);
    element.addEventListener("click", act);
    return element;
  }

  function table(caption, columns, rows) {
    const heads = columns.map(([name, kind]) => make("th", { scope: "col", class: kind }, name));
    return make("table", {}, make("caption", {}, caption),
      make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows));
  }
  const box = (kind, label, inside) =>
    make("div", { class: `box ${kind}`, tabindex: 0, role: "region", "aria-label": label }, inside);

  // --- fixed elements ---

  const [measureLabel] = select("Measure", data.measures, 0, (at) => { state.measure = at; update(); });
  const [baseLabel, baseBox] = select("Base", data.runs, state.base, (at) => pair(at, state.run, "base"));
  const [runLabel, runBox] = select("Run", data.runs, state.run, (at) => pair(state.base, at, "run"));
  const swap = button("Swap", () => pair(state.run, state.base));
  const controls = make("div", { class: "controls" }, measureLabel,
    ...(isSingleRun ? [] : [baseLabel, runLabel, swap]));
  const summary = make("p", { "aria-live": "polite", id: "summary" });
  const chart = make("div", { class: "chart" });
  const under = make("p", { class: "under", "aria-hidden": "true" });
  const save = button("Save chart as SVG", saveChart);
  const filter = make("input", { type: "search", id: "filter", autocomplete: "off" });
  const matchNote = make("p", { class: "under", "aria-live": "polite" });
  const tools = make("div", { class: "controls" },
    make("label", { class: "wide" }, "Only queries whose id or text contains", filter), save);
  const columns = [["query", ""], ["text", "words"],
    ...(isSingleRun ? [["score", "number"]] : [["base", "number"], ["run", "number"], ["difference", "number"]])];
  const list = table("Queries", columns, []);
  const listBox = box("list", "Queries", list);
  const detail = make("div", { id: "detail" });
  place.append(controls, summary, chart, under, tools, matchNote, listBox, detail);
  citebed.sortable(list);
  filter.addEventListener("input", applyFilter);

  /* Compare two different runs: choosing the same run twice swaps them. */
  function pair(base, run, changed) {
    if (base === run) {
      if (changed === "base") run = state.base;
      else base = state.run;
    }
    [state.base, state.run] = [base, run];
    baseBox.value = base;
    runBox.value = run;
    update();
  }

  // --- scores ---

  function scored() {
    const rows = [];
    for (const query of data.queries) {
      const run = query.v[state.run][state.measure];
      const base = query.v[state.base][state.measure];
      if (run === null || base === null) continue;
      rows.push({ query, run, base, by: isSingleRun ? run : Number((run - base).toFixed(4)) });
    }
    return rows.sort((a, b) => b.by - a.by);
  }

  function update() {
    state.rows = scored();
    const measure = data.measures[state.measure];
    const count = (test) => state.rows.filter(test).length;
    const mean = state.rows.reduce((sum, row) => sum + row.by, 0) / (state.rows.length || 1);
    summary.replaceChildren(...(isSingleRun
      ? [`${measure} of `, bdi(data.runs[0]), `: ${state.rows.length} queries, mean ${score(mean)}.`]
      : [`${measure}, `, bdi(data.runs[state.run]), " less ", bdi(data.runs[state.base]),
        `: better for ${count((r) => r.by > 0)}, equal for ${count((r) => r.by === 0)}, worse for `
        + `${count((r) => r.by < 0)} of ${state.rows.length} queries; mean ${signed(mean)}.`]));
    state.mean = mean;
    fillList();
    drawChart();
    showDetail();
  }

  // --- the chart ---

  const HEIGHT = 230, LEFT = 44, TOP = 10, BOTTOM = 12;

  function step(span) {
    const rough = span / 5;
    const power = 10 ** Math.floor(Math.log10(rough));
    return [1, 2, 5, 10].map((x) => x * power).find((x) => x >= rough);
  }

  function drawChart() {
    state.width = chart.clientWidth;
    const width = Math.max(state.width, 240);
    const all = state.rows.map((row) => row.by);
    const low = all.reduce((a, b) => Math.min(a, b), 0);
    const high = all.reduce((a, b) => Math.max(a, b), 0);
    const span = high - low || 1;
    const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (((high - low ? high : 1) - value) / span);
    const each = (width - LEFT) / (all.length || 1);
    const gap = each > 6 ? each * 0.2 : 0;
    const bars = all.map((by, at) => draw("rect", {
      class: by >= 0 ? "gain" : "loss", x: (LEFT + at * each + gap / 2).toFixed(2),
      y: y(Math.max(by, 0)).toFixed(2), width: (each - gap).toFixed(2),
      height: Math.abs(y(by) - y(0)).toFixed(2) }));
    const line = (kind, value) =>
      draw("line", { class: kind, x1: LEFT, x2: width, y1: y(value).toFixed(2), y2: y(value).toFixed(2) });
    const ticks = [];
    const by = step(span);
    for (let i = Math.ceil(low / by); i * by <= high + 1e-9; i++) {
      const text = String(Number((i * by).toPrecision(6))).replace("-", "−");
      ticks.push(line(i ? "grid" : "axis", i * by),
        draw("text", { x: LEFT - 6, y: (y(i * by) + 4).toFixed(2), "text-anchor": "end" }, text));
    }
    const over = draw("rect", { class: "over", x: LEFT, y: 0, width: width - LEFT, height: HEIGHT });
    const svg = draw("svg", { class: each < 4 ? "many" : null,
      "shape-rendering": each < 4 ? "crispEdges" : null, viewBox: `0 0 ${width} ${HEIGHT}`, height: HEIGHT, role: "img",
      "aria-label": `Bars of ${all.length} queries, the largest first; the same is in the table below.` },
      ...ticks, ...bars, line("axis", 0), line("mean", state.mean), over);
    const at = (event) => state.rows[Math.floor((event.clientX - over.getBoundingClientRect().left) / each)];
    over.addEventListener("click", (event) => { const row = at(event); if (row) choose(row.query); });
    over.addEventListener("mousemove", (event) => {
      const row = at(event);
      if (row) under.replaceChildren(bdi(row.query.id), `: ${isSingleRun ? score(row.by) : signed(row.by)}`);
    });
    state.frame = (row) => draw("rect", { class: "chosen", x: (LEFT + row * each).toFixed(2), y: 2,
      width: Math.max(each, 2).toFixed(2), height: HEIGHT - 4 });
    chart.replaceChildren(svg);
    frameChosen();
  }

  function frameChosen() {
    chart.querySelectorAll(".chosen").forEach((old) => old.remove());
    const at = state.rows.findIndex((row) => row.query === state.chosen);
    if (at >= 0) chart.firstChild.insertBefore(state.frame(at), chart.firstChild.lastChild);
  }

  const PAPER = {
    gain: { fill: "#27415f" }, loss: { fill: "#b4c3d3", stroke: "#27415f", "stroke-width": 0.5 },
    axis: { stroke: "#222222" }, grid: { stroke: "#dddddd" },
    mean: { stroke: "#222222", "stroke-dasharray": "5 4" },
  };

  function saveChart() {
    const copy = chart.firstChild.cloneNode(true);
    copy.querySelectorAll(".over, .chosen").forEach((part) => part.remove());
    for (const [name, values] of Object.entries(PAPER)) {
      copy.querySelectorAll(`.${name}`).forEach((part) => fill(part, values, []));
    }
    if (copy.classList.contains("many")) {
      copy.querySelectorAll(".loss").forEach((part) => part.removeAttribute("stroke"));
    }
    copy.querySelectorAll("text").forEach((part) =>
      fill(part, { fill: "#222222", "font-size": 11, "font-family": "sans-serif" }, []));
    [copy, ...copy.querySelectorAll("[class]")].forEach((part) => part.removeAttribute("class"));
    copy.setAttribute("width", copy.getAttribute("viewBox").split(" ")[2]);
    const names = [data.measures[state.measure], data.runs[state.run], isSingleRun ? "" : data.runs[state.base]];
    const file = names.filter(Boolean).join("_").replace(/[^\w.+@=-]+/g, "-");
    const text = new XMLSerializer().serializeToString(copy);
    const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    const link = make("a", { href: address, download: `differences_${file}.svg` });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  // --- the table of queries ---

  function number(value, text) {
    return make("td", { class: "number", "data-value": value }, text);
  }

  function fillList() {
    const rows = state.rows.map((row) => {
      const pick = make("button", { type: "button", class: "choose" }, bdi(row.query.id));
      const line = make("tr", {}, make("th", { scope: "row" }, pick),
        make("td", { class: "words" }, bdi(row.query.text)),
        ...(isSingleRun ? [] : [number(row.base, score(row.base))]), number(row.run, score(row.run)),
        ...(isSingleRun ? [] : [number(row.by, signed(row.by))]));
      line.addEventListener("click", () => choose(row.query));
      row.line = line;
      row.words = `${row.query.id}\n${row.query.text}`.toLowerCase();
      return line;
    });
    list.tBodies[0].replaceChildren(...rows);
    citebed.show(list, columns.length - 1, -1);
    applyFilter();
    markChosen();
  }

  function applyFilter() {
    const wanted = filter.value.trim().toLowerCase();
    let shown = 0;
    for (const row of state.rows) {
      row.line.hidden = !row.words.includes(wanted);
      if (!row.line.hidden) shown += 1;
    }
    matchNote.textContent = wanted ? `${shown} of ${state.rows.length} queries` : "";
  }

  function markChosen() {
    for (const row of state.rows) {
      if (row.query === state.chosen) row.line.setAttribute("aria-current", "true");
      else row.line.removeAttribute("aria-current");
    }
  }

  // --- one query ---

  function choose(query) {
    state.chosen = query;
    history.replaceState(null, "", `#q=${encodeURIComponent(query.id)}`);
    markChosen();
    frameChosen();
    showDetail();
    const head = detail.querySelector("h3");
    head.focus({ preventScroll: true });
    head.scrollIntoView({ block: "start" });
  }

  /* Choose the next visible query of the table. */
  function move(by) {
    const lines = [...list.tBodies[0].rows].filter((line) => !line.hidden);
    const now = lines.findIndex((line) => line.hasAttribute("aria-current"));
    const next = lines[now + by];
    if (next) choose(state.rows.find((row) => row.line === next).query);
  }

  function showDetail() {
    const query = state.chosen;
    if (!query) return;
    const sides = isSingleRun ? [state.run] : [state.base, state.run];
    detail.replaceChildren(
      make("h3", { tabindex: -1 }, "Query ", bdi(query.id)),
      make("div", { class: "moves" }, button("← Previous", () => move(-1)), button("Next →", () => move(1))),
      query.text ? make("blockquote", { dir: "auto" }, query.text)
        : make("p", { class: "quiet" }, "The text of this query is unknown (see --queries)."),
      box("", "Scores of the query", scoresOf(query, sides)),
      make("p", { class: "quiet" }, `✓ marks relevant documents (grade 1 or above; this query has `
        + `${query.r}); “unjudged” marks documents without a judgement.`),
      make("div", { class: "sides" }, ...sides.map((run, at) => ranking(query, run, sides[1 - at]))),
      missing(query, sides));
  }

  function scoresOf(query, sides) {
    return table("Its scores", [["run", ""], ...data.measures.map((name) => [name, "number"])],
      sides.map((run) => make("tr", {}, make("th", { scope: "row" }, bdi(data.runs[run])),
        ...query.v[run].map((value) => make("td", { class: "number" }, score(value))))));
  }

  function documentCell(at) {
    const title = data.titles[at];
    return make("td", { class: "document" }, bdi(data.documents[at]),
      title ? make("small", {}, bdi(title)) : null);
  }
  function gradeCell(grade) {
    const text = grade > 0 ? `✓ ${grade}` : grade < 0 ? "unjudged" : String(grade);
    return make("td", { class: "grade" }, text);
  }

  /* Format numbers with as many decimals as the longest of them. */
  function aligned(numbers) {
    const texts = numbers.map(String);
    if (texts.some((text) => text.includes("e"))) return texts;
    const decimals = Math.max(0, ...texts.map((text) => (text.split(".")[1] || "").length));
    return numbers.map((x) => x.toFixed(decimals).replace("-", "−"));
  }

  function ranking(query, run, other) {
    const ranks = query.k[run];
    const first = ranks.map((rank, at) => at)
      .filter((at) => ranks[at] > 0 && ranks[at] <= data.depth).sort((a, b) => ranks[a] - ranks[b]);
    const columns = [["rank", "number"], ["document", ""], ["score", "number"], ["grade", ""],
      ...(isSingleRun ? [] : [["in the other", "number"]])];
    const scores = aligned(query.s[run]);
    const rows = first.map((at, place) => make("tr", { class: query.g[at] > 0 ? "relevant" : null },
      make("th", { scope: "row", class: "number" }, String(ranks[at])), documentCell(query.d[at]),
      make("td", { class: "number" }, scores[place]), gradeCell(query.g[at]),
      isSingleRun ? null : make("td", { class: "number" }, query.k[other][at] ? String(query.k[other][at]) : "–")));
    const name = data.runs[run];
    const role = isSingleRun ? "" : run === state.base ? " (base)" : " (run)";
    return make("div", {}, make("h4", {}, bdi(name), role), rows.length
      ? box("", `Ranking of ${name}`, table(`First ${rows.length} documents`, columns, rows))
      : make("p", {}, "The run has no documents for this query."));
  }

  function missing(query, sides) {
    const relevant = query.g.map((grade, at) => at).filter((at) => query.g[at] > 0);
    const absent = relevant.filter((at) =>
      sides.every((run) => query.k[run][at] === 0 || query.k[run][at] > data.depth));
    const more = query.r - relevant.length;
    const which = isSingleRun ? `the first ${data.depth}` : `the first ${data.depth} of either`;
    if (!absent.length && !more) {
      return make("p", {}, query.r ? `Every relevant document is among ${which}.` : "No document is relevant to this query.");
    }
    const rows = absent.map((at) => make("tr", { class: "relevant" }, documentCell(query.d[at]),
      gradeCell(query.g[at]), ...sides.map((run) =>
        make("td", { class: "number" }, query.k[run][at] ? String(query.k[run][at]) : "not retrieved"))));
    const caption = `Relevant, but not among ${which}: ${absent.length}`
      + (more ? `; ${more} more relevant documents are not listed` : "");
    const heads = isSingleRun ? ["its rank"] : ["rank in base", "rank in run"];
    const columns = [["document", ""], ["grade", ""], ...heads.map((name) => [name, "number"])];
    return make("div", { class: "missing" }, make("h4", {}, "Not found"), box("", caption, table(caption, columns, rows)));
  }

  new ResizeObserver(() => {
    if (chart.clientWidth && chart.clientWidth !== state.width) drawChart();
  }).observe(chart);
  update();
  if (state.rows.length) {
    state.chosen = state.rows[0].query;
    markChosen();
    frameChosen();
    showDetail();
  }

  /* Choose the query in the URL. */
  function fromAddress() {
    if (!location.hash.startsWith("#q=")) return;
    let wanted = location.hash.slice(3);
    try { wanted = decodeURIComponent(wanted); } catch { /* use the text unchanged */ }
    const row = state.rows.find((each) => each.query.id === wanted);
    if (row) choose(row.query);
  }
  addEventListener("hashchange", fromAddress);
  fromAddress();
})();
