"""PDFs for tests: small ones written by hand, and whole papers as reportlab sets them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def plain_pdf(pages: Iterable[Sequence[str]], *, content: str = "") -> bytes:
    """A PDF in ASCII with a page for each list of lines, or with this content in place of them."""
    streams = [content or _content(lines) for lines in pages]
    kids = " ".join(f"{5 + 2 * at} 0 R" for at in range(len(streams)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(streams)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Times-Roman >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Times-Bold >>",
    ]
    for at, stream in enumerate(streams):
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] "
            f"/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> /Contents {6 + 2 * at} 0 R >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    return with_cross_references(objects)


def with_cross_references(objects: Sequence[str]) -> bytes:
    """A file of these objects, the first of which is the catalogue."""
    text, places = "%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(text))
        text += f"{number} 0 obj\n{each}\nendobj\n"
    rows = "".join(f"{place:010d} 00000 n \n" for place in places)
    table = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{rows}"
    tail = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(text)}\n%%EOF\n"
    return (text + table + tail).encode("latin-1")


def _content(lines: Sequence[str]) -> str:
    """Lines from the top of a page; ``#`` begins a title, ``##`` a heading."""
    parts, y = [], 740
    for line in lines:
        size = 10 if not line.startswith("#") else 12 if line.startswith("##") else 17
        said = line.lstrip("# ").replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
        font = "F2" if line.startswith("#") else "F1"
        parts.append(f"BT /{font} {size} Tf 72 {y} Td ({said}) Tj ET" if said else "")
        y -= size + 2 if line else 10
    return "\n".join(filter(None, parts))


PAPER = (
    (
        *("# On the Growth of Elms", "", "Ann Author and Bob Writer", "", "## Abstract"),
        "Elms grow in places where nobody looked for them before we did, and we say where.",
        *("", "## 1 Introduction"),
        "Trees have been studied since people had gardens [1, 2], and elms for as long [3].",
        "Where they grow is a question that was asked by others before us and answered [2].",
        *("", "## References"),
        "[1] C. Oak. A long history of the gardens of the world. 2001. doi:10.1145/1.1",
        "[2] D. Ash. Places where large trees grow and others do not. 2002. doi:10.1145/2.2",
        "[3] E. Yew. The elms of the north and what became of them. 2003. doi:10.1145/3.3",
    ),
)
SMALL_PAPER = plain_pdf(PAPER)
