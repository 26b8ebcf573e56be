"""How people see recommendations: labelled lines for every output, and HTML for notebooks.

HTML escapes everything that comes from a collection or a draft, and links only to http(s)
addresses.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from citebed.drafts import Passage, Place
from citebed.retrieval.ranking.confidence import UNLIKELY
from citebed.text.names import display_name
from citebed.wording import for_page

if TYPE_CHECKING:
    from citebed.retrieval.recommend.recommendations import Recommendation

STYLE = """
.citebed-answers { max-width: 52rem; line-height: 1.45; overflow-wrap: anywhere; }
.citebed-answers h3 { margin: 1.5rem 0 0.3rem; font-size: 1.05em; }
.citebed-answers blockquote { margin: 0.3rem 0 0.8rem; padding: 0 0 0 0.8rem; border: 0;
  border-left: 3px solid #8a94a0; background: none; }
.citebed-answers ol { padding-left: 1.9rem; margin: 0.3rem 0 1rem; }
.citebed-answers li { margin: 0 0 0.9rem; }
.citebed-answers li p { margin: 0.1rem 0; }
.citebed-answers .title { font-weight: 600; }
.citebed-answers .about, .citebed-answers dt { opacity: 0.75; }
.citebed-answers dl { display: grid; grid-template-columns: max-content minmax(0, 1fr);
  gap: 0.1rem 0.8rem; margin: 0.2rem 0; }
.citebed-answers dt { font-weight: 400; }
.citebed-answers dd { margin: 0; }
.citebed-answers cite { display: block; font-style: normal; opacity: 0.75; }
@media (max-width: 40rem) {
  .citebed-answers dl { display: block; }
  .citebed-answers dt, .citebed-answers dd { display: inline; }
  .citebed-answers dt::after { content: ": "; }
  .citebed-answers dd::after { content: "\\a"; white-space: pre; }
  .citebed-answers ol { padding-left: 1.4rem; }
}
"""
_MAX_PASSAGE, _MAX_TEXT = 400, 1000
_AUTHORS = 3
_ABOUT_TEN_PERCENT = 0.075
"""Nearer to 10 % than to 5 %."""


class Line(NamedTuple):
    """A text with its label; ``by`` is the paper that it comes from, if it is quoted."""

    label: str
    text: str
    by: str = ""


def format_place(passage: Passage) -> str:
    """Return the heading and line of a passage, and whether a citation is missing in it."""
    line = str(Place(passage.source, passage.line))
    wanted = "citation placeholder" if passage.wanted else ""
    return " · ".join(filter(None, (passage.section, line, wanted)))


def format_authors(names: Sequence[str]) -> str:
    """Return up to three names, or the first and the number of the others."""
    shown = [display_name(name) for name in names[:_AUTHORS]]
    if len(names) > _AUTHORS:
        return f"{shown[0]} and {len(names) - 1} others"
    return ", ".join(shown)


def format_record(each: Recommendation) -> str:
    """Return authors, year, venue and DOI in a line."""
    parts = (format_authors(each.authors), str(each.year or ""), each.venue, each.doi)
    return " · ".join(filter(None, parts))


def format_key(each: Recommendation) -> str:
    """Return what to type in a ``\\cite``, and whether it is in the user's .bib file."""
    return f"{each.key} (in your .bib)" if each.in_bib else each.key


def format_confidence(each: Recommendation) -> str:
    """Return the strength of the match and its probability, or else the score."""
    if each.probability is None:
        return f"{each.score:.2f}"
    return f"{each.strength}, {format_probability(each.probability)}"


def format_probability(probability: float) -> str:
    """Return a probability in words, rounded to 10 %."""
    if probability < UNLIKELY:
        return "unlikely"
    if probability < _ABOUT_TEN_PERCENT:
        return "less than 10 % likely"
    return f"{10 * min(round(probability * 10), 9)} % likely"


def evidence_lines(each: Recommendation, *, several: bool) -> Iterator[Line]:
    """Yield the sentences that support a recommendation, and reprints of the work; ``several`` if
    the text has more than one sentence."""
    if several and each.sentence:
        yield Line("asked by", each.sentence)
    if each.abstract_sentence:
        yield Line("abstract", each.abstract_sentence)
    if each.citing_sentences:
        yield Line("cited elsewhere", each.citing_sentences[0], (*each.cited_by, "")[0])
    if each.reprints:
        yield Line("also as", "; ".join(each.reprints))


# --- HTML ---------------------------------------------------------------------------------------


def anchor(passage: Passage) -> str:
    """Return the id of a passage on its page."""
    return f"passage-{passage.number}"


def format_html(
    found: Sequence[tuple[Passage, Sequence[Recommendation]]],
    summary: str = "",
    notes: Sequence[str] = (),
) -> str:
    """Return passages with their recommendations as HTML: a summary above, notes below."""
    parts = [f"<p>{_escape(summary)}</p>" if summary else ""]
    for passage, items in found:
        several = len(passage.sentences) > 1
        listed = "".join(_format_item(each, several) for each in items)
        listed = f"<ol>{listed}</ol>" if items else "<p>nothing found</p>"
        if len(found) > 1:
            place = _escape(format_place(passage))
            quoted = _escape(passage.text, _MAX_PASSAGE)
            head = f"<h3 id='{anchor(passage)}'>{place}</h3><blockquote>{quoted}</blockquote>"
            listed = head + listed
        parts.append(listed)
    rows = "".join(f"<li>{_escape(note)}</li>" for note in notes)
    parts.append(f"<ul class='about'>{rows}</ul>" if rows else "")
    return f"<div class='citebed-answers'>{''.join(parts)}</div>"


def _format_item(each: Recommendation, several: bool) -> str:
    title = _escape(each.title or each.doc_id)
    if re.match(r"https?://", each.link):
        title = f"<a href='{html.escape(each.link)}'>{title}</a>"
    lines = [Line("cite as", format_key(each)), Line("how sure", format_confidence(each))]
    lines += [Line("because of", each.reason)] if each.reason else []
    rows = []
    for label, text, by in (*lines, *evidence_lines(each, several=several)):
        shown = f"<code>{_escape(text)}</code>" if label == "cite as" else _escape(text)
        quoted = f"<cite>{_escape(by)}</cite>" if by else ""
        rows.append(f"<dt>{label}</dt><dd>{shown}{quoted}</dd>")
    return (
        f"<li value='{each.rank}'><p class='title'>{title}</p>"
        f"<p class='about'>{_escape(format_record(each))}</p><dl>{''.join(rows)}</dl></li>"
    )


def _escape(text: str, longest: int = _MAX_TEXT) -> str:
    """Return text for a page, shortened if it is very long."""
    line = for_page(" ".join(text.split()))
    short = line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"
    return f"<bdi>{html.escape(short)}</bdi>"
