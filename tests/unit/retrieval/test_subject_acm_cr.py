"""On ACM-CR: everyday sentences are on another subject, what its papers say is not."""

from __future__ import annotations

from pathlib import Path

from tests.unit.retrieval.search.test_exact_acm_cr import texts_of

from citebed.retrieval.index.index import open_index
from citebed.retrieval.recommending.silence import Subject

FIRST = """
Mix the flour with two eggs and bake for 40 minutes.
My sister called last night to say that the train had been cancelled again.
The dog barked at the postman until he dropped the parcels and ran.
Please remember to water the plants on the balcony while I am away.
It rained so hard on Saturday that the whole garden was under water.
We drove to the coast, ate fish and chips, and watched the boats come in.
The plumber says that the kitchen tap needs a new washer.
Her grandmother knitted a red scarf for each of the five children.
He scored twice in the second half, and the crowd sang until midnight.
The doctor told me to rest for a week and drink a lot of water.
Put the chicken in a hot oven and turn it after half an hour.
I forgot my umbrella at the restaurant, so I came home wet.
The landlord has raised the rent for the second time this year.
Our neighbours painted their fence blue and planted roses in front of it.
She bought a second-hand car from a man who lives near the station.
""".strip().splitlines()
SECOND = """
Peel the potatoes, boil them until soft, and mash them with butter and milk.
My uncle keeps bees and sells the honey at the market every Sunday.
The children built a snowman in front of the school and gave it a carrot for a nose.
Can you pick up some bread and cheese on your way home?
The bride arrived an hour late because her shoes had been left in the hotel.
He broke his leg while skiing and spent his holiday in bed.
The cat sleeps on the radiator all winter and hardly ever goes outside.
We moved into the new flat in March, and the boxes are still in the hall.
The mayor opened the swimming pool and then fell into it.
Add a pinch of salt and let the soup simmer for twenty minutes.
The queue at the post office was so long that I gave up and went for lunch.
His father was a baker who got up at three in the morning all his life.
They lost the keys to the cottage and had to climb in through the window.
The wind blew the roof off the barn, and the cows stood in the rain all night.
I would love to visit Portugal in spring, when it is warm but not too hot.
""".strip().splitlines()


def test_everyday_sentences_are_strange_and_those_of_papers_are_not(acm_cr_indexed: Path) -> None:
    subject = Subject(open_index(acm_cr_indexed))
    for sentences in (FIRST, SECOND):
        assert sum(map(subject.is_strange, sentences)) >= 14
    papers = texts_of(acm_cr_indexed)
    assert sum(map(subject.is_strange, papers)) <= 0.005 * len(papers)
