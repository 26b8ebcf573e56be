"""The commands ``import`` and ``forget``, and their reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from citebed.cli.output import AsJson, CollectionFolder, Quiet, print_json, tell_of_terminal
from citebed.cli.scoring_options import Debug, On, SparkConf
from citebed.report.terminal import progress_bar
from citebed.wording import count, printable

if TYPE_CHECKING:
    from citebed.collection import ImportOptions, ImportReport, Progress

_NewCollection = Annotated[
    Path,
    typer.Argument(
        metavar="COLLECTION",
        help="Collection folder; created if missing.",
        show_default=False,
    ),
]
_Sources = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="SOURCE",
        help="Files, folders and archives to read; - is standard input.",
        show_default=False,
    ),
]
_Profile = Annotated[
    str | None,
    typer.Option(help="Import rules: acm-cr, anthology, cranfield, or a TOML file."),
]
_Types = Annotated[
    str | None, typer.Option(help="Entry types to keep, e.g. article,inproceedings; 'all' for all.")
]
_Exclude = Annotated[
    Path | None, typer.Option(help="File with ids or DOIs to exclude, one per line.")
]
_FrontMatter = Annotated[
    str | None,
    typer.Option(
        help="Front matter (headings, forewords, tables of contents): keep, drop, or "
        "drop only 'sessions'."
    ),
]
_Reviews = Annotated[str | None, typer.Option(help="Letters and book reviews: keep or drop.")]
_Languages = Annotated[
    str | None, typer.Option(help="Languages to keep, e.g. en,de; 'all' for all.")
]
_NoFuture = Annotated[
    bool | None,
    typer.Option(
        "--no-future/--future",
        help="Exclude cited papers published after the citing paper.",
        show_default=False,
    ),
]
_Sections = Annotated[
    str | None,
    typer.Option(
        help="Sections to create queries from, e.g. introduction,related-work; 'none' = text "
        "without a heading, 'all' = everything."
    ),
]
_Anonymise = Annotated[
    bool | None,
    typer.Option(
        "--anonymise/--keep-names",
        help="Remove cited authors' names from queries (default).",
        show_default=False,
    ),
]
_CleanAnnotations = Annotated[
    bool | None,
    typer.Option(
        "--clean-annotations/--annotations-as-given",
        help="Also clean hand-annotated papers (author names, line-break hyphens).",
        show_default=False,
    ),
]
_Name = Annotated[
    str | None, typer.Option(help="Name of the collection (default: the folder's name).")
]
_Only = Annotated[
    list[str] | None,
    typer.Option(help="Read only files matching this glob, e.g. '*/papers/*.xml' (repeatable)."),
]
_Format = Annotated[
    str | None,
    typer.Option("--format", help="Force this format for all sources, e.g. ris."),
]
_Prune = Annotated[
    bool,
    typer.Option(
        "--prune",
        help="Remove sources whose files no longer exist ('citebed forget' removes others).",
    ),
]
_Strict = Annotated[
    bool, typer.Option("--strict", help="Import nothing if a record cannot be read.")
]
_Absolute = Annotated[
    bool,
    typer.Option(
        "--absolute-paths",
        help="Store absolute source paths instead of names.",
    ),
]
_Finish = Annotated[
    bool,
    typer.Option(
        "--finish",
        help="Complete an interrupted import of a copied collection first. Use only if you trust "
        "its origin.",
    ),
]
_ShardSize = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Maximum documents per shard (0: no shards). Later imports keep the setting.",
    ),
]
_Workers = Annotated[int, typer.Option(help="Number of parser processes (0: one per core).")]


def import_(
    collection: _NewCollection,
    sources: _Sources = None,
    profile: _Profile = None,
    types: _Types = None,
    exclude: _Exclude = None,
    front_matter: _FrontMatter = None,
    reviews: _Reviews = None,
    languages: _Languages = None,
    no_future: _NoFuture = None,
    sections: _Sections = None,
    anonymise: _Anonymise = None,
    clean_annotations: _CleanAnnotations = None,
    name: _Name = None,
    only: _Only = None,
    format: _Format = None,
    prune: _Prune = False,
    strict: _Strict = False,
    absolute_paths: _Absolute = False,
    finish: _Finish = False,
    shard_size: _ShardSize = None,
    workers: _Workers = 0,
    on: On = None,
    spark_conf: SparkConf = None,
    debug: Debug = False,  # noqa: ARG001 - its callback does it
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Import bibliographies, papers and judgements into a collection.

    Formats are detected by content, then by file name. Archives are read without unpacking;
    unchanged files are skipped. New rules replace the collection's rules.

    Example: citebed import acm-cr/ acm-dl.tar.xz papers/ --profile acm-cr --exclude blacklist.txt
    """
    from citebed.collection import ImportOptions, finish_change, read_exclusions, rules_for

    if finish:
        finish_change(collection)
    _check_import_arguments(collection, sources)
    rules = rules_for(
        collection,
        profile,
        types=_items(types),
        exclude=read_exclusions(exclude) if exclude else None,
        front_matter=front_matter,
        reviews=reviews,
        languages=_items(languages),
        no_future=no_future,
        sections=_items(sections),
        anonymise=anonymise,
        clean_annotations=clean_annotations,
    )
    options = ImportOptions(
        rules=rules,
        only=tuple(only or ()),
        name=name,
        strict=strict,
        prune=prune,
        absolute=absolute_paths,
        workers=workers,
        format=format,
        shard_size=shard_size,
    )
    with progress_bar(quiet or as_json) as progress:
        report = _imported(collection, sources or [], options, progress, on, spark_conf or ())
    if as_json:
        print_json(report.rows())
    elif not quiet:
        print_report(report)


