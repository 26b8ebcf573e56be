"""Parquet files that are invalid, damaged, or have far too many rows."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from citebed.errors import FormatError
from citebed.files import limits, parquet
from citebed.files.parquet import read_parquet

TABLE = pl.DataFrame(
    {"doc_id": [f"d{n}" for n in range(200)], "score": [n / 3 for n in range(200)]}
)


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    path = tmp_path / "x[1]*.parquet"
    TABLE.write_parquet(path)
    return path


def test_a_table_comes_back(whole: Path) -> None:
    assert read_parquet(whole).equals(TABLE)


@pytest.mark.parametrize("text", [b"", b"PAR1", b"PAR1PAR1", b"text", b"\0" * 100])
def test_other_files_are_reported(whole: Path, text: bytes) -> None:
    whole.write_bytes(text)
    with pytest.raises(FormatError, match=r"parquet: not a Parquet file, or damaged"):
        read_parquet(whole)


def test_damage_is_reported_also_if_polars_panics(whole: Path) -> None:
    content, told = whole.read_bytes(), 0
    for at in range(-470, -390):
        whole.write_bytes(content[:at] + b"\xff" + content[at + 1 :])
        try:
            read_parquet(whole)
        except FormatError:
            told += 1
    assert told > 40


def test_far_too_many_rows_are_refused(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "FILE_BYTES", 1 << 20)
    pl.DataFrame({"doc_id": ["d"]}).select(
        pl.col("doc_id").repeat_by(1 << 18).explode()
    ).write_parquet(whole)
    with pytest.raises(FormatError, match="decompression bomb"):
        read_parquet(whole)
    monkeypatch.setenv(limits.VARIABLE, "1G")
    assert read_parquet(whole).height == 1 << 18


def test_ctrl_c_within_polars_is_ctrl_c(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise pl.exceptions.PanicException("PyErr { type: <class 'KeyboardInterrupt'>, value: … }")

    monkeypatch.setattr(pl, "scan_parquet", fail)
    with pytest.raises(KeyboardInterrupt):
        read_parquet(whole)
