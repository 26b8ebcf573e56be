"""Import as a whole: what is kept, merged, set aside, skipped; again, changed, killed."""

from __future__ import annotations

import gzip
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import polars as pl
import pytest
from tests.sampling import sized

import citebed
from citebed.collection import ImportOptions, Rules, import_sources, open_collection
from citebed.collection.building.import_report import ImportReport
from citebed.errors import CitebedError, CollectionError, FormatError

BIB = r"""
@string{jds = "Journal of Demonstrations"}
@article{adams2001, author = {Adams, Ann and B{\"o}hm, Bo}, title = {On the Naming of Cats},
  journal = jds, year = 2001, month = aug, doi = {10.5072/cats.1}}
@inproceedings{chen2010, author = {Chen, Chi}, title = {Counting Sheep at Scale}, year = {2010},
  crossref = {sheep10}, abstract = {We count & count.}}
@proceedings{sheep10, title = {Proceedings of the Sheep Conference}, year = {2010},
  publisher = {Meadow Press}}
@book{dow1999, author = {Dow, Dee}, title = {A Book of Doors}, year = {1999}}
"""

XML = """<doc><id>paper-one</id><year>2005</year><title>Cats and Sheep</title><contexts>
<context id="01" section="introduction"><s>Nothing here.</s>
<s cites="1,2">Cats [1] and sheep [2].</s></context>
<context id="02" section="introduction"><s cites="3">Elsewhere [3].</s></context>
</contexts><references><reference id="1">10.5072/CATS.1</reference>
<reference id="2">chen2010</reference>
<reference id="3">https://example.org/x</reference></references></doc>
"""


def entry(number: int, words: int) -> str:
    return (
        f"@article{{k{number}, title={{Paper Number {number} of Many}}, "
        f"year={{{1950 + number % 70}}}, abstract={{{'words ' * words}{number}}}}}\n"
    )


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return folder


def do_import(target: Path, *paths: Path, **options: object) -> ImportReport:
    return import_sources(target, paths, ImportOptions(**options))  # type: ignore[arg-type]


def state(folder: Path) -> dict[str, object]:
    """Everything in a collection that does not depend on when it was made.

    A document keeps the cite key that it got first, so that depends on what came first.
    """
    collection = open_collection(folder)
    names = ("documents", "papers", "references", "contexts", "set_aside", "links", "sections")
    tables = {name: getattr(collection, name).to_dicts() for name in names}
    tables["documents"] = collection.documents.drop("cite_key").to_dicts()
    sets = {
        name: (collection.queries(name).to_dicts(), collection.qrels(name).table.to_dicts())
        for name in collection.query_sets
    }
    return {**tables, "sets": sets, "files": collection.files.to_dicts()}


def test_documents_papers_queries_and_qrels(tmp_path: Path) -> None:
    write(tmp_path / "in", refs__bib=BIB, paper__xml=XML)
    report = do_import(tmp_path / "c", tmp_path / "in")
    collection = citebed.open(tmp_path / "c")
    assert (report.records, report.documents, report.papers) == (4, 4, 1)
    cats = collection.document("adams2001")
    assert cats.authors == ("Adams, Ann", "Böhm, Bo")
    assert (cats.venue, cats.date, cats.doi) == (
        "Journal of Demonstrations",
        "2001-08",
        "10.5072/cats.1",
    )
    assert "jds" not in (cats.bibtex or "")
    assert "Journal of Demonstrations" in (cats.bibtex or "")
    sheep = collection.document("chen2010")
    assert (sheep.venue, sheep.publisher) == ("Proceedings of the Sheep Conference", "Meadow Press")
    assert sheep.abstract == "We count & count."
    assert collection.query_sets == ("paragraphs", "sentences")
    paragraphs = collection.queries("paragraphs")
    assert paragraphs["query_id"].to_list() == ["paper-one:01"]
    assert paragraphs["text"][0] == "Nothing here. Cats [1] and sheep [2]."
    assert collection.qrels("paragraphs").table.rows() == [
        ("paper-one:01", "adams2001", 1),
        ("paper-one:01", "chen2010", 1),
    ]
    assert collection.qrels("sentences").table["query_id"].unique().to_list() == ["paper-one:01.2"]
    assert (tmp_path / "c/qrels/paragraphs.qrels").read_text().splitlines()[0] == (
        "paper-one:01 0 adams2001 1"
    )


