"""Statistics of a collection, counted by hand."""

from __future__ import annotations

import json
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest
from tests.unit.retrieval.index.making import write_collection

from citebed.collection import Collection, ImportOptions, Rules, import_sources, open_collection
from citebed.collection.names import venue_series
from citebed.collection.statistics import (
    MEANS,
    TOKEN,
    CollectionStatistics,
    Number,
    collect_statistics,
)

BIB = """
@inproceedings{a, title = {Alpha of all things}, author = {Ash, Ann}, year = {2010},
  booktitle = {Proceedings of the 1st ACM Workshop on Testing}, doi = {10.1234/a},
  abstract = {One two  three
  four.}, keywords = {this, that}}
@inproceedings{b, title = {Beta of all things}, author = {Birch, Bob}, year = {2011},
  booktitle = {Proceedings of the Second International Workshop on Testing}, doi = {10.1234/b}}
@article{c, title = {Gamma of all things}, author = {Cedar, Cy}, year = {2011},
  journal = {Journal of Tests}, abstract = {Five words [stand] right here}, language = {german}}
@misc{d, title = {Delta of all things}}
@article{e, title = {Epsilon of all things}, author = {Elm, Eve}, year = {1999}}
"""
AGAIN = """
@inproceedings{other, title = {Alpha of all things}, author = {Ash, Ann}, year = {2010},
  doi = {10.1234/A}}
"""
PAPER = """<doc><doi>10.5555/one</doi><title>One</title><contexts>
<context id="01" section="introduction">
  <s cites="1,3">Alpha did it [1, 3].</s><s>Nobody else did.</s><s cites="1">See [1].</s>
</context>
<context id="02" section="introduction"><s cites="3">Others [3].</s></context>
<context id="03" section="introduction"><s>No one.</s></context>
</contexts><references>
<reference id="1">10.1234/a</reference><reference id="2">10.1234/b</reference>
<reference id="3">10.9999/unknown</reference><reference id="4">https://example.org/x.pdf</reference>
<reference id="5">None</reference>
</references></doc>"""
SHORT = """<doc><doi>10.5555/two</doi><title>Two</title><contexts>
</contexts><references><reference id="1">10.1234/a</reference></references></doc>"""
OPTIONS = ImportOptions(rules=Rules(exclude=("e",)), name="small", workers=1)


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return folder


def collect(tmp_path: Path, options: ImportOptions = OPTIONS, **files: str) -> Collection:
    import_sources(tmp_path / "collection", [write(tmp_path / "sources", **files)], options)
    return open_collection(tmp_path / "collection")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> CollectionStatistics:
    folder = tmp_path_factory.mktemp("small")
    files: dict[str, Any] = {
        "x_bib": BIB, "y_bib": AGAIN, "one_xml": PAPER, "two_xml": SHORT, "z_dat": "\0\1",
    }  # fmt: skip
    return collect_statistics(collect(folder, **files))


def values(made: CollectionStatistics, group: str) -> dict[str, float | None]:
    return {name: number.value for name, number in made.groups[group].items()}


def test_documents_are_counted_by_their_fields(small: CollectionStatistics) -> None:
    assert small.name == "small"
    assert values(small, "documents") == {
        "count": 4, "with abstract": 2, "with keywords": 1, "with DOI": 2, "with full text": 0,
        "with year": 3, "with venue": 3, "with language": 1, "words per abstract": 4.5, "venues": 2,
    }  # fmt: skip
    assert small.counts("types") == [("inproceedings", 2), ("article", 1), ("misc", 1)]
    assert [count for _, count in small.counts("languages")] == [1]
    assert small.years == ((2010, 1, 1), (2011, 2, 1))


def test_the_years_of_an_event_are_one_venue(small: CollectionStatistics) -> None:
    assert small.counts("venues") == [
        ("International Workshop on Testing", 2),
        ("Journal of Tests", 1),
    ]


