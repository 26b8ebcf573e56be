"""Serve the workbench, and optionally campaigns, in one process until stopped."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fastapi import FastAPI
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from citebed.errors import CitebedError
from citebed.files.secret_files import load_key
from citebed.retrieval.memory import use_one_arena
from citebed.web.access import LOCAL, AllowedHosts, Keys, key_file
from citebed.web.server import has_proxy, serve_app
from citebed.web.workbench.app import create_workbench
from citebed.web.workbench.open_collections import OpenCollections

if TYPE_CHECKING:
    from citebed.judging.campaign import Campaign

PASSWORD = "CITEBED_PASSWORD"
SHORTEST_PASSWORD = 8
DEFAULT_PORT = 8000
OWN_PATHS = {"api", "c", "static", "login", "logout", "campaigns"}
"""The first parts of the workbench's own URLs."""


def serve_workbench(  # noqa: PLR0913 - the options of the command, by name
    collections: Sequence[Path],
    host: str = "127.0.0.1",
    port: int | None = 0,
    *,
    browser: bool = True,
    password: str = "",
    address: str = "",
    allowed: Sequence[Path] = (),
    campaigns: Sequence[Campaign] = (),
    started: Callable[[str], Any] | None = None,
) -> None:
    """Serve the workbench until stopped; ``started`` is called with its address.

    On this machine's own addresses, the printed address contains the key. On others, and behind a
    proxy with a public ``address``, users need the ``password``. Without a ``port``, the default
    one is used, or any free one. Users may import files from the ``allowed`` folders. ``campaigns``
    are served by the same process, with their own logins.
    """
    is_local = (host in LOCAL or host == "::1") and not address
    use_one_arena()
    opened = OpenCollections(collections)
    keys = _make_keys(host, password, address, is_local=is_local)
    hosts: Container[str] = frozenset(LOCAL)
    if not is_local:
        hosts = AllowedHosts([host, urlsplit(address).hostname or host])
    app = create_workbench(
        opened, keys, hosts=hosts, address=address, allowed=allowed, campaigns=campaigns,
    )  # fmt: skip

    def on_start(at: int) -> None:
        threading.Thread(target=_warm, args=(opened,), daemon=True).start()
        name = f"[{host}]" if ":" in host else host
        own = f"{address.rstrip('/')}/" if address else f"http://{name}:{at}/"
        if started is not None:
            started(f"{own}?key={keys.key}" if is_local else own)
        if browser and is_local:
            keys.ticket.open_browser(own)

    ports = (DEFAULT_PORT, 0) if port is None else (port,)
    # A local workbench has no password to guess, but its campaigns have passwords.
    is_behind_proxy = bool(address) or (
        is_local and any(has_proxy(each.settings.address) for each in campaigns)
    )
    if campaigns:
        check_campaign_names(each.name for each in campaigns)
    served = CampaignDispatcher(app, campaign_apps(campaigns)) if campaigns else app
    serve_app(served, host, ports, on_start, is_behind_proxy=is_behind_proxy)


def _make_keys(host: str, password: str, address: str, *, is_local: bool) -> Keys:
    if is_local:
        return Keys(load_key(key_file()))
    if len(password) < SHORTEST_PASSWORD:
        least = f" of at least {SHORTEST_PASSWORD} characters" if password else ""
        raise CitebedError(
            f"other people can reach the workbench at {address or host}, so it needs a password"
            f"{least}. Set {PASSWORD}, or omit --host and --address."
        )
    scheme = urlsplit(address).scheme
    if address and (scheme not in ("http", "https") or urlsplit(address).path.strip("/")):
        raise CitebedError(
            f"'{address[:200]}' is not a valid --address. Use one like https://papers.example.org."
        )
    return Keys(load_key(key_file()), password, secure=scheme == "https")


def _warm(collections: OpenCollections) -> None:
    """Load the models before the first request; the quick recommenders first."""
    for each in collections:
        with suppress(CitebedError), each.recommending() as recommender:
            recommender.recommend("warm up", 1, min_probability=0.0)
    for each in collections:
        each.warm()
    gc.collect()
    gc.freeze()  # exclude the models from garbage collection, so that requests wait less for it


# --- campaigns ---------------------------------------------------------------------------------


def campaign_apps(campaigns: Sequence[Campaign]) -> dict[str, Any]:
    """Return the applications of campaigns, by name."""
    from citebed.web.campaigns.app import create_app

    return {
        each.name: create_app(each, secure=each.settings.address.startswith("https://"))
        for each in campaigns
    }


def check_campaign_names(names: Iterable[str]) -> None:
    """Raise an error for campaigns whose URLs conflict."""
    seen: set[str] = set()
    for name in names:
        if name in OWN_PATHS:
            raise CitebedError(
                f"the campaign name '{name}' conflicts with /{name} of the workbench. Serve it "
                "separately: citebed serve --campaign FOLDER, without a collection."
            )
        if name in seen:
            raise CitebedError(
                f"two campaigns have the name '{name}'. Serve them separately, with different "
                "values of --port."
            )
        seen.add(name)


class CampaignDispatcher:
    """Passes a request to the campaign that its path begins with, or else to the workbench."""

    def __init__(self, workbench: FastAPI | None, campaigns: Mapping[str, FastAPI]) -> None:
        self._workbench, self._campaigns = workbench, dict(campaigns)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request, or start and stop all applications."""
        if scope["type"] == "lifespan":
            await self._run_lifespans(receive, send)
        elif scope["type"] == "http":
            name = scope["path"].lstrip("/").partition("/")[0]
            nothing = PlainTextResponse("Page not found.", 404)
            await (self._campaigns.get(name, self._workbench) or nothing)(scope, receive, send)

    async def _run_lifespans(self, receive: Receive, send: Send) -> None:
        await receive()
        async with AsyncExitStack() as stack:
            try:
                for app in filter(None, (self._workbench, *self._campaigns.values())):
                    await stack.enter_async_context(app.router.lifespan_context(app))
            except Exception as error:
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                return
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})
