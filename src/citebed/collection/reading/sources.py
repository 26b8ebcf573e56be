"""Find and open a user's sources: files, folders, compressed files and archives.

citebed never unpacks anything to the disk, so a name inside an archive is only a label. It reads
every stream piece by piece and stops if the unpacked data exceeds a limit.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import os
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple

from citebed.errors import CitebedError
from citebed.files.file_kinds import MANIFEST, explain_document_archive
from citebed.files.limits import (
    MAGIC_BYTES,
    DecompressionBomb,
    DecompressionBudget,
    LimitedStream,
    decompress,
    detect_compression,
)
from citebed.papers.annotation import REVIEW_FILES
from citebed.records import Problem
from citebed.wording import count, printable

_NESTED_ZIP_BYTES = 256 << 20
_MAX_DEPTH = 3
_TRIED_BYTES = 16 << 20
_ENCRYPTED = 0x1
_WRITTEN = re.compile(r"[!\ud800-\udfff]|%2[15]|\\x[89a-f]")
_ZIP_HEADER_BYTES = 30
_ZOTERO, _BACKUP = "zotero.sqlite", re.compile(r"(?:zotero|better-bibtex.*)\.sqlite")
_ZOTERO_FOLDERS = ("storage", "styles", "translators", "locate", "pipes", "better-bibtex", "cache")
"""What Zotero keeps beside its database. The database names the files in its storage."""
_NOWHERE = "/no file"
"""The folder in the names of sources without a path."""

BAD_DATA = (
    OSError,
    EOFError,
    lzma.LZMAError,
    zlib.error,
    zipfile.BadZipFile,
    tarfile.TarError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)
"""The errors that the standard library raises on broken, truncated or encrypted archives."""


class SourceNames:
    """Names for the sources of the collection at ``folder``, without the user's paths.

    Users share collections, so the names do not contain paths such as
    ``/home/ann/thesis/refs.bib``. A path in the folder that contains the collection is named
    relative to that folder (``refs.bib``, ``papers/a.xml``), so that you can move both together.
    The name of any other source is the last part of its path, with as many folders in front as
    necessary to make it unique (``thesis/refs.bib``). A hash of its path identifies it.

    ``known`` are the manifest's rows of the paths of earlier imports. With ``absolute``, new names
    are absolute paths.
    """

    def __init__(
        self, folder: Path, known: Iterable[Mapping[str, Any]] = (), *, absolute: bool = False
    ) -> None:
        self._home = os.path.dirname(os.path.realpath(folder))
        self._absolute = absolute
        rows = list(known)
        self._known = {str(row["path"]) for row in rows}
        self._elsewhere = {str(row["place"]): str(row["path"]) for row in rows if row.get("place")}
        self._stand_ins: dict[str, str] = {}
        here = self._known - set(self._elsewhere.values())
        self._here = {os.path.realpath(os.path.join(self._home, name)): name for name in here}

    def set_name(self, path: Path, name: str) -> None:
        """Give a copy of data without a path (standard input) a name."""
        self._stand_ins[os.fspath(path)] = f"{_NOWHERE}/{name}"

    def name_of(self, path: str | Path) -> str:
        """Return the name of a given path, or of a path below one.

        A file has one name, whatever path or link leads to it.
        """
        path = _named(os.fspath(path), self._stand_ins.get) or path
        whole = os.path.abspath(path)
        linked = os.path.join(os.path.realpath(os.path.dirname(whole)), os.path.basename(whole))
        real = os.path.realpath(path) if os.path.exists(path) else linked
        inside = linked if _is_below(linked, self._home) else real
        is_inside = _is_below(inside, self._home)
        name_here = _named(real, self._here.get) or _named(linked, self._here.get)
        for tried in () if _is_below(real, self._home) else (real, linked, whole):
            name_here = name_here or _named(tried, lambda above: self._elsewhere.get(_place(above)))
        if name_here is not None:
            return name_here
        if not is_inside and not (self._absolute and not whole.startswith(_NOWHERE)):
            parts = _text(linked).strip("/").split("/")
            for number in range(1, len(parts) + 1):
                name = "/".join(parts[-number:])
                if name not in self._known and not self._is_taken(name):
                    break
            self._elsewhere[_place(real)] = name
            return name
        name = _text(whole if self._absolute else os.path.relpath(inside, self._home))
        if self._is_taken(name):
            name = f"./{name}"
        if name != ".":  # sources in the folder around the collection have their own names
            self._here[real] = name
        return name

    def path_of(self, name: str) -> str | None:
        """Return the path of a source, or ``None`` if citebed knows only a hash of it."""
        lost = any(_is_below(name, other) for other in self._elsewhere.values())
        return None if lost or _WRITTEN.search(name) else os.path.join(self._home, name)

    def _is_taken(self, name: str) -> bool:
        """Return True if a source outside the folder has this name, or one above or below it."""
        others = self._elsewhere.values()
        return any(_is_below(name, other) or _is_below(other, name) for other in others)

    def path_hash_of(self, name: str) -> str:
        """Return the hash of a given path, or "" if the name itself is the path."""
        return next((place for place, other in self._elsewhere.items() if other == name), "")


def _named(place: str, name_of: Callable[[str], str | None]) -> str | None:
    """Return the name of a path that has one or is below one with a name, else ``None``."""
    above = place
    while True:
        if (name := name_of(above)) is not None:
            return name if above == place else f"{name}/{_text(os.path.relpath(place, above))}"
        if above == os.path.dirname(above):
            return None
        above = os.path.dirname(above)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _text(path: str) -> str:
    """Return a path as text: different for different paths, and with the same folders."""
    return "/".join(map(_part, path.split(os.sep)))


def _part(name: str) -> str:
    """Return the own name of a file or folder, escaped if necessary.

    ``!`` separates an archive from its member, so it is escaped in names. So are bytes that are not
    text, and characters that look like such an escape.
    """
    if _WRITTEN.search(name):
        name = name.replace("\\", "\\\\").replace("%", "%25").replace("!", "%21")
    return printable(name)


def _place(whole: str) -> str:
    return hashlib.sha256(os.fsencode(whole)).hexdigest()[:16]


class SourceFile(NamedTuple):
    """A file on disk: its path, its name in the collection, and what its reader needs to know from
    other files."""

    path: Path
    name: str
    context: Mapping[str, str] = {}


class Member(NamedTuple):
    """A readable stream: a plain file, or one inside an archive (``a.tar.xz!b/c.bib``)."""

    name: str
    stream: BinaryIO


def find_files(
    paths: list[str | Path], names: SourceNames
) -> tuple[list[SourceFile], list[tuple[str, Problem]]]:
    """Return all files under the given paths without hidden ones, and the names of what citebed
    cannot read as a file, with the reason; both sorted by name."""
    items: dict[str, SourceFile | Problem] = {}
    for wanted in paths:
        root = Path(wanted)
        if not root.exists():
            name = printable(wanted)
            advice = "Give the bibliographies, papers or archives to import."
            if "://" in name:
                advice = f"citebed imports files: download it first, e.g. curl -LO {name}"
            raise CitebedError(f"no such file or folder: {name}. {advice}")
        names.name_of(root)  # name a folder before its files
        # A link is another name of a file, so the file itself is named first.
        for path in sorted(files_under(root), key=os.path.islink):
            name = names.name_of(path)
            why = _why_no_file(path)
            if why == _NOT_REGULAR and path == root:
                raise CitebedError(
                    f"{printable(wanted)} is {why}. Write a pipe to a file first, or give its "
                    "content as standard input: citebed import COLLECTION -"
                )
            items[name] = Problem(1, why, "ignored") if why else SourceFile(path, name)
    ordered = sorted(items.items())
    files = [item for _, item in ordered if isinstance(item, SourceFile)]
    return files, [(name, item) for name, item in ordered if isinstance(item, Problem)]


def _why_no_file(path: Path) -> str:
    """Return why a path cannot be read as a file, or "" if it can."""
    if not os.path.exists(path):  # unlike Path.exists, does not raise where we may not look
        return "a link that leads nowhere"
    if path.is_dir():
        a_link = "a link to a folder is not followed; name that folder to read it too"
        return a_link if path.is_symlink() else "a folder that cannot be opened"
    return "" if stat.S_ISREG(path.stat().st_mode) else _NOT_REGULAR


_NOT_REGULAR = "not a regular file"


def files_under(root: Path) -> Iterator[Path]:
    """Yield a file, or everything below a folder that an import looks at: also links to folders,
    and folders that cannot be opened."""
    if not root.is_dir():
        yield root
        return
    closed: list[Path] = []
    for folder, folders, files in os.walk(root, onerror=lambda e: closed.append(Path(e.filename))):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if MANIFEST in files:  # a collection
            folders.clear()
            continue
        if _ZOTERO in files:
            folders[:] = [name for name in folders if name not in _ZOTERO_FOLDERS]
            files[:] = [name for name in files if name == _ZOTERO or not _BACKUP.match(name)]
        links = (name for name in folders if Path(folder, name).is_symlink())
        for name in (*files, *links):
            if not name.startswith(".") and not name.endswith(REVIEW_FILES):
                yield Path(folder, name)
    yield from closed


@contextmanager
def translate_os_errors(path: Path) -> Iterator[None]:
    """Raise ``CitebedError`` if the system cannot read a file, because its content is unknown then.

    Use this where the error occurs: callers would mistake it for a damaged archive.
    """
    try:
        yield
    except OSError as error:
        raise CitebedError(
            f"cannot read {printable(path)}: {error.strerror}. Nothing was imported; "
            "fix that, or leave the file out."
        ) from error


class _Counted(io.FileIO):
    """A file that reports how many bytes were read."""

    def __init__(self, path: Path, on_read: Callable[[int], None]) -> None:
        super().__init__(path, "rb")
        self._path = path
        self._on_read = on_read

    def readinto(self, buffer: object) -> int:
        with translate_os_errors(self._path):
            count = super().readinto(buffer) or 0  # type: ignore[arg-type]
        self._on_read(count)
        return count


def members(
    path: Path, name: str, on_read: Callable[[int], None] = lambda _: None
) -> Iterator[Member | Problem]:
    """Yield the readable streams in a file; read each of them before you ask for the next."""
    with translate_os_errors(path):
        file, size = _Counted(path, on_read), path.stat().st_size
    with io.BufferedReader(file, 1 << 20) as stream:
        _refuse_bomb(path, size)
        yield from _members(stream, name, 0, DecompressionBudget(size))


def _refuse_bomb(path: Path, size: int) -> None:
    """Unpack a small compressed file once and discard the data, to detect a decompression bomb.

    Otherwise citebed would spend minutes on reading millions of records from a few hundred
    kilobytes before it exceeds the limit.
    """
    if size > _TRIED_BYTES:
        return
    with path.open("rb") as file:
        magic = file.peek(MAGIC_BYTES)[:MAGIC_BYTES]
        inner = decompress(file, magic, DecompressionBudget(size))
        if inner is None:
            return
        try:
            while inner.read1(1 << 20):  # type: ignore[attr-defined]
                pass
        except DecompressionBomb:
            raise
        except BAD_DATA:
            return  # reported when its content is read


def _members(
    stream: Any, name: str, depth: int, budget: DecompressionBudget
) -> Iterator[Member | Problem]:
    buffered = stream
    if not isinstance(stream, io.BufferedReader):
        buffered = io.BufferedReader(stream, 1 << 20)
    magic = buffered.peek(512)[:512]
    if depth > _MAX_DEPTH:
        yield Problem(1, f"{name}: archives nested more than {_MAX_DEPTH} deep")
    elif magic.startswith(b"PK\x03\x04"):
        yield from _zip_members(buffered, name, depth, budget, magic)
    elif magic[257:262] == b"ustar":
        with tarfile.open(fileobj=buffered, mode="r|") as archive:
            for info in archive:
                label = _label(name, info.name)
                if info.isdir() or not label:
                    continue
                content = archive.extractfile(info) if info.isreg() else None
                if content is None:
                    yield Problem(1, f"{label}: a link or device, not a file", "ignored")
                    continue
                yield from _members(content, label, depth + 1, budget)
    elif (inner := decompress(buffered, magic, budget)) is not None:
        yield from _members(inner, name, depth + 1, budget)
    else:
        yield Member(name, buffered)


def is_archive(head: bytes) -> bool:
    """Return True for the first bytes of a zip or tar archive, or of a compressed file."""
    is_packed = bool(detect_compression(head)) or head.startswith(b"PK\x03\x04")
    return is_packed or head[257:262] == b"ustar"


def _label(archive: str, member: str) -> str:
    """Return the name of an archive's member, or "" if it is hidden."""
    parts = PurePosixPath(member.replace("\\", "/")).parts
    named = [part for part in parts if part not in ("/", "..", ".")]
    hidden = any(part.startswith((".", "__MACOSX")) for part in named)
    return "" if hidden else f"{archive}!{printable('/'.join(named))}"


