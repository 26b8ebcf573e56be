"""Safe XML parsing: broken, hostile and odd input, and text out of elements."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sampling import examples

from citebed.collection.formats.acm_cr import ANNOTATION_XML, DOIS
from citebed.collection.formats.base import Chunk, Format
from citebed.collection.formats.jats import JATS
from citebed.collection.formats.tei import TEI
from citebed.collection.formats.xml import (
    attribute,
    child,
    children,
    descendants,
    file_stem,
    has_root,
    inner_text,
    local_name,
    open_root,
    parse_xml,
    source_line,
)
from citebed.collection.formats.xml_records import ACL_XML

ALL = (ACL_XML, ANNOTATION_XML, DOIS, TEI, JATS)


def text_of(xml: str, skip: Collection[str] = ()) -> str:
    root, problems = parse_xml(xml.encode())
    assert problems == []
    return inner_text(root, skip)


def bomb(levels: int) -> str:
    entities = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, levels))
    return f'<!DOCTYPE a [<!ENTITY e0 "boom">{entities}]>'


class TestParsing:
    def test_good_xml_has_no_problems(self) -> None:
        root, problems = parse_xml(b"<?xml version='1.0'?><!-- c --><a><?pi?><b/><!-- d --></a>")
        assert root is not None
        assert [local_name(kid) for kid in root] == ["b"]
        assert problems == []

    @pytest.mark.parametrize(
        "data", [b"", b"  \n ", b"no xml", b"\0\1\2", b"\xff\xfe", b"<", b"<!--"]
    )
    def test_nothing_to_read(self, data: bytes) -> None:
        root, problems = parse_xml(data)
        assert root is None
        assert [problem.kind for problem in problems] == ["skipped"]

    def test_truncated_xml_keeps_the_elements_before_the_cut(self) -> None:
        root, problems = parse_xml(b"<a>\n<b>one</b>\n<b>tw")
        assert [inner_text(b) for b in children(root, "b")] == ["one", "tw"]
        assert (problems[0].line, problems[0].kind) == (3, "skipped")
        assert "Premature end" in problems[0].what

    def test_stray_characters_are_repaired(self) -> None:
        root, problems = parse_xml(b"<a>x\x0by\n & z \x0c&amp; &lt;</a>")
        assert inner_text(root) == "xy & z & <"
        assert [(p.line, p.kind) for p in problems] == [(1, "mended")]
        assert "and 1 more" in problems[0].what

    def test_lone_ampersand(self) -> None:
        root, problems = parse_xml(b"<a>\nx & y, 1 &amp; 2 <![CDATA[& &lt;]]></a>")
        assert inner_text(root) == "x & y, 1 & 2 & &lt;"
        assert [(p.line, p.kind) for p in problems] == [(2, "mended")]

    def test_lines_count_from_the_start_of_the_file(self) -> None:
        _, problems = parse_xml(b"\n\n<a>\n<b></a>")
        assert problems[0].line == 4

    def test_lines_beyond_65535(self) -> None:
        root, _ = parse_xml(b"<a>" + b"\n" * 70_000 + b"<b/></a>")
        assert root is not None
        assert source_line(root[0], Chunk(b"", "x.xml", line=3)) == 70_003

    def test_undeclared_prefix_is_not_a_problem(self) -> None:
        root, problems = parse_xml(b'<a><link xlink:href=" u ">t</link></a>')
        assert problems == []
        assert attribute(next(children(root, "link")), "href") == "u"

    @pytest.mark.parametrize(
        "data",
        [
            "<?xml version='1.0' encoding='utf-8'?><a>é</a>".encode(),
            "<?xml version='1.0' encoding='ISO-8859-1'?><a>é</a>".encode("latin-1"),
            "<?xml version='1.0' encoding='UTF-16'?><a>é</a>".encode("utf-16"),
            "<?xml version='1.0' encoding='UTF-16'?><a>é</a>".encode("utf-16-be"),
            "\ufeff<?xml version='1.0' encoding='latin-1'?><a>é</a>".encode(),
            "<?xml version='1.0' encoding='no-such'?><a>é</a>".encode(),
            "<?xml version='1.0' encoding='punycode'?><a>é</a>".encode(),
        ],
    )
    def test_encodings(self, data: bytes) -> None:
        root, problems = parse_xml(data)
        assert inner_text(root) == "é"
        assert problems == []

    def test_wrong_encoding_is_read_as_windows_1252(self) -> None:
        root, problems = parse_xml(b"<?xml version='1.0' encoding='utf-8'?><a>caf\xe9 \x96</a>")
        assert inner_text(root) == "café –"
        assert [problem.kind for problem in problems] == ["mended"]

    def test_other_root(self) -> None:
        root, problems = open_root(Chunk(b"<b/>", "x.xml", line=5), "a", "c")
        assert root is None
        assert problems[0].line == 5
        assert "<b>, not <a> or <c>" in problems[0].what


class TestHostileInput:
    @pytest.mark.parametrize("content", ["&e29;", '<b c="&e29;"/>', "&e2;"])
    def test_entity_bomb_is_not_expanded(self, content: str) -> None:
        root, _ = parse_xml(f"{bomb(30)}<a>x {content} y</a>".encode())
        assert "boomboom" not in inner_text(root)

    def test_outside_files_are_not_read(self) -> None:
        doctype = '<!DOCTYPE a SYSTEM "http://localhost/x.dtd" [<!ENTITY f SYSTEM "/etc/passwd">]>'
        root, _ = parse_xml(f"{doctype}<a>&f;</a>".encode())
        assert inner_text(root) == "&f;"

    @pytest.mark.parametrize("closed", [True, False])
    def test_deep_nesting(self, closed: bool) -> None:
        data = b"<a>" * 100_000 + b"x" + b"</a>" * (100_000 if closed else 0)
        root, problems = parse_xml(data)
        assert inner_text(root) == ""
        assert len(list(descendants(root, "a"))) > 100
        assert "depth" in problems[0].what

    @pytest.mark.parametrize("form", ALL, ids=lambda form: form.name)
    def test_deep_nesting_in_every_format(self, form: Format) -> None:
        roots = {"acl-xml": "collection", "tei": "TEI", "jats": "article"}
        name = roots.get(form.name, "doc")
        body = "<text><body><div><p>" + "<s><sec><hi>" * 50_000
        records = form.parse(Chunk(f"<{name}>{body}".encode(), "deep.xml"))
        assert list(records)

    def test_deep_but_allowed(self) -> None:
        assert text_of("<a>" * 250 + "x" + "</a>" * 250) == "x"

    @settings(max_examples=examples(200), deadline=None)
    @given(st.lists(st.sampled_from([*"<>/=\"'&;aps[]!-? ", "<!--"])))
    def test_any_markup(self, pieces: list[str]) -> None:
        root, problems = parse_xml("".join(pieces).encode())
        inner_text(root)
        assert root is not None or problems
        has_root("a")("".join(pieces))


class TestText:
    def test_white_space_and_blocks(self) -> None:
        assert (
            text_of("<a><p>One.</p><p>Two<br/>lines,  <b>b</b>old.</p></a>")
            == "One. Two lines, bold."
        )

    def test_skipped_elements_keep_the_text_behind_them(self) -> None:
        assert text_of("<a>x<note>n<b>m</b></note> y</a>", skip={"note"}) == "x y"

    def test_skip_does_not_hold_for_the_element_itself(self) -> None:
        assert text_of("<note>x</note>", skip={"note"}) == "x"

    @pytest.mark.parametrize("doctype", ["", '<!DOCTYPE a PUBLIC "-//X" "x.dtd">'])
    def test_named_entities(self, doctype: str) -> None:
        assert text_of(f"{doctype}<a>caf&eacute; &alpha;&lt;<b>&beta;</b></a>") == "café α<β"

    def test_unknown_entity_stays_and_is_named(self) -> None:
        root, problems = parse_xml(b"<a>x &nosuch; y</a>")
        assert inner_text(root) == "x &nosuch; y"
        assert "nosuch" in problems[0].what

    def test_nothing(self) -> None:
        assert inner_text(None) == ""
        assert text_of("<a/>") == ""
        assert text_of("<a><![CDATA[1 < 2 &amp;]]></a>") == "1 < 2 &amp;"


class TestMathematics:
    def test_tex(self) -> None:
        assert text_of(r"<a>an <tex-math>n</tex-math>-gram</a>") == "an n-gram"
        assert text_of(r"<a><tex-math>$\alpha \leq 2$</tex-math></a>") == "α ≤ 2"
        assert text_of(r"<tex-math>\beta</tex-math>") == "β"

    def test_tex_document(self) -> None:
        tex = r"\documentclass{minimal}\usepackage{amsmath}\begin{document}$$x$$\end{document}"
        assert text_of(f"<a>so <tex-math>{tex}</tex-math>.</a>") == "so x."

    def test_mathml_before_tex(self) -> None:
        mathml = "<m:math xmlns:m='u'>\n <m:msup><m:mi>x</m:mi> <m:mn>2</m:mn></m:msup></m:math>"
        both = f"<alternatives><tex-math>y</tex-math>{mathml}</alternatives>"
        assert text_of(f"<a>area {both} here</a>") == "area x^2 here"

    @pytest.mark.parametrize(
        ("mathml", "text"),
        [
            ("<mfrac><mi>a</mi><mi>b</mi></mfrac>", "a/b"),
            ("<msubsup><mi>a</mi><mi>i</mi><mn>2</mn></msubsup>", "a_i^2"),
            ("<msqrt><mi>a</mi><mo>+</mo><mi>b</mi></msqrt>", "√(a+b)"),
            ("<mfenced><mi>a</mi><mi>b</mi></mfenced>", "(a, b)"),
            ("<semantics><mi>a</mi><annotation>TeX</annotation></semantics>", "a"),
        ],
    )
    def test_mathml(self, mathml: str, text: str) -> None:
        assert text_of(f"<math>{mathml}</math>") == text

    def test_superscripts(self) -> None:
        assert text_of("<a>n<sup>2</sup>, 1<sup>st</sup>, H<sub>2</sub>O</a>") == "n^2, 1st, H2O"
        assert text_of("<a>shown<sup><xref>3</xref></sup>.</a>") == "shown 3."
        assert text_of("<a>shown<xref><sup>3</sup></xref>.</a>") == "shown 3."


class TestHelpers:
    def test_paths_ignore_namespaces(self) -> None:
        root, _ = parse_xml(b"<a xmlns='u' xmlns:v='w'><v:b><c xml:id='k'>x</c></v:b></a>")
        found = child(root, "b", "c")
        assert inner_text(found) == "x"
        assert found is not None
        assert attribute(found, "id") == "k"
        assert attribute(found, "no") == ""
        assert child(root, "x", "y") is None
        assert list(children(None, "x")) == list(descendants(None, "x")) == []

    @pytest.mark.parametrize(
        ("source", "stem"),
        [
            ("papers/3343413.3377957.xml", "3343413.3377957"),
            ("a.tar.xz!b/c.grobid.tei.xml", "c"),
            ("a/PMC123.nxml.gz", "PMC123"),
            ("-", ""),
            ("<stdin>", ""),
            ("", ""),
        ],
    )
    def test_file_stem(self, source: str, stem: str) -> None:
        assert file_stem(source) == stem

    @pytest.mark.parametrize(
        "before",
        [
            "",
            "\ufeff",
            "\n <?xml version='1.0'?>\n<!-- <no> -->\n<?pi x?>",
            '<!DOCTYPE a PUBLIC "-//X//Y" "z.dtd">',
            '<!doctype a [<!ENTITY b "c]"> <!ELEMENT a (b)>\n]  >',
        ],
    )
    def test_root(self, before: str) -> None:
        head = before + "<x:a-b c='d'>e"
        assert has_root("y", "a-b", holding="c=")(head)
        assert not has_root("a-b", holding="f=|xml|no")(head)
        assert not has_root("b", "a")(head)

    @pytest.mark.parametrize(
        "head", ["", "text", "<!-- open", "{}", "<?xml", "<>", "< a>", "@a{b}"]
    )
    def test_no_root(self, head: str) -> None:
        assert not has_root("", "a", "open", "text")(head)


@pytest.mark.parametrize("number", ["xd800", "xDFFF", "x0000dabc", "55296", "0057343"])
def test_half_a_character_by_its_number_is_replaced(number: str) -> None:
    root, problems = parse_xml(f"<a>x &#{number}; &#233; y</a>".encode())
    assert inner_text(root) == "x � é y"
    assert len(problems) == 1
