"""Where data come from: the shipped samples, or a user's files with what must be public about them."""

import tomllib
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vips_core.data import BinaryRows, Corpus, LabelledRows
from vips_core.runs.options import Option

SPLIT_SEED = 0


@dataclass(frozen=True)
class DataSet:
    """Training records, and public held-out records where there are some.

    Attributes
    ----------
    name
        As the user calls it.
    private
        Whether the training records need protection; samples and generated ones do not.
    """

    name: str
    train: Any
    test: Any
    private: bool


@dataclass(frozen=True)
class BuiltIn:
    """Public records that come with the project; `records` of them are for training."""

    kind: type
    help: str
    records: int
    load: Callable[[], tuple[Any, Any]]


def _split_sample(name: str, share: float) -> tuple[Any, Any]:
    import sample_data  # here: a user with own files does not pay for it

    train, test = sample_data.load(name).split(share, SPLIT_SEED)
    return train, test


def _mnist() -> tuple[BinaryRows, BinaryRows]:
    import sample_data

    return sample_data.load("mnist"), sample_data.load("mnist-test")


def _generated_documents() -> tuple[Corpus, Corpus]:
    from sample_data import generate

    return generate.corpus(22_000, 100, topics=20, vocabulary_size=4000, seed=0)[0].split(0.1, SPLIT_SEED)


def _generated_cohort() -> tuple[LabelledRows, LabelledRows]:
    from sample_data import generate

    return generate.stroke_cohort(seed=0)[0].split(0.2, SPLIT_SEED)


def _generated_digits() -> tuple[BinaryRows, BinaryRows]:
    from sample_data import generate

    return generate.digits(12_000, seed=0)[0].split(1 / 6, SPLIT_SEED)


BUILT_IN: Mapping[str, BuiltIn] = {
    "sotu": BuiltIn(Corpus, "State of the Union addresses", 18_963, lambda: _split_sample("sotu", 0.1)),
    "nhanes-stroke": BuiltIn(
        LabelledRows, "NHANES, who had a stroke", 4_204, lambda: _split_sample("nhanes-stroke", 0.2)
    ),
    "mnist": BuiltIn(BinaryRows, "MNIST digits", 60_000, _mnist),
    "generated-documents": BuiltIn(
        Corpus, "22,000 documents with known topics", 19_800, _generated_documents
    ),
    "generated-cohort": BuiltIn(
        LabelledRows, "a cohort of the paper's shape, 10,069 × 4,146", 10_069, _generated_cohort
    ),
    "generated-digits": BuiltIn(BinaryRows, "12,000 drawn digits", 10_000, _generated_digits),
}

# What must be said of a file, because it must not be learned from private records.
FILE_OPTIONS: Mapping[type, Mapping[str, Option]] = {
    Corpus: {
        "vocabulary": Option(str, "file of public words, one per line (default: common English)"),
        "column": Option(str, "column of a CSV with one document per row"),
    },
    LabelledRows: {
        "target": Option(str, "column of a CSV with the 0/1 label"),
        "schema": Option(str, "TOML file with the public range of each predictor"),
    },
    BinaryRows: {"threshold": Option(float, "grey pixels above are 1", 127.0)},
}


def built_in(name: str) -> DataSet:
    """Return a data set that comes with the project."""
    train, test = BUILT_IN[name].load()
    return DataSet(name, train, test, private=False)


def read(kind: type, path: Path, options: Mapping[str, Any]) -> Any:
    """Read a user's file or folder, with what must be public about it."""
    if not path.exists():
        names = [name for name, sample in BUILT_IN.items() if sample.kind is kind]
        raise ValueError(f"data must be {', '.join(names)}, a known data set or a file, got {str(path)!r}")
    if kind is Corpus:
        words = options.get("vocabulary")
        return read_corpus(path, None if words is None else Path(words), options.get("column"))
    if kind is BinaryRows:
        return read_images(path, float(options.get("threshold", 127.0)))
    target, schema = options.get("target"), options.get("schema")
    if target is None or schema is None:
        raise ValueError("a CSV needs target, the label's column, and schema, the file of public ranges")
    return read_rows(path, target, Path(schema))


