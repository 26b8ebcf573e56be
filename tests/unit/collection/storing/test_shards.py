"""Collections in shards: the same documents, in the same order, as in one table."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from citebed.collection import Collection, ImportOptions, import_sources
from citebed.collection.storing import table_files
from citebed.errors import CollectionError

ENTRIES = "\n".join(
    f"@article{{k{number}, title={{Paper number {number} about shards}}, author={{Doe, J{number}}},"
    f" year={{{2000 + number % 9}}}, abstract={{All about {number}.}}}}"
    for number in range(23)
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "all.bib"
    path.write_text(ENTRIES)
    return path


def imported(folder: Path, source: Path, size: int | None) -> Collection:
    import_sources(folder, [source], ImportOptions(shard_size=size, workers=1))
    return Collection(folder)


@pytest.mark.parametrize("size", [1, 5, 22, 23, 24])
def test_documents_are_those_of_one_table(tmp_path: Path, source: Path, size: int) -> None:
    whole, parts = imported(tmp_path / "a", source, None), imported(tmp_path / "b", source, size)
    assert len(parts.shards) == -(-23 // size)
    assert [Collection(each).documents.height for each in parts.shards[:-1]] == [size] * (
        len(parts.shards) - 1
    )
    assert parts.documents.equals(whole.documents)
    lazy = pl.col("doc_id"), pl.col("year")
    for rows in (3, 7, 23):
        read = parts.scan_documents().select(lazy).head(rows).collect()
        assert read.equals(whole.documents.select(lazy).head(rows))
    wanted = [22, 0, 7, 7, 5]
    assert parts.documents_at(wanted, ["doc_id"]).equals(whole.documents.select("doc_id")[wanted])


@pytest.mark.parametrize("size", [None, 5])
@pytest.mark.parametrize("piece", [3, 100])
def test_documents_in_pieces(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch, size: int | None, piece: int
) -> None:
    monkeypatch.setattr(table_files, "_SLICE", piece)
    opened, columns = imported(tmp_path / "a", source, size), ["doc_id", "title"]
    table = opened.documents.select(columns)
    assert opened.document_count == 23
    pieces = list(opened.document_pieces(columns))
    assert pl.concat(pieces).equals(table)
    assert max(each.height for each in pieces) == min(piece, size or 23)
    rows = [0, 2, 3, 4, 5, 21, 22]
    assert opened.some_documents(rows, columns).equals(table[rows])
    assert opened.some_documents([], columns).equals(table.clear())


def test_later_imports_keep_the_shard_size_unless_it_is_given(tmp_path: Path, source: Path) -> None:
    folder = tmp_path / "c"
    imported(folder, source, 5)
    more = tmp_path / "more.bib"
    more.write_text("@book{z, title={Another one}, author={Roe, R}, year={1999}}")
    assert len(imported(folder, more, None).shards) == 5
    assert not (folder / "documents.parquet").exists()
    whole = imported(folder, more, 0)
    assert not whole.shards
    assert whole.documents.height == 24
    assert not list(folder.glob("shards/*/*.parquet"))


def test_nothing_is_left_of_shards_that_are_gone(tmp_path: Path, source: Path) -> None:
    """Their indexes are gone, too; files that are not shards stay."""
    folder = tmp_path / "c"
    for shard in imported(folder, source, 5).shards:
        (shard / "index").mkdir()
        (shard / "index" / "postings.npy").touch()
    (tmp_path / "elsewhere").mkdir()
    (folder / "shards" / "00009").symlink_to(tmp_path / "elsewhere")
    (folder / "shards" / "notes").mkdir()
    imported(folder, source, 12)
    assert sorted(path.name for path in (folder / "shards").iterdir()) == [
        *("00000", "00001", "00009", "notes"),
    ]
    (folder / "shards" / "00009").unlink()
    (folder / "shards" / "notes").rmdir()
    imported(folder, source, 0)
    assert not (folder / "shards").exists()
    assert (tmp_path / "elsewhere").is_dir()
    (tmp_path / "elsewhere" / "2024").mkdir()
    (folder / "shards").symlink_to(tmp_path / "elsewhere")
    imported(folder, source, 0)
    assert (tmp_path / "elsewhere" / "2024").is_dir()


def test_a_shard_that_is_missing_is_reported(tmp_path: Path, source: Path) -> None:
    folder = tmp_path / "c"
    imported(folder, source, 5)
    (folder / "shards/00002/documents.parquet").unlink()
    opened = Collection(folder)
    for read in (lambda: opened.documents, lambda: opened.scan_documents().collect()):
        with pytest.raises(CollectionError, match=r"00002.documents.parquet is missing"):
            read()
