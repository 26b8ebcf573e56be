"""The public collections that ``citebed fetch`` downloads from their origins or from a mirror.

citebed contains only URLs, no data. Checksums are given where they are certain; archives of a
moving branch have none. A downloaded file gets its name when it is complete and its checksum is
right. ``fetched.json`` stores the checksums of the downloaded files.
"""

from __future__ import annotations

import json
import re
import shlex
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citebed.collection.fetching.download import (
    Expected,
    Missing,
    digest,
    download_file,
    download_text,
)
from citebed.collection.progress import SILENT, Progress
from citebed.errors import CitebedError, FormatError, UnknownName
from citebed.files.input_files import read_small
from citebed.files.output_files import write_own_file


@dataclass(frozen=True)
class RemoteFile:
    """A file to download: its path in the folder and below a mirror, and its URL.

    If ``sha256`` is ``None``, the first download is trusted, and later ones are compared with it.
    """

    path: str
    url: str
    sha256: str | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class PublicCollection:
    """A public collection, and how to import it.

    ``profile`` and ``exclude`` are the rules and the exclusion list of the import, or "".
    ``importable`` are the paths to import. All paths are relative to the folder. ``members`` are
    the starts of the names in an archive that belong to the collection, after the archive's top
    folder; ``()`` means all.
    """

    name: str
    title: str
    about: str
    licence: str
    homepage: str
    files: tuple[RemoteFile, ...]
    profile: str = ""
    exclude: str = ""
    importable: tuple[str, ...] = ()
    members: tuple[str, ...] = ()

    def import_command(self, folder: Path) -> str:
        """Return the command that imports the files in ``folder`` into ``FOLDER-collection``."""
        words = ["citebed", "import", f"{folder}-collection"]
        words += [str(folder / path) for path in self.importable]
        words += ["--profile", self.profile] if self.profile else []
        words += ["--exclude", str(folder / self.exclude)] if self.exclude else []
        for member in self.members:
            words += ["--only", f"*/{member}*"]
        return shlex.join(words)


# The repository contains the documents, as BibTeX under data/acm-dl. The blacklist is in it, too,
# but citebed reads exclusion lists only as plain files.
_ACM_CR = PublicCollection(
    name="acm-cr",
    title="ACM-CR: A Manually Annotated Test Collection for Citation Recommendation",
    about="114,882 records of the ACM Digital Library and 50 citing papers annotated by hand",
    licence="public domain",
    homepage="https://github.com/boudinfl/acm-cr",
    files=(
        RemoteFile(
            "acm-cr.tar.gz", "https://codeload.github.com/boudinfl/acm-cr/tar.gz/refs/heads/master"
        ),
        RemoteFile(
            "blacklist.txt",
            "https://raw.githubusercontent.com/boudinfl/acm-cr/master/"
            "data/topics%2Bqrels/blacklist.txt",
        ),
    ),
    profile="acm-cr",
    exclude="blacklist.txt",
    importable=("acm-cr.tar.gz",),
    members=("data/acm-dl/", "data/topics+qrels/papers/"),
)


def _from_glasgow(name: str, file: str, title: str, about: str, **more: str) -> PublicCollection:
    """Return one of the classic collections that the University of Glasgow distributes."""
    page = f"http://ir.dcs.gla.ac.uk/resources/test_collections/{file.partition('.')[0]}/"
    return PublicCollection(
        name=name,
        title=title,
        about=about,
        licence="not stated; distributed for research by the University of Glasgow",
        homepage=page,
        files=(RemoteFile(file, f"{page}{file}"),),
        importable=(file,),
        **more,  # type: ignore[arg-type]
    )


_CRANFIELD = _from_glasgow(
    "cranfield",
    "cran.tar.gz",
    "Cranfield 2",
    "1,400 abstracts on aerodynamics, 225 queries, graded judgements",
    profile="cranfield",
)
_CACM = _from_glasgow(
    "cacm",
    "cacm.tar.gz",
    "CACM",
    "3,204 titles and abstracts of the Communications of the ACM with their citation links",
)

_ACL_ANTHOLOGY = PublicCollection(
    name="acl-anthology",
    title="The ACL Anthology",
    about="titles, authors and abstracts of the papers in computational linguistics, as XML",
    licence="papers: CC BY 4.0 from 2016 on, CC BY-NC-SA 3.0 before; the metadata: not stated",
    homepage="https://github.com/acl-org/acl-anthology",
    files=(
        RemoteFile(
            "acl-anthology.tar.gz",
            "https://codeload.github.com/acl-org/acl-anthology/tar.gz/refs/heads/master",
        ),
    ),
    profile="anthology",
    importable=("acl-anthology.tar.gz",),
    members=("data/xml/",),
)

