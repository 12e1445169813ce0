"""How judges say, in nine languages, that a text does not hold an answer; and answers that only sound like it."""

from __future__ import annotations

SILENT: dict[str, tuple[str, ...]] = {
    "the sign": (
        "UNANSWERABLE", "unanswerable.", "The answer is UNANSWERABLE", "**UNANSWERABLE** (no date is given)", "-",
    ),
    "English": (
        "Not mentioned in the summary.", "Unknown", "None", "N/A", "n/a.", "null", "The text does not say.",
        "Not stated", "The text doesn’t say who did it.", "The summary does not mention who built the lighthouse.",
        "Not answerable.", "Not specified in the text", "It is not mentioned in the document.",
        "No information provided.", "No answer", "This information is not provided in the summary.",
        "There is no mention of the keeper in the summary.", "The passages do not contain this information.",
        "Cannot be determined from the passages.", "I don't know.",
        "The question cannot be answered from the summary.", "Unable to determine from the text provided",
        "The name is not given.", "No name is given in the text.", "Insufficient information", "It isn't stated.",
        "unclear from the context", "Not mentioned; the summary covers only the lighthouse.", "**Not mentioned**",
        "Sorry, the summary doesn't say.", "Based on the summary, this cannot be determined.", "Not found.",
        "Unknown (not stated in the text)", "Not found in the provided passages.", "Answer: not provided",
        "The provided summary gives no information about this.", "The summary says nothing about the keeper.",
        "Not mentioned, but probably Ann.", "No information about the date is available in the excerpt.",
    ),
    "German": (
        "Nicht erwähnt.", "Im Text nicht erwähnt.", "Wird in der Zusammenfassung nicht erwähnt.", "Keine Angabe",
        "Keine Angaben im Text.", "Unbekannt", "Der Text sagt dazu nichts.", "Der Name wird nicht genannt.",
        "Die Zusammenfassung enthält keine Informationen darüber.", "Das geht aus dem Text nicht hervor.",
        "Die Frage kann anhand des Textes nicht beantwortet werden.", "Dazu steht nichts im Text.", "k. A.",
    ),
    "French": (
        "Non mentionné.", "Non précisé dans le texte.", "Le texte ne le dit pas.", "Inconnu", "Aucune information",
        "Le résumé ne mentionne pas qui a construit le phare.", "Ce n'est pas mentionné dans le texte.",
        "Il n'y a aucune information à ce sujet dans le résumé.", "Cela n'est pas précisé.", "On ne sait pas.",
        "Impossible à déterminer",
    ),
    "Spanish": (
        "No se menciona en el resumen.", "No mencionado", "Desconocido", "El texto no lo dice.", "No se especifica.",
        "No hay información en el texto.", "Sin información", "El resumen no menciona al farero.", "No se sabe.",
    ),
    "Italian": (
        "Non menzionato.", "Non specificato nel testo.", "Il testo non lo dice.", "Sconosciuto",
        "Non è menzionato nel riassunto.", "Nessuna informazione.", "Il riassunto non fornisce questa informazione.",
    ),
    "Portuguese": (
        "Não mencionado.", "Não especificado no texto.", "O texto não diz.", "Desconhecido",
        "Não é mencionado no resumo.", "Nenhuma informação", "O resumo não menciona o nome.",
    ),
    "Russian": (
        "Не упоминается.", "Неизвестно", "В тексте не указано.", "В тексте об этом не говорится.", "Не указано",
        "Текст не сообщает об этом.", "Нет информации", "Невозможно определить",
        "В резюме нет ответа на этот вопрос.",
    ),
    "Chinese": (
        "未提及", "未知", "文中未提及。", "摘要中没有提到。", "无法从文中得知", "没有相关信息",
        "原文没有说明这一点。", "根据摘要无法回答",
    ),
    "Japanese": (
        "不明", "記載なし", "本文には書かれていません。", "要約では言及されていない。", "わかりません",
        "情報がありません", "本文からは判断できない", "要約には記載がありません",
    ),
}  # fmt: skip
"""By language. A judge that is told to say UNANSWERABLE says any of these."""

REAL: tuple[str, ...] = (
    "The Unknown Soldier", "Unknown Soldier", "None of the villagers survived", "He did not mention the letter",
    "He did not mention the letter in the summary he wrote", "Nobody", "No one", "Nothing", "No", "Zero",
    "Not guilty", "Not far from the river", "It was not mentioned until 1850",
    "The king is not mentioned in the will", "Nan", "Nina", "There is no mention of slavery in the constitution",
    "Her father, whose name nobody knew", "She does not know", "Because the text of the treaty was lost",
    "The unknown author of the letter", "Unknown to the villagers, it was Ann", "She said nothing",
    "He was never found", "The answer was no", "No quarter was given", "A summary of the law",
    "Information about the enemy", "He refused to answer", "Not because of money but because of love", "No reason",
    "The document did not arrive", "The text was burned", "not long after the war", "The source of the Nile",
    "In the text he had hidden a code", "A document that does not exist", "No information leaked to the enemy",
    "Mary, who was not named in the will", "No more than ten", "No trace of him was found", "Ann", "1,850 pounds",
    "Ann. The summary does not say when.", "It remained unknown for years", "A, B and C", "A. Smith",
    "The keeper was not given any food", "No evidence that he lied", "He was not seen again",
    "Er erwähnte den Brief nicht", "Niemand", "Nichts", "Der unbekannte Soldat", "Im Keller wurde nichts gefunden",
    "Keiner der Dorfbewohner überlebte", "Er wurde nicht erwähnt, bis der Brief kam", "Personne", "Rien",
    "Il n'a pas mentionné la lettre", "Le Soldat inconnu", "Nadie", "Nada", "No mencionó la carta",
    "El soldado desconocido", "Non menzionò la lettera", "Nessuno", "Il milite ignoto", "Ninguém",
    "Não mencionou a carta", "O soldado desconhecido", "Он не упомянул письмо", "Никто", "Неизвестный солдат",
    "他没有提到那封信", "没有人", "无名英雄", "彼は手紙に言及しなかった", "誰もいない", "無名戦士",
)  # fmt: skip
"""Answers that stay answers."""

