"""The titles of a campaign's tables, and its counts as a line of text."""

from __future__ import annotations

from sqlalchemy import func, select

from citebed.judging.store.campaign_store import Transaction
from citebed.judging.store.schema import (
    CURRENT,
    authorships,
    forms,
    judgements,
    papers,
    people,
    questions,
)
from citebed.wording import count

TITLES = {
    "returns": "Invitations, returns and exclusions",
    "reformulations": "Reformulations by class",
    "comparison": "Comparison of test collections, means per query",
    "sources": "Judged documents per query by source (T1+2)",
    "cranfield": "Judged documents per query by source, compared with Cranfield 2",
    "times": "Seconds per judged paper, on the web",
    "strengths": "Strengths of compared papers (0: an average paper), with 95 % intervals",
    "preference_agreement": "Agreement between judges on pairs",
    "position": "How often the left paper won",
    "expected": "Expected results per query (T1+2), with 95 % intervals",
    "drawn": "Number of responses over 1,000 random draws",
}


def campaign_counts(tx: Transaction) -> str:
    """Return the numbers of papers, people, forms, questions and judgements as one line."""
    named = {"paper": papers, "author": people, "form": forms, "question": questions}
    chosen = {
        noun: select(func.count(table.c.id)).where(table.c.campaign_id == tx.id)
        for noun, table in named.items()
    }
    is_author = select(authorships.c.id).where(authorships.c.person_id == people.c.id).exists()
    others = int(tx.scalar(chosen["author"].where(~is_author)) or 0)
    chosen["author"] = chosen["author"].where(is_author)
    judged = select(func.count(judgements.c.id)).join(forms, forms.c.id == judgements.c.form_id)
    chosen["judgement"] = judged.where(forms.c.campaign_id == tx.id, CURRENT)
    numbers = [count(int(tx.scalar(each) or 0), noun) for noun, each in chosen.items()]
    if others:
        numbers.insert(2, count(others, "second judge"))
    simulated = " (simulated)" if tx.store.simulated else ""
    return f"{tx.store.name}{simulated}: {', '.join(numbers)}"
