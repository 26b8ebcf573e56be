"""The pages of an assessor, and what they send at each click; every response follows the commit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar

from fastapi import APIRouter, Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from markupsafe import Markup
from pydantic import BaseModel, ConfigDict, StrictBool, ValidationError, model_validator

from citebed.errors import CitebedError
from citebed.judging.assignments import (
    FormRow,
    form_items,
    has_event,
    load_judge_list,
    load_sheet,
    log_once,
    open_link,
)
from citebed.judging.judgements import Source, Verdict
from citebed.judging.responses import WEB, WebJudgement, approve, opt_out, state_question
from citebed.judging.settings import guidelines_html
from citebed.judging.store.campaign_store import Transaction
from citebed.judging.store.schema import now
from citebed.web.campaigns.site import (
    MOST_QUESTIONS,
    Ago,
    CampaignSite,
    Grade,
    Here,
    Key,
    Number,
    Place,
    Sentence,
    Sequence,
    Took,
    site_of,
)

router = APIRouter(prefix="/judge/{token}")
_T = TypeVar("_T")
_EXACT_TO = 60_000
"""Delays up to a minute count as none: a message may take some seconds."""


@router.get("/", response_class=HTMLResponse)
@router.get("", response_class=HTMLResponse)
def show_list(site: Here, token: str) -> HTMLResponse:
    """Show an assessor's list with the answers so far."""
    with site.campaign.reading() as tx:
        form = open_link(tx, token)
        listed = load_judge_list(tx, form, site.abstracts)
        is_finished = has_event(tx, form, "finished")
    return site.page(
        "judge",
        token=token,
        listed=listed,
        sheet=listed.sheet,
        is_finished=is_finished,
        choices=listed.sheet.choices,
        most_questions=MOST_QUESTIONS,
        words=site.query_words,
        guidelines=Markup(guidelines_html(site.campaign.settings.guidelines)),
    )


@router.get("/papers", response_class=HTMLResponse)
def show_papers(site: Here, token: str) -> HTMLResponse:
    """Show title, authors and a link of each paper."""
    with site.campaign.reading() as tx:
        form = open_link(tx, token)
        sheet = load_sheet(tx, form)
    return site.page("papers", token=token, sheet=sheet)


@router.post("/opt-out")
async def leave(site: Here, token: str) -> RedirectResponse:
    """Stop writing to this person."""
    await site.write(lambda tx: opt_out(tx, open_link(tx, token).person_id))
    return RedirectResponse(site.path("judge", token, "left"), 303)


@router.get("/left", response_class=HTMLResponse)
def show_left(site: Here, token: str) -> HTMLResponse:
    """Confirm that the person will get no more mails."""
    with site.campaign.reading() as tx:
        open_link(tx, token)
    message = "We will not write to you again. Your answers are kept; thank you for them."
    return site.page("message", heading="You will get no more mails", message=message)


# --- requests of the page's script ------------------------------------------------------------


class JudgeAction(BaseModel):
    """An action of an assessor; ``ago`` is how many milliseconds it waited before it was sent.

    Actions of one ``browser`` are in the order of ``sequence``, whatever the clocks say.
    """

    model_config = ConfigDict(extra="forbid")
    key: Key
    ago: Ago = 0
    browser: Key | None = None
    sequence: Sequence | None = None

    def done_at(self) -> datetime:
        """Return when the action was done."""
        return now() - timedelta(milliseconds=max(0, self.ago - _EXACT_TO))


class JudgementAction(JudgeAction):
    """A judgement of an item: a grade, 0 or 1, or null for "can't say".

    The item of a form with pairs is a pair: 1 prefers the first paper, 2 the second, 0 none.

    ``withdrawn`` removes the judgement, and has no value. ``took`` is for how many milliseconds the
    paper was looked at since its last judgement.
    """

    item: Number
    value: Grade
    comment: Sentence = ""
    withdrawn: StrictBool = False
    took: Took = None

    @model_validator(mode="after")
    def _check_value(self) -> Self:
        if self.withdrawn and self.value is not None:
            raise ValueError("a withdrawn judgement has no value")
        return self


