// Experiments: what is chosen stands in the address; scores follow a moment after the last change.

import { api, ask, collection, make, onKey, tell } from "./frame.js";
import { dropZone, formOf, sizeOf } from "./dropping.js";
import { JobList } from "./jobs.js";
import { tableOf } from "./tabling.js";

const $ = (id) => document.getElementById(id);
const WAIT = 150;
const USUAL = ["nDCG@10", "R@10", "AP"];
let held = null;
let chosen = null;
let waiting = 0;
let asking = null;

// --- the choice, and the address

function fromAddress() {
  const asked = new URLSearchParams(location.search);
  const several = (name, otherwise) => asked.has(name) ? asked.getAll(name).filter(Boolean) : otherwise;
  const oneOf = (name, known, usual) => known.includes(asked.get(name)) ? asked.get(name) : usual;
  const qrels = oneOf("qrels", held.judgements.map((each) => each.qrels), firstJudged());
  return {
    qrels, runs: inOrder(several("run", usualRuns(qrels))), measures: several("m", USUAL),
    baseline: asked.get("baseline") ?? "", pairs: asked.get("pairs") ?? "",
    test: oneOf("test", held.tests, "t"), correct: oneOf("correct", held.corrections, "holm"),
    cluster: asked.get("cluster") ?? "", complete: asked.get("complete") ?? "",
    other: asked.get("other") ?? "", slices: asked.get("slices") ?? "",
  };
}

/* The judgements of the queries that were searched with last, else the first. */
function firstJudged() {
  const known = held.judgements.map((each) => each.qrels);
  return held.runs.map((run) => run.queries).findLast((name) => known.includes(name)) ?? known[0] ?? "";
}

const ofSet = (run, qrels) => !run.queries || run.queries === qrels.split("/").pop() || !(run.queries in held.query_sets);
const usualRuns = (qrels) => held.runs.filter((run) => run.queries === qrels).slice(-5).map((run) => run.run);

/* Runs in the order of the list, which tables have too; what is not there any more is left out. */
const inOrder = (names) => held.runs.map((run) => run.run).filter((run) => names.includes(run));

/* All are compared with the first, unless another is chosen, or all pairs are. */
const allPairs = () => Boolean(chosen.pairs) || chosen.correct === "tukey";
const baseline = () => allPairs() ? "" : chosen.baseline || chosen.runs[0] || "";

function address(...more) {
  const asked = new URLSearchParams({ qrels: chosen.qrels });
  for (const run of chosen.runs) asked.append("run", run);
  for (const measure of chosen.measures) asked.append("m", measure);
  asked.append("correct", chosen.correct);
  for (const name of ["baseline", "pairs", "test", "cluster", "complete", ...more]) {
    const usual = { test: "t" }[name] ?? "";
    if (chosen[name] && chosen[name] !== usual) asked.append(name, chosen[name]);
  }
  if (!chosen.runs.length) asked.append("run", "");
  return `?${asked}`;
}

// --- what is shown of it

const option = (value, text, isChosen) => make("option", { value, selected: isChosen }, text ?? value);

function choose(change) {
  Object.assign(chosen, change);
  chosen.runs = inOrder(chosen.runs);
  if (!chosen.runs.includes(chosen.baseline)) chosen.baseline = "";
  history.replaceState(null, "", address("other", "slices"));
  draw();
  clearTimeout(waiting);
  waiting = setTimeout(score, WAIT);
}

function draw() {
  $("qrels").replaceChildren(...held.judgements.map((each) =>
    option(each.qrels, `${each.qrels}${each.origin === "query set" ? "" : ` · ${each.origin}`} (${each.queries.toLocaleString("en")})`, each.qrels === chosen.qrels)));
  drawRuns();
  drawMeasures();
  const picked = held.runs.filter((run) => chosen.runs.includes(run.run));
  $("baseline").replaceChildren(...picked.map((run) => option(run.run, run.name, run.run === baseline())), option("", "none: all pairs", allPairs()));
  $("fold-said").textContent = [chosen.qrels, `${chosen.runs.length} ${chosen.runs.length === 1 ? "run" : "runs"}`, chosen.measures.join(", ")].filter(Boolean).join(" · ");
  for (const [id, names] of [["test", held.tests], ["correct", held.corrections]]) {
    $(id).replaceChildren(...names.map((name) => option(name, name, name === chosen[id])));
  }
  for (const id of ["cluster", "complete"]) $(id).checked = Boolean(chosen[id]);
  drawCloser();
}

