"""What `make test` leaves to `make test-full`: cases of the same kind, and a few long studies.

Of the parametrised tests below one case in so many is run, the same ones every time, and a tenth
of the others, which the commit's hash chooses; property tests see fewer examples. ``make
test-full`` runs everything. What is left out is counted by pytest as deselected. Tests of the web,
of files from strangers and of damaged files are never sampled.
"""

from __future__ import annotations

import os
import zlib
from collections import Counter
from collections.abc import Sequence

import pytest

FULL = os.environ.get("CITEBED_FULL") == "1"
EVERY = int(os.environ.get("CITEBED_EVERY", "1"))
"""One case in so many of all other parametrised tests, as for other Pythons."""

TURNS = 10
TURN = os.environ.get("CITEBED_TURN", "")
"""The commit's hash, as ``make test`` has it: one of so many parts of what is left out is run."""

ALWAYS = (
    "tests/browser",
    "tests/fuzz/test_kept.py",
    "tests/unit/collection/formats/test_bibtex_safety.py",
    "tests/unit/collection/formats/test_mutations.py",
    "tests/unit/collection/storing",
    "tests/unit/collection/test_robustness.py",
    "tests/unit/drafts/test_drafts_robustness.py",
    "tests/unit/files",
    "tests/unit/retrieval/index/test_damage.py",
    "tests/unit/retrieval/rerank/test_loading.py",
    "tests/unit/web",
)
"""Files (or folders) of which every case is run every time: web, security, damage."""

MANY = 12
"""Of a test with more cases than that every second one is run, unless it is named below."""

SAMPLED = {
    "tests/parity/test_reference_measures.py": 2,
    "tests/parity/test_trec_eval.py": 2,
    "tests/unit/cli/test_failing_disks.py": 3,
    "tests/unit/cli/test_killed_verbs.py": 3,
    "tests/unit/cli/test_names.py": 5,
    "tests/unit/cli/test_odd_files.py": 8,
    "tests/unit/cli/test_odd_streams.py": 12,
    "tests/unit/cli/test_retrieve.py": 2,
    "tests/unit/cli/test_simulate_verb.py::test_the_page": 3,
    "tests/unit/cli/test_written_files.py": 9,
    "tests/unit/collection/exporting/test_export_killed.py": 3,
    "tests/unit/collection/formats": 4,
    "tests/unit/collection/lint/test_lint_duplicates.py": 3,
    "tests/unit/collection/test_import_starved.py": 6,
    "tests/unit/collection/test_imports_at_once.py": 3,
    "tests/unit/evaluation/statistics": 2,
    "tests/unit/report": 3,
    "tests/unit/retrieval/analysis": 3,
    "tests/unit/retrieval/models/test_model_scores.py": 3,
    "tests/unit/retrieval/search/test_exact.py": 6,
    "tests/unit/retrieval/search/test_exact_acm_cr.py": 9,
    "tests/unit/retrieval/search/test_scores.py": 2,
    "tests/unit/retrieval/test_two_doors.py": 2,
    "tests/unit/runs/test_fusion_laws.py": 4,
    "tests/unit/runs/test_kba_readers_agree.py": 6,
    "tests/unit/runs/test_runs_readers_agree.py": 6,
    "tests/unit/runs/test_runs_trec_files.py": 3,
    "tests/unit/test_long_texts.py": 9,
    "tests/unit/text": 5,
    "tests/unit/timeline/filters/test_leaving.py": 3,
    "tests/unit/timeline/filters/test_repeats.py": 3,
    "tests/unit/timeline/filters/test_restarting.py": 6,
}
"""Files (or folders) of parametrised tests of which one case in so many is enough every time."""

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
    "tests/unit/judging/test_simulating.py::test_another_seed_plays_another_campaign",
    "tests/unit/judging/test_simulating.py::test_more_judges_than_queries_are_co_authors",
)
"""Studies that only ``make test-full`` runs."""


def examples(number: int) -> int:
    """How many examples a property test sees that asks for so many."""
    return number if FULL else max(8, number // (4 * EVERY))


def sized(usual: int, full: int) -> int:
    """The size of a study: smaller in every run of the tests, whole in the full one."""
    return full if FULL else usual


def sampled(items: Sequence[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """The tests to run, and those that are left to the full run."""
    seen: Counter[str] = Counter()
    cases = Counter(item.nodeid.partition("[")[0] for item in items)
    chosen, left = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        name, _, case = item.nodeid.partition("[")
        step = max(_step(name, cases[name]), EVERY) if case else 1
        is_left = seen[name] % step and not _has_its_turn(item.nodeid)
        seen[name] += 1
        (left if is_left or item.nodeid.startswith(FULL_ONLY) else chosen).append(item)
    return chosen, left


def _step(name: str, cases: int) -> int:
    """Of a test with so many cases one in how many is run."""
    if name.startswith(ALWAYS):
        return 1
    usual = 2 if cases > MANY else 1
    return next((n for path, n in SAMPLED.items() if name.startswith(path)), usual)


def _has_its_turn(nodeid: str) -> bool:
    """Whether a case is of the tenth that this commit plays; other Pythons play none."""
    return (
        bool(TURN) and EVERY == 1 and zlib.crc32(nodeid.encode()) % TURNS == int(TURN, 16) % TURNS
    )
