"""Office files from strangers: bombs, entities, endless runs and any bytes get a clear answer."""

from __future__ import annotations

import contextlib
import io
import resource
import time
import zipfile
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.office import ODT_TYPE, W, opendocument_file, packed, paragraph, word_file
from tests.sampling import sized

from citebed.drafts import Draft, draft_from_bytes, office
from citebed.errors import CitebedError

_DOCUMENT = f'<w:document xmlns:w="{W}"><w:body>'
_LAUGHS = '<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
_OUTSIDE = '<!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/passwd">]>'


def _word(document: bytes, packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    return packed({"[Content_Types].xml": "<a/>", "word/document.xml": document}, packing)


def _runs(count: int) -> bytes:
    return f"{_DOCUMENT}<w:p>".encode() + b"<w:r><w:t>a</w:t></w:r>" * count


def _many_members() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("[Content_Types].xml", "word/")
        for number in range(20_001):
            archive.writestr(str(number), "")
    return stream.getvalue()


def _protected() -> bytes:
    data = bytearray(word_file(paragraph("Elms.")))
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = -1
        while (start := data.find(mark, start + 1)) >= 0:
            data[start + at] |= 1
    return bytes(data)


BOMBS: dict[str, tuple[Callable[[], bytes], str]] = {
    "ratio": (lambda: _word(f"{_DOCUMENT}<w:p>".encode() + b" " * (150 << 20)), "bomb|MiB"),
    "runs": (lambda: _word(_runs(sized(100_000, 1_000_000))), "elements"),
    "runs, not packed": (
        lambda: _word(_runs(sized(50_000, 1_000_000)), zipfile.ZIP_STORED),
        "elements",
    ),
    "large, not packed": (lambda: _word(b" " * (65 << 20), zipfile.ZIP_STORED), "64 MiB"),
    "members": (_many_members, "20,000 members"),
    "laughs": (lambda: _word(f"{_LAUGHS}<a>&b;</a>".encode()), "document type"),
    "outside": (lambda: _word(f"{_OUTSIDE}<a>&a;</a>".encode()), "document type"),
    "password": (_protected, "password"),
    "cut": (lambda: word_file(paragraph("Elms."))[:-30], "damaged or cut short"),
    "broken": (lambda: _word(b"<w:document>"), "not valid XML"),
    "nothing": (
        lambda: packed({"[Content_Types].xml": "<a/>", "word/x.xml": ""}),
        "word/document.xml is missing",
    ),
    "odt laughs": (
        lambda: packed({"mimetype": ODT_TYPE, "content.xml": f"{_LAUGHS}<a>&b;</a>"}),
        "document type",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_gets_a_clear_answer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(office, "_MOST_ELEMENTS", sized(90_000, office._MOST_ELEMENTS))
    make, says = BOMBS[name]
    data = make()
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with pytest.raises(CitebedError, match=says) as error:
        draft_from_bytes(data, "draft.docx" if not name.startswith("odt") else "draft.odt")
    assert str(error.value).startswith("draft.")
    assert time.process_time() - start < 30
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 << 10


def test_deep_elements_are_read() -> None:
    deep = b"<w:p>" * 50_000 + b"<w:r><w:t>Elms are tall.</w:t></w:r>" + b"</w:p>" * 50_000
    data = _word(_DOCUMENT.encode() + deep + b"</w:body></w:document>")
    assert [p.text for p in draft_from_bytes(data, "draft.docx").passages] == ["Elms are tall."]


_WORD_PARTS = (
    *("[Content_Types].xml", "word/document.xml", "word/styles.xml", "word/footnotes.xml"),
    *("word/_rels/document.xml.rels", "customXml/item1.xml", "docProps/custom.xml"),
)
_OPEN_PARTS = ("mimetype", "content.xml", "styles.xml", "meta.xml", "META-INF/manifest.xml")
_SIGNS = (
    *("<w:p>", "</w:p>", "<w:r>", "</w:r>", "<w:t>", "</w:t>", "Elms. ", "<w:tbl>", "</w:tbl>"),
    *('<w:fldChar w:fldCharType="begin"/>', '<w:fldChar w:fldCharType="separate"/>'),
    *('<w:fldChar w:fldCharType="end"/>', "<w:instrText>ADDIN CSL_CITATION {", "</w:instrText>"),
    *('"citationItems":[{"itemData":{"title":"x"}}]}', "<w:sdt>", '<w:tag w:val="MENDELEY_"/>'),
    *(
        "</w:sdt>", '<w:pStyle w:val="a"/>', "<w:del>", "</w:del>",
        '<w:footnoteReference w:id="1"/>',
    ),
)  # fmt: skip


@given(st.sampled_from(_WORD_PARTS), st.binary(max_size=80) | st.text(max_size=40).map(str.encode))
def test_any_bytes_in_any_part_of_a_word_file(part: str, inner: bytes) -> None:
    data = word_file(paragraph("Elms are tall."), more={part: inner})
    with contextlib.suppress(CitebedError):
        assert isinstance(draft_from_bytes(data, "draft.docx"), Draft)


@given(st.sampled_from(_OPEN_PARTS), st.binary(max_size=80) | st.text(max_size=40).map(str.encode))
def test_any_bytes_in_any_part_of_an_opendocument(part: str, inner: bytes) -> None:
    data = opendocument_file("<text:p>Elms are tall.</text:p>", more={part: inner})
    with contextlib.suppress(CitebedError):
        assert isinstance(draft_from_bytes(data, "draft.odt"), Draft)


@given(st.lists(st.sampled_from(_SIGNS), max_size=25))
def test_any_order_of_elements(signs: list[str]) -> None:
    opened: list[str] = []
    whole = []
    for sign in signs:  # close what is open, so that it is XML
        name = sign.strip("</>").split(" ")[0]
        if sign.startswith("</"):
            while name in opened and (last := opened.pop()):
                whole.append(f"</{last}>")
                if last == name:
                    break
            continue
        whole.append(sign)
        if sign.startswith("<") and not sign.endswith("/>"):
            opened.append(name.split(">")[0])
    whole += [f"</{name}>" for name in reversed(opened)]
    assert isinstance(draft_from_bytes(word_file("".join(whole)), "draft.docx"), Draft)


@given(st.binary(max_size=60), st.integers(0, 900))
def test_damaged_archives(noise: bytes, at: int) -> None:
    data = word_file(paragraph("Elms are tall."))
    with contextlib.suppress(CitebedError):
        damaged = data[:at] + noise + data[at + len(noise) :]
        assert isinstance(draft_from_bytes(damaged, "a.docx"), Draft)
