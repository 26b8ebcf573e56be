// Experiments: the URL stores the selection; scores are computed shortly after the last change.

import { api, collection, make, onKey, request, showToast } from "./frame.js";
import { dropZone, formatSize, makeForm } from "./dropping.js";
import { JobList } from "./jobs.js";
import { makeTable } from "./tabling.js";

const $ = (id) => document.getElementById(id);
const WAIT = 150; // milliseconds
const DEFAULT_MEASURES = ["nDCG@10", "R@10", "AP"];
let available = null;
let selection = null;
let timer = 0;
let pending = null;

// --- the selection and the URL

function fromAddress() {
  const params = new URLSearchParams(location.search);
  const several = (name, otherwise) => params.has(name) ? params.getAll(name).filter(Boolean) : otherwise;
  const oneOf = (name, known, usual) => known.includes(params.get(name)) ? params.get(name) : usual;
  const qrels = oneOf("qrels", available.judgements.map((each) => each.qrels), firstJudged());
  return {
    qrels, runs: inOrder(several("run", usualRuns(qrels))), measures: several("m", DEFAULT_MEASURES),
    baseline: params.get("baseline") ?? "", pairs: params.get("pairs") ?? "",
    test: oneOf("test", available.tests, "t"), correct: oneOf("correct", available.corrections, "holm"),
    cluster: params.get("cluster") ?? "", complete: params.get("complete") ?? "",
    other: params.get("other") ?? "", slices: params.get("slices") ?? "",
  };
}

/* Return the judgements of the latest run's queries, else the first judgements. */
function firstJudged() {
  const known = available.judgements.map((each) => each.qrels);
  return available.runs.map((run) => run.queries).findLast((name) => known.includes(name)) ?? known[0] ?? "";
}

const isOfQuerySet = (run, qrels) => !run.queries || run.queries === qrels.split("/").pop() || !(run.queries in available.query_sets);
const usualRuns = (qrels) => available.runs.filter((run) => run.queries === qrels).slice(-5).map((run) => run.run);

/* Return the existing runs among these names, in the order of the list and of the tables. */
const inOrder = (names) => available.runs.map((run) => run.run).filter((run) => names.includes(run));

/* The first run is the baseline unless the user chose another one or all pairs. */
const allPairs = () => Boolean(selection.pairs) || selection.correct === "tukey";
const baseline = () => allPairs() ? "" : selection.baseline || selection.runs[0] || "";

function address(...more) {
  const params = new URLSearchParams({ qrels: selection.qrels });
  for (const run of selection.runs) params.append("run", run);
  for (const measure of selection.measures) params.append("m", measure);
  params.append("correct", selection.correct);
  for (const name of ["baseline", "pairs", "test", "cluster", "complete", ...more]) {
    const usual = { test: "t" }[name] ?? "";
    if (selection[name] && selection[name] !== usual) params.append(name, selection[name]);
  }
  if (!selection.runs.length) params.append("run", "");
  return `?${params}`;
}

// --- display

const option = (value, text, isChosen) => make("option", { value, selected: isChosen }, text ?? value);

function select(change) {
  Object.assign(selection, change);
  selection.runs = inOrder(selection.runs);
  if (!selection.runs.includes(selection.baseline)) selection.baseline = "";
  history.replaceState(null, "", address("other", "slices"));
  draw();
  clearTimeout(timer);
  timer = setTimeout(score, WAIT);
}

function draw() {
  $("qrels").replaceChildren(...available.judgements.map((each) =>
    option(each.qrels, `${each.qrels}${each.origin === "query set" ? "" : ` · ${each.origin}`} (${each.queries.toLocaleString("en")})`, each.qrels === selection.qrels)));
  drawRuns();
  drawMeasures();
  const picked = available.runs.filter((run) => selection.runs.includes(run.run));
  $("baseline").replaceChildren(...picked.map((run) => option(run.run, run.name, run.run === baseline())), option("", "none: all pairs", allPairs()));
  $("fold-said").textContent = [selection.qrels, `${selection.runs.length} ${selection.runs.length === 1 ? "run" : "runs"}`, selection.measures.join(", ")].filter(Boolean).join(" · ");
  for (const [id, names] of [["test", available.tests], ["correct", available.corrections]]) {
    $(id).replaceChildren(...names.map((name) => option(name, name, name === selection[id])));
  }
  for (const id of ["cluster", "complete"]) $(id).checked = Boolean(selection[id]);
  drawLinks();
}

