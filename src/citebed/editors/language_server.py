"""The language server: citations, records and checks for any editor that speaks LSP.

All work runs in threads on a snapshot of the text. A response about a text that has changed since
is never sent. citebed reads drafts and collections; it sends nothing anywhere.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar
from urllib.parse import unquote

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter
from pygls.uris import from_fs_path, to_fs_path
from pygls.workspace import TextDocument, Workspace

from citebed._version import __version__
from citebed.api import Workbench
from citebed.collection.storing.store import read_state
from citebed.drafts.bibliography import entry_to_cite, split_entries, with_entries
from citebed.drafts.reader import FORMS_BY_ENDING, Form
from citebed.drafts.records import Draft
from citebed.editors.completion import (
    AuthorKeys,
    CitePoint,
    Suggester,
    Suggestion,
    end_of_sentence,
    find_cite_point,
    format_citation,
    sentence_at,
    suggestion_from_entry,
)
from citebed.editors.projects import Project, read_project, read_text
from citebed.errors import CitebedError
from citebed.retrieval.index.layout import description_version
from citebed.retrieval.library.library import Library
from citebed.retrieval.memory import LruCache
from citebed.wording import count as count_things
from citebed.writing.check import check_draft
from citebed.writing.collection_choice import find_collection

_T = TypeVar("_T")
_LOG = logging.getLogger("citebed.lsp")
_LANGUAGES: dict[str, Form] = {
    **dict.fromkeys(("latex", "tex", "plaintex", "context", "doctex"), "tex"),
    **dict.fromkeys(("markdown", "quarto", "rmd", "pandoc", "vimwiki"), "markdown"),
    "typst": "typst", "restructuredtext": "rst", "rst": "rst",
}  # fmt: skip
_TRIGGERS = ["{", ",", "@", "<", "`", '"', " "]
_LARGEST_MESSAGE, _LONGEST_HEADER = 256 << 20, 1 << 16
_PAUSE = 0.4
"""Seconds without a keystroke before citebed reads the draft again."""
_LOOK = 0.5
"""Seconds between two looks at the files of open collections and drafts."""
_FIRST_READ = 5.0
"""Seconds that a completion waits until the .bib files of a new draft are read."""
_ACTIONS = 3
"""Suggestions for a sentence in the menu of code actions."""
_SENTENCES = 64
_SWITCH = 0.0005
"""Seconds that a thread which reads a draft may keep a request waiting for Python's lock."""
NOT_THIS = "citebed.notThis"
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "note": types.DiagnosticSeverity.Information,
}


# --- Protocol ---------------------------------------------------------------------------------


