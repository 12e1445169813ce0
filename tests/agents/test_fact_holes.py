"""Replies about key facts with every kind of fault, at a server: mended once, or named, and no verdict is shifted."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from redraft.domain import KeyFacts
from redraft.evaluators.reference.keyfacts import UNJUDGED
from redraft.events import Event, Notice
from redraft.llm.replies import NoValueError, read_value
from redraft.prompts.factual import FactTree, Query, Verifications
from redraft.report.history.results import Result
from tests.agents.test_holes import FREE, Fault, Holey, spoiled
from tests.chatserver import Answer
from tests.judges import (
    KEY,
    Harness,
    Json,
    PerfectModel,
    Script,
    ScriptedReply,
    Sheet,
    fact_of,
    island,
    keepers_in,
    summary_of,
    tree_of,
)

pytestmark = pytest.mark.usefixtures("api_key")

SUMMARY = summary_of(1, 3, wrong={2: "Bob", 5: "Joe", 77: "Jim"}) + " The sea is cold."
METRICS = ("keyfact_recall", "faithfulness")
VETTING = ("facts_faithful", "facts_objective", "facts_significant")
# Two chunks of some forty keepers each.
LONG, SMALL = 72, {"context_tokens": 2400}


async def judged(folder: Path, script: Script, keepers: int = 20) -> tuple[Result, Counter[str]]:
    """What comes of an evaluation through HTTP, and how many requests each prompt took."""
    harness = Harness(folder, script, document=island(keepers))
    with harness.served():
        result = await harness.evaluate(SUMMARY, metrics=METRICS)
    harness.store.close()
    return result, Counter(sheet.prompt for sheet in harness.sheets)


async def grown(folder: Path, script: Script, keepers: int = LONG, **options: Any) -> tuple[KeyFacts, Harness]:
    harness = Harness(folder, script, document=island(keepers))
    with harness.served():
        keyfacts = await harness.keyfacts(**{"settings": SMALL, **options})
    harness.store.close()
    return keyfacts, harness


def opposite(entry: Json) -> Json:
    turned = {"verdict": "fail", "stated": "yes", "sentences": [1], "category": "sentence"}
    if entry.get("verdict") == "fail":
        turned["verdict"] = "pass"
    if entry.get("stated") == "yes":
        turned |= {"stated": "no", "sentences": []}
    return entry | {key: value for key, value in turned.items() if key in entry}


def fault(name: str) -> Callable[[Json], ScriptedReply]:
    faults: dict[str, Fault] = {
        "one short": lambda entries: entries[:-1],
        "contradicts itself": lambda entries: [*entries, opposite(entries[0])],
    }
    if name in faults:
        return lambda reply: {key: faults[name](entries) for key, entries in reply.items()}
    return spoiled(name)


FAULTS = (
    "one short", "contradicts itself", "leaves out all", "shuffles", "repeats", "invents", "chatters", "breaks off",
)  # fmt: skip


Judged = tuple[Result, Counter[str]]


@pytest.fixture(scope="module")
def perfect(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", KEY)
        return asyncio.run(judged(tmp_path_factory.mktemp("perfect"), PerfectModel()))


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
async def test_faulty_list_is_repeated_without_effect(tmp_path: Path, perfect: Judged, name: str) -> None:
    expected, calls = perfect
    prompts = {*VETTING, "align_facts", "verify_sentences"}
    script = Holey(prompts, fault(name))
    faulty, more = await judged(tmp_path, script)

    # Two of twenty facts are stated, in each of the two trees; two of six sentences err, and one is about nobody.
    assert expected.scores == {"keyfact_recall": 2 / 20, "faithfulness": 3 / 6}
    assert faulty.evaluations == expected.evaluations
    assert set(script.faults) == prompts
    assert more - calls == (Counter() if name in FREE else script.faults)


class Picky(PerfectModel):
    """Never gives a verdict on what a prompt says of the second keeper."""

    def __init__(self, prompt: str) -> None:
        self.prompt = prompt

    def __call__(self, sheet: Sheet) -> ScriptedReply:
        reply = super().__call__(sheet)
        if sheet.prompt != self.prompt:
            return reply
        assert isinstance(reply, dict)
        second = [name for name, text in sheet.judged.items() if "keeper number 2 is" in text]
        return {key: [entry for entry in entries if entry["id"] not in second] for key, entries in reply.items()}


@pytest.mark.slow
@pytest.mark.parametrize("prompt", VETTING[:2])
async def test_never_validated_fact_is_pruned_and_named(tmp_path: Path, prompt: str) -> None:
    events: list[Event] = []
    keyfacts, _ = await grown(tmp_path, Picky(prompt), keepers=12, observer=events.append)

    # The second fact of the analytical tree is a branch with a leaf; in the narrative one it is the leaf.
    first, second = keyfacts.trees
    assert [(fact.text, fact.objections[0].dimension) for fact in first.facts if not fact.kept] == [
        (fact_of(2), UNJUDGED),
        (fact_of(3), "orphaned"),
    ]
    assert [fact.text for fact in second.facts if not fact.kept] == [fact_of(2)]
    assert len(keyfacts.missing) == 1
    assert keyfacts.missing[0].startswith("2 of the 24 key facts of chunk 1/1 have no verdict from a validator")
    assert keyfacts.missing[0] in [event.message for event in events if isinstance(event, Notice)]


@pytest.mark.parametrize(
    "spelt", ["", "errors", 3, None, "entity and relation", "no", "n/a", "entity error (or relation)"]
)
def test_what_is_no_category_is_refused(spelt: object) -> None:
    with pytest.raises(ValidationError):
        Verifications.model_validate({"sentences": [{"id": 1, "reason": "", "quote": "", "category": spelt}]})


def stump(reply: Json) -> Json:
    return {"roots": [{"fact": root["fact"]} for root in reply["roots"]]}


def bald(reply: Json) -> Json:
    return {"roots": [root | {"branches": []} for root in reply["roots"]]}


def wordless(reply: Json) -> Json:
    return {"roots": [root | {"fact": " – "} for root in reply["roots"]]}


MALFORMED: dict[str, Callable[[Json], ScriptedReply]] = {
    "no branches": stump,
    "empty branches": bald,
    "no roots": lambda reply: {"roots": []},
    "a fact without words": wordless,
    "a list of facts": lambda reply: json.dumps([root["fact"] for root in reply["roots"]]),
    "prose": lambda reply: "The excerpt is about keepers, and there are a great many of them.",
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_tree_cannot_be_read(name: str) -> None:
    reply = MALFORMED[name](tree_of([(n, f"Tom{n}") for n in range(1, 9)]))
    with pytest.raises(NoValueError):
        read_value(reply if isinstance(reply, str) else json.dumps(reply), FactTree)


async def test_recall_without_trees_pays_nothing_twice(tmp_path: Path) -> None:
    class Mute(PerfectModel):
        def __call__(self, sheet: Sheet) -> ScriptedReply:
            return "No." if sheet.prompt.startswith("keyfacts") else super().__call__(sheet)

    harness = Harness(tmp_path, Mute())
    with harness.served() as server:
        result = await harness.evaluate(SUMMARY, metrics=METRICS, settings={"replies": "plain"})
        sent = Counter(json.dumps(request.body) for request in server.seen)

    recall, faithfulness = (result.evaluations[metric] for metric in METRICS)
    assert recall.outcome == "failed"
    assert "no key fact could be built" in recall.reason
    # It does without levels.
    assert (faithfulness.outcome, faithfulness.details["by_level"]) == ("scored", None)
    assert (result.status, result.complete) == ("incomplete", False)
    # Two trees, though two metrics have wanted them, each asked for and complained of once.
    requests = Counter(sheet.prompt for sheet in harness.sheets if sheet.prompt.startswith("keyfacts"))
    assert sorted(requests.values()) == [2, 2]
    assert max(sent.values()) == 1


class Breathless(PerfectModel):
    """Is cut off whenever it is asked for a tree of more than so many keepers, or about more than seven facts."""

    def __init__(self, limit: int) -> None:
        self.most = limit

    def __call__(self, sheet: Sheet) -> ScriptedReply:
        reply = super().__call__(sheet)
        text = json.dumps(reply)
        long = len(keepers_in(sheet.within("excerpt"))) > self.most if sheet.prompt.startswith("keyfacts") else False
        long = long or (sheet.prompt in (*VETTING, "align_facts") and len(sheet.ids) > 7)
        return Answer(text[: len(text) // 2], "length") if long else reply


@pytest.mark.slow
async def test_cut_tree_is_asked_in_halves(tmp_path: Path) -> None:
    keyfacts, harness = await grown(tmp_path, Breathless(6), keepers=24)

    first, second = keyfacts.trees
    assert [fact.text for fact in first.facts] == [fact_of(n) for n in range(1, 25)]
    assert sorted(fact.text for fact in second.facts) == sorted(fact.text for fact in first.facts)
    assert len(first.kept) == len(second.kept) == 24
    # The whole and its halves, then the quarters.
    assert len(harness.asked("keyfacts_analytical")) == 1 + 2 + 4
    excerpts = [sheet.within("excerpt") for sheet in harness.asked("keyfacts_analytical")]
    assert sorted(n for excerpt in excerpts[-4:] for n in keepers_in(excerpt)) == list(range(1, 25))


@pytest.mark.parametrize(
    "query",
    [
        "Which key facts does the root have?",
        "What do the Key-Facts say?",
        "What does the excerpt say?",
        "What do branches and leaves say?",
        " ?",
    ],
)
def test_query_about_the_tree_is_refused(query: str) -> None:
    with pytest.raises(ValidationError):
        Query(query=query)


async def test_validators_see_levels_and_excerpt(tmp_path: Path) -> None:
    keyfacts, harness = await grown(tmp_path, PerfectModel(), settings={"context_tokens": 8192}, keepers=12)

    levels = {(fact.level, fact.text) for tree in keyfacts.trees for fact in tree.facts}
    assert {level for level, _ in levels} == {"root", "branch", "leaf"}
    for prompt in ("facts_faithful", "facts_objective", "facts_significant", "query_analytical", "query_narrative"):
        sheets = harness.asked(prompt)
        facts = {(item["level"], item["fact"]) for sheet in sheets for item in sheet.items("facts").values()}
        assert facts == levels if prompt.startswith("facts") else facts < levels, prompt
        assert {sheet.within("excerpt") for sheet in sheets} == {harness.document.text.strip()}, prompt
