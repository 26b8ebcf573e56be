"""Small well-formed files of every kind that citebed reads: what the fuzzer damages.

All of them fit together: the runs, judgements, lists and drafts speak of the documents and
queries of one collection (``collection_sources``), the filter runs of one stream.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import random
import struct
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import polars as pl
from tests.form_answers import random_answers, random_sheet
from tests.messy_text import filled, mess
from tests.office import csl_citation, field, marked, opendocument_file, paragraph, word_file
from tests.samples import SAMPLES
from tests.unit.judging.test_html_form import file_of
from tests.unit.retrieval.vectors.models import write_small

from citebed.judging.forms import text_form

DOCUMENTS, QUERIES, STREAM = 20, 6, 12
_START = 1_323_450_574
_WORDS = (
    *("apples", "pears", "quinces", "sorting", "ranking", "models"),
    *("smoothing", "retrieval", "of", "fruit", "in", "trees"),
)
_ENTITIES = ("Anna_Muster", "Bert_Beispiel_(sorter)")


def _text(number: int, length: int = 9) -> str:
    return " ".join(random.Random(number).choices(_WORDS, k=length)).capitalize() + "."


def _lines(rows: Iterable[str]) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()


def _json_lines(rows: Iterable[dict[str, Any]]) -> bytes:
    return _lines(json.dumps(row, ensure_ascii=False) for row in rows)


# --- the collection -------------------------------------------------------------------------


def _document(number: int) -> dict[str, Any]:
    return {
        "doc_id": f"d{number}",
        "title": _text(number, 4),
        "abstract": _text(number + 100, 20),
        "authors": ["Muster, Anna", f"Beispiel, B{number}"],
        "keywords": ["fruit", _WORDS[number % len(_WORDS)]],
        "date": f"{2000 + number}-0{number % 9 + 1}",
        "doi": f"10.1234/d{number}",
        "venue": "Journal of Fruit" if number % 2 else None,
        "sections": [{"heading": "Introduction", "text": _text(number + 200, 30)}],
        "links": [{"target": f"d{number % DOCUMENTS + 1}", "kind": "cites"}],
    }


def _paper(number: int) -> dict[str, Any]:
    cited = [number, number + 3, number + 7]
    return {
        "paper_id": f"p{number}",
        "title": _text(number + 300, 5),
        "year": 2021,
        "contexts": [
            {"context_id": f"0{at}", "section": "introduction", "sentences": [
                {"text": f"{_text(at + 400)[:-1]} [{at}].", "cites": [str(at)]}]}
            for at in range(1, 4)
        ],
        "references": [
            {"ref_id": str(at), "doi": f"10.1234/d{one}"} for at, one in enumerate(cited, 1)
        ],
    }  # fmt: skip


def collection_sources() -> dict[str, bytes]:
    """The files that the fuzzer's own collection is imported from."""
    queries = ({"query_id": f"q{n}", "text": _text(n + 500, 6)} for n in range(1, QUERIES + 1))
    return {
        "documents.jsonl": _json_lines(map(_document, range(1, DOCUMENTS + 1))),
        "papers.jsonl": _json_lines(map(_paper, range(1, 4))),
        "queries/topics.jsonl": _json_lines(queries),
        "qrels/topics.qrels": MADE["qrels"][1],
    }


# --- runs and judgements --------------------------------------------------------------------


def _run(seed: int) -> bytes:
    rng = random.Random(seed)
    rows = []
    for query in range(1, QUERIES + 1):
        found = rng.sample(range(1, DOCUMENTS + 1), 8)
        rows += [
            f"q{query} Q0 d{doc} {rank} {(9 - rank) * 1.25 + seed} tag{seed}"
            for rank, doc in enumerate(found, 1)
        ]
    return _lines(rows)


def _qrels(seed: int) -> bytes:
    rng = random.Random(seed)
    pairs = [(q, d) for q in range(1, QUERIES + 1) for d in rng.sample(range(1, DOCUMENTS), 6)]
    return _lines(f"q{q} 0 d{d} {rng.choice((0, 1, 1, 2))}" for q, d in pairs)


def _stream_id(number: int) -> str:
    return f"{_START + number * 90_000}-aa{number:02d}"


def _kba_run(seed: int) -> bytes:
    rng = random.Random(seed)
    head = json.dumps({"team_id": "t", "system_id": "s", "run_type": "automatic"})
    pairs = [(entity, n) for n in range(STREAM) for entity in _ENTITIES if rng.random() < 0.8]
    rows = [
        f"t s {_stream_id(n)} {entity} {rng.randint(1, 1000)} {rng.choice((-1, 0, 1, 2))} 1"
        for entity, n in pairs
    ]
    return _lines([f"#{head}", *rows, "# the end"])


