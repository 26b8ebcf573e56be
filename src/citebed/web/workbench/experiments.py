"""Experiments of a collection: runs and judgements, scored and compared, as API and as pages."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import BaseModel, Field

from citebed.collection.storing.store import read_state
from citebed.evaluation.options import CORRECTIONS, TESTS
from citebed.experiments import evaluations
from citebed.experiments.choices import list_measures, list_models
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
from citebed.files.uploads import Upload
from citebed.web.workbench import responses
from citebed.web.workbench.open_collections import OpenCollection
from citebed.web.workbench.responses import answers
from citebed.web.workbench.site import (
    TAKES_FILES,
    At,
    CollectionContext,
    StrictRequest,
    computed,
    file_states,
    with_files,
)
from citebed.wording import json_text

router = APIRouter(tags=["experiments"])
pages = APIRouter()
SECONDS = 300.0
"""Time limit of an evaluation; its result is cached, also after the client has gone."""
MOST_RUNS = 200
Name = Annotated[str, Field(max_length=300)]
Names = Annotated[list[Name], Field(max_length=50)]
Runs = Annotated[list[Name], Field(min_length=1, max_length=MOST_RUNS)]
Slices = Annotated[str, Field(max_length=20)]
Weights = Annotated[list[Annotated[str, Field(max_length=30)]], Field(max_length=10)]
Test = Literal["t", "permutation", "wilcoxon", "sign", "bootstrap"]
Correction = Literal["none", "bonferroni", "holm", "bh", "tukey"]


class RunChoice(StrictRequest):
    """Judgements and runs of the collection by name, and measures; as ``citebed evaluate``."""

    qrels: Name
    runs: Runs
    measures: Names = Field(default=[])
    complete: bool = False
    cluster: Literal["paper"] | None = None


class EvaluateBody(RunChoice):
    """Runs to score; with ``per_query``, also every query's scores."""

    per_query: bool = False


class CompareBody(RunChoice):
    """Runs to compare with a baseline or in all pairs; options as in ``citebed compare``."""

    baseline: Name | None = None
    test: Test = "t"
    correct: Correction = "none"


class ContrastBody(RunChoice):
    """Two judgement sets to contrast; options as in ``citebed contrast``."""

    other: Name
    test: Test = "t"
    correct: Correction = "none"


class TimelineBody(RunChoice):
    """Runs to follow over time; options as in ``citebed timeline --times COLLECTION``."""

    slices: Slices | None = None
    weights: Weights = Field(default=["uniform"])
    per_query: bool = False
    per_slice: bool = False


_Body = TypeVar("_Body", bound=RunChoice)


def make_request(collection: OpenCollection, asked: RunChoice) -> EvaluationRequest:
    """Return the evaluation request with the files behind the names."""
    opened = collection.workbench
    options = asked.model_dump(exclude={"runs", "per_query", "per_slice"})
    for name in options.keys() & {"qrels", "other"}:
        options[name] = judgements_path(opened, options[name])
    for name in options.keys() & {"measures", "weights"}:
        options[name] = tuple(options[name])
    if "correct" in options:
        options["correction"] = options.pop("correct")
    options["cluster"] = asked.cluster is not None
    runs = run_paths(opened.folder, asked.runs)
    return EvaluationRequest(collection=opened, runs=tuple(runs), **options)


@router.get("/collections/{name}/experiments", **answers(responses.ExperimentsResponse))
@computed
def get_experiments(at: At) -> dict[str, Any]:
    """Return the collection's runs, judgements and query sets, and the measures and models."""
    opened, cache_ = at.collection.workbench, at.site.cache
    runs = list_runs(opened.folder)
    paths = [each.path for each in runs]
    key = ("renamed", read_state(opened.folder), file_states(paths))
    renamed = cache_.get(key, lambda: count_renamed_documents(opened, paths))
    notes = {name: format_renamed_note(number) for name, number in renamed.items()}
    sets = list_judgements(opened)
    judged = [
        cache_.get(("judged", file_states([each.path])), partial(judged_queries, each.path))
        for each in sets
    ]
    pairs = list(zip(sets, judged, strict=True))
    judgements = [
        {
            **each.row(),
            "queries": len(queries),
            "shares": [
                other.qrels for other, theirs in pairs if other is not each and queries & theirs
            ],
        }
        for each, queries in pairs
    ]
    return {
        "runs": [{**each.row(), "old": notes.get(each.run, "")} for each in runs],
        "judgements": judgements,
        "query_sets": {name: opened.queries(name).height for name in opened.query_sets},
        **_list_options(),
    }


@cache
def _list_options() -> dict[str, Any]:
    return {
        "measures": list_measures(), "models": list_models(), "tests": list(TESTS),
        "corrections": list(CORRECTIONS),
    }  # fmt: skip


@router.post("/collections/{name}/runs/files", **answers(responses.UploadResponse), **TAKES_FILES)
async def add_run_files(at: At) -> JSONResponse:
    """Add runs and judgements to the collection; other files are ``refused`` with the reason."""

    def work(uploads: list[Upload], _: str) -> dict[str, Any]:
        taken, refused = add_files(at.collection.folder, uploads)
        return {"files": taken, "refused": refused}

    return JSONResponse(await with_files(at.request, work))


@router.delete("/collections/{name}/runs", **answers(responses.RunRemoved))
@computed
def delete_run(at: At, run: Name) -> dict[str, Any]:
    """Delete a run of the collection, and the file that describes it."""
    return {"run": remove_run(at.collection.folder, run)}


