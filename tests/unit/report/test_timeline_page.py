"""The timeline page: its content, escaping, and where it may be written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer
from lxml import html
from typer.testing import CliRunner

from citebed.cli.options import command
from citebed.cli.timeline import timeline
from citebed.errors import CitebedError

START = 1_704_067_200  # 2024-01-01T00:00:00Z
WEEK = 7 * 86_400
EVIL = "<script>x</script>"


def write(folder: Path) -> list[str]:
    """Ten weeks, one relevant document each; a run that finds all, and one that stops halfway."""
    ids = [f"{START + week * WEEK}-{week}" for week in range(10)]
    judged = folder / "judged.qrels"
    judged.write_text("".join(f"{EVIL} 0 {doc} 2\n" for doc in ids))
    for name, found in {"all<b>": ids, "half": ids[:5]}.items():
        lines = [f"{EVIL} Q0 {doc} 1 {900 - at} t\n" for at, doc in enumerate(found)]
        (folder / f"{name}.run").write_text("".join(lines))
    return [str(judged), str(folder / "all<b>.run"), str(folder / "half.run")]


def call(*words: str) -> Any:
    app = typer.Typer()
    app.command("timeline")(command(timeline))
    usual = [] if "--slice" in words else ["--slice", "7d"]
    return CliRunner().invoke(app, [*words, *usual, "-m", "AP", "--samples", "100"])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    files = write(folder)
    to = ["--report", str(folder / "out.html"), "--plots", str(folder / "plots")]
    result = call(*files, "-w", "uniform", "-w", "burst", *to)
    assert result.exit_code == 0, result.exception
    return folder


@pytest.fixture(scope="module")
def page(made: Path) -> html.HtmlElement:
    return html.document_fromstring((made / "out.html").read_text())


def cells(page: html.HtmlElement, section: str) -> list[list[str]]:
    found = page.xpath(f"//section[@id='{section}']//table")[0]
    return [[cell.text_content() for cell in row] for row in found.xpath("./tbody/tr")]


def test_scores_are_under_each_weighting(page: html.HtmlElement) -> None:
    assert cells(page, "scores") == [
        ["all<b>", "1", "1.0000", "1.0000"],
        ["half", "1", "0.5000", "0.5000"],
    ]


def test_slices_are_listed(page: html.HtmlElement) -> None:
    found = cells(page, "slices")
    assert found[4] == ["2024-01-29T00:00:00Z", "1", "1", "1.0000", "1.0000"]
    assert found[5] == ["2024-02-05T00:00:00Z", "1", "1", "1.0000", "0.0000"]


def test_trends_are_reported_in_words(page: html.HtmlElement) -> None:
    told = [item.text_content() for item in page.xpath("//section[@id='over-time']//li")]
    assert told[0].startswith("all<b> keeps its AP ")
    assert told[1].startswith("half loses ")
    assert ", significant " in told[1]


def test_where_slices_are_too_few_for_a_trend_that_is_said(tmp_path: Path) -> None:
    call(*write(tmp_path), "--slice", "all", "--report", str(tmp_path / "out.html"))
    page: Any = html.document_fromstring((tmp_path / "out.html").read_text())
    told = [item.text_content() for item in page.xpath("//section[@id='over-time']//li")]
    assert told == ["No trends: only 1 slice with relevant documents."]
    assert page.xpath("//section[@id='over-time']//table") == []


def test_the_command_names_files_and_not_where_they_are(page: html.HtmlElement, made: Path) -> None:
    command = page.xpath("//pre")[0].text_content()
    assert command.startswith(
        "citebed timeline judged.qrels 'all<b>.run' half.run --slice 7d --weight uniform"
    )
    assert str(made) not in html.tostring(page, encoding="unicode")


def test_names_are_text(made: Path) -> None:
    whole = (made / "out.html").read_text()
    assert EVIL not in whole
    assert "all<b>" not in whole


def test_the_page_refers_to_nothing_outside(made: Path) -> None:
    whole = (made / "out.html").read_text()
    assert "default-src 'none'" in whole
    links = re.findall(r'(?:href|src)="([^"]*)"', whole)
    assert links
    assert all(link.startswith(("#", "data:")) for link in links)
    assert " style=" not in whole


def test_what_a_picture_refers_to_is_in_the_page(page: html.HtmlElement) -> None:
    ids = page.xpath("//@id")
    assert len(ids) == len(set(ids))
    whole = html.tostring(page, encoding="unicode")
    used = set(re.findall(r"url\(#([^)]*)\)", whole)) | set(re.findall(r'href="#([^"]*)"', whole))
    assert used <= set(ids)


def test_pictures_are_written_as_svg_and_png(made: Path) -> None:
    names = sorted(path.name for path in (made / "plots").iterdir())
    stems = ["areas_AP_all-b--half", "relevant", "scores_AP"]
    assert names == sorted(f"{stem}.{ending}" for stem in stems for ending in ("svg", "png"))


def test_the_same_runs_make_the_same_page(made: Path, tmp_path: Path) -> None:
    files = write(tmp_path)
    to = ["--report", str(tmp_path / "out.html"), "--plots", str(tmp_path / "plots")]
    call(*files, "-w", "uniform", "-w", "burst", *to)
    assert (tmp_path / "out.html").read_bytes() == (made / "out.html").read_bytes()


def test_official_scores_are_there_when_asked_for(tmp_path: Path) -> None:
    files = write(tmp_path)
    result = call(*files, "--official", "--report", str(tmp_path / "out.html"))
    assert result.exit_code == 0, result.exception
    found = cells(html.document_fromstring((tmp_path / "out.html").read_text()), "official")
    # half: precision 1, recall 1/2, F1 2/3; NU = 10/20, SU = (1/2 + 1/2)/1.5
    (row,) = (row for row in found if row[:2] == ["half", "central"] and row[3] == "micro")
    assert row[5:] == ["1.0000", "0.5000", "0.6667", "0.6667", "0.6667", "0.3333"]


# --- two queries, two systems ---------------------------------------------------------------


def two_queries(folder: Path) -> list[str]:
    """Return the same stream for two queries; the run finds half of the second one."""
    ids = [f"{START + week * WEEK}-{week}" for week in range(10)]
    (folder / "j.qrels").write_text("".join(f"{q} 0 {doc} 1\n" for q in "qr" for doc in ids))
    for name, found in {"best": (10, 10), "next": (10, 5), "last": (2, 1)}.items():
        lines = [
            f"{q} Q0 {doc} 1 1 t\n" for q, n in zip("qr", found, strict=True) for doc in ids[:n]
        ]
        (folder / f"{name}.run").write_text("".join(lines))
    return [str(folder / name) for name in ("j.qrels", "best.run", "next.run", "last.run")]


def test_intervals_and_paired_tests_are_in_the_page(tmp_path: Path) -> None:
    to = ["--report", str(tmp_path / "out.html"), "--baseline", "best", "--units", "both"]
    result = call(*two_queries(tmp_path), *to)
    assert result.exit_code == 0, result.exception
    page: Any = html.document_fromstring((tmp_path / "out.html").read_text())
    scores, tests = page.xpath("//section[@id='scores']//table")
    assert "95% intervals over queries and slices" in scores.xpath("./caption")[0].text_content()
    assert re.fullmatch(
        r"0\.7500 \[0\.\d{4}, 0\.9937\]", scores.xpath("./tbody/tr[2]/td[2]")[0].text_content()
    )
    rows = [[cell.text_content() for cell in row] for row in tests.xpath("./tbody/tr")]
    assert [row[:2] for row in rows] == [["AP, uniform", "next"], ["AP, uniform", "last"]]
    assert any(
        "both queries and slices: 10 slices" in item
        for item in page.xpath("//section[@id='scores']//li//text()")
    )


def test_any_pair_is_pictured(tmp_path: Path) -> None:
    files, plots = two_queries(tmp_path), tmp_path / "plots"
    pair = ["--pair", "next", files[3], "--plots", str(plots), "--report", str(tmp_path / "o.html")]
    result = call(*files, *pair)
    assert result.exit_code == 0, result.exception
    assert {path.stem for path in plots.glob("areas*")} == {
        "areas_AP_next-last",
        "areas_AP_next-last_q",
    }
    page: Any = html.document_fromstring((tmp_path / "o.html").read_text())
    assert "--pair next last.run" in page.xpath("//pre")[0].text_content()
    assert "lies at its time" in page.xpath("//section[@id='compared']/p")[0].text_content()


def test_areas_go_by_time_or_by_weight(tmp_path: Path) -> None:
    files, plots = two_queries(tmp_path), tmp_path / "plots"
    for areas, says in (
        ("time", "relevant documents per day, their mean over 7 days, and slices"),
        ("weight", "slices are as wide as their weights"),
    ):
        call(*files[:3], "--areas", areas, "--plots", str(plots))
        assert says in (plots / "areas_AP_best-next.svg").read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--pair", "best", "nobody", "--plots", "p"], "unknown run to plot 'nobody'"),
        (["--pair", "best", "best.run", "--plots", "p"], "names 'best' twice"),
        (["--pair", "best", "next"], "--pair needs --report FILE or --plots DIR"),
        (["--areas", "weight"], "--areas needs --report FILE or --plots DIR"),
        (["--focus", "q"], "--focus needs --report FILE or --plots DIR"),
    ],
)
def test_what_cannot_be_pictured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = call(*two_queries(tmp_path), *words)
    assert isinstance(result.exception, CitebedError)
    assert says in str(result.exception)
    assert not Path("p").exists()


# --- where it may be written ----------------------------------------------------------------


@pytest.mark.parametrize("at", [0, 1, 2])
def test_what_is_read_is_never_written_over(tmp_path: Path, at: int) -> None:
    files = write(tmp_path)
    before = Path(files[at]).read_bytes()
    result = call(*files, "--report", files[at])
    assert isinstance(result.exception, CitebedError)
    assert "is also an input file" in str(result.exception)
    assert Path(files[at]).read_bytes() == before


def test_nor_under_another_name(tmp_path: Path) -> None:
    files = write(tmp_path)
    before = Path(files[0]).read_bytes()
    (tmp_path / "link.html").symlink_to(files[0])
    assert isinstance(call(*files, "--report", str(tmp_path / "link.html")).exception, CitebedError)
    assert Path(files[0]).read_bytes() == before


def test_times_and_boundaries_are_read_too(tmp_path: Path) -> None:
    files = write(tmp_path)
    bounds = tmp_path / "bounds.html"
    bounds.write_text("2024-01-01T00:00:00Z\n2024-03-18T00:00:00Z\n")
    result = call(*files, "--slice", str(bounds), "--report", str(bounds))
    assert "is also an input file" in str(result.exception)
    assert bounds.read_text().startswith("2024")


@pytest.mark.parametrize("name", ["data.txt", "no/out.html", "."])
def test_a_place_that_is_invalid_for_a_page_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "data.txt").write_text("kept")
    result = call(*write(tmp_path), "--report", str(tmp_path / name))
    assert isinstance(result.exception, CitebedError)
    assert (tmp_path / "data.txt").read_text() == "kept"


def test_a_focus_without_judgements_is_refused(tmp_path: Path) -> None:
    to = ["--report", str(tmp_path / "out.html"), "--focus", "nobody"]
    result = call(*write(tmp_path), *to)
    assert "nobody" in str(result.exception)
    assert not (tmp_path / "out.html").exists()