def test_rules_set_records_aside_with_their_reason(tmp_path: Path) -> None:
    text = BIB + "@article{s1, title={Session 3: Doors}, year={2001}}\n"
    text += "@article{s2, title={Session 4: Doors}, abstract={But this is a paper.}, year={2001}}\n"
    write(tmp_path / "in", refs__bib=text)
    rules = Rules(types=("article",), exclude=("10.5072/CATS.1",), front_matter="sessions")
    report = do_import(tmp_path / "c", tmp_path / "in", rules=rules)
    assert report.documents == 1
    assert report.set_aside == {
        "type inproceedings": 1, "type proceedings": 1, "type book": 1,
        "on the exclusion list": 1, "session heading": 1,
    }  # fmt: skip
    assert open_collection(tmp_path / "c").rules == rules


def test_rules_stay_with_the_collection_and_can_be_changed_without_the_sources(
    tmp_path: Path,
) -> None:
    write(tmp_path / "in", refs__bib=BIB)
    do_import(tmp_path / "c", tmp_path / "in", rules=Rules(types=("book",)))
    shutil.rmtree(tmp_path / "in")
    assert do_import(tmp_path / "c").documents == 1
    assert do_import(tmp_path / "c", rules=Rules()).documents == 4


def test_same_document_from_several_sources_is_one_record_with_the_richest_fields(
    tmp_path: Path,
) -> None:
    mine = (
        "@misc{mine, title={On the naming of cats.}, author={Adams, A.}, year=2001, "
        "keywords={cats, names}}"
    )
    other = (
        "@article{theirs, title={The Naming of Cats}, doi={https://doi.org/10.5072/Cats.1}, "
        "abstract={All about cats.}}"
    )
    write(tmp_path / "in", a__bib=BIB, b__bib=mine, c__bib=other)
    report = do_import(tmp_path / "c", tmp_path / "in")
    assert (report.records, report.documents, report.merged) == (6, 4, 2)
    document = open_collection(tmp_path / "c").document("mine")
    assert document.doc_id == "adams2001"
    assert document.keywords == ("cats", "names")
    assert document.abstract == "All about cats."
    row = (
        open_collection(tmp_path / "c")
        .documents.filter(pl.col("doc_id") == "adams2001")
        .row(0, named=True)
    )
    assert (row["records"], row["aliases"]) == (3, ["mine", "theirs"])
    assert "abstract = {All about cats.}" in row["bibtex"]


def test_different_dois_are_different_documents_whatever_the_title(tmp_path: Path) -> None:
    text = "".join(
        f"@article{{k{n}, title={{The Same Title Twice}}, author={{Doe, J}}, year=2000, "
        f"doi={{10.5072/x{n}}}}}\n"
        for n in range(2)
    )
    write(tmp_path / "in", a__bib=text)
    assert do_import(tmp_path / "c", tmp_path / "in").documents == 2


def test_one_key_for_two_documents_keeps_both(tmp_path: Path) -> None:
    write(
        tmp_path / "in",
        a__bib="@article{k, title={First Paper of All}, year=2000}",
        b__bib="@article{k, title={Second Paper of All}, year=2001}",
    )
    do_import(tmp_path / "c", tmp_path / "in")
    assert open_collection(tmp_path / "c").documents["doc_id"].to_list() == ["k", "k-2"]


def test_no_future_excludes_documents_later_than_the_citing_paper(tmp_path: Path) -> None:
    write(tmp_path / "in", refs__bib=BIB, paper__xml=XML)
    do_import(tmp_path / "c", tmp_path / "in", rules=Rules(no_future=True))
    collection = open_collection(tmp_path / "c")
    assert collection.qrels("paragraphs").table["doc_id"].to_list() == ["adams2001"]
    assert collection.queries("paragraphs")["before"].to_list() == ["2005"]


def test_a_citing_paper_is_never_an_answer_to_itself(tmp_path: Path) -> None:
    xml = XML.replace("<id>paper-one</id>", "<doi>10.5072/cats.1</doi>")
    write(tmp_path / "in", refs__bib=BIB, paper__xml=xml)
    do_import(tmp_path / "c", tmp_path / "in")
    collection = open_collection(tmp_path / "c")
    assert collection.qrels("paragraphs").table["doc_id"].to_list() == ["chen2010"]
    assert collection.queries("paragraphs")["exclude"].to_list() == [["adams2001"]]
    assert collection.papers["doc_id"].to_list() == ["adams2001"]


