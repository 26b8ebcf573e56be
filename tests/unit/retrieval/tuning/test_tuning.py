"""Weights tuned on real citations: queries, the choice, the report, and undoing it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.retrieval.index.making import write_collection

import citebed
from citebed.cli.app import main
from citebed.collection import open_collection
from citebed.errors import CitebedError
from citebed.retrieval.index.index import open_index
from citebed.retrieval.ranking.collection_weights import (
    CollectionWeights,
    choose_weight,
    read_weights,
)
from citebed.retrieval.ranking.weight_fit import WEIGHTS, build_index
from citebed.retrieval.tuning import (
    FAMES,
    Question,
    both_chosen,
    cross_validated,
    of_drafts,
    of_queries,
    tune,
)

SUBJECTS = ("tree", "river", "harbour", "violin", "cloud", "engine", "garden", "letter")
OWN = len(WEIGHTS) - 1
TEX = r"""\documentclass{article}\title{A paper on trees of our own}\begin{document}
Trees were measured by others before us \cite{d003}. Rivers were too \cite{other,d005}.
Nobody is cited here. What is not in the library is no answer \cite{gone}.
\bibliography{mine}\end{document}
"""
BIB = """@article{other, title = {On rivers and what they do, seven}, doi = {10.1145/seven}}
@article{gone, title = {A thing that nobody has}}
"""


def document(number: int) -> dict[str, Any]:
    """A document that has a number of its own, which vectors do not know."""
    own, subject = 90_000 + number, SUBJECTS[number % 8]
    said = f"The {subject} of {own} is measured here. It is large, and it is seen by all of us."
    return {"doc_id": f"d{number:03d}", "title": f"On {subject}s, part {own}", "abstract": said}


def made(folder: Path, queries: int = 0, papers: int = 5) -> Path:
    """A collection of 60 documents whose queries name these by their numbers."""
    rows = [document(n) for n in range(60)]
    rows[7] |= {"doi": "10.1145/seven"}
    asked = [
        {"query_id": f"q{n}", "text": f"Large and seen by all, as was that of {90_000 + n} [1].",
         "paper_id": f"p{n % papers}"}
        for n in range(queries)
    ]  # fmt: skip
    judged = "".join(f"q{n} 0 d{n:03d} 1\n" for n in range(queries))
    sets = {"mine": asked} if queries else None
    return write_collection(folder, rows, queries=sets, qrels={"mine": judged} if queries else None)


def known(folder: Path) -> CollectionWeights:
    fit = read_weights(open_index(folder))
    assert fit is not None
    return fit


def test_sentences_of_a_draft_ask_for_what_they_cite(tmp_path: Path) -> None:
    folder = made(tmp_path / "c")
    (tmp_path / "mine.bib").write_text(BIB)
    (tmp_path / "a.tex").write_text(TEX)
    (tmp_path / "b.md").write_text("Gardens are described elsewhere [@d006; @doi:10.1145/seven].\n")
    found = of_drafts(open_collection(folder), [tmp_path / "a.tex", tmp_path / "b.md"])
    assert [(each.text, set(each.relevant), each.asker) for each in found] == [
        ("Trees were measured by others before us.", {"d003"}, "draft 1"),
        ("Rivers were too.", {"d005", "d007"}, "draft 1"),
        ("Gardens are described elsewhere.", {"d006", "d007"}, "draft 2"),
    ]


def test_the_draft_itself_is_not_an_answer(tmp_path: Path) -> None:
    folder = made(tmp_path / "c")
    text = "# On trees, part 90000\n\nWe cite ourselves [@d000], and another work [@d001].\n"
    (tmp_path / "a.md").write_text(text)
    (found,) = of_drafts(open_collection(folder), [tmp_path / "a.md"])
    assert (set(found.relevant), found.exclude) == ({"d001"}, ("d000",))


def test_judgements_of_files_stand_for_those_of_a_set(tmp_path: Path) -> None:
    folder = made(tmp_path / "c", queries=3)
    opened = open_collection(folder)
    assert [each.relevant for each in of_queries(opened, "mine")] == [
        {"d000": 1}, {"d001": 1}, {"d002": 1},
    ]  # fmt: skip
    (tmp_path / "a.qrels").write_text("q1 0 d005 2\nq1 0 d006 0\nq1 0 gone 1\nq9 0 d001 1\n")
    (tmp_path / "b.qrels").write_text("q1 0 d005 1\nq1 0 d004 1\n")
    (found,) = of_queries(opened, "mine", [tmp_path / "a.qrels", tmp_path / "b.qrels"])
    assert found.relevant == {"d005": 2, "d004": 1}
    assert (found.asker, found.paper) == ("p1", "p1")


def gains(best: int, of_prior: float, spread: float = 0.1, count: int = 400) -> Any:
    """Return gains that are highest for one weight; the last one, the prior's, is worse."""
    rows = np.full((len(WEIGHTS), count), 0.1)
    noise = np.resize([spread, -spread], count)
    rows[best] = 0.5
    rows[best + 1] = 0.499 + noise
    rows[OWN] = of_prior + noise
    return rows


