"""Checks on queries and judgements."""

from __future__ import annotations

import polars as pl
from tests.unit.collection.lint.kinds import Altered, Collect, Found

from citebed.collection import Rules
from citebed.collection.tables import CONTEXTS

ABSTRACT = (
    "We show that a paragraph can be used as a query, that its references are the relevant "
    "documents, and that no model finds more than a third of them among its first ten answers."
)
BIB = f"""
@article{{d1, title={{Citing as searching}}, author={{Doe, J.}}, year=2000,
  abstract={{{ABSTRACT}}}}}
@article{{d2, title={{Searching as citing, again}}, author={{Roe, R.}}, year=2001,
  abstract={{Short.}}}}
@book{{d3, title={{A whole book}}, author={{Poe, E.}}, year=2002}}
"""


def topics(**texts: str) -> str:
    return "".join(
        f"<top>\n<num> Number: {name}\n<title> {text}\n</top>\n" for name, text in texts.items()
    )


def qrels(*rows: tuple[str, str, int]) -> str:
    return "".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in rows)


ASKED = topics(q1="how to cite", q2="how to search", q3="how to read")


def test_judgements_and_queries_that_fit(collect: Collect, found: Found) -> None:
    judged = qrels(("q1", "d1", 1), ("q2", "d2", 2), ("q2", "d1", 0), ("q3", "d3", 1))
    collection = collect({"a.bib": BIB, "t.topics": ASKED, "t.qrels": judged})
    for name in ("absent-documents", "absent-queries", "queries-without-relevant"):
        assert found(collection, name) == []


def test_absent_documents_and_the_reasons(collect: Collect, found: Found) -> None:
    judged = qrels(
        ("q1", "d1", 1), ("q1", "gone", 1), ("q2", "gone", 0), ("q2", "D2", 1), ("q3", "d3", 1)
    )  # fmt: skip
    files = {"a.bib": BIB, "t.topics": ASKED, "t.qrels": judged}
    collection = collect(files, Rules(types=("article",)))
    assert found(collection, "absent-documents") == [
        ("gone", "judged for 2 queries, relevant to 1; not in any source"),
        ("D2", "judged for 1 query, relevant to 1; in the collection as d2"),
        ("d3", "judged for 1 query, relevant to 1; set aside: type book"),
    ]


def test_absent_queries(collect: Collect, found: Found) -> None:
    judged = qrels(("q1", "d1", 1), ("q2", "d1", 1), ("q9", "d1", 1), ("q9", "d2", 0))
    collection = collect({"a.bib": BIB, "t.topics": ASKED, "t.qrels": judged})
    assert found(collection, "absent-queries") == [
        ("q9", "2 judgements for a query that is not in t")
    ]


def test_judgements_without_any_query_are_one_finding(collect: Collect, found: Found) -> None:
    collection = collect({"a.bib": BIB, "t.qrels": qrels(("q1", "d1", 1), ("q2", "d1", 1))})
    assert found(collection, "absent-queries") == [
        ("t", "2 queries are judged, but the set has no queries")
    ]


def test_queries_without_relevant_documents(collect: Collect, found: Found) -> None:
    judged = qrels(("q1", "d1", 1), ("q2", "d1", 0))
    collection = collect({"a.bib": BIB, "t.topics": ASKED, "t.qrels": judged})
    assert found(collection, "queries-without-relevant") == [
        ("q2", "no relevant document: 'how to search'"),
        ("q3", "no relevant document: 'how to read'"),
    ]


def test_unjudged_queries_are_one_finding(collect: Collect, found: Found) -> None:
    collection = collect({"a.bib": BIB, "t.topics": ASKED})
    assert found(collection, "queries-without-relevant") == [("t", "no judgements for 3 queries")]


def test_queries_without_text(collect: Collect, altered: Altered, found: Found) -> None:
    paper = """<doc><doi>10.1/p</doi><title>P</title><contexts><context id="01">
    <s cites="1 2"></s><s>Text.</s></context></contexts>
    <references><reference id="1">d1</reference><reference id="2">d2</reference></references>
    </doc>"""
    collection = collect({"a.bib": BIB, "p.xml": paper})
    assert found(collection, "queries-without-text") == [
        ("10.1/p:01.1", "a sentence without text, citing 1, 2"),
        ("10.1/p:01.1", "a query without text"),
    ]
    filled = altered(collection, "contexts", CONTEXTS, text=pl.lit("Words."))
    path = filled.folder / "queries" / "sentences.jsonl"
    path.write_text(path.read_text().replace('"text":""', '"text":"Words."'))
    assert found(filled, "queries-without-text") == []


def test_queries_that_are_a_title_or_an_abstract(collect: Collect, found: Found) -> None:
    collection = collect(
        {
            "a.bib": BIB,
            "t.topics": topics(
                title="Citing, as Searching!",
                whole=ABSTRACT.upper(),
                inside=f"Some words before. {ABSTRACT} And some behind it.",
                almost=ABSTRACT.replace("We show that a paragraph", "A paragraph"),
                half=ABSTRACT[: len(ABSTRACT) // 2],
                short="Short.",
                other="What a paragraph is when no query is relevant",
            ),
        }
    )
    assert found(collection, "queries-equal-to-documents") == [
        ("title", "is the title of d1"),
        ("whole", "is the abstract of d1"),
        ("inside", "holds 100% of the abstract of d1"),
        ("almost", "holds 92% of the abstract of d1"),
    ]
