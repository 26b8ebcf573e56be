"""All commands in the order of the work: the module of each, and a short summary.

citebed loads only the module of the current command, and none to list commands, so that it starts
fast.
"""

from __future__ import annotations

VERBS: dict[str, tuple[str, str]] = {
    "import": ("importing", "Read bibliographies and papers into a collection."),
    "annotate": ("annotating", "Annotate citing papers from their PDFs."),
    "forget": ("importing", "Remove sources from a collection."),
    "stats": ("collect", "Show statistics of a collection."),
    "lint": ("collect", "Check a collection for errors."),
    "export": ("collect", "Export a collection to BEIR, TREC, BibTeX and more."),
    "fetch": ("collect", "Download a public collection or the encoder."),
    "index": ("retrieve", "Index a collection for searching."),
    "search": ("retrieve", "Run a query set and write a TREC run."),
    "recommend": ("recommending", "Recommend papers that a text should cite."),
    "find": ("library", "Find documents by title words, author, year or key."),
    "tune": ("tuning", "Tune ranking weights on your drafts or judgements."),
    "train": ("training", "Train encoders and rankers on your own citations."),
    "evaluate": ("evaluating", "Score runs against judgements."),
    "compare": ("evaluating", "Compare runs: differences, intervals, tests."),
    "measures": ("evaluating", "List the measures, or explain one."),
    "trec_eval": ("trec_eval", "Drop-in replacement for trec_eval."),
    "contrast": ("contrasting", "Compare the same runs under two judgement sets."),
    "pool-bias": ("contrasting", "Measure pool bias by leaving out each run or team."),
    "qrels": ("qrels.judgement_sets", "Tools for sets of judgements."),
    "campaign": ("campaign", "Collect relevance judgements from paper authors."),
    "serve": ("serving", "Open the workbench in a browser; serve campaigns."),
    "desk": ("desk", "List workbench drafts and export your feedback."),
    "fuse": ("fusing", "Fuse runs into one, by scores or by ranks."),
    "report": ("reporting", "Write an evaluation report as one HTML page."),
    "timeline": ("timeline.timeline", "Score runs over a stream, slice by slice."),
    "timeline official": (
        "timeline.official",
        "Score filter runs with TREC KBA's official measures.",
    ),
    "robustness": ("robustness", "Test which measures are comparable across slice sizes."),
    "filter": ("filtering", "Filter a document stream for a set of topics."),
    "published": ("published", "Print three papers' tables beside your figures."),
    "docs": ("docs", "Open the handbook in a browser, offline."),
    "demo": ("demo", "Create the demo collection and try a recommendation."),
}
