from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from citebed.errors import CitebedError, FormatError
from citebed.training.texts import (
    CitingText,
    DocumentText,
    Form,
    TrainingTexts,
    assign_fold,
    context_pairs,
    document_pairs,
    group_by_field,
    part_of_fold,
    passage_pairs,
    random_source,
    read_prepared,
    write_prepared,
)


def test_folds_are_what_the_hash_says() -> None:
    # echo -n acl_2017/105 | sha256sum | cut -c-8, modulo 20
    assert [assign_fold(paper) for paper in ("acl_2017/105", "a", "")] == [14, 10, 10]


def test_parts_are_by_fold_and_move_with_the_shift() -> None:
    assert [part_of_fold(fold) for fold in (0, 1, 2, 19)] == [
        *("test", "development", "training", "training")
    ]
    assert [part_of_fold(fold, shift=19) for fold in (19, 0, 1)] == [
        "test",
        "development",
        "training",
    ]


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
        ({1: b'{"kind": "other"}'}, r":1: these are not training texts"),
        ({1: b"[]"}, r":1: found no JSON object"),
        ({3: None}, r"not the number in the first line"),
        ({3: b'{"doc_id": "d", "title": 7, "abstract": ""}'}, r":3: is not a document"),
        ({3: b'{"doc_id": "d", "title": "", "abstract": ""}'}, r"checksum mismatch"),
        ({60: b'{"paper_id": "p", "text": "t", "cited": [40]}'}, r":60: is not a context"),
        ({60: b'{"paper_id": "p", "text": "t", "cited": "0"}'}, r":60: is not a context"),
        ({3: b'{"doc_id": "d", "title": "", "abstract": "", "field": 1}'}, r"3: is not a document"),
        ({60: b'{"paper_id": "p", "text": "t", "cited": [0], "part": "x"}'}, r"is not a context"),
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
    with pytest.raises(FormatError, match="not training texts"):
        read_prepared(path)


# --- pairs ----------------------------------------------------------------------------------

SAID = [CitingText("p", f"s{number}", (number,)) for number in range(7)]


def test_a_context_asks_for_each_document_it_cites() -> None:
    pairs = list(context_pairs([CitingText("p", "as shown", (3, 5))], random_source(1)))
    assert [(pair.text, pair.form.place) for pair in pairs] == [("as shown", 3), ("as shown", 5)]
    assert all(pair.cited == (3, 5) and pair.paper_id == "p" for pair in pairs)


def test_keywords_are_shown_seven_times_in_ten() -> None:
    pairs = list(context_pairs([CitingText("p", "t", (0,))] * 2000, random_source(1)))
    shown = sum(pair.form.keywords for pair in pairs) / len(pairs)
    assert 0.66 < shown < 0.74


def test_passages_are_of_one_paper_in_its_order() -> None:
    others = [CitingText("q", "alone", (9,))]
    pairs = list(passage_pairs([*SAID, *others], random_source(3)))
    assert all(pair.paper_id == "p" and 2 <= len(pair.cited) <= 4 for pair in pairs)
    text = " ".join(dict.fromkeys(pair.text for pair in pairs))
    assert " ".join(context.text for context in SAID).startswith(text)


def test_a_passage_asks_for_two_of_its_documents() -> None:
    pairs = list(passage_pairs(SAID, random_source(1), (3,)))
    assert [pair.text for pair in pairs] == ["s0 s1 s2"] * 2 + ["s3 s4 s5"] * 2
    assert all(pair.form.place in pair.cited and len(pair.cited) == 3 for pair in pairs)


def test_parts_of_a_document_ask_for_the_rest_of_it() -> None:
    abstract = "The first sentence is here. The second one follows it. The third ends the abstract."
    long = DocumentText("d", "Title", abstract, ("a", "b", "c"))
    texts = TrainingTexts([DocumentText("e", "Short", "Little."), long], [])
    pairs = list(document_pairs(texts, random_source(1), sentences=2, keywords=True))
    assert [pair.text for pair in pairs[:1]] == ["Title"]
    assert not pairs[0].form.title
    for pair in pairs[1:3]:
        assert pair.text in texts.sentences[1]
        assert pair.text not in texts.document_text(pair.form)
        assert texts.document_text(pair.form).startswith("Title. ")
    assert (pairs[3].text, pairs[3].form) == ("a, b, c", Form(1, keywords=False))
    assert all(pair.cited == (1,) for pair in pairs)


def test_the_same_seed_gives_the_same_pairs(texts: TrainingTexts) -> None:
    first, again, other = (list(document_pairs(texts, random_source(s))) for s in (7, 7, 8))
    assert first == again
    assert first != other


def test_a_batch_is_of_one_field_as_long_as_there_are_enough() -> None:
    documents = [
        DocumentText(f"d{n}", "", "", field="even" if n % 2 == 0 else "") for n in range(9)
    ]
    pairs = list(
        context_pairs([CitingText("p", f"s{n}", (n,)) for n in range(9)], random_source(1))
    )
    found = group_by_field(pairs, TrainingTexts(documents, []), 2, random_source(2))
    assert sorted(found) == sorted(pairs)
    fields = [documents[pair.form.place].field for pair in found]
    assert all(fields[at] == fields[at + 1] for at in range(0, 8, 2))
    one = [each._replace(field="") for each in documents]
    assert group_by_field(pairs, TrainingTexts(one, []), 2, random_source(2)) == pairs
