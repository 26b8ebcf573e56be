"""Who may come in as an organiser, and whether a form was really sent from our own page."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from typing import Annotated, Any, NamedTuple

from fastapi import Depends, Request, Response
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException

from citebed.errors import CitebedError
from citebed.files.secret_files import is_same_secret
from citebed.judging.organisers import LONGEST_SESSION, Session, load_session
from citebed.web.campaigns.site import Fields, Site, site_of
from citebed.web.protection import parse_form

COOKIE = "citebed_session"
LOGIN_COOKIE = "citebed_login"
MOST_FILES = 200


class NotLoggedIn(CitebedError):
    """An organiser's page was asked for without a session."""

    def __init__(self) -> None:
        super().__init__("log in first.")


class Forged(CitebedError):
    """A form without the token that our page gave it."""

    def __init__(self) -> None:
        super().__init__(
            "this form was not sent from our page, or was open for too long. Go back, load the "
            "page again, and repeat what you did."
        )


class BadForm(CitebedError):
    """A form whose fields are not ours."""


def logged_in(request: Request) -> Session:
    """The session of an organiser; `NotLoggedIn` without one."""
    database = site_of(request).campaign.database
    session = load_session(database, request.cookies.get(COOKIE))
    if session is None:
        raise NotLoggedIn
    return session


Organiser = Annotated[Session, Depends(logged_in)]


async def read_form(request: Request) -> Fields:
    """The fields of a form, texts only; the first of those that have one name."""
    return _texts((await _parsed(request, files=0)).multi_items())


async def _parsed(request: Request, files: int) -> FormData:
    try:
        return await parse_form(request, files, 1000)
    except (HTTPException, OSError):
        raise  # too large, too slow, or the disk is full
    except Exception as error:  # a body that is no form, in whichever of many ways
        raise BadForm("invalid form submission. Reload the page and try again.") from error


def _texts(fields: Iterable[tuple[str, Any]]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for name, value in fields:
        if not isinstance(value, str) or "\0" in f"{name}{value}":
            raise BadForm(f"the field '{name[:50]}' is no text.")
        value.encode()
        texts[name] = f"{texts[name]}\n{value}" if name in texts else value
    return texts


Posted = Annotated[Fields, Depends(read_form)]


def checked(session: Organiser, said: Posted) -> Fields:
    """The fields of a form that an organiser sent from our page."""
    if not is_same_secret(said.get("csrf", ""), session.csrf):
        raise Forged
    return said


Checked = Annotated[Fields, Depends(checked)]


class Upload(NamedTuple):
    """A file that an organiser sent: its name, and what is in it."""

    name: str
    content: bytes


async def read_files(request: Request, session: Organiser) -> list[Upload]:
    """The files of a form that an organiser sent from our page, who is known before it is read."""
    form = await _parsed(request, files=MOST_FILES)
    try:
        fields = list(form.multi_items())
        checked(session, _texts(each for each in fields if isinstance(each[1], str)))
        return [
            Upload((file.filename or "file").replace("\0", "")[:200], await file.read())
            for _, file in fields
            if isinstance(file, UploadFile) and (file.filename or file.size)
        ]
    finally:
        await form.close()


Uploaded = Annotated[list[Upload], Depends(read_files)]


def number(text: str, name: str, low: int, high: int) -> int:
    """A number that somebody typed."""
    if not (text.isascii() and text.isdigit() and len(text) < 12 and low <= int(text) <= high):
        raise CitebedError(f"{name} '{text[:20]}': give a number from {low} to {high}.")
    return int(text)


def set_cookie(site: Site, response: Response, name: str, value: str) -> None:
    """Give the browser a secret that scripts cannot read and other sites do not send."""
    response.set_cookie(
        name,
        value,
        max_age=int(LONGEST_SESSION.total_seconds()),
        path=site.prefix,
        secure=site.secure,
        httponly=True,
        samesite="lax",
    )


def login_secret(request: Request) -> str:
    """What ties a login form to the browser it was shown in."""
    return request.cookies.get(LOGIN_COOKIE) or secrets.token_urlsafe(24)


def login_token(site: Site, secret: str) -> str:
    """The token of a login form."""
    message = f"citebed login {secret}".encode("utf-8", "replace")
    return hmac.digest(site.campaign.secret, message, hashlib.sha256).hex()


def check_login_form(request: Request, said: Fields) -> None:
    """Refuse a login form that another page made."""
    secret = request.cookies.get(LOGIN_COOKIE)
    wanted = login_token(site_of(request), secret or "")
    if not secret or not is_same_secret(said.get("csrf", ""), wanted):
        raise Forged
