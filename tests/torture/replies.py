"""Judges whose replies are spoiled, by the thousand: whatever comes of them, no verdict is another item's.

Every entry of a right reply bears the mark of the item that it is about, so that one that is counted onto another item
is seen at once.
"""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from redraft.agents.accounts import ItemResults
from redraft.agents.evidence import EvidenceQuery, EvidenceReader
from redraft.agents.examiner import Examiner
from redraft.agents.fact_checker import FactChecker
from redraft.agents.judge import Judge
from redraft.agents.proofreader import Proofreader
from redraft.domain import Evidence, KeyFact
from redraft.llm.chat import ChatModel
from redraft.llm.rate_limiter import Limiter
from redraft.llm.recorded import RecordedModel
from redraft.prompts.book import PromptBook
from redraft.prompts.qa import Pair, Statement
from redraft.readers.documents import parse
from redraft.store.store import Store
from redraft.text.retrieval import Passages
from redraft.text.tokens import EstimatingTokenizer
from tests.judges import Sheet

Json = dict[str, Any]
Entries = list[Json]


@dataclass
class Tally:
    """What became of the replies."""

    tries: int = 0
    """How many sets of items were judged; the first reply about each was spoiled."""
    replies: int = 0
    items: int = 0
    judged: int = 0
    misplaced: int = 0
    """Verdicts that were counted onto another item than the one that they are about."""
    faults: Counter[str] = field(default_factory=Counter)
    """How often each fault was made."""
    examples: list[str] = field(default_factory=list)
    """The first misplaced verdicts, with the faults that led to them."""


# What is judged: items that bear marks, and what a right entry says of the item with a mark.
_Say = Callable[[str, Mapping[str, str]], Json]


_QUOTE = "The lamps were lit."
"""What the document says, and no more."""


def _mark(text: str) -> str:
    """The mark in a text."""
    return next((word.strip("?.\"'“”,") for word in text.split() if word.startswith("mark")), "")


def _statements(marks: Sequence[str]) -> list[Statement]:
    return [Statement(id=n, sentence=f"The lamp {mark} was lit.") for n, mark in enumerate(marks, 1)]


@dataclass
class _Bench:
    """A judge, and what it may look things up in."""

    judge: Judge
    reader: EvidenceReader

    async def compare_answers(self, marks: Sequence[str]) -> ItemResults[str]:
        pairs = [Pair(id=n, question=f"Who lit {mark}?", document="Ann", summary="Bob") for n, mark in enumerate(marks)]
        return _by(await Examiner(self.judge).compare_answers(pairs), lambda one: one.reason)

    async def answer_from_summary(self, marks: Sequence[str]) -> ItemResults[str]:
        asked = [f"Who lit {mark}?" for mark in marks]
        found = await Examiner(self.judge).answers_from_summary(_statements(marks), asked, self.reader)
        return _by(found, lambda answers: answers[0].answer)

    async def answer_from_document(self, marks: Sequence[str]) -> ItemResults[str]:
        found = await Examiner(self.judge).answers_from_document(
            [EvidenceQuery(f"Who lit {mark}?") for mark in marks], self.reader
        )
        return _by(found, lambda one: one.answer)

    async def ask_summary(self, marks: Sequence[str]) -> ItemResults[str]:
        found = await Examiner(self.judge).questions_about(*[_statements(marks)] * 2, 1, self.reader)
        return _by(found, lambda one: one.questions[0].question)

    async def facts_faithful(self, marks: Sequence[str]) -> ItemResults[str]:
        lit = [KeyFact(n, "leaf", None, f"The lamp {mark} was lit.", Evidence("")) for n, mark in enumerate(marks)]
        vetted = await FactChecker(self.judge).validate_facts(" ".join(marks), lit, "x")
        return _by(vetted["faithfulness"], lambda one: one.reason)

    async def align_facts(self, marks: Sequence[str]) -> ItemResults[str]:
        facts = [f"Someone lit {mark}." for mark in marks]
        found = await FactChecker(self.judge).align(_statements(marks), facts, self.reader)
        # The sentence that states a fact bears the fact's own mark; that it is stated is right also without its place.
        said = {
            number: " ".join(sorted(marks[n - 1] for n in told.sentences)) or (marks[number] if told.stated else "")
            for number, told in found.verdicts.items()
        }
        return ItemResults(said, found.trouble)

    async def verify_sentences(self, marks: Sequence[str]) -> ItemResults[str]:
        found = await FactChecker(self.judge).verify(_statements(marks), self.reader, None)
        return _by(found, lambda one: one.reason)

    async def find_confusion(self, marks: Sequence[str]) -> ItemResults[str]:
        statements = _statements(marks)
        reader = Proofreader(self.judge, self.reader.tokenizer, 8192, 10)
        found = await reader.read(" ".join(one.sentence for one in statements), statements)
        return _by(found, lambda one: one.questions[0])