def read_corpus(path: Path, vocabulary: Path | None, column: str | None) -> Corpus:
    """Read documents from `.npz` counts, or from a text or CSV file with one document per line."""
    if path.suffix == ".npz":
        return _corpus_from_arrays(path)
    words = _words(vocabulary)
    if path.suffix == ".csv":
        return Corpus.from_texts(_csv_column(path, column), words)
    lines = path.read_text(encoding="utf-8").splitlines()
    return Corpus.from_texts(lines, words)


def read_rows(path: Path, target: str, schema: Path) -> LabelledRows:
    """Read labelled rows from a CSV with a schema of public ranges.

    The schema is TOML: a table `ranges` of column = [low, high], and optionally `may_be_missing`, a list of
    columns, and `norm_bound`.
    """
    import pandas as pd

    with schema.open("rb") as file:
        try:
            content = tomllib.load(file)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"the schema {schema.name} is not TOML: {error}") from None
    unknown = set(content) - {"ranges", "may_be_missing", "norm_bound"}
    if unknown or not isinstance(content.get("ranges"), dict):
        raise ValueError(
            f"the schema {schema.name} must have a table ranges, and may have may_be_missing and norm_bound; "
            f"got {sorted(content)}"
        )
    ranges = {str(name): _pair(name, value) for name, value in content["ranges"].items()}
    frame = pd.read_csv(path)
    return LabelledRows.from_frame(
        frame, target, ranges, content.get("norm_bound"), tuple(content.get("may_be_missing", ()))
    )


def read_images(path: Path, threshold: float) -> BinaryRows:
    """Read a folder of PNG files of one size, or an `.npz` whose array `images` is n × h × w."""
    if path.is_dir():
        return BinaryRows.from_images(_png_folder(path), threshold)
    arrays = _load_npz(path)
    if "images" not in arrays:
        raise ValueError(f"{path.name} must hold an array named images, got {sorted(arrays)}")
    return BinaryRows.from_images(arrays["images"], threshold)


def _load_npz(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return dict(arrays)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path.name} is not a readable .npz of plain arrays: {error}") from None


def _corpus_from_arrays(path: Path) -> Corpus:
    arrays = _load_npz(path)
    missing = {"indptr", "indices", "counts", "vocabulary"} - set(arrays)
    if missing:
        raise ValueError(
            f"{path.name} must hold indptr, indices, counts and vocabulary; it lacks {sorted(missing)}"
        )
    words = tuple(str(word) for word in arrays["vocabulary"])
    return Corpus(arrays["indptr"], arrays["indices"], arrays["counts"], words)


def _words(vocabulary: Path | None) -> tuple[str, ...]:
    """Words of a public file, one per line; without one, the 6,000 most common English words that we ship."""
    if vocabulary is None:
        import sample_data

        return sample_data.english_words()[:6000]
    return tuple(vocabulary.read_text(encoding="utf-8").split())


def _csv_column(path: Path, column: str | None) -> list[str]:
    import pandas as pd

    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    chosen = frame.columns[0] if column is None and len(frame.columns) == 1 else column
    if chosen not in frame.columns:
        raise ValueError(
            f"name the column with the documents: {path.name} has {list(frame.columns)}, got {column!r}"
        )
    return list(frame[chosen])


def _pair(name: str, value: Any) -> tuple[float, float]:
    if not (isinstance(value, list) and len(value) == 2 and all(isinstance(v, int | float) for v in value)):
        raise ValueError(f"the range of {name!r} must be [low, high], got {value!r}")
    return float(value[0]), float(value[1])


def _png_folder(folder: Path) -> Any:
    from PIL import Image, UnidentifiedImageError

    files = sorted(folder.glob("*.png"))
    if not files:
        raise ValueError(f"the folder {folder.name} must hold PNG images, got none")
    images = []
    for file in files:
        try:
            with Image.open(file) as image:
                images.append(np.asarray(image.convert("L")))
        except (UnidentifiedImageError, OSError):
            raise ValueError(f"{file.name} is not a readable PNG image") from None
        if images[-1].shape != images[0].shape:
            raise ValueError(
                f"images must have one size, got {images[0].shape} and, in {file.name}, {images[-1].shape}"
            )
    return np.stack(images)
