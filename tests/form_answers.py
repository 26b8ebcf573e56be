"""Sheets, and what people answer to them, made at random: what a form must give back."""

from __future__ import annotations

from random import Random

from citebed.judging.forms.sheet import Answers, Entry, ListedQuery, Rating, Sheet
from citebed.judging.settings import CampaignSettings

GRADES = ("not relevant: not needed", "of some use", "important", "essential: needed")
TITLES = (
    "A vector space model for automatic indexing",
    "What is relevant, and what is not",
    "Relevant: a survey of relevance [extended version]",
    "Comment: on Q1: [4] and QUESTION 2: as in [3] Salton",
    "Über die Größe von Straßen – Ἀρχιμήδης, Пушкин и 検索モデルの評価 (第2版)",
    "On the automatic derivation of very long titles that nobody would ever say aloud, with an "
    "appendix, an index and a preface, written by a committee and revised by another one, part 4",
    "Deoxyribonucleicacidpolymerasedependentnucleotidyltransferaseinhibitoractivationpathway42",
    "<b>Bold</b> & \"quoted\" 'titles'\nwith\x00 control\x07 characters, relevant (x), x",
    "",
)
AUTHORS = ("Salton, Wong, Yang", "O'Brien; Łukasz Żółć", "", "D. Knuth & É. Gröbner", "李小明")
QUESTIONS = (
    "How can documents be ranked?",
    "Does stemming help? If so, by how much, and in which languages of those that we looked at "
    "would a user notice the difference at all?",
    "Warum ist “Relevanz” schwer – und für wen?",
    "Как искать статьи, на которые стоит ссылаться?",
    "x < y && y > z: is <b>this</b> a 'question'; -- or not?",
    "In which of the 4 cases does [3] fail, and does Q1 matter?",
    "どのように検索すればよいか",
)
COMMENTS = (
    "", "", "", "only section 4", "see also [3] and 'x'", "<script>alert(1)</script>",
    "nicht mein Gebiet – leider, but my co-author would know it, and she says that it is rather "
    "old and was never published in the form in which it is cited by everybody",
)  # fmt: skip


def random_entry(rng: Random, number: int) -> Entry:
    """A paper with an awkward title."""
    url = rng.choice((None, f"https://example.org/paper?q1=5&q2=[3]&n={number}"))
    year = rng.choice((None, 1975, 2026))
    return Entry(number, rng.choice(TITLES), rng.choice(AUTHORS), year, url)


def random_sheet(rng: Random, phase: int) -> Sheet:
    """A small sheet of a phase."""
    numbers = sorted(rng.sample(range(1, 14), rng.randint(1, 8)))
    entries = tuple(random_entry(rng, number) for number in numbers)
    asked = tuple(
        ListedQuery(
            query,
            rng.choice(QUESTIONS),
            tuple(random_entry(rng, number) for number in range(1, rng.randint(2, 6))),
            rng.choice((None, "approved drugs: better wording: [x] approve: yes?")),
        )
        for query in range(1, rng.randint(2, 4))
    )
    code = "-".join("".join(rng.choices("23456789ABCDEFGHJK", k=4)) for _ in range(4))
    settings = CampaignSettings(
        "Citing for relevance: a collection", "collection", GRADES,
        organiser="The organisers", contact="o@example.org",
    )  # fmt: skip
    return Sheet(
        code=code, phase=phase, campaign="cr26", settings=settings,
        person="Ann \"A\" O'Hara\nBcc: x <b>", paper=rng.choice(TITLES[:-1]),
        link=f"https://example.org/judge/{code}",
        references=entries if phase == 1 else (), queries=asked if phase == 2 else (),
    )  # fmt: skip


def random_answers(rng: Random, sheet: Sheet, questions: int = 3) -> Answers:
    """The answers of an assessor who leaves some questions open."""
    answers = Answers(sheet.code, opted_out=rng.random() < 0.2)
    if sheet.phase == 1:
        asked = [number for number in range(1, questions + 1) if rng.random() < 0.8]
        answers.questions = {number: rng.choice(QUESTIONS) for number in asked}
        for number in asked:
            for entry in sheet.references:
                if rng.random() < 0.7:
                    grade = rng.choice((1, 2, 3, 4, None))
                    answers.ratings[number, entry.number] = Rating(grade)
        return answers
    for query in sheet.queries:
        for entry in query.entries:
            if rng.random() < 0.75:
                said = Rating(rng.choice((1, 0, None)), rng.choice(COMMENTS))
                answers.ratings[query.number, entry.number] = said
        if query.stated is not None and rng.random() < 0.8:
            answers.approved[query.number] = rng.choice((True, *QUESTIONS))
    return answers
