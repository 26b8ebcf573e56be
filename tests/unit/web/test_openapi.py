"""The API follows its own description for any request: no 5xx, no response of another form.

The routes come from the description, so this test covers new ones, too.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, assume, given, settings
from requests import Request
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi import checks
from starlette.testclient import TestClient
from tests.sampling import FULL

from citebed.web.access import LOCAL, Keys
from citebed.web.workbench import jobs
from citebed.web.workbench.api_docs import METHODS, list_endpoints
from citebed.web.workbench.app import create_workbench
from citebed.web.workbench.jobs import JobRequest, Jobs
from citebed.web.workbench.open_collections import OpenCollections

KEY = "the key of this test"
EXAMPLES = 60 if FULL else 6
LONGEST = 65_536
"""Longer addresses the test client does not send, and a server does not read. One character of a
value takes up to twelve of its address."""
LET_IN = {"Authorization": f"Bearer {KEY}"}
IN_FORM = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]


def _described() -> list[tuple[str, str]]:
    """All ways to ask: (method, path)."""
    made = create_workbench(OpenCollections([]), Keys(KEY)).openapi()
    return [
        (name, path) for path, each in made["paths"].items() for name in METHODS if name in each
    ]


@pytest.fixture(scope="module")
def folder(demo_indexed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(demo_indexed, tmp_path_factory.mktemp("described") / "demo"))


@pytest.fixture(scope="module")
def client(folder: Path) -> Any:
    """The workbench in memory, and who is let in."""
    shelf = OpenCollections([folder], home=folder.parent)
    app = create_workbench(shelf, Keys(KEY), hosts=frozenset(LOCAL))
    with pytest.MonkeyPatch.context() as patch:  # jobs are taken, and never begun
        patch.setattr(Jobs, "_start_waiting", lambda _: None)
        patch.setattr(jobs, "MOST_QUEUED", 1_000_000)
        with TestClient(app, base_url="http://127.0.0.1", headers=LET_IN) as client:
            yield client


@pytest.fixture(scope="module")
def known(client: TestClient, folder: Path) -> dict[str, str]:
    """Parts of addresses that are there."""
    made = client.post("/api/collections/demo/drafts", json={"text": "relevance feedback"}).json()
    order = JobRequest(kind="lint", what="looked at", collection="demo", folder=folder)
    job = client.app.state.site.jobs.begin(order)  # type: ignore[attr-defined]
    return {"name": "demo", "draft_id": made["draft_id"], "job_id": job.job_id}


@pytest.fixture(scope="module")
def operations(client: TestClient) -> dict[tuple[str, str], Any]:
    """The ways to ask, as schemathesis reads them."""
    schema = schemathesis.openapi.from_dict(client.app.openapi())  # type: ignore[attr-defined]
    found = [each.ok() for each in schema.get_all_operations()]
    return {(each.method.lower(), each.path): each for each in found}


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize(("method", "path"), _described())
def test_whatever_is_sent_is_answered_as_described(
    operations: Any, client: TestClient, known: dict[str, str], method: str, path: str, mode: Any
) -> None:
    operation = operations[method, path]

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(operation.as_strategy(generation_mode=mode))
    def sent(case: Any) -> None:
        case.headers = {**(case.headers or {}), **LET_IN}
        _ask(case, client)
        case.path_parameters = {**(case.path_parameters or {}), **known}
        _ask(case, client)

    sent()


def _ask(case: Any, client: TestClient) -> None:
    sent = Request(**case.as_transport_kwargs(base_url="http://127.0.0.1")).prepare()
    assume(len(sent.url or "") <= LONGEST)
    headers = {name: value for name, value in sent.headers.items() if name != "Content-Length"}
    body = sent.body.encode() if isinstance(sent.body, str) else sent.body
    answer = client.request(sent.method, sent.url, headers=headers, content=body)  # type: ignore[arg-type]
    case.validate_response(answer, checks=IN_FORM)


def test_every_endpoint_has_a_summary_and_all_its_responses(operations: Any) -> None:
    for operation in operations.values():
        raw = operation.definition.raw
        assert raw["summary"]
        assert raw["summary"][0].isupper()
        assert {"400", "401", "403", "404", "413", "421", "422", "503"} <= set(raw["responses"])
        good = [each for status, each in raw["responses"].items() if status[0] == "2"]
        assert good
        assert all(each["description"] and each.get("content") for each in good)


def test_the_key_is_described(client: TestClient) -> None:
    made = client.get("/api/openapi.json").json()
    assert made["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    assert made["security"] == [{"key": []}]


def test_the_page_has_all_of_it_and_loads_nothing_from_elsewhere(client: TestClient) -> None:
    page = client.get("/api/docs").text
    for method, path in _described():
        assert f"<code>{path}</code>" in page, (method, path)
    assert "Authorization: Bearer $(cat KEYFILE)" in page
    assert KEY not in page
    assert 'src="http' not in page
    made = client.app.openapi()  # type: ignore[attr-defined]
    asked = next(
        way
        for way in list_endpoints(made, "")["recommend"]
        if way["path"] == "/api/collections/{name}/recommend"
    )
    assert {"text", "k", "each"} <= {field.name for field in asked["request_fields"]}
    assert "rows[].doc_id" in [field.name for field in asked["response_fields"]]
