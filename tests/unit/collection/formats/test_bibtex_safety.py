"""LaTeX commands in strangers' records are printed, not run, in every BibTeX output."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citebed.collection import import_sources, open_collection
from citebed.collection.exporting import export
from citebed.collection.formats.bibtex_writer import (
    escape_commands,
    parse_single_entry,
    unknown_commands,
    write_entry,
)
from citebed.drafts.bibliography import append_new, entry_to_cite
from citebed.records import Document

RUN = (
    *(r"\input{/etc/passwd}", r"\immediate\write18{id}", r"\include{x}", r"\openout3=x"),
    *(r"\csname input\endcsname", r"\directlua{os.exit()}", r"\catcode`\@=11", r"\def\x{y}"),
    *("^^5cinput{x}", r"\begin{filecontents}{x}", r"\verbatiminput{x}", r"\ShellEscape{id}"),
    *(r"\special{x}", r"\read3", r"\expandafter\input", r"\usepackage{x}", r"\InputIfFileExists"),
)
FORGED = (
    '@article{k, title={T}}\n@preamble{"\\input{x}"}\n',
    '@preamble{k, title={T}}',
    '@article{k, title={T}} \\input{x}',
    "@article{k, title={T",
    "\\input{x}",
    "@article{k, title={T}}}\\input{x}",
)  # fmt: skip
KEPT = (
    r"{\"O}ko and {\'e}t{\'e} \ss{} \o re \v{c}\'{\i}",
    r"On $\alpha$-stable $O(n \log n)$, $\frac{1}{2}$ \& $\mathcal{X}^{2}$",
    r"\emph{A} \textit{B} {\sc c} \url{https://a.b/c_d} \href{x}{y}",
    r"\mkbibquote{x} \noopsort{1973a} \apj \textsuperscript{2} \textendash{} \LaTeX",
    r"a \\ b, \{c\}, \_, \%, \$, \#, \- and x^{2}",
)


def bibtex(title: str) -> str:
    return f"@article{{k,\n  title = {{{title}}},\n  author = {{A, B}},\n  year = 2001\n}}"


def document(text: str | None, *, type: str = "article") -> Document:
    return Document("k", type=type, title="T", authors=("A, B",), year=2001, bibtex=text)


def is_harmless(text: str) -> bool:
    """Whether TeX would find none of the commands in a text, as it reads: left to right."""
    words = [word for word in re.findall(r"\\([A-Za-z]+)|\\.", text, re.DOTALL) if word]
    wanted = {word for each in RUN for word in re.findall(r"\\([A-Za-z]+)", each)}
    return not wanted.intersection(words) and "^^" not in text


@pytest.mark.parametrize("command", RUN)
def test_what_would_be_run_is_text(command: str, tmp_path: Path) -> None:
    text = bibtex(f"Of {command} things")
    made = document(text)
    path = tmp_path / "mine.bib"
    append_new(path, [("k", made)])
    full = tmp_path / "full.bib"
    append_new(full, [("k", made)], full=True)
    written = (entry_to_cite(made, "k"), path.read_text(), full.read_text())
    assert not is_harmless(text)
    for each in written:
        assert is_harmless(each)
        assert parse_single_entry(each.strip()) is not None
        assert "things" in each
    assert unknown_commands(text)


@pytest.mark.parametrize("forged", FORGED)
@pytest.mark.parametrize("full", [True, False])
def test_a_forged_record_is_one_entry(forged: str, full: bool) -> None:
    for made in (
        document(forged),
        document(forged, type="preamble"),
        document(None, type="string"),
    ):
        each = entry_to_cite(made, "k", full=full)
        found = parse_single_entry(each)
        assert found is not None
        assert found.key == "k"
        assert is_harmless(each)


@pytest.mark.parametrize("latex", KEPT)
def test_what_bibliographies_say_is_kept(latex: str) -> None:
    text = bibtex(latex)
    assert escape_commands(text) == text
    assert not unknown_commands(text)


def test_control_characters_are_left_out() -> None:
    text = bibtex("Red \x1b[31m and \u202eback")
    assert escape_commands(text) == bibtex("Red [31m and back")


@given(st.text(alphabet="\\^a{}inputx5c\n@ ", max_size=40))
def test_nothing_gets_around_it(text: str) -> None:
    once = escape_commands(text)
    assert not unknown_commands(once)
    assert escape_commands(once) == once
    assert once.count("{") - once.count("}") == text.count("{") - text.count("}")


def test_an_export_is_harmless_and_says_so(tmp_path: Path) -> None:
    source = tmp_path / "a.bib"
    entries = (
        bibtex(f"Of {each} things {n}").replace("{k,", f"{{k{n},") for n, each in enumerate(RUN)
    )
    kept = bibtex(KEPT[0]).replace("{k,", "{kept,")
    source.write_text("\n".join([*entries, kept]))
    import_sources(tmp_path / "c", [source])
    said = export(open_collection(tmp_path / "c"), "bibtex", tmp_path / "out.bib")
    text = (tmp_path / "out.bib").read_text()
    assert is_harmless(text)
    assert kept in text
    assert len(re.findall("(?m)^@article", text)) == len(RUN) + 1
    assert any(r"\input" in note and "plain text" in note for note in said.notes)


def test_an_export_of_a_forged_table_is_entries_only(tmp_path: Path) -> None:
    source = tmp_path / "a.bib"
    numbers = range(len(FORGED))
    source.write_text("".join(bibtex(f"T {n}").replace("{k,", f"{{k{n},") for n in numbers))
    import_sources(tmp_path / "c", [source])
    table = pl.read_parquet(tmp_path / "c" / "documents.parquet")
    forged = [each.replace("{k,", f"{{k{n},") for n, each in enumerate(FORGED)]
    changed = table.with_columns(bibtex=pl.Series(forged))
    changed.write_parquet(tmp_path / "c" / "documents.parquet")
    export(open_collection(tmp_path / "c"), "bibtex", tmp_path / "out.bib")
    text = (tmp_path / "out.bib").read_text()
    assert is_harmless(text)
    assert "preamble" not in text
    assert len(re.findall("(?m)^@article", text)) == len(FORGED)


def test_what_is_written_from_fields_is_harmless_too() -> None:
    for command in RUN:
        made = Document("k", type="misc", title=command, venue=command, url=command, doi=command)
        assert is_harmless(write_entry(made))
        assert is_harmless(entry_to_cite(made, "k"))
