"""The command ``published``: the tables of three papers, one subcommand each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from citebed.cli.options import (
    CollectionFolder,
    QrelsFile,
    Quiet,
    RunFiles,
    TableOptions,
    command_group,
)
from citebed.cli.output import print_lines
from citebed.options import option
from citebed.report.terminal import progress_bar

if TYPE_CHECKING:
    from citebed.experiments.published import Published

SCIBERT = "scibert"


def acm_cr(
    collection: CollectionFolder,
    output: TableOptions,
    encoder: str | None = option(
        None, "SciBERT's folder or name, if it is not in the Hugging Face cache."
    ),
    quiet: Quiet = False,
) -> None:
    """Table 2 of ACM-CR (Boudin 2021).

    BM25 and SciBERT on paragraphs and on sentences. Queries are used as they are, BM25 rounds
    lengths as Lucene does, SciBERT re-ranks the first 20 documents. † marks a run that is
    significantly better than BM25 (paired t-test, p < 0.05). The rows of SciBERT are empty if its
    weights are not on this machine.

    Example: citebed published acm-cr acm-cr-collection/
    """
    from citebed.experiments import published as papers
    from citebed.retrieval.encoders.model_folder import find_model, local_model

    folder = local_model(SCIBERT) if encoder is None else find_model(encoder)
    with progress_bar(quiet or output.style != "table", unit="queries") as progress:
        made = papers.acm_cr(collection, folder, progress)
    _print(made, output)
    if folder is None:
        missing = "note: SciBERT's weights are not on this machine: its rows are empty. Give its "
        print_lines([f"{missing}folder with --encoder."], output.style)


def cited_and_non_cited(
    collection: CollectionFolder,
    topics: Annotated[Path, typer.Argument(help="File with the queries.", metavar="TOPICS")],
    j1: Annotated[Path, typer.Argument(help="Judgements of phase one (T1).", metavar="QRELS1")],
    j12: Annotated[Path, typer.Argument(help="Judgements of both (T1+2).", metavar="QRELS2")],
    output: TableOptions,
    quiet: Quiet = False,
) -> None:
    """Table 5 of Ritchie, Robertson & Teufel (2007).

    Eight runs under both sets of judgements. The measures are MAP, P(5), R-precision, GMAP and
    bpref; each run has 100 documents per query. A query counts only if both files judge it.

    Example: citebed published cited-and-non-cited mine/ topics.jsonl t1.qrels t12.qrels
    """
    from citebed.experiments import published as papers

    with progress_bar(quiet or output.style != "table", unit="queries") as progress:
        made = papers.cited_and_non_cited(collection, topics, j1, j12, progress)
    _print(made, output)


def time_aware(
    qrels: QrelsFile,
    runs: RunFiles,
    output: TableOptions,
    teams_file: Path | None = option(None, "Teams of the runs: a file of lines 'run team'."),
) -> None:
    """Tables 1 to 3 of Dietz, Dalton & Balog (2013).

    The best run of each team: MAP, nDCG@R and R-precision as one batch; MAP by weeks and by days,
    slices evenly and by bursts. Relevance is binary.

    Example: citebed published time-aware kba.qrels *.run.gz
    """
    from citebed.experiments import published as papers

    _print(papers.time_aware(qrels, runs, teams_file or True), output)


def _print(made: Published, output: TableOptions) -> None:
    output.print_tables(lambda: [figure.row() for figure in made.figures], made.tables())
    print_lines((f"note: {note}" for note in made.notes), output.style)


published = command_group(
    "Reproduce the tables of three papers: published numbers next to yours.",
    acm_cr,
    cited_and_non_cited,
    time_aware,
)
