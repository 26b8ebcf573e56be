"""A small language client for tests: it starts ``citebed lsp``, sends raw messages and keeps every
message that the server sends."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Message = dict[str, Any]


class Client:
    """A client with the texts of its open documents."""

    def __init__(self, process: subprocess.Popen[bytes], wait: float = 15.0) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self._wait = process, wait
        self._in, self._out = process.stdin, process.stdout
        self.diagnostics: dict[str, list[Message]] = {}
        self.messages: list[Message] = []
        self._replies: dict[Any, queue.Queue[Message]] = {}
        self.others: queue.Queue[Message] = queue.Queue()
        self._number = 0
        self._changed = threading.Condition()
        self.texts: dict[str, str] = {}
        self._versions: dict[str, int] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while header := self._out.readline():
            size = int(header.split(b":")[1])
            while self._out.readline().strip():
                pass
            message = json.loads(self._out.read(size))
            with self._changed:
                if message.get("method") == "textDocument/publishDiagnostics":
                    self.diagnostics[message["params"]["uri"]] = message["params"]["diagnostics"]
                self.messages.append(message)
                self._changed.notify_all()
            if "method" not in message and message.get("id") in self._replies:
                self._replies[message["id"]].put(message)
            else:
                self.others.put(message)

    def until(self, test: Callable[[], Any], seconds: float | None = None) -> Any:
        """Wait until a condition on what the server sent is true, and return it."""
        with self._changed:
            self._changed.wait_for(test, seconds or self._wait)
            return test()

    def send_bytes(self, body: bytes) -> None:
        """Send the body of a message, which may be broken."""
        self._in.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._in.flush()

    def send(self, message: Any) -> None:
        """Send a message."""
        self.send_bytes(json.dumps(message).encode())

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def start_request(self, method: str, params: Any = None) -> int:
        """Send a request and return its id."""
        self._number += 1
        self._replies[self._number] = queue.Queue()
        self.send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        return self._number

    def reply(self, number: int) -> Message:
        """Wait for the response to a request."""
        message = self._replies[number].get(timeout=self._wait)
        del self._replies[number]
        return message

    def request(self, method: str, params: Any = None) -> Any:
        """Send a request and return its result."""
        message = self.reply(self.start_request(method, params))
        assert "error" not in message, message
        return message["result"]

    # --- The protocol -----------------------------------------------------------------------

    def initialize(self, roots: Sequence[Path], **options: Any) -> Message:
        """Start a session."""
        folders = [{"uri": root.as_uri(), "name": root.name} for root in roots]
        params = {
            "processId": os.getpid(), "rootUri": folders[0]["uri"] if folders else None,
            "workspaceFolders": folders, "capabilities": {}, "initializationOptions": options,
        }  # fmt: skip
        result: Message = self.request("initialize", params)
        self.notify("initialized", {})
        return result

    def open(self, path: Path, text: str | None = None, language: str = "latex") -> str:
        """Open a file, with its text or another one, and return its URI."""
        uri = path.as_uri()
        self.texts[uri] = path.read_text() if text is None else text
        self._versions[uri] = 1
        item = {"uri": uri, "languageId": language, "version": 1, "text": self.texts[uri]}
        self.notify("textDocument/didOpen", {"textDocument": item})
        return uri

    def position(self, uri: str, at: int) -> dict[str, int]:
        """Return the position of a character, in UTF-16 units."""
        before = self.texts[uri][:at]
        last = before[before.rfind("\n") + 1 :]
        return {"line": before.count("\n"), "character": len(last.encode("utf-16-le")) // 2}

    def edit(self, uri: str, start: int, end: int, text: str) -> None:
        """Replace a part of a document by text, with an incremental change."""
        where = {"start": self.position(uri, start), "end": self.position(uri, end)}
        self.texts[uri] = self.texts[uri][:start] + text + self.texts[uri][end:]
        self._versions[uri] += 1
        self.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": uri, "version": self._versions[uri]},
                "contentChanges": [{"range": where, "text": text}],
            },
        )

    def at(self, uri: str, at: int) -> Message:
        """Return the parameters of a request about a position."""
        return {"textDocument": {"uri": uri}, "position": self.position(uri, at)}

    def complete(self, uri: str, at: int) -> list[Message]:
        """Return the completion items at a position."""
        result = self.request("textDocument/completion", self.at(uri, at))
        items: list[Message] = result["items"] if result else []
        return items


@contextmanager
def running(*arguments: str, wait: float = 15.0, **environment: str) -> Iterator[Client]:
    """Start the language server; end it with the protocol's own words."""
    command = [sys.executable, "-m", "citebed", "lsp", *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | environment
    ) as process:
        client = Client(process, wait)
        try:
            yield client
            client.request("shutdown")
            client.notify("exit")
            assert process.wait(20) == 0
        finally:
            process.kill()
