"""BibTeX and BibLaTeX as people really have them: nothing in a file is lost without a word."""

from __future__ import annotations

import pytest

from citebed.collection.formats.base import Chunk
from citebed.collection.formats.bibtex import collect_strings, parse, parse_author_field, sniff
from citebed.records import Document, Problem


def read(text: str, macros: dict[str, str] | None = None) -> tuple[list[Document], list[str]]:
    """The documents, and what was said of the rest."""
    found = list(parse(Chunk(text.encode(), "x.bib", context=macros or {})))
    told = [f"{record.line}: {record.what}" for record in found if isinstance(record, Problem)]
    return [record for record in found if isinstance(record, Document)], told


def only(text: str) -> Document:
    (document,), told = read(text)
    assert told == []
    return document


def ids(text: str) -> list[str]:
    return [document.doc_id for document in read(text)[0]]


# --- Entries --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["web_page", "book_section", "www-article", "misc2"])
def test_a_type_may_hold_more_than_letters(kind: str) -> None:
    for text in (
        f"@{kind}{{a,\n title = {{A}},\n}}\n@misc{{b, title = {{B}}}}",
        f"@{kind}(a, title = {{A}})\n@misc{{b, title = {{B}}}}",
        f'@{kind}{{a, title = "A" # {{}}}}\n@misc{{b, title = {{B}}}}',
    ):
        documents, told = read(text)
        assert [document.type for document in documents] == [kind, "misc"]
        assert told == []
        assert sniff(text)


def test_an_entry_without_a_type_is_kept() -> None:
    documents, _ = read("@{a, title = {A}}\nmail@{x} and @{y}\n@{z,\n}\n@misc{b, title = {B}}")
    assert [(d.doc_id, d.type) for d in documents] == [("a", "misc"), ("b", "misc")]


COMMENT = """\
@comment{jabref-meta: groups: {open;
@misc{a, title = {A}}

@misc{b, title = {B}}
}}
@misc{c, title = {C}}
"""


def test_a_comment_ends_before_the_next_entry() -> None:
    documents, told = read(COMMENT)
    assert [document.doc_id for document in documents] == ["a", "b", "c"]
    assert told == ["1: a @comment that does not close before the next entry; taken to end there"]
    documents, told = read(COMMENT.replace("comment", "preamble"))
    assert [document.doc_id for document in documents] == ["a", "b", "c"]
    assert len(told) == 1


def test_entries_that_were_put_in_a_comment_are_reported() -> None:
    text = "@comment{\n@misc{a, title = {A}}\n@misc{b, title = {B}}\n}\n@misc{c, title = {C}}\n"
    documents, told = read(text)
    assert [document.doc_id for document in documents] == ["c"]
    assert told == ["1: a @comment around entries (2 begin a line in it); they are not read"]


PERCENT = """\
@book{a, % the key
  author = {Doe, Jane}, % {not closed
  % editor = {Nobody},
  title % name
    = % value
    {A 5% rise} % joined
    # { and fall},
  % } not the end
  year = 2001 % no comma
}
@book{% first
  b, title = {B}}
"""


def test_percent_comments_inside_entries() -> None:
    documents, told = read(PERCENT)
    assert told == []
    assert [(d.doc_id, d.title, d.year) for d in documents] == [
        ("a", "A 5% rise and fall", 2001), ("b", "B", None),
    ]  # fmt: skip
    assert documents[0].editors == ()


def test_an_entry_behind_percent_signs_is_a_comment_and_one_on_a_line_is_read() -> None:
    text = "%@misc{a,\n%  title = {A},\n%}\n% @misc{b, title = {B}}\n%\n@misc{c, title = {C}}"
    assert read(text)[0][0].doc_id == "b"
    assert ids(text) == ["b", "c"]


def test_an_entry_that_a_brace_closes_early_keeps_its_fields() -> None:
    text = "@misc{a,\n title = {{SAW\\}: A Tool}},\n author = {Doe, Jane},\n year = {2016}\n}\n"
    document = only(text)
    assert (document.title, document.authors, document.year) == (
        "SAW}: A Tool", ("Doe, Jane",), 2016,
    )  # fmt: skip
    (document, other), told = read(
        "@misc{a,\n title = {A}},\n year = {2016},\n author = {Doe, Jane}\n}\n@misc{b, title = {B}}"
    )
    assert (document.title, document.authors, document.year) == ("A", ("Doe, Jane",), 2016)
    assert (other.doc_id, len(told)) == ("b", 1)


