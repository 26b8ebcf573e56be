"""The RIS reader: what the standard says, and what is met in files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citebed.collection.formats.base import Chunk
from citebed.collection.formats.tagged import RIS
from citebed.records import Document, Problem, Record

ARTICLE = """\
TY  - JOUR
AU  - Muster, Anna
AU  - Beispiel, Bert, Jr.
A2  - Leiter, Clara
TI  - Sorting <i>apples</i> &amp; pears
T2  - Journal of Fruit
J2  - J. Fruit
PY  - 2010
DA  - 2010/08/15/
VL  - 12
IS  - 3
SP  - 12
EP  - 20
PB  - Orchard Press
DO  - https://doi.org/10.1234/Fruit.7
UR  - https://example.org/fruit/7
AB  - We sort apples
and pears alike.
KW  - apples
KW  - pears; quinces
LA  - en
XX  - an unknown tag
ER  -
"""
KNOWN = ARTICLE.replace("XX  - an unknown tag\n", "")


def read(text: str | bytes, line: int = 1) -> list[Record]:
    data = text if isinstance(text, bytes) else text.encode()
    return list(RIS.parse(Chunk(data, "test.ris", line)))


def one(text: str | bytes) -> Document:
    [document] = [item for item in read(text) if isinstance(item, Document)]
    return document


def record(*lines: str) -> str:
    return "\n".join(("TY  - JOUR", *lines, "ER  - ", ""))


def problems(items: list[Record]) -> list[Problem]:
    return [item for item in items if isinstance(item, Problem)]


def test_every_field_of_an_article() -> None:
    assert read(ARTICLE) == [
        Document(
            doc_id="10.1234/fruit.7",
            type="article",
            title="Sorting apples & pears",
            authors=("Muster, Anna", "Beispiel, Jr., Bert"),
            editors=("Leiter, Clara",),
            year=2010,
            date="2010-08-15",
            venue="Journal of Fruit",
            volume="12",
            number="3",
            pages="12–20",
            publisher="Orchard Press",
            doi="10.1234/fruit.7",
            url="https://example.org/fruit/7",
            abstract="We sort apples and pears alike.",
            keywords=("apples", "pears", "quinces"),
            language="en",
        )
    ]


@pytest.mark.parametrize(
    "variant",
    [
        ARTICLE.replace("\n", "\r"),
        KNOWN.replace("  -", " -"),
        KNOWN.replace("  -", "\t-"),
        ARTICLE.replace("  - ", "  -\t"),
        ARTICLE.replace("  - ", "  -"),
        ARTICLE.rstrip("\n"),
        "\n".join(
            line[:2].lower() + line[2:] if line[4:5] == "-" or line[2:5] == "  -" else line
            for line in ARTICLE.split("\n")
        ),
    ],
    ids=["cr", "one blank", "tab", "tab after", "no blank", "no end", "lower case"],
)
def test_other_ways_to_write_it(variant: str) -> None:
    assert read(variant) == read(ARTICLE)


@pytest.mark.parametrize(
    ("ris", "bibtex"),
    [
        ("JOUR", "article"), ("mgzn", "article"), ("EJOUR", "article"), ("NEWS", "article"),
        ("CONF", "inproceedings"), ("CPAPER", "inproceedings"), ("CHAP", "incollection"),
        ("ECHAP", "incollection"), ("BOOK", "book"), ("EBOOK", "book"), ("THES", "phdthesis"),
        ("RPRT", "techreport"), ("GEN", "misc"), ("", "misc"),
    ],
)  # fmt: skip
def test_types(ris: str, bibtex: str) -> None:
    assert one(f"TY  - {ris}\nTI  - A title\nER  - \n").type == bibtex


def test_a_chapter_and_a_book() -> None:
    chapter = one("TY  - CHAP\nT1  - Part\nBT  - Whole\nED  - Hand, Eve\nER  - \n")
    assert (chapter.title, chapter.venue, chapter.editors) == ("Part", "Whole", ("Hand, Eve",))
    book = one("TY  - BOOK\nBT  - Whole\nA1  - Hand, Eve\nT2  - Series\nER  - \n")
    assert (book.title, book.venue, book.authors) == ("Whole", "Series", ("Hand, Eve",))


@pytest.mark.parametrize(
    ("lines", "date"),
    [
        (["PY  - 2010///"], "2010"),
        (["Y1  - 2010/08//"], "2010-08"),
        (["Y1  - 2010/08/15/Summer"], "2010-08-15"),
        (["DA  - August 2010"], "2010-08"),
        (["PY  - 2010", "DA  - 2010/08/15"], "2010-08-15"),
        (["PY  - 2010", "DA  - 2011/08/15"], "2010"),
        (["PY  - soon"], None),
        (["Y2  - 2019/01/01"], None),
    ],
)
def test_dates(lines: list[str], date: str | None) -> None:
    document = one(record("TI  - A title", *lines))
    assert document.date == date
    assert document.year == (int(date[:4]) if date else None)


@pytest.mark.parametrize(
    ("lines", "pages"),
    [
        (["SP  - 12", "EP  - 20"], "12–20"), (["SP  - 12-20"], "12–20"),
        (["SP  - 12-20", "EP  - 20"], "12–20"), (["SP  - 5:1", "EP  - 5:20"], "5:1–5:20"),
        (["SP  - A-1", "EP  - A-9"], "A-1–A-9"), (["SP  - 7", "EP  - 7"], "7"),
        (["SP  - e17"], "e17"), (["EP  - 20"], "20"), (["SP  - ", "EP  - "], None),
    ],
)  # fmt: skip
def test_pages(lines: list[str], pages: str | None) -> None:
    assert one(record("TI  - A title", *lines)).pages == pages


@pytest.mark.parametrize(
    ("field", "names"),
    [
        ("Muster,Anna", ("Muster, Anna",)),
        ("Muster, Anna, III", ("Muster, III, Anna",)),
        ("Muster, Jr., Anna", ("Muster, Jr., Anna",)),
        ("A. B. Muster", ("Muster, A. B.",)),
        ("Anna van der Muster", ("van der Muster, Anna",)),
        ("Plato", ("Plato",)),
        ("Fruit Research Group", ("Fruit Research Group",)),
        ("Apple Growers,", ("Apple Growers",)),
        ("Muster, A.; Beispiel, B.", ("Muster, A.", "Beispiel, B.")),
        ("Muster, A. and Beispiel, B.", ("Muster, A.", "Beispiel, B.")),
        ("Ministry of Food and Health", ("Ministry of Food and Health",)),
        (";", ()),
    ],
)
def test_names(field: str, names: tuple[str, ...]) -> None:
    assert one(record("TI  - A title", f"AU  - {field}")).authors == names


@pytest.mark.parametrize(
    ("lines", "doi"),
    [
        (["DO  - doi:10.1234/AB"], "10.1234/ab"),
        (["UR  - http://dx.doi.org/10.1234/AB"], "10.1234/ab"),
        (["UR  - https://example.org/x", "L3  - 10.1234/AB"], "10.1234/ab"),
        (["M3  - doi: 10.1234/AB"], "10.1234/ab"),
        (["M3  - Article"], None),
        (["UR  - https://example.org/10.1234/AB"], None),
    ],
)
def test_dois(lines: list[str], doi: str | None) -> None:
    assert one(record("TI  - A title", *lines)).doi == doi


@pytest.mark.parametrize(
    ("lines", "doc_id"),
    [
        (["ID  - my key", "DO  - 10.1234/ab", "AN  - 7"], "my_key"),
        (["DO  - 10.1234/ab", "AN  - 7"], "10.1234/ab"),
        (["AN  - WOS:7"], "WOS:7"),
        (["AU  - O'Neill, Zoë", "PY  - 2010"], "oneill-2010-trees"),
        (["PY  - 2010"], "2010-trees"),
        ([], "trees"),
    ],
)
def test_identifiers(lines: list[str], doc_id: str) -> None:
    assert one(record("TI  - Trees, and more", *lines)).doc_id == doc_id


def test_keywords_of_endnote_stand_one_per_line() -> None:
    document = one(record("TI  - A title", "KW  - apples", "pears", "apples", "AB  - Text."))
    assert document.keywords == ("apples", "pears")


def test_text_that_looks_like_a_tag_continues_the_field() -> None:
    document = one(
        record("TI  - A title", "AB  - This", "is - as seen - text, on", "AI - and", "x - y.")
    )
    assert document.abstract == "This is - as seen - text, on AI - and x - y."


def test_abstract_falls_back_to_notes() -> None:
    assert one(record("TI  - A title", "N2  - Text.")).abstract == "Text."
    assert one(record("TI  - A title", "N2  - Note.", "AB  - Text.")).abstract == "Text."


def test_a_missing_end_is_repaired() -> None:
    items = read("TY  - JOUR\nTI  - One\nTY  - JOUR\nTI  - Two\n", line=100)
    titles = [item.title for item in items if isinstance(item, Document)]
    assert titles == ["One", "Two"]
    assert [(item.line, item.kind) for item in problems(items)] == [
        (100, "mended"),
        (102, "mended"),
    ]


def test_junk_between_records_is_passed_over() -> None:
    items = read(f"Provider: somebody\n\n{ARTICLE}\nsome words\n\n{ARTICLE}")
    assert [item.line for item in items] == [3, 6 + ARTICLE.count("\n")]
    assert not problems(items)


def test_fields_without_a_record_are_reported_once() -> None:
    assert [item.line for item in read("AU  - Muster, Anna\nTI  - Lost\nER  - \n")] == [1]
    whole = "TY  - JOUR\nTI  - One\nER  - \n"
    items = read(f"{whole}\nAU  - Muster, Anna\nTI  - Lost\n\n{whole}")
    assert [(item.line, isinstance(item, Document)) for item in items] == [
        (1, True), (5, False), (8, True),
    ]  # fmt: skip


def test_an_empty_record_is_skipped() -> None:
    assert read("TY  - JOUR\nPY  - 2010\nER  - \n") == [
        Problem(1, "record without title, author or identifier")
    ]


def test_sniff() -> None:
    assert RIS.sniff(ARTICLE)
    assert RIS.sniff(ARTICLE.replace("\n", "\r"))
    assert RIS.sniff("Provider: somebody\nContent: text\n\n" + ARTICLE)
    assert RIS.sniff("ty - jour\nau - Muster, Anna\n")
    assert not RIS.sniff("")
    assert not RIS.sniff("PMID- 12\nTI  - A title\nAU  - Muster A\n")
    assert not RIS.sniff("TY  - JOUR\n")
    assert not RIS.sniff("A page about RIS.\n" * 30 + ARTICLE)
    assert not RIS.sniff("@article{a, title={TY  - JOUR}}")
    assert not RIS.sniff("TY  - JOUR\nand so on\n")


def test_cut_is_after_the_last_end() -> None:
    assert RIS.split is not None
    data = (ARTICLE * 2 + "TY  - JOUR\nTI  - ER  - \nAB  - x").encode()
    assert RIS.split(data) == 2 * len(ARTICLE.encode())
    assert RIS.split(data.replace(b"\n", b"\r\n")) == 2 * len(ARTICLE.replace("\n", "\r\n"))
    assert RIS.split(b"TY  - JOUR\nTI  - One\n") == 0
    assert RIS.split(b"") == 0


LINE = st.tuples(
    st.sampled_from(
        ["TY", "TI", "AU", "PY", "DA", "SP", "KW", "DO", "UR", "AB", "ID", "ER", "ty", "is"]
    ),
    st.sampled_from(["  - ", " - ", "\t- ", "  -", ""]),
    st.text(max_size=20),
).map("".join)


@given(st.lists(LINE).map("\n".join))
def test_any_lines_give_clean_records(text: str) -> None:
    for item in read(text.encode(errors="replace")):
        assert isinstance(item, Document | Problem)
        if isinstance(item, Document):
            assert item.doc_id.split() == [item.doc_id]
            assert item.title == " ".join(item.title.split())
            assert all(item.authors)
            assert all(item.keywords)


def test_long_input_is_read_to_its_end() -> None:
    lines = "TY  - JOUR\nTI  - x\nAU  - " + "and , and " * 50_000 + "\nAB  - " + "x\n" * 200_000
    assert len(read(lines)) == 2


def test_a_blank_before_the_comma_of_a_name_is_dropped() -> None:
    assert one(record("TI  - A title", "AU  - Muster , Anna")).authors == ("Muster, Anna",)


def test_a_type_in_words() -> None:
    assert one("TY  - Journal Article\nTI  - Apples\nER  - \n").type == "article"
    assert one("TY  - Conference Paper\nTI  - Apples\nER  - \n").type == "inproceedings"


def test_a_longer_tag_after_the_type() -> None:
    document = one("TY  - JOUR\nPMID  - 33355555\nID  - x\nT1  - Apples\nER  - \n")
    assert (document.doc_id, document.type, document.title) == ("x", "article", "Apples")


def test_fields_behind_the_end_of_a_record_are_reported() -> None:
    late = record("TI  - Apples") + "NL  - J Fruit\n\n"
    assert [p.kind for p in problems(read(late))] == ["mended"]
    assert [p.kind for p in problems(read(late + "TI  - Pears\nER  - \n"))] == ["skipped"]


def test_a_day_without_its_year() -> None:
    assert one(record("TI  - Apples", "PY  - 2018", "DA  - Mar 1")).date == "2018-03-01"
    assert one(record("TI  - Apples", "PY  - 2018", "DA  - n.d.")).date == "2018"
