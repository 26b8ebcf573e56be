"""How often ``citebed fill`` suggests the paper that an author cited: ``bench/fill.py WORK``.

Drafts are made by emptying every citation of papers that no model was trained on: a thesis in
LaTeX, the 50 citing papers of ACM-CR, and journal papers with their JATS. WORK is a folder for the
collections, which are made when they are missing; ACM-CR takes some minutes. The right papers of a
gap are those that its author cited there; gaps that cite nothing in the collection do not count.

The second table shows ``--find-gaps``: which sentences cite, for papers of a field that the model
did not learn from. ``--train`` learns from both fields and writes the model. ``--write`` puts the
tables into docs/fill.md.

    python bench/fill.py work/ --write
    python bench/fill.py work/ --only compile    # LaTeX accepts what citebed writes
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from lxml import etree
from scipy.optimize import minimize

import citebed
from citebed.collection import load_profile, read_exclusions
from citebed.drafts import Draft, read_draft
from citebed.retrieval.recommend.recommender import Recommender
from citebed.text.markers import markers
from citebed.text.normalise import fold
from citebed.writing import claims
from citebed.writing.fill import FillOptions, fill_draft
from citebed.writing.gaps import find_gaps
from common import shared_data, write_between
from fields import interval

MODEL = Path(claims.__file__).with_name("claims.json")
DEPTHS = (1, 3, 5, 10)

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
                if numbers and {number for own in named for number in own} == set(numbers):
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
            text = _RUN.sub(lambda match: _gap(match[0], known, cites, path.stem), _marked(each))  # noqa: B023
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
    return (
        text.replace("@", " at ").replace("[", "(").replace("]", ")")
        if element.tag == "p"
        else text
    )


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
            cites.append(  # noqa: B023 - called at once
                frozenset(key.strip() for key in match[1].split(","))
            )
            return "\\cite{}"

        text = "\n".join(re.sub(r"(?<!\\)%.*", "", line) for line in path.read_text().split("\n"))
        text = re.sub(r"\\cite\{([^{}]+)\}", empty, text)
        yield Emptied("thesis", path.stem, text, ".tex", cites)


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
                ", ".join(fold(name.findtext(part) or "") for part in ("surname", "given-names"))
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


# --- Suggestions ----------------------------------------------------------------------------------


def collections(work: Path, data: Path) -> dict[str, Path]:
    """Return the collections by name, and make those that are missing."""
    work.mkdir(parents=True, exist_ok=True)
    acm = data / "acm-cr" / "acm-dl.tar.xz"
    bibs = sorted((data / "theses" / "153957").glob("articles/*/*.bib"))
    listed = work / "journals.bib"
    listed.write_text(journal_references(data / "journals"))
    sources = {"thesis": bibs, "journals": [listed], "acm": [acm], "thesis and acm": [*bibs, acm]}
    excluded = read_exclusions(data / "acm-cr" / "blacklist.txt")
    rules = {"rules": load_profile("acm-cr").with_options(exclude=excluded)}
    for name, paths in sources.items():
        if not (work / name / "index").is_dir():
            citebed.create(work / name, paths, **(rules if acm in paths else {})).index(quiet=True)
    return {name: work / name for name in sources}


def places(drafts: Iterable[Emptied], collection: Path, bib: Sequence[Path]) -> list[tuple]:
    """Return for each gap: the paper, and the rank of the first right suggestion with the sentence
    alone, and with its context."""
    recommender = Recommender(collection, warm=True)
    table = recommender.collection.documents.select("doc_id", "cite_key", "doi", "keys")
    ids: dict[str, str] = {}
    for row in table.iter_rows(named=True):
        for name in (row["doc_id"], row["cite_key"], row["doi"], *(row["keys"] or ())):
            ids.setdefault(name or "", row["doc_id"])
    found = []
    for draft in drafts:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{draft.name}{draft.ending}"
            path.write_text(draft.text)
            filling = fill_draft(path, recommender, FillOptions(k=max(DEPTHS), bib=tuple(bib)))
        gaps = [gap for gap in filling.gaps if gap.written in ("[@]", "@", "")]
        for gap, cites in zip(gaps, draft.cites, strict=True):
            right = {ids[name] for name in cites if name in ids}
            if not right:
                continue
            context = [each.doc_id for each in filling.suggestions(gap)]
            try:
                plain = recommender.recommend(gap.text, max(DEPTHS), min_probability=0)
                alone = [each.doc_id for each in plain]
            except citebed.CitebedError:
                alone = []
            ranks = (
                next((at for at, name in enumerate(names, 1) if name in right), 999)
                for names in (alone, context)
            )
            found.append((draft.name, *ranks))
    return found


def suggestion_rows(work: Path, data: Path) -> list[str]:
    """Return the table of suggestions."""
    own = collections(work, data)
    thesis_folder = data / "theses" / "153957"
    bibs = sorted(thesis_folder.glob("articles/*/*.bib"))
    cases = {
        "thesis, its .bib files as library": (thesis(thesis_folder), own["thesis"], ()),
        "thesis, .bib files inside ACM-CR": (thesis(thesis_folder), own["thesis and acm"], ()),
        "the same, with --bib": (thesis(thesis_folder), own["thesis and acm"], bibs),
        "17 journal papers, all their references": (
            journals(data / "journals"), own["journals"], ()
        ),
        "50 citing papers of ACM-CR": (acm_cr(data / "acm-cr" / "papers"), own["acm"], ()),
    }  # fmt: skip
    lines = [
        "| | gaps | asked with | first 1 | first 3 | first 5 | first 10 |",
        "| :-- | --: | :-- | --: | --: | --: | --: |",
    ]
    for name, (drafts, folder, bib) in cases.items():
        found = places(drafts, folder, bib)
        papers = [row[0] for row in found]
        for at, label in ((1, "sentence"), (2, "and its context")):
            ranks = np.array([row[at] for row in found])
            cells = []
            for depth in DEPTHS:
                hits = (ranks <= depth).astype(float)
                low, high = interval(hits, papers)
                cells.append(f"{hits.mean():.2f} [{low:.2f}, {high:.2f}]")
            size = f"{len(found):,}" if at == 1 else ""
            lines.append(f"| {name if at == 1 else ''} | {size} | {label} | {' | '.join(cells)} |")
    return lines


# --- Sentences that lack a citation ---------------------------------------------------------------


class Sentences(NamedTuple):
    """The features of sentences, whether they cite, the first words of each, and its paper."""

    table: np.ndarray
    cites: np.ndarray
    starts: list[str]
    papers: list[str]


def read_sentences(drafts: Iterable[Draft]) -> Sentences:
    """Return the sentences of papers; a placeholder counts as a citation."""
    tables, cites, starts, papers = [], [], [], []
    for number, draft in enumerate(drafts):
        sentences, table = claims.claim_features(draft)
        tables.append(table)
        cites += [claims.cites(*each) for each in sentences]
        starts += [passage.sentences[at][:3] for passage, at in sentences]
        papers += [str(number)] * len(sentences)
    return Sentences(np.vstack(tables), np.array(cites, float), starts, papers)


def read_emptied(drafts: Iterable[Emptied]) -> Iterator[Draft]:
    """Yield drafts with placeholders for their citations."""
    for draft in drafts:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{draft.name}{draft.ending}"
            path.write_text(draft.text)
            yield find_gaps(path).draft


def learn(parts: Sequence[Sentences], penalty: float = 30.0) -> tuple[np.ndarray, float]:
    """Return weights and constant of a logistic regression with a ridge penalty."""
    table = np.vstack([part.table for part in parts])
    cites = np.concatenate([part.cites for part in parts])
    mean, spread = table.mean(0), table.std(0) + 1e-9
    scaled = np.c_[(table - mean) / spread, np.ones(len(table))]

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        odds = scaled @ weights
        own = np.r_[weights[:-1], 0]
        value = np.logaddexp(0, odds).sum() - cites @ odds + penalty * own @ own / 2
        return value, scaled.T @ (1 / (1 + np.exp(-odds)) - cites) + penalty * own

    fitted = minimize(loss, np.zeros(scaled.shape[1]), jac=True, method="L-BFGS-B").x
    weights = fitted[:-1] / spread
    return weights, float(fitted[-1] - weights @ mean)


def learn_both(parts: Sequence[Sentences]) -> list[tuple[np.ndarray, float]]:
    """Return the models for drafts with some citations, and without any."""
    size = len(claims.FEATURES) - len(claims.AROUND)
    models = [learn(parts), learn([part._replace(table=part.table[:, :size]) for part in parts])]
    none = np.zeros(len(claims.AROUND))
    return [models[0], (np.concatenate([models[1][0], none]), models[1][1])]


def claim_rows(sets: dict[str, Sentences], tested: Sequence[str]) -> list[str]:
    """Return the table of ``--find-gaps``: learned from other fields than the tested one."""
    lines = [
        "| tested on | sentences that cite | rule | precision | recall | F1 |",
        "| :-- | --: | :-- | --: | --: | --: |",
    ]
    for test in tested:
        part = sets[test]
        field = test.partition(",")[0]
        others = [name for name in sets if not name.startswith((field, "thesis"))]
        likely, alone = (
            1 / (1 + np.exp(-(part.table @ weights + constant)))
            for weights, constant in learn_both([sets[name] for name in others])
        )
        rules = {
            'does not begin with "We"': np.array([start != "We " for start in part.starts]),
            **{f"probability ≥ {least}": likely >= least for least in (0.2, 0.3, 0.4, 0.5)},
            "draft without citations: probability ≥ 0.2": alone >= 0.2,
            "draft without citations: probability ≥ 0.3": alone >= 0.3,
        }
        rng = np.random.default_rng(1)
        papers = np.array(part.papers)
        rows = [np.flatnonzero(papers == name) for name in dict.fromkeys(part.papers)]
        draws = [np.concatenate([rows[at] for at in rng.integers(len(rows), size=len(rows))])
                 for _ in range(500)]  # fmt: skip
        for at, (rule, chosen) in enumerate(rules.items()):
            right = part.cites[chosen].sum()
            precision = f"{right / chosen.sum():.2f}" if chosen.any() else "–"
            f1 = 2 * right / (chosen.sum() + part.cites.sum())
            spread = [
                2 * (part.cites * chosen)[d].sum() / max(1, (part.cites + chosen)[d].sum())
                for d in draws
            ]
            low, high = np.quantile(spread, (0.025, 0.975))
            about = f"{test} | {part.cites.sum():,.0f} of {len(part.cites):,}" if at == 0 else " | "
            found = f"{precision} | {right / part.cites.sum():.2f} | {f1:.2f}"
            lines.append(f"| {about} | {rule} | {found} [{low:.2f}, {high:.2f}] |")
    return lines


# --- LaTeX ----------------------------------------------------------------------------------------

_MAIN = r"""\documentclass{book}
\usepackage{graphicx,amsmath,amssymb,booktabs,xcolor,multirow,natbib,subcaption,comment,hyperref,cleveref}
\usepackage{siunitx}[=v2]\DeclareSIUnit\parsec{pc}\DeclareSIUnit\byte{B}\DeclareSIUnit\year{yr}
\DeclareSIUnit\Pmump{muon}
\renewcommand{\includegraphics}[2][]{}\renewcommand{\input}[1]{}
\excludecomment{minted}\DeclareUnicodeCharacter{03B3}{$\gamma$}
%s\begin{document}
%s
\bibliographystyle{plainnat}
\bibliography{%s}
\end{document}
"""


def compile_latex(folder: Path, macros: set[str]) -> str:
    """Compile a thesis with a small main file, and return its pages, errors and missing keys. The
    author's macros are not in the data; they are found in the log and print nothing."""
    chapters = sorted(folder.glob("chapters/*.tex"))
    bibs = (str(each.relative_to(folder))[:-4] for each in sorted(folder.glob("articles/*/*.bib")))
    parts = "\n".join(f"\\include{{chapters/{path.stem}}}" for path in chapters), ",".join(bibs)
    undefined = re.compile(r"Undefined control sequence\.\n(?:<[^>]*> )?.*?\\([A-Za-z]+) ?\n")
    latex = ["pdflatex", "-interaction=nonstopmode", "main.tex"]
    while True:
        defined = "".join(f"\\providecommand{{\\{name}}}{{}}\n" for name in sorted(macros))
        (folder / "main.tex").write_text(_MAIN % (defined, *parts))
        subprocess.run(latex, cwd=folder, capture_output=True, check=False)
        new = {match[1] for match in undefined.finditer((folder / "main.log").read_text("latin-1"))}
        if new <= macros:
            break
        macros |= new
    for command in (["bibtex", "main"], latex, latex):
        subprocess.run(command, cwd=folder, capture_output=True, check=False)
    log = (folder / "main.log").read_text("latin-1")
    pages = re.search(r"\((\d+) pages", log)
    errors, missing = len(re.findall("^!", log, re.M)), set(re.findall("Citation `([^']*)'", log))
    return f"{pages[1] if pages else 0} pages, {errors} errors, {len(missing)} undefined citations"


