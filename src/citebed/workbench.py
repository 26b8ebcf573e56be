"""The Python door: a collection that is open on the table, with the verbs of the command line.

``citebed.open("mine")`` gives one; what the verbs do is what the commands do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from citebed.collection import (
    Collection,
    ImportOptions,
    ImportReport,
    forget_sources,
    import_sources,
)
from citebed.collection.filters import Filter
from citebed.errors import CitebedError
from citebed.report.terminal import progress_bar
from citebed.retrieval import encoders
from citebed.retrieval.dense.static_model import index_model
from citebed.retrieval.index.building import IndexOptions
from citebed.retrieval.index.choosing import AUTO
from citebed.retrieval.index.statistics import IndexReport
from citebed.retrieval.learned.fitting import build_index
from citebed.retrieval.recommending.recommender import DEFAULT_MODEL, Recommender
from citebed.retrieval.running.runner import RunOptions, run_queries
from citebed.retrieval.search.fields import Fields, fields_of
from citebed.runs.tables import Run
from citebed.wording import count

if TYPE_CHECKING:
    import polars as pl

    from citebed.collection.exporting import ExportReport
    from citebed.desk import Desk
    from citebed.drafts import DraftLike
    from citebed.report.collection.lint import Findings
    from citebed.report.collection.table import CollectionStats
    from citebed.retrieval.library.about import About
    from citebed.retrieval.library.found import Found
    from citebed.retrieval.library.library import Library
    from citebed.retrieval.library.map import Map
    from citebed.retrieval.pipeline import Pipeline
    from citebed.retrieval.recommending.recommendations import Recommendations
    from citebed.retrieval.tuning.tuning import Tuned

_FIELDS = str(RunOptions.fields)
_T = TypeVar("_T")


class Workbench(Collection):
    """An open collection that can be indexed, searched and recommended from.

    ``imported`` is what the import did, if it was made just now.
    """

    def __init__(self, folder: str | Path, imported: ImportReport | None = None) -> None:
        super().__init__(folder)
        self.imported = imported
        self._recommenders: dict[tuple[str, str], Recommender] = {}
        self._library: Library | None = None

    def __repr__(self) -> str:
        sets = ", ".join(f"{self.queries(name).height:,} {name}" for name in self.query_sets)
        parts = [count(self.documents.height, "document"), f"queries: {sets or 'none'}"]
        if self.problems.height:
            parts.append(f"{count(self.problems.height, 'problem')} in its sources (.problems)")
        return f"<{self.name}: {'; '.join(parts)}; in {self.folder}>"

    def index(  # noqa: PLR0913 - the options of the command, by name
        self,
        analyser: str = AUTO,
        *,
        citing: Iterable[str | Path] = (),
        rebuild: bool = False,
        neural: bool | str | Path = False,
        static: str | Path | None = None,
        fit: bool | None = None,
        quiet: bool = False,
    ) -> IndexReport:
        """Index the collection, or bring its index up to date; ``citing`` are contexts files. The
        analyser is by default the one that fits the languages of the texts.

        ``neural`` also makes the vectors of the encoder that was fetched, or of the one named;
        ``static`` are word vectors of one's own, or ``shipped`` for those of citebed again. With
        ``fit`` it is learned anew from the abstracts how much these count; if that is false, they
        count as they come with citebed.
        """
        encoder = encoders.index_encoder(neural) if neural else None
        words = index_model(static)
        options = IndexOptions(
            analyser, tuple(map(Path, citing)), rebuild=rebuild, neural=encoder, static=words
        )
        with progress_bar(quiet, "documents") as progress:
            report = build_index(self, options, progress, fit=fit)
        self._recommenders.clear()
        return report

    def tune(
        self,
        drafts: DraftLike | Iterable[DraftLike] = (),
        *,
        queries: str | Iterable[str] = (),
        qrels: str | Path | Iterable[str | Path] = (),
        quiet: bool = False,
    ) -> Tuned:
        """Let drafts that cite, and queries that were judged, tell how much word vectors count.

        ``queries`` are sets of the collection, or files; ``qrels`` are files of their judgements,
        such as a campaign's, in place of the set's own. Without any of them the collection's own
        sets are taken. ``index(fit=True)`` goes back to what the abstracts taught.
        """
        from citebed.retrieval.tuning.tuning import tune

        with progress_bar(quiet, "questions") as progress:
            found = tune(
                self, _listed(drafts), queries=_listed(queries), qrels=_listed(qrels),
                progress=progress,
            )  # fmt: skip
        self._recommenders.clear()
        return found

    @cached_property
    def desk(self) -> Desk:
        """The drafts that are worked on with the collection in the browser, and what was said of
        papers for them: ``desk.qrels()`` and ``desk.queries()`` are these as a test collection."""
        from citebed.desk import Desk

        desk = Desk(self.folder)
        desk.follow(self)
        return desk

    def stats(self) -> CollectionStats:
        """What is in the collection and its index, in numbers."""
        from citebed.report.collection.table import collection_stats

        return collection_stats(self)

    def lint(self, only: Iterable[str] | None = None, *, examples: int | None = 3) -> Findings:
        """Look for what would spoil an experiment, with the checks named, or with all; each
        finding has so many examples (``None`` for all) and how to mend it."""
        from citebed.report.collection.lint import linted

        return linted(self, only, examples=examples)

    def export(
        self,
        target: str | Path,
        to: str,
        *,
        queries: Iterable[str] | None = None,
        overwrite: bool = False,
    ) -> ExportReport:
        """Write the collection to a file or folder in a form that other tools read: ``bibtex``,
        ``ris``, ``csl-json``, ``trec``, ``beir`` …; ``queries`` are the query sets to write."""
        from citebed.collection.exporting import export

        return export(self, to, target, query_sets=queries, overwrite=overwrite)

    def forget(self, *sources: str | Path) -> ImportReport:
        """Take sources out, by name or path, with the documents that only they gave.

        The collection is then open as it has become; its index is brought up to date by `index`.
        """
        report = forget_sources(self.folder, sources)
        vars(self).clear()  # what was read of the state before
        Workbench.__init__(self, report.folder, report)
        return report

    def recommend(
        self,
        texts: DraftLike | Sequence[DraftLike],
        k: int | None = None,
        *,
        model: str | Pipeline = DEFAULT_MODEL,
        fields: str | Fields = _FIELDS,
        **options: Any,
    ) -> Recommendations:
        """The ``k`` papers that a text should cite, or each paragraph of a draft; by default up
        to ten, and none that would hardly ever be right.

        ``texts`` is a text, the path of a draft, or a list of either; the options are those of
        `Recommender.recommend_for`. The second text is answered faster than the first.
        """
        return self._recommender(model, fields).recommend_for(texts, k, **options)

    def _recommender(self, model: str | Pipeline, fields: str | Fields) -> Recommender:
        key = (str(model), str(fields))
        if key not in self._recommenders:
            self._recommenders[key] = Recommender(self, None, model, fields)
        return self._recommenders[key]

    # --- The library ---

    @property
    def library(self) -> Library:
        """What finds documents, and knows what is around them; kept as long as the index."""
        recommender = self._recommender(DEFAULT_MODEL, _FIELDS)
        if self._library is None or self._library.recommender is not recommender:
            from citebed.retrieval.library.library import Library

            self._library = Library(recommender)
        return self._library

    def find(
        self,
        words: str = "",
        *,
        among: Filter = Filter(),  # noqa: B008 - it is frozen
        sort: str = "best",
        start: int = 0,
        k: int = 25,
    ) -> Found:
        """The documents that have these words, in their texts, names, years or titles; without
        words, all of them. A DOI or a key finds its document first.

        ``among`` is a `Filter` by years, venues, types and authors; ``sort`` one of ``best``,
        ``newest``, ``oldest``, ``title``, ``cited``. What was found tells how many there are
        (``total``) and how they are spread (``facets``).
        """
        return self.library.find(words, among=among, sort=sort, start=start, k=k)

    def about(self, doc_id: str, k: int = 10) -> About:
        """A document by any name that it goes by: its record, who cites it here in which words,
        what it cites, what it is cited together with, and what is similar (``k`` each)."""
        return self.library.about(doc_id, k)

    def similar(self, doc_ids: str | Sequence[str], k: int = 10) -> Found:
        """The ``k`` documents that are most like one, or like several at once."""
        return self.library.similar(doc_ids, k)

    def map(
        self,
        around: DraftLike | Sequence[str],
        k: int = 60,
        *,
        cited: Iterable[str] = (),
        exclude: Iterable[str] = (),
    ) -> Map:
        """Up to ``k`` documents around a text, a draft, or documents by their names, in two
        dimensions and in groups; ``gaps`` are the groups of which the draft cites nothing, also
        not among the documents that it will cite (``cited``); what is to ``exclude`` is not on it.
        """
        return self.library.map(around, k, cited=cited, exclude=exclude)

    def search(
        self,
        queries: str | Path | pl.DataFrame,
        model: str | Pipeline = "bm25",
        depth: int = 1000,
        *,
        fields: str | Fields = _FIELDS,
        as_is: bool = False,
        quiet: bool = False,
    ) -> Run:
        """Run a set of queries (its name, a file or a table); the run is called as the model."""
        given = str(queries) if isinstance(queries, Path) else queries
        chosen = fields_of(fields) if isinstance(fields, str) else fields
        options = RunOptions(depth=depth, fields=chosen, as_is=as_is)
        with progress_bar(quiet, "queries") as progress:
            return run_queries(self, None, given, model, options, progress)


def _listed(given: _T | Iterable[_T]) -> list[_T]:
    """One or several, as a list; a text is one."""
    several = isinstance(given, Iterable) and not isinstance(given, str)
    return list(given) if several else [given]  # type: ignore[arg-type, list-item]


def open(folder: str | Path | Collection) -> Workbench:
    """Open the collection at ``folder``; raises ``CollectionError`` if there is none."""
    if isinstance(folder, Workbench):
        return folder
    return Workbench(folder.folder if isinstance(folder, Collection) else folder)


def create(
    folder: str | Path, sources: str | Path | Iterable[str | Path] = (), **options: Any
) -> Workbench:
    """Import files and folders into the collection at ``folder``, new or old, and open it.

    The options are those of `ImportOptions` (``rules``, ``only``, ``name`` …). What was read,
    kept and left out is in ``.imported``. Doing it again changes nothing if the files have not.
    """
    paths = [sources] if isinstance(sources, str | Path) else list(sources)
    if not paths and not (Path(folder) / "citebed.toml").is_file():
        raise CitebedError("there is nothing to import: give files or folders.")
    with progress_bar() as progress:
        report = import_sources(folder, paths, ImportOptions(**options), progress)
    return Workbench(folder, report)


def demo(folder: str | Path = "demo-collection") -> Workbench:
    """The demo collection, made at ``folder``: landmark papers of information retrieval."""
    from citebed.collection.demo import import_demo

    return Workbench(folder, import_demo(folder))
