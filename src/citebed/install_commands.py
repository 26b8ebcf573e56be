"""Commands that install missing packages into this environment, from the source of this citebed.

citebed is not on PyPI: ``pip install 'citebed[neural]'`` would fail, or install another package of
that name. So citebed installs an extra from the checkout, wheel or repository that it was installed
from, which pip recorded (``direct_url.json``, PEP 610). If that record or source is missing,
citebed installs the packages of the extra by name.
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


def pip_install_command(*words: str) -> str:
    """Return the command that installs packages into this Python's environment."""
    return _pip("install", *words)


def _pip(verb: str, *words: str) -> str:
    python = shlex.quote(sys.executable)
    if importlib.util.find_spec("pip") is None and shutil.which("uv"):
        return f"uv pip {verb} --python {python} {shlex.join(words)}"
    never_ask = " --yes" if verb == "uninstall" else ""
    return f"{python} -m pip {verb}{never_ask} {shlex.join(words)}"


def install_command(extra: str, package: str) -> str:
    """Return the command that installs the extra that contains ``package``.

    pyspark and pyspark-client have files with the same names, so only one of them can be installed.
    """
    if extra == "spark" and _is_installed("pyspark"):
        extra = "spark-full"
    line = pip_install_command(*_wanted(extra, package))
    if extra == "spark-full" and _is_installed("pyspark-client"):
        line = f"{_pip('uninstall', 'pyspark-client')} && {line}"
    return line


def _wanted(extra: str, package: str) -> list[str]:
    try:
        installed = distribution(_PACKAGE)
    except PackageNotFoundError:  # a checkout on Python's path
        return _from_folder(_checkout(), extra) or [package]
    return _from_origin(installed, extra) or _parts(installed, extra) or [package]


def _is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def _from_origin(installed: Distribution, extra: str) -> list[str]:
    """Return the requirement that installs from citebed's source; empty if the source is unknown or
    gone."""
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
    """Return pip's record of the package's source; empty for a package from an index."""
    text = installed.read_text("direct_url.json")
    found = json.loads(text) if text else {}
    return found if isinstance(found, dict) else {}


def _checkout() -> Path:
    """Return the folder that is the checkout if this file is in one."""
    return Path(__file__).resolve().parents[2]


def _parts(installed: Distribution, extra: str) -> list[str]:
    """Return the packages of an extra, with their version constraints."""
    found = (_OF_EXTRA.match(each) for each in installed.requires or ())
    return [each[1].strip() for each in found if each and each[2] == extra]
