"""The encoder as a maker of vectors: what they depend on, what is kept, what is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.retrieval.encoders.conftest import TEXTS

from citebed.cli.app import main
from citebed.collection import import_sources, open_collection
from citebed.errors import CitebedError, UnknownName
from citebed.retrieval.encoders import dense_encoder as encoders
from citebed.retrieval.encoders import vector_cache
from citebed.retrieval.encoders.dense_encoder import (
    find_encoder,
    index_encoder,
    load_dense_encoder,
    load_encoder_for_index,
)
from citebed.retrieval.encoders.model_folder import find_model
from citebed.retrieval.encoders.models import Encoder, load_encoder
from citebed.retrieval.execution.runner import Runner, RunOptions
from citebed.retrieval.index.builder import IndexOptions, write_index
from citebed.retrieval.index.index import open_index
from citebed.retrieval.pipeline import parse_pipeline
from citebed.retrieval.ranking.features import SIGNALS
from citebed.retrieval.ranking.ranker import shipped_ranker
from citebed.retrieval.rerank import VectorCache

BIB = "".join(
    f"@article{{p{n}, title={{The paper {n}}}, abstract={{retrieval of {'papers ' * n}}}}}\n"
    for n in range(12)
)


@pytest.fixture(autouse=True)
def _no_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test knows the encoders of another."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    encoders._load_once.cache_clear()


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    (tmp_path / "a.bib").write_text(BIB, "utf-8")
    import_sources(tmp_path / "c", [tmp_path / "a.bib"])
    return tmp_path / "c"


def test_its_names(folder: Path) -> None:
    assert find_encoder() == folder == find_model("gte") == find_model("Encoder")
    assert load_dense_encoder().name == load_dense_encoder("gte").name == "encoder"
    assert load_dense_encoder(folder).name == str(folder)
    assert str(parse_pipeline("bm25+gte").stage) == "sum(with=gte,top=20)"
    assert str(parse_pipeline("bm25+rerank(with=encoder)").stage) == "rerank(with=encoder,top=20)"


def test_a_name_of_the_hub_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def load(name: str) -> Encoder:
        asked.append(name)
        raise CitebedError("not here")

    monkeypatch.setattr("citebed.retrieval.encoders.dense_encoder.load_encoder", load)
    for name in ("Owner/All-MiniLM", "nowhere/At/All", "MiniLM", "all-MiniLM-L6-v2"):
        with pytest.raises(CitebedError, match="not here"):
            load_dense_encoder(name)
    assert asked == ["Owner/All-MiniLM", "nowhere/At/All", "minilm", "minilm"]


@pytest.mark.usefixtures("tiny")
def test_where_it_was_not_fetched() -> None:
    assert find_encoder() is None
    with pytest.raises(CitebedError, match=r"has no encoder yet. Run: citebed fetch encoder"):
        load_dense_encoder()
    with pytest.raises(UnknownName, match="Did you mean 'encoder'"):
        find_model("encode")


@pytest.mark.usefixtures("folder")
def test_a_text_alone_and_among_others() -> None:
    """Activations are scaled to 8 bits by their largest number, separately for each text."""
    encoder = load_dense_encoder()
    many = encoder.documents([*TEXTS, "paper " * 30] * 3)
    for place, text in enumerate(TEXTS):
        (alone,) = encoder.queries([text])
        np.testing.assert_array_equal(alone, many[place])
        bare = encoder.encoder.encode([text, *TEXTS], batch=8)[0]
        np.testing.assert_allclose(alone, bare, atol=1e-6)  # already of length 1, but for rounding
    assert many.dtype == np.float32
    assert encoder.documents([]).shape == (0, encoder.width)


@pytest.mark.usefixtures("folder")
def test_progress() -> None:
    seen: list[tuple[int, int]] = []
    load_dense_encoder().documents(TEXTS, lambda done, of: seen.append((done, of)))
    assert seen == [(n, len(TEXTS)) for n in range(1, len(TEXTS) + 1)]


@pytest.mark.parametrize(
    ("name", "how"),
    [("model.onnx", "changed"), ("tokenizer.json", "cut"), ("1_Pooling/config.json", "gone")],
)
def test_a_damaged_model_is_refused(folder: Path, name: str, how: str) -> None:
    path = folder / name
    data = path.read_bytes()
    middle = len(data) // 2
    path.write_bytes(data[:middle] + (b"" if how == "cut" else b"\0" + data[middle + 1 :]))
    if how == "gone":
        path.unlink()
    what = "is missing" if how == "gone" else "was changed"
    for load in (load_dense_encoder, load_encoder):
        with pytest.raises(CitebedError, match=rf"{name} {what}\. Get it again: citebed fetch"):
            load("encoder")


@pytest.mark.parametrize(
    "card", ["[]", "{", '{"format": 2, "files": {}}', '{"format": 1, "files": 3}']
)
def test_a_damaged_card_is_refused(folder: Path, card: str) -> None:
    (folder / "citebed.json").write_text(card, "utf-8")
    with pytest.raises(CitebedError, match=r"citebed\.json"):
        load_dense_encoder()


def test_a_card_that_names_files_elsewhere(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x", "utf-8")
    for name in ("../../../../secret", str(tmp_path / "secret")):
        (folder / "citebed.json").write_text(json.dumps({"format": 1, "files": {name: "0"}}))
        with pytest.raises(CitebedError, match="secret is missing"):
            load_dense_encoder()


# --- an index -------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
def test_an_index_with_its_vectors(collection: Path) -> None:
    encoder = load_dense_encoder(cache=VectorCache())
    write_index(collection, IndexOptions(neural=encoder))
    index = open_index(collection)
    vectors = index.vectors("encoder")
    assert vectors is not None
    assert vectors.is_of(encoder)
    texts = {f"p{n}": f"The paper {n}. retrieval of {'papers ' * n}".strip(" .") for n in range(12)}
    wanted = encoder.documents([texts[name] for name in index.ids])
    asked = encoder.queries(["the paper cites retrieval"])
    np.testing.assert_allclose(vectors.score(asked), asked @ wanted.T, atol=0.01)


def test_the_encoder_that_made_an_index(folder: Path, collection: Path) -> None:
    for given in (True, folder):
        encoder = index_encoder(given)
        write_index(collection, IndexOptions(neural=encoder, rebuild=True))
        vectors = open_index(collection).vectors("encoder")
        assert vectors is not None
        found = load_encoder_for_index(vectors)
        assert (found.name, found.fingerprint) == (encoder.name, encoder.fingerprint)
        assert load_encoder_for_index(vectors) is found  # a second question does not load it again


@pytest.fixture
def partly(folder: Path, collection: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Index a collection, interrupted when 8 of 12 documents are encoded; returns these."""
    del folder
    monkeypatch.setattr("citebed.retrieval.index.document_vectors._ENCODER_BATCH", 4)
    encoder, parts = index_encoder(), iter((True, True, False))
    made = encoder.documents

    def documents(*given: Any) -> Any:
        if not next(parts):
            raise KeyboardInterrupt
        return made(*given)

    monkeypatch.setattr(encoder, "documents", documents)
    with pytest.raises(KeyboardInterrupt):
        write_index(collection, IndexOptions(neural=encoder))
    index = open_index(collection, verified=True)
    vectors = index.vectors("encoder", incomplete=True)
    assert vectors is not None
    assert vectors.present is not None
    return {index.ids[int(number)] for number in np.flatnonzero(vectors.present)}


