# mypy: ignore-errors
"""Annotations of journal papers, measured against the publisher's JATS.

    python bench/annotate_journals.py [FOLDER] [--leave-out PUBLISHER] [--only PUBLISHER] [--errors]

FOLDER holds PDFs with their JATS beside them (``x.pdf`` and ``x.xml``); by default the shared
``journals/``. For PDFs without JATS, such as ``physics/``, it prints counts only. The columns:

- ``list``: share of papers whose reference list was found;
- ``ref R``, ``ref P``: references found, and how many of ours are references, by DOI or by title,
  first author and year;
- ``mark R``, ``mark P``, ``mark F``: citations in paragraphs. One is right if it points to the same
  reference and has the same words around it. Ranges count as all their references;
- ``title``, ``auth``: papers whose title, and whose authors in their order, are exactly right;
- ``abst``: papers whose abstract has a token F1 of at least 0.9;
- ``para``: citing paragraphs of the JATS that a citing paragraph of ours equals (token F1 of 0.9);
- ``sent``: our citing sentences whose words are those of one paragraph of the JATS;
- ``warn``: papers with a note that markers and list disagree, of those with more than 5 % wrong;
- ``false``: papers with such a note, of the others;
- ``s``: processor seconds for a paper.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from unicodedata import normalize

import pypdfium2
from lxml import etree

from citebed.papers.annotation import Annotation
from citebed.papers.annotator import annotate
from citebed.papers.pdf_reader import read_document
from citebed.papers.references import parse_reference
from citebed.text.identifiers import normalise_doi
from citebed.text.names import name_from_parts

_WORD = re.compile(r"[^\W\d_]+")
_TOKEN = re.compile(r"[^\W_]+")
_TO = re.compile(r"\s*(?:[-‐-―−]|to)\s*")
_AROUND = 14
"""Words on each side of a citation that must be nearly the same."""
_PLAIN = str.maketrans({"ı": "i", "ł": "l", "ø": "o", "đ": "d", "ß": "ss", "æ": "ae", "œ": "oe"})
_MARK = re.compile("\ue000(\\d+)\ue001")


def words(text: str, pattern: re.Pattern[str] = _TOKEN) -> list[str]:
    """The words of a text in small letters without accents."""
    plain = normalize("NFKD", text.lower().translate(_PLAIN))
    return pattern.findall(re.sub("[\u0300-\u036f]", "", plain))


def f1(one: Sequence[str], other: Sequence[str]) -> float:
    """The F1 of two bags of words."""
    same = sum((Counter(one) & Counter(other)).values())
    return 2 * same / (len(one) + len(other)) if one or other else 1.0


# --- What the publisher says --------------------------------------------------------------------


@dataclass
class Reference:
    """A reference in the JATS; ``tokens`` are all its words."""

    doi: str | None
    title: list[str]
    author: list[str]
    year: str
    tokens: list[str]


@dataclass
class Citation:
    """A place that cites a reference, and the words around it."""

    ref: str
    around: Counter[str]
    in_body: bool = True


@dataclass
class Truth:
    """A paper according to its JATS."""

    publisher: str
    journal: str
    title: str
    authors: list[str]
    abstract: str
    references: dict[str, Reference]
    citations: list[Citation] = field(default_factory=list)
    paragraphs: list[tuple[list[str], bool]] = field(default_factory=list)
    """The words of each paragraph, and whether it cites."""
    names: frozenset[str] = frozenset()
    """Words to ignore in paragraphs: names that the source prints with a command."""


def read_truth(path: Path) -> Truth:
    """Read a JATS file."""
    root = etree.parse(str(path), etree.XMLParser(load_dtd=False, no_network=True)).getroot()

    def first(query: str) -> str:
        return next((" ".join(_text(each).split()) for each in root.xpath(query)), "")

    references: dict[str, Reference] = {}
    whole: dict[str, str] = {}
    for ref in root.iter("ref"):
        parts = [each for each in ref if "citation" in str(each.tag)]
        for part in parts[:1]:  # "(a) …; (b) …" is one entry of the list
            references[ref.get("id")] = _reference(part)
        whole |= {each.get("id"): ref.get("id") for each in (ref, *parts) if each.get("id")}
    truth = Truth(
        first(".//journal-meta//publisher-name"),
        first(".//journal-meta//journal-title") or first(".//journal-meta/journal-id"),
        first("./front/article-meta/title-group/article-title"),
        [
            name_from_parts(
                each.findtext("surname"), each.findtext("given-names"), each.findtext("suffix")
            )
            for each in root.xpath(
                "./front/article-meta/contrib-group/contrib[@contrib-type='author']"
                "/*[self::name or self::name-alternatives/name]"
            )
        ],
        first(
            "./front/article-meta/abstract"
            "[not(@abstract-type) or @abstract-type='section' or @abstract-type='structured']"
        ),
        references,
    )
    order = list(references)
    for paragraph in root.xpath(".//body//p | .//back//p | .//front//abstract//p | .//body//td"):
        if any(each.tag == "p" for each in paragraph.iterancestors()):
            continue
        outside = any(
            each.tag in ("fig", "table-wrap", "back", "abstract", "supplementary-material")
            for each in paragraph.iterancestors()
        )
        _add_paragraph(truth, paragraph, order, whole, not outside)
    return truth


def _reference(part: etree._Element) -> Reference:
    year = "".join(part.xpath("string(.//year)").split())[:4]
    doi = part.xpath("string(.//pub-id[@pub-id-type='doi'])")
    text = " ".join(
        part.xpath(".//text()[not(ancestor::pub-id or ancestor::ext-link or ancestor::object-id)]")
    )
    title = part.xpath("string(.//article-title | .//chapter-title)") or part.xpath(
        "string(.//source)"
    )
    author = part.xpath("string(.//surname)") or part.xpath("string(.//collab)")
    return Reference(normalise_doi(doi), words(title), words(author), year, words(text))


_SKIPPED = ("table-wrap", "fig", "disp-formula", "inline-formula", "object-id", "tex-math", "label")


def _text(element: etree._Element, marks: dict[int, str] | None = None) -> str:
    """The text of an element; ``marks`` replace elements by their id."""
    pieces = [element.text or ""]
    for child in element:
        if marks is not None and id(child) in marks:
            pieces.append(marks[id(child)])
        elif isinstance(child.tag, str) and child.tag not in _SKIPPED:
            blank = " " if child.tag in ("p", "title", "sec", "list-item") else ""
            pieces.append(f"{blank}{_text(child, marks)}{blank}")
        pieces.append(child.tail or "")
    return "".join(pieces)


def _add_paragraph(
    truth: Truth,
    paragraph: etree._Element,
    order: list[str],
    whole: dict[str, str],
    in_body: bool,
) -> None:
    """Add a paragraph's citations, with all references of its ranges."""
    places = {name: at for at, name in enumerate(order)}
    xrefs = [each for each in paragraph.iter("xref") if each.get("ref-type") == "bibr"]
    marks, cited, last = {}, list[str](), None
    for xref in xrefs:
        names = [whole[rid] for rid in (xref.get("rid") or "").split() if rid in whole]
        names = [name for name in names if name in places]
        begin = places[names[0]] if names else 0
        if last and names and _TO.fullmatch(_between(last[0], xref)):
            names = [*order[last[1] + 1 : begin], *names]
        elif len(names) == 1 and re.fullmatch(r"\D*\d+\s*[-–]\s*\d+\D*", _text(xref)):
            low, high = map(int, re.findall(r"\d+", _text(xref))[:2])
            names = order[begin : begin + high - low + 1] if 0 < high - low < 40 else names
        elif len(names) == 2 and re.search(r"\d\s*[-–]\s*\d", _text(xref)):
            names = order[begin : places[names[1]] + 1]
        last = (xref, places[names[-1]]) if names else None
        marks[id(xref)] = "".join(f"\ue000{len(cited) + n}\ue001" for n in range(len(names)))
        # Names and years around a citation stay among the words.
        shown = _text(xref)
        marks[id(xref)] += f" {shown} " if len(re.findall(r"[^\W\d_]", shown)) > 3 else ""
        cited += names
    text = _text(paragraph, marks)
    plain = words(_MARK.sub(" ", text))
    if in_body:
        truth.paragraphs.append((plain, bool(cited)))
    for match in _MARK.finditer(text):
        before, after = _MARK.sub(" ", text[: match.start()]), _MARK.sub(" ", text[match.end() :])
        around = Counter(words(before, _WORD)[-_AROUND:] + words(after, _WORD)[:_AROUND])
        truth.citations.append(Citation(cited[int(match[1])], around, in_body))


