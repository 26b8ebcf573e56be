"""Machine judges: ``campaign judge``, ``judges``, ``assess`` and ``next``."""

from __future__ import annotations

from dataclasses import dataclass
from os.path import realpath
from pathlib import Path
from typing import Annotated

import typer

from citebed.cli.campaign.options import Folder, open_folder
from citebed.cli.campaign.results import print_or_say
from citebed.cli.judgements import print_assessment
from citebed.cli.options import Measures, ReportOptions, RowOptions, typed
from citebed.cli.output import check_page, print_notes, say
from citebed.judging.judge_sources import JudgeOptions
from citebed.options import option
from citebed.wording import count, printable

JudgeName = Annotated[str, typer.Argument(help="Name of a machine judge.", metavar="JUDGE")]
Runs = Annotated[list[Path] | None, typer.Option("--runs", help="Run (repeatable).")]


@dataclass(frozen=True, kw_only=True)
class JudgeCommand(ReportOptions):
    """How to run a judge."""

    dry_run: bool = option(False, "Only show the first question and the number of calls.")


def judge(
    folder: Folder,
    source: Annotated[
        str,
        typer.Option(
            "--with", metavar="JUDGE",
            help="A program, a qrels file, 'openai' (a model's server) or 'recommend'.",
        ),
    ],
    options: JudgeOptions,
    output: JudgeCommand,
) -> int:  # fmt: skip
    """Let a machine judge papers. Its judgements stay apart from people's.

    A program reads and writes JSON Lines: first the grades, then a question and a paper per line;
    it answers {"id": 1, "grade": 2, "reason": "…"}, and null means can't say. --with openai sends
    a prompt per paper to a model behind an OpenAI-compatible address, by default on this machine; a
    key comes from CITEBED_JUDGE_KEY. Every response is stored at once, and the next run continues.
    citebed lists a response that it cannot read, and never guesses; the exit code is then 1.

    Example: citebed campaign judge cr26 --with ./judge
    """
    opened = open_folder(folder)
    plan = opened.plan_judging(source, options)
    if plan.source.is_remote:
        say(f"note: questions and papers go to {printable(options.address)}, not to this machine")
    if output.dry_run:
        typer.echo(plan.source.show(plan.tasks[0]) if plan.tasks else "nothing to ask")
        say(f"{count(len(plan.tasks), 'call')}; {plan.judged} judged already")
        return 0
    with output.progress(unit="papers") as progress:
        report = opened.run_judge(plan, progress)
    output.print([report._asdict()], [report.summary()])
    print_notes(report.notes)
    if report.missing:
        print_notes([f"{count(report.missing, 'paper')} are not in the collection"])
    if report.problems:
        say(f"See the problems with: citebed campaign judges {printable(folder)} --problems")
    return int(bool(report.problems or report.notes))


def judges(
    folder: Folder,
    output: RowOptions,
    problems: bool = option(False, "List the responses that citebed could not read."),
) -> None:
    """List the machine judges: judgements, problems, calls, tokens, seconds.

    Example: citebed campaign judges cr26
    """
    opened = open_folder(folder)
    columns = ("judge", "query_id", "doc_id", "problem", "at")
    table = opened.machine_judgements(problems=True).select(columns) if problems else opened.judges
    nothing = "no judge has given a response that citebed could not read"
    nothing = nothing if problems else "no machine has judged yet. See 'citebed campaign judge'"
    print_or_say(table, nothing, output.style)


def assess(
    context: typer.Context,
    folder: Folder,
    judge: JudgeName,
    output: RowOptions,
    page: Annotated[Path | None, typer.Option("-o", "--output", help="HTML page.")] = None,
    runs: Runs = None,
    measure: str = option("nDCG@10", "Measure that ranks the runs.", "-m"),
    graded: bool = option(False, "Compare the grades of phase one (default: relevant or not)."),
) -> None:
    """Compare a machine judge with people: agreement, strictness, biases, order of systems.

    Example: citebed campaign assess cr26 smollm2 --runs a.run --runs b.run -o judge.html
    """
    if page is not None:
        check_page(page, {realpath(run) for run in runs or ()})
    quality = open_folder(folder).assess(judge, runs, measure, graded=graded)
    print_assessment(quality, judge, page, output, typed(context))


def next_(
    folder: Folder,
    judge: JudgeName,
    runs: Annotated[list[Path], typer.Option("--runs", help="Run to score (repeatable).")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The plan, a run.")],
    measures: Measures = None,
    budget: int = option(100, "Largest number of new judgements.", min=2),
    done: Path | None = option(None, "A plan that people have judged; the new one continues it."),
    graded: bool = option(False, "Keep the grades of phase one (default: binary)."),
    seed: int = option(0, "Random seed."),
) -> None:
    """Name the papers that people should judge next, to narrow the interval of a score most.

    The plan is a run with probabilities as scores. 'citebed campaign pool --plan' puts its papers
    on the authors' lists; 'citebed evaluate --machine … --plan' uses their judgements.

    Example: citebed campaign next cr26 smollm2 --runs a.run --runs b.run -m nDCG@10 -o plan.run
    """
    from citebed.evaluation.scoring.judgement_plan import PlanOptions
    from citebed.runs.writer import check_not_input, write_run

    check_not_input(output, *runs, *([done] if done else []))
    options = PlanOptions(budget=budget, seed=seed)
    chosen = measures or ("nDCG@10",)
    plan = open_folder(folder).next_judgements(
        judge, runs, chosen, options, done=done, graded=graded
    )
    write_run(output, plan)
    queries = plan.table["query_id"].n_unique()
    typer.echo(f"{printable(output)}: {count(plan.table.height, 'paper')} of "
               f"{count(queries, 'query')}")  # fmt: skip
    say(f"Next: citebed campaign pool {printable(folder)} --plan {printable(output)}")
