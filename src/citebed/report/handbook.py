"""Build the handbook: all documentation pages as HTML, with a search index.

Pages come from the checkout or from the installed package's copy; the Python reference comes from
docstrings. The site works from local files and loads nothing from elsewhere.
"""

from __future__ import annotations

import inspect
import json
import posixpath
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module, resources
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from citebed._version import __version__
from citebed.errors import CitebedError
from citebed.files.output_files import replace_folder
from citebed.pages import asset

_HERE = "citebed.report.html"
_PACKAGE = Path(str(resources.files("citebed")))
_ASSETS = ("handbook.css", "handbook.js")
_COPIED = (".svg", ".png", ".ipynb")
_MANY = 12
"""The number of parts from which a page has a table of contents."""
_LISTED = re.compile(r"\]\((docs/[^)\s]+\.md)\)")
_GROUPS = (
    ("Start", ("README.md",)),
    ("Pages", ()),
    ("Reference", ("api.md", "docs/promises.md", "CHANGELOG.md")),
    ("Working on citebed", ("CONTRIBUTING.md", "docs/architecture.md")),
)


class Page(NamedTuple):
    """A page: its source path, its file name in the handbook, its title, and its text."""

    source: str
    file: str
    title: str
    text: str


class Section(NamedTuple):
    """The text under one heading, for the search index."""

    anchor: str
    heading: str
    text: str


def handbook_source() -> Path:
    """Return the folder with ``README.md`` and ``docs``, in the package or in the checkout."""
    for folder in (_PACKAGE / "handbook", _PACKAGE.parents[1]):
        if (folder / "docs" / "datamodel.md").is_file():
            return folder
    raise CitebedError(
        "this installation of citebed has no documentation pages. Install it from a wheel or a "
        "checkout."
    )


def build_handbook(target: Path, source: Path | None = None) -> int:
    """Write the site into the folder ``target``; return the number of pages."""
    source = source or handbook_source()
    pages = {page.source: page for page in _pages(source)}
    renderer = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    template = environment.from_string(asset(_HERE, "handbook.html.j2"))
    groups, index = _groups(pages), []
    with replace_folder(target) as folder:
        for page in pages.values():
            tokens = renderer.parse(page.text)
            _lead_on_site(tokens, page, pages)
            index += [[page.file, page.title, *section] for section in _sections(tokens)]
            body = Markup(renderer.renderer.render(tokens, renderer.options, {}))
            shown = {"parts": _parts(tokens), "groups": groups, "version": __version__}
            made = template.render(page=page, body=body, **shown)
            (folder / page.file).write_text(made, "utf-8")
        words = json.dumps(index, ensure_ascii=False).replace("\u2028", " ")
        (folder / "sections.js").write_text(f"const SECTIONS = {words};\n", "utf-8")
        for name in _ASSETS:
            (folder / name).write_text(asset(_HERE, name), "utf-8")
        for path in sorted((source / "docs").rglob("*")):
            if path.suffix in _COPIED:
                place = folder / path.relative_to(source / "docs")
                place.parent.mkdir(exist_ok=True)
                shutil.copyfile(path, place)
    return len(pages)


