"""The verb find as a stranger types it."""

from __future__ import annotations

import json

import pytest
from tests.commands import Run, indexed
from tests.shared import Once
from tests.unit.cli.test_retrieve import BIB, XML


@pytest.fixture
def run(command: Run, once: Once) -> Run:
    """Run the command line in a folder that holds an indexed collection ``c``."""
    indexed(once, "two-trees", {"in/refs.bib": BIB, "in/p.xml": XML})
    return command


def found(run: Run, *words: str) -> list[str]:
    code, out, _ = run("find", "c", *words, "--json")
    assert code == 0
    return [row["doc_id"] for row in json.loads(out)]


def test_words_names_years_and_keys(run: Run) -> None:
    assert found(run, "bohm", "2001") == ["oak"]
    assert found(run, "10.5072/ELM")[0] == "elm"
    assert found(run, "elm")[0] == "elm"
    assert found(run, "forests", "--sort", "oldest") == ["oak", "elm", "own"]
    assert found(run, "forests", "--years", "2004-", "--type", "article") == ["own"]
    assert found(run, "--author", "Dow, Dee") == ["sea"]
    assert found(run, "--venue", "j. of trees", "--venue", "J. of Salt") == ["oak", "sea"]


def test_what_people_see(run: Run) -> None:
    code, out, _ = run("find", "c", "forests", "-k", "1", "--sort", "newest")
    assert code == 0
    assert "  1. My Own Paper on Forests" in out
    assert "cite as: own" in out
    assert "1 of 3 documents" in out
    assert "type: article (2); inproceedings (1)" in out
    code, out, err = run("find", "c", "oak", "salt")
    assert "note: no document has all of these words; these have some" in err
    assert run("find", "c", "xylophone")[1] == "0 documents\n"


def test_csv(run: Run) -> None:
    out = run("find", "c", "bohm", "--csv")[1]
    head, row = out.splitlines()
    assert head.startswith("rank,doc_id,score,title,authors,year")
    assert "Ash, Ann; Böhm, Bo" in row


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--years", "x"), "is not a range of years"),
        (("--sort", "worst"), "worst"),
        (("--json", "--csv"), "Choose one"),
    ],
)
def test_what_cannot_be(run: Run, words: tuple[str, ...], told: str) -> None:
    code, _, err = run("find", "c", *words)
    assert code == 1
    assert told in err
