"""Title, authors and abstract on first pages in the styles of many publishers."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

import pypdfium2
import pytest
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen.canvas import Canvas

from citebed.papers.paper import ReadPaper
from citebed.papers.pdf_reader import read_document

Cell = tuple[float, float, float, str]
"""Left edge, distance from the top, size of letters, text.

``^{1}`` is raised, ``B|`` and ``I|`` at the beginning mean bold and italic.
"""
FONTS = {"B|": "Times-Bold", "I|": "Times-Italic", "S|": "Helvetica"}
SAID = (
    "Elms grow slowly in large gardens and are often counted twice. We asked who counts them, and "
    "why so few are left. In 12 gardens we found that ponds help, while roads do not. The effect "
    "is small but stable over the years, and it does not depend on the weather or the season."
)
TITLE = "The growth of elms in large gardens"
TITLES = ((54, 150, 18, "B|The growth of elms"), (54, 171, 18, "B|in large gardens"))
PROSE = (
    "when gardens are old, the trees that stand in them are older still, and nobody has seen how "
    "they were planted; this is what we read in the books of the parish and of the town, "
)


def wrapped(text: str, width: float, size: float, font: str = "Times-Roman") -> list[str]:
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if stringWidth(longer, font, size) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def block(
    left: float, top: float, size: float, text: str, width: float, step: float = 1.2
) -> list[Cell]:
    """Lines of a text in a column."""
    font = text[:2] if text[:2] in FONTS else ""
    lines = wrapped(text.removeprefix(font), width, size)
    return [(left, top + n * step * size, size, font + line) for n, line in enumerate(lines)]


def draw(canvas: Canvas, cell: Cell) -> None:
    left, top, size, text = cell
    font = FONTS.get(text[:2], "Times-Roman")
    for n, part in enumerate(
        re.split(r"\^\{([^}]*)\}", text.removeprefix(text[:2]) if text[:2] in FONTS else text)
    ):
        small = 0.65 * size if n % 2 else size
        canvas.setFont(font, small)
        canvas.drawString(left, 792 - top + (0.35 * size if n % 2 else 0), part)
        left += stringWidth(part, font, small)


def read(
    cells: Sequence[Cell], start: float, *, cover: Sequence[Cell] = (), columns: int = 2
) -> ReadPaper:
    """A paper of two pages with these cells on its first page, above prose in columns."""
    file = io.BytesIO()
    canvas = Canvas(file, pagesize=(612, 792), invariant=1)
    if cover:
        for cell in cover:
            draw(canvas, cell)
        canvas.showPage()
    for cell in cells:
        draw(canvas, cell)
    width = 504 if columns == 1 else 240
    for top in (start, 60.0):
        for column in range(columns):
            rows = int((740 - top) / 11.5)
            lines = wrapped(PROSE * 40, width, 9.5)[:rows]
            for row, line in enumerate(lines):
                draw(canvas, (54 + 264 * column, top + 11.5 * row, 9.5, line))
        canvas.showPage()
    canvas.save()
    return read_document(pypdfium2.PdfDocument(file.getvalue()))


ANN, BOB, CLEO = "Author, Ann", "Writer, Bob", "de Vries, Cleo"
THREE = (ANN, BOB, CLEO)
PLACES = block(
    54, 220, 8, "^{1} Department of Ponds, University of Northtown, Northtown, Norway. ^{2} Elm "
    "Institute, 45 Garden Street, Southtown, United Kingdom", 504,
)  # fmt: skip
PAGES: dict[str, tuple[list[Cell], float, tuple[str, ...]]] = {
    "Elsevier": (
        [
            (200, 50, 7, "Journal of Tree Growth 12 (2017) 345–367"),
            (230, 75, 8, "Contents lists available at ScienceDirect"),
            (200, 95, 16, "Journal of Tree Growth"),
            (215, 115, 8, "journal homepage: www.example.org/locate/trees"),
            (54, 150, 13.5, "The growth of elms in large gardens"),
            (54, 175, 10.5, "Ann Author ^{a,}*, Bob Writer ^{b}, Cleo de Vries ^{a,b,}⁎"),
            (54, 190, 6.5, "I|^{a} Department of Ponds, University of Northtown, Norway"),
            (54, 198, 6.5, "I|^{b} Elm Institute, Southtown, United Kingdom"),
            (54, 222, 8, "a r t i c l e i n f o"),
            (220, 222, 8, "a b s t r a c t"),
            (54, 240, 7, "I|Article history:"),
            (54, 249, 7, "Received 3 January 2017"),
            (54, 258, 7, "Accepted 4 May 2017"),
            (54, 276, 7, "I|Keywords:"),
            (54, 285, 7, "Elms"),
            *block(220, 240, 8, SAID, 338),
            (400, 300, 8, "© 2017 Elsevier Ltd. All rights reserved."),
            (54, 350, 9.5, "B|1. Introduction"),
        ],
        370, THREE,
    ),
    "Dove": (
        [
            (54, 50, 9, "Clinical Trees"),
            (54, 80, 8, "open access to scientific and medical research"),
            (54, 110, 9, "O R i g i n a l  R e s e a R c h"),
            *TITLES,
            (54, 203, 8, "Ann Author^{1}"), (54, 214, 8, "Bob Writer^{2}"),
            (54, 225, 8, "Cleo de Vries^{1,2}"),
            (54, 240, 6.5, "^{1}Department of Ponds,"), (54, 248, 6.5, "University of Northtown;"),
            (54, 256, 6.5, "^{2}Elm Institute, Southtown"),
            *block(220, 202, 9, "Abstract: " + SAID, 338),
            (220, 285, 9, "B|Keywords: elms, ponds"),
            (220, 330, 12, "B|Introduction"),
        ],
        350, THREE,
    ),
    "SAGE": (
        [
            (54, 50, 9, "I|Article"),
            (400, 50, 7, "Journal of Trees"), (400, 58, 7, "2019, Vol. 5(1) 1–12"),
            (400, 66, 7, "© The Author(s) 2019"), (400, 74, 7, "DOI: 10.5555/1234567890"),
            *TITLES,
            (54, 200, 11, "B|Ann Author^{1} , Bob Writer^{2} and Cleo de Vries^{1,3}"),
            (54, 230, 10, "B|Abstract"),
            *block(54, 243, 9, SAID, 400),
            (54, 300, 10, "B|Keywords"), (54, 312, 9, "elms, ponds"),
        ],
        340, THREE,
    ),
    "Karger": (
        [
            (54, 50, 8, "Original Paper"),
            (54, 62, 8, "Trees 2011;12:345–351"),
            *TITLES,
            (54, 200, 11, "Ann Author^{a}  Bob Writer^{a,b}  Cleo de Vries^{b}"),
            (54, 215, 8, "^{a}Department of Ponds, University of Northtown, and ^{b}Elm Institute"),
            (54, 240, 9, "B|Abstract"),
            *block(54, 252, 8.5, "B|" + SAID, 240),
        ],
        400, THREE,
    ),
    "Science": (
        [
            (54, 50, 9, "B|RESEARCH ARTICLES"),
            *TITLES,
            (54, 195, 10, "B|Ann Author,^{1}* Bob Writer,^{2} Cleo de Vries^{1,2}†"),
            *block(54, 215, 9.5, "B|" + SAID, 400),
        ],
        340, THREE,
    ),
    "Springer": (
        [
            (54, 45, 8, "Trees (2015) 12:345–367"), (54, 55, 8, "DOI 10.5555/s00000-015-1"),
            (54, 90, 8, "ORIGINAL PAPER"),
            *TITLES,
            (54, 205, 11, "B|Ann Author · Bob Writer ·"), (54, 218, 11, "B|Cleo de Vries"),
            (54, 240, 8, "Received: 3 January 2015 / Accepted: 4 May 2015"),
            (54, 250, 8, "© Springer-Verlag Berlin Heidelberg 2015"),
            *block(54, 280, 9, "Abstract " + SAID, 240),
        ],
        420, THREE,
    ),
    "degrees": (
        [
            (54, 60, 9, "Original Investigation"),
            *TITLES,
            (54, 195, 9, "Ann Author, MD, MPH; Bob Writer, PhD; Cleo de Vries, MSc, RN"),
            *block(54, 220, 9, "B|IMPORTANCE " + SAID, 400),
        ],
        350, THREE,
    ),
    "one author a line": (
        [
            *TITLES,
            (54, 200, 11, "Ann Author"), (54, 212, 10, "I|University of Northtown"),
            (54, 230, 11, "Bob Writer"), (54, 242, 10, "I|Elm Institute"),
            (54, 260, 11, "Cleo de Vries"), (54, 272, 10, "I|Independent Scholar"),
            (270, 300, 10, "B|Abstract"),
            *block(84, 315, 8.5, SAID, 440),
        ],
        400, THREE,
    ),
    "names and places in one line": (
        [
            *TITLES,
            (54, 200, 10, "Ann Author, University of Northtown, Norway"),
            (54, 212, 10, "Bob Writer, Elm Institute, Southtown"),
            (54, 224, 10, "Cleo de Vries, University of Southtown"),
            (54, 250, 10, "B|Abstract"), *block(54, 263, 8.5, SAID, 504),
        ],
        340, THREE,
    ),
    "German, author above the title": (
        [
            (54, 50, 8, "Zeitschrift für Baumkunde 12 (1995), Heft 3, S. 45–67"),
            (54, 110, 11, "Ann Author, Bob Writer und Cleo de Vries"),
            *TITLES,
            (54, 220, 10, "B|Zusammenfassung"), *block(54, 233, 8.5, SAID, 504),
            (54, 290, 10, "B|1. Einleitung"),
        ],
        310, THREE,
    ),
    "German, with degrees and slashes": (
        [
            *TITLES,
            (54, 205, 11, "Von Prof. Dr. Ann Author / Dipl.-Soz. Bob Writer / Dr. Cleo de Vries"),
            *block(54, 240, 8.5, "I|Zusammenfassung: " + SAID, 504),
            *block(54, 300, 8.5, "I|Abstract: " + SAID.replace("Elms", "Oaks"), 504),
        ],
        380, THREE,
    ),
    "Cogitatio": (
        [
            (54, 50, 8, "Trees and Governance (ISSN: 2183–2463)"),
            (54, 60, 8, "2017, Volume 5, Issue 1, Pages 1–10"), (54, 70, 8, "DOI: 10.5555/5i1"),
            (54, 110, 9, "Article"),
            (54, 150, 15, "B|The growth of elms in large gardens"),
            (54, 175, 10, "Ann Author ^{1,}*, Bob Writer ^{2} and Cleo de Vries ^{2}"),
            (54, 195, 9, "^{1} Department of Ponds, University of Northtown; a@example.org"),
            (54, 207, 9, "* Corresponding author"),
            (54, 225, 9, "Submitted: 3 January 2017 | Accepted: 4 May 2017 | Published: 5 June"),
            (54, 245, 9, "B|Abstract"), *block(54, 257, 9, SAID, 504),
            (54, 310, 9, "B|Keywords"), (54, 322, 9, "elms; ponds"),
            (54, 350, 9.5, "B|1. Introduction"),
        ],
        370, THREE,
    ),
    "a group": (
        [
            *TITLES,
            (54, 200, 10, "Ann Author,^{1} Bob Writer,^{2} and Cleo de Vries^{2}"),
            (54, 213, 10, "on behalf of the ELM Study Group"),
            (54, 240, 10, "B|Summary"), *block(54, 252, 8.5, "B|Background " + SAID, 504),
            (54, 330, 11, "B|Introduction"),
        ],
        350, (*THREE, "ELM Study Group"),
    ),
    "manuscript": (
        [
            (150, 100, 9.5, "B|The growth of elms in large gardens"),
            (200, 120, 9.5, "Ann Author, Bob Writer and Cleo de Vries"),
            (220, 132, 9.5, "University of Northtown"),
            (280, 160, 9.5, "B|Abstract"),
            *block(54, 175, 9.5,SAID,504),
        ],
        300, THREE,
    ),
    "capitals": (
        [
            (150, 100, 9.5, "THE GROWTH OF ELMS IN LARGE GARDENS"),
            (200, 120, 9.5, "Ann Author, Bob Writer and Cleo de Vries"),
            (220, 132, 9.5, "University of Northtown"),
            *block(84, 160, 8,SAID,440),
        ],
        300, THREE,
    ),
    "subtitle": (
        [
            *TITLES,
            (54, 192, 13, "B|Evidence From Norway"),
            (54, 215, 10, "Ann Author, Bob Writer and Cleo de Vries"),
            (54, 230, 9.5, "University of Northtown"),
            (54, 250, 9.5, "B|Abstract"),
            *block(54, 265, 9.5,SAID,504),
        ],
        350, THREE,
    ),
    "caps authors": (
        [
            *TITLES,
            (54, 215, 10, "ANN AUTHOR, BOB WRITER AND CLEO DE VRIES"),
            (54, 230, 9.5, "University of Northtown"),
            (54, 250, 9.5, "B|Abstract"),
            *block(54, 265, 9.5,SAID,504),
        ],
        350, (ANN, BOB, "De Vries, Cleo"),
    ),
    "abstract beside its heading": (
        [
            *TITLES,
            (54, 215, 12, "I|Ann Author, Bob Writer & Cleo de Vries ∗"),
            (54, 245, 9, "B|Abstract:"),
            *block(110, 245, 9,SAID,440),
        ],
        350, THREE,
    ),
    "label larger": (
        [
            (54, 80, 24, "B|Original Article"),
            *TITLES,
            (54, 215, 10, "Ann Author^{1, 2} | Bob Writer^{1} | Cleo de Vries^{3}"),
            (54, 245, 9, "B|Abstract"),
            *block(54, 260, 9,SAID,440),
        ],
        350, THREE,
    ),
    "a journal in larger letters": (
        [
            (54, 60, 30, "B|Arborea"),
            (54, 80, 24, "B|Tree Physiology"),
            *TITLES,
            (54, 215, 10, "Ann Author^{1, 2}, Bob Writer^{1}, Cleo de Vries^{3}"),
            (54, 245, 9, "B|Abstract"),
            *block(54, 260, 9,SAID,440),
        ],
        350, THREE,
    ),
    "keywords beside the abstract": (
        [
            (54, 60, 8, "Volume 12, No. 1, Art. 5"),
            (54, 70, 8, "January 2011"),
            *TITLES,
            (54, 215, 11, "I|Ann Author, Bob Writer & Cleo de Vries"),
            (54, 245, 9, "B|Key words:"),
            (54, 256, 9, "elms; ponds;"),
            (54, 267, 9, "gardens"),
            *block(160, 245, 9, "Abstract: "+SAID,398),
            (54, 330, 9.5, "B|Table of Contents"),
            (54, 342, 9.5, "1. Introduction"),
            (54, 354, 9.5, "2. Elms in gardens"),
        ],
        400, THREE,
    ),
    "two titles": (
        [
            *TITLES,
            (54, 192, 12, "I|Das Wachstum von Ulmen in großen Gärten"),
            (54, 215, 10, "Ann Author, Bob Writer, Cleo de Vries"),
            (54, 245, 9, "B|Abstract"),
            *block(54, 260, 9,SAID,440),
            (54, 310, 9, "B|Zusammenfassung"),
            *block(54, 325, 9,SAID.replace("Elms","Ulmen"),440),
        ],
        400, THREE,
    ),
    "journal on top": (
        [
            (54, 60, 16, "B|European Sociological Review"),
            (54, 80, 8, "Eur Sociol Rev 2010, 12, 345"),
            (54, 150, 14, "B|The growth of elms in large gardens"),
            (54, 180, 10, "Ann Author^{1,}*, Bob Writer^{1} and Cleo de Vries^{2}"),
            (54, 195, 8, "^{1}Department of Sociology, University of Northtown, ^{2}Elms"),
            (54, 215, 9, "B|Abstract"),
            *block(54, 228, 9,SAID,440),
        ],
        350, THREE,
    ),
    "many names": (
        [
            *TITLES,
            (54, 205, 10, "Ann Author^{1}, Bob Writer^{1}, Cleo de Vries^{2}, Md. Abdul Karim,"),
            (54, 217, 10, "Maria do Carmo^{3}, José María García-López^{1},"),
            (54, 229, 10, "Jean-François d’Arc^{1}, J. R. R. van den Berg^{2} and Ng Wei"),
            (54, 241, 10, "Ting^{3}"),
            (54, 256, 9, "B|Abstract"), *block(54, 270, 9, SAID, 440),
        ],
        350,
        (
            *THREE, "Karim, Md Abdul", "do Carmo, Maria", "García-López, José María",
            "d’Arc, Jean-François", "van den Berg, J. R. R.", "Ting, Ng Wei",
        ),
    ),
    "spaced caps": (
        [
            (54, 60, 9, "R E S E A R C H  A R T I C L E"),
            *TITLES,
            (54, 205, 10, "Ann Author^{a,}*, Bob Writer^{a,b}, Cleo de Vries^{c,1}"),
            (54, 245, 9, "S U M M A R Y"),
            *block(54, 260, 8.5,SAID,440),
        ],
        350, THREE,
    ),
    "email lines": (
        [
            *TITLES,
            (100, 205, 12, "Ann Author"),
            (250, 205, 12, "Bob Writer"),
            (400, 205, 12, "Cleo de Vries"),
            (100, 218, 9, "Elm Institute"),
            (250, 218, 9, "Elm Institute"),
            (400, 218, 9, "Pond Institute"),
            (100, 230, 9, "ann@example.org"),
            (250, 230, 9, "bob@example.org"),
            (400, 230, 9, "cleo@example.org"),
            (54, 260, 10, "B|Abstract"),
            *block(54, 275, 9.5,SAID,240),
        ],
        400, THREE,
    ),
    "physics": (
        [
            (140, 80, 13, "B|The growth of elms in large gardens"),
            (220, 110, 10, "Ann Author^{1} and Bob Writer^{1,2}"),
            (180, 124, 9, "I|^{1}Department of Ponds, University of Northtown"),
            (180, 136, 9, "I|^{2}Elm Institute, Southtown"),
            (260, 150, 10, "Cleo de Vries"),
            (180, 164, 9, "I|Elm Institute, Southtown"),
            (240, 178, 9, "(Dated: May 3, 2017)"),
            *block(110, 200, 8.5, SAID, 390),
        ],
        320, THREE,
    ),
    "a box beside the title": (
        [
            (54, 60, 11, "S|TREE ADVANCES | RESEARCH ARTICLE"),
            (54, 150, 18, "B|The growth of elms"),
            *((470, 145 + 9 * n, 7, line) for n, line in enumerate(
                ("Copyright © 2019", "The Authors, some", "rights reserved;", "exclusive licensee",
                 "Tree Society. No", "claim to original", "works. Distributed"))),
            (54, 171, 18, "B|in large gardens"),
            (54, 195, 10, "B|Ann Author, Bob Writer, Cleo de Vries*"),
            *block(54, 230, 9, "B|" + SAID, 400),
            (54, 310, 10, "B|INTRODUCTION"),
        ],
        330, THREE,
    ),
    "a logo larger than the title": (
        [
            (54, 60, 30, "S|Garden Science"),
            (54, 90, 9, "PAPER"),
            *TITLES,
            (54, 200, 10, "Ann Author^{a*}, Bob Writer^{b} and Cleo de Vries^{b}"),
            *block(54, 230, 8.5, "S|" + SAID, 380),
        ],
        330, THREE,
    ),
    "labels without a heading": (
        [
            *TITLES,
            (54, 200, 9, "Ann Author, MD; Bob Writer, PhD; Cleo de Vries, MSc"),
            (54, 240, 8.5, "B|IMPORTANCE"),
            (128, 240, 8.5, wrapped(SAID, 426, 8.5)[0]),
            *block(54, 250.2, 8.5, " ".join(wrapped(SAID, 426, 8.5)[1:]), 500),
        ],
        330, THREE,
    ),
    "a subtitle in another language": (
        [
            (54, 120, 14, "B|The growth of elms in large gardens"),
            (54, 145, 12, "I|El crecimiento de los olmos en los grandes jardines"),
            (54, 170, 11, "Ann Author, Bob Writer y Cleo de Vries"),
            (54, 230, 10, "B|Abstract"), *block(54, 243, 8.5, SAID, 504),
            (54, 300, 10, "B|1. Introducción"),
        ],
        330, THREE,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_front_matter_in_the_style_of(name: str) -> None:
    cells, start, authors = PAGES[name]
    paper = read(cells, start)
    title = paper.title.removesuffix(" Evidence From Norway")
    assert (title.capitalize(), paper.authors) == (TITLE, authors)
    text = re.sub(r"^(?:IMPORTANCE|Background) ", "", paper.abstract)
    assert text == SAID
    assert PROSE[:40] in paper.paragraphs[0].content.text


COVERS: dict[str, tuple[list[Cell], tuple[str, ...]]] = {
    "German repository": (
        [
            (450, 60, 10, "www.repository.example.org"),
            *TITLES,
            (54, 200, 12, "Author, Ann; Writer, Bob"),
            (54, 230, 9, "Veröffentlichungsversion / Published Version"),
            (54, 242, 9, "Zeitschriftenartikel / journal article"),
            (54, 270, 9, "B|Empfohlene Zitierung / Suggested Citation:"),
            *block(54, 282, 9, "Author, A., & Writer, B. (2010). The growth of elms in gardens."
                   " Trees, 27(2), 1-20. https://doi.org/10.5555/trees.27.2", 400),
            *block(54, 500, 8, "Dieser Text wird unter einer Deposit-Lizenz zur Verfügung gestellt."
                   " Gewährt wird ein nicht exklusives, nicht übertragbares, persönliches und "
                   "beschränktes Recht auf Nutzung dieses Dokuments. Dieses Dokument ist "
                   "ausschließlich für den persönlichen Gebrauch bestimmt.", 220),
        ],
        (ANN, BOB),
    ),
    "one author": (
        [
            *TITLES, (54, 200, 12, "Author, Ann"),
            (54, 270, 9, "B|Empfohlene Zitierung / Suggested Citation:"),
            (54, 282, 9, "Author, A. (2010). The growth of elms in large gardens. Trees, 27(2)."),
        ],
        (ANN,),
    ),
    "publisher": (
        [
            (54, 60, 14, "Journal of Large Gardens"),
            (54, 76, 8, "ISSN: 1234-5678 (Print) Journal homepage: https://example.org"),
            *TITLES,
            (54, 200, 11, "Ann Author & Bob Writer"),
            (54, 230, 8, "B|To cite this article: Ann Author & Bob Writer (2010) The growth of"),
            (54, 250, 8, "B|To link to this article: https://doi.org/10.5555/trees.27.2"),
        ],
        (ANN, BOB),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COVERS)
def test_a_cover_sheet_gives_title_and_authors(name: str) -> None:
    cover, authors = COVERS[name]
    paper = read([(54, 60, 9, "TREES"), *block(54, 100, 9.5, PROSE * 5, 240)], 300, cover=cover)
    assert (paper.title, paper.authors) == (TITLE, authors)
    assert "Lizenz" not in " ".join(each.content.text for each in paper.paragraphs)


def test_a_title_page_of_a_manuscript_has_the_size_of_prose() -> None:
    cover: list[Cell] = [
        (200, 200, 9.5, f"B|{TITLE}"),
        (220, 223, 9.5, "Ann Author, Bob Writer,"),
        (220, 246, 9.5, "and Cleo de Vries"),
        (220, 269, 9.5, "University of Northtown"),
    ]
    paper = read([(250, 60, 9.5, "B|Abstract"), *block(54, 80, 9.5, SAID, 500)], 160, cover=cover)
    assert (paper.title, paper.authors) == (TITLE, THREE)


@pytest.mark.parametrize(
    ("line", "authors"),
    [
        ("Writer B*, Author AB**, de Vries C*", ("Writer, B", "Author, AB", "de Vries, C")),
        ("O’Neil Y, Li N", ("O’Neil, Y", "Li, N")),
        ("Ann LI, Bob WEI", ("LI, Ann", "WEI, Bob")),
        ("Fatima El Amrani, Ann Author", ("El Amrani, Fatima", ANN)),
        ("Ann Author, Cleo de Vries, Ann Author", (ANN, "de Vries, Cleo")),
    ],
)
def test_order_of_names(line: str, authors: tuple[str, ...]) -> None:
    paper = read([*TITLES, (54, 200, 10, line), (54, 230, 10, "B|Abstract")], 260)
    assert paper.authors == authors


def test_years_in_a_title_are_not_its_own() -> None:
    titles = [(54, 150, 18, "B|Elms in large gardens,"), (54, 171, 18, "B|1998-2014")]
    paper = read([*titles, (54, 60, 8, "J Trees. 2019;12(3):45-51"), (54, 230, 9, "Abstract")], 260)
    assert (paper.title, paper.year) == ("Elms in large gardens, 1998-2014", 2019)


def test_a_summary_that_cites_is_the_first_section() -> None:
    box = ("DOI: 10.5555/jose.77", "Software", "• Review", "• Repository", "• Archive", "License")
    cells = [
        *((40, 200 + 12 * n, 7, text) for n, text in enumerate(box)),
        (160, 100, 18, f"S|{TITLE}"),
        (160, 130, 10, "Ann Author^{1}, Bob Writer^{2}, and Cleo de Vries^{1}"),
        (160, 145, 8, "1 Department of Ponds, University of Northtown 2 Elm Institute"),
        (160, 180, 13, "S|Summary"),
        *block(160, 200, 9.5, SAID.replace("twice", "twice (Oak, 2019)"), 398),
    ]
    paper = read([(left, top, size, text) for left, top, size, text in cells], 300, columns=1)
    assert (paper.title, paper.authors, paper.abstract) == (TITLE, THREE, "")
    assert "Repository" not in " ".join(each.content.text for each in paper.paragraphs)
    assert paper.doi == "10.5555/jose.77"


@pytest.mark.parametrize(
    ("lines", "doi", "year"),
    [
        (["Received 3 December 2012", "Published: 4 May 2013"], None, 2013),
        (
            ["Trees 2013, 6, 1310; doi:10.5555/trees6", "Received: 3 May 2012"],
            "10.5555/trees6",
            2013,
        ),
        (["Received 1 May 2015 | Accepted 2 June 2016"], None, 2016),
        (["© 2014 The Authors", "Downloaded on 3 May 2020"], None, 2014),
        (["https://doi.org/10.5555/pnas.", "1710231115"], "10.5555/pnas.1710231115", None),
        (["https://doi.org/10.", "5555/trees.12"], "10.5555/trees.12", None),
        (["See https://doi.org/10.5555/trees.", "Ann writes 3 books"], "10.5555/trees", None),
    ],
)
def test_doi_and_year(lines: list[str], doi: str | None, year: int | None) -> None:
    cells = [(54, 60 + 10 * n, 8, line) for n, line in enumerate(lines)]
    paper = read([*cells, *TITLES, (54, 200, 10, "Ann Author"), (54, 230, 10, "B|Abstract")], 260)
    assert (paper.doi, paper.year) == (doi, year)
    assert paper.title == TITLE


@pytest.mark.parametrize("number", [1, 30])
def test_lists_of_people_are_not_paragraphs(number: int) -> None:
    names = ", ".join(
        f"{'ABCDEFGH'[n % 8]}. {('Oak', 'Elm', 'Ash', 'Fir')[n % 4]}son^{{{n % 9 + 1}}}"
        for n in range(40 * number)
    )
    places = ", ".join(f"^{{{n}}}Department of Ponds, Northtown, Norway" for n in range(1, 20))
    cells = [*TITLES, (54, 200, 10, "The ELM Collaboration"), (54, 230, 10, "B|Abstract")]
    people = block(54, 340, 9.5, f"{names}; {places}", 500)
    paper = read([*cells, *block(54, 250, 8, SAID, 500), *people[:30]], 330, columns=1)
    text = " ".join(each.content.text for each in paper.paragraphs)
    assert paper.authors == ("ELM Collaboration",)
    assert text


@pytest.mark.parametrize(
    "title", ["Max Weber and Norbert Elias", "Permutation Document Interaction Network"]
)
def test_a_title_may_look_like_names(title: str) -> None:
    cells: list[Cell] = [
        (54, 80, 10, "Zeitschrift für Baumkunde"),
        (54, 150, 16, f"B|{title}"),
        (54, 180, 11, "Ann Author and Bob Writer"),
        (54, 200, 9, "University of Northtown"),
        (54, 230, 10, "B|Abstract"),
    ]
    paper = read([*cells, *block(54, 243, 8.5, SAID, 504)], 300)
    assert (paper.title, paper.authors) == (title, (ANN, BOB))
