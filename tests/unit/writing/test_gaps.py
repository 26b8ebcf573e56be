"""Gaps of drafts: where they are, and that filling them changes nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citebed.drafts import parse_draft
from citebed.errors import CitebedError
from citebed.writing.claims import claim_features, find_claims
from citebed.writing.gaps import Gaps, fill_spans, find_gaps


def gaps_in(folder: Path, text: str, ending: str) -> Gaps:
    path = folder / f"draft{ending}"
    path.write_bytes(text.encode())
    return find_gaps(path)


def filled(gaps: Gaps, *keys: str) -> str:
    (data,) = gaps.files.values()
    spans = {gap.span: list(keys) for gap in gaps if gap.span is not None}
    return fill_spans(data, spans, gaps.form).decode()


@pytest.mark.parametrize(
    ("ending", "before", "after"),
    [
        (".tex", r"Oaks grow \cite{}.", r"Oaks grow \cite{a,b}."),
        (".tex", r"Oaks grow \citep[see][p.~3]{?}.", r"Oaks grow \citep[see][p.~3]{a,b}."),
        (".tex", r"Oaks grow \cite{x, TODO, y}.", r"Oaks grow \cite{x, a,b, y}."),
        (".tex", r"Elms \parencite{x}, oaks [?].", r"Elms \parencite{x}, oaks \parencite{a,b}."),
        (".tex", r"Oaks grow \todo{cite Lee 2001}.", r"Oaks grow \cite{a,b}."),
        (".md", "Oaks grow [@].", "Oaks grow [@a; @b]."),
        (".md", "Oaks grow [see @x; @?, p. 3].", "Oaks grow [see @x; @a; @b, p. 3]."),
        (".md", "Oaks grow [citation needed].", "Oaks grow [@a; @b]."),
        (".md", "Oaks grow {cite:p}`?`.", "Oaks grow {cite:p}`a,b`."),
        (".typ", "Oaks grow #cite(<TODO>).", "Oaks grow #cite(<a>) #cite(<b>)."),
        (".typ", "Oaks grow @TODO.", "Oaks grow @a @b."),
        (".rst", "Oaks grow :cite:`?`.", "Oaks grow :cite:`a,b`."),
        (".rst", "Oaks grow [TODO]_.", "Oaks grow :cite:`a,b`."),
        (".txt", "Oaks grow [?] here.", "Oaks grow [@a; @b] here."),
    ],
)  # fmt: skip
def test_keys_replace_the_placeholder_of_each_format(
    tmp_path: Path, ending: str, before: str, after: str
) -> None:
    gaps = gaps_in(tmp_path, before, ending)
    assert len(gaps) == 1
    assert filled(gaps, "a", "b") == after


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        (".tex", "Oaks grow \\cite{oak}. % \\cite{} later"),
        (".tex", "Oaks grow.\n\\begin{verbatim}\n\\cite{}\n\\end{verbatim}\n"),
        (".tex", r"Oaks grow \nocite{}, \item[?] in \includegraphics[ref]{oak}."),
        (
            ".md",
            "Oaks grow in `code [?]` and [text](ref), [text][ref].\n\n[ref]: http://example.org",
        ),
        (".typ", "Oaks grow #emph[?]. // @TODO"),
    ],
)
def test_comments_code_and_options_contain_no_gaps(tmp_path: Path, ending: str, text: str) -> None:
    assert len(gaps_in(tmp_path, text, ending)) == 0


def test_a_gap_knows_its_sentence_place_and_hint(tmp_path: Path) -> None:
    text = "Elms grow. Größe zählt, as oaks show [CITE: Smith 2019], and elms [?].\n"
    first, second = gaps_in(tmp_path, text, ".md")
    assert (first.line, first.column, first.hint) == (1, 38, "Smith 2019")
    assert first.text == second.text == "Größe zählt, as oaks show, and elms."
    assert second.passage == first.passage
    assert (first.lead, second.lead) == ("Größe zählt as oaks show", "and elms")


def test_gaps_of_included_files_are_filled_there(tmp_path: Path) -> None:
    (tmp_path / "part.tex").write_bytes("Größe \\cite{}.\r\nNext [?].\r\n".encode("cp1252"))
    (tmp_path / "main.tex").write_text("\\newcommand{\\need}{[?]}\nOaks \\need{}. \\input{part}\n")
    gaps = find_gaps(tmp_path / "main.tex")
    assert [Path(gap.file).name for gap in gaps] == ["main.tex", "part.tex", "part.tex"]
    part = tmp_path / "part.tex"
    spans = {gap.span: ["a"] for gap in gaps if gap.path == part and gap.span is not None}
    expected = "Größe \\cite{a}.\r\nNext \\cite{a}.\r\n".encode("cp1252")
    assert fill_spans(gaps.files[part], spans, gaps.form) == expected


@pytest.mark.parametrize(
    ("main", "chapter", "expected"),
    [
        ("\\usepackage{natbib}", "Elms [?].", "Elms \\citep{a}."),
        ("\\usepackage[style=apa]{biblatex}", "Elms [?].", "Elms \\autocite{a}."),
        ("Oaks \\parencite{oak}.", "Elms [?].", "Elms \\parencite{a}."),
        ("Oaks \\parencite{oak}.", "\\citep{oak} \\cite{} \\cite{} [?].",
         "\\citep{oak} \\cite{a} \\cite{a} \\citep{a}."),
        ("", "\\citet{oak} and [?].", "\\citet{oak} and \\citep{a}."),
        ("", "Elms [?].", "Elms \\cite{a}."),
    ],
)  # fmt: skip
def test_a_chapter_is_filled_with_the_command_that_the_draft_uses(
    tmp_path: Path, main: str, chapter: str, expected: str
) -> None:
    (tmp_path / "part.tex").write_text(chapter)
    (tmp_path / "main.tex").write_text(
        f"{main}\n\\begin{{document}}\\input{{part}}\\end{{document}}"
    )
    gaps = find_gaps(tmp_path / "main.tex")
    spans = {gap.span: ["a"] for gap in gaps if gap.span is not None}
    assert fill_spans(gaps.files[tmp_path / "part.tex"], spans, "tex").decode() == expected


def test_notebooks_stay_valid_json(tmp_path: Path) -> None:
    cell = '{"cell_type": "markdown", "metadata": {}, "source": ["Oaks \\\\cite{}, elms [?].\\n"]}'
    text = f'{{"cells": [{cell}], "metadata": {{}}, "nbformat": 4, "nbformat_minor": 5}}'
    gaps = gaps_in(tmp_path, text, ".ipynb")
    assert [gap.file.rpartition("#")[2] for gap in gaps] == ["cell-1", "cell-1"]
    expected = text.replace("\\\\cite{}", "\\\\cite{a}").replace("[?]", "\\\\cite{a}")
    assert filled(gaps, "a") == expected


WORDS = st.sampled_from(
    ["oaks", "grow.", "\n\n", "\\cite{}", "\\cite{x,?}", "[?]", "% no [?]\n", "{", "}", "$x$", "é",
     "\\textbf{[citation needed]}", "\\section{A}", "\\cite{y}", "TODO cite", "[@?]", "\\", "[]"]
)  # fmt: skip


@given(st.lists(WORDS, max_size=25), st.sampled_from([".tex", ".md", ".typ", ".rst", ".txt"]))
def test_only_placeholders_change(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], ending: str
) -> None:
    """Putting the placeholders back gives the original bytes, and the gaps are filled."""
    text = " ".join(["Start", *words])
    gaps = gaps_in(tmp_path_factory.mktemp("d"), text, ending)
    (data,) = gaps.files.values()
    spans = sorted(gap.span for gap in gaps if gap.span is not None)
    kept = [
        data[a:b]
        for a, b in zip(
            [0, *(s.end for s in spans)], [*(s.start for s in spans), len(data)], strict=True
        )
    ]
    new = fill_spans(data, {span: ["KEY"] for span in spans}, gaps.form)
    assert [span.written.encode("latin-1") for span in spans] == [
        data[s.start : s.end] for s in spans
    ]
    for piece in kept:
        at = new.find(piece)
        assert at >= 0
        new = new[at + len(piece) :]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.tex", b"\x89PNG\r\n\x1a\n\0\0\0", "image"),
        ("a.tex", "Oaks [?].".encode("utf-16"), "UTF-16"),
        ("a.pdf", b"%PDF-1.7\n", "PDF"),
        ("a.docx", b"PK\x03\x04broken", "damaged"),
        ("a.tex", b"", "no text"),
    ],
)
def test_bad_files_get_a_clear_error(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(CitebedError, match=message):
        find_gaps(tmp_path / name)


def test_include_loops_end(tmp_path: Path) -> None:
    (tmp_path / "a.tex").write_text("Oaks [?]. \\input{b}")
    (tmp_path / "b.tex").write_text("Elms [?]. \\input{a}")
    assert len(find_gaps(tmp_path / "a.tex")) == 2


def test_unsaved_text_counts(tmp_path: Path) -> None:
    gaps = find_gaps(tmp_path / "new.md", text="Oaks grow [@].")
    assert [gap.written for gap in gaps] == ["[@]"]


def test_claims_are_filled_before_the_full_stop(tmp_path: Path) -> None:
    text = (
        "\\section{Introduction}\nRecent studies by Smith and Jones have shown that "
        "\\emph{BERT} outperforms BM25 on TREC collections.\n\nWe thank them.\n"
    )
    (tmp_path / "d.tex").write_text(text)
    (gap,) = [
        g for g in find_gaps(tmp_path / "d.tex", claims=True, min_probability=0) if "BERT" in g.text
    ]
    assert gap.kind == "claim"
    assert gap.span is not None
    assert gap.probability is not None
    new = fill_spans(text.encode(), {gap.span: ["key"]}, "tex").decode()
    assert new == text.replace("collections.", "collections~\\cite{key}.")


SENTENCE = "Large oaks were found to store more water than small oaks in dry summers."


def test_claims_beside_citations_are_more_likely() -> None:
    def probability(before: str, after: str) -> float:
        text = f"# Background\n\n{before} {SENTENCE} {after}\n\nElms are tall trees [@e].\n"
        found = find_claims(parse_draft(text, "markdown"), 0)
        return next(each for passage, at, each in found if passage.sentences[at] == SENTENCE)

    plain, cited = "Pines burn in dry summers.", "Pines burn in dry summers [@a]."
    both, one, none = (
        probability(cited, cited),
        probability(cited, plain),
        probability(plain, plain),
    )
    assert both > one > none


def test_only_what_other_sentences_cite_counts() -> None:
    """A sentence has the same features whether it cites or not."""
    text = f"# Background\n\n{SENTENCE[:-1]}{{}}. Elms are tall trees of the city [@e].\n"
    rows = [claim_features(parse_draft(text.format(c), "markdown"))[1][0] for c in ("", " [@a]")]
    assert rows[0].tolist() == rows[1].tolist()


def test_a_draft_without_citations_has_claims() -> None:
    draft = parse_draft(f"# Introduction\n\nRecent studies have shown growth. {SENTENCE}\n")
    assert find_claims(draft, 0)
    assert not find_claims(draft, 1)
    with pytest.raises(CitebedError, match="'de'"):
        find_claims(parse_draft("Die Eichen wachsen langsam und werden sehr alt. " * 5))


def test_a_file_of_placeholders_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CitebedError, match="more than 10,000 placeholders"):
        find_gaps(tmp_path / "d.md", text="Oaks [?]. " * 10_001)
