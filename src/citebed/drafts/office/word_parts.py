"""The parts of a Word document beside its text: styles, links, types, and Zotero's properties."""

from __future__ import annotations

import posixpath

from citebed.drafts.office.outline import Kind, kind_of_style
from citebed.drafts.office.packages import Attributes, Package, walk

SPACES = {
    "/wordprocessingml/main": "w", "/wordprocessingml/2006/main": "w",
    "/officeDocument/math": "m", "/officeDocument/2006/math": "m",
    "/markup-compatibility/2006": "mc",
}  # fmt: skip
_MAIN = "word/document.xml"


class _Elements:
    """A walker to which only the beginnings of elements matter."""

    spaces = SPACES

    def start(self, name: str, attributes: Attributes) -> None:
        raise NotImplementedError

    def end(self, name: str) -> None:
        pass

    def text(self, text: str) -> None:
        pass


class _Types(_Elements):
    """Which part of the archive is the text itself."""

    main = ""

    def start(self, name: str, attributes: Attributes) -> None:
        if (
            name == "Override"
            and attributes.get("ContentType", "").endswith(".main+xml")
            and not self.main
        ):
            self.main = attributes.get("PartName", "").lstrip("/")


def main_part(package: Package) -> str:
    types = _Types()
    walk(package, "[Content_Types].xml", types)
    return types.main or _MAIN


class _Links(_Elements):
    """The addresses that a part's links lead to."""

    def __init__(self) -> None:
        self.targets: dict[str, str] = {}

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "Relationship" and attributes.get("Type", "").endswith("/hyperlink"):
            self.targets[attributes.get("Id", "")] = attributes.get("Target", "")


def links_of(package: Package, member: str) -> dict[str, str]:
    links = _Links()
    folder, file = posixpath.split(member)
    walk(package, posixpath.join(folder, "_rels", f"{file}.rels"), links)
    return links.targets


class Styles(_Elements):
    """The styles of paragraphs: what each is, by its own name or that of the one it is based on."""

    def __init__(self) -> None:
        self._style = ""
        self._names: dict[str, str] = {}
        self._bases: dict[str, str] = {}
        self._levels: dict[str, int] = {}

    def start(self, name: str, attributes: Attributes) -> None:
        value = attributes.get("val", "")
        if name == "w:style":
            self._style = attributes.get("styleId", "")
        elif name == "w:name":
            self._names[self._style] = value
        elif name == "w:basedOn":
            self._bases[self._style] = value
        elif name == "w:outlineLvl" and value in LEVELS:
            self._levels[self._style] = int(value) + 1

    def kind(self, style: str) -> tuple[Kind, int]:
        """What paragraphs of a style are, and the level of a heading."""
        for _ in range(_LONGEST_CHAIN):
            name = self._names.get(style, style)
            kind = kind_of_style(name)
            if kind is None and style in self._levels:
                kind = "heading"
            if kind is not None:
                digits = name[-1:] if name[-1:].isdecimal() else ""
                return kind, self._levels.get(style, int(digits or "0"))
            style = self._bases.get(style, "")
            if not style:
                break
        return "", 0


_LONGEST_CHAIN = 10
LEVELS = frozenset("012345678")


class Properties(_Elements):
    """Properties in which Zotero keeps citations whose places are marked by bookmarks."""

    def __init__(self) -> None:
        self._name = ""
        self._values: dict[str, list[str]] = {}

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "property":
            self._name = attributes.get("name", "")

    def text(self, text: str) -> None:
        if self._name.startswith("ZOTERO_BREF"):
            self._values.setdefault(self._name, []).append(text)

    def codes(self) -> dict[str, str]:
        """The code of each bookmark, put together of its parts (``…_1``, ``…_2``)."""
        parts: dict[str, dict[int, str]] = {}
        for name, texts in self._values.items():
            mark, _, number = name.rpartition("_")
            if number.isdecimal() and len(number) < 5:
                parts.setdefault(mark, {})[int(number)] = "".join(texts)
        return {mark: "".join(found[n] for n in sorted(found)) for mark, found in parts.items()}
