"""Reading replies: JSON is found whatever stands around it, thoughts are no answer, and only what is certain is one."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, JsonValue

from redraft.errors import RefusedReply
from redraft.llm.base import TRUNCATED, Complaint, Request, Sampling
from redraft.llm.replies import NoValueError, read_value, whole_entries
from redraft.prompts.factual import ExtractFactsInput, FactTree
from redraft.prompts.qa import (
    COMPARE_ANSWERS,
    AskDocumentInput,
    CompareInput,
    Comparisons,
    DocumentQuestions,
    Pair,
    Ranking,
)
from redraft.prompts.tags import Tags
from redraft.text.reasoning import strip_reasoning
from redraft.text.refusals import declines
from tests.chatserver import Answer
from tests.llm.support import RED, Colour, Desk, colour, story

RIGHT, WRONG = '{"name": "red", "share": 0.5}', '{"name": "blue", "share": 1}'


@pytest.mark.parametrize(
    "text",
    [
        "<think>{wrong}</think>{right}",
        "<thinking>{wrong}</thinking>{right}",
        "<thought>{wrong}</thought>{right}",
        "<reasoning>\n{wrong}\n</reasoning>\n{right}",
        "[THINK]{wrong}[/THINK]{right}",
        "◁think▷{wrong}◁/think▷{right}",
        "<|START_THINKING|>{wrong}<|END_THINKING|>{right}",
        "Sure. <think>{wrong}</think> {right}",
        "{right} <think>or {wrong}</think>",
        "{wrong} is it.</think>{right}",
        "<think>a</think>{right}<think>{wrong}</think>",
        "<|channel|>analysis<|message|>{wrong}<|end|><|start|>assistant<|channel|>final<|message|>{right}<|return|>",
        "<|channel|>analysis<|message|>{wrong}<|end|>"
        "<|start|>assistant<|channel|>final <|constrain|>json<|message|>{right}",
        "analysisLet me see: {wrong}assistantfinal{right}",
        "{wrong} Wait, final answer: {right}",
        "{wrong}\n\nActually, I made a mistake:\n```json\n{right}\n```",
        "{wrong} Korrektur: {right}",
        "{right}\n{right}",
        "{wrong} final: {right} and again {right}",
        '{{"unlike": 1}} {right} [1] {{"other": 2}}',
        "```json\n{right}\n```",
        "Sure! Here you are:\n\n```\n{right}\n```\nAnything else?",
        "The user wants a colour.</think>{right}",
        "\ufeff  {right}  ",
    ],
)
def test_the_answer_is_found(text: str) -> None:
    said = text.format(wrong=WRONG, right=RIGHT) if "{{" in text else text.replace("{wrong}", WRONG)
    assert read_value(said.replace("{right}", RIGHT), Colour) == RED


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("<think>{wrong}", "ends during the reasoning"),
        ("[THINK]{wrong}", "ends during the reasoning"),
        ("{wrong} <think>but", "ends during the reasoning"),
        ("<|channel|>analysis<|message|>{wrong}", "no JSON object"),
        ("{wrong} {right}", "two answers that differ"),
        ("Either {wrong} or {right}", "two answers that differ"),
        ("{wrong} final answer: {right} or {wrong}", "two answers that differ"),
        ('{wrong} final answer: {"name": "re', "breaks off"),
        ("{wrong} final answer: {", "breaks off"),
        ("{wrong} final answer: [ ", "breaks off"),
    ],
)
def test_what_is_doubtful_is_no_answer(text: str, complaint: str) -> None:
    with pytest.raises(NoValueError, match=complaint):
        read_value(text.replace("{wrong}", WRONG).replace("{right}", RIGHT), Colour)


def test_answers_about_other_items_are_no_contradiction() -> None:
    pairs = [Pair(id=n, question=f"{n}?", document="Ann", summary="Bob") for n in (1, 2)]
    given = CompareInput(pairs=pairs)
    one, two = (Tags(given).tag("pairs", n) for n in (1, 2))

    def said(*entries: tuple[str, str]) -> str:
        found = [{"id": name, "reason": "r", "verdict": verdict} for name, verdict in entries]
        return json.dumps({"comparisons": found})

    def read(*texts: str) -> list[tuple[int, str]]:
        value = read_value(" ".join(texts), Comparisons, given)
        return [(each.id, each.verdict) for each in value.comparisons]

    both = said((one, "full"), (two, "contradicts"))
    assert read(said((one, "full")), both) == [(1, "full"), (2, "contradicts")]
    # What names none of the items is no candidate, wherever it stands.
    assert read(both, said(("zzzz", "full"), ("1", "full"))) == [(1, "full"), (2, "contradicts")]
    assert read(said(("zzzz", "full")), both) == [(1, "full"), (2, "contradicts")]
    with pytest.raises(NoValueError, match="two answers"):
        read(said((one, "contradicts")), both)


async def test_a_doubtful_answer_is_asked_for_again(desk: Desk) -> None:
    async with desk.serving([f"{WRONG} {RIGHT}", RIGHT]) as (server, model):
        assert (await model.ask(colour())).value == RED
    assert "two answers that differ" in server.seen[1].messages[-1]["content"]


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("[THINK]a[/THINK]b", "b"),
        ("<reasoning>a</reasoning>\nb", "b"),
        ("Sure.\n<think>a</think>\nb", "Sure.\n\nb"),
        ("Sure.\n<think>a", ""),
        ("plain", "plain"),
        (" <THINKING>\na\n</THINKING>\n\nb ", "b"),
        ("<think>a</think><think>b</think>c", "c"),
        ("a</think>b", "b"),
        ("<think>never ends", ""),
        ("<think></think>", ""),
        ('{"a": "</think>"}', '{"a": "</think>"}'),
        ("The tag <think> ends with </think>.", "The tag <think> ends with </think>."),
        ("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>", "b"),
        ("<|channel|>analysis<|message|>a", ""),
        ("analysisWe write.assistantfinalb", "b"),
        ("analysis is what the book calls it", "analysis is what the book calls it"),
        ("[Analysis]\nThe lamp went out.", "[Analysis]\nThe lamp went out."),
        ("The tag <think> stands for it.", "The tag <think> stands for it."),
    ],
)
def test_prose_is_rid_of_thoughts(text: str, rest: str) -> None:
    assert strip_reasoning(text) == rest


REFUSALS = [
    "I'm sorry, but I can't help with that.",
    "I’m sorry, I can’t assist with that request.",
    "Sorry, but I cannot fulfill this request.",
    "I am sorry, but as an AI I can't help.",
    "I apologize, but I can't do that.",
    "I cannot summarize this text.",
    "I'm unable to help with this request.",
    "As an AI language model, I cannot provide a summary of this content.",
    "Unfortunately, I can't continue with this.",
    "I must decline this request.",
    "I won't help with that.",
    "I cannot fulfill your request. I am just an AI model.",
    "Es tut mir leid, aber dabei kann ich nicht helfen.",
    "Je suis désolé, mais je ne peux pas vous aider.",
    "Lo siento, pero no puedo ayudar con eso.",
    "Mi dispiace, ma non posso aiutarti.",
    "Desculpe, mas não posso ajudar com isso.",
    "Извините, я не могу с этим помочь.",
    "抱歉，我无法提供帮助。",
    "申し訳ありませんが、お手伝いできません。",
    "Please provide the text you would like me to summarize.",
    "I'd be happy to help! Please share the document.",
    "It looks like the document is missing. Could you paste it here?",
    "I don't see any text. Please send it.",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_a_refusal_in_words_is_known(text: str) -> None:
    assert declines(text)


@pytest.mark.parametrize("text", [REFUSALS[0], f"<summary>\n{REFUSALS[1]}\n</summary>"])
async def test_a_refusal_is_no_text_and_is_not_repeated(desk: Desk, text: str) -> None:
    async with desk.serving([text]) as (server, model):
        with pytest.raises(RefusedReply, match="declined"):
            await model.ask(story())
    assert len(server.seen) == 1
    assert desk.outcomes() == ["refused"]


@pytest.mark.parametrize(
    "text",
    [
        "I cannot forget the sea, Ann says. She wrote this in 1912 and left.",
        "I'm sorry, said Tom, and left the house in the rain.",
        "Sorry for the delay, the keeper lights the lamp at last.",
        "We could not provide enough food for the ship, the captain writes, so we turned back.",
        "I will not write to you again, Ann tells Tom, and she leaves this town.",
        "Ann says: I'm sorry, but I can't help with that.",
        "Please, the keeper says, and he sends the letter home.",
        "It appears that the excerpt of the will was forged, and that Tom gave it to Ann.",
        "No document could prove the claim, and the court did not ask for one.",
        "Natürlich wollte sie den Text an den Wärter senden.",
        "Puede que enviara el documento a Roma antes de morir.",
        "Certo è che il documento fu inviato a Roma.",
        "Potrebbe aver inviato il documento a Roma.",
        "请愿书提供了新的证据。",
        "I'm sorry, but I can't help with that. " + "So begins the letter that Ann sends to the keeper. " * 8,
    ],
)
def test_a_text_that_speaks_of_refusing_is_none(text: str) -> None:
    assert not declines(text)


@pytest.mark.slow
async def test_a_repair_does_not_send_back_all_of_an_endless_reply(desk: Desk) -> None:
    endless = "It is so. " * 500_000
    async with desk.serving([Answer(f"BEGIN {endless} END"), RIGHT]) as (server, model):
        assert (await model.ask(colour())).value == RED
    sent = json.dumps(server.seen[1].messages)
    assert len(sent) < 12_000
    assert "BEGIN" in sent
    assert "END" in sent
    assert "characters left out" in sent


def test_a_reply_of_sensible_length_is_complained_of_in_full() -> None:
    assert Complaint.about("x" * 8_000, "no").reply == "x" * 8_000
    assert len(Complaint.about("x" * 8_001, "no").reply) < 8_100


class Box(BaseModel):
    model_config = ConfigDict(extra="forbid")

    content: JsonValue


class Lenient(BaseModel):
    items: list[str] = []


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)

    pair: tuple[int, int]


scalars = st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.text(st.characters(codec="utf-8"))
values = st.recursive(
    scalars | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=12,
)
prose = st.text(st.characters(codec="utf-8", exclude_characters='{["<'), max_size=40).filter(lambda s: "```" not in s)


@settings(deadline=None)
@given(
    values,
    prose,
    prose,
    st.sampled_from(["{}", "```json\n{}\n```", "```\n{}```", "<think>{{x</think>{}"]),
    st.booleans(),
)
def test_any_value_is_found_in_prose_and_fences(content: Any, before: str, after: str, wrap: str, ascii_: bool) -> None:
    text = json.dumps({"content": content}, ensure_ascii=ascii_, indent=1)
    wrapped = wrap.replace("{}", text).replace("{{", "{")
    if wrap.startswith("<think>"):
        before = ""
    assert read_value(f"{before}{wrapped}\n{after}", Box).content == content


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from('{}[]",:0189.eE-+ \n`ntrfals\\u\ud800é<think>/'), max_size=60) | st.text())
def test_garbage_is_a_complaint_and_never_a_crash(text: str) -> None:
    with suppress(NoValueError):
        read_value(text, Box)
    strip_reasoning(text)


@pytest.mark.slow
@settings(deadline=None)
@given(values, st.data())
def test_a_reply_that_breaks_off_is_none(content: Any, data: st.DataObject) -> None:
    text = json.dumps({"items": ["a", "b"], "more": [content, {"items": ["part"]}]})
    cut = data.draw(st.integers(1, len(text) - 1))
    with pytest.raises(NoValueError):
        read_value(text[:cut], Lenient)


@pytest.mark.parametrize(
    "text",
    [
        "{" * 1_000_000,
        "[" * 1_000_000,
        '{"a":' * 200_000,
        "[1," * 300_000,
        "[" + "1," * 500_000,
        "```" + "\n" * 1_000_000 + "x",
        "```json\n" * 100_000,
        "<think>" * 140_000,
        "x {y} " * 160_000,
        "[1] " * 250_000,
        '"' * 1_000_000,
        '{"a" ' * 200_000,
        "1" * 1_000_000,
    ],
    ids=lambda text: text[:8].encode("unicode_escape").decode(),
)
def test_a_megabyte_of_nonsense_takes_no_time(text: str) -> None:
    began = time.process_time()
    with pytest.raises(NoValueError):
        read_value(text, Box)
    assert time.process_time() - began < 2


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 5000])
def test_what_is_no_number_is_no_number(number: str) -> None:
    with pytest.raises(NoValueError):
        read_value(f'{{"content": {number}}}', Box)


def test_half_a_surrogate_pair_is_no_text() -> None:
    with pytest.raises(NoValueError):
        read_value('{"items": ["\\ud800"]}', Lenient)
    assert read_value('{"items": ["\\ud83d\\ude00"]}', Lenient).items == ["\U0001f600"]


def test_a_value_that_does_not_fit_is_passed_over_and_complained_of() -> None:
    assert read_value('Not {"items": 3}, but {"items": ["a"]}', Lenient).items == ["a"]
    with pytest.raises(NoValueError, match=r"items\.0: Input should be a valid string"):
        read_value('{"items": [3]}', Lenient)
    with pytest.raises(NoValueError, match="no JSON object"):
        read_value("none here", Lenient)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"name": "she said "red" to it", "share": 0.5}', 'she said "red" to it'),
        ('{"name": "red" "share": 0.5}', "red"),
        ("Sure: {'name': 'Ann's red', 'share': 0.5,}", "Ann's red"),
        ('{"name": "red", "share": 0.5, // a half\n}', "red"),
    ],
)
def test_broken_json_is_repaired(text: str, name: str) -> None:
    assert read_value(text, Colour) == Colour(name=name, share=0.5)


@pytest.mark.parametrize(
    "text",
    [
        "It is red, and the share is 0.5",
        "{red: half}",
        '{"name": "red", "name": "blue", "share": 0.5,}',
        '{"name": "red", "share": 0.5',
        '{"name": "red, "share": 0.5}',
        '{"name": "red", "share": NaN,}',
        '{"name": "red", "share": 1e999,}',
        '["red" 0.5]',
    ],
)
def test_a_repair_invents_nothing(text: str) -> None:
    with pytest.raises(NoValueError):
        read_value(text, Colour)


def test_json_is_read_as_json_even_by_a_strict_model() -> None:
    assert read_value('{"pair": [1, 2]}', Strict).pair == (1, 2)


GIVEN = CompareInput(pairs=[Pair(id=n, question=f"Why {n}?", document="So.", summary="So.") for n in range(1, 5)])
TAGS = [Tags(GIVEN).tag("pairs", n) for n in range(1, 5)]
SAID = [{"id": tag, "reason": "It [is] {so}.", "verdict": "full"} for tag in TAGS]
WHOLE = json.dumps({"comparisons": SAID}, indent=1)


def numbers(text: str) -> list[int]:
    found = whole_entries(text, Comparisons, GIVEN)
    return [one.id for one in found.comparisons] if found else []


def test_wherever_it_is_cut_the_entries_before_that_count_as_they_are() -> None:
    ends = [WHOLE.index("}", WHOLE.index(tag)) for tag in TAGS]
    # The reason has a bracket of its own.
    ends = [WHOLE.index("}", end + 1) for end in ends]
    for length in range(len(WHOLE) - 3):
        assert numbers(WHOLE[:length]) == [n for n, end in enumerate(ends, 1) if end < length]


@pytest.mark.parametrize("before", ["", "```json\n", "Sure, here it is:\n", "<think>Hm {.</think>"])
def test_what_stands_before_it_is_passed_over(before: str) -> None:
    assert numbers(before + WHOLE[:-20]) == [1, 2, 3]
    assert numbers(before + json.dumps(SAID)[:-9]) == [1, 2, 3]


@pytest.mark.parametrize(
    "text",
    [
        f"{WHOLE}\nWait, correction: {WHOLE[:-20]}",
        f"<think>It may be {WHOLE[:-20]}",
        WHOLE[:30],
        json.dumps({"comparisons": [one | {"id": "1"} for one in SAID]})[:-9],
        json.dumps({"first": {"comparisons": SAID}, "then": {"comparisons": SAID}})[:-30],
        "They are all fine, [",
        "",
    ],
    ids=["thought better of", "a thought", "no question about the document", "strangers", "deeper", "prose", "empty"],
)
def test_what_is_no_list_of_entries_that_count_by_themselves_is_none(text: str) -> None:
    assert numbers(text) == []


def test_questions_count_by_themselves_and_a_tree_or_an_order_that_is_cut_is_none() -> None:
    asked = [{"question": f"Why {n}?", "kind": "why", "answer": "So.", "quote": "So.", "weight": 2} for n in range(3)]
    found = whole_entries(
        json.dumps({"questions": asked})[:-9], DocumentQuestions, AskDocumentInput(excerpt="So.", count=3)
    )
    assert found is not None
    assert [one.question for one in found.questions] == ["Why 0?", "Why 1?"]
    roots = [{"fact": f"It is so {n}.", "branches": [{"fact": "It was so.", "leaves": []}]} for n in range(3)]
    assert whole_entries(json.dumps({"roots": roots})[:-9], FactTree, ExtractFactsInput(excerpt="So.")) is None
    assert whole_entries('{"essential": ["bcdf", "', Ranking, GIVEN) is None


async def test_such_a_reply_is_told_from_one_that_came_to_its_end_from_memory_too(desk: Desk) -> None:
    request: Request[Any, Any] = Request(COMPARE_ANSWERS, GIVEN, Sampling(0.0, 100))
    async with desk.serving([Answer(WHOLE[:-20], "length")]) as (server, model):
        replies = [await model.ask(request), await model.ask(request)]
    assert [(one.finish_reason, one.is_truncated, len(one.value.comparisons)) for one in replies] == [
        (TRUNCATED, True, 3)
    ] * 2
    assert len(server.seen) == 1
