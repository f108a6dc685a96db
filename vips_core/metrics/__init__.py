"""How good a fit is, on records that were not trained on; the mathematics is in `text`, `risk` and `images`.

Never score the training records of private data: such a score is a release that no ledger holds.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vips_core import validate
from vips_core.data import BinaryRows, LabelledRows
from vips_core.metrics import images, risk
from vips_core.metrics.text import perplexity
from vips_core.models.base import Fitted

__all__ = ["auc", "calibration", "perplexity", "pixel_accuracy", "reconstruction_log_likelihood", "roc"]


def auc(fit: Fitted[Any], rows: LabelledRows) -> float:
    """Return the area under the ROC curve of a fitted risk model.

    Parameters
    ----------
    fit
        A fitted risk model, with `predict_probability`.
    rows
        Labelled people that were not trained on.

    Returns
    -------
    float
        From 0 to 1, where ½ is chance.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(predict_probability=lambda fit, rows: rows.x[:, 0])
    >>> rows = LabelledRows([[0.1], [0.7], [0.9]], [0, 1, 1], ("a",), norm_bound=1.0)
    >>> auc(SimpleNamespace(model=model), rows)
    1.0
    """
    return risk.auc(rows.y, _risks(fit, rows))


def roc(fit: Fitted[Any], rows: LabelledRows) -> risk.Roc:
    """Return the ROC curve of a fitted risk model.

    Parameters
    ----------
    fit
        A fitted risk model, with `predict_probability`.
    rows
        Labelled people that were not trained on.

    Returns
    -------
    Roc
        One point per distinct risk.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(predict_probability=lambda fit, rows: rows.x[:, 0])
    >>> rows = LabelledRows([[0.1], [0.7], [0.9]], [0, 1, 1], ("a",), norm_bound=1.0)
    >>> roc(SimpleNamespace(model=model), rows).false_positive_rate
    array([0., 0., 0., 1.])
    """
    return risk.roc(rows.y, _risks(fit, rows))


def calibration(fit: Fitted[Any], rows: LabelledRows, bins: int = 10) -> risk.Calibration:
    """Return predicted against observed risk of a fitted risk model.

    Parameters
    ----------
    fit
        A fitted risk model, with `predict_probability`.
    rows
        Labelled people that were not trained on.
    bins
        Number of bins of equal width.

    Returns
    -------
    Calibration
        Of the bins that are not empty.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(predict_probability=lambda fit, rows: rows.x[:, 0])
    >>> rows = LabelledRows([[0.1], [0.7], [0.9]], [0, 1, 1], ("a",), norm_bound=1.0)
    >>> calibration(SimpleNamespace(model=model), rows, bins=2).predicted
    array([0.1, 0.8])
    """
    return risk.calibration(rows.y, _risks(fit, rows), bins)


def pixel_accuracy(fit: Fitted[Any], rows: BinaryRows) -> float:
    """Return the share of pixels that a fitted image model reconstructs.

    Parameters
    ----------
    fit
        A fitted `vips_core.SBN`.
    rows
        Images that were not trained on.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> import vips_core as vips
    >>> rows = vips.BinaryRows.from_images(np.eye(4), threshold=0.5)
    >>> plan = vips.PrivacyPlan(records=4, expected_batch=4, steps=2, noise_multiplier=0, delta=0.1)
    >>> fit = vips.fit(vips.SBN(4, 2, (2, 2)), rows, plan, seed=0)
    >>> 0 <= pixel_accuracy(fit, rows) <= 1
    True
    """
    return images.scores(fit.model, fit.params, rows)[0]


def reconstruction_log_likelihood(fit: Fitted[Any], rows: BinaryRows) -> float:
    """Return the log likelihood of held-out images given their own hidden units.

    Parameters
    ----------
    fit
        A fitted `vips_core.SBN`.
    rows
        Images that were not trained on.

    Returns
    -------
    float
        In nats per image, at most 0.

    Examples
    --------
    >>> import numpy as np
    >>> import vips_core as vips
    >>> rows = vips.BinaryRows.from_images(np.eye(4), threshold=0.5)
    >>> plan = vips.PrivacyPlan(records=4, expected_batch=4, steps=2, noise_multiplier=0, delta=0.1)
    >>> fit = vips.fit(vips.SBN(4, 2, (2, 2)), rows, plan, seed=0)
    >>> reconstruction_log_likelihood(fit, rows) <= 0
    True
    """
    return images.scores(fit.model, fit.params, rows)[1]


def _risks(fit: Fitted[Any], rows: LabelledRows) -> NDArray[np.floating]:
    """Return predicted risks; rows whose columns are in another order would get a score, too."""
    validate.same_order("features", getattr(fit.model, "features", ()), rows.feature_names)
    risks: NDArray[np.floating] = fit.model.predict_probability(fit, rows)
    return risks
