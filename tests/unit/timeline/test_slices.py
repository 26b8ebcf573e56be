"""Ways to slice time: where the boundaries are, by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.timeline.made_streams import START

from citebed.errors import CitebedError, FormatError
from citebed.runs.times import DAY, format_time, months_after, parse_time
from citebed.timeline.slices import Range, Slices, bursting, parse_slicing, usual_slicing

HOUR = 3600


def over(first: int, last: int, *relevant: int, **ends: int) -> Range:
    return Range(first, last, np.array(relevant, np.int64), **ends)


def days(slices: Slices) -> list[float]:
    return ((slices.bounds - START) / DAY).tolist()


def test_slices_start_at_midnight_and_go_on_until_the_last_judged_document() -> None:
    slices = parse_slicing("7d", over(START + 5 * HOUR, START + 15 * DAY))
    assert days(slices) == [0, 7, 14, 21]


def test_a_document_on_a_boundary_is_in_the_slice_that_starts_there() -> None:
    slices = parse_slicing("7d", over(START, START + 7 * DAY))
    assert days(slices) == [0, 7, 14]
    times = np.array([START - 1, START, START + 7 * DAY - 1, START + 7 * DAY, START + 14 * DAY])
    assert slices.slice_index(times).tolist() == [-1, 0, 0, 1, -1]


def test_from_and_to_are_kept_to_the_second() -> None:
    start, end = START + DAY + 1, START + 9 * DAY
    slices = parse_slicing("3d", over(START, START + 30 * DAY, start=start, end=end))
    assert slices.bounds.tolist() == [start, start + 3 * DAY, start + 6 * DAY, end]


def test_half_days() -> None:
    assert days(parse_slicing("12h", over(START + 1, START + DAY + 1))) == [0, 0.5, 1, 1.5]


def test_months_go_by_the_calendar() -> None:
    first = parse_time("2012-01-31T10:00Z", utc=False)
    last = parse_time("2012-04-02T00:00Z", utc=False)
    slices = parse_slicing("1mo", over(first, last))
    assert slices.labels == ["2012-01-31T00:00:00Z", "2012-02-29T00:00:00Z", "2012-03-31T00:00:00Z"]
    assert format_time(int(slices.ends[-1])) == "2012-04-30T00:00:00Z"
    assert format_time(months_after(first, 13)) == "2013-02-28T10:00:00Z"


def test_years_go_by_the_calendar_too() -> None:
    first, last = (parse_time(text, utc=True) for text in ("2012-02-29", "2014-07-01"))
    slices = parse_slicing("1y", over(first, last))
    assert slices.labels == ["2012-02-29T00:00:00Z", "2013-02-28T00:00:00Z", "2014-02-28T00:00:00Z"]
    assert parse_slicing("24mo", over(first, last)).bounds.tolist() == (
        parse_slicing("2y", over(first, last)).bounds.tolist()
    )


def test_a_last_slice_that_the_stream_does_not_fill_is_partial() -> None:
    slices = parse_slicing("7d", over(START + 5 * HOUR, START + 15 * DAY))
    assert slices.partial.tolist() == [False, False, True]
    told = "the last slice is partial: 2 days of 7d, from 2011-10-21T00:00:00Z on"
    assert slices.notes() == [told]
    full = parse_slicing("7d", over(START + 5 * HOUR, START + 14 * DAY - 1))
    assert (full.partial.any(), full.notes()) == (False, [])
    # So is one that is cut off where slices should end.
    cut = parse_slicing("3d", over(START, START + 30 * DAY, end=START + 7 * DAY))
    assert (cut.partial.tolist(), cut.stops) == ([False, False, True], START + 7 * DAY)
    assert not parse_slicing("equal:1", over(START, START + DAY, START)).partial.any()


def test_documents_known_by_year_fill_their_year() -> None:
    """A year counts from its first day, so the last one would look like a day."""
    years = [parse_time(f"{year}-01-01", utc=True) for year in (1957, 1990, 2023)]
    slices = parse_slicing("1y", over(years[0], years[-1], *years))
    assert (len(slices), slices.stops) == (67, None)
    may = parse_time("2023-05-01", utc=True)
    assert parse_slicing("1y", over(years[0], may, *years, may)).notes() == [
        "the last slice is partial: 151 days of 1y, from 2023-01-01T00:00:00Z on"
    ]
    assert (
        "3.4 years of 10y" in parse_slicing("10y", over(years[1], may, *years[1:], may)).notes()[0]
    )
    late = may + HOUR
    assert format_time(over(years[0], late, *years, late).until) == "2023-05-02T00:00:00Z"


@pytest.mark.parametrize(
    ("days", "usual"),
    [(1, "1h"), (5, "6h"), (30, "1d"), (86, "7d"), (365, "7d"), (730, "1mo"), (3653, "1y"),
     (67 * 365.25, "1y"), (400 * 365.25, "10y")],
)  # fmt: skip
def test_the_usual_length_makes_some_tens_of_slices(days: float, usual: str) -> None:
    stream = over(START, START + round(days * DAY) - 1)
    assert usual_slicing(stream) == usual
    assert 10 <= len(parse_slicing(usual, stream)) <= 70


@given(st.integers(1, 200_000))
def test_whatever_is_usual_can_cut_the_stream(hours: int) -> None:
    stream = over(START, START + hours * HOUR, end=START + hours * HOUR + 1)
    slices = parse_slicing(usual_slicing(stream), stream)
    assert 1 <= len(slices) <= 150
    assert slices.bounds[-1] == stream.until


def test_the_whole() -> None:
    assert days(parse_slicing("all", over(START + 5, START + 3 * DAY + 5))) == [0, 4]


def test_equal_numbers_of_relevant_documents() -> None:
    times = [START + day * DAY for day in (0, 0, 1, 1, 1, 3, 4)]
    slices = parse_slicing("equal:2", over(START, START + 4 * DAY, *times))
    # Two on day 0; three on day 1, in the same second; two are left.
    assert slices.bounds.tolist() == [START, START + 1, START + DAY + 1, START + 5 * DAY]
    counts = np.bincount(slices.slice_index(np.array(times)))
    assert counts.tolist() == [2, 3, 2]


def test_what_is_left_after_equal_numbers_belongs_to_the_last_slice() -> None:
    times = [START + day * DAY for day in range(5)]
    slices = parse_slicing("equal:2", over(START, START + 4 * DAY, *times))
    assert np.bincount(slices.slice_index(np.array(times))).tolist() == [2, 3]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.integers(1, 40))
def test_no_slice_has_fewer_than_asked_for(offsets: list[int], number: int) -> None:
    times = np.sort(np.array(offsets)) + START
    if number > len(times):
        with pytest.raises(CitebedError, match="longer than the range"):
            parse_slicing(f"equal:{number}", over(START, START + 50, *times))
        return
    slices = parse_slicing(f"equal:{number}", over(START, START + 50, *times))
    assert np.bincount(slices.slice_index(times), minlength=len(slices)).min() >= number


def test_random_visits_are_drawn_by_seed() -> None:
    whole = over(START, START + 10 * DAY)
    one, same = (parse_slicing("random:30", whole, seed=1) for _ in range(2))
    assert one.bounds.tolist() == same.bounds.tolist()
    assert one.bounds.tolist() != parse_slicing("random:30", whole, seed=2).bounds.tolist()
    assert len(one) == 30
    assert (one.bounds[0], one.bounds[-1]) == (START, START + 11 * DAY)


# --- bursts ---------------------------------------------------------------------------------


def cheapest_path(times: list[int], start: int, end: int) -> tuple[bool, ...]:
    """Every path of the automaton by brute force; Kleinberg's costs."""
    import itertools
    import math

    n = len(times)
    rates = (n / (end - start), 2 * n / (end - start))
    gaps = [b - a for a, b in itertools.pairwise([start, *times])]

    def cost(path: tuple[bool, ...]) -> float:
        total = 0.0
        for before, now, gap in zip((False, *path), path, gaps, strict=False):
            total += math.log(n) * (now and not before)
            total += -math.log(rates[now]) + rates[now] * gap
        return total

    return min(itertools.product((False, True), repeat=n), key=lambda path: round(cost(path), 9))


