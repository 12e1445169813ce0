"""However a model writes a structured reply, and whatever its labels: its verdict on an item is read, or none is."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from typing import Any

import pytest
from pydantic import BaseModel

from redraft.agents.judge import _settled
from redraft.llm.replies import NoValueError, read_value
from redraft.prompts.book import PROMPTS
from redraft.prompts.coherence import Confusion
from redraft.prompts.contract import synonyms
from redraft.prompts.factual import Alignment, FactAssessment, FactSupport, FactSupports, Verification, Verifications
from redraft.prompts.qa import Comparison, SummaryAnswers, yes_or_no
from redraft.prompts.tags import TaggedItem, Tags
from tests.replies.prompts import CASES, NAMES, Case, Json
from tests.replies.styles import FAULTS, LOSSY, LOST, READ

PROMPT = pytest.mark.parametrize("name", CASES)
LISTED = pytest.mark.parametrize("name", sorted(name for name, case in CASES.items() if case.entries))
Verdicts = dict[int, dict[str, Any]]


def read(case: Case, text: str) -> BaseModel | None:
    try:
        value: BaseModel = read_value(text, case.prompt.returns, case.given)
    except NoValueError:
        return None
    return value


def clean(case: Case) -> BaseModel:
    value = read(case, json.dumps(case.clean))
    assert value is not None
    return value


def verdict(entry: Any) -> dict[str, Any] | None:
    """The verdict of an entry; None if it has none, as for the agents that ask for it."""
    if isinstance(entry, Confusion):
        confusion = {"confusing": entry.is_confusing, "questions": entry.asked}
        return None if entry.is_confusing is None else confusion
    fields: dict[str, Any] = entry.model_dump(exclude={"id", "reason", "quote"})
    return fields if getattr(entry, "answer", "something") else None


def settled(case: Case, value: BaseModel) -> Verdicts:
    verdicts: Verdicts = _settled(
        [(entry.id - 1, verdict(entry)) for entry in getattr(value, case.entries)], range(len(NAMES))
    )[0]
    return verdicts


def count_right(case: Case, value: BaseModel | None) -> int:
    """How many verdicts there are. None may differ from the clean reply's."""
    right = clean(case)
    if value is None:
        return 0
    if case.entries:
        verdicts, right_verdicts = settled(case, value), settled(case, right)
        assert {n: right_verdicts[n] for n in verdicts} == verdicts
        return len(verdicts)
    for name, part in right:
        own = getattr(value, name)
        assert own == part or (isinstance(part, list) and [entry for entry in part if entry in own] == own)
    return 1


def test_every_structured_prompt_has_a_case() -> None:
    assert set(CASES) == {name for name, prompt in PROMPTS.items() if prompt.returns is not str}


def test_invalid_entry_of_a_list_in_capitals_is_left_out() -> None:
    case = CASES["outline"]
    cast = [*case.clean["cast"], 5]
    value = read(case, json.dumps({name: part for name, part in case.clean.items() if name != "cast"} | {"CAST": cast}))
    assert value == clean(case)


@PROMPT
def test_every_style_is_read(name: str) -> None:
    case = CASES[name]
    for style, write in READ.items():
        text = write(case, random.Random(style))
        value = read(case, text)
        if case.entries:
            assert count_right(case, value) == len(NAMES), (style, text)
        else:
            assert value == clean(case), (style, text)


@PROMPT
def test_bad_entry_costs_only_itself(name: str) -> None:
    case = CASES[name]
    for style, write in LOSSY.items():
        least = {"half of them": 3, "one alone": 1}.get(style, len(NAMES) - 1) if case.entries else 1
        for seed in range(3):
            text = write(case, random.Random(seed))
            assert count_right(case, read(case, text)) >= least, (style, text)


@PROMPT
def test_empty_reply_gives_no_verdict(name: str) -> None:
    case = CASES[name]
    for style, write in LOST.items():
        text = write(case, random.Random(0))
        assert count_right(case, read(case, text)) == 0, (style, text)


