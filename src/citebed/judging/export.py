"""Export the judgements of a campaign as a test collection, with a version by content.

The version is a hash of queries and judgements: a publication can name the version that its
figures are based on. Every export is logged, and the changelog lists what each version added.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import polars as pl
from sqlalchemy import func, select

from citebed.collection import Collection
from citebed.collection.exporting import export as export_collection
from citebed.collection.tables import QUERIES
from citebed.errors import CitebedError
from citebed.files.output_files import replace_folder
from citebed.judging.comparisons import load_preferences
from citebed.judging.crate import CRATE, CrateOptions, make_crate
from citebed.judging.judgements import (
    PAIRS,
    SETS,
    build_qrels,
    current_judgements,
    mapping_rule,
)
from citebed.judging.machine_judges import (
    build_machine_qrels,
    judges_table,
    load_machine_judgements,
)
from citebed.judging.questions import current_wording, live_questions, wording_history
from citebed.judging.status import RestatedQuestion, recent_events, restated_questions
from citebed.judging.store.campaign_store import CampaignStore, Transaction
from citebed.judging.store.schema import contributors, items, judgements, pools
from citebed.judging.tables import first_sources, judged_queries
from citebed.runs.tables import Qrels, Run
from citebed.runs.writer import write_qrels, write_run
from citebed.wording import count, json_text, printable

MANIFEST = "campaign.json"
STRENGTHS = "preferences.run"
FILES = {name: f"{name}.qrels" for name in PAIRS} | {
    name: f"{name}-all-queries.qrels" for name in SETS
}
"""The file of each set: first the pair to contrast, then the sets over all queries."""


class ExportResult(NamedTuple):
    """An export: its folder, its version, and the numbers of queries and judgements per set.

    ``restated`` are questions whose exported text differs from the judged one. ``machines`` has the
    numbers of queries and judgements in the files of machine judges.
    """

    folder: Path
    version: str
    sets: dict[str, tuple[int, int]]
    restated: tuple[RestatedQuestion, ...] = ()
    machines: Mapping[str, tuple[int, int]] = MappingProxyType({})


class _Contents(NamedTuple):
    topics: pl.DataFrame
    sets: dict[str, Qrels]
    sources: pl.DataFrame
    lines: dict[str, list[dict[str, Any]]]
    last: int
    restated: tuple[RestatedQuestion, ...]
    machines: dict[str, Qrels]
    strengths: pl.DataFrame

    def version(self) -> str:
        digest = hashlib.sha256()
        for row in self.topics.select("query_id", "text").sort("query_id").iter_rows():
            digest.update(json_text(row).encode() + b"\n")
        for name in SETS:  # which include T1 and T1+2
            for row in self.sets[name].table.sort("query_id", "doc_id").iter_rows():
                digest.update(json_text([name, *row]).encode() + b"\n")
        for line in self.lines.get("preferences", ()):
            digest.update(json_text(line).encode() + b"\n")
        return digest.hexdigest()[:12]


def export_campaign(
    store: CampaignStore,
    collection: Collection,
    folder: str | Path,
    *,
    graded: bool = False,
    shapes: tuple[str, ...] = (),
    published: CrateOptions | None = None,
) -> ExportResult:
    """Write judgements, topics and pools to a folder, completely or not at all.

    T1 and T1+2 are the pair that the paper compares: the queries judged in both phases, with the
    judgements of phase one and of both phases. J1, J2 and J1+2 have all queries. The second field
    of a judgement is the first source of its document: ``cited``, ``manual`` or ``automatic``; the
    version does not depend on it. Judgements of machines get files of their own and do not change
    the version. ``shapes`` adds the collection with these queries and judgements in the formats
    ``beir`` and ``ir_datasets``. If judges compared papers, there are also their preferences, and a
    run with the strengths of the papers. ``published`` names the authors and the licence of the
    export in its RO-Crate.
    """
    folder = Path(folder)
    if folder.exists() and not (folder / MANIFEST).is_file() and any(folder.iterdir()):
        raise CitebedError(f"'{printable(folder)}' has files that are not from a campaign export. "
                           "Name another folder.")  # fmt: skip
    with store.reading() as tx:
        contents = _load_contents(tx, graded)
    version = contents.version()
    sizes, machines = (
        {name: (of.table["query_id"].n_unique(), of.table.height) for name, of in sets.items()}
        for sets in (contents.sets, contents.machines)
    )
    facts: dict[str, Any] = {
        "campaign": store.name,
        "version": version,
        "simulated": store.simulated,
        "rule": mapping_rule(store.settings, graded=graded),
        "judgements_up_to": contents.last,
        "sets": {name: {"queries": q, "judgements": j} for name, (q, j) in sizes.items()},
        "restated": [each._asdict() for each in contents.restated],
    }
    with store.writing() as tx:
        before = recent_events(tx, "exported", 1)
        if not before or before[0].detail["version"] != version:
            tx.log("exported", **facts)
            before = recent_events(tx, "exported", 1)
    with replace_folder(folder) as draft:
        _write(draft, contents, facts)
        (draft / "CHANGELOG.md").write_text(_changelog(store), "utf-8")
        for shape in shapes:
            view = JudgedCollection(collection, contents.topics, contents.sets)
            export_collection(view, shape, draft / shape)
        judges = len({line["judge"] for line in contents.lines["judgements"]})
        crate = make_crate(
            draft, facts, judges, collection.name, before[0].at, published or CrateOptions()
        )
        (draft / CRATE).write_text(json_text(crate, indent=2) + "\n", "utf-8")
    return ExportResult(folder, version, sizes, contents.restated, machines)


def _load_contents(tx: Transaction, graded: bool) -> _Contents:
    topics: list[dict[str, str]] = []
    history: list[dict[str, Any]] = []
    listed: list[dict[str, Any]] = []
    for each in live_questions(tx):
        mine = {"query_id": each.query_id}
        stated = current_wording(tx, each.id, "stated").text
        text = current_wording(tx, each.id).text
        topics.append({**mine, "text": text, "original": stated, "paper_id": each.paper})
        history += [
            {**mine, "kind": row.kind, "text": row.text, "classes": row.classes,
             "at": f"{row.at:%Y-%m-%dT%H:%M:%SZ}"}
            for row in wording_history(tx, each.id)
        ]  # fmt: skip
        chosen = select(pools).where(pools.c.question_id == each.id)
        for pool in tx.execute(chosen.order_by(pools.c.round)).all():
            ranks: dict[str, dict[str, int]] = {}
            for row in tx.execute(select(contributors).where(contributors.c.pool_id == pool.id)):
                ranks.setdefault(row.doc_id, {})[row.method] = row.rank
            pooled = select(items).where(items.c.pool_id == pool.id).order_by(items.c.position)
            place = {**mine, "list": pool.round, "pooling": pool.method}
            listed += [
                {**place, "position": row.position, "doc_id": row.doc_id, **row.drawn,
                 "found": ranks.get(row.doc_id, {})}
                for row in tx.execute(pooled)
            ]  # fmt: skip
    machines = {
        f"machine-{name}.qrels": build_machine_qrels(tx, name, graded=graded)
        for name in judges_table(tx)["name"]
    }
    lines = {"wordings": history, "pools": listed}
    if machines:
        said = load_machine_judgements(tx).drop("problem")
        at = pl.col("at").dt.strftime("%Y-%m-%dT%H:%M:%SZ")
        lines["machine_judgements"] = said.with_columns(at).to_dicts()
    judged = current_judgements(tx, excluded=True)
    judged = judged.with_columns(pl.col("answered_at").dt.strftime("%Y-%m-%dT%H:%M:%SZ"))
    judged = judged.drop("judge", "item_id").rename({"judge_id": "judge"})
    compared = load_preferences(tx)
    answers = compared.answers.drop("judge").rename({"judge_id": "judge"})
    answers = answers.with_columns(pl.col("answered_at").dt.strftime("%Y-%m-%dT%H:%M:%SZ"))
    if answers.height:
        lines["preferences"] = answers.to_dicts()
    columns = dict.fromkeys(("query_id", "text", "original", "paper_id"), pl.String)
    return _Contents(
        topics=pl.DataFrame(topics, columns),
        sets={name: build_qrels(tx, name, graded=graded) for name in FILES},
        sources=first_sources(judged_queries(tx)),
        lines={**lines, "judgements": judged.to_dicts()},
        last=int(tx.scalar(select(func.max(judgements.c.id))) or 0),
        restated=tuple(restated_questions(tx)),
        machines=machines,
        strengths=compared.strengths,
    )


def _write(draft: Path, contents: _Contents, facts: Mapping[str, Any]) -> None:
    pair = ["query_id", "doc_id"]
    for name, qrels in contents.sets.items():
        table = qrels.table.join(contents.sources, on=pair, how="left", maintain_order="left")
        write_qrels(draft / FILES[name], Qrels(table, name))
    for name, qrels in contents.machines.items():
        write_qrels(draft / name, qrels)
    for name, column in (("topics", "text"), ("topics.original", "original")):
        rows = contents.topics.select("query_id", text=column, paper_id="paper_id")
        rows.write_ndjson(draft / f"{name}.jsonl")
        tabbed = (f"{query_id}\t{text}\n" for query_id, text, _ in rows.iter_rows())
        (draft / f"{name}.tsv").write_text("".join(tabbed), "utf-8")
    for name, lines in contents.lines.items():
        text = "".join(f"{json_text(line)}\n" for line in lines)
        (draft / f"{name}.jsonl").write_text(text, "utf-8")
    if contents.strengths.height:
        scored = contents.strengths.select("query_id", "doc_id", score="strength")
        write_run(draft / STRENGTHS, Run(scored, Path(STRENGTHS).stem))
    files = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in draft.iterdir()}
    whole = {**facts, "files": dict(sorted(files.items()))}
    (draft / MANIFEST).write_text(json_text(whole, indent=2) + "\n", "utf-8")


def _changelog(store: CampaignStore) -> str:
    with store.reading() as tx:
        rows = reversed(recent_events(tx, "exported", None))
    parts = [f"# {store.name}: versions of its judgements, the newest first\n"]
    entries = []
    before: dict[str, Any] = {}
    for row in rows:
        sets = row.detail["sets"]
        lines = [f"\n## {row.detail['version']} ({row.at:%Y-%m-%d %H:%M} UTC)\n\n"]
        for name, size in sets.items():
            more = size["judgements"] - before.get(name, {}).get("judgements", 0)
            lines.append(f"- {name}: {count(size['judgements'], 'judgement')} ({more:+d}) of "
                         f"{count(size['queries'], 'query')}\n")  # fmt: skip
        lines.append(f"- rule: {row.detail['rule']}\n")
        restated = (RestatedQuestion(**each).warning() for each in row.detail.get("restated", ()))
        lines += [f"- warning: {each}\n" for each in restated]
        entries.append("".join(lines))
        before = sets
    return "".join([*parts, *reversed(entries)])


class JudgedCollection(Collection):
    """A collection with a campaign's queries and judgements instead of its own."""

    def __init__(
        self, collection: Collection, topics: pl.DataFrame, sets: Mapping[str, Qrels]
    ) -> None:
        super().__init__(collection.folder)
        missing = {name: pl.lit(None, kind) for name, kind in QUERIES.items() if name not in topics}
        self._topics = topics.with_columns(**missing).select(*QUERIES)
        self._sets = dict(sets)

    @property
    def query_sets(self) -> tuple[str, ...]:
        """The sets T1, T1+2, J1, J2 and J1+2."""
        return tuple(self._sets)

    def queries(self, name: str) -> pl.DataFrame:
        """Return the queries with judgements in a set."""
        judged = self._sets[name].table["query_id"].unique()
        return self._topics.filter(pl.col("query_id").is_in(judged.implode()))

    def qrels(self, name: str) -> Qrels:
        """Return a set of judgements."""
        return self._sets[name]
