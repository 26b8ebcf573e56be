"""The verbs of collecting: import, stats, lint, export, fetch, demo."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citebed.cli.output import count, print_csv, print_json, progress_bar

if TYPE_CHECKING:
    from citebed.collection import Collection, ImportReport, Rules

CollectionFolder = Annotated[
    Path, typer.Argument(metavar="COLLECTION", help="The collection's folder.", show_default=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print rows as JSON, for programs.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print rows as CSV, for programs.")]


def register(app: typer.Typer) -> None:
    """Add the verbs of this file."""
    app.command("import")(import_)
    app.command("stats")(stats)
    app.command("lint")(lint)
    app.command("export")(export)
    app.command("fetch")(fetch)
    app.command("demo")(demo)


def import_(
    collection: Annotated[
        Path,
        typer.Argument(
            metavar="COLLECTION",
            help="The collection's folder; made if it is not there.",
            show_default=False,
        ),
    ],
    sources: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="SOURCE", help="Files, folders and archives to read.", show_default=False
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(help="Named rules, or a TOML file of your own: acm-cr, anthology, cranfield."),
    ] = None,
    types: Annotated[
        str | None,
        typer.Option(help="Entry types to keep, e.g. article,inproceedings; 'all' for all."),
    ] = None,
    exclude: Annotated[
        Path | None, typer.Option(help="A file of ids or DOIs to leave out, one a line.")
    ] = None,
    front_matter: Annotated[
        str | None,
        typer.Option(
            help="keep; drop headings, forewords, contents and the like; or only 'sessions'."
        ),
    ] = None,
    reviews: Annotated[
        str | None, typer.Option(help="keep or drop letters and book reviews.")
    ] = None,
    languages: Annotated[
        str | None, typer.Option(help="Languages to keep, e.g. en,de; 'all' for all.")
    ] = None,
    no_future: Annotated[
        bool | None,
        typer.Option(
            "--no-future/--future",
            help="Leave out answers later than the citing paper.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="The collection's name; its folder's by default.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Read only names like this, e.g. '*/papers/*.xml'; may be repeated."),
    ] = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="Forget sources that are no longer there.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at the first record that cannot be read.")
    ] = False,
    workers: Annotated[int, typer.Option(help="Processes that parse; 0 for one a core.")] = 0,
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")] = False,
) -> None:
    """Read bibliographies, papers and judgements into a collection.

    Formats are recognised by content, archives are read as they are, unchanged files are
    skipped. Rules that are given replace the collection's own.

    Example: citebed import acm-cr/ acm-dl.tar.xz papers/ --profile acm-cr --exclude blacklist.txt
    """
    from citebed.collection import ImportOptions, import_sources

    _check_import_arguments(collection, sources)
    rules = _rules(
        collection,
        profile,
        types=_items(types),
        exclude=exclude,
        front_matter=front_matter,
        reviews=reviews,
        languages=_items(languages),
        no_future=no_future,
    )
    options = ImportOptions(
        rules=rules, only=tuple(only or ()), name=name, strict=strict, prune=prune, workers=workers
    )
    with progress_bar(quiet or as_json) as progress:
        report = import_sources(collection, sources or (), options, progress)
    if as_json:
        print_json(report.rows())
    elif not quiet:
        _print_report(report)


def _check_import_arguments(collection: Path, sources: list[Path] | None) -> None:
    if collection.is_file():
        hint = f"citebed import my-collection/ {collection}"
        raise typer.BadParameter(
            f"'{collection}' is a file. The first argument is the collection's folder, the files "
            f"to read follow it: {hint}"
        )
    if not sources and not (collection / "citebed.toml").is_file():
        raise typer.BadParameter("name at least one file, folder or archive to read")


def _items(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    items = tuple(item.strip().lower() for item in text.split(",") if item.strip())
    return () if items == ("all",) else items


def _rules(collection: Path, profile: str | None, **given: Any) -> Rules | None:
    """The rules to apply, or ``None`` to leave the collection's as they are."""
    from citebed.collection import Rules, load_profile, open_collection, read_exclusions

    options = {key: value for key, value in given.items() if value is not None}
    if profile is None and not options:
        return None
    if "exclude" in options:
        options["exclude"] = read_exclusions(options["exclude"])
    if profile is not None:
        return load_profile(profile).changed(**options)
    exists = (collection / "citebed.toml").is_file()
    return (open_collection(collection).rules if exists else Rules()).changed(**options)


