"""The Python interface: an open collection with the commands as methods.

``citebed.open("mine")`` returns one; its methods do what the commands do.
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
from citebed.retrieval.execution.runner import RunOptions, run_queries
from citebed.retrieval.index.analyser_choice import AUTO
from citebed.retrieval.index.builder import IndexOptions
from citebed.retrieval.index.statistics import IndexReport
from citebed.retrieval.ranking.weight_fit import build_index
from citebed.retrieval.recommend.recommender import DEFAULT_MODEL, Recommender
from citebed.retrieval.search.fields import Fields, fields_of
from citebed.retrieval.vectors.static_model import choose_model
from citebed.runs.tables import Run
from citebed.wording import count

if TYPE_CHECKING:
    import polars as pl

    from citebed.collection.exporting import ExportReport
    from citebed.drafts import DraftLike
    from citebed.drafts.draft_store import DraftStore
    from citebed.report.collection import CollectionStats
    from citebed.report.lint import Findings
    from citebed.retrieval.library.finder import FindResult
    from citebed.retrieval.library.library import DocumentDetails, Library
    from citebed.retrieval.library.map import Map
    from citebed.retrieval.pipeline import Pipeline
    from citebed.retrieval.recommend.recommendations import Recommendations
    from citebed.retrieval.tuning import Tuned
    from citebed.writing.check import CheckReport
    from citebed.writing.fill import Filling

_FIELDS = str(RunOptions.fields)
_T = TypeVar("_T")


class Workbench(Collection):
    """An open collection that can be indexed, searched and recommended from.

    ``imported`` is the report of the import that created this object, if any.
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
        """Index the collection, or update its index; ``citing`` are drafts, PDFs and files of
        contexts. The default analyser fits the languages of the texts. ``neural`` also computes
        document vectors with the downloaded encoder, or with the named one. ``static`` is a file of
        your own word vectors, or ``shipped`` for citebed's. ``fit=True`` re-estimates the weight of
        word vectors from the abstracts; ``fit=False`` uses citebed's default weight.
        """
        encoder = encoders.index_encoder(neural) if neural else None
        words = choose_model(static)
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
        """Tune the weights of word vectors and citation counts on drafts and judged queries.

        ``queries`` are query sets of the collection, or files; ``qrels`` are files of their
        judgements, such as a campaign's, instead of the set's own. By default citebed uses the
        collection's own sets. ``index(fit=True)`` restores the weights estimated from the
        abstracts.
        """
        from citebed.retrieval.tuning import tune

        with progress_bar(quiet, "questions") as progress:
            found = tune(
                self, _listed(drafts), queries=_listed(queries), qrels=_listed(qrels),
                progress=progress,
            )  # fmt: skip
        self._recommenders.clear()
        return found

    @cached_property
    def desk(self) -> DraftStore:
        """The collection's drafts from the workbench, and your feedback on papers: ``desk.qrels()``
        and ``desk.queries()`` return the feedback as a test collection."""
        from citebed.drafts.draft_store import DraftStore

        desk = DraftStore(self.folder)
        desk.follow(self)
        return desk

    def stats(self) -> CollectionStats:
        """Return statistics of the collection and its index."""
        from citebed.report.collection import collection_stats

        return collection_stats(self)

    def lint(self, only: Iterable[str] | None = None, *, examples: int | None = 3) -> Findings:
        """Check the collection for errors that would distort an experiment, with the named checks
        or all. Each finding has up to ``examples`` examples (``None`` for all) and a fix."""
        from citebed.report.lint import linted

        return linted(self, only, examples=examples)

    def check(self, draft: DraftLike, **options: Any) -> CheckReport:
        """Check the references of a draft or of a .bib file against the collection; for the options
        (``complete``, ``hints``) see `CheckOptions`."""
        from citebed.writing.check import CheckOptions, check_draft

        return check_draft(draft, self, CheckOptions(**options))

    def export(
        self,
        target: str | Path,
        to: str,
        *,
        queries: Iterable[str] | None = None,
        overwrite: bool = False,
    ) -> ExportReport:
        """Export the collection in a format that other tools read: ``bibtex``, ``ris``,
        ``csl-json``, ``trec``, ``beir`` …; ``queries`` are the query sets to write."""
        from citebed.collection.exporting import export

        return export(self, to, target, query_sets=queries, overwrite=overwrite)

    def forget(self, *sources: str | Path) -> ImportReport:
        """Remove sources, by name or path, with the documents that only they contain; or single
        papers, by citation key, DOI or id. This object then shows the changed collection; call
        `index` to update the index.
        """
        report = forget_sources(self.folder, sources)
        vars(self).clear()  # cached data of the earlier state
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
        """Recommend up to ``k`` papers for a text or for each paragraph of a draft (default: 10 for
        one text, 3 per passage of a draft, without unlikely papers).

        ``texts`` is a text, the path of a draft, or a list of either; for the options see
        `Recommender.recommend_for`. The first call loads the models and is slower.
        """
        return self._recommender(model, fields).recommend_for(texts, k, **options)

    def fill(self, draft: str | Path, **options: Any) -> Filling:
        """Find the gaps of a draft file (``\\cite{}``, ``[?]``, ``[@]`` …), and suggest papers for
        each; for the options see `FillOptions`.

        Choose with ``choose`` or ``accept_first``, then ``write("filled.tex")``.
        """
        from citebed.writing.fill import FillOptions, fill_draft

        recommender = self._recommender(DEFAULT_MODEL, _FIELDS)
        return fill_draft(draft, recommender, FillOptions(**options))

    def _recommender(self, model: str | Pipeline, fields: str | Fields) -> Recommender:
        key = (str(model), str(fields))
        if key not in self._recommenders:
            self._recommenders[key] = Recommender(self, None, model, fields)
        return self._recommenders[key]

    # --- The library ---

    @property
    def library(self) -> Library:
        """Return the search for documents and their neighbours, cached until the index changes."""
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
    ) -> FindResult:
        """Find documents with these words in their text, names, year or title; without words, all
        documents. A DOI or a key ranks its document first. ``among`` is a `Filter` by years,
        venues, types and authors; ``sort`` is ``best``, ``newest``, ``oldest``, ``title`` or
        ``cited``. The result has the number of matches (``total``) and their counts by facet
        (``facets``).
        """
        return self.library.find(words, among=among, sort=sort, start=start, k=k)

    def about(self, doc_id: str, k: int = 10) -> DocumentDetails:
        """Return a document by id, DOI or key: its record, the contexts that cite it, its
        references, co-cited documents and similar documents (``k`` each)."""
        return self.library.about(doc_id, k)

    def similar(self, doc_ids: str | Sequence[str], k: int = 10) -> FindResult:
        """Return the ``k`` documents most similar to one or to several documents."""
        return self.library.similar(doc_ids, k)

    def map(
        self,
        around: DraftLike | Sequence[str],
        k: int = 60,
        *,
        cited: Iterable[str] = (),
        exclude: Iterable[str] = (),
    ) -> Map:
        """Map up to ``k`` documents around a text, a draft or named documents, in two dimensions
        and in groups. ``gaps`` are the groups from which neither the draft nor its basket
        (``cited``) cites a document; the map leaves out documents in ``exclude``.
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
        """Run a query set (its name, a file or a table); the run is named after the model."""
        given = str(queries) if isinstance(queries, Path) else queries
        chosen = fields_of(fields) if isinstance(fields, str) else fields
        options = RunOptions(depth=depth, fields=chosen, as_is=as_is)
        with progress_bar(quiet, "queries") as progress:
            return run_queries(self, None, given, model, options, progress)


def _listed(given: _T | Iterable[_T]) -> list[_T]:
    """Return one or several values as a list; a string is one value."""
    several = isinstance(given, Iterable) and not isinstance(given, str)
    return list(given) if several else [given]  # type: ignore[arg-type, list-item]


def open(folder: str | Path | Collection) -> Workbench:
    """Open the collection at ``folder``; raise ``CollectionError`` if it does not exist."""
    if isinstance(folder, Workbench):
        return folder
    return Workbench(folder.folder if isinstance(folder, Collection) else folder)


def create(
    folder: str | Path, sources: str | Path | Iterable[str | Path] = (), **options: Any
) -> Workbench:
    """Import files and folders into the collection at ``folder``, which is created if missing, and
    open it.

    For the options (``rules``, ``only``, ``name`` …) see `ImportOptions`. ``.imported`` is the
    import report. A repeated import of unchanged files changes nothing.
    """
    paths = [sources] if isinstance(sources, str | Path) else list(sources)
    if not paths and not (Path(folder) / "citebed.toml").is_file():
        raise CitebedError("nothing to import. Pass at least one file or folder.")
    with progress_bar() as progress:
        report = import_sources(folder, paths, ImportOptions(**options), progress)
    return Workbench(folder, report)


def demo(folder: str | Path = "demo-collection") -> Workbench:
    """Create the demo collection at ``folder``: landmark papers of information retrieval."""
    from citebed.collection.demo import import_demo

    return Workbench(folder, import_demo(folder))