def test_only_the_largest_venues_are_named(tmp_path: Path) -> None:
    made = collect_statistics(collect(tmp_path, x_bib=BIB), top_venues=1)
    assert made.counts("venues") == [("International Workshop on Testing", 2)]
    assert made.count("documents", "venues") == 2


def passages(made: CollectionStatistics, name: str, part: str) -> list[float | None]:
    """Return the number of passages and the means of their properties."""
    numbers = values(made, name)
    return [numbers[part], *(numbers[f"{mean} per passage, {part}"] for mean in MEANS)]


def test_passages_are_measured_by_their_sentences(small: CollectionStatistics) -> None:
    assert passages(small, "paragraphs", "all") == [3, 26 / 3, 62 / 3, 1.0, 4 / 3]
    assert passages(small, "paragraphs", "citing") == [2, 11.5, 27.5, 1.5, 2.0]
    assert passages(small, "paragraphs", "usable") == [1, 18.0, 44.0, 2.0, 3.0]
    assert passages(small, "sentences", "all") == [5, 26 / 5, 62 / 5, 4 / 5, 4 / 5]
    assert passages(small, "sentences", "citing") == [3, 19 / 3, 13.0, 4 / 3, 4 / 3]
    assert passages(small, "sentences", "usable") == [2, 7.0, 14.0, 1.5, 1.5]
    assert small.lengths == {"paragraphs": (18, 5, 3), "sentences": (9, 4, 5, 5, 3)}
    assert [small.count(name, "pairs") for name in small.lengths] == [1, 2]


def test_reference_lists_and_unfound_references(small: CollectionStatistics) -> None:
    assert small.per_paper == ((5, 2), (1, 1))
    assert small.groups["references"] == {
        "papers": Number(2),
        "count": Number(6),
        "found": Number(3, 0.5),
        "coverage, mean of papers": Number(pytest.approx(0.7)),  # type: ignore[arg-type]
        "per paper, mean": Number(3.0),
        "per paper, least": Number(1),
        "per paper, most": Number(5),
        "found per paper, mean": Number(1.5),
        "found per paper, least": Number(1),
        "found per paper, most": Number(2),
    }
    assert values(small, "unfound") == {
        "DOI not in the collection": 1,
        "URL only": 1,
        "nothing": 1,
    }


def test_the_import_adds_up(small: CollectionStatistics) -> None:
    assert values(small, "import") == {"files": 5, "records": 6, "merged": 1}
    assert small.counts("formats") == [("annotation-xml", 2), ("bibtex", 2)]
    assert small.counts("set aside") == [("on the exclusion list", 1)]
    assert small.counts("problems") == [("ignored", 1)]
    assert small.count("documents", "count") == 6 - 1 - 1


def test_given_queries_links_and_full_text(tmp_path: Path) -> None:
    records = [
        {"doc_id": "p", "title": "P", "sections": [{"heading": "", "text": "Long text."}]},
        {
            "doc_id": "q",
            "title": "Q",
            "links": [{"target": "p"}, {"target": "r", "kind": "coupled"}],
        },
        *({"query_id": name, "text": f"query {name}"} for name in ("1", "2", "3")),
        *(
            {"query_id": query, "doc_id": document, "relevance": grade}
            for query, document, grade in (("1", "p", 2), ("1", "q", 1), ("2", "p", 0))
        ),
    ]
    text = "\n".join(map(json.dumps, records))
    made = collect_statistics(collect(tmp_path, topics_jsonl=text))
    assert made.query_sets == ("topics",)
    assert made.groups["query set topics"] == {
        "queries": Number(3),
        "judged queries": Number(2),
        "judged pairs": Number(3),
        "relevant pairs": Number(2, 2 / 3),
        "relevant per query, mean": Number(1.0),
        "relevant per query, least": Number(0),
        "relevant per query, most": Number(2),
    }
    assert made.counts("grades topics") == [("0", 1), ("1", 1), ("2", 1)]
    assert made.counts("links") == [("cites", 1), ("coupled", 1)]
    assert made.count("documents", "with full text") == 1
    assert made.lengths == {}
    assert made.per_paper == ()


