"""A folder of annotated papers that a person reviews.

Each paper has a proposal in ``STEM.review.json``, which never changes, and a person's decisions in
``STEM.decisions.json``. ``STEM.xml`` and ``STEM.dois`` are the result of both.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from citebed.errors import CitebedError, FormatError
from citebed.files.input_files import hash_file, read_text
from citebed.files.output_files import add_files, is_plain_or_missing, update_file
from citebed.papers.annotation import REVIEW_FILES, Annotation, annotation_xml, dois_lines
from citebed.papers.decisions import Decisions, Step
from citebed.papers.review_state import (
    THRESHOLD,
    ReviewState,
    apply_decisions,
    apply_step,
    doubtful,
    reviewed_annotation,
    write_out,
)
from citebed.wording import json_text, printable

PROPOSAL, DECISIONS = REVIEW_FILES
FORMAT = "citebed review 1"


class StaleReview(CitebedError):
    """A step that is based on an older version of the decisions."""

    def __init__(self) -> None:
        super().__init__("the paper was changed elsewhere, perhaps in another window.")


class Proposal(NamedTuple):
    """The proposed annotation of a paper; ``digest`` is its hash."""

    stem: str
    pdf: Path
    pdf_hash: str
    annotation: Annotation
    digest: str


class Progress(NamedTuple):
    """Review progress of a paper: the numbers of doubtful (``asked``) and ``open`` items."""

    stem: str
    title: str
    asked: int
    open: int
    seconds: float
    finished: bool
    problem: str = ""


class Exported(NamedTuple):
    """An exported paper: the number of paragraphs in it and left out, and if it is ``finished``."""

    stem: str
    contexts: int
    left_out: int
    finished: bool


def write_proposal(folder: Path, stem: str, annotation: Annotation, pdf: Path) -> None:
    """Write the proposal for a paper, with its XML and ``.dois``."""
    proposal = {
        "format": FORMAT,
        "pdf": str(pdf.absolute()),
        "pdf_sha256": hash_file(pdf),
        "annotation": annotation.to_json(),
    }
    with add_files(folder) as draft:
        (draft / f"{stem}{PROPOSAL}").write_text(json_text(proposal), "utf-8")
        _write(draft, stem, annotation)


def _write(folder: Path, stem: str, annotation: Annotation) -> None:
    (folder / f"{stem}.xml").write_text(annotation_xml(annotation), "utf-8")
    (folder / f"{stem}.dois").write_text(dois_lines(annotation), "utf-8")


class Review:
    """A folder with proposals; items with a confidence below ``threshold`` are doubtful."""

    def __init__(self, folder: Path, threshold: float = THRESHOLD) -> None:
        if not folder.is_dir():
            raise CitebedError(f"'{printable(folder)}' is not a folder with annotated papers.")
        self.folder = folder
        self.threshold = threshold
        self._read: dict[str, tuple[int, Proposal]] = {}

    def stems(self) -> list[str]:
        """Return the names of the papers."""
        found = (path.name.removesuffix(PROPOSAL) for path in self.folder.glob(f"*{PROPOSAL}"))
        return sorted(stem for stem in found if stem and printable(stem) == stem)

    def proposal(self, stem: str) -> Proposal:
        """Return the proposal for a paper."""
        if stem not in self.stems():
            raise CitebedError(f"no paper '{stem}' in this folder.")
        path = self.folder / f"{stem}{PROPOSAL}"
        changed = path.stat().st_mtime_ns
        if self._read.get(stem, (0,))[0] != changed:
            self._read[stem] = changed, _proposal(path, stem)
        return self._read[stem][1]

    def decisions(self, stem: str) -> Decisions:
        """Return the decisions about a paper so far."""
        proposal, path = self.proposal(stem), self._decisions_path(stem)
        text = read_text(path) if path.exists() else ""
        return _decisions(path, text, proposal)

    def state(self, stem: str, decisions: Decisions | None = None) -> ReviewState:
        """Return the state of a paper after its decisions."""
        return apply_decisions(self.proposal(stem).annotation, decisions or self.decisions(stem))

    def decide(self, stem: str, step: Step, version: int, seconds: float = 0.0) -> Decisions:
        """Add a step to the decisions; raise `StaleReview` if they are not at this version."""
        annotation = self.proposal(stem).annotation

        def add(decisions: Decisions) -> Decisions:
            state = apply_decisions(annotation, decisions)
            complete = write_out(state, step)
            apply_step(state, complete, len(decisions.steps) + 1)  # raises if it is not possible
            return decisions.with_step(complete)

        return self._change(stem, add, seconds, version)

    def undo(self, stem: str, version: int, seconds: float = 0.0) -> Decisions:
        """Undo the last step."""
        return self._change(stem, Decisions.without_last, seconds, version)

    def spend(self, stem: str, seconds: float) -> Decisions:
        """Add seconds of work on a paper."""
        return self._change(stem, lambda decisions: decisions, seconds)

    def _change(
        self,
        stem: str,
        change: Callable[[Decisions], Decisions],
        seconds: float,
        version: int | None = None,
    ) -> Decisions:
        proposal, path = self.proposal(stem), self._decisions_path(stem)
        after: list[Decisions] = []

        def changed(before: bytes) -> bytes:
            decisions = _decisions(path, before.decode("utf-8", "replace"), proposal)
            if version not in (None, decisions.version):
                raise StaleReview
            after.append(change(decisions).spent(seconds))
            return after[-1].model_dump_json(exclude_none=True).encode()

        update_file(path, changed)
        return after[-1]

    def _decisions_path(self, stem: str) -> Path:
        path = self.folder / f"{stem}{DECISIONS}"
        if not is_plain_or_missing(path):
            raise FormatError(path, None, "a link or a folder; expected a file. Move it away.")
        return path

    def progress(self, stem: str) -> Progress:
        """Return the progress of a paper, or the problem with its files."""
        try:
            decisions = self.decisions(stem)
            state = self.state(stem, decisions)
        except CitebedError as error:
            return Progress(stem, stem, 0, 0, 0.0, False, str(error))
        items = doubtful(state, self.threshold)
        left = 0 if state.finished else len(set(items) - state.decided)
        title = state.annotation.title or stem
        return Progress(stem, title, len(items), left, decisions.seconds, state.finished)

    def export(self) -> list[Exported]:
        """Write XML and ``.dois`` of all papers; if one cannot be read, write nothing and raise."""
        states = {stem: self.state(stem) for stem in self.stems()}
        exported = []
        with add_files(self.folder) as draft:
            for stem, state in states.items():
                annotation = reviewed_annotation(state)
                _write(draft, stem, annotation)
                kept = len(annotation.contexts)
                left_out = len(state.paragraphs) - kept
                exported.append(Exported(stem, kept, left_out, state.finished))
        return exported


def _proposal(path: Path, stem: str) -> Proposal:
    try:
        values = json.loads(read_text(path), parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        raise FormatError(path, None, f"not valid JSON ({error}).") from None
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise FormatError(path, None, f"not a '{FORMAT}' file as citebed annotate writes it.")
    try:
        plain = json.dumps(values["annotation"], sort_keys=True).encode()
        annotation = _annotation_type().validate_json(plain)
        pdf, pdf_hash = Path(str(values["pdf"])), str(values["pdf_sha256"])
    except (KeyError, ValueError) as error:
        reason = ", ".join(str(error).split("\n")[:3])
        raise FormatError(path, None, f"damaged review file ({reason}).") from None
    return Proposal(stem, pdf, pdf_hash, annotation, hashlib.sha256(plain).hexdigest())


@cache
def _annotation_type() -> TypeAdapter[Annotation]:
    """Return the validator for all parts of an annotation."""
    return TypeAdapter(Annotation)


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"'{text[:20]}' is not a finite number")
    return number


_REMEDY = "citebed did not change it: move it away to start again, or restore the right file."


def _decisions(path: Path, text: str, proposal: Proposal) -> Decisions:
    """Parse the decisions in a file, which may be empty.

    Raise `FormatError` if the file is damaged or belongs to another proposal.
    """
    if not text:
        return Decisions(proposal=proposal.digest)
    try:
        decisions = Decisions.model_validate_json(text)
    except (ValidationError, RecursionError) as error:
        what = str(error).partition("\n")[0]
        raise FormatError(path, None, f"not a valid decisions file ({what}). {_REMEDY}") from None
    if decisions.proposal != proposal.digest and not decisions.steps:  # it contains only seconds
        return decisions.model_copy(update={"proposal": proposal.digest})
    if decisions.proposal != proposal.digest:
        what = "these decisions belong to an older annotation of this paper."
        raise FormatError(path, None, f"{what} {_REMEDY}")
    try:
        apply_decisions(proposal.annotation, decisions)
    except CitebedError as error:
        raise FormatError(path, None, f"damaged: {error} {_REMEDY}") from None
    return decisions
