"""Judges that are right and err in form: whatever their replies are wrapped in, no score is another than the right one.

A judge who knows the island is asked by the whole pipeline, over the wire of `openai:` without a socket. What it says
is right, and every reply, or some, is spoiled in one way: wrapped, renumbered, renamed, cut, in other words for its
verdicts, in another envelope. Then each verdict is the right one or none, and what is not judged is said.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import httpx2
from pydantic import BaseModel

from redraft import Result
from redraft.domain import Evaluation
from redraft.prompts.book import PROMPTS
from tests.chatserver import ChatRequest
from tests.judges import (
    KEY,
    Harness,
    Json,
    PerfectModel,
    Sheet,
    island,
    keeper_in,
    keepers_in,
    read_sheet,
    summary_of,
)
from tests.replies import styles
from tests.replies.prompts import Case
from tests.replies.refusals import SILENT
from tests.torture import envelopes


class _Any(BaseModel):
    """What a prompt was given, of which no way takes notice."""


METRICS = ("coverage", "consistency", "keyfact_recall", "faithfulness")
_NAME = re.compile(r"\b(?:Tom|Bob)\d+\b")
_KEEPERS = 10
_WORLDS = 4


class Right(PerfectModel):
    """A judge that knows who is who, in whatever words the answers are that it compares."""

    def compare_answers(self, sheet: Sheet) -> Json:
        pairs = {
            n: [set(_NAME.findall(pair[of])) for of in ("document", "summary")]
            for n, pair in sheet.items("pairs").items()
        }
        verdicts = {n: "full" if first == second else "contradicts" for n, (first, second) in pairs.items()}
        return {"comparisons": [{"id": n, "reason": "names", "verdict": verdict} for n, verdict in verdicts.items()]}


# Words and signs for a label that speaks for or against, of which no judge could mean the opposite.
_AROUND = (
    "✅ {}", "{} ✓", "**{}**", "`{}`", '"{}"', "{}.", "{}!", "[{}]", "({})", " {}\n", "Verdict: {}",
    "{} (see above)",
)  # fmt: skip
_AROUND_BAD = ("❌ {}", "{} ✗", *_AROUND[2:])
_TRUE: tuple[object, ...] = (
    True, "true", "True", "yes", "Yes.", "YES", 1, "1", "✓", "✅", "👍", "ja", "sí", "да", "是", 1.0,
)  # fmt: skip
_FALSE: tuple[object, ...] = (
    False, "false", "False", "no", "No.", "NO", 0, "0", "✗", "❌", "👎", "nein", "non", "нет", "否", 0.0,
)  # fmt: skip
_OTHER: dict[str, tuple[str, ...]] = {
    "full": ("fully", "complete", "agrees", "full answer", "they agree", "same", "equivalent"),
    "contradicts": ("inconsistent", "contradiction", "disagrees", "does not agree", "they differ", "not the same"),
    "pass": ("passed", "supported", "not failed", "fully supported", "correct", "not unsupported", "✅ supported"),
    "fail": ("failed", "unsupported", "not passed", "not supported", "❌ supported", "incorrect", "does not pass"),
    "yes": ("stated", "mentioned", "is stated", "not missing", "present", "fully stated", "not unstated"),
    "no": ("not stated", "missing", "not mentioned", "absent", "is not stated", "nowhere stated", "❌ stated"),
    "none": ("no error", "no errors", "None.", "faithful", "not unfaithful", "no entity error", "N/A", "0", "[]"),
    "entity": ("Entity error", "entity error (name)", "entity, not relation", "EntityError", "error: entity"),
    "out_of_article": ("Out-of-article error", "out of article", "not in the document", "hallucination", "extrinsic"),
}
_GOOD = ("full", "pass", "yes", "none")
_LABELS = ("verdict", "stated", "category")


def _in_words(label: str, rng: random.Random) -> object:
    """A label in another word that means it, or none but it."""
    signs = _AROUND if label in _GOOD else _AROUND_BAD
    booleans = () if label in ("none", "entity", "out_of_article") else _TRUE if label in _GOOD else _FALSE
    plain: list[object] = [label.upper(), label.title(), [label], {"value": label}, {label: True}, f"{label}, {label}"]
    return rng.choice([*plain, *(sign.format(label) for sign in signs), *booleans, *_OTHER[label]])


def _labels(entry: Json, rng: random.Random) -> Json:
    return {key: _in_words(value, rng) if key in _LABELS else value for key, value in entry.items()}


def _answered(entry: Json, rng: random.Random) -> Json:
    return entry | ({"answered": rng.choice(_TRUE if entry["answered"] else _FALSE)} if "answered" in entry else {})


def _answers(entry: Json, rng: random.Random) -> Json:
    if not (answer := entry.get("answer")):
        return entry
    forms: list[object] = [
        [answer],
        {"text": answer},
        f"{answer}.",
        f"**{answer}**",
        f"Answer: {answer}",
        f"It is {answer}.",
        f'"{answer}"',
    ]
    return entry | {
        "answer": rng.choice([*forms, f"{answer} (as the text says)", f"<answer>{answer}</answer>", f"✅ {answer}"])
    }


def _silent(entry: Json, rng: random.Random) -> Json:
    """That there is no answer is said in words, and the field for it is left out, or says it too."""
    if entry.get("answered", True):
        return entry
    silent_entry = {
        **entry,
        "answer": rng.choice(SILENT[rng.choice([*SILENT])]),
        "answered": rng.choice((False, "no", None)),
    }
    return (
        silent_entry
        if silent_entry["answered"] is not None
        else {key: value for key, value in silent_entry.items() if key != "answered"}
    )


def _places(entry: Json, rng: random.Random) -> Json:
    """The sentences that something rests on, in another form than a list of their ids."""
    if not (sentences := entry.get("sentences")) or not isinstance(sentences[0], str):
        return entry
    forms: list[object] = [
        ", ".join(sentences),
        {"ids": sentences},
        [{"id": sentence} for sentence in sentences],
        None,
        [1],
        ["all"],
        sentences[0].upper(),
    ]
    return entry | {
        "sentences": rng.choice([*forms, [f"sentence {sentence}" for sentence in sentences], [*sentences, "zzzz"]])
    }


def _renamed(entry: Json, rng: random.Random) -> Json:
    """Keys that no field is known by, or in another spelling."""
    spoilt = {
        key: rng.choice((key.upper(), f" {key} ", f"{key}s", f"the_{key}", f"{key}?", key[::-1])) for key in entry
    }
    return {spoilt[key] if rng.random() < 0.4 else key: value for key, value in entry.items()}


def _blurred(entry: Json, rng: random.Random) -> Json:
    """A field is missing, or something that it cannot be."""
    key = rng.choice([*entry])
    # An empty list says that there is nothing to list: that is no matter of form.
    junk = [junk_value for junk_value in envelopes.JUNK if junk_value != [] or not isinstance(entry[key], list)]
    return {name: value for name, value in entry.items() if name != key} | (
        {key: rng.choice(junk)} if rng.random() < 0.5 and key not in ("answer", "answered", *_LABELS) else {}
    )


ENTRIES: dict[str, Callable[[Json, random.Random], Json]] = {
    "labels in other words": _labels,
    "booleans as words": _answered,
    "answers in other words": _answers,
    "silence in words": _silent,
    "places in another form": _places,
    "other keys": _renamed,
    "a field that is not there": _blurred,
}
"""What can be wrong within an entry whose content is right."""

Way = Callable[[Case, random.Random], str]


def _within(change: Callable[[Json, random.Random], Json]) -> Way:
    def way(case: Case, rng: random.Random) -> str:
        if not case.entries:
            return json.dumps(case.clean)
        return json.dumps(
            {case.entries: [change(dict(item), rng) for item in case.clean[case.entries]]}, ensure_ascii=False
        )

    return way


def _as_lines(sign: str, before: str = "") -> Way:
    """A table, in which each entry has a line of its own."""

    def way(case: Case, rng: random.Random) -> str:
        rows = case.clean[case.entries] if case.entries else [case.clean]
        head = sign.join(rows[0]) if rows else ""
        return "\n".join([before, head, *(sign.join(map(str, row.values())) for row in rows)])

    return way


WAYS: dict[str, Way] = {
    **{f"read: {name}": style for name, style in styles.READ.items()},
    **{f"lossy: {name}": style for name, style in styles.LOSSY.items()},
    **{f"lost: {name}": style for name, style in styles.LOST.items()},
    **{f"fault: {name}": style for name, style in styles.FAULTS.items()},
    **{f"entries: {name}": _within(change) for name, change in ENTRIES.items()},
    "a table with bars": _as_lines(" | ", "Here:\n"),
    "values with commas": _as_lines(","),
    "truncated": lambda case, rng: (text := json.dumps(case.clean))[: rng.randrange(1, len(text))],
}
"""All ways to spoil a reply."""


def enveloped(text: str, rng: random.Random, *, odd: bool, cut: bool) -> Json:
    """An answer of a server; an odd one says it in another shape, and has junk beside it."""
    choice: Json = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "length" if cut else "stop",
    }
    answer: Json = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    answer["usage"] = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    if odd:
        half = len(text) // 2
        parts = [{"type": "text", "text": part} for part in (text[:half], text[half:])]
        message = choice["message"]
        message["content"] = rng.choice((text, parts, [text], parts[:1] + parts[1:], {"type": "text", "text": text}))
        message[rng.choice(("role", "name", "tool_calls", "audio", "reasoning_content"))] = rng.choice(envelopes.JUNK)
        answer["usage"] = rng.choice((*envelopes.JUNK, {"prompt_tokens": rng.choice(envelopes.COUNTS)}))
        answer[rng.choice(("id", "object", "created", "model", "service_tier"))] = rng.choice(envelopes.JUNK)
    return answer


class Plan(NamedTuple):
    """How a run's judge errs: in which way, how often, and whether its envelopes are odd, too."""

    way: str
    share: float
    odd: bool
    plain: bool
    """Whether the form is asked for in words, so that no server is held to keep to it."""


