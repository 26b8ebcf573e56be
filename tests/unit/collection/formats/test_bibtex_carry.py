"""Definitions in a part of a BibTeX file apply to later parts, as when read at once."""

from __future__ import annotations

import random

import pytest

from citebed.collection.formats.bibtex import collect_strings
from citebed.collection.formats.bibtex_scanner import RawEntry, scan

PARTS = (
    '@string{{s{0} = "Journal {0}"}}\n',
    '@String(t{0} = s{0} # " and more")\n',
    "@string{{u{0} = {{one}}}}  @string{{v{0} = {{two}}}}\n",
    "@article{{a{0}, title = {{On Sheep}}, year = 2000}}\n",
    "@article{{b{0}, note = {{it says\n@string{{w{0} = {{no}}}} there}}, year = 2001}}\n",
    "@comment{{\n@string{{x{0} = {{hidden}}}}\n}}\n",
    "@xdata{{d{0}, publisher = {{Meadow}}}}\n",
    "@book{{c{0}, xdata = {{d{0}}}, title = {{Of Doors}}}}\n",
    "Some text, and an address: shepherd@string.example\n",
)


def slowly(data: bytes, macros: dict[str, str]) -> set[str]:
    entries = scan(data.decode(), 1, macros)
    return {e.key for e in entries if isinstance(e, RawEntry) and e.type == "xdata"}


@pytest.mark.parametrize("seed", range(20))
def test_as_by_reading_it_all(seed: int) -> None:
    draw = random.Random(seed)
    text = "".join(draw.choice(PARTS).format(draw.randrange(5)) for _ in range(30))
    expected: dict[str, str] = {}
    lent = slowly(text.encode(), expected)
    found: dict[str, str] = {}
    collect_strings(text.encode(), found)
    strings = {name: value for name, value in found.items() if not name.startswith("@")}
    assert strings == expected
    names = {name.removeprefix("@xdata ") for name in found if name.startswith("@")}
    assert names - {""} == lent
