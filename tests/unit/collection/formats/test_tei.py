"""GROBID's TEI full text, on made-up papers."""

from __future__ import annotations

import pytest

from citebed.collection.formats.base import Chunk
from citebed.collection.formats.tei import TEI
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

HEADER = """<teiHeader xml:lang="en"><fileDesc>
  <titleStmt><title level="a" type="main">On Bears</title></titleStmt>
  <publicationStmt><publisher>Zoo Press</publisher>
    <date type="published" when="2031-05-03">3 May 2031</date></publicationStmt>
  <sourceDesc><biblStruct>
    <analytic>
      <author><persName><forename type="first">Ada</forename><forename type="middle">B</forename>
        <surname>Ape</surname><genName>Jr</genName></persName><affiliation>Zoo</affiliation></author>
      <author><affiliation>Nowhere</affiliation></author>
      <author><persName><surname>Dodo</surname></persName></author>
      <title level="a" type="main">On Bears</title>
    </analytic>
    <monogr><title level="j" type="abbrev">J. Zoo</title><title level="j">Journal of Zoos</title>
      <imprint><biblScope unit="volume">7</biblScope><biblScope unit="issue">2</biblScope>
        <biblScope unit="page" from="10" to="19"/><date when="2031-05"/></imprint></monogr>
    <idno type="MD5">ABCDEF</idno>{doi}
  </biblStruct></sourceDesc></fileDesc>
  <profileDesc><textClass><keywords><term>bears</term><term>honey</term></keywords></textClass>
    <abstract><div><p>They eat.</p><p>A lot.</p></div></abstract></profileDesc>
</teiHeader>"""

TEXT = """<text xml:lang="en"><body>
<div><head n="1">Introduction</head>
  <p>Bears eat <ref type="bibr" target="#b0">[1,</ref><ref
    type="bibr" target="#b1 #b0">2]</ref>.</p>
  <formula xml:id="f">x = 1<label>(1)</label></formula>
  <p>See <ref type="figure" target="#fig_0">Fig. 1</ref>.</p></div>
<div><head>Work</head>
  <p><s>One.</s><s>Two <ref type="bibr" target="#b7">[8]</ref>.</s></p>
  <div><head>Inner</head><p>Deep <ref type="bibr">[9]</ref>.</p></div></div>
<figure><head>Figure 1</head>
  <figDesc>A bear <ref type="bibr" target="#b0">1</ref></figDesc></figure>
</body><back><div type="references"><listBibl>
  <biblStruct xml:id="b0"><analytic><title level="a" type="main">Honey</title>
    <idno type="DOI">10.9999/HON.1</idno></analytic>
    <monogr><title level="j">J</title></monogr></biblStruct>
  <biblStruct xml:id="b1"><monogr><title level="m">Bees</title></monogr>
    <ptr target="https://example.org/bees"/></biblStruct>
</listBibl></div></back></text>"""


def paper(doi: str = '<idno type="DOI">10.9999/BEAR.1</idno>', text: str = TEXT) -> str:
    return f'<TEI xmlns="http://www.tei-c.org/ns/1.0">\n{HEADER.format(doi=doi)}{text}</TEI>'


def parse(xml: str | bytes, source: str = "out/bear.grobid.tei.xml") -> list[Record]:
    data = xml.encode() if isinstance(xml, str) else xml
    return list(TEI.parse(Chunk(data, source)))


def test_document() -> None:
    assert parse(paper())[0] == Document(
        doc_id="10.9999/bear.1",
        type="article",
        title="On Bears",
        authors=("Ape, Jr, Ada B", "Dodo"),
        year=2031,
        date="2031-05",
        venue="Journal of Zoos",
        volume="7",
        number="2",
        pages="10–19",
        publisher="Zoo Press",
        doi="10.9999/bear.1",
        abstract="They eat. A lot.",
        keywords=("bears", "honey"),
        language="en",
        sections=(
            Section("Introduction", "Bears eat [1,2]. x = 1 (1) See Fig. 1."),
            Section("Work", "One. Two [8]."),
            Section("Inner", "Deep [9]."),
        ),
        links=(Link("10.9999/hon.1"),),
    )