def _imported(
    collection: Path,
    sources: list[Path],
    options: ImportOptions,
    progress: Progress,
    on: str | None,
    conf: Sequence[str],
) -> ImportReport:
    if on is None:
        from citebed.collection import import_sources

        return import_sources(collection, sources, options, progress)
    from citebed.distributed.engine import engine

    with engine(on, conf) as there:
        return there.import_sources(collection, sources, options, progress)


def _check_import_arguments(collection: Path, sources: list[Path] | None) -> None:
    if collection.is_file():
        name = printable(collection)
        hint = f"citebed import my-collection/ {name}"
        raise typer.BadParameter(
            f"'{name}' is a file. Give the collection folder first, then the files: {hint}"
        )
    if not sources and not (collection / "citebed.toml").is_file():
        raise typer.BadParameter("name at least one file, folder or archive to read")
    if Path("-") in (sources or ()):
        tell_of_terminal("records")


def _items(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    items = tuple(item.strip().lower() for item in text.split(",") if item.strip())
    return () if items == ("all",) else items


def print_report(report: ImportReport) -> None:
    """Print the report for people."""
    from rich.table import Table

    from citebed.report.terminal import console

    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(overflow="fold")  # a long path is wrapped, not cut
    for label, text in report.lines():
        table.add_row(label, text)
    printer = console()
    name = printable(report.folder)
    printer.print(f"{name}: {count(report.documents, 'document')}", markup=False)
    printer.print(table, markup=False)


def forget(
    collection: CollectionFolder,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE",
            help="Files, folders or archives that were imported, by name or path; or papers, by "
            "citation key, DOI or id.",
            show_default=False,
        ),
    ],
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Remove sources or single papers from a collection.

    Documents that also came from other sources keep the data from those sources. The files
    themselves are not touched: importing them again brings back everything except single papers.
    To bring back a paper, delete it from 'forgotten' in citebed.toml and run: citebed import
    COLLECTION

    Example: citebed forget mine/ old-library.bib
    Example: citebed forget mine/ 10.1145/361219.361220
    """
    from citebed.collection import forget_sources

    with progress_bar(quiet or as_json) as progress:
        report = forget_sources(collection, sources, progress)
    if as_json:
        print_json(report.rows())
    elif not quiet:
        print_report(report)
        if (collection / "index").exists():
            name = printable(collection)
            typer.echo(
                f"note: the index still has what you forgot; run: citebed index {name}", err=True
            )
