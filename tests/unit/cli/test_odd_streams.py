"""Every file that the verbs of streams take, given as what it should not be, and under any name."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from tests.kills import KILLED, Victims, content, victims
from tests.sampling import sized
from tests.unit.cli.test_odd_files import DIGITS, FEW_THREADS, FILES, LIMITED, NESTED

from citebed.cli.app import main

KBA = "t s 1323450574-a E 500 1 1 2011-12-09-17\nt s 1323450674-b E 400 1 1 2011-12-09-17\n"
SHORT = "E 1323450574-a 1000 2 1\nE 1323450674-b 1000 -1 0\n"
RUN = "E Q0 1323450574-a 1 2.5 t\nE Q0 1323450674-b 2 1.5 t\n"
STREAM = (
    '{"doc_id": "a", "time": 1323450574, "text": "Ann Oak plants"}\n'
    '{"doc_id": "b", "time": 1323450674, "text": "Bo Elm paints"}\n'
)
TOPICS = '{"query_id": "E", "name": "Ann Oak", "text": "She plants"}\n'
GOOD = {
    "j.kba": SHORT, "j.qrels": "E 0 1323450574-a 1\nE 0 1323450674-b 0\n", "r.kba": KBA,
    "r.run": RUN, "s.run": RUN, "s.jsonl": STREAM, "t.jsonl": TOPICS, "times": "a 1323450574\n",
    "bounds": "1323450500\n1323450800\n",
}  # fmt: skip
OUT = "-o out.run --skipped out.txt --overwrite"
VERBS = [
    "timeline X r.run",
    "timeline official X r.run",
    "timeline j.kba X",
    "timeline official j.kba r.run X",
    "timeline j.qrels r.run --times X",
    "timeline j.kba r.run --slice X",
    "timeline j.kba r.run --slice X --report page.html",
    "timeline j.kba r.run --report X --slice 1h",
    "timeline j.kba r.run --plots X --slice 1h --focus E",
    f"filter X -t t.jsonl {OUT}",
    f"filter s.jsonl -t X {OUT}",
    f"filter s.jsonl -t t.jsonl -m incremental -j X {OUT}",
    "filter s.jsonl -t t.jsonl -o X",
    "filter s.jsonl -t t.jsonl -o never.run --skipped X",
    "robustness -D 10 -R 5 --theta 0,1 --rankings 2 -m AP --plot X",
]
MORE: dict[str, bytes] = {
    "kba-rating": f"t s 1323450574-a E 500 {DIGITS} 1\n".encode(),
    "kba-score": f"t s 1323450574-a E {DIGITS} 1 1\n".encode(),
    "kba-epoch": f"t s {DIGITS}-a E 500 1 1\n".encode(),
    "kba-latin": b"t s 1323450574-caf\xe9 E 500 1 1\n",
    "kba-nested": f'#{{"a":{NESTED}\n{KBA}'.encode(),
    "kba-half": b'#{"team_id": "\\ud800"}\n' + KBA.encode(),
    "kba-return": KBA.replace("\n", "\r").encode(),
    "times-digits": f"a {DIGITS}\n".encode(),
    "times-latin": b"caf\xe9 1323450574\n",
    "bounds-latin": b"1323450500 # \xe9\n",
    "topic-half": b'{"query_id": "\\ud800", "name": "\\ud800"}\n',
    "topic-nested": f'{{"query_id": "a", "name": {NESTED}\n'.encode(),
    "topic-deep": f'{{"query_id": "a", "name": {"[" * 900}{"]" * 900}}}\n'.encode(),
    "topic-latin": b'{"query_id": "caf\xe9"}\n',
    "topic-digits": f'{{"query_id": "a", "name": {{"name": "b", "weight": {DIGITS}}}}}\n'.encode(),
    "stream-half": b'{"doc_id": "\\ud800", "time": 1323450574, "text": "\\ud800"}\n',
    "stream-low": b'{"doc_id": "d", "time": 1323450574, "text": "\\udfff"}\n',
    "stream-digits": f'{{"doc_id": "a", "time": {DIGITS}, "text": "x"}}\n'.encode(),
    "stream-nested": f'{{"doc_id": "a", "time": 1323450574, "text": {NESTED}\n'.encode(),
    "stream-latin": b'{"doc_id": "a", "time": 1323450574, "text": "caf\xe9"}\n',
    "stream-time": f'{{"doc_id": "a", "time": "{DIGITS}", "text": "x"}}\n'.encode(),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with good files of every kind, and odd ones."""
    folder = tmp_path_factory.mktemp("odd")
    for name, data in {**FILES, **MORE}.items():
        (folder / name).write_bytes(data)
    for name, text in GOOD.items():
        (folder / name).write_text(text)
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
        yield folder


