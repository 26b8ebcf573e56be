"""``citebed trec_eval`` against the program: what it printed of stored files, and live."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.parity.trec_eval_commands import (
    VERSIONS,
    Tally,
    commands,
    made_case,
    on_files,
    ours,
    program,
    write_files,
)
from tests.sampling import examples

GOLDEN = Path(__file__).parent / "golden" / "program.json.gz"
with gzip.open(GOLDEN, "rt", encoding="utf-8") as _file:
    STORED: dict[str, Any] = json.load(_file)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("number", range(len(STORED["cases"])))
def test_prints_what_was_stored(version: str, number: int, tmp_path: Path) -> None:
    files = write_files(tmp_path, STORED["cases"][number])
    answers = [one for one in STORED["answers"] if one[:2] == [number, version]]
    assert len(answers) > 200
    for _, _, words, code, expected in answers:
        own_code, found = ours(version, on_files(words, files))
        assert bool(own_code) == bool(code), words
        assert found == expected, words


@pytest.mark.parametrize("version", VERSIONS)
def test_prints_what_the_program_prints(version: str, tmp_path: Path) -> None:
    path = program(version)
    if path is None:
        pytest.skip(f"trec_eval-{version} is not here: set CITEBED_PEERS to its folder")

    @settings(max_examples=examples(30), deadline=None)
    @given(seed=st.integers(0, 2**32), words=st.sampled_from(commands()))
    def same(seed: int, words: list[str]) -> None:
        files = write_files(tmp_path, made_case(random.Random(seed)))
        tally = Tally(show=5)
        tally.try_out(version, path, on_files(words, files))
        assert not tally.counts["differences"]

    same()
