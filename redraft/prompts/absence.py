"""The forms of an answer that speaks of the text, of us or of the answer itself, and says no more than "not there".

They are put together from who is silent (the text, we, the answer, "it") and what it does (not say, not know, not be in
the text). An object of its own, other than "it", "the answer" or a question's clause, is never part of a form: "We do
not know the enemy" is an answer. In them {text} is "the summary", {in} "in the summary", {said} "mentioned".
"""

from __future__ import annotations

from redraft.patterns import pattern

# In each language: a clause that only repeats the question, "it", and "the answer".
_WORDS: dict[str, dict[str, str]] = {
    "English": {
        "clause": r"(?:who|whom|whose|what|when|where|why|how|which|whether|if)\b.{{0,120}}",
        "it": r"(?:it|this|that)",
        "thing": r"(?:(?:the|an?|any|this|that|such|these|those)\s)?(?:(?:requested|relevant|required|needed|exact"
        r"|specific|such|further|full)\s)*(?:answers?|information|details?|data)",
        "within": r"(?:anywhere\s)?(?:in|from|within|by|throughout|based on)\s{text}",
    },
    "German": {
        "clause": r"(?:wer|wen|wem|wessen|was|wann|wo|warum|wie|welche\w*|ob|weshalb|woher|wohin)\b.{{0,120}}",
        "it": r"(?:es|das|dies|darauf|davon|dazu|darüber|hierzu|hierüber)",
        "thing": r"(?:(?:die|eine|diese|entsprechende|nähere|genaue)\s)*"
        r"(?:antwort|information(?:en)?|angaben?|auskunft)",
        "within": r"(?:im|in|aus|laut|nach)\s{text}",
    },
    "French": {
        "clause": r"(?:qui|que|ce qu|quand|où|pourquoi|comment|quel\w*|combien|si)\b.{{0,120}}",
        "it": r"(?:cela|ça|ceci|ce|c')",
        "thing": r"(?:(?:la|l'|cette|une|les|ces|aucune)\s?)?(?:réponse|information|précision|donnée|indication)s?",
        "within": r"(?:dans|par|selon|d'après)\s{text}",
    },
    "Spanish": {
        "clause": r"(?:quién\w*|quien\w*|qué|cuándo|dónde|por qué|cómo|cuál\w*|cuánt\w+|si)\b.{{0,120}}",
        "it": r"(?:esto|eso|ello)",
        "thing": r"(?:(?:la|el|esta|esa|este|ese|una|los)\s)?(?:respuesta|información|datos?|detalles?)",
        "within": r"(?:en|por|según)\s{text}",
    },
    "Italian": {
        "clause": r"(?:chi|che cosa|cosa|quando|dove|perché|come|qual\w*|quant\w+|se)\b.{{0,120}}",
        "it": r"(?:ciò|questo|esso)",
        "thing": r"(?:(?:la|l'|questa|una|il|le|i)\s?)?(?:risposta|informazion[ei]|dat[oi]|dettagli[oi]?)",
        "within": r"(?:nel|nella|nello|nell'|nei|nelle|negli|in|dal|dalla)\s?{text}",
    },
    "Portuguese": {
        "clause": r"(?:quem|o que|que|quando|onde|por que|porquê|como|qua(?:l|is)|quant\w+|se)\b.{{0,120}}",
        "it": r"(?:isso|isto|aquilo)",
        "thing": r"(?:(?:a|o|esta|essa|uma|as|os)\s)?(?:resposta|informaç(?:ão|ões)|dados?|detalhes?)",
        "within": r"(?:no|na|nos|nas|em|neste|nesta|pelo|pela)\s{text}",
    },
    "Russian": {
        "clause": r"(?:кто|кого|кому|кем|что|чего|когда|где|почему|как\w*|куда|откуда|сколько|чей|чья"
        r"|чьё|зачем)\b.{{0,120}}",
        "it": r"(?:это|этого|об этом|про это)",
        "thing": r"(?:(?:так\w+|эт\w+|нужн\w+)\s)?(?:ответ\w?|информаци\w|сведени\w|данны\w|упоминани\w)",
        "within": r"(?:в|во|из)\s{text}",
    },
}
_FORMS: dict[str, tuple[str, ...]] = {
    "English": (
        r"(?:{it}|{thing})\s?(?:is|was|are|were|'s)?\s?(?:not|n't|nowhere)\s(?:to be\s)?(?:{adverb}{said}\s)?{within}",
        r"(?:{thing})\s(?:(?:is|was|are|were|has been)\s?)?(?:(?:not|n't|nowhere)\s(?:to be\s)?(?:{adverb}{said})"
        r"|missing"
        r"|absent|lacking|omitted|unavailable|withheld)(?:\s(?:{within}|from {text}))?",
        r"(?:not|nowhere)\s{within}(?:\s(?:is|was)\s(?:{it}|{thing})\s{said})?",
        r"(?:{within},?\s)?(?:there(?:'s| is| was| are)\s)?(?:nothing|no such thing)\s(?:\S+\s){{0,2}}?{within}"
        r"(?:\s(?:about|on|of|regarding|concerning|to)\s.{{1,100}})?",
        r"(?:there(?:'s| is| was)\s)?nothing\s(?:(?:is|was)\s)?(?:{said}\s)?(?:about|regarding|concerning|on|as to)\s"
        r"(?:.{{1,80}}?\s{within}|it|this|that|the (?:matter|subject|question|point|topic))(?:\s{within})?",
        r"(?:(?:it|this|that|the (?:author|writer|narrator))\s(?:(?:simply|just)\s)?)?(?:(?:does|do)\s?(?:not|n't)\s"
        r"{adverb}(?:say|state|mention|specify|tell|indicate|explain|clarify|reveal|disclose)|never\s{adverb}(?:says"
        r"|states|mentions|specifies|tells|indicates|explains|clarifies|reveals|discloses))(?:\s(?:us|me))?"
        r"(?:\s(?:it|this|that|so|anything|him|her|them|{thing}|{clause}))?(?:\s{within})?",
        r"(?:we|one|you|i|(?:the )?readers?)\s(?:(?:simply|just|really|still)\s)?(?:(?:are|is|were|was)\s?(?:not|n't"
        r"|never)\s(?:told|given|informed)|(?:do|does|did)\s?(?:not|n't)\s(?:know|learn|find out|get to know|hear)"
        r"|(?:can|could)(?:not| not|n't|'t)\s(?:know|learn|find out|tell|say|be (?:sure|certain))|never\s(?:learn"
        r"|learns"
        r"|find out|finds out|know|hear|hears))(?:\s(?:it|this|that|{thing}|{clause}))?(?:\s{within})?",
        r"(?:{within},?\s)?(?:(?:it|that|this)\s?(?:is|'s|was)\s)?(?:not possible|impossible)\s(?:to\s(?:determine"
        r"|establish|infer|answer|identify|deduce|ascertain)\b.{{0,100}}|to\s(?:say|tell|know|find out)"
        r"(?:\s(?:it|this|that|{clause}))?(?:\s{within})?)",
        r"(?:{within},?\s)?there(?:'s| is) no way\s(?:to\s(?:know|tell|say|determine|find out|infer)|of\s(?:knowing"
        r"|telling|saying|determining))(?:\s(?:it|this|that|{clause}))?(?:\s{within})?",
        r"no (?:mention|reference)\s(?:(?:is|was|has been)\s)?(?:ever\s)?made(?:\s(?:of|to)\s(?:it|this|that|him|her"
        r"|them|such\s.{{1,40}}|.{{1,80}}?\s{within}))?(?:\s{within})?",
        r"(?:i|we|one)\s(?:can(?:not)?|could(?:n't| not)?|do not|don't|can't)\s(?:find|see)\s(?:no|any)\s(?:mention"
        r"|reference|{thing})(?:\s(?:of|to)\s.{{1,60}}?)?(?:\s{within})?",
        r"no\s(?:such\s)?(?:answer|information|detail)s?\s(?:can|could) be (?:given|found|provided)(?:\s{within})?",
        r"(?:(?:the|his|her|its|their)\s)?(?:\S+\s){{1,6}}?(?:is|are|was|were|remains?)\s(?:left\s)?(?:unspecified"
        r"|unstated|undisclosed|unmentioned)(?:\s{in})?",
        r"{it}\s(?:is|remains|stays)\s(?:left\s)?(?:unanswered|unsaid|unexplained|unstated|unspecified)(?:\s{within})?",
        r"{text}\s(?:is|are|remains?|stays?|keeps?)\s(?:\S+\s)?(?:silent|vague|mute|quiet)\b.{{0,80}}",
        r"{text}\s(?:omits?|lacks?|leaves? out)\s(?:it|this|that|{thing}|{clause})",
        r"(?:it(?:'s| is)\s)?(?:(?:not|n't)\s{adverb}(?:{said}|sure|certain)|unknown|unclear|unspecified)"
        r"(?:\s{within})?\s{clause}",
        r"(?:(?:there(?:'s| is| are)\s|i have\s)?(?:insufficient|not enough|too little)|there\s(?:is|are)n't\senough)\s"
        r"(?:info(?:rmation)?|data|context|details?)(?:\s(?:is |are )?{said})?(?:\s{within})?"
        r"(?:\s(?:to (?:answer|determine|tell|say|know|identify|infer|establish|respond)|for an answer)\b.{{0,80}})?",
        r"(?:(?!in\s)[\w'-]+\s){{0,8}}?(?:is|are)\s(?:never|nowhere)\s{adverb}(?:mentioned|stated|specified|indicated"
        r"|named|disclosed)(?:\s{within})?",
        r"(?:{it}|(?:the|his|her|its|their)\s(?:\S+\s)?(?:name|date|reason|number|place|age|price|year|cause|identity"
        r"|location|amount|time|answer)s?(?:\sof\s(?:(?!in\s)\S+\s){{0,5}}?\S+)?)\s(?:is|are)\s(?:never|nowhere)\s"
        r"(?:given|said|told|provided|revealed|explained|made clear|found)(?:\s{within})?(?:\s{clause})?",
        r"{text}\s(?:\w+ly\s)?never\s{adverb}(?:says|states|mentions|specifies|tells|gives|provides|explains|reveals"
        r"|names|indicates|identifies|answers|addresses|describes|discusses|clarifies|makes clear)\b.{{0,120}}",
        r"{it}'s\s(?:not|never|nowhere)\s{adverb}{said}(?:\s{within})?",
        r"{text}\s(?:provides?|gives?|contains?|offers?|has|have)\s(?:insufficient|too little|not enough)\s"
        r"(?:info(?:rmation)?|data|context|details?)\b.{{0,80}}",
        r"{text}\s(?:do(?:es)?)\s?(?:not|n't)\sgo into\s(?:it|this|that|{thing}|{clause})",
        r"(?:it(?:'s| is)\s)?(?:hard|difficult) to (?:say|tell|know|determine)\s{within}",
        r"missing (?:information|info|data)(?:\s{within})?",
        r"nothing\s{within}\s(?:answers|says|states|mentions|tells|indicates|explains|specifies)"
        r"(?:\s(?:us|me))?(?:\s(?:it|this|that|so|the question|{clause}))?",
        r"nothing\s(?:about|on|of|regarding)\s{it}\s(?:is|was)\s{said}(?:\s{within})?",
        r"(?:(?:{thing})\s)?(?:cannot|can not|can't|could not|couldn't)\sbe\s(?:found|given|determined|known|inferred)"
        r"(?:\s{within})?",
    ),
    "German": (
        r"(?:(?:{it}|{thing})\s)?(?:steht|stehen|ist|sind|(?:findet|finden) sich|kommt|wird)\s(?:so\s)?(?:nicht|nichts"
        r"|nirgends|nirgendwo)\s(?:{adverb}{said}\s)?{within}(?:\s(?:{said}|vor))?",
        r"nicht\s{within}(?:\s{said})?",
        r"{it}\s(?:schweigt|schweigen)\s{text}",
        r"{it}\s(?:sagt|sagen|erwähnt|nennt|verrät|gibt|enthält|macht|erklärt|berichtet|steht)\s{text}\s(?:leider\s)?"
        r"(?:nichts|nicht|keine\s\S+)",
        r"(?:{it}\s)?(?:wissen|erfahren|weiß|weiss|erfährt)\s(?:wir|man|der leser|ich)\s(?:(?:es|das)\s)?(?:nichts?)"
        r"(?:\s{within})?",
        r"(?:wir|man|der leser|ich)\s(?:wissen|erfahren|weiß|weiss|erfährt)\s(?:{it}\s)?(?:{within}\s)?nichts?"
        r"(?:\s{it})?(?:,\s{clause})?",
        r"keine\s(?:(?:genaue|nähere|konkrete|weitere)\s)?information(?:\s(?:dazu|darüber|hierzu|vorhanden|verfügbar"
        r"|{within}))*",
        r"(?:es\sfehl(?:t|en)\s{thing}|{thing}\s(?:fehl(?:t|en)|(?:ist|sind)\snicht\s(?:{said})))(?:\s(?:dazu|darüber"
        r"|hierzu|{within}))*",
        r"(?:(?:es|das)\s)?(?:(?:wird|ist|steht)\s)?nicht\s{adverb}(?:{said})(?:\s{within})?,\s{clause}",
        r"(?:es|das|dies)\sbleibt\s(?:{within}\s)?(?:offen|unklar|ungesagt|unerwähnt|unbeantwortet)(?:,\s{clause})?",
        r"(?:{within}\s)?(?:es\s)?(?:ist\s)?(?:es\s)?(?:{within}\s)?(?:nicht möglich|unmöglich),?\s.{{0,80}}zu\s"
        r"(?:bestimmen|sagen|beantworten|ermitteln|erkennen|wissen)",
        r"{it}\sgibt\s{text}\skeine\s(?:antwort|auskunft)",
        r"(?:es\sist\s|(?:{within}\s)ist es\s)?(?:unklar|unbekannt|ungewiss|nicht klar|nicht bekannt),?\s{clause}",
        r"(?:(?:{within}\s)?es gibt\s|(?:{within}\s)?es (?:liegen|sind)\s)?(?:{it}\s)?(?:nicht genug|nicht genügend"
        r"|nicht ausreichend|zu wenige?|keine ausreichenden?|unzureichende)\s(?:information(?:en)?|angaben|daten)"
        r"(?:\s{within})?(?:\s(?:vor|vorhanden|verfügbar))?(?:,?\s(?:um|für|zur|zum)\s.{{1,80}})?",
        r"(?:(?:{it}|die frage|diese frage)\s)?kann\s(?:{within}\s)?nicht\s(?:beantwortet|bestimmt|ermittelt"
        r"|festgestellt|gesagt)\swerden(?:\s{within})?",
    ),
    "French": (
        r"(?:{it}|{thing})\s?(?:n'est|n'apparaît|ne figure|ne se trouve)\s(?:pas|nulle part)\s(?:{adverb}{said}"
        r"(?:\s{within})?|{within})",
        r"(?:{it}|{thing})\s?est\s(?:absente?|manquante?)(?:\s(?:du|de la|de l'|de)\s?{text})?",
        r"(?:il n'y a\s)?rien\s(?:(?:n'(?:y )?est\s(?:dit|précisé|indiqué|mentionné)|{within}|à ce sujet|là-dessus"
        r"|sur (?:ce point|cela|le sujet|ce sujet))\s?)+",
        r"(?:on|nous|je|le lecteur)\s(?:ne\s|n'(?:en\s)?)(?:le\s|l')?(?:sait|savons|sais|apprend|apprenons)\s(?:pas"
        r"|rien)"
        r"(?:\s(?:{clause}|{within}))?",
        r"(?:on\s(?:l')?ignore|nous\s(?:l')?ignorons)(?:\s{clause})?",
        r"(?:(?:il|ça|cela)\s)?ne\s(?:(?:le|en)\s|l')?(?:dit|précise|mentionne|indique|parle)\spas(?:\s{clause})?",
        r"{thing}\s(?:non\s{said}|indisponibles?|manquantes?|absentes?)(?:\s{within})?",
        r"{text}\s(?:reste|demeure|est)\s(?:muet(?:te)?|silencieux|silencieuse)\b.{{0,60}}",
        r"(?:{within},?\s)?il n'est pas possible\s(?:de\s|d')(?:le\s)?(?:déterminer|dire|répondre|savoir"
        r"|établir)\b.{{0,80}}",
        r"(?:{within},?\s)?il n'est (?:fait (?:aucune )?mention de (?:cela|ceci)|pas (?:dit|précisé|indiqué)\s?"
        r"(?:{clause})?)(?:\s{within})?",
        r"(?:il n'y a\s)?(?:pas assez|pas suffisamment)\s(?:d'(?:informations?|éléments|indications)|de (?:détails"
        r"|données|précisions))(?:\s{within})?(?:\spour\s.{{1,80}})?",
        r"(?:(?!dans\s)[\w'-]+\s){{0,8}}?n'est\sjamais\s(?:mentionné|précisé|indiqué|spécifié)e?s?(?:\s{within})?",
        r"(?:le nom|la date|la raison|la cause|le prix|l'âge|l'année)\s(?:d\S+\s(?:\S+\s){{0,3}}?)?n'est\sjamais\s"
        r"(?:donnée?|dite?)(?:\s{within})?",
        r"rien\s{within}\sne\s(?:le\s|l')?(?:dit|indique|précise|mentionne|permet)\b.{{0,60}}",
        r"(?:je|nous|on)\sne\strouv(?:e|ons)\s(?:pas|aucune?)\s(?:{thing})(?:\s{within})?",
    ),
    "Spanish": (
        r"(?:(?:{it}|{thing})\s)?no\s(?:está|aparece|figura|consta|se encuentra|viene)\s(?:{adverb}{said}\s)?{within}",
        r"(?:{it}\s)?no\s(?:nos\s)?(?:lo|la)\s(?:menciona|dice|indica|especifica|explica|aclara|precisa|revela"
        r"|nombra)n?(?:\s{within})?",
        r"no\s(?:dice|menciona|especifica|indica|explica|aclara)(?:\s{clause})?",
        r"(?:{it}\s)?no\s(?:(?:lo\s)?sabemos|se (?:nos )?(?:dice|sabe|conoce)"
        r"|lo sabe el lector)(?:\s{clause})?(?:\s{within})?",
        r"lo (?:desconocemos|ignoramos)|(?:se desconoce|desconocemos|ignoramos)\s{clause}",
        r"(?:no (?:hay|se dice|dice|menciona|se menciona)\s)?nada\s(?:(?:se\s(?:dice|menciona|indica|sabe)|al respecto"
        r"|sobre (?:eso|esto|ello|el tema)|de (?:eso|esto)|{within})\s?)+",
        r"{text}\s(?:guarda silencio|calla|omite (?:eso|esto|{thing}))\b.{{0,40}}",
        r"no se hace\s(?:ninguna\s)?(?:mención|referencia)(?:\s(?:a|de)\s(?:eso|esto|ello))?(?:\s{within})?",
        r"(?:no|ningun[oa])\s(?:encuentro|se encuentra|encontré|hallo)\s{thing}(?:\s{within})?",
        r"(?:falta|faltan)\s{thing}(?:\s{within})?",
        r"no (?:hay|existen?|tengo|se dan?)\s(?:la\s)?(?:suficientes?|bastantes?)\s(?:información|datos"
        r"|detalles|contexto)(?:\s{within})?(?:\spara\s.{{1,80}})?",
        r"(?:(?!en\s)[\w'-]+\s){{0,8}}?(?:no|nunca) se\s(?:menciona|especifica|indica|precisa|proporciona)n?"
        r"(?:\s{within})?",
    ),
    "Italian": (
        r"(?:(?:{it}|{thing})\s)?non\s(?:è|c'è|sta|compare|appare|figura|si trova"
        r"|risulta)\s(?:{adverb}{said}\s)?{within}",
        r"(?:{it}\s)?non\s(?:lo|la|ne|se ne|ce lo)\s(?:menziona|dice|indica|specifica|spiega|parla|nomina|precisa"
        r"|cita)(?:\s{within})?",
        r"non\s(?:dice|menziona|specifica|indica|spiega)(?:\s{clause})?",
        r"non\s(?:(?:lo\s)?sappiamo|si sa|è dato sapere|(?:ci\s)?viene detto)(?:\s{clause})?(?:\s{within})?",
        r"(?:lo ignoriamo|ignoriamo\s{clause})",
        r"(?:non (?:c'è|si dice|viene detto|dice)\s)?(?:nulla|niente)\s(?:(?:(?:viene|è|si)\s(?:detto|menzionato|dice)"
        r"|al riguardo|in proposito|in merito|su (?:questo|ciò|di ciò)|{within})\s?)+",
        r"{text}\s(?:tace|tacciono|omette|sorvola)\b.{{0,60}}",
        r"{thing}\s(?:assent[ei]|mancant[ei]|(?:è|sono)\s(?:assent[ei]|mancant[ei]))(?:\s{within})?"
        r"|manca(?:no)?\s{thing}"
        r"(?:\s{within})?",
        r"(?:{within}\s)?non\s(?:si trova|trovo|c'è)\s{thing}(?:\s{within})?",
        r"non\s(?:ci sono|c'è|si hanno|ho)\s(?:abbastanza|sufficienti)\s(?:informazioni|dati|dettagli|elementi)"
        r"(?:\s{within})?(?:\sper\s.{{1,80}})?",
        r"(?:(?!nel)[\w'-]+\s){{0,8}}?non\s(?:viene|vengono|è|sono)\smai\s(?:(?:menzionat|specificat|indicat"
        r"|precisat)[oaie]|detto)(?:\s{within})?",
    ),
    "Portuguese": (
        r"(?:(?:{it}|{thing})\s)?não\s(?:está|aparece|figura|consta|se encontra|vem)\s(?:{adverb}{said}\s)?{within}",
        r"(?:{it}\s)?não\s(?:nos\s)?(?:o|a)\s(?:menciona|diz|indica|especifica|explica|esclarece"
        r"|revela)(?:\s{within})?",
        r"não\s(?:o\s)?(?:diz|menciona|especifica|indica|explica|esclarece)(?:\s{clause})?",
        r"não\s(?:(?:o\s)?sabemos|se sabe|nos é dito|é dito)(?:\s{clause})?(?:\s{within})?",
        r"desconhecemos(?:\s{clause})?|(?:não se sabe|desconhece-se)\s{clause}",
        r"(?:não (?:há|se diz|diz|menciona)\s)?nada\s(?:(?:(?:é|foi)\s(?:dito|mencionado)|se diz|a respeito"
        r"|a esse respeito"
        r"|sobre (?:isso|isto)|{within})\s?)+",
        r"{text}\s(?:(?:silencia|cala|omite)\b.{{0,40}}|não\s(?:\w{{1,4}}\s)?(?:aborda|trata|refere"
        r"|explicita)\s(?:disso"
        r"|isso|isto|{thing}))",
        r"não (?:é|se) (?:feita|faz)\s(?:qualquer |nenhuma )?(?:menção|referência)(?:\s(?:a|d)(?:isso"
        r"|isto))?(?:\s{within})?",
        r"não (?:há|existe)\s(?:qualquer\s|nenhuma\s)?(?:menção|referência)\sa\s(?:isso|isto)(?:\s{within})?",
        r"(?:(?!n[oa]s?\s)[\w'-]+\s){{0,8}}?nunca (?:é|são)\s(?:mencionad|especificad|indicad)[oa]s?(?:\s{within})?",
        r"não\s(?:encontro|encontrei|se encontra)\s{thing}(?:\s{within})?|falta(?:m)?\s{thing}(?:\s{within})?",
    ),
    "Russian": (
        r"(?:(?:(?:{it}|{thing}|{within}|здесь)\s)+(?:нет|отсутству\w+)(?:\s(?:{it}|{thing}|{within}))?|(?:нет"
        r"|отсутству\w+)(?:\s(?:{it}|{thing}|{within}))+)",
        r"{thing}\s(?:{within}\s)?не\s(?:{said}|найден\w?|име\w+)(?:\s{within})?",
        r"(?:мы|я|читатель|читателю|нам)\s(?:{it}\s)?не\s(?:знаем|знаю|узна[её]м|зна[её]т|узна[её]т|известно|сообща\w+"
        r"|говор\w+|сказано)(?:\s(?:{it}|ответа))?(?:,\s{clause})?",
        r"(?:(?:прямо|точно)\s)?(?:не\s{adverb}{said}|неизвестно|неясно|непонятно),?\s{clause}",
        r"{it}\s(?:ничего\s)?не\s(?:упомина\w+|говор\w+|сообща\w+|указыва\w+|уточня\w+)|не\s(?:упомина\w+|говор\w+"
        r"|сообща\w+|указыва\w+|уточня\w+)\s{it}",
        r"(?:{within}\s)?недостаточно\s(?:информации|данных|сведений)(?:\s{within})?(?:,?\s(?:для|чтобы)\s.{{1,80}})?",
        r"(?:(?!во?\s|на\s|из\s)[\w'-]+\s){{1,5}}?не\s{adverb}(?:указан[оаы]?|упомина[ею]тся|упомянут[оаы]?|назван[оаы]?"
        r"|называ[ею]тся|уточня[ею]тся|сообща[ею]тся)(?:\s{within})?",
        r"(?:я\s|мы\s)?не\s(?:могу|можем|удалось)\s(?:найти|дать)\s{thing}(?:\s{within})?",
    ),
}
_CHINESE = (
    r"(?:(?:该|本|此|所给|给定|提供的|上述|这段|这篇|这些|以上)*(?:文中|文本|摘要|原文|总结|文章|材料|段落|概要|文档"
    r"|上下文|片段|节选|内容|资料|概述|作者)(?:中|里|内|本身)*)"
)
_TELLS = (
    r"(?:明确|具体|直接|任何)*(?:提及|提到|提过|说明|说|提|给出|提供|涉及|交代|指出|写明|描述|回答|记载|透露|解释|讨论)"
)
_THIS = r"(?:答案|这一点|这点|此事|该信息|相关信息|这个信息|相关内容|对此|关于此事|关于这一点|这个问题|这个|此|这)"
_ASKS = r"(?:是?谁|什么|何时|何地|哪里|哪儿|哪个|为什么|为何|如何|怎么|多少|几)"
_JAPANESE = (
    r"(?:(?:この|その|与えられた|提供された|上記の|本)*(?:本文|要約|文中|文章|テキスト|パッセージ|抜粋|文脈|原文|内容)"
    r"(?:中|内|の中)?)"
)
_NOT_THERE = (
    r"(?:ありません|ございません|ない|なし|見つかりません|見つからない|見当たりません|見当たらない"
    r"|含まれて(?:いない|いません)"
    r"|不足して(?:いる|います)|不足です|不十分(?:です|だ)?|不明(?:です|だ|である)?|(?:分|わ)か(?:らない|りません)"
    r"|(?:述べら|書か|触れら|示さ|語ら|言及さ|記載さ|説明さ|記述さ|明記さ|明らかにさ)れて(?:は)?(?:いない|いません"
    r"|おりません))"
)
_ITS = (
    r"(?:(?:該当する|関連する|そのような|それに関する|具体的な|十分な|必要な|この|その)*(?:答え|回答|情報|記述|言及|説明|記載|詳細|手がかり)"
    r"|その点|この点|それ|これ|そのこと|このこと)"
)
UNSPACED = (
    rf"(?:我)?(?:回答|判断|确定|说)不(?:了|出|清)(?:{_THIS})?",
    rf"{_THIS}?[，,]?(?:并)?(?:不在|未在|没有?在|没有?出现在|未出现在){_CHINESE}(?:{_TELLS})?",
    rf"{_THIS}[，,]?(?:在)?(?:{_CHINESE})?[，,]?(?:并)?(?:没有|未曾|未|没)(?:被)?{_TELLS}",
    rf"{_CHINESE}(?:并)?(?:没有|没|未)(?:有)?{_TELLS}(?:过|到)?(?:{_THIS})?|{_CHINESE}(?:对此|关于此事)?(?:只字未提|避而不谈|对此沉默)",
    rf"(?:我们|我|读者|人们|目前|尚|也|并)*(?:不知道|不清楚|不得而知|无法得知|无从得知|无从知晓|无从判断)"
    rf"(?:{_THIS}|{_ASKS}.{{0,16}})?",
    rf"(?:并)?(?:没有|未|没)(?:有)?{_TELLS}(?:是|了|过|到)?{_ASKS}.{{0,16}}",
    r"(?:所给|相关|提供的)*(?:信息|资料|内容|上下文|依据)(?:不足|不够|缺失|缺乏|不存在|不可用|有限)(?:[，,以].{0,20})?",
    r"(?:没有|没|未|未能)(?:找到|发现|查到|见到)(?:相关|任何|的)*(?:信息|答案|内容|说明|记载|线索)",
    r"没有(?:任何)?关于.{1,20}的(?:信息|内容|说明|记载|描述)",
    r"(?:不明|不詳|未詳|不明確|不明瞭)(?:です|でした|である|だ|のまま(?:です)?)",
    rf"{_ITS}(?:に(?:は|ついて(?:は)?|関して(?:は)?))?(?:は|が|も)?(?:{_JAPANESE})?(?:に(?:は)?|で(?:は)?|から(?:は)?)?"
    rf"(?:特に|何も|明確に|全く|一切)?{_NOT_THERE}",
    rf"(?:{_JAPANESE}(?:に|で|から)(?:は)?)?(?:誰|何|いつ|どこ|なぜ|どう|どのよう|どの).{{0,12}}か(?:は|が"
    rf"|について(?:は)?|も)?"
    rf"(?:特に|何も|明確に)?{_NOT_THERE}",
    rf"(?:{_JAPANESE}(?:に|で)(?:は)?)?(?:何も|一切)(?:述べら|書か|触れら|示さ|言及さ|記載さ)れて(?:いない|いません)",
    r"(?:知りません|存じません|(?:私たち|我々|読者|私)(?:に)?は(?:(?:分|わ)か(?:りません|らない)"
    r"|知らされて(?:いない|いません)))",
)
"""The same in the languages that put no spaces between words."""

