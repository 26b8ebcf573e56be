"""The robustness of measures as tables, and in plain words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from citebed.report.tables import Column, Table, number, text_table
from citebed.timeline.robustness import Robustness, Simulation
from citebed.timeline.robustness.study import NEAR
from citebed.wording import count


def _plain(value: float) -> str:
    """To three places; what rounds to nothing has no sign."""
    text = number(value, ".3f")
    return text.removeprefix("-") if text.strip("-0.") == "" else text


MEASURES = (
    Column("measure", "measure", left=True),
    Column("r with θ", "correlation", _plain),
    Column("from 1 − θ", "distance", _plain),
    Column("largest move", "largest_move", _plain),
    Column("at θ", "theta", "g"),
    Column("mean move", "mean_move", _plain),
    Column("with D", "move_with_D", _plain),
    Column("with R", "move_with_R", _plain),
    Column("fall", "fall", _plain),
    Column("of fall", "share", ".0%"),
)
"""Measures down: correlation with θ, distance from 1 − θ, and the moves with D and R."""


def means_table(simulation: Simulation) -> Table:
    """Measures and sizes down, levels across: the means."""
    head = ["measure", "D", "R", *(f"θ={level:g}" for level in simulation.options.levels)]
    rows = [
        [str(measure), str(setting.D), str(setting.R), *map(_plain, means)]
        for measure, of_measure in zip(simulation.measures, simulation.mean, strict=True)
        for setting, means in zip(simulation.options.settings, of_measure, strict=True)
    ]
    return text_table(head, rows)


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


_PAPER = (
    "The paper (Dietz, Dalton & Balog 2013, section 4.4) asks whether a measure follows the level "
    "of disorder: it finds that AP and R-precision do as they are, nDCG once it is cut off at R, "
    "and AUC once it is rescaled to [-1, 1]."
)
_PAPERS = {"AP", "Rprec", "nDCG", "nDCG@R", "AUC", "AUC:rescaled"}
_MOVES = {
    "moves little": "at most 10%",
    "moves somewhat": "at most 33%",
    "moves much": "more",
    "does not fall": "no fall at all",
}


def verdict_lines(verdicts: Sequence[Robustness]) -> list[str]:
    """What was found under each of two questions, the paper's and ours, which are not the same."""
    lines = [_PAPER] if any(of.measure in _PAPERS for of in verdicts) else []
    lines.append(f"Measured here as the mean distance from 1 − θ: {_distances(verdicts)}.")
    lines += [
        f"Rescaled to [-1, 1], as {of.measure}:rescaled, {of.measure} lies "
        f"{of.rescaled_distance:.2f} from 1 − θ, not {of.distance:.2f}."
        for of in verdicts
        if of.rescaled_distance < of.distance / 2  # it stands for the disorder twice as well
    ]
    if any(of.verdict == "one level" for of in verdicts):
        return [*lines, "Take two levels or more (--theta) to see how far size moves a measure."]
    lines.append(
        "Another question, ours: how far does the size of a slice move a measure at the same "
        "disorder? The mean move, as a part of the fall from order to disorder: "
        f"{_moves(verdicts)}."
    )
    both = [of.measure for of in verdicts if of.follows and of.verdict == "moves much"]
    if both:
        one = len(both) == 1
        lines.append(
            f"{', '.join(both)} {'follows' if one else 'follow'} the disorder, as the first "
            f"question has it, and yet {'gives' if one else 'give'} slices of different size "
            "different scores, as the second has it."
        )
    return lines


def _distances(verdicts: Sequence[Robustness]) -> str:
    """``AP 0.17 (within 0.25); nDCG 0.32 (farther)``, the nearest first."""
    nearest = sorted(verdicts, key=lambda of: of.distance)
    parts = [
        (", ".join(f"{of.measure} {of.distance:.2f}" for of in nearest if of.follows == near), how)
        for near, how in ((True, f"within {NEAR:g}"), (False, "farther"))
    ]
    return "; ".join(f"{names} ({how})" for names, how in parts if names)


def _moves(verdicts: Sequence[Robustness]) -> str:
    """``at most 10%: AUC 4%; more: AP 51%``."""
    parts = []
    for verdict, words in _MOVES.items():
        of_it = [of for of in verdicts if of.verdict == verdict]
        shares = (f"{of.measure} {of.share:.0%}".removesuffix(" nan%") for of in of_it)
        if of_it:
            parts.append(f"{words}: {', '.join(shares)}")
    return "; ".join(parts)


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
