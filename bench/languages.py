"""How good the default is in other languages, against BM25: ``python bench/languages.py [WORK]``.

Two kinds of libraries. The first holds artificial science (``languages.toml``) in German, French,
Spanish or Chinese, or all of it beside CACM; the queries are sentences about a document, in other
forms of its words, and CACM's own. The second holds paragraphs of the manual pages that this
machine has in English, German, French, Japanese and Chinese; the queries are sentences that were
removed from them. The script prints nDCG@10 of BM25 with the analyser of English, of BM25 with the
analyser that ``citebed index`` chooses, and of the default with it, and for how many of the first
200 texts whose right document is among the first ten ``citebed recommend`` makes no suggestion.
``--write`` puts the table into docs/learned.md.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import citebed
from citebed.report.tables import text_table
from citebed.retrieval.ranking.weight_fit import split_abstract
from citebed.text.languages import language_of
from common import machine, shared_data, write_between
from fields import Asked, figures, interval, of_people

DOCUMENTS, SENTENCES, RECOMMENDED = 300, 3, 200
TABLES = Path(__file__).with_name("languages.toml")
MANUALS = {"English": "en", "German": "de", "French": "fr", "Japanese": "ja", "Chinese": "zh_CN"}
_PARAGRAPH_END = re.compile(r"^[.'].*\n|\n\s*\n", re.MULTILINE)
_QUOTE = re.compile(r"\\\((?:aq|cq)|\\\*\(Aq")
_ESCAPE = re.compile(r"\\(?:f(?:\[[^\]]*\]|\(..|.)|\*?\(..|\*?\[[^\]]*\]|s[-+]?\d+|[&|^/,:%])")
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
        name = f"{language}-{len(documents):03d}"
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


def manual_pages(manual: Path, code: str) -> tuple[list[dict[str, Any]], list[Asked]]:
    """The paragraphs of a language's manual pages, and a sentence that was removed from each.

    Pages by Pod::Man are skipped, because they spell accents as macros. The pages in English are
    those that there are in German, too.
    """
    draw, documents, asked = random.Random(code), list[dict[str, Any]](), list[Asked]()
    texts: dict[str, str] = {}
    folder = manual / code.replace("en", "de")
    pages = [page.relative_to(folder) for page in sorted(folder.glob("man*/*.gz"))]
    folder = manual if code == "en" else folder
    for page in (folder / page for page in pages if (folder / page).exists()):
        source = gzip.decompress(page.read_bytes()).decode()
        for paragraph in () if "Pod::Man" in source else _PARAGRAPH_END.split(source):
            plain = _ESCAPE.sub("", _QUOTE.sub("’", paragraph)).replace("\\", "")
            texts.setdefault(" ".join(plain.split()), f"{code}-{page.stem}")
    for text, page in texts.items():
        is_translated = language_of(None, "", text) == code[:2]
        if is_translated and (found := split_abstract(text, draw)):
            name = f"{page}-{len(documents)}"
            documents.append({"id": name, "title": name, "abstract": found[1]})
            asked.append(Asked(found[0], frozenset((name,)), page))
    if not asked:
        sys.exit(f"{folder} has no manual pages: install them, or give --manual-pages")
    return documents, asked


def libraries(
    work: Path, data: Path, manual: Path
) -> Iterator[tuple[str, list[Path], dict[str, list[Asked]]]]:
    """Each library: its name, its sources, and what is asked by kind."""
    tables = tomllib.loads(TABLES.read_text("utf-8"))
    libraries = {f"{name.title()}, artificial": made(name, table) for name, table in tables.items()}
    artificial = list(libraries)
    for name, code in MANUALS.items():
        libraries[f"{name}, manual pages"] = manual_pages(manual, code)
    sources = {name: work / f"{name}.jsonl" for name in libraries}
    for name, (documents, asked) in libraries.items():
        sources[name].write_text("".join(json.dumps(row) + "\n" for row in documents), "utf-8")
        yield name, [sources[name]], {name: asked}
    every = [data / "cacm", *(sources[name] for name in artificial)]
    yield "beside the others", every, {name: libraries[name][1] for name in artificial}


def measure(folder: Path, name: str, asked: Mapping[str, Sequence[Asked]]) -> Iterator[list[str]]:
    """Index in each way, ask, and return a row for each kind of text."""
    found: dict[str, list[str]] = {kind: [] for kind in asked}
    is_found, analyser = dict[str, np.ndarray](), ""
    for chosen, model in WAYS:
        if chosen != analyser:
            citebed.open(folder).index(chosen, quiet=True)
            analyser = chosen
        for kind, texts in asked.items():
            gains, recall = figures(folder, texts, model).T
            low, high = interval(gains, [one.paper for one in texts])
            found[kind].append(f"{gains.mean():.3f} [{low:.3f}, {high:.3f}]")
            is_found[kind] = recall > 0
    used = citebed.open_index(folder).description.analyser
    recommender = citebed.Recommender(folder, warm=True)
    for kind, texts in asked.items():
        some = [one.text for one, right in zip(texts, is_found[kind], strict=True) if right]
        some = some[:RECOMMENDED]
        lost = sum(not recommender.recommend(text, k=1) for text in some)
        label = kind if kind == name else f"{kind} {name}"
        row = [label, f"{len(texts):,}", used, *found[kind], f"{lost:,} of {len(some):,}"]
        print("  ".join(row), flush=True)
        yield row


def main() -> None:
    """Make the libraries, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", nargs="?", type=Path, help="The folder for the collections.")
    parser.add_argument("--manual-pages", type=Path, default=Path("/usr/share/man"))
    parser.add_argument("--write", action="store_true", help="Write the table into docs/.")
    arguments = parser.parse_args()
    print(machine())
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory() as temporary:
        work = arguments.work or Path(temporary)
        work.mkdir(exist_ok=True)
        every = libraries(work, shared_data("cacm").parent, arguments.manual_pages)
        for name, sources, asked in every:
            folder = work / name.replace(",", "").replace(" ", "-")
            shutil.rmtree(folder, ignore_errors=True)
            citebed.create(folder, sources)
            people = {"CACM": of_people(folder)} if len(sources) > 1 else {}
            rows += measure(folder, name, {**asked, **people})
    head = ["", "texts", "analyser", "BM25, English analyser", "BM25", "default", "right ones lost"]
    if arguments.write:
        write_between("learned.md", "languages", text_table(head, rows, {0, 2}).markdown())


if __name__ == "__main__":
    main()
