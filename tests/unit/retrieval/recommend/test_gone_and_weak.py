"""Documents that are gone from the collection, and matches too weak for a bibliography."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from tests.unit.web.workbench import workbench

from citebed.api import Workbench
from citebed.cli.app import main
from citebed.collection import forget_sources, import_sources, open_collection
from citebed.errors import CitebedError, UnknownName
from citebed.retrieval.ranking.confidence import UNLIKELY

TEXT = "Relevance based language models estimate feedback terms without training data."
KEY, DOI = "lavrenko2001relevance", "10.1145/383952.383972"
SKIPPED = "skipped 1 document that is in the index but no longer in the collection"


@pytest.fixture
def mine(demo_indexed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(demo_indexed, tmp_path / "mine"))


def keys(text: str) -> list[str]:
    return re.findall(r"^@\w+\{([^,]+),", text, re.MULTILINE)


# --- Gone ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [KEY, DOI, f"https://doi.org/{DOI}"])
def test_one_paper_is_forgotten_by_key_or_doi_and_stays_forgotten(mine: Path, name: str) -> None:
    before = open_collection(mine).documents.height
    report = forget_sources(mine, [name])
    assert report.forgotten_papers == [KEY]
    assert open_collection(mine).documents.height == before - 1
    import_sources(mine)
    left = open_collection(mine).documents
    assert left.height == before - 1
    assert KEY not in left["cite_key"]


def test_a_forgotten_paper_comes_back_when_it_is_taken_off_the_list(mine: Path) -> None:
    forget_sources(mine, [KEY])
    toml = mine / "citebed.toml"
    text = toml.read_text()
    assert f'forgotten = ["{DOI}"]' in text
    toml.write_text(text.replace(f'forgotten = ["{DOI}"]', ""))
    import_sources(mine)
    assert KEY in open_collection(mine).documents["cite_key"]


def test_all_records_of_a_paper_are_forgotten_and_no_other(tmp_path: Path) -> None:
    one = "@misc{a, title={On the oaks of the north}, author={Ash, A}, year=2001}\n"
    (tmp_path / "1.bib").write_text(one)
    (tmp_path / "2.bib").write_text(one.replace("{a,", "{b,") + one.replace("oaks", "elms"))
    import_sources(tmp_path / "c", [tmp_path / "1.bib", tmp_path / "2.bib"])
    assert open_collection(tmp_path / "c").documents["doc_id"].to_list() == ["a", "a-2"]
    with pytest.raises(CitebedError, match="shares its id with another paper"):
        forget_sources(tmp_path / "c", ["a-2"])
    (tmp_path / "2.bib").write_text(
        one.replace("{a,", "{b,") + one.replace("a, title={On the oaks", "c, title={On the elms")
    )
    import_sources(tmp_path / "c", [tmp_path / "2.bib"])
    forget_sources(tmp_path / "c", ["b"])
    assert open_collection(tmp_path / "c").documents["doc_id"].to_list() == ["c"]


def test_a_name_that_is_neither_source_nor_paper(mine: Path) -> None:
    with pytest.raises(UnknownName, match="No paper has this key"):
        forget_sources(mine, ["nosuch"])


def test_every_way_to_look_skips_what_is_gone(
    mine: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    forget_sources(mine, [KEY])
    opened = Workbench(mine)
    for warm in (False, True):
        found = opened.recommend(TEXT, 20, min_probability=0)
        assert found
        assert KEY not in {each.key for each in found}
        assert any(note.startswith(SKIPPED) for note in found.notes)
        if not warm:
            opened.library.recommender.prepare()
    judged = opened.recommend(TEXT, relevant=[DOI], nonrelevant=[KEY])
    assert sum("feedback ignored for unknown" in note for note in judged.notes) == 1
    assert KEY not in {row["key"] for row in opened.find("relevance based language models").rows}
    other = opened.find("language models").rows[0]["doc_id"]
    assert KEY not in {row["key"] for row in opened.similar(other, 50).rows}
    assert KEY not in {node["key"] for node in opened.map(TEXT).nodes}
    queries, run = tmp_path / "q.tsv", tmp_path / "a.run"
    queries.write_text(f"1\t{TEXT}\n")
    assert main(["search", str(mine), "--queries", str(queries), "-o", str(run)]) == 0
    assert SKIPPED in capsys.readouterr().err
    assert KEY not in run.read_text()
    with workbench(mine) as client:
        api = f"/api/collections/{mine.name}"
        asked = {"text": TEXT, "k": 20, "min_probability": 0}
        answer = client.post(f"{api}/recommend", json=asked).json()
        assert answer["rows"]
        assert KEY not in {row["key"] for row in answer["rows"]}
        assert any(note.startswith(SKIPPED) for note in answer["notes"])
        page = client.get(f"/c/{mine.name}/library", params={"words": "relevance"})
        assert (page.status_code, KEY in page.text) == (200, False)


# --- Weak ---------------------------------------------------------------------------------------


def test_the_threshold_holds_for_bibliographies_whatever_number_is_asked_for(
    mine: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ask = ["recommend", str(mine), TEXT]
    assert main([*ask, "-k", "30", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    strong = [row["key"] for row in rows if row["probability"] >= UNLIKELY]
    for number in (2, 30):
        wanted = strong[:number]
        assert main([*ask, "-k", str(number), "--bibtex"]) == 0
        told = capsys.readouterr()
        assert keys(told.out) == wanted
        path = tmp_path / f"{number}.bib"
        assert main([*ask, "-k", str(number), "--append", str(path)]) == 0
        assert keys(path.read_text()) == wanted
        weak = len(rows) - len(strong) if number == 30 else 0
        assert (f"{weak} unlikely matches left out" in told.err) == bool(weak)
    assert len(strong) < len(rows) == 30
    assert main([*ask, "-k", "30", "--min-probability", "0", "--bibtex"]) == 0
    assert len(keys(capsys.readouterr().out)) == 30


def test_what_the_bib_file_has_already_is_not_printed_again(
    mine: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "refs.bib").write_text(
        f"@misc{{Own, title={{Relevance Based Language Models}}, doi={{{DOI}}}}}\n"
    )
    draft = tmp_path / "draft.tex"
    draft.write_text(f"\\begin{{document}}\n{TEXT}\n\\bibliography{{refs}}\n\\end{{document}}\n")
    assert main(["recommend", str(mine), str(draft), "--bibtex"]) == 0
    told = capsys.readouterr()
    assert keys(told.out)
    assert not {"Own", KEY} & set(keys(told.out))
    assert DOI not in told.out
    assert "1 paper left out that your .bib already has" in told.err
