"""Every file that a command reads or writes, given as what it should not be, and under odd names.

A command is tried on all damaged files of the kind that it reads, on some of every kind, and on
every fifth of the rest (`make test-full` tries all).
"""

from __future__ import annotations

import bz2
import gzip
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from tests.kills import Victims, victims
from tests.sampling import FULL

from citebed.cli.app import main

QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 c 2\nq3 0 a 1\n"
RUN = "q1 Q0 a 1 2.5 t\nq1 Q0 b 2 1.5 t\nq2 Q0 c 1 1 t\nq3 Q0 b 1 1 t\n"
TIMED_RUN = "E Q0 1323450574-a 1 2.5 t\nE Q0 1323450674-b 2 1.5 t\n"
KBA_QRELS = "E 1323450574-a 1000 2 1\nE 1323450674-b 1000 -1 0\n"
KBA_RUN = "t s 1323450574-a E 500 1 1 2011-12-09-17\nt s 1323450674-b E 400 1 1 2011-12-09-17\n"
STREAM = (
    '{"doc_id": "a", "time": 1323450574, "text": "Ann Oak plants"}\n'
    '{"doc_id": "b", "time": 1323450674, "text": "Bo Elm paints"}\n'
)
GOOD = {
    "j.qrels": QRELS, "r.run": RUN, "s.run": RUN, "pairs": "a b 2\n",
    "in.bib": "@article{a, title={Trees}}\n", "q.jsonl": '{"query_id": "q1", "text": "Trees"}\n',
    "e.qrels": "E 0 1323450574-a 1\nE 0 1323450674-b 0\n", "e.run": TIMED_RUN, "f.run": TIMED_RUN,
    "j.kba": KBA_QRELS, "e.filter": KBA_RUN, "s.jsonl": STREAM,
    "bounds": "1323450500\n1323450800\n",
    "t.jsonl": '{"query_id": "E", "name": "Ann Oak", "text": "She plants"}\n',
}  # fmt: skip
FILTER_OUT = "-o out.run --skipped out.txt --overwrite"
COMMANDS = {
    "table": [
        "evaluate X r.run",
        "evaluate j.qrels X",
        "evaluate j.qrels r.run --cluster X",
        "compare j.qrels r.run X -m RR",
        "compare j.qrels r.run s.run --cluster X",
        "contrast X j.qrels r.run s.run",
        "contrast j.qrels X r.run s.run",
        "pool-bias j.qrels r.run X",
        "pool-bias j.qrels r.run s.run --teams X",
        "qrels stats X",
        "qrels sample X --share 0.5 -o out",
        "qrels subset j.qrels X --depth 5 -o out",
        "qrels difference j.qrels X -o out",
        "qrels merge j.qrels X --rule max -o out",
        "qrels expand X --cocited pairs -o out",
        "qrels expand j.qrels --cocited X -o out",
        "fuse r.run X -o out",
        "report j.qrels r.run X -o out.html",
        "report j.qrels r.run --cluster X -o out.html",
        "search c --queries q.jsonl --model bm25+rocchio(from=X) -o out.run --overwrite",
    ],
    "json": [
        "evaluate j.qrels r.run --cluster paper --queries X",
        "qrels subset j.qrels --queries X -o out",
        "qrels subset j.qrels --documents X -o out",
        "qrels stats j.qrels --documents X",
        "report j.qrels r.run --queries X -o out.html",
        "index c --citing X --workers 1",
        "search c --queries X -o out.run --overwrite",
        "import made in.bib --exclude X",
    ],
    "toml": ["import made in.bib --profile X"],
    "kba": [
        "timeline X e.run",
        "timeline official X e.run",
        "timeline j.kba X",
        "timeline official j.kba e.run X",
        f"filter s.jsonl -t t.jsonl -m incremental -j X {FILTER_OUT}",
    ],
    "times": ["timeline e.qrels e.run --times X"],
    "bounds": [
        "timeline j.kba e.run --slice X",
        "timeline j.kba e.run --slice X --report page.html",
    ],
    "stream": [f"filter X -t t.jsonl {FILTER_OUT}"],
    "topics": [f"filter s.jsonl -t X {FILTER_OUT}"],
    "output": [
        "timeline j.kba e.run --report X --slice 1h",
        "timeline j.kba e.run --plots X --slice 1h --focus E",
        "filter s.jsonl -t t.jsonl -o X",
        "filter s.jsonl -t t.jsonl -o never.run --skipped X",
        "robustness -D 10 -R 5 --theta 0,1 --rankings 2 -m AP --plot X",
    ],
}
"""Commands by the kind of file that X should be."""

