"""Finding and opening files: archives, bombs, things that are not files."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zipfile
from pathlib import Path

import pytest
from tests.sampling import FULL

from citebed.collection.reading.parser import Piece, split_member
from citebed.collection.reading.sources import (
    BAD_DATA,
    Member,
    SourceNames,
    find_files,
    members,
)
from citebed.errors import CitebedError
from citebed.files import limits
from citebed.records import Problem

BIB = b"@article{a, title={One}}\n@article{b, title={Two}}\n"


def read(path: Path) -> tuple[dict[str, bytes], list[str]]:
    """Everything readable in a file, and what was said about the rest."""
    found: dict[str, bytes] = {}
    said: list[str] = []
    try:
        for member in members(path, path.name):
            if isinstance(member, Problem):
                said.append(member.what)
                continue
            try:
                blocks = iter(lambda stream=member.stream: stream.read(1 << 20), b"")  # type: ignore[misc]
                found[member.name] = b"".join(blocks)
            except BAD_DATA as error:
                said.append(str(error))
    except BAD_DATA as error:
        said.append(str(error))
    return found, said


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, lambda data: data])
def test_compressed_files_are_recognised_by_content(tmp_path: Path, pack: object) -> None:
    path = tmp_path / "anything.dat"
    path.write_bytes(pack(BIB))
    assert read(path) == ({"anything.dat": BIB}, [])


def test_several_streams_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for pack in (gzip.compress, bz2.compress, lzma.compress):
        path.write_bytes(pack(BIB) + pack(BIB))
        assert read(path)[0]["x"] == BIB + BIB


def tar_of(mode: str, **files: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in files.items():
            info = tarfile.TarInfo(name.replace("__", "."))
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


@pytest.mark.parametrize("mode", ["w:", "w:gz", "w:bz2", "w:xz"])
def test_tar_archives_of_every_kind(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(tar_of(mode, x__bib=BIB, y__bib=gzip.compress(BIB)))
    assert read(path) == ({"a.tar!x.bib": BIB, "a.tar!y.bib": BIB}, [])


def test_zip_in_tar_in_gz_and_no_deeper_than_that(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("deep/x.bib", BIB)
    path = tmp_path / "a"
    path.write_bytes(gzip.compress(tar_of("w:", inner__zip=buffer.getvalue())))
    assert read(path) == ({"a!inner.zip!deep/x.bib": BIB}, [])
    data = BIB
    for _ in range(6):
        data = gzip.compress(data)
    path.write_bytes(data)
    found, said = read(path)
    assert not found
    assert "nested more than" in said[0]


def test_links_devices_and_hidden_files_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        for name, kind in (("link", tarfile.SYMTYPE), ("dev", tarfile.CHRTYPE)):
            info = tarfile.TarInfo(name)
            info.type = kind
            info.linkname = "/etc/passwd"
            archive.addfile(info)
        hidden = tarfile.TarInfo("__MACOSX/._x.bib")
        hidden.size = 3
        archive.addfile(hidden, io.BytesIO(b"abc"))
    found, said = read(path)
    assert not found
    assert [line.partition(": ")[2] for line in said] == ["a link or device, not a file"] * 2


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_a_bomb_is_given_up(tmp_path: Path, pack: object) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(pack(bytes(1 << 20)) * 150)
    found, said = read(path)
    assert not found
    assert "decompression bomb" in said[0]


def test_a_zip_bomb_is_given_up_and_the_next_member_read(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.bib", bytes(120 << 20))
        archive.writestr("good.bib", BIB)
    found, said = read(path)
    assert found == {"bomb.zip!good.bib": BIB}
    assert "decompression bomb" in said[0]


@pytest.mark.parametrize(
    ("starts", "left"), [((0, 1, 1), ["0.bib"]), ((0, 1, 1.5), ["0.bib"]), ((0, 0, 0), [])]
)
def test_members_of_a_zip_that_share_bytes_are_not_read(
    tmp_path: Path, starts: tuple[float, ...], left: list[str]
) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(3):
            archive.writestr(f"{number}.bib", BIB)
        length = archive.infolist()[1].header_offset
        for info, start in zip(archive.infolist(), starts, strict=True):
            info.header_offset = int(start * length)
    found, said = read(path)
    assert list(found) == [f"a.zip!{name}" for name in left]
    (what,) = said
    assert "members share their bytes, as in a decompression bomb" in what


@pytest.mark.parametrize("kind", ["gz", "xz", "bz2", "tar", "zip"])
def test_archives_cut_short_are_read_up_to_the_cut_and_reported(tmp_path: Path, kind: str) -> None:
    data = os.urandom(300_000).hex().encode()
    whole = {
        "gz": gzip.compress(data),
        "xz": lzma.compress(data),
        "bz2": bz2.compress(data),
        "tar": tar_of("w:", a__bib=data),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.bib", data)
    whole["zip"] = buffer.getvalue()
    path = tmp_path / "cut"
    for share in (0.01, 0.3, 0.9):
        path.write_bytes(whole[kind][: int(len(whole[kind]) * share)])
        _, said = read(path)
        assert said, (kind, share)


def test_folders_are_walked_in_order_without_hidden_files_or_collections(tmp_path: Path) -> None:
    hidden = (".git/z.bib", "a/.hidden", "coll/citebed.toml", "coll/q.bib")
    for name in ("b/x.bib", "a/y.bib", *hidden):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(BIB)
    files, _ = find_files([tmp_path], SourceNames(tmp_path / "c"))
    names = [file.name for file in files]
    assert [name.removeprefix(f"{tmp_path}/") for name in names] == ["a/y.bib", "b/x.bib"]


def test_pipes_are_not_read_and_missing_files_are_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    files, [(_, problem)] = find_files([tmp_path], SourceNames(tmp_path / "c"))
    assert files == []
    assert "not a regular file" in problem.what
    with pytest.raises(CitebedError, match="no such file or folder"):
        find_files([tmp_path / "nowhere"], SourceNames(tmp_path / "c"))
    with pytest.raises(CitebedError, match=r"pipe is not a regular file\. Write a pipe to a file"):
        find_files([tmp_path / "pipe"], SourceNames(tmp_path / "c"))


def test_links_are_reported_and_only_links_to_files_are_followed(tmp_path: Path) -> None:
    (tmp_path / "x.bib").write_bytes(BIB)
    (tmp_path / "good").symlink_to("x.bib")
    (tmp_path / "nowhere").symlink_to("y.bib")
    (tmp_path / "itself").symlink_to("itself")
    (tmp_path / "up").symlink_to("..")
    files, problems = find_files([tmp_path], SourceNames(tmp_path / "c"))
    names = [Path(file.name).name for file in files]
    told = {Path(name).name: problem.what for name, problem in problems}
    assert names == ["x.bib"]  # "good" is the same file
    assert told["nowhere"] == told["itself"] == "a link that leads nowhere"
    assert "not followed" in told["up"]


def test_many_members_that_are_not_a_bomb_alone_are_one_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FILE_BYTES", 4 << 20)
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(6):
            archive.writestr(f"{number}.bib", b"%" * 1_000_000)
        archive.writestr("late.bib", BIB)
    found, said = read(path)
    assert len(found) == 4
    assert "decompression bomb" in said[0]
    assert "the rest of it is not read" in said[1]


def test_empty_and_unknown_files_are_reported() -> None:
    for data, what in ((b"", "empty"), (b" \n\n", "empty"), (os.urandom(5000), "not in a format")):
        (problem,) = split_member(Member("x", io.BytesIO(data)))
        assert isinstance(problem, Problem)
        assert what in problem.what
        assert problem.kind == "ignored"


def test_utf_16_is_understood() -> None:
    (piece,) = split_member(Member("x", io.BytesIO(BIB.decode().encode("utf-16"))))
    assert isinstance(piece, Piece)
    assert (piece.format, piece.chunk.data) == ("bibtex", BIB)


def test_a_record_without_end_is_passed_over_and_reading_goes_on() -> None:
    huge = b"@article{big, title={" + b"x" * (20 << 20) + b"}}\n"
    data = BIB + huge + b"@article{c, title={Three}}\n" + BIB
    found = list(split_member(Member("x", io.BytesIO(data))))
    problems = [piece for piece in found if isinstance(piece, Problem)]
    text = b"".join(piece.chunk.data for piece in found if isinstance(piece, Piece))
    assert len(problems) == 1
    assert "16 MiB" in problems[0].what
    assert len(text) < 17 << 20
    assert text.endswith(b"@article{c, title={Three}}\n" + BIB)
    last = next(piece for piece in reversed(found) if isinstance(piece, Piece))
    before = data[: data.index(last.chunk.data[:60], len(BIB) + len(huge))]
    assert last.chunk.line == before.count(b"\n") + 1


def test_one_large_json_document_is_read_whole() -> None:
    work = '{{"id": "https://openalex.org/W{}", "display_name": "T", "authorships": [], "x": "{}"}}'
    works = ",\n".join(work.format(number, "x" * 1000) for number in range(18_000))
    data = ('{"meta": {"count": 3},\n"results": [\n' + works + "\n]}").encode()
    (piece,) = split_member(Member("x", io.BytesIO(data)))
    assert isinstance(piece, Piece)
    assert (piece.format, piece.chunk.data) == ("openalex", data)


def test_everything_behind_a_record_without_end_is_read_wherever_it_lies() -> None:
    for size in (17 << 20, 25 << 20) if not FULL else (17 << 20, 18 << 20, 20 << 20, 25 << 20):
        data = b"@misc{big, title={" + b"x" * size + b"}}\n"
        data += b"".join(b"@misc{k%d, title={T}}\n" % number for number in range(9000))
        found = list(split_member(Member("x", io.BytesIO(data))))
        text = b"".join(piece.chunk.data for piece in found if isinstance(piece, Piece))
        assert text.count(b"@misc{k") == 9000
        first = next(piece for piece in found if isinstance(piece, Piece))
        assert first.chunk.line == 2
