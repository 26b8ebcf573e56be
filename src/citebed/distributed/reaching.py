"""Whether anybody listens at an address: Spark's own clients try for minutes before they say."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from citebed.errors import CitebedError

SECONDS = 20
"""So long somebody who does not answer is waited for."""


def reach(address: str, port: int, who: str) -> None:
    """Refuse an address where nobody listens; ``port`` is the usual one, ``who`` is expected."""
    try:
        found = urlsplit(address)
        place = (found.hostname or "", found.port or port)
        socket.create_connection(place, SECONDS).close()
    except (OSError, ValueError) as error:
        raise CitebedError(
            f"nobody answers at {address} ({getattr(error, 'strerror', None) or error}). Is {who} "
            "running, and is this its address?"
        ) from error
