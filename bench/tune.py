"""What ``citebed tune`` gains: ``python bench/tune.py``.

In life sciences and computer science the index has citing sentences. The script tunes on 60 and on
300 later sentences, and tests on still later ones (in computer science: on other papers). CACM and
Cranfield are tuned on their own queries; the values before and after are then those that
``citebed tune`` prints, by cross-validation. ``--write`` puts the table into docs/learned.md.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import citebed
from citebed.collection.rules import load_profile
from citebed.report.tables import text_table
from citebed.retrieval.index.builder import IndexOptions
from citebed.retrieval.tuning import Tuned
from citing_sentences import earlier_sentences
from common import machine, shared_data, write_between
from fields import Asked, citing_fields, figures, interval

COUNTS, TESTED = (60, 300), 700
MODEL = "bm25+learned(encoder=no)"


def tune_on(folder: Path, asked: Sequence[Asked]) -> Tuned:
    """Tune a collection on some texts."""
    queries, qrels = folder / "tune.jsonl", folder / "tune.qrels"
    rows = [
        {"query_id": f"q{at}", "text": one.text, "paper_id": one.paper, "exclude": [one.paper]}
        for at, one in enumerate(asked)
    ]
    queries.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    pairs = [(at, name) for at, one in enumerate(asked) for name in sorted(one.relevant)]
    qrels.write_text("".join(f"q{at} 0 {name} 1\n" for at, name in pairs), "utf-8")
    return citebed.open(folder).tune(queries=str(queries), qrels=qrels, quiet=True)


def weights(tuned: Tuned) -> str:
    """Return the weights after tuning: of words, and of citation counts."""
    return f"{tuned.words_share:.2f}, {tuned.fame:g}" if tuned.changed else "unchanged"


def citing_rows(field: str, data: Path, work: Path) -> list[list[str]]:
    """Tune on each number of sentences, and measure the sentences of the test."""
    source, contexts = citing_fields(data)[field]
    tested, asked = contexts(data), contexts(data, 1)
    for some in (tested, asked):
        random.Random(1).shuffle(some)
    tested, later = tested[:TESTED], {one.paper for one in asked}
    lines = [
        line
        for known in earlier_sentences(data, field).values()
        for line in known
        if line["citing"] not in later
    ]
    citing, folder = work / "citing.jsonl", work / "citing"
    citing.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    citebed.build_index(citebed.create(folder, source), IndexOptions(citing=(citing,)))
    before = figures(folder, tested, MODEL)[:, 0]
    words = figures(folder, tested, "bm25")[:, 0]
    rows = []
    for count in COUNTS:
        copy = shutil.copytree(folder, work / f"{count}")
        tuned = tune_on(copy, asked[:count])
        after = figures(copy, tested, MODEL)[:, 0]
        low, high = interval(after - before, [one.paper for one in tested])
        rows.append(
            [f"{field}: {count} sentences, tested on {len(tested)}", f"{words.mean():.3f}",
             f"{before.mean():.3f}", f"{after.mean():.3f}",
             f"{(after - before).mean():+.3f} [{low:+.3f}, {high:+.3f}]", weights(tuned)]
        )  # fmt: skip
    return rows


def main() -> None:
    """Make the collections, tune, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="Write the table into docs/.")
    arguments = parser.parse_args()
    data, table = shared_data("elife").parent, list[list[str]]()
    print(machine())
    for field in citing_fields(data):
        with tempfile.TemporaryDirectory() as work:
            table += citing_rows(field, data, Path(work))
    for name, rules in (("CACM", None), ("Cranfield", load_profile("cranfield"))):
        with tempfile.TemporaryDirectory() as work:
            mine = citebed.create(Path(work) / "c", data / name.lower(), rules=rules)
            mine.index(quiet=True)
            tuned = mine.tune(quiet=True)
        cells = [f"{value:.3f}" for value in (tuned.bm25, tuned.before, tuned.after)]
        difference = f"{tuned.after - tuned.before:+.3f}"
        label = f"{name}: its {tuned.questions} queries, by cross-validation"
        table.append([label, *cells, difference, weights(tuned)])
    head = [
        "tuned on",
        "BM25",
        "before",
        "after",
        "difference",
        "weights of words, citation counts",
    ]
    text = text_table(head, table).markdown()
    print(text)
    if arguments.write:
        write_between("learned.md", "tune", text)


if __name__ == "__main__":
    main()