def test_full_text_under_the_id_a_merge_gave_up(tmp_path: Path) -> None:
    record = {
        "doc_id": "own",
        "title": "Alpha",
        "doi": "10.1234/a",
        "sections": [{"text": "Text."}],
    }
    made = collect_statistics(collect(tmp_path, x_bib=BIB, y_jsonl=json.dumps(record)))
    assert made.count("documents", "with full text") == 1


def test_an_empty_collection_has_nothing_of_anything(tmp_path: Path) -> None:
    made = collect_statistics(open_collection(write_collection(tmp_path, ())))
    assert set(values(made, "documents").values()) == {0, None}
    assert made.years == made.per_paper == made.query_sets == ()
    assert made.counts("venues") == []
    assert made.lengths == {}
    assert "references" not in made.groups


def test_papers_without_documents_have_no_usable_passage(tmp_path: Path) -> None:
    made = collect_statistics(collect(tmp_path, one_xml=PAPER))
    assert made.count("paragraphs", "citing") == 2
    assert passages(made, "paragraphs", "usable") == [0, None, None, None, None]
    assert made.groups["references"]["found"] == (0, 0.0)


def test_rows_are_flat_and_named_once(small: CollectionStatistics) -> None:
    made = small.rows()
    assert all(list(row) == ["group", "name", "value", "share"] for row in made)
    assert len({(row["group"], row["name"]) for row in made}) == len(made)
    values = {(row["group"], row["name"]): (row["value"], row["share"]) for row in made}
    assert values["documents", "with abstract"] == (2, 0.5)
    assert values["years", "2011"] == (2, 0.5)
    assert values["venues", "Journal of Tests"] == (1, 0.25)
    assert values["paragraphs", "usable"] == (1, 1 / 3)
    assert values["sentences", "tokens per passage, usable"] == (7.0, None)
    assert values["sentences", "pairs"] == (2, None)
    assert values["references", "found"] == (3, 0.5)
    assert values["references", "per paper, most"] == (5, None)
    assert values["unfound", "URL only"] == (1, 1 / 3)
    assert values["import", "merged"] == (1, None)
    assert values["set aside", "on the exclusion list"] == (1, 1 / 6)
    assert json.loads(json.dumps(made)) == made


def test_rows_of_a_given_set(tmp_path: Path) -> None:
    qrels = "1 0 a 2\n1 0 b 0\n2 0 a 1\n"
    made = collect_statistics(collect(tmp_path, x_bib=BIB, graded_qrels=qrels)).rows()
    values = {(row["group"], row["name"]): (row["value"], row["share"]) for row in made}
    assert values["query set graded", "relevant pairs"] == (2, 2 / 3)
    assert values["grades graded", "2"] == (1, 1 / 3)


def test_languages_by_other_names_are_one(tmp_path: Path) -> None:
    stated = ("english", "en", "EN-gb", "eng", "german", "ngerman")
    bib = "".join(
        f"@misc{{k{n}, title = {{T {n}}}, language = {{{x}}}}}" for n, x in enumerate(stated)
    )
    made = collect_statistics(collect(tmp_path, x_bib=bib))
    assert made.counts("languages") == [("en", 4), ("de", 2)]


def test_what_a_token_is() -> None:
    found = re.findall(TOKEN, "[3], state-of-the-art isn't 0.5%.")
    assert found == ["[", "3", "]", ",", "state-of-the-art", "isn't", "0.5", "%", "."]


