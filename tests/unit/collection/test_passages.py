"""Queries from full text, made like ACM-CR's: sections, sentences, hyphens, no names."""

from __future__ import annotations

from pathlib import Path

import pytest

from citebed.collection import Collection, ImportOptions, Rules, import_sources, open_collection
from citebed.collection.exporting import export
from citebed.collection.statistics import collect_statistics

BIB = """
@article{a, title = {Alpha}, doi = {10.1234/a}, author = {Ash, A.}, year = {2001}}
@article{b, title = {Beta}, doi = {10.1234/b}, author = {Birch, B.}, year = {2002}}
"""
TEI = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt>
<title type="main">On trees</title></titleStmt></fileDesc></teiHeader><text><body>
<div><head n="1">Introduction</head>
  <p>Trees are recommen-<lb/>ded. Smith et al. <ref type="bibr" target="#b0">[1]</ref> planted
    many, e.g. oaks.<ref type="bibr" target="#b1">[2]</ref> We plant more.</p>
  <p>Nobody is cited here.</p></div>
<div><head n="2">Related Work</head><p>Elms fall (<ref type="bibr" target="#b1">Birch,
    2002</ref>).</p></div>
<div><head n="2.1">Of elms</head>
  <p><ref type="bibr" target="#b0">Ash (2001)</ref> and <ref type="bibr" target="#b1">Birch
    (2002)</ref> disagree, and <ref type="bibr" target="#b0">Ash (2001)</ref> is right.</p></div>