@router.post("/collections/{name}/evaluate", **answers(responses.ResultRows))
async def evaluate(at: At, asked: EvaluateBody) -> Response:
    """Score runs against judgements, with intervals."""

    def work(choice: EvaluationRequest) -> dict[str, Any]:
        found = evaluations.run_evaluation(choice)
        rows = found.rows(choice.resampling, per_query=asked.per_query)
        return {"rows": rows, "notes": found.notes()}

    return await _respond(at, asked, work)


@router.post("/collections/{name}/compare", **answers(responses.ResultRows))
async def compare(at: At, asked: CompareBody) -> Response:
    """Compare runs with a baseline, or in all pairs: differences, tests, effects."""

    def work(choice: EvaluationRequest) -> dict[str, Any]:
        evaluation = evaluations.run_evaluation(choice)
        rows = [each.row() for each in evaluations.run_comparison(choice, evaluation)]
        return {"rows": rows, "notes": evaluation.notes()}

    return await _respond(at, asked, work)


@router.post("/collections/{name}/contrast", **answers(responses.ResultRows))
async def contrast(at: At, asked: ContrastBody) -> Response:
    """Contrast two judgement sets: the same runs under both."""

    def work(choice: EvaluationRequest) -> dict[str, Any]:
        found = evaluations.run_contrast(choice)
        return {"rows": found.all_rows(), "notes": found.notes()}

    return await _respond(at, asked, work)


@router.post("/collections/{name}/timeline", **answers(responses.ResultRows))
async def timeline(at: At, asked: TimelineBody) -> Response:
    """Score runs slice by slice, by the dates of the collection's documents."""

    def work(choice: EvaluationRequest) -> dict[str, Any]:
        found = evaluations.run_timeline(choice)
        rows = found.rows(per_query=asked.per_query, per_slice=asked.per_slice)
        return {"rows": rows, "notes": [*found.notes(), *found.run_notes()]}

    return await _respond(at, asked, work)


@router.post("/collections/{name}/scores", **answers(responses.ScoresResponse))
async def get_scores(at: At, asked: CompareBody) -> Response:
    """Return scores and comparisons with the tables that a page shows."""
    return await _respond(at, asked, evaluations.build_score_tables)


async def _respond(
    at: CollectionContext, asked: RunChoice, work: Callable[[EvaluationRequest], dict[str, Any]]
) -> Response:
    """Respond with the result of an evaluation as JSON, cached until a file changes."""
    key = (at.request.url.path, asked.model_dump_json())
    text = await _compute(at, asked, key, lambda choice: json_text(work(choice)))
    return Response(text, media_type="application/json")


async def _compute(
    at: CollectionContext, asked: RunChoice, key: object, work: Callable[[EvaluationRequest], str]
) -> str:
    def compute() -> str:
        choice = make_request(at.collection, asked)
        files = (read_state(at.collection.folder), file_states(choice.files))
        return at.site.cache.get((key, files), lambda: work(choice), len)

    return await at.run(compute, SECONDS)


# --- pages -------------------------------------------------------------------------------------

_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
_AROUND = "; frame-ancestors 'none'; object-src 'none'"


class ExperimentUrl(BaseModel):
    """The URL parameters of the experiment pages."""

    qrels: Name
    runs: Annotated[Runs, Field(alias="run")]
    measures: Annotated[Names, Field(alias="m")] = []
    baseline: Name = ""
    test: Test = "t"
    correct: Correction = "none"
    cluster: Name = ""
    complete: Annotated[str, Field(max_length=5)] = ""
    other: Name = ""
    slices: Slices = ""
    weights: Annotated[Weights, Field(alias="weight")] = ["uniform"]

    def body(self, kind: type[_Body]) -> _Body:
        """Return what a page asks for as the body of an API request."""
        options = vars(self) | {
            "complete": bool(self.complete), "cluster": "paper" if self.cluster else None,
            "baseline": self.baseline or None, "slices": self.slices or None,
        }  # fmt: skip
        return kind(**{name: options[name] for name in options.keys() & kind.model_fields.keys()})


Url = Annotated[ExperimentUrl, Query()]


@pages.get("/c/{name}/experiments")
async def show_experiments(at: At) -> Response:
    """Show runs and judgements to choose from, their scores, and a form to search."""
    return at.page("experiments", "experiments")


@pages.get("/c/{name}/experiments/report")
async def show_report(at: At, url: Url) -> Response:
    """Show the page that ``citebed report`` writes."""
    return await _show_page(at, url.body(CompareBody), evaluations.report_page)


@pages.get("/c/{name}/experiments/contrast")
async def show_contrast(at: At, url: Url) -> Response:
    """Show the page that ``citebed contrast --report`` writes."""
    return await _show_page(at, url.body(ContrastBody), evaluations.contrast_page)


@pages.get("/c/{name}/experiments/timeline")
async def show_timeline(at: At, url: Url) -> Response:
    """Show the page that ``citebed timeline --report`` writes."""
    return await _show_page(at, url.body(TimelineBody), evaluations.timeline_page)


async def _show_page(
    at: CollectionContext,
    asked: RunChoice,
    page: Callable[[EvaluationRequest, tuple[str, str]], str],
) -> Response:
    """Respond with a report, under the content security policy that it states itself."""
    query = f"?{at.request.url.query}" if at.request.url.query else ""
    back = (at.site.path("c", at.collection.name, "experiments") + query, "Experiments")
    text = await _compute(at, asked, str(at.request.url), lambda choice: page(choice, back))
    stated = _POLICY.search(text)
    headers = {"Content-Security-Policy": stated[1] + _AROUND} if stated else {}
    return HTMLResponse(text.encode("utf-8", "replace"), headers=headers)
