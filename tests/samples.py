"""A small hand-written file of each format that citebed reads, with several records each."""

from __future__ import annotations

from tests import library_samples as library
from tests.pdfs import SMALL_PAPER

BIBTEX = rb"""% A comment.
@string{jf = "Journal of Fruit"}
@article{muster2010,
  author = {Muster, Anna and Beispiel, Jr., Bert},
  title = {Sorting {Apples} \& p\'eches},
  journal = jf # " and Nuts",
  year = 2010,
  month = aug,
  doi = {10.1234/fruit.7},
}
@inproceedings(b,
  title = "On {Pears}", crossref = {c}, keywords = {pears; sorting}
)
@proceedings{c, title = {Fruit Conference}, year = {2011}}
"""

ACL_XML = b"""<?xml version='1.0' encoding='UTF-8'?>
<collection id="2020.fruit">
  <volume id="main" type="proceedings">
    <meta><booktitle>Proceedings of Fruit</booktitle><month>July</month><year>2020</year>
      <editor><first>Clara</first><last>Leiter</last></editor></meta>
    <frontmatter><url>2020.fruit-main.0</url></frontmatter>
    <paper id="1"><title>Sorting <fixed-case>A</fixed-case>pples &amp; pears</title>
      <author><first>Anna</first><last>Muster</last></author>
      <abstract>We sort <i>n</i><tex-math>^2</tex-math> apples.</abstract>
      <doi>10.1234/fruit.7</doi></paper>
    <paper id="2"><title>Pears</title></paper>
  </volume>
</collection>
"""

ANNOTATION_XML = b"""<doc>
<doi>10.1145/1234.5678</doi><title>Sorting apples</title><year>2010</year>
<contexts>
<context id="01" section="Introduction"><s cites="1,2">Apples [1, 2].</s>
<s cites="3" anonymised="true">As [CIT] say.</s></context>
<context id="01"><s cites="9">Pears [9].</s></context>
</contexts>
<references><reference id="1">10.1145/1.2</reference>
<reference id="2">https://example.org/x</reference><reference id="3">None</reference>
<reference id="3">10.1145</reference></references>
</doc>
"""

TEI = b"""<?xml version="1.0" encoding="UTF-8"?>
<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader xml:lang="en"><fileDesc>
<titleStmt><title level="a" type="main">Sorting apples</title></titleStmt>
<sourceDesc><biblStruct><analytic><author><persName><forename>Anna</forename>
<surname>Muster</surname></persName></author><idno type="DOI">10.1234/fruit.7</idno></analytic>
<monogr><title level="j">Journal of Fruit</title><imprint><date type="published" when="2010-08"/>
<biblScope unit="page" from="12" to="20"/></imprint></monogr></biblStruct></sourceDesc></fileDesc>
<profileDesc><abstract><p>We sort.</p></abstract></profileDesc></teiHeader>
<text><body><div><head>Introduction</head><p>Apples <ref type="bibr" target="#b0">[1]</ref> and
<formula>n<sup>2</sup></formula> pears <ref type="bibr" target="#b7">[8]</ref>.</p></div></body>
<back><div><listBibl><biblStruct xml:id="b0"><analytic><title>Pears</title>
<idno type="DOI">10.1234/p</idno></analytic></biblStruct></listBibl></div></back></text></TEI>
"""

