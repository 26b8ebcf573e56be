"""Imports on an engine write the same collection as one machine, in shards."""

from __future__ import annotations

import gzip
import json
import shutil
import tarfile
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.sampling import FULL, sized

from citebed.cli.app import main
from citebed.collection import (
    Collection,
    ImportOptions,
    ImportReport,
    Rules,
    import_sources,
    load_profile,
    read_exclusions,
)
from citebed.collection.reading import parser
from citebed.collection.reading.sources import SourceFile
from citebed.collection.storing import store
from citebed.distributed import remote_files, shuffle
from citebed.distributed.engine import Engine
from citebed.distributed.importing import (
    existing_records,
    merged_records,
    output_tables,
    reader,
)
from citebed.errors import CitebedError
from citebed.report.collection import collection_stats

TABLES = (
    "documents", "papers", "references", "contexts", "links", "sections", "set_aside", "problems",
    "files",
)  # fmt: skip


def assert_same(left: Path, right: Path) -> None:
    """Two collections have the same tables, queries, judgements and shards."""
    ours, theirs = Collection(left), Collection(right)
    assert_same_tables(ours, theirs)
    assert [each.name for each in ours.shards] == [each.name for each in theirs.shards]
    for one, other in zip(ours.shards, theirs.shards, strict=True):
        for name in ("documents", "papers", "contexts", "sections"):
            assert getattr(Collection(one), name).equals(getattr(Collection(other), name))
    manifests = [(path / "citebed.toml").read_text().splitlines() for path in (left, right)]
    assert [line for line in manifests[0] if not line.startswith("name")] == [
        line for line in manifests[1] if not line.startswith("name")
    ]


def assert_same_tables(ours: Collection, theirs: Collection) -> None:
    for name in TABLES:
        one, other = getattr(ours, name), getattr(theirs, name)
        assert one.equals(other), f"{name}:\n{one}\n{other}"
    assert ours.query_sets == theirs.query_sets
    for name in ours.query_sets:
        assert ours.queries(name).equals(theirs.queries(name))
        assert ours.qrels(name).table.equals(theirs.qrels(name).table)


def assert_told_alike(ours: ImportReport, theirs: ImportReport) -> None:
    for name in (each.name for each in fields(ours) if each.name != "folder"):
        one, other = getattr(ours, name), getattr(theirs, name)
        same = one.equals(other) if isinstance(one, pl.DataFrame) else one == other
        assert same, f"{name}: {one} {other}"


def import_both(engine: Engine, home: Path, sources: list[Path], **options: Any) -> None:
    """Import sources here and on an engine; both must be the same."""
    shutil.rmtree(home, ignore_errors=True)
    chosen = ImportOptions(workers=1, **{"shard_size": 3, **options})
    ours = import_sources(home / "one", sources, chosen)
    theirs = engine.import_sources(home / "two", sources, chosen)
    assert_same(home / "one", home / "two")
    assert_told_alike(ours, theirs)
    assert not (home / "two" / ".staging").exists()


FIRST = r"""
@string{jt = "Journal of Trees"}
@article{doe1, title={A paper about many shards}, author={Doe, J and Roe, R}, year={2001},
  doi={10.5072/one}, journal=jt}
@article{doe2, title={Another paper about shards}, author={Doe, J}, year={2002}, pages={1--9}}
@inproceedings{child, title={On things in proceedings}, author={Poe, E}, crossref={PROC}}
@proceedings{proc, title={Proceedings of Things}, year={1999}, editor={Ed, I}}
@article{doe1, title={The same key once more}, author={Zed, Q}, year={2009}}
@article{doe1-2, title={The key with a number behind it}, author={Zed, Q}, year={2010}}
@article{nobody, title={Editorial}, year={2003}, journal=jt, volume={1}}
@article{shared1, title={Oak and beech in winter}, author={Elm, A}, year={2000}, doi={10.5072/two}}
@article{shared2, title={Quantum computing for cats}, author={Ash, B}, year={2004},
  doi={10.5072/two}}
@article{broken, title={No end
"""
SECOND = [
    {"id": "x1", "title": "A Paper About Many Shards", "authors": ["Doe, J", "Roe, R"],
     "year": 2001, "abstract": "What it says."},
    {"id": "x2", "title": "Another paper about shards", "authors": ["Doe, J"], "year": 2002,
     "abstract": r"With \textbf left in it."},
    {"id": "x3", "title": "A preprint of trees to come", "authors": ["Fir, C"], "year": 2020,
     "arxiv": "2001.01234"},
    {"id": "x4", "title": "Trees that came", "authors": ["Fir, C"], "year": 2021,
     "arxiv": "2001.01234", "doi": "10.5072/three"},
    {"id": "x5", "title": "Editorial", "year": 2003},
    {"id": "x6", "title": "???", "authors": ["Fir, C"], "year": 2020},
    {"id": "x7", "title": "", "authors": ["Fir, C"], "year": 2020},
]  # fmt: skip


