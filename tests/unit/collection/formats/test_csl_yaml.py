"""CSL-YAML gives only text, and items do not refer to each other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from citebed.collection.formats import Chunk
from citebed.collection.formats.csl import CSL_YAML
from citebed.records import Document, Problem, Record


def read(text: str) -> list[Record]:
    return list(CSL_YAML.parse(Chunk(text.encode(), "x.yaml")))


def test_tags_make_nothing_of_text() -> None:
    evil = "- id: !!python/object/apply:os.system ['true']\n  title: T\n- id: b\n  title: NO\n"
    first, second = read(evil)
    assert isinstance(first, Document | Problem)
    assert second == Document("b", title="NO", keys=("b",), line=3)


def test_aliases_do_not_grow() -> None:
    laughs = "\n".join(f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 25))
    [record] = read(f"- id: a\n  title: T\n  a0: &a0 [lol, lol]\n{laughs}\n  author: *a24\n")
    assert len(str(record)) < 5000


def test_items_that_stand_for_others() -> None:
    text = (
        "---\nreferences:\n- &first\n  id: a\n  type: article-journal\n  title: On Sheep\n"
        "  container-title: &journal Annals of Sheep\n  author: &us [{family: Doe, given: Jo}]\n"
        "- id: b\n  title: On Rams\n  container-title: *journal\n  author: *us\n"
        "- <<: *first\n  id: c\n  title: More Sheep\n...\n"
    )
    assert CSL_YAML.sniff(text)
    first, second, third = read(text)
    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert (second.venue, second.authors, second.line) == ("Annals of Sheep", ("Doe, Jo",), 9)
    assert third == first._replace(doc_id="c", title="More Sheep", keys=("c",), line=13)


def test_where_one_of_them_is_broken_the_others_are_read() -> None:
    for broken in ("[", "a\f"):  # YAML has no form feeds
        records = read(f"- id: a\n  title: &t T\n- id: b\n  title: {broken}\n- id: c\n  title: U\n")
        assert [type(record).__name__ for record in records] == ["Document", "Problem", "Document"]


def test_items_under_another_key_and_deeper() -> None:
    items = "  - id: a\n    title: T\n  - id: b\n    title: U\n"
    text = f"---\ntitle: My Paper\nreferences:\n{items}lang: en\n"
    assert [getattr(record, "doc_id", "") for record in read(text)] == ["a", "b"]


def test_a_broken_item_has_its_line() -> None:
    records = read("- id: a\n  title: T\n- id: b\n  title: [\n- id: c\n  title: U\n- d\n")
    assert [type(record).__name__ for record in records] == [
        *("Document", "Problem", "Document", "Problem")
    ]
    assert records[1].line in (4, 5)
    assert records[3] == Problem(7, "expected an item with names and values")


@given(st.text(alphabet="-: \n\t[]{}&*!|>'\"#%@`ab", max_size=80))
def test_any_yaml_is_survived(text: str) -> None:
    for record in read(f"- id: a\n  title: T\n{text}"):
        assert isinstance(record, Document | Problem)
