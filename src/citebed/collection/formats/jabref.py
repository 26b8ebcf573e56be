"""JabRef's groups: a tree in a comment of a BibTeX file, and the field ``groups`` of its entries.

Entries name their groups; the tree says where a group is. Before version 4, and in exports of
Better BibTeX, the tree itself has the keys of the entries in a group.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from citebed.text.regex import compile_regex

_TREE = re.compile(
    r"^[ \t]*@comment\s*\{\s*jabref-meta:\s*group(?:ing|stree):(.*?)^\s*\}",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
_UNIT = compile_regex(r"((?:[^;\\]|\\.)*+);", re.DOTALL)
_NODE = re.compile(r"\s*(\d{1,3}) (Explicit|Static)Group:(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class Groups(NamedTuple):
    """Paths of groups by name (``Part`` is ``Thesis/Part``), and by the keys of their entries."""

    by_name: dict[str, list[str]]
    by_key: dict[str, list[str]]

    def paths(self, names: tuple[str, ...], key: str) -> tuple[str, ...]:
        """Return the paths of the groups that an entry names, and of those that name it.

        A name that several groups have stays a name.
        """
        known = (self.by_name.get(name, []) for name in names)
        named = (
            path[0] if len(path) == 1 else name for name, path in zip(names, known, strict=True)
        )
        return tuple(dict.fromkeys([*named, *self.by_key.get(key, ())]))


def parse_groups(text: str) -> Groups:
    """Return the groups that the comments of a BibTeX file define."""
    groups = Groups({}, {})
    for tree in _TREE.findall(text) if "jabref-meta" in text else ():
        above: list[str] = []
        for unit in _UNIT.findall(tree.replace("\n", "")):
            node = _NODE.fullmatch(unit)
            if node is None:
                continue
            options = _UNIT.findall(_ESCAPE.sub(r"\1", node[3]) + ";")
            name, *others = (_ESCAPE.sub(r"\1", option) for option in options)
            above = [*above[: max(0, int(node[1]) - 1)], name]
            path = "/".join(above)
            groups.by_name.setdefault(name, []).append(path)
            for key in others[1:] if node[2] == "Explicit" else ():
                groups.by_key.setdefault(key, []).append(path)
    return groups
