"""The package contains the data files that citebed needs."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatch
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "src" / "citebed"


def test_every_file_beside_the_modules_is_packed() -> None:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
    patterns = settings["tool"]["setuptools"]["package-data"]["citebed"]
    files = [path.relative_to(PACKAGE) for path in PACKAGE.rglob("*") if path.is_file()]
    ours = [path for path in files if path.suffix != ".py" and "__pycache__" not in path.parts]
    assert Path("retrieval/vectors/static.npz") in ours
    # A star of setuptools stays in its folder.
    assert [
        str(path)
        for path in ours
        if not any(
            fnmatch(str(path), pattern) and path.parent == Path(pattern).parent
            for pattern in patterns
        )
    ] == []