IN_OTHER_WORDS: dict[str, tuple[str, ...]] = {
    "English": (
        "There's no mention of that.", "There is no reference to this in the summary.",
        "There's no information about that in the summary.",
        "There is not enough information to answer this question.",
        "There isn't enough information in the summary to answer.", "There is insufficient information.",
        "There's insufficient information in the text to determine this.", "No info given",
        "It's not clear from the passage who did it.", "It is unclear from the summary why he left.",
        "The name of the ship is never given.", "The reason is never stated.",
        "This is never mentioned in the summary.", "It is never said.", "The text never says.",
        "The summary never mentions it.", "Hard to say from the text.", "Unsure",
        "Nothing in the summary answers this.", "Nothing about that is mentioned.",
        "I'm unable to answer this from the text.", "As an AI, I cannot determine this from the text.",
        "missing information", "That's not mentioned.", "The summary provides insufficient detail to answer this.",
        "The summary does not go into this.",
    ),
    "German": (
        "Es gibt dazu keine Information.", "Es ist unklar, wer es war.", "Nicht genug Informationen.",
        "Es gibt nicht genügend Informationen.", "Kann nicht beantwortet werden.", "Darüber sagt der Text nichts.",
        "Das steht nicht im Text.", "Keine Information", "Dazu schweigt der Text.",
    ),
    "Spanish": (
        "No hay suficiente información.", "El nombre no se menciona.", "Nunca se menciona.", "No lo menciona.",
        "El texto no habla de eso.", "La respuesta no aparece en el resumen.", "Nada se dice al respecto.",
    ),
    "Russian": (
        "Недостаточно информации.", "Недостаточно информации для ответа.", "Имя не называется.", "Имя не указано.",
        "Причина не названа.", "Ответ не найден.", "В кратком изложении об этом ничего не сказано.", "Ответа нет.",
        "В тексте этого нет.",
    ),
    "Japanese": (
        "十分な情報がありません", "この情報は要約に含まれていません。", "不明です。", "本文には答えがない。",
        "答えは要約にありません。", "それは述べられていません。",
    ),
    "French": (
        "Il n'y a pas assez d'informations pour répondre.", "Pas assez d'informations.",
        "La question n'est pas traitée dans le résumé.", "Le nom n'est jamais donné.",
        "Rien dans le texte ne le dit.", "Le texte n'en parle pas.", "La réponse ne figure pas dans le résumé.",
    ),
    "Italian": (
        "Non ci sono abbastanza informazioni.", "Non viene mai detto.", "Il testo non ne parla.",
        "La risposta non c'è nel riassunto.", "Non se ne parla.", "Non è detto nel testo.",
    ),
    "Portuguese": (
        "Não há menção a isso.", "Nunca é mencionado.", "O texto não fala disso.", "A resposta não está no resumo.",
        "Nada é dito sobre isso.", "Não está no texto.",
    ),
    "Chinese": (
        "回答不了", "文中没有答案。", "摘要没有说。", "这一点文中没有交代。", "我们不知道。", "没有说明是谁。",
    ),
}  # fmt: skip
"""By language: the text, we, or the answer itself is not there, does not say, or does not know."""

OF_THE_STORY: tuple[str, ...] = (
    "There is not enough water in the well", "There is no reference to God in the constitution",
    "The letter was never found", "It was never said aloud", "The heir is never named in the will",
    "Es gibt nicht genug Wasser", "Il n'y a pas assez d'eau", "El nombre no se menciona en el testamento",
    "Non c'è abbastanza acqua", "Недостаточно воды", "没有足够的水", "The document does not name an heir",
    "We don't know the enemy, said the captain", "Not in the passage, but in the hall", "Нет",
    "The ring could not be found", "It does not say much for his courage", "Not in the summer but in the fall",
    "It isn't in the chest; Ann has it", "The document bears no signature", "The information was false",
    "Das Dokument nennt keinen Erben", "Keine Gnade", "Er weiß es nicht", "Der Brief enthält keine Unterschrift",
    "Im Garten steht nichts", "Le document ne nomme aucun héritier", "Rien que de l'eau",
    "La lettre ne dit rien de la vente", "Il n'y a rien dans le coffre", "Aucun survivant",
    "El documento no nombra heredero", "Nada de agua", "La carta no menciona la venta", "No hay nada en el cofre",
    "Ningún superviviente", "Il documento non nomina eredi", "Nient'altro che acqua",
    "La lettera non parla della vendita", "Non c'è nulla nello scrigno", "Nessun superstite",
    "O documento não nomeia herdeiros", "Nada além de água", "A carta não fala da venda", "Não há nada no cofre",
    "Nenhum sobrevivente", "В документе не назван наследник", "Ничего, кроме воды",
    "В письме не говорится о продаже", "В сундуке ничего нет", "Никто не выжил", "文件没有指定继承人", "只有水",
    "信中没有提到买卖",
    "箱子里什么也没有", "无人生还", "その文書には相続人の名がない", "水だけ", "手紙には売却のことは書かれていない",
    "箱には何もない", "生存者なし",
)  # fmt: skip
"""Answers that say of somebody or something in the story what those say of the text."""
