"""The how-to of a page does what it says: its route and its template are added, and served."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

from jinja2 import ChoiceLoader, DictLoader
from starlette.testclient import TestClient
from tests.unit.web.conftest import Desk

from citebed.judging import Campaign

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "page.md"


def test_a_page(desk: Desk, client: TestClient, campaign: Campaign) -> None:
    blocks = dict(
        re.findall(r"^```(python|jinja)\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
    )
    module = ModuleType("counting_pages")
    exec(compile(blocks["python"].replace("from __future__ import annotations\n", ""),
                 "page.md", "exec"), vars(module))  # fmt: skip
    site = client.app.state.site  # type: ignore[attr-defined]
    own = DictLoader({"counting.html.j2": blocks["jinja"]})
    site.templates.loader = ChoiceLoader([own, site.templates.loader])
    client.app.include_router(module.router, prefix=site.prefix)  # type: ignore[attr-defined]
    assert f"<p>{campaign.questions.height} questions</p>" in desk.get("/counting").text
    client.cookies.clear()
    assert client.get("/cr/counting").status_code in (303, 401, 403)
