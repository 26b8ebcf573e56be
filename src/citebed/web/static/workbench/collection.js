// The room of a collection: what is in it, how more comes in, what is wrong with it and how to mend it.

import { api, ask, make, onKey, tell } from "./frame.js";
import { described, dropZone, formOf } from "./dropping.js";
import { JobList } from "./jobs.js";
import { plainTable, tableOf } from "./tabling.js";

const $ = (id) => document.getElementById(id);
const ORDER = ["error", "warning", "note"];
let lastLint = "";

// --- jobs: imports and indexes; checks have a place of their own

const jobs = new JobList($("jobs"), {
  kinds: ["import", "index", "demo"],
  more: (job, wasSeen, card) => {
    if (job.state !== "done") return;
    if (/ could not be read$/.test(job.summary)) card.offer(make("a", { href: "#problems", class: "button small" }, "Show"));
    if (wasSeen) refresh();
  },
});
const checks = new JobList($("checks"), { kinds: ["lint"], more: showFindings });

async function send(files) {
  const status = $("sending");
  status.replaceChildren("Sending ", described(files), " …");
  try {
    await jobs.begin(api("import", "files"), { form: formOf(files) });
    status.textContent = "";
  } catch (error) {
    status.replaceChildren(make("span", { class: "problem" }, error.message));
  }
}

const begin = (list, ...address) => async () => {
  try {
    await list.begin(api(...address));
  } catch (error) {
    tell(error.message);
  }
};

// --- what lint found

function showFindings(job) {
  if (job.state !== "done" || job.ended < lastLint) return;
  lastLint = job.ended;
  const byCheck = Map.groupBy ? Map.groupBy(job.rows, (row) => row.check) : grouped(job.rows);
  const groups = [...byCheck.values()];
  const hits = groups.filter(([first]) => first.count).sort(([a], [b]) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity));
  const passed = groups.filter(([first]) => !first.count).map(([first]) => first.title);
  $("findings-section").hidden = false;
  $("findings").replaceChildren(...hits.map(finding),
    make("details", {}, make("summary", {}, `${passed.length} checks found nothing`),
      make("ul", { class: "quiet" }, passed.map((title) => make("li", {}, title)))));
}

function grouped(rows) {
  const groups = new Map();
  for (const row of rows) groups.set(row.check, [...(groups.get(row.check) ?? []), row]);
  return groups;
}

function finding(rows) {
  const [first] = rows;
  const examples = rows.filter((row) => row.what !== null);
  const rest = first.count - examples.length;
  return make("article", { class: "finding", "data-severity": first.severity },
    make("h3", {}, make("span", { class: "pill", "data-severity": first.severity }, first.severity),
      ` ${first.title} `, make("span", { class: "quiet" }, first.count.toLocaleString("en"))),
    make("ul", { class: "plain examples" }, examples.map((row) => make("li", {},
      row.place ? make("code", {}, row.place) : null, row.id ? make("strong", {}, ` ${row.id} `) : " ", row.what)),
      rest > 0 ? make("li", { class: "quiet" }, `… and ${rest.toLocaleString("en")} more`) : null),
    make("p", {}, make("strong", {}, "To mend it: "), first.mend));
}

// --- what is in it

async function refresh() {
  try {
    const [stands, stats, sources, problems] = await Promise.all(
      [api(), api("stats"), api("sources"), `${api("problems")}?limit=100`].map((at) => ask(at)));
    showStanding(stands);
    $("statistics").replaceChildren(...stats.tables.map((table) => tableOf(table)),
      ...stats.notes.map((note) => make("p", { class: "problem" }, note)));
    $("sources").replaceChildren(plainTable("What was imported", ["source", "#files"], sources.rows.map((row) => [row.path, row.files.toLocaleString("en")])));
    $("problems").replaceChildren(problems.total
      ? plainTable(`What could not be read as it was (${problems.total > problems.rows.length ? `the first ${problems.rows.length} of ` : ""}${problems.total.toLocaleString("en")})`,
        ["what became of it", "where", "what"], problems.rows.map((row) => [row.kind, `${row.source}:${row.line}`, row.what]))
      : make("p", { class: "quiet" }, "Everything could be read."));
  } catch (error) {
    $("statistics").replaceChildren(make("p", { class: "problem" }, error.message));
  }
}

function showStanding(stands) {
  $("said").textContent = stands.said.join(" · ");
  $("skipped").hidden = !stands.skipped;
  $("skipped").firstElementChild.textContent = `${stands.skipped === 1 ? "1 entry or file" : `${stands.skipped.toLocaleString("en")} entries or files`} could not be read:`;
  const state = $("index-state");
  state.textContent = stands.index_said;
  state.dataset.state = stands.index;
  $("index").hidden = stands.index === "current";
}

dropZone(document.body, send);
$("index").addEventListener("click", begin(jobs, "jobs", "index"));
$("lint").addEventListener("click", begin(checks, "jobs", "lint"));
onKey("i", () => $("choose-files").click());
onKey("v", () => $("lint").click());
await Promise.all([jobs.look(), checks.look()]);
citebedReady();
await refresh();
$("statistics").setAttribute("aria-busy", "false");
if (location.hash === "#problems") $("problems").scrollIntoView();
