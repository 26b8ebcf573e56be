"""References by arXiv id are found, however they are written, and preprints as what they became."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from citebed.collection import Collection, ImportOptions, Rules, import_sources, open_collection
from citebed.collection.exporting import export
from citebed.collection.names import normalise_name
from citebed.judging.papers import DocumentLookup
from citebed.retrieval.index.builder import IndexOptions, write_index

BIB = """
@article{oak, title = {Oaks in the wind}, author = {Ash, A.}, year = {2018},
  eprint = {1810.04805}, archiveprefix = {arXiv}}
@article{old, title = {Elms of old}, author = {Birch, B.}, year = {1999}, eprint = {hep-th/9901001},
  archiveprefix = {arXiv}}
@article{fir, title = {Firs under deep snow}, author = {Cedar, C. and Ash, A.}, year = {2020},
  doi = {10.1234/fir}}
@article{yew, title = {Yews by the church}, author = {Dale, D.}, year = {2021},
  doi = {10.48550/arXiv.2101.00001}}
"""


def collect(
    folder: Path, references: list[dict[str, str]], rules: Rules | None = None
) -> Collection:
    numbered = [{"ref_id": str(n), **given} for n, given in enumerate(references, 1)]
    sentences = [{"text": f"Trees [{r['ref_id']}].", "cites": [r["ref_id"]]} for r in numbered]
    context = {"context_id": "1", "section": "", "sentences": sentences}
    paper = {"paper_id": "p", "contexts": [context], "references": numbered}
    (folder / "in").mkdir()
    (folder / "in" / "a.bib").write_text(BIB)
    (folder / "in" / "papers.jsonl").write_text(json.dumps(paper) + "\n")
    import_sources(folder / "c", [folder / "in"], ImportOptions(rules=rules, workers=1))
    return open_collection(folder / "c")


@pytest.mark.parametrize(
    "given",
    [
        {"url": "https://arxiv.org/abs/1810.04805"},
        {"url": "http://arxiv.org/pdf/1810.04805v2.pdf"},
        {"doc_id": "arXiv:1810.04805"},
        {"doc_id": "arXiv: 1810.04805v1"},
        {"doi": "10.48550/arXiv.1810.04805"},
        {"url": "https://doi.org/10.48550/arxiv.1810.04805"},
        {"arxiv": "1810.04805"},
        {"raw": "https://export.arxiv.org/abs/1810.04805"},
    ],
)
def test_however_an_arxiv_id_is_written_it_is_found(tmp_path: Path, given: dict[str, str]) -> None:
    made = collect(tmp_path, [given])
    assert made.references.select("doc_id", "resolved_by").rows() == [("oak", "arxiv")]
    assert made.qrels("sentences").table["doc_id"].to_list() == ["oak"]


def test_old_ids_and_documents_known_by_arxivs_doi_are_found(tmp_path: Path) -> None:
    made = collect(
        tmp_path,
        [{"url": "https://arxiv.org/abs/hep-th/9901001v3"}, {"doc_id": "arXiv:2101.00001"}],
    )
    assert made.references["doc_id"].to_list() == ["old", "yew"]


def test_to_the_letter_nothing_of_this_counts(tmp_path: Path) -> None:
    url = "https://arxiv.org/abs/1810.04805"
    made = collect(tmp_path, [{"url": url, "raw": url}], Rules(references="exact"))
    assert made.references.select("doc_id", "resolved_by").rows() == [(None, None)]


FIR = {"title": "Firs under Deep Snow", "author": "Cedar, Carla"}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({**FIR, "arxiv": "2001.12345"}, "fir"),  # the preprint of what the collection has
        ({**FIR, "arxiv": "2001.12345", "author": "Dale, D."}, None),
        ({**FIR, "author": "Dale, D."}, None),
        ({**FIR, "doi": "10.1234/another"}, None),  # two published papers of one title
        ({"title": "Yews by the church", "author": "Dale, D.", "doi": "10.1234/yew"}, "yew"),
    ],
)
def test_preprints_are_found_by_title_and_first_author(
    tmp_path: Path, given: dict[str, str], found: str | None
) -> None:
    made = collect(tmp_path, [given])
    how = "preprint" if found else None
    assert made.references.select("doc_id", "resolved_by").rows() == [(found, how)]


def test_the_import_reports_how_references_were_found(tmp_path: Path) -> None:
    collect(tmp_path, [{"arxiv": "1810.04805"}, {**FIR, "arxiv": "2001.12345"}, {"doi": "10.1/x"}])
    report = import_sources(tmp_path / "c", [tmp_path / "in"], ImportOptions(workers=1))
    told = dict(report.lines())["references"]
    assert told.startswith("2 found in the collection: ")
    assert "by arXiv id 1" in told
    assert "title and first author are the same) 1" in told


def test_an_export_keeps_the_identifiers_of_references(tmp_path: Path) -> None:
    made = collect(tmp_path, [{"arxiv": "1810.04805", "title": "Oaks", "author": "Ash, A."}])
    export(made, "jsonl", tmp_path / "out")
    text = "".join(path.read_text() for path in sorted((tmp_path / "out").rglob("*.jsonl")))
    papers = [row for line in text.splitlines() if "paper_id" in (row := json.loads(line))]
    assert papers[0]["references"][0] | {"raw": None} == {
        "ref_id": "1", "doi": None, "arxiv": "1810.04805", "url": None, "doc_id": "oak",
        "title": "Oaks", "author": "Ash, A.", "raw": None,
    }  # fmt: skip


TEI = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt>
<title type="main">On trees</title></titleStmt></fileDesc></teiHeader><text><body><div>
<p>Oaks <ref type="bibr" target="#b0">[1]</ref>. Firs <ref type="bibr" target="#b1">[2]</ref>.</p>
</div></body><back><listBibl><biblStruct xml:id="b0"><analytic><title>Oaks</title>
<idno type="arXiv">arXiv:1810.04805v1[cs.CL]</idno></analytic></biblStruct>
<biblStruct xml:id="b1"><analytic><title>Firs under deep snow</title><author><persName>
<forename>C</forename><surname>Cedar</surname></persName></author>
<idno type="arXiv">2001.12345</idno>
</analytic></biblStruct></listBibl></back></text></TEI>"""
JATS = """<article xmlns:xlink="x"><front><article-meta><article-id pub-id-type="doi">10.1234/j
</article-id><title-group><article-title>Woods</article-title></title-group></article-meta></front>
<body><sec><p>Oaks <xref ref-type="bibr" rid="r1">1</xref>. Firs <xref ref-type="bibr"
rid="r2">2</xref>.</p></sec></body><back><ref-list><ref id="r1"><element-citation><pub-id
pub-id-type="arxiv">1810.04805</pub-id></element-citation></ref><ref id="r2"><element-citation>
<person-group><name><surname>Cedar</surname><given-names>C</given-names></name></person-group>
<article-title>Firs under deep snow</article-title>
<ext-link xlink:href="https://arxiv.org/abs/2001.12345"
/></element-citation></ref></ref-list></back></article>"""
S2ORC = json.dumps(
    {
        "paper_id": "77", "title": "Woods of words", "abstract": [],
        "body_text": [{"text": "Oaks and firs.", "section": "",
                       "cite_spans": [{"start": 0, "end": 4, "ref_id": "B0"},
                                      {"start": 9, "end": 13, "ref_id": "B1"}]}],
        "bib_entries": {
            "B0": {"title": "Oaks", "other_ids": {"arXiv": ["1810.04805"]}},
            "B1": {"title": "Firs under deep snow", "other_ids": {"arXiv": ["2001.12345"]},
                   "authors": [{"first": "C", "last": "Cedar", "middle": [], "suffix": ""}]},
        },
    }
)  # fmt: skip