def _print_report(report: ImportReport) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for label, text in report.lines():
        table.add_row(label, text)
    console = Console(highlight=False)
    console.print(f"{report.folder}: {count(report.documents, 'document')}", markup=False)
    console.print(table, markup=False)


def stats(
    collection: CollectionFolder,
    plot: Annotated[
        Path | None, typer.Option(help="Draw a picture into this .svg or .png file.")
    ] = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Tell what is in a collection: documents, citing contexts, queries, coverage.

    Example: citebed stats acm-cr/ --plot acm-cr.svg
    """
    from citebed.collection.statistics import statistics
    from citebed.collection.statistics_rows import rows

    found = statistics(_open(collection))
    if plot is not None:
        from citebed.report.collection_picture import draw

        draw(found, plot)
        typer.echo(f"drew {plot}", err=True)
    if as_json:
        print_json(rows(found))
    elif as_csv:
        print_csv(rows(found))
    else:
        _print_tables(found)


def _print_tables(found: Any) -> None:
    from rich.console import Console

    from citebed.report.collection_table import statistics_tables

    console = Console(highlight=False)
    for table in statistics_tables(found):
        console.print(table)


def lint(
    collection: CollectionFolder,
    only: Annotated[
        list[str] | None, typer.Option(help="Only this check; may be repeated.")
    ] = None,
    examples: Annotated[int, typer.Option(help="How many examples of each finding to show.")] = 3,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> int:
    """Look for what would spoil an experiment; each finding with examples and how to mend it.

    Exits with 1 if a check of severity 'error' found something.

    Example: citebed lint acm-cr/
    """
    from citebed.collection.lint import lint as run_lint
    from citebed.report.lint_report import lint_rows, lint_text

    findings = run_lint(_open(collection), only or None, examples=examples)
    if as_json:
        print_json(lint_rows(findings))
    elif as_csv:
        print_csv(lint_rows(findings))
    else:
        sys.stdout.write(lint_text(findings))
    return int(any(f.count and f.check.severity == "error" for f in findings))


def export(
    collection: CollectionFolder,
    target: Annotated[
        Path, typer.Argument(help="The file or folder to write.", show_default=False)
    ],
    form: Annotated[
        str,
        typer.Option(
            "--to",
            help="trec, beir, parquet, csv, bibtex, jsonl or ir_datasets.",
            show_default=False,
        ),
    ],
    queries: Annotated[
        list[str] | None, typer.Option(help="Only this query set; may be repeated.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a collection in a form that other tools read.

    Example: citebed export acm-cr/ acm-cr-beir/ --to beir --queries paragraphs
    """
    from citebed.collection.exporting import export as run_export

    report = run_export(_open(collection), form, target, query_sets=queries, overwrite=overwrite)
    if as_json:
        print_json(report.rows())
        return
    for line in report.lines():
        typer.echo(line)


def fetch(
    name: Annotated[
        str | None, typer.Argument(help="A public collection; none lists them.", show_default=False)
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Argument(help="Where to put its files; NAME by default.", show_default=False),
    ] = None,
    mirror: Annotated[
        str | None, typer.Option(help="Another place to get the files from (https:// or file://).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Get a public collection from its origin; goes on where it was interrupted.

    Example: citebed fetch acm-cr && citebed import acm-cr-collection/ acm-cr/ --profile acm-cr
    """
    from citebed.cli.fetch import fetch_collection, list_collections

    if name is None:
        list_collections(as_json)
    else:
        fetch_collection(name, folder or Path(name), mirror, as_json)


def demo(
    collection: Annotated[
        Path, typer.Argument(metavar="COLLECTION", help="Where to make it.")
    ] = Path("demo-collection"),
) -> None:
    """Make the demo collection: landmark papers of information retrieval, cited by papers of ours.

    Example: citebed demo && citebed stats demo-collection/
    """
    from citebed.collection.demo import import_demo

    with progress_bar(quiet=False) as progress:
        report = import_demo(collection, progress)
    _print_report(report)
    stats(collection)


def _open(folder: Path) -> Collection:
    from citebed.collection import open_collection

    return open_collection(folder)
