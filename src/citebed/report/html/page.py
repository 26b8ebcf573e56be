"""The skeleton of a page: one file with its style and script, and a policy that allows no more.

The Content-Security-Policy lets the browser load nothing at all, and run only the one style and
the one script of this file, which it knows by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from citebed.report.html.escaping import Html, element, escaped, join

_POLICY = (
    "default-src 'none'; style-src '{style}'; script-src '{script}'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


@dataclass(frozen=True)
class Page:
    """A page: its title, what stands under it, and its sections by their ids.

    ``sections`` are ``(id, heading, body)``; ``data`` is what scripts read (`json_block`), and
    ``scripts`` names the script files of this package that the page needs.
    """

    title: str
    lead: Html
    sections: Sequence[tuple[str, str, Html]]
    foot: Html
    data: Html
    scripts: tuple[str, ...]


def render(page: Page) -> str:
    """The page as one self-contained HTML file."""
    style, script = _file("page.css"), "\n".join(map(_file, page.scripts))
    policy = _POLICY.format(style=_hash(style), script=_hash(script))
    head = element(
        "head",
        element("meta", charset="utf-8"),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="generator", content="citebed"),
        element("meta", name="referrer", content="no-referrer"),
        element("link", rel="icon", href="data:,"),
        element("title", escaped(page.title)),
        Html(f"<style>{style}</style>"),
    )
    body = element("body", _body(page), page.data, Html(f"<script>{script}</script>"))
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _body(page: Page) -> Html:
    links = join(
        element("li", element("a", escaped(heading), href=f"#{name}"))
        for name, heading, _ in page.sections
    )
    sections = join(
        element("section", element("h2", escaped(heading)), inside, id=name)
        for name, heading, inside in page.sections
    )
    return join(
        (
            element("a", escaped("Skip to the results"), href="#main", class_="skip"),
            element("header", element("h1", element("bdi", escaped(page.title))), page.lead),
            element("nav", element("ul", links), aria_label="Sections"),
            element("main", sections, id="main"),
            element("footer", page.foot),
        )
    )


def _file(name: str) -> str:
    return (resources.files("citebed.report.html") / name).read_text("utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
