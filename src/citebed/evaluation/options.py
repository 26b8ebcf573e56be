"""Options of evaluations, shared by the command line, the web API and Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from citebed.errors import CitebedError, UnknownName
from citebed.options import option, without
from citebed.wording import count

if TYPE_CHECKING:
    from citebed.evaluation.measures import Measure

ScoreType = Literal["double", "float"]
TESTS = ("t", "permutation", "wilcoxon", "sign", "bootstrap")
CORRECTIONS = ("none", "bonferroni", "holm", "bh", "tukey")
SIGNIFICANT = 0.05
DEFAULT_MEASURES = ("nDCG@10", "R@10", "AP", "RR")
CONTRASTED = ("AP", "P@5", "Rprec", "GMAP", "Bpref")
"""The default measures of a contrast, as in Table 5 of Ritchie, Robertson & Teufel (2007)."""
POOLED = ("AP", "P@10", "Bpref")
"""The measures of pool bias by default."""
_MANY_QUERIES = 1000


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Options for scoring runs.

    With ``complete``, means are over all judged queries, and a missing query scores 0 (trec_eval's
    ``-c``). Otherwise they are over the judged queries that the run has, which is trec_eval's
    default. ``score_type`` is ``double`` (trec_eval 10) or ``float`` (trec_eval 9).
    """

    complete: bool = option(
        False, "Score queries missing from the run as 0 (default: leave them out).", "-c"
    )
    score_type: ScoreType = option(
        "double", "Read scores as double (like trec_eval 10) or float (like 9).", "--scores"
    )


TREC_EVAL = Settings()


@dataclass(frozen=True, kw_only=True)
class Design:
    """Options of a comparison.

    With a ``baseline``, every other run is compared with it; otherwise all pairs are compared.
    ``correction`` applies to the comparisons under one measure. ``tukey`` tests all pairs together,
    with its own test.
    """

    baseline: str | None = option(
        None, "Baseline run for comparisons (default: compare all pairs)."
    )
    test: str = option("t", "Test, paired by query: t, permutation, wilcoxon, sign or bootstrap.")
    correction: str = option(
        "none",
        "Correction for multiple comparisons: none, bonferroni, holm, bh or tukey.",
        "--correct",
    )
    alpha: float = option(SIGNIFICANT, "Significance level for p-values.")

    def __post_init__(self) -> None:
        if self.test not in TESTS:
            raise UnknownName("test", self.test, TESTS)
        if self.correction not in CORRECTIONS:
            raise UnknownName("correction", self.correction, CORRECTIONS)
        if not 0 < self.alpha < 1:
            raise CitebedError(f"alpha is {self.alpha}; expected a share between 0 and 1.")


@dataclass(frozen=True, kw_only=True)
class Resampling:
    """Options of resampling for intervals and randomised tests.

    With a ``cluster``, whole clusters of queries are resampled. It is a mapping from queries to
    clusters, a file of lines ``query_id cluster``, or the name of a field of the queries, such as
    ``paper``; the queries come from the file ``queries`` or the judgements' collection. The default
    number of ``samples`` is 10,000, but 2,000 for intervals over more than 1,000 queries, where
    more samples change nothing.
    """

    cluster: Mapping[str, str] | str | Path | None = option(
        None,
        "Treat queries of one cluster, e.g. of one paper, as dependent in intervals and tests: "
        "'paper' (or another field of the queries), or a file of lines 'query_id cluster'.",
        kind=str | None,
    )
    queries: Path | None = option(None, "Queries (JSON Lines) for --cluster.")
    samples: int | None = option(
        None, "Number of resamples (default 10,000; 2,000 above 1,000 queries).", min=100
    )
    seed: int = option(0, "Random seed.", min=0)
    level: float = option(0.95, "Confidence level, e.g. 0.95.", min=0.5, max=0.9999)

    def with_clusters(self, qrels: Path | None) -> Resampling:
        """Return the same options with the clusters loaded; ``qrels`` is the judgements' file."""
        if self.cluster is None or isinstance(self.cluster, Mapping):
            return self
        from citebed.runs.query_files import load_clusters

        return replace(self, cluster=load_clusters(self.cluster, self.queries, qrels))

    def labels(self, query_ids: list[str]) -> list[str] | None:
        """Return the cluster of each of these queries, or ``None`` without clusters."""
        if self.cluster is None:
            return None
        clusters = self.with_clusters(None).cluster
        assert isinstance(clusters, Mapping)
        missing = [query for query in query_ids if query not in clusters]
        if missing:
            raise CitebedError(
                f"{len(missing):,} of {count(len(query_ids), 'query')} "
                f"{'has' if len(missing) == 1 else 'have'} no cluster, "
                f"'{missing[0]}' for one. Every query needs one."
            )
        return [clusters[query] for query in query_ids]

    def draws(self, queries: int) -> int:
        """Return the number of samples for an interval over this many queries."""
        return self.samples or (10_000 if queries <= _MANY_QUERIES else 2_000)


@dataclass(frozen=True, kw_only=True)
class ContrastOptions:
    """Options of a contrast.

    ``keep_empty`` keeps queries without a relevant document in one of the sets. ``largest`` is the
    number of largest query changes to list in each direction, per run and measure.
    """

    largest: int = option(5, "Number of largest gains and losses to list.", min=0)
    keep_empty: bool = option(
        False,
        "Keep queries without a relevant document in one of the sets.",
        "--keep-empty/--no-keep-empty",
    )
    design: Annotated[Design, without("baseline")] = field(default_factory=Design)
    settings: Settings = TREC_EVAL
    resampling: Annotated[Resampling, without("level")] = field(default_factory=Resampling)


@dataclass(frozen=True, kw_only=True)
class PoolBiasOptions:
    """Options for measuring pool bias.

    The first ``depth`` documents of a ranking are its contribution to the pool. The runs of each of
    the ``teams`` (a mapping from run to team, or a file of lines ``run team``) are left out
    together. ``cutoffs`` are the ranks at which unjudged documents are counted.
    """

    teams: Mapping[str, str] | str | Path | None = option(
        None, "File of lines 'run team'; leave out a team's runs together.", kind=Path | None
    )
    depth: int = option(100, "Pool depth.", min=1)
    cutoffs: tuple[int, ...] = option(
        (5, 10, 20, 100),
        "Rank cut-off for counting unjudged documents (repeatable).",
        "--cutoff",
        min=1,
        show_default=False,
    )
    design: Annotated[Design, without("baseline")] = field(default_factory=Design)
    settings: Settings = TREC_EVAL
    resampling: Annotated[Resampling, without("level")] = field(default_factory=Resampling)

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise CitebedError(f"the depth is {self.depth}; expected a rank, 1 or more.")
        if not all(1 <= cutoff < 1 << 63 for cutoff in self.cutoffs):
            raise CitebedError("a cut-off is a rank, 1 or more.")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Measures and options of a study."""

    measures: Sequence[str | Measure] = DEFAULT_MEASURES
    settings: Settings = TREC_EVAL
    design: Design = field(default_factory=Design)
    resampling: Resampling = field(default_factory=Resampling)
