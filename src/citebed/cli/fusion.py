"""The command ``fuse``."""

from __future__ import annotations

from citebed.cli.judgements import Out, made_of
from citebed.cli.options import RunFiles
from citebed.cli.output import say
from citebed.errors import CitebedError
from citebed.options import option
from citebed.wording import count, printable


def fuse(
    runs: RunFiles,
    out: Out,
    method: str = option(
        "rrf", "rrf, combsum, combmnz, combmed, combmin, combmax, isr, borda or interpolate."
    ),
    normalise: str | None = option(
        None, "Score normalisation: minmax (default), zscore, sum, rank, max or none."
    ),
    weights: str | None = option(
        None, "One weight per run, e.g. 0.7,0.3 (methods that sum scores)."
    ),
    depth: int = option(1000, "Documents per query.", "-k", "--depth"),
    k0: float = option(60.0, "RRF constant k."),
    tag: str | None = option(None, "Run tag (default: the output file's name)."),
) -> None:
    """Fuse several runs into one, by scores or by ranks.

    A run contributes nothing to queries it lacks. Ties are broken by document id.

    Example: citebed fuse bm25.run dense.run --method rrf -k 1000 -o fused.run
    """
    from citebed.runs.fusion import Fusion
    from citebed.runs.fusion import fuse as fuse_runs
    from citebed.runs.reader import read_run, run_name
    from citebed.runs.writer import check_not_input, write_run

    try:
        shares = weights and tuple(float(part) for part in weights.replace(",", " ").split())
    except ValueError:
        raise CitebedError(f"cannot read --weights '{weights}'. Write them like 0.7,0.3.") from None
    options = Fusion(method=method, normalise=normalise, weights=shares or None, depth=depth, k0=k0)
    check_not_input(out, *runs)
    read = [read_run(path) for path in runs]
    fused = fuse_runs(read, options, run_name(out))
    facts = {**made_of(runs), "tool": "fuse", "method": str(options), "depth": depth}
    write_run(out, fused, tag, facts)
    everyone = fused.table["query_id"].n_unique()
    for one in read:
        queries = one.table["query_id"].n_unique()
        lacks = f", {everyone - queries:,} fewer than all" if queries < everyone else ""
        say(
            f"read {count(one.table.height, 'document')} for {count(queries, 'query')} "
            f"from {printable(one.source or one.name)}{lacks}"
        )
    say(
        f"wrote {count(fused.table.height, 'document')} for {count(everyone, 'query')} to "
        f"{printable(out)}: {options}"
    )
