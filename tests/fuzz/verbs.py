"""Every verb as a target: its options are asked of the command line itself, and drawn at random.

A value of ``VALUES`` is a word, ``@KIND`` for a file of that kind, ``@c`` for the collection,
``>NAME`` for something to be written, ``{here}`` in it for the folder of the case.
"""

from __future__ import annotations

import random
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import typer
from tests.fuzz.cases import Case
from tests.fuzz.damage import WORDS, damaged
from tests.fuzz.readers import base_damage
from tests.fuzz.wellformed import MADE, NEIGHBOURS
from tests.samples import SAMPLES

from citebed.cli.app import VERBS, build

_SOURCES = tuple(f"@{kind}" for kind in (*SAMPLES, "zip", "tar", "tar-gz", "xz", "bz2", "nested"))
_QRELS = ("@qrels", "@qrels", "@qrels-more", "@qrels-parquet", "c/qrels/topics.qrels")
_RUNS = ("@run", "@run-more", "@run-gzip", "@run-parquet")
_STREAM_RUNS = ("@stream-run", "@kba-run", "@kba-run-gzip")
_TEXTS = (
    *("@draft-tex", "@draft-md", "@draft-txt", "@draft-docx", "@draft-odt", "@draft-ipynb"),
    *("@draft-typ", "@draft-rst", "-", "Smoothing ranks apples [1].", "!", "![1]"),
)
_DRAFTS = ("@draft-tex", "@draft-md", "@draft-txt", "@draft-docx", "!nowhere.tex", "!c")
_OUT = (">out.run", ">out.run.gz", ">out.parquet", ">sub/out.run", "!>c", "!>new/")
_MODELS = (
    *("bm25", "bm25(k1=0.9,b=0.4)+rm3", "kl(mu=10)+feedback(terms=5)", "ql", "cosine", "okapi"),
    *("bm25f(b_title=0.5)", "bm25+rocchio", "kl+mixture", "bm25+robertson", "!bm25+nowhere"),
    *("bm25+rm3(docs=3)", "kl(mu=10)+feedback(from=topics)", "!bm25(k1=nan)"),
)
_MEASURES = (
    *("nDCG@10", "AP", "P@5", "R@10", "RR", "Bpref", "GMAP", "infAP", "Rprec", "RBP(p=0.8)"),
    *("ERR@5", "Judged@3", "SetP", "SetF", "SU", "AUC", "nDCG@R", "AP(rel=2)", "IPrec@0.1", "!no"),
    *("NumQ", "ElevenPoint", "Success@1", "!nDCG@0", "P@99999999999", "!AP(rel=-1)", "Utility"),
)
_HUGE = "9" * 30