def _overlapping(infos: list[zipfile.ZipInfo]) -> set[zipfile.ZipInfo]:
    """Return the members that share bytes with another; not every Python's ``zipfile`` checks
    this."""

    def end(info: zipfile.ZipInfo) -> int:
        return info.header_offset + _ZIP_HEADER_BYTES + info.compress_size

    items: set[zipfile.ZipInfo] = set()
    longest: zipfile.ZipInfo | None = None
    for info in sorted(infos, key=lambda info: info.header_offset):
        if longest and info.header_offset < end(longest):
            items |= {longest, info}
        longest = max(longest or info, info, key=end)
    return items


def _zip_members(
    stream: BinaryIO, name: str, depth: int, budget: DecompressionBudget, head: bytes
) -> Iterator[Member | Problem]:
    if depth:
        data = stream.read(_NESTED_ZIP_BYTES + 1)
        if len(data) > _NESTED_ZIP_BYTES:
            yield Problem(1, f"{name}: a zip file of more than 256 MiB inside another archive")
            return
        stream = io.BytesIO(data)
    with zipfile.ZipFile(stream) as archive:
        if what := explain_document_archive(head, archive.namelist()):
            yield Problem(1, f"{name}: {what}" if depth else what, "ignored")
            return
        if shared := _overlapping(archive.infolist()):
            what = f"{count(len(shared), 'member')} share their bytes, as in a decompression bomb"
            yield Problem(1, f"{name}: {what}; none of them is read")
        for info in archive.infolist():
            label = _label(name, info.filename)
            is_folder = info.filename.endswith("/")  # not is_dir: it fails for one without a name
            if info in shared or is_folder or not label:
                continue
            if info.flag_bits & _ENCRYPTED:
                yield Problem(1, f"{label}: encrypted; unpack it with its password and import that")
                continue
            try:
                with archive.open(info) as content:
                    packed = max(info.compress_size, 1)
                    watched = LimitedStream(content, lambda packed=packed: packed, budget)  # type: ignore[misc]
                    inside = io.BufferedReader(watched, 1 << 20)
                    yield from _members(inside, label, depth + 1, budget)
            except BAD_DATA as error:
                yield Problem(1, f"{label}: {error}")
            if budget.left < 0:
                yield Problem(1, f"{name}: unpacks to far too much; the rest of it is not read")
                return
