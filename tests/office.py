"""Word and OpenDocument files written by hand, as word processors structure them."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from xml.sax.saxutils import escape, quoteattr

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_WORD_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'


def packed(members: Mapping[str, str | bytes], packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip archive of these members, in order."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", packing) as archive:
        for name, data in members.items():
            member = zipfile.ZipInfo(name)  # of a fixed date
            is_type = name == "mimetype"
            archive.writestr(member, data, zipfile.ZIP_STORED if is_type else packing)
    return stream.getvalue()


# --- Word -------------------------------------------------------------------------------------

_STYLES = "".join(
    f'<w:style w:type="paragraph" w:styleId="{own}"><w:name w:val="{name}"/>{more}</w:style>'
    for own, name, more in (
        ("Standard", "Normal", ""),
        ("berschrift1", "heading 1", '<w:pPr><w:outlineLvl w:val="0"/></w:pPr>'),
        ("berschrift2", "heading 2", '<w:pPr><w:outlineLvl w:val="1"/></w:pPr>'),
        ("Titel", "Title", ""),
        ("Beschriftung", "caption", ""),
        ("Mine", "My prose", '<w:basedOn w:val="Standard"/>'),
        ("MyHead", "My head", '<w:basedOn w:val="berschrift1"/>'),
    )
)


def run(text: str) -> str:
    """A run of text."""
    return f'<w:r><w:rPr><w:i/></w:rPr><w:t xml:space="preserve">{escape(text)}</w:t></w:r>'


def paragraph(*parts: str, style: str = "", item: bool = False) -> str:
    """A paragraph of text (as it is) and of markup (what begins with ``<``)."""
    own = f'<w:pStyle w:val="{style}"/>' if style else ""
    own += '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>' if item else ""
    inner = "".join(part if part.startswith("<w:") else run(part) for part in parts)
    return f"<w:p><w:pPr>{own}</w:pPr>{inner}</w:p>"


def field(code: str, shown: str, data: str = "") -> str:
    """A complex field, its code in several runs as Word writes it."""
    third = max(1, len(code) // 3)
    codes = "".join(
        '<w:r><w:instrText xml:space="preserve">'
        f"{escape(code[at : at + third])}</w:instrText></w:r>"
        for at in range(0, len(code), third)
    )
    kept = f'<w:fldData xml:space="preserve">{data}</w:fldData>' if data else ""
    return (
        f'<w:r><w:fldChar w:fldCharType="begin">{kept}</w:fldChar></w:r>{codes}'
        f'<w:r><w:fldChar w:fldCharType="separate"/></w:r>{run(shown)}'
        '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )


def csl_citation(*items: Mapping[str, object]) -> str:
    """The fields that Zotero and Mendeley store for a citation of these items."""
    listed = [
        {
            "id": number,
            "uris": [f"http://zotero.org/users/1/items/KEY{item['id']}"],
            "itemData": item,
        }
        for number, item in enumerate(items, 1)
    ]
    shown = {"formattedCitation": "(Lee 2019)", "plainCitation": "(Lee 2019)"}
    return json.dumps({"citationID": "x1", "properties": shown, "citationItems": listed})


def csl_item(number: int, title: str, doi: str = "") -> dict[str, object]:
    """A CSL item of an article."""
    own: dict[str, object] = {
        "id": number, "type": "article-journal", "title": title,
        "author": [{"family": "Lee", "given": "Ann"}], "issued": {"date-parts": [[2019]]},
    }  # fmt: skip
    return own | ({"DOI": doi} if doi else {})


def word_file(
    *body: str, notes: str = "", links: str = "", more: Mapping[str, str | bytes] = {}
) -> bytes:
    """A Word document with these paragraphs, footnotes and relationships."""
    names = f'xmlns:w="{W}" xmlns:r="{_R}"'
    names += ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    types = (
        f'{_HEAD}<Types xmlns="{_PACKAGE}/content-types"><Override PartName="/word/document.xml" '
        f'ContentType="{_WORD_TYPE}.document.main+xml"/></Types>'
    )
    whole: dict[str, str | bytes] = {
        "[Content_Types].xml": types,
        "word/document.xml": (
            f"{_HEAD}<w:document {names}><w:body>{''.join(body)}</w:body></w:document>"
        ),
        "word/styles.xml": f"{_HEAD}<w:styles {names}>{_STYLES}</w:styles>",
        "word/footnotes.xml": f"{_HEAD}<w:footnotes {names}>{notes}</w:footnotes>",
        "word/_rels/document.xml.rels": (
            f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">{links}</Relationships>'
        ),
    }
    return packed(whole | dict(more))


# --- OpenDocument -----------------------------------------------------------------------------

_OASIS = "urn:oasis:names:tc:opendocument:xmlns"
_NAMES = (
    " ".join(
        f'xmlns:{own}="{_OASIS}:{space}:1.0"'
        for own, space in (
            *(("office", "office"), ("text", "text"), ("style", "style"), ("table", "table")),
            *(("draw", "drawing"), ("meta", "meta")),
        )
    )
    + ' xmlns:xlink="http://www.w3.org/1999/xlink" '
    + 'xmlns:field="urn:openoffice:names:experimental:ooo-ms-interop:xmlns:field:1.0"'
)
ODT_TYPE = "application/vnd.oasis.opendocument.text"
_OWN_STYLES = "".join(
    f'<style:style style:name="{own}" style:family="paragraph" style:parent-style-name="{base}"/>'
    for own, base in (("P1", "Text_20_body"), ("P2", "Caption"), ("P3", "Title"))
)


def marked(code: str, shown: str) -> str:
    """Text between the two marks of a citation, as Zotero sets them in LibreOffice."""
    name = quoteattr(code)
    return (
        f"<text:reference-mark-start text:name={name}/>{escape(shown)}"
        f"<text:reference-mark-end text:name={name}/>"
    )


def opendocument_file(
    *body: str, kind: str = ODT_TYPE, more: Mapping[str, str | bytes] = {}
) -> bytes:
    """An OpenDocument text with this body."""
    content = (
        f'{_HEAD}<office:document-content {_NAMES} office:version="1.3">'
        f"<office:automatic-styles>{_OWN_STYLES}</office:automatic-styles><office:body>"
        f"<office:text>{''.join(body)}</office:text></office:body></office:document-content>"
    )
    whole: dict[str, str | bytes] = {
        "mimetype": kind,
        "content.xml": content,
        "META-INF/manifest.xml": "<manifest/>",
    }
    return packed(whole | dict(more))
