"""The verdict of an audit: the claim, the lower bound and the attacker's ROC, as numbers and in words."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vips_core import rounding
from vips_core.audits.bounds import clopper_pearson
from vips_core.audits.run_attack import OneRunAudit
from vips_core.audits.wall_attack import WallAudit
from vips_core.privacy.accountants import stated
from vips_core.privacy.plan import PrivacyPlan
from vips_core.privacy.tradeoff import AttackRisk

if TYPE_CHECKING:
    import pandas as pd


WALL, RUN = "wall", "run"  # names of the attacks
FALSE, TRUE, CLAIMED = "false positive rate", "true positive rate", "claimed"  # columns of a ROC
NEVER_PROVES = "An audit can refute a claim; it can never prove one."
_POINTS = 120  # thresholds of a drawn ROC, evenly spread on its logarithmic axis
_MOST_FINDINGS = 5  # findings of an inspection that are shown: a broken wall fails many tests at once


@dataclass(frozen=True)
class Verdict:
    """The result of an audit, ready for JSON.

    Attributes
    ----------
    attack
        `WALL` for repeated releases of single steps, `RUN` for one whole run with canaries.
    attempts
        Number of releases, or of canaries.
    claimed, measured
        Claimed ε of the target (None is infinite), and its lower bound at `confidence`. Of several
        steps, the one whose bound comes closest to its claim.
    run_epsilon
        ε of the whole plan.
    on_the_grid
        Share of released numbers that are multiples of their public grid step, by case.
    plan
        The audited plan.
    steps
        The attacked steps, from 1; empty for one whole run.
    findings
        Sentences on the defects found by the inspection of noise, coins and bounds.

    Examples
    --------
    >>> verdict = Verdict("wall", 4000, 1e-5, 0.95, 2.0, 1.8, 2.0, {"with": 1.0, "without": 1.0}, {})
    >>> verdict.refuted, f"{verdict.ratio:.0%}"
    (False, '90%')
    >>> verdict.sentence()
    'The attack did not refute the claim: at 95% confidence it shows ε ≥ 1.8; the claim is ε = 2.'
    """

    attack: str
    attempts: int
    delta: float
    confidence: float
    claimed: float | None
    measured: float
    run_epsilon: float | None
    on_the_grid: Mapping[str, float]
    plan: Mapping[str, Any]
    steps: Sequence[int] = ()
    findings: Sequence[str] = ()

    @property
    def refuted(self) -> bool:
        """Whether the attack exceeds the claim, or the inspection found a defect."""
        return bool(self.findings) or (self.claimed is not None and self.measured > self.claimed)

    @property
    def ratio(self) -> float | None:
        """Lower bound over claim, None if the claim is infinite or 0."""
        return self.measured / self.claimed if self.claimed else None

    @property
    def target(self) -> str:
        """The attacked object: one release, or the whole run."""
        return "one release" if self.attack == WALL else "the whole run"

    @property
    def unit(self) -> str:
        """The unit of `attempts`."""
        return "releases, half of them with the person" if self.attack == WALL else "canaries"

    def sentence(self) -> str:
        """Return whether the claim was refuted, as a sentence; that it holds can never be shown."""
        if self.findings:
            more = f" ({len(self.findings) - 1} more findings)" if len(self.findings) > 1 else ""
            return f"The inspection refuted the claim: {self.findings[0]}{more}"
        claim = "no bound" if self.claimed is None else f"ε = {stated(self.claimed)}"
        verb = "refuted" if self.refuted else "did not refute"
        # On full batches the bound assumes Gaussian noise; counts alone would give a weaker one.
        full = self.plan.get("expected_batch", 0) == self.plan.get("records")
        assumed = " and assuming Gaussian noise" if self.attack == WALL and full else ""
        return (
            f"The attack {verb} the claim: at {self.confidence * 100:g}% confidence{assumed} it shows "
            f"ε ≥ {rounding.down(self.measured):g}; the claim is {claim}."
        )

    def inspection_sentence(self) -> str:
        """Return the result of the inspection, as a sentence."""
        if self.findings:
            return "Inspection failed: " + " ".join(self.findings[:_MOST_FINDINGS])
        bounds = ", and no record tested exceeds its bound" if self.attack == WALL else ""
        return (
            "Inspection passed: noise and batches have the sizes that the ledger states and are independent "
            f"between steps{bounds}."
        )

    def support_sentence(self) -> str:
        """Return the result of the support test, which sees what no likelihood ratio can, as a sentence."""
        if all(share == 1 for share in self.on_the_grid.values()):
            whom = ", with and without the person" if self.attack == WALL else ""
            return f"Support test passed: every released number is a multiple of its public grid step{whom}."
        shares = ", ".join(f"{share:.2%} {which}" for which, share in self.on_the_grid.items())
        return f"Support test failed: not all released numbers are on the public grid ({shares})."

    def to_json(self) -> str:
        """Return the verdict as JSON, with the ratio, the decision and its sentence."""
        content = asdict(self) | {"ratio": self.ratio, "refuted": self.refuted, "verdict": self.sentence()}
        return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Verdict":
        """Read what `to_json` wrote."""
        content = json.loads(text)
        return cls(**{name: content[name] for name in cls.__dataclass_fields__})


def verdict(audit: WallAudit | OneRunAudit, plan: PrivacyPlan, confidence: float) -> Verdict:
    """Return the verdict of an audit.

    Parameters
    ----------
    audit
        The attack.
    plan
        The attacked plan.
    confidence
        Probability that the lower bound is right, at least.

    Returns
    -------
    Verdict
        At the plan's δ.
    """
    if isinstance(audit, WallAudit):
        attack, measured = audit.worst(plan.delta, confidence)
        shares = zip(*(one.on_the_grid for one in audit.attacks), strict=True)
        on_the_grid = dict(zip(("with", "without"), (float(min(share)) for share in shares), strict=True))
        attempts = sum(one.present.size + one.absent.size for one in audit.attacks)
        ledger, steps = attack.ledger, [one.step + 1 for one in audit.attacks]
    else:
        ledger, measured, steps = audit.ledger, audit.measured(plan.delta, confidence), []
        on_the_grid, attempts = {"run": float(np.mean(audit.on_the_grid))}, audit.scores.size
    return Verdict(
        attack=WALL if isinstance(audit, WallAudit) else RUN,
        attempts=attempts,
        delta=plan.delta,
        confidence=confidence,
        claimed=_finite(ledger.epsilon(plan.delta)),
        measured=measured,
        run_epsilon=_finite(plan.epsilon("pld")),
        on_the_grid=on_the_grid,
        plan=asdict(plan),
        steps=steps,
        findings=list(audit.findings),
    )


def roc(audit: WallAudit | OneRunAudit, delta: float, confidence: float) -> "pd.DataFrame":
    """Return the attacker's ROC under the claimed trade-off curve.

    Parameters
    ----------
    audit
        The attack; of several steps, the one that comes closest to its claim is drawn.
    delta
        δ of the claim.
    confidence
        Confidence of the intervals of both rates together (Clopper and Pearson 1934), at each threshold.

    Returns
    -------
    pandas.DataFrame
        For thresholds from strict to loose: false and true positive rate, the highest true positive rate that
        the claim allows and, at the wall, an interval of each rate. The canaries of one run share its noise,
        so their rates have no such intervals. Empty if all coins fell the same way.
    """
    import pandas as pd

    if isinstance(audit, WallAudit):
        attack, _ = audit.worst(delta, confidence)
        ledger, scores = attack.ledger, (attack.present, attack.absent)
    else:
        ledger, scores = audit.ledger, (audit.scores[audit.took_part], audit.scores[~audit.took_part])
    present, absent = (np.sort(values) for values in scores)
    if not present.size or not absent.size:
        return pd.DataFrame({name: [] for name in (FALSE, TRUE, CLAIMED)})
    shares = np.unique(np.concatenate([np.geomspace(1 / absent.size, 1, _POINTS), np.linspace(0, 1, 41)]))
    thresholds = np.quantile(absent, 1 - shares)
    alarms, hits = (values.size - np.searchsorted(values, thresholds) for values in (absent, present))
    table = {
        FALSE: alarms / absent.size,
        TRUE: hits / present.size,
        CLAIMED: AttackRisk(ledger.events()).true_positive_rate(alarms / absent.size),
    }
    if isinstance(audit, WallAudit):
        # Also valid for thresholds read off the absent scores: the k-th of n is exceeded by a Beta share.
        for name, count, size in ((FALSE, alarms, absent.size), (TRUE, hits, present.size)):
            # Two rates with two sides each share the allowed error.
            bounds = clopper_pearson(count, size, (1 - confidence) / 4)
            table[f"{name}, low"], table[f"{name}, high"] = bounds
    return pd.DataFrame(table).drop_duplicates(FALSE).reset_index(drop=True)


def _finite(epsilon: float) -> float | None:
    return epsilon if math.isfinite(epsilon) else None
