"""Section 2.1 of Ritchie, Robertson & Teufel with made-up people: the same figures.

500 invitations, 85 forms, 235 queries, 196 left; 74 invitations, 44 forms, 82 queries, of which 22
were reformulated and 20 approved. The campaign also has things that the paper leaves out: questions
without judgements, second judges, the lists of the two corrected queries.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import insert, select
from tests.campaigns import save, write_collection
from tests.unit.judging.conftest import TODAY

from citebed.judging import Campaign, new_campaign
from citebed.judging.assignments import FormRow, assign_phase_one, assign_phase_two, form_items
from citebed.judging.judgements import Source, Verdict
from citebed.judging.questions import all_questions, apply_rules
from citebed.judging.responses import approve, opt_out, state_question
from citebed.judging.store.campaign_store import Transaction
from citebed.judging.store.schema import forms, mails, now

# 250 papers with two authors each are 500 invitations, and 85 authors answer:
FIRST = range(1, 71)  # the first authors of papers 1 to 70
BOTH = range(1, 10)  # the second authors of papers 1 to 9, two queries each: 18 are discarded
ALONE = range(101, 107)  # the second authors of papers 101 to 106
# The other 76 have 217 queries: 65 have three, 11 have two. 21 of them find nothing relevant in
# the collection, which leaves 217 - 21 = 196.
THREE, NOTHING = 65, 21
# Two of the 76 opt out, which leaves 74. 44 of them answer: 38 two queries, 6 one, which are 82.
RETURNED, TWO = 44, 38


def _papers(path: Path) -> Path:
    rows = ["paper_id,title,year,authors,references\n"]
    for n in range(1, 251):
        people = f"F{n} <f{n}@example.org>; S{n} <s{n}@example.org>"
        rows.append(f'p{n},Paper {n},2005,"{people}","d1;d2;A book elsewhere"\n')
    path.write_text("".join(rows))
    return path


class _Play:
    """A campaign in one transaction after the other."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign

    def forms(self, tx: Transaction, phase: int) -> dict[tuple[int, int], FormRow]:
        """Return forms by paper and person; person 1 of 2 is the first author."""
        found = tx.execute(select(forms).where(forms.c.phase == phase)).all()
        return {(form.paper_id, 2 - form.person_id % 2): form for form in found}

    def tell(self) -> None:
        """Everybody who has a form and no mail is written to."""
        with self.campaign.writing() as tx:
            told = set(tx.scalars(select(mails.c.form_id)))
            for form in tx.execute(select(forms)).all():
                if form.id not in told:
                    tx.execute(insert(mails).values(_mail(self.campaign, form)))

    def state(self, tx: Transaction, form: FormRow, number: int, grade: int | None) -> None:
        """A question; with a grade, its first reference and the one elsewhere are judged."""
        source = Source(form.person_id, form.id, "web", now())
        text = f"Question {number} of form {form.id}?"
        state_question(tx, form, number, text, source)
        known = form_items(tx, form)
        for entry, value in ((1, grade), (3, 4)) if grade else ():
            save(tx, source, Verdict(known[number, entry], value))

    def judge_list(self, tx: Transaction, form: FormRow, queries: int) -> None:
        """The first paper of so many lists of a form."""
        source = Source(form.person_id, form.id, "web", now())
        for (query, entry), item in form_items(tx, form).items():
            if entry == 1 and query <= queries:
                save(tx, source, Verdict(item, 1))


def _mail(campaign: Campaign, form: FormRow) -> dict[str, object]:
    return {
        "campaign_id": campaign.id, "person_id": form.person_id, "form_id": form.id,
        "key": f"{form.id}:invitation:1", "kind": "invitation", "subject": "", "file": "x.eml",
        "content": b"", "state": "sent", "attempts": 1, "written_at": now(),
    }  # fmt: skip


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """The campaign of the paper, and what its figures leave out."""
    folder = tmp_path_factory.mktemp("paper")
    papers = _papers(folder / "papers.csv")
    campaign = new_campaign(folder / "acl", write_collection(folder), papers, contact="a@x.org")
    play = _Play(campaign)
    assert len(assign_phase_one(campaign, TODAY)) == 500
    play.tell()
    kept = [*((paper, 1) for paper in FIRST), *((paper, 2) for paper in ALONE)]
    with campaign.writing() as tx:
        mine = play.forms(tx, 1)
        for at, pair in enumerate(kept):
            for number in range(1, 4 if at < THREE else 3):
                # The last question of 21 authors has a relevant reference, but elsewhere only.
                nothing = at < NOTHING and number == 3
                play.state(tx, mine[pair], number, 1 if nothing else 3)
        for paper in BOTH:
            for number in (1, 2):
                play.state(tx, mine[paper, 2], number, 3)
        # Not counted: half-typed questions of five who gave up, and one more of an author.
        for paper in range(201, 206):
            play.state(tx, mine[paper, 1], 1, None)
        play.state(tx, mine[1, 1], 4, None)
        opt_out(tx, mine[69, 1].person_id)
        opt_out(tx, mine[70, 1].person_id)
        apply_rules(tx)
    # 34 of the 196 are reformulated: the first question of 34 authors, of whom 22 will answer.
    for paper in [*range(1, 23), *range(50, 62)]:
        campaign.reformulate(f"p{paper}-a1q1", f"query of paper {paper}", "filler")
    _phase_two(play, kept)
    return campaign


