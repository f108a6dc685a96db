"""Words of small corpora, and their counts."""

import numpy as np
from scipy import sparse

from vips_core.records import Documents, Images, Table

WORDS = ("cat", "dog", "owl")


def dense(corpus: Documents) -> np.ndarray:
    return sparse.csr_array(
        (corpus.counts, corpus.indices, corpus.indptr), shape=(len(corpus), len(corpus.vocabulary))
    ).toarray()


def held_arrays(data: Documents | Table | Images) -> list[np.ndarray]:
    if isinstance(data, Documents):
        return [data.indptr, data.indices, data.counts]
    if isinstance(data, Images):
        return [data.bits]
    parts = [data.x.data, data.x.indices, data.x.indptr] if sparse.issparse(data.x) else [data.x]
    return [*parts, data.y]
