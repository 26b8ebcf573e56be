"""The language server as an editor meets it: a process that speaks the protocol."""

from __future__ import annotations

import json
import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.lsp_client import Client, running

import citebed

pytest.importorskip("pygls", reason="needs the extra 'editors'")

MAIN = """\\documentclass{article}
\\begin{document}
Latent semantic indexing 😀 maps words to concepts \\cite{lsi}. 日本 Stemming merges words \\cite{}.

\\input{two}
\\bibliography{refs}
\\end{document}
"""
TWO = "Probabilistic models rank documents by relevance \\cite{nosuch}. Links~\\cite{weights}.\n"
BIB = """@article{lsi,
  title = {Indexing by Latent Semantic Analysis}, year = {1990},
  author = {Deerwester, Scott and Dumais, Susan T. and Furnas, George W. and Landauer, Thomas K. and
            Harshman, Richard},
}
@article{weights,
  title = {Relevance Weighting of Search Terms}, year = {1986},
  author = {Robertson, Stephen E. and Sp{\\"a}rck Jones, Karen},
}
"""


def make_thesis(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name, text in (("main.tex", MAIN), ("two.tex", TWO), ("refs.bib", BIB)):
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def collection(demo_indexed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lsp") / "demo"
    shutil.copytree(demo_indexed, folder)
    return folder


@pytest.fixture(scope="module")
def thesis(collection: Path) -> Path:
    return make_thesis(collection.parent / "thesis")


@pytest.fixture(scope="module")
def client(thesis: Path, collection: Path) -> Iterator[Client]:
    with running() as client:
        client.initialize([thesis], collection=str(collection))
        wait_until_open(client)
        yield client


def wait_until_open(client: Client) -> None:
    assert client.until(lambda: any("is open" in json.dumps(each) for each in client.messages))


@pytest.fixture
def main(client: Client, thesis: Path) -> Iterator[str]:
    uri = client.open(thesis / "main.tex")
    two = client.open(thesis / "two.tex")
    yield uri
    for each in (uri, two):
        client.notify("textDocument/didClose", {"textDocument": {"uri": each}})
    # Nothing of a closed project stays in the list of problems.
    assert client.until(lambda: not any(client.diagnostics.values()))


def after(text: str, what: str) -> int:
    return text.index(what) + len(what)


def codes(client: Client, uri: str) -> list[str]:
    return [each["code"] for each in client.diagnostics.get(uri, [])]


def test_completion_ranks_by_sentence_and_keeps_the_order(client: Client, main: str) -> None:
    at = after(MAIN, "words \\cite{")
    items = client.complete(main, at)
    assert items[0]["label"] == "porter1980algorithm"
    assert [each["sortText"] for each in items] == sorted(each["sortText"] for each in items)
    assert "Porter" in items[0]["filterText"]
    assert "1980" in items[0]["filterText"]


def test_typed_letters_replace_themselves_behind_wide_characters(client: Client, main: str) -> None:
    at = after(MAIN, "words \\cite{")
    for letter in "suff":
        client.edit(main, at, at, letter)
        at += 1
    item = client.complete(main, at)[0]
    line = client.texts[main].split("\n")[2]
    start = len(line[: line.index("suff")].encode("utf-16-le")) // 2
    assert item["textEdit"]["range"] == {
        "start": {"line": 2, "character": start}, "end": {"line": 2, "character": start + 4},
    }  # fmt: skip
    assert item["textEdit"]["newText"] == "porter1980algorithm"
    assert item["filterText"].startswith("suff ")  # all are equally similar for an editor


def test_lines_end_only_where_the_protocol_says(client: Client, thesis: Path) -> None:
    text = "Page one\x0c\u2028 has odd blanks.\r\nStemming merges word forms \\cite{por}"
    uri = client.open(thesis / "odd.tex", text)
    client.edit(uri, len(text) - 4, len(text) - 4, "")
    position = {"line": 1, "character": len("Stemming merges word forms \\cite{por")}
    asked = {"textDocument": {"uri": uri}, "position": position}
    items = client.request("textDocument/completion", asked)["items"]
    assert items[0]["label"] == "porter1980algorithm"
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})