JATS = b"""<!DOCTYPE article PUBLIC "-//NLM//DTD JATS 1.0//EN" "JATS.dtd">
<article article-type="research-article" xmlns:xlink="http://www.w3.org/1999/xlink"><front>
<journal-meta><journal-title>Journal of Fruit</journal-title></journal-meta><article-meta>
<article-id pub-id-type="doi">10.1234/fruit.7</article-id>
<title-group><article-title>Sorting <italic>apples</italic></article-title></title-group>
<contrib-group><contrib contrib-type="author"><name><surname>Muster</surname>
<given-names>Anna</given-names></name></contrib></contrib-group>
<pub-date pub-type="epub"><day>15</day><month>8</month><year>2010</year></pub-date>
<fpage>12</fpage><lpage>20</lpage><abstract><p>We sort.</p></abstract></article-meta></front>
<body><sec><title>Introduction</title><p>Apples <xref ref-type="bibr" rid="r1">1</xref>&#8211;<xref
ref-type="bibr" rid="r3">3</xref>.</p></sec></body><back><ref-list>
<ref id="r1"><pub-id pub-id-type="doi">10.1234/p</pub-id></ref><ref id="r2"/>
<ref id="r3"><ext-link xlink:href="https://example.org/x"/></ref></ref-list></back></article>
"""

TREC_TOPICS = b"""<top>
<num> Number: 301
<title> Sorting apples
<desc> Description:
How are apples &amp; pears sorted?
<narr> Narrative:
Only fruit.
</top>
<top>
<num> Number: 302
<title> Pears
</top>
"""

TREC_DOCUMENTS = b"""<DOC>
<DOCNO> FR-1 </DOCNO>
<TITLE>Sorting apples</TITLE>
<TEXT>
We sort apples &amp; <b>pears</b>.
</TEXT>
</DOC>
<DOC>
<DOCNO>0002</DOCNO>
<HEADLINE>Pears</HEADLINE>
<TEXT>More.</TEXT>
</DOC>
"""

SMART = b""".I 1
.T
Sorting apples
.A
muster,a. and beispiel,b.
.B
J. Fruit August, 1958
.W
Sorting apples
We sort apples.
.X
2\t5\t1
2\t5\t1
.I 2
.T
Pears
.W
"""

SMART_QUERIES = b""".I 001
.W
how are apples sorted
.I 002
.W
what of pears
.A
muster
"""

RIS = b"""TY  - JOUR
AU  - Muster, Anna
A2  - Leiter, Clara
TI  - Sorting <i>apples</i> &amp; pears
T2  - Journal of Fruit
PY  - 2010
DA  - 2010/08/15/
SP  - 12
EP  - 20
DO  - https://doi.org/10.1234/Fruit.7
AB  - We sort apples
and pears alike.
KW  - apples
KW  - pears; quinces
ER  -\x20

TY  - CHAP
ID  - two
T1  - Pears
ER  -\x20
"""

DOIS = b"""[1] 10.1145/1234.5678\tCHI
- [2]\thttps://example.org/x
[3] None
[4] 10.1145
[4] 10.1145/9
"""

BEIR_QRELS = b"query-id\tcorpus-id\tscore\n1\td1\t2\n1\td2\t0\n2\td1\t1.0\n"

TREC_QRELS = b"301 0 FR-1 1\n301 0 FR-2 0\n302 0 0002 2\n"

OPENALEX = (
    b'{"id": "https://openalex.org/W1", "doi": "https://doi.org/10.1234/fruit.7",'
    b' "title": "Sorting <i>apples</i>", "publication_year": 2010, "publication_date":'
    b' "2010-08-15", "authorships": [{"author": {"display_name": "Anna Muster"}}],'
    b' "abstract_inverted_index": {"We": [0], "sort": [1, 3]}, "biblio": {"first_page": "12",'
    b' "last_page": "20"}, "referenced_works": ["https://openalex.org/W2"]}\n'
    b'{"id": "https://openalex.org/W2", "title": "Pears", "authorships": [], "language": "en"}\n'
)

SEMANTIC_SCHOLAR = (
    b'{"paperId": "a1", "externalIds": {"DOI": "10.1234/fruit.7", "CorpusId": 7}, "title":'
    b' "Sorting apples", "year": 2010, "authors": [{"name": "Anna Muster"}], "references":'
    b' [{"paperId": "b2"}], "journal": {"name": "Journal of Fruit", "pages": "12-20"}}\n'
    b'{"paperId": "b2", "title": "Pears", "abstract": "More \\u00fc.", "venue": null}\n'
)

