"""A folder with everything that the pages of the documentation name, made from the demo."""

from __future__ import annotations

import gzip
import json
import lzma
import shutil
import tarfile
import zipfile
from importlib import resources
from itertools import pairwise
from pathlib import Path

import polars as pl
from tests.office import paragraph, word_file
from tests.pdfs import SMALL_PAPER
from tests.unit.timeline.made_snapshots import CASE, write

import citebed
from citebed.cli.app import main
from citebed.cli.demo import TEAMS
from citebed.collection.demo import import_demo, write_stream, write_topics
from citebed.judging.demo import demo_papers

MODELS = {"bm25": "bm25", "ql": "ql", "rm3": "bm25+rm3", "rocchio": "bm25+rocchio", "dense": "kl"}

TEX = r"""\documentclass{article}
\begin{document}
\section{Introduction}
Language models with smoothing rank documents well \cite{ponte1998language}.

Pseudo-relevance feedback adds terms from the documents that were found first.
\bibliography{library}
\end{document}
"""
MARKDOWN = """# Ours

Relevance feedback expands queries [@rocchio1971relevance].

Test collections need judgements, and pooling says whose.
"""
RIS = """TY  - JOUR
TI  - A Paper that Stands in No Other File
AU  - Oak, Ann
PY  - 2001
ER  -
"""
TOPICS = """<top><num> Number: 1 <title> vector space model <desc> Description: vectors </top>
<top><num> Number: 2 <title> relevance feedback <desc> Description: feedback </top>
"""


CONTEXT = {
    "citing": "other",
    "context": "As in the vector space model [CIT].",
    "cited": ["10.1145/361219.361220"],
}


def make_place(folder: Path) -> None:
    """Fill ``folder``: collections, runs, judgements, drafts, a stream and its topics."""
    import_demo(folder / "mine")
    run("index", folder / "mine")
    for name in ("acm-cr", "acm-cr-collection", "demo-collection"):
        shutil.copytree(folder / "mine", folder / name)
    (folder / "other.jsonl").write_text(f"{json.dumps(_paper(folder))}\n")
    run("import", folder / "acm-cr", folder / "other.jsonl")
    _sources(folder)
    _runs(folder)
    _judgements(folder)
    _snapshots(folder)
    _stream(folder)
    _campaign(folder)


def _campaign(folder: Path) -> None:
    """Source papers; the answers of their authors are made as the page comes to them."""
    (folder / "papers.csv").write_bytes(demo_papers())
    (folder / "inbox").mkdir()


def _paper(folder: Path) -> dict[str, object]:
    """Another paper that cites, so that papers are cited together by more than one."""
    documents = citebed.open(folder / "mine").documents.filter(pl.col("doi").is_not_null())
    cited = [{"ref_id": str(at), "doi": doi} for at, doi in enumerate(documents["doi"].head(40))]
    sentence = {"text": "Much was done before [0].", "cites": ["0"]}
    context = {"context_id": "01", "section": "introduction", "sentences": [sentence]}
    return {"paper_id": "other", "title": "Another Paper", "year": 2023, "references": cited,
            "contexts": [context]}  # fmt: skip


def run(*words: object) -> None:
    """A command that must do its work."""
    assert main([str(word) for word in words]) == 0, words


def _sources(folder: Path) -> None:
    with resources.as_file(resources.files("citebed") / "demo") as demo:
        shutil.copy(demo / "landmarks.bib", folder / "library.bib")
        shutil.copytree(demo / "papers", folder / "papers")
    for name in ("export.ris", "export.txt", "references.ris"):
        (folder / name).write_text(RIS)
    with zipfile.ZipFile(folder / "downloads.zip", "w") as archive:
        archive.write(folder / "library.bib", "library.bib")
    for name in ("dump.tar.xz", "acm-dl.tar.xz"):
        with tarfile.open(folder / name, "w:xz") as packed:
            packed.add(folder / "library.bib", "library.bib")
    (folder / "paper.tex").write_text(TEX)
    (folder / "thesis.tex").write_text(TEX)
    (folder / "draft.tex").write_text("Relevance feedback adds terms to the query \\cite{}.\n")
    for name in ("paper.pdf", "papers/small.pdf"):
        (folder / name).write_bytes(SMALL_PAPER)
    (folder / "paper.docx").write_bytes(word_file(paragraph("Smoothing helps language models.")))
    (folder / "paper.md").write_text(MARKDOWN)
    (folder / "notes.txt").write_text("Smoothing matters for language models.\n")
    (folder / "topics.xml").write_text(TOPICS)
    for name in ("not-these.txt", "blacklist.txt"):
        (folder / name).write_text("10.1145/361219.361220\n")
    with lzma.open(folder / "contexts.jsonl.xz", "wt") as contexts:
        contexts.write(f"{json.dumps(CONTEXT)}\n")
    (folder / "my-queries.tsv").write_text("q1\tvector space model\n")


