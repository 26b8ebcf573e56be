"""DOIs, arXiv ids and addresses: as a field of a record, and inside running text."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import unquote

from citebed.text.normalise import fold

DOI = r"10\.\d{4,9}(?:\.\d+)*/\S+"
"""A DOI and nothing else, as an expression."""
_ARXIV_ID = r"(\d{4}\.\d{4,5}|[a-z-]{2,12}(?:\.[a-z]{2})?/\d{7})"
ARXIV_ADDRESS = rf"(?i)arxiv\.org/(?:abs|pdf|html)/{_ARXIV_ID}"
"""The address of a paper at arXiv, its id as the first group."""

_DOI = re.compile(DOI)
_DOI_START = re.compile(
    r"(?:(?:https?://)?(?:dx\.|www\.)?doi\.org/|https?://dl\.acm\.org/doi/(?:abs/|pdf/|full/)?|doi:?\s*|info:doi/)",
    re.IGNORECASE,
)


def normalise_doi(text: str | None) -> str | None:
    """The DOI in ``text``, lower-case and without a resolver, or ``None`` if it is not a DOI.

    Accepts ``10.1145/X``, ``doi:10.1145/X`` and ``https://doi.org/10.1145/X``.
    """
    if not text:
        return None
    text = text.strip() if text.isascii() else fold(text)
    if not text.startswith("10."):
        text = _without_resolver(text)
    match = _DOI.fullmatch(text.rstrip(".,;"))
    return match[0].lower() if match else None


def _without_resolver(text: str) -> str:
    text = text.strip("<>{} ")
    for _ in range(4):  # one resolver is met often, two now and then, never five
        start = _DOI_START.match(text)
        if start is None:
            break
        text = text[start.end() :].lstrip()
        if "%2" in text:
            text = unquote(text)
    return text


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
_OPENING = {")": "(", "]": "[", "}": "{"}


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
