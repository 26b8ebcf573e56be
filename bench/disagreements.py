# mypy: ignore-errors
"""Notes that markers and list disagree, in papers as they are and with parts of the list missing.

    python bench/disagreements.py FOLDER … [--show]

For each PDF below the folders whose list citebed reads, entries are removed from what was read: the
first or last part of the list, or some at random, or neighbours are joined. With ``page``, the
PDF's last page with entries is removed before it is read. The table shows in how many papers
``annotate`` adds a note. Papers with fewer than 15 references are left out.
"""

from __future__ import annotations

import argparse
import io
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pypdf
import pypdfium2

from citebed.papers.annotator import annotate
from citebed.papers.paper import ReadPaper, ReferenceEntry
from citebed.papers.pdf_reader import read_document

_FEWEST = 15

Entries = list[ReferenceEntry]


def some(entries: Entries, share: float) -> Entries:
    """Return the entries without some, drawn at random."""
    gone = set(random.Random(43).sample(range(len(entries)), round(share * len(entries))))
    return [entry for at, entry in enumerate(entries) if at not in gone]


def joined(entries: Entries) -> Entries:
    """Return the entries with each fifth one joined to the one before."""
    made: Entries = []
    for at, entry in enumerate(entries):
        if at % 5 == 4:
            made[-1] = replace(made[-1], printed=f"{made[-1].printed}\n{entry.printed}")
        else:
            made.append(entry)
    return made


DAMAGES: dict[str, Callable[[Entries], Entries]] = {
    "nothing": lambda entries: entries,
    "last half": lambda entries: entries[: len(entries) // 2],
    "last tenth": lambda entries: entries[: -max(len(entries) // 10, 1)],
    "first half": lambda entries: entries[len(entries) // 2 :],
    "first tenth": lambda entries: entries[max(len(entries) // 10, 1) :],
    "a fifth": lambda entries: some(entries, 0.2),
    "a tenth": lambda entries: some(entries, 0.1),
    "a fifth joined": joined,
    "all": lambda _: [],
}


def without_last_page(pdf: Path, paper: ReadPaper) -> ReadPaper | None:
    """Read a PDF again without the last page that has entries, unless it has all of them."""
    pages = [entry.content.places[0].page for entry in paper.references if entry.content.places]
    if not pages or min(pages) == max(pages):
        return None
    writer = pypdf.PdfWriter()
    for number, page in enumerate(pypdf.PdfReader(pdf).pages):
        if number != max(pages):
            writer.add_page(page)
    stream = io.BytesIO()
    writer.write(stream)
    return read_document(pypdfium2.PdfDocument(stream.getvalue()))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--show", action="store_true", help="print papers and notes")
    given = parser.parse_args()
    noted, papers = Counter(), Counter()
    for pdf in (pdf for folder in given.folders for pdf in sorted(folder.rglob("*.pdf"))):
        paper = read_document(pypdfium2.PdfDocument(pdf))
        if len(paper.references) < _FEWEST or paper.footnotes:
            continue
        kind = "numbers" if paper.references[0].label.isdigit() else "names and years"
        variants = {
            name: replace(paper, references=tuple(damage(list(paper.references))))
            for name, damage in DAMAGES.items()
        }
        variants["page"] = without_last_page(pdf, paper)
        for name, variant in variants.items():
            if variant is None:
                continue
            notes = annotate(variant, "paper", sections=()).notes
            papers[kind, name] += 1
            noted[kind, name] += bool(notes)
            if given.show and bool(notes) == (name == "nothing"):
                print(f"   {pdf.stem} {name}: {notes}")
    print(f"{'missing':16} {'numbers':>16} {'names and years':>16}")
    for name in [*DAMAGES, "page"]:
        cells = (
            f"{noted[kind, name]}/{papers[kind, name]}" for kind in ("numbers", "names and years")
        )
        print(f"{name:16} {' '.join(f'{cell:>16}' for cell in cells)}")


if __name__ == "__main__":
    main()