def test_an_index_that_is_encoded_in_part_is_used_and_tells_so(
    partly: set[str], collection: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = ["recommend", str(collection), "retrieval of papers", "--min-probability", "0", "--json"]
    assert main([*text, "-k", "12"]) == 0
    out, err = capsys.readouterr()
    assert "note: 66 % of the documents are encoded so far" in " ".join(err.split())
    assert len(partly) == 8
    assert {row["doc_id"] for row in json.loads(out)} > partly, "the others are found, too"
    assert main(["index", str(collection), "--neural"]) == 0
    capsys.readouterr()
    assert main(text) == 0
    assert "encoded so far" not in capsys.readouterr().err


@pytest.mark.usefixtures("partly")
def test_features_for_documents_that_are_not_encoded(collection: Path) -> None:
    opened = open_collection(collection)
    runner = Runner(opened, open_index(opened), parse_pipeline("bm25+learned"), RunOptions())
    (found,) = runner.run([runner.query("retrieval of papers")], 12)
    names = list(SIGNALS)
    values = found.signals[:, names.index("encoder")]
    vectors = runner.index.vectors("encoder", incomplete=True)
    assert vectors is not None
    assert vectors.present is not None
    known = vectors.present[found.docs]
    assert (values > 0).all()
    assert values[~known].min() >= values[known].min() - 1e-9
    assert values[~known].max() <= values[known].max() + 1e-9
    assert runner.ranking_notes == runner.ranker.notes != ()


@pytest.mark.usefixtures("partly")
def test_the_encoder_counts_as_much_as_it_has_read(collection: Path) -> None:
    opened, ranker = open_collection(collection), shipped_ranker()
    pipeline = parse_pipeline("bm25+learned(fit=no)")
    ranks = Runner(opened, open_index(opened), pipeline, RunOptions()).ranker
    static, encoder = (ranker.level(has_encoder).weights for has_encoder in (False, True))
    np.testing.assert_allclose(ranks._level.weights, static / 3 + encoder * 2 / 3)
    write_index(collection, IndexOptions(neural=index_encoder()))
    ranks = Runner(opened, open_index(opened), pipeline, RunOptions()).ranker
    np.testing.assert_array_equal(ranks._level.weights, encoder)


@pytest.mark.usefixtures("partly")
@pytest.mark.parametrize("model", ["bm25+dense(with=encoder)", "bm25+learned(encoder=yes)"])
def test_who_insists_on_the_encoder_needs_all_of_its_vectors(
    collection: Path, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["recommend", str(collection), "retrieval of papers", "--model", model]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "lacks the encoder model's vectors of some documents. Make them with" in said


def renamed(collection: Path, **about: str) -> None:
    """Let the index say of its encoder's vectors what a stranger likes."""
    path = collection / "index" / "index.json"
    values = json.loads(path.read_text())
    values["vectors"]["encoder"] |= about
    path.write_text(json.dumps(values))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of all models that are looked for."""
    names: list[str] = []

    def find(name: str | Path) -> Path:
        names.append(str(name))
        return find_model(name)

    monkeypatch.setattr("citebed.retrieval.encoders.models.find_model", find)
    return names


@pytest.fixture(params=["inside", "evil/model", "../evil", "encoder"])
def foreign(request: pytest.FixtureRequest, folder: Path, collection: Path) -> str:
    """Return an index with a foreign encoder name, which no encoder of the user has."""
    write_index(collection, IndexOptions(neural=load_dense_encoder()))
    folder.rename(collection / "model")
    (collection / "model" / "citebed.json").unlink()
    name = str(collection / "model") if request.param == "inside" else str(request.param)
    renamed(collection, name=name)
    return name


def test_an_index_chooses_no_model(
    collection: Path, foreign: str, asked: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Neither one of the network, nor a folder that came with it; it is said which made it."""
    assert main(["recommend", str(collection), "retrieval of papers"]) == 0
    assert asked == []
    assert "only word vectors are used" in caplog.text
    assert f"made by the encoder '{foreign}', which is not one of yours" in caplog.text


def test_an_encoder_that_is_asked_for_and_is_none_of_the_users(
    collection: Path, foreign: str, asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    model = "bm25+dense(with=encoder)"
    assert main(["recommend", str(collection), "retrieval of papers", "--model", model]) == 1
    assert asked == []
    said = "".join(capsys.readouterr().err.split())
    assert f"made by the encoder '{foreign}', which is not one of yours".replace(" ", "") in said


def test_an_encoder_of_the_users_is_known_by_its_fingerprint(
    folder: Path, collection: Path, tmp_path: Path, asked: list[str]
) -> None:
    """Whatever the index calls it: the one fetched, indexed with before, or named."""
    encoder = load_dense_encoder()
    write_index(collection, IndexOptions(neural=encoder))
    renamed(collection, name="evil/model")
    vectors = open_index(collection).vectors("encoder")
    assert vectors is not None
    assert load_encoder_for_index(vectors).name == "encoder"
    folder.rename(tmp_path / "mine")
    asked.clear()
    with pytest.raises(CitebedError, match="'evil/model', which is not one of yours"):
        load_encoder_for_index(vectors)
    assert asked == []
    index_encoder(tmp_path / "mine")
    assert load_encoder_for_index(vectors).name == str(tmp_path / "mine")


def test_an_encoder_that_is_named_in_the_environment(
    folder: Path, collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_index(collection, IndexOptions(neural=load_dense_encoder()))
    vectors = open_index(collection).vectors("encoder")
    assert vectors is not None
    folder.rename(tmp_path / "mine")
    monkeypatch.setenv("CITEBED_ENCODER", str(tmp_path / "mine"))
    assert load_encoder_for_index(vectors).name == str(tmp_path / "mine")
    monkeypatch.setenv("CITEBED_ENCODER", str(tmp_path / "gone"))
    with pytest.raises(CitebedError, match="is not a folder"):
        load_encoder_for_index(vectors)


@pytest.mark.usefixtures("folder")
def test_what_was_made_before_an_interruption_is_kept(
    collection: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_cache, "_CHUNK", 4)
    whole, asked = Encoder.encode, list[str]()

    def interrupted(self: Encoder, texts: Sequence[str], **how: Any) -> Any:
        asked.extend(texts)
        if len(asked) > 8:
            raise KeyboardInterrupt
        return whole(self, texts, **how)

    with monkeypatch.context() as patched:
        patched.setattr(Encoder, "encode", interrupted)
        encoder = load_dense_encoder(cache=VectorCache())
        with pytest.raises(KeyboardInterrupt):
            write_index(collection, IndexOptions(neural=encoder))
    seen: list[int] = []
    encoder = load_dense_encoder(cache=VectorCache())
    texts = [f"The paper {n}. retrieval of {'papers ' * n}".strip(" .") for n in range(12)]
    encoder.documents(texts, lambda _, of: seen.append(of))
    assert seen == [4] * 4  # the eight before are there


@pytest.mark.usefixtures("folder")
def test_a_network_that_fails_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = load_dense_encoder()

    def fails(_: object) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr(encoder.encoder, "_model", fails)
    with pytest.raises(CitebedError, match="does not work: out of order"):
        encoder.queries(TEXTS)
