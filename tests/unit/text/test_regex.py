"""Possessive patterns: converted ones match like native ones; all are compiled in one place."""

from __future__ import annotations

import ast
import builtins
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from re import _compiler, _parser  # type: ignore[attr-defined]
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import samples
from tests.sampling import FULL, examples

import citebed
from citebed.text import regex
from citebed.text.regex import compile_regex, convert_regex

SOURCE = Path(citebed.__file__).parent
COMMENT = r"<!--(?:[^<-]++|<(?!!--)|-(?!->))*+-->"

CASES: list[tuple[Any, ...]] = [
    (COMMENT, "<!-- a - b -->", (0, 14), ()),
    (r"(?:ab?c)*+", "a", (0, 0), ()),
    (r"(?:ab?c)++(\w)?", "abcacab", (0, 6), ("a",)),
    (r"(?:ab|a)*+b", "abab", None, ()),  # nothing is given back,
    (r"(?:a|ab){2}+c", "abac", None, ()),  # not even to a turn that must come,
    (r"(?>a|ab)c", "abc", None, ()),
    (r"(?:a?)*+b", "aab", (0, 3), ()),  # turns that take nothing are the last
    (r"x{2,3}+y", "xxxy", (0, 4), ()),
    (r"[+-9](?:[+-9]b)?+c", "++bc", (0, 4), ()),
    (r"(?P<q>['\"])((?:(?!\1).)*+)(?P=q)", "'a\"b'", (0, 5), ("'", 'a"b')),
    (r"(x)?(?:ab?c)*+(?(1)y|z)", "xabcy", (0, 5), ("x",)),
    (r"(?i:(?:ab?c)*+)A", "ABCAbcA", (0, 7), ()),
    (r"(?i)(?:é?b)*+$", "ÉbBéb", (0, 5), ()),
    ("(?x) (?: a b? c )*+  # remark\n d", "abcacd", (0, 6), ()),
    (r"a(?<=(?:a){1}+)(?:b(c)?(?!d))?+b", "abcb", (0, 4), ("c",)),
    (r"(?:[^{}]++|\{[^{}]*+\})*+\}", "a{b}c{}}", (0, 8), ()),
    (rb"(?:ab?c)*+", b"abca", (0, 3), ()),
]


@pytest.mark.parametrize("make", [compile_regex, convert_regex])
@pytest.mark.parametrize(("pattern", "text", "span", "groups"), CASES)
def test_what_is_taken_is_kept(make: Any, pattern: Any, text: Any, span: Any, groups: Any) -> None:
    found = make(pattern).match(text)
    assert (found and found.span()) == span
    assert found is None or found.groups() == groups


def test_a_converted_pattern_is_one_of_pythons_own() -> None:
    pattern = r"(?P<key>\w++)(?:=(?P<value>(?:\w|\\.)*+))?"
    made, native = convert_regex(pattern, re.IGNORECASE), re.compile(pattern, re.IGNORECASE)
    assert isinstance(made, re.Pattern)
    for told in ("pattern", "flags", "groups", "groupindex"):
        assert getattr(made, told) == getattr(native, told)
    text = r"a=b\.c, d"
    assert made.findall(text) == [("a", r"b\.c"), ("d", "")]
    assert [found.lastgroup for found in made.finditer(text)] == ["value", "key"]
    assert made.sub(r"<\g<key>>", text) == "<a>, <d>"


@pytest.mark.parametrize("turns", [0, 1, 199, 200, 201, 1000])
def test_endless_repeats_take_any_number_of_turns(turns: int) -> None:
    for pattern in (r"(?:ab?c)*+", r"(?:a|ab?c)*+", r"x(?:ab?c)++"):
        text = "x" * pattern.startswith("x") + "ac" * turns + "ab"
        native = re.match(pattern.replace("++", "+").replace("*+", "*"), text)
        made = convert_regex(pattern).match(text)
        assert (made and made.end()) == (native and native.end())


# ---- all patterns of the package

IMPORT_ALL = """
import json, re, sys
from importlib import import_module
from citebed.text import regex

regex._HAS_BUG, native, seen = False, re._compile, []

def watched(pattern, flags):
    caller = sys._getframe(2).f_code.co_filename
    if isinstance(pattern, (str, bytes)):
        text = pattern if isinstance(pattern, str) else pattern.decode("latin-1")
        seen.append([text, int(flags), isinstance(pattern, bytes), caller])
    return native(pattern, flags)

re._compile = watched
for name in sys.argv[1:]:
    try:
        import_module(name)
    except ModuleNotFoundError as error:
        if error.name != "torch":  # which only training needs
            raise
words = import_module("citebed.retrieval.analysis.words")
words._pattern(True), words._pattern(False), words._kinds()
print(json.dumps(seen))
"""


def _modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        if parts[-1] != "__main__" and "migrations" not in parts:  # which Alembic runs
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def _parts(part: Any) -> Iterator[Any]:
    """All operations in a parsed pattern, with what they work on."""
    if isinstance(part, tuple | list | _parser.SubPattern):
        if isinstance(part, tuple):
            yield part
        for each in part:
            yield from _parts(each)


def _keeps(pattern: str | bytes, flags: int = 0) -> bool:
    kinds = (_compiler.POSSESSIVE_REPEAT, _compiler.ATOMIC_GROUP)
    operations = _parts(_parser.parse(pattern, flags))
    return any(part and any(part[0] is kind for kind in kinds) for part in operations)


