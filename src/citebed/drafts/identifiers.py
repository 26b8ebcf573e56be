"""DOIs, arXiv ids and addresses inside running text and reference entries."""

from __future__ import annotations

import re

from citebed.drafts.findings import Findings
from citebed.drafts.records import Entry
from citebed.text.normalise import fold, normalise_doi

_DOI = re.compile(
    r"(?:https?://(?:[\w.-]{1,60}/){1,8}?|\bdoi:?\s{0,3}|\b(?:dx\.)?doi\.org/)?"
    r"(?<![\w.])(10\.\d{4,9}(?:\.\d{1,9}){0,4}/[^\s\ue000\ue001\"<>{}|\\^`]{1,200})",
    re.IGNORECASE,
)
_ARXIV = re.compile(
    r"(?:https?://(?:www\.)?arxiv\.org/(?:abs|pdf|html)/|\barxiv:\s?|\barxiv\s+(?:preprint\s+)?"
    r"(?:arxiv:)?|\babs/)"
    r"(\d{4}\.\d{4,5}|[a-z-]{2,12}(?:\.[a-z]{2})?/\d{7})(?:v\d{1,2})?(?:\.pdf)?(?!\d)",
    re.IGNORECASE,
)
_BARE_ARXIV = re.compile(r"(\d{4}\.\d{4,5}|[a-z-]{2,12}(?:\.[a-z]{2})?/\d{7})(?:v\d+)?", re.I)
_ARXIV_DOI = "10.48550/arxiv."
_URL = re.compile(
    r"<?\b(?:https?|ftp)://[^\s\ue000\ue001<>{}\"]+>?|\bwww\.[^\s\ue000\ue001<>{}\"]+"
)
_CLOSING = {")": "(", "]": "[", "}": "{"}


def _trimmed(doi: str) -> str:
    """A DOI without the punctuation of the sentence around it."""
    while doi and (doi[-1] in ".,;:'’”*_" or _stray(doi)):
        doi = doi[:-1]
    return doi


def _stray(doi: str) -> bool:
    opening = _CLOSING.get(doi[-1])
    return opening is not None and doi.count(doi[-1]) > doi.count(opening)


def doi_in(text: str) -> str | None:
    """The first DOI in ``text``, in lower case."""
    match = _DOI.search(text)
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


def entry_of(key: str, text: str) -> Entry:
    """An entry of a reference list from its words."""
    text = fold(text)
    doi = doi_in(text)
    arxiv = arxiv_in(text) or (arxiv_of_doi(doi) if doi else None)
    return Entry(key, text, doi=doi, arxiv=arxiv)


def place_identifiers(text: str, findings: Findings) -> str:
    """Text in which each DOI and arXiv id is a citation, and other addresses are gone."""
    if "10." in text:
        text = _DOI.sub(lambda match: _placed_doi(match, findings), text)
    if "arxiv" in text.lower():
        text = _ARXIV.sub(lambda match: findings.cite([f"arXiv:{match[1].lower()}"]), text)
    return _URL.sub(" ", text) if "://" in text or "www." in text else text


def _placed_doi(match: re.Match[str], findings: Findings) -> str:
    kept = _trimmed(match[1])
    doi = normalise_doi(kept)
    if doi is None:
        return match[0]
    return findings.cite([doi]) + match[1][len(kept) :]
