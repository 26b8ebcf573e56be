"""Dropped files: none replaces another, also if two uploads choose the same name at once."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from citebed.files import uploads
from citebed.files.output_files import find_free_path
from citebed.files.uploads import store_uploads


@pytest.mark.parametrize("name", ["a.bib", "folder/a.bib"])
def test_an_upload_does_not_replace_the_file_of_another_that_is_faster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    top = tmp_path / name.split("/", maxsplit=1)[0]
    raced: list[Path] = []

    def find_place(path: Path) -> Path:
        free = find_free_path(path)
        if path == top and not raced:
            raced.append(tmp_path)
            raced[:] = store_uploads([(name, io.BytesIO(b"faster"))], tmp_path)[0]
        return free

    monkeypatch.setattr(uploads, "find_free_path", find_place)
    paths, new = store_uploads([(name, io.BytesIO(b"slower"))], tmp_path)
    assert paths == new
    assert paths != raced
    contents = {path.read_bytes() for path in tmp_path.rglob("*.bib")}
    assert contents == {b"faster", b"slower"}