def test_own_keys_hover_definition_and_reasons(client: Client, main: str, thesis: Path) -> None:
    at = after(MAIN, "concepts \\cite{")
    items = client.complete(main, at)
    assert "lsi" in [each["label"] for each in items]
    assert "deerwester1990indexing" not in [each["label"] for each in items]
    item = next(each for each in items if each["label"] == "lsi")
    described = client.request("completionItem/resolve", item)["documentation"]["value"]
    assert "*because of*: " in described
    hover = client.request("textDocument/hover", client.at(main, at + 1))
    assert "Indexing by Latent Semantic Analysis" in hover["contents"]["value"]
    place = client.request("textDocument/definition", client.at(main, at + 1))
    assert place["uri"] == (thesis / "refs.bib").as_uri()
    assert place["range"]["start"] == {"line": 0, "character": 0}
    assert client.request("textDocument/hover", client.at(main, 3)) is None


def test_diagnostics_follow_unsaved_texts_of_several_files(
    client: Client, main: str, thesis: Path
) -> None:
    assert client.texts[main] == MAIN
    two, bib = (thesis / "two.tex").as_uri(), (thesis / "refs.bib").as_uri()
    assert client.until(lambda: codes(client, two) == ["unknown-key"])
    (found,) = client.diagnostics[two]
    start = len("Probabilistic models rank documents by relevance \\cite{")
    assert found["range"]["start"] == {"line": 0, "character": start}
    assert found["range"]["end"] == {"line": 0, "character": start + len("nosuch")}
    assert client.until(lambda: codes(client, bib) == ["wrong-year"])
    client.edit(two, start, start + len("nosuch"), "lsi")
    assert client.until(lambda: codes(client, two) == [])
    client.open(thesis / "refs.bib", BIB.replace("1986", "1976"), "bibtex")
    assert client.until(lambda: codes(client, bib) == [])
    client.notify("textDocument/didClose", {"textDocument": {"uri": bib}})
    assert client.until(lambda: codes(client, bib) == ["wrong-year"])


def actions(client: Client, uri: str, at: int, *found: Any, kind: int = 1) -> list[Any]:
    position = client.position(uri, at)
    context = {"diagnostics": list(found), "triggerKind": kind}
    where = {"start": position, "end": position}
    asked = {"textDocument": {"uri": uri}, "range": where, "context": context}
    made = client.request("textDocument/codeAction", asked)
    return made or []


def test_actions_correct_cite_and_reject(client: Client, main: str, thesis: Path) -> None:
    bib = (thesis / "refs.bib").as_uri()
    assert client.until(lambda: codes(client, bib) == ["wrong-year"])
    client.open(thesis / "refs.bib", language="bibtex")
    (fix,) = actions(client, bib, 0, *client.diagnostics[bib])
    (change,) = fix["edit"]["changes"][bib]
    assert change["newText"] == "1976"
    client.notify("textDocument/didClose", {"textDocument": {"uri": bib}})

    at = after(MAIN, "Stemming mer")
    assert actions(client, main, at, kind=2) == []  # no lamp at every sentence
    made = actions(client, main, at)
    cite = next(each for each in made if each["title"].startswith("Cite porter1980algorithm"))
    (added,) = cite["edit"]["changes"][bib]
    assert added["newText"].startswith("\n@article{porter1980algorithm,")
    (written,) = cite["edit"]["changes"][main]
    line = MAIN.split("\n")[2]
    before = line.encode("utf-16-le")[: 2 * written["range"]["start"]["character"]]
    assert before.decode("utf-16-le").endswith("Stemming merges words")
    assert written["newText"] == "~\\cite{porter1980algorithm}"

    reject = next(each for each in made if each["title"].startswith("Not this: An Algorithm"))
    client.request("workspace/executeCommand", {
        "command": reject["command"]["command"], "arguments": reject["command"]["arguments"],
    })  # fmt: skip
    again = [each["title"] for each in actions(client, main, at)]
    assert not any("porter1980algorithm" in title for title in again)
    labels = [each["label"] for each in client.complete(main, after(MAIN, "words \\cite{"))]
    assert "porter1980algorithm" not in labels


def test_unknown_keys_of_the_collection_can_be_added(client: Client, main: str) -> None:
    at = after(MAIN, "words \\cite{")
    client.edit(main, at, at, "porter1980algorithm")
    titles = [each["title"] for each in actions(client, main, at + 2, kind=2)]
    assert titles == ["Add porter1980algorithm to refs.bib"]


