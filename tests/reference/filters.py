"""Stream filters the slow and obvious way: dicts and loops, one document at a time.

A document is a dict with ``doc_id``, ``time`` and texts; a result is a list of (document, topic,
confidence). Terms are kept as they are, not hashed.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

Doc = dict[str, Any]
Found = list[tuple[str, str, int]]
Names = dict[str, dict[str, float]]
"""For each topic its names, with the weights that are stated."""

TEXTS = ("title", "abstract", "text")


def is_cjk(c: str) -> bool:
    return any(
        low <= ord(c) <= high
        for low, high in ((0x3040, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF))
    )


def words(text: str) -> list[str]:
    """Runs of letters and digits, folded; a CJK character is a word."""
    found: list[str] = []
    inside = False
    for c in unicodedata.normalize("NFC", text).casefold():
        if is_cjk(c) and c.isalnum():
            found.append(c)
            inside = False
        elif c.isalnum():
            found[-1:] = [found[-1] + c] if inside else [*found[-1:], c]
            inside = True
        else:
            inside = False
    return found


def mentions(names: Iterable[str], text: str) -> list[tuple[str, ...]]:
    """The names in a text, from left to right, the longest that starts at a word."""
    wanted = sorted({tuple(words(name)) for name in names}, key=len, reverse=True)
    there, found, place = words(text), [], 0
    while place < len(there):
        name = next((n for n in wanted if tuple(there[place : place + len(n)]) == n), None)
        if name is not None:
            found.append(name)
        place += len(name) if name is not None else 1
    return found


def share(names: Names, topic: str, name: tuple[str, ...]) -> float:
    """P(topic | name)."""

    def stated(other: str) -> float:
        return max((w for n, w in names[other].items() if tuple(words(n)) == name), default=0.0)

    return stated(topic) / max(1.0, sum(stated(other) for other in names))


def evidence(names: Names, docs: Sequence[Doc], common: float) -> list[dict[str, float]]:
    """For each document the evidence for the topics that it mentions."""
    df: Counter[tuple[str, ...]] = Counter()
    found: list[dict[str, float]] = []
    for before, doc in enumerate(docs):
        here: dict[str, float] = {}
        seen = set()
        for field in TEXTS:
            for name in mentions((n for of in names.values() for n in of), doc.get(field) or ""):
                seen.add(name)
                rarity = min(1.0, common * (before + 1000) / df[name]) if df[name] else 1.0
                for topic in names:
                    p = share(names, topic, name)
                    if p:
                        times = 2.0 if field == "title" else 1.0
                        here[topic] = here.get(topic, 0.0) + p * (rarity * times)
        df.update(seen)
        found.append(here)
    return found


def by_names(names: Names, docs: Sequence[Doc], common: float = 0.01) -> Found:
    found = []
    for doc, here in zip(docs, evidence(names, docs, common), strict=True):
        for topic in names:
            if topic in here:
                x = here[topic]
                found.append((doc["doc_id"], topic, to_confidence(x / (x + 1))))
    return found


def to_confidence(p: float) -> int:
    return min(1000, max(1, round(1000 * p)))


def terms(doc: Doc) -> list[str]:
    return " ".join(doc.get(field) or "" for field in TEXTS).split()


# --- relevance model ------------------------------------------------------------------------


def by_relevance_model(
    texts: dict[str, str],
    training: dict[str, set[str]],
    docs: Sequence[Doc],
    mu: float = 300.0,
    text: float = 0.5,
    least: float = 0.1,
) -> Found:
    """``texts`` holds what is known of a topic, its names among it; no limit on its terms."""
    found: Found = []
    seen: list[str] = [w for topic in texts for w in texts[topic].split()]
    passed: list[Doc] = []
    for doc in docs:
        background = Counter(seen)

        def p_c(w: str, counts: Counter[str] = background) -> float:
            return (counts[w] + 0.5) / (counts.total() + 0.5 * (len(counts) + 1))

        tf = Counter(terms(doc))
        for topic, own in texts.items():
            known = [d for d in passed if d["doc_id"] in training[topic]]
            model = topic_model(
                own.split(), [terms(d) for d in known if d["time"] < doc["time"]], text
            )
            if not set(model) & set(tf):
                continue
            length = tf.total()
            s = best = 0.0
            for w, p in model.items():
                below = (length + mu) * p_c(w)
                s += p * math.log((tf[w] + mu * p_c(w)) / below)
                best += p * math.log((length * p + mu * p_c(w)) / below)
            if best > 0 and s > least * best:
                found.append((doc["doc_id"], topic, to_confidence(s / best)))
        seen += terms(doc)
        passed.append(doc)
    return found


def topic_model(text: list[str], training: list[list[str]], share: float) -> dict[str, float]:
    training = [doc for doc in training if doc]
    share = 1.0 if not training else share if text else 0.0
    model = {w: share * n / len(text) for w, n in Counter(text).items()}
    for doc in training:
        for w, n in Counter(doc).items():
            model[w] = model.get(w, 0.0) + (1 - share) * n / len(doc) / len(training)
    return {w: p for w, p in model.items() if p > 0}


# --- incremental ----------------------------------------------------------------------------


def by_incremental(
    names: Names,
    labels: dict[str, dict[str, bool]],
    docs: Sequence[Doc],
    delay: int = 0,
    rate: float = 1.0,
    least: float = 0.1,
) -> Found:
    found: Found = []
    bias = dict.fromkeys(names, -3.0)
    mention = dict.fromkeys(names, 4.0)
    weights: dict[str, dict[str, float]] = {topic: {} for topic in names}
    df: Counter[str] = Counter()
    waiting: list[tuple[int, str, bool, float, dict[str, float]]] = []
    other: dict[str, float] = {}

    def p(topic: str, m: float, f: dict[str, float]) -> float:
        z = bias[topic] + mention[topic] * m
        z += sum(v * weights[topic].get(w, 0.0) for w, v in f.items())
        return 1 / (1 + math.exp(-z))

    def step(topic: str, target: float, m: float, f: dict[str, float]) -> None:
        size = rate * (target - p(topic, m, f))
        bias[topic] += size
        mention[topic] += size * m
        for w, v in f.items():
            weights[topic][w] = weights[topic].get(w, 0.0) + size * v

    everything = evidence(names, docs, 0.01)
    for n, doc in enumerate(docs, start=1):
        known = [lesson for lesson in waiting if lesson[0] + delay < doc["time"]]
        waiting = [lesson for lesson in waiting if lesson not in known]
        for _, topic, relevant, m, f in known:
            step(topic, float(relevant), m, f)
            if relevant and other:
                step(topic, 0.0, 0.0, other)
        df.update(set(terms(doc)))
        f = unit(
            {
                w: (1 + math.log(tf)) * math.log((n + 1) / (df[w] + 0.5))
                for w, tf in Counter(terms(doc)).items()
            }
        )
        mentions = {topic: x / (x + 1) for topic, x in everything[n - 1].items()}
        here = [(topic, p(topic, mentions.get(topic, 0.0), f)) for topic in names]
        here = [(topic, sure) for topic, sure in here if sure > least]
        found += [(doc["doc_id"], topic, to_confidence(sure)) for topic, sure in here]
        judged = {t: r for t, r in labels.get(doc["doc_id"], {}).items() if t in names}
        waiting += [
            (doc["time"], topic, judged[topic], mentions.get(topic, 0.0), f)
            for topic in names
            if topic in judged
        ]
        if not here and not judged:
            other = f
    return found


def unit(vector: dict[str, float]) -> dict[str, float]:
    length = math.sqrt(sum(v * v for v in vector.values()))
    return {w: v / length for w, v in vector.items()} if length else vector
