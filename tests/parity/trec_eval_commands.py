"""Command lines of trec_eval, and files to try them on: what `citebed trec_eval` must equal.

    python tests/parity/trec_eval_commands.py [--cases 200] [--seed 0] [--show 5]

runs command lines on made-up files with both versions of the program (in $CITEBED_PEERS, beside the
real data, or on the PATH) and with citebed, and counts commands, lines and differences.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.parity.make_golden import make_case

from citebed.cli.app import main

VERSIONS = ("9.0.8", "10.0")
MEANS = "made.means"

# fmt: off
PLAIN = (
    "runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref",
    "recip_rank", "iprec_at_recall", "P", "relstring", "recall", "infAP", "gm_bpref", "Rprec_mult",
    "utility", "11pt_avg", "binG", "G", "ndcg", "ndcg_rel", "Rndcg", "ndcg_cut", "map_cut",
    "relative_P", "success", "set_P", "set_relative_P", "set_recall", "set_map", "set_F",
    "num_nonrel_judged_ret", "yaap", "rbp", "rbp_resid", "unj", "official", "set", "all_trec",
)
WITH_PARAMETERS = (
    "P.1", "P.10,5,3", "recall.2,1000000", "map_cut.3,7", "ndcg_cut.1,2,3", "relative_P.4,9",
    "success.2,4", "unj.1,3", "iprec_at_recall.0,.25,0.333,1", "Rprec_mult.0,0.5,3", "relstring.3",
    "relstring.0", "utility.1,-0.5,2,0.01", "utility.0,0,0,1", "11pt_avg.0.2,0.5,0.8", "set_F.2",
    "set_F.0.5", "ndcg.1=4,2=9,4=7", "ndcg.0=1", "ndcg.1=0", "ndcg.2=-1", "G.1=2,3=1", "G.0=1",
    "ndcg_rel.1=3,2=1", "Rndcg.1=3,2=1", "Rndcg.0=1", "ndcg_rel.0=1", "rbp.p=0.5",
    "rbp.p=0.95,1=2.5", "rbp_resid.p=0.5", "map.3", "num_rel.2",
)
SWITCHES: tuple[list[str], ...] = (
    [], ["-q"], ["-c"], ["-q", "-c"], ["-l", "2"], ["-l0"], ["-J"], ["-M", "5"], ["-M", "0"],
    ["-N", "1000"], ["-q", "-n"], ["-qc", "-l", "3", "-J"], ["-qc", "-J", "-M7"], ["-o"],
    ["--level_for_rel=2", "--query_eval_wanted", "--complete"], ["--Judged_docs_only", "-c"],
    ["--Max_retrieved_per_topic", "3", "-cq"], ["--nosummary"], ["-R", "qrels"],
    ["-T", "trec_results"], ["-D0"], ["-c", "-N", "500", "-l", "2"],
)
REFUSED = (
    ["-m", "nonsense"], ["-m", "P."], ["-m", "P.0"], ["-m", "P.5,5"], ["-m", "P.x"], ["-m"], ["-z"],
    ["--nonsense"], ["-m", "ndcg.x"], ["-m", "utility.1,2"], ["-R", "nonsense"], ["-T", "nonsense"],
    ["-m", "prefs"], ["-m", "map_avgjg"], ["third_file"],
)
# fmt: on


def commands() -> list[list[str]]:
    """Every measure under every switch of note, and what both must refuse."""
    names = (*PLAIN, *WITH_PARAMETERS)
    one = [["-m", name, *more] for name in names for more in ([], ["-q", "-c"])]
    several = [
        ["-m", "ndcg", "-m", "map", "-m", "P.7", "-q"],
        ["-m", "P", "-m", "P.7", "-m", "P.3", "-m", "official"],
        ["-mrelstring", "-mnum_q", "-qc"],
    ]
    all_of_them = [["-m", "all_trec", "-m", "yaap", *switches] for switches in SWITCHES]
    scaled = [
        [*more, "-Z", MEANS, *(f"-m{name}" for name in ("P.5", "gm_map", "map", "ndcg", "num_ret"))]
        for more in ([], ["-q"], ["-qc", "-mnum_rel", "-mrelstring", "-mnum_q"], ["-c", "-l2"])
    ]
    some = [["-m", name, "-qc", "-J", "-l", "2"] for name in WITH_PARAMETERS]
    return [
        *one, *several, *all_of_them, *scaled, *some, *(list(s) for s in SWITCHES),
        *map(list, REFUSED),
    ]  # fmt: skip


def program(version: str) -> str | None:
    """trec_eval itself: beside the real data, on the PATH, or where the environment says."""
    peers = Path(__file__).resolve().parents[3] / "shared" / "peers"
    folder = os.environ.get("CITEBED_PEERS", str(peers))
    places = os.pathsep.join((folder, os.environ.get("PATH", "")))
    return shutil.which(f"trec_eval-{version}", path=places)


def write_files(folder: Path, case: dict[str, Any], tag: str = "made") -> tuple[str, str]:
    """A case as the program reads it: its judgements and its run."""
    qrels, run = folder / "made.qrels", folder / "made.run"
    judged = [(q, d, g) for q, of in case["qrels"].items() for d, g in of.items()]
    found = [(q, d, s) for q, of in case["run"].items() for d, s in of.items()]
    qrels.write_text("".join(f"{q} 0 {d} {grade}\n" for q, d, grade in judged), "utf-8")
    run.write_text("".join(f"{q} Q0 {d} 0 {score!r} {tag}\n" for q, d, score in found), "utf-8")
    labels = ("P_5", "gm_map", "map", "ndcg", "num_rel", "num_ret")
    means = sorted(f"{q} {label} 0.{at + 1} 0.{at + 2}\n" for q in case["qrels"]
                   for at, label in enumerate(labels))  # fmt: skip
    (folder / MEANS).write_text("".join(means), "utf-8")
    return str(qrels), str(run)


def on_files(words: list[str], files: tuple[str, str]) -> list[str]:
    """Return a command line for these files; the means for ``-Z`` are in the same folder."""
    means = str(Path(files[0]).with_name(MEANS))
    return [*(means if word == MEANS else word for word in words), *files]


def made_case(chance: random.Random) -> dict[str, Any]:
    """Judgements and a run; now and then with high grades, a long ranking, or nothing shared."""
    case: dict[str, Any] = make_case(chance)
    while not case["qrels"] or not case["run"]:
        case = make_case(chance)
    kind = chance.random()
    if kind < 0.2:
        for of in case["qrels"].values():
            of.update({d: chance.choice([5, 9, 10, 17]) for d in of if chance.random() < 0.2})
    if kind > 0.9:
        query = chance.choice(list(case["run"]))
        case["run"][query].update({f"long{n}": chance.uniform(-5, 25) for n in range(1500)})
    if 0.5 < kind < 0.55:
        case["run"] = {f"other{q}": of for q, of in case["run"].items()}
    return case


def ours(version: str, words: list[str]) -> tuple[int, str]:
    """The exit code and output of citebed."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = main(["trec_eval", "--as-version", version, *words])
    return code, out.getvalue()


