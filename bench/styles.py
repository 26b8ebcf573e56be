"""PDFs of made-up papers in many styles, as the reader reads them against what is true of them.

Takes a folder of PDFs with a ``.json`` beside each, as ``python -m tests.papers_made.remake`` makes
them. A citation counts as found if it is resolved to the right entry, in its order.
Run: python bench/styles.py FOLDER [--errors]
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pypdfium2

from citebed.papers.annotation import Annotation
from citebed.papers.annotator import annotate
from citebed.papers.paper import ReadPaper
from citebed.papers.pdf_reader import read_document
from citebed.text.sentences import sentence_spans

_SAME = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-"})
_IN_BRACKETS = re.compile(
    r"[(\[][^()\[\]]*(?:\([^()]*\))?[^()\[\]]*[)\]]|[⁰¹²³⁴-⁹⁻]+(?:,[⁰¹²³⁴-⁹⁻]+)*"
)


def bare(text: str) -> str:
    return re.sub(r"\W+", "", text.translate(_SAME)).lower()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--errors", action="store_true")
    given = parser.parse_args()
    total: Counter[str] = Counter()
    sure: list[tuple[float, bool]] = []
    for pdf in sorted(given.folder.glob("*.pdf")):
        if given.names and pdf.stem not in given.names:
            continue
        truth = json.loads(pdf.with_suffix(".json").read_text("utf-8"))
        counts = score(pdf, truth, given.errors, sure)
        print(f"{pdf.stem:24}", report(counts), flush=True)
        total += counts
    print(f"{'all':24}", report(total))
    for low, high in ((0.0, 0.7), (0.7, 0.9), (0.9, 0.97), (0.97, 1.01)):
        inside = [each for each in sure if low <= each[0] < high]
        if inside:
            said = sum(each[0] for each in inside) / len(inside)
            true = sum(each[1] for each in inside) / len(inside)
            print(f"links said to be {said:.3f} sure: {true:.3f} right of {len(inside)}")


def report(c: Counter[str]) -> str:
    def share(a: str, b: str) -> str:
        return f"{c[a] / c[b]:.3f}" if c[b] else "  -  "

    precision, recall = c["right"] / max(c["cited"], 1), c["right"] / max(c["cites"], 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    return (
        f"cites P {precision:.3f} R {recall:.3f} F1 {f1:.3f}"
        f" | references {share('refs', 'all_refs')}"
        f" of {share('found_refs', 'all_refs')} | paragraphs P {share('same', 'ours')}"
        f" R {share('same', 'theirs')} sentences {share('sentences', 'all_sentences')}"
        f" | title {c['title']} authors {c['authors']} abstract {c['abstract']} year {c['year']}"
        f" of {c['papers']} | {c['ms'] / 1000:.2f} s {c['pages']} pages"
    )


def score(
    pdf: Path, truth: dict[str, Any], errors: bool, sure: list[tuple[float, bool]]
) -> Counter[str]:
    counts: Counter[str] = Counter(papers=1)
    started = time.process_time()
    paper = read_document(pypdfium2.PdfDocument(pdf))
    found = annotate(paper, pdf.stem, sections=())
    counts["ms"] = int(1000 * (time.process_time() - started))
    counts["pages"] = len(paper.pages)
    keys = compare_references(found, truth, counts, errors)
    compare_cites(found, truth, keys, counts, errors, sure)
    compare_paragraphs(paper, truth, counts, errors)
    compare_front(paper, truth, counts, errors)
    return counts


def compare_references(
    found: Annotation, truth: dict[str, Any], counts: Counter[str], errors: bool
) -> dict[str, str]:
    """The true key of each entry that was found: its title or its own words are inside."""
    keys: dict[str, str] = {}
    for key, said in truth["references"].items():
        counts["all_refs"] += 1
        wanted = bare(said["title"])
        hits = [each for each in found.references if wanted in bare(each.text)]
        if not hits and said.get("place"):
            hits = [each for each in found.references if bare(said["place"]) in bare(each.text)]
        clean = [each for each in hits if len(bare(each.text)) < len(wanted) + 260]
        if clean and clean[0].ref_id not in keys:
            keys[clean[0].ref_id] = key
            counts["refs"] += 1
        elif errors:
            print("   REFERENCE", key, said, [each.text[:150] for each in hits[:1]])
    counts["found_refs"] = len(found.references)
    if errors:
        for each in found.references:
            if each.ref_id not in keys:
                print("   NO REFERENCE", each.ref_id, each.text[:150])
    return keys


def compare_cites(
    found: Annotation,
    truth: dict[str, Any],
    keys: dict[str, str],
    counts: Counter[str],
    errors: bool,
    sure: list[tuple[float, bool]],
) -> None:
    wanted = [
        (key, sentence["text"])
        for paragraph in truth["paragraphs"]
        for sentence in paragraph["sentences"]
        for key in sorted(key for cites in sentence["cites"] for key in cites)
    ]
    ours = [
        (key, confidence, sentence.text)
        for context in found.contexts
        for sentence in context.sentences
        for key, confidence in sorted(
            (keys.get(cite, f"?{cite}"), marker.confidence)
            for marker in sentence.markers
            for cite in marker.cites
        )
    ]
    matcher = SequenceMatcher(None, [w[0] for w in wanted], [o[0] for o in ours], autojunk=False)
    right: set[int] = set()
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            right |= set(range(c, d))
        elif errors:
            print("   CITES", tag, wanted[a:b][:3], [(o[0], o[2][:90]) for o in ours[c:d]][:3])
    counts["cites"], counts["cited"], counts["right"] = len(wanted), len(ours), len(right)
    sure += [(each[1], at in right) for at, each in enumerate(ours)]


def compare_paragraphs(
    paper: ReadPaper, truth: dict[str, Any], counts: Counter[str], errors: bool
) -> None:
    ours = [p.content.text for p in paper.paragraphs]
    kept = [bare(strip(text)) for text in ours]
    counts["theirs"], counts["ours"] = len(truth["paragraphs"]), len(ours)
    sentences = {bare(strip(text[a:b])) for text in ours for a, b in sentence_spans(text)}
    used: set[int] = set()
    for paragraph in truth["paragraphs"]:
        said = [bare(strip(each["text"])) for each in paragraph["sentences"]]
        for each, plain in zip(paragraph["sentences"], said, strict=True):
            counts["all_sentences"] += 1
            counts["sentences"] += plain in sentences
            if errors and plain not in sentences:
                print("   SENTENCE", each["text"])
        wanted = "".join(said)
        best = max(
            ((ratio(wanted, t), n) for n, t in enumerate(kept) if n not in used), default=(0, 0)
        )
        if best[0] > 0.93:
            used.add(best[1])
            counts["same"] += 1
        elif errors:
            print("   PARAGRAPH", paragraph["section"], paragraph["sentences"][0]["text"][:80])
    if errors:
        for n, text in enumerate(ours):
            if n not in used:
                print(
                    "   NO PARAGRAPH", paper.paragraphs[n].section, "|", text[:70], "…", text[-40:]
                )


def ratio(one: str, other: str) -> float:
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return (
        matcher.ratio() if matcher.real_quick_ratio() > 0.9 and matcher.quick_ratio() > 0.9 else 0
    )


def strip(text: str) -> str:
    """A text without what brackets and superscripts say."""
    return _IN_BRACKETS.sub("", text)


def compare_front(
    paper: ReadPaper, truth: dict[str, Any], counts: Counter[str], errors: bool
) -> None:
    pairs = {
        "title": (bare(paper.title), bare(truth["title"])),
        "authors": (sorted(map(bare, paper.authors)), sorted(map(bare, truth["authors"]))),
        "year": (paper.year, truth["year"]),
    }
    for name, (ours, theirs) in pairs.items():
        counts[name] = int(theirs is None or ours == theirs)
        if errors and not counts[name]:
            print("   FRONT", name, ours, theirs)
    close = SequenceMatcher(None, bare(paper.abstract), bare(truth["abstract"]), autojunk=False)
    counts["abstract"] = int(close.ratio() > 0.97)
    if errors and not counts["abstract"]:
        print("   FRONT abstract", paper.abstract[:60], "…", paper.abstract[-60:])


if __name__ == "__main__":
    main()
