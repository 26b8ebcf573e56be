"""Test reading and text analysis with the other Python versions (from 3.11) on this machine.

Versions of Python differ most in the libraries that this code uses: regular expressions, archives,
Unicode. ``make pythons`` calls this script. Each Python gets a small environment with the packages
that these tests need, as in ``requirements-dev.lock``. The tests of all versions run in parallel.
If the packages for a version cannot be installed, the script names it and leaves it out. It fails
if any test fails. It tries the newest version, and all of them with CITEBED_FULL=1.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
FOLDER = Path(".venv-py")
MINORS = range(11, 15)
FULL = os.environ.get("CITEBED_FULL") == "1"

PACKAGES = re.compile(
    "annotated-types|lxml|markdown-it-py|mdurl|numpy|polars|polars-runtime-32|pydantic|pydantic-core"
    "|pypdfium2|pystemmer|pyyaml|typing-extensions|typing-inspection"
    "|hypothesis|sortedcontainers|pytest|iniconfig|packaging|pluggy|pygments|pytest-xdist|execnet"
)
TESTS = [
    "tests/unit/text/test_regex.py",
    "tests/unit/collection/formats",
    "tests/unit/collection/reading/test_sources.py",
    "tests/unit/drafts",
    "tests/unit/retrieval/analysis",
    "tests/unit/text",
]
LEFT_OUT = "not use_citebed_text_regex and not real_ and not by_hand and not cacm and not pdf"
"""Tests that need all packages, or only read much real data again."""
LEFT_TO_FULL = " and not acm_cr and not without_end and not long_input"
"""Tests that run only with CITEBED_FULL=1, which also runs all cases instead of one in sixteen."""


def main(workers: int) -> int:
    """Try all of them, so many at once, and say which; how many Pythons' tests failed."""
    found = _pythons()
    absent = [f"3.{n}" for n in MINORS if not any(v.startswith(f"3.{n}.") for v in found)]
    found.pop(_version(sys.executable), None)
    if not FULL:
        found = dict(list(found.items())[-1:])
    print(f"other Pythons: {', '.join(found) or 'none'}; not here: {', '.join(absent) or 'none'}")
    ready, failed = [], 0
    for version, python in found.items():
        if why := _prepare(FOLDER / version, python):
            print(f"Python {version} was NOT tried, its packages could not be had: {why}")
        else:
            ready.append(version)
    with ThreadPoolExecutor(workers) as pool:
        folders = [FOLDER / version for version in ready]
        for version, (code, told) in zip(ready, pool.map(_tested, folders), strict=True):
            print(f"Python {version}: {told}", flush=True)
            failed += code != 0
    return failed


def _pythons() -> dict[str, str]:
    """Every version once, with the path of its interpreter: on the path, the system's, pyenv's."""
    folders = [Path(each) for each in os.environ.get("PATH", "").split(os.pathsep) if each]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    folders += [Path("/usr/bin"), Path("/usr/local/bin"), *pyenv.glob("versions/*/bin")]
    paths = [folder / f"python3.{minor}" for folder in folders for minor in MINORS]
    found: dict[str, str] = {}
    for path in filter(Path.is_file, paths):
        found.setdefault(_version(str(path)), str(path))
    found.pop("", None)
    return dict(sorted(found.items(), key=lambda item: [int(n) for n in item[0].split(".")]))


def _version(python: str) -> str:
    """Return a version such as ``3.12.1``; empty if the file is not a working Python (a pyenv
    shim)."""
    code = "import sys; print('.'.join(map(str, sys.version_info[:3])))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def _prepare(folder: Path, python: str) -> str:
    """Make the environment if it is not there or not as the lock file says; why it failed."""
    wanted = _locked()
    mark = folder / "requirements.lock"
    if mark.is_file() and mark.read_text("utf-8") == wanted:
        return ""
    given = folder.parent / f"{folder.name}.lock"
    given.parent.mkdir(exist_ok=True)
    given.write_text(wanted, "utf-8")
    made = f"{folder}/bin/python"
    for command in (
        ["make", "--silent", f"VENV={folder}", f"PYTHON={python}", made],
        [made, "-m", "pip", "install", "--quiet", "--require-hashes", "--no-deps", f"-r{given}"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines()
            return next((line for line in lines if "ERROR" in line), lines[-1] if lines else "")
    given.replace(mark)
    return ""


def _locked() -> str:
    """The entries of the lock file, with their hashes, for the packages that are needed."""
    entries = re.split(r"^(?=\w)", Path("requirements-dev.lock").read_text("utf-8"), flags=re.M)
    return "".join(each for each in entries if PACKAGES.fullmatch(each.partition("==")[0]))


def _tested(folder: Path) -> tuple[int, str]:
    """The tests' exit code, and what they say: how many passed and what was not run; or all."""
    known = {**os.environ, "PYTHONPATH": "src", "HYPOTHESIS_PROFILE": "few", "CITEBED_EVERY": "16"}
    command = [
        f"{folder}/bin/python",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--ignore-glob=*pdf*",
        "--ignore-glob=*draft_store*",
    ]
    left_out = LEFT_OUT if FULL else LEFT_OUT + LEFT_TO_FULL
    command += ["-k", left_out, *TESTS]
    done = subprocess.run(command, env=known, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines() or [done.stderr]
    skipped = [f"\n  {line}" for line in lines if line.startswith("SKIPPED")]
    return done.returncode, "\n".join(lines) if done.returncode else "".join([lines[-1], *skipped])


if __name__ == "__main__":
    os.chdir(REPOSITORY)
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2))
