"""Which words stand for much the same, and how telling each is: what it takes to know a thing said in other words."""

from __future__ import annotations

from functools import cache, lru_cache

from redraft.builtin.verbs import IRREGULAR
from redraft.text.wording import is_number, keys, listed, words

# Words that only hold others together.
_EMPTY = listed(
    "a an the and or but nor so yet if than that this these those there here of to in on at by for from with into"
    " onto upon up down out off over under about as be am is are was were been being do does did doing done have"
    " has had having will would shall should can could may might must i me my mine myself we us our ours ourselves"
    " you your yours he him his himself she her hers herself it its itself they them their theirs themselves who"
    " whom whose which what when where why how s t ll re ve d m u mr mrs ms dr very too also just only quite rather"
    " even much more most such own same then once again away back while because since until till although though"
    " through after before during against between among without within along across behind beyond toward towards"
    " all any both each every few some other another many several lot ever always already still now thus however"
    " perhaps almost enough"
)
# Words that are in every text, and say little of which.
_LIGHT = listed(
    "say tell ask answer reply speak talk call go come get give take put make let keep hold have see look know"
    " think feel seem appear want need like find use try turn begin start stop stand sit lie stay remain leave"
    " become happen set show bring run walk move man woman people person someone somebody everyone thing something"
    " anything way time day night year moment hour minute week month morning place room hand eye head face voice"
    " side part end good bad big great little small long old new young high low large own first last next right"
    " left whole one two three not never no none nothing story main character able open close pull push throw drop"
    " raise lift shut sound light dark floor wall door window chair table second far near back front top bottom"
    " half word idea fact point case matter kind sort bit number name nod smile laugh shrug sigh shake glance stare"
    " watch hear listen wait pause step reach touch follow cross lean catch carry send sink rise float slide snap"
    " draw care wonder suppose suddenly slowly quickly carefully heavy hard soft cold hot white black red blue"
    " green bright thin thick wide middle edge corner direction distance body skin hair mouth shoulder finger arm"
    " leg foot expression six seven ten four five hundred order really actually simply certain different"
)
# Of each group every word stands for the others.
_ALIKE = (
    "find discover discovery detect learn realize realise recognize notice uncover",
    "go come travel journey head arrive arrival return land visit reach enter",
    "want wish desire plan intend intention hope try attempt decide decision choose determine resolve",
    "kill murder slay assassinate execute slaughter",
    "die perish death dead deceased",
    "ship vessel craft spaceship spacecraft boat",
    "buy purchase acquire",
    "begin start commence",
    "end finish conclude complete",
    "help aid assist assistance",
    "child kid youngster children",
    "boy lad",
    "girl lass",
    "house home cottage residence",
    "money cash fund coin",
    "tell inform notify",
    "explain explanation describe",
    "say state claim declare announce",
    "ask request inquire",
    "hide conceal hidden",
    "steal rob theft thief robbery",
    "break burst rupture",
    "destroy demolish ruin wreck",
    "save rescue",
    "escape flee",
    "attack assault ambush raid",
    "fight battle combat struggle",
    "capture catch seize",
    "arrest detain",
    "prison jail prisoner imprison captive",
    "leave depart departure",
    "big large huge enormous giant",
    "small little tiny",
    "fear afraid scare frighten terrify terrified frightened",
    "angry anger furious rage",
    "sad unhappy sorrow",
    "happy glad joy",
    "agree consent accept agreement",
    "refuse decline reject refusal",
    "promise vow swear pledge",
    "offer propose proposal suggest",
    "build construct erect",
    "repair fix mend",
    "job work employment",
    "boss employer superior",
    "doctor physician medic",
    "clerk bookkeeper",
    "teacher instructor",
    "father dad",
    "mother mom mum",
    "wife spouse",
    "husband",
    "marry marriage wedding",
    "friend companion comrade",
    "enemy foe",
    "leader chief",
    "soldier troop army",
    "police policeman cop",
    "gun weapon pistol rifle",
    "hurt injure wound injury",
    "sick ill illness disease sickness",
    "cure heal",
    "food meal",
    "eat consume",
    "sleep asleep",
    "dream vision",
    "letter note message",
    "book volume",
    "picture photograph photo",
    "car automobile vehicle",
    "road street path",
    "town village",
    "city metropolis",
    "island isle",
    "sea ocean",
    "planet world",
    "earth terra",
    "star",
    "sky heaven",
    "machine device apparatus gadget",
    "computer",
    "test experiment",
    "trial court hearing",
    "law legal",
    "crime offence offense",
    "guilty guilt",
    "proof evidence prove",
    "secret secretly",
    "truth true",
    "lie2 deceive falsehood deceit trick",
    "think believe suspect",
    "remember recall",
    "look gaze stare glance",
    "watch monitor",
    "hear listen",
    "give present",
    "send dispatch",
    "bring fetch carry",
    "throw toss hurl fling",
    "push shove",
    "pull drag tug",
    "open unlock",
    "close shut",
    "fall drop collapse",
    "jump leap",
    "run rush hurry",
    "walk stroll stride",
    "climb ascend",
    "rise",
    "grow increase expand",
    "reduce decrease lessen",
    "change alter transform",
    "strange odd weird",
    "danger dangerous peril risk",
    "safe safety secure",
    "strong powerful mighty",
    "weak feeble",
    "rich wealthy wealth",
    "poor poverty",
    "old elderly aged",
    "young youthful",
    "beautiful pretty lovely",
    "clever smart intelligent",
    "stupid foolish fool dumb",
    "brave courageous courage",
    "war warfare",
    "peace truce",
    "king monarch ruler",
    "company firm corporation business",
    "sell sale",
    "pay payment",
    "owe debt",
    "price cost",
    "gift",
    "meet encounter",
    "meeting conference",
    "follow pursue chase",
    "search seek hunt",
    "lose loss",
    "win victory",
    "fail failure",
    "succeed success",
    "allow permit let",
    "prevent stop halt",
    "force compel",
    "order command",
    "warn warning alert",
    "threaten threat",
    "persuade convince",
    "admit confess confession",
    "blame accuse accusation",
    "forgive pardon",
    "punish punishment",
    "free release liberate freedom",
    "invent invention create design",
    "explode explosion blast",
    "crash collide collision",
    "burn fire",
    "shoot shot",
    "bury burial grave",
    "church chapel",
    "hospital clinic",
    "office bureau",
    "shop store",
    "bar tavern pub",
    "door gate",
    "key lock",
    "rope cord cable",
    "box crate chest",
    "paper document",
    "picture2 image",
    "sound noise",
    "smell odor scent",
    "hot heat warm",
    "cold chill freeze",
    "dark darkness",
    "light lamp lantern",
    "alien extraterrestrial",
    "human mankind humanity",
    "captain skipper",
    "crew team",
    "examine inspect study investigate check",
    "replace substitute",
    "remove withdraw",
    "join unite",
    "divide split separate",
    "hire employ recruit",
    "dismiss sack",
    "quit resign",
    "live reside dwell",
    "own possess",
    "use utilize",
    "need require necessary",
    "cause result",
    "reason motive",
    "answer reply response respond",
)


