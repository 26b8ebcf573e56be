"""The commands ``index`` and ``search``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from citebed.cli.output import (
    AsJson,
    CollectionFolder,
    Quiet,
    print_json,
)
from citebed.cli.scoring_options import Debug, On, SparkConf
from citebed.report.terminal import progress_bar
from citebed.wording import printable

if TYPE_CHECKING:
    from citebed.collection import Collection
    from citebed.retrieval.index.index import Index
    from citebed.retrieval.index.statistics import IndexReport

Model = Annotated[
    str, typer.Option("--model", "-m", help="Retrieval model, e.g. 'bm25(k1=0.9,b=0.4)+rm3'.")
]
FieldWeights = Annotated[
    str,
    typer.Option(
        "--fields",
        help="Fields and weights, e.g. 'title=2,abstract,citing=0.5' (default: title, abstract, "
        "keywords; full text with weight 0.1).",
    ),
]
DEFAULT_FIELDS = "default"


def index(
    collection: CollectionFolder,
    analyser: Annotated[
        str,
        typer.Option(
            help="Text analyser: auto (by language), english, snowball(german), "
            "mixed(english,chinese), none …"
        ),
    ] = "auto",
    citing: Annotated[
        list[Path] | None,
        typer.Option(help="Citation contexts (JSON Lines) to index (repeatable)."),
    ] = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Rebuild the index from scratch.")
    ] = False,
    neural: Annotated[
        bool,
        typer.Option(
            "--neural",
            help="Also compute document vectors with the downloaded encoder. Slow; resumes after "
            "interruption.",
        ),
    ] = False,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="Compute document vectors with this encoder: a folder, or a Hugging Face name."
        ),
    ] = None,
    static: Annotated[
        str | None,
        typer.Option(
            help="Your own word vectors from 'citebed train static'; 'shipped' restores citebed's."
        ),
    ] = None,
    fit: Annotated[
        bool | None,
        typer.Option(
            "--fit/--no-fit",
            help="Re-estimate the weight of word vectors from the abstracts (default: once, and "
            "again when 10 % of the documents changed).",
            show_default=False,
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(help="Number of indexing processes (0: one per core).")
    ] = 0,
    on: On = None,
    spark_conf: SparkConf = None,
    debug: Debug = False,  # noqa: ARG001 - its callback does it
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Index a collection for searching, or update its index.

    Only new and changed documents are indexed. The field 'citing' holds what other papers say when
    they cite a document. With --on, every shard of a collection gets its own index.

    Example: citebed index acm-cr/
    """
    from citebed.collection import open_collection
    from citebed.retrieval import encoders
    from citebed.retrieval.index.builder import IndexOptions
    from citebed.retrieval.ranking.fitting import build_index
    from citebed.retrieval.vectors.static_model import choose_model

    opened = open_collection(collection)  # check it before loading a model
    if on is not None:
        refused = {"--neural": neural, "--encoder": encoder, "--fit": fit}
        how = (analyser, tuple(citing or ()), workers, rebuild, static)
        report = _index_on(opened, (on, spark_conf or ()), how, refused)
        _tell(collection, report, as_json=as_json, quiet=quiet)
        return
    model = encoders.index_encoder(encoder or neural) if encoder or neural else None
    words = choose_model(static)
    options = IndexOptions(analyser, tuple(citing or ()), workers, rebuild, model, words)
    with progress_bar(quiet or as_json, unit="documents") as progress:
        report = build_index(opened, options, progress, fit=fit)
    _tell(collection, report, as_json=as_json, quiet=quiet)


def _index_on(
    collection: Collection,
    where: tuple[str, Sequence[str]],
    how: tuple[str, tuple[Path, ...], int, bool, str | None],
    refused: Mapping[str, object],
) -> IndexReport:
    """Index the shards of a collection on Spark."""
    from citebed.distributed.engine import engine
    from citebed.errors import CitebedError
    from citebed.retrieval.sharded.sharded_index import ShardOptions

    given = [name for name, value in refused.items() if value]
    if given:
        raise CitebedError(f"{given[0]} cannot be combined with --on. Remove one of them.")
    with engine(*where) as there:
        return there.index(collection, ShardOptions(*how))


def _tell(collection: Path, report: IndexReport, *, as_json: bool, quiet: bool) -> None:
    from citebed.report.collection import index_lines

    if as_json:
        print_json([report._asdict()])
    elif not quiet:
        for line in index_lines(collection, report):
            typer.echo(line)


def search(
    collection: CollectionFolder,
    queries: Annotated[
        str,
        typer.Option("--queries", help="Query set of the collection, or a file of queries."),
    ],
    model: Model = "bm25",
    depth: Annotated[int, typer.Option(min=1, help="Documents per query.")] = 1000,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Output run (.parquet for a table; default: runs/…)."),
    ] = None,
    fields: FieldWeights = DEFAULT_FIELDS,
    as_is: Annotated[
        bool,
        typer.Option(
            "--as-is", help="Do not clean queries (keep citation markers and single letters)."
        ),
    ] = False,
    threads: Annotated[int, typer.Option(min=0, help="Number of threads (0: one per core).")] = 0,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Overwrite an existing run.")
    ] = False,
    on: On = None,
    spark_conf: SparkConf = None,
    debug: Debug = False,  # noqa: ARG001 - its callback does it
    quiet: Quiet = False,
) -> None:
    """Run all queries of a set; write a TREC run and a JSON file with its settings.

    Example: citebed search acm-cr/ --queries paragraphs --model bm25 --depth 1000 -o bm25.run
    """
    from citebed.retrieval.execution.run_files import Asked, search_to_file
    from citebed.retrieval.execution.runner import RunOptions
    from citebed.retrieval.search.fields import fields_of

    asked = Asked(
        queries=queries, model=model, options=RunOptions(depth, fields_of(fields), threads, as_is),
        output=output, overwrite=overwrite, command=["citebed", *sys.argv[1:]],
    )  # fmt: skip
    with progress_bar(quiet, unit="queries") as progress:
        if on is None:
            found = search_to_file(collection, asked, progress)
        else:
            from citebed.distributed.engine import engine

            with engine(on, spark_conf or ()) as there:
                found = search_to_file(collection, asked, progress, there.shards_of(collection))
    if quiet:
        return
    note(found.notes)
    typer.echo(found.summary)


def note(notes: Iterable[str]) -> None:
    """Print notes about the results."""
    for each in notes:
        typer.echo(f"note: {each}", err=True)


def open_both(folder: Path, quiet: bool) -> tuple[Collection, Index]:
    """Open a collection and its index; print a note if the index is out of date."""
    from citebed.collection import open_collection
    from citebed.retrieval.index.index import open_index

    collection = open_collection(folder)
    index = open_index(folder, verified=True)
    if not quiet and not index.is_current():
        name = printable(folder)
        typer.echo(
            f"note: {name} has changed since it was indexed; run: citebed index {name}", err=True
        )
    return collection, index
