"""Where files of a user's are kept that belong to no collection: models."""

from __future__ import annotations

import os
from pathlib import Path


def models_folder() -> Path:
    """The folder of fetched models, in the user's data folder (``XDG_DATA_HOME``)."""
    given = Path(os.environ.get("XDG_DATA_HOME", ""))
    # By the rule of the XDG folders a relative path is as good as none.
    data = given if given.is_absolute() else Path.home() / ".local" / "share"
    return data / "citebed" / "models"