def test_an_older_request_never_gets_a_list(client: Client, main: str) -> None:
    at = after(MAIN, "words \\cite{")
    numbers = []
    for letter in "porter":
        client.edit(main, at, at, letter)
        at += 1
        asked = client.at(main, at)
        numbers.append(client.start_request("textDocument/completion", asked))
    *older, last = [client.reply(number) for number in numbers]
    assert last["result"]["items"][0]["label"].startswith("porter")
    for message in older:
        if "error" in message:
            assert message["error"]["code"] == -32801  # content modified
    number = client.start_request("textDocument/completion", client.at(main, at))
    client.notify("$/cancelRequest", {"id": number})
    message = client.reply(number)
    assert "result" in message or message["error"]["code"] in (-32800, -32801)


# --- Bad input --------------------------------------------------------------------------------

METHODS = (
    "textDocument/completion", "textDocument/hover", "textDocument/definition",
    "textDocument/codeAction", "completionItem/resolve", "workspace/executeCommand",
    "textDocument/didOpen", "textDocument/didChange", "textDocument/didClose",
    "workspace/didChangeWorkspaceFolders", "$/cancelRequest", "no/such", "", "initialize",
    "textDocument/didSave", "workspace/didChangeWatchedFiles",
)  # fmt: skip


def broken_value(chance: random.Random, depth: int = 0) -> Any:
    """Return a JSON value that looks a little like parameters."""
    kind = chance.randrange(9 if depth < 3 else 6)
    uris = ("file:///a.tex", "untitled:1", "", "file:///%00", "http://a/b.tex", "file:///dev/zero")
    plain = (None, True, -1, chance.randrange(1 << 40), "x" * chance.randrange(300),
             chance.choice(uris))  # fmt: skip
    if kind < 6:
        return plain[kind]
    if kind == 6:
        return [broken_value(chance, depth + 1) for _ in range(chance.randrange(4))]
    names = ("textDocument", "position", "uri", "line", "character", "range", "start", "end",
             "context", "diagnostics", "contentChanges", "text", "version", "languageId", "id",
             "command", "arguments", "label", "data")  # fmt: skip
    return {chance.choice(names): broken_value(chance, depth + 1) for _ in range(5)}


def broken_message(chance: random.Random, number: int, uri: str) -> bytes:
    """Return the body of a message that is wrong in one of several ways."""
    far = chance.choice([0, 1, 10**6, 2**31 - 1])
    where = {"textDocument": {"uri": uri}, "position": {"line": far, "character": far}}
    span = {"start": where["position"], "end": {"line": 0, "character": chance.randrange(9)}}
    change = {
        "textDocument": {"uri": chance.choice([uri + "x", "file:///never.tex"]), "version": 2},
        "contentChanges": [{"range": span, "text": "\\cite{"}],
    }
    method = chance.choice(METHODS)
    request = {"jsonrpc": "2.0", "id": f"f{number}", "method": method}
    match chance.randrange(8):
        case 0:
            return bytes(chance.randrange(256) for _ in range(chance.randrange(1, 60)))
        case 1:
            return json.dumps(request | {"params": broken_value(chance)}).encode()[:-2]
        case 2:
            return json.dumps(broken_value(chance)).encode()
        case 3:
            far_away = where | {"context": {"diagnostics": []}}
            return json.dumps(request | {"params": far_away}).encode()
        case 4:
            return json.dumps(request | {"id": broken_value(chance, 3), "params": where}).encode()
        case 5:
            return json.dumps({"jsonrpc": "2.0", "method": method, "params": change}).encode()
        case 6:
            return b"[" * chance.randrange(1, 5000)
    return json.dumps(request | {"params": broken_value(chance)}).encode()