def test_unchanged_sources_are_skipped_and_changed_ones_replaced(tmp_path: Path) -> None:
    write(tmp_path / "in", a__bib=BIB, b__bib="@article{x, title={An Unrelated Thing}, year=2003}")
    do_import(tmp_path / "c", tmp_path / "in")
    again = do_import(tmp_path / "c", tmp_path / "in")
    assert (again.files, again.unchanged, again.documents) == (2, 2, 5)
    (tmp_path / "in/b.bib").write_text("@article{y, title={Something Else Now}, year=2004}")
    changed = do_import(tmp_path / "c", tmp_path / "in")
    assert (changed.unchanged, changed.documents) == (1, 5)
    ids = set(open_collection(tmp_path / "c").documents["doc_id"])
    assert "y" in ids
    assert "x" not in ids


def test_the_same_content_under_another_name_is_not_read_twice(tmp_path: Path) -> None:
    write(tmp_path / "in", a__bib=BIB)
    do_import(tmp_path / "c", tmp_path / "in")
    shutil.copytree(tmp_path / "in", tmp_path / "copy")
    assert do_import(tmp_path / "c", tmp_path / "copy").unchanged == 1


def test_a_copy_is_read_when_its_original_is_gone_or_changed(tmp_path: Path) -> None:
    source = write(tmp_path / "in", a__bib=BIB, b__bib=BIB)
    documents = do_import(tmp_path / "c", source).documents
    (source / "a.bib").write_text("@article{other, title={Another}}")
    assert do_import(tmp_path / "c", source).documents == documents + 1
    shutil.copy(source / "b.bib", source / "c.bib")
    (source / "b.bib").unlink()
    assert do_import(tmp_path / "c", source, prune=True).documents == documents + 1


def test_repeated_imports_report_each_problem_once(tmp_path: Path) -> None:
    source = write(
        tmp_path / "in", a__qrels="1 0 d 1\n1 0 d 2\n1 0 e 1\n", b__bib="% nothing\n@string{a={b}}"
    )
    os.mkfifo(source / "pipe")
    first = do_import(tmp_path / "c", source).problems
    assert sorted(Path(name).name for name in first["source"]) == ["a.qrels", "b.bib", "pipe"]
    assert do_import(tmp_path / "c", source).problems.sort("source").equals(first.sort("source"))


def test_a_source_that_is_gone_is_kept_unless_pruned(tmp_path: Path) -> None:
    write(tmp_path / "in", a__bib=BIB, b__bib="@article{x, title={An Unrelated Thing}, year=2003}")
    do_import(tmp_path / "c", tmp_path / "in")
    (tmp_path / "in/b.bib").unlink()
    report = do_import(tmp_path / "c", tmp_path / "in")
    assert (report.documents, len(report.missing)) == (5, 1)
    assert do_import(tmp_path / "c", tmp_path / "in", prune=True).documents == 4


def test_step_by_step_gives_the_same_as_all_at_once(tmp_path: Path) -> None:
    duplicate = (
        "@misc{mine, title={On the naming of cats}, author={Adams, A.}, year=2001, note={n}}"
    )
    source = write(
        tmp_path / "in", a__bib="@misc{old, title={Old News Today}}", b__bib=duplicate, p__xml=XML
    )
    do_import(tmp_path / "steps", source)
    (source / "a.bib").write_text(BIB)
    do_import(tmp_path / "steps", source)
    (source / "z.bib").write_text(
        "@article{z, title={A Late Arrival}, doi={10.5072/cats.1}, pages={1--2}}"
    )
    do_import(tmp_path / "steps", source)
    do_import(tmp_path / "once", source)
    assert state(tmp_path / "steps") == state(tmp_path / "once")


def test_archives_are_read_as_they_are(tmp_path: Path) -> None:
    plain = write(tmp_path / "plain", a__bib=BIB, p__xml=XML)
    folder = tmp_path / "packed"
    folder.mkdir()
    (folder / "a.bib.gz").write_bytes(gzip.compress((plain / "a.bib").read_bytes()))
    with tarfile.open(folder / "p.tar.xz", "w:xz") as archive:
        archive.add(plain / "p.xml", "../../climbing/p.xml")
    with zipfile.ZipFile(folder / "z.zip", "w") as archive:
        archive.writestr("/etc/more.bib", "@article{m, title={More of the Same}, year=2002}")
    report = do_import(tmp_path / "c", folder)
    assert (report.documents, report.papers) == (5, 1)
    sources = set(open_collection(tmp_path / "c").documents["source"]) | set(
        open_collection(tmp_path / "c").papers["source"]
    )
    assert {source.partition("!")[2] for source in sources} == {
        "",
        "climbing/p.xml",
        "etc/more.bib",
    }


