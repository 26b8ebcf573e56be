"""Check references against the records of a collection: does each work exist, and is it right?

A collection never holds everything, so a work that it does not hold is ``not in this collection``.
``not found`` needs evidence: a title of the collection under other authors, a title blended from
two works of the same authors, or an identifier that belongs to another work. ``wrong details``
needs a work of the collection: its title and some of its authors, or its identifier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product, takewhile
from typing import ClassVar, Literal, NamedTuple

import polars as pl

from citebed.papers.reference_matcher import (
    CandidateDocument,
    ReferenceMatcher,
    ReferenceQuery,
    RowsBy,
)
from citebed.papers.references import ParsedReference
from citebed.text.names import display_name, family_name
from citebed.wording import list_first
from citebed.writing.reference_comparison import (
    CONTAINERS,
    NO_DOI,
    PREPRINT_DOI,
    SIMILAR,
    Comparison,
    StatedReference,
    compare,
    compare_authors,
    is_distinctive,
    original_title,
    title_words,
)

VerdictName = Literal["fine", "wrong details", "not found", "not in this collection"]
FINE: VerdictName = "fine"
WRONG: VerdictName = "wrong details"
NOT_FOUND: VerdictName = "not found"
NOT_HELD: VerdictName = "not in this collection"


class Detail(NamedTuple):
    """A detail of a reference: the field, what is printed, what the record says, and in words what
    is wrong ("" if nothing is)."""

    field: str
    printed: str
    record: str
    what: str


@dataclass(frozen=True)
class Verdict:
    """The verdict on a reference; ``document`` is the work that it means, or the nearest record.

    ``reason`` is a sentence for the user. ``published`` is the published version of a preprint,
    ``retracted`` a retraction notice, both in words.
    """

    name: VerdictName
    document: CandidateDocument | None = None
    reason: str = ""
    details: tuple[Detail, ...] = ()
    published: str | None = None
    retracted: str | None = None

    @property
    def doc_id(self) -> str | None:
        """The id of the work that the reference means."""
        return self.document.doc_id if self.document and self.name in (FINE, WRONG) else None

    @property
    def nearest(self) -> str:
        """The work or the most similar record, in words."""
        return describe(self.document) if self.document else ""


def describe(document: CandidateDocument) -> str:
    """Return a record in one line: ``Salton, McGill (1983): Introduction …``."""
    families = [family_name(name) for name in document.authors]
    names = ", ".join(families[:3]) + (" et al." if len(families) > 3 else "")
    year = f" ({document.year})" if document.year else ""
    return f"{names or 'anonymous'}{year}: {document.title}"


@dataclass(frozen=True, kw_only=True)
class ReferenceOptions:
    """How to judge references.

    ``complete``: the collection holds everything that may be cited, so a work that it does not hold
    is ``not found``. ``this_year``: years after the next one are wrong.
    """

    complete: bool = False
    this_year: int | None = None


_CACHED = 5000
_MOST_CANDIDATES, _MOST_OWN = 6, 60
_FIRST_AUTHOR = r"^([^,]*(?:, .)?)"
"""Family name and initial of a first author, to look up other works."""


class ReferenceChecker:
    """Checks references against documents; building it takes a second for 100,000 documents."""

    COLUMNS: ClassVar[tuple[str, ...]] = (
        "doc_id", "title", "authors", "year", "doi", "arxiv", "venue", "pages", "type",
    )  # fmt: skip

    def __init__(self, documents: pl.DataFrame) -> None:
        self._matcher = ReferenceMatcher(documents)
        self._by_author = RowsBy(_author_keys(documents["authors"].list.first()))
        self._verdicts: dict[tuple[StatedReference, ReferenceOptions], Verdict] = {}
        is_notice = pl.col("title").str.contains(r"(?i)^\W*(?:retract|withdrawn)")
        self._retractions: dict[str, str] = {}
        for title in documents.filter(is_notice)["title"]:
            if (original := original_title(title)) != title:
                self._retractions.setdefault("".join(title_words(original)), title)

    def check(
        self, references: Sequence[StatedReference], options: ReferenceOptions | None = None
    ) -> list[Verdict]:
        """Return the verdict on each reference; verdicts on the last thousands are cached, as an
        editor checks the same references again after each change."""
        options = options or ReferenceOptions()
        pairs = [(reference, options) for reference in references]
        verdicts = {pair: known for pair in pairs if (known := self._verdicts.get(pair))}
        new = [pair for pair in dict.fromkeys(pairs) if pair not in verdicts]
        verdicts |= zip(new, self._decide_all([stated for stated, _ in new], options), strict=True)
        if len(self._verdicts) > _CACHED:
            self._verdicts = {}
        self._verdicts |= verdicts
        return [verdicts[pair] for pair in pairs]

    def _decide_all(
        self, references: Sequence[StatedReference], options: ReferenceOptions
    ) -> list[Verdict]:
        queries = [ReferenceQuery(_as_parsed(reference)) for reference in references]
        rows = self._matcher.candidate_rows(queries, _MOST_CANDIDATES)
        first = [stated.authors[0] if stated.authors else None for stated in references]
        for at, key in enumerate(_author_keys(pl.Series(first, dtype=pl.String))):
            if key and not self._matcher.has_title(queries[at]):
                own = self._by_author.get(key)[:_MOST_OWN]
                rows[at] = [*dict.fromkeys((*rows[at], *own))]
        documents = self._matcher.load_documents(row for some in rows for row in some)
        verdicts = []
        for stated, query, some in zip(references, queries, rows, strict=True):
            compared = [compare(stated, query, documents[row]) for row in some]
            verdict = _decide(stated, compared, options)
            if verdict.document and verdict.doc_id:
                words = title_words(original_title(verdict.document.title))
                verdict = replace(verdict, retracted=self._retractions.get("".join(words)))
            verdicts.append(verdict)
        return verdicts


def _author_keys(names: pl.Series) -> pl.Series:
    return names.str.extract(_FIRST_AUTHOR).str.to_lowercase()


def _as_parsed(stated: StatedReference) -> ParsedReference:
    title = original_title(stated.title)
    return ParsedReference(
        stated.text if stated.is_parsed else title or stated.text, stated.authors, title,
        stated.year, stated.venue, stated.doi, None, stated.arxiv,
    )  # fmt: skip


# --- Decide -----------------------------------------------------------------------------------

_RENAMED, _RENAMED_NAMED, _MOST_CHANGES = 0.7, 0.4, 2
_FAR_APART = 3
_BLENDED, _LONG_PIECE = 2, 3
"""Words that a blended title takes at least from each of two titles; fewer than the second number
are weak evidence."""


def _decide(
    stated: StatedReference, compared: Sequence[Comparison], options: ReferenceOptions
) -> Verdict:
    """Decide on a reference from its comparisons with all candidates."""
    ordered = sorted(compared, key=lambda each: each.rank, reverse=True)
    versions = [each for each in ordered if each.is_version]
    versions = versions or [each for each in ordered if _is_renamed(each, options)][:1]
    if versions:
        return _check_details(stated, versions, ordered, options)
    if evidence := _evidence(stated, ordered):
        return Verdict(NOT_FOUND, *evidence)
    nearest = ordered[0].known if ordered and ordered[0].title.share >= SIMILAR else None
    if options.complete and (stated.title or stated.authors):
        reason = "no work in this collection has this title and these authors"
        return Verdict(NOT_FOUND, nearest, reason)
    return Verdict(NOT_HELD, nearest)


def _is_renamed(each: Comparison, options: ReferenceOptions) -> bool:
    """Return True if a title with a few other words means this document.

    People publish several works with similar titles, so all authors and the year must agree, and
    nothing else may disagree.
    """
    stated, known, title, relation = each.stated, each.known, each.title, each.authors.relation
    if title.relation != "changed" or relation in ("other", "unknown"):
        return False
    if each.named:
        return title.share >= _RENAMED_NAMED or relation == "same"
    if title.share < _RENAMED or relation not in ("same", "missing"):
        return False
    if options.complete:
        return True
    words = sum(max(len(a.split()), len(b.split())) for a, b in title.changes)
    if stated.is_parsed and (words > 1 or not all(map(all, title.changes))):
        return False  # the parser may have cut the title
    has_both = (stated.doi and known.doi) or (stated.arxiv and known.arxiv)
    disagrees = stated.year != known.year or each.pages_differ or each.same_venue is False
    return words <= _MOST_CHANGES and not has_both and not disagrees


def _evidence(
    stated: StatedReference, ordered: Sequence[Comparison]
) -> tuple[CandidateDocument, str] | None:
    """Return the document and the reason that show that a work does not exist, if any."""
    titled = [
        each for each in ordered
        if each.title.relation == "same" and not each.title.is_cut and each.known.authors
    ]  # fmt: skip
    if titled and stated.authors and all(each.authors.relation == "other" for each in titled):
        # The record that agrees most: another work may have this title, but hardly in the same
        # year and venue.
        best = max(titled, key=lambda each: (bool(each.named), each.is_same_issue))
        is_other_kind = all(best.kinds) and len({*best.kinds}) > 1
        is_elsewhere = is_other_kind or (stated.venue and best.known.venue)
        is_unclear = best.same_venue is None and not (stated.is_parsed and is_elsewhere)
        agrees = best.years_apart == 0 and is_unclear
        fewest = 2 if best.named or best.is_same_issue else 3 if agrees else 6
        is_near = best.named or (best.years_apart or 0) <= _FAR_APART
        several = any(
            compare_authors(each.known.authors, best.known.authors).relation == "other"
            for each in titled
        )
        if is_near and not several and is_distinctive(best.known.title, fewest):
            return best.known, "the work with this title is by other authors"
    for each in ordered:
        is_work = each.known.type not in CONTAINERS and bool(title_words(each.known.title))
        if each.named and is_work and title_words(stated.title) and each.title.relation != "same":
            name = "DOI" if each.named == "doi" else "arXiv id"
            return each.known, f"its {name} belongs to another work"
    return _blend(stated, ordered)


def _blend(
    stated: StatedReference, ordered: Sequence[Comparison]
) -> tuple[CandidateDocument, str] | None:
    """Return the first of two works of these authors whose titles the stated title joins."""
    ours = title_words(stated.title)
    heads, tails = [], []
    for each in ordered:
        words = title_words(each.known.title)
        if (head := _common(ours, words)) >= _BLENDED:
            heads.append((head, each))
        if (tail := _common(ours[::-1], words[::-1])) >= _BLENDED:
            tails.append((tail, each))
    for (head, first), (tail, last) in product(heads, tails):
        if head + tail < len(ours) or max(head, tail) >= len(ours) or first is last:
            continue
        both = (first, last)
        authors = [compare_authors(stated.authors, each.known.authors) for each in both]
        # A short piece is evidence if one of the works agrees in authors, year and venue.
        of_one = any(
            names.relation == "same" and each.is_same_issue
            if min(head, tail) < _LONG_PIECE
            else each.years_apart == 0 and each.same_venue is not False
            for each, names in zip(both, authors, strict=True)
        )
        if of_one and all(names.share for names in authors):
            reason = f"its title joins the titles of two works, with '{last.known.title}'"
            return first.known, reason
    return None


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    """Return the number of equal words at the start."""
    return len([*takewhile(bool, (a == b for a, b in zip(left, right, strict=False)))])


# --- Details ----------------------------------------------------------------------------------


def _check_details(
    stated: StatedReference,
    versions: Sequence[Comparison],
    ordered: Sequence[Comparison],
    options: ReferenceOptions,
) -> Verdict:
    """Compare the details with all versions of the work: a detail is wrong if it disagrees with
    some version and agrees with none."""
    wrong: dict[str, Detail] = {}
    compared = [detail for each in versions for detail in _details(each)]
    right = {detail.field for detail in compared if not detail.what}
    for detail in compared:
        if detail.field not in right:
            wrong.setdefault(detail.field, detail)
    owner = next((each for each in ordered if each.named and each not in versions), None)
    if owner is not None and not right & {"doi", "arxiv"}:
        name = owner.named
        if owner.title.relation == "other" and owner.known.type not in CONTAINERS:
            own = next((v for each in versions if (v := getattr(each.known, name))), "")
            what = f"it belongs to {describe(owner.known)}"
            wrong[name] = Detail(name, getattr(stated, name), own, what)
    document = versions[0].known
    latest = options.this_year
    if latest and stated.year and stated.year > latest + 1 and "year" not in right:
        what = f"{stated.year} is in the future"
        wrong["year"] = Detail("year", str(stated.year), str(document.year or ""), what)
    published = (each.known for each in versions if each.kinds[1] in _PUBLISHED)
    since = next(map(describe, published), None) if versions[0].kinds[0] == "preprint" else None
    reason = "; ".join(f"{detail.field}: {detail.what}" for detail in wrong.values())
    details = tuple(wrong.values())
    return Verdict(WRONG if wrong else FINE, document, reason, details, since)


_PUBLISHED = ("proceedings", "journal", "book")


def _details(each: Comparison) -> Iterator[Detail]:
    """Yield each detail that can be compared."""
    stated, known, apart = each.stated, each.known, each.years_apart
    changes = [
        f"'{a or '(nothing)'}' instead of '{b or '(nothing)'}'" for a, b in each.title.changes
    ]
    is_same = each.title.relation == "same"
    yield Detail("title", stated.title, known.title, "" if is_same else list_first(changes, 3))
    if each.authors.relation != "unknown":
        yield _author_detail(each)
    kinds, other_venue = each.kinds, each.same_venue is False
    other_kind = all(kinds) and kinds[0] != kinds[1]
    # A record without venue and kind is the only version that the collection knows.
    is_only = each.named or each.same_venue or (not other_kind and (all(kinds) or not kinds[1]))
    if apart is not None and (apart <= 1 or is_only):
        what = f"{stated.year}, but the record says {known.year}" if apart > 1 else ""
        yield Detail("year", str(stated.year), str(known.year), what)
    moved = other_kind or (other_venue and apart != 0)
    if stated.doi and known.doi and NO_DOI not in f"{stated.doi} {known.doi}":
        is_preprint = [PREPRINT_DOI.match(doi) is not None for doi in (stated.doi, known.doi)]
        if stated.doi == known.doi or (is_preprint[0] == is_preprint[1] and not moved):
            what = f"the record has {known.doi}" if stated.doi != known.doi else ""
            yield Detail("doi", stated.doi, known.doi, what)
    if stated.arxiv and known.arxiv:
        what = f"the record has {known.arxiv}" if stated.arxiv != known.arxiv else ""
        yield Detail("arxiv", stated.arxiv, known.arxiv, what)
    unclear = each.same_venue is None and bool(stated.venue and known.venue)
    is_elsewhere = moved or other_venue or unclear or (apart or 0) > 1
    if each.pages_differ is False or (each.pages_differ and not is_elsewhere):
        printed, record = stated.pages or "", known.pages or ""
        what = f"{printed}, but the record says {record}" if each.pages_differ else ""
        yield Detail("pages", printed, record, what)


def _author_detail(each: Comparison) -> Detail:
    (relation, _, missing, added), names, known = each.authors, each.stated.authors, each.known
    absent = list_first([display_name(known.authors[at]) for at in missing], 3)
    extra = list_first([display_name(names[at]) for at in added], 3)
    match relation:
        case "same":
            what = ""
        case "order":
            what = "they are in another order"
        case "missing":
            what = f"without {absent}" if absent else "some are missing"
        case "added":
            what = f"{extra} is not an author" if len(added) == 1 else f"{extra} are not authors"
        case _:
            what = f"{extra} instead of {absent}" if absent else f"with {extra}"
    return Detail("authors", "; ".join(names), "; ".join(known.authors), what)
