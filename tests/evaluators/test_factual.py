"""Recall of key facts and faithfulness of a summary, as a jury comes by them: what it asks, whom, and what it takes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from redraft import JudgeConfig, Limits
from redraft.domain import Evaluation, KeyFacts, Span
from redraft.errors import BudgetError, UsageError
from redraft.report.history.results import Result
from redraft.text.tokens import Tokenizer
from tests.judges import (
    KEY,
    Harness,
    PerfectModel,
    ScriptedReply,
    Sheet,
    fact_of,
    island,
    keepers_in,
    summary_of,
)

BOTH: tuple[str, ...] = ("keyfact_recall", "faithfulness")
BUILDING = ("keyfacts_analytical", "keyfacts_narrative", "query_analytical", "query_narrative")
VETTING = ("facts_faithful", "facts_objective", "facts_significant")
# Three chunks of some forty keepers each, and two.
LONG, TWO, SMALL = 120, 72, {"context_tokens": 2400}
# How many keepers three sentences are first held against at most; the second time it is more.
AT_FIRST = 40


@pytest.fixture
def long_harness(tmp_path: Path) -> Harness:
    """A judge of an island whose keepers take three chunks."""
    return Harness(tmp_path, document=island(LONG))


async def judged(harness: Harness, summary: str, metric: str, **options: Any) -> Evaluation:
    return (await harness.evaluate(summary, metrics=(metric,), **options)).evaluations[metric]


def dimensions(facts: KeyFacts) -> dict[str, list[str]]:
    """Why facts were pruned."""
    return {
        fact.text: [objection.dimension for objection in fact.objections]
        for tree in facts.trees
        for fact in tree.facts
        if not fact.kept
    }


@pytest.fixture
def two_harness(tmp_path: Path) -> Harness:
    """A judge of an island whose keepers take two chunks."""
    return Harness(tmp_path, document=island(TWO))


# Growing.


@pytest.mark.slow
async def test_the_trees_of_a_document(long_harness: Harness) -> None:
    keyfacts = await long_harness.keyfacts(settings=SMALL)

    assert [(tree.chunk, tree.perspective) for tree in keyfacts.trees] == [
        (chunk, perspective) for chunk in range(3) for perspective in ("analytical", "narrative")
    ]
    text = long_harness.document.text
    assert keyfacts.trees[0].span.start == 0
    assert keyfacts.trees[-1].span.end == len(text)
    for tree in keyfacts.trees:
        told_there = keepers_in(text[slice(*tree.span)])
        assert tree.position == pytest.approx(sum(tree.span) / 2 / len(text))
        assert {n for fact in tree.facts for n in keepers_in(fact.text)} == told_there.keys()
        assert tree.kept == tree.facts
        assert str(max(told_there)) in tree.query
    assert keyfacts.missing == ()
    assert set(keyfacts.prompt_hashes) == {*BUILDING, *VETTING}
    assert (keyfacts.builder, keyfacts.validator) == ("function", "function")


@pytest.mark.slow
@pytest.mark.parametrize(
    "quote",
    ["{elsewhere}", "Nothing of the kind.", "", "{other}"],
    ids=["another keeper", "nowhere", "empty", "in another chunk"],
)
async def test_evidence_of_facts_is_within_their_chunk(tmp_path: Path, quote: str) -> None:
    class Quoting(PerfectModel):
        def facts_faithful(self, sheet: Sheet) -> ScriptedReply:
            reply = super().facts_faithful(sheet)
            number = min(keepers_in(sheet.within("excerpt")))
            words = {
                "elsewhere": f"The keeper number {number + 1} is called Tom{number + 1}",
                "other": f"The keeper number {(number + 60) % TWO + 1} is called",
            }
            return {"facts": [fact | {"quote": quote.format(**words)} for fact in reply["facts"]]}

    harness = Harness(tmp_path, Quoting(), document=island(TWO))
    keyfacts = await harness.keyfacts(settings=SMALL)

    for tree in keyfacts.trees:
        for fact in tree.facts:
            span = fact.evidence.span
            assert span is not None
            assert tree.span.start <= span.start < span.end <= tree.span.end
            assert harness.document.text[slice(*span)] == fact.evidence.text
            if quote in ("", "Nothing of the kind.", "{other}"):
                assert fact.text[4:-1] in fact.evidence.text


async def test_failing_facts_are_pruned_with_reasons(tmp_path: Path) -> None:
    class Strict(PerfectModel):
        def keyfacts_analytical(self, sheet: Sheet) -> ScriptedReply:
            reply = json.dumps(super().keyfacts_analytical(sheet))
            return reply.replace("Tom3", "Bob").replace("Tom9", "Joe")

        def judge_by(self, sheet: Sheet, *failing: int) -> ScriptedReply:
            entries = [
                {"id": n, "reason": f"{sheet.prompt} says so.", "verdict": "Fail." if number in failing else "PASS"}
                for n, item in sheet.items("facts").items()
                for number in keepers_in(item["text"])
            ]
            return {"facts": entries}

        def facts_objective(self, sheet: Sheet) -> ScriptedReply:
            return self.judge_by(sheet, 5, 9)

        def facts_significant(self, sheet: Sheet) -> ScriptedReply:
            return self.judge_by(sheet, 9, 2)

    harness = Harness(tmp_path, Strict())
    keyfacts = await harness.keyfacts(perspective="analytical")

    # 1 [2 [3] 4] 5 [6 [7] 8] 9 [10 [11] 12]
    assert dimensions(keyfacts) == {
        fact_of(2): ["significance"],
        fact_of(3, "Bob"): ["faithfulness"],
        fact_of(5): ["objectivity"],
        **{fact_of(n): ["orphaned"] for n in (6, 7, 8)},
        fact_of(9, "Joe"): ["faithfulness", "objectivity", "significance"],
        **{fact_of(n): ["orphaned"] for n in (10, 11, 12)},
    }
    reasons = {objection.reason for tree in keyfacts.trees for fact in tree.facts for objection in fact.objections}
    assert "facts_objective says so." in reasons
    (sheet,) = harness.asked("query_analytical")
    assert [item["fact"] for item in sheet.items("facts").values()] == [fact_of(1), fact_of(4)]
    assert [item["level"] for item in sheet.items("facts").values()] == ["root", "branch"]
    assert keyfacts.trees[0].query == "Why are the keepers 1, 4 called so?"


@pytest.mark.slow
async def test_the_validator_may_be_another_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    harness = Harness(tmp_path)
    with harness.served() as server:
        result = await harness.evaluate(summary_of(1), metrics=("keyfact_recall",), validator="openai:v")
        keyfacts = harness.store.keyfacts.get(str(result.evaluations["keyfact_recall"].details["keyfacts"]))
        requests = [(sheet.prompt, request.model) for sheet, request in zip(harness.sheets, server.seen, strict=True)]
        await harness.keyfacts()
        later = [request.model for request in server.seen[len(requests) :]]

    assert {prompt for prompt, model in requests if model == "v"} == set(VETTING)
    assert {prompt for prompt, model in requests if model == "m"} == {*BUILDING, "align_facts"}
    assert [identity.partition("@")[0] for identity in (keyfacts.builder, keyfacts.validator)] == [
        "openai:m",
        "openai:v",
    ]
    # Whoever is asked next to validate what it has found itself begins anew.
    assert later == ["m"] * len(VETTING)


@pytest.mark.nightly
async def test_budget_stop_loses_no_tree(tmp_path: Path) -> None:
    unlimited = Harness(tmp_path / "whole", document=island(TWO))
    expected = await unlimited.keyfacts(settings=SMALL)
    calls = len(unlimited.sheets)
    cut = Harness(tmp_path / "cut", document=island(TWO))
    for limit in (1, calls // 2, calls - 1):
        with pytest.raises(BudgetError):
            await cut.keyfacts(settings=SMALL, limits=Limits(max_calls=limit - len(cut.sheets)))
        assert len(cut.sheets) == limit
    keyfacts = await cut.keyfacts(settings=SMALL)

    assert keyfacts == expected
    assert len(cut.sheets) == calls


# Recall.


async def test_recall_by_hand(harness: Harness) -> None:
    recall = await judged(harness, f"{summary_of(1, 2, 3)} The sea is cold. {summary_of(6)}", "keyfact_recall")

    # Analytical: 1 [2 [3] 4] 5 [6 [7] 8] 9 [10 [11] 12]; narrative: 12 [11 [10] 9] 8 [7 [6] 5] 4 [3 [2] 1].
    assert (recall.outcome, recall.score, recall.judged, recall.unjudged) == ("scored", 8 / 24, 24, 0)
    details: Any = recall.details

    def counts(levels: Any) -> list[tuple[int, int]]:
        return [(levels[name]["stated"], levels[name]["judged"]) for name in ("all", "root", "branch", "leaf")]

    assert counts(details["by_level"]) == [(8, 24), (1, 6), (4, 12), (3, 6)]
    assert counts(details["by_perspective"]["analytical"]) == [(4, 12), (1, 3), (2, 6), (1, 3)]
    assert counts(details["by_perspective"]["narrative"]) == [(4, 12), (0, 3), (2, 6), (2, 3)]
    assert list(details["by_position"]) == ["40-60%"]
    assert details["gap"] == dict.fromkeys(("all", "root", "branch", "leaf"))
    stated = {entry["fact"]: entry["sentences"] for entry in details["facts"] if entry["verdict"] == "stated"}
    assert stated == {fact_of(1): [1], fact_of(2): [2], fact_of(3): [3], fact_of(6): [5]}
    assert recall.held == tuple(fact_of(n) for n in (1, 2, 3, 6))
    # Of five sentences one states no key fact.
    assert details["conciseness"] == {"share": 0.8, "unneeded": [4]}


async def test_missing_facts_are_found_from_the_roots(harness: Harness) -> None:
    findings = (await judged(harness, summary_of(1, 4, 8, 12), "keyfact_recall")).findings

    # 5 and 9 are roots of one tree and branches of the other; 2, 3 and so on are a branch here and a leaf there.
    assert [(finding.kind, finding.expected) for finding in findings] == [
        *(("missing root", fact_of(n)) for n in (5, 9)),
        *(("missing branch", fact_of(n)) for n in (2, 6, 10, 11, 7, 3)),
    ]
    assert len({finding.id for finding in findings}) == len(findings)
    for finding in findings:
        (number,) = keepers_in(finding.expected)
        assert (finding.task, finding.sentence, finding.question) == ("add", "", "")
        assert finding.evidence is not None
        assert finding.evidence.text == f"keeper number {number} is called"


# Faithfulness.


async def test_faithfulness_by_hand(harness: Harness) -> None:
    await harness.keyfacts()
    summary = f"{summary_of(1, 3, wrong={5: 'Bob'})} The sea is cold. {summary_of(wrong={99: 'Jim'})}"
    faithfulness = await judged(harness, summary, "faithfulness")

    assert (faithfulness.outcome, faithfulness.score, faithfulness.judged) == ("scored", 3 / 5, 5)
    details: Any = faithfulness.details
    # 1 is a root and a branch, 3 a leaf and a branch; the others state no fact.
    assert {level: (entry["faithful"], entry["judged"]) for level, entry in details["by_level"].items()} == {
        "all": (3, 5),
        "root": (1, 1),
        "branch": (2, 2),
        "leaf": (1, 1),
        "none": (1, 3),
    }
    assert details["errors"] == {"entity": 1, "out_of_article": 1}
    assert [(entry["id"], entry["verdict"], entry["levels"]) for entry in details["sentences"]] == [
        (1, "none", ["root", "branch"]),
        (2, "none", ["branch", "leaf"]),
        (3, "entity", ["none"]),
        (4, "none", ["none"]),
        (5, "out_of_article", ["none"]),
    ]


async def test_unsupported_sentences_have_the_closest_evidence(harness: Harness) -> None:
    result = await harness.evaluate(summary_of(1, wrong={5: "Bob", 99: "Jim"}), metrics=BOTH)
    wrong, unknown = result.evaluations["faithfulness"].findings

    assert (wrong.kind, wrong.task, wrong.sentence) == ("entity", "correct", fact_of(5, "Bob"))
    assert (unknown.kind, unknown.task, unknown.sentence) == ("out_of_article", "remove", fact_of(99, "Jim"))
    assert (wrong.expected, unknown.expected) == ("The sentence says Bob, the passages Tom5.", "Keeper 99 is nowhere.")
    assert wrong.evidence is not None
    assert wrong.evidence.text == "keeper number 5 is called Tom5"
    assert wrong.evidence.span is not None
    assert harness.document.text[slice(*wrong.evidence.span)] == wrong.evidence.text
    assert unknown.evidence is None
    # The instruction is the one line of a point that is obeyed: nothing that a text or a model says may be in it.
    findings = [finding for evaluation in result.evaluations.values() for finding in evaluation.findings]
    assert len(findings) > 10
    assert not [finding for finding in findings if re.search("Tom|Bob|Jim|eeper", finding.explanation)]


@pytest.mark.slow
async def test_unfaithful_only_after_reading_more(tmp_path: Path) -> None:
    class Shortsighted(PerfectModel):
        """Finds nothing in as little as is read at first."""

        def verify_sentences(self, sheet: Sheet) -> ScriptedReply:
            if len(keepers_in(sheet.shown)) > AT_FIRST:
                return super().verify_sentences(sheet)
            entry = {"reason": "Not there.", "quote": "", "category": "out_of_article"}
            return {"sentences": [{"id": n, **entry} for n in sheet.ids]}

    harness = Harness(tmp_path, Shortsighted(), document=island(400))
    faithfulness = await judged(harness, summary_of(1, 30, wrong={5: "Bob"}), "faithfulness")

    assert faithfulness.score == 2 / 3
    assert [finding.kind for finding in faithfulness.findings] == ["entity"]
    sheets = harness.asked("verify_sentences")
    assert [len(sheet.ids) for sheet in sheets] == [3, 3, 3]
    first, *parts = [keepers_in(sheet.shown).keys() for sheet in sheets]
    assert len(first) <= AT_FIRST < min(map(len, parts))
    assert set().union(*parts) == set(range(1, 401)), "all of the document is read for them, part by part"


async def test_second_draft_verifies_only_changed_sentences(harness: Harness) -> None:
    first = await judged(harness, f"{summary_of(1, 2)} {summary_of(1, wrong={5: 'Bob'})}", "faithfulness")
    assert (first.score, first.judged) == (3 / 4, 4)
    assert harness.items("verify_sentences") == 3, "a repeated sentence is verified once"
    harness.clear_sheets()
    second = await judged(harness, summary_of(1, 2, 5), "faithfulness")
    assert second.score == 1.0
    assert [list(sheet.judged.values()) for sheet in harness.asked("verify_sentences")] == [[fact_of(5)]]


# Answers to a query.


@pytest.mark.slow
@pytest.mark.parametrize(("at", "evidence"), [(0, "auto"), (0, "whole"), (3, "retrieved")])
async def test_answer_is_compared_with_its_chunk_alone(two_harness: Harness, at: int, evidence: str) -> None:
    tree = (await two_harness.keyfacts(settings=SMALL)).trees[at]
    keepers = sorted(keepers_in(two_harness.document.text[slice(*tree.span)]))
    two_harness.clear_sheets()
    summary = summary_of(keepers[0], keepers[-1], 1 if at else TWO, wrong={keepers[3]: "Bob"})
    options = {"metrics": BOTH, "evidence": evidence, "settings": {**SMALL, "query": f" {tree.query.upper()} "}}
    result: Result = await two_harness.evaluate(summary, **options)

    recall, faithfulness = result.evaluations["keyfact_recall"], result.evaluations["faithfulness"]
    assert (recall.score, recall.judged) == (2 / len(keepers), len(keepers))
    assert {sheet.prompt for sheet in two_harness.sheets} == {"align_facts", "verify_sentences"}
    # Who is kept by another chunk is nowhere in this one, and whether the document tells of them nobody has read: that
    # is a fault only for the paper, which asks for no more than the chunk.
    reads_whole = evidence == "whole"
    assert (faithfulness.judged, faithfulness.unjudged) == ((4, 0) if reads_whole else (3, 1))
    assert faithfulness.score == 2 / faithfulness.judged
    assert faithfulness.details["errors"] == {"entity": 1, **({"out_of_article": 1} if reads_whole else {})}
    assert [entry.read for entry in faithfulness.findings if entry.task == "remove"] == ["1 passage"] * reads_whole
    assert [{*keepers_in(sheet.shown)} for sheet in two_harness.asked("verify_sentences")] == [{*keepers}], (
        "it is read whole, and once"
    )
    if reads_whole:
        options["verify_against"] = "document"
        by_text = (await two_harness.evaluate(summary, **options)).evaluations["faithfulness"]
        assert (by_text.details["errors"], by_text.judged) == ({"entity": 1}, 4)


async def test_query_without_a_tree_has_no_facts(harness: Harness) -> None:
    result = await harness.evaluate(
        summary_of(1, wrong={2: "Bob"}), metrics=BOTH, settings={"query": "Who kept the light?"}
    )

    recall, faithfulness = result.evaluations["keyfact_recall"], result.evaluations["faithfulness"]
    assert (recall.outcome, recall.score) == ("not_applicable", None)
    assert "only a query of the key facts" in recall.reason
    # It is held against the document, and nobody can say which facts it should carry.
    assert (faithfulness.score, faithfulness.details["by_level"]) == (1 / 2, None)


async def test_chunks_of_key_facts_repeat_what_they_overlap(two_harness: Harness) -> None:
    text, tokenizer = two_harness.document.text, Tokenizer()

    async def spans(**options: Any) -> list[Span]:
        keyfacts = await two_harness.keyfacts(perspective="narrative", keyfact_chunks=512, **options)
        return [tree.span for tree in keyfacts.trees]

    apart, overlapping = await spans(), await spans(keyfact_overlap=60)
    assert [span.end for span in overlapping] == [span.end for span in apart]
    repeated = [text[chunk.start : alone.start] for chunk, alone in zip(overlapping, apart, strict=True)]
    assert repeated[0] == ""
    assert all(0 < tokenizer.count(piece) <= 60 for piece in repeated[1:])


@pytest.mark.parametrize("size", ["255", "4000++", "some", "0512", 12])
def test_a_size_that_is_none_is_refused(size: Any) -> None:
    with pytest.raises(UsageError, match="256 or more"):
        JudgeConfig(keyfact_chunks=size)
