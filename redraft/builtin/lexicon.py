"""The few English words the extractive model knows by heart. Text in other languages is ranked without them."""

from __future__ import annotations

import re

from redraft.text.languages import is_foreign


def _any_of(words: str) -> str:
    return "(?:" + "|".join(words.split()) + ")"


PERSONAL = re.compile(r"\b" + _any_of("he she they him her them his their it its") + r"\b", re.IGNORECASE)
"""What stands for someone or something named elsewhere."""

GESTURE = re.compile(
    r"\b(?:eye|eyebrow|face|head|shoulder|lip|mouth|voice|finger|arm|throat|cheek|breath|smile|grin|glance)s?\b"
    r"|\b(?:nodd|shrugg|smil|grinn|sigh|star|glanc|frown|laugh|cough|blink|chuckl|look|gaz|turn|murmur|mutter)ed\b",
    re.IGNORECASE,
)
"""How people look, move and sound while they talk: plentiful in stories, and seldom what happens in them."""

FIRST_PERSON = re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself|[Ww]e|[Uu]s|[Oo]ur|[Oo]urs|[Oo]urselves)\b")
SECOND_PERSON = re.compile(r"\b(?:you|your|yours|yourself|thou|thee|thy)\b", re.IGNORECASE)

SPEECH = re.compile(
    r"(?<![\w.,!?])\"(?=\S)[^\"]{0,1500}\"?|“[^”]{0,1500}”?|«[^»]{0,1500}»?|「[^」]{0,1500}」?"
    r"|(?<!\w)['‘](?=\w)[^\n]{0,600}?[.,!?…—]['’](?!\w)"
)
"""Direct speech within a paragraph. Its length is bounded, so that one lost mark does not turn all the rest into
speech; a single mark counts only where punctuation stands before the closing one."""

# What says so in whichever language a text is.
_NOTICE = r"©|\bcopyright\b|\bproject gutenberg\b|\bgutenberg(?:\.org|-tm|™)|\bisbn(?:-1[03])?\b"
_ANYWHERE = re.compile(_NOTICE, re.IGNORECASE)
_IN_ENGLISH = re.compile(
    rf"{_NOTICE}"
    r"|\btable of contents\b|\bcontents pages?\b|\backnowledge?ments? (?:section|pages?|thanks?)|^acknowledge?ments?\b"
    r"|\b(?:author|editor|translator|transcriber|publisher)['’]?s['’]? (?:foreword|preface|notes?|afterword)\b"
    r"|\b(?:note|foreword|preface|afterword) (?:by|from|on|about) the (?:author|editor|translator|publisher)\b"
    r"|\bcopyright(?:ed|s)\b|\ball rights reserved\b"
    r"|\be-?text\b|\bebook\b|\bproofread(?:ing|ers?)\b|\balso by the (?:same )?author\b"
    r"|\b(?:about|thanks?|thanked|praise for) the author\b|\bthe author (?:thanks|dedicates|acknowledges|expresses)\b"
    r"|\bforeword\b|\bpublish(?:er|ing)s? (?:information|notice|house)\b|\b(?:first )?published (?:by|in the)\b"
    r"|\b(?:book|novel|work) is dedicated to\b|\bdedication page\b|\badvertise(?:s|ment|ments) for (?:other|further)\b",
    re.IGNORECASE,
)


def matter_around(language: str) -> re.Pattern[str]:
    """What stands around a text and is not part of it; of another language than English few such words are known."""
    return _ANYWHERE if is_foreign(language) else _IN_ENGLISH


GUESSING = re.compile(
    r"\b(?:perhaps(?! (?:\d|(?:an?|one|two|three|four|five|six|ten|twenty|half)\b))|maybe|probabl[ey]|possibly"
    r"|presumably|apparently|supposedly|allegedly|conceivably|doubtless|no doubt|seem(?:s|ed|ing(?:ly)?)?"
    r"|appear(?:s|ed)? to|(?:must|may|might) (?:well )?have|may be|might well be|(?:is|was|are|were) (?:un)?likely"
    r"|as if|as though|one (?:can|may|might) (?:assume|suppose|guess|imagine)|suggest(?:s|ed|ing)?"
    r"|impl(?:y|ies|ied)|hint(?:s|ed) at|symboli[sz](?:es?|ed|ing)|embod(?:y|ies|ied)|represents?|mirrors?"
    r"|evokes?|foreshadows?|underscores?|highlights?|reveals? how|speaks? to|metaphor|a symbol of)\b",
    re.IGNORECASE,
)
"""Wording of somebody who guesses, or who reads something into a text."""

_JUDGING = (
    "amazing awesome beautiful brilliant charming clever compelling delightful elegant engaging excellent"
    " extraordinary fantastic fascinating gorgeous greatest heroic impressive incredible inspiring lovely magnificent"
    " memorable noble outstanding powerful profound remarkable spectacular splendid stunning superb terrific touching"
    " wonderful absurd awful boring cruel despicable disgusting disturbing dreadful evil foolish heartless horrible"
    " horrific naive nasty outrageous pathetic petty pointless reckless ridiculous selfish shallow shameful shocking"
    " silly stupid terrible tragic ugly unfair unfortunate wicked worthless wretched worst arguably astonishingly"
    " beautifully cleverly evidently foolishly fortunately frankly hopefully importantly incredibly inevitably"
    " ironically luckily notably obviously oddly remarkably rightly sadly surprisingly tragically truly undoubtedly"
    " unfortunately wisely wonderfully"
)
OPINION = re.compile(
    rf"\b(?:{_any_of(_JUDGING)}|in my (?:opinion|view)|I (?:think|believe|feel|find|suppose)"
    r"|we (?:can|may|should|must) \w+|to be (?:honest|fair)|of course|deserv(?:es?|ed) (?:to|better|praise|blame)"
    r"|ought (?:not )?to have|far too|all too)\b",
    re.IGNORECASE,
)
"""Praise, blame, and what else is said by somebody who judges."""

ATTRIBUTED = re.compile(
    r"\b(?:said|says|thought|thinks|believed|believes|felt|feels|knew|knows|claimed|claims|called|calls|considered"
    r"|considers|found|finds|wrote|writes|told|tells|judged|declared|declares|feared|fears|hoped|hopes|suspected|suspects"
    r"|supposed|wondered|asked|asks|according to|in (?:his|her|their) (?:opinion|view|eyes))\b",
    re.IGNORECASE,
)
"""What makes a judgment that of somebody in the text."""

REASONING = re.compile(
    r"\b(?:because|since|therefore|thus|hence|so that|so|as a result|consequently|in order to|for fear of|owing to"
    r"|due to|led to|caused|made (?:him|her|them|it)|although|though|but|yet|however|nevertheless|instead|despite"
    r"|in spite of|unless|until|whereas|while|after|before|when|if|in return|at last|finally"
    r"|meanwhile|again|no longer|never)\b",
    re.IGNORECASE,
)
"""What ties what is said to what goes before: reason, consequence, contrast, time."""
