"""What `make test` leaves to `make test-full`: cases of the same kind, and a few long studies.

Which are played the commit's hash chooses, so that all of them are within some commits: long
studies by one commit in so many, of the cases of a parametrised test one in three. Where cases
take long, one in so many is run, the same ones every time, and a tenth of the others. Property
tests see fewer examples. ``make test-full`` runs everything. What is left out is counted by pytest
as deselected.
"""

from __future__ import annotations

import os
import subprocess
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

FULL = os.environ.get("CITEBED_FULL") == "1"
EVERY = int(os.environ.get("CITEBED_EVERY", "1"))
"""One case in so many of all other parametrised tests, as for other Pythons."""

CASE = os.environ.get("CITEBED_CASE", "")
"""Cases that have this in their name are run, whatever is sampled."""

TURNS = 10
TURN = os.environ.get("CITEBED_TURN", "")
"""The commit's hash, as ``make test`` has it. Without one, as for a file that somebody runs, only
what is ``SAMPLED`` is left out.

Nothing remembers which parts were run: of what is played by one commit in three, four, six and ten,
ten commits run 98, 94, 84 and 65 %, twenty of the last 88 % (``1 - 0.9 ** commits``).
"""

ALWAYS = (
    "tests/browser",
    "tests/fuzz/test_kept.py",
    "tests/unit/cli/test_odd_files.py::test_a_bomb_is_told_within_little_memory",
    "tests/unit/cli/test_odd_streams.py::test_a_bomb_is_told_within_little_memory",
    "tests/unit/cli/test_written_files.py::test_links",
    "tests/unit/collection/storing",
    "tests/unit/files",
    "tests/unit/judging/forms",
    "tests/unit/retrieval/index/test_damage.py",
    "tests/unit/retrieval/rerank/test_loading.py",
    "tests/unit/web",
)
"""Tests (or their files or folders) of which every case is run every time: web, security, damage;
but for those that are played in turn."""

IN_TURN = {
    line.partition(" ")[2]: int(line.partition(" ")[0])
    for line in Path(__file__).with_name("in_turn.txt").read_text("utf-8").split("\n")
    if line and not line.startswith("#")
}
"""Tests that take a second and more: each is played by one commit in so many."""

PLAYED = dict(sorted((dict.fromkeys(ALWAYS, 1) | IN_TURN).items(), reverse=True))
"""The same with those that always are: what is named more closely comes first."""

SAMPLED = {
    "tests/fuzz/test_harness.py::test_what_is_to_be_damaged_is_well_formed": 4,
    "tests/unit/cli/test_failing_disks.py": 3,
    "tests/unit/cli/test_killed_verbs.py": 3,
    "tests/unit/cli/test_names.py": 5,
    "tests/unit/cli/test_odd_files.py": 8,
    "tests/unit/cli/test_odd_streams.py": 12,
    "tests/unit/cli/test_written_files.py": 9,
    "tests/unit/collection/exporting/test_export_killed.py": 3,
    "tests/unit/collection/formats/test_bibtex_names.py::test_much_of_one_thing_is_read": 4,
    "tests/unit/collection/formats/test_bibtex_scan.py::test_much_of_one_thing_is_scanned": 4,
    "tests/unit/collection/lint/test_lint_duplicates.py::test_as_the_slow_way": 3,
    "tests/unit/collection/test_forgetting.py": 4,
    "tests/unit/collection/test_import_starved.py": 6,
    "tests/unit/collection/test_imports_at_once.py": 3,
    "tests/unit/evaluation/statistics": 2,
    "tests/unit/report": 3,
    "tests/unit/retrieval/dense/test_vectors.py::test_scores_are_exact": 2,
    "tests/unit/retrieval/search/test_exact.py": 6,
    "tests/unit/retrieval/search/test_exact_acm_cr.py": 9,
    "tests/unit/retrieval/test_two_doors.py": 2,
    "tests/unit/runs/test_fusion_laws.py": 4,
    "tests/unit/runs/test_kba_readers_agree.py": 6,
    "tests/unit/runs/test_runs_readers_agree.py": 6,
    "tests/unit/test_docs.py::test_every_command_parses": 4,
    "tests/unit/test_docs_run.py::test_every_block_runs": 2,
    "tests/unit/test_long_texts.py": 9,
    "tests/unit/text/test_hyphens.py::test_a_megabyte_is_read": 5,
    "tests/unit/text/test_latex.py::test_much_of_one_thing_is_read": 5,
    "tests/unit/text/test_markers.py::test_a_megabyte_of_hostile_text_is_read": 5,
    "tests/unit/text/test_sentences.py::test_a_megabyte_is_read": 5,
    "tests/unit/timeline/filters/test_leaving.py": 3,
    "tests/unit/timeline/filters/test_repeats.py": 3,
    "tests/unit/timeline/filters/test_restarting.py": 6,
}
"""Parametrised tests (or their files or folders) whose cases take long: one in so many is run every
time. Those that take less than a twentieth of a second are not worth it."""

