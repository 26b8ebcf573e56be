"""Recommendations as one page: a summary, then one passage after the other, with links."""

from __future__ import annotations

from markupsafe import Markup

from citebed.report.html.page import render
from citebed.retrieval.recommend import wording
from citebed.retrieval.recommend.answers_html import STYLE, anchor, answers_html
from citebed.retrieval.recommend.recommendations import Recommendations
from citebed.wording import count


def recommendation_page(found: Recommendations, title: str, command: str) -> str:
    """The page: HTML with its style, which loads nothing from anywhere and links to the papers."""
    several = len(found.passages) > 1
    passages = [
        (anchor(passage), wording.place_of(passage), count(len(answers), "paper"))
        for passage, answers in found.answers
    ]
    sections = {
        **({"passages": "Passages"} if several else {}),
        "answers": "What to cite",
        **({"notes": "Notes"} if found.told else {}),
    }
    return render(
        "recommendations.html.j2", sections, (), title=title, command=command, libraries=(),
        more_style=STYLE, summary=found.summary, passages=passages, notes=found.told,
        answers=Markup(answers_html(found.answers)),  # which escapes all that it is given
    )  # fmt: skip
