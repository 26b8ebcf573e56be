"""Safe reading of XML: what every XML format shares.

Nothing outside the bytes is read, no entity of a document's own is expanded, names are matched
without their namespaces, and no function here recurses.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from html.entities import html5
from typing import Any, TypeAlias

from lxml import etree

from citebed.collection.formats.base import NOT_UTF8, Chunk, decode
from citebed.records import Problem
from citebed.text.latex import latex_to_text
from citebed.text.normalise import entity_to_text, fold

Element: TypeAlias = etree._Element

# --- Parsing --------------------------------------------------------------------------------

DECLARED = re.compile(rb"""^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z0-9._:-]+)["']""")
# What no file is in, and what no file is in whose declaration can be read as ASCII.
_NOT_FOR_FILES = frozenset(
    ("idna", "punycode", "unicode_escape", "raw_unicode_escape", "utf-7", "utf-16", "utf-32")
)
_AMPERSAND = re.compile(
    rb"<!\[CDATA\[.*?(?:\]\]>|\Z)"
    rb"|&(?:([A-Za-z][A-Za-z0-9]{1,31});|#([0-9]+|x[0-9A-Fa-f]+);|(?![A-Za-z_#]))",
    re.DOTALL,
)
_HARMLESS = frozenset(("NAMESPACE", "VALID", "DTD"))  # GROBID's training files have xml:id="12"
_PREFIX = re.compile(rb"(</?)[A-Za-z][\w.-]*:(?=[A-Za-z])")
# After these, whole elements can be missing; after other errors only a character or two is.
_LOSING = frozenset(
    ("ERR_TAG_NOT_FINISHED", "ERR_TAG_NAME_MISMATCH", "ERR_RESOURCE_LIMIT", "ERR_GT_REQUIRED")
)


def parse_xml(data: bytes) -> tuple[Element | None, list[Problem]]:
    """The root element, as far as it can be read, and what was wrong, with its line.

    The root is ``None`` where there is no element at all. Never raises, whatever the bytes.
    """
    text, problems = as_utf8(data)
    start = len(text) - len(text.lstrip())
    root, errors = _parse(text[start:])
    if errors and b"&" in text:
        # After its first error, libxml2 drops every &name;, even &amp;.
        mended = [error for error in errors if not _names_entity(error.message)]
        root, errors = _parse(_AMPERSAND.sub(_as_number, text[start:]))
        errors = errors or mended
    return root, problems + _breaks(errors, text.count(b"\n", 0, start), root is None)


def parse_fragment(text: bytes) -> tuple[Element | None, list[Problem]]:
    """One element of a larger file, in UTF-8, without the entities and prefixes declared there.

    Known entities are resolved by their names, and prefixes of tags are dropped.
    """
    if b"&" in text:
        text = _AMPERSAND.sub(_as_number, text)
    if b":" in text:
        text = _PREFIX.sub(rb"\1", text)
    root, errors = _parse(text)
    kind = "skipped" if root is None else "mended"
    return root, [each._replace(kind=kind) for each in _breaks(errors, 0, root is None)]


def _parse(text: bytes) -> tuple[Element | None, list[Any]]:
    """The root and the errors that matter: no warnings, nothing about names and namespaces."""
    parser: Any = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        recover=True,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(text, parser)
    except (etree.LxmlError, ValueError, LookupError):
        root = None
    values = (error for error in parser.error_log if error.level_name != "WARNING")
    return root, [error for error in values if error.domain_name not in _HARMLESS]


def _as_number(match: re.Match[bytes]) -> bytes:
    """Known entities and a lone ``&`` as numbers, half a character replaced; the rest stays."""
    if match[0] == b"&":
        return b"&#38;"
    if match[2]:  # libxml2 would give text that is not UTF-8
        return b"&#65533;" if _is_surrogate(match[2]) else match[0]
    characters = html5.get(f"{match[1].decode('ascii')};") if match[1] else None
    return "".join(f"&#{ord(c)};" for c in characters).encode() if characters else match[0]


def _is_surrogate(digits: bytes) -> bool:
    """Whether a number, decimal or with an ``x`` in front, is one from U+D800 to U+DFFF."""
    base = 16 if digits.startswith(b"x") else 10
    digits = digits.lstrip(b"x0")
    return 4 <= len(digits) <= 5 and 0xD800 <= int(digits, base) <= 0xDFFF


def _names_entity(message: str) -> bool:
    entity = re.match(r"Entity '(\w+)' not defined", message)
    return entity is not None and f"{entity[1]};" in html5


