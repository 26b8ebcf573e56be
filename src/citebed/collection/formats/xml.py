"""Safe reading of XML, shared by all XML formats.

Nothing outside the data is read, entities that a document declares are not expanded, names match
without their namespaces, and no function recurses.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from html.entities import html5
from typing import Any, TypeAlias

from lxml import etree

from citebed.collection.formats.base import MAX_XML_BYTES, NOT_UTF8, Chunk, Format, decode
from citebed.records import Problem, Record
from citebed.text.latex import latex_to_text
from citebed.text.normalise import entity_to_text, fold

Element: TypeAlias = etree._Element

# --- Parsing --------------------------------------------------------------------------------

DECLARED = re.compile(rb"""^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z0-9._:-]+)["']""")
"""The XML declaration of an encoding."""
# Not encodings of files, or not of files with a declaration that is readable as ASCII.
_NOT_FOR_FILES = frozenset(
    ("idna", "punycode", "unicode_escape", "raw_unicode_escape", "utf-7", "utf-16", "utf-32")
)
_AMPERSAND = re.compile(
    rb"<!\[CDATA\[.*?(?:\]\]>|\Z)"
    rb"|&(?:([A-Za-z][A-Za-z0-9]{1,31});|#([0-9]+|x[0-9A-Fa-f]+);|(?![A-Za-z_#]))",
    re.DOTALL,
)
_ENTITY_ERROR = re.compile(r"Entity '(\w+)' not defined")
_HARMLESS = frozenset(("NAMESPACE", "VALID", "DTD"))  # GROBID's training files have xml:id="12"
_PREFIX = re.compile(rb"(</?)[A-Za-z][\w.-]*:(?=[A-Za-z])")
# After these errors, whole elements can be missing; after others, one or two characters.
_LOSING = frozenset(
    ("ERR_TAG_NOT_FINISHED", "ERR_TAG_NAME_MISMATCH", "ERR_RESOURCE_LIMIT", "ERR_GT_REQUIRED")
)


def parse_xml(data: bytes) -> tuple[Element | None, list[Problem]]:
    """Return the root element (or ``None`` without any element) and the problems.

    The root of broken XML has everything that could be read. Never raises.
    """
    text, problems = to_utf8(data)
    start = len(text) - len(text.lstrip())
    root, errors = _parse(text[start:])
    if errors and b"&" in text:
        # After its first error, libxml2 drops every &name;, even &amp;.
        names = ((error, _ENTITY_ERROR.match(error.message)) for error in errors)
        others = [error for error, name in names if name is None or f"{name[1]};" not in html5]
        root, errors = _parse(_AMPERSAND.sub(_to_number, text[start:]))
        errors = errors or others
    return root, problems + _describe_errors(errors, text.count(b"\n", 0, start), root is None)


def parse_fragment(text: bytes) -> tuple[Element | None, list[Problem]]:
    """Parse one element of a larger file, in UTF-8, without the declarations of that file.

    Known entities are resolved by name, and tags lose their prefixes.
    """
    if b"&" in text:
        text = _AMPERSAND.sub(_to_number, text)
    if b":" in text:
        text = _PREFIX.sub(rb"\1", text)
    root, errors = _parse(text)
    kind = "skipped" if root is None else "mended"
    return root, [each._replace(kind=kind) for each in _describe_errors(errors, 0, root is None)]


def _parse(text: bytes) -> tuple[Element | None, list[Any]]:
    """Return the root, and the errors without warnings and errors of namespaces."""
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
    errors = (error for error in parser.error_log if error.level_name != "WARNING")
    return root, [error for error in errors if error.domain_name not in _HARMLESS]


def _to_number(match: re.Match[bytes]) -> bytes:
    """Write known entities and a lone ``&`` as numbers, and replace surrogates."""
    if match[0] == b"&":
        return b"&#38;"
    if match[2]:
        base = 16 if match[2].startswith(b"x") else 10
        digits = match[2].lstrip(b"x0")
        is_surrogate = 4 <= len(digits) <= 5 and 0xD800 <= int(digits, base) <= 0xDFFF
        return b"&#65533;" if is_surrogate else match[0]  # libxml2 would return invalid UTF-8
    characters = html5.get(f"{match[1].decode('ascii')};") if match[1] else None
    return "".join(f"&#{ord(c)};" for c in characters).encode() if characters else match[0]


