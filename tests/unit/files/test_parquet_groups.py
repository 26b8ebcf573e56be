"""Row groups of Parquet files are copied as they are; footers that are odd are refused."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest

from citebed.files.parquet import Footer, copy_row_groups, read_footer

COLUMNS = {"name": pl.String(), "year": pl.Int32(), "keys": pl.List(pl.String())}


def table(first: int, rows: int) -> pl.DataFrame:
    numbers = range(first, first + rows)
    return pl.DataFrame(
        {
            "name": [f"näme {n}" for n in numbers],
            "year": [n % 7 or None for n in numbers],
            "keys": [[f"k{n}"] * (n % 3) for n in numbers],
        },
        schema=COLUMNS,
    )


def written(path: Path, rows: pl.DataFrame, group: int) -> Footer:
    rows.write_parquet(path, row_group_size=group, metadata={"made": path.stem})
    return read_footer(path)


@pytest.fixture
def two(tmp_path: Path) -> tuple[Footer, Footer]:
    ours, others = table(0, 25), table(100, 4)
    return written(tmp_path / "a.parquet", ours, 10), written(tmp_path / "b.parquet", others, 4)


def test_a_footer_has_the_row_groups_and_the_metadata(
    two: tuple[Footer, Footer],
) -> None:
    first, second = two
    assert (first.rows, second.rows) == ([10, 10, 5], [4])
    assert first.bounds == sorted(set(first.bounds))
    assert first.metadata[b"made"] == b"a"
    assert first.digest != second.digest


def test_row_groups_of_two_files_make_one_that_every_reader_reads(
    two: tuple[Footer, Footer], tmp_path: Path
) -> None:
    first, second = two
    target = tmp_path / "c.parquet"
    copy_row_groups(target, [(first, range(2, 3)), (second, range(1)), (first, range(2))])
    expected = pl.concat([table(20, 5), table(100, 4), table(0, 20)])
    assert pl.read_parquet(target).equals(expected)
    assert pl.scan_parquet(target).slice(7, 9).collect().equals(expected[7:16])
    again = tmp_path / "d.parquet"
    copy_row_groups(again, [(read_footer(target), range(1, 3))])
    assert pl.read_parquet(again).equals(expected[5:19])
    arrow = pytest.importorskip("pyarrow.parquet")
    assert arrow.read_table(target).to_pylist() == expected.to_dicts()


def test_files_of_other_columns_are_not_put_together(
    two: tuple[Footer, Footer], tmp_path: Path
) -> None:
    other = written(tmp_path / "o.parquet", table(0, 3).drop("year"), 3)
    with pytest.raises(ValueError, match="columns differ"):
        copy_row_groups(tmp_path / "c.parquet", [(two[0], range(1)), (other, range(1))])


def test_no_footer_ends_in_another_error_than_a_value_error(
    two: tuple[Footer, Footer], tmp_path: Path
) -> None:
    path, target = two[0].path, tmp_path / "c.parquet"
    whole, chance, refused = path.read_bytes(), random.Random(5), 0
    start = len(whole) - len(two[0].data) - 8
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 3)):
            data[chance.randrange(start, len(data))] = chance.randrange(256)
        path.write_bytes(data[: chance.choice((len(data), chance.randrange(len(data))))])
        try:
            footer = read_footer(path)
            assert len(footer.metadata) >= 0
            copy_row_groups(target, [(footer, range(len(footer.rows)))])
        except ValueError:
            refused += 1
    assert refused > 100
