"""What is open while Typst is read: brackets, and the prose that stands in them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Buffer:
    """Prose on its way to a block: its words, and where they begin and end in the file."""

    kind: str = ""  # caption, note, title, abstract, author, item, muted
    words: list[str] = field(default_factory=list)
    start: int = -1
    end: int = 0


@dataclass
class Frame:
    """Something that is open: what closes it, the function that it belongs to, and its buffer."""

    close: str
    name: str
    buffer: Buffer
    is_code: bool = False
    argument: str = ""
    word: str = ""
    own: bool = False  # whether the buffer ends with it
    statement: bool = False
