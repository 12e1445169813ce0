"""The words of which benchmarks/keyfact_world.py makes its documents."""

from __future__ import annotations

from typing import Literal, NamedTuple


def _words(text: str, between: str | None = None) -> list[str]:
    return text.split(between)


FIRST_NAMES = _words(
    "Agnes Anselm Beatrix Bruno Cecily Conrad Dorothea Dietrich Edith Emeric Felicia Fabian Gisela Gregor Honora Hugo"
    " Irena Ivo Judith Jasper Katarina Kaspar Lavinia Leopold Magda Marius Nadia Norbert Odile Osric Petra Piers"
    " Rosalind Ruben Sabina Silas Theresa Thaddeus Ursula Ulric Vera Valentin Wanda Wilfred"
)
LAST_NAMES = _words(
    "Abernathy Ashdown Bellamy Brzeski Calloway Corrigan Delacroix Drummond Eastlake Ellery Farquhar Fenwick Galbraith"
    " Grimshaw Halloran Hartmann Ingersoll Iverson Jankowski Jessop Kirkbride Kowalik Lanyon Lindqvist Mandeville"
    " Merriman Nakamura Novak Oakeshott Okafor Pargeter Petrov Quennell Quarles Rademaker Roscoe Santangelo Stavros"
    " Tolliver Tremaine Underhill Urquhart Vandermeer Vasquez"
)
PLACES = _words(
    "Ashcombe Almaden Brackwater Bellinzona Carrowmore Coldharbour Dunmere Davenport Eskdale Ellismere Farrowby"
    " Felsenburg Greyfriars Galveston Hexworth Heronsgate Innisfree Ironbridge Kessock Karlsbad Lymington Lowestoft"
    " Marrakech Maldon Northwick Nantes Ottershaw Oldcastle Pendragon Portmere Ravenna Rothbury Selkirk Stavanger"
    " Thornbury Trieste Ulverston Upsala Wexcombe Westerham"
)
THINGS = _words(
    "the windmill;the ferry;the granary;the chapel organ;the printing press;the stone bridge;the vineyard;the almanac;"
    "the brass telescope;the glassworks;the harbour wall;the tapestry;the clock tower;the brewery;the orchard;the"
    " iron gate;the observatory;the schooner;the tannery;the fountain;the lighthouse lamp;the silver chalice;the"
    " quarry;the church bell;the library;the town map;the wooden theatre;the sawmill;the bakery;the aqueduct;the"
    " portrait;the sugar store;the coal barge;the greenhouse;the music hall;the parish register;the inn;the archive;"
    "the carriage;the pottery kiln",
    ";",
)
UNITS = (_words("guineas florins ducats crowns dollars pounds shillings thalers"), _words("weeks days months years"))
MONTHS = _words("January February March April May June July August September October November December")

NUMERALS = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty"
)
ADJECTIVES = _words("old famous little neglected splendid half-ruined new narrow")

Frame = Literal["thing", "person", "transfer", "travel"]


class Wording(NamedTuple):
    """A verb in the forms that are needed."""

    base: str
    past: str
    participle: str


class Deed(NamedTuple):
    """Something that people do, in two wordings, and its opposite."""

    frame: Frame
    wordings: tuple[Wording, Wording]
    contrary: Wording


def _wording(text: str) -> Wording:
    forms = text.strip().split("/")
    base = forms[0]
    past = forms[1] if len(forms) > 1 else _regular(base)
    return Wording(base, past, forms[2] if len(forms) > 2 else past)


def present(wording: Wording) -> Wording:
    """The verb as a summary in the present tense has it, where the past tense would stand."""
    head, _, tail = wording.base.partition(" ")
    ending = "es" if head.endswith(("s", "sh", "ch", "x", "o")) else "s"
    if head.endswith("y") and head[-2] not in "aeiou":
        head, ending = head[:-1], "ies"
    return wording._replace(past=f"{head}{ending} {tail}".strip())


def _regular(base: str) -> str:
    head, _, tail = base.partition(" ")
    past = head + ("d" if head.endswith("e") else "ed")
    if head.endswith("y") and head[-2] not in "aeiou":
        past = head[:-1] + "ied"
    return f"{past} {tail}".strip()


def _deeds(frame: Frame, table: str) -> list[Deed]:
    found = []
    for line in table.strip().splitlines():
        one, other, contrary = map(_wording, line.split(";"))
        found.append(Deed(frame, (one, other), contrary))
    return found


