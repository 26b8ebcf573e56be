"""An import into a collection looks only at the records it can change, and gives the same tables as
one that looks at all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from citebed.collection import Rules, import_sources, open_collection
from citebed.collection.building import assembling, known_records
from citebed.collection.importing import ImportOptions, forget_sources
from citebed.collection.storing import table_files
from citebed.collection.storing.table_files import StoredTable, read_table, write_changed
from citebed.collection.tables import DOCUMENTS, TABLES, empty_table
from citebed.files.parquet import read_footer

MANY = 300


def entry(key: str, title: str, **fields: str) -> str:
    values = {"title": title, "author": "Doe, Jane", "year": "2001", **fields}
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in values.items() if value)
    return f"@article{{{key},\n{lines}}}\n"


LIBRARY = "".join(
    entry(f"k{n}", f"Paper number {n} of a library", doi=f"10.1234/{n}") for n in range(MANY)
)
PAPER = """<doc><id>p1</id><year>2005</year><title>Citing</title><contexts>
<context id="01" section="introduction"><s cites="1,2">Both [1] and [2].</s></context></contexts>
<references><reference id="1">10.1234/7</reference>
<reference id="2">10.1234/new</reference></references>
</doc>"""

Step = Callable[[Path], object]


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[int]]:
    """Take the same steps in two collections, and compare all tables after each step.

    One collection reads all records at every step. Return how many records the other one read."""
    looked: list[int] = []
    decide = assembling.decide

    def counted(*arguments: object, **options: object) -> object:
        decided = decide(*arguments, **options)  # type: ignore[arg-type]
        looked.append(decided.table.height)
        return decided

    def take(*every: Step) -> list[int]:
        quick, slow = tmp_path / "quick", tmp_path / "slow"
        counts = []
        for step in every:
            looked.clear()
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(known_records, "decide", counted)
                step(quick)
            counts.append(sum(looked))
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("citebed.collection.importing.read_known_records", lambda *_: None)
                step(slow)
            assert_equal(quick, slow)
        return counts

    monkeypatch.setattr(table_files, "ROW_GROUP", 40)
    monkeypatch.setitem(table_files._PACKED, "row_group_size", 40)
    return take


def assert_equal(one: Path, other: Path) -> None:
    for name, schema in TABLES.items():
        mine, theirs = (read_table(folder, name, schema) for folder in (one, other))
        assert mine.equals(theirs), f"{name}: {mine} and {theirs}"
    sets = [open_collection(folder).query_sets for folder in (one, other)]
    assert sets[0] == sets[1]
    for name in sets[0]:
        for place in (f"queries/{name}.jsonl", f"qrels/{name}.qrels"):
            assert (one / place).is_file() == (other / place).is_file()
            if (one / place).is_file():
                assert (one / place).read_bytes() == (other / place).read_bytes()


def bib(path: Path, text: str) -> Step:
    """Write a file, and import it."""

    def step(collection: Path) -> object:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return import_sources(collection, [path])

    return step


def forget(name: str) -> Step:
    return lambda collection: forget_sources(collection, [name])


def test_new_papers_leave_the_others_alone(steps: Callable[..., list[int]], tmp_path: Path) -> None:
    first = bib(tmp_path / "m.bib", LIBRARY)
    in_front = bib(tmp_path / "a.bib", entry("a", "Something else altogether"))
    behind = bib(tmp_path / "z.bib", entry("z", "Yet another thing", author="Roe, Ann"))
    assert steps(first, in_front, behind, behind, forget("a.bib"))[1:] == [1, 1, 0, 0]
    sizes = StoredTable(tmp_path / "quick" / "documents.parquet", "documents").sizes
    assert sum(sizes) == MANY + 1
    assert max(sizes) <= 40
    assert len(sizes) <= MANY // 40 + 2


def test_a_record_that_belongs_to_an_earlier_one_is_merged_with_it_and_taken_out_again(
    steps: Callable[..., list[int]], tmp_path: Path
) -> None:
    same = entry("other", "Paper number 7 of a library", doi="10.1234/7", abstract="More.")
    by_title = entry("k", "Paper Number 9 of a Library", author="Doe, J.")
    counts = steps(
        bib(tmp_path / "m.bib", LIBRARY),
        bib(tmp_path / "n.bib", same + by_title),
        bib(tmp_path / "n.bib", same),
        forget("n.bib"),
    )
    assert max(counts[1:]) <= 8
    assert read_table(tmp_path / "quick", "documents", DOCUMENTS).height == MANY


def test_records_of_one_arxiv_id_are_one_document(
    steps: Callable[..., list[int]], tmp_path: Path
) -> None:
    preprint = entry("p", "As it was called first", eprint="2001.12345", eprinttype="arxiv")
    final = entry("f", "Its title in the journal", eprint="2001.12345", eprinttype="arxiv")
    counts = steps(bib(tmp_path / "m.bib", LIBRARY + preprint), bib(tmp_path / "n.bib", final))
    assert counts[1] == 2
    assert read_table(tmp_path / "quick", "documents", DOCUMENTS).height == MANY + 1


def test_two_works_of_one_title_and_year_keep_their_keys(
    steps: Callable[..., list[int]], tmp_path: Path
) -> None:
    first = entry("same", "The same words in a title", author="Roe, Ann")
    second = entry("same", "The same words in a title", author="Poe, Bob")
    third = entry("third", "The same words in a title", author="Coe, Cy")
    steps(
        bib(tmp_path / "a.bib", LIBRARY + first),
        bib(tmp_path / "b.bib", second),
        bib(tmp_path / "c.bib", third),
        forget("a.bib"),
        forget("b.bib"),
    )


def test_ids_and_keys_that_several_want_are_given_out_as_ever(
    steps: Callable[..., list[int]], tmp_path: Path
) -> None:
    twice = entry("k5", "Not the paper with this key") + entry("K6", "Nor this one")
    once_more = entry("k5-2", "A key with a number") + entry("doe2001paper", "A made key")
    ris = "TY  - JOUR\nTI  - Paper without a key\nAU  - Doe, Jane\nPY  - 2001\nER  - \n"
    steps(
        bib(tmp_path / "m.bib", LIBRARY),
        bib(tmp_path / "a.bib", twice),
        bib(tmp_path / "b.bib", once_more),
        bib(tmp_path / "c.ris", ris),
        bib(tmp_path / "d.bib", entry("mine", "Paper without a key")),
        bib(tmp_path / "d.bib", entry("renamed", "Paper without a key")),
        forget("a.bib"),
        forget("m.bib"),
    )


def test_what_a_crossref_lends_may_join_records(
    steps: Callable[..., list[int]], tmp_path: Path
) -> None:
    child = (
        "@inproceedings{child, title={Short}, author={Doe, Jane}, crossref={Book7}}\n"
        + "@inproceedings{other, title={A longer title here}, crossref={nowhere}}\n"
    )
    parent = "@proceedings{book7, title={Proceedings of Books}, year={2001}}\n"
    steps(
        bib(tmp_path / "m.bib", LIBRARY + entry("s", "Short", booktitle="Proceedings of Books")),
        bib(tmp_path / "c.bib", child),
        bib(tmp_path / "p.bib", parent),
        bib(tmp_path / "q.bib", "@proceedings{nowhere, title={Found}, year={1999}}\n"),
        bib(tmp_path / "c.bib", child.replace("Short", "Shorter")),
        forget("p.bib"),
    )


def test_citations_are_looked_up_again_if_a_document_that_they_name_changes(
    steps: Callable[..., list[int]], tmp_path: Path
) -> None:
    papers = tmp_path / "papers" / "p1.xml"
    counts = steps(
        bib(tmp_path / "m.bib", LIBRARY),
        bib(papers, PAPER),
        bib(tmp_path / "n.bib", entry("n", "The second that is cited", doi="10.1234/new")),
        bib(tmp_path / "o.bib", entry("o", "Cited by nobody at all", author="Poe, P")),
        forget("n.bib"),
        bib(tmp_path / "o.bib", entry("o", "Paper number 7 of a library", doi="10.1234/7")),
    )
    assert max(counts[1:]) <= 6
    assert open_collection(tmp_path / "quick").query_sets == ("paragraphs", "sentences")


def test_other_rules_look_at_all_records_again(
    steps: Callable[..., list[int]], tmp_path: Path
) -> None:
    odd = entry("x", "Foreword") + "@misc{y, title={A note}}\n" + entry("z", "In \\\\foo bar")
    rules = ImportOptions(rules=Rules(types=("article",), front_matter="drop"))
    steps(
        bib(tmp_path / "m.bib", LIBRARY),
        bib(tmp_path / "a.bib", odd),
        lambda collection: import_sources(collection, [], rules),
        bib(tmp_path / "b.bib", odd.replace("note", "second note")),
        bib(tmp_path / "a.bib", entry("x", "Foreword")),
        forget("b.bib"),
        lambda collection: import_sources(collection, [], ImportOptions(rules=Rules())),
    )


def test_records_of_one_line_keep_their_order(tmp_path: Path) -> None:
    items = [
        {"id": f"j{n}", "type": "article", "title": f"Item {n} of one line", "DOI": f"10.5678/{n}"}
        for n in range(5)
    ]
    collection = tmp_path / "c"
    bib(tmp_path / "j.json", json.dumps(items))(collection)
    before = read_table(collection, "documents", DOCUMENTS)["doc_id"].to_list()
    bib(tmp_path / "z.bib", entry("z", "Item 2 of one line", doi="10.5678/2"))(collection)
    assert read_table(collection, "documents", DOCUMENTS)["doc_id"].to_list() == before
    forget("z.bib")(collection)
    assert read_table(collection, "documents", DOCUMENTS)["doc_id"].to_list() == before


@pytest.fixture(scope="module")
def with_keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of the library (``c``), another file (``n.bib``), and both (``whole``)."""
    folder = tmp_path_factory.mktemp("keys")
    (folder / "m.bib").write_text(LIBRARY)
    (folder / "n.bib").write_text(entry("n", "Paper number 7 of a library", doi="10.1234/7"))
    import_sources(folder / "c", [folder / "m.bib"])
    shutil.copytree(folder / "c", folder / "whole")
    import_sources(folder / "whole", [folder / "n.bib"])
    return folder


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def _changed(**columns: pl.Expr) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        footer, rows = read_footer(path), pl.read_parquet(path).with_columns(**columns)
        about = {key.decode(): text.decode() for key, text in footer.metadata.items()}
        rows.write_parquet(path, metadata={"citebed": about["citebed"]})

    return change


