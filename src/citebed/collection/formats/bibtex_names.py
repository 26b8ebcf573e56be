"""Names in BibTeX: lists joined with ``and``, in three forms, with braces that protect."""

from __future__ import annotations

import functools
import re

from citebed.patterns import compiled
from citebed.text.latex import is_plain, latex_to_text, text_to_latex
from citebed.text.names import canonical_name
from citebed.text.normalise import unique

_AND = compiled(r"[{}]|(?<!\s)\s++and(?=\s)", re.IGNORECASE)
_COMMA = re.compile(r"[{},]")
_BLANKS = re.compile(r"[{}]|(?<![\\\s~])[\s~]+")
_WORD_AND = re.compile(r"(?:^|\s)and(?:\s|$)", re.IGNORECASE)
_WRAPPED = re.compile(r"\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")
# ``Family, Given and Family, Given`` in plain letters: most author fields are just that.
_WORD = r"(?![Aa][Nn][Dd][ ,])[A-Za-z.'-]++"
_NAME = rf"{_WORD}(?: {_WORD})*+, {_WORD}(?: {_WORD})*+"
_REGULAR = compiled(rf"{_NAME}(?: and {_NAME})*+")
_ONE_REGULAR = compiled(_NAME)
_OTHERS = frozenset(("others", "et al", "et al."))


def names_of(raw: str) -> tuple[str, ...]:
    """The names of an ``author`` field as ``Family, Given``; ``and others`` is left out."""
    if not raw:
        return ()
    if _REGULAR.fullmatch(raw) and "--" not in raw and "''" not in raw:
        return tuple(dict.fromkeys(raw.split(" and ")))
    parts = (part.strip() for part in split_outside_braces(raw, _AND))
    return unique(
        part if _ONE_REGULAR.fullmatch(part) and is_plain(part) else _name_of(part)
        for part in parts
        if part not in _OTHERS
    )


def split_outside_braces(raw: str, pattern: re.Pattern[str]) -> list[str]:
    """What stands between the places that a pattern finds, which must find braces too."""
    parts, depth, start = [], 0, 0
    for match in pattern.finditer(raw):
        if match[0] in "{}":
            depth += 1 if match[0] == "{" else -1
        elif depth <= 0:
            parts.append(raw[start : match.start()])
            start = match.end()
    return [*parts, raw[start:]]


# Authors publish more than once, and the names that come here are those with accents.
@functools.lru_cache(maxsize=1 << 15)
def _name_of(raw: str) -> str:
    raw = raw.strip()
    if raw.startswith("{") and (whole := _WRAPPED.fullmatch(raw)) and not _accent_group(whole[1]):
        return canonical_name(latex_to_text(whole[1]))
    if "{" in raw:
        parts = [latex_to_text(part) for part in split_outside_braces(raw, _COMMA)]
        return canonical_name(",".join(parts)) if len(parts) > 1 else _inverted(raw)
    if "," in raw:
        return canonical_name(latex_to_text(raw))
    return _inverted(raw)


def _accent_group(inner: str) -> bool:
    """Whether braces around a name hold one accented letter only (``{\\'E}``), not a name."""
    return inner.startswith("\\") and len(inner) < 6


def _inverted(raw: str) -> str:
    """``Family, Given`` from ``Given von Family``, by BibTeX's rule for the ``von`` part."""
    words = [word for word in (latex_to_text(part) for part in _split_words(raw)) if word]
    if len(words) < 2:
        return canonical_name("".join(words))
    small = [index for index, word in enumerate(words[:-1]) if word[0].islower()]
    cut = small[0] if small else len(words) - 1
    return canonical_name(f"{' '.join(words[cut:])}, {' '.join(words[:cut])}")


def _split_words(raw: str) -> list[str]:
    plain = "{" not in raw
    return raw.replace("~", " ").split() if plain else split_outside_braces(raw, _BLANKS)


def write_names(names: tuple[str, ...]) -> str:
    """An ``author`` field that reads back as these names."""
    return " and ".join(map(_write_name, names))


def _write_name(name: str) -> str:
    parts = name.split(", ")
    if len(parts) == 1:
        text = text_to_latex(name)
        plain = " " not in name and "\\" not in text and name.lower() not in ("others", "and")
        return text if plain else f"{{{text}}}"
    return ", ".join(
        f"{{{text_to_latex(part)}}}" if _WORD_AND.search(part) else text_to_latex(part)
        for part in parts
    )
