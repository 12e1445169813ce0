"""Items without a verdict are asked about again; what is known of metrics is so; rulings; findings that conflict."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from redraft.agents.evidence import FAR, EvidenceQuery, EvidenceReader, ReadingPlan
from redraft.domain import Evaluation, Evidence, Finding, Ruling, Span
from redraft.errors import RejectedRequest
from redraft.evaluators.catalog import built_in
from redraft.evaluators.findings import without_conflicts, without_overruled
from redraft.evaluators.metric_info import METRICS, withdrawn
from redraft.readers.documents import load
from redraft.text.retrieval import Passages
from redraft.text.sentences import sentences
from redraft.text.tokens import EstimatingTokenizer
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
VERSIONS = {"coverage": 8, "consistency": 9, "faithfulness": 5}


@pytest.mark.nightly
def test_reading_goes_with_the_metric_version() -> None:
    source, tokenizer = load(str(SAMPLE)), EstimatingTokenizer()
    reader = EvidenceReader(source, Passages(source, tokenizer), tokenizer, 8192, tokenizer.count(source.text))
    items = [source.text[sentence.start : sentence.end] for sentence in sentences(source.text)][::25]
    questions = [f"Who was it of whom this is said: {sentence.split(',')[0]}?" for sentence in items]
    looks = ReadingPlan(
        reader, [EvidenceQuery(sentence) for sentence in (*items, *questions)], each=100, near=8, far=16
    )
    numbers = range(len(looks.items))
    wider = looks.nearest(numbers, FAR, wide=True)
    read = [looks.nearest(numbers), wider, looks.closer(numbers), *looks.parts(numbers)]
    digest = hashlib.sha256(str([look.spans for batches in read for look in batches]).encode()).hexdigest()[:12]
    assert (digest, {name: built_in(name).version for name in VERSIONS}) == (READ, VERSIONS)
