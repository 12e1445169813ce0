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

from redraft import DraftConfig, JudgeConfig, Limits, RefineConfig, Result, Session, Store
from redraft.domain import Document, KeyFacts, Usage
from redraft.errors import ModelError, UnreadableReply
from redraft.evaluators.base import statements_of
from redraft.llm.base import FunctionModel, Line, Model, Request
from redraft.llm.replies import NoValueError, read_value
from redraft.prompts.book import PROMPTS, PromptBook
from redraft.prompts.contract import GAP, Fence, FencedLines, FencedTexts
from redraft.readers.documents import parse
from redraft.text.words import count_words
from tests.chatserver import ChatServer, Seen, text_of

KEY = "sk-test-0123456789abcdef"
UNANSWERABLE = "UNANSWERABLE"
WANTED = r"Write (?:at most |\d+ to )?(\d+) questions"
"""How many questions about a document a prompt asks for."""
Json = dict[str, Any]
Said = Any
"""A text, or JSON, an `Answer`, a `Fault` or a `ModelError`."""
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


def island(keepers: int = 12) -> Document:
    """A document that tells of each keeper once."""
    lines = (
        f"The keeper number {n} is called Tom{n} and lives at station {7 * n} by the cold sea for {n + 3} years."
        for n in range(1, keepers + 1)
    )
    return parse(("# The Keepers\n\n" + "\n\n".join(lines)).encode(), name="keepers.md")


def told(*numbers: int, wrong: Mapping[int, str] | None = None) -> str:
    """A summary that tells of some keepers, of the `wrong` ones by a name that is not theirs."""
    names = {n: f"Tom{n}" for n in numbers} | dict(wrong or {})
    return " ".join(f"The keeper number {n} is called {name}." for n, name in sorted(names.items()))


def keepers_in(text: str) -> dict[int, str]:
    """The keepers that a text tells of."""
    return {int(number): name for number, name in re.findall(r"keeper number (\d+) is called (\w+)", text)}


def fact_of(number: int, name: str = "") -> str:
    """The sentence that tells of a keeper."""
    return f"The keeper number {number} is called {name or f'Tom{number}'}."


def tree_of(keepers: Sequence[tuple[int, str]]) -> Json:
    """Key facts on keepers by fours: a root, a branch with a leaf, and a branch without, or two where one is left."""
    facts = [fact_of(*keeper) for keeper in keepers]
    fours = [facts[at : at + 4] for at in range(0, len(facts), 4)]
    if len(fours) > 1 and len(fours[-1]) == 1:
        fours[-2:] = [fours[-2] + fours[-1]]

    def branches(four: list[str]) -> list[Json]:
        lone = [{"fact": fact, "leaves": []} for fact in four[3:]]
        return [{"fact": four[1 % len(four)], "leaves": four[2:3]}, *lone]

    return {"roots": [{"fact": four[0], "branches": branches(four)} for four in fours]}


def asked_of(question: str) -> int:
    """The keeper that a question is about."""
    return int(re.findall(r"\d+", question)[0])


