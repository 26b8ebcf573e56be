"""Checking drafts: keys, positions, fixes, and every output of the command."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import pytest

import citebed
from citebed.cli.app import main
from citebed.drafts import parse_draft
from citebed.drafts.parsed_draft import Block, Origin, ParsedDraft, Raw
from citebed.drafts.prose import make_passages
from citebed.drafts.records import Cited, Draft, Entry, Place
from citebed.errors import CitebedError
from citebed.report.draft_check import check_lines
from citebed.writing.bib_fixes import Fix, apply_fixes
from citebed.writing.check import CheckOptions, check_draft, check_references

LIBRARY = r"""@article{oak, title={Oak Trees and Their Growth in Old Forests},
  author={Ash, Ann and B{\"o}hm, Bo}, year={2001}, journal={J. of Trees}, doi={10.5072/oak},
  pages={12--29}}
@inproceedings{elm, title={On the Elms of the City and Their Enemies}, author={Chen, Chi},
  year={2005}, booktitle={Proceedings of Trees}, doi={10.5072/elm}}
"""
REFS = r"""% kept: 100 % of it
@string{trees = {J. of Trees}}
@article{oak1,
  title  = "{Oak} trees and their growth in old forests",   % a comment
  author = {B{\"o}hm, Bo},
  year   = 1991,
  pages  = {12-29},
  journal = trees,
}
@Article{fake, title={On the elms of the city and their enemies}, author={Petra Silva}, year=2005}
@book{other, title={A Work of Which No Collection Has Heard}, author={Roe, Rob}, year={1999}}
@misc{spare, title={Never Cited}, author={Roe, Rob}}
@article{oak2, title={Oak Trees and Their Growth in Old Forests}, doi={10.5072/oak},
  author={Ann Ash and Bo B{\"o}hm}, year={2001}}
"""
DRAFT = r"""\documentclass{article}
\begin{document}
Oaks grow \cite{oak1}.

Elms have enemies \cite{fake,nowhere}, and so has everything \citep{other}. Oaks again \cite{oak2}.
\bibliography{refs}
\end{document}
"""


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("check")
    (folder / "library.bib").write_text(LIBRARY)
    return citebed.create(folder / "mine", folder / "library.bib").folder


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    (tmp_path / "refs.bib").write_text(REFS)
    (tmp_path / "draft.tex").write_text(DRAFT)
    return tmp_path / "draft.tex"


def test_finds_every_kind_with_its_place(collection: Path, draft: Path) -> None:
    report = citebed.open(collection).check(draft, this_year=2026)
    found = {(row["kind"], row["key"], Path(row["file"]).name, row["line"]) for row in report.rows}
    assert found == {
        ("wrong-authors", "oak1", "refs.bib", 5),
        ("wrong-year", "oak1", "refs.bib", 6),
        ("not-found", "fake", "refs.bib", 10),
        ("unused-entry", "spare", "refs.bib", 12),
        ("same-work", "oak2", "refs.bib", 13),
        ("unknown-key", "nowhere", "draft.tex", 5),
    }
    verdicts = dict(report.references.select("key", "verdict").iter_rows())
    assert verdicts == {
        "oak1": "wrong details", "fake": "not found", "other": "not in this collection",
        "oak2": "fine",
    }  # fmt: skip
    assert report.counts["fine"] == 1
    assert report.fails("error")
    assert "not-found" in repr(report)


@pytest.mark.parametrize(
    ("name", "text", "places"),
    [
        ("d.tex", "Oaks \\citep{} grow,\n\\cite{a,?} too.\n\n"
         "\\begin{tabular}{c}\\cite{}\\end{tabular}\n",
         [(1, 13), (2, 9), (4, 25)]),
        ("d.md", "Oaks [@a] grow [citation needed].\n\nElms [@].\n", [(1, 16), (3, 6)]),
        ("d.txt", "Oaks grow [?].\n", [(1, 11)]),
        ("d.typ", "= Oaks\nOaks grow @TODO.\n", [(2, 11)]),
    ],
)  # fmt: skip
def test_placeholders_are_findings_with_their_place(
    tmp_path: Path, name: str, text: str, places: list[tuple[int, int]]
) -> None:
    draft = tmp_path / name
    draft.write_text(text)
    report = check_draft(draft, None)
    findings = report.findings.filter(kind="missing-citation")
    assert findings.select("line", "column").rows() == places
    assert set(findings["file"]) == {str(draft)}
    assert report.fails("warning")
    assert not any("no key" in note for note in report.notes)
    form = {"d.tex": "tex", "d.md": "markdown", "d.txt": "text", "d.typ": "typst"}[name]
    in_editor = check_draft(parse_draft(text, form), None)  # type: ignore[arg-type]
    assert "missing-citation" in set(in_editor.findings["kind"])


_OAK = "A. Silva. Oak Trees and Their Growth in Old Forests. 2001."
_ELM = "C. Chen. On the Elms of the City and Their Enemies. Proceedings of Trees, 1995."


@pytest.mark.parametrize(
    ("name", "text", "places"),
    [
        ("d.tex", f"Oaks \\cite{{a,b}}.\n\\begin{{thebibliography}}{{9}}\n\\bibitem{{a}} {_OAK}\n\n"
         f"  \\bibitem[C]{{b}}\n{_ELM}\n\\end{{thebibliography}}\n", [("a", 3, 1), ("b", 5, 3)]),
        ("d.md", f"Oaks [1, 2].\n\n# References\n\n[1] {_OAK}\n\n[2] {_ELM}\n",
         [("1", 5, 1), ("2", 7, 1)]),
        ("d.txt", f"Oaks (Silva 2001).\n\nReferences\n\n{_OAK}\n\n{_ELM}\n",
         [("1", 5, 1), ("2", 7, 1)]),
        ("d.rst", f"Oaks [1]_, [2]_.\n\n.. [1] {_OAK}\n.. [2] {_ELM}\n",
         [("1", 3, 1), ("2", 4, 1)]),
        ("d.typ", f"Oaks [1].\n\n= References\n\n[1] {_OAK}\n\n[2] {_ELM}\n",
         [("1", 5, 1), ("2", 7, 1)]),
    ],
)  # fmt: skip
def test_printed_references_have_a_place_and_a_number(
    collection: Path, tmp_path: Path, name: str, text: str, places: list[tuple[str, int, int]]
) -> None:
    draft = tmp_path / name
    draft.write_text(text)
    report = citebed.open(collection).check(draft, this_year=2026)
    assert report.findings.select("key", "line", "column").rows() == places
    assert report.findings["kind"].to_list() == ["not-found", "wrong-year"]


def test_references_of_a_bbl_file_have_their_place_in_it(collection: Path, tmp_path: Path) -> None:
    (tmp_path / "d.tex").write_text("Oaks \\cite{b}.\n\\bibliography{gone}\n")
    (tmp_path / "d.bbl").write_text(
        f"\\begin{{thebibliography}}{{9}}\n\n\\bibitem{{b}}\n{_ELM}\n\\end{{thebibliography}}\n"
    )
    (row,) = citebed.open(collection).check(tmp_path / "d.tex", this_year=2026).rows
    assert (row["key"], row["file"], row["line"]) == ("b", str(tmp_path / "d.bbl"), 3)


def test_without_a_collection_only_keys_are_checked(draft: Path) -> None:
    report = check_draft(draft, None)
    kinds = set(report.findings["kind"])
    assert kinds == {"unknown-key", "unused-entry", "same-work"}
    assert any("no collection" in note for note in report.notes)


def test_nocite_star_cites_every_entry(draft: Path) -> None:
    draft.write_text(DRAFT.replace(r"\bibliography", r"\nocite{*}\bibliography"))
    assert "unused-entry" not in set(check_draft(draft, None).findings["kind"])


def test_keys_that_are_twice_and_entries_that_never_end(tmp_path: Path) -> None:
    bib = tmp_path / "a.bib"
    bib.write_text("@misc{a, title={One}}\n@misc{A, title={Two}}\n@string{broken}\n")
    rows = check_draft(bib, None).rows
    assert [(row["kind"], row["line"]) for row in rows] == [
        ("duplicate-key", 2),
        ("broken-entry", 3),
    ]


def test_a_text_of_an_editor_is_checked_like_a_file(collection: Path) -> None:
    title = "Oak Trees and Their Growth in Old Forests"
    text = f"Oaks [1].\n\n# References\n\n[1] P. Silva. 2001. {title}."
    report = check_draft(parse_draft(text, "markdown"), citebed.open(collection))
    assert report.references["verdict"].to_list() == ["not found"]


def test_references_as_text_fields_and_bibtex(collection: Path) -> None:
    report = check_references(
        [
            "Ash, A., Böhm, B. (2001). Oak Trees and Their Growth in Old Forests. J. of Trees, 12.",
            {"title": "Oak trees and their growth in old forests", "author": "Ann Ash and others",
             "year": "1990", "journal": "J. of Trees"},
            "@misc{x, title={On the Elms of the City and Their Enemies}, author={Sato}, year=2005}",
            {"title": "Unheard Of", "authors": ["Roe, Rob"]},
        ],
        citebed.open(collection), CheckOptions(this_year=2026),
    )  # fmt: skip
    assert report.references["verdict"].to_list() == [
        "fine", "wrong details", "not found", "not in this collection",
    ]  # fmt: skip
    assert report.references["line"].to_list() == [1, 2, 3, 4]
    with pytest.raises(CitebedError, match="expected a reference"):
        check_references([3], citebed.open(collection))  # type: ignore[list-item]


def test_hints_name_sentences_that_share_nothing_with_the_cited_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "library.bib").write_text(LIBRARY)
    citebed.create(tmp_path / "mine", tmp_path / "library.bib").index(quiet=True)
    draft = tmp_path / "draft.md"
    draft.write_text(
        "---\nbibliography: library.bib\n---\n\n"
        "Oak trees grow slowly in old forests [@oak].\n\n"
        "The price of bread rose in Vienna [@elm].\n\n"
        "Elms have enemies. The price of bread rose [@elm].\n"
    )
    line = ["check", str(tmp_path / "mine"), str(draft), "--format", "lines", "--fail-on", "note"]
    assert main(line) == 0
    assert main([*line, "--hints"]) == 1
    shown = capsys.readouterr().out
    assert f"{draft}:7:1: note: elm: this sentence has little in common with 'elm'" in shown
    assert shown.count("weak-citation") == 1


# --- Fixes ------------------------------------------------------------------------------------


def test_fix_changes_wrong_details_and_no_other_byte(
    collection: Path, draft: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bib = draft.with_name("refs.bib")
    before = bib.read_bytes().replace(b"\n", b"\r\n")
    bib.write_bytes(b"\xef\xbb\xbf" + before)
    assert main(["check", str(collection), str(draft), "--diff"]) == 1
    assert bib.read_bytes() == b"\xef\xbb\xbf" + before
    shown = capsys.readouterr().out
    assert "-  year   = 1991,\n" in shown
    assert "+  year   = 2001,\n" in shown
    assert main(["check", str(collection), str(draft), "--fix"]) == 1  # the others remain
    expected = before.replace(b"1991", b"2001").replace(
        rb"{B{\"o}hm, Bo},", rb"{Ash, Ann and B{\"o}hm, Bo},"
    )
    assert bib.read_bytes() == b"\xef\xbb\xbf" + expected
    rest = citebed.open(collection).check(draft, this_year=2026)
    assert not [row for row in rest.rows if row["kind"].startswith("wrong")]


def test_fix_keeps_bytes_that_are_not_utf8_and_skips_text_that_has_changed() -> None:
    data = b"@misc{a, note={caf\xe9}, year={1991}}\n@misc{b, year={1992}}\n"
    column = data.index(b"1991") + 1
    right = Fix(1, column, 1, column + 4, "2001", "1991")
    wrong = Fix(2, 16, 2, 20, "2002", "1999")
    assert apply_fixes(data, [right, wrong]) == (data.replace(b"1991", b"2001"), 1)
    assert apply_fixes(data, [right._replace(text="é")]) == (data, 0)
    assert apply_fixes(b"", [right]) == (b"", 0)


@pytest.mark.parametrize(
    ("year", "fixed"),
    [
        ("{1991}", "{2001}"), ('"1991"', '"2001"'), ("1991", "2001"),
        ('"19" # "91"', None), ("{1991 (in print)}", None),
    ],
)  # fmt: skip
def test_only_plain_values_are_fixed(
    collection: Path, tmp_path: Path, year: str, fixed: str | None
) -> None:
    bib = tmp_path / "a.bib"
    entry = "@article{a, title={Oak Trees and Their Growth in Old Forests}, journal={J. of Trees}, "
    entry += f'author={{Ash, Ann and B{{\\"o}}hm, Bo}}, year={year}, note={{year={{1991}}}}}}\n'
    bib.write_text(entry)
    main(["check", str(collection), str(bib), "--fix"])
    assert bib.read_text() == (entry.replace(f"year={year},", f"year={fixed},") if fixed else entry)


# --- The command ------------------------------------------------------------------------------


def test_outputs_for_programs(
    collection: Path, draft: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["check", str(collection), str(draft)]
    assert main([*line, "--json", "--sarif", str(tmp_path / "out.sarif")]) == 1
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 6
    log = json.loads((tmp_path / "out.sarif").read_text())
    (run,) = log["runs"]
    assert (log["version"], len(run["results"])) == ("2.1.0", 6)
    ids = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert {each["ruleId"] for each in run["results"]} <= ids
    (year,) = [each for each in run["results"] if each["ruleId"] == "wrong-year"]
    (change,) = year["fixes"][0]["artifactChanges"]
    assert change["replacements"][0]["insertedContent"] == {"text": "2001"}
    assert main([*line, "--csv"]) == 1
    assert len(list(csv.DictReader(io.StringIO(capsys.readouterr().out)))) == 6
    assert main([*line, "--format", "lines"]) == 1
    assert ": error: fake: not found:" in capsys.readouterr().out
    assert main([*line, "--sarif", "-"]) == 1
    assert json.loads(capsys.readouterr().out) == log


def test_exit_codes(collection: Path, draft: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["check", str(collection), str(draft)]
    assert main([*line, "--fail-on", "never"]) == 0
    draft.write_text(r"\begin{document}Oaks \cite{oak2}.\bibliography{refs}\end{document}")
    assert main(line) == 0
    assert "1 reference: 1 fine" in capsys.readouterr().out
    assert main([*line, "--fail-on", "note"]) == 1
    assert main([*line, "--fail-on", "warnings"]) == 1
    assert "Did you mean 'warning'?" in capsys.readouterr().err
    assert main([*line, "--fix", "--diff"]) == 1


def test_an_entry_is_used_if_one_of_several_drafts_cites_it(
    collection: Path, draft: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    second = draft.with_name("second.tex")
    second.write_text(r"\begin{document}Oaks \cite{spare}.\bibliography{refs}\end{document}")
    main(["check", str(collection), str(draft), str(second), "--json"])
    assert "unused-entry" not in capsys.readouterr().out


def test_finds_the_collection_beside_the_draft(
    draft: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CITEBED_COLLECTION", raising=False)
    (draft.parent / "library.bib").write_text(LIBRARY)
    os.chmod(draft.parent, 0o755)
    citebed.create(draft.parent / "mine", draft.parent / "library.bib")
    assert main(["check", str(draft)]) == 1
    assert "4 references: 1 fine" in capsys.readouterr().out


def test_bad_input_is_an_error_with_a_name(
    collection: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, data, message in (
        ("a.tex", b"\x00\x01\x02" * 50, "binary data"),
        ("a.bib", b"\x00\x01\x02" * 50, "binary data"),
        ("none.tex", None, "no such file"),
    ):
        if data is not None:
            (tmp_path / name).write_bytes(data)
        assert main(["check", str(collection), str(tmp_path / name)]) == 1
        assert message in capsys.readouterr().err
    assert main(["check", str(collection)]) == 1
    (tmp_path / "loop.tex").write_text(r"\begin{document}\input{loop}Text \cite{a}.\end{document}")
    assert main(["check", str(collection), str(tmp_path / "loop.tex")]) == 0


def test_a_bibliography_that_cannot_be_read_is_an_error(tmp_path: Path, collection: Path) -> None:
    draft = tmp_path / "paper.md"
    draft.write_text("---\nbibliography: missing.bib\n---\n\nOaks grow [@oak1].\n")
    report = check_draft(draft, citebed.open(collection))
    assert report.findings.select("kind", "severity").rows() == [("missing-bibliography", "error")]
    assert report.findings["message"][0].startswith("bibliography missing.bib: not found")
    assert main(["check", str(collection), str(draft)]) == 1


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("@article{oak1,\n  title={Oak Trees},\n  author={Ash", "entry 'oak1' does not close"),
        ("@article{, title={Oak Trees}}", "no key"),
    ],
)
def test_entries_that_import_mends_are_broken(tmp_path: Path, entry: str, message: str) -> None:
    library = tmp_path / "refs.bib"
    library.write_text(f"@misc{{fine, title={{Ferns}}}}\n{entry}\n")
    found = check_draft(library, None).findings
    assert found.select("kind", "line", "message").rows() == [("broken-entry", 2, message)]


def test_references_of_word_are_named_by_title(collection: Path) -> None:
    """The keys in a Word file are ids of the author's Zotero library."""
    parsed = ParsedDraft(entries=[Entry("3GKMD43T", "Ash. Oaks of Old. 1999", "Oaks of Old")])
    words = f"Oaks grow slowly in the old forests {parsed.cite(['3GKMD43T'])}."
    parsed.blocks.append(Block(words, Raw(words, [Origin(0, Place("", 7))])))
    cited = Cited(keys=("3GKMD43T",), entries=tuple(parsed.entries))
    draft = Draft(make_passages(parsed), cited=cited, file="draft.docx")
    report = check_draft(draft, citebed.open(collection), CheckOptions(complete=True))
    (row,) = report.rows
    assert (row["kind"], row["key"], row["line"]) == ("not-found", "Oaks of Old", 7)
    assert report.references["key"].to_list() == ["Oaks of Old"]


def test_a_chapter_needs_the_bibliography_of_its_draft(tmp_path: Path, collection: Path) -> None:
    (tmp_path / "refs.bib").write_text(REFS)
    chapter = tmp_path / "chapter.tex"
    chapter.write_text("Oaks grow \\cite{oak1,nowhere}.\n")
    (note,) = check_draft(chapter, citebed.open(collection)).notes
    assert note.startswith("the draft names no bibliography, so 2 cited keys could not be checked")
    report = citebed.open(collection).check(chapter, bib=(tmp_path / "refs.bib",), this_year=2026)
    kinds = {"wrong-year", "wrong-authors", "unknown-key", "unused-entry"}
    assert set(report.findings["kind"]) == kinds
    assert set(report.findings["file"]) == {str(chapter), str(tmp_path / "refs.bib")}
    (tmp_path / "plain.txt").write_text("Oaks grow slowly in the old forests.\n")
    report = check_draft(tmp_path / "plain.txt", citebed.open(collection))
    assert report.notes == ("the draft has no references",)


def test_the_text_names_what_is_not_in_the_collection(draft: Path, collection: Path) -> None:
    lines = list(check_lines(check_draft(draft, citebed.open(collection))))
    assert "not in this collection: other" in lines
    assert "never cited: spare" in lines
