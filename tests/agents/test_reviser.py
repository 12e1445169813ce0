"""The reviser tells a revision from what is none, whatever the language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.agents.decider import _point
from redraft.agents.evidence import EvidenceReader
from redraft.agents.reviser import EditNotes, Reviser, RevisionRequest, point_to_fix, read_reply
from redraft.agents.structured_writer import Completion, StructuredWriter
from redraft.domain import Document, Evidence, Finding, Span
from redraft.llm.base import FunctionModel
from redraft.prompts.revision import EditInput, MustKnow
from redraft.text.retrieval import Passages
from redraft.text.tokens import EstimatingTokenizer
from tests.agents.translations import EXCUSES, SUMMARY, TRANSLATIONS

NO_REVISION = "it has almost nothing in common with the summary"


def request(task: str = "Tell when.") -> Finding:
    return Finding("review", "request", "change", task)


async def revised(summary: str, reply: str, *findings: Finding, language: str | None = None) -> Completion:
    """What comes of a reply to an order to revise a summary."""
    document, tokenizer = Document.from_text(summary), EstimatingTokenizer()
    reader = EvidenceReader(document, Passages(document, tokenizer), tokenizer, 4000, 100)
    reviser = Reviser(StructuredWriter(FunctionModel(lambda _: reply), 2.0, language=language), reader)
    order = RevisionRequest(summary, findings, 200, 1)
    return (await reviser.revise(order, reviser.brief(order)[0], "revision 1"))[0]


@pytest.mark.parametrize("language", TRANSLATIONS)
async def test_excuse_is_no_revision(language: str) -> None:
    summary = TRANSLATIONS[language]
    corrected = summary.replace("1924", "1925").replace("一九二四", "一九二五")
    assert not (await revised(summary, corrected)).flaw
    assert (await revised(summary, EXCUSES[language])).flaw == NO_REVISION


async def test_other_language_needs_a_request() -> None:
    german, russian = TRANSLATIONS["German"], TRANSLATIONS["Russian"]
    assert (await revised(german, russian)).flaw
    assert not (await revised(german, russian, request("In Russian, please."))).flaw


@pytest.mark.parametrize("language", TRANSLATIONS)
async def test_translation_keeps_names_and_numbers(language: str) -> None:
    assert not (await revised(SUMMARY, TRANSLATIONS[language], language=language)).flaw
    assert not (await revised(TRANSLATIONS[language], SUMMARY, language="English")).flaw
    assert (await revised(SUMMARY, TRANSLATIONS[language])).flaw, "nobody asked for it"


@pytest.mark.parametrize("requested", [*TRANSLATIONS, "English"])
@pytest.mark.parametrize("language", EXCUSES)
async def test_excuses_are_no_translations(language: str, requested: str) -> None:
    summary = SUMMARY if requested != language else TRANSLATIONS.get(requested, SUMMARY)
    assert (await revised(summary, EXCUSES[language], language=requested)).flaw == NO_REVISION


async def test_evidence_may_replace_a_wrong_summary() -> None:
    says = "The ledger was hidden in the lighthouse for forty years."
    wrong = Finding("consistency", "inconsistent", "correct", "Not so.", sentence="X.", evidence=Evidence(says))

    assert not (await revised("Nobody ever wrote a book.", says, wrong)).flaw
    assert (await revised("Nobody ever wrote a book.", says)).flaw


@pytest.mark.parametrize("point_of", [point_to_fix, _point], ids=["the reviser", "the decider"])
def test_reason_of_a_judge_is_no_answer(point_of: Callable[[int, Finding], Any]) -> None:
    reason = Finding("faithfulness", "entity", "correct", "Not so.", sentence="Bob came.", expected="It was Tom.")
    answer = Finding("consistency", "entity", "correct", "Not so.", sentence="B.", question="Who?", expected="Tom")
    missing = Finding("keyfact_recall", "missing", "add", "Say it.", expected="Tom came.")
    points = [point_of(1, point) for point in (reason, answer, missing)]
    assert [(point.answer, point.why) for point in points] == [("", "It was Tom."), ("Tom", ""), ("Tom came.", "")]


def editing(room: int | None) -> tuple[Reviser, RevisionRequest]:
    """A reviser with so much room, of which each thing that a reader must know takes a hundred tokens; and a request
    to write a summary anew."""
    text = " ".join(f"In year {number} the keeper wrote about ship {number} and the storm." for number in range(400))
    document, tokenizer = Document.from_text(text), EstimatingTokenizer()
    reader = EvidenceReader(document, Passages(document, tokenizer), tokenizer, 4000, tokenizer.count(text))
    spare = None if room is None else lambda _, inputs: room - 100 * len(inputs.must_know)
    writer = StructuredWriter(FunctionModel(str), 2.0, spare=spare)
    at = text.index("In year 300 ")
    missing = Finding("coverage", "unanswered", "add", "Say it.", evidence=Evidence("x", Span(at, at + 5)))
    notes = EditNotes(
        must_know=tuple(MustKnow(weight=n, question="Q?", answer="A", quote=f"ship {n}") for n in (3, 2, 1)),
        missing=(missing,),
        may_go=("It rained.",),
        levels=(("word " * 900, "word " * 900), ("Storms.", "Ships."), ("All.",)),
    )
    return Reviser(writer, reader, outline="Ships."), RevisionRequest("It rained.", (), 100, 1, notes)


@pytest.mark.parametrize("room", [None, 30_000])
async def test_an_editor_sees_a_document_that_fits(room: int | None) -> None:
    reviser, request = editing(room)
    inputs, _ = reviser.brief(request)

    assert isinstance(inputs, EditInput)
    assert (inputs.document, inputs.outline) == (reviser.reader.document.text, "Ships.")
    assert (inputs.parts, inputs.passages, inputs.may_go) == ([], [], ["It rained."])


async def test_an_editor_sees_parts_outline_and_passages() -> None:
    reviser, request = editing(3000)
    inputs, places = reviser.brief(request)

    assert isinstance(inputs, EditInput)
    assert (inputs.document, inputs.outline) == (None, "Ships.")
    assert inputs.parts == ["Storms.", "Ships."], "the most detailed level that leaves room for passages"
    assert "In year 300 the keeper" in " ".join(inputs.passages)
    assert [item.quote for item in inputs.must_know] == ["ship 3", "ship 2", "ship 1"]
    assert places[-1].end < len(reviser.reader.document.text)


async def test_without_room_the_least_weighty_goes() -> None:
    reviser, request = editing(800)
    inputs, _ = reviser.brief(request)

    assert isinstance(inputs, EditInput)
    assert not inputs.may_go
    assert 0 < len(inputs.must_know) < 3
    assert [item.weight for item in inputs.must_know] == [3, 2, 1][: len(inputs.must_know)]


REPLY = """<points>
bdfg: mended
ghjk: kept: "words of the document"
kmnp: left: the point is about another text
</points>
<revision>
The first sentence. The second.

