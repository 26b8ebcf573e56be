"""Every reader as a target: for a damaged file, it returns valid values or raises a CitebedError.

If there are two ways to the same values (fast and careful, plain and packed, the readers of two
packages), both must return the same values, or both must refuse.
"""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from tests.accounting import parsed
from tests.fuzz.bases import MODELS, go_on
from tests.fuzz.cases import Case
from tests.fuzz.damage import damaged
from tests.fuzz.soundness import check, line_count
from tests.fuzz.wellformed import MADE, NEIGHBOURS, gzipped
from tests.samples import SAMPLES

from citebed.collection import load_profile, open_collection, read_exclusions
from citebed.collection.formats import FORMATS, Chunk, recognise
from citebed.collection.names import unique_names
from citebed.drafts import pieces, read_draft
from citebed.errors import CitebedError
from citebed.evaluation.judgements.cocitation import from_file
from citebed.evaluation.measures.names import measure
from citebed.files.input_files import is_compressed
from citebed.files.input_files import read_lines as small_lines
from citebed.judging.papers import read_papers
from citebed.judging.returns import read_form, read_parts
from citebed.retrieval.analysis import analyser_of
from citebed.retrieval.encoders.graph import read_safetensors
from citebed.retrieval.execution.runner import RunOptions, run_queries
from citebed.retrieval.index.citation_contexts import load_contexts
from citebed.retrieval.index.index import open_index
from citebed.retrieval.pipeline import parse_pipeline
from citebed.retrieval.recommend.recommender import Recommender
from citebed.retrieval.search.feedback import read_judged as read_feedback
from citebed.retrieval.search.fields import fields_of
from citebed.retrieval.search.queries import read_queries
from citebed.retrieval.vectors.static_model import open_static_model
from citebed.runs.kba_files import read_filter_run, read_judgements
from citebed.runs.query_files import load_clusters, query_texts, read_groups
from citebed.runs.reader import read_judgement_table, read_qrels, read_run
from citebed.runs.times import parse_seconds, parse_time
from citebed.runs.trec_files import QRELS, RUN, Layout, read_trec, run_tag, trec_lines
from citebed.timeline.filters import parse_filter
from citebed.timeline.filters.online_learning import labels_of
from citebed.timeline.filters.topics import read_topics
from citebed.timeline.robustness import levels_of, settings_of
from citebed.timeline.slices import read_boundaries
from citebed.timeline.streams.run_sources import opened_runs
from citebed.timeline.streams.stream_files import blocks, decode, file_source
from citebed.timeline.streams.timed_qrels import read_timed_qrels, read_times


class Reader(NamedTuple):
    """A function that reads a file, and the kinds of damaged files that it gets."""

    read: Callable[[Path], Any]
    kinds: tuple[str, ...]


def outcome(read: Callable[[], Any]) -> Any:
    """Return what a reader returns as a table, or ``None`` if it refuses."""
    try:
        return read()
    except CitebedError:
        return None


def agree(one: Any, other: Any, what: str) -> None:
    """Two ways of reading gave the same, or both nothing."""
    assert (one is None) == (other is None), f"{what}: only one of the two refuses"
    if one is not None:
        assert one.equals(other), f"{what}: they differ"


# --- formats of import ----------------------------------------------------------------------


def _format(name: str) -> Callable[[Path], Any]:
    def read(path: Path) -> None:
        data, form = path.read_bytes(), FORMATS[name]
        recognise(data[:4096].decode("utf-8", "replace"))
        for record in form.parse(Chunk(data, "x")):
            check(record, line_count(data))
        if form.split is not None:
            assert 0 <= form.split(data) <= len(data)

    return read


def _sources(path: Path) -> None:
    _, problems = parsed(path, path.name)
    failed = [what for *_, what in problems if "reader failed" in what]
    assert not failed, failed[0]


# --- runs and judgements --------------------------------------------------------------------