def _between(one: etree._Element, other: etree._Element) -> str:
    """The text between two elements, or a long text if they have different parents."""
    outer = [one.getparent(), other.getparent()]
    if outer[0] is not outer[1]:
        same = all(each is not None and each.tag == "sup" for each in outer)
        between = outer[0].tail if same and outer[0].getnext() is outer[1] else None
        return between if between is not None else "other text"
    return (one.tail or "") if one.getnext() is other else "other text"


# --- Comparison ---------------------------------------------------------------------------------


def match_references(truth: Truth, made: Annotation) -> dict[str, str]:
    """Return for each reference of ours the one of the JATS that it is."""
    pairs = []
    for number, ours in enumerate(made.references):
        tokens = words(ours.text)
        bag, joined = set(tokens), "".join(tokens)
        for name, theirs in truth.references.items():
            if ours.doi and ours.doi == theirs.doi:
                pairs.append((2.0, -number, ours.ref_id, name))
                continue
            if not bag & set(theirs.title or theirs.author or theirs.tokens):
                continue
            title = sum(each in bag for each in theirs.title) / max(len(theirs.title), 1)
            same_title = title >= 0.8 or "".join(theirs.title) in joined
            named = theirs.author[:1] == [] or "".join(theirs.author) in joined
            dated = theirs.year in bag or any(each.startswith(theirs.year) for each in bag)
            similar = f1(tokens, theirs.tokens)
            if (same_title and named + dated >= 1 and similar > 0.4) or (
                named and dated and similar >= 0.7
            ):
                pairs.append((similar, -number, ours.ref_id, name))
    matched: dict[str, str] = {}
    for _, _, ours_id, name in sorted(pairs, reverse=True):
        if ours_id not in matched and name not in matched.values():
            matched[ours_id] = name
    return matched


