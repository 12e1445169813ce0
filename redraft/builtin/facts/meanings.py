"""What common English verbs mean beside each other: which say the same, which the opposite, and which the same from the
other side.

Small on purpose: of two verbs that are not both here, nothing is known, and a writer is believed to have chosen
another word for the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from redraft.builtin.verbs import IRREGULAR
from redraft.builtin.wording import keys, listed

_ALIKE = (
    "buy purchase acquire obtain procure; give hand present donate grant bestow award deliver entrust bequeath; lend"
    " loan; send dispatch post mail ship forward; receive obtain inherit; steal rob pilfer loot; hire employ engage"
    " recruit appoint; dismiss fire sack discharge; build construct erect raise; destroy wreck demolish ruin smash raze"
    " shatter; repair mend fix restore patch renovate rebuild; break crack snap fracture shatter; burn scorch ignite"
    " kindle light; extinguish douse quench; hide conceal bury stash; find discover locate uncover unearth detect;"
    " lose mislay misplace; search hunt seek; write compose draft pen author; read study peruse; paint draw sketch"
    " depict portray; teach instruct train tutor school educate; marry wed; divorce separate; love adore cherish; hate"
    " loathe detest despise; help assist aid support back; hinder obstruct thwart hamper impede block prevent stop;"
    " rescue save free liberate release; capture seize arrest catch apprehend detain imprison jail; kill murder slay"
    " assassinate; die perish; wound injure hurt; heal cure treat nurse; attack assault raid strike ambush; defend"
    " protect guard shield shelter; betray denounce; accuse charge blame indict; acquit exonerate clear absolve; praise"
    " commend applaud laud admire; criticise criticize condemn rebuke scold reproach; forgive pardon excuse; punish"
    " penalise fine; win gain secure; defeat beat vanquish overcome conquer; surrender yield capitulate; agree consent"
    " assent accept; refuse reject decline; promise pledge vow swear; ask request beg plead; order command direct"
    " instruct; forbid ban prohibit outlaw; allow permit let; begin start commence launch; end finish conclude complete"
    " cease; found establish create institute start; abolish dissolve disband; arrive reach come; leave depart quit go;"
    " flee escape; stay remain linger; travel journey sail ride walk march go move; cross traverse; follow pursue chase"
    " trail; lead guide head; meet encounter; visit; avoid shun evade; see notice observe spot witness; tell inform"
    " notify; reveal disclose confess admit expose; deceive trick cheat fool mislead; believe trust; doubt distrust"
    " suspect mistrust; remember recall recollect; fear dread; carry transport haul convey bear; lift raise hoist;"
    " lower drop; push shove; pull drag tow tug; throw hurl toss fling cast; open unlock unseal; close shut lock seal;"
    " fill load; empty drain unload; increase raise grow rise expand; decrease reduce cut lower shrink fall decline;"
    " add; remove withdraw; collect gather assemble; scatter distribute; pay settle repay; rent lease; cook bake;"
    " eat devour consume; grow plant sow cultivate; harvest reap; invent devise design; publish print issue; elect"
    " choose select pick; depose overthrow oust; join enlist; cancel annul revoke; sign; edit revise correct; measure"
    " survey; inspect examine check; live dwell reside; work labour toil; rule govern reign; own possess; want desire"
    " wish; show display exhibit; warn alert; quarrel argue dispute; reconcile; adopt; abandon desert forsake; rear"
    " raise; vanish disappear; appear emerge; succeed; fail; copy transcribe; decorate adorn; clean wash scrub; stain"
    " soil dirty; sink; welcome greet; expel banish exile evict; serve; promote; demote; approve endorse; oppose"
    " resist; trust; insult offend; honour; keep retain; cut sever; tie bind fasten; untie unfasten loosen"
)
_OPPOSITE = (
    "build destroy; repair destroy; repair break; build dissolve; found abolish; hire dismiss; find lose; find"
    " hide; reveal hide; marry divorce; love hate; help hinder; help attack; rescue capture; rescue abandon;"
    " rescue kill; heal wound; attack defend; betray protect; accuse acquit; accuse forgive; praise criticise;"
    " praise insult; forgive punish; win lose; defeat surrender; agree refuse; accept reject; allow forbid; allow"
    " prevent; begin end; start stop; arrive leave; stay leave; stay flee; join leave; remember forget; believe"
    " doubt; lift lower; push pull; open close; fill empty; increase decrease; add remove; collect scatter; sow"
    " harvest; elect depose; sign cancel; vanish appear; succeed fail; burn extinguish; adopt abandon; keep lose;"
    " keep sell; keep abandon; welcome expel; promote demote; approve oppose; clean stain; honour insult; tie"
    " untie; trust doubt; give steal; pay owe; approve reject; support oppose; hire expel; appoint depose; follow"
    " avoid; meet avoid; save destroy; protect attack; wake sleep; rise sink; send keep; thank insult; invite"
    " expel; praise condemn; borrow return; take return; gain lose; obey defy; grant deny; confirm deny; include"
    " exclude; encourage discourage; comfort frighten; strengthen weaken; unite divide; create destroy; admit"
    " deny; hope despair; laugh weep; own sell; marry jilt"
)
_CONVERSE = (
    "buy sell; lend borrow; give receive; send receive; teach learn; win lose; lead follow; rent let; pursue flee;"
    " own belong; hire serve; defeat lose; sell receive; bequeath inherit"
)
# Verbs that mean nothing definite without what follows them.
_LIGHT = (
    "be have do make take get put set go come turn call bring keep let hold carry look run say tell know think see feel"
    " become begin start stop try want seem appear use need show help work leave move pass stand lay fall hear"
)
_RECEIVING = "buy purchase acquire receive get inherit borrow obtain learn steal take win"
_PARTICLES = listed("on off up out down over in away back aside apart about round around through by to into along")
_SUFFIXES = (
    "ation", "ition", "ment", "ship", "ness", "anc", "enc", "iag", "ag", "ery", "ing", "ion", "ur", "ful", "al",
    "er", "or", "ly", "ry", "th", "y", "e",
)  # fmt: skip
_SHORTEST_ROOT = 4


class _Tables(NamedTuple):
    """The lists above by the words' keys. They are made when they are first needed: keys take a second to load."""

    alike: Mapping[str, frozenset[str]]
    opposed: Sequence[tuple[str, str]]
    conversed: Sequence[tuple[str, str]]
    light: frozenset[str]
    receiving: frozenset[str]
    definite: frozenset[str]
    verbs: frozenset[str]


