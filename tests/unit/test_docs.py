"""The reference pages name what the code has, and nothing else."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from citebed.cli.app import VERBS, build, parse_words
from citebed.collection import Rules, profiles, tables
from citebed.collection.exporting import EXPORTERS
from citebed.collection.formats import FORMATS
from citebed.collection.lint import CHECKS
from citebed.collection.tables import QRELS, QUERIES
from citebed.evaluation.measures import MEASURES
from citebed.pages.keys import KEYS
from citebed.report.evaluation_tables import measure_page
from citebed.retrieval.models import MODELS

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [*sorted((REPOSITORY / "docs").rglob("*.md")), REPOSITORY / "README.md"]
TABLES = {
    "documents": tables.DOCUMENTS,
    "papers": tables.PAPERS,
    "references": tables.REFERENCES,
    "contexts": tables.CONTEXTS,
    "links": tables.LINKS,
    "sections": tables.SECTIONS,
    "Queries and judgements": {**QUERIES, **QRELS},
    "import/": {**tables.SOURCES, **tables.PROBLEMS, **tables.TOPICS, **tables.JUDGEMENTS},
}
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SHELL = ("", "sh", "bash", "shell", "console", "text")
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def read(name: str) -> str:
    return (REPOSITORY / "docs" / f"{name}.md").read_text("utf-8")


def section(text: str, heading: str) -> str:
    """Return the text under a heading, up to the next heading of its level or above."""
    start = re.search(rf"^(#+) {re.escape(heading)}$", text, re.MULTILINE)
    assert start is not None, f"no heading '{heading}'"
    rest = text[start.end() :]
    end = re.search(rf"^#{{1,{len(start[1])}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def first_cells(text: str) -> list[str]:
    """The names in the first column of the tables of a text."""
    return re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)


def named(text: str) -> set[str]:
    return set(re.findall(r"`([^`\n]+)`", text))


@pytest.mark.parametrize("table", TABLES)
def test_every_column_is_in_the_data_model(table: str) -> None:
    assert set(TABLES[table]) <= named(section(read("datamodel"), table))


def test_every_column_of_what_was_set_aside_is_in_the_data_model() -> None:
    assert set(tables.SET_ASIDE) <= named(read("datamodel"))
    own = set(tables.SET_ASIDE) - set(tables.DOCUMENTS)
    assert own <= named(section(read("datamodel"), "import/"))


def test_the_formats_read_are_those_of_the_table() -> None:
    assert sorted(first_cells(section(read("formats"), "Reading"))) == sorted(FORMATS)


def test_formats_that_are_read_whole_are_named() -> None:
    sizes = section(read("formats"), "Sizes")
    whole = next(line for line in sizes.split("\n") if "are read whole" in line)
    assert named(whole) == {name for name, format in FORMATS.items() if format.split is None}


def test_the_forms_written_are_those_of_the_table() -> None:
    assert first_cells(section(read("formats"), "Writing")) == list(EXPORTERS)


def test_the_rules_are_those_of_the_class() -> None:
    fields = {field.name for field in dataclasses.fields(Rules)}
    assert set(first_cells(section(read("rules"), "The rules"))) == fields
    for name in fields:
        assert f"- **`{name}`**" in read("rules")


def test_the_profiles_are_those_that_come_with_citebed() -> None:
    assert first_cells(section(read("rules"), "Profiles")) == profiles()


def test_the_checks_and_their_severities_are_those_of_the_table() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| (\w+) \|", read("lint"), re.MULTILINE)
    assert rows == [(check.name, check.severity) for check in CHECKS.values()]


def test_the_glossary_has_fewer_than_60_terms_with_one_sentence_each() -> None:
    rows = re.findall(r"^\| (.+) \| (.+) \|$", read("glossary"), re.MULTILINE)
    terms = [row for row in rows if row != ("term", "meaning")]
    assert 40 < len(terms) < 60
    assert len({term for term, _ in terms}) == len(terms)
    assert all(meaning.endswith(".") and ". " not in meaning for _, meaning in terms)


def test_the_page_of_models_has_a_section_for_each() -> None:
    headings = re.findall(r"^### (.+)$", section(read("models"), "Models"), re.MULTILINE)
    assert headings == list(MODELS)


@pytest.mark.parametrize("names", [MEASURES, MODELS, FORMATS], ids=["measure", "model", "format"])
def test_each_is_named_in_a_test(names: dict[str, object]) -> None:
    paths = (REPOSITORY / "tests").rglob("*.py")
    texts = [path.read_text("utf-8") for path in paths if path.name != "test_how_to.py"]
    words = {word for text in texts for word in re.findall(r"[\w-]+", text)}
    assert set(names) - words == set(), "these have no test"


@pytest.mark.parametrize("page", ["measures", "models", "formats"])
def test_the_glossary_links_to_the_lists(page: str) -> None:
    assert f"({page}.md)" in read("glossary")


# --- all pages ------------------------------------------------------------------------------


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every ``citebed`` command of a fenced block: its page, and its words. The page of help texts
    has sentences only, whose lines may begin with any word."""
    for page in (page for page in PAGES if page.name != "commands.md"):
        for language, block in _FENCE.findall(page.read_text("utf-8")):
            for line in block.replace("\\\n", " ").split("\n"):
                if language in _SHELL and "citebed " in line:
                    yield from ((page.name, words) for words in citebed_words(line))


