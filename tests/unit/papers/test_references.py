"""References in the styles of many fields, each made up."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference_styles import STYLES, Work, in_lines
from tests.strategies import ANY_TEXT

from citebed.papers.references import ParsedReference, join_lines, parse_reference
from citebed.text.names import canonical_name, family_name

AUTHORS = ("Doe, Jane", "de Vries, Kees", "Öztürk, W. Bruce")
TITLE = "Learning a Quiet Model of Noise"


def test_acm() -> None:
    found = parse_reference(
        "Jane Doe, Kees de Vries, and W. Bruce Öztürk. 2018. Learning a Qui-\net Model of Noise. "
        "In Proceedings of the 9th Conference on Noise (NOISE ’18). ACM, New\nYork, NY, USA, "
        "135–4. https://doi.org/10.\n1145/3209978.3209985"
    )
    assert found == ParsedReference(
        text="Jane Doe, Kees de Vries, and W. Bruce Öztürk. 2018. Learning a Quiet Model of Noise. "
        "In Proceedings of the 9th Conference on Noise (NOISE ’18). ACM, New York, NY, USA, "
        "135–4. https://doi.org/10.1145/3209978.3209985",
        authors=AUTHORS,
        title=TITLE,
        year=2018,
        venue="Proceedings of the 9th Conference on Noise",
        doi="10.1145/3209978.3209985",
        url="https://doi.org/10.1145/3209978.3209985",
        confidence=found.confidence,
    )
    assert found.confidence > 0.9


TWO = ("Doe, J.", "Roe, R.")


@pytest.mark.parametrize(
    ("text", "authors"),
    [
        (f"J. Doe and R. Roe. {TITLE}. In NOISE, pages 1–2, 2018.", TWO),
        (f"J. Doe and R. Roe, “{TITLE},” in Proc. NOISE, 2018, pp. 1–2.", TWO),
        (f"Doe, J., Roe, R.: {TITLE}. In: NOISE, pp. 1–2 (2018)", TWO),
        (f"Doe, J., & Roe, R. (2018). {TITLE}. Noise, 3(1), 1–2.", TWO),
        (f"Doe J, Roe RA. {TITLE}. J Noise. 2018;12:3-4.", ("Doe, J", "Roe, RA")),
        (f"Doe J, Bai X-c, Choo S-AS (2018) {TITLE}. Air 3:1",
         ("Doe, J", "Bai, X-c", "Choo, S-AS")),
        (f"Doe, J. & Roe, R. {TITLE}. J. Noise 12, 3–4 (2018).", TWO),
        (f"Doe, J.; Roe, R. A. {TITLE}. J. Noise 2018, 12, 3–4.", ("Doe, J.", "Roe, R. A.")),
        (f"J. Doe, R. Roe, {TITLE}, J. Noise 12 (2018) 3–4.", TWO),
        (f"J. Doe and R. Roe, {TITLE}, SIAM J. Noise 12, 3 (2018).", TWO),
        (f"Jane Doe, {TITLE}, Annals of Noise 12 (2018), no. 3, 3–4.", ("Doe, Jane",)),
        (f"Doe, J., Roe, R., 2018. {TITLE}. J. Noise 12, 3–4.", TWO),
        (f"Doe, J., Roe, R. 2018a. {TITLE}. Noise 12: 3-14", TWO),
        (f"Doe, J., Roe, R., … Poe, E. (2018). {TITLE}. Noise, 3, 1.", (*TWO, "Poe, E.")),
        (f"Doe, Jane, and Rik Roe. “{TITLE}.” Noise 12 (2018): 3.", ("Doe, Jane", "Roe, Rik")),
        (f"Jane Doe and Rik Roe (2018) {TITLE}. Noise 12:3–4", ("Doe, Jane", "Roe, Rik")),
        (f"Jane M. Doe. 2018. {TITLE}. In NOISE. 1–2.", ("Doe, Jane M.",)),
        (f"Jane M. Doe (2018). {TITLE}. Noise, 3:1–2.", ("Doe, Jane M.",)),
        (f"Jane M. Doe. {TITLE}. In NOISE, 2018.", ("Doe, Jane M.",)),
        (f"J. Ann Doe, Rik Roe, and Z. Yu. 2018. {TITLE}. In NOISE.",
         ("Doe, J. Ann", "Roe, Rik", "Yu, Z.")),
        (f"Jane Doe et al. 2018. {TITLE}. In NOISE.", ("Doe, Jane",)),
        (f"Jane Doe, Rik Roe, and 10 others. 2018. {TITLE}. In NOISE.", ("Doe, Jane", "Roe, Rik")),
        (f"World Noise Organization. 2018. {TITLE}. Geneva.", ("World Noise Organization",)),
        (f"National Office of Noise. (2018). {TITLE}. Paris.", ("National Office of Noise",)),
        (f"Kees von Moe Jr. 2018. {TITLE}. In NOISE.", ("von Moe, Jr, Kees",)),
        (f"von Moe, K., Jr. (2018). {TITLE}. Noise, 3.", ("von Moe, Jr., K.",)),
        (f"Łukasz Żółć and Đorđe Ćirić. 2018. {TITLE}. In NOISE.",
         ("Żółć, Łukasz", "Ćirić, Đorđe")),
        (f"张伟, 李娜. {TITLE}. 2018, 41(3): 1-10.", ("张伟", "李娜")),
    ],
)  # fmt: skip
def test_styles(text: str, authors: tuple[str, ...]) -> None:
    found = parse_reference(text)
    assert (found.authors, found.title, found.year) == (authors, TITLE, 2018)


@pytest.mark.parametrize(
    ("text", "title", "venue"),
    [
        ("J. Doe. Is it heard? J Noise. 2018;1:2.", "Is it heard?", "J Noise"),
        ("J. Doe. 2018. Is it heard? Rooms that say nothing. In AIR. 1.",
         "Is it heard? Rooms that say nothing", "AIR"),
        ("J. Doe. Walls that hear. A study of what large rooms keep. J. Air 3, 1 (2018).",
         "Walls that hear. A study of what large rooms keep", "J. Air"),
        ("Doe J. Noise in C. elegans vs. D. rerio. J Noise. 2018 Mar;1:2.",
         "Noise in C. elegans vs. D. rerio", "J Noise"),
        ("J. Doe. 2018. “Who hears?” What rooms say. In AIR. 1.",
         "“Who hears?” What rooms say", "AIR"),
        ("J. Doe. 2018. Quiet 4.0 for Rooms. CoRR abs/1306.2597 (2018).",
         "Quiet 4.0 for Rooms", "CoRR"),
        ("J. Doe, Rooms, walls, and doors, ACM Comput. Rooms 4, 3 (2018).",
         "Rooms, walls, and doors", "ACM Comput. Rooms"),
        ("J. Doe. 2018. Walls (2nd ed.). MIT Press.", "Walls", "MIT Press"),
        ("Doe, J.: Walls, 2nd edn. MIT Press, Cambridge (2018)", "Walls", "MIT Press"),
        ("J. Doe. Walls that hear. PhD thesis, Nowhere, 2018.", "Walls that hear", "PhD thesis"),
        ("J. Doe. 2018. Walls that hear. bioRxiv 2018.01.02.12 (2018)",
         "Walls that hear", "bioRxiv"),
        ("J. Doe et al., Phys. Rev. Lett. 120, 1234 (2018).", "", "Phys. Rev. Lett"),
        ("Doe, J. & Roe, R. Nature 512, 34–36 (2018).", "", "Nature"),
    ],
)  # fmt: skip
def test_titles_and_venues(text: str, title: str, venue: str) -> None:
    found = parse_reference(text)
    assert (found.title, found.venue, found.year) == (title, venue, 2018)


@pytest.mark.parametrize(
    ("text", "doi", "arxiv", "url"),
    [
        ("A. https://doi.org/10.1145/\n3308558.3313706", "10.1145/3308558.3313706", None,
         "https://doi.org/10.1145/3308558.3313706"),
        ("A. https://doi.org/10. 1145/3127479.3127492", "10.1145/3127479.3127492", None,
         "https://doi.org/10.1145/3127479.3127492"),
        ("A. doi:10.1000/x.2018.\n12345. 2018.", "10.1000/x.2018.12345", None, None),
        ("A. doi: 10.1073/pnas.\n1710231115", "10.1073/pnas.1710231115", None, None),
        ("A. doi:10.1371/jou\nrnal.pone.1. 2018.", "10.1371/journal.pone.1", None, None),
        ("A. doi:10.1017/S0956-\n79680-3. 2018.", "10.1017/s0956-79680-3", None, None),
        ("A. doi:10.1002/sim_\n5123. 2018.", "10.1002/sim_5123", None, None),
        ("A. doi:10.1016/S0923-2508\n(01)01251-7", "10.1016/s0923-2508(01)01251-7", None, None),
        ("A. doi:10.1023/A\n:1010933404324", "10.1023/a:1010933404324", None, None),
        ("A. doi:10.1111/j.1365-2672.\nx", "10.1111/j.1365-2672.x", None, None),
        ("A. doi:10.1000/x18\n12. Doe, J.", "10.1000/x18", None, None),
        ("A. doi:10.1016/s0378-7753(99)0019\n5-0.", "10.1016/s0378-7753(99)00195-0", None, None),
        ("A. doi:10.1046/j.136\n5-313x.19.6.x", "10.1046/j.1365-313x.19.6.x", None, None),
        ("A. doi:10.1504/ijhpcn.20\n12.046370.", "10.1504/ijhpcn.2012.046370", None, None),
        ("A. doi:10.1000/x18\n12.05.2019.", "10.1000/x18", None, None),
        ("A. doi:10.1000/x18\n45-67.", "10.1000/x18", None, None),
        ("A. doi:10.1000/x18.\n2018. In Walls.", "10.1000/x18", None, None),
        ("A. doi:10.1000/x18.\narXiv:1805.01234", "10.1000/x18", "1805.01234", None),
        ("A. doi:10.1000/x.18PMID: 12345.", "10.1000/x.18", None, None),
        ("A. doi:10.1000/x.18.Accessed 2018.", "10.1000/x.18", None, None),
        ("A. doi:10.1000/x.18.[PubMed]", "10.1000/x.18", None, None),
        ("A. arXiv:1805.\n01234 (2018)", None, "1805.01234", None),
        ("A. arXiv:hep-\nth/9901001", None, "hep-th/9901001", None),
        ("A. https://a.example/b-\nc_d/e", None, None, "https://a.example/b-c_d/e"),
        ("A. https://a.example/b\n-c.html", None, None, "https://a.example/b-c.html"),
        ("A. http:\n//a.example/b.cfm?id=1", None, None, "http://a.example/b.cfm?id=1"),
        ("A. https://a.example/long-\nname.pdf. 2018.", None, None, "https://a.example/long-name.pdf"),
        ("A. https://a.example/b\nAccessed 2018.", None, None, "https://a.example/b"),
        ("A. arXiv:1805.01234v2 (2018)", None, "1805.01234", None),
        ("A. doi:10.48550/arXiv.1805.01234", "10.48550/arxiv.1805.01234", "1805.01234", None),
    ],
)  # fmt: skip
def test_identifiers(text: str, doi: str | None, arxiv: str | None, url: str | None) -> None:
    found = parse_reference(text)
    assert (found.doi, found.arxiv, found.url) == (doi, arxiv, url)


@pytest.mark.parametrize(
    "text",
    [
        "Echo guide. https://echo.example.org/guide (accessed 3 March 2020).",
        "Echo. [n. d.]. Echo User Guide. Retrieved March 3, 2020 from https://echo.example.org",
    ],
)
def test_the_day_it_was_looked_at_is_not_a_year(text: str) -> None:
    assert parse_reference(text).year is None


def test_what_is_not_there_is_empty() -> None:
    assert parse_reference("") == ParsedReference("")
    assert parse_reference("2018.") == ParsedReference("2018.")
    assert parse_reference("Jane Doe. Listening in rooms.").confidence < 0.5


def test_words_broken_at_a_blank_are_joined_too() -> None:
    assert join_lines("Ver- spoor, pre- and post-noise") == "Verspoor, pre- and post-noise"


NAMES = ("Doe, Jane", "van Dam, Kees", "Öz, W. Bruce", "O'Neil, Pat", "Li-Wang, Mei", "Poe, E. A.")


@pytest.mark.parametrize("style", STYLES)
@given(
    names=st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True),
    title=st.sampled_from(
        (
            "Learning a quiet model of noise",
            "Whispers: how walls keep what they hear",
            "Who listens to large rooms?",
            "The optimum hearing framework for doors, walls, and windows",
        )
    ),
    year=st.integers(1950, 2025),
    width=st.integers(30, 120),
    seed=st.integers(0, 99),
)
def test_every_style_is_read_back(
    style: str, names: list[str], title: str, year: int, width: int, seed: int
) -> None:
    work = Work(title, tuple(names), year, doi="10.1000/quiet.2018.123")
    found = parse_reference(in_lines(STYLES[style](work), random.Random(seed), width))
    assert (found.title.replace("-", ""), found.year) == (title, year)
    assert family_name(found.authors[0]) == family_name(names[0])


@given(ANY_TEXT)
def test_no_text_is_too_much(text: str) -> None:
    found = parse_reference(text)
    assert 0 <= found.confidence <= 1
    assert all(name == canonical_name(name) for name in found.authors)
    assert parse_reference(found.text) == parse_reference(text)
