"""Texts that are made to break what reads them."""

from __future__ import annotations

from hypothesis import strategies as st

from redraft.text.sanitizer import clean

# So long that whatever grows with the square of the length would be noticed.
_LENGTH = 250_000
EXTREMES = {
    "one line without spaces": "abcdefghij" * (_LENGTH // 10),
    "one letter": "a" * _LENGTH,
    "emoji": "😀" * (_LENGTH // 4),
    "joined emoji": "👩‍👩‍👧" * (_LENGTH // 18),
    "ideographs": "雨" * (_LENGTH // 3),
    "Japanese": "今日は雨です。" * (_LENGTH // 21),
    "line ends": "\n" * _LENGTH,
    "spaces": " " * _LENGTH,
    "tabs": "\t" * _LENGTH,
    "quotation marks": '"' * 100_000,
    "opening quotation marks": "“" * 100_000,
    "quoted letters": "“a” " * 25_000,
    "slashes after line ends": "\n/" * 50_000,
    "blanks and line ends": " \n" * 50_000,
    "full stops": "." * _LENGTH,
    "initials": "A. " * 100_000,
    "accents": "e" + "\u0301" * 50_000,
    "hash signs": "# a\n" * 20_000,
    "digits": "1" * _LENGTH,
    "brackets": "(" * 100_000,
}

_SENTENCES = """
The lamp went out. |“Who is there?” she asked. |"Stop!" he cried. |Dr. J. R. Harrow met Mrs. Pell. |He waited...
|Then — slowly, carefully — he left; |no end to it, and on, and on, and on, |今日は雨です。|「行こう」
|한국어 |Привет, мир. |ไทย|👩‍👩‍👧|e\u0301|http://a.b/c?d=e |3.14|12345678901|A.|A\u00a0.|'s|'LL|((|))|}|CamelCaseWord
|x.y.z/"""
_PIECES = [
    *_SENTENCES.replace("\n", "").split("|"),
    *"\n/ \t\u00a0\u3000！😀\u200b𠮷ﬁ?!.…”“\"'\x1f\x00\ud800]",
    *(
        "\n\n",
        " \n \n ",
        "\n/",
        "    ",
        "# Heading\n",
        "- item\n",
        "1. one\n",
        "}\n",
        "\r\n",
        "<|endoftext|>",
        "a" * 200,
    ),
]

_mixed = st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=12)), max_size=60).map("".join)
_repeated = st.builds(lambda piece, times: piece * times, st.sampled_from(_PIECES), st.integers(1, 100))

raw_texts = st.one_of(_mixed, _repeated, st.text(max_size=400), st.builds("".join, st.lists(_repeated, max_size=4)))
"""Anything a program can hold, half surrogate pairs and control characters included."""

texts = raw_texts.map(clean)
"""What a loaded document can hold."""