VALUES: dict[str, tuple[str, ...]] = {
    # arguments
    "trec_eval arguments": (*_QRELS, *_RUNS, "-q", "-c", "-n", "-J", "-mall_trec", "!-x"),
    "collection": ("@c", "!>new", "!@qrels"),
    "import collection": ("@c", ">new", ">new", "!@qrels"),
    "sources": (*_SOURCES, "!c", "!nowhere"),
    "papers": ("@pdf", "@pdf", "!@qrels", "!nowhere.pdf"),
    "forget sources": ("sources", "sources", "!nowhere"),
    "target": (">out", ">out.bib", "!>c", ">new/out"),
    "text": _TEXTS,
    "words": ("oak", "smith 2001", "10.5072/oak", "!"),
    "--years": ("2010-2020", "2001", "-1999", "2010-", "!x", "!-"),
    "--venue": ("J. of Trees", "!"),
    "--type": ("article", "!no"),
    "--author": ("Smith, Ann", "!"),
    "--sort": ("best", "newest", "oldest", "title", "cited", "!no"),
    "find --start": ("0", "3", "!-1"),
    "drafts": _DRAFTS,
    "check sources": _DRAFTS,
    "fill sources": _DRAFTS,
    "--fail-on": ("error", "never", "!no"),
    "--sarif": (">check.sarif", "-", "!>c", "!>new/x"),
    "--gap-probability": ("0.5", "!2", "!nan"),
    "--write": (">filled.tex", "!>new/x"),
    "--machine": _QRELS,
    "--plan": ("@run", "!@qrels"),
    "qrels": _QRELS,
    "before": _QRELS,
    "after": _QRELS,
    "files": _QRELS,
    "j1": _QRELS,
    "j12": _QRELS,
    "published cited-and-non-cited topics": ("@queries-jsonl", "@queries-tsv", "!@qrels"),
    "published time-aware qrels": ("@stream-qrels", "@kba-short", "@kba-judgements"),
    "published time-aware runs": (*_STREAM_RUNS, "!@run-parquet"),
    "runs": _RUNS,
    "stream": ("@stream", "@stream", "@stream", "@c"),
    "timeline qrels": ("@stream-qrels", "@kba-short", "@kba-judgements", "@stream-parquet"),
    "timeline runs": (*_STREAM_RUNS, "!@run-parquet"),
    "timeline official qrels": ("@stream-qrels", "@kba-short", "@kba-judgements"),
    "timeline official runs": (*_STREAM_RUNS, "!@run-parquet"),
    "human": _QRELS,
    "machine": _QRELS,
    "timeline snapshots snapshots": ("@c", "@c", "c/qrels", "!@qrels", "!nowhere"),
    "timeline snapshots --qrels": ("topics", "!no"),
    "--system": ("!c", "!nowhere"),
    "evaluate qrels": (*_QRELS, "@kba-short", "@kba-judgements"),
    "evaluate runs": (*_RUNS, *_STREAM_RUNS),
    "measures name": ("nDCG", "AP", "SU", "!no"),
    "fetch name": ("acm-cr", "cranfield", "cacm", "acl-anthology", "!no"),
    "folder": (">fetched",),
    "--on": ("!here", "!sc://127.0.0.1:9", "!local[]"),
    "--spark-conf": ("!a=1", "!a"),  # which need an engine
    "--part-size": ("!0", "!2.5", "!-1", "!nan"),
    # files
    "--exclude": ("@exclude",),
    "--against": ("@c", "@papers-bib", "!nowhere.bib"),
    "--grobid": ("!http://127.0.0.1:9", "!x"),
    "annotate --output": (">annotated", "!>c/citebed.toml"),
    "annotate --sections": ("introduction,related work", "all", "methods", "!,"),
    "--profile": ("acm-cr", "anthology", "cranfield", "@profile", "@profile", "!no"),
    "--citing": ("@contexts",),
    "--cluster": ("@clusters", "!paper", "!no"),
    "--queries": ("@queries-jsonl", "c/queries/topics.jsonl"),
    "--bib": ("@draft-bib", "@papers-bib", "!nowhere.bib"),
    "--teams": ("@teams",),
    "--document-tokens": ("64", "!8", "!x"),
    "fetch --from": ("!nowhere.tgz", "!c"),
    "qrels difference others": _QRELS,
    "--static": ("shipped", "!nowhere.npz", "!@qrels"),
    # training
    "source": ("@c", "!@qrels", "!nowhere"),
    "--contexts": ("@contexts",),
    "--also": ("@c", "!nowhere"),
    "--start": ("!nowhere",),
    "--teacher": ("!nowhere",),
    "encoders": ("!nowhere", "!c"),
    "--adapter": (">adapter.npz",),
    "train student --file": (">student.npz",),
    "--layers": ("1", "!0"),
    "--fold": ("0", "19", "!20"),
    "--epochs": ("1", "!0"),
    "--batch": ("2", "!1"),
    "--set": ("rate=1e-3", "!rate", "!no=1"),
    "--device": ("cpu", "!no"),
    "--minutes": ("0.01", "!-1"),
    "--checkpoint-minutes": ("1", "!-1"),
    "--questions": ("10", "!3"),
    "--min-probability": ("0", "0.2", "!2", "!nan"),
    "--draw": ("!no",),
    "--encoder": ("!nowhere", "!c"),
    "--teams-file": ("@teams",),
    "--times": ("@times", "@stream", "@c"),
    "--topics": ("@filter-topics",),
    "--judgements": ("@kba-short", "@kba-judgements", "@stream-qrels"),
    "--documents": ("@ids", "@run"),
    "--cocited": ("@cocited", "@c"),
    "--collection": ("@c",),
    "--mirror": ("file://{here}/mirror", "!file://{here}/nowhere"),
    "tune --queries": ("topics", "sentences", "@queries-jsonl", "!no"),
    "--qrels": _QRELS,
    "desk --qrels": (">desk.qrels", ">desk.parquet", "!>c", "!>new/x"),
    "desk --queries": (">desk.jsonl", "!>c", "!>new/x"),
    "search --queries": ("topics", "sentences", "@queries-jsonl", "@queries-tsv", "!no"),
    "export --queries": ("topics", "paragraphs", "!no"),
    "qrels expand --queries": ("topics", "sentences", "!no"),
    "qrels subset --queries": ("@ids", "@qrels"),
    # written
    "--output": _OUT,
    "--plot": (">plot.svg", ">plot.png", "!>plot.txt"),
    "--plots": (">plots",),
    "--figures": (">figures",),
    "--html": (">page.html", "!>page.txt"),
    "--report": (">page.html",),
    "--skipped": (">skipped.txt",),
    "--append": (">refs.bib", ">new/out.bib", "!>out.txt"),
    "report --output": (">page.html", "!>new/page.html"),
    "filter --output": (">out.run", ">out.run.gz"),
    # words
    "--types": ("article,misc", "all", "!no", "!"),
    "--sections": ("introduction,related-work", "abstract", "!,", "!"),
    "--source": ("cited", "0", "!"),
    "--front-matter": ("keep", "drop", "sessions", "!no"),
    "--reviews": ("keep", "drop", "!no"),
    "--languages": ("en", "en,de", "all", "!x"),
    "--name": ("mine", "a b", "é", "!", "!../x", "!a/b"),
    "--only": ("*.x", "*/in/*", "![", "**", "!"),
    "lint --only": ("near-duplicate-titles", "absent-documents", "!no"),
    "--to": ("trec", "beir", "parquet", "csv", "bibtex", "jsonl", "ir_datasets", "!no"),
    "--analyser": ("english", "none", "snowball(german)", "!no"),
    "--model": _MODELS,
    "filter --model": ("names", "names(common=0.01)", "relevance_model(buckets=1024)",
                       "incremental(buckets=1024,least=0.2)", "!no"),
    "--fields": ("title", "title=2,abstract,citing=0.5", "fulltext", "!no=1", "!title=0"),
    "--format": ("text", "json", "csv", "lines", "bibtex", "!no"),
    "--each": ("paragraph", "sentence", "text", "!no"),
    "--good": ("a1", "10.5072/a1", "!no", "!"),
    "--not-this": ("a2", "10.5072/a1", "!no", "!"),
    "--before": ("2019", "2019-07-31", "0001", "!9999-99", "!x"),
    "--measure": _MEASURES,
    "robustness --measures": ("AP,nDCG@R", "AUC:rescaled", "Rprec", "SetF", "!no"),
    "--baseline": ("one", "two", "!no"),
    "--metadata": ("header", ">ir-metadata.yml", "!x"),
    "--pivot": ("one", "two", "!no"),
    "--test": ("t", "permutation", "wilcoxon", "sign", "bootstrap", "!no"),
    "--correct": ("none", "bonferroni", "holm", "bh", "tukey", "!no"),
    "--pair": ("one", "two", "!no"),
    "--method": ("rrf", "combsum", "combmnz", "combmed", "combmin", "combmax", "isr", "borda",
                 "interpolate", "!no"),
    "--normalise": ("minmax", "zscore", "sum", "rank", "max", "none", "!no"),
    "--weights": ("0.7,0.3", "1,1,1", "!0.5", "!nan,1", "!x", "!-1,2", "1e308,1e308"),
    "--tag": ("mine", "a b", "é", "!", "\u2028"),
    "--title": ("A page", "<b>", "\udcff", ""),
    "--label": ("cocited", "!a b", "!", "!\u2028"),
    "--team": ("mine", "!a b", "!", "!#"),
    "--rule": ("first", "max", "min", "mean", "majority", "undisputed", "agreed", "!no"),
    "--map": ("topics:1=3,2=3", "!more:1=99999999999999999999", "topics:1=1", "!x", "!:1=2"),
    "--slice": ("1d", "7d", "1mo", "1y", "all", "equal:3", "random:5", "burst", "burst:2d/6h", "1h",
                "@boundaries", "!equal:0", "!0d", "!9999999999d", "!random:0"),
    "--from": ("2011-12-01T00:00:00Z", "1323000000", "!2011-12-01", "!x", "!9999-12-31T00:00Z"),
    "timeline --to": ("2011-12-20T00:00:00Z", "1325000000", "!0001-01-01T00:00:00Z", "!x"),
    "--weight": ("uniform", "burst", "recency:30d", "recency:1h", "!recency", "!no"),
    "--assessors": ("any-dissent-negative", "any", "majority", "max", "!no"),
    "--focus": ("Anna_Muster", "!no"),
    "--feedback-delay": ("0", "12h", "7d", "!99999999999999999999d", "!x"),
    "robustness --documents": ("10", "10,20", "!0", "!x", "!1,2,3"),
    "--relevant": ("D/2", "D/10,1", "!D/0", "5", "!x"),
    "--theta": ("0,0.5,1", "0", "!2", "!nan", "!x"),
    "--perturbation": ("shuffle", "exchange", "noise", "!no"),
    # numbers
    "--workers": ("1",),
    "--shard-size": ("0", "1", "7", "!-1"),
    "--port": ("0", "!70000"),
    "--sure": ("0.9", "0", "1", "!2", "!nan"),
    "--threads": ("1", "!-1"),
    "--samples": ("100", "200", "!99"),
    "--rankings": ("10", "2", "!1", "!0", "!-1"),
    "--seed": ("0", "7", "!-1", f"!{_HUGE}"),
    "--test-year": ("2022", "1900", "!x", f"!{_HUGE}"),
    "--level": ("0.95", "0.5", "0.9999", "!1", "!nan"),
    "--alpha": ("0.05", "0.5", "!0", "!1", "!2", "!nan"),
    "--depth": ("10", "1", "!0", "1000000", f"!{_HUGE}"),
    "-k": ("3", "1", "100000", "!0", f"!{_HUGE}"),
    "--cutoff": ("5", "1", "99999999999", "!0"),
    "--largest": ("0", "2", f"!{_HUGE}"),
    "--examples": ("0", "1", "!-1", f"!{_HUGE}"),
    "--relevance-level": ("0", "1", "2", f"!{_HUGE}", "!-1"),
    "--rel": ("1", "2", "!0", f"!{_HUGE}"),
    "--min-relevance": ("1", "2", "!-5", f"!{_HUGE}"),
    "--grade": ("1", "3", "!0", f"!{_HUGE}"),
    "--at-least": ("1", "2", "!0", "!-1"),
    "--share": ("0.5", "1", "0.001", "!0", "!nan", "!2"),
    "--k0": ("60", "0", "!-1", "!nan", "!inf"),
    "--threshold": ("0.5", "500", "!nan", "!-inf"),
    "--cutoff-step": ("50", "1", "!0", "!-1", f"!{_HUGE}"),
    "--checkpoint-every": ("0", "10", "!nan", "!-1"),
}  # fmt: skip
"""By option or argument, with the verb in front where it means something else there; what starts
with ``!`` is likely refused, and drawn seldom."""

