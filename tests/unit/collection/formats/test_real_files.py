"""Real files that readers stumbled over, against what the manifest says they hold."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from citebed.collection.reading.parser import Piece, parse_piece, split_member
from citebed.collection.reading.sources import Member, members
from citebed.records import CitingPaper, Document, Problem, Query, Record

# Per file: the format, then the numbers of documents, citing papers and queries.
EXPECTED = {
    "psycnet.ris": ("ris", 1, 0, 0),
    "ty-in-words.ris": ("ris", 1, 0, 0),
    "s2orc-20200705.json": ("s2orc", 1, 1, 0),
    "cord19-pdf.json": ("s2orc", 1, 1, 0),
    "topics.adhoc.51-100.txt": ("trec-topics", 0, 0, 50),
    "s2-recommended.json": ("semantic-scholar", 100, 0, 0),
    "positive-elife.xml": ("jats", 1, 1, 0),
    "positive-grobid.tei.xml": ("tei", 1, 1, 0),
    "J10.xml": ("acl-xml", 50, 0, 0),
}


def read(name: str, data: bytes) -> tuple[set[str], list[Record]]:
    """The formats that a file was taken for, and all that it gave."""
    found = list(split_member(Member(name, io.BufferedReader(io.BytesIO(data)))))
    formats = {piece.format for piece in found if isinstance(piece, Piece)}
    records = [r for p in found for r in (parse_piece(p).records if isinstance(p, Piece) else [p])]
    return formats, records


def files_in(path: Path) -> Iterator[tuple[str, bytes]]:
    for member in members(path, path.name):
        assert isinstance(member, Member)
        yield member.name, member.stream.read()


def totals(records: list[Record]) -> tuple[int, int, int]:
    counts = Counter(type(record) for record in records)
    return counts[Document], counts[CitingPaper], counts[Query]


def skipped(records: list[Record]) -> list[Problem]:
    return [r for r in records if isinstance(r, Problem) and r.kind == "skipped"]


def test_the_manifest_names_the_files_pinned_here(shared_data: Path) -> None:
    lines = (shared_data / "formats" / "MANIFEST.tsv").read_text().splitlines()[1:]
    named = {line.split("\t")[0] for line in lines}
    assert {name for name in named if not name.endswith(".bib")} == EXPECTED.keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_of_the_manifest(shared_data: Path, name: str) -> None:
    formats, records = read(name, (shared_data / "formats" / name).read_bytes())
    assert (*formats, *totals(records)) == EXPECTED[name]
    assert skipped(records) == []


def test_full_text_of_s2orc_and_cord_19_cites(shared_data: Path) -> None:
    numbers = {}
    for name in ("s2orc-20200705.json", "cord19-pdf.json"):
        data = (shared_data / "formats" / name).read_bytes()
        document, paper = read(name, data)[1]
        assert isinstance(document, Document)
        assert isinstance(paper, CitingPaper)
        assert document.abstract
        citing = sum(bool(s.cites) for c in paper.contexts for s in c.sentences)
        spans = [s for part in json.loads(data)["body_text"] for s in part["cite_spans"]]
        cites = [cite for c in paper.contexts for s in c.sentences for cite in s.cites]
        assert sorted(cites) == sorted(s["ref_id"] for s in spans if s["ref_id"])
        sections = len(document.sections)
        numbers[name] = (sections, len(paper.references), len(paper.contexts), citing)
    assert numbers == {
        "s2orc-20200705.json": (10, 27, 21, 29),
        "cord19-pdf.json": (15, 36, 13, 23),
    }


def test_every_ris_record_is_a_document_or_a_problem(shared_data: Path) -> None:
    formats: Counter[str] = Counter()
    for name, data in files_in(shared_data / "formats" / "real-ris.tar.xz"):
        [found], records = read(name, data)
        formats[found] += 1
        start = rb"(?m)^(?:\xef\xbb\xbf)?TY {1,2}-" if found == "ris" else rb"(?m)^PT "
        met = len(re.findall(start, data))
        assert totals(records)[0] + len(skipped(records)) == met, name
    assert formats == {"ris": 23, "web-of-science": 1}


def test_papers_in_tei_and_jats_are_none_empty(shared_data: Path) -> None:
    counts = {}
    for kind in ("tei", "jats"):
        all_records: list[Record] = []
        for name, data in files_in(shared_data / "formats" / f"real-{kind}.tar.xz"):
            _, records = read(name, data)
            all_records += records
            for record in records:
                if isinstance(record, Document):
                    assert record.title or record.sections, name
        counts[kind] = (*totals(all_records), len(skipped(all_records)))
    assert counts == {"tei": (9, 6, 0, 0), "jats": (12, 8, 0, 0)}


def test_of_other_json_only_bibliographies_are_read(shared_data: Path) -> None:
    taken: Counter[str] = Counter()
    for name, data in files_in(shared_data / "formats" / "real-json.tar.xz"):
        formats, records = read(name, data)
        taken["".join(formats) or "none"] += 1
        assert skipped(records) == []
    assert taken == {"none": 10, "zotero-json": 6}
