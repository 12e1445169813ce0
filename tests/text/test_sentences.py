from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sentencex import segment

from redraft.domain import Span
from redraft.text import sentences as module
from redraft.text.sentences import ends_sentence, paragraph_seams, paragraphs, sentences
from tests.text.hostile import EXTREMES, raw_texts

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


@pytest.mark.slow
@relaxed
@given(raw_texts)
def test_no_sentence_crosses_a_paragraph(text: str) -> None:
    seams = set(paragraph_seams(text))
    assert not any(seams.intersection(range(span.start + 1, span.end)) for span in sentences(text))


@pytest.mark.slow
@relaxed
@given(raw_texts)
def test_a_paragraph_alone_is_split_as_within_the_text(text: str) -> None:
    apart = [span for paragraph in paragraphs(text) for span in sentences(text, paragraph)]
    assert apart == sentences(text)


@relaxed
@given(st.text(alphabet="aA.  \u00a0\u3000\u2003\x85\n!?“”\"'()[]。éİ😀\u0301\ud800", max_size=40))
def test_the_splitter_is_guarded(text: str) -> None:
    assert "".join(module._segment(text, "en")) == text


def test_a_wide_space_before_a_full_stop() -> None:
    assert split("A\u3000.”“ He left.")  # the splitter itself panics


def test_a_splitter_that_loses_text_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "segment", lambda language, text: [part for part in text.split(" ") if part])
    assert split("One. Two.") == ["One. Two."]


def test_a_splitter_that_panics_gives_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        pass

    def panic(language: str, text: str) -> list[str]:
        raise PanicException

    monkeypatch.setattr(module, "segment", panic)
    assert split("One. Two.\n\nThree.") == ["One. Two.", "Three."]


def test_an_interrupt_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(language: str, text: str) -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "segment", interrupt)
    with pytest.raises(KeyboardInterrupt):
        sentences("One. Two.")


@pytest.mark.parametrize(
    "parts",
    [
        ["“Stop!” she cried.", "“Why should I?” he asked.", "Nobody answered."],
        ["He said, “I am leaving.”", "Then he left."],
        ["Dr. Harrow met Mrs. Pell at 9 a.m. on St. James Street.", "They talked."],
        ["J. R. Harrow signed No. 14 of the ledger.", "It was late."],
        ["She paused…", "Then she spoke."],
        ["It cost $3.50 per lb. in 1921.", "That was dear."],
        ["What now?", "No one knew!", "Well."],
        ["He waited... and waited.", "Then he left… without a word."],
        ["“I thought…”", "“What did you think?”"],
        ["He waited...", "Then he left."],
        ["Capt. Lee sailed in Jan. 1892.", "Gen. Gray did not."],
        ["今日は雨です。", "明日は晴れるでしょう。"],
        ["Die Tür war zu.", "Niemand öffnete sie."],
    ],
)
@pytest.mark.parametrize("joint", [" ", "\n", "   "])
def test_cases(parts: list[str], joint: str) -> None:
    assert split(joint.join(parts)) == parts


def test_unspaced_sentences_are_split() -> None:
    assert split("今日は雨です。明日は晴れるでしょう。「行こう」") == [
        "今日は雨です。",
        "明日は晴れるでしょう。",
        "「行こう」",
    ]


def test_headings_and_lists_stand_alone() -> None:
    text = "# The Tide\nIt rose. It fell.\n## Again\n\n- one\n- two\n1. first\n2) second\n\nCHAPTER I\n\nThe end."
    assert split(text) == [
        *("# The Tide", "It rose.", "It fell.", "## Again", "- one", "- two", "1. first", "2) second"),
        *("CHAPTER I", "The end."),
    ]


def test_a_hash_within_a_line_is_no_heading() -> None:
    assert list(paragraph_seams("C# and #5 were\nhere #tag\nthere")) == []
    assert list(paragraph_seams("####### seven\nx")) == []
    assert list(paragraph_seams("  ## two\nx")) == [9]


def test_hard_wrapped_lines_are_one_sentence() -> None:
    text = "The keeper of the light\nhad not been seen\nsince Tuesday. Nobody\nlooked for him."
    assert split(text) == ["The keeper of the light\nhad not been seen\nsince Tuesday.", "Nobody\nlooked for him."]


def test_a_long_paragraph_is_split_as_in_one_go() -> None:
    story = (
        "The lamp went out at nine. “Who is there?” she asked. “It is only me. I have come back, as I said I would,” "
        "said J. R. Harrow (who had climbed all forty-eight steps). He was out of breath... and afraid. "
        '"Then sit down. You look ill," she said. '
    )
    text = (story * 80).strip()
    assert len(text) > 4 * module._BLOCK
    assert split(text) == [part.strip() for part in segment("en", text)]