_CHANCES = {
    "fetch --mirror": 1.0,  # the tests have no network
    "robustness --rankings": 1.0,  # the usual thousand take a second
    "qrels subset runs": 0.1,
    "qrels subset --queries": 0.5,
    "qrels expand --at-least": 0.6,
}
_REQUIRED, _ARGUMENT, _OPTION, _ODD = 0.99, 0.9, 0.1, 0.15
_NOT_DRAWN = ("demo", "docs", "serve", "lsp", "mcp", "watch", "campaign")
"""Commands that take no files, run without end, or work on a database. Files of campaigns have
targets of their own, and other tests run the commands.
"""


class Parameter(NamedTuple):
    """An option or argument of a verb."""

    name: str
    is_option: bool
    is_flag: bool
    flags: tuple[str, ...]
    choices: tuple[str, ...]
    several: bool
    required: bool
    wants: int = 1


@cache
def verbs() -> dict[str, tuple[Parameter, ...]]:
    """All verbs with their parameters, as the command line has them."""
    found: dict[str, tuple[Parameter, ...]] = {}

    def walk(command: Any, path: tuple[str, ...]) -> None:
        for name, inner in getattr(command, "commands", {}).items():
            walk(inner, (*path, name))
        if not getattr(command, "commands", None):
            found[" ".join(path)] = tuple(map(_parameter, command.params))

    for verb in VERBS:
        walk(typer.main.get_command(build(verb)), ())
    return {verb: found[verb] for verb in sorted(found) if verb.split()[0] not in _NOT_DRAWN}


