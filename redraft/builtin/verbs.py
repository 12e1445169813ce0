"""English verbs: which words are one, what its plain form is, and which of them move a story."""

from __future__ import annotations

import re
from functools import lru_cache

from redraft.text.wording import listed

# Plain form, past, and participle where it is another word than the past.
_IRREGULAR = (
    "arise arose arisen,awake awoke awoken,bear bore borne,beat beat beaten,become became become,begin began begun,"
    "bend bent,bind bound,bite bit bitten,bleed bled,blow blew blown,break broke broken,breed bred,bring brought,"
    "build built,burn burnt,burst burst,buy bought,cast cast,catch caught,choose chose chosen,cling clung,"
    "come came come,cost cost,creep crept,cut cut,deal dealt,dig dug,do did done,draw drew drawn,dream dreamt,"
    "drink drank drunk,drive drove driven,eat ate eaten,fall fell fallen,feed fed,feel felt,fight fought,find found,"
    "flee fled,fling flung,fly flew flown,forbid forbade forbidden,forget forgot forgotten,"
    "forgive forgave forgiven,freeze froze frozen,get got got,give gave given,go went gone,grind ground,"
    "grow grew grown,hang hung,have had,hear heard,hide hid hidden,hit hit,hold held,hurt hurt,keep kept,kneel knelt,"
    "know knew known,lay laid,lead led,leap leapt,learn learnt,leave left,lend lent,let let,lie lay lain,light lit,"
    "lose lost,make made,mean meant,meet met,mistake mistook mistaken,overcome overcame overcome,"
    "overhear overheard,pay paid,put put,quit quit,read read,rebuild rebuilt,ride rode ridden,ring rang rung,"
    "rise rose risen,run ran run,say said,see saw seen,seek sought,sell sold,send sent,set set,sew sewed sewn,"
    "shake shook shaken,shed shed,shine shone,shoot shot,show showed shown,shrink shrank shrunk,shut shut,"
    "sing sang sung,sink sank sunk,sit sat,sleep slept,slide slid,speak spoke spoken,spend spent,spin spun,split split,"
    "spread spread,spring sprang sprung,stand stood,steal stole stolen,stick stuck,sting stung,"
    "strike struck struck,strive strove striven,swear swore sworn,sweep swept,swim swam swum,swing swung,"
    "take took taken,teach taught,tear tore torn,tell told,think thought,throw threw thrown,thrust thrust,"
    "undergo underwent undergone,understand understood,undertake undertook undertaken,wake woke woken,"
    "wear wore worn,weave wove woven,weep wept,win won,wind wound,withdraw withdrew withdrawn,"
    "withstand withstood,write wrote written"
)
_FORMS = [entry.split() for entry in _IRREGULAR.split(",")]
_BY_PAST = {forms[1]: forms[0] for forms in _FORMS}
_BY_PARTICIPLE = {forms[-1]: forms[0] for forms in _FORMS}
IRREGULAR = _BY_PARTICIPLE | _BY_PAST
"""The plain form of every irregular past and participle."""

BE = listed("be am is are was were been being")
MODALS = listed("would could should might must will can may shall")
AUXILIARIES = BE | MODALS | listed("had have has did does do")
_REGULAR = re.compile(r"[a-z]{2,}ed")
# Words in -ed that are no verbs, or seldom.
_NO_VERBS = listed(
    "red bed need seed feed speed breed hundred sacred naked wicked indeed exceed proceed deed shed weed"
)
_VOWELS = "aeiou"
# What an "e" has been lost from: "arrang-ed", "settl-ed", "decid-ed"; with a vowel before all but the first few.
_LOST_E = re.compile(
    r"(?:[cvuz]|[^s]s|[aeiou]rs|ns|dg|rg|[aiou]ng|[bcdfgkptz]l|[^aeiou][aiou]t|[iu]at|creat|(?:pl|l)et"
    r"|[^aeiou][aiou]d|[^aeiou][aiou]r|[^aeiou][iu]n|[^aeiou]ag|[^aeiou][aio]k|[^aeiou]ib|[^aeiou]ul|[^aeiou]ap"
    r"|breath|quir|suad|guid|[^aeiou]um|lcom)$"
)
_KEPT = listed(
    "visit limit edit exit profit permit submit admit commit inhabit exhibit inherit merit credit deposit benefit"
    " spirit pilot pivot anchor honor favor labor harbor murmur occur pardon focus ruin long belong bang hang ring"
    " wing map orbit vomit prohibit inhibit solicit elicit recruit nod head"
)
_DOUBLE_L = listed(
    "control compel expel propel patrol travel cancel model signal tunnel quarrel level rebel equal excel"
)


_SHORTEST_IN_IES = 4


def is_past(word: str) -> bool:
    """Whether a word looks like a past tense, or a participle in -ed."""
    return word in _BY_PAST or (bool(_REGULAR.fullmatch(word)) and word not in _NO_VERBS)


def is_participle(word: str) -> bool:
    """Whether a word looks like a past participle."""
    return word in _BY_PARTICIPLE or (bool(_REGULAR.fullmatch(word)) and word not in _NO_VERBS)


def is_present(word: str) -> bool:
    """Whether a word behind a name looks like a present tense: "Strike takes"."""
    return bool(_PRESENT.fullmatch(word)) and word not in _NO_PRESENT


_PRESENT = re.compile(r"[a-z]{2,}[^s'’]s")
_NO_PRESENT = listed(
    "is was has does this his its always perhaps besides afterwards towards less as us whereas sometimes yes"
)


@lru_cache(maxsize=20_000)
def plain_form(word: str) -> str:
    """The plain form of a verb, as it stands behind "did" and "does"."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    if is_present(word):
        if word.endswith("ies") and len(word) > _SHORTEST_IN_IES:
            return f"{word[:-3]}y"
        return word[:-2] if word.endswith(("ches", "shes", "sses", "xes", "zzes", "goes", "does")) else word[:-1]
    if not _REGULAR.fullmatch(word):
        return word
    stem = word[:-2]
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else f"{word[:-3]}y"
    if stem.endswith("e") or stem in ("ey", "dy"):
        return word[:-1]
    if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in _VOWELS:
        undoubled = stem[:-1]
        return undoubled if stem[-1] not in "lszf" or undoubled in _DOUBLE_L else stem
    if stem in _KEPT or stem in _DOUBLE_L:
        return stem
    return f"{stem}e" if _LOST_E.search(stem) or _is_short(stem) else stem


def _is_short(stem: str) -> bool:
    """Whether a stem is one syllable of a single vowel and consonant, which would be doubled if nothing were lost."""
    return bool(re.fullmatch(r"[^aeiou]*(?:qu)?[aeiouy][^aeiouwxyh]", stem))


INTRANSITIVE = listed(
    "go come travel arrive live work return appear disappear happen stand sit lie fall rise walk sleep wait stay"
    " head crawl look smile remain die vanish flow sprawl react march occur exist belong"
)
"""Plain forms of verbs that nobody does to anything."""

KNOWN = frozenset(forms[0] for forms in _FORMS) | listed(
    "want try decide agree plan refuse offer promise attempt intend hope threaten manage fail wish propose start demand"
    " determine expect prepare need help ask order force allow cause permit persuade convince invite warn urge advise"
    " enable seem appear continue happen tend use remain like love hate prefer die kill"
)
"""Plain forms of well-known verbs."""
