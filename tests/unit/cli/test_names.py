"""Names that are not UTF-8, as paths, in folders, in archives, of collections and drafts."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from citebed.cli.app import main
from citebed.collection import import_sources, open_collection

DRAFT = rb"\section{A} We like cats and dogs. \input{nowhere} \bibliography{none}"


def entry(key: str) -> bytes:
    return b"@article{%s, title={Of cats and %s}, abstract={Cats.}}\n" % ((key.encode(),) * 2)


def raw(folder: Path, name: bytes) -> Path:
    return folder / os.fsdecode(name)


def tar(path: Path, *names: bytes) -> None:
    with tarfile.open(path, "w") as archive:
        for name in names:
            data = entry(f"tar{len(name)}")
            info = tarfile.TarInfo(os.fsdecode(name))
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder with names of bytes at every level, and twins that are spelled as these bytes."""
    folder = raw(tmp_path, b"in\xe9")
    raw(folder, b"d\xe9").mkdir(parents=True)
    for key, name in {
        "one": b"caf\xe9.bib",
        "two": b"caf\\xe9.bib",
        "three": b"d\xe9/caf\xff.bib",
        "four": b"wow!.bib",
        "five": b"wow%21.bib",
        "six": b"wow%2521.bib",
    }.items():
        raw(folder, name).write_bytes(entry(key))
    raw(folder, b"q\xe9.jsonl").write_bytes(b'{"query_id": "1", "text": "cats"}\n')
    raw(folder, b"q\xe9.qrels").write_bytes(b"1 0 one 1\n")
    raw(folder, b"no\xe9.bin").write_bytes(b"nothing of ours")
    raw(folder, b"link\xe9").symlink_to("nowhere")
    tar(raw(folder, b"t\xe9.tar"), b"m\xe9.bib", b"d\xe9/mm\xff.bib")
    with zipfile.ZipFile(folder / "z.zip", "w") as archive:
        archive.writestr("zXX.bib", entry("zip"))
    data = (folder / "z.zip").read_bytes().replace(b"zXX.bib", b"z\xe9\xff.bib")
    (folder / "z.zip").write_bytes(data)
    return folder


@pytest.mark.parametrize("given", ["the folder", "its files"])
def test_files_of_any_name_are_imported_once_each(tmp_path: Path, source: Path, given: str) -> None:
    paths = [source] if given == "the folder" else sorted(filter(Path.exists, source.iterdir()))
    report = import_sources(tmp_path / "c", paths)
    collection = open_collection(tmp_path / "c")
    keys = {"one", "two", "three", "four", "five", "six", "tar6", "tar10", "zip"}
    assert set(collection.documents["doc_id"]) == keys
    assert collection.files["source"].n_unique() == collection.files.height == report.files
    assert {"in\\xe9/caf\\xe9.bib", "in\\xe9/caf\\\\xe9.bib"} <= set(collection.files["source"])
    assert "in\\xe9/t\\xe9.tar!d\\xe9/mm\\xff.bib" in set(collection.documents["source"])
    assert set(report.problems["kind"]) == {"ignored"}
    again = import_sources(tmp_path / "c", paths)
    assert again.unchanged == again.files == report.files
    assert again.missing == []
    raw(source, b"caf\xe9.bib").write_bytes(entry("new"))
    raw(source, b"d\xe9/caf\xff.bib").unlink()
    assert import_sources(tmp_path / "c", paths).unchanged == report.files - 2
    assert main(["import", str(tmp_path / "c"), *map(str, paths), "--prune", "-q"]) == 0
    found = set(open_collection(tmp_path / "c").documents["doc_id"])
    assert found == keys - {"one", "three"} | {"new"}


def test_patterns_and_the_name_of_a_collection_may_be_bytes(tmp_path: Path, source: Path) -> None:
    words = ["--only", os.fsdecode(b"caf\xe9.*"), "--name", os.fsdecode(b"n\xe9"), "-q"]
    assert main(["import", str(tmp_path / "c"), str(source), *words]) == 0
    collection = open_collection(tmp_path / "c")
    assert collection.documents["doc_id"].to_list() == ["one"]
    assert collection.name == "n\\xe9"


VERBS = [
    ["import", "C", "S"],
    ["import", "C", "S"],
    ["stats", "C", "--json"],
    ["stats", "C", "--csv"],
    ["stats", "C"],
    ["lint", "C", "--json"],
    ["lint", "C"],
    ["index", "C"],
    ["search", "C", "--queries", "S/q\udce9.jsonl"],
    ["search", "C", "--queries", "S/q\udce9.jsonl", "-o", "S-\udce9.run"],
    ["recommend", "C", "S/dr\udce9.tex"],
    ["recommend", "C", "S/dr\udce9.tex", "--json"],
    ["recommend", "C", "cats of \udce9 kind", "--bibtex"],
    *(["export", "C", f"S-\udce9-{form}", "--to", form] for form in ("trec", "ir_datasets")),
]


def test_a_collection_may_have_any_name(
    tmp_path: Path, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw(source, b"dr\xe9.tex").write_bytes(DRAFT)
    collection = raw(tmp_path, b"c\xe9")
    for verb in VERBS:
        words = [word.replace("C", str(collection)) for word in verb]
        words = [word.replace("S", str(source), 1) if "S" in word else word for word in words]
        assert main(words) == 0, (verb, capsys.readouterr())
        out, _ = capsys.readouterr()
        if "--json" in verb:
            json.loads(out)
    assert open_collection(collection).documents.height == 9


def test_what_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import_sources(tmp_path / "c", [_bib(tmp_path)])
    assert main(["index", str(tmp_path / "c"), "-q"]) == 0
    for verb in (["recommend", str(tmp_path / "c")], ["import", str(tmp_path / "c")]):
        assert main([*verb, os.fsdecode(b"nop\xe9.tex")]) == 1
        assert "nop\\xe9.tex" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["stats", "c", "--B"],
        ["fetch", "B"],
        ["fetch", "cacm", "c", "--mirror", "file:///B"],
        ["search", "B", "--queries", "q"],
        ["measures", "B"],
        ["evaluate", "B", "B"],
    ],
)
def test_words_that_mean_nothing_are_spelled(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([word.replace("B", os.fsdecode(b"\xe9")) for word in words]) == 1
    assert "\\xe9" in capsys.readouterr().err


def _bib(folder: Path) -> Path:
    path = folder / "accents.bib"
    path.write_text("@article{a, title={Über Bücher — 𝄞}, author={Böhm, Ö.}, abstract={Cats.}}\n")
    return path


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_rows_are_json_in_every_encoding(tmp_path: Path, encoding: str) -> None:
    import_sources(tmp_path / "c", [_bib(tmp_path)])
    assert main(["index", str(tmp_path / "c"), "-q"]) == 0
    for form in ("--json", "--bibtex"):
        done = citebed("recommend", str(tmp_path / "c"), "cats", form, PYTHONIOENCODING=encoding)
        assert (done.returncode, done.stderr) == (0, b"")
        if form == "--json":
            assert json.loads(done.stdout.decode(encoding))[0]["title"] == "Über Bücher — 𝄞"


def citebed(*words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "citebed", *words],
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
    )