def our_citations(made: Annotation, matched: dict[str, str]) -> Iterator[Citation]:
    """Yield our citations; those of references that are not in the JATS have their own names."""
    for context in made.contexts:
        text = " ".join(s.printed for s in context.sentences)
        at = 0
        for sentence in context.sentences:
            inside = at
            for marker in sentence.markers:
                inside = text.find(marker.text, inside)
                before, after = text[:inside], text[inside + len(marker.text) :]
                inside += len(marker.text)
                around = Counter(words(before, _WORD)[-_AROUND:] + words(after, _WORD)[:_AROUND])
                shown = words(marker.text, _WORD)
                around += Counter(shown) if len("".join(shown)) > 3 else Counter()
                for cite in marker.cites:
                    yield Citation(matched.get(cite, f"ours {cite}"), around)
            at += len(sentence.printed) + 1


def score(pdf: Path, truth: Truth, errors: bool) -> tuple[Counter[str], Annotation]:
    """Count what is right in the annotation of a paper."""
    started = time.process_time()
    paper = read_document(pypdfium2.PdfDocument(pdf))
    made = annotate(paper, pdf.stem, sections=())
    counts: Counter[str] = Counter(papers=1, ms=round(1000 * (time.process_time() - started)))
    matched = match_references(truth, made)
    counts["list"] = len(matched) >= 0.5 * len(truth.references)
    counts += Counter(refs=len(matched), ours=len(made.references), theirs=len(truth.references))
    if errors:
        for name, theirs in truth.references.items():
            if name not in matched.values():
                print(f"   MISSED {name}: {' '.join(theirs.tokens)[:110]}")
        for each in made.references:
            if each.ref_id not in matched:
                print(f"   NO REFERENCE [{each.ref_id}] {each.text[:140]}")
    _compare_citations(truth, made, matched, counts, errors)
    _compare_front(truth, made, counts, errors)
    _compare_texts(truth, made, counts, errors)
    right = 2 * counts["cited"] / max(counts["our_cites"] + counts["their_cites"], 1)
    wrong = min(len(matched) / max(len(truth.references), 1), right) < 0.95
    noted = bool(made.notes) or not made.references
    counts["wrong" if wrong else "fine"] += 1
    counts["warned" if wrong else "false"] += noted
    if errors:
        for note in (*paper.notes, *made.notes):
            print(f"   NOTE {note}")
    return counts, made


