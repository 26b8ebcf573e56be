"""References matched to ACM-CR: by paper, against the hand-made lists of DOIs.

    python bench/references.py ENTRIES.jsonl COLLECTION

``ENTRIES.jsonl`` has an object a line, ``{stem: [entry, …]}``: the entries of the list of
references of the paper ``stem``, in their order, without labels. A link is right where it is the
document whose DOI the hand-made list has under that number; what should be found are the numbers
whose DOI a document of the collection has.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from pathlib import Path
from typing import NamedTuple

import polars as pl

from citebed.papers.annotation import Candidate
from citebed.papers.reference_matcher import ReferenceMatcher
from citebed.papers.references import ParsedReference, parse_reference
from citebed.text.identifiers import normalise_doi
from common import machine, shared_data

_LINE = re.compile(r"-?\[(\d+)\]\s+(\S+)")


class Links(NamedTuple):
    """Counts of links: made, right, and expected."""

    made: int
    right: int
    wanted: int

    def __str__(self) -> str:
        precision = self.right / self.made if self.made else 1.0
        recall = self.right / self.wanted if self.wanted else 1.0
        return f"{self.wanted:5} {self.made:5} {self.right:5}   {precision:.3f}   {recall:.3f}"


def stated_dois(stem: str) -> dict[int, str]:
    """Return the DOIs of a paper's references by number, from the manual list."""
    (path,) = (shared_data("acm-cr") / "papers").glob(f"*/{stem}.dois")
    found = (_LINE.match(line) for line in path.read_text("utf-8").splitlines())
    dois = {int(line[1]): normalise_doi(line[2]) for line in found if line}
    return {number: doi for number, doi in dois.items() if doi}


def links_of(
    stem: str, matches: list[Candidate | None], known: dict[str, str], told: list[str]
) -> Links:
    """How the matches of a paper compare; what is wrong or missing is added to ``told``."""
    dois = stated_dois(stem)
    wanted = {number: known[doi] for number, doi in dois.items() if doi in known}
    made = {number: match for number, match in enumerate(matches, start=1) if match}
    right = {number for number, match in made.items() if wanted.get(number) == match.doc_id}
    for number in sorted({*made, *wanted} - right):
        match = made.get(number)
        found = f"{match.doc_id} ({match.probability:.2f})" if match else "nothing"
        told.append(f"{stem} [{number}]: found {found}, stated {dois.get(number, 'no DOI')}")
    return Links(len(made), len(right), len(wanted))


def read_entries(path: Path) -> dict[str, list[str]]:
    """The entries of each paper."""
    lines = path.read_text("utf-8").splitlines()
    return {stem: entries for line in lines for stem, entries in json.loads(line).items()}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("entries", type=Path)
    options.add_argument("collection", type=Path)
    options.add_argument("--least", type=float, default=0.5)
    given = options.parse_args()
    documents = pl.read_parquet(given.collection / "documents.parquet")
    started = time.perf_counter()
    matcher = ReferenceMatcher(documents)
    built = time.perf_counter() - started
    known = dict(documents.filter(pl.col("doi").is_not_null()).select("doi", "doc_id").iter_rows())
    papers, told, sums, seconds = read_entries(given.entries), list[str](), Links(0, 0, 0), 0.0
    print("paper            wanted  made right   prec.   recall")
    for stem, entries in papers.items():
        started = time.perf_counter()
        references: list[ParsedReference] = [parse_reference(entry) for entry in entries]
        best = (some[0] if some else None for some in matcher.candidates(references))
        matches = [each if each and each.probability >= given.least else None for each in best]
        seconds += time.perf_counter() - started
        links = links_of(stem, matches, known, told)
        sums = Links(*map(sum, zip(sums, links, strict=True)))
        print(f"{stem:17}{links}")
    print(f"{'all':17}{sums}\n", *told, sep="\n")
    count = sum(map(len, papers.values()))
    print(f"\n{documents.height:,} documents built in {built:.2f} s;", end=" ")
    print(
        f"{count} references in {1000 * seconds:.0f} ms, {40_000 * seconds / count:.1f} ms for 40"
    )
    print(machine())


if __name__ == "__main__":
    main()
