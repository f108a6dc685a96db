"""Figures of one run: its score while training, ROC curve and calibration, and the best attack."""

from dataclasses import asdict

from vips_core.fit import load
from vips_core.models.logistic import scores
from vips_core.privacy.tradeoff import AttackRisk
from vips_core.reports import figures
from vips_core.reports.exhibits import Exhibit
from vips_core.reports.run_facts import RunFacts
from vips_core.store.store import Store

MARKED_RATES = (0.001, 0.01, 0.05)  # false positive rates at which the best attack is marked


def run_exhibits(facts: RunFacts, store: Store) -> list[Exhibit]:
    """Return what there is to show of a run."""
    exhibits = [_score_while_training(facts), *_held_out_risks(facts, store), _best_attack(facts)]
    return [exhibit for exhibit in exhibits if exhibit is not None]


def _score_while_training(facts: RunFacts) -> Exhibit | None:
    import pandas as pd

    if not facts.row.scores:
        return None
    steps, values = zip(*facts.row.scores, strict=True)
    score = facts.request.task.validation_score
    return Exhibit(
        "steps",
        f"Held-out {score} while training",
        "On some of the held-out records, which are public.",
        figures.score_of_run(steps, values, score),
        pd.DataFrame({"step": steps, score: values}),
    )


def _held_out_risks(facts: RunFacts, store: Store) -> list[Exhibit]:
    """Return how well a risk model ranks held-out records, and how well its probabilities match them."""
    import pandas as pd

    if facts.ledger is None or facts.result is None or not facts.data.has_test:
        return []
    data = store.load(facts.row.data)
    fit = load(facts.folder)
    risks = facts.request.task.probabilities(fit, data.test)
    if risks is None:
        return []
    labels = data.test.y
    curve, groups = scores.roc_of(labels, risks), scores.calibration_of(labels, risks)
    rates = (curve.false_positive_rate, curve.true_positive_rate)
    baseline, loss = scores.constant_log_loss(labels), scores.log_loss(labels, risks)
    verdict = "better" if loss < baseline else "not better, so this model has failed"
    return [
        Exhibit(
            "roc",
            "ROC curve",
            "On held-out records, which are public.",
            figures.roc(*rates),
            pd.DataFrame(dict(zip(("false positive rate", "true positive rate"), rates, strict=True))),
        ),
        Exhibit(
            "calibration",
            "Predicted and observed risk",
            f"Held-out records in {len(groups.records)} groups by predicted risk. "
            f"{risks.sum():,.0f} cases were predicted, {labels.sum():,} observed. Log loss {loss:.3f}; the "
            f"same risk for everyone has {baseline:.3f} ({verdict}).",
            figures.calibration(groups.predicted, groups.observed),
            pd.DataFrame(asdict(groups)),
        ),
    ]


def _best_attack(facts: RunFacts) -> Exhibit | None:
    import pandas as pd

    if facts.ledger is None or not facts.request.private:
        return None
    attack = AttackRisk(facts.ledger.events())
    false_positives, true_positives = attack.curve()
    marks = [(rate, float(attack.true_positive_rate(rate))) for rate in MARKED_RATES]
    return Exhibit(
        "attack",
        "The best possible attack",
        "Upper bound on any test of whether one person took part, from the releases in the ledger.",
        figures.attacker_roc(false_positives, true_positives, marks),
        pd.DataFrame({"false positive rate": false_positives, "highest true positive rate": true_positives}),
    )
