"""Report on indexing, for the terminal."""

from __future__ import annotations

from pathlib import Path

from citebed.retrieval.index.statistics import IndexReport
from citebed.wording import count, printable


def index_lines(collection: Path, report: IndexReport) -> list[str]:
    """Return the report, one sentence per line."""
    size = f"{report.bytes / 1e6:.1f} MB"
    name = printable(collection)
    if report.unchanged:
        state = f"{name}: the index is up to date ({count(report.documents, 'document')})"
        return [state, *_vector_lines(name, report)]
    if not report.documents:
        return [f"{name}: there are no documents to index; run: citebed import {name} FILES…"]
    kept = report.documents - report.counted
    lines = [
        f"{name}: indexed {count(report.documents, 'document')}, "
        f"{count(report.terms, 'term')}, {count(report.postings, 'posting')}, {size}"
    ]
    if report.analyser != "english":
        lines.append(f"words become terms by the analyser {report.analyser}")
    if kept:
        lines.append(f"{count(report.counted, 'document')} new or changed, {kept:,} as before")
    if report.contexts:
        lines.append(f"citing text: {count(report.contexts, 'context')}")
    if report.contexts_elsewhere:
        what = count(report.contexts_elsewhere, "context")
        lines.append(f"{what} of the files cite what is not in the collection")
    return lines + _vector_lines(name, report)


def _vector_lines(name: str, report: IndexReport) -> list[str]:
    made = ((report.embedded, "the static model"), (report.encoded, "the encoder"))
    by = [f"{number:,} made by {model}" for number, model in made if number]
    # Those of the static model come with the words.
    seconds = f" in {report.vector_seconds:.1f} s" if report.encoded else ""
    size = f"{report.vector_bytes / 1e6:.1f} MB"
    lines = [f"vectors: {' and '.join(by)}{seconds}, {size}"] if by else []
    if report.fitted_on or report.tuned_on:
        how = f"fitted on {count(report.fitted_on, 'sentence')} of this collection"
        if report.tuned_on:
            how = f"tuned on {count(report.tuned_on, 'question')}"
        share = report.words_share
        lines.append(f"weights {how}: words {share:.2f}, vectors {1 - share:.2f}")
    if report.vectors_gone:
        lines.append(
            "the model of the word vectors of before is not here; those of this citebed took their "
            "place. For vectors of your own give --static FILE"
        )
    if report.not_encoded:
        what = count(report.not_encoded, "document")
        lines.append(f"the encoder has not read {what} yet; run: citebed index {name} --neural")
    return lines
