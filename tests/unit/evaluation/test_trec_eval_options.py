"""trec_eval's command line, read as GNU's getopt reads it."""

from __future__ import annotations

import pytest

from citebed.errors import CitebedError
from citebed.evaluation.trec_eval.options import Options, read_options
from citebed.evaluation.trec_eval.program import select_lines


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("q r", Options(qrels="q", run="r")),
        ("--as-version 10.0 q r", Options(version="10.0", qrels="q", run="r")),
        ("--as-version=9.0.8 q r", Options(qrels="q", run="r")),
        ("q r -qcJ", Options(qrels="q", run="r", per_query=True, complete=True, judged_only=True)),
        ("-l2 -M 5 -N9 q r", Options(qrels="q", run="r", level=2, max_documents=5, documents=9)),
        ("--level=2 --nosum q r", Options(qrels="q", run="r", level=2, without_summary=True)),
        ("-m map -mP.5 q r", Options(qrels="q", run="r", measures=("map", "P.5"))),
        ("--measure map q r", Options(qrels="q", run="r", measures=("map",))),
        ("-o -D 0 -R qrels -T trec_results -- q r", Options(qrels="q", run="r")),
        ("-q -h", Options(info_request="help")),
        ("--as-version 10.0 -v", Options(version="10.0", info_request="version")),
    ],
)
def test_a_command_line(typed: str, expected: Options) -> None:
    assert read_options(typed.split()) == expected


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("q", "expected 2 files, found 1"),
        ("q r s", "expected 2 files, found 3"),
        ("-z q r", "option -z not recognized"),
        ("q r -m", "option -m requires argument"),
        ("-l x q r", "-l takes a whole number from 0; found 'x'"),
        ("-M -1 q r", "-M takes a whole number from 0; found '-1'"),
        ("-D 1 q r", "-D (debug output) is not supported"),
        ("-R prefs q r", "-R prefs: preferences and several judgements per document are not supp"),
        ("-R nothing q r", "unknown format of judgements 'nothing'"),
        ("--as-version 8 q r", "unknown version of trec_eval '8'"),
    ],
)
def test_a_command_line_that_is_refused(typed: str, said: str) -> None:
    with pytest.raises(CitebedError) as error:
        read_options(typed.split())
    assert said in str(error.value)


def test_lines_are_in_the_programs_order_with_the_parameters_given_first() -> None:
    labels = [
        line.label for line in select_lines(["ndcg", "P", "P.7", "P.3", "runid", "map"], "9.0.8")
    ]
    assert labels == ["runid", "map", "P_7", "ndcg"]


def test_only_version_10_has_rbp() -> None:
    assert [line.label for line in select_lines(["unj.2", "rbp", "rbp_resid"], "10.0")] == [
        "rbp", "rbp_resid", "unj_2",
    ]  # fmt: skip
    with pytest.raises(CitebedError):
        select_lines(["rbp"], "9.0.8")
