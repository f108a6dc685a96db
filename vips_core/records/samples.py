"""The data sets that come with the project: real samples, and generated ones with known truth."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from vips_core.records.base import DataSet
from vips_core.records.documents import Documents
from vips_core.records.images import Images
from vips_core.records.table import Table

SPLIT_SEED = 0


@dataclass(frozen=True)
class Sample:
    """A public data set that comes with the project; `records` counts its training records."""

    kind: str
    help: str
    records: int
    load: Callable[[], tuple[Any, Any]]


def samples_of(kind: str) -> list[str]:
    """Return the names of the samples of one kind."""
    return [name for name, sample in SAMPLES.items() if sample.kind == kind]


@functools.lru_cache(maxsize=4)  # records are immutable, and many runs use the same sample
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
    train, test = SAMPLES[name].load()
    return DataSet(name, train, test, private=False)


def _split_sample(name: str, share: float) -> tuple[Any, Any]:
    import sample_data  # here: slow to import, and own files do not need it

    train, test = sample_data.load(name).split(share, SPLIT_SEED)
    return train, test


def _mnist() -> tuple[Images, Images]:
    import sample_data

    return sample_data.load("mnist"), sample_data.load("mnist-test")


def _generated_documents() -> tuple[Documents, Documents]:
    from sample_data import generate

    return generate.corpus(22_000, 100, topics=20, vocabulary_size=4000, seed=0)[0].split(0.1, SPLIT_SEED)


def _generated_cohort() -> tuple[Table, Table]:
    from sample_data import generate

    return generate.stroke_cohort(seed=0)[0].split(0.2, SPLIT_SEED)


def _generated_digits() -> tuple[Images, Images]:
    from sample_data import generate

    return generate.digits(12_000, seed=0)[0].split(1 / 6, SPLIT_SEED)


SAMPLES: Mapping[str, Sample] = {
    "sotu": Sample("documents", "State of the Union addresses", 18_963, lambda: _split_sample("sotu", 0.1)),
    "nhanes-stroke": Sample(
        "table", "NHANES, who had a stroke", 4_204, lambda: _split_sample("nhanes-stroke", 0.2)
    ),
    "mnist": Sample("images", "MNIST digits", 60_000, _mnist),
    "generated-documents": Sample(
        "documents", "22,000 documents with known topics", 19_800, _generated_documents
    ),
    "generated-cohort": Sample(
        "table", "a cohort of the paper's shape, 10,069 × 4,146", 10_069, _generated_cohort
    ),
    "generated-digits": Sample("images", "12,000 drawn digits", 10_000, _generated_digits),
}
