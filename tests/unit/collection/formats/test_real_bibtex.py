"""Real ``.bib`` files that readers stumbled over, against what the manifest says they hold."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import pytest
from tests.unit.collection.formats.test_real_files import files_in

from citebed.collection import ImportOptions, import_sources, open_collection
from citebed.collection.lint import lint
from citebed.collection.reading.parser import Piece, parse_piece, split_member
from citebed.collection.reading.sources import Member
from citebed.records import Document, Problem, Record

# Per file: documents, those with a type "_", those with a DOI, and repairs.
EXPECTED = {
    "mendeley-types.bib": (512, 47, 170, 37),
    "acm-doi-resolver.bib": (80, 0, 80, 0),
    "bibnet-long-header.bib": (104, 0, 49, 0),
    "percent-comments-1.bib": (43, 0, 3, 0),
    "recurring-columns.bib": (12, 0, 0, 3),
}


def read(name: str, data: bytes) -> list[Record]:
    """All that a file gives, if it is taken for BibTeX."""
    found = list(split_member(Member(name, io.BufferedReader(io.BytesIO(data)))))
    assert {piece.format for piece in found if isinstance(piece, Piece)} <= {"bibtex"}
    return [r for p in found for r in (parse_piece(p).records if isinstance(p, Piece) else [p])]


def split(records: list[Record]) -> tuple[list[Document], list[Problem]]:
    documents = [record for record in records if isinstance(record, Document)]
    return documents, [record for record in records if isinstance(record, Problem)]


def test_the_manifest_names_the_files_pinned_here(shared_data: Path) -> None:
    lines = (shared_data / "formats" / "MANIFEST.tsv").read_text().splitlines()[1:]
    assert {name for line in lines if (name := line.split("\t")[0]).endswith(".bib")} == {*EXPECTED}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_of_the_manifest(shared_data: Path, name: str) -> None:
    documents, problems = split(read(name, (shared_data / "formats" / name).read_bytes()))
    underscored = sum("_" in document.type for document in documents)
    dois = sum(document.doi is not None for document in documents)
    assert (len(documents), underscored, dois, len(problems)) == EXPECTED[name]
    assert {problem.kind for problem in problems} <= {"mended"}
    assert not any("does not close" in problem.what for problem in problems)


def test_every_doi_behind_a_resolver_is_one(shared_data: Path) -> None:
    documents, _ = split(read("a.bib", (shared_data / "formats/acm-doi-resolver.bib").read_bytes()))
    behind = [d for d in documents if d.bibtex and "doi.acm.org/10." in d.bibtex]
    assert len(behind) > 20
    assert all(document.doi for document in behind)


def test_recurring_columns_are_not_merged(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "formats" / "recurring-columns.bib"
    report = import_sources(tmp_path / "c", [source], ImportOptions(workers=1))
    assert (report.documents, report.merged) == (12, 0)


def test_the_files_of_many_people(shared_data: Path) -> None:
    """Every file, and what is said of it: four errors in a file made of errors, and no more."""
    kinds: Counter[str] = Counter()
    documents = 0
    for name, data in files_in(shared_data / "formats" / "real-bib.tar.xz"):
        found, problems = split(read(name, data))
        documents += len(found)
        kinds.update(problem.kind for problem in problems)
    assert documents == 12_317
    assert kinds["skipped"] == 4
    assert kinds["ignored"] == 0


def test_no_command_is_left_in_their_texts(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "formats" / "real-bib.tar.xz"
    report = import_sources(tmp_path / "c", [source], ImportOptions(workers=1))
    (finding,) = lint(open_collection(tmp_path / "c"), ["latex-remains"], examples=None)
    assert finding.count == report.latex_left
    # "Stanis\law", which LaTeX would not know either
    assert [example["id"] for example in finding.examples] == ["jarecki2008beyond"]
