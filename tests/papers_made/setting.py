"""Made-up papers as LaTeX in the styles of journals, and the truth about each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.papers_made.composing import Block, Citation, Paper, Reference, Said


@dataclass(frozen=True)
class Journal:
    """How a journal sets a paper."""

    name: str
    head: str
    """From the class to the beginning of the document; ``%LANGUAGE`` is the paper's."""
    front: Callable[[Paper], str]
    entries: str
    """The command that prints the bibliography."""
    cite: str = r"\cite{%s}"
    textual: str = ""
    """How a part of a sentence cites; names and ``cite`` where it is empty."""
    located: str = r"\cite[%s]{%s}"
    joint: str = "and"
    biber: bool = False
    section: str = r"\section{%s}"
    before_text: str = ""
    """The command that ends the front matter, if the text does not."""
    dated: bool = True
    """Whether it prints the year of its papers."""
    stop_first: bool = False
    """Return True if citations follow the full stop, as superscripts do."""


_ESCAPES = {"’": "'", "%": r"\%", "&": r"\&"}


def latex(paper: Paper, journal: Journal) -> str:
    """The paper's source."""
    parts = [journal.head.replace("%LANGUAGE", paper.field.language), journal.front(paper)]
    parts.append(journal.before_text)
    for heading, blocks in paper.sections:
        parts.append(journal.section % heading)
        for at, block in enumerate(blocks):
            inside = _block(block, paper, journal)
            if block.kind == "item" and blocks[at - 1].kind != "item":
                parts.append(r"\begin{itemize}")
            parts.append(inside)
            if block.kind == "item" and (at + 1 == len(blocks) or blocks[at + 1].kind != "item"):
                parts.append(r"\end{itemize}")
    parts += [journal.entries, r"\end{document}"]
    return "\n\n".join(parts) + "\n"


def abstract(paper: Paper) -> str:
    """The abstract's text as LaTeX."""
    return " ".join(said.pieces[0] for said in paper.abstract)


def names(paper: Paper, between: str = ", ") -> str:
    """The authors as they are printed."""
    return between.join(f"{given} {family}" for family, given in paper.authors)


def bibliography(paper: Paper) -> str:
    """Return the references in BibTeX; physics papers have arXiv numbers."""
    tagged = paper.field.language == "english" and paper.field.name == "physics"
    return "\n".join(_bibtex(each, tagged) for each in paper.references)


def _bibtex(reference: Reference, tagged: bool) -> str:
    people = " and ".join(f"{family}, {given}" for family, given in reference.authors)
    where = {"article": "journal", "inproceedings": "booktitle"}.get(reference.kind)
    fields = [("author", people), ("title", "{" + reference.title + "}")]
    fields += [("year", str(reference.year)), *reference.details]
    if tagged and reference.kind == "article":
        number = f"{reference.year % 100:02}05.{abs(reference.year * 7919) % 9000 + 1000}"
        fields += [("eprint", number), ("archivePrefix", "arXiv"), ("primaryClass", "hep-ph")]
    if where:
        prefix = "Proceedings of the Meeting on " if where == "booktitle" else ""
        fields.append((where, prefix + reference.venue))
    inside = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields)
    return f"@{reference.kind}{{{reference.key},\n{inside}\n}}\n"


def _block(block: Block, paper: Paper, journal: Journal) -> str:
    if block.kind in ("figure", "table"):
        return _FLOATS[block.kind]
    said = [_sentence(each, paper, journal) for each in block.sentences]
    if block.note:
        said[0] += rf"\footnote{{{block.note}}}"
    if block.kind == "item":
        return r"\item " + " ".join(said)
    if block.kind == "formula":
        said.insert(2, "\n" + _FORMULA + "\n")
    return " ".join(said)


def _sentence(said: Said, paper: Paper, journal: Journal) -> str:
    text = said.pieces[0]
    for citation, piece in zip(said.citations, said.pieces[1:], strict=True):
        if journal.stop_first and not citation.textual and piece[:1] in ".,;":
            text = text.rstrip() + piece[0] + _cited(citation, paper, journal) + piece[1:]
        elif journal.stop_first and not citation.textual:
            text = text.rstrip() + _cited(citation, paper, journal) + piece
        else:
            text += _cited(citation, paper, journal) + piece
    return text


