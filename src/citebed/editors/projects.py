"""The drafts of an editor: which files belong together, with texts that are not saved yet."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    """A draft as its author sees it: the ``root`` file, what it says, and its .bib files.

    ``files`` are all files of the project, each with a value that changes with its contents.
    """

    root: Path
    draft: Draft | None = None
    bibs: Mapping[Path, str] = field(default_factory=dict)
    files: Mapping[Path, object] = field(default_factory=dict, repr=False)
    problem: str = ""

    def is_current(self, texts: Mapping[Path, str] | None = None) -> bool:
        """Return True if no file has changed; without ``texts``, look only at those on the disk."""
        return all(
            state == _state(path, texts or {})
            for path, state in self.files.items()
            if texts is not None or not isinstance(state, str)
        )


def _state(path: Path, texts: Mapping[Path, str]) -> object:
    """Return the text of a file in the editor, or else the time and size of the file."""
    if path in texts:
        return texts[path]
    try:
        status = path.stat()
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return None
    return status.st_mtime_ns, status.st_size


def read_project(path: Path, texts: Mapping[Path, str], roots: Sequence[Path]) -> Project:
    """Return the project of an open file; ``texts`` are the unsaved texts of an editor, ``roots``
    the folders of its workspace.

    A file that another one includes belongs to that one's project. If the draft names no .bib file
    that exists, the project has those of its folders.
    """
    top = next((root for root in roots if path.is_relative_to(root)), path.parent)
    found = _read(path, texts)
    if path.suffix.lower() in FORMS_BY_ENDING and not _is_root(path, texts.get(path, "")):
        wholes = (_read(candidate, texts) for candidate in _candidates(path, texts, top))
        found = next((whole for whole in wholes if path in whole.files), found)
    if not found.bibs:
        bibs = {each: read_text(each, texts) for each in _bib_files(path.parent, top)}
        states = {each: _state(each, texts) for each in bibs}
        found = replace(found, bibs=bibs, files={**found.files, **states})
    return found


def read_in_worker(job: tuple[Path, Mapping[Path, str], Sequence[Path]]) -> Project:
    """Read a project in a worker process, which collects no garbage by itself."""
    gc.collect()
    return read_project(*job)


def _is_root(path: Path, text: str) -> bool:
    is_tex = FORMS_BY_ENDING.get(path.suffix.lower()) == "tex"
    return ("\\documentclass" if is_tex else "bibliography") in text


def _read(path: Path, texts: Mapping[Path, str]) -> Project:
    """Read a draft with the files that it includes."""
    files, text = IncludedFiles(path, unsaved=texts), read_text(path, texts)
    draft, problem = None, ""
    if not text:
        problem = "the draft is empty"
    elif len(text) > MAX_DRAFT:
        problem = f"{path.name} is larger than {MAX_DRAFT >> 20} MB; citebed does not check it"
    else:
        form = FORMS_BY_ENDING.get(path.suffix.lower())
        try:
            draft = draft_from_bytes(text.encode("utf-8", "replace"), path.name, form, files)
        except CitebedError as error:
            problem = str(error)
    states = {each: _state(each, texts) for each in (path, *files.paths)}
    named = [each for each in files.paths if draft and each.suffix.lower() == ".bib"]
    return Project(path, draft, {each: read_text(each, texts) for each in named}, states, problem)


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
    near, left = [*texts], _MAX_ROOTS
    for folder in path.parents:
        near += sorted(folder.glob("*")) if folder.is_relative_to(top) else []
    for each in dict.fromkeys(near):
        if each != path and FORMS_BY_ENDING.get(each.suffix.lower()) == form and left:
            text = read_text(each, texts)[:_HEAD]
            if path.stem in text and _is_root(each, text):
                left -= 1
                yield each


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
