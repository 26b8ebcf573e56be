"""A small hand-written file of each format that libraries and reference managers export."""

from __future__ import annotations

import json

PUBMED_XML = b"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2019//EN" "x.dtd">
<PubmedArticleSet>
<PubmedArticle><MedlineCitation Status="MEDLINE" Owner="NLM"><PMID Version="1">101</PMID>
<Article PubModel="Print"><Journal><JournalIssue CitedMedium="Print"><Volume>12</Volume>
<Issue>3</Issue><PubDate><Year>2010</Year><Month>Aug</Month><Day>15</Day></PubDate></JournalIssue>
<Title>Journal of fruit</Title></Journal>
<ArticleTitle>Sorting <i>apples</i> &amp; p&#233;ches.</ArticleTitle>
<Pagination><MedlinePgn>123-9</MedlinePgn></Pagination>
<ELocationID EIdType="doi" ValidYN="Y">10.1234/Fruit.7</ELocationID>
<Abstract><AbstractText Label="AIM">To sort.</AbstractText><AbstractText>We did.</AbstractText>
</Abstract><AuthorList CompleteYN="Y"><Author ValidYN="Y"><LastName>Muster</LastName>
<ForeName>Anna B</ForeName><Initials>AB</Initials></Author><Author><CollectiveName>Fruit Group
</CollectiveName></Author></AuthorList><Language>eng</Language><PublicationTypeList>
<PublicationType UI="D016428">Journal Article</PublicationType></PublicationTypeList></Article>
<MeshHeadingList><MeshHeading><DescriptorName UI="D1">Malus</DescriptorName></MeshHeading>
</MeshHeadingList><KeywordList Owner="NOTNLM"><Keyword>apples</Keyword></KeywordList>
</MedlineCitation><PubmedData><ArticleIdList><ArticleId IdType="pubmed">101</ArticleId>
<ArticleId IdType="doi">10.1234/fruit.7</ArticleId></ArticleIdList><ReferenceList><Reference>
<Citation>Pears.</Citation><ArticleIdList><ArticleId IdType="pubmed">102</ArticleId>
</ArticleIdList></Reference></ReferenceList></PubmedData></PubmedArticle>
<PubmedArticle><MedlineCitation><PMID>102</PMID><Article><Journal><JournalIssue><PubDate>
<MedlineDate>1998 Dec-1999 Jan</MedlineDate></PubDate></JournalIssue></Journal>
<ArticleTitle>[On pears].</ArticleTitle></Article></MedlineCitation></PubmedArticle>
<PubmedBookArticle><BookDocument><PMID>103</PMID><Book><Publisher><PublisherName>Orchard Press
</PublisherName></Publisher><BookTitle>Fruit</BookTitle><PubDate><Year>2001</Year></PubDate></Book>
<ArticleTitle>Quinces</ArticleTitle></BookDocument></PubmedBookArticle>
</PubmedArticleSet>
"""

ENDNOTE_XML = b"""<?xml version="1.0" encoding="UTF-8" ?><xml><records><record>
<database name="My.enl" path="C:\\My.enl">My.enl</database>
<source-app name="EndNote" version="20.2">EndNote</source-app><rec-number>1</rec-number>
<ref-type name="Journal Article">17</ref-type><contributors><authors>
<author><style face="normal" font="default" size="100%">Muster, Anna</style></author>
<author>Beispiel, Bert</author></authors></contributors>
<titles><title><style face="normal">Sorting </style><style face="italic">apples</style></title>
<secondary-title>Journal of Fruit</secondary-title></titles>
<pages>12-20</pages><volume>12</volume><number>3</number>
<keywords><keyword>apples</keyword><keyword>pears</keyword></keywords>
<dates><year>2010</year><pub-dates><date>Aug 15</date></pub-dates></dates>
<electronic-resource-num>10.1234/Fruit.7</electronic-resource-num>
<abstract>We sort &amp; sort.</abstract>
<urls><related-urls><url>https://example.org/7</url></related-urls></urls></record>
<record><ref-type name="Book Section">5</ref-type><contributors><authors><author>Leiter, C.</author>
</authors><secondary-authors><author>Hand, Eve</author></secondary-authors></contributors>
<titles><title>Pears</title><secondary-title>Fruit</secondary-title></titles>
<dates><year>2011</year></dates><publisher>Orchard Press</publisher></record>
<record><ref-type name="Thesis">32</ref-type><titles><title>Quinces</title></titles>
<label>leiter1999</label><dates><year>1999</year></dates></record>
</records></xml>
"""

DBLP_XML = b"""<?xml version="1.0" encoding="ISO-8859-1"?>
<!DOCTYPE dblp SYSTEM "dblp.dtd">
<dblp>
<article mdate="2020-01-01" key="journals/jf/MusterB10" publtype="informal">
<author>Anna Muster 0001</author><author>Bert J&ouml;rg Beispiel</author>
<title>Sorting <i>n</i><sup>2</sup> Apples &amp; P&eacute;ches.</title>
<pages>12-20</pages><year>2010</year><month>August</month><volume>12</volume>
<journal>J. Fruit</journal><number>3</number>
<ee>https://doi.org/10.1234/Fruit.7</ee><url>db/journals/jf/jf12.html#MusterB10</url>
</article>
<inproceedings mdate="2020-01-01" key="conf/fruit/Leiter11"><author>Clara Leiter</author>
<title>Pears?</title><booktitle>Fruit</booktitle><year>2011</year>
<crossref>conf/fruit/2011</crossref><cite>...</cite><cite>journals/jf/MusterB10</cite>
</inproceedings><www mdate="2020-01-01" key="homepages/m/AnnaMuster"><author>Anna Muster</author>
<title>Home Page</title></www>
<proceedings key="conf/fruit/2011"><editor>Eve Hand</editor><title>Fruit Conference 2011</title>
<series href="db/x">LNF</series><publisher>Orchard Press</publisher><year>2011</year></proceedings>
</dblp>
"""

ARXIV_ATOM = b"""<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <link href="http://arxiv.org/api/query?search_query%3Dall" rel="self"/>
  <title type="html">ArXiv Query: search_query=all</title><id>http://arxiv.org/api/x</id>
  <opensearch:totalResults xmlns:opensearch="http://a9.com/">3</opensearch:totalResults>
  <entry><id>http://arxiv.org/abs/1008.1234v2</id><published>2010-08-15T12:00:00Z</published>
    <title>Sorting $n^2$
  Apples</title><summary>  We sort \\'ecole apples.</summary>
    <author><name>Anna Muster</name></author><author><name>Bert Beispiel</name></author>
    <arxiv:doi xmlns:arxiv="http://arxiv.org/schemas/atom">10.1234/Fruit.7</arxiv:doi>
    <arxiv:journal_ref xmlns:arxiv="http://arxiv.org/schemas/atom">J. Fruit 12</arxiv:journal_ref>
    <category term="cs.DS" scheme="http://arxiv.org/schemas/atom"/></entry>
  <entry><id>http://arxiv.org/abs/cs/0112017v1</id><published>2001-12-11</published>
    <title>Pears</title></entry>
  <entry><id>http://arxiv.org/abs/2001.00001</id><title>Quinces</title></entry>