def concept(key: str) -> str:
    """What a word's key stands for: one name for all forms of a verb, and for words of much the same meaning."""
    return _concept(key)


@lru_cache(maxsize=50_000)
def _concept(key: str) -> str:
    if is_number(key) or not key.isascii():
        return key
    plain = _plain_forms().get(key, key)
    return _groups().get(plain) or _family(plain)


_SHORTEST_FAMILY = 6


def _family(key: str) -> str:
    """The beginning of a long word, which is that of the words made from it: "accountant", "accounting"."""
    return key[:_SHORTEST_FAMILY] if len(key) > _SHORTEST_FAMILY else key


@cache
def _plain_forms() -> dict[str, str]:
    return {form: keys(plain)[0] for form, plain in IRREGULAR.items() if plain != form}


@cache
def _groups() -> dict[str, str]:
    """The first word of its group for every word that is in one."""
    return {keys(word)[0]: f"~{group.split()[0]}" for group in reversed(_ALIKE) for word in group.split()}


@cache
def _light() -> frozenset[str]:
    return frozenset(_concept(key) for word in _LIGHT for key in keys(word))


LIGHT = 0.35
"""The weight of a word that is in every text."""
_MIDDLING = 0.6
# Words that are in every text too, and yet say what happens.
_MOVES = listed("find go want use need learn become begin leave")


@cache
def _moving() -> frozenset[str]:
    return frozenset(_concept(keys(word)[0]) for word in _MOVES)


def weight(key: str) -> float:
    """How much a word says of what a text is about: nothing, little or all of 1."""
    if key in _EMPTY:
        return 0.0
    return (_MIDDLING if _concept(key) in _moving() else LIGHT) if _concept(key) in _light() else 1.0


def concepts(text: str) -> set[str]:
    """What the words of a text that say something stand for."""
    return {_concept(word.key) for word in words(text) if word.key not in _EMPTY}