@pytest.mark.parametrize(("name", "text"), [("t.xml", TEI), ("j.xml", JATS), ("s.json", S2ORC)])
def test_readers_of_full_text_keep_arxiv_ids_and_first_authors(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / "a.bib").write_text(BIB)
    (tmp_path / name).write_text(text)
    sources = [tmp_path / "a.bib", tmp_path / name]
    import_sources(tmp_path / "c", sources, ImportOptions(workers=1))
    found = open_collection(tmp_path / "c").references
    assert found.select("doc_id", "resolved_by").rows() == [("oak", "arxiv"), ("fir", "preprint")]


def test_citing_text_papers_of_campaigns_and_links_are_named_alike(tmp_path: Path) -> None:
    made = collect(tmp_path, [{"doi": "10.1/x"}])
    row = {"citing": "q", "context": "Oaks bend.", "cited": "https://arxiv.org/abs/1810.04805"}
    (tmp_path / "contexts.jsonl").write_text(json.dumps(row) + "\n")
    report = write_index(made, IndexOptions(citing=(tmp_path / "contexts.jsonl",)))
    assert report.contexts == 1
    known = DocumentLookup(made).document("https://arxiv.org/abs/1810.04805v2")
    assert known is not None
    assert known.doc_id == "oak"
    assert made.document("10.48550/arXiv.1810.04805").doc_id == "oak"


@pytest.mark.parametrize(
    "text", ["arxiv", "arXiv:", "https://arxiv.org/list/cs", "10.48550/arxiv."]
)
def test_what_names_nothing_at_arxiv_stays_as_it_is(text: str) -> None:
    assert normalise_name(text) == text.lower()
