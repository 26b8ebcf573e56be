from __future__ import annotations

from citebed.training.pairs import (
    by_field,
    context_pairs,
    document_pairs,
    generator,
    passage_pairs,
    passages,
)
from citebed.training.prepared import CitingText, DocumentText, Form, TrainingTexts

SAID = [CitingText("p", f"s{number}", (number,)) for number in range(7)]


def test_a_context_asks_for_each_document_it_cites() -> None:
    pairs = list(context_pairs([CitingText("p", "as shown", (3, 5))], generator(1)))
    assert [(pair.text, pair.form.place) for pair in pairs] == [("as shown", 3), ("as shown", 5)]
    assert all(pair.cited == (3, 5) and pair.paper_id == "p" for pair in pairs)


def test_keywords_are_shown_seven_times_in_ten() -> None:
    pairs = list(context_pairs([CitingText("p", "t", (0,))] * 2000, generator(1)))
    shown = sum(pair.form.keywords for pair in pairs) / len(pairs)
    assert 0.66 < shown < 0.74


def test_passages_are_of_one_paper_in_its_order() -> None:
    others = [CitingText("q", "alone", (9,))]
    found = list(passages([*SAID, *others], generator(3)))
    assert all(each.paper_id == "p" and 2 <= len(each.cited) <= 4 for each in found)
    text = " ".join(each.text for each in found)
    assert " ".join(each.text for each in SAID).startswith(text)
    three = [each.text for each in passages(SAID, generator(3), (3,))]
    assert three == ["s0 s1 s2", "s3 s4 s5"]


def test_a_passage_asks_for_two_of_its_documents() -> None:
    pairs = list(passage_pairs(SAID, generator(1), (3,)))
    assert len(pairs) == 4
    assert all(pair.form.place in pair.cited and len(pair.cited) == 3 for pair in pairs)


def test_parts_of_a_document_ask_for_the_rest_of_it() -> None:
    abstract = "The first sentence is here. The second one follows it. The third ends the abstract."
    long = DocumentText("d", "Title", abstract, ("a", "b", "c"))
    texts = TrainingTexts([DocumentText("e", "Short", "Little."), long], [])
    pairs = list(document_pairs(texts, generator(1), sentences=2, keywords=True))
    assert [pair.text for pair in pairs[:1]] == ["Title"]
    assert not pairs[0].form.title
    for pair in pairs[1:3]:
        assert pair.text in texts.sentences[1]
        assert pair.text not in texts.document_text(pair.form)
        assert texts.document_text(pair.form).startswith("Title. ")
    assert (pairs[3].text, pairs[3].form) == ("a, b, c", Form(1, keywords=False))
    assert all(pair.cited == (1,) for pair in pairs)


def test_the_same_seed_gives_the_same_pairs(texts: TrainingTexts) -> None:
    first, again, other = (list(document_pairs(texts, generator(s))) for s in (7, 7, 8))
    assert first == again
    assert first != other


def test_a_batch_is_of_one_field_as_long_as_there_are_enough() -> None:
    documents = [
        DocumentText(f"d{n}", "", "", field="even" if n % 2 == 0 else "") for n in range(9)
    ]
    pairs = list(context_pairs([CitingText("p", f"s{n}", (n,)) for n in range(9)], generator(1)))
    found = by_field(pairs, documents, 2, generator(2))
    assert sorted(found) == sorted(pairs)
    fields = [documents[pair.form.place].field for pair in found]
    assert all(fields[at] == fields[at + 1] for at in range(0, 8, 2))
    one = [each._replace(field="") for each in documents]
    assert by_field(pairs, one, 2, generator(2)) == pairs