@dataclass
class World:
    """A document, a summary of it, and what is right of each item."""

    rng: random.Random
    summary: str = field(init=False)

    def __post_init__(self) -> None:
        numbers = self.rng.sample(range(1, _KEEPERS + 1), 7)
        self.summary = summary_of(*numbers[:5], 40, wrong={n: f"Bob{n}" for n in numbers[3:5]} | {40: "Tom40"})
        self.told = keepers_in(self.summary)
        self.sentences = [next(iter(keepers_in(sentence))) for sentence in self.summary.split(". ")]

    def name_of(self, number: int) -> str:
        return f"Tom{number}" if number <= _KEEPERS else ""

    def _of_summary(self, number: int) -> str:
        if number not in self.told:
            return "unanswered"
        return "answered" if self.told[number] == self.name_of(number) else "contradicted"

    def _of_document(self, number: int) -> str:
        if number > _KEEPERS:
            return "unsupported"
        return "consistent" if self.told.get(number) == self.name_of(number) else "inconsistent"

    def verdicts(self, evaluation: Evaluation) -> Iterator[tuple[str, object, str]]:
        """Each item of an evaluation, the verdict on it, and the right one."""
        rows: Any = evaluation.details
        for item in rows.get("questions", ()):
            yield item["question"], item["verdict"], self._of_summary(keeper_in(item["question"]))
        for item in rows.get("claims", ()):
            yield item["question"], item["verdict"], self._of_document(keeper_in(item["question"]))
        for item in rows.get("facts", ()):
            ((number, name),) = keepers_in(item["fact"]).items()
            yield item["fact"], item["verdict"], "stated" if self.told.get(number) == name else "missing"
        for item in rows["sentences"] if evaluation.metric == "faithfulness" else ():
            right = self._of_document(self.sentences[item["id"] - 1])
            verdict_names = {"consistent": "none", "inconsistent": "entity", "unsupported": "out_of_article"}
            yield f"sentence {item['id']}", item["verdict"], verdict_names[right]


