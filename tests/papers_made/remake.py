"""Typeset the made-up papers with LaTeX, and write the true annotations of each.

This needs pdflatex, bibtex and biber. The tests only read the files in this folder.
Run: python -m tests.papers_made.remake FOLDER [JOURNAL …] [--seed 1] [--paragraphs 4]
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.papers_made.composing import compose
from tests.papers_made.journals import JOURNALS
from tests.papers_made.publishers import PUBLISHERS
from tests.papers_made.setting import Journal, bibliography, latex, truth
from tests.papers_made.wording import Field

_BEGIN = r"\begin{document}"
_SMALL = r"""\renewcommand{\rmdefault}{ptm}\renewcommand{\sfdefault}{phv}
\renewcommand{\ttdefault}{pcr}
\pdfmapline{=ptmr8r Times-Roman "TeXBase1Encoding ReEncodeFont" <8r.enc}
\pdfmapline{=ptmb8r Times-Bold "TeXBase1Encoding ReEncodeFont" <8r.enc}
\pdfmapline{=ptmri8r Times-Italic "TeXBase1Encoding ReEncodeFont" <8r.enc}
\pdfmapline{=ptmbi8r Times-BoldItalic "TeXBase1Encoding ReEncodeFont" <8r.enc}
\pdfmapline{=phvr8r Helvetica "TeXBase1Encoding ReEncodeFont" <8r.enc}
\pdfmapline{=pcrr8r Courier "TeXBase1Encoding ReEncodeFont" <8r.enc}
"""


def main() -> None:
    """Set all journals, or those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("journals", nargs="*")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--paragraphs", type=int, default=4)
    parser.add_argument("--entries", type=int, default=26)
    parser.add_argument("--small", action="store_true", help="fonts that every reader has")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    journals = [(journal, words, 0) for journal, words in JOURNALS] + list(PUBLISHERS)
    for number, (journal, words, authors) in enumerate(journals):
        if not given.journals or journal.name in given.journals:
            made = make(journal, words, authors, 100 * given.seed + number, given, given.folder)
            print(journal.name, "made" if made else "NOT MADE", flush=True)


def make(
    journal: Journal, words: Field, authors: int, seed: int, given: argparse.Namespace, folder: Path
) -> bool:
    """Set one paper; return False if LaTeX could not."""
    paper = compose(words, seed, given.entries, given.paragraphs, authors)
    source = latex(paper, journal)
    if given.small:
        source = source.replace(_BEGIN, _SMALL + _BEGIN, 1)
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "paper.tex").write_text(source, "utf-8")
        (Path(place) / "made.bib").write_text(bibliography(paper), "utf-8")
        setter = ["pdflatex", "-interaction=nonstopmode", "paper"]
        sorter = ["biber" if journal.biber else "bibtex", "paper"]
        for command in (setter, sorter, setter, setter, setter):  # notes per page need the last
            done = subprocess.run(command, cwd=place, capture_output=True, check=False)
            name = folder / f"{journal.name}.{command[0]}.log"
            name.write_bytes(done.stdout) if done.returncode else name.unlink(missing_ok=True)
        made = Path(place) / "paper.pdf"
        if not made.exists():
            return False
        shutil.copyfile(made, folder / f"{journal.name}.pdf")
    said = json.dumps(truth(paper, journal), ensure_ascii=False, indent=1)
    (folder / f"{journal.name}.json").write_text(said + "\n", "utf-8")
    return True


if __name__ == "__main__":
    main()
