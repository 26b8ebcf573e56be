"""Answers as HTML: what the terminal shows, with links, at any width.

Everything that came from a collection or a draft is escaped here, and only links to the web lead
anywhere.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from citebed.drafts import Passage
from citebed.retrieval.recommend import wording
from citebed.retrieval.recommend.recommendation import Recommendation
from citebed.wording import for_page

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
_LONGEST_PASSAGE, _LONGEST = 400, 1000

Answers = Sequence[tuple[Passage, Sequence[Recommendation]]]


def answers_html(answers: Answers, summary: str = "", notes: Sequence[str] = ()) -> str:
    """Passages and what each should cite, a summary above them and notes below."""
    alone = len(answers) == 1
    parts = [f"<p>{_text(summary)}</p>" if summary else ""]
    parts += [_passage(passage, found, alone) for passage, found in answers]
    told = "".join(f"<li>{_text(note)}</li>" for note in notes)
    parts.append(f"<ul class='about'>{told}</ul>" if told else "")
    return f"<div class='citebed-answers'>{''.join(parts)}</div>"


def anchor(passage: Passage) -> str:
    """The id of a passage on its page."""
    return f"passage-{passage.number}"


def _passage(passage: Passage, found: Sequence[Recommendation], alone: bool) -> str:
    several = len(passage.sentences) > 1
    items = "".join(_item(each, several) for each in found)
    listed = f"<ol>{items}</ol>" if items else "<p>nothing found</p>"
    if alone:
        return listed
    head = f"<h3 id='{anchor(passage)}'>{_text(wording.place_of(passage))}</h3>"
    return f"{head}<blockquote>{_text(passage.text, _LONGEST_PASSAGE)}</blockquote>{listed}"


def _item(each: Recommendation, several: bool) -> str:
    title = _text(wording.title_of(each))
    linked = f"<a href='{html.escape(each.link)}'>{title}</a>" if _leads(each.link) else title
    rows = [
        wording.Line("cite as", wording.key_of(each)),
        wording.Line("how sure", wording.sure(each)),
    ]
    rows += [wording.Line("because of", wording.because(each))] if each.terms else []
    rows += wording.proofs(each, several=several)
    return (
        f"<li value='{each.rank}'><p class='title'>{linked}</p>"
        f"<p class='about'>{_text(wording.about(each))}</p>"
        f"<dl>{''.join(map(_row, rows))}</dl></li>"
    )


def _row(line: wording.Line) -> str:
    text = _text(line.text)
    said = f"<code>{text}</code>" if line.label == "cite as" else text
    by = f"<cite>{_text(line.by)}</cite>" if line.by else ""
    return f"<dt>{line.label}</dt><dd>{said}{by}</dd>"


def _leads(link: str) -> bool:
    return re.match(r"https?://", link) is not None


def _text(text: str, longest: int = _LONGEST) -> str:
    """Text as a page can show it, whatever it is; what is very long in part."""
    one_line = for_page(" ".join(text.split()))
    cut = one_line if len(one_line) <= longest else f"{one_line[: longest - 1].rstrip()}…"
    return f"<bdi>{html.escape(cut)}</bdi>"
