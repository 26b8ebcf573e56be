"""Rules of a collection: which records become documents, and how to read queries and judgements.

Rules come from options, from a named profile (a small TOML file) or from a user's TOML file. The
collection stores them, so that the next import applies the same rules.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial, reduce
from importlib import resources
from pathlib import Path
from typing import Any

import polars as pl

from citebed.collection.tables import LARGEST
from citebed.errors import CitebedError, FormatError, UnknownName
from citebed.files.input_files import is_existing_file, read_text
from citebed.text.identifiers import normalise_doi
from citebed.text.languages import is_language, language_code, language_names, language_of
from citebed.wording import printable

FRONT_MATTER = ("keep", "sessions", "drop")
REVIEWS = ("keep", "drop")
QUERY_IDS = ("given", "order")
REFERENCES = ("tolerant", "exact")

_SESSION = r"^(?i:session)"
_FRONT_MATTER = (
    r"(?i)^(?:proceedings of\b.*|front ?matter|back ?matter|fore ?word|preface|prologue|epilogue"
    r"|table of contents|contents|title page|copyright(?: page)?|editorial board|masthead"
    r"|(?:author|subject|keyword|cumulative) index|index of authors|list of (?:reviewers|referees)"
    r"|reviewers|(?:organi[sz]ing|program(?:me)?|conference|steering|review) committees?"
    r"|committees?|conference organi[sz]ation|organi[sz]ation|sponsors?|acknowledge?ments?"
    r"|welcome(?: (?:message|address|to).*)?|message from the .*"
    r"|(?:general|program) chairs?.*(?:welcome|message|foreword).*"
    r"|call for papers.*|in this issue|errat(?:um|a)|corrigend(?:um|a))\W*$"
)
_REVIEW = (
    r"(?i)^(?:\W*(?:book|software) reviews?\b|reviews? of\b|letters? to the editors?\b|letters?\W*$"
    r"|reply to\b|comments? on\b.*letter|books? received\b|.*\breviewed by\b)"
)


@dataclass(frozen=True)
class Rules:
    """The rules of a collection.

    - ``types``: BibTeX entry types to keep; ``()`` keeps all.
    - ``exclude``: ids or DOIs to exclude; ``forgotten``: the ones that ``citebed forget`` removed.
    - ``front_matter``: ``drop`` records without an abstract whose title says that they are
      headings, forewords, tables of contents and the like; ``sessions`` drops only headings
      ("Session …"); or ``keep``.
    - ``reviews``: ``drop`` letters and book reviews, or ``keep``.
    - ``languages``: codes or names to keep (``en``, ``english``); ``()`` keeps all.
    - ``no_future``: documents later than the citing paper do not count as relevant.
    - ``query_ids``: the ``given`` ids of queries, or their ``order``.
    - ``relevance``: maps codes to grades, if higher codes are not better.
    - ``references``: find a cited document with any case and spaces in its identifier
      (``tolerant``), or only if it is equal (``exact``).
    - ``sections``: parts of a citing paper (``introduction``, ``related work``, ``none`` for text
      without a heading) whose paragraphs become queries; ``()`` uses all.
    - ``anonymise``: remove the names of cited authors from queries from full text.
    - ``clean_annotations``: clean manually annotated papers like full text, from names and from
      hyphens at line ends.
    """

    types: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    front_matter: str = "keep"
    reviews: str = "keep"
    languages: tuple[str, ...] = ()
    no_future: bool = False
    query_ids: str = "given"
    references: str = "tolerant"
    sections: tuple[str, ...] = ()
    anonymise: bool = True
    clean_annotations: bool = False
    relevance: Mapping[int, int] = field(default_factory=dict)
    forgotten: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, known in (
            ("front_matter", FRONT_MATTER),
            ("reviews", REVIEWS),
            ("query_ids", QUERY_IDS),
            ("references", REFERENCES),
        ):
            if getattr(self, name) not in known:
                raise UnknownName(f"value of {name}", str(getattr(self, name)), known)

    def with_options(self, **options: Any) -> Rules:
        """Return the rules with the options that are not ``None``."""
        stated = {name: value for name, value in options.items() if value is not None}
        return dataclasses.replace(self, **stated)

    def as_dict(self) -> dict[str, Any]:
        """Return the rules that differ from the defaults, as plain values."""
        plain = dataclasses.asdict(self)
        plain["relevance"] = {str(code): grade for code, grade in self.relevance.items()}
        default = dataclasses.asdict(Rules())
        return {name: value for name, value in plain.items() if value != default[name]}


def parse_rules(values: Mapping[str, Any], origin: str) -> Rules:
    """Parse rules from plain values; raise for unknown names and wrong types."""
    known = {f.name for f in dataclasses.fields(Rules)}
    options: dict[str, Any] = {}
    for name, value in values.items():
        if name not in known:
            raise UnknownName(f"rule in {origin}", name, known)
        read = _relevance if name == "relevance" else partial(_plain, name)
        options[name] = read(value, origin)
    return Rules(**options)


def _plain(name: str, value: Any, origin: str) -> Any:
    kind = type(getattr(Rules(), name))
    if kind is tuple and isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    if kind is tuple or not isinstance(value, kind):
        wanted = {tuple: 'a list of strings, like ["article"]', bool: "true or false"}
        raise CitebedError(
            f"{origin}: {name} must be {wanted.get(kind, 'a string')}; found {value!r}"
        )
    return value


def _relevance(value: Any, origin: str) -> dict[int, int]:
    with contextlib.suppress(AttributeError, OverflowError, TypeError, ValueError):
        grades = {int(code): int(grade) for code, grade in value.items()}
        if max(map(abs, (*grades, *grades.values())), default=0) <= LARGEST:
            return grades
    raise CitebedError(
        f"{origin}: [relevance] maps codes to grades, for example `1 = 4`; found {value!r:.200}"
    )


def profiles() -> list[str]:
    """Return the names of citebed's profiles."""
    names = (item.name for item in (resources.files("citebed.collection") / "profiles").iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def load_profile(name: str) -> Rules:
    """Load a profile by name, or from a TOML file."""
    if name in profiles():
        folder = resources.files("citebed.collection") / "profiles"
        text = (folder / f"{name}.toml").read_text("utf-8")
    elif is_existing_file(name):
        text = read_text(Path(name))
    else:
        raise UnknownName("profile", printable(name), profiles())
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also of a number of thousands of digits
        raise FormatError(name, None, f"not TOML: {error}") from None
    return parse_rules(values, f"profile {printable(name)}")


def read_exclusions(path: str | Path) -> tuple[str, ...]:
    """Return the ids or DOIs in an exclusion list: one per line, ``#`` starts a comment."""
    lines = read_text(Path(path)).splitlines()
    items = (re.sub(r"(^|\s)#.*", "", line).strip() for line in lines)
    return tuple(dict.fromkeys(item for item in items if item))


ENTRY_TYPES = frozenset(
    (
        "article", "book", "bookinbook", "booklet", "collection", "dataset", "inbook",
        "incollection", "inproceedings", "inreference", "manual", "mastersthesis", "misc", "mvbook",
        "mvcollection", "mvproceedings", "online", "patent", "periodical", "phdthesis",
        "proceedings", "reference", "report", "software", "suppbook", "techreport", "thesis",
        "unpublished",
    )
)  # fmt: skip
"""The entry types of BibTeX and BibLaTeX, as they are stored."""


def check_types(rules: Rules, types: Collection[str]) -> None:
    """Raise for an entry type that neither BibTeX nor any record has."""
    known = ENTRY_TYPES | set(types)
    for name in rules.types:
        if name not in known:
            raise UnknownName("entry type", name, known)


def check_languages(rules: Rules, stated: Collection[str]) -> None:
    """Raise for a language that neither citebed nor any record knows."""
    codes = {language_code(name) for name in stated}
    for name in rules.languages:
        if not is_language(name) and language_code(name) not in codes:
            more = "Any two-letter code (ISO 639-1) is also known."
            raise UnknownName("language", name, {*language_names(), *codes}, more)


def exclusion_reasons(records: pl.DataFrame, rules: Rules) -> pl.Series:
    """Return why each record is excluded, or null if it is kept."""
    bare = pl.col("abstract").is_null()
    tests: list[tuple[pl.Expr, pl.Expr]] = []
    if rules.types:
        tests.append((~pl.col("type").is_in(list(rules.types)), pl.lit("type ") + pl.col("type")))
    if rules.exclude:
        tests.append((_excluded(rules.exclude), pl.lit("on the exclusion list")))
    if rules.forgotten:
        tests.append((_excluded(rules.forgotten), pl.lit("forgotten")))
    if rules.front_matter != "keep":
        tests.append((bare & pl.col("title").str.contains(_SESSION), pl.lit("session heading")))
    if rules.front_matter == "drop":
        is_front = pl.col("title").str.contains(_FRONT_MATTER) | (pl.col("type") == "proceedings")
        tests.append((bare & is_front, pl.lit("front matter")))
    if rules.reviews == "drop":
        tests.append((pl.col("title").str.contains(_REVIEW), pl.lit("letter or review")))
    if rules.languages:
        columns = records.select("language", "title", "abstract").iter_rows()
        languages = pl.Series("found", [language_of(*row) for row in columns], dtype=pl.String)
        codes = {language_code(name) for name in rules.languages}
        foreign = languages.is_not_null() & ~languages.is_in(list(codes))
        tests.append((pl.lit(foreign), pl.lit("language ") + pl.lit(languages)))
    nothing = pl.lit(None, dtype=pl.String)
    reason = reduce(
        lambda rest, test: pl.when(test[0]).then(test[1]).otherwise(rest), reversed(tests), nothing
    )
    return records.select(pl.col("doc_id"), reason.alias("reason"))["reason"]


def _excluded(items: tuple[str, ...]) -> pl.Expr:
    ids = [item.lower() for item in items]
    dois = [doi for doi in map(normalise_doi, items) if doi]
    named = pl.col("doc_id").str.to_lowercase().is_in(ids) | pl.col("doi").is_in(dois)
    return named.fill_null(value=False)
