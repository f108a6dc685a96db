"""Where records come from: the samples that are shipped, or a user's files with what is public about them."""

from vips_core.readers.files import ARRAYS, FILE_OPTIONS, FORMATS, PERSON, read
from vips_core.readers.samples import BUILT_IN, DataSet, built_in
from vips_core.readers.sharding import shard
from vips_core.readers.sources import source_persons, source_rows

__all__ = [
    "ARRAYS",
    "BUILT_IN",
    "FILE_OPTIONS",
    "FORMATS",
    "PERSON",
    "DataSet",
    "built_in",
    "read",
    "shard",
    "source_persons",
    "source_rows",
]
