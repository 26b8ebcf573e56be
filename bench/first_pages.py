"""Titles, authors, abstracts and years of generated papers, as the reader reads them.

Takes a folder of PDFs with a ``.json`` beside each, as ``python -m tests.papers_made.classes``
and ``python -m tests.papers_made.remake`` make them. Authors are right if family names and first
initials are equal and in order.
Run: python bench/first_pages.py FOLDER [NAME …] [--errors]
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter, defaultdict
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pypdfium2

from citebed.papers.paper import ReadPaper
from citebed.papers.pdf_reader import read_document

PARTS = ("title", "authors", "abstract", "year")


def bare(text: str) -> str:
    return re.sub(r"[\W_]+", "", normalize("NFKC", text)).lower().replace("ð", "đ")  # one glyph


def person(name: str) -> tuple[str, str]:
    family, _, given = name.partition(", ")
    return bare(family), bare(given)[:1]


def wrong_parts(paper: ReadPaper, truth: dict[str, Any]) -> dict[str, tuple[object, object]]:
    """What differs: our value and the true one, by part."""
    ours, theirs = bare(paper.abstract), bare(truth["abstract"])
    close = SequenceMatcher(None, ours, theirs, autojunk=False).ratio()
    named = [*map(person, paper.authors)], [*map(person, truth["authors"])]
    wrong: dict[str, tuple[object, object]] = {}
    if bare(paper.title) != bare(truth["title"]):
        wrong["title"] = paper.title, truth["title"]
    if named[0] != named[1]:
        wrong["authors"] = paper.authors, truth["authors"]
    if ours != theirs and close < 0.9:
        wrong["abstract"] = paper.abstract, truth["abstract"]
    if truth["year"] and paper.year != truth["year"]:
        wrong["year"] = paper.year, truth["year"]
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--errors", action="store_true", help="print each difference")
    given = parser.parse_args()
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for pdf in sorted(given.folder.glob("*.pdf")):
        name = re.sub(r"-\d+$", "", pdf.stem)
        if given.names and name not in given.names:
            continue
        truth = json.loads(pdf.with_suffix(".json").read_text("utf-8"))
        started = time.process_time()
        with pypdfium2.PdfDocument(pdf) as document:
            paper = read_document(document, pdf.read_bytes())
        taken = round(1000 * (time.process_time() - started))
        wrong = wrong_parts(paper, truth)
        right = {part: int(part not in wrong) for part in PARTS}
        for group in (name, "all"):
            groups[group] += Counter({**right, "papers": 1, "ms": taken})
        if given.errors and wrong:
            print(f"-- {pdf.stem}")
            for part, (ours, theirs) in wrong.items():
                print(
                    f"   {part}: {str(ours)[:300]!r}\n   {'is':>{len(part)}}: {str(theirs)[:300]!r}"
                )
    every = groups.pop("all", Counter())
    for name, some in [*sorted(groups.items()), ("all", every)]:
        shares = " ".join(f"{part} {some[part] / some['papers']:.3f}" for part in PARTS)
        print(f"{name:24} {some['papers']:3} {shares} | {some['ms'] / some['papers'] / 1000:.2f} s")


if __name__ == "__main__":
    main()
