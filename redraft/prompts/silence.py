"""Recognizes phrases by which a model says that a text holds no answer, in nine languages. Such a phrase consists only
of words for the text, for saying, for "not" and their connectives; one word more makes it an answer: "He did not
mention the letter". Whatever they miss is left to the checks of `redraft.agents.examiner`."""

from __future__ import annotations

import re
import unicodedata

from redraft.lazy import pattern
from redraft.prompts.summarization import NOTHING

_LONGEST = 400
_MARKS = " \t\r\n.,:;!?\"'`*_#()[]{}<>«»„“”‘’‚‹›…-–—。．，、！？：；「」『』（）【】·"
_SIGN = pattern(r"\W*unanswerable\b|.*\bUNANSWERABLE\b")
# Words that are no answer by themselves.
_ALONE = pattern(
    r"(?:none|null|nil|n ?/ ?a|tbd|unknown|unclear|unsure|unspecified|unstated|undetermined|undisclosed|unanswered"
    r"|unavailable|uncertain|k\. ?a|keine angaben?|un(?:bekannt|klar)|inconnue?|indéterminée?|desconocid[oa]"
    r"|desconhecid[oa]|sconosciut[oa]|неизвестно|неясно|未知|不详|不明|不詳|不明です|なし|記載なし)"
)
# Words for the text; a document, a letter or an article may be part of the story.
_TEXT = (
    r"texts?|summar(?:y|ies)|passages?|excerpts?|context|textes|zusammenfassung(?:en)?|textpassagen?|passagen|auszug\w*"
    r"|abschnitte?s?|texte|résumés?|extraits?|texto|resumen|resumo|pasajes?|fragmentos?|trechos?|extracto|testo"
    r"|riassunto|brano|estratto|текст\w*|отрыв\w*|резюме|изложени\w+|фрагмент\w*"
)
_NOT = (
    r"not|no|never|nothing|nowhere|cannot|can't|\w+n't|without|insufficient|unable|impossible|silent|missing|absent"
    r"|lacking|unclear|unknown|nicht|nichts|keine?[rn]?|nie|unklar|schweigt|fehlen|ne|n'\w+|pas|aucune?|rien|jamais"
    r"|impossible|non|muet|nessuna?|nulla|mai|manca|tace|sin|nada|nunca|ningun[ao]|silencio|não|nenhuma?|sem|не|нет"
    r"|нельзя|ничего|невозможно|недостаточно|отсутствует|умалчивает"
)
_SAYS = (
    r"(?:mention|stat|specif|provid|giv|say|said|answer|determin|dét|informaç|informations?|informationen|find|found|know|contain|indicat|tell|told|includ"
    r"|address|speak|refer|disclos|reveal|clear|explain|nam|data|detail|possible|infer|available|relevant|help"
    r"|contribut|relat|erwähn|genannt|nennt|sag|angab|angegeben|antwort|beantwort|hervor|steht|enthält|enthalten"
    r"|bekannt|trägt|verrät|hilft|hinweis|erfahr|erfährt|précis|dit|répon|indiqu|fourni|parl|trait|figur|sait|sav"
    r"|apport|aid|menzion|dice|detto|fornisc|specific|rispo|trov|sapp|mencion|especific|informaz|informac|respuesta|dato|hay|sab"
    r"|resposta|diz|dito|consta|encontr|fala|ayuda|ajuda|упомина|указан|говор|сказан|сообща|ответ|информаци|найти|сведени"
    r"|назван|называ|знаем|определить|помогает|найден|ясно)\w*"
)
_JOINS = (
    r"the|this|that|it|its|a|an|any|is|are|be|been|to|in|by|from|of|on|for|with|as|at|and|there|there's|here|do|does"
    r"|has|have|can|who|whom|what|when|where|why|how|which|about|regarding|based|according|given|provided|above|question|name|date|reason"
    r"|number|place|time|we|i|i'm|am|sorry|enough|such|only|alone|itself|me|us|so|however|but|der|die|das|dem|den|des"
    r"|im|in|aus|zu|zur|zum|dazu|darüber|davon|es|ist|wird|werden|kann|sich|ein|eine[sr]?|wer|wen|wann|wir|ich|gibt|geht|aus|genügend|man|genug"
    r"|anhand|frage|bei|uns|le|la|les|l'\w+|un|une|il|elle|on|ce|cela|c'est|est|y|a|dans|à|au|de|du|d'\w+|ce|sujet"
    r"|qui|que|quoi|je|nous|s'\w+|assez|nom|pour|sur|point|en|parle|el|lo|los|se|es|está|esto|eso|al|respecto|quién|"
    r"suficiente|disponible|pregunta|il|è|c'è|nel|del|questo|ci|sono|si|viene|al|lo|ne|su|abbastanza|disponibile|o|os|as|ao|no|na"
    r"|do|da|isso|isto|sobre|disponível|é|há|foi|à|um|uma|em|quem|disso|в|из|об|о|этом|этого|это|на|вопрос|этот|имя|причина|мы|для|я"
)
_SAID_OF_TEXT = pattern(
    rf"(?:(?:{_JOINS}) ){{0,3}}?(?:{_TEXT})\b(?: \S+)?? (?:\S+ )??"
    rf"(?:(?:{_NOT}) (?:\S+ )??(?:{_SAYS})|(?:{_SAYS}) (?:{_NOT}))\b.{{0,160}}"
    rf"|(?:there is |there's )?nothing in (?:the|this) (?:{_TEXT})\b.{{0,80}}"
    rf"|(?:(?:{_JOINS}) ){{0,4}}?(?:{_NOT}) (?:\S+ )??(?:{_SAYS}|{_JOINS})\b.{{0,80}} (?:{_TEXT})"
)
_CLOSED = pattern(rf"(?:{_TEXT}|documents?|dokument\w*|documento|документ\w*|{_NOT}|{_SAYS}|{_JOINS})")
_NEGATED, _SAYING = pattern(rf"(?:^|.* )(?:{_NOT})(?: .*|$)"), pattern(rf"(?:^|.* )(?:{_TEXT}|{_SAYS})(?: .*|$)")
# Chinese and Japanese, which have no spaces between words.
# Atomic alternatives, the longest first, so that a long reply cannot backtrack without end.
_UNSPACED = pattern(
    r"(?=.*(?:未|没|無|无|不|ない|ません|なし))(?=.*(?:提|说|文|摘要|要約|答|信息|情報|知|确定|判断|記載|書|述|言及|わか|触|読))"
    r"(?>未|没有?|無|无法?|不[能足了在变]?|ない|ません|なし|提[到及]|说明?|明|是?谁|[原本]?文[中章]?|摘要|要約|回?答[案え]?"
    r"|相关|足够|的|信息|情報|从文中|从|根据|得知?|知道|我们?|确定|给出|交代|这一?点|对此|只字|判断|記載|書[かい]|述べ?ら?|言及"
    r"|わか?り?|触れ?|読み取|れ|て|い|さ|は|が|には|に|から|この?|その?|それ|何も|あり|です|で|き|す|た|中|を|含ま|十分|点"
    r"|誰か?|な|し|見つか?り?|該当する|保持|[，、。 ])+"
)
_REMAINS = pattern(
    r"(?:the|die|le|el|il|o) \w+ (?:stays|remains|bleibt|reste|queda|resta|rimane|fica)\b.{0,40}"
    r"|(?:要約は|摘要)(?:そのまま|保持不变).*"
)
_HEAD = pattern(r"(?:(?:sorry|unfortunately|apparently|leider|answer|antwort|the (?:word|answer) is)\b[\s,:*]*)+")
_GOES_ON = pattern(
    r"(?<=\S)(?:[.;!?。；！？]+(?=\s|$|[^\W\d_])|\s*[(（]|\s+[-–—]+\s+|\s*\n|,\s*(?=but|so|aber|mais)|，)"
)
_NOTHING = pattern(rf"(?:{NOTHING.casefold()}|nichts|rien|nada|nulla|niente|ничего|无|無|没有|なし|何もありません)")
_NOTHING_AHEAD = pattern(rf"[\s*_`\"'“(\[]*{NOTHING}\b[\s*_`\"'”)\]]*(?:$|[-–—:.;,(\n]+\s*)")


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text[:_LONGEST]).casefold().replace("’", "'")
    return " ".join(folded.split()).strip(_MARKS)


