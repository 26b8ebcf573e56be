"""Small campaigns for tests: a few papers, authors who answered, lists of phase two."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

from sqlalchemy import Row, select

from citebed.collection import import_sources
from citebed.errors import CitebedError
from citebed.judging.assignments import (
    assign_phase_one,
    assign_phase_two,
    form_items,
    make_token,
)
from citebed.judging.campaign import Campaign, new_campaign
from citebed.judging.judgements import SaveResult, Source, Verdict, save_all
from citebed.judging.responses import state_question
from citebed.judging.store.campaign_store import CampaignStore, Transaction
from citebed.judging.store.database import open_database
from citebed.judging.store.schema import CURRENT, forms, judgements, now

AUTHORS = ("Ada Bell", "Ben Carr", "Cleo O'Dée", "Dan Eco")
QUESTION = "How can we rank documents by the probability that they are relevant?"
LISTED = 12


def write_collection(folder: Path, size: int = 40) -> Path:
    """Documents d1, d2 … with titles and abstracts."""
    entries = [
        f"@article{{d{n}, title={{Ranking documents in study {n}}}, author={{Bell, Ada and "
        f"Carr, Ben}}, year={{{1970 + n % 40}}}, url={{https://example.org/{n}}}, "
        f"abstract={{Study {n} ranks documents by probability, with weights of terms and the "
        f"feedback of readers, in collection {n}.}}}}\n"
        for n in range(1, size + 1)
    ]
    (folder / "docs.bib").write_text("".join(entries))
    import_sources(folder / "collection", [folder / "docs.bib"])
    return folder / "collection"


def write_papers(path: Path, authors: Sequence[str] = AUTHORS) -> Path:
    """A source paper for each author, each with five references in the collection and one not."""
    rows = ["paper_id,title,year,authors,references\n"]
    for number, name in enumerate(authors, 1):
        cited = ";".join([*(f"d{n}" for n in range(number, number + 5)), "A book elsewhere"])
        mail = f"a{number}@example.org"
        rows.append(f'p{number},Paper {number} on ranking,2020,"{name} <{mail}>","{cited}"\n')
    path.write_text("".join(rows), encoding="utf-8")
    return path


def small_campaign(
    folder: Path, authors: Sequence[str] = AUTHORS, *, database: str | None = None, name: str = "cr"
) -> Campaign:
    """A campaign whose authors have forms of phase one."""
    collection = folder / "collection"
    if not collection.exists():
        write_collection(folder)
    papers = write_papers(folder / f"{name}.csv", authors)
    campaign = new_campaign(
        folder / name, collection, papers, database=database, contact="desk@example.org"
    )
    assign_phase_one(campaign, date.today())
    return campaign


def answer_phase_one(campaign: Campaign) -> None:
    """Every author states one question and grades all references but the last with 3."""
    mine = (forms.c.campaign_id == campaign.id) & (forms.c.phase == 1)
    with campaign.writing() as tx:
        for form in tx.execute(select(forms).where(mine).order_by(forms.c.id)).all():
            source = Source(form.person_id, form.id, "text", now())
            state_question(tx, form, 1, QUESTION, source)
            items = list(form_items(tx, form).values())
            for item in items[:-1]:
                save(tx, source, Verdict(item, 3))


def with_lists(campaign: Campaign, size: int = LISTED) -> Campaign:
    """Every author has a list of so many documents to judge in phase two."""
    answer_phase_one(campaign)
    queries = campaign.questions["query_id"].to_list()
    ranked = {f"d{40 - n}": 40.0 - n for n in range(30)}
    campaign.pool({"r": dict.fromkeys(queries, ranked)}, size)
    assign_phase_two(campaign)
    return campaign


def copied(campaign: Campaign, folder: Path) -> Campaign:
    """The same campaign once more, in a database of its own: quicker than a new one."""
    at = folder / "copy.sqlite"
    with closing(sqlite3.connect(campaign.database.engine.url.database or "")) as connection:
        connection.execute("VACUUM INTO ?", (str(at),))
    return Campaign(open_database(at), campaign.name, folder / campaign.name)


def links(store: CampaignStore, phase: int = 2) -> dict[str, str]:
    """Tokens by the codes of the forms of a phase."""
    mine = (forms.c.campaign_id == store.id) & (forms.c.phase == phase)
    with store.reading() as tx:
        rows = tx.execute(select(forms).where(mine).order_by(forms.c.id)).all()
    return {row.code: make_token(store, row.code, row.expires_at) for row in rows}


def listed_items(store: CampaignStore, code: str) -> list[int]:
    """The items of a form, in its order."""
    with store.reading() as tx:
        form = tx.execute(select(forms).where(forms.c.code == code)).one()
        return list(form_items(tx, form).values())


def save(tx: Transaction, source: Source, verdict: Verdict) -> SaveResult:
    """Add a judgement, unless it exists or its assessor judged otherwise later."""
    [outcome] = save_all(tx, [(source, verdict)])
    if isinstance(outcome, CitebedError):
        raise outcome
    return outcome


def current(tx: Transaction, person_id: int, item_id: int) -> Row[Any] | None:
    """The last word of a judge on an item."""
    mine = (judgements.c.person_id == person_id) & (judgements.c.item_id == item_id)
    return tx.execute(select(judgements).where(mine, CURRENT)).first()
