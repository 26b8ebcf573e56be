"""Check that `src` stays small: `make lint` runs this.

`ceiling.json` has the largest totals that are allowed. `python tests/ceiling.py --lower` lowers
them to what `src` has now, and never raises one: simplify first, then add.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "citebed"
CEILING = Path(__file__).with_name("ceiling.json")


def totals(folder: Path) -> dict[str, int]:
    """Return the Python lines, files and functions under a folder."""
    texts = [path.read_text("utf-8") for path in sorted(folder.rglob("*.py"))]
    functions = sum(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for text in texts
        for node in ast.walk(ast.parse(text))
    )
    lines = sum(text.count("\n") for text in texts)
    return {"lines": lines, "files": len(texts), "functions": functions}


def main() -> int:
    """Print the totals; return 1 if one is above its ceiling."""
    found, most = totals(SOURCE), json.loads(CEILING.read_text("utf-8"))
    if "--lower" in sys.argv[1:]:
        most = {name: min(number, found[name]) for name, number in most.items()}
        CEILING.write_text(json.dumps(most, indent=2) + "\n", "utf-8")
    above = [name for name, number in most.items() if found[name] > number]
    for name, number in most.items():
        mark = "  too many: simplify before you add" if name in above else ""
        print(f"{name:<10}{found[name]:>8,} of at most {number:,}{mark}")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
