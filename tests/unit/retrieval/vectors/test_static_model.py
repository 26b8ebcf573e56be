"""Static models: a text's vector is the sum of its words' or pieces' vectors, by any code path."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.reference import dense
from tests.sampling import examples
from tests.unit.retrieval.vectors.models import WORDS, write_small

from citebed.errors import CitebedError, FormatError
from citebed.files.input_files import hash_file
from citebed.retrieval.analysis import analyser_of
from citebed.retrieval.index.term_counts import TextBatch, Vocabulary, WordReader, split_words
from citebed.retrieval.vectors import static_model
from citebed.retrieval.vectors.model_files import write_model
from citebed.retrieval.vectors.static_model import (
    SHIPPED,
    StaticModel,
    WordPieces,
    choose_model,
    import_model,
    open_static_model,
    shipped_model,
    write_static_model,
)
from citebed.text.words import plain_words

PIECES = ("tree", "#s", "#house", "#h", "se", "#a", "3", "#d")
SOME = [*WORDS, "Trees", "tréés", "unknown", "ſ", "ﬁ", "\n", "\ud800", "-", "treehouse", "seas",
        "sea", "tree–house", "33d"]  # fmt: skip
TEXTS = st.lists(
    st.lists(st.sampled_from(SOME)).map(" ".join) | st.text(max_size=30), min_size=1, max_size=5
)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> StaticModel:
    return write_small(tmp_path_factory.mktemp("model") / "small.npz")


@pytest.fixture(scope="module")
def with_pieces(tmp_path_factory: pytest.TempPathFactory) -> StaticModel:
    return write_small(tmp_path_factory.mktemp("model") / "pieces.npz", pieces=PIECES)


def word_vectors(model: StaticModel) -> dict[str, list[float]]:
    rows = model._vectors.astype(np.float64) * model._scales[:, None]
    return dict(zip([*model.words, *model.pieces], rows.tolist(), strict=True))


@settings(max_examples=examples(200))
@given(TEXTS)
@example(["Résumé of the Trees: 3D, 3d!", "", "none known"])
def test_vectors_are_those_of_the_slow_way(small: StaticModel, texts: list[str]) -> None:
    table, matrix = word_vectors(small), small._query.tolist()
    sums = [dense.text_vector(text, table, small.width) for text in texts]
    expected = np.array([dense.unit(each) for each in sums])
    np.testing.assert_allclose(small.documents(texts), expected, atol=1e-6)
    expected = np.array([dense.unit(dense.through(each, matrix)) for each in sums])
    np.testing.assert_allclose(small.queries(texts), expected, atol=2e-5)


def compiled_documents(model: StaticModel, texts: list[str]) -> np.ndarray:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(static_model, "MANY", 1)
        return model.documents(texts)


@settings(max_examples=examples(200))
@given(TEXTS)
@example(["TREES of treehouse\nof the sea", "a", "", "x"])
@example(["tree–house treehouse's", "Treehouse e.g. seas", ""])
def test_compiled_code_and_tokens_return_the_same_bits(
    with_pieces: StaticModel, texts: list[str]
) -> None:
    vectors = with_pieces.documents(texts)
    np.testing.assert_array_equal(compiled_documents(with_pieces, texts), vectors)
    if any(text != text.encode("utf-8", "replace").decode() for text in texts):
        return  # a table cannot store a lone surrogate
    numbers = np.arange(len(texts))
    titles = pl.DataFrame({"title": texts}, schema={"title": pl.String})
    job = TextBatch(Path("t"), numbers, numbers, titles)
    read = WordReader(Vocabulary(analyser_of("english")), with_pieces).read(*split_words([job]))
    np.testing.assert_array_equal(with_pieces.documents_of_tokens(read.tokens), vectors)


def test_compiled_code_returns_the_same_bits_with_the_shipped_model() -> None:
    rng, words = np.random.default_rng(1), shipped_model().words
    texts = [" ".join(rng.choice(words, size)) for size in (0, 1, 40, 3000)]
    expected = shipped_model().documents(texts)
    np.testing.assert_array_equal(compiled_documents(shipped_model(), texts), expected)


@settings(max_examples=examples(200))
@given(st.text())
def test_plain_words_are_those_of_the_slow_way(text: str) -> None:
    assert plain_words(text) == dense.plain_words(text)


def test_no_character_is_read_in_two_ways() -> None:
    codes = [*range(0x3400), *range(0xD7B0, 0x20000)]  # without ideographs
    texts = [f"a{chr(code)}b" for code in codes]
    assert [plain_words(text) for text in texts] == [dense.plain_words(text) for text in texts]


def test_a_few_texts_need_no_compiler(tmp_path: Path) -> None:
    code = (
        "import sys; from citebed.retrieval.vectors.static_model import shipped_model as m; "
        "m().queries(['a tree']); m().documents(['a tree']); "
        "assert not {'numba', 'scipy', 'polars', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


def test_similar_texts_have_similar_vectors() -> None:
    model = shipped_model()
    papers = [
        "Relevance weighting of search terms",
        "Deep residual learning for image recognition",
        "Usability evaluation of mobile applications",
    ]
    query = model.queries(["probabilistic retrieval models rank documents"])
    assert (query @ model.documents(papers).T)[0].argmax() == 0


# --- Pieces of words ---


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("treehouse", ["tree", "#house"]),
        ("treehs", ["tree", "#h", "#s"]),
        ("seas", ["se", "#a", "#s"]),
        ("treehousex", []),  # the last letter is unknown
        ("house", []),  # known as an ending only
        ("33", []),  # too short
        ("333", []),  # a number
        ("tree" + "s" * 40, []),  # too long
    ],
)
def test_a_word_is_split_into_the_longest_pieces(word: str, expected: list[str]) -> None:
    assert [PIECES[number - 7] for number in WordPieces(PIECES, 7).split(word)] == expected
    assert WordPieces(()).split(word) == []


def test_a_text_is_the_sum_of_its_words_and_pieces(with_pieces: StaticModel) -> None:
    names = [*with_pieces.words, *with_pieces.pieces]
    assert [names[number] for number in with_pieces.word_ids("sea")] == ["sea"]
    assert with_pieces.word_ids("zzz") == []
    rows = {name: np.array(row) for name, row in word_vectors(with_pieces).items()}
    total = sum(rows[each] for each in ("oak", "#house", "#s", "#h"))
    total += (1 + np.log(2)) * rows["tree"]
    found = with_pieces.documents(["Oak: treehouse, treehs"])[0]
    np.testing.assert_allclose(found, total / np.linalg.norm(total), atol=1e-6)


def test_the_cache_of_split_words_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = write_small(tmp_path / "m.npz", pieces=PIECES)
    monkeypatch.setattr(static_model, "_MAX_CACHED_WORDS", len(model.words) + 1)
    for _ in range(2):
        assert [len(model.word_ids(word)) for word in ("treehouse", "seas")] == [2, 3]
    assert model.word_ids("treehouse") is model.word_ids("treehouse")
    assert model.word_ids("seas") is not model.word_ids("seas")


def test_a_file_with_pieces_has_format_2(tmp_path: Path) -> None:
    for name, pieces, expected in (("a.npz", PIECES, 2), ("b.npz", (), 1)):
        model = write_small(tmp_path / name, pieces=pieces)
        assert model.about["format"] == expected
        assert open_static_model(tmp_path / name).pieces == sorted(pieces)
    for piece in ("Tree", "#", "a b"):
        with pytest.raises(FormatError, match="pieces that are not of letters and digits"):
            write_small(tmp_path / "m.npz", pieces=(piece,))


# --- The file ---


def test_the_shipped_model_is_the_published_one() -> None:
    published = json.loads(SHIPPED.with_suffix(".json").read_text("utf-8"))
    assert shipped_model().fingerprint == hash_file(SHIPPED) == published["sha256"]
    assert SHIPPED.stat().st_size == published["bytes"] <= 16_000_000


def test_a_model_is_written_alike_in_any_order_of_its_words(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    vectors, query = rng.random((3, 2), np.float32), rng.random((2, 2), np.float32)
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
BAD: tuple[tuple[str, np.ndarray | None, str], ...] = (
    ("words", np.frombuffer(b"b\na", np.uint8), "words that are not sorted"),
    ("words", np.frombuffer(b"a\na", np.uint8), "words that are not sorted"),
    ("words", np.frombuffer(b"a\nb\nc", np.uint8), "3 words, but 2 vectors"),
    ("words", np.frombuffer("a\né".encode(), np.uint8), "not plain letters"),
    ("vectors", np.ones((2, 3), np.int16), "'vectors' is int16"),
    ("vectors", np.ones((2, 0), np.int8), "vectors of 0 numbers"),
    ("scales", np.ones(3, np.float16), "'scales' is float16"),
    ("scales", np.full(2, np.nan, np.float16), "'scales' are not finite"),
    ("query", np.ones((3, 2), np.float16), "'query' is"),
    ("query", None, "no array 'query'"),
)


def test_a_damaged_model_is_refused(tmp_path: Path) -> None:
    for name, array, message in BAD:
        arrays = {k: v for k, v in {**GOOD, name: array}.items() if v is not None}
        write_model(tmp_path / "m.npz", "static", {}, arrays)
        whole = f"m.npz: not a usable model file: .*{message}.*. Download it again"
        with pytest.raises(FormatError, match=whole):
            open_static_model(tmp_path / "m.npz")


@pytest.mark.parametrize("harm", ["other", "cut", "gone"])
def test_an_installation_with_other_vectors_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    path = tmp_path / "static.npz"
    path.with_suffix(".json").write_text(SHIPPED.with_suffix(".json").read_text("utf-8"))
    if harm == "other":
        write_small(path)
    elif harm == "cut":
        path.write_bytes(SHIPPED.read_bytes()[:1000])
    monkeypatch.setattr(static_model, "SHIPPED", path)
    with pytest.raises(CitebedError, match="install citebed again"):
        shipped_model.__wrapped__()


def test_a_damaged_copy_is_imported_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_model, "models_folder", lambda: tmp_path / "models")
    write_small(tmp_path / "mine.npz")
    imported = import_model(tmp_path / "mine.npz")
    imported.path.write_bytes(imported.path.read_bytes()[:100])
    assert import_model(tmp_path / "mine.npz").fingerprint == imported.fingerprint


def test_the_word_vectors_to_index_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_model, "models_folder", lambda: tmp_path / "models")
    monkeypatch.chdir(tmp_path)
    mine = write_small(tmp_path / "shipped")
    assert choose_model(None) is None
    assert choose_model("shipped") is shipped_model()
    for named in ("./shipped", Path("shipped"), tmp_path / "shipped"):
        found = choose_model(named)
        assert found is not None
        assert found.fingerprint == mine.fingerprint