function runChoice(run) {
  const about = [run.model, run.depth && `depth ${run.depth}`, run.time.slice(0, 16).replace("T", " ")].filter(Boolean).join(" · ");
  return make("div", { class: "run" }, make("label", {},
    make("input", { type: "checkbox", value: run.run, checked: selection.runs.includes(run.run) }),
    make("span", {}, make("strong", {}, run.name), make("small", {}, about || formatSize(run.bytes)),
      run.old ? make("small", { class: "old" }, run.old) : null)),
  make("button", { type: "button", class: "icon remove", "aria-label": `Remove ${run.name}`, title: "Remove this run", onclick: () => removeRun(run) }, "×"));
}

async function removeRun(run) {
  if (!confirm(`Remove the run ${run.name}? Its file ${run.run} is deleted from the collection.`)) return;
  try {
    await request(`${api("runs")}?run=${encodeURIComponent(run.run)}`, { method: "DELETE" });
    showToast(`Removed: ${run.name}`);
    await loadAvailable();
    select({});
  } catch (error) {
    showToast(error.message);
  }
}

function drawRuns() {
  const focused = document.activeElement?.value;
  const here = available.runs.filter((run) => isOfQuerySet(run, selection.qrels) || selection.runs.includes(run.run));
  const others = available.runs.filter((run) => !here.includes(run));
  $("runs").replaceChildren(...here.map(runChoice));
  $("other-runs").hidden = !others.length;
  $("other-runs").querySelector(".runs").replaceChildren(...others.map(runChoice));
  $("no-runs").hidden = available.runs.length > 0;
  if (focused) $("choices").querySelector(`.run input[value="${CSS.escape(focused)}"]`)?.focus();
}

function drawMeasures() {
  $("measures").replaceChildren(...selection.measures.map((name) => make("button", {
    type: "button", class: "chip", "aria-label": `Remove ${name}`, title: aboutMeasure(name),
    onclick: () => select({ measures: selection.measures.filter((each) => each !== name) }),
  }, name, make("span", { "aria-hidden": "true" }, " ×"))));
}

