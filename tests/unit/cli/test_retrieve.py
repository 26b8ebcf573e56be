"""The verbs of recommending as a stranger types them: results, exit codes, messages."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from tests.commands import Run, indexed
from tests.shared import Once
from tests.unit.retrieval.vectors.models import write_small

import citebed

BIB = r"""@article{oak, title={Oak Trees \& Forests}, author={Ash, Ann and B{\"o}hm, Bo},
  year={2001}, journal={J. of Trees}, doi={10.5072/oak}, abstract={Oaks grow in forests.}}
@inproceedings{elm, title={Elms in Forests}, author={Chen, Chi}, year={2005},
  booktitle={Proc. of Elms}, doi={10.5072/elm}}
@article{sea, title={The Salt of the Sea}, author={Dow, Dee}, year={2010}, journal={J. of Salt}}
@article{own, title={My Own Paper on Forests}, author={Ego, Eve}, year={2012}, journal={J. of I}}
"""
XML = """<doc><id>p</id><title>A Paper</title><year>2015</year><contexts>
<context id="1" section="intro"><s cites="1">Forests have oaks [1].</s>
<s cites="2">Whales swim [2].</s></context></contexts>
<references><reference id="1">10.5072/OAK</reference><reference id="2">10.5072/elm</reference>
</references></doc>"""


@pytest.fixture
def run(command: Run, once: Once) -> Run:
    """Run the command line in a folder that holds an indexed collection ``c``."""
    indexed(once, "two-trees", {"in/refs.bib": BIB, "in/p.xml": XML})
    return command


def rows(out: str) -> list[dict]:
    return json.loads(out)


# --- index ----------------------------------------------------------------------------------


def test_index_says_what_it_did(run: Run) -> None:
    code, out, _ = run("index", "c")
    assert (code, out) == (0, "c: the index is up to date (4 documents)\n")
    code, out, _ = run("index", "c", "--rebuild")
    assert code == 0
    assert out.startswith("c: indexed 4 documents, ")
    assert "citing text: 2 contexts" in out
    assert re.search(r"^vectors: 4 made by the static model, 0\.0 MB$", out, re.M)
    (report,) = rows(run("index", "c", "--rebuild", "--json")[1])
    assert (report["documents"], report["counted"], report["contexts"]) == (4, 4, 2)
    assert (report["embedded"], report["encoded"], report["not_encoded"]) == (4, 0, 0)


def test_index_after_an_import(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in/more.bib").write_text("@misc{new, title={Beech Trees}, year={2020}}")
    run("import", "c", "in", "-q")
    code, _, err = run("recommend", "c", "forests")
    assert code == 0
    assert "note: c has changed since it was indexed; run: citebed index c" in err
    out = run("index", "c")[1]
    assert "1 document new or changed, 4 as before" in out
    assert "vectors: 1 made by the static model, " in out
    assert rows(run("recommend", "c", "beech", "--json")[1])[0]["doc_id"] == "new"


def test_index_with_contexts(run: Run, tmp_path: Path) -> None:
    lines = [{"citing": "x", "context": "Whales", "cited": name} for name in ("SEA", "gone")]
    (tmp_path / "more.jsonl").write_text("\n".join(map(json.dumps, lines)))
    out = run("index", "c", "--citing", "more.jsonl")[1]
    assert "citing text: 3 contexts" in out
    assert "1 context of the files cite papers outside the collection" in out
    found = rows(run("recommend", "c", "whales", "--fields", "title,citing", "--json")[1])
    assert {row["doc_id"] for row in found} == {"elm", "sea"}


def test_index_with_own_word_vectors_and_back(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    write_small(tmp_path / "mine.npz")
    asked = ("recommend", "c", "Oaks in forests", "--json")
    before = rows(run(*asked)[1])
    for name in ("mine.npz", "shipped"):
        (report,) = rows(run("index", "c", "--static", name, "--json")[1])
        assert report["embedded"] == 4
        found = rows(run(*asked)[1])
        assert all(0 < row["probability"] < 1 for row in found), "by words alone, if need be"
    assert rows(run(*asked)[1]) == before
    (report,) = rows(run("index", "c", "--json")[1])
    assert report["unchanged"], "and stays there"
    assert not report["vectors_gone"]


def test_own_word_vectors_that_are_gone_are_reported(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    write_small(tmp_path / "mine.npz")
    assert "word vectors is missing" not in run("index", "c", "--static", "mine.npz")[1]
    assert "up to date" in run("index", "c")[1]
    shutil.rmtree(tmp_path / "data")
    told = run("index", "c")[1]
    assert "the earlier model of the word vectors is missing" in told
    assert "--static FILE" in told


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["nowhere"], "there is no collection at 'nowhere'"),
        (["in"], "is not a collection"),
        (["c", "--analyser", "german"], "unknown analyser 'german'"),
        (["c", "--citing", "none.jsonl"], "'none.jsonl' is not a file"),
        (["c", "--citing", "in/refs.bib"], "refs.bib:1: is not JSON"),
        (["c", "--workers", "x"], "Invalid value"),
    ],
)
def test_index_refuses(run: Run, arguments: list[str], what: str) -> None:
    code, _, err = run("index", *arguments)
    assert code == 1
    assert what in err


def test_other_analysers_are_used_for_queries_too(run: Run) -> None:
    assert run("index", "c", "--analyser", "none", "-q")[0] == 0
    code, out, err = run("recommend", "c", "forest")
    assert (code, out) == (0, "")
    assert "without a word in the index" in err
    assert run("recommend", "c", "Forests")[0] == 0
    assert run("index", "c", "--analyser", "snowball(german)", "-q")[0] == 0
    assert run("recommend", "c", "forests")[0] == 0


# --- search ---------------------------------------------------------------------------------


def test_search_writes_a_run_and_says_how(run: Run, tmp_path: Path) -> None:
    code, out, err = run("search", "c", "--queries", "sentences", "-m", "bm25(k1=1)", "-o", "a.run")
    assert code == 0
    assert "2 queries, 3 results with bm25(k1=1,b=0.4): a.run (and a.run.json)" in out
    assert "1 query has no word in the index" in err
    lines = [line.split() for line in (tmp_path / "a.run").read_text().splitlines()]
    assert [line[0] for line in lines] == ["p:1.1"] * 3
    assert [line[3] for line in lines] == ["1", "2", "3"]
    assert {line[5] for line in lines} == {"bm25(k1=1,b=0.4)"}
    about = json.loads((tmp_path / "a.run.json").read_text())
    assert about["model"] == "bm25(k1=1,b=0.4)"
    assert about["fields"] == "title,abstract,keywords"
    assert about["queries"]["set"] == "sentences"
    assert about["analyser"] == "english"
    assert about["index"]["documents"] == 4
    assert about["depth"] == 1000
    assert {"python", "numpy", "polars"} <= set(about["versions"])
    assert {"command", "time", "seed", "sha256", "notes", "made_by"} <= set(about)


def test_search_overwrites_only_when_asked(run: Run, tmp_path: Path) -> None:
    arguments = ("search", "c", "--queries", "paragraphs", "-q")
    assert run(*arguments) == (0, "", "")
    path = tmp_path / "c/runs/bm25.paragraphs.run"
    before = path.read_bytes()
    code, _, err = run(*arguments, "-m", "bm25")
    assert code == 1
    assert "already exists. Add --overwrite" in err
    assert run(*arguments, "--overwrite", "--depth", "1")[0] == 0
    assert len(path.read_bytes().splitlines()) == 1 < len(before.splitlines())


def test_search_describes_a_run_as_ir_metadata(run: Run) -> None:
    asked = ("search", "c", "--queries", "sentences", "-q")
    assert run(*asked, "-o", "plain.run")[0] == 0
    assert run(*asked, "-o", "header.run", "--metadata", "header")[0] == 0
    lines = Path("header.run").read_text().splitlines(keepends=True)
    end = lines.index("# ir_metadata.end\n")
    assert lines[0] == "# ir_metadata.start\n"
    assert all(line.startswith("# ") for line in lines[:end])
    assert "".join(lines[end + 1 :]) == Path("plain.run").read_text()
    assert run(*asked, "-o", "apart.run", "--metadata", "ir-metadata.yml")[0] == 0
    assert Path("apart.run").read_text() == Path("plain.run").read_text()
    for path in ("header.run", "ir-metadata.yml", "plain.run"):
        found = citebed.read_metadata(path)
        assert found["tag"] == "bm25(k1=0.9,b=0.4)"
        assert found["data"]["test collection"]["topics"] == "sentences"
        assert found["resources"]["runtime"]["wallclock"].endswith(" ms")
    code, _, err = run(*asked, "-o", "other.run", "--metadata", "ir-metadata.yml")
    assert code == 1
    assert "'ir-metadata.yml' already exists" in err
    assert not Path("other.run").exists()
    code, _, err = run(*asked, "-o", "other.parquet", "--metadata", "header")
    assert code == 1
    assert "a Parquet file has no header" in err
    code, _, err = run(*asked, "-o", "other.run", "--metadata", "c/citebed.toml", "--overwrite")
    assert code == 1
    assert "expected 'header', or a file ending in .yml" in err


def test_search_with_a_file_of_queries(run: Run, tmp_path: Path) -> None:
    query = {"query_id": "two words", "text": "forests", "before": "2003", "exclude": []}
    (tmp_path / "q.jsonl").write_text(json.dumps(query))
    code, _, err = run("search", "c", "--queries", "q.jsonl", "-o", "x.run")
    assert code == 1
    assert "'two words' is empty, contains a blank" in err
    assert not (tmp_path / "x.run").exists()
    assert run("search", "c", "--queries", "q.jsonl", "-o", "x.parquet")[0] == 0
    table = pl.read_parquet(tmp_path / "x.parquet")
    assert table.select("query_id", "doc_id", "rank").rows() == [("two words", "oak", 1)]
    (tmp_path / "q.tsv").write_text("1\tforests\n2\tsalt\n")
    assert run("search", "c", "--queries", "q.tsv", "--fields", "title=2", "-m", "kl")[0] == 0
    assert (tmp_path / "c/runs/kl.q.run").exists()


def test_what_search_writes_is_what_evaluate_reads(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line of query ``#1`` is a remark to some programs and none to others."""
    (tmp_path / "q.tsv").write_text("#1\tsalt\nq2\tforests\n")
    with monkeypatch.context() as patch:
        # Refused before the search.
        patch.setattr("citebed.retrieval.execution.run_files.run_queries", None)
        for name in ("x.run", "x.run.gz"):
            code, _, err = run("search", "c", "--queries", "q.tsv", "-o", name)
            assert code == 1
            assert "'#1' is empty, contains a blank or starts with #" in err
            assert "Write Parquet instead" in err
    assert run("search", "c", "--queries", "q.tsv", "-o", "x.parquet", "-q")[0] == 0
    judged = {"query_id": ["#1", "q2"], "doc_id": ["sea", "elm"], "relevance": [1, 1]}
    pl.DataFrame(judged).write_parquet(tmp_path / "j.parquet")
    out = run("evaluate", "j.parquet", "x.parquet", "-m", "RR", "--per-query", "--json")[1]
    assert {row["query_id"]: row["value"] for row in rows(out)}["#1"] == 1


def test_search_with_feedback_from_the_judgements(run: Run, tmp_path: Path) -> None:
    code, _, err = run(
        *("search", "c", "--queries", "sentences", "-o", "f.run"),
        *("-m", "bm25+rocchio(from=sentences)"),
    )
    assert code == 0
    assert "uses judgements of sentences" in err
    about = json.loads((tmp_path / "f.run.json").read_text())
    assert about["feedback_from_evaluation_judgements"] == ["sentences"]
    assert about["feedback_from"]["file"] == "sentences.qrels"


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--queries", "sentence"], "Did you mean 'sentences'?"),
        (["--queries", "sentences", "-m", "bm24"], "Did you mean 'bm25'?"),
        (["--queries", "sentences", "-m", "bm25(k=1)"], "unknown parameter of bm25 'k'"),
        (["--queries", "sentences", "--fields", "fulltext"], "no field 'fulltext'"),
        (["--queries", "sentences", "--depth", "0"], "Invalid value"),
        (["--queries", "sentences", "-m", "bm25+rm3(from=x)"], "no judgements 'x'"),
        (["--queries", "sentences", "-o", "c"], "already exists"),
        (["--queries", "sentences", "-o", "in/refs.bib/x.run"], "in/refs.bib"),
        (["--queries", "in/refs.bib"], "refs.bib:1: Expected on each line a query id"),
        ([], "Missing option '--queries'"),
    ],
)
def test_search_refuses(run: Run, arguments: list[str], what: str) -> None:
    code, _, err = run("search", "c", *arguments)
    assert code == 1
    assert what in err


