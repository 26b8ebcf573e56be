// Read the files that the user drops on a page or chooses, folders included. Each file keeps its path.

import { make, showToast } from "./frame.js";

const MAX_FILES = 5000;

/* Return all dropped files as {file, path}. */
async function droppedFiles(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files].map((file) => ({ file, path: file.name }));
  const files = [];
  for (const entry of entries) await walk(entry, "", files);
  return files;
}

async function walk(entry, above, files) {
  if (entry.name.startsWith(".") || files.length >= MAX_FILES) return;
  if (entry.isFile) {
    const file = await new Promise((done, failed) => entry.file(done, failed));
    files.push({ file, path: above + entry.name });
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    const some = await new Promise((done, failed) => reader.readEntries(done, failed));
    if (!some.length) return;
    for (const each of some) await walk(each, `${above}${entry.name}/`, files);
  }
}

const chosenFiles = (input) => [...input.files].map((file) => ({ file, path: file.webkitRelativePath || file.name }));

export function makeForm(files, more = {}) {
  const form = new FormData();
  for (const [name, value] of Object.entries(more)) form.append(name, value);
  for (const { file, path } of files) form.append("files", file, path);
  return form;
}

const hasFiles = (event) => [...event.dataTransfer?.types ?? []].includes("Files");
const isField = (target) => target.closest?.("textarea, input, [contenteditable]");

/* Do not open a dropped link or file in place of the page. Dragged text may be dropped into fields. */
for (const type of ["dragover", "drop"]) {
  addEventListener(type, (event) => {
    if (hasFiles(event) || !isField(event.target)) event.preventDefault();
  });
}

/* Call `take` with the files that are dropped on a zone or chosen with its inputs. */
export function dropZone(zone, take) {
  const takeFiles = async (files) => {
    if (!files.length) return;
    if (files.length >= MAX_FILES) showToast(`Only the first ${MAX_FILES} files are read. Drop an archive instead.`);
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
    await takeFiles(await droppedFiles(event.dataTransfer));
  });
  for (const input of zone.querySelectorAll("input[type=file]")) {
    input.addEventListener("change", async () => {
      await takeFiles(chosenFiles(input));
      input.value = "";
    });
  }
}

export const formatSize = (bytes) => bytes < 1e5 ? `${Math.max(1, Math.round(bytes / 1e3))} kB` : `${(bytes / 1e6).toFixed(1)} MB`;

/* Return the names and the total size of files. */
export function describeFiles(files) {
  const size = files.reduce((sum, { file }) => sum + file.size, 0);
  const names = files.slice(0, 3).map(({ path }) => path).join(", ");
  const more = files.length > 3 ? ` and ${files.length - 3} more` : "";
  return make("span", {}, make("strong", {}, names + more), ` (${formatSize(size)})`);
}