function runChoice(run) {
  const about = [run.model, run.depth && `depth ${run.depth}`, run.time.slice(0, 16).replace("T", " ")].filter(Boolean).join(" · ");
  return make("div", { class: "run" }, make("label", {},
    make("input", { type: "checkbox", value: run.run, checked: chosen.runs.includes(run.run) }),
    make("span", {}, make("strong", {}, run.name), make("small", {}, about || sizeOf(run.bytes)),
      run.old ? make("small", { class: "old" }, run.old) : null)),
  make("button", { type: "button", class: "icon remove", "aria-label": `Remove ${run.name}`, title: "Remove this run", onclick: () => removeRun(run) }, "×"));
}

async function removeRun(run) {
  if (!confirm(`Remove the run ${run.name}? Its file ${run.run} is deleted from the collection.`)) return;
  try {
    await ask(`${api("runs")}?run=${encodeURIComponent(run.run)}`, { method: "DELETE" });
    tell(`Removed: ${run.name}`);
    await reload();
    choose({});
  } catch (error) {
    tell(error.message);
  }
}

function drawRuns() {
  const focused = document.activeElement?.value;
  const here = held.runs.filter((run) => ofSet(run, chosen.qrels) || chosen.runs.includes(run.run));
  const others = held.runs.filter((run) => !here.includes(run));
  $("runs").replaceChildren(...here.map(runChoice));
  $("other-runs").hidden = !others.length;
  $("other-runs").querySelector(".runs").replaceChildren(...others.map(runChoice));
  $("no-runs").hidden = held.runs.length > 0;
  if (focused) $("choices").querySelector(`.run input[value="${CSS.escape(focused)}"]`)?.focus();
}

function drawMeasures() {
  $("measures").replaceChildren(...chosen.measures.map((name) => make("button", {
    type: "button", class: "chip", "aria-label": `Leave out ${name}`, title: aboutMeasure(name),
    onclick: () => choose({ measures: chosen.measures.filter((each) => each !== name) }),
  }, name, make("span", { "aria-hidden": "true" }, " ×"))));
}