def as_utf8(data: bytes) -> tuple[bytes, list[Problem]]:
    """The bytes in UTF-8; a declared encoding is believed only where the bytes agree."""
    if data[:4] in (b"<\0?\0", b"\0<\0?"):
        data = (codecs.BOM_UTF16_LE if data[0] else codecs.BOM_UTF16_BE) + data
    declared = DECLARED.match(data[:200])
    if declared is not None:
        try:
            codec = codecs.lookup(declared[1].decode("ascii")).name
            if codec not in _NOT_FOR_FILES:
                return data.decode(codec).replace("\0", "").encode("utf-8"), []
        except (LookupError, ValueError):
            pass
    text, mended = decode(data)
    problems = [Problem(1, NOT_UTF8, "mended")] if mended else []
    return text.encode("utf-8", "replace"), problems


def _breaks(errors: list[Any], blank_lines: int, nothing_read: bool) -> list[Problem]:
    """One problem for the first place where the XML breaks, with the number of further ones."""
    if not errors:
        return [Problem(1, "no XML element was found")] if nothing_read else []
    first = next((error for error in errors if error.type_name in _LOSING), errors[0])
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    lost = nothing_read or first.type_name in _LOSING
    rest = "nothing could be read" if nothing_read else "what could be read is kept"
    what = f"broken XML: {fold(first.message)}{more}; {rest}"
    return [Problem(max(first.line, 1) + blank_lines, what, "skipped" if lost else "mended")]


def open_root(chunk: Chunk, *names: str) -> tuple[Element | None, list[Problem]]:
    """The root of a chunk if it has one of these names; problems count lines in the source."""
    root, problems = parse_xml(chunk.data)
    if root is not None and local(root) not in names:
        expected = " or ".join(f"<{name}>" for name in names)
        problems.append(Problem(1, f"the file starts with <{local(root)}>, not {expected}"))
        root = None
    return root, [problem._replace(line=problem.line + chunk.line - 1) for problem in problems]


# --- Finding one's way ----------------------------------------------------------------------


def local(element: Element) -> str:
    """The name of an element without namespace or prefix; ``""`` for an entity."""
    tag = element.tag
    return tag.rpartition("}")[2].rpartition(":")[2] if isinstance(tag, str) else ""


def children(element: Element | None, *names: str) -> Iterator[Element]:
    """The children of these names, in order; none of nothing."""
    if element is None:
        return iter(())
    return element.iterchildren(*(f"{{*}}{name}" for name in names))


def child(element: Element | None, *path: str) -> Element | None:
    """The element at the end of a path of names, through the first child of each name."""
    for name in path:
        element = next(children(element, name), None)
    return element


def below(element: Element | None, *names: str) -> Iterator[Element]:
    """All descendants of these names, in document order, and the element if it has one."""
    return iter(()) if element is None else element.iter(*(f"{{*}}{name}" for name in names))


def attribute(element: Element, name: str) -> str:
    """The value of an attribute, whatever its namespace (``xml:id``, ``xlink:href``), or ``""``."""
    value = element.get(name)
    if value is None:
        ends = (f"}}{name}", f":{name}")
        value = next((str(v) for key, v in element.items() if str(key).endswith(ends)), "")
    return value.strip()


def line_of(element: Element, chunk: Chunk) -> int:
    """The line of the source where an element starts."""
    line: Any = element.sourceline
    return chunk.line + (int(line) if line else 1) - 1


_STEM_ENDINGS = re.compile(
    r"(?:\.(?:xml|tei|nxml|grobid|jats|pdf|gz|bz2|xz|zst|zip))+$", re.IGNORECASE
)


def file_stem(source: str) -> str:
    """The file name of a source without folders and endings; ``""`` for standard input."""
    name = re.split(r"[/\\!]", source)[-1]
    return "" if name == "-" or name.startswith("<") else fold(_STEM_ENDINGS.sub("", name))


_PROLOG = re.compile(
    r"\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>", re.DOTALL | re.IGNORECASE
)
_ROOT = re.compile(r"<(?:[\w.-]+:)?([\w.-]+)(?=[\s/>])")


def root_in(head: str) -> tuple[str, str]:
    """The name of the root element in the head of a file, and the head from there on.

    Skips what may stand before the root; ``("", "")`` where the head shows no root.
    """
    at = 1 if head.startswith("\ufeff") else 0
    while (prolog := _PROLOG.match(head, at)) is not None:
        at = prolog.end()
    root = _ROOT.match(head, at)
    return (root[1], head[at:]) if root else ("", "")


def has_root(*names: str, holding: str = "") -> Callable[[str], bool]:
    """A test whether the root in the head of a file has one of these names and ``holding``, an
    expression, is found from there on."""
    pattern = re.compile(holding)

    def holds(head: str) -> bool:
        name, rest = root_in(head)
        return name in names and pattern.search(rest) is not None

    return holds


