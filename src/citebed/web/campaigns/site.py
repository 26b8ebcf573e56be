"""What every page needs: the campaign, the templates, the one writer, and the log of refusals."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import quote, urlencode

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from citebed._version import __version__
from citebed.judging.assignments import AbstractLookup, make_abstract_lookup
from citebed.judging.campaign import Campaign
from citebed.judging.forms.sheet import Entry
from citebed.judging.judgements import SaveResult
from citebed.judging.organisers import TooManyTries
from citebed.judging.papers import DocumentLookup, make_entry
from citebed.judging.responses import WebJudgement, save_web_judgements
from citebed.judging.store.campaign_store import Transaction
from citebed.judging.store.database import Unavailable
from citebed.judging.store.group_commit import GroupCommit
from citebed.pages import ready_script, templates
from citebed.retrieval.index.analyser_choice import QueryWords, query_words
from citebed.wording import for_page

HERE = Path(__file__).parent.parent
MOST_REFUSALS = 60
"""Refusals that are written down in a minute; whoever knocks more often fills no disk."""

MOST_LOGINS = 8
"""Passwords that wait to be looked at: more would take the threads that judges' pages need."""

_T = TypeVar("_T")


class Site:
    """A campaign as it is served; ``secure`` tells that browsers reach it by https."""

    def __init__(self, campaign: Campaign, *, secure: bool) -> None:
        self.campaign = campaign
        self.secure = secure
        self.prefix = f"/{campaign.name}"
        self.writer = GroupCommit(campaign)
        self._refusals: deque[float] = deque(maxlen=MOST_REFUSALS)
        self._logins = threading.BoundedSemaphore(MOST_LOGINS)
        self._templates = templates("citebed.web.templates", for_page)
        self._templates.filters |= {"web_link": web_link, "moment": moment}
        self._templates.globals |= {
            "campaign": campaign.name,
            "title": campaign.settings.title,
            "simulated": campaign.simulated,
            "path": self.path,
            "version": __version__,
            "ready": Markup(ready_script()),
        }

    @cached_property
    def abstracts(self) -> AbstractLookup:
        """Abstracts of the collection."""
        return make_abstract_lookup(self.campaign.collection)

    @cached_property
    def query_words(self) -> QueryWords:
        """What marks the words of a query."""
        return query_words(self.campaign.collection)

    @cached_property
    def _lookup(self) -> DocumentLookup:
        return DocumentLookup(self.campaign.collection)

    def entries(self, doc_ids: Iterable[str]) -> dict[str, Entry]:
        """How documents of the collection are shown."""
        documents = {doc_id: self._lookup.document(doc_id) for doc_id in doc_ids}
        return {
            doc_id: make_entry(0, document) if document else Entry(0, doc_id)
            for doc_id, document in documents.items()
        }

    def path(self, *parts: str, **query: Any) -> str:
        """A path on this site."""
        path = "/".join([self.prefix, *(quote(part, safe="") for part in parts)])
        return f"{path}?{urlencode(query)}" if query else path

    def page(self, name: str, status: int = 200, **content: Any) -> HTMLResponse:
        """A page from its template."""
        text = self._templates.get_template(f"{name}.html.j2").render(content)
        return HTMLResponse(text.encode("utf-8", "replace"), status)

    async def write(self, work: Callable[[Transaction], _T]) -> _T:
        """Have something written, and wait until it is on the disk."""
        return await asyncio.wrap_future(self.writer.submit(work))

    async def save(self, click: WebJudgement) -> SaveResult:
        """Save a judgement together with those of other judges that came meanwhile."""
        return await asyncio.wrap_future(self.writer.submit_to(save_web_judgements, click))

    @contextmanager
    def logging_in(self) -> Iterator[None]:
        """Take a place among those whose password is looked at; `TooManyTries` if none is free."""
        if not self._logins.acquire(blocking=False):
            raise TooManyTries("too many people are logging in. Try again in a minute.")
        try:
            yield
        finally:
            self._logins.release()

    async def refused(
        self, request: Request, why: str, form_id: int | None = None, who: str = "somebody"
    ) -> None:
        """Write down that somebody was not let in; nothing of a secret, and not without end."""
        now = time.monotonic()
        if len(self._refusals) == MOST_REFUSALS and now - self._refusals[0] < 60:
            return
        self._refusals.append(now)
        detail = {"why": why, "address": address_of(request), "method": request.method}
        with suppress(Unavailable):  # refused all the same
            await self.write(lambda tx: tx.log("refused", who, form_id, **detail))


def site_of(request: Request) -> Site:
    """The site that a request came to."""
    site: Site = request.app.state.site
    return site


async def _here(request: Request) -> Site:
    return site_of(request)  # in the loop: it takes no thread


Here = Annotated[Site, Depends(_here)]


def address_of(request: Request) -> str:
    """Where a request came from."""
    return request.client.host if request.client else "unknown"


def web_link(url: str | None) -> str | None:
    """An address that may be clicked on: none that would run something."""
    return url if url and url.lower().startswith(("http://", "https://")) else None


def moment(at: datetime | None) -> str:
    """A time for readers."""
    return "" if at is None else f"{at:%Y-%m-%d %H:%M} UTC"


Fields = Mapping[str, str]
"""The fields of a form that a browser sent."""
