"""PDFs read by a GROBID server that somebody runs, as the same annotations as our own reader's."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from citebed.collection.formats.base import Chunk
from citebed.collection.formats.tei import TEI
from citebed.errors import CitebedError, FormatError
from citebed.files.environment import check_online
from citebed.papers.annotation import AnnotatedContext, Annotation
from citebed.papers.annotator import annotate_references, annotate_sentences, part_of
from citebed.papers.reference_matcher import Bibliography
from citebed.papers.references import ParsedReference
from citebed.records import CitingPaper, Document, Reference

_SECONDS = 120
_MOST = 64 << 20
_OWN = ("localhost", "127.0.0.1", "::1")
_ASKED = {"includeRawCitations": "1", "consolidateCitations": "0", "consolidateHeader": "0"}


def annotation_by_grobid(
    path: Path, address: str, sections: Collection[str], known: Bibliography | None
) -> Annotation:
    """The annotation of a PDF as a GROBID server reads it; it says nothing of places."""
    if urlsplit(address).hostname not in _OWN:
        check_online(f"{path} would be sent to {address}", "Leave out --grobid.")
    records = list(TEI.parse(Chunk(tei_of(path, address), str(path))))
    paper = next((each for each in records if isinstance(each, CitingPaper)), None)
    document = next((each for each in records if isinstance(each, Document)), None)
    if document is None:
        raise FormatError(str(path), None, f"GROBID at {address} read no paper in it.")
    references = paper.references if paper else ()
    parsed = [_parsed(each) for each in references]
    ids = [each.ref_id for each in references]
    return Annotation(
        paper_id=document.doi or path.stem,
        doi=document.doi,
        title=document.title,
        authors=document.authors,
        abstract=document.abstract or "",
        year=document.year,
        contexts=tuple(_contexts(paper, sections)) if paper else (),
        references=tuple(annotate_references(ids, [()] * len(ids), parsed, known)),
        pages=(),
    )


def _contexts(paper: CitingPaper, sections: Collection[str]) -> Iterator[AnnotatedContext]:
    number = 0
    for context in paper.contexts:
        part = part_of(context.section, sections)
        if part is None or not any(sentence.cites for sentence in context.sentences):
            continue
        number += 1
        sentences = tuple(annotate_sentences(context.sentences))
        yield AnnotatedContext(f"{number:02d}", part, context.section, 1.0, sentences)


def _parsed(reference: Reference) -> ParsedReference:
    stated = (reference.author, reference.title)
    return ParsedReference(
        text=reference.raw or ". ".join(filter(None, stated)),
        authors=(reference.author,) if reference.author else (),
        title=reference.title or "",
        doi=reference.doi,
        url=reference.url,
        arxiv=reference.arxiv,
        confidence=1.0 if reference.title else 0.0,
    )


def tei_of(path: Path, address: str) -> bytes:
    """What a GROBID server makes of a PDF."""
    edge = secrets.token_hex(16)
    fields = "".join(_field(edge, name, value) for name, value in _ASKED.items())
    head = f'--{edge}\r\nContent-Disposition: form-data; name="input"; filename="paper.pdf"\r\n'
    kind = "Content-Type: application/pdf\r\n\r\n"
    body = (
        fields.encode() + (head + kind).encode() + _content(path) + f"\r\n--{edge}--\r\n".encode()
    )
    headers = {"Content-Type": f"multipart/form-data; boundary={edge}", "Accept": "application/xml"}
    place = f"{address.rstrip('/')}/api/processFulltextDocument"
    try:
        with urlopen(Request(place, body, headers), timeout=_SECONDS) as answer:
            return bytes(answer.read(_MOST))
    except HTTPError as error:
        raise CitebedError(f"GROBID at {address} did not read {path}: {error.reason}") from None
    except (URLError, TimeoutError, OSError, ValueError) as error:
        why = getattr(error, "reason", error)
        raise CitebedError(
            f"GROBID at {address} cannot be reached ({why}); expected the address of a running "
            "server, as http://localhost:8070. Leave out --grobid to read without one."
        ) from None


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CitebedError(f"{path}: {error.strerror}") from None


def _field(edge: str, name: str, value: str) -> str:
    return f'--{edge}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
