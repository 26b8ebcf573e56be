"""An entry of BibTeX as it stands, and the strings that its values may name.

An entry of BibTeX as programs write it: fields in braces, each on lines of its own.

Cut with plain string methods, several times as fast as any pattern.

Entries from strangers are made harmless before they are written into an author's file. LaTeX runs
what a bibliography says: ``\\input`` reads a file, ``\\write18`` starts a program. A command that
bibliographies use is written as it stands; any other is written as text, so that it is printed by
its name. The entry is one, whatever a forged record holds: no ``@preamble`` comes with it, and no
control characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from citebed.files.limits import Allowance
from citebed.text.latex_commands import (
    ACCENTS,
    BIBLIOGRAPHIES,
    LETTERS,
    MATHS_ACCENTS,
    NOTHING,
    OPERATORS,
    SYMBOLS,
)
from citebed.text.normalise import MONTHS
from citebed.text.regex import compile_regex
from citebed.wording import list_first

TOO_MUCH = "expands to too much text; kept unexpanded"
"""What there is to say of a name that is not followed any further."""


class RawEntry(NamedTuple):
    """An entry as it stands: type, key, raw field values by lower-case name, text, line.

    Strings (``@string``) and joins (``#``) are resolved in the values; of two fields of one
    name the first counts, as in BibTeX. ``broken`` marks an entry whose end was not found.
    ``undefined`` are the names in its values that no string has, ``overgrown`` those that stand
    for more than may be borrowed.
    """

    type: str
    key: str
    fields: dict[str, str]
    text: str
    line: int
    broken: bool = False
    undefined: tuple[str, ...] = ()
    overgrown: tuple[str, ...] = ()


class Strings:
    """The strings in force by lower-case name, and the names that were asked for in vain.

    ``undefined`` stand for nothing; ``overgrown`` for more than the text may borrow.
    """

    def __init__(self, defined: dict[str, str], size: int = 0) -> None:
        self.defined = defined
        self.undefined: list[str] = []
        self.overgrown: list[str] = []
        self._allowance = Allowance(size)

    def forget(self) -> None:
        """Start anew with the names that were asked for in vain."""
        self.undefined.clear()
        self.overgrown.clear()

    def marked(self, entry: RawEntry) -> RawEntry:
        """An entry with the names that were asked for in vain while it was read."""
        undefined, overgrown = map(dict.fromkeys, (self.undefined, self.overgrown))
        return entry._replace(undefined=tuple(undefined), overgrown=tuple(overgrown))

    def value(self, word: str) -> str:
        """What a bare word stands for: itself, where it is a number, a month or not defined, or
        where that would be too much."""
        name = word.lower()
        meaning = self.defined.get(name)
        if meaning is None:
            meaning = STANDARD.get(name)
        if meaning is None:
            if not word[0].isdigit() and name not in MONTHS and name not in _SEASONS:
                self.undefined.append(word)
            return word
        if not self._allowance.covers(len(meaning)):
            self.overgrown.append(word)
            return word
        return meaning


_SEASONS = frozenset(("spring", "summer", "autumn", "fall", "winter"))
STANDARD = {
    "acmcs": "ACM Computing Surveys",
    "acta": "Acta Informatica",
    "cacm": "Communications of the ACM",
    "ibmjrd": "IBM Journal of Research and Development",
    "ibmsj": "IBM Systems Journal",
    "ieeese": "IEEE Transactions on Software Engineering",
    "ieeetc": "IEEE Transactions on Computers",
    "ieeetcad": "IEEE Transactions on Computer-Aided Design of Integrated Circuits",
    "ipl": "Information Processing Letters",
    "jacm": "Journal of the ACM",
    "jcss": "Journal of Computer and System Sciences",
    "scp": "Science of Computer Programming",
    "sicomp": "SIAM Journal on Computing",
    "tocs": "ACM Transactions on Computer Systems",
    "tods": "ACM Transactions on Database Systems",
    "tog": "ACM Transactions on Graphics",
    "toms": "ACM Transactions on Mathematical Software",
    "toois": "ACM Transactions on Office Information Systems",
    "toplas": "ACM Transactions on Programming Languages and Systems",
    "tcs": "Theoretical Computer Science",
}
"""The journals that BibTeX's own styles (``plain.bst``) define."""

ASTRONOMY = {
    "aj": "The Astronomical Journal",
    "actaa": "Acta Astronomica",
    "araa": "Annual Review of Astronomy and Astrophysics",
    "apj": "The Astrophysical Journal",
    "apjl": "The Astrophysical Journal Letters",
    "apjs": "The Astrophysical Journal Supplement Series",
    "ao": "Applied Optics",
    "apss": "Astrophysics and Space Science",
    "aap": "Astronomy & Astrophysics",
    "aapr": "The Astronomy and Astrophysics Review",
    "aaps": "Astronomy and Astrophysics Supplement Series",
    "baas": "Bulletin of the American Astronomical Society",
    "grl": "Geophysical Research Letters",
    "icarus": "Icarus",
    "jcap": "Journal of Cosmology and Astroparticle Physics",
    "jcp": "The Journal of Chemical Physics",
    "jgr": "Journal of Geophysical Research",
    "memsai": "Memorie della Società Astronomica Italiana",
    "mnras": "Monthly Notices of the Royal Astronomical Society",
    "na": "New Astronomy",
    "nar": "New Astronomy Reviews",
    "nat": "Nature",
    "nphysa": "Nuclear Physics A",
    "pasa": "Publications of the Astronomical Society of Australia",
    "pasj": "Publications of the Astronomical Society of Japan",
    "pasp": "Publications of the Astronomical Society of the Pacific",
    "physrep": "Physics Reports",
    "physscr": "Physica Scripta",
    "planss": "Planetary and Space Science",
    "pra": "Physical Review A",
    "prb": "Physical Review B",
    "prc": "Physical Review C",
    "prd": "Physical Review D",
    "pre": "Physical Review E",
    "prl": "Physical Review Letters",
    "procspie": "Proceedings of SPIE",
    "qjras": "Quarterly Journal of the Royal Astronomical Society",
    "rmxaa": "Revista Mexicana de Astronomía y Astrofísica",
    "solphys": "Solar Physics",
    "sovast": "Soviet Astronomy",
    "ssr": "Space Science Reviews",
    "zap": "Zeitschrift für Astrophysik",
}
"""The journals that ADS writes as commands (``journal = {\\apj}``)."""


# --- Entries as programs write them -----------------------------------------------------------


TYPE = r"[A-Za-z][\w-]*+"
"""The type of an entry, as an expression; Mendeley writes ``web_page``."""
FIELD_NAME = r"[A-Za-z][^\s=,{}\"#%()']*+"
NOT_RECORDS = frozenset(("comment", "preamble", "string"))

_HEADER = compile_regex(rf"@\s*+({TYPE})\s*+\{{\s*+([^\s,{{}}\"#%=]*+)\s*+")
_FIELD_NAME = compile_regex(FIELD_NAME)
_BRACE = re.compile(r"[{}]")


def read_export(block: str, line: int, strings: Strings, names: dict[str, str]) -> RawEntry | None:
    """The entry that ``block`` is, if it has the shape that programs write; else ``None``.

    ``names`` remembers the names of fields, as they are written, from one entry to the next.
    """
    start, end = block.find(",") + 1, block.rfind("}", 0, -1)
    closed = block.endswith("}") and block[end + 1 : -1].strip() in ("", ",")
    header = _HEADER.fullmatch(block, 0, start - 1) if closed and 0 < start <= end else None
    if header is None:
        return None
    # Cut out at once: a copy of text in other alphabets costs more than all the rest.
    pieces = block[start:end].split("},\n")
    fields = _read_pieces(pieces, strings, names)
    kind = header[1].lower()
    if fields is None or kind in NOT_RECORDS:
        return None
    return RawEntry(kind, header[2], fields, block, line)


def _read_pieces(
    pieces: list[str], strings: Strings, names: dict[str, str]
) -> dict[str, str] | None:
    """The fields, each given as ``name = {value`` without its closing brace."""
    equals = " = {" if " = {" in pieces[0] else "={"
    fields: dict[str, str] = {}
    for piece in pieces:
        name, is_there, value = piece.partition(equals)
        known = names.get(name) if is_there else None
        if known is None:
            last = _read_unusual(piece, strings, names, fields)
            if last is None:
                return None
            known, value = last
        if ("{" in value or "}" in value) and not _is_balanced(value):
            return None
        if known not in fields:
            fields[known] = value
    return fields


def _read_unusual(
    piece: str, strings: Strings, names: dict[str, str], fields: dict[str, str]
) -> tuple[str, str] | None:
    """Read bare fields (``month = aug,``) that precede a braced one; give the braced one.

    A name seen for the first time is checked and remembered in ``names`` with its blanks.
    """
    while True:
        name, _, value = piece.partition("=")
        name = name.removesuffix(" ")
        known = names.get(name)
        if known is None:
            known = name.strip().lower()
            if _FIELD_NAME.fullmatch(known) is None:
                return None
            if len(names) < 10_000:
                names[name] = known
        after = value.lstrip()
        if after[:1] == "{":
            return known, after[1:]
        bare, comma, piece = after.partition(",\n")
        if not comma or not bare.isalnum():
            return None
        fields.setdefault(known, strings.value(bare))


def _is_balanced(value: str) -> bool:
    depth = 0
    for brace in _BRACE.findall(value):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0


# --- Entries of strangers ---------------------------------------------------------------------


COMMANDS = frozenset(
    (
        *ACCENTS,
        *MATHS_ACCENTS,
        *LETTERS,
        *SYMBOLS,
        *NOTHING,
        *OPERATORS,
        *BIBLIOGRAPHIES,
        *ASTRONOMY,
    )
)
"""The words that may follow a backslash."""

CONTROLS = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]"
_CONTROLS = re.compile(CONTROLS)
_COMMAND = re.compile(r"\\([A-Za-z]+)|\\.|\^\^", re.DOTALL)
_CARETS = r"\textasciicircum{}\textasciicircum{}"  # ``^^5c`` is a backslash to TeX


def harmless_entry(entry: str) -> str:
    """An entry in which commands that bibliographies do not use are text."""
    return _COMMAND.sub(_written, _CONTROLS.sub("", entry.replace("\r\n", "\n")))


def _written(command: re.Match[str]) -> str:
    if command[0] == "^^":
        return _CARETS
    return rf"\textbackslash{{}}{command[1]}" if _is_strange(command) else command[0]


def _is_strange(command: re.Match[str]) -> bool:
    return command[1] is not None and command[1] not in COMMANDS


def strange_commands(entry: str) -> tuple[str, ...]:
    """What ``harmless_entry`` writes as text: commands with their backslash, and ``^^``."""
    every = (
        match[0] for match in _COMMAND.finditer(entry) if match[0] == "^^" or _is_strange(match)
    )
    return tuple(dict.fromkeys(every))


def note_of_strange(commands: Iterable[str]) -> str:
    """What there is to say of commands that were written as text."""
    which = list_first(list(dict.fromkeys(commands)))
    return f"LaTeX that bibliographies do not use is written as text: {which}"