def _runs(folder: Path) -> None:
    """Runs over all queries of both sets, so that they serve for either."""
    (folder / "runs").mkdir()
    for name, model in MODELS.items():
        parts = []
        for queries in ("paragraphs", "sentences"):
            path = folder / f"{queries}.part"
            run("search", folder / "mine", "--queries", queries, "--model", model, "-o", path)
            parts.append(path.read_text())
            path.unlink()
            path.with_name(f"{path.name}.json").unlink(missing_ok=True)
        (folder / f"{name}.run").write_text("".join(parts))
    for name in ("bm25", "ql", "rocchio"):
        shutil.copy(folder / f"{name}.run", folder / "runs")


def _snapshots(folder: Path) -> None:
    """Snapshots: the example by hand, and some with the same judgements and runs."""
    for name, runs in CASE.items():
        write(folder / name, runs)
    for name in ("2023-03", "2023-04", "2023-08"):
        (folder / name).mkdir()
        shutil.copy(folder / "paragraphs.qrels", folder / name / "qrels.txt")
        for system in ("bm25", "ql"):
            shutil.copy(folder / f"{system}.run", folder / name)
        (folder / "systems" / "new" / name).mkdir(parents=True)
        shutil.copy(folder / "rm3.run", folder / "systems" / "new" / name)


def _judgements(folder: Path) -> None:
    judged = folder / "mine" / "qrels"
    for name in ("paragraphs", "sentences"):
        shutil.copy(judged / f"{name}.qrels", folder)
    for name in ("all", "j", "j12", "s", "authors", "cranfield"):
        shutil.copy(judged / "paragraphs.qrels", folder / f"{name}.qrels")
    run("qrels", "sample", folder / "all.qrels", "--share", "0.5", "-o", folder / "j1.qrels")
    mine = citebed.open(folder / "mine")
    queries = mine.queries("paragraphs")["query_id"].to_list()
    (folder / "wanted.txt").write_text("".join(f"{name}\n" for name in queries[:5]))
    (folder / "judged.qrels").write_text("1 0 10.1145/361219.361220 1\n")
    pairs = pairwise(mine.documents["doc_id"])
    (folder / "pairs.txt").write_text("".join(f"{one} {two} 3\n" for one, two in pairs))
    (folder / "experts.qrels").write_text(f"{queries[0]} 0 one 1\n{queries[0]} 0 two 2\n")
    (folder / "teams.txt").write_text("bm25 ours\nql ours\nrocchio theirs\n")


def _stream(folder: Path) -> None:
    place = folder / "mine" / "stream"
    topics, _ = write_topics(place)
    stream, judged = write_stream(citebed.open(folder / "mine"), place)
    for path in (topics, stream, judged):
        shutil.copy(path, folder)
    (place / "kba").mkdir()
    for team, model in TEAMS.items():
        words = ("--topics", topics, "--model", model, "--team", team, "--quiet")
        run("filter", stream, *words, "-o", place / "kba" / f"{model}.run")
    known = [line.split() for line in judged.read_text().splitlines()]
    (folder / "judged.txt").write_text("".join(f"{q} {doc} 1000 2 1\n" for q, _, doc, _ in known))
    shutil.copy(folder / "paragraphs.qrels", folder / "big.qrels")
    (folder / "big.run.gz").write_bytes(gzip.compress((folder / "bm25.run").read_bytes()))
