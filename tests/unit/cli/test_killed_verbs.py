"""Verbs that are killed at each of their steps on disk: old or new, never a part, and no loss."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.kills import KILLED, Victims, content, victims
from tests.sampling import sized
from tests.unit.timeline.filters.bursts import stream, write

from citebed.cli.app import main


class Verb(NamedTuple):
    """A command, the file that it writes, and each how many of its steps one kill comes."""

    words: str
    out: str
    every: int


FILTER = "filter s.jsonl -t t.jsonl --overwrite --checkpoint-every 0 -q"
VERBS = (
    Verb(f"{FILTER} -m names -o o.run --skipped o.txt", "o.run", sized(6, 1)),
    Verb(f"{FILTER} -m relevance_model -o o.run.gz", "o.run.gz", sized(6, 1)),
    Verb(f"{FILTER} -m incremental -j j.txt -o o.run", "o.run", sized(6, 1)),
    Verb("train prepare c --contexts ctx.jsonl -o o.xz -q", "o.xz", 1),
    Verb("report j.txt one.run -m AP --samples 100 -o o.html", "o.html", 1),
    Verb("timeline j.txt one.run --samples 100 --report o.html", "o.html", 1),
    Verb("fuse one.run two.run -o o.run", "o.run", 1),
)
each_verb = pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.words[:75])
OLD = b"earlier\n"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs") / "in"
    folder.mkdir()
    write(folder / "s.jsonl", stream(30))
    (folder / "t.jsonl").write_text('{"query_id": "oak", "name": "Ann Oak", "text": "oaks"}\n')
    (folder / "j.txt").write_text("oak 0 1300000001-b 1\noak 0 1300000003-d 1\n")
    for name, score in (("one", 2), ("two", 1)):
        lines = f"oak Q0 1300000001-b 1 {score} t\noak Q0 1300000003-d 2 1 t\n"
        (folder / f"{name}.run").write_text(lines)
    (folder / "ctx.jsonl").write_text('{"citing": "p1", "context": "Oaks.", "cited": "oak"}\n')
    (folder / "a.bib").write_text("@article{oak, title={Oak Trees}, abstract={Oaks grow.}}\n")
    assert main(["import", str(folder / "c"), str(folder / "a.bib"), "-q"]) == 0
    return folder


@pytest.fixture(scope="module")
def killed() -> Iterator[Victims]:
    with victims() as running:
        yield running


@each_verb
def test_killed_at_every_step(inputs: Path, tmp_path: Path, killed: Victims, verb: Verb) -> None:
    words, here = verb.words.split(), tmp_path / "w"
    shutil.copytree(inputs, here)
    assert killed.run(words, here) == 0, killed.said
    whole, names = (here / verb.out).read_bytes(), content(here).keys()
    code, steps, kills = KILLED, 0, 0
    while code == KILLED:
        shutil.rmtree(here)
        shutil.copytree(inputs, here)
        (here / verb.out).write_bytes(OLD)
        code = killed.run(words, here, "steps", steps)
        assert (here / verb.out).read_bytes() in (OLD, whole)
        if code == KILLED:
            kills += 1
            assert killed.run(words, here) == 0, killed.said
        assert (here / verb.out).read_bytes() == whole
        assert content(here).keys() == names
        steps += verb.every
    assert (code, kills > 1) == (0, True)


def test_evaluate_killed_at_any_moment(inputs: Path, tmp_path: Path, killed: Victims) -> None:
    shutil.copytree(inputs, tmp_path / "w")
    words, before = ["evaluate", "j.txt", "one.run", "two.run"], content(inputs)
    assert killed.run(words, tmp_path / "w") == 0
    said, seed = killed.said, random.Random("evaluate")
    for _ in range(sized(3, 100)):
        assert killed.run(words, tmp_path / "w", "after", seed.uniform(0, 0.4)) == KILLED
        assert content(tmp_path / "w") == before
    assert killed.run(words, tmp_path / "w") == 0
    assert killed.said == said


def test_a_ranker_killed_at_any_moment(tmp_path: Path, killed: Victims) -> None:
    from tests.unit.training.test_ranker import contexts_of_topics

    contexts_of_topics(tmp_path / "c")
    words = ["train", "ranker", "c", "-o", "ranker.json", "--questions", "15", "-q"]
    assert killed.run(words, tmp_path) == 0, killed.said
    whole, seed = (tmp_path / "ranker.json").read_bytes(), random.Random("ranker")
    names = content(tmp_path).keys()
    for _ in range(sized(2, 10)):
        (tmp_path / "ranker.json").write_bytes(OLD)
        assert killed.run(words, tmp_path, "after", seed.uniform(0, 6)) == KILLED
        assert (tmp_path / "ranker.json").read_bytes() in (OLD, whole)
    assert killed.run(words, tmp_path) == 0
    assert (tmp_path / "ranker.json").read_bytes() == whole
    assert content(tmp_path).keys() == names
