"""OpenDocument texts: prose asks, and what marks of reference managers hold is cited already."""

from __future__ import annotations

import pytest
from tests.office import csl_citation, csl_item, marked, opendocument_file, packed

from citebed.drafts import Draft, draft_from_bytes
from citebed.errors import CitebedError

ELMS = csl_item(7, "The growth of elms in parks", "10.1145/1.1")
CITED = "Elms were studied by many people in many parks "


def _draft(*body: str) -> Draft:
    return draft_from_bytes(opendocument_file(*body), "draft.odt")


def test_headings_captions_items_and_tables_are_recognised() -> None:
    draft = _draft(
        "<text:tracked-changes><text:changed-region><text:deletion><text:p>Deleted words of old."
        "</text:p></text:deletion></text:changed-region></text:tracked-changes>",
        '<text:p text:style-name="P3">On the growth of elms</text:p><text:p/>',
        "<text:table-of-content><text:index-body><text:p>Introduction 1</text:p></text:index-body>"
        "</text:table-of-content>",
        '<text:h text:outline-level="1">Introduction</text:h>',
        '<text:p text:style-name="P1">Elms <text:span>grow</text:span><text:s text:c="99999999"/>in'
        "<text:line-break/>many places. They are tall.</text:p>",
        "<table:table><table:table-row><table:table-cell><text:p>A cell that is no prose here."
        "</text:p></table:table-cell></table:table-row></table:table>",
        '<text:p text:style-name="P2">Elms near the sea.</text:p>',
        "<text:list><text:list-item><text:p>Elms like water more than oaks do.</text:p>"
        "</text:list-item></text:list>",
    )
    assert draft.title == "On the growth of elms"
    assert [(p.line, p.section, p.silent, p.text) for p in draft.passages] == [
        (3, "Introduction", "", "Elms grow in many places. They are tall."),
        (5, "Introduction", "caption", "Elms near the sea."),
        (6, "Introduction", "", "Elms like water more than oaks do."),
    ]


def test_reference_marks_of_zotero_cite() -> None:
    mark = marked(f"ZOTERO_ITEM CSL_CITATION {csl_citation(ELMS)} RNDabc", "(Lee 2019)")
    draft = _draft(f"<text:p>{CITED}{mark}. More is to come.</text:p>")
    assert draft.passages[0].text == f"{CITED.strip()}. More is to come."
    assert draft.passages[0].sentence_cites == (("10.1145/1.1",), ())
    assert draft.cited.titles == ("The growth of elms in parks",)


def test_marks_of_jabref_and_libreoffice_cite() -> None:
    mark = marked("JABREF_lee2019 CID_1, JABREF_ray2020 CID_2 xyz", "[1, 2]")
    own = (
        '<text:bibliography-mark text:identifier="Kim21" text:bibliography-type="article" '
        'text:author="Kim" text:title="The growth of firs" text:year="2021">[Kim21]'
        "</text:bibliography-mark>"
    )
    draft = _draft(f"<text:p>{CITED}{mark} and more {own}.</text:p>")
    assert draft.passages[0].text == f"{CITED}and more."
    assert draft.cited.keys == ("lee2019", "ray2020", "Kim21")
    assert draft.cited.titles == ("The growth of firs",)


def test_a_word_field_that_libreoffice_kept_cites() -> None:
    code = f"ADDIN ZOTERO_ITEM CSL_CITATION {csl_citation(ELMS)}".replace('"', "&quot;")
    field = (
        '<field:fieldmark-start text:name="f"><field:param '
        f'field:name="vnd.oasis.opendocument.field.code" field:value="{code}"/>'
        "</field:fieldmark-start>(Lee 2019)<field:fieldmark-end/>"
    )
    draft = _draft(f"<text:p>{CITED}{field} and more.</text:p>")
    assert draft.passages[0].text == f"{CITED}and more."
    assert draft.cited.dois == ("10.1145/1.1",)


def test_notes_have_the_position_of_their_marks() -> None:
    note = (
        "<text:note><text:note-citation>1</text:note-citation><text:note-body>{}</text:note-body>"
        "</text:note>"
    )
    cite = marked(f"ZOTERO_ITEM CSL_CITATION {csl_citation(ELMS)} RNDx", "Lee, Elms, 2019")
    first = note.format("<text:p>A note that says more of elms.</text:p>")
    second = note.format(f"<text:p>{cite}</text:p>")
    draft = _draft(f"<text:p>Elms are tall.{first} Oaks are not.{second}</text:p>")
    assert [(p.line, p.text, p.cites) for p in draft.passages] == [
        (1, "Elms are tall. Oaks are not.", ("10.1145/1.1",)),
        (1, "A note that says more of elms.", ()),
    ]


def test_the_bibliography_is_entries() -> None:
    zotero = '<text:section text:name="ZOTERO_BIBL {} CSL_BIBLIOGRAPHY RNDx">{}</text:section>'
    entry = "<text:p>Lee, A. (2019). The growth of elms.</text:p>"
    own = (
        "<text:bibliography><text:index-body><text:index-title><text:p>Works</text:p>"
        f"</text:index-title>{entry}</text:index-body></text:bibliography>"
    )
    for each in (zotero.replace("{}</text", f"{entry}</text"), own):
        draft = _draft("<text:p>Elms are tall and wide.</text:p>", each)
        assert [p.text for p in draft.passages] == ["Elms are tall and wide."]
        assert draft.cited.entries[-1].text == "Lee, A. (2019). The growth of elms."


def test_a_link_to_a_doi_cites() -> None:
    link = '<text:a xlink:href="https://doi.org/10.1145/9.9">this paper</text:a>'
    draft = _draft(f"<text:p>Elms are tall, as {link} says.</text:p>")
    assert draft.passages[0].cites == ("10.1145/9.9",)


def test_files_that_are_not_texts_are_reported() -> None:
    sheet = opendocument_file(kind="application/vnd.oasis.opendocument.spreadsheet")
    locked = opendocument_file(more={"META-INF/manifest.xml": "<m><encryption-data/></m>"})
    empty = packed({"mimetype": "application/vnd.oasis.opendocument.text"})
    for data, says in (
        (sheet, "not a text document"),
        (locked, "password"),
        (empty, "content.xml is"),
    ):
        with pytest.raises(CitebedError, match=says):
            draft_from_bytes(data, "draft.odt")