def test_a_key_without_a_comma_behind_it() -> None:
    text = "@article{a\n  title = {A title},\n  year = {2001}\n}\n"
    (document,), told = read(text)
    assert document.title == "A title"
    assert told == ["1: no comma after the key 'a'; citebed added it"]
    assert sniff(text)


def test_bibtex_in_a_web_page() -> None:
    text = "<HTML>\n<pre>\n\n@misc{a, title = {A &amp; B}}\n</pre></HTML>\n"
    assert sniff(text)
    assert only(text).title == "A & B"
    assert not sniff("<html>\n<p>@misc{a, title = {A}}</p></html>")


# --- Strings --------------------------------------------------------------------------------


def test_an_undefined_string_is_reported_once() -> None:
    text = (
        "@misc{a, title = {A}, journal = jx, month = mar, note = 12 # th}\n"
        "@misc{b,\n journal = JX,\n month = spring,\n title = {B},\n}\n"
    )
    documents, told = read(text)
    assert documents[0].venue == "jx"
    assert told == [
        "1: undefined @string 'jx'; kept as text",
        "1: undefined @string 'th'; kept as text",
    ]


def test_the_strings_of_bibtexs_own_styles_and_of_astronomers() -> None:
    assert only("@article{a, title = {A}, journal = jacm}").venue == "Journal of the ACM"
    assert only("@article{a, title = {A}, journal = {\\apj}}").venue == "The Astrophysical Journal"


def test_several_strings_in_one() -> None:
    text = '@string{x = "X", y = {Y},}\n@misc{a, title = {A}, journal = x # y}'
    assert only(text).venue == "XY"


def test_a_definition_inside_a_field_is_none() -> None:
    macros: dict[str, str] = {}
    data = b'@misc{a, abstract = {Write @String{jx = "No"} first}, title = {A}}\n@string{k = {K}}\n'
    collect_strings(data, macros)
    assert macros == {"k": "K"}


# --- What BibLaTeX adds ---------------------------------------------------------------------

XDATA = """\
@xdata{house, ids = {house-alias}, publisher = {Example Press}, xdata = {place, loop}}
@xdata{place, location = {Berlin}, year = {1999}}
@xdata{loop, xdata = {house}}
@xdata{people, author = {Jane Doe and Max Muster}, title = {Lent}}
"""


def test_xdata_is_lent_and_no_document() -> None:
    entry = "@book{a, title = {A}, author = {Roe, R.}, xdata = {house-alias, gone}, ids = {b, c}}\n"
    for text in (XDATA + entry, entry + XDATA):
        (document,), told = read(text)
        assert (document.publisher, document.year, document.title) == ("Example Press", 1999, "A")
        assert document.keys == ("a", "b", "c")
        assert len(told) == 1
        assert "refers to missing @xdata 'gone'" in told[0]
        assert document.bibtex is not None
        assert "publisher = {Example Press}" in document.bibtex
        assert "xdata" not in document.bibtex


def test_xdata_lends_single_values() -> None:
    text = (
        XDATA
        + "@book{a, author = {Roe, R. and xdata=people-author-2}, title = {xdata=people-title}}"
    )
    document = only(text)
    assert (document.title, document.authors) == ("Lent", ("Roe, R.", "Muster, Max"))
    text = XDATA + "@book{a, author = {xdata=people-author}, title = {xdata=people-gone}}"
    document = only(text)
    assert (document.title, document.authors) == (
        "xdata=people-gone", ("Doe, Jane", "Muster, Max"),
    )  # fmt: skip


def test_missing_xdata_is_reported() -> None:
    (document,), told = read("@book{a, title = {A}, xdata = {house}}")
    assert document.title == "A"
    assert told == ["1: entry 'a' refers to missing @xdata 'house'"]


def test_xdata_of_an_earlier_piece() -> None:
    macros: dict[str, str] = {}
    collect_strings(
        f"@string{{ep = {{Example}}}}\n{XDATA}".replace("{Example Press}", "ep").encode(), macros
    )
    (document,), told = read("@book{a, title = {A}, xdata = {house}}", macros)
    assert (document.publisher, document.year, told) == ("Example", 1999, [])