def theirs(path: str, words: list[str]) -> tuple[int, str]:
    """The exit code and output of the program."""
    done = subprocess.run([path, *words], capture_output=True, check=False, timeout=60)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def compared(
    version: str, expected_of: tuple[int, str], words: list[str]
) -> Iterator[tuple[str, str]]:
    """Return differing lines of both programs; two refusals or a crash of theirs do not count."""
    code, expected = expected_of
    own_code, found = ours(version, words)
    if code < 0:
        return
    if bool(code) != bool(own_code):
        yield f"exit code {code}", f"exit code {own_code}"
    there, here = expected.splitlines(), found.splitlines()
    if code or own_code or there == here:
        return
    yield from ((a, b) for a, b in zip(there, here, strict=False) if a != b)
    if len(there) != len(here):
        yield f"{len(there)} lines", f"{len(here)} lines"


class Tally:
    """Counts of the command lines that were tried, and of their outcomes."""

    def __init__(self, show: int) -> None:
        self.show = show
        self.counts, self.flags = Counter[str](), Counter[str]()

    def try_out(self, version: str, path: str, command: list[str]) -> None:
        """Run a command line with both and compare."""
        code, out = theirs(path, command)
        self.counts["crashed" if code < 0 else "refused" if code else "printed"] += 1
        self.counts["lines"] += 0 if code else out.count("\n")
        self.flags.update(word for word in command if word.startswith("-"))
        for one, other in compared(version, (code, out), command):
            self.counts["differences"] += 1
            if self.counts["differences"] <= self.show:
                print(f"{version} {' '.join(command[:-2])}\n  theirs {one!r}\n  ours   {other!r}")
                for file in command[-2:]:
                    shutil.copy(file, tempfile.gettempdir())

    def __str__(self) -> str:
        counts = self.counts
        tried = counts["printed"] + counts["refused"] + counts["crashed"]
        return (
            f"{tried:,} command lines with {len(self.flags)} switches: {counts['printed']:,} "
            f"printed {counts['lines']:,} lines, {counts['refused']:,} were refused, "
            f"{counts['crashed']:,} crashed trec_eval; {counts['differences']:,} differences"
        )


def count(cases: int, seed: int, show: int) -> int:
    """Try ten command lines on each pair of files and tell; gives how many lines differ."""
    chance, every, tally = random.Random(seed), commands(), Tally(show)
    for version in VERSIONS:
        path = program(version)
        if path is None:
            raise SystemExit(f"there is no trec_eval-{version}: set CITEBED_PEERS to its folder")
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(cases):
                files = write_files(Path(folder), made_case(chance))
                for words in chance.sample(every, 10):
                    tally.try_out(version, path, on_files(words, files))
    print(f"{2 * cases} pairs of files, {len(every)} kinds of command; {tally}")
    return tally.counts["differences"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=5)
    given = parser.parse_args()
    raise SystemExit(min(count(given.cases, given.seed, given.show), 1))
