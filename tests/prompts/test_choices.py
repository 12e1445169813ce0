"""Choices and numbers in replies, silence in place of an answer, and templates in their sandbox."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from redraft.errors import PromptError
from redraft.llm.replies import NoValueError, read_value
from redraft.prompts.book import PromptBook
from redraft.prompts.coherence import ASPECTS, PreferenceReply
from redraft.prompts.qa import Comparison, Comparisons, DocumentQuestion, SummaryQuestion
from redraft.prompts.silence import is_answer
from tests.prompts.samples import rendered
from tests.replies.refusals import OF_THE_STORY, REAL, SILENT


def comparison(label: Any) -> str:
    return Comparison(id=1, reason="", verdict=label).verdict


def kind(label: Any) -> str:
    return DocumentQuestion(question="", kind=label, answer="", quote="").kind


def importance(label: Any) -> int:
    return SummaryQuestion(question="Who?", answer="Ann", importance=label).importance


def preference(label: Any) -> str:
    return PreferenceReply.model_validate({"reason": "", **dict.fromkeys(ASPECTS, label)}).logic


READ: list[tuple[Any, Any, Any]] = [
    *((comparison, label, "full") for label in ("full", " **full** ", "`Full`", "Agreement")),
    *((comparison, label, "contradicts") for label in ("Contradicts.", '"contradicts":', "Contradiction.")),
    *(
        (comparison, label, value)
        for label, value in (("Partially.", "part"), ("None.", "none"), ("not answered", "none"))
    ),
    *((kind, label, value) for label, value in (("who", "who"), ("WHO", "who"), ("when.", "when"), ("Why?", "what"))),
    *((kind, label, "what") for label in ("banana", "", None, 5, True, [], ["who"], {"who": 1})),
    *((importance, label, label) for label in (1, 5)),
    *((importance, label, value) for label, value in ((0, 1), (-9, 1), (6, 5), (10**30, 5), ("3", 3), (4.0, 4))),
    *((preference, label, "first") for label in ("first", "First.", "**FIRST**")),
]
REFUSED: list[tuple[Any, Any]] = [
    *(
        (comparison, label)
        for label in ("banana", "", "does not contradict", "partially agrees", "full or part", "full?")
    ),
    *((comparison, label) for label in ("full (partly)", "yes", None, 5, True, [], ["full"], {"full": 1})),
    *((importance, label) for label in ("high", None, 2.5, [], {})),
    *((preference, label) for label in ("neither", "", None, 1, "the first")),
]


@pytest.mark.parametrize(("read", "label", "value"), READ)
def test_choice_is_read_in_any_spelling(read: Any, label: Any, value: Any) -> None:
    assert read(label) == value


@pytest.mark.parametrize(("read", "label"), REFUSED)
def test_unknown_choice_is_refused(read: Any, label: Any) -> None:
    with pytest.raises(ValidationError):
        read(label)


@pytest.mark.parametrize("label", ['"banana"', "null", "5", '["full"]', '{"full": 1}'])
def test_complaint_names_the_field(label: str) -> None:
    with pytest.raises(NoValueError, match="verdict"):
        read_value(f'{{"comparisons": [{{"id": 1, "reason": "", "verdict": {label}}}]}}', Comparisons)


@pytest.mark.parametrize("language", SILENT)
def test_phrase_of_silence_is_no_answer(language: str) -> None:
    for phrase in SILENT[language]:
        assert not any(map(is_answer, (phrase, phrase.upper(), f' "{phrase}"\n'))), phrase


def test_real_answer_with_such_words_stays_one() -> None:
    assert [answer for answer in REAL if not is_answer(answer)] == []
    # The passage may be one of a house.
    assert [answer for answer in OF_THE_STORY if not is_answer(answer)] == ["Not in the passage, but in the hall"]


@pytest.mark.parametrize("empty", ["", " ", "...", "—", "?"])
def test_marks_are_no_answer(empty: str) -> None:
    assert not is_answer(empty)


@pytest.mark.parametrize(
    "source",
    [
        "{{ '" + "x" * 300_000 + "' }}",
        "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
        "{% if 1 %}" * 150 + "{% endif %}" * 150,
    ],
)
def test_unreadable_template_is_refused(tmp_path: Path, source: str) -> None:
    (tmp_path / "merge.md").write_text(source, "utf-8")
    with pytest.raises(PromptError, match="merge"):
        PromptBook(str(tmp_path))


@pytest.mark.parametrize(
    "source",
    [
        "{% for a in range(90000) %}{{ summary }}{% endfor %}",
        "{{ summary }}{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}{{ summary }}",
        "{{ 'x' * 10 ** 10 }}{{ summary }}",
        "{{ 9 ** 99 ** 9 }}{{ summary }}",
    ],
)
def test_endless_template_is_refused(tmp_path: Path, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redraft.prompts.book._LONGEST_TEXT", 1_000_000)
    (tmp_path / "tidy.md").write_text(source, "utf-8")
    with pytest.raises(PromptError, match=r"more than 1,000,000 characters|only multiply numbers|recursion"):
        rendered(PromptBook(str(tmp_path)), "tidy", summary="x" * 5000)
