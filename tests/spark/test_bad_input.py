"""Sparks that do not work: told in a sentence, without Java's stack or Spark's log."""

from __future__ import annotations

import re
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.spark.clusters import MASTER, WORKERS, Command
from tests.spark.works import WORKS, lay_indexed_shards

pytestmark = pytest.mark.spark
NOISE = re.compile(r"\tat |Exception|WARN|log4j|\[Stage")
EVALUATE = next(work for work in WORKS if work.name == "evaluate")
_PATH = f"spark.executorEnv.PYTHONPATH={WORKERS}"


def said(folder: Path, on: str, *more: str) -> str:
    """Return the message of a command that fails."""
    EVALUATE.prepare(folder)
    words = [*EVALUATE.words, "--on", on]
    command = Command(folder, [*words, "--spark-conf", "spark.ui.enabled=false", *more])
    assert command.ended() == (1, ""), command.notes
    return command.notes


def told(folder: Path, on: str, *conf: str) -> str:
    """Return the only line of the message."""
    notes = said(folder, on, *(word for each in conf for word in ("--spark-conf", each)))
    assert not NOISE.search(notes)
    assert notes.startswith("citebed: ")
    assert len(notes.splitlines()) == 1
    return notes


def test_java_is_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert "needs Java 17, but java was not found in PATH. Install it" in told(tmp_path, "local[1]")


def test_java_is_not_where_it_should_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert "no java in JAVA_HOME (/nowhere)" in told(tmp_path, "local[1]")


def test_java_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        '#!/bin/sh\necho "java.lang.UnsupportedClassVersionError: org/apache/spark/launcher/Main '
        'has been compiled by a more recent version" >&2\nexit 1\n'
    )
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    (tmp_path / "in").mkdir()
    assert "needs Java 17 or later, and the Java here is older" in told(tmp_path / "in", "local[1]")


def test_another_spark_is_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jar = tmp_path / "spark" / "jars" / "spark-core_2.12-3.5.1.jar"
    jar.parent.mkdir(parents=True)
    jar.touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    assert "is Spark 3.5.1, and pyspark here is 4" in told(tmp_path, "local[1]")


@pytest.mark.parametrize("on", ["spark://127.0.0.1:1", "sc://127.0.0.1:1", "k8s://127.0.0.1:1"])
def test_nobody_is_there(tmp_path: Path, on: str) -> None:
    assert "no answer from" in told(tmp_path, on)


@pytest.fixture
def silent() -> Iterator[str]:
    """Return the address of a server that accepts connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def test_who_is_there_is_no_master(tmp_path: Path, silent: str) -> None:
    assert "no Spark master accepts work" in told(tmp_path, f"spark://{silent}")


@pytest.mark.parametrize(
    ("conf", "words"),
    [
        ("spark.python.worker.module=pyspark_without_citebed", "workers have no citebed: install"),
        ("spark.python.worker.module=pyspark_other_python", "workers run Python 3.99, and this is"),
        ("spark.pyspark.python=/nowhere/python", "workers find no /nowhere/python: name"),
    ],
)
def test_workers_have_not_what_they_need(tmp_path: Path, conf: str, words: str) -> None:
    assert words in told(tmp_path, MASTER, _PATH, conf)


def test_the_stack_is_shown_with_debug(tmp_path: Path) -> None:
    conf = ["--spark-conf", "spark.pyspark.python=/nowhere/python"]
    notes = said(tmp_path, "local[1]", *conf, "--debug")
    assert "\tat org.apache.spark" in notes
    assert notes.splitlines()[-1].startswith("citebed: the engine's workers find no /nowhere/")


def test_a_run_is_missing(tmp_path: Path) -> None:
    EVALUATE.prepare(tmp_path)
    shutil.rmtree(tmp_path / "parts.run")
    words = ["evaluate", "some.qrels", "parts.run", "--on", "local[1]"]
    command = Command(tmp_path, words)
    assert command.ended() == (1, "")
    assert "parts.run: the engine finds no such file" in command.notes
    assert not NOISE.search(command.notes)


@pytest.mark.parametrize(("damage", "words"), [("folder", "is not there"), ("format", "format 9")])
def test_a_shard_is_missing_or_of_another_format(tmp_path: Path, damage: str, words: str) -> None:
    lay_indexed_shards(tmp_path)
    shard = tmp_path / "c" / "shards" / "00002"
    if damage == "folder":
        shutil.rmtree(shard)
    else:
        facts = shard / "index" / "index.json"
        facts.write_text(re.sub(r'"format": \d+', '"format": 9', facts.read_text()))
    search = ["search", "c", "--queries", "asked.jsonl", "-o", "found.run", "--on", "local[1]"]
    command = Command(tmp_path, search)
    assert command.ended() == (1, "")
    assert "the shard 00002" in command.notes
    assert words in command.notes
    assert not NOISE.search(command.notes)
    assert not (tmp_path / "found.run").exists()
