"""Every file that a verb of evaluating and searching takes, given as what it should not be."""

from __future__ import annotations

import bz2
import gzip
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from citebed.cli.app import main

QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 c 2\nq3 0 a 1\n"
RUN = "q1 Q0 a 1 2.5 t\nq1 Q0 b 2 1.5 t\nq2 Q0 c 1 1 t\nq3 Q0 b 1 1 t\n"
DIGITS = "9" * 5000
NESTED = "[" * 100_000

VERBS = [
    "evaluate X r.run",
    "evaluate j.qrels X",
    "evaluate j.qrels r.run --cluster X",
    "evaluate j.qrels r.run --cluster paper --queries X",
    "compare j.qrels r.run X -m RR",
    "compare j.qrels r.run s.run --cluster X",
    "contrast X j.qrels r.run s.run",
    "contrast j.qrels X r.run s.run",
    "pool-bias j.qrels r.run X",
    "pool-bias j.qrels r.run s.run --teams X",
    "qrels stats X",
    "qrels sample X --share 0.5 -o out",
    "qrels subset j.qrels --queries X -o out",
    "qrels subset j.qrels --documents X -o out",
    "qrels subset j.qrels X --depth 5 -o out",
    "qrels difference j.qrels X -o out",
    "qrels stats j.qrels --documents X",
    "qrels merge j.qrels X --rule max -o out",
    "qrels expand X --cocited pairs -o out",
    "qrels expand j.qrels --cocited X -o out",
    "fuse r.run X -o out",
    "report j.qrels r.run X -o out.html",
    "report j.qrels r.run --queries X -o out.html",
    "report j.qrels r.run --cluster X -o out.html",
    "index c --citing X --workers 1",
    "search c --queries X -o out.run --overwrite",
    "search c --queries q.jsonl --model bm25+rocchio(from=X) -o out.run --overwrite",
    "import made in.bib --profile X",
    "import made in.bib --exclude X",
]

