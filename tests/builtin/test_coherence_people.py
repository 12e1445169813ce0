"""That what the judge finds confusing is so, in summaries by people and by machines, and what it leaves open."""

from __future__ import annotations

from random import Random

import pytest

from benchmarks.common import DATA
from benchmarks.confusion import PEOPLE, annotated, intact, labels_of, planted, report
from redraft.builtin.coherence.confusion import doubts

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not (DATA / PEOPLE).is_file(), reason="needs $REDRAFT_DATA")]


def test_nine_of_ten_findings_of_each_type_are_right() -> None:
    lines = "\n".join(report(DATA)).partition("finding: right")[2].partition("nothing planted")[0].splitlines()
    shares = [float(share.partition(")")[0]) for line in lines for share in line.split("(")[1:]]
    assert len(shares) >= 2 * 2 * 5  # two sets, two halves, five types
    assert min(shares) >= 0.9


def test_summaries_as_they_were_written_are_hardly_accused() -> None:
    for of, most in (("by people", 0.005), ("by GPT-4", 0.005)):
        verdicts = [own for its, _, said in intact(DATA) if its == of for own in doubts("\n\n".join(said))]
        assert sum(map(bool, verdicts)) <= most * len(verdicts)


def test_people_mark_what_is_found_and_what_is_left_open_is_not_surely_clear() -> None:
    found = [bool(one.labels) for one in annotated(DATA) if one.doubts]
    left = [bool(one.labels) for one in annotated(DATA) if not one.doubts]
    assert sum(found) >= 0.9 * len(found) > 0
    assert sum(left) > 0.1 * len(left), "where people mark fewer, clear could be said"


def test_a_planted_fault_stands_where_it_is_said_to() -> None:
    said = [
        "Ada walks to the old mill by the sea.",
        *(f"She was selling them mill number {n} by the sea." for n in range(2, 6)),
    ]
    found = {one.fault: one for one in planted(said, "He sleeps.", Random(1))}
    assert {"said again", "begins with a pronoun", "cut short", "a word doubled"} <= found.keys()
    again = found["said again"]
    assert again.sentences.index(again.sentences[again.at]) < again.at - 1
    strange = found["a pronoun of another summary"]
    assert strange.sentences[strange.at] == "He sleeps."
    assert all(one.sentences != tuple(said) for one in found.values())


def test_a_mark_is_found_however_its_spaces_are() -> None:
    entry = {
        "singles": [{"span": "goes\n home", "labels": ["salience"]}, {"span": "Ada", "labels": ["language"]}],
        "relations": [{"span_a": "Ada sleeps.", "span_b": "She wakes", "shared_labels": ["inconsistency"]}],
    }
    found = labels_of("Ada goes home. Ada sleeps.\n\nShe wakes. It rains.", entry)
    assert found == [{"salience"}, {"inconsistency"}, {"inconsistency"}, set()]