</feed>
"""

ZOTERO_RDF = b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 xmlns:z="http://www.zotero.org/namespaces/export#" xmlns:bib="http://purl.org/net/biblio#"
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"
 xmlns:foaf="http://xmlns.com/foaf/0.1/"
 xmlns:prism="http://prismstandard.org/namespaces/1.2/basic/">
<bib:Article rdf:about="https://example.org/7"><z:itemType>journalArticle</z:itemType>
<dcterms:isPartOf rdf:resource="urn:issn:1234-5678"/><bib:authors><rdf:Seq><rdf:li><foaf:Person>
<foaf:surname>Muster</foaf:surname><foaf:givenName>Anna</foaf:givenName></foaf:Person></rdf:li>
</rdf:Seq></bib:authors><dc:title>Sorting apples &amp; pears</dc:title><dc:date>2010-08-15</dc:date>
<dc:subject>apples</dc:subject><dc:subject><z:AutomaticTag><rdf:value>pears</rdf:value>
</z:AutomaticTag></dc:subject><dcterms:abstract>We sort.</dcterms:abstract>
<dc:identifier>DOI 10.1234/Fruit.7</dc:identifier><dc:identifier><dcterms:URI>
<rdf:value>https://example.org/7</rdf:value></dcterms:URI></dc:identifier>
<bib:pages>12-20</bib:pages></bib:Article>
<bib:Journal rdf:about="urn:issn:1234-5678"><dc:title>Journal of Fruit</dc:title>
<prism:volume>12</prism:volume><prism:number>3</prism:number></bib:Journal>
<bib:Memo rdf:about="#item_3"><rdf:value>A note.</rdf:value></bib:Memo>
<bib:BookSection rdf:about="#item_4"><z:itemType>bookSection</z:itemType><dcterms:isPartOf>
<bib:Book><dc:title>Fruit</dc:title></bib:Book></dcterms:isPartOf><dc:publisher><foaf:Organization>
<foaf:name>Orchard Press</foaf:name></foaf:Organization></dc:publisher><dc:title>Pears</dc:title>
<dc:date>2011</dc:date></bib:BookSection>
<z:Attachment rdf:about="#item_5"><z:itemType>attachment</z:itemType><dc:title>PDF</dc:title>
</z:Attachment>
<bib:Thesis rdf:about="#item_6"><z:itemType>thesis</z:itemType>
<z:citationKey>leiter1999</z:citationKey><dc:title>Quinces</dc:title></bib:Thesis>
</rdf:RDF>
"""

