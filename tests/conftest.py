"""Fixtures that every test may use."""

from __future__ import annotations

import compileall
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from tests.sampling import FULL, examples, sampled
from tests.shared import Once, once_for_all

import citebed
from citebed.collection import ImportOptions, import_sources, load_profile, read_exclusions

# Machines differ in speed, and a test that fails must fail for everyone.
settings.register_profile("full", deadline=None, derandomize=True)
settings.register_profile("usual", settings.get_profile("full"), max_examples=examples(100))
settings.register_profile("few", settings.get_profile("full"), max_examples=8)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "usual"))

# Python keeps half a file where a process may write no more, and some here may not: none of the
# hundreds that are started keeps what it compiled. That is done once, before them all.
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
# pytest loads readline, which sets these for the processes that pytest starts.
for name in ("COLUMNS", "LINES"):
    os.environ.pop(name, None)
sys.dont_write_bytecode = False
# A shell starts background jobs with Ctrl-C ignored, but tests interrupt processes.
signal.signal(signal.SIGINT, signal.default_int_handler)

REPOSITORY = Path(__file__).resolve().parent.parent
MEMORY = Path("/dev/shm")
ENOUGH = 4 << 30


def pytest_configure(config: pytest.Config) -> None:
    """Keep temporary files in memory where there is room: tests wait for no disk then."""
    if not hasattr(config, "workerinput"):
        compileall.compile_dir(REPOSITORY / "src", quiet=2)
    if MEMORY.is_dir() and os.access(MEMORY, os.W_OK):
        facts = os.statvfs(MEMORY)
        if facts.f_bavail * facts.f_frsize > ENOUGH and not facts.f_flag & os.ST_NOEXEC:
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def find_shared_data() -> Path | None:
    """The folder of real data: ``$CITEBED_DATA``, else ``../shared/data`` beside the checkout."""
    given = os.environ.get("CITEBED_DATA")
    folder = Path(given) if given else REPOSITORY.parent / "shared" / "data"
    return folder if (folder / "README.md").is_file() else None


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real data that is not part of the project; the test is reported as not run without it."""
    folder = find_shared_data()
    if folder is None:
        pytest.skip("real data is not here: set CITEBED_DATA to its folder")
    return folder


@pytest.fixture(scope="session", autouse=True)
def _state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep citebed's state files away from those of the user who runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


KBA_BYTES = 697_315


@pytest.fixture(scope="session")
def kba_2012(shared_data: Path) -> Path:
    """The judgements of TREC KBA 2012; skip the test if the file is another one."""
    path = shared_data / "kba-2012" / "training-qrels.txt"
    found = path.stat().st_size if path.is_file() else 0
    if found != KBA_BYTES:
        pytest.skip(f"{path.name} is not KBA's: {found:,} bytes, expected {KBA_BYTES:,}")
    return path


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Makes a folder once for all test processes; not to be changed."""
    return once_for_all(tmp_path_factory)


@pytest.fixture(scope="session")
def acm_cr(shared_data: Path, once: Once) -> Path:
    """ACM-CR as a collection; not to be changed."""

    def make(folder: Path) -> None:
        data = shared_data / "acm-cr"
        rules = load_profile("acm-cr").with_options(exclude=read_exclusions(data / "blacklist.txt"))
        paths = [data / "acm-dl.tar.xz", data / "papers"]
        import_sources(folder, paths, ImportOptions(rules=rules))

    return once("acm-cr", make)


@pytest.fixture(scope="session")
def demo_indexed(once: Once) -> Path:
    """The demo collection with its index; copy it before you change it."""
    return once("demo-indexed", lambda folder: citebed.demo(folder).index(quiet=True))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run a sample of the cases if one is wanted, unless a test is given by name."""
    if not FULL and not any("::" in each for each in config.args):
        items[:], left = sampled(items)
        config.hook.pytest_deselected(items=left)