SIGNS = {
    "English": pattern(
        r"\b(?:n[o\/]|not|none|null|nil|tbd|un\w+|in\w+|no\w+|can\w+|lacking|too little|silent|fails?|missing"
        r"|absent|lacks?|omit\w*|vague|mute|quiet|leaves?|left|never|hard|difficult)\b|n't"
    ),
    "German": pattern(
        r"\b(?:un\w+|nichts?|keine?n?|k\.?\s?a|nirgend\w+|fehl\w+|schweig\w+|bleibt|dazu|darüber|sich aus"
        r"|offen|zu wenige?)\b"
    ),
    "French": pattern(
        r"\b(?:inconnu|in\w+|pas|jamais|non|ne|sans|néant|ignore|aucune?|impossible|rien|nulle|absent|manquant|muet"
        r"|silencieu|ignor)"
    ),
    "Spanish": pattern(
        r"\b(?:descono|inde|in\w+|no|nunca|sin|ni|ninguna|nada|falta|guarda|calla|omite|lo|ignoramos|desconoc|imposible"
        r"|se desconoce)"
    ),
    "Italian": pattern(
        r"\b(?:sconosciut|ignot|in\w+|non|senza|nessuna?|nulla|niente|manca|assent|tac|omette|sorvola|ignor|lo"
        r"|impossibile)"
    ),
    "Portuguese": pattern(r"\b(?:desconhec|in\w+|não|nunca|sem|nenhuma?|nada|falta|silencia|cala|omite|impossível)"),
    "Russian": pattern(r"\b(?:не|нет|без|н/д|ничего|умалчивает|молчит|нельзя|отсутств\w+)"),
}
"""What each form of a language has in it: where it is missing, they need not be looked at, nor made ready."""

