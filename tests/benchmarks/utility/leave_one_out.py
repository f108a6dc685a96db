"""Choose each method's constants on all tables but one, and score it on that one.

A setting's merit on a table and ε is its AUC as a part of what the best setting of the method reaches there,
averaged over seeds; the setting with the best mean over all other tables is taken, one for each ε.
"""

import pandas as pd

SETTING = ": "


def same_seeds(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of seeds that all methods of a table and ε share, so that means compare."""
    kept = []
    for _, group in rows.groupby(["data", "epsilon"]):
        shared = set.intersection(*(set(seeds) for _, seeds in group.groupby("method").seed))
        kept.append(group[group.seed.isin(shared)])
    return pd.concat(kept, ignore_index=True)


def chosen(results: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the settings that were chosen without the table, with `method` the family's name."""
    rows = results.assign(family=results.method.str.split(SETTING).str[0])
    merit = rows.groupby(["family", "epsilon", "data", "method"]).auc.mean()
    best = merit.groupby(level=["family", "epsilon", "data"]).transform("max")
    merit = (merit - best).rename("merit").reset_index()
    kept = []
    for (family, epsilon, data), group in rows.groupby(["family", "epsilon", "data"]):
        others = merit[(merit.family == family) & (merit.epsilon == epsilon) & (merit.data != data)]
        settings = set(group.method)
        ranked = others[others.method.isin(settings)].groupby("method").merit.mean()
        setting = ranked.idxmax() if len(ranked) else sorted(settings)[0]
        kept.append(group[group.method == setting].assign(setting=setting, method=family))
    return pd.concat(kept, ignore_index=True).drop(columns="family")
