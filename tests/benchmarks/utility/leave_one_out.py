"""Choose each method's constants on all tables but one, and score it on that one.

A setting's merit on a table and ε is its AUC less that of the method's best setting there,
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
    """Return the rows of the settings chosen without the table, with the family's name as `method`."""
    rows = results.assign(family=results.method.str.split(SETTING).str[0])
    merits = _merits(rows)
    kept = []
    for (family, epsilon, data), group in rows.groupby(["family", "epsilon", "data"]):
        others = merits[(merits.family == family) & (merits.epsilon == epsilon) & (merits.data != data)]
        settings = set(group.method)
        ranked = others[others.method.isin(settings)].groupby("method").merit.mean()
        setting = ranked.idxmax() if len(ranked) else sorted(settings)[0]
        kept.append(group[group.method == setting].assign(setting=setting, method=family))
    return pd.concat(kept, ignore_index=True).drop(columns="family")


def _merits(rows: pd.DataFrame) -> pd.DataFrame:
    merit = rows.groupby(["family", "epsilon", "data", "method"]).auc.mean()
    return (
        (merit - merit.groupby(level=["family", "epsilon", "data"]).transform("max"))
        .rename("merit")
        .reset_index()
    )
