"""Where sentences and chunks begin and end, which lines are headings, and which are labels of speakers."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from redraft.domain import Chunk, Document, Span
from redraft.errors import UsageError
from redraft.readers.documents import parse
from redraft.text import sentences as module
from redraft.text.chunks import LONGEST_REST, MIN_BUDGET, chunk
from redraft.text.document_form import body_of
from redraft.text.sentences import ends_sentence, is_heading, paragraph_seams, paragraphs, sentences, speaker_at
from redraft.text.tokens import Tokenizer
from tests.text.hostile import EXTREMES, raw_texts, texts

relaxed = settings(max_examples=80, deadline=None)


def split(text: str) -> list[str]:
    return [text[span.start : span.end] for span in sentences(text)]


@pytest.mark.slow
@relaxed
@given(raw_texts)
def test_spans_are_exact(text: str) -> None:
    spans = sentences(text)
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert all(a.end <= b.start for a, b in pairwise(spans))
    assert all(part == part.strip() for part in split(text))
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    assert not "".join(text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)).strip()


@relaxed
@given(raw_texts)
def test_paragraphs_cover_the_text(text: str) -> None:
    edges = [0, *(span.end for span in paragraphs(text))]
    assert list(paragraphs(text)) == [Span(a, b) for a, b in pairwise(edges)]
    assert edges[-1] == len(text)
    seams = list(paragraph_seams(text))
    assert seams == sorted(set(seams))
    assert all(0 < seam <= len(text) and text[seam - 1] == "\n" for seam in seams)


def test_headings_and_lists_stand_alone() -> None:
    assert split("A\u3000.”“ He left.")  # the splitter itself panics
    text = "# The Tide\nIt rose. It fell.\n## Again\n\n- one\n- two\n1. first\n2) second\n\nCHAPTER I\n\nThe end."
    assert split(text) == [
        *("# The Tide", "It rose.", "It fell.", "## Again", "- one", "- two", "1. first", "2) second"),
        *("CHAPTER I", "The end."),
    ]
    text = "[00:23:10] MR. CRANE: Did you?\n[00:24:00] MS. DOYLE: I did.\nTHE CHAIRMAN: Thank you."
    assert [text[slice(*span)].split(": ")[1].strip() for span in paragraphs(text)] == [
        "Did you?",
        "I did.",
        "Thank you.",
    ]


class PanicException(BaseException):
    pass


def test_a_splitter_that_panics_gives_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(language: str, text: str) -> list[str]:
        raise errors.pop()

    errors: list[BaseException] = [KeyboardInterrupt(), PanicException(), PanicException()]
    monkeypatch.setattr(module, "segment", fail)
    assert split("One. Two.\n\nThree.") == ["One. Two.", "Three."]
    with pytest.raises(KeyboardInterrupt):
        sentences("One. Two.")


@pytest.mark.parametrize(
    "parts",
    [
        ["“Stop!” she cried.", "“Why should I?” he asked.", "Nobody answered."],
        ["He said, “I am leaving.”", "Then he left."],
        ["Dr. Harrow met Mrs. Pell at 9 a.m. on St. James Street.", "They talked."],
        ["She paused…", "Then she spoke."],
        ["It cost $3.50 per lb. in 1921.", "That was dear."],
        ["What now?", "No one knew!", "Well."],
        ["“I thought…”", "“What did you think?”"],
        ["今日は雨です。", "明日は晴れるでしょう。"],
    ],
)
@pytest.mark.parametrize("joint", [" ", "\n", "   "])
def test_cases(parts: list[str], joint: str) -> None:
    assert split(joint.join(parts)) == parts


@pytest.mark.parametrize("end", ["Nobody saw me.", "She was given a.", "“He told me.”", "He said no."])
def test_small_word_ends_a_sentence(end: str) -> None:
    assert split(f"{end} Jem was gone.") == [end, "Jem was gone."]


@pytest.mark.parametrize("numbered", ["Vol. 17 of the ledgers", "the ledger (vol. 17)", "Ch. 5", "pp. 7 and 8"])
def test_number_belongs_to_the_abbreviation_before(numbered: str) -> None:
    assert split(f"Doyle produced {numbered}. Then he went.") == [f"Doyle produced {numbered}.", "Then he went."]


@pytest.mark.parametrize(
    ("language", "numbered"),
    [
        *[("de", "Siehe Abb. 3 auf S. 12, Bd. 2"), ("it", "Vedi pag. 12, cap. 4, n. 5"), ("fr", "Voir p. 12 du t. 2")],
        *[("es", "Véase t. 2, núm. 5"), ("pl", "Zob. s. 12, rys. 3"), ("ru", "См. рис. 3 на стр. 12, гл. 4")],
        *[("cs", "Viz s. 12, obr. 3"), ("el", "Βλ. εικ. 3, κεφ. 4"), ("en", "See No. 5, Fig. 3, p. 12, vol. 2")],
    ],
)
def test_so_it_does_in_other_languages(language: str, numbered: str) -> None:
    text = f"{numbered}. Ende 17."
    assert [text[slice(*span)] for span in sentences(text, language=language)] == [f"{numbered}.", "Ende 17."]


def test_end_of_a_sentence() -> None:
    finished = [
        "Yes.",
        "“Yes!”",
        "Really?)",
        "well…",
        "今日。",
        "*Yes.*",
        "Yes. \n",
        "Sie sagte: „Da steht alles drin.“",
    ]
    finished += ["彼は「終わった。」", "（終わり。）", "वह गया।", "Он сказал: «Да.»"]
    assert [text for text in finished if not ends_sentence(text)] == []
    assert [text for text in ("", "and then", "Mr. Smith", "one,", "3.5") if ends_sentence(text)] == []


@pytest.mark.parametrize(
    "parts",
    [
        ["Am 3. März 1911 kam er.", "Am 12. Juni waren es drei, z. B. am 9. Mai."],
        ["Он служил, т. е. дольше.", "В октябре 1926 г. на мыс приехала Вера."],
        ["He was 34.", "She saw J. R. Smith.", "It was on the 3rd."],
    ],
)
def test_foreign_ordinals_end_no_sentence(parts: list[str]) -> None:
    assert split(" ".join(parts)) == parts


TALK = ['"Is it safe?" she asked.', '"Safe till seven," said the carrier.', '"And then?" she asked.']
PLAIN = "The tide went out over the bank, and nobody was there to see it but the keeper and his dog. "


def cut(text: str, budget: int, *, natural: bool = True) -> list[str]:
    document = parse(text.encode(), name="text.md")
    chunks = chunk(document, Tokenizer(), budget, natural=natural)
    assert "".join(document.text[slice(*piece.span)] for piece in chunks) == document.text
    assert all(piece.tokens <= budget for piece in chunks)
    return [document.text[slice(*piece.span)] for piece in chunks]


@pytest.mark.parametrize("mark", ["## Chapter 2: The Bank", "* * *", "Chapter Two"])
def test_chunk_ends_at_chapters_and_scenes(mark: str) -> None:
    text = "\n\n".join([PLAIN * 3] * 3 + [mark] + [PLAIN * 3] * 3)
    first, second = cut(text, 320)[:2]

    assert first.endswith("* * *\n\n") if mark == "* * *" else second.startswith(mark)
    assert not cut(text, 320, natural=False)[1].startswith(mark), "or else it would be no news"


def test_chunk_ends_at_paragraphs_outside_dialogue() -> None:
    text = "\n\n".join([PLAIN * 4] * 2 + TALK + [PLAIN * 8])

    assert cut(text, 230)[1].startswith(TALK[0])
    assert TALK[0] in cut(text, 230, natural=False)[0], "or else it would be no news"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"# Acknowledgements\n\nI thank Ann.\n\n# Chapter 1\n\n{PLAIN * 9}", f"# Chapter 1\n\n{PLAIN * 9}"),
        (f"© 1924 by Ann Lee.\n\nAll rights reserved.\n\n{PLAIN * 20}", f"{PLAIN * 20}"),
        (f"# A Tale\n\n{PLAIN * 9}\n\n## About the Author\n\nAnn Lee lives.", f"# A Tale\n\n{PLAIN * 9}\n\n"),
        (f"# Why\n\n{PLAIN * 9}\n\n## References\n\nA. Lee. 1924.\n\nB. Lee. 1925.", f"# Why\n\n{PLAIN * 9}\n\n"),
        (f"# Why\n\n{PLAIN * 9}\n\n## References\n\nA. Lee.\n\n## Appendix A\n\nText.", None),
        (f"# Why\n\n{PLAIN * 2}\n\n## References\n\n{'A. Lee. 1924. ' * 90}", None),
        (PLAIN * 9, None),
    ],
)
def test_surroundings_are_cut_at_the_ends(text: str, left: str | None) -> None:
    body, note = body_of(Document.from_text(text))

    assert text[slice(*body)] == (text if left is None else left)
    assert bool(note) is (left is not None)


def test_only_titles_are_headings() -> None:
    titles = ["# A storm", "### What became of the keepers.", "**The second winter**", "__Part two__:", "Chapter One"]
    titles += ["The Keepers of the Light", "PART II", "The Storm: A Beginning", "Der Sturm", "  Epilogue  "]
    assert [line for line in titles if not is_heading(line)] == []
    sentences = ["", "Hester leaves.", "HESTER LEAVES THE ISLAND AT NIGHT.", "Hester leaves the island", "“The Storm!”"]
    items = ["- Hester Crane", "2) Hester Crane", "• The Storm", "12. 3", "* * *", "他离开了灯塔。", "#hester"]
    others = ["Hester Crane, Ada Quill, Tobias Wren, Matthias Crane and Isaac Thorne", "**Hester** leaves with **Ada**"]
    assert [line for line in (*sentences, *items, *others) if is_heading(line)] == []


@pytest.mark.parametrize(
    ("line", "name", "time"),
    [
        ("[00:24:00] MS. DOYLE: I saw it.", "MS. DOYLE", "00:24:00"),
        ("00:24:00 Ann Doyle: I saw it.", "Ann Doyle", "00:24:00"),
        ("(1:24:00.5) - I saw it.", "", "01:24:00"),
        ("MR. O’NEIL (by phone): I saw it.", "MR. O’NEIL (by phone)", ""),
        (">> I saw it.", "", ""),
        ("Q. I saw it.", "", ""),
        ("Ann Doyle  0:24:00\nI saw it.", "Ann Doyle", "00:24:00"),
    ],
)
def test_a_label_is_no_sentence(line: str, name: str, time: str) -> None:
    label = speaker_at(line, 0, len(line))
    assert label is not None
    assert (label.name, label.time, line[label.end :].strip()) == (name, time, "I saw it.")
    speech = f"{line} It was open."
    assert [speech[slice(*span)] for span in sentences(speech, language="en")] == [line, "It was open."]


@pytest.mark.parametrize(
    "prose", ["3:16 For God so loved the world.", "10:45 P.M.", "The result: it fell.", "He said: no.", "I was there."]
)
def test_prose_has_no_label(prose: str) -> None:
    assert speaker_at(prose, 0, len(prose)) is None


at_ease = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
budgets = st.sampled_from([16, 17, 20, 33, 64, 200, 1_000])

STORY = (
    "The lamp went out at nine. Hester waited on the stairs, and nobody came.\n\n"
    "“Who is there?” she asked. The wind answered. “It is only me,” said J. R. Harrow, who had climbed "
    "all forty-eight steps.\nHe was out of breath... and afraid.\n\n"
) * 12


def document(text: str) -> Document:
    return Document("id", "title", text)


def boundaries(chunks: list[Chunk]) -> list[int]:
    return [piece.span.end for piece in chunks[:-1]]


def check_cover(text: str, chunks: list[Chunk]) -> None:
    edges = [0, *(piece.span.end for piece in chunks)]
    assert [piece.span for piece in chunks] == [Span(a, b) for a, b in pairwise(edges)]
    assert edges[-1] == len(text)
    assert all(piece.span.end > piece.span.start for piece in chunks)
    assert [piece.index for piece in chunks] == list(range(len(chunks)))


def check_counts(text: str, chunks: list[Chunk], tokenizer: Tokenizer, budget: int) -> None:
    for piece in chunks:
        part = text[piece.span.start : piece.span.end]
        assert piece.tokens == tokenizer.count(part)
        assert piece.tokens <= budget or len(part) == 1


def natural_seams(text: str) -> set[int]:
    """Where a chunk may end of right: before a paragraph, after the line end or before the space behind a sentence."""
    gaps = [(a.end, text.rfind("\n", a.end, b.start) + 1) for a, b in pairwise(sentences(text))]
    return {after_line or after_sentence for after_sentence, after_line in gaps} | set(paragraph_seams(text))


def check_ends(text: str, chunks: list[Chunk], tokenizer: Tokenizer, budget: int) -> None:
    """A chunk ends elsewhere only when no seam lies within it, and the way to the next seam is too long."""
    seams = sorted(natural_seams(text))
    dearest = 14 if tokenizer.name == "estimate" else 4  # what one piece of text can cost
    for piece in chunks[:-1]:
        if piece.span.end in seams:
            continue
        at = bisect_right(seams, piece.span.start)
        ahead = seams[at] if at < len(seams) else len(text)
        assert ahead > piece.span.end, "a sentence was cut although the chunk could have ended before it"
        assert tokenizer.count(text[piece.span.start : ahead]) > budget - dearest, "a sentence was cut although it fits"


@pytest.mark.slow
@at_ease
@given(text=texts, budget=budgets)
def test_chunks_cover_the_text_and_fit(tokenizer: Tokenizer, text: str, budget: int) -> None:
    chunks = chunk(document(text), tokenizer, budget)
    check_cover(text, chunks)
    check_counts(text, chunks, tokenizer, budget)
    check_ends(text, chunks, tokenizer, budget)


@pytest.mark.parametrize("budget", [16, 40, 100, 250, 1_000, 5_000])
def test_chunks_of_stories_end_with_sentences(tokenizer: Tokenizer, budget: int) -> None:
    chunks = chunk(document(STORY), tokenizer, budget)
    check_cover(STORY, chunks)
    check_counts(STORY, chunks, tokenizer, budget)
    check_ends(STORY, chunks, tokenizer, budget)
    if budget >= 100:
        assert set(boundaries(chunks)) <= natural_seams(STORY)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXTREMES)
def test_extremes(tokenizer: Tokenizer, name: str) -> None:
    text = EXTREMES[name]
    chunks = chunk(document(text), tokenizer, 2_000)
    check_cover(text, chunks)
    check_counts(text, chunks, tokenizer, 2_000)
    assert len(chunks) <= 2 + 3 * tokenizer.count(text) // 2_000


def test_long_sentence_ends_at_a_clause() -> None:
    tokenizer = Tokenizer()
    clauses = "the wind that came over the marsh was cold, " * 30
    for end in boundaries(chunk(document(clauses), tokenizer, 40)):
        assert clauses[end - 1] == ","
    words = "the wind that came over the marsh was cold " * 30
    for end in boundaries(chunk(document(words), tokenizer, 40)):
        assert words[end] == " "
    letters = "thewindthatcameoverthemarshwascold" * 30
    assert len(chunk(document(letters), tokenizer, 40)) > 3


def test_unspaced_sentences_are_counted_apart(vocabulary: Tokenizer) -> None:
    text = "今日は雨です。明日は晴れるでしょう。" * 200
    chunks = chunk(document(text), vocabulary, 100)
    check_counts(text, chunks, vocabulary, 100)
    assert all(text[end - 1] == "。" for end in boundaries(chunks))


def test_small_texts_and_budgets() -> None:
    assert chunk(document(""), Tokenizer(), 100) == []
    assert [each.span for each in chunk(document("One."), Tokenizer(), 100)] == [Span(0, 4)]
    with pytest.raises(UsageError, match="too small") as caught:
        chunk(document("One."), Tokenizer(), MIN_BUDGET - 1)
    assert str(MIN_BUDGET) in caught.value.hint


@pytest.mark.slow
@at_ease
@given(text=texts, budget=budgets)
@example(text="\n/\n/" + "3.14" * 7 + "Then — slowly, carefully — he left; " * 29, budget=16)
def test_chunk_of_n_plus_completes_its_sentence(tokenizer: Tokenizer, text: str, budget: int) -> None:
    chunks = chunk(document(text), tokenizer, budget, onward=True)
    check_cover(text, chunks)
    check_counts(text, chunks, tokenizer, budget + LONGEST_REST)
    seams = natural_seams(text)
    for piece in chunks[:-1]:
        if piece.tokens > budget:
            assert piece.span.end in seams
            assert not any(
                seam
                for seam in seams
                if piece.span.start < seam < piece.span.end and tokenizer.count(text[piece.span.start : seam]) > budget
            )
