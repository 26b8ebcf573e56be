"""Codes of forms and personal links: signed, they expire; one that was revoked opens nothing."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row, select, update

from citebed.errors import CitebedError
from citebed.files.secret_files import is_same_secret
from citebed.judging.store.campaign_store import CampaignStore, Transaction
from citebed.judging.store.schema import forms, now

_ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"  # none of its letters is taken for a digit

FormRow = Row[Any]
"""A row of the table of forms."""
CODE = re.compile(rf"\b[{_ALPHABET}]{{4}}(?:-[{_ALPHABET}]{{4}}){{3}}\b")


def new_code() -> str:
    """A code for a form: short enough to be typed, too long to be guessed (78 bits)."""
    text = "".join(secrets.choice(_ALPHABET) for _ in range(16))
    return "-".join(text[at : at + 4] for at in range(0, 16, 4))


def make_token(store: CampaignStore, code: str, expires_at: datetime) -> str:
    """What stands in a personal link: the form's code, when it expires, and the signature."""
    payload = f"{code}.{int(expires_at.timestamp()):x}"
    return f"{payload}.{_signature(store, payload)}"


def verify_token(store: CampaignStore, signed: str, at: datetime) -> str | None:
    """The code of the form that a token opens; ``None`` if it is forged or expired."""
    payload, _, signature = signed.rpartition(".")
    if not is_same_secret(signature, _signature(store, payload)):
        return None
    code, _, expiry = payload.partition(".")
    return code if at.timestamp() < int(expiry, 16) else None


def _signature(store: CampaignStore, payload: str) -> str:
    message = f"citebed link {store.name} {payload}".encode("utf-8", "surrogatepass")
    digest = hmac.digest(store.secret, message, hashlib.sha256)
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def form_by_code(tx: Transaction, code: str) -> FormRow | None:
    """The form of that code in this campaign."""
    mine = (forms.c.campaign_id == tx.id) & (forms.c.code == code.strip().upper())
    return tx.execute(select(forms).where(mine)).first()


class LinkRefused(CitebedError):
    """A link that opens nothing; ``why`` is for the organiser, not for whoever holds it."""

    def __init__(self, why: str, form_id: int | None = None) -> None:
        super().__init__("this link does not open a list.")
        self.why = why
        self.form_id = form_id


def open_link(tx: Transaction, signed: str) -> FormRow:
    """The form that a link's token opens; a link that was renewed since opens nothing."""
    form = open_links(tx, [signed])[signed]
    if isinstance(form, LinkRefused):
        raise form
    return form


def open_links(tx: Transaction, signed: Collection[str]) -> dict[str, FormRow | LinkRefused]:
    """The forms that tokens open, or why one opens none."""
    at = now()
    codes = {each: verify_token(tx.store, each, at) for each in set(signed)}
    wanted = [code for code in codes.values() if code is not None]
    mine = (forms.c.campaign_id == tx.id) & forms.c.code.in_(wanted)
    rows = tx.execute(select(forms).where(mine)) if wanted else ()
    known = {row.code: row for row in rows}
    return {each: _open(tx.store, each, code, known.get(code)) for each, code in codes.items()}


def _open(
    store: CampaignStore, signed: str, code: str | None, form: FormRow | None
) -> FormRow | LinkRefused:
    if code is None:
        return LinkRefused("forged, altered, expired or of another campaign")
    if form is None:
        return LinkRefused("there is no such form")
    if form.revoked_at is not None:
        return LinkRefused("revoked", form.id)
    if form.expires_at <= now():
        return LinkRefused("expired", form.id)
    if signed != make_token(store, form.code, form.expires_at):
        return LinkRefused("another link was given since", form.id)
    return form


def revoke_link(store: CampaignStore, code: str, who: str = "organiser") -> None:
    """From now on the links of a form open nothing; what was answered stays."""
    with store.writing() as tx:
        form = _load_form(tx, code)
        if form.revoked_at is None:
            mine = forms.c.id == form.id
            tx.execute(update(forms).where(mine).values(revoked_at=now()))
            tx.log("revoked", who, form.id)


def renew_link(store: CampaignStore, code: str, who: str = "organiser") -> str:
    """Give a form a new link that lives as long as a first one does, and tell it."""
    with store.writing() as tx:
        form = _load_form(tx, code)
        until = now() + timedelta(days=store.settings.open_days)
        # A link says when it ends, to the second: a new one must differ from the one before.
        if int(until.timestamp()) <= int(form.expires_at.timestamp()):
            until = form.expires_at + timedelta(seconds=1)
        mine = forms.c.id == form.id
        tx.execute(update(forms).where(mine).values(revoked_at=None, expires_at=until))
        tx.log("renewed", who, form.id)
    return make_link(store, make_token(store, form.code, until))


def make_link(store: CampaignStore, signed: str) -> str:
    """The address of a judge's page."""
    return f"{store.settings.address.rstrip('/')}/{store.name}/judge/{signed}"


def _load_form(tx: Transaction, code: str) -> FormRow:
    form = form_by_code(tx, code)
    if form is None:
        raise CitebedError(f"there is no form {code[:40]!r} in this campaign.")
    return form
