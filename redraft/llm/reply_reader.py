"""Reads a structured reply out of the text around it, reasoning included."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from redraft.lazy import pattern
from redraft.llm.reply_forms import LenientParser, NoJsonError, ReplyShape, TruncatedJsonError
from redraft.prompts.tags import TagContext, Tags

_NAMES = "think(?:ing)?|thoughts?|reason(?:ing)?|reflection|analysis|scratchpad|seed:think"
# The marks that various model families put around reasoning.
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
"""The start of reasoning."""
CLOSING = pattern("|".join(_CLOSINGS), re.IGNORECASE)
"""The end of reasoning."""
_LINE_OPENING = pattern(rf"^[ \t]*(?:{'|'.join(_OPENINGS)})", re.IGNORECASE | re.MULTILINE)

# gpt-oss writes channels, one of which is the reply; a server may have removed the marks and left the names.
_CHANNEL = pattern(r"<\|channel\|>([^<]{0,200})(?:<\|constrain\|>[^<]{0,50})?<\|message\|>")
_END_OF_CHANNEL = pattern(r"<\|(?:end|return|call|start|channel)\|>")
_BARE_CHANNELS = pattern(r"analysis(?=[A-Z\s\"'{\[]).*assistant\s*final", re.DOTALL)

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


def final_channel(text: str) -> str:
    """Return the text of the final channel, if a text has channels; else an empty one."""
    sections = list(_CHANNEL.finditer(text))
    if not sections:
        bare = _BARE_CHANNELS.match(text.lstrip())
        return text.lstrip()[bare.end() :] if bare else text
    answers = [match for match in sections if match[1].strip().startswith("final") or "to=functions" in match[1]]
    if not answers:
        return ""
    end = _END_OF_CHANNEL.search(text, answers[-1].end())
    return text[answers[-1].end() : end.start() if end else len(text)]


def strip_reasoning(text: str) -> str:
    """Return the prose of a reply without its reasoning; unfinished reasoning leaves no reply."""
    text = final_channel(text).strip()
    while OPENING.match(text):
        closing = CLOSING.search(text)
        if closing is None:
            return ""
        text = text[closing.end() :].strip()
    # Some servers remove the opening mark.
    alone = None if text.startswith(("{", "[")) or OPENING.search(text) else CLOSING.search(text)
    if alone:
        return text[alone.end() :].strip()
    # Within a line a mark is part of the text.
    while opening := _LINE_OPENING.search(text):
        closing = CLOSING.search(text, opening.end())
        if closing is None:
            return ""
        text = text[: opening.start()] + text[closing.end() :]
    return text.strip()


def declines(text: str) -> bool:
    """Return whether a text only declines to write, or asks for material."""
    return len(text.split()) <= _SHORT and bool(_REFUSAL.match(text))


T = TypeVar("T", bound=BaseModel)

_START = pattern(rf"(?P<thought>{OPENING.pattern})|(?P<thought_ends>{CLOSING.pattern})|[{{\[]", re.IGNORECASE)
# The beginning of an object, or of a list of them; the text may end right there.
_OBJECT = pattern(r"\{\s*(?:[\"'}]|\Z)|\[\s*(?:\{|\Z)")
_KEY = pattern(r"\{\s*[\"'](\w+)[\"']\s*:")
# Words that retract an earlier statement.
_FINAL = pattern(
    r"\bfinal\b|\bfinally\b|\bwait\b|\bcorrect(?:ed|ion)\b|\brevised\b|\bactually\b|\binstead\b|\bupdated?\b|\bsorry\b"
    r"|\boops\b|\bmistake\b|\bendgültig|\bkorrigiert|\bkorrektur|\bdéfinitive|\bcorrig|\bdefinitiv|\bисправлен|\bокончательн"
    r"|最终|更正|最終|訂正",
    re.IGNORECASE,
)
# The beginning of a list of entries, bare or as the one field of an object.
_LIST = pattern(r"""(?:\{\s*["']?[\w -]+["']?\s*:\s*)?\[(?=\s*\{)""")
_NEXT = pattern(r"\s*,?\s*(?=\{)")
_MAX_STARTS = 200
_MAX_COMPLAINT = 600
_STRANGERS = "it names none of the items: every id must be copied exactly from the item it belongs to"
# The placeholder for an unreadable entry.
_LOST = pattern(r"\{[^{}]*\}")
# What may separate entries of one reply: list marks, a fence, and words that name the next item.
_BETWEEN = pattern(
    rf"(?:{_LOST.pattern}|\{{(?![^{{}}]*\}})|[}}\s,;|*\-–—#>.`\"':()\[\]\d]"
    r"|\b(?:jsonl?|question|pair|sentence|fact|item|entry|id|number|for|and|then|next|[bcdfghjkmnpqrtvwx]{4,6})\b)*",
    re.IGNORECASE,
)


class NoValueError(ValueError):
    """The text has no value of the wanted shape; the message can be sent back to the model."""

    def __init__(self, complaint: str, *, formless: bool = True, nameless: bool = False) -> None:
        super().__init__(complaint)
        self.nameless = nameless
        """Whether only the item names were missing."""
        self.formless = formless
        """Whether it does not even have the form that a server would enforce."""


@dataclass(frozen=True, slots=True)
class _FoundValue(Generic[T]):
    """A value in a reply, and the words before it."""

    value: T
    before: str


def read_value(text: str, shape: type[T], given: BaseModel | None = None) -> T:
    """Return the JSON value in `text` that fits `shape` and names items of `given`: bare, fenced or within prose.
    Unreadable entries are left out, with all others about the same item. Of several values the last counts if the text
    says so or it does not conflict; conflicting ones are all rejected."""
    tags = Tags(given) if given is not None else None
    form = ReplyShape(shape, tags)
    failure = NoValueError("the reply holds no JSON object")
    found_values = list[_FoundValue[T]]()
    for candidate, before in _joined(_candidates(final_channel(text), form), form):
        try:
            wire = TagContext(tags) if tags else None
            folded, trouble = form.without_unreadable(form.certain(form.reshaped(candidate)))
            value = shape.model_validate_json(json.dumps(folded), context=wire)
        except ValidationError as error:
            failure = NoValueError(
                _complaint(error), formless=any(one["type"] != "value_error" for one in error.errors())
            )
            continue
        except (ValueError, RecursionError):
            failure = NoValueError("the reply is nested too deeply")
            continue
        if wire and form.is_nameless(value, wire):
            complaint = _complaint(trouble) if trouble else _STRANGERS
            failure = NoValueError(complaint, formless=False, nameless=True)
            continue
        found_values.append(_FoundValue(value, before))
    if not found_values:
        raise failure
    settled = max(
        (place for place, found_value in enumerate(found_values) if _FINAL.search(found_value.before)), default=0
    )
    if any(_at_odds(found_value.value, found_values[-1].value) for found_value in found_values[settled:]):
        raise NoValueError("the reply holds two answers that differ")
    return _continued(found_values[settled:], form)


def whole_entries(text: str, shape: type[T], given: BaseModel) -> T | None:
    """Return the complete entries of a reply that was cut within its list; None if there is none, or entries depend
    on each other."""
    tags = Tags(given)
    form, wire = ReplyShape(shape, tags), TagContext(tags)
    said = strip_reasoning(final_channel(text))
    first = _OBJECT.search(said)
    begins = _LIST.match(said, first.start()) if first and form.has_independent_entries else None
    if begins is None:
        return None
    loose, at = LenientParser(said), begins.end()
    entries: list[object] = []
    try:
        loose.value(begins.start())
    except TruncatedJsonError:
        pass
    except NoJsonError:
        return None
    else:
        # The cut value came after it.
        return None
    with suppress(TruncatedJsonError, NoJsonError):
        while match := _NEXT.match(said, at):
            value, at = loose.value(match.end())
            entries.append(value)
    folded, _ = form.without_unreadable(form.reshaped(entries))
    try:
        value = shape.model_validate_json(json.dumps(folded), context=wire) if entries else None
    except ValueError:
        return None
    return None if value is None or form.is_nameless(value, wire) else value


def is_exact(text: str, shape: object) -> bool:
    """Return whether a reply is strictly in its form, as only an enforcing server guarantees."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(shape, type) and issubclass(shape, BaseModel) and ReplyShape(shape).is_exact(value)


def _joined(candidates: Sequence[tuple[object, str]], form: ReplyShape) -> Iterator[tuple[object, str]]:
    """Yield consecutive entries, such as one per line, joined to one list."""
    entries: list[object] = []
    words = ""
    for value, before in candidates:
        goes_on = bool(entries) and form.is_entry(value) and bool(_BETWEEN.fullmatch(before))
        if entries and not goes_on:
            yield entries, words
            entries = []
        if not form.is_entry(value):
            yield value, before
            continue
        words = words if goes_on else before
        # An unreadable entry still counts as a statement on its item.
        entries += [form.unreadable(lost) for lost in _LOST.findall(before)]
        entries.append(value)
    if entries:
        yield entries, words


def _continued(found: Sequence[_FoundValue[T]], form: ReplyShape) -> T:
    """Return the last value with the entries before it that it directly continues."""
    last, name = found[-1], form.entries
    said: list[Any] = list(getattr(last.value, name)) if name else []
    if not (said and isinstance(said[0], BaseModel)):
        return last.value
    for found_value, after in zip(reversed(found[:-1]), reversed(found[1:]), strict=True):
        if not _BETWEEN.fullmatch(after.before):
            break
        said = [entry for entry in getattr(found_value.value, name) if entry not in said] + said
    return last.value.model_copy(update={name: said})


def _candidates(text: str, form: ReplyShape) -> list[tuple[object, str]]:
    """Return the complete JSON values outside of reasoning, each with the words before it."""
    found: list[tuple[object, str]] = []
    at = said_to = tries = 0
    lost = False
    loose = LenientParser(text)
    while start := _START.search(text, at):
        if start["thought"]:
            closing = CLOSING.search(text, start.end())
            if closing is None:
                # Anything before was the beginning of a discarded answer.
                raise NoValueError("the reply ends during the reasoning", formless=False)
            at = said_to = closing.end()
            continue
        if start["thought_ends"]:
            # Some servers remove the opening mark.
            found.clear()
            at = said_to = start.end()
            continue
        tries += 1
        if tries > _MAX_STARTS:
            break
        read = _read_at(loose, start.start(), first=not found)
        if read is None:
            lost = lost or ((key := _KEY.match(text, start.start())) is not None and form.is_of_a_tree(key[1]))
            at = start.end()
            continue
        value, at = read
        # A tree with an unreadable part is not complete.
        if form.may_be(value) and not (lost and form.is_entry(value)):
            found.append((value, text[said_to : start.start()]))
            said_to = at
    return found


def _read_at(loose: LenientParser, start: int, *, first: bool) -> tuple[object, int] | None:
    """Return the value that begins at a place, and its end; None if there is none."""
    try:
        return loose.value(start)
    except TruncatedJsonError:
        if first or _OBJECT.match(loose.text, start):
            # A complete value inside a cut one is only a part of the answer.
            raise NoValueError("the reply breaks off within its JSON") from None
    except NoJsonError:
        pass
    return None


def _at_odds(one: BaseModel, other: BaseModel) -> bool:
    """Return whether two values conflict on a common item, or differ at all if they name no items."""
    first, second = one.model_dump(mode="json"), other.model_dump(mode="json")
    if first == second:
        return False
    ours, theirs = _entries(first), _entries(second)
    if not ours and not theirs:
        return True
    return any(ours[key] != theirs[key] for key in ours.keys() & theirs.keys())


def _entries(value: dict[str, Any]) -> dict[tuple[str, int], object]:
    """Return the entries of a reply by the item that they name."""
    return {
        (name, entry["id"]): entry
        for name, entries in value.items()
        if isinstance(entries, list)
        for entry in entries
        if isinstance(entry, dict) and "id" in entry
    }


def _complaint(error: ValidationError) -> str:
    lines = [f"{'.'.join(str(part) for part in item['loc']) or 'the value'}: {item['msg']}" for item in error.errors()]
    return "; ".join(lines)[:_MAX_COMPLAINT]