def unseen(text: str, *cites: str) -> Sentence:
    """Return a sentence that was not searched for names."""
    return Sentence(text, cites, None)


def test_citing_paper() -> None:
    problem, citing = parse(paper())[1:]
    assert citing == CitingPaper(
        paper_id="10.9999/bear.1",
        doi="10.9999/bear.1",
        title="On Bears",
        abstract="They eat. A lot.",
        year=2031,
        date="2031-05",
        contexts=(
            Context(
                "01", "Introduction", (Sentence("Bears eat [1,2].", ("b0", "b1", "b0"), None),)
            ),
            Context(
                "02", "Work", (Sentence("One.", (), None), Sentence("Two [8].", ("b7",), None))
            ),
        ),
        references=(
            Reference("b0", doi="10.9999/hon.1", title="Honey"),
            Reference("b1", url="https://example.org/bees", title="Bees"),
        ),
    )
    assert isinstance(problem, Problem)
    assert problem.kind == "mended"
    assert "cites b7" in problem.what


@pytest.mark.parametrize(
    ("doi", "source", "doc_id"),
    [
        ('<idno type="DOI">10.9999/X</idno>', "a/b.tei.xml", "10.9999/x"),
        ('<idno type="DOI">unknown</idno>', "a/b.tei.xml", "b"),
        ("", "-", "ABCDEF"),
    ],
)
def test_ids(doi: str, source: str, doc_id: str) -> None:
    (document,) = parse(paper(doi, text=""), source)
    assert isinstance(document, Document)
    assert document.doc_id == doc_id


def test_without_any_name_it_is_skipped() -> None:
    (problem,) = parse("<TEI/>", source="-")
    assert isinstance(problem, Problem)


def test_no_citing_paper_without_citations() -> None:
    text = '<text><body><p>No <ref type="bibr">[1]</ref> target.</p></body></text>'
    (document,) = parse(paper(text=text))
    assert isinstance(document, Document)
    assert document.sections == (Section("", "No [1] target."),)


@pytest.mark.parametrize(
    ("monograph", "kind", "venue"),
    [
        ("<title level='m'>Proc. Zoo</title>", "inproceedings", "Proc. Zoo"),
        ("<meeting>Zoo 2031</meeting>", "inproceedings", "Zoo 2031"),
        ("<title level='u'>Notes</title>", "misc", "Notes"),
    ],
)
def test_type_and_venue(monograph: str, kind: str, venue: str | None) -> None:
    source = f"<sourceDesc><biblStruct><monogr>{monograph}</monogr></biblStruct></sourceDesc>"
    (document,) = parse(f"<TEI><teiHeader><fileDesc>{source}</fileDesc></teiHeader></TEI>")
    assert isinstance(document, Document)
    assert (document.type, document.venue, document.title) == (kind, venue, "")


@pytest.mark.parametrize("text", ["bears; honey, wild", "bears • honey, wild"])
def test_keywords_in_one_text_are_split(text: str) -> None:
    keywords = f"<textClass><keywords>{text}</keywords></textClass>"
    xml = f"<TEI><teiHeader><profileDesc>{keywords}</profileDesc></teiHeader></TEI>"
    (document,) = parse(xml)
    assert isinstance(document, Document)
    assert document.keywords == ("bears", "honey, wild")


def test_truncated() -> None:
    xml = paper()
    problem, document, *_ = parse(xml[: xml.index("<p>See")])
    assert isinstance(problem, Problem)
    assert problem.kind == "skipped"
    assert isinstance(document, Document)
    assert (document.title, len(document.sections)) == ("On Bears", 1)


