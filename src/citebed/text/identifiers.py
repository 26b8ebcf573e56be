"""DOIs, arXiv ids and addresses: as a field of a record, and inside running text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from urllib.parse import unquote

from citebed.text.normalise import fold

DOI = r"10\.\d{4,9}(?:\.\d+)*/\S+"
"""A DOI and nothing else, as an expression."""
_ARXIV_ID = r"(\d{4}\.\d{4,5}|[a-z-]{2,12}(?:\.[a-z]{2})?/\d{7})"
ARXIV_ADDRESS = rf"(?i)arxiv\.org/(?:abs|pdf|html)/{_ARXIV_ID}"
"""The address of a paper at arXiv, its id as the first group."""
ARXIV_NAME = (
    r"^\s*(?:(?:https?://)?(?:www\.|export\.)?arxiv\.org/(?:abs|pdf|html)/|arxiv:\s*"
    r"|(?:https?://(?:dx\.)?doi\.org/|doi:\s*)?10\.48550/arxiv\.)"
    rf"{_ARXIV_ID}(?:v\d+)?(?:\.pdf)?(?:[?#].*)?\s*$"
)
"""What names a paper at arXiv and nothing else, in lower case, its id as the first group."""

_DOI = re.compile(DOI)
# Resolvers (doi.org, doi.acm.org, those behind a library's proxy), publishers' pages whose address
# is a DOI's behind ``/doi/`` or Springer's, and what people write before a DOI.
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
    """The DOI in ``text``, lower-case and without a resolver, or ``None`` if it is not a DOI.

    Accepts ``10.1145/X``, ``doi:10.1145/X``, ``https://doi.org/10.1145/X``, other resolvers,
    those behind a proxy, and pages whose address is made of the DOI. Of two the first.
    """
    if not text or "10" not in text:
        return None
    text = text.strip() if text.isascii() else fold(text)
    if not text.startswith("10."):
        text = _without_resolver(text)
    if not text.startswith("10.") or len(text) > _LONGEST:
        return None
    if "%" in text:
        text = _decoded(text)
    if text.count("10.") > 1:
        text = _ANOTHER.split(text, maxsplit=1)[0]
    text = text.rstrip(".,;")
    if text[-1] in _OPENING:
        text = _without_stray_ends(text)
    match = _DOI.fullmatch(text)
    return match[0].lower() if match else None


def _without_stray_ends(text: str) -> str:
    """Text without closing brackets at its end that close nothing, and points before them."""
    while text and text.count(text[-1]) > text.count(_OPENING.get(text[-1], text[-1])):
        text = text[:-1].rstrip(".,;")
    return text


def _without_resolver(text: str) -> str:
    text = text.strip("<>{} ")
    for _ in range(4):  # one resolver is met often, two now and then, never five
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
    return text


def _decoded(text: str) -> str:
    """Text without the codes of signs (``%2F``) that addresses hold, coded twice or not."""
    while len(text) <= _LONGEST and _CODED.search(text):
        text = unquote(text)
    return text


_DOI_BEGINS = re.compile(r"(?<![\d.])10\.\d{4,9}(?:\.\d+)*/")
_IN_HTML = re.compile(r"[\"']|</?a\b|&quot;", re.IGNORECASE)
_SICI_END = re.compile(r"\d\.\d\.co;", re.IGNORECASE)
_DIGIT_OR_SIGN = re.compile(r"[\d:_]")
_BRACKET_INSIDE = re.compile(r"[\[<](?:\d|$)")  # of a SICI; no word follows, as in "[doi]"
# Older DOIs are a serial number, a year in parentheses and a number: cut, it would be a journal's.
_SERIAL = re.compile(r"/(?:\(sici\)|s)?\d{4}-\d{3}[\dx]$", re.IGNORECASE)
_SERIAL_YEAR = re.compile(_SERIAL.pattern[:-1] + r"\(\d{2,8}\)$", re.IGNORECASE)
_YEAR = re.compile(r"\(\d{2,8}\)")


def doi_of(text: str | None) -> str | None:
    """The DOI of a field that is meant to hold one, whatever stands around or inside it.

    HTML, an address of any kind, a second DOI and words behind it are passed over; blanks
    inside (``…(2004)024 [ 0141:…``) are closed. ``None`` where it may have been cut.
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
    """The DOI that begins the words, blanks inside it closed; nothing where it is not clear."""
    doi = words[0]
    for word in words[1:]:
        is_open = any(doi.count(opening) > doi.count(sign) for sign, opening in _OPENING.items())
        goes_on = is_open or _BRACKET_INSIDE.match(word) or doi[-1] in "-/:_." or _aged(doi, word)
        if _DOI_BEGINS.match(word) or (word[0].isalpha() and not is_open):
            return doi if any(map(str.isdigit, doi.partition("/")[2])) else ""
        if not (goes_on or (doi[-1] in "]>" and _SICI_END.match(word))):
            return "" if _DIGIT_OR_SIGN.match(word) else doi
        doi += word
    return doi


def _aged(doi: str, word: str) -> bool:
    """Whether a DOI that is a serial number so far goes on with its year, or with what follows."""
    if _SERIAL.search(doi):
        return _YEAR.match(word) is not None
    return word[0].isdigit() and _SERIAL_YEAR.search(doi) is not None


def looks_like_url(text: str) -> bool:
    """Whether a reference that is no DOI is an address."""
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
    """A DOI without the punctuation of the sentence around it."""
    while doi and (
        doi[-1] in ".,;:'’”*_" or doi.count(doi[-1]) > doi.count(_OPENING.get(doi[-1], doi[-1]))
    ):
        doi = doi[:-1]
    return doi


def doi_in(text: str) -> str | None:
    """The first DOI in ``text``, in lower case."""
    match = _DOI_INSIDE.search(text)
    return normalise_doi(_trimmed(match[1])) if match else None


def url_in(text: str) -> str | None:
    """The first address in ``text``, without the punctuation of the sentence around it."""
    match = _URL.search(text)
    return (_trimmed(match[0].strip("<>")) or None) if match else None


def arxiv_in(text: str) -> str | None:
    """The first arXiv id in ``text`` (``arXiv:1810.04805v2``, an address), without its version."""
    match = _ARXIV.search(text)
    return match[1].lower() if match else None


def arxiv_of(text: str) -> str | None:
    """The arXiv id that ``text`` is (a field that holds nothing else), or that it names."""
    match = _BARE_ARXIV.fullmatch(text.strip())
    return match[1].lower() if match else arxiv_in(text)


def arxiv_of_doi(doi: str) -> str | None:
    """The id behind a DOI that arXiv gave: ``10.48550/arXiv.1810.04805``."""
    return doi.removeprefix(_ARXIV_DOI) if doi.startswith(_ARXIV_DOI) else None


def doi_of_arxiv(arxiv: str) -> str:
    """The DOI that arXiv gives to a paper."""
    return _ARXIV_DOI + arxiv


def replace_identifiers(text: str, cite: Callable[[str], str]) -> str:
    """Text in which each DOI and arXiv id (as ``arXiv:…``) is what ``cite`` makes of it.

    Other addresses are gone.
    """
    if "10." in text:
        text = _DOI_INSIDE.sub(lambda match: _replaced_doi(match, cite), text)
    if "arxiv" in text.lower():
        text = _ARXIV.sub(lambda match: cite(f"arXiv:{match[1].lower()}"), text)
    return _URL.sub(" ", text) if "://" in text or "www." in text else text


def _replaced_doi(match: re.Match[str], cite: Callable[[str], str]) -> str:
    kept = _trimmed(match[1])
    doi = normalise_doi(kept)
    return match[0] if doi is None else cite(doi) + match[1][len(kept) :]


# --- Ids that are free ------------------------------------------------------------------------


class FreeIds:
    """Gives out each id once: the second ``a`` is ``a-2``, the third ``a-3``.

    ``reserved`` ids are given out to their owners only. ``fold`` says which ids are the same:
    ``str.casefold`` where case makes no difference.
    """

    def __init__(self, reserved: Iterable[str] = (), fold: Callable[[str], str] = str) -> None:
        self._fold = fold
        self._reserved, self._given = frozenset(map(fold, reserved)), set[str]()
        self._copies: dict[str, int] = {}

    def add(self, taken: Iterable[str]) -> None:
        """Ids that somebody has already."""
        self._given.update(map(self._fold, taken))

    def take(self, wanted: str, owner: str | None = None, stem: str | None = None) -> str:
        """The wanted id if it is free (or reserved for ``owner``), else the next copy that is.

        Copies are made of ``stem``, the wanted id itself where none is given.
        """
        name, stem = wanted, stem or wanted
        while not self.is_free(name, owner):
            self._copies[stem] = self._copies.get(stem, 1) + 1
            name = f"{stem}-{self._copies[stem]}"
        self._given.add(self._fold(name))
        return name

    def is_free(self, name: str, owner: str | None = None) -> bool:
        """Whether an id can be taken as it is."""
        same = self._fold(name)
        return same not in self._given and (name == owner or same not in self._reserved)
