"""JSON by line and by document, the getters, the sniffers, and what holds for all formats."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sampling import examples

from citebed.collection import formats
from citebed.collection.formats import json_files
from citebed.collection.formats.base import NOT_UTF8, TOO_LONG, Chunk, Format, split_lines
from citebed.collection.formats.beir import BEIR_CORPUS, BEIR_QRELS, BEIR_QUERIES
from citebed.collection.formats.catalogues import OPENALEX, SEMANTIC_SCHOLAR
from citebed.collection.formats.csl import CSL_JSON
from citebed.collection.formats.detection import json_format_name
from citebed.collection.formats.json_files import (
    JsonObject,
    Member,
    as_int,
    as_text,
    json_lines,
    json_members,
    json_records,
    split_json_lines,
)
from citebed.collection.formats.jsonl import JSONL, LOCAL_CITATION_JSON
from citebed.records import CitingPaper, Document, Judgement, Problem, Query

FORMATS = (
    CSL_JSON, OPENALEX, SEMANTIC_SCHOLAR, BEIR_CORPUS, BEIR_QUERIES, BEIR_QRELS, JSONL,
    LOCAL_CITATION_JSON,
)  # fmt: skip
DEEP = b"[" * 200_000 + b"]" * 200_000


def chunk(data: bytes | str, line: int = 1) -> Chunk:
    return Chunk(data.encode() if isinstance(data, str) else data, "test.json", line)


# --- JSON Lines -----------------------------------------------------------------------------


def test_lines_carry_their_numbers_and_blank_ones_are_skipped() -> None:
    found = list(json_lines(chunk('{"a": 1}\n\n  \r\n{"b": 2}\r\n{"c": 3}', line=10)))
    assert found == [(10, {"a": 1}), (13, {"b": 2}), (14, {"c": 3})]


@pytest.mark.parametrize(
    "bad",
    [b'{"a": ', b"[1, 2]", b"null", b"7", b'"x"', b"true", b"{'a': 1}", b"\xff\xff", DEEP, b"}"],
)
def test_a_bad_line_costs_one_problem_and_no_more(bad: bytes) -> None:
    found = list(json_lines(chunk(b'{"a": 1}\n' + bad + b'\n{"b": 2}\n')))
    assert (found[0], found[-1]) == ((1, {"a": 1}), (3, {"b": 2}))
    assert any(isinstance(p, Problem) and p.line == 2 and p.kind == "skipped" for p in found)


def test_numbers_that_python_would_choke_on_are_read() -> None:
    (found,) = json_lines(chunk(b'{"big": 1%s, "nan": NaN, "inf": 1e999}' % (b"0" * 5000)))
    assert not isinstance(found, Problem)
    value = found[1]
    assert value["big"] == "1" + "0" * 5000
    assert math.isnan(value["nan"])
    assert value["inf"] == math.inf


def test_a_line_over_the_limit_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_files, "MAX_RECORD_BYTES", 20)
    found = list(json_lines(chunk('{"a": "%s"}\n{"b": 2}' % ("x" * 30))))
    assert found == [Problem(1, TOO_LONG), (2, {"b": 2})]


def test_windows_1252_and_utf_16_are_understood() -> None:
    found = list(json_lines(chunk('{"t": "é"}\n{"t": "“ü”"}\n'.encode("cp1252"))))
    assert found == [
        Problem(1, NOT_UTF8, "mended"),
        (1, {"t": "é"}),
        (2, {"t": "“ü”"}),
    ]
    assert list(json_lines(chunk('{"t": "é"}\n'.encode("utf-16")))) == [(1, {"t": "é"})]
    assert list(json_records(chunk('\ufeff[{"t": "é"}]'))) == [(1, {"t": "é"})]
    assert list(json_records(chunk('[\n{"t": "é"}]'.encode("utf-16")))) == [(2, {"t": "é"})]


def test_cuts() -> None:
    assert split_lines(b'{"a": 1}\n{"b"') == 9
    assert split_lines(b'{"a"') == 0
    assert split_json_lines(b'{"a": 1}\n{"b"') == 9
    assert split_json_lines(b'{"a": 1\n{"b"') == 0
    for document in (
        b'[{"a": 1},\n{"b"',
        b'{\n "a": 1}\n',
        b'\xef\xbb\xbf {"a": [\n1',
        b'{"a":1,\n"b"',
    ):
        assert split_json_lines(document) == 0


def test_the_middle_of_a_document_is_not_cut() -> None:
    works = [{"id": f"W{n}", "authors": [{"name": "{x}"}, {"name": "y"}]} for n in range(9)]
    one_per_line = "[\n" + ",\n".join(map(json.dumps, works))
    for text in (json.dumps(works, indent=1), json.dumps(works, indent=4), one_per_line):
        middle = text[: text.rindex('"id"')]
        for start in range(1, len(middle)):
            assert split_json_lines(middle[start : start + 200].encode()) == 0


def test_the_rest_of_a_long_line_is_cut_before_the_last_object() -> None:
    rest = b'xx", "b": "y"}\n{"a": "{"}\n{"a": 2}\r\n{"a"'
    assert split_json_lines(rest) == len(rest) - 4
    assert split_json_lines(b'xx"}\n{"a"') == 5
    assert split_json_lines(b'xx"},\n{"a"') == 0
    assert split_json_lines(b'{"a": 1}\n') == 0


# --- documents ------------------------------------------------------------------------------


def test_elements_of_a_document_carry_their_lines() -> None:
    assert list(json_members(chunk('[1,\n {"a": [2]},\n"x"]'))) == [
        Member(1, None, 1),
        Member(2, None, {"a": [2]}),
        Member(3, None, "x"),
    ]
    assert list(json_members(chunk('\n{"k\\u00e9y": 1,\n"b": {}}'))) == [
        Member(2, "kéy", 1),
        Member(3, "b", {}),
    ]


@pytest.mark.parametrize("end", ['{"c', '{"c": "x\\', "", '{"c": [1, {"d": "', "12"])
def test_a_truncated_array_yields_its_complete_items(end: str) -> None:
    *whole, last = json_members(chunk('[{"a": 1},\n{"b": "]}"},\n' + end))
    assert whole[:2] == [Member(1, None, {"a": 1}), Member(2, None, {"b": "]}"})]
    assert last == Problem(3, "truncated JSON; records before the break were imported")


@pytest.mark.parametrize("bad", ["{'b': 2}", '{"b": 1 2}', "x", '{"b": tru}', DEEP.decode(), "{,}"])
def test_a_mistake_in_an_element_costs_that_element(bad: str) -> None:
    found = list(json_members(chunk('[{"a": 1},\n' + bad + ',\n{"c": "\\"}"}]')))
    problems = [item for item in found if isinstance(item, Problem)]
    assert [item for item in found if isinstance(item, Member)] == [
        Member(1, None, {"a": 1}),
        Member(3, None, {"c": '"}'}),
    ]
    assert [p.line for p in problems] == [2]


def test_members_with_bad_names_are_skipped() -> None:
    found = list(json_members(chunk('{"a": 1, b: 2, "c" 3, "d": 4}')))
    assert [item for item in found if isinstance(item, Member)] == [
        Member(1, "a", 1),
        Member(1, "d", 4),
    ]
    assert sum(isinstance(item, Problem) for item in found) == 2


@pytest.mark.parametrize(
    "text",
    [
        '[{"a": 1}, {"a": 2}]',
        '{"results": [{"a": 1}, {"a": 2}], "meta": {}}',
        '{"ok": true, "message": {"total": 2, "items": [{"a": 1}, {"a": 2}]}}',
        '{"a": 1}\n{"a": 2}\n',
        '{"results": [{"a": 1}]}\n{"message": {"items": [{"a": 2}]}}',
        '{\n"a": 1}\n{\n"a": 2}\n',
        '[{"a": 1}]\n[{"a": 2}]',
    ],
)
def test_records_are_found_in_every_wrapping(text: str) -> None:
    found = list(
        json_records(
            chunk(text),
            (
                "results",
                "message",
                "items",
            ),
        )
    )
    assert [item[1] for item in found] == [{"a": 1}, {"a": 2}]


def test_an_empty_wrapper_holds_no_records() -> None:
    empty = chunk('{"meta": {"count": 0}, "results": []}')
    assert list(json_records(empty, ("results",))) == []


def test_deep_wrappers_do_not_recurse() -> None:
    text = '{"message":' * 100_000 + "1" + "}" * 100_000
    found = list(json_records(chunk(text), ("message",)))
    assert all(isinstance(item, Problem) for item in found)


@pytest.mark.parametrize(
    "text",
    [
        "[" + "{'x': 1}," * 100_000,
        '[{"a": 1} x' + ', "\\"' * 100_000,
        "{" + '"a" 1,' * 100_000,
        "[" + '{"a":' * 100_000,
    ],
)
def test_long_broken_documents_come_to_an_end(text: str) -> None:
    assert any(isinstance(item, Problem) for item in json_members(chunk(text)))


# --- getters --------------------------------------------------------------------------------

WRONG: list[Any] = [None, True, [], {}, [[]], [{}], [None], math.nan, math.inf, "", " \ud800"]


@pytest.mark.parametrize("value", WRONG)
def test_getters_take_wrong_types_for_nothing(value: Any) -> None:
    obj = JsonObject(1, {"x": value})
    assert obj.text("x", "missing") is None
    assert obj.markup("x") is None
    assert obj.texts("x") == obj.keywords("x") == ()
    assert obj.doi("x") is None
    assert obj.year("x") is None
    assert as_int(value) is None
    assert obj.number("x", 2.5) == 2.5
    assert obj.object("x") == (1, {})
    assert all(isinstance(item, JsonObject) for item in obj.objects("x"))
    assert isinstance(obj.elements("x"), list)


def test_getters_read_odd_values() -> None:
    assert as_text(["a \n b", "c"]) == "a b"
    assert (as_text(12), as_text(2015.0), as_text(1.5), as_text(1e300)) == (
        "12",
        "2015",
        "1.5",
        "1e+300",
    )
    assert as_text("x\ud800y") == "xy"
    assert (as_int("12"), as_int(12.0), as_int("-3"), as_int(1.5), as_int("9" * 30)) == (
        12, 12, -3, None, None,
    )  # fmt: skip
    assert JsonObject(1, {"x": ["a", 1, None, "a"]}).texts("x") == ("a", "1")
    assert JsonObject(1, {"x": "a; b, c;a"}).keywords("x") == ("a", "b, c")
    assert JsonObject(1, {"x": "a, b", "y": ["c"]}).keywords("x", "y") == ("a", "b", "c")
    assert JsonObject(1, {"x": 150}).year("x") == 150
    assert JsonObject(1, {"x": "c. 1999"}).year("x") == 1999
    assert JsonObject(1, {"d": "2010-08-15", "y": 2011}).year_and_date("y", "d") == (
        2010,
        "2010-08-15",
    )
    assert JsonObject(1, {"y": 2011}).year_and_date("y", "d") == (2011, "2011")


# --- sniffing -------------------------------------------------------------------------------


def test_sniffing_hostile_heads_comes_to_an_end() -> None:
    for head in ("[" * 16384, '{"a":' * 3277, '"\\' * 8192, '{"' + "\\" * 16000, '["a",' * 3277):
        assert json_format_name(head) == ""


# --- what holds for all formats -------------------------------------------------------------

NAMES = st.sampled_from(
    """id _id doc_id title text abstract authors author editor name family given literal suffix
    issued date-parts raw container-title volume issue page DOI doi URL keyword subject reference
    type subtitle year date items message results data abstract_inverted_index authorships
    publication_date primary_location source display_name biblio keywords concepts
    referenced_works ids paperId corpusid externalIds journal references citedPaper paper_id
    metadata first middle last outbound_citations query_id relevance contexts sentences cites
    section sections heading links target kind weight bibtex crossref citing context cited
    masked_text citing_id refid ref_id language publisher type_crossref""".split()  # noqa: SIM905
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["10.1145/1.2", "https://openalex.org/W12", "\ud800", "2010-08", 10**400])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(NAMES | st.text(max_size=3), inner, max_size=6)
    ),
    max_leaves=25,
)
KINDS = (Document, CitingPaper, Query, Judgement, Problem)


def texts(value: Any) -> list[str]:
    """All the strings in a record, and a check that nothing but known types is in it."""
    if isinstance(value, tuple):
        return [text for part in value for text in texts(part)]
    assert value is None or isinstance(value, str | int | float | bool)
    return [value] if isinstance(value, str) else []


def check(form: Format, data: bytes) -> None:
    for record in form.parse(chunk(data)):
        assert isinstance(record, KINDS)
        "".join(texts(record)).encode("utf-8")
        if isinstance(record, Document):
            assert record.doc_id
            assert record.year is None or isinstance(record.year, int)


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: str(form.name))
@given(values=st.lists(VALUES, max_size=3), as_lines=st.booleans())
@settings(max_examples=examples(150), deadline=None)
def test_arbitrary_json_never_raises(form: Format, values: list[Any], as_lines: bool) -> None:
    whole = "\n".join(map(json.dumps, values)) if as_lines else json.dumps(values, indent=1)
    check(form, whole.encode())
    check(form, whole.encode()[: len(whole) * 2 // 3])


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: str(form.name))
def test_hostile_files_end_in_problems(form: Format) -> None:
    for data in (DEEP, b'{"id":' + DEEP + b"}", b"[" * 200_000, b'{"a":' * 200_000, b'"' * 1000):
        check(form, data)
        assert any(isinstance(record, Problem) for record in form.parse(chunk(data)))


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: str(form.name))
def test_formats_are_found_by_name_and_empty_files_are_fine(form: Format) -> None:
    assert formats.FORMATS[form.name] is form
    assert list(form.parse(chunk(b""))) == []
    assert list(form.parse(chunk(b"\n \n"))) == []
