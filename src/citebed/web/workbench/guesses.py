"""Passwords that were guessed: how many of late, and from where."""

from __future__ import annotations

import time
from collections import OrderedDict

from citebed.files.secret_files import address_block

MOST_WRONG, WINDOW = 10, 15 * 60.0
"""So many wrong passwords are looked at from one address in so many seconds."""
MOST_WAITING = 50
"""Logins that are looked at or wait at once: those of all addresses together."""
_MOST_ADDRESSES = 10_000


class Guesses:
    """Wrong passwords of late, by the address that they came from; the oldest are forgotten."""

    def __init__(self) -> None:
        self._wrong: OrderedDict[str, list[float]] = OrderedDict()
        self.waiting = 0

    def too_many(self, address: str) -> bool:
        """Whether nobody looks at a password from there now."""
        since = time.monotonic() - WINDOW
        return sum(at > since for at in self._wrong.get(address_block(address), ())) >= MOST_WRONG

    def note(self, address: str) -> None:
        """Somebody tries, which counts until it turns out to be right."""
        network = address_block(address)
        before = self._wrong.pop(network, [])[-MOST_WRONG:]
        self._wrong[network] = [*before, time.monotonic()]
        if len(self._wrong) > _MOST_ADDRESSES:
            self._wrong.popitem(last=False)

    def forget(self, address: str) -> None:
        """Somebody there knows the password."""
        self._wrong.pop(address_block(address), None)
