"""The ACL Anthology's XML, made-up volumes and the eight real ones."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from citebed.collection.formats.base import Chunk
from citebed.collection.formats.xml_records import ACL_XML, make_anthology_id
from citebed.records import Document, Problem, Record

VOLUME = """<?xml version='1.0' encoding='UTF-8'?>
<collection id="2031.zoo">
  <volume id="long" type="proceedings">
    <meta>
      <booktitle>Proceedings of the <fixed-case>Z</fixed-case>oo Workshop</booktitle>
      <editor><first>Ada</first><last>Ape</last></editor>
      <publisher>Zoo Press</publisher>
      <month>May 3-4</month>
      <year>2031</year>
      <venue>zoo</venue>
    </meta>
    <frontmatter>
      <url hash="1">2031.zoo-long.0</url>
      <doi>10.9999/ZOO.0</doi>
    </frontmatter>
    <paper id="1">
      <title><fixed-case>B</fixed-case>ears and <tex-math>\\alpha^{2}</tex-math>:
        a <i>study</i></title>
      <author id="b"><first>Bo</first><last>van Bär</last><affiliation>Den</affiliation></author>
      <author><first>Cy</first><last>Crane</last><suffix>Jr.</suffix></author>
      <author><first/><last>Dodo</last><variant script="x"><last>D</last></variant></author>
      <author>Eli Eel</author>
      <pages>1–6</pages>
      <abstract>They eat; see <url>https://example.org/b</url>.</abstract>
      <url hash="2">2031.zoo-long.1</url>
      <doi>10.9999/Zoo.1</doi>
      <language>deu</language>
      <retracted date="2032-01-01">Wrong bears.</retracted>
    </paper>
    <paper id="2"><title>Elsewhere</title><url>https://example.org/2.pdf</url><doi>none</doi></paper>
  </volume>