def _kba_short() -> bytes:
    pairs = [(entity, n) for n in range(STREAM) for entity in _ENTITIES]
    return _lines(f"{entity} {_stream_id(n)} 1000 {n % 4 - 1} {n % 2}" for entity, n in pairs)


def _stream_qrels() -> bytes:
    pairs = [(entity, n) for n in range(STREAM) for entity in _ENTITIES]
    return _lines(f"{entity} 0 {_stream_id(n)} {n % 3}" for entity, n in pairs)


def _stream_run(seed: int) -> bytes:
    pairs = [(entity, n) for entity in _ENTITIES for n in range(STREAM)]
    return _lines(
        f"{entity} Q0 {_stream_id(n)} {n + 1} {(n * seed) % 13 + 0.5} s{seed}"
        for entity, n in pairs
    )


def _stream() -> bytes:
    names = ("Anna Muster sorts", "They say that Bert Beispiel sorted", "Nobody sorted")
    return _json_lines(
        {"doc_id": _stream_id(n), "title": names[n % 3], "text": f"{names[n % 3]}. {_text(n)}"}
        for n in range(STREAM)
    )


def table_bytes(table: pl.DataFrame) -> bytes:
    """A table as Parquet."""
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()


def _parquet(columns: dict[str, list[Any]]) -> bytes:
    return table_bytes(pl.DataFrame(columns))


def _columns(text: bytes, names: dict[str, int], number: type) -> dict[str, list[Any]]:
    rows = [line.split() for line in text.decode().splitlines()]
    found: dict[str, list[Any]] = {name: [row[at] for row in rows] for name, at in names.items()}
    *_, last = names
    return {**found, last: [number(value) for value in found[last]]}


# --- archives -------------------------------------------------------------------------------

_MEMBERS = {f"in/{name}.x": SAMPLES[name] for name in ("bibtex", "ris", "acl-xml", "jsonl")}


def zipped(members: dict[str, bytes]) -> bytes:
    """A zip archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return buffer.getvalue()


def tarred(members: dict[str, bytes], mode: str = "w") -> bytes:
    """A tar archive, packed or not."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def gzipped(data: bytes) -> bytes:
    """Packed with gzip, the same at any time."""
    return gzip.compress(data, mtime=0)


PACKERS = (gzipped, lzma.compress, bz2.compress)

# --- drafts and lists -----------------------------------------------------------------------

