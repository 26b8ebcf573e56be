"""LaTeX drafts: what is prose, what is cited, and what is neither."""

from __future__ import annotations

from pathlib import Path

import pytest

from citebed.drafts import Draft, parse_draft, read_draft

PAPER = r"""\documentclass[sigconf]{acmart}
\usepackage{natbib} % \cite{commented}
\newcommand{\tool}{\textsc{Finder}\xspace}
\newcommand{\pair}[2][left]{#1 and #2}
\def\method#1{the #1 method}
\title[Short]{Finding What to Cite with \tool{}\thanks{Paid by nobody.}}
\author{Ada M\"uller\thanks{x} \and Bob O'Neill\\ University of Somewhere \and {\'E}mile Zo\"e}
\begin{document}
\maketitle
\begin{abstract}
We present \tool, which recommends pa-
pers. It is \emph{quick}.
\end{abstract}

\section{Introduction}\label{sec:intro}
Recommending citations~\cite{smith2019, jones2020} is old.  Nearest files ($k$-NN) work well
\citep[see][p.~3]{lee2018}.\footnote{A critique is elsewhere \citep{critic2001}.} We use
\method{kernel}. % not \cite{this}
The \pair{right} hand is 50\% off.

\begin{equation}
  E = mc^2 \text{ after \cite{einstein1905}}
\end{equation}
\begin{figure}[t]
  \centering

  \includegraphics[width=\linewidth]{figure.pdf}
  \caption{The parts of \tool\ \citep{parts2017}.}
\end{figure}
\begin{itemize}
\item Language models rank \parencites(cf.)()[1]{ponte1998}[2]{zhai2001}.
\item[BM25] is a model.\nocite{silent2000}
\end{itemize}
\begin{verbatim}
\cite{verbatim} { {
\end{verbatim}
\end{document}
Nothing here counts \cite{after}.
"""


@pytest.fixture(scope="module")
def paper() -> Draft:
    return parse_draft(PAPER, "tex")


def test_title_and_authors_come_from_the_preamble(paper: Draft) -> None:
    assert paper.title == "Finding What to Cite with Finder"
    assert paper.authors == ("Ada Müller", "Bob O'Neill", "Émile Zoë")


def test_passages_are_the_prose_and_nothing_else(paper: Draft) -> None:
    assert [passage.text for passage in paper.passages] == [
        "We present Finder, which recommends papers. It is quick.",
        "Recommending citations is old. Nearest files (k-NN) work well. We use the kernel "
        "method. The left and right hand is 50% off.",
        "A critique is elsewhere.",
        "The parts of Finder.",
        "Language models rank.",
        "BM25 is a model.",
    ]


def test_passages_know_their_place(paper: Draft) -> None:
    assert [(passage.number, passage.line, passage.section) for passage in paper.passages] == [
        (1, 11, "Abstract"), (2, 16, "Introduction"), (3, 17, "Introduction"),
        (4, 28, "Introduction"), (5, 31, "Introduction"), (6, 32, "Introduction"),
    ]  # fmt: skip


def test_each_sentence_has_its_citations(paper: Draft) -> None:
    introduction = paper.passages[1]
    assert introduction.cites == ("smith2019", "jones2020", "lee2018")
    assert introduction.sentences[:2] == (
        "Recommending citations is old.",
        "Nearest files (k-NN) work well.",
    )
    assert introduction.sentence_cites == (("smith2019", "jones2020"), ("lee2018",), (), ())


def test_cited_are_all_keys_but_those_in_comments_and_code(paper: Draft) -> None:
    assert set(paper.cited.keys) == {
        *("smith2019", "jones2020", "lee2018", "critic2001", "einstein1905", "parts2017"),
        *("ponte1998", "zhai2001", "silent2000"),
    }
    assert paper.notes == ()


