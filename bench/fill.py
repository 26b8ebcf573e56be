"""How often ``citebed fill`` suggests the paper that the author cited: ``python bench/fill.py WORK``.

Drafts are made by emptying every citation of papers that no model was trained on: a thesis in
LaTeX, the 50 citing papers of ACM-CR, and journal papers with their JATS. WORK is a folder for the
collections, which are made when they are missing; ACM-CR takes some minutes. The right papers of a
gap are those that its author cited there. ``--write`` puts the tables into docs/fill.md.

    python bench/fill.py work/ --write
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lxml import etree

sys.path.insert(0, str(Path(__file__).parent))

from common import shared_data

from citebed.text.markers import markers
from citebed.text.normalise import fold

GAP = "[@]"


class Emptied(NamedTuple):
    """A paper as a draft without citations: its text, and what each gap cited, in order.

    ``field`` names the set of papers; ``cites`` are keys, DOIs or ids of the library.
    """

    field: str
    name: str
    text: str
    ending: str
    cites: list[frozenset[str]]


# --- Drafts ---------------------------------------------------------------------------------------


def acm_cr(papers: Path) -> Iterator[Emptied]:
    """Yield the citing papers of ACM-CR as Markdown; they cite DOIs."""
    for path in sorted(papers.glob("*/*.xml")):
        listed = (line.split("\t") for line in path.with_suffix(".dois").read_text().splitlines())
        dois = {number.strip("[]"): row[0].lower() for number, *row in listed if row}
        root = etree.parse(str(path)).getroot()
        lines, cites = [f"# {root.findtext('title')}", ""], []
        for context in root.iter("context"):
            lines += [f"## {context.get('section')}", ""]
            words = []
            for sentence in context.iter("s"):
                text = fold("".join(sentence.itertext()))
                numbers = [n.strip() for n in (sentence.get("cites") or "").split(",") if n.strip()]
                found = [each for each in markers(text) if each.cites]
                named = [[c for c in each.cites if c in numbers] for each in found]
                if numbers and set(sum(named, [])) == set(numbers):
                    pieces, at = [], 0
                    for marker, own in zip(found, named, strict=True):
                        if own:
                            pieces += [text[at : marker.start], GAP]
                            cites.append(frozenset(dois.get(n, "") for n in own) - {""})
                            at = marker.end
                    text = "".join(pieces) + text[at:]
                elif numbers:
                    text = f"{text.rstrip('.')} {GAP}."
                    cites.append(frozenset(dois.get(n, "") for n in numbers) - {""})
                words.append(text)
            lines += [" ".join(words), ""]
        yield Emptied("ACM-CR", path.stem, "\n".join(lines), ".md", cites)


_XREF = re.compile("\ue000([^\ue001]*)\ue001")
_RUN = re.compile(
    "[\\[(]?\ue000[^\ue001]*\ue001(?:\\s*(?:[,;–—-]|to|and|&)?\\s*\ue000[^\ue001]*\ue001)*[\\])]?"
)


def journals(folder: Path) -> Iterator[Emptied]:
    """Yield journal papers as Markdown; they cite ``PMCID#reference``."""
    for path in sorted(folder.glob("*.xml")):
        root = etree.parse(str(path), etree.XMLParser(load_dtd=False, no_network=True)).getroot()
        order = [each.get("id") for each in root.iter("ref")]
        known = {name: number for number, name in enumerate(order)}
        title = fold("".join(root.find(".//article-title").itertext()))
        lines, cites = [f"# {title}", ""], []
        body = root.find("body")
        for each in body.iter("title", "p") if body is not None else ():
            if any(parent.tag in ("fig", "table-wrap", "p", "supplementary-material", "caption")
                   for parent in each.iterancestors()):  # fmt: skip
                continue
            if each.tag == "title":
                lines += [f"## {fold(''.join(each.itertext()))}", ""]
                continue
            text = _RUN.sub(lambda match: _gap(match[0], known, cites, path.stem), _marked(each))
            lines += [re.sub(r"\s+", " ", text).strip(), ""]
        yield Emptied("journals", path.stem, "\n".join(lines), ".md", cites)


def _marked(element: etree._Element) -> str:
    """Return the text of a paragraph with a mark for each citation."""
    pieces = [element.text or ""]
    for child in element:
        if child.tag == "xref" and child.get("ref-type") == "bibr":
            pieces.append(f"\ue000{child.get('rid')}\ue001")
        elif child.tag not in ("fig", "table-wrap", "disp-formula", "inline-formula", "tex-math"):
            pieces.append(_marked(child) if isinstance(child.tag, str) else "")
        pieces.append(child.tail or "")
    text = "".join(pieces)
    return text.replace("@", " at ").replace("[", "(").replace("]", ")") if element.tag == "p" else text


def _gap(run: str, known: dict[str, int], cites: list[frozenset[str]], paper: str) -> str:
    """Return one gap for adjacent citations, and store what they cite, with ranges expanded."""
    found, last, end = list[str](), None, 0
    names = list(known)
    for match in _XREF.finditer(run):
        now = [known[name] for name in match[1].split() if name in known]
        if now and last is not None and re.fullmatch(r"\s*[–—-]\s*", run[end : match.start()]):
            found += names[last + 1 : now[0]]
        found += [names[number] for number in now]
        last, end = (now[-1] if now else last), match.end()
    cites.append(frozenset(f"{paper}#{name}" for name in found))
    return f" {GAP}"


def thesis(folder: Path) -> Iterator[Emptied]:
    """Yield the chapters of a thesis; they cite keys."""
    for path in sorted((folder / "chapters").glob("*.tex")):
        cites: list[frozenset[str]] = []

        def empty(match: re.Match[str]) -> str:
            cites.append(frozenset(key.strip() for key in match[1].split(",")))
            return "\\cite{}"

        text = "\n".join(re.sub(r"(?<!\\)%.*", "", line) for line in path.read_text().split("\n"))
        text = re.sub(r"\\cite\{([^{}]+)\}", empty, text)
        yield Emptied("thesis", path.stem, text, ".tex", cites)


_PLAIN = re.compile(r"[{}%&#_$~^\\]")


_SPECIAL = re.compile(r"[{}%&#_$~^\\]")


def journal_references(folder: Path) -> str:
    """Return the references of the journal papers as BibTeX, with keys ``PMCID#reference``."""
    entries = []
    for path in sorted(folder.glob("*.xml")):
        root = etree.parse(str(path), etree.XMLParser(load_dtd=False, no_network=True)).getroot()
        for ref in root.iter("ref"):
            title = ref.find(".//article-title")
            title = ref.find(".//source") if title is None else title
            if title is None:
                continue
            names = [
                f"{fold(name.findtext('surname') or '')}, {fold(name.findtext('given-names') or '')}"
                for name in ref.iter("name")
            ]
            fields = {
                "title": fold("".join(title.itertext())), "author": " and ".join(names),
                "year": (ref.findtext(".//year") or "")[:4],
                "journal": fold(ref.findtext(".//source") or ""),
            }  # fmt: skip
            lines = "".join(
                f"  {name} = {{{_SPECIAL.sub(' ', value)}}},\n"
                for name, value in fields.items()
                if value
            )
            entries.append(f"@article{{{path.stem}#{ref.get('id')},\n{lines}}}\n")
    return "\n".join(entries)
