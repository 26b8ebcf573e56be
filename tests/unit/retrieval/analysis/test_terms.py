"""The terms of many texts: those of the analyser, here and where they travel to."""

from __future__ import annotations

import pickle

import pytest

from citebed.errors import UnknownName
from citebed.retrieval.analysis import ANALYSERS, analyser_of
from citebed.retrieval.analysis.terms import Terms

TEXT = "The authors' running of Retrieval-Based 検索 systems; running, RUNNING and the rest."


@pytest.mark.parametrize("name", list(ANALYSERS))
def test_terms_are_the_analysers(name: str) -> None:
    here = Terms(name)
    there = pickle.loads(pickle.dumps(here))
    for terms in (here, here, there):
        assert terms(TEXT) == analyser_of(name).terms(TEXT)


def test_an_analyser_that_is_none() -> None:
    with pytest.raises(UnknownName):
        Terms("no such")
