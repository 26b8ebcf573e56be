"""The picture of a collection: which panels it has, and how the file is written."""

from __future__ import annotations

import dataclasses
from importlib import resources
from pathlib import Path

import matplotlib as mpl
import pytest
from lxml import etree
from matplotlib.figure import Figure

from citebed.collection import ImportOptions, import_sources, open_collection
from citebed.collection.statistics import CollectionStatistics, Number, collect_statistics
from citebed.errors import CitebedError, UnknownName
from citebed.report import collection_figure as collection_picture
from citebed.report.collection_figure import draw

PNG = b"\x89PNG\r\n\x1a\n"
DOCUMENTS = {"count": Number(1)}
EMPTY = CollectionStatistics("nothing", {"documents": {"count": Number(0)}})
ONE = CollectionStatistics(
    "one", {"documents": DOCUMENTS, "venues": {"Nature": Number(1)}}, years=((2001, 1, 1),)
)


def citing(
    lengths: tuple[int, ...], per_paper: tuple[tuple[int, int], ...]
) -> CollectionStatistics:
    mean = {"tokens per passage, all": Number(sum(lengths) / len(lengths))}
    return dataclasses.replace(
        EMPTY,
        groups={**EMPTY.groups, "paragraphs": mean},
        lengths={"paragraphs": lengths},
        per_paper=per_paper,
    )


def titles(made: CollectionStatistics) -> list[str]:
    figure: Figure = collection_picture._figure(made)
    own = [axes.get_title("left") or axes.get_title() for axes in figure.axes]
    return [title for title in own + [part.get_suptitle() for part in figure.subfigs] if title]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> CollectionStatistics:
    folder = tmp_path_factory.mktemp("demo") / "c"
    with resources.as_file(resources.files("citebed") / "demo") as sources:
        import_sources(folder, [sources], ImportOptions(name="demo", workers=1))
    return collect_statistics(open_collection(folder))


def test_the_ending_chooses_the_format(tmp_path: Path) -> None:
    draw(ONE, tmp_path / "one.PNG")
    draw(ONE, tmp_path / "one.svg")
    assert (tmp_path / "one.PNG").read_bytes().startswith(PNG)
    root = etree.parse(tmp_path / "one.svg").getroot()
    assert etree.QName(root).localname == "svg"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.PNG", "one.svg"]


def test_everything_there_is_gets_a_panel(demo: CollectionStatistics) -> None:
    made = sorted(titles(demo))
    assert [title.split()[0] for title in made] == [
        "Documents", "Largest", "Length", "Length", "References",
    ]  # fmt: skip


def test_the_same_statistics_give_the_same_file(tmp_path: Path) -> None:
    made = citing((7,) * 30, tuple((n, n // 2) for n in range(30)))
    for name in ("a.svg", "b.svg"):
        draw(dataclasses.replace(made, groups=made.groups | ONE.groups), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


@pytest.mark.parametrize(
    ("made", "panels"),
    [
        (EMPTY, 0),
        (ONE, 2),
        (dataclasses.replace(ONE, years=()), 1),
        (citing((0,), ((0, 0),)), 1),
        (citing((5,), ((1, 0),)), 2),
        (citing((7,) * 300, tuple((n, n // 2) for n in range(300))), 2),
    ],
)
def test_what_is_missing_is_left_out(
    made: CollectionStatistics, panels: int, tmp_path: Path
) -> None:
    draw(made, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(PNG)
    assert len(titles(made)) == panels


@pytest.mark.parametrize("name", ["$x_1$ & [y]", "計算言語学", "<b>& Co", "A" * 200])
def test_any_name_can_be_drawn(name: str, tmp_path: Path) -> None:
    groups = {"documents": DOCUMENTS, "venues": {name: Number(3)}}
    draw(dataclasses.replace(ONE, name=name, groups=groups), tmp_path / "picture.svg")
    etree.parse(tmp_path / "picture.svg")


def test_an_unknown_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="jpg"):
        draw(ONE, tmp_path / "picture.jpg")
    with pytest.raises(UnknownName, match="picture"):
        draw(ONE, tmp_path / "picture")
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "picture.svg"
    path.write_text("old", encoding="utf-8")

    def fail(file: Path, _: bytes) -> None:
        file.write_text("half", encoding="utf-8")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(CitebedError, match=r"cannot write .*picture.svg: No space left"):
        draw(ONE, path)
    assert path.read_text("utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_settings_of_matplotlib_stay_as_they_were(tmp_path: Path) -> None:
    before = dict(mpl.rcParams)
    draw(ONE, tmp_path / "picture.svg")
    assert dict(mpl.rcParams) == before


def test_a_year_that_is_a_slip_does_not_squeeze_the_others() -> None:
    figure = Figure()
    axes = figure.subplots()
    years = ((11, 1, 0), (1998, 3, 2), (2001, 4, 1), (3011, 2, 0))
    collection_picture._draw_years(axes, years)
    low, high = axes.get_xlim()
    assert 1990 < low < 1998
    assert 2001 < high < 2010
    assert axes.get_xlabel() == "not drawn: 3 documents of the years 11, 3011"