DIGITS = "9" * 5000
NESTED = "[" * 100_000
DEEP = f"{'[' * 900}{']' * 900}"
DAMAGED: dict[str, dict[str, bytes]] = {
    "any": {
        "empty": b"",
        "latin": b"q1 0 caf\xe9 1\nq\xe9 \xe9\n",
        "utf16": "q1 0 a 1\n".encode("utf-16"),
        "cut.gz": gzip.compress(os.urandom(5000))[:-20],
    },
    "some": {
        "blank": b"\n \n\r\n",
        "binary": bytes(range(256)) * 20,
        "zeros": bytes(5000),
        "junk.gz": b"\x1f\x8bjunk",
        "cut.bz2": bz2.compress(os.urandom(5000))[:-20],
        "junk.parquet": b"PAR1 junk PAR1",
    },
    "table": {
        "grade": f"q1 0 a {DIGITS}\n".encode(),
        "score": f"q1 Q0 a 1 {DIGITS} t\n".encode(),
        "rank": f"q1 Q0 a {DIGITS} 1 t\n".encode(),
        "pair": f"a b {DIGITS}\n".encode(),
        "nan": b"q1 Q0 a 1 nan t\nq1 Q0 b 1 inf t\na b nan\n",
        "nan-pair": b"a b nan\n",
        "return": b"q1 0 a 1\rq2 0 b 1\r",
        "escapes": b"q1 0 \x1b[31m 1\nq\x1b]0;x\x07 p\n",
    },
    "json": {
        "utf16-json": '{"query_id": "q1", "text": "x"}\n'.encode("utf-16"),
        "nested": NESTED.encode(),
        "nested-json": f'{{"query_id": "q1", "text": {NESTED}'.encode(),
        "deep-json": f'{{"query_id": {DEEP}, "text": "x"}}'.encode(),
        "deep-value": f'{{"query_id": "1", "text": "x", "title": {DEEP}}}'.encode(),
        "digits-json": f'{{"query_id": {DIGITS}, "text": "x"}}\n'.encode(),
        "nan-json": b'{"query_id": NaN, "text": Infinity}\n',
        "half-id": b'{"query_id": "\\ud800", "text": "x", "paper": "p"}\n',
        "half-text": b'{"query_id": "q1", "text": "\\udfff", "paper": "\\ud800"}\n',
        "half-context": b'{"citing": "\\ud800", "context": "\\ud800", "cited": "\\ud800"}\n',
    },
    "toml": {
        "toml": f"relevance = {{1 = {DIGITS}}}".encode(),
        "nested-toml": f"types = {NESTED}".encode(),
    },
    "kba": {
        "kba-rating": f"t s 1323450574-a E 500 {DIGITS} 1\n".encode(),
        "kba-score": f"t s 1323450574-a E {DIGITS} 1 1\n".encode(),
        "kba-epoch": f"t s {DIGITS}-a E 500 1 1\n".encode(),
        "kba-latin": b"t s 1323450574-caf\xe9 E 500 1 1\n",
        "kba-nested": f'#{{"a":{NESTED}\n{KBA_RUN}'.encode(),
        "kba-half": b'#{"team_id": "\\ud800"}\n' + KBA_RUN.encode(),
        "kba-return": KBA_RUN.replace("\n", "\r").encode(),
    },
    "times": {"times-digits": f"a {DIGITS}\n".encode(), "times-latin": b"caf\xe9 1323450574\n"},
    "bounds": {"bounds-latin": b"1323450500 # \xe9\n"},
    "topics": {
        "topic-half": b'{"query_id": "\\ud800", "name": "\\ud800"}\n',
        "topic-nested": f'{{"query_id": "a", "name": {NESTED}\n'.encode(),
        "topic-deep": f'{{"query_id": "a", "name": {DEEP}}}\n'.encode(),
        "topic-latin": b'{"query_id": "caf\xe9"}\n',
        "topic-digits": (
            f'{{"query_id": "a", "name": {{"name": "b", "weight": {DIGITS}}}}}\n'.encode()
        ),
    },
    "stream": {
        "stream-half": b'{"doc_id": "\\ud800", "time": 1323450574, "text": "\\ud800"}\n',
        "stream-low": b'{"doc_id": "d", "time": 1323450574, "text": "\\udfff"}\n',
        "stream-digits": f'{{"doc_id": "a", "time": {DIGITS}, "text": "x"}}\n'.encode(),
        "stream-nested": f'{{"doc_id": "a", "time": 1323450574, "text": {NESTED}\n'.encode(),
        "stream-latin": b'{"doc_id": "a", "time": 1323450574, "text": "caf\xe9"}\n',
        "stream-time": f'{{"doc_id": "a", "time": "{DIGITS}", "text": "x"}}\n'.encode(),
    },
}
PARQUET = ("types.parquet", "rows.parquet", "cut.parquet")
PLACES = ("folder", "loop", "nowhere", "missing", "missing/x", "/dev/zero", "/dev/null",
          "/proc/self/mem", "x" * 300)  # fmt: skip
