"""Public knowledge of English: words by frequency, and word vectors."""

import functools
from pathlib import Path

import numpy as np

from vips_core.kernels import Array
from vips_core.records.base import frozen
from vips_core.records.files.npz import load_arrays

ENGLISH_FILE = Path(__file__).with_name("english.txt")
VECTOR_FILE = Path(__file__).with_name("english_vectors.npz")


@functools.cache
def english_words() -> tuple[str, ...]:
    """Return the public English vocabulary, most frequent first, without stop words.

    The list is that of `wordfreq` 3.1.1 (R. Speer, CC BY-SA 4.0); `sample_data/make.py` made the file.

    Returns
    -------
    tuple of str
        10,000 words in lower case.

    Examples
    --------
    >>> english_words()[:3]
    ('time', 'new', 'people')
    """
    return tuple(ENGLISH_FILE.read_text(encoding="utf-8").split())


@functools.lru_cache(maxsize=4)
def word_vectors(vocabulary: tuple[str, ...]) -> Array:
    """Return a vector for each word. Words that occur in similar public texts have similar vectors.

    The vectors are those of GloVe (J. Pennington, R. Socher and C. D. Manning, public domain), learned from
    Wikipedia of 2014 and newspapers, and reduced to 32 dimensions; `sample_data/make.py` made the file.

    Parameters
    ----------
    vocabulary
        The words.

    Returns
    -------
    array
        Words × dimensions, read-only; zeros for words without a vector.

    Examples
    --------
    >>> doctor, nurse, river, _ = word_vectors(("doctor", "nurse", "river", "qwxz"))
    >>> bool(doctor @ nurse > doctor @ river)
    True
    """
    places, known = _vectors()
    rows = np.array([places.get(word.lower(), len(known) - 1) for word in vocabulary], np.int64)
    vectors: Array = frozen(known[rows])
    return vectors


@functools.cache
def _vectors() -> tuple[dict[str, int], Array]:
    """Return each known word's row number, and the vectors, followed by a row of zeros."""
    arrays = load_arrays(VECTOR_FILE)
    vectors = np.vstack([arrays["steps"] * arrays["step"].astype(np.float64), np.zeros(arrays["step"].size)])
    return {word: place for place, word in enumerate(str(arrays["words"]).split("\n"))}, vectors
