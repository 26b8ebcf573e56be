"""A campaign that is being served: its pages, its writer, its log of refusals, and its errors."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cached_property
from typing import Annotated, TypeVar

from fastapi import Depends, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import AfterValidator, Field, StrictInt

from citebed.errors import CitebedError, CollectionError, FormatError
from citebed.files.system_errors import describe_error
from citebed.judging.assignments import AbstractLookup, LinkRefused
from citebed.judging.campaign import Campaign
from citebed.judging.forms.sheet import Entry
from citebed.judging.judgements import SaveResult
from citebed.judging.organisers import TooManyTries
from citebed.judging.papers import DocumentLookup, make_entry
from citebed.judging.questions import MAX_LENGTH
from citebed.judging.responses import NotOnForm, WebJudgement, save_web_judgements
from citebed.judging.store.campaign_store import Transaction
from citebed.judging.store.database import Unavailable
from citebed.judging.store.group_commit import GroupCommit
from citebed.retrieval.index.analyser_choice import QueryWords, query_words
from citebed.web.access import Throttle
from citebed.web.middleware import SAFE
from citebed.web.site import Site

logger = logging.getLogger("citebed.web")
MOST_REFUSALS = 60
"""Refusals that are logged per minute: an attacker must not fill the disk."""
MOST_LOGINS = 8
"""Simultaneous password checks: more would occupy the threads that assessors' pages need."""
MOST_QUESTIONS = 20
"""Questions on a form."""
_LATER = (
    "The server cannot read its data at the moment. Try again in a minute; saved answers are safe."
)
_T = TypeVar("_T")


class CampaignSite(Site):
    """A campaign that is being served; ``secure`` says that browsers use https."""

    def __init__(self, campaign: Campaign, *, secure: bool) -> None:
        super().__init__(
            f"/{campaign.name}", campaign=campaign.name, title=campaign.settings.title,
            simulated=campaign.simulated,
        )  # fmt: skip
        self.campaign, self.secure = campaign, secure
        self.writer = GroupCommit(campaign)
        self._refusals = Throttle(MOST_REFUSALS, 60.0)
        self._logins = threading.BoundedSemaphore(MOST_LOGINS)
        self.templates.filters |= {"web_link": keep_web_link, "moment": format_moment}

    @cached_property
    def abstracts(self) -> AbstractLookup:
        """Abstracts of the collection."""
        table = self.campaign.collection.documents
        rows = {doc_id: row for row, doc_id in enumerate(table["doc_id"])}
        column = table["abstract"]
        return lambda doc_id: (column[rows[doc_id]] or "") if doc_id in rows else ""

    @cached_property
    def query_words(self) -> QueryWords:
        """Marks the words of a query in a text."""
        return query_words(self.campaign.collection)

    @cached_property
    def _lookup(self) -> DocumentLookup:
        return DocumentLookup(self.campaign.collection)

    def entries(self, doc_ids: Iterable[str]) -> dict[str, Entry]:
        """Return what pages show of documents; unknown ones have only their id."""
        documents = {doc_id: self._lookup.document(doc_id) for doc_id in doc_ids}
        return {
            doc_id: make_entry(0, document) if document else Entry(0, doc_id)
            for doc_id, document in documents.items()
        }

    async def write(self, work: Callable[[Transaction], _T]) -> _T:
        """Run a transaction, and wait until it is on disk."""
        return await asyncio.wrap_future(self.writer.submit(work))

    async def save(self, click: WebJudgement) -> SaveResult:
        """Save a judgement, in one commit with judgements that arrive at the same time."""
        return await asyncio.wrap_future(self.writer.submit_to(save_web_judgements, click))

    @contextmanager
    def logging_in(self) -> Iterator[None]:
        """Limit simultaneous password checks; raise `TooManyTries` if there are too many."""
        if not self._logins.acquire(blocking=False):
            raise TooManyTries("too many people are logging in. Try again in a minute.")
        try:
            yield
        finally:
            self._logins.release()

    # --- refusals and errors ---------------------------------------------------------------------

    async def log_refusal(self, request: Request, why: str, form_id: int | None = None) -> None:
        """Log that a request was refused, without secrets."""
        if self._refusals.is_full():
            return
        self._refusals.add()
        detail = {"why": why, "address": client_address(request), "method": request.method}
        with suppress(Unavailable):  # the request is refused all the same
            await self.write(lambda tx: tx.log("refused", "somebody", form_id, **detail))

    def wants_json(self, request: Request) -> bool:
        """Return True if a script sent the request, not a reader."""
        is_api = request.url.path.startswith(f"{self.prefix}/api/")
        return is_api or "application/json" in request.headers.get("accept", "")

    async def refuse(self, request: Request, status: int, message: str) -> Response:
        """Return the response to a request that the middleware rejected."""
        if status == 403:
            await self.log_refusal(request, "sent by another site")
        return self.answer(request, status, "This did not work", message)

    async def handle_error(self, request: Request, error: Exception) -> Response:
        """Return the response to an error in a route, and log refusals."""
        path = request.url.path.removeprefix(self.prefix)
        match error:
            case LinkRefused():
                await self.log_refusal(request, error.why, error.form_id)
                contact = self.campaign.settings.contact
                ask = f" Write to {contact} for a new one." if contact else ""
                message = (
                    "This link is not valid: it may be incomplete, expired or replaced by a newer "
                    f"one.{ask}"
                )
                return self.answer(request, 403, "Invalid link", message)
            case NotLoggedIn():
                await self.log_refusal(request, "not logged in")
                if request.method in SAFE:
                    return RedirectResponse(self.path("login"), 303)
                return self.answer(request, 403, "Log in first", str(error))
            case ForgedForm():
                await self.log_refusal(request, "a form that is not from our page")
                return self.answer(request, 403, "Invalid form", str(error))
            case TooManyTries():
                await self.log_refusal(request, "too many wrong passwords")
                return self.answer(request, 429, "Too many attempts", str(error))
            case NotOnForm():
                await self.log_refusal(request, "a document of another list", error.form_id)
            case Unavailable():
                # Only the organisers' log says where the data are and what is wrong with them.
                return self._answer_later(request, str(error))
            case CollectionError() | FormatError() if path.startswith(("/judge/", "/api/judge/")):
                return self._answer_later(request, str(error))
            case OSError():
                return self._answer_later(request, describe_error(error))
        return await super().handle_error(request, error)

    def _answer_later(self, request: Request, reason: str) -> Response:
        logger.error("%s", reason)
        return self.answer(request, 503, "Temporarily unavailable", _LATER)


