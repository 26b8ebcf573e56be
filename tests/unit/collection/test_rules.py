"""Rules as values: profiles, what they keep, and what a wrong one says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from citebed.collection import ImportOptions, import_sources, open_collection
from citebed.collection.rules import (
    Rules,
    exclusion_reasons,
    load_profile,
    parse_rules,
    profiles,
    read_exclusions,
)
from citebed.collection.tables import RECORD, make_frame
from citebed.errors import CitebedError, FormatError, UnknownName
from citebed.text.languages import language_code, language_of


def reasons_for(rules: Rules, *records: Mapping[str, object]) -> list[str | None]:
    names = ("doc_id", "type", "title", "abstract", "doi", "language")
    base: dict[str, object] = {"doc_id": "x", "type": "article", "title": "T"}
    rows = [{**base, **record} for record in records]
    columns = {name: [row.get(name) for row in rows] for name in names}
    return exclusion_reasons(make_frame(RECORD, columns, len(rows)), rules).to_list()


@pytest.mark.parametrize(
    "title",
    [
        "Foreword", "Preface", "Table of Contents", "Session 3A: Ranking", "Author Index",
        "Front Matter", "Program Committee", "Message from the Chairs",
        "Proceedings of the 3rd Workshop on Things",
    ],
)  # fmt: skip
def test_front_matter_is_dropped_unless_it_has_an_abstract(title: str) -> None:
    rules = Rules(front_matter="drop")
    with_text = {"title": title, "abstract": "But this is a paper."}
    found = reasons_for(rules, {"title": title}, with_text)
    assert found[0] in ("front matter", "session heading")
    assert found[1] is None
    assert reasons_for(Rules(), {"title": title}) == [None]


@pytest.mark.parametrize(
    "title",
    ["Sessions of Users in Web Search", "Committees of Classifiers", "Contents of Web Pages"],
)
def test_papers_that_only_sound_like_it_stay(title: str) -> None:
    assert reasons_for(Rules(front_matter="drop"), {"title": title}) in (
        [None],
        ["session heading"],
    )
    assert reasons_for(Rules(front_matter="drop"), {"title": title, "abstract": "a"}) == [None]


@pytest.mark.parametrize(
    ("title", "dropped"),
    [
        ("Book Review: Retrieval for All", True), ("Book Reviews", True),
        ("Letter to the Editor", True), ("Letters", True),
        ("Review of Retrieval by A. Nobody", True), ("Reviewing Reviews of Books", False),
        ("Letter Frequencies in English", False),
    ],
)  # fmt: skip
def test_letters_and_reviews(title: str, dropped: bool) -> None:
    expected = ["letter or review"] if dropped else [None]
    assert reasons_for(Rules(reviews="drop"), {"title": title}) == expected


def test_other_languages_are_set_aside_with_their_name() -> None:
    german = {"abstract": "Wir zeigen, dass die Suche mit der neuen Methode und den Daten geht"}
    stated = {"language": "French", "title": "The of and to in is for"}
    english = {"abstract": "We show that the search is better with the new method and the data"}
    found = reasons_for(Rules(languages=("en",)), german, stated, english, {"title": "BM25"})
    assert found == ["language de", "language fr", None, None]
    by_name = Rules(languages=("English",))
    assert reasons_for(by_name, german, stated, english, {"title": "BM25"}) == found


@pytest.mark.parametrize(
    ("stated", "title", "expected"),
    [
        ("en-GB", "", "en"), (None, "信息检索系统", "zh"), (None, "情報検索のシステム", "ja"),
        (None, "Поиск информации", "ru"), (None, "BM25", None),
    ],
)  # fmt: skip
def test_language_of(stated: str | None, title: str, expected: str | None) -> None:
    assert language_of(stated, title, None) == expected


def test_language_code() -> None:
    assert [language_code(name) for name in ("eng", "USenglish", "de_AT", "x")] == [
        "en",
        "en",
        "de",
        "x",
    ]


def test_exclusions_match_ids_and_dois_whatever_the_case(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("# these\n10.5072/ABC # a paper\n\nSmith2010\n")
    rules = Rules(exclude=read_exclusions(tmp_path / "list"))
    assert rules.exclude == ("10.5072/ABC", "Smith2010")
    records = ({"doi": "10.5072/abc"}, {"doc_id": "smith2010"}, {"doc_id": "other"})
    assert reasons_for(rules, *records) == ["on the exclusion list"] * 2 + [None]


def test_the_first_rule_that_holds_gives_the_reason() -> None:
    rules = Rules(types=("book",), exclude=("x",))
    assert reasons_for(rules, {}) == ["type article"]


def test_profiles_load_and_describe_themselves() -> None:
    assert profiles() == ["acm-cr", "anthology", "cranfield"]
    acm_cr = load_profile("acm-cr")
    assert (acm_cr.types, acm_cr.front_matter) == (("article", "inproceedings"), "sessions")
    assert load_profile("cranfield").relevance == {1: 4, 2: 3, 3: 2, 4: 1, 5: 0, -1: 0}


def test_rules_survive_being_written_down() -> None:
    for name in profiles():
        rules = load_profile(name)
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in rules.as_dict().items()}
        assert parse_rules(plain, "here") == rules


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tpyes = []", "Did you mean 'types'?"),
        ('types = "article"', "types must be a list of strings"),
        ("types = [1]", "types must be a list of strings"),
        ('no_future = "yes"', "no_future must be true or false"),
        ("front_matter = true", "front_matter must be a string"),
        ('front_matter = "dropp"', "Did you mean 'drop'?"),
        ("relevance = 3", "maps codes to grades"),
        (f"relevance = {{1 = {'9' * 5000}}}", "not TOML"),
        ("types = " + "[" * 100_000, "not TOML"),
        ("relevance = {1 = 3000000000}", "maps codes to grades"),
        ("relevance = {99999999999 = 1}", "maps codes to grades"),
        ("relevance = {1 = inf}", "maps codes to grades"),
    ],
)
def test_wrong_profiles_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(CitebedError) as caught:
        load_profile(str(path))
    assert message in str(caught.value)


def test_profiles_and_lists_that_are_not_text_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.write_bytes(b"# mine\n# caf\xe9\n")
    for read in (load_profile, read_exclusions):
        with pytest.raises(FormatError, match="mine:2: byte 0xe9 is not UTF-8"):
            read(str(path))
        with pytest.raises(CitebedError, match="is a device"):
            read("/dev/zero")


def test_a_profile_that_is_not_toml_or_not_there(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("types = ")
    with pytest.raises(FormatError, match="not TOML"):
        load_profile(str(tmp_path / "mine.toml"))
    with pytest.raises(UnknownName):
        load_profile("nope")


def test_no_records_no_reasons() -> None:
    assert (
        exclusion_reasons(pl.DataFrame(schema=dict(RECORD)), Rules(types=("book",))).to_list() == []
    )


def test_a_collection_opens_after_a_rule_excluded_a_document_with_full_text(tmp_path: Path) -> None:
    rows = [
        {"doc_id": "a", "title": "A", "type": "misc", "sections": [{"heading": "", "text": "One."}],
         "links": [{"target": "b", "kind": "cites"}]},
        {"doc_id": "b", "title": "B", "type": "article"},
    ]  # fmt: skip
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    options = ImportOptions(rules=Rules(types=("article",)))
    import_sources(tmp_path / "mine", [tmp_path / "a.jsonl"], options)
    mine = open_collection(tmp_path / "mine")
    for table in (mine.links, mine.sections):
        assert table.select("doc_id", "record").rows() == [(None, "a")]
    import_sources(tmp_path / "mine", [], ImportOptions(rules=Rules()))
    assert open_collection(tmp_path / "mine").documents["doc_id"].to_list() == ["a", "b"]
