"""BibTeX and BibLaTeX documents, in and out."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import ANY_TEXT, DOCUMENT, WORD

from citebed.collection.formats.base import NOT_UTF8, Chunk
from citebed.collection.formats.bibtex import parse, sniff
from citebed.collection.formats.bibtex_writer import (
    insert_fields,
    parse_document,
    parse_fields,
    write_entry,
)
from citebed.collection.reading import parser
from citebed.collection.reading.sources import Member
from citebed.records import Document, Problem, Record


def records(text: str | bytes, line: int = 1) -> list[Record]:
    data = text.encode() if isinstance(text, str) else text
    return list(parse(Chunk(data, "x.bib", line)))


def documents(text: str | bytes) -> list[Document]:
    return [bare(record) for record in records(text) if isinstance(record, Document)]


def only(fields: str, head: str = "@article{a,") -> Document:
    [document] = records(f"{head} {fields}}}")
    assert isinstance(document, Document)
    return document


def bare(document: Document) -> Document:
    return document._replace(bibtex=None, keys=(), line=1)


# --- Reading --------------------------------------------------------------------------------

ACM = r"""@inproceedings{10.1145/1835449.1835645,
author = {G{\"o}del, Kurt and {van der Berg}, Ann and {W3C}},
title = {Query {Expansion} \& the $k$-NN rule},
year = {2010},
isbn = {9781450301534},
publisher = {Association for Computing Machinery},
address = {New York, NY, USA},
url = {https://doi.org/10.1145/1835449.1835645},
doi = {10.1145/1835449.1835645},
abstract = {We show that a &lt; b.},
booktitle = {Proceedings of the 33rd ACM SIGIR Conference},
pages = {841–842},
numpages = {2},
keywords = {query expansion, R\&D, web},
location = {Geneva, Switzerland},
series = {SIGIR '10}
}"""


def test_a_publishers_export() -> None:
    [document] = records(f"\n{ACM}\n", line=7)
    assert document == Document(
        doc_id="10.1145/1835449.1835645",
        type="inproceedings",
        title="Query Expansion & the k-NN rule",
        authors=("Gödel, Kurt", "van der Berg, Ann", "W3C"),
        year=2010,
        date="2010",
        venue="Proceedings of the 33rd ACM SIGIR Conference",
        pages="841–842",
        publisher="Association for Computing Machinery",
        doi="10.1145/1835449.1835645",
        url="https://doi.org/10.1145/1835449.1835645",
        abstract="We show that a < b.",
        keywords=("query expansion", "R&D", "web"),
        place="New York, NY, USA",
        isbn="9781450301534",
        bibtex=ACM,
        line=8,
    )


def test_biblatex_names() -> None:
    document = only(
        "journaltitle = {J}, date = {2010-08-15}, title = {T}, subtitle = {S}, location = {X}, "
        "issue = 3, langid = {german}, institution = {I}, editor = {Ed Itor}, keyword = {a; b, c}"
    )
    assert bare(document) == Document(
        doc_id="a",
        type="article",
        title="T: S",
        editors=("Itor, Ed",),
        year=2010,
        date="2010-08-15",
        venue="J",
        number="3",
        publisher="I",
        keywords=("a", "b, c"),
        language="german",
        place="X",
    )


@pytest.mark.parametrize(
    ("fields", "date"),
    [
        ("year = 2010", "2010"),
        ("year = {2010}, month = aug", "2010-08"),
        ("year = {2010}, month = {August}", "2010-08"),
        ("year = 2010, month = 8, day = 5", "2010-08-05"),
        ("year = 2010, month = feb, day = 31", "2010-02"),
        ('year = 2010, month = "12~" # aug', "2010-08"),
        ("year = 2010, issue_date = {August 2010}", "2010-08"),
        ("issue_date = {August 2010}", "2010-08"),
        ("date = {2010-08/2011-01}, year = 1999", "2010-08"),
        ("date = {forthcoming}, year = 1999", "1999"),
        ("year = {c. 1998}", "1998"),
        ("year = {to appear}", None),
        ("month = aug", None),
    ],
)
def test_dates(fields: str, date: str | None) -> None:
    document = only(fields)
    assert document.date == date
    assert document.year == (int(date[:4]) if date else None)


@pytest.mark.parametrize(
    ("field", "pages"),
    [
        ("5--9", "5–9"), ("5-9", "5–9"), ("5 -- 9", "5–9"), ("e12", "e12"),
        (r"5\textendash 9", "5–9"), ("", None),
    ],
)  # fmt: skip
def test_pages(field: str, pages: str | None) -> None:
    assert only(f"pages = {{{field}}}").pages == pages


@pytest.mark.parametrize(
    ("fields", "doi", "url"),
    [
        ("doi = {10.1145/A}", "10.1145/a", None),
        (r"doi = {10.1145/a\_b}", "10.1145/a_b", None),
        ("doi = {https://doi.org/10.1145/a--b}", "10.1145/a--b", None),
        ("doi = {10.1002/x&lt;1::AID&gt;3}", "10.1002/x<1::aid>3", None),
        ("url = {https://doi.org/10.1145/A}", "10.1145/a", "https://doi.org/10.1145/A"),
        ("url = {http://a.b/~c--d_e?f&g}", None, "http://a.b/~c--d_e?f&g"),
        ("url = {http://a.b/?f&amp;g}", None, "http://a.b/?f&g"),
        (r"url = {\url{http://a.b/~c--d\_e\%20}}", None, "http://a.b/~c--d_e%20"),
        ("doi = {none}", None, None),
        ("doi = {}, url = {}", None, None),
    ],
)
def test_addresses(fields: str, doi: str | None, url: str | None) -> None:
    document = only(fields)
    assert (document.doi, document.url) == (doi, url)


def test_the_key_is_the_better_doi() -> None:
    assert only("doi = {10.1145/other}", "@misc{10.1145/KEY,").doi == "10.1145/key"


@pytest.mark.parametrize(
    ("field", "keywords"),
    [
        ("a, b,, a , c", ("a", "b", "c")),
        ("a; b, c; d", ("a", "b, c", "d")),
        ("{a, b}, c", ("a, b", "c")),
        ("caf&eacute;; R&amp;D, x", ("café", "R&D, x")),
        (r"R\&D, caf{\'e}", ("R&D", "café")),
        (r"{\&lt;}, x", ("&lt;", "x")),
        ("", ()),
    ],
)
def test_keywords(field: str, keywords: tuple[str, ...]) -> None:
    assert only(f"keywords = {{{field}}}").keywords == keywords


def test_types_and_crossref() -> None:
    assert only("crossref = {conf10}", "@CONFERENCE{a,").type == "inproceedings"
    assert only("crossref = {conf10}").crossref == "conf10"


def test_keys() -> None:
    assert only("title = {T}", "@misc{a/b:c,").doc_id == "a/b:c"
    assert only("citebed-id = {x\\_y}").doc_id == "x_y"
    assert only("citebed-id = {}").doc_id == "a"


def test_an_entry_without_a_key_is_named_and_noted() -> None:
    text = "\n@misc{, title = {On {Trees}}, author = {Ann O'Neill}, year = 2010}\n@misc{,}"
    first, named, second, unnamed = records(text)
    assert first == Problem(2, "an entry without a key; named 'oneill-2010-on'", "mended")
    assert second == Problem(3, "an entry without a key; named 'line-3'", "mended")
    assert isinstance(named, Document)
    assert isinstance(unnamed, Document)
    assert (named.doc_id, unnamed.doc_id) == ("oneill-2010-on", "line-3")


def test_a_broken_entry_is_repaired_and_noted() -> None:
    problem, document, other = records(
        "@misc{a,\n title = {T},\n note = {x\n\n@misc{b, title = {U}}"
    )
    assert problem == Problem(
        1, "entry 'a' does not close; kept the fields that could be read", "mended"
    )
    assert isinstance(document, Document)
    assert isinstance(other, Document)
    assert (document.title, document.bibtex) == ("T", None)
    assert (other.title, other.line) == ("U", 5)


def test_strings_are_resolved_in_the_entry_that_is_kept() -> None:
    text = "@string{j = {Journal}}\n@article{a, journal = j, month = aug, title = {T}}"
    [document] = records(text)
    assert isinstance(document, Document)
    assert document.venue == "Journal"
    assert document.bibtex == (
        "@article{a,\n  journal = {Journal},\n  month = aug,\n  title = {T},\n}"
    )
    assert parse_document(document.bibtex)._replace(line=2) == document


def test_strings_from_earlier_pieces() -> None:
    chunk = Chunk(b"@article{a, journal = J}", "x", 1, {"j": "Journal"})
    [document] = parse(chunk)
    assert isinstance(document, Document)
    assert document.venue == "Journal"


# --- Encodings and line ends ----------------------------------------------------------------

TWO = "@misc{a,\n title = {Café “x”},\n}\n\n@misc{b,\n title = {B\n C},\n}\n"


@pytest.mark.parametrize("newline", ["\r\n", "\r", "\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_encodings_and_line_ends(encoding: str, newline: str) -> None:
    found = records(TWO.replace("\n", newline).encode(encoding))
    assert found == records(TWO)
    assert [(r.doc_id, r.title, r.line) for r in found if isinstance(r, Document)] == [
        ("a", "Café “x”", 1),
        ("b", "B C", 5),
    ]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (ACM, True),
        ("% remark\n\n @article (x, title = {T})", True),
        ("\ufeff@string{a = {b}}", True),
        ("mail me at a@b.c", False),
        ("<xml>\n@misc{a,", False),
        ('[{"a": 1}]', False),
        ("", False),
    ],
)
def test_sniff(head: str, expected: bool) -> None:
    assert sniff(head) is expected


@given(ANY_TEXT | st.text(alphabet='@ac{}(),="#\n ') | st.binary())
def test_anything_is_read(data: str | bytes) -> None:
    raw = data.encode(errors="replace") if isinstance(data, str) else data
    for record in records(raw):
        assert isinstance(record, Document | Problem)


@given(ANY_TEXT)
def test_any_value_gives_a_document_in_canonical_form(text: str) -> None:
    value = text.replace("{", "").replace("}", "")
    names = ("title", "author", "year", "month", "pages", "doi", "url", "keywords", "abstract")
    for document in documents("@misc{a," + ",".join(f"{n} = {{{value}}}" for n in names) + "}"):
        assert documents(write_entry(document)) == [document]


# --- Cutting --------------------------------------------------------------------------------


def read_in_pieces(data: bytes, head: int, size: int) -> list[Record]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parser, "_HEAD_BYTES", head)
        patch.setattr(parser, "CHUNK_BYTES", size)
        found = list(parser.split_member(Member("x.bib", io.BytesIO(data))))
    return [
        record
        for piece in found
        for record in ([piece] if isinstance(piece, Problem) else parse(piece.chunk))
    ]


FILE = (
    "@comment{x}\n@string{j = {Journal of é}}\n"
    + TWO
    + "@string{k = j # { B}}\n@article{c, journal = k,\n year = 2010}\n\n"
    + "words\n@article{d,\n title = {unclosed\n@article(e, title = {E})\n@misc{, title = {F}}\n"
    + ACM
    + "\n@misc{g, journal = j}"
)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
@pytest.mark.parametrize("size", [1, 7, 50, 333, 10_000])
def test_a_file_is_the_same_in_pieces(size: int, encoding: str, newline: str) -> None:
    data = FILE.replace("\n", newline).encode(encoding, errors="replace")
    whole = [record for record in records(data) if NOT_UTF8 not in record]
    for head in (40, 100, 301):
        found = read_in_pieces(data, head, size)
        assert [record for record in found if NOT_UTF8 not in record] == whole


@given(st.lists(DOCUMENT, min_size=1, max_size=4), st.integers(1, 400))
def test_written_documents_are_the_same_in_pieces(docs: list[Document], size: int) -> None:
    data = "\n\n".join(map(write_entry, docs)).encode()
    head = data.index(b",") + 1  # a key may be long, and BibTeX is known by the comma behind it
    assert read_in_pieces(data, head, size) == records(data)


# --- Writing --------------------------------------------------------------------------------


def test_written_entry() -> None:
    document = Document(
        doc_id="muster2010",
        type="article",
        title="R&D -- 50% {x}",
        authors=("Muster, Anna", "World Health Organization"),
        year=2010,
        date="2010-08-15",
        venue="Journal",
        pages="5–9",
        keywords=("a", "b, c"),
    )
    assert write_entry(document) == (
        "@article{muster2010,\n"
        "  author = {Muster, Anna and {World Health Organization}},\n"
        "  title = {R\\&D -{}- 50\\% \\textbraceleft{}x\\textbraceright{}},\n"
        "  journal = {Journal},\n"
        "  year = {2010},\n"
        "  month = {aug},\n"
        "  day = {15},\n"
        "  keywords = {a, {b, c}},\n"
        "  pages = {5–9},\n"
        "}"
    )


def test_a_type_that_is_not_a_word_is_written_as_misc() -> None:
    assert write_entry(Document("a", "journal-article")).startswith("@misc{a,")


@given(DOCUMENT)
def test_a_document_comes_back(document: Document) -> None:
    assert documents(write_entry(document)) == [document]
    assert bare(parse_document(write_entry(document))) == document


@given(st.lists(DOCUMENT, max_size=4), st.sampled_from(["\n", "\n\n", " ", ""]))
def test_several_documents_come_back(docs: list[Document], between: str) -> None:
    assert documents(between.join(map(write_entry, docs))) == docs


@given(DOCUMENT, WORD)
def test_another_key_changes_nothing_else(document: Document, key: str) -> None:
    [read] = records(write_entry(document))
    assert isinstance(read, Document)
    assert documents(insert_fields(str(read.bibtex), {}, key=key)) == [
        document._replace(doc_id=key)
    ]


@pytest.mark.parametrize(
    "original",
    [
        ACM,
        "@misc{my key, title = {T}}",
        "@misc{a(1), title = {T}}",
        "@misc(a, title = {T})",
        "@misc{, title = {T}}",
        "@misc{a title = {T}}",
        "@misc{a}",
        "@ misc {\n a\n,title={T}}",
        "@misc{10.1145/x, doi = {10.1145/y}, title = {T}}",
        "@misc{10.1145/x, doi = {}, title = {T}}",
        "@misc{a, citebed-id = {b}, title = {T}}",
    ],
)
@pytest.mark.parametrize("key", ["new", "10.1145/z", "a{b", "x_y"])
def test_a_new_key_for_an_original(original: str, key: str) -> None:
    [before] = documents(original)
    assert documents(insert_fields(original, {}, key=key)) == [before._replace(doc_id=key)]


def test_fields_are_put_in_front() -> None:
    text = insert_fields("@misc{a, title = {T}}", {"note": "N", "empty": "", "title": "U"})
    assert text == "@misc{a,\n  note = {N},\n  title = {U}, title = {T}}"
    assert parse_fields(text) == {"note": "N", "title": "U"}
    assert insert_fields("no entry", {"a": "b"}) == "no entry"
    assert parse_fields("no entry") == {}


def test_a_text_that_is_not_an_entry_is_refused() -> None:
    with pytest.raises(ValueError, match="not a BibTeX entry"):
        parse_document("@misc{a, title = {")
    with pytest.raises(ValueError, match="not a BibTeX entry"):
        parse_document("nothing")


@pytest.mark.parametrize("key", ["", " ", "\ufeff", "\u200b"])
def test_an_entry_with_an_invisible_key_gets_a_generated_one(key: str) -> None:
    chunk = Chunk(f"@article{{{key}, title={{Sorting apples}}}}".encode(), "x")
    problem, document = parse(chunk)
    assert isinstance(problem, Problem)
    assert isinstance(document, Document)
    assert problem.what == "an entry without a key; named 'sorting'"
    assert document.doc_id == "sorting"


@pytest.mark.parametrize("end", ["\n}", " \r\n  }"])
def test_entries_without_fields_are_recognised(end: str) -> None:
    text = f"\n@misc{{__????{end},\n\n@misc{{__????-1{end},\n"
    assert sniff(text)
    records = list(parse(Chunk(text.encode(), "x")))
    assert [getattr(record, "doc_id", record) for record in records] == ["__????", "__????-1"]
