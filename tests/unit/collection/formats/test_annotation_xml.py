"""ACM-CR's annotated citing papers."""

from __future__ import annotations

from pathlib import Path

import pytest

from citebed.collection.formats.acm_cr import ANNOTATION_XML, DOIS
from citebed.collection.formats.base import Chunk
from citebed.records import (
    CitingPaper,
    Context,
    Problem,
    Record,
    Reference,
    ReferenceList,
    Sentence,
)

PAPER = """<doc>
  <doi>10.9999/ABC.1</doi>
  <title>On  Bears &amp; Bees</title>
  <abstract>They meet.</abstract>
  <year>2031</year>
  <contexts>
    <context id="01" section="introduction">
      <s cites="1, 2">Bears eat honey [1, 2].</s>
      <s>Bees do not mind.</s>
      <s cites="3 1,3" anonymised="true">[3] saw <i>both</i>.</s>
    </context>
    <context id="01" section="related work">
      <s cites="9">Nobody knows [9].</s>
    </context>
  </contexts>
  <references>
    <reference id="1">10.9999/X.1 </reference>
    <reference id="2">https://example.org/honey</reference>
    <reference id="3">None</reference>
    <reference id="4"/>
    <reference id="5"> ape:2001 </reference>
    <reference id="6">0.9999/12</reference>
  </references>
</doc>
"""


def parse(xml: str | bytes, source: str = "papers/bears.1.xml", line: int = 1) -> list[Record]:
    data = xml.encode() if isinstance(xml, str) else xml
    return list(ANNOTATION_XML.parse(Chunk(data, source, line)))


def paper_in(records: list[Record]) -> CitingPaper:
    (paper,) = (record for record in records if isinstance(record, CitingPaper))
    return paper


def test_paper() -> None:
    assert paper_in(parse(PAPER)) == CitingPaper(
        paper_id="10.9999/ABC.1",
        doi="10.9999/abc.1",
        title="On Bears & Bees",
        abstract="They meet.",
        year=2031,
        date="2031",
        contexts=(
            Context(
                "01",
                "introduction",
                (
                    Sentence("Bears eat honey [1, 2].", ("1", "2")),
                    Sentence("Bees do not mind."),
                    Sentence("[3] saw both.", ("3", "1", "3"), anonymised=True),
                ),
            ),
            Context("01-2", "related work", (Sentence("Nobody knows [9].", ("9",)),)),
        ),
        references=(
            Reference("1", doi="10.9999/x.1", raw="10.9999/X.1 "),
            Reference("2", url="https://example.org/honey", raw="https://example.org/honey"),
            Reference("3"),
            Reference("4"),
            Reference("5", doc_id="ape:2001", raw=" ape:2001 "),
            Reference("6", doc_id="0.9999/12", raw="0.9999/12"),
        ),
    )


def test_problems_name_the_repairs() -> None:
    problems = [record for record in parse(PAPER, line=101) if isinstance(record, Problem)]
    assert [(problem.line, problem.kind) for problem in problems] == [
        (112, "mended"),
        (113, "mended"),
        (122, "mended"),
    ]
    assert "01-2" in problems[0].what
    assert "cites 9" in problems[1].what
    assert "0.9999/12" in problems[2].what


@pytest.mark.parametrize(
    ("ids", "paper_id", "doi"),
    [
        ("<doi>https://doi.org/10.9999/AbC</doi><id>k</id>", "10.9999/AbC", "10.9999/abc"),
        ("<doi></doi><id> key1 </id>", "key1", None),
        ("", "bears.1", None),
        ("<doi>unknown</doi>", "unknown", None),
    ],
)
def test_ids(ids: str, paper_id: str, doi: str | None) -> None:
    paper = paper_in(parse(f"<doc>{ids}<title>T</title></doc>"))
    assert (paper.paper_id, paper.doi, paper.year, paper.contexts) == (paper_id, doi, None, ())


def test_without_any_name_it_is_skipped() -> None:
    assert parse("<doc><title>T</title></doc>", source="-") == [
        Problem(1, "a paper without a DOI, an id or a file name")
    ]


