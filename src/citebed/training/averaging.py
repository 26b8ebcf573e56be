"""The mean of encoders that were trained alike from one start, with seeds of their own.

It finds a little more than each of them and costs no more to use (Wortsman et al. 2022, model
soups).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.retrieval.encoders.loading.folder import read_json
from citebed.training.card import card_of, data_facts
from citebed.training.doors import AdapterFile, Trained, place_of, texts_of, write_trained
from citebed.training.prepared import TrainingTexts
from citebed.training.settings import (
    EncoderSettings,
    Report,
    described,
    device_of,
    import_torch,
    settings_of,
)
from citebed.training.start import read_start
from citebed.wording import printable

if TYPE_CHECKING:
    from citebed.collection import Collection

Card = Mapping[str, Any]


def average_encoders(  # noqa: PLR0913 - as in train_encoder
    source: str | Path | Collection | TrainingTexts,
    encoders: Sequence[str | Path],
    contexts: Iterable[str | Path] = (),
    *,
    out: str | Path | None = None,
    adapter: str | Path | AdapterFile | None = None,
    start: str | Path | None = None,
    weights: Sequence[str | Path] = (),
    half: bool = False,
    device: str = "auto",
    report: Report = lambda _: None,
) -> Trained:
    """Average the weights of encoders that `train_encoder` made of one start and the same texts.

    ``source`` are those texts: what comes out is measured on their test. Writes a model's folder
    ``out``, or the difference to ``start`` as one small file ``adapter``, or both.
    """
    import_torch()
    from citebed.training.encoding import EncoderTask

    place, texts = place_of(out, adapter), texts_of(source, contexts)
    if adapter and start is None:
        raise CitebedError(
            "--adapter needs --start: the model that the encoders were trained from."
        )
    cards = _cards([Path(each) for each in encoders], texts)
    models = [read_start(each) for each in encoders]
    begun = read_start(start, weights) if start is not None else models[0]
    learned = mean_of([each.weights for each in models])
    settings = settings_of(EncoderSettings, cards[0]["settings"])
    encoder = EncoderTask(begun, texts, settings, device_of(device))
    encoder.network.load(learned)
    after = encoder.figures("test")
    report(f"mean of {len(models)} encoders: {', '.join(f'{k} {v:.4f}' for k, v in after.items())}")
    card = _card(cards, data_facts(texts, settings.fold), described(encoder.network.device), after)
    write_trained(begun, learned, card, out, adapter, half)
    return Trained(place, card)


def mean_of(
    models: Sequence[Mapping[str, NDArray[np.float32]]],
) -> dict[str, NDArray[np.float32]]:
    """The mean of weights, name by name."""
    first, *others = models
    if any(
        each.keys() != first.keys() or any(each[name].shape != first[name].shape for name in first)
        for each in others
    ):
        raise CitebedError("the encoders have different architectures and cannot be averaged.")
    return {name: np.mean([each[name] for each in models], axis=0) for name in first}


def _cards(folders: Sequence[Path], texts: TrainingTexts) -> list[Card]:
    """The cards of encoders that can be averaged."""
    if len(folders) < 2:
        raise CitebedError("give at least two encoders to average.")
    cards = [_card_in(folder) for folder in folders]
    for folder, card in zip(folders, cards, strict=True):
        this = f"'{printable(folder)}' was trained"
        if card["start"] != cards[0]["start"]:
            raise CitebedError(f"{this} from another start than '{printable(folders[0])}'.")
        if card["data"].get("sha256") != texts.fingerprint:
            raise CitebedError(f"{this} on other texts than those that are given.")
        if card["settings"].get("fold") != cards[0]["settings"].get("fold"):
            raise CitebedError(f"{this} with another fold for the test.")
    return cards


def _card_in(folder: Path) -> Card:
    card = read_json(folder / "card.json") or {}
    if not all(isinstance(card.get(name), dict) for name in ("data", "settings", "start")):
        raise CitebedError(
            f"'{printable(folder)}' is no encoder that 'citebed train encoder' made: "
            "it has no card.json that says from what."
        )
    return card


def _card(cards: Sequence[Card], data: Card, device: str, after: Card) -> dict[str, Any]:
    kept = ("made", "seconds", "losses", "after")
    runs = [
        {"seed": card["settings"].get("seed"), **{name: card.get(name) for name in kept}}
        for card in cards
    ]
    seconds = sum(card.get("seconds", 0) for card in cards)
    how = {"device": device, "seconds": seconds, "start": cards[0]["start"], "runs": runs}
    figures = {"before": cards[0].get("before") or {}, "after": dict(after)}
    return card_of("encoder", data, cards[0]["settings"], {**how, **figures})
