"""Files made to hurt: bombs, records without end, climbing paths, links, broken archives.

``HOSTILE`` lists them. Each writes itself into a folder of its own, in a size in MB, and says
what an import must make of it.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

GOOD = b"@article{good, title={A good one}}\n"
_WORDS = b"lorem ipsum dolor sit amet, " * 40_000
_MB = 1_000_000


class Hostile(NamedTuple):
    """A hostile file: how to write it, the records an import must give, what it must say.

    ``records`` (at least so many, of a file cut short) of ``None`` leaves the number open;
    ``says`` of ``""`` means no problem at all.
    """

    name: str
    write: Callable[[Path, int], None]
    records: int | None
    says: str

    def put(self, folder: Path, megabytes: int) -> None:
        """Write it beside a harmless file: an import in which there is nothing is refused."""
        self.write(folder, megabytes)
        (folder / "beside.ris").write_text("TY  - JOUR\nTI  - A Harmless Neighbour\nER  - \n")

    def gives(self, records: int) -> bool:
        """Return True if an import and its neighbour gave the expected number of records."""
        records -= 1
        if "cut short" in self.name and self.records:
            return records >= self.records
        return self.records in (None, records)

    @property
    def grows(self) -> bool:
        """Whether it is text of a repeated unit, so that time must grow as its size does."""
        return self.write.__qualname__.startswith("_repeated")


def _blocks(before: bytes, after: bytes, size: int) -> Iterator[bytes]:
    yield before
    for _ in range(0, size, len(_WORDS)):
        yield _WORDS
    yield after


def _record(name: str, before: bytes, after: bytes) -> Callable[[Path, int], None]:
    def write(folder: Path, megabytes: int) -> None:
        with (folder / name).open("wb") as file:
            file.writelines(_blocks(before, after, megabytes * _MB))

    return write


def _repeated(
    name: str, unit: bytes, before: bytes = b"", share: float = 0.1
) -> Callable[..., None]:
    def write(folder: Path, megabytes: int) -> None:
        count = int(megabytes * _MB * share) // len(unit)
        (folder / name).write_bytes(before + unit * count)

    return write


# --- Bombs ----------------------------------------------------------------------------------

_OPEN = b"@article{big, title={"


def _packed(name: str, opener: Callable[[Path, str], Any]) -> Callable[[Path, int], None]:
    def write(folder: Path, megabytes: int) -> None:
        with opener(folder / name, "wb") as file:
            file.write(_OPEN)
            for _ in range(megabytes * 6):
                file.write(b"x" * _MB)

    return write


def _zip_bomb(folder: Path, megabytes: int) -> None:
    with zipfile.ZipFile(folder / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("bomb.bib", "w", force_zip64=True) as file:
            file.writelines(_blocks(_OPEN, b"}}\n", megabytes * 6 * _MB))
        archive.writestr("good.bib", GOOD)


def _zip_of(data: Iterator[bytes]) -> bytes:
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a.bib", "w") as file,
    ):
        file.writelines(data)
    return buffer.getvalue()


def _overlapping_zip(folder: Path, megabytes: int) -> None:
    """One member of 45 MB, listed ten times per MB: kilobytes that unpack to gigabytes."""
    data = _zip_of(_blocks(_OPEN, b"}}\n", 45 * _MB))
    end = data.rindex(b"PK\x05\x06")
    (start,) = struct.unpack("<I", data[end + 16 : end + 20])
    count = 10 * megabytes
    entries = data[start:end] * count
    tail = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, count, count, len(entries), start, 0)
    (folder / "overlapping.zip").write_bytes(data[:start] + entries + tail)


def _zips_in_zips(folder: Path, megabytes: int) -> None:
    data = _zip_of(_blocks(_OPEN, b"}}\n", 45 * _MB))
    for _ in range(2):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for number in range(max(4, megabytes // 10)):
                archive.writestr(f"{number}.zip", data)
        data = buffer.getvalue()
    (folder / "zips.zip").write_bytes(data)


# --- Archives that point elsewhere, that are broken, that are locked --------------------------

_CLIMBING = ("../../climbed.bib", "/etc/climbed.bib", "..\\..\\climbed.bib", "a/../../climbed.bib")


def _tar(path: Path, mode: str, names: tuple[str, ...]) -> None:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for number, name in enumerate(names):
            info = tarfile.TarInfo(name)
            data = b"@article{r%d, title={Record %d}}\n" % (number, number)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def _climbing_tar(folder: Path, _: int) -> None:
    _tar(folder / "climbing.tar", "w", _CLIMBING)


def _climbing_zip(folder: Path, _: int) -> None:
    with zipfile.ZipFile(folder / "climbing.zip", "w") as archive:
        for number, name in enumerate(_CLIMBING):
            archive.writestr(name, f"@article{{r{number}, title={{Record {number}}}}}\n")


def _links_in_tar(folder: Path, _: int) -> None:
    with tarfile.open(folder / "links.tar", "w") as archive:
        for name, kind in (("a.bib", tarfile.SYMTYPE), ("b.bib", tarfile.LNKTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)


def _links_in_folder(folder: Path, _: int) -> None:
    (folder / "good.bib").write_bytes(GOOD)
    (folder / "nowhere.bib").symlink_to("nowhere")
    (folder / "itself.bib").symlink_to("itself.bib")
    (folder / "device.bib").symlink_to("/dev/zero")
    (folder / "up").symlink_to("..")
    os.mkfifo(folder / "pipe.bib")


def _cut(name: str, pack: Callable[[bytes], bytes]) -> Callable[[Path, int], None]:
    def write(folder: Path, _: int) -> None:
        lines = [
            b"@article{r%d, title={%s}}\n" % (n, os.urandom(30).hex().encode()) for n in range(9999)
        ]
        data = pack(b"".join(lines))
        (folder / name).write_bytes(data[: len(data) // 2])

    return write


def _tar_gz(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        info = tarfile.TarInfo("a.bib")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def _encrypted_zip(folder: Path, _: int) -> None:
    data = bytearray(_zip_of(iter([GOOD])))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    (folder / "locked.zip").write_bytes(data)


# --- XML ------------------------------------------------------------------------------------

_ACL = (
    b"<collection id='x'><volume id='1'><paper id='1'><title>",
    b"</title></paper></volume></collection>",
)


def _quadratic(folder: Path, megabytes: int) -> None:
    entity = b'<!DOCTYPE collection [<!ENTITY q "%s">]>' % (b"q" * 10_000)
    (folder / "a.xml").write_bytes(entity + _ACL[0] + b"&q;" * (megabytes * 5000) + _ACL[1])


def _laughs(folder: Path, _: int) -> None:
    lines = [b'<!ENTITY l0 "lol">']
    lines += [b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 30)]
    dtd = b"<!DOCTYPE collection [" + b"".join(lines) + b"]>"
    (folder / "a.xml").write_bytes(dtd + _ACL[0] + b"&l29;" + _ACL[1])


# --- Names that stand for other names -------------------------------------------------------

_DOUBLINGS = 60


def _doubled(name: str, first: str, again: str, last: str) -> Callable[[Path, int], None]:
    """Each unit (``again``, with its number and the one before) names the one before it twice."""

    def write(folder: Path, _: int) -> None:
        units = [again.format(n=n, m=n - 1) for n in range(1, _DOUBLINGS + 1)]
        text = "\n".join([first, *units, last.format(n=_DOUBLINGS)])
        (folder / name).write_text(f"{text}\n")

    return write


def _lent(name: str, lender: str, borrower: str) -> Callable[[Path, int], None]:
    """A tenth of the size in one value, which many records of a few bytes borrow."""

    def write(folder: Path, megabytes: int) -> None:
        long = "word " * (megabytes * 20_000 // len("word "))
        borrowers = [borrower.format(n=n) for n in range(megabytes * 1000)]
        (folder / name).write_text("\n".join([*borrowers[:1], lender % long, *borrowers[1:], ""]))

    return write


_TOO_LONG = r"MiB.*(is|are) not read|MiB; "
_BOMB = "decompression bomb"
_RIS = b"TY  - JOUR\nTI  - A good one\nER  - \n"
_LINE = b'{"doc_id": "good", "title": "A good one"}\n'
_OTHER = GOOD.replace(b"good", b"other")
_CSL = b'[{"id": "good", "type": "book", "title": "A good one"},\n{"id": "big", "title": "'

_DBLP = b'<dblp><article key="a"><title>A good one</title></article>\n'
_DBLP_OPEN = b'<book key="b"><title>'
_CSV = b"id,title,year\n0,A good one,2010\n"
_YAML = b"- id: a\n  title: A good one\n- id: b\n  title: "

HOSTILE = (
    Hostile("one BibTeX record", _record("a.bib", GOOD + _OPEN, b"}}\n" + _OTHER), 2, _TOO_LONG),
    Hostile(
        "one RIS record",
        _record("a.ris", _RIS + b"TY  - JOUR\nAB  - ", b"\nER  - \n" + _RIS),
        2,
        _TOO_LONG,
    ),
    Hostile(
        "one JSONL record",
        _record("a.jsonl", _LINE + b'{"doc_id": "b", "title": "', b'"}\n' + _LINE),
        2,
        _TOO_LONG,
    ),
    Hostile("one CSL-JSON record", _record("a.json", _CSL, b'"}]'), 1, _TOO_LONG),
    Hostile("one XML record", _record("a.xml", *_ACL), None, "XML"),
    Hostile("zip bomb", _zip_bomb, 1, _BOMB),
    Hostile("overlapping zip bomb", _overlapping_zip, None, _BOMB),
    Hostile("zips in zips", _zips_in_zips, None, _BOMB),
    Hostile("gzip bomb", _packed("a.gz", gzip.open), None, _BOMB),
    Hostile("xz bomb", _packed("a.xz", lzma.open), None, _BOMB),
    Hostile("bzip2 bomb", _packed("a.bz2", bz2.open), None, _BOMB),
    Hostile("climbing tar", _climbing_tar, 4, ""),
    Hostile("climbing zip", _climbing_zip, 4, ""),
    Hostile("links in a tar", _links_in_tar, 0, "a link or device"),
    Hostile("links in a folder", _links_in_folder, 1, "link"),
    Hostile("gzip cut short", _cut("a.gz", gzip.compress), 4000, "to the end"),
    Hostile("xz cut short", _cut("a.xz", lzma.compress), 4000, "to the end"),
    Hostile("tar.gz cut short", _cut("a.tar.gz", _tar_gz), 4000, "to the end"),
    Hostile("zip cut short", _cut("a.zip", lambda data: _zip_of(iter([data]))), None, "to the end"),
    Hostile("encrypted zip", _encrypted_zip, 0, "encrypted"),
    Hostile("billion laughs", _laughs, None, "XML"),
    Hostile("quadratic blow-up", _quadratic, 1, "amplification"),
    Hostile("deep XML", _repeated("a.xml", b"<a>", _ACL[0]), None, "XML"),
    Hostile("deep JSON", _repeated("a.json", b"[", _CSL + b'b", "x": '), 1, "nested|truncated"),
    Hostile(
        "deep JSON objects",
        _repeated("a.json", b'{"a":', _LINE[:-2] + b', "x": '),
        1,
        "nested|JSON",
    ),
    Hostile("deep BibTeX", _repeated("a.bib", b"{", GOOD + _OPEN), 1, "do not close"),
    Hostile(
        "BibTeX without ends", _repeated("a.bib", b"@article{a, title={x\n", GOOD), None, "close"
    ),
    Hostile("BibTeX of quotes", _repeated("a.bib", b'@a{b, c = "', GOOD), None, "close"),
    Hostile(
        "BibTeX of joins", _repeated("a.bib", b' # "x"', GOOD + b'@a{b, title = "x"'), None, "close"
    ),
    Hostile(
        "RIS without ends", _repeated("a.ris", b"TY  - JOUR\nTI  - x\n", share=0.02), None, "ER"
    ),
    Hostile(
        "JSON lines cut", _repeated("a.jsonl", b'{"doc_id": "a", "title": "\n', _LINE), 1, "JSON"
    ),
    Hostile("JSON of quotes", _repeated("a.json", b'"a",', _CSL[:-25], 0.02), None, "JSON"),
    Hostile("XML of ampersands", _repeated("a.xml", b"&a &", _ACL[0]), None, "XML"),
    Hostile(
        "one DBLP record", _record("a.xml", _DBLP + _DBLP_OPEN, b"</title></book>\n"), 1, _TOO_LONG
    ),
    Hostile(
        "PubMed without ends", _repeated("a.xml", b"<PubmedArticle>", b"<PubmedArticleSet>", 0.02),
        0, "PMID",
    ),
    Hostile("DBLP of comments", _repeated("a.xml", b"<!--", _DBLP), 1, ""),
    Hostile("DBLP of strangers", _repeated("a.xml", b"<a>", _DBLP), 1, "expected a record"),
    Hostile("CSV of quotes", _repeated("a.csv", b'1,"x\n', _CSV, 0.01), 1, "fields"),
    Hostile("one CSV row", _record("a.csv", _CSV + b'1,"', b'",2010\n'), 1, "MiB"),
    Hostile("YAML in brackets", _repeated("a.yaml", b"[", _YAML), 1, "YAML|KiB"),
    Hostile("one YAML item", _record("a.yaml", _YAML, b"\n- id: c\n  title: C\n"), 2, "MiB|KiB"),
    Hostile(
        "doubled strings",
        _doubled("a.bib", '@string{a0 = "lol"}', "@string{{a{n} = a{m} # a{m}}}",
                 "@article{{good, title = a{n}}}"),
        1, "expands to too much text",
    ),
    Hostile(
        "doubled xdata",
        _doubled("a.bib", "@xdata{a0, title={T}}", "@xdata{{a{n}, xdata={{a{m},a{m}}}}}",
                 "@article{{good, xdata={{a{n}}}}}"),
        1, "",
    ),
    Hostile(
        "doubled items of xdata",
        _doubled("a.bib", "@xdata{a0, author={Lol, A.}}",
                 "@xdata{{a{n}, author={{xdata=a{m}-author and xdata=a{m}-author}}}}",
                 "@article{{good, title={{T}}, author={{xdata=a{n}-author}}}}"),
        1, "expands to too much text",
    ),
    Hostile(
        "a chain of xdata",
        _repeated("a.bib", b"@xdata{a, xdata={a,b,c}}@misc{x, title={T}, xdata={a}}\n", GOOD, 0.01),
        None, "missing @xdata",
    ),
    Hostile(
        "doubled anchors",
        _doubled("a.yaml", "- id: a\n  title: A\n  author: &a0\n  - {family: Lol}",
                 "- id: a{n}\n  title: T{n}\n  author: &a{n} [*a{m}, *a{m}]", ""),
        None, "expand to too much",
    ),
    Hostile(
        "a long string lent to many",
        _lent("a.bib", "@string{long = {%s}}", "@misc{{k{n}, title={{T{n}}}, abstract=long}}"),
        None, "expands to too much text",
    ),
    Hostile(
        "a long xdata lent to many",
        _lent("a.bib", "@xdata{x, abstract={%s}}", "@misc{{k{n}, title={{T{n}}}, xdata={{x}}}}"),
        None, "expands to too much text",
    ),
    Hostile(
        "long proceedings lent to many",
        _lent("a.bib", "@proceedings{p, title={%s}}",
              "@inproceedings{{k{n}, title={{T{n}}}, crossref={{p}}}}"),
        None, "lends more",
    ),
    Hostile("PubMed's lines", _repeated("a.nbib", b"      x\n", b"PMID- 1\nTI  - a\n"), 1, ""),
)  # fmt: skip
