"""The verbs of recommending: index, search, recommend."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citebed.cli.output import (
    AsCsv,
    AsJson,
    CollectionFolder,
    Quiet,
    check_page,
    print_csv,
    print_json,
    tell_of_terminal,
    typed,
)
from citebed.errors import UnknownName
from citebed.report.terminal import progress_bar
from citebed.wording import count, printable

if TYPE_CHECKING:
    from citebed.collection import Collection
    from citebed.drafts import Draft
    from citebed.retrieval.index.index import Index
    from citebed.retrieval.index.statistics import IndexReport
    from citebed.retrieval.recommending.recommendations import Recommendations

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
    opened, its_index = _open(collection, quiet)
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
    _note(run.notes)
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


_FORMS = ("text", "json", "csv", "lines", "bibtex")


def recommend(
    context: typer.Context,
    collection: CollectionFolder,
    text: Annotated[
        str,
        typer.Argument(help="A text, a .tex, .md or .txt file, or - for standard input."),
    ] = "-",
    k: Annotated[
        int | None,
        typer.Option(
            "-k",
            min=1,
            help="Documents for each piece of text. By default up to 10, for each of several "
            "passages up to 3, and none that would hardly ever be right.",
        ),
    ] = None,
    each: Annotated[
        str | None,
        typer.Option(
            help="Ask for each 'paragraph' or 'sentence', or with the whole 'text' at once. "
            "By default: paragraphs of a file, otherwise the text."
        ),
    ] = None,
    model: Model = "bm25+learned",
    fields: FieldWeights = DEFAULT_FIELDS,
    before: Annotated[
        str | None, typer.Option(help="Nothing later than this date, e.g. 2019 or 2019-07-31.")
    ] = None,
    min_probability: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Only what is right with this probability; 0 shows the best there is.",
        ),
    ] = None,
    least: Annotated[float | None, typer.Option(min=0.0, max=1.0, hidden=True)] = None,
    keep_cited: Annotated[
        bool, typer.Option("--keep-cited", help="Also show what the text cites already.")
    ] = False,
    bib: Annotated[
        list[Path] | None,
        typer.Option(help="A .bib file of yours: what is in it is marked. May be repeated."),
    ] = None,
    append: Annotated[
        Path | None,
        typer.Option(help="Add what is new to this .bib file, which is made if need be."),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help=f"One of {', '.join(_FORMS)}; lines are 'file:line:column: message', for editors.",
        ),
    ] = None,
    bibtex: Annotated[
        bool, typer.Option("--bibtex", help="Print BibTeX entries, ready to paste.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="BibTeX entries with all their fields, not short ones.")
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option(help="Write the answers to this .html file, with links, and print none."),
    ] = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Recommend papers that a text should cite, and say why.

    What the text cites already, and the paper itself, are left out. What is in a .bib file that
    the draft names is marked.

    Example: citebed recommend acm-cr/ "BM25 is hard to beat." -k 5
    """
    from citebed.retrieval.pipeline import Stage, pipeline_of
    from citebed.retrieval.recommending.recommender import Recommender
    from citebed.retrieval.search.queries import checked_date

    shown = _form(form, {"bibtex": bibtex, "json": as_json, "csv": as_csv})
    if full and not (append or shown == "bibtex"):
        raise typer.BadParameter("--full is for BibTeX: add --bibtex or --append FILE.bib.")
    if html is not None:
        check_page(html, {os.path.realpath(text)})
        if shown != "text":
            raise typer.BadParameter("--html writes a page: leave out the other form.")
    if least is not None:
        _note(["--least is now --min-probability"])
        min_probability = least if min_probability is None else min_probability
    opened, its_index = _open(collection, quiet=False)
    if before is not None:
        checked_date(before)
    draft, unit = _draft_to_ask(text)
    mine = [*(bib or ()), *([append] if append and append.exists() else ())]
    pipeline = pipeline_of(model)
    with progress_bar(quiet=not isinstance(pipeline.stage, Stage), unit="texts") as progress:
        found = Recommender(opened, its_index, pipeline, fields, progress=progress).recommend_for(
            draft, k, each=each or unit, before=before, keep_cited=keep_cited, bib=mine,
            min_probability=min_probability,
        )  # fmt: skip
    added = None if append is None else found.append_to(append, full=full)
    if html is None:
        _print(found, shown, full)
    else:
        _write_page(found, html, text, typed(context))
    if append is not None:
        _tell_added(append, added or ())
    if (append is not None or shown == "bibtex") and (strange := found.strange_commands):
        from citebed.collection.formats.bibtex_entry import note_of_strange

        _note([note_of_strange(strange)])