def to_utf8(data: bytes) -> tuple[bytes, list[Problem]]:
    """Convert data to UTF-8, from the declared encoding if the data fits it."""
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
    text, repaired = decode(data)
    problems = [Problem(1, NOT_UTF8, "mended")] if repaired else []
    return text.encode("utf-8", "replace"), problems


def _describe_errors(errors: list[Any], blank_lines: int, is_empty: bool) -> list[Problem]:
    """Return one problem for the first error, with the number of the others."""
    if not errors:
        return [Problem(1, "no XML element was found")] if is_empty else []
    first = next((error for error in errors if error.type_name in _LOSING), errors[0])
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    is_losing = is_empty or first.type_name in _LOSING
    rest = "nothing could be read" if is_empty else "what could be read is kept"
    what = f"broken XML: {fold(first.message)}{more}; {rest}"
    return [Problem(max(first.line, 1) + blank_lines, what, "skipped" if is_losing else "mended")]


def open_root(chunk: Chunk, *names: str) -> tuple[Element | None, list[Problem]]:
    """Return the root of a chunk if it has one of these names, and the problems."""
    root, problems = parse_xml(chunk.data)
    if root is not None and local_name(root) not in names:
        expected = " or ".join(f"<{name}>" for name in names)
        problems.append(Problem(1, f"the file starts with <{local_name(root)}>, not {expected}"))
        root = None
    return root, [problem._replace(line=problem.line + chunk.line - 1) for problem in problems]


# --- Elements -------------------------------------------------------------------------------


def local_name(element: Element) -> str:
    """Return the name of an element without namespace or prefix; ``""`` for an entity."""
    tag = element.tag
    return tag.rpartition("}")[2].rpartition(":")[2] if isinstance(tag, str) else ""


def children(element: Element | None, *names: str) -> Iterator[Element]:
    """Yield the children with these names, in order; nothing for ``None``."""
    if element is None:
        return iter(())
    return element.iterchildren(*(f"{{*}}{name}" for name in names))


def child(element: Element | None, *path: str) -> Element | None:
    """Return the element at the end of a path, always through the first child of a name."""
    for name in path:
        element = next(children(element, name), None)
    return element


def descendants(element: Element | None, *names: str) -> Iterator[Element]:
    """Yield the element and its descendants that have these names, in document order."""
    return iter(()) if element is None else element.iter(*(f"{{*}}{name}" for name in names))


def attribute(element: Element, name: str) -> str:
    """Return an attribute of any namespace (``xml:id``, ``xlink:href``), or ``""``."""
    value = element.get(name)
    if value is None:
        ends = (f"}}{name}", f":{name}")
        value = next((str(v) for key, v in element.items() if str(key).endswith(ends)), "")
    return value.strip()


def source_line(element: Element, chunk: Chunk) -> int:
    """Return the line of the source where an element starts."""
    line: Any = element.sourceline
    return chunk.line + (int(line) if line else 1) - 1


_STEM_ENDINGS = re.compile(
    r"(?:\.(?:xml|tei|nxml|grobid|jats|pdf|gz|bz2|xz|zst|zip))+$", re.IGNORECASE
)


def file_stem(source: str) -> str:
    """Return the file name of a source without folders and endings; ``""`` for standard input."""
    name = re.split(r"[/\\!]", source)[-1]
    return "" if name == "-" or name.startswith("<") else fold(_STEM_ENDINGS.sub("", name))


_PROLOG = re.compile(
    r"\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>", re.DOTALL | re.IGNORECASE
)
_ROOT = re.compile(r"<(?:[\w.-]+:)?([\w.-]+)(?=[\s/>])")


def has_root(*names: str, holding: str = "") -> Callable[[str], bool]:
    """Make a ``sniff``: the root has one of these names, and ``holding`` (a regular expression)
    matches somewhere from there on."""
    pattern = re.compile(holding)

    def sniff(head: str) -> bool:
        at = 1 if head.startswith("\ufeff") else 0
        while (prolog := _PROLOG.match(head, at)) is not None:
            at = prolog.end()
        root = _ROOT.match(head, at)
        return root is not None and root[1] in names and pattern.search(head[at:]) is not None

    return sniff


