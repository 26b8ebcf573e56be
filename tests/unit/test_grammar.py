"""The one grammar, as measures, models and filters use it."""

from __future__ import annotations

import pytest

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.measures.names import measure
from citebed.grammar import Call, SpecError, parse_call
from citebed.retrieval.models import model_of
from citebed.timeline.filters import parse_filter


def test_a_call_and_what_follows_it() -> None:
    assert parse_call("AP( rel = 2 )@R") == (Call("AP", (("rel", 2),)), "@R")
    assert parse_call("names") == (Call("names"), "")
    with pytest.raises(SpecError, match="this bracket is never closed"):
        parse_call("AP(rel=2")


@pytest.mark.parametrize("written", ["AP(rel=1,rel=2)", "AP(rel=1", "AP(rel=(1))", "AP(,)"])
def test_a_measure_that_cannot_be_read_says_how_it_is_written(written: str) -> None:
    with pytest.raises(CitebedError, match=r"cannot read the measure .* Write it like nDCG@10"):
        measure(written)


@pytest.mark.parametrize("written", ["names(common=1,common=2)", "names(common)", "names(", "+"])
def test_a_filter_that_cannot_be_read_says_how_it_is_written(written: str) -> None:
    with pytest.raises(CitebedError, match="is not a filter model"):
        parse_filter(written)


def test_an_unknown_parameter_is_reported_alike_everywhere() -> None:
    said = {
        lambda: measure("RBP(q=0.5)"): "unknown parameter of RBP 'q'",
        lambda: model_of("bm25(k=1)"): "unknown parameter of bm25 'k'",
        lambda: parse_filter(
            "names(halv=1)"
        ): "unknown parameter of names 'halv'. Did you mean 'half'",
    }
    for read, what in said.items():
        with pytest.raises(UnknownName, match=what):
            read()
