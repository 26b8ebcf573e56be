# mypy: ignore-errors
"""Papers that the rules were not developed on, measured against their LaTeX or JATS sources.

    python bench/unseen_papers.py FOLDER [--fetch] [--half 1|2] [--only NAME] [--errors]

Debian's source packages of R packages hold papers as PDF beside their LaTeX source and ``.bib``:
articles of the Journal of Statistical Software, the R Journal and R News, and manuals that cite.
With ``--fetch``, ``apt-get source`` downloads the packages to FOLDER (this needs ``deb-src`` in the
sources of apt), and only these files are kept. The columns are those of ``annotate_journals.py``;
the source says which keys are cited where, and the ``.bib`` what they are. Citations in footnotes,
captions and ``verbatim`` are left out. ``--half`` takes the packages of which a hash of the name is
odd (1) or even (2): errors of the first half were looked at, those of the second were not.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import tarfile
import tempfile
from collections import Counter
from pathlib import Path

import pypdfium2

from annotate_journals import _AROUND, _WORD, Citation, Reference, Truth, header, row, score, words
from citebed.collection.formats.base import Chunk, Problem
from citebed.collection.formats.bibtex import parse
from citebed.text.latex import latex_to_text
from citebed.text.names import family_name

PACKAGES = """
    lme4 lmtest mvtnorm r-cran-aer r-cran-bms r-cran-boolnet r-cran-bradleyterry2 r-cran-brms
    r-cran-brobdingnag r-cran-coin r-cran-dbscan r-cran-desolve r-cran-diagram r-cran-dimred
    r-cran-elliptic r-cran-expint r-cran-flexmix r-cran-forecast r-cran-formula r-cran-gap
    r-cran-gmm r-cran-gnm r-cran-hsaur3 r-cran-hypergeo r-cran-interp r-cran-irace
    r-cran-jsonlite r-cran-kernlab r-cran-laeken r-cran-logcondens r-cran-markovchain
    r-cran-maxstat r-cran-metap r-cran-mixtools r-cran-mnp r-cran-msm r-cran-nmf r-cran-ordinal
    r-cran-party r-cran-partykit r-cran-proto r-cran-psychotree r-cran-qtl r-cran-rgenoud
    r-cran-rockchalk r-cran-rrcov r-cran-seriation r-cran-spacetime r-cran-spam
    r-cran-surveillance r-cran-systemfit r-cran-tgp r-cran-tmvtnorm r-cran-vcd r-cran-vegan
""".split()  # noqa: SIM905
_SOURCES = (".rnw", ".snw", ".tex", ".ltx", ".rtex", ".rmd", ".bib", ".orig", ".asis")
_LARGEST, _FEWEST, _LONG_TITLE = 12_000_000, 8, 4
"""Bytes of the largest file to keep, fewest references of a paper to measure, and words of a title
that is not part of another text by chance."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--fetch", action="store_true")
    parser.add_argument("--half", type=int, choices=(1, 2))
    parser.add_argument("--only", default="")
    parser.add_argument("--errors", action="store_true")
    given = parser.parse_args()
    for package in PACKAGES if given.fetch else ():
        fetch(package, given.folder / package)
    total: Counter[str] = Counter()
    print(header("paper"))
    for pdf, source in find_papers(given.folder):
        name = pdf.relative_to(given.folder).parts[0]
        if given.only not in str(pdf) or given.half not in (None, half(name)):
            continue
        truth = read_source(pdf, source, given.folder / name)
        if truth is not None and len(truth.references) >= _FEWEST:
            counts, _ = score(pdf, truth, given.errors)
            print(row(f"{name.removeprefix('r-cran-')}/{pdf.stem}", counts), flush=True)
            total += counts
    print(row("all", total))


def half(name: str) -> int:
    """Return 1 or 2, by a hash of the name."""
    return 2 - hashlib.sha256(name.encode()).digest()[0] % 2


def fetch(package: str, folder: Path) -> None:
    """Download a source package and keep its PDFs and their sources."""
    if folder.exists():
        return
    with tempfile.TemporaryDirectory() as place:
        command = ["apt-get", "source", "--download-only", "-qq", package]
        subprocess.run(command, cwd=place, check=False)
        for archive in Path(place).glob("*.orig.tar.*"):
            if archive.suffix == ".asc":
                continue
            with tarfile.open(archive) as tar:
                for member in tar:
                    path = Path(*Path(member.name).parts[1:])
                    kept = path.suffix.lower() in (".pdf", *_SOURCES) and ".." not in path.parts
                    if member.isfile() and kept and member.size < _LARGEST:
                        (folder / path).parent.mkdir(parents=True, exist_ok=True)
                        (folder / path).write_bytes(tar.extractfile(member).read())


