"""The browser that a server opens is let in by a ticket, not by the server's key.

Every user of a machine can read the command line of a browser. So it has a ticket, which lets one
browser in, once, and only if the user of the server runs it.
"""

from __future__ import annotations

import ipaddress
import os
import secrets
import threading
import webbrowser
from pathlib import Path

from starlette.types import Scope

from citebed.files.secret_files import is_same_secret

_CONNECTIONS = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
"""What Linux tells of connections: who owns each end that is on this machine."""


class Ticket:
    """What lets one browser in."""

    def __init__(self) -> None:
        self._secret = secrets.token_urlsafe(24)

    def open_browser(self, address: str) -> None:
        """Open a browser at an address, with the ticket in place of the key."""
        whole = f"{address}?key={self._secret}"  # a browser may take its time, and may block
        threading.Thread(target=webbrowser.open, args=(whole,), daemon=True).start()

    def admits(self, given: str, scope: Scope) -> bool:
        """Return True if a request brings the ticket, which is void from then on."""
        if not is_same_secret(given, self._secret) or not _is_own(scope):
            return False
        self._secret = ""
        return True


def _is_own(scope: Scope) -> bool:
    """Return True if a request comes from a process of this user or of root, as far as it is known:
    other systems than Linux do not tell."""
    if not _CONNECTIONS[0].exists():
        return True
    (host, port), (_, own_port) = scope.get("client") or ("", 0), scope.get("server") or ("", 0)
    try:
        packed = ipaddress.ip_address(host.partition("%")[0]).packed
    except ValueError:
        return False
    words = [packed[at : at + 4][::-1].hex().upper() for at in range(0, len(packed), 4)]
    theirs, ours = f"{''.join(words)}:{port:04X}", f":{own_port:04X}"
    for table in _CONNECTIONS:
        for line in table.read_text().splitlines()[1:] if table.exists() else ():
            _, near, far, *_, owner = line.split()[:8]
            if near.endswith(theirs) and far.endswith(ours):
                return int(owner) in (0, os.geteuid())
    return False
