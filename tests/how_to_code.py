"""Write the Python code of each how-to page to a file, so that tools can check it as printed.

``make lint`` runs this: ``python tests/how_to_code.py FOLDER`` writes ``FOLDER/measure.py`` from
the first Python block of ``docs/how-to/measure.md``, and so on.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

PAGES = Path(__file__).resolve().parents[1] / "docs" / "how-to"


def first_block(page: Path) -> str:
    """Return the first Python block of a page."""
    block = re.search(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    if block is None:
        raise ValueError(f"{page}: no Python block. Begin one with ```python.")
    return block[1]


def main(folder: Path) -> None:
    """Write the code of all pages to ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in sorted(PAGES.glob("*.md")):
        (folder / f"how_to_{page.stem}.py").write_text(first_block(page), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