# --- recommend --------------------------------------------------------------------------------

FIELDS = (
    *("rank", "doc_id", "score", "title", "authors", "year", "venue", "doi", "terms", "sentence"),
    *("passage", "line", "section", "file", "column", "key", "in_bib"),
    *("abstract_sentence", "citing_sentences", "cited_by", "reprints", "link"),
    *("strength", "probability", "sure", "reason"),
)


def test_recommend_for_people(run: Run) -> None:
    code, out, err = run("recommend", "c", "Nothing is known. Oaks grow in forests.", "-k", "2")
    assert code == 0
    assert err == ""
    lines = out.splitlines()
    assert lines[0] == " 1. Oak Trees & Forests"
    assert lines[1] == "    Ann Ash, Bo Böhm · 2001 · J. of Trees · 10.5072/oak"
    assert lines[2] == "    cite as: oak"
    assert set(lines[3].partition("because of: ")[2].split(", ")) == {"oaks", "grow", "forests"}
    assert "right" not in lines[3]
    assert lines[4] == "    asked by: Oaks grow in forests."
    assert lines[5] == "    abstract: Oaks grow in forests."
    assert lines[6] == "    cited elsewhere: Forests have oaks."
    assert lines[7] == "      by A Paper (2015)"
    assert lines[8].startswith(" 2. ")
    assert len([line for line in lines if line[:3].strip().rstrip(".").isdigit()]) == 2


