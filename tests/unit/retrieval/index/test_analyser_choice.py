"""Which analyser fits a collection: by the languages of its texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.unit.retrieval.index.making import build, write_collection

from citebed.collection import open_collection
from citebed.retrieval.analysis import analyser_of
from citebed.retrieval.index.analyser_choice import choose_analyser, sample_languages
from citebed.retrieval.index.index import open_index
from citebed.retrieval.index.term_counts import (
    TextBatch,
    Vocabulary,
    WordReader,
    count_terms,
    split_words,
)

EN = "The lake is measured by this and that method, and it is found to be of use for us."
DE = "Der See wird mit dieser und jener Methode vermessen, und das ist für uns von Nutzen."
FR = "Le lac est mesuré par cette méthode, et les résultats sont pour nous dans une table."
ZH = "本文研究冰川湖泊在何种条件下出现污染。"
PL = "Jezioro jest mierzone tą metodą, a wyniki są podane w tabeli dla nas."


def made(folder: Path, *abstracts: str, **more: Any) -> Path:
    rows = [
        {"doc_id": f"d{n}", "title": "", "abstract": abstract, **more}
        for n, abstract in enumerate(abstracts)
    ]
    return write_collection(folder, rows)


@pytest.mark.parametrize(
    ("abstracts", "analyser"),
    [
        ((EN,) * 9, "english"),
        ((), "english"),
        (("x y z",) * 9, "english"),
        ((PL,) * 9, "english"),
        ((DE,) * 9, "snowball(german)"),
        ((DE,) * 3 + (EN,) * 6, "mixed(english,german)"),
        ((DE,) * 3 + (FR,) * 6, "mixed(french,german)"),
        ((ZH,) * 9, "mixed(english,chinese)"),
        ((ZH,) + (EN,) * 49, "mixed(english,chinese)"),
        ((ZH,) + (EN,) * 50, "english"),
    ],
)
def test_what_fits(tmp_path: Path, abstracts: tuple[str, ...], analyser: str) -> None:
    folder = made(tmp_path / "c", *abstracts)
    assert choose_analyser(open_collection(folder)) == analyser
    build(folder)
    assert open_index(folder).description.analyser == analyser


def test_what_is_named_is_taken(tmp_path: Path) -> None:
    folder = made(tmp_path / "c", DE)
    assert choose_analyser(open_collection(folder), " English ") == "english"
    assert choose_analyser(open_collection(folder), "Auto") == "snowball(german)"


def test_what_a_record_states_counts(tmp_path: Path) -> None:
    opened = open_collection(made(tmp_path / "c", "x", "y", language="ngerman"))
    assert sample_languages(opened) == ["de"]


def test_compiled_code_counts_pairs_alike() -> None:
    texts = pl.DataFrame({"abstract": [ZH, f"{EN} {ZH}\n{ZH}模型 GPT模型 x", "", "型"]})
    job = TextBatch(Path("t"), np.arange(len(texts)), np.arange(len(texts)), texts)
    slow, quick = (Vocabulary(analyser_of("mixed(english,chinese)")) for _ in range(2))
    lengths = [
        counts.lengths["abstract"].tolist()
        for counts in (count_terms(job, slow), WordReader(quick).read(*split_words([job])).counts())
    ]
    assert lengths[0] == lengths[1]
    assert set(quick.terms()) == set(slow.terms())
    assert "冰川" in slow.terms()
