"""A summary in three other languages, and what a model says in four that would not revise it."""

from __future__ import annotations

SUMMARY = (
    "In March 1924 Hester Vane crosses to the island of Corran to look for the ledger of her father, in which"
    " every load of salt stands that ever left the harbour. The keeper, Elias Brandt, has hidden it in the tower"
    " for forty years. When the storm of the third night takes the bridge, he gives it to her, and she reads what"
    " he owes."
)
TRANSLATIONS = {
    "German": (
        "Im März 1924 setzt Hester Vane auf die Insel Corran über, um das Salzbuch ihres Vaters zu suchen, in dem"
        " jede Ladung Salz steht, die je den Hafen verließ. Der Wärter, Elias Brandt, hat es vierzig Jahre lang im"
        " Turm versteckt. Als der Sturm der dritten Nacht die Brücke nimmt, gibt er es ihr, und sie liest, was er"
        " schuldet."
    ),
    "Russian": (
        "В марте 1924 года Эстер Вейн приезжает на остров Корран, чтобы найти книгу своего отца, где записан каждый"
        " груз соли, ушедший из гавани. Смотритель, Элиас Брандт, сорок лет прятал её в башне. Когда буря третьей"
        " ночи сносит мост, он отдаёт ей книгу, и она читает, сколько он должен."
    ),
    "Japanese": (
        "一九二四年三月、ヘスター・ヴェインは父の帳簿を探しにコラン島へ渡る。港を出た塩の荷はすべてそこに記されている"
        "。灯台守のエリアス・ブラントは四十年間それを塔に隠していた。三日目の夜の嵐が橋をさらうと、彼は帳簿を彼女に渡"
        "し、彼女は彼の借りを読む。"
    ),
}
EXCUSES = {
    "English": (
        "I'm sorry, but I can't help with revising this summary of Hester Vane's story. The points that I was given"
        " do not say what the document has, and without the whole of the document in front of me I might state things"
        " that are not so. If you send me all of it I will gladly try once more, and I will keep to the limit of"
        " words."
    ),
    "German": (
        "Es tut mir leid, aber ich kann die Zusammenfassung über Hester Vane so nicht überarbeiten. Mir liegt nur ein"
        " kleiner Teil des Dokuments vor, und ohne das ganze Dokument könnte ich etwas behaupten, was dort nicht"
        " steht. Wenn Sie mir alles schicken, versuche ich es gern noch einmal und halte mich dann auch an die Länge."
    ),
    "Russian": (
        "Чтобы выполнить эту работу как следует, мне нужно прочитать документ целиком, потому что приведённых"
        " отрывков недостаточно для ответа на поставленные вопросы. Пока я предпочитаю ничего не менять, чтобы не"
        " написать того, чего там нет. Пришлите остальное, и я начну сначала и сделаю всё очень внимательно."
    ),
    "Japanese": (
        "この作業をきちんと行うには文書全体を読む必要があります。示された部分だけでは質問に答えるのに十分ではありませ"
        "ん。今のところ、書かれていないことを書いてしまうよりは、何も変えないほうがよいと考えます。残りを送っていただ"
        "ければ、最初からやり直し、長さの制限も守って、できるだけ丁寧に仕上げます。どうかご理解いただきますようお願い"
        "いたします。"
    ),
}
