"""``citebed demo``: first steps on the demo collection, each shown as its command."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Annotated

import typer

from citebed.cli.importing import print_report
from citebed.cli.output import CollectionFolder, needs
from citebed.report.terminal import progress_bar
from citebed.wording import printable

QUESTION = (
    "When a query is short, pseudo-relevance feedback adds terms from the documents found first."
)
FILTERS = ("names", "relevance_model", "incremental")
TEAMS = {"ours": "names", "theirs": "relevance_model"}
SEARCHED, MARKED = "relevance feedback", "rocchio1971relevance"
MODELS = ("bm25", "kl(mu=1000)", "bm25+rocchio(docs=5,terms=20)")


def demo(
    collection: CollectionFolder = Path("demo-collection"),
    full: Annotated[
        bool,
        typer.Option(
            "--full", help="Run the full tour: compare models, filter a stream, judge, report."
        ),
    ] = False,
    serve: Annotated[
        bool,
        typer.Option("--serve", is_eager=True, help="Open the workbench on the demo collection."),
    ] = False,
    browser: Annotated[
        bool,
        typer.Option(
            "--browser/--no-browser",
            help="With --serve: open the workbench in a browser.",
            callback=needs("serve"),
        ),
    ] = True,
) -> None:
    """Create the demo collection and recommend citations for a sample sentence.

    The collection holds landmark papers of information retrieval, and papers written for this demo
    that cite them. --full also compares models, filters a stream, judges and writes a report.
    --serve opens the workbench and reuses an existing demo collection.

    Example: citebed demo demo-collection/
    """
    from citebed.collection.demo import import_demo

    folder = str(collection)
    if serve and (collection / "index" / "index.json").is_file():
        _serve(collection, browser)
        return
    with progress_bar(quiet=False) as progress:
        report = import_demo(collection, progress)
    _say(f"citebed import {folder} landmarks.bib papers/", is_first=True)
    print_report(report)
    _run("index", folder)
    if serve:
        _serve(collection, browser)
        return
    said = f'citebed recommend {folder} -k 2 \\\n    "{QUESTION}"'
    _run("recommend", folder, QUESTION, "-k", "2", said=said)
    if full:
        _compare(collection)
        _stream(collection)
        _campaign(collection)
    else:
        _next(folder)


def _serve(collection: Path, browser: bool) -> None:
    """Serve the workbench on the demo collection until it is stopped."""
    words = ["serve", str(collection), *([] if browser else ["--no-browser"])]
    _run(*words)


def _next(folder: str) -> None:
    """Print what to try after the first recommendation."""
    verbs = {
        f"serve {folder}": "open the workbench in the browser, with your own drafts",
        "import mine/ library.bib": "create your own collection; then run citebed index mine/",
        f"demo {folder} --full": "compare models, filter a stream, judge, report",
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
    _run("evaluate", qrels, *runs, said=f"citebed evaluate {every}")
    shown = ["-m", "nDCG@10", "--cluster", "paper"]
    _run("compare", qrels, *runs, *shown, said=f"citebed compare {every} {shlex.join(shown)}")
    page = collection / "reports" / "paragraphs.html"
    page.parent.mkdir(exist_ok=True)
    _run("report", qrels, *runs, "-o", str(page), said=f"citebed report {every} -o {page}")


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
    from citebed.collection.demo import write_topics

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
    _teams(collection, folder, topics)


def _teams(collection: Path, folder: Path, topics: Path) -> None:
    """Write the same stream in TREC KBA's format, with one run for each of two teams."""
    from citebed.collection import open_collection
    from citebed.collection.demo import write_stream

    stream, judged = write_stream(open_collection(collection), folder)
    runs = []
    for team, model in TEAMS.items():
        runs.append(str(folder / "kba" / f"{model}.run"))
        _run("filter", str(stream), "--topics", str(topics), "--model", model, "--team", team,
             "-o", runs[-1], "--overwrite", "--quiet")  # fmt: skip
    every = f"citebed timeline {judged} {folder}/kba/*.run --teams"
    _run("timeline", str(judged), *runs, "--teams", said=every)


def _run(*words: str, said: str = "") -> None:
    from citebed.cli.app import main

    _say(said or shlex.join(["citebed", *words]))
    if code := main(words):
        raise typer.Exit(code)


def _say(command: str, *, is_first: bool = False) -> None:
    typer.echo(f"{'' if is_first else chr(10)}$ {printable(command)}")
