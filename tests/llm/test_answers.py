"""Which of the things that a reply says is its answer: never a thought, and of several only what is certain."""

from __future__ import annotations

import json

import pytest

from redraft.errors import RefusedReply
from redraft.llm.base import Complaint
from redraft.llm.reply_reader import NoValueError, declines, read_value, without_thoughts
from redraft.prompts.qa import CompareGiven, Comparisons, Pair
from redraft.prompts.tags import Tags
from tests.chatserver import Answer, ChatServer
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
    given = CompareGiven(pairs=pairs)
    one, two = (Tags(given).tag("pairs", n) for n in (1, 2))

    def said(*entries: tuple[str, str]) -> str:
        found = [{"id": name, "reason": "r", "verdict": verdict} for name, verdict in entries]
        return json.dumps({"comparisons": found})

    def read(*texts: str) -> list[tuple[int, str]]:
        value = read_value(" ".join(texts), Comparisons, given)
        return [(each.id, each.verdict) for each in value.comparisons]

    both = said((one, "agrees"), (two, "contradicts"))
    assert read(said((one, "agrees")), both) == [(1, "agrees"), (2, "contradicts")]
    # What names none of the items is no candidate, wherever it stands.
    assert read(both, said(("zzzz", "agrees"), ("1", "agrees"))) == [(1, "agrees"), (2, "contradicts")]
    assert read(said(("zzzz", "agrees")), both) == [(1, "agrees"), (2, "contradicts")]
    with pytest.raises(NoValueError, match="two answers"):
        read(said((one, "contradicts")), both)


async def test_a_doubtful_answer_is_asked_for_again(desk: Desk) -> None:
    with ChatServer([f"{WRONG} {RIGHT}", RIGHT]) as server:
        async with desk.at(server) as model:
            assert (await model.ask(colour())).value == RED
    assert "two answers that differ" in server.seen[1].messages[-1]["content"]


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("[THINK]a[/THINK]b", "b"),
        ("<reasoning>a</reasoning>\nb", "b"),
        ("Sure.\n<think>a</think>\nb", "Sure.\n\nb"),
        ("Sure.\n<think>a", ""),
        ("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>", "b"),
        ("<|channel|>analysis<|message|>a", ""),
        ("analysisWe write.assistantfinalb", "b"),
        ("analysis is what the book calls it", "analysis is what the book calls it"),
        ("[Analysis]\nThe lamp went out.", "[Analysis]\nThe lamp went out."),
        ("The tag <think> stands for it.", "The tag <think> stands for it."),
    ],
)
def test_prose_is_rid_of_thoughts(text: str, rest: str) -> None:
    assert without_thoughts(text) == rest


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
    "Bitte senden Sie mir den Text, den ich zusammenfassen soll.",
    "Könnten Sie mir bitte das Dokument schicken?",
    "Veuillez me fournir le texte à résumer.",
    "¿Podrías enviarme el texto que quieres que resuma?",
    "Potresti fornirmi il testo da riassumere?",
    "Por favor, envie o texto que deseja resumir.",
    "Пожалуйста, пришлите текст, который нужно сократить.",
    "请提供需要总结的文本。",
    "要約するテキストを提供してください。",
]


@pytest.mark.parametrize("text", REFUSALS)
async def test_a_refusal_in_words_is_a_refusal_and_no_text(desk: Desk, text: str) -> None:
    with ChatServer([text]) as server:
        async with desk.at(server) as model:
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
    with ChatServer([Answer(f"BEGIN {endless} END"), RIGHT]) as server:
        async with desk.at(server) as model:
            assert (await model.ask(colour())).value == RED
    sent = json.dumps(server.seen[1].messages)
    assert len(sent) < 12_000
    assert "BEGIN" in sent
    assert "END" in sent
    assert "characters left out" in sent


def test_a_reply_of_sensible_length_is_complained_of_in_full() -> None:
    assert Complaint.about("x" * 8_000, "no").reply == "x" * 8_000
    assert len(Complaint.about("x" * 8_001, "no").reply) < 8_100