@dataclass
class Judge:
    """Answers as a server would, and spoils what it says by a plan."""

    plan: Plan | None
    rng: random.Random
    spoilt: list[tuple[str, str]] = field(default_factory=list)
    trouble: list[Exception] = field(default_factory=list)
    """What went wrong with the judge itself."""

    async def answer(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return self._answer(json.loads(request.content))
        except Exception as error:
            # The client takes it for an error of the connection.
            self.trouble.append(error)
            raise

    def _answer(self, body: Json) -> httpx2.Response:
        request = ChatRequest(0, 0.0, "", "m", body["messages"], body, "", 0)
        sheet = read_sheet(request)
        entries = Right()(sheet)
        assert isinstance(entries, dict)
        text, cut, odd = json.dumps(entries), False, False
        if self.plan and self.rng.random() < self.plan.share:
            case = Case(PROMPTS[sheet.prompt], _Any(), entries)
            text, odd = WAYS[self.plan.way](case, self.rng), self.plan.odd
            cut = self.plan.way.endswith(("truncated", "broken off")) and self.rng.random() < 0.5
            self.spoilt.append((sheet.prompt, text))
        answer = json.dumps(enveloped(text, self.rng, odd=odd, cut=cut))
        return httpx2.Response(200, content=answer.encode(), headers={"content-type": "application/json"})


async def _judged(world: World, judge: Judge, *, plain: bool) -> Result:
    """What becomes of a summary whose judge answers so."""
    transport = httpx2.MockTransport(judge.answer)
    place = {"model": "openai:m", "base_url": "http://nowhere.example/v1", **({"replies": "plain"} if plain else {})}
    with (
        tempfile.TemporaryDirectory() as folder,
        patch("openai.DefaultAsyncHttpx2Client", lambda **_: httpx2.AsyncClient(transport=transport)),
        patch.dict("os.environ", {"OPENAI_API_KEY": KEY}),
    ):
        harness = Harness(Path(folder), document=island(_KEEPERS))
        harness.model = None
        try:
            return await harness.evaluate(world.summary, metrics=METRICS, settings=place)
        finally:
            harness.store.close()


class Outcome(NamedTuple):
    """How the score of one metric came out, and what is wrong with that."""

    ending: str
    wrong: str = ""


def held(world: World, evaluation: Evaluation, right: Evaluation) -> Outcome:
    """An evaluation against the right one: the same score, or a part of its verdicts and word of the rest, or none."""
    if evaluation.score is None:
        return Outcome("no score", "" if evaluation.reason else "no score, and no reason")
    verdicts = [*world.verdicts(evaluation)]
    wrong = [
        f"{item} is {verdict}, not {true}"
        for item, verdict, true in verdicts
        if verdict not in (true, "unjudged", "unclear")
    ]
    if wrong:
        return Outcome("wrong", "; ".join(wrong))
    if abs(evaluation.score - (right.score or 0.0)) < 1e-9 and not evaluation.unjudged:
        return Outcome("right")
    reason = evaluation.unjudged or evaluation.details.get("missing") or evaluation.details.get("trouble")
    return Outcome(
        "partly unjudged", "" if reason else f"{evaluation.score:.3f} in place of {right.score}, and nothing is said"
    )


def planned(number: int, seed: int, rng: random.Random) -> Plan:
    """All ways in their turns, in an order that goes by the seed; those of many kinds more than once."""
    ways = [*WAYS, *[name for name in WAYS if name.startswith("entries: ")] * 8]
    random.Random(seed).shuffle(ways)
    return Plan(ways[number % len(ways)], rng.choice((1.0, 1.0, 0.6, 0.3)), rng.random() < 0.3, rng.random() < 0.5)


@cache
def _world(number: int) -> tuple[World, dict[str, Evaluation]]:
    """One of a few worlds, and what comes of a judge who makes no mistake."""
    world = World(random.Random(number))
    result = asyncio.run(_judged(world, Judge(None, world.rng), plain=False))
    evaluations = {name: result.evaluations[name] for name in METRICS}
    assert {held(world, evaluation, evaluation) for evaluation in evaluations.values()} == {Outcome("right")}
    return world, evaluations


def run(number: int, seed: int) -> Iterator[tuple[Plan, str, Outcome]]:
    """How the scores of a run came out."""
    rng = random.Random(f"{seed} {number}")
    (world, clean), plan = _world(number % _WORLDS), planned(number, seed, rng)
    judge = Judge(plan, rng)
    result = asyncio.run(_judged(world, judge, plain=plan.plain))
    if judge.trouble:
        raise judge.trouble[0]
    yield from ((plan, name, held(world, result.evaluations[name], clean[name])) for name in METRICS)


def scored_wrongly(count: int, seed: int) -> Iterator[str]:
    """What came out wrong in so many runs."""
    for number in range(count):
        for plan, name, outcome in run(number, seed):
            if outcome.wrong:
                yield f"run {number}, {plan}: {name}: {outcome.wrong}"
