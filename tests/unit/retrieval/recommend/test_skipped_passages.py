"""Skipped passages: notes with their places."""

from __future__ import annotations

from citebed.drafts import Passage
from citebed.retrieval.recommend.skipped_passages import skipped_notes


def test_a_note_for_each_kind_with_places() -> None:
    passages = [Passage("a", 3), Passage("b", 7), Passage("c", 9)]
    kinds = ["caption", "passage that needs no citation", "caption"]
    assert skipped_notes(zip(kinds, passages, strict=True)) == [
        "skipped 2 captions (lines 3, 9)",
        "skipped 1 passage that needs no citation (line 7); --min-probability 0 shows the best "
        "matches anyway",
    ]