def _phase_two(play: _Play, kept: list[tuple[int, int]]) -> None:
    campaign = play.campaign
    queries = campaign.questions["query_id"].to_list()
    campaign.pool({"r": {query: {"d5": 2.0, "d6": 1.0} for query in queries}}, 2, coupling=False)
    # Not counted: second judges, one of whom judges what its author never does.
    for query in ("p1-a1q1", "p2-a1q1", "p60-a1q1"):
        assert campaign.second_judge(query, "Sue Cond", f"{query}@example.org")
    with campaign.reading() as tx:
        second = tx.execute(select(forms).where(forms.c.phase == 2)).all()
    assert len(assign_phase_two(campaign)) == 74
    play.tell()
    with campaign.writing() as tx:
        mine = play.forms(tx, 2)
        for form in second:
            play.judge_list(tx, form, 1)
        for at, pair in enumerate(kept[:RETURNED]):
            play.judge_list(tx, mine[pair], 2 if at < TWO else 1)
        for paper in range(1, 23):
            form = mine[paper, 1]
            said: bool | str = f"better words {paper}" if paper <= 2 else True
            approve(tx, form, 1, said, Source(form.person_id, form.id, "web", now()))
    # Two corrected their queries, and judge new lists: no invitations, and no forms, once more.
    campaign.pool({"r": {query: {"d7": 1.0} for query in queries}}, 2, coupling=False)
    new = assign_phase_two(campaign)
    assert len(new) == 2
    play.tell()
    with campaign.writing() as tx:
        for form in tx.execute(select(forms).where(forms.c.id.in_(new))).all():
            play.judge_list(tx, form, 1)


def test_the_figures_of_section_2_1(played: Campaign) -> None:
    tables = played.tables()
    rows = tables["returns"].rows()
    assert rows == [
        (1, "invitations", 500),
        (1, "forms returned", 85),
        (1, "queries with judgements", 235),
        (1, "questions without judgements, not counted", 6),
        (1, "set aside: first author answered", 18),
        (1, "set aside: no relevant document in the collection", 21),
        (1, "queries left (All Phase One)", 196),
        (2, "invitations", 74),
        (2, "forms returned", 44),
        (2, "queries with both phases (T1+2)", 82),
        (2, "of these reformulated", 22),
        (2, "of these approved by their authors", 20),
        (2, "second judges invited", 3),
        (2, "second judges' forms", 3),
    ]
    compared = tables["comparison"].select("collection", "queries").rows()[:3]
    assert compared == [("All Phase One", 196), ("T1", 82), ("T1+2", 82)]
    every = tables["reformulations"].rows()[-1]
    assert every == ("all", 34, 20, 2)


def test_who_is_left_is_who_was_counted(played: Campaign) -> None:
    """The rows agree with what the campaign exports."""
    with played.reading() as tx:
        every = len(all_questions(tx))
    assert every == 235 + 6
    assert played.qrels("j1").table["query_id"].n_unique() == 196
    # T1 and T1+2 are the 82 queries of Table 2, and T1 is a part of T1+2.
    t1, t12 = (played.qrels(name).table for name in ("t1", "t12"))
    assert t1["query_id"].n_unique() == t12["query_id"].n_unique() == 82
    assert set(t1["query_id"]) == set(t12["query_id"])
    assert t1.join(t12, on=["query_id", "doc_id", "relevance"], how="anti").is_empty()
    assert t12.height > t1.height
    # A second judge's word alone is exported too: one query more than the authors judged.
    assert played.qrels("j2").table["query_id"].n_unique() == 83
