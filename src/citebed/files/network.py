"""Whether the network may be used (``CITEBED_OFFLINE=1`` forbids it), and who shares an address."""

from __future__ import annotations

import ipaddress
import os

from citebed.errors import CitebedError

VARIABLE = "CITEBED_OFFLINE"
_NO = ("", "0", "no", "off", "false")


def is_offline() -> bool:
    """Whether the user forbids the network."""
    return os.environ.get(VARIABLE, "").strip().lower() not in _NO


def refuse_offline(what: str, instead: str) -> None:
    """Raise where the network is forbidden, with what would be fetched and what to do instead."""
    if is_offline():
        raise CitebedError(
            f"{what}, and the network is not to be used (--offline, {VARIABLE}). {instead}"
        )


def address_block(address: str) -> str:
    """Return the block of addresses that one visitor can choose from, to count wrong passwords.

    That is an IPv4 address, the /64 network of an IPv6 address, or ``127.0.0.0/8``: every user of
    this machine has all 16 million addresses of it.
    """
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return ascii(address.casefold())[1:-1][:80]  # databases refuse NUL and half a character
    if isinstance(ip, ipaddress.IPv6Address):
        # A socket for both families reports IPv4 visitors as ::ffff:192.0.2.1.
        ip = ip.ipv4_mapped or ip
    if ip.is_loopback:
        return "127.0.0.0/8"
    if ip.version == 4:
        return str(ip)
    return str(ipaddress.ip_network((int(ip), 64), strict=False))