def test_problems_are_counted_located_and_kept(tmp_path: Path) -> None:
    text = (
        "@article{good, title={A Good One}}\n\n"
        "@article{bad, author = {Nobody\n\n"
        "@article{fine, title={Fine}}\n"
    )
    write(tmp_path / "in", a__bib=text, notes__txt="nothing of ours")
    report = do_import(tmp_path / "c", tmp_path / "in")
    assert report.documents == 2
    problems = report.problems.sort("kind").rows(named=True)
    assert [(row["kind"], row["line"]) for row in problems] == [("ignored", 1), ("skipped", 3)]
    assert any(label.startswith("skipped 1") for label, _ in report.lines())
    assert open_collection(tmp_path / "c").problems.height == 2


def test_strict_refuses_and_leaves_everything_as_it_was(tmp_path: Path) -> None:
    write(tmp_path / "in", a__bib=BIB)
    do_import(tmp_path / "c", tmp_path / "in")
    before = state(tmp_path / "c")
    write(tmp_path / "in", b__bib="@article{bad, author = {Nobody")
    with pytest.raises(FormatError, match=r"b\.bib:1: .*--strict"):
        do_import(tmp_path / "c", tmp_path / "in", strict=True)
    assert state(tmp_path / "c") == before


def test_clear_errors(tmp_path: Path) -> None:
    with pytest.raises(CitebedError, match="no such file or folder"):
        do_import(tmp_path / "c", tmp_path / "nowhere")
    assert not (tmp_path / "c").exists()
    with pytest.raises(CitebedError, match="nothing to import"):
        do_import(tmp_path / "c")
    with pytest.raises(CollectionError, match="there is no collection"):
        open_collection(tmp_path / "c")
    (tmp_path / "c").mkdir()
    with pytest.raises(CollectionError, match="is not a collection"):
        open_collection(tmp_path / "c")
    (tmp_path / "c/citebed.toml").write_text("format = 99")
    with pytest.raises(CollectionError, match="format 99"):
        open_collection(tmp_path / "c")


