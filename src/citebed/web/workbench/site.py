"""What every page of the workbench needs: the shelf, templates, turns, and who may come in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from citebed._version import __version__
from citebed.pages import ready_script, templates
from citebed.web.workbench.access import Keys
from citebed.web.workbench.guesses import Guesses
from citebed.web.workbench.jobs import Jobs
from citebed.web.workbench.kept import Kept
from citebed.web.workbench.shelf import Shelf, Shelved
from citebed.web.workbench.turns import Turns
from citebed.wording import for_page

if TYPE_CHECKING:
    from citebed.judging.campaign import Campaign

ROOMS = (
    ("recommend", "Recommend", "r"),
    ("library", "Library", "l"),
    ("map", "Map", "m"),
    ("experiments", "Experiments", "e"),
    ("collection", "Collection", "c"),
)
"""The pages of a collection: the last part of the address, the name, the key after ``g``."""


class WorkbenchSite:
    """The workbench as it is served; ``campaigns`` are those served beside it, and
    files may be imported from the folders that are ``allowed``."""

    def __init__(
        self,
        shelf: Shelf,
        keys: Keys,
        campaigns: tuple[Campaign, ...] = (),
        allowed: tuple[Path, ...] = (),
    ) -> None:
        self.shelf, self.keys, self.campaigns, self.allowed = shelf, keys, campaigns, allowed
        self.turns, self.jobs, self.kept, self.guesses = Turns(), Jobs(), Kept(), Guesses()
        self.desk_turns = Turns(1)  # what is typed is kept while others compute, in its order
        self._templates = templates("citebed.web.templates", for_page)
        self._templates.filters |= {"number": lambda value: f"{value:,}"}
        self._templates.globals |= {
            "path": path,
            "version": __version__,
            "ready": Markup(ready_script()),
            "token": keys.token,
            "rooms": ROOMS,
            "shelf": shelf,
            "campaigns": [each.name for each in campaigns],
        }

    def page(
        self,
        name: str,
        at: str = "",
        shelved: Shelved | None = None,
        status: int = 200,
        **more: Any,
    ) -> HTMLResponse:
        """A page from its template; ``at`` is the room, ``shelved`` the collection it is about."""
        template = self._templates.get_template(f"workbench/{name}.html.j2")
        text = template.render(at=at, shelved=shelved, **more)
        return HTMLResponse(text.encode("utf-8", "replace"), status)

    def stranger_page(self, name: str, status: int = 200, **more: Any) -> HTMLResponse:
        """A page for whoever has not come in: no secret of ours stands in it."""
        return self.page(name, status=status, token="", **more)


def path(*parts: str, **query: Any) -> str:
    """A path on this site, its parts and query quoted."""
    whole = "/" + "/".join(quote(part, safe="") for part in parts)
    return f"{whole}?{urlencode(query, doseq=True)}" if query else whole


def site_of(request: Request) -> WorkbenchSite:
    """The site that a request came to."""
    site: WorkbenchSite = request.app.state.site
    return site


async def _here(request: Request) -> WorkbenchSite:
    return site_of(request)  # in the loop: it takes no thread


async def _shelved(request: Request, name: str) -> Shelved:
    return site_of(request).shelf.get(name)


Here = Annotated[WorkbenchSite, Depends(_here)]
OnShelf = Annotated[Shelved, Depends(_shelved)]
"""The collection that an address names, for routes with ``{name}`` in them."""