def _by(account: ItemResults[Any], said: Callable[[Any], str]) -> ItemResults[str]:
    """The accounts with what was said of each item in place of the verdict."""
    return ItemResults({number: said(verdict) for number, verdict in account.verdicts.items()}, account.trouble)


SAYING: dict[str, tuple[str, _Say]] = {
    "compare_answers": ("comparisons", lambda mark, _: {"reason": mark, "verdict": "contradicts"}),
    "answer_from_summary": ("answers", lambda mark, places: {"answer": mark, "sentences": [places[mark]]}),
    # It names a place: an answer that shares no word with the document and names none is no answer.
    "answer_from_document": ("answers", lambda mark, _: {"answer": mark, "quote": _QUOTE}),
    "ask_summary": (
        "sentences",
        lambda mark, _: {"questions": [{"question": mark, "kind": "who", "answer": "Ann", "importance": 3}]},
    ),
    "facts_faithful": ("facts", lambda mark, _: {"reason": mark, "quote": "", "verdict": "fail"}),
    "align_facts": ("facts", lambda mark, places: {"stated": "yes", "sentences": [places[mark]]}),
    "verify_sentences": ("sentences", lambda mark, _: {"reason": mark, "quote": "", "category": "none"}),
    "find_confusion": ("sentences", lambda mark, _: {"questions": [f"{mark}?"], "types": ["language"]}),
}
"""How a right reply is made: the name of its list, and an entry but for its id, from a mark and the sentences' ids."""


def _right(sheet: Sheet) -> Json:
    """The right reply to a prompt."""
    name, say = SAYING[sheet.prompt]
    places: dict[str, str] = {}
    if sheet.prompt in ("answer_from_summary", "align_facts"):
        places = {_mark(one["text"]): number for number, one in sheet.items("sentences").items()}
    return {name: [{"id": number} | say(_mark(text), places) for number, text in sheet.judged.items()]}


def _rotated(said: Json, by: int = 1) -> Json:
    """A reply that says of each item what is right of another: whoever believes it has misplaced all."""
    ((name, entries),) = said.items()
    ids = [one["id"] for one in entries]
    return {name: [one | {"id": ids[(n + by) % len(ids)]} for n, one in enumerate(entries)]}


def _numbered(numbers: Callable[[int], object]) -> Callable[[Entries, random.Random], Entries]:
    return lambda entries, _: [one | {"id": numbers(n)} for n, one in enumerate(entries)]


def _miswritten(tag: str, rng: random.Random) -> str:
    at = rng.randrange(len(tag) - 1)
    if rng.random() < 0.5:
        return tag[:at] + tag[at + 1] + tag[at] + tag[at + 2 :]
    return tag[:at] + rng.choice("bcdfghjkmnpqrtvwx") + tag[at + 1 :]


def _doubled(entries: Entries, rng: random.Random) -> Entries:
    """Every other item is spoken of twice, the second time in words that are about its neighbour."""
    return [*entries, *(one | {"id": other["id"]} for one, other in pairwise(entries) if rng.random() < 0.5)]


