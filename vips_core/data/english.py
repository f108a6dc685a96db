"""Public knowledge of English: its words, the most frequent first."""

import functools
from pathlib import Path

ENGLISH_FILE = Path(__file__).with_name("english.txt")


@functools.cache
def english_words() -> tuple[str, ...]:
    """Return the public English vocabulary, most frequent first, without stop words.

    The list is that of `wordfreq` 3.1.1 (R. Speer, CC BY-SA 4.0); `sample_data/make.py` made the file.

    Returns
    -------
    tuple of str
        10,000 words in small letters.

    Examples
    --------
    >>> english_words()[:3]
    ('time', 'new', 'people')
    """
    return tuple(ENGLISH_FILE.read_text(encoding="utf-8").split())
