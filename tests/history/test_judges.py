"""Who judged a score, when scores of two runs are comparable, and what judges have quoted for sentences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redraft.domain import Document, Evaluation, Evidence, Pack, PackQuestion, Span
from redraft.evaluators import consistency, coverage, faithfulness, keyfact_recall
from redraft.evaluators.metric_info import GOOD_VERDICTS
from redraft.order import Evaluate
from redraft.report.history.judges import By, basis, judged_by, judging_terms, quotes_of
from redraft.settings import JudgeConfig, ModelSettings
from redraft.store.runs import Run
from redraft.store.store import Store
from tests.store.support import run

HERE = "http://here/v1"
HASHES = {"ask_summary": "1", "answer_from_document": "2", "compare_answers": "3", "merge": "4"}
EVALUATIONS = {
    "consistency": Evaluation("consistency", 3, "scored", 0.75, 9, 1),
    "statistics": Evaluation("statistics", 1, "measured"),
}


def run_judged_by(*judges: str, **settings: object) -> Run:
    judging = JudgeConfig.model_validate({"judges": judges, "base_url": HERE, **settings})
    return run(order=Evaluate(judging=judging), prompt_hashes=HASHES)


RUN = run_judged_by("openai:a")
NEAR = {"near": ModelSettings(model="openai:a", base_url=HERE)}


@pytest.mark.parametrize(
    ("changed", "different"),
    [
        (run_judged_by("openai:a", questions=7, batch=1, pack="p"), []),
        (run_judged_by("near", base_url=None, models=NEAR), []),
        (replace(RUN, prompt_hashes={**HASHES, "merge": "5"}), []),
        (run_judged_by("openai:a", base_url="http://there/v1"), ["the judges differ"]),
        (run_judged_by("openai:a", "openai:b"), ["the judges differ"]),
        (run_judged_by("openai:a", repeat=3), ["the ways of judging differ"]),
        (replace(RUN, prompt_hashes={**HASHES, "ask_summary": "9"}), ["the prompts differ"]),
        (run_judged_by("extractive"), ["the judges differ", "the prompts differ"]),
    ],
)
def test_terms_name_what_makes_scores_incomparable(changed: Run, different: list[str]) -> None:
    terms, changed_terms = (judging_terms(each_run, "consistency", 3) for each_run in (RUN, changed))
    assert [what for what in terms if terms[what] != changed_terms[what]] == different
    assert terms != judging_terms(RUN, "consistency", 4)


@pytest.mark.parametrize(
    ("judges", "shown", "says"),
    [
        (("openai:a",), {}, "openai:a; prompts standard"),
        (("openai:a",), {"openai:a": "a (port 8000)"}, "a (port 8000); prompts standard"),
        (("extractive", "openai:a"), {}, "extractive and openai:a; prompts standard"),
        (("extractive",), {}, "extractive, an offline check that compares names, numbers, dates, opposites and word"),
    ],
)
def test_one_line_says_who_judged(judges: tuple[str, ...], shown: dict[str, str], says: str) -> None:
    lines = judged_by(run_judged_by(*judges), EVALUATIONS, shown)
    assert set(lines) == {"consistency"}, "no judge gives statistics"
    assert lines["consistency"].startswith(says)
    assert lines["consistency"].endswith("whether a reworded statement is true") == (judges == ("extractive",))


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


def test_best_confirming_quotes_come_first(tmp_path: Path) -> None:
    assert GOOD_VERDICTS == {
        "coverage": coverage.ANSWERED,
        "consistency": consistency.CONSISTENT,
        "keyfact_recall": keyfact_recall.STATED,
        "faithfulness": faithfulness.SUPPORTED,
    }
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


def test_only_confirming_quotes_count(tmp_path: Path) -> None:
    claims = [claim(1, (10, 20)), claim(1, (30, 40), "inconsistent"), claim(1, (50, 60), "unsupported")]
    claims += [claim(1, None), claim(2, (70, 80), "in part"), claim(2, (490, 900))]
    with Store(tmp_path / "a.db") as store:
        key = draft(store, judged("consistency", claims=claims))
        assert quotes_of(store, key, DOCUMENT) == {1: (Span(10, 20),)}


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
