"""Guessing an organiser's password: it is stopped soon, and judges are not kept waiting."""

from __future__ import annotations

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.testclient import TestClient
from tests.sampling import sized
from tests.unit.web.conftest import (
    NAME,
    PASSWORD,
    Judge,
    csrf_in,
    log_in,
    refusals,
)

from citebed.judging import Campaign
from citebed.judging import organisers as organisers_module
from citebed.judging.organisers import MAX_WRONG_TRIES
from citebed.judging.store.schema import now
from citebed.web.campaigns import organiser_pages
from citebed.web.campaigns.site import MOST_LOGINS

GUESSES = sized(100, 1000)


@pytest.mark.usefixtures("organiser")
def test_many_guesses_at_a_password_are_stopped(
    client: TestClient, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed = []

    def wrong(*given: str) -> bool:
        hashed.append(given)
        return False

    monkeypatch.setattr(organisers_module, "_is_right", wrong)
    csrf = csrf_in(client.get("/cr/login").text)
    fields = {"csrf": csrf, "name": NAME}
    begun = time.perf_counter()

    def guess(number: int) -> int:
        data = {**fields, "password": f"guess {number}"}
        return int(client.post("/cr/login", data=data).status_code)

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(guess, range(GUESSES)))
    assert sorted(set(told)) == [401, 429]
    assert told.count(401) == len(hashed) == MAX_WRONG_TRIES
    assert time.perf_counter() - begun < 60
    monkeypatch.setattr(organisers_module, "_is_right", lambda *_: True)
    assert log_in(client).status_code == 429  # not even the right one is looked at now
    assert 0 < refusals(campaign).count("too many wrong passwords") <= 60


@pytest.mark.usefixtures("organiser")
def test_guesses_from_everywhere_at_once_leave_room_for_judges(
    client: TestClient, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = threading.Event()
    monkeypatch.setattr(organiser_pages, "check_password", lambda *_: end.wait(30) and None)
    csrf = csrf_in(client.get("/cr/login").text)

    def guess(number: int) -> int:
        data = {"csrf": csrf, "name": f"name {number}", "password": "x"}
        return int(client.post("/cr/login", data=data).status_code)

    with ThreadPoolExecutor(60) as pool:
        told = [pool.submit(guess, number) for number in range(60)]
        wait_for = time.monotonic() + 20
        while sum(each.done() for each in told) < 60 - MOST_LOGINS and time.monotonic() < wait_for:
            time.sleep(0.01)
        page = client.get(judge.page)
        end.set()
    assert page.status_code == 200, page.text
    assert Counter(each.result() for each in told) == {401: MOST_LOGINS, 429: 60 - MOST_LOGINS}


def test_guesses_for_many_names_and_from_many_places(campaign: Campaign) -> None:
    check = organisers_module.check_password
    for number in range(MAX_WRONG_TRIES):
        assert check(campaign.database, f"name {number}", "x", "10.0.0.1") is None
    with pytest.raises(organisers_module.TooManyTries):
        check(campaign.database, "one more", "x", "10.0.0.1")
    for number in range(MAX_WRONG_TRIES):
        assert check(campaign.database, "Olga", "x", f"10.0.1.{number}") is None
    with pytest.raises(organisers_module.TooManyTries):
        check(campaign.database, "Olga", "x", "10.0.2.1")


def test_addresses_of_one_place_count_together(campaign: Campaign) -> None:
    check = organisers_module.check_password
    for number in range(MAX_WRONG_TRIES):
        assert check(campaign.database, f"name {number}", "x", f"2001:db8::{number:x}") is None
    with pytest.raises(organisers_module.TooManyTries):
        check(campaign.database, "one more", "x", "2001:db8::ffff:1")
    assert check(campaign.database, "one more", "x", "2001:db8:0:1::1") is None
    assert check(campaign.database, "one more", "x", "no\0address") is None


@pytest.mark.usefixtures("organiser")
def test_a_wrong_name_takes_as_long_as_a_wrong_password(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    look = organisers_module._is_right

    def watched(hashed: str, word: str) -> bool:
        seen.append(hashed)
        return look(hashed, word)

    monkeypatch.setattr(organisers_module, "_is_right", watched)
    for name in (NAME, "nobody"):
        assert organisers_module.check_password(campaign.database, name, "wrong", "x") is None
    assert len(seen) == 2
    assert all(hashed.startswith("$argon2id$") for hashed in seen)


@pytest.mark.usefixtures("organiser")
def test_wrong_passwords_age(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(MAX_WRONG_TRIES):
        organisers_module.check_password(campaign.database, NAME, "x" * 2000, "x")
    later = now() + organisers_module.WINDOW
    monkeypatch.setattr(organisers_module, "now", lambda: later)
    assert organisers_module.check_password(campaign.database, NAME, PASSWORD, "x") is not None