def find_papers(folder: Path) -> list[tuple[Path, Path]]:
    """Return the PDFs that have a LaTeX source, each once, with their sources."""
    papers = {}
    for pdf in sorted(folder.rglob("*.pdf")):
        package = pdf.relative_to(folder).parts[0]
        if source := source_of(pdf, folder / package):
            papers.setdefault((package, pdf.stem), (pdf, source))
    return list(papers.values())


def source_of(pdf: Path, root: Path) -> Path | None:
    """Return the source of a PDF: the file of its name, beside it or in the same package."""
    found = [
        path
        for suffix in (".Rnw", ".rnw", ".Snw", ".tex", ".ltx", ".Rmd")
        for path in [pdf.with_suffix(suffix), *sorted(root.rglob(f"{pdf.stem}{suffix}"))]
        if path.is_file()
    ]
    found += sorted(root.rglob(f"{pdf.stem}*.orig"))
    return next((path for path in found if "cite" in path.read_text("utf-8", "replace")), None)


# --- What the source says -------------------------------------------------------------------------

_CITE = re.compile(
    r"\\(?:no)?(?:cite|Cite|parencite|textcite|footcite|autocite)[a-zA-Z]*\*?\s*"
    r"((?:\[[^\[\]]*\]\s*){0,2})\{([^{}]+)\}"
)
_RMD_CITE = re.compile(r"(?<![\w.])-?@([\w:.+-]*\w)")
_NOT_SHOWN = re.compile(
    r"<<[^\n]*>>=.*?\n@[^\n]*|\\begin\{(verbatim|Sinput|Soutput|Schunk|CodeChunk|CodeInput|Code"
    r"|CodeOutput|lstlisting|table|figure|tabular|equation|eqnarray|align|displaymath|gather|multline)(\*?)\}.*?\\end\{\1\2\}"
    r"|\\\[.*?\\\]|\$\$.*?\$\$"
    r"|\\Sexpr\{[^{}]*\}|^```.*?^```",
    re.DOTALL | re.MULTILINE,
)
_NOT_SHOWN_LINES = re.compile(r"(?<!\\)%[^\n]*")
_HIDDEN = ("footnote", "caption", "Abstract", "abstract", "thanks", "Address")
_LIST = re.compile(r"(?:[\d.]+ )?(?:References|Bibliography|Literature)", re.IGNORECASE)
_INPUT = re.compile(r"\\(?:input|include|SweaveInput)\{([^{}]+)\}")


