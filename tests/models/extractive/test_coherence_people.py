"""That the judge goes on seeing what people see, on the half of the books that it was developed on."""

from __future__ import annotations

import inspect

import pytest

from benchmarks.common import DATA
from benchmarks.confusion import DEVELOPED, PEOPLE, auc, cross_validated, fit, half_of, judged, labels_of
from redraft.models.extractive.coherence import weighing

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not (DATA / PEOPLE).is_file(), reason="needs $REDRAFT_DATA")]


def test_people_mark_what_scores_high() -> None:
    own = [one for one in judged(DATA) if half_of(one.book) == DEVELOPED]
    assert auc(own) > 0.68
    assert 0.09 < sum(one.flagged for one in own) / len(own) < 0.14


def test_so_they_do_in_books_that_the_weights_do_not_come_from() -> None:
    assert cross_validated(DATA) > 0.64


def test_the_weights_are_those_that_the_annotations_give() -> None:
    source = inspect.getsource(weighing)
    assert [line for line in fit(DATA) if line not in source] == []


def test_a_mark_is_found_however_its_spaces_are() -> None:
    entry = {
        "singles": [{"span": "goes\n home", "labels": ["salience"]}, {"span": "Ada", "labels": ["language"]}],
        "relations": [{"span_a": "Ada sleeps.", "span_b": "She wakes", "shared_labels": ["inconsistency"]}],
    }
    found = labels_of("Ada goes home. Ada sleeps.\n\nShe wakes. It rains.", entry)
    assert found == [{"salience"}, {"inconsistency"}, {"inconsistency"}, set()]
