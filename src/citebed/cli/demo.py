"""The commands ``demo`` (first steps, each shown as its command) and ``docs``."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

import typer

from citebed.cli.collection import print_report
from citebed.cli.options import CollectionFolder
from citebed.options import option
from citebed.report.terminal import progress_bar
from citebed.wording import count, printable

QUESTION = (
    "When a query is short, pseudo-relevance feedback adds terms from the documents found first."
)
FILTERS = ("names", "relevance_model", "incremental")
TEAMS = {"ours": "names", "theirs": "relevance_model"}
SEARCHED, MARKED = "relevance feedback", "rocchio1971relevance"
MODELS = ("bm25", "kl(mu=1000)", "bm25+rocchio(docs=5,terms=20)")


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """How far the demo goes."""

    full: bool = option(False, "Also compare models, filter a stream, simulate judging, report.")
    serve: bool = option(False, "Open the workbench on the demo collection.")
    browser: bool = option(
        True,
        "With --serve: open the workbench in a browser.",
        "--browser/--no-browser",
        needs="serve",
    )


def demo(options: DemoOptions, collection: CollectionFolder = Path("demo-collection")) -> None:
    """Create the demo collection and recommend citations for a sample sentence.

    The collection holds landmark papers of information retrieval, and invented papers that cite
    them. --full also compares models, filters a stream, simulates judging and writes a report.
    --serve opens the workbench and reuses an existing demo collection.

    Example: citebed demo demo-collection/
    """
    from citebed.collection.demo import import_demo

    folder = str(collection)
    serve = ["serve", folder, *([] if options.browser else ["--no-browser"])]
    if options.serve and (collection / "index" / "index.json").is_file():
        _run(*serve)
        return
    with progress_bar(quiet=False) as progress:
        report = import_demo(collection, progress)
    _print_command(f"citebed import {folder} landmarks.bib papers/", is_first=True)
    print_report(report)
    _run("index", folder)
    if options.serve:
        _run(*serve)
        return
    shown = f'citebed recommend {folder} -k 2 \\\n    "{QUESTION}"'
    _run("recommend", folder, QUESTION, "-k", "2", shown=shown)
    if options.full:
        _compare(collection)
        _stream(collection)
        _campaign(collection)
        return
    verbs = {
        f"serve {folder}": "open the workbench in the browser, with your own drafts",
        "import mine/ library.bib": "create your own collection; then run citebed index mine/",
        f"demo {folder} --full": "compare models, filter a stream, simulate judging, report",
    }
    width = max(map(len, verbs)) + 2
    typer.echo("Next:")
    for words, what in verbs.items():
        typer.echo(f"  citebed {printable(words):<{width}}{what}")


def _compare(collection: Path) -> None:
    """Run several models on the paragraphs of the citing papers; score, test and report."""
    folder = str(collection)
    _run("stats", folder)
    for model in MODELS:
        _run("search", folder, "--queries", "paragraphs", "--model", model, "--overwrite")
    qrels = str(collection / "qrels" / "paragraphs.qrels")
    runs = [*map(str, sorted((collection / "runs").glob("*.paragraphs.run")))]
    every = f"{qrels} {folder}/runs/*.run"
    _run("evaluate", qrels, *runs, shown=f"citebed evaluate {every}")
    words = ["-m", "nDCG@10", "--cluster", "paper"]
    _run("compare", qrels, *runs, *words, shown=f"citebed compare {every} {shlex.join(words)}")
    page = collection / "reports" / "paragraphs.html"
    page.parent.mkdir(exist_ok=True)
    _run("report", qrels, *runs, "-o", str(page), shown=f"citebed report {every} -o {page}")


def _campaign(collection: Path) -> None:
    """Run a campaign with made-up authors: invite, answer, pool, judge, export."""
    from citebed.files.output_files import write_file
    from citebed.judging import open_campaign
    from citebed.judging.demo import demo_papers, play_authors

    folder = collection / "campaign"
    shutil.rmtree(folder, ignore_errors=True)
    for end in ("", "-wal", "-shm"):
        (collection / "campaigns" / f"campaign.sqlite{end}").unlink(missing_ok=True)
    place = str(folder)
    papers = folder.with_name("campaign-papers.csv")
    write_file(papers, demo_papers())
    _run("campaign", "new", place, "--collection", str(collection), "--papers", str(papers),
         "--title", "Demo campaign", "--contact", "organiser@example.org")  # fmt: skip
    inbox = folder / "inbox"
    for phase in (1, 2):
        if phase == 2:
            _run("campaign", "suggest", place, "demo-filters-a1q2")
            wording = "When should a filter of document streams be revised?"
            _run("campaign", "reformulate", place, "demo-filters-a1q2", wording,
                 "--class", "anaphor", "--class", "context")  # fmt: skip
            _run("campaign", "search", place, "demo-filters-a1q2", SEARCHED, "-k", "5",
                 "--mark", MARKED)  # fmt: skip
            _run("campaign", "pool", place)
        _run("campaign", "invite", place, "--forms", "text")
        replies = play_authors(open_campaign(folder), inbox)
        typer.echo(f"({len(replies)} made-up authors answer)")
        _run("campaign", "returns", place, str(inbox))
    _run("campaign", "status", place)
    _run("campaign", "tables", place)
    _run("campaign", "export", place, "-o", str(folder / "qrels"))


def _stream(collection: Path) -> None:
    """Filter the documents as a stream by date for a set of topics, and score the run by time."""
    from citebed.collection import open_collection
    from citebed.collection.demo import write_stream, write_topics

    folder = collection / "stream"
    topics, judged = write_topics(folder)
    for model in FILTERS:
        words = ["--judgements", str(judged)] if model == "incremental" else []
        _run(
            "filter", str(collection), "--topics", str(topics), "--model", model, *words,
            "-o", str(folder / f"{model}.run"), "--overwrite",
        )  # fmt: skip
    runs = [str(folder / f"{model}.run") for model in FILTERS]
    page = collection / "reports" / "stream.html"
    shown = ["-w", "uniform", "-w", "burst", "-m", "AP", "-m", "nDCG@R", "--report", str(page)]
    _run("timeline", str(judged), *runs, "--times", str(collection), "--slice", "equal:15", *shown)
    # The same stream in TREC KBA's format, with one run for each of two teams.
    stream, judged = write_stream(open_collection(collection), folder)
    runs = []
    for team, model in TEAMS.items():
        runs.append(str(folder / "kba" / f"{model}.run"))
        _run("filter", str(stream), "--topics", str(topics), "--model", model, "--team", team,
             "-o", runs[-1], "--overwrite", "--quiet")  # fmt: skip
    every = f"citebed timeline {judged} {folder}/kba/*.run --teams"
    _run("timeline", str(judged), *runs, "--teams", shown=every)


def _run(*words: str, shown: str = "") -> None:
    from citebed.cli.app import main

    _print_command(shown or shlex.join(["citebed", *words]))
    if code := main(words):
        raise typer.Exit(code)


def _print_command(command: str, *, is_first: bool = False) -> None:
    typer.echo(f"{'' if is_first else chr(10)}$ {printable(command)}")


def docs(
    out: Path | None = option(
        None, "Output folder (default: in your cache folder).", "-o", "--out"
    ),
    browser: bool = option(
        True, "Open the handbook in a browser, or only write it.", "--open/--no-open"
    ),
) -> None:
    """Open the handbook in a browser: all pages, with a search, offline.

    citebed builds the handbook from the installed documentation on every call.

    Example: citebed docs
    """
    import webbrowser

    from citebed.files.environment import handbook_folder
    from citebed.report.handbook import build_handbook

    folder = out or handbook_folder()
    pages = build_handbook(folder)
    start = (folder / "index.html").absolute()
    typer.echo(f"{count(pages, 'page')}: {printable(start)}")
    if browser:
        webbrowser.open(start.as_uri())
