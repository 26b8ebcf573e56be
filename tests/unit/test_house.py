"""Rules of the house that no tool checks."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "citebed"
FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_nobody_imports_the_root_package_from_inside(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            if node.module == "citebed":
                assert path.name in ("__init__.py",)
                assert path.parent == SOURCE
        if isinstance(node, ast.Import):
            assert all(alias.name != "citebed" for alias in node.names)


def test_importing_citebed_is_light_and_does_nothing(tmp_path: Path) -> None:
    code = (
        "import sys, citebed; "
        "heavy = {'polars', 'lxml', 'numpy', 'matplotlib', 'rich'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
    assert not any(tmp_path.iterdir())


def test_the_command_line_answers_help_without_heavy_imports(tmp_path: Path) -> None:
    code = (
        "import sys; from citebed.cli.app import main; main(['import', '--help']); "
        "heavy = {'polars', 'lxml', 'numpy', 'matplotlib'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    subprocess.run(
        [sys.executable, "-c", code], check=True, cwd=tmp_path, stdout=subprocess.DEVNULL
    )


def test_the_doors_are_thin() -> None:
    """No function of the command line has over 40 lines of code besides its options."""
    for path in (SOURCE / "cli").rglob("*.py"):
        lines = path.read_text("utf-8").splitlines()
        for node in ast.walk(ast.parse("\n".join(lines))):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                code = [
                    line for line in lines[body[0].lineno - 1 : node.end_lineno] if line.strip()
                ]
                assert len(code) <= 40, f"{path.name}: {node.name}"
