"""The robustness of measures as tables, and in plain words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from citebed.report.grid import Grid, number
from citebed.timeline.robustness import Robustness, Simulation
from citebed.wording import count

_GROUPS = {
    "comparable": "Comparable across slices of different size (a move of at most 10% of the fall)",
    "roughly comparable": "Roughly comparable (at most 33%)",
    "not comparable": "Not comparable",
    "does not fall": "Does not fall with disorder",
    "one level": "Take two levels or more (--theta) to see whether they are comparable",
}


def robustness_grid(found: Sequence[Robustness]) -> Grid:
    """Measures down: correlation with θ, distance from 1 − θ, and the moves with D and R."""
    head = [
        "measure", "r with θ", "from 1 − θ", "largest move", "at θ", "mean move", "with D",
        "with R", "fall", "of fall",
    ]  # fmt: skip
    rows = [
        [
            of.measure, *map(_number, (of.correlation, of.distance, of.largest_move)),
            f"{of.theta:g}",
            *map(_number, (of.mean_move, of.move_with_D, of.move_with_R, of.fall)),
            _number(of.share, ".0%"),
        ]
        for of in found
    ]  # fmt: skip
    return Grid(head, rows)


def means_grid(simulation: Simulation) -> Grid:
    """Measures and sizes down, levels across: the means."""
    head = ["measure", "D", "R", *(f"θ={level:g}" for level in simulation.options.levels)]
    rows = [
        [str(measure), str(setting.D), str(setting.R), *map(_number, means)]
        for measure, of_measure in zip(simulation.measures, simulation.mean, strict=True)
        for setting, means in zip(simulation.options.settings, of_measure, strict=True)
    ]
    return Grid(head, rows)


def move_sentence(of: Robustness) -> str:
    """How far a measure moves with the size of the slice, in words."""
    start = (
        f"{of.measure} moves by up to {of.largest_move:.2f} with the size of the slice at the same "
        f"disorder (at θ={of.theta:g}), {of.mean_move:.2f} on average"
    )
    if of.verdict == "one level":
        return f"{start}."
    if of.verdict == "does not fall":
        return f"{start}, and does not fall with disorder."
    return f"{start}: {of.share:.0%} of its fall from order to disorder."


def verdict_lines(found: Sequence[Robustness]) -> list[str]:
    """Which measures are comparable, and how well each stands for the disorder itself."""
    lines = []
    for verdict, words in _GROUPS.items():
        names = [of.measure for of in found if of.verdict == verdict]
        if names:
            lines.append(f"{words}: {', '.join(names)}.")
    nearest = sorted(found, key=lambda of: of.distance)
    near = ", ".join(f"{of.measure} {of.distance:.2f}" for of in nearest)
    lines.append(f"Mean distance from 1 − θ, the nearest first: {near}.")
    return lines + [
        f"Rescaled to [-1, 1], as {of.measure}:rescaled, {of.measure} lies "
        f"{of.rescaled_distance:.2f} from 1 − θ, not {of.distance:.2f}."
        for of in found
        if of.rescaled_distance < of.distance / 2  # it stands for the disorder twice as well
    ]


def study_sentence(simulation: Simulation) -> str:
    """What was simulated."""
    options = simulation.options
    sizes = "; ".join(map(str, options.settings))
    return (
        f"{options.rankings:,} rankings of each size ({sizes}) at each of "
        f"{count(len(options.levels), 'level')}, seed {options.seed}. Perturbation "
        f"{options.perturbation}: {options.how.means}. Every mean is known to "
        f"±{_chance(simulation):.2g} or better (95%)."
    )


def _chance(simulation: Simulation) -> float:
    """The widest interval's half, rounded up to three places at most."""
    half = float((simulation.high - simulation.low).max()) / 2
    return math.ceil(half * 1000) / 1000


def _number(value: float, how: str = ".3f") -> str:
    text = number(value, how)
    return text.removeprefix("-") if text.strip("-0.") == "" else text
