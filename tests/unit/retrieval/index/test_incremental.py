"""A collection and index that grew step by step equal new ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.incremental import differences
from tests.sampling import sized


@pytest.mark.parametrize("seed", range(sized(3, 6)))
def test_random_sequences_of_imports_changes_and_forgets(seed: int, tmp_path: Path) -> None:
    assert differences(seed, tmp_path) == []
