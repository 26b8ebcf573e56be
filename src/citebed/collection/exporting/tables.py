"""Export the tables of a collection as Parquet, CSV or citebed's JSON Lines.

JSON Lines can be imported again as the same collection. An import derives the query sets
``paragraphs`` and ``sentences`` from ``papers.jsonl``, so they are written only on request.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from citebed.collection.collection import Collection
from citebed.collection.exporting.base import (
    BIBLIOGRAPHIC,
    DERIVED_SETS,
    Exporter,
    Output,
    write_lines,
)
from citebed.collection.exporting.ir_datasets_plugin import DOCS, METADATA, QRELS, QUERIES
from citebed.collection.formats.trec import write_documents, write_topics
from citebed.collection.names import export_keys
from citebed.frames import escape_formula_cells
from citebed.records import Document
from citebed.runs.tables import Qrels
from citebed.runs.writer import write_qrels
from citebed.wording import count

_TABLES = ("documents", "papers", "references", "contexts", "links", "sections")
_ALWAYS = frozenset(("documents", "papers", "contexts"))
_JOINT = "; "


def _query_tables(collection: Collection, output: Output) -> Iterator[tuple[str, pl.DataFrame]]:
    for name in output.query_sets:
        yield f"queries/{name}", collection.queries(name)
        yield f"qrels/{name}", collection.qrels(name).table


def write_parquet(collection: Collection, output: Output) -> None:
    for name in _TABLES:
        source = collection.folder / f"{name}.parquet"
        if source.exists():
            height = collection.table(name, {"source": pl.String()}).height
            shutil.copyfile(source, output.file(f"{name}.parquet", height))
    for name, table in _query_tables(collection, output):
        with output.open(f"{name}.parquet", table.height) as file:
            table.write_parquet(file)


def write_csv(collection: Collection, output: Output) -> None:
    """Write all tables as CSV in UTF-8, with headers.

    Lists (authors, keywords …) are joined by ``; ``. An unknown value is an empty cell, an empty
    text is ``""``. A text that a spreadsheet would run as a formula gets an apostrophe before it.
    """
    for name in _TABLES:
        table = getattr(collection, name)
        if table.height or name in _ALWAYS:
            _write_csv(name, table, output)
    for name, table in _query_tables(collection, output):
        _write_csv(name, table, output)


def _write_csv(name: str, table: pl.DataFrame, output: Output) -> None:
    lists = [column for column, kind in table.schema.items() if kind == pl.List(pl.String)]
    for column in lists:
        joint = pl.col(column).list.join("\n").str.contains(_JOINT, literal=True)
        if number := int(table.select(joint.sum()).item()):
            rows = count(number, "row")
            output.notes.append(
                f"{name}.csv: in {rows} an item of {column} contains the separator '{_JOINT}'"
            )
    flat = table.with_columns(pl.col(column).list.join(_JOINT) for column in lists)
    safe, changed = escape_formula_cells(flat)
    if changed:
        cells = f"{count(changed, 'cell')} that a spreadsheet would run"
        output.notes.append(f"{name}.csv: {cells} got an apostrophe in front")
    with output.open(f"{name}.csv", table.height) as file:
        safe.write_csv(file)


PARQUET = Exporter("parquet", "Parquet tables", write_parquet)
CSV = Exporter("csv", "CSV tables", write_csv)


# --- JSON Lines -------------------------------------------------------------------------------


# The reader derives missing ones from other fields, so null is written, too.
_DERIVED = frozenset(("year", "date", "doi"))
_LITERAL = '{"literal":'


def write_jsonl(collection: Collection, output: Output) -> None:
    """Write ``documents.jsonl``, ``papers.jsonl``, ``queries/`` and ``qrels/``."""
    lines = document_lines(collection)
    with output.open("documents.jsonl", lines.height) as file:
        write_lines(file, lines)
    contexts = (
        collection.contexts.group_by("paper_id", "source", "context_id", maintain_order=True)
        .agg(pl.col("section").first(), sentences=pl.struct("text", "cites", "anonymised"))
        .group_by("paper_id", "source", maintain_order=True)
        .agg(contexts=pl.struct("context_id", "section", "sentences"))
    )
    # Prefer the id of the found document, because its other names may not be exported.
    document = pl.coalesce("doc_id", "target")
    reference = pl.struct("ref_id", "doi", "arxiv", "url", document, "title", "author", "raw")
    references = collection.references.group_by("paper_id", maintain_order=True).agg(
        references=reference
    )
    papers = collection.papers.drop("references", "found", "doc_id", "line")
    papers = (
        papers.join(contexts, on=["paper_id", "source"], how="left", maintain_order="left")
        .join(references, on="paper_id", how="left", maintain_order="left")
        .drop("source")
    )
    if papers.height:
        output.write_jsonl("papers.jsonl", papers)
    for name in output.query_sets:
        if output.chosen or name not in DERIVED_SETS:
            own = pl.lit(name).alias("query_set")
            judged = collection.qrels(name).table
            for kind, table in (("queries", collection.queries(name)), ("qrels", judged)):
                if table.height:
                    output.write_jsonl(f"{kind}/{name}.jsonl", table.with_columns(own))
            if name in DERIVED_SETS:
                output.notes.append(
                    f"query set {name}: an import of these files names it '{name}-given'"
                )
    rules = collection.rules.as_dict()
    wanted = [
        name
        for name in ("references", "no_future", "sections", "anonymise", "clean_annotations")
        if name in rules
    ]
    if wanted and collection.papers.height:
        same = " and ".join(f"{name} = {rules[name]}" for name in wanted)
        output.notes.append(f"to get the same queries, import this with the rule {same}")


def document_lines(collection: Collection) -> pl.DataFrame:
    """Return the documents as texts of JSON objects without empty members."""
    members = [_member(name) for name in (*BIBLIOGRAPHIC, "bibtex", "keys", "cite_key")]
    documents = collection.documents
    table = documents.lazy().with_columns(export_keys(documents["cite_key"]))
    target = pl.coalesce("target_id", "target").alias("target")
    lists = {}
    for part, rows, fields in (
        ("sections", collection.sections, pl.struct("heading", "text")),
        ("links", collection.links, pl.struct(target, "kind", "weight")),
    ):
        if rows.height:
            owned = rows.lazy().drop_nulls("doc_id")
            lists[part] = owned.group_by("doc_id", maintain_order=True).agg(fields.alias(part))
    for name, nested in lists.items():
        table = table.join(nested, on="doc_id", how="left", maintain_order="left")
        members.append(_member(name))
    start = pl.struct("doc_id").struct.json_encode().str.head(-1)
    return table.select(pl.concat_str([start, *members, pl.lit("}")]).alias("json")).collect()


def _member(name: str) -> pl.Expr:
    if name in _DERIVED:
        return _encoded(name)
    written = _names(name) if name in ("authors", "editors") else _encoded(name)
    is_list = name in ("authors", "editors", "keywords", "keys", "sections", "links")
    known = pl.col(name).list.len() > 0 if is_list else pl.col(name).is_not_null()
    return pl.when(known).then(written).otherwise(pl.lit(""))


def _encoded(name: str) -> pl.Expr:
    """Return ``,"name":value``."""
    whole = pl.struct(name).struct.json_encode()
    return pl.concat_str([pl.lit(","), whole.str.slice(1).str.head(-1)])


def _names(name: str) -> pl.Expr:
    """Return a list of names; a name that looks like ``Given Family`` (``IBM Research``) becomes a
    literal."""
    element = pl.element()
    literal = pl.struct(element.alias("literal")).struct.json_encode()
    plain = element.str.contains(",", literal=True) | ~element.str.contains(" ", literal=True)
    text = literal.str.slice(len(_LITERAL)).str.head(-1)
    items = pl.col(name).list.eval(pl.when(plain).then(text).otherwise(literal))
    return pl.concat_str([pl.lit(f',"{name}":['), items.list.join(","), pl.lit("]")])


JSONL = Exporter(
    "jsonl",
    "citebed JSON Lines",
    write_jsonl,
    lacks=("aliases", "provenance"),
    called="citebed's JSON Lines",
)


# --- Test collections -----------------------------------------------------------------------------

_DETAILS = [name for name in BIBLIOGRAPHIC if name not in ("title", "abstract")]
_QUERY_DETAILS = ("title", "paper_id", "section", "exclude", "before")


def write_beir(collection: Collection, output: Output) -> None:
    """Write a BEIR dataset for each query set, in a folder of its name unless one was chosen."""
    several = not (output.chosen and len(output.query_sets) == 1)
    text = pl.col("abstract").fill_null("")
    corpus = collection.scan_documents().select(
        "title", _id="doc_id", text=text, metadata=pl.struct(_DETAILS)
    )
    documents = corpus.select("_id", "title", "text", "metadata").collect()
    first: Path | None = None
    for name in output.query_sets:
        prefix = f"{name}/" if several else ""
        if first is None:
            first = output.write_jsonl(f"{prefix}corpus.jsonl", documents)
        else:
            path = output.file(f"{prefix}corpus.jsonl", documents.height)
            try:
                os.link(first, path)
            except OSError:
                shutil.copyfile(first, path)
        metadata = pl.struct(_QUERY_DETAILS).alias("metadata")
        queries = collection.queries(name).select(pl.col("query_id").alias("_id"), "text", metadata)
        output.write_jsonl(f"{prefix}queries.jsonl", queries)
        qrels = collection.qrels(name).table
        names = {"query_id": "query-id", "doc_id": "corpus-id", "relevance": "score"}
        with output.open(f"{prefix}qrels/test.tsv", qrels.height) as file:
            qrels.rename(names).write_csv(file, separator="\t")
    if first is None:
        output.write_jsonl("corpus.jsonl", documents)


BEIR = Exporter(
    "beir",
    "BEIR datasets",
    write_beir,
    lacks=("full text", "links", "aliases", "bibtex", "papers", "provenance"),
    called="BEIR",
)


# --- TREC -------------------------------------------------------------------------------------


def write_trec(collection: Collection, output: Output) -> None:
    """Write ``documents.trec``, and ``topics`` and ``qrels`` with a file for each query set."""
    documents = collection.scan_documents().select("doc_id", "title", "abstract").collect()
    with output.file("documents.trec", documents.height).open("w", encoding="utf-8") as handle:
        rows = documents.iter_rows()
        records = (Document(name, title=title, abstract=text) for name, title, text in rows)
        handle.writelines(write_documents(records))
    for name in output.query_sets:
        queries, qrels = collection.queries(name), collection.qrels(name).table
        if queries.height:
            path = output.file(f"topics/{name}.topics", queries.height)
            path.write_text("".join(write_topics(collection.iter_queries(name))), "utf-8")
        if qrels.height:
            write_qrels(output.file(f"qrels/{name}.qrels", qrels.height), Qrels(qrels))


TREC = Exporter(
    "trec",
    "TREC documents, topics and qrels",
    write_trec,
    lacks=("fields", "full text", "links", "papers", "query details"),
    called="TREC's files",
)


# --- ir_datasets ------------------------------------------------------------------------------


_MODULE = '''"""Tells ir_datasets of the collection {name}: ir_datasets.load("{example}")."""

from pathlib import Path

from citebed.collection.exporting.ir_datasets_plugin import register

DATASETS = register(Path(__file__).parent)
'''


def write_ir_datasets(collection: Collection, output: Output) -> None:
    """Write ``docs.jsonl``, a folder for each query set, and the file that registers them."""
    documents = collection.scan_documents().select("doc_id", *BIBLIOGRAPHIC).collect()
    output.write_jsonl(DOCS, documents)
    sets = {}
    for name in output.query_sets:
        queries, qrels = collection.queries(name), collection.qrels(name).table
        output.write_jsonl(f"{name}/{QUERIES}", queries)
        write_qrels(output.file(f"{name}/{QRELS}", qrels.height), Qrels(qrels))
        counts = sorted(qrels["relevance"].value_counts().iter_rows())
        grades = {str(grade): number for grade, number in counts}
        cited = name in DERIVED_SETS
        sets[name] = {
            "queries": {"count": queries.height},
            "qrels": {"count": qrels.height, "fields": {"relevance": {"counts_by_value": grades}}},
            "definitions": {grade: "cited" if cited else f"relevance {grade}" for grade in grades},
        }
    short = re.sub(r"[^A-Za-z0-9_.-]+", "-", collection.name).strip("-.") or "collection"
    about = {"name": short, "docs": {"count": documents.height}, "query_sets": sets}
    text = json.dumps(about, ensure_ascii=False, indent=1)
    output.file(METADATA, 1 + len(sets)).write_text(f"{text}\n", "utf-8")
    # This becomes a program, and the name of a set may contain anything.
    plain = [name for name in output.query_sets if re.fullmatch(r"[\w.-]+", name)]
    example = "/".join(["citebed", short, *plain[:1]])
    module = f"citebed_{re.sub(r'[^A-Za-z0-9_]', '_', short)}.py"
    output.file(module, 1).write_text(_MODULE.format(name=short, example=example), "utf-8")


IR_DATASETS = Exporter(
    "ir_datasets",
    "a folder for ir_datasets",
    write_ir_datasets,
    lacks=("full text", "links", "aliases", "bibtex", "papers", "provenance"),
    called="an ir_datasets folder",
)
