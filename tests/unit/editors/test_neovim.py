"""Neovim as a client: completion, hover, diagnostics and a code action that changes a file."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="needs the extra 'editors'")
SCRIPT = Path(__file__).with_name("neovim.lua")


@pytest.mark.skipif(shutil.which("nvim") is None, reason="needs Neovim")
def test_neovim_completes_describes_checks_and_adds(demo_indexed: Path, tmp_path: Path) -> None:
    (tmp_path / "main.tex").write_text(
        "\\documentclass{article}\n\\begin{document}\n"
        "Stemming 😀 merges word forms \\cite{}. Indexing is old \\cite{lsi}.\n"
        "\\bibliography{refs}\n\\end{document}\n"
    )
    bib = "@article{lsi, title={Indexing by Latent Semantic Analysis}, year={1990}}\n"
    (tmp_path / "refs.bib").write_text(bib)
    out = tmp_path / "out.json"
    environment = os.environ | {
        "OUT": str(out), "PYTHON": sys.executable, "LIBRARY": str(demo_indexed),
        "XDG_STATE_HOME": str(tmp_path / "state"), "NVIM_LOG_FILE": str(tmp_path / "nvim.log"),
    }  # fmt: skip
    subprocess.run(
        ["nvim", "--headless", "--clean", "-n", "-c", f"luafile {SCRIPT}"],
        cwd=tmp_path, env=environment, check=True, timeout=120, capture_output=True,
    )  # fmt: skip
    found = json.loads(out.read_text())
    assert found.get("problem") is None
    assert found["label"] == "porter1980algorithm"
    assert "forms \\cite{porter1980algorithm}. Indexing" in found["after"]
    assert "An Algorithm for Suffix Stripping" in found["hover"]
    assert found["diagnostic"] == "'porter1980algorithm' is cited, but no entry has this key"
    assert found["action"] == "Add porter1980algorithm to refs.bib"
    assert found["bib"].startswith(bib + "\n@article{porter1980algorithm,")
