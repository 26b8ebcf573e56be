"""Machine judges of a campaign: run one, and read the judgements of all.

They have tables of their own, so they never mix with people's judgements. A judge's name stands for
one version, one prompt and one set of settings. Every response is stored before the next is asked
for; a run that was killed continues where it stopped. Machines grade every document with the grades
of phase one.
"""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl
from sqlalchemy import insert, select

from citebed.collection import Collection
from citebed.collection.progress import SILENT, Progress
from citebed.errors import CitebedError, UnknownName
from citebed.files.input_files import is_existing_file
from citebed.judging.judge_sources import (
    JudgeOptions,
    JudgeSource,
    Response,
    Task,
    model_source,
    program_source,
    qrels_source,
    recommender_source,
)
from citebed.judging.judgements import build_qrels
from citebed.judging.papers import DocumentLookup, make_entry
from citebed.judging.questions import current_wording, live_questions
from citebed.judging.store.campaign_store import NAME, CampaignStore, Transaction
from citebed.judging.store.schema import (
    items,
    machine_judgements,
    machine_judges,
    now,
    questions,
    wordings,
)
from citebed.runs.ranking import in_rank_order
from citebed.runs.reader import as_runs
from citebed.runs.tables import Qrels, Run
from citebed.wording import count, printable

_LONGEST_TEXT = 20_000
_LONGEST_REASON = 2000
_TABLES = (".qrels", ".txt", ".gz", ".parquet")
_LARGEST = (1 << 31) - 1


class JudgingPlan(NamedTuple):
    """What a judge will be asked.

    ``judged`` counts the papers that it has judged, ``missing`` those that are not in the
    collection or that the question comes from. ``wordings`` has the wording of each question.
    """

    source: JudgeSource
    tasks: Sequence[Task]
    wordings: dict[str, int]
    judged: int
    missing: int


class JudgingReport(NamedTuple):
    """What a judge said: grades, "can't say", and problems; ``notes`` are about no document."""

    judge: str
    grades: int
    cannot_say: int
    problems: int
    judged: int
    missing: int
    notes: tuple[str, ...]

    def summary(self) -> str:
        """Return ``gpt: 20 judgements, 3 can't say, 1 problem; judged before: 4 papers``."""
        before = f"; judged before: {count(self.judged, 'paper')}" if self.judged else ""
        return (f"{self.judge}: {count(self.grades, 'judgement')}, {self.cannot_say} can't say, "
                f"{count(self.problems, 'problem')}{before}")  # fmt: skip


def plan_judging(  # noqa: PLR0912 - one step after the other
    store: CampaignStore, collection: Collection, source: str, options: JudgeOptions
) -> JudgingPlan:
    """Find the judge, and the documents that it has not judged yet."""
    settings = store.settings
    if source == "openai":
        judge = model_source(options, settings)
    elif source == "recommend":
        judge = recommender_source(collection, settings)
    elif is_existing_file(source) and (
        Path(source).suffix in _TABLES or not Path(source).stat().st_mode & 0o111
    ):
        judge = qrels_source(Path(source), settings)
    else:
        judge = program_source(source, settings, options.timeout)
    names = ("model", "prompt", "address", "retries", "parallel") if source != "openai" else ()
    if extra := [name for name in names if getattr(options, name) != getattr(JudgeOptions, name)]:
        raise CitebedError(f"--{', --'.join(extra)}: only a judge with --with openai has this.")
    judge.name = options.name or judge.name
    if not NAME.fullmatch(judge.name):
        raise CitebedError(f"'{printable(judge.name)}' is not a judge's name. Use letters, digits, "
                           "'.', '-' and '_': --name NAME.")  # fmt: skip
    runs = as_runs(list(options.runs)) if options.runs else ()
    tables = [in_rank_order(run).filter(pl.col("rank") <= options.depth) for run in runs]
    if judge.qrels is not None:
        given = judge.qrels.table.select("query_id", "doc_id")
        tables = [each.join(given, on=given.columns, how="semi") for each in tables] or [given]
    wanted: dict[str, dict[str, None]] = {}
    for table in tables:
        for query_id, doc_id in table.select("query_id", "doc_id").iter_rows():
            wanted.setdefault(query_id, {})[doc_id] = None
    lookup, keys = DocumentLookup(collection), set[str]()
    tasks: list[Task] = []
    asked, judged, missing = dict[str, int](), 0, 0
    with store.reading() as tx:
        if (known := _find_same_judge(tx, judge)) is not None:
            mine = machine_judgements.c.judge_id == known
            keys = set(tx.scalars(select(machine_judgements.c.key).where(mine)))
        every = {question.query_id: question for question in live_questions(tx)}
        if not every:
            raise CitebedError("the campaign has no questions yet: no author has stated one.")
        if tables and not wanted.keys() & every.keys():
            raise CitebedError("these runs or judgements have no question of the campaign, such as "
                               f"'{printable(min(every))}'.")  # fmt: skip
        for query_id in options.questions or every:
            if (question := every.get(query_id)) is None:
                raise UnknownName("query", query_id, every)
            wording, own = current_wording(tx, question.id), lookup.document(question.paper)
            asked[query_id] = wording.id
            of_question = (items.c.question_id == question.id) & items.c.doc_id.is_not(None)
            listed = select(items.c.doc_id).where(of_question).order_by(items.c.id)
            for doc_id in wanted.get(query_id, ()) if tables else dict.fromkeys(tx.scalars(listed)):
                document = lookup.document(doc_id)
                if known is not None and _key(known, wording.id, doc_id) in keys:
                    judged += 1
                elif document is None or document == own:
                    missing += 1
                elif options.limit is None or len(tasks) < options.limit:
                    entry, text = make_entry(0, document), (document.abstract or "")[:_LONGEST_TEXT]
                    tasks.append(Task(len(tasks) + 1, query_id, wording.text, doc_id, entry.title,
                                      entry.authors, entry.year, text))  # fmt: skip
    return JudgingPlan(judge, tasks, asked, judged, missing)


