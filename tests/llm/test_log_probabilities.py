"""Probabilities of verdicts from the tokens of chat models: where they are looked for, and what becomes of them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import redraft
from redraft.domain import Evaluation
from redraft.evaluators.faithfulness import Faithfulness
from redraft.llm.envelope import normalized_completion
from redraft.llm.log_probabilities import ReplyToken, tokens_of, with_odds
from redraft.llm.reply_reader import read_value
from redraft.prompts.coherence import ConfusionInput, Confusions, SummarySentence
from redraft.prompts.contract import ReplyModel
from redraft.prompts.factual import Verifications, VerifyInput
from redraft.prompts.qa import Statement
from redraft.prompts.tags import Tags
from redraft.store.judgments import FIT, ITEMS, Agreement, JudgeSetup
from tests.chatserver import Answer, ChatServer, Fault, Reply, Seen

TRUE, FALSE, FOREIGN = "The ferry sank in March.", "The bridge was built of wood.", "The king died."
DOCUMENT = redraft.Document.from_text(
    f"{TRUE} Nobody was hurt, and the captain swam ashore. The bridge was built of stone by the people of the valley."
)
LIKELY: Mapping[str, Mapping[str, float]] = {
    TRUE: {"none": 0.9, "entity": 0.06, "rel": 0.04},
    FALSE: {"sent": 0.7, "none": 0.25, "out_": 0.05},
    FOREIGN: {"out_": 0.55, "none": 0.45},
}
LABELS = {TRUE: "none", FALSE: "sentence", FOREIGN: "out_of_article"}


def verdicts(seen: Seen) -> Answer:
    """A judge of the three sentences that is sure of none."""
    prompt = seen.messages[0]["content"]
    found = re.findall(r'<sentence id="(\w+)">\n(.*?)\n</sentence>', prompt, re.DOTALL)
    text, likely = '{"sentences": [', {}
    for tag, body in found:
        sentence = next(one for one in LABELS if one in body)
        quote = "" if sentence == FOREIGN else "The bridge was built of stone" if sentence == FALSE else TRUE
        # The label stands in the reason, too, where it is none.
        entry = {"id": tag, "quote": quote, "reason": f'"{LABELS[sentence]}" it is', "category": LABELS[sentence]}
        text += ("" if text.endswith("[") else ", ") + json.dumps(entry)
        likely[text.rindex(LABELS[sentence])] = LIKELY[sentence]
    return Answer(text + "]}", likely=likely)


async def judged(server: ChatServer, db: Path, **judging: Any) -> Evaluation:
    settings = redraft.DraftConfig(model="openai:judge", base_url=server.base_url)
    async with redraft.Session(db, settings=settings, judging=redraft.JudgeConfig(**judging)) as session:
        result = await session.evaluate(DOCUMENT, f"{TRUE} {FALSE} {FOREIGN}", metrics=["faithfulness"])
    return result.evaluations["faithfulness"]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")


def shown(evaluation: Evaluation) -> list[tuple[str, float | None]]:
    listed: Any = evaluation.details["sentences"]
    return [(one["verdict"], one.get("probability")) for one in listed]


async def test_each_verdict_of_a_reply_has_the_probability_of_its_own_token(tmp_path: Path) -> None:
    with ChatServer(verdicts) as server:
        found = await judged(server, tmp_path / "a.db", probabilities=True)
        again = await judged(server, tmp_path / "a.db", probabilities=True)
    assert shown(found) == [("none", 0.9), ("sentence", 0.25), ("out_of_article", 0.45)]
    assert "interval" in found.details
    (seen,) = server.seen
    assert (seen.body["logprobs"], seen.body["top_logprobs"]) == (True, 5)
    assert shown(again) == shown(found), "they are stored with the reply"


async def test_nobody_is_asked_for_them_unless_they_are_wanted(tmp_path: Path) -> None:
    with ChatServer(verdicts) as server:
        without = await judged(server, tmp_path / "a.db")
        found = await judged(server, tmp_path / "a.db", probabilities=True)
    assert shown(without) == [("none", None), ("sentence", None), ("out_of_article", None)]
    assert ["logprobs" in one.body for one in server.seen] == [False, True]
    assert [one for _, one in shown(found)] == [0.9, 0.25, 0.45], "what was answered without them is asked again"


@pytest.mark.parametrize("status", [400, 403])
async def test_a_provider_that_refuses_them_is_not_asked_again(status: int, tmp_path: Path) -> None:
    def script(seen: Seen) -> Reply:
        if seen.body.get("logprobs"):
            return Fault("status", status=status, message="You are not allowed to request logprobs from this model")
        return verdicts(seen)

    with ChatServer(script) as server:
        found = await judged(server, tmp_path / "a.db", probabilities=True, repeat=2)
    assert [verdict for verdict, _ in shown(found)] == list(LABELS.values())
    assert sum("logprobs" in one.body for one in server.seen) == 1
    assert len(server.seen) == 3


async def test_where_there_are_none_the_votes_count_by_laplaces_rule(tmp_path: Path) -> None:
    def script(seen: Seen) -> str:
        text = verdicts(seen).text
        return text.replace('"category": "sentence"', '"category": "none"') if seen.index == 2 else text

    with ChatServer(script, refuses=("logprobs",)) as server:
        found = await judged(server, tmp_path / "a.db", probabilities=True, repeat=3)
    # Of three votes all, one, and none find no fault.
    assert [likely for _, likely in shown(found)] == [0.8, 0.4, 0.2]
    with ChatServer(script) as server:
        assert [likely for _, likely in shown(await judged(server, tmp_path / "b.db", repeat=3))] == [None] * 3


@pytest.mark.parametrize(
    ("intercept", "said"),
    [
        (0, ["none", "unjudged", "unjudged"]),
        (3, ["none", "none", "none"]),
        (-5, ["entity", "sentence", "out_of_article"]),
    ],
)
async def test_only_with_a_calibration_probabilities_decide(intercept: float, said: list[str], tmp_path: Path) -> None:
    with ChatServer(verdicts) as server, redraft.Store(tmp_path / "a.db") as store:
        keep_calibration(store, f"openai:judge@{server.base_url}", intercept)
        found = await judged(server, tmp_path / "a.db", probabilities=True)
    assert [verdict for verdict, _ in shown(found)] == said


def keep_calibration(store: redraft.Store, judge: str, intercept: float) -> None:
    standing = JudgeSetup(judge, "faithfulness", Faithfulness.version, "", "{}")
    for measure, value in zip(FIT, (1.0, intercept, 0.0, 0.0, 0.0), strict=True):
        store.agreements.keep(Agreement(standing, "set", "human", ITEMS, measure, 100, value, None, None, ""))


GIVEN = VerifyInput(passages=["x"], sentences=[Statement(id=n, sentence=f"One {n}.") for n in (1, 2)])
TAGS = Tags(GIVEN).all("sentences")


def entry(tag: str, category: str, reason: str = "") -> str:
    return json.dumps({"id": tag, "quote": "", "reason": reason, "category": category}, ensure_ascii=False)


def odds_in(
    text: str, tokens: list[ReplyToken], shape: type[ReplyModel] = Verifications, given: Any = GIVEN
) -> list[dict[str, float] | None]:
    listed = next(iter(shape.model_fields))
    value = with_odds(read_value(text, shape, given), given, text, tokens)
    return [one.odds for one in getattr(value, listed)]


def whole(text: str, likely: Callable[[str], Mapping[str, float]], ends: str = "") -> list[ReplyToken]:
    """The tokens of a text: its categories, by what stands there, and all else letter by letter."""
    found: list[ReplyToken] = []
    at = 0
    for match in re.finditer(r'(?<="category": )"(\w+)"', text):
        found += [ReplyToken(one.encode(), {one.encode(): 1.0}) for one in text[at : match.start()]]
        found += made(match[0], likely(match[1]))
        at = match.end()
    return [*found, *(ReplyToken(one.encode(), {one.encode(): 1.0}) for one in text[at:] + ends)]


def made(quoted: str, likely: Mapping[str, float]) -> list[ReplyToken]:
    first = next(iter(likely))
    assert quoted.startswith(first)
    rest = quoted[len(first) :]
    own = [ReplyToken(first.encode(), {name.encode(): one for name, one in likely.items()})]
    return own + [ReplyToken(one.encode(), {one.encode(): 1.0}) for one in rest]


def test_a_token_may_begin_before_the_label_and_differ_in_blanks() -> None:
    text = f'{{"sentences": [{entry(TAGS[0], "none")}]}}'
    (odds,) = odds_in(text, whole(text, lambda _: {'"none': 0.5, ' "entity': 0.2, '"out': 0.2, '"NO': 0.1}))
    assert odds == {"none": 0.6, "entity": 0.2, "out_of_article": 0.2, "relation": 0.0, "sentence": 0.0}


def test_a_label_of_several_tokens_shares_out_what_each_might_have_been() -> None:
    marks = {"no confusion": 0.4, "language": 0.6}
    given = ConfusionInput(summary="One.", sentences=[SummarySentence(id=1, sentence="One.")])
    (tag,) = Tags(given).all("sentences")
    text = f'{{"sentences": [{{"id": "{tag}", "questions": [], "types": ["causal omission", "language"]}}]}}'
    at = text.index("causal")
    tokens = [
        *(ReplyToken(one.encode(), {one.encode(): 1.0}) for one in text[:at]),
        ReplyToken(b"c", {b"c": 0.5, b"no": 0.25, b"e": 0.25}),
        ReplyToken(b"ausal omission", {b"ausal omission": 0.9, b"at": 0.1}),
        *(ReplyToken(one.encode(), {one.encode(): 1.0}) for one in text[at + 15 :]),
    ]
    (odds,) = odds_in(text, tokens, Confusions, given)
    assert odds is not None
    # "c" begins one label only; "e" begins an entity omission and an event omission, and counts for neither.
    assert {name: one for name, one in odds.items() if one} == pytest.approx(
        {"causal omission": 2 / 3, "no confusion": 1 / 3}, abs=1e-5
    )
    assert marks.keys() <= odds.keys()


def test_the_path_to_a_label_is_multiplied_while_it_might_become_another() -> None:
    given = ConfusionInput(summary="One.", sentences=[SummarySentence(id=1, sentence="One.")])
    (tag,) = Tags(given).all("sentences")
    text = f'{{"sentences": [{{"id": "{tag}", "questions": [], "types": ["event omission"]}}]}}'
    at = text.index("event")
    tokens = [
        *(ReplyToken(one.encode(), {one.encode(): 1.0}) for one in text[:at]),
        ReplyToken(b"e", {b"e": 0.8, b"no": 0.2}),
        ReplyToken(b"vent", {b"vent": 0.75, b"ntity": 0.25}),
        *(ReplyToken(one.encode(), {one.encode(): 1.0}) for one in text[at + 5 :]),
    ]
    (odds,) = odds_in(text, tokens, Confusions, given)
    assert odds is not None
    assert {name: one for name, one in odds.items() if one} == pytest.approx(
        {"event omission": 0.6, "entity omission": 0.2, "no confusion": 0.2}
    )


def test_letters_of_several_bytes_and_what_is_around_the_reply_move_nothing() -> None:
    text = f'{{"sentences": [{entry(TAGS[0], "none", "Größe “ü” 水")}, {entry(TAGS[1], "entity", "ß")}]}}'
    by = {"none": {'"none': 0.75, '"entity': 0.25}, "entity": {'"entity': 0.6, '"none': 0.4}}
    # It may have thought of the same reply before.
    thoughts = whole(text, lambda label: {f'"{label}': 1.0}, "</think>")
    tokens = [*thoughts, *whole(text, by.__getitem__, "<|im_end|>")]
    # A letter may be in two tokens.
    at = next(n for n, one in enumerate(tokens) if one.text == "水".encode())
    parts = [ReplyToken(part, {part: 1.0}) for part in ("水".encode()[:1], "水".encode()[1:])]
    found = odds_in(text, tokens[:at] + parts + tokens[at + 1 :])
    assert [one and (one["none"], one["entity"]) for one in found] == [(0.75, 0.25), (0.4, 0.6)]


@pytest.mark.parametrize(
    "text",
    [
        # Other names, other forms, an item that is named twice, a label in other letters: it may be told, not found.
        f'{{"sentences": [{{"id": "{TAGS[0]}", "error": "entity"}}]}}',
        f"{entry(TAGS[0], 'none')}\n{entry(TAGS[1], 'none')}",
        f'{{"sentences": [{entry(TAGS[0], "none")}, {entry(TAGS[0], "none")}]}}',
        f'{{"sentences": [{entry(TAGS[0], "None")}]}}',
        f"{{'sentences': [{entry(TAGS[0], 'none')}]}}",
        f'{{"sentences": [{{"id": "{TAGS[0]}", "category": "n\\u006fne"}}]}}',
    ],
)
def test_a_verdict_that_is_not_exactly_where_it_should_be_has_no_probability(text: str) -> None:
    tokens = [ReplyToken(one.encode(), {one.encode(): 1.0}) for one in text]
    assert {str(one) for one in odds_in(text, tokens)} == {"None"}


def test_tokens_that_are_no_labels_leave_no_probability() -> None:
    text = f'{{"sentences": [{entry(TAGS[0], "none")}]}}'
    assert odds_in(text, whole(text, lambda _: {'"none': 0.3, '"perhaps': 0.6, '"entity': 0.1})) == [None]
    assert odds_in(text, whole(text, lambda _: {'"none': 0.5, '"perhaps': 0.5}))[0] is not None
    assert odds_in(text, []) == [None]
    assert odds_in(text, [ReplyToken(b"something else", {})]) == [None]


@pytest.mark.parametrize(
    "told", [None, 3, {}, {"content": None}, {"content": [3]}, {"content": [{"token": "a"}]}, {"content": "abc"}]
)
def test_what_a_server_says_in_other_forms_is_no_probability(told: Any) -> None:
    assert tokens_of(told) == []
    choice: dict[str, Any] = {"message": {"role": "assistant", "content": "a"}, "logprobs": told}
    kept, odd = normalized_completion({"choices": [choice]})
    assert not odd
    assert kept["choices"][0].get("logprobs") == (told if isinstance(told, dict) else None)


def test_a_token_may_be_a_part_of_a_letter_and_is_never_more_than_certain() -> None:
    part = {"token": "\ufffd", "bytes": [0xE6], "logprob": -1.0, "top_logprobs": []}
    sure = {"token": "a", "logprob": 1e-7, "top_logprobs": [{"token": "b", "logprob": -9999.0}]}
    one, other = tokens_of({"content": [part, sure]})
    assert one == (b"\xe6", {b"\xe6": pytest.approx(math.exp(-1))})
    assert other == (b"a", {b"a": 1.0, b"b": 0.0})
