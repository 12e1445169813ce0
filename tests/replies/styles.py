"""The ways in which models of many families write a structured reply."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from itertools import pairwise

from tests.replies.prompts import Case, Json

Style = Callable[[Case, random.Random], str]


def _text(value: object, **options: int) -> str:
    return json.dumps(value, ensure_ascii=False, **options)  # type: ignore[arg-type]


def _around(before: str, after: str = "", **options: int) -> Style:
    return lambda case, _: f"{before}{_text(case.clean, **options)}{after}"


def _main(case: Case) -> tuple[str, list[Json]]:
    return next(((name, value) for name, value in case.clean.items() if isinstance(value, list)), ("", []))


def _whole(change: Callable[[Json], object]) -> Style:
    return lambda case, _: _text(change(case.clean))


def _entries(change: Callable[[list[Json], random.Random], list[object]]) -> Style:
    """A reply whose entries are changed; of one that has none, the reply as it is."""

    def style(case: Case, rng: random.Random) -> str:
        if not case.entries:
            return _text(case.clean)
        return _text(case.clean | {case.entries: change([dict(entry) for entry in case.clean[case.entries]], rng)})

    return style


def _lines(before: str = "", after: str = "", line: str = "{}\n") -> Style:
    def style(case: Case, _: random.Random) -> str:
        if not case.entries:
            return _text(case.clean)
        return before + "".join(line.replace("{}", _text(entry)) for entry in case.clean[case.entries]) + after

    return style


def _rotated(case: Case) -> Json:
    """A reply that says of each item what is right of another, or of a whole what is wrong."""
    name, entries = _main(case)
    if case.entries:
        ids = [entry["id"] for entry in entries]
        return case.clean | {name: [entry | {"id": ids[n - 1]} for n, entry in enumerate(entries)]}
    if entries:
        return case.clean | {name: entries[::-1]}
    return {key: _other(value) for key, value in case.clean.items()}


def _other(value: object) -> object:
    if isinstance(value, list):
        return value[::-1]
    swapped: dict[object, object] = {"first": "second", "second": "first", "tie": "first"}
    return value % 5 + 1 if isinstance(value, int) else swapped.get(value, f"{value} Not so?")


def _thought(before: str, between: str, after: str = "") -> Style:
    return lambda case, _: f"{before}{_text(_rotated(case))}{between}{_text(case.clean)}{after}"


def _spoil_one(spoil: Callable[[Json, random.Random], object]) -> Style:
    def change(entries: list[Json], rng: random.Random) -> list[object]:
        at = rng.randrange(len(entries))
        return [spoil(entry, rng) if n == at else entry for n, entry in enumerate(entries)]

    return _entries(change)


def _unescaped(case: Case, rng: random.Random) -> str:
    """One entry has quotation marks in a text that nothing tells from its end."""
    if not case.entries:
        return _text(case.clean)
    at = rng.randrange(len(case.clean[case.entries]))
    parts = [_text(entry) for entry in case.clean[case.entries]]
    parts[at] = parts[at][:-1] + ', "note": "she said "no" to it"}'
    return f'{{"{case.entries}": [{", ".join(parts)}]}}'


def _renamed(names: dict[str, str]) -> Style:
    return _entries(
        lambda entries, _: [{names.get(key, key): value for key, value in entry.items()} for entry in entries]
    )


_OTHER_NAMES = {"id": "question_id", "reason": "explanation", "verdict": "judgment", "quote": "evidence"}
_ASIDES = ("reason", "quote")
_VERDICTS = ("verdict", "category", "stated", "answer", "types")
_REFUSALS = (
    "I'm sorry, but I can't help with that.",
    "Ich kann diese Frage nicht beantworten.",
    "Je ne peux pas répondre.",
    "No puedo responder a eso.",
    "Non posso rispondere.",
    "Não posso responder.",
    "Я не могу ответить на это.",
    "抱歉，我无法回答。",
    "申し訳ありませんが、お答えできません。",
)

READ: dict[str, Style] = {
    "bare": _around(""),
    "indented": _around("", indent=2),
    "on one line with blanks around": _around(" \n\t", "\n\n "),
    "after a byte order mark": _around("\ufeff"),
    "fence": _around("```json\n", "\n```", indent=2),
    "fence without a name": _around("```\n", "\n```"),
    "fence in capitals": _around("```JSON\n", "\n```\n"),
    "unfinished fence": _around("```json\n"),
    "prose before": _around("Sure! Here is the JSON that you asked for:\n\n"),
    "prose after": _around("", "\n\nLet me know if you need anything else!"),
    "prose with marks": _around("I looked at [1] and {all} of it.\n\n", "\n(That is all: 6/6.)"),
    "heading": _around("## Answer\n\n**Result:**\n"),
    "thought": _thought("<think>\nPerhaps ", "? No.\n</think>\n\n"),
    "empty thought": _around("<think>\n\n</think>\n\n"),
    "thought of Mistral": _thought("[THINK]It may be ", "[/THINK]"),
    "thought of Cohere": _thought("<|START_THINKING|>", "<|END_THINKING|>"),
    "thought of Kimi": _thought("◁think▷", "◁/think▷"),
    "thought without a beginning": _thought("Okay, ", "\n</think>\n"),
    "thought, then a fence": lambda case, rng: f"<think>Hm.</think>\n```json\n{_text(case.clean, indent=1)}\n```",
    "channels": _thought(
        "<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>".join(("", "")), ""
    ),
    "bare channels": _thought("analysisWe need JSON: ", "assistantfinal"),
    "reflection": _thought("<reflection>", "</reflection>\nAnswer: "),
    "said twice": lambda case, rng: f"{_text(case.clean)}\n\n{_text(case.clean, indent=1)}",
    "trailing commas": lambda case, rng: (
        _text(case.clean, indent=1).replace('"\n', '",\n').replace("]\n", "],\n").replace("}\n", "},\n")
    ),
    "Python": lambda case, rng: repr(case.clean),
    "Python in a fence": lambda case, rng: f"```python\n{case.clean!r}\n```",
    "bare list": lambda case, rng: (
        _text(_main(case)[1]) if len(case.clean) == 1 and _main(case)[0] else _text(case.clean)
    ),
    "list around it": _whole(lambda reply: [reply]),
    "under its name": _whole(lambda reply: {"response": reply}),
    "under two names": _whole(lambda reply: {"output": {"result": reply}}),
    "call of a function": _whole(lambda reply: {"name": "reply", "arguments": reply}),
    "call in tags": lambda case, rng: f"<tool_call>\n{_text({'name': 'reply', 'arguments': case.clean})}\n</tool_call>",
    "lines": _lines(),
    "lines in a fence": _lines("```jsonl\n", "```"),
    "lines after prose": _lines("Here are the entries:\n\n", "\nThat is all."),
    "numbered lines": _lines(line="1. {}\n"),
    "bullets": _lines(line="- `{}`\n"),
    "lines with commas": _lines(line="{},\n"),
    "an object for each": lambda case, rng: (
        "\n".join(_text({case.entries: [entry]}) for entry in case.clean[case.entries])
        if case.entries
        else _text(case.clean)
    ),
    "names in capitals": lambda case, rng: _text({key.upper(): value for key, value in case.clean.items()}),
    "other names": _renamed(_OTHER_NAMES),
    "more than asked for": _entries(
        lambda entries, _: [entry | {"confidence": 0.9, "note": None} for entry in entries]
    ),
    "ids among words": _entries(lambda entries, _: [entry | {"id": f'[id="{entry["id"]}"]'} for entry in entries]),
    "ids in capitals": _entries(lambda entries, _: [entry | {"id": entry["id"].upper()} for entry in entries]),
    "permuted": _entries(lambda entries, rng: [*rng.sample(entries, len(entries))]),
    "doubled alike": _entries(lambda entries, rng: [*entries, *entries[:3]]),
    "an example before it": lambda case, rng: f'The form is {{"example": ["..."]}}, so: {_text(case.clean)}',
}
"""Styles in which nothing is lost."""

LOSSY: dict[str, Style] = {
    "asides left out": _entries(
        lambda entries, _: [{k: v for k, v in entry.items() if k not in _ASIDES} for entry in entries]
    ),
    "null for asides": _entries(
        lambda entries, _: [entry | dict.fromkeys(set(_ASIDES) & set(entry)) for entry in entries]
    ),
    "null for lists": _entries(lambda entries, _: [{k: v or None for k, v in entry.items()} for entry in entries]),
    "empty lists left out": _entries(
        lambda entries, _: [{k: v for k, v in entry.items() if v != []} for entry in entries]
    ),
    "half of them": _entries(lambda entries, _: [*entries[::2]]),
    "one alone": lambda case, rng: _text(case.clean[case.entries][0]) if case.entries else _text(case.clean),
    "one that hedges": _spoil_one(
        lambda entry, _: {
            k: f"partially {v}" if k in ("verdict", "category", "stated") else v for k, v in entry.items()
        }
    ),
    "one with none": _spoil_one(lambda entry, _: {k: None if k in _VERDICTS else v for k, v in entry.items()}),
    "one that is a text": _spoil_one(lambda entry, _: f"{entry['id']}: fine"),
    "one that is empty": _spoil_one(lambda entry, _: {}),
    "one without an id": _spoil_one(lambda entry, _: {k: v for k, v in entry.items() if k != "id"}),
    "one by a number": _spoil_one(lambda entry, _: entry | {"id": 1}),
    "one with a miswritten id": _spoil_one(lambda entry, _: entry | {"id": entry["id"][::-1] + "x"}),
    "one with odd marks": _unescaped,
    "one spoken of twice": _entries(
        lambda entries, rng: [*entries, *(entries[0] | {"id": entry["id"]} for entry in entries[1:2])]
    ),
    "one spoken of twice, once in vain": _entries(
        lambda entries, rng: [
            *entries,
            *(
                {"id": entry["id"], "verdict": 7, "answer": {}, "questions": 3, "stated": [], "category": 1}
                for entry in entries[1:2]
            ),
        ]
    ),
    "three dots": lambda case, rng: _text(case.clean).replace("}, {", "}, ..., {", 1),
}
"""Styles in which entries are lost, and none is another's."""

