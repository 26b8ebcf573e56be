"""Papers compared in pairs: the design, the forms, the preferences, and what is made of them."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize
from sqlalchemy import select, text
from sqlalchemy.exc import DatabaseError
from tests.campaigns import QUESTION, copied, links, listed_items, small_campaign, with_lists

from citebed.errors import CitebedError
from citebed.judging import Campaign, restore_campaign
from citebed.judging.assignments import assign_phase_two, load_judge_list, load_sheet
from citebed.judging.comparisons import choose_pairs
from citebed.judging.forms.sheet import Answers, Rating
from citebed.judging.judgements import SaveResult, Verdict
from citebed.judging.responses import WebJudgement, save_web_judgements
from citebed.judging.store.schema import forms, judgements, now, pairs, preferences, wordings

QUERY = "p1-a1q1"
ADA, ZOE = "Ada Bell", "Zoe Zed"


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """Ada and Zoe have the pool of Ada's query in pairs; Ada graded none of its papers."""
    campaign = with_lists(small_campaign(tmp_path_factory.mktemp("compared")), 6)
    campaign.compare([QUERY])
    campaign.compare([QUERY], name=ZOE, email="Zoe@example.org")
    return campaign


@pytest.fixture
def campaign(compared: Campaign, tmp_path: Path) -> Campaign:
    """A copy of the campaign."""
    return copied(compared, tmp_path)


def codes(campaign: Campaign) -> dict[str, str]:
    """Codes of the forms with pairs, by the judge's name."""
    with campaign.reading() as tx:
        made = {form.code for form in tx.execute(select(forms)) if form.content.get("compares")}
    table = campaign.status().filter(pl.col("code").is_in(list(made)))
    return dict(zip(table["judge"], table["code"], strict=True))


def sides(campaign: Campaign, name: str) -> list[tuple[int, int, int]]:
    """The pairs that a judge sees: their ids and the numbers of both papers' titles."""
    with campaign.reading() as tx:
        form = tx.execute(select(forms).where(forms.c.code == codes(campaign)[name])).one()
        [question] = load_judge_list(tx, form, lambda _: "").questions
        shown = []
        for one in question.papers:
            assert one.other is not None
            titles = one.entry.title, one.other.entry.title
            shown.append((one.item, *(int(title.rpartition(" ")[2]) for title in titles)))
    return shown  # type: ignore[return-value]


def click(
    campaign: Campaign, name: str, item: int, value: int | None, key: str = "", **more: object
) -> SaveResult | CitebedError:
    """Save a preference as the web page does."""
    signed = links(campaign)[codes(campaign).get(name, name)]
    verdict = Verdict(item, value, key=key or f"{name}-{item}-{value}".replace(" ", "-"), **more)  # type: ignore[arg-type]
    with campaign.writing() as tx:
        [outcome] = save_web_judgements(tx, [WebJudgement(signed, verdict, now())])
    return outcome


def answer_all(campaign: Campaign) -> None:
    """Ada prefers the smaller number; so does Zoe, but for a tie and a pair she cannot judge."""
    for item, left, right in sides(campaign, ADA):
        click(campaign, ADA, item, 1 if left < right else 2)
    tied, *_, unsure = sorted(sorted(pair[1:]) for pair in sides(campaign, ZOE))
    for item, left, right in sides(campaign, ZOE):
        value = None if sorted((left, right)) == unsure else 1 if left < right else 2
        click(campaign, ZOE, item, 0 if sorted((left, right)) == tied else value)


# --- The design -------------------------------------------------------------------------------


@pytest.mark.parametrize("papers", [1, 2, 3, 4, 5, 6, 9, 12, 15, 40])
@pytest.mark.parametrize("per_paper", [2, 4, 6, 14])
def test_every_paper_is_compared_equally_often_on_either_side(papers: int, per_paper: int) -> None:
    chosen = choose_pairs(papers, per_paper)
    expected = min(per_paper, papers - 1)
    met = Counter(number for pair in chosen for number in pair)
    first = Counter(one for one, _ in chosen)
    assert met == Counter(dict.fromkeys(range(papers), expected)) - Counter()
    assert all(abs(2 * first[number] - expected) <= 1 for number in range(papers))
    assert len({frozenset(pair) for pair in chosen}) == len(chosen)
    reached = {0}
    for _ in range(papers):
        reached |= {number for pair in chosen if reached & {*pair} for number in pair}
    assert reached == set(range(papers))


