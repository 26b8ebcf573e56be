"""What a judge's page sends at each click; every answer comes after the commit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar

from fastapi import APIRouter, Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, StrictBool, ValidationError, model_validator

from citebed.errors import CitebedError
from citebed.judging.assignments import FormRow, form_items, log_once, open_link
from citebed.judging.judgements import Source, Verdict
from citebed.judging.responses import WEB, WebJudgement, approve, state_question
from citebed.judging.store.campaign_store import Transaction
from citebed.judging.store.schema import now
from citebed.web.campaigns.fields import Ago, Grade, Key, Number, Place, Sentence, Sequence, Took
from citebed.web.campaigns.site import Site, site_of

_T = TypeVar("_T")
_SURE_TO = 60_000
"""Acts are told apart by when they were done, to a minute: a message may take some seconds."""


class Act(BaseModel):
    """Something that a judge did; ``ago`` milliseconds before it was sent, if it had to wait.

    Acts of one ``browser`` are in the order of ``sequence``, whatever clocks say.
    """

    model_config = ConfigDict(extra="forbid")
    key: Key
    ago: Ago = 0
    browser: Key | None = None
    sequence: Sequence | None = None


class JudgementGiven(Act):
    """A judgement of an item: a grade, 0 or 1, or null for "can't say".

    ``withdrawn`` takes back what was said of it, and has no value. ``took`` is for how many
    milliseconds the paper was looked at since the last judgement of it.
    """

    item: Number
    value: Grade
    comment: Sentence = ""
    withdrawn: StrictBool = False
    took: Took = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if self.withdrawn and self.value is not None:
            raise ValueError("what is withdrawn has no value")
        return self


class QuestionStated(Act):
    """A research question of phase one, by its number on the form."""

    number: Place
    text: Sentence


class WordingApproved(Act):
    """Whether a query's wording is right, or which one is better."""

    number: Place
    approved: bool
    text: Sentence = ""


class JudgementSaved(BaseModel):
    """Which judgement stands; ``later`` if its judge said something else since."""

    judgement: int
    outcome: Literal["new", "same", "later"]


class QuestionSaved(BaseModel):
    """The items of a question, by the numbers of the references; ``later`` as with judgements."""

    number: int
    items: dict[int, int]
    outcome: Literal["new", "same", "later"]


class Done(BaseModel):
    """It is on record."""

    done: Literal[True] = True


class Problem(BaseModel):
    """Why something was not done."""

    message: str


class JudgeDoor(NamedTuple):
    """The site, and the token of the link that a judge's page came by."""

    site: Site
    token: str

    async def save(self, work: Callable[[Transaction, FormRow], _T]) -> _T:
        """Do something with the form of the link, which must be good at that moment."""
        return await self.site.write(lambda tx: work(tx, open_link(tx, self.token)))


async def _door(request: Request, token: str) -> JudgeDoor:
    return JudgeDoor(site_of(request), token)


Door = Annotated[JudgeDoor, Depends(_door)]
_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem} for status in (400, 403, 413, 422, 503)
}
router = APIRouter(prefix="/api/judge/{token}", responses=_ERRORS)


def _done_at(act: Act) -> datetime:
    return now() - timedelta(milliseconds=max(0, act.ago - _SURE_TO))


def _source(form: FormRow, act: Act) -> Source:
    return Source(form.person_id, form.id, WEB, _done_at(act))


# The one request that comes by the hundred: its body is read by pydantic itself and its answer
# written as it is, which takes a third less time than FastAPI's way for both.
_BODY = {"content": {"application/json": {"schema": JudgementGiven.model_json_schema()}}}


@router.post(
    "/judgement",
    response_model=JudgementSaved,
    openapi_extra={"requestBody": {**_BODY, "required": True}},
)
async def save_judgement(request: Request, token: str) -> Response:
    """Save a judgement; the same key again changes nothing."""
    try:
        act = JudgementGiven.model_validate_json(await request.body())
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_url=False)) from error
    verdict = Verdict(act.item, act.value, act.comment, act.key, act.withdrawn, act.took)
    click = WebJudgement(token, verdict, _done_at(act), act.browser, act.sequence)
    saved = await site_of(request).save(click)
    answer = f'{{"judgement":{saved.judgement_id},"outcome":"{saved.outcome}"}}'
    return Response(answer, media_type="application/json")


@router.post("/question")
async def save_question(door: Door, stated: QuestionStated) -> QuestionSaved:
    """Save a research question; another text for the same number is a new wording of it."""
    return await door.save(lambda tx, form: _state(tx, form, stated))


def _state(tx: Transaction, form: FormRow, stated: QuestionStated) -> QuestionSaved:
    source = _source(form, stated)
    outcome = state_question(tx, form, stated.number, stated.text, source)
    known = form_items(tx, form)
    mine = {entry: item for (number, entry), item in known.items() if number == stated.number}
    if not mine or outcome == "empty":
        raise CitebedError("a question needs some words.")
    return QuestionSaved(number=stated.number, items=mine, outcome=outcome)


@router.post("/approval")
async def save_approval(door: Door, act: WordingApproved) -> Done:
    """Save what an author says of a query's wording."""
    said = True if act.approved else act.text
    await door.save(lambda tx, form: approve(tx, form, act.number, said, _source(form, act)))
    return Done()


@router.post("/finished")
async def save_finished(door: Door, _: Act) -> Done:
    """A judge says that the list is done; it can still be changed."""
    await door.save(lambda tx, form: log_once(tx, form, "finished"))
    return Done()


@router.post("/opened")
async def save_opened(door: Door) -> Done:
    """A browser shows the page: scanners of mail, which only fetch it, do not count."""
    await door.save(lambda tx, form: log_once(tx, form, "opened"))
    return Done()
