"""How good the default is in other languages, against BM25: ``python bench/languages.py [WORK]``.

Small libraries of made-up science (``languages.toml``) in German, French, Spanish and Chinese, each
by itself and all of them beside CACM. Asked are sentences on what a document says, in other forms
of its words; of CACM its own queries. Prints nDCG@10 with an interval by document of BM25 with the
analyser of English, BM25 with the one that ``citebed index`` chooses, and the default with it, and
how many texts ``recommend`` would not answer.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import citebed
from common import machine, shared_data
from fields import Asked, figures, interval, of_people

DOCUMENTS, SENTENCES = 300, 3
TABLES = Path(__file__).with_name("languages.toml")
CODES = {"german": "de", "french": "fr", "spanish": "es", "chinese": "zh"}
AUTO = "auto"
WAYS = (("english", "bm25"), (AUTO, "bm25"), (AUTO, "bm25+learned"))


def made(language: str, table: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[Asked]]:
    """The documents of a language, and what is asked of each."""
    rng = random.Random(language)
    kinds = {kind[:-1]: table[kind] for kind in ("things", "events", "methods", "places")}
    documents, asked, seen = [], list[Asked](), set[tuple[str, ...]]()
    while len(documents) < DOCUMENTS:
        words = {kind: rng.choice(forms) for kind, forms in kinds.items()}
        words["other"] = rng.choice([each for each in kinds["event"] if each != words["event"]])
        if (key := tuple(words[kind] for kind in ("thing", "event", "place"))) in seen:
            continue
        seen.add(key)
        forms = {kind: _forms(both) for kind, both in words.items()}
        name = f"{CODES[language]}-{len(documents):03d}"
        said = sorted(rng.sample(range(len(table["abstract"])), SENTENCES))
        sentences = [_said(rng.choice(table["abstract"][at]), forms) for at in said]
        texts = [_said(each, forms) for each in table["questions"]]
        asked += [Asked(text, frozenset((name,)), f"about {name}") for text in texts]
        blank = "" if language == "chinese" else " "
        documents.append(
            {"id": name, "title": _said(table["title"], forms), "abstract": blank.join(sentences)}
        )
    return documents, asked


def _forms(both: str) -> SimpleNamespace:
    first, second = both.split("|")
    return SimpleNamespace(a=first, b=second)


def _said(template: str, forms: Mapping[str, SimpleNamespace]) -> str:
    text = template.format(**forms)
    return text[:1].upper() + text[1:]


def libraries(work: Path, data: Path) -> Iterator[tuple[str, list[Path], dict[str, list[Asked]]]]:
    """Each library: its name, its sources, and what is asked by kind."""
    tables = tomllib.loads(TABLES.read_text("utf-8"))
    sources, of_all = [data / "cacm"], dict[str, list[Asked]]()
    for language, table in tables.items():
        documents, asked = made(language, table)
        source = work / f"{language}.jsonl"
        source.write_text("".join(json.dumps(row) + "\n" for row in documents), "utf-8")
        sources.append(source)
        of_all[language] = asked
        yield language, [source], {language: asked}
    yield "all, and CACM", sources, of_all


def silent(folder: Path, asked: Sequence[Asked]) -> int:
    """How many texts get no answer."""
    mine = citebed.open(folder)
    found = mine.recommend([one.text for one in asked], k=10)
    return len(asked) - len(found.passages)


def report(folder: Path, asked: Mapping[str, Sequence[Asked]]) -> None:
    """Index in each way, ask, print a line a kind of text."""
    for analyser, model in WAYS:
        citebed.open(folder).index(analyser, quiet=True)
        chosen = citebed.open_index(folder).description.analyser
        for kind, texts in asked.items():
            values = figures(folder, texts, model)[:, 0]
            low, high = interval(values, [one.paper for one in texts])
            what = f"nDCG@10 {values.mean():.3f} [{low:.3f}, {high:.3f}]"
            none = f"  silent {silent(folder, texts)}" if "+" in model else ""
            print(f"  {kind:8} {model:13} {what}  {chosen}{none}", flush=True)


def main() -> None:
    """Make the libraries, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", nargs="?", type=Path, help="The folder for the collections.")
    arguments = parser.parse_args()
    data = shared_data("cacm").parent
    print(machine())
    with tempfile.TemporaryDirectory() as temporary:
        work = arguments.work or Path(temporary)
        work.mkdir(exist_ok=True)
        for name, sources, asked in libraries(work, data):
            folder = work / name.replace(", and ", "-")
            shutil.rmtree(folder, ignore_errors=True)
            citebed.create(folder, sources)
            print(f"{name}: {citebed.open(folder).documents.height:,} documents")
            people = {"CACM": of_people(folder)} if len(sources) > 1 else {}
            report(folder, {**asked, **people})


if __name__ == "__main__":
    main()
