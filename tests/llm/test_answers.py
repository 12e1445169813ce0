"""Reading replies: JSON is found whatever stands around it, reasoning is no answer, and doubtful answers are none."""

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
from redraft.llm.replies import NoValueError, read_value
from redraft.prompts.factual import ExcerptInput, FactTree
from redraft.prompts.qa import (
    COMPARE_ANSWERS,
    AnswerFromDocumentInput,
    AskDocumentInput,
    CompareInput,
    Comparisons,
    DocumentAnswer,
    DocumentAnswers,
    DocumentQuestions,
    Pair,
    QuestionItem,
    Ranking,
)
from redraft.prompts.tags import NO_ITEM, Tags
from redraft.text.reply_cleanup import declines, strip_reasoning
from tests.chatserver import Answer
from tests.llm.support import RED, Colour, Desk, colour, story

RIGHT, WRONG = '{"name": "red", "share": 0.5}', '{"name": "blue", "share": 1}'


def filled(text: str) -> str:
    return text.replace("{wrong}", WRONG).replace("{right}", RIGHT)


@pytest.mark.parametrize(
    "text",
    [
        "<think>{wrong}</think>{right}",
        "<reasoning>\n{wrong}\n</reasoning>\n{right}",
        "[THINK]{wrong}[/THINK]{right}",
        "◁think▷{wrong}◁/think▷{right}",
        "<|START_THINKING|>{wrong}<|END_THINKING|>{right}",
        "Sure. <think>{wrong}</think> {right}",
        "{right} <think>or {wrong}</think>",
        "{wrong} is it.</think>{right}",
        "<think>a</think>{right}<think>{wrong}</think>",
        "<|channel|>analysis<|message|>{wrong}<|end|><|start|>assistant<|channel|>final<|message|>{right}<|return|>",
        "<|channel|>analysis<|message|>{wrong}<|start|>assistant<|channel|>final <|constrain|>json<|message|>{right}",
        "analysisLet me see: {wrong}assistantfinal{right}",
        "{right}\n{right}",
        '{"unlike": 1} {right} [1] {"other": 2}',
        "Sure! Here you are:\n\n```\n{right}\n```\nAnything else?",
        "\ufeff  {right}  ",
    ],
)
def test_answer_is_found(text: str) -> None:
    assert read_value(filled(text), Colour) == RED


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("<think>{wrong}", "ends during the reasoning"),
        ("{wrong} <think>but", "ends during the reasoning"),
        ("<|channel|>analysis<|message|>{wrong}", "no JSON object"),
        ("{wrong} {right}", "two answers that differ"),
        ("Either {wrong} or {right}", "two answers that differ"),
        ("{wrong} Wait, final answer: {right}", "two answers that differ"),
        ('{wrong} final answer: {"name": "re', "breaks off"),
        ("{wrong} final answer: {", "breaks off"),
        ("{wrong} final answer: [ ", "breaks off"),
    ],
)
def test_doubtful_answer_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(NoValueError, match=complaint):
        read_value(filled(text), Colour)


PAIRS = CompareInput(pairs=[Pair(id=n, question=f"Why {n}?", document="So.", summary="So.") for n in range(1, 5)])
TAGS = Tags(PAIRS).all("pairs")


def test_answers_about_other_items_are_no_contradiction() -> None:
    first, second, *_ = TAGS

    def reply(*entries: tuple[str, str]) -> str:
        return json.dumps({"comparisons": [{"id": tag, "reason": "r", "verdict": verdict} for tag, verdict in entries]})

    def read(*texts: str) -> list[tuple[int, str]]:
        value = read_value(" ".join(texts), Comparisons, PAIRS)
        return [(entry.id, entry.verdict) for entry in value.comparisons if entry.id != NO_ITEM]

    both, verdicts = reply((first, "full"), (second, "contradicts")), [(1, "full"), (2, "contradicts")]
    assert read(reply((first, "full")), both) == verdicts
    # A reply that names none of the items does not count, wherever it stands.
    assert read(both, reply(("zzzz", "full"), ("1", "full"))) == verdicts
    assert read(reply(("zzzz", "full")), both) == verdicts
    # Whoever asked sees both verdicts on an item.
    assert read(reply((first, "contradicts")), both) == [(1, "contradicts"), *verdicts]


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("[THINK]a[/THINK]b", "b"),
        ("Sure.\n<think>a</think>\nb", "Sure.\n\nb"),
        ("Sure.\n<think>a", ""),
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
    ],
)
def test_prose_has_no_reasoning(text: str, rest: str) -> None:
    assert strip_reasoning(text) == rest


