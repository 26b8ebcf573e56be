"""The grammar in which retrieval is written: ``bm25(k1=0.9,b=0.4)+rm3(docs=10,terms=20)``.

A spec is one or more calls joined by ``+``; a call is a name with parameters in brackets, which
may be left out. A value is a number, a name, or text in single or double quotes (a quote within
is doubled). Text that has no comma, no bracket and no quote in front needs no quotes, so that
most paths are written as they are. Blanks around names, values and signs do not matter. What is
printed is read back as the same spec.

This is grammar alone: what a name means is decided by the tables of models, of feedback and of
whatever else comes after a ``+``.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import NoReturn

from citebed.errors import CitebedError

Value = int | float | str
"""What a parameter can be given in a spec."""

_NAME = re.compile(r"[^\W\d][\w./:-]*")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_BLANK = re.compile(r"\s*")
_BARE = re.compile(r"[^,()]*")
_QUOTED = re.compile(r"'((?:[^']|'')*)'|\"((?:[^\"]|\"\")*)\"")


class SpecError(CitebedError):
    """A spec that cannot be read or that asks for what cannot be."""


@dataclass(frozen=True)
class Call:
    """A name and its parameters, in the order in which they were written."""

    name: str
    params: tuple[tuple[str, Value], ...] = ()

    def __str__(self) -> str:
        if not self.params:
            return self.name
        inside = ",".join(f"{name}={value_text(value)}" for name, value in self.params)
        return f"{self.name}({inside})"


@dataclass(frozen=True)
class Spec:
    """Calls joined by ``+``; there is at least one."""

    parts: tuple[Call, ...]

    def __str__(self) -> str:
        return "+".join(map(str, self.parts))


def parse(text: str) -> Spec:
    """Read a spec; a ``SpecError`` shows the place where it cannot be read."""
    reader = _Reader(text)
    parts = [reader.call()]
    while reader.take("+"):
        parts.append(reader.call())
    if reader.at < len(text):
        reader.miss("'+', '(' or the end")
    return Spec(tuple(parts))


def value_text(value: Value) -> str:
    """A value as it is written in a spec: numbers briefly, text in quotes where it needs them."""
    if isinstance(value, str):
        return value if _is_bare(value) else '"' + value.replace('"', '""') + '"'
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return repr(value)


def _is_bare(text: str) -> bool:
    if not text or text != text.strip() or text[0] in "'\"":
        return False
    return _BARE.fullmatch(text) is not None and _NUMBER.fullmatch(text) is None


def _value(text: str) -> Value:
    if _INTEGER.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    return text


class _Reader:
    """A place in a text; every method reads on from there or fails there."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.skip()

    def skip(self) -> None:
        """Pass over blanks."""
        blank = _BLANK.match(self.text, self.at)
        self.at = blank.end() if blank else self.at

    def take(self, sign: str) -> bool:
        """Pass over a sign and the blanks after it, if it is there."""
        if not self.text.startswith(sign, self.at):
            return False
        self.at += len(sign)
        self.skip()
        return True

    def fail(self, what: str, at: int | None = None) -> NoReturn:
        """Raise the error that shows the text and the place."""
        place = self.at if at is None else at
        # A tab or a line break would push the mark aside.
        line = re.sub(r"\s", " ", self.text)
        raise SpecError(f"cannot read '{line}': {what}\n  {line}\n  {' ' * place}^")

    def miss(self, expected: str) -> NoReturn:
        """Raise the error that says what was expected here and what was found."""
        found = f"found '{self.text[self.at]}'" if self.at < len(self.text) else "found the end"
        self.fail(f"expected {expected}, {found}")

    def name(self, what: str) -> str:
        """A name and the blanks after it."""
        found = _NAME.match(self.text, self.at)
        if found is None:
            self.miss(what)
        self.at = found.end()
        self.skip()
        return found[0]

    def call(self) -> Call:
        """A name and what stands in its brackets."""
        name = self.name("the name of a model or of a step after it")
        opened = self.at
        if not self.take("("):
            return Call(name)
        params: dict[str, Value] = {}
        while not self.take(")"):
            if params and not self.take(","):
                if self.at < len(self.text):
                    self.miss("',' or ')'")
                self.fail("this bracket is never closed", opened)
            self.parameter(params, opened)
        return Call(name, tuple(params.items()))

    def parameter(self, params: dict[str, Value], opened: int) -> None:
        """Read ``name=value`` into ``params``; a name that is there already is refused."""
        if self.at >= len(self.text):
            self.fail("this bracket is never closed", opened)
        start = self.at
        name = self.name("the name of a parameter")
        if name in params:
            self.fail(f"'{name}' is given twice", start)
        if not self.take("="):
            self.miss(f"'=' and a value after '{name}'")
        params[name] = self.value(name)

    def value(self, name: str) -> Value:
        """A value and the blanks after it."""
        if self.text[self.at : self.at + 1] in ("'", '"'):
            return self.quoted()
        bare = _BARE.match(self.text, self.at)
        text = bare[0].strip() if bare else ""
        if bare is None or not text:
            self.miss(f"a value for '{name}'")
        self.at = bare.end()
        return _value(text)

    def quoted(self) -> str:
        """Text in quotes; a quote within is doubled."""
        found = _QUOTED.match(self.text, self.at)
        if found is None:
            self.fail("this quote is never closed")
        quote = found[0][0]
        self.at = found.end()
        self.skip()
        return found[0][1:-1].replace(quote * 2, quote)
