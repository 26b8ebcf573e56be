"""An author's .bib file: what is in it, the keys to type, and adding what is new."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from citebed.drafts import Entry
from citebed.drafts.bibliography import (
    append_new,
    bib_entries,
    bibliography_for,
    entry_to_cite,
    work_from_document,
)
from citebed.drafts.document_matching import Bibliography, Work
from citebed.errors import CitebedError
from citebed.records import Document

pybtex_database = pytest.importorskip("pybtex.database")

MINE = Bibliography(
    (
        Entry("oak", "Ash, Ann. Oak Trees of the North. 2001", "Oak Trees of the North",
              "10.5072/oak", year=2001),
        Entry("dev", "", "Deep Things of Old", arxiv="1810.04805", year=2019),
        Entry("ed", "Lee, Ann. Editorial. 2001", "Editorial", year=2001),
        Entry("notitle", ""),
    )
)  # fmt: skip
TITLE = "Oak Trees of the North"


@pytest.mark.parametrize(
    ("work", "key"),
    [
        (Work("Other", doi="10.5072/oak"), "oak"),
        (Work("Other", arxiv="1810.04805"), "dev"),
        (Work("OAK trees — of the North!", year=2001), "oak"),
        (Work(TITLE), "oak"),
        (Work(TITLE, year=2002), None),
        (Work(TITLE, year=2002, keys=("x", "oak")), "oak"),
        (Work("Elm Trees of the South", keys=("oak",)), None),
        (Work("Editorial", ("Lee, Ann",), 2001), "ed"),
        (Work("Editorial", ("Roe, Bob",), 2001), None),
        (Work("Editorial", ("Lee, Ann",), 2002), None),
        (Work(""), None),
    ],
)
def test_what_is_in_it(work: Work, key: str | None) -> None:
    entry = MINE.find(work)
    assert (entry and entry.key) == key


def test_a_key_is_given_once_whatever_its_case() -> None:
    mine = Bibliography([Entry("Oak", "")])
    assert [mine.take_key(key) for key in ("oak", "oak", "elm", "ELM")] == [
        "oak-2", "oak-3", "elm", "ELM-2",
    ]  # fmt: skip


def test_a_large_file_is_searched_as_a_small_one_is_read() -> None:
    """citebed parses only likely entries of many, and still finds the work."""
    titles = [f"{{T}}he {word} Num{{b}}er {n} of {word}s" for n in range(900) for word in
              ("Tree", "Forest", "Ocean")]  # fmt: skip
    ways = ("", ", doi={{10.5072/{}}}", ", eprint={{1810.{:05}}}, archiveprefix={{arXiv}}")
    text = "".join(
        f"@misc{{k{n}, title={{{title}}}, year={1900 + n % 90}{ways[n % 3].format(n)}}}\n"
        for n, title in enumerate(titles)
    )
    everything = list(bib_entries(text))
    works = [
        *(Work(e.title, year=e.year) for e in everything[::301]),
        *(Work("Nothing", doi=e.doi, arxiv=e.arxiv) for e in everything[1::301]),
        *(Work(e.title, keys=(e.key,)) for e in everything[2::301]),
        *(Work("No Such Tree at All", year=1900 + n) for n in range(5)),
    ]
    slow, quick = Bibliography(everything), bibliography_for(works, [text])
    assert [quick.find(work) for work in works] == [slow.find(work) for work in works]
    assert sum(quick.find(work) is not None for work in works) >= 20
    titled = [work for work in works if not (work.doi or work.arxiv or work.keys)]
    quick = bibliography_for(titled, [text])
    assert [quick.find(work) for work in titled] == [slow.find(work) for work in titled]
    assert quick.take_key("K2699") == "K2699-2", "the keys of all entries are taken"


# --- Entries ------------------------------------------------------------------------------------

GIVEN = """@InProceedings{10.5072/elm,
  author = {Chen, Chi and B{\\"o}hm, Bo}, title = "Elms in {F}orests \\& {Parks}",
  abstract = {Long {words}.}, file = {:a.pdf:PDF}, numpages = {3}, keywords = {elms},
  booktitle = {Proc. of
    Elms}, month = jan, year = 2005, url = {https://example.org/elm}, pages = {1--3}
}"""


def test_short_entries_have_the_fields_that_styles_print() -> None:
    document = Document(
        "10.5072/elm", "inproceedings", "Elms", doi="10.5072/elm", year=2005, bibtex=GIVEN
    )
    assert entry_to_cite(document, "chen2005elms") == (
        "@inproceedings{chen2005elms,\n"
        '  author = {Chen, Chi and B{\\"o}hm, Bo},\n'
        "  title = {Elms in {F}orests \\& {Parks}},\n"
        "  booktitle = {Proc. of Elms},\n"
        "  pages = {1--3},\n"
        "  year = {2005},\n"
        "  doi = {10.5072/elm},\n"
        "}"
    )
    full = entry_to_cite(document, "chen2005elms", full=True)
    assert full.startswith("@InProceedings{chen2005elms,\n  doi = {10.5072/elm},")
    assert all(name in full for name in ("abstract", "file", "numpages", "month = jan", "url"))


def test_an_entry_of_a_record_that_came_from_elsewhere() -> None:
    document = Document("17", "article", "Über 50% of Elms", ("Chen, Chi",), date="2005-01",
                        year=2005, venue="J. of Elms", url="https://example.org/elm",
                        arxiv=None, abstract="Long.", keywords=("elms",))  # fmt: skip
    short = entry_to_cite(document, "chen2005elms")
    assert short.startswith("@article{chen2005elms,\n  author = {Chen, Chi},\n  title = {Über 50")
    assert "url = {https://example.org/elm}" in short
    assert not any(name in short for name in ("abstract", "keywords", "month", "citebed-id"))
    ranged = document._replace(bibtex="@misc{a, title={A}, pages={422–446}}")
    assert "pages = {422--446}" in entry_to_cite(ranged, "a")
    full = entry_to_cite(document, "chen2005elms", full=True)
    assert "abstract = {Long.}" in full
    assert "keywords = {elms}" in full


@pytest.mark.parametrize(
    ("raw", "printed"),
    [
        ("Wiley &amp; Sons", r"Wiley \& Sons"),
        (r"A & B, 50% of \#1 and #2, \& more", r"A \& B, 50\% of \#1 and \#2, \& more"),
        ("Romance&gt;Memoir &#233;t&eacute; &x", r"Romance>Memoir été \&x"),
        (r"At \url{https://example.org/a%20b?c&d#e}", r"At \url{https://example.org/a%20b?c&d#e}"),
    ],
)
def test_latex_can_print_entries_of_publishers(raw: str, printed: str) -> None:
    given = f"@misc{{a, howpublished = {{{raw}}}, doi = {{10.5072/a_b&c}}}}"
    short = entry_to_cite(Document("a", "misc", "A", doi="10.5072/a_b&c", bibtex=given), "a")
    assert f"  howpublished = {{{printed}}},\n  doi = {{10.5072/a_b&c}},\n" in short


@pytest.mark.parametrize(
    ("doi", "written"),
    [
        ("10.5072/978-3_43", "10.5072/978-3_43"),
        ("10.5072/(sici)41:6<391::aid>3.0.co;2-9", "10.5072/(sici)41:6<391::aid>3.0.co;2-9"),
        ("10.5072/a%b", r"10.5072/a\%b"),
    ],
)
def test_a_doi_is_written_as_packages_link_it(doi: str, written: str) -> None:
    short = entry_to_cite(Document("a", "misc", "A", doi=doi), "a")
    assert f"  doi = {{{written}}},\n" in short
    assert next(iter(bib_entries(short))).doi == doi


# --- Adding -------------------------------------------------------------------------------------

OAK = Document("oak", "article", "Oak Trees of the North", ("Ash, Ann",), year=2001,
               venue="J. of Trees", doi="10.5072/oak", keys=("oak",))  # fmt: skip
ELM = Document("e", "article", "Elms — Größe und Güte", ("Chen, Chi",), year=2005)
BARE = Document("b", "misc", "Salt")
UNTITLED = Document("u", "misc", "", ("Doe, Jo",), year=2010)
NEW = [("oak", OAK), ("chen2005elms", ELM), ("salt", BARE), ("doe2010", UNTITLED)]
BEFORE = (
    '% mine\n@string{j = "Journal"}\n\n@article{ash, title={Oak trees of the north},\n year=2001}'
)


def read(path: Path) -> dict[str, str]:
    entries = pybtex_database.parse_file(str(path), bib_format="bibtex").entries
    return {key: entry.fields.get("title", "") for key, entry in entries.items()}


def test_what_is_new_is_added_once(tmp_path: Path) -> None:
    path = tmp_path / "refs.bib"
    path.write_text(BEFORE)
    assert append_new(path, NEW) == ("chen2005elms", "salt", "doe2010")
    text = path.read_text()
    assert text.startswith(BEFORE + "\n\n@article{chen2005elms,")
    assert text.endswith("}\n")
    assert list(read(path)) == ["ash", "chen2005elms", "salt", "doe2010"]
    assert read(path)["chen2005elms"] == "Elms — Größe und Güte"
    stamp = path.stat()
    assert append_new(path, NEW) == ()
    assert path.stat() == stamp, "nothing new, nothing written"
    assert append_new(path, [*NEW, *NEW], full=True) == ()


def test_a_file_that_is_not_there_is_made(tmp_path: Path) -> None:
    path = tmp_path / "new.bib"
    assert append_new(path, []) == ()
    assert not path.exists()
    assert append_new(path, NEW[:1]) == ("oak",)
    assert path.read_text().startswith("@article{oak,\n")
    work = work_from_document(OAK, "oak")
    assert bibliography_for([work], [path.read_text()]).find(work) is not None


def test_a_key_that_is_taken_by_another_work(tmp_path: Path) -> None:
    path = tmp_path / "refs.bib"
    path.write_text("@article{Oak, title={Something Else Entirely}, year=1999}\n")
    assert append_new(path, NEW[:1]) == ("oak-2",)
    assert append_new(path, NEW[:1]) == ()
    assert list(read(path)) == ["Oak", "oak-2"]


def test_works_that_are_the_same_are_added_once(tmp_path: Path) -> None:
    path = tmp_path / "refs.bib"
    twin = OAK._replace(doc_id="twin", doi=None, keys=("twin",))
    assert append_new(path, [("oak", OAK), ("twin", twin)]) == ("oak",)


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (BEFORE.replace("\n", "\r\n").encode(), "utf-8"),
        (f"% Ä\n{BEFORE}".encode("cp1252"), "cp1252"),
        (f"\ufeff% Ä\n{BEFORE}\n".encode("utf-16-le"), "utf-16-le"),
        (f"\ufeff{BEFORE}\n".encode(), "utf-8"),
    ],
)
def test_encoding_and_line_ends_stay(tmp_path: Path, data: bytes, encoding: str) -> None:
    path = tmp_path / "refs.bib"
    path.write_bytes(data)
    assert append_new(path, NEW[1:]) == ("chen2005elms", "salt", "doe2010")
    after = path.read_bytes()
    assert after.startswith(data)
    added = after[len(data) :].decode(encoding)
    assert "Größe" in added
    assert added.count("\r\n") == (added.count("\n") if b"\r\n" in data else 0)
    assert append_new(path, NEW[1:]) == ()
    assert path.read_bytes() == after


def test_what_cannot_be_added_leaves_the_file_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "refs.bib"
    for data, what in (
        (
            b"@article{a, title={Never closed,\n year=2001\n",
            r"refs\.bib:1: the last entry has no closing brace",
        ),
        ("% Ä".encode("cp1252"), "is not UTF-8"),
    ):
        path.write_bytes(data)
        document = OAK._replace(title="漢字 of the North")
        with pytest.raises(CitebedError, match=what):
            append_new(path, [("oak", document)])
        assert path.read_bytes() == data
    with pytest.raises(CitebedError, match=r"expected a BibTeX file with the suffix \.bib"):
        append_new(tmp_path / "paper.tex", NEW)
    (tmp_path / "folder.bib").mkdir()
    with pytest.raises(CitebedError, match="this is a folder"):
        append_new(tmp_path / "folder.bib", NEW)

    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("citebed.files.output_files._create_file", refuse)
    path.write_text(BEFORE)
    with pytest.raises(CitebedError, match=r"refs\.bib: .*read-only"):
        append_new(path, NEW)
    assert path.read_text() == BEFORE
    assert sorted(os.listdir(tmp_path)) == ["folder.bib", "refs.bib"]


def test_a_file_that_another_program_changes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "refs.bib"
    path.write_text(BEFORE)
    written = Path.write_bytes

    def write(draft: Path, data: bytes) -> int:
        path.write_text(f"{BEFORE}\n% changed")
        return written(draft, data)

    monkeypatch.setattr(Path, "write_bytes", write)
    assert append_new(path, NEW) == ("chen2005elms", "salt", "doe2010")
    text = path.read_text()
    assert text.startswith(f"{BEFORE}\n% changed")
    assert text.count("chen2005elms") == 1


def test_what_several_add_at_once_is_all_there(tmp_path: Path) -> None:
    path = tmp_path / "refs.bib"
    path.write_text(BEFORE)
    names = [f"k{number}" for number in range(15)]
    said: dict[str, tuple[str, ...]] = {}

    def add(name: str) -> None:
        document = Document(name, type="article", title=f"Trees called {name}", year=2001)
        said[name] = append_new(path, [(name, document)])

    threads = [threading.Thread(target=add, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said == {name: (name,) for name in names}
    text = path.read_text()
    assert text.startswith(BEFORE)
    assert all(text.count(f"{{{name},") == 1 for name in names)
