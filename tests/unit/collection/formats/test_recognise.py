"""The first kilobytes show a file's format, and only one format claims it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.samples import SAMPLES

from citebed.collection.formats import FORMATS, recognise
from citebed.collection.formats.base import decode

LONG = "word " * 3000
"""A value that the first kilobytes cut in two."""
HEADS: dict[str, list[str]] = {
    "pdf": ["%PDF-1.5\n%âãÏÓ\n1 0 obj\n<</Type /Catalog>>\nendobj\n"],
    "bibtex": [
        "@article{a,\n  title = {T}\n}\n",
        "% written by hand\n\n@book{a, title={T}}",
        "@comment{x}\n@string{a = {b}}\n",
        "@inproceedings(a, title = {T})",
        "Exported by a tool.\n@misc{10.1145/1.2, title={T}}",
    ],
    "acl-xml": [
        '<collection id="P05">\n<volume id="1">\n<paper id="1"><title>T</title></paper>',
        "<?xml version='1.0'?>\n<!-- a -->\n<collection id='2020.acl'><volume id='main' type='x'>",
    ],
    "annotation-xml": [
        "<doc>\n<doi>10.1145/1.2</doi>",
        '<?xml version="1.0"?><doc><id>x</id><contexts><context id="01">',
        "<doc><title>T</title><references><reference id='1'>",
    ],
    "tei": [
        '<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader>',
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE TEI.2>\n<TEI.2><text>',
        '<tei:TEI xmlns:tei="http://www.tei-c.org/ns/1.0">',
    ],
    "jats": [
        '<article article-type="research-article"><front>',
        "<!DOCTYPE article PUBLIC '-//NLM//DTD'>\n<article><front><article-meta>",
        "<pmc-articleset><article>",
    ],
    "pubmed-xml": [
        "<PubmedArticleSet>\n<PubmedArticle><MedlineCitation>",
        "<?xml version='1.0'?>\n<!DOCTYPE PubmedArticleSet PUBLIC 'x' 'y'>\n<PubmedArticleSet>",
    ],
    "endnote-xml": [
        '<xml><records><record><database name="x">x</database>',
        '<?xml version="1.0" encoding="UTF-8" ?><xml><records>\n<record><rec-number>1</rec-number>',
    ],
    "dblp-xml": [
        '<?xml version="1.0"?>\n<!DOCTYPE dblp SYSTEM "dblp.dtd">\n<dblp>\n<article key="x">',
        '<dblp><inproceedings mdate="2020-01-01" key="conf/x/Y20">',
        '<inproceedings mdate="2020-01-01" key="conf/x/Y20"><author>A</author>',
    ],
    "arxiv-atom": [
        '<feed xmlns="http://www.w3.org/2005/Atom">\n<link href="http://arxiv.org/api/query"/>',
    ],
    "zotero-rdf": [
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"\n'
        ' xmlns:z="http://www.zotero.org/namespaces/export#">',
    ],
    "opf": [
        "<?xml version='1.0' encoding='utf-8'?>\n"
        '<package xmlns="http://www.idpf.org/2007/opf" unique-identifier="uuid_id" version="2.0">',
    ],
    "trec-topics": [
        "<top>\n<num> Number: 1\n<title> T\n",
        '<?xml version="1.0"?>\n<topics task="x">\n<topic number="1">\n<query>q</query>',
        "<TOP>\n\n<NUM>1",
        '<topic number="1" type="x"><query>q</query></topic>',
        "<top>\n\n<head> Tipster Topic Description\n\n<num> Number:  051\n\n<dom> Domain: X\n",
        '<!DOCTYPE topics SYSTEM "t.dtd" [<!ENTITY x "y">]>\n<topics>\n<top lang="EN">\n<num>C1',
        '<top lang="en">\n<num> C041 </num>\n<EN-title> Pesticides </EN-title>\n',
        '<webtrack2009>\n<topic number="1" type="faceted">\n<query>q</query>',
        "<topics>\n<topic lang='en'>\n<identifier>10.2452/401-AH</identifier>",
        "<TOPIC><NUM>0001</NUM><TITLE>T</TITLE></TOPIC>",
    ],
    "trec-documents": [
        "<DOC>\n<DOCNO> A-1 </DOCNO>\n<TEXT>",
        "<doc><docno>1</docno><title>T</title>",
        '<?xml version="1.0"?>\n<root>\n<DOC>\n<DOCNO>1</DOCNO>',
    ],
    "smart": [
        ".I 1\n.T\nTitle\n.A\nauthor\n.W\ntext\n",
        ".I 1\n.T\nTitle\n.B\nCACM December, 1958\n.X\n1\t5\t1\n",
        ".I 7 \n.A\nauthor\n",
        ".I 1\n.W\n" + "many words of an abstract\n" * 40 + ".I 2\n.W\n" + "and more\n" * 99,
    ],
    "smart-queries": [
        ".I 001\n.W\nwhat is this\n.I 002\n.W\nand that\n",
        ".I 1\n.W\nwhat\n.A\nauthor\n.N\nnote\n",
        ".I 1\n.W\nwhat\n.I 2\n.W\nand that\n.I 3\n.T\nTitle\n.A\nauthor\n.W\nwhy\n.B\n(JASIS)\n",
    ],
    "ris": [
        "TY  - JOUR\nAU  - Muster, Anna\n",
        "Provider: x\nContent: text/plain\n\nTY  - CONF\nTI  - T\nER  - \n",
        "TY - JOUR\nTI - T\n",
        "TY  - Journal Article\nAU  - Muster, Anna\n",
        "Provider: x\n\nTY  - JOUR\nPMID  - 33355555\nID  - 1\nT1  - T\n",
        "TY  - Conference Paper or Poster\nT1  - T\n",
    ],
    "nbib": ["PMID- 101\nOWN - NLM\nTI  - T\n", "PMID- 7\nTI  - Sorting apples\n      and pears\n"],
    "web-of-science": [
        "FN Clarivate Analytics Web of Science\nVR 1.0\nPT J\nAU Muster, A\n",
        "PT J\nAU Muster, A\n   Beispiel, B\nTI T\n",
    ],
    "enw": [
        "%0 Journal Article\n%T T\n%A Muster, Anna\n",
        "%A Anna Muster\n%T Sorting apples\n%D 1975\n\n%A B\n%T U\n",
    ],
    "csl-yaml": [
        "---\nreferences:\n- id: a\n  type: book\n  title: T\n...\n",
        "# by hand\n- id: a\n  title: T\n",
        "references:\n  - type: book\n    id: a\n    title: T\n",
        "---\ntitle: My Paper\nreferences:\n- id: a\n  author:\n  - family: M\n",
    ],
    "dois": [
        "[1] 10.1145/1.2 CHI\n[2] None\n",
        "- [1]\thttps://example.org/x\n[2]\tNone\n",
        "[1] None\n",
    ],
    "beir-qrels": ["query-id\tcorpus-id\tscore\n1\t2\t1\n", "query-id corpus-id score\n"],
    "trec-qrels": [
        "301 0 FR-1 1\n301 0 FR-2 0\n",
        "1 Q0 d 2\n",
        "# judged by hand\n1\t0\td\t-1\n",
        "1 d 1\n2 e 0\n",
        "     1     28\t0\t0.000000\n     1     35\t0\t0.000000\n",
    ],
    "openalex": [
        '{"id": "https://openalex.org/W1", "title": "T"}\n',
        '{"meta": {"count": 2}, "results": [{"id": "https://openalex.org/W1", "doi": null',
        '{"doi": "x", "authorships": [], "referenced_works": []}\n',
        '{"abstract_inverted_index": {"' + LONG,
    ],
    "s2orc": [
        '{"paper_id": "1", "_pdf_hash": "x", "abstract": [], "body_text": [{"text": "x"',
        '{\n "paper_id": "x",\n "metadata": {"title": "T", "authors": [{"first": "A", "last":'
        ' "B"}]},\n "abstract": [], "body_text": []\n',
        '{"paper_id": "1", "title": "T", "authors": [], "pdf_parse": {"body_text": []}}\n',
        '{"corpusid": 1, "externalids": {}, "content": {"text": "x", "annotations": {}}}\n',
    ],
    "arxiv-json": [
        '{"id": "0704.0001", "submitter": "A", "authors": "A", "title": "T", "doi": null}\n'
        '{"id": "0704.0002", "categories": "cs"}\n',
        '{"id": "0704.0001", "title": "T", "categories": "cs.DS", "authors_parsed": []}\n',
    ],
    "zotero-json": [
        '{"config": {"label": "BetterBibTeX JSON"}, "items": [{"itemType": "book", "title": "T"}]}',
        '[{"key": "A", "version": 1, "data": {"key": "A", "itemType": "book", "title": "T"}}]',
    ],
    "semantic-scholar": [
        '{"paperId": "a", "title": "T"}\n',
        '[\n  {\n    "paperId": "a", "externalIds": {"DOI": "x"}, "title": "T"\n',
        '{"corpusid": 1, "externalids": {"DOI": null}, "title": "T"}\n',
        '{"total": 1, "data": [{"paperId": "a", "title": "T"}]}',
        '{"id": "x", "title": "T", "paperAbstract": "' + LONG,
        '{"recommendedPapers": [{"paperId": "a", "title": "T"}, {"paperId": "b"}]}',
        '{"paper_id": "1", "title": "T", "authors": [{"first": "A", "middle": [], "last": "B"}]}\n',
    ],
    "csl-json": [
        '[{"id": "a", "type": "article-journal", "title": "T"}]',
        '{"status": "ok", "message": {"items": [{"DOI": "10.1/x", "title": ["T"]}]}}',
        '{"DOI": "10.1/x", "title": "T", "author": [{"family": "F"}]}',
        '{"items": [{"id": "a", "type": "article-journal"}]}',
        '{"status": "ok", "message": {"DOI": "10.1/x", "title": ["T"]}}',
        '[\n {\n  "id": "a",\n  "issued": {"date-parts": [[2010]]}\n',
        '{"muster2010": {"type": "article-journal", "title": "T", "author": [{"family": "M"}]}}',
        '{"a": {"title": "T", "DOI": "10.1/x"}, "b": {"title": "U", "issued": {"date-pa',
        '{"a": {"id": "a", "type": "book", "title": "T"}, "b": {"type": "book", "title": "U"}}',
    ],
    "local-citation-json": [
        '{"a_b_0": {"masked_text": "x TARGETCIT", "citing_id": "a", "refid": "b"}}',
        '{\n "P1": {"title": "T", "abstract": "A"},\n "P2": {"title": "U", "abs',
        '[{"masked_text": "x", "citing_id": "a", "refid": "b"}]',
        '{"A_B_0": {"masked_text": "' + LONG,
        '{"A": {"title": "T", "abstract": "x"}, "B"',
    ],
    "beir-corpus": [
        '{"_id": "1", "title": "T", "text": "x"}\n{"_id": "2", "title": "U", "text": "y"}\n',
        '{"_id": "1", "title": "", "text": "x", "metadata": {"url": "u"}}\n',
        '{"_id": "1", "text": "' + LONG,
        '{"_id": "1", "text": "' + "many words " * 99 + '"}\n{"_id": "2", "text": "few"}\n',
    ],
    "beir-queries": [
        '{"_id": "1", "text": "x"}\n',
        '{"_id": "1", "text": "x", "metadata": {}}\n{"_id": "2", "text": "y"}\n',
    ],
    "jsonl": [
        '{"doc_id": "a", "title": "T"}\n',
        '{"id": "a", "title": "T", "abstract": "A"}\n',
        '{"paper_id": "p", "contexts": [{"text": "x", "cites": ["1"]}]}\n',
        '{"citing": "a", "context": "x", "cited": ["b"]}\n',
        '{"citing": "a", "context": "' + LONG,
        '{"paper_id": "a", "title": "T", "contexts": [{"sentences": [{"text": "' + LONG,
        '{"query_id": "1", "text": "x"}\n',
        '{"query_id": "1", "doc_id": "a", "relevance": 1}\n',
    ],
    "csv": [
        "id,title,year\n1,Sorting apples,2010\n2,Pears,2011\n",
        "id\ttitle\tyear\n1\tSorting apples\t2010\n",
        "Author;Title;Year\nMuster, Anna;Sorting apples;2010\n",
        'sep=;\nTitle;DOI\n"Apples; and pears";10.1/x\n',
        '"About the data: by Dimensions."\n"Publication ID","DOI","Title"\n"p","10.1/x","T"\n',
        "PT\tAU\tTI\tSO\tUT\nJ\tMuster, A\tSorting apples\tFRUIT\tWOS:1\n",
    ],
    "tsv-queries": [
        "1\thow are apples sorted\n2\twhat of pears\n",
        "qid\tquery\nq1\tcovid 19\nq2\twhat of pears\n",
        "12\tcovid 19\n13\tapollo 11\n",
    ],
    "tsv-documents": ["1\t" + "a passage of many words " * 40 + "\n2\tshort one\n"],
}
CASES = [(name, head) for name, heads in HEADS.items() for head in heads]
CASES += [(name, sample.decode()) for name, sample in SAMPLES.items()]

NOT_OURS = {
    "prose": "Sorting apples is hard.\n\nWe write to anna@example.org about 3 apples.\n",
    "numbered prose": "[1] A. Muster. Sorting apples. 2010.\n[2] B. Beispiel. Pears. 2011.\n",
    "README": "# citebed\n\nA *workbench*, see [docs](https://example.org).\n\n- one\n- two\n",
    "README with BibTeX far inside": "# Title\n\nCite as\n\n    see the paper\n",
    "Python": "import re\n\n@cache\ndef test_a(x: int) -> None:\n    assert x\n",
    "Java": "@Override\npublic String a() { return x; }\n",
    "CSS": "@media print { a { color: red } }\n@import url(x);\nbody { margin: 0 }\n",
    "C": "#include <stdio.h>\nint main(void) { return 0; }\n",
    "another CSV": "name,colour,weight\napple,red,7\npear,green,8\n",
    "prose with a comma": "Title, year and author are known.\nSo are the others, all of them.\n",
    "pairs of ids": "d1\td2\nd1\td3\nd2\td3\n",
    "counts of words": "apples\t12\npears\t7\n",
    "other YAML": "---\nname: x\non: push\njobs:\n- id: a\n  run: make\n",
    "another feed": '<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><entry></entry></feed>',
    "another RDF": '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"></rdf:RDF>',
    "percent comments": "%% A LaTeX style\n% by hand\n\\ProvidesPackage{x}\n",
    "numbers": "1.5 2.5 3.5\n1.0 2.0 3.0\n",
    "a run": "1 Q0 d1 1 12.5 bm25\n1 Q0 d2 2 11.5 bm25\n",
    "HTML": "<!DOCTYPE html>\n<html><head><title>T</title></head><body><article>x</article></body>",
    "SVG": '<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"><title>x</title></svg>',
    "DocBook": "<article xmlns='http://docbook.org/ns/docbook'><title>t</title></article>",
    "a reference list": "[1] A. Author. A title. 2001.\n[2] B. Author.\n",
    "other article": "<article><h1>News</h1><p>Text</p></article>",
    "other collection": "<collection><item/></collection>",
    "LaTeX": "\\documentclass{article}\n\\author{A. Muster \\texttt{anna@example.org}}\n"
    "\\begin{document}\nApples \\cite{muster2010}.\n\\end{document}\n",
    "roff": ".TH LS 1\n.SH NAME\nls\n",
    "package.json": '{"name": "x", "version": "1.0.0", "dependencies": {"a": "^1"}}',
    "package.json with an author": '{"name": "x", "version": "1", "author": "A", "license": "X"}',
    "GeoJSON": '{"type": "FeatureCollection", "features": []}',
    "an empty object": "{}",
    "an empty array": "[]",
    "a log": "2010-08-15 12:00:00 INFO started\n2010-08-15 12:00:01 INFO done\n",
    "binary": decode(bytes(range(256)) * 8)[0],
    "a mark of PDF in prose": "A file that begins with %PDF-1.5 is a PDF.\n",
    "nothing": "",
    "blank": " \n\r\n\t\n",
}


def claims(head: str) -> list[str]:
    return [name for name, format in FORMATS.items() if format.sniff(head)]


def recognised(head: str) -> str | None:
    found = recognise(head)
    return found.name if found else None


def test_every_format_has_heads() -> None:
    assert list(HEADS) == list(FORMATS)


@pytest.mark.parametrize(("name", "head"), CASES)
def test_a_head_is_claimed_by_its_own_format_alone(name: str, head: str) -> None:
    assert claims(head) == [name]


@pytest.mark.parametrize(("name", "head"), CASES)
def test_marks_blank_lines_and_line_ends_do_not_matter(name: str, head: str) -> None:
    assert claims("\n\n" + head) == [name]
    assert claims(head.replace("\n", "\r\n")) == [name]
    assert recognised("\ufeff" + head) == name
    assert recognised("\ufeff\r\n" + head.replace("\n", "\r\n")) == name


@pytest.mark.parametrize(
    ("name", "head"), [(name, head) for name, head in CASES if head.startswith("<")]
)
def test_comments_before_xml_do_not_matter(name: str, head: str) -> None:
    if not head.startswith("<?"):
        head = '<?xml version="1.0" encoding="utf-8"?>\n' + head
    declaration, _, rest = head.partition("?>")
    assert claims(f"{declaration}?>\n<!-- <doc> <TEI> @article{{a, -->\n{rest}") == [name]


@pytest.mark.parametrize("head", NOT_OURS.values(), ids=NOT_OURS)
def test_other_files_are_not_ours(head: str) -> None:
    for variant in (head, "\ufeff" + head, head.replace("\n", "\r\n")):
        assert recognised(variant) is None


DECORATORS = [
    "@dataclass(frozen=True)\nclass A:\n    x: int = 0\n",
    "import a\n\n@given(st.text())\ndef test_a(x):\n    assert x\n",
    "@Test(expected = A.class)\npublic void a() { }\n",
    "@media (min-width: 1px) { a { color: red } }\n",
]


@pytest.mark.parametrize("head", DECORATORS)
def test_decorators_are_not_bibtex(head: str) -> None:
    assert recognised(head) is None


PIECES = st.sampled_from([head for _, head in CASES] + ["<", "{", '"', "\\", "[", "@", "\0", "\n"])


@settings(deadline=None)
@given(st.text() | st.lists(PIECES | st.text(max_size=5), max_size=4).map("".join))
def test_any_text_can_be_asked_about(head: str) -> None:
    assert recognised(head) in (None, *FORMATS)