@pytest.mark.parametrize(
    ("command", "keys"),
    [
        (r"\cite{a}", ("a",)),
        (r"\cite{a,b , c}", ("a", "b", "c")),
        (r"\cite [p.~3] {a}", ("a",)),
        (r"\citep[see][p.~3]{a,b}", ("a", "b")),
        (r"\citet*{a}", ("a",)),
        (r"\Citeauthor{a}", ("a",)),
        (r"\citeyearpar{a}", ("a",)),
        (r"\autocite{a}", ("a",)),
        (r"\parencite*[3]{a}", ("a",)),
        (r"\Textcite{a}", ("a",)),
        (r"\footcite[{[sic]}]{a}", ("a",)),
        (r"\supercite{a}", ("a",)),
        (r"\newcite{a}", ("a",)),
        (r"\citeA<see>{a}", ("a",)),
        (r"\cites(see)(p. 3)[1]{a}[2][3]{b}{c}", ("a", "b", "c")),
        ("\\cite{a,\n  b,% why\n  c}", ("a", "b", "c")),
        ("\\cite{a, % not x, y\n  b}", ("a", "b")),
        (r"\cite{DBLP:conf/nips/X+20}", ("DBLP:conf/nips/X+20",)),
    ],
)
def test_citation_commands(command: str, keys: tuple[str, ...]) -> None:
    draft = parse_draft(f"Some words {command} here.", "tex")
    assert draft.cited.keys == keys
    assert [passage.text for passage in draft.passages] == ["Some words here."]
    assert draft.passages[0].cites == keys


@pytest.mark.parametrize(
    ("author", "names"),
    [
        ("Ada One \\and Bob Two", ("Ada One", "Bob Two")),
        ("Ada One, Bob Two and Cy Three", ("Ada One", "Bob Two", "Cy Three")),
        (r"Ada One$^{1}$\thanks{x} \\ Some Place \\ \texttt{a@b.c} \\\And Bob Two \\ Elsewhere",
         ("Ada One", "Bob Two")),
        (r"\begin{tabular}{@{}c@{\hspace{4em}}c@{}}Ada One & Bob Two \\ Here & There \end{tabular}",
         ("Ada One", "Bob Two")),
    ],
)  # fmt: skip
def test_authors(author: str, names: tuple[str, ...]) -> None:
    assert parse_draft(rf"\author{{{author}}} Words.", "tex").authors == names


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (r"\textbf{Bold} and {\em soft} and \underline{\emph{both}}.", "Bold and soft and both."),
        (r"Erd\H{o}s, Stra\ss e, na\"ive, \o{}re.", "Erdős, Straße, naïve, øre."),
        (r"``Quoted''---so -- said.", "“Quoted”—so – said."),
        ("One%\n  word and\n% a comment\nmore.", "Oneword and more."),
        (r"A \textcolor{red}{red} word and \href{http://a.b}{a link}.", "A red word and a link."),
        (r"See Section~\ref{x} and \url{http://a.b/c_d} there.", "See Section and there."),
        (r"An $F_1$ of $\alpha$.", "An F_1 of α."),
        (r"Long $\sum_{i=1}^n x_i y_i = \int f(x) dx$ gone.", "Long gone."),
        (r"Both \(k\)-NN and \[ E = mc^2 \] here.", "Both k-NN and here."),
        ("It is $$x = y$$ so.", "It is so."),
        (r"Code \verb|\cite{x}| and \lstinline{y} go.", "Code and go."),
        (r"\paragraph{Data.} We use it.", "Data. We use it."),
        (r"An \unknown[option]{argument} stays.", "An argument stays."),
        (r"50\% of R\&D costs \$5.", "50% of R&D costs $5."),
        (r"\large Large\\[2pt] text\,.", "Large text."),
        (r"\iffalse Hidden \cite{h}. \fi Shown.", "Shown."),
        (r"The infor-" + "\nmation is here.", "The information is here."),
        (r"A \textbackslash cite word.", "A cite word."),
    ],
)
def test_prose(tex: str, text: str) -> None:
    draft = parse_draft(tex, "tex")
    assert [passage.text for passage in draft.passages] == [text]


def test_paragraphs_end_at_blank_lines_also_after_a_comment() -> None:
    draft = parse_draft("One. % why\n\nTwo\n%\nalso two. \\par Three.", "tex")
    assert [passage.text for passage in draft.passages] == ["One.", "Two also two.", "Three."]
    assert [passage.line for passage in draft.passages] == [1, 3, 5]


