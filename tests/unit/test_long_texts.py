"""No text makes a reader work with the square of its length.

Each text repeats a sign, a few signs or a numbered command. A reader that looks at every place once
needs a few hundredths of a second. A reader that looks at all of the rest from every place needs
several seconds, and four times as long for a text of twice the length: the test stops it.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType

import polars as pl
import pytest
from tests.sampling import sized

from citebed.collection.formats import FORMATS
from citebed.collection.formats.base import Chunk
from citebed.collection.names import venue_key, venue_series
from citebed.drafts import Cited, Entry, Form, find_cited_documents, parse_draft, pieces
from citebed.drafts.records import Place
from citebed.drafts.references import split_references
from citebed.errors import CitebedError
from citebed.evaluation.measures.names import measure
from citebed.evaluation.measures.trec_names import trec_lines
from citebed.judging.pooling_methods import read_method
from citebed.papers.reference_matcher import ReferenceMatcher
from citebed.papers.references import parse_reference
from citebed.retrieval.analysis.analysers import analyser_of
from citebed.retrieval.pipeline import parse_pipeline
from citebed.runs.times import parse_length
from citebed.text.anonymise import anonymise
from citebed.text.identifiers import looks_like_url, normalise_doi
from citebed.text.languages import language_of
from citebed.text.latex import latex_to_text, text_to_latex
from citebed.text.markers import remove_markers
from citebed.text.names import name_from_display
from citebed.text.normalise import date_in, html_to_text, join_hyphens, month_in, page_range
from citebed.text.sentences import split_sentences

LENGTH = sized(12_000, 50_000)
SECONDS = sized(1, 5)
BEGINNING = "A wo-\nrd "

SIGNS = (
    *"{}[]()$%&#@^_~`*<>|-.,;:!?'\"=+/0aAé漢 \t\n\f",
    *("\\", "\\\\", "$$", "--", "\n\n", "-\n", "a-\n", "a-", "\u00ad", "\u00ad\n", "e\u0301", "A."),
    *("a. ", "A, ", "A and ", "et al. ", "(A 2010", "[1]", "[1, ", "[@a", "(see ", "2010", "1-"),
    *(
        "\\cite{", "\\begin{a}", "\\end{a}", "\\a", "\\def\\a{", "\\frac{", "\\'", "^{", "\\[",
        "\\(",
    ),
    *("\\footnote{", "\\verb|", "\\item[", "\\iffalse", "&amp;", "&lt;b", "<!--", "<i ", "<sup>"),
    *("```", "> ", "- ", "1. ", "# ", "---\n", "[^1]:", "![", "[a](", "http://a/", "10.1234/"),
    *("@a{", '"a",', "of the ", " & ", " , ", "Jan ", "van ", "1,", "A B"),
)  # fmt: skip
NUMBERED = (
    *(
        "\\cite{k%d} ", "\\bibliography{b%d} ", "\\input{f%d} ", "\\footnote{a%d} ",
        "\\section{S%d} ",
    ),
    *("\\newcommand{\\m%d}{x} ", "\\begin{e%d} ", "\\label{x%d} ", "$x%d$ ", "w%d-\nx ", "[%d] "),
    *(
        "[@k%d] ", "[^%d]: x\n\n", "# H%d\n\n", "(Smith%d, 2010) ", "10.1234/x%d ",
        "\\bibitem{k%d} ",
    ),
    *("[%d] A. Author. A title. 2010.\n", "@article{k%d, title={T}}\n", "A%d et al. [3] "),
)  # fmt: skip


def long_texts() -> Iterator[tuple[str, str]]:
    for sign in SIGNS:
        yield sign, BEGINNING + sign * (LENGTH // len(sign)) + "a"
    for sign in NUMBERED:
        count = LENGTH // (len(sign) + 2)
        yield sign, "".join(sign % number for number in range(count))


def read(name: str, before: str = "", after: str = "") -> Callable[[str], object]:
    """A format's reader, given a text inside a record."""
    form = FORMATS[name]
    return lambda text: list(form.parse(Chunk(f"{before}{text}{after}".encode(), "a")))


def draft(form: Form) -> Callable[[str], object]:
    def parse(text: str) -> None:
        with contextlib.suppress(CitebedError):  # there is nothing but blanks in it
            pieces(parse_draft(text, form), "sentence")

    return parse


DOCUMENTS = pl.DataFrame(
    {"doc_id": ["a"], "title": ["On long texts of all kinds"], "doi": ["10.1/a"]}
)


def cited(text: str) -> object:
    return find_cited_documents(Cited(keys=(text,), entries=(Entry("k", text),)), DOCUMENTS)


def matched(text: str) -> object:
    return ReferenceMatcher(DOCUMENTS).candidates([parse_reference(text)])


def name(parse: Callable[[str], object]) -> Callable[[str], object]:
    """Return the work that a text names, if any: the text without its first words."""

    def named(text: str) -> None:
        with contextlib.suppress(CitebedError):
            parse(text.removeprefix(BEGINNING))

    return named


READERS: dict[str, Callable[[str], object]] = {
    "hyphens": join_hyphens,
    "markers": remove_markers,
    "sentences": split_sentences,
    "anonymise": anonymise,
    "terms": analyser_of("english").terms,
    "LaTeX": latex_to_text,
    "to LaTeX": text_to_latex,
    "HTML": html_to_text,
    "venue": venue_series,
    "venue's key": venue_key,
    "name": name_from_display,
    "pages": page_range,
    "date": date_in,
    "month": month_in,
    "DOI": normalise_doi,
    "address": looks_like_url,
    "language": lambda text: language_of(None, text, text),
    "references": lambda text: split_references([(line, Place()) for line in text.split("\n")]),
    "printed reference": parse_reference,
    "matched reference": matched,
    "what is cited": cited,
    "draft in LaTeX": draft("tex"),
    "draft in Markdown": draft("markdown"),
    "draft in plain text": draft("text"),
    "BibTeX": read("bibtex"),
    "BibTeX's fields": read("bibtex", "@article{a, author = {", "}, title = {T}}"),
    "RIS": read("ris", "TY  - JOUR\nAU  - ", "\nER  - \n"),
    "SMART": read("smart", ".I 1\n.A\n"),
    "TREC": read("trec-documents", "<DOC><DOCNO>1</DOCNO><TEXT>", "</TEXT></DOC>"),
    "DOIs": read("dois"),
    "measure": name(measure),
    "trec_eval's measure": name(trec_lines),
    "retrieval model": name(parse_pipeline),
    "length of slices": name(parse_length),
    "pooling method": name(read_method),
}


class TooSlow(BaseException):
    """A reader used far too much of the processor."""


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise TooSlow


@pytest.fixture(autouse=True)
def _stopped() -> Iterator[None]:
    before = signal.signal(signal.SIGPROF, _stop)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)


@pytest.mark.parametrize("name", READERS)
def test_a_long_text_is_read_in_one_go(name: str) -> None:
    for sign, text in long_texts():
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            READERS[name](text)
        except TooSlow:
            pytest.fail(f"{name}: {LENGTH:,} characters of {sign!r} take more than {SECONDS} s")
