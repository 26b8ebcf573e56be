"""Experiments over HTTP: a collection's runs and judgements, scored, compared, contrasted."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.datastructures import UploadFile

from citebed.collection import Collection
from citebed.collection.storing.store import read_state
from citebed.experiments import evaluations
from citebed.experiments.choices import (
    list_corrections,
    list_measures,
    list_models,
    list_tests,
)
from citebed.experiments.evaluations import EvaluationRequest
from citebed.experiments.run_files import (
    add_files,
    count_renamed_documents,
    format_renamed_note,
    judged_queries,
    judgements_path,
    list_judgements,
    list_runs,
    remove_run,
    run_paths,
)
from citebed.web.workbench.answers import ERRORS, described
from citebed.web.workbench.jobs_api import FILES, named_files, with_files
from citebed.web.workbench.kept import states
from citebed.web.workbench.shelf import Shelved
from citebed.web.workbench.site import Here, OnShelf, WorkbenchSite
from citebed.wording import json_text

router = APIRouter(tags=["experiments"])
SECONDS = 300.0
"""What a large evaluation may take; whoever asks again finds it done."""
MOST_RUNS = 200
Name = Annotated[str, Field(max_length=300)]
Names = Annotated[list[Name], Field(max_length=50)]
Test = Literal["t", "permutation", "wilcoxon", "sign", "bootstrap"]
Correction = Literal["none", "bonferroni", "holm", "bh", "tukey"]
_T = TypeVar("_T")


class _Sent(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Chosen(_Sent):
    """Judgements and runs of the collection by name, and measures; as ``citebed evaluate``."""

    qrels: Name
    runs: Annotated[list[Name], Field(min_length=1, max_length=MOST_RUNS)]
    measures: Names = []
    complete: bool = False
    cluster: Literal["paper"] | None = None

    def choice(self, shelved: Shelved) -> EvaluationRequest:
        """The files behind the names."""
        opened = shelved.workbench
        return EvaluationRequest(
            collection=opened,
            qrels=judgements_path(opened, self.qrels),
            runs=tuple(run_paths(opened.folder, self.runs)),
            **self.how(shelved),
        )

    def how(self, _: Shelved) -> dict[str, Any]:
        """The rest of the choice."""
        return {
            "measures": tuple(self.measures), "complete": self.complete,
            "cluster": self.cluster is not None,
        }  # fmt: skip


class Evaluated(Chosen):
    """What to score; ``per_query`` gives every query's scores too."""

    per_query: bool = False


class Compared(Chosen):
    """What to compare, with a baseline or all pairs; as the options of ``citebed compare``."""

    baseline: Name | None = None
    test: Test = "t"
    correct: Correction = "none"

    def how(self, shelved: Shelved) -> dict[str, Any]:
        """With the design of the comparison."""
        design = {"baseline": self.baseline, "test": self.test, "correction": self.correct}
        return super().how(shelved) | design


class Contrasted(Chosen):
    """Two judgement sets to contrast; as the options of ``citebed contrast``."""

    other: Name
    test: Test = "t"
    correct: Correction = "none"

    def how(self, shelved: Shelved) -> dict[str, Any]:
        """With the second set."""
        other = judgements_path(shelved.workbench, self.other)
        design = {"other": other, "test": self.test, "correction": self.correct}
        return super().how(shelved) | design


class Followed(Chosen):
    """What to follow over time; as the options of ``citebed timeline --times COLLECTION``."""

    slices: Annotated[str, Field(max_length=20)] | None = None
    weights: Annotated[list[Annotated[str, Field(max_length=30)]], Field(max_length=10)] = [
        "uniform"
    ]
    per_query: bool = False
    per_slice: bool = False

    def how(self, shelved: Shelved) -> dict[str, Any]:
        """With slices and weights."""
        return super().how(shelved) | {"slices": self.slices, "weights": tuple(self.weights)}


class Holdings(BaseModel):
    """What there is to experiment with: runs, judgements, query sets; and what can be named."""

    runs: list[dict[str, Any]]
    judgements: list[dict[str, Any]]
    query_sets: dict[str, int]
    measures: list[dict[str, str]]
    models: list[dict[str, str]]
    tests: list[str]
    corrections: list[str]


class Rows(BaseModel):
    """Flat rows, as ``--json`` prints them, and what a reader has to know of them."""

    rows: list[dict[str, Any]]
    notes: list[str]


class Shown(Rows):
    """Scores as rows and comparisons as rows, and both as tables for people."""

    comparisons: list[dict[str, Any]]
    tables: list[dict[str, Any]]
    refused: list[dict[str, str]]


class TakenIn(BaseModel):
    """Where files were put that came along; and of each that was not taken, why."""

    files: list[str]
    refused: list[dict[str, str]]


class TakenOut(BaseModel):
    """The run that was removed."""

    run: str


@router.get(
    "/collections/{name}/experiments", response_model=None, responses=described(Holdings) | ERRORS
)
async def experiments(site: Here, shelved: OnShelf, request: Request) -> JSONResponse:
    """The collection's runs, judgements and query sets, and what measures and models there are."""
    return JSONResponse(await site.turns.run(request, lambda: holdings(site, shelved)))


@router.post(
    "/collections/{name}/runs/files", response_model=None, responses=described(TakenIn) | ERRORS,
    openapi_extra=FILES,
)  # fmt: skip
async def take_files(shelved: OnShelf, request: Request) -> JSONResponse:
    """Put runs and judgements that come along among the collection's.

    Each that is neither is ``refused``, with why; the others are taken.
    """

    def work(sent: list[UploadFile], _: str) -> dict[str, Any]:
        taken, refused = add_files(shelved.folder, named_files(sent))
        return {"files": taken, "refused": refused}

    return JSONResponse(await with_files(request, work))