CATALOGUE: dict[str, PublicCollection] = {
    entry.name: entry for entry in (_ACM_CR, _CRANFIELD, _CACM, _ACL_ANTHOLOGY)
}


# --- Fetching ---------------------------------------------------------------------------------


RECORD = "fetched.json"
SUMS = "SHA256SUMS"
_SUMS_BYTES = 1 << 20


@dataclass(frozen=True)
class FetchedFile:
    """A file that was ``fetched`` now, or ``kept`` because it exists with the right checksum.

    ``previous`` is the checksum of an earlier download with other content, or "".
    """

    path: str
    state: str
    bytes: int
    sha256: str
    previous: str = ""


@dataclass(frozen=True)
class FetchReport:
    """The files of a collection after a download."""

    name: str
    folder: Path
    files: tuple[FetchedFile, ...]


def fetch(
    name: str, folder: str | Path, *, mirror: str | None = None, progress: Progress = SILENT
) -> FetchReport:
    """Download the files of a public collection into a folder, without unpacking them.

    Existing files with the right checksum are kept; other existing files are an error.
    ``mirror`` is a URL below which the files have the same paths; a ``SHA256SUMS`` there must
    match. The next run continues an interrupted download.
    """
    if name not in CATALOGUE:
        raise UnknownName("public collection", name, CATALOGUE)
    root, files = Path(folder), CATALOGUE[name].files
    sums = _mirror_sums(mirror) if mirror else {}
    return FetchReport(name, root, tuple(_file(f, root, mirror, sums, progress) for f in files))


def _file(
    file: RemoteFile, root: Path, mirror: str | None, sums: Mapping[str, str], progress: Progress
) -> FetchedFile:
    record, target = _read_record(root / RECORD), root / file.path
    if target.is_file():
        expected = _expected(file, sums, record)
        size, sha256 = digest(target)
        if problem := expected.mismatch(size, sha256):
            raise CitebedError(f"{target}: {problem}. Move it away to fetch it again.")
        if not expected.sha256:
            raise CitebedError(
                f"{target} already exists, and its checksum is unknown. "
                "Move it away to fetch it, or fetch into another folder."
            )
        return FetchedFile(file.path, "kept", size, sha256)
    url = f"{mirror.rstrip('/')}/{urllib.parse.quote(file.path)}" if mirror else file.url
    # The recorded checksum of a deleted file is only compared.
    expected = _expected(file, sums, {})
    with download_file(url, target, expected, progress) as (size, sha256):
        # The checksum is recorded before the file gets its name.
        entry = {"sha256": sha256, "bytes": size, "url": url}
        text = json.dumps({"files": {**record, file.path: entry}}, indent=1)
        write_own_file(root / RECORD, f"{text}\n")
    earlier = record.get(file.path, {}).get("sha256", sha256)
    return FetchedFile(file.path, "fetched", size, sha256, earlier if earlier != sha256 else "")


def _expected(file: RemoteFile, sums: Mapping[str, str], record: Mapping[str, Any]) -> Expected:
    sources = {
        "the catalogue": file.sha256,
        f"the mirror's {SUMS}": sums.get(file.path),
        RECORD: record.get(file.path, {}).get("sha256"),
    }
    sha256, by = next(((digest, by) for by, digest in sources.items() if digest), ("", ""))
    return Expected(sha256.lower(), by, file.bytes)


def _mirror_sums(mirror: str) -> dict[str, str]:
    """Return the checksums of a mirror by path, if it has any."""
    url = f"{mirror.rstrip('/')}/{SUMS}"
    try:
        text = download_text(url, _SUMS_BYTES)
    except Missing:
        return {}
    sums = {}
    for number, line in enumerate(text.splitlines(), 1):
        match = re.fullmatch(r"([0-9a-fA-F]{64}) [ *](?:\./)?(.+)", line.rstrip())
        if match:
            sums[match[2]] = match[1]
        elif line.strip() and not line.startswith("#"):
            raise FormatError(url, number, f"expected 'sha256  path', found {line[:80]!r}")
    return sums


def _read_record(path: Path) -> dict[str, Any]:
    """Return the recorded downloads of a folder by path."""
    if not path.is_file():
        return {}
    try:
        files = json.loads(read_small(path))["files"]
        return {name: {**entry, "sha256": str(entry["sha256"])} for name, entry in files.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        what = "not a download log; delete it to start over"
        raise FormatError(path, None, what) from None
