"""A campaign from its first question to its exported judgements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from tests.campaigns import answer_phase_one, save, small_campaign
from tests.unit.judging.conftest import TODAY, Answer, form_row

import citebed
from citebed.collection import import_sources
from citebed.errors import CitebedError, UnknownName
from citebed.judging import Campaign, new_campaign, open_campaign, restore_campaign
from citebed.judging.assignments import (
    assign_phase_one,
    assign_phase_two,
    load_sheet,
    make_token,
    verify_token,
)
from citebed.judging.forms.sheet import Answers, Rating
from citebed.judging.judgements import Source, Verdict
from citebed.judging.questions import FIRST_AUTHOR, NOTHING_RELEVANT
from citebed.judging.responses import record_answers
from citebed.judging.settings import CampaignSettings
from citebed.judging.store.schema import contributors, items, now

QUERY = "demo-filters-a1q1"


def test_authors_are_asked_when_their_paper_is_online(campaign: Campaign) -> None:
    assert len(assign_phase_one(campaign, TODAY)) == 3
    assert assign_phase_one(campaign, TODAY) == []
    assert len(assign_phase_one(campaign, TODAY.replace(year=2031))) == 1
    assert campaign.status()["judge"].to_list() == ["Ada Bell", "Ben Carr", "Di O'Eff", "Cy Dee"]


def test_the_rules_of_the_paper_set_questions_aside_and_on_record(
    asked: Campaign, answer: Answer
) -> None:
    answer(2, "What do co-authors ask?", [4])
    answer(3, "What is not in the collection?", [1, 1])
    table = {row["query_id"]: row for row in asked.questions.to_dicts()}
    assert table["demo-filters-a2q1"]["excluded"] is None
    assert "judged relevant" in table["demo-passages-a1q1"]["excluded"]
    answer(1, "How do filters age?", [4])
    answer(3, "What is not in the collection?", [1, 3])
    assert asked.close_phase_one() == 1
    history = [(row["query_id"], row["rule"], row["lifted"]) for row in asked.exclusions.to_dicts()]
    assert history == [
        ("demo-passages-a1q1", NOTHING_RELEVANT, False),
        ("demo-passages-a1q1", NOTHING_RELEVANT, True),
        ("demo-filters-a2q1", FIRST_AUTHOR, False),
    ]
    assert set(asked.qrels("j1").table["query_id"]) == {QUERY, "demo-passages-a1q1"}
    asked.exclude(QUERY, "a test")
    assert set(asked.qrels("j1").table["query_id"]) == {"demo-passages-a1q1"}


CO_AUTHOR = "demo-filters-a2q1"
REASON = "the first author of demo-filters answered too"


def test_the_rule_on_co_authors_is_shown_before_phase_one_is_closed_and_applied_then(
    asked: Campaign, answer: Answer
) -> None:
    answer(2, "What do co-authors ask?", [4])
    answer(1, "How do filters age?", [4])
    assert asked.questions["excluded"].to_list() == [None, None]
    assert asked.questions["at_closing"].to_list() == [None, REASON]
    assert set(asked.qrels("j1").table["query_id"]) == {QUERY, CO_AUTHOR}
    assert asked.exclusions.height == 0
    assert asked.close_phase_one() == 1
    assert asked.questions["excluded"].to_list() == [None, REASON]
    assert asked.questions["at_closing"].to_list() == [None, None]
    assert set(asked.qrels("j1").table["query_id"]) == {QUERY}
    assert asked.close_phase_one() == 0
    assert asked.exclusions["query_id"].to_list() == [CO_AUTHOR]


@pytest.mark.parametrize("grades", [[], [None, None]])
def test_half_a_question_of_the_first_author_takes_nothing_from_a_co_author(
    asked: Campaign, answer: Answer, grades: list[int | None]
) -> None:
    answer(2, "What do co-authors ask?", [4, 3, 1])
    answer(1, "How do filt", grades)  # a question without a judgement is not a response
    assert asked.close_phase_one() == 0
    assert set(asked.qrels("j1").table["query_id"]) == {CO_AUTHOR}
    answer(1, "How do filters age?", [1])
    assert asked.questions["at_closing"].to_list() == [None, REASON]


def test_pooling_closes_phase_one_and_a_late_first_author_takes_nothing_from_phase_two(
    asked: Campaign, answer: Answer
) -> None:
    answer(2, "What do co-authors ask?", [4])
    assert [made.query_id for made in asked.pool(size=3)] == [CO_AUTHOR]
    answer(1, "How do filters age?", [4])
    assert asked.questions["at_closing"].to_list() == [None, None]
    assert [made.query_id for made in asked.pool(size=3)] == [QUERY]
    answer(2, "And what else do they ask?", [4], 2)
    assert asked.pool(size=3) == []
    assert asked.questions["excluded"].to_list() == [None, None, REASON]


def test_phase_two_asks_for_pooled_documents_and_a_correction_for_new_ones_only(
    asked: Campaign, answer: Answer
) -> None:
    answer(1, "We present a novel mechanism for filters that age.", [4, 2, 1])
    asked.reformulate(QUERY, "filters that age", "filler")
    search, hits = asked.search(QUERY, "language models")
    with asked.reading() as tx:
        cited = set(tx.scalars(select(items.c.doc_id)))
    fresh = [hit.doc_id for hit in hits if hit.doc_id not in cited][:2]
    for doc_id in (*fresh, *cited & {hit.doc_id for hit in hits}):
        asked.mark(QUERY, doc_id, search=search)
    (report,) = asked.pool()
    assert report[1:] == (1, 2, 15, ())
    assert asked.pool() == []
    (form_id,) = assign_phase_two(asked)
    with asked.reading() as tx:
        sheet = load_sheet(tx, form_row(tx, form_id))
        shown = {row.doc_id for row in tx.execute(select(items)) if row.pool_id}
        methods = set(tx.scalars(select(contributors.c.method)))
    assert (sheet.queries[0].text, len(sheet.queries[0].entries)) == ("filters that age", 15)
    assert sheet.queries[0].stated == "We present a novel mechanism for filters that age."
    assert set(fresh) <= shown
    assert not shown & cited
    assert methods == {"manual", "okapi", "kl", "cosine"}
    # The author corrects the wording: it is pooled again, and only new documents are asked about.
    with asked.writing() as tx:
        form = form_row(tx, form_id)
        source = Source(form.person_id, form.id, "text", now())
        given = Answers(form.code, approved={1: "ageing of filters in a stream of news"})
        record_answers(tx, form, given, source)
    (again,) = asked.pool()
    assert again.round == 2
    with asked.reading() as tx:
        second = {row.doc_id for row in tx.execute(select(items)) if row.pool_id} - shown
    assert len(second) == again.documents > 0
    assert len(assign_phase_two(asked)) == 1
    changed = {row["class"]: row for row in asked.tables()["reformulations"].to_dicts()}
    assert changed["filler"] == {
        "class": "filler", "reformulated": 1, "approved": 0, "corrected": 1,
    }  # fmt: skip


def test_a_second_judge_gets_the_same_list_in_another_order(
    asked: Campaign, answer: Answer
) -> None:
    answer(1, "How do filters age?", [4])
    with pytest.raises(CitebedError, match="has no list yet"):
        asked.second_judge(QUERY, "Zoe", "zoe@example.org")
    asked.pool()
    with pytest.raises(CitebedError, match="is the author of"):
        asked.second_judge(QUERY, "Ada Bell", "ADA@example.org")
    assert asked.second_judge(QUERY, "Ben Carr", "BEN@example.org")
    assert not asked.second_judge(QUERY, "Ben Carr", "ben@example.org")
    (own,) = assign_phase_two(asked)
    with asked.reading() as tx:
        second, first = (form_row(tx, form) for form in (own - 1, own))
    lists = [form.content["asked"][0]["items"] for form in (first, second)]
    assert lists[0] != lists[1]
    assert sorted(lists[0]) == sorted(lists[1])
    # They disagree on one document of three.
    said = dict(zip(sorted(lists[0])[:3], ((1, 1), (0, 0), (1, 0)), strict=True))
    for at, form in enumerate((first, second)):
        with asked.writing() as tx:
            source = Source(form.person_id, form.id, "web", now())
            for item, values in said.items():
                save(tx, source, Verdict(item, values[at]))
    table = {row["measure"]: row for row in asked.agreement.to_dicts()}
    assert table["raw"]["value"] == pytest.approx(2 / 3)
    assert table["kappa"]["value"] == pytest.approx((2 / 3 - 4 / 9) / (1 - 4 / 9))
    # The author's judgement counts, whatever the second judge says.
    assert sorted(asked.qrels("j2").table["relevance"]) == [0, 1, 1]
    with asked.writing() as tx:
        source = Source(first.person_id, first.id, "web", now())
        save(tx, source, Verdict(sorted(lists[0])[0], 0))
    assert sorted(asked.qrels("j2").table["relevance"]) == [0, 0, 1]


def test_more_manual_results_than_the_size_are_all_and_no_others(
    asked: Campaign, answer: Answer
) -> None:
    answer(1, "How do filters age?", [4])
    _, hits = asked.search(QUERY, "retrieval evaluation", k=60)
    for hit in hits:
        asked.mark(QUERY, hit.doc_id)
    (report,) = asked.pool()
    assert report.manual == report.documents > 15


def test_suggestions_name_the_four_classes(asked: Campaign, answer: Answer) -> None:
    answer(1, "How do language models retrieve documents?", [4])
    answer(1, "We present a novel mechanism for it in relevence feedback", [4], number=2)
    found = {each.kind: each for each in asked.suggestions("demo-filters-a1q2")}
    assert (found["typo"].text, found["typo"].replacement) == ("relevence", "relevance")
    assert found["filler"].text.startswith("We present a novel mechanism for")
    assert found["anaphor"].text == "it"
    answer(1, "Which domain?", [4], number=3)
    (context,) = [s for s in asked.suggestions("demo-filters-a1q3") if s.kind == "context"]
    assert "language models" in str(context.replacement)


def test_an_export_is_named_by_its_content(asked: Campaign, answer: Answer, tmp_path: Path) -> None:
    answer(1, "How do filters age?", [4, 1, None])
    first = asked.export(tmp_path / "out")
    assert (tmp_path / "out/j1-all-queries.qrels").read_text().splitlines() == [
        f"{QUERY} cited abujbara2012reference 1",
        f"{QUERY} cited allan1996incremental 0",
    ]
    assert asked.export(tmp_path / "out").version == first.version
    answer(1, "How do filters age?", [4, 3])
    second = asked.export(tmp_path / "out", shapes=["beir", "ir_datasets"])
    assert second.version != first.version
    log = (tmp_path / "out/CHANGELOG.md").read_text()
    assert log.index(second.version) < log.index(first.version)
    assert log.count("##") == 2
    facts = json.loads((tmp_path / "out/campaign.json").read_text())
    assert facts["version"] == second.version
    assert (tmp_path / "out/beir/j1/qrels/test.tsv").is_file()
    graded = asked.qrels("j1", graded=True).table["relevance"].to_list()
    assert graded == [3, 2]
    said = (tmp_path / "out/judgements.jsonl").read_text()
    assert "Ada" not in said
    with pytest.raises(CitebedError, match="not from a campaign export"):
        asked.export(tmp_path / "cr26")
    with pytest.raises(UnknownName):
        asked.qrels("j3")


def test_an_export_is_an_ro_crate(asked: Campaign, answer: Answer, tmp_path: Path) -> None:
    """The structure that RO-Crate 1.1 demands; the package roc-validator accepts it too."""

    def entities(folder: Path) -> dict[str, dict[str, Any]]:
        crate = json.loads((folder / "ro-crate-metadata.json").read_text())
        assert crate["@context"] == "https://w3id.org/ro/crate/1.1/context"
        described = {each["@id"]: each for each in crate["@graph"]}
        assert len(described) == len(crate["@graph"])
        return described

    answer(1, "How do filters age?", [4, 1, None])
    first = asked.export(tmp_path / "out", shapes=["beir"])
    plain = entities(tmp_path / "out")
    about = plain["ro-crate-metadata.json"]
    assert about["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    root = plain[about["about"]["@id"]]
    assert root["version"] == first.version
    assert root["description"].startswith("2 judgements of 1 query by 1 judge, collected with")
    assert "author" not in root
    assert "No licence is stated" in root["license"]
    there = {path.name for path in (tmp_path / "out").iterdir()} - {"ro-crate-metadata.json"}
    assert {part["@id"].strip("/") for part in root["hasPart"]} == there
    assert plain["topics.jsonl"]["isBasedOn"] == {"@id": "wordings.jsonl"}
    assert plain["#citebed"]["version"] == citebed.__version__
    names = ("Ada Bell", "ada@example.org", str(tmp_path))
    assert not any(name in json.dumps(plain) for name in names)

    asked.export(
        tmp_path / "named",
        authors=["Eve Orr 0000-0002-1825-0097", "Max Ray"],
        license="CC-BY-4.0",
    )
    named = entities(tmp_path / "named")
    orcid = "https://orcid.org/0000-0002-1825-0097"
    assert named["./"]["author"] == [{"@id": orcid}, {"@id": "#author-Max%20Ray"}]
    assert named[orcid]["name"] == "Eve Orr"
    assert named["./"]["license"] == {"@id": "https://spdx.org/licenses/CC-BY-4.0"}
    assert named["./"]["datePublished"] == plain["./"]["datePublished"]
    for wrong in ({"license": "all mine"}, {"authors": ["0000-0002-1825-0097"]}):
        with pytest.raises(CitebedError, match=r"SPDX id|has no name"):
            asked.export(tmp_path / "named", **wrong)


def test_a_question_restated_after_judging_is_exported_with_a_warning(
    url: str, demo: citebed.Workbench, papers: Path, tmp_path: Path
) -> None:
    asked = new_campaign(tmp_path / "cr27", demo, papers, database=url, contact="me@example.org")
    assign_phase_one(asked, TODAY)
    old, new = "How do filters age?", "How are topics tracked?"

    def say(text: str, grades: tuple[int, ...] = ()) -> None:
        ratings = {(1, at): Rating(grade) for at, grade in enumerate(grades, 1)}
        with asked.reading() as tx:
            code = form_row(tx, 1).code
        asked.enter(Answers(code, questions={1: text}, ratings=ratings))

    say(old, (4, 1))
    assert asked.export(tmp_path / "out").restated == ()
    say(new)
    (found,) = asked.export(tmp_path / "out").restated
    assert found == (QUERY, old, new, 2, 0)
    facts = json.loads((tmp_path / "out/campaign.json").read_text())
    assert facts["restated"] == [found._asdict()]
    warning = f"- warning: {QUERY} was restated after 2 judgements: '{old}' is now '{new}'"
    assert warning in (tmp_path / "out/CHANGELOG.md").read_text()
    say(new, (3,))  # one reference is judged again for the new words
    (found,) = asked.export(tmp_path / "out").restated
    assert found.judgements == 1
    say(old)  # the other way round now
    assert [each.judgements for each in asked.export(tmp_path / "out").restated] == [1]
    asked.exclude(QUERY, "its words changed")
    assert asked.export(tmp_path / "out").restated == ()


def test_a_wording_that_was_pooled_again_keeps_the_judgements(
    asked: Campaign, answer: Answer, tmp_path: Path
) -> None:
    answer(1, "We present a novel mechanism for filters that age.", [4])
    asked.reformulate(QUERY, "filters that age", "filler")
    asked.pool({"r": {QUERY: {"rocchio1971relevance": 2.0, "salton1975vector": 1.0}}}, 2)
    assign_phase_two(asked)
    form = answer(4, "", [1, 0])
    assert asked.export(tmp_path / "out").restated == ()  # reformulated, as the paper does
    with asked.writing() as tx:
        source = Source(form.person_id, form.id, "web", now())
        record_answers(
            tx, form, Answers(form.code, approved={1: "how streams are filtered"}), source
        )
    (found,) = asked.export(tmp_path / "out").restated
    assert (found.judged_as, found.judgements) == ("filters that age", 2)
    asked.pool({"r": {QUERY: {"robertson1976relevance": 1.0}}}, 2)
    assert asked.export(tmp_path / "out").restated == ()


def test_pooling_reports_the_queries_that_a_run_has_no_list_for(
    asked: Campaign, answer: Answer
) -> None:
    answer(1, "How do filters age?", [4])
    answer(3, "How are passages cited?", [4])
    ranked = {"rocchio1971relevance": 2.0, "salton1975vector": 1.0}
    other = "demo-passages-a1q1"
    runs = {"a": {QUERY: ranked, other: ranked}, "b": {other: ranked}}
    first, second = asked.pool(runs, 2)
    assert first.summary() == f"{QUERY}: 2 documents, 0 manual, no list from b"
    assert second.without == ()


def test_links_open_only_what_they_were_made_for(asked: Campaign) -> None:
    code = asked.status()["code"][0]
    good = make_token(asked, code, now().replace(year=2100))
    assert verify_token(asked, good, now()) == code
    assert verify_token(asked, make_token(asked, code, now().replace(year=2020)), now()) is None
    other = asked.status()["code"][1]
    for forged in (
        good[:-1],
        good[:-1] + "é",
        good.replace(code, other),
        "",
        ".",
        "a.b.c",
        "\ud800",
    ):
        assert verify_token(asked, forged, now()) is None


def test_a_backup_is_restored_elsewhere_and_damage_is_reported(
    asked: Campaign, answer: Answer, demo: citebed.Workbench, tmp_path: Path, postgresql: str
) -> None:
    answer(1, "How do filters age? 'DROP TABLE judgements;--", [4, 1, None])
    path = tmp_path / "b.jsonl"
    rows = asked.backup(path)
    assert rows["judgements"] == 3
    for number, url in enumerate((str(tmp_path / "again.sqlite"), postgresql)):
        again = restore_campaign(path, tmp_path / f"again{number}", demo, url)
        assert again.judgements.equals(asked.judgements)
        assert again.status().equals(asked.status())
        again.backup(tmp_path / "second.jsonl")
        assert (tmp_path / "second.jsonl").read_bytes() == path.read_bytes()
        with pytest.raises(CitebedError, match="already"):
            restore_campaign(path, tmp_path / f"third{number}", demo, url)
    lines = path.read_text("utf-8").splitlines(keepends=True)
    damaged = {
        "incomplete": lines[:-1],
        "checksum mismatch": [line for line in lines if "judgements" not in line[:30]],
        "this is not a campaign backup": lines[1:],
        "not from a campaign backup": [*lines[:3], "x\n"],
    }
    for what, kept in damaged.items():
        (tmp_path / "bad.jsonl").write_text("".join(kept), "utf-8")
        with pytest.raises(CitebedError, match=what):
            restore_campaign(
                tmp_path / "bad.jsonl", tmp_path / "bad", demo, str(tmp_path / "n.sqlite")
            )
        assert not (tmp_path / "bad").exists()


def test_campaigns_are_opened_by_their_folder(
    campaign: Campaign, demo: citebed.Workbench, papers: Path, tmp_path: Path
) -> None:
    again = open_campaign(tmp_path / "cr26")
    assert again.settings == campaign.settings
    with pytest.raises(CitebedError, match="there is no campaign"):
        open_campaign(tmp_path)
    with pytest.raises(CitebedError, match="already"):
        new_campaign(tmp_path / "cr26", demo, papers)
    with pytest.raises(CitebedError, match="not a valid campaign name"):
        new_campaign(tmp_path / "a b", demo, papers, database=str(tmp_path / "x.sqlite"))
    (tmp_path / "cr26/campaign.toml").write_text("name = ")
    with pytest.raises(CitebedError, match="not valid TOML"):
        open_campaign(tmp_path / "cr26")


@pytest.mark.parametrize("coupling", [False, True])
def test_coupling_is_searched_only_where_it_is_asked_for(tmp_path: Path, coupling: bool) -> None:
    documents = [
        {"doc_id": f"d{n}", "title": f"Study {n}", "links": ["d39" if n % 2 else "d40"]}
        for n in range(1, 41)
    ]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(each) + "\n" for each in documents))
    import_sources(tmp_path / "collection", [tmp_path / "docs.jsonl"])
    campaign = small_campaign(tmp_path, ["Ada Bell"])
    answer_phase_one(campaign)
    (query,) = campaign.questions["query_id"].to_list()
    options = {"coupling": True} if coupling else {}
    campaign.pool({"r": {query: {"d30": 1.0}}}, 15, **options)
    with campaign.reading() as tx:
        methods = set(tx.scalars(select(contributors.c.method)))
    assert methods == ({"r", "coupling"} if coupling else {"r"})


@pytest.mark.parametrize("grades", range(2, 10))
def test_a_key_means_the_same_in_both_phases(grades: int) -> None:
    scale = tuple(f"grade {grade}: so much" for grade in range(1, grades + 1))
    for least in range(2, grades + 1):
        settings = CampaignSettings("t", "c", scale, least)
        first, second = ({key: each for each in settings.choices(phase) for key in each.keys}
                         for phase in (1, 2))  # fmt: skip
        assert first.keys() == second.keys() == {*map(str, range(1, grades + 1)), "u"}
        for key in first.keys() - {"u"}:
            assert int(second[key].value) == (int(first[key].value) >= least)
        assert {first["u"].value, second["u"].value} == {"u"}
        assert [each.label for each in settings.choices(2)][:2] == ["not relevant", "relevant"]
