"""The collections that are being served, each open, and reopened after a change."""

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


class OpenCollection:
    """A collection with its name in URLs, its recommender, its library and its drafts.

    Every property first reopens the collection if its files or its index have changed.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self._lock, self._warming, self._one_at_a_time = (threading.Lock() for _ in range(3))
        self._state: object = None
        self._followed: object = None
        self._workbench = Workbench(folder)
        self._warm: Recommender | None = None
        self._quick: Recommender | None = None
        self._library: Library | None = None
        self._drafts: DraftStore | None = None

    @property
    def state(self) -> object:
        """A value that changes with the collection or its index."""
        return read_state(self.folder), description_version(self.folder / "index")

    def _refresh(self) -> None:
        state = self.state
        if state != self._state:
            self._workbench, self._warm, self._quick = Workbench(self.folder), None, None
            self._state = state

    @property
    def workbench(self) -> Workbench:
        """The collection in its current state."""
        with self._lock:
            self._refresh()
            return self._workbench

    @property
    def recommender(self) -> Recommender:
        """The recommender with all models loaded; the first caller waits for them."""
        with self._warming:
            with self._lock:
                self._refresh()
                workbench, made = self._workbench, self._warm
            if made is None:
                made = Recommender(workbench, warm=True)
                with self._lock:
                    if self._workbench is workbench:  # not changed in the meantime
                        self._warm, self._quick = made, None
                trim_heap()  # free the quick recommender
            return made

    @contextmanager
    def recommending(self) -> Iterator[Recommender]:
        """Yield a recommender that answers soon.

        Until the models are loaded, it is one without models, for one caller at a time; the models
        are loaded after the first response.
        """
        made = self._get_warm()
        if made is not None:
            yield made
            return
        with self._one_at_a_time:
            made = self._get_warm()  # loaded while this caller waited
            yield made or self._get_quick()
        if made is None:
            threading.Thread(target=self.warm, daemon=True).start()

    def _get_warm(self) -> Recommender | None:
        with self._lock:
            self._refresh()
            return self._warm

    def _get_quick(self) -> Recommender:
        with self._lock:
            made, workbench = self._quick, self._workbench
        if made is None:
            made = Recommender(workbench)  # without the lock, which drafts need
            with self._lock:
                if self._workbench is workbench:
                    self._quick = made
        return made

    def warm(self) -> None:
        """Load the models, unless another thread does; requests report errors."""
        if not self._warming.locked():
            with suppress(Exception):
                _ = self.recommender

    @property
    def library(self) -> Library:
        """Search, documents, similar papers and maps."""
        recommender = self.recommender
        with self._lock:
            if self._library is None or self._library.recommender is not recommender:
                self._library = Library(recommender)
            return self._library

    @property
    def drafts(self) -> DraftStore:
        """The user's drafts."""
        with self._lock:
            self._refresh()
            if self._drafts is None:
                self._drafts = DraftStore(self.folder)
            if self._followed != self._state:  # an import may have merged documents
                self._drafts.follow(self._workbench)
                self._followed = self._state
            return self._drafts

    def close(self) -> None:
        """Close the draft store, so that its file is complete."""
        with self._lock:
            if self._drafts is not None:
                self._drafts.close()
                self._drafts = None


class OpenCollections:
    """All collections of a server, by name; ``home`` is the folder for new ones."""

    def __init__(self, folders: Iterable[Path], home: Path | None = None) -> None:
        self.home = home or Path.cwd()
        self._by_name: dict[str, OpenCollection] = {}
        for folder in folders:
            self.add(folder)

    def __iter__(self) -> Iterator[OpenCollection]:
        return iter(list(self._by_name.values()))

    def __len__(self) -> int:
        return len(self._by_name)

    def __getitem__(self, name: str) -> OpenCollection:
        if name not in self._by_name:
            raise UnknownName("collection", name, self._by_name)
        return self._by_name[name]

    def add(self, folder: Path) -> OpenCollection:
        """Add a collection under its folder's name, numbered if that name is taken."""
        whole = folder.resolve()
        same = next((each for each in self if each.folder.resolve() == whole), None)
        if same is not None:
            return same
        first = name = whole.name or "collection"
        number = 1
        while name in self._by_name:
            number += 1
            name = f"{first}-{number}"
        self._by_name[name] = OpenCollection(name, folder)
        return self._by_name[name]

    def close(self) -> None:
        """Close all collections."""
        for each in self:
            each.close()
