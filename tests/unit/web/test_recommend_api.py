"""Recommending and drafts over HTTP: the one door's answers, and files that may be anybody's."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.office import packed, paragraph, word_file

import citebed
from citebed.collection.filters import Filter
from citebed.web.access import LOCAL, Keys
from citebed.web.workbench.app import create_workbench
from citebed.web.workbench.open_collections import OpenCollections

KEY = "the key of this test"
FIRST = (
    "When a query is short, pseudo-relevance feedback adds terms from the documents found first."
)
SECOND = "Test collections are built by pooling the results of many systems."
TEXT = f"{FIRST} {SECOND}"
AT = "/api/collections/demo"
OWN = "@misc{mykey, title={Relevance Based Language Models}, author={Lavrenko, V.}, year={2001}}"


@pytest.fixture(scope="module")
def folder(demo_indexed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(demo_indexed, tmp_path_factory.mktemp("workbench") / "demo"))


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[TestClient]:
    app = create_workbench(OpenCollections([folder]), Keys(KEY), hosts=frozenset(LOCAL))
    with TestClient(app, base_url="http://127.0.0.1") as made:
        made.headers["Authorization"] = f"Bearer {KEY}"
        yield made


@pytest.fixture
def draft(client: TestClient) -> str:
    """The address of a new draft."""
    made = client.post(f"{AT}/drafts", json={}).json()
    return f"{AT}/drafts/{made['draft_id']}"


def asked(client: TestClient, **asking: Any) -> dict[str, Any]:
    answer = client.post(f"{AT}/recommend", json=asking)
    assert answer.is_success, answer.text
    found: dict[str, Any] = answer.json()
    return found


def ids(found: dict[str, Any]) -> list[str]:
    return [row["doc_id"] for row in found["rows"]]


def draft_id(address: str) -> str:
    return address.rpartition("/")[2]


def send(client: TestClient, address: str, **files: bytes) -> Any:
    named = [("files", (name.replace("_", "."), data)) for name, data in files.items()]
    return client.post(f"{address}/files", files=named)


def test_filters_are_those_of_the_python_door(client: TestClient, folder: Path) -> None:
    mine = citebed.open(folder)
    found = asked(client, text=TEXT, years="-1999", types=["article"])
    wanted = mine.recommend(TEXT, each="text", among=Filter("-1999", types=("article",)))
    assert ids(found) == [each.doc_id for each in wanted]
    assert found["rows"]
    wrong = client.post(f"{AT}/recommend", json={"text": TEXT, "years": "soon"})
    assert (wrong.status_code, "is not a range of years" in wrong.json()["message"]) == (400, True)


def test_the_sentence_at_a_place_asks_alone(client: TestClient) -> None:
    found = asked(client, text=TEXT, line=1, column=len(FIRST) + 5)
    assert [each["text"] for each in found["passages"]] == [SECOND]
    assert ids(found) == ids(asked(client, text=SECOND))


def test_a_text_that_names_a_file_is_a_text(client: TestClient, tmp_path: Path) -> None:
    secret = tmp_path / "secret.tex"
    before = client.post(f"{AT}/map", json={"text": str(secret)}).text
    secret.write_text(f"{FIRST} The password is swordfish.")
    assert client.post(f"{AT}/map", json={"text": str(secret)}).text == before
    answer = client.post(f"{AT}/recommend", json={"text": str(secret)})
    assert "swordfish" not in answer.text
    assert answer.json()["rows"] == []
    inside = client.post(f"{AT}/recommend", json={"text": f"\\input{{{secret}}} {FIRST}"})
    assert "swordfish" not in inside.text


def test_half_a_word_is_not_a_mistake(client: TestClient) -> None:
    for text in ("the", "of a", "…", "qwxyz"):
        found = asked(client, text=text)
        assert found["rows"] == []
        assert found["silent"] == 1
        assert found["notes"]
        assert not any("--" in note for note in found["notes"])


def test_what_was_said_for_a_draft_is_asked_with(client: TestClient, draft: str) -> None:
    before = ids(asked(client, text=TEXT, draft=draft_id(draft)))
    client.post(f"{draft}/judgements", json={"doc_id": before[0], "relevance": 0})
    client.post(f"{draft}/judgements", json={"doc_id": before[-1], "relevance": 1})
    after = ids(asked(client, text=TEXT, draft=draft_id(draft)))
    assert before[0] not in after
    assert after.index(before[-1]) < len(before) - 1
    assert ids(asked(client, text=TEXT)) == before
    said = client.get(f"{AT}/desk/qrels")
    assert said.headers["content-disposition"] == 'attachment; filename="desk.qrels"'
    assert f" 0 {before[0]} 0\n" in said.text
    assert client.get(f"{AT}/desk/queries").headers["content-type"] == "application/x-ndjson"


def test_an_abstract_has_the_words_of_the_text_marked(client: TestClient) -> None:
    doc_id = ids(asked(client, text=FIRST))[0]
    found = client.post(f"{AT}/abstract", json={"doc_id": doc_id, "text": FIRST}).json()
    assert any(piece["marked"] for piece in found["pieces"])
    wrong = client.post(f"{AT}/abstract", json={"doc_id": "../x", "text": ""})
    assert wrong.status_code == 400


def test_choices_for_filters(client: TestClient) -> None:
    found = client.get(f"{AT}/choices").json()
    assert found["years"][0] < found["years"][1]
    counts = [each["documents"] for each in found["venues"]]
    assert counts == sorted(counts, reverse=True)
    assert {"article", "inproceedings"} <= {each["name"] for each in found["types"]}


@pytest.mark.parametrize(
    ("form", "ending", "media_type", "begin"),
    [
        ("bibtex", "bib", "application/x-bibtex", "@"),
        ("ris", "ris", "application/x-research-info-systems", "TY  - "),
        ("csl-json", "json", "application/vnd.citationstyles.csl+json", "[{"),
        ("keys", "txt", "text/plain; charset=utf-8", "\\cite{"),
    ],
)
def test_the_basket_as_a_file(
    client: TestClient, draft: str, form: str, ending: str, media_type: str, begin: str
) -> None:
    client.put(draft, json={"name": 'A "draft"\r\nSet-Cookie: x'})
    for doc_id in ids(asked(client, text=TEXT))[:2]:
        client.post(f"{draft}/basket", json={"doc_id": doc_id})
    answer = client.get(f"{draft}/export", params={"form": form})
    assert answer.headers["content-type"] == media_type
    name = f"a-draft-set-cookie-x.{ending}"
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
    assert answer.text.startswith(begin)
    assert client.get(f"{draft}/export", params={"form": "docx"}).status_code == 422


def test_documents_that_are_gone_are_left_out(client: TestClient, draft: str) -> None:
    client.post(f"{draft}/basket", json={"doc_id": "no longer there"})
    assert client.get(f"{draft}/papers").json() == {"basket": [], "judged": []}
    assert client.get(f"{draft}/export").text == ""


def test_a_sent_draft_with_a_library_of_the_user(client: TestClient, draft: str) -> None:
    text = f"# One\n\n{FIRST} [?]\n\n# Two\n\n{SECOND}"
    sent = send(client, draft, my_md=text.encode(), my_bib=OWN.encode()).json()
    assert [each["text"] for each in sent["passages"]] == [FIRST, SECOND]
    assert [each["wanted"] for each in sent["passages"]] == [True, False]
    assert sent["libraries"] == ["my.bib"]
    assert client.get(f"{draft}/files").json()["passages"] == sent["passages"]
    found = asked(client, draft=draft_id(draft), each="paragraph", in_bib=True)
    assert {row["key"] for row in found["rows"]} == {"mykey"}
    second = asked(client, draft=draft_id(draft), passage=2)
    assert [each["text"] for each in second["passages"]] == [SECOND]
    client.delete(f"{draft}/files", params={"file": "my.md"})
    assert client.get(draft).json()["libraries"] == ["my.bib"]
    assert client.get(f"{draft}/files").json()["file"] == ""


def test_keys_of_the_users_library_are_cited_already(client: TestClient, draft: str) -> None:
    text = f"{FIRST} \\cite{{mykey}}"
    before = ids(asked(client, text=text, draft=draft_id(draft)))
    send(client, draft, my_bib=OWN.encode())
    found = asked(client, text=text, draft=draft_id(draft))
    (own,) = set(before) - set(ids(found))
    assert found["left_out"] == [own]
    kept = asked(client, text=text, draft=draft_id(draft), keep_cited=True)
    assert [row["key"] for row in kept["rows"] if row["in_bib"]] == ["mykey"]


def test_word_and_zip(client: TestClient, draft: str) -> None:
    assert send(client, draft, a_docx=word_file(paragraph(FIRST))).json()["file"] == "a.docx"
    inside = {"../../up.tex": f"\\documentclass{{a}}\\begin{{document}}{FIRST}\\end{{document}}"}
    assert send(client, draft, a_zip=packed(inside)).json()["file"] == "up.tex"


def test_what_cannot_be_read_is_reported_and_changes_nothing(
    client: TestClient, draft: str
) -> None:
    send(client, draft, a_txt=FIRST.encode())
    answer = send(client, draft, b_png=b"\x89PNG")
    assert answer.status_code == 400
    assert "PNG image" in answer.json()["message"]
    assert "/tmp" not in answer.text
    assert client.get(draft).json()["file"] == "a.txt"
    assert send(client, f"{draft}x", a_txt=FIRST.encode()).status_code == 400
    assert client.post(f"{draft}/files").status_code == 400


def test_a_save_of_an_older_version_is_answered_with_both_texts(
    client: TestClient, draft: str
) -> None:
    base = client.get(draft).json()["version"]
    assert client.put(draft, json={"text": "first", "base": base}).is_success
    answer = client.put(draft, json={"text": "second", "base": base})
    assert answer.status_code == 409
    both = answer.json()
    assert (both["draft"]["text"], both["copy"]["text"]) == ("first", "second")
    assert client.put(draft, json={"text": "third"}).status_code == 400
    chosen = {"copy_id": both["copy"]["draft_id"], "chosen": "copy"}
    stale = client.post(f"{draft}/versions", json={**chosen, "base": base})
    assert stale.status_code == 409
    now = client.post(f"{draft}/versions", json={**chosen, "base": both["draft"]["version"]})
    assert now.json()["text"] == "second"
    assert client.get(f"{AT}/drafts/{chosen['copy_id']}").json()["text"] == "first"
    client.delete(f"{AT}/drafts/{chosen['copy_id']}")


def test_drafts_are_listed_and_removed(client: TestClient, draft: str) -> None:
    listed = client.get(f"{AT}/drafts").json()["drafts"]
    assert draft_id(draft) in [each["draft_id"] for each in listed]
    assert client.delete(draft).json() == {"removed": draft_id(draft)}
    assert client.get(draft).status_code == 404


def fields(client: TestClient, name: str) -> set[str]:
    """The fields of an answer, as they are described."""
    described = client.get("/api/openapi.json").json()["components"]["schemas"]
    return set(described[name]["properties"])


def test_answers_have_the_fields_that_are_described(client: TestClient, draft: str) -> None:
    found = asked(client, text=TEXT)
    assert set(found) == fields(client, "RecommendResponse")
    assert set(found["rows"][0]) == fields(client, "RecommendedRow")
    assert set(found["passages"][0]) == fields(client, "PassageRow")
    assert set(client.get(draft).json()) == fields(client, "StoredDraftRow")
    assert set(client.get(f"{draft}/files").json()) == fields(client, "DraftFiles")
    client.post(f"{draft}/basket", json={"doc_id": ids(found)[0]})
    (paper,) = client.get(f"{draft}/papers").json()["basket"]
    assert set(paper) == fields(client, "DraftPaper")


def test_a_very_long_text_is_kept_and_asks_for_a_sentence_only(
    client: TestClient, draft: str
) -> None:
    whole = f"{FIRST}\n\n" * 2000
    base = client.get(draft).json()["version"]
    assert client.put(draft, json={"text": whole, "base": base}).is_success
    refused = client.post(f"{AT}/recommend", json={"text": whole})
    assert refused.status_code == 422
    assert "100000" in refused.json()["message"]
    name = draft.rpartition("/")[2]
    refused = client.post(f"{AT}/recommend", json={"draft": name})
    assert refused.status_code == 400
    assert "100,000" in refused.json()["message"]
    assert client.post(f"{AT}/map", json={"draft": name}).status_code == 400


def test_a_map_knows_what_the_files_of_a_draft_cite(client: TestClient, draft: str) -> None:
    latex = f"\\documentclass{{a}}\\begin{{document}}{FIRST} \\cite{{mykey}}\\end{{document}}"
    sent = [("files", ("main.tex", latex.encode())), ("files", ("mine.bib", OWN.encode()))]
    assert client.post(f"{draft}/files", files=sent).is_success
    drawn = client.post(f"{AT}/map", json={"draft": draft.rpartition("/")[2]}).json()
    roles = {node["title"]: node["role"] for node in drawn["nodes"]}
    assert roles["Relevance Based Language Models"] == "cited"
    places = {node["doc_id"]: (node["x"], node["y"]) for node in drawn["nodes"]}
    taken = next(node["doc_id"] for node in drawn["nodes"] if node["role"] == "recommended")
    client.post(f"{draft}/basket", json={"doc_id": taken})
    again = client.post(f"{AT}/map", json={"draft": draft.rpartition("/")[2]}).json()
    assert {node["doc_id"]: (node["x"], node["y"]) for node in again["nodes"]} == places
    assert next(n["role"] for n in again["nodes"] if n["doc_id"] == taken) == "cited"
    cited = {node["group"] for node in again["nodes"] if node["role"] == "cited"}
    assert not cited & {gap["group"] for gap in again["gaps"]}
