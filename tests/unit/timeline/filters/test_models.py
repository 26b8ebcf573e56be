"""The three filters: hand-computed confidences, slow twins, and never a look ahead."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.reference import filters as slow
from tests.sampling import examples, sized
from tests.unit.timeline.filters.bursts import LABELS, START, TOPICS, Doc, filtered, stream

from citebed.errors import CitebedError, UnknownName
from citebed.files.lines import Block
from citebed.runs.writer import FilterLine
from citebed.timeline.filters import FILTERS, online_learning, parse_filter, relevance_model
from citebed.timeline.filters.online_learning import Filter
from citebed.timeline.filters.topics import FilterContext, Name, State, Topic
from citebed.timeline.streams.stream_files import decode

MODELS = ("names", "relevance_model(mu=10,least=0)", "incremental(least=0.2)")
NAMES = {topic.query_id: {n.name: n.weight for n in topic.names} for topic in TOPICS}
Found = list[tuple[str, str, int]]


def found(
    declared: Filter,
    topics: list[Topic],
    texts: list[str],
    tools: FilterContext | None = None,
    gap: int = 1,
) -> list[tuple[int, float]]:
    """Return (place, confidence) of texts that come ``gap`` seconds apart."""
    tools = tools or FilterContext(str.split)
    lines = "".join(
        f'{{"doc_id": "{n}", "time": {1300000000 + n * gap}, "text": "{text}"}}\n'
        for n, text in enumerate(texts)
    )
    table = decode(Block(lines.encode(), 1, len(texts)), naive_is_utc=False).table
    at_work = declared.start(topics, tools)
    return [
        (int(line.doc_id.split("-")[1]), line.score)
        for line in at_work.take(0, at_work.read(table))
    ]


# --- declarations ---------------------------------------------------------------------------


def test_a_filter_prints_as_it_is_written() -> None:
    assert set(FILTERS) == {"names", "relevance_model", "incremental"}
    for name in FILTERS:
        assert parse_filter(str(parse_filter(name))) == parse_filter(name)
    assert str(parse_filter(" Names( common = 0.5 ) ")) == "names(half=1,title=2,common=0.5)"


@pytest.mark.parametrize(
    ("text", "error", "what"),
    [
        ("name", UnknownName, "Did you mean 'names'"),
        ("names(commom=1)", UnknownName, "Did you mean 'common'"),
        ("names(common=x)", CitebedError, "'common=x' does not give a number"),
        ("names(common=-1)", CitebedError, "of 0 or more"),
        ("names)", CitebedError, "is not a filter model"),
        ("incremental(least=1)", CitebedError, r"least=1 is not in \[0, 1\)"),
        ("relevance_model(mu=0)", CitebedError, "without smoothing"),
    ],
)
def test_an_invalid_filter_is_refused(text: str, error: type[Exception], what: str) -> None:
    with pytest.raises(error, match=what):
        parse_filter(text)


def test_buckets_must_be_a_sensible_number() -> None:
    with pytest.raises(CitebedError, match="buckets=7 is not a whole number"):
        parse_filter("incremental(buckets=7)").start(TOPICS, FilterContext())


# --- by hand --------------------------------------------------------------------------------


def test_names_by_hand(tmp_path: Path) -> None:
    """x / (x + 1) with the evidence x worked out by hand.

    b: a title (2) and two mentions in the text: x = 4. c: "Tree House" names two topics, half
    for each; "Bo Elm" names only elm, and does not count as "Elm" too: x = 1/2 and 1 1/2. d: the
    longest name belongs to sea, and does not mention oak. e: "Elm" means elm in a quarter of its
    uses, and is in the title: x = 1/2; "elms" and "Elmwood" are other words.
    """
    docs = [{**doc, "time": int(doc["doc_id"].split("-")[0])} for doc in START]
    rows, report = filtered(tmp_path, docs, "names")
    assert rows == [
        ("1300000001-b", "oak", 800), ("1300000002-c", "oak", 333), ("1300000002-c", "elm", 600),
        ("1300000003-d", "sea", 500), ("1300000003-e", "elm", 333),
    ]  # fmt: skip
    assert (report.documents, report.lines, report.skipped) == (5, 5, 0)


def test_common_words_weigh_less_by_hand() -> None:
    """c = min(1, 0.001 · (N + 1000) / df): 1, 1, 0.501, 0.33433; the confidences c / (c + 1)."""
    topics = [Topic("e", (Name("elm"),))]
    rows = found(parse_filter("names(common=0.001)"), topics, ["elm"] * 4)
    assert rows == [(0, 500), (1, 500), (2, 334), (3, 251)]
    assert found(parse_filter("names(common=0)"), topics, ["elm"] * 4) == [
        (n, 500) for n in range(4)
    ]


def test_the_relevance_model_by_hand() -> None:
    """The topic is the term w alone. Before the third document the background has seen w twice
    among 7 terms, 4 different ones: P = P(w|C) = 2.5 / 9.5. With mu = 1 and a document "w x",
    s = ln((1 + P) / 3P) = ln 1.6; the best of two terms would be "w w" with
    s* = ln((2 + P) / 3P) = ln 2.86667: 0.47000 / 1.05315 = 0.44628. The first document is less
    like the topic than the background is, and the second has nothing of it.
    """
    rows = found(
        parse_filter("relevance_model(mu=1)"), [Topic("q", (Name("w"),))], ["w x", "y y y z", "w x"]
    )
    assert rows == [(2, 446)]


def test_incremental_learning_by_hand() -> None:
    """σ(-3 + 4 · 1/2) = 0.26894 before the first judgement. It is one step of 1 - 0.26894 for
    the bias, the term's weight, and half of it for the mention's: then
    σ(-2.26894 + 4.36553 / 2 + 0.73106) = σ(0.64488) = 0.65584."""
    topics = [Topic("e", (Name("elm"),))]
    judged = {"0": {"e": True}}
    for gap, delay, second in ((1, 0, 656), (0, 0, 269), (10, 10, 269), (11, 10, 656)):
        tools = FilterContext(str.split, judged, delay)
        rows = found(parse_filter("incremental"), topics, ["elm", "elm"], tools, gap)
        assert rows == [(0, 269), (1, second)], (gap, delay)


def test_a_document_judged_not_relevant_lowers_what_is_like_it() -> None:
    topics = [Topic("e", (Name("elm"),))]
    texts = ["elm of the park", "elm of the park", "elm on stage"]
    rows = dict(
        found(
            parse_filter("incremental(least=0)"),
            topics,
            texts,
            FilterContext(str.split, {"0": {"e": False}}),
        )
    )
    assert rows[1] < rows[0]
    assert rows[1] < rows[2]


# --- slow twins -----------------------------------------------------------------------------

WORDS = st.sampled_from(
    [*("oak", "elm", "Ann", "sea", "salt", "of", "paints", "forests"), *"abcdefghijklmn"]
)
DOCS = st.lists(
    st.tuples(st.integers(0, 2), st.lists(WORDS, max_size=8), st.lists(WORDS, max_size=2)),
    max_size=25,
)
anything = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(40)
)


def made(parts: list[tuple[int, list[str], list[str]]]) -> list[Doc]:
    docs, time = [], 1300000000
    for number, (gap, text, title) in enumerate(parts):
        time += gap
        doc = {"doc_id": f"{time}-{number}", "time": time, "title": " ".join(title)}
        docs.append({**doc, "text": " ".join(text)})
    return docs


def assert_close(fast: Found, slow: Found) -> None:
    """The same documents for the same topics, with confidences within one of each other: sums
    in another order may round to the other side."""
    assert [row[:2] for row in fast] == [row[:2] for row in slow]
    assert all(abs(a[2] - b[2]) <= 1 for a, b in zip(fast, slow, strict=True))


@anything
@given(DOCS.filter(bool))
def test_names_are_as_the_obvious_way(tmp_path: Path, parts: list) -> None:
    docs = made(parts)
    rows, _ = filtered(tmp_path, docs, "names(common=0.001)", block=200)
    assert_close(rows, slow.by_names(NAMES, docs, common=0.001))


@anything
@given(DOCS, st.sets(st.integers(0, 24)))
def test_relevance_models_are_as_the_obvious_way(parts: list, trained: set[int]) -> None:
    docs = made(parts)
    ids = {doc["doc_id"] for n, doc in enumerate(docs) if n in trained}
    topics = [topic._replace(training=tuple(ids)) for topic in TOPICS[:1]] + TOPICS[1:]
    texts = {t.query_id: " ".join((*(n.name for n in t.names), t.text)) for t in topics}
    training = {t.query_id: set(t.training) for t in topics}
    expected = slow.by_relevance_model(texts, training, docs, mu=10.0, least=0.0)
    lines = all_lines("relevance_model(mu=10,least=0)", topics, docs, FilterContext(str.split))
    assert_close(lines, expected)


@anything
@given(DOCS, st.dictionaries(st.integers(0, 24), st.booleans()), st.integers(0, 4))
def test_incremental_learning_is_as_the_obvious_way(
    parts: list, judged: dict[int, bool], delay: int
) -> None:
    docs = made(parts)
    labels = {
        doc["doc_id"]: {("oak", "elm")[n % 2]: judged[n], "sea": not judged[n]}
        for n, doc in enumerate(docs)
        if n in judged
    }
    plain = [topic._replace(training=()) for topic in TOPICS]
    lines = all_lines("incremental", plain, docs, FilterContext(str.split, labels, delay))
    assert_close(lines, slow.by_incremental(NAMES, labels, docs, delay))


def all_lines(model: str, topics: list[Topic], docs: list[Doc], tools: FilterContext) -> Found:
    """Return a model's rows for batches of three documents."""
    lines, _ = left_after(model, topics, docs, 3, tools)
    return [(line.doc_id, line.query_id, int(line.score)) for line in lines]