def test_recommend_for_programs(run: Run) -> None:
    code, out, _ = run("recommend", "c", "Oaks in forests", "--json")
    assert code == 0
    found = rows(out)
    assert tuple(found[0]) == FIELDS
    assert found[0]["doc_id"] == "oak"
    assert found[0]["authors"] == ["Ash, Ann", "Böhm, Bo"]
    assert found[0]["terms"] == ["oaks", "forests"]
    assert found[0]["sentence"] == "Oaks in forests"
    assert [row["rank"] for row in found] == [1, 2, 3]
    assert (found[0]["passage"], found[0]["line"]) == (1, 1)
    assert rows(run("recommend", "c", "salt", "--json", "-k", "1000000")[1])[0]["doc_id"] == "sea"


def stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_recommend_from_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, "Forêts of oaks".encode())
    assert rows(run("recommend", "c", "--json")[1])[0]["doc_id"] == "oak"
    stdin(monkeypatch, b"Salt \xe9")
    assert rows(run("recommend", "c", "-", "--json")[1])[0]["doc_id"] == "sea"
    for data, what in ((b"", "no text"), (b"\0\1\2", "binary"), (b"%PDF-1.7 x", "cut short")):
        stdin(monkeypatch, data)
        code, _, err = run("recommend", "c")
        assert code == 1
        assert what in err
    monkeypatch.setattr("sys.stdin", None)
    code, _, err = run("recommend", "c")
    assert code == 1
    assert "standard input is closed" in err


