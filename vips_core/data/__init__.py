"""The three kinds of private records: word counts, labelled rows and binary images.

A data set is validated when it is made, immutable afterwards, and sliced by a boolean mask only, as a Poisson
batch is drawn. What describes the records (vocabulary, ranges, norm bound, image shape) is a public input:
nothing here is learned from the records. `Sharded` is any of the three in many files.
"""

from vips_core.data.corpus import LETTERS, Corpus
from vips_core.data.images import BinaryRows
from vips_core.data.labelled import LabelledRows
from vips_core.data.sharded import Sharded, check_alike, kind_of

__all__ = ["LETTERS", "BinaryRows", "Corpus", "LabelledRows", "Sharded", "check_alike", "kind_of"]
