"""Every verb's table on a narrow screen, a wide one and in a pipe: no number is ever cut."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from tests.commands import Run
from tests.shared import Once

import citebed
from citebed.cli.app import main
from citebed.judging import open_campaign
from citebed.judging.demo import demo_papers, play_authors

START, DAY = 1_317_945_600, 86_400
NUMBER = re.compile(r"[-+−]?\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?")
VERBS = {
    "stats": "stats mine",
    "table1": "stats mine --table1",
    "evaluate": "evaluate t.qrels first.run second.run -m AP -m nDCG@10 -m NumRet -m Rprec",
    "queries": "evaluate t.qrels first.run -q -m AP -m nDCG@10 -m P@5",
    "compare": "compare t.qrels first.run second.run third.run -m AP -m nDCG@10 --correct holm",
    "contrast": "contrast t.qrels more.qrels first.run second.run third.run -m AP",
    "pool-bias": "pool-bias t.qrels first.run second.run third.run -m AP",
    "timeline": "timeline t.qrels first.run second.run --slice 7d -m AP -m P@5 --per-slice",
    "official": "timeline official t.qrels first.run second.run",
    "robustness": "robustness --measures AP,nDCG@R -D 10,20 --rankings 10 --part measures",
    "qrels": "qrels stats t.qrels more.qrels",
    "status": "campaign status cr",
    "questions": "campaign questions cr",
    "tables": "campaign tables cr",
}
WRITTEN: dict[str, dict[str, tuple[str, ...]]] = {
    "stats": {"value": (",.0f", ",.1f", ",.2f")},
    "evaluate": {"value": (".4f", ".0f"), "low": (".4f",), "high": (".4f",)},
    "queries": {"value": (".4f",)},
    "compare": {"value": (".4f",), "difference": ("+.4f",), "low": ("+.4f",), "p": (".4f",)},
    "timeline": {"value": (".4f",), "low": (".4f",), "high": (".4f",)},
    "robustness": {"correlation": (".3f",), "largest_move": (".3f",), "mean_move": (".3f",)},
    "qrels": {"value": (".0f", ",.0f", ".2f", ".4f", ".3f", ".1f")},
}
"""The fields of a verb's rows for programs, and how its table writes them."""


@pytest.fixture
def here(command: Run, once: Once) -> Run:
    """The command line in a folder with judgements, runs, a collection and a campaign."""

    def make(folder: Path) -> None:
        folder.mkdir()
        rng = random.Random(4)
        docs = [f"{START + k * DAY // 12 + 3600}-doc{k}" for k in range(2400)]
        runs: dict[str, list[str]] = {name: [] for name in ("first", "second", "third")}
        judged: dict[str, list[str]] = {"t": [], "more": []}
        for query in ("query-of-a-long-name-1", "q2", "q3", "q4", "q5", "q6"):
            found = rng.sample(docs, 1200)
            for doc in rng.sample(found, 60):
                judged["t"].append(f"{query} 0 {doc} {rng.randint(0, 2)}\n")
                judged["more"].append(f"{query} 0 {doc} {rng.randint(0, 2)}\n")
            for name, lines in runs.items():
                lines += [f"{query} Q0 {d} 1 {rng.randint(1, 1000)} {name}\n" for d in found]
        for name, lines in runs.items():
            (folder / f"{name}.run").write_text("".join(lines))
        for name, lines in judged.items():
            (folder / f"{name}.qrels").write_text("".join(lines))
        citebed.demo(folder / "mine")
        (folder / "papers.csv").write_bytes(demo_papers())
        place = str(folder / "cr")
        mine, papers = str(folder / "mine"), str(folder / "papers.csv")
        words = ["new", place, "--collection", mine, "--papers", papers, "--contact", "me@x.org"]
        assert main(["campaign", *words]) == 0
        assert main(["campaign", "invite", place, "--forms", "text", "--on", "2024-01-01"]) == 0
        play_authors(open_campaign(place), folder / "inbox")
        assert main(["campaign", "returns", place, str(folder / "inbox")]) == 0

    shutil.copytree(once("table widths", make), ".", dirs_exist_ok=True)
    return command


def numbers(text: str) -> Counter[str]:
    return Counter(NUMBER.findall(text))


@pytest.mark.parametrize("verb", VERBS)
def test_no_table_cuts_a_number(verb: str, here: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    words = VERBS[verb].split()
    here(*words)  # what a first call says once
    monkeypatch.delenv("COLUMNS", raising=False)
    code, piped, _ = here(*words)
    assert code == 0
    rows = json.loads(here(*words, "--json")[1])
    rows = [row for row in rows if row.get("group") != "years"]  # the table has the range
    for row in rows:
        for field, forms in WRITTEN.get(verb, {}).items():
            if isinstance(value := row.get(field), float | int):
                texts = {format(value, form).replace("-", "−") for form in forms}
                assert texts & set(numbers(piped.replace("-", "−"))), (row, field)
    for width in (80, 60, 40):
        monkeypatch.setenv("COLUMNS", str(width))
        _, narrow, _ = here(*words)
        missing = set(numbers(piped)) - set(numbers(narrow))
        assert not missing, f"{verb} at {width} columns lacks {missing}"
