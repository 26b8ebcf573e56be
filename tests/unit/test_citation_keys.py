"""One citation key per document: every command, page, export and API gives the same one."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from tests.unit.web.workbench import workbench

import citebed
from citebed.api import Workbench
from citebed.cli.app import main
from citebed.collection import ImportOptions, import_sources
from citebed.collection.exporting import export
from citebed.retrieval.recommend.citation_keys import citation_items, format_citations

TEXT = "Places of memory crystallise where national memory takes refuge."
ABSTRACT = "Places of memory are sites where memory crystallises and national memory takes refuge."
TITLE = "Les lieux de mémoire: places of national memory"
RIS = f"TY  - BOOK\nAU  - Nora, Pierre\nTI  - {TITLE}\nPY  - 1984\nAB  - {ABSTRACT}\nER  - \n"
RIS_WITH_ID = RIS.replace("ER  -", "ID  - fromris\nER  -")


def bib(key: str, more: str = "") -> str:
    return (
        f"@book{{{key},\n  author = {{Nora, Pierre}},\n  title = {{{TITLE}}},\n"
        f"  year = {{1984}},\n  abstract = {{{ABSTRACT}}},{more}\n}}\n"
    )


OTHERS = "".join(
    f"@article{{other{n}, title={{Subject number {n} of the economy}}, year={{20{n}}},"
    f" author={{Maker, Ann}}, abstract={{We look at the economy of the year 20{n}.}}}}\n"
    for n in range(10, 16)
)
Step = tuple[str, str]
CASES: dict[str, tuple[list[Step], str]] = {
    "no source has a key": ([("a.ris", RIS)], "nora1984les"),
    "the key of a RIS file": ([("a.ris", RIS_WITH_ID)], "fromris"),
    "a .bib file after a RIS file": ([("a.ris", RIS_WITH_ID), ("z.bib", bib("mine"))], "mine"),
    "a RIS file after a .bib file": ([("z.bib", bib("mine")), ("a.ris", RIS_WITH_ID)], "mine"),
    "a .bib file after a generated key": ([("a.ris", RIS), ("z.bib", bib("mine"))], "mine"),
    "a key renamed in the .bib": ([("z.bib", bib("old")), ("z.bib", bib("new"))], "new"),
    "renamed beside a RIS file": (
        [("a.ris", RIS_WITH_ID), ("z.bib", bib("old")), ("z.bib", bib("new"))], "new",
    ),
    "a second .bib with another key": ([("z.bib", bib("mine")), ("a.bib", bib("hers"))], "mine"),
    "a DOI is no key": (
        [("z.bib", bib("10.5072/nora", "\n  doi = {10.5072/nora}"))], "nora1984les",
    ),
    "a key with signs": ([("z.bib", bib("o'nora:(1984)+x"))], "o'nora:(1984)+x"),
    "a key in ids": ([("z.bib", bib("mine", "\n  ids = {old}"))], "mine"),
}  # fmt: skip


def keys_in_bibtex(text: str) -> list[str]:
    """The keys of entries that have the title, read without our reader."""
    found = re.findall(r"@\w+\{([^,\s]+),([^@]*)", text)
    return [key for key, rest in found if "lieux" in rest]


def from_command(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 0
    return capsys.readouterr().out


def everywhere(mine: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, list[str]]:
    """The keys that each interface gives the document."""
    found: dict[str, list[str]] = {}
    ask = ["recommend", str(mine), TEXT, "-k", "1", "--min-probability", "0"]
    found["recommend --json"] = [json.loads(from_command(capsys, *ask, "--json"))[0]["key"]]
    found["recommend"] = re.findall(r"cite as: (\S+)", from_command(capsys, *ask))
    found["recommend --bibtex"] = keys_in_bibtex(from_command(capsys, *ask, "--bibtex"))
    full = from_command(capsys, *ask, "--bibtex", "--full")
    found["recommend --bibtex --full"] = keys_in_bibtex(full)
    from_command(capsys, *ask, "--append", str(mine.parent / "append.bib"))
    found["recommend --append"] = keys_in_bibtex((mine.parent / "append.bib").read_text())
    rows = json.loads(from_command(capsys, "find", str(mine), "lieux", "--json"))
    found["find"] = [row["key"] for row in rows]
    opened = Workbench(mine)
    doc_id = rows[0]["doc_id"]
    found["Python recommend"] = [opened.recommend(TEXT, 1, min_probability=0)[0].key]
    about = opened.about(doc_id)
    found["about"] = [about.key, *keys_in_bibtex(about.bibtex)]
    found["map"] = [n["key"] for n in opened.map([doc_id]).nodes if n["doc_id"] == doc_id]
    found["documents"] = opened.documents.filter(doc_id=doc_id)["cite_key"].to_list()
    cites = citation_items(opened, [doc_id])
    found["basket bibtex"] = keys_in_bibtex(format_citations("bibtex", cites))
    found["basket ris"] = re.findall(r"ID  - (\S+)", format_citations("ris", cites))
    found["basket csl"] = [item["id"] for item in json.loads(format_citations("csl-json", cites))]
    found["basket keys"] = re.findall(r"\\cite\{([^}]*)\}", format_citations("keys", cites))
    return found | exported(opened, mine.parent) | served(mine, doc_id)


def exported(opened: Workbench, folder: Path) -> dict[str, list[str]]:
    out = {form: folder / f"out-{form}" for form in ("bibtex", "ris", "csl-json", "csv", "jsonl")}
    for form, path in out.items():
        export(opened, form, path)
    items = json.loads(out["csl-json"].read_text())
    lines = map(json.loads, (out["jsonl"] / "documents.jsonl").read_text().splitlines())
    with (out["csv"] / "documents.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    records = out["ris"].read_text().split("ER  -")
    return {
        "export bibtex": keys_in_bibtex(out["bibtex"].read_text()),
        "export ris": [
            key for each in records if "lieux" in each for key in re.findall(r"ID  - (\S+)", each)
        ],
        "export csl-json": [
            item[name]
            for item in items
            if "lieux" in item["title"]
            for name in ("id", "citation-key")
        ],
        "export jsonl": [line["cite_key"] for line in lines if "lieux" in line["title"]],
        "export csv": [row["cite_key"] for row in table if "lieux" in row["title"]],
    }  # fmt: skip


def served(mine: Path, doc_id: str) -> dict[str, list[str]]:
    with workbench(mine) as client:
        api = f"/api/collections/{mine.name}"
        one = client.get(f"{api}/document", params={"doc": doc_id}).json()
        answer = client.post(f"{api}/recommend", json={"text": TEXT, "min_probability": 0}).json()[
            "rows"
        ]
        rows = client.get(f"{api}/find", params={"words": "lieux"}).json()["rows"]
        page = client.get(f"/c/{mine.name}/document", params={"doc": doc_id}).text
    return {
        "API document": [one["document"]["key"], *keys_in_bibtex(one["bibtex"])],
        "API recommend": [row["key"] for row in answer if row["doc_id"] == doc_id],
        "API find": [row["key"] for row in rows],
        "page": keys_in_bibtex(page.replace("&#39;", "'")),
    }


def collection_of(folder: Path, steps: list[Step], shard_size: int | None) -> Path:
    (folder / "in").mkdir()
    (folder / "in" / "others.bib").write_text(OTHERS)
    options = ImportOptions(shard_size=shard_size)
    for name, text in [("others.bib", OTHERS), *steps]:
        path = folder / "in" / name
        path.write_text(text)
        import_sources(folder / "mine", [path], options)
    citebed.build_index(str(folder / "mine"))
    return folder / "mine"


IN_SHARDS = ("no source has a key", "a .bib file after a RIS file", "renamed beside a RIS file")


@pytest.mark.parametrize(
    ("case", "shard_size"), [(each, None) for each in CASES] + [(each, 3) for each in IN_SHARDS]
)
def test_one_key_everywhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], case: str, shard_size: int | None
) -> None:
    steps, key = CASES[case]
    mine = collection_of(tmp_path, steps, shard_size)
    found = everywhere(mine, capsys)
    assert {name: set(keys) for name, keys in found.items()} == {name: {key} for name in found}


@pytest.mark.parametrize("form", ["bibtex", "ris", "csl-json", "jsonl", "csv"])
def test_an_export_that_is_imported_has_the_same_keys_and_ids(tmp_path: Path, form: str) -> None:
    steps, _ = CASES["a .bib file after a RIS file"]
    first = citebed.open(str(collection_of(tmp_path, steps, None)))
    endings = {"bibtex": ".bib", "ris": ".ris", "csl-json": ".json"}
    out = tmp_path / f"out{endings.get(form, '')}"
    export(first, form, out)
    source = out / "documents.csv" if form == "csv" else out
    import_sources(tmp_path / "again", [source])
    names = ("doc_id", "cite_key")
    read: Callable[[Path], list[tuple[str, ...]]] = lambda folder: sorted(  # noqa: E731
        pl.read_parquet(folder / "documents.parquet").select(names).iter_rows()
    )
    assert read(tmp_path / "again") == read(tmp_path / "mine")
