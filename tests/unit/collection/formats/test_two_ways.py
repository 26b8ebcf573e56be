"""Record by record against the whole at once, as others read it: lxml, csv and PyYAML."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from tests.samples import SAMPLES

from citebed.collection.formats import FORMATS, Chunk
from citebed.records import Document
from citebed.text.normalise import fold


def documents(name: str, data: bytes) -> list[Document]:
    found = FORMATS[name].parse(Chunk(data, "x"))
    return [record for record in found if isinstance(record, Document)]


def whole(name: str) -> etree._Element:
    parser = etree.XMLParser(recover=True, resolve_entities=False)
    return etree.fromstring(SAMPLES[name], parser)


@pytest.mark.parametrize("name", ["pubmed-xml", "dblp-xml", "endnote-xml", "arxiv-atom"])
def test_elements_with_prefixes_are_cut_and_passed_over_as_those_without(name: str) -> None:
    plain = SAMPLES[name]
    prefixed = re.sub(rb"<(/?)(?=[A-Za-z])(?![\w.-]+:)", rb"<\1m:", plain)
    form = FORMATS[name]
    assert form.split is not None
    assert prefixed[: form.split(prefixed)].replace(b"m:", b"") == plain[: form.split(plain)]
    assert 0 < form.split(plain) < len(plain)
    both = [[str(r) for r in form.parse(Chunk(data, "x"))] for data in (plain, prefixed)]
    assert both[0] == both[1]


def test_lxml_finds_the_same_records_in_the_whole() -> None:
    numbers = [f"pmid:{e.text}" for e in whole("pubmed-xml").iter("PMID")]
    assert [d.doc_id for d in documents("pubmed-xml", SAMPLES["pubmed-xml"])] == numbers
    keys = [e.get("key") for e in whole("dblp-xml") if e.tag != "www"]
    assert [d.doc_id for d in documents("dblp-xml", SAMPLES["dblp-xml"])] == keys
    titles = [fold("".join(map(str, e.itertext()))) for e in whole("endnote-xml").iter("title")]
    assert [d.title for d in documents("endnote-xml", SAMPLES["endnote-xml"])] == titles
    ids = [str(e.text) for e in whole("arxiv-atom").iterfind("{*}entry/{*}id")]
    found = documents("arxiv-atom", SAMPLES["arxiv-atom"])
    assert [f"/abs/{d.arxiv}" in place for d, place in zip(found, ids, strict=True)] == [True] * 3


CELL = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cf"]), max_size=12)


@given(st.lists(st.tuples(CELL, CELL, CELL), max_size=6), st.sampled_from(",;\t"))
def test_files_written_by_csv_are_read(rows: list[tuple[str, str, str]], separator: str) -> None:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator="\n")
    writer.writerow(["id", "title", "abstract"])
    writer.writerows((f"n{n}", *row[1:]) for n, row in enumerate(rows))
    found = {d.doc_id: fold(d.abstract or "") for d in documents("csv", out.getvalue().encode())}
    plain = [(f"n{n}", fold(row[2])) for n, row in enumerate(rows) if fold(row[1])]
    for doc_id, abstract in plain:
        if not any(mark in abstract for mark in "<&'"):
            assert found[doc_id] == abstract


WORD = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=8)
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cf", "Zl", "Zp"]))


@given(st.lists(st.tuples(WORD, TEXT), max_size=5), st.booleans(), st.booleans())
def test_files_written_by_pyyaml_are_read(
    items: list[tuple[str, str]], wrapped: bool, flowing: bool
) -> None:
    value = [{"id": f"k{key}", "type": "book", "title": title} for key, title in items]
    text = yaml.safe_dump(
        {"references": value} if wrapped else value,
        allow_unicode=True,
        default_flow_style=None if flowing else False,
    )
    wanted = json.loads(json.dumps(value))
    found = [(d.doc_id, d.title) for d in documents("csl-yaml", text.encode())]
    odd = ("~", "null", "Null", "NULL")
    assert [doc_id for doc_id, _ in found] == [item["id"] for item in wanted]
    for (_, title), item in zip(found, wanted, strict=True):
        plain = item["title"] not in odd and not set("<&") & set(item["title"])
        assert title == fold(item["title"]) or not plain