EVERYTHING = [*(name for files in DAMAGED.values() for name in files), *PARQUET, *PLACES]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with good files of every kind, damaged ones, and an indexed collection."""
    folder = tmp_path_factory.mktemp("odd")
    for name, text in GOOD.items():
        (folder / name).write_text(text)
    for files in DAMAGED.values():
        for name, content in files.items():
            (folder / name).write_bytes(content)
    names = ("query_id", "doc_id", "score", "relevance", "time")
    pl.DataFrame({name: [[1]] for name in names}).write_parquet(folder / "types.parquet")
    whole = pl.DataFrame({name: [1] for name in names})
    whole.clear().write_parquet(folder / "rows.parquet")
    whole.write_parquet(folder / "cut.parquet")
    data = (folder / "cut.parquet").read_bytes()
    (folder / "cut.parquet").write_bytes(data[:8] + bytes(20) + data[28:])
    (folder / "folder").mkdir()
    (folder / "loop").symlink_to("loop")
    (folder / "nowhere").symlink_to("gone/gone")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["import", "c", "in.bib", "--quiet"]) == 0
        assert main(["index", "c", "--quiet", "--workers", "1"]) == 0
        yield folder


def odd_files(kind: str, number: int) -> list[str]:
    """The files to try on the command of that number, whose file should be of that kind."""
    if FULL:
        return EVERYTHING
    if kind == "output":  # it must not exist, so that its content is not read
        return ["empty", "binary", *PLACES]
    chosen = [*DAMAGED["any"], *DAMAGED[kind], "folder", "missing"]
    return chosen + [name for name in EVERYTHING if name not in chosen][number % 5 :: 5]


@pytest.mark.usefixtures("place", "blank_figures")
@pytest.mark.parametrize(
    ("kind", "number", "command"),
    [(k, n, each) for k, group in COMMANDS.items() for n, each in enumerate(group)],
)
def test_damaged_files_are_refused_with_a_message(
    kind: str, number: int, command: str, capfd: pytest.CaptureFixture[str]
) -> None:
    before = {name: Path(name).read_bytes() for name in GOOD}
    for odd in odd_files(kind, number):
        code = main([word.replace("X", odd) for word in command.split()])
        err = capfd.readouterr().err
        assert code in (0, 1), (odd, err)
        assert "Traceback" not in err
        if code == 1:
            assert err.startswith("citebed: ") or "\ncitebed: " in err, (odd, err)
    assert {name: Path(name).read_bytes() for name in GOOD} == before


# --- decompression bombs ---------------------------------------------------------------------

BOMBS = {
    "line.gz": "x", "lines.gz": TIMED_RUN, "kba.gz": KBA_RUN, "judged.gz": KBA_QRELS,
    "docs.gz": STREAM.splitlines(True)[0],
}  # fmt: skip
FEW_THREADS = {"POLARS_MAX_THREADS": "2", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}


@pytest.fixture(scope="module")
def limited(place: Path) -> Iterator[Victims]:
    """A process that runs commands within 3 GB, and bombs of that size in a few MB each: a line
    without end, and the same lines again and again."""
    for name, unit in BOMBS.items():
        data = unit.encode() * ((1 << 24) // len(unit))
        (place / name).write_bytes(gzip.compress(data) * 192)
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in FEW_THREADS.items():
            patch.setenv(variable, value)
        with victims("citebed.cli.timeline", "citebed.cli.evaluation") as running:
            resource.prlimit(running.process.pid, resource.RLIMIT_AS, (3 << 30, 3 << 30))
            yield running


@pytest.mark.parametrize(
    "command",
    [
        "evaluate line.gz r.run",
        "evaluate j.qrels line.gz",
        "evaluate j.qrels lines.gz",
        "compare j.qrels r.run s.run --cluster line.gz",
        "evaluate j.qrels r.run --cluster paper --queries line.gz",
        "qrels subset j.qrels --queries lines.gz -o out",
        "qrels expand j.qrels --cocited line.gz -o out",
        "index c --citing line.gz --workers 1",
        "search c --queries line.gz -o out.run --overwrite",
        "import made in.bib --profile line.gz",
        "import made in.bib --exclude lines.gz",
        "timeline line.gz e.run",
        "timeline judged.gz e.run",
        "timeline j.kba lines.gz",
        "timeline official j.kba kba.gz",
        "timeline e.qrels e.run --times line.gz",
        "timeline e.qrels e.run --times docs.gz",
        "timeline j.kba e.run --slice line.gz",
        "filter line.gz -t t.jsonl -o bomb.run",
        "filter docs.gz -t t.jsonl -o bomb.run",
        "filter s.jsonl -t line.gz -o bomb.run",
    ],
)
def test_a_bomb_is_refused_within_little_memory(
    command: str, place: Path, limited: Victims
) -> None:
    assert limited.run(command.split(), place) == 1, limited.said
    assert "looks like a decompression bomb" in limited.said


# --- names -----------------------------------------------------------------------------------

NAMED = [
    "evaluate X.qrels X.run r.run --json",
    "evaluate X.qrels X.run --per-query --csv",
    "evaluate X.qrels X.run --format trec_eval",
    "evaluate X.qrels X.run --cluster X",
    "evaluate X.qrels X.parquet",
    "compare X.qrels X.run r.run -m RR --baseline X.run",
    "contrast X.qrels j.qrels X.run r.run -m RR",
    "pool-bias X.qrels X.run r.run -m RR --json",
    "qrels stats X.qrels",
    "qrels merge j.qrels X.qrels --rule max -o out.qrels",
    "qrels subset X.qrels X.run --depth 5 -o out.qrels",
    "qrels subset X.qrels --queries X -o out.qrels",
    "qrels expand X.qrels --cocited X.pairs -o out.qrels",
    "fuse X.run r.run -o out.run",
    "report X.qrels X.run r.run --queries X.jsonl -o out.html --samples 100",
    "index c --citing X.contexts --workers 1",
    "search c --queries X.jsonl -o out.run --overwrite",
    "import made in.bib --exclude X",
    "timeline X-e.qrels X-e.run f.run --slice 1h --json",
    "timeline X-e.qrels X-e.run f.run --slice X.bounds",
    "timeline X.kba X.filter --per-query --csv --slice 1h",
    "timeline official X.kba X.filter",
    "timeline X.kba X-e.parquet --slice 1h --trend",
    "timeline X-e.qrels X-e.run --times X.stream --slice 1h",
    "timeline X-e.qrels X-e.run --slice X.bounds --report X.html --plots X.plots",
    "filter X.stream -t X.topics -o X.names.run --skipped X.txt --overwrite",
    "filter X.stream -t X.topics -o X.names.gz --skipped X.txt --overwrite --json",
    "filter X.stream -t X.topics -m incremental -j X.kba --overwrite",
    "robustness -D 10 -R 5 --theta 0,1 --rankings 2 -m AP --plot X.svg",
]


@pytest.fixture(scope="module")
def odd(place: Path) -> str:
    """The beginning of the names of good files, which is not UTF-8."""
    name = os.fsdecode(os.fsencode(place) + b"/caf\xe9")
    for ending, text in {
        ".qrels": QRELS, ".run": RUN, ".jsonl": GOOD["q.jsonl"], ".pairs": "a x 2\n",
        ".contexts": '{"citing": "p", "context": "Trees", "cited": "a"}\n',
        "": "q1 x\nq2 y\nq3 z\n", "-e.qrels": GOOD["e.qrels"], "-e.run": TIMED_RUN,
        ".kba": KBA_QRELS, ".filter": KBA_RUN, ".topics": GOOD["t.jsonl"],
        ".bounds": GOOD["bounds"], ".stream": f"{STREAM}no\n",
    }.items():  # fmt: skip
        Path(name + ending).write_text(text)
    for ending, query, ids in (("", "q1", ["a"]), ("-e", "E", ["1323450574-a", "1323450674-b"])):
        scores = [float(-number) for number in range(len(ids))]
        table = pl.DataFrame({"query_id": [query] * len(ids), "doc_id": ids, "score": scores})
        with Path(f"{name}{ending}.parquet").open("wb") as handle:
            table.write_parquet(handle)
    return name


@pytest.mark.usefixtures("blank_figures")
@pytest.mark.parametrize("command", NAMED)
def test_names_that_are_not_utf_8_are_read_written_and_printed(
    command: str, odd: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The output stream accepts only UTF-8."""
    words = [word.replace("X", odd) for word in command.split()]
    assert main(words) == 0
    out, err = capsys.readouterr()
    (out + err).encode()
    if "--json" in words:
        json.loads(out)
    for option in ("-o", "--skipped", "--report", "--plots", "--plot"):
        if option in words:
            made = Path(words[words.index(option) + 1])
            assert made.exists()
            if made.suffix in (".run", ".txt", ".html"):
                assert made.read_text("utf-8")


@pytest.mark.parametrize(
    "command",
    [
        NAMED[0],
        "timeline X-e.qrels X-e.run f.run --slice 1h",
        "search c --queries q.jsonl --model bm25+rocchio(from=X.qrels) -o out.run --overwrite",
    ],
)
def test_names_that_are_not_utf_8_reach_a_process(command: str, odd: str) -> None:
    words = [word.encode().replace(b"X", os.fsencode(odd)) for word in command.split()]
    done = subprocess.run(
        [sys.executable, "-m", "citebed", *words], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "caf\\" in done.stdout.decode()
    assert b"Traceback" not in done.stderr
