// The front door: try the demo, or make a collection of dropped files; then go there.

import { make } from "./frame.js";
import { described, dropZone, formOf } from "./dropping.js";
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

function refuse(error) {
  $("problem").textContent = error.message;
  $("problem").hidden = false;
}

async function begin(work) {
  $("problem").hidden = true;
  try {
    await work();
  } catch (error) {
    refuse(error);
  }
}

/* What a folder may not be called is told, with what it will be called. */
function tellName() {
  const wanted = name.value.trim();
  const fit = wanted.replaceAll(/[<>:"|?*\\/]/g, "_").replaceAll(/^[ .]+|[ .]+$/g, "");
  $("name-about").textContent = fit === wanted ? "" : `A folder cannot be called that: it will be “${fit || "collection"}”.`;
}

dropZone(document.body, (given) => {
  files = given;
  $("chosen").replaceChildren(described(files));
  if (!name.value) name.value = given[0].path.split("/")[0].replace(/\.[^.]+$/, "");
  tellName();
  name.focus();
  name.select();
});
name.addEventListener("input", tellName);
$("demo").addEventListener("click", () => begin(() => jobs.begin("/api/demo")));
$("new").addEventListener("submit", (event) => {
  event.preventDefault();
  if (!files.length) return refuse(new Error("Drop or choose at least one file first."));
  begin(async () => {
    await jobs.begin("/api/collections/files", { form: formOf(files, { name: name.value }) });
    files = [];
    $("chosen").replaceChildren();
  });
});
await jobs.look();
citebedReady();
