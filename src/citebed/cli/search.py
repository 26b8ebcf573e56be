"""The commands ``index``, ``search``, ``find`` and ``tune``."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from citebed.cli.options import CollectionFolder, Quiet, ReportOptions, RowOptions, SparkOptions
from citebed.cli.output import print_notes, print_rows, say
from citebed.errors import CitebedError
from citebed.options import argument, option
from citebed.report.terminal import progress_bar
from citebed.wording import count, for_terminal, printable

if TYPE_CHECKING:
    from citebed.collection import Collection
    from citebed.collection.filters import Filter
    from citebed.retrieval.index.index import Index
    from citebed.retrieval.tuning import Tuned

Model = Annotated[
    str, typer.Option("--model", "-m", help="Retrieval model, e.g. 'bm25(k1=0.9,b=0.4)+rm3'.")
]
FieldWeights = Annotated[
    str,
    typer.Option(
        "--fields",
        help="Fields and weights, e.g. 'title=2,abstract,citing=0.5' (default: title, abstract, "
        "keywords; full text with weight 0.1).",
        show_default=False,
    ),
]
DEFAULT_FIELDS = "default"


@dataclass(frozen=True, kw_only=True)
class IndexCommand(ReportOptions):
    """Options of an index."""

    analyser: str = option(
        "auto",
        "Text analyser: auto (by language), english, snowball(german), mixed(english,chinese), "
        "none …",
    )
    citing: tuple[Path, ...] = option((), "Draft, PDF or contexts (JSON Lines); repeatable.")
    rebuild: bool = option(False, "Rebuild the index from scratch.")
    neural: bool = option(
        False,
        "Also compute document vectors with the downloaded encoder. Slow; resumes after "
        "interruption.",
    )
    encoder: str | None = option(
        None, "Compute document vectors with this encoder: a folder, or a Hugging Face name."
    )
    static: str | None = option(
        None,
        "Word vectors to use: the file that 'citebed train static' wrote, or 'shipped' for those "
        "that come with citebed.",
    )
    fit: bool | None = option(
        None,
        "Estimate from the abstracts how much weight word vectors get in a ranking (default: when "
        "the index is new, and again when 10 % of the documents have changed).",
        "--fit/--no-fit",
    )
    workers: int = option(0, "Number of indexing processes (0: one per core).")


def index(collection: CollectionFolder, options: IndexCommand, spark: SparkOptions) -> None:
    """Index a collection for searching, or update its index.

    citebed reads only new and changed documents. It also indexes the sentences in which other
    papers, your drafts and your PDFs (--citing) cite a document, as the document's field 'citing'.
    With --on, every part (shard) of a collection gets its own index.

    Example: citebed index acm-cr/
    """
    from citebed.collection import open_collection
    from citebed.report.collection import index_lines

    opened = open_collection(collection)  # check it before loading a model
    common = (options.analyser, options.citing, options.workers, options.rebuild)
    if spark.on is not None:
        from citebed.retrieval.sharded.sharded_index import ShardOptions

        local = {"--neural": options.neural, "--encoder": options.encoder, "--fit": options.fit}
        for name in (name for name, value in local.items() if value):
            raise CitebedError(f"{name} cannot be combined with --on. Remove one of them.")
        with spark.engine() as there:
            report = there.index(opened, ShardOptions(*common, options.static))
    else:
        from citebed.retrieval import encoders
        from citebed.retrieval.index.builder import IndexOptions
        from citebed.retrieval.ranking.weight_fit import build_index
        from citebed.retrieval.vectors.static_model import choose_model

        wanted = options.encoder or options.neural
        model = encoders.index_encoder(wanted) if wanted else None
        how = IndexOptions(*common, model, choose_model(options.static))
        with options.progress("documents") as progress:
            report = build_index(opened, how, progress, fit=options.fit)
    options.print([report._asdict()], index_lines(collection, report))


@dataclass(frozen=True, kw_only=True)
class SearchCommand:
    """How to search, and the run to write."""

    depth: int = option(1000, "Documents per query.", min=1)
    output: Path | None = option(
        None, "Output run (.parquet: a table; default: COLLECTION/runs/…).", "--output", "-o"
    )
    as_is: bool = option(False, "Do not clean queries (keep citation markers and single letters).")
    threads: int = option(0, "Number of threads (0: one per core).", min=0)
    overwrite: bool = option(False, "Overwrite an existing run.")
    metadata: str | None = option(
        None,
        "Describe the run as ir_metadata: 'header' (in comments at its top), or a YAML file such "
        "as ir-metadata.yml.",
    )


def search(
    collection: CollectionFolder,
    queries: Annotated[
        str, typer.Option("--queries", help="Query set of the collection, or a file of queries.")
    ],
    options: SearchCommand,
    spark: SparkOptions,
    model: Model = "bm25",
    fields: FieldWeights = DEFAULT_FIELDS,
    quiet: Quiet = False,
) -> None:
    """Search with all queries of a set. Write a TREC run, and its settings as JSON.

    Example: citebed search acm-cr/ --queries paragraphs --model bm25 --depth 1000 -o bm25.run
    """
    from citebed.retrieval.execution.run_files import SearchRequest, search_to_file
    from citebed.retrieval.execution.runner import RunOptions
    from citebed.retrieval.search.fields import fields_of

    how = RunOptions(options.depth, fields_of(fields), options.threads, options.as_is)
    asked = SearchRequest(
        queries=queries, model=model, options=how, output=options.output,
        overwrite=options.overwrite, metadata=options.metadata,
        command=["citebed", *sys.argv[1:]],
    )  # fmt: skip
    with progress_bar(quiet, unit="queries") as progress:
        if spark.on is None:
            found = search_to_file(collection, asked, progress)
        else:
            with spark.engine() as there:
                target = there.shards_of(collection).target()
                found = search_to_file(collection, asked, progress, target)
    if not quiet:
        print_notes(found.notes)
        typer.echo(found.summary)


def open_both(folder: Path, quiet: bool = False) -> tuple[Collection, Index]:
    """Open a collection and its index; print a note if the index is out of date."""
    from citebed.collection import open_collection
    from citebed.retrieval.index.index import open_index

    collection = open_collection(folder)
    index = open_index(folder, verified=True)
    if not quiet and not index.is_current():
        name = printable(folder)
        say(f"note: {name} has changed since it was indexed; run: citebed index {name}")
    return collection, index


@dataclass(frozen=True, kw_only=True)
class FilterOptions:
    """Conditions on documents."""

    years: str = option("", "Only papers from these years: 2015, 2010-2020, 2010- or -1999.")
    venue: tuple[str, ...] = option(
        (), "Only papers from this venue, named as in the collection (repeatable)."
    )
    type: tuple[str, ...] = option((), "Only papers of this type, e.g. article (repeatable).")
    author: tuple[str, ...] = option(
        (), "Only papers by this author, e.g. 'Zhai, Chengxiang' (repeatable)."
    )

    def filter(self) -> Filter:
        """Return the filter; it checks the years."""
        from citebed.collection.filters import Filter

        return Filter(self.years, self.venue, self.type, self.author)


def find(
    collection: CollectionFolder,
    conditions: FilterOptions,
    output: RowOptions,
    words: tuple[str, ...] = argument(
        (),
        "Title or abstract words, author names, years, a DOI or a key. Without words: "
        "all documents.",
        show_default=False,
    ),
    sort: str = option(
        "best",
        "Sort order: best, newest, oldest, title or cited (most cited in this collection first).",
    ),
    start: int = option(0, "Skip this many results.", min=0),
    k: int = option(25, "Number of documents to show.", "-k", min=1),
) -> None:
    """Find documents of a collection by words, names, years or keys.

    A document matches if each word is in its text, authors' names or year; if none has all words,
    citebed shows documents with some of them.

    Example: citebed find acm-cr/ croft 2001 --type inproceedings
    """
    from citebed.retrieval.library.library import Library
    from citebed.retrieval.recommend.display import format_authors
    from citebed.retrieval.recommend.recommender import Recommender

    among = conditions.filter()
    library = Library(Recommender(*open_both(collection)))
    found = library.find(" ".join(words), among=among, sort=sort, start=start, k=k)
    print_notes(found.notes)
    if output.is_rows:
        print_rows(found.rows, output.style)
        return
    for row in found.rows:
        typer.echo(f"{row['rank']:>3}. {for_terminal(row['title'] or row['doc_id'])}")
        by = (format_authors(row["authors"]), str(row["year"] or ""), row["venue"], row["doi"])
        typer.echo(f"     {for_terminal(' · '.join(filter(None, by)))}")
        cited = f"  cited by {row['cited']:,} here" if row["cited"] else ""
        typer.echo(f"     cite as: {for_terminal(row['key'])}{cited}")
    typer.echo(found.summary)
    for facet in ("year", "venue", "author", "type") if found.total > len(found.rows) else ():
        values = [f"{name} ({number:,})" for name, number in found.of_facet(facet).items()][:5]
        if len(values) > 1:
            typer.echo(for_terminal(f"  {facet}: {'; '.join(values)}"))


def tune(
    collection: CollectionFolder,
    output: ReportOptions,
    drafts: tuple[Path, ...] = argument(
        (), "Drafts (.tex, .md) that cite papers of the collection."
    ),
    queries: tuple[str, ...] = option(
        (),
        "Query set of the collection, or a file of queries (repeatable). Default without "
        "drafts: all sets that have judgements.",
    ),
    qrels: tuple[Path, ...] = option(
        (), "Judgements of these queries instead of the set's own (repeatable)."
    ),
) -> None:
    """Tune the weights of word vectors and citation counts on your drafts or judged queries.

    citebed tries several weights on the citing sentences of your drafts and on judged queries, and
    stores better ones in the index. 'citebed index --fit' goes back to the weights estimated from
    the abstracts.

    Example: citebed tune mine/ paper.tex thesis.tex
    """
    from citebed.retrieval.tuning import tune as tune_collection

    with output.progress("questions") as progress:
        tuned = tune_collection(collection, drafts, queries=queries, qrels=qrels, progress=progress)
    row = {**tuned._asdict(), "learned_from": " ".join(tuned.learned_from)}
    output.print([row], tuned_lines(printable(collection), tuned))


def tuned_lines(name: str, tuned: Tuned) -> list[str]:
    """Describe the result of tuning for people."""
    asked = f"{count(tuned.questions, 'question')} of {count(tuned.askers, 'paper')}"
    if tuned.questions < tuned.needed:
        what = f"{asked} with relevant documents in the collection; it needs {tuned.needed}"
        return [f"{name}: nothing was changed: there are only {what}"]
    words = f"words {tuned.words_share:.2f}, vectors {1 - tuned.words_share:.2f}"
    before = f"before {tuned.words_share_before:.2f}, {1 - tuned.words_share_before:.2f}"
    if tuned.fame_before != tuned.fame:
        words += f", being cited {tuned.fame:.2f} of its weight"
        before += f", {tuned.fame_before:.2f}"
    figures = f"nDCG@10 {tuned.after:.3f}, by BM25 {tuned.bm25:.3f}"
    if not tuned.changed:
        return [f"{name}: the weights stay ({words}): no others are better for {asked}; {figures}"]
    lines = [
        f"{name}: tuned on {asked}: {words} ({before}); {figures}, before {tuned.before:.3f}, "
        "by cross-validation over papers"
    ]
    if tuned.learned_from:
        sets = ", ".join(map(printable, tuned.learned_from))
        lines.append(f"note: do not report scores on {sets}, because citebed tuned on it")
    return lines
