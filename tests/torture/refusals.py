"""Refusals by the thousand, made from parts: what stands in place of a summary in many languages.

A model says that it will not, or cannot, in an opening, a verb and an object; a provider cuts words out, puts a
filter's notice in their place, or hands on the error of a server.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

ANY = "any"
"""In place of a language: what a provider writes to everybody."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What the refusals of a language are made of; `{}` is where the object stands."""

    openings: tuple[str, ...]
    verbs: tuple[str, ...]
    objects: tuple[str, ...]
    ends: tuple[str, ...]
    """What may follow: an offer, or the reason."""
    notices: tuple[str, ...]
    """What a filter says in its own name."""


LANGUAGES: dict[str, Parts] = {
    "Arabic": Parts(
        ("عذرًا،", "آسف، لكن", "للأسف"),
        ("لا أستطيع تلخيص {}.", "لا يمكنني المساعدة في {}.", "لست مرتاحًا لمعالجة {}."),
        ("هذا النص", "هذا المحتوى", "طلبك"),
        ("هل يمكنني مساعدتك في شيء آخر؟", "لأنه يخالف الإرشادات."),
        ("تم حظر الرد بواسطة مرشح المحتوى.",),
    ),
    "Chinese": Parts(
        ("抱歉，", "很遗憾，", ""),
        ("我无法总结{}。", "我不便处理{}。", "我不能协助您完成{}。"),
        ("这段文字", "该内容", "您的请求"),
        ("请问还有什么可以帮您？", "因为它违反了相关政策。"),
        ("该回复已被内容过滤器屏蔽。", "内容由于不合规被停止生成。"),
    ),
    "English": Parts(
        ("I'm sorry, but", "Unfortunately,", "As an AI,", ""),
        (
            "I can't summarize {}.",
            "I don't feel comfortable summarizing {}.",
            "I'm not able to help with {}.",
            "I would rather not engage with {}.",
            "I am not going to write about {}.",
        ),
        ("this text", "that", "this content", "your request", "the material you provided"),
        ("Is there anything else I can help you with?", "It goes against my guidelines."),
        ("The response was filtered by our content management policy.", "This content may violate our usage policies."),
    ),
    "Finnish": Parts(
        ("Valitettavasti", "Olen pahoillani, mutta", "Anteeksi,"),
        ("en voi tiivistää tätä: {}.", "en voi auttaa, kun aiheena on {}.", "en mielelläni käsittele tätä: {}."),
        ("teksti", "sisältö", "pyyntösi"),
        ("Voinko auttaa jossain muussa?", "Se rikkoo ohjeita."),
        ("Sisältösuodatin esti vastauksen.",),
    ),
    "French": Parts(
        ("Je suis désolé, mais", "Malheureusement,", ""),
        ("je ne peux pas résumer {}.", "je préfère ne pas traiter {}.", "je ne suis pas à l'aise avec {}."),
        ("ce texte", "ce contenu", "votre demande"),
        ("Puis-je vous aider autrement ?", "Cela enfreint les règles."),
        ("La réponse a été bloquée par le filtre de contenu.",),
    ),
    "German": Parts(
        ("Es tut mir leid, aber", "Leider", "Entschuldigung,"),
        ("ich kann {} nicht zusammenfassen.", "ich möchte {} nicht bearbeiten.", "bei {} ist mir nicht wohl."),
        ("diesen Text", "diesen Inhalt", "Ihre Anfrage"),
        ("Kann ich sonst etwas für Sie tun?", "Das verstößt gegen die Richtlinien."),
        ("Die Antwort wurde vom Inhaltsfilter blockiert.",),
    ),
    "Greek": Parts(
        ("Λυπάμαι, αλλά", "Δυστυχώς", "Ζητώ συγγνώμη,"),
        ("δεν μπορώ να συνοψίσω {}.", "δεν μπορώ να βοηθήσω με {}.", "δεν νιώθω άνετα με {}."),
        ("αυτό το κείμενο", "αυτό το περιεχόμενο", "το αίτημά σας"),
        ("Μπορώ να βοηθήσω με κάτι άλλο;", "Παραβιάζει τις οδηγίες."),
        ("Η απάντηση αποκλείστηκε από το φίλτρο περιεχομένου.",),
    ),
    "Hindi": Parts(
        ("क्षमा करें,", "मुझे खेद है, लेकिन", "दुर्भाग्य से"),
        ("मैं {} का सारांश नहीं दे सकता।", "मैं {} में मदद नहीं कर सकता।", "मैं {} के साथ सहज नहीं हूँ।"),
        ("इस पाठ", "इस सामग्री", "आपके अनुरोध"),
        ("क्या मैं किसी और चीज़ में मदद करूँ?", "यह नियमों के विरुद्ध है।"),
        ("सामग्री फ़िल्टर ने उत्तर रोक दिया।",),
    ),
    "Hungarian": Parts(
        ("Sajnálom, de", "Elnézést,", "Sajnos"),
        ("nem tudom összefoglalni: {}.", "ebben nem segíthetek: {}.", "nem szívesen foglalkozom vele: {}."),
        ("ez a szöveg", "ez a tartalom", "az Ön kérése"),
        ("Segíthetek valami másban?", "Ez sérti az irányelveket."),
        ("A választ a tartalomszűrő letiltotta.",),
    ),
    "Italian": Parts(
        ("Mi dispiace, ma", "Purtroppo", ""),
        ("non posso riassumere {}.", "preferisco non elaborare {}.", "non mi sento a mio agio con {}."),
        ("questo testo", "questo contenuto", "la tua richiesta"),
        ("Posso aiutarti in altro modo?", "Va contro le linee guida."),
        ("La risposta è stata bloccata dal filtro dei contenuti.",),
    ),
    "Japanese": Parts(
        ("申し訳ありませんが、", "残念ながら、", ""),
        ("{}を要約することはできません。", "{}にはお応えできません。", "{}の処理は控えさせていただきます。"),
        ("このテキスト", "この内容", "ご依頼"),
        ("他にお手伝いできることはありますか。", "ガイドラインに反するためです。"),
        ("コンテンツフィルターにより回答がブロックされました。",),
    ),
    "Korean": Parts(
        ("죄송합니다.", "유감이지만", ""),
        ("{} 요약할 수 없습니다.", "{} 도와드릴 수 없습니다.", "{} 다루기가 불편합니다."),
        ("이 텍스트를", "이 내용을", "요청하신 것을"),
        ("다른 도움이 필요하신가요?", "지침에 어긋납니다."),
        ("콘텐츠 필터에 의해 답변이 차단되었습니다.",),
    ),
    "Polish": Parts(
        ("Przykro mi, ale", "Niestety", "Przepraszam,"),
        ("nie mogę streścić: {}.", "nie mogę pomóc w tej sprawie: {}.", "wolę nie zajmować się tym: {}."),
        ("ten tekst", "ta treść", "twoja prośba"),
        ("Czy mogę pomóc w czymś innym?", "To narusza zasady."),
        ("Odpowiedź została zablokowana przez filtr treści.",),
    ),
    "Portuguese": Parts(
        ("Desculpe, mas", "Infelizmente,", ""),
        ("não posso resumir {}.", "prefiro não tratar de {}.", "não me sinto à vontade com {}."),
        ("este texto", "este conteúdo", "o seu pedido"),
        ("Posso ajudar com outra coisa?", "Isso viola as diretrizes."),
        ("A resposta foi bloqueada pelo filtro de conteúdo.",),
    ),
    "Russian": Parts(
        ("Извините, но", "К сожалению,", ""),
        ("я не могу пересказать {}.", "я не готов обрабатывать {}.", "мне неудобно работать с этим: {}."),
        ("этот текст", "это содержание", "ваш запрос"),
        ("Могу ли я помочь чем-то ещё?", "Это нарушает правила."),
        ("Ответ заблокирован фильтром содержимого.",),
    ),
    "Spanish": Parts(
        ("Lo siento, pero", "Lamentablemente,", ""),
        ("no puedo resumir {}.", "prefiero no tratar {}.", "no me siento cómodo con {}."),
        ("este texto", "este contenido", "su solicitud"),
        ("¿Puedo ayudarle en otra cosa?", "Va contra las normas."),
        ("La respuesta fue bloqueada por el filtro de contenido.",),
    ),
    "Turkish": Parts(
        ("Üzgünüm, ama", "Maalesef", "Kusura bakmayın,"),
        ("{} özetleyemem.", "{} işlemek istemiyorum.", "{} ele almak beni rahatsız ediyor."),
        ("bu metni", "bu içeriği", "isteğinizi"),
        ("Başka bir konuda yardımcı olabilir miyim?", "Bu, kurallara aykırı."),
        ("Yanıt içerik filtresi tarafından engellendi.",),
    ),
}
_REDACTIONS = ("REDACTED", "redacted", "CONTENT REMOVED", "FILTERED", "BLOCKED", "omitted", "censored")
_BRACKETS = ("[{}]", "<{}>", "({})", "**{}**", "[{}].", "{}", "[[{}]] [[{}]]")
_STATUS = ("500", "502", "503", "504", "429", "529")
_SERVER = ("Internal Server Error", "Bad Gateway", "Service Unavailable", "Gateway Timeout", "Overloaded")
_ERRORS = (
    "{error}",
    "{status} {error}",
    "HTTP {status}: {error}.",
    "Error: {error} (request id req_{number}).",
    '{{"error": {{"type": "server_error", "code": {status}, "message": "{error}"}}}}',
    "<html><head><title>{status} {error}</title></head><body><center><h1>{status} {error}</h1></center></body></html>",
    "upstream connect error or disconnect/reset before headers. reset reason: {error}",
)