def _pages(source: Path) -> Iterator[Page]:
    """Yield the pages: ``docs/how-to/measure.md`` becomes ``how-to-measure.html``."""
    names = [source / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    paths = filter(Path.is_file, [*names, *sorted((source / "docs").rglob("*.md"))])
    texts = {path.relative_to(source).as_posix(): path.read_text("utf-8") for path in paths}
    for name, text in {**texts, "api.md": _python_page()}.items():
        heading = re.search(r"^# (.+)$", text, re.MULTILINE)
        title = heading[1].replace("`", "") if heading else name
        file = name.removeprefix("docs/").removesuffix(".md").replace("/", "-").lower()
        yield Page(name, "index.html" if name == "README.md" else f"{file}.html", title, text)


def _groups(pages: dict[str, Page]) -> list[tuple[str, list[Page]]]:
    """Group the pages for the sidebar, in the order of the README's section "Documentation"."""
    fixed = {name for _, names in _GROUPS for name in names}
    named = _LISTED.findall(pages["README.md"].text.partition("\n## Documentation\n")[2])
    listed = [name for name in named if name not in fixed]
    how_to = [name for name in pages if name.startswith("docs/how-to/")]
    rest = [name for name in pages if name not in {*fixed, *listed, *how_to}]
    more = {"Pages": [*listed, *rest], "Working on citebed": how_to}
    return [
        (group, [pages[name] for name in (*names, *more.get(group, ())) if name in pages])
        for group, names in _GROUPS
    ]


def _lead_on_site(tokens: list[Token], page: Page, pages: dict[str, Page]) -> None:
    """Add anchors to headings, and adapt the targets of links and figures to the site."""
    times: Counter[str] = Counter()
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            # The anchor, as in common Markdown renderers.
            name = re.sub(r"[^\w\- ]", "", tokens[at + 1].content.lower()).replace(" ", "-")
            token.attrs["id"] = f"{name}-{times[name]}" if times[name] else name
            times[name] += 1
        for inside in token.children or ():
            for key in ("href", "src"):
                if isinstance(target := inside.attrs.get(key), str):
                    inside.attrs[key] = _place(target, page, pages)


def _place(target: str, page: Page, pages: dict[str, Page]) -> str:
    if re.match(r"[a-z]+:|#", target):
        return target
    name, mark, anchor = target.partition("#")
    full = posixpath.normpath(posixpath.join(posixpath.dirname(page.source), name))
    file = pages[full].file if full in pages else full.removeprefix("docs/")
    return f"{file}{mark}{anchor}"


def _parts(tokens: list[Token]) -> list[tuple[str, str]]:
    """Return the anchors and headings for a page's table of contents, if it has many parts."""
    parts = [
        (str(token.attrs["id"]), _plain(tokens[at + 1]))
        for at, token in enumerate(tokens)
        if token.type == "heading_open" and token.tag == "h2"
    ]
    return parts if len(parts) >= _MANY else []


def _sections(tokens: list[Token]) -> Iterator[Section]:
    anchor, heading, texts = "", "", list[str]()
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            if heading:
                yield Section(anchor, heading, " ".join(texts))
            anchor, heading, texts = str(token.attrs["id"]), _plain(tokens[at + 1]), []
        elif token.type in ("inline", "fence") and tokens[at - 1].type != "heading_open":
            texts.append(_plain(token))
    yield Section(anchor, heading, " ".join(texts))


def _plain(token: Token) -> str:
    return " ".join(each.content for each in token.children or (token,) if each.content).strip()


# --- the Python reference, from the docstrings of public names --------------------------------


_HEAD = """# Python, name by name

The public names of `import citebed`, with their docstrings.
Start with [From Python, and in notebooks](docs/python.md).
"""


def _python_page() -> str:
    """Return a Markdown page with a section for each public name and method."""
    door = import_module("citebed")
    names = [name for name in dir(door) if not name.startswith("_")]
    values = {name: getattr(door, name) for name in sorted(names, key=str.lower)}
    return "\n".join([_HEAD, *(part for item in values.items() for part in _entry(*item))])


def _entry(name: str, value: Any) -> Iterator[str]:
    """Yield the section of a function, of a class with its methods, or of a callable package."""
    yield f"## citebed.{name}\n"
    yield _signature(f"citebed.{name}", value)
    yield f"{inspect.getdoc(value) or ''}\n"
    if inspect.isclass(value):
        for member in sorted(vars(value)):
            if not member.startswith("_") and inspect.getdoc(getattr(value, member, None)):
                yield from _member(name, member, inspect.getattr_static(value, member))


def _member(owner: str, name: str, value: Any) -> Iterator[str]:
    member = getattr(value, "__func__", None) or getattr(value, "func", None) or value
    if not (callable(member) or isinstance(member, property)):
        return
    yield f"### {owner}.{name}\n"
    if callable(member) and not hasattr(value, "func"):
        yield _signature(f".{name}", member)
    yield f"{inspect.getdoc(member) or ''}\n"


def _signature(name: str, value: Callable[..., Any]) -> str:
    """Format a signature, one parameter per line; complex defaults are not shown."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    every = signature.parameters.values()
    lines = [f"    {_parameter(each)},\n" for each in every if each.name not in ("self", "cls")]
    result = signature.return_annotation
    is_known = result is not inspect.Signature.empty and not inspect.isclass(value)
    arrow = f" -> {_annotation(result)}" if is_known else ""
    body = "".join(["\n", *lines]) if lines else ""
    return f"```python\n{name}({body}){arrow}\n```\n"


def _parameter(parameter: inspect.Parameter) -> str:
    is_more = parameter.kind is parameter.VAR_POSITIONAL
    star = "*" if is_more else "**" if parameter.kind is parameter.VAR_KEYWORD else ""
    known = parameter.annotation is not inspect.Parameter.empty
    kind = f": {_annotation(parameter.annotation)}" if known else ""
    if parameter.default is inspect.Parameter.empty:
        return f"{star}{parameter.name}{kind}"
    default = repr(parameter.default)
    return f"{parameter.name}{kind} = {'…' if ' at 0x' in default else default}"


def _annotation(value: Any) -> str:
    return value if isinstance(value, str) else getattr(value, "__name__", str(value))
