"""citebed's own JSON Lines."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.jsonl import document_to_json
from tests.sampling import examples

from citebed.collection.formats.base import Chunk
from citebed.collection.formats.jsonl import JSONL
from citebed.records import (
    CitingPaper,
    Context,
    Document,
    Judgement,
    Link,
    Problem,
    Query,
    Reference,
    Section,
    Sentence,
)
from citebed.text.names import name_from_parts
from citebed.text.normalise import fold, iso_date


def read(*values: Any) -> list[Any]:
    text = "\n".join(v if isinstance(v, str) else json.dumps(v) for v in values)
    return list(JSONL.parse(Chunk(text.encode(), "t.jsonl")))


# --- documents ------------------------------------------------------------------------------

FULL = Document(
    "d1",
    type="article",
    title="Gears",
    authors=("Smith, Ann", "World Widget Society", "Plato"),
    editors=("Lee, Jr., Dan",),
    year=2010,
    date="2010-08",
    venue="J. Gears",
    volume="1",
    number="2",
    pages="3-4",
    publisher="P",
    doi="10.1234/x",
    arxiv="1810.04805",
    url="https://example.org",
    abstract="A & B <i>",
    keywords=("a, b", "c"),
    language="en",
    bibtex="@article{d1,\n  title = {Gears}\n}",
    crossref="d0",
    keys=("d1", "gears2010"),
    sections=(Section("Intro", "Text"), Section("", "More")),
    links=(Link("d2"), Link("10.1234/y", "coupled", 3.0)),
)


def test_a_full_document_comes_back() -> None:
    assert read(document_to_json(FULL)) == [FULL]
    assert "line" not in document_to_json(FULL)
    assert document_to_json(Document("x")) == {"doc_id": "x"}


@pytest.mark.parametrize(
    "doc",
    [
        Document("10.1234/x"), Document("a", year=2010), Document("a", date="2010-01"),
        Document("a", year=150, date="0150-02-03"), Document("a", authors=("A B C", "D, E")),
    ],
)  # fmt: skip
def test_what_a_document_does_not_have_stays_away(doc: Document) -> None:
    assert read(document_to_json(doc)) == [doc]


TEXT = st.text(max_size=12).map(lambda text: fold(fold(text)))
SOME = TEXT.filter(bool)
MAYBE = st.none() | SOME
NAMES = st.lists(st.builds(name_from_parts, TEXT, TEXT, TEXT).filter(bool), max_size=3).map(tuple)
DATES = st.none() | st.builds(
    iso_date, st.integers(1, 9999), st.none() | st.integers(1, 12), st.none() | st.integers(1, 31)
)
LINKS = st.builds(
    Link,
    SOME,
    st.sampled_from(["cites", "linked", "coupled", "cocited"]),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
)
DOCUMENTS = st.builds(
    Document,
    doc_id=SOME | st.just("10.1234/abc"),
    type=st.sampled_from(["misc", "article", "book"]),
    title=TEXT,
    authors=NAMES,
    editors=NAMES,
    year=st.none() | st.integers(1, 9999),
    date=DATES,
    venue=MAYBE,
    volume=MAYBE,
    number=MAYBE,
    pages=MAYBE,
    publisher=MAYBE,
    doi=st.none() | st.just("10.1234/abc"),
    arxiv=st.none() | st.sampled_from(["1810.04805", "cs/0112017"]),
    url=MAYBE,
    abstract=MAYBE,
    keywords=st.lists(SOME, max_size=3, unique=True).map(tuple),
    language=MAYBE,
    place=MAYBE,
    edition=MAYBE,
    isbn=MAYBE,
    bibtex=st.none() | st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    crossref=MAYBE,
    keys=st.lists(SOME, max_size=3, unique=True).map(tuple),
    groups=st.lists(SOME, max_size=3, unique=True).map(tuple),
    sections=st.lists(st.builds(Section, TEXT, TEXT), max_size=2).map(tuple),
    links=st.lists(LINKS, max_size=2).map(tuple),
    line=st.just(1),
)


@given(DOCUMENTS)
@settings(max_examples=examples(200), deadline=None)
def test_every_document_comes_back(doc: Document) -> None:
    assert read(document_to_json(doc)) == [doc]


def test_loose_documents_are_understood() -> None:
    loose = {
        "id": 7,
        "title": ["T"],
        "authors": ["Ann Smith", "Lee, Dan", {"family": "F", "given": "G"}, {"name": "H I"}, 3],
        "year": "2015",
        "keywords": "a; b",
        "sections": [{"heading": "H", "text": "t"}, "bare", 3],
        "links": ["d2", {"target": "d3", "kind": "odd", "weight": "x"}, {"kind": "cites"}],
        "abstract": None,
    }
    assert read(loose) == [
        Document(
            "7",
            title="T",
            authors=("Smith, Ann", "Lee, Dan", "F, G", "I, H", "3"),
            year=2015,
            date="2015",
            keywords=("a", "b"),
            sections=(Section("H", "t"), Section("", "bare"), Section("", "3")),
            links=(Link("d2"), Link("d3", "linked")),
        )
    ]


@pytest.mark.parametrize("value", [None, 3, True, "x", [], {}, [[1]], [{}], {"a": 1}])
def test_wrong_types_everywhere_leave_a_document(value: Any) -> None:
    (doc,) = read({**dict.fromkeys(Document._fields, value), "doc_id": "a"})
    assert isinstance(doc, Document)


# --- the other records ----------------------------------------------------------------------


def test_a_citing_paper_in_full() -> None:
    paper = {
        "paper_id": "p",
        "title": "T",
        "abstract": "A",
        "year": 2020,
        "contexts": [
            {
                "context_id": "c",
                "section": "Intro",
                "sentences": [
                    {"text": "One [1].", "cites": [1], "anonymised": True},
                    "Two.",
                ],
            },
            {"context_id": "c", "text": "Three.", "cites": ["2"]},
        ],
        "references": [{"ref_id": 1, "doi": "doi:10.1234/X", "title": "R"}, "10.1234/Y", "d9"],
    }
    assert read(paper) == [
        CitingPaper(
            "p",
            title="T",
            abstract="A",
            year=2020,
            date="2020",
            contexts=(
                Context("c", "Intro", (Sentence("One [1].", ("1",), True), Sentence("Two."))),
                Context("c-2", "", (Sentence("Three.", ("2",)),)),
            ),
            references=(
                Reference("1", doi="10.1234/x", title="R"),
                Reference("10.1234/Y", doi="10.1234/y"),
                Reference("d9", doc_id="d9"),
            ),
        )
    ]


def test_queries_and_judgements() -> None:
    assert read(
        {"query_id": 1, "text": "gears", "title": "t"},
        {"query_id": "1", "doc_id": "d", "relevance": "2"},
    ) == [Query("1", "gears", "t"), Judgement("1", "d", 2, 2)]


@pytest.mark.parametrize(
    "odd",
    [
        {"foo": 1, "bar": 2},
        {"query_id": "1"},
        {"query_id": "1", "doc_id": "d", "relevance": None},
        {"id": "x"},
        {"title": "no id"},
        {"citing": "a", "context": "b"},
        {},
    ],
)
def test_an_unknown_object_is_a_problem_that_lists_its_keys(odd: dict[str, Any]) -> None:
    (problem,) = read({"doc_id": "a"}, odd)[1:]
    assert isinstance(problem, Problem)
    assert problem.line == 2
    assert "judgement (query_id" in problem.what
    assert (", ".join(odd) or "(none)") in problem.what


def test_a_grade_that_is_not_a_number_is_reported() -> None:
    odd = {"query_id": "1", "doc_id": "d", "relevance": "high"}
    assert read(odd) == [Problem(1, "expected a whole number as relevance, found 'high'")]


def flat(citing: str, text: str, cited: str) -> dict[str, str]:
    return {"citing": citing, "context": text, "cited": cited}


def test_flat_contexts_become_citing_papers() -> None:
    found = read(
        flat("p", "One  [CIT] .", "10.1234/X"),
        "not json",
        flat("p", "Two.", "acl:1"),
        flat("p", "One [CIT] .", "acl:1"),
        flat("10.1234/q", "One [CIT] .", "acl:2"),
        {"query_id": "1", "text": "x"},
        flat("p", "Last.", "acl:1"),
    )
    problem, p, q, query, again = found
    assert (type(problem), problem.line) == (Problem, 2)
    assert p == CitingPaper(
        "p",
        contexts=(
            Context("1", "", (Sentence("One [CIT] .", ("10.1234/X", "acl:1")),)),
            Context("2", "", (Sentence("Two.", ("acl:1",)),)),
        ),
        references=(
            Reference("10.1234/X", doi="10.1234/x"),
            Reference("acl:1", doc_id="acl:1"),
        ),
    )
    assert (q.paper_id, q.doi, q.line) == ("10.1234/q", "10.1234/q", 5)
    assert query == Query("1", "x", line=6)
    assert (again.paper_id, again.line) == ("p", 7)


def test_cuts_never_part_the_flat_contexts_of_a_paper() -> None:
    lines = [
        json.dumps(flat(p, t, "d")) + "\n" for p, t in map(tuple, ["aa", "ab", "ba", "bb", "bc"])
    ]
    assert JSONL.split is not None
    whole = "".join(lines).encode()
    border = len("".join(lines[:2]))
    assert JSONL.split(whole + b'{"citing": "b", "con') == border
    assert JSONL.split(whole[border:]) == 0
    assert JSONL.split(whole + b'{"doc_id": "x"}\n{"d') == len(whole) + len(b'{"doc_id": "x"}\n')
    assert JSONL.split(b'{"doc_id": "x"}') == 0


# --- real data ------------------------------------------------------------------------------


def real(shared_data: Path, name: str) -> bytes:
    with lzma.open(shared_data / "citation-contexts" / f"{name}.jsonl.xz") as file:
        return file.read()


def test_real_contexts(shared_data: Path) -> None:
    data = real(shared_data, "contexts-train")
    papers: list[Any] = list(JSONL.parse(Chunk(data, "contexts-train.jsonl")))
    assert JSONL.sniff(data[: 16 << 10].decode(errors="replace"))
    assert {type(paper) for paper in papers} == {CitingPaper}
    sentences = [s for paper in papers for context in paper.contexts for s in context.sentences]
    references = [reference for paper in papers for reference in paper.references]
    # 69,959 lines, of which 32 repeat an earlier one
    counts = [len(papers), len(sentences), sum(len(s.cites) for s in sentences), len(references)]
    assert counts == [6398, 62044, 69927, 39103]
    assert sum(reference.doi is not None for reference in references) == 17071
    shown = [
        (p.line, p.paper_id, len(p.contexts), len(p.references), p.contexts[0].sentences[0].cites)
        for p in (papers[0], papers[3199], papers[-1])
    ]
    assert shown == [
        (1, "acl_2017/105", 26, 18, ("acl:P07-1017", "acl:P08-1059", "acl:D13-1174")),
        (37228, "arxiv.cs.cl_2007-2017/1708.04776", 27, 14, ("10.1145/1873951.1873987",)),
        (69957, "iclr_2017/792", 3, 2, ("10.5555/2627435.2670313",)),
    ]
    assert papers[0].references[0] == Reference("acl:P07-1017", doc_id="acl:P07-1017")
    assert "[CIT]" in papers[-1].contexts[-1].sentences[0].text


def test_real_contexts_in_pieces(shared_data: Path) -> None:
    data = real(shared_data, "contexts-train")
    whole = list(JSONL.parse(Chunk(data, "x")))
    assert JSONL.split is not None
    pieces: list[Any] = []
    start, line = 0, 1
    while start < len(data):
        buffer = data[start : start + (1 << 20)]
        end = start + (JSONL.split(buffer) if start + len(buffer) < len(data) else len(buffer))
        pieces += JSONL.parse(Chunk(data[start:end], "x", line))
        start, line = end, line + data.count(b"\n", start, end)
    assert pieces == whole


@pytest.mark.parametrize(
    ("name", "counts", "picked"),
    [
        (
            "cited-documents",
            [12591, 5684, 12590, 8023],
            ["10.5555/3045118.3045221", "acl:Q15-1024", "pr:arxiv.cs.ai_2007-2017/1606.03152"],
        ),
        (
            "citing-train",
            [6398, 0, 6388, 6371],
            ["acl_2017/105", "arxiv.cs.cl_2007-2017/1708.04776", "iclr_2017/792"],
        ),
    ],
)
def test_real_documents(shared_data: Path, name: str, counts: list[int], picked: list[str]) -> None:
    docs: list[Any] = list(JSONL.parse(Chunk(real(shared_data, name), name)))
    assert {type(doc) for doc in docs} == {Document}
    fields = ("doi", "year", "abstract")
    known = [sum(getattr(doc, field) is not None for doc in docs) for field in fields]
    assert [len(docs), *known] == counts
    assert [docs[i].doc_id for i in (0, len(docs) // 2, -1)] == picked
    again = [read(document_to_json(doc))[0] for doc in docs[::50]]
    assert again == [doc._replace(line=1) for doc in docs[::50]]