def test_missing_and_repeated_ids() -> None:
    contexts = (
        "<context>A.</context><context id='a'/><context id='a'/><context id='a-2' cites='1'/>"
    )
    references = "<reference>10.9999/1</reference><reference id='1'>None</reference>"
    xml = f"<doc><contexts>{contexts}</contexts><references>{references}</references></doc>"
    paper = paper_in(parse(xml))
    assert [context.context_id for context in paper.contexts] == ["01", "a", "a-2", "a-2-2"]
    assert paper.contexts[0].sentences == (Sentence("A."),)
    assert paper.references == (Reference("1", doi="10.9999/1", raw="10.9999/1"),)
    assert len(parse(xml)) == 6


@pytest.mark.parametrize(("mark", "expected"), [("true", True), ("false", False), ("7", True)])
def test_anonymised(mark: str, expected: bool) -> None:
    xml = f"<doc><contexts><context id='1'><s anonymised='{mark}'>A</s></context></contexts></doc>"
    records = parse(xml)
    assert paper_in(records).contexts[0].sentences[0].anonymised is expected
    assert len(records) == (2 if mark == "7" else 1)


def test_truncated() -> None:
    records = parse(PAPER[: PAPER.index("Bees do not")])
    assert paper_in(records).contexts[0].sentences[0].cites == ("1", "2")
    assert any(isinstance(r, Problem) and r.kind == "skipped" for r in records)


@pytest.mark.parametrize("data", [b"", b"<article/>", b"\x00\x01"])
def test_not_ours(data: bytes) -> None:
    assert [type(record) for record in parse(data)] == [Problem]


class TestRealPapers:
    def read(self, shared_data: Path) -> dict[str, list[Record]]:
        found = {}
        for path in sorted((shared_data / "acm-cr" / "papers").glob("*/*.xml")):
            assert ANNOTATION_XML.sniff(path.read_text()[:4096])
            found[path.stem] = list(ANNOTATION_XML.parse(Chunk(path.read_bytes(), str(path))))
        return found

    def test_counts(self, shared_data: Path) -> None:
        papers = [paper_in(records) for records in self.read(shared_data).values()]
        contexts = [context for paper in papers for context in paper.contexts]
        sentences = [sentence for context in contexts for sentence in context.sentences]
        assert (len(papers), len(contexts), len(sentences)) == (50, 341, 1800)
        assert sum(bool(sentence.cites) for sentence in sentences) == 837
        assert sum(bool(sentence.anonymised) for sentence in sentences) == 229
        assert sum(len(paper.references) for paper in papers) == 1591
        assert all(paper.paper_id == paper.doi for paper in papers)

    def test_problems(self, shared_data: Path) -> None:
        problems = [
            (stem, record.line, record.kind)
            for stem, records in self.read(shared_data).items()
            for record in records
            if isinstance(record, Problem)
        ]
        assert sorted(problems) == [
            ("3397271.3401052", 97, "mended"),  # anonymised="17"
            ("3397271.3401333", 59, "mended"),  # 0.1016/…
            ("3409256.3409825", 57, "mended"),  # context 10 twice
        ]

    def test_first(self, shared_data: Path) -> None:
        paper = paper_in(self.read(shared_data)["3343413.3377957"])
        assert paper.paper_id == "10.1145/3343413.3377957"
        assert paper.title.startswith("Enabling Predictive Number Entry")
        assert [len(s.cites) for s in paper.contexts[0].sentences] == [1, 0, 3, 0]
        assert paper.references[11][:3] == ("12", None, "https://arxiv.org/abs/1702.05659")
        assert paper.references[14][:2] == ("15", "10.3115/v1/p15-1002")

    def test_the_lists_beside_them_agree(self, shared_data: Path) -> None:
        differing = {}
        for path in (shared_data / "acm-cr" / "papers").glob("*/*.dois"):
            records = DOIS.parse(Chunk(path.read_bytes(), str(path)))
            (listed,) = (r for r in records if isinstance(r, ReferenceList))
            xml = path.with_suffix(".xml")
            paper = paper_in(list(ANNOTATION_XML.parse(Chunk(xml.read_bytes(), str(xml)))))
            pairs = zip(listed.references, paper.references, strict=True)
            if differ := [one.ref_id for one, other in pairs if one[:4] != other[:4]]:
                differing[path.stem] = differ
        assert differing == {"3397271.3401207": ["8"]}  # an address cut off at its & in the XML
