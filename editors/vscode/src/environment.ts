// Find the command that starts citebed, in the order in which users expect it.

import * as fs from "node:fs";
import * as path from "node:path";

/** What the editor knows about the user's environment. */
export interface Environment {
  /** The setting `citebed.command`; empty without one. */
  command: readonly string[];
  /** The Python interpreter that the Python extension has selected. */
  python?: string;
  /** The folders of the workspace. */
  folders: readonly string[];
  /** PATH, split into folders. */
  path: readonly string[];
  platform: NodeJS.Platform;
}

/** A command with its arguments, and where it comes from. */
export interface Found {
  command: string;
  args: string[];
  origin: string;
}

type IsFile = (file: string) => boolean;

export function isFile(file: string): boolean {
  try {
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

/** Return the command that starts citebed, or undefined if there is none. */
export function findCommand(environment: Environment, exists: IsFile = isFile): Found | undefined {
  const { command, python, folders, platform } = environment;
  if (command.length > 0) {
    return { command: command[0], args: command.slice(1), origin: "the setting citebed.command" };
  }
  const windows = platform === "win32";
  const name = windows ? "citebed.exe" : "citebed";
  const join = windows ? path.win32.join : path.posix.join;
  const dirname = windows ? path.win32.dirname : path.posix.dirname;
  const candidates: [string, string][] = [];
  if (python) {
    candidates.push([join(dirname(python), name), "the selected Python environment"]);
  }
  for (const folder of folders) {
    for (const venv of [".venv", "venv"]) {
      const bin = join(folder, venv, windows ? "Scripts" : "bin", name);
      candidates.push([bin, `${venv} of the workspace`]);
    }
  }
  for (const folder of environment.path) {
    // An empty or relative entry of PATH would mean a program in the current folder.
    if (windows ? path.win32.isAbsolute(folder) : path.posix.isAbsolute(folder)) {
      candidates.push([join(folder, name), "PATH"]);
    }
  }
  for (const [file, origin] of candidates) {
    if (exists(file)) {
      return { command: file, args: [], origin };
    }
  }
  return undefined;
}

/** Return what to do if citebed is missing. */
export function missingCommand(python: string | undefined): string {
  const where = python ? `in the environment of ${python}` : "in .venv of the workspace";
  return (
    `citebed is not installed ${where} or on PATH. Install it there with its extra "editors" ` +
    '(pip install "PATH_TO_CITEBED[editors]"), or name it in the setting citebed.command.'
  );
}

/** Return the install line in citebed's own message about a missing extra. */
export function installLine(stderr: string): string | undefined {
  return /not installed\. Run: (.+)/.exec(stderr)?.[1].trim();
}
