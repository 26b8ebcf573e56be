"""Porter's stemmer: his paper's examples, and Snowball's own where the two are meant to agree."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citebed.retrieval.analysis.porter import porter

Stemmer = pytest.importorskip("Stemmer")

# From the paper, each taken through all steps; and Porter's own departures, as Lucene has them.
STEMS = """
caresses caress   ponies poni   ties ti   cats cat   feed feed   agreed agre   plastered plaster
bled bled   motoring motor   sing sing   hopping hop   tanned tan   falling fall   hissing hiss
fizzed fizz   failing fail   filing file   happy happi   sky sky   relational relat
conditional condit   rational ration   electriciti electr   hopefulness hope   replacement replac
adjustment adjust   adoption adopt   probate probat   rate rate   cease ceas   controll control
roll roll   generalizations gener   oscillators oscil   technology technolog   possibly possibl
revving rev   as as   𝑘s 𝑘
"""
ENDINGS = (
    "s sses ies eed ed ing y ational tional enci anci izer abli alli entli eli ousli ization ation "
    "ator alism iveness fulness ousness aliti iviti biliti icate ative alize iciti ical ful ness "
    "al ance ence er ic able ible ant ement ment ent sion tion ou ism ate iti ous ive ize e ll"
)
WORDS = st.builds(
    lambda letters, endings: letters + "".join(endings),
    st.text("aeiouybdfglmnprst", max_size=6),
    st.lists(st.sampled_from(ENDINGS.split(" ")), max_size=3),
)
DEPARTURES = re.compile(r"log[iy]|bl[iy]|([^aeioubdfgmnprtlsz])\1")


def test_known_stems() -> None:
    words = STEMS.split()
    assert [porter(word) for word in words[::2]] == words[1::2]


@given(WORDS)
def test_as_snowball_where_porter_did_not_depart_from_his_paper(word: str) -> None:
    if len(word) > 2 and DEPARTURES.search(word) is None:
        assert porter(word) == Stemmer.Stemmer("porter", 0).stemWord(word)


@given(st.text(min_size=1))
def test_every_word_has_a_stem(word: str) -> None:
    assert porter(word)
