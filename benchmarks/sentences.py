"""Sentence splitters on dialogue, abbreviations, initials, ellipses and headings, and how fast they are.

    python -m benchmarks.sentences [--verbose]

Compares what is installed of sentencex (as redraft uses it, and bare), pysbd, blingfire, syntok, sentencesplit and
phrasplit; only the first is a dependency. A case is right if all its sentences end where they should. Speed is measured
on 200 KB of prose.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from benchmarks.common import options_of, prose
from redraft.text.sentences import sentences

# A bar parts sentences; it stands for the space, or the line end, that follows it.
# fmt: off
CASES = [
    "“Stop!” she cried.| “Why should I?” he asked.| Nobody answered.", "“Is it true?”| “It is.”| He nodded.",
    '"I won\'t go," said Tom.| "You must!" Ann replied.| He went.', "“Go.”| “No.”| “Please.”| He went.",
    "He said, “I am leaving.”| Then he left.", "“Oh, Mr. Vane!” she said.| He bowed.", "'No,' she said.| 'Never.'",
    "“Wait . . . I hear something,” he whispered.| It passed.", "“But—”| “No buts!”| She turned away.",
    "“Who goes there?” asked the guard.| “A friend,” came the answer.", "“I am Dr. Pym,” he said.| She smiled.",
    "Dr. Harrow met Mrs. Pell at 9 a.m. on St. James Street.| They talked.", "Mr. Smith Jr. arrived.| He was tired.",
    "The U.S. Army arrived.| It was cold in the U.S.| They left at 5 p.m.| Nobody minded.",
    "He has a Ph.D.| So do I.", "It cost $3.50 per lb. in 1921.| That was dear.",
    "See Fig. 3 and pp. 12-14.| The rest follows.",
    "Capt. Lee of the H.M.S. Orion sailed in Jan. 1892.| Gen. Gray did not.", "He came, i.e. he walked in.| We sat.",
    "He lived on Main St.| She lived on Elm St.| They met.", "Smith & Co. paid £4 10s. in full.| Jones Ltd. did not.",
    "Bring ropes, lamps, etc.| The rest is here.", "It was No. 14, Vol. II, of the Annals.| He read it.",
    "It is 3.5 m.| Good.", "J. R. Harrow signed No. 14 of the ledger.| It was late.",
    "They met J. Crane.| He was old.", "W. H. Auden wrote it.",
    "The Hon. Mrs. A. B. Cole et al. v. State.| It was dismissed.", "“Ask J. P.,” he said.| She did.",
    "Plan B.| It failed.", "He waited... and waited.| Then he left.", "She paused…| Then she spoke.",
    "“I thought…”| “What?”", "And so…it ended.| Good.", "He ran...| The door closed.",
    "“If only . . .”| She stopped.", "It was over -- or so he thought.| “Not yet,” he said.",
    "# The Tide\n|It rose.| It fell.", "CHAPTER I\n\n|It was dark.", "CHAPTER IV. The Storm\n\n|It rained.",
    "I.\n\n|She left.", "The end\n\n|Author's note\n\n|I wrote it.", "- one thing\n|- another\n\n|That is all.",
    "1. Buy salt.\n|2. Sell it.", "(He had never been there.)| She had.", "What now?| No one knew!| Well.",
    "He did (why?) nothing.| She left.", "The keeper\nhad gone.| Nobody\ncame.", "今日は雨です。|明日も雨です。",
    "Die Tür war zu.| Niemand öffnete sie.",
    "See No. 5, Fig. 3 and p. 12 of vol. 2.| It ends.", "It is on pp. 12-14, Ch. 7, Sec. 2, Eq. 4.| Read it.",
]
# fmt: on
# The same in other languages, by whose rules they are split.
ELSEWHERE = {
    "de": "Siehe Abb. 3 auf S. 12 und Nr. 5 in Bd. 2.| Er ist hoch.",
    "it": "Vedi pag. 12 e fig. 3 nel cap. 4.| È alto.",
    "fr": "Voir la fig. 3 à la p. 12 du t. 2, chap. 4 et art. 5.| Il est haut.",
    "es": "Véase la pág. 12 y la fig. 3 del t. 2, cap. 4, núm. 5.| Es alto.",
    "pl": "Zob. rys. 3 na s. 12, tab. 2 i art. 5 w rozdz. 4.| Jest wysoka.",
    "ru": "См. рис. 3 на стр. 12, табл. 2 и гл. 4.| Он высок.",
}


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
    cases = [*(("en", case) for case in CASES), *ELSEWHERE.items()]
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