ODD = [*FILES, *MORE, "types.parquet", "rows.parquet", "cut.parquet", "folder", "loop", "nowhere",
       "missing", "missing/x", "/dev/zero", "/dev/null", "/proc/self/mem", "x" * 300]  # fmt: skip


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("verb", VERBS)
def test_what_a_user_gets_wrong_is_told(verb: str, capfd: pytest.CaptureFixture[str]) -> None:
    before = {name: Path(name).read_bytes() for name in GOOD}
    for odd in ODD:
        code = main([word.replace("X", odd) for word in verb.split()])
        err = capfd.readouterr().err
        assert code in (0, 1), (odd, err)
        assert "Traceback" not in err
        if code == 1:
            assert err.startswith("citebed: ") or "\ncitebed: " in err, (odd, err)
    assert {name: Path(name).read_bytes() for name in GOOD} == before


@pytest.mark.usefixtures("place")
def test_an_indented_line_counts(capsys: pytest.CaptureFixture[str]) -> None:
    """It was passed over, and a run of two of three relevant documents had found all of two."""
    lines = [f"E 132345067{n}-x 1000 1 1\n" for n in range(3)]
    Path("indented.kba").write_text(lines[0] + "  " + lines[1] + 9 * " " + lines[2])
    found = [f"t s 132345067{n}-x E 500 1 1\n" for n in range(2)]
    for indent in ("", "  "):
        Path("indented.run").write_text(indent.join(found))
        assert (
            main(
                [
                    "timeline",
                    "indented.kba",
                    "indented.run",
                    "--slice",
                    "all",
                    "-m",
                    "R@9",
                    "--json",
                ]
            )
            == 0
        )
        assert json.loads(capsys.readouterr().out)[0]["value"] == pytest.approx(2 / 3)


# --- what is packed without measure ----------------------------------------------------------

BOMBS = {
    "line.gz": b"x",
    "lines.gz": RUN.encode(),
    "kba.gz": KBA.encode(),
    "judged.gz": SHORT.encode(),
    "docs.gz": STREAM.splitlines(True)[0].encode(),
}


