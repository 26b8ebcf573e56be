"""Footnotes that cite, and notes where citation markers and reference list disagree."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pypdfium2
import pytest
from reportlab.pdfgen.canvas import Canvas

from citebed.papers.annotator import annotate
from citebed.papers.footnotes import cite_in_footnotes
from citebed.papers.paper import Box, PlacedText, ReadPaper, ReadParagraph, ReferenceEntry
from citebed.papers.pdf_reader import read_document

MOORE = "Thomas Moore: Die Ulmen der Stadt. Leipzig 1987, S. 12."
ASH = "Anna Ash: „Eschen am Fluss“. In: Blätter für Bäume 3 (1991), S. 4–9"
YEW = "Eva Yew: Eiben auf alten Mauern. Bonn 1999"


def cited(*footnotes: str) -> list[tuple[int, ...]]:
    """The works that each footnote cites, counted from 0 in the order of their first mention."""
    notes = [(str(n), PlacedText(text)) for n, text in enumerate(footnotes, 1)]
    _, places = cite_in_footnotes(notes, [])
    return [places.get(str(n), ()) for n in range(1, len(footnotes) + 1)]


@pytest.mark.parametrize(
    ("later", "works"),
    [
        ("Ebd., S. 14.", (1,)), ("Ebenda.", (1,)), ("Ibid., p. 3.", (1,)),
        ("Moore, Ulmen, S. 3.", (0,)), ("Moore, a. a. O., S. 5.", (0,)),
        ("Vgl. Moore (Anm. 1), S. 9; Ash, Eschen, S. 5.", (0, 1)),
        ("Ash, see n. 2.", (1,)), ("Ash, wie Fn. 2.", (1,)),
        ("Dies., Eschen am Fluss, S. 2.", (1,)),
        (f"{YEW}; siehe auch {MOORE}", (2, 0)),
        (f"Vgl. {MOORE}", (0,)), ("Das ist bis heute umstritten.", ()),
    ],
)  # fmt: skip
def test_short_forms_cite_the_work_of_the_first_mention(later: str, works: tuple[int, ...]) -> None:
    assert cited(MOORE, f"{ASH}.", later) == [(0,), (1,), works]


@pytest.mark.parametrize(
    "law",
    [
        "BGH NJW 1998, 1234 (1236).",
        "Vgl. BGH, Urt. v. 12.3.1998 – IV ZR 12/97, NJW 1998, 1234.",
        "EuGH, Urteil vom 1.2.2003, Rs. C-123/01, Slg. 2003, I-1234.",
        "OLG München, Beschluss vom 3. Mai 2010 – 15 U 12/09, juris Rn. 12.",
        "§ 823 BGB in der Fassung vom 2. Januar 2002, BGBl. I S. 42.",
        "Brown v. Board of Education, 347 U.S. 483, 495 (1954).",
        "Donoghue v Stevenson [1932] AC 562 (HL).",
        "Civil Rights Act of 1964, Pub. L. No. 88-352, 78 Stat. 241 (1964).",
        "Council Directive 95/46/EC, Official Journal L 281 of 23 November 1995, p. 31.",
    ],
)
def test_decisions_and_statutes_are_not_works(law: str) -> None:
    assert cited(MOORE, law, "Ebd., Rn. 5.", f"{law[:-1]}; {ASH}.") == [(0,), (), (), (1,)]


@pytest.mark.parametrize(
    "work",
    [
        "Platon: Der Staat, übersetzt von Otto Apelt, Leipzig 1923.",
        "Augustinus, Confessiones, hg. von Martin Skutella, Stuttgart 1981.",
        "Eva Yew: Die Ulme in der Rechtsprechung des BGH und in Art. 5 GG. Bonn 1999.",
    ],
)
def test_a_single_name_or_a_book_on_law_is_a_work(work: str) -> None:
    assert cited(MOORE, work, "Ebd.") == [(0,), (1,), (1,)]


def test_works_of_a_list_are_cited_by_name_and_year() -> None:
    listed = [ReferenceEntry("", PlacedText(text), text) for text in (ASH, MOORE)]
    entries, places = cite_in_footnotes([("1", PlacedText("Moore 1987, S. 12."))], listed)
    assert (len(entries), places) == (2, {"1": (1,)})


def test_of_two_works_the_short_title_or_the_last_mention_decides() -> None:
    elms = "Thomas Moore: Die Ulmen der Stadt. Leipzig 1987"
    oaks = "Thomas Moore: Eichen im Norden Europas. Leipzig 1987"
    short = ("Moore, Eichen im Norden.", "Moore, op. cit.", "Moore, Ulmen.", "Moore, op. cit.")
    assert cited(elms, oaks, *short) == [(0,), (1,), (1,), (1,), (0,), (0,)]


def test_numbers_that_restart_on_each_page_cite_by_page() -> None:
    boxes = (Box(0, 50, 90, 80, 100), Box(1, 50, 90, 80, 100))
    text = PlacedText("Ulmen¹ Eschen¹", (0, 7), boxes)
    entries = tuple(ReferenceEntry("", PlacedText(each), each) for each in (MOORE, ASH))
    footnotes = (("1@0", (0,)), ("1@1", (1,)))
    paper = ReadPaper(
        "Bäume", (), "", None, 2001, (ReadParagraph("Einleitung", text),), entries, (), footnotes
    )
    made = annotate(paper, "paper", sections=())
    markers = [m for c in made.contexts for s in c.sentences for m in s.markers]
    assert [marker.cites for marker in markers] == [("1",), ("2",)]


def test_a_repeated_author_in_a_list_has_the_name_above() -> None:
    texts = (MOORE, "Ders.: Eichen im Norden. Bonn 1999", "— Linden im Süden. Bonn 2001")
    listed = [ReferenceEntry("", PlacedText(text), text) for text in texts]
    notes = [("1", PlacedText("Moore, Linden, S. 4.")), ("2", PlacedText("Moore 1999, S. 12."))]
    assert cite_in_footnotes(notes, listed)[1] == {"1": (2,), "2": (1,)}


COUNTED = (
    ("1 " + MOORE, f"2 {ASH}."),
    ("3 Ebd., S. 8.", f"4 {YEW}, S. 1."),
    ("5 Moore, Ulmen, S. 4.", "6 Ash, Eschen."),
)
RESTARTED = (
    ("1 " + MOORE,),
    (f"2 {ASH}.", "1 Ebd., S. 8.", f"2 {YEW}, S. 1."),
    ("1 Moore, Ulmen, S. 4.", "2 Ash, Eschen."),
)
"""The numbers restart on each page; the second note did not fit on its page."""
SHORT = (
    ("1 Moore: Ulmen.", "2 Ash: Eschen am Fluss."),
    ("1 Ebd., S. 8.", "2 Yew: Eiben auf alten Mauern."),
    ("1 Moore, Ulmen, S. 4.", "2 Ash, Eschen."),
)
NAMES = "Berg Cohn Dorn Esch Fink Gans Horn Igel".split()  # noqa: SIM905
LIST = [MOORE, ASH, YEW, *(f"{name}, Anna: Bäume. Bonn {1980 + len(name)}" for name in NAMES)]


def footnote_paper(notes: Sequence[Sequence[str]], listed: Sequence[str] = ()) -> bytes:
    """Three pages of prose with raised numbers, and footnotes below it.

    A list begins on the third page, above its footnotes, and ends on a fourth.
    """
    file = io.BytesIO()
    canvas = Canvas(file, invariant=1)
    restarts = notes[1][-1].startswith("2")
    for page in range(3):
        for n in range(20):
            text = canvas.beginText(70, 760 - 14 * n)
            text.setFont("Times-Roman", 11)
            text.textOut("Die Bäume der alten Städte sind nur wenig erforscht und oft gefällt")
            if n in (5, 12):
                text.setRise(4)
                text.setFont("Times-Roman", 7)
                text.textOut(str(2 * page * (not restarts) + 1 + (n > 5)))
                text.setRise(0)
                text.setFont("Times-Roman", 11)
            text.textOut(". Mehr." if n in (5, 12) else " worden, wie")
            canvas.drawText(text)
        for n, note in enumerate(notes[page]):
            canvas.setFont("Times-Roman", 8)
            canvas.drawString(70, 120 - 11 * n, note)
        if page == 2 and listed:
            canvas.setFont("Times-Bold", 14)
            canvas.drawString(70, 450, "Literatur")
            canvas.setFont("Times-Roman", 11)
            for n, entry in enumerate(listed[:5]):
                canvas.drawString(70, 420 - 14 * n, entry)
        canvas.showPage()
    canvas.setFont("Times-Roman", 11)
    for n, entry in enumerate(listed[5:]):
        canvas.drawString(70, 760 - 14 * n, entry)
    canvas.save()
    return file.getvalue()


@pytest.mark.parametrize(
    ("notes", "listed"),
    [(COUNTED, ()), (RESTARTED, ()), (SHORT, LIST)],
    ids=["counted", "restarted", "list between footnotes"],
)
def test_numbers_of_footnotes_are_citation_markers(
    notes: Sequence[Sequence[str]], listed: Sequence[str]
) -> None:
    paper = read_document(pypdfium2.PdfDocument(footnote_paper(notes, listed)))
    assert len(paper.references) == (len(listed) or 3)
    made = annotate(paper, "paper", sections=())
    cites = [marker.cites for c in made.contexts for s in c.sentences for marker in s.markers]
    assert cites == [("1",), ("2",), ("2",), ("3",), ("1",), ("2",)]


def paper_citing(texts: Sequence[str], references: Sequence[str]) -> ReadPaper:
    paragraphs = tuple(ReadParagraph("1 Introduction", PlacedText(text)) for text in texts)
    entries = tuple(
        ReferenceEntry(label, PlacedText(text), text)
        for label, _, text in (each.partition(" ") for each in references)
    )
    return ReadPaper("T", (), "", None, None, paragraphs, entries, ())


def test_an_index_behind_an_identifier_is_not_a_citation() -> None:
    texts = [*ALL, "The call BTE[2] sets max_depth[3] and colSums[4] as in R [5]."]
    made = annotate(paper_citing(texts, LISTED), "paper", sections=())
    assert [m.cites for m in made.contexts[-1].sentences[-1].markers] == [("5",)]


def test_a_citation_behind_a_name_without_a_blank_is_one() -> None:
    texts = ["Elms[1, 2] and yews[3–5] grow[6].", "BERT[7] and colSums[8] do not."]
    made = annotate(paper_citing(texts, LISTED), "paper", sections=())
    assert [m.cites for m in made.contexts[-1].sentences[-1].markers] == [("7",), ("8",)]


LISTED = [
    f"{n} A. Doe{'abcdefghij'[n]}. Elms of the north. Trees {n} (200{n})." for n in range(1, 9)
]
ALL = ["Elms [1, 2] and yews [3–5] grow [6].", "Ashes [7, 8] do not."]


@pytest.mark.parametrize(
    ("texts", "references", "note"),
    [
        (ALL, LISTED, ""),
        ([*ALL, "Oaks [9–20] too."], LISTED, "20 references, but the list that was read has 8"),
        (ALL[1:], LISTED, "no citation marker was found for 6 of 8 references"),
        (ALL, [], "4 citation markers, but no reference list was found"),
    ],
)  # fmt: skip
def test_markers_and_list_are_checked_against_each_other(
    texts: list[str], references: list[str], note: str
) -> None:
    notes = annotate(paper_citing(texts, references), "paper", sections=()).notes
    assert (note in notes[0]) if note else not notes


def test_a_paper_that_cites_elsewhere_only_says_so() -> None:
    made = annotate(paper_citing(ALL, LISTED), "paper", sections=("related work",))
    assert not made.contexts
    assert made.notes[0].startswith("2 paragraphs with citations, but none of them in related work")
