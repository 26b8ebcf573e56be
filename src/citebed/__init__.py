"""citebed, a workbench for citation recommendation: collect, recommend, judge and evaluate.

>>> import citebed
>>> mine = citebed.open("mine")                              # doctest: +SKIP
>>> mine.recommend("BM25 is hard to beat.", k=5)             # doctest: +SKIP
"""

# ruff: isort: skip_file
from __future__ import annotations

from typing import TYPE_CHECKING

from citebed._version import __version__ as __version__
from citebed.lazy import names_on_first_use

if TYPE_CHECKING:
    from citebed.collection import (
        Collection as Collection,
        ImportOptions as ImportOptions,
        ImportReport as ImportReport,
        Rules as Rules,
        import_sources as import_sources,
    )
    from citebed.collection.annotation import (
        annotate as annotate,
        annotate_papers as annotate_papers,
    )
    from citebed.collection.filters import Filter as Filter
    from citebed.distributed.engine import engine as engine
    from citebed.drafts import read_draft as read_draft
    from citebed.errors import (
        CitebedError as CitebedError,
        CollectionError as CollectionError,
        FormatError as FormatError,
        MissingExtra as MissingExtra,
        UnknownName as UnknownName,
    )
    from citebed.evaluation import compare as compare, contrast as contrast, evaluate as evaluate
    from citebed.judging import Campaign as Campaign, new_campaign as new_campaign
    from citebed.judging.campaign import campaign as campaign
    from citebed.retrieval import (
        Recommender as Recommender,
        build_index as build_index,
        open_index as open_index,
        run_queries as run_queries,
    )
    from citebed.retrieval.recommend.recommender import recommend as recommend
    from citebed.runs.fusion import fuse as fuse
    from citebed.runs.metadata import read_metadata as read_metadata
    from citebed.timeline import timeline as timeline
    from citebed.training import (
        average_encoders as average_encoders,
        train_encoder as train_encoder,
        train_ranker as train_ranker,
        train_static as train_static,
        train_student as train_student,
    )
    from citebed.writing.watch import watch as watch
    from citebed.api import (
        Workbench as Workbench,
        create as create,
        demo as demo,
        open as open,
    )

__getattr__, __dir__ = names_on_first_use(__name__)
