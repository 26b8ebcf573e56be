"""The Python door to a campaign: ``citebed.campaign("cr26")``.

A campaign has a folder of its own with a ``campaign.toml``, which names the collection and the
database; mails are written there. The database is in the collection's folder unless its URL says
otherwise. What the verbs do is what the commands and the web do.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from sqlalchemy import make_url

from citebed.collection import Collection, open_collection
from citebed.errors import CitebedError
from citebed.files.reading import read_text
from citebed.files.writing import is_own, own_folder, whole_files
from citebed.judging.answers import reformulation
from citebed.judging.answers.judgement_tables import build_qrels, current_judgements
from citebed.judging.answers.returns import (
    enter_answers,
    read_returns,
    read_stored,
    read_upload,
    settle_problems,
)
from citebed.judging.invitations import mails
from citebed.judging.invitations.assignments import (
    assign_phase_one,
    assign_phase_two,
    assign_second_judge,
)
from citebed.judging.invitations.papers import add_papers, insert_papers, read_papers
from citebed.judging.invitations.questions import (
    BY_HAND,
    all_questions,
    close_phase_one,
    current_wording,
    exclude,
    excluded_questions,
    exclusions_at_closing,
    load_question,
    record_exclusions,
)
from citebed.judging.pools import searches
from citebed.judging.pools.pooling import PoolingOptions, PoolReport, make_pools, unpooled_questions
from citebed.judging.pools.pooling_methods import read_method
from citebed.judging.results.export import ExportResult, export_campaign
from citebed.judging.results.source_tables import judgement_set
from citebed.judging.results.status import exclusion_history, form_table, open_problems
from citebed.judging.results.tables import agreement, campaign_tables, disagreements
from citebed.judging.settings import CampaignSettings, read_guidelines
from citebed.judging.store import backup as copies
from citebed.judging.store.campaign_store import CampaignStore, create_campaign
from citebed.judging.store.engine import Database, open_database
from citebed.retrieval.recommending.recommender import Recommender
from citebed.runs.reader import as_runs
from citebed.runs.tables import Qrels
from citebed.wording import json_text, printable

FILE = "campaign.toml"


class Campaign(CampaignStore):
    """An open campaign with the verbs of the command line.

    A verb that needs nothing but the campaign is the function that does it.
    """

    def __init__(self, database: Database, name: str, folder: Path) -> None:
        super().__init__(database, name)
        self.folder = folder

    @property
    def outbox(self) -> Path:
        """Where mails are written."""
        return self.folder / "outbox"

    @cached_property
    def collection(self) -> Collection:
        """The collection that is judged: where the campaign's file says, for it may be moved."""
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
        """Say otherwise what mails and pages say; mails that were written stay as they are.

        ``guidelines`` is a file, text or Markdown, for judges to look into.
        """
        _check(contact, address)
        text = None if guidelines is None else read_guidelines(guidelines)
        words = {"title": title, "organiser": organiser, "contact": contact, "address": address}
        self.change_settings(**words, guidelines=text)

    # --- phase one ---

    def add_papers(self, path: str | Path) -> int:
        """Source papers from CSV or BibTeX; those that are known stay as they are."""
        return add_papers(self, read_papers(path, self.collection))

    def invite(
        self,
        ways: Sequence[str] = mails.FORMS,
        outbox: str | Path | None = None,
        *,
        on: date | None = None,
    ) -> list[Path]:
        """Write to all who are due: authors of papers that are online, and of pooled questions."""
        mails.check_form_kinds(ways)
        record_exclusions(self)
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
        """Write again to those who have not answered."""
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
        """Research questions as stated and as worded now, with why they are set aside.

        ``at_closing`` says why one would be set aside if phase one were closed now.
        """
        with self.reading() as tx:
            aside = excluded_questions(tx)
            due = exclusions_at_closing(tx)
            rows = []
            for each in all_questions(tx):
                last = current_wording(tx, each.id)
                stated = current_wording(tx, each.id, "stated").text
                excluded = "; ".join(aside.get(each.id, {}).values()) or None
                rows.append((each.query_id, each.paper, each.person, stated, last.text, last.kind,
                             list(last.classes), excluded, due.get(each.id)))  # fmt: skip
        names = ("query_id", "paper", "author", "stated", "text", "kind", "classes", "excluded",
                 "at_closing")  # fmt: skip
        kinds = dict.fromkeys(names, pl.String) | {"classes": pl.List(pl.String)}
        return pl.DataFrame(rows, kinds, orient="row")

    def question(self, query_id: str) -> str:
        """How a question is worded now."""
        with self.reading() as tx:
            row = load_question(tx, query_id)
            return str(current_wording(tx, row.id).text)

    reformulate = reformulation.reformulate

    @cached_property
    def _vocabulary(self) -> Any:
        return reformulation.count_words(self.collection)

    def suggestions(self, query_id: str) -> list[reformulation.Suggestion]:
        """What might be changed in a question; a person decides."""
        with self.reading() as tx:
            question = load_question(tx, query_id)
            text = current_wording(tx, question.id).text
            earlier = [
                current_wording(tx, each.id).text
                for each in all_questions(tx)
                if each.form_id == question.form_id and each.number < question.number
            ]
        return reformulation.suggest_changes(text, earlier, self._vocabulary)

    def exclude(self, query_id: str, reason: str, *, lift: bool = False) -> None:
        """Set a question aside by hand, or take it back."""
        with self.writing() as tx:
            question = load_question(tx, query_id)
            exclude(tx, question.id, BY_HAND, reason, "organiser", lift)

    def close_phase_one(self, who: str = "organiser") -> int:
        """Set the questions of co-authors aside whose first author answered too; how many.

        Before, `questions` says of which this would happen. Pooling closes phase one too.
        """
        with self.writing() as tx:
            return close_phase_one(tx, who)

    # --- phase two ---

    def search(
        self, query_id: str, text: str, who: str = "organiser", k: int = 30
    ) -> tuple[int, list[searches.Hit]]:
        """Search by hand; the search's number, and its results."""
        return searches.search_by_hand(self, self._recommender, query_id, text, who, k)

    mark = searches.mark

    def pool(
        self, runs: Iterable[Any] | None = None, size: int | None = None, **options: Any
    ) -> list[PoolReport]:
        """Make the lists of phase two: manual results first, then one of each run in turn.

        Phase one is closed with it. Without ``runs`` the three models of the paper search. The
        options are those of `PoolingOptions`: ``method``, ``depth``, ``seed``, ``coupling``.
        """
        chosen = PoolingOptions(size or self.settings.pool_size, **options)
        read_method(chosen.method)
        runs_given = None if runs is None else list(as_runs(runs))
        self.close_phase_one()
        with self.reading() as tx:
            queries = unpooled_questions(tx)
            judged = build_qrels(tx, "j1")
        if not queries:
            return []
        made = runs_given
        if made is None:
            made = searches.automatic_runs(self.collection, queries, judged)
        lists = searches.ranked_lists(made, chosen.depth)
        with self.writing() as tx:
            names = [run.name for run in made]
            return make_pools(tx, self.collection, lists, chosen, names)

    def second_judge(self, query_id: str, name: str, email: str) -> bool:
        """Ask somebody else about a query's list too; whether there was something to ask."""
        return assign_second_judge(self, query_id, name, email) is not None

    # --- looking ---

    @property
    def disagreements(self) -> pl.DataFrame:
        """Who said what of the papers on which judges disagree."""
        with self.reading() as tx:
            return disagreements(tx)

    @property
    def agreement(self) -> pl.DataFrame:
        """How far judges agree where a document was judged twice, by phase."""
        with self.reading() as tx:
            by_phase = agreement(tx)
        rows = [{"phase": phase, **each.row()} for phase, of in by_phase.items() for each in of]
        return pl.DataFrame(rows, infer_schema_length=None)

    def status(self) -> pl.DataFrame:
        """Every form: whom it asks, what became of it."""
        with self.reading() as tx:
            return form_table(tx)

    @property
    def problems(self) -> pl.DataFrame:
        """What could not be read in what came back."""
        with self.reading() as tx:
            return open_problems(tx)

    @property
    def exclusions(self) -> pl.DataFrame:
        """Every exclusion with its reason, and its lifting."""
        record_exclusions(self)
        with self.reading() as tx:
            return exclusion_history(tx)

    @property
    def judgements(self) -> pl.DataFrame:
        """Every judge's last word on every document."""
        with self.reading() as tx:
            return current_judgements(tx, excluded=True)

    def not_in_collection(self) -> list[str]:
        """The judged documents that the collection does not have, as another one would."""
        judged = self.judgements["doc_id"].drop_nulls().unique(maintain_order=True)
        return judged.filter(~judged.is_in(self.collection.documents["doc_id"].implode())).to_list()

    def qrels(self, name: str = "j12", *, graded: bool = False) -> Qrels:
        """Return a set of judgements that `evaluate` takes.

        ``t1`` and ``t12`` are T1 and T1+2, the queries judged in both phases; ``j1``, ``j2`` and
        ``j12`` have all queries.
        """
        with self.reading() as tx:
            return judgement_set(tx, name, graded=graded)

    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables of the paper by name: returns, reformulations, comparison, sources …"""
        with self.reading() as tx:
            return campaign_tables(tx, self.collection.documents.height)

    def export(
        self, folder: str | Path, *, graded: bool = False, shapes: Sequence[str] = ()
    ) -> ExportResult:
        """Qrels, topics and pools in a folder, named by the hash of their content."""
        return export_campaign(self, self.collection, folder, graded=graded, shapes=tuple(shapes))

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
    """Start a campaign, whose folder's name is its name; for the rest see `CampaignSettings`.

    Only a simulated one is given its ``secret``.
    """
    folder = Path(folder)
    if (folder / FILE).exists():
        raise CitebedError(f"there is a campaign in {printable(folder)} already.")
    _check(settings.get("contact"), settings.get("address"))
    opened = open_collection(collection)
    place = opened.folder.resolve()
    name = folder.resolve().name
    settings.setdefault("title", f"{name}: building a test collection")
    chosen = CampaignSettings(collection=str(place), **settings)
    at = database or str(_own_database(place, name))
    sources = [] if papers is None else read_papers(papers, opened)
    here = open_database(at, create=True)
    with whole_files(folder / FILE) as (draft,):  # else it would not be found in its database
        draft.write_text(_toml(name, place, at), "utf-8")
        create_campaign(
            here,
            name,
            chosen,
            simulated=simulated,
            secret=secret,
            fill=lambda tx: insert_papers(tx, sources),
        )
    return Campaign(here, name, folder)


def _own_database(collection: Path, name: str) -> Path:
    """The file in a collection that a new campaign is kept in; a link there may lead anywhere."""
    path = own_folder(collection / "campaigns") / f"{name}.sqlite"
    if not is_own(path):
        raise CitebedError(f"'{printable(path)}' is not a plain file. Name another campaign.")
    return path


def _check(contact: str | None, address: str | None) -> None:
    """Refuse addresses that no mail could be answered by, or no page be found at."""
    if contact:
        mails.check_address(contact)
    if address is not None and not re.match(r"https?://[^\s/]", address):
        raise CitebedError(f"'{printable(address[:100])}' is no address of pages; expected "
                           "https://host.")  # fmt: skip


def _toml(name: str, collection: Path, database: str) -> str:
    """The file that a campaign is opened by; a password is not written down."""
    if "://" in database:
        url = make_url(database)
        database = url.set(password=None).render_as_string()
    facts = {"name": name, "collection": str(collection), "database": database}
    lines = [f"{key} = {json_text(value)}" for key, value in facts.items()]
    return (
        "# A campaign of citebed. The mail server may be named here: [smtp] host, port, user.\n"
        + ("\n".join(lines) + "\n")
    )


def open_campaign(folder: str | Path | Campaign, database: str | None = None) -> Campaign:
    """Open the campaign in a folder; another ``database`` than its file names may be given."""
    if isinstance(folder, Campaign):
        return folder
    folder = Path(folder)
    facts = campaign_file(folder)
    return Campaign(open_database(database or facts["database"]), facts["name"], folder)


campaign = open_campaign


def campaign_file(folder: Path) -> dict[str, Any]:
    """What stands in a campaign's file."""
    path = folder / FILE
    if not path.is_file():
        raise CitebedError(
            f"there is no campaign in {printable(folder)}: it has no {FILE}. Start one with "
            f"'citebed campaign new {printable(folder)} --collection … --papers …'."
        )
    try:
        facts = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise CitebedError(f"{printable(path)} is no TOML: {error}.") from error
    for key in ("name", "database"):
        if not isinstance(facts.get(key), str):
            raise CitebedError(f"{printable(path)} does not say its {key}.")
    return facts


def restore_campaign(
    path: str | Path,
    folder: str | Path,
    collection: str | Path | Collection,
    database: str | None = None,
) -> Campaign:
    """Make a campaign of a backup, in a new folder and an empty database."""
    folder = Path(folder)
    if (folder / FILE).exists():
        raise CitebedError(f"there is a campaign in {printable(folder)} already.")
    place = open_collection(collection).folder.resolve()
    at = database or str(_own_database(place, folder.resolve().name))
    name = copies.name_in(path)
    with whole_files(folder / FILE) as (draft,):
        draft.write_text(_toml(name, place, at), "utf-8")
        store = copies.restore(path, open_database(at, create=True))
        store.change_settings(collection=str(place))
    return Campaign(store.database, store.name, folder)
