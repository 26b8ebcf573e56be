"""JATS and PubMed Central articles, on made-up ones."""

from __future__ import annotations

import pytest

from citebed.collection.formats.base import Chunk
from citebed.collection.formats.jats import JATS
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

FRONT = """<front>
<journal-meta><journal-title-group><journal-title>Journal of Zoos</journal-title>
  </journal-title-group><publisher><publisher-name>Zoo Press</publisher-name></publisher>
</journal-meta>
<article-meta>
  <article-id pub-id-type="pmid">123</article-id><article-id pub-id-type="pmc">77</article-id>
  <article-id pub-id-type="doi">10.9999/BEAR.1</article-id>
  <title-group><article-title>On <italic>Ursus</italic><xref ref-type="fn">*</xref></article-title>
    <subtitle>Caf&eacute; bears</subtitle></title-group>
  <contrib-group>
    <contrib contrib-type="author"><name><surname>Ape</surname><given-names>Ada B</given-names>
      <suffix>Jr</suffix></name><xref ref-type="aff">1</xref></contrib>
    <contrib contrib-type="author"><collab>The Zoo Group<contrib-group><contrib
      contrib-type="author"><name><surname>Hidden</surname></name></contrib></contrib-group>
      </collab></contrib>
    <contrib><string-name>Cy Crane</string-name></contrib>
    <contrib contrib-type="editor"><name><surname>Emu</surname></name></contrib>
  </contrib-group>
  <pub-date pub-type="pmc-release"><year>2033</year></pub-date>
  <pub-date pub-type="ppub"><month>June</month><year>2032</year></pub-date>
  <pub-date pub-type="epub"><day>3</day><month>5</month><year>2031</year></pub-date>
  <volume>7</volume><issue>2</issue><fpage>10</fpage><lpage>19</lpage>
  <abstract abstract-type="graphical"><p>Picture.</p></abstract>
  <abstract><title>Abstract</title><sec><title>Aims</title><p>To eat.</p></sec>
    <sec><p>Ate.</p></sec>
  </abstract>
  <kwd-group><kwd>bears</kwd><kwd>honey</kwd></kwd-group>
  <kwd-group kwd-group-type="abbreviations"><kwd>ZOO</kwd></kwd-group>
</article-meta></front>"""

BODY = """<body>
<p>Preface.</p>
<sec><label>1</label><title>Introduction</title>
  <p>Bears eat<sup><xref ref-type="bibr" rid="B1">1</xref>–<xref
    ref-type="bibr" rid="B3">3</xref></sup>.
    <fig><caption><p>A bear</p></caption></fig></p>
  <p>See <xref ref-type="fig" rid="F1">Figure 1</xref><fn><p>Or not.</p></fn>.</p>
  <sec><title>Methods</title><list><list-item><p>First [<xref ref-type="bibr" rid="B2 B9">2</xref>].
    </p></list-item><list-item><p>Second.</p></list-item></list></sec>
  <table-wrap><table><tr><td>1</td></tr></table></table-wrap></sec>
<sec><title>Empty</title></sec>
</body>"""

BACK = """<back><ref-list>
<ref id="B1"><element-citation><article-title>Honey</article-title><source>J</source>
  <pub-id pub-id-type="doi">10.9999/HON.1</pub-id><pub-id pub-id-type="pmid">5</pub-id>
  </element-citation></ref>
<ref id="B2"><mixed-citation><source>Bees</source> <pub-id pub-id-type="pmid">6</pub-id>
  <ext-link xlink:href="https://example.org/b">link</ext-link></mixed-citation></ref>
<ref id="B3"><mixed-citation>Old <ext-link xlink:href="https://doi.org/10.9999/Old">x</ext-link>
  </mixed-citation></ref>
</ref-list></back>"""

DOCTYPE = '<?xml version="1.0"?><!DOCTYPE article PUBLIC "-//NLM//DTD JATS v1" "JATS.dtd">'


def article(front: str = FRONT, body: str = BODY, back: str = BACK) -> str:
    start = f'<article article-type="research-article" xml:lang="en">{front}'
    return f"{DOCTYPE}\n{start}{body}{back}</article>"


def parse(xml: str | bytes, source: str = "out/PMC77.nxml") -> list[Record]:
    data = xml.encode() if isinstance(xml, str) else xml
    return list(JATS.parse(Chunk(data, source)))


def document_in(records: list[Record]) -> Document:
    (document,) = (record for record in records if isinstance(record, Document))
    return document


