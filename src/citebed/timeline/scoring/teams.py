"""The best run of each team, as in the tables of Dietz, Dalton & Balog (2013)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from citebed.errors import CitebedError
from citebed.evaluation.contrasts.pool import read_teams, teams_of
from citebed.timeline.scoring.stream_scores import StreamScores
from citebed.timeline.streams.stream_runs import StreamRun
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
    runs: Sequence[StreamRun],
    teams: bool | str | Path | Mapping[str, str],
    score: Callable[[StreamRun], StreamScores],
) -> tuple[list[StreamRun], Chosen]:
    """Each team's best run, best first, and how it was chosen; of equal ones the first given.

    ``score`` scores a run as one batch, under the measure that decides.
    """
    named = with_teams(runs, teams)
    batch = [score(run) for run in named]
    measure = batch[0].measures[0]
    means = [scores.mean(measure, "uniform") for scores in batch]
    best: dict[str, int] = {}
    for at in sorted(range(len(named)), key=lambda at: -means[at]):
        best.setdefault(named[at].team, at)
    zero = tuple(team for team, at in best.items() if not means[at])
    kept = [named[at] for team, at in best.items() if team not in zero]
    if not kept:
        raise CitebedError(f"the best run of every team scores 0 {measure}: nothing is left.")
    return kept, Chosen(str(measure), len(runs), len(best), zero)


def with_teams(
    runs: Sequence[StreamRun], teams: bool | str | Path | Mapping[str, str]
) -> list[StreamRun]:
    """Runs with their teams: as they say themselves, or by name from a mapping or a file."""
    if isinstance(teams, bool):
        silent = next((run.name for run in runs if not run.team), None)
        if silent is not None:
            raise CitebedError(
                f"the run '{silent}' does not say whose it is; KBA's filter runs do, in their "
                "first field. Give lines 'run team' in a file (--teams-file)."
            )
        return list(runs)
    known = teams if isinstance(teams, Mapping) else read_teams(teams)
    of_run = teams_of([run.name for run in runs], known)
    return [replace(run, team=of_run[run.name]) for run in runs]
