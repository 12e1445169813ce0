"""The words in which a reply says that a part has nothing to say to a question, in nine languages."""

from __future__ import annotations

import unicodedata

from redraft.patterns import pattern
from redraft.prompts.drafting import NOTHING

_MARKS = " \t\r\n.!:;,*_`#\"'“”„«»‹›()[]-–—。！：，、「」『』（）"
_PART = (
    r"(?:(?:this|the|that|these|given|provided|above|present)\s)*(?:excerpts?|parts?|texts?|documents?|passages?"
    r"|sections?"
    r"|segments?|chunks?)"
)
_ABOUT = r"(?:\s(?:the|this|that|your|given)?\s?(?:question|query|answer|answering\b.*))?"
_FORMS = pattern(
    "|".join(
        f"(?:{one})"
        for one in (
            # The word alone, whatever the language, and what a reply calls itself before it.
            r"(?:(?:(?:the|my|one|single)\s)*(?:word|answer|reply|response|summary)(?:\sis)?\s?[:：]?\s?[\"'*“„«]*)?"
            rf"(?:{NOTHING.casefold()}|nichts|rien|nada|nulla|niente|ничего|ничто|无|無|没有|什么都没有|没有内容|无内容"
            r"|何もない|何もありません|ありません|特に(?:なし|ない|ありません|何もありません)|なし)",
            rf"{_PART}\s(?:does|do|did)\s?(?:not|n't)\s(?:\w+ly\s)?(?:help|contribute|add|relate|answer|address"
            rf"|bear|pertain"
            rf"|speak)(?:\s(?:anything|at all))?(?:\s(?:new|relevant|useful))?(?:\s(?:to|in|on|with"
            rf"|us)(?:\s(?:answer(?:ing)?"
            rf"|address(?:ing)?))?)?{_ABOUT}",
            rf"(?:there is |there's )?nothing\s(?:(?:new|relevant|useful"
            rf"|here)\s)*(?:in\s{_PART}\s)?(?:(?:that\s)?(?:helps?"
            rf"|answers?|contributes?|adds?|is relevant|bears?)\b.{{0,60}}|relevant|to (?:add|say|report|summarize"
            rf"|contribute)"
            rf"(?:\s.{{0,60}})?)(?:\s?in\s{_PART})?",
            rf"{_PART}\s(?:is|are)\s(?:not\s(?:relevant|related|helpful|useful)|irrelevant"
            rf"|unrelated)(?:\sto\s.{{1,80}})?",
            rf"{_PART}\s(?:contains?|holds?|has|have|adds?|offers?|contributes?)\snothing\b.{{0,80}}",
            r"(?:the|my|our|this)\s(?:\w+\s)?summary\s(?:stays|remains|is|stands|can stay"
            r"|should stay)\s(?:\w+\s)?(?:as it (?:is"
            r"|was|stands)|unchanged|the same)(?:\s.{0,40})?",
            r"no (?:changes?|updates?|additions?)(?:\s(?:is|are|were|needed|necessary|required|to the summary))*",
            r"(?:der|dieser|dieses|das)\s(?:auszug|text|abschnitt|ausschnitt|teil)\s(?:hilft"
            r"|trägt)\s(?:\S+\s){0,3}?(?:nicht"
            r"|nichts)\b.{0,80}|(?:der|dieser)\s(?:auszug|text|abschnitt|ausschnitt|teil)\s(?:ist\snicht\srelevant"
            r"|enthält"
            r"\s(?:dazu\s)?nichts)\b.{0,60}|die zusammenfassung bleibt\b.{0,40}(?:unverändert|wie sie ist|gleich)",
            r"(?:cet|ce|l')\s?(?:extrait|texte|passage)\s(?:n'aide pas|n'apporte rien|ne contribue pas"
            r"|ne contient rien)\b.{0,80}"
            r"|le résumé reste (?:tel quel|inchangé|le même)",
            r"(?:el|este)\s(?:extracto|fragmento|texto|pasaje)\sno\s(?:ayuda|aporta|contribuye|contiene)\b.{0,80}"
            r"|el resumen (?:se queda|queda|permanece|sigue) (?:como está|igual|sin cambios)",
            r"(?:il|questo|l')\s?(?:estratto|brano|testo|passo)\snon\s(?:aiuta|contribuisce|aggiunge|contiene)\b.{0,80}"
            r"|il riassunto (?:resta|rimane) (?:com'è|invariato|uguale)",
            r"(?:o|este)\s(?:excerto|trecho|texto)\snão\s(?:ajuda|contribui|acrescenta|contém)\b.{0,80}"
            r"|o resumo (?:fica|permanece|continua) (?:como está|igual|inalterado)",
            r"(?:этот\s)?(?:отрывок|фрагмент|текст)\s(?:никак\s)?не\s(?:помогает|содержит|относится|добавляет)\b.{0,80}"
            r"|(?:краткое содержание|резюме|пересказ)\s(?:оста[её]тся|не меняется)\b.{0,40}",
            r"(?:该|这|此|本)?(?:段|节选|摘录|部分|文本|内容|片段)*(?:对|与)(?:回答)?(?:该|这个"
            r"|此)?问题(?:的回答)?(?:没有帮助|无帮助|无关"
            r"|没有关系)|摘要(?:保持)?(?:不变|原样)",
            r"(?:この|その)?(?:抜粋|部分|文章|本文)(?:は|には)(?:、)?.{0,20}(?:役に?立ちません|役立たない"
            r"|関係ありません|関係がない"
            r"|何もありません)|要約は(?:そのまま|変わりません|変更なし).{0,10}",
        )
    )
)  # fmt: skip
_SIGN = pattern(rf"[\s*_`\"'“(\[]*{NOTHING}\b[\s*_`\"'”)\]]*(?:$|[-–—:.;,(\n]+\s*)")


def is_sign(sentence: str) -> bool:
    """Whether all of a sentence says so."""
    words = " ".join(unicodedata.normalize("NFKC", sentence).casefold().replace("’", "'").split()).strip(_MARKS)
    return bool(_FORMS.fullmatch(words))


def after_sign(text: str) -> str:
    """What follows the sign in capitals that a reply begins with; all of it where it does not."""
    return text[found.end() :] if (found := _SIGN.match(text)) else text
