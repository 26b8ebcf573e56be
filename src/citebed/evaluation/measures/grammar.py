"""Measures as they are written: ``NAME(parameter=value,…)@cutoff``, or by trec_eval's names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.measures import MEASURES, Measure
from citebed.evaluation.measures.trec_names import from_trec_name

_WRITTEN = re.compile(r"(?P<name>[A-Za-z]\w*)(?:\((?P<inside>[^()]*)\))?(?:@(?P<cutoff>[\w.]+))?")


def measure(text: str | Measure, unless_given: Mapping[str, Any] | None = None) -> Measure:
    """The measure that a text names; parameters that it does not give are ``unless_given``.

    >>> str(measure("nDCG@10"))
    'nDCG@10'
    >>> str(measure("ndcg_cut_10"))
    'nDCG@10'
    >>> [str(measure(text, {"rel": 2})) for text in ("AP", "AP(rel=1)")]
    ['AP(rel=2)', 'AP']
    """
    if isinstance(text, Measure):
        return text
    text = str(text).strip()
    found = from_trec_name(text)
    if found is not None:
        return replace(found, **(unless_given or {}))
    match = _WRITTEN.fullmatch(text)
    if not match:
        raise CitebedError(
            f"cannot read the measure '{text}'. Write it like nDCG@10, AP(rel=2) or RBP(p=0.9)."
        )
    kind = kind_of(match["name"])
    given = _parameters(kind, match["inside"] or "")
    return kind(**{**(unless_given or {}), **given}, **_cutoff(match["cutoff"]))


def measures(
    texts: str | Measure | Iterable[str | Measure], unless_given: Mapping[str, Any] | None = None
) -> list[Measure]:
    """Several measures, each once, in the order given; ``P@5,P@10`` in one text are two."""
    found: dict[Measure, None] = {}
    for text in [texts] if isinstance(texts, str | Measure) else texts:
        parts = [text] if isinstance(text, Measure) else _split(str(text))
        found.update((measure(part, unless_given), None) for part in parts)
    if not found:
        raise CitebedError("no measure was named. Name one, e.g. nDCG@10.")
    return list(found)


def _split(text: str) -> list[str]:
    """At blanks and commas that are not inside parentheses."""
    return re.findall(r"(?:\([^()]*\)|[^\s,()])+", text) or [text]


def kind_of(name: str) -> type[Measure]:
    """The measure of that name, in whatever case; raises `UnknownName`."""
    if name in MEASURES:
        return MEASURES[name]
    alike = [known for known in MEASURES if known.lower() == name.lower()]
    if len(alike) == 1:
        return MEASURES[alike[0]]
    raise UnknownName("measure", name, MEASURES)


def _cutoff(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    if text == "R":
        return {"cutoff": "R"}
    try:
        return {"cutoff": int(text)}
    except ValueError:
        pass
    try:
        return {"cutoff": float(text)}
    except ValueError:
        raise CitebedError(f"the cut-off '@{text}' is not a number (or R).") from None


def _parameters(kind: type[Measure], inside: str) -> dict[str, Any]:
    given = {}
    types = {field.name: str(field.type) for field in fields(kind) if field.name != "cutoff"}
    for part in filter(None, (piece.strip() for piece in inside.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise CitebedError(f"'{part}' in {kind.NAME}(…): expected name=value.")
        if name not in types:
            raise UnknownName(f"parameter of {kind.NAME}", name, types)
        given[name] = _value(kind, name, value, types[name])
    return given


def _value(kind: type[Measure], name: str, text: str, wanted: str) -> Any:
    plain = text.strip("'\"")
    try:
        if wanted == "bool":
            return {"true": True, "false": False}[plain.lower()]
        if wanted.startswith("int"):
            return int(plain)
        return float(plain) if wanted == "float" else plain
    except (ValueError, KeyError):
        raise CitebedError(
            f"{kind.NAME}({name}={text}): '{text}' is not {_IN_WORDS[wanted.split(maxsplit=1)[0]]}."
        ) from None


_IN_WORDS = {"bool": "True or False", "int": "a whole number", "float": "a number"}