def run_judge(
    store: CampaignStore, plan: JudgingPlan, progress: Progress = SILENT
) -> JudgingReport:
    """Ask a judge all tasks of a plan, and store each response at once."""
    judge, tally, number = plan.source, Counter[str](), 0
    progress.step("judging: papers", len(plan.tasks))
    for responses in judge.ask(plan.tasks) if plan.tasks else ():
        if responses:
            number = number or _add_judge(store, judge)
            _store(store, number, plan.wordings, responses)
        for each in responses:
            tally["problem" if each.problem else "unsure" if each.value is None else "grade"] += 1
        progress.add(len(responses))
    said = (tally["grade"], tally["unsure"], tally["problem"])
    return JudgingReport(judge.name, *said, plan.judged, plan.missing, tuple(judge.notes))


def _find_same_judge(tx: Transaction, judge: JudgeSource) -> int | None:
    """Return the judge of this name, if any; raise if it is another one."""
    rows = tx.execute(select(machine_judges).where(machine_judges.c.campaign_id == tx.id)).all()
    for row in rows:
        if row.name.lower() != judge.name.lower():  # names become names of files
            continue
        old = (row.name, row.kind, row.version, row.prompt, row.settings)
        new = (judge.name, judge.kind, judge.version, judge.prompt, judge.settings)
        names = ("name", "kind", "version", "prompt", "settings")
        if differ := [name for name, a, b in zip(names, old, new, strict=True) if a != b]:
            other = " and another ".join(differ)
            raise CitebedError(f"the judge '{row.name}' has judged with another {other}. Give the "
                               "new judge a name of its own: --name NAME.")  # fmt: skip
        return int(row.id)
    return None


def _add_judge(store: CampaignStore, judge: JudgeSource) -> int:
    with store.writing() as tx:
        if (known := _find_same_judge(tx, judge)) is not None:
            return known
        return tx.add(
            machine_judges, campaign_id=tx.id, name=judge.name, kind=judge.kind,
            version=judge.version, prompt=judge.prompt, settings=judge.settings, made_at=now(),
            prompt_sha256=hashlib.sha256(judge.prompt.encode()).hexdigest(),
        )  # fmt: skip


def _key(judge: int, wording: int, doc_id: str) -> str:
    """Return the key of a judgement, which a judge can give once."""
    return hashlib.sha256(f"{judge} {wording} {doc_id}".encode()).hexdigest()


def _store(
    store: CampaignStore, judge: int, asked: dict[str, int], responses: Sequence[Response]
) -> None:
    """Store responses in one transaction, except judgements that another process stored."""
    rows = {}
    for task, value, problem, reason, tokens, took_ms in responses:
        wording = asked[task.query_id]
        key = str(uuid.uuid4()) if problem else _key(judge, wording, task.doc_id)
        rows[key] = {
            "judge_id": judge, "wording_id": wording, "doc_id": task.doc_id, "value": value,
            "problem": _clean(problem), "reason": _clean(reason), "key": key, "at": now(),
            "tokens": None if tokens is None else max(0, min(tokens, _LARGEST)),
            "took_ms": None if took_ms is None else min(took_ms, _LARGEST),
        }  # fmt: skip
    keys = machine_judgements.c.key
    with store.writing() as tx:
        known = set(tx.scalars(select(keys).where(keys.in_(rows))))
        if new := [row for key, row in rows.items() if key not in known]:
            tx.execute(insert(machine_judgements), new)


def _clean(text: str) -> str:
    return printable(text.replace("\0", ""))[:_LONGEST_REASON]


