"""Word documents: prose asks, and what reference managers keep in fields is cited already."""

from __future__ import annotations

import base64
from pathlib import Path

import polars as pl
import pytest
from tests.office import csl_citation, csl_item, field, paragraph, run, word_file

from citebed.drafts import Draft, draft_from_bytes, find_cited_documents, read_draft

ELMS = csl_item(7, "The growth of elms in parks", "10.1145/1.1")
OAKS = csl_item(8, "The growth of oaks near rivers")
CITED = "Elms were studied by many people in many parks "


def _draft(*body: str, **more: str) -> Draft:
    return draft_from_bytes(word_file(*body, **more), "draft.docx")  # type: ignore[arg-type]


def test_headings_captions_items_and_tables_are_recognised() -> None:
    cell = paragraph("A cell that is no prose at all here.")
    cell = f"<w:tbl><w:tr><w:tc>{cell}</w:tc></w:tr></w:tbl>"
    draft = _draft(
        paragraph("On the growth of elms", style="Titel"),
        paragraph(),
        paragraph("Introduction", style="berschrift1"),
        paragraph("Elms grow ", "in many places", ". They are tall.", style="Mine"),
        cell,
        paragraph("Elms near the sea.", style="Beschriftung"),
        paragraph("Elms like water more than oaks do.", item=True),
        paragraph("Soils", style="MyHead"),
        paragraph("Soils are wet where elms are found."),
    )
    assert draft.title == "On the growth of elms"
    assert [(p.line, p.section, p.silent, p.text) for p in draft.passages] == [
        (3, "Introduction", "", "Elms grow in many places. They are tall."),
        (5, "Introduction", "caption", "Elms near the sea."),
        (6, "Introduction", "", "Elms like water more than oaks do."),
        (8, "Soils", "", "Soils are wet where elms are found."),
    ]
    assert [place.column for place in draft.passages[0].places] == [1, 27]


@pytest.mark.parametrize("start", ["ADDIN ZOTERO_ITEM CSL_CITATION ", "ADDIN CSL_CITATION "])
def test_fields_of_zotero_and_mendeley_cite(start: str) -> None:
    code = start + csl_citation(ELMS, OAKS)
    draft = _draft(paragraph(CITED, field(code, "(Lee 2019; Lee 2020)"), ". More is to come."))
    (passage,) = draft.passages
    assert passage.text == "Elms were studied by many people in many parks. More is to come."
    assert passage.sentence_cites == (("10.1145/1.1", "KEY8"), ())
    assert draft.cited.dois == ("10.1145/1.1",)
    assert draft.cited.titles == ("The growth of elms in parks", "The growth of oaks near rivers")
    assert passage.places[1].column == len(CITED) + len("(Lee 2019; Lee 2020). ") + 1


def test_what_fields_cite_is_found_in_a_collection() -> None:
    code = f"ADDIN ZOTERO_ITEM CSL_CITATION {csl_citation(ELMS, OAKS)}"
    draft = _draft(paragraph(CITED, field(code, "[1,2]"), "."))
    titles = ["Elms by DOI", "The Growth of Oaks near Rivers", "Beeches"]
    documents = pl.DataFrame(
        {"doc_id": ["a", "b", "8"], "title": titles, "doi": ["10.1145/1.1", None, None]}
    )
    assert find_cited_documents(draft.cited, documents) == {"a", "b"}


RECORD = (
    "<EndNote><Cite><Author>Lee</Author><Year>2019</Year><RecNum>12</RecNum><record>"
    "<rec-number>12</rec-number><ref-type name='Journal Article'>17</ref-type><contributors>"
    "<authors><author>Lee, Ann</author></authors></contributors><titles><title><style>The growth "
    "of elms &amp; oaks</style></title></titles><dates><year>2019</year></dates>"
    "<electronic-resource-num>10.1145/3.3</electronic-resource-num></record></Cite></EndNote>"
)


