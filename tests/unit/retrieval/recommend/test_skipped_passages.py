"""Skipped passages: languages that the collection does not have, and notes with their places."""

from __future__ import annotations

from pathlib import Path

from tests.unit.retrieval.index.making import build, write_collection

from citebed.collection import open_collection
from citebed.drafts import Passage
from citebed.retrieval.index.index import open_index
from citebed.retrieval.ranking.ranker import shipped_ranker
from citebed.retrieval.recommend.skipped_passages import CollectionLanguages, skipped_notes

GERMAN = "Die Sprache der Anfragen ist nicht die der Dokumente, und das wird von uns gezeigt."
ENGLISH = "The language of the queries is not that of the documents, and we show this here."
FRENCH = "Les mots de la langue sont dans les documents que nous avons."


def languages(folder: Path, *titles: str, language: str | None = None) -> CollectionLanguages:
    documents = [
        {"doc_id": str(number), "title": title, "language": language}
        for number, title in enumerate(titles)
    ]
    build(write_collection(folder, documents))
    constants = shipped_ranker().constants
    return CollectionLanguages(open_collection(folder), open_index(folder), constants)


def test_texts_in_a_language_that_the_collection_lacks(tmp_path: Path) -> None:
    english = languages(tmp_path / "en", "The Language of Queries", "A Study of the Words")
    assert english.codes == {"en"}
    assert (english.find_foreign(GERMAN), english.find_foreign(ENGLISH)) == ("German", "")
    german = languages(tmp_path / "de", "Die Sprache der Anfragen", "Eine Studie von den Worten")
    assert german.codes == {"de"}
    assert (german.find_foreign(GERMAN), german.find_foreign(ENGLISH)) == ("", "English")
    both = languages(tmp_path / "2", "The Language of Queries", "Die Sprache der Anfragen")
    assert both.codes == {"en", "de"}
    assert both.find_foreign(GERMAN) == both.find_foreign(ENGLISH) == ""
    assert both.find_foreign(FRENCH) == "French"


def test_no_text_is_foreign_to_a_collection_of_unknown_language(tmp_path: Path) -> None:
    unknown = languages(tmp_path / "none", "BM25", "Word2vec")
    assert unknown.codes == frozenset()
    assert unknown.find_foreign(GERMAN) == unknown.find_foreign(ENGLISH) == ""
    stated = languages(tmp_path / "stated", "BM25", "Word2vec", language="ngerman")
    assert stated.codes == {"de"}
    assert stated.find_foreign(ENGLISH) == "English"


def test_a_note_for_each_kind_with_places() -> None:
    passages = [Passage("a", 3), Passage("b", 7), Passage("c", 9)]
    kinds = ["caption", "passage that needs no citation", "caption"]
    assert skipped_notes(zip(kinds, passages, strict=True)) == [
        "skipped 2 captions (lines 3, 9)",
        "skipped 1 passage that needs no citation (line 7); --min-probability 0 shows the best "
        "matches anyway",
    ]
