"""The lines that install what is missing: from where this citebed came, into this environment."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import venv
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from tests.sampling import FULL

from citebed import install_commands
from citebed.errors import MissingExtra
from citebed.install_commands import install_command, pip_install_command

REPOSITORY = Path(__file__).resolve().parents[2]
PIP = "pip"
REQUIRES = """Metadata-Version: 2.1
Name: citebed
Version: 0.1.0
Requires-Dist: numpy>=2.0
Requires-Dist: psycopg[binary]>=3.2; extra == "postgresql"
Requires-Dist: torch>=2.4; extra == 'train'
Requires-Dist: tokenizers<9,>=0.20 ; extra == "train"
"""


@pytest.fixture
def came_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def install(origin: dict[str, Any] | None) -> None:
        folder = tmp_path / "citebed-0.1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(REQUIRES)
        if origin is not None:
            (folder / "direct_url.json").write_text(json.dumps(origin))
        installed = metadata.Distribution.at(folder)
        monkeypatch.setattr(install_commands, "distribution", lambda _: installed)

    return install


def _words(line: str) -> list[str]:
    """Return the arguments of pip."""
    words = shlex.split(line)
    assert words[:4] == [sys.executable, "-m", "pip", "install"]
    return words[4:]


@pytest.mark.parametrize("editable", [True, False])
def test_from_a_checkout(came_from: Any, tmp_path: Path, editable: bool) -> None:
    folder = tmp_path / "my checkout"
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    about = {"editable": True} if editable else {}
    came_from({"url": folder.as_uri(), "dir_info": about})
    words = _words(install_command("train", "torch"))
    assert words == [*(["--editable"] if editable else []), f"{folder}[train]"]


def test_from_a_wheel(came_from: Any, tmp_path: Path) -> None:
    wheel = tmp_path / "citebed-0.1.0-py3-none-any.whl"
    wheel.touch()
    came_from({"url": wheel.as_uri(), "archive_info": {"hash": "sha256=00"}})
    assert _words(install_command("postgresql", "psycopg")) == [f"{wheel}[postgresql]"]


def test_from_a_repository_or_an_address(came_from: Any) -> None:
    about = {"vcs": "git", "commit_id": "0ff1ce", "requested_revision": "main"}
    came_from({"url": "https://example.org/citebed.git", "vcs_info": about})
    (word,) = _words(install_command("train", "torch"))
    assert word == "citebed[train] @ git+https://example.org/citebed.git@0ff1ce"


@pytest.mark.parametrize(
    "origin",
    [
        None,
        {"url": "file:///nowhere/citebed-0.1.0-py3-none-any.whl", "archive_info": {}},
        {"url": "file:///nowhere/citebed", "dir_info": {"editable": True}},
    ],
)
def test_where_the_origin_is_gone_the_parts_are_named(came_from: Any, origin: Any) -> None:
    came_from(origin)
    assert _words(install_command("train", "torch")) == ["torch>=2.4", "tokenizers<9,>=0.20"]


def test_without_any_record_of_an_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(install_commands, "distribution", missing)
    assert _words(install_command("train", "torch")) == [f"{REPOSITORY}[train]"]
    monkeypatch.setattr(install_commands, "_checkout", lambda: Path("/nowhere"))
    assert _words(install_command("train", "torch")) == ["torch"]


def test_an_environment_without_pip_is_installed_into_by_uv(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/uv")
    assert pip_install_command("torch") == f"uv pip install --python {sys.executable} torch"


def test_nothing_prints_a_line_that_needs_an_index_with_citebed_on_it() -> None:
    found = re.compile(r"install[^\n]*['\" ]citebed(?:\[|==|['\"\s]*$)")
    texts = [*(REPOSITORY / "src").rglob("*.py"), *REPOSITORY.glob("docs/*.md")]
    texts.append(REPOSITORY / "README.md")
    told = [path for path in texts if found.search(path.read_text("utf-8"))]
    assert told == [REPOSITORY / "src" / "citebed" / "install_commands.py"]  # which says why not
    assert "'citebed[" not in str(MissingExtra("neural", "onnx"))


@pytest.mark.skipif(not FULL, reason="downloads all packages twice: CITEBED_FULL=1")
@pytest.mark.parametrize("how", ["checkout", "wheel"])
def test_the_line_works_in_a_fresh_environment(how: str, tmp_path: Path) -> None:
    given = ["--editable", str(REPOSITORY)]
    if how == "wheel":
        build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(tmp_path)]
        subprocess.run([*build, str(REPOSITORY)], check=True)
        given = [str(next(tmp_path.glob("*.whl")))]
    venv.create(tmp_path / "fresh", with_pip=True)
    python = str(tmp_path / "fresh" / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "-q", *given], check=True)
    asked = "from citebed.errors import import_extra; import_extra('postgresql', 'psycopg')"
    missing = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=False)
    line = missing.stderr.rpartition("Run: ")[2].strip()
    assert line.startswith(python)
    subprocess.run(line, shell=True, check=True)
    subprocess.run([python, "-c", asked], check=True)


@pytest.mark.parametrize(
    ("extra", "there", "expected"),
    [
        ("spark", (), ["install", "E[spark]"]),
        ("spark", ("pyspark",), ["install", "E[spark-full]"]),
        ("spark-full", (), ["install", "E[spark-full]"]),
        (
            "spark-full",
            ("pyspark-client",),
            ["uninstall", "--yes", "pyspark-client", "&&", PIP, "install", "E[spark-full]"],
        ),
    ],
)
def test_pyspark_and_its_client_are_never_installed_over_each_other(
    monkeypatch: pytest.MonkeyPatch, extra: str, there: tuple[str, ...], expected: list[str]
) -> None:
    monkeypatch.setattr(install_commands, "_is_installed", lambda name: name in there)
    monkeypatch.setattr(install_commands, "_wanted", lambda extra, _: [f"E[{extra}]"])
    line = install_command(extra, "pyspark").replace(f"{shlex.quote(sys.executable)} -m pip", PIP)
    assert shlex.split(line) == [PIP, *expected]


def test_the_whole_of_pyspark_serves_sail_too() -> None:
    """So --on local goes on working where a master is used."""
    extras = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    client, whole = (
        dict(
            re.split(r"(?=[<>=])", part, maxsplit=1) for part in extras["optional-dependencies"][x]
        )
        for x in ("spark", "spark-full")
    )
    assert whole["pyspark[connect]"] == client["pyspark-client"]
    assert whole["pysail"] == client["pysail"]


def test_a_missing_module_is_named_by_its_package() -> None:
    assert str(MissingExtra("spark-full", "pyspark.core.context")).startswith(
        "this needs 'pyspark',"
    )
