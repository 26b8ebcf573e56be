"""Simulated judges: the queries that they are assigned, and their answers.

Each query of a judged collection stands for a research question. The simulated paper behind it
cites some of the relevant documents and some others. Its author follows the collection's
judgements: a document is relevant only if it was judged relevant there.

Only a simulation knows all relevant documents, so it can count how many a campaign found. A
document is found if it is relevant and its judge marked it as relevant.
"""

from __future__ import annotations

import hashlib
import math
import shutil
import tempfile
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from random import Random
from statistics import fmean, stdev
from typing import NamedTuple

import numpy as np
import polars as pl
from sqlalchemy import event, select

from citebed.collection import Collection, open_collection
from citebed.errors import CitebedError
from citebed.evaluation.statistics.intervals import mean_intervals
from citebed.files.input_files import is_existing_file
from citebed.judging.assignments import FormRow, form_items
from citebed.judging.campaign import Campaign, new_campaign
from citebed.judging.forms.sheet import Answers, Rating
from citebed.judging.judgements import Source, build_qrels
from citebed.judging.papers import (
    Author,
    DocumentLookup,
    SourcePaper,
    SourceReference,
    add_papers,
    make_entry,
)
from citebed.judging.pooling_methods import read_method
from citebed.judging.pools import unpooled_questions
from citebed.judging.questions import all_questions, apply_rules, close_phase_one, live_questions
from citebed.judging.responses import record_answers
from citebed.judging.searches import automatic_runs, judged_references
from citebed.judging.settings import CampaignSettings
from citebed.judging.store.campaign_store import Transaction
from citebed.judging.store.schema import forms, items, now, people, references
from citebed.judging.tables import JudgedQuery, judged_queries, mark_simulated, with_both_phases
from citebed.retrieval.index.index import open_index
from citebed.runs.reader import as_run, as_runs
from citebed.runs.tables import Run
from citebed.text.normalise import fold
from citebed.wording import count, printable

System = str | Path | Run
"""A run or its file, or a retrieval model as `citebed search` takes it."""


@dataclass(frozen=True)
class SimulationOptions:
    """Options of a simulated campaign.

    - ``judges``: number of invited judges.
    - ``response``, ``response_two``: probability that a judge answers in phases one and two; by
      default the response rates of the paper (85 of 500, 44 of 74).
    - ``noise``: probability that a judge reverses a judgement.
    - ``laziness``: expected share of a list, from its end, that stays unanswered.
    - ``cited``: share of the query's relevant documents that the paper cites; by default the rate
      of the paper (4.82 of 11.39). ``irrelevant``: number of other documents that it cites.
    - ``effort``: number of results that the organiser examines per query in manual searches
      (`simulation.search_texts`). ``skill``: probability that the organiser is right about one.
    - ``systems``: runs or models to pool; by default the three models of the paper.

    The paper does not report noise, laziness, effort and skill; their defaults are guesses.
    """

    pool: int = 15
    judges: int = 60
    seed: int = 0
    response: float = 85 / 500
    response_two: float = 44 / 74
    noise: float = 0.05
    laziness: float = 0.1
    cited: float = 4.82 / 11.39
    irrelevant: int = 3
    effort: int = 20
    skill: float = 0.8
    systems: tuple[System, ...] = ()
    method: str = "rounds"

    def __post_init__(self) -> None:
        for name in ("response", "response_two", "noise", "laziness", "cited", "skill"):
            if not 0 <= getattr(self, name) <= 1:
                raise CitebedError(
                    f"found {name}={getattr(self, name)}, expected a share from 0 to 1."
                )
        for name, least in {"pool": 1, "judges": 1, "irrelevant": 0, "effort": 0}.items():
            if getattr(self, name) < least:
                raise CitebedError(f"found {name}={getattr(self, name)}, expected {least} or more.")
        if not self.cited and not self.irrelevant:
            raise CitebedError("the papers would cite nothing. Increase cited or irrelevant.")
        read_method(self.method)

    def chance(self, *of: object) -> Random:
        """Return a random generator of its own for these values; it depends on the seed only."""
        return Random("/".join(map(str, (self.seed, *of))))