_TEX = rb"""\documentclass{article}
\newcommand{\sys}[1]{Fruit#1}
\title{Sorting \emph{Apples}}\author{Anna Muster \and B. Beispiel}
\begin{document}\maketitle
\section{Introduction}
Smoothing models rank apples well~\cite{d3,d4}. \sys{y} retrieval \citep[p.~5]{d5} of pears,
as in $x^2 + 1$ \footnote{See quinces \citet{d6}.} % a comment
\input{part}

\begin{equation} a = b \end{equation}
Quinces \verb|x| ``sorted'' again \cite{muster2010}.
\bibliography{refs}
\end{document}
"""
_ITEM = {"id": 3, "title": "Smoothing apples", "DOI": "10.1234/d3"}
_CITING = f"ZOTERO_ITEM CSL_CITATION {csl_citation(_ITEM)}"
_WORD = word_file(
    paragraph("Introduction", style="berschrift1"),
    paragraph("Smoothing models rank apples well ", field(f"ADDIN {_CITING}", "[1]"), "."),
)
_OPEN_DOCUMENT = opendocument_file(
    '<text:h text:outline-level="1">Introduction</text:h>',
    f"<text:p>Smoothing models rank apples well {marked(_CITING, '[1]')}.</text:p>",
)
_NOTEBOOK = json.dumps({"cells": [
    {"cell_type": "raw", "source": "---\nbibliography: refs.bib\n---\n"},
    {"cell_type": "markdown", "source": ["# Introduction\n", "Smoothing ranks apples [@d3].\n"]},
    {"cell_type": "code", "source": "1 + 1", "outputs": []},
], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()  # fmt: skip
_TYPST = b"""#show: paper.with(title: [Sorting apples], abstract: [Apples are sorted.])
= Introduction <intro>
Smoothing models rank apples well @d3 #cite(<d4>, form: "prose"). // a comment
#figure(table(columns: 2, [a], [b]), caption: [Apples and pears.]) <fig>
Pears#footnote[A note, @d6.] and `code`, $x^2$, *bold*, as in @fig.
#bibliography("refs.bib")
"""
_RST = b"""Introduction
============

Smoothing models rank apples well :cite:p:`d3,d4`, as [D5]_ says::

   code

.. figure:: a.png

   Apples and pears.

.. [D5] Anna Muster. Pears. 2010.
.. bibliography:: refs.bib
"""
_MARKDOWN = b"""---
title: "Sorting *apples*"
author: [Anna Muster]
bibliography: refs.bib
---
# Introduction
Smoothing models rank apples well [@d3; @d4, p. 5]. See [here](https://doi.org/10.1234/d5).

> Pears^[A note, @d6.] and `code`, $x^2$, <b>bold</b>

| a | b |
|---|---|
| 1 | 2 |

```python
x = 1
```
"""
_PLAIN = b"""Sorting apples

Smoothing models rank apples well [1, 2]. Pears (Muster, 2010) of doi:10.1234/d5 and
arXiv:1810.04805 are sor-
ted too [3-4].

References
[1] A. Muster. Sorting apples. 2010. doi:10.1234/d3
[2] B. Beispiel. Pears. https://example.org/x
"""
_PROFILE = b"""types = ["article", "misc"]
exclude = ["d7"]
front_matter = "drop"
reviews = "keep"
languages = ["en"]
no_future = true

[relevance]
1 = 4
"""


def _topics() -> bytes:
    return _json_lines(
        [
            {"query_id": _ENTITIES[0], "name": "Anna Muster", "aliases": ["Justice Muster"],
             "text": _text(1), "training": [_stream_id(0)]},
            {"query_id": _ENTITIES[1], "names": [{"name": "Bert Beispiel", "weight": 0.5}]},
        ]
    )  # fmt: skip


def _safetensors() -> bytes:
    head = json.dumps({
        "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
        "b": {"dtype": "BF16", "shape": [4], "data_offsets": [24, 32]},
    }).encode()  # fmt: skip
    return struct.pack("<Q", len(head)) + head + bytes(range(32))


def _static_model() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        write_small(path := Path(folder) / "static.npz", words=_WORDS)
        return path.read_bytes()


_QUERY = {"paper_id": "p1", "section": "introduction", "exclude": ["d1"], "before": "2019-05"}
_RUN_COLUMNS = {"query_id": 0, "doc_id": 2, "score": 4}
_QRELS_COLUMNS = {"query_id": 0, "doc_id": 2, "relevance": 3}

_PAPERS = b"""paper_id,title,authors,online,references
p1,"A, B",Ann Oak <ann@example.org>; Bo Elm,2020-01-01,d1; d2; 10.1234/d3
d4,,"Cy ""Ash"" <cy@example.org>",,A Title Elsewhere
"""
_BIB_PAPERS = rb"""@article{d5, author = {Oak, Ann and M{\"u}ller, Bo}, title = {On {P}ears},
  email = {ann@example.org, bo@example.org}, references = {d1; d2}, online = {2021-02-03}}
"""


def _forms() -> dict[str, tuple[str, bytes]]:
    """Filled forms of both phases, and mails that bring them."""
    made = {}
    for phase in (1, 2):
        rng = random.Random(phase)
        sheet = random_sheet(rng, phase)
        answers = random_answers(rng, sheet)
        form = text_form.write(sheet)
        text = mess(rng, filled(rng, form, sheet, answers), form, answers).encode()
        mail = EmailMessage()
        mail["From"], mail["Date"] = "ann@example.org", "Mon, 05 Jan 2026 10:00:00 +0100"
        mail.set_content(text.decode(), cte="base64" if phase == 1 else "quoted-printable")
        mail.add_attachment(text, "text", "plain", filename="form.txt")
        mail.set_boundary("=====")
        made[f"text-form-{phase}"] = ("form.txt", text)
        made[f"form-mail-{phase}"] = ("form.eml", mail.as_bytes())
        made[f"answers-{phase}"] = (
            "form.answers.json",
            json.dumps(file_of(sheet, answers)).encode(),
        )
    return made


MADE: dict[str, tuple[str, bytes]] = {
    **{name: (f"{name}.x", data) for name, data in SAMPLES.items()},
    "qrels": ("topics.qrels", _qrels(1)),
    "qrels-more": ("more.qrels", _qrels(2)),
    "run": ("one.run", _run(1)),
    "run-more": ("two.run", _run(2)),
    "run-gzip": ("three.run.gz", gzipped(_run(3))),
    "run-parquet": ("four.parquet", _parquet(_columns(_run(4), _RUN_COLUMNS, float))),
    "qrels-parquet": ("five.parquet", _parquet(_columns(_qrels(3), _QRELS_COLUMNS, int))),
    "stream-parquet": ("six.parquet", _parquet(_columns(_stream_qrels(), _QRELS_COLUMNS, int))),
    "kba-run": ("kba.run", _kba_run(1)),
    "kba-run-gzip": ("kba2.run.gz", gzipped(_kba_run(2))),
    "kba-judgements": ("kba.qrels", _kba_run(3)),
    "kba-short": ("short.qrels", _kba_short()),
    "stream-qrels": ("stream.qrels", _stream_qrels()),
    "stream-run": ("stream.run", _stream_run(5)),
    "stream": ("stream.jsonl", _stream()),
    "filter-topics": ("entities.jsonl", _topics()),
    "queries-jsonl": ("queries.jsonl", _json_lines(
        {"query_id": f"q{n}", "text": _text(n), **(_QUERY if n % 2 else {"paper_id": "p2"})}
        for n in range(1, QUERIES + 1))),
    "queries-tsv": ("queries.tsv", _lines(f"q{n}\t{_text(n)}" for n in range(1, QUERIES + 1))),
    "clusters": ("clusters.txt", _lines(f"q{n} k{n % 3}" for n in range(1, QUERIES + 1))),
    "teams": ("teams.txt", b"# teams\none t1\ntwo t1\nthree t2\nfour t2\n"),
    "times": ("times.txt", _lines(
        f"d{n} 20{n:02d}-05-0{n % 9 + 1}T12:00:00+02:00" for n in range(1, DOCUMENTS + 1))),
    "boundaries": ("cuts.txt", b"2011-12-01T00:00:00Z\n2011-12-12T00:00:00Z\n1324000000\n"),
    "exclude": ("exclude.txt", b"d3\n10.1234/d4  # not this one\nhttps://doi.org/10.1234/d5\n"),
    "profile": ("mine.toml", _PROFILE),
    "ids": ("ids.txt", b"q1\nq2 and more\nd3\n"),
    "cocited": ("cocited.txt", _lines(
        f"d{n} d{n % DOCUMENTS + 1} {n / 2}" for n in range(1, DOCUMENTS + 1))),
    "contexts": ("contexts.jsonl", _json_lines(
        {"citing": f"c{n}", "context": f"{_text(n)} [CIT]", "cited": f"d{n}"}
        for n in range(1, 5))),
    "draft-tex": ("draft.tex", _TEX),
    "draft-part": ("part.tex", b"More on pears \\cite{d8}.\n"),
    "draft-bib": ("refs.bib", SAMPLES["bibtex"]),
    "draft-md": ("draft.md", _MARKDOWN),
    "draft-txt": ("draft.txt", _PLAIN),
    "draft-docx": ("draft.docx", _WORD),
    "draft-odt": ("draft.odt", _OPEN_DOCUMENT),
    "draft-ipynb": ("draft.ipynb", _NOTEBOOK),
    "draft-typ": ("draft.typ", _TYPST),
    "draft-rst": ("draft.rst", _RST),
    "safetensors": ("model.safetensors", _safetensors()),
    "static-model": ("static.npz", _static_model()),
    "zip": ("a.zip", zipped(_MEMBERS)),
    "tar": ("a.tar", tarred(_MEMBERS)),
    "tar-gz": ("a.tar.gz", gzipped(tarred(_MEMBERS))),
    "tar-xz": ("a.tar.xz", lzma.compress(tarred(_MEMBERS))),
    "gz": ("a.bib.gz", gzipped(SAMPLES["bibtex"])),
    **_forms(),
    "papers-csv": ("papers.csv", _PAPERS),
    "papers-bib": ("papers.bib", _BIB_PAPERS),
    "xz": ("a.ris.xz", lzma.compress(SAMPLES["ris"])),
    "bz2": ("a.jsonl.bz2", bz2.compress(SAMPLES["jsonl"])),
    "nested": ("a.zip", zipped({"b.tar.gz": gzipped(tarred(_MEMBERS)), "c.zip": zipped(_MEMBERS)})),
}  # fmt: skip
"""By kind: the usual name of such a file, and its content."""

NEIGHBOURS = {
    "draft-tex": ("draft-part", "draft-bib"),
    **dict.fromkeys(("draft-md", "draft-ipynb", "draft-typ", "draft-rst"), ("draft-bib",)),
}
"""The companions of a file of some kind, which it names."""
