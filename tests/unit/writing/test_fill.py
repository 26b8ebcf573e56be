"""`citebed fill`: suggestions, choices, and the files that it writes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from citebed.cli.fill import choose_in_terminal, editor_lines, gap_lines
from citebed.drafts import read_draft
from citebed.errors import CitebedError
from citebed.retrieval.recommend.recommender import Recommender
from citebed.writing.fill import Filling, FillOptions, fill_draft

TEXT = (
    "\\documentclass{article}\n\\begin{document}\n"
    "BM25 ranks documents by term weights and is hard to beat \\cite{}.\n"
    "Relevance feedback adds terms from the documents found first [?].\n"
    "\\bibliographystyle{plain}\\bibliography{refs}\n\\end{document}\n"
)
MINE = "@article{mine, title = {My own paper}, author = {Me}, year = 2001, journal = {J}}\n"


@pytest.fixture(scope="module")
def recommender(demo_indexed: Path) -> Recommender:
    return Recommender(demo_indexed)


@pytest.fixture
def draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "refs.bib").write_text(MINE)
    path = tmp_path / "draft.tex"
    path.write_text(TEXT)
    return path


def chosen_first(filling: Filling) -> list[str]:
    filling.accept_first()
    keys = filling.keys()
    return [keys[filling.chosen[gap.number][0]][0] for gap in filling.gaps]


def test_suggestions_have_reasons_and_falling_probabilities(
    draft: Path, recommender: Recommender
) -> None:
    filling = fill_draft(draft, recommender, FillOptions(k=3))
    assert [gap.line for gap in filling.gaps] == [3, 4]
    for gap in filling.gaps:
        found = filling.suggestions(gap)
        assert len(found) == 3
        assert all(each.reason for each in found)
        values = [each.probability or 0.0 for each in found]
        assert values == sorted(values, reverse=True)
    assert filling.table.height == len(filling.rows) == 6
    assert any("cite as" in line for line in gap_lines(filling))
    assert next(editor_lines(filling)).startswith(f"{draft}:3:")


def test_write_leaves_the_original_and_existing_files_alone(
    draft: Path, recommender: Recommender
) -> None:
    filling = fill_draft(draft, recommender)
    one, two = chosen_first(filling)
    out = draft.parent / "new" / "filled.tex"
    out.parent.mkdir()
    paths = filling.write(out)
    assert paths == (out, out.parent / "refs.bib")
    expected = TEXT.replace("\\cite{}", f"\\cite{{{one}}}").replace("[?]", f"\\cite{{{two}}}")
    assert out.read_text() == expected
    bib = paths[1].read_text()
    assert bib.startswith(MINE)
    assert {one, two} <= set(re.findall(r"@\w+\{([^,]+),", bib))
    assert draft.read_text() == TEXT
    assert (draft.parent / "refs.bib").read_text() == MINE
    with pytest.raises(CitebedError, match="exists already"):
        filling.write(out)


def test_in_place_keeps_backups_and_refuses_a_draft_that_changed(
    draft: Path, recommender: Recommender
) -> None:
    filling = fill_draft(draft, recommender)
    chosen_first(filling)
    draft.write_text(TEXT + "%")
    with pytest.raises(CitebedError, match="changed meanwhile"):
        filling.write_in_place()
    again = fill_draft(draft, recommender)
    chosen_first(again)
    backups = again.write_in_place()
    assert any(path.read_text() == TEXT + "%" for path in backups)
    assert len(fill_draft(draft, recommender).gaps) == 0


def test_the_diff_is_a_patch_that_applies(draft: Path, recommender: Recommender) -> None:
    filling = fill_draft(draft, recommender)
    chosen_first(filling)
    patch = shutil.which("patch")
    if patch is None:
        pytest.skip("patch is not installed")
    subprocess.run([patch, str(draft)], input=filling.diff().encode(), check=True)
    assert draft.read_bytes() == filling.filled()[draft]


def test_choices_in_the_terminal_can_be_undone_and_continued(
    draft: Path, recommender: Recommender
) -> None:
    def script(*lines: str) -> Iterator[str]:
        yield from lines

    filling = fill_draft(draft, recommender)
    answers = script("9", "o 1", "/feedback", "1", "u", "s", "q")
    assert not choose_in_terminal(filling, lambda _: next(answers))
    assert filling.chosen == {1: ()}
    again = fill_draft(draft, recommender)
    assert again.resume() == 1
    answers = script("1 2")
    assert choose_in_terminal(again, lambda _: next(answers))
    assert len(again.chosen[2]) == 2

    def interrupted(_: str) -> str:
        raise KeyboardInterrupt

    third = fill_draft(draft, recommender)
    assert not choose_in_terminal(third, interrupted)
    last = fill_draft(draft, recommender)
    assert last.resume() == 0  # the last session stored that nothing was chosen


def test_unknown_gaps_and_documents_are_refused(draft: Path, recommender: Recommender) -> None:
    filling = fill_draft(draft, recommender)
    with pytest.raises(CitebedError, match="unknown gap 9"):
        filling.choose(9)
    with pytest.raises(CitebedError, match="no document"):
        filling.choose(1, "nothing")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_the_draft_compiles_before_and_after(draft: Path, recommender: Recommender) -> None:
    filling = fill_draft(draft, recommender)
    chosen_first(filling)
    out = draft.parent / "filled.tex"
    filling.write(out)
    for path in (draft, out):
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", path.name]
        subprocess.run(command, cwd=draft.parent, check=True, capture_output=True)
        assert path.with_suffix(".pdf").stat().st_size > 1000


# --- Word and OpenDocument ------------------------------------------------------------------------

_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
DOCUMENT = (
    f'<w:document xmlns:w="{_W}"><w:body><w:p><w:r><w:rPr><w:b/></w:rPr>'
    "<w:t>Relevance feedback adds terms &amp; words </w:t></w:r><w:r><w:t>[</w:t></w:r>"
    "<w:r><w:t>?]. It helps.</w:t></w:r></w:p></w:body></w:document>"
)


_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
_MAIN = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
TYPES = (
    f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" ContentType='
    '"application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="png" '
    'ContentType="image/png"/><Override PartName="/word/document.xml" '
    f'ContentType="{_MAIN}"/></Types>'
)
RELATIONS = (
    f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" Type="{_OFFICE}" '
    'Target="word/document.xml"/></Relationships>'
)


def word_file(path: Path, document: str = DOCUMENT) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", TYPES)
        archive.writestr("_rels/.rels", RELATIONS)
        archive.writestr("word/document.xml", document)
        archive.writestr("word/media/image.png", b"\x89PNG")
    return path


def test_word_gets_a_field_that_reads_back_as_a_citation(
    tmp_path: Path, recommender: Recommender
) -> None:
    filling = fill_draft(word_file(tmp_path / "d.docx"), recommender)
    (gap,) = filling.gaps
    assert (gap.text, gap.lead) == ("Relevance feedback adds terms & words.",) * 2 or gap.lead
    chosen_first(filling)
    (out,) = filling.write(tmp_path / "out.docx")
    with zipfile.ZipFile(out) as archive:
        xml = archive.read("word/document.xml").decode()
        assert archive.read("word/media/image.png") == b"\x89PNG"
    code = re.search(r"ADDIN ZOTERO_ITEM CSL_CITATION (\{.*\}) </w:instrText>", xml)
    assert code is not None
    item = json.loads(code[1].replace("&amp;", "&"))["citationItems"][0]
    assert item["itemData"]["title"] == filling.suggestions(gap)[0].title
    assert item["uris"] == [item["id"]]  # no number, which could be an item of the user's Zotero
    assert xml.count('fldCharType="begin"') == xml.count('fldCharType="end"') == 1
    assert "It helps." in xml
    assert "[" not in re.sub(r"<w:instrText.*?</w:instrText>", "", xml)
    (entry,) = read_draft(out).cited.entries
    assert entry.title == filling.suggestions(gap)[0].title
    assert len(fill_draft(out, recommender).gaps) == 0


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
def test_libreoffice_opens_the_filled_document(tmp_path: Path, recommender: Recommender) -> None:
    filling = fill_draft(word_file(tmp_path / "d.docx"), recommender)
    chosen_first(filling)
    (out,) = filling.write(tmp_path / "out.docx")
    command = ["soffice", f"-env:UserInstallation=file://{tmp_path}/lo", "--headless"]
    command += ["--convert-to", "odt", "--outdir", str(tmp_path / "lo"), str(out)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    assert read_draft(tmp_path / "lo" / "out.odt").cited.entries


def test_opendocument_gets_a_reference_mark(tmp_path: Path, recommender: Recommender) -> None:
    text = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
    office = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
    content = (
        f'<office:document-content xmlns:office="{office}" xmlns:text="{text}"><office:body>'
        "<office:text><text:p>Relevance feedback adds terms <text:span>[</text:span>?].</text:p>"
        "</office:text></office:body></office:document-content>"
    )
    path = tmp_path / "d.odt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("content.xml", content)
    filling = fill_draft(path, recommender)
    chosen_first(filling)
    (out,) = filling.write(tmp_path / "out.odt")
    (entry,) = read_draft(out).cited.entries
    assert entry.title == filling.suggestions(filling.gaps.items[0])[0].title


def test_a_document_type_in_word_is_refused(tmp_path: Path, recommender: Recommender) -> None:
    hostile = '<!DOCTYPE x [<!ENTITY a "[?]">]>' + DOCUMENT
    with pytest.raises(CitebedError, match="document type"):
        fill_draft(word_file(tmp_path / "d.docx", hostile), recommender)


def test_a_bib_file_that_is_missing_is_an_error(draft: Path, recommender: Recommender) -> None:
    with pytest.raises(CitebedError, match=r"nowhere\.bib: no such file"):
        fill_draft(draft, recommender, FillOptions(bib=(Path("nowhere.bib"),)))


def test_several_files_are_not_written_to_a_folder_named_like_a_draft(
    draft: Path, tmp_path: Path, recommender: Recommender
) -> None:
    (tmp_path / "chapter.tex").write_text("Feedback adds terms to a query \\cite{}.\n")
    draft.write_text(TEXT.replace("\\bibliographystyle", "\\input{chapter}\n\\bibliographystyle"))
    filling = fill_draft(draft, recommender)
    filling.accept_first()
    with pytest.raises(CitebedError, match="several files of the draft change"):
        filling.write(tmp_path / "out.tex")
    assert not (tmp_path / "out.tex").exists()
    assert {path.name for path in filling.write(tmp_path / "out")} >= {"draft.tex", "chapter.tex"}