def test_two_thousand_broken_messages_do_no_harm(client: Client, main: str, thesis: Path) -> None:
    chance = random.Random(7)
    start = len(client.messages)
    for number in range(2000):
        client.send_bytes(broken_message(chance, number, main))
    client.open(thesis / "main.tex")  # one of the messages may have closed it
    assert client.complete(main, after(MAIN, "concepts \\cite{"))
    replies = [each for each in client.messages[start:] if "method" not in each and "id" in each]
    errors = [each["error"]["code"] for each in replies if "error" in each]
    assert len(errors) > 500
    assert {-32700, -32600, -32601, -32602} <= {*errors}
    assert -32603 not in errors  # no internal error
    for each in ("file:///a.tex", "untitled:1", "http://a/b.tex", "file:///dev/zero", ""):
        client.notify("textDocument/didClose", {"textDocument": {"uri": each}})


def test_a_message_of_300_mb_is_refused(client: Client, main: str) -> None:
    size, piece = 300 << 20, b" " * (1 << 20)
    assert client.process.stdin is not None
    client.process.stdin.write(b"Content-Length: %d\r\n\r\n" % size)
    for _ in range(300):
        client.process.stdin.write(piece)
    client.process.stdin.flush()
    assert client.complete(main, after(MAIN, "concepts \\cite{"))


def test_large_and_binary_drafts(client: Client, main: str, thesis: Path) -> None:
    text = "Some words are here.\n\n" * (50 * (1 << 20) // 22) + "Stemming merges words \\cite{"
    uri = client.open(thesis / "large.tex", text)
    assert client.complete(uri, len(text))[0]["label"].startswith("porter")
    binary = client.open(thesis / "binary.tex", "\x7fELF\x02\0\0\0\\cite{")
    client.complete(binary, 9)
    for each in (uri, binary):
        client.notify("textDocument/didClose", {"textDocument": {"uri": each}})
    assert client.complete(main, after(MAIN, "concepts \\cite{"))


def test_before_and_after_a_session() -> None:
    with running() as client:
        early = client.reply(client.start_request("textDocument/hover", {}))
        assert early["error"]["code"] in (-32002, -32602)
        client.initialize([])
        again = client.reply(client.start_request("initialize", {
            "processId": None, "rootUri": None, "capabilities": {},
        }))  # fmt: skip
        assert again["error"]["code"] == -32600


# --- Collections that come, change and break --------------------------------------------------


def test_wrong_settings_are_named(tmp_path: Path) -> None:
    with running(CITEBED_COLLECTION="") as client:
        client.initialize([tmp_path], collection=5, diagnostics="no")
        told = client.until(lambda: [each["params"]["message"] for each in client.messages
                                     if each.get("method") == "window/showMessage"])  # fmt: skip
        assert told[:2] == [
            "citebed: the setting 'collection' is 5, expected a folder; ignored",
            "citebed: the setting 'diagnostics' is 'no', expected true or false; ignored",
        ]


def test_a_collection_can_come_later_and_change(demo_indexed: Path, tmp_path: Path) -> None:
    thesis = make_thesis(tmp_path / "work" / "thesis")
    (tmp_path / "work").chmod(0o777)  # where the search for a collection ends
    with running(CITEBED_COLLECTION="") as client:
        client.initialize([thesis])
        uri = client.open(thesis / "main.tex")
        at = after(MAIN, "words \\cite{")
        told = client.until(lambda: [each["params"]["message"] for each in client.messages
                                     if each.get("method") == "window/showMessage"])  # fmt: skip
        assert len(told) == 1
        assert "no collection" in told[0]
        assert "the setting 'collection' names it" in told[0]
        labels = [each["label"] for each in client.complete(uri, at)]
        assert labels == ["lsi", "weights"]  # the .bib file alone

        shutil.copytree(demo_indexed, thesis / "made")
        (thesis / "made").rename(thesis / "library")
        wait_until_open(client)
        assert client.complete(uri, at)[0]["label"] == "porter1980algorithm"

        new = tmp_path / "new.bib"
        new.write_text(
            "@article{brandnew, title={Stemming merges words of every kind}, year={2024},"
            " author={New, Nora}}"
        )
        bench = citebed.create(thesis / "library", new)
        bench.index(quiet=True)
        changed = time.monotonic()
        while client.complete(uri, at)[0]["label"] != "brandnew":
            assert time.monotonic() - changed < 20
            time.sleep(0.1)

        (thesis / "library" / "index" / "index.json").write_text("{")
        time.sleep(1.2)
        assert client.complete(uri, at)[0]["label"] == "brandnew"  # the old state still responds