REFUSALS = """\
I'm sorry, but I can't help with that.
I’m sorry, I can’t assist with that request.
As an AI language model, I cannot provide a summary of this content.
I must decline this request.
Es tut mir leid, aber dabei kann ich nicht helfen.
Je suis désolé, mais je ne peux pas vous aider.
Извините, я не могу с этим помочь.
抱歉，我无法提供帮助。
申し訳ありませんが、お手伝いできません。
Please provide the text you would like me to summarize.
It looks like the document is missing. Could you paste it here?
Könnten Sie mir bitte das Dokument schicken?
¿Podrías enviarme el texto que quieres que resuma?
要約するテキストを提供してください。""".splitlines()
NARRATIVES = """\
I cannot forget the sea, Ann says. She wrote this in 1912 and left.
I'm sorry, said Tom, and left the house in the rain.
We could not provide enough food for the ship, the captain writes, so we turned back.
Ann says: I'm sorry, but I can't help with that.
Please, the keeper says, and he sends the letter home.
It appears that the excerpt of the will was forged, and that Tom gave it to Ann.
No document could prove the claim, and the court did not ask for one.
Natürlich wollte sie den Text an den Wärter senden.
请愿书提供了新的证据。""".splitlines()


@pytest.mark.parametrize("text", REFUSALS)
def test_refusal_in_words_is_recognized(text: str) -> None:
    assert declines(text)


@pytest.mark.parametrize("text", [*NARRATIVES, REFUSALS[0] + " So begins the letter that Ann sends to the keeper." * 8])
def test_narrative_about_refusing_is_none(text: str) -> None:
    assert not declines(text)


@pytest.mark.parametrize("text", [REFUSALS[0], f"<summary>\n{REFUSALS[1]}\n</summary>"])
async def test_refusal_is_not_asked_again(desk: Desk, text: str) -> None:
    async with desk.serving([text]) as (server, model):
        with pytest.raises(RefusedReply, match="declined"):
            await model.ask(story())
    assert (len(server.seen), desk.outcomes()) == (1, ["refused"])


async def test_repair_shortens_an_endless_reply(desk: Desk) -> None:
    async with desk.serving([Answer(f"BEGIN {'It is so. ' * 20_000} END"), RIGHT]) as (server, model):
        assert (await model.ask(colour())).value == RED
    sent = json.dumps(server.seen[1].messages)
    assert len(sent) < 12_000
    for part in ("BEGIN", "END", "characters left out"):
        assert part in sent
    assert Complaint.about("x" * 8_000, "no").reply == "x" * 8_000
    assert len(Complaint.about("x" * 8_001, "no").reply) < 8_100


class Box(BaseModel):
    model_config = ConfigDict(extra="forbid")

    content: JsonValue


class Lenient(BaseModel):
    items: list[str] = []


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
def test_value_is_found_in_prose_and_fences(content: Any, before: str, after: str, wrap: str, ascii_: bool) -> None:
    text = json.dumps({"content": content}, ensure_ascii=ascii_, indent=1)
    wrapped = wrap.replace("{}", text).replace("{{", "{")
    if wrap.startswith("<think>"):
        before = ""
    assert read_value(f"{before}{wrapped}\n{after}", Box).content == content


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from('{}[]",:0189.eE-+ \n`ntrfals\\u\ud800é<think>/'), max_size=60) | st.text())
def test_garbage_is_a_complaint(text: str) -> None:
    with suppress(NoValueError):
        read_value(text, Box)
    strip_reasoning(text)


