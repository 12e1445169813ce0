"""A judge and a writer that go by rules, over any wire: they know only what stands in the prompt as it was sent.

Their world is an island of keepers. A keeper has a number and a name, and a text either tells it or does not.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from redraft import DraftConfig, JudgeConfig, Limits, RefineConfig, Result, Reviewer, Session, Store
from redraft.domain import Document, KeyFacts, Usage
from redraft.errors import ModelError, UnreadableReply
from redraft.evaluators.base import statements_of
from redraft.events import Observer, ignore_event
from redraft.llm.base import FunctionModel, Line, Model, Request
from redraft.llm.replies import NoValueError, read_value
from redraft.prompts.book import PROMPTS, PromptBook
from redraft.prompts.contract import GAP, Fence
from redraft.readers.documents import parse
from redraft.text.words import count_words
from tests.chatserver import ChatRequest, ChatServer, text_of

KEY = "sk-test-0123456789abcdef"
UNANSWERABLE = "UNANSWERABLE"
_KEEPER = re.compile(r"keeper number (\d+) is called (\w+)")
_MENTIONED = re.compile(r"keeper number (\d+)")
_BOOK = PromptBook()
_SHAPES: dict[str, list[str]] = defaultdict(list)
for _name, _prompt in PROMPTS.items():
    if _prompt.returns is not str:
        _SHAPES[_prompt.returns.__name__].append(_name)
# An item on a line of its own, and the end of a prompt that is about some of them.
_LINE = re.compile(r"^([bcdfghjkmnpqrtvwx]{4,}): (.*)$", re.MULTILINE)
_ONLY = re.compile(r"these sentences(?: only; the others are for context)?: ([a-z, ]+)$", re.MULTILINE)
_ITEM = r'<{tag}(?: (?:n|id)="(\w+)")?>\n(.*?)\n</{tag}>'

Json = dict[str, Any]
ScriptedReply = Any
"""A text, or JSON, an `Answer`, a `Fault` or a `ModelError`."""


def island(keepers: int = 12) -> Document:
    """A document that tells of each keeper once."""
    lines = (
        f"The keeper number {n} is called Tom{n} and lives at station {7 * n} by the cold sea for {n + 3} years."
        for n in range(1, keepers + 1)
    )
    return parse(("# The Keepers\n\n" + "\n\n".join(lines)).encode(), name="keepers.md")


def summary_of(*numbers: int, wrong: Mapping[int, str] | None = None) -> str:
    """A summary that tells of some keepers, of the `wrong` ones by a name that is not theirs."""
    names = {n: f"Tom{n}" for n in numbers} | dict(wrong or {})
    return " ".join(f"The keeper number {n} is called {name}." for n, name in sorted(names.items()))


def keepers_in(text: str) -> dict[int, str]:
    """The keepers that a text tells of."""
    return {int(number): name for number, name in _KEEPER.findall(text)}


def fact_of(number: int, name: str = "") -> str:
    """The sentence that tells of a keeper."""
    return f"The keeper number {number} is called {name or f'Tom{number}'}."


def tree_of(keepers: Sequence[tuple[int, str]]) -> Json:
    """Key facts on keepers by fours: a root, a branch with a leaf, and a branch without, or two where one is left."""
    facts = [fact_of(*keeper) for keeper in keepers]
    fours = [facts[at : at + 4] for at in range(0, len(facts), 4)]
    if len(fours) > 1 and len(fours[-1]) == 1:
        fours[-2:] = [fours[-2] + fours[-1]]
    return {
        "roots": [
            {
                "fact": four[0],
                "branches": [
                    {"fact": four[1 % len(four)], "leaves": four[2:3]},
                    *({"fact": fact, "leaves": []} for fact in four[3:]),
                ],
            }
            for four in fours
        ]
    }


def keeper_in(question: str) -> int:
    """The keeper that a question is about."""
    match = re.search(r"\d+", question)
    assert match is not None
    return int(match.group())


QUESTION_LIMIT = r"Write (?:at most |\d+ to )?(\d+) questions"
"""How many questions about a document a prompt asks for."""
_SHOWN = ("document", "excerpt", "passages")


def name_question(number: int) -> str:
    """The question about a keeper."""
    return f"What is keeper number {number} called?"


@dataclass(frozen=True)
class Sheet:
    """What a judge or a writer is handed: which prompt it is, and its text."""

    prompt: str
    text: str
    again: bool = False
    """Whether an earlier reply is complained of."""
    wanted: int = 0
    """The room for the reply, in tokens."""

    def items(self, field: str) -> dict[str, dict[str, str]]:
        """The items of one field of the prompt by id or number, each as its lines by name, and as its whole `text`."""
        if self._mark(field).shared == "lines":
            only = _ONLY.search(self.text)
            names = only.group(1).split(", ") if only else []
            lines = {name: {"text": text} for name, text in _LINE.findall(self.within(field))}
            return {name: line for name, line in lines.items() if not names or name in names}
        if self._mark(field).shared == "texts":
            return {str(at): _fields(body) for at, body in enumerate(self.within(field).split(f"\n{GAP}\n"), 1)}
        items = re.findall(_ITEM.format(tag=self._mark(field).tag), self.text, re.DOTALL)
        return {name or str(at): _fields(body) for at, (name, body) in enumerate(items, 1)}

    def within(self, field: str) -> str:
        """The text of one field of the prompt; nothing where it is not there."""
        tag = self._mark(field).tag
        match = re.search(rf"<{tag}>\n(.*?)\n</{tag}>", self.text, re.DOTALL)
        return match.group(1) if match else ""

    def _has(self, field: str) -> bool:
        return field in PROMPTS[self.prompt].given.model_fields

    def _mark(self, field: str) -> Fence:
        marks = PROMPTS[self.prompt].given.model_fields[field].metadata
        return next(mark for mark in marks if isinstance(mark, Fence))

    @property
    def shown(self) -> str:
        """What the prompt shows of the document: all of it, an excerpt or passages."""
        return next(filter(None, (self.within(name) for name in _SHOWN if self._has(name))), "")

    @property
    def judged(self) -> dict[str, str]:
        """What is to be judged, by id; of what has several texts, all of them or the sentence."""
        fields = [field for field in ("facts", "questions", "candidates", "pairs", "sentences") if self._has(field)]
        return {name: sentence_of(item) for name, item in self.items(fields[0]).items()} if fields else {}

    @property
    def ids(self) -> list[str]:
        """The ids of what is to be judged."""
        return list(self.judged)

    def limit(self, pattern: str) -> int:
        """A number that the prompt states."""
        match = re.search(pattern, self.text)
        assert match is not None
        return int(match.group(1))


def _fields(body: str) -> dict[str, str]:
    fields: dict[str, str] = {"text": body}
    for line in body.split("\n"):
        name, colon, text = line.partition(": ")
        if colon and name.isidentifier():
            fields[name] = text
    return fields


def sentence_of(item: Mapping[str, str]) -> str:
    """The sentence of a summary, or the fact, in an item that may hold its context besides."""
    return item.get("sentence", item.get("fact", item["text"]))


Script = Callable[[Sheet], ScriptedReply]
Item = Mapping[str, str]


def by_item(entries: str, field: str) -> Callable[[Callable[[Any, Sheet, Item], Json]], Callable[[Any, Sheet], Json]]:
    """Make a reply with an entry for each item of a field out of a method that returns the entry of one item."""

    def decorate(entry_of: Callable[[Any, Sheet, Item], Json]) -> Callable[[Any, Sheet], Json]:
        def reply(self: Any, sheet: Sheet) -> Json:
            return {entries: [{"id": n, **entry_of(self, sheet, item)} for n, item in sheet.items(field).items()]}

        return reply

    return decorate


class PerfectModel:
    """Judges without a fault, and corrects what a point asks for. Subclasses do something worse."""

    def __call__(self, sheet: Sheet) -> ScriptedReply:
        reply: ScriptedReply = getattr(self, sheet.prompt)(sheet)
        return reply

    def summarize_chunk(self, sheet: Sheet) -> ScriptedReply:
        """Tell of the first keepers of a part, as far as there is room."""
        keepers = list(keepers_in(sheet.within("excerpt")))
        return summary_of(*keepers[: max(1, sheet.limit(r"at most (\d+) words") // count_words(fact_of(1)))])

    def ask_document(self, sheet: Sheet) -> ScriptedReply:
        sentences = re.finditer(r"The keeper number (\d+) is called (\w+) and lives", sheet.shown)
        questions = [
            {
                "question": name_question(int(match[1])),
                "kind": "who",
                "answer": match[2],
                "quote": match.group(),
                "weight": 1,
            }
            for match in sentences
        ]
        return {"questions": questions[: sheet.limit(QUESTION_LIMIT)]}

    def rank_questions(self, sheet: Sheet) -> ScriptedReply:
        return {"essential": [], "important": [], "minor": sheet.ids}

    @by_item("answers", "questions")
    def answer_from_summary(self, sheet: Sheet, question: Item) -> Json:
        number = keeper_in(question["text"])
        sentences = {n: keepers_in(sentence_of(item)) for n, item in sheet.items("sentences").items()}
        places = [n for n, keepers in sentences.items() if number in keepers]
        answer = sentences[places[0]][number] if places else ""
        return {"sentences": places[:1], "answered": bool(places), "answer": answer}

    @by_item("comparisons", "pairs")
    def compare_answers(self, sheet: Sheet, pair: Item) -> Json:
        """Compare names; a name that its sentence does not tell answers nothing."""
        if "sentence" in pair and pair["summary"] not in keepers_in(pair["sentence"]).values():
            return {"reason": "names", "verdict": "none"}
        return {"reason": "names", "verdict": "full" if pair["document"] == pair["summary"] else "contradicts"}

    @by_item("sentences", "sentences")
    def ask_summary(self, sheet: Sheet, sentence: Item) -> Json:
        return {
            "questions": [
                {"question": name_question(number), "answer": name, "search": "is called", "importance": 3}
                for number, name in keepers_in(sentence_of(sentence)).items()
            ]
        }

    @by_item("answers", "questions")
    def answer_from_document(self, sheet: Sheet, question: Item) -> Json:
        keepers, number = keepers_in(sheet.shown), keeper_in(question["text"])
        quote = f"keeper number {number} is called" if number in keepers else ""
        return {"quote": quote, "answered": number in keepers, "answer": keepers.get(number, "")}

    def write_answer(self, sheet: Sheet) -> ScriptedReply:
        """Give the name of the keeper, with the words that have it."""
        keepers, number = keepers_in(sheet.shown), keeper_in(sheet.within("question"))
        if number not in keepers:
            return {"answered": False, "sentences": []}
        sentence = fact_of(number, keepers[number])
        return {"answered": True, "sentences": [{"quote": sentence[:-1], "sentence": sentence}]}

    def keyfacts_analytical(self, sheet: Sheet) -> ScriptedReply:
        return tree_of(list(keepers_in(sheet.within("excerpt")).items()))

    def keyfacts_narrative(self, sheet: Sheet) -> ScriptedReply:
        return tree_of(list(keepers_in(sheet.within("excerpt")).items())[::-1])

    @by_item("facts", "facts")
    def facts_faithful(self, sheet: Sheet, fact: Item) -> Json:
        ((number, name),) = keepers_in(fact["text"]).items()
        verdict = "pass" if keepers_in(sheet.within("excerpt")).get(number) == name else "fail"
        return {"reason": "names", "quote": f"keeper number {number} is called", "verdict": verdict}

    @by_item("facts", "facts")
    def facts_objective(self, sheet: Sheet, fact: Item) -> Json:
        return {"reason": "a bare name", "verdict": "pass"}

    @by_item("facts", "facts")
    def facts_significant(self, sheet: Sheet, fact: Item) -> Json:
        return {"reason": "who they are", "verdict": "pass"}

    def query_analytical(self, sheet: Sheet) -> ScriptedReply:
        return {"query": f"Why are the keepers {', '.join(map(str, _numbers_of(sheet)))} called so?"}

    def query_narrative(self, sheet: Sheet) -> ScriptedReply:
        return {"query": f"Who came after whom of the keepers {', '.join(map(str, _numbers_of(sheet)))}?"}

    @by_item("facts", "facts")
    def align_facts(self, sheet: Sheet, fact: Item) -> Json:
        keepers = keepers_in(fact["text"]).items()
        sentences = sheet.items("sentences").items()
        places = [n for n, item in sentences if keepers <= keepers_in(sentence_of(item)).items()]
        return {"stated": "yes" if places else "no", "sentences": places}

    @by_item("sentences", "sentences")
    def split_facts(self, sheet: Sheet, sentence: Item) -> Json:
        return {"facts": [fact_of(*keeper) for keeper in keepers_in(sentence_of(sentence)).items()]}

    @by_item("sentences", "sentences")
    def verify_sentences(self, sheet: Sheet, sentence: Item) -> Json:
        document = keepers_in(sheet.shown)
        for number, name in keepers_in(sentence_of(sentence)).items():
            if number not in document:
                return {"reason": f"Keeper {number} is nowhere.", "quote": "", "category": "out_of_article"}
            if document[number] != name:
                reason = f"The sentence says {name}, the passages {document[number]}."
                return {"reason": reason, "quote": fact_of(number, document[number])[4:-1], "category": "entity"}
        return {"reason": "It is so.", "quote": "", "category": "none"}

    @by_item("sentences", "sentences")
    def find_confusion(self, sheet: Sheet, sentence: Item) -> Json:
        """Say what confuses: keepers without a name, told again, or by two names."""
        summary, text = sheet.within("summary"), sentence_of(sentence)
        statements = [statement.sentence for statement in statements_of(summary)]
        places = [at for at, statement in enumerate(statements) if statement.split() == text.split()] or [0]
        place = places[keeper_in(sentence["place"]) - 1 if "place" in sentence else 0]
        earlier, keepers = keepers_in(" ".join(statements[:place])), keepers_in(text)
        confusions = [(name_question(number), "entity omission") for number in _unnamed(text, summary)]
        confusions += [
            (f"Is keeper number {number} called {name} or {earlier[number]}?", "inconsistency")
            for number, name in keepers.items()
            if earlier.get(number, name) != name
        ]
        if keepers and keepers.items() <= earlier.items():
            confusions.append(("Why is this told again?", "duplication"))
        types = list(dict.fromkeys(kind for _, kind in confusions))
        return {"questions": [question for question, _ in confusions], "types": types or ["no confusion"]}

    def find_stops(self, sheet: Sheet) -> ScriptedReply:
        """Stop where a keeper is spoken of without a name."""
        summary = sheet.within("summary")
        return {
            "stops": [
                {"words": f"keeper number {number}", "question": name_question(number), "type": "entity omission"}
                for statement in statements_of(summary)
                for number in _unnamed(statement.sentence, summary)
            ]
        }

    def outline(self, sheet: Sheet) -> ScriptedReply:
        return {"kind": "other", "line": "Keepers live at stations by the sea.", "turning_points": [], "cast": []}

    def prefer_summary(self, sheet: Sheet) -> ScriptedReply:
        texts = [sheet.within(field) for field in ("first", "second")]
        keepers = [keepers_in(text) for text in texts]
        document = keepers_in(sheet.within("document")).items() or (keepers[0] | keepers[1]).items()
        right = [len(names.items() & document) for names in keepers]
        wrong = [len(names.items() - document) for names in keepers]
        repeated = [len(_KEEPER.findall(text)) - len(names) for text, names in zip(texts, keepers, strict=True)]
        return {
            "reason": f"They tell of {right[0]} and {right[1]} keepers.",
            "detail": _choice(*right),
            "structure": _choice(-repeated[0], -repeated[1]),
            "logic": _choice(-wrong[0], -wrong[1]),
            "overall": _choice(right[0] - wrong[0], right[1] - wrong[1]),
        }

    def judge_chunk(self, sheet: Sheet) -> ScriptedReply:
        facts = len(keepers_in(sheet.within("excerpt")))
        marks = {"validity": min(5, 1 + facts // 10), "coherence": 4, "cross_content": 1}
        return {"major_facts": facts, "connections": 0, "explanation": "A list of keepers.", **marks}

    def decide(self, sheet: Sheet) -> ScriptedReply:
        return {"why": "They are the first.", "mend": list(sheet.items("findings"))[:6], "instruction": ""}

    @by_item("points", "points")
    def rule_on_findings(self, sheet: Sheet, point: Item) -> Json:
        document = keepers_in(sheet.within("document") or sheet.within("passages"))
        keepers = keepers_in(point["sentence"])
        number_asked = re.search(r"\d+", point.get("question", ""))
        if number_asked and int(number_asked.group()) in keepers:
            keepers = {int(number_asked.group()): keepers[int(number_asked.group())]}
        for number, name in keepers.items():
            if number not in document:
                return {"reason": f"Keeper {number} is nowhere.", "quote": "", "verdict": "absent"}
            if document[number] != name:
                quote = fact_of(number, document[number])[:-1]
                return {"reason": "Names.", "quote": quote, "verdict": "contradicted"}
        if not keepers:
            return {"reason": "It tells of nobody.", "quote": "", "verdict": "unclear"}
        return {"reason": "It is so.", "quote": fact_of(*next(iter(keepers.items())))[:-1], "verdict": "supported"}

    def revise(self, sheet: Sheet) -> ScriptedReply:
        text = sheet.within("summary")
        for point in sheet.items("points").values():
            text = self.mended(text, complete_point(point, text, sheet.shown))
        return text

    def edit(self, sheet: Sheet) -> ScriptedReply:
        """Deal with the points, and tell what a reader must know as far as there is room."""
        text = PerfectModel.revise(self, sheet)
        limit = sheet.limit(r"at most (\d+) words") if "at most" in sheet.text else None
        for item in sheet.items("must_know").values():
            longer = f"{text} {summary_of(wrong=_answered_by(item))}"
            if item.get("draft") == "not at all" and (limit is None or count_words(longer) <= limit):
                text = longer
        return f"<revision>\n{text}\n</revision>"

    def choose_draft(self, sheet: Sheet) -> ScriptedReply:
        """Prefer the draft that tells more keepers by the name that a reader must know."""
        names = {n: name for item in sheet.items("must_know").values() for n, name in _answered_by(item).items()}
        right = [len(keepers_in(sheet.within(field)).items() & names.items()) for field in ("first", "second")]
        aspects = dict.fromkeys(("clear", "content", "overall"), _choice(*right))
        return {"reason": f"They tell {right[0]} and {right[1]}.", **aspects}

    def criticize(self, sheet: Sheet) -> ScriptedReply:
        return "It could be better."

    def mended(self, text: str, point: dict[str, str]) -> str:
        """The summary when one point is dealt with."""
        task, sentence, evidence = point["task"], point.get("sentence", ""), point.get("evidence", "")
        if task == "change":
            return f"{text} {point['instruction']}"
        if task in {"drop", "remove"}:
            # Told as in LongSumEval, a point has no sentence.
            return "".join(text.rpartition(sentence)[::2]) if sentence else text
        if task == "connect":
            return text.replace(sentence, f"After that it is told: {sentence}", 1)
        keepers = keepers_in(evidence)
        supported = " ".join(fact_of(n, keepers[n]) for n in map(int, _MENTIONED.findall(sentence)) if n in keepers)
        if task == "clarify":
            return text.replace(sentence, f"{sentence} {supported}".strip(), 1)
        if "question" in point and "answer" not in point:
            right = supported
        elif "question" in point:
            right = f"The keeper number {keeper_in(point['question'])} is called {point['answer']}."
        else:
            source = evidence if task == "correct" else point["answer"]
            right = " ".join(fact_of(*keeper) for keeper in keepers_in(source).items())
        return text.replace(sentence, right) if task == "correct" else f"{text} {right}"


def _answered_by(item: Item) -> dict[int, str]:
    """The keepers that the answer to a question, or a fact, tells of."""
    return {keeper_in(item["question"]): item["answer"]} if "question" in item else keepers_in(item["answer"])


def _numbers_of(sheet: Sheet) -> list[int]:
    return sorted(number for item in sheet.items("facts").values() for number in keepers_in(item["fact"]))


def complete_point(point: dict[str, str], summary: str, shown: str) -> dict[str, str]:
    """A point with what a question by itself leaves open: the answer, and the sentence that is wrong."""
    if "question" not in point or "sentence" in point or "evidence" in point:
        return point
    number = keeper_in(point["question"])
    names, right = keepers_in(summary), point.get("answer") or keepers_in(shown).get(number, "")
    sentence = {"sentence": fact_of(number, names[number])} if number in names else {}
    return {**point, "answer": right, **sentence}


def _unnamed(sentence: str, summary: str) -> list[int]:
    """The keepers that a sentence speaks of and neither it nor the summary names."""
    names = keepers_in(summary) | keepers_in(sentence)
    return [number for number in map(int, _MENTIONED.findall(sentence)) if number not in names]


def _choice(first: int, second: int) -> str:
    """Which of two counts is better."""
    return "tie" if first == second else "first" if first > second else "second"


class LazyReviser(PerfectModel):
    """Mends the first point only."""

    def revise(self, sheet: Sheet) -> ScriptedReply:
        text, first = sheet.within("summary"), next(iter(sheet.items("points").values()))
        return self.mended(text, complete_point(first, text, sheet.shown))

    def edit(self, sheet: Sheet) -> ScriptedReply:
        text = sheet.within("summary")
        for item in sheet.items("must_know").values():
            if item.get("draft") == "not at all":
                return f"{text} {summary_of(wrong=_answered_by(item))}"
        return self.revise(sheet) if sheet.items("points") else text


@dataclass
class FixedRevision(PerfectModel):
    """Judges without a fault, and replies to whoever asks for a revision with what is put into its mouth."""

    revision: ScriptedReply | Callable[[Sheet], ScriptedReply]

    def revise(self, sheet: Sheet) -> ScriptedReply:
        return self.revision(sheet) if callable(self.revision) else self.revision

    edit = revise


# What a template has filled in, and the least letters in between that tell it from another.
_PLACE, _TELLING = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\n"), 12


def read_sheet(wire: ChatRequest) -> Sheet:
    """The sheet in a request that a server has received, in any of the ways of asking for a structured reply."""
    body, text = wire.body, text_of(wire.messages[0])
    schema = (body.get("response_format") or {}).get("json_schema") or {}
    tools = body.get("tools") or [{}]
    shape = schema.get("name") or tools[0].get("function", {}).get("name") or ""
    plain = re.search(r'"title":"(\w+)","type":"object"}$', text)
    shape = shape or (plain.group(1) if plain else "")
    room = body.get("max_completion_tokens") or body.get("max_tokens") or 0
    free = [
        "criticize"
        if "Do not rewrite the summary." in text
        else "edit"
        if "write the whole summary anew" in text
        else "revise"
    ]
    return Sheet(_prompt_of(_SHAPES.get(shape) or free, text), text, len(wire.messages) > 1, room)


def _prompt_of(names: Sequence[str], text: str) -> str:
    """Which of some prompts that are replied to in the same shape a text is: the one of whose words it has most."""
    words = {
        name: [part for part in _PLACE.split(_BOOK.source(name)) if len(part.strip()) > _TELLING] for name in names
    }
    return max(names, key=lambda name: sum(part.strip() in text for part in words[name]) / len(words[name]))


def function_model(script: Script, identity: str = "function") -> FunctionModel:
    """The script as a model without a wire."""

    def answer(request: Request[Any, Any]) -> Line:
        sheet = Sheet(
            request.prompt.name,
            _BOOK.render(request.prompt, request.given),
            request.complaint is not None,
            request.sampling.max_tokens or 0,
        )
        reply = script(sheet)
        if isinstance(reply, ModelError):
            return reply
        shape = request.prompt.returns
        text = reply if isinstance(reply, str) else json.dumps(reply)
        if not issubclass(shape, BaseModel):
            return text
        try:
            value: Line = read_value(text, shape, request.given)
        except NoValueError as error:
            failure = UnreadableReply(str(error), text=text, usage=Usage())
            failure.nameless = error.nameless
            return failure
        return value

    return FunctionModel(answer, identity)


OPENED: list[Store] = []
"""The stores of all harnesses; those of a test are closed at its end."""


class Harness:
    """A store, and judgments and refinements on it. Every sheet that reached the judge or the writer is kept."""

    def __init__(self, folder: Path, script: Script | None = None, *, document: Document | None = None) -> None:
        self.store = Store(folder / "redraft.db")
        OPENED.append(self.store)
        self.document = document or island()
        self.sheets: list[Sheet] = []
        self.script: Script = script or PerfectModel()
        self.model: FunctionModel | None = function_model(self.reply_to)
        self.server: ChatServer | None = None

    @contextmanager
    def served(self, **options: Any) -> Iterator[ChatServer]:
        """Put the script behind a server. Whoever asks there needs `OPENAI_API_KEY`."""
        with ChatServer(scripted_replies(self.reply_to), **options) as server:
            self.server, self.model = server, None
            yield server

    def reply_to(self, sheet: Sheet) -> ScriptedReply:
        """What the script says, once the sheet is noted."""
        self.sheets.append(sheet)
        return self.script(sheet)

    def asked(self, *prompts: str) -> list[Sheet]:
        """The sheets of some prompts, in order."""
        return [sheet for sheet in self.sheets if sheet.prompt in prompts]

    def items(self, *prompts: str) -> int:
        """How many items some prompts have been asked about."""
        return sum(len(sheet.ids) for sheet in self.asked(*prompts))

    def clear_sheets(self) -> None:
        """Count from here."""
        self.sheets.clear()

    def settings(self, settings: Mapping[str, Any] | None = None) -> DraftConfig:
        """Words enough, at the server where there is one."""
        place = {"model": "openai:m", "base_url": self.server.base_url} if self.server else {}
        return DraftConfig(**{"strategy": "hierarchical", "words": 400, **place, **(settings or {})})

    def session(self, **arguments: Any) -> Session:
        """A session on the store, whose model writes, and judges where no other does."""
        return Session(self.store, **{"model": self.model, **arguments})

    async def evaluate(
        self,
        summary: str,
        *,
        document: Document | None = None,
        judges: Sequence[Model] = (),
        limits: Limits | None = None,
        settings: Mapping[str, Any] | None = None,
        observer: Observer = ignore_event,
        **judging: Any,
    ) -> Result:
        """Judge a summary."""
        async with self.session(judges=judges, limits=limits, observer=observer) as session:
            source, chosen = document or self.document, self.settings(settings)
            return await session.evaluate(source, summary, settings=chosen, judging=JudgeConfig(**judging))

    async def keyfacts(
        self,
        *,
        document: Document | None = None,
        limits: Limits | None = None,
        settings: Mapping[str, Any] | None = None,
        observer: Observer = ignore_event,
        **judging: Any,
    ) -> KeyFacts:
        """Grow the key facts of a document."""
        async with self.session(limits=limits, observer=observer) as session:
            source, chosen = document or self.document, self.settings(settings)
            result = await session.build(source, "keyfacts", settings=chosen, judging=JudgeConfig(**judging))
        assert result.run.judging is not None
        return self.store.keyfacts.get(result.run.judging.keyfacts or "")

    async def refine(
        self,
        summary: str,
        *,
        reviewer: Reviewer | None = None,
        limits: Limits | None = None,
        judging: JudgeConfig | None = None,
        settings: Mapping[str, Any] | None = None,
        **refinement: Any,
    ) -> Result:
        """Refine a summary."""
        config = RefineConfig(**{"goals": {"coverage": 0.9, "consistency": 1.0}, **refinement})
        async with self.session(limits=limits, reviewer=reviewer) as session:
            chosen = self.settings(settings)
            return await session.refine(self.document, summary, settings=chosen, judging=judging, refinement=config)

    async def resume(self, run: str, limits: Limits | None = None, reviewer: Reviewer | None = None) -> Result:
        """Go on with a run."""
        async with self.session(settings=self.settings(), reviewer=reviewer) as session:
            return await session.resume(run, limits=limits)


def scripted_replies(script: Script) -> Callable[[ChatRequest], ScriptedReply]:
    """The replies of a server by a script."""
    return lambda request: script(read_sheet(request))
