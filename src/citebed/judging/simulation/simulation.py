"""Simulate a campaign on a judged collection, so that organisers can plan a real one.

The campaign runs through the same code as a real one: papers, forms, mails (never sent), answers,
exclusion rules, manual searches, pools and tables. Its own database is marked as simulated. Only
the authors are invented; see `judges`.
"""

from __future__ import annotations

import hashlib
import math
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import polars as pl
from sqlalchemy import event, select

from citebed.collection import Collection, open_collection
from citebed.errors import CitebedError
from citebed.files.places import names_file
from citebed.judging.answers.judgement_tables import build_qrels
from citebed.judging.answers.responses import record_answers
from citebed.judging.campaign import Campaign, new_campaign
from citebed.judging.invitations.assignments import form_items
from citebed.judging.invitations.links import FormRow
from citebed.judging.invitations.papers import add_papers
from citebed.judging.invitations.questions import (
    all_questions,
    apply_rules,
    close_phase_one,
    live_questions,
)
from citebed.judging.pools.pooling import unpooled_questions
from citebed.judging.pools.searches import automatic_runs, judged_references
from citebed.judging.results.source_tables import judged_queries
from citebed.judging.results.tables import mark_simulated
from citebed.judging.simulation.judges import (
    Judges,
    SimulatedJudge,
    SimulationOptions,
    System,
    Topic,
    assign_topics,
    judged_topics,
    make_judges,
    make_papers,
    per_query,
    simulate_returns,
    summarise_queries,
)
from citebed.judging.store.campaign_store import Transaction
from citebed.judging.store.judgements import Source
from citebed.judging.store.schema import forms, items, now, people, references
from citebed.retrieval.index.index import open_index
from citebed.runs.reader import as_run, as_runs
from citebed.runs.tables import Run
from citebed.text.normalise import fold
from citebed.wording import count, printable

VIA = "simulated"
"""The value of ``via`` of simulated answers."""
TITLE = "SIMULATED campaign: no real person is asked"
_MOST_SHARED = 5


@dataclass(frozen=True)
class SimulationResult:
    """The tables of a simulated campaign, with ``expected`` and ``drawn``.

    All tables have a column ``simulated``. ``queries`` has a row per query with both phases.
    """

    query_set: str
    options: SimulationOptions
    tables: dict[str, pl.DataFrame]
    queries: pl.DataFrame
    folder: Path | None = None

    @property
    def expected(self) -> pl.DataFrame:
        """Means of judgements and relevant documents per query, with intervals."""
        return self.tables["expected"]

    @property
    def drawn(self) -> pl.DataFrame:
        """Numbers of forms and queries over random draws of the responding judges."""
        return self.tables["drawn"]

    def __repr__(self) -> str:
        asked, done = count(self.options.judges, "judge"), count(self.queries.height, "query")
        return f"<SIMULATED campaign of {asked}: {done} with both phases>"


def simulate(
    collection: str | Path | Collection,
    query_set: str | None = None,
    options: SimulationOptions | None = None,
    *,
    folder: str | Path | None = None,
) -> SimulationResult:
    """Simulate a campaign on the judged queries of a collection and store it in ``folder``."""
    opened, chosen = open_collection(collection), options or SimulationOptions()
    name, topics = judged_topics(opened, query_set)
    dealt = assign_topics(topics, chosen)
    with _place(folder) as place:
        campaign = _new(place, opened, chosen)
        papers = make_papers(dealt, opened, chosen)
        add_papers(campaign, papers)
        judges = make_judges(dealt, topics, chosen, campaign.settings)
        _answer(campaign, judges, 1, chosen)
        with campaign.reading() as tx:
            by_query = {each.query_id: judges[each.person] for each in all_questions(tx)}
        _search_by_hand(campaign, by_query, chosen)
        _pool(campaign, by_query, chosen)
        _answer(campaign, judges, 2, chosen)
        with campaign.reading() as tx:
            queries = per_query(judged_queries(tx), by_query)
        more = {
            "expected": summarise_queries(queries),
            "drawn": simulate_returns(papers, judges, chosen),
        }
        tables = campaign.tables() | mark_simulated(more)
        campaign.database.close()
    queries = queries.with_columns(simulated=True)
    return SimulationResult(name, chosen, tables, queries, Path(folder) if folder else None)


@contextmanager
def _place(folder: str | Path | None) -> Iterator[Path]:
    """Yield the folder for the campaign; remove it again if the simulation fails."""
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="citebed-") as made:
            yield Path(made) / "simulated"
        return
    place = Path(folder)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise CitebedError(
            f"'{printable(place)}' already exists. Name a new folder for the simulated campaign."
        )
    try:
        yield place
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise


def _new(folder: Path, collection: Collection, options: SimulationOptions) -> Campaign:
    """Start a campaign whose secret comes from the seed: the order of lists depends on it."""
    secret = hashlib.sha256(f"simulated {options.seed}".encode()).hexdigest()
    campaign = new_campaign(
        folder,
        collection,
        database=str(folder.resolve() / "campaign.sqlite"),
        simulated=True,
        secret=secret,
        title=TITLE,
        organiser="Nobody (simulated)",
        contact="organiser@example.invalid",
        pool_size=options.pool,
    )
    # A simulation can be repeated, so it need not wait for the disk.
    event.listen(campaign.database.engine, "connect",
                 lambda connection, _: connection.execute("PRAGMA synchronous=OFF"))  # fmt: skip
    campaign.database.close()
    return campaign


# --- answers ----------------------------------------------------------------------------------


