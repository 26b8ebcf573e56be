"""The styles that made-up papers are set in: classes of LaTeX, and ways to cite."""

from __future__ import annotations

from typing import Any

from tests.papers_made.composing import Paper
from tests.papers_made.setting import Journal, abstract, names
from tests.papers_made.wording import (
    BIOLOGY,
    COMPUTING,
    FRENCH,
    GERMAN,
    HISTORY,
    LAW,
    MEDICINE,
    PHYSICS,
    SPANISH,
    Field,
)

_USUAL = r"""\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage[%LANGUAGE]{babel}
\usepackage{url}
"""
_ENGLISH = _USUAL.replace("%LANGUAGE", "english")
_BEGIN = "\\begin{document}\n"
_AND = r" \and "


def _plain_front(paper: Paper) -> str:
    return (
        rf"\title{{{paper.title}}}\author{{{names(paper, _AND)}}}"
        rf"\date{{{paper.year}}}\maketitle"
        rf"\begin{{abstract}}{abstract(paper)}\end{{abstract}}"
    )


def _ieee_front(paper: Paper) -> str:
    return (
        rf"\title{{{paper.title}}}\author{{\IEEEauthorblockN{{{names(paper)}}}\\"
        r"\IEEEauthorblockA{Institute of Made-Up Things, Elm Street 4, Northtown}}"
        rf"\markboth{{Journal of Made-Up Things, Vol. 3, {paper.year}}}{{Short title}}\maketitle"
        rf"\begin{{abstract}}{abstract(paper)}\end{{abstract}}"
    )


def _lncs_front(paper: Paper) -> str:
    return (
        rf"\title{{{paper.title}}}\author{{{names(paper, _AND)}}}"
        r"\institute{Institute of Made-Up Things, Northtown \email{a@example.org}}\maketitle"
        rf"\begin{{abstract}}{abstract(paper)} \keywords{{elms \and ponds}}\end{{abstract}}"
    )


def _acm_front(paper: Paper) -> str:
    people = "\n".join(
        rf"\author{{{given} {family}}}\affiliation{{\institution{{University of Nowhere}}"
        rf"\city{{Northtown}}\country{{Norway}}}}\email{{{given.lower()}@example.org}}"
        for family, given in paper.authors
    )
    return (
        rf"\acmYear{{{paper.year}}}\copyrightyear{{{paper.year}}}\acmDOI{{10.5555/made.1}}"
        rf"\acmConference[MADE '{paper.year % 100}]{{Made-Up Papers}}{{July {paper.year}}}{{Oslo}}"
        rf"\title{{{paper.title}}}{people}"
        rf"\begin{{abstract}}{abstract(paper)}\end{{abstract}}\keywords{{elms, ponds}}\maketitle"
    )


def _elsevier_front(paper: Paper) -> str:
    people = "".join(rf"\author{{{given} {family}}}" for family, given in paper.authors)
    return (
        rf"\begin{{frontmatter}}\title{{{paper.title}}}{people}"
        r"\address{Institute of Made-Up Things, Northtown}"
        rf"\begin{{abstract}}{abstract(paper)}\end{{abstract}}"
        r"\begin{keyword}elms \sep ponds\end{keyword}\end{frontmatter}"
    )


def _revtex_front(paper: Paper) -> str:
    people = "".join(
        rf"\author{{{given} {family}}}\affiliation{{Institute of Made-Up Things}}"
        for family, given in paper.authors
    )
    return (
        rf"\title{{{paper.title}}}{people}\date{{May 3, {paper.year}}}"
        rf"\begin{{abstract}}{abstract(paper)}\end{{abstract}}\maketitle"
    )


def _mnras_front(paper: Paper) -> str:
    return (
        rf"\title[Short title]{{{paper.title}}}\author[Nobody et al.]{{{names(paper)}}}"
        rf"\date{{Accepted {paper.year}}}\pubyear{{{paper.year}}}\maketitle"
        rf"\begin{{abstract}}{abstract(paper)}\end{{abstract}}"
    )


def _apa_front(paper: Paper) -> str:
    return (
        rf"\title{{{paper.title}}}\shorttitle{{Short title}}\authorsnames{{{{{names(paper)}}}}}"
        r"\authorsaffiliations{{Institute of Made-Up Things}}"
        rf"\abstract{{{abstract(paper)}}}\keywords{{elms, ponds}}\maketitle"
    )


def _bib(style: str) -> str:
    return rf"\bibliographystyle{{{style}}}\bibliography{{made}}"


_STAMP = r"""\usepackage{eso-pic,graphicx}
\AddToShipoutPictureBG*{\put(18,260){\rotatebox{90}{\Large arXiv:2101.00000v1 [cs.XX] 3 Jan 2021}}}
"""
_NATBIB: dict[str, Any] = {
    "cite": r"\citep{%s}",
    "textual": r"\citet{%s}",
    "located": r"\citep[%s]{%s}",
}
_BIBER: dict[str, Any] = {
    "cite": r"\parencite{%s}",
    "textual": r"\textcite{%s}",
    "located": r"\parencite[%s]{%s}",
}
_APPENDIX = r"""\appendix\section{Further Sites}

The sites that are not in the tables were visited by one of us only. They are listed in the order of
the visits, and nothing was left out that could be read on the day."""