LOST: dict[str, Style] = {
    "nothing": lambda case, rng: "",
    "prose": lambda case, rng: "They all look fine to me.",
    "thought without an end": lambda case, rng: f"<think>I would say {_text(case.clean)}",
    "an answer, then a thought": lambda case, rng: f"{_text(case.clean)}\n<think>Or rather",
    "only analysis": lambda case, rng: f"<|channel|>analysis<|message|>{_text(case.clean)}",
    "two that differ": lambda case, rng: f"{_text(_rotated(case))}\n{_text(case.clean)}",
    "YAML": lambda case, rng: (
        "\n".join(f"{key}: {value}" for key, value in case.clean.items() if not isinstance(value, list))
        or "answers:\n- id: x"
    ),
    "the schema": lambda case, rng: json.dumps(case.prompt.returns.model_json_schema()),
    "numbers for ids": lambda case, rng: (
        _text(case.clean | {case.entries: [entry | {"id": n} for n, entry in enumerate(case.clean[case.entries])]})
        if case.entries
        else ""
    ),
    **{f"refusal: {said}": lambda case, rng, said=said: said for said in _REFUSALS},  # type: ignore[misc]
}
"""Replies that say nothing, or not what."""


def _numbered(numbers: Callable[[int], object]) -> Style:
    return _entries(lambda entries, _: [entry | {"id": numbers(at)} for at, entry in enumerate(entries)])