class Topic(NamedTuple):
    """A judged query: relevant documents with their grades, and those judged not relevant."""

    query_id: str
    text: str
    relevant: Mapping[str, int]
    others: tuple[str, ...]


def judged_topics(collection: Collection, query_set: str | None = None) -> tuple[str, list[Topic]]:
    """Return the name and the judged queries of a query set; by default the first with any."""
    here = set(collection.documents["doc_id"])
    for name in collection.query_sets if query_set is None else (query_set,):
        judged: dict[str, dict[str, int]] = {}
        for query_id, doc_id, relevance in collection.qrels(name).table.iter_rows():
            if doc_id in here:
                judged.setdefault(query_id, {})[doc_id] = relevance
        topics = []
        for query_id, text in collection.queries(name).select("query_id", "text").iter_rows():
            known = judged.get(query_id, {})
            relevant = {doc_id: value for doc_id, value in known.items() if value > 0}
            others = tuple(doc_id for doc_id in known if doc_id not in relevant)
            if relevant and text.strip():
                topics.append(Topic(query_id, text, relevant, others))
        if topics:
            return name, topics
    place = printable(collection.folder)
    what = f"the query set '{query_set}' of {place}" if query_set else place
    raise CitebedError(
        f"{what} has no query with a relevant document. Use a collection with judgements, such as "
        "Cranfield ('citebed fetch cranfield'), or import queries and qrels into this one."
    )


# --- papers -----------------------------------------------------------------------------------


class AssignedTopic(NamedTuple):
    """A query and the numbers of its judges, who are the authors of its paper."""

    label: str
    topic: Topic
    judges: tuple[int, ...]


def assign_topics(topics: Sequence[Topic], options: SimulationOptions) -> list[AssignedTopic]:
    """Give each judge a random query; surplus judges share one as co-authors."""
    mixed = options.chance("queries").sample(topics, len(topics))[: options.judges]
    everyone = range(1, options.judges + 1)
    return [
        AssignedTopic(f"query-{topic.query_id}", topic, tuple(everyone[at :: len(mixed)]))
        for at, topic in enumerate(mixed)
    ]


def judge_name(judge: int) -> str:
    """Return the name of a simulated judge."""
    return f"Judge {judge}"


def make_papers(
    dealt: Sequence[AssignedTopic], collection: Collection, options: SimulationOptions
) -> list[SourcePaper]:
    """Return the simulated papers behind the queries, with their invented authors."""
    lookup = DocumentLookup(collection)
    everything = collection.documents["doc_id"].to_list()
    return [
        SourcePaper(
            each.label,
            f"Simulated paper: {textwrap.shorten(each.topic.text, 120, placeholder=' …')}",
            authors=tuple(
                Author(judge_name(judge), f"judge{judge}@example.invalid") for judge in each.judges
            ),
            references=tuple(
                SourceReference(make_entry(number, document), document.doc_id)
                for number, doc_id in enumerate(
                    _choose_references(each.topic, everything, options), 1
                )
                if (document := lookup.document(doc_id)) is not None
            ),
        )
        for each in dealt
    ]


def _choose_references(
    topic: Topic, everything: Sequence[str], options: SimulationOptions
) -> list[str]:
    """Choose references in random order; judged documents come before unjudged ones."""
    chance = options.chance("references", topic.query_id)
    number = max(1, math.floor(options.cited * len(topic.relevant) + 0.5)) if options.cited else 0
    chosen = chance.sample(list(topic.relevant), number)
    others = chance.sample(topic.others, min(options.irrelevant, len(topic.others)))
    left = [doc for doc in everything if doc not in topic.relevant and doc not in topic.others]
    others += chance.sample(left, min(options.irrelevant - len(others), len(left)))
    chance.shuffle(chosen := [*chosen, *others])
    return chosen