def _compiled(names: list[str]) -> list[tuple[str | bytes, int, str]]:
    """Every pattern that an import of these modules compiles, with its flags and the file."""
    command = [sys.executable, "-c", IMPORT_ALL, *names]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [
        (text.encode("latin-1") if is_bytes else text, flags, caller)
        for text, flags, is_bytes, caller in json.loads(done.stdout)
    ]


@pytest.fixture(scope="module")
def kept() -> list[tuple[str | bytes, int]]:
    """The patterns that citebed.text.regex compiles."""
    users = [name for name, path in _modules() if "citebed.text.regex" in path.read_text("utf-8")]
    through = {(p, f) for p, f, caller in _compiled(users) if caller == regex.__file__}
    assert len(through) > 80
    return sorted(through, key=repr)


def test_possessive_patterns_of_modules_use_citebed_text_regex() -> None:
    compiled = _compiled([name for name, _ in _modules()])
    inside = [each for each in compiled if each[2].startswith(f"{SOURCE}/")]
    assert len(inside) > 200
    past = [(p, by) for p, f, by in inside if by != regex.__file__ and _keeps(p, f)]
    assert past == []


class _Names(dict[str, Any]):
    """A module's names and built-in functions; what only a function knows is taken for a letter."""

    def __missing__(self, name: str) -> Any:
        return getattr(builtins, name, "x")


def test_possessive_patterns_in_functions_use_citebed_text_regex() -> None:
    for name, path in _modules():
        try:
            names = _Names(vars(import_module(name)))
        except ModuleNotFoundError as error:
            if error.name != "torch":  # which only training needs
                raise
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.ImportFrom(module="re"):
                    pytest.fail(f"{path}:{node.lineno}: use re.function()")
                case ast.Call(func=ast.Attribute(value=ast.Name(id="re")), args=[pattern, *_]):
                    given = eval(compile(ast.Expression(pattern), str(path), "eval"), {}, names)
                    where = f"{path}:{node.lineno}: a possessive pattern: use citebed.text.regex"
                    assert path.name == "regex.py" or not _keeps(given), where


def test_no_group_is_caught_in_a_possessive_repeat(kept: list[Any]) -> None:
    """Before 3.12.8 and 3.13.1 Python mixes up groups that several turns catch (gh-101955)."""
    for pattern, flags in kept:
        for part in _parts(_parser.parse(pattern, flags)):
            if part and part[0] is _compiler.POSSESSIVE_REPEAT and part[1][1] > 1:
                inside = [p for p in _parts(part[1][2]) if p and p[0] is _compiler.SUBPATTERN]
                assert all(each[1][0] is None for each in inside), pattern


# ---- convert_regex as native

native_is_right = pytest.mark.skipif(
    regex._HAS_BUG, reason="this Python's own possessive repeats are wrong: nothing to equal"
)


def _corpus() -> str:
    """The samples of each format; a full run adds the demo's papers and tests of such patterns."""
    written = [value.decode() for value in vars(samples).values() if isinstance(value, bytes)]
    more = sorted(Path(__file__).parent.glob("test_[lm]*.py"))
    if FULL:
        more += sorted((SOURCE / "demo" / "papers").iterdir())
        more += sorted(Path(__file__).parents[1].rglob("test_*tex*.py"))
    return "\n".join([*written, *(path.read_text("utf-8") for path in more)])


def _found(pattern: re.Pattern[Any], text: Any) -> list[Any]:
    return [(m.regs, m.lastindex, m.groupdict()) for m in pattern.finditer(text)]


@pytest.fixture(scope="module")
def pairs(kept: list[Any]) -> list[tuple[re.Pattern[Any], re.Pattern[Any]]]:
    """Each pattern of the package, native and convert_regex."""
    return [(re.compile(*each), convert_regex(*each)) for each in kept]


@native_is_right
def test_converted_patterns_find_the_same_in_the_samples(pairs: list[Any]) -> None:
    corpus = _corpus()
    for native, other in pairs:
        text = corpus.encode() if isinstance(native.pattern, bytes) else corpus
        assert _found(other, text) == _found(native, text), native.pattern


def _letters(pattern: re.Pattern[Any]) -> list[str]:
    """The characters a pattern speaks of, and some of each kind."""
    letters = set("aZé0_ \n-.,:;'\"(){}[]\\<>@=&$%~")
    for part in _parts(_parser.parse(pattern.pattern, pattern.flags)):
        if part and part[0] in (_compiler.LITERAL, _compiler.NOT_LITERAL):
            letters.add(chr(part[1]))
        elif part and part[0] is _compiler.RANGE:
            letters.update(map(chr, part[1]))
    of_bytes = isinstance(pattern.pattern, bytes)
    return sorted(letter for letter in letters if not of_bytes or letter.isascii())


@native_is_right
def test_converted_patterns_find_the_same_in_any_text(pairs: list[Any]) -> None:
    letters = [_letters(native) for native, _ in pairs]

    @settings(max_examples=examples(1000))
    @given(data=st.data())
    def check(data: Any) -> None:
        number = data.draw(st.sampled_from(range(len(pairs))))
        text = data.draw(st.text(st.sampled_from(letters[number]), max_size=40))
        native, other = pairs[number]
        given = text.encode() if isinstance(native.pattern, bytes) else text
        assert _found(other, given) == _found(native, given)
        assert other.split(given) == native.split(given)
        one, two = other.fullmatch(given), native.fullmatch(given)
        assert (one and one.regs) == (two and two.regs)

    check()