def _parameter(given: Any) -> Parameter:
    is_option = given.param_type_name == "option"
    long = [name for name in given.opts if name.startswith("--")]
    return Parameter(
        name=(long or given.opts)[0],
        is_option=is_option,
        is_flag=is_option and bool(given.is_flag),
        flags=(*given.opts, *given.secondary_opts),
        choices=tuple(getattr(given.type, "choices", None) or ()),
        several=bool(getattr(given, "multiple", False)) or given.nargs == -1,
        required=bool(given.required),
        wants=max(1, given.nargs),
    )


def values_of(verb: str, parameter: Parameter) -> tuple[str, ...]:
    """Return the values for a parameter; an empty list if this table has none."""
    name = parameter.name
    return parameter.choices or VALUES.get(f"{verb} {name}") or VALUES.get(name, ())


# --- drawing --------------------------------------------------------------------------------


class _Drawn:
    """A case that grows while its command is drawn."""

    def __init__(self, verb: str, rng: random.Random, bases: Path) -> None:
        self.rng = rng
        self.case = Case(verb)
        self.bases = bases
        self.damaging = rng.random() < 0.75
        """Whether a file is damaged; else only the options are odd."""
        self.left = 1 if rng.random() < 0.8 else 3

    def value(self, spelled: str) -> str:
        """Return a value for the command line; its file is written, or may be written."""
        spelled = spelled.removeprefix("!")
        mark, name = spelled[:1], spelled[1:]
        if mark == ">":
            if name == "c":  # no command overwrites a collection
                self.collection()
            else:
                self.case.writes.append(name.split("/")[0])
            return name
        if spelled == "@c" or spelled.startswith("c/"):
            self.collection()
            return "c" if mark == "@" else spelled
        if mark == "@":
            return self.file(name)
        return spelled

    def collection(self) -> None:
        """Have the collection in the case, perhaps damaged."""
        if not self.case.base:
            self.case.base = "c"
            if self._damages(0.5):
                self.case.files.update(base_damage(self.rng, self.bases, "c/"))

    def file(self, kind: str) -> str:
        """Have a file of a kind in the case, perhaps damaged, perhaps oddly named."""
        name, data = MADE[kind]
        for beside in NEIGHBOURS.get(kind, ()):
            self.case.files[MADE[beside][0]] = MADE[beside][1]
        if name in self.case.files:
            return name
        if self._damages(0.7):
            data = damaged(data, self.rng)
        if self.rng.random() < 0.04:
            name = self._odd_name(name)
        if self.rng.random() < 0.02:
            self.case.links[name] = self.rng.choice(("nowhere", name, "/dev/null", "."))
        else:
            self.case.files[name] = data
        return name

    def _damages(self, chance: float) -> bool:
        if not (self.damaging and self.left and self.rng.random() < chance):
            return False
        self.left -= 1
        return True

    def _odd_name(self, name: str) -> str:
        odd = ("a b-", "é-", "\udce9-", "a\nb-", "[x]-", "*-", "#", "x" * 200, "'-", "-o", "a!b-")
        return self.rng.choice(odd) + name

    def parameter(self, verb: str, parameter: Parameter) -> list[str]:
        """A parameter with its values, as words of the command line."""
        if parameter.is_flag:
            return [self.rng.choice(parameter.flags)]
        odd = self.rng.random() < _ODD
        known = [one for one in values_of(verb, parameter) if odd or not one.startswith("!")]
        count = self.rng.choice((1, 2, 2, 3)) if parameter.several else 1
        words = []
        for spelled in self.rng.sample(known, min(count, len(known))):
            word = self.value(spelled)
            if self.rng.random() < 0.01 and not parameter.name.startswith(_STEADY):
                word = self.rng.choice(WORDS).replace("\0", "").replace("/etc", "etc")
            more = [self.value(self.rng.choice(known)) for _ in range(parameter.wants - 1)]
            words += [parameter.name, word, *more] if parameter.is_option else [word]
        return words


