"""An import accounts for every file: the small form of bench/robustness.py."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests import accounting
from tests.hostile import HOSTILE, Hostile
from tests.sampling import FULL, sized

from citebed.collection.reading import parser

FILES = sized(182, 400)  # each of 13 formats with each of 14 kinds of damage
MEGABYTES = 18


def import_twice(collection: Path, source: Path) -> accounting.Ran:
    """Import, check what holds of every import, and check that doing it again changes nothing."""
    around = accounting.listing(collection.parent, collection)
    ran = accounting.run(collection, source)
    assert accounting.badly_ended(ran) == []
    assert ran.code == 0
    assert accounting.unaccounted(collection, source) == []
    assert accounting.leaked(collection) == []
    problems = accounting.table(collection, "import/problems").height
    second = accounting.run(collection, source)
    assert second.value("unchanged files") == second.value("files") == ran.value("files")
    assert accounting.table(collection, "import/problems").height == problems
    assert accounting.listing(collection.parent, collection) == around
    return ran


def test_damaged_files_are_all_accounted_for(tmp_path: Path) -> None:
    source = tmp_path / "in"
    accounting.write_damaged(source, FILES, seed=7)
    ran = import_twice(tmp_path / "c", source)
    assert ran.value("files") == FILES
    assert accounting.differences(tmp_path / "c", source) == []


@pytest.mark.parametrize("item", HOSTILE, ids=lambda item: item.name)
def test_a_hostile_file_does_no_harm(
    tmp_path: Path, item: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not FULL:  # starting workers takes longer than reading the file
        monkeypatch.setattr(parser, "IN_PROCESS_BYTES", 1 << 40)
    source = tmp_path / "in"
    source.mkdir()
    item.put(source, sized(2, MEGABYTES) if item.grows or "lent" in item.name else MEGABYTES)
    ran = import_twice(tmp_path / "c", source)
    said = list(accounting.table(tmp_path / "c", "import/problems")["what"])
    assert item.gives(ran.value("records")), said[:3]
    assert [what for what in said if re.search(item.says, what)] if item.says else not said