def test_document() -> None:
    assert parse(article())[0] == Document(
        doc_id="10.9999/bear.1",
        type="article",
        title="On Ursus: Café bears",
        authors=("Ape, Jr, Ada B", "The Zoo Group", "Crane, Cy"),
        editors=("Emu",),
        year=2031,
        date="2031-05-03",
        venue="Journal of Zoos",
        volume="7",
        number="2",
        pages="10–19",
        publisher="Zoo Press",
        doi="10.9999/bear.1",
        abstract="Aims To eat. Ate.",
        keywords=("bears", "honey"),
        language="en",
        sections=(
            Section("", "Preface."),
            Section("Introduction", "Bears eat 1–3. See Figure 1."),
            Section("Methods", "First [2]. Second."),
        ),
        links=(Link("10.9999/hon.1"), Link("pmid:6"), Link("10.9999/old")),
        line=2,
    )


def test_citing_paper() -> None:
    problem, citing = parse(article())[1:]
    assert isinstance(citing, CitingPaper)
    assert (citing.paper_id, citing.date, citing.line) == ("10.9999/bear.1", "2031-05-03", 2)
    assert citing.contexts == (
        Context("01", "Introduction", (Sentence("Bears eat [1]–[3].", ("B1", "B2", "B3"), None),)),
        Context("02", "Introduction / Methods", (Sentence("First [2].", ("B2", "B9"), None),)),
    )
    assert citing.references == (
        Reference("B1", doi="10.9999/hon.1", title="Honey"),
        Reference("B2", url="https://example.org/b", doc_id="pmid:6", title="Bees"),
        Reference("B3", doi="10.9999/old"),
    )
    assert isinstance(problem, Problem)
    assert "cites B9" in problem.what


@pytest.mark.parametrize(
    ("ids", "wrap", "doc_id"),
    [
        ("", False, "PMC77"),
        ('<article-id pub-id-type="pmcid">PMC5</article-id>', True, "PMC5"),
        ('<article-id pub-id-type="pmc">5</article-id>', True, "PMC5"),
        ('<article-id pub-id-type="pmid">6</article-id>', True, "pmid:6"),
    ],
)
def test_ids_without_a_doi(ids: str, wrap: bool, doc_id: str) -> None:
    xml = f"<article><front><article-meta>{ids}</article-meta></front></article>"
    records = parse(f"<pmc-articleset>{xml}</pmc-articleset>" if wrap else xml)
    assert document_in(records).doc_id == doc_id


def test_several_articles() -> None:
    one, two = (article().replace("BEAR", name).replace(DOCTYPE, "") for name in ("A", "B"))
    records = parse(f"<pmc-articleset>{one}{two}<article/></pmc-articleset>")
    assert [r.doc_id for r in records if isinstance(r, Document)] == ["10.9999/a.1", "10.9999/b.1"]
    assert isinstance(records[-1], Problem)


def test_front_only() -> None:
    (document,) = parse(article(body="", back=""))
    assert document_in([document]).sections == ()


def test_conference_and_electronic_page() -> None:
    meta = "<conference><conf-name>Zoo 2031</conf-name></conference><elocation-id>e7</elocation-id>"
    abstract = "<abstract>Plain <bold>text</bold>.</abstract>"
    front = f"<front><article-meta>{meta}{abstract}</article-meta></front>"
    found = document_in(parse(f"<article>{front}</article>"))
    assert (found.type, found.venue, found.pages) == ("inproceedings", "Zoo 2031", "e7")
    assert (found.date, found.abstract) == (None, "Plain text.")


def test_sections_in_a_box_stay_in_it() -> None:
    box = "<boxed-text><sec><title>Box</title><p>Inside.</p></sec></boxed-text>"
    found = document_in(parse(article(body=f"<body><sec><title>A</title>{box}</sec></body>")))
    assert found.sections == (Section("A", "Box Inside."),)


@pytest.mark.parametrize(
    ("tail", "cites"),
    [
        ("-", ("B1", "B2", "B3")),
        (", ", ("B1", "B3")),
        (" – ", ("B1", "B2", "B3")),
        ("-like ", ("B1", "B3")),
    ],
)
def test_ranges(tail: str, cites: tuple[str, ...]) -> None:
    one, three = (f'<xref ref-type="bibr" rid="B{n}">{n}</xref>' for n in (1, 3))
    records = parse(article(body=f"<body><p>x {one}{tail}{three}</p></body>"))
    (citing,) = (record for record in records if isinstance(record, CitingPaper))
    assert citing.contexts[0].sentences[0].cites == cites


def test_truncated() -> None:
    xml = article()
    problem, *records = parse(xml[: xml.index("<fig>")])
    assert isinstance(problem, Problem)
    assert problem.kind == "skipped"
    assert document_in(records).sections[-1].heading == "Introduction"


@pytest.mark.parametrize("data", [b"", b"<TEI/>", b"\x00\x01"])
def test_not_ours(data: bytes) -> None:
    assert [type(record) for record in parse(data)] == [Problem]
