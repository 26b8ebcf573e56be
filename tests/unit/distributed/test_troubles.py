"""Engines that are not there, or not what they should be: told in a sentence, without a stack."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest

import citebed
from citebed._version import __version__
from citebed.cli.app import main
from citebed.distributed import arrow, run_rows, sessions, shuffle
from citebed.distributed.engine import Engine
from citebed.distributed.errors import translate_error, translate_errors
from citebed.distributed.sessions import collect_frame
from citebed.errors import CitebedError
from citebed.timeline.filters import parse_filter
from citebed.timeline.filters.runner import FilterTask
from citebed.timeline.filters.topics import FilterContext, read_topics
from citebed.timeline.streams.stream_files import file_source

JAVA = "\n\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:2790)"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("ModuleNotFoundError: No module named 'citebed'", "workers have no citebed: install"),
        ("ModuleNotFoundError: No module named 'citebed.distributed'", "have no citebed: install"),
        ("ModuleNotFoundError: No module named 'polars'", "workers have no polars in the Python"),
        (
            "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.12 than that in "
            "driver: 3.11, PySpark cannot run with different minor versions.",
            "workers run Python 3.12, and this is Python 3.11",
        ),
        (
            'java.io.IOException: Cannot run program "/no/python": error=2, No such file',
            "find no /no/python: name a Python",
        ),
        (
            "[PATH_NOT_FOUND] Path does not exist: hdfs://a:9000/b.run. SQLSTATE: 42K03",
            r"^hdfs://a:9000/b.run: the engine finds no such file",
        ),
        (
            "The length of s3a://b/a.gz is 3000000000, which exceeds the max length allowed: 99.",
            r"^s3a://b/a.gz is larger than the engine can pass to a worker",
        ),
        ("java.lang.UnsupportedClassVersionError: org/apache/spark/Main", "needs Java 17"),
        ("Caused by: something odd", "^the engine gave up: something odd$"),
        ("ExecutorLostFailure: Command exited with code 137", "too little memory"),
        (
            "AttributeError: Can't get attribute 'place' on <module 'citebed.distributed.x'",
            "workers have another version of citebed: install citebed",
        ),
    ],
)
def test_what_spark_says_is_a_sentence(said: str, expected: str) -> None:
    with pytest.raises(CitebedError, match=expected):
        raise CitebedError(translate_error(RuntimeError(said + JAVA)))
    assert "scala" not in translate_error(RuntimeError(said + JAVA))


def test_citebeds_errors_are_left_as_they_are() -> None:
    with pytest.raises(ZeroDivisionError), translate_errors():
        raise ZeroDivisionError
    with pytest.raises(CitebedError, match=r"^mine$"), translate_errors():
        raise CitebedError("mine")


def test_who_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")
    monkeypatch.setattr(sessions, "SECONDS", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"sc://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(CitebedError, match="does not speak gRPC"), citebed.engine(address):
            pass


@contextmanager
def server_of(version: str) -> Iterator[str]:
    """A server that speaks Spark Connect, and knows its version only."""
    grpc: Any = pytest.importorskip("grpc", reason="the extra 'spark' is not installed")
    from pyspark.sql.connect.proto import base_pb2, base_pb2_grpc

    class Service(base_pb2_grpc.SparkConnectServiceServicer):
        def AnalyzePlan(self, request: Any, _context: Any) -> Any:
            answer = base_pb2.AnalyzePlanResponse(session_id=request.session_id)
            answer.spark_version.version = version
            return answer

        def Config(self, request: Any, _context: Any) -> Any:
            return base_pb2.ConfigResponse(session_id=request.session_id)

        def ReleaseSession(self, request: Any, _context: Any) -> Any:
            return base_pb2.ReleaseSessionResponse(session_id=request.session_id)

    server = grpc.server(ThreadPoolExecutor(2))
    base_pb2_grpc.add_SparkConnectServiceServicer_to_server(Service(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.stop(None)


def test_a_cluster_of_another_version_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "check_workers", lambda _: None)  # these have none
    with (
        server_of("3.5.1") as address,
        pytest.raises(CitebedError, match=r"is Spark 3\.5\.1; citebed needs Spark 4"),
        citebed.engine(address),
    ):
        pass
    with server_of("4.9.0") as address, citebed.engine(address) as opened:
        assert opened.session.version == "4.9.0"


def test_workers_are_checked_for_citebed(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions.check_workers(engine.session)

    class Missing:
        """Sail's worker is this process, which shall not find what workers import."""

        def find_spec(self, name: str, *_: object) -> None:
            if name == arrow.__name__:
                raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.delitem(sys.modules, arrow.__name__)
    monkeypatch.setattr(sys, "meta_path", [Missing(), *sys.meta_path])
    with pytest.raises(CitebedError, match=r"workers have no citebed: install citebed \d"):
        sessions.check_workers(engine.session)


