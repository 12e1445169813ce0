"""How judges say, in nine languages, that a text does not hold an answer; and answers that only sound like it."""

from __future__ import annotations

SILENT: dict[str, tuple[str, ...]] = {
    "the sign": ("UNANSWERABLE", "unanswerable.",
        "The answer is UNANSWERABLE", "**UNANSWERABLE** (no date is given)", "-"),
    "English": (
        "Not mentioned in the summary.", "Unknown", "None", "N/A",
        "n/a.", "null", "The text does not say.", "Not stated",
        "The text doesn’t say who did it.", "The summary does not mention who built the lighthouse.", "Not answerable.",
        "Not specified in the text", "It is not mentioned in the document.", "No information provided.", "No answer",
        "This information is not provided in the summary.", "There is no mention of the keeper in the summary.",
        "The passages do not contain this information.", "Cannot be determined from the passages.", "I don't know.",
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
        "Текст не сообщает об этом.", "Нет информации", "Невозможно определить", "В резюме нет ответа на этот вопрос.",
    ),
    "Chinese": (
        "未提及", "未知", "文中未提及。", "摘要中没有提到。",
        "无法从文中得知", "没有相关信息", "原文没有说明这一点。", "根据摘要无法回答",
    ),
    "Japanese": (
        "不明", "記載なし", "本文には書かれていません。", "要約では言及されていない。", "わかりません",
        "情報がありません",
        "本文からは判断できない", "要約には記載がありません",
    ),
}  # fmt: skip
"""By language. A judge that is told to say UNANSWERABLE says any of these."""

REAL: tuple[str, ...] = (
    "The Unknown Soldier", "Unknown Soldier", "None of the villagers survived", "He did not mention the letter",
    "He did not mention the letter in the summary he wrote", "Nobody", "No one", "Nothing", "No", "Zero", "Not guilty",
    "Not far from the river", "It was not mentioned until 1850", "The king is not mentioned in the will", "Nan", "Nina",
    "There is no mention of slavery in the constitution", "Her father, whose name nobody knew", "She does not know",
    "Because the text of the treaty was lost", "The unknown author of the letter",
        "Unknown to the villagers, it was Ann",
    "She said nothing", "He was never found", "The answer was no", "No quarter was given", "A summary of the law",
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
        "Não mencionou a carta",
    "O soldado desconhecido", "Он не упомянул письмо", "Никто", "Неизвестный солдат", "他没有提到那封信", "没有人",
    "无名英雄", "彼は手紙に言及しなかった", "誰もいない", "無名戦士",
)  # fmt: skip
"""Answers that stay answers."""