def _answer(
    campaign: Campaign, judges: Mapping[str, SimulatedJudge], phase: int, options: SimulationOptions
) -> None:
    """Invite all authors who are due and record the answers of those who respond."""
    campaign.invite(["text"], on=date.max)
    share = options.response if phase == 1 else options.response_two
    chosen = (
        select(forms, people.c.name)
        .join(people, people.c.id == forms.c.person_id)
        .where(forms.c.campaign_id == campaign.id, forms.c.phase == phase)
    )
    with campaign.writing() as tx:
        rows = tx.execute(chosen.order_by(forms.c.id)).all()
        drawn = {form.name: options.chance("response", phase, form.name) for form in rows}
        for form in (each for each in rows if drawn[each.name].random() < share):
            answers = judges[form.name].answers(form.code, phase, _listed(tx, form))
            source = Source(form.person_id, form.id, VIA, now())
            record_answers(tx, form, answers, source)
        apply_rules(tx)
        if phase == 1:
            close_phase_one(tx)


def _listed(tx: Transaction, form: FormRow) -> dict[int, str]:
    """Return the documents of a form by number; a simulated form has one question."""
    if form.phase == 1:
        mine = references.c.paper_id == form.paper_id
        chosen = select(references.c.number, references.c.doc_id).where(mine)
        return {row.number: row.doc_id for row in tx.execute(chosen)}
    numbers = {item: number for (_, number), item in form_items(tx, form).items()}
    chosen = select(items.c.id, items.c.doc_id).where(items.c.id.in_(numbers))
    return {numbers[row.id]: row.doc_id for row in tx.execute(chosen)}


# --- phase two --------------------------------------------------------------------------------


def _search_by_hand(campaign: Campaign, judges: Judges, options: SimulationOptions) -> None:
    """Search manually for each question and mark results, with mistakes (``skill``)."""
    if not options.effort:
        return
    least = campaign.settings.relevant_from
    with campaign.reading() as tx:
        titles = {
            question.query_id: [
                cited.entry.title
                for cited in judged_references(tx, question)
                if (cited.value or 0) >= least
            ]
            for question in live_questions(tx)
        }
    index = open_index(campaign.collection)
    for query_id, relevant in titles.items():
        tried = search_texts(judges[query_id].topic.text, relevant, index.document_frequency)
        _mark_results(campaign, query_id, tried, judges[query_id].topic, options)


def _mark_results(
    campaign: Campaign,
    query_id: str,
    tried: Sequence[str],
    topic: Topic,
    options: SimulationOptions,
) -> None:
    """Examine the same number of results of each search, each document once."""
    chance, seen = options.chance("desk", query_id), set[str]()
    for text in tried:
        search, hits = campaign.search(query_id, text, k=math.ceil(options.effort / len(tried)))
        for hit in (hit for hit in hits if not hit.cited and hit.doc_id not in seen):
            seen.add(hit.doc_id)
            right = chance.random() < options.skill
            if (hit.doc_id in topic.relevant) is right:
                campaign.mark(query_id, hit.doc_id, search=search)


def _pool(campaign: Campaign, judges: Judges, options: SimulationOptions) -> None:
    """Pool the given systems, by default the models of the paper."""
    with campaign.reading() as tx:
        queries = unpooled_questions(tx)
        judged = build_qrels(tx, "j1")
    if not queries:
        return
    models, runs = _systems(judges, options.systems)
    if models:
        runs += automatic_runs(campaign.collection, queries, judged, models)
    chosen = {"method": options.method, "seed": options.seed}
    campaign.pool(runs or None, options.pool, **chosen)


def _systems(judges: Judges, systems: tuple[System, ...]) -> tuple[dict[str, str], list[Run]]:
    """Return the models by name, and the runs under the campaign's query ids."""
    models = [each for each in systems if isinstance(each, str) and not names_file(each)]
    files = [each for each in systems if each not in models]
    names = [(judge.topic.query_id, query_id) for query_id, judge in judges.items()]
    renamed = pl.DataFrame(names, ["topic", "query_id"], orient="row")
    runs = [_rename_queries(run, renamed) for run in as_runs(files)] if files else []
    return {model: model for model in models}, runs


def _rename_queries(run: Run, names: pl.DataFrame) -> Run:
    table = run.table.rename({"query_id": "topic"}).join(names, on="topic").drop("topic")
    if names.height and not table.height:
        raise CitebedError(
            f"the run '{run.name}' has no query of this simulation. Use runs for the simulated "
            "query set."
        )
    return as_run(table.select("query_id", "doc_id", "score"), run.name)


def search_texts(
    question: str, relevant: Sequence[str], frequency: Callable[[str], int]
) -> list[str]:
    """Return the texts of an organiser's manual searches for a question.

    The organisers of the paper began with the whole question, then tried refinements and
    alternatives, guided by the author's judgements of phase one. The simulation tries four texts:
    the whole question; the rarer half of its words; the title of the best graded reference; and
    the rarer words with words that titles of relevant references share. That people try these
    four and examine equally many results of each is an assumption.

    ``relevant`` are titles, the best graded first. ``frequency`` returns the number of documents
    with a word, 0 for a word that is not indexed.
    """
    words = _searchable(question, frequency)
    rare = sorted(words, key=frequency)[: (len(words) + 1) // 2]
    counts = Counter(word for title in relevant for word in _searchable(title, frequency))
    shared = [word for word, times in counts.most_common() if times > 1 and word not in rare]
    feedback = " ".join([*rare, *shared[:_MOST_SHARED]]) if shared else ""
    tried = (question, " ".join(rare), relevant[0] if relevant else "", feedback)
    return list(dict.fromkeys(text for text in map(fold, tried) if text))


def _searchable(text: str, frequency: Callable[[str], int]) -> list[str]:
    """Return the distinct words of a text that occur in documents."""
    words = (word.strip(".,;:?!()[]\"'").lower() for word in text.split())
    return list(dict.fromkeys(word for word in words if word and frequency(word)))
