"""The command ``qrels stats``: statistics of judgement sets, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from citebed.cli.output import AsCsv, AsJson, print_rows, style_of
from citebed.cli.scoring_options import QrelsFiles, Relevant
from citebed.errors import CitebedError
from citebed.wording import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from citebed.evaluation.judgements.statistics import JudgementStatistics
    from citebed.report.tables import Table


def stats(
    files: QrelsFiles,
    rel: Relevant = 1,
    documents: Annotated[
        str | None,
        typer.Option(
            metavar="N|COLLECTION",
            help="Number of documents, or the collection (default: the collection that contains "
            "the judgements).",
        ),
    ] = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Describe judgement sets: queries, grades, judgements per query, sources.

    The first figures are those that papers print about a test collection: relevant and other
    judgements per query, and relevant documents per 1,000. Judgements are counted by source if
    the second field of a file names sources.

    Example: citebed qrels stats j1.qrels j12.qrels --documents 9084
    """
    from citebed.evaluation.judgements.labels import read_labelled_sets
    from citebed.evaluation.judgements.statistics import describe

    style = style_of(None, as_json, as_csv)
    read = read_labelled_sets(files)
    statistics = [
        describe(one, rel, _documents(documents, path))
        for path, one in zip(files, read, strict=True)
    ]
    for note in (note for one in read for note in one.notes):
        typer.echo(f"note: {note}", err=True)
    if style != "table":
        print_rows([row for one in statistics for row in one.rows()], style)
        return
    typer.echo(_figures_table(statistics).text(), nl=False)
    if any(one.sources for one in statistics):
        typer.echo("\n" + _sources_table(statistics).text(), nl=False)


def _documents(text: str | None, qrels: Path) -> int | None:
    """Return the number of documents to search, or ``None`` if it is unknown."""
    if text is not None and text.strip().replace(",", "").isdecimal():
        return int(text.replace(",", ""))
    folder = Path(text) if text is not None else qrels.absolute().parent.parent
    if text is None and (qrels.parent.name != "qrels" or not (folder / "citebed.toml").is_file()):
        return None
    if not folder.is_dir():
        raise CitebedError(
            "--documents takes a number or the folder of a collection; found "
            f"'{printable(folder)}', which is neither."
        )

    from citebed.collection import open_collection

    return open_collection(folder).document_count


def _figures_table(statistics: Sequence[JudgementStatistics]) -> Table:
    """Print one row per figure and one column per set."""
    from citebed.report.tables import text_table

    by_source = {f"{source}:" for one in statistics for source in one.sources}
    values = [{row["figure"]: row["value"] for row in one.rows()} for one in statistics]
    figures = [
        name
        for name in dict.fromkeys(name for each in values for name in each)
        if not any(name.startswith(source) for source in by_source)
    ]
    rows = [[name, *(_number(value.get(name)) for value in values)] for name in figures]
    return text_table(["", *(one.name for one in statistics)], rows)


def _sources_table(statistics: Sequence[JudgementStatistics]) -> Table:
    """Print one row per source, as in the paper's Table 3: means per query."""
    from citebed.report.tables import text_table

    head = ["judgements per query", "from", "judged", "relevant", "not relevant"]
    rows = [
        [
            one.name,
            source,
            *(f"{value:.2f}" for value in tally.per_query(one.queries).values()),
        ]
        for one in statistics
        for source, tally in {"all": one.total, **one.sources}.items()
        if one.sources
    ]
    return text_table(head, rows, (0, 1))


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return (
        f"{int(value):,}" if value % 1 == 0 else f"{value:,.4g}" if value < 1 else f"{value:,.2f}"
    )
