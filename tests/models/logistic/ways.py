"""Training methods for tests."""

from vips_core.models.logistic.model import BayesianLogistic


def model_for(rows, variant="refined"):
    return BayesianLogistic(rows.feature_names, rows.norm_bound, variant)


STEPS = 24
