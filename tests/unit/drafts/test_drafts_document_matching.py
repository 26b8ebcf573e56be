"""Which documents are cited already, and which are the draft itself."""

from __future__ import annotations

import polars as pl
import pytest

from citebed.collection.tables import DOCUMENTS
from citebed.drafts import Cited, Entry, find_cited_documents, find_own_documents, parse_draft

ROWS = (
    {"doc_id": "smith2019", "title": "Neural Citation Recommendation", "doi": "10.1145/abc.1",
     "authors": ["Smith, Jane"], "aliases": ["smith19", "s19"]},
    {"doc_id": "bert", "title": "Deep Things: A Survey?", "url": "https://arxiv.org/abs/1810.04805v2",
     "authors": ["Müller, Karl"]},
    {"doc_id": "arxiv", "title": "Über Größe", "doi": "10.48550/arxiv.2001.01234",
     "authors": ["Ångström, Å."]},
    {"doc_id": "editorial", "title": "Editorial", "authors": ["Lee, Ann"]},
    {"doc_id": "journal", "title": "Journal of Information Science", "authors": ["Roe, R."]},
    {"doc_id": "anonymous", "title": "The Report That Nobody Wrote", "authors": []},
    {"doc_id": "10.1145/xyz", "title": "On the Use of Ids", "authors": ["Doe, J."]},
    {"doc_id": "untitled", "title": "", "authors": ["Doe, J."]},
)  # fmt: skip
COLLECTION = pl.DataFrame(
    [{"aliases": [], "doi": None, "url": None, **row} for row in ROWS],
    schema_overrides={name: DOCUMENTS[name] for name in ("doi", "url", "aliases", "authors")},
)


@pytest.mark.parametrize(
    ("cited", "found"),
    [
        (Cited(), set()),
        (Cited(keys=("smith2019", "nobody")), {"smith2019"}),
        (Cited(keys=("s19",)), {"smith2019"}),
        (Cited(dois=("https://doi.org/10.1145/ABC.1",)), {"smith2019"}),
        (Cited(dois=("10.1145/xyz",)), {"10.1145/xyz"}),
        (Cited(arxiv=("1810.04805", "2001.01234")), {"bert", "arxiv"}),
        # titles that a bibliography states
        (Cited(entries=(Entry("k", "", "neural citation-recommendation."),)), {"smith2019"}),
        (Cited(entries=(Entry("k", "", "Deep things: a survey"),)), {"bert"}),
        (Cited(entries=(Entry("k", "Ångström, Å. Über Größe", "Über Größe"),)), {"arxiv"}),
        (Cited(entries=(Entry("k", "Ann Lee. Editorial.", "Editorial"),)), {"editorial"}),
        (Cited(entries=(Entry("k", "Bob Roe. Editorial.", "Editorial"),)), set()),
        # titles among the words of a reference
        (Cited(entries=(Entry("1", "K. Müller. Deep Things: A Survey? In X, 2019."),)), {"bert"}),
        (Cited(entries=(Entry("1", "Smith, J., “Neural Citation Recommendation,” 2019"),)),
         {"smith2019"}),
        (Cited(entries=(Entry("1", "A. One. Title. Journal of Information Science, 3."),)), set()),
        (Cited(entries=(Entry("1", "The Report That Nobody Wrote. 1999."),)), {"anonymous"}),
        (Cited(entries=(Entry("1", ""), Entry("2", "...", "?"))), set()),
        # a key that the draft gives to something else
        (Cited(keys=("smith2019",), entries=(Entry("smith2019", "", "On Quite Other Things"),)),
         set()),
        (Cited(keys=("smith2019",), entries=(Entry("smith2019", "", "Neural citation"),)),
         {"smith2019"}),
    ],
)  # fmt: skip
def test_find_cited_documents(cited: Cited, found: set[str]) -> None:
    assert find_cited_documents(cited, COLLECTION) == found


def test_a_draft_against_a_collection() -> None:
    draft = parse_draft(
        "Words [1] and [2].\n\nReferences\n[1] J. Smith. Neural Citation Recommen-\ndation. 2019.\n"
        "[2] A. Nobody. A Thing We Do Not Have. doi:10.1/no",
        "text",
    )
    assert find_cited_documents(draft.cited, COLLECTION) == {"smith2019"}


@pytest.mark.parametrize(
    ("title", "doi", "found"),
    [
        ("NEURAL Citation — Recommendation!", None, {"smith2019"}),
        ("", "doi:10.1145/ABC.1", {"smith2019"}),
        ("Editorial", None, set()),
        ("", None, set()),
        ("Neural Citation Recommendation with More", None, set()),
    ],
)
def test_the_paper_itself(title: str, doi: str | None, found: set[str]) -> None:
    assert find_own_documents(title, doi, COLLECTION) == found


def test_an_empty_collection_has_nothing() -> None:
    cited = Cited(
        ("a",), ("10.1145/1",), ("1810.04805",), entries=(Entry("a", "", "A Long Title"),)
    )
    empty = COLLECTION.clear()
    assert find_cited_documents(cited, empty) == set()
    assert find_own_documents("A Long Title", "10.1145/1", empty) == set()


def test_titles_match_with_any_characters_at_their_ends() -> None:
    """The comparison of ends, which saves time, loses no title that is the same in letters."""
    titles = [
        "A b c d e f", "“Quoted” things are many", "Is it so (again)?", "Ünder the sea",
        "X-ray of the heart", "The end: naïveté", "1 2 3 4 5 6 7 8", "a b c", "On C++",
        "Ends with a dot.", "  Blanks around it all  ", "MIXED case TITLE", "漢字 の 題 名",
    ]  # fmt: skip
    documents = pl.DataFrame({"doc_id": [str(n) for n in range(len(titles))], "title": titles})
    for number, title in enumerate(titles):
        if len(title.split()) >= 3:
            assert str(number) in find_own_documents(title.upper(), None, documents)
