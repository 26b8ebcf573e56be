"""An RO-Crate of a campaign's export: what its files are, and how they were made.

The file ``ro-crate-metadata.json`` follows RO-Crate 1.1 (https://w3id.org/ro/crate/1.1), which
repositories such as Zenodo and WorkflowHub read. Judges appear as in the other files: as numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from citebed._version import __version__
from citebed.errors import CitebedError
from citebed.options import option
from citebed.wording import count

CRATE = "ro-crate-metadata.json"
_SPECIFICATION = "https://w3id.org/ro/crate/1.1"
_ORCID = re.compile(r"(?:https://orcid\.org/)?(\d{4}-\d{4}-\d{4}-\d{3}[\dX])")
_LICENSE = re.compile(r"(https?://[^\s<>\"{}|\\^`]+)|([A-Za-z0-9.+-]+)")
_FORMATS = {".qrels": "text/plain", ".run": "text/plain", ".jsonl": "application/x-ndjson",
            ".md": "text/markdown", ".tsv": "text/tab-separated-values",
            ".json": "application/json"}  # fmt: skip
_FIRST, _BOTH = "after phase one", "after both phases"
_FILES = {
    "t1.qrels": (f"Judgements {_FIRST}, of the queries judged in both phases", "judgements.jsonl"),
    "t12.qrels": (f"Judgements {_BOTH}, of the queries judged in both phases", "judgements.jsonl"),
    "j1-all-queries.qrels": (f"Judgements {_FIRST}, of all queries", "judgements.jsonl"),
    "j2-all-queries.qrels": ("Judgements of phase two, of all queries", "judgements.jsonl"),
    "j12-all-queries.qrels": (f"Judgements {_BOTH}, of all queries", "judgements.jsonl"),
    "topics.jsonl": ("Queries as reformulated", "wordings.jsonl"),
    "topics.tsv": ("Queries as reformulated, as tab-separated values", "wordings.jsonl"),
    "topics.original.jsonl": ("Queries as stated", "wordings.jsonl"),
    "topics.original.tsv": ("Queries as stated, as tab-separated values", "wordings.jsonl"),
    "wordings.jsonl": ("All wordings of each query", ""),
    "pools.jsonl": ("Pooled documents, with the methods and ranks that found them", ""),
    "judgements.jsonl": ("All judgements; judges are numbers", "pools.jsonl"),
    "machine_judgements.jsonl": ("All judgements of machines", ""),
    "preferences.jsonl": ("All preferences between two papers; judges are numbers", "pools.jsonl"),
    "preferences.run": ("Strengths of compared papers, as a TREC run", "preferences.jsonl"),
    "campaign.json": ("Version, rule for relevance, sizes, and hashes of the files", ""),
    "CHANGELOG.md": ("What each version adds to the one before", ""),
}
"""What each file is, and the file that it is made from."""


@dataclass(frozen=True, kw_only=True)
class CrateOptions:
    """Who publishes an export, and under which licence. citebed adds no name by itself."""

    authors: tuple[str, ...] = option(
        (), "Author to name in the RO-Crate, 'Name' or 'Name ORCID' (repeatable).", "--author"
    )
    license: str | None = option(
        None, "Licence to name in the RO-Crate: an SPDX id such as CC-BY-4.0, or a URL."
    )

    def __post_init__(self) -> None:
        if self.license is not None and not _LICENSE.fullmatch(self.license):
            raise CitebedError(
                f"the licence '{self.license}' is neither an SPDX id such as CC-BY-4.0 nor a URL."
            )
        if not all(name for name, _ in map(_split_author, self.authors)):
            raise CitebedError("an author has no name. Give 'Name' or 'Name ORCID'.")


def _split_author(text: str) -> tuple[str, str]:
    """Return the name and the address (an ORCID, or one of our own) of an author."""
    name, _, last = text.strip().rpartition(" ")
    if orcid := _ORCID.fullmatch(last):
        return name.strip(" ,"), f"https://orcid.org/{orcid[1]}"
    return text.strip(), f"#author-{quote(text.strip(), safe='')}"


def make_crate(
    folder: Path, facts: dict[str, Any], judges: int, collection: str, at: datetime,
    options: CrateOptions,
) -> dict[str, Any]:  # fmt: skip
    """Describe the files of an export, whose ``campaign.json`` has the ``facts``.

    ``at`` is when this version was first exported, so that the same version has the same crate.
    """
    day, name = f"{at:%Y-%m-%d}", f"{facts['campaign']}: relevance judgements"
    parts = [_describe_part(path) for path in sorted(folder.iterdir())]
    authors = [
        {"@id": address, "@type": "Person", "name": author}
        for author, address in dict.fromkeys(map(_split_author, options.authors))
    ]
    size = facts["sets"]["j12"]
    about = (
        f"{count(size['judgements'], 'judgement')} of {count(size['queries'], 'query')} by "
        f"{count(judges, 'judge')}, collected with citebed. {facts['rule']}"
    )
    if facts["simulated"]:
        about = f"SIMULATED, not judged by people: {about}"
    root: dict[str, Any] = {
        "@id": "./", "@type": "Dataset", "name": name, "description": about, "version":
        facts["version"], "datePublished": day, "isBasedOn": {"@id": "#collection"},
        "hasPart": _references(parts), "mentions": {"@id": "#export"},
    }  # fmt: skip
    made: dict[str, Any] = {
        "@id": "#export", "@type": "CreateAction", "name": "Export of the campaign's judgements",
        "endTime": f"{at:%Y-%m-%dT%H:%M:%SZ}", "instrument": {"@id": "#citebed"},
        "object": {"@id": "#collection"}, "result": _references(parts),
    }  # fmt: skip
    graph: list[dict[str, Any]] = [root, made]
    if authors:
        root["author"] = made["agent"] = _references(authors)
        graph += authors
    root["license"] = "No licence is stated. Ask the publisher before you use the judgements."
    if options.license:
        is_url = options.license.startswith("http")
        url = options.license if is_url else f"https://spdx.org/licenses/{options.license}"
        root["license"] = {"@id": url}
        graph.append({"@id": url, "@type": "CreativeWork", "name": options.license,
                      "description": f"The licence of {name}"})  # fmt: skip
    graph += [
        {"@id": "#citebed", "@type": "SoftwareApplication", "name": "citebed",
         "version": __version__, "softwareVersion": __version__},
        {"@id": "#collection", "@type": "CreativeWork", "name": collection,
         "description": "The collection whose documents were judged"},
        *parts,
    ]  # fmt: skip
    descriptor = {"@id": CRATE, "@type": "CreativeWork", "about": {"@id": "./"},
                  "conformsTo": {"@id": _SPECIFICATION}}  # fmt: skip
    return {"@context": f"{_SPECIFICATION}/context", "@graph": [descriptor, *graph]}


def _references(entities: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    return [{"@id": entity["@id"]} for entity in entities]


def _describe_part(path: Path) -> dict[str, Any]:
    """Describe a file of the export, or a folder with the collection in another format."""
    if path.is_dir():
        text = f"The collection, queries and judgements as {path.name}"
        return {"@id": f"{path.name}/", "@type": "Dataset", "name": path.name, "description": text}
    default = (path.name, "")
    if path.name.startswith("machine-"):
        default = ("Judgements of a machine, of all queries", "machine_judgements.jsonl")
    text, source = _FILES.get(path.name, default)
    part = {
        "@id": quote(path.name), "@type": "File", "name": path.name, "description": text,
        "encodingFormat": _FORMATS[path.suffix], "contentSize": f"{path.stat().st_size}",
    }  # fmt: skip
    return part | ({"isBasedOn": {"@id": source}} if source else {})
