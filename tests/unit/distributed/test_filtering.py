"""Streams filtered on an engine: the very bytes of one machine, and its words for what is wrong."""

from __future__ import annotations

import gzip
import json
import pickle
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.sampling import examples
from tests.unit.timeline.filters.bursts import LABELS, TOPICS, WORDS, stream, write

from citebed.cli.app import main
from citebed.distributed.engine import Engine
from citebed.distributed.filtering import driver, worker
from citebed.distributed.filtering.driver import filter_on
from citebed.errors import CitebedError, FormatError
from citebed.retrieval.analysis import ANALYSERS, analyser_of
from citebed.timeline.filters import parse_filter
from citebed.timeline.filters.runner import FilterOptions, FilterReport, FilterTask, run_filter
from citebed.timeline.filters.topics import FilterContext
from citebed.timeline.streams.stream_files import file_source

MODELS = ("names", "relevance_model", "incremental")
START = 1_300_000_000
OPTIONS = FilterOptions(overwrite=True)


class Here:
    """An engine without one: the workers' functions, called one after another."""

    def __init__(self, backwards: bool = False) -> None:
        self._backwards = backwards

    @property
    def session(self) -> Here:
        return self

    def range(self, start: int, end: int, step: int, parts: int) -> Here:
        assert (start, step, parts) == (0, 1, end)
        self._numbers = list(range(end))[:: -1 if self._backwards else 1]
        return self

    def mapInArrow(self, work: Callable[..., Iterator[Any]], schema: str) -> Here:
        assert schema.startswith("part bigint")
        self._work = work
        return self

    def toArrow(self) -> pa.Table:
        numbers = [pa.record_batch({"id": pa.array([n])}) for n in self._numbers]
        return pa.Table.from_batches(self._work(numbers))


def engine_here(backwards: bool = False) -> Engine:
    return cast("Engine", Here(backwards))


def done(filtered: Callable[[Path, FilterOptions], FilterReport], out: Path, **how: Any) -> Any:
    """Return a run's bytes, report and list, or its message and the files that it left."""
    skipped = out.with_suffix(".skipped")
    options = FilterOptions(overwrite=True, skipped=skipped, header={"a": "b"}, **how)
    try:
        report: FilterReport | str = filtered(out, options)._replace(output=Path("x"))
    except CitebedError as error:
        report = str(error)
    made = sorted(path.suffix for path in out.parent.iterdir() if path.stem == out.stem)
    return (
        report,
        out.read_bytes() if out.exists() else b"",
        skipped.read_bytes() if skipped.exists() else b"",
        made if isinstance(report, FilterReport) else None,
    )


def same(engine: Engine, task: FilterTask, folder: Path, part: int, **how: Any) -> Any:
    """One machine's, which an engine's must be."""
    for name in ("one", "two"):
        for old in folder.glob(f"{name}*"):
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    here = done(lambda out, opts: run_filter(task, out, opts), folder / "one.run", **how)
    there = done(
        lambda out, opts: filter_on(engine, task, out, opts, part=part), folder / "two.run", **how
    )
    assert here == there
    return here


# --- the same bytes ---------------------------------------------------------------------------

phrases = st.sampled_from([*WORDS, "Ann Oak", "Bo Elm", "Tree House", "Elm", "salt of the sea"])
texts = st.lists(phrases, min_size=0, max_size=6).map(" ".join)
names = st.sampled_from("abcdefgh")
good = st.tuples(st.sampled_from([0, 0, 1, 1, 2, 7]), names, texts, texts)
bad = st.sampled_from(["", "{", "[]", '{"doc_id": "x"}', '{"doc_id": "a b", "time": 5}', "\ufeff"])
streams = st.lists(st.one_of(good, good, good, good, good, bad), min_size=1, max_size=40)
labels = st.dictionaries(
    st.tuples(st.integers(0, 40), names),
    st.dictionaries(st.sampled_from(["oak", "elm", "sea", "other"]), st.booleans(), min_size=1),
    max_size=15,
)


