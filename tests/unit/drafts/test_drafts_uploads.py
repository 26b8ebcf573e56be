"""Files that strangers send: read as a draft, and nothing of this machine with it."""

from __future__ import annotations

import io
import stat
import zipfile
from pathlib import Path

import pytest
from tests.office import packed, paragraph, word_file

from citebed.drafts import read_draft
from citebed.drafts.reader import parse_draft
from citebed.drafts.records import (
    Draft,
    draft_from_json,
    draft_to_json,
    select_passage,
    select_sentence,
)
from citebed.drafts.uploads import MAX_FILES, read_uploads, safe_name
from citebed.errors import CitebedError

PROSE = "Short queries are expanded with terms from the documents that were found first."
MAIN = "\\documentclass{article}\\begin{document}\n%s\n\\bibliography{mine}\\end{document}"
BIB = "@article{own, title = {A title}, author = {Doe, Jane}, year = 2001}\n"


def read(**files: str | bytes) -> Draft:
    named = [(name.replace("_", "."), _bytes(data)) for name, data in files.items()]
    draft = read_uploads(named).draft
    assert draft is not None
    return draft


def _bytes(data: str | bytes) -> bytes:
    return data.encode() if isinstance(data, str) else data


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("a.tex", "a.tex"), ("paper/parts/a.tex", "paper/parts/a.tex"),
        ("../../etc/passwd.tex", "etc/passwd.tex"), ("/etc/a.tex", "etc/a.tex"),
        ("C:\\Users\\a.tex", "C_/Users/a.tex"), ("..\\..\\a.tex", "a.tex"),
        ("a/./b/../c.md", "a/b/c.md"), ("\0x\n.md", "_x_.md"), ("../..", ""),
        ("x" * 500 + ".md", "x" * 117 + ".md"),
    ],
)  # fmt: skip
def test_no_name_leaves_the_folder(name: str, wanted: str) -> None:
    assert safe_name(name) == wanted


def test_a_folder_with_its_parts_and_its_library() -> None:
    sent = read_uploads(
        [
            ("p/chapters/one.tex", f"\\section{{One}} {PROSE} \\cite{{own}}".encode()),
            ("p/main.tex", (MAIN % "\\input{chapters/one}").encode()),
            ("p/mine.bib", BIB.encode()),
            ("p/figure.png", b"\x89PNG"),
        ]
    )
    assert sent.draft is not None
    assert [each.text for each in sent.draft.passages] == [PROSE]
    assert sent.draft.file == "p/main.tex"
    assert sent.draft.cited.keys == ("own",)
    assert sent.libraries == {"p/mine.bib": BIB}
    assert sent.notes == ("1 file skipped: p/figure.png",)


def test_a_zip_is_unpacked() -> None:
    members = {"p/": "", "p/main.tex": MAIN % PROSE, "p/mine.bib": BIB, "__MACOSX/p/._main.tex": ""}
    draft = read(paper_zip=packed(members))
    assert [each.text for each in draft.passages] == [PROSE]
    assert draft.file == "p/main.tex"


def test_a_word_file_and_a_text() -> None:
    assert [each.text for each in read(a_docx=word_file(paragraph(PROSE))).passages] == [PROSE]
    assert [each.text for each in read(a_txt=PROSE).passages] == [PROSE]


def test_a_bibliography_alone_is_a_library() -> None:
    sent = read_uploads([("mine.bib", BIB.encode())])
    assert sent.draft is None
    assert sent.libraries == {"mine.bib": BIB}


def test_what_cannot_be_read_gets_the_readers_words() -> None:
    with pytest.raises(CitebedError, match=r"^a\.png: this is a PNG image"):
        read(a_png=b"\x89PNG....")
    with pytest.raises(CitebedError, match="the upload contains no draft"):
        read_uploads([("a.png", b"\x89PNG"), ("b.png", b"\x89PNG")])
    with pytest.raises(CitebedError, match="the upload contains no draft"):
        read_uploads([])


