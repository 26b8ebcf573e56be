"""Serving the workbench: one process, until it is told to stop."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.types import ASGIApp

from citebed.errors import CitebedError
from citebed.retrieval.memory import use_one_arena
from citebed.web.listening import has_proxy, serve_app
from citebed.web.workbench.access import LOCAL, Keys, OwnNames, server_key
from citebed.web.workbench.app import create_workbench
from citebed.web.workbench.shelf import Shelf

if TYPE_CHECKING:
    from citebed.judging.campaign import Campaign

PASSWORD = "CITEBED_PASSWORD"
SHORTEST_PASSWORD = 8
USUAL_PORT = 8000


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
    """Serve the workbench until stopped; ``started`` is told its address, the key in it.

    On this machine's own addresses the key lets in; on any other there must be a ``password``, and
    so where it has an ``address`` at a web server that stands before it. Without a ``port`` the
    usual one is taken, or any that is free. Files of this machine may be imported from folders that
    are ``allowed``. ``campaigns`` are served beside it, with guards of their own.
    """
    is_local = (host in LOCAL or host == "::1") and not address
    use_one_arena()
    shelf = Shelf(collections)
    keys = _keys(host, password, address, is_local=is_local)
    app = create_workbench(
        shelf, keys, hosts=_names(host, address, is_local=is_local), address=address,
        allowed=allowed, campaigns=campaigns,
    )  # fmt: skip

    def listening(at: int) -> None:
        threading.Thread(target=_warm, args=(shelf,), daemon=True).start()
        name = f"[{host}]" if ":" in host else host
        own = f"{address.rstrip('/')}/" if address else f"http://{name}:{at}/"
        if started is not None:
            started(f"{own}?key={keys.key}" if is_local else own)
        if browser and is_local:
            keys.ticket.open_browser(own)

    ports = (USUAL_PORT, 0) if port is None else (port,)
    # A workbench of this machine's own has no password to guess; campaigns beside it have.
    is_behind_proxy = bool(address) or (
        is_local and any(has_proxy(each.settings.address) for each in campaigns)
    )
    served = _with_campaigns(app, campaigns)
    serve_app(served, host, ports, listening, is_behind_proxy=is_behind_proxy)


def _keys(host: str, password: str, address: str, *, is_local: bool) -> Keys:
    if is_local:
        return Keys(server_key())
    if len(password) < SHORTEST_PASSWORD:
        short = "needs" if not password else f"needs {SHORTEST_PASSWORD} characters or more for"
        raise CitebedError(
            f"at {address or host} others could come in: that {short} a login. Put a password into "
            f"the environment variable {PASSWORD}, or leave out --host and --address to serve this "
            "machine only."
        )
    scheme = urlsplit(address).scheme
    if address and (scheme not in ("http", "https") or urlsplit(address).path.strip("/")):
        raise CitebedError(f"address '{address[:200]}': give one like https://papers.example.org.")
    return Keys(server_key(), password, secure=scheme == "https")


def _names(host: str, address: str, *, is_local: bool) -> Container[str]:
    if is_local:
        return frozenset(LOCAL)
    return OwnNames([host, urlsplit(address).hostname or host])


def _with_campaigns(app: Any, campaigns: Sequence[Campaign]) -> ASGIApp:
    if not campaigns:
        return app  # type: ignore[no-any-return]
    from citebed.web.workbench.together import Together, check_names

    check_names(each.name for each in campaigns)
    return Together(app, campaign_apps(campaigns))


def campaign_apps(campaigns: Sequence[Campaign]) -> dict[str, Any]:
    """The pages of campaigns, by name, each as it would be served alone."""
    from citebed.web.campaigns.app import create_app

    return {
        each.name: create_app(each, secure=each.settings.address.startswith("https://"))
        for each in campaigns
    }


def _warm(shelf: Shelf) -> None:
    """Have the models loaded before the first text is asked with: what answers soonest first."""
    for each in shelf:
        with suppress(CitebedError), each.recommending() as recommender:
            recommender.recommend("warm up", 1, min_probability=0.0)
    for each in shelf:
        each.warm()
    gc.collect()
    gc.freeze()  # what is loaded stays: the collector need not look through it while somebody types
