"""The paper's two scores, computed by hand (LongSumEval, Algorithm 1), and what stands beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redraft.domain import Evaluation
from tests.judges import (
    UNANSWERABLE,
    Harness,
    Json,
    PerfectModel,
    ScriptedReply,
    Sheet,
    fact_of,
    keeper_in,
    sentence_of,
    summary_of,
)

# Questions about a document with the document's answer, and what the judge reads out of the summary.
PACK: list[tuple[str, str, str, str]] = [
    ("who", "Who keeps the light?", "Hester Vane", "Hester Vane"),
    ("when", "When did she come?", "in 1924", "in 1931"),
    ("where", "Where does she live?", "on the island", "on the isle"),
    ("why", "Why did she come?", "for the quiet", UNANSWERABLE),
    ("how", "How did she come?", "by boat", "unanswerable."),
    ("what", "What did she bring?", "oats", "Unanswerable: it is not said"),
]
CONTRADICTED = {"in 1931"}

# The summary's answer, the document's, and how like they are by ROUGE-1 F1: twice the shared words over all words.
CLAIMS: list[tuple[str, str, float]] = [
    ("Hester Vane", "Hester Vane", 1.0),
    ("one two three", "one two four", 4 / 6),
    ("one two three four five", "one two three six seven", 6 / 10),  # at the threshold, which counts nothing
    ("one two", "one three", 2 / 4),
    ("a boat", UNANSWERABLE, 0.0),
]


def pairs_of(sheet: Sheet) -> list[tuple[str, dict[str, str]]]:
    """The pairs to compare, by id."""
    return list(sheet.items("pairs").items())


class Scripted(PerfectModel):
    """Asks the questions of PACK about the document and those of CLAIMS about the summary, a sentence each."""

    def __init__(self, skipped: tuple[int, ...] = ()) -> None:
        self.skipped = [question for n in skipped for question in (PACK[n - 1][1], f"Claim {n}?")]
        """What it never gives a verdict on."""

    def left(self, sheet: Sheet, entries: list[Json]) -> list[Json]:
        return [entry for entry in entries if sheet.judged[entry["id"]] not in self.skipped]

    def ask_document(self, sheet: Sheet) -> ScriptedReply:
        lines = sheet.shown.split("\n\n")[1:]
        return {
            "questions": [
                {"question": question, "kind": kind, "answer": answer, "quote": lines[2 * n], "weight": 1}
                for n, (kind, question, answer, _) in enumerate(PACK)
            ]
        }

    def answer_from_summary(self, sheet: Sheet) -> ScriptedReply:
        answers, questions = (
            {question: answer for _, question, _, answer in PACK},
            [question for _, question, _, _ in PACK],
        )
        places = list(sheet.items("sentences"))
        return {
            "answers": self.left(
                sheet,
                [
                    {"id": n, "answer": answers[item["text"]], "sentences": [*places[at : at + 1], 99]}
                    for n, item in sheet.items("questions").items()
                    for at in [questions.index(item["text"])]
                ],
            )
        }

    def compare_answers(self, sheet: Sheet) -> ScriptedReply:
        verdicts = {n: "contradicts" if pair["summary"] in CONTRADICTED else "full" for n, pair in pairs_of(sheet)}
        verdicts |= {n: "none" for n, pair in pairs_of(sheet) if "unanswerable" in pair["summary"].casefold()}
        return {"comparisons": [{"id": n, "reason": "", "verdict": verdict} for n, verdict in verdicts.items()]}

    def ask_summary(self, sheet: Sheet) -> ScriptedReply:
        return {
            "sentences": [
                {"id": name, "questions": [{"question": f"Claim {n}?", "answer": CLAIMS[n - 1][0], "importance": n}]}
                for name, item in sheet.items("sentences").items()
                for n in [keeper_in(sentence_of(item))]
            ]
        }

    def answer_from_document(self, sheet: Sheet) -> ScriptedReply:
        answers = {question: answer for _, question, answer, _ in PACK}
        answers |= {f"Claim {n}?": answer for n, (_, answer, _) in enumerate(CLAIMS, 1)}
        entries = [
            {"id": n, "quote": "by the cold sea", "answered": answers[item["text"]] != UNANSWERABLE}
            | {"answer": answers[item["text"]]}
            for n, item in sheet.items("questions").items()
        ]
        return {"answers": self.left(sheet, entries)}


SUMMARY = " ".join(f"This is sentence {n}." for n in range(1, len(CLAIMS) + 1))


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path, Scripted())


async def scored(harness: Harness, metric: str, summary: str = SUMMARY, **judging: Any) -> Evaluation:
    """As the paper has it: answers are compared by a measure alone, and an answer counts, right or wrong."""
    options = {"second_look": False, "similarity": "rouge1", "formula": "paper", **judging}
    return (await harness.evaluate(summary, metrics=(metric,), **options)).evaluations[metric]


async def test_coverage_by_hand(harness: Harness) -> None:
    coverage = await scored(harness, "coverage")
    assert (coverage.outcome, coverage.score) == ("scored", 3 / 6)
    assert (coverage.judged, coverage.unjudged) == (6, 0)
    findings = (await scored(harness, "coverage")).findings
    assert [
        (finding.kind, finding.task, finding.question, finding.found, finding.expected) for finding in findings
    ] == [
        ("contradicted", "correct", "When did she come?", "in 1931", "in 1924"),
        ("unanswered", "add", "Why did she come?", "", "for the quiet"),
        ("unanswered", "add", "How did she come?", "", "by boat"),
        ("unanswered", "add", "What did she bring?", "", "oats"),
    ]
    assert findings[0].sentence == "This is sentence 2."
    assert all(finding.evidence and finding.evidence.span for finding in findings)
    assert coverage.held == ("This is sentence 1.", "This is sentence 3.")
    concise: Any = coverage.details["conciseness"]
    assert 1 not in concise["unneeded"]
    assert 2 in concise["unneeded"]
    assert concise["share"] == 2 / (2 + len(concise["unneeded"]))
    details = (await scored(harness, "coverage")).details
    expected = {kind: {"score": float(kind in ("who", "when", "where")), "judged": 1} for kind, *_ in PACK}
    assert details["by_kind"] == expected
    # Every other of twelve lines: at 0, 1/6, 1/3, 1/2, 2/3 and 5/6 of the document, give or take the heading.
    assert details["by_position"] == {
        "0-20%": {"score": 1.0, "judged": 2},
        "20-40%": {"score": 1.0, "judged": 1},
        "40-60%": {"score": 0.0, "judged": 1},
        "60-80%": {"score": 0.0, "judged": 1},
        "80-100%": {"score": 0.0, "judged": 1},
    }
    scores = [(await scored(harness, "coverage", top_k=top_k)).score for top_k in (1, 3, 4, 99)]
    assert scores == pytest.approx([1.0, 1.0, 3 / 4, 3 / 6])


async def test_equal_answers_need_no_comparison(harness: Harness) -> None:
    for first, compared in (("Hester Vane is sentence 1.", []), ("She is sentence 1.", ["Hester Vane"])):
        harness.clear_sheets()
        await scored(harness, "coverage", SUMMARY.replace("This is sentence 1.", first), top_k=3)

        summaries = [pair["summary"] for sheet in harness.asked("compare_answers") for _, pair in pairs_of(sheet)]
        assert summaries == [*compared, "in 1931", "on the isle"][: 2 + len(compared)]


async def test_unjudged_questions_count_neither_way(harness: Harness) -> None:
    harness.script = Scripted(skipped=(1, 6))
    coverage = await scored(harness, "coverage")

    assert (coverage.score, coverage.judged, coverage.unjudged) == (2 / 4, 4, 2)
    assert "skipped 2" in str(coverage.details["trouble"])


@pytest.mark.parametrize("metric", ["coverage", "consistency"])
async def test_without_any_verdict_there_is_no_score(harness: Harness, metric: str) -> None:
    harness.script = Scripted(skipped=tuple(range(1, 7)))
    evaluation = await scored(harness, metric)

    assert (evaluation.outcome, evaluation.score, evaluation.judged) == ("failed", None, 0)
    assert evaluation.findings == ()
    assert "skipped" in evaluation.reason


async def test_consistency_by_hand(harness: Harness) -> None:
    consistency = await scored(harness, "consistency")
    details: Any = consistency.details
    assert [claim["likeness"] for claim in details["claims"]] == pytest.approx([like for *_, like in CLAIMS], abs=1e-4)
    assert consistency.score == pytest.approx((1 + 4 / 6) / 5)
    assert (consistency.judged, consistency.unjudged) == (5, 0)
    findings = (await scored(harness, "consistency")).findings
    assert [(finding.kind, finding.sentence, finding.found, finding.expected) for finding in findings] == [
        ("unsupported", "This is sentence 5.", "a boat", ""),
        ("inconsistent", "This is sentence 4.", "one two", "one three"),
        ("inconsistent", "This is sentence 3.", "one two three four five", "one two three six seven"),
    ]
    assert [finding.task for finding in findings] == ["remove", "correct", "correct"]
    scores = [(await scored(harness, "consistency", threshold=threshold)).score for threshold in (0.0, 0.5, 0.59, 0.7)]
    at_half = (1 + 4 / 6 + 6 / 10) / 5
    assert scores == pytest.approx([at_half + 2 / 4 / 5, at_half, at_half, 1 / 5])


async def test_summary_without_claims_has_no_consistency(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    consistency = await scored(harness, "consistency", "The sea is cold. It is wide.")

    assert (consistency.outcome, consistency.score) == ("not_applicable", None)
    assert "claims anything" in consistency.reason


@pytest.mark.parametrize("spoilt", [None, "", {}, [{"question": "Who?", "answer": "N/A", "importance": 3}]])
async def test_missing_questions_are_unjudged(tmp_path: Path, spoilt: Any) -> None:
    class Blank(PerfectModel):
        def ask_summary(self, sheet: Sheet) -> ScriptedReply:
            reply = super().ask_summary(sheet)
            for sentence in reply["sentences"]:
                if fact_of(2) in sheet.judged[sentence["id"]]:
                    sentence["questions"] = spoilt
            return reply

    consistency = await scored(Harness(tmp_path, Blank()), "consistency", summary_of(1, 2, 3))
    assert (consistency.score, consistency.judged, consistency.unjudged) == (1.0, 2, 1)
