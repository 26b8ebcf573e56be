"""The drafts of an editor: which files belong together, with texts that are not saved yet."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from citebed.drafts.files import IncludedFiles, to_text
from citebed.drafts.reader import FORMS_BY_ENDING, draft_from_bytes
from citebed.drafts.records import Draft
from citebed.errors import CitebedError
from citebed.files.input_files import read_up_to
from citebed.text.regex import compile_regex

MAX_DRAFT = 8 << 20
"""Bytes of the largest draft that citebed reads while its author types."""
_MAX_ROOTS, _MAX_FILES, _HEAD = 40, 2000, 1 << 20
_NAMED_ROOT = compile_regex(r"^%+[ \t]*!\s*T[eE]X\s+root\s*=[ \t]*([^\n]+)", re.MULTILINE)
_NO_DRAFTS = {".git", ".venv", "node_modules", "__pycache__", "build", "_build", "site-packages"}


@dataclass(frozen=True)
class Project:
    """A draft as its author sees it: the ``root`` file, what it says, and its .bib files."""

    root: Path
    draft: Draft | None = None
    bibs: Mapping[Path, str] = field(default_factory=dict)
    files: frozenset[Path] = frozenset()
    problem: str = ""

    @property
    def paths(self) -> frozenset[Path]:
        """All files of the project."""
        return self.files | {*self.bibs}

    @property
    def stamp(self) -> tuple[tuple[int, int], ...]:
        """A value that changes if a file of the project changes on the disk."""
        return tuple(_stamp(path) for path in sorted(self.paths))


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return status.st_mtime_ns, status.st_size


def read_project(path: Path, texts: Mapping[Path, str], roots: Sequence[Path]) -> Project:
    """Return the project of an open file; ``texts`` are the unsaved texts of an editor, ``roots``
    the folders of its workspace.

    A file that another one includes belongs to that one's project. If the draft names no .bib file
    that exists, the project has those of its folders.
    """
    suffix = path.suffix.lower()
    top = next((root for root in roots if path.is_relative_to(root)), path.parent)
    found = _read(path, texts)
    if suffix in FORMS_BY_ENDING and not _is_root(texts.get(path, ""), suffix):
        for candidate in _candidates(path, texts, top):
            whole = _read(candidate, texts)
            if path in whole.files:
                found = whole
                break
    if not found.bibs:
        bibs = {each: read_text(each, texts) for each in _bib_files(path.parent, top)}
        found = Project(found.root, found.draft, bibs, found.files, found.problem)
    return found


def _is_root(text: str, suffix: str) -> bool:
    is_tex = FORMS_BY_ENDING.get(suffix) == "tex"
    return "\\documentclass" in text if is_tex else "bibliography" in text


def _read(path: Path, texts: Mapping[Path, str]) -> Project:
    """Read a draft with the files that it includes."""
    files = IncludedFiles(path, unsaved=texts)
    text = read_text(path, texts)
    if not text:
        return Project(path, files=frozenset({path}), problem="the draft is empty")
    if len(text) > MAX_DRAFT:
        what = f"{path.name} is larger than {MAX_DRAFT >> 20} MB; citebed does not check it"
        return Project(path, files=frozenset({path}), problem=what)
    try:
        form = FORMS_BY_ENDING.get(path.suffix.lower())
        draft = draft_from_bytes(text.encode("utf-8", "replace"), path.name, form, files)
    except CitebedError as error:
        return Project(path, files=frozenset({path, *files.paths}), problem=str(error))
    bibs = {each: read_text(each, texts) for each in files.paths if each.suffix.lower() == ".bib"}
    return Project(path, draft, bibs, frozenset({path, *files.paths}))


def read_text(path: Path, texts: Mapping[Path, str]) -> str:
    """Return the text of a file in the editor, or else on the disk; empty if it has none."""
    if path in texts:
        return texts[path]
    try:
        with path.open("rb") as file:
            return to_text(read_up_to(file, MAX_DRAFT + 1))
    except (OSError, ValueError):
        return ""


def _candidates(path: Path, texts: Mapping[Path, str], top: Path) -> Iterator[Path]:
    """Yield files that may include a file: the one that it names, then open files, then files in
    its folder and the folders above, up to the workspace."""
    if named := _NAMED_ROOT.search(texts.get(path, "")[:_HEAD]):
        yield Path(os.path.abspath(path.parent / named[1].strip()))
    form = FORMS_BY_ENDING[path.suffix.lower()]
    near = [each for each in texts if each != path]
    for folder in (path.parent, *path.parents[1:]):
        if folder.is_relative_to(top):
            near += _listed(folder)
    left = _MAX_ROOTS
    for each in dict.fromkeys(near):
        if each != path and FORMS_BY_ENDING.get(each.suffix.lower()) == form and left:
            text = read_text(each, texts)[:_HEAD]
            if path.stem in text and _is_root(text, each.suffix.lower()):
                left -= 1
                yield each


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(each for each in folder.iterdir() if each.suffix.lower() in FORMS_BY_ENDING)
    except OSError:
        return []


def _bib_files(near: Path, top: Path) -> list[Path]:
    """Return the .bib files of a file's folder; or else of the workspace, without hidden folders
    and folders of packages."""
    beside = sorted(near.glob("*.bib"))
    if beside or not near.is_relative_to(top):
        return beside
    found, seen = list[Path](), 0
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(each for each in folders if each not in _NO_DRAFTS and each[0] != ".")
        seen += len(names)
        found += [Path(folder, name) for name in sorted(names) if name.lower().endswith(".bib")]
        if seen > _MAX_FILES or len(found) >= _MAX_ROOTS:
            break
    return found[:_MAX_ROOTS]
