"""Decisions of a person: any steps and undo, saved and read back, never overwritten."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree
from tests.paper_samples import review_folder, sample_annotation, write_sample_pdf

from citebed.errors import CitebedError, FormatError
from citebed.papers.annotation import Annotation, annotation_xml
from citebed.papers.decisions import (
    Accept,
    Add,
    ChangeFront,
    ChangeMarker,
    ChangeReference,
    ChangeSentence,
    Decisions,
    Drop,
    Finish,
    JoinSentence,
    Merge,
    NewSentence,
    Split,
    SplitSentence,
    Step,
)
from citebed.papers.review import Review, StaleReview
from citebed.papers.review_state import (
    StepRefused,
    apply_decisions,
    apply_step,
    doubtful,
    initial_state,
    reviewed_annotation,
    write_out,
)


@pytest.fixture(scope="module")
def annotation(tmp_path_factory: pytest.TempPathFactory) -> Annotation:
    """The sample paper as a machine proposes it."""
    pdf = tmp_path_factory.mktemp("sample") / "sample.pdf"
    write_sample_pdf(pdf)
    return sample_annotation(pdf)


def after(annotation: Annotation, *steps: Step) -> Annotation:
    """The annotation after some steps, as they are kept."""
    decisions = Decisions(proposal="")
    for step in steps:
        decisions = decisions.with_step(write_out(apply_decisions(annotation, decisions), step))
    return reviewed_annotation(apply_decisions(annotation, decisions))


def texts(annotation: Annotation) -> list[list[str]]:
    """The sentences of each paragraph."""
    return [[each.text for each in context.sentences] for context in annotation.contexts]


def test_doubtful_items_are_asked_in_the_order_of_the_page(annotation: Annotation) -> None:
    state = initial_state(annotation)
    assert doubtful(state) == ["c2.2", "c3", "r5", "r9"]
    assert doubtful(state, 0.5) == []
    assert doubtful(initial_state(replace(annotation, abstract="")))[0] == "front"


def test_without_decisions_the_proposal_is_the_result(annotation: Annotation) -> None:
    assert after(annotation) == annotation
    assert after(annotation, Accept(item="c1.1"), Finish()) == annotation


def test_a_corrected_marker_changes_the_citations_of_its_sentence(
    annotation: Annotation,
) -> None:
    done = after(annotation, ChangeMarker(item="c2.2", marker=0, cites=("4",)))
    assert done.contexts[1].sentences[1].cites == ("4",)
    more = ChangeSentence(item="c1.3", cites=("2", "3", "9"))
    done = after(annotation, more, ChangeMarker(item="c1.3", marker=0, cites=("7",)))
    assert done.contexts[0].sentences[2].cites == ("7", "9")
    with pytest.raises(StepRefused, match="no '99'"):
        after(annotation, ChangeMarker(item="c2.2", marker=0, cites=("99",)))


def test_paragraphs_are_merged_split_dropped_and_numbered_again(annotation: Annotation) -> None:
    before = texts(annotation)
    done = after(annotation, Merge(item="c2"))
    assert texts(done) == [before[0], before[1] + before[2], *before[3:]]
    assert [each.context_id for each in done.contexts] == ["01", "02", "03", "04", "05"]
    split = after(annotation, Merge(item="c2"), Split(item="c3.1"))
    assert texts(split) == before
    dropped = after(annotation, Drop(item="c1"), Drop(item="c2"), Drop(item="c1", dropped=False))
    assert texts(dropped) == [before[0], *before[2:]]
    past = after(annotation, Drop(item="c2"), Merge(item="c1"))  # over one that is left out
    assert texts(past)[0] == before[0] + before[2]
    for wrong in (Merge(item="c6"), Split(item="c1.1"), Merge(item="c9"), Accept(item="c1.77")):
        with pytest.raises(StepRefused):
            after(annotation, wrong)


def test_a_paragraph_that_cites_nothing_any_more_is_left_out(annotation: Annotation) -> None:
    done = after(annotation, ChangeMarker(item="c2.2", marker=0, cites=()))
    assert len(done.contexts) == len(annotation.contexts) - 1


def test_sentences_are_split_and_joined_with_their_markers_and_places(
    annotation: Annotation,
) -> None:
    joined = after(annotation, JoinSentence(item="c1.2"))
    both = joined.contexts[0].sentences[1]
    assert both.cites == ("1", "2", "3")
    assert len(both.markers) == 2
    at = both.text.index("Later")
    again = after(annotation, JoinSentence(item="c1.2"), SplitSentence(item="c1.2", at=at))
    assert texts(again) == texts(annotation)
    mine, whole = again.contexts[0].sentences, annotation.contexts[0].sentences
    assert [each.cites for each in mine] == [each.cites for each in whole]
    assert mine[1].boxes[0] == pytest.approx(whole[1].boxes[0], abs=1)
    assert mine[2].boxes[-1] == pytest.approx(whole[2].boxes[-1], abs=1)
    state = apply_decisions(
        annotation, Decisions(proposal="", steps=(SplitSentence(item="c2.2", at=20),))
    )
    assert set(doubtful(state)) - state.decided == {"c3", "r5", "r9"}  # both halves are seen
    for place in (0, len(both.text)):
        with pytest.raises(StepRefused):
            after(annotation, JoinSentence(item="c1.2"), SplitSentence(item="c1.2", at=place))


def test_names_can_be_removed_and_restored_but_edited_text_stays(
    annotation: Annotation,
) -> None:
    state = initial_state(annotation)
    item = "c2.2"
    was = state.paragraphs[1].sentences[1].content
    on = after(annotation, ChangeSentence(item=item, anonymised=not was.anonymised))
    off = after(
        annotation,
        ChangeSentence(item=item, anonymised=not was.anonymised),
        ChangeSentence(item=item, anonymised=was.anonymised),
    )
    assert on.contexts[1].sentences[1].anonymised is not was.anonymised
    assert off == annotation
    own = after(
        annotation,
        ChangeSentence(item=item, text="Somebody showed that words matter [4]."),
        ChangeSentence(item=item, anonymised=True),
    )
    assert own.contexts[1].sentences[1].text == "Somebody showed that words matter [4]."


def test_a_missed_paragraph_is_added_with_its_citations(annotation: Annotation) -> None:
    text = "Shelves were mea-\nsured before. Fisher et al. [7] did\nso with care [3, 99]. "
    text += "Nobody else did."
    done = after(annotation, Add(after="c1", text=text))
    made = done.contexts[1]
    assert [each.text for each in made.sentences] == [
        "Shelves were measured before.",
        "[7] did so with care [3, 99].",
        "Nobody else did.",
    ]
    assert [each.cites for each in made.sentences] == [(), ("7", "3"), ()]
    assert (made.sentences[1].anonymised, made.section) == (True, "introduction")
    assert len(done.contexts) == len(annotation.contexts) + 1
    first = after(annotation, Add(section="related work", text="One cites [1]."))
    assert first.contexts[0].section == "related work"
    edited = after(annotation, Add(after="c1", text=text), Drop(item="c+1"))
    assert edited == annotation
    for wrong in (Add(after="c1", text=" "), Add(after="c77", text="One cites [1].")):
        with pytest.raises(StepRefused):
            after(annotation, wrong)


def test_what_the_software_makes_of_a_text_is_kept_as_it_was_made(review: Review) -> None:
    review.decide("sample", Add(after="c1", text="Archer et al. [1] counted."), 0)
    review.decide("sample", ChangeSentence(item="c+1.1", anonymised=False), 1)
    added, named = review.decisions("sample").steps
    assert isinstance(added, Add)
    assert isinstance(named, ChangeSentence)
    assert (added.text, added.sentences[0].text) == ("", "[1] counted.")
    assert named.text == "Archer et al. [1] counted."


def test_a_reference_is_a_candidate_a_doi_an_address_or_nothing(annotation: Annotation) -> None:
    def fifth(**given: Any) -> tuple[str | None, str | None, str | None]:
        done = after(annotation, ChangeReference(item="r5", **given)).references[4]
        return done.doi, done.url, done.doc_id

    assert fifth(doc_id="weeks") == ("10.5555/weeks", None, "weeks")
    assert fifth(doi="https://doi.org/10.5555/ABC.1") == ("10.5555/abc.1", None, None)
    assert fifth(url="https://example.org/x") == (None, "https://example.org/x", None)
    assert fifth() == (None, None, None)
    with pytest.raises(ValueError, match="is not a DOI"):
        ChangeReference(item="r5", doi="page 12")
    with pytest.raises(ValueError, match="is not a URL"):
        ChangeReference(item="r5", url="javascript:alert(1)")
    with pytest.raises(StepRefused, match="not a candidate"):
        fifth(doc_id="elsewhere")


def test_title_abstract_and_doi_are_changed_and_hold_nothing_that_xml_cannot(
    annotation: Annotation,
) -> None:
    done = after(annotation, ChangeFront(title="A\x0b new\x07 title\ufffe", doi="10.5555/own"))
    assert (done.title, done.doi, done.abstract) == (
        "A new title",
        "10.5555/own",
        annotation.abstract,
    )
    assert after(annotation, ChangeFront(doi="10.5555/own"), ChangeFront(doi="")).doi is None


def test_characters_that_xml_forbids_are_removed(annotation: Annotation) -> None:
    text = annotation_xml(replace(annotation, title="A\x00 title\x0b <of>\ufffe ours"))
    assert etree.fromstring(text.encode()).findtext("title") == "A title <of> ours"


# --- any steps ------------------------------------------------------------------------------

ITEMS = st.sampled_from(["front", *(f"c{n}" for n in range(1, 6)), "c2/1", "c1.2/2", "r5", "r9"])
SENTENCES = st.builds(lambda p, s: f"c{p}.{s}", st.integers(1, 5), st.integers(1, 4))
CITES = st.lists(st.sampled_from(["1", "4", "7", "11"]), max_size=3).map(tuple)
STEPS = st.one_of(
    st.builds(Accept, item=ITEMS | SENTENCES),
    st.builds(ChangeFront, title=st.none() | st.text(max_size=20), abstract=st.text(max_size=20)),
    st.builds(
        ChangeSentence,
        item=SENTENCES,
        text=st.none() | st.text(max_size=30),
        cites=st.none() | CITES,
        anonymised=st.none() | st.booleans(),
    ),
    st.builds(ChangeMarker, item=SENTENCES, marker=st.integers(0, 1), cites=CITES),
    st.builds(SplitSentence, item=SENTENCES, at=st.integers(0, 90)),
    st.builds(JoinSentence, item=SENTENCES),
    st.builds(Merge, item=ITEMS),
    st.builds(Split, item=SENTENCES),
    st.builds(Drop, item=ITEMS, dropped=st.booleans()),
    st.builds(
        Add,
        after=ITEMS,
        sentences=st.lists(
            st.builds(NewSentence, text=st.text(min_size=1, max_size=9), cites=CITES), max_size=2
        ).map(tuple),
    ),
    st.builds(ChangeReference, item=ITEMS, doi=st.none() | st.just("10.5555/x")),
    st.just(Finish()),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(steps=st.lists(st.none() | STEPS, max_size=25))
def test_any_steps_saved_and_read_back_give_the_same(
    annotation: Annotation, steps: list[Step | None]
) -> None:
    """``None`` takes the last step back, which gives exactly what was there before it."""
    decisions = Decisions(proposal="p")
    states = [initial_state(annotation)]
    for step in steps:
        if step is None:
            decisions = decisions.without_last()
            states = states[:-1] or states
        else:
            try:
                states.append(apply_step(states[-1], step, len(decisions.steps) + 1))
            except StepRefused:
                continue
            decisions = decisions.with_step(step)
        again = Decisions.model_validate_json(decisions.model_dump_json(exclude_none=True))
        assert again == decisions
        assert apply_decisions(annotation, again) == states[-1]
    before = [each.text for context in annotation.contexts for each in context.sentences]
    now = [each.content.printed for p in states[-1].paragraphs for each in p.sentences]
    assert all(p.sentences for p in states[-1].paragraphs)
    if not any(isinstance(step, ChangeSentence) for step in decisions.steps):  # nothing is lost
        assert len(" ".join(now).split()) >= len(" ".join(before).split())


# --- on disk --------------------------------------------------------------------------------


@pytest.fixture
def review(tmp_path: Path) -> Review:
    """A folder with one paper to confirm."""
    return Review(review_folder(tmp_path / "papers"))


def test_each_step_is_on_disk_and_the_proposal_is_never_changed(review: Review) -> None:
    proposal = (review.folder / "sample.review.json").read_bytes()
    review.decide("sample", Merge(item="c2"), 0, 12.5)
    review.decide("sample", Finish(), 1, 3)
    fresh = Review(review.folder)
    assert fresh.decisions("sample").steps == (Merge(item="c2"), Finish())
    assert fresh.decisions("sample").seconds == 15.5
    progress = fresh.progress("sample")
    assert (progress.asked, progress.open, progress.finished) == (3, 0, True)
    fresh.undo("sample", 2)
    assert fresh.decisions("sample").version == 3
    assert fresh.progress("sample").open == 3
    assert (review.folder / "sample.review.json").read_bytes() == proposal
    assert {path.suffix for path in review.folder.iterdir()} == {".json", ".xml", ".dois", ".pdf"}


def test_two_windows_do_not_overwrite_each_other(review: Review) -> None:
    review.decide("sample", Accept(item="c2.2"), 0)
    review.spend("sample", 20)  # which is not a step
    with pytest.raises(StaleReview):
        review.decide("sample", Merge(item="c2"), 0)
    with pytest.raises(StaleReview):
        review.undo("sample", 0)
    assert review.decide("sample", Merge(item="c2"), 1).version == 2
    assert review.undo("sample", 2).steps == (Accept(item="c2.2"),)


def test_a_step_that_is_refused_is_not_saved(review: Review) -> None:
    with pytest.raises(StepRefused):
        review.decide("sample", Split(item="c1.1"), 0)
    assert not (review.folder / "sample.decisions.json").exists()


@pytest.mark.parametrize(
    "content",
    [b"{", b"\xff\xfe", b"[]", b'{"format": "citebed decisions 1"}', b'{"proposal": 1}'],
)
def test_damaged_decisions_are_reported_and_not_changed(review: Review, content: bytes) -> None:
    path = review.folder / "sample.decisions.json"
    path.write_bytes(content)
    for act in (
        lambda: review.decisions("sample"),
        lambda: review.decide("sample", Finish(), 0),
        lambda: review.undo("sample", 0),
        lambda: review.spend("sample", 1),
        review.export,
    ):
        with pytest.raises(FormatError, match=r"sample\.decisions\.json"):
            act()
    assert path.read_bytes() == content
    assert "sample.decisions.json" in review.progress("sample").problem


def test_decisions_of_another_proposal_are_reported_and_not_changed(review: Review) -> None:
    review.decide("sample", Merge(item="c2"), 0)
    path = review.folder / "sample.decisions.json"
    before = path.read_bytes()
    proposal = review.folder / "sample.review.json"
    values = json.loads(proposal.read_text("utf-8"))
    values["annotation"]["title"] = "Annotated anew"
    proposal.write_text(json.dumps(values), "utf-8")
    with pytest.raises(FormatError, match="an older annotation"):
        review.decide("sample", Finish(), 1)
    assert path.read_bytes() == before


def test_links_are_neither_followed_nor_written_through(review: Review, tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("mine", "utf-8")
    (review.folder / "sample.xml").unlink()
    (review.folder / "sample.xml").symlink_to(mine)
    review.export()
    assert mine.read_text("utf-8") == "mine"
    assert not (review.folder / "sample.xml").is_symlink()
    (review.folder / "sample.decisions.json").symlink_to(mine)
    with pytest.raises(FormatError, match="a link"):
        review.decide("sample", Finish(), 0)


def test_an_invalid_proposal_is_reported(review: Review) -> None:
    for content in ("", "[]", "{}", '{"format": "citebed review 1", "annotation": {}}', "[" * 9999):
        (review.folder / "sample.review.json").write_text(content, "utf-8")
        with pytest.raises(FormatError, match=r"sample\.review\.json"):
            Review(review.folder).proposal("sample")
    with pytest.raises(CitebedError, match="no paper"):
        review.proposal("../sample")