def test_a_draft_reads_nothing_outside_its_folder(tmp_path: Path) -> None:
    secret = tmp_path / "secret.tex"
    secret.write_text("The password is elsewhere in this sentence of words.")
    inside = tmp_path / "sent"
    inside.mkdir()
    (inside / "link.tex").symlink_to(secret)
    names = (
        str(secret), str(secret)[:-4], "../secret", "./../secret.tex", "link",
        "part/../../secret",
    )  # fmt: skip
    for name in names:
        draft = inside / "main.tex"
        draft.write_text(MAIN % f"{PROSE}\n\n\\input{{{name}}}")
        assert len(read_draft(draft).passages) == (1 if name.startswith("part") else 2)
        confined = read_draft(draft, within=inside)
        assert [each.text for each in confined.passages] == [PROSE]
        assert "password" not in draft_to_json(confined)


def test_bibliographies_outside_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "mine.bib").write_text(BIB)
    inside = tmp_path / "sent"
    inside.mkdir()
    for name, text in {
        "a.tex": "\\documentclass{a}\\begin{document} %s \\bibliography{../mine}\\end{document}",
        "a.md": "---\nbibliography: ../mine.bib\n---\n%s [@own]",
        "a.qmd": f"---\nbibliography: {tmp_path}/mine.bib\n---\n%s [@own]",
        "a.typ": '%s @own\n#bibliography("../mine.bib")',
    }.items():
        (inside / name).write_text(text % PROSE)
        assert read_draft(inside / name).library == (BIB,)
        assert read_draft(inside / name, within=inside).library == ()


def test_links_in_archives_are_not_followed() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("main.tex", MAIN % (PROSE + "\n\n\\input{link}"))
        link = zipfile.ZipInfo("link.tex")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/hostname")
    assert [each.text for each in read(a_zip=stream.getvalue()).passages] == [PROSE]


def test_bombs_and_countless_files_are_refused() -> None:
    bomb = packed({"main.tex": MAIN % PROSE, "big.tex": b" " * (110 << 20)})
    with pytest.raises(CitebedError, match=r"big\.tex in it"):
        read(a_zip=bomb)
    many = packed({f"{number}.tex": "x" for number in range(MAX_FILES + 1)})
    with pytest.raises(CitebedError, match="more than 2,000 files"):
        read(a_zip=many)


def test_of_several_drafts_the_one_that_begins_a_document() -> None:
    sent = read_uploads(
        [
            ("a.md", b"Read me first, before anything else in here."),
            ("long/deep/other.tex", (MAIN % "Other words stand here.").encode()),
            ("paper.tex", (MAIN % PROSE).encode()),
        ]
    )
    assert sent.draft is not None
    assert sent.draft.file == "paper.tex"
    assert sent.notes == ("paper.tex was read as the draft; not read: long/deep/other.tex",)


def test_a_draft_that_was_kept_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "mine.bib").write_text(BIB)
    path = tmp_path / "a.tex"
    path.write_text(MAIN % f"\\section{{One}} {PROSE} \\cite{{own}} More [?] of it is needed here.")
    draft = read_draft(path)
    assert draft.passages[0].wanted
    assert draft_from_json(draft_to_json(draft)) == draft
    for broken in ("", "[]", "{}", '{"passages": 3}'):
        with pytest.raises(CitebedError, match="stored draft is damaged"):
            draft_from_json(broken)


def test_the_sentence_at_a_place() -> None:
    draft = parse_draft("One elm stands here. Two oaks\nstand there.\n\nThree firs fall.")

    def at(line: int, column: int) -> str:
        (found,) = select_sentence(draft, line, column).passages
        return found.text

    assert at(1, 1) == at(1, 20) == "One elm stands here."
    assert at(1, 22) == at(2, 5) == at(3, 1) == "Two oaks stand there."
    assert at(4, 1) == at(9, 9) == "Three firs fall."
    assert select_passage(draft, 2).passages[0].text == "Three firs fall."
    with pytest.raises(CitebedError, match="no passage 3"):
        select_passage(draft, 3)
