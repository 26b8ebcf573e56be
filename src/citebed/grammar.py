"""The grammar of names with parameters: ``bm25(k1=0.9,b=0.4)+rm3(docs=10)``, ``AP(rel=2)``.

A call is a name with optional parameters in brackets; a spec is one or more calls joined by ``+``.
A measure's call can end with a cut-off: ``nDCG(rel=2)@10``. A value is a number, a name, or text in
single or double quotes (double a quote inside). Text without commas, brackets and a leading quote
needs no quotes, so most paths need none. Spaces around names, values and signs do not matter. A
printed spec parses to the same spec.

The callers decide what a name means: models, feedback, measures, filters. A class whose fields are
made by ``number``, ``integer``, ``choice`` and ``path`` declares its parameters once; the checks,
the printed form, the help text and the page in the docs come from this declaration.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from textwrap import indent
from typing import Any, ClassVar, Literal, NoReturn, Self

from citebed.errors import CitebedError, UnknownName

Value = int | float | str
"""Possible values of a parameter in a spec."""

_NAME = re.compile(r"[^\W\d][\w./:-]*")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_CUTOFF = re.compile(r"@([\w.]+)")
_BLANK = re.compile(r"\s*")
_BARE = re.compile(r"[^,()]*")
_QUOTED = re.compile(r"'((?:[^']|'')*)'|\"((?:[^\"]|\"\")*)\"")


class SpecError(CitebedError):
    """A spec that does not parse or has invalid values."""


@dataclass(frozen=True)
class Call:
    """A name, its parameters in written order, and a cut-off."""

    name: str
    params: tuple[tuple[str, Value], ...] = ()
    cutoff: str | None = None

    def __str__(self) -> str:
        return self.written(value_text)

    def written(self, text: Callable[[Value], str]) -> str:
        """Return the call as text, formatting values with ``text``."""
        inside = ",".join(f"{name}={text(value)}" for name, value in self.params)
        behind = "" if self.cutoff is None else f"@{self.cutoff}"
        return f"{self.name}({inside}){behind}" if inside else f"{self.name}{behind}"

    def known_params(self, owner: str, known: Iterable[str]) -> dict[str, Value]:
        """Return the parameters by name; raise `UnknownName` for a parameter that the owner does
        not have."""
        names = set(known)
        for name, _ in self.params:
            if name not in names:
                raise UnknownName(f"parameter of {owner}", name, names)
        return dict(self.params)


@dataclass(frozen=True)
class Spec:
    """One or more calls joined by ``+``."""

    parts: tuple[Call, ...]

    def __str__(self) -> str:
        return "+".join(map(str, self.parts))


def parse(text: str) -> Spec:
    """Parse a spec; a ``SpecError`` shows the place of a syntax error."""
    reader = _Reader(text)
    parts = [reader.call()]
    while reader.take("+"):
        parts.append(reader.call())
    if reader.at < len(text):
        reader.miss("'+', '(' or the end")
    return Spec(tuple(parts))


def parse_call(text: str, *, cutoffs: bool = False) -> tuple[Call, str]:
    """Parse the call at the beginning of a text, with its cut-off if allowed; return it and the
    rest."""
    reader = _Reader(text)
    call = reader.call()
    if cutoffs and (cutoff := _CUTOFF.match(text, reader.at)):
        return dataclasses.replace(call, cutoff=cutoff[1]), text[cutoff.end() :]
    return call, text[reader.at :]


def only_call(text: str, kind: str) -> Call:
    """Parse a text of exactly one call; a ``+`` is an error."""
    spec = parse(text)
    if len(spec.parts) > 1:
        raise SpecError(f"'{spec}' is not a single {kind}: expected one name without '+'.")
    return spec.parts[0]


def plain_name(name: str) -> str:
    """Normalise a name for lookup: ``tf-idf`` and ``TF_IDF`` become ``tfidf``."""
    return re.sub("[-_. ]", "", name).lower()


def value_text(value: Value) -> str:
    """Format a value for a spec: numbers in short form, text in quotes if it needs them."""
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
    """A position in a text; every method reads on from there or raises an error there."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.skip()

    def skip(self) -> None:
        """Skip white space."""
        blank = _BLANK.match(self.text, self.at)
        self.at = blank.end() if blank else self.at

    def take(self, sign: str) -> bool:
        """If a sign follows, skip it and the white space after it, and return True."""
        if not self.text.startswith(sign, self.at):
            return False
        self.at += len(sign)
        self.skip()
        return True

    def fail(self, what: str, at: int | None = None) -> NoReturn:
        """Raise an error that shows the text and the place."""
        place = self.at if at is None else at
        # A tab or a line break would misplace the mark.
        line = re.sub(r"\s", " ", self.text)
        raise SpecError(f"cannot read '{line}': {what}\n  {line}\n  {' ' * place}^")

    def miss(self, expected: str) -> NoReturn:
        """Raise an error that says what the parser expected and found here."""
        found = f"found '{self.text[self.at]}'" if self.at < len(self.text) else "found the end"
        self.fail(f"expected {expected}, {found}")

    def name(self, what: str) -> str:
        """Read a name and the white space after it."""
        found = _NAME.match(self.text, self.at)
        if found is None:
            self.miss(what)
        self.at = found.end()
        self.skip()
        return found[0]

    def call(self) -> Call:
        """Read a name and the parameters in its brackets."""
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
        """Read ``name=value`` into ``params``; a repeated name is an error."""
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
        """Read a value and the white space after it."""
        if self.text[self.at : self.at + 1] in ("'", '"'):
            return self.quoted()
        bare = _BARE.match(self.text, self.at)
        text = bare[0].strip() if bare else ""
        if bare is None or not text:
            self.miss(f"a value for '{name}'")
        self.at = bare.end()
        return _value(text)

    def quoted(self) -> str:
        """Read quoted text; a doubled quote stands for one quote."""
        found = _QUOTED.match(self.text, self.at)
        if found is None:
            self.fail("this quote is never closed")
        quote = found[0][0]
        self.at = found.end()
        self.skip()
        return found[0][1:-1].replace(quote * 2, quote)


