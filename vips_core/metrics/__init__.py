"""How good a fit is, on records that were not trained on; the mathematics is in `text`, `risk` and `images`.

Never score the training records of private data: such a score is a release that no ledger holds.
"""

from typing import Any

from vips_core.data import BinaryRows, LabelledRows
from vips_core.metrics import images, risk
from vips_core.metrics.text import perplexity

__all__ = ["auc", "calibration", "perplexity", "pixel_accuracy", "reconstruction_log_likelihood", "roc"]


def auc(fit: Any, rows: LabelledRows) -> float:
    """Area under the ROC curve of a fitted risk model."""
    return risk.auc(rows.y, fit.model.predict_probability(fit, rows))


def roc(fit: Any, rows: LabelledRows) -> risk.Roc:
    """ROC curve of a fitted risk model."""
    return risk.roc(rows.y, fit.model.predict_probability(fit, rows))


def calibration(fit: Any, rows: LabelledRows, bins: int = 10) -> risk.Calibration:
    """Predicted against observed risk of a fitted risk model."""
    return risk.calibration(rows.y, fit.model.predict_probability(fit, rows), bins)


def pixel_accuracy(fit: Any, rows: BinaryRows) -> float:
    """Share of pixels that a fitted image model reconstructs."""
    return images.pixel_accuracy(fit.model, fit.params, rows)


def reconstruction_log_likelihood(fit: Any, rows: BinaryRows) -> float:
    """Log likelihood of held-out images given their own hidden units, in nats per image."""
    return images.reconstruction_log_likelihood(fit.model, fit.params, rows)