_STEADY = ("--output", "--mirror", "--workers", "--plot", "--report", "--figures", "target",
           "--skipped", "collection", "folder", "--samples", "--rankings", "stream",
           "--documents")  # fmt: skip
"""Never given just any word: it would be a place to write at, or so much work."""


def draw(verb: str, rng: random.Random, bases: Path) -> Case:
    """A case for a verb."""
    drawn = _Drawn(verb, rng, bases)
    options: list[str] = []
    arguments: list[str] = []
    for parameter in verbs()[verb]:
        usual = _REQUIRED if parameter.required else _OPTION if parameter.is_option else _ARGUMENT
        if rng.random() < _CHANCES.get(f"{verb} {parameter.name}", usual):
            words = drawn.parameter(verb, parameter)
            (options if parameter.is_option else arguments).extend(words)
    return _finished(drawn, verb, [*verb.split(), *arguments, *options])


def _finished(drawn: _Drawn, verb: str, command: list[str]) -> Case:
    case, rng = drawn.case, drawn.rng
    case.commands = [command]
    case.writes += _written_anyway(verb, command)
    if verb == "recommend":
        case.stdin = rng.choice(("", "Apples are sorted [1].", "\udcff\udcfe", "\0", "\n"))
    if verb == "fetch":
        case.files.update(_mirror(rng))
        case.writes += command[1:2]
    if verb == "import" and len(command) > 1 and command[1] in ("c", "new"):
        case.commands += _following(command, rng)
        case.writes += _FOLLOWED
        case.files.setdefault(*MADE["filter-topics"])
    return case


