"""How well a text shows its language, at which length, and how long that takes.

    python -m benchmarks.detection [--mans /usr/share/man]

The texts are the manual pages of this machine in other languages, as far as their lines have no options and no English
in them, and the sample book. `wrong` is another language than the page's, which is worse than none; languages that are
written alike count as one another (Bosnian, Croatian and Serbian; Indonesian and Malay). `english` are sentences of the
corpora under REDRAFT_DATA, of which none should be taken for another language.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.common import DATA, options_of, prose, seconds, table
from benchmarks.languages import LANGUAGES, chapter
from redraft.text.languages import declared_language, language_of

LENGTHS = (20, 40, 80, 160, 400, 2_000)
EACH = 40
_UNSPACED = ("ja", "zh", "ko")
_MARKUP = re.compile(r"\\f.|\\[-&|]|\\\(..|\\\[.*?\]|\\")
_TECHNICAL = re.compile(r"[/=<>{}\[\]|_-]|\b(?:the|The|of|this|is|will)\b")  # the latter are licences in English
_ALIKE = ({"hr", "bs", "sr"}, {"id", "ms"})
_CODES = {"English": "en", "German": "de", "Russian": "ru", "Japanese": "ja"}


def manuals(root: Path) -> dict[str, str]:
    """By language the running text of its manual pages, where there is enough."""
    found: dict[str, str] = {}
    for folder in sorted(root.iterdir()):
        code = re.split(r"[_.@]", folder.name)[0]
        if folder.is_dir() and not folder.name.startswith("man"):
            found[code] = found.get(code, "") + " ".join(_lines(folder, code))
    return {code: text for code, text in found.items() if len(text) > 2 * max(LENGTHS)}


def _lines(folder: Path, code: str) -> Iterator[str]:
    for page in sorted(folder.rglob("*.gz")):
        for raw in gzip.decompress(page.read_bytes()).decode("utf-8", "replace").split("\n"):
            line = _MARKUP.sub("", raw)
            letters = sum(map(str.isalpha, line))
            latin = sum(one.isascii() and one.isalpha() for one in line)
            foreign = code in (*_UNSPACED, "ru", "uk", "sr") and latin > 0.1 * len(line)
            short = len(line) < (15 if code in _UNSPACED else 30)
            if raw[:1] not in ".'" and letters > 0.7 * len(line) and not (short or foreign or _TECHNICAL.search(line)):
                yield line


def samples(texts: dict[str, str], length: int) -> Iterator[tuple[str, str]]:
    """Stretches of each text that begin with a word; half as long where letters are words."""
    drawn = random.Random(length)
    for code, text in texts.items():
        size = length // 2 if code in _UNSPACED else length
        for _ in range(EACH):
            at = text.find(" ", drawn.randrange(len(text) - size - 50)) + 1
            yield code, text[at : at + size]


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--mans", type=Path, default=Path("/usr/share/man"))
    mans = parser.parse_args().mans
    texts = manuals(mans) | {_CODES[name]: chapter(asked) * 3 for name, asked in LANGUAGES.items()}
    texts["en"] = prose(200_000)
    print(f"{len(texts)} languages: {' '.join(sorted(texts))}")
    rows: list[tuple[object, ...]] = [("characters", "right", "none", "wrong")]
    for length in LENGTHS:
        drawn = list(samples(texts, length))
        counts = Counter(_verdict(language_of(text), code) for code, text in drawn)
        rows.append((length, *(counts[verdict] / len(drawn) for verdict in ("right", "none", "wrong"))))
    table(rows)
    _false_alarms()
    for size in (1, 100):
        text = prose(200_000) * (5 * size)
        print(f"{len(text) / 1e6:.0f} MB of text: {seconds(lambda: declared_language('', text)):.4f} s")  # noqa: B023


def _verdict(told: str, code: str) -> str:
    if not told or told == "und":
        return "none"
    return "right" if told == code or any({told, code} <= group for group in _ALIKE) else "wrong"


def _false_alarms() -> None:
    texts = list(_english())
    lines = [line for text in texts for line in re.split(r"(?<=[.!?])\s+", text) if len(line) > 15]
    alarms = Counter(told for line in lines if (told := language_of(line)) not in ("", "en"))
    whole = [told for text in texts if (told := language_of(text)) not in ("", "en")]
    print(f"\nenglish: {len(lines):,} sentences, taken for another language: {sum(alarms.values())} {dict(alarms)}")
    print(f"         {len(texts):,} texts, taken for another language: {len(whole)}")


def _english() -> Iterator[str]:
    """The texts of all corpora that are there."""
    waiting: list[Any] = [
        json.loads(line) for path in sorted(DATA.rglob("*.jsonl")) for line in path.read_text("utf-8").splitlines()
    ]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str) and len(one) > 20:
            yield one
        waiting += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()


if __name__ == "__main__":
    main()