def test_fields_of_endnote_cite() -> None:
    kept = base64.b64encode(RECORD.encode()).decode()
    for each in (
        field(f"ADDIN EN.CITE {RECORD}", "(Lee 2019)"),
        field("ADDIN EN.CITE", "(1)", kept),
    ):
        draft = _draft(paragraph(CITED, each, "."))
        assert draft.passages[0].cites == ("10.1145/3.3",)
        assert draft.cited.titles == ("The growth of elms & oaks",)


def test_data_of_endnote_in_an_inner_field() -> None:
    kept = base64.b64encode(RECORD.encode()).decode()
    inner = field("ADDIN EN.CITE.DATA", "", kept)
    whole = field("ADDIN EN.CITE ", "(1)")
    separate = '<w:r><w:fldChar w:fldCharType="separate"/></w:r>'
    draft = _draft(paragraph(CITED, whole.replace(separate, inner + separate, 1), "."))
    assert draft.cited.dois == ("10.1145/3.3",)
    assert draft.passages[0].text == f"{CITED.strip()}."


def test_words_own_sources_cite() -> None:
    sources = (
        '<b:Sources xmlns:b="http://schemas.openxmlformats.org/officeDocument/2006/bibliography">'
        "<b:Source><b:Tag>Lee19</b:Tag><b:Title>The growth of elms</b:Title><b:Year>2019</b:Year>"
        "<b:Author><b:Author><b:NameList><b:Person><b:Last>Lee</b:Last><b:First>Ann</b:First>"
        "</b:Person></b:NameList></b:Author></b:Author></b:Source>"
        "<b:Source><b:Tag>Ray20</b:Tag><b:Title>Not cited</b:Title></b:Source></b:Sources>"
    )
    code = ' CITATION Lee19 \\l 1033  \\m Kim21 \\p "3 4"'
    control = "<w:sdt><w:sdtPr><w:citation/></w:sdtPr><w:sdtContent>{}</w:sdtContent></w:sdt>"
    control = control.format(field(code, "(Lee)"))
    data = word_file(paragraph(CITED, control, "."), more={"customXml/item1.xml": sources})
    draft = draft_from_bytes(data, "draft.docx")
    assert draft.passages[0].cites == ("Lee19", "Kim21")
    assert [entry.text for entry in draft.cited.entries] == ["Lee, Ann. The growth of elms. 2019"]


def test_a_content_control_of_mendeley_cites() -> None:
    tag = f"MENDELEY_CITATION_v3_{base64.b64encode(csl_citation(ELMS).encode()).decode()}"
    control = (
        f'<w:sdt><w:sdtPr><w:tag w:val="{tag}"/></w:sdtPr><w:sdtContent>{run("(Lee 2019)")}'
        "</w:sdtContent></w:sdt>"
    )
    draft = _draft(paragraph(CITED, control, " and so on."))
    assert draft.passages[0].text == f"{CITED}and so on."
    assert draft.passages[0].cites == ("10.1145/1.1",)


def test_bookmarks_of_zotero_cite() -> None:
    code = f"ZOTERO_ITEM CSL_CITATION {csl_citation(ELMS)}"
    halves = (code[:40], code[40:])
    values = "".join(
        f'<property name="ZOTERO_BREF_a1_{n}"><lpwstr>{half}</lpwstr></property>'
        for n, half in enumerate(halves, 1)
    )
    mark = '<w:bookmarkStart w:id="3" w:name="ZOTERO_BREF_a1"/>'
    body = paragraph(CITED, mark + run("(Lee 2019)") + '<w:bookmarkEnd w:id="3"/>', ".")
    data = word_file(body, more={"docProps/custom.xml": f"<Properties>{values}</Properties>"})
    assert draft_from_bytes(data, "draft.docx").passages[0].cites == ("10.1145/1.1",)