@pytest.mark.parametrize(
    ("tex", "text", "note"),
    [
        (r"A \emph{word and {more.", "A word and more.", None),
        ("A } word }.", "A word.", None),
        (r"A \footnote{note and more.", "A note and more.", r"\footnote has an unclosed brace"),
        (r"One \begin{equation} x = 1 and words.", "x = 1 and words.", "without \\end"),
        (r"It costs $5 and \cite{a} more.", "It costs 5 and more.", "line 1: a $"),
        (r"A \cite{\cite{b}} c.", "A c.", r"\cite without keys"),
        (r"Words \end{nothing} go on.", "Words go on.", None),
    ],
)
def test_broken_latex_is_read_as_text(tex: str, text: str, note: str | None) -> None:
    draft = parse_draft(tex, "tex")
    assert text in " ".join(passage.text for passage in draft.passages)
    assert [found for found in draft.notes if note is None or note not in found] == []
    assert bool(draft.notes) == (note is not None)


def test_what_is_wrong_in_several_places_is_one_note() -> None:
    draft = parse_draft("A \\cite{} $5.\n\nB \\cite{} $5.\n\nC \\cite{} word.\n", "tex")
    assert draft.notes == (
        "\\cite{} has no key yet (lines 1, 3, 5)",
        "a $ without a closing $; read as text (lines 1, 3)",
    )


def test_unknown_commands_are_noted() -> None:
    draft = parse_draft(r"\foo{A} \baz{word} \foo{here}.", "tex")
    assert draft.notes == (
        r"unknown LaTeX commands were ignored and their text was kept: \foo, \baz",
    )


def test_the_list_of_references_is_not_prose() -> None:
    draft = parse_draft(
        r"""A word \cite{k1}.
        \begin{thebibliography}{99}
        \bibitem[Smith(2019)]{k1} J. Sm{\'\i}th. \newblock A Title of Words.

        \newblock 2019. \url{https://doi.org/10.1145/ABC_1}.
        \bibitem{k2} B. Jones. Another. arXiv:2001.01234v2.
        \end{thebibliography}
        After it.""",
        "tex",
    )
    assert [passage.text for passage in draft.passages] == ["A word.", "After it."]
    first, second = draft.cited.entries
    assert (first.key, first.doi) == ("k1", "10.1145/abc_1")
    assert first.text.startswith("J. Smíth. A Title of Words. 2019.")
    assert (second.key, second.arxiv) == ("k2", "2001.01234")
    assert draft.cited.dois == ("10.1145/abc_1",)
    assert draft.cited.arxiv == ("2001.01234",)


def test_included_files_are_read_in_place(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    main = tmp_path / "paper.tex"
    main.write_text("One.\n\\input{parts/two}\nFour.\n\n\\include{gone}\\input{/etc/passwd}Five.")
    (tmp_path / "parts" / "two.tex").write_text(
        "\n\n\\section{Two}\nTwo \\cite{k}.\n\n\\input three"
    )
    (tmp_path / "parts" / "three.tex").write_text("\\input{paper} Three.\n\n")
    draft = read_draft(main)
    assert [(p.text, p.source, p.line) for p in draft.passages] == [
        ("One.", "", 1), ("Two.", "parts/two.tex", 4), ("Three.", "parts/three.tex", 1),
        ("Four.", "", 3), ("Five.", "", 5),
    ]  # fmt: skip
    assert draft.cited.keys == ("k",)
    assert draft.notes == (
        "\\input{paper}: not read again, because it includes itself",
        "not found (\\include{gone}, \\input{/etc/passwd})",
    )


def test_files_that_include_each_other_without_end_are_stopped(tmp_path: Path) -> None:
    for number in range(12):
        following = f"\\input{{f{number + 1}}}" * 4 if number < 11 else "word "
        (tmp_path / f"f{number}.tex").write_text(following)
    draft = read_draft(tmp_path / "f0.tex")
    assert any("more than 1000 files" in note for note in draft.notes)


def test_macros_without_end_are_stopped() -> None:
    draft = parse_draft(r"\newcommand{\x}{\x\x a}\newcommand{\y}{\x\x}\y A word.", "tex")
    assert draft.passages[0].text.endswith("A word.")
    assert any("expand endlessly" in note for note in draft.notes)


def test_text_alone_reads_no_files() -> None:
    draft = parse_draft(r"\input{x} Words. \bibliography{y}", "tex")
    assert draft.bibliography_files == ("y.bib",)
    assert len(draft.notes) == 2
    assert all("did not come from a file" in note for note in draft.notes)