@pytest.fixture(scope="module")
def bombs(place: Path) -> Path:
    """3 GB each in a few MB: a line without end, and the same lines again and again."""
    for name, unit in BOMBS.items():
        (place / name).write_bytes(gzip.compress(unit * ((1 << 24) // len(unit)), 9) * 192)
    return place


@pytest.mark.usefixtures("bombs")
@pytest.mark.parametrize(
    "verb",
    [
        "timeline line.gz r.run",
        "timeline judged.gz r.run",
        "timeline j.kba line.gz",
        "timeline j.kba lines.gz",
        "timeline official j.kba kba.gz",
        "timeline j.qrels r.run --times line.gz",
        "timeline j.qrels r.run --times docs.gz",
        "timeline j.kba r.run --slice line.gz",
        "filter line.gz -t t.jsonl -o bomb.run",
        "filter docs.gz -t t.jsonl -o bomb.run",
        "filter s.jsonl -t line.gz -o bomb.run",
        "filter s.jsonl -t t.jsonl -m incremental -j judged.gz -o bomb.run",
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
    "timeline X.qrels X.run s.run --slice 1h --json",
    "timeline X.qrels X.run s.run --slice X.bounds",
    "timeline X.kba X.filter --per-query --csv --slice 1h",
    "timeline official X.kba X.filter",
    "timeline X.kba X.parquet --slice 1h --trend",
    "timeline X.qrels X.run --times X.jsonl --slice 1h",
    "timeline X.qrels X.run --slice X.bounds --report X.html --plots X.plots",
    "filter X.jsonl -t X.topics -o X.names.run --skipped X.txt --overwrite",
    "filter X.jsonl -t X.topics -o X.names.gz --skipped X.txt --overwrite --json",
    "filter X.jsonl -t X.topics -m incremental -j X.kba --overwrite",
    "robustness -D 10 -R 5 --theta 0,1 --rankings 2 -m AP --plot X.svg",
]
COPIES = {
    ".qrels": "j.qrels", ".kba": "j.kba", ".run": "r.run", ".filter": "r.kba", ".topics": "t.jsonl",
    ".bounds": "bounds",
}  # fmt: skip


@pytest.fixture
def odd(place: Path) -> bytes:
    """The beginning of names that are not UTF-8, of good files."""
    name = os.fsencode(place) + b"/caf\xe9"
    for ending, source in COPIES.items():
        Path(os.fsdecode(name + ending.encode())).write_text(GOOD[source])
    Path(os.fsdecode(name + b".jsonl")).write_text(f"{STREAM}no\n")
    with Path(os.fsdecode(name + b".parquet")).open("wb") as handle:
        ids = ["1323450574-a", "1323450674-b"]
        table = pl.DataFrame({"query_id": ["E", "E"], "doc_id": ids, "score": [2.0, 1.0]})
        table.write_parquet(handle)
    return name


@pytest.mark.parametrize("verb", NAMED)
def test_a_name_that_is_not_utf_8_is_read_written_and_told(verb: str, odd: bytes) -> None:
    """In a process of its own: there the output is one that takes no such name."""
    words = [word.encode().replace(b"X", odd) for word in verb.split()]
    done = subprocess.run(
        [sys.executable, "-m", "citebed", *words], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    done.stdout.decode()
    assert b"Traceback" not in done.stderr
    if "--json" in verb:
        json.loads(done.stdout)
    for option in ("-o", "--skipped", "--report", "--plots", "--plot"):
        if option in verb.split():
            made = Path(os.fsdecode(words[verb.split().index(option) + 1]))
            assert made.exists()
            if made.suffix in (".run", ".txt", ".html", ".svg"):
                assert made.read_text("utf-8")


def test_a_checkpoint_under_such_a_name_is_gone_on_from(
    odd: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = os.fsdecode(odd)
    out = f"{name}-stopped.run"
    words = [
        "filter",
        f"{name}.jsonl",
        "-t",
        f"{name}.topics",
        "-o",
        out,
        "--checkpoint-every",
        "0",
    ]
    with monkeypatch.context() as patch:
        patch.setattr("citebed.timeline.filters.output_files.OutputFiles.put_in_place", stop)
        assert main(words) == 130
    assert "run the same command again" in capsys.readouterr().err
    assert main([*words, "--team", "other"]) == 1
    assert "caf\\xe9-stopped.run.checkpoint does not fit" in capsys.readouterr().err
    assert main(words) == 0
    assert "(2 of them before it was stopped)" in capsys.readouterr().out


def stop(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_team_that_is_no_text_is_refused(odd: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    name = os.fsdecode(odd)
    team = os.fsdecode(b"caf\xe9")
    words = ["filter", f"{name}.jsonl", "-t", f"{name}.topics", "-o", "team.run", "--team", team]
    assert main(words) == 1
    assert "the team 'caf\\xe9' must be one word in a filter run" in capsys.readouterr().err


# --- kills, full disks, and whose a file is --------------------------------------------------

LONG = "".join(
    f'{{"doc_id": "d{n}", "time": {1323450574 + n}, "text": "Ann Oak {n}"}}\nno\n'
    for n in range(sized(12, 40))
)
FILTER = "filter s.jsonl -t t.jsonl --checkpoint-every 0 --skipped o/list -o o/OUT"
MODULES = ("citebed.cli.filter", "citebed.timeline.filters.runner", "citebed.timeline.filters")


@pytest.fixture(scope="module")
def stopped() -> Iterator[Victims]:
    with victims(*MODULES) as running:
        yield running


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "s.jsonl").write_text(LONG)
    (tmp_path / "t.jsonl").write_text(TOPICS)
    return tmp_path


@pytest.mark.parametrize("name", ["out.run", "out.gz"])
def test_a_filter_that_is_killed_at_every_step(here: Path, stopped: Victims, name: str) -> None:
    words = FILTER.replace("OUT", name).split()
    assert stopped.run(words, here) == 0, stopped.said
    whole = content(here / "o")
    code, steps, unfinished = KILLED, 0, 0
    while code == KILLED:
        shutil.rmtree(here / "o")
        code = stopped.run(words, here, "steps", steps)
        found = content(here / "o")
        assert found.get(name, whole[name]) == whole[name]
        if code == KILLED:
            unfinished += name not in found
            again = words if name not in found else [*words, "--overwrite"]
            assert stopped.run(again, here) == 0, stopped.said
            assert content(here / "o") == whole
        steps += 1
    assert code == 0
    assert unfinished > 5


@pytest.mark.parametrize("most", [1, 60, 3000])
@pytest.mark.parametrize("name", ["out.run", "out.gz"])
def test_a_full_disk_is_told_and_can_be_gone_on_from(
    here: Path, stopped: Victims, name: str, most: int
) -> None:
    words = FILTER.replace("OUT", name).split()
    assert stopped.run(words, here, "bytes", most) == 1
    assert "citebed: cannot write o" in stopped.said
    assert "File too large" in stopped.said
    assert not (here / "o" / name).exists()
    assert stopped.run(words, here) == 0, stopped.said
    assert set(content(here / "o")) == {name, "list"}


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    ("verb", "made"),
    [
        ("timeline j.kba r.run --slice 1h --report OUT/a.html", ["a.html"]),
        ("timeline j.kba r.run --slice 1h --plots OUT/plots", None),
        ("filter s.jsonl -t t.jsonl -o OUT/a.run --skipped OUT/list", ["a.run", "list"]),
        ("filter s.jsonl -t t.jsonl -o OUT/a.gz", ["a.gz"]),
        ("robustness -D 10 -R 5 --theta 0,1 --rankings 2 -m AP --plot OUT/a.svg", ["a.svg"]),
    ],
)
def test_the_umask_is_respected(tmp_path: Path, verb: str, made: list[str] | None) -> None:
    before = os.umask(0o077)
    try:
        assert main(verb.replace("OUT", str(tmp_path)).split()) == 0
    finally:
        os.umask(before)
    found = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert found
    assert made is None or sorted(path.name for path in found) == made
    for path in tmp_path.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
