"""The data sets that come with the project: real samples, and generated ones with known truth."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vips_core.records.base import DataSet

SPLIT_SEED = 0


@dataclass(frozen=True)
class Sample:
    """A public data set that comes with the project.

    Attributes
    ----------
    kind
        Name of its kind of records.
    help
        What it holds, in a few words.
    records
        Number of training records.
    test_share
        Share of all records that is held out; None where the held-out records have a file of their own.
    """

    kind: str
    help: str
    records: int
    test_share: float | None


SAMPLES: Mapping[str, Sample] = {
    "sotu": Sample("documents", "State of the Union addresses", 18_963, 0.1),
    "nhanes-stroke": Sample("table", "NHANES survey, labelled by stroke", 4_204, 0.2),
    "mnist": Sample("images", "MNIST digits", 60_000, None),
    "generated-documents": Sample("documents", "22,000 generated documents with known topics", 19_800, 0.1),
    "generated-cohort": Sample("table", "generated cohort of the paper's size, 10,069 × 4,146", 10_069, 0.2),
    "generated-digits": Sample("images", "12,000 generated digits", 10_000, 1 / 6),
}


def samples_of(kind: str) -> list[str]:
    """Return the names of the samples of one kind."""
    return [name for name, sample in SAMPLES.items() if sample.kind == kind]


@functools.lru_cache(maxsize=4)  # records are immutable, and many runs share a sample
def load_sample(name: str) -> DataSet:
    """Return a data set that comes with the project.

    Parameters
    ----------
    name
        One of `SAMPLES`.

    Returns
    -------
    DataSet
        Public records, some held out.

    Examples
    --------
    >>> len(load_sample("nhanes-stroke").train)
    4204
    """
    records, share = _records(name), SAMPLES[name].test_share
    train, test = (records, _records(f"{name}-test")) if share is None else records.split(share, SPLIT_SEED)
    return DataSet(name, train, test, private=False)


def _records(name: str) -> Any:
    import sample_data  # here: slow to import, and users' own files do not need it
    from sample_data import generate

    if name == "generated-documents":
        return generate.corpus(22_000, 100, topics=20, vocabulary_size=4000, seed=0)[0]
    if name == "generated-cohort":
        return generate.stroke_cohort(seed=0)[0]
    if name == "generated-digits":
        return generate.digits(12_000, seed=0)[0]
    return sample_data.load(name)
