"""Items without a verdict are asked about again; metrics that fail alone; rulings; and findings, one for an error."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redraft.agents.evidence import FAR, EvidenceQuery, EvidenceReader, EvidenceSearch
from redraft.domain import Evaluation, Evidence, Finding, Ruling, Span, Usage
from redraft.errors import RefusedReply, RejectedRequest
from redraft.evaluators.base import distinct_errors
from redraft.evaluators.catalog import built_in
from redraft.evaluators.metric_info import METRICS, withdrawn
from redraft.evaluators.panel import without_conflicts, without_overruled
from redraft.evaluators.reference.builders import KeyFactBuilder
from redraft.readers.documents import load
from redraft.text.retrieval import Passages
from redraft.text.sentences import sentences
from redraft.text.tokens import Tokenizer
from tests.judges import Harness, PerfectModel, ScriptedReply, Sheet, island, summary_of

SUMMARY = summary_of(1, 2, 3, 4, 5, 6)


class Choosy(PerfectModel):
    """Cannot have anything to do with the questions about some keepers, for as long as that is so."""

    def __init__(self) -> None:
        self.rejected = ["keeper number 2 "]
        """What it will not hear of."""

    def __call__(self, sheet: Sheet) -> ScriptedReply:
        if sheet.prompt == "answer_from_summary" and any(
            keeper in text for keeper in self.rejected for text in sheet.judged.values()
        ):
            return RejectedRequest("Request entity too large.")
        return super().__call__(sheet)


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path, document=island(12))


@pytest.mark.slow
async def test_resuming_mends_an_item_without_verdict(harness: Harness) -> None:
    choosy = harness.script = Choosy()
    first = await harness.evaluate(SUMMARY, metrics=("coverage",))
    coverage = first.evaluations["coverage"]
    assert (coverage.unjudged, first.status) == (1, "done")
    assert coverage.judged == 5
    assert "too large" in str(coverage.details["trouble"])
    # The whole batch, then ever smaller parts of it, and in the end the one item once more.
    batches = [sheet.judged.values() for sheet in harness.asked("answer_from_summary")]
    sizes = [len(texts) for texts in batches if "keeper number 2 " in " ".join(texts)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-2:] == [1, 1]

    in_vain = await harness.resume(first.run.id)
    assert in_vain.evaluations["coverage"].unjudged == 1
    choosy.rejected.clear()
    mended = await harness.resume(first.run.id)
    assert mended.evaluations["coverage"].unjudged == 0
    assert mended.evaluations["coverage"].judged == coverage.judged + 1


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_is_as_it_is_listed(name: str) -> None:
    metric = built_in(name)

    assert metric.name == name
    assert metric.meaning.endswith(", from 0 to 1." if metric.aim else "; no score.")


ONE = Finding("consistency", "unsupported", "remove", "The document does not say this.", sentence="Ann came.")
OTHER = replace(ONE, sentence="Bob left.", value=0.25)
SAID = Evaluation("consistency", 1, "scored", 0.5, judged=4, findings=(ONE, OTHER), details={"claims": 4})


def ruling(finding: Finding, **changes: object) -> dict[str, Ruling]:
    supporting = Ruling("document", finding.id, "supported", "Ann came in.", 3, 15, "It says so.", "judge")
    return {finding.id: replace(supporting, **changes)}


def test_withdrawal_raises_the_score_by_the_loss() -> None:
    assert without_overruled(SAID, ruling(ONE)).score == pytest.approx(0.75)
    assert without_overruled(SAID, ruling(OTHER)).score == pytest.approx(0.6875)
    both = without_overruled(SAID, ruling(ONE) | ruling(OTHER))
    assert both.score == pytest.approx(0.9375)
    assert both.findings == ()
    assert [entry.finding.sentence for entry in withdrawn(both)] == ["Ann came.", "Bob left."]
    assert both.details["claims"] == 4
    failed = replace(SAID, outcome="failed", score=None)
    assert without_overruled(failed, ruling(ONE)).score is None
    assert without_overruled(failed, ruling(ONE)).findings == (OTHER,)
    assert without_overruled(replace(SAID, score=0.9), ruling(ONE)).score == 1.0


@pytest.mark.parametrize(
    "changes", [{"verdict": "contradicted"}, {"verdict": "absent"}, {"verdict": "unclear"}, {"start": None}]
)
def test_other_rulings_change_nothing(changes: dict[str, object]) -> None:
    assert without_overruled(SAID, ruling(ONE, **changes)) is SAID


QUOTE = Evidence("He hid the ledger in the lighthouse.", Span(10, 46))
ADD = Finding(
    "coverage", "unanswered", "add", "x", question="Where did Crane hide the ledger?", expected="in the lighthouse",
    evidence=QUOTE,
)  # fmt: skip
REMOVE = Finding(
    "consistency", "unsupported", "remove", "x", sentence="It lay in the lighthouse.",
    question="Where did Crane hide the ledger of 1901?", found="In the lighthouse.",
)  # fmt: skip


def judged(*findings: Finding) -> dict[str, Evaluation]:
    coverage = Evaluation(
        "coverage", 1, "scored", 0.5, 2, 0, tuple(finding for finding in findings if finding.task == "add")
    )
    remaining = tuple(finding for finding in findings if finding.task != "add")
    return {"coverage": coverage, "consistency": Evaluation("consistency", 1, "scored", 0.75, 4, 0, remaining)}


def test_wanted_additions_are_not_removed() -> None:
    unrelated = replace(REMOVE, question="Who came?", found="Ann")
    changed = without_conflicts(judged(ADD, REMOVE, unrelated))
    assert list(changed) == ["consistency"]
    assert changed["consistency"].findings == (unrelated,)
    assert changed["consistency"].score == 1.0


@pytest.mark.parametrize(
    ("add", "remove"),
    [
        (replace(ADD, evidence=None), REMOVE),
        (replace(ADD, expected="in the cellar"), REMOVE),
        (replace(ADD, question="Who was born there?"), REMOVE),
        (ADD, replace(REMOVE, task="correct")),
    ],
)
def test_whatever_is_not_about_the_same_stays(add: Finding, remove: Finding) -> None:
    assert without_conflicts(judged(add, remove)) == {}


SAMPLE = Path(__file__).resolve().parents[2] / "examples" / "the-salt-ledger.md"
READ = "64a60198d169"
"""What is read for the sentences below. Whoever has to write another one here makes the versions beside it higher."""
VERSIONS = {"coverage": 8, "consistency": 10, "faithfulness": 5}


@pytest.mark.nightly
def test_reading_goes_with_the_metric_version() -> None:
    source, tokenizer = load(str(SAMPLE)), Tokenizer()
    reader = EvidenceReader(source, Passages(source, tokenizer), tokenizer, 8192, tokenizer.count(source.text))
    items = [source.text[sentence.start : sentence.end] for sentence in sentences(source.text)][::25]
    questions = [f"Who was it of whom this is said: {sentence.split(',')[0]}?" for sentence in items]
    queries = [EvidenceQuery(sentence) for sentence in (*items, *questions)]
    looks = EvidenceSearch(reader, queries, each=100, near=8, far=16, ask=NotImplemented, silent=NotImplemented)
    numbers = range(len(looks.items))
    wider = looks.nearest(numbers, FAR, wide=True)
    read = [looks.nearest(numbers), wider, looks.closer(numbers), *looks.parts(numbers)]
    digest = hashlib.sha256(str([look.spans for batches in read for look in batches]).encode()).hexdigest()[:12]
    assert (digest, {name: built_in(name).version for name in VERSIONS}) == (READ, VERSIONS)


POOR = summary_of(1, wrong={2: "Bob"})
ALL = ("keyfact_recall", "coverage", "consistency")
NO_FACTS = "The Keepers: no key fact could be built: no analytical key facts of chunk 1/1: Not that."


class Mute(PerfectModel):
    """Will say nothing about some things."""

    def __init__(self, *silent: str, saying: ScriptedReply | None = None) -> None:
        self.silent = silent
        self.saying = saying or RefusedReply("Not that.", text="", usage=Usage())

    def __call__(self, sheet: Sheet) -> ScriptedReply:
        return self.saying if sheet.prompt.startswith(self.silent) else super().__call__(sheet)


@pytest.fixture
def mute_harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path, Mute("keyfacts"))


@pytest.mark.slow
async def test_missing_key_facts_fail_recall_alone(mute_harness: Harness) -> None:
    result = await mute_harness.evaluate(POOR, metrics=ALL)
    scored = {name: evaluation.outcome for name, evaluation in result.evaluations.items()}
    assert scored == dict.fromkeys(ALL, "scored") | {"keyfact_recall": "failed", "statistics": "measured"}
    assert result.evaluations["keyfact_recall"].reason == NO_FACTS
    assert (result.status, result.complete, result.scores["keyfact_recall"]) == ("incomplete", False, None)

    mute_harness.script = PerfectModel()
    mute_harness.clear_sheets()
    mended = await mute_harness.resume(result.run.id)
    assert mended.complete
    assert mended.evaluations["coverage"] == result.evaluations["coverage"]
    assert not mute_harness.asked("ask_document", "answer_from_summary", "ask_summary", "answer_from_document")


async def test_exception_while_building_fails_dependent_metrics(
    mute_harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(builder: KeyFactBuilder) -> None:
        raise ZeroDivisionError("bad arithmetic")

    monkeypatch.setattr(KeyFactBuilder, "build", broken)
    evaluations = (await mute_harness.evaluate(POOR, metrics=(*ALL, "faithfulness"))).evaluations

    assert [evaluations[name].outcome for name in (*ALL, "faithfulness")] == ["failed", "scored", "scored", "scored"]
    assert evaluations["keyfact_recall"].reason == "ZeroDivisionError: bad arithmetic"


SENTENCE = "Hester Vane shot Crane in 1901."


def wrong(question: str, found: str, expected: str, place: tuple[int, int] | None, **changes: Any) -> Finding:
    """A finding that the document says something else than the sentence, at a place."""
    evidence = Evidence("words", Span(*place)) if place else None
    finding = Finding(
        *("consistency", "inconsistent", "correct", "x"),
        sentence=SENTENCE,
        question=question,
        found=found,
        expected=expected,
        evidence=evidence,
    )
    return replace(finding, **changes)


WHO = wrong("Who shot Crane?", "Hester Vane", "Ruth Lee", (10, 40))


@pytest.mark.parametrize(
    "second",
    [
        wrong("Who fired at him?", "Hester Vane.", "Ruth", (90, 99)),
        wrong("Whom did Vane shoot?", "Crane", "not Crane but Ruth Lee did", (30, 60)),
        wrong("Who fired?", "the Hester Vane", "", None, kind="unsupported", task="remove"),
        replace(WHO, metric="coverage", kind="contradicted", found="Vane", weight=3, counts=3),
    ],
    ids=["the same answer", "the same words of the document", "without a place", "another metric"],
)
def test_same_claim_makes_one_finding(second: Finding) -> None:
    (finding,) = distinct_errors([WHO, second])

    assert (finding.question, finding.found, finding.expected) == (WHO.question, WHO.found, WHO.expected)
    assert finding.id == WHO.id
    # It counts for its own metric alone.
    assert (finding.counts, finding.weight) == (1 + (second.metric == WHO.metric), second.weight)
    assert distinct_errors([finding]) == [finding]


def test_right_answers_are_joined() -> None:
    unsupported = wrong("Who fired?", "Hester Vane", "", None, kind="unsupported", task="remove")
    (finding,) = distinct_errors([unsupported, WHO])
    assert (finding.task, finding.expected, finding.counts) == ("correct", "Ruth Lee", 2)
    (finding,) = distinct_errors([WHO, wrong("In which year?", "1901", "1903", (10, 40))])
    assert finding.question == "Who shot Crane? In which year?"
    assert (finding.found, finding.expected) == ("Hester Vane; 1901", "Ruth Lee; 1903")


@pytest.mark.parametrize(
    "second",
    [
        wrong("In which year?", "1901", "1903", (40, 60)),
        replace(WHO, sentence="Hester Vane came."),
        replace(WHO, metric="faithfulness", question=""),
        replace(WHO, task="add", kind="unanswered"),
    ],
    ids=["another claim", "another sentence", "a metric of sentences", "what is missing"],
)
def test_other_findings_stay_apart(second: Finding) -> None:
    assert distinct_errors([WHO, second]) == [WHO, second]
