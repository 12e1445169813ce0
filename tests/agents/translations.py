"""A summary in six other languages, and what a model says in seven that would not revise it."""

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
    "French": (
        "En mars 1924, Hester Vane passe sur l'île de Corran pour chercher le registre de son père, où figure chaque"
        " charge de sel qui a quitté le port. Le gardien, Elias Brandt, l'a caché quarante ans dans la tour. Quand la"
        " tempête de la troisième nuit emporte le pont, il le lui donne, et elle lit ce qu'il doit."
    ),
    "Spanish": (
        "En marzo de 1924, Hester Vane cruza a la isla de Corran para buscar el libro de su padre, en el que está"
        " cada carga de sal que salió del puerto. El farero, Elias Brandt, lo ha escondido cuarenta años en la torre."
        " Cuando la tormenta de la tercera noche se lleva el puente, él se lo da, y ella lee lo que debe."
    ),
    "Russian": (
        "В марте 1924 года Эстер Вейн приезжает на остров Корран, чтобы найти книгу своего отца, где записан каждый"
        " груз соли, ушедший из гавани. Смотритель, Элиас Брандт, сорок лет прятал её в башне. Когда буря третьей"
        " ночи сносит мост, он отдаёт ей книгу, и она читает, сколько он должен."
    ),
    "Chinese": (
        "1924年3月，海丝特·维恩渡海来到科伦岛，寻找父亲的账簿，港口运出的每一船盐都记在上面。守塔人埃利亚斯·布兰特把"
        "它藏在塔里四十年。第三夜的风暴卷走了桥，他把账簿交给她，她读到了他欠下的债。"
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
    "French": (
        "Pour bien faire ce travail, il me faudrait lire le document en entier, car les passages donnés ne suffisent"
        " pas à répondre aux questions posées. Je préfère donc ne rien changer pour le moment plutôt que d'écrire des"
        " choses fausses. Envoyez la suite et je reprendrai tout depuis le début avec le plus grand soin."
    ),
    "Spanish": (
        "Para hacer bien este trabajo tendría que leer el documento entero, porque los pasajes que se dan no bastan"
        " para responder a lo que se pregunta. Prefiero no cambiar nada por ahora antes que escribir cosas que no son"
        " ciertas. Con el resto del documento podría empezar de nuevo y poner en ello el mayor cuidado."
    ),
    "Russian": (
        "Чтобы выполнить эту работу как следует, мне нужно прочитать документ целиком, потому что приведённых"
        " отрывков недостаточно для ответа на поставленные вопросы. Пока я предпочитаю ничего не менять, чтобы не"
        " написать того, чего там нет. Пришлите остальное, и я начну сначала и сделаю всё очень внимательно."
    ),
    "Chinese": (
        "要做好这项工作，我需要阅读完整的文件，因为所给的段落不足以回答提出的问题。目前我宁愿什么都不改，也不想写出文"
        "件里没有的内容。如果能把其余的部分发给我，我会从头开始，非常仔细地重新完成这份摘要，并且遵守字数限制，绝不超"
        "过规定的长度。"
    ),
    "Japanese": (
        "この作業をきちんと行うには文書全体を読む必要があります。示された部分だけでは質問に答えるのに十分ではありませ"
        "ん。今のところ、書かれていないことを書いてしまうよりは、何も変えないほうがよいと考えます。残りを送っていただ"
        "ければ、最初からやり直し、長さの制限も守って、できるだけ丁寧に仕上げます。どうかご理解いただきますようお願い"
        "いたします。"
    ),
}
