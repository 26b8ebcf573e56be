from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.training.conftest import SMALL

pytest.importorskip("torch", reason="torch is not installed: citebed[torch]")

from citebed.errors import CitebedError
from citebed.retrieval.vectors.static_model import open_static_model
from citebed.retrieval.vectors.trained_weights import read_adapter
from citebed.training import run, train_encoder, train_static
from citebed.training.network import read_initial_model
from citebed.training.settings import Machine
from citebed.training.texts import TrainingTexts, write_prepared

STATIC: dict[str, Any] = {"words": 200, "width": 16, "epochs": 3, "batch": 32, "start": ""}
EACH_STEP = Machine(device="cpu", checkpoint_minutes=0)


def _encoder(texts: TrainingTexts, tiny: Path, out: Path, **more: Any) -> dict[str, np.ndarray]:
    train_encoder(texts, start=tiny, out=out, **{"machine": EACH_STEP, **SMALL, **more})
    return dict(read_initial_model(out).weights)


def _static(texts: TrainingTexts, _: Path, out: Path, **more: Any) -> dict[str, np.ndarray]:
    train_static(texts, out=out, **{"machine": EACH_STEP, **STATIC, **more})
    model = open_static_model(out)
    return {"vectors": model.documents(model.words), "query": model.queries(model.words)}


Train = Callable[..., dict[str, np.ndarray]]
KINDS = pytest.mark.parametrize(("train", "stop"), [(_encoder, 3), (_encoder, 30), (_static, 9)])


class Killed(BaseException):
    """As if the process were gone."""


@KINDS
def test_a_run_that_was_stopped_goes_on_to_the_same_result(
    train: Train,
    stop: int,
    texts: TrainingTexts,
    tiny: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = train(texts, tiny, tmp_path / "whole.npz")
    saved, write_checkpoint = 0, run.write_checkpoint

    def write(*given: Any) -> None:
        nonlocal saved
        write_checkpoint(*given)
        saved += 1
        if saved == stop:
            raise Killed

    monkeypatch.setattr(run, "write_checkpoint", write)
    with pytest.raises(Killed):
        train(texts, tiny, tmp_path / "stopped.npz")
    assert not (tmp_path / "stopped.npz").exists()
    assert (tmp_path / "stopped.npz.checkpoint.npz").exists()
    found = train(texts, tiny, tmp_path / "stopped.npz")
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)
    assert not (tmp_path / "stopped.npz.checkpoint.npz").exists()


def test_a_process_that_was_killed_goes_on_to_the_same_result(
    texts: TrainingTexts, tiny: Path, tmp_path: Path
) -> None:
    write_prepared(tmp_path / "texts.jsonl.xz", texts)
    settings = {**STATIC, "epochs": 40}
    expected = _static(texts, tiny, tmp_path / "whole.npz", **settings, machine=Machine("cpu"))
    words = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
    out, checkpoint = tmp_path / "killed.npz", tmp_path / "killed.npz.checkpoint.npz"
    command = [sys.executable, "-m", "citebed.training", "static", tmp_path / "texts.jsonl.xz"]
    command += ["-o", out, "--device", "cpu", "--checkpoint-minutes", "0", *words]
    with subprocess.Popen([*map(str, command)], stderr=subprocess.DEVNULL) as process:
        while not checkpoint.exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    assert not out.exists()
    found = _static(texts, tiny, out, **settings)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)


@pytest.mark.parametrize("train", [_encoder, _static])
def test_a_checkpoint_of_other_settings_is_refused(
    train: Train, texts: TrainingTexts, tiny: Path, tmp_path: Path
) -> None:
    out = tmp_path / "model.npz"
    limited = Machine(device="cpu", checkpoint_minutes=0, minutes=1e-9)
    with pytest.raises(CitebedError, match=r"stopped after .* Run the same command to continue"):
        train(texts, tiny, out, machine=limited)
    with pytest.raises(CitebedError, match=r"another run: its seed is 7, not 8\..*--restart"):
        train(texts, tiny, out, seed=8)
    shorter = TrainingTexts(texts.documents, texts.contexts[:-1])
    with pytest.raises(CitebedError, match="another run: its data is"):
        train(shorter, tiny, out)
    (tmp_path / "model.npz.checkpoint.npz").write_bytes(b"PK\x03\x04 half a file")
    with pytest.raises(CitebedError, match=r"not a checkpoint, or is damaged .* --restart"):
        train(texts, tiny, out)
    again = Machine(device="cpu", restart=True)
    assert train(texts, tiny, out, machine=again, epochs=1)


def test_a_trained_encoder_finds_more_and_is_what_its_folder_says(
    texts: TrainingTexts, tiny: Path, tmp_path: Path
) -> None:
    lines: list[str] = []
    settings = {**SMALL, "epochs": 8, "rate": 3e-3, "hard_rate": 1e-3}
    out, adapter = tmp_path / "out", tmp_path / "adapter.npz"
    trained = train_encoder(texts, start=tiny, out=out, adapter=adapter, report=lines.append,
                            machine=EACH_STEP, **settings)  # fmt: skip
    card = trained.card
    assert card["losses"]["contexts"] < 4.5
    assert card["data"]["sha256"] == texts.fingerprint
    assert any("takes about" in line for line in lines)
    whole, begun = read_initial_model(out).weights, read_initial_model(tiny).weights
    joined = read_adapter(adapter).apply(begun)
    for name, array in whole.items():
        np.testing.assert_allclose(joined[name], array, atol=0.02, err_msg=name)


def test_static_vectors_learn_what_their_file_gives(texts: TrainingTexts, tmp_path: Path) -> None:
    out = tmp_path / "static.npz"
    trained = train_static(texts, out=out, machine=EACH_STEP, **{**STATIC, "epochs": 12})
    assert trained.card["after"]["R@10"] > trained.card["before"]["R@10"]
    assert (tmp_path / "static.card.md").read_text().startswith("# static trained on made up")
    again = train_static(texts, out=out, machine=EACH_STEP, **{**STATIC, "epochs": 12})
    assert again.card["after"] == trained.card["after"]


def test_a_teacher_is_learned_from(texts: TrainingTexts, tiny: Path, tmp_path: Path) -> None:
    settings = {name: value for name, value in STATIC.items() if name != "start"}
    trained = train_static(
        texts, out=tmp_path / "s.npz", teacher=tiny, machine=EACH_STEP, **settings
    )
    assert trained.card["teacher"]["name"] == "tiny"
    assert open_static_model(tmp_path / "s.npz").width == 16
