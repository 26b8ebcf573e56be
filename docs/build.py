"""Makes what the pages show: figures drawn by the software itself, the command reference, and the
site in ``build/docs``.

Run with `make docs`; a test checks that the committed files are up to date.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from typer.testing import CliRunner

from citebed.cli.app import VERBS, build
from citebed.collection import open_collection
from citebed.collection.demo import import_demo
from citebed.collection.statistics import collect_statistics
from citebed.report.collection_figure import draw
from citebed.report.evaluation_tables import measure_page
from citebed.report.handbook import build_handbook

sys.path.insert(0, str(Path(__file__).resolve().parent))
from package_graph import package_picture
from timeline_figures import draw as draw_timeline

DOCS = Path(__file__).resolve().parent
_OFFLINE = """\
`citebed --offline VERB …`, or `CITEBED_OFFLINE=1` in the environment, forbids downloads, mails and
remote GROBID servers. [What is sent](security.md#what-is-sent) lists every command that uses the
network."""


def figures(folder: Path) -> None:
    """The pictures of the demo collection and of a made-up stream."""
    (folder / "packages.svg").write_text(package_picture(), "utf-8")
    draw_timeline(folder)
    with tempfile.TemporaryDirectory() as name:
        import_demo(Path(name) / "demo")
        draw(collect_statistics(open_collection(Path(name) / "demo")), folder / "demo.svg")


def command_reference() -> str:
    """What `citebed VERB --help` says, for all verbs."""
    runner = CliRunner(env={"COLUMNS": "96"})
    parts = [f"# Commands\n\nMade by `make docs` from the help texts.\n\n{_OFFLINE}\n"]
    for verb in VERBS:
        text = runner.invoke(build(verb), [verb, "--help"], prog_name="citebed").stdout
        lines = "\n".join(line.rstrip() for line in text.strip().splitlines())
        parts.append(f"## citebed {verb}\n\n```text\n{lines}\n```\n")
    return "\n".join(parts)


def main() -> None:
    """Write everything into `docs/`."""
    (DOCS / "figures").mkdir(exist_ok=True)
    figures(DOCS / "figures")
    (DOCS / "commands.md").write_text(command_reference(), encoding="utf-8")
    (DOCS / "measures.md").write_text(measure_page(), encoding="utf-8")
    build_handbook(DOCS.parent / "build" / "docs", DOCS.parent)


if __name__ == "__main__":
    main()
