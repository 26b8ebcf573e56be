"""Documents per second that an encoder reads, before and now, by their length.

Takes collections, and the folder of an encoder as ``citebed fetch encoder`` makes it (by default
the installed or fetched one). "Now" is how ``citebed index --neural`` reads documents. "Before"
is all tokens that the encoder accepts, with the same encoder or the one that ``--before`` names.
Both take turns, some texts each, so that other work on the machine slows both alike. Times are
processor times of all cores, so documents per second are per core.
Run: python bench/encode.py acm-cr/ [--encoder FOLDER] [--before FOLDER] [--documents 512]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import citebed
from citebed.retrieval.encoders import load_dense_encoder
from citebed.retrieval.encoders.models import Encoder, load_encoder
from citebed.retrieval.encoders.runtimes import load_tokenizer
from citebed.retrieval.index.document_vectors import document_text
from common import machine

AT_ONCE = 32
ENDS = (64, 128, 192, 256)
"""The groups of texts by their number of tokens: up to each of these, and more."""


def main() -> None:
    """Each collection by itself."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collections", nargs="+", type=Path)
    parser.add_argument("--encoder", default="encoder")
    parser.add_argument("--before", default=None)
    parser.add_argument("--documents", type=int, default=512)
    given = parser.parse_args()
    now = load_dense_encoder(given.encoder).encoder
    before = now if given.before is None else load_encoder(given.before, max_tokens=now.max_tokens)
    print(machine())
    print(f"before: {before.max_tokens} tokens; now: {now.document_tokens} of a document")
    for folder in given.collections:
        documents = citebed.open(folder).documents
        some = documents.sample(min(documents.height, given.documents), seed=3, shuffle=True)
        texts = some.select(document_text())["text"].to_list()
        report(folder.name, texts, before, now.of_documents)


def report(name: str, texts: Sequence[str], before: Encoder, now: Encoder) -> None:
    """Documents a second of each kind, and of all."""
    lengths = tokens_of(texts, before)
    kinds = np.searchsorted(ENDS, lengths)
    print(f"{name}: {len(texts)} documents, {lengths.mean():.0f} tokens each")
    seconds, wall = np.zeros((2, len(ENDS) + 1)), np.zeros(2)
    for kind in np.unique(kinds):
        of_kind = [texts[place] for place in np.flatnonzero(kinds == kind)]
        seconds[:, kind], took = turns(of_kind, before, now)
        wall += took
        show(tokens(int(kind)), len(of_kind), seconds[:, kind])
    show("all", len(texts), seconds.sum(axis=1))
    print(f"  on the clock, all cores: {len(texts) / wall[0]:.1f} and {len(texts) / wall[1]:.1f}/s")


def turns(
    texts: Sequence[str], before: Encoder, now: Encoder
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Seconds of the processor, and on the clock, that either takes for all texts."""
    used, took = np.zeros(2), np.zeros(2)
    for encoder in (before, now):
        encoder.encode(texts[:2])  # the first is slower
    for start in range(0, len(texts), AT_ONCE):
        for place, encoder in enumerate((before, now)):
            clock, processor = time.perf_counter(), time.process_time()
            encoder.encode(texts[start : start + AT_ONCE])
            used[place] += time.process_time() - processor
            took[place] += time.perf_counter() - clock
    return used, took


def show(what: str, count: int, seconds: NDArray[np.float64]) -> None:
    """A line: documents a second of one core."""
    old, new = count / seconds
    print(f"  {what:16}{count:6} documents: {old:6.1f} → {new:6.1f}/s, {new / old:.2f} times")


def tokens_of(texts: Sequence[str], encoder: Encoder) -> NDArray[np.int64]:
    """The length of texts in tokens."""
    tokenizer = load_tokenizer(encoder._files)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return np.array([len(each) for each in tokenizer.encode_batch_fast(list(texts))])


def tokens(kind: int) -> str:
    """Return the name of a group of texts."""
    if kind == len(ENDS):
        return f"over {ENDS[-1]} tokens"
    return f"{ENDS[kind - 1] + 1 if kind else 1}-{ENDS[kind]} tokens"


if __name__ == "__main__":
    main()
