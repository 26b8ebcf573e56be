"""The verbs of judgement sets and of fusion as a stranger types them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest
from tests.commands import Run

from citebed.runs.reader import read_qrels

A = "q1 0 a 1\nq1 0 b 0\nq1 0 c 2\nq2 0 a 1\n"
B = "q1 0 a 1\nq1 0 b 1\nq2 0 d 0\n"
BIB = """@article{oak, title={Oaks}, year={2001}, doi={10.5072/oak}}
@article{elm, title={Elms}, year={2002}, doi={10.5072/elm}}
@article{ash, title={Ashes}, year={2003}, doi={10.5072/ash}}
@article{new, title={News}, year={2019}, doi={10.5072/new}}
"""
CITING = """<doc><id>{name}</id><title>On {name}</title><year>2015</year><contexts>
<context id="1" section="intro"><s cites="1">{name} stand tall [1].</s></context></contexts>
<references>{references}</references></doc>"""


@pytest.fixture
def call(command: Run) -> Run:
    """Run the command line in a folder with two small sets of judgements."""
    Path("a.qrels").write_text(A)
    Path("b.qrels").write_text(B)

    return command


def read(path: str) -> list[tuple[str, str, int]]:
    return read_qrels(path).table.rows()


# --- stats ---


def test_stats_of_kba_judgements(call: Run) -> None:
    """A pair once, as ``evaluate`` reads them; the second field is a document, and no source."""
    ratings = [("a", 2), ("a", 1), ("b", -1), ("c", 1)]
    lines = (f"e {1317945600}-{doc} 1000 {rating} 1\n" for doc, rating in ratings)
    Path("kba.txt").write_text("".join(lines))
    code, out, err = call("qrels", "stats", "kba.txt", "--json")
    rows = {row["figure"]: row["value"] for row in json.loads(out)}
    assert (code, rows["judgements"], rows["grade 1"], rows["grade 0"]) == (0, 3, 2, 1)
    assert "note: kba: read as KBA judgements, 3 pairs from 4 lines" in err
    code, _, _ = call("qrels", "difference", "kba.txt", "a.qrels", "-o", "left.qrels")
    assert (code, len(read("left.qrels"))) == (0, 3)


def test_stats(call: Run) -> None:
    code, out, _ = call("qrels", "stats", "a.qrels", "b.qrels", "--json")
    rows = {(row["qrels"], row["figure"]): row["value"] for row in json.loads(out)}
    assert code == 0
    assert rows["a", "queries"] == 2
    assert rows["a", "grade 2"] == 1
    assert rows["b", "queries without relevant"] == 1
    code, out, _ = call("qrels", "stats", "a.qrels", "b.qrels")
    assert out.splitlines()[0].split() == ["a", "b"]
    assert "grade 2" in out
    assert list(csv.DictReader(io.StringIO(call("qrels", "stats", "a.qrels", "--csv")[1])))


def test_stats_are_the_figures_of_a_test_collection(call: Run) -> None:
    """For a: three relevant and one other over two queries, of nine thousand documents."""
    code, out, _ = call("qrels", "stats", "a.qrels", "--documents", "9,000", "--json")
    rows = {row["figure"]: row["value"] for row in json.loads(out)}
    assert code == 0
    assert list(rows)[:6] == [
        "queries", "relevant per query, mean", "not relevant per query, mean",
        "judged per query, mean", "documents of the collection", "relevant per 1,000 documents",
    ]  # fmt: skip
    assert list(rows.values())[:5] == [2, 1.5, 0.5, 2, 9000]
    assert rows["relevant per 1,000 documents"] == pytest.approx(1.5 / 9)
    code, out, _ = call("qrels", "stats", "a.qrels", "b.qrels")
    assert "per 1,000" not in out


def test_stats_know_the_collection(call: Run, collection: Path) -> None:
    inside = str(collection / "qrels" / "paragraphs.qrels")
    for words in ((inside,), ("a.qrels", "--documents", str(collection))):
        code, out, _ = call("qrels", "stats", *words)
        assert code == 0
        assert "documents of the collection" in out
    code, _, err = call("qrels", "stats", "a.qrels", "--documents", "many")
    assert code == 1
    assert "--documents takes a number or the folder of a collection" in err


def test_stats_by_source(call: Run) -> None:
    Path("s.qrels").write_text("q1 cited a 1\nq1 manual b 0\nq2 cited a 0\n")
    _, out, _ = call("qrels", "stats", "s.qrels", "b.qrels")
    assert [line.split() for line in out.splitlines()[-3:]] == [
        ["s", "all", "1.50", "0.50", "1.00"],
        ["s", "cited", "1.00", "0.50", "0.50"],
        ["s", "manual", "0.50", "0.00", "0.50"],
    ]
    _, out, _ = call("qrels", "stats", "s.qrels", "--json")
    rows = {row["figure"]: row["value"] for row in json.loads(out)}
    assert rows["cited: relevant per query, mean"] == 0.5
    Path("odd.qrels").write_text("q1 \x1b[31mred a 1\n")
    assert r"\x1b[31mred" in call("qrels", "stats", "odd.qrels")[1]


# --- difference ---


def test_a_difference_says_what_it_took_away(call: Run) -> None:
    code, _, err = call("qrels", "difference", "a.qrels", "b.qrels", "-o", "less.qrels")
    assert code == 0
    assert read("less.qrels") == [("q1", "c", 2), ("q2", "a", 1)]
    assert "dropped 2 judgements" in err
    assert "note: 1 of the 2 judgements dropped has another grade there" in err
    facts = json.loads(Path("less.qrels.json").read_text())
    assert (facts["shared"], facts["changed"], list(facts["from"])) == (
        2,
        1,
        ["a.qrels", "b.qrels"],
    )


def test_where_judgements_come_from_goes_along(call: Run) -> None:
    Path("s.qrels").write_text("q1 cited a 1\nq1 manual b 0\nq2 cited a 0\n")
    assert call("qrels", "difference", "s.qrels", "b.qrels", "-o", "d.qrels")[0] == 0
    assert Path("d.qrels").read_text() == "q2 cited a 0\n"
    assert call("qrels", "subset", "s.qrels", "--source", "manual", "-o", "m.qrels")[0] == 0
    assert Path("m.qrels").read_text() == "q1 manual b 0\n"
    assert call("qrels", "merge", "s.qrels", "b.qrels", "--rule", "first", "-o", "w.qrels")[0] == 0
    assert Path("w.qrels").read_text() == ("q1 cited a 1\nq1 manual b 0\nq2 cited a 0\nq2 b d 0\n")


# --- sample and subset ---


def test_sample_says_what_it_read_dropped_and_wrote(call: Run) -> None:
    code, out, err = call(
        "qrels", "sample", "a.qrels", "--share", "0.5", "--by", "query", "-o", "half.qrels"
    )
    assert (code, out) == (0, "")
    assert "read 4 judgements of 2 queries from a.qrels" in err
    assert len({query for query, *_ in read("half.qrels")}) == 1
    facts = json.loads(Path("half.qrels.json").read_text())
    assert facts["share"] == 0.5
    assert list(facts["from"]) == ["a.qrels"]


def test_subset(call: Run) -> None:
    Path("q.txt").write_text("# wanted\nq2 and more\nq7\n")
    code, _, err = call("qrels", "subset", "a.qrels", "--queries", "q.txt", "-o", "q2.qrels")
    assert code == 0
    assert read("q2.qrels") == [("q2", "a", 1)]
    assert "1 of 2 queries named has no judgement, such as 'q7'" in err
    assert "dropped 3 judgements, and 1 query with all judgements" in err
    assert call("qrels", "subset", "a.qrels", "--min-relevance", "2", "-o", "x.qrels.gz")[0] == 0
    assert read("x.qrels.gz") == [("q1", "c", 2)]
    assert call("qrels", "subset", "a.qrels", "--queries", "x.qrels.gz", "-o", "y.parquet")[0] == 0
    assert {query for query, *_ in read("y.parquet")} == {"q1"}


def test_a_pool(call: Run) -> None:
    Path("r.run").write_text("q1 Q0 b 1 2 t\nq1 Q0 a 2 1 t\n")
    assert call("qrels", "subset", "a.qrels", "r.run", "--depth", "1", "-o", "p.qrels")[0] == 0
    assert read("p.qrels") == [("q1", "b", 0)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("subset", "a.qrels", "-o", "x"), "nothing says what to keep"),
        (("subset", "a.qrels", "--source", "cited", "-o", "x"), "does not name the sources"),
        (("difference", "a.qrels", "a.qrels", "-o", "x"), "no judgement is left"),
        (("difference", "a.qrels", "none", "-o", "x"), "no such file: none"),
        (("difference", "a.qrels", "b.qrels", "-o", "a.qrels"), "is an input file"),
        (("subset", "a.qrels", "--depth", "3", "-o", "x"), "belong together"),
        (("subset", "a.qrels", "--min-relevance", "9", "-o", "x"), "no judgement is left"),
        (("subset", "a.qrels", "--min-relevance", "1", "-o", "a.qrels"), "is an input file"),
        (("subset", "a.qrels", "--queries", "none", "-o", "x"), "no such file: none"),
        (("sample", "a.qrels", "--share", "2", "-o", "x"), "share 2.0"),
        (("merge", "a.qrels", "b.qrels", "--rule", "maxx", "-o", "x"), "Did you mean 'max'"),
        (("merge", "a.qrels", "--rule", "max", "--map", "a1=2", "-o", "x"), "cannot read --map"),
        (("merge", "a.qrels", "--rule", "max", "--map", f"a:1={9**30}", "-o", "x"), "too large"),
        (("expand", "a.qrels", "--cocited", "b.qrels", "--grade", f"{9**30}", "-o", "x"), "large"),
        (("merge", "a.qrels", "--rule", "max", "--map", "a:1=2=3", "-o", "x"), "cannot read --map"),
        (
            ("merge", "a.qrels", "--rule", "max", "--map", "a:1=2,1=3", "-o", "x"),
            "grade 1 of 'a' would become both 2 and 3",
        ),
        (
            ("merge", "a.qrels", "--rule", "max", "--map", "a:1=2", "--map", "a:1=0", "-o", "x"),
            "grade 1 of 'a' would become both 2 and 0",
        ),
        (
            ("merge", "a.qrels", "b.qrels", "--rule", "max", "-o", "x", "--json", "--csv"),
            "--json and --csv were given. Choose one.",
        ),
        (("stats", "a.qrels", "--json", "--csv"), "Choose one"),
        (("expand", "a.qrels", "--cocited", "b.qrels", "-o", "x"), "b.qrels:1: found 4 fields"),
    ],
)
def test_mistakes_are_reported_and_nothing_is_written(
    call: Run, arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = call("qrels", *arguments)
    assert (code, out) == (1, "")
    assert message in err
    assert not Path("x").exists()
    assert Path("a.qrels").read_text() == A


# --- merge ---


def test_merge_lists_the_conflicts(call: Run) -> None:
    code, out, err = call("qrels", "merge", "a.qrels", "b.qrels", "--rule", "max", "-o", "m.qrels")
    assert code == 0
    assert read("m.qrels") == [
        ("q1", "a", 1), ("q1", "b", 1), ("q1", "c", 2), ("q2", "a", 1), ("q2", "d", 0)
    ]  # fmt: skip
    assert out.splitlines()[1].split() == ["q1", "b", "0", "1", "1"]
    assert "5 pairs of query and document, 2 judged by more than one set, 1 with conflict" in err
    arguments = ("qrels", "merge", "a.qrels", "b.qrels", "--rule", "min", "--map", "b:1=3")
    _, out, _ = call(*arguments, "--json", "-o", "n.qrels")
    assert json.loads(out) == [
        {"query_id": "q1", "doc_id": "a", "a": 1, "b": 3, "merged": 1},
        {"query_id": "q1", "doc_id": "b", "a": 0, "b": 3, "merged": 0},
    ]


# --- expand ---


@pytest.fixture
def collection(call: Run) -> Path:
    """Three papers cite oak and elm together, one of them ash and another the news of 2019."""
    Path("in").mkdir()
    Path("in/refs.bib").write_text(BIB)
    lists = {"one": ("oak", "elm", "ash"), "two": ("oak", "elm"), "six": ("oak", "elm", "new")}
    for name, cited in lists.items():
        references = "".join(
            f'<reference id="{n}">10.5072/{key}</reference>' for n, key in enumerate(cited, 1)
        )
        Path(f"in/{name}.xml").write_text(CITING.format(name=name, references=references))
    assert call("import", "c", "in", "-q", "--no-future")[0] == 0
    return Path("c")


def expanded(call: Run, collection: Path, *options: str) -> tuple[dict[str, set[str]], str]:
    qrels = str(collection / "qrels" / "paragraphs.qrels")
    code, _, err = call(
        "qrels", "expand", qrels, "--cocited", str(collection), "-o", "co.qrels", *options
    )
    assert code == 0, err
    found: dict[str, set[str]] = {}
    for query, document, _ in read("co.qrels"):
        found.setdefault(query.split("_")[0], set()).add(document)
    return found, err


def test_expanding_from_a_collection(call: Run, collection: Path) -> None:
    """Each paragraph cites oak, three also cite elm, and one each ash and the news."""
    before = (collection / "qrels" / "paragraphs.qrels").read_text()
    found, err = expanded(call, collection)
    assert all(len(documents) == 1 for documents in found.values())
    assert len(found) == 3
    assert Path("co.qrels").read_text().split()[1] == "cocited"
    assert "3 reference lists with 8 citations" in err
    assert (collection / "qrels" / "paragraphs.qrels").read_text() == before
    assert json.loads(Path("co.qrels.json").read_text())["at_least"] == 2


def test_the_own_paper_and_later_documents_are_left_out(call: Run, collection: Path) -> None:
    """Without its own list a query has elm twice; ash only where its paper does not cite it.

    The news came four years after all papers: no query may have it.
    """
    found, _ = expanded(call, collection, "--not-own-paper")
    assert len(found) == 3
    once, err = expanded(call, collection, "--not-own-paper", "--at-least", "1")
    assert sorted(map(len, once.values())) == [1, 2, 2]
    assert "2 excluded for the query" in err
    thrice = ("qrels", "expand", "c/qrels/paragraphs.qrels", "--cocited", "c", "--at-least", "3")
    assert call(*thrice, "--not-own-paper", "-o", "none.qrels")[0] == 1
    assert call(*thrice, "-o", "some.qrels")[0] == 0


PAIRS = pl.DataFrame({"doc_id": ["a"], "other_id": ["x"], "count": [2]})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (PAIRS.drop("count"), "missing column: count"),
        (PAIRS.with_columns(count=pl.lit("many")), "'count' holds String; expected numbers"),
        (PAIRS.with_columns(count=pl.lit(-1)), "a count is below 0"),
        (PAIRS.with_columns(count=pl.lit(float("nan"))), "is not a finite number"),
        (PAIRS.with_columns(doc_id=pl.struct("doc_id")), "'doc_id' holds Struct"),
        (PAIRS.with_columns(doc_id=pl.lit(None)), "the doc_id of row 1 is missing"),
        (PAIRS, ""),
    ],
)
def test_expanding_from_a_table(call: Run, table: pl.DataFrame, message: str) -> None:
    table.write_parquet("pairs.parquet")
    code, _, err = call("qrels", "expand", "a.qrels", "--cocited", "pairs.parquet", "-o", "x")
    assert message in err
    assert code == (1 if message else 0)


def test_expanding_from_a_file(call: Run) -> None:
    Path("pairs").write_text("a x 2\ny a 1\na b 5\nc x 1\n")
    code, _, err = call(
        "qrels", "expand", "a.qrels", "--cocited", "pairs", "--grade", "3", "-o", "co.qrels"
    )
    assert code == 0
    assert read("co.qrels") == [("q1", "x", 3), ("q2", "b", 3), ("q2", "x", 3)]
    assert "1 already judged" in err
    assert call(
        "qrels", "expand", "a.qrels", "--cocited", "pairs", "--not-own-paper", "-o", "z"
    )[0] == 1  # fmt: skip


def test_sets_of_one_name_are_distinguished(call: Run) -> None:
    Path("old").mkdir()
    Path("old/a.qrels").write_text(B)
    here = Path.cwd().name
    files = ("a.qrels", "old/a.qrels")
    rows = json.loads(call("qrels", "stats", *files, "--json")[1])
    assert list(dict.fromkeys(row["qrels"] for row in rows)) == [f"{here}/a", "old/a"]
    words = ("qrels", "merge", *files, "--rule", "max", "--map", "old/a:1=1", "-o", "m.qrels")
    assert call(*words)[0] == 0
    made_from = json.loads(Path("m.qrels.json").read_text())["from"]
    assert list(made_from) == list(files)
    assert len(set(made_from.values())) == 2


# --- fuse ---


def test_fuse(call: Run) -> None:
    Path("one.run").write_text("q1 Q0 a 1 3 t\nq1 Q0 b 2 1 t\nq2 Q0 x 1 1 t\n")
    Path("two.run").write_text("q1 Q0 b 1 9 t\n")
    code, out, err = call("fuse", "one.run", "two.run", "-k", "1", "-o", "f.run", "--tag", "both")
    assert (code, out) == (0, "")
    lines = [line.split() for line in Path("f.run").read_text().splitlines()]
    assert [line[:4] + line[5:] for line in lines] == [
        ["q1", "Q0", "b", "1", "both"],
        ["q2", "Q0", "x", "1", "both"],
    ]
    assert float(lines[0][4]) == pytest.approx(1 / 62 + 1 / 61)
    assert "read 1 document for 1 query from two.run, 1 fewer than all" in err
    assert json.loads(Path("f.run.json").read_text())["method"] == "rrf(k0=60)"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--method", "rff"), "unknown method of fusion 'rff'. Did you mean 'rrf'"),
        (("--weights", "a,b"), "cannot read --weights"),
        (("--weights", "1"), "found 1 weight for 2 runs"),
        (("--weights", "0,0"), "all weights are 0"),
        (("--normalise", "zscore"), "rrf reads ranks"),
        (("-o", "one.run"), "is an input file"),
    ],
)
def test_fusing_what_makes_no_sense(call: Run, options: tuple[str, ...], message: str) -> None:
    for name in ("one.run", "two.run"):
        Path(name).write_text("q1 Q0 a 1 3 t\n")
    code, _, err = call("fuse", "one.run", "two.run", "-o", "f.run", *options)
    assert code == 1
    assert message in err
    assert not Path("f.run").exists()
