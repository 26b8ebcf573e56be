"""A small made-up field: papers with names of their own, and papers that cite them by name."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.tiny_models import CONFIG, random_weights, write_model

from citebed.training.texts import CitingText, DocumentText, TrainingTexts

SMALL: dict[str, Any] = {
    "batch": 24, "hard_batch": 12, "text_tokens": 16, "document_tokens": 24, "group": 8,
}  # fmt: skip
"""Settings of an encoder's run of seconds."""


def made_up(documents: int = 40, papers: int = 30, seed: int = 1) -> TrainingTexts:
    rng = random.Random(seed)
    words = ["graph", "query", "retrieval", "test", "citation", "document", "papers"]
    found = []
    for number in range(documents):
        one, two, three = (rng.choice(words) for _ in range(3))
        abstract = f"The {one} of thing{number}. A paper cites {two}. We test the {three} of it."
        about = f"{abstract} More is said of thing{number} than of the others."
        found.append(DocumentText(f"d{number}", f"{one} {two}", about, (one, two, three)))
    contexts = []
    for paper in range(papers):
        for _ in range(4):
            cited = rng.sample(range(documents), rng.choice((1, 1, 2)))
            named = " and ".join(f"thing{place} of {found[place].title}" for place in cited)
            contexts.append(CitingText(f"p{paper}", f"as {named} shows", tuple(sorted(cited))))
    return TrainingTexts(found, contexts, {"collection": "made up"})


@pytest.fixture(scope="session")
def texts() -> TrainingTexts:
    return made_up()


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """The folder of a tiny BERT."""
    return write_model(tmp_path / "tiny", CONFIG, random_weights(CONFIG, 7)).folder


@pytest.fixture
def tiny_of(tmp_path: Path) -> Callable[..., Path]:
    """Folders of tiny models with other settings."""

    def make(name: str, **changes: Any) -> Path:
        config = {**CONFIG, **changes}
        return write_model(tmp_path / name, config, random_weights(config, 7)).folder

    return make