JOURNALS: tuple[tuple[Journal, Field], ...] = (
    (
        Journal(
            "article",
            rf"\documentclass[11pt]{{article}}{_ENGLISH}{_STAMP}\usepackage{{cite}}{_BEGIN}",
            _plain_front,
            _bib("plain") + _APPENDIX,
        ),
        COMPUTING,
    ),
    (
        Journal(
            "ieee",
            rf"\documentclass[journal]{{IEEEtran}}{_ENGLISH}\usepackage{{cite}}{_BEGIN}",
            _ieee_front,
            _bib("IEEEtran"),
        ),
        COMPUTING,
    ),
    (
        Journal(
            "lncs",
            rf"\documentclass[runningheads]{{llncs}}{_ENGLISH}{_BEGIN}",
            _lncs_front,
            _bib("splncs04"),
            dated=False,
        ),
        COMPUTING,
    ),
    (
        Journal(
            "acm",
            r"\documentclass[sigconf]{acmart}\settopmatter{printacmref=false}" + _BEGIN,
            _acm_front,
            _bib("ACM-Reference-Format") + _APPENDIX,
        ),
        COMPUTING,
    ),
    (
        Journal(
            "acm-author-year",
            r"\documentclass[acmsmall]{acmart}\citestyle{acmauthoryear}" + _BEGIN,
            _acm_front,
            _bib("ACM-Reference-Format"),
            **_NATBIB,
        ),
        COMPUTING,
    ),
    (
        Journal(
            "elsevier",
            rf"\documentclass[final,5p,times,twocolumn]{{elsarticle}}{_ENGLISH}{_BEGIN}",
            _elsevier_front,
            _bib("elsarticle-num"),
            dated=False,
        ),
        MEDICINE,
    ),
    (
        Journal(
            "elsevier-author-year",
            rf"\documentclass[preprint,12pt,authoryear]{{elsarticle}}{_ENGLISH}"
            r"\usepackage{lineno}\AtBeginDocument{\linenumbers}" + _BEGIN,
            _elsevier_front,
            _bib("elsarticle-harv"),
            dated=False,
            **_NATBIB,
        ),
        BIOLOGY,
    ),
    (
        Journal(
            "apalike",
            rf"\documentclass[11pt]{{article}}{_ENGLISH}\usepackage{{parskip}}"
            r"\usepackage[round]{natbib}\pagestyle{headings}" + _BEGIN,
            _plain_front,
            _bib("apalike"),
            section=r"\section*{%s}",
            **_NATBIB,
        ),
        LAW,
    ),
    (
        Journal(
            "two-column-author-year",
            rf"\documentclass[11pt,twocolumn]{{article}}{_ENGLISH}\usepackage{{times}}"
            r"\usepackage[round]{natbib}" + _BEGIN,
            _plain_front,
            _bib("plainnat"),
            **_NATBIB,
        ),
        COMPUTING,
    ),
    (
        Journal(
            "revtex-superscript",
            rf"\documentclass[aps,prb,twocolumn,superscriptaddress]{{revtex4-2}}{_ENGLISH}{_BEGIN}",
            _revtex_front,
            r"\bibliography{made}",
            located="",
            stop_first=True,
        ),
        PHYSICS,
    ),
    (
        Journal(
            "nature",
            rf"\documentclass[10pt,twocolumn]{{article}}{_ENGLISH}"
            r"\usepackage[super,comma,sort&compress]{natbib}" + _BEGIN,
            _plain_front,
            _bib("unsrtnat"),
            section=r"\section*{%s}",
            located="",
            stop_first=True,
        ),
        BIOLOGY,
    ),
    (
        Journal(
            "round-numbers",
            rf"\documentclass[10pt]{{article}}{_ENGLISH}\usepackage{{lineno}}\linenumbers"
            r"\usepackage[numbers,round,sort&compress]{natbib}" + _BEGIN,
            _plain_front,
            _bib("vancouver"),
            section=r"\section*{%s}",
            located="",
        ),
        MEDICINE,
    ),
    (
        Journal(
            "biblatex-author-year",
            rf"\documentclass[11pt]{{article}}{_ENGLISH}\usepackage{{csquotes}}"
            r"\usepackage[style=authoryear,backend=biber]{biblatex}\addbibresource{made.bib}"
            + _BEGIN,
            _plain_front,
            r"\printbibliography",
            biber=True,
            **_BIBER,
        ),
        HISTORY,
    ),
    (
        Journal(
            "mnras",
            rf"\documentclass[fleqn,usenatbib]{{mnras}}{_ENGLISH}{_BEGIN}",
            _mnras_front,
            _bib("mnras"),
            joint="&",
            **_NATBIB,
        ),
        PHYSICS,
    ),
    (
        Journal(
            "apa",
            rf"\documentclass[jou]{{apa7}}{_ENGLISH}\usepackage{{csquotes}}"
            r"\usepackage[style=apa,backend=biber]{biblatex}\addbibresource{made.bib}" + _BEGIN,
            _apa_front,
            r"\printbibliography",
            biber=True,
            dated=False,
            **_BIBER,
        ),
        MEDICINE,
    ),
    (
        Journal(
            "alpha-german",
            rf"\documentclass[10pt]{{article}}{_USUAL}{_BEGIN}",
            _plain_front,
            _bib("alpha"),
            joint="und",
        ),
        GERMAN,
    ),
    (
        Journal(
            "numeric-french",
            rf"\documentclass[11pt]{{article}}{_USUAL}{_BEGIN}",
            _plain_front,
            _bib("unsrt"),
            joint="et",
        ),
        FRENCH,
    ),
    (
        Journal(
            "author-year-spanish",
            rf"\documentclass[11pt]{{article}}{_USUAL}\usepackage{{csquotes}}"
            r"\usepackage[style=authoryear,backend=biber]{biblatex}\addbibresource{made.bib}"
            + _BEGIN,
            _plain_front,
            r"\printbibliography",
            biber=True,
            joint="y",
            **_BIBER,
        ),
        SPANISH,
    ),
)