@pytest.mark.parametrize(
    "entry",
    [
        "@set{s, entryset = {a, b}}",
        "@control{acs-control, ctrl-article-title = {yes}}",
        "@IEEEtranBSTCTL{IEEE:ctl, CTLuse_forced_etal = {yes}}",
    ],
)
def test_settings_and_sets_are_not_documents(entry: str) -> None:
    assert ids(entry + "\n@misc{a, title = {A}}") == ["a"]


@pytest.mark.parametrize(
    ("raw", "names"),
    [
        ("given=Juan, family=Vega", ("Vega, Juan",)),
        ("family={de la Cruz}, given=Juana and Doe, Jane", ("de la Cruz, Juana", "Doe, Jane")),
        ("family=Beethoven, prefix=van, useprefix=true, given=Ludwig", ("van Beethoven, Ludwig",)),
        ('given="Max, M.", family=Muster, suffix=Jr', ("Muster, Jr, Max M.",)),
        # groups and lists in braces
        ("{Department of X, Institute Y, and Board}", ("Department of X Institute Y and Board",)),
        ("{American Association, Task Force}", ("American Association Task Force",)),
        ("{Doe, Jane}", ("Doe, Jane",)),
        ("{Doe, Jane and Roe, Rick}", ("Doe, Jane", "Roe, Rick")),
        # spaces that separate words, and spaces that do not
        (r"P.\ Wagner", ("Wagner, P.",)),
        (r"P.\ {W}agner", ("Wagner, P.",)),
        (r"M.\,K. Meier", ("Meier, M. K.",)),
        (r"H. Hau\ss ner and Knut S\o rensen", ("Haußner, H.", "Sørensen, Knut")),
        (r"Gabriel Garc\'\i a", ("García, Gabriel",)),
        (r"J. Ma\ifmmode \check{s}\else \v{s}\fi{}ek", ("Mašek, J.",)),
        # a word in braces begins with no small letter, and a first initial is one
        ("Marc {i} Arnal", ("Arnal, Marc i",)),
        ("m. Zubair and P. v. Driessche", ("Zubair, m.", "v. Driessche, P.")),
        ("M. Spreitzer, and A. Tantawi", ("Spreitzer, M.", "Tantawi, A.")),
        ("Doe, J. and et Al.", ("Doe, J.",)),
    ],
)  # fmt: skip
def test_names(raw: str, names: tuple[str, ...]) -> None:
    assert parse_author_field(raw) == names


@pytest.mark.parametrize(
    ("fields", "year", "date"),
    [
        ("year = {1473}", 1473, "1473"), ("year = {ca. 850}", 850, "0850"),
        ("date = {0800-12-25}", 800, "0800-12-25"), ("date = {1215-06/1216}", 1215, "1215-06"),
        ("year = {77}", None, None), ("date = {-0043}", -43, None),
        ("year = {1450 (2001)}", 2001, "2001"),
    ],
)  # fmt: skip
def test_years_before_printing(fields: str, year: int | None, date: str | None) -> None:
    document = only(f"@book{{a, title = {{A}}, {fields}}}")
    assert (document.year, document.date) == (year, date)


# --- DOIs -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "doi"),
    [
        ("{a, doi = {http://doi.acm.org/10.1145/12.34}}", "10.1145/12.34"),
        ("{a, doi = {http://proxy.example.edu:80/10.1145/12.34}}", "10.1145/12.34"),
        ("{a, ee = {https://doi.org/10.1145/12.34}}", "10.1145/12.34"),
        ("{a, bdsk-url-1 = {http://dx.doi.org/10.1145/12.34}}", "10.1145/12.34"),
        ("{a, eprint = {10.1145/12.34}, eprinttype = {doi}}", "10.1145/12.34"),
        ("{10.1145/12.34, doi = {10.1145/56.78}}", "10.1145/12.34"),
        ("{10.1016/S0-2004-12, doi = {10.1016/S0(2004)12}}", "10.1016/s0(2004)12"),
        ("{10.1016/x, doi = {10.1016/(y)}, citebed-id = {10.1016/(y)}}", "10.1016/(y)"),
        ("{a, doi = {10.1002/1{\\textless}2::A{\\textgreater}3.0}}", "10.1002/1<2::a>3.0"),
    ],
)  # fmt: skip
def test_a_doi_anywhere(entry: str, doi: str) -> None:
    assert read(f"@article{entry}")[0][0].doi == doi
