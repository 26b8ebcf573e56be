"""The table of all formats, and which of them a file has."""

from __future__ import annotations

from citebed.collection.formats.acl_xml import ACL_XML
from citebed.collection.formats.annotation_xml import ANNOTATION_XML
from citebed.collection.formats.base import Format
from citebed.collection.formats.beir import BEIR_CORPUS, BEIR_QRELS, BEIR_QUERIES
from citebed.collection.formats.bibtex import BIBTEX
from citebed.collection.formats.csl_json import CSL_JSON
from citebed.collection.formats.dois import DOIS
from citebed.collection.formats.jats import JATS
from citebed.collection.formats.jsonl import JSONL
from citebed.collection.formats.local_citation_json import LOCAL_CITATION_JSON
from citebed.collection.formats.openalex import OPENALEX
from citebed.collection.formats.ris import RIS
from citebed.collection.formats.semantic_scholar import SEMANTIC_SCHOLAR
from citebed.collection.formats.smart import SMART_DOCUMENTS, SMART_QUERIES
from citebed.collection.formats.tei import TEI
from citebed.collection.formats.trec import TREC_DOCUMENTS, TREC_QRELS, TREC_TOPICS

FORMATS = {
    format.name: format
    for format in (
        BIBTEX,
        ACL_XML,
        ANNOTATION_XML,
        TEI,
        JATS,
        TREC_TOPICS,
        TREC_DOCUMENTS,
        SMART_DOCUMENTS,
        SMART_QUERIES,
        RIS,
        DOIS,
        BEIR_QRELS,
        TREC_QRELS,
        OPENALEX,
        SEMANTIC_SCHOLAR,
        CSL_JSON,
        LOCAL_CITATION_JSON,
        BEIR_CORPUS,
        BEIR_QUERIES,
        JSONL,
    )
}
"""By name, in the order in which they are asked whether a file is theirs."""


def recognise(head: str) -> Format | None:
    """The format of a file, judged by its first few kilobytes; its name does not count."""
    head = head.removeprefix("\ufeff")
    return next((format for format in FORMATS.values() if format.sniff(head)), None)
