"""Valid names of files and folders; every other name is an error."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from citebed.collection.rules import load_profile
from citebed.errors import CitebedError
from citebed.files.input_files import is_existing_file, is_existing_folder
from citebed.retrieval.pipeline import parse_pipeline
from citebed.runs.query_files import load_clusters
from citebed.timeline.slices import Range, parse_slicing

LONG = "a" * 5000


@pytest.mark.parametrize("text", [LONG, "a\0b", "", "no such"])
def test_what_can_name_nothing(text: str) -> None:
    assert not is_existing_file(text)
    assert not is_existing_folder(text)


def test_files_pipes_and_folders(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    assert [is_existing_file(tmp_path / name) for name in ("file", "pipe", ".")] == [
        True,
        True,
        False,
    ]
    assert [is_existing_folder(tmp_path / name) for name in ("file", "pipe", ".")] == [
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(
    "call",
    [
        lambda: parse_pipeline(f"bm25+{LONG}"),
        lambda: load_profile(LONG),
        lambda: parse_slicing(LONG, Range(0, 1, np.zeros(0, np.int64))),
        lambda: load_clusters(LONG),
    ],
)
def test_names_that_are_too_long_are_reported(call: object) -> None:
    with pytest.raises(CitebedError):
        call()
