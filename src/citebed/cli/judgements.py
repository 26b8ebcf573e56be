"""The commands ``qrels stats``, ``sample``, ``subset``, ``difference``, ``merge``, ``expand``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from citebed.cli.options import QrelsFile, QrelsFiles, RowOptions, command_group, typed
from citebed.cli.output import check_page, print_notes, print_rows, say, write_page
from citebed.errors import CitebedError, FormatError
from citebed.evaluation.options import Resampling
from citebed.options import argument, option
from citebed.wording import count, printable

if TYPE_CHECKING:
    from citebed.evaluation.judgements.cocitation import Cocitations
    from citebed.evaluation.judgements.statistics import JudgementStatistics
    from citebed.evaluation.scoring.judge_quality import JudgeQuality
    from citebed.runs.tables import Qrels

LISTED = 10
Out = Annotated[
    Path,
    typer.Option("-o", "--output", help="Output file; its ending decides: TREC, .gz or .parquet."),
]
Relevant = Annotated[int, typer.Option(help="Lowest relevant grade.")]


def stats(
    files: QrelsFiles,
    output: RowOptions,
    rel: Relevant = 1,
    documents: str | None = option(
        None,
        "Number of documents, or the collection (default: the collection that contains "
        "the judgements).",
        metavar="N|COLLECTION",
    ),
) -> None:
    """Describe judgement sets. Counts queries, grades, judgements per query and sources.

    The first figures are the usual ones of test collections: relevant and other judgements
    per query, and relevant documents per 1,000. Judgements are counted by source if
    the second field of a file names sources.

    Example: citebed qrels stats j1.qrels j12.qrels --documents 9084
    """
    from citebed.evaluation.judgements.sets import read_labelled_sets
    from citebed.evaluation.judgements.statistics import describe

    sets = read_labelled_sets(files)
    statistics = [
        describe(one, rel, _count_documents(documents, path))
        for path, one in zip(files, sets, strict=True)
    ]
    print_notes(note for one in sets for note in one.notes)
    output.print(
        lambda: [row for one in statistics for row in one.rows()],
        lambda: _statistics_text(statistics),
    )


def _count_documents(text: str | None, qrels: Path) -> int | None:
    """Return the number of documents of the collection, or ``None`` if it is unknown."""
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


def _statistics_text(statistics: Sequence[JudgementStatistics]) -> str:
    """Return a row per figure and a column per set; then means per query of each source."""
    from citebed.report.tables import text_table

    def cell(value: float | None) -> str:
        if value is None:
            return "-"
        whole = value % 1 == 0
        return f"{int(value):,}" if whole else f"{value:,.4g}" if value < 1 else f"{value:,.2f}"

    by_source = tuple({f"{source}:" for one in statistics for source in one.sources})
    values = [{row["figure"]: row["value"] for row in one.rows()} for one in statistics]
    names = dict.fromkeys(name for each in values for name in each)
    figures = [name for name in names if not name.startswith(by_source)]
    rows = [[name, *(cell(value.get(name)) for value in values)] for name in figures]
    text = text_table(["", *(one.name for one in statistics)], rows).text()
    rows = [
        [one.name, source, *(f"{value:.2f}" for value in tally.per_query(one.queries).values())]
        for one in statistics
        for source, tally in {"all": one.total, **one.sources}.items()
        if one.sources
    ]
    head = ["judgements per query", "from", "judged", "relevant", "not relevant"]
    return f"{text}\n{text_table(head, rows, (0, 1)).text()}" if rows else text


# --- sample, subset ---------------------------------------------------------------------------


def sample(
    qrels: QrelsFile,
    out: Out,
    share: Annotated[float, typer.Option(help="Share to keep, above 0 and up to 1.")],
    by: Literal["judgement", "query"] = option(
        "judgement", "Draw judgements of every query, or whole queries."
    ),
    seed: int = option(0, "Random seed.", min=0),
) -> None:
    """Draw a random share of the judgements.

    Every query keeps its share of its judgements; --by query draws whole queries instead.

    Example: citebed qrels sample cranfield.qrels --share 0.5 --seed 1 -o half.qrels
    """
    from citebed.evaluation.judgements.sets import read_labelled
    from citebed.evaluation.judgements.sets import sample as draw

    before = read_labelled(qrels)
    after = draw(before, share, seed, by)
    _store(out, before, after, {"tool": "qrels sample", "share": share, "by": by, "seed": seed})


@dataclass(frozen=True, kw_only=True)
class SubsetOptions:
    """The judgements to keep."""

    queries: Path | None = option(None, "Keep the queries in this file (one id per line).")
    documents: Path | None = option(None, "Keep the documents in this file (one id per line).")
    min_relevance: int | None = option(None, "Keep judgements of this grade and above.")
    depth: int | None = option(None, "Keep documents in the top N of any run (pool depth).")
    sources: tuple[str, ...] = option(
        (), "Keep judgements with this source label in field 2 (repeatable).", "--source"
    )


def subset(
    qrels: QrelsFile,
    out: Out,
    options: SubsetOptions,
    runs: tuple[Path, ...] = argument((), "Runs for --depth.", metavar="[RUN…]"),
) -> None:
    """Keep some judgements. Choose by query, document, source or grade, or by a pool of runs.

    citebed reads only the first field of the lines of --queries and --documents, so any qrels or
    run file can name queries. Dropped judgements count as unjudged afterwards.

    Example: citebed qrels subset all.qrels bm25.run ql.run --depth 20 -o pool20.qrels
    """
    from citebed.evaluation.judgements.sets import pooled, read_labelled
    from citebed.evaluation.judgements.sets import subset as select
    from citebed.runs.reader import read_run

    depth, sources = options.depth, list(options.sources) or None
    if (depth is None) != (not runs):
        raise CitebedError("--depth and runs belong together: give both, or neither.")
    if options == SubsetOptions():
        raise CitebedError(
            "nothing says what to keep. Give --queries, --documents, --source, --min-relevance or "
            "--depth."
        )
    before = read_labelled(qrels)
    queries, documents = _read_ids(options.queries), _read_ids(options.documents)
    after = select(
        before, queries=queries, documents=documents, min_relevance=options.min_relevance,
        sources=sources,
    )  # fmt: skip
    if depth is not None:
        after = pooled(after, map(read_run, runs), depth)
    for what, named, column in (
        ("query", queries, "query_id"), ("document", documents, "doc_id"),
    ):  # fmt: skip
        missing = sorted(set(named or ()) - set(before.table[column].unique()))
        if missing:
            say(
                f"note: {len(missing):,} of {count(len(named or ()), what)} named "
                f"{'has' if len(missing) == 1 else 'have'} no judgement, such as '{missing[0]}'"
            )
    facts: dict[str, Any] = {"tool": "qrels subset", "min_relevance": options.min_relevance}
    facts |= {"depth": depth, "sources": sources}
    files = (options.queries, options.documents, *runs)
    _store(out, before, after, facts, [path for path in files if path is not None])


def _read_ids(path: Path | None) -> list[str] | None:
    if path is None:
        return None
    from citebed.files.input_files import read_data_lines

    ids = [line.split(maxsplit=1)[0] for _, line in read_data_lines(path)]
    if not ids or ids[0].startswith(("{", "[", "<")):
        raise FormatError(path, 1, "expected one id per line.")
    return list(dict.fromkeys(ids))


# --- difference, merge --------------------------------------------------------------------


def difference(
    qrels: QrelsFile,
    others: Annotated[
        list[Path], typer.Argument(help="Judgement sets to subtract.", metavar="OTHER…")
    ],
    out: Out,
) -> None:
    """Subtract judgement sets: keep pairs that no other set judges.

    A judgement that another set has with another grade is removed too, and counted.

    Example: citebed qrels difference j12.qrels j1.qrels -o j2.qrels
    """
    from citebed.evaluation.judgements.sets import difference as subtract
    from citebed.evaluation.judgements.sets import read_labelled

    before = read_labelled(qrels)
    rest = subtract(before, *others)
    facts = {"tool": "qrels difference", "shared": rest.shared, "changed": rest.changed}
    _store(out, before, rest.qrels, facts, others)
    if rest.changed:
        say(
            f"note: {rest.changed:,} of the {count(rest.shared, 'judgement')} dropped "
            f"{'has' if rest.changed == 1 else 'have'} another grade there"
        )


def merge(
    files: QrelsFiles,
    rule: Annotated[
        str, typer.Option(help="Rule: first, max, min, mean, majority, undisputed or agreed.")
    ],
    out: Out,
    output: RowOptions,
    grades: tuple[str, ...] = option(
        (), "Change grades of a set before merging, e.g. NAME:1=3,2=3 (repeatable).", "--map"
    ),
) -> None:
    """Merge judgement sets by a rule. Conflicts are counted and listed.

    first: the first set that judges a pair. max, min, mean: of the grades, halves rounded up.
    majority: the grade that most sets give; ties are dropped. undisputed: drop pairs on which sets
    disagree. agreed: keep only pairs that every set judges, all alike. --json and --csv print all
    conflicts.

    Example: citebed qrels merge authors.qrels experts.qrels --rule max --map experts:1=2 -o m.qrels
    """
    from citebed.evaluation.judgements.sets import RULES, read_labelled_sets
    from citebed.evaluation.judgements.sets import merge as merge_sets

    maps = _parse_maps(grades)
    sets = read_labelled_sets(files)
    merged = merge_sets(sets, rule, maps)
    facts = {"tool": "qrels merge", "rule": rule, "map": maps, "conflicts": merged.conflicts.height}
    _write(out, merged.qrels, facts, files)
    if output.is_rows:
        print_rows(merged.conflicts.to_dicts(), output.style)
    elif merged.conflicts.height:
        from citebed.report.tables import frame_table

        shown = frame_table(merged.conflicts.head(LISTED), none="-", left=[0])
        typer.echo(shown.text(), nl=False)
        if merged.conflicts.height > LISTED:
            more = count(merged.conflicts.height - LISTED, "more conflict")
            say(f"… and {more}; --csv prints all")
    for one in sets:
        say(f"read {_amount(one)} from {_name(one)}")
    say(f"rule {rule}: {RULES[rule][0]}")
    say(
        f"{count(merged.pairs, 'pair')} of query and document, {merged.shared:,} judged by more "
        f"than one set, {merged.conflicts.height:,} with conflicting grades, "
        f"{merged.left_out:,} dropped"
    )
    say(f"wrote {_amount(merged.qrels)} to {printable(out)}")


def _parse_maps(texts: Sequence[str]) -> dict[str, dict[int, int]]:
    maps: dict[str, dict[int, int]] = {}
    for text in texts:
        name, colon, pairs = text.rpartition(":")
        try:
            halves = [pair.split("=") for pair in pairs.split(",")]
            grades = [(int(old), int(new)) for old, new in halves]
        except ValueError:
            grades = []
        if not (colon and name and grades):
            raise CitebedError(
                f"cannot read --map '{text}'. Write the set's name and grades: experts:1=3,2=3."
            )
        for old, new in grades:
            if maps.setdefault(name, {}).setdefault(old, new) != new:
                raise CitebedError(
                    f"--map: grade {old} of '{name}' would become both {maps[name][old]} and "
                    f"{new}. Give it one new grade."
                )
    return maps


# --- expand -----------------------------------------------------------------------------------


def assess(
    context: typer.Context,
    human: Annotated[Path, typer.Argument(help="People's judgements.", metavar="HUMAN")],
    machine: Annotated[Path, typer.Argument(help="A machine's judgements.", metavar="MACHINE")],
    runs: Annotated[list[Path] | None, typer.Argument(help="Runs.", metavar="[RUN…]")] = None,
    *,
    page: Annotated[Path | None, typer.Option("-o", "--output", help="HTML page.")] = None,
    collection: Path | None = option(
        None, "Collection, for biases by length, year and citations of the documents."
    ),
    measure: str = option("nDCG@10", "Measure that ranks the runs.", "-m"),
    resampling: Resampling,
    output: RowOptions,
) -> None:
    """Compare a machine's judgements with people's: agreement, strictness, biases, order of runs.

    Example: citebed qrels assess human.qrels machine.qrels a.run b.run -o judge.html
    """
    from citebed.collection import open_collection
    from citebed.evaluation.scoring.judge_quality import assess_judge
    from citebed.judging.machine_judges import document_properties
    from citebed.runs.reader import read_qrels, read_runs

    if page is not None:
        check_page(page, {realpath(path) for path in (human, machine, *(runs or ()))})
    people, systems = read_qrels(human), list(read_runs(runs) if runs else ())
    opened = None if collection is None else open_collection(collection)
    properties = document_properties(people.table, opened, systems)
    drawn = resampling.with_clusters(human)
    quality = assess_judge(people, machine, systems or None, properties, measure, drawn)
    print_assessment(quality, machine.stem, page, output, typed(context))


def print_assessment(
    quality: JudgeQuality, judge: str, page: Path | None, output: RowOptions, command: str
) -> None:
    """Print what a comparison with people means, and write the page."""
    from citebed.report.judge_page import assessment_rows, judge_advice, judge_page, judge_verdict

    if page is not None:
        say(write_page(page, judge_page(quality, judge, command)))
    lines = [*judge_verdict(quality), "", *judge_advice(quality), ""]
    output.print(lambda: list(assessment_rows(quality)), lambda: "\n".join(lines))


def expand(
    qrels: QrelsFile,
    cocited: Annotated[
        Path,
        typer.Option(
            help="Co-citations: a collection, or a file of lines 'doc_id other_id count'."
        ),
    ],
    out: Out,
    at_least: int = option(2, "Minimum co-citations with one relevant document."),
    grade: int = option(1, "Grade of the proposed documents."),
    rel: Relevant = 1,
    label: str = option("cocited", "Source label for the new judgements (field 2)."),
    not_own_paper: bool = option(False, "Ignore the reference list of the query's own paper."),
    queries: str | None = option(None, "Query set or file (default: the judgements' query set)."),
) -> None:
    """Propose judgements of co-cited documents.

    These are cited together with a relevant document. citebed writes them as a separate, labelled
    set without judged pairs; the judgements stay as they are. Merge the two sets, or contrast them.

    Example: citebed qrels expand c/qrels/sentences.qrels --cocited c --not-own-paper -o co.qrels
    """
    from citebed.evaluation.judgements import cocitation
    from citebed.runs.reader import read_qrels

    options = cocitation.ExpansionOptions(min_cocitations=at_least, grade=grade, rel=rel)
    judged = read_qrels(qrels)
    if cocited.is_dir():
        source = _count_cocitations(judged, rel, cocited, queries, not_own_paper)
    elif not_own_paper or queries:
        raise CitebedError("--not-own-paper and --queries need a collection in --cocited.")
    else:
        source = cocitation.from_file(cocited)
    proposed = cocitation.expand(
        judged, source.pairs, options, own=source.own, barred=source.barred
    )
    facts = {
        "tool": "qrels expand", "label": label, "at_least": at_least, "grade": grade, "rel": rel,
        "not_own_paper": not_own_paper, "cocitations": source.what,
    }  # fmt: skip
    _write(out, proposed.qrels, facts, [qrels, cocited], label)
    say(f"read {_amount(judged)} from {_name(judged)}; {proposed.seeds:,} of them relevant")
    say(f"read {source.what} from {printable(cocited)}")
    say(
        f"skipped {proposed.below_minimum:,} with fewer than {count(at_least, 'co-citation')}, "
        f"{proposed.already_judged:,} already judged, {proposed.excluded:,} excluded for the query"
    )
    to = printable(out)
    say(f"wrote {_amount(proposed.qrels)}, grade {grade}, labelled '{label}', to {to}")


def _count_cocitations(
    judged: Qrels, rel: int, folder: Path, queries: str | None, not_own_paper: bool
) -> Cocitations:
    """Count co-citations in a collection, for the named queries or for its judged queries."""
    from citebed.collection import open_collection
    from citebed.evaluation.judgements.cocitation import from_collection
    from citebed.retrieval.search.queries import read_queries

    collection = open_collection(folder)
    assert judged.source is not None
    if queries is None and Path(realpath(judged.source)).parent == Path(realpath(folder)) / "qrels":
        queries = judged.name if judged.name in collection.query_sets else None
    wanted = None if queries is None else read_queries(collection, queries)
    return from_collection(collection, judged, wanted, rel=rel, not_own_paper=not_own_paper)


# --- writing ----------------------------------------------------------------------------------


def _store(
    out: Path, before: Qrels, after: Qrels, facts: dict[str, Any], others: list[Path] | None = None
) -> None:
    """Write the kept judgements and print how many were dropped."""
    assert before.source is not None
    _write(out, after, facts, [before.source, *(others or ())])
    had, has = (one.table["query_id"].n_unique() for one in (before, after))
    say(f"read {_amount(before)} from {_name(before)}")
    say(
        f"dropped {count(before.table.height - after.table.height, 'judgement')}, and "
        f"{count(had - has, 'query')} with all judgements"
    )
    say(f"wrote {_amount(after)} to {printable(out)}")


def _write(
    out: Path, qrels: Qrels, facts: dict[str, Any], inputs: list[Path], label: str = "0"
) -> None:
    from citebed.runs.writer import check_not_input, write_qrels

    check_not_input(out, *inputs)
    if not qrels.table.height:
        raise CitebedError(f"no judgement is left, so citebed did not write {printable(out)}.")
    write_qrels(out, qrels, label, {**made_of(inputs), **facts})


def made_of(inputs: list[Path]) -> dict[str, Any]:
    """Describe which version made a file from which inputs, by name if the names differ."""
    from citebed._version import __version__
    from citebed.files.input_files import hash_file

    hashes: dict[str, str | None] = {}
    for path in inputs:
        alike = {other for other in inputs if other.name == path.name}
        name = printable(path.name if len(alike) == 1 else path)
        hashes[name] = hash_file(path) if path.is_file() else None
    return {"made_by": f"citebed {__version__}", "from": hashes}


def _name(qrels: Qrels) -> str:
    return printable(qrels.source or qrels.name)


def _amount(qrels: Qrels) -> str:
    queries = qrels.table["query_id"].n_unique()
    return f"{count(qrels.table.height, 'judgement')} of {count(queries, 'query')}"


qrels = command_group(
    "Describe, sample, merge or extend judgement sets (qrels).",
    stats, sample, subset, difference, merge, expand, assess,
)  # fmt: skip
