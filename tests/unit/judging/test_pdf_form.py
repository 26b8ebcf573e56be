"""PDF forms: what was filled in comes out, however a program wrote it."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Mapping
from functools import cache
from random import Random
from typing import Any

import pypdfium2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pypdf import PdfReader, PdfWriter
from pypdf.generic import (
    ArrayObject,
    ByteStringObject,
    DictionaryObject,
    NameObject,
    StreamObject,
    TextStringObject,
)
from tests.form_answers import random_answers, random_entry, random_sheet
from tests.sampling import examples

from citebed.errors import FormatError
from citebed.judging.forms import pdf_form
from citebed.judging.forms.sheet import Answers, ListedQuery, Rating, Sheet

_WAYS = ("both", "value", "looks", "text")
_KINDS = {1: "relevant", 0: "not", None: "cannot"}


@cache
def form(seed: int, phase: int) -> tuple[Sheet, bytes]:
    """A small form, made once."""
    sheet = random_sheet(Random(seed), phase)
    return sheet, pdf_form.write(sheet)


def values_of(answers: Answers, phase: int) -> dict[str, str | bool]:
    """The fields that such answers fill."""
    values: dict[str, str | bool] = {"opt_out": answers.opted_out}
    values |= {f"question.{number}": text for number, text in answers.questions.items()}
    for (query, paper), said in answers.ratings.items():
        if phase == 1:
            values[f"grade.{query}.{paper}"] = str(said.value or "?")
        else:
            values[f"{_KINDS[said.value]}.{query}.{paper}"] = True
            values[f"comment.{query}.{paper}"] = said.comment
    for query, approved in answers.approved.items():
        values["approve" if approved is True else "better"] = ""
        values[f"{'approve' if approved is True else 'better'}.{query}"] = approved
    return values


def text_as(rng: Random, text: str) -> Any:
    """A text as some program writes it."""
    how = rng.choice(("plain", "bytes", "utf-16", "utf-8", "stream", "spaced"))
    if how == "bytes":
        return ByteStringObject(b"\xfe\xff" + text.encode("utf-16-be"))
    if how == "utf-16":
        return ByteStringObject(b"\xff\xfe" + text.encode("utf-16-le"))
    if how == "utf-8":
        return ByteStringObject(b"\xef\xbb\xbf" + text.encode())
    if how == "stream":
        stream = StreamObject()
        stream.set_data(b"\xfe\xff" + text.encode("utf-16-be"))
        return stream
    return TextStringObject(f"  {text}\r\n" if how == "spaced" else text)


def mark_as(rng: Random, widget: DictionaryObject, is_on: bool, ways: tuple[str, ...]) -> None:
    """A box marked, or not, as some program does it."""
    on, off = rng.choice(("/Yes", "/On", "/1")), rng.choice(("/Off", "/No"))
    state = NameObject(on if is_on else off)
    how = rng.choice(ways)
    if how == "looks":
        widget.pop("/V", None)
        widget[NameObject("/AS")] = state
    else:
        widget[NameObject("/V")] = TextStringObject(state[1:]) if how == "text" else state
        widget[NameObject("/AS")] = NameObject("/Off") if how == "value" else state


def parts_of(page: Any) -> Any:
    """The fields and links of a page."""
    return page["/Annots"]


def fill(content: bytes, values: Mapping[str, str | bool], seed: int | None = None) -> bytes:
    """A form with values in its fields, written in one way or (with a seed) in many."""
    writer = PdfWriter(clone_from=io.BytesIO(content))
    rng = Random(seed or 0)
    for page in writer.pages:
        for each in page.get("/Annots", ()):
            widget = each.get_object()
            name = widget.get("/T")
            if name not in values:
                continue
            value = values[name]
            if isinstance(value, bool):
                mark_as(rng, widget, value, ("both",) if seed is None else _WAYS)
            else:
                text = text_as(rng, value) if seed is not None else TextStringObject(value)
                is_stream = isinstance(text, StreamObject)
                widget[NameObject("/V")] = writer._add_object(text) if is_stream else text
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def round_trip(seed: int, phase: int) -> None:
    sheet, content = form(seed % 4, phase)
    expected = random_answers(Random(seed), sheet)
    filled = fill(content, values_of(expected, phase), seed)
    assert pdf_form.is_this_form(filled)
    assert pdf_form.read(filled) == expected


@pytest.mark.parametrize("phase", [1, 2])
def test_100_filled_forms_lose_nothing_and_invent_nothing(phase: int) -> None:
    for seed in range(50):
        round_trip(seed, phase)


@settings(max_examples=examples(40))
@given(st.integers(min_value=1000), st.sampled_from((1, 2)))
def test_no_seed_loses_or_invents(seed: int, phase: int) -> None:
    round_trip(seed, phase)


@pytest.mark.parametrize("phase", [1, 2])
def test_pypdf_fills_it_as_a_reader_does(phase: int) -> None:
    sheet, content = form(2, phase)
    expected = random_answers(Random(5), sheet)
    writer = PdfWriter(clone_from=io.BytesIO(content))
    names = {True: "/Yes", False: "/Off"}
    values = {
        name: names[value] if isinstance(value, bool) else value
        for name, value in values_of(expected, phase).items()
    }
    for page in writer.pages:
        writer.update_page_form_field_values(page, values, auto_regenerate=False)
    out = io.BytesIO()
    writer.write(out)
    assert pdf_form.read(out.getvalue()) == expected


@pytest.mark.parametrize("phase", [1, 2])
def test_an_empty_form_says_nothing(phase: int) -> None:
    sheet, content = form(1, phase)
    assert pdf_form.read(content) == Answers(sheet.code)
    assert pdf_form.write(sheet) == content


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"grade.1.{}": "7"}, "7 is not a grade; use 1 to 4"),
        ({"grade.1.{}": "4/5"}, "'4/5' is not a grade"),
        ({"grade.1.{}": "x"}, "'x' is not a grade"),
        ({"grade.2.{}": "4"}, "question 2 has no text"),
    ],
)
def test_a_grade_in_doubt_is_reported_with_its_page(values: dict[str, str], says: str) -> None:
    sheet, content = form(1, 1)
    paper = sheet.references[0].number
    fields = {name.format(paper): text for name, text in values.items()}
    answers = pdf_form.read(fill(content, fields | {"question.1": "How?"}))
    assert answers.ratings == {}
    assert says in answers.unread[0].what
    assert answers.unread[0].line in (1, 2)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"relevant.1.1": True, "not.1.1": True}, "marks that contradict each other"),
        ({"relevant.1.1": True, "cannot.1.1": True}, "marks that contradict each other"),
        ({"comment.1.1": "fine"}, "has a comment but no mark: 'fine'"),
        ({"approve.1": True, "better.1": "this"}, "is approved, but also has a better wording"),
    ],
)
def test_contradictory_marks_are_reported(values: dict[str, str | bool], says: str) -> None:
    answers = pdf_form.read(fill(asking(), values))
    assert (answers.ratings, answers.approved) == ({}, {})
    assert says in answers.unread[0].what


@cache
def asking() -> bytes:
    """Return a form of one query that was reformulated."""
    sheet = random_sheet(Random(1), 2)
    query = ListedQuery(1, "new", (random_entry(Random(1), 1),), "old")
    return pdf_form.write(sheet._replace(queries=(query,)))


def test_a_box_that_looks_marked_but_has_the_value_off_is_in_doubt() -> None:
    writer = PdfWriter(clone_from=io.BytesIO(asking()))
    for each in parts_of(writer.pages[0]):
        if each.get_object().get("/T") == "relevant.1.1":
            each.get_object()[NameObject("/V")] = NameObject("/Off")
            each.get_object()[NameObject("/AS")] = NameObject("/Yes")
    out = io.BytesIO()
    writer.write(out)
    answers = pdf_form.read(out.getvalue())
    assert answers.ratings == {}
    assert len(answers.unread) == 1


def test_fields_below_a_parent_are_read() -> None:
    writer = PdfWriter(clone_from=io.BytesIO(fill(asking(), {"relevant.1.1": True})))
    for each in parts_of(writer.pages[0]):
        widget = each.get_object()
        if widget.get("/T") == "relevant.1.1":
            parent = DictionaryObject({NameObject("/T"): TextStringObject("relevant.1")})
            parent[NameObject("/FT")] = widget.pop("/FT")
            parent[NameObject("/V")] = widget.pop("/V")
            widget[NameObject("/T")] = TextStringObject("1")
            widget[NameObject("/Parent")] = writer._add_object(parent)
    out = io.BytesIO()
    writer.write(out)
    assert pdf_form.read(out.getvalue()).ratings == {(1, 1): Rating(1)}


def test_what_cannot_be_read_is_reported() -> None:
    flat = PdfWriter(clone_from=io.BytesIO(asking()))
    for page in flat.pages:
        page[NameObject("/Annots")] = ArrayObject()
    flat.root_object.pop("/AcroForm")
    out = io.BytesIO()
    flat.write(out)
    with pytest.raises(FormatError, match="printed or flattened"):
        pdf_form.read(out.getvalue())
    with pytest.raises(FormatError, match="bytes; a form has less than"):
        pdf_form.read(b"%PDF-1.4\n" + bytes(50_000_000))
    with pytest.raises(FormatError, match="damaged"):
        pdf_form.read(b"%PDF-1.4 nothing")
    locked = PdfWriter(clone_from=io.BytesIO(asking()))
    locked.encrypt("secret", algorithm="RC4-128")
    out = io.BytesIO()
    locked.write(out)
    with pytest.raises(FormatError, match="it has a password"):
        pdf_form.read(out.getvalue())
    assert not pdf_form.is_this_form(b"Form: AB12-CD34")


def test_damaged_files_give_one_error_or_what_is_left() -> None:
    content = fill(asking(), {"relevant.1.1": True})
    begun = time.process_time()
    for seed in range(60):
        rng = Random(seed)
        damaged = bytearray(content)
        for _ in range(rng.choice((1, 10, 200))):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        damaged = damaged[: rng.choice((len(damaged), rng.randrange(len(damaged))))]
        try:
            answers = pdf_form.read(bytes(damaged))
        except FormatError:
            continue
        assert set(answers.ratings) <= {(1, 1)}
    assert time.process_time() - begun < 60


def test_a_loop_in_the_file_ends() -> None:
    writer = PdfWriter(clone_from=io.BytesIO(asking()))
    widget = parts_of(writer.pages[0])[0].get_object()
    widget[NameObject("/Parent")] = parts_of(writer.pages[0])[0]
    out = io.BytesIO()
    writer.write(out)
    with contextlib.suppress(FormatError):
        pdf_form.read(out.getvalue())


@pytest.mark.parametrize("questions", [3, 9])
def test_every_letter_is_on_the_page_and_entries_stay_together(questions: int) -> None:
    rng = Random(3)
    entries = tuple(random_entry(rng, number) for number in range(1, 61))
    sheet = random_sheet(rng, 1)._replace(references=entries)
    sheet = sheet._replace(settings=sheet.settings.changed(questions=questions))
    content = pdf_form.write(sheet)
    document = pypdfium2.PdfDocument(content)
    pages = [page.get_textpage().get_text_bounded() for page in document]
    document.close()
    text = "".join("".join(pages).split())
    for wanted in ("Ἀρχιμήδης", "Пушкин", "検索モデルの評価", "Łukasz Żółć", "李小明", "part 4"):
        assert "".join(wanted.split()) in text
    reader = PdfReader(io.BytesIO(content))
    for number, page in enumerate(reader.pages):
        assert f"page {number + 1}" in pages[number]
        for each in page.get("/Annots", ()):
            widget = each.get_object()
            x, y, right, top = (float(at) for at in widget["/Rect"])
            is_hidden = widget.get("/T") in ("form", "numbers")
            assert is_hidden or (45 <= x < right <= 550 and 50 <= y < top <= 800)
            if str(widget.get("/T")).startswith("grade.1."):
                assert f"[{str(widget['/T']).split('.')[2]}]" in pages[number]
    links = [each.get_object()["/A"]["/URI"] for page in reader.pages
             for each in parts_of(page) if "/A" in each.get_object()]  # fmt: skip
    assert sheet.link in links
    assert all(str(link).startswith("https://") for link in links)


def test_the_last_page_is_never_the_end_of_the_form_alone() -> None:
    rng = Random(4)
    for count in range(4, 14):
        entries = tuple(random_entry(rng, number) for number in range(1, count + 1))
        sheet = random_sheet(rng, 2)._replace(queries=(ListedQuery(1, "q", entries),))
        last = PdfReader(io.BytesIO(pdf_form.write(sheet))).pages[-1]
        names = {str(each.get_object().get("/T")) for each in parts_of(last)}
        assert {"opt_out", f"relevant.1.{count}"} <= names
