"""Students: they begin as layers of their teacher, and come nearer to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from citebed.cli.app import main
from citebed.errors import CitebedError
from citebed.retrieval.encoders.models import load_encoder
from citebed.retrieval.vectors.trained_weights import read_student
from citebed.training import TrainingTexts, train_student, write_prepared
from citebed.training.__main__ import main as bare_main
from citebed.training.encoder import choose_layers, make_student
from citebed.training.network import read_initial_model
from citebed.training.settings import Machine

SMALL: dict[str, Any] = {
    **{"layers": 1, "epochs": 12, "batch": 32, "others": 64, "rate": 3e-3},
    **{"document_tokens": 20, "teacher_tokens": 24, "group": 8},
}
HERE = Machine(device="cpu")


def test_which_layers() -> None:
    assert choose_layers(4, 12) == [2, 5, 8, 11]
    assert choose_layers(6, 12) == [1, 3, 5, 7, 9, 11]
    assert choose_layers(1, 2) == [1]
    for wrong in (0, 12):
        with pytest.raises(CitebedError, match="its teacher has 12: expected fewer"):
            choose_layers(wrong, 12)


def test_it_begins_as_layers_of_its_teacher(tiny_of: Callable[..., Path]) -> None:
    teacher = read_initial_model(tiny_of("four", num_hidden_layers=4))
    begun = make_student(teacher, 2)
    assert (begun.layers, begun.folder.config["num_hidden_layers"]) == (2, 2)
    part = "attention.self.query.weight"
    for mine, theirs in ((0, 1), (1, 3)):
        own, of_teacher = (f"encoder.layer.{number}.{part}" for number in (mine, theirs))
        np.testing.assert_array_equal(begun.weights[own], teacher.weights[of_teacher])
    assert not any(".layer.2." in name for name in begun.weights)


def test_it_comes_nearer_and_is_what_its_folder_and_its_file_say(
    texts: TrainingTexts, tiny: Path, tmp_path: Path
) -> None:
    out, file = tmp_path / "student", tmp_path / "student.npz"
    card = train_student(texts, teacher=tiny, out=out, file=file, machine=HERE, **SMALL).card
    assert card["before"]["cosine"] < card["after"]["cosine"] > 0.8
    assert card["teacher"]["name"] == "tiny"
    whole, taught = read_initial_model(out), read_initial_model(tiny)
    assert whole.layers == 1
    table = "embeddings.word_embeddings.weight"
    np.testing.assert_array_equal(whole.weights[table], taught.weights[table])
    joined = read_student(file).apply(taught.weights)
    for name, array in whole.weights.items():
        most = float(np.abs(array).max())
        np.testing.assert_allclose(joined[name], array, atol=0.01 * most, err_msg=name)
    assert load_encoder(out).encode(["a paper"]).shape == (1, taught.weights[table].shape[1])


def test_a_run_that_was_stopped_comes_to_the_same(
    texts: TrainingTexts, tiny: Path, tmp_path: Path
) -> None:
    few = {**SMALL, "epochs": 2}
    one, other = tmp_path / "one", tmp_path / "other"
    train_student(texts, teacher=tiny, out=one, machine=HERE, **few)
    limited = Machine(device="cpu", checkpoint_minutes=0, minutes=1e-9)
    with pytest.raises(CitebedError, match="Run the same command to continue"):
        train_student(texts, teacher=tiny, out=other, machine=limited, **few)
    train_student(texts, teacher=tiny, out=other, machine=HERE, **few)
    assert (one / "model.safetensors").read_bytes() == (other / "model.safetensors").read_bytes()


def test_both_command_lines_teach(texts: TrainingTexts, tiny: Path, tmp_path: Path) -> None:
    write_prepared(tmp_path / "texts.jsonl.xz", texts)
    words = [str(tmp_path / "texts.jsonl.xz"), "--teacher", str(tiny), "--layers", "1"]
    words += ["--epochs", "1", "--batch", "16", "--device", "cpu"]
    changed = ["others=16", "document_tokens=20", "teacher_tokens=24"]
    sets = [word for each in changed for word in ("--set", each)]
    assert main(["train", "student", *words, *sets, "-o", str(tmp_path / "one")]) == 0
    bare = ["--others", "16", "--document-tokens", "20", "--teacher-tokens", "24"]
    assert bare_main(["student", *words, *bare, "-o", str(tmp_path / "two")]) == 0
    one, two = (read_initial_model(tmp_path / name).fingerprint for name in ("one", "two"))
    assert one == two