def lines_of(drawn: list[Any], unordered: bool = False) -> str:
    lines, time = [], START
    for each in drawn:
        if isinstance(each, str):
            lines.append(each)
            continue
        step, name, title, text = each
        time += step * (-1 if unordered and step == 7 else 1)
        lines.append(json.dumps({"doc_id": name, "time": time, "title": title, "text": text}))
    return "".join(f"{line}\n" for line in lines)


@given(
    streams, labels, st.sampled_from(MODELS), st.sampled_from([0, 1, 5]),
    st.sampled_from([1, 200, 1000, 1 << 20]), st.sampled_from([0, 90]), st.booleans(),
    st.sampled_from(["", "", "", "strict", "unordered"]),
)  # fmt: skip
@settings(
    max_examples=examples(200), deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
def test_a_run_is_that_of_one_machine(  # noqa: PLR0913, PLR0917
    tmp_path: Path, drawn: Any, judged: Any, model: str, delay: int, part: int, block: int,
    backwards: bool, kind: str,
) -> None:  # fmt: skip
    path = tmp_path / "stream.jsonl"
    path.write_text(lines_of(drawn, kind == "unordered"), "utf-8")
    known = {f"{START + time}-{name}": pairs for (time, name), pairs in judged.items()}
    known |= {"a": {"oak": True}} if delay else {}
    tools = FilterContext(str.split, known, delay)
    task = FilterTask(file_source(path), TOPICS, parse_filter(_small(model)), tools)
    how = {"block": block, "strict": kind == "strict"}
    same(engine_here(backwards), task, tmp_path, part, **how)


def _small(model: str) -> str:
    """With fewer buckets, so that terms share some, and states are small."""
    return model if model == "names" else f"{model}(buckets=1024)"


@pytest.mark.parametrize("model", MODELS)
def test_on_an_engine(engine: Engine, tmp_path: Path, model: str) -> None:
    path = write(tmp_path / "s.jsonl", [*stream(150), {"doc_id": "no time"}, stream(150)[-1]])
    task = FilterTask(
        file_source(path), TOPICS, parse_filter(model), FilterContext(str.split, LABELS, 5)
    )
    report, run, *_ = same(engine, task, tmp_path, 2000)
    assert (report.documents, report.skipped, report.repeated) == (155, 2, 1)
    assert run.count(b"\n") > 10


def test_a_stream_at_an_address(engine: Engine, tmp_path: Path, task: FilterTask) -> None:
    """Several files are one stream, in the order of their names; it is copied once."""
    there, out = tmp_path / "a dump", tmp_path / "out"
    (there / "2012").mkdir(parents=True)
    lines = (tmp_path / "s.jsonl").read_bytes().splitlines()
    packed = gzip.compress(b"\xef\xbb\xbf" + b"\n".join(lines[40:80]))
    (there / "2011.jsonl").write_bytes(b"\n".join(lines[:40]))
    (there / "2012" / "01.jsonl.gz").write_bytes(packed)
    (there / "2012" / "02.jsonl").write_bytes(b"\n".join(lines[80:]) + b"\n")
    run_filter(task, tmp_path / "one", OPTIONS)
    far = task._replace(source=file_source(f"file://{there}"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(driver, "save_states", killed)
        with pytest.raises(Killed):
            filter_on(engine, far, out, OPTIONS, part=1500)
    shutil.rmtree(there)
    filter_on(engine, far, out, OPTIONS, part=1500)
    assert out.read_bytes() == (tmp_path / "one").read_bytes()
    assert sorted(path.name for path in tmp_path.glob("out*")) == ["out"]
    with pytest.raises(CitebedError, match="a dump"):
        filter_on(engine, far, tmp_path / "none", OPTIONS)
    assert not list(tmp_path.glob("none*"))
    (there / "2012").mkdir(parents=True)
    (there / "2012" / "01.jsonl.gz").write_bytes(packed[:-9])
    with pytest.raises(FormatError, match=r"file:///.*a dump \(a dump/2012/01.jsonl.gz\)"):
        filter_on(engine, far, tmp_path / "none", OPTIONS)


def test_another_stream_is_not_gone_on_with(
    engine: Engine, tmp_path: Path, task: FilterTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("2011", "2012"):
        (tmp_path / name).mkdir()
        shutil.copy(tmp_path / "s.jsonl", tmp_path / name)
    one, two = (
        task._replace(source=file_source(f"file://{tmp_path}/{name}")) for name in ("2011", "2012")
    )
    with monkeypatch.context() as patched:
        patched.setattr(driver, "save_states", killed)
        with pytest.raises(Killed):
            filter_on(engine, one, tmp_path / "out", OPTIONS)
    with pytest.raises(CitebedError, match="the stream's bytes"):
        filter_on(engine, two, tmp_path / "out", OPTIONS)


def test_the_command_writes_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = write(tmp_path / "s.jsonl", stream(80)).read_bytes()
    (tmp_path / "s.jsonl.gz").write_bytes(gzip.compress(plain))
    topic = {"query_id": "oak", "name": "Ann Oak", "text": "of forests", "training": ["none"]}
    (tmp_path / "t.jsonl").write_text(json.dumps(topic) + "\n")
    printed = []
    for more in ([], ["--on", "local"]):
        out = tmp_path / ("one.run.gz" if more else "two.run.gz")
        files = [str(tmp_path / "s.jsonl.gz"), "-t", str(tmp_path / "t.jsonl"), "-o", str(out)]
        assert main(["filter", *files, "-m", "relevance_model", *more]) == 0
        said = capsys.readouterr()
        printed.append((said.err, said.out.replace(out.name, ""), out.read_bytes()))
    assert printed[0] == printed[1]
    assert "1 judged or training document not in the stream: none" in printed[0][0]


def test_a_pattern_is_named_by_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pysail", reason="the extra 'spark' is not installed")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dump").mkdir()
    write(tmp_path / "dump" / "s.jsonl", stream(30))
    (tmp_path / "t.jsonl").write_text('{"query_id": "oak", "name": "Ann Oak"}')
    there = f"file://{tmp_path}/dump/*.jsonl"
    assert main(["filter", there, "-t", "t.jsonl", "--on", "local", "-q"]) == 0
    assert (tmp_path / "dump.names.run").is_file()


def test_progress_counts_bytes_of_the_stream(tmp_path: Path, task: FilterTask) -> None:
    told: list[int] = []
    filter_on(engine_here(), task, tmp_path / "out", OPTIONS, told.append, 1500)
    size = (tmp_path / "s.jsonl").stat().st_size
    assert size - 50 < sum(told) <= size  # half a byte may be lost in each part


# --- stopped, and gone on with ----------------------------------------------------------------


@pytest.fixture
def task(tmp_path: Path) -> FilterTask:
    path = write(tmp_path / "s.jsonl", stream(120))
    return FilterTask(
        file_source(path), TOPICS, parse_filter("incremental"), FilterContext(str.split, LABELS, 3)
    )


class Killed(BaseException):
    """Somebody stops it."""


def killed(*_: Any) -> None:
    raise Killed


@pytest.mark.parametrize("step", ["read_part", "store_learning_documents", "score_part"])
def test_a_run_that_was_stopped_goes_on(
    tmp_path: Path, task: FilterTask, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_filter(task, tmp_path / "one", OPTIONS)
    out = tmp_path / "out"
    done_before: list[int] = []
    again: list[int] = []

    def until_the_third(task: Any, number: int) -> None:
        if len(done_before) == 2:
            raise Killed
        done_before.append(number)
        getattr(worker, step)(task, number)

    monkeypatch.setattr(driver, step, until_the_third)
    with pytest.raises(Killed) as stopped:
        filter_on(engine_here(), task, out, OPTIONS, part=1500)
    assert "run the same command again" in stopped.value.__notes__[0]
    assert sorted(path.name for path in tmp_path.glob("out*")) == ["out.parts"]

    def the_rest(task: Any, number: int) -> None:
        again.append(number)
        getattr(worker, step)(task, number)

    monkeypatch.setattr(driver, step, the_rest)
    report = filter_on(engine_here(), task, out, OPTIONS, part=1500)
    assert again
    assert not set(again) & set(done_before)
    assert bool(report.resumed) == (step == "score_part")
    assert out.read_bytes() == (tmp_path / "one").read_bytes()
    assert sorted(path.name for path in tmp_path.glob("out*")) == ["out"]


def test_another_run_is_not_gone_on_with(
    tmp_path: Path, task: FilterTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "score_part", killed)
    with pytest.raises(Killed):
        filter_on(engine_here(), task, tmp_path / "out", OPTIONS)
    monkeypatch.undo()
    other = task._replace(declared=parse_filter("names"))
    with pytest.raises(CitebedError, match=r"made with the model 'incremental.*--restart"):
        filter_on(engine_here(), other, tmp_path / "out", OPTIONS)
    with (tmp_path / "s.jsonl").open("a") as file:
        file.write('{"doc_id": "late", "time": 1400000000, "text": "Ann Oak"}\n')
    with pytest.raises(CitebedError, match="made with other the stream's bytes"):
        filter_on(engine_here(), task, tmp_path / "out", OPTIONS)
    over = replace(OPTIONS, restart=True)
    assert filter_on(engine_here(), task, tmp_path / "out", over).documents == 126


def test_what_one_machine_has_begun_is_not_lost(tmp_path: Path, task: FilterTask) -> None:
    (tmp_path / "out.partial").write_text("#{}\n")
    (tmp_path / "out.checkpoint").write_text("begun")
    with pytest.raises(CitebedError, match="was begun on one machine"):
        filter_on(engine_here(), task, tmp_path / "out", OPTIONS)
    assert (tmp_path / "out.checkpoint").read_text() == "begun"
    filter_on(engine_here(), task, tmp_path / "out", replace(OPTIONS, restart=True))


# --- what is refused --------------------------------------------------------------------------


def test_a_folder_that_citebed_did_not_create_stays(tmp_path: Path, task: FilterTask) -> None:
    kept = tmp_path / "out.parts" / "thesis.tex"
    kept.parent.mkdir()
    kept.write_text("mine")
    for restart in (False, True):
        with pytest.raises(CitebedError, match="was not created by citebed"):
            filter_on(engine_here(), task, tmp_path / "out", replace(OPTIONS, restart=restart))
    shutil.rmtree(kept.parent)
    (tmp_path / "elsewhere").mkdir()
    kept.parent.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CitebedError, match="was not created by citebed"):
        filter_on(engine_here(), task, tmp_path / "out", OPTIONS)


def test_a_worker_that_does_not_see_the_stream_says_so(
    tmp_path: Path, task: FilterTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = driver._Run._plan

    def elsewhere(*given: Any) -> Any:
        return planned(*given)._replace(stream=tmp_path / "not here")

    monkeypatch.setattr(driver._Run, "_plan", elsewhere)
    with pytest.raises(CitebedError, match=r"a worker does not see .*not here.*shared"):
        filter_on(engine_here(), task, tmp_path / "out", OPTIONS)


def test_analysers_that_cannot_be_sent_are_refused(tmp_path: Path, task: FilterTask) -> None:
    there = task._replace(tools=FilterContext(lambda text: text.split()))
    with pytest.raises(CitebedError, match="cannot be sent to workers"):
        filter_on(engine_here(), there, tmp_path / "out", OPTIONS)


@pytest.mark.parametrize("name", [*ANALYSERS, "snowball(german)", "mixed(english,chinese)"])
def test_what_analysers_do_can_travel(name: str) -> None:
    analyser = analyser_of(name)
    words, term = pickle.loads(pickle.dumps((analyser.words, analyser.term)))
    text = "The authors' running of Retrieval-Based 検索 systems; Häuser and the rest."
    assert [it for word in words(text) if (it := term(word))] == analyser.terms(text)


def test_a_stream_without_a_document(tmp_path: Path, task: FilterTask) -> None:
    (tmp_path / "s.jsonl").write_text("{}\n")
    with pytest.raises(FormatError, match="its only line is not a document"):
        filter_on(engine_here(), task, tmp_path / "out", OPTIONS)
    assert not list(tmp_path.glob("out*"))
