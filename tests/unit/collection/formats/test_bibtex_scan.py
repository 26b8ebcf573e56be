"""Cutting BibTeX into entries: three readers, one answer, the same as the slow one's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.bibtex import Entry, read
from tests.sampling import sized
from tests.strategies import ANY_TEXT

from citebed.collection.formats import bibtex_scanner
from citebed.collection.formats.bibtex import collect_strings, split
from citebed.collection.formats.bibtex_scanner import (
    RawEntry,
    Scanner,
    Strings,
    parse_head,
    read_export,
    scan,
)
from citebed.records import Problem


def scanned(text: str) -> list[RawEntry | Problem]:
    return list(scan(text, 1, {}))


def only(text: str) -> RawEntry:
    [entry] = scanned(text)
    assert isinstance(entry, RawEntry)
    return entry


def as_read(text: str) -> list[Entry]:
    return [Entry(*entry[:3], entry.line) for entry in scanned(text) if isinstance(entry, RawEntry)]


# --- Shapes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind", "key", "fields"),
    [
        ("@article{a, title = {T}}", "article", "a", {"title": "T"}),
        ("@ARTICLE{a,\n  Title = {T},\n}", "article", "a", {"title": "T"}),
        ("@ article {\n a ,\n title={T}\n ,year=2010}", "article", "a",
         {"title": "T", "year": "2010"}),
        ("@article(a, title = {T})", "article", "a", {"title": "T"}),
        ("@misc(a, title = {(T)}, note = {:-)})", "misc", "a", {"title": "(T)", "note": ":-)"}),
        ('@misc{a, title = "A {"}q{"} b"}', "misc", "a", {"title": 'A {"}q{"} b'}),
        ('@misc{a, title = "A {{"}} b", x = {"}}', "misc", "a", {"title": 'A {{"}} b', "x": '"'}),
        ("@misc{a, t = {{{{{{deep}}}}}}}", "misc", "a", {"t": "{{{{{deep}}}}}"}),
        ("@misc{a, t = {}, u = \"\"}", "misc", "a", {"t": "", "u": ""}),
        ("@misc{a,}", "misc", "a", {}),
        ("@misc{a}", "misc", "a", {}),
        ("@misc{}", "misc", "", {}),
        ("@misc{, title = {T}}", "misc", "", {"title": "T"}),
        ("@misc{10.1145/a.b:c_d-e, title = {T}}", "misc", "10.1145/a.b:c_d-e", {"title": "T"}),
        ("@misc{a(1), month = jan # {1}}", "misc", "a(1)", {"month": "jan1"}),
        ("@misc{my key, title = {T}}", "misc", "my key", {"title": "T"}),
        ("@misc{a, title = {A}, TITLE = {B}}", "misc", "a", {"title": "A"}),
        ("@misc{a,\n title = {A},\n title = {B},\n}", "misc", "a", {"title": "A"}),
        ("@misc{a, month = aug, year = 2010}", "misc", "a", {"month": "aug", "year": "2010"}),
        ("@misc{a,\n month = aug,\n title = {T},\n}", "misc", "a", {"month": "aug", "title": "T"}),
        ('@misc{a, month = "8~" # aug}', "misc", "a", {"month": "8~aug"}),
        # commas that are missing, or too many
        ("@misc{a, title = {A} year = 2010}", "misc", "a", {"title": "A", "year": "2010"}),
        ("@misc{a\n title = {A},\n year = {2010}\n}", "misc", "a", {"title": "A", "year": "2010"}),
        ("@misc{a title = {A}}", "misc", "a", {"title": "A"}),
        ("@misc{title = {A}}", "misc", "", {"title": "A"}),
        ("@misc{a,, title = {A},,}", "misc", "a", {"title": "A"}),
        # braces and lines in values
        ("@misc{a,\n t = {x {y},\n z},\n}", "misc", "a", {"t": "x {y},\n z"}),
        ("@misc{a,\n t = {b = {c},\n d = {e}},\n}", "misc", "a", {"t": "b = {c},\n d = {e}"}),
        ("@misc{a,\n t = {x@y.z,\n@misc and},\n}", "misc", "a", {"t": "x@y.z,\n@misc and"}),
    ],
)  # fmt: skip
def test_an_entry(text: str, kind: str, key: str, fields: dict[str, str]) -> None:
    entry = only(text)
    assert (entry.type, entry.key, entry.fields) == (kind, key, fields)
    assert entry.text == text
    assert not entry.is_truncated


def test_strings_and_joins() -> None:
    text = """\