@pytest.mark.parametrize(
    ("name", "series"),
    [
        (
            "Proceedings of the 27th ACM International Conference on Multimedia",
            "ACM International Conference on Multimedia",
        ),
        (
            "Proceedings of the Twenty-Ninth Conference on Uncertainty in Artificial Intelligence",
            "Conference on Uncertainty in Artificial Intelligence",
        ),
        (
            "Fourteenth ACM Conference on Recommender Systems",
            "ACM Conference on Recommender Systems",
        ),
        (
            "Proceedings of the 2017 ACM on Conference on Information & Knowledge Management",
            "ACM Conference on Information and Knowledge Management",
        ),
        (
            "Proceedings of the 33rd International Conference on International Conference on "
            "Machine Learning - Volume 48",
            "International Conference on Machine Learning",
        ),
        (
            "CHI '13 Extended Abstracts on Human Factors in Computing Systems",
            "CHI Extended Abstracts on Human Factors in Computing Systems",
        ),
        (
            "Proceedings of the ACM/IEEE Joint Conference on Digital Libraries in 2020",
            "ACM/IEEE Joint Conference on Digital Libraries",
        ),
        (
            "Companion Proceedings of the The Web Conference 2018",
            "Companion Proceedings of the Web Conference",
        ),
        (
            "Advances in Neural Information Processing Systems 32",
            "Advances in Neural Information Processing Systems",
        ),
        (
            "The 38th SIGIR Conference on Research, SIGIR 2015, Santiago, Chile, August 9-13, 2015",
            "SIGIR Conference on Research",
        ),
        (
            "Annual Meeting of Everyone, Berlin, Germany, August 7-12, 2016",
            "Annual Meeting of Everyone",
        ),
        ("First Monday", "First Monday"),
        ("J. Am. Soc. Inf. Sci. Technol.", "J. Am. Soc. Inf. Sci. Technol."),
        ("j. ae. scs. 29, 1962.", "j. ae. scs."),
        ("Proceedings of the VLDB Endowment", "Proceedings of the VLDB Endowment"),
        ("2001", "2001"),
        ("arXiv preprint arXiv:2004.08375", "arXiv preprint"),
        ("arXiv:2004.08375v2 [cs.IR]", "arXiv"),
        ("CoRR, abs/1706.03762", "CoRR"),
        ("arXiv hep-th/9901001", "arXiv hep-th/9901001"),
        ("ISO/IEC 2382:2015", "ISO/IEC 2382:2015"),
        ("Report 10.2004/5", "Report 10.2004/5"),
        ("R&D Letters", "R&D Letters"),
        ("Trees & Seas", "Trees and Seas"),
        ("SIGIR-2015", "SIGIR"),
        ("Journal of Tests 2004.", "Journal of Tests"),
        ("", ""),
    ],
)
def test_venue_series(name: str, series: str) -> None:
    assert venue_series(name) == series
    assert venue_series(series) == series


def test_the_published_figures_of_acm_cr(shared_data: Path, tmp_path: Path) -> None:
    data = shared_data / "acm-cr"
    (tmp_path / "bib").mkdir()
    with tarfile.open(data / "acm-dl.tar.xz") as archive:
        for _ in range(3):
            member = next(item for item in archive if item.name.endswith(".bib"))
            content = archive.extractfile(member)
            assert content
            (tmp_path / "bib" / Path(member.name).name).write_bytes(content.read())
    import_sources(tmp_path / "c", [data / "papers", tmp_path / "bib"], ImportOptions(workers=1))
    made = collect_statistics(open_collection(tmp_path / "c"))
    references = values(made, "references")
    assert references["papers"] == 50
    spread = [references[f"per paper, {name}"] for name in ("mean", "least", "most")]
    assert spread == [31.82, 8, 71]
    paragraphs, sentences = values(made, "paragraphs"), values(made, "sentences")
    assert (paragraphs["all"], paragraphs["citing"]) == (341, 341)
    assert (sentences["all"], sentences["citing"]) == (1800, 837)
    assert sentences["citations per passage, citing"] == pytest.approx(2.07, abs=0.005)
    # Table 1 of the paper.
    assert paragraphs["characters per passage, all"] == pytest.approx(809.1, abs=0.05)
    assert paragraphs["mentions per passage, all"] == pytest.approx(5.10, abs=0.005)
    assert made.count("documents", "count") > 0