_FOLLOWED = ["out", "again", "x.run", "x.svg"]


def _following(command: list[str], rng: random.Random) -> list[list[str]]:
    """Use the imported records: every command must accept what the readers accepted."""
    folder, form = command[1], rng.choice(("trec", "beir", "parquet", "csv", "bibtex", "jsonl"))
    index = ["index", folder, "--workers", "1"]
    chains = (
        [["stats", folder, "--json"], ["stats", folder, "--plot", "x.svg"]],
        [["lint", folder]],
        [command],
        [["forget", folder, "sources"], command],
        [["export", folder, "out", "--to", form], ["import", "again", "out"]],
        [["export", folder, "out", "--to", "ir_datasets"]],
        [index, ["search", folder, "--queries", "topics", "-o", "x.run", "--threads", "1"]],
        [index, ["recommend", folder, "Apples and pears", "-k", "30", "--bibtex"]],
        [index, ["recommend", folder, "Apples and pears", "-k", "30", "--json"]],
        [["filter", folder, "--topics", "entities.jsonl", "-o", "x.run"]],
    )
    return list(rng.choice(chains))


def _written_anyway(verb: str, command: list[str]) -> list[str]:
    """Files that a command changes without an option that names them."""
    if verb in ("import", "forget", "index", "tune"):
        return [word for word in command[1:2] if word in ("c", "new")]
    if verb == "search":
        return ["c/runs"]
    if verb == "report":
        return ["report.html"]
    return ["."] if verb == "filter" and "--output" not in command else []


def _mirror(rng: random.Random) -> dict[str, bytes]:
    """A mirror with its checksums, one of its files damaged."""
    files = {name: MADE[rng.choice(("tar-gz", "bibtex", "clusters"))][1] for name in _MIRRORED}
    sums = "".join(f"{sha256(data).hexdigest()}  {name}\n" for name, data in files.items())
    files["SHA256SUMS"] = sums.encode()
    one = rng.choice(sorted(files))
    return {f"mirror/{name}": damaged(files[name], rng) if name == one else files[name]
            for name in files}  # fmt: skip


_MIRRORED = ("cran.tar.gz", "cacm.tar.gz", "acm-cr.tar.gz", "blacklist.txt", "acl-anthology.tar.gz")
