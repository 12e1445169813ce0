"""Reading summaries and annotations in both formats, and finding the annotated sentences among ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from redraft.errors import UsageError
from redraft.evaluators.base import statements_of
from redraft.lab.agreement.annotations import (
    CLEAR,
    AnnotatedSentence,
    Annotations,
    ConfusionVerdict,
    PlacedAnnotations,
    Summaries,
    match_to_sentences,
)

WHO = {"questions": "Who is Tom?", "types": ["entity omission"]}
BOTH = ("entity omission", "causal omission")
NOTHING = {"questions": None, "types": None}
CONFUSING = ConfusionVerdict(confusing=True, types=("entity omission",), questions=("Who is Tom?",))


def written(folder: Path, content: object) -> str:
    path = folder / "file.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return str(path)


def read(folder: Path, content: object) -> Annotations:
    return Annotations.read(written(folder, content))


def said(folder: Path, fields: dict[str, Any]) -> ConfusionVerdict | None:
    """What an entry with these fields says."""
    entries = read(folder, {"a": {"Tom sleeps.": fields, "Tom eats.": WHO, "Tom drinks.": WHO}}).entries["a"]
    assert entries is not None
    return entries[0].verdict


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (WHO, CONFUSING),
        ({"types": "Entity Omission", "questions": ["Who is Tom?"], "more": 7}, CONFUSING),
        ({"questions": "Who?", "types": "entity omission, CAUSAL omission"}, BOTH),
        ({"questions": ["Who?", "Why?"], "types": ["entity", "causal", "Entity omission."]}, BOTH),
        ({"questions": "Who?", "types": "entity omission/causal omission"}, BOTH),
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
    assert expected in (actual, actual.types)
    assert actual.unknown == (("plot hole",) if "plot hole" in str(fields) else ())


@pytest.mark.parametrize(
    ("questions", "types", "expected"),
    [
        (None, None, CLEAR),
        ([], "", CLEAR),
        ("No confusion", ["No Confusion"], CLEAR),
        (None, "NO CONFUSION", CLEAR),
        ("N/A", "n/a", CLEAR),
        ("Who is Tom?", ["no confusion"], None),
        ("No confusion", ["salience"], None),
        ("No confusion", "plot hole", None),
    ],
)
def test_a_sentence_without_confusion_is_clear_and_a_contradiction_no_verdict(
    tmp_path: Path, questions: object, types: object, expected: ConfusionVerdict | None
) -> None:
    assert said(tmp_path, {"questions": questions, "types": types}) == expected


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
    actual = Annotations.read(path)
    assert (actual.marked, actual.every, actual.entries["b"]) == (True, False, None)
    assert actual.entries["a"] == (
        AnnotatedSentence("Tom", ConfusionVerdict(confusing=True)),
        AnnotatedSentence("Tom", ConfusionVerdict(True, ("entity omission",), questions=("Who?",)), "sleeps"),
    )
    assert Summaries.read(path).texts == {"a": "Tom sleeps.", "b": ""}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"a": {"singles": ["Tom"]}}, 'the id "a": 0: must be an object'),
        ([1], "an object of annotations was expected"),
        ({}, "an object of annotations was expected"),
        ({"a": [WHO]}, 'the id "a": an entry is without questions and types'),
        ({"a": "Tom sleeps."}, 'the id "a": must map names to values'),
        ({"a": {"S.": None}}, "S.: must be an object"),
        ({"a": {"S.": {"verdict": "confusing"}}}, "an entry is without questions and types"),
        ({"a": {"S.": {"questions": 7, "types": []}}}, "questions.0: must be text"),
        ({"a": {"S.": {"questions": "Who?", "types": [["salience"]]}}}, "types.0: must be text"),
        ({"\x1b[31m" + "x" * 999: 7}, '…": must map names to values'),
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
        ({"a": {"summary": "Tom sleeps."}}, 'the id "a" has no text'),
        (["Tom sleeps."], "an object of summaries was expected"),
        (b'{"a": "x", "a": "y"}', '"a" occurs twice'),
    ],
)
def test_other_files_than_summaries_are_refused(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(UsageError) as error:
        Summaries.read(written(tmp_path, content))
    assert message in str(error.value)
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        Summaries.read(str(tmp_path / "no.json"))


def test_summaries_are_read_as_documents_are(tmp_path: Path) -> None:
    content = {"7": "One.\r\nTwo.", "": None, "a b\u2028c": "\x1b[2Jhidden\x00", "x": " "}
    assert Summaries.read(written(tmp_path, content)).texts == {
        "7": "One.\nTwo.",
        "": "",
        "a b\u2028c": "hidden ",
        "x": " ",
    }


TEXT = "Tom sleeps in the tower. Dr. Ada Snow eats his bread there. Nobody hears the sea."
TOM, ADA, SEA = "Tom sleeps in the tower.", "Dr. Ada Snow eats his bread there.", "Nobody hears the sea."
SAME, HEADED = "Tom sleeps. Tom sleeps. Tom sleeps.", f"# The Very Old Tower\n\n{TOM} {SEA}"
Entry = str | tuple[str, ConfusionVerdict | None]


def placed(*sentences: Entry, text: str = TEXT, every: bool = False) -> PlacedAnnotations:
    """What entries come to, each confusing unless it says otherwise."""
    entries = [
        AnnotatedSentence(sentence, CONFUSING) if isinstance(sentence, str) else AnnotatedSentence(*sentence)
        for sentence in sentences
    ]
    return match_to_sentences(entries, statements_of(text), every=every)


@pytest.mark.parametrize(
    ("text", "entries", "confused", "counted", "figures"),
    [
        # Found by their words.
        (TEXT, ["Dr. Ada\n Snow  eats his bread there.", "nobody hears the sea"], [2, 3], "110", {}),
        # Parts of a sentence count separately, those that overlap once.
        (TEXT, ["Dr.", "Ada Snow eats his bread there."], [2], "1100", {}),
        (TEXT, ["Ada Snow eats", "Snow eats his bread there.", ADA], [2], "100", {}),
        # An entry over several sentences counts once, for the one with its largest part.
        (TEXT, [f"{TOM} {ADA}"], [2], "10", {"verdicts": [2, 3]}),
        # Entries on missing sentences fill those without one: nobody knows which they are about.
        (TEXT, [TOM, "The dragon wakes.", ("It rains.", CLEAR)], [1], "110", {"lost": 2, "verdicts": [1]}),
        (TEXT, [f"The dragon wakes {n} times." for n in range(9)], [], "111", {"lost": 9, "verdicts": []}),
        # Sentences without an entry are clear; one that contradicts itself is not judged.
        (TEXT, [TOM], [1], "100", {}),
        (TEXT, [(TOM, None)], [], "00", {"undecided": 1, "unjudged": 1, "verdicts": [2, 3]}),
        # Of equal sentences an entry takes the first that has none.
        (SAME, ["Tom sleeps."], [1], "100", {}),
        (SAME, ["Tom sleeps.", "Tom  sleeps!"], [1, 2], "110", {}),
        # Headings are no sentences.
        (HEADED, [], [], "00", {"verdicts": [2, 3]}),
        (HEADED, [f"# The Very Old Tower\n\n{TOM}"], [2], "10", {}),
        (HEADED, ["The Very Old Tower"], [], "10", {"lost": 1, "verdicts": []}),
    ],
)
def test_entries_are_matched_to_sentences(
    text: str, entries: list[Entry], confused: list[int], counted: str, figures: dict[str, Any]
) -> None:
    actual = placed(*entries, text=text)
    assert [number for number, verdict in actual.verdicts.items() if verdict.confusing] == confused
    assert "".join(str(int(verdict.confusing)) for verdict in actual.units) == counted
    verdicts = figures.pop("verdicts", [*actual.verdicts])
    assert [*actual.verdicts] == verdicts
    for name in ("lost", "undecided", "unjudged"):
        assert getattr(actual, name) == figures.get(name, 0), name


def test_where_every_sentence_is_listed_the_others_are_unjudged() -> None:
    every = placed(TOM, every=True)
    assert (len(every.units), every.unjudged) == (1, 2)
    clear = placed((f"{TOM} {ADA}", CLEAR), every=True)
    assert clear.verdicts == {1: CLEAR, 2: CLEAR}
    assert (len(clear.units), clear.unjudged) == (1, 1)
