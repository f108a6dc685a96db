"""Words by theme, the most typical first, which make topics of generated corpora readable."""

_TEXT = """
health: doctor patient hospital disease medicine treatment nurse surgery clinic symptom vaccine diagnosis
    therapy infection cancer pain virus fever pharmacy recovery surgeon heart prescription wound
law: court judge law trial jury lawyer evidence witness verdict justice attorney crime appeal statute
    defendant prison guilty sentence prosecutor legal plaintiff lawsuit police constitution
money: bank money market loan investor stock price debt interest fund profit mortgage credit currency
    inflation trader economy bond dividend savings tax budget finance wealth
sport: game team player coach season goal match league score stadium championship tournament football
    athlete victory defeat referee basketball tennis champion medal penalty olympic training
school: school student teacher class university lesson exam classroom education college homework grade
    professor lecture textbook campus degree graduate learning pupil kindergarten scholarship tuition
    curriculum
food: food cook recipe kitchen bread cheese restaurant meal sugar butter salt chicken soup vegetable flavour
    oven dinner chef rice garlic sauce wine fruit breakfast
space: planet star orbit moon rocket telescope galaxy astronaut satellite spacecraft universe comet gravity
    solar asteroid launch mars cosmic astronomy eclipse shuttle lunar meteor nebula
weather: rain storm wind snow temperature cloud weather forecast hurricane flood thunder drought climate
    sunshine humidity fog winter breeze lightning frost tornado heat ice rainfall
computing: computer software data code program network internet server algorithm digital user keyboard
    website database hardware encryption laptop download processor email browser programmer memory screen
music: music song band guitar album concert piano singer melody rhythm drum orchestra lyrics violin stage
    jazz composer symphony choir chorus musician opera tune bass
travel: travel hotel flight airport tourist passport luggage beach journey ticket island cruise visa
    suitcase destination trip museum guide holiday resort map souvenir passenger vacation
farming: farm crop farmer wheat cattle harvest soil tractor seed barn sheep irrigation corn livestock
    orchard fertiliser field dairy pasture hay plough grain goat agriculture
war: army soldier war battle enemy weapon troops general tank bomb navy military attack missile commander
    invasion ceasefire regiment rifle combat infantry siege veteran fortress
family: family mother father child daughter son sister brother parent baby marriage wedding grandmother
    cousin uncle husband wife aunt birthday nephew household grandfather sibling twin
ocean: ocean sea ship fish wave sailor whale boat harbour coral shark captain tide reef anchor dolphin
    fisherman vessel coast shore lighthouse seaweed lagoon submarine
building: house building architect wall roof brick concrete window construction bridge tower foundation
    apartment carpenter floor engineer ceiling cement plumber staircase steel timber scaffold renovation
faith: church god prayer faith priest bible religion temple bishop worship sermon holy prophet monk soul
    scripture angel pilgrim mosque gospel blessing chapel saint salvation
theatre: film actor movie director theatre scene drama audience cinema script actress comedy rehearsal
    costume premiere screenplay producer tragedy curtain camera plot documentary cast applause
nature: forest tree bird river mountain leaf wolf flower wildlife deer bear nest valley oak lake butterfly
    eagle moss meadow pine fox branch fern owl
election: vote election president party candidate senate campaign minister parliament policy ballot
    government democracy voter congress speech debate mayor coalition governor opposition referendum poll
    politician
"""


_LINES = (line.split(":") for line in _TEXT.strip().replace("\n    ", " ").splitlines())
THEMES = {name: tuple(words.split()) for name, words in _LINES}
