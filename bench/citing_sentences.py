"""What 0, 1, 3 and 10 citing sentences per document bring: ``python bench/citing_sentences.py``.

The queries are sentences that cite a document which at least ten earlier sentences cite: eLife's of
2022 (life sciences), and the test fold in computer science. The index gets so many of the earlier
sentences for each document, drawn at random, never the query's own. The script prints R@10 and
nDCG@10 of the default model among all papers of the field; ``--write`` puts the table into
docs/learned.md.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from pathlib import Path

import citebed
import fields
from citebed.report.tables import text_table
from citebed.retrieval.index.builder import IndexOptions
from citebed.training.texts import assign_fold
from common import machine, shared_data, write_between

COUNTS = (0, 1, 3, 10)
TEXTS = 1000


def earlier_sentences(data: Path, field: str) -> dict[str, list[dict[str, str]]]:
    """Return the contexts of each document that are not from the test, as an index reads them."""
    found: dict[str, list[dict[str, str]]] = {}
    if field == "life sciences":
        for row in fields.rows(data / "elife" / "contexts.jsonl.xz"):
            if row["year"] < fields.YEAR:
                for cited in row["cited"]:
                    found.setdefault(cited, []).append(
                        {"citing": row["citing"], "context": row["text"], "cited": cited,
                         "year": row["year"]}
                    )  # fmt: skip
    else:
        for row in fields.rows(data / "citation-contexts" / "contexts-train.jsonl.xz"):
            if assign_fold(row["citing"]) != fields.FOLD:
                each = {name: row[name] for name in ("citing", "context", "cited")}
                found.setdefault(row["cited"], []).append(each)
    return found


def main() -> None:
    """Index with each number, and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    data, table = shared_data("elife").parent, []
    print(machine())
    for field, (source, contexts) in fields.citing_fields(data).items():
        known = earlier_sentences(data, field)
        asked = [
            each
            for each in contexts(data)
            if any(len(known.get(name, ())) >= max(COUNTS) for name in each.relevant)
        ]
        random.Random(1).shuffle(asked)
        asked = asked[:TEXTS]
        row = [field, f"{len(asked)}"]
        with tempfile.TemporaryDirectory() as work:
            folder = Path(work) / "collection"
            mine = citebed.create(folder, source)
            for count in COUNTS:
                draw, path = random.Random(count), Path(work) / f"{count}.jsonl"
                some = [
                    line
                    for name in sorted(known)
                    for line in draw.sample(known[name], min(count, len(known[name])))
                ]
                path.write_text("".join(f"{json.dumps(line)}\n" for line in some), "utf-8")
                citing = (path,) if count else ()
                citebed.build_index(mine, IndexOptions(citing=citing, rebuild=True))
                gain, recall = fields.figures(folder, asked, "bm25+learned").mean(axis=0)
                row.append(f"{recall:.3f} / {gain:.3f}")
        print(row, flush=True)
        table.append(row)
    head = ["R@10 / nDCG@10", "sentences", *(f"{count} per document" for count in COUNTS)]
    print(text := text_table(head, table, {0}).markdown())
    if arguments.write:
        write_between("learned.md", "citing sentences", text)


if __name__ == "__main__":
    main()
