"""Annotations made of PDFs against those made by hand: paragraphs, sentences, what they cite.

Takes a folder of PDFs and one of hand-made annotations (``.xml`` and ``.dois`` under the same
names). Texts are compared after white space, quotes and dashes are made one.
Run: python bench/annotate.py PDFS ANNOTATIONS [--against COLLECTION] [--errors]
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from difflib import SequenceMatcher
from pathlib import Path

import pypdfium2
from lxml import etree

import citebed
from citebed.papers.annotation import Annotation
from citebed.papers.annotator import annotate
from citebed.papers.pdf_reader import read_document
from citebed.papers.reference_matcher import ReferenceMatcher
from citebed.text.identifiers import normalise_doi

_SAME = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-"})


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", text.translate(_SAME).replace("''", '"')).strip()


def bare(text: str) -> str:
    return re.sub(r"\s+", "", plain(text)).lower()


def hand_made(path: Path) -> list[tuple[str, list[tuple[str, tuple[str, ...], bool]]]]:
    root = etree.parse(str(path)).getroot()
    return [
        (
            context.get("section") or "",
            [
                (
                    plain("".join(map(str, s.itertext()))),
                    tuple(filter(None, re.split(r"[,;\s]+", s.get("cites") or ""))),
                    (s.get("anonymised") or "") == "true",
                )
                for s in context.iter("s")
            ],
        )
        for context in root.iter("context")
    ]


def similarity(one: str, other: str) -> float:
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return (
        matcher.ratio() if matcher.real_quick_ratio() > 0.9 and matcher.quick_ratio() > 0.9 else 0
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pdfs", type=Path)
    parser.add_argument("annotations", type=Path)
    parser.add_argument("--against", type=Path, help="a collection that has cited papers")
    parser.add_argument("--errors", action="store_true")
    given = parser.parse_args()
    total: Counter[str] = Counter()
    against, known = None, dict[str, str]()
    if given.against:
        documents = citebed.open(given.against).documents
        against = ReferenceMatcher(documents)
        known = dict(documents.drop_nulls("doi").select("doc_id", "doi").iter_rows())
    for pdf in sorted(given.pdfs.glob("*.pdf")):
        (xml,) = given.annotations.rglob(f"{pdf.stem}.xml")
        counts = score(pdf, xml, given.errors, against, known)
        print(pdf.stem, report(counts), flush=True)
        total += counts
    print("all", report(total))


def report(c: Counter[str]) -> str:
    def share(a: str, b: str) -> str:
        return f"{c[a] / c[b]:.3f}" if c[b] else "-"

    return (
        f"paragraphs P {share('matched', 'ours')} R {share('matched', 'theirs')}"
        f" | sentences {share('same', 'sentences')} cites {share('cites', 'same')}"
        f" anonymised {share('anon', 'theirs_anon')} of {c['theirs_anon']}"
        f" | references {share('refs', 'their_refs')}"
        f" links P {share('linked_right', 'linked')} R {share('linked_right', 'known')}"
        f" | {c['ms'] / 1000:.2f} s"
    )


def score(
    pdf: Path, xml: Path, errors: bool, against: ReferenceMatcher | None, known: dict[str, str]
) -> Counter[str]:
    counts: Counter[str] = Counter()
    started = time.process_time()
    found = annotate(read_document(pypdfium2.PdfDocument(pdf)), pdf.stem, against=against)
    counts["ms"] = int(1000 * (time.process_time() - started))
    theirs = hand_made(xml)
    ours = [[(plain(s.text), s.cites, s.anonymised) for s in c.sentences] for c in found.contexts]
    counts["ours"], counts["theirs"] = len(ours), len(theirs)
    dois = xml.with_suffix(".dois").read_text("utf-8", "replace")
    numbers = set(re.findall(r"^-?\s*\[(\d+)\]", dois, re.M))
    counts["their_refs"] = len(numbers)
    if against:
        compare_links(dois, found, known, counts, errors)
    counts["refs"] = len(numbers & {each.ref_id for each in found.references})
    texts = [bare(" ".join(s[0] for s in each)) for each in ours]
    used: set[int] = set()
    for section, sentences in theirs:
        wanted = bare(" ".join(s[0] for s in sentences))
        best = max(
            ((similarity(wanted, t), n) for n, t in enumerate(texts) if n not in used),
            default=(0, 0),
        )
        if best[0] < 0.95:
            if errors:
                print(f"   MISSED [{section}] {sentences[0][0][:70]} … {sentences[-1][0][-40:]}")
            counts["sentences"] += len(sentences)
            counts["theirs_anon"] += sum(s[2] for s in sentences)
            continue
        used.add(best[1])
        counts["matched"] += 1
        compare(sentences, ours[best[1]], counts, errors)
    if errors:
        for n, each in enumerate(ours):
            if n not in used:
                print(f"   EXTRA [{found.contexts[n].heading}] {each[0][0][:90]}")
    return counts


def compare_links(
    dois: str, found: Annotation, doi_by_id: dict[str, str], counts: Counter[str], errors: bool
) -> None:
    """DOIs of references whose paper is in the collection, as people stated them and as matched."""
    stated = {
        number: normalise_doi(doi)
        for number, doi in re.findall(r"^-?\s*\[(\d+)\]\s*(\S+)", dois, re.M)
    }
    dois_in_collection = set(doi_by_id.values())
    known = {number: doi for number, doi in stated.items() if doi in dois_in_collection}
    ours = {each.ref_id: each for each in found.references}
    for number in stated.keys() | ours.keys():
        link = ours[number].doc_id if number in ours else None
        linked = doi_by_id.get(link) if link else None
        counts["linked"] += linked is not None
        counts["known"] += number in known
        right = linked is not None and linked == known.get(number)
        counts["linked_right"] += right
        if errors and not right and (linked or number in known):
            text = ours[number].text if number in ours else ""
            print(f"   LINK [{number}] {known.get(number)} {linked} {text[:110]}")


def compare(theirs: list, ours: list, counts: Counter[str], errors: bool) -> None:  # type: ignore[type-arg]
    by_text = {text: (cites, anon) for text, cites, anon in ours}
    for text, cites, anon in theirs:
        counts["sentences"] += 1
        counts["theirs_anon"] += anon
        if text not in by_text:
            if errors:
                near = max(ours, key=lambda each: SequenceMatcher(None, text, each[0]).ratio())[0]
                ops = [
                    (text[a:b], near[c:d])
                    for tag, a, b, c, d in SequenceMatcher(
                        None, text, near, autojunk=False
                    ).get_opcodes()
                    if tag != "equal"
                ]
                print(f"   SENTENCE {text[:40]} … {ops[:4]}")
            continue
        counts["same"] += 1
        counts["anon"] += anon and by_text[text][1]
        if set(by_text[text][0]) == set(cites):
            counts["cites"] += 1
        elif errors:
            print(f"   CITES {text[:60]} … {cites} {by_text[text][0]}")


if __name__ == "__main__":
    main()