DEEDS = [
    *_deeds(
        "thing",
        """
        build/built;construct;demolish
        mend;repair;wreck
        purchase;buy/bought;sell/sold
        conceal;hide/hid/hidden;reveal
        discover;find/found;lose/lost
        burn down/burned down;set fire to/set fire to;save from the flames/saved from the flames
        decorate;adorn;strip bare/stripped bare
        inherit;come into/came into;forfeit
        inspect;examine;ignore
        lock up/locked up;shut/shut;open
        enlarge;extend;shrink/shrank/shrunk
        abandon;give up/gave up/given up;keep/kept
        steal/stole/stolen;make off with/made off with;return
        finish;complete;begin/began/begun
        polish;clean;soil
        draw/drew/drawn;sketch;erase
        pawn;mortgage;redeem
        restore;renovate;neglect
        photograph;take a picture of/took a picture of;overlook
        insure;take out a policy on/took out a policy on;leave unprotected/left unprotected
        dismantle;take apart/took apart/taken apart;assemble
        fill/filled;stock;empty
        """,
    ),
    *_deeds(
        "person",
        """
        hire;engage;dismiss
        rescue;save;abandon
        betray;inform on;protect
        praise;commend;criticise
        accuse;blame;acquit
        teach/taught;instruct;mislead/misled
        visit;call on;avoid
        defeat;beat/beat/beaten;yield to
        nurse;tend;poison
        imprison;jail;release
        support;back;oppose
        forgive/forgave/forgiven;pardon;punish
        follow;trail;flee from/fled from
        elect;vote for;depose
        cheat;swindle;repay/repaid
        welcome;greet warmly/greeted warmly;turn away
        trust;rely on;suspect
        adopt;take in/took in/taken in;disown
        sue;take to court/took to court/taken to court;settle with
        wound;injure;heal
        """,
    ),
    *_deeds(
        "transfer",
        """
        sell/sold;auction off;buy/bought
        lend/lent;loan;borrow
        give/gave/given;present;take/took/taken
        hand over;surrender;withhold/withheld
        bequeath;leave by will/left by will;inherit
        send/sent;dispatch;receive
        promise;pledge;withhold/withheld
        rent out;lease;seize
        entrust;confide;wrest
        ship/shipped;deliver;keep/kept
        """,
    ),
    *_deeds(
        "travel",
        """
        sail to;voyage to;sail from
        ride to/rode to;travel on horseback to;ride away from/rode away from
        move to;settle in;move away from
        flee to/fled to;escape to;return from
        walk to;hike to;walk away from
        return to;come back to/came back to;depart from
        retire to;withdraw to/withdrew to;leave/left
        drive to/drove to;motor to;drive away from/drove away from
        """,
    ),
]
INVENTED = _words(
    "secretly wrote love poems to a duchess;kept a tame leopard in the cellar;swore to walk barefoot until Christmas;"
    "was crowned king of the carnival;developed a fear of thunder;cooked a banquet of eels for the bishop;invented a"
    " machine for peeling chestnuts;spoke fluent Arabic;dreamed of a career at the opera;won a medal for swimming;"
    "collected the skulls of owls;once fought a duel over a hat;suffered from terrible headaches;joined a circus of"
    " acrobats;taught a parrot to recite psalms;believed that comets brought disease;gambled away a fortune at cards;"
    "was descended from pirates;wore a wig made of horsehair;predicted the eclipse correctly",
    ";",
)
FILLERS = _words(
    "The rain had not stopped since morning.;Nobody in the street took any notice.;A smell of tar hung about the"
    " quays.;{A} slept badly in those weeks.;The talk at supper was of nothing but the harvest.;Gulls wheeled over"
    " the roofs.;{A} had always been fond of strong coffee.;It was said that the mayor disliked loud music.;{A}"
    " said very little about it afterwards.;The newspapers wrote of other matters.;Snow lay in the hollows until"
    " Easter.;{A} and {B} were seen talking in the market.;At {P} the shops closed early.;The evenings grew"
    " long.;{A} looked out at the darkening hills.;Old men told the story in different ways.;{B} wondered what {A}"
    " would say.;The road to {P} was deep in mud.;Somebody had left a lantern burning.;The dogs barked all"
    " night.;{A} walked past {T} every morning.;There was much talk of {T} in those years.;{B} would not hear a"
    " word against {A}.;{A} remembered the summer of {Y}.",
    ";",
)
ASIDES = _words(
    "who had little patience;who was known for a quick temper;in spite of much advice;after long thought;to everybody's"
    " surprise;against the wishes of the family;with some reluctance;without telling a soul",
    ";",
)

BEFOREHAND = _words(
    "had waited long enough;came home that week;was tired of waiting;knew what had to be done;had made a plan at last",
    ";",
)
CODAS = _words(
    "and the neighbours talked of it for years;which surprised nobody;though nothing was put in writing;and there the"
    " matter rested;as the letters show;but few people knew of it;while the band played in the square",
    ";",
)
