"""The collections that are served, each open and ready, and opened anew after it was changed."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from citebed.api import Workbench
from citebed.collection.storing.store import read_state
from citebed.drafts.draft_store import DraftStore
from citebed.errors import UnknownName
from citebed.retrieval.index.layout import description_version
from citebed.retrieval.library.library import Library
from citebed.retrieval.memory import trim_heap
from citebed.retrieval.recommend.recommender import Recommender


class Shelved:
    """A collection on the shelf: its name in addresses, and what is open of it."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self._turn, self._warming, self._one_at_a_time = (threading.Lock() for _ in range(3))
        self._state: object = None
        self._followed: object = None
        self._workbench = Workbench(folder)
        self._recommender: Recommender | None = None
        self._first: Recommender | None = None
        self._library: Library | None = None
        self._desk: DraftStore | None = None

    def _refresh(self) -> None:
        """Open it anew where it, or its index, is no longer what was opened."""
        state = (read_state(self.folder), description_version(self.folder / "index"))
        if state != self._state:
            self._workbench, self._recommender, self._first = Workbench(self.folder), None, None
            self._state = state

    @property
    def workbench(self) -> Workbench:
        """The collection as it is now."""
        with self._turn:
            self._refresh()
            return self._workbench

    @property
    def recommender(self) -> Recommender:
        """What recommends from it, warm: who comes first waits for the models."""
        with self._warming:
            with self._turn:
                self._refresh()
                workbench, made = self._workbench, self._recommender
            if made is None:
                made = Recommender(workbench, warm=True)
                with self._turn:
                    if self._workbench is workbench:  # else it was changed meanwhile
                        self._recommender, self._first = made, None
                trim_heap()  # what the first one had
            return made

    @contextmanager
    def recommending(self) -> Iterator[Recommender]:
        """What recommends from it now: until it is warm, one that answers soonest, to one at a
        time. Once somebody was answered it is made warm."""
        made = self._at_hand()
        if made is not None:
            yield made
            return
        with self._one_at_a_time:
            made = self._at_hand()  # others were answered meanwhile
            yield made or self._quick()
        if made is None:
            threading.Thread(target=self.warm, daemon=True).start()

    def _at_hand(self) -> Recommender | None:
        with self._turn:
            self._refresh()
            return self._recommender

    def _quick(self) -> Recommender:
        with self._turn:
            made, workbench = self._first, self._workbench
        if made is None:
            made = Recommender(workbench)  # while it is opened, drafts are kept
            with self._turn:
                if self._workbench is workbench:
                    self._first = made
        return made

    def warm(self) -> None:
        """Have all in memory that recommending needs."""
        if self._warming.locked():
            return  # somebody does
        with suppress(Exception):  # whoever asks is told
            _ = self.recommender

    @property
    def library(self) -> Library:
        """What finds documents in it, and knows what is around them."""
        recommender = self.recommender
        with self._turn:
            if self._library is None or self._library.recommender is not recommender:
                self._library = Library(recommender)
            return self._library

    @property
    def desk(self) -> DraftStore:
        """The drafts that are worked on with it."""
        with self._turn:
            self._refresh()
            if self._desk is None:
                self._desk = DraftStore(self.folder)
            if self._followed != self._state:  # an import may have merged documents
                self._desk.follow(self._workbench)
                self._followed = self._state
            return self._desk

    def close(self) -> None:
        """Let go of the desk, so that all of it is in its one file."""
        with self._turn:
            if self._desk is not None:
                self._desk.close()
                self._desk = None


class Shelf:
    """All collections that are served, by name; ``home`` is where new ones are made."""

    def __init__(self, folders: Iterable[Path], home: Path | None = None) -> None:
        self.home = home or Path.cwd()
        self._shelved: dict[str, Shelved] = {}
        for folder in folders:
            self.add(folder)

    def __iter__(self) -> Iterator[Shelved]:
        return iter(list(self._shelved.values()))

    def __len__(self) -> int:
        return len(self._shelved)

    def add(self, folder: Path) -> Shelved:
        """Put a collection on the shelf, under its folder's name, numbered if that is taken."""
        whole = folder.resolve()
        same = next((each for each in self if each.folder.resolve() == whole), None)
        if same is not None:
            return same
        first = name = whole.name or "collection"
        number = 1
        while name in self._shelved:
            number += 1
            name = f"{first}-{number}"
        self._shelved[name] = Shelved(name, folder)
        return self._shelved[name]

    def close(self) -> None:
        """Let go of what is open for writing."""
        for each in self:
            each.close()

    def get(self, name: str) -> Shelved:
        """The collection of a name; `UnknownName` where there is none."""
        if name not in self._shelved:
            raise UnknownName("collection", name, self._shelved)
        return self._shelved[name]
