"""Words of a text, slowly: at each place, every way that every rule allows, and the longest wins.

A rule is a function from a place in the text to all places where it may end, so that nothing
depends on the order in which alternatives are tried.
"""

from __future__ import annotations

from collections.abc import Callable

from citebed.retrieval.analysis.words import word_break

Rule = Callable[[str, int], set[int]]
MAX_UNITS = 255


def members(table: str) -> frozenset[str]:
    found: set[str] = set()
    for part in table.split():
        low, _, high = part.partition("-")
        found.update(map(chr, range(int(low, 16), int(high or low, 16) + 1)))
    return frozenset(found)


def one(chars: frozenset[str]) -> Rule:
    return lambda text, at: {at + 1} if text[at : at + 1] in chars and at < len(text) else set()


def either(*rules: Rule) -> Rule:
    return lambda text, at: {end for rule in rules for end in rule(text, at)}


def row(*rules: Rule) -> Rule:
    def walk(text: str, at: int) -> set[int]:
        ends = {at}
        for rule in rules:
            ends = {end for start in ends for end in rule(text, start)}
        return ends

    return walk


def any_of(rule: Rule) -> Rule:
    """The rule as often as it fits, also never."""

    def walk(text: str, at: int) -> set[int]:
        ends, new = {at}, {at}
        while new:
            new = {end for start in new for end in rule(text, start)} - ends
            ends |= new
        return ends

    return walk


def some(rule: Rule) -> Rule:
    return row(rule, any_of(rule))


def maybe(rule: Rule) -> Rule:
    return lambda text, at: {at} | rule(text, at)


EXTEND = members(word_break()["EXTEND"])
LOOKS = frozenset("\ufe0e\ufe0f")
ZWJ = one(frozenset("\u200d"))
EMOJI_LOOK = one(frozenset("\ufe0f"))
KEYCAP = one(frozenset("\u20e3"))
SKIN = members("1f3fb-1f3ff")


def accented(chars: frozenset[str], accents: frozenset[str] = EXTEND) -> Rule:
    return row(one(chars), any_of(one(accents)))


LETTER = accented(members(word_break()["LETTER"]) | members(word_break()["HEBREW"]))
HEBREW = accented(members(word_break()["HEBREW"]))
DIGIT = accented(members(word_break()["DIGIT"]))
KATAKANA = accented(members(word_break()["KATAKANA"]))
JOINER = accented(members(word_break()["JOINER"]))
MID_LETTER = accented(members(word_break()["MID_LETTER"]))
MID_DIGIT = accented(members(word_break()["MID_DIGIT"]))
QUOTES = accented(frozenset("'")), accented(frozenset('"'))


def linked(rule: Rule, *links: Rule) -> Rule:
    return row(rule, any_of(row(either(any_of(JOINER), *links), rule)))


CORE = either(
    linked(KATAKANA),
    some(
        either(
            row(HEBREW, either(QUOTES[0], row(QUOTES[1], HEBREW))),
            linked(DIGIT, MID_DIGIT),
            linked(LETTER, MID_LETTER),
        )
    ),
)
WORD = row(any_of(JOINER), CORE, any_of(row(some(JOINER), CORE)), any_of(JOINER))

MODIFIED = EXTEND - LOOKS
PICTURE = either(
    row(any_of(ZWJ), accented(members(word_break()["EMOJI"]), MODIFIED), maybe(EMOJI_LOOK)),
    accented(SKIN, MODIFIED),
)
TAGS = row(some(one(members("e0020-e007e"))), one(members("e007f")))
FLAG_HALF = accented(members("1f1e6-1f1ff"))
KINDS = (
    WORD,
    some(accented(members(word_break()["COMPLEX"]))),
    accented(members(word_break()["SINGLE"])),
    row(PICTURE, either(any_of(row(ZWJ, PICTURE)), TAGS)),
    row(
        accented(frozenset("#*"), MODIFIED),
        maybe(EMOJI_LOOK),
        accented(frozenset("\u20e3"), MODIFIED),
    ),
    row(FLAG_HALF, FLAG_HALF),
)


def units(text: str) -> int:
    return sum(2 if char > "\uffff" else 1 for char in text)


def lower(word: str) -> str:
    simple = {"İ": "i"}
    return "".join(simple.get(char, char.lower()) for char in word)


def words(text: str) -> list[str]:
    found, at = [], 0
    while at < len(text):
        ends = {end for kind in KINDS for end in kind(text, at)}
        end = max((end for end in ends if units(text[at:end]) <= MAX_UNITS), default=at)
        if end > at:
            found.append(lower(text[at:end]))
        at = max(end, at + 1)
    return found