def test_long_true_paragraphs_are_split_as_in_one_go(stories: list[str]) -> None:
    for story in stories[:10]:
        text = re.sub(r"[\"“”()'’]", "", re.sub(r"\s+", " ", story)).strip()
        assert split(text) == [part.strip() for part in module._segment(text, "en")]


@pytest.mark.parametrize("end", ["Nobody saw me.", "She was given a.", "“He told me.”", "He said no."])
def test_a_small_word_ends_a_sentence_before_a_capital(end: str) -> None:
    assert split(f"{end} Jem was gone.") == [end, "Jem was gone."]


@pytest.mark.parametrize("whole", ["It was built in 300 a. C. It fell.", "Er kam aus Frankfurt a. M. und blieb."])
def test_a_small_word_before_a_lone_capital_is_an_abbreviation(whole: str) -> None:
    assert not any(part.endswith(" a.") for part in split(whole))


@pytest.mark.parametrize("numbered", ["Vol. 17 of the ledgers", "the ledger (vol. 17)", "Ch. 5", "pp. 7 and 8"])
def test_a_number_belongs_to_the_abbreviation_before_it(numbered: str) -> None:
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
    assert [text[slice(*one)] for one in sentences(text, language=language)] == [f"{numbered}.", "Ende 17."]


def test_a_number_may_begin_a_sentence() -> None:
    assert split("It went to the court. 17 men came.")[-1] == "17 men came."


@pytest.mark.parametrize("length", [4_000, 4_001, 12_345])
def test_a_sentence_longer_than_a_block_is_whole(length: int) -> None:
    words = ("word " * length)[:length].strip() + " end."
    assert split(f"{words} The next one.") == [words, "The next one."]
    assert split("a" * length) == ["a" * length]


def test_blanks_after_a_sentence_longer_than_a_block() -> None:
    text = "a" * 4_000 + " " * 9_000
    assert sentences(text) == [Span(0, 4_000)]


class Counted:
    """The splitter, adding up the square of what it is given, as its time may grow on quotation marks."""

    def __init__(self) -> None:
        self.work = 0

    def __call__(self, language: str, text: str) -> list[str]:
        self.work += len(text) ** 2
        return list(segment(language, text))


@pytest.mark.parametrize("name", EXTREMES)
def test_the_work_grows_with_the_length(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted, text = Counted(), EXTREMES[name][:60_000]
    monkeypatch.setattr(module, "segment", counted)
    sentences(text)
    assert counted.work <= 3 * module._BLOCK * len(text)


@pytest.mark.parametrize("text", ["Yes.", "“Yes!”", "Really?)", "well…", "今日。", "*Yes.*", "Yes. \n"])
def test_finished_texts(text: str) -> None:
    assert ends_sentence(text)


@pytest.mark.parametrize("text", ["", "and then", "Mr. Smith", "one,", "3.5"])
def test_unfinished_texts(text: str) -> None:
    assert not ends_sentence(text)


@pytest.mark.parametrize(
    "parts",
    [
        ["Am 3. März 1911 kam er.", "Am 12. Juni waren es drei, z. B. am 9. Mai."],
        ["Im 19. Jahrhundert war das so.", "Er war 34.", "Sie kam im 2. Weltkrieg."],
        ["Он служил, т. е. дольше.", "В октябре 1926 г. на мыс приехала Вера."],
        ["Dne 3. března 1911 přišel.", "Byl doma."],
        ["He was 34.", "She saw J. R. Smith.", "It was on the 3rd."],
    ],
)
def test_ordinals_and_short_words_of_other_languages_end_no_sentence(parts: list[str]) -> None:
    assert split(" ".join(parts)) == parts


@pytest.mark.parametrize(
    "text", ["Sie sagte: „Da steht alles drin.“", "彼は「終わった。」", "（終わり。）", "वह गया।", "Он сказал: «Да.»"]
)
def test_closing_marks_of_other_languages_end_a_sentence(text: str) -> None:
    assert ends_sentence(text)


def test_a_heading_with_a_number_or_two_parts_is_one() -> None:
    text = "## II. The Book\n\nShe read it.\n\n## Глава первая. Приезд\n\nОн приехал."
    assert split(text) == ["## II. The Book", "She read it.", "## Глава первая. Приезд", "Он приехал."]