# --- reading ----------------------------------------------------------------------------------


def load_machine_judgements(tx: Transaction, *, problems: bool = False) -> pl.DataFrame:
    """Return all judgements of machines, or all problems, in the order in which they came.

    ``value`` is a grade of phase one, or null for "can't say".
    """
    table = machine_judgements
    return tx.table(
        select(
            questions.c.query_id, table.c.doc_id, machine_judges.c.name.label("judge"),
            table.c.value, table.c.reason, table.c.problem, table.c.tokens, table.c.took_ms,
            table.c.at, table.c.wording_id,
        )
        .join(machine_judges, machine_judges.c.id == table.c.judge_id)
        .join(wordings, wordings.c.id == table.c.wording_id)
        .join(questions, questions.c.id == wordings.c.question_id)
        .where(machine_judges.c.campaign_id == tx.id, (table.c.problem != "") == problems)
        .order_by(table.c.id)
    )  # fmt: skip


def judges_table(tx: Transaction) -> pl.DataFrame:
    """Return a row per machine judge with its judgements, problems and costs."""
    mine = machine_judges.c.campaign_id == tx.id
    columns = [machine_judges.c[name] for name in ("name", "kind", "version", "made_at")]
    judges = tx.table(select(*columns).where(mine).order_by(machine_judges.c.id))
    every = pl.concat([load_machine_judgements(tx, problems=each) for each in (False, True)])
    is_problem = pl.col("problem") != ""
    sums = every.group_by(name="judge").agg(
        judgements=(~is_problem & pl.col("value").is_not_null()).sum(),
        cannot_say=(~is_problem & pl.col("value").is_null()).sum(),
        problems=is_problem.sum(),
        calls=pl.len(),
        tokens=pl.col("tokens").cast(pl.Int64).sum(),
        seconds=pl.col("took_ms").cast(pl.Int64).sum() / 1000,
    )
    zero = pl.col("judgements", "cannot_say", "problems", "calls", "tokens", "seconds").fill_null(0)
    return judges.join(sums, on="name", how="left", maintain_order="left").with_columns(zero)


def build_machine_qrels(
    tx: Transaction, judge: str, name: str = "j12", *, graded: bool = False
) -> Qrels:
    """Build the qrels of a machine judge, with the same rule as for people's grades.

    ``t12`` has only the queries that people judged in both phases. A judgement of a later wording
    takes precedence.
    """
    known = tx.scalars(select(machine_judges.c.name).where(machine_judges.c.campaign_id == tx.id))
    if judge not in (names := list(known)):
        raise UnknownName("machine judge", judge, names)
    if name not in ("j12", "t12"):
        raise UnknownName("set of a machine's judgements", name, ("j12", "t12"))
    live = [question.query_id for question in live_questions(tx)]
    if name == "t12":
        live = build_qrels(tx, "t12").table["query_id"].unique().to_list()
    value = pl.col("value")
    relevance = value - 1 if graded else value >= tx.settings.relevant_from
    table = (
        load_machine_judgements(tx)
        .filter(pl.col("judge") == judge, pl.col("query_id").is_in(live))
        .unique(["query_id", "doc_id"], keep="last", maintain_order=True)
        .filter(value.is_not_null())
        .select("query_id", "doc_id", relevance=relevance.cast(pl.Int64))
        .sort("query_id", "doc_id")
    )
    return Qrels(table, judge)


def document_properties(
    pairs: pl.DataFrame, collection: Collection | None, runs: Sequence[Run]
) -> pl.DataFrame:
    """Return properties of judged documents that should not influence a judge.

    ``position`` is 1 / log2(rank + 1) for the best rank in the runs. From a collection come
    ``length`` (characters of title and abstract), ``year`` and ``fame`` (citations by documents and
    papers of the collection, as log(1 + n)).
    """
    found = pairs.select("query_id", "doc_id")
    if runs:
        ranks = pl.concat([in_rank_order(run).select("query_id", "doc_id", "rank") for run in runs])
        best = ranks.group_by("query_id", "doc_id").agg(
            position=1 / (pl.col("rank").min() + 1).log(2)
        )
        found = found.join(best, on=["query_id", "doc_id"], how="left")
    if collection is not None:
        cited = pl.concat([
            collection.links.filter(pl.col("kind") == "cites").select(doc_id="target"),
            collection.references.select("doc_id").drop_nulls(),
        ])  # fmt: skip
        length = sum(pl.col(name).str.len_chars().fill_null(0) for name in ("title", "abstract"))
        facts = collection.documents.select("doc_id", "year", length=length)
        facts = facts.join(cited.group_by("doc_id").agg(fame=pl.len()), on="doc_id", how="left")
        found = found.join(facts, on="doc_id", how="left")
        found = found.with_columns(pl.col("fame").fill_null(0).log1p())
    return found
