"""What a model's folder says about the model: its settings, pooling, length and weights."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from citebed.errors import CitebedError, FormatError, is_interrupt
from citebed.files.input_files import hash_file, read_text
from citebed.files.limits import MODEL_BYTES, check_size
from citebed.install_commands import pip_install_command
from citebed.retrieval.encoders.loading.architectures import positions
from citebed.retrieval.pipeline import ENCODER_PACKAGE
from citebed.wording import printable

# In the order in which they are preferred.
WEIGHT_FILES = ("model.onnx", "onnx/model.onnx", "model.safetensors", "pytorch_model.bin")
TOKENISER_FILES = ("tokenizer.json", "vocab.txt", "tokenizer_config.json")
SETTINGS_FILES = (
    "config.json",
    *TOKENISER_FILES,
    "special_tokens_map.json",
    "modules.json",
    "sentence_bert_config.json",
    "?_*/config.json",
)
DOCUMENT_WEIGHTS = "documents.onnx"
"""A network that reads documents in place of the folder's own, which then reads queries: a quicker
one that learned to give the same vectors, with the same tokeniser and pooling."""
_STEPS = (("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize"))
MODULES = [
    {"idx": n, "name": f"{n}", "path": path, "type": f"sentence_transformers.models.{step}"}
    for n, (step, path) in enumerate(_STEPS)
]
"""What ``modules.json`` says of the encoders that are made here."""
POOLINGS = ("mean", "cls", "max")
_POOLING_NAMES = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
}
_LENGTH_WHERE_NOTHING_SAYS = 512
FEWEST_TOKENS = 3
"""One between those that begin and end a text."""


@dataclass(frozen=True)
class ModelFolder:
    """A model on disk; everything that decides its vectors can be read from here."""

    path: Path
    weights: Path
    config: Mapping[str, Any]

    @property
    def is_cross_encoder(self) -> bool:
        """Whether the model scores pairs of texts rather than encoding one."""
        names = self.config.get("architectures") or []
        return any(str(name).endswith("ForSequenceClassification") for name in names)

    @property
    def is_quantised(self) -> bool:
        """Whether what goes through the network is brought to 8 bits, by the largest number in it.

        Then a text's vector would depend on the texts that are run with it.
        """
        return "quantised" in self.config


def open_folder(path: Path) -> ModelFolder:
    """A model's folder, checked for settings, weights and a tokeniser."""
    weights = weight_file(path)
    if weights is None:
        sharded = any(path.glob("*.index.json"))
        shards = " Weights in several files are not read." if sharded else ""
        raise CitebedError(
            f"the folder '{path}' has no model: expected one of {', '.join(WEIGHT_FILES)}.{shards}"
        )
    for file in _weight_files(weights):
        check_size(file, MODEL_BYTES)
    config = read_json(path / "config.json")
    if config is None and weights.suffix != ".onnx":
        raise CitebedError(f"the folder '{path}' has {weights.name}, but no config.json beside it")
    if not any((path / name).is_file() for name in TOKENISER_FILES[:2]):
        raise CitebedError(f"the folder '{path}' has neither tokenizer.json nor vocab.txt")
    return ModelFolder(path, weights, config or {})


def documents_of(folder: ModelFolder) -> ModelFolder:
    """The folder as it reads documents: with a network for them if it has one."""
    weights = folder.path / DOCUMENT_WEIGHTS
    if folder.weights.suffix != weights.suffix or not weights.is_file():
        return folder
    check_size(weights, MODEL_BYTES)
    return replace(folder, weights=weights)


def weight_file(folder: Path) -> Path | None:
    """The file of weights that is used, the first of ``WEIGHT_FILES`` that is there."""
    return next((folder / name for name in WEIGHT_FILES if (folder / name).is_file()), None)


def _weight_files(weights: Path) -> list[Path]:
    """The file of weights, and those beside it to which an ONNX file moves some."""
    return [weights, *sorted(weights.parent.glob(f"{weights.name}_data*"))]


