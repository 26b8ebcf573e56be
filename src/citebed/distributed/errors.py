"""Errors of Spark translated into plain sentences, for every command.

Spark reports a missing file, a worker without citebed or a lost cluster in pages of Java. citebed
says in one sentence what the user can do. The original error is the cause, which ``--debug`` shows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from citebed._version import __version__
from citebed.errors import CitebedError
from citebed.wording import printable

DEBUG = "CITEBED_DEBUG"
_LIBRARIES = {"grpc", "py4j", "pyspark"}
_PYTHON = "--spark-conf spark.pyspark.python=…, or PYSPARK_PYTHON of the server of Spark Connect"
_TROUBLES = (
    (r"No module named 'citebed[.']",
     f"the engine's workers have no citebed: install citebed {__version__} in the Python that they "
     f"run, name a Python that has it ({_PYTHON}), or ship an environment (spark.archives)"),
    (r"Can't get attribute '\w+' on <module 'citebed[.']",
     f"the engine's workers have another version of citebed: install citebed {__version__} there"),
    (r"No module named '([\w.]+)'",
     "the engine's workers have no {0} in the Python that they run: install citebed there with "
     f"what it needs, or name a Python that has it ({_PYTHON})"),
    (r"PYTHON_VERSION_MISMATCH\D+?(\d+\.\d+)\D+?(\d+\.\d+)",
     "the engine's workers run Python {0}, and this is Python {1}; both must be the same: choose "
     f"one for the workers ({_PYTHON}), or run citebed with theirs"),
    (r'Cannot run program "([^"]+)"',
     "the engine's workers find no {0}: name a Python that they have "
     f"({_PYTHON})"),
    (r"PATH_NOT_FOUND\] Path does not exist: (\S+?)\.(?:\s|$)",
     "{0}: the engine finds no such file. Give paths that its machines see"),
    (r"The length of (\S+) is \d+, which exceeds the max length allowed",
     "{0} is larger than the engine can pass to a worker (2 GB): split it (split -C 1G), or put "
     "it on a disk that all workers see"),
    (r"UnsupportedClassVersionError|Java (?:version|8|11)\b.{0,80}not supported",
     "Spark 4 needs Java 17 or later, and the Java here is older (JAVA_HOME, or java in PATH)"),
    (r"unsupported PySpark version: (\S+)",
     "Sail does not support PySpark {0} yet: install the version before it, or use Spark itself"),
    (r"All masters are unresponsive",
     "no Spark master accepts work at this address. Does it have the same version of Spark?"),
    (r"OutOfMemoryError|exit(?:ed with)? code 137",
     "a worker of the engine had too little memory: give each worker more "
     "(--spark-conf spark.executor.memory=8g, on local[N] spark.driver.memory)"),
)  # fmt: skip


def debugging() -> bool:
    """Return True if the user wants to see everything that the engine prints."""
    return bool(os.environ.get(DEBUG))


@contextmanager
def translate_errors() -> Iterator[None]:
    """Translate errors of an engine's client libraries or of the connection."""
    try:
        yield
    except Exception as error:
        modules = {each.__module__.partition(".")[0] for each in type(error).__mro__}
        if not modules & _LIBRARIES and not isinstance(error, ConnectionError):
            raise
        raise CitebedError(translate_error(error)) from error


def translate_error(
    error: BaseException, log: str = "", otherwise: str = "the engine gave up"
) -> str:
    """Return an engine's error as a sentence.

    ``log``: what the engine printed. ``otherwise``: a prefix for unexpected errors.
    """
    text = f"{error}\n{log}"
    for pattern, words in _TROUBLES:
        found = re.search(pattern, text, re.DOTALL)
        if found:
            return words.format(*map(printable, found.groups()))
    return f"{otherwise}: {reason(error)}"


def reason(error: BaseException) -> str:
    """Return the most specific line of an error, without Java's stack trace."""
    said = str(getattr(error, "desc", None) or error).strip() or type(error).__name__
    causes = re.findall(r"(?:Caused by: |Error: )([^\n]+)", said)
    return printable((causes[-1] if causes else said.splitlines()[0])[:500])
