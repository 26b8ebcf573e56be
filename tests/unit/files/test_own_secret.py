"""A secret of the user's is for the user alone, or it is none."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from citebed.files import held


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    yield
    held.forget()


def test_the_secret_is_kept_outside_of_collections_for_the_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    secret = held.own_secret()
    path = tmp_path / "citebed" / "secret"
    assert path.read_bytes() == secret
    assert len(secret) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == ["secret"]
    held.forget()
    assert held.own_secret() == secret


@pytest.mark.parametrize("how", ["readable by others", "short", "a link", "no folder"])
def test_a_secret_that_others_may_know_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Then each process has one of its own: what it left is another's to the next."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path, given = tmp_path / "citebed" / "secret", b"x" * 32
    if how == "no folder":
        (tmp_path / "citebed").touch()
    else:
        path.parent.mkdir()
        real = path if how != "a link" else tmp_path / "real"
        real.write_bytes(given[: 8 if how == "short" else 32])
        real.chmod(0o644 if how == "readable by others" else 0o600)
        if how == "a link":
            path.symlink_to(real)
    first = held.own_secret()
    assert first == held.own_secret() != given
    held.forget()
    assert held.own_secret() != first