def compile_rows(work: Path, data: Path) -> list[str]:
    """Return what LaTeX says about the thesis as it is, emptied, and filled by citebed."""
    if shutil.which("pdflatex") is None:
        return ["not run: pdflatex is not installed"]
    source, macros = data / "theses" / "153957", set[str]()
    own = collections(work, data)["thesis"]
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name) / each for each in ("original", "emptied", "filled")]
        for folder in folders:
            shutil.copytree(source, folder)
        for draft in thesis(source):
            (folders[1] / "chapters" / f"{draft.name}.tex").write_text(draft.text)
        lines = [f"original: {compile_latex(folders[0], macros)}"]
        lines += [f"emptied: {compile_latex(folders[1], macros)}"]
        filling = fill_draft(folders[1] / "main.tex", Recommender(own, warm=True))
        filled = filling.accept_first()
        filling.write(folders[2] / "new")
        shutil.copytree(folders[2] / "new", folders[2], dirs_exist_ok=True)
        lines += [
            f"{filled} of {len(filling.gaps)} gaps filled: {compile_latex(folders[2], macros)}"
        ]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("work", type=Path)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/fill.md")
    parser.add_argument("--train", action="store_true", help="write the model of --find-gaps")
    parser.add_argument("--only", choices=("suggestions", "claims", "compile"))
    given = parser.parse_args()
    data = shared_data("acm-cr").parent
    tables = {}
    if given.only == "compile":
        print(*compile_rows(given.work, data), sep="\n")
    if given.only in (None, "claims"):
        pdfs = sorted((data / "acm-cr" / "pdf").glob("*.pdf"))
        names = {path.stem for path in pdfs}
        rest = (each for each in acm_cr(data / "acm-cr" / "papers") if each.name not in names)
        with tarfile.open(data / "formats" / "real-jats.tar.xz") as archive:
            archive.extractall(given.work / "jats", filter="data")
        jats = [*journals(data / "journals"), *journals(given.work / "jats" / "real-jats")]
        sets = {
            "computer science, 14 papers": read_sentences(map(read_draft, pdfs)),
            "computer science, citing paragraphs of 36 papers": read_sentences(read_emptied(rest)),
            "life sciences, 25 papers": read_sentences(
                read_emptied(each for each in jats if each.cites)
            ),
            "thesis in physics": read_sentences(read_emptied(thesis(data / "theses" / "153957"))),
        }
        tested = [name for name in sets if "paragraphs" not in name]
        tables["claims"] = claim_rows(sets, tested)
        if given.train:
            learned = [part for name, part in sets.items() if not name.startswith("thesis")]
            about = "bench/fill.py --train, from 50 papers of ACM-CR and 25 of life sciences"
            values: dict[str, object] = {"about": about}
            both = zip(("some citations", "no citations"), learn_both(learned), strict=True)
            for name, (weights, constant) in both:
                named = dict(zip(claims.FEATURES, weights.round(4).tolist(), strict=True))
                values[name] = {"constant": round(constant, 4), "weights": named}
            lines = (f"{json.dumps(name)}: {json.dumps(value)}" for name, value in values.items())
            MODEL.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    if given.only in (None, "suggestions"):
        tables["suggestions"] = suggestion_rows(given.work, data)
    for name, lines in tables.items():
        print(f"\n{name}\n", *lines, sep="\n")
        if given.write:
            write_between("fill.md", name, "\n".join(lines))


if __name__ == "__main__":
    main()
