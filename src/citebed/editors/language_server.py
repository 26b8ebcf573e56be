"""The language server: citations, records and checks for any editor that speaks LSP.

All work runs in threads on a snapshot of the text. A response about a text that has changed since
is never sent. citebed reads drafts and collections; it sends nothing anywhere.
"""

from __future__ import annotations

import asyncio
import io
import logging
import os
import re
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter
from pygls.uris import from_fs_path, to_fs_path
from pygls.workspace import PositionCodec, TextDocument

from citebed._version import __version__
from citebed.api import Workbench
from citebed.collection.storing.store import read_state
from citebed.drafts.bibliography import entry_to_cite, split_entries, with_entries
from citebed.drafts.reader import FORMS_BY_ENDING, Form
from citebed.drafts.records import Draft
from citebed.editors.completion import (
    AuthorKeys,
    Suggester,
    Suggestion,
    end_of_sentence,
    find_cite_point,
    format_citation,
    sentence_at,
    suggestion_from_entry,
)
from citebed.editors.projects import Project, read_text
from citebed.errors import CitebedError
from citebed.processes import Worker
from citebed.retrieval.index.layout import description_version
from citebed.wording import count
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
_LARGEST_MESSAGE = 256 << 20
"""Bytes of the largest message that citebed handles."""
_PAUSE = 0.4
"""Seconds without a keystroke before citebed reads the draft again."""
_LOOK = 0.5
"""Seconds between two looks at the files of open collections and drafts."""
_FIRST_READ = 5.0
"""Seconds that a completion waits until the .bib files of a new draft are read."""
_ACTIONS = 3
"""Suggestions for a sentence in the menu of code actions."""
_KEY_LINES = 20
"""Lines after the start of a sentence in which its citation is searched for."""
_LINE_END = 1 << 30
_SWITCH = 0.0005
"""Seconds that a thread which checks a draft may keep a request waiting for Python's lock."""
NOT_THIS = "citebed.notThis"
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "note": types.DiagnosticSeverity.Information,
}
_FIX, _REWRITE = types.CodeActionKind.QuickFix, types.CodeActionKind.RefactorRewrite


# --- Protocol ---------------------------------------------------------------------------------


