"""A run on public records watched from inside the wall, and tests of that run against its ledger.

A run on private records must never be watched like this. An audit has to: the size of the noise shows only
against the exact sums, and a likelihood ratio at one release misses noise or coins that another step reuses.
Each test has a known distribution if the wall is sound; together they raise a false alarm in at most one of a
million inspections.
"""

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy  # its parts load when they are used

from vips_core.engines.base import StepSums, added
from vips_core.kernels import Array
from vips_core.privacy.blocks import Released
from vips_core.privacy.ledger import Ledger, LedgerEntry
from vips_core.privacy.noise import Randomness
from vips_core.privacy.plan import PrivacyPlan
from vips_core.privacy.wall import blocks_with_noise, release

_STRIPS = 256  # strips of NumPy's ziggurat
_DRAWS = 8000  # draws from which the strips' widths are read: about 31 per strip


def possible_without_the_person(released: Array, noise_std: float) -> npt.NDArray[np.bool_]:
    """Return for each cell whether naive noise on a sum of 0 can produce it.

    Naive noise, sum + std·z in double precision, betrays the sum by its last bits: on a sum of 0, every
    release is std times a value that NumPy's ziggurat can return, and otherwise some releases are not
    (Mironov 2012). No likelihood ratio sees that. On a grid every release is a multiple of one public step,
    whatever the sum.

    Parameters
    ----------
    released
        Released cells.
    noise_std
        Standard deviation of their noise.

    Examples
    --------
    >>> noise = 3.7 * np.random.default_rng(0).standard_normal(1000)
    >>> bool(possible_without_the_person(noise, 3.7).all())
    True
    >>> bool(possible_without_the_person(0.1 + noise, 3.7).all())
    False
    """
    cells = np.abs(np.asarray(released, np.float64).reshape(-1))
    possible = np.zeros(cells.size, np.bool_)
    for width in _strip_widths():
        # noise_std·(k·width) for a whole k; the two products are rounded as NumPy rounds them.
        near = np.rint(cells / (noise_std * width))
        for whole in (near - 1, near, near + 1):
            possible |= noise_std * (whole * width) == cells
    return possible.reshape(np.shape(released))


@functools.cache
def _strip_widths() -> Array:
    """Return the widths of the strips of NumPy's ziggurat, read off its own draws.

    A draw is a 52-bit integer times the width of the strip that its word's lowest byte names, except for one
    in a hundred, which falls at a strip's edge.
    """
    source = np.random.PCG64(0)
    generator = np.random.Generator(source)
    words, draws = np.empty(_DRAWS, np.uint64), np.empty(_DRAWS)
    for draw in range(_DRAWS):
        state = source.state
        words[draw] = source.random_raw()
        source.state = state
        draws[draw] = abs(generator.standard_normal())
    strips, wholes = words & np.uint64(0xFF), ((words >> np.uint64(9)) & np.uint64(2**52 - 1)).astype(float)
    widths = np.empty(_STRIPS)
    for strip in range(_STRIPS):
        whole, draw = wholes[strips == strip], draws[strips == strip]
        near = np.median(draw / whole)
        candidates = near + np.spacing(near) * np.arange(-3, 4)
        widths[strip] = max(candidates, key=lambda width: (whole * width == draw).sum())
    return widths


@dataclass(frozen=True)
class Parts:
    """Records of one type in several pieces, which the wall takes as one data set."""

    pieces: tuple[Any, ...]

    def __len__(self) -> int:
        return sum(len(piece) for piece in self.pieces)

    def __getitem__(self, mask: npt.NDArray[np.bool_]) -> "Parts":
        ends = np.cumsum([len(piece) for piece in self.pieces])[:-1]
        masks = np.split(mask, ends)
        return Parts(tuple(piece[part] for piece, part in zip(self.pieces, masks, strict=True)))


@dataclass(frozen=True)
class WatchedStep:
    """One step of a rehearsal.

    Attributes
    ----------
    number
        Number of the step, from 0.
    params
        Parameters that the step started from.
    released, exact
        Noisy sums, and the same without noise.
    took_part
        Whether each record was in the batch.
    entry
        The step in the ledger.
    """

    number: int
    params: Any
    released: Released
    exact: Mapping[str, Array]
    took_part: npt.NDArray[np.bool_]
    entry: LedgerEntry