Another paragraph.
</revision>"""
TEXT = "The first sentence. The second.\n\nAnother paragraph."
POINTS = {
    "bdfg": ("fixed", ""),
    "ghjk": ("kept", "words of the document"),
    "kmnp": ("left", "the point is about another text"),
}

BODIES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="<"), max_size=200)
TAGS = st.text("bcdfghjkmnpqrtvwx", min_size=4, max_size=5)
WORDS = st.text("abc äß日 ,.", max_size=20).map(str.strip).filter(lambda text: text[:1].isalnum())
SAID = st.one_of(st.just(("fixed", "")), st.tuples(st.just("kept"), WORDS), st.tuples(st.just("left"), WORDS))


def test_reply_in_two_sections_is_split() -> None:
    assert read_reply(REPLY) == (TEXT, POINTS)


@pytest.mark.parametrize(
    "reply",
    [
        REPLY.replace("</revision>", ""),
        REPLY.replace("<revision>\n", "").replace("\n</revision>", ""),
        REPLY.replace("</points>\n", ""),
        f"Here it is:\n\n{REPLY}\n\nI hope that this helps.",
        f"```\n{REPLY}\n```",
        REPLY.replace("points>", "Points>").replace("revision>", "REVISION>"),
        REPLY.replace("<points>\n", "<points>\n\n").replace("bdfg: mended", "- **BDFG**: Mended."),
        REPLY.replace("bdfg: mended", "bdfg: fixed"),
        REPLY.replace("ghjk: kept:", '<point id="ghjk"> kept —'),
    ],
    ids=[
        "not closed",
        "text alone",
        "points not closed",
        "talk around",
        "fence",
        "capitals",
        "marks",
        "the new word",
        "tags",
    ],
)
def test_it_is_read_leniently(reply: str) -> None:
    text, points = read_reply(reply)
    assert text.strip() == TEXT
    assert {tag: became for tag, (became, _) in points.items()} == {tag: point[0] for tag, point in POINTS.items()}
    assert points["ghjk"][1] == "words of the document"


def test_reply_cut_in_points_has_no_text() -> None:
    assert read_reply("<points>\nbdfg: mended\nghjk: ke") == ("", {"bdfg": ("fixed", "")})


@given(st.dictionaries(TAGS, SAID, max_size=8), BODIES)
def test_every_point_and_every_character_comes_back(points: dict[str, tuple[str, str]], text: str) -> None:
    lines = "\n".join(
        f"{tag}: {became}: “{words}”" if became == "kept" else f"{tag}: {became}{': ' if words else ''}{words}"
        for tag, (became, words) in points.items()
    )
    assert read_reply(f"<points>\n{lines}\n</points>\n<revision>\n{text}\n</revision>") == (text, points)


@pytest.mark.slow
@settings(max_examples=30)
@given(st.text(max_size=300))
def test_any_reply_is_read_safely(reply: str) -> None:
    outcomes = {became for became, _ in read_reply(f"<points>{reply}")[1].values()}
    assert outcomes <= {"fixed", "kept", "left"}
    assert read_reply(reply)[0] in reply
