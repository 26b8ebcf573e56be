"""TREC's files: documents, topics and relevance judgements."""

from __future__ import annotations

from citebed.collection.collection import Collection
from citebed.collection.exporting.base import Exporter, Output
from citebed.collection.formats.trec import write_documents, write_topics
from citebed.records import Document
from citebed.runs.tables import Qrels
from citebed.runs.writing import write_qrels


def write_trec(collection: Collection, output: Output) -> None:
    """``documents.trec``, and ``topics`` and ``qrels`` with a file for each query set."""
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
