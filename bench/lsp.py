"""Response times of the language server while an author types citations into a real thesis.

The client is pygls's own; the server is ``citebed lsp``, a process of its own. The script makes a
main file that includes the chapters of the thesis and names its .bib files. Then it goes through
the citations: it deletes each, and types it again letter by letter, with a completion request after
each letter. It types one third of them so fast that requests overtake each other. After each
citation it asks for the hover text and the code actions. Nothing may be stale: a list must belong
to the text at the time it arrives, diagnostics to the version that the client has.
Run: python bench/lsp.py COLLECTION THESIS [--keys 2000] [--pause 60], where THESIS is a folder of
.tex and .bib files, which COLLECTION should contain (citebed import COLLECTION THESIS/*.bib).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import LanguageClient

sys.path.insert(0, str(Path(__file__).resolve().parent))
from common import machine

AIM = 150.0
"""Milliseconds for 99 of 100 completions."""
FIRST = 10
"""The cited paper should be among the first so many."""
_CITE = re.compile(r"\\cite\{([^{},]+)\}")


class Author:
    """A client that types into the chapters of a thesis."""

    def __init__(self, folder: Path, pause: float, seed: int) -> None:
        self.client = LanguageClient("bench", "1")
        self.folder, self.pause, self.random = folder, pause, random.Random(seed)
        self.times: dict[str, list[float]] = {}
        self.counts: Counter[str] = Counter()
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.pending: set[asyncio.Task[Any]] = set()
        self.ready = asyncio.Event()
        self.checked: dict[str, int] = {}
        self.load = os.getloadavg()[0]

        @self.client.feature(types.WINDOW_LOG_MESSAGE)
        def log(params: types.LogMessageParams) -> None:
            if "is open" in params.message:
                self.ready.set()

        @self.client.feature(types.WINDOW_SHOW_MESSAGE)
        def show(params: types.ShowMessageParams) -> None:
            print(params.message, file=sys.stderr)

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def diagnose(params: types.PublishDiagnosticsParams) -> None:
            self.counts["diagnostics"] += 1
            self.checked[params.uri] = len(params.diagnostics)
            if params.version is not None and params.version != self.versions.get(params.uri):
                self.counts["stale diagnostics"] += 1

    async def start(self, collection: Path) -> None:
        """Start the server, and open all chapters."""
        start = time.perf_counter()
        arguments = ("-m", "citebed", "lsp", "--collection", str(collection))
        await self.client.start_io(sys.executable, *arguments)
        root = self.folder.as_uri()
        await self.client.initialize_async(
            types.InitializeParams(types.ClientCapabilities(), root_uri=root)
        )
        self.times["initialize"] = [1000 * (time.perf_counter() - start)]
        self.client.initialized(types.InitializedParams())
        await self.ready.wait()
        self.times["collection loaded"] = [1000 * (time.perf_counter() - start)]
        for path in sorted(self.folder.rglob("*.tex")):
            uri = path.as_uri()
            self.texts[uri], self.versions[uri] = path.read_text(), 1
            item = types.TextDocumentItem(uri, "latex", 1, self.texts[uri])
            self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def position(self, uri: str, at: int) -> types.Position:
        """Return a position in UTF-16 units."""
        before = self.texts[uri][:at]
        last = before[before.rfind("\n") + 1 :]
        return types.Position(before.count("\n"), len(last.encode("utf-16-le")) // 2)

    def edit(self, uri: str, start: int, end: int, text: str) -> None:
        """Replace a part of a chapter."""
        where = types.Range(self.position(uri, start), self.position(uri, end))
        self.texts[uri] = self.texts[uri][:start] + text + self.texts[uri][end:]
        self.versions[uri] += 1
        document = types.VersionedTextDocumentIdentifier(self.versions[uri], uri)
        change = types.TextDocumentContentChangePartial(where, text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    async def complete(self, uri: str, at: int, typed: str) -> list[types.CompletionItem]:
        """Ask for suggestions, and check that they belong to the text when they arrive."""
        start, version = time.perf_counter(), self.versions[uri]
        about = types.TextDocumentIdentifier(uri)
        asked = types.CompletionParams(about, self.position(uri, at))
        self.counts["completions"] += 1
        try:
            found = await self.client.text_document_completion_async(asked)
        except JsonRpcException as error:
            is_old = error.code == types.LSPErrorCodes.ContentModified
            self.counts["refused, text changed" if is_old else f"error {error.code}"] += 1
            return []
        self.times.setdefault("completion", []).append(1000 * (time.perf_counter() - start))
        items = found.items if isinstance(found, types.CompletionList) else []
        if version == self.versions[uri]:
            where = self.position(uri, at)
            wrong = [each for each in items if each.text_edit.range.end != where
                     or not (each.filter_text or "").startswith(typed)]  # fmt: skip
            self.counts["stale completions"] += bool(wrong)
        elif items:  # it was sent before the server saw the next letter
            self.counts["crossed the next letter"] += 1
        return items

    async def timed(self, name: str, work: Any) -> Any:
        """Await a request and note its time."""
        start = time.perf_counter()
        try:
            return await work
        finally:
            self.times.setdefault(name, []).append(1000 * (time.perf_counter() - start))

    async def type_citation(self, uri: str, start: int, key: str, *, fast: bool) -> None:
        """Delete a citation and type it again, with requests for suggestions."""
        whole = f"\\cite{{{key}}}"
        self.edit(uri, start, start + len(whole), "")
        place = None
        for number, letter in enumerate(f"\\cite{{{key}"):
            at = start + number + 1
            self.edit(uri, at - 1, at - 1, letter)
            self.counts["keystrokes"] += 1
            typed = f"\\cite{{{key}"[: number + 1].partition("{")[2]
            if number + 1 < len("\\cite{"):
                continue
            task = asyncio.ensure_future(self.complete(uri, at, typed))
            self.pending.add(task)
            task.add_done_callback(self.pending.discard)
            if fast:
                await asyncio.sleep(self.random.uniform(0, 0.02))
                continue
            keys = [each.label for each in await task]
            if key in keys[:FIRST] and place is None:
                place = len(typed)
            await asyncio.sleep(self.random.uniform(0.5, 1.5) * self.pause)
        if not fast:
            self.counts["cited papers"] += 1
            self.counts[f"among the first {FIRST} after {place} letters"] += place is not None
        await asyncio.gather(*self.pending)
        at = start + len(whole) - 1
        self.edit(uri, at, at, "}")
        where = types.TextDocumentPositionParams(
            types.TextDocumentIdentifier(uri), self.position(uri, at - 1)
        )
        hover = types.HoverParams(where.text_document, where.position)
        described = await self.timed("hover", self.client.text_document_hover_async(hover))
        self.counts["hovers with a record"] += described is not None
        span = types.Range(where.position, where.position)
        sentence = types.Range(*[self.position(uri, max(0, start - 1))] * 2)
        for name, chosen in (("code action on a key", span), ("code action", sentence)):
            context = types.CodeActionContext([])
            asked = types.CodeActionParams(where.text_document, chosen, context)
            await self.timed(name, self.client.text_document_code_action_async(asked))
        await asyncio.sleep(self.random.uniform(0.2, 1.2))  # diagnostics come after a pause


def make_thesis(source: Path, folder: Path) -> None:
    """Copy a thesis, and add a main file if it has none."""
    for path in [*source.rglob("*.tex"), *source.rglob("*.bib")]:
        target = folder / path.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    chapters = sorted(path.relative_to(folder) for path in folder.rglob("*.tex"))
    bibs = sorted(path.relative_to(folder) for path in folder.rglob("*.bib"))
    lines = [f"\\include{{{path.with_suffix('')}}}" for path in chapters]
    named = ",".join(str(path.with_suffix("")) for path in bibs)
    text = ["\\documentclass{book}", "\\begin{document}", *lines, f"\\bibliography{{{named}}}"]
    (folder / "main.tex").write_text("\n".join([*text, "\\end{document}"]))


async def run(arguments: argparse.Namespace, folder: Path) -> None:
    """Type until there were enough keystrokes, and print the times."""
    author = Author(folder, arguments.pause / 1000, arguments.seed)
    await author.start(arguments.collection)
    places = [(uri, match.group(1)) for uri, text in author.texts.items()
              for match in _CITE.finditer(text)]  # fmt: skip
    author.random.shuffle(places)
    number = 0
    while author.counts["keystrokes"] < arguments.keys:
        uri, key = places[number % len(places)]
        start = author.texts[uri].find(f"\\cite{{{key}}}")
        await author.type_citation(uri, start, key, fast=number % 3 == 2)
        number += 1
    await asyncio.sleep(2)
    await author.client.shutdown_async(None)
    author.client.exit(None)
    load = " to ".join(f"{each:.1f}" for each in (author.load, os.getloadavg()[0]))
    print(f"{machine()}, load {load}\n")
    print(f"{'ms':24}{'number':>8}{'median':>9}{'p95':>9}{'p99':>9}{'max':>9}")
    for name, times in author.times.items():
        shown = [*np.percentile(times, [50, 95, 99]), max(times)]
        print(f"{name:24}{len(times):8,}" + "".join(f"{each:9,.0f}" for each in shown))
    print(f"aim: p99 of a completion at most {AIM:.0f} ms\n")
    stale = ("stale completions", "stale diagnostics")
    for name, number in sorted((Counter(dict.fromkeys(stale, 0)) | author.counts).items()):
        print(f"{name:44}{number:8,}")
    for name in stale:
        print(f"{name:44}{author.counts[name]:8,}")
    print(f"{'findings at the end':44}{sum(author.checked.values()):8,}")


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("collection", type=Path)
    parser.add_argument("thesis", type=Path)
    parser.add_argument("--keys", type=int, default=2000)
    parser.add_argument("--pause", type=float, default=60, help="milliseconds between letters")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    arguments.collection = arguments.collection.resolve()
    with tempfile.TemporaryDirectory() as place:
        make_thesis(arguments.thesis, Path(place) / "thesis")
        asyncio.run(run(arguments, Path(place) / "thesis"))


if __name__ == "__main__":
    main()