@pytest.mark.parametrize(
    "damage",
    [
        _cut,
        Path.unlink,
        lambda path: path.write_text("no table"),
        _changed(owner=pl.lit(10_000, dtype=pl.UInt32)),
        _changed(owner=pl.lit(None, dtype=pl.UInt32)),
        _changed(source=pl.lit(1)),
        _changed(source=pl.lit(None, dtype=pl.String)),
        _changed(size=pl.lit(2, dtype=pl.UInt32)),
        lambda path: pl.read_parquet(path).write_parquet(path),
        lambda path: pl.read_parquet(path).head(3).write_parquet(path),
    ],
)
def test_keys_that_are_damaged_or_of_other_tables_are_rebuilt(
    damage: Callable[[Path], None], with_keys: Path, tmp_path: Path
) -> None:
    collection = shutil.copytree(with_keys / "c", tmp_path / "c")
    damage(collection / "import" / "keys.parquet")
    import_sources(collection, [with_keys / "n.bib"])
    assert_equal(collection, with_keys / "whole")
    assert known_records.read_known_records(collection, Rules()) is not None


def test_documents_that_another_program_wrote_are_read_again(
    with_keys: Path, tmp_path: Path
) -> None:
    shutil.copytree(with_keys / "c", tmp_path / "c")
    path = tmp_path / "c" / "documents.parquet"
    pl.read_parquet(path).with_columns(title=pl.lit("One title")).write_parquet(path)
    assert known_records.read_known_records(tmp_path / "c", Rules()) is None
    import_sources(tmp_path / "c", [with_keys / "n.bib"])
    titles = read_table(tmp_path / "c", "documents", DOCUMENTS)["title"]
    assert "One title" in titles.to_list()