@given(st.lists(st.integers(1, 999), min_size=1, max_size=9))
def test_bursts_are_those_of_the_cheapest_path(offsets: list[int]) -> None:
    times = sorted(offsets)
    found = tuple(bursting(np.array(times), 0, 1000).tolist())
    best = cheapest_path(times, 0, 1000)
    assert path_cost(found, times) == pytest.approx(path_cost(best, times), abs=1e-6)


def path_cost(path: tuple[bool, ...], times: list[int]) -> float:
    import math

    n, total, state, before = len(times), 0.0, False, 0
    for busy, time in zip(path, times, strict=True):
        rate = (2 if busy else 1) * n / 1000
        total += math.log(n) * (busy and not state) - math.log(rate) + rate * (time - before)
        state, before = busy, time
    return total


def test_slices_are_finer_in_a_burst() -> None:
    quiet = [START + day * DAY for day in range(0, 70, 5)]
    busy = [START + 30 * DAY + hour * HOUR for hour in range(36)]
    slices = parse_slicing("burst:10d/2d", over(START, START + 69 * DAY, *sorted(quiet + busy)))
    assert days(slices) == [0, 10, 20, 30, 32, 40, 50, 60, 70]


def test_a_steady_stream_has_no_burst() -> None:
    steady = [START + day * DAY for day in range(70)]
    assert days(parse_slicing("burst", over(START, START + 69 * DAY, *steady))) == [
        0, 7, 14, 21, 28, 35, 42, 49, 56, 63, 70,
    ]  # fmt: skip


