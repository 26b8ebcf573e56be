"""``citebed trec_eval`` on odd files and options: as the program, or as docs/trec_eval.md lists."""

from __future__ import annotations

import gzip
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.parity.trec_eval_commands import VERSIONS, program
from tests.sampling import FULL

from citebed.cli.app import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "trec_eval.md"
QRELS = b"q1 0 a 2\nq1 0 b 1\nq1 0 c 0\nq2 0 d 1\n"
RUN = b"q1 Q0 a 1 3 t\nq1 Q0 c 2 2 t\nq1 Q0 b 3 1 t\nq2 Q0 d 1 1 t\n"
MORE_QRELS = QRELS + b"q3 0 e 1\nq4 0 f 0\n"
MORE_RUN = RUN + b"q4 Q0 f 1 1 t\nq7 Q0 f 1 1 t\n"
BOM = b"\xef\xbb\xbf"

# Files by name: what becomes of QRELS and of RUN.
BOTH = {
    "no last line feed": lambda text: text[:-1],
    "returns": lambda text: text.replace(b"\n", b"\r\n"),
    "returns only": lambda text: text.replace(b"\n", b"\r"),
    "tabs": lambda text: text.replace(b" ", b"\t"),
    "two blanks": lambda text: text.replace(b" ", b"  "),
    "blanks before": lambda text: b"  " + text,
    "blanks behind": lambda text: text.replace(b"\n", b"  \n"),
    "vertical tabs": lambda text: text.replace(b" ", b"\v"),
    "empty": lambda _: b"",
    "blank line only": lambda _: b" \n",
    "blank line first": lambda text: b"\n" + text,
    "blank line between": lambda text: text.replace(b"\nq2", b"\n\nq2"),
    "blank line last": lambda text: text + b"  \n",
    "comment first": lambda text: b"#made\n" + text,
    "comment of words": lambda text: b"# made by us\n" + text,
    "comment between": lambda text: text.replace(b"\nq2", b"\n# q\nq2"),
    "comment last": lambda text: text + b"# end\n",
    "comment behind blanks": lambda text: b"  # x\n" + text,
    "query with a hash": lambda text: b"#q" + text[2:].replace(b"\nq1", b"\n#q"),
    "a field too few": lambda text: text.replace(b"q1 Q0 b", b"q1 b").replace(b"q1 0 b", b"q1 b"),
    "a field too many": lambda text: text.replace(b"\nq2", b" more\nq2"),
    "byte-order mark": lambda text: BOM + text,
    "unsorted": lambda text: b"\n".join(reversed(text.split(b"\n")[:-1])) + b"\n",
    "a query between": lambda text: b"q2" + text[2:],
    "another query": lambda text: text + text.split(b"\n")[0].replace(b"q1", b"q9") + b"\n",
    "other queries": lambda text: text.replace(b"q", b"x"),
    "twice": lambda text: text + text.split(b"\n")[0] + b"\n",
    "twice elsewhere": lambda text: text + 2 * (text.split(b"\n")[0].replace(b"q1", b"q9") + b"\n"),
    "Latin-1 ids": lambda text: text.replace(b" c ", b" \xe9 "),
    "no-break space": lambda text: text.replace(b" c ", " c\xa0 ".encode()),
    "long id": lambda text: text.replace(b" c ", b" " + b"c" * 5000 + b" "),
    "quotes": lambda text: text.replace(b" c ", b' "c" '),
    "NUL at the end": lambda text: text + b"\0",
    "compressed": gzip.compress,
    "the other file": lambda text: RUN if text == QRELS else QRELS,
}  # fmt: skip
GRADES = ("-1", "-2", "+2", "1.0", "1e0", "x", "0x1", "007", "99999999999", "-2147483648", "100")
SCORES = (
    "inf", "-inf", "Infinity", "nan", "1e999", "0x10", "abc", "1.5.2", "1,5", ".5", "5.", "+3",
    "-0", "1e3", "1E+3", "1e-400", "1e39", "1_0", "1d3", "٣", "1.00000001", "2.00000000001",
)  # fmt: skip
TAGS = {"Latin-1": b"\xe9", "UTF-8": "é".encode(), "escape": b"\x1b[31m", "percent": b"%s%d"}
MEANS = {
    "empty": b"", "blank": b"\n\n", "bad": b"x\n", "short": b"q1 map 0.5\n",
    "extra": b"q1 map 0.5 0.1 9\n", "some": b"q1 map 0.5 0.1\nq2 map 0.4 0.2\n",
    "zero": b"q1 map 0.5 0\nq2 map 1 0\n", "unsorted": b"q2 map 0.4 0.2\nq1 map 0.5 0.1\n",
    "latin": b"q\xe9 map 1 1\nq1 map 0.5 0.1\nq2 map 0.4 0.2\n",
}  # fmt: skip
OPTIONS = """
-q;-c;-n;-qn;-qcn;-J;-l 0;-l 2;-l 100;-l -1;-l x;-l 1x;-l 1.5;-l 0x1;-l BIG;-l -BIG;-l 2147483648
-M 0;-M 1;-M -1;-M x;-M 1.5;-M BIG;-M 2147483648;-N 0;-N -5;-N x;-N 1.5;-N BIG;-N -BIG
-N x -m utility;-N BIG -m utility;-N -BIG -m utility;-N -5 -m utility.0,0,0,1
-N BIG -m utility.0,0,0,1;-N -BIG -m utility.0,0,0,1;-m set_F.0;-m set_F.-1;-m set_F.x
-m set_F.1,2;-m set_F.;-m set_F.1e999;-m set_F.inf;-m set_F.nan;-m set_F.1e300;-m set_F.-0.5
-m set_F.1x;-m set_F.-0;-m P.0;-m P.-1;-m P.5,5;-m P.5,,6;-m P.5,;-m P.,5;-m P.5.5;-m P.x;-m P.5x
-m P.BIG;-m P.2147483647;-m P -m P.7;-m P.05;-m P.+5;-m P5;-m P_5;-m P.1e3;-m recall.0
-m map_cut.x;-m ndcg_cut.1.5;-m success.1,1;-m unj.3;-m rbp.p=0;-m rbp.p=1;-m rbp.p=0.5,1=x
-m rbp.0.5;-m rbp.p=2;-m rbp_resid.p=1;-m iprec_at_recall.1.5;-m iprec_at_recall.-1
-m iprec_at_recall.0.5,0.5;-m iprec_at_recall.x;-m 11pt_avg.2;-m 11pt_avg.x;-m Rprec_mult.-1
-m Rprec_mult.x;-m Rprec_mult.100;-m ndcg.1=x;-m ndcg.x=1;-m ndcg.1;-m ndcg.1=3,1=4;-m ndcg.-1=3
-m ndcg.1=-3;-m ndcg.1=inf;-m ndcg.1=0.5;-m ndcg.1==3;-m Rndcg.-1=1;-m G.1=2;-m utility.1
-m utility.1,2,3,4;-m utility.x,1,1,1;-m utility.inf,0,0,0;-m utility.1e308,1e308,0,0;-m relstring
-m relstring.-1;-m relstring.x;-m relstring.1,2;-q -m relstring.2;-q -m relstring.3x;-m map.5
-m num_q.3;-m runid.3;-m official.3;-m set.3 -q;-m all_trec.3;-m official.;-m all_trec -m P.3
-m nosuch;-m;-m MAP;-m map,P;-m map -m nosuch;-mmap;-m prefs_simp;-m map_avgjg;-v;--version;-h
--help;-vh;-hv;-v -z;-z -v;-m nosuch -v;--ver;-z;--query;--query_eval_wanted=1;--measure map
--mea=map;--level 2;--Number=7;--N 5;--Judged;--no;--complete;--Z=some;--Zscore some;-D 0;-D 1
-D x;-D;-D 00;-o;-oq;-R qrels;-R prefs;-R x;-T trec_results;-T x;-T x -T trec_results;--Rel=qrels
-- -q;-q --;-q -- -c;-Z some -m map -q;-Z none;-Z empty;-Z blank;-Z bad;-Z short;-Z extra;-Z some
-Z zero -m map -q;-Z unsorted -m map -q;-Z latin -m map;-qqq -m map;-q -n -m map;-c -m gm_map
-c -m num_rel -l 2;-J -m all_trec -q;-M 1 -J -m all_trec -q;-M 1 -m all_trec -q -c
-l 3 -m all_trec -q -c;-l 0 -m all_trec -q -c;-l 100 -m all_trec -q -c;third
""".replace("BIG", "9" * 20).replace("\n", ";").strip(";").split(";")  # fmt: skip