@pytest.fixture
def sources(tmp_path: Path) -> list[Path]:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "b.bib").write_text(FIRST)
    (tmp_path / "in" / "copy.bib").write_text(FIRST)
    (tmp_path / "in" / "a.jsonl").write_text("\n".join(map(json.dumps, SECOND)))
    (tmp_path / "in" / "empty.bib").write_text("")
    return [tmp_path / "in"]


def test_records_of_every_kind(engine: Engine, tmp_path: Path, sources: list[Path]) -> None:
    import_both(engine, tmp_path / "c", sources)
    import_both(engine, tmp_path / "c", sources, rules=Rules(types=("article",)), shard_size=100)


def test_small_pieces_everywhere(
    engine: Engine, tmp_path: Path, sources: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sizes at which work is cut change nothing: the engine's workers are in this process."""
    lines = (json.dumps({**each, "id": f"{each['id']}-{n}"}) for n in range(14) for each in SECOND)
    (sources[0] / "long.jsonl").write_text("\n".join(lines))
    monkeypatch.setattr(parser, "_HEAD_BYTES", 500)
    monkeypatch.setattr(parser, "CHUNK_BYTES", 1000)
    monkeypatch.setattr(parser, "JOB_BYTES", 1500)
    monkeypatch.setattr(reader, "AT_ONCE", 4000)
    long = sources[0] / "long.jsonl"
    others = long.read_bytes().replace(b"trees", b"stones")
    (sources[0] / "packed.jsonl.gz").write_bytes(gzip.compress(others))
    with tarfile.open(sources[0] / "all.tar.xz", "w:xz") as archive:
        for name in ("b.bib", "a.jsonl", "long.jsonl"):
            archive.add(sources[0] / name, f"in/{name}")
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps({"only": [], "forced": None, "names": []}))
    cuts = reader._cuts(SourceFile(long, long.name), str(settings))
    shares = [
        reader._shares(SourceFile(path, path.name), str(settings))
        for path in (sources[0] / "packed.jsonl.gz", sources[0] / "all.tar.xz")
    ]
    assert min(len(each or ()) for each in (cuts, *shares)) > 1
    monkeypatch.setattr(merged_records, "AT_ONCE", 20)
    monkeypatch.setattr(merged_records, "A_PART", 40)
    monkeypatch.setattr(merged_records, "_FEW", 0)  # labels go from worker to worker
    monkeypatch.setattr(merged_records, "NAMES_AT_ONCE", 30)
    monkeypatch.setattr(output_tables, "SPAN", 25)
    import_both(engine, tmp_path / "c", sources, shard_size=40)


WORDS = ("oak", "beech", "elm", "trees of the north", "on shards and trees", "shards", "?", "")
RECORD = st.fixed_dictionaries(
    {
        "id": st.sampled_from(("a", "b", "a-2", "b-2", "b-2-2", "c")),
        "title": st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join),
        "authors": st.lists(st.sampled_from(("Doe, J", "Roe, R", "Ünal, Ö")), max_size=2),
    },
    optional={
        "year": st.sampled_from((1999, 2000)),
        "doi": st.sampled_from(("10.5072/one", "10.5072/two")),
        "arxiv": st.sampled_from(("2001.01234", "2001.01235")),
        "venue": st.sampled_from(("J. of Trees", "Shards")),
        "volume": st.sampled_from(("1", "2")),
        "pages": st.sampled_from(("1–9", "20–30")),
        "abstract": st.sampled_from(("Short.", "Longer than the other.")),
        "keys": st.lists(st.sampled_from(("k", "K", "k-2", "doe1999oak")), max_size=2),
    },
)


