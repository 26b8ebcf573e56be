"""The grammar of specs: what is read, what is printed, what is refused and where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import ANY_TEXT
from tests.unit.retrieval.models.tiny import any_feedback, any_model

from citebed.errors import UnknownName
from citebed.grammar import Call, Spec, SpecError, parse
from citebed.retrieval.feedback import FEEDBACK, retrieval_of
from citebed.retrieval.feedback.methods import Mixture, Natural, Rm3
from citebed.retrieval.models import MODELS, Model, model_of
from citebed.retrieval.models.bm25 import Bm25
from citebed.retrieval.models.language import Kl

NAMES = st.from_regex(r"[a-z_][a-z0-9_./:-]{0,8}", fullmatch=True)
VALUES = st.one_of(
    st.integers(-(10**17), 10**17),
    st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: not x.is_integer()),
    ANY_TEXT,
)
CALLS = st.builds(
    Call, NAMES, st.dictionaries(NAMES, VALUES, max_size=4).map(lambda d: tuple(d.items()))
)
SPECS = st.lists(CALLS, min_size=1, max_size=4).map(lambda calls: Spec(tuple(calls)))


# --- reading --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("bm25", [Call("bm25")]),
        ("bm25()", [Call("bm25")]),
        ("bm25(k1=0.9,b=0.4)", [Call("bm25", (("k1", 0.9), ("b", 0.4)))]),
        ("  bm25 ( b = .4 , k1=1 ) ", [Call("bm25", (("b", 0.4), ("k1", 1)))]),
        ("bm25+scibert", [Call("bm25"), Call("scibert")]),
        (
            "bm25 + allenai/scibert_scivocab_uncased(top=20)",
            [Call("bm25"), Call("allenai/scibert_scivocab_uncased", (("top", 20),))],
        ),
        (
            "kl(mu=1e3)+feedback(terms=20,from=some/path/j1.qrels)",
            [
                Call("kl", (("mu", 1000.0),)),
                Call("feedback", (("terms", 20), ("from", "some/path/j1.qrels"))),
            ],
        ),
        ("f(from=my file+2.qrels)", [Call("f", (("from", "my file+2.qrels"),))]),
        ("f(from='a, b (2).qrels')", [Call("f", (("from", "a, b (2).qrels"),))]),
        ('f(from="say ""x"".txt")', [Call("f", (("from", 'say "x".txt'),))]),
        ("f(from='2020')", [Call("f", (("from", "2020"),))]),
        (r"f(from=C:\j1.qrels)", [Call("f", (("from", r"C:\j1.qrels"),))]),
        ("f(x=-3,y=+2.5e-3,z=nan,w=1e999)",
         [Call("f", (("x", -3), ("y", 0.0025), ("z", "nan"), ("w", "1e999")))]),
    ],
)  # fmt: skip
def test_what_is_read(text: str, parts: list[Call]) -> None:
    assert parse(text) == Spec(tuple(parts))


@given(SPECS)
def test_what_is_printed_is_read_back(spec: Spec) -> None:
    assert parse(str(spec)) == spec


@given(st.lists(st.sampled_from(["bm25", "(", ")", "+", ",", "=", "k1", "'", '"', " ", "1"])))
def test_any_text_is_read_or_refused(pieces: list[str]) -> None:
    try:
        spec = parse("".join(pieces))
    except SpecError:
        return
    assert parse(str(spec)) == spec


# --- refusing -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "what", "column"),
    [
        ("", "expected the name of a model", 0),
        ("(k1=1)", "expected the name of a model", 0),
        ("bm25(k1=0.9", "this bracket is never closed", 4),
        ("bm25(", "this bracket is never closed", 4),
        ("bm25(k1=1,", "this bracket is never closed", 4),
        ("bm25(k1=1,)", "expected the name of a parameter, found ')'", 10),
        ("bm25(0.9)", "expected the name of a parameter, found '0'", 5),
        ("bm25(k1)", "expected '=' and a value after 'k1', found ')'", 7),
        ("bm25(k1=)", "expected a value for 'k1', found ')'", 8),
        ("bm25(k1=1,k1=2)", "'k1' is given twice", 10),
        ("bm25(k1=(1))", "expected a value for 'k1', found '('", 8),
        ("bm25(k1='1' 2)", "expected ',' or ')', found '2'", 12),
        ("bm25(k1='1)", "this quote is never closed", 8),
        ("bm25+", "expected the name of a model or of a step after it, found the end", 5),
        ("bm25 rm3", "expected '+', '(' or the end, found 'r'", 5),
        ("bm25)", "expected '+', '(' or the end, found ')'", 4),
    ],
)
def test_what_cannot_be_read_is_shown_at_its_place(text: str, what: str, column: int) -> None:
    with pytest.raises(SpecError) as error:
        parse(text)
    message, shown, mark = str(error.value).split("\n")
    assert what in message
    assert shown == "  " + text
    assert mark == " " * (column + 2) + "^"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("bm26", "unknown model 'bm26'. Did you mean 'bm25'?"),
        ("bm25f(b_titel=0)", "unknown parameter of bm25f 'b_titel'. Did you mean 'b_title'?"),
        ("bm25+rm4", "unknown feedback 'rm4'. Did you mean 'rm3'?"),
        ("kl(lamda=0.5)", "Did you mean 'lambda'?"),
    ],
)
def test_an_unknown_name_suggests_the_nearest(text: str, what: str) -> None:
    with pytest.raises(UnknownName) as error:
        retrieval_of(text)
    assert what in str(error.value)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("bm25(k1=-1)", "bm25: k1=-1 is not a number from 0 to 1000."),
        ("bm25(b=1.5)", "bm25: b=1.5 is not a number from 0 to 1."),
        ("bm25(b=high)", "bm25: b=high is not a number from 0 to 1."),
        ("bm25(b=nan)", "bm25: b=nan is not a number from 0 to 1."),
        ("kl(mu=0)", "kl: mu=0 is not a number from 0.001 to 1000000000."),
        ("cosine(tf=lgo)", "cosine: tf=lgo is not one of raw, log, bm25."),
        ("bm25+rm3(terms=2.5)", "rm3: terms=2.5 is not an integer from 1 to 1000000."),
        ("bm25+rm3(from=2020)", 'rm3: from=2020 is not the path of a file. Write from="2020".'),
        ("bm25+rm3(docs=5,from=a)", "docs=5 and from=a exclude each other"),
        ("kl(delta=0.7,mu=9)", "delta (absolute discounting) goes with neither mu nor lambda"),
        ("cosine(tf=log,k1=1)", "k1 belongs to tf=bm25, and tf=log"),
        ("bm25+robertson", "and 'bm25(k1=0.9,b=0.4)' has none. Use okapi"),
        ("bm25+rm3+rocchio", "expected one model and at most one feedback"),
    ],
)
def test_a_value_that_cannot_be_says_what_can(text: str, what: str) -> None:
    with pytest.raises(SpecError) as error:
        retrieval_of(text)
    assert what in str(error.value)


def test_a_model_alone_is_expected() -> None:
    with pytest.raises(SpecError, match="is not a single model"):
        model_of("bm25+rm3")


# --- values ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("bm25", "bm25(k1=0.9,b=0.4)"),
        ("BM25( b=0.75 )", "bm25(k1=0.9,b=0.75)"),
        ("bm25(lengths=lucene)", "bm25(k1=0.9,b=0.4,lengths=lucene)"),
        ("bm25f(b_title=0)", "bm25f(k1=0.9,b=0.4,b_title=0)"),
        ("okapi", "okapi(k1=1.2,b=0.75,k3=7)"),
        ("cosine", "cosine(tf=raw,idf=lemur)"),
        ("cosine(tf=bm25)", "cosine(tf=bm25,idf=lemur,k1=1)"),
        ("kl", "kl(mu=1000)"),
        ("kl(lambda=.5)", "kl(lambda=0.5)"),
        ("kl(lambda=0.5,mu=800.0)", "kl(mu=800,lambda=0.5)"),
        ("kl(delta=0.7)", "kl(delta=0.7)"),
        ("ql", "ql(mu=2500)"),
    ],
)
def test_models_print_in_one_form(text: str, printed: str) -> None:
    assert str(model_of(text)) == printed


@pytest.mark.parametrize(
    ("text", "feedback"),
    [
        ("bm25", None),
        ("kl(mu=1000)+feedback(terms=20,from=j1.qrels)", Natural(source="j1.qrels")),
        ("bm25+rm3(docs=10,terms=20,weight=0.5)", Rm3(docs=10)),
        ("kl+mixture(lambda=0.3)", Mixture(lam=0.3)),
    ],
)
def test_a_model_with_feedback(text: str, feedback: object) -> None:
    found = retrieval_of(text)
    assert found[1] == feedback
    assert isinstance(found[0], Bm25 | Kl)


@given(any_model())
def test_every_model_is_read_back(model: Model) -> None:
    assert model_of(str(model)) == model


@given(any_feedback())
def test_every_feedback_is_read_back(feedback: object) -> None:
    model = "okapi"
    assert retrieval_of(f"{model}+{feedback}") == (model_of(model), feedback)


@pytest.mark.parametrize("kind", [*MODELS.values(), *FEEDBACK.values()], ids=lambda k: k.name)
def test_everything_explains_itself(kind: type[Model]) -> None:
    text = kind.describe()
    assert all(line in text for line in kind.formula.split("\n"))
    assert kind.citation in text
    for parameter in kind.parameters():
        assert f"  {parameter.name}: {parameter.about}" in text
    named = parse(kind.example).parts[-1].name
    assert named == kind.name
    retrieval_of(kind.example)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("indri", "ql(mu=2500)"),
        ("lm", "ql(mu=2500)"),
        ("LM(mu=500)", "ql(mu=500)"),
        ("dirichlet", "ql(mu=2500)"),
        ("qld", "ql(mu=1000)"),
        ("jm", "kl(lambda=0.1)"),
        ("jm(lambda=0.7)", "kl(lambda=0.7)"),
        ("Jelinek-Mercer", "kl(lambda=0.1)"),
        ("lemur", "kl(mu=1000)"),
        ("tfidf", "cosine(tf=raw,idf=lemur)"),
        ("TF-IDF(tf=log)", "cosine(tf=log,idf=lemur)"),
        ("tf_idf", "cosine(tf=raw,idf=lemur)"),
        ("vsm", "cosine(tf=raw,idf=lemur)"),
        ("BM-25", "bm25(k1=0.9,b=0.4)"),
        ("lucene", "bm25(k1=0.9,b=0.4,lengths=lucene)"),
    ],
)
def test_names_that_people_type(written: str, meant: str) -> None:
    assert model_of(written) == model_of(meant)
    assert str(model_of(written)) == str(model_of(meant))


@pytest.mark.parametrize(
    ("written", "meant"),
    [("inidri", "ql"), ("LMD", "ql"), ("tdidf", "cosine"), ("KLdiv", "kl"), ("bm52", "bm25")],
)
def test_names_that_are_misspelt_lead_to_the_right_one(written: str, meant: str) -> None:
    """Those from elsewhere too."""
    with pytest.raises(UnknownName) as caught:
        model_of(written)
    assert caught.value.did_you_mean == [meant]