</collection>
"""


def parse(xml: str | bytes, line: int = 1) -> list[Record]:
    data = xml.encode() if isinstance(xml, str) else xml
    return list(ACL_XML.parse(Chunk(data, "x.xml", line)))


def documents(records: list[Record]) -> list[Document]:
    return [record for record in records if isinstance(record, Document)]


class TestMadeUpVolumes:
    def test_paper(self) -> None:
        assert documents(parse(VOLUME))[1] == Document(
            doc_id="2031.zoo-long.1",
            type="inproceedings",
            title="Bears and α^2: a study",
            authors=("van Bär, Bo", "Crane, Jr., Cy", "Dodo", "Eel, Eli"),
            editors=("Ape, Ada",),
            year=2031,
            date="2031-05",
            venue="Proceedings of the Zoo Workshop",
            pages="1–6",
            publisher="Zoo Press",
            doi="10.9999/zoo.1",
            url="https://aclanthology.org/2031.zoo-long.1",
            abstract="They eat; see https://example.org/b.",
            language="deu",
            line=16,
        )

    def test_front_matter(self) -> None:
        front = documents(parse(VOLUME))[0]
        assert (front.doc_id, front.type, front.title) == (
            "2031.zoo-long.0",
            "proceedings",
            "Proceedings of the Zoo Workshop",
        )
        assert (front.authors, front.editors, front.doi) == ((), ("Ape, Ada",), "10.9999/zoo.0")

    def test_address_is_not_an_id(self) -> None:
        records = parse(VOLUME)
        assert documents(records)[2].doc_id == "2031.zoo-long.2"
        problem = next(record for record in records if isinstance(record, Problem))
        assert (problem.line, problem.kind) == (30, "mended")
        assert "'none'" in problem.what

    def test_lines_count_from_the_chunk(self) -> None:
        assert documents(parse(VOLUME, line=101))[1].line == 116

    @pytest.mark.parametrize(
        ("meta", "venue"),
        [
            ("<journal-title>Zoo Notes</journal-title><venue>cl</venue>", "Zoo Notes"),
            ("<venue>zoo</venue><venue>cl</venue>", "Computational Linguistics"),
            ("<booktitle>Zoo Letters, Volume 3, Issue 1</booktitle>", "Zoo Letters"),
        ],
    )
    def test_journal(self, meta: str, venue: str) -> None:
        meta += "<journal-volume>3</journal-volume><journal-issue>1-2</journal-issue>"
        paper = f"<volume id='1'><meta>{meta}</meta><paper id='7'><title>T</title></paper></volume>"
        found = documents(parse(f"<collection id='J31'>{paper}</collection>"))[0]
        assert (found.doc_id, found.type, found.venue) == ("J31-1007", "article", venue)
        assert (found.volume, found.number) == ("3", "1-2")

    def test_paper_zero_is_front_matter(self) -> None:
        xml = "<collection id='W31'><volume id='2'><paper id='0'/></volume></collection>"
        assert [(d.doc_id, d.type) for d in documents(parse(xml))] == [("W31-0200", "proceedings")]

    def test_paper_without_an_id(self) -> None:
        xml = "<collection id='W31'><volume id='2'>\n<paper/></volume></collection>"
        assert parse(xml) == [Problem(2, "a paper without an id, and no Anthology id in its url")]

    def test_truncated(self) -> None:
        records = parse(VOLUME[: VOLUME.index("<pages>")])
        assert [d.doc_id for d in documents(records)] == ["2031.zoo-long.0", "2031.zoo-long.1"]
        assert isinstance(records[0], Problem)
        assert records[0].kind == "skipped"

    @pytest.mark.parametrize("data", [b"", b"<a/>", b"\xff\xfe\x00", b"<collection"])
    def test_not_ours(self, data: bytes) -> None:
        assert [type(record) for record in parse(data)] == [Problem]

    def test_empty_collection(self) -> None:
        assert parse("<collection id='x'/>") == []


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("2020.acl", "main", "1"), "2020.acl-main.1"), (("P05", "1", "1"), "P05-1001"),
        (("W04", "1", "2"), "W04-0102"), (("W19", "50", "11"), "W19-5011"),
        (("C69", "1", "1"), "C69-0101"), (("C04", "1", "12"), "C04-1012"),
        (("D19", "1", "7"), "D19-1007"), (("D19", "52", "7"), "D19-5207"),
        (("D19", "5", "7"), "D19-0507"), (("P05", "", "1"), ""), (("P05", "x", "1"), "P05-x1"),
    ],
)  # fmt: skip
def test_anthology_id(parts: tuple[str, str, str], expected: str) -> None:
    assert make_anthology_id(*parts) == expected


# Papers, front matters, DOIs and abstracts of each file, counted with grep.
REAL = {
    "2019.iwslt.xml": (33, 0, 0, 33), "2020.acl.xml": (871, 4, 871, 871),
    "2021.cl.xml": (29, 0, 29, 25), "E06.xml": (92, 3, 0, 0), "H05.xml": (146, 2, 0, 0),
    "J05.xml": (29, 4, 20, 0), "N07.xml": (157, 5, 0, 0), "P05.xml": (134, 3, 108, 0),
}  # fmt: skip


class TestRealVolumes:
    def read(self, shared_data: Path, name: str) -> list[Document]:
        path = shared_data / "acl-anthology-sample" / name
        data = path.read_bytes()
        assert ACL_XML.sniff(data[:4096].decode(errors="replace"))
        records = list(ACL_XML.parse(Chunk(data, str(path))))
        assert [record for record in records if isinstance(record, Problem)] == []
        return documents(records)

    @pytest.mark.parametrize("name", REAL)
    def test_counts(self, shared_data: Path, name: str) -> None:
        found = self.read(shared_data, name)
        types = Counter(document.type for document in found)
        fronts = types.pop("proceedings", 0)
        with_doi, with_abstract = (
            sum(map(bool, c)) for c in zip(*((d.doi, d.abstract) for d in found), strict=True)
        )
        assert (types.total(), fronts, with_doi, with_abstract) == REAL[name]
        assert set(types) == {"article" if name in ("2021.cl.xml", "J05.xml") else "inproceedings"}
        assert len({document.doc_id for document in found}) == len(found)
        assert all(d.title and d.year and d.venue for d in found)

    def test_first(self, shared_data: Path) -> None:
        front, first = self.read(shared_data, "2020.acl.xml")[:2]
        assert (front.doc_id, front.type, front.line) == ("2020.acl-main.0", "proceedings", 17)
        assert first._replace(abstract=None) == Document(
            doc_id="2020.acl-main.1",
            type="inproceedings",
            title="Learning to Understand Child-directed and Adult-directed Speech",
            authors=("Gelderloos, Lieke", "Chrupała, Grzegorz", "Alishahi, Afra"),
            editors=("Jurafsky, Dan", "Chai, Joyce", "Schluter, Natalie", "Tetreault, Joel"),
            year=2020,
            date="2020-07",
            venue="Proceedings of the 58th Annual Meeting of the Association for Computational"
            " Linguistics",
            pages="1–6",
            publisher="Association for Computational Linguistics",
            doi="10.18653/v1/2020.acl-main.1",
            url="https://aclanthology.org/2020.acl-main.1",
            line=21,
        )
        assert first.abstract is not None
        assert first.abstract.startswith("Speech directed to children differs from")
        assert first.abstract.endswith("acoustically comparable synthetic speech.")

    def test_middle_with_mathematics(self, shared_data: Path) -> None:
        found = {d.doc_id: d for d in self.read(shared_data, "2020.acl.xml")}
        abstract = found["2020.acl-main.44"].abstract
        assert abstract is not None
        assert "follows f ∝ r^(-α)(r+γ)^(-β), where f is the" in abstract
        assert "English⇒German" in "".join(d.abstract or "" for d in found.values())
        assert "2020.acl-main.69" in found  # retracted, and kept

    def test_middle_of_a_journal(self, shared_data: Path) -> None:
        found = {d.doc_id: d for d in self.read(shared_data, "J05.xml")}
        assert found["J05-3005"] == Document(
            doc_id="J05-3005",
            type="article",
            title="Book Review: Spoken Dialogue Technology: Toward the Conversational User"
            " Interface, by Michael F. McTear",
            authors=("Pittermann, Johannes",),
            year=2005,
            date="2005",
            venue="Computational Linguistics",
            volume="31",
            number="3",
            url="https://aclanthology.org/J05-3005",
            line=187,
        )
        assert (
            found["J05-1000"].title == "Computational Linguistics, Volume 31, Number 1, March 2005"
        )

    def test_last(self, shared_data: Path) -> None:
        last = self.read(shared_data, "P05.xml")[-1]
        assert (last.doc_id, last.title) == (
            "P05-3031",
            "Reformatting Web Documents via Header Trees",
        )
        assert last.authors == ("Yoshida, Minoru", "Nakagawa, Hiroshi")
        assert (last.pages, last.doi, last.date) == (
            "121–124",
            "10.3115/1225753.1225784",
            "2005-06",
        )
        last = self.read(shared_data, "2019.iwslt.xml")[-1]
        assert (last.doc_id, last.date) == ("2019.iwslt-1.33", "2019-11")
        assert last.title.endswith("Translating Middle Egyptian Hieroglyphs")

    def test_all_of_the_sample(self, shared_data: Path) -> None:
        chunks = [
            Chunk(path.read_bytes(), str(path))
            for path in (shared_data / "acl-anthology-sample").glob("*.xml")
        ]
        assert sum(len(list(ACL_XML.parse(chunk))) for chunk in chunks) == 1512
