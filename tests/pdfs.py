"""PDFs for tests: small ones written by hand, and whole papers as reportlab sets them."""

from __future__ import annotations

import io
import random
import zlib
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
    """Return a PDF file of these objects; the first is the catalogue."""
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


# --- Set by reportlab -------------------------------------------------------------------------


def set_paper(
    sections: int = 3, references: int = 8, password: tuple[str, str] | None = None
) -> bytes:
    """A paper in one column: title, authors, abstract, sections that cite, references."""
    from reportlab.lib.pdfencrypt import StandardEncryption
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate

    style = getSampleStyleSheet()
    story: list[object] = [
        Paragraph("A Study of Elms in Large Gardens", style["Title"]),
        Paragraph("Ann Author, Bob Writer", style["Normal"]),
        Paragraph("Abstract", style["Heading2"]),
        Paragraph("We tell where elms grow, and why nobody saw them there. " * 3, style["Normal"]),
    ]
    for number in range(1, sections + 1):
        name = "Introduction" if number == 1 else prose(number, words=3)
        story.append(Paragraph(f"{number} {name}", style["Heading2"]))
        for at in range(3):
            cited = (number + at) % references + 1
            text = f"{prose(10 * number + at)} [{cited}]. {prose(10 * number + at + 5)}."
            story.append(Paragraph(text, style["Normal"]))
        story.append(PageBreak())
    story.append(Paragraph("References", style["Heading2"]))
    story += [Paragraph(_reference(at), style["Normal"]) for at in range(1, references + 1)]
    file = io.BytesIO()
    rights = StandardEncryption(*password, canPrint=0, canCopy=0) if password else None
    SimpleDocTemplate(file, encrypt=rights, invariant=1).build(story)
    return file.getvalue()


def _reference(number: int) -> str:
    return (
        f"[{number}] C. Oak and D. Ash. The gardens of town number {number} and their elms. "
        f"Journal of Trees, 20{number:02d}. doi:10.1145/77.{number}"
    )


def prose(seed: int, words: int = 40) -> str:
    """Return words that no other seed gives."""
    rng = random.Random(seed)
    syllables = ("el", "ma", "tor", "in", "gar", "den", "lo", "fa", "ris", "ten", "u", "sel")
    made = ("".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(words))
    return " ".join(made).capitalize()


def scanned() -> bytes:
    """Pages that are pictures."""
    from PIL import Image
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen.canvas import Canvas

    file = io.BytesIO()
    canvas = Canvas(file, invariant=1)
    for _ in range(3):
        canvas.drawImage(ImageReader(Image.new("L", (200, 300), 200)), 0, 0, 590, 840)
        canvas.showPage()
    canvas.save()
    return file.getvalue()


def set_in(lines: Sequence[str], *, unmapped: bool = False) -> bytes:
    """Lines in a TrueType font that has Hebrew and Arabic letters; where it is ``unmapped``
    nothing says which characters its codes are."""
    import matplotlib
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont
    from reportlab.pdfgen.canvas import Canvas

    font = f"{matplotlib.get_data_path()}/fonts/ttf/DejaVuSans.ttf"
    pdfmetrics.registerFont(TTFont("DejaVu", font))
    file = io.BytesIO()
    canvas = Canvas(file, invariant=1, pageCompression=0)
    canvas.setFont("DejaVu", 11)
    for at, line in enumerate(lines):
        canvas.drawRightString(520, 780 - 14 * at, line)
    canvas.save()
    data = file.getvalue()
    return data.replace(b"/ToUnicode", b"/Unknown__") if unmapped else data


# --- Made to do harm --------------------------------------------------------------------------


