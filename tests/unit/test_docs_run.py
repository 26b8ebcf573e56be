"""Every shell and Python block of the docs runs on the demo collection. A text block that begins
with ``$ citebed`` shows a command and lines of its output (robustness.md has its own test).

A block runs in the folder of its page, after those before it. The lists below name the commands
that are left out: they need a network, a package or another program. Unless CITEBED_FULL=1, figures
are blank and simulations short: other tests draw and simulate.
"""

from __future__ import annotations

import contextlib
import doctest
import glob
import io
import re
import shlex
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from tests.docs_place import make_place, run
from tests.sampling import FULL
from tests.shared import Once
from tests.tiny_models import CONFIG, random_weights, write_model

from citebed.cli.app import main
from citebed.judging import open_campaign
from citebed.judging.demo import play_authors
from citebed.retrieval.encoders import fetch_encoder

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
STREAMS = {"timeline.md", "timeline-report.md"}
"""Pages whose ``*.run`` are filter runs; search.md makes its own."""
NOT_OURS = re.compile(
    r"\s*(make|pipx?|uv|source|hf|pdftotext|claude|python bench/"
    r"|citebed (fetch|serve|watch|campaign organiser))\b|\s*citebed import mine/ (~|zotero:)"
)
"""Other programs, and what needs a network or Zotero, serves without end or asks for a password."""
NEEDS_A_DOWNLOAD = (
    "acm-cr/acm-cr.tar.gz", "cran.tar.gz", "minilm", "contexts.jsonl.xz", "big.qrels",
)  # fmt: skip
NEEDS_TORCH = re.compile(r"citebed train (static|encoder)\b")
PYTHON_ELSEWHERE = ("import pyterrier", "import duckdb", "load_encoder", "import citebed_demo")
"""Blocks that need packages which are not installed with the tests, or that have their own test."""
NEURAL = re.compile("scibert|gte|neural")
SETTING = re.compile("[A-Z_]+=")
FEW_RANKINGS = ["--rankings", "20"]
BLANK = b'<svg xmlns="http://www.w3.org/2000/svg" width="9pt" height="9pt" viewBox="0 0 9 9"></svg>'


@pytest.fixture(scope="session")
def place(once: Once) -> Path:
    def make(folder: Path) -> None:
        folder.mkdir()
        make_place(folder)
        write_model(folder / "scibert", CONFIG, random_weights(CONFIG, 7))  # a folder of that name
        if find_spec("onnxruntime") is not None:
            fetch_encoder(folder / "data/citebed/models/encoder", source=folder / "scibert")

    return once("docs", make)


@pytest.fixture(autouse=True)
def _blank_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    def save(_: Figure, file: io.BytesIO, **__: object) -> None:
        file.write(BLANK)

    if not FULL:
        monkeypatch.setattr(Figure, "savefig", save)


@pytest.fixture
def here(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    shutil.copytree(place, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "data"))
    monkeypatch.delenv("COLUMNS", raising=False)  # the docs show what a pipe gets
    return folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_runs(page: Path, here: Path) -> None:
    if page.name in (*STREAMS, "search.md"):
        for path in here.glob("*.run"):
            path.unlink()
    if page.name in STREAMS:
        _filter_runs()
    names: dict[str, object] = {"__name__": "page"}
    for language, block in FENCE.findall(page.read_text("utf-8")):
        if language == "toml":
            (here / block.split()[1]).write_text(block)
        if language in ("sh", "") and page.name != "commands.md":
            _shell(block)
        if language == "text" and block.startswith("$ citebed ") and page.name != "robustness.md":
            command, expected = block.removeprefix("$ ").split("\n", 1)
            assert expected.strip() in _shell(command)
        if language == "python" and not any(word in block for word in PYTHON_ELSEWHERE):
            _python(block, page, names)


def _filter_runs() -> None:
    for model, name in (("names", "names"), ("relevance_model", "lsis")):
        run("filter", "stream.jsonl", "--topics", "topics.jsonl", "--model", model,
            "-o", f"{name}.run", "--quiet")  # fmt: skip


def _shell(block: str) -> str:
    """Run the commands of a block and return what they print."""
    printed = ""
    for line in block.replace("\\\n", " ").splitlines():
        command = line.split(" #")[0].strip()
        if NEURAL.search(command) and find_spec("onnxruntime") is None:
            continue
        if NEEDS_TORCH.match(command) and find_spec("torch") is None:
            continue
        if not command or NOT_OURS.match(command) or any(w in command for w in NEEDS_A_DOWNLOAD):
            continue
        words = [word for word in shlex.split(command) if not SETTING.match(word)]
        assert words[0] == "citebed", command
        expanded = [name for word in words[1:] for name in _expanded(word)]
        if expanded[:2] == ["campaign", "returns"]:
            play_authors(open_campaign(expanded[2]), Path(expanded[3]))
        if expanded[0] == "robustness" and not FULL:
            expanded += FEW_RANKINGS
        told = io.StringIO()
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
            code = main(expanded)
        assert code == 0, f"{command}\n{told.getvalue()}"
        printed += told.getvalue()
    return printed


def _expanded(word: str) -> list[str]:
    return sorted(glob.glob(word)) or [word] if "*" in word and "/data/" not in word else [word]


def _python(block: str, page: Path, names: dict[str, object]) -> None:
    if block.lstrip().startswith(">>>"):
        test = doctest.DocTestParser().get_doctest(block, names, page.name, str(page), 0)
        assert not doctest.DocTestRunner().run(test, clear_globs=False).failed
        names.update(test.globs)
    else:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(block, page.name, "exec"), names)
