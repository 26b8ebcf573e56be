"""Names of those who are cited, taken out; names of systems left."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sampling import sized

from citebed.text.anonymise import anonymise
from citebed.text.markers import markers


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Smith et al. [1] proposed it", "[1] proposed it"),
        ("However, Smith et al. [1] proposed it", "However, [1] proposed it"),
        ("as in Smith et al.'s [1] work", "as in [1] work"),
        ("Smith, Jones, et al. [1] say", "[1] say"),
        ("Smith, J. et al. [1] say", "[1] say"),
        ("by Smith and colleagues [3]", "by [3]"),
        ("For example, Smith et al. tried this [1].", "For example, tried this [1]."),
        ("Smith and Jones [2]", "[2]"),
        ("Smith, Jones, and Lee [2] show", "[2] show"),
        ("according to Smith and Jones [2]", "according to [2]"),
        ("Zhai & Lafferty [4] smooth it", "[4] smooth it"),
        ("Smith's [3] method", "[3] method"),
        ("Smith’s [3] method", "[3] method"),
        ("van Rijsbergen [5] says", "[5] says"),
        ("C. J. van Rijsbergen [5] says", "[5] says"),
        ("J. Smith [3] is one", "[3] is one"),
        ("Jane A. Smith [3] is one", "[3] is one"),
        ("Smith [3] proposed it", "[3] proposed it"),
        ("Smith [3] have recently shown it", "[3] have recently shown it"),
        ("as proposed by Smith [3].", "as proposed by [3]."),
        ("the work of Salton [1] on it", "the work of [1] on it"),
        ("Following McKeown [4], we", "Following [4], we"),
        ("Recently Pérez-Agüera [4] argued", "Recently [4] argued"),
        ("O'Brien [4] found and LeCun [5] found", "[4] found and [5] found"),
        ("Núñez [4] observed; Nu\u0301n\u0303ez [5] observed", "[4] observed; [5] observed"),
        ("by Smith (2019) and Jones et al. (2020)", "by (2019) and (2020)"),
        ("Smith [2019] says", "[2019] says"),
        ("(Smith, 2019; see Jones and Lee 2020a,b)", "(2019; see 2020a,b)"),
        ("[Smith et al., 2019]", "[2019]"),
        ("(cf. Smith 2019)", "(cf. 2019)"),
        ("(reviewed in Smith et al., 2019; Lee and Kim, 2020)", "(reviewed in 2019; 2020)"),
        ("(but see Smith et al., 2019 and Lee, 2020)", "(but see 2019 and 2020)"),
        ("(for recent reviews, see Lee, 2020)", "(for recent reviews, see 2020)"),
        ("see Smith et al., 2019, for more", "see 2019, for more"),
        (r"Smith et al.~\cite{a} and Smith \cite{b} argued", r"\cite{a} and \cite{b} argued"),
    ],
)
def test_names_go(text: str, left: str) -> None:
    assert anonymise(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "BERT [3], Lucene [4] and WordNet [2] are systems. The [3] is one.",
        "Lucene [4] provides it; DeepFM [19] claims it; RETAIN [5] studies it",
        "on Facebook and Twitter [3], using Lucene and Indri [4]",
        "Precision and Recall [4] are measures",
        "Random and Greedy [4] models",
        "Latent Semantic Analysis [4] showed; Latent Dirichlet Allocation and Random Forest [3]",
        "However [3] proposed, Recently [4] proposed",
        "In [3], the authors of [4] and Section [5]",
        "Salton wrote much and was right.",
        "at TREC (2004), in May (2004)",
        "Smith left. [3] proposed it",
        "",
    ],
)
def test_systems_and_first_words_stay(text: str) -> None:
    assert anonymise(text) == text


NAME = st.sampled_from(["Smith", "Lee", "McKeown", "Pérez-Agüera", "O'Brien", "van Dyk", "Wu"])
LEAD = st.sampled_from(["", "However, ", "as shown by ", "In contrast, ", "(cf. "])


@given(LEAD, st.lists(NAME, min_size=1, max_size=3), st.integers(1, 99))
def test_no_name_before_et_al_survives(lead: str, names: list[str], number: int) -> None:
    text = f"{lead}{', '.join(names)} et al. [{number}] proposed it"
    assert anonymise(text) == f"{lead}[{number}] proposed it"


@given(st.text(st.sampled_from("[]()1,. AbSmith&'é")) | st.text())
def test_only_something_is_taken_out(text: str) -> None:
    rest = iter(text)
    assert all(char in rest for char in anonymise(text))


@pytest.mark.parametrize(
    "piece", ["Smith and ", "Smith, ", "Van Van, ", "A. ", "McA", "Al-", "et al."]
)
def test_long_text_takes_linear_time(piece: str) -> None:
    text = piece * (sized(100_000, 1_000_000) // len(piece))
    assert len(anonymise(text)) <= len(text)


def test_what_was_anonymised_by_hand_in_acm_cr_stays_as_it_is(acm_cr: Path) -> None:
    """The makers of ACM-CR left no names there; and no marker is lost anywhere."""
    contexts = pl.read_parquet(acm_cr / "contexts.parquet")
    by_hand = contexts.filter("anonymised")["text"].to_list()
    assert len(by_hand) > 200
    assert [text for text in by_hand if anonymise(text) != text] == []
    for text in contexts["text"]:
        before = [marker.cites for marker in markers(text)]
        assert [marker.cites for marker in markers(anonymise(text))] == before


def test_what_changes_elsewhere_in_acm_cr_has_et_al(acm_cr: Path) -> None:
    contexts = pl.read_parquet(acm_cr / "contexts.parquet").filter(~pl.col("anonymised"))
    changed = [text for text in contexts["text"] if anonymise(text) != text]
    assert len(changed) == 2
    assert all(re.search(r"\bet al\b", text) for text in changed)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Smith et al. [1] proposed it", "[1] proposed it"),
        ("Smith et al. (2019) say so.", "[CIT] say so."),
        ("by Smith (2019) and Jones et al. (2020)", "by [CIT] and [CIT]"),
        ("It is so (Smith, 2019; see Jones and Lee 2020a,b).", "It is so [CIT]."),
        ("[Smith et al., 2019] says", "[CIT] says"),
        ("at TREC (2004), in May (2004)", "at TREC (2004), in May (2004)"),
        ("BERT [3] is a system", "BERT [3] is a system"),
    ],
)
def test_citations_by_year_can_be_masked(text: str, left: str) -> None:
    assert anonymise(text, "[CIT]") == left