def refusals(count: int, seed: int = 1) -> Iterator[tuple[str, str]]:
    """So many refusals, each with its language; those of providers are in `ANY`. The languages take turns."""
    rng = random.Random(seed)
    names = sorted(LANGUAGES)
    rng.shuffle(names)
    for number in range(count):
        if number % 6 == 0:
            yield _of_a_provider(rng), ANY
        else:
            language = names[(number - number // 6) % len(names)]
            yield _said(LANGUAGES[language], rng), language


def _of_a_provider(rng: random.Random) -> str:
    if rng.random() < 0.4:
        return rng.choice(_BRACKETS).replace("{}", rng.choice(_REDACTIONS))
    fields = {"status": rng.choice(_STATUS), "error": rng.choice(_SERVER), "number": rng.randrange(10**9)}
    return rng.choice(_ERRORS).format(**fields)


def _said(parts: Parts, rng: random.Random) -> str:
    if rng.random() < 0.15:
        return rng.choice(parts.notices)
    sentence = rng.choice(parts.verbs).format(rng.choice(parts.objects))
    text = " ".join(filter(None, (rng.choice(parts.openings), sentence)))
    text = f"{text[0].upper()}{text[1:]}"
    return f"{text} {rng.choice(parts.ends)}" if rng.random() < 0.4 else text
