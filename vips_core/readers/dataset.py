"""Records under a name."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class DataSet:
    """Training records, and public held-out records where there are some.

    Attributes
    ----------
    name
        As the user calls it.
    train, test
        Records of one type; `test` is None where nothing is held out.
    private
        Whether the training records need protection; samples and generated ones do not.
    """

    name: str
    train: Any
    test: Any
    private: bool
