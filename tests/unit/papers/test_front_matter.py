"""Authors of a paper, from its first page and from its file's properties."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pypdfium2
import pytest
from lxml import etree
from reportlab.pdfgen.canvas import Canvas
from tests.sampling import sized

from citebed.papers.child_process import read_papers
from citebed.papers.paper import ReadPaper
from citebed.papers.pdf_reader import read_document
from citebed.papers.properties import read_properties

Cell = tuple[float, float, float, str]
"""Left edge, distance from the top, size of letters, text."""
LINE = "words of prose that fill all of a line in a column of this page here"


def front(
    cells: Sequence[Cell], author: str | None = None, *, running_head: bool = False
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Authors and notes of a paper in two columns with these cells below its title."""
    file = io.BytesIO()
    canvas = Canvas(file, pagesize=(612, 792), invariant=1)
    if author is not None:
        canvas.setAuthor(author)

    def write(left: float, top: float, size: float, text: str) -> None:
        canvas.setFont("Times-Roman", size)
        canvas.drawString(left, 792 - top, text)

    if running_head:
        write(54, 45, 9, "Technical Presentation")
        write(318, 45, 9, "WSDM 2020, February third to seventh, in Houston, Texas, USA")
    write(140, 95, 17, "The Growth of Elms in Large Gardens")
    for cell in cells:
        write(*cell)
    write(54, 240, 11, "Abstract")
    for row in range(40):
        write(54, 255 + 11 * row, 9, LINE)
        write(318, 244 + 11 * row, 9, LINE)
    canvas.save()
    paper = read_document(pypdfium2.PdfDocument(file.getvalue()))
    return paper.authors, paper.notes


BLOCKS: list[Cell] = [
    (150, 122, 12, "Ann Author"),
    (395, 122, 12, "Bob Writer"),
    (140, 134, 10, "Northern University"),
    (385, 134, 10, "Southern University"),
]
ANN_AND_BOB = ("Author, Ann", "Writer, Bob")


def test_authors_below_a_running_head_are_not_taken_for_text() -> None:
    assert front(BLOCKS, running_head=True) == (ANN_AND_BOB, ())


def test_authors_in_a_row_are_read_from_left_to_right() -> None:
    raised = [(395, 121.9, 12, "Bob Writer"), *BLOCKS[:1], *BLOCKS[2:]]
    assert front(raised)[0] == ANN_AND_BOB


@pytest.mark.parametrize(
    ("line", "authors"),
    [
        ("Ann Author1,2*, Bob Writer3 and Cleo de Vries1", (*ANN_AND_BOB, "de Vries, Cleo")),
        ("A.N. Author,1, * M. Writer,2 and V. Third2", ("Author, A.N.", "Writer, M.", "Third, V.")),
        ("Ann AuthorID1,2*, Claude W dePamphilis*1", ("Author, Ann", "dePamphilis, Claude W")),
        ("Ann Author a, Bob Writer b,*", ANN_AND_BOB),
        ("Ann Author, Ph.D., Prof. Bob Writer Jr.", ANN_AND_BOB),
        ("Ann LI 1 , *Bob WEI2", ("LI, Ann", "WEI, Bob")),
        ("The ATLAS and CMS Collaborations*", ("ATLAS Collaboration", "CMS Collaboration")),
        ("the rates of coral recovery and their long responses", ()),
        ("Open Access", ()),
    ],
)
def test_names_in_a_line(line: str, authors: tuple[str, ...]) -> None:
    assert front([(100, 122, 12, line)])[0] == authors


@pytest.mark.parametrize(
    "author",
    [
        "Ann Author and Bob Writer", "Author, Ann; Writer, Bob", "Ann Author", "TeX",
        "csproduction", "", "ann@example.org", "#_#x00D8;ien, A.", ";;;", "é, " * 50_000,
    ],
)  # fmt: skip
def test_properties_that_say_nothing_else_are_not_reported(author: str) -> None:
    assert front(BLOCKS, author) == (ANN_AND_BOB, ())


@pytest.mark.parametrize(
    "author",
    [
        "Microsoft User", "Bob Writer and Ann Author", "Ann Author, Bob Writer, and Eve Stranger",
        "Eve Stranger", "Stranger, Eve",
    ],
)  # fmt: skip
def test_the_page_wins_over_other_properties_and_says_so(author: str) -> None:
    authors, (note,) = front(BLOCKS, author)
    assert authors == ANN_AND_BOB
    assert "from the page: Ann Author, Bob Writer;" in note
    assert set(re.findall(r"[A-Z]\w+", author)) <= set(
        note.replace(";", " ").replace(",", " ").split()
    )


def test_a_list_may_break_inside_a_name() -> None:
    lines = [(100, 122, 12, "Ann Author, Frank Uwe"), (100, 136, 12, "Renner and Bob Writer")]
    assert front(lines) == (("Author, Ann", "Renner, Frank Uwe", "Writer, Bob"), ())


UNCLEAR: list[Cell] = [
    (100, 122, 12, "Ann Author with thanks to"),
    (100, 136, 12, "Bob Writer and Eve Maker"),
]


@pytest.mark.parametrize(
    "names",
    [
        "Ann Author, Bob Writer",
        "Ann Author, Eve Maker, and Bob Writer",
        "Ann Author, Bob Writer, Eve Maker, and Eve Stranger",
    ],
)
def test_properties_lose_where_they_name_others(names: str) -> None:
    authors, (note,) = front(UNCLEAR, names)
    assert authors == ("Writer, Bob", "Maker, Eve")
    assert "come from the page" in note


