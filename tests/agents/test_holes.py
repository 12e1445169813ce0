"""Judges that leave out, repeat, shuffle or chatter, at a server: a call more at most, and never another score."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest

from redraft.domain import Evaluation
from tests.chatserver import Answer
from tests.judges import KEY, Court, Json, Keepers, Said, Script, Sheet, asked_of, island, told

SUMMARY = told(1, 3, wrong={2: "Bob", 5: "Joe", 40: "Jim"})
JUDGING = ("answer_from_summary", "compare_answers", "ask_summary", "answer_from_document")
Fault = Callable[[list[Any]], list[Any]]


class Holey(Keepers):
    """Gives its first reply to each batch of one prompt with a fault. Asked again, it does well."""

    def __init__(self, prompt: str, spoil: Callable[[Json], Said], script: Script | None = None) -> None:
        self.prompt = prompt
        self.spoil = spoil
        self.script = script or super().__call__
        self.begun: set[str] = set()
        self.faults = 0
        """How many replies it has spoiled."""

    def __call__(self, sheet: Sheet) -> Said:
        said = self.script(sheet)
        if sheet.prompt != self.prompt or sheet.again or self._has_begun(sheet.judged.values()):
            return said
        assert isinstance(said, dict)
        self.faults += 1
        return self.spoil(said)

    def _has_begun(self, items: Collection[str]) -> bool:
        """Whether all of these have been asked about before: what was left out is asked for alone."""
        known = bool(items) and self.begun.issuperset(items)
        self.begun.update(items)
        return known


def spoiled(name: str) -> Callable[[Json], Said]:
    """Faults by name, in the entries of any reply."""
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

    def spoil(said: Json) -> Said:
        if name == "chatters":
            return "Let me think about these. They are all fine, I would say."
        if name == "wraps":
            return f"Here you are:\n```json\n{json.dumps(said)}\n```\nAnything else?"
        if name == "breaks off":
            return json.dumps(said)[:-9]
        return {key: faults[name](entries) for key, entries in said.items()}

    return spoil


FAULTS = ("leaves out", "leaves out all", "shuffles", "repeats", "invents", "chatters", "wraps", "breaks off")
FREE = ("shuffles", "repeats", "invents", "wraps")


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


async def judged(folder: Path, script: Keepers, **server: Any) -> tuple[dict[str, Evaluation], Counter[str]]:
    """What comes of an evaluation through HTTP, and how many requests each prompt took.

    Metric by metric: both ask about one pair of answers, and whichever comes second knows what is said of it.
    """
    court = Court(folder, script, document=island(40))
    found: dict[str, Evaluation] = {}
    with court.served(**server):
        for metric in ("coverage", "consistency"):
            found |= (await court.evaluate(SUMMARY, metrics=(metric,))).evaluations
    court.store.close()
    return {name: found[name] for name in ("coverage", "consistency")}, Counter(one.prompt for one in court.sheets)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("prompt", JUDGING)
async def test_a_faulty_reply_costs_one_call_at_most_and_changes_nothing(
    tmp_path: Path, prompt: str, fault: str
) -> None:
    perfect, calls = await judged(tmp_path / "perfect", Keepers())
    faulty, more = await judged(tmp_path / "faulty", Holey(prompt, spoiled(fault)))

    assert {name: one.score for name, one in perfect.items()} == {"coverage": 4 / 12, "consistency": 2 / 5}
    assert faulty == perfect
    extra = more - calls
    assert set(extra) == (set() if fault in FREE else {prompt})
    assert extra[prompt] <= calls[prompt]


@pytest.mark.slow
@pytest.mark.parametrize("refuses", [(), ("json_schema",), ("json_schema", "tools")], ids=["schema", "tools", "plain"])
@pytest.mark.parametrize("fault", ["leaves out", "chatters"])
async def test_it_is_the_same_in_every_way_of_asking_for_a_structure(
    tmp_path: Path, fault: str, refuses: tuple[str, ...]
) -> None:
    perfect, _ = await judged(tmp_path / "perfect", Keepers())
    faulty, _ = await judged(tmp_path / "faulty", Holey("answer_from_summary", spoiled(fault)), refuses=refuses)

    assert faulty == perfect


@pytest.mark.slow
@pytest.mark.parametrize("prompt", ["ask_document", "rank_questions"])
@pytest.mark.parametrize("fault", ["chatters", "breaks off", "wraps"])
async def test_a_pack_is_the_same_after_a_repair(tmp_path: Path, prompt: str, fault: str) -> None:
    court = Court(tmp_path, Holey(prompt, spoiled(fault)), document=island(200))
    with court.served():
        result = await court.evaluate(SUMMARY, metrics=("coverage",), settings={"context_tokens": 4096})
    perfect = Court(tmp_path / "perfect", document=island(200))
    with perfect.served():
        expected = await perfect.evaluate(SUMMARY, metrics=("coverage",), settings={"context_tokens": 4096})

    assert result.evaluations == expected.evaluations
    extra = len(court.asked(prompt)) - len(perfect.asked(prompt))
    assert extra == (0 if fault in FREE else len(perfect.asked(prompt)))


@pytest.mark.slow
async def test_what_a_judge_never_answers_is_counted_apart(tmp_path: Path) -> None:
    class Picky(Keepers):
        def answer_from_summary(self, sheet: Sheet) -> Said:
            said = super().answer_from_summary(sheet)
            assert isinstance(said, dict)
            return {"answers": [one for one in said["answers"] if asked_of(sheet.judged[one["id"]]) not in (1, 2)]}

    result, calls = await judged(tmp_path, Picky())

    coverage = result["coverage"]
    # The first two are passed over: of the other ten, the third and the fifth are answered.
    assert (coverage.score, coverage.judged, coverage.unjudged) == (2 / 10, 10, 2)
    questions: Any = coverage.details["questions"]
    assert [one["verdict"] for one in questions[:4]] == ["unjudged", "unjudged", "answered", "unanswered"]
    assert "passed over 2 of the items" in str(coverage.details["trouble"])
    assert calls["answer_from_summary"] == 2


@pytest.mark.slow
async def test_a_repair_that_leaves_items_out_is_not_repaired_again(tmp_path: Path) -> None:
    class Hopeless(Keepers):
        def answer_from_summary(self, sheet: Sheet) -> Said:
            said = super().answer_from_summary(sheet)
            assert isinstance(said, dict)
            return {"answers": said["answers"][1:]} if sheet.again else "They are all fine."

    result, calls = await judged(tmp_path, Hopeless())

    assert calls["answer_from_summary"] == 2
    assert result["coverage"].unjudged == 1


@pytest.mark.slow
async def test_a_reply_that_is_cut_off_is_asked_for_in_halves_of_what_it_lacks(tmp_path: Path) -> None:
    class Breathless(Keepers):
        def answer_from_summary(self, sheet: Sheet) -> Said:
            whole = json.dumps(super().answer_from_summary(sheet))
            return Answer(whole[: len(whole) // 2], "length") if len(sheet.ids) > 3 else whole

    perfect, _ = await judged(tmp_path / "perfect", Keepers())
    result, calls = await judged(tmp_path / "breathless", Breathless())

    assert result == perfect
    # Of twelve that are cut off the first five are whole. Of the seven others three are not cut off; of four that are
    # the first is whole, and one and two are asked for.
    assert calls["answer_from_summary"] == 5
