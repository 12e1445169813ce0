"""What judges have quoted for the sentences of a draft."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redraft.domain import Document, Evaluation, Evidence, Pack, PackQuestion, Span
from redraft.evaluators import consistency, coverage, faithfulness, keyfact_recall
from redraft.evaluators.metric_info import GOOD_VERDICTS
from redraft.report.history.judges import By, basis, quotes_of
from redraft.store.store import Store
from tests.store.support import run

DOCUMENT = Document.from_text("x" * 500)


def judged(metric: str, **details: Any) -> Evaluation:
    return Evaluation(metric, 1, "scored", 1.0, judged=1, details=details)


def claim(sentence: int, place: tuple[int, int] | None, verdict: str = "consistent", importance: int = 1) -> Any:
    return {"sentence": sentence, "place": place, "verdict": verdict, "importance": importance}


def draft(store: Store, *evaluations: Evaluation) -> str:
    store.documents.add(DOCUMENT)
    store.runs.add(new_run := run(document=DOCUMENT.id))
    key = store.runs.keep_draft(new_run.id, "One. Two.", 2, "given")
    for evaluation in evaluations:
        store.judgments.keep(key, evaluation)
    return key


def test_verdicts_are_those_of_the_metrics() -> None:
    assert GOOD_VERDICTS == {
        "coverage": coverage.ANSWERED,
        "consistency": consistency.CONSISTENT,
        "keyfact_recall": keyfact_recall.STATED,
        "faithfulness": faithfulness.SUPPORTED,
    }


def test_only_confirming_quotes_count(tmp_path: Path) -> None:
    claims = [claim(1, (10, 20)), claim(1, (30, 40), "inconsistent"), claim(1, (50, 60), "unsupported")]
    claims += [claim(1, None), claim(2, (70, 80), "in part"), claim(2, (490, 900))]
    with Store(tmp_path / "a.db") as store:
        key = draft(store, judged("consistency", claims=claims))
        assert quotes_of(store, key, DOCUMENT) == {1: (Span(10, 20),)}


def test_the_best_three_quotes_come_first(tmp_path: Path) -> None:
    questions = [PackQuestion(n, "?", "what", "x", Evidence("x", Span(300 + n, 310 + n)), 0.5) for n in (1, 2)]
    sentences = [{"id": 1, "verdict": "none", "place": (100, 120)}, {"id": 2, "verdict": "entity", "place": (1, 5)}]
    claims = [claim(1, (10, 20), importance=1), claim(1, (200, 210), importance=5), claim(1, (110, 140), importance=3)]
    answers = [{"id": n, "verdict": "answered", "sentences": [1, 2] if n == 1 else [2]} for n in (1, 2, 3)]
    with Store(tmp_path / "a.db") as store:
        store.documents.add(DOCUMENT)
        store.packs.add(Pack("p", DOCUMENT.id, "m", {}, tuple(questions)), "x")
        key = draft(
            store,
            judged("coverage", pack="p", questions=answers),
            judged("faithfulness", sentences=sentences),
            judged("consistency", claims=claims),
        )
        quotes = quotes_of(store, key, DOCUMENT)
    assert quotes[1] == (Span(100, 140), Span(200, 210), Span(10, 20)), "overlapping ones are one"
    assert quotes[2] == (Span(301, 312),)


@pytest.mark.parametrize(
    ("by", "text"),
    [
        ({}, ""),
        ({1: "judge", 2: "judge"}, "All notes are quotes by which a judge confirmed a claim."),
        ({1: "words"}, "All notes were matched by wording, not by a judge."),
        (
            {1: "words", 2: "judge"},
            "Note 2 is a quote by which a judge confirmed a claim; the others were matched by wording.",
        ),
        (
            {2: "words", 3: "judge", 1: "judge"},
            "Notes 1, 3 are quotes by which a judge confirmed a claim; the others were matched by wording.",
        ),
    ],
)
def test_notes_say_who_confirmed_them(by: dict[int, By], text: str) -> None:
    assert basis(by, "note") == text
