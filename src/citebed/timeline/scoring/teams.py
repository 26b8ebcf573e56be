"""The best run of each team, as in the tables of Dietz, Dalton & Balog (2013)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from citebed.errors import CitebedError
from citebed.evaluation.contrasts.pool import read_teams, teams_of
from citebed.timeline.scoring.stream_scores import StreamScores
from citebed.timeline.streams.run_sources import RunSource
from citebed.wording import count


class Chosen(NamedTuple):
    """How runs were chosen: the best of each team ``by`` a measure, of so many ``runs``.

    Teams whose best run is at ``zero`` are left out.
    """

    by: str
    runs: int
    teams: int
    zero: tuple[str, ...]

    def notes(self) -> list[str]:
        """What a reader has to know, in sentences."""
        best = (
            f"the best run of each team by {self.by} as one batch, best first: "
            f"{count(self.teams, 'team')} of {count(self.runs, 'run')}"
        )
        if not self.zero:
            return [best]
        return [best, f"{count(len(self.zero), 'team')} at zero left out: {', '.join(self.zero)}"]


def best_of_teams(
    runs: Sequence[RunSource],
    teams: bool | str | Path | Mapping[str, str],
    score: Callable[[RunSource], StreamScores],
) -> tuple[dict[str, str], Chosen]:
    """Each team's best run with its team, best first, and how it was chosen; of equal ones the
    first given.

    ``score`` scores a run as one batch, under the measure that decides. Teams are as runs say
    themselves, or by name from a mapping or a file.
    """
    of_run: dict[str, str] = {}
    if not isinstance(teams, bool):
        known = teams if isinstance(teams, Mapping) else read_teams(teams)
        of_run = teams_of([run.name for run in runs], known)
    batch = [score(run) for run in runs]
    for scores in batch:
        of_run.setdefault(scores.run, scores.team)
        if not of_run[scores.run]:
            raise CitebedError(
                f"the run '{scores.run}' does not say whose it is; KBA's filter runs do, in their "
                "first field. Give lines 'run team' in a file (--teams-file)."
            )
    measure = batch[0].measures[0]
    means = {scores.run: scores.mean(measure, "uniform") for scores in batch}
    best: dict[str, str] = {}
    for run in sorted(means, key=lambda run: -means[run]):
        best.setdefault(of_run[run], run)
    zero = tuple(team for team, run in best.items() if not means[run])
    chosen = {run: team for team, run in best.items() if team not in zero}
    if not chosen:
        raise CitebedError(f"the best run of every team scores 0 {measure}: nothing is left.")
    return chosen, Chosen(str(measure), len(runs), len(best), zero)
