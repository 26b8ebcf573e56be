"""The one grammar of names with parameters: ``bm25(k1=0.9,b=0.4)+rm3(docs=10)``, ``AP(rel=2)``.

A call is a name with parameters in brackets, which may be left out; a spec is one or more calls
joined by ``+``. Behind the call of a measure may stand a cut-off: ``nDCG(rel=2)@10``. A value is a
number, a name, or text in single or double quotes (a quote within is doubled). Text that has no
comma, no bracket and no quote in front needs no quotes, so that most paths are written as they
are. Blanks around names, values and signs do not matter. What is printed is read back as the same
spec.

What a name means is decided by those who use it: models, feedback, measures, filters. A class
whose fields are made by ``number``, ``integer``, ``choice`` and ``path`` declares its parameters
once; from that come the checks, the printed form, the help text and the page in the docs.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from textwrap import indent
from typing import Any, ClassVar, Literal, NoReturn, Self

from citebed.errors import CitebedError, UnknownName

Value = int | float | str
"""What a parameter can be given in a spec."""

_NAME = re.compile(r"[^\W\d][\w./:-]*")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_CUTOFF = re.compile(r"@([\w.]+)")
_BLANK = re.compile(r"\s*")
_BARE = re.compile(r"[^,()]*")
_QUOTED = re.compile(r"'((?:[^']|'')*)'|\"((?:[^\"]|\"\")*)\"")


class SpecError(CitebedError):
    """A spec that cannot be read or that asks for what cannot be."""


@dataclass(frozen=True)
class Call:
    """A name and its parameters, in the order in which they were written, and a cut-off."""

    name: str
    params: tuple[tuple[str, Value], ...] = ()
    cutoff: str | None = None

    def __str__(self) -> str:
        return self.written(value_text)

    def written(self, text: Callable[[Value], str]) -> str:
        """The call in the grammar, each value in its ``text``."""
        inside = ",".join(f"{name}={text(value)}" for name, value in self.params)
        behind = "" if self.cutoff is None else f"@{self.cutoff}"
        return f"{self.name}({inside}){behind}" if inside else f"{self.name}{behind}"

    def known_params(self, owner: str, known: Iterable[str]) -> dict[str, Value]:
        """The parameters by name; one that its owner does not know is refused."""
        names = set(known)
        for name, _ in self.params:
            if name not in names:
                raise UnknownName(f"parameter of {owner}", name, names)
        return dict(self.params)


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


def parse_call(text: str, *, cutoffs: bool = False) -> tuple[Call, str]:
    """The call at the beginning of a text, with its cut-off if it may have one, and the rest."""
    reader = _Reader(text)
    call = reader.call()
    if cutoffs and (cutoff := _CUTOFF.match(text, reader.at)):
        return dataclasses.replace(call, cutoff=cutoff[1]), text[cutoff.end() :]
    return call, text[reader.at :]


def only_call(text: str, kind: str) -> Call:
    """The one call of a text; a ``+`` where a single name was expected is refused."""
    spec = parse(text)
    if len(spec.parts) > 1:
        raise SpecError(f"'{spec}' is more than a {kind}: expected one name without '+'.")
    return spec.parts[0]


def plain_name(name: str) -> str:
    """A name for looking up what people call a thing: ``tf-idf``, ``TF_IDF`` are ``tfidf``."""
    return re.sub("[-_. ]", "", name).lower()


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


# --- parameters -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    """What is known of a parameter; ``attribute`` is its field, ``name`` how it is written.

    A ``quiet`` parameter is printed only where it is not at its default; a default of ``None``
    means not given, and is never printed.
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
        """What values are allowed, in words."""
        if self.kind == "choice":
            return f"one of {', '.join(self.choices)}"
        if self.kind == "path":
            return "the path of a file"
        article = "an integer" if self.kind == "integer" else "a number"
        low, high = (f"{value:.12g}" for value in (self.low, self.high))
        return f"{article} from {low} to {high}"

    def checked(self, value: Any, owner: str) -> Value | None:
        """The value in its own type, or a ``SpecError`` that says the range."""
        if value is None and self.default is None:
            return None
        good = self._converted(value)
        if good is None:
            found = value_text(value) if isinstance(value, Value) else repr(value)
            hint = f' Write {self.name}="{found}".' if self._unquoted(value) else ""
            raise SpecError(f"{owner}: {self.name}={found} is not {self.range}.{hint}")
        return good

    def _unquoted(self, value: Any) -> bool:
        return self.kind == "path" and isinstance(value, int | float)

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
    """A field for a number; ``None`` for one that need not be given."""
    return _field(Parameter("number", about, default, low, high, name=name, quiet=quiet))


def integer(default: int | None, low: int, high: int, about: str, *, quiet: bool = False) -> Any:
    """A field for an integer; ``None`` for one that need not be given."""
    return _field(Parameter("integer", about, default, low, high, quiet=quiet))


def choice(*choices: str, about: str, quiet: bool = False, name: str = "") -> Any:
    """A field for one of some names, the first being the default."""
    return _field(Parameter("choice", about, choices[0], choices=choices, quiet=quiet, name=name))


def path(about: str, *, name: str = "") -> Any:
    """A field for the path of a file, which need not be given."""
    return _field(Parameter("path", about, None, name=name))


class Spelled:
    """A value that is written in the grammar of specs and prints as it is written.

    ``summary`` says what it is, ``formula`` how it computes, ``citation`` where it comes from,
    ``edge_cases`` what happens where the formula says nothing.
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
            # The dataclass is frozen; this is the one place where a value gets its type.
            object.__setattr__(self, parameter.attribute, value)

    @classmethod
    def parameters(cls) -> tuple[Parameter, ...]:
        """The parameters in the order in which they are printed."""
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
        """The value that a call describes; unknown parameters and bad values are refused."""
        known = {parameter.name: parameter.attribute for parameter in cls.parameters()}
        given: dict[str, Any] = call.known_params(cls.name, known)
        return cls(**{known[name]: value for name, value in given.items()})

    @property
    def call(self) -> Call:
        """The call that describes this value."""
        return Call(self.name, tuple(self._printed()))

    def _printed(self) -> Iterator[tuple[str, Value]]:
        for parameter in self.parameters():
            value = getattr(self, parameter.attribute)
            if value is not None and not (parameter.quiet and value == parameter.default):
                yield parameter.name, value

    def __str__(self) -> str:
        return str(self.call)

    @classmethod
    def describe(cls) -> str:
        """The help text: what it is, its formula, parameters, edge cases and citation."""
        lines = [f"{cls.name}: {cls.summary}", "", indent(cls.formula, "  "), ""]
        for parameter in cls.parameters():
            default = "" if parameter.default is None else f", {value_text(parameter.default)}"
            lines.append(f"  {parameter.name}: {parameter.about} ({parameter.range}{default})")
        return "\n".join([*lines, "", cls.edge_cases, "", cls.citation, f"Example: {cls.example}"])
