"""Encoders and cross-encoders against BERT's equations in plain numpy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import bert
from tests.sampling import examples

from citebed.errors import CitebedError
from citebed.retrieval.encoders.dense_encoder import load_dense_encoder
from citebed.retrieval.encoders.graph import build_graph, give_weights
from citebed.retrieval.encoders.models import pool
from citebed.retrieval.rerank import Encoder, load_cross_encoder, load_encoder, load_reranker
from citebed.retrieval.vectors.vectors import unit_rows

pytestmark = pytest.mark.usefixtures("neural")

# Token numbers of the tiny vocabulary, written out by hand.
CLS, SEP, UNK = 2, 3, 1
KNOWN = {
    "": [CLS, SEP],
    "A citation": [CLS, 4, 5, SEP],
    "the papers of retrieval.": [CLS, 10, 8, 11, 12, 20, SEP],
    "RETRIEVE, É": [CLS, 16, 17, 21, UNK, SEP],
    "query 引用": [CLS, 14, 23, 24, SEP],
    "\u0000\ufffd\u200b": [CLS, SEP],
    "zebra": [CLS, UNK, SEP],
}


@pytest.fixture(scope="module")
def tiny(make_model: Callable[..., Any]) -> Any:
    return make_model()


@pytest.fixture(scope="module")
def encoder(tiny: Any) -> Encoder:
    return load_encoder(tiny.folder, runtime="onnx")


@pytest.mark.parametrize("text", KNOWN)
def test_a_vector_is_the_mean_of_the_hidden_states(encoder: Encoder, tiny: Any, text: str) -> None:
    expected = bert.last_hidden_state(tiny.config, tiny.weights, KNOWN[text]).mean(axis=0)
    np.testing.assert_allclose(encoder.encode([text])[0], expected, atol=2e-5)


def test_it_says_where_it_runs_and_what_it_is(encoder: Encoder, tiny: Any) -> None:
    assert (encoder.runtime, encoder.dimensions, encoder.max_tokens) == ("onnx", 24, 32)
    assert encoder.name == str(tiny.folder)
    assert str(encoder.pooling) == "mean"


words = st.lists(st.sampled_from("a citation cites papers of retrieval test zebra".split()))  # noqa: SIM905


@settings(max_examples=examples(50))
@given(st.lists(words.map(" ".join), min_size=1, max_size=9), st.integers(1, 5))
def test_a_vector_does_not_depend_on_its_batch(
    encoder: Encoder, texts: list[str], batch: int
) -> None:
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    np.testing.assert_allclose(encoder.encode(texts, batch=batch), alone, atol=1e-5)


@settings(max_examples=examples(50))
@given(st.text(max_size=60))
def test_any_text_has_a_vector(encoder: Encoder, text: str) -> None:
    vectors = encoder.encode([text, "\ud800" + text])
    assert vectors.shape == (2, 24)
    assert np.isfinite(vectors).all()


def test_a_long_text_is_cut(encoder: Encoder, tiny: Any) -> None:
    ids = [CLS, *[5] * 30, SEP]
    expected = bert.last_hidden_state(tiny.config, tiny.weights, ids).mean(axis=0)
    long = "citation " * 20_000
    np.testing.assert_allclose(encoder.encode([long])[0], expected, atol=2e-5)
    short = load_encoder(tiny.folder, max_tokens=4).encode([long])[0]
    expected = bert.last_hidden_state(tiny.config, tiny.weights, [CLS, 5, 5, SEP]).mean(axis=0)
    np.testing.assert_allclose(short, expected, atol=2e-5)


def test_a_graph_for_texts_alone_computes_the_same(tiny: Any) -> None:
    """By another operator, without a mask, which it does not take: padding would be read."""
    import onnxruntime

    graph = build_graph(tiny.config, tiny.weights, alone=True)
    options = onnxruntime.SessionOptions()
    give_weights(options, graph)
    session = onnxruntime.InferenceSession(graph.model, options, providers=["CPUExecutionProvider"])
    assert {each.name for each in session.get_inputs()} == {"input_ids", "token_type_ids"}
    for numbers in KNOWN.values():
        ids = np.array([numbers], np.int64)
        given = {"input_ids": ids, "token_type_ids": np.zeros_like(ids)}
        found = session.run(None, given)[0][0]
        expected = bert.last_hidden_state(tiny.config, tiny.weights, numbers)
        np.testing.assert_allclose(found, expected, atol=2e-5)


def test_no_texts_give_no_vectors(encoder: Encoder) -> None:
    assert encoder.encode([]).shape == (0, 24)


def test_progress_counts_to_all_texts(encoder: Encoder) -> None:
    seen: list[tuple[int, int]] = []
    encoder.encode(["a"] * 7, batch=3, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(3, 7), (6, 7), (7, 7)]


# --- pooling --------------------------------------------------------------------------------

HIDDEN = np.array([[[1, 8], [3, 2], [9, 9]], [[5, 1], [9, 9], [9, 9]]], np.float32)
MASK = np.array([[1, 1, 0], [1, 0, 0]])


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("mean", [[2, 5], [5, 1]]), ("cls", [[1, 8], [5, 1]]), ("max", [[3, 8], [5, 1]])],
)
def test_pooling_reads_real_tokens_only(kind: str, expected: list[list[float]]) -> None:
    assert pool(HIDDEN, MASK, kind).tolist() == expected


def test_rows_of_length_one() -> None:
    rows = unit_rows(np.array([[3, 4], [0, 0]], np.float32))
    np.testing.assert_allclose(rows, np.array([[0.6, 0.8], [0, 0]]), rtol=1e-6)


MODULES = [
    {"type": "sentence_transformers.models.Transformer", "path": ""},
    {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"},
    {"type": "sentence_transformers.models.Normalize", "path": "2_Normalize"},
]


def test_the_folder_says_how_to_pool(make_model: Callable[..., Any]) -> None:
    cls = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    tiny = make_model({"modules.json": MODULES, "1_Pooling/config.json": cls})
    first = bert.last_hidden_state(tiny.config, tiny.weights, KNOWN["A citation"])[0]
    own = load_encoder(tiny.folder)
    np.testing.assert_allclose(
        own.encode(["A citation"])[0], first / np.linalg.norm(first), atol=2e-5
    )
    asked = load_encoder(tiny.folder, pooling="max")
    highest = bert.last_hidden_state(tiny.config, tiny.weights, KNOWN["A citation"]).max(axis=0)
    np.testing.assert_allclose(asked.encode(["A citation"])[0], highest, atol=2e-5)
    assert own.fingerprint != asked.fingerprint


@pytest.mark.parametrize("name", ["../other/1_Pooling", "/etc", "a/../../other", 3, ".."])
def test_a_module_is_a_folder_of_the_model(make_model: Callable[..., Any], name: object) -> None:
    pooling = {"type": "sentence_transformers.models.Pooling", "path": name}
    tiny = make_model({"modules.json": [pooling]})
    with pytest.raises(CitebedError, match="is not a folder of the model"):
        load_encoder(tiny.folder)


def test_the_folder_says_how_long(make_model: Callable[..., Any]) -> None:
    tiny = make_model({"sentence_bert_config.json": {"max_seq_length": 5, "do_lower_case": False}})
    assert load_encoder(tiny.folder).max_tokens == 5


@pytest.mark.parametrize(("said", "read"), [(5, 5), (99, 9), (2, 9), ("5", 9), (None, 9)])
def test_the_folder_says_how_much_of_a_document_is_read(
    make_model: Callable[..., Any], said: object, read: int
) -> None:
    lengths = {"max_seq_length": 9, "document_tokens": said}
    folder = make_model({"sentence_bert_config.json": lengths}).folder
    encoder, text = load_dense_encoder(folder), "citation papers of retrieval test graph query"
    assert encoder.encoder.document_tokens == read
    beginning = " ".join(text.split()[: read - 2])
    np.testing.assert_array_equal(encoder.documents([text]), encoder.queries([beginning]))
    np.testing.assert_array_equal(encoder.queries([text])[0], encoder.queries([text + " a"])[0])
    same = load_encoder(folder, max_tokens=read).fingerprint
    assert encoder.fingerprint == same == encoder.encoder.for_documents.fingerprint
    assert (encoder.fingerprint == encoder.encoder.fingerprint) is (read == 9)


# --- identity -------------------------------------------------------------------------------


def test_a_fingerprint_is_of_what_decides_the_vectors(make_model: Callable[..., Any]) -> None:
    one, same, other = make_model(), make_model(), make_model(seed=8)
    marks = [load_encoder(model.folder).fingerprint for model in (one, same, other)]
    assert marks[0] == marks[1] != marks[2]
    assert load_encoder(one.folder, max_tokens=9).fingerprint != marks[0]
    with (same.folder / "vocab.txt").open("a") as file:
        file.write("zebra\n")
    assert load_encoder(same.folder).fingerprint != marks[0]


# --- other kinds of network -----------------------------------------------------------------


@pytest.mark.parametrize("activation", ["relu", "gelu_new"])
def test_other_activations(
    make_model: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, activation: str
) -> None:
    tiny = make_model(hidden_act=activation)
    formulas = {
        "relu": lambda x: np.maximum(x, 0),
        "gelu_new": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    }
    monkeypatch.setattr(bert, "gelu", formulas[activation])
    expected = bert.last_hidden_state(tiny.config, tiny.weights, KNOWN["A citation"]).mean(axis=0)
    vector = load_encoder(tiny.folder).encode(["A citation"])[0]
    np.testing.assert_allclose(vector, expected, atol=2e-5)


DISTILBERT = {
    "encoder.layer": "transformer.layer",
    "attention.self.query": "attention.q_lin",
    "attention.self.key": "attention.k_lin",
    "attention.self.value": "attention.v_lin",
    "attention.output.dense": "attention.out_lin",
    "attention.output.LayerNorm": "sa_layer_norm",
    "intermediate.dense": "ffn.lin1",
    "output.dense": "ffn.lin2",
    "output.LayerNorm": "output_layer_norm",
}


def test_distilbert_is_bert_by_other_names(
    make_model: Callable[..., Any], write_safetensors: Callable[..., bytes]
) -> None:
    tiny = make_model()
    renamed = {}
    for name, array in tiny.weights.items():
        for old, new in DISTILBERT.items():
            name = name.replace(old, new)  # noqa: PLW2901
        renamed[f"distilbert.{name}"] = array
    config = {
        "model_type": "distilbert",
        "dim": 24,
        "n_heads": 3,
        "n_layers": 2,
        "activation": "gelu",
        "max_position_embeddings": 32,
    }
    (tiny.folder / "config.json").write_text(json.dumps(config))
    (tiny.folder / "model.safetensors").write_bytes(write_safetensors(renamed))
    without_types = dict(tiny.weights)
    without_types["embeddings.token_type_embeddings.weight"] = np.zeros((2, 24), np.float32)
    expected = bert.last_hidden_state(tiny.config, without_types, KNOWN["A citation"])
    vector = load_encoder(tiny.folder).encode(["A citation"])[0]
    np.testing.assert_allclose(vector, expected.mean(axis=0), atol=2e-5)


def test_half_precision_is_widened(
    make_model: Callable[..., Any], write_safetensors: Callable[..., bytes]
) -> None:
    tiny = make_model()
    halves = {name: array.astype(np.float16) for name, array in tiny.weights.items()}
    (tiny.folder / "model.safetensors").write_bytes(write_safetensors(halves))
    expected = bert.last_hidden_state(tiny.config, halves, KNOWN["A citation"]).mean(axis=0)
    vector = load_encoder(tiny.folder).encode(["A citation"])[0]
    np.testing.assert_allclose(vector, expected, atol=2e-5)


# --- cross-encoders -------------------------------------------------------------------------

# "A citation" with "the papers": [CLS] a citation [SEP] the papers [SEP].
PAIR = ("A citation", "the papers")
PAIR_IDS, PAIR_TYPES = [CLS, 4, 5, SEP, 10, 8, SEP], [0, 0, 0, 0, 1, 1, 1]


def test_a_score_is_the_logit(make_cross_model: Callable[..., Any]) -> None:
    tiny = make_cross_model(labels=1)
    expected = bert.logits(tiny.config, tiny.weights, PAIR_IDS, PAIR_TYPES)[0]
    model = load_cross_encoder(tiny.folder)
    assert model.scores([PAIR])[0] == pytest.approx(expected, abs=2e-5)
    assert model.scores([]).shape == (0,)


def test_of_two_labels_the_score_is_the_difference(make_cross_model: Callable[..., Any]) -> None:
    tiny = make_cross_model(labels=2)
    no, yes = bert.logits(tiny.config, tiny.weights, PAIR_IDS, PAIR_TYPES)
    score = load_cross_encoder(tiny.folder).scores([PAIR])[0]
    assert score == pytest.approx(yes - no, abs=2e-5)


def test_scores_do_not_depend_on_the_batch(make_cross_model: Callable[..., Any]) -> None:
    model = load_cross_encoder(make_cross_model().folder)
    texts = ["", "a", "the papers of retrieval", "test query, test document.", "citation " * 50]
    pairs = list(pairwise([*texts, *reversed(texts)]))
    alone = [model.scores([pair])[0] for pair in pairs]
    np.testing.assert_allclose(model.scores(pairs, batch=4), alone, atol=1e-5)


def test_the_settings_say_which_kind_a_model_is(
    make_model: Callable[..., Any], make_cross_model: Callable[..., Any]
) -> None:
    assert type(load_reranker(make_model().folder)).__name__ == "Encoder"
    assert type(load_reranker(make_cross_model().folder)).__name__ == "CrossEncoder"


def test_the_runtime_tells_nobody(tmp_path: Path, tiny: Any) -> None:
    """ONNX Runtime would leave a session of its own telemetry among the temporary files."""
    places = {name: str(tmp_path) for name in ("TMPDIR", "HOME", "XDG_CACHE_HOME")}
    known = {k: v for k, v in os.environ.items() if k not in ("CI", "ORT_DISABLE_TELEMETRY")}
    code = (
        "import sys; from citebed.retrieval.rerank import load_encoder; load_encoder(sys.argv[1])"
    )
    command = [sys.executable, "-c", code, str(tiny.folder)]
    subprocess.run(command, env=known | places, check=True)
    assert not list(tmp_path.iterdir())