def rehearse(
    model: Any, data: Parts, plan: PrivacyPlan, randomness: Randomness, ledger: Ledger
) -> Iterator[WatchedStep]:
    """Train as `vips_core.fit.fit` does and yield each step.

    Parameters
    ----------
    model
        Model to train.
    data
        Public or generated records, at most as many as the plan is for.
    plan
        With noise.
    randomness
        Randomness of the run.
    ledger
        Ledger in which the wall records each release.

    Yields
    ------
    WatchedStep
        Before the next step begins.
    """
    params, witness = model.init(plan, randomness.derive("start").generator()), _Witness()
    for step in range(plan.steps):
        released = release(model, params, data, plan, step, randomness, ledger, witness.sums)
        yield WatchedStep(step, params, released, witness.exact, witness.took_part, ledger.entries[-1])
        params = model.m_step(params, released, step)


def singles(data: Any, most: int | None = None) -> Iterator[Any]:
    """Yield each record of a data set as its own data set; of more than `most`, evenly spread ones."""
    size, places = len(data), np.arange(len(data))
    for place in np.unique(np.linspace(0, size - 1, min(most or size, size)).astype(int)):
        yield data[places == place]


def contribution_of(
    model: Any, params: Any, records: Any, plan: PrivacyPlan, step: int
) -> Mapping[str, Array]:
    """Return what these records add to each block, without noise: the attacker knows them."""
    _, blocks = blocks_with_noise(model.blocks(plan, step), plan)
    sums: Mapping[str, Array] = model.e_step(params, records, blocks).sums
    return sums


def multiples(released: Released, ledger: Ledger) -> npt.NDArray[np.bool_]:
    """Return for each number of the last release whether it is a multiple of the ledger's grid step."""
    blocks = ledger.entries[-1].blocks
    steps = np.concatenate([np.ravel(released.sums[name]) / block.grid for name, block in blocks.items()])
    return np.asarray(steps == np.rint(steps))


class _Witness:
    """An engine that sums like the default one and remembers the sums and which records took part."""

    exact: Mapping[str, Array]
    took_part: npt.NDArray[np.bool_]

    def sums(self, data: Parts, step: StepSums) -> Mapping[str, Array]:
        """Return the sums of a step over all pieces."""
        starts = np.cumsum([0, *(len(piece) for piece in data.pieces)])
        self.took_part = step.batch.mask(0, int(starts[-1]))
        self.exact = added(
            step.over(piece, int(start)) for piece, start in zip(data.pieces, starts[:-1], strict=True)
        )
        return self.exact


# Probability that a sound wall fails any test of one inspection: a round number. Broken walls of the tests
# have p-values below 1e-45, so anything from 1e-3 to 1e-40 finds the same ones.
FALSE_ALARM = 1e-6
MOST_STEPS = 24  # steps whose noise and coins are kept: all their pairs are compared, 276 at most
_ROUNDING = 1e-12  # relative rounding error allowed in the norm of a contribution

_Tests = Iterator[tuple[float, str]]  # p-value of each test, and the finding if the p-value is too small