# --- boundaries from a file -----------------------------------------------------------------


def test_boundaries_from_a_file_in_mixed_zones(tmp_path: Path) -> None:
    path = tmp_path / "bounds"
    path.write_text("# visits\n1317945600\n\n2011-10-08T02:00:00+02:00\n2011-10-10T00:00:00Z\n")
    assert days(parse_slicing(str(path), over(START, START))) == [0, 1, 3]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("2011-10-08T00:00Z\n2011-10-07T00:00Z\n", 2, "not later than the one before"),
        ("1317945600\n1317945600\n", 2, "not later than the one before"),
        ("1317945600\nsoon\n", 2, "neither an epoch second nor ISO 8601"),
        ("2011-10-07T00:00\n2011-10-08T00:00Z\n", 1, "no time zone"),
        ("1317945600\n", None, "found 1 boundary"),
        ("1317945600\n# \xe9\n1317945601\n", 2, "byte 0xe9 is not UTF-8"),
    ],
)
def test_bad_boundaries(tmp_path: Path, text: str, line: int | None, message: str) -> None:
    path = tmp_path / "bounds"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(FormatError, match=message) as caught:
        parse_slicing(str(path), over(START, START))
    assert caught.value.line == line


def test_times_without_a_zone_can_be_declared_utc(tmp_path: Path) -> None:
    path = tmp_path / "bounds"
    path.write_text("2011-10-07T00:00\n2011-10-08\n")
    assert days(parse_slicing(str(path), over(START, START), utc=True)) == [0, 1]


# --- what cannot be -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("30d", "longer than the 10 days from 2011-10-07"),
        ("1mo", "longer than the 10 days"),
        ("burst:14d/7d", "longer than the 10 days"),
        ("burst:7d/2d", "not a multiple"),
        ("burst:7d", "expected two lengths"),
        ("burst:1mo/1d", "in days or hours"),
        ("burst:1y/1d", "in days or hours"),
        ("1y", "longer than the 10 days"),
        ("0d", "cannot read the length"),
        ("weekly", "cannot read the slicing 'weekly'"),
        ("equal:many", "expected a whole number"),
        ("equal:" + "9" * 5000, "expected a whole number"),
        ("random:" + "9" * 18, "expected from 1 visit"),
        ("9" * 5000 + "d", "cannot read the length"),
        ("999999999mo", "longer than"),
        ("999999999w", "longer than"),
        ("burst:" + "9" * 5000 + "d/1d", "cannot read the length"),
        ("equal:0", "at least one relevant document"),
        ("random:0", "expected from 1 visit"),
    ],
)
def test_bad_slicings(text: str, message: str) -> None:
    with pytest.raises(CitebedError, match=message):
        parse_slicing(text, over(START, START + 9 * DAY, START))


def test_a_range_that_ends_before_it_starts() -> None:
    with pytest.raises(CitebedError, match=r"ends .* no later than it starts"):
        over(START, START, start=START + 2 * DAY)


def test_a_time_far_off_does_not_make_millions_of_slices() -> None:
    with pytest.raises(CitebedError, match="Is the time of a judged document wrong"):
        parse_slicing("1h", over(-(10**11), START))
