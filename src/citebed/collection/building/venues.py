"""Which series an event or a volume of a journal belongs to."""

from __future__ import annotations

import re

_EVENT = r"(?i)\b(?:conference|workshop|symposium|meeting|congress|colloquium|forum|advances in)\b"
_ORDINAL = (
    r"(?i)\b(?:\d+(?:st|nd|rd|th)|(?:(?:twen|thir|for|fif|six|seven|eigh|nine)ty[- ])?(?:first"
    r"|second|third|(?:four|fif|six|seven|eigh|nin|ten|eleven|twelf|[a-z]+teen|[a-z]+tie)th))\b"
)
_PROCEEDINGS = r"(?i)^\W*(?:proceedings|proc\.) (?:of|from)\b|\s\d{1,3}$"
_DETAILS = (
    r",\s+[A-Z][\w@-]*[ -](?:19|20)\d\d\b.*$"  # ", SIGIR 2015, Santiago, Chile"
    r"|,.*\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.? \d.*$"
    r"|\W+(?:Volume|Vol\.|Part) (?:\d+|[IVX]+)\b.*$"
)
_ARXIV = (
    r"(?i)[\s,;]*\b(?:arxiv:\s*|abs/)"
    r"(?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[a-z]{2})?/\d{7})(?:v\d+)?(?:\s*\[[\w.-]+\])?"
)
_CLEANING = (
    (r"\s*(?<![\w.:/])(?:in )?(?:19|20)\d\d(?!\w|[.:/]\w)|\s*['’]\d\d\b", ""),
    (r"\b(\w+ Conference on) \1\b", r"\1"),  # a slip in hundreds of the ACM's records
    (r"\bon Conference\b", "Conference"),
    (r"(?i)\bthe the\b", "the"),
    (r"\s+&\s*|&\s+", " and "),  # but "R&D"
    (r"\(\s*\)", ""),
    (r"\s+", " "),
    (r"(?i)^(?:\W*\bthe\b)+|^[ ,;:–-]+|[ ,;:–-]+\.?$", ""),
    (r"\.(?:\.| \d{1,3})$", "."),  # an abbreviated journal and its volume
)
_LONGEST = 1000
"""Characters of the longest name that is looked at: what is longer is no venue's name."""


def venue_series(name: str) -> str:
    """The series an event belongs to: its name without ordinals, years, volumes and dates.

    "Proceedings of the 27th ACM International Conference on Multimedia" is one of the "ACM
    International Conference on Multimedia". A journal keeps its name, but for a year or volume,
    and a preprint loses its number.
    """
    if len(name) > _LONGEST:
        return name
    text = re.sub(_ARXIV, "", re.sub(_DETAILS, "", name))
    if re.search(_EVENT, text):
        text = re.sub(_PROCEEDINGS, "", re.sub(_ORDINAL, "", text))
    for pattern, replacement in _CLEANING:
        text = re.sub(pattern, replacement, text)
    return text.strip() or ("arXiv" if re.search(_ARXIV, name) else name)


def venue_key(series: str) -> str:
    """Equal for names that differ in case, sponsors or how grand they sound."""
    plain = re.sub(r"[^\w\s]", " ", series.lower())
    words = re.sub(r"\b(?:acm|ieee|cs|annual|international|the)\b", "", plain).split()
    return " ".join(words) or series