def _misspelt(entries: Entries, rng: random.Random) -> Entries:
    """Ids with a wrong letter, or with two that are swapped. The right ones are said of nothing then."""
    right = {one["id"] for one in entries}
    wrong = [_miswritten(one["id"], rng) for one in entries]
    # To swap two letters that are the same changes nothing.
    return [one | ({} if spelt in right else {"id": spelt}) for one, spelt in zip(entries, wrong, strict=True)]


IDS: dict[str, Callable[[Entries, random.Random], Entries]] = {
    "zero-based": _numbered(lambda n: n),
    "from one": _numbered(lambda n: n + 1),
    "shifted": _numbered(lambda n: n + 2),
    "numbers as texts": _numbered(lambda n: str(n + 1)),
    "true": _numbered(lambda n: n == 0),
    "underscored": _numbered(lambda n: "1_0" if n else "0_1"),
    "wide digits": _numbered(lambda n: chr(0xFF11 + n)),
    "letters": _numbered(lambda n: "abcdefghijklm"[n % 13]),
    "none": _numbered(lambda n: None),
    "permuted": lambda entries, rng: rng.sample(entries, len(entries)),
    "dropped": lambda entries, rng: [one for one in entries if rng.random() < 0.5],
    "first dropped, the rest counted on": lambda entries, _: [one | {"id": n} for n, one in enumerate(entries[1:], 1)],
    "doubled alike": lambda entries, rng: [*entries, *rng.choices(entries, k=3)],
    "doubled with two verdicts": _doubled,
    "misspelt": _misspelt,
    "strangers": lambda entries, rng: [*entries, *(one | {"id": _miswritten(one["id"], rng) + "z"} for one in entries)],
    "in capitals and among words": lambda entries, _: [one | {"id": f'[ID="{one["id"].upper()}"]'} for one in entries],
}
"""What can be wrong with the ids of a reply, or only looks so."""

TEXTS: dict[str, str] = {
    "think": "<think>Perhaps {wrong}? No.</think>\n{right}",
    "thinking": "<thinking>\n{wrong}\n</thinking>\n\n{right}",
    "THINK": "[THINK]{wrong}[/THINK]{right}",
    "reasoning": "<reasoning>So {wrong}</reasoning>```json\n{right}\n```",
    "in the midst": "Let me see.\n<think>{wrong}</think>\nHere it is: {right}",
    "after the answer": "{right}\n<think>Or was it {wrong}?</think>",
    "opening sign kept": "Okay, {wrong} would do.</think>{right}",
    "opening sign kept, JSON first": "{wrong}\nThat is it.</think>{right}",
    "never ends": "<think>I would say {wrong}",
    "never ends, after an answer": "{wrong} <think>But then",
    "channels": "<|channel|>analysis<|message|>{wrong}<|end|>"
    "<|start|>assistant<|channel|>final<|message|>{right}<|return|>",
    "only analysis": "<|channel|>analysis<|message|>{wrong}",
    "bare channels": "analysisWe say {wrong}assistantfinal{right}",
    "Kimi": "◁think▷{wrong}◁/think▷{right}",
    "wait": "{wrong}\n\nWait, final answer: {right}",
    "corrected": "```json\n{wrong}\n```\nThat is not right. Corrected:\n```json\n{right}\n```",
    "two that differ": "{wrong}\n{right}",
    "two that differ, the right one first": "{right}\n{wrong}",
    "the same twice": "{right}\n{right}",
    "final, and broken off": "{wrong}\nFinal answer: {cut}",
    "an example first": "{example} is the form. {right}",
    "prose": "I believe this is it: {right} I hope that it helps!",
    "broken off": "{cut}",
}
"""How a reply can be wrapped: {right} is the right one, {wrong} one that would misplace every verdict."""


