"""Puts the pages of the documentation into the wheel, for ``citebed docs``."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent


class WithHandbook(build_py):
    """Modules and data, and a copy of the pages, which stand beside the sources."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            handbook = Path(self.build_lib) / "citebed" / "handbook"
            shutil.copytree(
                HERE / "docs",
                handbook / "docs",
                dirs_exist_ok=True,
                ignore=shutil.ignore_patterns("*.py", "__pycache__"),
            )
            for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md"):
                shutil.copy(HERE / name, handbook)


setup(cmdclass={"build_py": WithHandbook})