@cache
def _tables() -> _Tables:
    alike: dict[str, set[str]] = defaultdict(set)
    for group in _groups(_ALIKE):
        for member in group:
            alike[member].update(group)
    opposed = [(first, second) for first, second in _groups(_OPPOSITE)]
    conversed = [(first, second) for first, second in _groups(_CONVERSE)]
    light = senses_of(_LIGHT)
    known = frozenset({*alike, *(verb for pair in (*opposed, *conversed) for verb in pair)})
    return _Tables(
        {member: frozenset(group) for member, group in alike.items()},
        opposed,
        conversed,
        light,
        senses_of(_RECEIVING),
        known - light,
        known | frozenset(_bases().values()),
    )


def _groups(table: str) -> list[list[str]]:
    return [[sense(_key(word)) for word in entry.split()] for entry in table.split(";")]


def _key(word: str) -> str:
    return keys(word)[0]


@cache
def _bases() -> Mapping[str, str]:
    return {_key(form): _key(plain) for form, plain in IRREGULAR.items() if form != plain}


@lru_cache(maxsize=100_000)
def sense(key: str) -> str:
    """The key of a word's base form, where the word is an irregular form; of "married" and "marry" the same."""
    base = _bases().get(key, key)
    return f"{base[:-1]}y" if len(base) > 3 and base.endswith("i") else base


@cache
def senses_of(words: str) -> frozenset[str]:
    """The senses of the words of a list."""
    return frozenset(sense(key) for key in keys(words))


def is_known(verb: str) -> bool:
    """Whether anything is known of what the verb means beside others."""
    return verb in _tables().definite


def is_verb(word: str) -> bool:
    """Whether the word is one of the verbs known here, in any of its forms."""
    return word in _tables().verbs


def is_past(key: str) -> bool:
    """Whether the key is an irregular form, as "sold" is."""
    return key in _bases()


def is_light(verb: str) -> bool:
    """Whether the verb says nothing definite by itself, as "take" and "put"."""
    return verb in _tables().light


def is_particle(key: str) -> bool:
    """Whether it makes a verb before it another, as in "take on" and "set out"."""
    return key in _PARTICLES


def receives(verb: str) -> bool:
    """Whether its subject gets something from somebody."""
    return verb in _tables().receiving


def group_of(word: str) -> frozenset[str]:
    """The verbs that say the same as a verb, itself among them; nothing for other words."""
    return _tables().alike.get(word, frozenset())


def alike(one: str, other: str) -> bool:
    """Whether two verbs, or other words, say the same."""
    return one == other or other in _tables().alike.get(one, ()) or root(one) == root(other)


@lru_cache(maxsize=100_000)
def opposite(one: str, other: str) -> bool:
    """Whether the two verbs contradict each other."""
    return one != other and not alike(one, other) and _paired(_tables().opposed, one, other)


@lru_cache(maxsize=100_000)
def converse(one: str, other: str) -> bool:
    """Whether the two tell of the same from its two sides, as "buy" and "sell"."""
    return _paired(_tables().conversed, one, other)


def _paired(table: Iterable[tuple[str, str]], one: str, other: str) -> bool:
    ones, others = _tables().alike.get(one, frozenset([one])), _tables().alike.get(other, frozenset([other]))
    return any((a in ones and b in others) or (b in ones and a in others) for a, b in table)


@lru_cache(maxsize=100_000)
def root(word: str) -> str:
    """What "discovery" and "discover", "arrival" and "arrive", "miller" and "mill" have in common."""
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _SHORTEST_ROOT:
            return word[: -len(suffix)]
    return word
