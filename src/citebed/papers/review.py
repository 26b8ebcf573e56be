"""A folder of papers to confirm: what the machine proposes, and what a person decided of it.

For each paper there is ``STEM.review.json``, which no person changes, ``STEM.decisions.json``, and
``STEM.xml`` and ``STEM.dois`` as both together give them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from citebed.errors import CitebedError, FormatError
from citebed.files.reading import file_hash, read_text
from citebed.files.updating import update
from citebed.files.writing import is_own, several_files
from citebed.papers.annotation import REVIEW_FILES, Annotation, annotation_xml, dois_lines
from citebed.papers.deciding import THRESHOLD, Stand, doubtful, reviewed, stand_of, taken
from citebed.papers.decisions import Decisions, Step
from citebed.papers.settling import settled
from citebed.wording import json_text, printable

PROPOSAL, DECISIONS = REVIEW_FILES
FORMAT = "citebed review 1"


class Stale(CitebedError):
    """A step for decisions that have changed since they were looked at."""

    def __init__(self) -> None:
        super().__init__("the paper was changed elsewhere, in another window perhaps.")


class Proposal(NamedTuple):
    """What the machine proposes for a paper; ``digest`` tells it from any other proposal."""

    stem: str
    pdf: Path
    pdf_hash: str
    annotation: Annotation
    digest: str


class Progress(NamedTuple):
    """How far the review of a paper is: how many items are asked, how many of them are open."""

    stem: str
    title: str
    asked: int
    open: int
    seconds: float
    finished: bool
    problem: str = ""


class Exported(NamedTuple):
    """A paper that was written: with how many paragraphs, whether all of it was confirmed."""

    stem: str
    contexts: int
    left_out: int
    finished: bool


def write_proposal(folder: Path, stem: str, annotation: Annotation, pdf: Path) -> None:
    """Write what the machine proposes, and the XML and ``.dois`` of it."""
    proposal = {
        "format": FORMAT,
        "pdf": str(pdf.absolute()),
        "pdf_sha256": file_hash(pdf),
        "annotation": annotation.to_json(),
    }
    with several_files(folder) as draft:
        (draft / f"{stem}{PROPOSAL}").write_text(json_text(proposal), "utf-8")
        _write(draft, stem, annotation)


def _write(folder: Path, stem: str, annotation: Annotation) -> None:
    (folder / f"{stem}.xml").write_text(annotation_xml(annotation), "utf-8")
    (folder / f"{stem}.dois").write_text(dois_lines(annotation), "utf-8")


class Review:
    """A folder with proposals; what is doubtful lies below ``threshold``."""

    def __init__(self, folder: Path, threshold: float = THRESHOLD) -> None:
        if not folder.is_dir():
            raise CitebedError(f"'{printable(folder)}' is no folder with papers to confirm.")
        self.folder = folder
        self.threshold = threshold
        self._read: dict[str, tuple[int, Proposal]] = {}

    def stems(self) -> list[str]:
        """The papers, by their names."""
        found = (path.name.removesuffix(PROPOSAL) for path in self.folder.glob(f"*{PROPOSAL}"))
        return sorted(stem for stem in found if stem and printable(stem) == stem)

    def proposal(self, stem: str) -> Proposal:
        """What the machine proposes for a paper."""
        if stem not in self.stems():
            raise CitebedError(f"there is no paper '{stem}' here.")
        path = self.folder / f"{stem}{PROPOSAL}"
        changed = path.stat().st_mtime_ns
        if self._read.get(stem, (0,))[0] != changed:
            self._read[stem] = changed, _proposal(path, stem)
        return self._read[stem][1]

    def decisions(self, stem: str) -> Decisions:
        """What was decided of a paper so far."""
        proposal, path = self.proposal(stem), self._decisions_path(stem)
        text = read_text(path) if path.exists() else ""
        return _decisions(path, text, proposal)

    def stand(self, stem: str, decisions: Decisions | None = None) -> Stand:
        """How a paper stands."""
        return stand_of(self.proposal(stem).annotation, decisions or self.decisions(stem))

    def decide(self, stem: str, step: Step, version: int, seconds: float = 0.0) -> Decisions:
        """Take a step in a paper that is at a version; `Stale` where it is not any more."""
        annotation = self.proposal(stem).annotation

        def change(decisions: Decisions) -> Decisions:
            if decisions.version != version:
                raise Stale
            stand = stand_of(annotation, decisions)
            kept = settled(stand, step)
            taken(stand, kept, len(decisions.steps) + 1)
            return decisions.with_step(kept).spent(seconds)

        return self._changed(stem, change)

    def undo(self, stem: str, version: int, seconds: float = 0.0) -> Decisions:
        """Take back the last step."""

        def change(decisions: Decisions) -> Decisions:
            if decisions.version != version:
                raise Stale
            return decisions.without_last().spent(seconds)

        return self._changed(stem, change)

    def spend(self, stem: str, seconds: float) -> Decisions:
        """Note that somebody worked on a paper for some seconds."""
        return self._changed(stem, lambda decisions: decisions.spent(seconds))

    def _changed(self, stem: str, change: Callable[[Decisions], Decisions]) -> Decisions:
        proposal, path = self.proposal(stem), self._decisions_path(stem)
        after: list[Decisions] = []

        def changed(before: bytes) -> bytes:
            text = before.decode("utf-8", "replace")
            after.append(change(_decisions(path, text, proposal)))
            return after[-1].model_dump_json(exclude_none=True).encode()

        update(path, changed)
        return after[-1]

    def _decisions_path(self, stem: str) -> Path:
        path = self.folder / f"{stem}{DECISIONS}"
        if not is_own(path):
            raise FormatError(path, None, "a link or a folder; expected a file. Move it away.")
        return path

    def progress(self, stem: str) -> Progress:
        """How far a paper is; what is wrong with its files is told in place of it."""
        try:
            decisions = self.decisions(stem)
            stand = self.stand(stem, decisions)
        except CitebedError as error:
            return Progress(stem, stem, 0, 0, 0.0, False, str(error))
        asked = doubtful(stand, self.threshold)
        left = 0 if stand.finished else len(set(asked) - stand.decided)
        title = stand.annotation.title or stem
        return Progress(stem, title, len(asked), left, decisions.seconds, stand.finished)

    def export(self) -> list[Exported]:
        """Write XML and ``.dois`` of all papers as they stand; a paper that cannot be read ends it
        before anything is written."""
        made = [(stem, self._reviewed(stem)) for stem in self.stems()]
        with several_files(self.folder) as draft:
            for stem, (annotation, _) in made:
                _write(draft, stem, annotation)
        return [exported for _, (_, exported) in made]

    def _reviewed(self, stem: str) -> tuple[Annotation, Exported]:
        decisions, proposal = self.decisions(stem), self.proposal(stem)
        annotation = reviewed(proposal.annotation, decisions)
        stand = self.stand(stem, decisions)
        kept = len(annotation.contexts)
        left_out = len(stand.paragraphs) - kept
        return annotation, Exported(stem, kept, left_out, stand.finished)


def _proposal(path: Path, stem: str) -> Proposal:
    values = _json(path)
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise FormatError(path, None, f"expected a file of '{FORMAT}', as citebed annotate writes.")
    try:
        plain = json.dumps(values["annotation"], sort_keys=True).encode()
        annotation = _checked().validate_json(plain)
        pdf, pdf_hash = Path(str(values["pdf"])), str(values["pdf_sha256"])
    except (KeyError, ValueError) as error:
        reason = ", ".join(str(error).split("\n")[:3])
        raise FormatError(path, None, f"not as citebed annotate writes it ({reason}).") from None
    return Proposal(stem, pdf, pdf_hash, annotation, hashlib.sha256(plain).hexdigest())


@cache
def _checked() -> TypeAdapter[Annotation]:
    """What sees to it that each part of an annotation is what it is said to be."""
    return TypeAdapter(Annotation)


def _json(path: Path) -> Any:
    try:
        return json.loads(read_text(path), parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        raise FormatError(path, None, f"no JSON, or damaged ({error}).") from None


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text[:20]} is no number to count with")
    return number


_KEPT = "It is left as it is: move it away to begin anew, or put the right file in its place."


def _decisions(path: Path, text: str, proposal: Proposal) -> Decisions:
    """The decisions of a file, none of an empty one; `FormatError` where they are no such, or of
    another proposal."""
    if not text:
        return Decisions(proposal=proposal.digest)
    try:
        decisions = Decisions.model_validate_json(text)
    except (ValidationError, RecursionError) as error:
        what = str(error).partition("\n")[0]
        raise FormatError(path, None, f"damaged, or no decisions ({what}). {_KEPT}") from None
    if decisions.proposal != proposal.digest and not decisions.steps:  # nothing but time is in it
        return decisions.model_copy(update={"proposal": proposal.digest})
    if decisions.proposal != proposal.digest:
        what = "these decisions belong to an older annotation of this paper."
        raise FormatError(path, None, f"{what} {_KEPT}")
    try:
        stand_of(proposal.annotation, decisions)
    except CitebedError as error:
        raise FormatError(path, None, f"damaged: {error} {_KEPT}") from None
    return decisions
