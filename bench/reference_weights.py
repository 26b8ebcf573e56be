"""Fit the weights of `citebed.papers.reference_matcher`.

The script cites documents of a collection in the styles of many fields, with slips (`tests/
reference_styles`). It removes half of the cited documents from the collection, so that their
references match nothing. It fits a conditional logit over the candidates of each reference, and
"no candidate", by maximum likelihood with a small ridge. Venues are split: weights fitted on some
are measured on the others, and on a second collection given with ``--other``. Weights of features
that these documents cannot show (identifiers and numbers that are right or wrong) stay unchanged.
A removed document is not an example if another with its title and first author remains.

    python bench/reference_weights.py COLLECTION [--other DOCUMENTS.jsonl.xz]
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.optimize import minimize

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.reference_styles import STYLES, Work, in_lines, retold, with_slips

from citebed.papers.reference_matcher import WEIGHTS, ReferenceMatcher, ReferenceQuery
from citebed.papers.references import parse_reference
from citebed.text.names import name_from_display
from citebed.text.titles import plain_title

FEATURES = tuple(WEIGHTS)
_KEPT = ("numbers", "same_doi", "other_doi", "same_arxiv")
_RIDGE = 0.02
_OTHERS = 0.08
"""So many references are to works nearly the same: by others, as books and their reviews, or with
another word in the title, by the same."""


class Example(NamedTuple):
    """The features of a reference's candidates, and which of them it is; -1 for none."""

    features: npt.NDArray[np.float64]
    right: int


def work_of(row: dict[str, object], rng: random.Random) -> Work:
    """A document as a reference would print it; its DOI now and then."""
    venue = str(row.get("venue") or "Journal of Things").split("(")[0].strip()
    first = rng.randint(1, 900)
    stated = re.fullmatch(r"(\d{1,5})[-–](\d{1,5})", str(row.get("pages") or ""))
    pages = (int(stated[1]), int(stated[2])) if stated else (first, first + rng.randint(2, 40))
    return Work(
        str(row["title"]),
        tuple(row["authors"]),  # type: ignore[arg-type]
        int(row["year"]),  # type: ignore[call-overload]
        venue,
        rng.randint(1, 99),
        pages,
        str(row["doi"]) if rng.random() < 0.15 else None,
        row.get("type") == "inproceedings",
    )


def printed(work: Work, rng: random.Random) -> str:
    """A reference to a work, as a reader of PDFs may hand it over."""
    style = rng.choice(list(STYLES.values()))
    text = _paged(style(retold(work, rng)), rng)
    draw = rng.random()
    if draw < 0.25:
        text = with_slips(text, rng, 0.01 if draw < 0.15 else 0.03)
    return in_lines(text, rng, rng.choice((60, 80, 110)))


def _paged(text: str, rng: random.Random) -> str:
    """Remove the pages of a document half of the time, or give it those of a preprint."""
    draw = rng.random()
    if draw < 0.4:
        return re.sub(r",?:? ?\(?(?:pp\. |pages )?\b\d+–\d+\)?", "", text)
    others = f"{rng.randint(1, 99)}–{rng.randint(100, 200)}"
    return re.sub(r"\b\d+–\d+", others, text) if draw < 0.5 else text


def examples_of(documents: pl.DataFrame, count: int, seed: int) -> list[Example]:
    """Make references to documents, and remove half of these documents from the collection."""
    rng = random.Random(seed)
    usable = documents.filter((pl.col("authors").list.len() > 0) & pl.col("year").is_not_null())
    cited = usable.sample(count, seed=seed).to_dicts()
    gone = {row["doc_id"] for row in cited[::2]}
    left = documents.filter(~pl.col("doc_id").is_in(list(gone)))
    twins = set(left.select(key=_key()).to_series())
    matcher = ReferenceMatcher(_with_gaps(left, seed))
    works = [work_of(row, rng) for row in cited]
    others = {at for at in range(1, count, 2) if rng.random() < _OTHERS}
    for at in others:
        works[at] = _another(works[at], works[at - 1], rng)
    asked = [ReferenceQuery(parse_reference(printed(work, rng))) for work in works]
    keys = pl.DataFrame(cited, schema=documents.schema).select(key=_key()).to_series()
    examples = []
    found = zip(cited, keys, matcher.features(asked), strict=True)
    for at, (row, key, candidates) in enumerate(found):
        if row["doc_id"] in gone and key in twins:
            continue
        ids = [matcher.doc_id(at) for at, _ in candidates]
        right = ids.index(row["doc_id"]) if row["doc_id"] in ids and at not in others else -1
        if row["doc_id"] not in {*ids, *gone}:
            _MISSED.append(row["doc_id"])
        rows = [[some.get(name, 0.0) for name in FEATURES] for _, some in candidates]
        values = np.array(rows, dtype=np.float64)
        examples.append(Example(values.reshape(len(candidates), len(FEATURES)), right))
    return examples


_MISSED: list[str] = []


