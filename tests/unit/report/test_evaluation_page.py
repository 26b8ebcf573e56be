"""The evaluation page: its content, escaping, and limits for large evaluations."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError
from lxml import etree, html

from citebed.evaluation.measures.names import measures
from citebed.evaluation.options import Design, Plan, Resampling, Settings
from citebed.evaluation.scoring.study import Study, study
from citebed.report.evaluation_page import Front, evaluation_page, query_data
from citebed.report.page import environment, inline_svg, make_page_figure
from citebed.runs.reader import as_qrels, as_run
from citebed.runs.tables import Run

Ranking = Mapping[str, Sequence[str]]
QRELS = {"q1": {"a": 1, "b": 0, "n": -1}, "q2": {"c": 2, "e": 1}}
BASE: Ranking = {"q1": "ban", "q2": "cd"}
NEW: Ranking = {"q1": "ab", "q2": "dc"}


def run_of(name: str, rankings: Ranking) -> Run:
    nested = {
        query: {document: float(-place) for place, document in enumerate(documents)}
        for query, documents in rankings.items()
    }
    return as_run(nested, name)


def made(
    runs: Mapping[str, Ranking], names: Sequence[str] = ("RR",), qrels: Any = None, **design: Any
) -> Study:
    plan = Plan(
        measures=tuple(measures(names)),
        settings=Settings(),
        design=Design(**design),
        resampling=Resampling(samples=100),
    )
    tables = [run_of(name, rankings) for name, rankings in runs.items()]
    return study(as_qrels(qrels or QRELS, "judged"), tables, plan)


def no_titles(_: Sequence[str]) -> dict[str, str]:
    return {}


def tree(of: Study, **front: Any) -> html.HtmlElement:
    """The page as a browser without scripts reads it."""
    filled = {"title": "a title", "command": "citebed report", **front}
    return html.document_fromstring(evaluation_page(of, Front(**filled)))


def rows(page: html.HtmlElement, section: str, table: int = 0) -> list[list[str]]:
    found = page.xpath(f"//section[@id='{section}']//table")[table]
    return [[cell.text_content() for cell in row] for row in found.xpath("./tbody/tr")]


BOTH = {"base": BASE, "new": NEW}


# --- the sections ---------------------------------------------------------------------------


def test_the_sections_of_a_comparison() -> None:
    page = tree(made(BOTH, baseline="base"))
    assert [head.text for head in page.iter("h2")] == [
        "Data",
        "Scores",
        "Comparison",
        "Query by query",
        "Coverage: judged queries, unjudged documents, ties",
    ]


def test_means_are_with_their_intervals() -> None:
    # RR: base 1/2 and 1, new 1 and 1/2.
    found = rows(tree(made(BOTH, baseline="base")), "scores")
    assert [row[:2] for row in found] == [["base", "2"], ["new", "2"]]
    assert all(re.fullmatch(r"0\.7500 \[0\.\d{4}, 1\.0000\]", row[2]) for row in found)


def test_a_significant_difference_has_its_dagger_and_others_none() -> None:
    qrels = {f"q{n}": {"a": 1} for n in range(20)}
    good = dict.fromkeys(qrels, "a")
    bad = {query: "xa" if n % 2 else "xya" for n, query in enumerate(qrels)}
    page = tree(made({"bad": bad, "good": good, "same": good}, ["RR"], qrels, baseline="bad"))
    assert [row[3] for row in rows(page, "comparison")] == ["1.0000†", "1.0000†"]
    page = tree(made({"good": good, "same": good}, ["RR"], qrels, baseline="good"))
    assert [row[3] for row in rows(page, "comparison")] == ["1.0000"]


def test_all_pairs_name_their_base_and_corrections_have_a_column() -> None:
    runs = {"a": BASE, "b": NEW, "c": BASE}
    page = tree(made(runs, correction="tukey"))
    heads = [th.text for th in page.xpath("//section[@id='comparison']//thead//th")]
    assert heads[:3] == ["measure", "base", "run"]
    assert "p adjusted" in heads
    assert [row[1:3] for row in rows(page, "comparison")] == [["a", "b"], ["a", "c"], ["b", "c"]]


def test_one_run_has_no_comparison() -> None:
    page = tree(made({"base": BASE}, baseline="base"))
    assert page.xpath("//section/@id") == ["data", "scores", "by-query", "ledger"]


def test_counts_alone_have_no_plots_and_nothing_by_query() -> None:
    page = tree(made(BOTH, ["NumRel"], baseline="base"))
    assert page.xpath("//section/@id") == ["data", "scores", "ledger"]
    assert [row[2] for row in rows(page, "scores")] == ["3", "3"]
    assert page.xpath("//figure") == []


def test_the_ledger_speaks_and_counts() -> None:
    page = tree(made({"base": BASE, "half": {"q1": "ab", "zz": "x"}}, ["P@1"], baseline="base"))
    words = page.xpath("string(//section[@id='ledger']/ul)")
    assert "half: 1 of 2 judged queries is not in the run" in words
    assert "cover different queries" in words
    # judged, in run, measured, missing, not judged, without relevant, documents, ties, tied
    assert rows(page, "ledger")[1] == ["half", "2", "2", "1", "1", "1", "0", "2", "0", "0"]
    # base retrieves d (unjudged) and c at rank 1 of q2, b at rank 1 of q1
    assert rows(page, "ledger", 1)[0] == ["base", "0% 0 of 2"]


def test_ties_show_how_far_means_could_move() -> None:
    tied = as_run({"q1": {"a": 1.0, "b": 1.0}, "q2": {"c": 1.0}}, "tied")
    plan = Plan(
        measures=tuple(measures(["RR"])),
        settings=Settings(),
        design=Design(baseline="tied"),
        resampling=Resampling(samples=100),
    )
    page = tree(study(as_qrels(QRELS, "judged"), [tied], plan))
    assert rows(page, "ledger", 2) == [["tied", "0.7500 to 1.0000"]]


def test_the_same_study_gives_the_same_page() -> None:
    front = Front(title="t", command="c")
    assert evaluation_page(made(BOTH), front) == evaluation_page(made(BOTH), front)


# --- queries --------------------------------------------------------------------------------


def test_a_query_has_its_documents_with_grades_ranks_and_scores() -> None:
    data = query_data(made(BOTH, ["RR", "P@1"]), {"q1": "words"}, no_titles).data
    query = next(query for query in data["queries"] if query["id"] == "q1")
    found = {
        data["documents"][number]: (grade, first, second)
        for number, grade, first, second in zip(query["d"], query["g"], *query["k"], strict=True)
    }
    assert found == {"a": (1, 2, 1), "b": (0, 1, 2), "n": (-1, 3, 0)}
    assert (query["text"], query["r"]) == ("words", 1)
    assert query["v"] == [[0.5, 0.0], [1.0, 1.0]]
    assert query["s"] == [[0.0, -1.0, -2.0], [0.0, -1.0]]


def test_relevant_documents_are_there_though_nobody_retrieved_them() -> None:
    data = query_data(made(BOTH), {}, no_titles).data
    query = next(query for query in data["queries"] if query["id"] == "q2")
    at = query["d"].index(data["documents"].index("e"))
    assert (query["g"][at], query["k"][0][at], query["k"][1][at]) == (1, 0, 0)


def test_documents_beyond_the_twentieth_have_their_rank_but_only_if_another_run_shows_them() -> (
    None
):
    far = [f"d{n}" for n in range(30)]
    data = query_data(made({"far": {"q1": far}, "near": {"q1": ["d25"]}}), {}, no_titles).data
    (query,) = data["queries"]
    ranks = {data["documents"][n]: rank for n, rank in zip(query["d"], query["k"][0], strict=True)}
    assert ranks == {**{f"d{n}": n + 1 for n in range(20)}, "d25": 26, "a": 0}
    assert len(query["s"][0]) == 20


def test_a_query_that_a_run_lacks_has_no_score_in_it() -> None:
    data = query_data(made({"base": BASE, "half": {"q1": "a"}}), {}, no_titles).data
    assert {query["id"]: query["v"] for query in data["queries"]} == {
        "q1": [[0.5], [1.0]],
        "q2": [[1.0], [None]],
    }


def test_titles_are_asked_only_for_documents_shown() -> None:
    asked: list[str] = []

    def titles(documents: Sequence[str]) -> dict[str, str]:
        asked.extend(documents)
        return {"a": "A title"}

    data = query_data(made(BOTH), {}, titles).data
    assert sorted(asked) == ["a", "b", "c", "d", "e", "n"]
    assert data["titles"][data["documents"].index("a")] == "A title"


def test_too_many_queries_leave_those_with_the_largest_differences() -> None:
    qrels = {f"q{n:02}": {"a": 1} for n in range(30)}
    base = dict.fromkeys(qrels, "a")
    other = {query: "xya"[2 - n % 3 :] for n, query in enumerate(qrels)}
    whole = made({"base": base, "other": other}, ["RR"], qrels, baseline="base")
    found = query_data(whole, {}, no_titles, budget=1_000)
    assert found.total == 30
    assert 0 < found.shown < 10
    # RR falls by 2/3 if two documents are above the relevant one: every third query.
    assert all(int(query["id"][1:]) % 3 == 2 for query in found.data["queries"])
    page = tree(whole, budget=1_000)
    assert f"the {found.shown} of 30 queries whose scores differ most" in page.text_content()


# --- safe -----------------------------------------------------------------------------------


def test_the_policy_names_the_style_and_the_scripts_by_their_hashes() -> None:
    page = tree(made(BOTH))
    policy = page.xpath("string(//meta[@http-equiv='Content-Security-Policy']/@content)")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    scripts = page.xpath("//script[not(@type)]")
    assert len(scripts) == 2
    for part in (*page.iter("style"), *scripts):
        digest = base64.b64encode(hashlib.sha256(part.text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_nothing_in_the_page_leads_elsewhere() -> None:
    page = tree(made(BOTH, baseline="base"))
    places = page.xpath("//@href | //@src | //@action | //@xlink:href", namespaces=NAMESPACES)
    assert all(place.startswith(("#", "data:")) for place in places)
    assert page.xpath("//@style") == []
    assert not page.xpath("//@*[starts-with(name(), 'on')]")


NAMESPACES = {"xlink": "http://www.w3.org/1999/xlink"}


@given(st.text())
def test_any_text_comes_out_as_it_went_in(text: str) -> None:
    template = environment().from_string('<p title="{{ text }}">{{ text }}</p>')
    whole = template.render(text=text)
    part = html.fragment_fromstring(whole.encode(), parser=html.HTMLParser(encoding="utf-8"))
    kept = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", "\ufffd", text)
    assert (part.text or "").replace("\r", "\n") == kept.replace("\r\n", "\n").replace("\r", "\n")
    assert len(part) == 0


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.none()))
def test_data_cannot_leave_its_element(data: dict[str, Any]) -> None:
    inside = environment().from_string("{{ data | tojson }}").render(data=data)
    assert not set("<>&\u2028\u2029") & set(inside)
    assert json.loads(inside) == data


def test_halves_of_characters_do_not_stop_the_page() -> None:
    page = evaluation_page(
        made(BOTH), Front(title="\ud800", command="\x00", texts={"q1": "half \udc00"})
    )
    assert page.encode()


def test_an_inline_figure_has_no_styles_and_ids_of_its_own() -> None:
    svg = (
        b'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
        b"<metadata/><defs><style>*{}</style></defs>"
        b'<path id="p" style="fill: #27415f; stroke: #abc" clip-path="url(#c)"/>'
        b'<use xlink:href="#p"/><text style="font-size: 8px">&lt;b&gt;</text>'
        b"</svg>"
    )
    found = etree.fromstring(inline_svg(svg, "one", 'says "x"'))
    path, use, text = (found.find(f".//{{*}}{name}") for name in ("path", "use", "text"))
    assert dict(path.attrib) == {
        "id": "one-p",
        "fill": "var(--mark)",
        "stroke": "#abc",
        "clip-path": "url(#one-c)",
    }
    assert dict(use.attrib) == {"href": "#one-p"}
    assert (text.text, text.get("font-size")) == ("<b>", "8px")
    assert (found.get("role"), found.get("aria-label")) == ("img", 'says "x"')
    assert found.find(".//{*}style") is None
    assert found.find(".//{*}metadata") is None


def test_a_figure_is_saved_as_it_was_drawn() -> None:
    drawn = make_page_figure(b"<svg><b/></svg>", "one", "says", "a label", "x<b>")
    template = environment().get_template("parts.html.j2").module
    made = html.fragment_fromstring(str(template.figures([drawn])).strip())  # type: ignore[attr-defined]
    (link,) = made.iter("a")
    assert base64.b64decode(link.get("href").partition(",")[2]) == b"<svg><b/></svg>"
    assert (link.get("download"), link.get("aria-label")) == ("x<b>.svg", "Save as SVG: x<b>.svg")


def test_a_value_without_a_source_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="nobody"):
        environment().from_string("{{ nobody }}").render()