class _Document(TextDocument):
    """A text whose lines end as the protocol says; pygls also splits at form feeds and U+2028."""

    @property
    def lines(self) -> Sequence[str]:
        return tuple(re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", self.source))


class _Protocol(LanguageServerProtocol):
    """Sends an error response for every message that is not a correct request."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Return the message in a JSON object."""
        try:
            return super().structure_message(data)
        except JsonRpcException:
            if "method" in data and "id" in data:
                codes, is_named = types.ErrorCodes, isinstance(data["method"], str)
                code = codes.InvalidParams if is_named else codes.InvalidRequest
                self.refuse(data["id"], code, "the message does not fit its method")
            raise

    def handle_message(self, message: Any) -> None:
        """Handle a message, unless it is none or comes at a wrong time."""
        method, message_id = getattr(message, "method", ""), getattr(message, "id", None)
        is_open, code = self._workspace is not None, types.ErrorCodes.InvalidRequest
        if getattr(message, "jsonrpc", None) != self.VERSION:
            what = "not a JSON-RPC 2.0 message"
        elif method and self._shutdown and method != types.EXIT:
            what = "the server is shutting down"
        elif method and not is_open and method not in (types.INITIALIZE, types.EXIT):
            code, what = types.ErrorCodes.ServerNotInitialized, "initialize first"
        elif method == types.INITIALIZE and is_open:
            what = "already initialized"
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


class _Input(io.BufferedReader):
    """Standard input. A message that is too large is read, but not kept."""

    def read(self, size: int | None = -1) -> bytes:
        """Return the body of a message."""
        if size is None or size <= _LARGEST_MESSAGE:
            return super().read(size)
        while size > 0 and (part := super().read(min(size, 1 << 20))):
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
        self.workbench: Workbench | None = None
        self._rejected: dict[str, frozenset[str]] = {}
        self._state: object = None

    def is_changed(self) -> bool:
        """Return True if the files are complete and differ from the loaded ones."""
        state = read_state(self.folder), description_version(self.folder / "index")
        return None not in state and state != self._state

    def load(self) -> None:
        """Load the collection and its index completely."""
        self._state = read_state(self.folder), description_version(self.folder / "index")
        self.workbench, self._rejected = Workbench(self.folder), {}
        library = self.workbench.library
        library.recommender.prepare()
        suggester = Suggester(library)
        suggester.suggest("", "prepare 2000", AuthorKeys())
        sentence = "As Smith (2000) showed, everything is loaded now."
        for each in suggester.suggest(sentence, "", AuthorKeys())[:1]:
            suggester.describe(each, sentence)
        self.suggester = suggester

    def get_rejected(self, draft: str) -> frozenset[str]:
        """Return the papers that the author rejected for a draft."""
        if draft not in self._rejected and self.workbench is not None:
            desk = self.workbench.desk
            own = (desk.draft(each.draft_id) for each in desk.drafts() if each.name == draft)
            self._rejected[draft] = frozenset(name for each in own for name in each.judged_as(0))
        return self._rejected.get(draft, frozenset())

    def reject(self, draft: str, doc_id: str, sentence: str) -> None:
        """Store that a paper is not right for a draft, as in the workbench."""
        if self.workbench is not None:
            desk = self.workbench.desk
            known = next((each.draft_id for each in desk.drafts() if each.name == draft), None)
            desk.judge(known or desk.new(name=draft).draft_id, doc_id, 0, sentence)
            self._rejected.pop(draft, None)


@dataclass(eq=False)
class OpenDraft:
    """An open document; its project and the author's keys as they were last read; and the sentence
    for which the editor last asked for suggestions."""

    document: TextDocument
    collection: OpenCollection | None = None
    project: Project | None = None
    mine: AuthorKeys = field(default_factory=AuthorKeys)
    sentence: str = ""
    is_read: asyncio.Event = field(default_factory=asyncio.Event)
    timer: asyncio.TimerHandle | None = None

    @cached_property
    def path(self) -> Path | None:
        """The file of the document, which may not exist yet."""
        is_file = self.document.uri.startswith("file:") and self.document.path
        return Path(os.path.abspath(self.document.path)) if is_file else None

    @cached_property
    def form(self) -> Form | None:
        """The format of the draft; ``None`` for other files, which get no suggestions."""
        named = _LANGUAGES.get((self.document.language_id or "").lower())
        return named or FORMS_BY_ENDING.get(Path(self.document.path or "").suffix.lower())

    @property
    def suggester(self) -> Suggester | None:
        """The collection, once it is loaded."""
        return self.collection.suggester if self.collection else None

    @property
    def bib(self) -> Path:
        """The .bib file that gets new entries: the draft's first, or a new one."""
        if self.project is not None and self.project.bibs:
            return next(iter(self.project.bibs))
        root = self.project.root if self.project else self.path
        return (root.parent if root else Path.cwd()) / "references.bib"

    def describe(self, key: str, sentence: str = "") -> str | None:
        """Return the record of a key as Markdown, and why it fits a sentence."""
        if self.suggester is None:
            entry = self.mine.find(key)
            return suggestion_from_entry(entry).describe() if entry else None
        found = self.suggester.look_up(key, self.mine)
        return self.suggester.describe(found, sentence) if found else None


class Cursor:
    """A position in an open draft, with the text at the time of a request."""

    def __init__(self, draft: OpenDraft, position: types.Position) -> None:
        self.draft, self.form = draft, draft.form
        self.text, self._version = draft.document.source, draft.document.version
        self.at = draft.document.offset_at_position(position)
        self.point = find_cite_point(self.text, self.at, self.form) if self.form else None
        self.key = self.text[self.point.start : self.point.end].strip() if self.point else ""

    def check(self) -> None:
        """Raise an error if the text has changed."""
        if self.draft.document.version != self._version:
            raise _Stale

    @cached_property
    def sentence(self) -> str:
        """The sentence at the position, without its citation."""
        return sentence_at(self.text, self.at, self.form, self.point) if self.form else ""

    def suggest(self) -> list[Suggestion]:
        """Return the papers that fit the sentence and what is typed."""
        collection, mine = self.draft.collection, self.draft.mine
        typed = self.point.typed if self.point else ""
        if collection is None or (suggester := collection.suggester) is None:
            return [suggestion_from_entry(each) for each in mine.match(typed)]
        rejected = collection.get_rejected(str(self.draft.path))
        suggester.rank(self.sentence, rejected)  # cached for the next letter
        self.check()
        return suggester.suggest(self.sentence, typed, mine, rejected)


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
        self._told: set[str] = set()
        self._tasks: set[asyncio.Future[None]] = set()
        # Requests never wait for a collection that is being loaded, or for a check.
        self._quick: Executor = ThreadPoolExecutor(2, "request")
        self._slow: Executor = ThreadPoolExecutor(2, "slow")
        self._reading = asyncio.Lock()
        # A process of its own, because parsing a thesis would hold Python's lock for half a second.
        self._reader = Worker("citebed.editors.projects:read_in_worker")
        completion = types.CompletionOptions(trigger_characters=_TRIGGERS, resolve_provider=True)
        actions = types.CodeActionOptions([_FIX, _REWRITE])
        features: tuple[tuple[str, Callable[..., Any], Any], ...] = (
            (types.INITIALIZE, self._initialize, None),
            (types.INITIALIZED, self._initialized, None),
            (types.TEXT_DOCUMENT_DID_OPEN, self._did_open, None),
            (types.TEXT_DOCUMENT_DID_CHANGE, self._did_change, None),
            (types.TEXT_DOCUMENT_DID_CLOSE, self._did_close, None),
            (types.TEXT_DOCUMENT_DID_SAVE, self._did_change, None),
            (types.TEXT_DOCUMENT_COMPLETION, self._request(self._complete), completion),
            (types.COMPLETION_ITEM_RESOLVE, self._resolve, None),
            (types.TEXT_DOCUMENT_HOVER, self._request(self._hover), None),
            (types.TEXT_DOCUMENT_DEFINITION, self._request(self._define), None),
            (types.TEXT_DOCUMENT_CODE_ACTION, self._request(self._act), actions),
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

    def _tell(self, message: str, about: str = "") -> None:
        """Show a message, once per session, and only one ``about`` a subject."""
        if not {message, about} & self._told:
            self._told |= {message, about} - {""}
            shown = types.ShowMessageParams(types.MessageType.Warning, f"citebed: {message}")
            self.window_show_message(shown)

    async def _run(self, executor: Executor, work: Callable[[], _T]) -> _T | None:
        """Run work in a thread; show an error that the user can fix and return ``None``."""
        try:
            return await asyncio.get_running_loop().run_in_executor(executor, work)
        except CitebedError as error:
            self._tell(str(error))
        return None

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a task in the background; asyncio logs an error in it."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- Documents ---

    def _initialize(self, params: types.InitializeParams) -> None:
        self._loop = asyncio.get_running_loop()
        codec, kind = self.workspace.position_codec, types.TextDocumentSyncKind.Incremental
        made = partial(_Document, position_codec=codec, sync_kind=kind)
        self.workspace._create_text_document = made  # type: ignore[method-assign]
        given = params.initialization_options
        if isinstance(given, dict):
            settings = [("collection", str, "a folder"), ("diagnostics", bool, "true or false")]
            for name, expected, what in settings:
                if not isinstance(value := given.get(name), expected | None):
                    self._tell(f"the setting '{name}' is {value!r}, expected {what}; ignored")
            self._checks = given.get("diagnostics") is not False
            wanted = given.get("collection")
            if self._given is None and isinstance(wanted, str) and wanted:
                self._given = (self._roots() or [Path.cwd()])[0] / Path(wanted).expanduser()

    def _initialized(self, _: Any) -> None:
        self._start(self._watch())
        for root in self._roots()[:1]:  # load it before the first draft is open
            self._collection_near(root)

    def _roots(self) -> list[Path]:
        uris = [self.workspace.root_uri, *(each.uri for each in self.workspace.folders.values())]
        paths = [to_fs_path(uri) for uri in uris if uri and uri.startswith("file:")]
        return [*dict.fromkeys(Path(path) for path in paths if path)]

    def _did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        uri = unquote(params.text_document.uri)
        made = self._drafts[uri] = OpenDraft(self.workspace.text_documents[uri])
        made.collection = self._collection_near(made.path.parent if made.path else None)
        self._schedule(made, 0)
        self._schedule_users(made.path)

    def _did_change(self, params: Any) -> None:
        changed = self._drafts.get(unquote(params.text_document.uri))
        if changed is not None:
            self._schedule(changed)
            if changed.path and changed.path.suffix.lower() == ".bib":
                self._schedule_users(changed.path)

    def _did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        closed = self._drafts.pop(unquote(params.text_document.uri), None)
        if closed is None:
            return
        if closed.timer:
            closed.timer.cancel()
        self._schedule_users(closed.path)
        for root in self._published.keys() - {
            each.project.root for each in self._drafts.values() if each.project
        }:
            self._publish(root, {})

    def _users(self, path: Path | None) -> list[OpenDraft]:
        """Return the other open files of projects that use a file."""
        return [each for each in self._drafts.values()
                if each.path != path and each.project and path in each.project.files]  # fmt: skip

    def _schedule_users(self, path: Path | None) -> None:
        for each in self._users(path):
            self._schedule(each)

    def _schedule(self, draft: OpenDraft, pause: float = _PAUSE) -> None:
        """Read a draft's project after a pause; a later call starts the pause again."""
        if draft.timer:
            draft.timer.cancel()
        loop = asyncio.get_running_loop()
        draft.timer = loop.call_later(pause, lambda: self._start(self._read(draft)))

    # --- Collections ---

    def _collection_near(self, folder: Path | None) -> OpenCollection | None:
        """Return the collection for files in a folder, and load it if it is new."""
        near = folder or next(iter(self._roots()), None)
        if near is None and self._given is None:
            return None
        try:
            found = find_collection(near or Path.cwd(), self._given).resolve()
        except CitebedError as error:
            advice = "In an editor, the setting 'collection' names it."
            self._tell(f"{str(error).rstrip('.')}. {advice}", about="collection")
            return None
        except (OSError, ValueError):  # the folder of a new file may not exist yet
            return None
        if found not in self._collections:
            self._collections[found] = OpenCollection(found)
            self._start(self._load(self._collections[found]))
        return self._collections[found]

    async def _load(self, collection: OpenCollection) -> None:
        await self._run(self._slow, collection.load)
        if collection.suggester is not None:
            size = count(len(collection.suggester.library.index.ids), "paper")
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
            for each in self._drafts.values():
                if each.collection is None and each.path is not None:
                    each.collection = self._collection_near(each.path.parent)
                if each.project and not each.project.is_current():
                    self._schedule(each, 0)

    # --- Projects and diagnostics ---

    def _texts(self) -> dict[Path, str]:
        """Return the texts of all open files."""
        return {each.path: each.document.source for each in self._drafts.values() if each.path}

    async def _read(self, draft: OpenDraft) -> None:
        """Read a draft's files and .bib files, check it, and publish the diagnostics."""
        async with self._reading:  # then the other open files of the project need not be read
            try:
                project = await self._read_project(draft) if draft.path else None
            finally:
                draft.is_read.set()
        if project is None or draft.path is None or not self._checks:
            return
        texts, collection = self._texts(), draft.collection
        is_part = draft.path.suffix.lower() == ".bib" and self._users(draft.path)
        if is_part or not project.is_current(texts):  # checked with its drafts, or soon
            return
        workbench = collection.workbench if collection else None
        check = partial(self._check, project, draft.path, texts, workbench)
        rows = await self._run(self._slow, check)
        is_open = self._drafts.get(unquote(draft.document.uri)) is draft
        if rows is not None and is_open and project.is_current(self._texts()):
            self._publish(project.root, rows)

    async def _read_project(self, draft: OpenDraft) -> Project | None:
        """Read a draft's project and the author's keys for all its open files; return it if it has
        changed since."""
        path, roots, texts = draft.path, self._roots(), self._texts()
        library = draft.suggester.library if draft.suggester else None
        known = [*self._drafts.values()]

        def work() -> tuple[Project, AuthorKeys]:
            projects = (each.project for each in known if each.project)
            project = next((each for each in projects if path in each.files
                            and each.is_current(texts)), None)  # fmt: skip
            project = project or self._reader.run((path, texts, roots))
            bibs = tuple(project.bibs.values())
            mine = next((each.mine for each in known if each.mine.texts == bibs
                         and each.mine.library is library), None)  # fmt: skip
            return project, mine or AuthorKeys.read(bibs, library)

        found = await self._run(self._slow, work)
        if found is None:
            return None
        is_known = any(each.project is found[0] and each.mine is found[1] for each in known)
        for each in self._drafts.values():
            is_part = each.path in found[0].files and each.collection is draft.collection
            if each is draft or is_part:
                each.project, each.mine = found
                each.is_read.set()
        return None if is_known else found[0]

    def _check(
        self, project: Project, path: Path, texts: Mapping[Path, str], workbench: Workbench | None
    ) -> dict[Path, list[types.Diagnostic]]:
        """Check a project on its unsaved texts; return the diagnostics by file."""
        draft, codec = project.draft, self.workspace.position_codec
        if path.suffix.lower() == ".bib":
            draft = Draft((), library=(texts.get(path, ""),), library_files=(str(path),))
        found: dict[Path, list[types.Diagnostic]] = {}
        lines: dict[Path, list[str]] = {}
        for row in check_draft(draft, workbench).rows if draft else ():
            file = Path(os.path.abspath(row["file"])) if row["file"] else path
            if file not in lines:
                lines[file] = re.split(r"\r\n|\r|\n", read_text(file, texts))
            found.setdefault(file, []).append(_diagnostic(row, lines[file], codec))
        return found

    def _publish(self, root: Path, rows: Mapping[Path, list[types.Diagnostic]]) -> None:
        """Send the diagnostics of a project, and clear the rest of its files."""
        found = {uri: list[types.Diagnostic]() for uri in self._published.pop(root, ())}
        found |= {from_fs_path(str(path)) or "": each for path, each in rows.items()}
        for uri, listed in found.items():
            shown = self._drafts.get(unquote(uri))
            version = shown.document.version if shown else None
            params = types.PublishDiagnosticsParams(uri, listed, version)
            self.text_document_publish_diagnostics(params)
        if uris := {uri for uri, listed in found.items() if listed}:
            self._published[root] = uris

    # --- Requests ---

    def _request(self, work: Callable[[Cursor, Any], _T]) -> Callable[[Any], Awaitable[_T | None]]:
        """Return the handler of a request about a position in an open draft. It runs the work in a
        thread, and sends no response if the text changes meanwhile."""

        async def handle(params: Any) -> _T | None:
            draft = self._drafts.get(unquote(params.text_document.uri))
            if draft is None:
                return None
            is_span = isinstance(params, types.CodeActionParams)
            cursor = Cursor(draft, params.range.end if is_span else params.position)
            try:
                await asyncio.wait_for(draft.is_read.wait(), _FIRST_READ)
            except TimeoutError:
                _LOG.info("%s is not read yet", draft.path)

            def run() -> _T:
                cursor.check()
                return work(cursor, params)

            found = await self._run(self._quick, run)
            cursor.check()
            return found

        return handle

    def _complete(self, cursor: Cursor, _: Any) -> types.CompletionList | None:
        """Return suggestions in an order that editors keep.

        They filter by similarity before they sort. Every filter text begins with what is typed, so
        all are equally similar.
        """
        if (point := cursor.point) is None:
            return None
        start, end = (self._position(cursor.text, at) for at in (point.start, point.end))
        found, cursor.draft.sentence = cursor.suggest(), cursor.sentence
        items = []
        for place, each in enumerate(each for each in found if each.key not in point.others):
            about = " ".join(filter(None, (each.by, str(each.year or ""))))
            items.append(types.CompletionItem(
                label=each.key,
                label_details=types.CompletionItemLabelDetails(description=about),
                detail=f"{about}. {each.title}" if about else each.title,
                kind=types.CompletionItemKind.Reference,
                sort_text=f"{place:04}",
                filter_text=f"{point.typed} {each.words}".strip(),
                text_edit=types.TextEdit(types.Range(start, end), point.insert(each.key)),
                data={"uri": cursor.draft.document.uri, "key": each.key},
            ))  # fmt: skip
        return types.CompletionList(is_incomplete=True, items=items)

    async def _resolve(self, item: types.CompletionItem) -> types.CompletionItem:
        """Add the record and the reasons to a suggestion, when an editor shows it."""
        data = item.data if isinstance(item.data, dict) else {}
        if draft := self._drafts.get(unquote(str(data.get("uri")))):
            describe = partial(draft.describe, str(data.get("key")), draft.sentence)
            text = await self._run(self._quick, describe)
            item.documentation = types.MarkupContent(types.MarkupKind.Markdown, text or "")
        return item

    def _hover(self, cursor: Cursor, _: Any) -> types.Hover | None:
        text = cursor.draft.describe(cursor.key) if cursor.key else None
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text)) if text else None

    def _define(self, cursor: Cursor, _: Any) -> types.Location | None:
        project = cursor.draft.project
        for path, text in project.bibs.items() if project and cursor.key else ():
            for key, entry in split_entries(text):
                if key == cursor.key:
                    start = self._position(text, text.index(entry))
                    return types.Location(from_fs_path(str(path)) or "", types.Range(start, start))
        return None

    # --- Code actions ---

    def _act(self, cursor: Cursor, params: types.CodeActionParams) -> list[types.CodeAction]:
        draft, suggester = cursor.draft, cursor.draft.suggester
        fixes = (_quick_fix(draft.document.uri, each) for each in params.context.diagnostics)
        actions = [each for each in fixes if each is not None]
        is_automatic = params.context.trigger_kind == types.CodeActionTriggerKind.Automatic
        if suggester is not None and cursor.key:
            named = suggester.look_up(cursor.key, draft.mine)
            if named is not None and (edits := self._add_entry(draft, named)):
                title = f"Add {named.key} to {draft.bib.name}"
                actions.append(types.CodeAction(title, _FIX, edit=self._edit(edits)))
        elif suggester is not None and not is_automatic:  # a lamp at every sentence would disturb
            actions += self._cite_actions(cursor)
        return actions

    def _cite_actions(self, cursor: Cursor) -> list[types.CodeAction]:
        """Return actions that cite the best papers for a sentence, and then those that reject
        them."""
        if cursor.form is None:
            return []
        draft, sentence, document = cursor.draft, cursor.sentence, cursor.draft.document
        end = end_of_sentence(cursor.text, cursor.at, sentence) if sentence else cursor.at
        place = self._position(cursor.text, end)
        about = types.OptionalVersionedTextDocumentIdentifier(document.uri, document.version)
        cites, rejects = [], []
        for each in cursor.suggest()[:_ACTIONS]:
            written = format_citation(cursor.form, each.key)
            change = types.TextEdit(types.Range(place, place), written)
            edits = self._add_entry(draft, each)
            edit = self._edit([types.TextDocumentEdit(about, [change]), *edits])
            title = f"Cite {each.key}{f', and add it to {draft.bib.name}' if edits else ''}"
            cites.append(types.CodeAction(f"{title}: {each.title}", _REWRITE, edit=edit))
            title, arguments = f"Not this: {each.title}", [document.uri, each.doc_id, sentence]
            command = types.Command(title, NOT_THIS, arguments=arguments)
            rejects.append(types.CodeAction(title, _REWRITE, command=command))
        return [*cites, *rejects]

    def _add_entry(self, draft: OpenDraft, wanted: Suggestion) -> list[Any]:
        """Return the changes that append a paper's entry to the author's .bib file; none if the
        file has it."""
        workbench = draft.collection.workbench if draft.collection else None
        if workbench is None or wanted.in_bib or draft.project is None:
            return []
        path, uri = draft.bib, from_fs_path(str(draft.bib)) or ""
        opened = self._drafts.get(unquote(uri))
        known = opened.document.source if opened else draft.project.bibs.get(path)
        data = (known or "").encode("utf-8", "replace")
        try:
            entry = entry_to_cite(workbench.document(wanted.doc_id), wanted.key)
            added = with_entries(path, data, [entry])[len(data) :].decode()
        except CitebedError as error:  # the paper can still be cited
            self._loop.call_soon_threadsafe(self._tell, str(error))
            return []
        end = self._position(known or "", len(known or ""))
        version = opened.document.version if opened else None
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

    def _position(self, text: str, at: int) -> types.Position:
        """Return the position of a character in the units of the editor."""
        before = text[:at].replace("\r\n", "\n").replace("\r", "\n")
        units = self.workspace.position_codec.client_num_units(before.rpartition("\n")[2])
        return types.Position(before.count("\n"), units)

    async def _not_this(self, uri: str, doc_id: str, sentence: str) -> None:
        """Never suggest a paper for this draft again."""
        draft = self._drafts.get(unquote(uri))
        if draft and draft.collection and draft.path:
            reject = partial(draft.collection.reject, str(draft.path), doc_id, sentence)
            await self._run(self._slow, reject)