def named(number: int) -> str:
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
        mark = self._mark(field)
        if isinstance(mark, FencedLines):
            only = _ONLY.search(self.text)
            wanted = only.group(1).split(", ") if only else []
            lines = _LINE.findall(self.within(field))
            return {name: {"text": text} for name, text in lines if not wanted or name in wanted}
        if isinstance(mark, FencedTexts):
            bodies = [("", body) for body in self.within(field).split(f"\n{GAP}\n")]
        else:
            bodies = re.findall(_ITEM.format(tag=mark.tag), self.text, re.DOTALL)
        return {name or str(at): _fields(body) for at, (name, body) in enumerate(bodies, 1)}

    def within(self, field: str) -> str:
        """The text of one field of the prompt; nothing where it is not there."""
        tag = self._mark(field).tag
        return next(iter(re.findall(rf"<{tag}>\n(.*?)\n</{tag}>", self.text, re.DOTALL)), "")

    def _mark(self, field: str) -> Fence:
        return next(mark for mark in self._given[field].metadata if isinstance(mark, Fence))

    @property
    def _given(self) -> Mapping[str, Any]:
        return PROMPTS[self.prompt].given.model_fields

    @property
    def shown(self) -> str:
        """What the prompt shows of the document: all of it, an excerpt or passages."""
        names = (name for name in ("document", "excerpt", "passages") if name in self._given)
        return next(filter(None, map(self.within, names)), "")

    @property
    def judged(self) -> dict[str, str]:
        """What is to be judged, by id; of what has several texts, all of them or the sentence."""
        names = [name for name in ("facts", "questions", "candidates", "pairs", "sentences") if name in self._given]
        return {n: sentence_of(item) for n, item in self.items(names[0]).items()} if names else {}

    @property
    def ids(self) -> list[str]:
        """The ids of what is to be judged."""
        return list(self.judged)

    def limit(self, pattern: str) -> int:
        """A number that the prompt states."""
        return int(re.findall(pattern, self.text)[0])

    def entries(self, field: str, reply_to: Callable[[dict[str, str]], Json]) -> list[Json]:
        """An entry of a reply for each item of one field, with its id."""
        return [{"id": n, **reply_to(item)} for n, item in self.items(field).items()]


def _fields(body: str) -> dict[str, str]:
    lines = (line.partition(": ") for line in body.split("\n"))
    return {"text": body} | {name: text for name, colon, text in lines if colon and name.isidentifier()}


def sentence_of(item: Mapping[str, str]) -> str:
    """The sentence of a summary, or the fact, in an item that may hold its context besides."""
    return item.get("sentence", item.get("fact", item["text"]))


Script = Callable[[Sheet], Said]


