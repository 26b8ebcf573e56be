"""Text analysis: turn text into index terms, and prepare citing text as a query.

``Analyser`` turns text into terms. Import the functions for citing text from their modules, because
each module compiles its regular expressions on import: ``markers`` finds and removes citation
markers, ``hyphens`` joins words broken at line ends, ``sentences`` splits text, and ``anonymise``
removes the names of cited authors.
"""

from __future__ import annotations

from citebed.retrieval.analysis.analysers import ANALYSERS, Analyser, analyser_of, is_telling

__all__ = ["ANALYSERS", "Analyser", "analyser_of", "is_telling"]
