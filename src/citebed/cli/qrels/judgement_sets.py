"""The commands ``qrels sample``, ``subset``, ``difference`` …"""

from __future__ import annotations

from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from citebed.cli.output import AsCsv, AsJson, print_rows, say, style_of
from citebed.cli.qrels.judgement_stats import stats
from citebed.cli.scoring_options import QrelsFile, QrelsFiles, Relevant, Seed
from citebed.errors import CitebedError, FormatError
from citebed.wording import count, printable

if TYPE_CHECKING:
    import polars as pl

    from citebed.evaluation.judgements.cocitation import Cocitations
    from citebed.evaluation.judgements.sets import Merged
    from citebed.runs.tables import Qrels

LISTED = 10

Out = Annotated[
    Path,
    typer.Option("-o", "--output", help="Output file; its ending decides: TREC, .gz or .parquet."),
]


qrels = typer.Typer(
    help="Tools for sets of judgements.", no_args_is_help=True, rich_markup_mode=None
)
qrels.command()(stats)


# --- sample, subset ---------------------------------------------------------------------------


@qrels.command()
def sample(
    qrels: QrelsFile,
    out: Out,
    share: Annotated[float, typer.Option(help="Share to keep, above 0 and up to 1.")],
    by: Annotated[
        Literal["judgement", "query"],
        typer.Option(help="What to draw: judgements of every query, or whole queries."),
    ] = "judgement",
    seed: Seed = 0,
) -> None:
    """Draw a random share of the judgements.

    Every query keeps its share of its judgements; --by query draws whole queries instead.

    Example: citebed qrels sample cranfield.qrels --share 0.5 --seed 1 -o half.qrels
    """
    from citebed.evaluation.judgements.labels import read_labelled
    from citebed.evaluation.judgements.sets import sample as draw

    before = read_labelled(qrels)
    after = draw(before, share, seed, by)
    _store(out, before, after, {"tool": "qrels sample", "share": share, "by": by, "seed": seed})


@qrels.command()
def subset(
    qrels: QrelsFile,
    out: Out,
    runs: Annotated[
        list[Path] | None, typer.Argument(help="Runs for --depth.", metavar="[RUN…]")
    ] = None,
    queries: Annotated[
        Path | None, typer.Option(help="Keep the queries in this file (one id per line).")
    ] = None,
    documents: Annotated[
        Path | None, typer.Option(help="Keep the documents in this file (one id per line).")
    ] = None,
    min_relevance: Annotated[
        int | None, typer.Option(help="Keep judgements of this grade and above.")
    ] = None,
    depth: Annotated[
        int | None, typer.Option(help="Keep documents in the top N of any run (pool depth).")
    ] = None,
    sources: Annotated[
        list[str] | None,
        typer.Option(
            "--source", help="Keep judgements with this source label in field 2 (repeatable)."
        ),
    ] = None,
) -> None:
    """Keep some judgements: by query, document, source or grade, or only those in a pool of runs.

    citebed reads only the first field of the lines of --queries and --documents, so any qrels or
    run file can name queries. Dropped judgements count as unjudged afterwards.

    Example: citebed qrels subset all.qrels bm25.run ql.run --depth 20 -o pool20.qrels
    """
    from citebed.evaluation.judgements import sets as judgement_sets
    from citebed.evaluation.judgements.labels import read_labelled
    from citebed.runs.reader import read_run

    if (depth is None) != (not runs):
        raise CitebedError("--depth and runs belong together: give both, or neither.")
    if all(each is None for each in (queries, documents, min_relevance, depth, sources)):
        raise CitebedError(
            "nothing says what to keep. Give --queries, --documents, --source, --min-relevance or "
            "--depth."
        )
    before = read_labelled(qrels)
    named, wanted = _ids(queries), _ids(documents)
    after = judgement_sets.subset(
        before, queries=named, documents=wanted, min_relevance=min_relevance, sources=sources
    )
    if depth is not None:
        after = judgement_sets.pooled(after, (read_run(path) for path in runs or ()), depth)
    _say_unknown("query", named, before.table["query_id"])
    _say_unknown("document", wanted, before.table["doc_id"])
    facts: dict[str, Any] = {"tool": "qrels subset", "min_relevance": min_relevance}
    facts |= {"depth": depth, "sources": sources}
    others = [path for path in (queries, documents, *(runs or ())) if path is not None]
    _store(out, before, after, facts, others)


def _ids(path: Path | None) -> list[str] | None:
    if path is None:
        return None
    from citebed.files.input_files import read_data_lines

    ids = [line.split(maxsplit=1)[0] for _, line in read_data_lines(path)]
    if not ids or ids[0].startswith(("{", "[", "<")):
        raise FormatError(path, 1, "expected one id per line.")
    return list(dict.fromkeys(ids))


def _say_unknown(what: str, named: list[str] | None, known: pl.Series) -> None:
    missing = sorted(set(named or ()) - set(known.unique()))
    if missing:
        say(
            f"note: {len(missing):,} of {count(len(named or ()), what)} named "
            f"{'has' if len(missing) == 1 else 'have'} no judgement, such as '{missing[0]}'"
        )