OPF = b"""<?xml version='1.0' encoding='utf-8'?>
<package xmlns="http://www.idpf.org/2007/opf" unique-identifier="uuid_id" version="2.0">
  <metadata xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:opf="http://www.idpf.org/2007/opf">
    <dc:identifier opf:scheme="calibre" id="calibre_id">7</dc:identifier>
    <dc:title>Sorting apples</dc:title>
    <dc:creator opf:file-as="Muster, Anna" opf:role="aut">Anna Muster</dc:creator>
    <dc:creator opf:file-as="Wort, Tom" opf:role="trl">Tom Wort</dc:creator>
    <dc:date>2010-08-15T00:00:00+00:00</dc:date>
    <dc:description>&lt;p&gt;We sort &lt;b&gt;apples&lt;/b&gt;.&lt;/p&gt;</dc:description>
    <dc:publisher>Fruit Press</dc:publisher>
    <dc:identifier opf:scheme="ISBN">9783161484100</dc:identifier>
    <dc:identifier opf:scheme="DOI">10.1234/Fruit.7</dc:identifier>
    <dc:language>eng</dc:language>
    <dc:subject>apples</dc:subject>
    <dc:subject>Trees</dc:subject>
    <meta name="calibre:series" content="Fruits of the world"/>
  </metadata>
</package>
"""
NBIB = b"""PMID- 101
OWN - NLM
DP  - 2010 Aug 15
TI  - Sorting apples and
      pears.
PG  - 123-9
LID - 10.1234/Fruit.7 [doi]
AB  - We sort apples
      and pears.
FAU - Muster, Anna B
AU  - Muster AB
FAU - Beispiel, Bert
AU  - Beispiel B
CN  - Fruit Group
LA  - eng
PT  - Journal Article
JT  - Journal of fruit
VI  - 12
IP  - 3
MH  - *Malus/growth & development
OT  - apples

PMID- 102
TI  - [On pears].
DP  - 1998 Dec-1999 Jan
AU  - Leiter C

PMID- 103
TI  - Quinces
BTI - Fruit
PB  - Orchard Press
PT  - Book Chapter
"""

