"""Sessions of organisers, and checks that a form comes from our own page."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from fastapi import Depends, Request, Response
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException

from citebed.errors import CitebedError
from citebed.files.secret_files import is_same_secret
from citebed.judging.organisers import LONGEST_SESSION, Session, load_session
from citebed.web.campaigns.site import CampaignSite, ForgedForm, NotLoggedIn, site_of
from citebed.web.site import parse_form

COOKIE = "citebed_session"
LOGIN_COOKIE = "citebed_login"
MOST_FILES = 200
_FORGED = (
    "this form was not sent from our page, or was open for too long. Go back, reload the page, and "
    "try again."
)
Fields = Mapping[str, str]
"""The fields of a form."""


class BadForm(CitebedError):
    """A form that cannot be read."""


def get_session(request: Request) -> Session:
    """Return the session of an organiser, or raise `NotLoggedIn`."""
    database = site_of(request).campaign.database
    session = load_session(database, request.cookies.get(COOKIE))
    if session is None:
        raise NotLoggedIn("log in first.")
    return session


Organiser = Annotated[Session, Depends(get_session)]


async def read_form(request: Request) -> Fields:
    """Return the texts of a form without files."""
    return _read_texts((await _parse(request, files=0)).multi_items())


async def _parse(request: Request, files: int) -> FormData:
    try:
        return await parse_form(request, files, 1000)
    except (HTTPException, OSError):
        raise  # too many fields, or a full disk
    except Exception as error:  # parsers raise many types
        raise BadForm("invalid form submission. Reload the page and try again.") from error


def _read_texts(fields: Iterable[tuple[str, Any]]) -> dict[str, str]:
    """Return the texts by name; those with the same name are joined, one per line."""
    texts: dict[str, str] = {}
    for name, value in fields:
        if not isinstance(value, str) or "\0" in f"{name}{value}":
            raise BadForm(f"the field '{name[:50]}' is not a text.")
        value.encode()
        texts[name] = f"{texts[name]}\n{value}" if name in texts else value
    return texts


Posted = Annotated[Fields, Depends(read_form)]


def check_token(session: Organiser, fields: Posted) -> Fields:
    """Return the fields of a form that an organiser sent from our page."""
    if not is_same_secret(fields.get("csrf", ""), session.csrf):
        raise ForgedForm(_FORGED)
    return fields


Checked = Annotated[Fields, Depends(check_token)]


async def read_files(request: Request, session: Organiser) -> list[tuple[str, bytes]]:
    """Return the names and contents of the files of a form; the session is checked before anything
    is read."""
    form = await _parse(request, files=MOST_FILES)
    try:
        fields = list(form.multi_items())
        check_token(session, _read_texts(each for each in fields if isinstance(each[1], str)))
        return [
            ((file.filename or "file").replace("\0", "")[:200], await file.read())
            for _, file in fields
            if isinstance(file, UploadFile) and (file.filename or file.size)
        ]
    finally:
        await form.close()


Uploaded = Annotated[list[tuple[str, bytes]], Depends(read_files)]


def parse_number(text: str, name: str, low: int, high: int) -> int:
    """Parse a number that an organiser typed."""
    if not (text.isascii() and text.isdigit() and len(text) < 12 and low <= int(text) <= high):
        raise CitebedError(f"{name} '{text[:20]}': give a number from {low} to {high}.")
    return int(text)


def set_cookie(site: CampaignSite, response: Response, name: str, value: str) -> None:
    """Set a cookie that scripts cannot read and other sites cannot send."""
    response.set_cookie(
        name,
        value,
        max_age=int(LONGEST_SESSION.total_seconds()),
        path=site.prefix,
        secure=site.secure,
        httponly=True,
        samesite="lax",
    )


def login_token(site: CampaignSite, secret: str) -> str:
    """Return the token of a login form."""
    message = f"citebed login {secret}".encode("utf-8", "replace")
    return hmac.digest(site.campaign.secret, message, hashlib.sha256).hex()


def check_login_form(request: Request, fields: Fields) -> None:
    """Raise `ForgedForm` for a login form of another page."""
    secret = request.cookies.get(LOGIN_COOKIE)
    wanted = login_token(site_of(request), secret or "")
    if not secret or not is_same_secret(fields.get("csrf", ""), wanted):
        raise ForgedForm(_FORGED)