def citebed_words(line: str) -> Iterator[list[str]]:
    """The words after ``citebed`` of each command of a shell line, redirections left out."""
    lexer = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if set(word) <= set("();<>|&"):
            if words[:1] == ["citebed"]:
                yield words[1:]
            words = []
        else:
            words.append(word)


@pytest.fixture(scope="session")
def verbs() -> dict[str, Any]:
    """Every verb by its name."""
    made = {name: typer.main.get_command(build(name)) for name in VERBS}
    return {name: of.commands[name] for name, of in made.items()}  # type: ignore[attr-defined]


@pytest.mark.parametrize(("page", "words"), list(commands()))
def test_every_command_parses(page: str, words: list[str], verbs: dict[str, Any]) -> None:
    if words and words[0].startswith("-"):
        assert words[0] in ("--help", "-h", "--version"), page
        return
    words, _ = parse_words(words)
    assert words, page
    assert words[0] in verbs, page
    if {"--help", "-h"}.isdisjoint(words):
        verbs[words[0]].make_context(words[0], words[1:])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_relative_links_lead_somewhere(page: Path) -> None:
    for target in _LINK.findall(_FENCE.sub("", page.read_text("utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        other = (page.parent / name) if name else page
        assert other.exists(), target
        if anchor:
            assert anchor in anchors(other.read_text("utf-8")), target


def anchors(text: str) -> set[str]:
    """The names that a reader of Markdown gives to the headings."""
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings}


def test_the_command_reference_is_what_the_commands_say() -> None:
    spec = importlib.util.spec_from_file_location("build", REPOSITORY / "docs" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    assert read("commands") == build.command_reference()


def test_the_page_of_measures_is_what_the_measures_say() -> None:
    assert read("measures") == measure_page()


def test_every_key_is_documented_with_its_one_meaning() -> None:
    rows = re.findall(
        r"^\| (`.+?`) \| ([^|]+) \|", section(read("workbench"), "Keys"), re.MULTILINE
    )
    found = [(key, means) for keys, means in rows for key in re.findall(r"`([^`]+)`", keys)]
    assert dict(found) == KEYS
    assert len(found) == len(KEYS)


@pytest.mark.parametrize("page", ["workbench", "judging", "review"])
def test_tables_of_keys_name_keys_that_there_are(page: str) -> None:
    tables = re.findall(r"^\|.*\bkey \|.*\n((?:\|.*\n)+)", read(page), re.MULTILINE)
    cells = re.split(r" ?\| ?|\n", "\n".join(tables))
    alone = [cell for cell in cells if "`" in cell and not re.sub(r"`[^`]+`|,|to| ", "", cell)]
    keys = {key for cell in alone for key in named(cell)}
    assert len(keys) > 5
    assert keys - KEYS.keys() == set()