TEX = r"""\documentclass{article}
\title{My Own Paper on Forests}
\begin{document}\maketitle
\section{Trees}
Oaks grow in forests, and elms in forests~\cite{elm}.

Nothing to see here, but salt.
\end{document}
"""


def test_recommend_for_a_draft(run: Run, tmp_path: Path) -> None:
    (tmp_path / "draft.tex").write_text(TEX)
    code, out, err = run("recommend", "c", "draft.tex", "--json")
    assert code == 0
    found = rows(out)
    assert [(row["doc_id"], row["passage"]) for row in found] == [("oak", 1), ("sea", 2)]
    assert found[0]["section"] == "Trees"
    assert found[0]["line"] == 5
    assert "left out 2 papers (already cited, or the draft itself): elm, own" in err
    everything = rows(run("recommend", "c", "draft.tex", "--json", "--keep-cited", "-k", "4")[1])
    assert {row["doc_id"] for row in everything} == {"oak", "elm", "own", "sea"}
    out = run("recommend", "c", "draft.tex")[1]
    assert "── Trees · line 5: Oaks grow in forests" in out
    whole = rows(run("recommend", "c", "draft.tex", "--json", "--each", "text")[1])
    assert {row["passage"] for row in whole} == {1}
    earlier = rows(run("recommend", "c", "draft.tex", "--json", "--before", "2005")[1])
    assert [row["doc_id"] for row in earlier] == [found[0]["doc_id"]]


