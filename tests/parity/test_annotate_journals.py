"""Open-access papers of many publishers, read against the publishers' own XML."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from bench.annotate_journals import read_truth, score


def test_references_and_citations_are_those_of_the_publishers(shared_data: Path) -> None:
    """Measured: every list found, references 1.000, citations F1 0.995."""
    counts: Counter[str] = Counter()
    for pdf in sorted((shared_data / "journals").glob("*.pdf")):
        some, _ = score(pdf, read_truth(pdf.with_suffix(".xml")), errors=False)
        assert some["list"], f"{pdf.stem}: no reference list found"
        counts += some
    assert counts["refs"] >= 0.985 * counts["theirs"]
    assert counts["refs"] >= 0.985 * counts["ours"]
    assert 2 * counts["cited"] >= 0.975 * (counts["our_cites"] + counts["their_cites"])
    assert counts["paragraphs"] >= 0.8 * counts["their_paragraphs"]
    assert counts["sentences"] >= 0.95 * counts["our_sentences"]
    assert counts["false"] == 0
