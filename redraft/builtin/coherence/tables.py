"""Words by which it shows that a sentence may leave its reader with a question. English, put together by hand."""

from __future__ import annotations

import re


def _any_of(words: str) -> re.Pattern[str]:
    """A pattern for any of some words; a star stands for any ending."""
    return re.compile(r"\b(?:" + "|".join(word.replace("*", r"\w*") for word in words.split()) + r")\b", re.IGNORECASE)


AIMS = _any_of(
    "save saves saved saving rescu* protect* deal deals bargain* pact agreement* oath* vow* promis* mission* quest*"
    " search* seek* plan plans planned planning plot plots schem* escap* flee* fled task tasks condition* exchange"
    " trick* convinc* persuad* prevent* defeat* stop stops ransom* reward* trade trades traded retriev* recover* track*"
    " hunt* chas* pursu*"
)
"""What somebody is after, which has a reason."""

RIDDLES = _any_of(
    "secret* myster* hidden truth* strange* vision* prophec* curse* spell* enigma* cryptic* unknown unexplained riddle*"
    " clue* code codes conspirac* cover-up* suspicio* suspect* rumour* rumor* disappear* vanish* missing supernatural"
    " magic* demon* ghost* spirit* power powers"
)
"""What wants an explanation."""

BLOWS = _any_of(
    "kill* murder* die dies died dying dead death* attack* kidnap* abduct* captur* arrest* imprison* prison* execut*"
    " shoot* shot stab* poison* injur* wound* destroy* explode* explosion* fight* fought battle* betray* steal* stole"
    " stolen theft* rob robs robbed threat* trap* force forces forced revenge suicide accident* crash* hostage* tortur*"
    " sacrific* war wars"
)
"""What happens to people, and to what purpose or how it came about a reader wants to know."""

HAPPENING = re.compile(
    r"\b(?:the|this|that|these|those) (?:group|crew|event|incident|attack|others|rest|chaos|situation|journey"
    r"|investigation|mission|truth|trial|contest|race|curse|experience|war|battle|ceremony|murder|death|accident"
    r"|plan|secret|deal|conspiracy|disappearance|agreement|problem|affair|scandal|rebellion|betrayal|prophecy|rules?"
    r"|pact|quest|task|ritual|competition|experiment|project|device|organi[sz]ation|bargain|plot|threat|robbery)s?\b",
    re.IGNORECASE,
)
"""Something that is spoken of as known, with what it is."""

GENERAL = (
    "theme story explore narrative novel book tale character highlight emphasize delve journey navigate complexity"
    " complex challenge struggle grapple relationship importance significance impact experience identity ultimately"
    " growth resilience love loss life lives human society power nature sense emotion past"
)
"""What a summary says of any story."""

STOCK = re.compile(
    r"\b(?:navigat\w*|grappl\w*|struggl\w*|challeng\w*|complex\w*|confront\w*|must|journey\w*|fac(?:e|es|ing)|cope\w*"
    r"|come to terms|delv\w*|explor\w*|themes?|unfolds?|progress\w*|intertwin\w*|ultimately|throughout|determined"
    r"|emotions?|obstacles?|dangers?|relationships?)\b",
    re.IGNORECASE,
)
"""The turns of phrase in which summaries repeat themselves."""

SUMMING_UP = re.compile(
    r"\b(?:the (?:story|novel|book|narrative|tale|memoir|summary|author|plot|reader)|themes?|in conclusion|in the end"
    r"|in summary|throughout (?:the|their|her|his)|overall|ultimately|another part of the)\b",
    re.IGNORECASE,
)
"""What is said of the whole book, and belongs at the beginning or the end."""

STRAIN = _any_of(
    "feel feels felt sadness anger angry jealous* upset afraid fear* guilt* betrayed worr* suspicio* distrust* hates"
    " hatred resent* shame asham* conflict* tension* strained despite reluctant* unable refus* forced must"
)
"""What weighs on people, or stands in their way, and has a reason."""

RELATIVE = re.compile(r"\b(?:who|which|whose|where)\b", re.IGNORECASE)
PORTRAIT = re.compile(r"(?:, [^,]{3,60},)? (?:is|was|are|were|lives|works|has been|had been) ")
"""What follows a name where a sentence says who that is, how they live, or what became of them."""

PERSON = re.compile(r"\b(?:he|she|him|her|his|hers)\b", re.IGNORECASE)
"""What stands for one who has been named."""

PEOPLE = re.compile(
    r"\b(?:m[ae]n|wom[ae]n|girls?|boys?|protagonist|narrator|author|hero|heroine|child|children|couple|person|people"
    r"|king|queen|doctor|teacher|captain|mother|father|brother|sister|son|daughter|husband|wife|friend|uncle|aunt|lady"
    r"|widow|stranger|soldier|officer|detective|student|priest|prince|princess)s?\b|\b\w{3,}(?:er|or|ist|ian)s?\b",
    re.IGNORECASE,
)
"""Whom such a word may stand for, without a name."""
