"""The Python interface of a campaign: ``citebed.campaign("cr26")``.

A campaign has a folder with a ``campaign.toml``, which names the collection and the database, and
with the mails that citebed writes. By default the database is in the collection's folder. The
commands and the web pages call the same functions.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from sqlalchemy import make_url

from citebed.collection import Collection, open_collection
from citebed.collection.progress import SILENT, Progress
from citebed.errors import CitebedError
from citebed.evaluation.scoring.judge_quality import JudgeQuality, assess_judge
from citebed.evaluation.scoring.judgement_plan import (
    PlanOptions,
    join_plans,
    rank_judgements_to_make,
)
from citebed.files.input_files import read_text
from citebed.files.output_files import check_not_link, is_plain_or_missing, replace_files
from citebed.judging import mails, searches
from citebed.judging.assignments import assign_phase_one, assign_phase_two, assign_second_judge
from citebed.judging.comparisons import (
    PER_PAPER,
    ComparisonReport,
    Preferences,
    assign_comparisons,
    load_preferences,
)
from citebed.judging.crate import CrateOptions
from citebed.judging.export import ExportResult, export_campaign
from citebed.judging.judge_sources import JudgeOptions
from citebed.judging.judgements import build_qrels, current_judgements
from citebed.judging.machine_judges import (
    JudgingPlan,
    JudgingReport,
    build_machine_qrels,
    document_properties,
    judges_table,
    load_machine_judgements,
    plan_judging,
    run_judge,
)
from citebed.judging.papers import Author, add_papers, insert_papers, read_papers
from citebed.judging.pooling_methods import PoolingOptions, read_method
from citebed.judging.pools import PoolReport, make_pools, pool_plan, unpooled_questions
from citebed.judging.questions import (
    BY_HAND,
    Suggestion,
    all_questions,
    apply_rules,
    close_phase_one,
    count_words,
    current_wording,
    exclude,
    excluded_questions,
    exclusions_at_closing,
    load_question,
    reformulate,
    suggest_changes,
)
from citebed.judging.returns import (
    enter_answers,
    read_returns,
    read_stored,
    read_upload,
    settle_problems,
)
from citebed.judging.settings import CampaignSettings, read_guidelines
from citebed.judging.status import exclusion_history, form_table, open_problems
from citebed.judging.store import backup as copies
from citebed.judging.store.campaign_store import CampaignStore, create_campaign
from citebed.judging.store.database import Database, open_database
from citebed.judging.tables import agreement, campaign_tables, disagreements
from citebed.options import takes_options
from citebed.retrieval.recommend.recommender import Recommender
from citebed.runs.reader import as_run, as_runs
from citebed.runs.tables import Qrels, Run
from citebed.wording import json_text, printable

FILE = "campaign.toml"


class Campaign(CampaignStore):
    """An open campaign; its methods are the subcommands of ``citebed campaign``."""

    def __init__(self, database: Database, name: str, folder: Path) -> None:
        super().__init__(database, name)
        self.folder = folder

    @property
    def outbox(self) -> Path:
        """The folder for mails."""
        return self.folder / "outbox"

    @cached_property
    def collection(self) -> Collection:
        """The judged collection; ``campaign.toml`` says where it is now."""
        facts = campaign_file(self.folder) if (self.folder / FILE).is_file() else {}
        return open_collection(self.folder / str(facts.get("collection", self.settings.collection)))

    @cached_property
    def _recommender(self) -> Recommender:
        return Recommender(self.collection, pipeline="bm25")

    def configure(
        self,
        *,
        title: str | None = None,
        organiser: str | None = None,
        contact: str | None = None,
        address: str | None = None,
        guidelines: str | Path | None = None,
    ) -> None:
        """Change texts of future mails and of pages; existing mails stay as they are.

        ``guidelines`` is a text or Markdown file that judges can read.
        """
        _check_texts(contact, address)
        text = None if guidelines is None else read_guidelines(guidelines)
        words = {"title": title, "organiser": organiser, "contact": contact, "address": address}
        self.change_settings(**words, guidelines=text)

    # --- phase one ---

    def add_papers(self, path: str | Path) -> int:
        """Add source papers from CSV or BibTeX and return how many are new."""
        return add_papers(self, read_papers(path, self.collection))

    def invite(
        self,
        ways: Sequence[str] = mails.FORMS,
        outbox: str | Path | None = None,
        *,
        on: date | None = None,
    ) -> list[Path]:
        """Write mails to all authors who are due: of online papers and of pooled questions."""
        mails.check_form_kinds(ways)
        with self.writing() as tx:
            apply_rules(tx)
        assign_phase_one(self, on or date.today())
        assign_phase_two(self)
        return mails.invite(self, Path(outbox or self.outbox), ways)

    def remind(
        self,
        ways: Sequence[str] = mails.FORMS,
        outbox: str | Path | None = None,
        *,
        after_days: int = 7,
    ) -> list[Path]:
        """Write reminders to authors who have not answered."""
        return mails.remind(self, Path(outbox or self.outbox), ways, after_days=after_days)

    send = mails.send
    returns = read_returns
    returned = read_upload
    read_again = read_stored
    enter = enter_answers
    settle = settle_problems

    # --- questions ---

    @property
    def questions(self) -> pl.DataFrame:
        """Research questions as stated and as worded now, with reasons for exclusion.

        ``at_closing`` is the reason for exclusion if phase one were closed now.
        """
        with self.reading() as tx:
            left_out = excluded_questions(tx)
            due = exclusions_at_closing(tx)
            rows = []
            for each in all_questions(tx):
                last = current_wording(tx, each.id)
                stated = current_wording(tx, each.id, "stated").text
                excluded = "; ".join(left_out.get(each.id, {}).values()) or None
                rows.append((each.query_id, each.paper, each.person, stated, last.text, last.kind,
                             list(last.classes), excluded, due.get(each.id)))  # fmt: skip
        names = ("query_id", "paper", "author", "stated", "text", "kind", "classes", "excluded",
                 "at_closing")  # fmt: skip
        kinds = dict.fromkeys(names, pl.String) | {"classes": pl.List(pl.String)}
        return pl.DataFrame(rows, kinds, orient="row")

    def question(self, query_id: str) -> str:
        """Return the current wording of a question."""
        with self.reading() as tx:
            row = load_question(tx, query_id)
            return str(current_wording(tx, row.id).text)

    reformulate = reformulate

    @cached_property
    def _word_counts(self) -> Mapping[str, int]:
        return count_words(self.collection)

    def suggestions(self, query_id: str) -> list[Suggestion]:
        """Suggest changes to a question; the organiser decides."""
        with self.reading() as tx:
            question = load_question(tx, query_id)
            text = current_wording(tx, question.id).text
            earlier = [
                current_wording(tx, each.id).text
                for each in all_questions(tx)
                if each.form_id == question.form_id and each.number < question.number
            ]
        return suggest_changes(text, earlier, self._word_counts)

    def exclude(self, query_id: str, reason: str, *, lift: bool = False) -> None:
        """Exclude a question with a reason, or lift the exclusion."""
        with self.writing() as tx:
            question = load_question(tx, query_id)
            exclude(tx, question.id, BY_HAND, reason, "organiser", lift)

    def close_phase_one(self, who: str = "organiser") -> int:
        """Exclude questions of co-authors whose first author answered; return how many are new.

        `questions` shows beforehand which ones. Pooling closes phase one, too.
        """
        with self.writing() as tx:
            return close_phase_one(tx, who)

    # --- phase two ---

    def search(
        self, query_id: str, text: str, who: str = "organiser", k: int = 30
    ) -> tuple[int, list[searches.Hit]]:
        """Search manually; return the number of the search and its results."""
        return searches.search_by_hand(self, self._recommender, query_id, text, who, k)

    mark = searches.mark

    def pool(
        self, runs: Iterable[Any] | None = None, size: int | None = None, *, plan: Any = None,
        **options: Any,
    ) -> list[PoolReport]:  # fmt: skip
        """Build the pools of phase two: manual results first, then round-robin over the runs.

        This closes phase one. Without ``runs``, the three models of the paper search. For
        ``options`` (``method``, ``depth``, ``seed``, ``coupling``) see `PoolingOptions`. A ``plan``
        of `next_judgements` adds its documents to the lists of its questions instead.
        """
        if plan is not None:
            given = as_run(plan, "plan")
            if not set(self.questions["query_id"]) & set(given.table["query_id"]):
                raise CitebedError(f"the plan '{printable(given.name)}' has no query of this "
                                   "campaign. Make one with 'citebed campaign next'.")  # fmt: skip
            self.close_phase_one()
            with self.writing() as tx:
                return pool_plan(tx, self.collection, given)
        chosen = PoolingOptions(size or self.settings.pool_size, **options)
        read_method(chosen.method)
        runs_given = None if runs is None else list(as_runs(runs))
        self.close_phase_one()
        with self.reading() as tx:
            queries = unpooled_questions(tx)
            judged = build_qrels(tx, "j1")
        if not queries:
            return []
        made = (searches.automatic_runs(self.collection, queries, judged) if runs_given is None
                else runs_given)  # fmt: skip
        lists = searches.ranked_lists(made, chosen.depth)
        with self.writing() as tx:
            names = [run.name for run in made]
            return make_pools(tx, self.collection, lists, chosen, names)

    def plan_judging(self, source: str, options: JudgeOptions) -> JudgingPlan:
        """Return what `judge` would ask."""
        return plan_judging(self, self.collection, source, options)

    run_judge = run_judge

    @takes_options(JudgeOptions)
    def judge(self, source: str, *, progress: Progress = SILENT, **options: Any) -> JudgingReport:
        """Let a machine judge: ``openai``, ``recommend``, a program, or a qrels file."""
        return self.run_judge(self.plan_judging(source, JudgeOptions(**options)), progress)

    @property
    def judges(self) -> pl.DataFrame:
        """The machine judges with their judgements, problems and costs."""
        with self.reading() as tx:
            return judges_table(tx)

    def machine_judgements(self, *, problems: bool = False) -> pl.DataFrame:
        """Return all judgements of machines, or all unreadable responses."""
        with self.reading() as tx:
            return load_machine_judgements(tx, problems=problems)

    def assess(
        self, judge: str, runs: Any = None, measure: str = "nDCG@10", *, graded: bool = False
    ) -> JudgeQuality:
        """Compare a machine judge with people; ``graded`` compares the grades of phase one."""
        human = self.qrels("j1" if graded else "j12", graded=graded)
        systems = [] if runs is None else list(as_runs(runs))
        properties = document_properties(human.table, self.collection, systems)
        machine = self.qrels("j12", graded=graded, judge=judge)
        return assess_judge(human, machine, systems or None, properties, measure)

    def next_judgements(
        self, judge: str, runs: Any, measures: Sequence[str] = ("nDCG@10",),
        options: PlanOptions | None = None, *, done: Any = None, graded: bool = False,
    ) -> Run:  # fmt: skip
        """Plan the human judgements that narrow the intervals of corrected scores most.

        ``done`` is a plan that people have judged; the result then contains it.
        """
        human = None if done is None else self.qrels("j12", graded=graded)
        machine = self.qrels("j12", graded=graded, judge=judge)
        systems = list(as_runs(runs))
        plan = rank_judgements_to_make(machine, systems, measures, options, human=human, done=done)
        return plan if done is None else join_plans(done, plan)

    def second_judge(self, query_id: str, name: str, email: str) -> bool:
        """Assign a query's list to a second judge; return whether it has papers new to them."""
        return assign_second_judge(self, query_id, name, email) is not None

    def compare(
        self, query_ids: Sequence[str] = (), *, name: str = "", email: str = "",
        per_paper: int = PER_PAPER, seed: int = 0,
    ) -> list[ComparisonReport]:  # fmt: skip
        """Assign pools in pairs, by default all pools to the authors of their queries.

        ``name`` and ``email`` are a second judge's. A judge compares each paper ``per_paper``
        times. Afterwards, `invite` writes the mails.
        """
        if email:
            mails.mail_address(name, email)
        judge = Author(name or email, email.lower()) if email else None
        return assign_comparisons(self, query_ids, judge, per_paper, seed)

    # --- results ---

    @property
    def disagreements(self) -> pl.DataFrame:
        """All judgements of papers on which judges disagree."""
        with self.reading() as tx:
            return disagreements(tx)

    @property
    def agreement(self) -> pl.DataFrame:
        """Agreement between judges on documents that were judged twice, by phase."""
        with self.reading() as tx:
            by_phase = agreement(tx)
        rows = [
            {"phase": phase, **measure.row()}
            for phase, measures in by_phase.items()
            for measure in measures
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def status(self) -> pl.DataFrame:
        """Return a row per form with its judge and its state."""
        with self.reading() as tx:
            return form_table(tx)

    @property
    def problems(self) -> pl.DataFrame:
        """Unreadable answers in returned forms."""
        with self.reading() as tx:
            return open_problems(tx)

    @property
    def exclusions(self) -> pl.DataFrame:
        """All exclusions with their reasons, and all lifted ones."""
        with self.writing() as tx:
            apply_rules(tx)
        with self.reading() as tx:
            return exclusion_history(tx)

    @property
    def judgements(self) -> pl.DataFrame:
        """The current judgement of each judge for each document."""
        with self.reading() as tx:
            return current_judgements(tx, excluded=True)

    @property
    def preferences(self) -> Preferences:
        """The preferences of judges who compared papers, and the strengths of the papers."""
        with self.reading() as tx:
            return load_preferences(tx)

    def not_in_collection(self) -> list[str]:
        """Return judged documents that are missing from the collection."""
        judged = self.judgements["doc_id"].drop_nulls().unique(maintain_order=True)
        return judged.filter(~judged.is_in(self.collection.documents["doc_id"].implode())).to_list()

    def qrels(self, name: str = "j12", *, graded: bool = False, judge: str | None = None) -> Qrels:
        """Return a set of judgements for `evaluate`: people's, or those of a machine ``judge``.

        ``t1`` and ``t12`` are T1 and T1+2, the queries judged in both phases; ``j1``, ``j2`` and
        ``j12`` have all queries. A machine has the sets ``t12`` and ``j12``.
        """
        with self.reading() as tx:
            if judge is not None:
                return build_machine_qrels(tx, judge, name, graded=graded)
            return build_qrels(tx, name, graded=graded)

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return tables by name: returns, reformulations, comparison, sources …, strengths …"""
        with self.reading() as tx:
            tables = campaign_tables(tx, self.collection.documents.height)
            return {**tables, **load_preferences(tx).tables()}

    def export(
        self,
        folder: str | Path,
        *,
        graded: bool = False,
        shapes: Sequence[str] = (),
        authors: Sequence[str] = (),
        license: str | None = None,
    ) -> ExportResult:
        """Write qrels, topics and pools to a folder; the version is the hash of their content.

        An RO-Crate describes the files for repositories; ``authors`` and ``license`` are fields
        of `CrateOptions`.
        """
        published = CrateOptions(authors=tuple(authors), license=license)
        return export_campaign(
            self, self.collection, folder, graded=graded, shapes=tuple(shapes), published=published
        )

    backup = copies.backup


def new_campaign(
    folder: str | Path,
    collection: str | Path | Collection,
    papers: str | Path | None = None,
    *,
    database: str | None = None,
    simulated: bool = False,
    secret: str | None = None,
    **settings: Any,
) -> Campaign:
    """Start a campaign named after its folder; for ``settings`` see `CampaignSettings`.

    Only simulations pass a ``secret``.
    """
    folder, name = Path(folder), Path(folder).resolve().name
    _check_is_new(folder)
    _check_texts(settings.get("contact"), settings.get("address"))
    opened = open_collection(collection)
    settings.setdefault("title", f"{name}: building a test collection")
    chosen = CampaignSettings(collection=str(opened.folder.resolve()), **settings)
    at = database or _own_database(opened, name)
    sources = [] if papers is None else read_papers(papers, opened)
    here = open_database(at, create=True)
    with replace_files(folder / FILE) as (draft,):  # written only if the database is, too
        draft.write_text(_toml(name, chosen.collection, at), "utf-8")
        create_campaign(
            here,
            name,
            chosen,
            simulated=simulated,
            secret=secret,
            fill=lambda tx: insert_papers(tx, sources),
        )
    return Campaign(here, name, folder)


def restore_campaign(
    path: str | Path,
    folder: str | Path,
    collection: str | Path | Collection,
    database: str | None = None,
) -> Campaign:
    """Restore a backup to a new folder and an empty database."""
    folder = Path(folder)
    _check_is_new(folder)
    opened = open_collection(collection)
    place = str(opened.folder.resolve())
    at = database or _own_database(opened, folder.resolve().name)
    name = copies.name_in(path)
    with replace_files(folder / FILE) as (draft,):
        draft.write_text(_toml(name, place, at), "utf-8")
        store = copies.restore(path, open_database(at, create=True))
        store.change_settings(collection=place)
    return Campaign(store.database, store.name, folder)


def _check_texts(contact: str | None, address: str | None) -> None:
    """Check the organiser's mail address and the URL of the server."""
    if contact:
        mails.mail_address("", contact)
    if address is not None and not re.match(r"https?://[^\s/]", address):
        raise CitebedError(f"'{printable(address[:100])}' is not a URL; expected "
                           "https://host.")  # fmt: skip


def _check_is_new(folder: Path) -> None:
    if (folder / FILE).exists():
        raise CitebedError(f"{printable(folder)} already has a campaign. Name another folder.")


def _own_database(collection: Collection, name: str) -> str:
    """Return the path of a new campaign's database in a collection; refuse a link."""
    path = check_not_link(collection.folder.resolve() / "campaigns") / f"{name}.sqlite"
    if not is_plain_or_missing(path):
        raise CitebedError(f"'{printable(path)}' is not a plain file. Name another campaign.")
    return str(path)


def _toml(name: str, collection: str, database: str) -> str:
    """Return the content of ``campaign.toml``, without the database password."""
    if "://" in database:
        database = make_url(database).set(password=None).render_as_string()
    facts = {"name": name, "collection": collection, "database": database}
    lines = [f"{key} = {json_text(value)}" for key, value in facts.items()]
    about = "# A citebed campaign. You can name your mail server here: [smtp] host, port, user."
    return "\n".join([about, *lines, ""])


def open_campaign(folder: str | Path | Campaign, database: str | None = None) -> Campaign:
    """Open the campaign in a folder; ``database`` overrides the one in its file."""
    if isinstance(folder, Campaign):
        return folder
    folder = Path(folder)
    facts = campaign_file(folder)
    return Campaign(open_database(database or facts["database"]), facts["name"], folder)


campaign = open_campaign


def campaign_file(folder: Path) -> dict[str, Any]:
    """Read ``campaign.toml``."""
    path = folder / FILE
    if not path.is_file():
        raise CitebedError(
            f"there is no campaign in {printable(folder)}: it has no {FILE}. Start one with "
            f"'citebed campaign new {printable(folder)} --collection … --papers …'."
        )
    try:
        facts = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise CitebedError(f"{printable(path)} is not valid TOML: {error}.") from error
    for key in ("name", "database"):
        if not isinstance(facts.get(key), str):
            raise CitebedError(f'{printable(path)} has no {key}. Add the line: {key} = "…"')
    return facts
