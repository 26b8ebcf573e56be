"""The names in an ``author`` field, joined with ``and``: four forms, and braces that protect."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from citebed.collection.formats.fields import is_organisation
from citebed.text.latex import in_text_mode, is_plain, latex_to_text
from citebed.text.names import canonical_name, name_from_parts
from citebed.text.normalise import filled
from citebed.text.regex import compile_regex

_AND = compile_regex(r"[{}]|(?<!\s)\s++and(?=\s)", re.IGNORECASE)
_COMMA = re.compile("[{},]")
# The blank behind ``\o`` or ``\v`` ends the command and no word; a tie and ``\ `` do end one.
_BLANKS = re.compile(
    r"[{}]|(?<!\\[oOlLijcvuHkrbdt])(?<!\\ss)(?<!\\[ao]e)(?<!\\[AO]E)(?<!\\aa)(?<!\\AA)"
    r"(?:\\\s|(?<!\\)[\s~])+"
)
_WRAPPED = re.compile(r"\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")
# ``Family, Given and Family, Given`` in plain letters: most author fields are just that.
_WORD = r"(?![Aa][Nn][Dd][ ,])[A-Za-z.'-]++"
_NAME = rf"{_WORD}(?: {_WORD})*+, {_WORD}(?: {_WORD})*+"
_REGULAR = compile_regex(rf"{_NAME}(?: and {_NAME})*+")
_ONE_REGULAR = compile_regex(_NAME)
_OTHERS = frozenset(("others", "et al", "et al."))
# BibLaTeX's way to say which part is which: ``family=Vega, given={Juan de}``.
_PART = compile_regex(
    r"\s*+(family|given|prefix|suffix)(?:-i)?+\s*+=\s*+(?:\"([^\"]*+)\"|((?:[^,{}]++|\{[^{}]*+\})*+))\s*+",
    re.IGNORECASE,
)
_PARTS = compile_regex(r"\s*+(?:family|given|prefix|suffix)\s*+=", re.IGNORECASE)


def names_of(raw: str) -> tuple[str, ...]:
    """The names of an ``author`` field as ``Family, Given``; ``and others`` is left out."""
    if not raw:
        return ()
    if _REGULAR.fullmatch(raw) and "--" not in raw and "''" not in raw:
        return tuple(raw.split(" and "))
    return filled(
        part if _ONE_REGULAR.fullmatch(part) and is_plain(part) else _name_of(part)
        for part in _parts(raw)
        if part.lower() not in _OTHERS
    )


def _parts(raw: str) -> Iterator[str]:
    """The names as they stand; braces around a whole list of ``Family, Given`` protect nothing."""
    for name in split_outside_braces(in_text_mode(raw), _AND):
        part = name.strip().removesuffix(",").rstrip()
        inner = _unwrapped(part)
        listed = [*split_outside_braces(inner, _AND)] if inner else []
        people = len(listed) > 1 and all(name.count(",") == 1 for name in listed)
        yield from map(str.strip, listed) if people else (part,)


def _unwrapped(part: str) -> str | None:
    """What stands in the braces that are around all of a name."""
    whole = _WRAPPED.fullmatch(part) if part.startswith("{") else None
    if whole is None or (whole[1].startswith("\\") and len(whole[1]) < 6):
        return None  # ``{\\'E}`` is a letter, not a name
    return whole[1]


def split_outside_braces(raw: str, pattern: re.Pattern[str]) -> list[str]:
    """What stands between the places that a pattern finds, which must find braces too."""
    if "{" not in raw and "}" not in raw:
        return pattern.split(raw)
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
    if "=" in raw and _PARTS.match(raw):
        return _from_parts(raw)
    if (inner := _unwrapped(raw)) is not None:
        text = latex_to_text(inner)
        is_one = text.count(",") > 1 or (text.count(",") == 1 and is_organisation(text))
        return name_from_parts(text) if is_one else canonical_name(text)
    raw = raw.replace("\\,", " ")
    if "{" in raw:
        parts = [latex_to_text(part) for part in split_outside_braces(raw, _COMMA)]
        return canonical_name(",".join(parts)) if len(parts) > 1 else _inverted(raw)
    if "," in raw:
        return canonical_name(latex_to_text(raw))
    return _inverted(raw)


def _from_parts(raw: str) -> str:
    """``Prefix Family, Suffix, Given`` from BibLaTeX's named parts; the first of a name counts."""
    said: dict[str, str] = {}
    for match in _PART.finditer(raw):
        said.setdefault(match[1].lower(), latex_to_text(match[2] or match[3] or ""))
    family = " ".join(filter(None, (said.get("prefix"), said.get("family"))))
    return name_from_parts(family, said.get("given"), said.get("suffix"))


def _inverted(raw: str) -> str:
    """``Family, Given`` from ``Given von Family``, by BibTeX's rule for the ``von`` part."""
    parts = split_outside_braces(raw, _BLANKS)
    pairs = [(part, text) for part in parts if (text := latex_to_text(part))]
    words = [text for _, text in pairs]
    if len(words) < 2:
        return canonical_name("".join(words))
    first = 1 if len(words[0]) == 2 and words[0][1] == "." else 0  # an initial, small or not
    small = [
        number for number, pair in enumerate(pairs[:-1]) if number >= first and _is_small(*pair)
    ]
    cut = small[0] if small else len(words) - 1
    return canonical_name(f"{' '.join(words[cut:])}, {' '.join(words[:cut])}")


def _is_small(part: str, text: str) -> bool:
    """Whether a word begins with a small letter; what stands in braces begins with neither."""
    return text[0].islower() and (not part.startswith("{") or part.startswith("{\\"))
