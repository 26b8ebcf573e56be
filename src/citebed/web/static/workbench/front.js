// The start page: try the demo, or create a collection from dropped files.

import { make } from "./frame.js";
import { describeFiles, dropZone, makeForm } from "./dropping.js";
import { JobList } from "./jobs.js";

const $ = (id) => document.getElementById(id);
const name = $("name");
let files = [];

const jobs = new JobList($("jobs"), {
  kinds: ["demo", "import"], of: "",
  more: (job, wasSeen, card) => {
    if (job.state !== "done") return;
    const address = `/c/${encodeURIComponent(job.collection)}/recommend`;
    const unread = / could not be read$/.test(job.summary);
    if (unread) card.offer(make("a", { href: `/c/${encodeURIComponent(job.collection)}/collection#problems`, class: "button small" }, "Show what could not be read"));
    card.offer(make("a", { href: address, class: "button small" }, `Open ${job.collection}`));
    if (wasSeen && !unread) location.href = address;
    else if (wasSeen) card.element.scrollIntoView({ block: "center" });
  },
});

function showProblem(error) {
  $("problem").textContent = error.message;
  $("problem").hidden = false;
}

async function begin(work) {
  $("problem").hidden = true;
  try {
    await work();
  } catch (error) {
    showProblem(error);
  }
}

/* Show the name that citebed will use if the typed one is not a valid folder name. */
function showFolderName() {
  const wanted = name.value.trim();
  const fit = wanted.replaceAll(/[<>:"|?*\\/]/g, "_").replaceAll(/^[ .]+|[ .]+$/g, "");
  $("name-about").textContent = fit === wanted ? "" : `This is not a valid folder name. citebed will use “${fit || "collection"}”.`;
}

dropZone(document.body, (dropped) => {
  files = dropped;
  $("chosen").replaceChildren(describeFiles(files));
  if (!name.value) name.value = dropped[0].path.split("/")[0].replace(/\.[^.]+$/, "");
  showFolderName();
  name.focus();
  name.select();
});
name.addEventListener("input", showFolderName);
$("demo").addEventListener("click", () => begin(() => jobs.begin("/api/demo")));
$("new").addEventListener("submit", (event) => {
  event.preventDefault();
  if (!files.length) return showProblem(new Error("Drop or choose at least one file first."));
  begin(async () => {
    await jobs.begin("/api/collections/files", { form: makeForm(files, { name: name.value }) });
    files = [];
    $("chosen").replaceChildren();
  });
});
await jobs.look();
citebedReady();
