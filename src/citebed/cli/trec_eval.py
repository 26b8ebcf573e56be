"""The command ``trec_eval``: a drop-in replacement for scripts that call that program."""

from __future__ import annotations

import sys
from typing import Annotated

import typer


def trec_eval(
    context: typer.Context,
    arguments: Annotated[list[str] | None, typer.Argument(metavar="QRELS RUN")] = None,
) -> None:
    """Be trec_eval: its command line, its output, for 9.0.8 and 10.0.

    \b
    -q        every query's scores too
    -n        no summary
    -m NAME   a measure, or official, set, all_trec; parameters as in P.5,10
    -c        average over all judged queries
    -l N      the lowest grade that is relevant
    -J        only judged documents
    -M N      only the first N documents of a query
    -N N      documents in the collection, for utility
    -Z FILE   deviations from means: lines of query, measure, mean, deviation
    -v, -h    the version; this text
    --as-version 9.0.8|10.0   stands first, and is not trec_eval's own; 9.0.8 unless given

    The long names of the options work too, and 'citebed measures' explains the measures.

    Example: citebed trec_eval -q -m map -m P.5,10 paragraphs.qrels bm25.run
    """
    from citebed.evaluation.trec_eval.options import read_options

    options = read_options(arguments or [])
    if options.info_request == "help":
        typer.echo(context.get_help())
    elif options.info_request == "version":
        typer.echo(f"trec_eval version {options.version}", err=True)  # as trec_eval does
    else:
        from citebed.evaluation.trec_eval.program import printed

        for text in printed(options):
            sys.stdout.write(text)
