"""The docs page has the published figures of the three papers."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from statistics import fmean

import pytest

from citebed import demo
from citebed.cli.app import main
from citebed.experiments.published import CITED_TABLE_5
from citebed.judging.tables import PUBLISHED_COLLECTIONS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "papers.md"

# Table 5 of Ritchie, Robertson & Teufel (2007): Indri, Cosine, Okapi, KL under J1 and J1+2.
TABLE_5 = {
    "MAP": ((0.1182, 0.0704, 0.0717, 0.1112), (0.1592, 0.1275, 0.0830, 0.1654)),
    "P(5)": ((0.1049, 0.0537, 0.0439, 0.1049), (0.2610, 0.2024, 0.1146, 0.2683)),
    "R-P": ((0.1322, 0.0700, 0.0577, 0.1194), (0.1823, 0.1431, 0.0957, 0.1857)),
    "GMAP": ((0.0090, 0.0039, 0.0008, 0.0088), (0.0370, 0.0282, 0.0024, 0.0399)),
    "bpref": ((0.3570, 0.3314, 0.2565, 0.3725), (0.3107, 0.2654, 0.2000, 0.3209)),
}
TABLE_2 = {"All Phase One": (196, 4.5, 3.3), "T1": (82, 4.8, 3.4), "T1+2": (82, 11.4, 12.3)}


def row(start: str) -> list[str]:
    """The cells behind the first of a table's row."""
    lines = [line for line in PAGE.read_text("utf-8").split("\n") if line.startswith(f"| {start}")]
    assert len(lines) == 1, start
    return [cell.strip() for cell in lines[0].strip("| ").split("|")][1:]


def test_table_2_of_the_cited_and_non_cited() -> None:
    ours = {name: (*figures, 9084) for name, figures in TABLE_2.items()}
    known = {**ours, **{each.name: tuple(each[1:]) for each in PUBLISHED_COLLECTIONS}}
    assert row("published |") == list(known)
    starts = ("queries |", "relevant per query |", "not relevant per query |", "documents | 9,084")
    for at, start in enumerate(starts):
        found = [float(cell.replace(",", "")) for cell in row(start)]
        assert found == [figures[at] for figures in known.values()]
    thousand = [
        f"{1000 * relevant / documents:.2f}" for _, relevant, _, documents in known.values()
    ]
    assert row("relevant per 1,000 documents") == thousand


def test_the_means_of_table_5() -> None:
    models = ("Indri", "Cosine", "Okapi", "KL")
    for at, both in enumerate(TABLE_5.values()):
        for phase, of_phase in enumerate(both):
            kept = tuple(CITED_TABLE_5[model][2 * at + phase] for model in models)
            assert kept == of_phase
    assert row("| MAP") == ["P(5)", "R-P", "GMAP", "bpref"]
    assert row("published, J1 → J1+2") == [
        f"{fmean(before):.3f} → {fmean(after):.3f}" for before, after in TABLE_5.values()
    ]


@pytest.mark.parametrize(
    "heading",
    [
        "Table 1, the collection", "Table 2, the baselines", "Table 2, test collections compared",
        "Tables 3 and 4, by source", "Table 5, the same runs under J1 and J1+2",
        "Figures 1 and 2, every query", "Tables 1, 2 and 3", "Figures 1 to 4",
        "The robustness figure",
    ],
)  # fmt: skip
def test_every_table_and_figure_has_its_command(heading: str) -> None:
    below = PAGE.read_text("utf-8").split(f"\n### {heading}\n")[1].split("\n#")[0]
    assert re.search(r"^```sh\ncitebed ", below, re.MULTILINE)


def test_the_figures_of_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The demo's figures in the first table are the output of the commands below it."""
    monkeypatch.chdir(tmp_path)
    demo("mine")
    assert main(["index", "mine"]) == 0
    page = PAGE.read_text("utf-8")
    below = page.split("## Cited and non-cited papers (2007)")[1].split("## Time-aware")[0]
    wanted = ("simulate", "export", "subset", "difference", "okapi.run", "kl.run", "text", "citing")
    lines = [line for line in below.split("\n") if line.startswith("citebed ")]
    for line in (each for each in lines if any(word in each for word in wanted)):
        words = shlex.split(line)[1:]
        if "table5/*.run" not in words and "--part" not in words:
            assert main(words) == 0, line
    capsys.readouterr()
    counts = [
        len(Path(name).read_text().splitlines()) for name in ("phases/t12.qrels", "phases/t1.qrels")
    ]
    assert f"{counts[0]} judgements minus {counts[1]} = {counts[0] - counts[1]}" in page
    assert len(Path("t2.qrels").read_text().splitlines()) == counts[0] - counts[1]
    table5 = [
        "phases/t1.qrels", "phases/t12.qrels", "table5/okapi.run", "table5/kl.run", "-m", "GMAP",
    ]  # fmt: skip
    assert main(["contrast", *table5, "--part", "conclusions", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert f"Okapi over KL under J1 on the demo: {-row['before_difference']:+.4f}" in page
    (line,) = [each for each in lines if "text.run citing.run" in each]
    assert main([*shlex.split(line)[1:], "--json"]) == 0
    (row,) = [each for each in json.loads(capsys.readouterr().out) if each["measure"] == "Bpref"]
    assert (
        f'p {row["before_p"]:.3f} and {row["after_p"]:.3f}, so it "{row["fate"]}"; '
        f"the shift has p = {row['shift_p']:.3f}"
    ) in page