def _write_page(found: Recommendations, path: Path, text: str, command: str) -> None:
    from citebed.files.writing import write_whole
    from citebed.report.recommendation.page import recommendation_page

    _note(found.notes)
    name = Path(text).name if found.passages and found[0:1] and found[0].file else "the text"
    page = recommendation_page(found, f"What {name} should cite", command)
    write_whole(path, printable(page))
    typer.echo(f"{printable(path)}: {found.summary or count(len(found), 'paper')}")


def _form(named: str | None, flags: dict[str, bool]) -> str:
    """The one form to print in."""
    given = [name for name, is_given in flags.items() if is_given]
    options = [f"--{name}" for name in given] + ([f"--format {named}"] if named else [])
    if len({*given, named} - {None}) > 1:
        raise typer.BadParameter(f"{' and '.join(options)} were given. Choose one.")
    if named is not None and named not in _FORMS:
        raise UnknownName("form of answers", named, _FORMS)
    return named or (given or ["text"])[0]


def _draft_to_ask(text: str) -> tuple[Draft, str]:
    """The text that was given, the file that it names or standard input, and how to ask."""
    from citebed.drafts import draft_of
    from citebed.drafts.reading import draft_in, may_be_path
    from citebed.files.reading import standard_input

    if text == "-":
        tell_of_terminal("the text")
        draft, each = draft_of(standard_input().read(), "standard input"), "text"
    else:
        is_file = may_be_path(text) and Path(text).exists()
        draft, each = draft_in(Path(text) if is_file else text)
    _note(draft.notes)
    return draft, each


def _print(found: Recommendations, form: str, full: bool) -> None:
    """Print recommendations as people, programs, editors or BibTeX files want them."""
    from citebed.report.recommendation.text import editor_lines, passage_lines

    _note(found.notes)
    if form == "json":
        print_json(found.rows)
    elif form == "csv":
        print_csv([_flat(row) for row in found.rows])
    elif form == "bibtex":
        sys.stdout.write(f"{found.bibtex(full=full)}\n" if len(found) else "")
    elif form == "lines":
        sys.stdout.writelines(f"{line}\n" for line in editor_lines(found))
    else:
        if found.summary:
            typer.echo(f"{found.summary}\n")
        for passage in found.passages:
            lines = passage_lines(passage, found.of(passage), alone=len(found.passages) == 1)
            sys.stdout.write("\n".join(lines) + "\n")
        _note(found.untold)
    for note in found.left_out_note:
        typer.echo(note, err=True)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """A row whose lists are texts."""
    return {
        name: "; ".join(value) if isinstance(value, tuple) else value for name, value in row.items()
    }


_MOST_NAMES = 20


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _tell_added(path: Path, keys: Sequence[str]) -> None:
    name = printable(path)
    entries = count(len(keys), "entry")
    told = f"added {entries} to {name}: {_listed(keys)}" if keys else f"nothing new for {name}"
    typer.echo(told, err=True)


def _note(notes: Iterable[str]) -> None:
    for note in notes:
        typer.echo(f"note: {note}", err=True)


def _open(folder: Path, quiet: bool) -> tuple[Collection, Index]:
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