CSL_JSON = b"""[
 {"id": "muster2010", "type": "article-journal", "title": "Sorting <i>apples</i>",
  "author": [{"family": "Muster", "given": "Anna"}, {"literal": "Fruit Group"}],
  "issued": {"date-parts": [[2010, 8, 15]]}, "DOI": "10.1234/fruit.7", "page": "12-20"},
 {"id": "b", "type": "chapter", "title": "Pears \\u00e9", "container-title": ["Fruit"]}
]
"""

LOCAL_CITATION_JSON = b"""{
 "P1_P2_0": {"masked_text": "Apples TARGETCIT and OTHERCIT.", "citing_id": "P1", "refid": "P2"},
 "P1_P3_0": {"masked_text": "Pears TARGETCIT.", "citing_id": "P1", "refid": ["P3", "P4"]},
 "P5_P2_0": {"masked_text": "Nuts TARGETCIT.", "citing_id": "P5", "refid": "P2"}
}
"""

BEIR_CORPUS = (
    b'{"_id": "d1", "title": "Sorting apples", "text": "We sort.", "metadata": {"year": 2010}}\n'
    b'{"_id": "d2", "title": "Pears", "text": "More \\ud83c\\udf50."}\n'
)

BEIR_QUERIES = b'{"_id": "1", "text": "how are apples sorted"}\n{"_id": "2", "text": "pears"}\n'

JSONL = (
    b'{"doc_id": "d1", "title": "Sorting apples", "authors": ["Muster, Anna"], "year": 2010}\n'
    b'{"paper_id": "p", "contexts": [{"text": "Apples [1].", "cites": ["1"]}], "references":'
    b' [{"ref_id": "1", "doi": "10.1234/fruit.7"}]}\n'
    b'{"citing": "q", "context": "Pears [2].", "cited": ["d1", "10.1234/p"]}\n'
    b'{"query_id": "1", "text": "how are apples sorted"}\n'
    b'{"query_id": "1", "doc_id": "d1", "relevance": 2}\n'
)

SAMPLES: dict[str, bytes] = {
    "pdf": SMALL_PAPER,
    "bibtex": BIBTEX,
    "acl-xml": ACL_XML,
    "annotation-xml": ANNOTATION_XML,
    "tei": TEI,
    "jats": JATS,
    "pubmed-xml": library.PUBMED_XML,
    "endnote-xml": library.ENDNOTE_XML,
    "dblp-xml": library.DBLP_XML,
    "arxiv-atom": library.ARXIV_ATOM,
    "zotero-rdf": library.ZOTERO_RDF,
    "opf": library.OPF,
    "trec-topics": TREC_TOPICS,
    "trec-documents": TREC_DOCUMENTS,
    "smart": SMART,
    "smart-queries": SMART_QUERIES,
    "ris": RIS,
    "nbib": library.NBIB,
    "web-of-science": library.WEB_OF_SCIENCE,
    "enw": library.ENW,
    "csl-yaml": library.CSL_YAML,
    "dois": DOIS,
    "beir-qrels": BEIR_QRELS,
    "trec-qrels": TREC_QRELS,
    "openalex": OPENALEX,
    "s2orc": library.S2ORC,
    "arxiv-json": library.ARXIV_JSON,
    "zotero-json": library.ZOTERO_JSON,
    "semantic-scholar": SEMANTIC_SCHOLAR,
    "csl-json": CSL_JSON,
    "local-citation-json": LOCAL_CITATION_JSON,
    "beir-corpus": BEIR_CORPUS,
    "beir-queries": BEIR_QUERIES,
    "jsonl": JSONL,
    "csv": library.CSV,
    "tsv-queries": library.TSV_QUERIES,
    "tsv-documents": library.TSV_DOCUMENTS,
}
"""By the format's name."""