def _one_page(content: bytes, *more: bytes, filters: str = "", resources: str = "") -> bytes:
    """A file with one page of this content; ``more`` objects are numbered from 5."""
    font = "/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>"
    page = (
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] "
        f"/Resources << {font} {resources} >> /Contents 4 0 R >>"
    )
    stream = b"<< /Length %d %s >>\nstream\n%s\nendstream" % (
        len(content), filters.encode(), content,
    )  # fmt: skip
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        page.encode(), stream, *more,
    ]  # fmt: skip
    return with_cross_references([each.decode("latin-1") for each in objects])


def unpacking_bomb(gigabytes: float = 4) -> bytes:
    """A page whose content unpacks to gigabytes of text, packed twice into some kilobytes."""
    block = b"BT /F1 9 Tf 9 9 Td (words) Tj ET\n" * 30_000
    packer = zlib.compressobj(9)
    first = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)  # the same wherever it stands
    times = int(gigabytes * (1 << 30) / len(block))
    twice = zlib.compress(first + again * times + packer.flush(), 9)
    return _one_page(twice, filters="/Filter [/FlateDecode /FlateDecode]")


def drawing_bomb(depth: int = 9) -> bytes:
    """A page of forms that draw each other ten times: 10 ** depth texts in all."""
    forms = []
    for at in range(depth):
        inside = b"/X Do\n" * 10 if at + 1 < depth else b"BT /F1 9 Tf 9 9 Td (w) Tj ET"
        below = b"/XObject << /X %d 0 R >>" % (6 + at) if at + 1 < depth else b""
        forms.append(
            b"<< /Type /XObject /Subtype /Form /BBox [0 0 612 792] /Length %d /Resources << %s "
            b"/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>\n"
            b"stream\n%s\nendstream" % (len(inside), below, inside)
        )
    return _one_page(b"/X Do", *forms, resources="/XObject << /X 5 0 R >>")


def nested_bomb(depth: int = 200_000) -> bytes:
    """Arrays in arrays, in the content of a page and in its file."""
    deep = b"[" * depth + b"]" * depth
    return _one_page(b"BT /F1 9 Tf " + deep + b" TJ ET", deep, b"<< /A " * depth)


def looping_pages() -> bytes:
    """A tree of pages that is its own child."""
    return with_cross_references(
        [
            "<< /Type /Catalog /Pages 2 0 R >>",
            "<< /Type /Pages /Kids [2 0 R 2 0 R 3 0 R] /Count 1000000000 /Parent 3 0 R >>",
            "<< /Type /Pages /Kids [2 0 R 3 0 R] /Count 1000000 /Parent 2 0 R >>",
        ]
    )


def many_words(megabytes: int = 30) -> bytes:
    """A page of millions of words, as no page has."""
    line = b"BT /F1 1 Tf 9 %d Td (a bc de fg hi jk lm no pq rs tu) Tj ET\n"
    return _one_page(b"".join(line % (at % 790) for at in range(megabytes * 16_000)))


def nameless_font() -> bytes:
    """Text in a font that is drawn by hand: its glyphs have names that say nothing."""
    names = " ".join(f"/g{at}" for at in range(26))
    procs = " ".join(f"/g{at} 6 0 R" for at in range(26))
    font = (
        "<< /Type /Font /Subtype /Type3 /FontBBox [0 0 9 9] /FontMatrix [0.1 0 0 0.1 0 0] "
        f"/CharProcs << {procs} >> /Encoding << /Type /Encoding /Differences [1 {names}] >> "
        f"/FirstChar 1 /LastChar 26 /Widths [{'9 ' * 26}] /Resources << >> >>"
    )
    shape = "<< /Length 26 >>\nstream\n9 0 0 0 9 9 d1 0 0 9 9 re f\nendstream"
    words = "".join(chr(1 + at % 26) for at in range(60)).replace("\n", " ").replace("\r", " ")
    lines = [f"BT /F9 9 Tf 20 {760 - 12 * at} Td ({words}) Tj ET" for at in range(30)]
    content = "\n".join(lines).encode("latin-1")
    return _one_page(content, font.encode(), shape.encode()).replace(
        b"/F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>", b"/F9 5 0 R"
    )
