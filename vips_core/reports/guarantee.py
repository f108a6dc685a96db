"""The guarantee of a run in prose: everything that an expert asks for, from what was really released."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vips_core.privacy.accountants import ACCOUNTANTS, Account, account
from vips_core.privacy.ledger import Ledger
from vips_core.privacy.tradeoff import AttackRisk
from vips_core.runs.request import Request

MAIN = ("pld", "rdp", "moments", "moments_paper", "strong", "basic", "gaussian", "zcdp")

CONVERSION = (
    "PLD: the losses of all steps are convolved on a grid that rounds against us, and ε is read off its "
    "δ(ε). RDP: the least over real orders of the conversion of Canonne, Kamath and Steinke (2020). Moments: "
    "the least over integer λ of (Σ α(λ) + ln(1/δ))/λ, as in the paper. Strong composition: exact Gaussian "
    "steps with the best split of δ. All are upper bounds for the same releases, so the smallest holds."
)
CLIPPING: Mapping[str, str] = {
    "lda": "A document's word counts are first brought to at most N words, and its whole topic–word matrix "
    "is then clipped in L2 norm to the block's bound.",
    "logistic": "A row's norm is at most the public norm bound, to which longer rows are scaled; refined and "
    "DP-SGD also weight or clip a row's own share down to the block's bound.",
    "sbn": "An image is bounded by its number of pixels; refined also weights an image down whose share in "
    "the sums exceeds the block's bound.",
}
TUNED: Mapping[str, str] = {
    "lda": "Constants of the refined variant (clipping, averaging, shrinkage) were chosen by held-out "
    "perplexity on public documents, Wikipedia and State of the Union addresses. Results on the latter are "
    "therefore somewhat optimistic.",
    "logistic": "Constants of the refined variant were chosen by test AUC on NHANES, a public health survey "
    "and generated cohorts of seeds 0 to 3. Results on those are therefore optimistic. DP-SGD and objective "
    "perturbation were set on generated cohorts of other seeds, DP-SGD also after a look at two of the data "
    "sets compared.",
    "sbn": "Constants of the refined variant were chosen by held-out pixel accuracy on MNIST, which is "
    "public. Results on it are therefore somewhat optimistic.",
}
OBJECTIVE_PERTURBATION = (
    "Objective perturbation (Chaudhuri, Monteleoni and Sarwate 2011): the regression's objective gets a "
    "random linear term and is solved once. Its proof is about the whole run, so there is no ledger of "
    "steps. Its neighbours differ by replacing a record, which is another promise than adding or "
    "removing one: compare its ε with the others with care."
)
NOT_TUNED = (
    "None of these choices looked at other data. Whoever tries several settings on private records spends "
    "budget on each of them, and the ledger counts it."
)
LIMITS = (
    "Noise is Gaussian in double precision, without a defence against attacks on its last bits. It comes "
    "from NumPy's generator (PCG64), seeded by the operating system's entropy, which is not a cryptographic "
    "one. Time, memory and the size of files are not protected. The number of records N, the vocabulary, "
    "ranges and norm bounds count as public and must not be learned from the private records. Held-out "
    "records count as public: their scores are not protected. Several runs compose as if they had been "
    "planned together; where a run was chosen after a look at earlier results, that is proved for RDP and "
    "for full batches, and not, to our knowledge, for PLD on sampled batches. Records that overlap with "
    "those of another data set are counted there alone."
)
SEED = (
    "The run used a known seed. Whoever knows it can compute the noise and subtract it, so the guarantee "
    "does not hold: the numbers say what the same run costs with the operating system's entropy."
)


@dataclass(frozen=True)
class Facts:
    """What is known of a run.

    Attributes
    ----------
    ledger
        What it released; None for a rival that is proved as a whole.
    unit
        What one record is of.
    earlier
        A sentence on other runs on the same data set.
    counted
        ε that the store counts for it.
    """

    request: Request
    ledger: Ledger | None
    delta: float
    records: int
    unit: str
    private_data: bool
    earlier: str
    versions: Mapping[str, str]
    counted: float | None

    @property
    def lost(self) -> bool:
        """Whether the run ended before it could write its ledger."""
        return self.ledger is None and self.request.method != "perm"


def accounts(facts: Facts) -> dict[str, Account]:
    """Return what the main accountants say of the releases."""
    if facts.ledger is None:
        return {}
    return {name: account(facts.ledger.events(), facts.delta, name) for name in MAIN}


def headline(facts: Facts, found: Mapping[str, Account]) -> str:
    """Return the guarantee in one sentence."""
    if not facts.request.private:
        return "This run added no noise: it gives no privacy guarantee, and ε is infinite."
    start = "This run is" if facts.request.seed is None else "With a secret seed, this run would be"
    if facts.lost:
        return (
            "This run ended before its ledger was written. The store counts all that it may have released: "
            f"ε = {facts.counted or 0:.4g} at δ = {facts.delta:g}."
        )
    if facts.ledger is None:
        return (
            f"{start} ε-differentially private with ε = {facts.request.get('epsilon'):g} (and δ = 0) for "
            f"replacing one record, {facts.unit}."
        )
    known = [(item.epsilon, name) for name, item in found.items() if item.epsilon is not None]
    epsilon, name = min(known)
    return (
        f"{start} (ε, δ)-differentially private with ε = {epsilon:.4g} and δ = {facts.delta:g} "
        f"(accountant: {ACCOUNTANTS[name].label}) for adding or removing one record, {facts.unit}."
    )


def paragraphs(facts: Facts, risk: AttackRisk | None) -> list[tuple[str, str]]:
    """Return headings and texts, in the order in which they are read."""
    if facts.lost or facts.ledger is None:
        mechanism = [] if facts.lost else [("Mechanism", OBJECTIVE_PERTURBATION)]
    else:
        mechanism = [
            ("Sampling", _sampling(facts.ledger)),
            ("Mechanism and noise", _mechanism(facts.ledger)),
            ("Clipping", CLIPPING[facts.request.model]),
            ("Accounting", CONVERSION),
        ]
    attack = [] if risk is None else [("Attack risk", risk.sentence())]
    return [
        *([("Demonstration", SEED)] if facts.request.seed is not None else []),
        ("Unit of privacy", _unit(facts)),
        ("Neighbouring data sets", _neighbours(facts)),
        *mechanism,
        *attack,
        ("What was tuned, and on which data", f"{TUNED[facts.request.model]} {NOT_TUNED}"),
        ("Other runs on the same data", facts.earlier),
        ("Software", software(facts.versions)),
        ("Known limits", LIMITS),
    ]


def of_sweep(model: str, unit: str, deltas: Sequence[float]) -> list[str]:
    """Return what all cells of a sweep promise, in the paragraphs that a run's report has."""
    values = ", ".join(f"{delta:g}" for delta in deltas)
    return [
        f"One record is {unit}. Neighbouring data sets differ by one record, added or removed (with "
        f"objective perturbation: replaced), N is public, and δ = {values}. Batches are Poisson samples or "
        "all records; each step is one joint release of bounded sums with Gaussian noise, and the ledgers "
        "list bounds and noise of every cell.",
        CLIPPING[model],
        CONVERSION,
    ]


