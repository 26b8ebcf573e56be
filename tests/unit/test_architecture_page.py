"""The page on the architecture, and its picture, show the packages that exist."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCE = REPOSITORY / "src" / "citebed"
PAGE = (REPOSITORY / "docs" / "architecture.md").read_text("utf-8")


def test_the_table_has_every_package() -> None:
    table = PAGE.split("## Packages")[1].split("## ")[0]
    cells = re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)
    named = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    packages = {path.stem for path in SOURCE.iterdir() if path.is_dir() or path.suffix == ".py"}
    assert named == {name for name in packages if not name.startswith("_")}


def test_the_files_that_are_named_exist() -> None:
    for path in re.findall(r"`(\w+(?:/\w+)+(?:\.py)?)`", PAGE):
        assert (SOURCE / path).exists() or (REPOSITORY / path).exists(), path


def test_the_picture_is_current() -> None:
    path = REPOSITORY / "docs" / "package_graph.py"
    spec = importlib.util.spec_from_file_location("package_graph", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    drawn = (REPOSITORY / "docs" / "figures" / "packages.svg").read_text("utf-8")
    assert module.package_picture() == drawn
