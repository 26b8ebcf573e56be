"""Sentences that papers have about themselves ask for nothing, in wordings seen and not seen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from citebed.text.boilerplate import is_boilerplate
from citebed.text.sentences import split_sentences

# The phrases were made to fit these.
SEEN = """
We leave this to future work.
The authors declare no conflict of interest.
Table 3 shows the results of the ablation.
We thank the reviewers for their thoughtful remarks on neural ranking.
This work was supported by the National Yak Foundation under grant 4711.
The data that support the findings of this study are available from the corresponding author.
The remainder of this paper is organized as follows.
Section 2 reviews related work on citation recommendation.
Figure 4 depicts the architecture of our encoder.
In Section 5 we describe the user study and its participants.
A deeper analysis of query logs is left for future research.
Our code and models are publicly available at https://example.org/yaks.
We release our annotations to the community.
All authors read and approved the final manuscript.
The study was approved by the institutional review board of the Yak University.
Informed consent was obtained from all participants before the eye tracking began.
The authors would like to thank Ada Yak for help with crowdsourcing.
We are grateful to the anonymous referees.
The first two authors contributed equally.
The proof of the convergence theorem is deferred to Appendix B.
As can be seen in Figure 2, recall drops with longer queries.
The results of the retrieval experiments are summarised in Table 7.
Due to space limitations we report nDCG only.
The best results in each column are shown in bold.
Any opinions expressed here are those of the authors and do not reflect those of the sponsors.
Our main contributions are a new test collection and a strong baseline.
A comparison with commercial search engines is beyond the scope of this paper.
Finally, Section 7 concludes and names open problems of retrieval.
This article is structured as follows.
Permission to make digital or hard copies of part of this work is granted without fee.
Tables 5 and 6 compare BM25 with the dense retrievers.
The datasets generated during this study can be obtained on reasonable request.
Hyperparameters of the encoder are listed in Table A1.
""".strip().splitlines()

# These were written apart from the phrases, and are not to be fitted.
UNSEEN = """
Investigating other languages is a promising direction for future work.
We defer a study of long documents to a later paper.
There are no competing interests to report.
Fig. 6 plots precision against the number of feedback documents.
Many thanks to our colleagues at the library for annotating queries.
Financial support was provided by the Ministry of Yaks and by a travel grant.
No new data were created, so data sharing is not applicable to this article.
This paper proceeds as follows.
Section 4.2 details how pools were judged.
Algorithm 1 outlines the training of the ranker.
We will make the source code of our search engine public upon acceptance.
The source code can be downloaded from our website.
Both authors wrote the manuscript and discussed the findings on relevance.
Ethical approval was granted by the ethics committee of the Faculty of Yaks.
Participants gave written consent to the recording of their clicks.
I am indebted to Bo Yak for many discussions on indexing.
The author acknowledges funding from the Yak Research Council.
This research has received support from the European Yak Commission through project 12345.
See Appendix C for the prompts that we used with the language model.
From Table 9 we see that stemming helps short queries.
Detailed statistics of the collection can be found in Appendix A.
For brevity, we omit the scores of the query likelihood model.
Significant improvements over BM25 are marked in italics.
The views in this paper do not necessarily represent those of the funding agency.
The contributions of this work are threefold.
Handling of images is out of scope for this study.
The rest of the article describes our index and its compression.
Next, Section 3 introduces the notation for graphs.
Correspondence should be addressed to Yak, B.
This is an open access article licensed under the Creative Commons Attribution licence.
Equation 4 gives the probability of relevance.
Extending the approach to music recommendation remains a topic for further research.
The views of users and their complaints are collected in Table 12.
""".strip().splitlines()

# Sentences that want a citation, with the same words in them.
ASKING = """
Table retrieval has been studied with graph neural networks.
Future work on neural ranking followed this line and used transformers.
Conflicts of interest in peer review can be predicted from co-authorship networks.
Funding agencies use citation counts to rank applicants.
Thanks to attention, transformers model long dependencies between words.
Section headings help passage retrieval in scientific articles.
Code search engines match queries to functions.
Data availability differs widely between languages in machine translation.
Figure retrieval finds plots and diagrams in papers.
Open data sets of queries are rare in legal retrieval.
Tablet users scroll more than users of desktop computers.
Earlier studies leave users out and simulate their clicks.
Grants and awards of researchers have been used to recommend reviewers.
Ethics committees ask how search logs are made anonymous.
Contributions of single query terms are scored by BM25.
Informed users judge relevance differently from novices.
Bold and italic words get a higher weight in web search.
As shown in earlier work, stemming helps short queries.
The MovieLens ratings are widely used to evaluate collaborative filtering.
Acknowledging that relevance is graded, cumulated gain discounts lower ranks.
""".strip().splitlines()


@pytest.mark.parametrize("sentence", SEEN)
def test_boilerplate_is_known(sentence: str) -> None:
    assert is_boilerplate(sentence)


def test_most_boilerplate_is_known_in_words_that_were_not_looked_at() -> None:
    assert len(UNSEEN) == 33
    missed = [sentence for sentence in UNSEEN if not is_boilerplate(sentence)]
    assert len(missed) <= 6, missed


@pytest.mark.parametrize("sentence", ASKING)
def test_a_sentence_that_wants_a_citation_is_none(sentence: str) -> None:
    assert not is_boilerplate(sentence)


@pytest.mark.parametrize("mark", ["[?]", r"\cite{}", "[ ? ]"])
def test_where_a_citation_is_wanted_it_is_asked_for(mark: str) -> None:
    assert not is_boilerplate(f"Table 3 shows the results of the baselines {mark}.")


def test_long_sentences_take_no_time() -> None:
    for text in ("leave " * 100_000, "Table 1, " * 100_000, "we also " * 50_000):
        assert not is_boilerplate(text)


def test_sentences_with_which_real_papers_cite_are_none(shared_data: Path) -> None:
    sentences: list[str] = []
    for name in ("sentences", "contexts"):
        text = (shared_data / "acm-cr" / f"{name}.topics").read_text("utf-8")
        sentences += re.findall(r"<desc> Description:\n(.*?)\n\s*<narr>", text, re.DOTALL)
    assert len(sentences) == 552 + 269
    assert not [each for each in sentences if all(map(is_boilerplate, split_sentences(each)))]
