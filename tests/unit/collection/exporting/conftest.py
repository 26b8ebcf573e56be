"""A small collection with everything a form may have to hold."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from citebed.collection import Collection, ImportOptions, Rules, import_sources, open_collection

BIB = r"""
@string{jds = "Journal of Demonstrations"}
@article{adams2001, author = {Adams, Ann and B{\"o}hm, Bo and {IBM Research, Z{\"u}rich}},
  title = {On "Naming" {\&} Counting: 100\% of $x^2$ <cats>}, journal = jds, year = 2001,
  month = aug, doi = {10.5072/cats.1}, keywords = {cats, naming; of things},
  abstract = {Braces \{ and \}, a tab	and a backslash \textbackslash{}. "Quoted"
  in 'lines'; a @misc{x, y}.}}
@inproceedings{10.5072/S1071-5819(20)30022-7, author = {Chen, Chi}, title = {Sheep, at Scale},
  year = {2010}, crossref = {sheep10}, note = {an extra field}}
@proceedings{sheep10, title = {Proceedings of the Sheep Conference}, year = {2010},
  editor = {Dow, Dee}, publisher = {Meadow Press}}
@book(two words, author = "Dow, Dee", title = "A Book of Doors", year = 1999)
@misc{zero,
  title = {Broken},
  year = {2003}
"""
RECORDS = (
    {
        "doc_id": "ibm, inc.{7}",
        "type": "techreport",
        "title": "Ψυχή & soul; 東京\\",
        "authors": [{"literal": "IBM Research"}, "Müller, Jörg", "Plato"],
        "date": "2010-08-15",
        "abstract": 'Line one. 1 < 2 && 3 > 2, #5 ~ _x_ — "fin"',
        "keywords": ["a, b", "c; d"],
        "sections": [{"heading": "One", "text": "Full “text”."}, {"heading": "", "text": "More."}],
        "links": [{"target": "adams2001", "kind": "coupled", "weight": 0.1}, "zero"],
    },
    {"doc_id": "10.5072/no.doi", "title": "An Id that looks like a DOI", "doi": None},
    {"doc_id": "ibm- inc.[7]", "title": "Almost the same key", "year": 1999},
)
XML = """<doc><id>paper-one</id><year>2005</year><title>Cats and Sheep</title><contexts>
<context id="01" section="introduction"><s>Nothing &amp; more.</s>
<s cites="1,2" anonymised="true">Cats [1] and sheep [2].</s></context>
<context id="02" section="method"><s cites="3,1">Elsewhere [3].</s></context>
</contexts><references><reference id="1">10.5072/CATS.1</reference>
<reference id="2">10.5072/S1071-5819(20)30022-7</reference>
<reference id="3">https://example.org/x</reference></references></doc>
"""
TOPICS = """<top>
<num> Number: q1
<title> cats &amp; dogs
<desc> Description:
Papers on cats, "named" &lt;b&gt;
<narr> Narrative:
</top>
<top>
<num> Number: q2
<title> unjudged
<desc> Description:
Nobody looked
</top>
"""
QRELS = "q1 0 adams2001 2\nq1 0 zero 0\n"


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files the small collection is made from."""
    folder = tmp_path_factory.mktemp("sources")
    records = "".join(json.dumps(record) + "\n" for record in RECORDS)
    for name, text in (
        ("refs.bib", BIB),
        ("paper.xml", XML),
        ("more.jsonl", records),
        ("cats.topics", TOPICS),
        ("cats.qrels", QRELS),
    ):
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def small(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """The small collection: eight documents, a citing paper, three query sets."""
    folder = tmp_path_factory.mktemp("small") / "my small: set"
    import_sources(folder, [sources], ImportOptions(workers=1))
    return open_collection(folder)


@pytest.fixture
def imported(tmp_path: Path) -> Callable[..., Collection]:
    """Imports paths into a fresh collection and opens it."""

    def run(*paths: Path, rules: Rules | None = None) -> Collection:
        folder = tmp_path / "imported"
        import_sources(folder, paths, ImportOptions(rules=rules, workers=1))
        return open_collection(folder)

    return run
