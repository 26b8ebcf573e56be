"""A text's vector is the sum of its words' vectors, however many texts there are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.reference import dense
from tests.unit.retrieval.vectors.models import WORDS, write_small

from citebed.errors import CitebedError, FormatError
from citebed.files.reading import file_hash
from citebed.retrieval.vectors import static_model
from citebed.retrieval.vectors.model_files import write_model
from citebed.retrieval.vectors.static_model import (
    SHIPPED,
    StaticModel,
    index_model,
    kept_model,
    open_static_model,
    shipped_model,
    write_static_model,
)
from citebed.text.words import plain_words

TEXT = st.lists(
    st.sampled_from([*WORDS, "Trees", "tréés", "unknown", "ſ", "ﬁ", "\n", "\ud800", "-"])
)
TEXTS = st.lists(TEXT.map(" ".join) | st.text(max_size=30), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> StaticModel:
    return write_small(tmp_path_factory.mktemp("model") / "small.npz")


def word_vectors(model: StaticModel) -> dict[str, list[float]]:
    rows = model._vectors.astype(np.float64) * model._scales[:, None]
    return dict(zip(model.words, rows.tolist(), strict=True))


@given(TEXTS)
@example(["Résumé of the Trees: 3D, 3d!", "", "none known"])
def test_vectors_are_those_of_the_slow_way(small: StaticModel, texts: list[str]) -> None:
    table, matrix = word_vectors(small), small._query.tolist()
    sums = [dense.text_vector(text, table, small.width) for text in texts]
    expected = np.array([dense.unit(each) for each in sums])
    np.testing.assert_allclose(small.documents(texts), expected, atol=1e-6)
    expected = np.array([dense.unit(dense.through(each, matrix)) for each in sums])
    np.testing.assert_allclose(small.queries(texts), expected, atol=2e-5)


def as_many(model: StaticModel, texts: list[str]) -> np.ndarray:
    """The vectors by the code that is compiled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(static_model, "MANY", 1)
        return model.documents(texts)


@given(TEXTS)
@example(["TREES of the sea\nof oak", "a", "", "x"])
def test_compiled_code_gives_the_same_bits(small: StaticModel, texts: list[str]) -> None:
    np.testing.assert_array_equal(as_many(small, texts), small.documents(texts))


def test_compiled_code_gives_the_same_bits_with_the_shipped_model() -> None:
    chance, words = np.random.default_rng(1), shipped_model().words
    texts = [" ".join(chance.choice(words, size)) for size in (0, 1, 40, 3000)]
    np.testing.assert_array_equal(as_many(shipped_model(), texts), shipped_model().documents(texts))


@given(st.text())
def test_plain_words_are_those_of_the_slow_way(text: str) -> None:
    assert plain_words(text) == dense.plain_words(text)


def test_no_character_is_read_in_two_ways() -> None:
    codes = [*range(0x3400), *range(0xD7B0, 0x20000)]  # without ideographs
    texts = [f"a{chr(code)}b" for code in codes]
    assert [plain_words(text) for text in texts] == [dense.plain_words(text) for text in texts]


