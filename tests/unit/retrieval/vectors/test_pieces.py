"""A word without a vector of its own is put together from the pieces that are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.unit.retrieval.vectors.models import WORDS, write_small

from citebed.errors import FormatError
from citebed.retrieval.analysis import analyser_of
from citebed.retrieval.index.counting import Reader, Rows, TermNumbers, cut_texts
from citebed.retrieval.vectors import static_model
from citebed.retrieval.vectors.pieces import Pieces
from citebed.retrieval.vectors.static_model import StaticModel, open_static_model

PIECES = ("tree", "#s", "#house", "#h", "se", "#a", "3", "#d")
SOME = st.sampled_from([*WORDS, "Trees", "treehouse", "sea", "seas", "tree–house", "33d", "ﬁ", "-"])
TEXTS = st.lists(st.lists(SOME).map(" ".join) | st.text(max_size=30), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> StaticModel:
    return write_small(tmp_path_factory.mktemp("model") / "cut.npz", pieces=PIECES)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("treehouse", ["tree", "#house"]),
        ("treehs", ["tree", "#h", "#s"]),
        ("seas", ["se", "#a", "#s"]),
        ("treehousex", []),  # the last letter is unknown
        ("house", []),  # known as an ending alone
        ("33", []),  # too short
        ("333", []),  # a number
        ("tree" + "s" * 40, []),  # too long
    ],
)
def test_a_word_is_cut_into_the_longest_pieces(word: str, expected: list[str]) -> None:
    assert [PIECES[number - 7] for number in Pieces(PIECES, 7).of(word)] == expected


def test_without_pieces_no_word_is_cut() -> None:
    assert Pieces(()).of("treehouse") == []


def test_a_known_word_is_not_cut_and_an_unknown_one_is(cut: StaticModel) -> None:
    names = [*cut.words, *cut.pieces]
    assert [names[number] for number in cut.word_ids("sea")] == ["sea"]
    assert [names[number] for number in cut.word_ids("treehouse")] == ["tree", "#house"]
    assert cut.word_ids("zzz") == []


def test_a_text_is_the_sum_of_its_words_and_pieces(cut: StaticModel) -> None:
    rows = cut._vectors.astype(np.float64) * cut._scales[:, None].astype(np.float64)
    names = [*cut.words, *cut.pieces]
    total = sum(rows[names.index(each)] for each in ("oak", "#house"))
    total += (1 + np.log(2)) * rows[names.index("tree")] + rows[names.index("#s")]
    total += rows[names.index("#h")]
    found = cut.documents(["Oak: treehouse, treehs"])[0]
    np.testing.assert_allclose(found, total / np.linalg.norm(total), atol=1e-6)


@given(TEXTS)
@example(["TREES of treehouse\nof oak", "a", "", "x"])
def test_many_texts_have_the_vectors_of_few(cut: StaticModel, texts: list[str]) -> None:
    few = cut.documents(texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(static_model, "MANY", 1)
        np.testing.assert_array_equal(cut.documents(texts), few)


@given(TEXTS)
@example(["tree–house treehouse's", "Treehouse e.g. seas", ""])
def test_words_that_were_read_have_the_vectors_of_their_texts(
    cut: StaticModel, texts: list[str]
) -> None:
    numbers = np.arange(len(texts))
    job = Rows(
        Path("t"), numbers, numbers, pl.DataFrame({"title": texts}, schema={"title": pl.String})
    )
    read = Reader(TermNumbers(analyser_of("english")), cut).read(*cut_texts([job]))
    found = cut.documents_of_tokens(read.tokens)
    np.testing.assert_array_equal(found, cut.documents(texts))


def test_words_that_were_cut_are_remembered_up_to_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = write_small(tmp_path / "m.npz", pieces=PIECES)
    monkeypatch.setattr(static_model, "_MOST_KEPT", len(model.words) + 1)
    for _ in range(2):
        assert [len(model.word_ids(word)) for word in ("treehouse", "seas")] == [2, 3]
    assert len(model._ids) == len(model.words) + 1


def test_a_file_with_pieces_says_so_and_one_without_is_as_before(tmp_path: Path) -> None:
    for name, pieces, expected in (("a.npz", PIECES, 2), ("b.npz", (), 1)):
        model = write_small(tmp_path / name, pieces=pieces)
        assert model.about["format"] == expected
        assert open_static_model(tmp_path / name).pieces == sorted(pieces)


@pytest.mark.parametrize("pieces", [("Tree",), ("#",), ("a b",)])
def test_pieces_that_no_word_has_are_refused(tmp_path: Path, pieces: tuple[str, ...]) -> None:
    with pytest.raises(FormatError, match="pieces that are not of letters and digits"):
        write_small(tmp_path / "m.npz", pieces=pieces)