class _Document(TextDocument):
    """A text whose lines end as the protocol says; pygls also splits at form feeds and U+2028."""

    @property
    def lines(self) -> Sequence[str]:
        return tuple(re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", self.source))


class _Workspace(Workspace):
    def _create_text_document(self, doc_uri: str, *args: Any, **more: Any) -> TextDocument:
        more |= {"sync_kind": self._sync_kind, "position_codec": self._position_codec}
        return _Document(doc_uri, *args, **more)


class _Protocol(LanguageServerProtocol):
    """Sends an error response for every message that is not a correct request."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Return the message in a JSON object."""
        try:
            return super().structure_message(data)
        except JsonRpcException:
            if "method" in data and "id" in data:
                codes = types.ErrorCodes
                is_named = isinstance(data["method"], str)
                code = codes.InvalidParams if is_named else codes.InvalidRequest
                self.refuse(data["id"], code, "the message does not fit its method")
            raise

    def handle_message(self, message: Any) -> None:
        """Handle a message, unless it is none or comes at a wrong time."""
        method, message_id = getattr(message, "method", ""), getattr(message, "id", None)
        if getattr(message, "jsonrpc", None) != self.VERSION:
            code, what = int(types.ErrorCodes.InvalidRequest), "not a JSON-RPC 2.0 message"
        elif method and self._shutdown and method != types.EXIT:
            code, what = int(types.ErrorCodes.InvalidRequest), "the server is shutting down"
        elif method and self._workspace is None and method not in (types.INITIALIZE, types.EXIT):
            code, what = int(types.ErrorCodes.ServerNotInitialized), "initialize first"
        elif method == types.INITIALIZE and self._workspace is not None:
            code, what = int(types.ErrorCodes.InvalidRequest), "already initialized"
        else:
            super().handle_message(message)
            return
        if message_id is not None or not method:
            self.refuse(message_id, code, what)

    def refuse(self, message_id: object, code: int, what: str) -> None:
        """Send an error response; an invalid id becomes null."""
        is_id = isinstance(message_id, int | str) and not isinstance(message_id, bool)
        error = {"code": int(code), "message": what}
        self._send_data({"jsonrpc": "2.0", "id": message_id if is_id else None, "error": error})

    def open_workspace(self) -> None:
        """Use texts with lines as the protocol defines them."""
        made = self.workspace
        self._workspace = _Workspace(
            made.root_uri, made._sync_kind, [*made.folders.values()], made.position_encoding
        )


class _Input:
    """Standard input. A message that is too large is read, but not kept."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readline(self) -> bytes:
        """Return a line of a header."""
        return self._stream.readline(_LONGEST_HEADER)

    def read(self, size: int) -> bytes:
        """Return the body of a message."""
        if size <= _LARGEST_MESSAGE:
            return self._stream.read(size)
        while size > 0 and (part := self._stream.read(min(size, 1 << 20))):
            size -= len(part)
        return b"" if size else b"null"


class _Stale(JsonRpcException):
    """The text changed while citebed worked on a request."""

    CODE = int(types.LSPErrorCodes.ContentModified)
    MESSAGE = "the text has changed"


# --- Collections and drafts that are open -----------------------------------------------------


class OpenCollection:
    """A collection that is opened again after it or its index changed. Until the new state is
    loaded, and while it is broken, the old one responds."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.suggester: Suggester | None = None
        self.rejected: LruCache[str, frozenset[str]] = LruCache(_SENTENCES)
        self.workbench: Workbench | None = None
        self._state: object = None

    def _read_state(self) -> tuple[object, object]:
        return read_state(self.folder), description_version(self.folder / "index")

    def is_changed(self) -> bool:
        """Return True if the files are complete, and not those that were loaded."""
        state = self._read_state()
        return None not in state and state != self._state

    def load(self) -> None:
        """Load the collection and its index completely."""
        self._state = self._read_state()
        workbench = Workbench(self.folder)
        self.workbench, self.rejected = workbench, LruCache(_SENTENCES)
        library = workbench.library
        library.recommender.prepare()
        library.finder.complete("prepare 2000")
        suggester = Suggester(library)
        suggester.rank("As Smith (2000) showed, everything is loaded now.", frozenset())
        self.suggester = suggester

    def get_rejected(self, draft: str) -> frozenset[str]:
        """Return the papers that the author rejected for a draft."""

        def read() -> frozenset[str]:
            desk = self.workbench.desk if self.workbench else None
            own = [each.draft_id for each in desk.drafts() if each.name == draft] if desk else []
            judged = [desk.draft(name).judged_as(0) for name in own] if desk else []
            return frozenset(doc_id for each in judged for doc_id in each)

        return self.rejected.get(draft, read)

    def reject(self, draft: str, doc_id: str, sentence: str) -> None:
        """Store that a paper is not right for a draft, as in the workbench."""
        if self.workbench is None:
            return
        desk = self.workbench.desk
        same = [each.draft_id for each in desk.drafts() if each.name == draft]
        desk.judge(same[0] if same else desk.new(name=draft).draft_id, doc_id, 0, sentence)
        self.rejected = LruCache(_SENTENCES)


class Reading(NamedTuple):
    """A project as it was read: with the texts of the editor, and the author's keys."""

    project: Project
    mine: AuthorKeys
    texts: Mapping[Path, str]
    stamp: object

    def is_of(self, path: Path, texts: Mapping[Path, str], library: Library | None) -> bool:
        """Return True if the project contains a file and nothing in it has changed."""
        used = self.project.paths
        same = path in used and all(self.texts.get(each) == texts.get(each) for each in used)
        return same and self.mine.library is library and self.stamp == self.project.stamp


@dataclass
class OpenDraft:
    """An open document, and its project when it was last read."""

    uri: str
    path: Path | None
    collection: OpenCollection | None = None
    reading: Reading | None = None
    is_read: asyncio.Event = field(default_factory=asyncio.Event)
    timer: asyncio.TimerHandle | None = None

    @property
    def mine(self) -> AuthorKeys:
        """The author's .bib files."""
        return self.reading.mine if self.reading else AuthorKeys()

    @property
    def project(self) -> Project | None:
        """The draft with the files that belong to it."""
        return self.reading.project if self.reading else None


# --- The server -------------------------------------------------------------------------------


class CitebedServer(LanguageServer):
    """A language server for one editor. ``collection`` overrides the search for a collection."""

    protocol: _Protocol

    def __init__(self, collection: Path | None = None) -> None:
        super().__init__(
            "citebed", __version__, protocol_cls=_Protocol, converter_factory=default_converter
        )
        self._given = collection
        self._checks = True
        self._collections: dict[Path, OpenCollection] = {}
        self._drafts: dict[str, OpenDraft] = {}
        self._published: dict[Path, set[str]] = {}
        self._messages: set[str] = set()
        self._asked: dict[int, str] = {}
        self._numbers = count()
        self._tasks: set[asyncio.Future[None]] = set()
        # Requests never wait for a collection that is being loaded, or for a check.
        self._quick: Executor = ThreadPoolExecutor(2, "request")
        self._slow: Executor = ThreadPoolExecutor(1, "reading")
        completion = types.CompletionOptions(trigger_characters=_TRIGGERS, resolve_provider=True)
        kinds = [types.CodeActionKind.QuickFix, types.CodeActionKind.RefactorRewrite]
        features: tuple[tuple[str, Callable[..., Any], Any], ...] = (
            (types.INITIALIZE, self._initialize, None),
            (types.INITIALIZED, self._initialized, None),
            (types.TEXT_DOCUMENT_DID_OPEN, self._did_open, None),
            (types.TEXT_DOCUMENT_DID_CHANGE, self._did_change, None),
            (types.TEXT_DOCUMENT_DID_CLOSE, self._did_close, None),
            (types.TEXT_DOCUMENT_DID_SAVE, self._did_change, None),
            (types.WORKSPACE_DID_CHANGE_WATCHED_FILES, self._did_change_files, None),
            (types.WORKSPACE_DID_CHANGE_CONFIGURATION, self._ignore, None),
            (types.TEXT_DOCUMENT_COMPLETION, self._complete, completion),
            (types.COMPLETION_ITEM_RESOLVE, self._resolve, None),
            (types.TEXT_DOCUMENT_HOVER, self._hover, None),
            (types.TEXT_DOCUMENT_DEFINITION, self._define, None),
            (types.TEXT_DOCUMENT_CODE_ACTION, self._act, types.CodeActionOptions(kinds)),
        )
        for name, method, options in features:
            self.feature(name, options)(partial(method))
        self.command(NOT_THIS)(partial(self._not_this))

    # --- Messages for the user ---

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log an error outside of requests; reply to text that is not JSON."""
        if isinstance(error, ValueError | RecursionError):
            self.protocol.refuse(None, types.ErrorCodes.ParseError, "this is not JSON")
        elif not isinstance(error, JsonRpcException):
            _LOG.warning("%s: %s", getattr(source, "__name__", source), error)

    def _tell(self, message: str) -> None:
        """Show a message, once per session."""
        if message not in self._messages:
            self._messages.add(message)
            kind = types.MessageType.Warning
            self.window_show_message(types.ShowMessageParams(kind, f"citebed: {message}"))

    async def _run(self, executor: Executor, work: Callable[[], _T]) -> _T | None:
        """Run work in a thread; show an error that the user can fix and return ``None``."""
        try:
            return await asyncio.get_running_loop().run_in_executor(executor, work)
        except CitebedError as error:
            self._tell(str(error))
        return None

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a task in the background, and log an error in it."""

        def end(task: asyncio.Future[None]) -> None:
            self._tasks.discard(task)
            if not task.cancelled() and (error := task.exception()) is not None:
                _LOG.error("background task failed", exc_info=error)

        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(end)

    # --- Documents ---

    def _initialize(self, params: types.InitializeParams) -> None:
        self.protocol.open_workspace()
        given = params.initialization_options
        if isinstance(given, dict):
            self._checks = given.get("diagnostics") is not False
            wanted = given.get("collection")
            if self._given is None and isinstance(wanted, str) and wanted:
                root = (self._roots() or [Path.cwd()])[0]
                self._given = root / Path(wanted).expanduser()

    def _initialized(self, _: Any) -> None:
        self._start(self._watch())
        for root in self._roots()[:1]:  # load it before the first draft is open
            self._collection_near(root)

    def _roots(self) -> list[Path]:
        uris = [self.workspace.root_uri, *(each.uri for each in self.workspace.folders.values())]
        paths = [to_fs_path(uri) for uri in uris if uri and uri.startswith("file:")]
        return [*dict.fromkeys(Path(path) for path in paths if path)]

    def _ignore(self, _: Any) -> None:
        """Accept a notification that changes nothing."""

    def _did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        uri = params.text_document.uri
        path = to_fs_path(uri) if uri.startswith("file:") else None
        made = OpenDraft(uri, Path(os.path.abspath(path)) if path else None)
        self._drafts[unquote(uri)] = made
        made.collection = self._collection_near(made.path.parent if made.path else None)
        self._schedule(made, 0)
        self._schedule_users(made.path)

    def _did_change(self, params: Any) -> None:
        changed = self._drafts.get(unquote(params.text_document.uri))
        if changed is not None:
            self._schedule(changed, _PAUSE)
            if changed.path and changed.path.suffix.lower() == ".bib":
                self._schedule_users(changed.path)

    def _users(self, path: Path | None) -> dict[Path, OpenDraft]:
        """Return an open draft of each project that uses a file, by the project's root."""
        return {each.project.root: each for each in self._drafts.values()
                if each.path != path and each.project and path in each.project.paths}  # fmt: skip

    def _schedule_users(self, path: Path | None) -> None:
        """Read the drafts again that use a file."""
        for each in self._users(path).values():
            self._schedule(each, _PAUSE)

    def _did_change_files(self, _: Any) -> None:
        for each in self._drafts.values():
            self._schedule(each, _PAUSE)

    def _did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        closed = self._drafts.pop(unquote(params.text_document.uri), None)
        if closed is None:
            return
        if closed.timer:
            closed.timer.cancel()
        self._schedule_users(closed.path)
        open_roots = {each.project.root for each in self._drafts.values() if each.project}
        for root in [*self._published]:
            if root not in open_roots:
                self._publish(root, {})

    def _open_text(self, uri: str) -> TextDocument | None:
        """Return an open document; a request about another file reads nothing."""
        found: TextDocument | None = self.workspace.text_documents.get(unquote(uri))
        return found

    def _form(self, document: TextDocument) -> Form | None:
        named = _LANGUAGES.get((document.language_id or "").lower())
        return named or FORMS_BY_ENDING.get(Path(document.path or "").suffix.lower())

    # --- Collections ---

    def _collection_near(self, folder: Path | None) -> OpenCollection | None:
        """Return the collection for files in a folder, and load it if it is new."""
        near = folder or next(iter(self._roots()), None)
        if near is None and self._given is None:
            return None
        try:
            found = find_collection(near or Path.cwd(), self._given).resolve()
        except CitebedError as error:
            if not any("collection" in each for each in self._messages):
                self._tell(str(error))
            return None
        except OSError:  # the folder of a new file may not exist yet
            return None
        if found not in self._collections:
            self._collections[found] = OpenCollection(found)
            self._start(self._load(self._collections[found]))
        return self._collections[found]

    async def _load(self, collection: OpenCollection) -> None:
        await self._run(self._slow, collection.load)
        if collection.suggester is not None:
            size = count_things(len(collection.suggester.library.index.ids), "paper")
            message = f"citebed: {collection.folder} is open ({size})"
            self.window_log_message(types.LogMessageParams(types.MessageType.Info, message))
        for each in self._drafts.values():
            if each.collection is collection:
                self._schedule(each, 0)

    async def _watch(self) -> None:
        """Load collections and read drafts again when their files change."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_LOOK)
            for collection in [*self._collections.values()]:
                if await loop.run_in_executor(self._quick, collection.is_changed):
                    await self._load(collection)
            for each in [*self._drafts.values()]:
                if each.collection is None and each.path is not None:
                    each.collection = self._collection_near(each.path.parent)
            stamps = {
                each.reading.project.root: each
                for each in [*self._drafts.values()]
                if each.reading and each.reading.stamp != each.reading.project.stamp
            }
            for each in stamps.values():
                self._schedule(each, 0)

    # --- Projects and diagnostics ---

    def _schedule(self, draft: OpenDraft, pause: float) -> None:
        """Read a draft's project after a pause; a later call starts the pause again."""
        if draft.timer:
            draft.timer.cancel()
        loop = asyncio.get_running_loop()
        draft.timer = loop.call_later(pause, lambda: self._start(self._read(draft)))

    def _texts(self) -> dict[Path, str]:
        """Return the texts of all open files."""
        documents = self.workspace.text_documents.values()
        local = [each for each in documents if each.uri.startswith("file:")]
        return {Path(os.path.abspath(each.path)): each.source for each in local}

    async def _read(self, draft: OpenDraft) -> None:
        """Read a draft's files and .bib files, check it, and publish the diagnostics."""
        path, roots, texts = draft.path, self._roots(), self._texts()
        if path is None:
            draft.is_read.set()
            return
        collection = draft.collection
        suggester = collection.suggester if collection else None
        library = suggester.library if suggester else None
        known = [each.reading for each in self._drafts.values() if each.reading]

        def work() -> tuple[Reading, bool]:
            same = next((each for each in known if each.is_of(path, texts, library)), None)
            if same is not None:
                return same, False
            project = read_project(path, texts, roots)
            old = next((each.mine for each in known if each.project.bibs == project.bibs
                        and each.mine.library is library), None)  # fmt: skip
            mine = old or AuthorKeys.read(list(project.bibs.values()), library)
            return Reading(project, mine, texts, project.stamp), True

        reading, is_new = await self._run(self._slow, work) or (None, False)
        draft.reading = reading or draft.reading
        draft.is_read.set()
        if reading is None or not is_new:
            return
        for each in self._drafts.values():  # the other open files of the project
            if each.path in reading.project.files and each.collection is collection:
                each.reading = reading
                each.is_read.set()
        is_part = path.suffix.lower() == ".bib" and self._users(path)  # checked with its drafts
        if is_part or not self._checks:
            return
        workbench = collection.workbench if collection else None
        units = self.workspace.position_codec.client_num_units
        check = partial(_check, reading.project, path, texts, workbench, units)
        rows, now = await self._run(self._slow, check), self._texts()
        is_current = all(now.get(each) == texts.get(each) for each in reading.project.paths)
        if rows is not None and is_current and unquote(draft.uri) in self._drafts:
            self._publish(reading.project.root, rows)

    def _publish(self, root: Path, rows: dict[Path, list[types.Diagnostic]]) -> None:
        """Send the diagnostics of a project, and clear those of its other files."""
        found = {from_fs_path(str(path)) or "": each for path, each in rows.items()}
        for uri in self._published.get(root, set()) - found.keys():
            found[uri] = []
        for uri, listed in found.items():
            document = self._open_text(uri)
            version = document.version if document else None
            self.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(uri, listed, version)
            )
        self._published[root] = {uri for uri, listed in found.items() if listed}
        if not self._published[root]:
            del self._published[root]

    # --- Requests ---

    async def _fresh(
        self, document: TextDocument, work: Callable[[Callable[[], None]], _T]
    ) -> _T | None:
        """Run work on the current text of a document; raise an error if the text changes. The work
        can call a function between its steps, so that old work ends early."""
        version = document.version

        def check() -> None:
            if document.version != version:
                raise _Stale

        def run() -> _T:
            check()
            return work(check)

        found = await self._run(self._quick, run)
        check()
        return found

    async def _wait_for_keys(self, draft: OpenDraft) -> None:
        """Wait until the .bib files of a new draft are read, but not for long."""
        if not draft.is_read.is_set():
            try:
                await asyncio.wait_for(draft.is_read.wait(), _FIRST_READ)
            except TimeoutError:
                _LOG.info("%s is not read yet", draft.path)

    async def _complete(self, params: types.CompletionParams) -> types.CompletionList | None:
        document = self._open_text(params.text_document.uri)
        form = self._form(document) if document else None
        draft = self._drafts.get(unquote(params.text_document.uri))
        if document is None or form is None or draft is None:
            return None
        text, at = document.source, document.offset_at_position(params.position)
        point = find_cite_point(text, at, form)
        if point is None:
            return None
        await self._wait_for_keys(draft)
        collection, mine = draft.collection, draft.mine
        number = next(self._numbers)

        def work(check: Callable[[], None]) -> list[Suggestion]:
            if collection is None or collection.suggester is None:
                return [suggestion_from_entry(each) for each in mine.match(point.typed)]
            sentence = self._asked[number] = sentence_at(text, at, form, point)
            excluded = collection.get_rejected(str(draft.path))
            collection.suggester.rank(sentence, excluded)  # kept for the next letter
            check()
            return collection.suggester.suggest(sentence, point.typed, mine, excluded=excluded)

        found = await self._fresh(document, work)
        for old in [*self._asked][:-_SENTENCES]:
            del self._asked[old]
        left = document.position_codec.client_num_units(text[point.start : at])
        right = document.position_codec.client_num_units(text[at : point.end])
        line, character = params.position.line, params.position.character
        where = types.Range(
            types.Position(line, character - left), types.Position(line, character + right)
        )
        items = [
            _completion_item(each, point, where, place, number, params.text_document.uri)
            for place, each in enumerate(found or ()) if each.key not in point.others
        ]  # fmt: skip
        return types.CompletionList(is_incomplete=True, items=items)

    async def _resolve(self, item: types.CompletionItem) -> types.CompletionItem:
        """Add the record and the reasons to a suggestion, when an editor shows it."""
        data = item.data if isinstance(item.data, dict) else {}
        draft = self._drafts.get(unquote(str(data.get("uri"))))
        number = data.get("asked")
        sentence = self._asked.get(number, "") if isinstance(number, int) else ""
        described = await self._describe(draft, str(data.get("key")), sentence) if draft else None
        item.documentation = described
        return item

    async def _describe(
        self, draft: OpenDraft, key: str, sentence: str = ""
    ) -> types.MarkupContent | None:
        collection, mine = draft.collection, draft.mine
        suggester = collection.suggester if collection else None

        def work() -> str | None:
            if suggester is None:
                found = mine.find(key)
                return suggestion_from_entry(found).describe() if found else None
            named = suggester.look_up(key, mine)
            return named and suggester.describe(named, sentence)

        text = await self._run(self._quick, work)
        return types.MarkupContent(types.MarkupKind.Markdown, text) if text else None

    def _key_at(
        self, uri: str, position: types.Position
    ) -> tuple[TextDocument, OpenDraft, CitePoint, str] | None:
        """Return the citation key at a position of an open draft."""
        document, draft = self._open_text(uri), self._drafts.get(unquote(uri))
        form = self._form(document) if document else None
        if document is None or draft is None or form is None:
            return None
        at = document.offset_at_position(position)
        point = find_cite_point(document.source, at, form)
        key = document.source[point.start : point.end].strip() if point else ""
        return (document, draft, point, key) if point and key else None

    async def _hover(self, params: types.HoverParams) -> types.Hover | None:
        found = self._key_at(params.text_document.uri, params.position)
        if found is None:
            return None
        document, draft, _, key = found
        version = document.version
        text = await self._describe(draft, key)
        if document.version != version:
            raise _Stale
        return types.Hover(text) if text else None

    async def _define(self, params: types.DefinitionParams) -> types.Location | None:
        found = self._key_at(params.text_document.uri, params.position)
        if found is None or found[1].project is None:
            return None
        for path, text in found[1].project.bibs.items():
            entry = next((part for key, part in split_entries(text) if key == found[3]), "")
            if entry:
                at = text.index(entry)
                start = types.Position(text.count("\n", 0, at), 0)
                return types.Location(from_fs_path(str(path)) or "", types.Range(start, start))
        return None

    # --- Code actions ---

    async def _act(self, params: types.CodeActionParams) -> list[types.CodeAction] | None:
        uri = params.text_document.uri
        document, draft = self._open_text(uri), self._drafts.get(unquote(uri))
        if document is None or draft is None:
            return None
        actions = [action for each in params.context.diagnostics
                   if (action := _quick_fix(uri, each)) is not None]  # fmt: skip
        suggester = draft.collection.suggester if draft.collection else None
        form = self._form(document)
        if suggester is None or form is None:
            return actions or None
        await self._wait_for_keys(draft)
        found = self._key_at(uri, params.range.start)
        is_automatic = params.context.trigger_kind == types.CodeActionTriggerKind.Automatic
        at, text = document.offset_at_position(params.range.end), document.source
        mine, rejected = draft.mine, draft.collection.get_rejected if draft.collection else None

        def work(_: object) -> tuple[Suggestion | None, str, list[Suggestion]]:
            if found is not None:
                return suggester.look_up(found[3], mine), "", []
            if is_automatic or rejected is None:  # a lamp at every sentence would disturb
                return None, "", []
            sentence = sentence_at(text, at, form)
            excluded = rejected(str(draft.path))
            listed = suggester.suggest(sentence, "", mine, k=_ACTIONS, excluded=excluded)
            return None, sentence, listed

        named, sentence, listed = await self._fresh(document, work) or (None, "", [])
        fix, rewrite = types.CodeActionKind.QuickFix, types.CodeActionKind.RefactorRewrite
        bib = _bib_path(draft).name
        if named is not None and (edits := await self._add_entry(draft, named)):
            edit = self._edit(edits)
            actions.append(types.CodeAction(f"Add {named.key} to {bib}", fix, edit=edit))
        place = end_of_sentence(text, at, sentence) if sentence else at
        before = text[text.rfind("\n", 0, place) + 1 : place]
        units = document.position_codec.client_num_units(before)
        end = types.Position(text.count("\n", 0, place), units)
        about = types.OptionalVersionedTextDocumentIdentifier(uri, document.version)
        for each in listed:
            written = types.TextEdit(types.Range(end, end), format_citation(form, each.key))
            edits = await self._add_entry(draft, each)
            title = f"Cite {each.key}{f', and add it to {bib}' if edits else ''}: {each.title}"
            edit = self._edit([types.TextDocumentEdit(about, [written]), *edits])
            actions.append(types.CodeAction(title, rewrite, edit=edit))
        for each in listed:
            title, arguments = f"Not this: {each.title}", [uri, each.doc_id, sentence]
            command = types.Command(title, NOT_THIS, arguments=arguments)
            actions.append(types.CodeAction(title, rewrite, command=command))
        return actions or None

    async def _add_entry(self, draft: OpenDraft, wanted: Suggestion) -> list[Any]:
        """Return the changes that append a paper's entry to the author's .bib file; none if the
        file has it."""
        workbench = draft.collection.workbench if draft.collection else None
        if workbench is None or wanted.in_bib or draft.project is None:
            return []
        path, known = _bib_path(draft), draft.project.bibs.get(_bib_path(draft))
        before = known or ""

        def work() -> str:
            entry = entry_to_cite(workbench.document(wanted.doc_id), wanted.key)
            data = before.encode("utf-8", "replace")
            return with_entries(path, data, [entry])[len(data) :].decode()

        if (added := await self._run(self._quick, work)) is None:
            return []
        uri = from_fs_path(str(path)) or ""
        units = self.workspace.position_codec.client_num_units(before.rpartition("\n")[2])
        end = types.Position(before.count("\n"), units)
        document = self._open_text(uri)
        version = document.version if document else None
        about = types.OptionalVersionedTextDocumentIdentifier(uri, version)
        new = types.CreateFile(uri=uri, options=types.CreateFileOptions(ignore_if_exists=True))
        change = types.TextDocumentEdit(about, [types.TextEdit(types.Range(end, end), added)])
        return [change] if known is not None else [new, change]

    def _edit(self, changes: Sequence[Any]) -> types.WorkspaceEdit:
        """Return changes of documents in the form that the editor understands."""
        workspace = self.client_capabilities.workspace
        edit = workspace.workspace_edit if workspace else None
        if edit is not None and edit.document_changes:
            return types.WorkspaceEdit(document_changes=[*changes])
        texts = [each for each in changes if isinstance(each, types.TextDocumentEdit)]
        edits: dict[str, Any] = {each.text_document.uri: each.edits for each in texts}
        return types.WorkspaceEdit(changes=edits)

    async def _not_this(self, uri: str, doc_id: str, sentence: str) -> None:
        """Never suggest a paper for this draft again."""
        draft = self._drafts.get(unquote(uri))
        collection = draft.collection if draft else None
        if draft is not None and collection is not None and draft.path is not None:
            name = str(draft.path)
            await self._run(self._slow, partial(collection.reject, name, doc_id, sentence))


