"""``citebed tune``: weights sharpened by drafts that cite, and by judgements."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from citebed.cli.output import AsJson, CollectionFolder, Quiet, print_json
from citebed.report.terminal import progress_bar
from citebed.wording import count, printable

if TYPE_CHECKING:
    from citebed.retrieval.tuning.tuning import Tuned


def tune(
    collection: CollectionFolder,
    drafts: Annotated[
        list[Path] | None,
        typer.Argument(help="Drafts (.tex, .md) that cite what is in the collection."),
    ] = None,
    queries: Annotated[
        list[str] | None,
        typer.Option(
            help="A query set of the collection, or a file of queries; may be repeated. Without "
            "any, nor drafts, all sets that have judgements."
        ),
    ] = None,
    qrels: Annotated[
        list[Path] | None,
        typer.Option(
            help="Judgements of these queries, such as a campaign's, in place of the set's own; "
            "may be repeated."
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Let real citing tell how much word vectors, and being cited, count in a collection.

    Sentences of drafts that cite, and queries that were judged, are asked with several weights. A
    better one is kept in the index; 'citebed index --fit' goes back to what the abstracts taught.

    Example: citebed tune mine/ paper.tex thesis.tex
    """
    from citebed.retrieval.tuning.tuning import tune as tune_collection

    with progress_bar(quiet or as_json, unit="questions") as progress:
        found = tune_collection(
            collection, drafts or (), queries=queries or (), qrels=qrels or (), progress=progress
        )
    if as_json:
        print_json([{**found._asdict(), "learned_from": " ".join(found.learned_from)}])
    elif not quiet:
        for line in tuned_lines(printable(collection), found):
            typer.echo(line)


def tuned_lines(name: str, found: Tuned) -> list[str]:
    """What tuning found, for people."""
    asked = f"{count(found.questions, 'question')} of {count(found.askers, 'paper')}"
    if found.questions < found.needed:
        what = f"{asked} whose answers are in the collection: {found.needed} are needed"
        return [f"{name}: nothing was changed, there are only {what}"]
    words = f"words {found.words_share:.2f}, vectors {1 - found.words_share:.2f}"
    if found.fame_before != found.fame:
        words += f", being cited {found.fame:.2f} of its weight"
    figures = f"nDCG@10 {found.after:.3f}, by BM25 {found.bm25:.3f}"
    if not found.changed:
        return [f"{name}: the weights stay ({words}): {asked} want no others; {figures}"]
    before = f"before {found.words_share_before:.2f}, {1 - found.words_share_before:.2f}"
    if found.fame_before != found.fame:
        before += f", {found.fame_before:.2f}"
    lines = [
        f"{name}: tuned on {asked}: {words} ({before}); {figures}, before {found.before:.3f}, "
        "by cross-validation over papers"
    ]
    if found.learned_from:
        sets = ", ".join(map(printable, found.learned_from))
        lines.append(f"note: figures against {sets} are no test of these weights")
    return lines
