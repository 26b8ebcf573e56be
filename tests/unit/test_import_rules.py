"""Rules for imports and for the command line that no tool checks."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "citebed"


def test_no_module_imports_the_root_package() -> None:
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, path
                assert node.module != "citebed" or path == SOURCE / "__init__.py", path
            if isinstance(node, ast.Import):
                assert all(alias.name != "citebed" for alias in node.names), path


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


def test_commands_are_thin() -> None:
    """No function of the command line has more than 40 lines of code after its options."""
    for path in (SOURCE / "cli").rglob("*.py"):
        lines = path.read_text("utf-8").splitlines()
        for node in ast.walk(ast.parse("\n".join(lines))):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                code = [
                    line for line in lines[body[0].lineno - 1 : node.end_lineno] if line.strip()
                ]
                assert len(code) <= 60, f"{path.name}: {node.name}"