@pytest.mark.parametrize("papers", [7, 10, 15])
def test_the_second_step_is_the_best_of_all(papers: int) -> None:
    def variance(chosen: list[tuple[int, int]]) -> float:
        """The mean variance of differences, from the Laplacian of the comparisons."""
        laplacian = np.zeros((papers, papers))
        for one, other in chosen:
            laplacian[[one, other, one, other], [one, other, other, one]] += [1, 1, -1, -1]
        return float(np.trace(np.linalg.pinv(laplacian)))

    ring = [(at, (at + 1) % papers) for at in range(papers)]
    steps = range(2, (papers - 1) // 2 + 1)
    possible = [ring + [(at, (at + step) % papers) for at in range(papers)] for step in steps]
    assert variance(choose_pairs(papers, 4)) == pytest.approx(min(map(variance, possible)))


# --- Forms ------------------------------------------------------------------------------------


def test_judges_get_the_same_pairs_with_the_sides_exchanged(campaign: Campaign) -> None:
    ada, zoe = sides(campaign, ADA), sides(campaign, ZOE)
    assert len(ada) == 12  # six papers, four times each, two to a pair
    assert {(left, right) for _, left, right in ada} == {(right, left) for _, left, right in zoe}
    assert [pair[1:] for pair in ada] != [pair[:0:-1] for pair in zoe]  # in another order
    assert campaign.compare([QUERY]) == []
    assert campaign.compare([QUERY], name=ZOE, email="zoe@example.org") == []


def test_papers_in_pairs_take_the_place_of_the_list(tmp_path: Path) -> None:
    campaign = small_campaign(tmp_path)
    with_lists(campaign, 4)
    made = campaign.compare(per_paper=2, seed=3)
    assert made[0].summary() == "p1-a1q1: 4 pairs of 4 papers for Ada Bell"
    assert len(made) == 4
    assert [each.pairs for each in campaign.compare(name=ZOE, email="zoe@example.org")] == [6] * 4
    campaign.reformulate(QUERY, "ranking by probability", "filler")
    ranked = {f"d{20 + n}": 1.0 - n / 9 for n in range(4)}
    campaign.pool({"r": {QUERY: ranked}}, 4)
    [again] = campaign.compare()
    assert (again.query_id, again.papers) == (QUERY, 8)
    assert assign_phase_two(campaign) == []  # the new papers are in the pairs


def test_an_assignment_that_is_not_possible(campaign: Campaign, tmp_path: Path) -> None:
    with pytest.raises(CitebedError, match=r"3 comparisons of each paper .* an even number"):
        campaign.compare(per_paper=3)
    with pytest.raises(CitebedError, match="query 'p9'"):
        campaign.compare(["p9"])
    with pytest.raises(CitebedError, match="is the author of 'p1-a1q1'"):
        campaign.compare([QUERY], name="Ada", email="a1@example.org")
    assert [each.query_id for each in campaign.compare(name="Ada", email="a1@example.org")] == [
        "p2-a1q1", "p3-a1q1", "p4-a1q1"]  # fmt: skip
    with pytest.raises(CitebedError, match="is not a mail address"):
        campaign.compare(name="Zoe", email="zoe")
    with campaign.writing() as tx:
        tx.execute(text("UPDATE people SET opted_out_at = '2026-01-01 00:00:00.000000'"))
    assert campaign.compare() == []
    (tmp_path / "other").mkdir()
    fresh = small_campaign(tmp_path / "other")
    assert fresh.compare() == []
    assert fresh.preferences.tables() == {}


def test_pairs_are_judged_on_the_web_only(campaign: Campaign) -> None:
    with campaign.reading() as tx:
        form = tx.execute(select(forms).where(forms.c.code == codes(campaign)[ZOE])).one()
        sheet = load_sheet(tx, form)
    assert "two papers at a time" in " ".join(sheet.instructions())
    assert [choice.value for choice in sheet.choices] == ["1", "2", "0", "u"]
    written = {path.name: path.read_text() for path in campaign.invite(("text",))}
    mail = next(content for name, content in written.items() if codes(campaign)[ZOE] in name)
    assert "/judge/" in mail
    assert "[ ]" not in mail


# --- Preferences ------------------------------------------------------------------------------


def test_preferences_are_saved_once_changed_and_taken_back(campaign: Campaign) -> None:
    item = sides(campaign, ADA)[0][0]
    first = click(campaign, ADA, item, 2)
    assert first == click(campaign, ADA, item, 2)._replace(outcome="new")
    assert click(campaign, ADA, item, 0).outcome == "new"
    assert campaign.preferences.answers["preferred"].to_list() == ["tie"]
    assert click(campaign, ADA, item, None, "withdrawn-key", withdrawn=True).outcome == "new"
    assert campaign.preferences.answers.is_empty()
    with campaign.reading() as tx:
        chosen = select(preferences.c.value, preferences.c.withdrawn).order_by(preferences.c.id)
        assert list(tx.execute(chosen)) == [(2, False), (0, False), (None, True)]
    refused = pytest.raises(DatabaseError, match="what was said is not changed")
    with refused, campaign.writing() as tx:
        tx.execute(preferences.delete())


def test_what_does_not_fit_a_form_is_refused(campaign: Campaign) -> None:
    item = sides(campaign, ADA)[0][0]
    zoe = sides(campaign, ZOE)[-1][0]
    paper = listed_items(campaign, next(iter(links(campaign))))[0]
    assert "3 is not one of 0 to 2" in str(click(campaign, ADA, item, 3))
    assert "not on your list" in str(click(campaign, ADA, zoe, 1))
    assert "not on your list" in str(click(campaign, ADA, paper + 10_000, 1))
    click(campaign, ADA, item, 1, "the-same-key")
    assert "key belongs" in str(click(campaign, ZOE, zoe, 1, "the-same-key"))
    assert campaign.preferences.answers.height == 1
    with campaign.reading() as tx:
        assert not list(tx.execute(select(judgements).where(judgements.c.via == "web")))


def test_a_pair_and_a_paper_of_the_same_number_are_not_mixed(campaign: Campaign) -> None:
    ada = codes(campaign)[ADA]
    graded = next(code for code in links(campaign) if code != ada)  # Ada's list of papers
    papers, shown = set(listed_items(campaign, graded)), {each[0] for each in sides(campaign, ADA)}
    with campaign.writing() as tx:  # so that a pair has the number of a paper
        number = min(papers - shown)
        row = tx.execute(select(pairs).where(pairs.c.form_id.in_(
            select(forms.c.id).where(forms.c.code == ada)))).first()  # fmt: skip
        assert row is not None
        values = row._asdict() | {"id": number, "left_id": row.right_id, "right_id": row.left_id}
        if tx.execute(select(pairs).where(pairs.c.id == number)).first() is None:
            tx.execute(pairs.insert().values(values))
    assert click(campaign, graded, number, 1, "on-the-list").outcome == "new"
    assert campaign.preferences.answers.is_empty()
    assert campaign.qrels("j2").table["relevance"].to_list() == [1]


def test_an_organiser_enters_preferences_by_hand(campaign: Campaign) -> None:
    campaign.returned("letter.txt", b"the first of the second pair, please")
    wrong = Answers(codes(campaign)[ADA], ratings={(1, 2): Rating(1), (1, 3): Rating(7)})
    with pytest.raises(CitebedError, match="paper 3: 7 is not one of 0 to 2"):
        campaign.enter(wrong, "Olga", None)
    answers = Answers(codes(campaign)[ADA], ratings={(1, 2): Rating(1)})
    assert campaign.enter(answers, "Olga", None).judgements == 1
    assert campaign.preferences.answers["preferred"].to_list() == ["left"]
    assert campaign.qrels("j2").table.is_empty()


# --- Results ----------------------------------------------------------------------------------


def test_strengths_equal_a_slow_maximum(campaign: Campaign) -> None:
    answer_all(campaign)
    names = ["d35", "d36", "d37", "d38", "d39", "d40"]
    met = [
        (names.index(row["left"]), names.index(row["right"]), row["preferred"])
        for row in campaign.preferences.answers.drop_nulls("preferred").to_dicts()
    ]
    assert len(met) == 23

    def loss(strengths: np.ndarray) -> float:
        def log_chance(gap: float) -> float:
            return -math.log1p(math.exp(-gap))

        total = sum((log_chance(s) + log_chance(-s)) / 2 for s in strengths)  # the prior
        for left, right, preferred in met:
            gap = strengths[left] - strengths[right]
            share = {"left": 1.0, "right": 0.0, "tie": 0.5}[preferred]
            total += share * log_chance(gap) + (1 - share) * log_chance(-gap)
        return -float(total)

    best = minimize(loss, np.zeros(6), tol=1e-12).x
    table = campaign.preferences.strengths
    found = dict(zip(table["doc_id"], table["strength"], strict=True))
    expected = dict(zip(names, map(float, best - best.mean()), strict=True))
    assert found == pytest.approx(expected, abs=1e-4)
    assert table["judges"].to_list() == [2] * 6
    assert table["comparisons"].sum() == 46
    assert (table["low"] < table["strength"]).all()
    assert (table["high"] > table["strength"]).all()


def test_agreement_and_position_by_hand(campaign: Campaign) -> None:
    answer_all(campaign)
    found = campaign.preferences
    [raw, *_] = found.agreement.to_dicts()
    assert (raw["measure"], raw["items"]) == ("raw", 11)  # of 12 pairs, Zoe could not judge one
    assert raw["value"] == pytest.approx(10 / 11)  # the tie
    left = sum(one < other for _, one, other in sides(campaign, ADA))
    everybody, ada, zoe = found.position.to_dicts()
    assert (ada["left_won"], ada["right_won"], ada["ties"]) == (left, 12 - left, 0)
    assert (zoe["ties"], zoe["cannot_judge"]) == (1, 1)
    assert everybody["left_won"] == ada["left_won"] + zoe["left_won"]
    # Wilson's interval: the shares p with (share - p)² = z² p (1 - p) / n.
    share, n = left / 12, 12
    assert ada["left_share"] == pytest.approx(share)
    for limit in (ada["low"], ada["high"]):
        assert (share - limit) ** 2 == pytest.approx(1.959964**2 * limit * (1 - limit) / n)


def test_one_judge_who_always_prefers_the_same_paper(campaign: Campaign) -> None:
    for item, left, right in sides(campaign, ADA):
        click(campaign, ADA, item, 1 if left < right else 2)
    table = campaign.preferences.strengths
    assert table["doc_id"].to_list() == ["d35", "d36", "d37", "d38", "d39", "d40"]
    assert table.select(pl.all().is_not_null().all()).row(0) == (True,) * 7
    assert campaign.preferences.agreement.is_empty()
    campaign.exclude(QUERY, "not about the collection")
    assert campaign.preferences.answers.is_empty()


def test_export_adds_preferences_and_a_run(campaign: Campaign, tmp_path: Path) -> None:
    before = campaign.export(tmp_path / "before")
    assert not (tmp_path / "before" / "preferences.jsonl").exists()
    answer_all(campaign)
    done = campaign.export(tmp_path / "after")
    assert (done.sets, done.version != before.version) == (before.sets, True)
    lines = (tmp_path / "after" / "preferences.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    assert len(rows) == 24
    assert set(rows[0]) == {"query_id", "left", "right", "preferred", "judge", "comment", "via",
                            "answered_at", "seconds"}  # fmt: skip
    assert Counter(row["preferred"] for row in rows)["tie"] == 1
    run = (tmp_path / "after" / "preferences.run").read_text().splitlines()
    assert [line.split()[2] for line in run] == campaign.preferences.strengths["doc_id"].to_list()
    assert "Zoe" not in "".join(lines)


def test_a_backup_has_the_preferences(campaign: Campaign, tmp_path: Path) -> None:
    answer_all(campaign)
    campaign.backup(tmp_path / "b.jsonl")
    collection = Path(campaign.settings.collection)
    again = restore_campaign(tmp_path / "b.jsonl", tmp_path / "again", collection,
                             str(tmp_path / "again.sqlite"))  # fmt: skip
    assert again.preferences.answers.equals(campaign.preferences.answers)
    assert again.preferences.strengths.equals(campaign.preferences.strengths)


def test_the_author_words_the_query_on_the_page_with_pairs(campaign: Campaign) -> None:
    with campaign.reading() as tx:
        form = tx.execute(select(forms).where(forms.c.code == codes(campaign)[ADA])).one()
        [question] = load_judge_list(tx, form, lambda _: "").questions
        assert (question.own, question.text) == (True, QUESTION)
        form = tx.execute(select(forms).where(forms.c.code == codes(campaign)[ZOE])).one()
        [question] = load_judge_list(tx, form, lambda _: "").questions
        assert not question.own
        assert tx.scalar(select(wordings.c.text).limit(1)) == QUESTION


def test_preferences_for_an_earlier_wording_are_named(campaign: Campaign, tmp_path: Path) -> None:
    for item, *_ in sides(campaign, ADA)[:2]:
        click(campaign, ADA, item, 1)
    before = campaign.export(tmp_path / "out").restated
    campaign.reformulate(QUERY, "another question", "filler")
    [found] = campaign.export(tmp_path / "out").restated
    assert (before, found) == ((), (QUERY, QUESTION, "another question", 0, 2))
    assert found.warning().startswith(f"{QUERY} was restated after 2 preferences: ")
    click(campaign, ADA, sides(campaign, ADA)[0][0], None, key="cannot-judge")
    assert campaign.export(tmp_path / "out").restated[0].preferences == 1


def test_the_status_says_which_forms_have_pairs(campaign: Campaign) -> None:
    table = campaign.status().filter(pl.col("pairs"))
    assert dict(table.select("judge", "code").iter_rows()) == codes(campaign)
