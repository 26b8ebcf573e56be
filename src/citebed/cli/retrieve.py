"""The verbs of retrieval: index, search."""

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
    str, typer.Option("--model", "-m", help="The model, e.g. 'bm25(k1=0.9,b=0.4)+rm3'.")
]
FieldWeights = Annotated[
    str,
    typer.Option(
        "--fields",
        help="The fields that count, e.g. 'title=2,abstract,keywords,citing=0.5'. By default "
        "title, abstract and keywords, and a tenth of the full text where there is any.",
    ),
]
DEFAULT_FIELDS = "default"


def index(
    collection: CollectionFolder,
    analyser: Annotated[
        str,
        typer.Option(
            help="How text becomes terms: english, snowball(german), mixed(english,chinese), none "
            "…; auto for what fits the languages of the texts."
        ),
    ] = "auto",
    citing: Annotated[
        list[Path] | None,
        typer.Option(help="Contexts of citations (JSON Lines) to index; may be repeated."),
    ] = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Count everything anew.")] = False,
    neural: Annotated[
        bool,
        typer.Option(
            "--neural",
            help="Also make the documents' vectors with the encoder that 'citebed fetch encoder' "
            "got. Takes a while, and goes on where it was interrupted.",
        ),
    ] = False,
    encoder: Annotated[
        str | None,
        typer.Option(help="Make them with this encoder: a folder, or a name of the hub."),
    ] = None,
    static: Annotated[
        str | None,
        typer.Option(
            help="Word vectors of your own, made by 'citebed train static'; 'shipped' goes back to "
            "those of citebed."
        ),
    ] = None,
    fit: Annotated[
        bool | None,
        typer.Option(
            "--fit/--no-fit",
            help="Learn anew from the collection's abstracts how much word vectors count; or leave "
            "that as it comes with citebed. By default it is learned once, and again when a tenth "
            "of the documents has changed.",
            show_default=False,
        ),
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes that count; 0 for one a core.")] = 0,
    on: On = None,
    spark_conf: SparkConf = None,
    debug: Debug = False,  # noqa: ARG001 - its callback does it
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Index a collection for searching, or bring its index up to date.

    Only what is new since the last time is counted. What the collection's citing papers say of
    a document is indexed too, as its field 'citing'. With --on every shard of a collection gets an
    index of its own.

    Example: citebed index acm-cr/
    """
    from citebed.collection import open_collection
    from citebed.retrieval import encoders
    from citebed.retrieval.dense.static_model import index_model
    from citebed.retrieval.index.building import IndexOptions
    from citebed.retrieval.learned.fitting import build_index

    opened = open_collection(collection)  # what is wrong with it is told before a model is loaded
    if on is not None:
        refused = {"--neural": neural, "--encoder": encoder, "--fit": fit}
        how = (analyser, tuple(citing or ()), workers, rebuild, static)
        report = _index_on(opened, (on, spark_conf or ()), how, refused)
        _tell(collection, report, as_json=as_json, quiet=quiet)
        return
    model = encoders.index_encoder(encoder or neural) if encoder or neural else None
    words = index_model(static)
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
    """Index the shards of a collection on an engine."""
    from citebed.distributed.door import engine
    from citebed.errors import CitebedError
    from citebed.retrieval.sharded.building import ShardOptions

    given = [name for name, value in refused.items() if value]
    if given:
        raise CitebedError(f"{given[0]} works on one machine: leave it out, or leave out --on.")
    with engine(*where) as there:
        return there.index(collection, ShardOptions(*how))


def _tell(collection: Path, report: IndexReport, *, as_json: bool, quiet: bool) -> None:
    from citebed.report.collection.indexing import index_lines

    if as_json:
        print_json([report._asdict()])
    elif not quiet:
        for line in index_lines(collection, report):
            typer.echo(line)


def search(
    collection: CollectionFolder,
    queries: Annotated[
        str,
        typer.Option("--queries", help="A query set of the collection, or a file of queries."),
    ],
    model: Model = "bm25",
    depth: Annotated[int, typer.Option(min=1, help="Documents a query.")] = 1000,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The run's file (.parquet for a table); runs/… by default."
        ),
    ] = None,
    fields: FieldWeights = DEFAULT_FIELDS,
    as_is: Annotated[
        bool,
        typer.Option(
            "--as-is", help="Take queries as they are: citation markers and single letters count."
        ),
    ] = False,
    threads: Annotated[int, typer.Option(min=0, help="0 for one a core.")] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run.")] = False,
    on: On = None,
    spark_conf: SparkConf = None,
    debug: Debug = False,  # noqa: ARG001 - its callback does it
    quiet: Quiet = False,
) -> None:
    """Search with every query of a set and write a TREC run, with a file that says how.

    Example: citebed search acm-cr/ --queries paragraphs --model bm25 --depth 1000 -o bm25.run
    """
    from citebed.retrieval.running.run_files import Asked, search_to_file
    from citebed.retrieval.running.runner import RunOptions
    from citebed.retrieval.search.fields import fields_of

    asked = Asked(
        queries=queries, model=model, options=RunOptions(depth, fields_of(fields), threads, as_is),
        output=output, overwrite=overwrite, command=["citebed", *sys.argv[1:]],
    )  # fmt: skip
    with progress_bar(quiet, unit="queries") as progress:
        if on is None:
            found = search_to_file(collection, asked, progress)
        else:
            from citebed.distributed.door import engine

            with engine(on, spark_conf or ()) as there:
                found = search_to_file(collection, asked, progress, there.shards_of(collection))
    if quiet:
        return
    note(found.notes)
    typer.echo(found.summary)


def note(notes: Iterable[str]) -> None:
    """Tell what there is to say beside the results."""
    for each in notes:
        typer.echo(f"note: {each}", err=True)


def open_both(folder: Path, quiet: bool) -> tuple[Collection, Index]:
    """The collection and its index, checked; an index that is out of date is told."""
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