@PROMPT
def test_faulty_ids_misplace_no_verdict(name: str) -> None:
    case = CASES[name]
    for write in FAULTS.values():
        for seed in range(4):
            count_right(case, read(case, write(case, random.Random(f"{name} {seed}"))))


@PROMPT
def test_cut_reply_gives_no_other_verdict(name: str) -> None:
    """At every eighth token, at other ones for each prompt and style, and at the last four."""
    case = CASES[name]
    for style in ("bare", "indented", "fence", "Python", "lines", "thought", "bare list"):
        text = READ[style](case, random.Random(1))
        cuts = sorted({match.start() for match in re.finditer(r"\b|\W", text)} - {0, len(text)})
        for cut in (*cuts[random.Random(name + style).randrange(8) : -4 : 8], *cuts[-4:]):
            value = read(case, text[:cut])
            count = count_right(case, value)
            if style != "lines" and value is not None:
                # Only the marks around it are missing.
                assert count == (len(NAMES) if case.entries else 1), text[:cut]


def alone(whole: Case) -> tuple[Case, str]:
    """The same case with only the first of its items, and the tag of that."""
    first = whole.clean[whole.entries][0]
    lists = {name: getattr(whole.given, name) for name in type(whole.given).model_fields}
    (field,) = [
        name
        for name, items in lists.items()
        if isinstance(items, list)
        and any(isinstance(item, TaggedItem) for item in items)
        and first["id"] in Tags(whole.given).all(name)
    ]
    inputs = whole.given.model_copy(update={field: lists[field][:1]})
    (tag,) = Tags(inputs).asked(field)
    return Case(whole.prompt, inputs, {whole.entries: [first | {"id": tag}]}), tag


def read_one(case: Case, reply: Json | str) -> BaseModel:
    text = reply if isinstance(reply, str) else json.dumps(reply)
    value: BaseModel = read_value(text, case.prompt.returns, case.given)
    return value


def with_id(case: Case, name: Any) -> Json:
    (entry,) = case.clean[case.entries]
    return {case.entries: [{**entry, "id": name}]}


@LISTED
def test_only_entry_is_about_the_only_item(name: str) -> None:
    case, _ = alone(CASES[name])
    right = read_one(case, case.clean)
    assert getattr(right, case.entries)[0].id == 1
    for own in ("1", "0", 1, None, "", "s1", "Q1", "the sentence", "id", "first", "zzzz"):
        assert read_one(case, with_id(case, own)) == right, own
    (entry,) = case.clean[case.entries]
    assert read_one(case, {case.entries: [{key: part for key, part in entry.items() if key != "id"}]}) == right
    numbered = Case(case.prompt, case.given, with_id(case, "1"))
    for style in READ.keys() - {"ids in capitals", "ids among words", "thought"}:
        assert read_one(case, READ[style](numbered, random.Random(style))) == right, style


@LISTED
@pytest.mark.parametrize("example", ["jcpg", '[id="bdvr"]', "ccnt."])
def test_tag_of_an_example_names_no_item(name: str, example: str) -> None:
    case, _ = alone(CASES[name])
    with pytest.raises(NoValueError, match="names none of the items"):
        read_one(case, with_id(case, example))


@LISTED
def test_unnamed_entry_among_several_is_dropped(name: str) -> None:
    case, tag = alone(CASES[name])
    two = [*with_id(case, "1")[case.entries], *with_id(case, "2")[case.entries]]
    with pytest.raises(NoValueError, match="names none of the items"):
        read_one(case, {case.entries: two})
    reply = read_one(case, {case.entries: [*two, *with_id(case, tag)[case.entries]]})
    named = [entry for entry in getattr(reply, case.entries) if entry.id == 1]
    assert named == getattr(read_one(case, case.clean), case.entries)
    several = CASES[name]
    with pytest.raises(NoValueError, match="names none of the items"):
        read_one(several, {several.entries: [several.clean[several.entries][0] | {"id": "1"}]})