class Keepers:
    """Judges without a fault, and mends what it is told to. Others inherit from it, and do something worse."""

    def __call__(self, sheet: Sheet) -> Said:
        said: Said = getattr(self, sheet.prompt)(sheet)
        return said

    def summarize_chunk(self, sheet: Sheet) -> Said:
        """Tells of the first keepers of a part, as far as there is room."""
        keepers = list(keepers_in(sheet.within("excerpt")))
        return told(*keepers[: max(1, sheet.limit(r"at most (\d+) words") // count_words(fact_of(1)))])

    def ask_document(self, sheet: Sheet) -> Said:
        lines = re.finditer(r"The keeper number (\d+) is called (\w+) and lives", sheet.shown)
        questions = [
            {"question": named(int(line[1])), "kind": "who", "answer": line[2], "quote": line.group(), "weight": 1}
            for line in lines
        ]
        return {"questions": questions[: sheet.limit(WANTED)]}

    def rank_questions(self, sheet: Sheet) -> Said:
        return {"essential": [], "important": [], "minor": sheet.ids}

    def answer_from_summary(self, sheet: Sheet) -> Said:
        sentences = {n: keepers_in(sentence_of(item)) for n, item in sheet.items("sentences").items()}

        def answer(item: dict[str, str]) -> Json:
            number = asked_of(item["text"])
            places = [n for n, keepers in sentences.items() if number in keepers][:1]
            name = sentences[places[0]][number] if places else ""
            return {"sentences": places, "answered": bool(places), "answer": name}

        return {"answers": sheet.entries("questions", answer)}

    def compare_answers(self, sheet: Sheet) -> Said:
        return {"comparisons": sheet.entries("pairs", lambda pair: {"reason": "names", "verdict": _compared(pair)})}

    def ask_summary(self, sheet: Sheet) -> Said:
        def questions(item: dict[str, str]) -> Json:
            keepers, usual = keepers_in(sentence_of(item)).items(), {"search": "is called", "importance": 3}
            return {"questions": [{"question": named(number), "answer": name, **usual} for number, name in keepers]}

        return {"sentences": sheet.entries("sentences", questions)}

    def answer_from_document(self, sheet: Sheet) -> Said:
        known = keepers_in(sheet.shown)

        def answer(item: dict[str, str]) -> Json:
            name = known.get(number := asked_of(item["text"]), "")
            quote = f"keeper number {number} is called" if name else ""
            return {"quote": quote, "answered": bool(name), "answer": name}

        return {"answers": sheet.entries("questions", answer)}

    def write_answer(self, sheet: Sheet) -> Said:
        """The name of the keeper that is asked about, with the words that have it."""
        known, number = keepers_in(sheet.shown), asked_of(sheet.within("question"))
        facts = [fact_of(number, known[number])] if number in known else []
        sentences = [{"quote": fact[:-1], "sentence": fact} for fact in facts]
        return {"answered": bool(facts), "sentences": sentences}

    def keyfacts_analytical(self, sheet: Sheet) -> Said:
        return tree_of(list(keepers_in(sheet.within("excerpt")).items()))

    def keyfacts_narrative(self, sheet: Sheet) -> Said:
        return tree_of(list(keepers_in(sheet.within("excerpt")).items())[::-1])

    def facts_faithful(self, sheet: Sheet) -> Said:
        known = keepers_in(sheet.within("excerpt"))

        def support(item: dict[str, str]) -> Json:
            ((number, name),) = keepers_in(item["text"]).items()
            verdict = "pass" if known.get(number) == name else "fail"
            return {"reason": "names", "quote": f"keeper number {number} is called", "verdict": verdict}

        return {"facts": sheet.entries("facts", support)}

    def facts_objective(self, sheet: Sheet) -> Said:
        return {"facts": [{"id": n, "reason": "a bare name", "verdict": "pass"} for n in sheet.ids]}

    def facts_significant(self, sheet: Sheet) -> Said:
        return {"facts": [{"id": n, "reason": "who they are", "verdict": "pass"} for n in sheet.ids]}

    def query_analytical(self, sheet: Sheet) -> Said:
        return {"query": f"Why are the keepers {_keepers_of(sheet)} called so?"}

    def query_narrative(self, sheet: Sheet) -> Said:
        return {"query": f"Who came after whom of the keepers {_keepers_of(sheet)}?"}

    def align_facts(self, sheet: Sheet) -> Said:
        sentences = {n: keepers_in(sentence_of(item)) for n, item in sheet.items("sentences").items()}

        def alignment(item: dict[str, str]) -> Json:
            fact = keepers_in(item["text"]).items()
            places = [n for n, keepers in sentences.items() if fact <= keepers.items()]
            return {"stated": "yes" if places else "no", "sentences": places}

        return {"facts": sheet.entries("facts", alignment)}

    def split_facts(self, sheet: Sheet) -> Said:
        def facts(item: dict[str, str]) -> Json:
            return {"facts": [fact_of(*keeper) for keeper in keepers_in(sentence_of(item)).items()]}

        return {"sentences": sheet.entries("sentences", facts)}

    def verify_sentences(self, sheet: Sheet) -> Said:
        known = keepers_in(sheet.shown)
        return {"sentences": sheet.entries("sentences", lambda item: _verified(keepers_in(sentence_of(item)), known))}

    def find_confusion(self, sheet: Sheet) -> Said:
        """Finds keepers confusing that have no name, are told again, or have two names."""
        summary = sheet.within("summary")
        lines = statements_of(summary)

        def confusion(item: dict[str, str]) -> Json:
            sentence = sentence_of(item)
            places = [at for at, line in enumerate(lines) if line.sentence.split() == sentence.split()] or [0]
            place = places[asked_of(item["place"]) - 1 if "place" in item else 0]
            earlier, here = keepers_in(" ".join(line.sentence for line in lines[:place])), keepers_in(sentence)
            found = [(named(number), "entity omission") for number in _unnamed(sentence, summary)]
            found += [
                (f"Is keeper number {number} called {name} or {earlier[number]}?", "inconsistency")
                for number, name in here.items()
                if earlier.get(number, name) != name
            ]
            if here and here.items() <= earlier.items():
                found.append(("Why is this told again?", "duplication"))
            types = list(dict.fromkeys(kind for _, kind in found)) or ["no confusion"]
            return {"questions": [question for question, _ in found], "types": types}

        return {"sentences": sheet.entries("sentences", confusion)}

    def find_stops(self, sheet: Sheet) -> Said:
        """Stops where a keeper is spoken of without a name."""
        summary = sheet.within("summary")
        numbers = [number for line in statements_of(summary) for number in _unnamed(line.sentence, summary)]
        return {
            "stops": [
                {"words": f"keeper number {number}", "question": named(number), "type": "entity omission"}
                for number in numbers
            ]
        }

    def outline(self, sheet: Sheet) -> Said:
        return {"kind": "other", "line": "Keepers live at stations by the sea.", "turning_points": [], "cast": []}

    def prefer_summary(self, sheet: Sheet) -> Said:
        texts = [sheet.within("first"), sheet.within("second")]
        drafts = [keepers_in(text) for text in texts]
        known = keepers_in(sheet.within("document")).items() or (drafts[0] | drafts[1]).items()
        right = [len(draft.items() & known) for draft in drafts]
        wrong = [len(draft.items() - known) for draft in drafts]
        again = [text.count(" is called ") - len(draft) for text, draft in zip(texts, drafts, strict=True)]
        return {
            "reason": f"They tell of {right[0]} and {right[1]} keepers.",
            "detail": _choice(*right),
            "structure": _choice(-again[0], -again[1]),
            "logic": _choice(-wrong[0], -wrong[1]),
            "overall": _choice(right[0] - wrong[0], right[1] - wrong[1]),
        }

    def judge_chunk(self, sheet: Sheet) -> Said:
        facts = len(keepers_in(sheet.within("excerpt")))
        marks = {"validity": min(5, 1 + facts // 10), "coherence": 4, "cross_content": 1}
        return {"major_facts": facts, "connections": 0, "explanation": "A list of keepers.", **marks}

    def decide(self, sheet: Sheet) -> Said:
        """Leads as a careful person would: the first findings there are."""
        return {"why": "They are the first.", "mend": list(sheet.items("findings"))[:6], "instruction": ""}

    def rule_on_findings(self, sheet: Sheet) -> Said:
        """Reads for itself, and goes by what stands there."""
        known = keepers_in(sheet.within("document") or sheet.within("passages"))
        return {"points": sheet.entries("points", lambda point: _ruled(point, known))}

    def revise(self, sheet: Sheet) -> Said:
        text = sheet.within("summary")
        for point in sheet.items("points").values():
            text = self.mended(text, looked_up(point, text, sheet.shown))
        return text

    def edit(self, sheet: Sheet) -> Said:
        """Deals with the points, and tells what a reader must know as far as there is room."""
        text = Keepers.revise(self, sheet)
        most = sheet.limit(r"at most (\d+) words") if "at most" in sheet.text else None
        for item in sheet.items("must_know").values():
            longer = f"{text} {told(wrong=_answered_by(item))}"
            if item.get("draft") == "not at all" and (most is None or count_words(longer) <= most):
                text = longer
        return f"<revision>\n{text}\n</revision>"

    def choose_draft(self, sheet: Sheet) -> Said:
        """Prefers the draft that tells more keepers by the name that a reader must know."""
        known = {n: name for item in sheet.items("must_know").values() for n, name in _answered_by(item).items()}
        right = [len(keepers_in(sheet.within(field)).items() & known.items()) for field in ("first", "second")]
        choices = dict.fromkeys(("clear", "content", "overall"), _choice(*right))
        return {"reason": f"They tell {right[0]} and {right[1]}.", **choices}

    def criticize(self, sheet: Sheet) -> Said:
        return "It could be better."

    def mended(self, text: str, point: dict[str, str]) -> str:
        """The summary when one point is dealt with."""
        task, sentence = point["task"], point.get("sentence", "")
        if task == "change":
            return f"{text} {point['instruction']}"
        if task in {"drop", "remove"}:
            # Told as in LongSumEval, a point has no sentence.
            return "".join(text.rpartition(sentence)[::2]) if sentence else text
        if task == "connect":
            return text.replace(sentence, f"After that it is told: {sentence}", 1)
        if task == "clarify":
            return text.replace(sentence, f"{sentence} {_borne_out(point)}".strip(), 1)
        if "question" in point:
            right = fact_of(asked_of(point["question"]), point["answer"]) if "answer" in point else _borne_out(point)
        else:
            source = point.get("evidence", "") if task == "correct" else point["answer"]
            right = " ".join(fact_of(*keeper) for keeper in keepers_in(source).items())
        return text.replace(sentence, right) if task == "correct" else f"{text} {right}"


def _answered_by(item: Mapping[str, str]) -> dict[int, str]:
    """The keepers that the answer to a question, or a fact, tells of."""
    return {asked_of(item["question"]): item["answer"]} if "question" in item else keepers_in(item["answer"])


def _compared(pair: Mapping[str, str]) -> str:
    """How the names in a pair compare; a name that its sentence does not tell answers nothing."""
    if "sentence" in pair and pair["summary"] not in keepers_in(pair["sentence"]).values():
        return "none"
    return "full" if pair["document"] == pair["summary"] else "contradicts"


def _keepers_of(sheet: Sheet) -> str:
    return ", ".join(map(str, sorted(n for item in sheet.items("facts").values() for n in keepers_in(item["fact"]))))


def _verified(keepers: Mapping[int, str], known: Mapping[int, str]) -> Json:
    """What is wrong with a sentence that tells of these keepers, going by those that are known."""
    for number, name in keepers.items():
        if number not in known:
            return {"reason": f"Keeper {number} is nowhere.", "quote": "", "category": "out_of_article"}
        if known[number] != name:
            reason = f"The sentence says {name}, the passages {known[number]}."
            return {"reason": reason, "quote": fact_of(number, known[number])[4:-1], "category": "entity"}
    return {"reason": "It is so.", "quote": "", "category": "none"}


def _ruled(point: Mapping[str, str], known: Mapping[int, str]) -> Json:
    """What the document says of the keepers that a point is about."""
    keepers = keepers_in(point["sentence"])
    numbers = [int(number) for number in re.findall(r"\d+", point.get("question", ""))[:1] if int(number) in keepers]
    for number in numbers or keepers:
        if number not in known:
            return {"reason": f"Keeper {number} is nowhere.", "quote": "", "verdict": "absent"}
        if known[number] != keepers[number]:
            return {"reason": "Names.", "quote": fact_of(number, known[number])[:-1], "verdict": "contradicted"}
    if not keepers:
        return {"reason": "It tells of nobody.", "quote": "", "verdict": "unclear"}
    number = (numbers or list(keepers))[0]
    return {"reason": "It is so.", "quote": fact_of(number, keepers[number])[:-1], "verdict": "supported"}


def looked_up(point: dict[str, str], summary: str, shown: str) -> dict[str, str]:
    """A point with what a question by itself leaves to be found: the answer, and the sentence that is wrong."""
    if "question" not in point or "sentence" in point or "evidence" in point:
        return point
    number, own = asked_of(point["question"]), keepers_in(summary)
    sentence = {"sentence": fact_of(number, own[number])} if number in own else {}
    return {**point, "answer": point.get("answer") or keepers_in(shown).get(number, ""), **sentence}


def _borne_out(point: Mapping[str, str]) -> str:
    """What the evidence tells of the keepers that a sentence speaks of."""
    known = keepers_in(point.get("evidence", ""))
    return " ".join(fact_of(n, known[n]) for n in map(int, _MENTIONED.findall(point["sentence"])) if n in known)


def _unnamed(sentence: str, summary: str) -> list[int]:
    """The keepers that a sentence speaks of and neither it nor the summary names."""
    known = keepers_in(summary) | keepers_in(sentence)
    return [number for number in map(int, _MENTIONED.findall(sentence)) if number not in known]


def _choice(first: int, second: int) -> str:
    """Which of two counts is better."""
    return "tie" if first == second else "first" if first > second else "second"


class Lazy(Keepers):
    """Mends the first point only."""

    def revise(self, sheet: Sheet) -> Said:
        text, first = sheet.within("summary"), next(iter(sheet.items("points").values()))
        return self.mended(text, looked_up(first, text, sheet.shown))

    def edit(self, sheet: Sheet) -> Said:
        text = sheet.within("summary")
        for item in sheet.items("must_know").values():
            if item.get("draft") == "not at all":
                return f"{text} {told(wrong=_answered_by(item))}"
        return self.revise(sheet) if sheet.items("points") else text


@dataclass
class Saying(Keepers):
    """Judges without a fault, and replies to whoever asks for a revision with what is put into its mouth."""

    revision: Said | Callable[[Sheet], Said]

    def revise(self, sheet: Sheet) -> Said:
        return self.revision(sheet) if callable(self.revision) else self.revision

    edit = revise


def shapes() -> frozenset[str]:
    """The names of the schemas that redraft's prompts are replied to in."""
    return frozenset(_SHAPES)


def seen_on(wire: Seen) -> Sheet:
    """The sheet in a request that a server has received, in any of the ways of asking for a structured reply."""
    body, text = wire.body, text_of(wire.messages[0])
    schema = (body.get("response_format") or {}).get("json_schema") or {}
    tool = (body.get("tools") or [{}])[0].get("function", {})
    plain = re.findall(r'"title":"(\w+)","type":"object"}$', text)
    shape = schema.get("name") or tool.get("name") or "".join(plain)
    free = {"Do not rewrite the summary.": "criticize", "write the whole summary anew": "edit"}
    names = _SHAPES.get(shape) or [next((name for words, name in free.items() if words in text), "revise")]
    # Of prompts that are replied to in the same shape, it is the one of whose template the text has most.
    prompt = max(names, key=lambda name: _share_of_template(name, text))
    return Sheet(prompt, text, len(wire.messages) > 1, body.get("max_completion_tokens") or body.get("max_tokens") or 0)


def _share_of_template(name: str, text: str) -> float:
    parts = [part.strip() for part in re.split(r"\{\{.*?\}\}|\{%.*?%\}|\n", _BOOK.source(name))]
    telling = [part for part in parts if len(part) > 12]
    return sum(part in text for part in telling) / len(telling)


def function_model(script: Script, identity: str = "function") -> FunctionModel:
    """The script as a model without a wire."""

    def answer(request: Request[Any, Any]) -> Line:
        text = _BOOK.render(request.prompt, request.given)
        again, room = request.complaint is not None, request.sampling.max_tokens or 0
        said = script(Sheet(request.prompt.name, text, again, room))
        shape = request.prompt.returns
        if isinstance(said, ModelError):
            return said
        reply = said if isinstance(said, str) else json.dumps(said)
        if not issubclass(shape, BaseModel):
            return reply
        try:
            value: Line = read_value(reply, shape, request.given)
        except NoValueError as error:
            failure = UnreadableReply(str(error), text=reply, usage=Usage())
            failure.nameless = error.nameless
            return failure
        return value

    return FunctionModel(answer, identity)


def behind(script: Script) -> Callable[[Seen], Said]:
    """The replies of a server by a script."""
    return lambda seen: script(seen_on(seen))


class Court:
    """A store, and judgments and refinements on it. Every sheet that reached the judge or the writer is kept."""

    def __init__(self, folder: Path, script: Script | None = None, *, document: Document | None = None) -> None:
        self.store = Store(folder / "redraft.db")
        self.document = document or island()
        self.sheets: list[Sheet] = []
        self.script: Script = script or Keepers()
        self.model: FunctionModel | None = function_model(self.hear)
        self.server: ChatServer | None = None

    @contextmanager
    def served(self, **options: Any) -> Iterator[ChatServer]:
        """Put the script behind a server. Whoever asks there needs `OPENAI_API_KEY`."""
        with ChatServer(behind(self.hear), **options) as server:
            self.server, self.model = server, None
            yield server

    def hear(self, sheet: Sheet) -> Said:
        """What the script says, once the sheet is noted."""
        self.sheets.append(sheet)
        return self.script(sheet)

    def asked(self, *prompts: str) -> list[Sheet]:
        """The sheets of some prompts, in order."""
        return [sheet for sheet in self.sheets if sheet.prompt in prompts]

    def items(self, *prompts: str) -> int:
        """How many items some prompts have been asked about."""
        return sum(len(sheet.ids) for sheet in self.asked(*prompts))

    def forget(self) -> None:
        """Count from here."""
        self.sheets.clear()

    def settings(self, settings: Mapping[str, Any] | None = None) -> DraftConfig:
        """Words enough, at the server where there is one."""
        place = {"model": "openai:m", "base_url": self.server.base_url} if self.server else {}
        return DraftConfig(**{"strategy": "hierarchical", "words": 400, **place, **(settings or {})})

    def session(self, **people: Any) -> Session:
        """A workshop on the store, whose model writes, and judges where nobody else does."""
        return Session(self.store, **{"model": self.model, **people})

    async def evaluate(
        self, summary: str, *, document: Document | None = None, judges: Sequence[Model] = (), **asked: Any
    ) -> Result:
        """Judge a summary. Limits, settings and an observer stand among what is asked for, beside the judging."""
        people, settings, judging = self._divided(asked)
        async with self.session(judges=judges, **people) as session:
            return await session.evaluate(document or self.document, summary, settings=settings, judging=judging)

    async def keyfacts(self, *, document: Document | None = None, **asked: Any) -> KeyFacts:
        """Grow the key facts of a document."""
        people, settings, judging = self._divided(asked)
        async with self.session(**people) as session:
            result = await session.build(document or self.document, "keyfacts", settings=settings, judging=judging)
        assert result.run.judging is not None
        return self.store.keyfacts.get(result.run.judging.keyfacts or "")

    def _divided(self, asked: Json) -> tuple[Json, DraftConfig, JudgeConfig]:
        people = {name: asked.pop(name) for name in ("limits", "observer") if name in asked}
        return people, self.settings(asked.pop("settings", None)), JudgeConfig(**asked)

    async def refine(
        self,
        summary: str,
        *,
        judging: JudgeConfig | None = None,
        settings: Mapping[str, Any] | None = None,
        **asked: Any,
    ) -> Result:
        """Refine a summary. A reviewer and limits stand among what is asked for, beside the refinement."""
        people = {name: asked.pop(name) for name in ("limits", "reviewer") if name in asked}
        wanted = RefineConfig(**{"goals": {"coverage": 0.9, "consistency": 1.0}, **asked})
        async with self.session(**people) as session:
            chosen = self.settings(settings)
            return await session.refine(self.document, summary, settings=chosen, judging=judging, refinement=wanted)

    async def resume(self, run: str, limits: Limits | None = None, **people: Any) -> Result:
        """Go on with a run."""
        async with self.session(settings=self.settings(), **people) as session:
            return await session.resume(run, limits=limits)
