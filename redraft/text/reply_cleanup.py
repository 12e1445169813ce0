"""Removes framing remarks and loops from a model's text, and distinguishes a summary from a refusal."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from redraft.document import Span
from redraft.lazy import pattern
from redraft.text.sentences import ends_sentence, sentences
from redraft.text.units import words
from redraft.text.words import count_words

# By language: words of assent, of introduction, and names of a summary; English, German, French, Spanish, Italian,
# Portuguese, Russian, Chinese, Japanese.
_ASSENT = (
    r"sure(?: thing)?|certainly|of course|absolutely|okay|ok|understood|got it",
    r"gerne?|natürlich|selbstverständlich|klar|sicher",
    r"bien sûr|certainement|avec plaisir|volontiers|d['’]accord",
    r"claro(?: que sí)?|por supuesto|con gusto|de acuerdo",
    r"certo|certamente|volentieri|va bene|d['’]accordo",
    r"com certeza|com prazer",
    r"конечно|разумеется|хорошо|с удовольствием",
    r"好的|当然(?:可以)?|當然(?:可以)?|没问题|沒問題",
    r"はい|承知(?:いた)?しました|もちろん(?:です)?|わかりました|かしこまりました",
)
_HANDED_OVER = (
    r"here(?:['’]s| is| are)|below is|(?:the )?following is",
    r"hier (?:ist|kommt|folgt|finden sie)|(?:nachfolgend|im folgenden) (?:finden sie|die|eine)",
    r"voici|ci-dessous",
    r"aquí (?:está|tienes?|va)|a continuación",
    r"ecco|di seguito",
    r"aqui (?:está|vai|tem)|eis|segue(?:-se)?",
    r"вот|ниже(?: приведен[оа]?| представлен[оа]?)?",
    r"以下是|这是|這是|下面是",
    r"以下(?:は|が|に)|こちら(?:は|が)|次(?:は|が)",
)
_SUMMARY = (
    r"summary",
    r"zusammenfassung|kurzfassung",
    r"résumé|synthèse",
    r"resumen|síntesis",
    r"riassunto|sintesi|sommario",
    r"resumo|síntese",
    r"(?:краткое )?изложение|резюме|краткое содержание",
    r"摘要|总结|總結|概要|概述",
    r"要約|まとめ|サマリー",
)
_REWORKED = (
    r"(?:revised|rewritten|updated|edited|shortened|merged) (?:version|text)|answer",
    r"(?:überarbeitete|gekürzte|neue) (?:fassung|version)|antwort",
    r"version (?:révisée|raccourcie|corrigée)|réponse",
    r"versión (?:revisada|abreviada|corregida)|respuesta",
    r"versione (?:riveduta|rivista|abbreviata|corretta)|risposta",
    r"versão (?:revisada|revista|resumida|corrigida)|resposta",
    r"(?:исправленн|сокращённ|сокращенн|обновлённ|обновленн)\w+ (?:версия|вариант|текст)|ответ",
    r"(?:修订|修訂|修改)(?:后的?|後的?)?(?:版本?|文本)|回答",
    r"改訂版|修正版|回答",
)
# Phrases with which a small model repeats its request.
_MATERIAL = (
    r"text|excerpt|passage",
    r"text|auszug|abschnitt|textauszug",
    r"texte|extrait|passage",
    r"texto|extracto|fragmento|pasaje",
    r"testo|brano|estratto",
    r"texto|trecho|excerto",
    r"текст|отрывок|фрагмент",
    r"文本|正文|原文|段落",
    r"本文|テキスト|文章|抜粋",
)
_ARTICLE = r"(?:the |this |der |die |das |le |la |l['’]|el |il |lo |o )?"
_IS = r"(?:\s+(?:is|reads|lautet|ist|est|es|è|é))?"
_QUALIFIED = (
    r"(?:the |your |my |a )?(?:brief |short |concise |full |complete |revised |final |updated |merged |shortened "
    r"|edited "
    r"|new |überarbeitete |gekürzte |neue |kurze |краткое |обновлённое |обновленное |исправленное )?"
)
_CLOSING = (
    r"(?:please )?let me know\b|i hope (?:this|that) (?:helps|summary|meets|is)|(?:please )?feel free to"
    r"|would you like me to"
    r"|do you want me to|is there anything else|if you[’' ].{0,80}\b(?:let me know|just ask|feel free|i can)\b",
    r"lass(?:en sie)? (?:es )?mich\b.{0,20}\bwissen|(?:gib|geben sie) mir\b.{0,20}\bbescheid|ich hoffe,? (?:das"
    r"|dies|diese)\b"
    r".{0,40}\b(?:hilft|hilfreich|entspricht)|(?:möchten sie|möchtest du), dass ich|(?:falls|wenn) (?:sie|du)\b.{0,80}"
    r"\b(?:wissen|bescheid|zur verfügung|helfe)\b",
    r"n['’]hésite[zs]? pas|(?:dites|dis|faites)-(?:le-)?moi\b|j['’]espère que (?:cela|ce résumé|ça)|(?:souhaitez"
    r"|voulez)-vous"
    r" que je|si vous\b.{0,80}\b(?:n['’]hésitez|(?:dites|faites)-)",
    r"av[ií]s(?:a|e)me|h(?:az|[aá]ga)me(?:lo)? saber|espero que (?:esto|este resumen|te|le)\b|no dudes? en"
    r"|¿(?:te gustaría"
    r"|quieres?|desea|le gustaría) que|si (?:necesita|desea|quiere|tiene)s?\b.{0,80}\b(?:av[ií]s[ae]me|dime|dígame"
    r"|no dude)",
    r"(?:fammi|fatemi|mi faccia) sapere|spero che (?:questo|ti|le|sia utile)|non esit(?:are|i) a|(?:vuoi"
    r"|desidera) che|se (?:hai"
    r"|ha|desider[ia]|vuo[il])\b.{0,80}\b(?:sapere|non esit)",
    r"(?:me avise|avise-me|deixe-me saber|diga-me)\b|espero que (?:isso|isto|este resumo|ajude)|não hesite em"
    r"|fique à vontade"
    r"|(?:gostaria|quer|deseja) que eu|se (?:precisar|quiser|desejar|tiver)\b.{0,80}\b(?:avis|diga|hesite|vontade)",
    r"дай(?:те)? (?:мне )?знать|сообщите мне|надеюсь,? (?:это|что это)|хотите,? чтобы я|если (?:вам|вы|у вас"
    r"|нужн)\w*.{0,80}"
    r"(?:дайте|сообщите|обращайтесь|скажите|напишите)",
    r"如(?:果|需|有).{0,40}(?:告诉我|告訴我|告知|随时|隨時)|希望(?:这|這|以上|对|對).{0,20}(?:帮助|幫助|有用|满意|滿意)"
    r"|请(?:告诉我|随时)|請(?:告訴我|隨時)|需要我.{0,30}[吗嗎]",
    r"(?:ご不明|ご質問|何か|他に|ほかに|必要で|ご希望|ご要望).{0,60}(?:ください|下さい|お知らせ|しょうか)|お役に立て(?:れば|ました)",
)
# Names of word counts.
_UNIT = (
    r"words?",
    r"wörter|worte|zeichen",
    r"mots?",
    r"palabras?",
    r"parol[ae]",
    r"palavras?",
    r"слов[ао]?",
    r"字|个字|個字|词|詞",
    r"文字|語|字",
)
_COUNT = (
    r"(?:total |final )?(?:word ?count|words|number of words|length)",
    r"(?:wortanzahl|wortzahl|wörter|anzahl (?:der )?wörter|umfang|länge)",
    r"(?:nombre (?:total )?de mots|mots|longueur)",
    r"(?:(?:número|recuento|conteo|total) de palabras|palabras|extensión)",
    r"(?:(?:numero|totale|conteggio) (?:di |delle )?parole|conteggio parole|parole|lunghezza)",
    r"(?:(?:número|contagem|total) de palavras|palavras|extensão)",
    r"(?:(?:количество|число|всего) слов|слов|объ[её]м)",
    r"(?:总|總|全文)?(?:字数|字數|词数|詞數)",
    r"(?:文字数|単語数|語数|字数)",
)
_ABOUT = (
    r"(?:about|around|approx(?:imately|\.)?|exactly|total(?: of|:)?|etwa|rund|ca\.|circa|genau|environ|unas"
    r"|aproximadamente|cerca de|около|примерно|约|約|共|計|计|[~≈])"
)
_MARKS = r"[#*_>¡\s]*"


def _any(words: tuple[str, ...]) -> str:
    return f"(?:{'|'.join(words)})"


_ASSENTING = rf"(?:{_any(_ASSENT)}[\s,.;:!，。、！：]+)"
_NAMED = rf"(?:{_any(_SUMMARY)}|{_any(_REWORKED)})"
# Up to a colon, or to the end of its line.
_ENDS = rf"(?:{_MARKS}[:：]{_MARKS}|[.!。！]?[*_ \t]*\n{_MARKS})"
_OPENINGS = (
    pattern(
        rf"{_MARKS}{_ASSENTING}?{_any(_HANDED_OVER)}[^:：\n]{{0,160}}{_NAMED}[^:：\n.!?。！？]{{0,120}}{_ENDS}",
        re.IGNORECASE,
    ),
    pattern(
        rf"{_MARKS}{_ASSENTING}?{_QUALIFIED}{_any(_SUMMARY)}(?: ?[(（][^)）\n]{{0,40}}[)）])?{_ENDS}", re.IGNORECASE
    ),
    pattern(rf"{_MARKS}{_QUALIFIED}{_NAMED}{_IS}{_MARKS}[:：]{_MARKS}", re.IGNORECASE),
    pattern(rf"{_MARKS}{_ARTICLE}{_any(_MATERIAL)}{_IS}{_MARKS}[:：]{_MARKS}", re.IGNORECASE),
    pattern(rf"{_any(_ASSENT)}[.!。！]*[ \t]*\n\s*", re.IGNORECASE),
)
_ENDING = pattern(rf"\n[*_\s(\[]*{_any(_CLOSING)}[^\n]{{0,200}}\s*\Z", re.IGNORECASE)
_NUMBER = rf"(?:{_ABOUT}\s*)?\d[\d.,]{{0,6}}(?:\s*(?:/|of|out of|von|sur|de|di|из)\s*\d[\d.,]{{0,6}})?"
_COUNTED = (
    rf"(?:{_NUMBER}[\s-]*{_any(_UNIT)}(?: (?:in )?total)?|{_any(_COUNT)}[*_\s]*[:：=][*_\s]*{_NUMBER}\s*{_any(_UNIT)}?)"
)
# On a line of its own, or after the end of a sentence; a count without its name is in brackets.
_AFTER = r"(?:\n\s*|(?<=[.!?。！？…»”\"’」*_)])[ \t]*)"
_TRAILERS = (
    pattern(rf"{_AFTER}[*_]*[(\[（【]\s*[*_]*{_COUNTED}[*_.。\s]*[)\]）】][*_.。\s]*\Z", re.IGNORECASE),
    pattern(
        rf"{_AFTER}[*_#>]*\s*{_any(_COUNT)}[*_\s]*[:：=][*_\s]*{_NUMBER}\s*{_any(_UNIT)}?[*_.。\s]*\Z", re.IGNORECASE
    ),
)
_AT_THE_END = (_ENDING, *_TRAILERS)
_RULE = pattern(r"\A(?:\s*[-*_=]{3,}[ \t]*\n)+|(?:\n\s*[-*_=]{3,}[ \t]*)+\Z")
_REAL_TEXT = 5
"""The fewest words that must be left."""


def strip_framing(text: str) -> str:
    """Return the text without introductory and closing remarks."""
    text = text.strip()
    while match := next((found for opening in _OPENINGS if (found := opening.match(text))), None):
        left = _RULE.sub("", text[match.end() :]).strip()
        if count_words(left) < _REAL_TEXT:
            return text
        text = left
    while closing := next((found for one in _AT_THE_END if (found := one.search(text))), None):
        left = _RULE.sub("", text[: closing.start()].strip()).strip()
        if count_words(left) < _REAL_TEXT:
            return text
        text = left
    return text


# How often a sentence is repeated in a loop.
_OFTEN = 3
# Shorter sentences may well be repeated ("And so it was."), and occur in any text ("Write plain prose.").
_MIN_KEY_WORDS = 4
# The number of consecutive repetitions of a short one that make a loop.
_IN_A_ROW = 5
# How often a cycle of letters or words is repeated at the very end in a loop.
_TURNS, _TURNS_OF_LONGER = 8, 4
_LONG_TURN, _LONGEST_TURN = 25, 200


def strip_loops(text: str) -> str:
    """Return the text with only one of each sentence or line that occurs at least three times, and without a final
    loop."""
    text = _without_cycles(_without_stutter(text))
    parts = list(_parts(text))
    said = [_said(text, part) for part in parts]
    loops = {key for key, times in Counter(said).items() if times >= _OFTEN and len(set(key)) >= _MIN_KEY_WORDS}
    loops |= {key for key, row in groupby(said) if len(set(key)) > 1 and len(list(row)) >= _IN_A_ROW}
    if not loops:
        return text
    spans: list[Span] = []
    seen: set[tuple[str, ...]] = set()
    for part, key in zip(parts, said, strict=True):
        # A partial last cycle is removed with the others.
        begun = part is parts[-1] and any(" ".join(cycle).startswith(" ".join(key)) for cycle in loops & seen)
        if not begun and (key not in loops or key not in seen):
            spans.append(part)
            seen.add(key)
    return _of(text, spans, parts)


def without_unfinished(text: str) -> str:
    """Return the text without an unfinished last sentence, if at least half of the words precede it."""
    spans = sentences(text)
    if ends_sentence(text) or len(spans) < 2:
        return text
    whole = text[: spans[-1].start].rstrip()
    return whole if ends_sentence(whole) and 2 * count_words(whole) >= count_words(text) else text


def without_copies(text: str, instructions: str, material: Collection[str]) -> str:
    """Return the text without sentences of the `instructions`, unless they are also in `material`."""
    parts = list(_parts(text))
    ordered = {_said(instructions, part) for part in _parts(instructions)}
    copies = {key for part in parts if len(key := _said(text, part)) >= _MIN_KEY_WORDS and key in ordered}
    if not copies:
        return text
    given = [f" {' '.join(words(one))} " for one in material]
    copies = {key for key in copies if not any(f" {' '.join(key)} " in one for one in given)}
    return _of(text, [part for part in parts if _said(text, part) not in copies], parts)


def ends_in_loop(text: str) -> bool:
    """Return whether a text ends in a loop."""
    return _turn_at_end(text) > 0


def _without_stutter(text: str) -> str:
    """Return the text with one cycle of a final loop of a few letters."""
    length = 0 if ends_sentence(text) else _turn_at_end(text)
    if not length:
        return text
    start = len(text) - length
    while start and text[start - 1] == text[start - 1 + length]:
        start -= 1
    return text[: start + length].rstrip()


# How often a run of two words is repeated in a loop, one of three, and of more.
_CYCLES = (4, 4, *[3] * 9)
_SPACED = re.compile(r"\S+")


def _without_cycles(text: str) -> str:
    """Return the text with one turn of each loop of a few words, such as `the man, the man, the man, the man`."""
    matches = list(_SPACED.finditer(text))
    keys = [re.sub(r"\W+", "", match[0]).casefold() for match in matches]
    cuts: list[tuple[int, int]] = []
    for length, times in enumerate(_CYCLES, 2):
        row = 0
        for at in range(length, len(keys) + 1):
            if at < len(keys) and keys[at] and keys[at] == keys[at - length]:
                row += 1
                continue
            if row >= length * (times - 1):
                turn = keys[at - length : at]
                # Repeated sentences are found separately.
                ends = any(match[0][-1] in ".!?" for match in matches[max(0, at - 2 * length) : at - length])
                if len(set(turn)) > 1 and not "".join(turn).isdigit() and not ends:
                    cuts.append((at - row, at))
            row = 0
    apart: list[tuple[int, int]] = []
    for cut in sorted(cuts):
        # Six times two words are also three times four.
        if not apart or cut[0] >= apart[-1][1]:
            apart.append(cut)
    for first, end in reversed(apart):
        # What followed the last turn, such as the end of the sentence, follows the one that is kept.
        tail = re.search(r"\W*$", matches[end - 1][0])
        before = re.sub(r"\W+$", "", text[: matches[first - 1].end()])
        text = before + (tail[0] if tail else "") + text[matches[end - 1].end() :]
    return text


def _turn_at_end(text: str) -> int:
    """Return the length of the cycle that a text ends in; 0 if there is none."""
    for length in range(2, _LONGEST_TURN + 1):
        cycle, times = text[-length:], _TURNS if length <= _LONG_TURN else _TURNS_OF_LONGER
        if any(map(str.isalpha, cycle)) and text.endswith(cycle * times):
            return length
    return 0


def _parts(text: str) -> Iterator[Span]:
    """Yield the sentences, and each line of one that has several."""
    for span in sentences(text):
        at = span.start
        for line in text[span.start : span.end].split("\n"):
            if line.strip():
                yield Span(at, at + len(line))
            at += len(line) + 1


def _said(text: str, part: Span) -> tuple[str, ...]:
    return tuple(words(text[part.start : part.end]))


def _of(text: str, kept: Sequence[Span], parts: Sequence[Span]) -> str:
    before = {part: last.end for last, part in zip([Span(0, 0), *parts[:-1]], parts, strict=True)}
    return "".join(text[before[part] : part.end] for part in kept).strip()


# By language: names of parts, names of a summary, and headings over one.
_PARTS = (
    r"\b(?:this|our|next|previous|following|current|given|above) (?:chunk|excerpt|extract|segment|portion|passage"
    r"|part of the (?:text|document|story)|section of the (?:text|document|story)|text|document)\b|\bthe excerpt\b"
    r"|\b(?:this|updated|merged|combined|revised|running|previous) summar(?:y|ies)\b"
    r"|\b(?:dieser|der|diesem|dem|dieses|des) (?:Auszugs?|Textauszugs?|Ausschnitts?|Abschnitts?)\b|\bZusammenfassung\b"
    r"|\b(?:cet|l['’]) ?extrait\b|\bce (?:passage|résumé)\b|\b(?:este|el) (?:extracto|fragmento|pasaje|resumen)\b"
    r"|\b(?:questo|il) (?:brano|estratto|riassunto)\b|\b(?:este|o) (?:trecho|excerto|resumo)\b"
    r"|\b(?:этом|этот|данном) (?:отрыв|фрагмент)\w*|本文|摘要|节选|節選|抜粋|要約"
)
_HEADING = r"^[ \t]*(?:#{1,6}[ \t]|\*\*[^*\n]{1,60}\*\*:?[ \t]*$|(?:summary|part \d+|chapter \d+)[ \t]*[:.]?[ \t]*$)"
_SHOWS = re.compile(f"{_PARTS}|{_HEADING}", re.IGNORECASE | re.MULTILINE)
_INTRODUCED = re.compile(
    r"\b((?:[A-Z][\w'’-]+ ){0,2}[A-Z][\w'’-]+), (?:an?|the|der|die|das|ein|eine|le|la|un|une|el|una?|il|o|os)"
    r" [^,.;\n]{3,80}[,.;]"
)
_MIN_WORDS = 6
_ALIKE = 0.8


def needs_tidying(summary: str) -> bool:
    """Return whether a summary may need tidying; a model decides in case of doubt."""
    return bool(_SHOWS.search(summary)) or _introduces_twice(summary) or _says_twice(summary)


def _introduces_twice(summary: str) -> bool:
    last_names = Counter(match[1].split()[-1] for match in _INTRODUCED.finditer(summary))
    return any(count > 1 for count in last_names.values())


def _says_twice(summary: str) -> bool:
    """Return whether two sentences have nearly the same words."""
    bags = [frozenset(words(summary[span.start : span.end])) for span in sentences(summary)]
    told = [bag for bag in bags if len(bag) >= _MIN_WORDS]
    return any(
        len(one & other) >= _ALIKE * min(len(one), len(other)) for at, one in enumerate(told) for other in told[:at]
    )
