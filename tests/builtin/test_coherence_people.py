"""That the judge goes on seeing what people see, in books that its weights do not come from."""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import confusion
from benchmarks.common import DATA
from benchmarks.confusion import PEOPLE, annotated, auc, auc_within, fit, folds, judged, labels_of, report
from redraft.builtin.coherence import weighing

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not (DATA / PEOPLE).is_file(), reason="needs $REDRAFT_DATA")]


def test_people_mark_what_scores_high() -> None:
    of = judged(DATA)
    assert auc(of) > 0.65
    assert auc_within(of) > 0.65
    assert 0.11 < sum(one.flagged for one in of) / len(of) < 0.13


def test_what_is_marked_in_a_book_has_no_part_in_its_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    own = folds(annotated(DATA))[0]
    known = [one.score for one in judged(DATA) if one.book in own]
    of = tuple(
        replace(one, labels=frozenset({"duplication"}) - one.labels) if one.book in own else one
        for one in annotated(DATA)
    )

    def turned(data: Path) -> object:
        return of

    monkeypatch.setattr(confusion, "annotated", turned)
    assert [one.score for one in judged.__wrapped__(DATA) if one.book in own] == known


def test_every_book_is_in_one_fold() -> None:
    books = [book for fold in folds(annotated(DATA)) for book in fold]
    assert sorted(books) == sorted({one.book for one in annotated(DATA)})


def test_the_weights_are_those_that_the_annotations_give() -> None:
    source = inspect.getsource(weighing)
    assert "\n".join(fit(DATA)) in source


def test_the_report_says_what_its_figures_are() -> None:
    said = "\n".join(report(DATA))
    assert "weights fitted on other books" in said
    assert f"all sentences together: {auc(judged(DATA)):.3f}" in said


def test_a_mark_is_found_however_its_spaces_are() -> None:
    entry = {
        "singles": [{"span": "goes\n home", "labels": ["salience"]}, {"span": "Ada", "labels": ["language"]}],
        "relations": [{"span_a": "Ada sleeps.", "span_b": "She wakes", "shared_labels": ["inconsistency"]}],
    }
    found = labels_of("Ada goes home. Ada sleeps.\n\nShe wakes. It rains.", entry)
    assert found == [{"salience"}, {"inconsistency"}, {"inconsistency"}, set()]
