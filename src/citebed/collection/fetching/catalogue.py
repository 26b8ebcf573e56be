"""The public collections that ``citebed fetch`` knows, and where each one comes from.

Nothing is kept here but addresses: no data comes with citebed. A checksum stands here only
where it is known for certain; archives of a moving branch have none by nature.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from citebed.errors import UnknownName


@dataclass(frozen=True)
class RemoteFile:
    """One file to fetch: its place in the folder and below a mirror, and its address.

    ``sha256`` and ``bytes`` are ``None`` where they are not known; then the first fetch is
    trusted, written down, and checked from there on.
    """

    path: str
    url: str
    sha256: str | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class PublicCollection:
    """A collection that anyone may get, and how it is to be imported.

    ``profile``: the rules to import it with, "" for none. ``exclude``: the exclusion list,
    "" for none. ``importable``: what to give to ``citebed import``. All paths are relative to
    the folder. ``members``: beginnings of the names inside an archive that belong to the
    collection, after the archive's own top folder; ``()`` where all of it does.
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
        """The command that imports the collection, fetched to ``folder``, into one beside it."""
        words = ["citebed", "import", f"{folder}-collection"]
        words += [str(folder / path) for path in self.importable]
        words += ["--profile", self.profile] if self.profile else []
        words += ["--exclude", str(folder / self.exclude)] if self.exclude else []
        for member in self.members:
            words += ["--only", f"*/{member}*"]
        return shlex.join(words)


# The documents are in the repository itself, as BibTeX under data/acm-dl; no other archive is
# needed. The blacklist is in the archive too, but an exclusion list is read as a plain file.
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
    """One of the classic collections, which the University of Glasgow keeps."""
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


def public_collection(name: str) -> PublicCollection:
    """The collection of that name; an unknown one is an error that suggests the nearest."""
    if name not in CATALOGUE:
        raise UnknownName("public collection", name, CATALOGUE)
    return CATALOGUE[name]