def xml_format(
    name: str,
    title: str,
    roots: tuple[str, ...],
    parse_root: Callable[[Element, Chunk], Iterator[Record]],
    holding: str = "",
) -> Format:
    """Make a format of files that are read in one piece; for ``holding`` see `has_root`."""

    def parse(chunk: Chunk) -> Iterator[Record]:
        root, problems = open_root(chunk, *roots)
        yield from problems
        if root is not None:
            yield from parse_root(root, chunk)

    return Format(name, title, has_root(*roots, holding=holding), parse, limit=MAX_XML_BYTES)


# --- Text -----------------------------------------------------------------------------------

_BLOCK = re.compile(
    "p|sec|(?:sub|trans-)?title|head|div|list(?:-item)?|item|def-(?:list|item)|t[rdh]|row"
    "|cell|table|caption|disp-formula|disp-quote|formula|abstract|s|note|fig|figure|figDesc|ab|quote"
    "|boxed-text|label"
)
# The signs between the parts of a mathematical expression
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
    """Return the folded text of an element without the descendants with names in ``skip``.

    Formulas stay readable: TeX and MathML as text, a numeric superscript as a power (``n^2``).
    """
    if element is None:
        return ""
    if len(element) == 0 and local_name(element) != "tex-math":
        return fold(element.text or "")
    return fold("".join(map(str, text_pieces(element, skip))))


def text_at(element: Element | None, *path: str) -> str:
    """Return the text of the element at the end of a path of names."""
    return inner_text(child(element, *path))


def first_text(elements: Iterable[Element]) -> str:
    """Return the first text of some elements that is not empty."""
    return next(filter(None, map(inner_text, elements)), "")


def text_pieces(
    element: Element, skip: Collection[str] = (), whole: Collection[Element] = ()
) -> Iterator[_Piece]:
    """Yield the raw text of an element in pieces; for elements in ``whole``, yield the element."""
    stack: list[_Piece] = _parts(element, skip)[::-1]
    while stack:
        piece = stack.pop()
        if isinstance(piece, str) or piece in whole:
            yield piece
        else:
            stack.extend(reversed(_parts(piece, skip)))


def _parts(element: Element, skip: Collection[str]) -> list[_Piece]:
    """Return the strings and child elements of an element, in order."""
    name = local_name(element)
    if name in _MATH:
        signs = _MATH[name]
        kids = [kid for kid in element if not local_name(kid).startswith("annotation")]
        before, after = _AROUND.get(name, ("", ""))
        parts: list[_Piece] = [before, (element.text or "").strip()]
        for at, kid in enumerate(kids):
            parts += [signs[min(at, len(signs)) - 1] if at else "", kid, (kid.tail or "").strip()]
        return [*parts, after]
    if name == "tex-math":
        parent = element.getparent()
        has_alternatives = parent is not None and local_name(parent) == "alternatives"
        if has_alternatives and child(parent, "math") is not None:
            return []
        tex = "".join(str(text) for text in element.itertext())
        body = _TEX_BODY.search(tex)
        return [latex_to_text((body[1] if body else tex).strip().strip("$"))]
    if not name:
        return [entity_to_text(element.text or "")]
    parts = [element.text or ""]
    for kid in element:
        if local_name(kid) not in skip:
            parts.append(kid)
        parts.append(kid.tail or "")
    if name in _BREAKS:
        return ["\n", *parts]
    if _BLOCK.fullmatch(name):
        return [" ", *parts, " "]
    return _superscript_parts(element, parts) if name == "sup" else parts


def _superscript_parts(element: Element, parts: list[_Piece]) -> list[_Piece]:
    """Return a number as a power, unless it is the number of a reference."""
    parent = element.getparent()
    is_cited = parent is not None and local_name(parent) in _CITATIONS
    if is_cited or next(descendants(element, *_CITATIONS), None) is not None:
        return [" ", *parts]
    number = len(element) == 0 and _POWER.fullmatch(element.text or "")
    return ["^", (element.text or "").strip()] if number else parts
