"""Two runs behind an option, as two words or with a comma between them."""

from __future__ import annotations

import pytest

from citebed.cli.app import main, split_pairs
from citebed.errors import CitebedError


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("j.qrels a.run b.run --pair a b --plots p", "j.qrels a.run b.run --pair a b --plots p"),
        ("j.qrels a.run b.run --pair a,b --plots p", "j.qrels a.run b.run --pair a b --plots p"),
        ("--pair a,b j.qrels a.run b.run", "--pair a b j.qrels a.run b.run"),
        ("--pair=a,b j.qrels a.run b.run", "--pair a b j.qrels a.run b.run"),
        # a comma in a file's name does not separate two names
        ("j.qrels a,b.run c.run --pair a,b c", "j.qrels a,b.run c.run --pair a,b c"),
        (
            "j.qrels x/a,b.run c.run --pair x/a,b.run c",
            "j.qrels x/a,b.run c.run --pair x/a,b.run c",
        ),
        ("j.qrels a.run -m AP,P@5", "j.qrels a.run -m AP,P@5"),
    ],
)
def test_both_ways_of_writing(typed: str, meant: str) -> None:
    assert split_pairs(typed.split()) == meant.split()


@pytest.mark.parametrize("words", ["--pair a", "--pair a --plots p"])
def test_one_run_is_not_a_pair(words: str) -> None:
    with pytest.raises(CitebedError, match="--pair takes two runs"):
        split_pairs(words.split())


@pytest.mark.parametrize("verb", ["contrast", "timeline"])
def test_both_verbs_say_it_alike(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "j.qrels", "k.qrels", "a.run", "--pair", "a", "--plots", "p"]) == 1
    assert "--pair takes two runs, --pair A B or --pair A,B; found 'a'." in capsys.readouterr().err
