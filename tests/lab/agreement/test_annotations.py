"""Reading summaries and annotations in both formats, and finding the annotated sentences among ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redraft.errors import UsageError
from redraft.evaluators.base import statements_of
from redraft.lab.agreement.annotations import (
    CLEAR,
    AnnotatedSentence,
    Annotations,
    ConfusionVerdict,
    PlacedAnnotations,
    match_to_sentences,
    read_annotations,
    read_summaries,
)

WHO = {"questions": "Who is Tom?", "types": ["entity omission"]}
BOTH = ("entity omission", "causal omission")
NOTHING = {"questions": None, "types": None}
CONFUSING = ConfusionVerdict(confusing=True, types=("entity omission",), questions=("Who is Tom?",))
_HOSTILE = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def written(folder: Path, content: object) -> str:
    path = folder / "file.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return str(path)


def read(folder: Path, content: object) -> Annotations:
    return read_annotations(written(folder, content))


def said(folder: Path, fields: dict[str, Any]) -> ConfusionVerdict | None:
    """What an entry with these fields says."""
    entries = read(folder, {"a": {"Tom sleeps.": fields, "Tom eats.": WHO, "Tom drinks.": WHO}}).entries["a"]
    assert entries is not None
    return entries[0].verdict


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (WHO, CONFUSING),
        ({"types": ["entity omission"], "questions": "Who is Tom?"}, CONFUSING),
        ({"types": "Entity Omission", "questions": ["Who is Tom?"], "more": 7}, CONFUSING),
        ({"questions": "Who?", "types": "entity omission, CAUSAL omission"}, BOTH),
        ({"questions": ["Who?", "Why?"], "types": ["entity", "causal", "Entity omission."]}, BOTH),
        ({"questions": "Who?", "types": "entity omission/causal omission"}, BOTH),
        ({"questions": None, "types": "discontinuity"}, ("discontinuity",)),
        ({"types": ["language"]}, ("language",)),
        ({"questions": "Who?", "types": None}, ()),
        ({"questions": "Who?"}, ()),
        ({"questions": "Who?", "types": ["plot hole", "salience"]}, ("salience",)),
        ({"questions": "", "types": "plot hole"}, ()),
    ],
)  # fmt: skip
def test_what_confuses_is_read_in_any_form(
    tmp_path: Path, fields: dict[str, Any], expected: ConfusionVerdict | tuple[str, ...]
) -> None:
    actual = said(tmp_path, fields)
    assert actual is not None
    assert actual.confusing
    if isinstance(expected, ConfusionVerdict):
        assert actual == expected
    else:
        assert actual.types == expected
    assert actual.unknown == (("plot hole",) if "plot hole" in str(fields) else ())


@pytest.mark.parametrize(
    "fields",
    [
        NOTHING,
        {"questions": "", "types": []},
        {"questions": [], "types": ""},
        {"questions": "No confusion", "types": ["No Confusion"]},
        {"questions": "no confusion.", "types": None},
        {"questions": None, "types": "NO CONFUSION"},
        {"questions": ["None"], "types": ["none"]},
        {"questions": "N/A", "types": "n/a"},
    ],
)
def test_a_listed_sentence_without_confusion_is_clear(tmp_path: Path, fields: dict[str, Any]) -> None:
    assert said(tmp_path, fields) == CLEAR


@pytest.mark.parametrize(
    "fields",
    [
        {"questions": "Who is Tom?", "types": ["no confusion"]},
        {"questions": "No confusion", "types": ["salience"]},
        {"questions": None, "types": ["salience", "No confusion"]},
        {"questions": "No confusion", "types": "plot hole"},
    ],
)
def test_what_contradicts_itself_is_no_verdict(tmp_path: Path, fields: dict[str, Any]) -> None:
    assert said(tmp_path, fields) is None


@pytest.mark.parametrize(
    ("content", "every"),
    [
        ({"a": {"S.": WHO}}, False),
        ({"a": None, "b": {"S.": WHO, "T.": WHO, "U.": NOTHING}}, False),
        ({"a": None}, False),
        ({"a": {}}, False),
        ({"a": {"S.": {"questions": "No confusion", "types": ["No confusion"]}}}, False),
        ({"a": {"S.": {"sentence_num": 1, "sentence": "S.", **NOTHING}, "T.": {"sentence_num": 2, **WHO}}}, True),
        ({"a": {"S.": {"types": "salience", "questions": None, "sentence_num": 1}}}, True),
        ({"a": {"S.": NOTHING, "T.": WHO}, "b": {"U.": NOTHING}}, True),
    ],
)
def test_the_entries_tell_the_format(tmp_path: Path, content: dict[str, Any], every: bool) -> None:
    assert read(tmp_path, content).every is every


def test_lists_of_confusing_sentences_are_read(tmp_path: Path) -> None:
    listed = read(tmp_path, {"a": [{"span": "Tom sleeps.", **WHO}]})
    assert (listed.every, listed.entries["a"]) == (False, (AnnotatedSentence("Tom sleeps.", CONFUSING),))


def test_marks_are_read_with_their_summaries(tmp_path: Path) -> None:
    pair = {"span_a": "Tom", "span_b": "sleeps", "shared_questions": "Who?", "shared_labels": ["entity omission"]}
    content = {"a": {"summary": "Tom sleeps.", "singles": [{"span": " Tom "}], "relations": [pair]}, "b": None}
    path = written(tmp_path, content)
    actual = read_annotations(path)
    assert (actual.marked, actual.every, actual.entries["b"]) == (True, False, None)
    assert actual.entries["a"] == (
        AnnotatedSentence("Tom", ConfusionVerdict(confusing=True)),
        AnnotatedSentence("Tom", ConfusionVerdict(True, ("entity omission",), questions=("Who?",)), "sleeps"),
    )
    assert read_summaries(path).texts == {"a": "Tom sleeps.", "b": ""}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"a": {"singles": ["Tom"]}}, 'the id "a": singles is not a list of marks'),
        ([1], "there is a list where an object of annotations"),
        ({}, "an empty object"),
        ({"a": [WHO]}, 'the id "a" has a list'),
        ({"a": "Tom sleeps."}, 'the id "a" has a text'),
        ({"a": {"S.": None}}, "there is nothing where"),
        ({"a": {"S.": {"verdict": "confusing"}}}, "there is an object where an object with questions and types"),
        ({"a": {"S.": {"questions": 7, "types": []}}}, "questions is a number"),
        ({"a": {"S.": {"questions": "Who?", "types": [["salience"]]}}}, "types is a list"),
        ({"\x1b[31m" + "x" * 999: 7}, '…" has a number'),
        (b'{"a": {"S.": {}, "S.": {}}}', '"S." occurs twice'),
        (b'{"a": NaN}', "NaN is not a number"),
        (b"\xff\xfe\x00", "cannot be read as JSON"),
        (b"[" * 1_000_000, "cannot be read as JSON"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "cannot be read as JSON"),
    ],
)
def test_what_has_neither_format_is_refused(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(UsageError, match=r"file\.json") as error:
        read(tmp_path, content)
    assert message in str(error.value)
    assert "\x1b" not in str(error.value)
    assert len(str(error.value)) < 400 + len(str(tmp_path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"a": {"summary": "Tom sleeps."}}, 'the id "a" has an object where a text was expected'),
        ({"a": 7}, 'the id "a" has a number'),
        (["Tom sleeps."], "there is a list where an object of summaries"),
        (b'{"a": "x", "a": "y"}', '"a" occurs twice'),
    ],
)
def test_other_files_than_summaries_are_refused(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(UsageError) as error:
        read_summaries(written(tmp_path, content))
    assert message in str(error.value)
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_summaries(str(tmp_path / "no.json"))


def test_summaries_are_read_as_documents_are(tmp_path: Path) -> None:
    content = {"7": "One.\r\nTwo.", "": None, "a b\u2028c": "\x1b[2Jhidden\x00", "x": " "}
    assert read_summaries(written(tmp_path, content)).texts == {
        "7": "One.\nTwo.",
        "": "",
        "a b\u2028c": "hidden ",
        "x": " ",
    }


TEXT = "Tom sleeps in the tower. Dr. Ada Snow eats his bread there. Nobody hears the sea."


def placed(
    *sentences: str | tuple[str, ConfusionVerdict | None], text: str = TEXT, every: bool = False
) -> PlacedAnnotations:
    """What entries come to, each confusing unless it says otherwise."""
    entries = [
        AnnotatedSentence(sentence, CONFUSING) if isinstance(sentence, str) else AnnotatedSentence(*sentence)
        for sentence in sentences
    ]
    return match_to_sentences(entries, statements_of(text), every=every)


def confused(actual: PlacedAnnotations) -> list[int]:
    return [number for number, verdict in actual.verdicts.items() if verdict.confusing]


def test_sentences_are_found_by_their_words() -> None:
    assert len(statements_of(TEXT)) == 3
    actual = placed("Dr. Ada\n Snow  eats his bread there.", "nobody hears the sea")
    assert confused(actual) == [2, 3]
    assert (actual.elsewhere, actual.lost) == (0, 0)
    assert [annotation.confusing for annotation in actual.said] == [True, True, False]


def test_annotated_parts_of_a_sentence_count_separately() -> None:
    actual = placed("Dr.", "Ada Snow eats his bread there.")
    assert confused(actual) == [2]
    assert [annotation.confusing for annotation in actual.said] == [True, True, False, False]
    assert actual.elsewhere == 2
    same = placed("Ada Snow eats", "Snow eats his bread there.", "Dr. Ada Snow eats his bread there.")
    assert sum(annotation.confusing for annotation in same.said) == 1, "parts that overlap are the same"
    assert len(same.said) == 3


def test_an_entry_over_several_sentences_counts_once() -> None:
    both = "Tom sleeps in the tower. Dr. Ada Snow eats his bread there."
    actual = placed(both)
    assert confused(actual) == [2], "the one with the largest part of it"
    assert [annotation.confusing for annotation in actual.said] == [True, False]
    clear = placed((both, CLEAR), every=True)
    assert clear.verdicts == {1: CLEAR, 2: CLEAR}
    assert (len(clear.said), clear.unjudged) == (1, 1)


def test_annotations_of_missing_sentences_fill_unannotated_ones() -> None:
    actual = placed("Tom sleeps in the tower.", "The dragon wakes.", ("It rains.", CLEAR))
    assert actual.lost == 2
    assert [annotation.confusing for annotation in actual.said] == [True, True, False]
    assert list(actual.verdicts) == [1], "nobody knows which of the others it is about"
    many = placed(*(f"The dragon wakes {n} times." for n in range(9)))
    assert [annotation.confusing for annotation in many.said] == [True] * 3
    assert many.lost == 9


def test_sentences_without_entry_are_clear_or_unjudged() -> None:
    assert placed(TEXT[:24]).unjudged == 0
    every = placed(TEXT[:24], every=True)
    assert (len(every.said), every.unjudged) == (1, 2)
    open_ = placed((TEXT[:24], None))
    assert (len(open_.said), open_.unjudged, open_.undecided) == (2, 1, 1)
    assert sorted(open_.verdicts) == [2, 3]


def test_a_repeated_sentences_entry_counts_once() -> None:
    text = "Tom sleeps. Tom sleeps. Tom sleeps."
    assert confused(placed("Tom sleeps.", text=text)) == [1]
    assert confused(placed("Tom sleeps.", "Tom  sleeps!", text=text)) == [1, 2]


def test_headings_are_no_sentences() -> None:
    text = "# The Tower\n\nTom sleeps in the tower. Nobody hears the sea."
    assert len(placed(text=text).said) == 2
    assert confused(placed("# The Tower\n\nTom sleeps in the tower.", text=text)) == [2]
    short = "# The Very Old Tower\n\nTom sleeps. Nobody hears the sea."
    assert confused(placed("The Very Old Tower\n\nTom sleeps.", text=short)) == [2]
    assert placed("The Very Old Tower", text=short).lost == 1


_pieces = st.text("ab .", max_size=12)


@pytest.mark.slow
@_HOSTILE
@given(
    st.text("ab .\n", max_size=60),
    st.lists(st.tuples(_pieces, st.sampled_from([CLEAR, CONFUSING, None])), max_size=8),
    st.booleans(),
)
def test_whatever_is_annotated_adds_up(
    text: str, entries: list[tuple[str, ConfusionVerdict | None]], every: bool
) -> None:
    actual = placed(*entries, text=text, every=every)
    statements = statements_of(text)
    assert set(actual.verdicts) <= {statement.id for statement in statements}
    claims = sum(verdict is CONFUSING for _, verdict in entries)
    assert sum(annotation.confusing for annotation in actual.said) <= claims
    assert not statements or every or actual.undecided or len(actual.said) >= 1
    total = len(actual.said) + actual.unjudged
    assert abs(total - len(statements)) <= len(entries) * len(statements)
    if not actual.elsewhere:
        assert total == len(statements)
