"""The room of experiments, and the pages that the commands write, live."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel, Field

from citebed.experiments import evaluations
from citebed.experiments.evaluations import Back, EvaluationRequest
from citebed.web.workbench.experiments_api import (
    MOST_RUNS,
    SECONDS,
    Chosen,
    Compared,
    Contrasted,
    Correction,
    Followed,
    Name,
    Names,
    Test,
    kept,
)
from citebed.web.workbench.shelf import Shelved
from citebed.web.workbench.site import Here, OnShelf, WorkbenchSite, path

router = APIRouter()
_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
_AROUND = "; frame-ancestors 'none'; object-src 'none'"
_Weights = Annotated[list[Annotated[str, Field(max_length=30)]], Field(max_length=10)]


class Address(BaseModel):
    """All that can be chosen, as it stands in addresses."""

    qrels: Name
    run: Annotated[list[Name], Field(min_length=1, max_length=MOST_RUNS)]
    m: Names = []
    baseline: Name = ""
    test: Test = "t"
    correct: Correction = "none"
    cluster: Name = ""
    complete: Annotated[str, Field(max_length=5)] = ""
    other: Name = ""
    slices: Annotated[str, Field(max_length=20)] = ""
    weight: _Weights = ["uniform"]

    def common(self) -> Chosen:
        """What all pages are made of."""
        cluster: Literal["paper"] | None = "paper" if self.cluster else None
        return Chosen(
            qrels=self.qrels, runs=self.run, measures=self.m, cluster=cluster,
            complete=bool(self.complete),
        )  # fmt: skip


_Asked = Annotated[Address, Query()]


@router.get("/c/{name}/experiments")
async def experiments(site: Here, shelved: OnShelf) -> Response:
    """Runs and judgements to choose from, scores, and searches to begin."""
    return site.page("experiments", "experiments", shelved)


@router.get("/c/{name}/experiments/report")
async def report(site: Here, shelved: OnShelf, request: Request, asked: _Asked) -> Response:
    """The page that ``citebed report`` writes."""
    more = {"baseline": asked.baseline or None, "test": asked.test, "correct": asked.correct}
    chosen = Compared.model_validate(asked.common().model_dump() | more)
    return await _shown(site, shelved, request, chosen, evaluations.report_page)


@router.get("/c/{name}/experiments/contrast")
async def contrast(site: Here, shelved: OnShelf, request: Request, asked: _Asked) -> Response:
    """The page that ``citebed contrast --report`` writes."""
    more = {"other": asked.other, "test": asked.test, "correct": asked.correct}
    chosen = Contrasted.model_validate(asked.common().model_dump() | more)
    return await _shown(site, shelved, request, chosen, evaluations.contrast_page)


@router.get("/c/{name}/experiments/timeline")
async def timeline(site: Here, shelved: OnShelf, request: Request, asked: _Asked) -> Response:
    """The page that ``citebed timeline --report`` writes."""
    more = {"slices": asked.slices or None, "weights": asked.weight}
    chosen = Followed.model_validate(asked.common().model_dump() | more)
    return await _shown(site, shelved, request, chosen, evaluations.timeline_page)


async def _shown(
    site: WorkbenchSite,
    shelved: Shelved,
    request: Request,
    asked: Chosen,
    page: Callable[[EvaluationRequest, Back], str],
) -> Response:
    """A page of the report room as it is, under the policy that it states itself."""
    query = f"?{request.url.query}" if request.url.query else ""
    back = (path("c", shelved.name, "experiments") + query, "Experiments")

    def make() -> str:
        choice = asked.choice(shelved)
        return kept(site, shelved, choice, str(request.url), lambda: page(choice, back))

    text = await site.turns.run(request, make, SECONDS)
    stated = _POLICY.search(text)
    headers = {"Content-Security-Policy": stated[1] + _AROUND} if stated else {}
    return HTMLResponse(text.encode("utf-8", "replace"), headers=headers)