def test_a_table_in_another_layout_is_written_whole(tmp_path: Path) -> None:
    ids = pl.DataFrame({"doc_id": ["a", "b", "c"], "title": "x", "records": [1, 1, 1]})
    rows = pl.concat([empty_table(DOCUMENTS), ids.cast({"records": pl.Int32})], how="diagonal")
    old, new = tmp_path / "documents.parquet", tmp_path / "new.parquet"
    rows.write_parquet(old, row_group_size=1, use_pyarrow=True)
    before = StoredTable(old, "documents")
    fresh = rows[:1].with_columns(doc_id=pl.lit("new"))
    write_changed(new, before, pl.Series([0, None, 2]), fresh, tmp_path)
    assert pl.read_parquet(new)["doc_id"].to_list() == ["a", "new", "c"]


def test_rules_edited_by_hand_apply_to_a_small_import(tmp_path: Path) -> None:
    first, more = tmp_path / "m.bib", tmp_path / "n.bib"
    first.write_text(LIBRARY + entry("french", "Sur la pertinence", language="french"))
    more.write_text(entry("n", "One more paper"))
    import_sources(tmp_path / "c", [first])
    settings = tmp_path / "c" / "citebed.toml"
    settings.write_text(settings.read_text().replace("[rules]", '[rules]\nexclude = ["french"]'))
    import_sources(tmp_path / "c", [more])
    keys = open_collection(tmp_path / "c").documents["cite_key"].to_list()
    assert "n" in keys
    assert "french" not in keys
