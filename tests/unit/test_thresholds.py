"""Each threshold that was set by hand has a case on either side: none moves unseen."""

from __future__ import annotations

import random
from pathlib import Path
from string import ascii_lowercase
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.library_samples import bibtex_entry

from citebed.collection import Collection, import_sources
from citebed.collection.building.merging import Title, title_groups, titles_agree
from citebed.collection.lint import CHECKS, Subject
from citebed.collection.lint.judgements import _copies_of_abstracts
from citebed.drafts import parse_draft
from citebed.drafts.document_matching import may_match
from citebed.drafts.prose import skip_reason
from citebed.drafts.records import STUB, Entry
from citebed.text.markers import cites_of
from citebed.timeline.robustness import Robustness
from citebed.timeline.scoring.comparison import episodes


def agree(left: str, right: str) -> bool:
    return titles_agree(Title(left, left), Title(right, right))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        # 12 of 24 trigrams in common, and 12 of 26
        ("abcdefghijklmnopqrst", "abcdefghijklmnuvwxyz", True),
        ("abcdefghijklmnopqrstu", "abcdefghijklmnwyzAEOv", False),
        # below fifteen letters: 8 of 10, and 7 of 9
        ("abcdefghijk", "abcdefghijz", True),
        ("abcdefghik", "abcdefghiz", False),
        # within another: fifteen letters, and fourteen
        ("abcdefghijklmno", "abcdefghijklmno" + "pqrstuvwyzABCDEFGHJK", True),
        ("abcdefghijklmn", "abcdefghijklmn" + "pqrstuvwyzABCDEFGHJK", False),
    ],
)
def test_titles_agree_from_half_of_their_trigrams_on(left: str, right: str, expected: bool) -> None:
    assert agree(left, right) is expected
    assert agree(right, left) is expected


def test_a_doi_of_more_than_sixty_titles_is_no_papers() -> None:
    same = Title("Counting Sheep at Night", "countingsheepatnight")
    assert len(set(title_groups([same] * 60))) == 1
    assert len(set(title_groups([same] * 61))) == 61


@pytest.mark.parametrize(("start", "expected"), [(0, True), (1, False)])
def test_titles_nearly_the_same_have_four_fifths_of_their_trigrams(
    tmp_path: Path, start: int, expected: bool
) -> None:
    """Titles of 29 letters with three different last letters share 24 of 30; of 28 letters 23 of
    29."""
    letters = "abcdefghij klmnopqrs tuvwxyz"[start:]
    entries = [
        bibtex_entry(key, title=letters + end, author="Doe, Jo", year=2000)
        for key, end in (("a", "bdf"), ("b", "gik"))
    ]
    (tmp_path / "a.bib").write_text("".join(entries))
    import_sources(tmp_path / "c", [tmp_path / "a.bib"])
    rows = CHECKS["near-duplicate-titles"].find(Subject(Collection(tmp_path / "c")))
    assert bool(rows.height) is expected


LETTERS = "".join(random.Random(0).choices(ascii_lowercase, k=120))


@pytest.mark.parametrize(
    ("abstract", "query", "expected"),
    [
        # 100 letters, and 99
        (LETTERS[:100], LETTERS[:100], True),
        (LETTERS[:99], LETTERS[:99], False),
        # of the 100 runs of five letters in 104, 90 are there, and 89
        (LETTERS[:104], LETTERS[:94], True),
        (LETTERS[:104], LETTERS[:93], False),
    ],
)
def test_a_query_that_holds_nine_tenths_of_a_long_abstract_is_its_copy(
    abstract: str, query: str, expected: bool
) -> None:
    subject: Any = SimpleNamespace(
        queries=pl.DataFrame({"place": ["p"], "query_id": ["q"], "text": [query]}),
        texts=pl.DataFrame({"doc_id": ["d"], "abstract": [abstract]}),
    )
    assert bool(_copies_of_abstracts(subject).height) is expected


@pytest.mark.parametrize(("words", "expected"), [(9, STUB), (10, "")])
def test_ten_words_without_an_end_are_prose(words: int, expected: str) -> None:
    text = " ".join(["word"] * words)
    assert skip_reason(text, [text], "paragraph", "") == expected


@pytest.mark.parametrize(("letters", "expected"), [(23, False), (24, True)])
def test_a_printed_reference_is_known_by_24_letters_of_its_title(
    letters: int, expected: bool
) -> None:
    title = "Abcdefghijklmnopqrstuvwxyzabcdef"
    entry = Entry("key", text=f"Doe. {title[:letters]}")
    assert may_match(entry, title, None) is expected


@pytest.mark.parametrize(("distance", "expected"), [(0.25, True), (0.26, False)])
def test_a_measure_follows_the_disorder_up_to_a_quarter(distance: float, expected: bool) -> None:
    numbers: dict[str, Any] = dict.fromkeys(Robustness.__dataclass_fields__, 0.0)
    assert Robustness(**{**numbers, "distance": distance}).follows is expected


def test_five_relevant_documents_tell_how_they_come() -> None:
    """Four at one moment of a year, and five."""
    hour, year = 3600, 365 * 86_400
    times = np.arange(5) * hour + year // 2
    assert [episodes(times[:number], 0, year) for number in (4, 5)] == [0, 1]


@pytest.mark.parametrize(("last", "count"), [(200, 200), (201, 0)])
def test_a_range_of_more_than_two_hundred_numbers_is_not_a_marker(last: int, count: int) -> None:
    assert len(cites_of(f"1-{last}") or ()) == count


@pytest.mark.parametrize(("words", "title"), [(25, " ".join(["Word"] * 25)), (26, None)])
def test_a_title_has_at_most_25_words(words: int, title: str | None) -> None:
    text = (
        f"{' '.join(['Word'] * words)}\n\nAbstract\n\nWe do.\n\nReferences\n\n[1] A. B. C. 2001.\n"
    )
    assert (parse_draft(text).title or None) == title


@pytest.mark.parametrize(("length", "paragraphs"), [(120, 1), (121, 2)])
def test_lines_of_more_than_120_characters_are_paragraphs(length: int, paragraphs: int) -> None:
    line = f"{'Many words ' * 20}"[: length - 1] + "."
    assert len(parse_draft(f"{line}\n{line}\n").passages) == paragraphs