class NotLoggedIn(CitebedError):
    """A request for an organiser's page without a session."""


class ForgedForm(CitebedError):
    """A form without the token of our page."""


def site_of(request: Request) -> CampaignSite:
    """Return the site of a request."""
    site: CampaignSite = request.app.state.site
    return site


async def _get_site(request: Request) -> CampaignSite:
    return site_of(request)  # async, so that it needs no thread


Here = Annotated[CampaignSite, Depends(_get_site)]


def client_address(request: Request) -> str:
    """Return the network address of a request's sender."""
    return request.client.host if request.client else "unknown"


def keep_web_link(url: str | None) -> str | None:
    """Return an http or https URL, and None for others, which could run code when clicked."""
    return url if url and url.lower().startswith(("http://", "https://")) else None


def format_moment(at: datetime | None) -> str:
    """Format a time for readers."""
    return "" if at is None else f"{at:%Y-%m-%d %H:%M} UTC"


# --- types of fields, limited to what every database can store --------------------------------


def _check_storable(text: str) -> str:
    if "\0" in text:
        raise ValueError("a text cannot contain the character NUL")
    text.encode()  # raises an error for half of a surrogate pair
    return text


Text = Annotated[str, AfterValidator(_check_storable)]
Sentence = Annotated[Text, Field(max_length=MAX_LENGTH)]
"""A question, a wording or a comment."""
Number = Annotated[StrictInt, Field(ge=1, le=2**31 - 1)]
"""The number of an item or a search."""
Id = Annotated[int, Field(ge=1, le=2**31 - 1)]
"""The same in a URL."""
Place = Annotated[StrictInt, Field(ge=1, le=MOST_QUESTIONS)]
"""The number of a question on a form."""
Grade = Annotated[StrictInt, Field(ge=0, le=9)] | None
"""A judgement; null means "can't say"."""
Key = Annotated[str, Field(pattern=r"^[0-9A-Za-z-]{8,80}$")]
"""The key of an action: a second request with the same key changes nothing."""
Sequence = Annotated[StrictInt, Field(ge=0, le=2**53)]
"""The place of an action in the queue of its browser."""
Ago = Annotated[StrictInt, Field(ge=0, le=366 * 86_400_000)]
"""Milliseconds since the action."""
Took = Annotated[StrictInt, Field(ge=0, le=86_400_000)] | None
"""Milliseconds that an assessor looked at a paper, if known."""
