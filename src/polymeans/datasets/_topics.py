"""Words of generated posts: those of all posts and those of each topic, most frequent first."""

from typing import NamedTuple


class Topic(NamedTuple):
    """A topic of posts and the words it prefers."""

    name: str
    group: str  #: topics of the same group are related
    words: tuple[str, ...]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _topic(name: str, group: str, words: str) -> Topic:
    return Topic(name, group, _words(words))


#: Words of every post, the most common first.
GENERAL = _words(
    """
    the to of and in is that it for you on this be with are not have as but if or can from was at
    they my your we there what would about one all do so will some an by has any which just get
    more out no people when how only like other who don know up time then think than good make see
    them also does could say use want much now even way new very where too really well year because
    why should find need work right problem question point thing most first two something made did
    post read group article write answer help anyone thanks mail list news opinion reason person
    place day week world name number part case fact idea word back long last great real old better
    sure mean look take give come tell ask try keep seem believe agree wrong true sense interested
    information wonder heard recently several many few little different same again before after
    while still around ago maybe probably actually anyway else always never often already
    """
)

#: Groups alternate, so that few topics come from as many groups as possible.
TOPICS = (
    _topic(
        "space",
        "science",
        """
        space orbit launch nasa moon shuttle satellite earth mission lunar rocket mars solar
        spacecraft station flight astronaut planet venus probe telescope payload comet gravity
        atmosphere jupiter booster fuel crew landing science energy surface observation technology
        astronomy engine altitude budget research
        """,
    ),
    _topic(
        "hockey",
        "leisure",
        """
        hockey team game season goal playoff league player ice puck goalie score coach rangers
        penalty period shot pittsburgh toronto montreal detroit boston overtime captain defense
        trade draft skate assist win fan rink stick forward arena division points final cup play
        """,
    ),
    _topic(
        "graphics",
        "computing",
        """
        image graphics format color file pixel polygon animation software program bitmap rendering
        jpeg resolution algorithm package library screen palette shading surface texture viewer
        convert raster display vector plot compression mapping object scan sphere routine picture
        tracing code version dimension print
        """,
    ),
    _topic(
        "religion",
        "debate",
        """
        god church faith bible christ christian sin prayer scripture heaven gospel holy spirit
        religion doctrine belief truth lord worship soul salvation priest apostle resurrection verse
        teaching eternal tradition mercy jesus love grace moral life death evil catholic sermon
        passage testament
        """,
    ),
    _topic(
        "for sale",
        "market",
        """
        sale offer price shipping sell condition buy asking obo package brand original box excellent
        manual cash cheap dollars included selling stereo bid used discount order receipt
        warranty tape game speaker camera postage deal collection retail guitar printer ticket
        monitor unopened
        """,
    ),
    _topic(
        "medicine",
        "science",
        """
        doctor disease patient medical treatment symptom drug blood infection diet pain health
        medicine cancer vitamin therapy physician dose clinical syndrome allergy hospital diagnosis
        study chronic migraine yeast antibiotic food surgery immune virus kidney science effect
        research nutrition muscle test skin
        """,
    ),
    _topic(
        "baseball",
        "leisure",
        """
        baseball pitcher team game season hit inning league player run batting pitch base catcher
        shortstop ball field umpire homer outfield bat average bullpen dugout coach score win fan
        trade rookie stadium cubs braves mets yankees career defense manager strike steal
        """,
    ),
    _topic(
        "windows",
        "computing",
        """
        windows dos file driver program microsoft memory mode application font version directory
        mouse disk software icon manager menu install desktop swap printer load boot user screen
        setup exe ini shell command crash document editor copy error extension backup dialog path
        """,
    ),
    _topic(
        "middle east",
        "debate",
        """
        israel arab palestinian peace jewish territory war turkey armenia lebanon border village
        government gaza refugee civilian army occupied soldier state attack syria muslim history
        jerusalem treaty settlement population resolution land conflict region negotiation minister
        nation ottoman rights killed troops islam
        """,
    ),
    _topic(
        "cryptography",
        "science",
        """
        key encryption chip clipper algorithm secure cipher privacy escrow decrypt message wiretap
        crypto security secret agency public code random scheme protocol block attack phone password
        cryptography court law enforcement hash bit session technology research signature government
        communication analysis device trust
        """,
    ),
    _topic(
        "motorcycles",
        "leisure",
        """
        bike ride motorcycle helmet rider honda engine road dod bmw yamaha tire throttle gear clutch
        harley brake wheel chain leather lane exhaust seat traffic mile saddle passenger turn dealer
        speed countersteering fork oil jacket kawasaki highway cruise insurance gravel handlebar
        """,
    ),
    _topic(
        "pc hardware",
        "computing",
        """
        drive card scsi controller disk bus ide motherboard memory ram port monitor isa bios modem
        video floppy driver board cable jumper slot cache megabyte serial processor speed cpu
        install adapter interrupt tape connector keyboard boot upgrade machine vendor chip transfer
        """,
    ),
    _topic(
        "guns",
        "debate",
        """
        gun weapon firearm police law crime rifle handgun ammunition amendment control defense
        criminal militia shooting bullet license assault constitution rights pistol ban carry
        government murder federal legal holster citizen safety self owner state court dangerous
        robbery barrel permit killed homicide
        """,
    ),
    _topic(
        "electronics",
        "science",
        """
        circuit voltage current wire power amplifier signal resistor battery ground capacitor
        frequency input output chip transistor radio electronics diode outlet noise copper switch
        audio pin transformer solder relay component device detector meter phase analog supply
        microcontroller energy technology coil test
        """,
    ),
    _topic(
        "cars",
        "leisure",
        """
        car engine dealer drive ford toyota tire oil brake transmission mile sedan wheel honda speed
        road mustang vehicle gear clutch highway insurance door fuel seat bumper radar turbo price
        valve convertible traffic wagon odometer nissan steering airbag automatic turn repair
        """,
    ),
    _topic(
        "macintosh",
        "computing",
        """
        mac apple quadra powerbook drive monitor centris memory simm disk finder system software
        keyboard duo lciii video scsi card nubus port printer laserwriter mouse appletalk ram
        application folder icon upgrade fpu modem floppy machine quicktime desktop battery color
        install display
        """,
    ),
    _topic(
        "politics",
        "debate",
        """
        president government tax congress vote clinton budget policy state law election federal
        republican democrat job economy administration party senate spending welfare campaign
        rights house reform liberal conservative deficit bill money public country health nation
        court constitution national insurance program debate
        """,
    ),
    _topic(
        "x window",
        "computing",
        """
        window server widget motif client application display code event program library xterm
        toolkit unix callback font manager openwindows resource lib compile colormap sun keyboard
        screen mouse source interface pixmap file error user session terminal workstation color
        version function command bitmap
        """,
    ),
    _topic(
        "atheism",
        "debate",
        """
        atheist god belief religion argument evidence exist moral atheism existence morality logic
        truth doubt universe claim fallacy agnostic science faith believer objective theist
        premise proof bible islam evolution skeptic contradiction human creation assertion
        conclusion natural definition supernatural philosophy secular evil
        """,
    ),
    _topic(
        "weather",
        "science",
        """
        weather rain storm temperature wind forecast snow cloud humidity climate pressure hurricane
        atmosphere degrees flood lightning ice warm cold front thunder tornado drought radar fog
        season barometer precipitation heat model satellite surface ocean station frost observation
        tropical winter summer blizzard
        """,
    ),
)
