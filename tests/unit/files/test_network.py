"""Offline means offline: whatever the door, no socket is opened, and what was wanted is named."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from citebed.cli.app import main
from citebed.collection import import_sources
from citebed.collection.fetching.public_collections import fetch
from citebed.errors import CitebedError
from citebed.files.environment import OFFLINE, is_offline
from citebed.files.secret_files import address_block
from citebed.retrieval.rerank import find_model

MODEL = "nobody/has-this-model"


@pytest.fixture(autouse=True)
def no_sockets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Fail the test if it opens a connection or looks up an address."""

    def fail(*given: object, **_: object) -> None:
        raise AssertionError(f"the network was used: {given}")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, fail)
    for name in ("getaddrinfo", "create_connection", "gethostbyname"):
        monkeypatch.setattr(socket, name, fail)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.delenv(OFFLINE, raising=False)


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    (tmp_path / "a.bib").write_text("@article{a, title={Of cats}, abstract={All about cats.}}\n")
    (tmp_path / "q.jsonl").write_text('{"query_id": "1", "text": "cats"}\n')
    import_sources(tmp_path / "c", [tmp_path / "a.bib", tmp_path / "q.jsonl"])
    assert main(["index", str(tmp_path / "c"), "-q"]) == 0
    return tmp_path / "c"


@pytest.mark.parametrize(
    ("value", "offline"),
    [("", False), ("0", False), ("no", False), ("False", False), ("1", True), ("yes", True)],
)
def test_what_the_variable_says(value: str, offline: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OFFLINE, value)
    assert is_offline() is offline


@pytest.mark.parametrize(
    ("verb", "wanted"),
    [
        (["search", "{c}", "--queries", "q", "--model", f"bm25+{MODEL}"], MODEL),
        (["recommend", "{c}", "cats and dogs", "--model", f"bm25+rerank(with={MODEL})"], MODEL),
        (["fetch", "cranfield", "{c}-fetched"], "cannot fetch http"),
        (["fetch", "acm-cr", "{c}-fetched", "--mirror", "http://a.invalid/b"], "a.invalid/b"),
    ],
)
@pytest.mark.parametrize("option", [True, False])
def test_no_verb_uses_the_network(
    verb: list[str],
    wanted: str,
    option: bool,
    collection: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if wanted == MODEL:
        pytest.importorskip("huggingface_hub")
    if not option:
        monkeypatch.setenv(OFFLINE, "1")
    asked = [word.replace("{c}", str(collection)) for word in verb]
    assert main(["--offline", *asked] if option else asked) == 1
    err = capsys.readouterr().err
    assert wanted in err
    assert "the network is switched off (--offline, CITEBED_OFFLINE)" in err
    assert is_offline() is not option, "the option lasts as long as the command"


def test_python_does_not_either(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    monkeypatch.setenv(OFFLINE, "1")
    with pytest.raises(CitebedError, match=f"hf download {MODEL} --local-dir FOLDER"):
        find_model(MODEL)
    with pytest.raises(CitebedError, match="--mirror file:///FOLDER"):
        fetch("cacm", tmp_path / "cacm")
    assert not list(tmp_path.glob("cacm/*"))


def test_what_is_here_works_offline(
    collection: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["--offline", "search", str(collection), "--queries", "q"]) == 0
    assert main(["--offline", "recommend", str(collection), "cats and dogs"]) == 0
    assert "Of cats" in capsys.readouterr().out
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    assert main(["--offline", "fetch", "cacm", str(tmp_path / "f"), "--mirror", mirror.as_uri()])
    assert "not to be used" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("address", "same", "other"),
    [
        ("127.0.0.1", "127.9.200.7", "128.0.0.1"),
        ("127.0.0.1", "::1", "::2"),
        ("192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2"),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.1", "::ffff:192.0.2.2"),
        ("::ffff:127.0.0.1", "127.0.0.2", "::ffff:192.0.2.1"),
        ("2001:db8::1", "2001:db8::ffff", "2001:db8:0:1::1"),
        ("fe80::1%eth0", "fe80::2", "testclient"),
    ],
)
def test_wrong_passwords_are_counted_by_network_address(
    address: str, same: str, other: str
) -> None:
    assert address_block(address) == address_block(same)
    assert address_block(address) != address_block(other)
