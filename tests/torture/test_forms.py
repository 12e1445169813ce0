"""Judges that are right and err in form: whatever their replies are wrapped in, no score is another than the right one.

A judge who knows the island is asked by the whole pipeline. What it says is right, and every reply, or some, is spoiled
in one way: wrapped, renumbered, renamed, cut, in other words for its verdicts, in another envelope. Then each verdict
is the right one or none, and what is not judged is said.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from redraft.domain import Evaluation
from redraft.prompts.book import PROMPTS
from tests.chatserver import Raw
from tests.judges import KEY, Harness, Json, PerfectModel, Sheet, island, keeper_in, keepers_in, summary_of
from tests.replies import styles
from tests.replies.prompts import CASES, Case
from tests.replies.refusals import SILENT
from tests.torture.test_envelopes import COUNTS, JUNK

METRICS = ("coverage", "consistency", "keyfact_recall", "faithfulness")
KEEPERS = 10
SUMMARY = summary_of(1, 3, 7, 40, wrong={4: "Bob4", 8: "Bob8"})
TOLD = keepers_in(SUMMARY)
_NAME = re.compile(r"\b(?:Tom|Bob)\d+\b")


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
    "✅ {}", "{} ✓", "**{}**", "`{}`", '"{}"', "{}.", "{}!", "[{}]", "({})", " {}\n", "Verdict: {}", "{} (see above)",
)  # fmt: skip
_AROUND_BAD = ("❌ {}", "{} ✗", *_AROUND[2:])
_TRUE = (True, "true", "True", "yes", "Yes.", "YES", 1, "1", "✓", "✅", "👍", "ja", "sí", "да", "是", 1.0)
_FALSE = (False, "false", "False", "no", "No.", "NO", 0, "0", "✗", "❌", "👎", "nein", "non", "нет", "否", 0.0)
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
# Of keepers the summary speaks, too.
PHRASES = [phrase for phrases in SILENT.values() for phrase in phrases if "keeper" not in phrase]
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
    words = (
        "{}.",
        "**{}**",
        "Answer: {}",
        "It is {}.",
        '"{}"',
        "{} (as the text says)",
        "<answer>{}</answer>",
        "✅ {}",
    )
    return entry | {"answer": rng.choice([[answer], {"text": answer}, *(form.format(answer) for form in words)])}


def _silent(entry: Json, rng: random.Random) -> Json:
    """That there is no answer is said in words, and the field for it is left out, or says it too."""
    if entry.get("answered", True):
        return entry
    answered = rng.choice((False, "no", None))
    silent = {key: value for key, value in entry.items() if key != "answered"}
    silent |= {"answer": rng.choice(PHRASES)}
    return silent if answered is None else silent | {"answered": answered}


def _places(entry: Json, rng: random.Random) -> Json:
    """The sentences that something rests on, in another form than a list of their ids."""
    if not (ids := entry.get("sentences")) or not isinstance(ids[0], str):
        return entry
    forms: list[object] = [", ".join(ids), {"ids": ids}, [{"id": tag} for tag in ids], None, [1], ["all"]]
    return entry | {"sentences": rng.choice([*forms, ids[0].upper(), [f"sentence {tag}" for tag in ids], [*ids, "zz"]])}


def _renamed(entry: Json, rng: random.Random) -> Json:
    """Keys that no field is known by, or in another spelling."""
    spelled = ("{0}s", "the_{0}", "{0}?", " {0} ")
    keys = {key: rng.choice((key.upper(), key[::-1], *(form.format(key) for form in spelled))) for key in entry}
    return {keys[key] if rng.random() < 0.4 else key: value for key, value in entry.items()}


def _blurred(entry: Json, rng: random.Random) -> Json:
    """A field is missing, or something that it cannot be."""
    key = rng.choice([*entry])
    # An empty list says that there is nothing to list: that is no matter of form.
    junk = [value for value in JUNK if value != [] or not isinstance(entry[key], list)]
    is_junk = rng.random() < 0.5 and key not in ("answer", "answered", *_LABELS)
    return {name: value for name, value in entry.items() if name != key} | ({key: rng.choice(junk)} if is_junk else {})


Way = Callable[[Case, random.Random], str]


def _within(change: Callable[[Json, random.Random], Json]) -> Way:
    def way(case: Case, rng: random.Random) -> str:
        if not case.entries:
            return json.dumps(case.clean)
        entries = [change(dict(entry), rng) for entry in case.clean[case.entries]]
        return json.dumps({case.entries: entries}, ensure_ascii=False)

    return way


def _as_lines(sign: str) -> Way:
    """A table, in which each entry has a line of its own."""

    def way(case: Case, rng: random.Random) -> str:
        rows = case.clean[case.entries] if case.entries else [case.clean]
        head = sign.join(rows[0]) if rows else ""
        return "\n".join(["Here:", head, *(sign.join(map(str, row.values())) for row in rows)])

    return way


ENTRIES = (_labels, _answered, _answers, _silent, _places, _renamed, _blurred)
WAYS: list[Way] = [
    *(style for group in (styles.READ, styles.LOSSY, styles.LOST, styles.FAULTS) for style in group.values()),
    *[_within(change) for change in ENTRIES] * 8,
    _as_lines(" | "),
    _as_lines(","),
    lambda case, rng: (text := json.dumps(case.clean))[: rng.randrange(1, len(text))],
]


def enveloped(text: str, rng: random.Random) -> Raw:
    """An answer of a server that says it in another shape, and has junk beside it."""
    half = len(text) // 2
    parts = [{"type": "text", "text": part} for part in (text[:half], text[half:])]
    message = {"role": "assistant", "content": rng.choice((text, parts, [text], {"type": "text", "text": text}))}
    message[rng.choice(("role", "name", "tool_calls", "audio", "reasoning_content"))] = rng.choice(JUNK)
    usage = rng.choice((*JUNK, {"prompt_tokens": rng.choice(COUNTS)}))
    answer: Json = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}
    answer[rng.choice(("id", "object", "created", "model", "service_tier"))] = rng.choice(JUNK)
    return Raw(json.dumps(answer).encode(), readable=True)


def _of_document(number: int) -> str:
    """What the document says of what the summary tells of a keeper."""
    if number > KEEPERS:
        return "unsupported"
    return "consistent" if TOLD.get(number) == f"Tom{number}" else "inconsistent"


def verdicts(evaluation: Evaluation) -> Iterator[tuple[str, object, str]]:
    """Each item of an evaluation, the verdict on it, and the right one."""
    rows: Any = evaluation.details
    for item in rows.get("questions", ()):
        number = keeper_in(item["question"])
        told = "answered" if TOLD.get(number) == f"Tom{number}" else "contradicted"
        yield item["question"], item["verdict"], told if number in TOLD else "unanswered"
    for item in rows.get("claims", ()):
        yield item["question"], item["verdict"], _of_document(keeper_in(item["question"]))
    for item in rows.get("facts", ()):
        ((number, name),) = keepers_in(item["fact"]).items()
        yield item["fact"], item["verdict"], "stated" if TOLD.get(number) == name else "missing"
    names = {"consistent": "none", "inconsistent": "entity", "unsupported": "out_of_article"}
    for item in rows["sentences"] if evaluation.metric == "faithfulness" else ():
        yield f"sentence {item['id']}", item["verdict"], names[_of_document([*TOLD][item["id"] - 1])]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
async def test_scores_are_always_the_right_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    rng = random.Random(seed)
    way, share, is_odd, is_plain = rng.choice(WAYS), rng.choice((1.0, 0.6)), rng.random() < 0.3, rng.random() < 0.5

    def spoilt(sheet: Sheet) -> Any:
        reply = Right()(sheet)
        if rng.random() > share:
            return reply
        text = way(Case(PROMPTS[sheet.prompt], CASES[sheet.prompt].given, reply), rng)
        return enveloped(text, rng) if is_odd else text

    right = await Harness(tmp_path / "right", Right(), document=island(KEEPERS)).evaluate(SUMMARY, metrics=METRICS)
    harness = Harness(tmp_path, spoilt, document=island(KEEPERS))
    with harness.served():
        settings = {"replies": "plain"} if is_plain else {}
        result = await harness.evaluate(SUMMARY, metrics=METRICS, settings=settings)
    for metric in METRICS:
        evaluation = result.evaluations[metric]
        if evaluation.score is None:
            assert evaluation.reason
            continue
        for item, verdict, expected in verdicts(evaluation):
            assert verdict in (expected, "unjudged", "unclear"), (metric, item)
        is_right = evaluation.score == pytest.approx(right.scores[metric]) and not evaluation.unjudged
        details = evaluation.details
        assert is_right or evaluation.unjudged or details.get("missing") or details.get("trouble"), metric
    assert [verdict for _, verdict, expected in verdicts(right.evaluations["coverage"]) if verdict != expected] == []
