"""All of ACM-CR to BibTeX and back: every field of every document is the same.

Only what a terminal or an editor would obey (ACM's files have stray bytes of C1) stays behind.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from citebed.collection import import_sources, open_collection
from citebed.collection.exporting import export
from citebed.collection.exporting.base import BIBLIOGRAPHIC

OBEYED = r"[\p{Cc}--[\t\n]]|[\p{Bidi_C}\p{Zl}\p{Zp}]"


def test_every_field_of_every_document_comes_back(acm_cr: Path, tmp_path: Path) -> None:
    first = open_collection(acm_cr)
    export(first, "bibtex", tmp_path / "acm-cr.bib")
    import_sources(tmp_path / "again", [tmp_path / "acm-cr.bib"])
    again = open_collection(tmp_path / "again")
    assert first.documents.height > 100_000
    assert again.documents["doc_id"].to_list() == first.documents["doc_id"].to_list()
    for name in (*BIBLIOGRAPHIC, "bibtex"):
        before, after = first.documents[name], again.documents[name]
        if name == "bibtex":
            before = before.str.replace_all(OBEYED, "")
        shown = pl.DataFrame(
            {"doc_id": first.documents["doc_id"], "before": before, "after": after}
        )
        assert shown.filter(before.ne_missing(after)).head(3).rows() == [], name
    assert again.problems.is_empty()
