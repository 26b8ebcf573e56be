"""What a personal link opens: one form, while it lives; revoking a link, and giving a new one."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from sqlalchemy import Connection, select, update

from citebed.errors import CitebedError
from citebed.judging.asking.assigning import Form, form_by_code
from citebed.judging.asking.links import code_of, token
from citebed.judging.store.handle import CampaignStore
from citebed.judging.store.schema import forms, now


class LinkRefused(CitebedError):
    """A link that opens nothing; ``why`` is for the organiser, not for whoever holds it."""

    def __init__(self, why: str, form_id: int | None = None) -> None:
        super().__init__("this link does not open a list.")
        self.why = why
        self.form_id = form_id


def form_of_link(store: CampaignStore, connection: Connection, given: str) -> Form:
    """The form that a link's token opens; a link that was renewed since opens nothing."""
    found = forms_of_links(store, connection, [given])[given]
    if isinstance(found, LinkRefused):
        raise found
    return found


def forms_of_links(
    store: CampaignStore, connection: Connection, given: Collection[str]
) -> dict[str, Form | LinkRefused]:
    """The forms that tokens open, or why one opens none."""
    at = now()
    codes = {each: code_of(store, each, at) for each in set(given)}
    wanted = [code for code in codes.values() if code is not None]
    mine = (forms.c.campaign_id == store.id) & forms.c.code.in_(wanted)
    rows = connection.execute(select(forms).where(mine)) if wanted else ()
    known = {row.code: row for row in rows}
    return {each: _opened(store, each, code, known.get(code)) for each, code in codes.items()}


def _opened(
    store: CampaignStore, given: str, code: str | None, form: Form | None
) -> Form | LinkRefused:
    if code is None:
        return LinkRefused("forged, altered, expired or of another campaign")
    if form is None:
        return LinkRefused("there is no such form")
    if form.revoked_at is not None:
        return LinkRefused("revoked", form.id)
    if form.expires_at <= now():
        return LinkRefused("expired", form.id)
    if given != token(store, form.code, form.expires_at):
        return LinkRefused("another link was given since", form.id)
    return form


def revoke_link(store: CampaignStore, code: str, who: str = "organiser") -> None:
    """From now on the links of a form open nothing; what was answered stays."""
    with store.writing() as connection:
        form = _form(store, connection, code)
        if form.revoked_at is None:
            mine = forms.c.id == form.id
            connection.execute(update(forms).where(mine).values(revoked_at=now()))
            store.log(connection, "revoked", who, form.id)


def renew_link(store: CampaignStore, code: str, who: str = "organiser") -> str:
    """Give a form a new link that lives as long as a first one does, and tell it."""
    with store.writing() as connection:
        form = _form(store, connection, code)
        until = now() + timedelta(days=store.settings.open_days)
        # A link says when it ends, to the second: a new one must differ from the one before.
        if int(until.timestamp()) <= int(form.expires_at.timestamp()):
            until = form.expires_at + timedelta(seconds=1)
        mine = forms.c.id == form.id
        connection.execute(update(forms).where(mine).values(revoked_at=None, expires_at=until))
        store.log(connection, "renewed", who, form.id)
    return link_of(store, token(store, form.code, until))


def link_of(store: CampaignStore, signed: str) -> str:
    """The address of a judge's page."""
    return f"{store.settings.address.rstrip('/')}/{store.name}/judge/{signed}"


def _form(store: CampaignStore, connection: Connection, code: str) -> Form:
    form = form_by_code(store, connection, code)
    if form is None:
        raise CitebedError(f"there is no form {code[:40]!r} in this campaign.")
    return form