def _miswritten(tag: str, rng: random.Random) -> str:
    at = rng.randrange(len(tag) - 1)
    if rng.random() < 0.5:
        return tag[:at] + tag[at + 1] + tag[at] + tag[at + 2 :]
    return tag[:at] + rng.choice("bcdfghjkmnpqrtvwx") + tag[at + 1 :]


def _misspelt(entries: list[Json], rng: random.Random) -> list[object]:
    """Ids with a wrong letter, or with two that are swapped. The right ones are said of nothing then."""
    right = {entry["id"] for entry in entries}
    wrong = [_miswritten(entry["id"], rng) for entry in entries]
    # To swap two letters that are the same changes nothing.
    return [entry | ({} if spelt in right else {"id": spelt}) for entry, spelt in zip(entries, wrong, strict=True)]


def _wrapped(template: str) -> Style:
    """A reply in other words and marks: {right} is the right one, {wrong} one that would misplace every verdict."""

    def style(case: Case, rng: random.Random) -> str:
        right, wrong = _text(case.clean), _text(_rotated(case))
        example = _text({case.entries: [entry | {"id": "zzzz"} for entry in case.clean.get(case.entries, [])[:1]]})
        parts = {"right": right, "wrong": wrong, "cut": right[: rng.randint(1, len(right) - 1)], "example": example}
        return re.sub(r"\{(right|wrong|cut|example)\}", lambda match: parts[match[1]], template)

    return style


