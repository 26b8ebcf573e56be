"""``citebed tune``: tune weights on the citations of drafts and on judgements."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from citebed.cli.output import AsJson, CollectionFolder, Quiet, print_json
from citebed.report.terminal import progress_bar
from citebed.wording import count, printable

if TYPE_CHECKING:
    from citebed.retrieval.tuning import Tuned


def tune(
    collection: CollectionFolder,
    drafts: Annotated[
        list[Path] | None,
        typer.Argument(help="Drafts (.tex, .md) that cite papers of the collection."),
    ] = None,
    queries: Annotated[
        list[str] | None,
        typer.Option(
            help="Query set of the collection, or a file of queries (repeatable). Default without "
            "drafts: all sets that have judgements."
        ),
    ] = None,
    qrels: Annotated[
        list[Path] | None,
        typer.Option(
            help="Judgements of these queries, e.g. of a campaign, instead of the set's own "
            "(repeatable)."
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Tune the weights of word vectors and citation counts on your drafts or judged queries.

    citebed tries several weights on the citing sentences of your drafts and on judged queries, and
    stores better ones in the index. 'citebed index --fit' goes back to the weights estimated from
    the abstracts.

    Example: citebed tune mine/ paper.tex thesis.tex
    """
    from citebed.retrieval.tuning import tune as tune_collection

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
    """Print the result of tuning for people."""
    asked = f"{count(found.questions, 'question')} of {count(found.askers, 'paper')}"
    if found.questions < found.needed:
        what = f"{asked} with relevant documents in the collection; it needs {found.needed}"
        return [f"{name}: nothing was changed: there are only {what}"]
    words = f"words {found.words_share:.2f}, vectors {1 - found.words_share:.2f}"
    if found.fame_before != found.fame:
        words += f", being cited {found.fame:.2f} of its weight"
    figures = f"nDCG@10 {found.after:.3f}, by BM25 {found.bm25:.3f}"
    if not found.changed:
        return [f"{name}: the weights stay ({words}): no others are better for {asked}; {figures}"]
    before = f"before {found.words_share_before:.2f}, {1 - found.words_share_before:.2f}"
    if found.fame_before != found.fame:
        before += f", {found.fame_before:.2f}"
    lines = [
        f"{name}: tuned on {asked}: {words} ({before}); {figures}, before {found.before:.3f}, "
        "by cross-validation over papers"
    ]
    if found.learned_from:
        sets = ", ".join(map(printable, found.learned_from))
        lines.append(f"note: do not report scores on {sets}, because citebed tuned on it")
    return lines
