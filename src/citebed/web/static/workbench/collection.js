// The page of a collection: its statistics, sources and problems, with imports, index and checks.

import { api, make, onKey, request, showToast } from "./frame.js";
import { describeFiles, dropZone, makeForm } from "./dropping.js";
import { JobList } from "./jobs.js";
import { makePlainTable, makeTable } from "./tabling.js";

const $ = (id) => document.getElementById(id);
const ORDER = ["error", "warning", "note"];
let lastLint = "";

// --- jobs: imports and indexes; checks have a list of their own

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
  status.replaceChildren("Sending ", describeFiles(files), " …");
  try {
    await jobs.begin(api("import", "files"), { form: makeForm(files) });
    status.textContent = "";
  } catch (error) {
    status.replaceChildren(make("span", { class: "problem" }, error.message));
  }
}

const begin = (list, ...address) => async () => {
  try {
    await list.begin(api(...address));
  } catch (error) {
    showToast(error.message);
  }
};

// --- findings of lint

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
    make("p", {}, make("strong", {}, "To fix it: "), first.mend));
}

// --- contents of the collection

async function refresh() {
  try {
    const [state, stats, sources, problems] = await Promise.all(
      [api(), api("stats"), api("sources"), `${api("problems")}?limit=100`].map((at) => request(at)));
    showState(state);
    $("statistics").replaceChildren(...stats.tables.map((table) => makeTable(table)),
      ...stats.notes.map((note) => make("p", { class: "problem" }, note)));
    $("sources").replaceChildren(makePlainTable("Imported files", ["source", "#files"], sources.rows.map((row) => [row.path, row.files.toLocaleString("en")])));
    $("problems").replaceChildren(problems.total
      ? makePlainTable(`Problems in these files (${problems.total > problems.rows.length ? `the first ${problems.rows.length} of ` : ""}${problems.total.toLocaleString("en")})`,
        ["result", "place", "problem"], problems.rows.map((row) => [row.kind, `${row.source}:${row.line}`, row.what]))
      : make("p", { class: "quiet" }, "No problems in these files."));
  } catch (error) {
    $("statistics").replaceChildren(make("p", { class: "problem" }, error.message));
  }
}

function showState(state) {
  $("said").textContent = state.said.join(" · ");
  $("skipped").hidden = !state.skipped;
  $("skipped").firstElementChild.textContent = `${state.skipped === 1 ? "1 entry or file" : `${state.skipped.toLocaleString("en")} entries or files`} could not be read:`;
  const label = $("index-state");
  label.textContent = state.index_said;
  label.dataset.state = state.index;
  $("index").hidden = state.index === "current";
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
