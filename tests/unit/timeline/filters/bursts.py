"""A small stream with bursts and known mentions, and a run over it.

Three topics: ``oak`` and ``elm`` share the name "Tree House"; ``sea`` has a long name that begins
with another topic's. Most documents are about other things.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from citebed.runs.kba_files import read_filter_run
from citebed.timeline.filters import parse_filter
from citebed.timeline.filters.runner import FilterOptions, FilterReport, FilterTask, run_filter
from citebed.timeline.filters.topics import FilterContext, Name, Topic
from citebed.timeline.streams.stream_files import file_source

Doc = dict[str, Any]

TOPICS = [
    Topic(
        "oak",
        (Name("Ann Oak"), Name("Tree House")),
        "ann oak plants forests of oaks",
        ("1300000003-d", "1300000140-n40"),
    ),
    Topic("elm", (Name("Bo Elm"), Name("tree house"), Name("Elm", 0.25)), "bo elm paints elms"),
    Topic("sea", (Name("Ann Oak Sea Company"),), "salt of the sea is what the company sells"),
]
LABELS = {
    "1300000002-c": {"oak": True, "elm": False},
    "1300000003-d": {"oak": True},
    "1300000120-n20": {"oak": False, "sea": True},
    "1300000130-n30": {"elm": True},
}
START = [
    {"doc_id": "1300000000-a", "title": "Nothing", "text": "of forests and salt"},
    {"doc_id": "1300000001-b", "title": "ANN OAK", "text": "and again Ann-Oak; ann\noak"},
    {"doc_id": "1300000002-c", "text": "the Tree House of Bo Elm"},
    {"doc_id": "1300000003-d", "abstract": "Ann Oak Sea Company, not annoak", "text": "x"},
    {"doc_id": "1300000003-e", "title": "An elm", "text": "elms; the Elmwood"},
]
WORDS = (
    *("rain", "wind", "stone", "river", "glass", "copper", "cloud", "night", "road", "paper"),
    *("letter", "garden", "window", "winter", "bread", "music", "harbour", "engine", "forests"),
    *("salt", "paints", "oak"),
)
OWN = ("plants forests of oaks", "paints elms", "salt of the sea company")


def stream(documents: int = 60, seed: int = 1) -> list[Doc]:
    """The five documents of ``START``, then others with a burst of one topic in between."""
    choose = random.Random(seed)
    docs = [{**doc, "time": int(doc["doc_id"].split("-")[0])} for doc in START]
    for number in range(documents):
        words = choose.choices(WORDS, k=choose.randint(3, 12))
        if 20 <= number < 30 or choose.random() < 0.1:
            words.insert(1, choose.choice(("Bo Elm", "Tree House", "Ann Oak", "Elm")))
            words += choose.choice(OWN).split()
        time = 1300000100 + number
        docs.append({"doc_id": f"{time}-n{number}", "time": time, "text": " ".join(words)})
    return docs


def write(path: Path, docs: list[Doc]) -> Path:
    path.write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    return path


def filtered(
    folder: Path, docs: list[Doc], model: str, tools: FilterContext | None = None, **options: Any
) -> tuple[list[tuple[str, str, int]], FilterReport]:
    """Return a model's rows (document, topic, confidence) and the report."""
    source = file_source(write(folder / "stream.jsonl", docs))
    task = FilterTask(
        source, TOPICS, parse_filter(model), tools or FilterContext(str.split, LABELS)
    )
    output = folder / "out.run"
    report = run_filter(task, output, FilterOptions(overwrite=True, **options))
    table = read_filter_run(output).table
    return table.select("doc_id", "query_id", "score").rows(), report
