"""Ids that are given out once each."""

from __future__ import annotations

from citebed.text.identifiers import FreeIds


def test_each_id_is_given_out_once() -> None:
    ids = FreeIds()
    assert [ids.take(name) for name in ("a", "a", "a-2", "a", "b", "a-2")] == [
        *("a", "a-2", "a-2-2", "a-3", "b", "a-2-3")
    ]


def test_reserved_ids_go_to_their_owners() -> None:
    ids = FreeIds(["a", "a-2", "b"])
    wanted = ("a", "a", "a-2", "a", "b", "c")
    assert [ids.take(name, owner=name) for name in wanted] == ["a", "a-3", "a-2", "a-4", "b", "c"]
    assert [ids.take("b", owner="other"), ids.take("x-given", stem="x")] == ["b-2", "x-given"]
    assert ids.take("x-given", stem="x") == "x-2"


def test_case_may_make_no_difference() -> None:
    ids = FreeIds(["Kept"], fold=str.casefold)
    ids.add(["Straße"])
    wanted = ("a", "A", "STRASSE", "kept", "a")
    assert [ids.take(name) for name in wanted] == ["a", "A-2", "STRASSE-2", "kept-2", "a-3"]
