"""DOIs, arXiv ids and URLs, in fields of records and in running text; unique ids."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from urllib.parse import unquote

from citebed.text.normalise import fold

DOI = r"10\.\d{4,9}(?:\.\d+)*/\S+"
"""Pattern of a DOI."""
_ARXIV_ID = r"(\d{4}\.\d{4,5}|[a-z-]{2,12}(?:\.[a-z]{2})?/\d{7})"
ARXIV_ADDRESS = rf"(?i)arxiv\.org/(?:abs|pdf|html)/{_ARXIV_ID}"
"""Pattern of a URL of a paper at arXiv; the first group is its id."""
ARXIV_NAME = (
    r"^\s*(?:(?:https?://)?(?:www\.|export\.)?arxiv\.org/(?:abs|pdf|html)/|arxiv:\s*"
    r"|(?:https?://(?:dx\.)?doi\.org/|doi:\s*)?10\.48550/arxiv\.)"
    rf"{_ARXIV_ID}(?:v\d+)?(?:\.pdf)?(?:[?#].*)?\s*$"
)
"""Pattern of a text that only names a paper at arXiv, in lower case; the first group is its id."""

_DOI = re.compile(DOI)
# Resolvers (doi.org, doi.acm.org, also behind a library's proxy), pages of publishers whose URL has
# the DOI after ``/doi/``, Springer's pages, and prefixes such as "doi:".
_DOI_START = re.compile(
    r"(?:https?:/{1,3})?(?:www\.)?(?:dx[.-])?doi[.-]org[\w.:-]*/"
    r"|https?://(?:dx|doi)[.-][\w.:-]+/"
    r"|https?://[\w.:-]+/doi/(?:(?:abs|full|pdf|epdf|pdfplus|pdfdirect|citedby|suppl)/)?"
    r"|https?://link[.-]springer[.-]com[\w.:-]*/(?:(?:article|chapter|content/pdf)/)?"
    r"|https?://[\w.:-]+/[\w./-]{0,60}\?(?:[\w=]{0,40}&)?(?:q?url|doi|doid|id)="
    r"|doi:?\s*|info:doi/|urn:doi:",
    re.IGNORECASE,
)
_PAGE_END = re.compile(
    r"(?:/(?:abstract|summary|full|fulltext|pdf|epdf|meta|html|references)|\.pdf|\.html)/?$",
    re.IGNORECASE,
)
_QUERY = re.compile(r"[?#&][\w.-]+=.*|;jsessionid=.*|#[\w-]*$", re.IGNORECASE)
_CODED = re.compile(r"%(?:2[0-9a-f]|3[a-f]|5[bd])", re.IGNORECASE)
_LONGEST = 2000
_OPENING = {")": "(", "]": "[", "}": "{", ">": "<"}
_ANOTHER = re.compile(r"[;,|](?=(?:https?://[\w.-]{1,60}/|doi:?)?10\.\d{4,9}/)", re.IGNORECASE)


def normalise_doi(text: str | None) -> str | None:
    """Return the DOI that ``text`` is, in lower case without a resolver, or ``None``.

    Accept ``10.1145/X``, ``doi:10.1145/X``, ``https://doi.org/10.1145/X``, other resolvers, also
    behind a proxy, and pages whose URL contains the DOI. Return the first of two DOIs.
    """
    if not text or "10" not in text:
        return None
    text = text.strip() if text.isascii() else fold(text)
    if not text.startswith("10."):
        text = text.strip("<>{} ")
        for _ in range(4):  # one resolver is common, two are rare
            start = _DOI_START.match(text)
            if start is None:
                break
            text = text[start.end() :].lstrip()
            if "%" in text:
                text = _decoded(text)
            if start[0][:4].lower() == "http":
                text = _QUERY.sub("", text)
                if "/doi/" in start[0] or "springer" in start[0]:
                    text = _PAGE_END.sub("", text)
    if not text.startswith("10.") or len(text) > _LONGEST:
        return None
    if "%" in text:
        text = _decoded(text)
    if text.count("10.") > 1:
        text = _ANOTHER.split(text, maxsplit=1)[0]
    text = text.rstrip(".,;")
    if text[-1] in _OPENING:
        while text and text.count(text[-1]) > text.count(_OPENING.get(text[-1], text[-1])):
            text = text[:-1].rstrip(".,;")
    match = _DOI.fullmatch(text)
    return match[0].lower() if match else None


def _decoded(text: str) -> str:
    """Decode percent codes (``%2F``), even if they were encoded twice."""
    while len(text) <= _LONGEST and _CODED.search(text):
        text = unquote(text)
    return text


_DOI_BEGINS = re.compile(r"(?<![\d.])10\.\d{4,9}(?:\.\d+)*/")
_IN_HTML = re.compile(r"[\"']|</?a\b|&quot;", re.IGNORECASE)
_SICI_END = re.compile(r"\d\.\d\.co;", re.IGNORECASE)
_DIGIT_OR_SIGN = re.compile(r"[\d:_]")
_BRACKET_INSIDE = re.compile(r"[\[<](?:\d|$)")  # of a SICI; no word follows, as in "[doi]"
# Older DOIs consist of an ISSN, a year in brackets and a number; without the end it is a journal's.
_SERIAL = re.compile(r"/(?:\(sici\)|s)?\d{4}-\d{3}[\dx]$", re.IGNORECASE)
_SERIAL_YEAR = re.compile(_SERIAL.pattern[:-1] + r"\(\d{2,8}\)$", re.IGNORECASE)
_YEAR = re.compile(r"\(\d{2,8}\)")


def doi_of(text: str | None) -> str | None:
    """Return the DOI in a DOI field, even with other text around it.

    Skip HTML, URLs, a second DOI and words after the DOI; remove spaces inside it (``…(2004)024 [
    0141:…``). Return ``None`` if the DOI may be incomplete.
    """
    if not text or (found := normalise_doi(text)):
        return found if text else None
    text = _decoded(fold(text[:_LONGEST]))
    start = _DOI_BEGINS.search(text)
    if start is None:
        return None
    rest = text[start.start() :]
    if _IN_HTML.search(text):
        rest = re.split(r"[\"'<>\s]|&quot;", rest, maxsplit=1)[0]
    if "://" in text[: start.start()]:
        rest = _PAGE_END.sub("", _QUERY.sub("", rest))
    joined = _joined(rest.split())
    return normalise_doi(_trimmed(joined)) if joined else None


def _joined(words: list[str]) -> str:
    """Return the DOI at the start of the words without spaces, or "" if its end is unclear."""
    doi = words[0]
    for word in words[1:]:
        is_open = any(doi.count(opening) > doi.count(sign) for sign, opening in _OPENING.items())
        goes_on = (
            is_open
            or _BRACKET_INSIDE.match(word)
            or doi[-1] in "-/:_."
            or _continues_serial(doi, word)
        )
        if _DOI_BEGINS.match(word) or (word[0].isalpha() and not is_open):
            return doi if any(map(str.isdigit, doi.partition("/")[2])) else ""
        if not (goes_on or (doi[-1] in "]>" and _SICI_END.match(word))):
            return "" if _DIGIT_OR_SIGN.match(word) else doi
        doi += word
    return doi


def _continues_serial(doi: str, word: str) -> bool:
    """Return True if a word continues an older DOI with its year, or the number after it."""
    if _SERIAL.search(doi):
        return _YEAR.match(word) is not None
    return word[0].isdigit() and _SERIAL_YEAR.search(doi) is not None


def looks_like_url(text: str) -> bool:
    """Return True if a text looks like a URL."""
    return re.match(r"(?:https?|ftp)://\S+|www\.\S+", text.strip(), re.IGNORECASE) is not None


# --- Inside running text --------------------------------------------------------------------

_DOI_INSIDE = re.compile(
    r"(?:https?://(?:[\w.-]{1,60}/){1,8}?|\bdoi:?\s{0,3}|\b(?:dx\.)?doi\.org/)?"
    r"(?<![\w.])(10\.\d{4,9}(?:\.\d{1,9}){0,4}/[^\s\ue000\ue001\"<>{}|\\^`]{1,200})",
    re.IGNORECASE,
)
_ARXIV = re.compile(
    r"(?:https?://(?:www\.)?arxiv\.org/(?:abs|pdf|html)/|\barxiv:\s?|\barxiv\s+(?:preprint\s+)?"
    r"(?:arxiv:)?|\babs/)"
    rf"{_ARXIV_ID}(?:v\d{{1,2}})?(?:\.pdf)?(?!\d)",
    re.IGNORECASE,
)
_BARE_ARXIV = re.compile(rf"{_ARXIV_ID}(?:v\d+)?", re.IGNORECASE)
_ARXIV_DOI = "10.48550/arxiv."
_URL = re.compile(
    r"<?\b(?:https?|ftp)://[^\s\ue000\ue001<>{}\"]+>?|\bwww\.[^\s\ue000\ue001<>{}\"]+"
)


def _trimmed(doi: str) -> str:
    """Strip the punctuation of the surrounding sentence from a DOI."""
    while doi and (
        doi[-1] in ".,;:'’”*_" or doi.count(doi[-1]) > doi.count(_OPENING.get(doi[-1], doi[-1]))
    ):
        doi = doi[:-1]
    return doi


def doi_in(text: str) -> str | None:
    """Return the first DOI in ``text``, in lower case."""
    match = _DOI_INSIDE.search(text)
    return normalise_doi(_trimmed(match[1])) if match else None


def url_in(text: str) -> str | None:
    """Return the first URL in ``text``, without the punctuation of the sentence."""
    match = _URL.search(text)
    return (_trimmed(match[0].strip("<>")) or None) if match else None


def arxiv_in(text: str) -> str | None:
    """Return the first arXiv id in ``text`` (``arXiv:1810.04805v2``, a URL), without version."""
    match = _ARXIV.search(text)
    return match[1].lower() if match else None


def arxiv_of(text: str) -> str | None:
    """Return the arXiv id in a field, which may contain only the id."""
    match = _BARE_ARXIV.fullmatch(text.strip())
    return match[1].lower() if match else arxiv_in(text)


def arxiv_of_doi(doi: str) -> str | None:
    """Return the arXiv id in a DOI of arXiv: ``10.48550/arXiv.1810.04805``."""
    return doi.removeprefix(_ARXIV_DOI) if doi.startswith(_ARXIV_DOI) else None


def doi_of_arxiv(arxiv: str) -> str:
    """Return arXiv's DOI of a paper."""
    return _ARXIV_DOI + arxiv


def replace_identifiers(text: str, cite: Callable[[str], str]) -> str:
    """Replace each DOI and arXiv id (``arXiv:…``) by ``cite(id)``; remove other URLs."""
    if "10." in text:
        text = _DOI_INSIDE.sub(lambda match: _replaced_doi(match, cite), text)
    if "arxiv" in text.lower():
        text = _ARXIV.sub(lambda match: cite(f"arXiv:{match[1].lower()}"), text)
    return _URL.sub(" ", text) if "://" in text or "www." in text else text


def _replaced_doi(match: re.Match[str], cite: Callable[[str], str]) -> str:
    kept = _trimmed(match[1])
    doi = normalise_doi(kept)
    return match[0] if doi is None else cite(doi) + match[1][len(kept) :]


# --- Unique ids -------------------------------------------------------------------------------


class FreeIds:
    """Makes ids unique: the second ``a`` becomes ``a-2``, the third ``a-3``.

    Only its owner can take a ``reserved`` id. ``fold`` maps equal ids to the same value, for
    example ``str.casefold`` if case makes no difference.
    """

    def __init__(self, reserved: Iterable[str] = (), fold: Callable[[str], str] = str) -> None:
        self._fold = fold
        self._reserved, self._given = frozenset(map(fold, reserved)), set[str]()
        self._copies: dict[str, int] = {}

    def add(self, taken: Iterable[str]) -> None:
        """Mark ids as taken."""
        self._given.update(map(self._fold, taken))

    def take(self, wanted: str, owner: str | None = None, stem: str | None = None) -> str:
        """Take the wanted id if it is free (or reserved for ``owner``), else the next free number
        after ``stem``, which is the wanted id by default; return the result."""
        name, stem = wanted, stem or wanted
        while not self.is_free(name, owner):
            self._copies[stem] = self._copies.get(stem, 1) + 1
            name = f"{stem}-{self._copies[stem]}"
        self._given.add(self._fold(name))
        return name

    def is_free(self, name: str, owner: str | None = None) -> bool:
        """Return True if an id can be taken without a number."""
        same = self._fold(name)
        return same not in self._given and (name == owner or same not in self._reserved)