@pytest.mark.parametrize(
    ("module", "command"),
    [(shuffle, "import"), (shuffle, "shards"), (shuffle, "filter"), (run_rows, "evaluate")],
)
def test_workers_of_another_version_are_refused(
    engine: Engine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: ModuleType,
    command: str,
) -> None:
    monkeypatch.setattr(module, "__version__", "0.0.1")
    (tmp_path / "a.qrels").write_text("q1 0 d0 1\n")
    (tmp_path / "a.run").write_text("q1 Q0 d0 1 2 me\n")
    (tmp_path / "a.bib").write_text("@article{a, title={A title}, author={One, A}, year=2001}\n")
    (tmp_path / "a.jsonl").write_text('{"id": "a", "time": "2011-10-07T00:00:00Z", "text": "a"}\n')
    (tmp_path / "topics.jsonl").write_text('{"query_id": "t", "name": "Ada"}\n')
    expected = rf"have citebed {__version__}, and this is 0\.0\.1: install the same"
    with pytest.raises(CitebedError, match=expected):
        _begin(command, engine, tmp_path)


def _begin(command: str, engine: Engine, folder: Path) -> None:
    """Run a command whose workers check their version."""
    if command == "import":
        engine.import_sources(folder / "c", [folder / "a.bib"])
    elif command == "evaluate":
        engine.evaluate(folder / "a.qrels", folder / "a.run")
    elif command == "shards":
        collect_frame(
            shuffle.each(engine, [1], lambda _: pl.DataFrame({"n": [1]}), {"n": pl.Int64})
        )
    else:
        source, topics = file_source(folder / "a.jsonl"), read_topics(folder / "topics.jsonl")
        task = FilterTask(source, topics, parse_filter("names"), FilterContext())
        engine.filter(task, folder / "out.run")


def test_a_missing_run_is_reported(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "a.qrels").write_text("q1 0 d0 1\n")
    with pytest.raises(CitebedError, match=r"nowhere\.run") as error:
        engine.evaluate(tmp_path / "a.qrels", tmp_path / "nowhere.run")
    assert "\n" not in str(error.value)
    with pytest.raises(CitebedError, match=r"nowhere\.parquet"):
        engine.evaluate(tmp_path / "a.qrels", tmp_path / "nowhere.parquet")


def test_what_lies_here_is_found_from_here(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "a.qrels").write_text("q1 0 d0 1\n")
    (folder / "a.run").write_text("q1 Q0 d0 1 2 me\n")
    monkeypatch.chdir(folder)
    assert engine.evaluate("a.qrels", "a.run", "AP").runs[0].values.tolist() == [[1.0]]


def test_the_whole_is_shown_with_debug(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CITEBED_DEBUG", raising=False)
    (tmp_path / "a.qrels").write_text("q1 0 d0 1\n")
    words = ["evaluate", str(tmp_path / "a.qrels"), "a.run", "--on", "sc://127.0.0.1:9"]
    assert main(words) == 1
    short = capsys.readouterr().err
    assert main([*words, "--debug"]) == 1
    whole = capsys.readouterr().err
    assert whole.endswith(short)
    assert "Traceback" in whole
    assert "Traceback" not in short
    assert "CITEBED_DEBUG" not in os.environ


_INTERRUPTED = """
import os, signal, time, citebed
signal.signal(signal.SIGINT, signal.SIG_IGN)  # as in the background of a script
with citebed.engine("local") as engine:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(1)  # for the listener to stop
    print(engine.session.range(3).count())
"""


def test_a_job_in_the_background_is_not_interrupted() -> None:
    pytest.importorskip("pysail", reason="the extra 'spark' is not installed")
    command = [sys.executable, "-c", _INTERRUPTED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr
