"""The same chapter in four languages, with the twelve questions that a judge might well ask about it."""

from __future__ import annotations

from typing import NamedTuple


class Questioned(NamedTuple):
    """A question about a sentence, its answer, and the sentence."""

    question: str
    answer: str
    quote: str


ENGLISH = [
    Questioned(
        "Why did Margaret Holloway leave the lighthouse at Carrow Point in the autumn of 1911?",
        "Because the harbour board refused to pay for the repair of the lamp",
        "Margaret Holloway left the lighthouse at Carrow Point in the autumn of 1911, because the harbour board had"
        " refused, for the third year running, to pay for the repair of the lamp.",
    ),
    Questioned(
        "Who took over the lighthouse after Margaret Holloway?",
        "Her nephew Edwin Marsh",
        "Her nephew Edwin Marsh, who had never spent a night at sea, took over her duties the same week.",
    ),
    Questioned(
        "What did Edwin Marsh find beneath the floor of the oil store?",
        "A ledger with the names of ships that had never been reported lost",
        "Beneath the floor of the oil store Edwin Marsh found a ledger with the names of eleven ships that had never"
        " been reported lost.",
    ),
    Questioned(
        "How did the insurers of the missing ships earn money from their loss?",
        "They had sold the cargo beforehand and collected the premiums twice",
        "The insurers had sold the cargo before the ships sailed and collected the premiums twice, once from the owners"
        " and once from the crown.",
    ),
    Questioned(
        "When did the inquiry into the lost ships open in the county court?",
        "On the fourth of March 1912",
        "On the fourth of March 1912 the inquiry opened in the county court, before a gallery of widows.",
    ),
    Questioned(
        "Where had the harbour master Josiah Bell hidden the letters from the insurers?",
        "Behind the tide tables in the customs house",
        "Josiah Bell, the harbour master, had hidden the letters from the insurers behind the tide tables in the"
        " customs house, where nobody had looked for nine years.",
    ),
    Questioned(
        "Why did Josiah Bell confess in the end?",
        "His own son had been aboard the last of the ships",
        "He confessed when he learned that his own son had been aboard the last of the ships.",
    ),
    Questioned(
        "What sentence did Josiah Bell receive?",
        "Fourteen years of penal servitude",
        "The judge gave him fourteen years of penal servitude and would not hear of mercy.",
    ),
    Questioned(
        "How were the widows of the sailors compensated after the trial?",
        "From the sale of the insurers' warehouses on the quay",
        "The widows were compensated from the sale of the insurers' warehouses on the quay, although it took the"
        " lawyers three more winters to agree on the shares.",
    ),
    Questioned(
        "What did Margaret Holloway send to her nephew from Lisbon?",
        "A new lens for the lamp, paid for out of her own savings",
        "From Lisbon Margaret Holloway sent her nephew a new lens for the lamp, which she had paid for out of her own"
        " savings.",
    ),
    Questioned(
        "Who built the stone pier that replaced the wooden jetty?",
        "The engineer Agnes Thorne",
        "The stone pier that replaced the wooden jetty was built by the engineer Agnes Thorne.",
    ),
    Questioned(
        "Why is the ledger kept under glass in the town hall today?",
        "As a reminder that the town had looked away for nine years",
        "Today the ledger is kept under glass in the town hall, as a reminder that a whole town had looked away for"
        " nine years while its ships went out and did not come back.",
    ),
]

GERMAN = [
    Questioned(
        "Warum verließ Margarethe Holtkamp im Herbst 1911 den Leuchtturm an der Karrower Landspitze?",
        "Weil die Hafenverwaltung die Instandsetzung der Lampe nicht bezahlen wollte",
        "Margarethe Holtkamp verließ den Leuchtturm an der Karrower Landspitze im Herbst 1911, weil sich die"
        " Hafenverwaltung bereits im dritten Jahr geweigert hatte, die Instandsetzung der Lampe zu bezahlen.",
    ),
    Questioned(
        "Wer übernahm nach Margarethe Holtkamp den Dienst auf dem Leuchtturm?",
        "Ihr Neffe Eduard Marschner",
        "Ihr Neffe Eduard Marschner, der noch keine einzige Nacht auf See verbracht hatte, übernahm noch in derselben"
        " Woche ihren Dienst.",
    ),
    Questioned(
        "Was entdeckte Eduard Marschner unter den Bodendielen des Öllagers?",
        "Ein Verzeichnis mit den Namen von elf Schiffen, die nie als verschollen gemeldet worden waren",
        "Unter den Bodendielen des Öllagers entdeckte Eduard Marschner ein Verzeichnis mit den Namen von elf Schiffen,"
        " die niemals als verschollen gemeldet worden waren.",
    ),
    Questioned(
        "Wie verdienten die Versicherungsgesellschaften am Untergang der Schiffe?",
        "Sie verkauften die Ladung im Voraus und kassierten die Versicherungsprämien doppelt",
        "Die Versicherungsgesellschaften hatten die Ladung schon vor dem Auslaufen verkauft und die Prämien doppelt"
        " kassiert, einmal von den Reedern und einmal von der Krone.",
    ),
    Questioned(
        "Wann wurde die Untersuchung der Schiffsuntergänge vor dem Landgericht eröffnet?",
        "Am vierten März 1912",
        "Am vierten März 1912 wurde die Untersuchung vor dem Landgericht eröffnet, und auf der Zuschauertribüne saßen"
        " die Witwen.",
    ),
    Questioned(
        "Wo hatte der Hafenmeister Josias Bellmann die Briefe der Versicherungsgesellschaften versteckt?",
        "Hinter den Gezeitentafeln im Zollgebäude",
        "Josias Bellmann, der Hafenmeister, hatte die Briefe der Versicherungsgesellschaften hinter den Gezeitentafeln"
        " im Zollgebäude versteckt, wo neun Jahre lang niemand nachgesehen hatte.",
    ),
    Questioned(
        "Weshalb legte Josias Bellmann schließlich ein Geständnis ab?",
        "Sein eigener Sohn war auf dem letzten der Schiffe gewesen",
        "Er legte ein Geständnis ab, als er erfuhr, dass sein eigener Sohn an Bord des letzten Schiffes gewesen war.",
    ),
    Questioned(
        "Zu welcher Strafe wurde Josias Bellmann verurteilt?",
        "Zu vierzehn Jahren Zuchthaus",
        "Der Richter verurteilte ihn zu vierzehn Jahren Zuchthaus und wollte von Begnadigung nichts hören.",
    ),
    Questioned(
        "Wie wurden die Witwen der Seeleute nach der Gerichtsverhandlung entschädigt?",
        "Aus dem Verkauf der Lagerhäuser der Versicherungsgesellschaften",
        "Die Witwen wurden aus dem Verkauf der Lagerhäuser am Kai entschädigt, obwohl sich die Rechtsanwälte erst nach"
        " drei weiteren Wintern über die Anteile einigen konnten.",
    ),
    Questioned(
        "Was schickte Margarethe Holtkamp ihrem Neffen aus Lissabon?",
        "Eine neue Linse für die Lampe, bezahlt aus ihren eigenen Ersparnissen",
        "Aus Lissabon schickte Margarethe Holtkamp ihrem Neffen eine neue Linse für die Lampe, die sie aus ihren"
        " eigenen Ersparnissen bezahlt hatte.",
    ),
    Questioned(
        "Wer errichtete die steinerne Mole, die den hölzernen Landungssteg ersetzte?",
        "Die Ingenieurin Agnes Thorwald",
        "Die steinerne Mole, die den hölzernen Landungssteg ersetzte, wurde von der Ingenieurin Agnes Thorwald"
        " errichtet.",
    ),
    Questioned(
        "Weshalb wird das Verzeichnis heute im Rathaus unter Glas aufbewahrt?",
        "Als Mahnung daran, dass die Stadt neun Jahre lang weggesehen hatte",
        "Heute wird das Verzeichnis im Rathaus unter Glas aufbewahrt, zur Mahnung daran, dass eine ganze Stadt neun"
        " Jahre lang weggesehen hatte, während ihre Schiffe ausliefen und nicht zurückkehrten.",
    ),
]

RUSSIAN = [
    Questioned(
        "Почему Маргарита Голубева осенью 1911 года покинула маяк на Каровском мысу?",
        "Потому что портовое управление отказалось оплатить починку лампы",
        "Маргарита Голубева покинула маяк на Каровском мысу осенью 1911 года, потому что портовое управление уже третий"
        " год подряд отказывалось оплачивать починку лампы.",
    ),
    Questioned(
        "Кто стал смотрителем маяка после Маргариты Голубевой?",
        "Её племянник Эдуард Маршев",
        "Её племянник Эдуард Маршев, который ни одной ночи не провёл в море, принял её обязанности на той же неделе.",
    ),
    Questioned(
        "Что обнаружил Эдуард Маршев под полом масляного склада?",
        "Книгу с названиями одиннадцати кораблей, о гибели которых никто не сообщал",
        "Под полом масляного склада Эдуард Маршев обнаружил книгу с названиями одиннадцати кораблей, о гибели которых"
        " никто никогда не сообщал.",
    ),
    Questioned(
        "Каким образом страховые общества наживались на гибели кораблей?",
        "Они заранее продавали груз и дважды получали страховые взносы",
        "Страховые общества продавали груз ещё до выхода кораблей в море и получали взносы дважды: один раз от"
        " судовладельцев и ещё раз от казны.",
    ),
    Questioned(
        "Когда в окружном суде началось разбирательство по делу о погибших кораблях?",
        "Четвёртого марта 1912 года",
        "Четвёртого марта 1912 года в окружном суде началось разбирательство, и на скамьях для публики сидели вдовы.",
    ),
    Questioned(
        "Где начальник порта Иосиф Белов спрятал письма страховых обществ?",
        "За таблицами приливов в здании таможни",
        "Иосиф Белов, начальник порта, спрятал письма страховых обществ за таблицами приливов в здании таможни, куда"
        " девять лет никто не заглядывал.",
    ),
    Questioned(
        "Почему Иосиф Белов в конце концов признался?",
        "На последнем из кораблей находился его собственный сын",
        "Он признался, когда узнал, что на последнем из кораблей находился его собственный сын.",
    ),
    Questioned(
        "К какому наказанию приговорили Иосифа Белова?",
        "К четырнадцати годам каторжных работ",
        "Судья приговорил его к четырнадцати годам каторжных работ и не пожелал слышать о помиловании.",
    ),
    Questioned(
        "Из каких средств вдовам моряков после суда выплатили возмещение?",
        "Из выручки от продажи складов страховых обществ на набережной",
        "Вдовам выплатили возмещение из выручки от продажи складов на набережной, хотя поверенным понадобилось ещё три"
        " зимы, чтобы договориться о долях.",
    ),
    Questioned(
        "Что Маргарита Голубева прислала племяннику из Лиссабона?",
        "Новую линзу для лампы, купленную на её собственные сбережения",
        "Из Лиссабона Маргарита Голубева прислала племяннику новую линзу для лампы, которую она купила на собственные"
        " сбережения.",
    ),
    Questioned(
        "Кто построил каменный мол, заменивший деревянную пристань?",
        "Инженер Агнесса Торнова",
        "Каменный мол, заменивший деревянную пристань, построила инженер Агнесса Торнова.",
    ),
    Questioned(
        "Почему найденную книгу сегодня хранят под стеклом в городской ратуше?",
        "Как напоминание о том, что город девять лет отводил глаза",
        "Сегодня книгу хранят под стеклом в городской ратуше как напоминание о том, что целый город девять лет отводил"
        " глаза, пока его корабли уходили в море и не возвращались.",
    ),
]

JAPANESE = [
    Questioned(
        "なぜマルガレーテ・ホロウェイは一九一一年の秋にカロウ岬の灯台を去ったのですか。",
        "港湾局が灯の修理費の支払いを拒んだから",
        "マルガレーテ・ホロウェイが一九一一年の秋にカロウ岬の灯台を去ったのは、港湾局が三年続けて灯の修理費の支払いを拒んだからである。",
    ),
    Questioned(
        "ホロウェイの後に灯台を引き継いだのは誰ですか。",
        "甥のエドウィン・マーシュ",
        "一晩も海で過ごしたことのない甥のエドウィン・マーシュが、その週のうちに彼女の務めを引き継いだ。",
    ),
    Questioned(
        "エドウィン・マーシュは油倉の床下で何を見つけましたか。",
        "遭難の届けがない十一隻の船の名を記した帳簿",
        "油倉の床下でエドウィン・マーシュは、遭難の届けが一度も出されていない十一隻の船の名を記した帳簿を見つけた。",
    ),
    Questioned(
        "保険会社は船の沈没によってどのように利益を得ていたのですか。",
        "積み荷を先に売り、保険料を二重に受け取っていた",
        "保険会社は出港の前に積み荷を売り払い、船主と国の双方から保険料を二重に受け取っていた。",
    ),
    Questioned(
        "沈んだ船についての審理はいつ地方裁判所で始まりましたか。",
        "一九一二年三月四日",
        "一九一二年三月四日、地方裁判所で審理が始まり、傍聴席には寡婦たちが座っていた。",
    ),
    Questioned(
        "港長ジョサイア・ベルは保険会社からの手紙をどこに隠していましたか。",
        "税関の潮汐表の裏",
        "港長のジョサイア・ベルは保険会社からの手紙を税関の潮汐表の裏に隠していたが、九年の間そこを調べた者は一人もいなかった。",
    ),
    Questioned(
        "ジョサイア・ベルはなぜ最後に自白したのですか。",
        "最後の船に自分の息子が乗っていたから",
        "最後の船に自分の息子が乗っていたと知ったとき、彼は自白した。",
    ),
    Questioned(
        "ジョサイア・ベルにはどのような刑が下されましたか。",
        "懲役十四年",
        "裁判官は彼に懲役十四年を言い渡し、赦免の願いには耳を貸さなかった。",
    ),
    Questioned(
        "裁判の後、船員の寡婦たちへの補償は何によって賄われましたか。",
        "埠頭にある保険会社の倉庫の売却金",
        "寡婦たちへの補償は埠頭の倉庫の売却金によって賄われたが、弁護士たちが配分に合意するまでにはさらに三度の冬を要した。",
    ),
    Questioned(
        "ホロウェイはリスボンから甥に何を送りましたか。",
        "自分の蓄えで買った灯の新しいレンズ",
        "リスボンからホロウェイは、自分の蓄えで買った灯の新しいレンズを甥に送った。",
    ),
    Questioned(
        "木の桟橋に代わる石の突堤を築いたのは誰ですか。",
        "技師のアグネス・ソーン",
        "木の桟橋に代わる石の突堤を築いたのは、技師のアグネス・ソーンである。",
    ),
    Questioned(
        "帳簿は今日なぜ市庁舎でガラスの下に保管されているのですか。",
        "町が九年の間目をそらしていたことを忘れないため",
        "今日、帳簿は市庁舎でガラスの下に保管されており、船が出ては帰らなかった九年の間、町全体が目をそらしていたことを忘れさせない。",
    ),
]

LANGUAGES = {"English": ENGLISH, "German": GERMAN, "Russian": RUSSIAN, "Japanese": JAPANESE}


def chapter(asked: list[Questioned]) -> str:
    """The chapter itself, which is what the questions quote."""
    between = "" if asked is JAPANESE else " "
    return between.join(one.quote for one in asked)