@settings(max_examples=sized(5, 12), deadline=None, suppress_health_check=list(HealthCheck))
@given(files=st.lists(st.lists(RECORD, min_size=1, max_size=12), min_size=1, max_size=3))
def test_random_records(engine: Engine, tmp_path: Path, files: list[list[dict[str, Any]]]) -> None:
    home = tmp_path / "in"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    for number, records in enumerate(files):
        (home / f"{number}.jsonl").write_text("\n".join(map(json.dumps, records)))
    import_both(engine, tmp_path / "c", [home])


# --- Again ------------------------------------------------------------------------------------


Files = dict[str, list[dict[str, Any]] | None]


def import_again(engine: Engine, home: Path, files: Files, **options: Any) -> None:
    """Change some files (``None`` removes one), and import all files again, here and on an engine.

    Both results must be equal."""
    (home / "in").mkdir(parents=True, exist_ok=True)
    for name, records in files.items():
        path = home / "in" / name
        if records is None:
            path.unlink(missing_ok=True)
        else:
            path.write_text("\n".join(map(json.dumps, records)))
    chosen = ImportOptions(workers=1, **{"shard_size": 3, **options})
    told = [
        _told(make, home / name, [home / "in"], chosen)
        for name, make in (("one", import_sources), ("two", engine.import_sources))
    ]
    if isinstance(told[0], ImportReport) and isinstance(told[1], ImportReport):
        assert_told_alike(told[0], told[1])
    else:
        assert str(told[0]).replace("one", "two") == str(told[1])
    if (home / "one").exists():
        assert_same(home / "one", home / "two")
    assert not (home / "two" / ".staging").exists()


def _told(make: Any, folder: Path, *more: Any) -> ImportReport | CitebedError:
    try:
        report: ImportReport = make(folder, *more)
    except CitebedError as error:
        return error
    return report


def test_again_with_more_less_and_other_sources(engine: Engine, tmp_path: Path) -> None:
    """Documents keep the keys that they have, whatever comes between them."""
    first: list[dict[str, Any]] = [
        {"id": "b1", "title": "On oaks", "authors": ["Doe, J"], "year": 2001, "keys": ["k"]},
        {"id": "b2", "title": "On beeches", "authors": ["Roe, R"], "year": 2002, "keys": ["k"]},
        {"id": "b3", "title": "On elms in winter", "authors": ["Poe, E"], "doi": "10.5072/elm"},
        {"id": "b4", "title": "On elms in Winter", "authors": ["Poe, E"], "year": 1999},
    ]
    import_again(engine, tmp_path, {"b.jsonl": first})
    before = Collection(tmp_path / "two").documents
    others: list[dict[str, Any]] = [
        {"id": "a1", "title": "On ashes", "authors": ["Zed, Q"], "year": 2003, "keys": ["k"]},
        {"id": "b1", "title": "On firs", "authors": ["Zed, Q"], "year": 2004},
        {"id": "a3", "title": "On elms in winter", "authors": ["Poe, E"], "doi": "10.5072/elm"},
    ]
    import_again(engine, tmp_path, {"a.jsonl": others}, shard_size=2)
    after = Collection(tmp_path / "two").documents
    pairs = before.join(after, on="title")
    assert pairs.height == before.height
    assert pairs["cite_key"].equals(pairs["cite_key_right"])
    import_again(engine, tmp_path, {})  # nothing is new
    import_again(engine, tmp_path, {"b.jsonl": first[1:]})
    import_again(engine, tmp_path, {"a.jsonl": None}, prune=True)
    assert set(Collection(tmp_path / "two").documents["title"]) == {
        each["title"] for each in first[1:]
    }


def test_again_into_one_table(engine: Engine, tmp_path: Path, sources: list[Path]) -> None:
    """A collection in one piece becomes one of shards."""
    options = ImportOptions(workers=1)
    for name in ("one", "two"):
        import_sources(tmp_path / name, sources, options)
    (sources[0] / "c.bib").write_text("@book{new, title={New}, year=2001}")
    import_sources(tmp_path / "one", sources, ImportOptions(workers=1, shard_size=4))
    engine.import_sources(tmp_path / "two", sources, ImportOptions(workers=1, shard_size=4))
    assert_same(tmp_path / "one", tmp_path / "two")
    engine.import_sources(tmp_path / "two", sources, options)
    assert len(Collection(tmp_path / "two").shards) > 1


