"""TREC topics, documents and qrels, read and written."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citebed.collection.formats.base import Chunk, Format
from citebed.collection.formats.trec import (
    TREC_DOCUMENTS,
    TREC_QRELS,
    TREC_TOPICS,
    write_documents,
    write_topics,
)
from citebed.errors import CitebedError
from citebed.records import Document, Judgement, Problem, Query, Record
from citebed.runs.tables import Qrels
from citebed.runs.trec_files import QRELS
from citebed.runs.writer import write_lines, write_qrels
from citebed.text.normalise import fold

FORMATS = (TREC_TOPICS, TREC_DOCUMENTS, TREC_QRELS)

TOPICS = """\
<top>
<num> Number: 001
<title> Sorting fruit

<desc> Description:
How are apples
and pears sorted if p < .01 & more?

<narr> Narrative:
Only fruit.
</top>

<top>
<num> Number: MB02 </num>
<title> Nuts </title>
<desc> Description: </desc>
</top>
"""
XML_TOPICS = """\
<?xml version="1.0"?>
<topics task="fruit">
<topic number="01"><query>sorted fruit</query>
<question>How is fruit &amp; veg sorted?</question><narrative>None.</narrative></topic>
<topic number="2" type="x"><query>nuts</query></topic>
<topic number="3">A <b>free</b> text.</topic>
</topics>
"""
DOCUMENTS = """\
<DOC>
<DOCNO> 007 </DOCNO>
<TITLE>Apples &lt; pears</TITLE>
<TEXT>
<P>One if a < b.</P>
<P>Two &amp; three.</P>
</TEXT>
</DOC>
<doc><docno>F-2</docno>
Some <i>plain</i> words.
</doc>
"""


def read(format: Format, text: str | bytes, line: int = 1) -> list[Record]:
    data = text if isinstance(text, bytes) else text.encode()
    return list(format.parse(Chunk(data, "test", line)))


# --- Topics ---------------------------------------------------------------------------------


def test_topics() -> None:
    assert read(TREC_TOPICS, TOPICS, line=10) == [
        Query("1", "How are apples and pears sorted if p < .01 & more?", "Sorting fruit", 10),
        Query("MB02", "Nuts", "Nuts", 22),
    ]


def test_xml_topics() -> None:
    assert read(TREC_TOPICS, XML_TOPICS) == [
        Query("1", "How is fruit & veg sorted?", "sorted fruit", 3),
        Query("2", "nuts", "nuts", 5),
        Query("3", "A free text.", None, 6),
    ]


@pytest.mark.parametrize(
    "text",
    [
        TOPICS.replace("\n", "\r\n"),
        TOPICS.replace("<", "  <").replace("p   <", "p <"),
        TOPICS.replace("</top>", ""),
        TOPICS.upper().replace("NUMBER:", "Number:").replace("DESCRIPTION:", "Description:"),
    ],
    ids=["crlf", "indented", "not closed", "upper case"],
)
def test_other_ways_to_write_topics(text: str) -> None:
    expected = [(item[0], item[1]) for item in read(TREC_TOPICS, TOPICS)]
    found = [(item[0], item[1]) for item in read(TREC_TOPICS, text)]
    if "SORTED" in text:
        expected = [(first, str(second).upper()) for first, second in expected]
    assert found == expected


def test_a_topic_on_one_line_with_old_labels() -> None:
    start = "<top><num> Number: 051 <dom> Domain: Food "
    text = f"{start}<title> Topic: Fruit <desc> Description: Why?</top>"
    assert read(TREC_TOPICS, text) == [Query("51", "Why?", "Fruit")]


def test_a_tag_that_comes_again_is_text() -> None:
    text = "<top><num>1<title>A<desc>The <title> tag</title> of HTML</top>"
    assert read(TREC_TOPICS, text) == [Query("1", "The <title> tag</title> of HTML", "A")]


def test_topics_that_lack_something() -> None:
    text = "<top><title>x</top>\n<top><num>3</top>\n<top>"
    assert read(TREC_TOPICS, text) == [
        Problem(1, "topic without a number"),
        Problem(2, "topic without text"),
        Problem(3, "topic without text"),
    ]


# --- Documents ------------------------------------------------------------------------------


def test_documents() -> None:
    assert read(TREC_DOCUMENTS, DOCUMENTS, line=5) == [
        Document("7", title="Apples < pears", abstract="One if a < b. Two & three.", line=5),
        Document("F-2", abstract="Some plain words.", line=13),
    ]


def test_documents_that_lack_something() -> None:
    text = "<DOC><TITLE>x</TITLE></DOC>\n<DOC><DOCNO>1</DOCNO><TEXT>cut off he"
    assert read(TREC_DOCUMENTS, text) == [
        Problem(1, "document without a DOCNO"),
        Document("1", abstract="cut off he", line=2),
        Problem(2, "document 1 is not closed by </DOC>", "mended"),
    ]


def test_headline_stands_for_a_title_and_other_ids_are_left_out() -> None:
    text = "<DOC><DOCNO>a b</DOCNO><DOCID>9</DOCID><HEADLINE>News</HEADLINE>Words</DOC>"
    assert read(TREC_DOCUMENTS, text) == [Document("a_b", title="News", abstract="Words")]


# --- Judgements -----------------------------------------------------------------------------


def test_qrels_of_four_columns() -> None:
    text = "# a comment\r\n01\tQ0\t007\t2\r\n\r\n1 46 10.1234/ab -1\r\n 1  0 D-1  +1 "
    assert read(TREC_QRELS, text) == [
        Judgement("1", "7", 2, 2),
        Judgement("1", "10.1234/ab", -1, 4),
        Judgement("1", "D-1", 1, 5),
    ]


def test_qrels_of_three_columns() -> None:
    assert read(TREC_QRELS, "1 184 2 \n000 0 -1\n", line=7) == [
        Judgement("1", "184", 2, 7),
        Judgement("0", "0", -1, 8),
    ]


def test_qrels_of_cacm_list_relevant_documents() -> None:
    assert read(TREC_QRELS, "01 1410  0 0\n02 0022 0 0\n") == [
        Judgement("1", "1410", 1, 1),
        Judgement("2", "22", 1, 2),
    ]
    assert read(TREC_QRELS, "1 0 0 0\n") == [Judgement("1", "0", 0)]
    assert read(TREC_QRELS, "1 5 0 0\n1 5 7 1\n")[0] == Judgement("1", "0", 0)


def test_lines_that_do_not_fit() -> None:
    items = read(TREC_QRELS, "query document relevance\n1 0 d 1\n1 d\n1 0 d 1 5\n1 0 d 0.5\n")
    assert [type(item) for item in items] == [Problem, Judgement, Problem, Problem, Problem]
    assert items[0] == Problem(
        1, "'query document relevance' is not 'query iteration document relevance'"
    )


# --- All ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "format"),
    [
        (TOPICS, TREC_TOPICS),
        (XML_TOPICS, TREC_TOPICS),
        (DOCUMENTS, TREC_DOCUMENTS),
        (DOCUMENTS.lower(), TREC_DOCUMENTS),
        ("1 0 d 1\n", TREC_QRELS),
        ("1\t0\td\t1\r\n2\t0\td\t1", TREC_QRELS),
        ("# judged\n1 d -1", TREC_QRELS),
        ("1 0 d 1\n" * 20 + "oops\n", TREC_QRELS),
        ("", None),
        ("\n\n", None),
        ("# Read me\n\nThese are three words each.\n", None),
        ("query-id\tcorpus-id\tscore\n1\td\t1\n", None),
        ("one two 3\nfour five six\n", None),
        ("1 Q0 d 1 2.5 bm25\n", None),
        ("entity stream 5 1 1\n", None),
        ("1 2 1234567\n", None),
        ("<html><title>x</title></html>", None),
        ("<topics><thing/></topics>", None),
        ("<doc>words</doc>", None),
        ("\x00\x01\x02", None),
    ],
)
def test_sniff(text: str, format: Format | None) -> None:
    assert [each for each in FORMATS if each.sniff(text)] == ([format] if format else [])


def test_sniff_leaves_judgements_of_kba_alone(kba_2012: Path) -> None:
    head = kba_2012.read_bytes()[:16384].decode(errors="replace")
    assert not [each.name for each in FORMATS if each.sniff(head)]


def test_sniff_leaves_other_real_files_alone(shared_data: Path) -> None:
    names = ["README.md", "cranfield/cranqrel.readme", "cacm/cite.info", "acm-cr/blacklist.txt"]
    names += ["cranfield/cran.all.1400", "cacm/query.text"]
    for name in names:
        head = (shared_data / name).read_bytes()[:16384].decode(errors="replace")
        assert not [each.name for each in FORMATS if each.sniff(head)], name


@pytest.mark.parametrize(
    ("format", "text", "place"),
    [
        (TREC_TOPICS, TOPICS + "<top><num>", len(TOPICS) - 1),
        (TREC_TOPICS, XML_TOPICS, XML_TOPICS.index("\n</topics>")),
        (TREC_TOPICS, "<top><num>1<title>a\n<top><num>2", 20),
        (TREC_TOPICS, "<to", 0),
        (TREC_DOCUMENTS, DOCUMENTS + "<DOC>", len(DOCUMENTS) - 1),
        (TREC_DOCUMENTS, "<DOC>", 0),
        (TREC_QRELS, "1 0 d 1\n2 0", 8),
        (TREC_QRELS, "1 0 d 1", 0),
    ],
)
def test_cut(format: Format, text: str, place: int) -> None:
    assert format.split is not None
    assert format.split(text.encode()) == place


PIECES = ["<top>", "</top>", "<num>", "<title>", "<desc>", "<DOC>", "</DOC>", "<DOCNO>", "<TEXT>"]
PIECES += ["Number:", "Topic:", "Description:", "&lt;", "&amp;lt;", "&", "<", ">", "/", "1", "#"]
MARKED = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5))).map(
    lambda parts: fold(" ".join(parts))
)
IDS = MARKED.map(lambda text: "x" + text.replace(" ", "")).filter(lambda text: fold(text) == text)


def as_query(parts: tuple[str, str, str]) -> Query:
    query_id, text, title = parts
    return Query(query_id, text or "text", title or None)


def as_document(parts: tuple[str, str, str]) -> Document:
    doc_id, title, abstract = parts
    return Document(doc_id, title=title, abstract=abstract or None)


@given(st.lists(st.tuples(IDS, MARKED, MARKED).map(as_query)))
def test_topics_read_back_equal(queries: list[Query]) -> None:
    text = "".join(write_topics(queries))
    assert [item._replace(line=1) for item in read(TREC_TOPICS, text)] == queries
    assert not queries or TREC_TOPICS.sniff(text)


@given(st.lists(st.tuples(IDS, MARKED, MARKED).map(as_document)))
def test_documents_read_back_equal(documents: list[Document]) -> None:
    text = "".join(write_documents(documents))
    assert [item._replace(line=1) for item in read(TREC_DOCUMENTS, text)] == documents
    assert not documents or TREC_DOCUMENTS.sniff(text)


NAMES = st.one_of(IDS, st.integers(0, 300).map(str))


@given(st.lists(st.tuples(NAMES, NAMES, st.integers(-5, 100)).map(lambda row: Judgement(*row))))
def test_qrels_read_back_equal(judgements: list[Judgement]) -> None:
    handle = io.BytesIO()
    rows = [(judged.query_id, "0", judged.doc_id, judged.relevance) for judged in judgements]
    write_lines(pl.DataFrame(rows, schema=QRELS.schema, orient="row"), handle)
    text = handle.getvalue().decode()
    expected = [item._replace(line=line) for line, item in enumerate(judgements, 1)]
    assert read(TREC_QRELS, text) == expected
    assert not judgements or TREC_QRELS.sniff(text)


def test_plain_text_of_topics_is_written_as_it_is() -> None:
    text = "".join(write_topics([Query("1", "if p < .01 & a&b")]))
    assert "\nif p < .01 & a&b\n" in text


@pytest.mark.parametrize("name", ["", "a b", "a\tb", " a", "#1"])
def test_ids_that_trec_cannot_hold(name: str, tmp_path: Path) -> None:
    table = pl.DataFrame({"query_id": [name], "doc_id": ["d"], "relevance": [1]})
    with pytest.raises(CitebedError, match="cannot hold"):
        write_qrels(tmp_path / "x.qrels", Qrels(table))
    with pytest.raises(CitebedError, match="cannot hold"):
        list(write_topics([Query(name, "text")]))
    with pytest.raises(CitebedError, match="cannot hold"):
        list(write_documents([Document(name)]))


def test_long_input_is_read_to_its_end() -> None:
    for text in ("<top>" * 100_000, "<topic " * 100_000, "<DOC><DOCNO>1" + "<!-- <a &" * 200_000):
        read(TREC_TOPICS, text)
        read(TREC_DOCUMENTS, text)
        read(TREC_QRELS, text)


# --- Real data ------------------------------------------------------------------------------


def load(format: Format, path: Path) -> list[Record]:
    data = path.read_bytes()
    assert [each for each in FORMATS if each.sniff(data[:16384].decode())] == [format]
    items = list(format.parse(Chunk(data, path.name)))
    assert not [item for item in items if isinstance(item, Problem)]
    return items


def judgements(path: Path) -> list[Judgement]:
    return [item for item in load(TREC_QRELS, path) if isinstance(item, Judgement)]


def test_cranfield_qrels(shared_data: Path) -> None:
    found = judgements(shared_data / "cranfield" / "cranqrel")
    assert Counter(item.relevance for item in found) == {-1: 225, 1: 128, 2: 387, 3: 734, 4: 363}
    assert {item.query_id for item in found} == {str(number) for number in range(1, 226)}
    assert found[0] == Judgement("1", "184", 2, 1)
    assert found[918] == Judgement("115", "878", 3, 919)
    assert found[-1] == Judgement("225", "1188", -1, 1837)


def test_cacm_qrels(shared_data: Path) -> None:
    found = judgements(shared_data / "cacm" / "qrels.text")
    assert (len(found), {item.relevance for item in found}) == (796, {1})
    assert len({item.query_id for item in found}) == 52
    assert found[0] == Judgement("1", "1410", 1, 1)
    assert found[398] == Judgement("27", "2596", 1, 399)
    assert found[-1] == Judgement("64", "2651", 1, 796)


ACM_CR = {
    "contexts": (269, 900, "337796001", "340110305", "337181004"),
    "sentences": (552, 978, "3377960", "340110276", "337181551"),
}


@pytest.mark.parametrize("kind", ACM_CR)
def test_acm_cr(shared_data: Path, kind: str) -> None:
    topics, qrels, first, middle, last = ACM_CR[kind]
    queries = [
        item
        for item in load(TREC_TOPICS, shared_data / "acm-cr" / f"{kind}.topics")
        if isinstance(item, Query)
    ]
    found = judgements(shared_data / "acm-cr" / f"{kind}.qrels")
    assert (len(queries), len(found)) == (topics, qrels)
    ids = [item.query_id for item in queries]
    assert (ids[0], ids[len(ids) // 2], ids[-1]) == (first, middle, last)
    assert {item.query_id for item in found} == set(ids)
    assert {item.relevance for item in found} == {1}
    assert (found[0].query_id, found[-1].query_id) == (first, last)
    assert queries[0].text.startswith("Information relevance is one of the fundamental concepts")
    assert queries[0].title is not None
    assert queries[0].title.startswith("Relevance Prediction from Eye-movements")


def test_acm_cr_topics_read_back_equal(shared_data: Path) -> None:
    found = load(TREC_TOPICS, shared_data / "acm-cr" / "contexts.topics")
    queries = [item._replace(line=1) for item in found if isinstance(item, Query)]
    again = read(TREC_TOPICS, "".join(write_topics(queries)))
    assert [item._replace(line=1) for item in again] == queries


TIPSTER = """<top>

