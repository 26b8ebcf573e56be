"""Pipelines: a model, feedback and a second stage in one line that reads back as it prints."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.retrieval.models.tiny import any_feedback, any_model, spelled

from citebed.errors import CitebedError, UnknownName
from citebed.grammar import SpecError
from citebed.retrieval.feedback import FEEDBACK
from citebed.retrieval.models import MODELS
from citebed.retrieval.pipeline import STAGES, Interpolate, Pipeline, Rrf, Sum, parse_pipeline


def test_what_the_parts_are() -> None:
    found = parse_pipeline("KL(mu=500) + RM3(terms=5) + interpolate(with=minilm, weight=0.3)")
    assert (found.model.name, found.feedback.name) == ("kl", "rm3")
    assert found.stage == Interpolate("minilm", weight=0.3)
    assert found.stage.encoder == "minilm"
    assert found.stage.top == 20
    assert str(found.stage) == "interpolate(with=minilm,top=20,weight=0.3)"


def test_an_encoder_alone_is_summed() -> None:
    assert parse_pipeline("bm25+scibert").stage == Sum("scibert")
    assert parse_pipeline("bm25+allenai/scibert_scivocab_uncased(top=50)").stage == Sum(
        "allenai/scibert_scivocab_uncased", 50
    )
    assert parse_pipeline("bm25+rrf(with=scibert,k=10)").stage == Rrf("scibert", k=10)
    assert parse_pipeline("bm25").stage is None


@st.composite
def pipelines(draw: st.DrawFn) -> Pipeline:
    feedback = draw(st.none() | any_feedback())
    names = st.sampled_from(["minilm", "a/b-c_d", "/my models/é", "x.y", "1+1", 'say "so"'])
    kinds = st.sampled_from(list(STAGES.values()))
    stage = draw(st.none() | kinds.flatmap(lambda kind: st.builds(kind, names)))
    model = draw(any_model() if feedback is None else spelled(MODELS["kl"]))
    return Pipeline(model, feedback, stage)


@given(pipelines())
def test_a_pipeline_reads_back_as_it_prints(pipeline: Pipeline) -> None:
    if pipeline.feedback is not None and pipeline.feedback.name == "robertson":
        pipeline = Pipeline(MODELS["okapi"](), pipeline.feedback, pipeline.stage)
    assert parse_pipeline(str(pipeline)) == pipeline


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "empty|nothing|expected"),
        ("bm26", "Did you mean 'bm25'"),
        ("bm25(k1=x)", "k1"),
        ("bm25+rerank", r"rerank needs an encoder, e.g. rerank\(with=minilm\)"),
        ("bm25+rerank()", "needs an encoder"),
        ("bm25+minilm(weight=2)", "accepts only keywords, query, top, not weight"),
        ("bm25+interpolate(with=minilm,weight=2)", "weight=2 is not"),
        ("bm25+rm3+minilm+minilm", "is one part too many"),
        ("bm25+minilm+rm3", "is one part too many"),
        ("bm25+rm3+rm3+rm3", "is one part too many"),
        ("bm25+minilm(top=0)", "top=0 is not an integer from 1"),
        ("minilm+bm25", "unknown model 'minilm'"),
        ("MiniLM", r"'MiniLM' must follow a model: bm25\+MiniLM"),
        ("rm3", r"'rm3' must follow a model: bm25\+rm3"),
        ("bm25++minilm", "."),
        ("bm25(", "."),
    ],
)
def test_not_a_pipeline(text: str, what: str) -> None:
    with pytest.raises(CitebedError, match=what):
        parse_pipeline(text)


def test_errors_are_of_their_kind() -> None:
    with pytest.raises(UnknownName):
        parse_pipeline("nothing")
    with pytest.raises(SpecError):
        parse_pipeline("bm25+a+b")
    assert set(FEEDBACK) & set(STAGES) == set()


def test_what_may_follow_is_listed() -> None:
    with pytest.raises(UnknownName) as caught:
        parse_pipeline("bm25+rm4")
    told = str(caught.value)
    assert "unknown step after the + 'rm4'. Did you mean 'rm3'?" in told
    for name in (*FEEDBACK, *STAGES, "minilm", "scibert", "owner/model", "folder"):
        assert name in told


def test_encoders_by_other_spellings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse_pipeline("bm25+SciBERT").stage == Sum("SciBERT")
    assert parse_pipeline("bm25+all-MiniLM-L6-v2").stage == Sum("all-MiniLM-L6-v2")
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    assert parse_pipeline("bm25+mine").stage == Sum("mine")


def test_what_a_stage_reads() -> None:
    plain = parse_pipeline("bm25+scibert").stage
    assert plain is not None
    assert (plain.keywords, plain.query, str(plain)) == ("no", "raw", "sum(with=scibert,top=20)")
    other = parse_pipeline("bm25+scibert(keywords=yes,query=clean)").stage
    assert other == Sum("scibert", keywords="yes", query="clean")
    assert str(other) == "sum(with=scibert,top=20,keywords=yes,query=clean)"