def test_few_texts_need_no_compiler(tmp_path: Path) -> None:
    code = (
        "import sys; from citebed.retrieval.vectors.static_model import shipped_model as m; "
        "m().queries(['a tree']); m().documents(['a tree']); "
        "assert not {'numba', 'scipy', 'polars', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


def test_texts_that_mean_the_same_are_near() -> None:
    model = shipped_model()
    papers = [
        "Relevance weighting of search terms",
        "Deep residual learning for image recognition",
        "Usability evaluation of mobile applications",
    ]
    scores = model.queries(["probabilistic retrieval models rank documents"]) @ (
        model.documents(papers).T
    )
    assert scores[0].argmax() == 0


# --- the file ---


def test_the_shipped_model_is_the_one_that_was_published() -> None:
    published = json.loads(SHIPPED.with_suffix(".json").read_text("utf-8"))
    assert shipped_model().fingerprint == file_hash(SHIPPED) == published["sha256"]
    assert SHIPPED.stat().st_size == published["bytes"] <= 16_000_000


def test_a_model_is_written_alike_in_any_order_of_its_words(tmp_path: Path) -> None:
    chance = np.random.default_rng(0)
    vectors, query = chance.random((3, 2), np.float32), chance.random((2, 2), np.float32)
    about = {"version": 1}
    write_static_model(tmp_path / "1.npz", ["b", "a", "c"], vectors, query, about)
    write_static_model(tmp_path / "2.npz", ["a", "b", "c"], vectors[[1, 0, 2]], query, about)
    assert (tmp_path / "1.npz").read_bytes() == (tmp_path / "2.npz").read_bytes()
    model = open_static_model(tmp_path / "1.npz")
    assert (model.words, model.width, model.name) == (["a", "b", "c"], 2, "1")
    np.testing.assert_allclose(word_vectors(model)["b"], vectors[0], rtol=0.02, atol=0.01)


GOOD: dict[str, np.ndarray] = {
    "words": np.frombuffer(b"a\nb", np.uint8),
    "vectors": np.ones((2, 3), np.int8),
    "scales": np.ones(2, np.float16),
    "query": np.ones((3, 3), np.float16),
}
BAD = (
    ("words", np.frombuffer(b"b\na", np.uint8), "not in their order"),
    ("words", np.frombuffer(b"a\na", np.uint8), "not in their order"),
    ("words", np.frombuffer(b"a\nb\nc", np.uint8), "3 words, but 2 vectors"),
    ("words", np.frombuffer("a\né".encode(), np.uint8), "not plain letters"),
    ("vectors", np.ones((2, 3), np.int16), "'vectors' is int16"),
    ("vectors", np.ones((2, 0), np.int8), "vectors of 0 numbers"),
    ("scales", np.ones(3, np.float16), "'scales' is float16"),
    ("scales", np.full(2, np.nan, np.float16), "'scales' are not finite"),
    ("query", np.ones((3, 2), np.float16), "'query' is"),
    ("query", None, "no array 'query'"),
)


@pytest.mark.parametrize(("name", "array", "told"), BAD)
def test_a_model_that_cannot_be_is_refused(
    tmp_path: Path, name: str, array: np.ndarray | None, told: str
) -> None:
    path = tmp_path / "m.npz"
    arrays = {**GOOD, name: array}
    write_model(path, "static", {}, {k: v for k, v in arrays.items() if v is not None})
    with pytest.raises(FormatError, match=f"m.npz: this is no usable model: .*{told}.* Get the"):
        open_static_model(path)


@pytest.mark.parametrize("harm", ["other", "cut", "gone"])
def test_an_installation_with_other_vectors_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    path = tmp_path / "static.npz"
    path.with_suffix(".json").write_text(SHIPPED.with_suffix(".json").read_text("utf-8"))
    if harm == "other":
        write_small(path)
    elif harm == "cut":
        path.write_bytes(SHIPPED.read_bytes()[:1000])
    monkeypatch.setattr(static_model, "SHIPPED", path)
    with pytest.raises(CitebedError, match="install citebed anew"):
        shipped_model.__wrapped__()


def test_a_kept_model_that_was_damaged_is_kept_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(static_model, "models_folder", lambda: tmp_path / "models")
    write_small(tmp_path / "mine.npz")
    kept = kept_model(tmp_path / "mine.npz")
    kept.path.write_bytes(kept.path.read_bytes()[:100])
    assert kept_model(tmp_path / "mine.npz").fingerprint == kept.fingerprint


def test_the_word_vectors_to_index_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_model, "models_folder", lambda: tmp_path / "models")
    monkeypatch.chdir(tmp_path)
    mine = write_small(tmp_path / "shipped")
    assert index_model(None) is None
    assert index_model("shipped") is shipped_model()
    for named in ("./shipped", Path("shipped"), tmp_path / "shipped"):
        found = index_model(named)
        assert found is not None
        assert found.fingerprint == mine.fingerprint