def read_source(pdf: Path, path: Path, package: Path) -> Truth | None:
    """Return what the source of a PDF says, or None if it cites nothing of its ``.bib``."""
    text = _NOT_SHOWN_LINES.sub("", path.read_text("utf-8", "replace"))
    for name in _INPUT.findall(text):
        for child in (path.parent / name, path.parent / f"{name}.tex"):
            if child.is_file():
                text += "\n\n" + _NOT_SHOWN_LINES.sub("", child.read_text("utf-8", "replace"))
    is_markdown = path.suffix.lower() == ".rmd"
    body = text.partition("\\begin{document}")[2]
    body = _NOT_SHOWN.sub(" ", body or text).partition("\\end{document}")[0]
    body = body.partition("\\appendix")[0] if "\\appendix" in body[: len(body) // 3] else body
    authors_of: dict[str, list[str]] = {}
    bibs = [*sorted(package.rglob("*.bib")), *sorted(path.parent.glob("*.bib"))]
    entries = _entries(bibs, authors_of)
    cited = {key.strip() for match in _CITE.finditer(text) for key in match[2].lower().split(",")}
    if is_markdown:
        cited |= set(map(str.lower, _RMD_CITE.findall(body)))
    references = {key: entries[key] for key in cited if key in entries}
    if not references:
        return None
    lines = re.split(r"\s*\n", "\n".join(map(_page_text, pypdfium2.PdfDocument(pdf))))
    end = max((at for at, line in enumerate(lines) if _LIST.fullmatch(line)), default=len(lines))
    printed = "".join(words(" ".join(lines[end:])))
    titles = {"".join(entry.title) for entry in references.values()}
    for key, entry in entries.items():  # cited by commands that this script does not know
        title = "".join(entry.title)
        if len(entry.title) > _LONG_TITLE and title in printed and title not in titles:
            references[key] = entry
            titles.add(title)
    title, authors = _argument(text, "Plaintitle") or _argument(text, "title"), []
    if plain := _argument(text, "Plainauthor"):
        authors = [_inverted(name) for name in re.split(r",\s*(?:and\s)?|\sand\s", plain) if name]
    names = {word for key in references for name in authors_of[key] for word in words(name)}
    truth = Truth("", "", latex_to_text(title), authors, _argument(text, "Abstract"), references)
    truth.names = frozenset(names | {"et", "al"})
    for hidden in _HIDDEN:
        body = _without(body, hidden)
    for paragraph in re.split(r"\n\s*\n|\\(?:sub)*section\*?|\\item\b", body):
        _add(truth, paragraph, is_markdown)
    return truth


def _page_text(page: pypdfium2.PdfPage) -> str:
    return page.get_textpage().get_text_range()


def _add(truth: Truth, paragraph: str, is_markdown: bool) -> None:
    """Add a paragraph of LaTeX with its citations."""
    cites: list[str] = []

    def mark(match: re.Match[str]) -> str:
        if "nocite" in match[0] or match[0].startswith(("\\citeauthor", "\\citetitle")):
            return " "
        names = map(str.strip, match[1 if match.re is _RMD_CITE else 2].lower().split(","))
        known = [name for name in names if name in truth.references]
        cites.extend(known)
        begin = len(cites) - len(known)
        shown = (truth.references[name] for name in known)
        marked = (f"\ue000{begin + n}\ue001 {' '.join(r.author)}" for n, r in enumerate(shown))
        return f" {' '.join(marked)} "

    text = (_RMD_CITE if is_markdown else _CITE).sub(mark, paragraph)
    text = latex_to_text(re.sub(r"\\(?:label|ref|index|url|href)\{[^{}]*\}", " ", text))
    parts = re.split("\ue000(\\d+)\ue001", text)
    pieces = parts[::2]
    truth.paragraphs.append((words(" ".join(pieces)), bool(cites)))
    for at, number in enumerate(parts[1::2], 1):
        before, after = words(" ".join(pieces[:at]), _WORD), words(" ".join(pieces[at:]), _WORD)
        around = Counter(before[-_AROUND:] + after[:_AROUND])
        truth.citations.append(Citation(cites[int(number)], around))


def _entries(paths: list[Path], authors_of: dict[str, list[str]]) -> dict[str, Reference]:
    """Return the entries of ``.bib`` files by their keys; add their authors to ``authors_of``."""
    entries: dict[str, Reference] = {}
    for path in paths:
        for document in parse(Chunk(path.read_bytes(), path.name)):
            if isinstance(document, Problem):
                continue
            names = document.authors or document.editors
            authors_of[document.doc_id.lower()] = [family_name(name) for name in names]
            author = words(family_name(names[0])) if names else []
            about = (document.title, *names, document.venue or "", str(document.year or ""))
            entries[document.doc_id.lower()] = Reference(
                document.doi, words(document.title), author, str(document.year or ""),
                words(" ".join((*about, document.pages or "", document.publisher or ""))),
            )  # fmt: skip
    return entries


def _argument(text: str, command: str) -> str:
    """Return the argument of a command's first use."""
    begin = text.find(f"\\{command}{{")
    return text[begin + len(command) + 2 : _end(text, begin)].strip() if begin >= 0 else ""


def _without(text: str, command: str) -> str:
    """Return a text without the uses of a command."""
    while (begin := text.find(f"\\{command}{{")) >= 0:
        text = text[:begin] + text[_end(text, begin) + 1 :]
    return text


def _end(text: str, begin: int) -> int:
    """Return the offset of the brace that closes the first one after an offset."""
    depth = 0
    for match in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, text.find("{", begin)):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.start()
    return len(text)


def _inverted(name: str) -> str:
    given, _, family = latex_to_text(name.replace("~", " ")).strip().rpartition(" ")
    return f"{family}, {given}"


if __name__ == "__main__":
    main()
