"""axe-core, which checks pages for people who use a screen reader, only a keyboard, or see badly.

``make packages`` installs it from the npm registry; it is not a part of the project. If it is
missing, pytest skips the tests that need it.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.sampling import FULL

WHERE = "CITEBED_AXE"
FOLDER = Path(__file__).resolve().parents[2] / "build" / "axe" / "package"
ON_COLOURS = ("color-contrast", "link-in-text-block")
"""The rules that depend on the colour scheme."""
_RUN = """
const [rules, done] = arguments;
const only = rules.length ? { runOnly: rules } : {};
axe.run(document, { resultTypes: ["violations"], ...only }).then(
  found => done(found.violations.map(each => [each.id, each.help,
    each.nodes.map(node => node.target.join(" ") + ": " + node.failureSummary)])),
  error => done([["error", String(error), []]]));
"""


@cache
def _script() -> str:
    path = Path(os.environ.get(WHERE) or FOLDER / "axe.min.js")
    if not path.is_file():
        pytest.skip(f"axe-core is not here: run 'make packages', or name axe.min.js in {WHERE}")
    return path.read_text("utf-8")


def violations(browser: Any, *rules: str) -> list[str]:
    """Run axe-core on the page and return one line per faulty element.

    It checks all rules, or only those that are named.
    """
    driver = browser.driver
    driver.set_script_timeout(120)
    # By the debugger, not as a script of the page's: that its policy would refuse.
    driver.execute_cdp_cmd("Runtime.evaluate", {"expression": _script()})
    found = driver.execute_async_script(_RUN, list(rules))
    return [f"{rule} ({told}): {node}" for rule, told, nodes in found for node in nodes or [""]]


def check(browser: Any, width: int) -> list[str]:
    """Check the current page with every rule, and the colours of its dark scheme."""
    found = violations(browser)
    if width > 600 or FULL:
        browser.show("dark")
        found += violations(browser, *ON_COLOURS)
        browser.show("light")
    return found