const aboutMeasure = (name) => {
  const base = name.split(/[@(]/)[0].toLowerCase();
  return held.measures.find((each) => each.name.split(/[@(]/)[0].toLowerCase() === base)?.about ?? "";
};

function drawCloser() {
  $("closer").hidden = !chosen.runs.length || !chosen.qrels;
  const others = held.judgements.find((each) => each.qrels === chosen.qrels)?.shares ?? [];
  if (!others.includes(chosen.other)) chosen.other = others[0] ?? "";
  $("other").replaceChildren(...others.map((name) => option(name, name, name === chosen.other)));
  $("contrast").parentElement.hidden = !others.length;
  $("slices").value = chosen.slices;
  const at = `/c/${encodeURIComponent(collection)}/experiments`;
  const pages = { report: `report${address()}#by-query`, contrast: `contrast${address("other")}`, timeline: `timeline${address("slices")}` };
  for (const [name, page] of Object.entries(pages)) {
    if ($("closer").hidden || name === "contrast" && !others.length) $(name).removeAttribute("href"); // nothing to show
    else $(name).href = `${at}/${page}`;
  }
}

// --- scores

async function score() {
  asking?.abort();
  asking = new AbortController();
  $("problem").hidden = true;
  if (!chosen.runs.length || !chosen.qrels) {
    $("scores").replaceChildren(make("p", { class: "quiet" }, held.judgements.length
      ? "Choose runs to see their scores." : "This collection has no judgements: drop qrels here, or import citing papers."));
    return;
  }
  $("scores").setAttribute("aria-busy", "true");
  if (!$("scores").querySelector("table")) $("scores").replaceChildren(make("p", { class: "quiet" }, "Scoring …"));
  const json = {
    qrels: chosen.qrels, runs: chosen.runs, measures: chosen.measures, baseline: baseline() || null,
    test: chosen.test, correct: chosen.correct, cluster: chosen.cluster ? "paper" : null, complete: Boolean(chosen.complete),
  };
  try {
    const found = await ask(api("scores"), { method: "POST", json, signal: asking.signal });
    if (found.refused.length) refuseMeasures(found.refused);
    const ending = sharedEnding();
    $("scores").replaceChildren(...found.tables.map((table) => tableOf(shorter(table, ending))),
      make("ul", { class: "quiet notes" }, found.notes.map((note) => make("li", {}, note))));
  } catch (error) {
    if (error.name === "AbortError") return;
    $("problem").textContent = error.message;
    $("problem").hidden = false;
    $("scores").replaceChildren();
  }
  $("scores").removeAttribute("aria-busy");
}

/* What all names of runs end in, from a dot on: nobody has to read it in every row. */
function sharedEnding() {
  const names = held.runs.filter((run) => chosen.runs.includes(run.run)).map((run) => run.name);
  if (names.length < 2) return "";
  const first = names[0];
  const dots = [...first].map((sign, at) => sign === "." ? at : -1).filter((at) => at > 0);
  const ending = dots.map((at) => first.slice(at)).find((end) => names.every((name) => name.endsWith(end) && name.length > end.length));
  return ending ?? "";
}

function shorter(table, ending) {
  const isName = table.columns.map(({ head }) => ["run", "base"].includes(head));
  const short = (of) => ending && of.text.endsWith(ending) ? { ...of, text: of.text.slice(0, -ending.length), whole: of.text } : of;
  const caption = ending ? table.caption.replace(ending, "") : table.caption;
  return {
    ...table, caption: ending ? `${caption}; names end in ${ending}` : caption,
    rows: table.rows.map((row) => row.map((of, at) => isName[at] ? short(of) : of)),
  };
}

/* What is no measure goes back to where it was typed, with why; the others are scored. */
function refuseMeasures(refused) {
  const names = refused.map((each) => each.measure);
  const left = chosen.measures.filter((name) => !names.includes(name));
  chosen.measures = left.length ? left : [...USUAL];
  history.replaceState(null, "", address("other", "slices"));
  draw();
  $("measure").value = names.at(-1);
  $("measure-about").replaceChildren(...refused.map((each) => make("span", { class: "problem" }, each.why.replace(/(Did you mean '[^']*'\?) Known: .*/s, "$1"))));
  if (!left.length) setTimeout(score);
}

async function reload() {
  held = await ask(api("experiments"));
  held.runs.reverse();  // the oldest first, here as in tables
  $("models-all").replaceChildren(option("", "choose …"), ...held.models.map((each) => option(each.name, `${each.name}: ${each.about}`)));
  $("measures-known").replaceChildren(...held.measures.map((each) => option(each.name, each.about)));
  $("models-known").replaceChildren(...held.models.map((each) => option(each.name, each.about)));
  const sets = Object.entries(held.query_sets);
  const before = $("queries").value || chosen?.qrels;
  $("queries").replaceChildren(...sets.map(([name, number]) => option(name, `${name} (${number.toLocaleString("en")})`, name === before)));
}

// --- searches

const jobs = new JobList($("jobs"), {
  kinds: ["search"],
  more: async (job, wasSeen, card) => {
    if (job.state !== "done") return;
    const { run, queries } = job.rows[0];
    const look = async () => {
      await reload();
      const same = held.judgements.some((each) => each.qrels === queries) && queries !== chosen.qrels;
      choose(same ? { qrels: queries, runs: [run] } : { runs: [...new Set([...chosen.runs, run])] });
    };
    card.offer(make("button", { type: "button", class: "small", "aria-label": `Look at it: ${run}`, onclick: look }, "Look at it"));
    if (wasSeen) {
      await reload();
      if (queries === chosen.qrels || !chosen.runs.length) await look();
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

function tellModel() {
  const typed = $("model").value.trim().toLowerCase();
  const bare = typed.replaceAll(/\([^)]*\)/g, "");
  const known = held.models.find((each) => each.name === typed) ?? held.models.find((each) => each.name === bare);
  $("model-about").textContent = known?.about ?? "A model, perhaps with parameters, and what follows it: bm25(k1=1.2,b=0.75)+rm3.";
}

async function takeIn(files) {
  try {
    const taken = await ask(api("runs", "files"), { method: "POST", form: formOf(files) });
    tellTaken(taken.files, taken.refused.map((each) => each.why));
    await reload();
    const runs = taken.files.filter((name) => name.startsWith("runs/")).map((name) => name.slice(5));
    choose({ runs: [...new Set([...chosen.runs, ...runs])] });
  } catch (error) {
    tellTaken([], error.message.split("\n"));
  }
}

function tellTaken(files, problems) {
  $("dropped").replaceChildren(
    ...(files.length ? [make("p", {}, `Now in the collection: ${files.join(", ")}`)] : []),
    ...problems.map((why) => make("p", { class: "problem" }, `Not taken: ${why}`)));
  $("dropped").scrollIntoView({ block: "center" });
}

function addMeasure() {
  const name = $("measure").value.trim();
  if (!name) return;
  $("measure").value = "";
  $("measure-about").textContent = "";
  if (!chosen.measures.includes(name)) choose({ measures: [...chosen.measures, name] });
}

$("qrels").addEventListener("change", (event) => {
  const qrels = event.target.value;
  const fitting = held.runs.filter((run) => chosen.runs.includes(run.run) && ofSet(run, qrels)).map((run) => run.run);
  choose({ qrels, runs: fitting.length ? fitting : usualRuns(qrels) });
});
$("choices").addEventListener("change", (event) => {
  if (!event.target.matches(".run input")) return;
  const { value, checked } = event.target;
  choose({ runs: checked ? [...chosen.runs, value] : chosen.runs.filter((each) => each !== value) });
});
$("baseline").addEventListener("change", ({ target }) => choose({
  baseline: target.value, pairs: target.value ? "" : "1", correct: target.value && chosen.correct === "tukey" ? "holm" : chosen.correct,
}));
for (const id of ["test", "correct", "other", "slices"]) $(id).addEventListener("change", (event) => choose({ [id]: event.target.value }));
$("cluster").addEventListener("change", (event) => choose({ cluster: event.target.checked ? "paper" : "" }));
$("complete").addEventListener("change", (event) => choose({ complete: event.target.checked ? "1" : "" }));
$("choices").addEventListener("submit", (event) => event.preventDefault());
$("measure").addEventListener("keydown", (event) => {
  if (event.key === "Enter") addMeasure();
});
$("measure").addEventListener("input", (event) => {
  $("measure-about").textContent = aboutMeasure(event.target.value);
  if (event.inputType === undefined || event.inputType === "insertReplacementText") addMeasure();  // one of the list
});
$("model").addEventListener("input", tellModel);
$("search").addEventListener("submit", begin);
$("models-all").addEventListener("change", ({ target }) => {
  if (target.value) $("model").value = target.value;
  target.value = "";
  tellModel();
});
dropZone(document.body, takeIn);
const narrow = matchMedia("(max-width: 60rem)");
const fold = () => {
  $("fold").open = !narrow.matches;
};
narrow.addEventListener("change", fold);
fold();
onKey("/", () => {
  $("fold").open = true;
  $("measure").focus();
});
onKey("r", () => $("model").focus());
onKey("q", () => $("report").click());
addEventListener("popstate", () => {
  chosen = fromAddress();
  draw();
  score();
});

await reload();
chosen = fromAddress();
if (chosen.qrels in held.query_sets) $("queries").value = chosen.qrels;
draw();
tellModel();
await jobs.look();
citebedReady();
await score();
