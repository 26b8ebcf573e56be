"""All of ACM-CR to BibTeX and back: every field of every document is the same."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from citebed.collection import (
    Collection,
    ImportOptions,
    import_sources,
    load_profile,
    open_collection,
)
from citebed.collection.exporting import export
from citebed.collection.exporting.base import BIBLIOGRAPHIC


@pytest.fixture(scope="module")
def acm_cr(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Collection, ...]:
    """The collection, and what is made of its export to BibTeX."""
    folder = tmp_path_factory.mktemp("acm-cr")
    source, target = shared_data / "acm-cr" / "acm-dl.tar.xz", folder / "acm-cr.bib"
    options = ImportOptions(rules=load_profile("acm-cr"))
    import_sources(folder / "first", [source], options)
    first = open_collection(folder / "first")
    export(first, "bibtex", target)
    import_sources(folder / "again", [target], options)
    target.unlink()
    return first, open_collection(folder / "again")


def test_every_document_comes_back(acm_cr: tuple[Collection, ...]) -> None:
    first, again = (collection.documents for collection in acm_cr)
    assert first.height > 100_000
    assert again["doc_id"].to_list() == first["doc_id"].to_list()


@pytest.mark.parametrize("name", [*BIBLIOGRAPHIC, "bibtex"])
def test_every_field_comes_back(acm_cr: tuple[Collection, ...], name: str) -> None:
    first, again = (collection.documents for collection in acm_cr)
    differs = first[name].ne_missing(again[name])
    shown = pl.DataFrame({"doc_id": first["doc_id"], "first": first[name], "again": again[name]})
    assert shown.filter(differs).head(3).rows() == []


def test_nothing_had_to_be_mended(acm_cr: tuple[Collection, ...]) -> None:
    assert acm_cr[1].problems.is_empty()
