"""How far the estimate is from the true count, without its margin, in stretches of 3,000 characters.

    python -m benchmarks.tokens [--vocabulary o200k_base]

English is the stories of the datasets, code the standard library of Python, the rest short samples below. A median
under 1 is an undercount; the margin that is added in use must cover it. Needs the vocabulary: set TIKTOKEN_CACHE_DIR to
a folder that holds it, or be online.
"""

from __future__ import annotations

import argparse
import json
import sysconfig
from pathlib import Path

import numpy as np

from benchmarks.common import ROOT, SAMPLE, prose, use_vocabulary
from redraft.text.tokens import ESTIMATE, MARGIN, EstimatingTokenizer, tokenizer_named

STRETCH = 3_000

GERMAN = """Die alte Wärterin stieg jeden Abend die steile Wendeltreppe hinauf, um das Feuer zu entzünden. Niemand im
Dorf konnte sich erinnern, wie lange sie schon dort oben wohnte. Manche behaupteten, sie sei mit dem letzten Postschiff
gekommen, andere schworen, sie habe den Turm niemals verlassen. Als der Herbststurm die Küste erreichte, zerschlug eine
Welle das Fenster der Kammer, und das Licht erlosch zum ersten Mal seit dreißig Jahren. Am nächsten Morgen fanden die
Fischer ihre Boote zertrümmert am Strand, doch die Wärterin saß ruhig am Tisch und schrieb in ihr Tagebuch. „Ich werde
den Verlust bezahlen“, sagte sie, obwohl ihre Ersparnisse kaum für den Winter reichten. """
RUSSIAN = """Старый смотритель маяка каждый вечер поднимался по крутой лестнице, чтобы зажечь огонь. Никто в деревне не
помнил, как давно он там живёт. Одни говорили, что он приехал с последним почтовым судном, другие клялись, что он
никогда не покидал башню. Когда осенняя буря достигла берега, волна разбила окно комнаты, и свет погас впервые за
тридцать лет. На следующее утро рыбаки нашли свои лодки разбитыми на песке, а смотритель спокойно сидел за столом и
писал в дневнике. — Я всё возмещу, — сказал он, хотя его сбережений едва хватало на зиму. """
JAPANESE = (
    "灯台守の老人は毎晩、急な螺旋階段を上って灯をともした。村の誰も、彼がいつからそこに住んでいるのか覚えていなかった。最後の"
    "郵便船で来たのだと言う者もいれば、一度も塔を離れたことがないと言う者もいた。秋の嵐が海岸に達したとき、波が部屋の窓を打ち"
    "破り、三十年ぶりに灯が消えた。「損害は私が払います」と老人は村長に言ったが、蓄えは冬を越すのがやっとだった。"
)
CHINESE = (
    "看守灯塔的老人每天傍晚都要爬上陡峭的旋梯去点灯。村里没有人记得他在那里住了多久。有人说他是坐最后一班邮船来的，也有人发誓"
    "说他从未离开过那座塔。秋天的风暴到达海岸时，海浪打碎了房间的窗户，三十年来灯第一次熄灭了。“损失由我来赔偿，”他对村长说，"
    "尽管他的积蓄几乎不够过冬。"
)


def samples() -> dict[str, str]:
    """A text of each kind; what is not on this machine is left out."""
    found = {"English": prose(), "the sample story": SAMPLE.read_text("utf-8")}
    markdown = [path.read_text("utf-8") for path in sorted(ROOT.rglob("*.md")) if not set(path.parts) & {".venv"}]
    found["Markdown"] = "\n".join(text for text in markdown if len(text) < 60_000)
    library = Path(sysconfig.get_path("stdlib"))
    found["code"] = "\n".join(path.read_text("utf-8") for path in sorted(library.glob("[a-e]*.py")))
    rows = [{"id": at, "open": at % 2 == 0, "ratio": at / 7, "tags": ["a", "b"]} for at in range(400)]
    found["JSON"] = json.dumps(rows, indent=2)
    sentences = {"German": GERMAN, "Russian": RUSSIAN, "Japanese": JAPANESE, "Chinese": CHINESE}
    return found | {name: text * 60 for name, text in sentences.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocabulary", default="o200k_base")
    use_vocabulary()
    true, bare = tokenizer_named(parser.parse_args().vocabulary), EstimatingTokenizer(margin=1)
    if true.name == ESTIMATE:
        raise SystemExit("the vocabulary is not available: set TIKTOKEN_CACHE_DIR to a folder that holds it")
    print(f"estimate / {true.name}, before the margin of {MARGIN - 1:.0%}")
    print(f"{'':18}{'stretches':>10}{'p5':>7}{'median':>8}{'p95':>7}")
    for name, text in samples().items():
        parts = [text[at : at + STRETCH] for at in range(0, len(text), STRETCH)]
        ratios = [bare.count(part) / true.count(part) for part in parts if len(part) > STRETCH // 3]
        low, middle, high = np.percentile(ratios, [5, 50, 95])
        print(f"{name:18}{len(ratios):10}{low:7.2f}{middle:8.2f}{high:7.2f}")


if __name__ == "__main__":
    main()
