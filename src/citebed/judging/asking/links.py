"""Personal links: signed, they expire, and one that was revoked opens nothing."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from datetime import datetime

from citebed.judging.store.handle import CampaignStore

_ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"  # none of its letters is taken for a digit


CODE = re.compile(rf"\b[{_ALPHABET}]{{4}}(?:-[{_ALPHABET}]{{4}}){{3}}\b")


def new_code() -> str:
    """A code for a form: short enough to be typed, too long to be guessed (78 bits)."""
    text = "".join(secrets.choice(_ALPHABET) for _ in range(16))
    return "-".join(text[at : at + 4] for at in range(0, 16, 4))


def token(store: CampaignStore, code: str, expires_at: datetime) -> str:
    """What stands in a personal link: the form's code, when it expires, and the signature."""
    payload = f"{code}.{int(expires_at.timestamp()):x}"
    return f"{payload}.{_signature(store, payload)}"


def code_of(store: CampaignStore, given: str, at: datetime) -> str | None:
    """The code of the form that a token opens; ``None`` if it is forged or expired."""
    payload, _, signature = given.rpartition(".")
    given_bytes = signature.encode("utf-8", "surrogatepass")
    if not hmac.compare_digest(_signature(store, payload).encode(), given_bytes):
        return None
    code, _, expiry = payload.partition(".")
    return code if at.timestamp() < int(expiry, 16) else None


def _signature(store: CampaignStore, payload: str) -> str:
    message = f"citebed link {store.name} {payload}".encode("utf-8", "surrogatepass")
    digest = hmac.digest(store.secret, message, hashlib.sha256)
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
