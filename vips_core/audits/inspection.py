"""Whether a watched run did what its ledger says: the noise's size and independence, the coins, the bounds.

A likelihood ratio at one release sees neither noise that is repeated in another step nor coins that are. Each
test here has a known distribution if the wall is sound, and all of them together raise a false alarm in one
of a million inspections.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import scipy  # its parts load when they are used

from vips_core.audits.rehearsal import WatchedStep
from vips_core.kernels import Array
from vips_core.privacy.ledger import LedgerEntry

FALSE_ALARM = 1e-6  # probability that a sound wall fails any test of one inspection
MOST_STEPS = 24  # steps whose noise and coins are kept: pairs of them are compared
_ROUNDING = 1e-12  # relative error allowed in the norm of a share, which is computed in floating point


@dataclass(frozen=True)
class _Test:
    """The outcome of one test: its p-value, and what it shows where that is too small."""

    p_value: float
    finding: str


@dataclass
class Inspector:
    """Collects evidence from the steps of one run.

    Parameters
    ----------
    steps
        How many steps the run will have; at most `MOST_STEPS` of them, evenly spread, are looked at.

    Examples
    --------
    >>> Inspector(steps=100).looks_at(0), len(Inspector(steps=100).chosen)
    (True, 24)
    """

    steps: int
    _noise: dict[tuple[int, str], Array] = field(default_factory=dict)
    _coins: dict[int, npt.NDArray[np.bool_]] = field(default_factory=dict)
    _rates: dict[int, float] = field(default_factory=dict)

    @property
    def chosen(self) -> frozenset[int]:
        """The steps that are looked at."""
        return frozenset(np.linspace(0, self.steps - 1, min(self.steps, MOST_STEPS)).astype(int).tolist())

    def looks_at(self, step: int) -> bool:
        """Whether a step is among those that are looked at."""
        return step in self.chosen

    def look(self, step: WatchedStep) -> None:
        """Keep the noise of a step in units of the ledger's standard deviation, and its coins."""
        if not self.looks_at(step.number):
            return
        for name, block in step.entry.blocks.items():
            noise = np.ravel(step.released.sums[name] - step.exact[name]) / block.noise_std
            self._noise[step.number, name] = noise.astype(np.float64)
        self._coins[step.number] = step.took_part
        self._rates[step.number] = step.entry.sampling_rate

    def findings(self) -> tuple[str, ...]:
        """Return a sentence for each test that a sound wall would pass; none if all is well."""
        tests = [*self._noise_sizes(), *self._noise_pairs(), *self._coin_counts(), *self._coin_pairs()]
        return tuple(test.finding for test in tests if test.p_value < FALSE_ALARM / len(tests))

    def _noise_sizes(self) -> Sequence[_Test]:
        """The sum of squares of n standard normal numbers is χ² distributed: of each block, and of all."""
        of_blocks = [
            _size_test(noise, f"In step {step + 1} the noise of block {name!r}")
            for (step, name), noise in self._noise.items()
        ]
        later = [noise for (step, _), noise in self._noise.items() if step > 0]
        groups = {"The noise of all steps together": list(self._noise.values())}
        if later:
            groups["The noise of all steps after the first together"] = later
        return [*of_blocks, *(_size_test(np.concatenate(group), what) for what, group in groups.items())]

    def _noise_pairs(self) -> Sequence[_Test]:
        """Given one vector, its scalar product with another, over its norm, is a standard normal number."""
        tests = []
        for (first, one), (second, other) in itertools.combinations(self._noise.items(), 2):
            norm = float(np.linalg.norm(one))
            if one.size == other.size and norm > 0:
                tests.append(
                    _Test(
                        2 * scipy.stats.norm.sf(abs(float(one @ other)) / norm),
                        f"The noise of step {first[0] + 1}, block {first[1]!r}, and of step "
                        f"{second[0] + 1}, block {second[1]!r}, is correlated.",
                    )
                )
        return tests

    def _coin_counts(self) -> Sequence[_Test]:
        """The number of records in a Poisson batch is binomial: of each batch, and of all at one rate."""
        tests = [
            _count_test(coins, self._rates[step], f"In step {step + 1}")
            for step, coins in self._coins.items()
        ]
        for rate in set(self._rates.values()):
            coins = [self._coins[step] for step in self._coins if self._rates[step] == rate]
            tests.append(_count_test(np.concatenate(coins), rate, "Over all steps"))
        return tests

    def _coin_pairs(self) -> Sequence[_Test]:
        """Given the sizes of two independent batches, the size of their overlap is hypergeometric."""
        tests = []
        for (first, one), (second, other) in itertools.combinations(self._coins.items(), 2):
            both, (first_size, second_size) = int((one & other).sum()), (int(one.sum()), int(other.sum()))
            overlap = scipy.stats.hypergeom(one.size, first_size, second_size)
            tests.append(
                _Test(
                    2 * min(overlap.cdf(both), overlap.sf(both - 1)),
                    f"The batches of steps {first + 1} and {second + 1} share {both:,} records, where "
                    f"independent ones would share about {first_size * second_size / one.size:,.0f}.",
                )
            )
        return tests


def _size_test(noise: Array, what: str) -> _Test:
    total, chi2 = float(noise @ noise), scipy.stats.chi2(noise.size)
    size = (total / noise.size) ** 0.5
    return _Test(2 * min(chi2.cdf(total), chi2.sf(total)), f"{what} is {size:.3g} times the ledger's.")


def _count_test(coins: npt.NDArray[np.bool_], rate: float, when: str) -> _Test:
    count, binomial = int(coins.sum()), scipy.stats.binom(coins.size, rate)
    return _Test(
        2 * min(binomial.cdf(count), binomial.sf(count - 1)),
        f"{when} {count / coins.size:.3g} of the records took part, where the ledger says {rate:.3g}.",
    )


def bound_findings(entry: LedgerEntry, step: int, norms: Sequence[Mapping[str, float]]) -> tuple[str, ...]:
    """Return a sentence for each block that one of some records moves by more than the ledger's bound.

    Parameters
    ----------
    entry
        What the ledger says of the step.
    step
        Its number, from 0.
    norms
        For each record, the L2 norm of what it adds to each block.
    """
    findings = []
    for name, block in entry.blocks.items():
        most = max(norm[name] for norm in norms)
        if most > block.bound * (1 + _ROUNDING):
            findings.append(
                f"In step {step + 1} one record moves block {name!r} by {most / block.bound:.3g} times its "
                "bound."
            )
    return tuple(findings)