def spoilt(said: Json, fault: str, rng: random.Random) -> str:
    ((name, entries),) = said.items()
    if fault in IDS:
        return json.dumps({name: IDS[fault](entries, rng)}, ensure_ascii=rng.random() < 0.5)
    right, wrong = json.dumps(said), json.dumps(_rotated(said, rng.randint(1, max(1, len(entries) - 1))))
    example = json.dumps({name: [one | {"id": "zzzz"} for one in entries[:1]]})
    parts = {"right": right, "wrong": wrong, "cut": right[: rng.randint(1, len(right) - 1)], "example": example}
    text = TEXTS[fault]
    for part, said_so in parts.items():
        text = text.replace(f"{{{part}}}", said_so)
    return text


class _Spoiling(BaseChatModel):
    """A chat model that knows the right replies. It spoils the first about each set of items, and some others."""

    state: Any

    @property
    def _llm_type(self) -> str:
        return "spoiling"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        text = self.state.reply(str(messages[0].content))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])


@dataclass
class _State:
    """Which prompt is asked now, and by which faults its replies are spoiled."""

    rng: random.Random
    tally: Tally
    prompt: str = ""
    first: bool = True
    made: list[str] = field(default_factory=list)

    def begin(self, prompt: str) -> None:
        self.prompt, self.first, self.made = prompt, True, []

    def reply(self, text: str) -> str:
        sheet = Sheet(_which(self.prompt, text), text)
        said = _right(sheet)
        self.tally.replies += 1
        fault = self.rng.choice([*IDS, *TEXTS]) if self.first or self.rng.random() < 0.4 else ""
        # A list of one cannot be rotated.
        if not fault or len(sheet.judged) < 2:
            return json.dumps(said)
        self.first = False
        self.made.append(fault)
        self.tally.faults[fault] += 1
        return spoilt(said, fault, self.rng)


def _which(prompt: str, text: str) -> str:
    """The prompt that a text is: facts are vetted by three at once."""
    if prompt == "facts_faithful" and "quote" not in text.split("</fact>")[-1].split("Reply with one JSON")[0]:
        return "facts_objective" if "objective" in text else "facts_significant"
    return prompt


SAYING |= {
    name: ("facts", lambda mark, _: {"reason": mark, "verdict": "pass"})
    for name in ("facts_objective", "facts_significant")
}
_PROMPTS = [name for name in SAYING if name not in ("facts_objective", "facts_significant")]


async def _judged(count: int, seed: int, folder: Path) -> Tally:
    rng, tally = random.Random(seed), Tally()
    state, tokenizer = _State(rng, tally), EstimatingTokenizer()
    document = parse(("# Lamps\n\n" + f"{_QUOTE}\n\n" * 3).encode(), name="lamps.md")
    reader = EvidenceReader(document, Passages(document, tokenizer), tokenizer, 8192, tokenizer.count(document.text))
    book = PromptBook()
    with Store(folder / "redraft.db") as store:
        chat = ChatModel(_Spoiling(state=state), identity="spoiling", modes=["plain"])
        model = RecordedModel(chat, book=book, store=store, limiter=Limiter(4))
        bench = _Bench(Judge(model, book, store.judgments), reader)
        for n in range(count):
            prompt = rng.choice(_PROMPTS)
            marks = [f"mark{n}x{rng.randrange(10**6)}x{at}" for at in range(rng.randint(2, 9))]
            state.begin(prompt)
            found: ItemResults[str] = await getattr(bench, prompt)(marks)
            tally.tries += 1
            tally.items += len(marks)
            tally.judged += len(found.verdicts)
            wrong = {at: said for at, said in found.verdicts.items() if said.strip("?") != marks[at]}
            tally.misplaced += len(wrong)
            if wrong and len(tally.examples) < 5:
                tally.examples.append(f"{prompt}: {state.made}: {wrong} of {marks}")
    return tally


def spoiled(count: int, seed: int = 0) -> Tally:
    """Have so many sets of items judged by spoiled replies."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_judged(count, seed, Path(folder)))


def misplaced(count: int, seed: int) -> list[str]:
    """Which verdicts came to stand beside another item than the one that they are about."""
    return spoiled(count, seed).examples
