"""Descriptions of runs as ir_metadata: written, and read as other programs write them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import citebed
from citebed.errors import FormatError
from citebed.runs.metadata import describe_run, format_metadata, read_metadata
from citebed.runs.reader import read_run

LINES = "q1 Q0 a 1 2.0 tag\nq1 Q0 b 2 1.0 tag\n"
# As repro_eval 0.5.0 writes a header: with a blank at the end of every line.
REPRO_EVAL = """# ir_metadata.start \n# schema-version: 0.1 \n# tag: h2oloo \n# platform: \n\
#   software: \n#     retrieval toolkit: \n#     - anserini==0.3.0 \n# actor: \n\
#   team: h2oloo \n# ir_metadata.end \n"""
# As tirex-tracker 0.2.24 exports a file.
TIREX_TRACKER = """ir_metadata.start
implementation:
  executable:
    cmd:
    - python
    - search.py
resources:
  cpu:
    energy used system: 12 J
  runtime:
    wallclock: 327 ms
schema version: 0.2
ir_metadata.end
"""
FACTS: dict[str, Any] = {
    "made_by": "citebed 0.4.0",
    "command": ["citebed", "search", "my papers", "--model", "bm25+rm3"],
    "model": "bm25(k1=0.9,b=0.4)+rm3(docs=10)",
    "fields": "title,abstract",
    "analyser": "english",
    "queries": {"set": "topics", "number": 2},
    "index": {"documents": 153},
    "versions": {"python": "3.12.0", "numpy": "2.4.6"},
    "resources": {"start": "2026-01-02T03:04:05.678+00:00", "wallclock": 327, "user": 10,
                  "system": 20, "ram": 4096},
    "collection": "mine",
}  # fmt: skip


def test_a_description_has_the_six_parts_and_the_resources() -> None:
    """The names of https://www.ir-metadata.org, and tirex-tracker's for resources."""
    made = describe_run(FACTS)
    parts = ("platform", "research goal", "implementation", "method", "actor", "data")
    assert list(made) == ["schema-version", "tag", *parts, "resources"]
    assert made["tag"] == FACTS["model"]
    assert made["platform"]["software"]["retrieval toolkit"] == ["citebed==0.4.0"]
    assert made["platform"]["software"]["libraries"]["python"] == ["python==3.12.0", "numpy==2.4.6"]
    command = made["implementation"]["executable"]["cmd"]
    assert command == "citebed search 'my papers' --model bm25+rm3"
    assert made["method"]["retrieval"] == [
        {"name": "bm25", "method": "citebed bm25", "k1": 0.9, "b": 0.4},
        {"name": "rm3", "method": "citebed rm3", "docs": 10},
    ]
    assert made["resources"]["runtime"]["wallclock"] == "327 ms"
    assert made["resources"]["ram"] == {"used process": {"max": "4096 KB"}}
    assert yaml.safe_load(format_metadata(made)) == made


@pytest.mark.parametrize("name", ["it.run", "it.run.gz"])
@pytest.mark.parametrize("text", [REPRO_EVAL, REPRO_EVAL.replace(" \n", "\n")])
def test_a_header_is_read_and_its_run_too(text: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    data = (text + LINES).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert citebed.read_metadata(path) == {
        "schema-version": 0.1,
        "tag": "h2oloo",
        "platform": {"software": {"retrieval toolkit": ["anserini==0.3.0"]}},
        "actor": {"team": "h2oloo"},
    }
    assert read_run(path).table.rows() == [("q1", "a", 2.0), ("q1", "b", 1.0)]
    assert read_run(path).tag == "tag"


def test_a_file_beside_runs_is_read(tmp_path: Path) -> None:
    path = tmp_path / "ir-metadata.yml"
    path.write_text(TIREX_TRACKER)
    found = read_metadata(path)
    assert found["resources"]["runtime"] == {"wallclock": "327 ms"}
    assert found["implementation"]["executable"]["cmd"] == ["python", "search.py"]


def test_what_is_odd_in_a_value_stays_a_value(tmp_path: Path) -> None:
    odd = {"tag": "# ir_metadata.end", "text": "one\ntwo\n# three: 3\n\x07", "long": "x y " * 9000}
    path = tmp_path / "it.run"
    path.write_text(format_metadata(odd, header=True) + LINES)
    assert read_metadata(path) == odd
    assert read_run(path).table.height == 2


def test_without_a_header_the_record_of_the_search_says_it(tmp_path: Path) -> None:
    path = tmp_path / "it.run"
    path.write_text(LINES)
    assert read_metadata(path) == {}
    record = tmp_path / "it.run.json"
    record.write_text(json.dumps(FACTS))
    expected = describe_run(FACTS)
    del expected["platform"]["hardware"], expected["platform"]["operating system"]
    assert read_metadata(path) == expected
    earlier = {name: FACTS[name] for name in FACTS if name not in ("resources", "collection")}
    record.write_text(json.dumps(earlier))
    assert "resources" not in read_metadata(path)
    for other in ("[]", '{"made_by": "citebed 0.4.0", "runs": 2}', '{"model": 3}'):
        record.write_text(other)
        assert read_metadata(path) == {}
    for damaged in ("{", "[" * 100_000):
        record.write_text(damaged)
        with pytest.raises(FormatError, match=r"it\.run\.json.*not valid JSON"):
            read_metadata(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "not valid YAML"),
        ("- a", "not a mapping"),
        ("", "not a mapping"),
        ("a: &x [1]\nb: *x", "aliases"),
        ("a: " + "[" * 60 + "]" * 60, "deep nesting"),
        ("a: " + "1:" * 9000 + "1", "many colons"),
        ("a: 2001-99-99", "not valid YAML"),
        ("a: !!python/object/apply:os.getcwd []", "not valid YAML"),
        ("a: \x00", "not valid YAML"),
        ("a: " + "x" * (1 << 17), "larger than"),
    ],
)
def test_what_cannot_be_a_description_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "ir-metadata.yml"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        read_metadata(path)


def test_a_header_without_an_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "it.run"
    path.write_text("# ir_metadata.start\n# tag: a\n" + LINES)
    with pytest.raises(FormatError, match="has no end"):
        read_metadata(path)
    path.write_text("# ir_metadata.start\n# tag: a\n")
    with pytest.raises(FormatError, match="has no end"):
        read_metadata(path)
    path.write_text("# ir_metadata.start\n" + "# a: b\n" * (1 << 15))
    with pytest.raises(FormatError, match="has no end"):
        read_metadata(path)
