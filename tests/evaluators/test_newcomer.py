"""The newcomer over real HTTP: what is shown and not shown, what becomes of a reply, and how the stops are reported."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import redraft
from redraft.domain import Document, Evaluation, Finding
from redraft.prompts.coherence import MAX_STOPS
from redraft.settings import NEWCOMER
from tests.chatserver import ChatRequest, ChatServer, Reply, text_of

pytestmark = pytest.mark.usefixtures("api_key")

DOCUMENT = Document.from_text(
    "Ada keeps the lighthouse on Skarn. In the winter of the great flood she rowed out to a wreck. " * 3, "The Keeper"
)
SUMMARY = (
    "Ada keeps the light on Skarn.\n\nOne night, after the quarrel, she rows out alone. The light on Skarn stays dark."
)
QUARREL = {"words": "after the quarrel", "question": "What quarrel does Ada have?", "type": "event omission"}
DARK = {"words": "The light on Skarn stays dark", "question": "What becomes of Ada?", "type": "ending"}


@contextmanager
def judge(*replies: Reply, **options: Any) -> Iterator[ChatServer]:
    """A server that gives these replies in turn, the last one again and again."""
    remaining = list(replies)

    def reply(_: ChatRequest) -> Reply:
        return remaining.pop(0) if len(remaining) > 1 else remaining[0]

    with ChatServer(reply, **options) as server:
        yield server


def judged(server: ChatServer, summary: str = SUMMARY, **options: Any) -> Evaluation:
    settings = {"model": "openai:m", "base_url": server.base_url, "store": ":memory:"}
    result = redraft.evaluate(DOCUMENT, summary, metrics=[NEWCOMER], **{**settings, **options})
    return result.evaluations[NEWCOMER]


def test_stops_are_findings_with_words_and_questions() -> None:
    with judge({"stops": [QUARREL, DARK]}) as server:
        evaluation = judged(server)
    assert (evaluation.outcome, evaluation.score, evaluation.judged, evaluation.unjudged) == ("measured", None, 3, 0)
    quarrel, dark = evaluation.findings
    assert (quarrel.metric, quarrel.kind, quarrel.task) == (NEWCOMER, "event omission", "clarify")
    assert quarrel.sentence == "One night, after the quarrel, she rows out alone."
    assert (quarrel.found, quarrel.question) == ("after the quarrel", "What quarrel does Ada have?")
    assert (dark.kind, dark.task, dark.sentence) == ("ending", "change", "The light on Skarn stays dark.")
    assert evaluation.details["stops"] == [QUARREL, DARK]
    many = [{**QUARREL, "question": f"What quarrel is number {n}?"} for n in range(MAX_STOPS + 3)]
    with judge({"stops": [many[0], *many]}) as server:
        evaluation = judged(server)
    assert [finding.question for finding in evaluation.findings] == [stop["question"] for stop in many[:12]]


@pytest.mark.parametrize("query", [None, "Why does Ada row out?"])
def test_newcomer_sees_nothing_of_the_document(query: str | None) -> None:
    with judge({"stops": []}) as server:
        judged(server, **({"query": query} if query else {}))

    (request,) = server.seen
    text = "\n".join(map(text_of, request.messages))
    assert f"<summary>\n{SUMMARY}\n</summary>" in text
    assert "great flood" not in text
    assert "The Keeper" not in text
    assert ("<question>" in text) == (query is not None)
    assert query is None or f"<question>\n{query}\n</question>" in text
    assert request.body["temperature"] == 0


@pytest.mark.parametrize(
    "reply",
    [
        "It is clear.",
        "None.",
        "[]",
        {"stops": None},
        {"stops": [{"words": "after the quarrel", "question": " ", "type": "event omission"}]},
        {"stops": [{**QUARREL, "type": "boredom"}]},
    ],
    ids=["prose", "a word", "a bare list", "null", "no question", "an unknown type"],
)
def test_unreadable_reply_is_a_failure(reply: Reply) -> None:
    with judge(reply) as server:
        evaluation = judged(server)

    assert (evaluation.outcome, evaluation.judged, evaluation.unjudged, evaluation.findings) == ("failed", 0, 3, ())
    assert evaluation.reason


def finding(words: str, kind: str = "language") -> Finding:
    with judge({"stops": [{"words": words, "question": "What is it?", "type": kind}]}) as server:
        return judged(server).findings[0]


@pytest.mark.parametrize(
    ("words", "sentence", "quoted"),
    [
        ("“AFTER the quarrel”", "One night, after the quarrel, she rows out alone.", "after the quarrel"),
        ("on Skarn. One night", "Ada keeps the light on Skarn.", "on Skarn. One night"),
        ("after a quarrel she rows out alone", "One night, after the quarrel, she rows out alone.", ""),
        ("the keeper's debts", "", ""),
        ("", "", ""),
    ],
    ids=["other case", "two sentences", "most of the words", "not there", "none"],
)
def test_only_words_of_the_summary_are_quoted(words: str, sentence: str, quoted: str) -> None:
    stop = finding(words)
    assert (stop.sentence, stop.found, stop.question) == (sentence, quoted, "What is it?")


LONG = " ".join(
    f"Keeper number {n} came to the old light on Skarn in the cold winter of {1800 + n}." for n in range(150)
)


@pytest.mark.slow
def test_long_summary_is_read_part_by_part() -> None:
    with judge(
        {"stops": [{"words": "Keeper number 149", "question": "Who is it?", "type": "entity omission"}]}
    ) as server:
        evaluation = judged(server, LONG, context_tokens=4000)

    texts = ["\n".join(map(text_of, request.messages)) for request in server.seen]
    assert len(texts) > 2
    parts = sorted((text.partition("<summary>\n")[2].partition("\n</summary>")[0] for text in texts), key=LONG.index)
    assert " ".join(parts) == LONG
    for text in texts:
        part = text.partition("<summary>\n")[2].partition("\n</summary>")[0]
        at = parts.index(part)
        assert (f"<context>\n{parts[at - 1]}\n</context>" in text) == (at > 0)
        assert ("goes on after this part" in text) == (part != parts[-1])
    assert (evaluation.outcome, evaluation.judged) == ("measured", 150)
