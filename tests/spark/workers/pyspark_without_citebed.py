"""A Python worker of Spark's in whose Python citebed is not installed."""

import sys

from pyspark.worker import main as work


class _Nowhere:
    """Finds no citebed, before anybody else can."""

    def find_spec(self, name, path=None, target=None):  # type: ignore[no-untyped-def] # noqa: ARG002
        """As Python says it."""
        if name.partition(".")[0] == "citebed":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def main(infile, outfile):  # type: ignore[no-untyped-def]
    """Do a task as Spark's worker does."""
    sys.meta_path.insert(0, _Nowhere())
    return work(infile, outfile)
