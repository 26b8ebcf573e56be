"""Dropped files: none replaces another, also if two uploads choose the same name at once."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from citebed.files import dropped
from citebed.files.dropped import put
from citebed.files.places import free_place


@pytest.mark.parametrize("name", ["a.bib", "folder/a.bib"])
def test_an_upload_does_not_replace_the_file_of_another_that_is_faster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    top = tmp_path / name.split("/", maxsplit=1)[0]
    raced: list[Path] = []

    def find_place(path: Path) -> Path:
        free = free_place(path)
        if path == top and not raced:
            raced.append(tmp_path)
            raced[:] = put([(name, io.BytesIO(b"faster"))], tmp_path)[0]
        return free

    monkeypatch.setattr(dropped, "free_place", find_place)
    paths, new = put([(name, io.BytesIO(b"slower"))], tmp_path)
    assert paths == new
    assert paths != raced
    contents = {path.read_bytes() for path in tmp_path.rglob("*.bib")}
    assert contents == {b"faster", b"slower"}