def _trec(layout: Layout, read: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """The quick way against the careful one, plain against packed, and single against any blanks.

    An empty file is refused as such only by the quick way.
    """

    def slowly(path: Path) -> pl.DataFrame | None:
        rows = [row[1:] for row in trec_lines(path, layout)]
        schema = {name: layout.schema[name] for name in layout.columns}
        return pl.DataFrame(rows, schema, orient="row") if rows else None

    def quickly(path: Path) -> pl.DataFrame:
        return read_trec(path, layout).select(layout.columns)

    def both(path: Path) -> None:
        found = outcome(lambda: quickly(path))
        agree(found, outcome(lambda: slowly(path)), "quick and careful")
        if not is_compressed(path):
            packed = _beside(path, ".gz", gzipped(path.read_bytes()))
            agree(found, outcome(lambda: quickly(packed)), "plain and packed")
        outcome(lambda: run_tag(path))
        read(path)

    return both


def _beside(path: Path, ending: str, data: bytes) -> Path:
    other = path.with_name(path.name + ending)
    other.write_bytes(data)
    return other


def _kba(read: Callable[..., Any]) -> Callable[[Path], Any]:
    def both(path: Path) -> None:
        strict = outcome(lambda: read(path))
        lenient = outcome(lambda: read(path, strict=False))
        if strict is not None:
            assert lenient is not None, "strict reads what lenient refuses"
            agree(strict.table, lenient.table, "strict and lenient")
            if not is_compressed(path):
                spread = b"\n".join(
                    line if line.lstrip().startswith(b"#") else line.replace(b" ", b"  ")
                    for line in path.read_bytes().split(b"\n")
                )
                again = outcome(lambda: read(_beside(path, ".spread", spread)).table)
                agree(strict.table, again, "single blanks and double")

    return both


def _stream_run(path: Path) -> None:
    """A run as the timeline opens it, begun beside the rest and read again."""
    with opened_runs(path) as (source,):
        agree(source.read().table, source.read().table, "once and again")


def _judged(path: Path) -> None:
    read_judgement_table(path)
    read_timed_qrels(path)


# --- collections ----------------------------------------------------------------------------


def _collection(folder: Path) -> None:
    """All that a collection holds, looked at."""
    found = open_collection(folder)
    for name in ("documents", "papers", "references", "contexts", "links", "sections"):
        getattr(found, name)
    for name in ("set_aside", "problems", "files"):
        getattr(found, name)
    list(found.iter_documents(full_text=True))
    list(found.iter_papers())
    for name in found.query_sets:
        list(found.iter_queries(name))
        list(found.iter_judgements(name))


def _index(folder: Path) -> None:
    """An index is searched once it is verified, in every field and with what a paper said."""
    found = open_collection(folder)
    index = open_index(folder, verified=True)
    fields = fields_of("title,abstract,keywords,fulltext,citing")
    for model in ("bm25", "kl+rm3(docs=3)", "bm25+dense"):
        Recommender(found, index, model, fields).recommend("apples and pears", 5)
    queries = read_queries(found, "sentences")
    run_queries(found, index, queries, parse_pipeline("ql"), RunOptions(fields=fields, threads=1))


def _static_model(path: Path) -> None:
    """Word vectors of texts are numbers, whatever is in the model's file."""
    model, texts = open_static_model(path), ["Apples and pears", ""]
    for made in (model.queries(texts), model.documents(texts)):
        if not np.isfinite(made).all():
            raise AssertionError("vectors that are not finite")


def _inside(read: Callable[[Path, Path], Any]) -> Callable[[Path], Any]:
    """A reader that needs the collection beside the file."""
    return lambda path: read(path, path.parent / "c")


def _contexts(path: Path, folder: Path) -> None:
    found = open_collection(folder)
    load_contexts(found, (path,), unique_names(found.documents))


# --- what is spelled in one line ------------------------------------------------------------

SPELLED: dict[str, tuple[Callable[[str], Any], tuple[str, ...]]] = {
    "model": (parse_pipeline, ("bm25(k1=0.9,b=0.4)+rm3(terms=20,weight=0.3)",
                               "kl(mu=1000)+feedback",
                            "bm25f(b_title=0.5,k1=1)", "bm25+interpolate(with=x,weight=0.3)")),
    "measure": (measure, ("nDCG(dcg='exp-log2')@10", "AP(rel=2)@100", "RBP(p=0.8)", "P_5",
                                "nDCG(judged_only=True)@R", "SetF(beta=0.5)", "map_cut_10")),
    "fields": (fields_of, ("title=2,abstract,keywords,citing=0.5",)),
    "analyser": (analyser_of, ("english", "snowball(german)", "none")),
    "filter": (parse_filter, ("names(common=0.01)", "relevance_model(mu=10,least=0,buckets=4096)")),
    "time": (lambda text: parse_time(text, utc=True), ("2011-10-07T12:00:00+02:00", "1317945600")),
    "length": (parse_seconds, ("12h", "7d", "2w")),
    "settings": (settings_of, ("10,100,200",)),
    "relevant": (lambda text: settings_of("10", text), ("D/2,D/10,5",)),
    "levels": (levels_of, ("0,0.1,0.5,1",)),
}  # fmt: skip


def _spelled(name: str) -> Callable[[Path], Any]:
    return lambda path: SPELLED[name][0](path.read_bytes().decode("utf-8", "surrogateescape"))


# --- the table ------------------------------------------------------------------------------


READERS: dict[str, Reader] = {
    **{f"format {name}": Reader(_format(name), (name,)) for name in SAMPLES},
    "sources": Reader(
        _sources,
        (*SAMPLES, *("zip", "tar", "tar-gz", "tar-xz", "gz", "xz", "bz2", "nested") * 3),
    ),
    "run": Reader(_trec(RUN, read_run), ("run", "run-gzip", "stream-run")),
    "qrels": Reader(_trec(QRELS, read_qrels), ("qrels", "stream-qrels")),
    "run table": Reader(read_run, ("run-parquet",)),
    "qrels table": Reader(read_qrels, ("qrels-parquet",)),
    "kba run": Reader(_kba(read_filter_run), ("kba-run", "kba-run-gzip")),
    "kba judgements": Reader(_kba(read_judgements), ("kba-judgements", "kba-short")),
    "stream run": Reader(_stream_run, ("stream-run", "run-gzip", "run-parquet", "kba-run")),
    "judged": Reader(_judged, ("stream-qrels", "kba-short", "kba-judgements", "stream-parquet")),
    "labels": Reader(labels_of, ("stream-qrels", "kba-short", "kba-judgements")),
    "times": Reader(lambda path: read_times(path, utc=True), ("times", "stream")),
    "boundaries": Reader(lambda path: read_boundaries(path, utc=True), ("boundaries",)),
    "stream": Reader(
        lambda path: [decode(block, True) for block in blocks(file_source(path), 500)], ("stream",)
    ),
    "topics": Reader(read_topics, ("filter-topics",)),
    "clusters": Reader(lambda path: load_clusters(str(path), None, None), ("clusters",)),
    "cluster field": Reader(lambda path: load_clusters("paper", path, None), ("queries-jsonl",)),
    "query texts": Reader(query_texts, ("queries-jsonl",)),
    "teams": Reader(lambda path: read_groups(path, "run", "team"), ("teams",)),
    "exclusions": Reader(read_exclusions, ("exclude",)),
    "profile": Reader(lambda path: load_profile(str(path)), ("profile",)),
    "ids": Reader(lambda path: list(small_lines(path)), ("ids", "qrels", "run")),
    "cocited": Reader(from_file, ("cocited",)),
    "draft": Reader(
        lambda path: pieces(read_draft(path), "sentence"),
        (
            *("draft-tex", "draft-md", "draft-txt", "draft-docx", "draft-odt", "draft-ipynb"),
            *("draft-typ", "draft-rst"),
        ),
    ),
    "queries": Reader(
        _inside(lambda path, folder: read_queries(open_collection(folder), str(path))),
        ("queries-jsonl", "queries-tsv"),
    ),
    "contexts": Reader(_inside(_contexts), ("contexts",)),
    "feedback": Reader(
        _inside(lambda path, folder: read_feedback(
            open_collection(folder), str(path), open_index(folder).ids.choose_known)),
        ("qrels",),
    ),
    "source papers": Reader(
        _inside(lambda path, folder: read_papers(path, open_collection(folder))),
        ("papers-csv", "papers-bib"),
    ),
    "forms": Reader(
        lambda path: [read_form(part) for part in read_parts(path)],
        tuple(f"{kind}-{n}" for kind in ("text-form", "form-mail", "answers") for n in (1, 2)),
    ),
    "collection": Reader(_collection, ()),
    "index": Reader(_index, ()),
    "forged index": Reader(_index, ()),
    "safetensors": Reader(read_safetensors, ("safetensors",)),
    "static model": Reader(_static_model, ("static-model",)),
    **{f"stopped{at}": Reader(go_on, ()) for at, _ in enumerate(MODELS)},
    **{f"spelled {name}": Reader(_spelled(name), ()) for name in SPELLED},
}  # fmt: skip
"""By name; a reader without kinds is given a folder of the base, or a line that is spelled."""

_BASES = {
    **dict.fromkeys(
        ("queries", "contexts", "feedback", "collection", "index", "source papers"), "c"
    ),
    "forged index": "c",
    **{f"stopped{at}": f"stopped{at}" for at, _ in enumerate(MODELS)},
}


def draw(name: str, rng: random.Random, bases: Path) -> Case:
    """A case for a reader."""
    case = Case(f"read {name}", base=_BASES.get(name, ""))
    if name.startswith("spelled "):
        example = rng.choice(SPELLED[name.removeprefix("spelled ")][1])
        case.given, case.files = "text", {"text": damaged(example.encode(), rng)}
    elif name == "forged index":
        case.given, case.files = "c", _forged(rng, bases)
    elif not READERS[name].kinds:
        case.given = case.base
        case.files = base_damage(rng, bases, "c/index/" if name == "index" else f"{case.base}/")
    else:
        _draw_file(case, rng.choice(READERS[name].kinds), rng)
    return case


def _draw_file(case: Case, kind: str, rng: random.Random) -> None:
    """A file with its companions; usually one of them is damaged."""
    case.given, data = MADE[kind]
    case.files = {MADE[beside][0]: MADE[beside][1] for beside in NEIGHBOURS.get(kind, ())}
    case.files[case.given] = data
    one = rng.choice(sorted(case.files)) if rng.random() < 0.3 else case.given
    if rng.random() < 0.97:
        case.files[one] = damaged(case.files[one], rng)


def _forged(rng: random.Random, bases: Path) -> dict[str, bytes]:
    """An array of the index with other numbers in it, and the checksum of those."""
    about = json.loads((bases / "c/index/index.json").read_bytes())
    name = rng.choice(sorted(about["files"]))
    path = f"c/index/{about['files'][name]['file']}"
    array = np.load(bases / path).copy()
    for _ in range(rng.choice((1, 1, 3)) if array.size else 0):
        array[rng.randrange(len(array))] = rng.choice(_odd(array))
    written = io.BytesIO()
    np.save(written, array[: -1 if rng.random() < 0.2 else None])
    data = written.getvalue()
    about["files"][name] |= {"bytes": len(data), "sha256": sha256(data).hexdigest()}
    return {path: data, "c/index/index.json": json.dumps(about).encode()}


def _odd(array: np.ndarray) -> tuple[float, ...]:
    """Numbers at the ends of what an array can hold, and others that mean something."""
    if array.dtype.kind == "f":
        return (np.nan, np.inf, -np.inf, -1.0, 0.0, float(np.finfo(array.dtype).max))
    limits = np.iinfo(array.dtype)
    return (limits.min, limits.max, limits.max // 3, 0, 1, min(len(array), limits.max))


def base_damage(rng: random.Random, bases: Path, under: str) -> dict[str, bytes]:
    """Some files of a folder of the base, damaged; by their path in the case."""
    found = (path for path in (bases / under).rglob("*") if path.is_file())
    names = sorted(str(path.relative_to(bases)) for path in found)
    if under == "c/":  # there are many arrays, and a damaged one is mostly just refused
        names = [name for name in names if not name.endswith(".npy") or rng.random() < 0.1]
    chosen = rng.sample(names, min(len(names), rng.choice((1, 1, 1, 2))))
    return {name: damaged((bases / name).read_bytes(), rng) for name in chosen}