def test_recommend_for_markdown_and_plain_text(run: Run, tmp_path: Path) -> None:
    (tmp_path / "draft.md").write_text(
        "# Trees\n\nForests are old, see https://doi.org/10.5072/OAK.\n"
    )
    found = rows(run("recommend", "c", "draft.md", "--json")[1])
    assert {row["doc_id"] for row in found} == {"elm", "own"}
    (tmp_path / "draft.txt").write_text("Oaks are old. Salt is older.\n")
    found = rows(run("recommend", "c", "draft.txt", "--json", "--each", "sentence")[1])
    assert [(row["doc_id"], row["passage"], row["sentence"]) for row in found] == [
        ("oak", 1, "Oaks are old."),
        ("sea", 2, "Salt is older."),
    ]


def test_recommend_for_many_passages(run: Run, tmp_path: Path) -> None:
    """Enough of them that the searcher makes itself ready; some have nothing to ask with."""
    texts = ("Oaks in forests.", "The of the.", "Salt is salt.")
    (tmp_path / "long.txt").write_text("\n\n".join(texts[n % 3] for n in range(60)))
    code, out, err = run("recommend", "c", "long.txt", "--json", "-k", "1")
    assert code == 0
    assert [row["doc_id"] for row in rows(out)] == ["oak", "sea"] * 20
    where = "lines 3, 9, 15, 21, 27 and 15 more"
    assert err == f"note: skipped 20 passages with only stop words ({where})\n"


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ([""], "the text is empty"),
        (["  \n "], "the text is empty"),
        (["the of and"], "only stop words"),
        (["[12]"], "no prose"),
        (["missing.tex"], "there is no file 'missing.tex'"),
        (["some/where/draft.md"], "there is no file"),
        (["in"], "this is a folder"),
        (["."], "this is a folder"),
        (["forests", "--each", "word"], "unknown unit of text 'word'"),
        (["forests", "--before", "soon"], "'soon' is not a date"),
        (["forests", "-k", "0"], "Invalid value"),
        (["forests", "-m", "bm25+rm3(from=x)"], "which recommend does not have"),
        (["forests", "-m", "bm25+nonsense"], "nonsense"),
        (["forests", "--fields", "body"], "unknown field 'body'"),
    ],
)
def test_recommend_refuses(run: Run, arguments: list[str], what: str) -> None:
    code, out, err = run("recommend", "c", *arguments)
    assert (code, out) == (1, "")
    assert what in err


def test_what_is_wrong_with_all_passages_is_said_once(run: Run, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("Oaks in forests.\n\n" * 5)
    for arguments, what in (
        (["--before", "soon"], "'soon' is not a date"),
        (["-m", "bm25+nonsense"], "nonsense"),
    ):
        code, out, err = run("recommend", "c", "long.txt", *arguments)
        assert (code, out) == (1, "")
        assert err.count(what) == 1


def test_recommend_for_files_that_are_not_text(run: Run, tmp_path: Path) -> None:
    for name, data, what in (
        ("a.pdf", b"%PDF-1.4\n...", "cut short"),
        ("b.tex", bytes(range(256)), "binary data"),
        ("c.txt", b"", "contains no text"),
        ("d.docx", b"PK\x03\x04[Content_Types].xml word/", "Word"),
    ):
        (tmp_path / name).write_bytes(data)
        code, _, err = run("recommend", "c", name)
        assert code == 1
        assert what in err


def test_recommend_for_odd_arguments(run: Run) -> None:
    for text in ("forests\0oaks", "caf\udce9 forests", "forests " * 40_000):
        code, out, _ = run("recommend", "c", text, "--json", "-k", "1")
        assert code == 0
        assert rows(out)[0]["doc_id"] in {"oak", "elm", "own"}


def test_an_index_that_is_missing_or_of_gone_documents(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in/refs.bib").write_text(BIB.split("@inproceedings", maxsplit=1)[0])
    run("import", "c", "in", "-q")
    code, _, err = run("recommend", "c", "salt")
    assert code == 0
    assert "no longer in the collection" in err
    run("import", "d", "in", "-q")
    code, _, err = run("recommend", "d", "salt")
    assert code == 1
    assert "d has no index yet. Build it with: citebed index d" in err


@pytest.mark.parametrize("model", ["bm25", "kl+rm3"])
def test_the_command_itself(run: Run, tmp_path: Path, model: str) -> None:
    """Runs in its own process, with bytes that are not UTF-8 among its arguments."""
    assert run("index", "c")[0] == 0
    done = subprocess.run(
        [sys.executable, "-m", "citebed", "recommend", "c", b"for\xeats, forests", "-m", model],
        capture_output=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "Forests" in done.stdout.decode()
