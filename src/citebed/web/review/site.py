"""What the pages of a review need: the folder, templates, pictures of pages, and who may come in.

The pages are for the one who started them: they listen on this machine only, answer to no other
name, and open with the key that stands in the address the browser is sent to.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import secrets
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from citebed._version import __version__
from citebed.errors import CitebedError
from citebed.files.secret_files import is_same_secret
from citebed.pages import ready_script, templates
from citebed.papers.page_images import PageImageRequest, PageTextRequest
from citebed.papers.review import Proposal, Review
from citebed.processes import Worker, WorkerDied, WorkerError
from citebed.web.tickets import Ticket
from citebed.wording import for_page

MOST_PICTURES = 60
PATIENCE = 40.0
"""Seconds after which a page that cannot be drawn is given up."""
LOCAL = ("127.0.0.1", "localhost", "[::1]")
COOKIE = "citebed_review"


class ReviewSite:
    """A review as it is served."""

    def __init__(self, review: Review, key: str | None = None) -> None:
        self.review = review
        self.key = key or secrets.token_urlsafe(18)
        self.ticket = Ticket()
        self.token = hmac.digest(self.key.encode(), b"citebed review", hashlib.sha256).hex()
        self.pictures = Pictures()
        self._templates = templates("citebed.web.templates", for_page)
        self._templates.filters |= {"minutes": minutes}
        self._templates.globals |= {
            "title": "Papers to confirm",
            "simulated": False,
            "path": self.path,
            "version": __version__,
            "ready": Markup(ready_script()),
            "token": self.token,
        }

    def path(self, *parts: str) -> str:
        """A path on this site."""
        return "/" + "/".join(quote(part, safe="") for part in parts)

    def page(self, name: str, status: int = 200, **content: Any) -> HTMLResponse:
        """A page from its template."""
        text = self._templates.get_template(f"{name}.html.j2").render(content)
        return HTMLResponse(text.encode("utf-8", "replace"), status)

    def lets_in(self, request: Request) -> bool:
        """Whether a browser has the key: other people have accounts on this machine too."""
        given = request.cookies.get(cookie_of(request), "")
        return is_same_secret(given, self.key)

    def sent_it(self, request: Request) -> bool:
        """Whether a page of ours sent a request."""
        given = request.headers.get("x-citebed-token", "")
        return is_same_secret(given, self.token)

    def picture(self, proposal: Proposal, page: int, width: int) -> bytes:
        """A page of a paper, from where it was read, or else from the folder."""
        return self.pictures.get(PageImageRequest(*self._file(proposal), page, width))

    def marked_text(self, proposal: Proposal, page: int, *box: float) -> str:
        """The text in a part of a page."""
        return self.pictures.text(PageTextRequest(*self._file(proposal), page, *box))

    def _file(self, proposal: Proposal) -> tuple[str, str]:
        places = (proposal.pdf, self.review.folder / f"{proposal.stem}.pdf")
        path = next((place for place in places if place.is_file()), places[0])
        return str(path), proposal.pdf_hash


def cookie_of(request: Request) -> str:
    """The name of our cookie: those of all ports come together."""
    return f"{COOKIE}_{request.url.port or 80}"


def is_local(host: str) -> bool:
    """Whether a request names this machine; a name that was bent to lead here is another."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    return name.lower() in LOCAL


def minutes(seconds: float) -> str:
    """A time that somebody took, for readers."""
    whole = round(seconds)
    return f"{whole // 60}:{whole % 60:02d} min"


class Pictures:
    """Pages as pictures, one drawn at a time by a child process, and kept for a while."""

    def __init__(self) -> None:
        self._kept: OrderedDict[PageImageRequest, bytes] = OrderedDict()
        self._turn = threading.Lock()
        self._worker = Worker(_DRAWN, _LIMITED, PATIENCE, ())

    def get(self, wanted: PageImageRequest) -> bytes:
        """The picture; `CitebedError` where the page cannot be drawn."""
        with self._turn:
            if wanted not in self._kept:
                made: bytes = self._asked(wanted)
                self._kept[wanted] = made
            self._kept.move_to_end(wanted)
            while len(self._kept) > MOST_PICTURES:
                self._kept.popitem(last=False)
            return self._kept[wanted]

    def warm(self) -> None:
        """Have the child process started before the first page is asked for.

        There is no such file; whatever else is wrong is told with the first page.
        """
        with contextlib.suppress(Exception):
            self.get(PageImageRequest("", "", 0, 100))

    def text(self, marked: PageTextRequest) -> str:
        """The text in a part of a page."""
        with self._turn:
            read: str = self._asked(marked)
            return read

    def _asked(self, job: PageImageRequest | PageTextRequest) -> Any:
        try:
            return self._worker.run(job)
        except (WorkerDied, WorkerError) as error:
            what = "took too long or broke" if isinstance(error, WorkerDied) else "cannot be read"
            name = Path(job.path).name
            raise CitebedError(f"page {job.page + 1} of '{name}' {what}.") from error

    def close(self) -> None:
        """End the child process."""
        self._worker.end()
        self._worker.close()


_DRAWN, _LIMITED = "citebed.papers.page_images:answer", "citebed.papers.limits:limit_process"


def site_of(request: Request) -> ReviewSite:
    """The review that a request came to."""
    site: ReviewSite = request.app.state.site
    return site
