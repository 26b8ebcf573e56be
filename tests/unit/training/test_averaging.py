from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.unit.training.conftest import SMALL, made_up

pytest.importorskip("torch", reason="torch is not installed: citebed[torch]")

from citebed.cli.app import main
from citebed.errors import CitebedError
from citebed.retrieval.vectors.trained_weights import read_adapter
from citebed.training import average_encoders, train_encoder, write_prepared
from citebed.training.__main__ import main as bare_main
from citebed.training.network import read_initial_model
from citebed.training.settings import Machine
from citebed.training.texts import TrainingTexts

SHORT = {**SMALL, "epochs": 1, "hard_epochs": 0, "rate": 3e-3}


@pytest.fixture
def trained(texts: TrainingTexts, tiny: Path, tmp_path: Path) -> list[Path]:
    """Encoders of two seeds."""
    found = []
    for seed in (7, 8):
        out = tmp_path / f"seed-{seed}"
        train_encoder(texts, start=tiny, out=out, machine=Machine("cpu"), **SHORT, seed=seed)
        found.append(out)
    return found


def test_the_mean_is_that_of_the_weights(
    trained: list[Path], texts: TrainingTexts, tiny: Path, tmp_path: Path
) -> None:
    out, adapter = tmp_path / "mean", tmp_path / "mean.npz"
    card = average_encoders(texts, trained, out=out, adapter=adapter, start=tiny).card
    one, two, mean = (read_initial_model(each).weights for each in (*trained, out))
    layer = "encoder.layer.0.output.dense.weight"
    assert not np.array_equal(one[layer], two[layer])
    for name, array in mean.items():
        np.testing.assert_allclose(array, (one[name] + two[name]) / 2, atol=1e-7, err_msg=name)
    joined = read_adapter(adapter).apply(read_initial_model(tiny).weights)
    for name, array in mean.items():
        np.testing.assert_allclose(joined[name], array, atol=0.02, err_msg=name)
    assert [run["seed"] for run in card["runs"]] == [7, 8]
    assert set(card["after"]) == {"R@10", "nDCG@10"}
    assert json.loads((out / "card.json").read_text()) == card


def test_both_command_lines_average(
    trained: list[Path], texts: TrainingTexts, tmp_path: Path
) -> None:
    write_prepared(tmp_path / "texts.jsonl.xz", texts)
    words = [str(each) for each in (tmp_path / "texts.jsonl.xz", *trained, "-o")]
    assert main(["train", "average", *words, str(tmp_path / "one")]) == 0
    assert bare_main(["average", *words, str(tmp_path / "two")]) == 0
    one, two = (read_initial_model(tmp_path / name).fingerprint for name in ("one", "two"))
    assert one == two


def test_what_was_trained_otherwise_is_not_averaged(
    trained: list[Path], texts: TrainingTexts, tiny: Path, tmp_path: Path
) -> None:
    out = tmp_path / "mean"

    def refused(encoders: list[Path], source: TrainingTexts = texts) -> str:
        with pytest.raises(CitebedError) as error:
            average_encoders(source, encoders, out=out)
        assert not out.exists()
        return str(error.value)

    assert "at least two" in refused(trained[:1])
    assert "no encoder that 'citebed train encoder' made" in refused([trained[0], tiny])
    assert "on other texts" in refused(trained, made_up(seed=2))
    card = json.loads((trained[1] / "card.json").read_text())
    (trained[1] / "card.json").write_text(json.dumps({**card, "start": {"name": "other"}}))
    assert "from another start" in refused(trained)
    with pytest.raises(CitebedError, match="--adapter needs --start"):
        average_encoders(texts, trained, adapter=tmp_path / "a.npz")
