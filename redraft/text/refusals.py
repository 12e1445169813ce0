"""Distinguishes a summary from a refusal, a request for material, and a text about something else."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache

from redraft.lazy import pattern
from redraft.text.languages import language_of
from redraft.text.quotes import shares_names
from redraft.text.vectors import telling_terms
from redraft.text.words import count_words, is_unspaced

_SHORT = 60
"""The most words of a reply that only declines."""
_AFRAID = (
    r"(?:(?:(?:i['’]?m|i am|we['’]?re|we are)\s+)?(?:(?:very|really|so|truly)\s+)?(?:sorry|afraid)|(?:my\s+)?apologies"
    r"|(?:i|we) (?:must |do )?apologi[sz]e)"
)
_CANNOT = (
    r"(?:can(?:['’]?t|not| not)|could(?:n['’]t| not)|won['’]?t|will not|(?:am|['’]?m) (?:not able|unable)"
    r"|(?:must |have to |need to )?decline|do(?: not|n['’]t) feel comfortable)"
)
_DEED = (
    r"(?:(?:help|assist)(?: you)? with (?:that|this|your|the|it)|comply with"
    r"|(?:do|fulfill?|answer|continue with) (?:that|this)|(?:fulfill?|decline) (?:the|your) request"
    r"|(?:summari[sz]e|process|engage with|work with) (?:this|that|the|such|it)"
    r"|(?:provide|create|produce|generate|write|share|give(?: you)?) (?:a |an |the |any |this |that |such )?"
    r"(?:summary|summaries|content|text|material|information|response)|to (?:this|that|your) request)"
)
_DECLINING = (
    rf"{_AFRAID}[\s,.!;:—–-]*(?:but\s+|that\s+)?(?:as an ai\b[^.]{{0,30}}?)?\b(?:i|we)\s*{_CANNOT}\b",
    r"(?:unfortunately,?\s+|as an ai(?: (?:language )?model| assistant)?,?\s+)?"
    rf"(?:i|we)\s*{_CANNOT}\b.{{0,30}}\b{_DEED}\b",
    r"(?:i|we) (?:must|have to|need to) (?:respectfully |politely )?decline\b",
    r"(?:es tut mir leid|tut mir leid|leider)\b.{0,40}\b(?:kann|darf|können|möchte)\b.{0,80}\b(?:nicht|keine?n?)\b",
    r"(?:je suis (?:vraiment )?désolée?|désolée?|je regrette)\b.{0,20}\bje ne (?:peux|puis)\b.{0,10}\bpas\b",
    r"(?:lo siento|lo lamento|perdón)\b.{0,20}\bno puedo\b",
    r"(?:mi dispiace|sono spiacente|spiacente)\b.{0,20}\bnon posso\b",
    r"(?:desculpe|sinto muito|lamento)\b.{0,20}\bnão posso\b",
    r"(?:извините|простите|к сожалению|прошу прощения)\b.{0,20}\bне (?:могу|можем)\b",
    r"(?:很?抱歉|对不起|對不起)[，,。 ]*(?:但)?我(?:无法|不能|無法)",
    r"(?:申し訳(?:ありません|ございません)|すみません|ごめんなさい).{0,40}(?:できません|できかねます|お手伝いできない)",
)
# The parts of a request for material, such as "Please send me the text".
_REQUESTS = (
    (
        r"please|kindly|(?:could|can|would|will) you|(?:i|we)(?:['’]d| would) be (?:happy|glad)|it (?:looks|seems"
        r"|appears)|(?:i|we) (?:do(?:n['’]t| not)|can(?:['’]t|not)) (?:see|find)|there (?:is|seems to be) no|no (?:text"
        r"|document|excerpt|summary)|unfortunately|sure|of course|certainly|hello|hi|thank(?:s| you)",
        r"(?:text|document|excerpt|passage|summary|article|content|material|file)s?",
        r"(?:please|kindly|you)\s+(?:please\s+)?(?:provide|send|share|paste|upload|give|supply|include|attach)",
    ),
    (
        r"bitte|(?:(?:könnten|können) sie|(?:könntest|kannst) du)\b(?=[^.!]*\?)|(?:gerne?|natürlich)(?=[,.!])",
        r"(?:text|dokument|auszug|zusammenfassung|artikel)(?:s|es|e)?",
        r"(?:senden?|schicken?|sende|schick|teilen?|geben?|gib|übermitteln?|einfügen|fügen|hochladen|laden|stellen"
        r"|bereitstellen)",
    ),
    (
        r"veuillez|(?:pourriez|pouvez)[- ]vous|(?:pourrais|peux)-tu|merci de|s['’]il (?:vous|te) plaît"
        r"|bien sûr(?= ?[,.!])",
        r"(?:textes?|documents?|extraits?|résumés?|articles?)",
        r"(?:(?:me )?fournir|envoyer|partager|coller|transmettre|joindre|communiquer|envoyez|envoie|fournissez)",
    ),
    (
        r"por favor|(?:podrías?|podría|puedes?)\b(?=[^.!]*\?)|claro(?=[,.!])",
        r"(?:textos?|documentos?|fragmentos?|res[uú]men(?:es)?|artículos?)",
        r"(?:proporci[oó]n|env[ií]|compart|pega|peg[au]|facilit|adjunt)\w*",
    ),
    (
        r"per favore|(?:potresti|potrebbe|puoi|può)\b(?=[^.!]*\?)|si prega|certo(?=[,.!])",
        r"(?:testo|testi|document[oi]|estratt[oi]|riassunt[oi]|bran[oi]|articol[oi])",
        r"(?:forni|invi|condivid|incoll|mand|alleg)\w*",
    ),
    (
        r"por favor|(?:você )?(?:poderia|pode)\b(?=[^.!]*\?)|claro(?=[,.!])",
        r"(?:textos?|documentos?|trechos?|resumos?|artigos?)",
        r"(?:forne[cç]|envi|compartilh|partilh|cole|mand|anex)\w*",
    ),
    (
        r"пожалуйста|(?:не )?(?:могли|можете|могли бы)(?: бы)? вы|вы (?:не )?могли бы|конечно(?=[,.!])",
        r"(?:текст|документ|отрыв|резюме|пересказ|статью|стать[ия])\w*",
        r"(?:при(?:шлите|слать|шли)|предостав|отправ|встав|подел|загруз)\w*",
    ),
)
_ASKING = (
    *(
        rf"(?=(?:{start})(?!\w))(?=.{{0,160}}\b{thing}\b)(?=.{{0,250}}?\b{giving}\b)"
        for start, thing, giving in _REQUESTS
    ),
    r"(?:好的[，,。！ ]*)?(?:请|請|麻烦)(?:您|你)?(?:先)?(?:提供|发送|發送|给出|分享|粘贴|上传).{0,20}"
    r"(?:文本|文档|文件|内容|原文|文章|摘要)",
    r".{0,30}(?:テキスト|文書|文章|本文|資料|要約|原稿)を(?:ご)?(?:提供|送|お送り|共有|貼り付け|入力|教え).{0,12}"
    r"(?:ください|下さい|いただけ|もらえ)",
)
_REFUSAL = pattern(rf"[\s\"'“‘*_¿]*(?:{'|'.join((*_DECLINING, *_ASKING))})", re.IGNORECASE | re.DOTALL)


def declines(text: str) -> bool:
    """Return whether a text only declines to write, or asks for material."""
    return len(text.split()) <= _SHORT and bool(_REFUSAL.match(text))


# The least share of telling words in common with the source, by whether the text is far shorter than requested, and
# whether it refers to itself.
_MIN_SHARED = {(False, False): 0.2, (False, True): 0.4, (True, False): 0.4, (True, True): 0.75}
# A text is far shorter than requested below this share of the requested words, and below this many words.
_FAR_SHORTER, _LONGEST_REFUSAL = 1 / 3, 60
# The fewest telling words for a decision, if the text is far too short, or all of them are in its source.
_MIN_TELLING = 3
# Up to this many words in another script are seldom an unrequested translation.
_FEW = 20
_LETTERS_A_WORD = 2.5
_LETTERS = 1_000
# With this many long words, and this share of them in the source, nothing else is checked.
_LONG, _MANY, _PLAINLY = 6, 8, 0.6
_LONG_WORD = pattern(rf"[^\W\d_]{{{_LONG},}}")
_FIRST_PERSON = pattern(
    r"\b(?:i|i['’](?:m|d|ll|ve)|we|my|our|ich|mir|wir|je|j['’]\w+|nous|yo|nosotros|io|eu|ik|wij|jeg|jag|saya|tôi|"
    r"я|мне|мы|мені|ми|εγώ|אני|איני|मैं|मुझे)\b|我|私|저는"
)
_EAST_ASIAN = frozenset(("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"))


def is_no_summary(text: str, source: str, words: int, language: str | None = None) -> bool:
    """Return whether a text is not a summary of its source, for which up to this many words were requested, in
    `language` or the source's own."""
    if count_words(text) >= _MIN_TELLING and text in source:
        return False
    unlike = is_unspaced(text) and not is_unspaced(source) and not language
    length = count_words(text) / (_LETTERS_A_WORD if unlike else 1)
    is_brief = length < min(_FAR_SHORTER * words, _LONGEST_REFUSAL)
    speaks_as_i = bool(_FIRST_PERSON.search(text.casefold()))
    long_words = _long_words(text)
    if (
        not is_brief
        and len(long_words) >= _MANY
        and len(long_words & _long_words(source)) / len(long_words) >= _PLAINLY
    ):
        return False
    text_language, source_language = language_of(text), language_of(source)
    terms = telling_terms(text, text_language)
    share = len(terms & telling_terms(source, source_language)) / len(terms) if terms else 0.0
    if is_brief and len(terms) < _MIN_TELLING:
        return speaks_as_i or share < 1
    if share >= _MIN_SHARED[is_brief, speaks_as_i]:
        return False
    has_its_script = not language and _script(text) == _script(source)
    if has_its_script and not (text_language and source_language and text_language != source_language):
        return is_brief or speaks_as_i or not shares_names(source, text)
    # It may be a translation, requested or not.
    if shares_names(source, text):
        return is_brief and (speaks_as_i or not language)
    is_short_speech = speaks_as_i and length <= _LONGEST_REFUSAL
    return is_brief or is_short_speech or has_its_script or (not language and length <= _FEW)


@lru_cache(maxsize=64)
def _long_words(text: str) -> frozenset[str]:
    return frozenset(word[:_LONG] for word in _LONG_WORD.findall(text.casefold()))


@lru_cache(maxsize=64)
def _script(text: str) -> str:
    """Return the script of most letters of a text's beginning."""
    letters = filter(str.isalpha, text[:_LETTERS])
    names = Counter(unicodedata.name(letter, "").partition(" ")[0] for letter in letters)
    name = max(names, key=names.__getitem__, default="")
    return "CJK" if name in _EAST_ASIAN else name
