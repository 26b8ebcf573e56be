"""Descriptions of runs as ir_metadata: https://www.ir-metadata.org.

A description is YAML with the parts of PRIMAD: platform, research goal, implementation, method,
actor and data; ``resources`` are tirex-tracker's. It is in comments at the top of a run, between
``# ir_metadata.start`` and ``# ir_metadata.end``, or in a file of its own.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from citebed.errors import FormatError
from citebed.files.input_files import read_small
from citebed.files.lines import read_numbered_lines
from citebed.grammar import parse

_START, _END = b"ir_metadata.start", b"ir_metadata.end"
_LARGEST = 1 << 17
_DEEPEST, _COLONS = 50, 500


def describe_run(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a run by the facts that `citebed search` records, and by this machine."""
    system, used = platform.uname(), facts.get("resources")
    collection, queries = facts.get("collection", "a collection"), facts["queries"]["set"]
    stages = [
        {"name": call.name, "method": f"citebed {call.name}", **dict(call.params)}
        for call in parse(facts["model"]).parts
    ]
    described: dict[str, Any] = {
        "schema-version": 0.1,
        "tag": facts["model"],
        "platform": {
            "hardware": _hardware(),
            "operating system": {"kernel": f"{system.system} {system.release}"},
            "software": {
                "libraries": {
                    "python": [f"{name}=={version}" for name, version in facts["versions"].items()]
                },
                "retrieval toolkit": [facts["made_by"].replace(" ", "==")],
            },
        },
        "research goal": {
            "description": f"Rank the documents of {collection} for the queries {queries}"
        },
        "implementation": {
            "executable": {"cmd": shlex.join(facts["command"])},
            "source": {"lang": ["python"]},
        },
        "method": {
            "automatic": True,
            "score ties": "descending document id, as in trec_eval",
            "indexing": {"analyser": facts["analyser"], "fields": facts["fields"]},
            "retrieval": stages,
        },
        "actor": {"role": "experimenter"},
        "data": {
            "test collection": {
                "name": collection,
                "topics": queries,
                "documents": facts["index"].get("documents"),
            }
        },
    }
    if used is None:  # the record of an earlier version
        return described
    times = {name: f"{used[name]} ms" for name in ("wallclock", "user", "system")}
    described["resources"] = {
        "runtime": {"start time": used["start"], **times},
        "ram": {"used process": {"max": f"{used['ram']} KB"}},
    }
    return described


def _hardware() -> dict[str, Any]:
    """Describe this machine's processor and memory as far as the system says."""
    found = {"architecture": platform.machine(), "number of cores": os.cpu_count()}
    hardware: dict[str, Any] = {"cpu": found}
    try:
        about = Path("/proc/cpuinfo").read_text("utf-8", "replace")
        if model := re.search(r"^model name\s*:\s*(.+)$", about, re.MULTILINE):
            hardware["cpu"] = {"model": model[1], **found}
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        hardware["ram"] = f"{size / (1 << 30):.1f} GB"
    except (OSError, ValueError, AttributeError):
        pass  # not Linux
    return hardware


def format_metadata(metadata: Mapping[str, Any], *, header: bool = False) -> str:
    """Write a description as YAML; as a ``header``, in comments for the top of a run."""
    import yaml

    # One line per value, because a header is read line by line.
    text = yaml.safe_dump(dict(metadata), sort_keys=False, allow_unicode=True, width=1 << 20)
    if not header:
        return str(text)
    lines = (_START.decode(), *text.splitlines(), _END.decode())
    return "".join(f"# {line}\n" for line in lines)


def is_yaml(path: Path) -> bool:
    """Return True if a file has a description only, by its name."""
    return path.suffix.lower() in (".yml", ".yaml")


def read_metadata(path: str | Path) -> dict[str, Any]:
    """Read the description of a run: its header, or a YAML file (``.yml``, ``.yaml``).

    Without a header, it is made from the record ``NAME.json`` that citebed writes. The result is
    empty if there is neither. A description is limited to 128 KiB, without aliases.
    """
    path = Path(path)
    if is_yaml(path):
        lines = read_small(path, _LARGEST).splitlines()
        marks = (_START, _END)
        return _parse(path, b"\n".join(line for line in lines if line.strip() not in marks))
    header: list[bytes] = []
    size = 0
    for number, line in read_numbered_lines(path):
        text = line.rstrip()
        if number == 1 and text != b"# " + _START:
            break
        if text == b"# " + _END:
            return _parse(path, b"\n".join(header[1:]))
        size += len(line)
        if not text.startswith(b"#") or size > _LARGEST:
            break
        header.append(text[1:])
    if header:
        what = "the ir_metadata header has no end: expected a line '# ir_metadata.end'."
        raise FormatError(path, len(header), what)
    record = path.with_name(f"{path.name}.json")
    if not record.is_file():
        return {}
    try:
        described = describe_run(json.loads(read_small(record, _LARGEST)))
    except (ValueError, RecursionError):
        raise FormatError(record, None, "not valid JSON.") from None
    except (KeyError, TypeError, AttributeError):
        return {}  # not of a search
    for name in ("hardware", "operating system"):
        del described["platform"][name]  # this machine's
    return described


def _parse(path: Path, text: bytes) -> dict[str, Any]:
    """Parse YAML of limited depth without aliases, which could stand for any amount of data."""
    import yaml

    try:
        depth = 0
        for event in yaml.parse(text, yaml.SafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            # YAML reads 1:30 as 90; a long number of this kind takes minutes.
            is_long = isinstance(event, yaml.ScalarEvent) and event.value.count(":") > _COLONS
            if isinstance(event, yaml.AliasEvent) or depth > _DEEPEST or is_long:
                raise ValueError("aliases, deep nesting and values of many colons are not read")
        found = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise FormatError(path, line, f"not valid YAML: {error.problem}.") from None
    except (yaml.YAMLError, ValueError) as error:
        raise FormatError(path, None, f"not valid YAML: {str(error).splitlines()[0]}.") from None
    if not isinstance(found, dict):
        raise FormatError(path, None, "the ir_metadata is not a mapping of names to values.")
    return found
