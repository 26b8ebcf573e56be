"""Parse the command line of trec_eval, versions 9.0.8 and 10.0."""

from __future__ import annotations

import getopt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from citebed.errors import CitebedError, UnknownName

Version = Literal["9.0.8", "10.0"]
VERSIONS: tuple[str, ...] = get_args(Version)
OURS = "--as-version"
"""The only option that trec_eval does not have: the version to imitate. It must come first."""

_LETTERS = "hvqm:cl:nD:JN:M:R:T:oZ:"
_WORDS = {
    "help": "h", "version": "v", "query_eval_wanted": "q", "measure=": "m",
    "complete_rel_info_wanted": "c", "level_for_rel=": "l", "nosummary": "n", "Debug_level=": "D",
    "Judged_docs_only": "J", "Number_docs_in_coll=": "N", "Max_retrieved_per_topic=": "M",
    "Rel_info_format=": "R", "Results_format=": "T", "Output_old_results_format=": "o",
    "Zscore=": "Z",
}  # fmt: skip
_FLAGS = {"q": "per_query", "c": "complete", "J": "judged_only", "n": "without_summary"}
_NUMBERS = {"l": "level", "M": "max_documents", "N": "documents"}
_LARGEST = (1 << 63) - 1
_OTHER_JUDGEMENTS = ("prefs", "qrels_prefs", "qrels_jg")
USAGE = "Usage: citebed trec_eval [-h] [-q] {-m measure}* trec_rel_file trec_top_file"


@dataclass(frozen=True, kw_only=True)
class Options:
    """A parsed command line; ``info_request`` is set if it asks for help or the version."""

    version: Version = "9.0.8"
    qrels: str = ""
    run: str = ""
    measures: tuple[str, ...] = ("official",)
    per_query: bool = False
    complete: bool = False
    judged_only: bool = False
    without_summary: bool = False
    level: int = 1
    max_documents: int | None = None
    documents: int = 0
    means: str | None = None
    info_request: Literal["help", "version"] | None = None


def read_options(words: Sequence[str]) -> Options:
    """Parse the words after the program's name.

    As with GNU getopt, options may follow files, be combined (``-qc``), and have abbreviated long
    names.
    """
    version, words = _version(words)
    try:
        typed, files = getopt.gnu_getopt(list(words), _LETTERS, list(_WORDS))
    except getopt.GetoptError as error:
        raise CitebedError(f"{error.msg}.\n{USAGE}") from None
    options: dict[str, Any] = {}
    for option, value in typed:
        letter = option[1:]
        if option.startswith("--"):
            letter = _WORDS.get(option[2:]) or _WORDS[f"{option[2:]}="]
        if letter in "hv":  # the first one wins, whatever follows
            return Options(version=version, info_request="help" if letter == "h" else "version")
        _take(letter, value, options)
    if len(files) != 2:
        raise CitebedError(f"expected 2 files, found {len(files)}.\n{USAGE}")
    measures = tuple(options.pop("measures", ("official",)))
    return Options(version=version, qrels=files[0], run=files[1], measures=measures, **options)


def _version(words: Sequence[str]) -> tuple[Version, Sequence[str]]:
    name, equals, value = words[0].partition("=") if words else ("", "", "")
    if name != OURS:
        return "9.0.8", words
    rest = words[1:] if equals else words[2:]
    value = value if equals else next(iter(words[1:2]), "")
    if value not in VERSIONS:
        raise UnknownName("version of trec_eval", value, VERSIONS)
    return ("9.0.8" if value == "9.0.8" else "10.0"), rest


def _take(letter: str, value: str, options: dict[str, Any]) -> None:
    """Store the value of an option."""
    if letter in _FLAGS:
        options[_FLAGS[letter]] = True
    elif letter in _NUMBERS:
        options[_NUMBERS[letter]] = _whole(letter, value)
    elif letter == "m":
        options.setdefault("measures", []).append(value)
    elif letter == "D" and value != "0":
        raise CitebedError("-D (debug output) is not supported. Leave it out.")
    elif letter == "Z":
        options["means"] = value
    elif letter == "R":
        if value in _OTHER_JUDGEMENTS:
            raise CitebedError(
                f"-R {value}: preferences and several judgements per document are not supported. "
                "Use the format 'qrels'."
            )
        if value != "qrels":
            raise UnknownName("format of judgements", value, ("qrels", *_OTHER_JUDGEMENTS))
    elif letter == "T" and value != "trec_results":
        raise UnknownName("format of results", value, ("trec_results",))


def _whole(letter: str, text: str) -> int:
    """Parse a number as trec_eval does, cut to 64 bits; only -N may be negative."""
    if not re.fullmatch(r"\s*\+?[0-9]+" if letter != "N" else r"\s*[+-]?[0-9]+", text, re.ASCII):
        raise CitebedError(f"-{letter} takes a whole number from 0; found '{text[:60]}'.")
    digits = text.strip().lstrip("+-").lstrip("0")[:20]  # larger numbers are cut anyway
    number = int(digits or "0")
    return max(-number, -_LARGEST - 1) if "-" in text else min(number, _LARGEST)
