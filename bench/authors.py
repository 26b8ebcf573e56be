"""Sentences that authors could write: ``python bench/authors.py [--acm-cr FOLDER] [--write]``.

We wrote the sentences of ``bench/authors/`` for real papers, and looked at the results afterwards.
The libraries are 607 papers of neuroscience (``elife``), with abstracts and with titles only, and
84 works of economics and the humanities in six languages, by title, author and year. With
``--acm-cr``, a folder with all of ACM-CR indexed without contexts, the script also tries sentences
about tools and measures there, and its annotated papers as drafts from another field: paragraphs in
the library of neuroscience. ``--write`` puts the tables into docs/learned.md.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import citebed
import fields
from citebed.collection import import_sources
from citebed.drafts.reader import parse_draft
from citebed.errors import CitebedError
from citebed.report.tables import text_table
from citebed.retrieval.ranking.weight_fit import build_index
from common import machine, shared_data, write_between

AUTHORS = Path(__file__).parent / "authors"
STRENGTHS = ("strong", "fair", "weak")
DRAFTS = 20


class Sentence(NamedTuple):
    """A sentence with its language and its paper."""

    language: str
    paper: str
    text: str


def read(name: str) -> list[list[str]]:
    with (AUTHORS / name).open(encoding="utf-8") as lines:
        return list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def make(folder: Path, documents: Sequence[dict[str, object]]) -> citebed.Recommender:
    source = folder.with_suffix(".jsonl")
    source.write_text("".join(f"{json.dumps(each)}\n" for each in documents), "utf-8")
    import_sources(folder, [source])
    build_index(folder)
    return citebed.Recommender(folder, warm=True)


def works() -> list[dict[str, object]]:
    return [
        {"doc_id": key, "year": int(year), "authors": names.split(" and "), "title": title,
         "venue": venue}
        for key, year, names, title, venue, _ in read("works.tsv")
    ]  # fmt: skip


def neuroscience(*, has_abstracts: bool) -> list[dict[str, object]]:
    """Return the papers of the sentences, and others up to 600."""
    every = list(fields.rows(shared_data("elife") / "documents.jsonl.xz"))
    subject = [row for row in every if "Neuroscience" in (row.get("subjects") or ())]
    chosen = {row["id"] for row in random.Random(600).sample(subject, 600)}
    chosen |= {key for key, _ in read("neuroscience.tsv")}
    names = ("title", "authors", "year", *(("abstract",) if has_abstracts else ()))
    return [
        {"doc_id": row["id"], **{name: row[name] for name in names if row.get(name)}}
        for row in every
        if row["id"] in chosen
    ]


def try_sentences(
    label: str, recommender: citebed.Recommender, some: Sequence[Sentence]
) -> list[str]:
    """Return a row: how many find their paper, with and without silence, and by strength."""
    first = ten = any_first = any_ten = 0
    right, shown = dict.fromkeys(STRENGTHS, 0), dict.fromkeys(STRENGTHS, 0)
    for each in some:
        found = recommend(recommender, each.text)
        every = recommend(recommender, each.text, k=10, min_probability=0)
        names = [item.doc_id for item in found]
        first += names[:1] == [each.paper]
        ten += each.paper in names
        any_first += [item.doc_id for item in every][:1] == [each.paper]
        any_ten += each.paper in [item.doc_id for item in every]
        for item in found:
            shown[item.strength] += 1
            right[item.strength] += item.doc_id == each.paper
    strengths = [f"{right[each]} of {shown[each]}" for each in STRENGTHS]
    return [label, f"{len(some)}", f"{first} / {ten}", f"{any_first} / {any_ten}", *strengths]


def recommend(recommender: citebed.Recommender, text: str, **options: object) -> Sequence[object]:
    try:
        return recommender.recommend(text, **options)  # type: ignore[arg-type]
    except CitebedError:  # no word of it is in the index
        return ()


def try_nothing(label: str, recommender: citebed.Recommender) -> list[str]:
    """Return a row: how many sentences that ask for nothing get suggestions."""
    cells = []
    for codes in (("en",), ("de",), ("fr",), ("es", "it", "pt", "nl", "pl", "ru", "zh")):
        some = [text for code, _, text in read("nothing.tsv") if code in codes]
        cells.append(f"{sum(bool(recommend(recommender, text)) for text in some)} of {len(some)}")
    return [label, *cells]


def try_drafts(label: str, recommender: citebed.Recommender, acm_cr: Path) -> list[str]:
    """Return a row: passages of drafts from another field that get suggestions."""
    papers: dict[str, list[str]] = {}
    for row in citebed.open(acm_cr).queries("paragraphs").iter_rows(named=True):
        papers.setdefault(row["paper_id"], []).append(row["text"])
    passages = answered = alone = 0
    for name in sorted(papers)[:DRAFTS]:
        draft = parse_draft("\n\n".join(papers[name]))
        found = recommender.recommend_for(draft, each="paragraph")
        passages += len(found.passages) + found.skipped
        answered += len(found.passages)
        alone += sum(bool(recommend(recommender, text)) for text in papers[name])
    return [label, f"{passages}", f"{answered}", f"{alone}"]


def main() -> None:
    """Make the libraries and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--acm-cr", type=Path, help="A folder with ACM-CR, indexed.")
    parser.add_argument("--write", action="store_true", help="Write the tables.")
    arguments = parser.parse_args()
    print(machine())
    asked = [Sentence(*row) for row in read("sentences.tsv")]
    found, nothing, drafts = [], [], []
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        humanities = make(work / "humanities", works())
        for code in sorted({each.language for each in asked if len(each.language) == 2}):
            some = [each for each in asked if each.language == code]
            found.append(try_sentences(f"works, {code}", humanities, some))
        across = [each for each in asked if len(each.language) > 2]
        found.append(try_sentences("works, in another language", humanities, across))
        nothing.append(try_nothing("84 works", humanities))
        nothing.append(try_nothing("10 works", make(work / "ten", works()[:10])))
        for has_abstracts in (True, False):
            label = f"neuroscience, {'abstracts' if has_abstracts else 'titles only'}"
            library = make(work / label, neuroscience(has_abstracts=has_abstracts))
            some = [Sentence("en", *row) for row in read("neuroscience.tsv")]
            found.append(try_sentences(label, library, some))
            nothing.append(try_nothing(label, library))
            if arguments.acm_cr is not None:
                drafts.append(try_drafts(label, library, arguments.acm_cr))
        if arguments.acm_cr is not None:
            every = citebed.Recommender(arguments.acm_cr, warm=True)
            some = [Sentence("en", *row) for row in read("methods.tsv")]
            found.append(try_sentences("ACM-CR, tools and measures", every, some))
            drafts.append(try_drafts("ACM-CR itself", every, arguments.acm_cr))
            nothing.append(try_nothing("ACM-CR", every))
    heads = (
        ["library", "sentences", "first / in ten", "the same without silence", "strong: right",
         "fair: right", "weak: right"],
        ["sentences that ask for nothing: answered", "English", "German", "French", "seven others"],
        ["drafts on computer science, in the library", "passages", "answered",
         "answered one by one"],
    )  # fmt: skip
    tables = [
        text_table(head, rows, {0}).markdown()
        for head, rows in zip(heads, (found, nothing, drafts), strict=True)
        if rows
    ]
    print("\n\n".join(tables))
    if arguments.write:
        write_between("learned.md", "authors", "\n\n".join(tables))


if __name__ == "__main__":
    main()