# --- many at a time -------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "delay"), [*((model, 0) for model in MODELS), (MODELS[2], 30)])
def test_the_size_of_a_batch_changes_no_bit(model: str, delay: int) -> None:
    """Not of the lines, and not of the state after them; so that parts of a stream may be scored
    on any machine. Only incremental learning waits for judgements."""
    docs = stream(sized(60, 200))
    tools = FilterContext(str.split, LABELS, delay, lambda word: None if word == "of" else word)
    whole = left_after(model, TOPICS, docs, 1000, tools)
    assert len(whole[0]) > 5
    for size in (1, 7, 50):
        lines, state = left_after(model, TOPICS, docs, size, tools)
        assert lines == whole[0]
        assert state.keys() == whole[1].keys()
        assert all(np.array_equal(state[name], whole[1][name]) for name in state)


def test_words_that_were_forgotten_have_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    docs = stream(30)
    for model in MODELS[1:]:
        remembered = all_lines(model, TOPICS, docs, FilterContext(str.split, LABELS))
        monkeypatch.setattr(online_learning, "_REMEMBERED", 3)
        assert all_lines(model, TOPICS, docs, FilterContext(str.split, LABELS)) == remembered
        monkeypatch.undo()


def test_how_many_frequencies_are_in_memory_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = all_lines(MODELS[1], TOPICS, stream(30), FilterContext(str.split))
    for cells in (1, 40):
        monkeypatch.setattr(relevance_model, "_CELLS", cells)
        assert all_lines(MODELS[1], TOPICS, stream(30), FilterContext(str.split)) == whole