@pytest.mark.parametrize("data", [b"", b"<article/>", b"\x00\x01"])
def test_not_ours(data: bytes) -> None:
    assert [type(record) for record in parse(data)] == [Problem]


TRAINING = """<tei xml:space="preserve">
<teiHeader><fileDesc xml:id="0001"/></teiHeader>
<text xml:lang="en"><front/><back><listBibl>
<bibl><author>A. Muster, B. Beispiel</author>, <title level="a">Sorting Apples</title>,
<title level="j">Journal of Fruit</title>, <biblScope type="vol">12</biblScope>
<biblScope type="pp">3--9</biblScope>, <date>2010</date>.</bibl>
<bibl><author>Leiter, C. and Hand, E.</author> <title level="m">Pears</title>. <date>2011</date>
</bibl>
<bibl>, 2012</bibl>
</listBibl></back></text></tei>"""

REFERENCES = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader/><text><front/><body/><back><div>
<listBibl><biblStruct xml:id="b0"><analytic><title level="a">Sorting Apples</title><author>
<persName><forename>Anna</forename><surname>Muster</surname></persName></author>
<idno type="DOI">10.1234/A</idno></analytic><monogr><title level="j">Journal of Fruit</title>
<imprint><biblScope unit="volume">12</biblScope><date type="published" when="2010"/></imprint>
</monogr></biblStruct></listBibl></div></back></text></TEI>"""


def test_a_training_file_of_references_is_a_bibliography() -> None:
    first, second, problem = parse(TRAINING)
    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert (first.title, first.authors) == ("Sorting Apples", ("Muster, A.", "Beispiel, B."))
    assert (first.type, first.venue, first.year) == ("article", "Journal of Fruit", 2010)
    assert (first.volume, first.pages, first.line) == ("12", "3–9", 4)
    assert first.doc_id == "muster-2010-sorting"
    assert (second.title, second.authors) == ("Pears", ("Leiter, C.", "Hand, E."))
    assert problem == Problem(9, "a reference without a title or an author")


def test_references_without_a_paper_are_documents() -> None:
    (document,) = parse(REFERENCES)
    assert isinstance(document, Document)
    assert (document.doc_id, document.title) == ("10.1234/a", "Sorting Apples")
    assert (document.authors, document.volume, document.year) == (("Muster, Anna",), "12", 2010)
    listed = REFERENCES[REFERENCES.index("<listBibl>") : REFERENCES.index("</div>")]
    assert parse(listed) == [document._replace(line=1)]
    assert TEI.sniff(listed)


def test_text_that_is_in_no_body_and_no_paragraph_is_kept() -> None:
    xml = "<tei><teiHeader/><text><div>We <hi>sort</hi> apples.<lb/>All of them.</div></text></tei>"
    (document,) = parse(xml)
    assert isinstance(document, Document)
    assert [section.text for section in document.sections] == ["We sort apples. All of them."]


def test_a_header_of_a_training_file_gives_title_and_abstract() -> None:
    front = "<docTitle><titlePart>Apples</titlePart></docTitle><div type='abstract'>We sort.</div>"
    (document,) = parse(f"<tei><teiHeader/><text><front>{front}</front></text></tei>")
    assert isinstance(document, Document)
    assert (document.title, document.abstract) == ("Apples", "We sort.")


def test_a_file_with_nothing_in_it_is_reported() -> None:
    what = "a TEI file without a title, an abstract, a text or a list of references"
    assert parse("<TEI><teiHeader/><text><body/></text></TEI>") == [Problem(1, what)]
    assert parse("<listBibl/>") == [Problem(1, what)]


def test_a_corpus_of_papers() -> None:
    header = "<fileDesc><titleStmt><title>{}</title></titleStmt></fileDesc>"
    one = f"<TEI><teiHeader>{header}</teiHeader></TEI>"
    found = parse(f"<teiCorpus>{one.format('A')}{one.format('B')}</teiCorpus>")
    assert [getattr(record, "title", "") for record in found] == ["A", "B"]
