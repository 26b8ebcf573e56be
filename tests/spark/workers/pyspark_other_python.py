"""A Python worker of Spark's that says it is another Python."""

import sys

from pyspark.worker import main as work


def main(infile, outfile):  # type: ignore[no-untyped-def]
    """Do a task as Spark's worker does."""
    sys.version_info = (3, 99, 0, "final", 0)  # type: ignore[assignment]
    return work(infile, outfile)