def test_unnamed_entry_is_about_the_sentence_asked() -> None:
    case = CASES["ask_summary"]
    inputs = case.given.model_copy(update={"only": [2]})
    first, second = (Tags(inputs).tag("sentences", n) for n in (1, 2))
    entry = case.clean["sentences"][0]

    def about(name: str) -> int:
        reply: Any = read_one(Case(case.prompt, inputs, {}), {"sentences": [entry | {"id": name}]})
        number: int = reply.sentences[0].id
        return number

    # The first sentence is not asked about, and still another one.
    assert (about("1"), about(second), about(first)) == (2, 2, 1)


FINE: Json = {"reason": "It is so.", "quote": "", "category": "none"}


def labelled(name: str, shape: Any, *entries: Json) -> list[Any]:
    """The entries of a reply about the first items of a prompt."""
    case = CASES[name]
    tags = [entry["id"] for entry in case.clean[case.entries]]
    tagged = [{"id": tag} | entry for tag, entry in zip(tags, entries, strict=False)]
    return list(getattr(read_value(json.dumps({case.entries: tagged}), shape, case.given), case.entries))


@pytest.mark.parametrize(
    "label", [{"verdict": "none"}, {"error": "None"}, {"error_type": "no"}, {"levels": "none"}, {}]
)
def test_none_under_another_name_is_no_verdict(label: Json) -> None:
    entries = labelled("verify_sentences", Verifications, FINE, {"reason": ""} | label)
    assert [entry.id for entry in entries] == [1]
    with pytest.raises(NoValueError, match="category"):
        labelled("verify_sentences", Verifications, {"reason": ""} | label)


def test_fields_have_other_names() -> None:
    reply = {"explanation": "Ben, not Ann.", "error_type": "Entity Error"}
    (entry,) = labelled("verify_sentences", Verifications, reply)
    assert (entry.category, entry.reason, entry.quote) == ("entity", "Ben, not Ann.", "")


@pytest.mark.parametrize("label", ["partially", "yes and no", "none", "pass/fail", "pass?", None, 5])
def test_ambiguous_label_loses_its_entry(label: object) -> None:
    entries = labelled("facts_faithful", FactSupports, {"verdict": label}, {"verdict": "fail"})
    assert [(entry.id, entry.verdict) for entry in entries] == [(2, "fail")]


def test_answers_may_be_numbers_without_lists() -> None:
    replies = ({"answer": 1850}, {"answer": "UNANSWERABLE"}, {"answer": None})
    entries = labelled("answer_from_summary", SummaryAnswers, *replies)
    assert [(entry.answer, entry.sentences) for entry in entries] == [("1850", []), ("UNANSWERABLE", []), ("", [])]


def test_unreadable_entry_spoils_others_about_its_item() -> None:
    case = CASES["compare_answers"]
    tag = Tags(case.given).tag("pairs", 1)
    entries = [{"id": tag, "verdict": "full"}, {"id": tag, "verdict": "perhaps"}, case.clean["comparisons"][1]]
    value = read_value(json.dumps({"comparisons": entries}), case.prompt.returns, case.given)
    assert [entry.id for entry in value.comparisons] == [2]


GOOD = {
    "facts_faithful": ("verdict", ("pass", "Supported", "faithful", "yes")),
    "facts_objective": ("verdict", ("pass", "objective", "true")),
    "align_facts": ("stated", ("yes", "stated", "supported", "ja")),
    "verify_sentences": ("category", ("none", "supported", "No error", "faithful")),
    "compare_answers": ("verdict", ("full", "complete")),
    "judge_answers": ("verdict", ("right", "correct")),
    "rule_on_findings": ("verdict", ("supported", "implied")),
}
DENIALS = ("❌ {}", "{} ❌", "✗{}", "!{}", "¬{}", "🚫 **{}**", "not: {}", "no, {}", "NOT {} at all", "👎 {}")


