"""Bibliography files beside a draft."""

from __future__ import annotations

from pathlib import Path

from citebed.drafts import read_draft

BIB = r"""@string{acm = "ACM"}
@article{smith2019, title={Neural {C}itation {\"U}berraschung}, author={Smith, J.},
  publisher=acm, doi={https://doi.org/10.1145/ABC.1}, year=2019}
@misc{jones2020, title={Deep Things of Old}, eprint={2001.01234}, archivePrefix={arXiv}}
@article{devlin, title = "Some Words", journal={arXiv preprint arXiv:1810.04805}}
@article{other, title={Not cited at all}, doi={10.1/none}}
"""


def _write(folder: Path, tex: str, **files: str) -> Path:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, "utf-8")
    path = folder / "paper.tex"
    path.write_text(tex, "utf-8")
    return path


def test_keys_are_looked_up_in_the_file(tmp_path: Path) -> None:
    tex = r"Words \cite{smith2019,jones2020,devlin}. \bibliography{refs} \addbibresource{refs.bib}"
    draft = read_draft(_write(tmp_path, tex, refs_bib=BIB))
    assert draft.bibliography_files == ("refs.bib",)
    assert draft.cited.titles == (
        "Neural Citation Überraschung", "Deep Things of Old", "Some Words",
    )  # fmt: skip
    assert draft.cited.dois == ("10.1145/abc.1",)
    assert draft.cited.arxiv == ("2001.01234", "1810.04805")
    assert draft.notes == ()


def test_an_alias_of_an_entry_is_looked_up_too(tmp_path: Path) -> None:
    bib = BIB + "@article{new, ids = {old, older}, title={Solids in Grids}, doi={10.5072/new}}\n"
    tex = r"Words \cite{older,smith2019} and \cite{gone}. \bibliography{refs}"
    draft = read_draft(_write(tmp_path, tex, refs_bib=bib))
    assert [entry.key for entry in draft.cited.entries] == ["smith2019", "older"]
    assert draft.cited.dois == ("10.1145/abc.1", "10.5072/new")
    assert draft.notes == ("cited but not in the bibliography: gone",)


def test_nocite_star_cites_all(tmp_path: Path) -> None:
    path = _write(tmp_path, r"Words. \nocite{*} \bibliography{refs}", refs_bib=BIB)
    assert len(read_draft(path).cited.entries) == 4


def test_missing_files_and_keys_are_noted(tmp_path: Path) -> None:
    draft = read_draft(_write(tmp_path, r"Words \cite{a}. \bibliography{gone}"))
    assert draft.notes == (
        "bibliography gone.bib: not found; its citation keys could not be resolved",
    )
    assert draft.cited.keys == ("a",)
    draft = read_draft(_write(tmp_path, r"W \cite{a,smith2019}. \bibliography{refs}", refs_bib=BIB))
    assert draft.notes == ("cited but not in the bibliography: a",)


def test_the_bbl_file_replaces_a_missing_bib_file(tmp_path: Path) -> None:
    items = r"\bibitem{a} J. Smith. A title. doi:10.1145/7."
    bbl = rf"\begin{{thebibliography}}{{1}} {items} \end{{thebibliography}}"
    draft = read_draft(_write(tmp_path, r"Words \cite{a}. \bibliography{gone}", paper_bbl=bbl))
    assert draft.cited.dois == ("10.1145/7",)
    assert draft.notes == ()


def test_a_broken_file_yields_its_complete_entries(tmp_path: Path) -> None:
    broken = "@article{a, title={One good title},\n\n@article{b, title={Never"
    draft = read_draft(_write(tmp_path, r"W \cite{a,b}. \bibliography{refs}", refs_bib=broken))
    assert draft.cited.titles == ("One good title",)