class Case(NamedTuple):
    """A command line on two files."""

    name: str
    qrels: bytes
    run: bytes
    options: list[str]


def cases() -> Iterator[Case]:
    everything = ["-q", "-c", "-m", "all_trec"]
    for name, change in BOTH.items():
        run = change(RUN) if name == "query with a hash" else RUN
        for options in ([], everything) if FULL else (everything,):
            yield Case(f"qrels: {name}", change(QRELS), run, options)
            yield Case(f"run: {name}", QRELS, change(RUN), options)
    for grade in GRADES:
        yield Case(f"grade: {grade}", QRELS.replace(b"b 1", b"b " + grade.encode()), RUN, ["-q"])
    negative = b"q1 0 a -1\nq1 0 b -1\nq2 0 d 1\n"
    yield Case("grades below 0 only", negative, RUN, [])
    for score in SCORES:
        yield Case(f"score: {score}", QRELS, RUN.replace(b"1 3 t", f"1 {score} t".encode()), ["-q"])
    for name, tag in TAGS.items():
        yield Case(f"tag: {name}", QRELS, RUN.replace(b" t\n", b" " + tag + b"\n"), [])
    for number, words in enumerate(OPTIONS):
        yield Case(f"options: {words}", QRELS, RUN, words.split())
        if FULL or number % 5 == 0:
            yield Case(f"options: {words} -c", MORE_QRELS, MORE_RUN, [*words.split(), "-c"])


