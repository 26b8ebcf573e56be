"""Evaluate, compare, contrast and report runs of a collection for the workbench.

These functions call the same code as the commands ``evaluate``, ``compare``, ``report``,
``contrast`` and ``timeline``, with the options of an `EvaluationRequest`.
"""

from __future__ import annotations

import re
import shlex
import threading
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citebed.collection import Collection
from citebed.errors import CitebedError
from citebed.evaluation.contrasts.contrast import Contrast, contrast
from citebed.evaluation.measures.names import measure
from citebed.evaluation.options import (
    CONTRASTED,
    DEFAULT_MEASURES,
    ContrastOptions,
    Design,
    Plan,
    Resampling,
    Settings,
)
from citebed.evaluation.scoring.comparison import Comparison, Comparisons, compare
from citebed.evaluation.scoring.evaluation import Evaluation, evaluate
from citebed.evaluation.scoring.study import study
from citebed.experiments.run_files import count_renamed_documents, format_renamed_note
from citebed.runs.reader import find_run_name
from citebed.timeline.timelines import Timeline, timeline
from citebed.wording import count

if TYPE_CHECKING:
    from citebed.report.tables import Table

Back = tuple[str, str]
"""The URL and the text of a page's link back."""
_SLICING = re.compile(r"\d{1,4}(?:h|d|w|mo|y)|all|burst|(?:equal|random):\d{1,5}", re.ASCII)
_COMPLETE = "“count missing queries as 0”"
_DRAWING = threading.Lock()
"""A lock for drawing figures: matplotlib's style is global to all threads."""


@dataclass(frozen=True, kw_only=True)
class EvaluationRequest:
    """Runs and judgements of a collection with the options of an evaluation.

    Without a baseline, all pairs of runs are compared. With ``cluster``, intervals and tests
    resample whole papers. ``slices`` is a length or a number, never a file.
    """

    collection: Collection = field(compare=False)
    qrels: Path
    runs: tuple[Path, ...]
    measures: tuple[str, ...] = ()
    baseline: str | None = None
    test: str = "t"
    correction: str = "none"
    cluster: bool = False
    complete: bool = False
    other: Path | None = None
    slices: str | None = None
    weights: tuple[str, ...] = ("uniform",)

    def __post_init__(self) -> None:
        if not self.runs:
            raise CitebedError("choose at least one run.")
        if self.slices is not None and not _SLICING.fullmatch(self.slices):
            raise CitebedError(
                f"'{self.slices}' is not a valid slicing. Use a form such as 12h, 1d, 7d, 1mo, 1y, "
                "all, equal:20, random:30 or burst."
            )

    @property
    def files(self) -> tuple[Path, ...]:
        """All files that the evaluation reads."""
        more = (self.other,) if self.other is not None else ()
        return (self.qrels, *more, *self.runs)

    @cached_property
    def design(self) -> Design:
        """The design of the comparison."""
        named = None if not self.baseline else find_run_name(self.baseline, self.runs)
        return Design(baseline=named, test=self.test, correction=self.correction)

    @cached_property
    def resampling(self) -> Resampling:
        """The groups that intervals and tests resample."""
        return Resampling(cluster="paper" if self.cluster else None).with_clusters(self.qrels)

    @property
    def settings(self) -> Settings:
        """The settings of scoring."""
        return Settings(complete=self.complete)


# --- rows and tables ----------------------------------------------------------------------------


def run_evaluation(choice: EvaluationRequest) -> Evaluation:
    """Score the runs like ``citebed evaluate``."""
    measures = choice.measures or DEFAULT_MEASURES
    return evaluate(choice.qrels, list(choice.runs), measures, choice.settings)


def run_comparison(choice: EvaluationRequest, evaluation: Evaluation) -> Comparisons[Comparison]:
    """Compare the runs like ``citebed compare``."""
    return compare(evaluation, choice.design, choice.resampling)


def run_contrast(choice: EvaluationRequest) -> Contrast:
    """Compare two judgement sets like ``citebed contrast``."""
    if choice.other is None:
        raise CitebedError("choose a second judgement set to contrast with.")
    options = ContrastOptions(
        settings=choice.settings,
        design=Design(test=choice.test, correction=choice.correction),
        resampling=Resampling(cluster="paper" if choice.cluster else None),
    )
    measures = choice.measures or CONTRASTED
    return contrast(choice.qrels, choice.other, list(choice.runs), measures, options)


def run_timeline(choice: EvaluationRequest) -> Timeline:
    """Score the runs by slice like ``citebed timeline --times COLLECTION``."""
    return timeline(
        choice.qrels, list(choice.runs), slices=choice.slices, weight=choice.weights,
        measures=choice.measures, times=choice.collection,
    )  # fmt: skip


def split_measures(names: tuple[str, ...]) -> tuple[tuple[str, ...], list[dict[str, str]]]:
    """Split names into valid measures and refused ones with the reason."""
    good: list[str] = []
    refused: list[dict[str, str]] = []
    for name in names:
        try:
            measure(name)
            good.append(name)
        except CitebedError as error:
            refused.append({"measure": name, "why": str(error)})
    return tuple(good), refused


_FIRST_ON_PAGE = ("measure", "base", "run", "difference", "p", "p adjusted", "w/t/l", "d")