# --- answers ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class SimulatedJudge:
    """A judge with a query; ``levels`` are the collection's grades, the lowest first."""

    name: str
    topic: Topic
    levels: Sequence[int]
    options: SimulationOptions
    settings: CampaignSettings
    _said: dict[str, bool] = field(default_factory=dict, init=False, repr=False, compare=False)

    def calls_relevant(self, doc_id: str) -> bool:
        """Return whether the judge calls a document relevant; repeated calls agree."""
        if doc_id not in self._said:
            chance = self.options.chance("noise", self.name, doc_id).random()
            mistaken = chance < self.options.noise
            self._said[doc_id] = (doc_id in self.topic.relevant) != mistaken
        return self._said[doc_id]

    def grade(self, doc_id: str) -> int:
        """Return the grade of phase one; the highest relevance gets the highest grade."""
        if not self.calls_relevant(doc_id):
            return 1
        least, best = self.settings.relevant_from, len(self.settings.grades)
        relevance = self.topic.relevant.get(doc_id)
        if relevance is None:
            return least
        return max(least, best - (len(self.levels) - 1 - self.levels.index(relevance)))

    def answers(self, code: str, phase: int, listed: Mapping[int, str]) -> Answers:
        """Fill in a form with these documents; a lazy judge leaves out the last ones."""
        filled = Answers(code, questions={1: self.topic.text} if phase == 1 else {})
        chance = self.options.chance("laziness", self.name, phase)
        left = sum(chance.random() < self.options.laziness for _ in listed)
        done = max(1, len(listed) - left)
        for number in sorted(listed)[:done]:
            doc_id = listed[number]
            filled.ratings[1, number] = Rating(
                self.grade(doc_id) if phase == 1 else int(self.calls_relevant(doc_id))
            )
        return filled


# --- found documents -----------------------------------------------------------------------------


DRAWS = 1000
_DRAWN = (
    "forms returned in phase one",
    "queries left (All Phase One)",
    "queries with both phases (T1+2)",
)

Judges = Mapping[str, SimulatedJudge]
"""The judge of each query, by the query's id in the campaign."""

_COUNTS = {
    "judged_one": "judgements in phase one",
    "judged_two": "judgements in phase two",
    "judged": "judgements in both",
    "found_one": "relevant documents found in phase one",
    "found_two": "relevant documents found in phase two",
    "never": "relevant documents never found",
    "wrong": "documents called relevant that are not",
}


def per_query(queries: Sequence[JudgedQuery], judges: Judges) -> pl.DataFrame:
    """Return a row per query of T1+2: judgements and found relevant documents by phase."""
    rows = []
    for query in with_both_phases(queries):
        topic = judges[query.query_id].topic
        one, two = ({d for d, yes in said.items() if yes} for said in (query.first, query.second))
        found_one, found_two = len(one & topic.relevant.keys()), len(two & topic.relevant.keys())
        judged = (len(query.first), len(query.second), len(query.first) + len(query.second))
        never = len(topic.relevant) - found_one - found_two
        wrong = len(one | two) - found_one - found_two
        rows.append((query.query_id, topic.query_id, *judged, found_one, found_two, never, wrong))
    schema = {"query_id": pl.String, "topic": pl.String, **dict.fromkeys(_COUNTS, pl.Int64)}
    return pl.DataFrame(rows, schema, orient="row")


def summarise_queries(table: pl.DataFrame) -> pl.DataFrame:
    """Return means per query with standard deviations and 95 % bootstrap intervals.

    Queries of the same topic are resampled together.
    """
    columns = [table[name].to_list() for name in _COUNTS]
    topics = table["topic"].to_list()
    limits: list[tuple[float | None, float | None]] = [(None, None)] * len(columns)
    if len(set(topics)) > 1:
        found = mean_intervals(list(zip(*columns, strict=True)), clusters=topics)
        limits = [  # none without variation
            (None, None) if math.isnan(each.low) else (max(0.0, each.low), each.high)
            for each in found
        ]
    rows = [
        (what, table.height, *_mean(values), *interval)
        for what, values, interval in zip(_COUNTS.values(), columns, limits, strict=True)
    ]
    numbers = ("mean", "deviation", "low", "high")
    schema = {"what": pl.String, "queries": pl.Int64, **dict.fromkeys(numbers, pl.Float64)}
    return pl.DataFrame(rows, schema, orient="row")


