"""What judges have quoted for the sentences of a draft, and which facts they find in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from redraft.agents import fact_checker
from redraft.domain import Document, Evaluation, Evidence, Pack, PackQuestion, Span
from redraft.evaluators import consistency, coverage, keyfact_recall
from redraft.evaluators.metric_info import BAD_VERDICTS, GOOD_VERDICTS
from redraft.report.history.quotes import quotes_of, stated_facts
from redraft.store.store import Store
from tests.store.support import run

DOCUMENT = Document.from_text("x" * 500)


def judged(metric: str, **details: Any) -> Evaluation:
    return Evaluation(metric, 1, "scored", 1.0, judged=1, details=details)


def claim(sentence: int, place: tuple[int, int] | None, verdict: str = "consistent", importance: int = 1) -> Any:
    return {"sentence": sentence, "place": place, "verdict": verdict, "importance": importance}


def draft(store: Store, *evaluations: Evaluation) -> str:
    store.documents.add(DOCUMENT)
    made = run(document=DOCUMENT.id)
    store.runs.add(made)
    key = store.runs.keep_draft(made.id, "One. Two.", 2, "given")
    for one in evaluations:
        store.judgments.keep(key, one)
    return key


def test_the_words_of_verdicts_are_those_of_the_metrics() -> None:
    assert GOOD_VERDICTS == {
        "coverage": coverage.ANSWERED,
        "consistency": consistency.CONSISTENT,
        "keyfact_recall": keyfact_recall.STATED,
        "faithfulness": fact_checker.SUPPORTED,
    }
    assert BAD_VERDICTS["coverage"] == {coverage.UNANSWERED, coverage.PARTLY, coverage.CONTRADICTED}
    assert BAD_VERDICTS["keyfact_recall"] == {keyfact_recall.MISSING}


def test_only_what_bears_a_sentence_out_is_quoted_for_it(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        claims = [
            claim(1, (10, 20)),
            claim(1, (30, 40), "inconsistent"),
            claim(1, (50, 60), "unsupported"),
            claim(1, None),
            claim(2, (70, 80), "in part"),
            claim(2, (490, 900)),
        ]
        key = draft(store, judged("consistency", claims=claims))
        assert quotes_of(store, key, DOCUMENT) == {1: (Span(10, 20),)}


def test_the_best_three_come_first_and_what_overlaps_is_one(tmp_path: Path) -> None:
    questions = [PackQuestion(n, "?", "what", "x", Evidence("x", Span(300 + n, 310 + n)), 0.5) for n in (1, 2)]
    sentences = [{"id": 1, "verdict": "none", "place": (100, 120)}, {"id": 2, "verdict": "entity", "place": (1, 5)}]
    claims = [claim(1, (10, 20), importance=1), claim(1, (200, 210), importance=5), claim(1, (110, 140), importance=3)]
    answers = [
        {"id": 1, "verdict": "answered", "sentences": [1, 2]},
        {"id": 2, "verdict": "answered", "sentences": [2]},
        {"id": 3, "verdict": "answered", "sentences": [2]},
    ]
    with Store(tmp_path / "a.db") as store:
        store.documents.add(DOCUMENT)
        store.packs.add(Pack("p", DOCUMENT.id, "m", {}, tuple(questions)), "x")
        key = draft(
            store,
            judged("coverage", pack="p", questions=answers),
            judged("faithfulness", sentences=sentences),
            judged("consistency", claims=claims),
        )
        found = quotes_of(store, key, DOCUMENT)
    assert found[1] == (Span(100, 140), Span(200, 210), Span(10, 20))
    assert found[2] == (Span(301, 312),)


def test_whether_a_fact_is_held_is_said_by_a_verdict_alone() -> None:
    questions = [
        {"id": 1, "verdict": "answered", "sentences": [2]},
        {"id": 2, "verdict": "unanswered", "sentences": []},
        {"id": 3, "verdict": "contradicted", "sentences": [1]},
        {"id": 4, "verdict": "disputed", "sentences": []},
        {"id": 5, "verdict": "unjudged", "sentences": []},
    ]
    told = {"coverage": judged("coverage", pack="p", questions=questions)}
    found = stated_facts(told, "coverage", "p")
    assert {key: one.holds for key, one in found.items()} == {(1,): True, (2,): False, (3,): False}
    assert found[1,].sentences == (2,)
    assert stated_facts(told, "coverage", "another") == {}
    assert stated_facts(told, "keyfact_recall", "p") == {}