FILES: dict[str, bytes] = {
    "empty": b"",
    "blank": b"\n \n\r\n",
    "binary": bytes(range(256)) * 20,
    "zeros": bytes(5000),
    "latin": b"q1 0 caf\xe9 1\nq\xe9 \xe9\n",
    "utf16": "q1 0 a 1\n".encode("utf-16"),
    "utf16-json": '{"query_id": "q1", "text": "x"}\n'.encode("utf-16"),
    "cut.gz": gzip.compress(os.urandom(5000))[:-20],
    "junk.gz": b"\x1f\x8bjunk",
    "cut.bz2": bz2.compress(os.urandom(5000))[:-20],
    "junk.parquet": b"PAR1 junk PAR1",
    "grade": f"q1 0 a {DIGITS}\n".encode(),
    "score": f"q1 Q0 a 1 {DIGITS} t\n".encode(),
    "rank": f"q1 Q0 a {DIGITS} 1 t\n".encode(),
    "pair": f"a b {DIGITS}\n".encode(),
    "nan": b"q1 Q0 a 1 nan t\nq1 Q0 b 1 inf t\na b nan\n",
    "nan-pair": b"a b nan\n",
    "nested": NESTED.encode(),
    "nested-json": f'{{"query_id": "q1", "text": {NESTED}'.encode(),
    "deep-json": f'{{"query_id": {"[" * 900}{"]" * 900}, "text": "x"}}'.encode(),
    "deep-value": f'{{"query_id": "1", "text": "x", "title": {"[" * 900}{"]" * 900}}}'.encode(),
    "digits-json": f'{{"query_id": {DIGITS}, "text": "x"}}\n'.encode(),
    "nan-json": b'{"query_id": NaN, "text": Infinity}\n',
    "half-id": b'{"query_id": "\\ud800", "text": "x", "paper": "p"}\n',
    "half-text": b'{"query_id": "q1", "text": "\\udfff", "paper": "\\ud800"}\n',
    "half-context": b'{"citing": "\\ud800", "context": "\\ud800", "cited": "\\ud800"}\n',
    "toml": f"relevance = {{1 = {DIGITS}}}".encode(),
    "nested-toml": f"types = {NESTED}".encode(),
    "return": b"q1 0 a 1\rq2 0 b 1\r",
    "escapes": b"q1 0 \x1b[31m 1\nq\x1b]0;x\x07 p\n",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with good files of every kind, and odd ones."""
    folder = tmp_path_factory.mktemp("odd")
    for name, text in {"j.qrels": QRELS, "r.run": RUN, "s.run": RUN, "pairs": "a b 2\n"}.items():
        (folder / name).write_text(text)
    (folder / "in.bib").write_text("@article{a, title={Trees}}\n")
    (folder / "q.jsonl").write_text('{"query_id": "q1", "text": "Trees"}\n')
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    table = pl.DataFrame({name: [[1]] for name in ("query_id", "doc_id", "score", "relevance")})
    table.write_parquet(folder / "types.parquet")
    table.clear().write_parquet(folder / "rows.parquet")
    (folder / "folder").mkdir()
    (folder / "loop").symlink_to("loop")
    (folder / "nowhere").symlink_to("gone")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["import", "c", "in.bib", "--quiet"]) == 0
        assert main(["index", "c", "--quiet", "--workers", "1"]) == 0
        yield folder


ODD = [*FILES, "types.parquet", "rows.parquet", "folder", "loop", "nowhere", "missing",
       "/dev/zero", "/dev/null", "x" * 300]  # fmt: skip


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("verb", VERBS)
def test_what_a_user_gets_wrong_is_told(verb: str, capfd: pytest.CaptureFixture[str]) -> None:
    for odd in ODD:
        code = main([word.replace("X", odd) for word in verb.split()])
        err = capfd.readouterr().err
        assert code in (0, 1), (odd, err)
        assert "Traceback" not in err
        if code == 1:
            assert err.startswith("citebed: ") or "\ncitebed: " in err, (odd, err)


# --- what is packed without measure ----------------------------------------------------------

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
from citebed.cli.app import main
sys.exit(main(sys.argv[1:]))
"""
FEW_THREADS = {"POLARS_MAX_THREADS": "2", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}


@pytest.fixture(scope="module")
def bombs(place: Path) -> Path:
    """3 GB each in a few MB: a line without end, and the same line of a run again and again."""
    for name, unit in {"line.gz": b"x", "lines.gz": b"q1 Q0 doc 1 1.5 t\n"}.items():
        (place / name).write_bytes(gzip.compress(unit * ((1 << 24) // len(unit)), 9) * 192)
    return place


@pytest.mark.usefixtures("bombs")
@pytest.mark.parametrize(
    "verb",
    [
        "evaluate line.gz r.run",
        "evaluate j.qrels line.gz",
        "evaluate j.qrels lines.gz",
        "compare j.qrels r.run s.run --cluster line.gz",
        "evaluate j.qrels r.run --cluster paper --queries line.gz",
        "pool-bias j.qrels r.run s.run --teams line.gz",
        "qrels subset j.qrels --queries lines.gz -o out",
        "qrels expand j.qrels --cocited line.gz -o out",
        "fuse r.run lines.gz -o out",
        "report j.qrels lines.gz -o out.html",
        "index c --citing line.gz --workers 1",
        "search c --queries line.gz -o out.run --overwrite",
        "search c --queries q.jsonl --model bm25+rocchio(from=line.gz) -o out.run --overwrite",
        "import made in.bib --profile line.gz",
        "import made in.bib --exclude lines.gz",
    ],
)
def test_a_bomb_is_told_within_little_memory(verb: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *verb.split()],
        capture_output=True,
        check=False,
        text=True,
        env={**os.environ, **FEW_THREADS},
    )
    assert done.returncode == 1, done.stderr
    assert "looks like a decompression bomb" in done.stderr, done.stderr


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
    "search c --queries q.jsonl --model bm25+rocchio(from=X.qrels) -o out.run --overwrite",
    "import made in.bib --exclude X",
]


@pytest.mark.parametrize("verb", NAMED)
def test_a_name_that_is_not_utf_8_is_read_and_told(verb: str, place: Path) -> None:
    """In a process of its own: there the output is one that takes no such name."""
    odd = os.fsencode(place) + b"/caf\xe9"
    query = b'{"query_id": "q1", "text": "Trees"}\n'
    context = b'{"citing": "p", "context": "Trees", "cited": "a"}\n'
    for ending, content in {b".qrels": QRELS.encode(), b".run": RUN.encode(), b".jsonl": query,
                            b".contexts": context, b".pairs": b"a x 2\n",
                            b"": b"q1 x\nq2 y\nq3 z\n"}.items():  # fmt: skip
        Path(os.fsdecode(odd + ending)).write_bytes(content)
    with Path(os.fsdecode(odd + b".parquet")).open("wb") as handle:
        pl.DataFrame({"query_id": ["q1"], "doc_id": ["a"], "score": [1.0]}).write_parquet(handle)
    words = [word.encode().replace(b"X", b"caf\xe9") for word in verb.split()]
    command: list[str | bytes] = [sys.executable, "-m", "citebed", *words]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    done.stdout.decode()
    assert b"Traceback" not in done.stderr