def test_the_nearest_that_is_good_is_chosen() -> None:
    # A standard error of 0.1 / 20 = 0.005.
    assert choose_weight(gains(3, 0.4), OWN) == 4
    assert choose_weight(gains(3, 0.496), OWN) == OWN
    assert choose_weight(gains(3, 0.494), OWN) == 4
    assert choose_weight(gains(3, 0.4), 0) == 3
    assert choose_weight(np.zeros((len(WEIGHTS), 30)), 2) == 2


def test_who_is_measured_did_not_choose() -> None:
    """One paper of five wants another weight, by very much: its own questions must not get it."""
    rows = np.full((len(WEIGHTS), 50), 0.5)
    questions = [Question("", {"d": 1}, f"p{n // 10}") for n in range(50)]
    rows[0, :10], rows[OWN, :10] = 1.0, 0.0
    found = cross_validated(rows[:, None], questions, (OWN, 0))
    assert found[:10].tolist() == [0.0] * 10
    assert found[10:].tolist() == [0.5] * 40


def test_a_single_draft_is_measured_in_parts() -> None:
    rows = np.full((len(WEIGHTS), 50), 0.1)
    rows[2] = 0.6
    questions = [Question("", {"d": 1}, "draft 1")] * 50
    assert cross_validated(rows[:, None], questions, (OWN, 0)).tolist() == [0.6] * 50


def test_vectors_are_chosen_before_fame() -> None:
    """Fame is chosen with the weight of vectors that was; alone, less of it would do as well."""
    rows = np.full((len(WEIGHTS), len(FAMES), 50), 0.1)
    rows[2], rows[2, 1] = 0.6, 0.7
    last = len(FAMES) - 1
    assert both_chosen(rows, (OWN, last)) == (2, 1)
    rows[2, 1] = 0.6
    assert both_chosen(rows, (OWN, last)) == (2, last)


def test_being_cited_may_count_less(tmp_path: Path) -> None:
    """All contexts cite one document, which none of the queries wants."""
    folder = made(tmp_path / "c", queries=40)
    said = {"context": "This was measured by many, and seen by all of us.", "cited": "d059"}
    lines = [json.dumps({"citing": f"x{n}", "year": 2000 + n, **said}) for n in range(20)]
    (tmp_path / "contexts.jsonl").write_text("\n".join(lines))
    mine = citebed.open(folder)
    mine.index(citing=[tmp_path / "contexts.jsonl"], quiet=True)
    found = mine.tune(quiet=True)
    assert found.fame_before == 1.0
    assert found.after >= found.before
    assert known(folder).fame == found.fame <= 1.0


def test_queries_that_words_answer_turn_vectors_down(tmp_path: Path) -> None:
    folder = made(tmp_path / "c", queries=40)
    build_index(folder, fit=False)
    found = tune(folder)
    assert (found.questions, found.askers, found.changed) == (40, 5, True)
    assert found.words_share > found.words_share_before
    assert found.bm25 >= found.after > found.before
    assert found.learned_from == ("mine",)
    fit = known(folder)
    assert (fit.tuned, fit.sets) == (40, "mine")
    assert fit.static < 1
    report = build_index(folder)
    assert (report.tuned_on, report.words_share) == (40, found.words_share)
    assert not tune(folder).changed
    assert known(folder) == fit
    build_index(folder, fit=True)
    assert (known(folder).tuned, known(folder).sets) == (0, "")


def test_too_few_change_nothing(tmp_path: Path) -> None:
    folder = made(tmp_path / "c", queries=19)
    build_index(folder, fit=False)
    before = known(folder)
    found = tune(folder)
    assert (found.questions, found.needed, found.changed) == (19, 20, False)
    assert known(folder) == before


def test_what_cannot_be_tuned_with(tmp_path: Path) -> None:
    folder = made(tmp_path / "c")
    build_index(folder)
    with pytest.raises(CitebedError, match="nothing to tune with"):
        tune(folder)
    with pytest.raises(CitebedError, match="--qrels needs --queries"):
        tune(folder, qrels=["a.qrels"])
    (tmp_path / "some.tsv").write_text("q1\tSome text.\n")
    with pytest.raises(CitebedError, match="not a query set of the collection"):
        tune(folder, queries=[str(tmp_path / "some.tsv")])


def test_both_doors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made(tmp_path / "c", queries=40)
    mine = citebed.open(folder)
    mine.index(fit=False, quiet=True)
    found = mine.tune(queries="mine", quiet=True)
    mine.index(fit=False, quiet=True)
    assert main(["tune", str(folder), "--queries", "mine", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row == {**found._asdict(), "learned_from": "mine"}
    mine.index(fit=False, quiet=True)
    assert main(["tune", str(folder)]) == 0
    first, note = capsys.readouterr().out.splitlines()
    assert "tuned on 40 questions of 5 papers: words " in first
    assert note == "note: do not report scores on mine, because citebed tuned on it"
    assert main(["tune", str(folder)]) == 0
    assert "the weights stay" in capsys.readouterr().out
    (tmp_path / "a.md").write_text("One sentence cites [@d006].\n")
    assert main(["tune", str(folder), str(tmp_path / "a.md")]) == 0
    assert "only 1 question of 1 paper" in capsys.readouterr().out
    assert main(["index", str(folder)]) == 0
    assert "weights tuned on 40 questions" in capsys.readouterr().out