def test_remarks_in_brackets_are_not_names() -> None:
    cells = [(100, 122, 12, "Ann Author (North) and"), (100, 136, 12, "Bob Writer (South)")]
    assert front(cells, "Ann Author") == (ANN_AND_BOB, ())


def test_a_property_of_half_a_character_is_read() -> None:
    file = io.BytesIO()
    canvas = Canvas(file, invariant=1)
    canvas.setAuthor("XYXYXYXY")
    canvas.drawString(72, 700, "Words")
    canvas.save()
    data = file.getvalue().replace(b"(XYXYXYXY)", b"<FEFFD800>")
    assert b"D800" in data
    assert read_document(pypdfium2.PdfDocument(data)).authors == ()


XMP = """<x:xmpmeta><rdf:Description><dc:identifier>doi:10.5555/Elms.1</dc:identifier>
<prism:doi>10.5555/elms.1</prism:doi><dc:creator><rdf:Seq><rdf:li>Ann Author</rdf:li>
<rdf:li>Bob &amp;c. Writer</rdf:li></rdf:Seq></dc:creator></rdf:Description></x:xmpmeta>"""


@pytest.mark.parametrize(
    ("xmp", "doi", "authors"),
    [
        (XMP, "10.5555/elms.1", "Ann Author; Bob &c. Writer"),
        (XMP + XMP.replace("lms.1", "lms.2"), None, "Ann Author; Bob &c. Writer"),
        ("<x:xmpmeta><dc:creator>" * 20_000, None, "A. Author"),
        ("", None, "A. Author"),
    ],
)
def test_xmp_metadata(xmp: str, doi: str | None, authors: str) -> None:
    file = io.BytesIO()
    canvas = Canvas(file, invariant=1)
    canvas.setAuthor("A. Author")
    canvas.drawString(72, 700, "Words")
    canvas.save()
    found = read_properties(pypdfium2.PdfDocument(file.getvalue()), xmp.encode())
    assert (found.doi, found.authors) == (doi, authors)


# --- Real papers ------------------------------------------------------------------------------


def names_of(authors: tuple[str, ...]) -> list[str]:
    return [re.sub(r"\W+", "", name).lower() for name in authors]


def jats(path: Path) -> tuple[str, list[str], str, str | None]:
    """Title, authors, abstract and DOI in a publisher's XML."""
    tree = etree.parse(path, etree.XMLParser(load_dtd=False, no_network=True))
    meta = tree.find(".//article-meta")
    assert meta is not None
    for note in meta.findall("title-group//xref"):
        note.text = None
    names = meta.findall("contrib-group/contrib[@contrib-type='author']/name")
    texts = [
        "".join(map(str, meta.find(each).itertext()))
        for each in ("title-group/article-title", "abstract")
    ]
    return (
        texts[0],
        [f"{name.findtext('surname')} {name.findtext('given-names')}" for name in names],
        texts[1],
        meta.findtext("article-id[@pub-id-type='doi']"),
    )


def test_journals_have_the_front_matter_of_their_publishers_xml(shared_data: Path) -> None:
    pdfs = sorted((shared_data / "journals").glob("*.pdf"))
    pdfs = [pdf for n, pdf in enumerate(pdfs) if n % sized(3, 1) == 0 or pdf.stem == "PMC6301976"]
    wrong = set()
    for pdf, paper in zip(pdfs, read_papers(pdfs, 1), strict=True):
        assert isinstance(paper, ReadPaper)
        title, authors, abstract, doi = jats(pdf.with_suffix(".xml"))
        wrong |= {
            (pdf.stem, what)
            for what, ours, theirs in (
                ("title", names_of((paper.title,)), names_of((title,))),
                ("authors", names_of(paper.authors), names_of(tuple(authors))),
                ("DOI", paper.doi, doi.lower() if doi else paper.doi),
            )
            if ours != theirs
        }
        words, wanted = (
            Counter(re.findall(r"[a-z]+", each)) for each in (paper.abstract, abstract)
        )
        same = (words & wanted).total()
        assert same > 0.95 * max(words.total(), wanted.total()), pdf.stem
    # Its XML has "van" behind the given name ("Woesik, Robert van"), we before the family name.
    assert wrong == {("PMC6301976", "authors")}


ACM = {
    "3336191.3371814": "Xiaofeng Zhu, Diego Klabjan",
    "3336191.3371855": "Mengting Wan, Jianmo Ni, Rishabh Misra, Julian McAuley",
    "3397271.3401281": "Noveen Sachdeva, Julian McAuley",
    "3397271.3401467": (
        "Weinan Zhang, Xiangyu Zhao, Li Zhao, Dawei Yin, Grace Hui Yang, Alex Beutel"
    ),
}


def test_acm_papers_have_all_authors_in_order(shared_data: Path) -> None:
    pdfs = [shared_data / "acm-cr" / "pdf" / f"{name}.pdf" for name in ACM]
    for pdf, paper in zip(pdfs, read_papers(pdfs, 1), strict=True):
        assert isinstance(paper, ReadPaper)
        shown = [" ".join(reversed(name.split(", "))) for name in paper.authors]
        assert ", ".join(shown) == ACM[pdf.stem]
        assert paper.notes == ()
