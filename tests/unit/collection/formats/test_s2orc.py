"""Full text of S2ORC in its three forms: paragraphs, a parse inside a paper, annotations."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.samples import SAMPLES

from citebed.collection.formats import Chunk
from citebed.collection.formats.s2orc import S2ORC
from citebed.records import (
    CitingPaper,
    Context,
    Document,
    Link,
    Problem,
    Record,
    Reference,
    Section,
    Sentence,
)


def read(*papers: Any) -> list[Record]:
    data = "\n".join(map(json.dumps, papers)).encode()
    return list(S2ORC.parse(Chunk(data, "x")))


def test_three_papers_and_their_citations() -> None:
    records = list(S2ORC.parse(Chunk(SAMPLES["s2orc"], "x")))
    assert [type(record) for record in records] == [Document, CitingPaper] * 3
    first, citing, _, middle, last, _ = records
    assert first == Document(
        doc_id="s1",
        title="Sorting apples",
        authors=("Muster, Anna B",),
        year=2010,
        date="2010",
        abstract="We sort.",
        sections=(Section("Introduction", "Apples [1] are sorted. Pears are not [2]. Done."),),
        links=(Link("10.1234/p"),),
    )
    sorted_ = Sentence("Apples [1] are sorted.", ("BIBREF0",), None)
    told = (sorted_, Sentence("Pears are not [2].", (), None))
    assert isinstance(citing, CitingPaper)
    assert citing.contexts == (Context("01", "Introduction", told),)
    assert citing.references == (Reference("BIBREF0", "10.1234/p", doc_id="77", title="On pears"),)
    assert isinstance(middle, CitingPaper)
    assert middle.references == (Reference("b0", doc_id="s1", title="Quinces"),)
    assert isinstance(last, Document)
    assert (last.doc_id, last.title, last.doi) == ("3", "Quinces", "10.1234/q")
    assert last.sections == (Section("Aim", "They are hard [1]."),)


def test_a_paper_on_many_lines_and_entities() -> None:
    paper = {
        "paper_id": "x",
        "body_text": [{"text": "See [1].", "cite_spans": [{"start": 4, "ref_id": "b0"}]}],
        "bib_entries": {"b0": {"title": "O&apos;Hara on apples"}},
    }
    data = json.dumps(paper, indent=1).encode()
    document, citing = S2ORC.parse(Chunk(data, "x"))
    assert isinstance(document, Document)
    assert isinstance(citing, CitingPaper)
    assert citing.references[0].title == "O'Hara on apples"


def test_empty_papers_are_reported() -> None:
    nothing = {"paper_id": "x", "abstract": [], "body_text": [], "bib_entries": {}}
    nameless = {"body_text": [{"text": "Apples."}]}
    assert read(nothing, nameless) == [
        Problem(1, "paper x has no title, abstract or text"),
        Problem(2, "expected a paper with 'paper_id' or 'corpusid'; found the keys body_text"),
    ]


def test_a_citation_that_the_list_does_not_have_is_reported() -> None:
    part = {"text": "See [1].", "cite_spans": [{"start": 4, "end": 7, "ref_id": "b9"}]}
    *_, problem, citing = read({"paper_id": "x", "body_text": [part], "bib_entries": {}})
    what = "context 01 cites b9, which is not in the reference list"
    assert problem == Problem(1, what, "mended")
    assert isinstance(citing, CitingPaper)


ODD: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.just([]) | st.just({})
)
SPAN = st.fixed_dictionaries({"start": ODD, "end": ODD, "ref_id": ODD})


@pytest.mark.parametrize("name", ["cite_spans", "annotations"])
@given(spans=st.lists(SPAN | ODD, max_size=4), other=ODD)
def test_odd_places_are_survived(name: str, spans: list[Any], other: Any) -> None:
    part = {"text": "Apples [1]. Pears.", "cite_spans": spans, "section": other}
    paper: dict[str, Any] = {"paper_id": "x", "body_text": [part], "bib_entries": {"b": other}}
    if name == "annotations":
        marks = {each: json.dumps(spans) for each in ("paragraph", "bibref", "bibentry")}
        paper = {"corpusid": 1, "content": {"text": "Apples [1].", "annotations": marks}}
    for record in read(paper):
        assert isinstance(record, Document | CitingPaper | Problem)
