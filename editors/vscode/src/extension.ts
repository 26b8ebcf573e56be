// Start citebed's language server for drafts and .bib files, and show its state.

import { spawn } from "node:child_process";
import * as path from "node:path";
import * as vscode from "vscode";
import {
  LanguageClient,
  type LanguageClientOptions,
  type ServerOptions,
  State,
} from "vscode-languageclient/node";
import { type Found, findCommand, installLine, missingCommand } from "./environment";

const LANGUAGES = [
  "latex", "tex", "bibtex", "markdown", "quarto", "rmd", "typst", "restructuredtext",
];
const CHECK_MS = 20_000;

let client: LanguageClient | undefined;
let status: vscode.StatusBarItem;
let log: vscode.LogOutputChannel;
let starting: Promise<void> = Promise.resolve();

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  log = vscode.window.createOutputChannel("citebed", { log: true });
  status = vscode.window.createStatusBarItem("citebed", vscode.StatusBarAlignment.Right, 10);
  status.name = "citebed";
  status.command = "citebed.showOutput";
  context.subscriptions.push(
    log,
    status,
    vscode.commands.registerCommand("citebed.restartServer", restart),
    vscode.commands.registerCommand("citebed.showOutput", () => log.show()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("citebed")) {
        void restart();
      }
    }),
  );
  await restart();
}

export async function deactivate(): Promise<void> {
  await starting;
  await client?.dispose();
}

/** Stop the server if it runs, and start it with the current settings; one call after the other. */
function restart(): Promise<void> {
  starting = starting.then(async () => {
    await client?.dispose();
    client = undefined;
    await start();
  });
  return starting;
}

function show(text: string, tooltip: string, isWrong = false): void {
  status.text = text;
  status.tooltip = tooltip;
  status.backgroundColor = isWrong
    ? new vscode.ThemeColor("statusBarItem.warningBackground")
    : undefined;
  status.show();
}

async function start(): Promise<void> {
  const settings = vscode.workspace.getConfiguration("citebed");
  const python = await selectedPython();
  const found = findCommand({
    command: settings.get<string[]>("command", []),
    python,
    folders: (vscode.workspace.workspaceFolders ?? []).map((each) => each.uri.fsPath),
    path: (process.env.PATH ?? "").split(path.delimiter),
    platform: process.platform,
  });
  if (found === undefined) {
    await explain(missingCommand(python));
    return;
  }
  log.info(`citebed from ${found.origin}: ${[found.command, ...found.args].join(" ")}`);
  const problem = await tryServer(found);
  if (problem !== undefined) {
    const line = installLine(problem);
    await explain(line ? `citebed needs its extra "editors". Run: ${line}` : problem, line);
    return;
  }
  const server: ServerOptions = { command: found.command, args: [...found.args, "lsp"] };
  const options: LanguageClientOptions = {
    documentSelector: LANGUAGES.flatMap((language) => [
      { language, scheme: "file" },
      { language, scheme: "untitled" },
    ]),
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/*.bib") },
    initializationOptions: {
      collection: settings.get<string>("collection", ""),
      diagnostics: settings.get<boolean>("diagnostics", true),
    },
    outputChannel: log,
  };
  client = new LanguageClient("citebed", "citebed", server, options);
  client.onDidChangeState(({ newState }) => {
    if (newState === State.Stopped) {
      show("$(warning) citebed", "citebed stopped. Click for the log.", true);
    }
  });
  show("$(loading~spin) citebed", "citebed is starting");
  try {
    await client.start();
    show("$(book) citebed", `citebed suggests citations (${found.origin})`);
  } catch (error) {
    await explain(`citebed did not start: ${error instanceof Error ? error.message : error}`);
  }
}

/** Ask the Python extension for its interpreter, if it is installed. */
async function selectedPython(): Promise<string | undefined> {
  const extension = vscode.extensions.getExtension("ms-python.python");
  if (extension === undefined) {
    return undefined;
  }
  try {
    const api = await extension.activate();
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const chosen = api.environments.getActiveEnvironmentPath(folder);
    const resolved = await api.environments.resolveEnvironment(chosen);
    return resolved?.executable.uri?.fsPath;
  } catch (error) {
    log.warn(`the Python extension did not say which interpreter is selected: ${error}`);
    return undefined;
  }
}

/** Return what is wrong with a command, or undefined if it can start the server. */
function tryServer(found: Found): Promise<string | undefined> {
  return new Promise((resolve) => {
    // Without input, a server that can start ends at once.
    const child = spawn(found.command, [...found.args, "lsp"], { stdio: ["ignore", "ignore", "pipe"] });
    let stderr = "";
    const timer = setTimeout(() => child.kill(), CHECK_MS);
    child.stderr.on("data", (data: Buffer) => {
      stderr += data.toString();
    });
    child.on("error", (error) => {
      clearTimeout(timer);
      resolve(`citebed could not be started (${found.origin}): ${error.message}`);
    });
    child.on("close", () => {
      clearTimeout(timer);
      const told = stderr.split("\n").find((line) => line.startsWith("citebed: "));
      resolve(told?.replace(/^citebed: /, ""));
    });
  });
}

async function explain(message: string, line?: string): Promise<void> {
  log.warn(message);
  show("$(warning) citebed", message, true);
  const copy = "Copy the command";
  const settings = "Open the settings";
  const chosen = await vscode.window.showWarningMessage(
    message,
    ...(line ? [copy] : []),
    settings,
  );
  if (chosen === copy && line) {
    await vscode.env.clipboard.writeText(line);
  } else if (chosen === settings) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "citebed");
  }
}