@string{ACM = "Assoc. for " # {Computing}}
@STRING ( j = acm # " J." )
@misc{a, publisher = ACM, journal = J # " (" # 12 # {)}, note = undefined}
@misc{b,
  publisher = acm,
  title = {T},
}
"""
    first, second = scanned(text)
    assert isinstance(first, RawEntry)
    assert isinstance(second, RawEntry)
    assert first.fields == {
        "publisher": "Assoc. for Computing",
        "journal": "Assoc. for Computing J. (12)",
        "note": "undefined",
    }
    assert second.fields == {"publisher": "Assoc. for Computing", "title": "T"}


def test_not_a_record() -> None:
    text = """\
Free text with x@y.org and @ and @article without braces.
% @misc in a comment
@comment{@misc{no, title = {No}}}
@Comment{jabref-meta: {nested {braces}};}
@comment no braces here
@preamble{"\\newcommand{\\x}{@y}" # { z }}
@misc{yes, title = {Yes}} trailing @misc{too, title = {Too}}
"""
    assert as_read(text) == [
        Entry("misc", "yes", {"title": "Yes"}, 7),
        Entry("misc", "too", {"title": "Too"}, 7),
    ]


def test_an_unclosed_comment_hides_nothing() -> None:
    text = (
        "@comment{ open\n@misc{a, title = {A}}\n@comment{x}\n@comment( y {\n@misc{b, title = {B}}"
    )
    assert [entry.key for entry in as_read(text)] == ["a", "b"]


# --- Broken entries -------------------------------------------------------------------------

BROKEN = """\
@misc{a, title = {A}}

@article{b,
  title = {B {unclosed},
  author = {One, A},
  year = 2010,
  note = "x",
  abstract = {over
  two lines},

@misc{c, title = {C}}
"""


def test_a_broken_entry_keeps_its_lines_and_spoils_no_other() -> None:
    a, b, c = scanned(BROKEN)
    assert isinstance(a, RawEntry)
    assert isinstance(c, RawEntry)
    assert (a.key, a.line, a.is_truncated) == ("a", 1, False)
    assert (c.key, c.line, c.is_truncated) == ("c", 11, False)
    assert isinstance(b, RawEntry)
    assert (b.key, b.line, b.is_truncated) == ("b", 3, True)
    assert b.fields == {"title": "B {unclosed", "author": "One, A", "year": "2010", "note": "x"}


@pytest.mark.parametrize(
    "broken",
    [
        "@misc{b, title = {x", "@misc{b, year = {2010},\n note = {x\n",
        '@misc{b, note = "x } y"}', '@misc{b,\n note = "x\n}', "@misc{b, = {x}}",
        "@misc{b, title {x}}", "@misc{b, title = }", "@misc{b, title = , year = 2010}", "@misc{b",
        "@misc{", "@misc{{b}, title = {x}}",
    ],
)  # fmt: skip
def test_an_entry_without_a_title_is_a_problem_on_its_line(broken: str) -> None:
    a, problem, c = scanned(f"@misc{{a}}\n\n{broken}\n@misc{{c, title = {{C}}}}")
    assert isinstance(a, RawEntry)
    assert isinstance(problem, Problem)
    assert (problem.line, problem.kind) == (3, "skipped")
    assert "do not close" in problem.what
    assert isinstance(c, RawEntry)
    assert c.key == "c"


def test_a_title_on_the_line_of_the_key_is_saved_too() -> None:
    [entry] = scanned("@string{p = {P}}\n@misc{b, title = {T},\n publisher = p,\n note = {x\n")
    assert isinstance(entry, RawEntry)
    assert (entry.is_truncated, entry.fields) == (True, {"title": "T", "publisher": "P"})


@pytest.mark.parametrize(
    "broken", ["@string{a}", "@string{a = }", "@string{a = {b}", "@string{= {b}}"]
)
def test_a_broken_string_is_a_problem(broken: str) -> None:
    problem, entry = scanned(f"{broken}\n@misc{{c, title = {{C}}}}")
    assert problem == Problem(1, "a @string that is not `name = value`")
    assert isinstance(entry, RawEntry)


def test_an_entry_that_is_too_large_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bibtex_scanner, "MAX_RECORD_BYTES", 60)
    long = "x" * 60
    whole, open_, fine = scanned(
        f"@misc{{a, t = {{{long}}}}}\n@misc{{b,\n title = {{{long}\n@misc{{c, title = {{C}}}}"
    )
    assert isinstance(whole, Problem)
    assert isinstance(open_, Problem)
    assert (whole.line, open_.line) == (1, 2)
    assert "is not read" in whole.what
    assert "is not read" in open_.what
    assert isinstance(fine, RawEntry)


@given(ANY_TEXT | st.text(alphabet='@ac{}(),="#\n '))
def test_anything_is_scanned(text: str) -> None:
    for entry in scanned(text):
        assert 1 <= entry.line <= 1 + text.count("\n")
        if isinstance(entry, RawEntry):
            assert entry.text in text


@pytest.mark.parametrize(
    "unit",
    [
        *("@", "@ ", "@a", "@a{", "@a{}", "@a{b}", "@a{b,", "@a{b, t = {", "@a{b, t={x}} ", "{"),
        *("@string{a = ", '@string{a="b"}', "@string{", "@comment{", "\n@comment{", "@comment{{"),
        *("@comment(", "@preamble{", "\n@preamble{{", "\n@a{b,\ntitle = {a}\n", "@a(b, t={x}, "),
        *("\n", "@a{b,\n", "@a{b,\n\n\n\n", "\n@a{b, t = \"", "@a{b c "),
        *("a = {b},\n", "@a{b, t = x # "),
    ],
)  # fmt: skip
def test_repeated_units_take_linear_time(unit: str) -> None:
    """Quadratic time would take minutes here; the test asserts no time."""
    end = "\n@misc{end, title = {End}}"
    repeated = unit * (sized(1 << 15, 1 << 17) // len(unit))
    for start in ("", "@a{b, t = ", "@a{b,\n"):
        last = scanned(start + repeated + end)[-1]
        assert isinstance(last, Problem) or last.text


# --- The same as the slow reader ------------------------------------------------------------

BLANKS = st.sampled_from(["", "", " ", "\n", "\n  ", "\t", " \n\n "])
NAMES = st.sampled_from(["title", "Title", "AUTHOR", "month", "x-y", "bdsk-url-1", "a:b", "note"])
# Not a line that begins like an entry: if the one it stands in is irregular, that ends it.
CHARS = st.sampled_from(
    [*"abc ,=#%\n\\'&~-()[]1", ",\n", " = ", "é", "@misc,", "\n@misc,", "x@y.z,", "and"]
)
PLAIN = st.lists(CHARS, max_size=8).map("".join)
BALANCED = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner | inner.map(lambda text: f"{{{text}}}"), max_size=3).map("".join),
    max_leaves=8,
)
QUOTED = st.lists(PLAIN | BALANCED.map(lambda text: f"{{{text}}}"), max_size=3).map("".join)
PARTS = st.one_of(
    BALANCED.map(lambda text: f"{{{text}}}"),
    QUOTED.map(lambda text: f'"{text}"'),
    st.sampled_from(["2010", "jan", "acm", "ACM", "unknown", "1", "a-b", "x.y"]),
)
KEYS = st.sampled_from(["", "a", "b2010", "10.1145/x.y", "a:b_c", "O'Neill", "é"])
KINDS = st.sampled_from(["article", "MISC", "InProceedings", "x"])


@st.composite
def values(draw: st.DrawFn) -> str:
    parts = draw(st.lists(PARTS, min_size=1, max_size=3))
    joint = draw(BLANKS) + "#" + draw(BLANKS)
    return joint.join(parts) if draw(st.integers(0, 3)) == 0 else parts[0]


@st.composite
def weird_entries(draw: st.DrawFn) -> str:
    """An entry with blanks anywhere, in braces or parentheses."""
    blank = [draw(BLANKS) for _ in range(8)]
    opening, closing = draw(st.sampled_from([("{", "}"), ("(", ")")]))
    fields = draw(st.lists(st.tuples(NAMES, values()), max_size=4))
    body = ",".join(f"{blank[0]}{n}{blank[1]}={blank[2]}{v}{blank[3]}" for n, v in fields)
    tail = draw(st.sampled_from(["", ",", ",\n"])) if fields else ""
    head = f"@{draw(KINDS)}{blank[4]}{opening}{blank[5]}{draw(KEYS)}{blank[6]}"
    return f"{head},{body}{tail}{blank[7]}{closing}"


@st.composite
def exported_entries(draw: st.DrawFn) -> str:
    """An entry as a program writes it: one field on a line, nearly all in braces."""
    indent, equals = (
        draw(st.sampled_from(["", "  ", "\t"])),
        draw(st.sampled_from([" = ", "=", " ="])),
    )
    value = st.one_of(
        PLAIN.map(lambda text: f"{{{text}}}"),
        BALANCED.map(lambda text: f"{{{text}}}"),
        st.sampled_from(["jan", "2010", "acm"]),
    )
    fields = draw(st.lists(st.tuples(NAMES, value), min_size=1, max_size=5))
    body = ",\n".join(f"{indent}{name}{equals}{text}" for name, text in fields)
    end = draw(st.sampled_from(["\n}", ",\n}", "}", ",}"]))
    return f"@{draw(KINDS)}{{{draw(KEYS)},\n{body}{end}"


OTHERS = st.sampled_from(
    [
        '@string{acm = "A {C} M"}', "@STRING(acm = {ACM} # {!})", "@comment{x {@misc{no,}} y}",
        '@preamble{"x" # {y}}', "% a remark", "words, and = {more}",
    ]
)  # fmt: skip
FILES = st.lists(
    st.one_of(weird_entries(), exported_entries(), exported_entries(), OTHERS), max_size=5
)
BETWEEN = st.sampled_from(["\n", "\n\n", "\n\n\n", "\n \n"])


@given(FILES, BETWEEN)
def test_the_slow_reader_agrees(parts: list[str], between: str) -> None:
    text = between.join(parts)
    assert as_read(text) == read(text)


@given(FILES)
def test_the_slow_reader_agrees_on_a_single_line(parts: list[str]) -> None:
    text = " ".join(part for part in parts if not part.startswith("%"))
    assert as_read(text) == read(text)


@given(exported_entries() | weird_entries(), st.booleans())
def test_the_three_readers_agree_where_they_accept(text: str, seen: bool) -> None:
    macros = {"acm": "A C M"}
    source = Scanner(text, Strings(macros, 0))
    careful, end = source.scan_carefully(0, 1)
    assert isinstance(careful, RawEntry)
    assert (careful.text, careful.is_truncated, end) == (text, False, len(text))
    assert source.read_entry(0, 1) == (careful, len(text))
    names: dict[str, str] = {}
    if seen:
        read_export(text, 1, Strings(macros, 0), names)
    assert read_export(text, 1, Strings(macros, 0), names) in (None, careful)


def test_a_line_that_begins_like_an_entry_ends_an_irregular_one_only() -> None:
    regular = "@misc{a, t = {x\n@misc{b, u = {v}}\n}}"
    assert as_read(regular) == [Entry("misc", "a", {"t": "x\n@misc{b, u = {v}}\n"}, 1)]
    irregular = regular.replace("{x", '"" # {x')
    problem, entry = scanned(irregular)
    assert isinstance(problem, Problem)
    assert isinstance(entry, RawEntry)
    assert entry.key == "b"


@pytest.mark.parametrize(
    "text",
    [
        "@misc{a,\n  title = {T},\n  year = {2010}\n}",
        "@misc{a,\n  title = {{T} u},\n  month = jan,\n  year = {2010},\n}",
    ],
)
def test_the_export_reader_accepts_entries_of_programs(text: str) -> None:
    assert read_export(text, 1, Strings({}, 0), {}) == only(text)


def test_the_export_reader_does_not_take_a_name_for_a_field() -> None:
    names: dict[str, str] = {}
    good = "@misc{a,\n  title = {T},\n  year = {2010}\n}"
    assert read_export(good, 1, Strings({}, 0), names) is not None
    bad = "@misc{a,\n  title},\n  year = {{2010}\n}"
    assert read_export(bad, 1, Strings({}, 0), names) is None


# --- Heads, cutting, carrying ---------------------------------------------------------------


def test_head() -> None:
    head = parse_head("@misc{ my key , title = {T}}")
    assert head is not None
    assert head == ("@misc{ ", "my key", 15)
    assert parse_head("@misc{a(1), x = 1}") == ("@misc{", "a(1)", 11)
    assert parse_head("@misc(a, x = 1)") == ("@misc(", "a", 8)
    assert parse_head("no entry") is None
    assert parse_head("@misc{{a}}") is None


@pytest.mark.parametrize(
    ("data", "end"),
    [
        (b"", 0), (b"@misc{a, t = {x}}", 0), (b"@misc{a, t = {x}}\n@misc{b,", 18),
        (b"@misc{a, t = {x}}\r\n@misc{b,", 19), (b"@misc{a, t = {x}}\r@misc{b,", 18),
        (b"@misc{a, t = {x}}\n@misc{b", 0), (b"@misc{a, t = {mail\n@home is}}", 0),
        (b"\n@misc{a,}" + b"x" * 200_000, 1),
    ],
)  # fmt: skip
def test_cut(data: bytes, end: int) -> None:
    assert split(data) == end


def test_a_header_on_the_edge_of_a_window_is_found() -> None:
    for size in range((1 << 16) - 12, (1 << 16) + 2):
        data = b"@misc{a,}\n@misc{b,}" + b"x" * size
        assert split(data) == 10


def test_carry() -> None:
    macros: dict[str, str] = {"old": "o"}
    data = '@string{a = {A}}\n@misc{x, t = a}\r\n@STRING(b = old # a # "é\r\n")\n@string{broken'
    collect_strings(data.encode(), macros)
    assert macros == {"old": "o", "a": "A", "b": "oAé\n"}
    collect_strings("@string{c = {é}}".encode("latin-1"), macros)
    assert macros["c"] == "é"
