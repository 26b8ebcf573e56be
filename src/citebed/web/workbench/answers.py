"""What the API says that it answers: one form of errors, and answers described but not remade."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


class Problem(BaseModel):
    """Why something was not done: what was found, what was expected, what to do."""

    message: str


_TOLD = {
    400: "it could not be done, and the message says why",
    401: "the key is missing or wrong",
    403: "sent by another site, or not by a page of ours",
    404: "there is no such thing",
    408: "the request took too long to come",
    413: "the request is too large",
    421: "this server does not answer to that name",
    422: "a field is missing or wrong",
    429: "so many jobs wait already that no more are taken",
    503: "too much at once; try again in a moment",
}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": told} for status, told in _TOLD.items()
}


def described(model: type[BaseModel], status: int = 200) -> dict[int | str, dict[str, Any]]:
    """An answer's form for the description; it is sent as it was made, which tests compare."""
    return {status: {"model": model, "description": (model.__doc__ or "").split("\n")[0]}}