@pytest.mark.slow
@settings(deadline=None)
@given(values, st.data())
def test_cut_reply_is_refused(content: Any, data: st.DataObject) -> None:
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
def test_megabyte_of_nonsense_takes_no_time(text: str) -> None:
    began = time.process_time()
    with pytest.raises(NoValueError):
        read_value(text, Box)
    assert time.process_time() - began < 2


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 5000])
def test_infinite_numbers_are_refused(number: str) -> None:
    with pytest.raises(NoValueError):
        read_value(f'{{"content": {number}}}', Box)


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(NoValueError):
        read_value('{"items": ["\\ud800"]}', Lenient)
    assert read_value('{"items": ["\\ud83d\\ude00"]}', Lenient).items == ["\U0001f600"]


def test_unfitting_value_is_skipped() -> None:
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


def test_model_cannot_set_internal_fields() -> None:
    inputs = AnswerFromDocumentInput(document="The lamp.", questions=[QuestionItem(id=1, question="What went out?")])
    entry = {"id": Tags(inputs).tag("questions", 1), "quote": "", "answered": True, "answer": "It.", "share": 0.9}
    (answer,) = read_value(json.dumps({"answers": [entry]}), DocumentAnswers, inputs).answers
    assert (answer.answer, answer.share) == ("It.", None)
    assert DocumentAnswer.model_validate(entry | {"id": 1}).share == 0.9


ENTRIES = [{"id": tag, "reason": "It [is] {so}.", "verdict": "full"} for tag in TAGS]
WHOLE = json.dumps({"comparisons": ENTRIES}, indent=1)


def numbers(text: str) -> list[int]:
    try:
        return [entry.id for entry in read_value(text, Comparisons, PAIRS, is_cut=True).comparisons]
    except NoValueError:
        return []


def test_whole_entries_of_a_cut_reply_count() -> None:
    ends = [WHOLE.index("}", WHOLE.index("}", WHOLE.index(tag)) + 1) for tag in TAGS]
    for length in range(len(WHOLE) - 3):
        assert numbers(WHOLE[:length]) == [n for n, end in enumerate(ends, 1) if end < length]


@pytest.mark.parametrize("before", ["", "```json\n", "Sure, here it is:\n", "<think>Hm {.</think>"])
def test_words_before_a_cut_reply_are_skipped(before: str) -> None:
    assert numbers(before + WHOLE[:-20]) == [1, 2, 3]
    assert numbers(before + json.dumps(ENTRIES)[:-9]) == [1, 2, 3]


@pytest.mark.parametrize(
    "text",
    [
        f"<think>It may be {WHOLE[:-20]}",
        WHOLE[:30],
        json.dumps({"comparisons": [entry | {"id": "1"} for entry in ENTRIES]})[:-9],
        "They are all fine, [",
        "",
    ],
    ids=["reasoning", "no entry", "no tags", "prose", "empty"],
)
def test_other_cut_replies_have_no_entries(text: str) -> None:
    assert numbers(text) == []


def test_only_independent_entries_survive_a_cut() -> None:
    questions = [
        {"question": f"Why {n}?", "kind": "why", "answer": "So.", "quote": "So.", "weight": 2} for n in (0, 1, 2)
    ]
    inputs = AskDocumentInput(excerpt="So.", count=3)
    reply = read_value(json.dumps({"questions": questions})[:-9], DocumentQuestions, inputs, is_cut=True)
    assert [question.question for question in reply.questions] == ["Why 0?", "Why 1?"]
    roots = [{"fact": f"It is so {n}.", "branches": [{"fact": "It was so.", "leaves": []}]} for n in range(3)]
    with pytest.raises(NoValueError, match="breaks off"):
        read_value(json.dumps({"roots": roots})[:-9], FactTree, ExcerptInput(excerpt="So."), is_cut=True)
    with pytest.raises(NoValueError, match="breaks off"):
        read_value('{"essential": ["bcdf", "', Ranking, PAIRS, is_cut=True)


async def test_truncated_reply_is_marked_in_cache(desk: Desk) -> None:
    request: Request[Any, Any] = Request(COMPARE_ANSWERS, PAIRS, Sampling(0.0, 100))
    async with desk.serving([Answer(WHOLE[:-20], "length")]) as (server, model):
        replies = [await model.ask(request), await model.ask(request)]
    states = [(reply.finish_reason, reply.is_truncated, len(reply.value.comparisons)) for reply in replies]
    assert states == [(TRUNCATED, True, 3)] * 2
    assert len(server.seen) == 1
