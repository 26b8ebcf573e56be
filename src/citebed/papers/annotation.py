"""An annotated citing paper: its sentences, markers and references with confidence and positions.

Review files store it as JSON. ``citebed import`` reads it as ACM-CR's XML and ``.dois``.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from citebed.papers.paper import Box

REVIEW_FILES = (".review.json", ".decisions.json")
"""Suffixes of the files with citebed's proposal and with a person's decisions."""


@dataclass(frozen=True)
class AnnotatedMarker:
    """A citation marker in a sentence as printed, and the references that it cites."""

    text: str
    cites: tuple[str, ...]
    confidence: float
    boxes: tuple[Box, ...]


@dataclass(frozen=True)
class AnnotatedSentence:
    """A sentence; if ``anonymised``, its ``text`` lacks names of cited authors in ``printed``."""

    text: str
    cites: tuple[str, ...]
    anonymised: bool
    confidence: float
    boxes: tuple[Box, ...]
    markers: tuple[AnnotatedMarker, ...] = ()
    printed: str = ""


@dataclass(frozen=True)
class AnnotatedContext:
    """A paragraph with citations."""

    context_id: str
    section: str
    heading: str
    confidence: float
    sentences: tuple[AnnotatedSentence, ...]


@dataclass(frozen=True)
class Candidate:
    """A document that may be the one that a reference cites."""

    doc_id: str
    title: str
    probability: float
    doi: str | None = None


@dataclass(frozen=True)
class AnnotatedReference:
    """An entry of the reference list, and the paper that it cites: a DOI, or else a URL."""

    ref_id: str
    text: str
    doi: str | None
    url: str | None
    doc_id: str | None
    confidence: float
    boxes: tuple[Box, ...]
    title: str = ""
    authors: tuple[str, ...] = ()
    year: int | None = None
    venue: str = ""
    arxiv: str | None = None
    candidates: tuple[Candidate, ...] = ()


@dataclass(frozen=True)
class Annotation:
    """A citing paper with its contexts and references."""

    paper_id: str
    doi: str | None
    title: str
    authors: tuple[str, ...]
    abstract: str
    year: int | None
    contexts: tuple[AnnotatedContext, ...]
    references: tuple[AnnotatedReference, ...]
    pages: tuple[tuple[float, float], ...]
    confidence: float = 1.0
    notes: tuple[str, ...] = ()
    """Where citation markers and reference list disagree."""

    def to_json(self) -> dict[str, Any]:
        """Return the annotation as plain values."""
        return asdict(self)


_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that PDFs may contain, but XML files must not."""


def annotation_xml(annotation: Annotation) -> str:
    """Return the paper as ACM-CR's XML, which ``citebed import`` reads."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        "<doc>",
        f"\t<doi>{escape(annotation.doi)}</doi>"
        if annotation.doi
        else f"\t<id>{escape(annotation.paper_id)}</id>",
        f"\t<title>{escape(annotation.title)}</title>",
        *([f"\t<year>{annotation.year}</year>"] if annotation.year else []),
        f"\t<abstract>{escape(annotation.abstract)}</abstract>",
        "\t<contexts>",
    ]
    for context in annotation.contexts:
        lines.append(
            f"\t\t<context id={quoteattr(context.context_id)} section={quoteattr(context.section)}>"
        )
        for sentence in context.sentences:
            cites = f" cites={quoteattr(','.join(sentence.cites))}" if sentence.cites else ""
            mark = ' anonymised="true"' if sentence.anonymised else ""
            lines.append(f"\t\t\t<s{cites}{mark}>{escape(sentence.text)}</s>")
        lines.append("\t\t</context>")
    lines += ["\t</contexts>", "\t<references>"]
    for reference in annotation.references:
        stated = escape(reference.doi or reference.url or "")
        lines.append(f"\t\t<reference id={quoteattr(reference.ref_id)}>{stated}</reference>")
    return _NOT_XML.sub("", "\n".join([*lines, "\t</references>", "</doc>", ""]))


def dois_lines(annotation: Annotation) -> str:
    """Return the reference list as ACM-CR's ``.dois``: a DOI, or else a URL, or else ``None``."""
    return "".join(
        f"[{each.ref_id}]\t{each.doi or each.url or 'None'}\n" for each in annotation.references
    )
