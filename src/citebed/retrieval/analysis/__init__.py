"""Text analysis: words and terms for the index, and what citing text needs before it is a query.

``Analyser`` turns text into terms. What citing text needs is imported from where it is made, as
the expressions it takes are compiled then: ``markers`` (find and remove citation markers),
``hyphens`` (mend words broken at line ends), ``sentences`` (split), ``anonymise`` (take out the
names of those who are cited).
"""

from __future__ import annotations

from citebed.retrieval.analysis.analysers import ANALYSERS, Analyser, analyser_of, is_telling

__all__ = ["ANALYSERS", "Analyser", "analyser_of", "is_telling"]