def _mean(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Return the mean and the standard deviation."""
    mean = fmean(values) if values else None
    return mean, stdev(values) if len(values) > 1 else None


def simulate_returns(
    papers: Sequence[SourcePaper], judges: Judges, options: SimulationOptions
) -> pl.DataFrame:
    """Return how many forms and queries 1,000 random draws of the responding judges give.

    The columns are mean, standard deviation, and the limits of 95 % of the draws. A co-author's
    query counts if the first author did not respond; every query needs a relevant reference.
    """
    authors_of = [
        [
            (at == 0, any(map(judges[author.name].calls_relevant, filter(None, cited))))
            for at, author in enumerate(paper.authors)
        ]
        for paper in papers
        for cited in [[each.doc_id for each in paper.references]]
    ]
    draws = []
    for number in range(DRAWS):
        chance = options.chance("draw", number)
        forms = left = both = 0
        for authors in authors_of:
            answered = [each for each in authors if chance.random() < options.response]
            forms += len(answered)
            first = any(is_first for is_first, _ in answered)
            live = sum(relevant for is_first, relevant in answered if is_first or not first)
            left += live
            both += sum(chance.random() < options.response_two for _ in range(live))
        draws.append((forms, left, both))
    rows = [
        (what, *_mean(values), *np.quantile(values, (0.025, 0.975)).tolist())
        for what, values in zip(_DRAWN, zip(*draws, strict=True), strict=True)
    ]
    schema = {"what": pl.String, **dict.fromkeys(("mean", "deviation", "low", "high"), pl.Float64)}
    return pl.DataFrame(rows, schema, orient="row")


# --- the simulation ---------------------------------------------------------------------------

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
        levels = sorted({value for topic in topics for value in topic.relevant.values()})
        judges = {
            who: SimulatedJudge(who, each.topic, levels, chosen, campaign.settings)
            for each in dealt
            for who in map(judge_name, each.judges)
        }
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
        topic, chance, seen = judges[query_id].topic, options.chance("desk", query_id), set[str]()
        tried = search_texts(topic.text, relevant, index.document_frequency)
        for text in tried:  # examine the same number of results of each search
            search, hits = campaign.search(query_id, text, k=math.ceil(options.effort / len(tried)))
            for hit in (hit for hit in hits if not hit.cited and hit.doc_id not in seen):
                seen.add(hit.doc_id)
                is_right = chance.random() < options.skill
                if (hit.doc_id in topic.relevant) is is_right:
                    campaign.mark(query_id, hit.doc_id, search=search)


def _pool(campaign: Campaign, judges: Judges, options: SimulationOptions) -> None:
    """Pool the given systems, by default the models of the paper."""
    with campaign.reading() as tx:
        queries = unpooled_questions(tx)
        judged = build_qrels(tx, "j1")
    if not queries:
        return
    models: dict[str, str] = {}
    files: list[System] = []
    for system in options.systems:
        if isinstance(system, str) and not is_existing_file(system):
            models[system] = system
        else:
            files.append(system)
    names = [(judge.topic.query_id, query_id) for query_id, judge in judges.items()]
    renamed = pl.DataFrame(names, ["topic", "query_id"], orient="row")
    runs = []
    for run in as_runs(files) if files else []:  # under the campaign's query ids
        table = run.table.rename({"query_id": "topic"}).join(renamed, on="topic").drop("topic")
        if renamed.height and not table.height:
            raise CitebedError(
                f"the run '{run.name}' has no query of this simulation. Use runs for the simulated "
                "query set."
            )
        runs.append(as_run(table.select("query_id", "doc_id", "score"), run.name))
    if models:
        runs += automatic_runs(campaign.collection, queries, judged, models)
    campaign.pool(runs or None, options.pool, method=options.method, seed=options.seed)


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
