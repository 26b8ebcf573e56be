"""Form codes and personal links, which are signed, expire and can be revoked."""

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

_ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"  # without letters that look like digits

FormRow = Row[Any]
"""A row of the table of forms."""
CODE = re.compile(rf"\b[{_ALPHABET}]{{4}}(?:-[{_ALPHABET}]{{4}}){{3}}\b")


def new_code() -> str:
    """Return a new form code, which can be typed but not guessed (78 bits)."""
    text = "".join(secrets.choice(_ALPHABET) for _ in range(16))
    return "-".join(text[at : at + 4] for at in range(0, 16, 4))


def make_token(store: CampaignStore, code: str, expires_at: datetime) -> str:
    """Return the token of a personal link: form code, expiry time and signature."""
    payload = f"{code}.{int(expires_at.timestamp()):x}"
    return f"{payload}.{_signature(store, payload)}"


def verify_token(store: CampaignStore, signed: str, at: datetime) -> str | None:
    """Return the form code of a token; ``None`` if it is forged or expired."""
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
    """Return the form of this campaign with this code."""
    mine = (forms.c.campaign_id == tx.id) & (forms.c.code == code.strip().upper())
    return tx.execute(select(forms).where(mine)).first()


class LinkRefused(CitebedError):
    """A link that was refused; ``why`` is for the organiser, not for the visitor."""

    def __init__(self, why: str, form_id: int | None = None) -> None:
        super().__init__("this link does not open a list.")
        self.why = why
        self.form_id = form_id


def open_link(tx: Transaction, signed: str) -> FormRow:
    """Return the form of a link's token; raise `LinkRefused` for an invalid or replaced link."""
    form = open_links(tx, [signed])[signed]
    if isinstance(form, LinkRefused):
        raise form
    return form


def open_links(tx: Transaction, signed: Collection[str]) -> dict[str, FormRow | LinkRefused]:
    """Return the form of each token, or why the token was refused."""
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
    """Revoke the links of a form; its answers stay."""
    with store.writing() as tx:
        form = _load_form(tx, code)
        if form.revoked_at is None:
            mine = forms.c.id == form.id
            tx.execute(update(forms).where(mine).values(revoked_at=now()))
            tx.log("revoked", who, form.id)


def renew_link(store: CampaignStore, code: str, who: str = "organiser") -> str:
    """Return a new link of a form, with the full lifetime; old links stop working."""
    with store.writing() as tx:
        form = _load_form(tx, code)
        until = now() + timedelta(days=store.settings.open_days)
        # Links contain their expiry in seconds, so the new time must differ from the old one.
        if int(until.timestamp()) <= int(form.expires_at.timestamp()):
            until = form.expires_at + timedelta(seconds=1)
        mine = forms.c.id == form.id
        tx.execute(update(forms).where(mine).values(revoked_at=None, expires_at=until))
        tx.log("renewed", who, form.id)
    return make_link(store, make_token(store, form.code, until))


def make_link(store: CampaignStore, signed: str) -> str:
    """Return the URL of a judge's page."""
    return f"{store.settings.address.rstrip('/')}/{store.name}/judge/{signed}"


def _load_form(tx: Transaction, code: str) -> FormRow:
    form = form_by_code(tx, code)
    if form is None:
        raise CitebedError(f"there is no form {code[:40]!r} in this campaign.")
    return form
