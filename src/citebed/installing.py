"""Lines that install what is missing into this very environment, from where this citebed came.

citebed is on no index: ``pip install 'citebed[neural]'`` would fail, or install something else of
that name. An extra is installed from the checkout, wheel or repository that citebed was installed
from, which pip wrote down (``direct_url.json``, PEP 610). Where nothing is known of that, or it is
gone, what the extra consists of is installed by its own names.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import shutil
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

_PACKAGE = "citebed"
_OF_EXTRA = re.compile(r"""([^;]+);.*\bextra\s*==\s*['"]([\w-]+)['"]""")


def pip_install(*words: str) -> str:
    """The command that installs packages where this Python looks for them."""
    python = shlex.quote(sys.executable)
    if importlib.util.find_spec("pip") is None and shutil.which("uv"):
        return f"uv pip install --python {python} {shlex.join(words)}"
    return f"{python} -m pip install {shlex.join(words)}"


def install_line(extra: str, package: str) -> str:
    """The command that installs an extra of citebed's, to which ``package`` belongs."""
    try:
        installed = distribution(_PACKAGE)
    except PackageNotFoundError:  # a checkout on Python's path
        return pip_install(*(_from_folder(_checkout(), extra) or [package]))
    return pip_install(*(_from_origin(installed, extra) or _parts(installed, extra) or [package]))


def _from_origin(installed: Distribution, extra: str) -> list[str]:
    """What to install from where citebed came; nothing where that is not known, or gone."""
    origin = _origin(installed)
    url = str(origin.get("url", ""))
    if "vcs_info" in origin:
        about = origin["vcs_info"]
        return [f"{_PACKAGE}[{extra}] @ {about['vcs']}+{url}@{about['commit_id']}"]
    if not url.startswith("file:"):
        return [f"{_PACKAGE}[{extra}] @ {url}"] if url else []
    place = Path(unquote(urlparse(url).path))
    if "dir_info" not in origin:
        return [f"{place}[{extra}]"] if place.is_file() else []
    found = _from_folder(place, extra)
    return ["--editable", *found] if found and origin["dir_info"].get("editable") else found


def _from_folder(folder: Path, extra: str) -> list[str]:
    return [f"{folder}[{extra}]"] if (folder / "pyproject.toml").is_file() else []


def _origin(installed: Distribution) -> dict[str, Any]:
    """What pip wrote down of where it had the package from; nothing for one of an index."""
    text = installed.read_text("direct_url.json")
    found = json.loads(text) if text else {}
    return found if isinstance(found, dict) else {}


def _checkout() -> Path:
    """The folder that would be the checkout, if this file is in one."""
    return Path(__file__).resolve().parents[2]


def _parts(installed: Distribution, extra: str) -> list[str]:
    """The packages that an extra consists of, with the versions that they must have."""
    found = (_OF_EXTRA.match(each) for each in installed.requires or ())
    return [each[1].strip() for each in found if each and each[2] == extra]
