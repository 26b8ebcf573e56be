"""Campaigns beside the workbench, in one process: each has its own address, and its own guards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack

from fastapi import FastAPI
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from citebed.errors import CitebedError


class Together:
    """Hands a request to the campaign that its address begins with, all others to the first."""

    def __init__(self, first: FastAPI | None, campaigns: Mapping[str, FastAPI]) -> None:
        self._first, self._campaigns = first, dict(campaigns)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or begin and end all of them."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            name = scope["path"].lstrip("/").partition("/")[0]
            app = self._campaigns.get(name, self._first) or _NOTHING
            await app(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with AsyncExitStack() as stack:
            try:
                for app in filter(None, (self._first, *self._campaigns.values())):
                    await stack.enter_async_context(app.router.lifespan_context(app))
            except Exception as error:
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                return
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


_NOTHING = PlainTextResponse("There is no such page.", 404)


OWN = {"api", "c", "static", "login", "logout", "campaigns"}
"""What addresses of the workbench begin with."""


def check_names(names: Iterable[str]) -> None:
    """Refuse campaigns whose address is another's, or the workbench's own."""
    seen: set[str] = set()
    for name in names:
        if name in OWN:
            raise CitebedError(
                f"a campaign is called '{name}', and /{name} is an address of the workbench's own. "
                "Serve it by itself: citebed serve --campaign FOLDER, without a collection."
            )
        if name in seen:
            raise CitebedError(
                f"two campaigns are called '{name}'. Serve them apart, each at a --port of its own."
            )
        seen.add(name)
