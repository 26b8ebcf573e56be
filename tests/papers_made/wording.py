"""Sentences, names and titles of generated papers, in the words of several fields."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Field:
    """The words of a field, and how it speaks of its work."""

    name: str
    things: tuple[str, ...]
    qualities: tuple[str, ...]
    methods: tuple[str, ...]
    journals: tuple[str, ...]
    citing: tuple[str, ...]
    """Sentences that cite: ``{P}`` in brackets, ``{T}`` as a part of the sentence."""
    plain: tuple[str, ...]
    headings: tuple[str, ...]
    language: str = "english"


_CITING = (
    "The growth of {t} was long held to depend on {t2} alone {P}.",
    "{T} found that {q} {t} respond to {m}, but not in every season.",
    "Since then, {m} has become the usual way to describe {t} {P}.",
    "Several groups repeated this with {q} {t} {P} and reached other conclusions {P}.",
    "In contrast, {T} argued that {t} are better explained by {t2}.",
    "This agrees with what is known of {q} {t} {P}, although {m} was not used there.",
    "A well-known account of {t} {P} begins with {t2}.",
    "As shown by {T}, the {q} part of {t} can be measured by {m}.",
    "We follow {T} and treat {t} as {q}.",
    "Long-term studies of {t} are rare {P}; most of them end after two years {P}.",
    "{T} and, later, {T} described {q} {t} in detail.",
    "Whether {m} is needed at all has been disputed {P}.",
)
_PLAIN = (
    "We asked whether {q} {t} differ from {t2} when nothing else is changed.",
    "The answer depends on how often {t} are observed, and by whom.",
    "None of these accounts says what happens to {t2} once {m} is withdrawn.",
    "Our measurements cover {n} sites and {n2} days, about {p}\\% of what was planned.",
    "For the well-mixed case the result is the same; for the {q} one it is not.",
    "Here we describe a simple, low-cost procedure for {m} that needs no special equipment.",
    "It is therefore useful to look at {t} and {t2} together.",
    "Each of the {n} samples was read twice by two people who did not know its origin.",
    "What remains is a question of {q} {t}, to which we return below (see Section~2).",
    "Values above {p} were rare (e.g.\\ at the northern sites), and we left them out.",
)
_HEADINGS = ("Introduction", "Related Work", "Method", "Results", "Discussion", "Conclusions")
_LIFE = ("Introduction", "Results", "Discussion", "Materials and Methods", "Conclusions")

BIOLOGY = Field(
    "biology",
    ("mosses", "root hairs", "pond snails", "alpine beetles", "leaf stomata", "seed banks"),
    ("slow-growing", "shaded", "young", "dormant", "salt-tolerant"),
    ("gene silencing", "isotope labelling", "field transplanting", "whole-mount staining"),
    ("Journal of Meadow Biology", "Annals of Moss Research", "Pond and Stream"),
    _CITING,
    _PLAIN,
    _LIFE,
)
PHYSICS = Field(
    "physics",
    ("spin chains", "soap films", "granular flows", "cold vapours", "thin magnets", "vortices"),
    ("weakly coupled", "driven", "disordered", "two-dimensional", "non-linear"),
    ("neutron scattering", "mean-field theory", "lock-in detection", "Monte Carlo sampling"),
    ("Letters on Soft Matter", "Journal of Cold Physics", "Physica Imaginaria B"),
    _CITING,
    _PLAIN,
    ("Introduction", "Model", "Experiment", "Results", "Discussion"),
)
HISTORY = Field(
    "history",
    ("salt roads", "parish registers", "guild letters", "river tolls", "village courts", "mills"),
    ("late medieval", "northern", "little-studied", "urban", "monastic"),
    ("prosopography", "archival counting", "map overlay", "close reading"),
    ("Past Roads", "The Archive Quarterly", "Journal of Village History"),
    _CITING,
    _PLAIN,
    ("Introduction", "The Sources", "Tolls and Their Keepers", "A Change of Hands", "Conclusion"),
)
MEDICINE = Field(
    "medicine",
    ("hand tremors", "wound dressings", "sleep records", "night fevers", "knee braces", "inhalers"),
    ("post-operative", "older", "insulin-dependent", "mild", "drug-resistant"),
    ("double-blind dosing", "home monitoring", "risk scoring", "case matching"),
    ("Bedside Medicine", "Annals of Quiet Care", "Journal of Small Trials"),
    _CITING,
    _PLAIN,
    ("Background", "Patients and Methods", "Results", "Discussion", "Conclusions"),
)
LAW = Field(
    "law",
    ("water rights", "lease terms", "harbour rules", "oral contracts", "bylaws", "fishing claims"),
    ("cross-border", "unwritten", "customary", "tax-exempt", "ill-defined"),
    ("purposive reading", "case comparison", "a balancing test", "statutory history"),
    ("Harbour Law Review", "Journal of Small Claims", "Comparative Bylaws"),
    _CITING,
    _PLAIN,
    ("Introduction", "The Rule and Its Reasons", "Exceptions", "A Proposal", "Conclusion"),
)
COMPUTING = Field(
    "computing",
    ("query logs", "sketch indexes", "log parsers", "cache traces", "user models", "word graphs"),
    ("session-level", "memory-bound", "self-tuning", "low-latency", "state-of-the-art"),
    ("gradient boosting", "delta encoding", "learning-to-rank", "round-robin scheduling"),
    ("Transactions on Small Data", "Journal of Idle Systems", "Search Letters"),
    _CITING,
    _PLAIN,
    _HEADINGS,
)
GERMAN = Field(
    "geschichte",
    (
        "Zollstellen",
        "Pfarrbücher",
        "Flusshäfen",
        "Mühlenrechte",
        "Handwerkerbünde",
        "Straßenkarten",
    ),
    ("spätmittelalterliche", "städtische", "überlieferte", "nördliche", "größere"),
    ("Archivzählung", "Quellenkritik", "Überlieferungsgeschichte", "Kartenvergleich"),
    ("Zeitschrift für Wegegeschichte", "Blätter für Ortskunde", "Archiv für Mühlenwesen"),
    (
        "Die Bedeutung der {t} wurde lange unterschätzt {P}.",
        "{T} zeigte, dass {q} {t} ohne {m} kaum zu verstehen sind.",
        "Für {t} liegen mehrere Untersuchungen vor {P}, für {t2} dagegen wenige {P}.",
        "Dem widerspricht {T} mit dem Hinweis auf {q} {t2}.",
    ),
    (
        "Wir fragen daher, ob {q} {t} sich von {t2} unterscheiden und warum.",
        "Die Quellen sind über {n} Orte verstreut und größtenteils ungedruckt.",
        "Über die Größe der {t} läßt sich ohne {m} wenig sagen.",
    ),
    ("Einleitung", "Forschungsstand", "Quellen", "Ergebnisse", "Schluss"),
    "ngerman",
)
FRENCH = Field(
    "linguistique",
    ("adverbes", "voyelles nasales", "dialectes ruraux", "registres", "pronoms", "énoncés"),
    ("méconnus", "régionaux", "élidés", "littéraires", "archaïques"),
    ("l’analyse acoustique", "l’enquête orale", "la méthode comparée", "l’étude de corpus"),
    ("Revue des parlers", "Cahiers de phonétique", "Études de corpus"),
    (
        "L’évolution des {t} a longtemps été décrite à part {P}.",
        "{T} ont montré que les {t} {q} relèvent de {m}.",
        "Plusieurs travaux portent sur les {t} {P}, d’autres sur les {t2} {P}.",
        "À l’inverse, {T} soutient que les {t2} précèdent les {t}.",
    ),
    (
        "Nous étudions ici les {t} {q} dans {n} villages, où ils sont encore employés.",
        "Le résultat dépend du nombre de {t2} observés et de leur âge.",
        "Aucune de ces hypothèses n’explique pourquoi les {t} ont été conservés là-bas.",
    ),
    ("Introduction", "État de la question", "Corpus et méthode", "Résultats", "Conclusion"),
    "french",
)
SPANISH = Field(
    "medicina",
    ("vacunas", "fiebres", "ensayos clínicos", "diagnósticos", "niños", "hábitos de sueño"),
    ("crónicas", "tempranos", "pequeños", "rurales", "estacionales"),
    ("la monitorización", "el análisis de señales", "la revisión sistemática", "la cohorte"),
    ("Revista de Medicina Serrana", "Anales de Clínica Menor", "Salud y Montaña"),
    (
        "La relación entre {t} y {t2} se describió hace décadas {P}.",
        "{T} señalaron que {m} es útil también en estos casos.",
        "Varios estudios tratan los {t} {P}, pero pocos los {t2} {P}.",
        "Según {T}, {m} no basta para explicar la evolución.",
    ),
    (
        "En este trabajo preguntamos cómo cambian los {t} {q} según la región y el año.",
        "Los datos proceden de {n} centros y se recogieron durante {n2} días.",
        "No se conoce aún qué ocurre con los {t2} después de la intervención.",
    ),
    ("Introducción", "Antecedentes", "Métodos", "Resultados", "Conclusión"),
    "spanish",
)

GIVEN = ("Anna", "Bertil", "Chiara", "Dmitri", "Elena", "Farid", "Greta", "Hugo", "Ines", "Jonas")
FAMILIES = (
    *("Abelson", "Bergström", "Castellano", "Dunmore", "Eriksen", "Fairbanks", "Gallagher"),
    *("Hoffmann", "Ibáñez", "Jankowski", "Kowalczyk", "Lindqvist", "McAllister", "Nakamura"),
    *("O'Brien", "Petrov", "Quintero", "Rasmussen", "Schröder", "Takahashi", "Underhill"),
    *("van der Meer", "Whitcombe", "Xu", "Yamamoto", "Zimmermann", "de la Cruz", "Lévy-Bruhn"),
    *("Marchetti", "Novák", "Okafor", "Pellegrini", "Strand", "Thackeray", "Wu", "Li"),
)


def sentence(field: Field, template: str, draw: random.Random) -> str:
    """Return a template with its places filled, except those for citations."""
    thing, other = draw.sample(field.things, 2)
    filled = (
        template.replace("{t2}", other)
        .replace("{t}", thing)
        .replace("{q}", draw.choice(field.qualities))
        .replace("{m}", draw.choice(field.methods))
        .replace("{n2}", str(draw.randint(20, 90)))
        .replace("{n}", str(draw.randint(3, 19)))
        .replace("{p}", f"{draw.randint(1, 9)}.{draw.randint(1, 9)}")
    )
    return filled if filled.startswith("{") else filled[0].upper() + filled[1:]


def title(field: Field, draw: random.Random) -> str:
    """A title in the words of a field."""
    thing, other = draw.sample(field.things, 2)
    shapes = {
        "english": (
            f"{draw.choice(field.qualities)} {thing} and the role of {draw.choice(field.methods)}",
            f"on the origin of {thing} in {draw.choice(field.qualities)} {other}",
            f"{draw.choice(field.methods)} for {thing}: a second look at {other}",
            f"what {draw.choice(field.qualities)} {thing} tell us about {other}",
        ),
        "ngerman": (
            f"{draw.choice(field.qualities)} {thing} und {other} im Vergleich",
            f"zur Entstehung der {thing}: {draw.choice(field.methods)} und {other}",
        ),
        "french": (
            f"les {thing} {draw.choice(field.qualities)} et leurs {other}",
            f"sur l’origine des {thing}: étude des {other}",
        ),
        "spanish": (
            f"sobre los {thing} {draw.choice(field.qualities)} y los {other}",
            f"estudio de {thing} mediante {draw.choice(field.methods)}",
        ),
    }
    said = draw.choice(shapes[field.language])
    return said[0].upper() + said[1:]