const aboutMeasure = (name) => {
  const base = name.split(/[@(]/)[0].toLowerCase();
  return available.measures.find((each) => each.name.split(/[@(]/)[0].toLowerCase() === base)?.about ?? "";
};

function drawLinks() {
  $("closer").hidden = !selection.runs.length || !selection.qrels;
  const others = available.judgements.find((each) => each.qrels === selection.qrels)?.shares ?? [];
  if (!others.includes(selection.other)) selection.other = others[0] ?? "";
  $("other").replaceChildren(...others.map((name) => option(name, name, name === selection.other)));
  $("contrast").parentElement.hidden = !others.length;
  $("slices").value = selection.slices;
  const at = `/c/${encodeURIComponent(collection)}/experiments`;
  const pages = { report: `report${address()}#by-query`, contrast: `contrast${address("other")}`, timeline: `timeline${address("slices")}` };
  for (const [name, page] of Object.entries(pages)) {
    if ($("closer").hidden || name === "contrast" && !others.length) $(name).removeAttribute("href"); // nothing to show
    else $(name).href = `${at}/${page}`;
  }
}

// --- scores

async function score() {
  pending?.abort();
  pending = new AbortController();
  $("problem").hidden = true;
  if (!selection.runs.length || !selection.qrels) {
    $("scores").replaceChildren(make("p", { class: "quiet" }, available.judgements.length
      ? "Choose runs to see their scores." : "This collection has no judgements: drop qrels here, or import citing papers."));
    return;
  }
  $("scores").setAttribute("aria-busy", "true");
  if (!$("scores").querySelector("table")) $("scores").replaceChildren(make("p", { class: "quiet" }, "Scoring …"));
  const json = {
    qrels: selection.qrels, runs: selection.runs, measures: selection.measures, baseline: baseline() || null,
    test: selection.test, correct: selection.correct, cluster: selection.cluster ? "paper" : null, complete: Boolean(selection.complete),
  };
  try {
    const response = await request(api("scores"), { method: "POST", json, signal: pending.signal });
    if (response.refused.length) refuseMeasures(response.refused);
    const ending = sharedEnding();
    $("scores").replaceChildren(...response.tables.map((table) => makeTable(withoutEnding(table, ending))),
      make("ul", { class: "quiet notes" }, response.notes.map((note) => make("li", {}, note))));
  } catch (error) {
    if (error.name === "AbortError") return;
    $("problem").textContent = error.message;
    $("problem").hidden = false;
    $("scores").replaceChildren();
  }
  $("scores").removeAttribute("aria-busy");
}

/* Return the ending that all names of runs share, from a dot on; tables leave it out. */
function sharedEnding() {
  const names = available.runs.filter((run) => selection.runs.includes(run.run)).map((run) => run.name);
  if (names.length < 2) return "";
  const first = names[0];
  const dots = [...first].map((sign, at) => sign === "." ? at : -1).filter((at) => at > 0);
  const ending = dots.map((at) => first.slice(at)).find((end) => names.every((name) => name.endsWith(end) && name.length > end.length));
  return ending ?? "";
}

function withoutEnding(table, ending) {
  const isName = table.columns.map(({ head }) => ["run", "base"].includes(head));
  const short = (of) => ending && of.text.endsWith(ending) ? { ...of, text: of.text.slice(0, -ending.length), whole: of.text } : of;
  const caption = ending ? table.caption.replace(ending, "") : table.caption;
  return {
    ...table, caption: ending ? `${caption}; names end in ${ending}` : caption,
    rows: table.rows.map((row) => row.map((of, at) => isName[at] ? short(of) : of)),
  };
}

/* Put an unknown measure back into its field, with the reason, and score the others. */
function refuseMeasures(refused) {
  const names = refused.map((each) => each.measure);
  const left = selection.measures.filter((name) => !names.includes(name));
  selection.measures = left.length ? left : [...DEFAULT_MEASURES];
  history.replaceState(null, "", address("other", "slices"));
  draw();
  $("measure").value = names.at(-1);
  $("measure-about").replaceChildren(...refused.map((each) => make("span", { class: "problem" }, each.why.replace(/(Did you mean '[^']*'\?) Known: .*/s, "$1"))));
  if (!left.length) setTimeout(score);
}

async function loadAvailable() {
  available = await request(api("experiments"));
  available.runs.reverse();  // oldest first, as in the tables
  $("models-all").replaceChildren(option("", "choose …"), ...available.models.map((each) => option(each.name, `${each.name}: ${each.about}`)));
  $("measures-known").replaceChildren(...available.measures.map((each) => option(each.name, each.about)));
  $("models-known").replaceChildren(...available.models.map((each) => option(each.name, each.about)));
  const sets = Object.entries(available.query_sets);
  const before = $("queries").value || selection?.qrels;
  $("queries").replaceChildren(...sets.map(([name, number]) => option(name, `${name} (${number.toLocaleString("en")})`, name === before)));
}

// --- searches

const jobs = new JobList($("jobs"), {
  kinds: ["search"],
  more: async (job, wasSeen, card) => {
    if (job.state !== "done") return;
    const { run, queries } = job.rows[0];
    const look = async () => {
      await loadAvailable();
      const same = available.judgements.some((each) => each.qrels === queries) && queries !== selection.qrels;
      select(same ? { qrels: queries, runs: [run] } : { runs: [...new Set([...selection.runs, run])] });
    };
    card.offer(make("button", { type: "button", class: "small", "aria-label": `Show ${run}`, onclick: look }, "Show"));
    if (wasSeen) {
      await loadAvailable();
      if (queries === selection.qrels || !selection.runs.length) await look();
      else draw();
    }
  },
});

async function begin(event) {
  event.preventDefault();
  $("search-problem").hidden = true;
  const json = { queries: $("queries").value, model: $("model").value.trim(), depth: Number($("depth").value) };
  try {
    await jobs.begin(api("jobs", "search"), { json });
  } catch (error) {
    $("search-problem").textContent = error.message;
    $("search-problem").hidden = false;
  }
}

function describeModel() {
  const typed = $("model").value.trim().toLowerCase();
  const bare = typed.replaceAll(/\([^)]*\)/g, "");
  const known = available.models.find((each) => each.name === typed) ?? available.models.find((each) => each.name === bare);
  $("model-about").textContent = known?.about ?? "A model, with optional parameters and steps: bm25(k1=1.2,b=0.75)+rm3.";
}

async function uploadRuns(files) {
  try {
    const uploaded = await request(api("runs", "files"), { method: "POST", form: makeForm(files) });
    showUploaded(uploaded.files, uploaded.refused.map((each) => each.why));
    await loadAvailable();
    const runs = uploaded.files.filter((name) => name.startsWith("runs/")).map((name) => name.slice(5));
    select({ runs: [...new Set([...selection.runs, ...runs])] });
  } catch (error) {
    showUploaded([], error.message.split("\n"));
  }
}

function showUploaded(files, problems) {
  $("dropped").replaceChildren(
    ...(files.length ? [make("p", {}, `Now in the collection: ${files.join(", ")}`)] : []),
    ...problems.map((why) => make("p", { class: "problem" }, `Not added: ${why}`)));
  $("dropped").scrollIntoView({ block: "center" });
}

function addMeasure() {
  const name = $("measure").value.trim();
  if (!name) return;
  $("measure").value = "";
  $("measure-about").textContent = "";
  if (!selection.measures.includes(name)) select({ measures: [...selection.measures, name] });
}

$("qrels").addEventListener("change", (event) => {
  const qrels = event.target.value;
  const fitting = available.runs.filter((run) => selection.runs.includes(run.run) && isOfQuerySet(run, qrels)).map((run) => run.run);
  select({ qrels, runs: fitting.length ? fitting : usualRuns(qrels) });
});
$("choices").addEventListener("change", (event) => {
  if (!event.target.matches(".run input")) return;
  const { value, checked } = event.target;
  select({ runs: checked ? [...selection.runs, value] : selection.runs.filter((each) => each !== value) });
});
$("baseline").addEventListener("change", ({ target }) => select({
  baseline: target.value, pairs: target.value ? "" : "1", correct: target.value && selection.correct === "tukey" ? "holm" : selection.correct,
}));
for (const id of ["test", "correct", "other", "slices"]) $(id).addEventListener("change", (event) => select({ [id]: event.target.value }));
$("cluster").addEventListener("change", (event) => select({ cluster: event.target.checked ? "paper" : "" }));
$("complete").addEventListener("change", (event) => select({ complete: event.target.checked ? "1" : "" }));
$("choices").addEventListener("submit", (event) => event.preventDefault());
$("measure").addEventListener("keydown", (event) => {
  if (event.key === "Enter") addMeasure();
});
$("measure").addEventListener("input", (event) => {
  $("measure-about").textContent = aboutMeasure(event.target.value);
  if (event.inputType === undefined || event.inputType === "insertReplacementText") addMeasure();  // chosen from the list
});
$("model").addEventListener("input", describeModel);
$("search").addEventListener("submit", begin);
$("models-all").addEventListener("change", ({ target }) => {
  if (target.value) $("model").value = target.value;
  target.value = "";
  describeModel();
});
dropZone(document.body, uploadRuns);
const narrow = matchMedia("(max-width: 60rem)");
const openIfWide = () => {
  $("fold").open = !narrow.matches;
};
narrow.addEventListener("change", openIfWide);
openIfWide();
onKey("/", () => {
  $("fold").open = true;
  $("measure").focus();
});
onKey("r", () => $("model").focus());
onKey("q", () => $("report").click());
addEventListener("popstate", () => {
  selection = fromAddress();
  draw();
  score();
});

await loadAvailable();
selection = fromAddress();
if (selection.qrels in available.query_sets) $("queries").value = selection.qrels;
draw();
describeModel();
await jobs.look();
citebedReady();
await score();