# --- Parts of responses -----------------------------------------------------------------------


def _diagnostic(
    row: Mapping[str, Any], lines: Sequence[str], codec: PositionCodec
) -> types.Diagnostic:
    """Return a finding of a check for the editor: at its fix, or at its key if that is near."""
    line, column, key, fix = row["line"] - 1, row["column"] - 1, row["key"] or "", row["fix"]
    start, end = (line, column), (line, _LINE_END)
    if fix is not None:
        start, end = ((row[f"fix_{at}line"] - 1, row[f"fix_{at}column"] - 1) for at in ("", "end_"))
    elif key:
        is_key = re.compile(rf"(?<![\w:\-]){re.escape(key)}(?![\w:\-])")
        for near in range(line, min(line + _KEY_LINES, len(lines))):
            if match := is_key.search(lines[near], column if near == line else 0):
                start, end = (near, match.start()), (near, match.end())
                break
    where = types.Range(types.Position(*start), types.Position(*end))
    is_unused = row["kind"] == "unused-entry"
    return types.Diagnostic(
        range=codec.range_to_client_units(lines, where),
        message=row["message"],
        severity=types.DiagnosticSeverity.Hint if is_unused else _SEVERITIES[row["severity"]],
        code=row["kind"],
        source="citebed",
        tags=[types.DiagnosticTag.Unnecessary] if is_unused else None,
        data=None if fix is None else {"fix": fix, "record": row["record"]},
    )


def _quick_fix(uri: str, found: types.Diagnostic) -> types.CodeAction | None:
    """Return the correction that a check suggests, if it has one."""
    fix = found.data.get("fix") if isinstance(found.data, dict) else None
    if found.source != "citebed" or not isinstance(fix, str):
        return None
    change = types.WorkspaceEdit(changes={uri: [types.TextEdit(found.range, fix)]})
    title = f"Correct to “{' '.join(fix.split())[:60]}”"
    return types.CodeAction(title, _FIX, diagnostics=[found], edit=change)


def serve(collection: Path | None = None, port: int | None = None) -> bool:
    """Serve one editor on standard input and output, or on a TCP port of this machine. Return True
    if the editor ended the session properly."""
    server = CitebedServer(collection)
    sys.setswitchinterval(_SWITCH)
    logging.getLogger("pygls").setLevel(logging.CRITICAL)  # it logs every cancelled request
    if port is not None:
        server.start_tcp("127.0.0.1", port)
    else:
        source, target = _Input(io.FileIO(0)), os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)  # only messages of the protocol may reach the editor
        server.start_io(source, target)
    return server.protocol._shutdown
