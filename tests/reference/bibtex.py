"""BibTeX, slowly: one character after another, for well-formed input only.

Nothing here is quick or forgiving, so that it can be checked by reading it.
"""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """An entry: lower-case type, key, raw values by lower-case name, line of its ``@``."""

    type: str
    key: str
    fields: dict[str, str]
    line: int


class Reader:
    """A place in a text, and the strings defined before it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.macros: dict[str, str] = {}

    def peek(self) -> str:
        return self.text[self.at] if self.at < len(self.text) else ""

    def take(self) -> str:
        char = self.text[self.at]
        self.at += 1
        return char

    def expect(self, wanted: str) -> str:
        char = self.take()
        if char not in wanted:
            raise ValueError(f"{char!r} at {self.at - 1}, expected one of {wanted!r}")
        return char

    def skip_blanks(self) -> None:
        while self.peek().isspace():
            self.at += 1

    def take_word(self, stops: str) -> str:
        """Up to white space or one of ``stops``."""
        word = ""
        while self.peek() and not self.peek().isspace() and self.peek() not in stops:
            word += self.take()
        return word

    def take_group(self, closing: str) -> str:
        """Up to ``closing`` at the outermost level of braces, which is taken too."""
        depth, value = 0, ""
        while not (self.peek() == closing and depth == 0):
            if self.peek() == "{":
                depth += 1
            if self.peek() == "}":
                depth -= 1
            value += self.take()
        self.at += 1
        return value

    def take_part(self) -> str:
        self.skip_blanks()
        if self.peek() == "{":
            self.at += 1
            return self.take_group("}")
        if self.peek() == '"':
            self.at += 1
            return self.take_group('"')
        word = self.take_word(",#})")
        return self.macros.get(word.lower(), word)

    def take_value(self) -> str:
        value = self.take_part()
        self.skip_blanks()
        while self.peek() == "#":
            self.at += 1
            value += self.take_part()
            self.skip_blanks()
        return value

    def take_field(self) -> tuple[str, str]:
        name = self.take_word("=").lower()
        self.skip_blanks()
        self.expect("=")
        return name, self.take_value()

    def take_fields(self, closing: str) -> dict[str, str]:
        fields: dict[str, str] = {}
        self.skip_blanks()
        while self.peek() != closing:
            name, value = self.take_field()
            if name not in fields:
                fields[name] = value
            if self.expect("," + closing) == closing:
                return fields
            self.skip_blanks()
        self.at += 1
        return fields

    def take_entry(self) -> Entry | None:
        line = 1 + self.text[: self.at].count("\n")
        self.expect("@")
        self.skip_blanks()
        kind = self.take_word("{(").lower()
        self.skip_blanks()
        closing = {"{": "}", "(": ")"}[self.expect("{(")]
        if kind in ("comment", "preamble"):
            self.take_group(closing)
            return None
        self.skip_blanks()
        if kind == "string":
            self.macros.update(self.take_fields(closing))
            return None
        key = self.take_word("," + closing)
        self.skip_blanks()
        fields = self.take_fields(closing) if self.expect("," + closing) == "," else {}
        return Entry(kind, key, fields, line)


def read(text: str) -> list[Entry]:
    """Return all entries of a text, without the text between them."""
    reader = Reader(text)
    entries = []
    while reader.peek():
        if reader.peek() == "@":
            entries.append(reader.take_entry())
        else:
            reader.at += 1
    return [entry for entry in entries if entry is not None]
