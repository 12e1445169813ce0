"""What a model writes before it answers, or in place of an answer: its thoughts, and the words by which it declines."""

from __future__ import annotations

import re

from redraft.patterns import pattern

_NAMES = "think(?:ing)?|thoughts?|reason(?:ing)?|reflection|analysis|scratchpad|seed:think"
# The signs that models of various families put around their thoughts.
_OPENINGS = (
    rf"<(?:{_NAMES})>",
    r"\[think(?:ing)?\]",
    r"<\|begin_of_thought\|>",
    r"<\|START_THINKING\|>",
    r"◁think▷",
    r"<unused94>",
)
_CLOSINGS = (
    rf"</(?:{_NAMES})>",
    r"\[/think(?:ing)?\]",
    r"<\|end_of_thought\|>",
    r"<\|END_THINKING\|>",
    r"◁/think▷",
    r"<unused95>",
)
OPENING = pattern("|".join(_OPENINGS), re.IGNORECASE)
"""Where thoughts begin."""
CLOSING = pattern("|".join(_CLOSINGS), re.IGNORECASE)
"""Where they end."""
_LINE_OPENING = pattern(rf"^[ \t]*(?:{'|'.join(_OPENINGS)})", re.IGNORECASE | re.MULTILINE)

# gpt-oss speaks in channels, of which one is for the reader; a server may have taken the signs away and left the names.
_CHANNEL = pattern(r"<\|channel\|>([^<]{0,200})(?:<\|constrain\|>[^<]{0,50})?<\|message\|>")
_END_OF_CHANNEL = pattern(r"<\|(?:end|return|call|start|channel)\|>")
_BARE_CHANNELS = pattern(r"analysis(?=[A-Z\s\"'{\[]).*assistant\s*final", re.DOTALL)

_SHORT = 60
"""The most words of a reply that declines and says nothing else."""
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
# What begins a request, what is asked for, and the word by which it is asked for: "Please send me the text".
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


def final_channel(text: str) -> str:
    """What is said in the channel that is for the reader, where a text has channels; nothing where it has none such."""
    sections = list(_CHANNEL.finditer(text))
    if not sections:
        bare = _BARE_CHANNELS.match(text.lstrip())
        return text.lstrip()[bare.end() :] if bare else text
    answers = [one for one in sections if one[1].strip().startswith("final") or "to=functions" in one[1]]
    if not answers:
        return ""
    end = _END_OF_CHANNEL.search(text, answers[-1].end())
    return text[answers[-1].end() : end.start() if end else len(text)]


def without_thoughts(text: str) -> str:
    """The prose of a reply, without the thinking around it. Thinking without an end leaves no reply."""
    text = final_channel(text).strip()
    while OPENING.match(text):
        closing = CLOSING.search(text)
        if closing is None:
            return ""
        text = text[closing.end() :].strip()
    # Some servers keep the opening sign to themselves.
    alone = None if text.startswith(("{", "[")) or OPENING.search(text) else CLOSING.search(text)
    if alone:
        return text[alone.end() :].strip()
    # In the midst of a line a sign is a word of the text.
    while opening := _LINE_OPENING.search(text):
        closing = CLOSING.search(text, opening.end())
        if closing is None:
            return ""
        text = text[: opening.start()] + text[closing.end() :]
    return text.strip()


def declines(text: str) -> bool:
    """Whether a text is nothing but the words by which a model says that it will not write it, or asks for material."""
    return len(text.split()) <= _SHORT and bool(_REFUSAL.match(text))