<head> Tipster Topic Description

<num> Number:  051

<dom> Domain:  International Economics

<title> Topic:  Apple Subsidies

<desc> Description:

Document will discuss assistance to growers of apples.

</top>
"""


def test_topics_with_a_head() -> None:
    text = "Document will discuss assistance to growers of apples."
    assert read(TREC_TOPICS, TIPSTER) == [Query("51", text, "Apple Subsidies", 1)]


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE topics SYSTEM "x.dtd">\n<topics>\n<top lang="EN">\n<num>C41</num>\n'
        "<EN-title>Apples</EN-title>\n<EN-desc>On apples.</EN-desc></top></topics>",
        '<topics>\n\n<topic lang="en">\n<identifier>C41</identifier><title>Apples</title>\n'
        "<description>On apples.</description>\n</topic></topics>",
    ],
)
def test_topics_of_clef(text: str) -> None:
    assert TREC_TOPICS.sniff(text)
    assert read(TREC_TOPICS, text) == [Query("C41", "On apples.", "Apples", 3)]


def test_qrels_of_cisi_list_relevant_documents() -> None:
    text = "     1     28\t0\t0.000000\n     1     35\t0\t0.000000\n"
    assert read(TREC_QRELS, text) == [Judgement("1", "28", 1, 1), Judgement("1", "35", 1, 2)]


def test_tipster_topics_51_to_100(shared_data: Path) -> None:
    queries = load(TREC_TOPICS, shared_data / "formats" / "topics.adhoc.51-100.txt")
    assert all(isinstance(query, Query) for query in queries)
    assert [query.query_id for query in queries] == [*map(str, range(51, 101))]
    titles = [queries[place].title for place in (0, 25, 49)]
    assert titles == [
        "Airbus Subsidies",
        "U.S. Constitution - Original Intent",
        "Controlling the Transfer of High Technology",
    ]


def test_a_record_whose_own_tag_is_missing_is_not_lost() -> None:
    text = "<DOC>\n<DOCNO>1</DOCNO>\n</DOC>\n<DO>\n<DOCNO>2</DOCNO>\n<TITLE>T</TITLE>\n</DOC>\n"
    assert read(TREC_DOCUMENTS, text) == [Document("1", line=1), Document("2", title="T", line=5)]
    topics = "<top>\n<num> 1\n<title> A\n</top>\n<num> 2\n<title> B\n</top>\n"
    assert [query.query_id for query in read(TREC_TOPICS, topics)] == ["1", "2"]
