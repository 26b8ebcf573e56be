"""A backup taken while judges work has all that was acknowledged before it began."""

from __future__ import annotations

import threading
import time
from functools import partial
from pathlib import Path

from tests.campaigns import save
from tests.unit.judging.conftest import TODAY, form_row

import citebed
from citebed.judging import Campaign, new_campaign, restore_campaign
from citebed.judging.assignments import assign_phase_one, form_items
from citebed.judging.judgements import Source, Verdict
from citebed.judging.responses import state_question
from citebed.judging.store.schema import judgements, now

JUDGES = 20


def _papers(path: Path) -> Path:
    rows = [f"p{n},Paper {n},Judge {n} <j{n}@example.org>,a; b; c; d" for n in range(JUDGES)]
    path.write_text("paper_id,title,authors,references\n" + "\n".join(rows) + "\n")
    return path


def _judging(
    campaign: Campaign, form_id: int, acknowledged: list[int], stop: threading.Event
) -> None:
    """Change one's mind over and over, and note what was acknowledged."""
    with campaign.writing() as tx:
        form = form_row(tx, form_id)
        source = Source(form.person_id, form.id, "web", now())
        state_question(tx, form, 1, f"Question {form_id}?", source)
        known = sorted(form_items(tx, form).values())
    number = 0
    while not stop.is_set():
        verdict = Verdict(known[number % len(known)], 1 + number % 4, f"{number}")
        at = Source(form.person_id, form.id, "web", now())
        saved = campaign.run_with_retry(partial(save, source=at, verdict=verdict))
        acknowledged.append(saved.judgement_id)
        number += 1


def test_a_backup_has_what_was_acknowledged_before_it_began(
    demo: citebed.Workbench, tmp_path: Path, url: str
) -> None:
    campaign = new_campaign(tmp_path / "cr26", demo, _papers(tmp_path / "p.csv"), database=url)
    made = assign_phase_one(campaign, TODAY)
    acknowledged: list[int] = []
    stop = threading.Event()
    threads = [
        threading.Thread(target=_judging, args=(campaign, form, acknowledged, stop))
        for form in made
    ]
    for thread in threads:
        thread.start()
    try:
        while len(acknowledged) < 5 * JUDGES:
            time.sleep(0.01)
        before = set(acknowledged)
        campaign.backup(tmp_path / "b.jsonl.gz")
        while len(acknowledged) == len(before):
            time.sleep(0.01)  # they work on
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    restored = restore_campaign(tmp_path / "b.jsonl.gz", tmp_path / "again", demo,
                                str(tmp_path / "again.sqlite"))  # fmt: skip
    with restored.reading() as tx:
        there = {row.id for row in tx.execute(judgements.select())}
    assert before <= there
    assert there <= set(acknowledged)
