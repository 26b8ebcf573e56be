"""``citebed annotate``: files that import reads, links to documents, GROBID, bad input."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.commands import Run
from tests.pdfs import SMALL_PAPER

import citebed
from citebed.papers.annotation import Annotation

BIB = """@article{ash, title={Places where large trees grow and others do not},
author={Ash, D.}, year={2002}, doi={10.1145/2.2}}
@article{other, title={Rivers of the south}, author={Pond, F.}, year={1999}}"""

TEI = """<?xml version="1.0"?><TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc>
<titleStmt><title>On the Growth of Elms</title></titleStmt></fileDesc></teiHeader><text><body>
<div><head n="1">Introduction</head><p>Elms are old <ref type="bibr" target="#b0">[1]</ref>. They
grow.</p></div><div><head>Methods</head><p>We dug <ref type="bibr" target="#b0">[1]</ref>.</p></div>
</body><back><div><listBibl><biblStruct xml:id="b0"><analytic><title level="a">Places where large
trees grow and others do not</title><author><persName><surname>Ash</surname></persName></author>
</analytic><monogr><imprint><date when="2002"/></imprint></monogr></biblStruct></listBibl></div>
</back></text></TEI>"""


@pytest.fixture
def run(command: Run) -> Run:
    Path("elms.pdf").write_bytes(SMALL_PAPER)
    Path("trees.bib").write_text(BIB)
    return command


def sentences(path: str) -> list[tuple[str | None, str]]:
    root = ElementTree.parse(path).getroot()
    return [(s.get("cites"), s.text or "") for s in root.iter("s")]


def test_what_is_written_is_what_import_reads(run: Run) -> None:
    code, out, err = run("annotate", "elms.pdf", "-o", "out")
    assert (code, err) == (0, "")
    assert out.startswith("elms.pdf: 1 paragraph with 2 citing sentences of 2, 3 references, 3 ")
    first, second = sentences("out/elms.xml")
    assert first[0] == "1,2,3"
    assert first[1].startswith("Trees have been studied since people had gardens [1, 2]")
    assert second[0] == "2"
    assert Path("out/elms.dois").read_text().split("\n")[1] == "[2]\t10.1145/2.2"
    assert run("import", "c", "trees.bib", "out", "--json")[0] == 0
    found = citebed.open("c")
    assert found.queries("sentences").height == 2
    assert found.qrels("sentences").table["doc_id"].to_list() == ["ash", "ash"]


def test_references_are_linked_to_documents(run: Run) -> None:
    code, out, _ = run("annotate", "elms.pdf", "-o", "out", "--against", "trees.bib", "--json")
    assert code == 0
    (row,) = json.loads(out)
    assert (row["references"], row["linked"], row["unread"]) == (3, 1, False)
    made = citebed.annotate("elms.pdf", against="trees.bib")
    assert [each.doc_id for each in made.references] == [None, "ash", None]
    assert made.title == "On the Growth of Elms"
    assert made.references[0].boxes[0].page == 0


def test_only_sections_that_are_wanted(run: Run) -> None:
    assert run("annotate", "elms.pdf", "-o", "out", "--sections", "methods")[0] == 0
    assert sentences("out/elms.xml") == []
    assert run("annotate", "elms.pdf", "-o", "out", "--sections", "all")[0] == 0
    assert len(sentences("out/elms.xml")) == 2


def test_one_bad_file_does_not_stop_the_others(run: Run) -> None:
    Path("page.pdf").write_text("<html>404</html>")
    code, out, err = run("annotate", "page.pdf", "elms.pdf", "-o", "out")
    assert code == 1
    assert "elms.pdf: 1 paragraph" in out
    assert err.startswith("citebed: page.pdf: ")
    assert sorted(path.name for path in Path("out").iterdir()) == [
        *("elms.dois", "elms.review.json", "elms.xml"),
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("elms.pdf",), "no output folder"),
        (("elms.pdf", "-o", "out", "--sections", ","), "--sections is empty"),
        (("elms.pdf", "--review"), "takes exactly one folder"),
        (("elms.pdf", "-o", "out", "--against", "no.bib"), "no such file"),
        (("elms.pdf", "-o", "out", "--grobid", "http://127.0.0.1:9"), "cannot be reached"),
        (("elms.pdf", "-o", "out", "--grobid", "x"), "cannot be reached"),
    ],
)
def test_bad_input_is_explained(run: Run, words: tuple[str, ...], said: str) -> None:
    code, _, err = run("annotate", *words)
    assert code in (1, 2)
    assert said in err
    assert not Path("out").exists()


def test_two_papers_of_one_name_are_reported(run: Run) -> None:
    Path("more").mkdir()
    Path("more/elms.pdf").write_bytes(SMALL_PAPER)
    code, _, err = run("annotate", "elms.pdf", "more/elms.pdf", "-o", "out")
    assert code == 1
    assert "two input files have the name elms" in err
    assert not Path("out").exists()


@pytest.fixture
def grobid() -> Iterator[str]:
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            fine = self.path == "/api/processFulltextDocument" and b"%PDF-" in body
            self.send_response(200 if fine else 500)
            self.end_headers()
            self.wfile.write(TEI.encode() if fine else b"")

        def log_message(self, *_: object) -> None:
            """Nothing is logged."""

    server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_grobid_server_reads_to_the_same_records(run: Run, grobid: str) -> None:
    made = citebed.annotate("elms.pdf", against="trees.bib", grobid=grobid)
    assert isinstance(made, Annotation)
    assert [(s.text, s.cites) for c in made.contexts for s in c.sentences] == [
        ("Elms are old [1].", ("b0",)),
        ("They grow.", ()),
    ]
    assert [each.doc_id for each in made.references] == ["ash"]
    code, _, err = run("annotate", "elms.pdf", "-o", "out", "--grobid", grobid)
    assert (code, err) == (0, "")
    Path("none.pdf").write_bytes(b"no paper")
    assert "did not read none.pdf" in run("annotate", "none.pdf", "-o", "o", "--grobid", grobid)[2]


def test_nothing_is_sent_away_offline(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEBED_OFFLINE", "1")
    code, _, err = run("annotate", "elms.pdf", "-o", "out", "--grobid", "http://grobid.example")
    assert code == 1
    assert "the network is switched off" in err