class QuestionAction(JudgeAction):
    """A research question of phase one, by its number on the form."""

    number: Place
    text: Sentence


class ApprovalAction(JudgeAction):
    """Approves the wording of a query, or gives a better one."""

    number: Place
    approved: bool
    text: Sentence = ""


class JudgementSaved(BaseModel):
    """The current judgement; the outcome is ``later`` if a newer answer exists."""

    judgement: int
    outcome: Literal["new", "same", "later"]


class QuestionSaved(BaseModel):
    """The items of a question, by the numbers of the references; outcomes as for judgements."""

    number: int
    items: dict[int, int]
    outcome: Literal["new", "same", "later"]


class Done(BaseModel):
    """The action is recorded."""

    done: Literal[True] = True


class Problem(BaseModel):
    """The reason why an action failed."""

    message: str


class JudgeContext(NamedTuple):
    """The site, and the token of an assessor's link."""

    site: CampaignSite
    token: str

    async def save(self, work: Callable[[Transaction, FormRow], _T]) -> _T:
        """Run a transaction with the form of the link, which must be valid at that moment."""
        return await self.site.write(lambda tx: work(tx, open_link(tx, self.token)))


async def _get_context(request: Request, token: str) -> JudgeContext:
    return JudgeContext(site_of(request), token)


Context = Annotated[JudgeContext, Depends(_get_context)]
_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem} for status in (400, 403, 413, 422, 503)
}
api = APIRouter(prefix="/api/judge/{token}", responses=_ERRORS)


# Judgements arrive by the hundred per second: parsing the body with pydantic and writing the
# response as text takes a third less time than FastAPI.
_BODY = {"content": {"application/json": {"schema": JudgementAction.model_json_schema()}}}


@api.post(
    "/judgement",
    response_model=JudgementSaved,
    openapi_extra={"requestBody": {**_BODY, "required": True}},
)
async def save_judgement(request: Request, token: str) -> Response:
    """Save a judgement; a second request with the same key changes nothing."""
    try:
        act = JudgementAction.model_validate_json(await request.body())
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_url=False)) from error
    verdict = Verdict(act.item, act.value, act.comment, act.key, act.withdrawn, act.took)
    click = WebJudgement(token, verdict, act.done_at(), act.browser, act.sequence)
    saved = await site_of(request).save(click)
    answer = f'{{"judgement":{saved.judgement_id},"outcome":"{saved.outcome}"}}'
    return Response(answer, media_type="application/json")


@api.post("/question")
async def save_question(context: Context, act: QuestionAction) -> QuestionSaved:
    """Save a research question; another text for the same number is a new wording of it."""

    def save(tx: Transaction, form: FormRow) -> QuestionSaved:
        source = Source(form.person_id, form.id, WEB, act.done_at())
        outcome = state_question(tx, form, act.number, act.text, source)
        known = form_items(tx, form)
        mine = {entry: item for (number, entry), item in known.items() if number == act.number}
        if not mine or outcome == "empty":
            raise CitebedError("a question needs some words.")
        return QuestionSaved(number=act.number, items=mine, outcome=outcome)

    return await context.save(save)


@api.post("/approval")
async def save_approval(context: Context, act: ApprovalAction) -> Done:
    """Save an author's approval or correction of a query's wording."""

    def save(tx: Transaction, form: FormRow) -> None:
        source = Source(form.person_id, form.id, WEB, act.done_at())
        approve(tx, form, act.number, True if act.approved else act.text, source)

    await context.save(save)
    return Done()


@api.post("/finished")
async def save_finished(context: Context, _: JudgeAction) -> Done:
    """Record that an assessor finished the list, which can still be changed."""
    await context.save(lambda tx, form: log_once(tx, form, "finished"))
    return Done()


@api.post("/opened")
async def save_opened(context: Context) -> Done:
    """Record that a browser shows the page; mail scanners only fetch it and do not count."""
    await context.save(lambda tx, form: log_once(tx, form, "opened"))
    return Done()
