"""Damage that the fuzzer does to a file: that of ``tests.mutations``, and words, lines, fields,
JSON values, tables, archives and names that are odd but valid.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import re
from typing import Any

import polars as pl
from tests.fuzz.wellformed import PACKERS, gzipped, table_bytes, tarred, zipped
from tests.mutations import MUTATIONS
from tests.samples import SAMPLES

WORDS = (
    *("", "0", "-1", "-0", "+1", "1.5", "nan", "NaN", "inf", "-Infinity", "1e400", "1e-400", "1e5"),
    *("9" * 18, "9" * 30, "9" * 5000, "0." + "3" * 5000, "9223372036854775807", "0x10", "1_000"),
    *("18446744073709551616", "-9223372036854775809", "2147483648", "١٢", "１２", "²", "1,5"),
    *("\x1b[31mred", "\x1b]0;t\x07", "\x9b2J", "a\rb", "\x08\x08", "\u202etxt.exe", "\u2066\u202a"),
    *("\u061c", "\u200f", "\u200b", "\U000e0041", "\x7f", "\u2029", "a;=1+1", "＝1+1"),
    *(
        "\\input{/etc/passwd}",
        "\\immediate\\write18{id}",
        "\\csname input\\endcsname",
        "^^5cinput x",
    ),
    *("\\ud800", "\\u0000", "\0", "\u2028", "\x85", "\x1c", "\u00a0", "\ufeff", "é", "e\u0301"),
    *("all", "#", "#q1", "-", "--", "--help", "-o", "../../x", "/etc/passwd", "~", ".", "..", "*"),
    *("true", "null", "None", "[]", "{}", "''", '"', "\\", "%s", "{0}", "$(x)", "<b>", "=1+1", "@"),
    *("9999-12-31T23:59:59Z", "0001-01-01", "2019-02-30", "2019-13", "-2019", "10000-01-01", "99"),
    *("10.1234/", "10.1234/d1", "d1", "q1", "x" * 300, "漢" * 100, "\U0001f350", "a b", "a\tb"),
)
"""Words that some reader may take for more, or for less, than they are."""

SIGNS = (
    *(
        "{",
        "}",
        "{{",
        "}}",
        '"',
        "\\",
        "\\'e",
        "\\alpha",
        "\\frac{1}{2}",
        "$x$",
        "$$",
        "~",
        "%",
        "``",
    ),
    *("@article{", "@string{x = ", "title = {", " # ", " and ", "and others", "jan", "crossref = "),
    *(
        "\\cite{",
        "\\citep[",
        "\\begin{",
        "\\end{document}",
        "\\input{draft}",
        "\\newcommand{\\x}{\\x\\x}",
    ),
    *("\\def\\x#1{", "\\verb|", "\\[", "\\(", "\\bibitem{b}", "\\footnote{", "\\textbackslash "),
    *("[@a]", "](", "![", "^[", "[^1]", "```\n", "---\n", "# ", "> ", "| a |\n", "<!--", "-->"),
    *("[1] ", "[2-4]", "[1,", "(Smith, 2019)", "References\n", "arXiv:1810.04805", "https://a.b/c"),
    *("&amp;", "&lt;i&gt;", "&#233;", "&#xd800;", "<i>", "</i>", "<![CDATA[", "]]>", "<?x ?>"),
    *(
        "TY  - JOUR\n",
        "ER  - \n",
        "AU  - ",
        "\n.I 7\n",
        ".W\n",
        ".X\n1 2 3\n",
        "<DOC>\n",
        "</DOCNO>",
    ),
    *(
        "<top>\n",
        "<num> Number: ",
        "\n[relevance]\n",
        "= [",
        "Q0",
        "\t",
        "\r\n",
        "e\u0301",
        "\u00ad",
    ),
)
"""Signs of the languages that are read."""

_DOUBLINGS = (
    (
        '@string{a0 = "lol"}\n',
        "@string{{a{n} = a{m} # a{m}}}\n",
        "@misc{{bomb, title = a{n}, note = a{n} # a{n}}}\n",
    ),
    (
        "@xdata{a0, title={T}, author={Lol, A.}}\n",
        "@xdata{{a{n}, xdata={{a{m},a{m}}}, author={{xdata=a{m}-author and xdata=a{m}-author}}}}\n",
        "@misc{{bomb, xdata={{a{n}}}, author={{xdata=a{n}-author-2}}}}\n",
    ),
    (
        "@misc{a0, title={T}}\n",
        "@misc{{a{n}, title={{T{n}}}, crossref={{a{m}}}}}\n",
        "@misc{{bomb, crossref={{a{n}}}}}\n",
    ),
    (
        "- id: a0\n  title: T\n  author: &a0\n  - {family: Lol}\n",
        "- id: a{n}\n  title: T{n}\n  author: &a{n} [*a{m}, *a{m}]\n",
        "- id: bomb\n  title: T\n  <<: [*a{n}, *a{n}]\n",
    ),
    (
        '<!DOCTYPE x [<!ENTITY a0 "lol">',
        '<!ENTITY a{n} "&a{m};&a{m};">',
        "]><dblp><article key='a'><title>&a{n};</title></article></dblp>",
    ),
    (
        "\\newcommand{\\az}{lol }",
        "\\def\\b{{\\az\\az}}\\let\\az\\b\\edef\\az{{\\az\\az}}\\newcommand{{\\c}}[1]{{#1#1\\c{{#1}}}}\n",
        "\\c{{\\az}}\\b\n",
    ),
)
"""How names are given to others in each language: the first, one that has the one before it
(``m``) twice, and a use of the last."""

_WORD = re.compile(rb"[^\s,:;{}\[\]\"<>=]+")
_LINE_ENDS = (b"\r", b"\r\n", b"\n\n", b"\x85", b"\xe2\x80\xa8", b"\v", b"\f", b"\0\n", b" \n")
_LINES = (
    *(b"", b" ", b"\t", b"#", b"# a remark", b"#{}", b"\xef\xbb\xbf", b"\0", b"{", b"[]", b"null"),
    *(b"x" * 200_000, b"x " * 50_000, b"\xff", b"%", b"---", b"<!-- -->", b'"', b"\\"),
)
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 10**30, float("nan"), float("inf"), "", "x", " ", "\ud800"),
    *("a\nb", "\0", [], {}, [None], [[]], ["x", 1], {"x": 1}, "nan", "2019", 2019, "10.1234/d1"),
    *([{"name": None}], {"name": "x"}, [""], "x" * 10_000, 1e308, -(10**18), "\ud800\ud83c", "d1"),
)
_DEEP = (("[", "]"), ('{"a":', "}"))


def reworded(data: bytes, rng: random.Random) -> bytes:
    """A few words replaced by odd ones."""
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        found = list(_WORD.finditer(data))
        if not found:
            return data
        one = rng.choice(found)
        word = rng.choice(WORDS).encode("utf-8", "surrogatepass")
        data = data[: one.start()] + word + data[one.end() :]
    return data


def signed(data: bytes, rng: random.Random) -> bytes:
    """Signs of some language put in between."""
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data) + 1)
        data = data[:at] + rng.choice(SIGNS).encode() + data[at:]
    return data


def multiplied(data: bytes, rng: random.Random) -> bytes:
    """A few bytes, or a sign, thousands of times: what takes time for each pair would be felt."""
    at = rng.randrange(len(data) + 1)
    unit = data[at : at + rng.randint(1, 20)]
    if not unit or rng.random() < 0.5:
        unit = rng.choice(SIGNS).encode()
    return data[:at] + unit * (rng.choice((2_000, 60_000)) // len(unit)) + data[at:]


def doubled(data: bytes, rng: random.Random) -> bytes:
    """Names that stand for others, twice each, many deep: what follows them all does not end."""
    first, again, last = rng.choice(_DOUBLINGS)
    depth = rng.choice((3, 30, 300))
    units = [
        first,
        *(again.format(n=n, m=n - 1) for n in range(1, depth)),
        last.format(n=depth - 1),
    ]
    at = rng.choice((0, len(data), data.find(b"\n", rng.randrange(len(data) + 1)) + 1))
    return data[:at] + "".join(units).encode() + data[at:]


def relined(data: bytes, rng: random.Random) -> bytes:
    """Other line ends, odd lines between, byte-order marks at odd places."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    how = rng.randrange(4)
    if how == 0:
        return rng.choice(_LINE_ENDS).join(lines)
    if how == 1:
        lines.insert(at, rng.choice(_LINES))
    elif how == 2:
        lines[at] = rng.choice((b"\xef\xbb\xbf", b" ", b"\t", b"#", b"\xff\xfe")) + lines[at]
    else:
        lines[at] += rng.choice((b" ", b"\t", b"\r", b"\0", b" #", b" extra", b"\xa0"))
    return b"\n".join(lines)