def left_after(
    model: str, topics: list[Topic], docs: list[Doc], size: int, tools: FilterContext
) -> tuple[list[FilterLine], State]:
    """The lines of a stream that comes so many documents at a time, and what is known then."""
    at_work = parse_filter(model).start(topics, tools)
    lines: list[FilterLine] = []
    for first in range(0, len(docs), size):
        part = docs[first : first + size]
        data = "".join(json.dumps(doc) + "\n" for doc in part).encode()
        table = decode(Block(data, 1, len(part)), naive_is_utc=False).table
        lines += at_work.take(first, at_work.read(table))
    return lines, at_work.state()


# --- no look ahead --------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_documents_to_come_change_nothing(tmp_path: Path, model: str) -> None:
    docs = stream()
    whole, _ = filtered(tmp_path, docs, model)
    assert len({doc_id for doc_id, _, _ in whole}) > 5
    for length in (3, 40):
        part, _ = filtered(tmp_path, docs[:length], model)
        ids = {doc["doc_id"] for doc in docs[:length]}
        assert part == [row for row in whole if row[0] in ids]


@pytest.mark.parametrize("delay", [0, 7])
def test_judgements_to_come_change_nothing(tmp_path: Path, delay: int) -> None:
    docs = stream()
    model = "incremental(least=0)"
    without = {k: v for k, v in LABELS.items() if k != "1300000120-n20"}
    with_it, _ = filtered(tmp_path, docs, model, FilterContext(str.split, LABELS, delay))
    rows, _ = filtered(tmp_path, docs, model, FilterContext(str.split, without, delay))
    times = [int(row[0].split("-")[0]) for row in rows]
    changed = [time for time, a, b in zip(times, rows, with_it, strict=True) if a != b]
    assert min(changed) == 1300000121 + delay


def test_training_documents_teach_only_later_ones(tmp_path: Path) -> None:
    docs = stream()
    model = "relevance_model(least=0)"
    with_it, _ = filtered(tmp_path, docs, model)
    without = [topic._replace(training=topic.training[:1]) for topic in TOPICS]
    rows = all_lines(model, without, docs, FilterContext(str.split))
    assert [row for row in with_it if row[0] <= "1300000140-n40"] == [
        row for row in rows if row[0] <= "1300000140-n40"
    ]
    assert with_it[-1] != rows[-1]