SOME = st.lists(RECORD, min_size=1, max_size=8)
CHANGE = st.dictionaries(
    st.sampled_from(("a.jsonl", "b.jsonl", "c.jsonl")), SOME | st.none(), max_size=3
)


@settings(max_examples=sized(3, 6), deadline=None, suppress_health_check=list(HealthCheck))
@given(first=SOME, changes=st.lists(CHANGE, min_size=1, max_size=3), prune=st.booleans())
def test_random_records_again(
    engine: Engine, tmp_path: Path, first: list[dict[str, Any]], changes: list[Files], prune: bool
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(merged_records, "A_PART", 4)
        patched.setattr(existing_records, "STEP", 2)
        patched.setattr(merged_records, "NAMES_AT_ONCE", 5)
        home = tmp_path / "again"
        shutil.rmtree(home, ignore_errors=True)
        import_again(engine, home, {"b.jsonl": first})
        for change in changes:
            import_again(engine, home, change, prune=prune)


def test_a_part_of_acm_cr(engine: Engine, shared_data: Path, tmp_path: Path) -> None:
    """All citing papers, and the first proceedings, in shards."""
    data = shared_data / "acm-cr"
    with tarfile.open(data / "acm-dl.tar.xz") as archive:
        files = (each for each in archive if each.name.endswith(".bib"))
        archive.extractall(tmp_path, islice(files, 5), filter="data")
    rules = load_profile("acm-cr").with_options(exclude=read_exclusions(data / "blacklist.txt"))
    sources = [tmp_path / "acm-dl", data / "papers"]
    import_both(engine, tmp_path / "c", sources, rules=rules, shard_size=100)
    assert len(Collection(tmp_path / "c" / "two").shards) > 1


@pytest.mark.skipif(not FULL, reason="make test-full runs it, test_a_part_of_acm_cr always")
def test_acm_cr(engine: Engine, shared_data: Path, acm_cr: Path, tmp_path: Path) -> None:
    """All of ACM-CR in 16 shards: together they equal every table of one machine."""
    check_acm_cr(engine, shared_data, acm_cr, tmp_path / "acm-cr")


def check_acm_cr(
    engine: Engine, shared_data: Path, whole: Path, folder: Path, size: int = 7000
) -> None:
    """Import ACM-CR on an engine, and compare it with what one machine made of it."""
    data = shared_data / "acm-cr"
    rules = load_profile("acm-cr").with_options(exclude=read_exclusions(data / "blacklist.txt"))
    paths = [data / "acm-dl.tar.xz", data / "papers"]
    engine.import_sources(folder, paths, ImportOptions(rules=rules, shard_size=size))
    ours, theirs = Collection(whole), Collection(folder)
    assert len(theirs.shards) == -(-ours.documents.height // size)
    assert_same_tables(ours, theirs)


def test_citing_papers(engine: Engine, tmp_path: Path, sources: list[Path]) -> None:
    """References are found among documents by DOI, id, arXiv id and title, wherever these are."""
    references = [
        {"ref_id": "1", "doi": "10.5072/one"},
        {"ref_id": "2", "doi": "10.48550/arXiv.2001.01234"},
        {"ref_id": "3", "title": "The same key once more", "author": "Zed, Q"},
        {"ref_id": "4", "doc_id": "doe2"},
        {"ref_id": "5", "doi": "10.5072/nowhere"},
    ]
    sentences = [{"text": f"As {n} says.", "cites": [str(n)]} for n in range(1, 6)]
    paper = {
        "paper_id": "nobody", "title": "A citing paper", "references": references,
        "contexts": [{"context_id": "p1", "section": "introduction", "sentences": sentences}],
    }  # fmt: skip
    (sources[0] / "citing.jsonl").write_text(json.dumps(paper))
    import_both(engine, tmp_path / "c", sources)
    found = Collection(tmp_path / "c" / "two").references
    assert found["doc_id"].drop_nulls().len() == 4


def test_statistics_are_those_of_one_machine(
    engine: Engine, tmp_path: Path, sources: list[Path]
) -> None:
    import_sources(tmp_path / "c", sources, ImportOptions(shard_size=2, workers=1))
    import_sources(tmp_path / "d", sources, ImportOptions(workers=1))
    for folder in (tmp_path / "c", tmp_path / "d"):
        assert collection_stats(Collection(folder)).rows == engine.stats(folder).rows


def test_a_failed_import_leaves_no_collection(
    engine: Engine, tmp_path: Path, sources: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "c"
    with monkeypatch.context() as patched:
        patched.setattr(output_tables, "write_shard", _fail)
        with pytest.raises(CitebedError, match="no room"):
            engine.import_sources(folder, sources)
    assert not folder.exists()
    with monkeypatch.context() as patched:  # killed: nothing is tidied up
        patched.setattr(store, "_clear", lambda _: None)
        patched.setattr(store, "commit_change", _fail)
        with pytest.raises(CitebedError, match="no room"):
            engine.import_sources(folder, sources)
    assert not (folder / "shards").exists()
    engine.import_sources(folder, sources, ImportOptions(shard_size=3))
    import_sources(tmp_path / "one", sources, ImportOptions(shard_size=3, workers=1))
    assert_same(tmp_path / "one", folder)


def test_workers_that_do_not_see_the_folder(tmp_path: Path, sources: list[Path]) -> None:
    specs = [{"path": str(path), "name": path.name, "size": 1} for path in sources]
    given = {"files": [shuffle.pack_json(specs)]}
    with pytest.raises(CitebedError, match=r"do not see '.*elsewhere'"):
        list(reader._look(str(tmp_path / "elsewhere" / "settings.json"), 0, given))


def _fail(*_: object) -> Any:
    raise CitebedError("no room")


@pytest.mark.parametrize("tail", ["/", "/{refs,none}.bib", "/refs.bib"])
def test_sources_at_an_address(engine: Engine, tmp_path: Path, tail: str) -> None:
    there = tmp_path / "elsewhere" / "a dump"
    (there / "more").mkdir(parents=True)
    (there / "refs.bib").write_text("@book{a, title={One}, year=2001}\n@string{x={y}}\n")
    (there / "more" / "others.bib").write_bytes(b"@book{b, title={One}, year=2001}\r\n")
    options = ImportOptions(shard_size=3, workers=1)
    alike = there / ("refs.bib" if "refs" in tail else tail.strip("/"))
    import_sources(tmp_path / "one" / "c", [alike], options)
    engine.import_sources(tmp_path / "two" / "c", [f"file://{there}{tail}"], options)
    one, two = Collection(tmp_path / "one" / "c"), Collection(tmp_path / "two" / "c")
    if "{" not in tail:  # a pattern is named by the folder that has it
        assert_same_tables(one, two)
    columns = pl.exclude("source", "sources")
    assert one.documents.select(columns).equals(two.documents.select(columns))
    assert not list((tmp_path / "two" / "c").rglob("*copies*"))


def test_addresses() -> None:
    for path, address in (
        ("s3a://bucket/x.bib", "s3a://bucket/x.bib"),
        (Path("hdfs://host/x/"), "hdfs://host/x"),
        (Path("file:///x"), "file:///x"),
        ("C:/refs.bib", None),
        ("refs.bib", None),
        ("/a:/b", None),
    ):
        assert remote_files.as_address(path) == address
    for root, name, copy in (
        ("dump", "s3a://b/dump/a/x", "dump/a/x"),
        ("my/dump", "my/dump/x", "dump/x"),
        ("a/x.bib", "file:/a/x.bib", "x.bib"),
        ("", "hdfs://host:1/a/x", "a/x"),
    ):
        assert remote_files._below(root, name) == copy
    for name in ("s3a://b/dump/../../x", "s3a://b/other/x", "s3a://b/dumps/x"):
        with pytest.raises(CitebedError, match="which is not below"):
            remote_files._below("dump", name)


def test_wrong_folders_sources_and_options_are_refused(
    engine: Engine, tmp_path: Path, sources: list[Path]
) -> None:
    for folder, paths, options, what in (
        (tmp_path / "c", [f"file://{tmp_path}/none.bib"], ImportOptions(), "none.bib"),
        ("hdfs://host/c", sources, ImportOptions(), "is not a path of a file system"),
        (tmp_path / "c", sources, ImportOptions(shard_size=0), "above 0"),
        (tmp_path / "c[1]", sources, ImportOptions(), "a special meaning for engines"),
        (tmp_path / "c", [tmp_path / "nowhere"], ImportOptions(), "no such file"),
        (tmp_path / "c", sources, ImportOptions(strict=True), "strict"),
        (
            tmp_path / "c",
            sources,
            ImportOptions(rules=Rules(types=("book",))),
            "none would be kept",
        ),
    ):
        with pytest.raises(CitebedError, match=what):
            engine.import_sources(folder, paths, options)
        assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("column", ["read_as", "cite_key"])
def test_a_collection_of_an_earlier_version(
    engine: Engine, tmp_path: Path, sources: list[Path], column: str
) -> None:
    import_sources(tmp_path / "c", sources, ImportOptions(workers=1))
    path = tmp_path / "c" / "documents.parquet"
    pl.read_parquet(path).drop(column).write_parquet(path)
    with pytest.raises(CitebedError, match="import once without --on"):
        engine.import_sources(tmp_path / "c", sources)


def test_missing_shards_are_reported(engine: Engine, tmp_path: Path, sources: list[Path]) -> None:
    import_sources(tmp_path / "c", sources, ImportOptions(workers=1, shard_size=3))
    shutil.rmtree(tmp_path / "c" / "shards")
    (sources[0] / "c.bib").write_text("@book{new, title={New}, year=2001}")
    with pytest.raises(CitebedError, match="is missing"):
        engine.import_sources(tmp_path / "c", sources)


def test_again_with_keys_that_several_have(engine: Engine, tmp_path: Path) -> None:
    """As an earlier version gave them; and titles that changed, and proceedings of one name."""
    books = [{"id": f"b{n}", "title": f"On tree {n}", "year": 2000 + n} for n in range(6)]
    import_again(engine, tmp_path, {"b.jsonl": books}, shard_size=100)
    for name in ("one", "two"):
        path = tmp_path / name / "shards" / "00000" / "documents.parquet"
        key = pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("same")).otherwise("cite_key")
        pl.read_parquet(path).with_columns(cite_key=key).write_parquet(path)
    changed = [{**each, "title": f"{each['title']} again"} for each in books[:2]] + books[2:]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(merged_records, "NAMES_AT_ONCE", 2)
        import_again(engine, tmp_path, {"b.jsonl": changed}, shard_size=100)
    assert "same" not in Collection(tmp_path / "two").documents["cite_key"]


def test_again_with_proceedings_of_one_name(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    parent = "@proceedings{conf, title={%s}, year={2001}, editor={Ed, I}}"
    for name, title in (("a", "Of Oaks"), ("a2", "Of Oaks"), ("z", "Of Elms")):
        (tmp_path / "in" / f"{name}.bib").write_text(parent % title)
    import_again(engine, tmp_path, {})
    child = "@inproceedings{c, title={A child}, author={Poe, E}, crossref={conf}}"
    (tmp_path / "in" / "b.bib").write_text(child)
    import_again(engine, tmp_path, {})
    documents = Collection(tmp_path / "two").documents
    assert documents.filter(title="A child")["venue"].to_list() == ["Of Oaks"]


def test_the_command_line(
    tmp_path: Path, sources: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pysail", reason="the extra 'spark' is not installed")

    def printed(*words: str) -> Any:
        assert main(words) == 0
        return json.loads(capsys.readouterr().out)

    words = (str(sources[0]), "--shard-size", "4", "--json")
    ours = printed("import", str(tmp_path / "one"), *words)
    more = ("--on", "local", "--spark-conf", "a=1")
    assert printed("import", str(tmp_path / "two"), *words, *more) == ours
    assert_same(tmp_path / "one", tmp_path / "two")
    stats = ("stats", str(tmp_path / "two"), "--json")
    assert printed(*stats, "--on", "local") == printed(*stats)