def refielded(data: bytes, rng: random.Random) -> bytes:
    """A line with a field less or more, doubled or in another place, or parted otherwise."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    fields = re.split(rb"([ \t,]+)", lines[at])
    one, two = rng.randrange(len(fields)), rng.randrange(len(fields))
    how = rng.randrange(4)
    if how == 0:
        del fields[one]
    elif how == 1:
        fields[one:one] = [fields[two], b" "]
    elif how == 2:
        fields[one], fields[two] = fields[two], fields[one]
    else:
        gap = rng.choice((b"\t", b"  ", b" \t", b",", b"\xc2\xa0", b"\v", b""))
        fields = [gap if n % 2 else field for n, field in enumerate(fields)]
    lines[at] = b"".join(fields)
    return b"\n".join(lines)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside: Any = ()
    if len(path) > 20:  # nested deep by an earlier change
        return [path]
    if isinstance(value, dict):
        inside = value.items()
    elif isinstance(value, list):
        inside = enumerate(value)
    return [path, *(one for key, part in inside for one in _places(part, (*path, key)))]


def _changed(value: Any, rng: random.Random) -> Any:
    path = rng.choice(_places(value))
    new = rng.choice(_VALUES) if rng.random() < 0.7 else rng.choice(WORDS)
    if not path:
        return new
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    if isinstance(inner, dict) and rng.random() < 0.2:
        inner[rng.choice(("", "x", "\ud800", "all", "doc_id", "text"))] = inner.pop(path[-1])
    else:
        inner[path[-1]] = new
    return value


def retyped(data: bytes, rng: random.Random) -> bytes:
    """Values of JSON (whole, or of a line) replaced by such of other types, or nested deep."""
    lines = data.split(b"\n")
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(lines))
        for whole in (False, True):
            try:
                found = json.loads(data if whole else lines[at])
            except (ValueError, RecursionError):
                continue
            text = json.dumps(_changed(found, rng))
            if rng.random() < 0.1:
                before, after = rng.choice(_DEEP)
                depth = rng.choice((100, 900, 100_000))
                text = text.replace("null", before * depth + "1" + after * depth, 1)
            lines = [text.encode()] if whole else [*lines[:at], text.encode(), *lines[at + 1 :]]
            break
    return b"\n".join(lines)


def repacked(data: bytes, rng: random.Random) -> bytes:
    """Packed, perhaps twice, in two streams, cut short, or with something behind."""
    packed = rng.choice(PACKERS)(data)
    how = rng.randrange(6)
    if how == 0:
        return packed[: rng.randrange(len(packed))]
    if how == 1:
        return packed + packed
    if how == 2:
        return packed + rng.choice((b"\0" * 100, b"junk", packed[:10]))
    return rng.choice(PACKERS)(packed) if how == 3 else packed


TEXTUAL = (reworded, reworded, relined, refielded, retyped, retyped, signed)


def _text(data: bytes, rng: random.Random) -> bytes:
    """One change: odd words more often than damage, which is found out soon."""
    chance = rng.random()
    if chance < 0.05:
        return rng.choice((repacked, multiplied, doubled))(data, rng)
    return rng.choice(TEXTUAL if chance < 0.7 else tuple(MUTATIONS.values()))(data, rng)


# --- tables ---------------------------------------------------------------------------------

_COLUMNS: tuple[Any, ...] = (
    *(pl.String, pl.Int8, pl.Int64, pl.UInt64, pl.Float32, pl.Float64, pl.Boolean, pl.Binary),
    *(pl.Date, pl.Datetime("us", "UTC"), pl.Datetime("ms"), pl.Time, pl.Categorical, pl.Null),
    *(pl.List(pl.String), pl.Decimal(10, 2), pl.Duration("us"), pl.Struct({"a": pl.Int64})),
)


def retabled(data: bytes, rng: random.Random) -> bytes:
    """A table with columns of other types, names and numbers, with nulls, or with no rows."""
    table = pl.read_parquet(io.BytesIO(data))
    for _ in range(rng.choice((1, 1, 2))):
        if not table.width:
            break
        name = rng.choice(table.columns)
        how = rng.randrange(6)
        if how == 0:
            table = table.drop(name)
        elif how == 1:
            free = [new for new in ("x", "", "time", "\u2028") if new not in table.columns]
            table = table.rename({name: rng.choice(free)})
        elif how == 2:
            table = table.with_columns(_other(table[name], rng.choice(_COLUMNS)))
        elif how == 3:
            table = table.with_columns(_sprinkled(table[name], rng))
        elif how == 4:
            table = table.head(rng.choice((0, 1, 3)))
        else:
            table = table.with_columns(table[name].alias(rng.choice(("time", "extra"))))
    return table_bytes(table)


def _other(column: pl.Series, kind: Any) -> pl.Series:
    try:
        return column.cast(kind, strict=False)
    except pl.exceptions.PolarsError:
        return pl.Series(column.name, [None] * len(column), dtype=kind)


def _sprinkled(column: pl.Series, rng: random.Random) -> pl.Series:
    """The column with a null, a NaN, an empty or a very large value in it."""
    values = column.to_list()
    odd = ("", " ", "a b", "#", "all", "\0") if column.dtype == pl.String else (0, -1, 2**40)
    if column.dtype.is_float():
        odd = (float("nan"), float("inf"), 1e308)  # type: ignore[assignment]
    for at in range(len(values)):
        if rng.random() < 0.2:
            values[at] = rng.choice((None, *odd))
    try:
        return pl.Series(column.name, values, dtype=column.dtype)
    except (pl.exceptions.PolarsError, TypeError, OverflowError):
        return column.clear(len(column))


# --- archives -------------------------------------------------------------------------------

_MEMBER_NAMES = (
    *("../../x.bib", "/etc/x.bib", "a/../../x.bib", "..\\x.bib", "", ".", "..", "a/", "x" * 300),
    *("\u2028.bib", "a\nb.bib", ".hidden.bib", "__MACOSX/x.bib", "é.bib", "a//b.bib", "c:x.bib"),
)


def archive(rng: random.Random) -> bytes:
    """An archive of damaged members under odd names, perhaps in another archive."""
    members: dict[str, bytes] = {}
    for number in range(rng.randint(0, 4)):
        name = rng.choice(_MEMBER_NAMES) if rng.random() < 0.3 else f"in/{number}.x"
        members[name] = damaged(rng.choice(list(SAMPLES.values())), rng)
    if rng.random() < 0.3:
        members["inner.zip"] = archive(rng)
    made = tarred(members) if rng.random() < 0.5 else zipped(members)
    return repacked(made, rng) if rng.random() < 0.3 else made


# --- all kinds --------------------------------------------------------------------------------


def damaged(data: bytes, rng: random.Random) -> bytes:
    """A well-formed file after one to three changes that fit what it is."""
    # Damage the content of a packed file, so that it can still be unpacked.
    data = _within(data, rng) if rng.random() < 0.7 else _text(data, rng)
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        data = _text(data, rng)
    return data


def _within(data: bytes, rng: random.Random) -> bytes:
    if data.startswith(b"PAR1"):
        return retabled(data, rng)
    if data.startswith(b"\x1f\x8b"):
        return gzipped(_within(gzip.decompress(data), rng))
    if data.startswith((b"PK", b"\xfd7z", b"BZh")):
        return archive(rng)
    return _text(data, rng)