def _for_page(table: Table, run_comparison: Comparisons[Comparison]) -> Table:
    """Reorder columns by importance; drop the adjusted p if it always equals p."""
    alone = all(each.p == each.p_adjusted for each in run_comparison)
    order = [at for at, of in enumerate(table.columns) if not (alone and of.head == "p adjusted")]
    heads = [column.head for column in table.columns]
    place = {head: at for at, head in enumerate(_FIRST_ON_PAGE)}
    order.sort(key=lambda at: place.get(heads[at], len(place)))
    rows = [[row[at] for at in order] for row in table.rows]
    return replace(table, columns=[table.columns[at] for at in order], rows=rows)


def build_notes(choice: EvaluationRequest, evaluation: Evaluation) -> list[str]:
    """Return the notes on an evaluation, in the wording of the page."""
    notes = [note.replace("--complete", _COMPLETE) for note in evaluation.notes()]
    renamed = count_renamed_documents(choice.collection, choice.runs)
    return [*(f"{name}: {format_renamed_note(number)}" for name, number in renamed.items()), *notes]


def build_score_tables(asked: EvaluationRequest) -> dict[str, Any]:
    """Return scores and comparisons as tables for a page, as rows like the commands', and notes.

    Unknown measures are ``refused`` with the reason; the others are scored.
    """
    from citebed.report.evaluation_tables import comparison_notes, comparison_table, scores_table

    measures, refused = split_measures(asked.measures)
    choice = replace(asked, measures=measures)
    evaluation = run_evaluation(choice)
    drawn = choice.resampling
    scores = scores_table(evaluation, evaluation.summaries(drawn))
    rows = [  # with a note on runs that lack judged queries
        [row[0], row[1]._replace(small=f"{run.ledger.missing:,} missing"), *row[2:]]
        if run.ledger.missing else row
        for row, run in zip(scores.rows, evaluation.runs, strict=True)
    ]  # fmt: skip
    tables, notes = [replace(scores, rows=rows)], []
    comparisons: Comparisons[Comparison] | tuple[()] = ()
    several = any(m.SUMMARY != "sum" for m in evaluation.measures)
    if len(choice.runs) > 1 and several:
        comparisons = run_comparison(choice, evaluation)
        tables.append(_for_page(comparison_table(comparisons, choice.design), comparisons))
        notes = comparison_notes(comparisons, choice.design.alpha)
    return {
        "tables": [table.plain() for table in tables],
        "rows": evaluation.rows(drawn),
        "comparisons": [each.row() for each in comparisons],
        "notes": [*notes, *build_notes(choice, evaluation)],
        "refused": refused,
    }


# --- pages --------------------------------------------------------------------------------------


def report_page(choice: EvaluationRequest, back: Back) -> str:
    """Return the page that ``citebed report`` writes."""
    from citebed.report.evaluation_page import Front, evaluation_page, texts_beside, titles_around

    baseline = choice.baseline or None
    if baseline is None and choice.correction != "tukey":
        baseline = str(choice.runs[0])
    named = None if baseline is None else find_run_name(baseline, choice.runs)
    plan = Plan(
        measures=choice.measures or DEFAULT_MEASURES,
        settings=choice.settings,
        design=Design(baseline=named, test=choice.test, correction=choice.correction),
        resampling=choice.resampling,
    )
    texts = texts_beside(choice.qrels)
    titles = titles_around(choice.qrels, choice.collection.folder)
    made = study(choice.qrels, list(choice.runs), plan)
    front = Front(
        title=f"{made.qrels.name}: {count(len(choice.runs), 'run')}",
        command=format_command("report", choice), texts=texts, titles=titles, back=back,
    )  # fmt: skip
    with _DRAWING:
        return evaluation_page(made, front)


def contrast_page(choice: EvaluationRequest, back: Back) -> str:
    """Return the page that ``citebed contrast --report`` writes."""
    from citebed.report import contrast_page as page

    found = run_contrast(choice)
    with _DRAWING:
        return page.contrast_page(found, format_command("contrast", choice), back=back)


def timeline_page(choice: EvaluationRequest, back: Back) -> str:
    """Return the page that ``citebed timeline --report`` writes."""
    from citebed.report.timeline_figures import timeline_pictures
    from citebed.report.timeline_page import Extras
    from citebed.report.timeline_page import timeline_page as page

    found = run_timeline(choice)
    both = tuple(dict.fromkeys(("uniform", "burst", *found.weights)))
    title = f"{found.pairs.qrels.name}: {count(len(found.runs), 'run')} over time"
    with _DRAWING:
        drawn = timeline_pictures(found.runs, both, found.focus, [], "time")
        return page(found, drawn, Extras(back=back), title, format_command("timeline", choice))


def format_command(verb: str, choice: EvaluationRequest) -> str:
    """Return the equivalent command, to be run where the server was started."""
    words = ["citebed", verb, str(choice.qrels)]
    words += [str(choice.other)] if choice.other is not None else []
    words += [str(path) for path in choice.runs]
    options: dict[str, str | None] = {
        "--baseline": choice.baseline if verb != "contrast" else None,
        "--test": choice.test if choice.test != "t" else None,
        "--correct": choice.correction if choice.correction != "none" else None,
        "--cluster": "paper" if choice.cluster else None,
    }
    if verb == "timeline":
        options = {"--times": str(choice.collection.folder), "--slice": choice.slices}
        words += [word for weight in choice.weights for word in ("-w", weight)]
    words += [word for measure in choice.measures for word in ("-m", measure)]
    words += [word for name, value in options.items() if value for word in (name, value)]
    return shlex.join([*words, *(["--complete"] if choice.complete else [])])