@pytest.mark.parametrize("denial", DENIALS)
@pytest.mark.parametrize("name", GOOD)
def test_denied_label_is_no_pass(name: str, denial: str) -> None:
    case, (field, labels) = CASES[name], GOOD[name]
    for label in labels:
        entries = [{"reason": "", field: denial.format(label)}, {"reason": "", field: f"✅ {label}"}]
        verdicts = {entry.id: getattr(entry, field) for entry in labelled(name, case.prompt.returns, *entries)}
        assert verdicts.get(1) != verdicts[2], label


@pytest.mark.parametrize("label", ["✅ unsupported", "✓ fail"])
def test_tick_at_a_bad_label_is_ignored(label: str) -> None:
    entries = labelled("facts_faithful", FactSupports, {"verdict": label}, {"verdict": "✅ pass"})
    assert [(entry.id, entry.verdict) for entry in entries] == [(2, "pass")]


@pytest.mark.parametrize("label", ["fail", "unsupported", "no"])
def test_cross_at_a_bad_label(label: str) -> None:
    (entry,) = labelled("facts_faithful", FactSupports, {"reason": "", "verdict": f"❌ {label}"})
    assert entry.verdict == "fail"
    (entry,) = labelled("verify_sentences", Verifications, FINE | {"category": "❌ Entity error"})
    assert entry.category == "entity"


@pytest.mark.parametrize("denial", [{"types": ["❌ no confusion"]}, {"types": [], "questions": ["❌ no confusion"]}])
def test_denied_no_confusion_is_no_verdict(denial: Json) -> None:
    shape = CASES["find_confusion"].prompt.returns
    entries = labelled(
        "find_confusion", shape, {"questions": []} | denial, {"questions": [], "types": ["✅ no confusion"]}
    )
    assert {entry.id: entry.is_confusing for entry in entries} in ({2: False}, {1: None, 2: False})


def test_denied_yes_is_none() -> None:
    assert [yes_or_no(answer) for answer in ("❌ yes", "✅ yes", "Yes!", "yes, it does")] == [None, "yes", "yes", "yes"]


@pytest.mark.parametrize(
    ("table", "good"),
    [("verdict", "full"), ("pass", "pass"), ("support", "pass"), ("stated", "yes"), ("category", "none")],
)
def test_bad_labels_have_as_many_synonyms(table: str, good: str) -> None:
    count = Counter(label == good for label in synonyms(table).values())
    assert count[False] >= count[True] > 0


@pytest.mark.parametrize(
    ("model", "field", "label", "meaning"),
    [
        *((Verification, "category", label, "none") for label in ("supported", "faithful", "accurate", "correct")),
        *(
            (Verification, "category", label, "sentence")
            for label in ("unfaithful", "inaccurate", "incorrect", "wrong")
        ),
        *(
            (Verification, "category", label, "out_of_article")
            for label in ("unsupported", "not supported", "hallucination", "Fabricated.", "Not mentioned")
        ),
        *((FactSupport, "verdict", label, "pass") for label in ("Supported", "faithful", "accurate", "PASSED")),
        *(
            (FactSupport, "verdict", label, "fail")
            for label in ("unsupported", "not supported", "unfaithful", "fails.")
        ),
        *((FactSupport, "verdict", label, "fail") for label in ("inaccurate", "incorrect", "wrong", "fabricated")),
        *((FactAssessment, "verdict", label, "pass") for label in ("yes", True)),
        *((FactAssessment, "verdict", label, "fail") for label in ("no", False)),
        *((Alignment, "stated", label, "yes") for label in ("implied", "inferred")),
        *((Alignment, "stated", label, "no") for label in ("not inferred", "absent")),
        *((Comparison, "verdict", label, "contradicts") for label in ("not consistent", "inconsistent", "disagrees")),
    ],
)
def test_synonyms_are_read(model: Any, field: str, label: object, meaning: str) -> None:
    entry = model.model_validate({"id": 1, "reason": "r", "quote": "", "sentences": [], field: label})
    assert getattr(entry, field) == meaning