<div><head n="3">Method</head><p>We use an axe <ref type="bibr" target="#b0">[1]</ref>.</p></div>
</body><back><listBibl>
<biblStruct xml:id="b0"><analytic><title>Alpha</title><idno type="DOI">10.1234/a</idno></analytic>
</biblStruct>
<biblStruct xml:id="b1"><analytic><title>Beta</title><idno type="DOI">10.1234/b</idno></analytic>
</biblStruct></listBibl></back></text></TEI>"""
JATS = """<article xmlns:xlink="x"><front><article-meta><article-id pub-id-type="doi">10.1234/j
</article-id><title-group><article-title>Woods</article-title></title-group></article-meta></front>
<body><sec sec-type="intro"><p>Woods burn.<sup><xref ref-type="bibr" rid="r1">1</xref>,<xref
ref-type="bibr" rid="r2">2</xref></sup> Then they grow (Fig. <xref ref-type="fig" rid="f">3</xref>).
</p></sec><sec><title>Related research</title><sec><title>Fire</title><p>Ash and Birch<sup><xref
ref-type="bibr" rid="r1">1</xref></sup> saw it.</p></sec></sec>
<sec><title>Results</title><p>Ash<sup><xref ref-type="bibr" rid="r1">1</xref></sup> again.</p></sec>
</body><back><ref-list><ref id="r1"><element-citation><pub-id pub-id-type="doi">10.1234/a</pub-id>
</element-citation></ref><ref id="r2"><element-citation><pub-id pub-id-type="doi">10.1234/b</pub-id>
</element-citation></ref></ref-list></back></article>"""
PAPER = Rules(sections=("introduction", "related work"))


def collect(folder: Path, text: str, rules: Rules | None = None) -> Collection:
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / "a.bib").write_text(BIB)
    (folder / "in" / "paper.xml").write_text(text)
    import_sources(folder / "c", [folder / "in"], ImportOptions(rules=rules, workers=1))
    return open_collection(folder / "c")


def texts(collection: Collection, name: str) -> list[str]:
    return collection.queries(name)["text"].to_list()


def test_tei_as_the_paper_made_its_queries(tmp_path: Path) -> None:
    made = collect(tmp_path, TEI, PAPER)
    assert texts(made, "sentences") == [
        "[1] planted many, e.g. oaks.[2]",
        "Elms fall [CIT].",
        "[CIT] and [CIT] disagree, and [CIT] is right.",
    ]
    assert texts(made, "paragraphs")[0] == (
        "Trees are recommended. [1] planted many, e.g. oaks.[2] We plant more."
    )
    assert made.queries("paragraphs")["section"].to_list() == [
        "Introduction",
        "Related Work",
        "Related Work / Of elms",
    ]
    cited = made.qrels("sentences").table.filter(query_id="paper:01.2")
    assert sorted(cited["doc_id"]) == ["a", "b"]


def test_sentences_keep_every_citation(tmp_path: Path) -> None:
    contexts = collect(tmp_path, TEI).contexts
    assert contexts["cites"].to_list() == [
        [], ["b0", "b1"], [], ["b1"], ["b0", "b1", "b0"], ["b0"],
    ]  # fmt: skip
    assert contexts["anonymised"].to_list() == [None] * 6, "nobody has looked"
    assert contexts["text"][1].startswith("Smith et al. [1]"), "the text stays as it was read"


def test_jats_with_superscripts(tmp_path: Path) -> None:
    made = collect(tmp_path, JATS, PAPER)
    assert texts(made, "sentences") == ["Woods burn. [1], [2]", "[1] saw it."]
    contexts = made.contexts
    assert contexts["section"].unique(maintain_order=True).to_list() == [
        "introduction",
        "Related research / Fire",
        "Results",
    ]
    assert contexts["text"][1] == "Then they grow (Fig. 3)."
    assert contexts["cites"].to_list()[:2] == [["r1", "r2"], []]


def test_rules_can_be_changed_without_the_sources(tmp_path: Path) -> None:
    made = collect(tmp_path, TEI, PAPER)
    assert len(texts(made, "paragraphs")) == 3
    report = import_sources(tmp_path / "c", (), ImportOptions(rules=Rules(anonymise=False)))
    assert report.outside == {}
    assert texts(open_collection(tmp_path / "c"), "sentences")[0].startswith("Smith et al. [1]")
    assert len(texts(open_collection(tmp_path / "c"), "paragraphs")) == 4
    report = import_sources(tmp_path / "c", (), ImportOptions(rules=Rules(sections=("method",))))
    assert report.outside == {"Introduction": 1, "Related Work": 1, "Related Work / Of elms": 1}
    told = "3 citing paragraphs of other sections: Introduction 1, Related Work 1, "
    assert ("outside", f"{told}Related Work / Of elms 1") in report.lines()
    assert texts(open_collection(tmp_path / "c"), "paragraphs") == ["We use an axe [1]."]


def test_what_people_annotated_is_left_as_it_is(tmp_path: Path) -> None:
    annotated = (
        "<doc><doi>10.5555/one</doi><contexts><context id='01' section='introduction'>"
        "<s cites='1'>Smith et al. [1] planted.</s><s cites='1,1' anonymised='true'>[1], [1].</s>"
        "</context></contexts>"
        "<references><reference id='1'>10.1234/a</reference></references></doc>"
    )
    made = collect(tmp_path, annotated, PAPER)
    assert texts(made, "paragraphs") == ["Smith et al. [1] planted. [1], [1]."]
    assert made.contexts["cites"].to_list() == [["1"], ["1", "1"]]
    paragraphs = collect_statistics(made).groups["paragraphs"]
    assert paragraphs["citations per passage, all"].value == 1.0
    assert paragraphs["mentions per passage, all"].value == 3.0
    assert paragraphs["characters per passage, all"].value == len(
        "Smith et al. [1] planted.[1], [1]."
    )


def test_what_people_annotated_is_cleaned_on_request(tmp_path: Path) -> None:
    annotated = (
        "<doc><doi>10.5555/one</doi><contexts><context id='01' section='introduction'>"
        "<s cites='1'>Smith et al. [1] recommen-\n  ded pre- and post-war elms.</s>"
        "<s cites='1' anonymised='true'>Lee et al. [1] did.</s></context></contexts>"
        "<references><reference id='1'>10.1234/a</reference></references></doc>"
    )
    cleaned = Rules(sections=PAPER.sections, clean_annotations=True)
    made = collect(tmp_path, annotated, cleaned)
    text = "[1] recommended pre- and post-war elms. Lee et al. [1] did."
    assert texts(made, "paragraphs") == [text]
    assert made.contexts["anonymised"].to_list() == [False, True], "as it was read"


def test_statistics_are_of_the_queries(tmp_path: Path) -> None:
    groups = collect_statistics(collect(tmp_path, TEI, PAPER)).groups
    paragraphs, sentences = groups["paragraphs"], groups["sentences"]
    assert (paragraphs["all"].value, sentences["citing"].value) == (3, 3)
    assert sentences["characters per passage, usable"].value == pytest.approx((31 + 16 + 45) / 3)


def test_a_collection_survives_its_export(tmp_path: Path) -> None:
    made = collect(tmp_path, TEI, PAPER)
    export(made, "jsonl", tmp_path / "out")
    import_sources(tmp_path / "d", [tmp_path / "out"], ImportOptions(rules=PAPER, workers=1))
    again = open_collection(tmp_path / "d")
    for name in ("paragraphs", "sentences"):
        assert texts(again, name) == texts(made, name)
    assert again.contexts["cites"].to_list() == made.contexts["cites"].to_list()


NAMELESS = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt>
<title type="main">On trees</title></titleStmt></fileDesc></teiHeader><text><body><div>
<head>Introduction</head><p>Trees grow <ref type="bibr" target="#b0">[1]</ref>.</p></div></body>
<back><listBibl>{}</listBibl></back></text></TEI>"""
TITLES = ("How trees grow", "On the fall of trees!", "Forest rot", "Of fires in woods")


@pytest.mark.parametrize(
    ("references", "found"), [("tolerant", [True, True, False, False]), ("exact", [False] * 4)]
)
def test_a_reference_with_nothing_but_its_title(
    tmp_path: Path, references: str, found: list[bool]
) -> None:
    """Two papers are called alike, and one title is too short to tell anything."""
    items = "".join(
        f'<biblStruct xml:id="b{n}"><analytic><title>{title.upper()}</title></analytic>'
        "</biblStruct>"
        for n, title in enumerate(TITLES)
    )
    (tmp_path / "paper.xml").write_text(NAMELESS.format(items))
    papers = [*TITLES, TITLES[-1]]
    entries = (
        f"@misc{{k{n}, title = {{{title}}}, year = {n + 2001}}}" for n, title in enumerate(papers)
    )
    (tmp_path / "a.bib").write_text("\n".join(entries))
    import_sources(tmp_path / "c", [tmp_path], ImportOptions(rules=Rules(references=references)))
    named = open_collection(tmp_path / "c").references["doc_id"]
    assert named.is_not_null().to_list() == found
    assert named.to_list()[:2] == (["k0", "k1"] if references == "tolerant" else [None, None])
