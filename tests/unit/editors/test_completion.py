"""Citation commands and their completions. A ``|`` is the cursor."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import citebed
from citebed.drafts.reader import Form
from citebed.editors.completion import (
    AuthorKeys,
    Suggester,
    end_of_sentence,
    escape_markdown,
    find_cite_point,
    format_citation,
    sentence_at,
)

HOLE = "|"


def split(text: str) -> tuple[str, int]:
    at = text.index(HOLE)
    return text[:at] + text[at + 1 :], at


@pytest.mark.parametrize(
    ("form", "marked", "typed", "replaced", "others"),
    [
        ("tex", r"See \cite{|}.", "", "", set()),
        ("tex", r"See \cite{sm|ith}.", "sm", "smith", set()),
        ("tex", r"See \cite{a, vaswani att|}.", "vaswani att", "vaswani att", {"a"}),
        ("tex", r"See \autocite[see][p.~3]{a,|,c}.", "", "", {"a", "c"}),
        ("tex", r"See \citep*[{[sic]}]{x|", "x", "x", set()),
        ("tex", r"See \cites(pre)(post)[1]{a}[2]{b|}.", "b", "b", set()),
        ("tex", r"See \textcite<a>{k|}", "k", "k", set()),
        ("tex", "\\cite{a,\n  b|}", "b", "b", {"a"}),
        ("tex", r"\cite{sm|. More text \emph{x}", "sm", "sm", set()),
        ("tex", r"\footnote{see \cite{sm| and more}", "sm", "sm", set()),
        ("tex", r"\nocite{a|}", "a", "a", set()),
        ("tex", r"\caption{It is known \cite{sm|.}", "sm", "sm", set()),
        ("markdown", "Known [@smi|]", "smi", "smi", set()),
        ("markdown", "Known [see @a, p. 3; -@b|]", "b", "b", set()),
        ("markdown", "As @smith2019|.", "smith2019", "smith2019", set()),
        ("markdown", "As @smi|th2019. Then", "smi", "smith2019", set()),
        ("markdown", "As @{odd key|}", "odd key", "odd key", set()),
        ("markdown", r"LaTeX \cite{a|} in Markdown", "a", "a", set()),
        ("typst", "Known @smi| today", "smi", "smi", set()),
        ("typst", "Known #cite(<smi|>)", "smi", "smi", set()),
        ("typst", '#cite(label("DBLP:a/b|"))', "DBLP:a/b", "DBLP:a/b", set()),
        ("rst", "Known :cite:p:`a,b|` here", "b", "b", {"a"}),
        ("rst", "Known :footcite:`b|", "b", "b", set()),
    ],
)
def test_cite_points(form: Form, marked: str, typed: str, replaced: str, others: set[str]) -> None:
    text, at = split(marked)
    point = find_cite_point(text, at, form)
    assert point is not None
    assert (point.typed, text[point.start : point.end], set(point.others)) == (
        typed, replaced, others,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("form", "marked"),
    [
        ("tex", r"See \cite{a}|."), ("tex", r"\citestyle{a|}"), ("tex", r"\section{a|}"),
        ("tex", "a@b|"), ("markdown", "mail me@example|"), ("markdown", "a \\@b|"),
        ("typst", "me@example|"), ("rst", ":ref:`a|`"), ("text", r"\cite{a|}"),
        ("markdown", "plain|"),
    ],
)  # fmt: skip
def test_no_cite_point_outside_of_citations(form: Form, marked: str) -> None:
    text, at = split(marked)
    assert find_cite_point(text, at, form) is None


@given(st.text(alphabet='\\cite{}[]@#<>`:,. \n(a)%"-😀', max_size=80), st.integers(0, 80))
def test_cite_points_surround_the_cursor(text: str, at: int) -> None:
    at = min(at, len(text))
    forms: tuple[Form, ...] = ("tex", "markdown", "typst", "rst", "text")
    for form in forms:
        point = find_cite_point(text, at, form)
        if point is not None:
            assert point.begin <= point.start <= at <= point.end <= point.close <= len(text)
            assert text[point.start : at] == point.typed
            assert "\n" not in point.typed
        assert isinstance(sentence_at(text, at, form, point), str)
        assert at <= end_of_sentence(text, at, "a cite") <= len(text)


@pytest.mark.parametrize(
    ("form", "marked", "expected"),
    [
        ("tex", r"First things came. Neural models rank \emph{long} documents~\cite{x|}. Last.",
         "Neural models rank long documents."),
        ("tex", "Old paragraph.\n\nNeural models rank documents \\citep[p.~2]{a,|} well.",
         "Neural models rank documents well."),
        ("tex", r"Stemming merges the word forms.\cite{|} It is quite old by now.",
         "Stemming merges the word forms."),
        ("markdown", "Neural models rank documents well [see @a; @b|, p. 3]. Next one is here.",
         "Neural models rank documents well."),
        ("typst", "Neural models *rank* documents well @b|. Next one is here.",
         "Neural models rank documents well."),
        ("rst", "Neural models rank documents well :cite:`b|`. Next one is here.",
         "Neural models rank documents well."),
        ("tex", "日本語の文章です。 Neural 😀 models rank documents \\cite{|} well.",
         "Neural 😀 models rank documents well."),
    ],
)  # fmt: skip
def test_sentences(form: Form, marked: str, expected: str) -> None:
    text, at = split(marked)
    found = sentence_at(text, at, form, find_cite_point(text, at, form))
    assert "".join(found.split()) == "".join(expected.split())


def test_short_sentences_bring_the_ones_before_them() -> None:
    text, at = split(r"Neural models rank documents. So said \cite{|}.")
    point = find_cite_point(text, at, "tex")
    assert sentence_at(text, at, "tex", point).startswith("Neural models rank documents.")


def test_citations_go_before_the_full_stop() -> None:
    text, at = split("Neural mod|els rank long documents. Next.")
    sentence = sentence_at(text, at, "tex")
    place = end_of_sentence(text, at, sentence)
    made = text[:place] + format_citation("tex", "a") + text[place:]
    assert made == r"Neural models rank long documents~\cite{a}. Next."


@pytest.mark.parametrize(
    ("marked", "before"),
    [
        (r"One mod|el of \emph{models}. Next.", r"One model of \emph{models}"),
        (r"One mod|el of models~\cite{a}. Next.", "One model of models"),
        (r"One mod|el of models \cite[p. 3]{}! Next.", "One model of models"),
        ("One mod|el of models\n\nNext.", "One model of models"),
    ],
)
def test_citations_go_after_the_last_word(marked: str, before: str) -> None:
    text, at = split(marked)
    assert text[: end_of_sentence(text, at, "One model of models.")] == before


@pytest.mark.parametrize(
    ("form", "key", "expected"),
    [
        ("tex", "a", r"~\cite{a}"), ("markdown", "a", " [@a]"), ("typst", "a:b", " @a:b"),
        ("markdown", "DBLP:conf/x/Y19", " [@DBLP:conf/x/Y19]"), ("markdown", "a,b", " [@{a,b}]"),
        ("typst", "DBLP:conf/x", ' #cite(label("DBLP:conf/x"))'), ("rst", "a", " :cite:`a`"),
    ],
)  # fmt: skip
def test_citations_are_valid_in_each_language(form: Form, key: str, expected: str) -> None:
    assert format_citation(form, key) == expected


def test_records_cannot_bring_markup() -> None:
    shown = escape_markdown("![x](http://a.example/b) <img src=x> `c` [d](command:e)\n\n# f")
    assert shown == (
        r"\!\[x\]\(http\://a\.example/b\) \<img src=x\> \`c\` \[d\]\(command\:e\) \# f"
    )


@pytest.fixture(scope="module")
def suggester(demo_indexed: Path) -> Suggester:
    return Suggester(citebed.open(demo_indexed).library)


NOTHING = AuthorKeys()
SENTENCE = "Latent semantic indexing maps words to concepts."


def test_suggestions_fit_the_sentence(suggester: Suggester) -> None:
    found = suggester.suggest(SENTENCE, "", NOTHING)
    assert found[0].key == "deerwester1990indexing"
    assert len({each.key for each in found}) == len(found) > 10


@pytest.mark.parametrize("typed", ["port", "porter 1980", "suffix", "PORTER", "1980 strip"])
def test_typed_words_can_be_names_titles_and_years(suggester: Suggester, typed: str) -> None:
    found = suggester.suggest(SENTENCE, typed, NOTHING)
    assert "porter1980algorithm" in [each.key for each in found]
    words = typed.lower().split()
    assert all(word in each.words.lower() for each in found for word in words)


def test_typed_text_that_nothing_has_finds_nothing(suggester: Suggester) -> None:
    assert suggester.suggest(SENTENCE, "qqqq", NOTHING) == []


def test_filter_words_have_all_authors(suggester: Suggester) -> None:
    (found,) = (each for each in suggester.suggest(SENTENCE, "", NOTHING)
                if each.key == "deerwester1990indexing")  # fmt: skip
    assert all(name in found.words for name in ("Deerwester", "Harshman", "1990", "Latent"))


def test_the_authors_own_key_wins_and_other_entries_are_offered(suggester: Suggester) -> None:
    bib = (
        "@article{lsi, title={Indexing by Latent Semantic Analysis}, year={1990},"
        " author={Deerwester, Scott and Dumais, Susan T.}}\n"
        "@book{mybook, title={Gardening at night}, author={Doe, Jane}, year={2001}}\n"
        "@misc{porter1980algorithm, title={Something else entirely}, author={Roe, R.}}\n"
    )
    mine = AuthorKeys.read([bib], suggester.library)
    assert suggester.suggest(SENTENCE, "", mine)[0][1] == "lsi"
    assert [each.key for each in suggester.suggest(SENTENCE, "jane gard", mine)] == ["mybook"]
    keys = [each.key for each in suggester.suggest(SENTENCE, "suffix", mine)]
    assert "porter1980algorithm" not in keys  # that key means another work in this draft
    assert any(key.startswith("porter1980algorithm") for key in keys)


def test_rejected_papers_come_back_only_by_name(suggester: Suggester) -> None:
    best = suggester.suggest(SENTENCE, "", NOTHING)[0]
    rejected = frozenset({best.doc_id})
    assert best not in suggester.suggest(SENTENCE, "", NOTHING, excluded=rejected)
    assert best in suggester.suggest(SENTENCE, "deerwester", NOTHING, excluded=rejected)
