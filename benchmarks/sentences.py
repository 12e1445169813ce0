"""Sentence splitters on dialogue, abbreviations, initials, ellipses and headings, and how fast they are.

    python -m benchmarks.sentences [--verbose]

Compares what is installed of sentencex (as redraft uses it, and bare), pysbd, blingfire, syntok, sentencesplit and
phrasplit; only the first is a dependency. A case is right if all its sentences end where they should. Speed is measured
on 200 KB of prose.
"""

from __future__ import annotations

import importlib
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.common import options_of, prose
from redraft.text.sentences import sentences

CASES = tomllib.loads((Path(__file__).parent / "texts" / "sentences.toml").read_text("utf-8"))


def _spans(text: str, language: str) -> Iterator[str]:
    return (text[span.start : span.end] for span in sentences(text, language=language))


def _syntok(text: str, library: Any, _: str) -> Iterator[str]:
    for paragraph in library.analyze(text):
        yield from (text[part[0].offset : part[-1].offset + len(part[-1].value)] for part in paragraph)


# The module that must be there, and how it splits a text in a language, if it knows of any.
SPLITTERS: dict[str, tuple[str, Callable[[str, Any, str], Iterable[str]]]] = {
    "redraft": ("sentencex", lambda text, _, language: _spans(text, language)),
    "sentencex": ("sentencex", lambda text, lib, language: iter(lib.segment(language, text))),
    "pysbd": ("pysbd", lambda text, lib, language: lib.Segmenter(language, clean=False).segment(text)),
    "blingfire": ("blingfire", lambda text, lib, _: lib.text_to_sentences(text).split("\n")),
    "syntok": ("syntok.segmenter", _syntok),
    "sentencesplit": (
        "sentencesplit",
        lambda text, lib, _: (str(getattr(part, "sent", part)) for part in lib.Segmenter("en").segment(text)),
    ),
    "phrasplit": ("phrasplit", lambda text, lib, _: lib.split_sentences(text, use_spacy=False)),
}


def ends(parts: list[str]) -> set[int]:
    """Where sentences end, in characters that are not blanks, so that what a splitter does to blanks is no fault."""
    counts = ["".join(part.split()) for part in parts]
    return {len("".join(counts[: at + 1])) for at, part in enumerate(counts) if part}


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--verbose", action="store_true", help="show the cases that were split otherwise")
    verbose, text = parser.parse_args().verbose, prose(200_000)
    cases = [(language, case) for language, texts in CASES.items() for case in texts]
    print(f"{len(cases)} cases\n{'':14}{'exact':>6}{'precision':>11}{'recall':>8}{'MB/s':>7}")
    for name, (module, splitter) in SPLITTERS.items():
        try:
            library = importlib.import_module(module)
        except ImportError:
            print(f"{name:14}not installed")
            continue
        right = hits = found = true = 0
        for language, case in cases:
            got, want = ends(list(splitter(case.replace("|", ""), library, language))), ends(case.split("|"))
            right, hits = right + (got == want), hits + len(got & want)
            found, true = found + len(got), true + len(want)
            if verbose and got != want:
                print(f"  {case!r}")
        begun = time.perf_counter()
        list(splitter(text, library, "en"))
        rate = len(text) / 1e6 / (time.perf_counter() - begun)
        print(f"{name:14}{right:6}{hits / found:11.3f}{hits / true:8.3f}{rate:7.2f}")


if __name__ == "__main__":
    main()
