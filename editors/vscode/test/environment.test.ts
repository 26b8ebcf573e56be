import assert from "node:assert/strict";
import { test } from "node:test";
import { type Environment, findCommand, installLine, missingCommand } from "../src/environment";

const EMPTY: Environment = { command: [], folders: [], path: [], platform: "linux" };

function files(...known: string[]): (file: string) => boolean {
  return (file) => known.includes(file);
}

test("the setting comes first, with its arguments, even if the file is unknown", () => {
  const found = findCommand({ ...EMPTY, command: ["uv", "run", "citebed"] }, files());
  assert.deepEqual(found, {
    command: "uv", args: ["run", "citebed"], origin: "the setting citebed.command",
  });
});

test("the selected Python environment comes before .venv and PATH", () => {
  const environment = {
    ...EMPTY, python: "/envs/thesis/bin/python", folders: ["/home/me/thesis"], path: ["/usr/bin"],
  };
  const all = files(
    "/envs/thesis/bin/citebed", "/home/me/thesis/.venv/bin/citebed", "/usr/bin/citebed",
  );
  assert.equal(findCommand(environment, all)?.command, "/envs/thesis/bin/citebed");
  const venv = files("/home/me/thesis/.venv/bin/citebed", "/usr/bin/citebed");
  assert.equal(findCommand(environment, venv)?.command, "/home/me/thesis/.venv/bin/citebed");
  assert.equal(findCommand(environment, venv)?.origin, ".venv of the workspace");
  assert.equal(findCommand(environment, files("/usr/bin/citebed"))?.origin, "PATH");
});

test("the first folder of the workspace comes first", () => {
  const environment = { ...EMPTY, folders: ["/a", "/b"] };
  const found = findCommand(environment, files("/b/.venv/bin/citebed", "/a/venv/bin/citebed"));
  assert.equal(found?.command, "/a/venv/bin/citebed");
});

test("on Windows, programs are in Scripts and end with .exe", () => {
  const environment: Environment = {
    command: [], folders: ["C:\\thesis"], path: ["C:\\tools"], platform: "win32",
  };
  const found = findCommand(environment, files("C:\\thesis\\.venv\\Scripts\\citebed.exe"));
  assert.equal(found?.command, "C:\\thesis\\.venv\\Scripts\\citebed.exe");
  const python = { ...environment, python: "C:\\envs\\a\\Scripts\\python.exe" };
  const beside = findCommand(python, files("C:\\envs\\a\\Scripts\\citebed.exe"));
  assert.equal(beside?.origin, "the selected Python environment");
});

test("relative and empty entries of PATH are ignored", () => {
  const environment = { ...EMPTY, path: ["", ".", "bin"] };
  assert.equal(findCommand(environment, () => true), undefined);
});

test("nothing is found without a file, and the message says what to do", () => {
  assert.equal(findCommand({ ...EMPTY, path: ["/usr/bin"] }, files()), undefined);
  assert.match(missingCommand(undefined), /\.venv of the workspace .*citebed\.command/);
  assert.match(missingCommand("/a/bin/python"), /environment of \/a\/bin\/python/);
});

test("the install line comes from citebed's own message", () => {
  const told =
    "citebed: this needs 'pygls', which is not installed. Run: /a/bin/python -m pip install '/c[editors]'\n";
  assert.equal(installLine(told), "/a/bin/python -m pip install '/c[editors]'");
  assert.equal(installLine("Traceback"), undefined);
});
