"""Damage that can happen to a file: seeded mutations of any sample.

``MUTATIONS`` are the kinds of damage, by name; each takes bytes and a random generator and
returns bytes. Nothing here depends on how citebed reads.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from tests.samples import SAMPLES

Mutation = Callable[[bytes, random.Random], bytes]

JUNK = [
    *(b"\0", b"\x1a\x02", b"\x85", b"\xc3", b"\xff\xfe", b"\xed\xa0\x80", b"\xe2\x80\xa8", b"\r"),
    *(b"{", b"}", b'"', b"\\", b"\\u", b"\\ud800", b"@", b"<", b">", b"&", b"]]>", b"<!--", b"-"),
    *(b"&amp;", b"&bogus;", b"&#0;", b"&#xd800;", b"&#99999999;", b"\n\n", b"  ", b"9" * 30),
    *(b"null", b"[[[[", b"10.1/", b"<![CDATA[", b"</doc>", b"\n.I 0\n", b"\nER  - \n", b"%"),
]
DEPTHS = (20, 300, 2_000, 50_000)
_BRACKET = re.compile(rb'[{}\[\]()<>"]')


def _place(data: bytes, rng: random.Random) -> int:
    return rng.randrange(len(data) + 1)


def truncated(data: bytes, rng: random.Random) -> bytes:
    return data[: _place(data, rng)]


def beheaded(data: bytes, rng: random.Random) -> bytes:
    return data[_place(data, rng) :]


def _spans(data: bytes, rng: random.Random) -> tuple[bytes, bytes, bytes]:
    start, end = sorted((_place(data, rng), _place(data, rng)))
    return data[:start], data[start:end], data[end:]


def deleted(data: bytes, rng: random.Random) -> bytes:
    before, _, after = _spans(data, rng)
    return before + after


def doubled(data: bytes, rng: random.Random) -> bytes:
    before, span, after = _spans(data, rng)
    return before + span * rng.choice((2, 2, 3)) + after


def swapped(data: bytes, rng: random.Random) -> bytes:
    lines = data.splitlines(keepends=True) or [b""]
    one, two = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[one], lines[two] = lines[two], lines[one]
    return b"".join(lines)


def flipped(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 8) if data else 0):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def littered(data: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.randint(1, 4)):
        at = _place(data, rng)
        data = data[:at] + rng.choice(JUNK) + data[at:]
    return data


def unbalanced(data: bytes, rng: random.Random) -> bytes:
    """A few brackets and quotes are lost, doubled, or turned into others."""
    for _ in range(rng.randint(1, 4)):
        places = [match.start() for match in _BRACKET.finditer(data)]
        if not places:
            return data
        at = rng.choice(places)
        new = rng.choice((b"", b"", data[at : at + 1] * 2, rng.choice((b"{", b"}", b'"', b"<"))))
        data = data[:at] + new + data[at + 1 :]
    return data


def _accented(data: bytes) -> str:
    return data.decode("utf-8", errors="replace").replace("a", "ä")


def recoded(data: bytes, rng: random.Random) -> bytes:
    """The whole file in another encoding, with letters in it that show."""
    coding = rng.choice(
        ("latin-1", "cp1252", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig", "cp037")
    )
    return _accented(data).encode(coding, errors="replace")


def mixed(data: bytes, rng: random.Random) -> bytes:
    """Pieces of one file in different encodings."""
    codings = rng.sample(("utf-8", "latin-1", "utf-16-le", "cp1252", "mac-roman", "utf-16"), 3)
    parts = zip(_spans(data, rng), codings, strict=True)
    return b"".join(_accented(part).encode(coding, errors="replace") for part, coding in parts)


def zeroed(data: bytes, rng: random.Random) -> bytes:
    """NULs: a block in place of text, as after a crash, between all letters, or here and there."""
    before, span, after = _spans(data, rng)
    shape = rng.randrange(3)
    if shape == 0:
        return before + bytes(len(span)) + after
    return before + b"\0".join(bytes([byte]) for byte in span) + after + bytes(shape)


def nested(data: bytes, rng: random.Random) -> bytes:
    """Brackets or elements thousands deep, closed again or not."""
    marks = [(b"{", b"}"), (b"[", b"]"), (b"<i>", b"</i>"), (b'{"a":', b"}"), (b"<a><b>", b"")]
    opening, closing = rng.choice(marks)
    depth, at = rng.choice(DEPTHS), _place(data, rng)
    inside = opening * depth + closing * (depth if rng.random() < 0.7 else depth // 2)
    return data[:at] + inside + data[at:]


def _laughs(rng: random.Random) -> tuple[bytes, bytes]:
    levels = rng.randint(3, 12)
    lines = [b'<!ENTITY l0 "lol">']
    lines += [b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, levels)]
    return b"".join(lines), b"&l%d;" % (levels - 1)


def _blow_up(rng: random.Random) -> tuple[bytes, bytes]:
    return b'<!ENTITY q "%s">' % (b"q" * rng.choice((1_000, 50_000))), b"&q;" * 2_000


def _outside(rng: random.Random) -> tuple[bytes, bytes]:
    where = rng.choice((b"file:///etc/passwd", b"http://127.0.0.1:9/x", b"/dev/zero", b"x.dtd"))
    parameter = b'<!ENTITY %% p SYSTEM "%s">%%p;' % where if rng.random() < 0.5 else b""
    return parameter + b'<!ENTITY x SYSTEM "%s">' % where, b"&x;"


_PROLOG = re.compile(rb"\s*(?:<\?xml[^>]*\?>)?\s*(?:<!DOCTYPE[^>]*>)?")


def bombed(data: bytes, rng: random.Random) -> bytes:
    """Entities that grow without measure or point outside, used in some texts."""
    defined, used = rng.choice((_laughs, _blow_up, _outside))(rng)
    start = _PROLOG.match(data)
    root = re.search(rb"<([A-Za-z][\w.-]*)", data)
    name = root[1] if root else b"doc"
    at = start.end() if start else 0
    body = data[at:]
    for _ in range(rng.randint(1, 3)):
        ends = [match.start() for match in re.finditer(rb"</|(?<=[a-z])[\"}\n]", body)]
        place = rng.choice(ends or [0])
        body = body[:place] + used + body[place:]
    return b"<!DOCTYPE " + name + b" [" + defined + b"]>\n" + body


def spliced(data: bytes, rng: random.Random) -> bytes:
    other = SAMPLES[rng.choice(sorted(SAMPLES))]
    return truncated(data, rng) + beheaded(other, rng)


MUTATIONS: dict[str, Mutation] = {
    mutation.__name__: mutation
    for mutation in (
        *(truncated, beheaded, deleted, doubled, swapped, flipped, littered, unbalanced),
        *(recoded, mixed, zeroed, nested, bombed, spliced),
    )
}


def mutated(data: bytes, rng: random.Random, first: str | None = None) -> bytes:
    """A sample after one to three mutations; ``first`` names the kind of the first."""
    kinds = rng.choices(list(MUTATIONS), k=rng.choice((1, 1, 1, 2, 3)))
    for kind in [first, *kinds[1:]] if first else kinds:
        data = MUTATIONS[kind](data, rng)
    return data
