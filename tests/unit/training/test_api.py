from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.training.conftest import SMALL

import citebed
from citebed.cli.app import main
from citebed.errors import CitebedError, MissingExtra, UnknownName
from citebed.training import EncoderSettings, StaticSettings, write_prepared
from citebed.training.__main__ import main as bare_main
from citebed.training.api import data_facts, format_card, make_card
from citebed.training.settings import parse_settings
from citebed.training.texts import TrainingTexts

SOURCE = Path(citebed.__file__).parents[1]
HAS_TORCH = importlib.util.find_spec("torch") is not None
REFUSED = ("polars", "numba", "typer", "rich", "Stemmer", "scipy", "lxml", "onnx", "onnxruntime")
BARE = f"import sys; sys.modules.update(dict.fromkeys({REFUSED!r}))\n"
"""As if these packages were not there."""


def _bare(code: str, *words: object) -> subprocess.CompletedProcess[str]:
    """Run Python code where nothing but training's own packages can be imported."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", BARE + code, *map(str, words)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


MODULE = "import runpy; runpy.run_module('citebed.training', run_name='__main__', alter_sys=True)"


def test_training_needs_no_other_part_of_citebed(texts: TrainingTexts, tmp_path: Path) -> None:
    write_prepared(tmp_path / "texts.jsonl.xz", texts)
    told = _bare(MODULE, "static", tmp_path / "texts.jsonl.xz", "-o", tmp_path / "s.npz",
                 "--epochs", 1, "--words", 90, "--width", 256, "--device", "cpu")  # fmt: skip
    if HAS_TORCH:
        assert told.returncode == 0, told.stderr
        assert (tmp_path / "s.npz").exists()
    else:
        assert told.returncode == 1
        assert "-m pip install" in told.stderr


@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed: citebed[torch]")
def test_an_encoder_is_trained_there_too(texts: TrainingTexts, tiny: Path, tmp_path: Path) -> None:
    write_prepared(tmp_path / "texts.jsonl.xz", texts)
    small = [word for name, n in SMALL.items() for word in (f"--{name.replace('_', '-')}", n)]
    told = _bare(MODULE, "encoder", tmp_path / "texts.jsonl.xz", "--start", tiny, "--half",
                 "-o", tmp_path / "out", "--epochs", 1, "--hard-epochs", 1, *small)  # fmt: skip
    assert told.returncode == 0, told.stderr
    card = json.loads((tmp_path / "out" / "card.json").read_text())
    assert card["settings"]["hard_epochs"] == 1
    assert set(card["after"]) == {"R@10", "nDCG@10"}


@pytest.mark.skipif(HAS_TORCH, reason="torch is installed")
def test_without_torch_the_error_says_how_to_install_it(
    texts: TrainingTexts, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(MissingExtra, match=r"needs 'torch'.* pip install .*\[torch\]"):
        citebed.train_static(texts, out=tmp_path / "s.npz")
    with pytest.raises(MissingExtra, match="torch"):
        citebed.train_encoder(texts, start=tmp_path, out=tmp_path / "out")
    write_prepared(tmp_path / "texts.jsonl.xz", texts)
    words = [str(tmp_path / "texts.jsonl.xz"), "-o", str(tmp_path / "s.npz")]
    assert main(["train", "static", *words]) == 1
    assert bare_main(["static", *words]) == 1
    assert capsys.readouterr().err.count("[torch]") == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"epoch": 1}, "unknown setting 'epoch'. Did you mean 'epochs'?"),
        ({"epochs": 1.5}, "'epochs' is 1.5; expected a whole number"),
        ({"epochs": 0}, "'epochs' is 0; expected more than 0"),
        ({"rate": "fast"}, "'rate' is 'fast'; expected a number"),
        ({"seed": -1}, "'seed' is -1; expected 0 or more"),
        ({"rate": float("nan")}, "'rate' is nan; expected more than 0"),
    ],
)
def test_settings_that_cannot_be(given: dict[str, Any], message: str) -> None:
    with pytest.raises(CitebedError) as error:
        parse_settings(StaticSettings, given)
    assert message in str(error.value)


def test_settings_are_of_their_kind() -> None:
    assert parse_settings(EncoderSettings, {"rate": 1}).rate == 1
    with pytest.raises(UnknownName):
        parse_settings(StaticSettings, {"hard_rate": 1e-5})


@pytest.mark.parametrize("given", ["rate", "rate=", "rate=fast", "=3"])
def test_a_setting_that_is_not_a_number_is_reported(
    given: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["train", "static", str(tmp_path), "-o", str(tmp_path / "s.npz"), "--set", given]
    assert main(words) == 1
    assert f"--set {given}: expected a name and a number" in capsys.readouterr().err


def test_the_card_tells_what_a_model_is_made_of(texts: TrainingTexts) -> None:
    figures = {"before": {"R@10": 0.25, "nDCG@10": 0.1}, "after": {"R@10": 0.5, "nDCG@10": 0.4}}
    run = {"device": "CPU", "seconds": 125, **figures}
    facts = data_facts(texts, 0)
    assert sum(facts["contexts"].values()) == len(texts.contexts)
    text = format_card(make_card("static", facts, {"seed": 7}, run))
    assert "| R@10 | 0.2500 | 0.5000 |" in text
    assert f"`{texts.fingerprint}`" in text
    assert "on CPU in 2 min, with the seed 7" in text
    unmeasured = format_card(make_card("static", facts, {"seed": 7}, {**run, "after": {}}))
    assert "citebed measured nothing" in unmeasured