def test_footnotes_have_the_position_of_their_marks() -> None:
    code = f"ADDIN ZOTERO_ITEM CSL_CITATION {csl_citation(ELMS)}"
    notes = (
        f'<w:footnote w:id="2">{paragraph("A note that says more of elms.")}</w:footnote>'
        f'<w:footnote w:id="3">{paragraph(field(code, "Lee, Elms, 2019"))}</w:footnote>'
    )
    mark = '<w:r><w:footnoteReference w:id="{}"/></w:r>'
    draft = _draft(
        paragraph("Elms are tall.", mark.format(2), " Oaks are not.", mark.format(3)), notes=notes
    )
    assert [(p.line, p.text, p.cites) for p in draft.passages] == [
        (1, "Elms are tall. Oaks are not.", ("10.1145/1.1",)),
        (1, "A note that says more of elms.", ()),
    ]


def test_references_at_the_end_are_entries() -> None:
    bibliography = field(
        "ADDIN ZOTERO_BIBL {} CSL_BIBLIOGRAPHY", "Lee, A. (2019). The growth of elms."
    )
    draft = _draft(
        paragraph("Elms are tall [2] and oaks are not."),
        paragraph("References", style="berschrift1"),
        paragraph("A. Lee. The growth of elms. 2019.", item=True),
        paragraph("B. Ray. The growth of oaks. doi:10.1145/2.2", item=True),
    )
    assert draft.passages[0].cites == ("10.1145/2.2",)
    assert [entry.key for entry in draft.cited.entries] == ["1", "2"]
    draft = _draft(paragraph("Elms are tall and wide."), paragraph(bibliography))
    assert [entry.text for entry in draft.cited.entries] == ["Lee, A. (2019). The growth of elms."]
    assert len(draft.passages) == 1


def test_what_is_deleted_repeated_or_contents_is_not_text() -> None:
    draft = _draft(
        paragraph(field('TOC \\o "1-3"', "Introduction 3")),
        paragraph("Elms are", f"<w:del>{run(' not')}</w:del>", "<w:ins/>", " very tall."),
        "<mc:AlternateContent><mc:Choice>" + paragraph("Elms stand in a box here.")
        + "</mc:Choice><mc:Fallback>" + paragraph("Elms stand in a box here.")
        + "</mc:Fallback></mc:AlternateContent>",
    )  # fmt: skip
    assert [p.text for p in draft.passages] == ["Elms are very tall.", "Elms stand in a box here."]


def test_a_link_to_a_doi_cites_and_is_not_followed() -> None:
    target = 'Target="https://doi.org/10.1145/9.9" TargetMode="External"'
    link = f'<Relationship Id="rId9" Type="http://x/relationships/hyperlink" {target}/>'
    inner = f'<w:hyperlink r:id="rId9">{run("this paper")}</w:hyperlink>'
    draft = _draft(paragraph("Elms are tall, as ", inner, " says."), links=link)
    assert draft.passages[0].text == "Elms are tall, as this paper says."
    assert draft.passages[0].cites == ("10.1145/9.9",)


def test_a_field_that_cannot_be_read_keeps_its_words() -> None:
    for code in (
        "ADDIN ZOTERO_ITEM CSL_CITATION {broken",
        "ADDIN EN.CITE <EndNote><Cite>",
        "REF _x",
    ):
        draft = _draft(paragraph("Elms are tall ", field(code, "(Lee, 2019)"), " and wide."))
        assert draft.passages[0].cites in ((), ("Lee 2019",))
        assert draft.passages[0].text.startswith("Elms are tall")
    unclosed = '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>ADDIN CSL_CITATION '
    unclosed += csl_citation(ELMS).replace('"', "&quot;")
    unclosed += '</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>'
    draft = _draft(paragraph(CITED, unclosed, "lost."), paragraph("The next one is all there."))
    assert [p.text for p in draft.passages] == [CITED.strip(), "The next one is all there."]


def test_the_content_decides_the_form(tmp_path: Path) -> None:
    data = word_file(paragraph("Elms are tall and wide."))
    for name in ("draft.docx", "draft", "draft.tex"):
        (tmp_path / name).write_bytes(data)
        assert read_draft(tmp_path / name).passages[0].text == "Elms are tall and wide."