def _compare_citations(
    truth: Truth, made: Annotation, matched: dict[str, str], counts: Counter[str], errors: bool
) -> None:
    theirs: dict[str, list[Citation]] = defaultdict(list)
    for each in truth.citations:
        theirs[each.ref].append(each)
    counts["their_cites"] = sum(each.in_body for each in truth.citations)
    extra = []
    for ours in our_citations(made, matched):
        best, similar = None, 0.0
        for each in theirs[ours.ref]:
            same = sum((ours.around & each.around).values())
            share = same / max(min(ours.around.total(), each.around.total()), 1)
            if share > similar:
                best, similar = each, share
        if best is not None and similar >= 0.5:
            theirs[ours.ref].remove(best)
            counts["cited"] += best.in_body
            counts["our_cites"] += best.in_body
        else:
            counts["our_cites"] += 1
            extra.append(ours)
    if errors:
        for each in (each for some in theirs.values() for each in some if each.in_body):
            print(f"   NOT CITED {each.ref}: {' '.join(each.around)[:110]}")
        for each in extra:
            print(f"   NO CITATION {each.ref}: {' '.join(each.around)[:110]}")


def _compare_front(truth: Truth, made: Annotation, counts: Counter[str], errors: bool) -> None:
    title, name = "".join(words(made.title)), "".join(words(truth.title))
    counts["title"] = title == name
    ours, theirs = list(map(_name_key, made.authors)), list(map(_name_key, truth.authors))
    counts["authors"] = ours == theirs
    counts["abstract"] = f1(words(made.abstract), words(truth.abstract)) >= 0.9
    if errors and title != name:
        print(f"   TITLE {made.title[:90]!r} is {truth.title[:90]!r}")
    if errors and ours != theirs:
        print(f"   AUTHORS {made.authors} are {truth.authors}")
    if errors and not counts["abstract"]:
        print(f"   ABSTRACT {made.abstract[:90]!r} … {made.abstract[-60:]!r}")
        print(f"         is {truth.abstract[:90]!r} … {truth.abstract[-60:]!r}")


def _name_key(name: str) -> tuple[str, str]:
    """Family name and first initial."""
    family, _, given = name.partition(", ")
    return "".join(words(family)), "".join(words(given.rpartition(", ")[2]))[:1]


def _compare_texts(truth: Truth, made: Annotation, counts: Counter[str], errors: bool) -> None:
    places = defaultdict(set)
    paragraphs = [
        [each for each in tokens if each not in truth.names] for tokens, _ in truth.paragraphs
    ]
    for at, tokens in enumerate(paragraphs):
        for each in zip(tokens, tokens[1:], tokens[2:], strict=False):
            places[each].add(at)
    equal = set()
    for context in made.contexts:
        text = [
            each
            for sentence in context.sentences
            for each in words(sentence.printed)
            if each not in truth.names
        ]
        shared = Counter(
            at for each in zip(text, text[1:], text[2:], strict=False) for at in places[each]
        )
        counts["our_paragraphs"] += 1
        best = max(shared, key=lambda at: f1(text, paragraphs[at]), default=None)
        if best is not None and f1(text, paragraphs[best]) >= 0.9:
            equal.add(best)
        elif errors:
            print(f"   PARAGRAPH {context.heading[:30]!r} {' '.join(text)[:110]}")
        for sentence in context.sentences:
            tokens = words(" ".join(_without_markers(sentence.printed, sentence.markers)))
            tokens = [each for each in tokens if each not in truth.names]
            if not sentence.markers or len(tokens) < 5:
                continue
            counts["our_sentences"] += 1
            runs = list(zip(tokens, tokens[1:], tokens[2:], strict=False))
            inside = Counter(at for each in runs for at in places[each])
            most = max(inside.values(), default=0)
            counts["sentences"] += most >= 0.75 * len(runs)
            if errors and most < 0.75 * len(runs):
                print(f"   SENTENCE {sentence.printed[:140]}")
    citing = {at for at, (_, cites) in enumerate(truth.paragraphs) if cites}
    counts["their_paragraphs"], counts["paragraphs"] = len(citing), len(citing & equal)