def _another(work: Work, other: Work, rng: random.Random) -> Work:
    """A work with the title of one and the authors of another, or with a word of the other."""
    words, theirs = (
        work.title.split(" "),
        [word for word in other.title.split(" ") if len(word) > 3],
    )
    if rng.random() < 0.5 or len(words) < 4 or not theirs:
        return replace(work, authors=other.authors, doi=None)
    telling = [at for at, word in enumerate(words) if len(word) > 3]
    words[rng.choice(telling or [0])] = rng.choice(theirs)
    return replace(work, title=" ".join(words), doi=None)


def _key() -> pl.Expr:
    """Return the fields that duplicates share."""
    author = pl.col("authors").list.first().str.split(",").list.first().fill_null("")
    return plain_title(pl.col("title")) + "|" + plain_title(author)


def _with_gaps(documents: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Remove authors, year or venue from some of the documents."""
    draw = pl.Series(np.random.default_rng(seed).random(documents.height))
    return documents.with_columns(
        authors=pl.when(draw < 0.04).then(pl.lit([], pl.List(pl.String()))).otherwise("authors"),
        year=pl.when(draw > 0.96).then(None).otherwise("year"),
        **{
            name: pl.when((draw > 0.3) & (draw < 0.6)).then(None).otherwise(name)
            for name in ("venue", "pages")
            if name in documents.columns
        },
    )


def probabilities(example: Example, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """One row for each candidate, and a last one for "no candidate"."""
    scores = np.append(example.features @ weights, 0.0)
    odds = np.exp(scores - scores.max())
    return np.asarray(odds / odds.sum())


def fitted(examples: Sequence[Example]) -> npt.NDArray[np.float64]:
    """The weights that make the right candidates likeliest."""
    start = np.array([WEIGHTS[name] for name in FEATURES])
    free = np.array([name not in _KEPT for name in FEATURES])

    def loss(values: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        weights = start.copy()
        weights[free] = values
        total, slope = 0.0, np.zeros(len(FEATURES))
        for example in examples:
            chances = probabilities(example, weights)
            total -= float(np.log(max(chances[example.right], 1e-12)))
            slope += chances[:-1] @ example.features
            if example.right >= 0:
                slope -= example.features[example.right]
        ridge = _RIDGE * len(examples) / 1000 * values
        return total + float(ridge @ values) / 2, slope[free] + ridge

    found = minimize(loss, start[free], jac=True, method="L-BFGS-B", options={"maxiter": 300})
    start[free] = found.x
    return start


def report(name: str, examples: Sequence[Example], weights: npt.NDArray[np.float64]) -> None:
    """Precision and recall at some thresholds, and whether probabilities are what they say."""
    chances = [probabilities(example, weights) for example in examples]
    best = [int(np.argmax(each[:-1])) if len(each) > 1 else -1 for each in chances]
    sure = np.array([each[at] if at >= 0 else 0.0 for each, at in zip(chances, best, strict=True)])
    right = np.array([at == each.right != -1 for at, each in zip(best, examples, strict=True)])
    wanted = sum(each.right >= 0 for each in examples)
    print(f"\n{name}: {len(examples)} references, {wanted} of them with their document found")
    for least in (0.3, 0.5, 0.7, 0.9):
        made = sure >= least
        found = right[made].sum() / wanted
        print(f"  at {least}: precision {right[made].mean():.4f}  recall {found:.4f}")
    for low, high in pairwise((0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 1.01)):
        chosen = (sure >= low) & (sure < high) & (sure > 0)
        if chosen.any():
            said, was = sure[chosen].mean(), right[chosen].mean()
            print(f"  said {said:.3f}  was {was:.3f}  ({chosen.sum()})")


def other_documents(path: Path) -> pl.DataFrame:
    """Documents of another field."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return pl.DataFrame(
        {
            "doc_id": [row["id"] for row in rows],
            "title": [row["title"] for row in rows],
            "authors": [[name_from_display(name) for name in row["authors"]] for row in rows],
            "year": [row["year"] for row in rows],
            "doi": [row["id"] for row in rows],
        }
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("collection", type=Path)
    options.add_argument("--other", type=Path)
    options.add_argument("--count", type=int, default=6000)
    given = options.parse_args()
    documents = pl.read_parquet(given.collection / "documents.parquet")
    venue = pl.col("source").str.extract(r"/([^/]+)/[^/]+$").fill_null("")
    some = documents.with_columns(side=venue.hash(seed=2) % 2)
    train = examples_of(some.filter(pl.col("side") == 0), given.count, seed=1)
    weights = fitted(train)
    for name, weight in zip(FEATURES, weights, strict=True):
        print(f'    "{name}": {weight:.2f},')
    report("venues it was fitted on", train, weights)
    report("other venues", examples_of(some.filter(pl.col("side") == 1), given.count, 2), weights)
    if given.other:
        other = examples_of(other_documents(given.other), given.count // 2, 3)
        report("another field", other, weights)
    print(f"\ndocuments that were no candidate of their reference: {len(_MISSED)}")


if __name__ == "__main__":
    main()
