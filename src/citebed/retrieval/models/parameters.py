"""Parameters of models and of feedback: declared once, then checked, printed and explained.

A model is a frozen dataclass whose fields are made by ``number``, ``integer``, ``choice`` and
``path``; each says its default, its range and what it means. From that come the checks, the
printed form, the help text and the page in the docs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import indent
from typing import Any, ClassVar, Literal, Self

from citebed.errors import UnknownName
from citebed.retrieval.models.grammar import Call, SpecError, Value, parse, value_text


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


def choice(*choices: str, about: str, quiet: bool = False) -> Any:
    """A field for one of some names, the first being the default."""
    return _field(Parameter("choice", about, choices[0], choices=choices, quiet=quiet))


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
        given: dict[str, Any] = {}
        for name, value in call.params:
            if name not in known:
                raise UnknownName(f"parameter of {cls.name}", name, known)
            given[known[name]] = value
        return cls(**given)

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


def only_call(text: str, kind: str) -> Call:
    """The one call of a text; a ``+`` where a single name was expected is refused."""
    spec = parse(text)
    if len(spec.parts) > 1:
        raise SpecError(f"'{spec}' is more than a {kind}: expected one name without '+'.")
    return spec.parts[0]