def _without_markers(text: str, markers: Sequence[object]) -> Iterator[str]:
    at = 0
    for marker in markers:
        start = text.find(marker.text, at)  # type: ignore[attr-defined]
        yield text[at:start]
        at = start + len(marker.text)  # type: ignore[attr-defined]
    yield text[at:]


# --- Tables -------------------------------------------------------------------------------------

_COLUMNS: dict[str, tuple[str, ...]] = {
    "list": ("list", "papers"),
    "ref R": ("refs", "theirs"),
    "ref P": ("refs", "ours"),
    "mark R": ("cited", "their_cites"),
    "mark P": ("cited", "our_cites"),
    "mark F": ("cited", "our_cites", "their_cites"),
    "title": ("title", "papers"),
    "auth": ("authors", "papers"),
    "abst": ("abstract", "papers"),
    "para": ("paragraphs", "their_paragraphs"),
    "sent": ("sentences", "our_sentences"),
    "warn": ("warned", "wrong"),
    "false": ("false", "fine"),
    "s": ("ms", "papers"),
}


def row(name: str, counts: Counter[str]) -> str:
    """A row of the table; a share is 1 if there was nothing to find."""
    cells = []
    for column, (part, *of) in _COLUMNS.items():
        whole = sum(counts[each] for each in of) / len(of)
        share = counts[part] / whole if whole else 1.0
        if column in ("warn", "false"):
            cells.append(f"{counts[part]}/{counts[of[0]]}")
        else:
            cells.append(f"{share / 1000:.2f}" if column == "s" else f"{share:.3f}")
    return f"{name[:34]:34} {counts['papers']:3} " + " ".join(f"{cell:>6}" for cell in cells)


def header(name: str) -> str:
    return f"{name:34} {'n':>3} " + " ".join(f"{column:>6}" for column in _COLUMNS)


def main() -> None:
    from common import shared_data  # tests import this module without the folder bench/

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--leave-out", default="", help="skip the papers of this publisher")
    parser.add_argument("--only", default="", help="only papers of this publisher, or this name")
    parser.add_argument("--errors", action="store_true", help="print each difference")
    given = parser.parse_args()
    groups: dict[str, dict[str, Counter[str]]] = {
        each: defaultdict(Counter) for each in ("paper", "journal", "publisher")
    }
    total: Counter[str] = Counter()
    for pdf in sorted((given.folder or shared_data("journals")).glob("*.pdf")):
        if not pdf.with_suffix(".xml").is_file():
            count_only(pdf)
            continue
        truth = read_truth(pdf.with_suffix(".xml"))
        if given.leave_out and given.leave_out.lower() in truth.publisher.lower():
            continue
        if given.only.lower() not in f"{truth.publisher} {truth.journal} {pdf.stem}".lower():
            continue
        counts, _ = score(pdf, truth, given.errors)
        if given.errors:
            print(row(f"{pdf.stem} {truth.journal}", counts), flush=True)
        groups["paper"][f"{pdf.stem} {truth.journal}"] += counts
        groups["journal"][truth.journal] += counts
        groups["publisher"][truth.publisher] += counts
        total += counts
    for name, some in groups.items():
        if some:
            print(f"\n{header(name)}")
            for each, counts in sorted(some.items()):
                print(row(each, counts))
    if total:
        print(f"\n{row('all', total)}")


def count_only(pdf: Path) -> None:
    """Print what was read of a paper without JATS."""
    started = time.process_time()
    paper = read_document(pypdfium2.PdfDocument(pdf))
    made = annotate(paper, pdf.stem, sections=())
    seconds = time.process_time() - started
    parsed = [parse_reference(entry.printed) for entry in paper.references]
    sentences = [each for context in made.contexts for each in context.sentences]
    print(
        f"{pdf.stem:24} {len(paper.references):4} references, {sum(bool(p.year) for p in parsed)} "
        f"with a year, {sum(bool(p.authors) for p in parsed)} with authors; "
        f"{sum(len(each.markers) for each in sentences)} markers in {len(made.contexts)} citing "
        f"paragraphs cite {len({c for s in sentences for c in s.cites})} of them; "
        f"{len(made.authors)} authors; {len(made.title)} characters of title; {seconds:.2f} s"
    )
    for note in (*paper.notes, *made.notes):
        print(f"   NOTE {note}")


if __name__ == "__main__":
    main()
