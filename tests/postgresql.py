"""A real PostgreSQL server for tests, from Debian's package, on a socket in a temporary folder."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

USER = "citebed"
_numbers = itertools.count(1)


def _programs() -> Path | None:
    """Return the folder of ``initdb`` and ``postgres``; Debian does not put them in the PATH."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if found := shutil.which("initdb"):
        places.append(Path(found).parent)
    return next((place for place in places if (place / "initdb").is_file()), None)


def _as_owner(folder: Path) -> dict[str, int]:
    """PostgreSQL refuses to run as root: then it runs as Debian's user for it."""
    if os.geteuid() != 0:
        return {}
    try:
        owner = pwd.getpwnam("postgres")
    except KeyError:
        owner = pwd.getpwnam("nobody")
    os.chown(folder, owner.pw_uid, owner.pw_gid)
    return {"user": owner.pw_uid, "group": owner.pw_gid}


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[Path]:
    """The folder of the server's socket; skip the test if there is no server."""
    programs = _programs()
    if programs is None:
        pytest.skip("the PostgreSQL server is not installed")
    folder = Path(tempfile.mkdtemp(prefix="citebed-pg-", dir="/tmp"))
    owner = _as_owner(folder)
    data = folder / "data"
    quiet = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **owner}
    command = [programs / "initdb", "-D", data, "-A", "trust", "-U", USER, "-E", "UTF8", "-N"]
    subprocess.run([*command, "--locale=C.UTF-8"], check=True, **quiet)  # type: ignore[call-overload]
    settings = ["-k", folder, "-c", "listen_addresses=", "-c", "max_connections=200"]
    settings += ["-c", "fsync=off"]  # the machine is not going to fail
    server = subprocess.Popen([programs / "postgres", "-D", data, *settings], **quiet)  # type: ignore[call-overload]
    ready: list[str | Path] = [programs / "pg_isready", "-h", folder, "-t", "30", "-q"]
    try:
        while subprocess.run(ready, check=False).returncode:
            assert server.poll() is None, "the PostgreSQL server did not start"
            time.sleep(0.05)
        yield folder
    finally:
        server.send_signal(signal.SIGQUIT)  # at once: connections of tests may still be open
        server.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgresql(postgresql_server: Path) -> str:
    """The URL of an empty database."""
    return create_database(postgresql_server)


def create_database(server: Path, template: str = "template1") -> str:
    """Create a database and return its URL; its template must have no connections."""
    import psycopg

    name = f"test{next(_numbers)}"
    place = f"host={server} user={USER}"
    with psycopg.connect(f"{place} dbname=postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    return f"postgresql://{USER}@/{name}?host={server}"
