"""ACM-CR to BibTeX and back keeps every field of every document; a full run takes all of it.

The export keeps each entry as it was written, except for control characters (ACM's files have stray
bytes of C1). It rewrites entries with commands that TeX may not know.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
from tests.sampling import sized

from citebed.collection import import_sources, open_collection
from citebed.collection.exporting import export
from citebed.collection.exporting.base import BIBLIOGRAPHIC
from citebed.collection.formats.bibtex_writer import unknown_commands

OBEYED = r"[\p{Cc}--[\t\n]]|[\p{Bidi_C}\p{Zl}\p{Zp}]"


def test_every_field_of_every_document_comes_back(acm_cr: Path, tmp_path: Path) -> None:
    entries = open_collection(acm_cr).documents["bibtex"].gather_every(sized(16, 1)).drop_nulls()
    (tmp_path / "entries.bib").write_text("\n\n".join(entries), "utf-8")
    import_sources(tmp_path / "first", [tmp_path / "entries.bib"])
    first = open_collection(tmp_path / "first")
    export(first, "bibtex", tmp_path / "acm-cr.bib")
    import_sources(tmp_path / "again", [tmp_path / "acm-cr.bib"])
    again = open_collection(tmp_path / "again")
    assert first.documents.height > sized(6_000, 100_000)
    assert again.documents["doc_id"].to_list() == first.documents["doc_id"].to_list()
    for name in BIBLIOGRAPHIC:
        before, after = first.documents[name], again.documents[name]
        shown = pl.DataFrame(
            {"doc_id": first.documents["doc_id"], "before": before, "after": after}
        )
        assert shown.filter(before.ne_missing(after)).head(3).rows() == [], name
    assert again.documents["cite_key"].equals(first.documents["cite_key"])
    written = first.documents["bibtex"].str.replace_all(OBEYED, "")
    anew = written.filter(_body(written).ne_missing(_body(again.documents["bibtex"])))
    assert anew.len() < 0.01 * written.len()
    assert [entry for entry in anew if not unknown_commands(entry)][:3] == []
    assert again.problems.is_empty()


def _body(entries: pl.Series) -> pl.Series:
    """Return entries without their keys, and without the fields that an export adds if the key was
    a DOI: the id, and the DOI of an entry that had none."""
    added = r"\n\s*citebed-id = .*(\n  doi = .*)?"
    return entries.str.replace(r"^(@\w+\{)[^,]*", "$1").str.replace(added, "")
