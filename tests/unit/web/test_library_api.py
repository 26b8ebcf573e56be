"""The library over HTTP and its pages without a script: what the Python door says, and no more."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient
from lxml import html
from tests.unit.web.workbench import workbench

import citebed

API = "/api/collections/demo"
HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def folder(demo_indexed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(demo_indexed, tmp_path_factory.mktemp("library") / "demo"))


@pytest.fixture(scope="module")
def mine(folder: Path) -> citebed.Workbench:
    return citebed.open(folder)


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[TestClient]:
    with workbench(folder) as made:
        yield made


def page(client: TestClient, address: str, **query: Any) -> Any:
    answer = client.get(address, params=query or None, headers=HTML)
    assert answer.status_code == 200, answer.text[:500]
    return html.fromstring(answer.text)


def classed(root: Any, name: str, tag: str = "*") -> list[Any]:
    """The elements of a class."""
    found: list[Any] = root.xpath(f".//{tag}[contains(concat(' ', @class, ' '), ' {name} ')]")
    return found


def as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


# --- The API ------------------------------------------------------------------------------------


def test_find_answers_as_the_python_door(client: TestClient, mine: citebed.Workbench) -> None:
    asked: Any = {"words": "relevance feedback", "years": "1990-2005", "sort": "newest", "k": 5}
    answer = client.get(f"{API}/find", params=asked).json()
    among = citebed.Filter("1990-2005")
    found = mine.find("relevance feedback", among=among, sort="newest", k=5)
    assert answer["rows"] == as_json(list(found.rows))
    assert answer["facets"] == as_json(list(found.facet_rows))
    assert (answer["total"], answer["start"], answer["notes"]) == (found.total, 0, [])


def test_a_document_as_the_python_door_has_it(client: TestClient, mine: citebed.Workbench) -> None:
    name = mine.find(sort="cited", k=1).rows[0]["doc_id"]
    answer = client.get(f"{API}/document", params={"doc": name}).json()
    about = mine.about(name)
    assert answer["bibtex"] == about.bibtex
    assert answer["abstract"] == about.row["abstract"]
    assert answer["cited_by"] == as_json(list(about.cited_by))
    for part in ("cites", "cited_with", "similar"):
        assert answer[part] == as_json(about.rows(part))


def test_papers_like_these(client: TestClient, mine: citebed.Workbench) -> None:
    names = [row["doc_id"] for row in mine.find("feedback", k=3)]
    answer = client.get(f"{API}/similar", params={"doc": names, "k": 4}).json()
    assert answer["rows"] == as_json(list(mine.similar(names, 4).rows))


def test_a_map_around_a_text_a_draft_and_documents(
    client: TestClient, mine: citebed.Workbench
) -> None:
    name = mine.find(sort="cited", k=1).rows[0]["doc_id"]
    answer = client.post(f"{API}/map", json={"doc": [name], "k": 20}).json()
    assert answer["nodes"] == as_json(list(mine.map([name], 20).nodes))
    text = "Pseudo-relevance feedback adds terms from the documents that were found first."
    drawn = client.post(f"{API}/map", json={"text": text, "k": 20}).json()
    made = client.post(f"{API}/drafts", json={"text": text}).json()["draft_id"]
    assert client.post(f"{API}/map", json={"draft": made, "k": 20}).json() == drawn
    client.post(f"{API}/drafts/{made}/basket", json={"doc_id": name})
    roles = {
        node["doc_id"]: node["role"]
        for node in client.post(f"{API}/map", json={"draft": made, "k": 20}).json()["nodes"]
    }
    assert roles[name] == "cited"


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("find?sort=worst", 422),
        ("find?years=abc", 422),
        ("find?k=0", 422),
        ("find?start=-1", 422),
        ("find?nothing=1", 422),
        (f"find?words={'x' * 2001}", 422),
        ("document", 422),
        ("document?doc=nowhere", 404),
        ("similar", 422),
        ("similar?doc=nowhere", 404),
    ],
)
def test_impossible_values_are_reported(client: TestClient, address: str, status: int) -> None:
    answer = client.get(f"{API}/{address}")
    assert answer.status_code == status
    assert answer.json()["message"]


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({}, 400),
        ({"text": "a", "doc": ["b"]}, 400),
        ({"doc": ["nowhere"]}, 404),
        ({"draft": "nowhere"}, 400),
        ({"text": "a", "k": 1000}, 422),
    ],
)
def test_maps_that_cannot_be(client: TestClient, asked: dict[str, Any], status: int) -> None:
    answer = client.post(f"{API}/map", json=asked)
    assert answer.status_code == status
    assert answer.json()["message"]


# --- Pages, without a script --------------------------------------------------------------------


def test_each_state_of_the_library_has_an_address(client: TestClient) -> None:
    whole = page(client, "/c/demo/library", q="feedback")
    assert whole.get_element_by_id("words").get("value") == "feedback"
    facet = classed(whole, "facets")[0].xpath(".//a")[0]
    number = int(classed(facet, "amount")[0].text_content())
    fewer = page(client, facet.get("href"))
    assert fewer.get_element_by_id("found-title").text_content().startswith(f"{number} document")
    (chosen,) = classed(fewer, "chosen", "a")
    back = parse_qs(urlsplit(chosen.get("href")).query)
    assert back == {"q": ["feedback"]}  # choosing it again takes it back


def test_pages_of_what_was_found(client: TestClient, mine: citebed.Workbench) -> None:
    first = page(client, "/c/demo/library", sort="title")
    assert len(classed(first, "paper-card")) == 25
    after = first.xpath("//a[contains(@rel, 'next')]")[0].get("href")
    second = page(client, after)
    assert classed(second, "results", "ol")[0].get("start") == "26"
    titles = [row["title"] for row in mine.find(sort="title", start=25)]
    assert [each.text_content() for each in second.xpath("//li//h3")] == titles
    assert (
        second.xpath("//a[contains(@rel, 'prev')]")[0].get("href") == "/c/demo/library?sort=title"
    )


def test_papers_like_these_by_a_form(client: TestClient, mine: citebed.Workbench) -> None:
    names = [row["doc_id"] for row in mine.find("feedback", k=2)]
    found = page(client, "/c/demo/library", like=names)
    assert "Papers like these 2" in found.text_content()
    shown = [each.get("data-doc") for each in classed(found, "paper-card")]
    assert shown == [row["doc_id"] for row in mine.similar(names, 25)]


def test_a_document_and_who_cites_it(client: TestClient, mine: citebed.Workbench) -> None:
    name = mine.find(sort="cited", k=1).rows[0]["doc_id"]
    shown = page(client, "/c/demo/document", doc=name)
    about = mine.about(name)
    text = " ".join(shown.text_content().split())
    assert shown.xpath("//h1")[0].text_content() == about.row["title"]
    assert about.cited_by
    for row in about.cited_by:
        assert " ".join(row["sentence"].split()) in text
        assert row["by"] in text
    assert shown.get_element_by_id("bibtex").text_content() == about.bibtex
    for link in shown.xpath("//article//a[starts-with(@href, '/')]")[:8]:
        assert client.get(link.get("href"), headers=HTML).status_code == 200


def test_a_map_is_a_picture_and_a_list(client: TestClient, mine: citebed.Workbench) -> None:
    name = mine.find(sort="cited", k=1).rows[0]["doc_id"]
    shown = page(client, "/c/demo/map", doc=name)
    nodes, listed = classed(shown, "node", "a"), classed(shown, "as-list")[0].xpath(".//li/a")
    assert nodes
    assert {each.get("href") for each in nodes} == {each.get("href") for each in listed}
    assert len(nodes) == len(mine.map([name]).nodes)
    assert not shown.xpath("//*[@id='gaps-title']")
    empty = page(client, "/c/demo/map")
    assert classed(empty, "map-none")


def test_a_draft_without_text_says_so(client: TestClient) -> None:
    made = client.post(f"{API}/drafts", json={}).json()["draft_id"]
    assert "no text yet" in page(client, "/c/demo/map", draft=made).text_content()


def test_odd_addresses(client: TestClient) -> None:
    assert "is not a range of years" in page(client, "/c/demo/library", years="abc").text_content()
    assert classed(page(client, "/c/demo/library", sort="worst"), "paper-card")
    assert "Nothing found" in page(client, "/c/demo/library", q="xylophone").text_content()
    answer = client.get("/c/demo/document", params={"doc": "nowhere"}, headers=HTML)
    assert answer.status_code == 404
    assert "no document" in answer.text


def test_records_of_strangers_do_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.bib").write_text(
        "@article{one, title={{<script>alert(1)</script> of Oaks}}, author={{<b>Evil</b>}}, "
        'year=2001, url={javascript:alert(2)}, journal={"><img src=x onerror=alert(3)>}, '
        "abstract={Oaks <script>alert(4)</script>}}\n"
        "@article{two, title={Two Oaks}, author={Good, Ann}, year=2002, journal={J}}\n"
    )
    citebed.create(tmp_path / "c", [tmp_path / "x.bib"]).index(quiet=True)
    with workbench(tmp_path / "c") as client:
        for address in ("library", "document?doc=one", "map?doc=one", "library?like=one"):
            answer = client.get(f"/c/c/{address}", headers=HTML)
            assert answer.status_code == 200
            for evil in ("<script>alert", "<img src=x", 'href="javascript', "<b>Evil"):
                assert evil not in answer.text, address
