"""All verbs in the order of the work: the file that has each, and what it does in a few words.

Only the file of the verb at hand is loaded, and none to list them: start-up is felt.
"""

from __future__ import annotations

VERBS: dict[str, tuple[str, str]] = {
    "import": ("importing", "Read bibliographies and papers into a collection."),
    "annotate": ("annotating", "Annotate citing papers from their PDFs."),
    "forget": ("importing", "Take sources out of a collection."),
    "stats": ("collect", "Tell what is in a collection."),
    "lint": ("collect", "Look for what would spoil an experiment."),
    "export": ("collect", "Write a collection as other tools read it."),
    "fetch": ("collect", "Get a public collection, or the encoder."),
    "index": ("retrieve", "Index a collection for searching."),
    "search": ("retrieve", "Search with every query of a set, into a run."),
    "recommend": ("recommending", "Recommend papers that a text should cite."),
    "find": ("library", "Find documents by words, names, years, keys."),
    "tune": ("tuning", "Let drafts and judgements sharpen the weights."),
    "train": ("training", "Train models on citations of your own."),
    "evaluate": ("evaluating", "Score runs against judgements."),
    "compare": ("evaluating", "Compare runs: differences, intervals, tests."),
    "measures": ("evaluating", "List the measures, or explain one."),
    "trec_eval": ("trec_eval", "Be trec_eval: its command line, its output."),
    "contrast": ("contrasting", "Contrast two sets of judgements."),
    "pool-bias": ("contrasting", "Leave each run, or team, out of the pool."),
    "qrels": ("qrels.judgement_sets", "Tools for sets of judgements."),
    "campaign": ("campaign", "Build a test collection with authors of papers."),
    "serve": ("serving", "Open the workbench in a browser; serve campaigns."),
    "desk": ("desk", "Tell of drafts in the workbench, and what was said."),
    "fuse": ("fusing", "Fuse runs into one, by scores or by ranks."),
    "report": ("reporting", "Make one page of an evaluation."),
    "timeline": ("timeline.timeline", "Score runs over a stream, slice by slice."),
    "timeline official": ("timeline.official", "Score runs as TREC KBA did, at cut-offs."),
    "robustness": ("robustness", "Which measures compare slices of any size?"),
    "filter": ("filtering", "Filter a stream for standing topics."),
    "docs": ("docs", "Open the handbook in a browser, offline."),
    "demo": ("demo", "Make the demo collection, and ask it something."),
}