# --- Parts of responses -----------------------------------------------------------------------


def _completion_item(
    found: Suggestion, point: CitePoint, where: types.Range, place: int, asked: int, uri: str
) -> types.CompletionItem:
    """Return a suggestion as an editor shows it.

    Editors filter by similarity before they sort. Every filter text begins with what is typed, so
    all are equally similar, and citebed's order stays.
    """
    about = " ".join(filter(None, (found.by, str(found.year or ""))))
    return types.CompletionItem(
        label=found.key,
        label_details=types.CompletionItemLabelDetails(description=about),
        detail=f"{about}. {found.title}" if about else found.title,
        kind=types.CompletionItemKind.Reference,
        sort_text=f"{place:04}",
        filter_text=f"{point.typed} {found.words}".strip(),
        text_edit=types.TextEdit(where, point.insert(found.key)),
        data={"uri": uri, "key": found.key, "asked": asked},
    )


def _bib_path(draft: OpenDraft) -> Path:
    """Return the .bib file that gets new entries: the draft's first, or a new one."""
    project = draft.project
    if project is not None and project.bibs:
        return next(iter(project.bibs))
    root = project.root if project else draft.path
    return (root.parent if root else Path.cwd()) / "references.bib"


def _check(
    project: Project,
    path: Path,
    texts: dict[Path, str],
    workbench: Workbench | None,
    units: Callable[[str], int],
) -> dict[Path, list[types.Diagnostic]]:
    """Check a project on its unsaved texts; return the diagnostics by file."""
    draft = project.draft
    if path.suffix.lower() == ".bib":
        draft = Draft((), library=(texts.get(path, ""),), library_files=(str(path),))
    if draft is None:
        return {}
    found: dict[Path, list[types.Diagnostic]] = {}
    lines: dict[Path, list[str]] = {}
    for row in check_draft(draft, workbench).rows:
        file = Path(os.path.abspath(row["file"])) if row["file"] else path
        if file not in lines:
            lines[file] = re.split(r"\r\n|\r|\n", read_text(file, texts))
        found.setdefault(file, []).append(_diagnostic(row, lines[file], units))
    return found