def test_a_damaged_table_is_reported(tmp_path: Path) -> None:
    write(tmp_path / "in", a__bib=BIB)
    do_import(tmp_path / "c", tmp_path / "in")
    (tmp_path / "c/documents.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(CollectionError, match=r"documents\.parquet is damaged"):
        _ = open_collection(tmp_path / "c").documents


def test_workers_and_one_process_give_the_same(tmp_path: Path) -> None:
    entries = [entry(n, 2000) for n in range(700)]  # large enough for worker processes
    source = write(tmp_path / "in", a__bib="@string{j = {The Journal}}\n" + "".join(entries[:350]))
    (source / "b.bib").write_text(
        "".join(entries[350:]) + "@article{last, title={The Last}, journal = j}"
    )
    one = do_import(tmp_path / "one", source, workers=1)
    two = do_import(tmp_path / "two", source, workers=2)
    assert one.documents == two.documents == 701
    assert state(tmp_path / "one") == state(tmp_path / "two")


def test_two_imports_at_once_are_refused(tmp_path: Path) -> None:
    from citebed.collection.storing import store

    write(tmp_path / "in", a__bib=BIB)
    with (
        store.lock_collection(tmp_path / "c"),
        pytest.raises(CollectionError, match="another citebed"),
    ):
        do_import(tmp_path / "c", tmp_path / "in")


KILLED_IMPORTS = sized(6, 50)


def test_killed_at_any_moment_the_previous_or_the_next_state_is_whole(tmp_path: Path) -> None:
    entries = "".join(entry(n, 20) for n in range(3000))
    source = write(tmp_path / "in", a__bib=entries, p__xml=XML, c__bib=BIB)
    do_import(tmp_path / "c", source)
    sizes = {3004, 3005}
    started = time.monotonic()
    _run_import(tmp_path / "c", source).wait()
    whole = time.monotonic() - started
    seen = set()
    for number in range(KILLED_IMPORTS):
        extra = "@article{extra, title={An Extra Paper}}" if number % 2 else "% nothing\n" * number
        (source / "a.bib").write_text(entries + extra)
        process = _run_import(tmp_path / "c", source)
        time.sleep(whole * number / KILLED_IMPORTS)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        collection = open_collection(tmp_path / "c")
        assert collection.documents.height in sizes
        assert collection.qrels("paragraphs").table.height == 2
        assert collection.contexts.height == 3
        seen.add(collection.documents.height)
    assert do_import(tmp_path / "c", source).documents == 3005
    assert not (tmp_path / "c/.staging").exists()


def _run_import(target: Path, source: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "citebed", "import", str(target), str(source), "--quiet"]
    return subprocess.Popen(command, start_new_session=True)


def test_a_parent_imported_later_still_lends_its_fields(tmp_path: Path) -> None:
    child = "@inproceedings{chen2010, title={Counting Sheep at Scale}, crossref={sheep10}}"
    parent = "@proceedings{sheep10, title={Proceedings of the Sheep Conference}, year=2010}"
    do_import(tmp_path / "c", write(tmp_path / "one", a__bib=child))
    assert open_collection(tmp_path / "c").document("chen2010").venue is None
    do_import(tmp_path / "c", write(tmp_path / "two", b__bib=parent))
    document = open_collection(tmp_path / "c").document("chen2010")
    assert (document.venue, document.year) == ("Proceedings of the Sheep Conference", 2010)


def test_a_reference_list_waits_for_its_paper_and_outlives_a_change_of_it(tmp_path: Path) -> None:
    source = write(tmp_path / "in", refs__bib=BIB, p__dois="[3]\t10.5072/cats.1\n[1]\tNone\n")
    do_import(tmp_path / "c", source)
    xml = XML.replace("https://example.org/x", "None")
    for text in (xml, xml.replace("Elsewhere", "Somewhere")):
        write(source, p__xml=text)
        do_import(tmp_path / "c", source)
        references = open_collection(tmp_path / "c").references
        assert references.filter(pl.col("ref_id") == "3")["doc_id"].to_list() == ["adams2001"]
        assert references.height == 3


def test_what_only_passed_over_is_read_without_it(tmp_path: Path) -> None:
    source = write(tmp_path / "in", refs__bib=BIB, paper__xml=XML)
    assert do_import(tmp_path / "c", source, only=("*.bib",)).papers == 0
    assert do_import(tmp_path / "c", source, only=("*.bib",)).unchanged == 2
    assert do_import(tmp_path / "c", source).papers == 1


def test_strict_ignores_problems_of_earlier_imports(tmp_path: Path) -> None:
    broken = "@misc{x, title={Some Other Paper}}\n@article{bad, author = {Nobody"
    do_import(tmp_path / "c", write(tmp_path / "bad", a__bib=broken))
    good = write(tmp_path / "good", b__bib=BIB)
    assert do_import(tmp_path / "c", good, strict=True).documents == 5


def test_ids_of_given_queries_and_judgements_have_no_blanks(tmp_path: Path) -> None:
    lines = (
        '{"doc_id": "d 1", "title": "A Document of Ours"}\n',
        '{"query_id": "q 1", "text": "a document"}\n',
        '{"query_id": "q 1", "doc_id": "d 1", "relevance": 1}\n',
    )
    source = write(tmp_path / "in", d__jsonl=lines[0], q__jsonl=lines[1], j__jsonl=lines[2])
    do_import(tmp_path / "c", source)
    collection = open_collection(tmp_path / "c")
    (name,) = collection.query_sets
    assert collection.queries(name)["query_id"].to_list() == ["q_1"]
    assert collection.qrels(name).table.rows() == [("q_1", "d_1", 1)]
    assert collection.documents["doc_id"].to_list() == ["d_1"]


def test_full_texts_of_two_documents_under_one_id_stay_apart(tmp_path: Path) -> None:
    line = '{{"doc_id": "1", "title": "{0}", "sections": [{{"heading": "", "text": "{0}"}}]}}\n'
    source = write(
        tmp_path / "in",
        a__jsonl=line.format("First of All Papers"),
        b__jsonl=line.format("Second of All Papers"),
    )
    for _ in range(2):
        do_import(tmp_path / "c", source)
        texts = {
            document.doc_id: [section.text for section in document.sections]
            for document in open_collection(tmp_path / "c").iter_documents(full_text=True)
        }
        assert texts == {"1": ["First of All Papers"], "1-2": ["Second of All Papers"]}
    write(source, a__jsonl="% nothing of ours\n")
    do_import(tmp_path / "c", source)
    assert open_collection(tmp_path / "c").documents["doc_id"].to_list() == ["1"]