FULL_ONLY = (
    "tests/unit/retrieval/search/test_exact_acm_cr.py::test_all_queries_and_2000_random_ones",
    "tests/unit/collection/exporting/test_acm_cr_round_trip.py",
    "tests/unit/collection/formats/test_jsonl.py::test_real_contexts_in_pieces",
    "tests/unit/timeline/test_known_failures.py::test_scores_agree_with_plain_loops[kba 2012-1d]",
    "tests/unit/report/test_contrast_figures.py::test_the_same_contrast_gives_the_same_files",
    "tests/unit/report/test_collection_picture.py::test_the_same_statistics_give_the_same_file",
    "tests/unit/report/test_timeline_figures.py::test_pictures_are_the_same_bytes_twice",
    "tests/unit/report/test_robustness_figure.py::test_the_same_study_gives_the_same_file",
    "tests/unit/text/test_markers.py::test_a_megabyte_of_hostile_text_is_read[[1]",
    "tests/unit/test_patterns.py::test_converted_patterns_find_the_same_in_the_samples",
    "tests/unit/judging/simulation/test_simulating.py::test_another_seed_plays_another_campaign",
    "tests/unit/judging/simulation/test_simulating.py::test_more_judges_than_queries",
)
"""Studies that only ``make test-full`` runs."""


def examples(number: int) -> int:
    """How many examples a property test sees that asks for so many."""
    return number if FULL else max(8, number // (6 * EVERY))


def sized(usual: int, full: int) -> int:
    """The size of a study: smaller in every run of the tests, whole in the full one."""
    return full if FULL else usual


@cache
def changed() -> tuple[str, ...]:
    """Files of tests that were written or changed since the last commit."""
    command = ("git", "ls-files", "--modified", "--others", "--exclude-standard", "--", "tests")
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:  # no git: nothing is known to have changed
        return ()
    return tuple(done.stdout.split("\n")[:-1])


def _is_new(name: str, case: str) -> bool:
    return bool(CASE and CASE in case) or name.partition("::")[0] in changed()


def sampled(items: Sequence[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """The tests to run, and those that are left to the full run."""
    seen: Counter[str] = Counter()
    chosen, left = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        name, _, case = item.nodeid.partition("[")
        is_left = _is_left(item.nodeid, name, seen[name]) and not _is_new(name, case)
        seen[name] += 1
        (left if is_left or item.nodeid.startswith(FULL_ONLY) else chosen).append(item)
    return chosen, left


def _is_left(nodeid: str, name: str, number: int) -> bool:
    """Whether a case (the one of that number of its test) is left out of this run."""
    if EVERY > 1:  # other Pythons, and one room: the same cases every time
        step = EVERY if name.startswith(ALWAYS) else max(_of(SAMPLED, name), EVERY)
        return nodeid != name and number % step > 0
    step, is_case = _of(SAMPLED, name), nodeid != name
    if TURN and not _has_its_turn(nodeid, _of(PLAYED, name)):
        return True
    if name.startswith(ALWAYS):
        return False
    if not TURN:
        return is_case and number % step > 0
    if step > 1:
        return is_case and number % step > 0 and not _has_its_turn(nodeid, TURNS)
    return is_case and not _has_its_turn(nodeid, 3)


def _of(numbers: Mapping[str, int], name: str) -> int:
    """What a test is named with, by its path or its beginning; else 1."""
    return next((number for path, number in numbers.items() if name.startswith(path)), 1)


def _has_its_turn(nodeid: str, turns: int) -> bool:
    """Whether a case is of the part, of so many, that this commit plays."""
    return (zlib.crc32(nodeid.encode()) + int(TURN, 16)) % turns == 0
