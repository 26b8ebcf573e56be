"""Whether a machine judge can be trusted: sentences, tables, one figure and a page."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from citebed.evaluation.scoring.judge_quality import Bias, JudgeQuality
from citebed.report.tables import Cell, Column, Table, build_table, interval, p_text, text_table
from citebed.wording import count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEW = 100
"""Fewer papers that both judged are too few for a verdict."""
_KAPPA = ((0.8, "almost perfect"), (0.6, "substantial"), (0.4, "moderate"), (0.2, "fair"))
"""The words of Landis & Koch (1977)."""
_FAVOURED = {
    "position": ("papers that the runs rank high", "papers that the runs rank low"),
    "length": ("papers with long abstracts", "papers with short abstracts"),
    "year": ("recent papers", "old papers"),
    "fame": ("often cited papers", "rarely cited papers"),
}
_HEADINGS = {"trust": "Can it be trusted?", "do": "What to do", "grades": "Grade by grade",
             "biases": "Biases", "figures": "All figures"}  # fmt: skip


def _points(value: float) -> str:
    return f"{100 * value:+.0f}" if round(100 * value) else "0"


def _cell(value: float | None, low: float | None, high: float | None, how: str = ".1f") -> Cell:
    value, low, high = (math.nan if each is None else each for each in (value, low, high))
    return interval(value, low, high, how)


def _limits(of: Any) -> str:
    if of.low is None or math.isnan(of.low):
        return "no interval"
    return f"95 % interval {of.low:.2f} to {of.high:.2f}"


def favoured_papers(bias: Bias) -> str:
    """Return the papers that a judge favours, by the sign of a bias."""
    system = bias.name.removeprefix("system ")
    high, low = (f"papers with a {each} {bias.name}" for each in ("high", "low"))
    if system != bias.name:
        high, low = (f"papers that {system} ranks {each}" for each in ("high", "low"))
    high, low = _FAVOURED.get(bias.name, (high, low))
    return high if bias.value > 0 else low


def judge_verdict(quality: JudgeQuality) -> list[str]:
    """Return what the figures mean, in sentences."""
    raw, kappa, _ = quality.agreement
    pairs = quality.strictness.items
    lines = [f"People and the judge both judged {count(pairs, 'paper')} and agreed on "
             f"{100 * (raw.value or 0):.0f} %."]  # fmt: skip
    if kappa.value is None:
        lines.append("Cohen's kappa is undefined, because all judgements are equal.")
    else:
        word = next((word for least, word in _KAPPA if kappa.value > least), "hardly any")
        lines.append(f"Beyond chance that is {word} agreement (kappa {kappa.value:.2f}, "
                     f"{_limits(kappa)}).")  # fmt: skip
    strict = quality.strictness
    size, low, high = (_points(each or 0.0) for each in (strict.value, strict.low, strict.high))
    if (strict.low or 0) > 0 or (strict.high or 0) < 0:
        word = "laxer" if (strict.value or 0) > 0 else "stricter"
        lines.append(f"It is {word} than people: the share of papers that it accepts differs by "
                     f"{size} percentage points ({low} to {high}).")  # fmt: skip
    else:
        lines.append(f"It is neither clearly laxer nor clearly stricter than people ({size} "
                     f"percentage points, {low} to {high}).")  # fmt: skip
    tested = [bias for bias in quality.biases if not math.isnan(bias.value)]
    found = [bias for bias in tested if bias.p < 0.05]
    lines += [
        f"With the same human grade, it accepts {favoured_papers(bias)} more often (p = "
        f"{p_text(bias.p)})."
        for bias in found
    ]
    if others := [bias.name for bias in tested if bias not in found]:
        lines.append(f"citebed found no bias for {', '.join(others)}.")
    if (systems := quality.systems) is not None:
        name = systems.measure.removeprefix("tau of ")
        lines.append(f"The rank correlation of {name} under its judgements and under people's is "
                     f"{systems.value or 0:.2f} ({_limits(systems)}); 1 means equal.")  # fmt: skip
    return lines


def judge_advice(quality: JudgeQuality) -> list[str]:
    """Return what to do with such a judge."""
    lines, kappa = [], quality.agreement[1].value
    if quality.strictness.items < FEW:
        lines.append(f"Let people judge more papers: {count(quality.strictness.items, 'paper')} "
                     f"are too few for a verdict ({FEW} are a start). 'citebed campaign next' "
                     "chooses them.")  # fmt: skip
    if kappa is not None and kappa <= 0.2:
        lines.append("Try another model or another prompt: this judge saves hardly any work.")
    if names := [bias.name.removeprefix("system ") for bias in quality.biases
                 if bias.is_flagged and bias.name.startswith("system ")]:  # fmt: skip
        lines.append(f"Do not compare {', '.join(names)} with other systems by this judge's "
                     "judgements alone.")  # fmt: skip
    return [*lines, "Score runs with 'citebed evaluate HUMAN.qrels RUN… --machine MACHINE.qrels'. "
            "The corrected scores are right on average even if the judge is bad; its errors make "
            "the intervals wide."]  # fmt: skip


def _pairs(quality: JudgeQuality) -> tuple[list[int], dict[int, list[int]]]:
    """Return all grades, and for each of people's how many papers have each of the judge's."""
    cells = {(human, machine): number for human, machine, number in quality.grades.iter_rows()}
    levels = sorted({grade for pair in cells for grade in pair})
    rows = {human: [cells.get((human, machine), 0) for machine in levels] for human in levels}
    return levels, {human: numbers for human, numbers in rows.items() if any(numbers)}


def judge_tables(quality: JudgeQuality) -> dict[str, Table]:
    """Return the tables by section: pairs of grades, biases, and all figures."""
    levels, rows = _pairs(quality)
    graded = [
        [f"people: {human}", *map(str, numbers),
         f"{100 * numbers[levels.index(human)] / sum(numbers):.0f} %"]
        for human, numbers in rows.items()
    ]  # fmt: skip
    named = (
        Column("favours", favoured_papers, left=True),
        Column("percentage points", lambda of: _cell(100 * of.value, 100 * of.low, 100 * of.high)),
        Column("p", "p", p_text),
    )
    measured = (
        Column("figure", "measure", left=True),
        Column("value", lambda of: _cell(of["value"], of["low"], of["high"], ".3f")),
        Column("items", "items", ",.0f"),
    )
    known = [bias for bias in quality.biases if not math.isnan(bias.value)]
    heads = ["relevance", *(f"judge: {machine}" for machine in levels), "same"]
    more = "How much more often the judge accepts a paper, per standard deviation"
    return {
        "grades": text_table(heads, graded, caption="Papers by people's and the judge's relevance"),
        "biases": build_table(named, known, more),
        "figures": build_table(measured, quality.table.to_dicts(), "Agreement with people"),
    }


def _figure(quality: JudgeQuality) -> Figure:
    from matplotlib.colors import to_rgb
    from matplotlib.figure import Figure

    from citebed.report.figure_style import INK, LIGHT, MARK, RULE, lines_of

    biases = [bias for bias in quality.biases if not math.isnan(bias.value)]
    levels, rows = _pairs(quality)
    heights = [1.2 + 0.3 * len(rows), 0.7 + 0.34 * len(biases)][: 1 + bool(biases)]
    figure = Figure(figsize=(4.6, sum(heights)), layout="constrained")
    shares, *others = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    ends = dict.fromkeys(rows, 0.0)
    for at, machine in enumerate(levels):
        weight = at / max(1, len(levels) - 1)  # from white to the darkest
        widths = [100 * numbers[at] / sum(numbers) for numbers in rows.values()]
        shares.barh(
            range(len(rows)), widths, 0.62, list(ends.values()), edgecolor=INK, linewidth=0.6,
            label=str(machine), color=[1 - weight * (1 - part) for part in to_rgb(MARK)],
        )  # fmt: skip
        ends = {
            human: end + width for (human, end), width in zip(ends.items(), widths, strict=True)
        }
    shares.set_yticks(range(len(rows)), [f"people: {human}" for human in rows])
    shares.set(xlim=(0, 100), title="The judge's relevance, by people's", xlabel="% of papers")
    shares.legend(
        title="the judge's", frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.4),
        ncols=len(levels),
    )  # fmt: skip
    for axes in others:
        for place, bias in enumerate(biases):
            axes.plot([100 * bias.low, 100 * bias.high], [place] * 2, color=INK, linewidth=1.1)
            fill = MARK if bias.p < 0.05 else LIGHT
            axes.plot(100 * bias.value, place, "o", markersize=5, color=MARK, markerfacecolor=fill)
        axes.axvline(0, color=RULE, linewidth=0.8, linestyle=":")
        axes.set_yticks(range(len(biases)), [lines_of(bias.name, 24) for bias in biases])
        axes.set(ylim=(len(biases) - 0.4, -0.6), title="Biases (dark: significant)",
                 xlabel="percentage points per standard deviation")  # fmt: skip
    for axes in (shares, *others):
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
    return figure


def judge_page(quality: JudgeQuality, judge: str, command: str) -> str:
    """Return the page about a judge as self-contained HTML."""
    from citebed.report.figure_style import svg
    from citebed.report.page import make_page_figure, render

    tables = judge_tables(quality)
    wanted = {name: head for name, head in _HEADINGS.items() if name != "biases" or quality.biases}
    drawn = svg(lambda: _figure(quality))
    alt_text = "Shares of the judge's relevance for each of people's, and biases with intervals"
    name = "The judge's relevance and biases"
    picture = make_page_figure(drawn, "judge", alt_text, name, "judge")
    return render(
        "judge.html.j2", wanted, ("tables.js",), title=f"The judge {judge}", command=command,
        libraries=("numpy", "polars", "scipy"), tables=tables, picture=picture,
        verdict=judge_verdict(quality), advice=judge_advice(quality),
    )  # fmt: skip


def assessment_rows(quality: JudgeQuality) -> Iterator[dict[str, Any]]:
    """Yield all figures and biases as flat rows."""
    for row in quality.table.drop("judges", "note").to_dicts():
        yield row | {"p": None}
    for bias in quality.biases:
        row = {name: getattr(bias, name) for name in ("value", "low", "high", "p")}
        yield {"measure": f"bias {bias.name}", **row, "items": quality.strictness.items}