def is_answer(text: str) -> bool:
    """Return whether a text is an answer, and does not say that there is none."""
    words = _plain(text)
    if not words or _SIGN.match(text) or _SIGN.match(words):
        return False
    if led := _HEAD.match(words):
        words = words[led.end() :].strip(_MARKS) or words
    return not any(map(_says_nothing, {words, _GOES_ON.split(words, maxsplit=1)[0].strip(_MARKS)}))


def _says_nothing(words: str) -> bool:
    spaced = re.sub(r"[^\w'/]+", " ", words).strip()
    if _ALONE.fullmatch(words) or _SAID_OF_TEXT.fullmatch(spaced) or _UNSPACED.fullmatch(words):
        return True
    return bool(
        _NEGATED.fullmatch(spaced) and _SAYING.fullmatch(spaced) and all(map(_CLOSED.fullmatch, spaced.split()))
    )


def is_sign(sentence: str) -> bool:
    """Return whether a sentence says that a part has nothing to say to a question."""
    words = _plain(sentence)
    words = words[led.end() :].strip(_MARKS) if (led := _HEAD.match(words)) else words
    return bool(_NOTHING.fullmatch(words) or _REMAINS.fullmatch(words))


def after_sign(text: str) -> str:
    """Return what follows the sign in capitals at the beginning of a reply; else all of it."""
    return text[match.end() :] if (match := _NOTHING_AHEAD.match(text)) else text
