"""The writer keeps to limits, or keeps what came closest; and the reviser tells a revision from what is none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from redraft.agents.decider import _point
from redraft.agents.evidence import EvidenceReader
from redraft.agents.reviser import Reviser, RevisionRequest, point_to_fix, read_reply
from redraft.agents.structured_writer import MAX_TRIES, StructuredWriter
from redraft.agents.writer import Writer, is_no_answer
from redraft.domain import Completion, Document, Evidence, Finding, Span, Usage
from redraft.errors import EmptyReply
from redraft.llm.base import FunctionModel, Line, Reply, Request, ScriptedModel
from redraft.prompts.contract import InputT, ValueT
from redraft.prompts.revision import EditInput, MustKnow, ReviseInput
from redraft.prompts.summarization import SUMMARIZE_CHUNK, ChunkInput
from redraft.text.retrieval import Passages
from redraft.text.sentences import ends_sentence
from redraft.text.tokens import Tokenizer
from tests.agents.translations import EXCUSES, SUMMARY, TRANSLATIONS
from tests.support import prose

# Of a reply of a few words it depends on these whether it is a summary at all.
LENGTHS = st.lists(st.just(0) | st.integers(20, 300), min_size=2 * MAX_TRIES + 1, max_size=2 * MAX_TRIES + 1)


def writer(lengths: list[int], broken: bool) -> tuple[Writer, FunctionModel]:
    """A writer whose model gives replies of these lengths, half of them broken off where `broken` is set."""
    remaining = list(lengths)

    def answer(request: Request[Any, Any]) -> Line:
        length = remaining.pop(0)
        if not length:
            return EmptyReply("the reply is empty", text="", usage=Usage())
        text = prose(length)
        return f"{text[:-4]}hen" if broken and length % 2 else text

    model = FunctionModel(answer)
    return Writer(StructuredWriter(model, tokens_per_word=1.6)), model


def valid(length: int, limit: int, broken: bool) -> bool:
    return 0 < length <= limit and not (broken and length % 2)


def kept_of(length: int) -> int:
    """What is left of a text whose last sentence has no end: the whole ones, of ten words each, if there are any."""
    return length - length % 10 if length > 10 else length


@pytest.mark.slow
@given(lengths=LENGTHS, limit=st.integers(10, 60), broken=st.booleans())
@example(lengths=[0] * 6 + [11] + [0] * 6, limit=10, broken=True)
@settings(max_examples=40)
def test_first_valid_or_closest_reply_is_taken(lengths: list[int], limit: int, broken: bool) -> None:
    author, model = writer(lengths, broken)
    written = asyncio.run(author.summarize_chunk("The keeper tells of the lamp at his station.", limit, "chunk 1/1"))

    good = [at for at, length in enumerate(lengths) if valid(length, limit, broken)]
    limits = [request.given.words for request in model.asked]
    heard = lengths[: len(limits)]
    assert limits[0] == limit
    assert limits == sorted(limits, reverse=True)
    if good and good[0] < len(limits):
        assert written.attempts == len(limits) == good[0] + 1
        assert written.words == lengths[good[0]]
        assert not written.flaw
        return
    assert max(heard.count(0), len(heard) - heard.count(0)) == MAX_TRIES + 1
    assert written.flaw
    complete = [length for length in heard if length and not (broken and length % 2)]
    candidates = complete or [kept_of(length) for length in heard if length] or [0]
    assert abs(written.words - limit) == min(abs(length - limit) for length in candidates)


@pytest.mark.slow
@given(lengths=LENGTHS, target=st.integers(20, 60))
@settings(max_examples=40)
def test_compression_meets_its_target_or_is_marked(lengths: list[int], target: int) -> None:
    author, model = writer(lengths, broken=False)
    long = prose(301)
    written = asyncio.run(author.compress(long, target, 150, "compress"))

    heard = lengths[: len(model.asked)]
    assert len(heard) - heard.count(0) <= MAX_TRIES >= heard.count(0) - 1
    if written.flaw:
        assert written.text == long or written.words in heard
        return
    assert abs(written.words - target) <= 0.2 * target
    assert ends_sentence(written.text)


@pytest.mark.parametrize("reply", ["NOTHING", "Nothing.", "**NOTHING**", ' "nothing" '])
def test_sign_of_nothing_has_many_forms(reply: str) -> None:
    assert is_no_answer(reply)
    assert not is_no_answer(f"{reply} is said of the lamp.")


@pytest.mark.parametrize(
    "reply",
    [
        "The excerpt does not mention who drowned.",
        "Der Text sagt dazu nichts.",
        "The excerpt does not mention it. The text does not say.",
        "文中没有提到。",
        "This excerpt does not help to answer the question.",
        "There is nothing in this excerpt about keeper number 30.",
        "NICHTS",
        "Ничего.",
        "何もありません。",
        "The summary remains unchanged.",
        "The word is: NOTHING",
        "NOTHING - the excerpt does not mention keeper 30.",
        "Le résumé reste tel quel.",
        "Отрывок не помогает ответить на вопрос.",
        "摘要保持不变。",
    ],
)
def test_words_for_nothing_are_no_summary(reply: str) -> None:
    assert is_no_answer(reply)
    assert not is_no_answer(f"{reply} Hester keeps the lamp at the harbour, and in 1924 the bank fails.")


@pytest.mark.parametrize(
    "reply",
    [
        "Nothing survives of the house that Hester kept.",
        "NOTHING grows on the island after 1924.",
        "NOTHING - so the keeper called his boat.",
        "The keeper does not help the stranger.",
        "Nichts blieb von dem Haus.",
        "The part does not help Hester, who fails.",
        "Nothing came of the bank that Hester kept.",
    ],
)
def test_summary_may_begin_with_nothing(reply: str) -> None:
    assert not is_no_answer(reply)


EMPTY = EmptyReply("the reply is empty", text="", usage=Usage())
NO_ROOM = EmptyReply("the reply is empty", text="", usage=Usage(), finish_reason="length")
CUT = "A reply that breaks"


class Model(ScriptedModel):
    """Says its lines; a text without an end was cut off for want of room."""

    async def ask(self, request: Request[InputT, ValueT]) -> Reply[ValueT]:
        reply = await super().ask(request)
        return reply if reply.text.endswith(".") else replace(reply, finish_reason="length")


def written(
    model: ScriptedModel, most: int = 0, at_worst: int = 0, excerpt: str = "It is so.", **named: Any
) -> Completion:
    writer = StructuredWriter(model, tokens_per_word=2.0, **named)
    inputs = lambda limit: ChunkInput(excerpt=excerpt, words=limit)  # noqa: E731
    return asyncio.run(writer.within(SUMMARIZE_CHUNK, inputs, 50, "chunk", most, at_worst=at_worst))


def sent_back(model: ScriptedModel) -> str | None:
    return model.asked[1].complaint.reply if model.asked[1].complaint else None


def told(model: ScriptedModel) -> list[str]:
    return [request.complaint.reason if request.complaint else "" for request in model.asked]


def test_empty_reply_is_never_requested_identically() -> None:
    model = Model([EMPTY, EMPTY, prose(40)])

    assert written(model) == Completion(prose(40), 40, 3)
    assert told(model) == ["", "it is empty", "it is empty"]
    assert [request.given.words for request in model.asked] == [50, 50, 45]
    written(model := Model([EMPTY] * (MAX_TRIES + 1)))
    words = {(request.given, request.complaint) for request in model.asked}
    assert len(words) == len(model.asked)


@pytest.mark.parametrize("cut", [CUT, NO_ROOM])
def test_cut_reply_gets_room_then_other_words(cut: Any) -> None:
    model = Model([cut] * 6 + [prose(30)])

    assert written(model).text == prose(30)
    assert [request.sampling.max_tokens for request in model.asked] == [101, 202, 404, 808, 1616, 1616, 1616]
    assert [request.given.words for request in model.asked] == [50, 50, 50, 50, 50, 45, 40]
    assert [bool(request) for request in told(model)] == [False] * 5 + [True] * 2
    assert len({(request.given, request.sampling.max_tokens, request.complaint) for request in model.asked}) == 7, (
        "never the same again"
    )


def test_cut_reply_without_room_is_reworded() -> None:
    for spare in (101, 110):
        model = Model([CUT, prose(40)])
        assert not written(model, spare=lambda prompt, inputs, spare=spare: spare).flaw
        assert [request.sampling.max_tokens for request in model.asked] == [101, 101]
        assert [request.given.words for request in model.asked] == [50, 45]
        assert told(model) == ["", "it breaks off before its end; write at most 45 words"]
    model = Model([CUT, CUT, prose(40)])
    assert not written(model, spare=lambda prompt, inputs: 350).flaw
    assert [request.sampling.max_tokens for request in model.asked] == [101, 202, 230], "and the complaint has room"


def test_slight_excess_lowers_the_limit_by_itself() -> None:
    model = Model([prose(54)] * 7)

    assert written(model).flaw == "54 words, over the limit of 50"
    assert [request.given.words for request in model.asked] == [50, 50, 46, 42, 38, 35, 34]
    model = Model([prose(90)] * 7)
    written(model)
    assert [request.given.words for request in model.asked] == [50, 50, 45, 40, 35, 30, 25]


def test_slight_excess_is_taken_at_worst() -> None:
    def revised(*replies: str) -> Completion:
        return written(Model(replies), 52, 55)

    assert revised(prose(56), prose(54), prose(55)) == Completion(prose(54), 54, 3)
    assert revised(prose(54), prose(52)) == Completion(prose(52), 52, 2)
    assert revised(*[prose(56)] * 6, prose(55)) == Completion(prose(55), 55, 7)
    assert revised(*[prose(56)] * 7).flaw
    assert revised(*[prose(54).rstrip(".")] * 7).flaw


def test_excess_is_told_in_words() -> None:
    model = Model([prose(53), prose(48)])

    assert not written(model).flaw
    assert [request.given.words for request in model.asked] == [50, 50], "what was really asked"
    assert told(model) == ["", "it has 53 words, 3 too many; write at most 50 words"]
    assert sent_back(model) == prose(53)


def test_unfinished_last_sentence_is_told() -> None:
    model = ScriptedModel([f"{prose(39)} Then", prose(40)])
    assert not written(model).flaw
    assert told(model)[1] == "its last sentence is unfinished; write at most 45 words"


TURN = "The sea took the village in one night."


def test_looping_text_is_cut_at_its_repetition() -> None:
    loop = f"It began with rain. {TURN} {TURN} {TURN} The sea took the vill"
    model = Model([loop, prose(40)])

    assert not written(model).flaw
    assert told(model)[1] == "it says the same over and over; say everything once, in at most 50 words"
    assert sent_back(model) == f"It began with rain. {TURN}"
    assert model.asked[1].sampling.max_tokens == 101, "it is not the room that it lacks"

    completion = written(Model([loop] * (MAX_TRIES + 1)))
    assert (completion.text, completion.words) == (f"It began with rain. {TURN}", 12)
    assert completion.flaw == "says the same over and over, kept up to its first repetition"


@pytest.mark.parametrize("stars", ["***", "---\n\n---", "…"])
def test_a_text_without_a_word_is_none(stars: str) -> None:
    model = ScriptedModel([stars, stars, prose(40)])
    assert written(model) == Completion(prose(40), 40, 3)
    assert told(model) == ["", "it is empty", "it is empty"]


def test_whole_sentences_of_cut_texts_are_kept() -> None:
    cut = f"{prose(40)} And then the"
    completion = written(Model([cut] * (MAX_TRIES + 1)))

    assert (completion.text, completion.words) == (prose(40), 40)
    assert completion.flaw == "breaks off before its end, kept without its unfinished last sentence"
    mostly = "It rained. But then all of the others went away to the"
    assert written(Model([mostly] * (MAX_TRIES + 1))).text == mostly, "less than half would be left"


class TestEchoes:
    order = "Merge these summaries into one good summary."

    def written(self, model: Model, **named: Any) -> Completion:
        return written(model, instructions=lambda *_: f"Read this.\n\n{self.order} Use few words.", **named)

    def test_prompt_words_are_no_part_of_it(self) -> None:
        assert self.written(Model([f"{self.order} {prose(40)}"])) == Completion(prose(40), 40, 1)

    def test_unless_the_document_says_them_too(self) -> None:
        text = f"{self.order} {prose(40)}"
        assert self.written(Model([text]), excerpt=f"He said: {self.order}").text == text

    def test_reply_of_mere_echo_is_told(self) -> None:
        model = Model([f"{self.order} {TURN[-10:]}", prose(40)])
        assert self.written(model).text == prose(40)
        assert told(model)[1] == "it repeats the instructions; write the text that they ask for, in at most 50 words"

    def test_echo_alone_is_never_the_summary(self) -> None:
        completion = self.written(Model([f"{self.order} It is so."] * (MAX_TRIES + 1)))
        assert (completion.text, completion.flaw) == ("It is so.", "repeats the instructions")


@pytest.mark.parametrize("end", ["", "\n</summary>", "\n</summary>\nAnything else?", "\n</summ", "</"])
def test_text_cut_in_its_tag_is_whole(end: str) -> None:
    reply = f"<summary>\n{prose(40)}{end}"
    assert written(Model([reply])) == Completion(prose(40), 40, 1)


NO_REVISION = "it has almost nothing in common with the summary"


def request(task: str = "Tell when.") -> Finding:
    return Finding("review", "request", "change", task)


async def revised(summary: str, reply: str, *findings: Finding, language: str | None = None) -> Completion:
    """What comes of a reply to an order to revise a summary."""
    document, tokenizer = Document.from_text(summary), Tokenizer()
    reader = EvidenceReader(document, Passages(document, tokenizer), tokenizer, 4000, 100)
    reviser = Reviser(StructuredWriter(FunctionModel(lambda _: reply), 2.0, language=language), reader)
    order = RevisionRequest(ReviseInput(summary=summary, points=[], words=200), findings, 1)
    return (await reviser.revise(reviser.brief(order), "revision 1"))[0]


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
    document, tokenizer = Document.from_text(text), Tokenizer()
    reader = EvidenceReader(document, Passages(document, tokenizer), tokenizer, 4000, tokenizer.count(text))
    spare = None if room is None else lambda _, inputs: room - 100 * len(inputs.must_know)
    writer = StructuredWriter(FunctionModel(str), 2.0, spare=spare)
    at = text.index("In year 300 ")
    missing = Finding("coverage", "unanswered", "add", "Say it.", evidence=Evidence("x", Span(at, at + 5)))
    notes = EditInput(
        summary="It rained.",
        points=[],
        words=100,
        must_know=[MustKnow(weight=n, question="Q?", answer="A", quote=f"ship {n}") for n in (3, 2, 1)],
        may_go=["It rained."],
        outline="Ships.",
    )
    levels = ("word " * 900, "word " * 900), ("Storms.", "Ships."), ("All.",)
    return Reviser(writer, reader), RevisionRequest(notes, (), 1, missing=(missing,), levels=levels)


@pytest.mark.parametrize("room", [None, 30_000])
async def test_an_editor_sees_a_document_that_fits(room: int | None) -> None:
    reviser, request = editing(room)
    inputs = reviser.brief(request).inputs

    assert isinstance(inputs, EditInput)
    assert (inputs.document, inputs.outline) == (reviser.reader.document.text, "Ships.")
    assert (inputs.parts, inputs.passages, inputs.may_go) == ([], [], ["It rained."])


async def test_an_editor_sees_parts_outline_and_passages() -> None:
    reviser, request = editing(3000)
    request = reviser.brief(request)
    inputs, places = request.inputs, request.places

    assert isinstance(inputs, EditInput)
    assert (inputs.document, inputs.outline) == (None, "Ships.")
    assert inputs.parts == ["Storms.", "Ships."], "the most detailed level that leaves room for passages"
    assert "In year 300 the keeper" in " ".join(inputs.passages)
    assert [item.quote for item in inputs.must_know] == ["ship 3", "ship 2", "ship 1"]
    assert places[-1].end < len(reviser.reader.document.text)


async def test_without_room_the_least_weighty_goes() -> None:
    reviser, request = editing(800)
    inputs = reviser.brief(request).inputs

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
