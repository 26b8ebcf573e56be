"""An author with a draft: every form of an answer, keys, places, a .bib file, and silence."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from lxml import html as lxml_html
from tests.commands import Run, indexed
from tests.office import csl_citation, field, marked, opendocument_file, paragraph, word_file
from tests.shared import Once

import citebed

pybtex_database = pytest.importorskip("pybtex.database")

# As authors have it: a library of their own, a publisher's export, references from Zotero.
LIBRARY = r"""@article{oak-mine, title={Oak Trees and Their Growth in Old Forests},
  author={Ash, Ann and B{\"o}hm, Bo}, year={2001}, journal={J. of Trees}, doi={10.5072/oak},
  abstract={Oaks grow in forests with other trees, and we show how.}, file={:oak.pdf:PDF}}
@misc{elm-mine, title={On the Elms of the City}, author={Chen, Chi}, year={2005},
  eprint={1810.04805}, archivePrefix={arXiv}}
"""
EXPORT = r"""@inproceedings{10.5072/salt, title={The Salt of the Sea and Its Use},
  author={Dow, Dee and Roe, Rob and Ray, Ron and Moe, Mia}, year={2010}, numpages={7},
  booktitle={Proceedings of the Conference on Salt}, doi={10.5072/salt}, publisher={ACM},
  abstract={Salt is taken from the sea by the sun.}, keywords={salt, sea}}
@article{10.5072/oak, title={Oak Trees and Their Growth in Old Forests}, year={2001},
  author={Ash, Ann and B{\"o}hm, Bo}, doi={10.5072/oak}, publisher={ACM}}
"""
ZOTERO = [
    {"id": "http://zotero.org/users/1/items/AB", "type": "article-journal", "DOI": "10.5072/whale",
     "citation-key": "moe2015whales", "title": "Whales of the northern sea and their songs",
     "author": [{"family": "Moe", "given": "Mia"}], "issued": {"date-parts": [[2015]]}},
    {"id": "2", "type": "article-journal", "title": "The songs of birds in the city",
     "author": [{"family": "Roe", "given": "Rob"}], "issued": {"date-parts": [[2016]]}},
]  # fmt: skip
PAPER = r"""\documentclass{article}
\newcommand{\trees}{old forests}
\begin{document}
\section{Introduction}
Much is known of cities. Elms grow in the city~\cite{elm-mine}, and
  oaks in \trees{} with other trees \cite{}.

\input{parts/sea}

\begin{figure}\caption{Oaks, elms and the salt of the sea.}\end{figure}
\bibliography{refs}
\end{document}
"""
SEA = """% the second part
Salt comes from the sea. Whales of the
  sea have songs~\\citep{}. \\emph{Birds} have songs in the city.
"""
REFS = """% my references, as they are
@string{me = "Me"}
@Article{elm-mine, title = {On the elms of the city}, year = 2005}

@article{Roe16, author = {Rob Roe}, title = {The {Songs} of Birds in the City}, year = 2016}
"""


@pytest.fixture
def run(command: Run, once: Once, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command line in the folder of the draft."""
    monkeypatch.setenv("COLUMNS", "100")
    library = {
        "in/library.bib": LIBRARY,
        "in/export.bib": EXPORT,
        "in/zotero.json": json.dumps(ZOTERO),
    }
    draft = {"paper.tex": PAPER, "parts/sea.tex": SEA, "refs.bib": REFS}
    indexed(once, "draft", {**library, **draft})
    return command


def answers(run: Run, *words: str) -> list[dict[str, Any]]:
    code, out, _ = run("recommend", "c", *words, "--json")
    assert code == 0
    rows: list[dict[str, Any]] = json.loads(out)
    return rows


PLACES = {
    ("oak-mine", "paper.tex", 5, 26, False),
    ("dow2010salt", "parts/sea.tex", 2, 1, False),
    ("moe2015whales", "parts/sea.tex", 2, 26, False),
    ("Roe16", "parts/sea.tex", 3, 34, True),
}


def test_rows_have_keys_and_places(run: Run) -> None:
    rows = answers(run, "paper.tex")
    names = ("key", "file", "line", "column", "in_bib")
    found = {tuple(row[name] for name in names) for row in rows}
    assert found >= PLACES
    assert {row["key"] for row in rows} == {"oak-mine", "dow2010salt", "moe2015whales", "Roe16"}
    (oak,) = [row for row in rows if row["key"] == "oak-mine" and row["file"] == "paper.tex"]
    assert oak["sentence"] == "Elms grow in the city, and oaks in old forests with other trees."
    assert oak["section"] == "Introduction"
    table = citebed.recommend("c", Path("paper.tex")).table
    assert table.select(names).rows() == [tuple(row[name] for name in names) for row in rows]


def _in_every_form() -> dict[str, bytes]:
    """A draft that asks for salt and cites the paper on oaks, in the forms that people write."""
    salt, oaks = "Salt is taken from the sea by the sun.", "Oaks grow in old forests with others "
    item = {"id": 1, "title": "Oak trees", "DOI": "10.5072/oak"}
    code = f"ZOTERO_ITEM CSL_CITATION {csl_citation(item)}"
    cells = [{"cell_type": "markdown", "source": f"{salt}\n\n{oaks}[@oak-mine]."}]
    return {
        "a.docx": word_file(paragraph(salt), paragraph(oaks, field(f"ADDIN {code}", "[1]"), ".")),
        "a.odt": opendocument_file(
            f"<text:p>{salt}</text:p><text:p>{oaks}{marked(code, '[1]')}.</text:p>"
        ),
        "a.ipynb": json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}).encode(),
        "a.qmd": f"{salt}\n\n{oaks}[@oak-mine].".encode(),
        "a.typ": f"{salt}\n\n{oaks}@oak-mine.".encode(),
        "a.rst": f"{salt}\n\n{oaks}:cite:`oak-mine`.".encode(),
    }


@pytest.mark.parametrize("name", sorted(_in_every_form()))
def test_the_forms_that_people_write(name: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(_in_every_form()[name])
    rows = answers(run, name)
    (salt,) = [row for row in rows if row["key"] == "dow2010salt" and row["passage"] == 1]
    file = f"{name}#cell-1" if name == "a.ipynb" else name
    assert (salt["file"], salt["line"], salt["column"]) == (file, 1, 1)
    assert "oak-mine" not in {row["key"] for row in rows}
    found = citebed.recommend("c", Path(name))
    assert found.table["doc_id"].to_list() == [row["doc_id"] for row in rows]
    assert len(found.left_out) == 1


def test_what_is_left_out_is_named_by_the_author_s_own_key(run: Run, tmp_path: Path) -> None:
    (tmp_path / "paper.tex").write_text(PAPER.replace(r"\cite{}", r"\cite{Roe16}"))
    _, _, err = run("recommend", "c", "paper.tex")
    assert err.endswith("left out 2 papers (already cited, or the draft itself): Roe16, elm-mine\n")


def test_the_answer_to_a_person(run: Run) -> None:
    code, out, err = run("recommend", "c", "paper.tex")
    assert code == 0
    assert "── Introduction · line 5: Much is known of cities." in out
    assert "── Introduction · parts/sea.tex:2: Salt comes" in out
    lines = [line.strip() for line in out.splitlines()]
    assert "cite as: oak-mine" in lines
    assert "cite as: Roe16 (in your .bib)" in lines
    assert "Dee Dow and 3 others · 2010 · Proceedings of the Conference on Salt" in out
    assert "Ann Ash, Bo Böhm · 2001 · J. of Trees" in out
    assert err.splitlines() == [
        "note: line 6: \\cite{} has no key yet",
        "note: parts/sea.tex:3: \\citep{} has no key yet",
        "note: skipped 1 caption (line 10)",
        "left out 1 paper (already cited, or the draft itself): elm-mine",
    ]


def test_lines_for_editors(run: Run) -> None:
    out = run("recommend", "c", "paper.tex", "--format", "lines")[1]
    lines = out.splitlines()
    assert all(
        re.fullmatch(r"[\w./]+:\d+:\d+: cite [\w-]+( \(in your \.bib\))?: .+", line)
        for line in lines
    )
    start = "parts/sea.tex:2:26: cite moe2015whales: Whales of the northern sea and their songs "
    (whales,) = [line for line in lines if line.startswith(start)]
    assert whales.startswith(f"{start}(Mia Moe, 2015); because of ")
    assert run("recommend", "c", "Whales have songs.", "--format", "lines")[1].startswith(
        "-:1:1: cite"
    )


def test_csv(run: Run) -> None:
    out = run("recommend", "c", "paper.tex", "--csv")[1]
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {(row["key"], row["file"], row["line"], row["column"]) for row in rows} >= {
        (key, file, str(line), str(column)) for key, file, line, column, _ in PLACES
    }
    assert {row["authors"] for row in rows} >= {"Ash, Ann; Böhm, Bo"}


def entries(text: str) -> dict[str, Any]:
    return dict(pybtex_database.parse_string(text, bib_format="bibtex").entries)


def test_bibtex_is_short_and_under_keys_to_type(run: Run) -> None:
    out = run("recommend", "c", "paper.tex", "--bibtex")[1]
    found = entries(out)
    assert set(found) == {"oak-mine", "dow2010salt", "moe2015whales"}, "Roe16 is in the .bib"
    assert set(found["dow2010salt"].fields) == {"title", "booktitle", "publisher", "year", "doi"}
    assert found["oak-mine"].fields["doi"] == "10.5072/oak"
    full = entries(run("recommend", "c", "paper.tex", "--bibtex", "--full")[1])
    assert set(full) == set(found)
    assert {"abstract", "numpages", "keywords"} <= set(full["dow2010salt"].fields)


def test_append_adds_what_is_new_and_nothing_the_second_time(run: Run, tmp_path: Path) -> None:
    code, out, err = run("recommend", "c", "paper.tex", "--append", "refs.bib")
    assert code == 0
    assert "cite as: dow2010salt\n" in out
    assert "added 3 entries to refs.bib: " in err
    path = tmp_path / "refs.bib"
    after = path.read_bytes()
    assert after.startswith(REFS.encode())
    assert set(entries(path.read_text())) == {
        "elm-mine", "Roe16", "oak-mine", "dow2010salt", "moe2015whales",
    }  # fmt: skip
    code, out, err = run("recommend", "c", "paper.tex", "--append", "refs.bib", "--json")
    assert code == 0
    assert "nothing new for refs.bib" in err
    assert path.read_bytes() == after
    rows = json.loads(out)
    assert {row["key"] for row in rows} == {"oak-mine", "dow2010salt", "moe2015whales", "Roe16"}
    assert all(row["in_bib"] for row in rows)


@pytest.mark.usefixtures("run")
def test_append_in_python(tmp_path: Path) -> None:
    found = citebed.recommend("c", "Salt comes from the sea.", 1)
    assert found.append_to(tmp_path / "new.bib") == ("dow2010salt",)
    assert found.append_to(tmp_path / "new.bib") == ()
    assert (tmp_path / "new.bib").read_text() == f"{found.bibtex()}\n"


def test_a_bib_file_that_the_draft_does_not_name(run: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("Birds have songs in the city.\n")
    (first, *_) = answers(run, "notes.md", "-k", "1")
    assert (first["key"], first["in_bib"]) == ("roe2016songs", False)
    (first, *_) = answers(run, "notes.md", "-k", "1", "--bib", "refs.bib")
    assert (first["key"], first["in_bib"]) == ("Roe16", True)
    (tmp_path / "front.md").write_text("---\nbibliography: refs.bib\n---\nBirds in the city.\n")
    (first, *_) = answers(run, "front.md", "-k", "1")
    assert (first["key"], first["in_bib"], first["line"]) == ("Roe16", True, 4)
    code, _, err = run("recommend", "c", "notes.md", "--bib", "gone.bib")
    assert code == 1
    assert "gone.bib: no such file" in err


TWINS = "".join(
    f"@misc{{10.5072/{n}, title={{Unbiased {what} of Clicks and Ranks}}, year=2018,"
    f" author={{Ai, Ann}}, doi={{10.5072/{n}}}}}\n"
    for n, what in enumerate(("Learning", "Estimation", "Modelling"), 1)
)


@pytest.fixture
def twins(tmp_path: Path) -> citebed.Workbench:
    """Three papers of one author and year, whose titles begin alike."""
    (tmp_path / "twins.bib").write_text(TWINS)
    mine = citebed.create(tmp_path / "twins", tmp_path / "twins.bib")
    mine.index(quiet=True)
    return mine


def test_a_key_means_one_paper_in_every_answer(twins: citebed.Workbench) -> None:
    texts = [
        f"We look at unbiased {what} here." for what in ("learning", "estimation", "modelling")
    ]
    keys = [
        {each.doc_id: each.key for each in twins.recommend(text, min_probability=0)}
        for text in texts
    ]
    assert keys[0] == keys[1] == keys[2]
    assert len(set(keys[0].values())) == 3


def test_a_key_that_was_suggested_is_cited_in_the_next_run(twins: citebed.Workbench) -> None:
    text = "We look at unbiased estimation of clicks here{}."
    (first, *_) = twins.recommend(text.format(""), min_probability=0)
    assert (first.doc_id, first.key) == ("10.5072/2", "ai2018unbiased-2")
    again = twins.recommend(text.format(rf" \cite{{{first.key}}}"), min_probability=0)
    assert again.left_out == {first.doc_id}
    assert first.doc_id not in [each.doc_id for each in again]


@pytest.mark.parametrize("form", ["bib", "list"])
def test_a_key_that_the_draft_has_for_something_else(
    twins: citebed.Workbench, tmp_path: Path, form: str
) -> None:
    """Neither that key is suggested, nor one that means a third paper of the collection."""
    entry = "@misc{ai2018unbiased, title={A Tale of Whales at Sea}}"
    (tmp_path / "refs.bib").write_text(entry)
    listed = r"\begin{thebibliography}{9}\bibitem{ai2018unbiased} Ai. A Tale of Whales at Sea."
    tail = r"\bibliography{refs}" if form == "bib" else rf"{listed}\end{{thebibliography}}"
    (tmp_path / "d.tex").write_text(
        r"\documentclass{article}\begin{document}We look at unbiased learning and estimation of "
        rf"clicks, as in a tale \cite{{ai2018unbiased}}.{tail}\end{{document}}"
    )
    found = twins.recommend(tmp_path / "d.tex", 3, min_probability=0)
    assert {each.doc_id: each.key for each in found} == {
        "10.5072/1": "ai2018unbiased-4",
        "10.5072/2": "ai2018unbiased-2",
        "10.5072/3": "ai2018unbiased-3",
    }
    assert [note for note in found.notes if "uses ai2018unbiased for another paper" in note]


TALKS = "".join(
    f"@inproceedings{{10.5072/t{n}, title={{{title}}}, author={{{who}}}, year={2015 + n},"
    f" booktitle={{Conference {n}}}, doi={{10.5072/t{n}}}}}\n"
    for n, (title, who) in enumerate(
        [
            ("Neural Nets for Whale Songs", "Moe, Mia and Roe, Rob"),
            ("Neural Nets for Whale Songs (Tutorial)", "Moe, Mia"),
            ("Neural nets for whale songs", "Ash, Ann"),
            ("Whale Songs of the North", "Moe, Mia"),
            ("Whale Songs of the South", "Moe, Mia"),
            ("Nets for Whale Watching", "Lee, Lea"),
        ]
    )
)


@pytest.fixture
def talks(tmp_path: Path) -> citebed.Workbench:
    """A tutorial that was given twice, a namesake of it, and other papers."""
    (tmp_path / "talks.bib").write_text(TALKS)
    mine = citebed.create(tmp_path / "talks", tmp_path / "talks.bib")
    mine.index(quiet=True)
    return mine


def test_what_appeared_twice_is_one_answer(talks: citebed.Workbench) -> None:
    found = talks.recommend("Neural nets for whale songs are trained.", 5, min_probability=0)
    assert [each.rank for each in found] == [1, 2, 3, 4, 5]
    assert {"10.5072/t0", "10.5072/t1"} - {each.doc_id for each in found} != set()
    (tutorial,) = [each for each in found if each.reprints]
    places = ("2015, Conference 0, 10.5072/t0", "2016, Conference 1, 10.5072/t1")
    assert tutorial.reprints == (places[tutorial.doc_id == "10.5072/t0"],)
    assert "10.5072/t2" in {each.doc_id for each in found}, "a work of somebody else"
    assert tutorial.link == f"https://doi.org/{tutorial.doc_id}"


def test_each_of_several_passages_gets_three(talks: citebed.Workbench, tmp_path: Path) -> None:
    (tmp_path / "d.md").write_text("Neural nets hear whale songs.\n\nWhale songs are of the sea.")
    many = talks.recommend(tmp_path / "d.md")
    assert [len(many.of(passage)) for passage in many.passages] == [3, 3]
    assert len(talks.recommend("Neural nets hear whale songs.")) > 3
    asked = talks.recommend(tmp_path / "d.md", 4)
    assert [len(asked.of(passage)) for passage in asked.passages] == [4, 4]


def test_what_wants_a_citation_is_answered_first(talks: citebed.Workbench, tmp_path: Path) -> None:
    (tmp_path / "d.md").write_text("Nets watch whales.\n\nWhale songs are old. The south has [?].")
    found = talks.recommend(tmp_path / "d.md", 1, min_probability=0)
    assert [(each.text, each.line) for each in found.passages] == [
        ("The south has.", 3), ("Nets watch whales.", 1), ("Whale songs are old.", 3),
    ]  # fmt: skip
    assert [each.doc_id for each in found][:2] == ["10.5072/t4", "10.5072/t5"]
    assert [each.passage for each in found] == [1, 2, 3]


def test_a_draft_s_answers_begin_with_a_summary(run: Run) -> None:
    out = run("recommend", "c", "paper.tex")[1]
    assert out.splitlines()[0] == (
        "5 passages, 4 with 4 papers, 1 of them in your .bib; "
        "first, 2 sentences with a citation placeholder; 1 without recommendations"
    )
    assert out.splitlines()[2].startswith(
        "── Introduction · line 5 · citation placeholder: Elms grow in the city"
    )
    assert not run("recommend", "c", "Whales have songs.")[1].startswith("1 passage")


def test_a_page_of_answers(run: Run, tmp_path: Path) -> None:
    code, out, err = run("recommend", "c", "paper.tex", "--html", "answers.html")
    assert code == 0
    assert out.startswith("answers.html: 5 passages, 4 with 4 papers")
    assert "note: skipped 1 caption (line 10)" in err
    page: Any = lxml_html.fromstring((tmp_path / "answers.html").read_text("utf-8"))
    assert page.findtext(".//h1/bdi") == "What paper.tex should cite"
    heads = [head.text_content() for head in page.iter("h3")]
    rows = answers(run, "paper.tex")
    assert len(heads) == len({row["passage"] for row in rows}) == 4
    assert heads[0] == "Introduction · line 5 · citation placeholder"
    items = page.xpath("//div[@class='citebed-answers']//li")
    assert [item.find(".//p[@class='title']").text_content() for item in items] == [
        row["title"] for row in rows
    ]
    links = {link.get("href") for link in page.xpath("//div[@class='citebed-answers']//a")}
    assert links == {row["link"] for row in rows if row["link"]}
    assert "https://doi.org/10.5072/oak" in links
    jumps = {link.get("href") for link in page.xpath("//section[@id='passages']//a")}
    assert jumps == {f"#{head.get('id')}" for head in page.iter("h3")}


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--html", "paper.tex"), "is also an input file"),
        (("--html", "gone/answers.html"), "does not exist. Create it first"),
        (("--html", "answers.txt"), "Name a file that ends in .html"),
        (("--html", "answers.html", "--json"), "cannot be combined with another output format"),
    ],
)
def test_where_a_page_cannot_go(run: Run, arguments: tuple[str, ...], what: str) -> None:
    code, _, err = run("recommend", "c", "paper.tex", *arguments)
    assert code == 1
    assert what in err


@pytest.mark.parametrize("named", ["(Lee, 2020)", "Lee (2020)"])
def test_what_is_cited_by_author_and_year_is_left_out(talks: citebed.Workbench, named: str) -> None:
    text = f"Nets are for whale watching, as in {named}."
    found = talks.recommend(text, min_probability=0)
    assert found.left_out == {"10.5072/t5"}
    assert "10.5072/t5" not in {each.doc_id for each in found}
    assert "10.5072/t5" in {each.doc_id for each in talks.recommend(text, keep_cited=True)}


def test_a_name_and_year_of_two_papers_is_left_out_where_it_is_cited(tmp_path: Path) -> None:
    (tmp_path / "two.bib").write_text(TALKS.replace("year=2019", "year=2018"))
    mine = citebed.create(tmp_path / "two", tmp_path / "two.bib")
    mine.index(quiet=True)
    both = {"10.5072/t3", "10.5072/t4"}
    (tmp_path / "d.md").write_text("Whale songs are old (Moe, 2018).\n\nWhale songs are known.")
    found = mine.recommend(tmp_path / "d.md", 9, min_probability=0)
    here, there = ({each.doc_id for each in found.of(passage)} for passage in found.passages)
    assert (here & both, there & both, found.left_out) == (set(), both, frozenset())


@pytest.mark.parametrize(
    "cited",
    [
        r"\cite{moe2015whales}",
        r"as in \url{https://arxiv.org/abs/1810.04805v2}",
        r"arXiv:1810.04805",
        r"\cite{e}. \begin{thebibliography}{1}\bibitem{e} arXiv:1810.04805\end{thebibliography}",
    ],
)
def test_what_is_cited_by_a_key_of_zotero_or_an_arxiv_id(
    run: Run, tmp_path: Path, cited: str
) -> None:
    text = f"Whales have songs, and elms are in the city, {cited}."
    (tmp_path / "cited.tex").write_text(text)
    keys = {row["key"] for row in answers(run, "cited.tex")}
    everything = {row["key"] for row in answers(run, "cited.tex", "--keep-cited")}
    missing = "moe2015whales" if "whales}" in cited else "elm-mine"
    assert everything - keys == {missing}


def test_an_entry_with_an_eprint_is_the_same_paper(run: Run, tmp_path: Path) -> None:
    bib = "@misc{c05, title={Elms}, eprint={1810.04805v3}, eprinttype={arxiv}}"
    (tmp_path / "other.bib").write_text(bib)
    (tmp_path / "cited.tex").write_text(r"Elms are in the city \cite{c05}. \bibliography{other}")
    assert "elm-mine" not in {row["key"] for row in answers(run, "cited.tex")}
    (tmp_path / "cited.tex").write_text(r"Elms are in the city. \bibliography{other}")
    (first, *_) = answers(run, "cited.tex")
    assert (first["doc_id"], first["key"], first["in_bib"]) == ("elm-mine", "c05", True)


# --- Silence ------------------------------------------------------------------------------------

SILENT = {
    "caption.tex": r"\begin{figure}\caption{Oaks and elms in the forests of the city.}\end{figure}",
    "table.md": "Table: Oaks and elms in the forests of the city.\n",
    "figure.txt": "Figure 2. Oaks and elms in the forests of the city.\n",
    "image.md": "![Oaks and elms in the forests of the city.](oaks.png)\n",
    "list.tex": r"\begin{itemize}\item old forests\item salt of the sea;\item whales\end{itemize}",
    "heading.md": "## Oaks in forests\n\n**Elms in the city**\n",
    "heading.txt": "Oaks in old forests\n",
    "keywords.md": "Keywords: oaks, elms, forests, the city, salt, the sea.\n",
    "thanks.tex": r"\section*{Acknowledgements} We thank the city for its elms and its forests.",
    "german.tex": "Die Eichen wachsen in den Wäldern, und das Salz kommt aus der Stadt.",
    "polish.txt": "Dęby rosną w starych lasach, wiązy zaś w mieście, co opisano już dawniej.",
    "chinese.md": "橡树生长在古老的森林中，榆树生长在城市里，这在许多研究中都有描述。\n",
}  # fmt: skip


def test_drafts_that_ask_for_nothing_get_no_answer(run: Run, tmp_path: Path) -> None:
    for name, text in SILENT.items():
        (tmp_path / name).write_text(text)
        code, out, err = run("recommend", "c", name, "--json")
        assert (code, json.loads(out)) == (0, []), name
        assert re.search(r"^note: skipped \d ", err, re.MULTILINE), name
    for form in ("text", "lines", "bibtex"):
        assert run("recommend", "c", "caption.tex", "--format", form)[:2] == (0, "")


def test_english_prose_is_answered_whatever_its_words(run: Run, tmp_path: Path) -> None:
    for text in (
        "As a baseline, a forest has a tree as a feature, as do a city and a sea.",
        "Oaks, elms, whales, birds, salt, forests, trees.",
        "Do as a Roman: no song, no city, a sea as a city.",
        "We follow Da Silva e Costa, Dos Santos, De la Cruz and Van de Berg on the songs of birds.",
    ):
        (tmp_path / "prose.txt").write_text(text)
        assert answers(run, "prose.txt"), text


def test_what_is_typed_is_meant(run: Run) -> None:
    for text in ("oaks", "Keywords: oaks, elms", "The oaks of the city", "Oaks."):
        assert answers(run, text), text


def test_words_that_hold_a_sentence_together_are_not_reason(run: Run) -> None:
    rows = answers(run, "We say how they have been, and which of these were oaks with others.")
    assert [row["key"] for row in rows] == ["oak-mine"], "not those that only have 'and its'"
    assert rows[0]["terms"] == ["oaks"]


# --- Files that are not drafts -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["refs.bib", "in/zotero.json", "in/export.bib"])
def test_records_are_not_a_draft(run: Run, name: str) -> None:
    code, out, err = run("recommend", "c", name)
    assert (code, out) == (1, "")
    assert f"{name}: this is a bibliography" in err
    assert f"citebed import COLLECTION {name}" in err
    assert (f"--bib {name}" in err) == name.endswith(".bib")


def test_records_from_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(REFS.encode())))
    code, _, err = run("recommend", "c", "-")
    assert code == 1
    assert "standard input: this is a bibliography (BibTeX" in err


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["oaks", "--format", "xml"], "unknown output format 'xml'"),
        (["oaks", "--format", "lines", "--csv"], "--csv and --format lines were given"),
        (["oaks", "--full"], "--full is for BibTeX"),
        (["oaks", "--append", "paper.tex"], "expected a BibTeX file"),
        (["oaks", "--append", "parts"], "expected a BibTeX file"),
        (["oaks", "--append", "typo/x.bib"], "there is no folder 'typo'. Create it"),
        (["oaks", "--append", "/proc/x.bib"], "cannot write /proc/x.bib"),
        (["gone.bib"], "there is no file 'gone.bib'"),
    ],
)
def test_recommend_refuses(run: Run, arguments: list[str], what: str) -> None:
    code, out, err = run("recommend", "c", *arguments)
    assert (code, out) == (1, "")
    assert what in err