DOCUMENTED = {
    "a byte-order mark": "byte-order mark",
    "a line that starts with `#`": "comment|hash",
    "a blank line in qrels": "qrels: blank line (first|between|last)",
    "a run of blank lines only": "run: blank line only",
    "a score `inf`, `-inf`, `nan`, `1e999` or `0x10`": "score: (.*inf.*|nan|1e999|0x10|Infinity)",
    "a grade below −2,147,483,647 or above 2,147,483,647": r"grade: (9{11}|-2147483648)",
    "bytes that are not UTF-8 (Latin-1) in ids, NUL bytes": "Latin-1 ids|NUL|options: -Z latin",
    "such bytes, or control characters, in a run's tag": "tag: (Latin-1|escape)",
    "scores": "score: 1e39",
    "`-D`": "options: (.* )?-D",
    "`-h`": "options: (-h|--help|-hv)",
    "`-v` or `-h` with other options": "options: (-v -z|-m nosuch -v|-hv)",
    "an invalid number": r"grade: (1\.0|1e0|x|0x1)|score: (abc|1\.5\.2|1,5|1_0|1d3|٣)"
    r"|options: (-[lMN] (x|1x|1\.5|0x1|-)|-m (set_F|P|map_cut|ndcg_cut|Rprec_mult|iprec_at_recall"
    r"|11pt_avg|utility|(-q -m )?relstring)\.)|options: -q -m relstring.3x"
    r"|options: -m ndcg\.(1=x|x=)|options: -m rbp.p=0.5,1=x",
    "a parameter out of its range": r"options: -m (set_F\.(-|inf|nan|1e999)|P\.\d{20}"
    r"|rbp.*p=[012]( -c)?$|iprec_at_recall\.(1\.5|-1)|11pt_avg\.2|Rprec_mult\.-1"
    r"|R?ndcg\.(-1=|1=inf)|utility\.inf)",
    "`-l` above 2,147,483,647": r"options: -l \d{10}",
    "`-T x -T trec_results`": "options: -T x -T",
    "gains less than 1 apart": "options: -m ndcg.1=0.5",
    "a grade with two gains": "options: -m ndcg.1=3,1=4",
    "`rbp` with `-l 0` (version 10)": "options: -l 0 -m all_trec",
    "a query with grades below 0 only": "grades below 0 only",
    "`-Z` with a file that lacks means": "options: (-Z some|--Z|-Z .* -c$)",
    "a document twice for a query": "twice elsewhere",
    "a comment, a byte-order mark, compressed files, scores beyond 32 bits": "compressed",
    "0 divided by 0": r"options: (-M 0|-Z zero|-J|--Judged|-M 1 -J|-l (0|3|100))",
}
"""Rows of the page, by how they begin, and the cases that differ so."""


class Ended(NamedTuple):
    """How a program ended; ``failed`` without its exit code, ``out`` only if it did not."""

    failed: bool
    out: bytes
    says: bool


@pytest.mark.parametrize("version", VERSIONS)
def test_differences_are_documented(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:  # fmt: skip
    path = program(version)
    if path is None:
        pytest.skip(f"trec_eval-{version} is not here: set CITEBED_PEERS to its folder")
    monkeypatch.chdir(tmp_path)
    for name, data in MEANS.items():
        Path(name).write_bytes(data)
    page, tried, differ = PAGE.read_text("utf-8"), 0, list[str]()
    for case in cases():
        Path("q").write_bytes(case.qrels)
        Path("r").write_bytes(case.run)
        words = [*case.options, "q", "r"]
        done = subprocess.run([path, *words], capture_output=True, check=False, timeout=60)
        theirs = Ended(
            done.returncode != 0, done.stdout if not done.returncode else b"", bool(done.stderr)
        )
        capfdbinary.readouterr()
        code = main(["trec_eval", "--as-version", version, *words])
        out, err = capfdbinary.readouterr()
        assert code in (0, 1), case
        assert not (code and out), case
        tried += 1
        if theirs != Ended(code != 0, out, bool(err)):
            differ.append(case.name)
    assert tried > 300
    for begins in DOCUMENTED:
        assert f"\n| {begins}" in page
    known = re.compile("|".join(f"({pattern})" for pattern in DOCUMENTED.values()))
    assert [name for name in differ if not known.search(name)] == []
