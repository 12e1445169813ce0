"""The words by which an answer says that a text holds none, in nine languages.

They are told by the form of the whole answer: it says of the text, or of what was asked for, that it is not there, and
says nothing else. A real answer may hold the same words: "He did not mention the letter", "None of them survived".
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from redraft.patterns import pattern
from redraft.prompts import absence

_SIGN = "UNANSWERABLE"

_LONGEST = 400
"""The most characters of an answer that says no more than that."""
_MARKS = " \t.,:;!?\"'`*_()[]{}<>«»„“”‘’‚‹›…-–—。．，、！？：；「」『』（）【】·"
# What stands before it: a word of regret, or a name for what follows.
_LEAD = pattern(
    r"(?:(?:i(?: a|')m (?:very |so |really )?(?:sorry|afraid)(?:,? but|,? that)?|sorry,? but|it (?:seems"
    r"|appears)(?: that)?"
    r"|apparently|as an ai(?: language)?(?: model)?"
    r"|as far as (?:i|we|one) can tell|es tut mir leid(?:,? aber)?|je suis désolée?(?:,? mais)?"
    r"|lo siento,? pero|mi dispiace,? ma|sinto muito(?:,? mas)?|sorry|unfortunately|regrettably|answer|a"
    r"|the answer is|the answer|hm+|well|leider|entschuldigung|antwort"
    r"|désolée?|malheureusement|réponse|lo siento|lamentablemente|desafortunadamente|respuesta|purtroppo"
    r"|mi dispiace|spiacente|risposta|infelizmente|desculpe|resposta|к сожалению|извините|ответ|抱歉|很抱歉|对不起"
    r"|答案|回答|答え|申し訳ありませんが|すみません)\b[\s,:：，、.*—–-]*)+"
)
# Where an answer goes on after it has said so: to say why, or what there is instead.
_GOES_ON = pattern(
    r"(?<=\S)(?:[.;!?。；！？]+(?=\s|$|[^\W\d_])|\s*[(（]|\s+[-–—]+\s+|\s*\n|,\s*(?=(?:but(?! (?:in|at|on|under"
    r"|near|by)\b)|though|although|however|only"
    r"|as|since"
    r"|because|so|aber|jedoch|sondern|da|weil|nur|mais|car|puisque|pero|sino|ya que|porque|ma|poiché|perché|però"
    r"|mas|porém|pois|но|а|поскольку|так как|только)\b)|[，、](?=但|因为|只|ただ))"
)
_STARTS_WITH_SIGN = pattern(rf"\W*{_SIGN}\b", re.IGNORECASE)

# In each language: what an answer is taken from, and the forms that say that it does not hold it. {text} is the
# former with the words before it, {in} is "in the text", {by} the same or nothing; a dot pattern says what is missing.
_FORMS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "English": (
        r"(?:(?:the|this|that|these|those|any of the|either|our|your)\s)?(?:(?:given|provided|above|supplied"
        r"|available|whole"
        r"|present|source|following)\s)*(?:texts?|summar(?:y|ies)|documents?|passages?|excerpts?|articles?|context"
        r"|materials?|sources?|sentences?|information|paragraphs?|content)(?:\s(?:alone|itself|provided|given|above"
        r"|at hand))?",
        r"(?:(?:anywhere|explicitly|directly|specifically)\s)*(?:in|by|from|within|on the basis of|based on"
        r"|according to"
        r"|with|using|per|throughout|as per)\s{text}|(?:here|anywhere)",
        (
            r"none|null|nil|n\s?/\s?a|tbd|not applicable|unknown|unclear|undetermined|indeterminate|uncertain"
            r"|unspecified|unstated|undisclosed|undefined|unsure"
            r"|unavailable|unanswered|not answerable|no answer|no idea|no clue|no data"
            r"|(?:answer|it is|it's|this is|that is|this remains|the answer is) (?:unknown|unclear|undetermined"
            r"|unspecified"
            r"|unstated|not available|not known|unavailable|unanswerable|not answerable|not clear|not given|not stated"
            r"|not mentioned|not specified|not there|not provided|not found)(?:\s{in})?",
            r"(?:unknown|unclear|unspecified|unstated|undetermined|unanswerable)\s{in}",
            r"(?:(?:it|this|that|which|the answer) (?:is|was|are|has|had|were)\s)?(?:is\s|are\s|was\s|has\s)?(?:n't"
            r"|not)\s(?:been\s)?{adverb}"
            r"{said}(?:\s{in})?",
            r"{in},?\s(?:it|this|that|the answer|the question|they) (?:is|was|can|could|are)\s?(?:not|n't)\s?(?:be\s"
            r"|been\s)?"
            r"{adverb}(?:{said}|determined|inferred|known|told|derived|established)",
            r"(?:{in},?\s)?(?:the|this|that|these|such|any|an)?\s?(?:[\w'’-]+\s){{0,8}}?(?:is|are)\s?(?:not"
            r"|n't)\s{adverb}{said}(?:\s{in})?",
            r"(?:the|this|that|these|such|any|an)?\s?(?:[\w'’-]+\s){{0,8}}?(?:was|were|has been|have been|had been)"
            r"\s?(?:not|n't|never)\s{adverb}{said}\s{in}",
            r"(?:{in},?\s)?(?:there(?:'s| is| are| was)\s)?(?:absolutely\s)?no\s(?:(?:such|specific|explicit|direct"
            r"|clear|further"
            r"|relevant|exact|particular)\s)*(?:info(?:rmation)?|mention|reference|answer|details?|data|indication)"
            r"(?:\s(?:is |are |was |were )?{said})?(?:\s(?:on|about|of|regarding|as to|for|to|concerning)"
            r"(?:\s(?!in\b|by\b|from\b|was\b|were\b)\S+){{1,14}}?)?(?:\s(?:is |are |was |were )?{said})?(?:\s{in})?",
            r"no\s(?:[\w'’-]+\s){{1,4}}(?:is|are)\s(?:ever\s)?{adverb}{said}(?:\s{in})?",
            r"no\s(?:[\w'’-]+\s){{1,4}}(?:was|were|has been|have been)\s(?:ever\s)?{adverb}{said}\s{in}",
            r"(?:insufficient|not enough|too little|lacking)\s(?:information|data|context|detail|evidence)\b.{{0,80}}",
            r"(?:{in},?\s)?(?:it|this|that|the question|the answer|this question|that question)?\s?(?:cannot"
            r"|can\s?not|can't|can’t|could not|couldn't)"
            r"\s(?:be\s)?(?:answered|answer|determined?|inferred?|known?|tell|told|say|established?|derived?)"
            r"(?:\s(?:this|that|the question|it|this question))?(?:\s{in})?",
            r"(?:i(?:'m|\sam)?\s)?(?:unable|not able) to (?:answer|determine|tell|say|find|infer|identify)\b.{{0,80}}",
            r"i(?:'m| am) not sure|not sure|i (?:do not|don't|don’t) (?:know|have (?:enough|that|this|the"
            r"|any) (?:information|answer))\b.{{0,60}}",
            r"i (?:cannot|can't|can’t|could not|couldn't) (?:find|answer|determine|tell|infer|say|identify)\b.{{0,80}}",
            r"(?:{in},?\s)?{text}\s(?:(?:explicitly|actually|simply|only|itself)\s)*(?:do(?:es)?|did|ha(?:s|ve)|is"
            r"|are|can)?\s?(?:not|n't|n’t|never|cannot)\s"
            r"{adverb}(?:say|state|mention|specify|contain|provide|give|include|answer|indicate|explain|address|tell"
            r"|reveal"
            r"|identify|name|discuss|describe|clarify|offer|cover|hold|have|disclose|elaborate|supply|speak|refer|list"
            r"|make clear|make (?:any )?mention)\b.{{0,160}}",
            r"{text}\s(?:(?:explicitly|actually|simply)\s)*(?:says?|states?|mentions?|gives?|provides?|contains?"
            r"|offers?|makes?|has|have|is|are|leaves?|fails?|holds?|includes?)\s"
            r"(?:(?:absolutely\s)?nothing|no (?:information|mention|answer|details?|indication|reference|data|such)"
            r"|silent|unclear|it open|this open|to (?:say|mention|state|specify))\b.{{0,120}}",
            r"nothing(?:\s\S+){{0,4}}\s{said}\s.{{0,60}}?{in}|nothing (?:about|on|of) (?:it|this|that)\s{in}",
        ),
    ),
    "German": (
        r"(?:(?:der|die|das|dem|den|des|diese[rmns]?|vorliegende[rmns]?|einem|einer)\s)?(?:(?:vorliegenden?"
        r"|gegebenen?|angegebenen?|obigen?|bereitgestellten?|genannten?)\s)*"
        r"(?:text(?:e?s)?|zusammenfassung(?:en)?|dokument(?:en?|s)?|passagen?|textpassagen?|abschnitt(?:en?|s)?"
        r"|textabschnitt(?:en?)?|auszug(?:s|es)?|textauszug"
        r"|textstellen?|stellen?|quellen?|artikels?|sätzen?|materials?|kontexts?|informationen)",
        r"(?:im|in|aus|laut|anhand|nach|vom|von|auf basis|auf grundlage|mit)\s{text}|hier|darin|daraus|dort|dazu",
        (
            r"unbekannt|unklar|ungewiss|unbestimmt|unbeantwortbar|nicht beantwortbar|weiß nicht|weiss nicht|k\.?\s?a"
            r"|keine ahnung",
            r"keine\s(?:(?:genauen?|näheren?|konkreten?|weiteren?)\s)*(?:angaben?|antwort|informationen?|auskunft"
            r"|hinweise?|daten|erwähnung|nennung)(?:\s(?:möglich|vorhanden|verfügbar|enthalten|gegeben|gefunden))?"
            r"(?:\s(?:zu|über|dazu|hierzu|darüber|zum|zur)\b(?:(?!\sim\b"
            r"|\sin\b).){{0,80}})?(?:\s(?:{in}))?(?:\s(?:vorhanden|verfügbar|enthalten|möglich|gefunden))?",
            r"(?:(?:es|das|dies|die antwort)?\s?(?:ist|wird|wurde|steht"
            r"|bleibt)\s)?(?:(?:{in})\s)?nicht\s{adverb}{said}(?:\s(?:{in}))?",
            r"(?:(?:{in})\s)?(?:wird|ist|werden|sind|steht|stehen)\s(?:das |dies |es |die antwort |davon |dazu "
            r"|darüber )?(?:nicht|nichts|keine?)\b.{{0,80}}",
            r"(?:[\wäöüß'’-]+\s){{1,8}}?(?:wird|werden|ist|sind)\s(?:(?:{in})\s)?nicht\s{adverb}{said}(?:\s(?:{in}))?",
            r"(?:[\wäöüß'’-]+\s){{1,8}}?(?:wurden?|war|waren)\s(?:(?:{in})\s)nicht\s{adverb}{said}",
            r"(?:{in})\s.{{0,60}}\b(?:nicht|keine?n?|nichts)\b.{{0,80}}",
            r"{text}\s(?:(?:selbst|allein|ausdrücklich)\s)?(?:sagt|erwähnt|nennt|enthält|enthalten|gibt|geben|macht"
            r"|machen|verrät|liefert|liefern|beantwortet|spricht|äußert|nennen"
            r"|erwähnen|sagen|bietet|schweigt|lässt|lassen|geht|erklärt|beschreibt|spezifiziert"
            r"|bestimmt)\b(?:.{{0,80}}\b(?:nicht|nichts|keine?n?|offen)\b.{{0,80}}|\s(?:dazu|darüber|sich aus))",
            r"(?:das|dies|es|die frage|diese frage|die antwort|darüber|dazu)\s?(?:lässt sich|kann|ist|geht|gibt es"
            r"|steht|wird)?\s?.{{0,40}}\b(?:nicht|keine?|nichts)\b\s?(?:zu\s)?(?:{adverb})"
            r"(?:beantworten|beantwortet|beantwortbar|bestimmen|bestimmt|sagen|entnehmen|beantwortet werden"
            r"|bestimmt werden|hervor|gesagt|angaben?|antwort|informationen?|bekannt|erwähnt|ersichtlich"
            r"|enthalten)(?:\swerden)?(?:\s{in})?",
            r"(?:(?:{in})\s)?(?:geht|lässt sich|ist)\s.{{0,40}}nicht\s(?:hervor|entnehmen|beantworten|sagen"
            r"|bestimmen|zu entnehmen|ersichtlich).{{0,20}}",
            r"(?:ich\s)?(?:weiß|weiss) (?:es |das )?(?:ich\s)?nicht"
            r"|(?:ich\s)?kann (?:ich )?.{{0,40}}nicht (?:beantworten|sagen|bestimmen)",
            r"es gibt (?:dazu |hierzu |darüber )?keine\s(?:angaben?|information(?:en)?|hinweise?|antwort"
            r"|erwähnung)\b.{{0,80}}",
        ),
    ),
    "French": (
        r"(?:(?:le|la|les|l['’]|ce|cet|cette|ces|des|un|aucun des|au|aux|du|de la|de l['’])\s?)?(?:textes?|résumés?"
        r"|documents?|passages?|extraits?|articles?|contextes?|sources?|phrases?|informations?)"
        r"(?:\s(?:fournie?s?|donnée?s?|ci-dessus|proposée?s?|seul|présentée?s?))?",
        r"(?:dans|par|selon|d['’]après|à partir|au sein|sur la base)\s?(?:de\s|d['’])?{text}|ici",
        (
            r"inconnue?s?|indéterminée?s?|incertaine?|pas (?:clair|connu)|sans réponse|sans objet|néant"
            r"|non applicable|je l['’]ignore",
            r"(?:(?:ce|cela|ça|il|elle|c['’])\s?(?:n['’]|ne\s)?est\s)?(?:pas|non)\s{adverb}{said}(?:\s{in})?",
            r"(?:{in},?\s)?(?:[\wàâçéèêëîïôûùüÿœ'’-]+\s){{0,8}}?(?:n['’]est|ne sont"
            r"|n['’]y est)\spas\s{adverb}{said}(?:\s{in})?",
            r"(?:il n['’]y a\s)?(?:aucune?|pas (?:de |d['’]))\s?(?:information|mention|réponse|indication|donnée"
            r"|précision|détail|renseignement)s?(?:\s(?:n['’]est |est |sont )?{said})?"
            r"(?:\s(?:sur|à propos|concernant|à ce sujet|quant|de|du|des"
            r"|relative)\b(?:(?!\sdans\b).){{0,80}})?(?:\s?(?:n['’]est|est)\s{said})?(?:\s?{in})?",
            r"{text}\sn(?:e|['’])\s?.{{0,12}}?\b(?:dit|dise|mentionne|précise|indique|donne|contient|répond|fournit"
            r"|parle|spécifie|permet|comporte|comprend|évoque|révèle|explique|nomme|disent|mentionnent"
            r"|précisent|indiquent|donnent|contiennent|répondent|fournissent|permettent|parlent)\b\s?.{{0,20}}(?:pas"
            r"|rien|aucune?|nulle part)\b.{{0,120}}",
            r"(?:{in},?\s)?(?:on|je|nous|l['’]on)\s(?:ne|n['’])\s?.{{0,10}}?\b(?:sait|sais|savons|peut|peux|trouve"
            r"|connaît)\b\spas\b(?:\s(?:le\s)?(?:dire|répondre|déterminer|savoir)\b.{{0,60}})?",
            r"(?:(?:il est|c['’]est)\s)?impossible (?:de|à)\s?(?:déterminer|dire|répondre|savoir|le dire)\b.{{0,80}}",
            r"(?:cela|ça|la question|cette question|la réponse|il"
            r"|elle)?\s?ne peut(?:\spas)?\s(?:pas\s)?être (?:déterminée?|répondue?|établie?|connue?)(?:\s.{{0,40}})?",
        ),
    ),
    "Spanish": (
        r"(?:(?:el|la|los|las|este|esta|estos|estas|un|ningún|del|al)\s)?(?:textos?|res[uú]men(?:es)?|documentos?"
        r"|pasajes?|fragmentos?|extractos?|artículos?|contexto|fuentes?|frases?|información)"
        r"(?:\s(?:proporcionad[oa]s?|dad[oa]s?|anterior(?:es)?|facilitad[oa]s?))?",
        r"(?:en|por|según|a partir|con|de acuerdo con|basándose en)\s(?:de\s)?{text}|aquí",
        (
            r"desconocid[oa]s?|indeterminad[oa]s?|no aplica|no aplicable|sin respuesta|sin información|sin datos"
            r"|no (?:lo\s)?sé|ni idea|se desconoce|no se sabe|no está claro|incierto",
            r"(?:[\wáéíóúñü'’-]+\s){{0,8}}?no\s(?:(?:está|es|son|ha sido|fue|viene|figura|consta"
            r"|están)\s)?{adverb}{said}(?:\s{in})?",
            r"(?:{in},?\s)?(?:esto\s|eso\s|ello\s)?no se\s(?:\w{{1,3}}\s)?{adverb}(?:menciona|especifica|indica|dice"
            r"|precisa|proporciona|da|ofrece|detalla|explica|puede (?:determinar|responder|saber|contestar)|aporta"
            r"|informa|revela|encuentra|identifica|nombra|aclara)n?"
            r"(?:\s(?!(?:a|al|hasta|hacia)\b)(?:(?!\sen\b).){{0,60}})?(?:\s?{in})?",
            r"(?:no hay|no existe|ninguna|no se da ninguna|no tengo)\s?(?:ninguna\s)?(?:información|mención"
            r"|respuesta|indicación|datos?|referencia|detalles?)(?:\s(?:sobre|acerca|de|al respecto|disponible"
            r"|suficiente)\b(?:(?!\sen\b).){{0,80}})?(?:\s?{in})?",
            r"{text}\sno\s(?:\w{{1,4}}\s)?(?:dice|menciona|especifica|indica|contiene|proporciona|da|responde|ofrece"
            r"|incluye|explica|precisa|revela|habla|permite|aporta|aclara|nombra|detalla|dicen|mencionan|contienen"
            r"|indican|permiten|proporcionan|especifican)\b.{{0,120}}",
            r"(?:{in},?\s)?(?:es imposible|imposible|no es posible|no puedo|no se puede"
            r"|no puede)\s(?:de\s)?(?:ser\s)?(?:determinar|decir|responder|saber|contestar|responderse|determinarse"
            r"|saberse|respondida?)(?:lo|la)?\b.{{0,80}}",
            r"(?:la pregunta|la respuesta|esto|eso)\sno\s(?:se\s)?puede\s(?:ser\s)?(?:responder|determinar|saber"
            r"|respondid[oa]|responderse|contestarse)\b.{{0,60}}",
        ),
    ),
    "Italian": (
        r"(?:(?:il|lo|la|i|gli|le|l['’]|questo|questa|quest['’]|un|nessun|del|dal|dei|dai|dalla|nei)\s?)?(?:testo"
        r"|testi|riassunt[oi]|sommario|sintesi|document[oi]|pass[oi]|brani|brano|estratt[oi]|articol[oi]|contesto"
        r"|font[ei]|frasi|informazioni|passaggi)"
        r"(?:\s(?:fornit[oaie]|dat[oaie]|sopra|precedente))?",
        r"(?:nel|nella|nello|nell['’]|nei|nelle|negli|in|dal|dalla|dallo|dai|dalle|secondo|in base al|in base alla"
        r"|da)\s?{text}|qui",
        (
            r"sconosciut[oaie]|ignot[oaie]|indeterminat[oaie]|non applicabile|senza risposta|nessuna risposta"
            r"|non (?:lo\s)?so|non si sa|non è chiaro|non noto|non nota|incerto",
            r"(?:(?:ciò|questo|esso|la risposta)\s)?(?:[\wàèéìòù'’-]+\s){{0,8}}?non\s(?:(?:è|sono|viene|vengono"
            r"|risulta|è stat[oa]|sia)\s)?(?:stat[oa]\s)?{adverb}{said}(?:\s{in})?",
            r"(?:{in},?\s)?non (?:si|viene|ci sono|c['’]è|vi è)\s(?:\w{{1,3}}\s)?{adverb}(?:menziona|specifica"
            r"|indica|dice|precisa|fornisce|parla|spiega|può (?:determinare|rispondere|sapere|dire)|alcuna\s\w+"
            r"|informazioni|menzione|risposta|nessuna\s\w+)(?:\s(?!(?:a|al"
            r"|fino)\b)(?:(?!\snel).){{0,60}})?(?:\s?{in})?",
            r"nessuna?\s(?:informazione|menzione|risposta|indicazione|dato|riferimento|dettaglio)(?:\s(?:disponibile"
            r"|fornita))?(?:\s(?:su|sul|sulla|in merito|riguardo|a riguardo|al riguardo"
            r"|circa)\b(?:(?!\snel).){{0,80}})?(?:\s?{in})?",
            r"{text}\snon\s(?:\w{{1,4}}\s)?(?:dice|menziona|specifica|indica|contiene|fornisce|risponde|offre"
            r"|include|spiega|precisa|rivela|parla|riporta|permette|consente|dà|chiarisce|nomina|dicono|menzionano"
            r"|contengono|forniscono|permettono|indicano)\b.{{0,120}}",
            r"(?:{in},?\s)?(?:è\s)?(?:impossibile|non è possibile|non posso|non si può"
            r"|non può)\s(?:da\s)?(?:essere\s)?(?:determinar[eo]?|dire|rispondere|sapere|stabilire"
            r"|determinat[oa])(?:lo|la)?\b.{{0,80}}",
        ),
    ),
    "Portuguese": (
        r"(?:(?:o|a|os|as|este|esta|esse|essa|um|nenhum|do|da)\s)?(?:textos?|resumos?|sumário|documentos?|passagens"
        r"|passagem|trechos?|excertos?|artigos?|contexto|fontes?|frases?|informações)"
        r"(?:\s(?:fornecid[oa]s?|dad[oa]s?|acima|apresentad[oa]s?))?",
        r"(?:no|na|nos|nas|em|neste|nesta|pelo|pela|segundo|a partir d[oa]s?|com base n[oa]s?|de acordo com)\s{text}"
        r"|aqui",
        (
            r"desconhecid[oa]s?|indeterminad[oa]s?|não se aplica|não aplicável|sem resposta|sem informaç(?:ão|ões)"
            r"|não (?:o\s)?sei|não se sabe|não está claro|incert[oa]",
            r"(?:[\wáâãàéêíóôõúç'’-]+\s){{0,8}}?não\s(?:(?:está|é|são|foi|consta|estão"
            r"|vem)\s)?{adverb}{said}(?:\s{in})?",
            r"(?:{in},?\s)?(?:isso\s|isto\s)?não (?:se|há|existe)\s(?:\w{{1,3}}\s)?{adverb}(?:menciona|especifica"
            r"|indica|diz|informa|fornece|explica|pode (?:determinar|responder|saber)|(?:nenhuma\s)?(?:informaç(?:ão"
            r"|ões)|menção|resposta|referência|dados?|detalhes?))(?:\s(?!(?:a|ao"
            r"|até)\b)(?:(?!\sn[oa]s?\b).){{0,80}})?(?:\s?{in})?",
            r"nenhuma?\s(?:informação|menção|resposta|indicação|dado|referência|detalhe)(?:\s(?:disponível"
            r"|fornecida))?(?:\s(?:sobre|acerca|a respeito)\b(?:(?!\sn[oa]s?\b).){{0,80}})?(?:\s?{in})?",
            r"{text}\snão\s(?:\w{{1,4}}\s)?(?:diz|menciona|especifica|indica|contém|fornece|dá|responde|oferece"
            r"|inclui|explica|informa|revela|fala|permite|traz|esclarece|nomeia|dizem|mencionam|contêm|fornecem"
            r"|permitem|indicam)\b.{{0,120}}",
            r"(?:{in},?\s)?(?:é\s)?(?:impossível|não é possível|não posso|não se pode"
            r"|não pode)\s(?:ser\s)?(?:determinar|dizer|responder|saber|determinad[oa]|respondid[oa])\b.{{0,80}}",
        ),
    ),
    "Russian": (
        r"(?:(?:этот|этом|этого|кратк\w+|данный|данном|данного|данной|предоставленн\w+|приведённ\w+|приведенн\w+|указанн\w+"
        r"|самом|этой|этих)\s)*(?:текст\w{{0,2}}|резюме|документ\w{{0,2}}|отрыв\w{{2,4}}|фрагмент\w{{0,3}}"
        r"|пересказ\w{{0,2}}|содержани\w|стать\w|контекст\w{{0,2}}"
        r"|источник\w{{0,3}}|краткое содержание|кратком содержании|предложени\w{{1,2}}|материал\w{{0,3}}|изложени\w"
        r"|саммари|аннотаци\w)",
        r"(?:в|во|из|по|на основании|на основе|согласно)\s{text}|здесь|там",
        (
            r"неизвестн[оаы]?|неизвестен|неясно|не ясно|непонятно|не определено|нет ответа|без ответа|не применимо"
            r"|неприменимо|нет данных|н/д|(?:я\s)?не знаю|не знаем",
            r"(?:(?:это|об этом|ответ|этого|про это)\s)?(?:(?:{in})\s)?(?:(?:это|об этом|прямо|ничего"
            r"|ничего об этом)\s)*(?:не\s(?:было\s)?{adverb}{said})(?:\s(?:{in}))?",
            r"(?:[\wё'’-]+\s){{1,6}}?не\s{adverb}{said}\s(?:{in})|(?:{in})\s(?:[\wё'’-]+\s){{1,6}}?не\s{adverb}{said}",
            r"(?:{in}\s)?(?:об этом\s|про это\s)?нет\s(?:никак\w+\s)?(?:ответ\w|информаци\w|сведени\w|упоминани\w"
            r"|данных|указани\w)(?:\s(?:об?|про|на|для)\s(?:(?!\sв\b).){{0,80}})?(?:\s?(?:{in}))?",
            r"(?:{in})\s.{{0,40}}\b(?:не|нет|ничего)\b.{{0,80}}",
            r"{text}\s(?:об этом\s|прямо\s|ничего\s|явно\s)*(?:не|умалчивает|молчит)\b\s?(?:содерж\w+|сообща\w+"
            r"|говор\w+|упомина\w+|указыва\w+|да[её]т|дают|отвеча\w+|называ\w+|уточня\w+|объясня\w+|раскрыва\w+"
            r"|позволя\w+)?\b.{{0,100}}",
            r"(?:это\s)?(?:невозможно|нельзя|не могу|не уда[её]тся"
            r"|не представляется возможным)\s(?:точно\s)?(?:определить|ответить|установить|сказать|узнать"
            r"|дать)\b.{{0,80}}",
        ),
    ),
}
# The words for "mentioned", and those that may stand before them.
_SAID = {
    "English": (
        r"(?:mentioned|stated|specified|given|provided|said|named|disclosed|indicated|discussed|addressed"
        r"|described|explained|included|revealed|covered|identified|found|present|available|known|contained|clear"
        r"|answerable|answered|detailed|listed|reported|clarified|determined|a part|part|in|there)"
    ),
    "German": (
        r"(?:erwähnt|angegeben|genannt|bekannt|beantwortbar|enthalten|ersichtlich|spezifiziert|beschrieben"
        r"|angeführt|klar|vorhanden|gesagt|mitgeteilt|zu beantworten|bestimmbar|aufgeführt|thematisiert|behandelt"
        r"|erklärt|erläutert|feststellbar|verfügbar|definiert|benannt|zu entnehmen|präzisiert|zutreffend|anwendbar"
        r"|beantwortet)"
    ),
    "French": (
        r"(?:mentionné|précisé|spécifié|indiqué|communiqué|disponible|renseigné|donné|connu|dit|fourni|évoqué"
        r"|nommé|expliqué|décrit|trouvé|déterminé|présent|clair|répondu|abordé|traité|révélé|identifié)e?s?"
    ),
    "Spanish": (
        r"(?:mencionad[oa]s?|especificad[oa]s?|indicad[oa]s?|disponibles?|proporcionad[oa]s?|dad[oa]s?"
        r"|dich[oa]s?|conocid[oa]s?|clar[oa]s?|consta|figura|aparece|descrit[oa]s?|nombrad[oa]s?|explicad[oa]s?"
        r"|precisad[oa]s?|revelad[oa]s?|respondid[oa]s?|hay (?:información|datos|respuesta|mención))"
    ),
    "Italian": (
        r"(?:menzionat[oaie]|specificat[oaie]|indicat[oaie]|disponibil[ei]|fornit[oaie]|dat[oaie]|dett[oaie]"
        r"|not[oaie]|chiar[oaie]|descritt[oaie]|nominat[oaie]|spiegat[oaie]|precisat[oaie]|rivelat[oaie]|present[ei]"
        r"|riportat[oaie]|conosciut[oaie]|citat[oaie])"
    ),
    "Portuguese": (
        r"(?:mencionad[oa]s?|especificad[oa]s?|indicad[oa]s?|disponíve(?:l|is)|fornecid[oa]s?|dad[oa]s?"
        r"|dit[oa]s?|conhecid[oa]s?|clar[oa]s?|informad[oa]s?|consta|aparece|descrit[oa]s?|nomead[oa]s?"
        r"|explicad[oa]s?|revelad[oa]s?|citad[oa]s?|respondid[oa]s?)"
    ),
    "Russian": (
        r"(?:указан[оаы]?|упомина[ею]тся|упоминал[оаи]?сь|упомянут[оаы]?|сказано|говорится|сообщается"
        r"|назван[оаы]?|уточняется|описан[оаы]?|раскрыт[оаы]?|раскрывается|известн[оаы]|приводится|содержится"
        r"|да[её]тся|объясняется|определен[оаы]?|определён|ясно|отвечен[оа]?)"
    ),
}
_ADVERBS = {
    "English": (
        r"(?:(?:explicitly|directly|specifically|clearly|actually|stated or|mentioned or|further|fully|been"
        r"|ever|even|precisely)\s)*"
    ),
    "German": r"(?:(?:ausdrücklich|explizit|näher|genau|direkt|eindeutig|klar|weiter|genauer|konkret)\s)*",
    "French": r"(?:(?:explicitement|clairement|directement|précisément|été)\s)*",
    "Spanish": r"(?:(?:explícitamente|claramente|directamente|expresamente|específicamente)\s)*",
    "Italian": r"(?:(?:esplicitamente|chiaramente|direttamente|espressamente)\s)*",
    "Portuguese": r"(?:(?:explicitamente|claramente|diretamente|expressamente)\s)*",
    "Russian": r"(?:(?:прямо|явно|точно|ясно|конкретно|был[оаи]?)\s)*",
}
_CHINESE_TEXT = (
    r"(?:(?:该|本|此|所给|给定|提供的|上述|这段|这篇|这些|以上)*(?:文中|文本|摘要|原文"
    r"|总结|文章|材料|段落|概要|文档|文件|上下文|片段|节选|内容|资料|概述)(?:中"
    r"|里|内|本身|并)*|文中)"
)
_CHINESE_SAID = (
    r"(?:明确|具体|直接)*(?:提及|提到|说明|给出|包含|提供|涉及"
    r"|交代|指出|写明|描述|说|回答|记载|透露|解释|列出|显示|讨论)"
)
_JAPANESE_TEXT = (
    r"(?:(?:この|その|与えられた|提供された|上記の|本)*(?:本文|要約|文中|文章"
    r"|テキスト|文書|資料|パッセージ|記事|抜粋|文脈|ドキュメント|原文|内容)(?:中|内"
    r"|の中)?(?:で|に|から|だけで|のみで)?(?:は|も)?)"
)
_ABOUT_IT = (
    r"(?:这一点|此|该信息|相关信息|相关内容|任何相关信息|这个问题|具体信息|答案|此事|该内容|这方面(?:的信息)?|任何信息)"
)
_UNSPACED = (
    r"未知|不详|不明|不明确|无|无答案|没有答案|不适用|不知道|我不知道|不清楚|未明确|无可奉告|无相关信息|无信息",
    rf"(?:{_CHINESE_TEXT})?[，,]?(?:对此|对于此)?(?:并)?(?:没有|未|无"
    rf"|並未)(?:被|有)?{_CHINESE_SAID}(?:了|过)?(?:{_ABOUT_IT})?",
    rf"{_CHINESE_TEXT}[，,]?.{{0,20}}?(?:没有|未|无|不)(?:有|能"
    rf"|足以)?(?:{_CHINESE_SAID}|信息|相关|任何|足够|答案).{{0,40}}",
    rf"(?:根据|从|依据|仅凭)?(?:{_CHINESE_TEXT})?[，,]?(?:我)?(?:无法|不能"
    rf"|難以|难以)(?:从{_CHINESE_TEXT})?(?:确定|回答|判断|得知|得出|推断"
    rf"|知道)(?:该问题|这个问题|此问题|答案)?",
    r"(?:没有|无|缺乏|未提供)(?:相关|足够|任何|具体|足够的"
    r"|相关的)*(?:信息|说明|答案|记载|描述|资料|内容)(?:可以回答|可供回答)?",
    r"不明|不詳|不明確|記載(?:が|は)?(?:なし|ない|ありません|されていません|されていない|無し)"
    r"|言及(?:が|は)?(?:なし|ない|ありません|されていません|されていない)|該当(?:なし"
    r"|する記述はない)|なし|特になし|無し",
    r"(?:明記|明示|記述|説明|特定|紹介|記載)(?:され|し)?(?:は|が)?(?:ていない|ていません|ない"
    r"|ありません|なし)|(?:書か|述べら|触れら|示さ|語ら)れて(?:いない|いません|おりません)",
    r"(?:私には|それは|これは)?(?:分|わ)か(?:らない|りません)|(?:回答|判断|特定)(?:不能|不可"
    r"|できません|できない|は?できかねます)|答えられ(?:ません|ない)|情報(?:が|は)?(?:なし"
    r"|ない|ありません|不足)|回答なし",
    rf"{_JAPANESE_TEXT}、?.{{0,40}}?(?:ない|ません|なし|なかった"
    rf"|不明|不可能|できかねます)(?:です|でした)?(?:ため.{{0,30}})?",
)


@cache
def _forms(language: str) -> re.Pattern[str]:
    """All forms of a language: an answer is one of them as a whole."""
    text, within, patterns = _FORMS[language]
    patterns += absence.forms(language)
    text = f"(?:{text.format()})"
    words = {
        "text": text,
        "in": f"(?:{within.format(text=text)})",
        "said": _SAID[language],
        "adverb": _ADVERBS[language],
    }
    return re.compile("|".join(f"(?:{one.format(**words)})" for one in patterns))


_FORMS_UNSPACED = pattern("|".join(f"(?:{one})" for one in (*_UNSPACED, *absence.UNSPACED)))


def _is_silent(words: str) -> bool:
    named = (language for language, sign in absence.SIGNS.items() if sign.search(words))
    return bool(_FORMS_UNSPACED.fullmatch(words)) or any(_forms(language).fullmatch(words) for language in named)


def is_answer(text: str) -> bool:
    """Whether what is given as an answer is one, and does not say that there is none."""
    if _SIGN in text or _STARTS_WITH_SIGN.match(text):
        return False
    words = " ".join(unicodedata.normalize("NFKC", text[:_LONGEST]).casefold().replace("’", "'").split()).strip(_MARKS)
    if not words:
        return False
    said = words
    if led := _LEAD.match(words):
        words = words[led.end() :].strip(_MARKS)
    if absence.speaks_of_a_document(words):
        return True
    first = _GOES_ON.split(words, maxsplit=1)[0].strip(_MARKS)
    # "Answer" may as well be the subject of what is said.
    return not any(map(_is_silent, {first, words, said}))
