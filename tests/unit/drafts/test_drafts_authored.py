"""Citations by authors and year in plain text count as cited."""

from __future__ import annotations

import polars as pl
import pytest

from citebed.drafts import parse_draft
from citebed.drafts.references import match_author_year

DOCUMENTS = pl.DataFrame(
    [
        ("bpr", ["Rendle, Steffen", "Freudenthaler, Christoph", "Gantner, Zeno"], 2009),
        ("two", ["Smith, S.", "Jones, J."], 2010),
        ("alone", ["Smith, S."], 2010),
        ("lee-a", ["Lee, L."], 2011),
        ("lee-b", ["Lee, M."], 2011),
        ("berg", ["van der Berg, J.", "Müller, Ä."], 1999),
        ("none", [], 2009),
    ],
    {"doc_id": pl.String, "authors": pl.List(pl.String), "year": pl.Int32},
    orient="row",
)


@pytest.mark.parametrize(
    ("written", "cited"),
    [
        ("(Rendle et al., 2009)", {"bpr"}),
        ("as Rendle et al. (2009) show", {"bpr"}),
        ("(see, e.g., Rendle et al. 2009b)", {"bpr"}),
        ("(Smith and Jones 2010; Lee 2011a)", {"two", "lee-a", "lee-b"}),
        ("(Smith & Jones, 2010)", {"two"}),
        ("(Smith, 2010)", {"alone"}),
        ("as van der Berg and Müller (1999) say", {"berg"}),
        ("(Rendle, Freudenthaler and Gantner, 2009)", {"bpr"}),
        ("(Rendle et al., 2010)", set()),
        ("(Rendle, 2009)", set()),
        ("(Jones and Smith, 2010)", set()),
        ("in the year (2009)", set()),
    ],
)
def test_author_and_year(written: str, cited: set[str]) -> None:
    draft = parse_draft(f"Items are ranked by pairs {written}, which is quick.")
    found = match_author_year(draft.cited.authored, DOCUMENTS)
    assert set().union(*found.values()) == cited
    assert set(found) <= set(draft.passages[0].cites)


def test_identifiers_in_the_reference_list_need_no_search_by_name() -> None:
    text = "Items are ranked (Rendle et al., 2009).\n\nReferences\n\nRendle, S. et al. 2009. BPR. "
    assert parse_draft(f"{text}doi:10.5072/bpr").cited.authored == ()
