# mypy: ignore-errors
"""DOIs that line ends break, and references to titles that a collection has more than once.

    python bench/reference_details.py COLLECTION [--errors]

- **DOIs**: real DOIs of `.bib` files and JATS in the shared data, up to six for each publisher, are
  printed in a reference and broken at each sign and at some letters, with other text behind them.
  The table shows how many citebed reads as they were. It also counts complete DOIs that grew
  because citebed joined the next line to them.
- **Titles**: of 1,200 titles that several documents of COLLECTION have, with an author in common,
  one document is printed in a random style, without its DOI. "copy" is another record with the same
  year and first page.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.reference_styles import STYLES, Work, in_lines

from citebed.papers.reference_matcher import LIKELY, ReferenceMatcher
from citebed.papers.references import parse_reference
from citebed.text.identifiers import doi_of
from citebed.text.titles import plain_title
from common import shared_data

_IN_BIB = re.compile(r"(?im)^\s*doi\s*=\s*[{\"]([^}\"\s]+)[}\"]")
_IN_JATS = re.compile(r'pub-id-type="doi">([^<]+)<')
_BEFORE = ("https://doi.org/", "doi: ", "doi:", "http://dx.doi.org/", "DOI ")
_BEHIND = ("", ".", ". PMID: 1234567", ". Accessed 12 May 2019", ".\nPMID: 2829", ". (2019)")
_NEXT = ("Smith", "2019.", "[12]", "12", "12. Doe", "PMID: 123", "In: Proc", "45–67.", "MR123456",
         "www.x.org", "Epub 2019 May", "arXiv:1234.5678", "10.1000/other", "2015;12:3")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("collection", type=Path)
    parser.add_argument("--errors", action="store_true")
    given = parser.parse_args()
    measure_dois(given.errors)
    measure_titles(given.collection, given.errors)


def real_dois(rng: random.Random) -> list[str]:
    """Return DOIs of many publishers."""
    texts = [path.read_text("utf-8") for path in shared_data("journals").glob("*.xml")]
    found = [doi for text in texts for doi in _IN_JATS.findall(text)]
    with tarfile.open(shared_data("formats") / "real-bib.tar.xz") as archive:
        for member in filter(tarfile.TarInfo.isfile, archive):
            text = archive.extractfile(member).read().decode("utf-8", "replace")
            found += [doi.replace("\\_", "_") for doi in _IN_BIB.findall(text)]
    dois = sorted({doi for each in found if (doi := doi_of(each)) and not set("\\{<&") & set(doi)})
    by_prefix: dict[str, list[str]] = {}
    for doi in dois:
        by_prefix.setdefault(doi.partition("/")[0], []).append(doi)
    return [doi for some in by_prefix.values() for doi in rng.sample(some, min(6, len(some)))]


def broken(dois: list[str], rng: random.Random) -> Iterator[tuple[str, str, str]]:
    """Yield the kind of a line end, the DOI, and how it is printed."""
    for doi in dois:
        for at in range(3, len(doi)):
            kind = "behind a sign" if doi[at - 1] in "/.-_():;" else "before a sign"
            if kind == "before a sign" and doi[at] not in "/.-_(":
                if rng.random() > 0.06:
                    continue
                kind = rng.choice(("between letters", "with a hyphen"))
            hyphen = "-" * (kind == "with a hyphen")
            yield kind, doi, f"{doi[:at]}{hyphen}\n{doi[at:]}{rng.choice(_BEHIND)}"


def measure_dois(errors: bool) -> None:
    rng = random.Random(3)
    dois = real_dois(rng)
    right, wrong, total = Counter(), Counter(), Counter()
    cases = [*broken(dois, rng)]
    cases += [("complete", d, f"{d}{stop}\n{n}") for d in dois for n in _NEXT for stop in ("", ".")]
    for kind, doi, printed in cases:
        start = f"Smith, J. (2019). A title of quiet things. Noise, 12. {rng.choice(_BEFORE)}"
        read = parse_reference(f"{start}{printed}").doi
        total[kind] += 1
        right[kind] += read == doi
        wrong[kind] += read not in (doi, None)
        if errors and read != doi:
            print(f"   {kind}: {printed!r} read as {read}")
    print(f"{len(dois)} DOIs\n{'line end':20} {'DOIs':>7} {'right':>7} {'wrong':>7}")
    for kind in total:
        shares = (f"{some[kind] / total[kind]:.3f}" for some in (right, wrong))
        print(f"{kind:20} {total[kind]:7} {' '.join(f'{share:>7}' for share in shares)}")


def measure_titles(collection: Path, errors: bool) -> None:
    rng = random.Random(1)
    documents = pl.read_parquet(collection / "documents.parquet")
    documents = documents.with_columns(plain=plain_title(pl.col("title").fill_null("")))
    twins = documents.filter(
        pl.col("plain").is_duplicated() & (pl.col("plain").str.len_chars() > 15)
    )
    groups: dict[str, list[dict]] = {}
    for row in twins.iter_rows(named=True):
        groups.setdefault(row["plain"], []).append(row)
    same = [
        rows for rows in groups.values() if len(families(rows)) < sum(map(len, map(names, rows)))
    ]
    chosen = [rng.choice(rows) for rows in rng.sample(same, min(1200, len(same)))]
    chosen = [row for row in chosen if row["authors"] and not row["title"].startswith("Session")]
    texts = [in_lines(rng.choice([*STYLES.values()])(work_of(row)), rng) for row in chosen]
    matched = ReferenceMatcher(documents).candidates([*map(parse_reference, texts)])
    works = {
        row["doc_id"]: (row["plain"], row["year"], first_page(row))
        for row in twins.rows(named=True)
    }
    counts: Counter[str] = Counter()
    for row, text, candidates in zip(chosen, texts, matched, strict=True):
        best = next((each.doc_id for each in candidates if each.probability >= LIKELY), None)
        result = "right" if best == row["doc_id"] else "wrong" if best else "none"
        if result == "wrong" and first_page(row) and works.get(best) == works[row["doc_id"]]:
            result = "copy"
        counts[result] += 1
        if errors and result in ("wrong", "none"):
            print(f"   {result}: {' '.join(text.split())} is {row['doc_id']}, not {best}")
    print(f"\n{len(same):,} titles of several documents; {len(chosen):,} references:", end=" ")
    print(", ".join(f"{name} {counts[name]}" for name in ("right", "copy", "none", "wrong")))


def names(row: dict) -> set[str]:
    return {name.partition(",")[0].lower() for name in row["authors"] or ()}


def families(rows: list[dict]) -> set[str]:
    return set().union(*map(names, rows))


def first_page(row: dict) -> str | None:
    found = re.search(r"\d+", row["pages"] or "")
    return found[0] if found else None


def work_of(row: dict) -> Work:
    pages = re.match(r"(\d+)\s*[-–]+\s*(\d+)", row["pages"] or "")
    return Work(
        row["title"], tuple(row["authors"]), row["year"] or 2000, row["venue"] or "Proceedings",
        int(row["volume"]) if (row["volume"] or "").isdigit() else 7,
        (int(pages[1]), int(pages[2])) if pages else (1, 9),
        in_proceedings=row["type"] != "article",
    )  # fmt: skip


if __name__ == "__main__":
    main()
