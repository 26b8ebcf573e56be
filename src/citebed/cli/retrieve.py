"""The verbs of retrieval: index, search."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from citebed.cli.output import (
    AsJson,
    CollectionFolder,
    Quiet,
    print_json,
)
from citebed.report.terminal import progress_bar
from citebed.wording import count, printable

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
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Index a collection for searching, or bring its index up to date.

    Only what is new since the last time is counted. What the collection's citing papers say of
    a document is indexed too, as its field 'citing'.

    Example: citebed index acm-cr/
    """
    from citebed.collection import open_collection
    from citebed.retrieval import encoders
    from citebed.retrieval.dense.static_model import index_model
    from citebed.retrieval.index.building import IndexOptions
    from citebed.retrieval.learned.fitting import build_index

    opened = open_collection(collection)  # what is wrong with it is told before a model is loaded
    model = encoders.index_encoder(encoder or neural) if encoder or neural else None
    words = index_model(static)
    options = IndexOptions(analyser, tuple(citing or ()), workers, rebuild, model, words)
    with progress_bar(quiet or as_json, unit="documents") as progress:
        report = build_index(opened, options, progress, fit=fit)
    if as_json:
        print_json([report._asdict()])
    elif not quiet:
        for line in _index_lines(collection, report):
            typer.echo(line)


def _index_lines(collection: Path, report: IndexReport) -> list[str]:
    size = f"{report.bytes / 1e6:.1f} MB"
    name = printable(collection)
    if report.unchanged:
        whole = f"{name}: the index is up to date ({count(report.documents, 'document')})"
        return [whole, *_vector_lines(name, report)]
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
    quiet: Quiet = False,
) -> None:
    """Search with every query of a set and write a TREC run, with a file that says how.

    Example: citebed search acm-cr/ --queries paragraphs --model bm25 --depth 1000 -o bm25.run
    """
    from citebed.retrieval.pipeline import pipeline_of
    from citebed.retrieval.running.run_facts import run_facts
    from citebed.retrieval.running.runner import RunOptions, run_queries
    from citebed.retrieval.search.fields import fields_of
    from citebed.retrieval.search.queries import query_facts, read_queries
    from citebed.runs.writing import check_ids, write_run

    pipeline = pipeline_of(model)
    options = RunOptions(depth, fields_of(fields), threads, as_is)
    opened, its_index = open_both(collection, quiet)
    table = read_queries(opened, queries)
    if table.is_empty():
        raise typer.BadParameter(f"the query set '{queries}' has judgements but no queries")
    path = output or _run_file(collection, model, queries)
    if path.exists() and not overwrite:
        there = f"'{printable(path)}' is there already"
        raise typer.BadParameter(f"{there}; add --overwrite to replace it")
    check_ids(table.select("query_id"), path)  # now, not after an hour of searching
    with progress_bar(quiet, unit="queries") as progress:
        run = run_queries(opened, its_index, table, pipeline, options, progress)
    about = query_facts(opened, queries, table)
    facts = run_facts(its_index, pipeline, options, run, about, ["citebed", *sys.argv[1:]])
    written = write_run(path, run, str(pipeline), {**facts, "run": path.name})
    if quiet:
        return
    note(run.notes)
    typer.echo(
        f"{count(table.height, 'query')}, {count(run.table.height, 'result')} "
        f"with {pipeline}: {printable(written[0])} (and {printable(written[1].name)})"
    )


def _run_file(collection: Path, model: str, queries: str) -> Path:
    """Where a run is put that got no name: among the collection's, never through a link."""
    from citebed.files.writing import own_folder

    name = "".join(c if c.isalnum() or c in ".-=" else "_" for c in model).strip("_")
    path = own_folder(collection / "runs") / f"{name}.{Path(queries).stem}.run"
    if path.is_symlink():
        raise typer.BadParameter(f"'{printable(path)}' is a link; name the run's file with -o")
    return path


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