WEB_OF_SCIENCE = b"""FN Clarivate Analytics Web of Science
VR 1.0
PT J
AU Muster, A
   Beispiel, B
AF Muster, Anna
   Beispiel, Bert
TI Sorting apples and
   pears
SO JOURNAL OF FRUIT
LA English
DT Article
DE apples; pears
ID MALUS
AB We sort.
CR Leiter C, 1999, J FRUIT, V1, P2, DOI 10.1234/p
   Hand E, 1998, FRUIT
PD AUG 15
PY 2010
VL 12
IS 3
BP 12
EP 20
DI 10.1234/Fruit.7
UT WOS:000000000000001
ER

PT S
AU Leiter, C
TI Pears
SE Fruit
CT Fruit Conference
DT Proceedings Paper
PY 2011
AR 7
UT WOS:000000000000002
ER

PT B
BE Hand, Eve
TI Quinces
PU ORCHARD PRESS
PY 1999
ER

EF
"""

ENW = b"""%0 Journal Article
%A Muster, Anna
%A Beispiel, Bert
%T Sorting apples and pears
%J Journal of Fruit
%V 12
%N 3
%P 12-20
%D 2010
%8 August 15
%R 10.1234/Fruit.7
%K apples
pears
%X We sort.

And sort.
%F muster2010
%U https://example.org/7

%0 Book Section
%A Leiter, Clara
%E Hand, Eve
%T Pears
%B Fruit
%D 2011

%0 Thesis
%T Quinces
%9 PhD
"""

CSL_YAML = """---
references:
- id: muster2010
  type: article-journal
  title: Sorting apples
  author:
  - family: Muster
    given: Anna
  - literal: Fruit Group
  issued: 2010-08-15
  container-title: Journal of Fruit
  page: 12-20
  DOI: 10.1234/Fruit.7
  abstract: |
    We sort.

    - And sort.
- id: pears
  type: chapter
  title: 'Pears: é'
  issued:
  - year: 2011
    month: 3
  note: ~
- id: "quinces"
  type: thesis
  title: Quinces
  issued: {date-parts: [[1999, 4]]}
  language: "NO"
...
""".encode()


def _annotated() -> bytes:
    """A paper as the API's datasets have it: places in one text, as JSON in strings."""
    places = {
        "title": [{"start": 0, "end": 7}],
        "sectionheader": [{"start": 8, "end": 11}],
        "paragraph": [{"start": 12, "end": 30}],
        "bibref": [{"start": 26, "end": 29, "attributes": {"ref_id": "b0"}}],
        "bibentry": [{"start": 31, "end": 43, "attributes": {"id": "b0", "matched_paper_id": 1}}],
        "bibtitle": [{"start": 31, "end": 37}],
    }
    text = "Quinces\nAim\nThey are hard [1].\nApples. 2010"
    annotations = {name: json.dumps(value) for name, value in places.items()}
    content = {"text": text, "annotations": annotations}
    paper = {"corpusid": 3, "externalids": {"doi": "10.1234/q"}, "content": content}
    return json.dumps(paper).encode() + b"\n"


S2ORC = (
    b'{"paper_id": "s1", "metadata": {"title": "Sorting apples", "authors": [{"first": "Anna",'
    b' "middle": ["B"], "last": "Muster", "suffix": ""}], "year": 2010}, "abstract": [{"text":'
    b' "We sort.", "cite_spans": [], "section": "Abstract"}], "body_text": [{"text": "Apples [1]'
    b' are sorted. Pears are not [2].", "cite_spans": [{"start": 7, "end": 10, "text": "[1]",'
    b' "ref_id": "BIBREF0"}, {"start": 39, "end": 42, "text": "[2]", "ref_id": null}], "section":'
    b' "Introduction"}, {"text": "Done.", "cite_spans": [], "section": "Introduction"}],'
    b' "bib_entries": {"BIBREF0": {"title": "On pears", "other_ids": {"DOI": ["10.1234/P"]},'
    b' "link": "77"}}}\n'
    b'{"paper_id": "s2", "title": "Pears", "abstract": "More.", "pdf_parse": {"body_text":'
    b' [{"text": "See [1].", "cite_spans": [{"start": 4, "end": 7, "ref_id": "b0"}]}],'
    b' "bib_entries": {"b0": {"title": "Quinces", "link": "s1"}}}}\n'
) + _annotated()

