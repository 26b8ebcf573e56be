"""Opening databases that may come from strangers."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.hot_journals import forge_journal, make_database

from citebed.collection import import_sources
from citebed.errors import CitebedError
from citebed.judging import new_campaign
from citebed.judging.store.engine import open_database


def test_a_journal_that_names_a_file_of_the_users_deletes_nothing(tmp_path: Path) -> None:
    victim = tmp_path / "thesis.tex"
    victim.write_text("precious")
    make_database(tmp_path / "a.sqlite")
    forge_journal(tmp_path / "a.sqlite", victim)
    with pytest.raises(CitebedError, match="names another file"):
        open_database(tmp_path / "a.sqlite")
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("linked", ["campaigns", "campaigns/new.sqlite"])
def test_a_new_campaign_follows_no_link_in_the_collection(tmp_path: Path, linked: str) -> None:
    (tmp_path / "a.bib").write_text("@article{one, title={One paper of one kind}}\n")
    import_sources(tmp_path / "c", [tmp_path / "a.bib"])
    home = tmp_path / "home"
    home.mkdir()
    make_database(home / "new.sqlite")
    before = (home / "new.sqlite").read_bytes()
    place = tmp_path / "c" / linked
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(home / "new.sqlite" if linked.endswith("sqlite") else home)
    with pytest.raises(CitebedError, match=r"is a link|is not a plain file"):
        new_campaign(tmp_path / "new", tmp_path / "c")
    assert (home / "new.sqlite").read_bytes() == before