_KEY_LINES = 20
"""Lines after the start of a sentence in which its citation is searched for."""


def _diagnostic(
    row: dict[str, Any], lines: list[str], units: Callable[[str], int]
) -> types.Diagnostic:
    """Return a finding of a check for the editor, at its key if the key is near its position."""

    def position(line: int, column: int) -> types.Position:
        text = lines[line] if line < len(lines) else ""
        return types.Position(line, units(text[:column]))

    line, column, key = row["line"] - 1, row["column"] - 1, row["key"] or ""
    is_key = re.compile(rf"(?<![\w:\-]){re.escape(key)}(?![\w:\-])")
    for near in range(line, min(line + _KEY_LINES, len(lines))) if key else ():
        if match := is_key.search(lines[near], column if near == line else 0):
            start, end = position(near, match.start()), position(near, match.end())
            break
    else:
        text = lines[line] if line < len(lines) else ""
        start, end = position(line, column), position(line, len(text))
    data = None
    if row["fix"] is not None:
        first = position(row["fix_line"] - 1, row["fix_column"] - 1)
        last = position(row["fix_end_line"] - 1, row["fix_end_column"] - 1)
        start, end = first, last
        data = {"fix": row["fix"], "record": row["record"]}
    is_unused = row["kind"] == "unused-entry"
    return types.Diagnostic(
        range=types.Range(start, end),
        message=row["message"],
        severity=types.DiagnosticSeverity.Hint if is_unused else _SEVERITIES[row["severity"]],
        code=row["kind"],
        source="citebed",
        tags=[types.DiagnosticTag.Unnecessary] if is_unused else None,
        data=data,
    )


def _quick_fix(uri: str, found: types.Diagnostic) -> types.CodeAction | None:
    """Return the correction that a check suggests, if it has one."""
    fix = found.data.get("fix") if isinstance(found.data, dict) else None
    if found.source != "citebed" or not isinstance(fix, str):
        return None
    change = types.WorkspaceEdit(changes={uri: [types.TextEdit(found.range, fix)]})
    title, kind = f"Correct to “{' '.join(fix.split())[:60]}”", types.CodeActionKind.QuickFix
    return types.CodeAction(title, kind, diagnostics=[found], edit=change)


def serve(collection: Path | None = None, port: int | None = None) -> bool:
    """Serve one editor on standard input and output, or on a TCP port of this machine. Return True
    if the editor ended the session properly."""
    server = CitebedServer(collection)
    sys.setswitchinterval(_SWITCH)
    logging.getLogger("pygls").setLevel(logging.CRITICAL)  # it logs every cancelled request
    if port is not None:
        server.start_tcp("127.0.0.1", port)
    else:
        source, target = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)  # only messages of the protocol may reach the editor
        server.start_io(_Input(source), target)  # type: ignore[arg-type]
    return server.protocol._shutdown