def read_json(path: Path) -> dict[str, Any] | None:
    """A JSON object from a file, or ``None`` if there is no such file."""
    if not path.is_file():
        return None
    value = _parsed(path)
    if not isinstance(value, dict):
        raise FormatError(path, None, "expected a JSON object")
    return value


def _parsed(path: Path) -> Any:
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise FormatError(path, None, f"not JSON ({error})") from error


@contextlib.contextmanager
def blaming(folder: ModelFolder) -> Iterator[None]:
    """Whatever a library says of a model, also in panic, is told as a fault of the model's files.

    Settings that do not fit each other or the weights raise nearly anything, in three libraries.
    """
    try:
        yield
    except (CitebedError, MemoryError):
        raise
    except BaseException as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from None
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise CitebedError(
            f"the model in '{folder.path}' does not work: {reason}. Its files may be "
            "damaged, or not belong together: get them anew"
        ) from error


# --- length ---------------------------------------------------------------------------------


def most_tokens(folder: ModelFolder, asked: int | None) -> int:
    """How many tokens of a text are read, special ones included; the rest is cut off.

    What was asked for, else what the folder says (``max_seq_length``), else all that the model
    has positions for.
    """
    limit = positions(folder.config)
    if asked is not None:
        if asked < FEWEST_TOKENS or (limit is not None and asked > limit):
            takes = f"{FEWEST_TOKENS} to {limit or 'any number'}"
            raise CitebedError(f"max_tokens is {asked}; '{folder.path.name}' takes {takes}")
        return asked
    settings = read_json(folder.path / "sentence_bert_config.json") or {}
    own = settings.get("max_seq_length")
    known = [n for n in (own, limit) if isinstance(n, int)]
    return min(known) if known else _LENGTH_WHERE_NOTHING_SAYS


def document_tokens(folder: ModelFolder, most: int) -> int:
    """How many tokens of a document are read for an index: what the folder says
    (``document_tokens``), else as many as of any text."""
    settings = read_json(folder.path / "sentence_bert_config.json") or {}
    own = settings.get("document_tokens")
    return min(own, most) if isinstance(own, int) and own >= FEWEST_TOKENS else most


def lower_cases(folder: ModelFolder) -> bool:
    """Whether texts are put in lower case before the tokeniser sees them."""
    settings = read_json(folder.path / "sentence_bert_config.json") or {}
    return settings.get("do_lower_case") is True


# --- pooling --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pooling:
    """How the vectors of a text's tokens become one: ``mean``, ``cls`` (the first) or ``max``;
    ``unit`` is whether the result is scaled to length 1."""

    kind: str = "mean"
    unit: bool = False

    def __str__(self) -> str:
        return f"{self.kind}, unit length" if self.unit else self.kind


def pooling_of(folder: ModelFolder, asked: str | None) -> Pooling:
    """The pooling that was asked for, else what the folder's modules say, else the mean.

    A folder with a step that citebed does not have (a dense layer behind the pooling, weighted
    means) is an error: leaving the step out would give other vectors than the model's.
    """
    if asked is not None:
        if asked not in POOLINGS:
            raise CitebedError(f"unknown pooling '{asked}'. Known: {', '.join(POOLINGS)}")
        return Pooling(asked)
    pooling = Pooling()
    for module in _modules(folder.path):
        step = str(module.get("type", "")).rsplit(".", 1)[-1]
        if step == "Pooling":
            pooling = Pooling(_pooling_kind(_part(folder.path, module.get("path", ""))))
        elif step == "Normalize":
            pooling = Pooling(pooling.kind, unit=True)
        elif step not in ("Transformer", "Dropout"):
            raise CitebedError(
                f"the model in '{folder.path}' ends with a step '{step}', which citebed does not "
                "have. To do without it, give a pooling: mean, cls or max"
            )
    return pooling


