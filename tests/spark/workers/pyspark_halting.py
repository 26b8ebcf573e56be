"""A Python worker of Spark's that counts its tasks, and halts before one that a test names.

Spark runs the module that ``spark.python.worker.module`` names (which must begin with
``pyspark``). Tasks of all workers are counted together, by files that only one can make.
"""

import os
import signal
from pathlib import Path

from pyspark.worker import main as work

FOLDER = Path(os.environ["CITEBED_HALTS"])


def main(infile, outfile):  # type: ignore[no-untyped-def]
    """Do a task as Spark's worker does, or halt until this process is killed."""
    if not infile.peek(1):  # here it is waited for
        return work(infile, outfile)
    wanted = FOLDER / "halt-before"
    if wanted.exists() and _number() == int(wanted.read_text()):
        wanted.unlink()
        with (FOLDER / "halted").open("w") as told:
            told.write(f"{os.getpid()} {_parent_of(os.getppid())}\n")
        signal.pause()
    elif not wanted.exists():
        _number()
    return work(infile, outfile)


def _number() -> int:
    """The number of this task among all: none has another's."""
    number = 0
    while True:
        try:
            os.close(os.open(FOLDER / f"task-{number}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            number += 1
        else:
            return number


def _parent_of(process: int) -> int:
    """Return the parent of a process: the parent of Python's daemon is the executor."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