# --- difference ---------------------------------------------------------------------------


@qrels.command()
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
    from citebed.evaluation.judgements.labels import read_labelled
    from citebed.evaluation.judgements.sets import difference as less

    before = read_labelled(qrels)
    rest = less(before, *others)
    facts = {"tool": "qrels difference", "shared": rest.shared, "changed": rest.changed}
    _store(out, before, rest.qrels, facts, others)
    if rest.changed:
        say(
            f"note: {rest.changed:,} of the {count(rest.shared, 'judgement')} dropped "
            f"{'has' if rest.changed == 1 else 'have'} another grade there"
        )


# --- merge ------------------------------------------------------------------------------------


@qrels.command()
def merge(
    files: QrelsFiles,
    rule: Annotated[
        str,
        typer.Option(help="Rule: first, max, min, mean, majority, undisputed or agreed."),
    ],
    out: Out,
    grades: Annotated[
        list[str] | None,
        typer.Option(
            "--map", help="Change grades of a set before merging, e.g. NAME:1=3,2=3 (repeatable)."
        ),
    ] = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Merge several judgement sets by a rule; citebed counts and lists conflicts.

    first: the first set that judges a pair. max, min, mean: of the grades, halves rounded up.
    majority: the grade that most sets give; ties are dropped. undisputed: drop pairs on which sets
    disagree. agreed: keep only pairs that every set judges, all alike. --json and --csv print all
    conflicts.

    Example: citebed qrels merge authors.qrels experts.qrels --rule max --map experts:1=2 -o m.qrels
    """
    from citebed.evaluation.judgements import sets as judgement_sets
    from citebed.evaluation.judgements.labels import read_labelled_sets

    style, maps = style_of(None, as_json, as_csv), _maps(grades or [])
    sets = read_labelled_sets(files)
    merged = judgement_sets.merge(sets, rule, maps)
    facts = {"tool": "qrels merge", "rule": rule, "map": maps, "conflicts": merged.conflicts.height}
    _write(out, merged.qrels, facts, files)
    _list_conflicts(merged, style)
    for one in sets:
        say(f"read {_amount(one)} from {_name(one)}")
    say(f"rule {rule}: {judgement_sets.RULES[rule][0]}")
    say(
        f"{count(merged.pairs, 'pair')} of query and document, {merged.shared:,} judged by more "
        f"than one set, {merged.conflicts.height:,} with conflicting grades, "
        f"{merged.left_out:,} dropped"
    )
    say(f"wrote {_amount(merged.qrels)} to {printable(out)}")


def _maps(texts: list[str]) -> dict[str, dict[int, int]]:
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


def _list_conflicts(merged: Merged, style: str) -> None:
    if style != "table":
        print_rows(merged.conflicts.to_dicts(), style)
        return
    if not merged.conflicts.height:
        return
    from citebed.report.tables import frame_table

    shown = frame_table(merged.conflicts.head(LISTED), none="-", left=[0])
    typer.echo(shown.text(), nl=False)
    if merged.conflicts.height > LISTED:
        more = count(merged.conflicts.height - LISTED, "more conflict")
        say(f"… and {more}; --csv prints all")


# --- expand -----------------------------------------------------------------------------------


@qrels.command()
def expand(
    qrels: QrelsFile,
    cocited: Annotated[
        Path,
        typer.Option(
            help="Co-citations: a collection, or a file of lines 'doc_id other_id count'."
        ),
    ],
    out: Out,
    at_least: Annotated[
        int, typer.Option(help="Minimum co-citations with one relevant document.")
    ] = 2,
    grade: Annotated[int, typer.Option(help="Grade of the proposed documents.")] = 1,
    rel: Relevant = 1,
    label: Annotated[
        str, typer.Option(help="Source label for the new judgements (field 2).")
    ] = "cocited",
    not_own_paper: Annotated[
        bool,
        typer.Option("--not-own-paper", help="Ignore the reference list of the query's own paper."),
    ] = False,
    queries: Annotated[
        str | None, typer.Option(help="Query set or file (default: the judgements' query set).")
    ] = None,
) -> None:
    """Propose judgements: documents that are cited together with a relevant document.

    citebed writes them as a separate, labelled set, without pairs that are already judged, and does
    not change the judgements. You can merge the two sets, or contrast them.

    Example: citebed qrels expand c/qrels/sentences.qrels --cocited c --not-own-paper -o co.qrels
    """
    from citebed.evaluation.judgements import cocitation
    from citebed.runs.reader import read_qrels

    how = cocitation.ExpansionOptions(min_cocitations=at_least, grade=grade, rel=rel)
    judged = read_qrels(qrels)
    if cocited.is_dir():
        source = _in_collection(judged, rel, cocited, queries, not_own_paper)
    elif not_own_paper or queries:
        raise CitebedError("--not-own-paper and --queries need a collection in --cocited.")
    else:
        source = cocitation.from_file(cocited)
    proposed = cocitation.expand(judged, source.pairs, how, own=source.own, barred=source.barred)
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


def _in_collection(
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
    """Describe which command made a file from which inputs, by name if the names differ."""
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
