"""Judges that leave out, repeat, shuffle or chatter, at a server: a call more at most, and never another score."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest

from redraft.domain import Evaluation
from tests.judges import KEY, Harness, Json, PerfectModel, Script, ScriptedReply, Sheet, island, summary_of

pytestmark = pytest.mark.usefixtures("api_key")

SUMMARY = summary_of(1, 3, wrong={2: "Bob", 5: "Joe", 40: "Jim"})
JUDGING = ("answer_from_summary", "compare_answers", "ask_summary", "answer_from_document")
Fault = Callable[[list[Any]], list[Any]]


class Holey(PerfectModel):
    """Gives its first reply to each batch of some prompts with a fault. Asked again, it does well."""

    def __init__(
        self, prompts: Collection[str], spoil: Callable[[Json], ScriptedReply], script: Script | None = None
    ) -> None:
        self.prompts = prompts
        self.spoil = spoil
        self.script = script or super().__call__
        self.begun: defaultdict[str, set[str]] = defaultdict(set)
        self.faults: Counter[str] = Counter()
        """How many replies to each prompt it has spoiled."""

    def __call__(self, sheet: Sheet) -> ScriptedReply:
        reply = self.script(sheet)
        if sheet.prompt not in self.prompts or sheet.again or self._has_begun(sheet):
            return reply
        assert isinstance(reply, dict)
        self.faults[sheet.prompt] += 1
        return self.spoil(reply)

    def _has_begun(self, sheet: Sheet) -> bool:
        """Whether all of its items have been asked about before: what was left out is asked for alone."""
        items, known_items = sheet.judged.values(), self.begun[sheet.prompt]
        is_known = bool(items) and known_items.issuperset(items)
        known_items.update(items)
        return is_known


def spoiled(name: str) -> Callable[[Json], ScriptedReply]:
    faults: dict[str, Fault] = {
        "leaves out": lambda entries: entries[::2],
        "leaves out all": lambda entries: [],
        "shuffles": lambda entries: random.Random(1).sample(entries, len(entries)),
        "repeats": lambda entries: [*entries, *entries],
        "invents": lambda entries: [
            *entries,
            *([entries[0] | {"id": n} for n in (-1, 0, 77, "77", "kmtz")] if entries else []),
        ],
    }

    def spoil(reply: Json) -> ScriptedReply:
        if name == "chatters":
            return "Let me think about these. They are all fine, I would say."
        if name == "wraps":
            return f"Here you are:\n```json\n{json.dumps(reply)}\n```\nAnything else?"
        if name == "breaks off":
            return json.dumps(reply)[:-9]
        return {key: faults[name](entries) for key, entries in reply.items()}

    return spoil


FAULTS = ("leaves out", "leaves out all", "shuffles", "repeats", "invents", "chatters", "wraps", "breaks off")
FREE = ("shuffles", "repeats", "invents", "wraps")


async def judged(folder: Path, script: PerfectModel, **server: Any) -> tuple[dict[str, Evaluation], Counter[str]]:
    """What comes of an evaluation through HTTP, and how many requests each prompt took.

    Metric by metric: both ask about one pair of answers, and whichever comes second knows what is said of it.
    """
    harness = Harness(folder, script, document=island(40))
    evaluations: dict[str, Evaluation] = {}
    with harness.served(**server):
        for metric in ("coverage", "consistency"):
            evaluations |= (await harness.evaluate(SUMMARY, metrics=(metric,))).evaluations
    return {name: evaluations[name] for name in ("coverage", "consistency")}, Counter(
        sheet.prompt for sheet in harness.sheets
    )


Judged = tuple[dict[str, Evaluation], Counter[str]]


@pytest.fixture(scope="module")
def perfect(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", KEY)
        return asyncio.run(judged(tmp_path_factory.mktemp("perfect"), PerfectModel()))


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
async def test_faulty_reply_costs_at_most_one_call(tmp_path: Path, perfect: Judged, fault: str) -> None:
    expected, calls = perfect
    faulty, more = await judged(tmp_path, Holey(JUDGING, spoiled(fault)))

    assert {name: evaluation.score for name, evaluation in expected.items()} == {
        "coverage": 2 / 12,
        "consistency": 2 / 5,
    }
    assert faulty == expected
    extra = more - calls
    assert set(extra) == (set() if fault in FREE else set(JUDGING))
    assert all(extra[prompt] <= calls[prompt] for prompt in JUDGING)
