"""The citing papers of ACM-CR that are here as PDFs, read against what people annotated."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from bench.annotate import score


def test_papers_are_annotated_nearly_as_by_hand(shared_data: Path) -> None:
    """Measured: paragraphs 0.989, sentences 0.930, cites 0.995, anonymised 21 of 23."""
    counts: Counter[str] = Counter()
    for pdf in sorted((shared_data / "acm-cr" / "pdf").glob("*.pdf")):
        (by_hand,) = (shared_data / "acm-cr" / "papers").rglob(f"{pdf.stem}.xml")
        counts += score(pdf, by_hand, errors=False, against=None, known={})
    assert counts["matched"] >= 0.97 * counts["ours"]
    assert counts["matched"] >= 0.97 * counts["theirs"]
    assert counts["same"] >= 0.91 * counts["sentences"]
    assert counts["cites"] >= 0.985 * counts["same"]
    assert counts["anon"] >= 0.86 * counts["theirs_anon"]
    assert counts["refs"] == counts["their_refs"]