@router.delete(
    "/collections/{name}/runs", response_model=None, responses=described(TakenOut) | ERRORS
)
async def remove(site: Here, shelved: OnShelf, request: Request, run: Name) -> JSONResponse:
    """Remove a run of the collection, and its file of facts, for good."""
    removed = await site.turns.run(request, lambda: remove_run(shelved.folder, run))
    return JSONResponse({"run": removed})


@router.post(
    "/collections/{name}/evaluate", response_model=None, responses=described(Rows) | ERRORS
)
async def evaluate(site: Here, shelved: OnShelf, request: Request, asked: Evaluated) -> Response:
    """Score runs against judgements, with intervals."""

    def work(choice: EvaluationRequest) -> dict[str, Any]:
        found = evaluations.run_evaluation(choice)
        rows = found.rows(choice.resampling, per_query=asked.per_query)
        return {"rows": rows, "notes": found.notes()}

    return await answered(site, shelved, request, asked, work)


@router.post("/collections/{name}/compare", response_model=None, responses=described(Rows) | ERRORS)
async def compare(site: Here, shelved: OnShelf, request: Request, asked: Compared) -> Response:
    """Compare runs with a baseline, or all pairs: differences, tests, effects."""

    def work(choice: EvaluationRequest) -> dict[str, Any]:
        evaluation = evaluations.run_evaluation(choice)
        rows = [each.row() for each in evaluations.run_comparison(choice, evaluation)]
        return {"rows": rows, "notes": evaluation.notes()}

    return await answered(site, shelved, request, asked, work)


@router.post(
    "/collections/{name}/contrast", response_model=None, responses=described(Rows) | ERRORS
)
async def contrast(site: Here, shelved: OnShelf, request: Request, asked: Contrasted) -> Response:
    """Contrast two judgement sets: the same runs under both."""

    def work(choice: EvaluationRequest) -> dict[str, Any]:
        found = evaluations.run_contrast(choice)
        return {"rows": found.all_rows(), "notes": found.notes()}

    return await answered(site, shelved, request, asked, work)


@router.post(
    "/collections/{name}/timeline", response_model=None, responses=described(Rows) | ERRORS
)
async def timeline(site: Here, shelved: OnShelf, request: Request, asked: Followed) -> Response:
    """Score runs slice by slice, by the dates of the collection's documents."""

    def work(choice: EvaluationRequest) -> dict[str, Any]:
        found = evaluations.run_timeline(choice)
        rows = found.rows(per_query=asked.per_query, per_slice=asked.per_slice)
        return {"rows": rows, "notes": [*found.notes(), *found.run_notes()]}

    return await answered(site, shelved, request, asked, work)


@router.post("/collections/{name}/scores", response_model=None, responses=described(Shown) | ERRORS)
async def scores(site: Here, shelved: OnShelf, request: Request, asked: Compared) -> Response:
    """Scores and comparisons at once, with the tables that a page shows."""
    return await answered(site, shelved, request, asked, evaluations.build_score_tables)


async def answered(
    site: WorkbenchSite,
    shelved: Shelved,
    request: Request,
    asked: Chosen,
    work: Callable[[EvaluationRequest], dict[str, Any]],
) -> Response:
    """What ``work`` makes of a choice, as JSON; asked for again, it is there at once."""

    def make() -> str:
        choice = asked.choice(shelved)
        key = (request.url.path, asked.model_dump_json())
        return kept(site, shelved, choice, key, lambda: json_text(work(choice)))

    text = await site.turns.run(request, make, SECONDS)
    return Response(text, media_type="application/json")


def kept(
    site: WorkbenchSite,
    shelved: Shelved,
    choice: EvaluationRequest,
    key: object,
    make: Callable[[], str],
) -> str:
    """What was made of these files before, or is made now."""
    files = (read_state(shelved.folder), states(choice.files))
    return site.kept.get((key, files), make, len)


def holdings(site: WorkbenchSite, shelved: Shelved) -> dict[str, Any]:
    """What there is to experiment with."""
    opened = shelved.workbench
    runs = list_runs(opened.folder)
    files = [each.path for each in runs]
    key = ("renamed", read_state(shelved.folder), states(files))
    renamed = site.kept.get(key, lambda: count_renamed_documents(opened, files))
    told = {name: format_renamed_note(number) for name, number in renamed.items()}
    return {
        "runs": [{**each.row(), "old": told.get(each.run, "")} for each in runs],
        "judgements": _judgements(site, opened),
        "query_sets": {name: opened.queries(name).height for name in opened.query_sets},
        **_known(),
    }


def _judgements(site: WorkbenchSite, opened: Collection) -> list[dict[str, Any]]:
    """The judgement sets, each with how many queries it judges and which others judge some too."""
    found = list_judgements(opened)
    judged = [
        site.kept.get(("judged", states([each.path])), partial(judged_queries, each.path))
        for each in found
    ]
    return [
        {
            **each.row(),
            "queries": len(its),
            "shares": [
                other.qrels
                for other, others in zip(found, judged, strict=True)
                if other is not each and its & others
            ],
        }
        for each, its in zip(found, judged, strict=True)
    ]


@cache
def _known() -> dict[str, Any]:
    return {
        "measures": list_measures(), "models": list_models(), "tests": list(list_tests()),
        "corrections": list(list_corrections()),
    }  # fmt: skip
