"""The three kinds of private records: documents as word counts, tables with labels, and binary images.

Records are validated once, then immutable, and sliced only by a boolean mask, as Poisson batches are drawn.
Their description (vocabulary, ranges, norm bound, image shape) is a public input: nothing here is learned
from the records. `Sharded` holds records of any kind in many files.
"""

from vips_core.records.base import DataSet, check_alike
from vips_core.records.documents import LETTERS, Documents
from vips_core.records.images import Images
from vips_core.records.kinds import KINDS, PERSON, Kind
from vips_core.records.shards import Sharded
from vips_core.records.table import Table

__all__ = [
    "KINDS",
    "LETTERS",
    "PERSON",
    "DataSet",
    "Documents",
    "Images",
    "Kind",
    "Sharded",
    "Table",
    "check_alike",
]