# --- parameters -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    """The declaration of a parameter; ``attribute`` is its field, ``name`` its name in a spec.

    A ``quiet`` parameter is printed only if it differs from its default; a default of ``None``
    means "not given" and is never printed.
    """

    kind: Literal["number", "integer", "choice", "path"]
    about: str
    default: Value | None
    low: float = 0.0
    high: float = 0.0
    choices: tuple[str, ...] = ()
    name: str = ""
    attribute: str = ""
    quiet: bool = False

    @property
    def range(self) -> str:
        """Return the allowed values in words."""
        if self.kind == "choice":
            return f"one of {', '.join(self.choices)}"
        if self.kind == "path":
            return "the path of a file"
        article = "an integer" if self.kind == "integer" else "a number"
        low, high = (f"{value:.12g}" for value in (self.low, self.high))
        return f"{article} from {low} to {high}"

    def checked(self, value: Any, owner: str) -> Value | None:
        """Return the value in its declared type, or raise a ``SpecError`` that names the range."""
        if value is None and self.default is None:
            return None
        good = self._converted(value)
        if good is None:
            found = value_text(value) if isinstance(value, Value) else repr(value)
            unquoted = self.kind == "path" and isinstance(value, int | float)
            hint = f' Write {self.name}="{found}".' if unquoted else ""
            raise SpecError(f"{owner}: {self.name}={found} is not {self.range}.{hint}")
        return good

    def _converted(self, value: Any) -> Value | None:
        if self.kind == "choice":
            return value if value in self.choices else None
        if self.kind == "path":
            return str(value) if str(value) and not isinstance(value, int | float) else None
        if isinstance(value, str | bool) or not isinstance(value, int | float):
            return None
        if not self.low <= value <= self.high or (self.kind == "integer" and value != int(value)):
            return None
        return int(value) if self.kind == "integer" else float(value)


def _field(parameter: Parameter) -> Any:
    return dataclasses.field(default=parameter.default, metadata={"parameter": parameter})


def number(
    default: float | None,
    low: float,
    high: float,
    about: str,
    *,
    name: str = "",
    quiet: bool = False,
) -> Any:
    """Declare a number; a default of ``None`` makes it optional."""
    return _field(Parameter("number", about, default, low, high, name=name, quiet=quiet))


def integer(default: int | None, low: int, high: int, about: str, *, quiet: bool = False) -> Any:
    """Declare an integer; a default of ``None`` makes it optional."""
    return _field(Parameter("integer", about, default, low, high, quiet=quiet))


def choice(*choices: str, about: str, quiet: bool = False, name: str = "") -> Any:
    """Declare a choice of names; the first is the default."""
    return _field(Parameter("choice", about, choices[0], choices=choices, quiet=quiet, name=name))


def path(about: str, *, name: str = "") -> Any:
    """Declare an optional file path."""
    return _field(Parameter("path", about, None, name=name))


class Specified:
    """A value with a spec: it parses from the spec and prints as it.

    ``summary`` describes it, ``formula`` says how it computes, ``citation`` names its source, and
    ``edge_cases`` says what happens where the formula is undefined.
    """

    kind: ClassVar[str]
    name: ClassVar[str]
    summary: ClassVar[str]
    formula: ClassVar[str]
    citation: ClassVar[str]
    edge_cases: ClassVar[str]
    example: ClassVar[str]

    def __post_init__(self) -> None:
        for parameter in self.parameters():
            value = parameter.checked(getattr(self, parameter.attribute), self.name)
            # The dataclass is frozen; only this code converts a value to its type.
            object.__setattr__(self, parameter.attribute, value)

    @classmethod
    def parameters(cls) -> tuple[Parameter, ...]:
        """Return the parameters in printing order."""
        fields = dataclasses.fields(cls)  # type: ignore[arg-type]
        return tuple(
            dataclasses.replace(
                declared := field.metadata["parameter"],
                attribute=field.name,
                name=declared.name or field.name,
            )
            for field in fields
        )

    @classmethod
    def from_call(cls, call: Call) -> Self:
        """Build the value from a call; raise an error for unknown parameters and invalid values."""
        known = {parameter.name: parameter.attribute for parameter in cls.parameters()}
        given: dict[str, Any] = call.known_params(cls.name, known)
        return cls(**{known[name]: value for name, value in given.items()})

    @property
    def call(self) -> Call:
        """The call that describes this value."""
        values = ((each, getattr(self, each.attribute)) for each in self.parameters())
        return Call(
            self.name,
            tuple(
                (each.name, value)
                for each, value in values
                if value is not None and not (each.quiet and value == each.default)
            ),
        )

    def __str__(self) -> str:
        return str(self.call)

    @classmethod
    def describe(cls) -> str:
        """Return the help text: summary, formula, parameters, edge cases and citation."""
        lines = [f"{cls.name}: {cls.summary}", "", indent(cls.formula, "  "), ""]
        for parameter in cls.parameters():
            default = "" if parameter.default is None else f", {value_text(parameter.default)}"
            lines.append(f"  {parameter.name}: {parameter.about} ({parameter.range}{default})")
        return "\n".join([*lines, "", cls.edge_cases, "", cls.citation, f"Example: {cls.example}"])
