"""Export the tables of a collection as Parquet, CSV or citebed's JSON Lines.

JSON Lines can be imported again as the same collection. An import derives the query sets
``paragraphs`` and ``sentences`` from ``papers.jsonl``, so they are written only on request.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import polars as pl

from citebed.collection.collection import Collection
from citebed.collection.exporting.base import (
    BIBLIOGRAPHIC,
    DERIVED_SETS,
    Exporter,
    Output,
    write_lines,
)
from citebed.collection.names import export_keys
from citebed.frames import escape_formula_cells
from citebed.wording import count

_TABLES = ("documents", "papers", "references", "contexts", "links", "sections")
_ALWAYS = frozenset(("documents", "papers", "contexts"))
_JOINT = "; "


def _query_tables(collection: Collection, output: Output) -> Iterator[tuple[str, pl.DataFrame]]:
    for name in output.query_sets:
        yield f"queries/{name}", collection.queries(name)
        yield f"qrels/{name}", collection.qrels(name).table


def write_parquet(collection: Collection, output: Output) -> None:
    """Write all tables, queries and judgements as Parquet."""
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
    papers = _papers(collection)
    if papers.height:
        output.write_jsonl("papers.jsonl", papers)
    for name in output.query_sets:
        if output.chosen or name not in DERIVED_SETS:
            _write_set(collection, name, output)
    _note_rules(collection, output)


def document_lines(collection: Collection) -> pl.DataFrame:
    """Return the documents as texts of JSON objects without empty members."""
    members = [_member(name) for name in (*BIBLIOGRAPHIC, "bibtex", "keys", "cite_key")]
    documents = collection.documents
    table = documents.lazy().with_columns(export_keys(documents["cite_key"]))
    for name, nested in _nested(collection).items():
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


def _nested(collection: Collection) -> dict[str, pl.LazyFrame]:
    """Return full texts and links by document; links have the ids of found documents."""
    target = pl.coalesce("target_id", "target").alias("target")
    nested = {}
    for name, table, fields in (
        ("sections", collection.sections, pl.struct("heading", "text")),
        ("links", collection.links, pl.struct(target, "kind", "weight")),
    ):
        if table.height:
            owned = table.lazy().drop_nulls("doc_id")
            nested[name] = owned.group_by("doc_id", maintain_order=True).agg(fields.alias(name))
    return nested


# --- citing papers --------------------------------------------------------------------------


def _papers(collection: Collection) -> pl.DataFrame:
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
    return (
        papers.join(contexts, on=["paper_id", "source"], how="left", maintain_order="left")
        .join(references, on="paper_id", how="left", maintain_order="left")
        .drop("source")
    )


def _note_rules(collection: Collection, output: Output) -> None:
    rules = collection.rules.as_dict()
    wanted = [
        name
        for name in ("references", "no_future", "sections", "anonymise", "clean_annotations")
        if name in rules
    ]
    if wanted and collection.papers.height:
        same = " and ".join(f"{name} = {rules[name]}" for name in wanted)
        output.notes.append(f"to get the same queries, import this with the rule {same}")


# --- queries and judgements -----------------------------------------------------------------


def _write_set(collection: Collection, name: str, output: Output) -> None:
    """Write the set's name in every line, because equal files would be imported only once."""
    own = pl.lit(name).alias("query_set")
    judged = collection.qrels(name).table
    for kind, table in (("queries", collection.queries(name)), ("qrels", judged)):
        if table.height:
            output.write_jsonl(f"{kind}/{name}.jsonl", table.with_columns(own))
    if name in DERIVED_SETS:
        output.notes.append(f"query set {name}: an import of these files names it '{name}-given'")


JSONL = Exporter(
    "jsonl",
    "citebed JSON Lines",
    write_jsonl,
    lacks=("aliases", "provenance"),
    called="citebed's JSON Lines",
)
