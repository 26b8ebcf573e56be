"""Check references against the records of a collection: does each work exist, and is it right?

A collection never holds everything, so a work that it does not hold is ``not in this collection``.
``not found`` needs evidence: a title of the collection under other authors, a title blended from
two works of the same authors, or an identifier that belongs to another work. ``wrong details``
needs a work of the collection: its title and some of its authors, or its identifier.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar, Literal, NamedTuple

import polars as pl

from citebed.papers.reference_matcher import CandidateDocument, ReferenceMatcher, ReferenceQuery
from citebed.papers.references import ParsedReference
from citebed.text.names import display_name
from citebed.wording import list_first
from citebed.writing.reference_comparison import (
    CONTAINERS,
    MOST_NAMES,
    NO_DOI,
    PREPRINT_DOI,
    RETRACTED,
    AuthorComparison,
    StatedReference,
    TitleComparison,
    compare_authors,
    compare_titles,
    is_distinctive,
    kinds_of_work,
    pages_differ,
    parse_name,
    same_venue,
    title_words,
)

VerdictName = Literal["fine", "wrong details", "not found", "not in this collection"]
FINE: VerdictName = "fine"
WRONG: VerdictName = "wrong details"
NOT_FOUND: VerdictName = "not found"
NOT_HELD: VerdictName = "not in this collection"


class Detail(NamedTuple):
    """A detail of a reference that disagrees with the record: the field, both values, and why."""

    field: str
    printed: str
    record: str
    what: str


@dataclass(frozen=True)
class Verdict:
    """The verdict on a reference; ``doc_id`` is the work that it means.

    ``nearest`` is the most similar record in words, and ``nearest_id`` its id. ``reason`` is a
    sentence for the user, and ``record`` the record that details were compared with. ``published``
    is the published version of a preprint, ``retracted`` a retraction notice, both in words.
    """

    name: VerdictName
    doc_id: str | None = None
    nearest: str = ""
    nearest_id: str | None = None
    reason: str = ""
    details: tuple[Detail, ...] = ()
    published: str | None = None
    retracted: str | None = None
    record: CandidateDocument | None = None


# --- Verdicts ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Comparison:
    """A reference compared with a candidate document."""

    document: CandidateDocument
    title: TitleComparison
    authors: AuthorComparison
    same_doi: bool
    same_arxiv: bool

    @property
    def is_version(self) -> bool:
        """True if title and authors are those of the document, even with wrong details."""
        if self.title.relation != "same" or self.authors.relation == "other":
            return False
        return not self.title.is_cut or self.is_named or self.authors.relation == "same"

    @property
    def is_named(self) -> bool:
        return self.same_doi or self.same_arxiv

    @property
    def rank(self) -> tuple[float, ...]:
        order = ("same", "changed", "other")
        return (self.is_named, -order.index(self.title.relation), self.authors.share,
                self.title.share)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ReferenceOptions:
    """How to judge references.

    ``complete``: the collection holds everything that may be cited, so a work that it does not hold
    is ``not found``. ``this_year``: years after the next one are wrong.
    """

    complete: bool = False
    this_year: int | None = None


class ReferenceChecker:
    """Checks references against documents; building it takes a second for 100,000 documents."""

    COLUMNS: ClassVar[tuple[str, ...]] = (
        "doc_id", "title", "authors", "year", "doi", "arxiv", "venue", "pages", "type",
    )  # fmt: skip

    def __init__(self, documents: pl.DataFrame) -> None:
        self._matcher = ReferenceMatcher(documents)
        self._by_author: dict[str, list[int]] = {}
        first = documents["authors"].list.first()
        for row, name in enumerate(first):
            if name:
                self._by_author.setdefault(_author_key(name), []).append(row)
        notices = documents.filter(pl.col("title").str.contains(r"(?i)^\W*(?:retract|withdrawn)"))
        self._retractions: dict[str, str] = {}
        for title in notices["title"]:
            if RETRACTED.match(title):
                plain = "".join(title_words(RETRACTED.sub("", title, count=1)))
                self._retractions.setdefault(plain, title)
        self._retractions.pop("", None)

    def check(
        self, references: Sequence[StatedReference], options: ReferenceOptions | None = None
    ) -> list[Verdict]:
        """Return the verdict on each reference."""
        options = options or ReferenceOptions()
        queries = [ReferenceQuery(_as_parsed(reference)) for reference in references]
        rows = self._matcher.candidate_rows(queries, _MOST_CANDIDATES)
        for at, (stated, query) in enumerate(zip(references, queries, strict=True)):
            if stated.authors and not self._matcher.has_title(query):
                own = self._by_author.get(_author_key(stated.authors[0]), ())
                rows[at] = [*dict.fromkeys((*rows[at], *own[:_MOST_OWN]))]
        documents = self._matcher.load_documents(row for some in rows for row in some)
        verdicts = []
        for stated, query, some in zip(references, queries, rows, strict=True):
            compared = [_compare(stated, query, documents[row]) for row in some]
            verdict = _decide(stated, compared, options)
            notice = self._retraction(verdict.record)
            verdicts.append(replace(verdict, retracted=notice) if notice else verdict)
        return verdicts

    def _retraction(self, record: CandidateDocument | None) -> str | None:
        """Return the title of the notice if the collection knows that a work was retracted."""
        if record is None or not self._retractions:
            return None
        return self._retractions.get("".join(title_words(RETRACTED.sub("", record.title, count=1))))


def _author_key(name: str) -> str:
    """Return family name and initial, roughly, to look up the works of a first author."""
    family, _, given = name.partition(", ")
    return f"{family} {given[:1]}".casefold()


_MOST_CANDIDATES, _MOST_OWN = 6, 60
_SIMILAR = 0.3
"""A title with a smaller share of common words is not similar."""


def _as_parsed(stated: StatedReference) -> ParsedReference:
    title = RETRACTED.sub("", stated.title, count=1)
    return ParsedReference(
        stated.text if stated.is_parsed else title or stated.text, stated.authors, title,
        stated.year, stated.venue, stated.doi, None, stated.arxiv,
    )  # fmt: skip


def _compare(
    stated: StatedReference, query: ReferenceQuery, known: CandidateDocument
) -> _Comparison:
    title = compare_titles(stated, known, query)
    same_doi = bool(stated.doi) and stated.doi == known.doi
    same_arxiv = bool(stated.arxiv) and stated.arxiv == known.arxiv
    if title.share < _SIMILAR and not (same_doi or same_arxiv):
        return _Comparison(known, title, AuthorComparison("other"), same_doi, same_arxiv)
    authors = compare_authors(stated.authors, known.authors, and_others=stated.and_others)
    if stated.is_parsed:
        authors = _trust_parsed(stated, query, known, authors)
    return _Comparison(known, title, authors, same_doi, same_arxiv)


def _trust_parsed(
    stated: StatedReference,
    query: ReferenceQuery,
    known: CandidateDocument,
    authors: AuthorComparison,
) -> AuthorComparison:
    """Correct a comparison with authors that were parsed from printed text.

    A name of the record that the text contains is not missing, and if all are there, the parser
    put a title's words or half a name among the authors.
    """
    inside = [
        set(name.parts) <= query.words
        or (len(name.family) >= 4 and name.family in query.plain.plain)
        for name in map(parse_name, known.authors[:MOST_NAMES])
        if name.family
    ]
    if not inside or authors.relation in ("same", "unknown"):
        return authors
    title = set(title_words(known.title))
    extra = [at for at in authors.added if title.isdisjoint(title_words(stated.authors[at]))]
    if authors.relation == "added" and extra:
        return authors._replace(added=tuple(extra))
    if all(inside) and authors.relation != "order":
        return AuthorComparison("same", 1.0)
    missing = tuple(at for at in authors.missing if at >= len(inside) or not inside[at])
    if authors.relation == "missing" and not missing:
        return AuthorComparison("same", 1.0)
    if authors.relation == "other" and sum(inside) >= max(1, len(inside) / 2):
        return AuthorComparison("unknown")
    if stated.and_others and inside[0] and authors.relation != "order":
        return AuthorComparison("same", 1.0)
    return authors._replace(missing=missing)


def _decide(
    stated: StatedReference, compared: Sequence[_Comparison], options: ReferenceOptions
) -> Verdict:
    """Decide on a reference from its comparisons with all candidates."""
    ordered = sorted(compared, key=lambda each: each.rank, reverse=True)
    versions = [each for each in ordered if each.is_version and _may_be_version(stated, each)]
    if versions:
        return _check_details(stated, versions, ordered, options)
    if renamed := next((each for each in ordered if _is_renamed(stated, each, options)), None):
        return _check_details(stated, [renamed], ordered, options)
    nearest = ordered[0].document if ordered and ordered[0].title.share >= _SIMILAR else None
    shown, shown_id = (describe(nearest), nearest.doc_id) if nearest else ("", None)
    evidence = _evidence(stated, ordered)
    if evidence:
        document, reason = evidence
        return Verdict(NOT_FOUND, None, describe(document), document.doc_id, reason)
    if options.complete and (stated.title or stated.authors):
        reason = "no work in this collection has this title and these authors"
        return Verdict(NOT_FOUND, None, shown, shown_id, reason)
    return Verdict(NOT_HELD, None, shown, shown_id)


def _may_be_version(stated: StatedReference, compared: _Comparison) -> bool:
    """Return False for a conference paper beside a journal article by other authors, and if only a
    short title agrees."""
    if compared.is_named:
        return True
    known = compared.document
    apart = _years_apart(stated.year, known.year)
    if stated.doi and known.doi:
        others = (apart or 0) > 1, pages_differ(stated.pages, known.pages)
        if any(others) or compared.authors.relation not in ("same", "unknown"):
            return False  # another DOI and more: another version
    if compared.authors.relation == "same":
        return True
    if compared.authors.relation != "unknown":
        kinds = kinds_of_work(stated, known)
        return not all(kinds) or kinds[0] == kinds[1]
    return is_distinctive(known.title) or (apart is not None and apart <= 1)


def _years_apart(ours: int | None, theirs: int | None) -> int | None:
    return None if ours is None or theirs is None else abs(ours - theirs)


_RENAMED = 0.7
_RENAMED_NAMED = 0.4
_MOST_CHANGES = 2


def _is_renamed(stated: StatedReference, each: _Comparison, options: ReferenceOptions) -> bool:
    """Return True if a title with a few other words means this document.

    People publish several works with similar titles, so all authors and the year must agree, and
    nothing else may disagree.
    """
    title, document = each.title, each.document
    if title.relation != "changed" or each.authors.relation in ("other", "unknown"):
        return False
    if each.is_named:
        return title.share >= _RENAMED_NAMED or each.authors.relation == "same"
    if title.share < _RENAMED or each.authors.relation not in ("same", "missing"):
        return False
    if options.complete:
        return True
    words = sum(max(len(a.split()), len(b.split())) for a, b in title.changes)
    if words > _MOST_CHANGES or len(title.changes) > _MOST_CHANGES:
        return False
    if stated.is_parsed and (words > 1 or not all(map(all, title.changes))):
        return False  # the parser may have cut the title
    if (stated.doi and document.doi) or (stated.arxiv and document.arxiv):
        return False
    if pages_differ(stated.pages, document.pages) or stated.year != document.year:
        return False
    return same_venue(stated.venue, document.venue) is not False


def _evidence(
    stated: StatedReference, ordered: Sequence[_Comparison]
) -> tuple[CandidateDocument, str] | None:
    """Return the document and the reason that show that a work does not exist, if any."""
    titled = [
        each
        for each in ordered
        if each.title.relation == "same" and not each.title.is_cut and each.document.authors
    ]
    is_swapped = all(each.authors.relation == "other" for each in titled) and stated.authors
    if titled and is_swapped:
        first = titled[0].document
        agrees = stated.year == first.year and same_venue(stated.venue, first.venue) is not False
        fewest = 2 if titled[0].is_named else 3 if agrees else 6
        several = any(
            compare_authors(one.document.authors, first.authors).relation == "other"
            for one in titled[1:]
        )
        is_near = (_years_apart(stated.year, first.year) or 0) <= _FAR_APART or titled[0].is_named
        if is_distinctive(first.title, fewest) and is_near and not several:
            return first, "the work with this title is by other authors"
    for each in ordered:
        is_work = each.document.type not in CONTAINERS and bool(title_words(each.document.title))
        if each.is_named and is_work and title_words(stated.title):
            name = "DOI" if each.same_doi else "arXiv id"
            return each.document, f"its {name} belongs to another work"
    return _blend(stated, ordered)


_FAR_APART = 3
_BLENDED = 3
"""Words that a blended title takes at least from each of two titles."""


def _blend(
    stated: StatedReference, ordered: Sequence[_Comparison]
) -> tuple[CandidateDocument, str] | None:
    """Return the first of two works of these authors whose titles the stated title joins."""
    ours = title_words(stated.title)
    heads, tails = [], []
    for each in ordered:
        words = title_words(each.document.title)
        if (head := _common(ours, words)) >= _BLENDED:
            heads.append((head, each))
        if (tail := _common(ours[::-1], words[::-1])) >= _BLENDED:
            tails.append((tail, each))
    for (head, first), (tail, last) in product(heads, tails):
        if head + tail < len(ours) or max(head, tail) >= len(ours) or first is last:
            continue
        both = [first.document, last.document]
        of_one = any(
            stated.year == known.year and same_venue(stated.venue, known.venue) is not False
            for known in both
        )
        theirs = [compare_authors(stated.authors, known.authors).share > 0 for known in both]
        if of_one and all(theirs):
            reason = f"its title joins the titles of two works, with '{last.document.title}'"
            return first.document, reason
    return None


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    """Return the number of equal words at the start."""
    pairs = zip(left, right, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))


def _check_details(
    stated: StatedReference,
    versions: Sequence[_Comparison],
    ordered: Sequence[_Comparison],
    options: ReferenceOptions,
) -> Verdict:
    """Compare the details with all versions of the work: a detail is wrong if it disagrees with
    some version and agrees with none."""
    wrong: dict[str, Detail] = {}
    right: set[str] = set()
    for each in versions:
        for name, detail in _details(stated, each):
            if detail is None:
                right.add(name)
            else:
                wrong.setdefault(name, detail)
    owner = next((each for each in ordered if each.is_named and each not in versions), None)
    if owner is not None and not right & {"doi", "arxiv"}:
        name = "doi" if owner.same_doi else "arxiv"
        if owner.title.relation == "other" and owner.document.type not in CONTAINERS:
            own = next((v for each in versions if (v := getattr(each.document, name))), "")
            printed = getattr(stated, name) or ""
            what = f"it belongs to {describe(owner.document)}"
            wrong[name] = Detail(name, printed, own or "", what)
    latest = options.this_year
    if latest and stated.year and stated.year > latest + 1 and "year" not in right:
        known = str(versions[0].document.year or "")
        wrong["year"] = Detail("year", str(stated.year), known, f"{stated.year} is in the future")
    details = tuple(detail for name, detail in wrong.items() if name not in right)
    document = versions[0].document
    published = _published(stated, [each.document for each in versions])
    if not details:
        shown = describe(document)
        return Verdict(
            FINE, document.doc_id, shown, document.doc_id, published=published, record=document
        )
    reason = "; ".join(f"{detail.field}: {detail.what}" for detail in details)
    return Verdict(
        WRONG, document.doc_id, describe(document), document.doc_id, reason, details, published,
        record=document,
    )  # fmt: skip


def _details(stated: StatedReference, each: _Comparison) -> Iterable[tuple[str, Detail | None]]:
    """Yield each detail that can be compared: its field, and ``None`` if it agrees."""
    known = each.document
    yield "title", _title_detail(stated, each)
    if each.authors.relation != "unknown":
        yield "authors", _author_detail(stated, each)
    kinds, venues_agree = kinds_of_work(stated, known), same_venue(stated.venue, known.venue)
    is_known = all(kinds)
    other_kind, other_venue = is_known and kinds[0] != kinds[1], venues_agree is False
    apart = _years_apart(stated.year, known.year)
    is_same = each.is_named or venues_agree or (is_known and not other_kind)
    if apart is not None and (apart <= 1 or is_same):
        what = f"{stated.year}, but the record says {known.year}"
        detail = Detail("year", str(stated.year), str(known.year), what)
        yield "year", None if apart <= 1 else detail
    moved = other_kind or (other_venue and apart != 0)
    if stated.doi and known.doi and not f"{stated.doi} {known.doi}".count(NO_DOI):
        is_preprint = [PREPRINT_DOI.match(doi) is not None for doi in (stated.doi, known.doi)]
        if stated.doi == known.doi or (is_preprint[0] == is_preprint[1] and not moved):
            detail = Detail("doi", stated.doi, known.doi, f"the record has {known.doi}")
            yield "doi", None if stated.doi == known.doi else detail
    if stated.arxiv and known.arxiv:
        detail = Detail("arxiv", stated.arxiv, known.arxiv, f"the record has {known.arxiv}")
        yield "arxiv", None if stated.arxiv == known.arxiv else detail
    differ = pages_differ(stated.pages, known.pages)
    if differ is not None and not (differ and (moved or other_venue or (apart or 0) > 1)):
        printed, record = stated.pages or "", known.pages or ""
        detail = Detail("pages", printed, record, f"{printed}, but the record says {record}")
        yield "pages", detail if differ else None


def _title_detail(stated: StatedReference, each: _Comparison) -> Detail | None:
    if each.title.relation == "same":
        return None
    changes = [
        f"'{a or '(nothing)'}' instead of '{b or '(nothing)'}'" for a, b in each.title.changes
    ]
    return Detail("title", stated.title, each.document.title, list_first(changes, 3))


def _author_detail(stated: StatedReference, each: _Comparison) -> Detail | None:
    relation, _, missing, added = each.authors
    if relation == "same":
        return None
    known = each.document.authors
    absent = list_first([display_name(known[at]) for at in missing], 3)
    extra = list_first([display_name(stated.authors[at]) for at in added], 3)
    match relation:
        case "order":
            what = "they are in another order"
        case "missing":
            what = f"without {absent}" if absent else "some are missing"
        case "added":
            what = f"{extra} is not an author" if len(added) == 1 else f"{extra} are not authors"
        case _:
            what = f"{extra} instead of {absent}" if absent else f"with {extra}"
    return Detail("authors", "; ".join(stated.authors), "; ".join(known), what)


def _published(stated: StatedReference, versions: Sequence[CandidateDocument]) -> str | None:
    """Return the published version of a stated preprint in words, if the collection has it."""
    if not versions or kinds_of_work(stated, versions[0])[0] != "preprint":
        return None
    kinds = ("proceedings", "journal", "book")
    published = (v for v in versions if kinds_of_work(stated, v)[1] in kinds)
    return next(map(describe, published), None)


def describe(document: CandidateDocument) -> str:
    """Return a record in one line: ``Salton, McGill (1983): Introduction …``."""
    families = [name.partition(",")[0] for name in document.authors]
    names = ", ".join(families[:3]) + (" et al." if len(families) > 3 else "")
    year = f" ({document.year})" if document.year else ""
    return f"{names or 'anonymous'}{year}: {document.title}"
