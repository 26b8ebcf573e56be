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
    card.offer(make("a", { href: address, class: "button small" }, `Open ${job.collection}`));
    if (wasSeen) location.href = address;
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

dropZone($("drop"), (given) => {
  files = given;
  $("chosen").replaceChildren(described(files));
  if (!name.value) name.value = given[0].path.split("/")[0].replace(/\.[^.]+$/, "");
  name.focus();
});
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