# --- Text -----------------------------------------------------------------------------------

_BLOCK = re.compile(
    "p|sec|(?:sub|trans-)?title|head|div|list(?:-item)?|item|def-(?:list|item)|t[rdh]|row"
    "|cell|table|caption|disp-formula|disp-quote|formula|abstract|s|note|fig|figure|figDesc|ab|quote"
    "|boxed-text|label"
)
# What stands between the parts of a mathematical expression.
_MATH = {
    **dict.fromkeys(("math", "mrow", "mstyle", "semantics", "mtable", "mtr", "mtd"), ("",)),
    **dict.fromkeys(("mover", "mpadded", "menclose", "mmultiscripts", "msqrt"), ("",)),
    **{"msup": ("^",), "msub": ("_",), "munder": ("_",), "mfrac": ("/",), "mroot": ("^1/",)},
    **{"msubsup": ("_", "^"), "munderover": ("_", "^"), "mfenced": (", ",)},
}
_AROUND = {"msqrt": ("√(", ")"), "mfenced": ("(", ")")}
_BREAKS = frozenset(("lb", "br", "break"))
_CITATIONS = frozenset(("xref", "ref"))
_POWER = re.compile(r"\s*[-+−]?\d+\s*")
_TEX_BODY = re.compile(r"\\begin\{document\}(.*?)(?:\\end\{document\}|$)", re.DOTALL)

_Piece = str | Element


def inner_text(element: Element | None, skip: Collection[str] = ()) -> str:
    """The text inside an element, folded, without the descendants whose names are in ``skip``.

    Formulas stay readable: TeX and MathML as text, a numeric superscript as a power (``n^2``).
    """
    if element is None:
        return ""
    if len(element) == 0 and local(element) != "tex-math":
        return fold(element.text or "")
    return fold("".join(map(str, pieces_of(element, skip))))


def pieces_of(
    element: Element, skip: Collection[str] = (), whole: Collection[Element] = ()
) -> Iterator[_Piece]:
    """The text inside an element as it stands, in pieces; of ``whole`` the elements themselves."""
    stack: list[_Piece] = _parts(element, skip)[::-1]
    while stack:
        piece = stack.pop()
        if isinstance(piece, str) or piece in whole:
            yield piece
        else:
            stack.extend(reversed(_parts(piece, skip)))


def text_at(element: Element | None, *path: str) -> str:
    """The text inside the element at the end of a path of names."""
    return inner_text(child(element, *path))


def first_text(elements: Iterable[Element]) -> str:
    """The first text that some elements hold."""
    return next(filter(None, map(inner_text, elements)), "")


def _parts(element: Element, skip: Collection[str]) -> list[_Piece]:
    """What an element is made of, one level down, as strings and elements in order."""
    name = local(element)
    if name in _MATH:
        return _math_parts(element, name)
    if name == "tex-math":
        return _tex_parts(element)
    if not name:
        return [entity_to_text(element.text or "")]
    parts: list[_Piece] = [element.text or ""]
    for kid in element:
        if local(kid) not in skip:
            parts.append(kid)
        parts.append(kid.tail or "")
    if name in _BREAKS:
        return ["\n", *parts]
    if _BLOCK.fullmatch(name):
        return [" ", *parts, " "]
    return _raised(element, parts) if name == "sup" else parts


def _raised(element: Element, parts: list[_Piece]) -> list[_Piece]:
    """A superscript: a number is a power, unless it is the number of a reference."""
    parent = element.getparent()
    around = parent is not None and local(parent) in _CITATIONS
    if around or next(below(element, *_CITATIONS), None) is not None:
        return [" ", *parts]
    number = len(element) == 0 and _POWER.fullmatch(element.text or "")
    return ["^", (element.text or "").strip()] if number else parts


def _tex_parts(element: Element) -> list[_Piece]:
    """TeX as text, without the preamble of a whole document; nothing where MathML says it."""
    parent = element.getparent()
    if parent is not None and local(parent) == "alternatives" and child(parent, "math") is not None:
        return []
    tex = "".join(str(text) for text in element.itertext())
    body = _TEX_BODY.search(tex)
    return [latex_to_text((body[1] if body else tex).strip().strip("$"))]


def _math_parts(element: Element, name: str) -> list[_Piece]:
    """The parts of a formula with their signs between; white space of the layout is dropped."""
    signs = _MATH[name]
    kids = [kid for kid in element if not local(kid).startswith("annotation")]
    before, after = _AROUND.get(name, ("", ""))
    parts: list[_Piece] = [before, (element.text or "").strip()]
    for at, kid in enumerate(kids):
        parts += [signs[min(at, len(signs)) - 1] if at else "", kid, (kid.tail or "").strip()]
    return [*parts, after]
