"""``citebed recommend``: from the text that was given to what is printed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from citebed.cli.output import print_json
from citebed.collection import Collection
from citebed.collection.formats.bibtex import entry_of
from citebed.drafts import (
    Draft,
    Passage,
    already_cited,
    draft_of,
    is_the_paper,
    parse_draft,
    pieces,
    read_draft,
)
from citebed.errors import CitebedError
from citebed.report.recommendation_text import passage_lines
from citebed.retrieval.dates import checked_date
from citebed.retrieval.index.index import Index
from citebed.retrieval.recommending import NothingToAsk, Recommendation, Recommender
from citebed.retrieval.search.fields import fields_of

_ENDINGS = (".tex", ".md", ".markdown", ".txt", ".text", ".ltx", ".rst", ".pdf", ".docx", ".odt")
_LONGEST_NAME = 255
"""Bytes of the longest file name there can be; longer arguments are text."""
_WARM_FROM = 20
"""From so many passages on, making the recommender ready pays."""


@dataclass(frozen=True)
class Asked:
    """What the user asked for."""

    text: str
    k: int
    each: str | None
    before: str | None
    keep_cited: bool


Answer = tuple[Passage, list[Recommendation]]


def print_recommendations(
    collection: Collection, index: Index, model: str, fields: str, asked: Asked, form: str
) -> None:
    """Read the text, recommend, and print as people, programs or BibTeX files want it."""
    if asked.before is not None:
        checked_date(asked.before)
    draft, is_file = _draft(asked.text)
    unit: Any = asked.each or ("paragraph" if is_file else "text")
    passages = pieces(draft, unit)
    if not passages:
        raise CitebedError("there is no prose in the text; expected a sentence or a paragraph")
    for note in draft.notes:
        typer.echo(f"note: {note}", err=True)
    exclude = set() if asked.keep_cited else _left_out(collection, draft)
    warm = len(passages) >= _WARM_FROM
    recommender = Recommender(collection, index, model, fields_of(fields), warm=warm)
    answers = list(_answers(recommender, passages, asked, exclude))
    if form == "json":
        print_json([row for answer in answers for row in _rows(answer)])
    elif form == "bibtex":
        _print_bibtex(recommender, answers)
    else:
        for answer in answers:
            sys.stdout.write("\n".join(passage_lines(*answer, alone=len(answers) == 1)) + "\n")
    if exclude:
        typer.echo(f"left out {len(exclude)} that the text cites already or is itself", err=True)


def _draft(text: str) -> tuple[Draft, bool]:
    """The text read, and whether it came from a file."""
    if text == "-":
        if sys.stdin is None:
            raise CitebedError("standard input is closed; give the text or a file")
        if sys.stdin.isatty():
            typer.echo("reading the text from the terminal; end with Ctrl-D", err=True)
        return draft_of(sys.stdin.buffer.read(), "standard input"), False
    if text and len(os.fsencode(text)) <= _LONGEST_NAME and "\n" not in text and "\0" not in text:
        path = Path(text)
        if path.exists():
            return read_draft(path), True
        if path.suffix.lower() in _ENDINGS and " " not in text:
            raise CitebedError(f"there is no file '{text}'")
    if not _is_encodable(text):
        return draft_of(os.fsencode(text), "the text"), False  # bytes that are no UTF-8
    return parse_draft(text), False


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _left_out(collection: Collection, draft: Draft) -> set[str]:
    cited = draft.cited
    if not (draft.title or cited.keys or cited.dois or cited.arxiv or cited.entries):
        return set()
    columns = ("doc_id", "title", "doi", "url", "aliases")
    documents = collection.scan_documents().select(columns).collect()
    return already_cited(cited, documents) | is_the_paper(draft.title, None, documents)


def _answers(
    recommender: Recommender, passages: list[Passage], asked: Asked, exclude: set[str]
) -> Iterator[Answer]:
    for passage in passages:
        try:
            found = recommender.recommend(
                passage.text,
                asked.k,
                exclude=exclude,
                before=asked.before,
                sentences=passage.sentences,
            )
        except NothingToAsk as error:
            if len(passages) == 1:
                raise
            typer.echo(f"note: line {passage.line}: {error}", err=True)
            continue
        yield passage, found


def _rows(answer: Answer) -> Iterator[dict[str, Any]]:
    passage, found = answer
    for each in found:
        yield {
            "rank": each.rank,
            "doc_id": each.doc_id,
            "score": each.score,
            "title": each.title,
            "authors": list(each.authors),
            "year": each.year,
            "venue": each.venue,
            "doi": each.doi,
            "terms": list(each.terms),
            "sentence": each.sentence,
            "passage": passage.number,
            "line": passage.line,
            "section": passage.section,
        }


def _print_bibtex(recommender: Recommender, answers: list[Answer]) -> None:
    names = dict.fromkeys(each.doc_id for _, found in answers for each in found)
    entries = [entry_of(recommender.document(name)).strip() for name in names]
    sys.stdout.write("\n\n".join(entries) + "\n")
