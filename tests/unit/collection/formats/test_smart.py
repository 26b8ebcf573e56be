"""The SMART reader: documents and queries of Cranfield and CACM."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citebed.collection.formats.base import Chunk, Format
from citebed.collection.formats.smart import SMART, SMART_QUERIES
from citebed.records import Document, Link, Problem, Query, Record

DOCUMENTS = """\
.I 001
.T
A first title
over two lines
.W
A first title
over two lines
  The text begins
here .
.B
CACM December, 1958
.A
Muster, A. B.
Beispiel,C.
.K
sorting, trees and
heaps,search
.C
1.23 4.5
.N
CA581203 JB March 22, 1978
.X
7	5	1
1	5	1
1	5	1
9	4	1
9	4	1
8	6	1
009	6	1
nonsense
3	2	1
.I 2
.T
.A
.B
.W
"""
QUERIES = """\
.I 001
.W
 what is
 sorted ?
.N
 1. Somebody
.I 010
.W
papers by Muster
.A
Muster, A.
"""


def read(format: Format, text: str | bytes, line: int = 1) -> list[Record]:
    data = text if isinstance(text, bytes) else text.encode()
    return list(format.parse(Chunk(data, "test.all", line)))


def document(*lines: str) -> Document:
    [item] = read(SMART, "\n".join((".I 5", *lines, "")))
    assert isinstance(item, Document)
    return item


def test_every_field_of_a_document() -> None:
    assert read(SMART, DOCUMENTS, line=50) == [
        Document(
            doc_id="1",
            type="article",
            title="A first title over two lines",
            authors=("Muster, A. B.", "Beispiel, C."),
            year=1958,
            date="1958-12",
            venue="CACM",
            abstract="The text begins here .",
            keywords=("sorting", "trees and heaps", "search"),
            links=(
                Link("7", "linked"),
                Link("9", "coupled", 2.0),
                Link("8", "cocited"),
                Link("9", "cocited"),
            ),
            line=50,
        ),
        Document("2", type="article", line=81),
    ]


def test_queries() -> None:
    assert read(SMART_QUERIES, QUERIES) == [
        Query("1", "what is sorted ?", line=1),
        Query("10", "papers by Muster", line=7),
    ]


def test_a_query_without_text_is_skipped() -> None:
    assert read(SMART_QUERIES, ".I 3\n.W\n\n") == [Problem(1, "query 3 has no text (.W)")]


def test_a_broken_number_is_repaired() -> None:
    items = read(SMART, ".I 28\n56\n.T\nTitle\n.X\n2856\t5\t2856\n3\t5\t2856\n")
    assert items == [
        Problem(1, "the number 2856 was broken over two lines", "mended"),
        Document("2856", type="article", title="Title", links=(Link("3", "linked"),)),
    ]


def test_a_stray_marker_stays_in_the_text() -> None:
    text = ".I 4\n.T\nTitle\n.A\nMuster, A.\n.W\nOne\n.A\ntwo\n.T\nthree .\n"
    assert read(SMART, text) == [
        Problem(1, "record 4: second .A, .T taken as part of the text", "mended"),
        Document(
            "4", type="article", title="Title", authors=("Muster, A.",), abstract="One two three ."
        ),
    ]


def test_repeated_author_markers_are_one_field() -> None:
    assert document(".A", "Muster, A.", ".A", "Beispiel, B.").authors == (
        "Muster, A.",
        "Beispiel, B.",
    )


def test_markers_stand_alone_on_their_line() -> None:
    found = document(".W", ".Text with a dot", " .T", ".t", ".I five", ".Q", "lost")
    assert found.abstract == ".Text with a dot .T .t .I five"
    assert found.title == ""


@pytest.mark.parametrize(
    ("title", "lines", "abstract"),
    [
        ("A tree", ["A tree", "grows ."], "grows ."),
        ("A tree", ["", "A", "", "tree", "grows ."], "grows ."),
        ("A tree", ["A tree grows ."], "A tree grows ."),
        ("A tree", ["A", "trees"], "A trees"),
        ("A tree", ["A tree"], None),
        ("A tree", ["A"], "A"),
        ("", ["A tree"], "A tree"),
    ],
)
def test_only_whole_lines_repeat_the_title(
    title: str, lines: list[str], abstract: str | None
) -> None:
    assert document(".T", title, ".W", *lines).abstract == abstract


@pytest.mark.parametrize(
    ("source", "venue", "date"),
    [
        ("CACM July,1962 ", "CACM", "1962-07"),
        ("CACM December 1960", "CACM", "1960-12"),
        ("June, 1972", None, "1972-06"),
        ("j. xy. 25, 1958, 324.", "j. xy. 25, 1958, 324.", "1958"),
        ("xy tn.1813, 1949.", "xy tn.1813, 1949.", "1949"),
        ("xy tn.d1510, 1962, 267.", "xy tn.d1510, 1962, 267.", "1962"),
        ("j. xy. 30, 1959, 1683.", "j. xy. 30, 1959, 1683.", "1959"),
        ("j. xyz.1960, 92.", "j. xyz.1960, 92.", "1960"),
        ("xy circular 564 (1955)", "xy circular 564 (1955)", "1955"),
        ("technical note d-1903", "technical note d-1903", None),
        ("", None, None),
    ],
)
def test_sources(source: str, venue: str | None, date: str | None) -> None:
    found = document(".B", source)
    assert (found.venue, found.date) == (venue, date)
    assert found.year == (int(date[:4]) if date else None)


@pytest.mark.parametrize(
    ("field", "names"),
    [
        ("muster,a.", ["muster, a."]),
        ("van muster,a.b. and beispiel,c.", ["van muster, a.b.", "beispiel, c."]),
        ("muster, a.b., bei, c., and spiel, d.", ["muster, a.b.", "bei, c.", "spiel, d."]),
        ("anna muster and bert b. beispiel", ["muster, anna", "beispiel, bert b."]),
        (
            "anna b. muster, carl d. spiel, and x. bei",
            ["muster, anna b.", "spiel, carl d.", "bei, x."],
        ),
        ("a. b. muster, b.sc., ph.d.", ["muster, a. b."]),
        ("a. muster and\nb. beispiel, jr.", ["muster, a.", "beispiel, jr., b."]),
        ("muster et al.", ["muster"]),
        ("muster, a. et al.", ["muster, a."]),
        ("muster and beispiel.", ["muster", "beispiel"]),
        ("muster, b.c., beispiel r.e.", ["muster, b.c.", "beispiel, r.e."]),
        ("muster, anna b .", ["muster, anna b."]),
        ("a. muster,", ["muster, a."]),
        ("Muster Jr., Capt. A.", ["Muster Jr., Capt. A."]),
        ("Muster, Anna", ["Muster, Anna"]),
        ("Muster A. B.", ["Muster, A. B."]),
        ("Fruit Sorting Committee", ["Fruit Sorting Committee"]),
        ("the fruit panel .", ["the fruit panel"]),
        (", and ,", []),
    ],
)
def test_authors(field: str, names: list[str]) -> None:
    assert document(".A", field).authors == tuple(names)


def test_text_before_the_first_record_is_reported() -> None:
    items = read(SMART_QUERIES, "Hello\n.I 1\n.W\nwords\n")
    assert items == [
        Problem(1, "text before the first '.I number' line"),
        Query("1", "words", line=2),
    ]
    assert read(SMART_QUERIES, "") == []
    assert read(SMART_QUERIES, "\n\n") == []


def test_sniff() -> None:
    assert SMART.sniff(DOCUMENTS)
    assert not SMART.sniff(QUERIES)
    assert SMART_QUERIES.sniff(QUERIES)
    assert not SMART_QUERIES.sniff(DOCUMENTS)
    assert SMART.sniff(DOCUMENTS.replace("\n", "\r\n"))
    for text in ("", ".I 1\n", "I 1\n.T\n", ".I one\n.T\nx\n", "\x00\x01", "words\n.I 1\n.T\nx\n"):
        assert not SMART.sniff(text)
        assert not SMART_QUERIES.sniff(text)


def test_cut_is_before_the_last_record() -> None:
    assert SMART.split is not None
    assert SMART.split(DOCUMENTS.encode()) == DOCUMENTS.index(".I 2")
    assert SMART.split(b".I 1\n.T\nx\n") == 0
    assert SMART.split(b"") == 0


LINE = st.one_of(
    st.sampled_from(
        [".I 1", ".I 02", ".T", ".A", ".B", ".W", ".K", ".X", "3 5 1", "a,b. and c,d.e."]
    ),
    st.text(max_size=20),
)


@given(st.lists(LINE).map("\n".join))
def test_any_lines_give_clean_records(text: str) -> None:
    for item in read(SMART, text.encode(errors="replace")):
        assert isinstance(item, Document | Problem)
        if isinstance(item, Document):
            assert item.doc_id.isdecimal()
            assert item.abstract is None or item.abstract == " ".join(item.abstract.split())
            assert all(item.authors)
            assert all(link.target != item.doc_id for link in item.links)


# --- Real data ------------------------------------------------------------------------------


def load(format: Format, path: Path) -> tuple[list[Record], list[Problem]]:
    data = path.read_bytes()
    assert format.sniff(data[:16384].decode())
    items = list(format.parse(Chunk(data, path.name)))
    problems = [item for item in items if isinstance(item, Problem)]
    return [item for item in items if not isinstance(item, Problem)], problems


def test_cranfield_documents(shared_data: Path) -> None:
    found, problems = load(SMART, shared_data / "cranfield" / "cran.all.1400")
    documents = [item for item in found if isinstance(item, Document)]
    assert [item.doc_id for item in documents] == [str(n) for n in range(1, 1401)]
    assert [(item.line, item.kind) for item in problems] == [(7305, "mended")]
    first, middle, last = documents[0], documents[699], documents[-1]
    assert first.title.startswith("experimental investigation of the aerodynamics")
    assert first.abstract is not None
    assert first.abstract.startswith("an experimental study of a wing")
    assert (first.authors, first.date) == (("brenckman, m.",), "1958")
    assert first.venue == "j. ae. scs. 25, 1958, 324."
    assert (middle.authors, middle.date, middle.line) == (("lomax",), "1952", 19666)
    assert (last.authors, last.date, last.line) == (("kleeman, p.w.",), "1953", 39391)
    empty = [item.doc_id for item in documents if item.abstract is None]
    assert empty == [item.doc_id for item in documents if not item.title] == ["471", "995"]
    assert sum(item.year is not None for item in documents) == 1198
    assert sum(len(item.authors) for item in documents) == 1957


def test_cranfield_queries(shared_data: Path) -> None:
    queries, problems = load(SMART_QUERIES, shared_data / "cranfield" / "cran.qry")
    assert (len(queries), problems) == (225, [])
    assert [item[0] for item in (queries[0], queries[112], queries[-1])] == ["1", "165", "365"]
    first = queries[0]
    assert isinstance(first, Query)
    assert first.text.startswith("what similarity laws must be obeyed")
    assert first.text.endswith("high speed aircraft .")


def test_cacm_documents(shared_data: Path) -> None:
    found, problems = load(SMART, shared_data / "cacm" / "cacm.all")
    documents = [item for item in found if isinstance(item, Document)]
    assert [item.doc_id for item in documents] == [str(n) for n in range(1, 3205)]
    assert [(item.line, item.kind) for item in problems] == [(92798, "mended")]
    first, middle, last = documents[0], documents[1602], documents[-1]
    assert (first.authors, first.date) == (("Perlis, A. J.", "Samelson, K."), "1958-12")
    assert first.links[0] == Link("100", "linked", 1.0)
    assert Link("196", "cocited", 2.0) in first.links
    assert (middle.authors, middle.date, middle.line) == (("Hornbuckle, G. D.",), "1967-05", 43368)
    assert (last.authors, last.date, last.line) == (("Korsvold, K.",), "1966-08", 108035)
    assert Counter(item.venue for item in documents) == {"CACM": 3203, None: 1}
    assert all(item.date and len(item.date) == 7 for item in documents)
    assert sum(item.abstract is not None for item in documents) == 1587
    assert sum(bool(item.keywords) for item in documents) == 1429
    kinds = Counter(link.kind for item in documents for link in item.links)
    assert kinds == {"linked": 5440, "coupled": 12330, "cocited": 10640}


def test_cacm_links_are_mutual(shared_data: Path) -> None:
    found, _ = load(SMART, shared_data / "cacm" / "cacm.all")
    documents = [item for item in found if isinstance(item, Document)]
    ties = {(doc.doc_id, *link) for doc in documents for link in doc.links}
    assert {(target, source, kind, weight) for source, target, kind, weight in ties} == ties


def test_cacm_queries(shared_data: Path) -> None:
    queries, problems = load(SMART_QUERIES, shared_data / "cacm" / "query.text")
    assert [item[0] for item in queries] == [str(n) for n in range(1, 65)]
    assert problems == []
    assert queries[1] == Query(
        "2", "I am interested in articles written either by Prieve or Udo Pooch", line=8
    )


def test_queries_with_titles_are_read() -> None:
    text = ".I 1\n.T\nApples\n.A\nMuster\n.W\nhow are apples sorted\n.B\n(JASIS)\n.I 2\n.T\nPears\n"
    assert read(SMART_QUERIES, text) == [
        Query("1", "how are apples sorted", "Apples"),
        Query("2", "Pears", "Pears", 10),
    ]


def test_counts_of_co_citations_are_not_codes() -> None:
    lines = ["1\t92\t1", "262\t1\t1", "429\t1\t1", "1131\t5\t1", "1278\t1\t1"]
    [document] = read(SMART, "\n".join((".I 1", ".T", "T", ".X", *lines)))
    assert isinstance(document, Document)
    assert document.links == (
        Link("262", "cocited"),
        Link("429", "cocited"),
        Link("1131", "cocited", 5.0),
        Link("1278", "cocited"),
    )


def test_numbers_with_letters_start_records_too() -> None:
    records = read(SMART, ".I A-1\n.T\nOne\n.I b2\n.T\nTwo\n.I think so\n")
    assert [getattr(record, "doc_id", "") for record in records] == ["A-1", "b2"]