ARXIV_JSON = (
    b'{"id": "1008.1234", "submitter": "A. Muster", "authors": "Anna Muster and Bert Beispiel",'
    b' "title": "Sorting $n^2$\\n  Apples", "comments": null, "journal-ref": "J. Fruit 12", "doi":'
    b' "10.1234/Fruit.7", "categories": "cs.DS math.CO", "abstract": "  We sort \\\\\'ecole.\\n",'
    b' "versions": [{"version": "v1", "created": "Sun, 15 Aug 2010 12:00:00 GMT"}], "update_date":'
    b' "2011-01-01", "authors_parsed": [["Muster", "Anna", ""], ["Beispiel", "Bert", "Jr."]]}\n'
    b'{"id": "cs/0112017", "title": "Pears", "categories": "cs.CL", "update_date": "2001-12-11"}\n'
    b'{"id": "2001.00001", "title": "Quinces", "authors": "A. Muster, B. Beispiel", "categories":'
    b' "cs.IR", "update_date": "2020-01-02", "authors_parsed": []}\n'
)

ZOTERO_JSON = b"""{
 "config": {"id": "x", "label": "BetterBibTeX JSON"},
 "items": [
  {"itemType": "journalArticle", "citationKey": "muster2010", "title": "Sorting <i>apples</i>",
   "creators": [{"creatorType": "author", "firstName": "Anna", "lastName": "Muster"},
    {"creatorType": "author", "name": "Fruit Group"},
    {"creatorType": "editor", "firstName": "Eve", "lastName": "Hand"}],
   "date": "2010/08/15", "publicationTitle": "Journal of Fruit", "volume": "12", "issue": "3",
   "pages": "12-20", "DOI": "10.1234/Fruit.7", "tags": [{"tag": "apples"}], "extra": ["a", "b"]},
  {"itemType": "attachment", "title": "PDF"},
  {"itemType": "bookSection", "key": "ABCD2345", "title": "Pears", "bookTitle": "Fruit"},
  {"itemType": "thesis", "title": "Quinces", "university": "Orchard", "date": "1999"}
 ]
}
"""

CSV = b"""\xef\xbb\xbf"Authors","Author full names","Title","Year","Source title","Volume",\
"Issue","Art. No.","Page start","Page end","Cited by","DOI","Link","Abstract","Author Keywords",\
"Document Type","Source","EID"
"Muster A.; Beispiel B.","Muster, Anna (57190000001); Beispiel, Bert (57190000002)",\
"Sorting ""apples"" &amp; pears","2010","Journal of Fruit","12","3","","12","20","7",\
"10.1234/Fruit.7","https://example.org/7","We sort.

And sort.","apples; pears","Article","Scopus","2-s2.0-1"
"Leiter C.","Leiter, Clara (57190000003)","Pears","2011","Fruit","","","7","","","","","","","",\
"Conference paper","Scopus","2-s2.0-2"
"","","Quinces","1999","","","","","","","","","","","","Book","Scopus","2-s2.0-3"
"""

TSV_QUERIES = b"1\thow are apples sorted\n2\twhat of pears\n3\tare quinces hard\n"

TSV_DOCUMENTS = b"".join(
    b"%d\t%s\n" % (n, b"passages about %s and how they are sorted " % fruit * 9)
    for n, fruit in enumerate((b"apples", b"pears", b"quinces"))
)


def bibtex_entry(key: str, **fields: object) -> str:
    """An article in BibTeX, without the fields that are ``None``."""
    parts = (f", {name}={{{value}}}" for name, value in fields.items() if value is not None)
    return f"@article{{{key}{''.join(parts)}}}\n"
