from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from citebed.errors import CitebedError, FormatError
from citebed.training.prepared import (
    DocumentText,
    Form,
    TrainingTexts,
    fold_of,
    part_of,
    read_prepared,
    write_prepared,
)


def test_folds_are_what_the_hash_says() -> None:
    # echo -n acl_2017/105 | sha256sum | cut -c-8, modulo 20
    assert [fold_of(paper) for paper in ("acl_2017/105", "a", "")] == [14, 10, 10]


def test_parts_are_by_fold_and_move_with_the_shift() -> None:
    assert [part_of(fold) for fold in (0, 1, 2, 19)] == [
        *("test", "development", "training", "training")
    ]
    assert [part_of(fold, shift=19) for fold in (19, 0, 1)] == ["test", "development", "training"]


def test_all_contexts_of_a_paper_are_in_one_part(texts: TrainingTexts) -> None:
    parts = {name: texts.part(name) for name in ("training", "development", "test")}
    assert sum(map(len, parts.values())) == len(texts.contexts)
    papers = [{each.paper_id for each in part} for part in parts.values()]
    assert not papers[0] & papers[1]
    assert not papers[0] & papers[2]


def test_forms_of_a_document() -> None:
    document = DocumentText("d", "Title", "One said. Two said. Three said.", ("a", "b"))
    texts = TrainingTexts([document], [])
    assert texts.document_text(Form(0)) == "Title. One said. Two said. Three said. a, b"
    assert texts.document_text(Form(0, keywords=False)) == "Title. One said. Two said. Three said"
    assert texts.document_text(Form(0, title=False)) == "One said. Two said. Three said. a, b"
    assert texts.document_text(Form(0, without=1)) == "Title. One said. Three said. a, b"


def test_a_file_gives_back_what_was_written(texts: TrainingTexts, tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl.xz"
    write_prepared(path, texts)
    assert read_prepared(path) == texts
    assert read_prepared(path).fingerprint == texts.fingerprint
    fewer = TrainingTexts(texts.documents, texts.contexts[1:])
    assert fewer.fingerprint != texts.fingerprint


def _changed(path: Path, change: dict[int, bytes | None]) -> Path:
    lines = lzma.decompress(path.read_bytes()).splitlines()
    kept = [change.get(number, line) for number, line in enumerate(lines, 1)]
    path.write_bytes(lzma.compress(b"\n".join(line for line in kept if line is not None)))
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({1: b'{"kind": "other"}'}, r":1: these are no training texts"),
        ({1: b"[]"}, r":1: found no JSON object"),
        ({3: None}, r"lines, not as many as its first line says"),
        ({3: b'{"doc_id": "d", "title": 7, "abstract": ""}'}, r":3: is no document"),
        ({3: b'{"doc_id": "d", "title": "", "abstract": ""}'}, r"not those that were written"),
        ({60: b'{"paper_id": "p", "text": "t", "cited": [40]}'}, r":60: is no context"),
        ({60: b'{"paper_id": "p", "text": "t", "cited": "0"}'}, r":60: is no context"),
        ({3: b'{"doc_id": "d", "title": "", "abstract": "", "field": 1}'}, r":3: is no document"),
        ({60: b'{"paper_id": "p", "text": "t", "cited": [0], "part": "x"}'}, r":60: is no context"),
    ],
)
def test_a_file_that_was_changed_is_refused(
    change: dict[int, bytes | None], message: str, texts: TrainingTexts, tmp_path: Path
) -> None:
    path = tmp_path / "texts.jsonl.xz"
    write_prepared(path, texts)
    with pytest.raises(FormatError, match=message):
        read_prepared(_changed(path, change))


def test_a_file_that_is_cut_short_is_refused(texts: TrainingTexts, tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl.xz"
    write_prepared(path, texts)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(CitebedError, match="cut short or damaged"):
        read_prepared(path)
    path.write_text(json.dumps({}))
    with pytest.raises(FormatError, match="no training texts"):
        read_prepared(path)
