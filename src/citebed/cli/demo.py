"""``citebed demo``: the whole loop on data of ours, each step shown as the command it is."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import typer

from citebed.cli import collect, evaluating, retrieve
from citebed.cli.importing import print_report
from citebed.report.progress_bar import progress_bar
from citebed.wording import printable

PARAGRAPH = (
    "Probabilistic models rank documents by the odds that they are relevant. The weighting of "
    "terms by inverse document frequency and the normalisation of document length made them "
    "hard to beat, and language models with smoothing are their closest rivals. When a query "
    "is short, pseudo-relevance feedback adds terms from the documents found first."
)
FILTERS = ("names", "relevance_model", "incremental")
SEARCHED, MARKED = "relevance feedback", "rocchio1971relevance"
MODELS = ("bm25", "kl(mu=1000)", "bm25+rocchio(docs=5,terms=20)")


def demo(
    collection: collect.CollectionFolder = Path("demo-collection"),
) -> None:
    """Make the demo collection, recommend from it, compare models, filter a stream, judge.

    Its documents are landmark papers of information retrieval, cited by papers of ours. As a
    stream they come by their dates, and filters pick those that each paper of ours cites.

    Example: citebed demo demo-collection/
    """
    from citebed.collection.demo import import_demo

    _say(f"citebed import {collection} landmarks.bib papers/")
    with progress_bar(quiet=False) as progress:
        report = import_demo(collection, progress)
    print_report(report)
    _say(f"citebed index {collection}")
    retrieve.index(collection)
    _say(f"citebed stats {collection}")
    collect.stats(collection)
    _say(f'citebed recommend {collection} "{PARAGRAPH[:44]}…" -k 5')
    retrieve.recommend(collection, PARAGRAPH, k=5)
    for model in MODELS:
        _say(f"citebed search {collection} --queries paragraphs --model '{model}'")
        retrieve.search(collection, "paragraphs", model=model, overwrite=True)
    qrels = collection / "qrels" / "paragraphs.qrels"
    runs = sorted((collection / "runs").glob("*.paragraphs.run"))
    _say(f"citebed evaluate {qrels} {collection}/runs/*.run")
    evaluating.evaluate(qrels, runs)
    _say(f"citebed compare {qrels} {collection}/runs/*.run -m nDCG@10 --cluster paper")
    evaluating.compare(qrels, runs, measures=["nDCG@10"], cluster="paper")
    page = collection / "reports" / "paragraphs.html"
    page.parent.mkdir(exist_ok=True)
    said = f"citebed report {qrels} {collection}/runs/*.run -o {page}"
    _run("report", str(qrels), *map(str, runs), "-o", str(page), said=said)
    _stream(collection)
    _campaign(collection)


def _campaign(collection: Path) -> None:
    """A campaign with made-up authors: invited, answered, pooled, judged, exported."""
    from citebed.files.writing import write_whole
    from citebed.judging import open_campaign
    from citebed.judging.demo import demo_papers, play_authors

    folder = collection / "campaign"
    shutil.rmtree(folder, ignore_errors=True)
    for path in (collection / "campaigns").glob("campaign.sqlite*"):
        path.unlink()
    place = str(folder)
    papers = folder.with_name("campaign-papers.csv")
    write_whole(papers, demo_papers())
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
    """The documents as a stream by date: filter it for standing topics, and score that by time."""
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


def _run(*words: str, said: str = "") -> None:
    from citebed.cli.app import main

    _say(said or shlex.join(["citebed", *words]))
    if code := main(words):
        raise typer.Exit(code)


def _say(command: str) -> None:
    typer.echo(f"\n$ {printable(command)}")