def _cited(citation: Citation, paper: Paper, journal: Journal) -> str:
    keys = ",".join(citation.keys)
    if citation.textual and journal.textual:
        return journal.textual % keys
    if citation.textual:
        space = "" if journal.stop_first else "~"
        return _named(citation, paper, journal) + space + journal.cite % keys
    if citation.locator and journal.located:
        return journal.located % (citation.locator, keys)
    return journal.cite % keys


def _named(citation: Citation, paper: Paper, journal: Journal) -> str:
    (reference,) = (each for each in paper.references if each.key == citation.keys[0])
    families = [family for family, _given in reference.authors]
    if len(families) > 2:
        return f"{families[0]} et~al."
    return f" {journal.joint} ".join(families)


_FORMULA = r"""\begin{equation}
  E(x) = \sum_{i=1}^{n} \frac{a_i x^{i}}{1 + b_i} + \int_0^1 g(t, x)\, dt
\end{equation}"""
_FLOATS = {
    "figure": r"""\begin{figure}[tb]
\centering
\setlength{\unitlength}{1mm}
\begin{picture}(60,24)
\put(2,2){\vector(1,0){55}} \put(2,2){\vector(0,1){20}}
\put(20,12){\small upper site} \put(35,6){\small lower site [1]} \put(8,18){\footnotesize 0.75}
\end{picture}
\caption{Sites over the years. Both curves were drawn by hand, after the counts of the first
survey and those of the second one, with nothing left out.}
\end{figure}""",
    "table": r"""\begin{table}[tb]
\caption{Counts by site, in the order of their finding.}
\centering
\begin{tabular}{lrrr}
\hline Site & Count & Share & Days \\ \hline
North & 12 & 0.31 & 40 \\ South & 25 & 0.64 & 38 \\ Harbour & 2 & 0.05 & 12 \\ \hline
\end{tabular}
\end{table}""",
}


# --- The truth --------------------------------------------------------------------------------


def truth(paper: Paper, journal: Journal) -> dict[str, object]:
    """The expected result of a perfect reader, without citations in brackets."""
    return {
        "journal": journal.name,
        "field": paper.field.name,
        "title": paper.title,
        "authors": [f"{family}, {given}" for family, given in paper.authors],
        "year": paper.year if journal.dated else None,
        "abstract": _plain(abstract(paper)) if abstract(paper) in journal.front(paper) else "",
        "paragraphs": [
            {
                "section": heading,
                "sentences": [_true_sentence(said, paper, journal) for said in block.sentences],
            }
            for heading, blocks in paper.sections
            for block in blocks
            if block.sentences
        ],
        "references": {
            each.key: {
                "title": each.title,
                "year": each.year,
                "family": each.authors[0][0],
                "place": _place(each),
                "doi": dict(each.details).get("doi"),
            }
            for each in paper.references
        },
    }


def _place(reference: Reference) -> str:
    """The fields that identify an article whose title is not printed: journal, volume and first
    page."""
    details = dict(reference.details)
    if reference.kind != "article":
        return details.get("pages", "")
    return f"{reference.venue}, {details['volume']}, {details['pages'].partition('-')[0]}"


def _true_sentence(said: Said, paper: Paper, journal: Journal) -> dict[str, object]:
    text = said.pieces[0]
    for citation, piece in zip(said.citations, said.pieces[1:], strict=True):
        text += (_named(citation, paper, journal) if citation.textual else "") + piece
    return {"text": _plain(text), "cites": [list(each.keys) for each in said.citations]}


def _plain(text: str) -> str:
    for written, plain in (("\\%", "%"), ("~", " "), ("\\ ", " ")):
        text = text.replace(written, plain)
    return " ".join(text.split()).replace(" .", ".").replace(" ,", ",").replace(" ;", ";")
