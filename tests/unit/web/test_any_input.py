"""Valid and invalid requests to the API never give a 5xx."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from starlette.testclient import TestClient
from tests.campaigns import copied
from tests.sampling import FULL
from tests.unit.web.conftest import Judge

from citebed.judging import Campaign
from citebed.web.campaigns.app import create_app

EXAMPLES = 200 if FULL else 12


@pytest.fixture(scope="module")
def served(made_once: Campaign, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An application, a judge of phase one and one of phase two."""
    campaign = copied(made_once, tmp_path_factory.mktemp("any"))
    with TestClient(create_app(campaign, secure=False)) as client:
        yield client.app, [Judge(client, campaign, phase=phase) for phase in (1, 2)]


@pytest.fixture(scope="module")
def operations(served: Any) -> dict[str, Any]:
    """Return the API's own description."""
    app, _ = served
    app.add_api_route("/openapi.json", app.openapi, include_in_schema=False)
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    return {found.ok().path.rpartition("/")[2]: found.ok() for found in schema.get_all_operations()}


OPERATIONS = ("judgement", "question", "approval", "finished", "opened")


def test_all_of_the_api_is_tried(operations: dict[str, Any]) -> None:
    assert sorted(operations) == sorted(OPERATIONS)


TRIES = [
    (name, mode)
    for name in OPERATIONS
    for mode in GenerationMode
    if (name, mode) != ("opened", GenerationMode.NEGATIVE)  # it takes nothing, so nothing is wrong
]


@pytest.mark.parametrize(("name", "mode"), TRIES)
def test_no_input_makes_the_server_fail(
    operations: dict[str, Any], served: Any, name: str, mode: GenerationMode
) -> None:
    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(operations[name].as_strategy(generation_mode=mode))
    def sent(case: Any) -> None:
        case.call_and_validate(checks=[not_a_server_error])  # mostly refused at the door
        for judge in served[1]:
            case.path_parameters["token"] = judge.token
            case.call_and_validate(checks=[not_a_server_error])

    sent()