FAULTS: dict[str, Style] = {
    "zero-based": _numbered(lambda at: at),
    "from one": _numbered(lambda at: at + 1),
    "shifted": _numbered(lambda at: at + 2),
    "numbers as texts": _numbered(lambda at: str(at + 1)),
    "true": _numbered(lambda at: at == 0),
    "underscored": _numbered(lambda at: "1_0" if at else "0_1"),
    "wide digits": _numbered(lambda at: chr(0xFF11 + at)),
    "letters": _numbered(lambda at: "abcdefghijklm"[at % 13]),
    "none": _numbered(lambda at: None),
    "dropped": _entries(lambda entries, rng: [entry for entry in entries if rng.random() < 0.5]),
    "first dropped, the rest counted on": _entries(
        lambda entries, _: [entry | {"id": at} for at, entry in enumerate(entries[1:], 1)]
    ),
    "doubled with two verdicts": _entries(
        lambda entries, rng: [
            *entries,
            *(entry | {"id": next_entry["id"]} for entry, next_entry in pairwise(entries) if rng.random() < 0.5),
        ]
    ),
    "misspelt": _entries(_misspelt),
    "strangers": _entries(
        lambda entries, rng: [*entries, *(entry | {"id": _miswritten(entry["id"], rng) + "z"} for entry in entries)]
    ),
    "thought, in the midst": _wrapped("Let me see.\n<think>{wrong}</think>\nHere it is: {right}"),
    "thought after the answer": _wrapped("{right}\n<think>Or was it {wrong}?</think>"),
    "opening sign kept, JSON first": _wrapped("{wrong}\nThat is it.</think>{right}"),
    "never ends": _wrapped("<think>I would say {wrong}"),
    "never ends, after an answer": _wrapped("{wrong} <think>But then"),
    "only analysis": _wrapped("<|channel|>analysis<|message|>{wrong}"),
    "corrected": _wrapped("```json\n{wrong}\n```\nThat is not right. Corrected:\n```json\n{right}\n```"),
    "two that differ, the right one first": _wrapped("{right}\n{wrong}"),
    "final, and broken off": _wrapped("{wrong}\nFinal answer: {cut}"),
    "an example first": _wrapped("{example} is the form. {right}"),
    "broken off": _wrapped("{cut}"),
}
"""Faults of ids and wrappings that would misplace verdicts, or only look so; nothing need be read."""
