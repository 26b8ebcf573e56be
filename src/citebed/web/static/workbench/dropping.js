// Files that are dropped on a page, or chosen: folders are walked, and each file keeps its place in them.

import { make, tell } from "./frame.js";

const MOST = 5000;

/* All files of what was dropped, as {file, path}. */
async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files].map((file) => ({ file, path: file.name }));
  const found = [];
  for (const entry of entries) await walk(entry, "", found);
  return found;
}

async function walk(entry, above, found) {
  if (entry.name.startsWith(".") || found.length >= MOST) return;
  if (entry.isFile) {
    const file = await new Promise((done, failed) => entry.file(done, failed));
    found.push({ file, path: above + entry.name });
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    const some = await new Promise((done, failed) => reader.readEntries(done, failed));
    if (!some.length) return;
    for (const each of some) await walk(each, `${above}${entry.name}/`, found);
  }
}

const chosen = (input) => [...input.files].map((file) => ({ file, path: file.webkitRelativePath || file.name }));

export function formOf(files, more = {}) {
  const form = new FormData();
  for (const [name, value] of Object.entries(more)) form.append(name, value);
  for (const { file, path } of files) form.append("files", file, path);
  return form;
}

/* Text that is dragged about on a page goes where it is dropped. */
const hasFiles = (event) => [...event.dataTransfer?.types ?? []].includes("Files");
const isField = (target) => target.closest?.("textarea, input, [contenteditable]");

/* A link that is dropped by mistake does not lead away from the page. */
for (const type of ["dragover", "drop"]) {
  addEventListener(type, (event) => {
    if (hasFiles(event) || !isField(event.target)) event.preventDefault();
  });
}

/* A zone to drop files on; `take` gets them. Its inputs choose files, or a folder. */
export function dropZone(zone, take) {
  const given = async (files) => {
    if (!files.length) return;
    if (files.length >= MOST) tell(`Only the first ${MOST} files are taken: drop an archive instead.`);
    await take(files);
  };
  zone.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    zone.classList.add("over");
  });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", async (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    zone.classList.remove("over");
    await given(await dropped(event.dataTransfer));
  });
  for (const input of zone.querySelectorAll("input[type=file]")) {
    input.addEventListener("change", async () => {
      await given(chosen(input));
      input.value = "";
    });
  }
}

export const sizeOf = (bytes) => bytes < 1e5 ? `${Math.max(1, Math.round(bytes / 1e3))} kB` : `${(bytes / 1e6).toFixed(1)} MB`;

/* What was chosen, in a few words. */
export function described(files) {
  const size = files.reduce((sum, { file }) => sum + file.size, 0);
  const names = files.slice(0, 3).map(({ path }) => path).join(", ");
  const more = files.length > 3 ? ` and ${files.length - 3} more` : "";
  return make("span", {}, make("strong", {}, names + more), ` (${sizeOf(size)})`);
}
