"""Texts that need no citations are separated from those that do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from citebed.drafts import parse_draft, pieces
from citebed.drafts.records import STUB

FIGURE = (
    "\\begin{figure}\\caption{The vector space model of retrieval, in two figures.}\\end{figure}"
)
ITEMS = "\\begin{itemize}\\item query expansion\\item Short lists;\\item BM25.\\end{itemize}"


@pytest.mark.parametrize(
    ("form", "text", "silent"),
    [
        ("tex", FIGURE, ["caption"]),
        ("tex", "\\captionof{table}{Scores of the models that we compared.}", ["caption"]),
        ("tex", "\\begin{frame}\\frametitle{Our Model of Relevance}\\end{frame}", []),
        ("tex", ITEMS, [STUB] * 3),
        ("tex", "\\begin{itemize}\\item BM25 is a model of probability.\\end{itemize}", [""]),
        ("tex", "\\paragraph{Data.}\n\nWe use a collection of papers.", [STUB, ""]),
        ("tex", "\\paragraph{Data.} We use a collection of papers.", [""]),
        ("tex", "\\section*{Acknowledgments}\nWe thank all who judged.", ["acknowledgement"]),
        ("tex", "Our contributions are the following:", [STUB]),
        ("tex", "A footnote\\footnote{Others think so.} is prose.", ["", ""]),
        ("markdown", "![The vector space model of retrieval.](space.png){width=50%}", ["caption"]),
        ("markdown", "Table: Scores of the models that we compared.", ["caption"]),
        ("markdown", "**Query expansion**\n\nWords are added to the query.", [STUB, ""]),
        ("markdown", "- fast\n- small memory\n- a model of relevance", [STUB] * 3),
        ("markdown", "- Relevance feedback adds words to the query.", [""]),
        ("markdown", "**Keywords:** query expansion, feedback, models.", ["list of keywords"]),
        ("text", "Figure 3: The parts of the system and how they talk.", ["caption"]),
        ("text", "Figure 3 shows the parts of the system.", [""]),
        ("text", "Experimental Setup\n\nWe use a collection of papers.", [STUB, ""]),
        ("text", "It is\n- fast\n- small and cheap\n- known to all.", [STUB, STUB, STUB, ""]),
        ("text", "文献推薦は、文章に適した論文を見つける研究である。", [""]),
        ("text", "文献推薦", [STUB]),
    ],
)  # fmt: skip
def test_what_is_silent(form: str, text: str, silent: list[str]) -> None:
    draft = parse_draft(text, form)  # type: ignore[arg-type]
    assert [passage.silent for passage in draft.passages] == silent


def test_within_a_whole_text_stubs_ask_and_captions_do_not() -> None:
    (whole,) = pieces(parse_draft(f"Query expansion\n\n{FIGURE}\n\nIt adds words.", "tex"), "text")
    assert (whole.text, whole.silent) == ("Query expansion\n\nIt adds words.", "")
    alone = parse_draft(FIGURE, "tex")
    assert [each.silent for each in pieces(alone, "text")] == [""], "what is typed is meant"
    assert [each.silent for each in pieces(replace(alone, file="a.tex"), "text")] == ["caption"]


def test_sentences_are_silent_with_their_passage() -> None:
    draft = parse_draft(f"{FIGURE}\n\nIt adds words. It is old.", "tex")
    assert [each.silent for each in pieces(draft, "sentence")] == ["caption", "", ""]