def software(versions: Mapping[str, str]) -> str:
    """Return the versions as a sentence."""
    return ", ".join(f"{name} {number}" for name, number in versions.items()) + "."


def blocks(ledger: Ledger) -> list[dict[str, Any]]:
    """Return one row for each block of each kind of release."""
    return [
        {
            "releases": entry.count,
            "sampling rate q": entry.sampling_rate,
            "block": name,
            "cells": block.cells,
            "bound of one record (L2)": block.bound,
            "noise std of a cell": block.noise_std,
            "σ of the joint release": entry.noise_multiplier,
        }
        for entry in ledger
        for name, block in entry.blocks.items()
    ]


def _unit(facts: Facts) -> str:
    return (
        f"One record is {facts.unit}; all of it is protected, label and length included. A person with k "
        "records is protected less: by (kε, k·exp((k−1)ε)·δ)."
    )


def _neighbours(facts: Facts) -> str:
    if facts.ledger is None and not facts.lost:
        return "Two data sets are neighbours if one record of one is replaced in the other. N is public."
    return (
        "Two data sets are neighbours if one of them has one record more. The number of records, "
        f"N = {facts.records:,}, is public; sums are divided by qN and never by the size of a batch, which "
        "is private."
    )


def _sampling(ledger: Ledger) -> str:
    texts = []
    for entry in ledger:
        times = f"{entry.count:,} release{'s' if entry.count > 1 else ''}"
        if entry.sampling_rate == 1:
            texts.append(f"{times} on all records (q = 1)")
        elif entry.sampling == "poisson":
            texts.append(
                f"{times} on Poisson batches, each record in each batch independently with probability "
                f"q = {entry.sampling_rate:.4g}"
            )
        else:
            texts.append(
                f"{times} on batches of fixed size (q = {entry.sampling_rate:.4g}), although ε is computed "
                "for Poisson batches: the guarantee does not match what was done"
            )
    return _join(texts) + "."


def _mechanism(ledger: Ledger) -> str:
    noises = sorted({entry.noise_multiplier for entry in ledger})
    text = " and ".join(f"{noise:.4g}" for noise in noises)
    return (
        "Each release is the sum over the batch of statistics in which one record has a bounded share, plus "
        f"Gaussian noise; the blocks of a step are one joint release with noise multiplier σ = {text} "
        "(1/σ² = Σ (bound/noise std)² over its blocks). The table lists bounds and noise. Everything "
        "published, parameters, tables and figures, is computed from these noisy sums alone."
    )


def _join(texts: Sequence[str]) -> str:
    text = "; ".join(texts)
    return text[:1].upper() + text[1:]