@dataclass
class Inspector:
    """Collects evidence from the steps of one run.

    Parameters
    ----------
    steps
        Number of steps of the run; at most `MOST_STEPS` of them, evenly spread, are inspected.

    Examples
    --------
    >>> len(Inspector(steps=100).chosen)
    24
    """

    steps: int
    _noise: dict[tuple[int, str], Array] = field(default_factory=dict)
    _coins: dict[int, npt.NDArray[np.bool_]] = field(default_factory=dict)
    _rates: dict[int, float] = field(default_factory=dict)

    @property
    def chosen(self) -> frozenset[int]:
        """The inspected steps."""
        return frozenset(np.linspace(0, self.steps - 1, min(self.steps, MOST_STEPS)).astype(int).tolist())

    def look(self, step: WatchedStep) -> None:
        """Keep the noise of a step in units of the ledger's standard deviation, and its coins."""
        if step.number not in self.chosen:
            return
        for name, block in step.entry.blocks.items():
            noise = np.ravel(step.released.sums[name] - step.exact[name]) / block.noise_std
            self._noise[step.number, name] = noise.astype(np.float64)
        self._coins[step.number] = step.took_part
        self._rates[step.number] = step.entry.sampling_rate

    def findings(self) -> tuple[str, ...]:
        """Return a sentence for each failed test; none if all pass."""
        tests = [*self._noise_sizes(), *self._noise_pairs(), *self._coin_counts(), *self._coin_pairs()]
        return tuple(finding for p_value, finding in tests if p_value < FALSE_ALARM / len(tests))

    def _noise_sizes(self) -> _Tests:
        """The sum of squares of n standard normal numbers is χ² distributed: of each block, and of all."""
        groups = {
            f"In step {step + 1}, the noise of block {name!r}": [noise]
            for (step, name), noise in self._noise.items()
        }
        groups["The noise of all steps together"] = list(self._noise.values())
        later = [noise for (step, _), noise in self._noise.items() if step > 0]
        groups |= {"The noise of all steps after the first together": later} if later else {}
        for what, group in groups.items():
            noise = np.concatenate(group)
            total, chi2 = float(noise @ noise), scipy.stats.chi2(noise.size)
            size = (total / noise.size) ** 0.5
            finding = f"{what} is {size:.3g} times what the ledger states."
            yield 2 * min(chi2.cdf(total), chi2.sf(total)), finding

    def _noise_pairs(self) -> _Tests:
        """Given one vector, its scalar product with another, over its norm, is a standard normal number."""
        for (first, one), (second, other) in itertools.combinations(self._noise.items(), 2):
            norm = float(np.linalg.norm(one))
            if one.size == other.size and norm > 0:
                yield (
                    2 * scipy.stats.norm.sf(abs(float(one @ other)) / norm),
                    f"The noise of step {first[0] + 1}, block {first[1]!r}, and of step "
                    f"{second[0] + 1}, block {second[1]!r}, is correlated.",
                )

    def _coin_counts(self) -> _Tests:
        """The number of records in a Poisson batch is binomial: of each batch, and of all at one rate."""
        groups = [(f"In step {step + 1},", self._rates[step], [coins]) for step, coins in self._coins.items()]
        for rate in set(self._rates.values()):
            coins = [self._coins[step] for step in self._coins if self._rates[step] == rate]
            groups.append(("Over all steps,", rate, coins))
        for when, rate, group in groups:
            drawn, size = sum(int(coins.sum()) for coins in group), sum(coins.size for coins in group)
            finding = f"{when} {drawn / size:.3g} of the records took part; the ledger states q = {rate:.3g}."
            yield _two_sided(scipy.stats.binom(size, rate), drawn), finding

    def _coin_pairs(self) -> _Tests:
        """Given the sizes of two independent batches, the size of their overlap is hypergeometric."""
        for (first, one), (second, other) in itertools.combinations(self._coins.items(), 2):
            both, (first_size, second_size) = int((one & other).sum()), (int(one.sum()), int(other.sum()))
            yield (
                _two_sided(scipy.stats.hypergeom(one.size, first_size, second_size), both),
                f"The batches of steps {first + 1} and {second + 1} share {both:,} records; "
                f"independent ones would share about {first_size * second_size / one.size:,.0f}.",
            )


def _two_sided(counts: Any, count: int) -> float:
    """Return the two-sided p-value of a count whose distribution is given."""
    return float(2 * min(counts.cdf(count), counts.sf(count - 1)))


def bound_findings(entry: LedgerEntry, step: int, norms: Sequence[Mapping[str, float]]) -> tuple[str, ...]:
    """Return a sentence for each block that some record moves by more than the ledger's bound.

    Parameters
    ----------
    entry
        The step in the ledger.
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
                f"In step {step + 1}, one record moves block {name!r} by {most / block.bound:.3g} times its "
                "bound."
            )
    return tuple(findings)