def _modules(folder: Path) -> list[dict[str, Any]]:
    path = folder / "modules.json"
    if not path.is_file():
        alone = [{"type": "Pooling", "path": "1_Pooling"}]
        return alone if (folder / "1_Pooling" / "config.json").is_file() else []
    modules = _parsed(path)
    if not isinstance(modules, list) or not all(isinstance(entry, dict) for entry in modules):
        raise FormatError(path, None, "expected a list of modules")
    return modules


def _part(folder: Path, name: object) -> Path:
    """The folder of a module, which is one of the model's own."""
    if not isinstance(name, str) or "/" in name.rstrip("/") or ".." in name:
        raise FormatError(folder / "modules.json", None, f"{name!r:.80} is no folder of the model")
    return folder / name


def _pooling_kind(folder: Path) -> str:
    settings = read_json(folder / "config.json") or {}
    modes = [
        name for name, on in settings.items() if name.startswith("pooling_mode_") and on is True
    ]
    kinds = [_POOLING_NAMES.get(name, name) for name in modes]
    if "pooling_mode" in settings:
        kinds = [str(settings["pooling_mode"])]
    if len(kinds) != 1 or kinds[0] not in POOLINGS:
        raise CitebedError(
            f"the pooling of '{folder}' is {' and '.join(kinds) or 'not said'}; citebed has "
            f"{', '.join(POOLINGS)}. Give one of them to use it instead"
        )
    return kinds[0]


# --- identity -------------------------------------------------------------------------------


def fingerprint(folder: ModelFolder, *how: object) -> str:
    """A hash of the model's weights, settings and tokeniser, and of how it is used.

    Two models with the same fingerprint give the same vectors, wherever they lie and whatever
    they are called. Costs one reading of the weights per process (a tenth of a second for MiniLM).
    """
    digest = hashlib.sha256()
    files = _weight_files(folder.weights)
    files += [folder.path / name for name in ("config.json", *TOKENISER_FILES)]
    for file in files:
        if file.is_file():
            state = file.stat()
            content = _file_hash(file, state.st_size, state.st_mtime_ns)
            digest.update(f"{file.name} {content}\n".encode())
    digest.update(repr(how).encode())
    return digest.hexdigest()


@lru_cache(maxsize=64)
def _file_hash(path: Path, _size: int, _changed: int) -> str:
    return hash_file(path)


CARD = "citebed.json"
FORMAT = 1


def write_card(folder: Path, about: Mapping[str, Any]) -> None:
    """Write down what a model is, with the SHA-256 of every file in its folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != CARD)
    sums = {path.relative_to(folder).as_posix(): hash_file(path) for path in files}
    text = json.dumps({"format": FORMAT, **about, "files": sums}, indent=1, ensure_ascii=False)
    (folder / CARD).write_text(text + "\n", "utf-8")


def read_card(folder: Path) -> dict[str, Any] | None:
    """What a model folder says of itself; ``None`` where it has no card."""
    return read_json(folder / CARD)


def check_files(folder: Path) -> dict[str, Any] | None:
    """The card, after every file that it names was found to be as it was written."""
    card = read_card(folder)
    sums = card.get("files", {}) if card is not None else {}
    if card is not None and (card.get("format") != FORMAT or not isinstance(sums, dict)):
        raise _damaged(folder, f"{CARD} is not a card that this citebed reads")
    for name, expected in sums.items():
        path = folder / name
        leads_out = ".." in path.parts or not path.resolve().is_relative_to(folder.resolve())
        if leads_out or not path.is_file():
            raise _damaged(folder, f"{name} is missing")
        if hash_file(path) != expected:
            raise _damaged(folder, f"{name} is not as it was written")
    return card


def _damaged(folder: Path, what: str) -> CitebedError:
    how = "citebed fetch encoder; or train it anew."
    if folder.parent.name == ENCODER_PACKAGE:
        how = pip_install_command("--force-reinstall", ENCODER_PACKAGE.replace("_", "-"))
    return CitebedError(
        f"the model in '{printable(folder)}' is damaged: {what}. Get it anew: {how}"
    )