# A document, unlike a summary, may be a thing that the story is about: that it names no heir is an answer.
_A_DOCUMENT = pattern(
    r"(?:the|this|that) (?:documents?|articles?|materials?|sources?)\s|(?:das|dieses|im|dem) (?:dokument|artikel)\s"
    r"|(?:le|ce|dans le) document\s|(?:el|este|en el) documento\s|(?:il|questo|nel) documento\s|(?:o|este"
    r"|no) documento\s"
    r"|(?:(?:в|этот|этом)\s)?документе?\s|(?:この|その)?文書(?:に|は|が|で)|(?:该|这份|此)?文件"
)
# What is said of a text that does not hold an answer: words for answers, for "it", and those that questions begin with.
_OF_AN_ANSWER = pattern(
    r"\b(?:answers?|informations?|informationen|(?:no|any) mention|mentions? of|details?|data|indications?"
    r"|references?|evidence|names?"
    r" of|the (?:\S+ )?(?:name|date|year|number|reason|place|age|cause|time|location|identity)s?|questions?|who|whom"
    r"|whose|what|when|where|why|how|which|whether|if|it|this|that|him|her|them|anything|nothing|silent|unclear)\b"
    r"|\b(?:say|state|specify|tell|contain|mentioned|stated|specified|given|provided|said|found|named|known|available)$"
    r"|\b(?:antwort|angaben?|auskunft|hinweise?|dazu|darüber|davon|nichts|nicht|wer|wen|was|wann|wo|warum|wie|ob"
    r"|frage)\b"
    r"|\b(?:réponse|aucune mention|indication|précision|rien|pas|qui|quand|où|pourquoi|comment|cela|ça)\b"
    r"|\b(?:respuesta|información|mención|dato|datos|lo|eso|esto|quién|qué|cuándo|dónde|nada)\b|\bno se\b"
    r"|\b(?:risposta|informazion[ei]|menzione|non lo|non ne|ciò|questo|chi|cosa|quando|dove|nulla|niente)\b"
    r"|\bnon (?:è|si|viene)\b"
    r"|\b(?:resposta|informaç\w+|menção|isso|isto|quem|quando|onde|nada|diz|consta)\b|\bnão (?:é|se|está|foi)\b"
    r"|(?:ответ|информаци|сведени|упоминани|данных|об этом|этого|это|ничего|кто|что|когда|где|почему|указан|сказан"
    r"|говорится|сообщ|упомина|уточн)"
    r"|情報|答|言及|記載|書か|述べ|触れ|示さ|明記|説明|記述|分か|わか|判断|不明|特定|読み取|提及|提到|说明|给出"
    r"|信息|没有提|回答|确定|说"
)


def speaks_of_a_document(words: str) -> bool:
    """Whether an answer says what a document lacks that is no answer: "The document does not name an heir"."""
    return bool(_A_DOCUMENT.match(words)) and not _OF_AN_ANSWER.search(words)


def forms(language: str) -> tuple[str, ...]:
    """The forms of a language, in which {text}, {in}, {said} and {adverb} are still to be filled in."""
    filled = _FORMS[language]
    for name, form_of in _WORDS[language].items():
        filled = tuple(form.replace(f"{{{name}}}", f"(?:{form_of})") for form in filled)
    return filled
