"""Speed and memory of reading PDFs, compared with pdfminer.six and ``pdftotext -bbox``.

"Reading" extracts the words of all pages with their positions; "all" is the whole analysis of
citebed: paragraphs, sections, references, which the others do not do. Each reader runs in a process
of its own. Times are processor times of that process and its children, so other work on the machine
hardly counts, less the start-up time, measured with a single file. The script makes a thesis of 400
pages to measure memory.
Run: python bench/pdf_reading.py [FOLDER] [--pages 400] [--rounds 3]
Needs pdfminer.six (``pip install pdfminer.six``) and pdftotext (of poppler-utils); the script skips
a tool that is missing.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from common import machine, shared_data, watch

_SYLLABLES = ("el", "ma", "tor", "in", "gar", "den", "lo", "fa", "ris", "ten", "u", "sel")


def words_of_citebed(path: Path) -> int:
    """How many words our reader sees, with their places."""
    import pypdfium2

    from citebed.papers.pages import read_pages

    document = pypdfium2.PdfDocument(path)
    count = sum(len(page.words) for page in read_pages(document))
    document.close()
    return count


def words_of_pdfminer(path: Path) -> int:
    """How many words pdfminer.six sees, with the places of their lines."""
    from pdfminer.high_level import extract_pages
    from pdfminer.layout import LTTextContainer

    boxes = (box for page in extract_pages(path) for box in page)
    return sum(len(box.get_text().split()) for box in boxes if isinstance(box, LTTextContainer))


def words_of_pdftotext(path: Path) -> int:
    """How many words poppler sees, with their places."""
    made = subprocess.run(["pdftotext", "-bbox", path, "-"], capture_output=True, check=False)
    return made.stdout.count(b"<word ")


def whole_in_process(path: Path) -> int:
    """All that is read of a paper, in this process."""
    from citebed.papers.pdf_reader import read_pdf

    return len(read_pdf(path.read_bytes()).paragraphs)


def whole_in_child(path: Path) -> int:
    """The same in a child with limits, as it is for users."""
    from citebed.papers.child_process import PaperProblem, read_paper

    read = read_paper(path)
    if isinstance(read, PaperProblem):
        raise read.error
    return len(read.paragraphs)


READERS: dict[str, Callable[[Path], int]] = {
    "citebed, words": words_of_citebed,
    "pdftotext -bbox": words_of_pdftotext,
    "pdfminer.six": words_of_pdfminer,
    "citebed, whole paper": whole_in_process,
    "citebed, whole paper, in a child": whole_in_child,
}


def is_there(name: str) -> bool:
    """Whether a reader is installed."""
    if name == "pdfminer.six":
        return importlib.util.find_spec("pdfminer") is not None
    return name != "pdftotext -bbox" or shutil.which("pdftotext") is not None


def processor_seconds(name: str, paths: Sequence[Path]) -> float:
    """Return the cost of a new process that reads these files, with all its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, __file__, "--one", name, *map(str, paths)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def timed(name: str, paths: Sequence[Path], rounds: int) -> float:
    """Processor seconds for all files, the median of some rounds."""
    twice = [*paths, *paths]
    differences = [
        processor_seconds(name, twice) - processor_seconds(name, paths) for _ in range(rounds)
    ]
    return statistics.median(differences)


def page_count(path: Path) -> int:
    import pypdfium2

    document = pypdfium2.PdfDocument(path)
    count = len(document)
    document.close()
    return count


def write_thesis(path: Path, pages: int, seed: int = 1) -> None:
    """Write a thesis of about this many pages of made-up words that cites 400 works."""
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate

    rng, style = random.Random(seed), getSampleStyleSheet()

    def said(count: int) -> str:
        made = ("".join(rng.choices(_SYLLABLES, k=rng.randint(1, 4))) for _ in range(count))
        return " ".join(made)

    story: list[object] = [Paragraph("A Very Long Thesis", style["Title"])]
    for chapter in range(1, pages // 10 + 1):
        story.append(Paragraph(f"{chapter} {said(3).capitalize()}", style["Heading1"]))
        for _ in range(73):
            text = f"{said(90).capitalize()} [{rng.randint(1, 400)}]."
            story.append(Paragraph(text, style["Normal"]))
        story.append(PageBreak())
    story.append(Paragraph("References", style["Heading1"]))
    for number in range(1, 401):
        text = f"[{number}] C. Oak. {said(8).capitalize()}. Journal of Trees, 2001."
        story.append(Paragraph(text, style["Normal"]))
    SimpleDocTemplate(str(path)).build(story)


def tell_speed(paths: Sequence[Path], rounds: int) -> None:
    """Pages a second of one core, by reader."""
    pages = sum(map(page_count, paths))
    print(f"{len(paths)} papers, {pages} pages, median of {rounds}; {machine()}")
    first = 0.0
    for name in filter(is_there, READERS):
        seconds = timed(name, paths, rounds)
        first = first or seconds
        print(
            f"{name:34} {pages / seconds:7.1f} pages/s {1000 * seconds / len(paths):7.0f} ms/paper"
            f"  {seconds / first:5.2f} times as long as the first",
            flush=True,
        )


def tell_memory(pages: int) -> None:
    """The memory of a thesis: our processes together, and the others."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "thesis.pdf"
        write_thesis(path, pages)
        print(f"a thesis of {page_count(path)} pages, {path.stat().st_size:,} bytes")
        for name in filter(is_there, READERS):
            command = [sys.executable, __file__, "--one", name, str(path)]
            ran = watch(command, timeout=900)
            said = f"{ran.megabytes:7.0f} MB at most, {ran.seconds:7.1f} s with its start"
            print(f"{name:34} {said}  {ran.err.strip()[-60:]}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        name, *paths = arguments.one
        print(sum(READERS[name](Path(path)) for path in paths))
        return
    folder = arguments.folder or shared_data("acm-cr") / "pdf"
    tell_speed(sorted(folder.glob("*.pdf")), arguments.rounds)
    tell_memory(arguments.pages)


if __name__ == "__main__":
    main()
