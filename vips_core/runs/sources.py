"""Where data come from: the shipped samples, or a user's files with what must be public about them."""

import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from vips_core.data import BinaryRows, Corpus, LabelledRows

Kind = TypeVar("Kind", Corpus, LabelledRows, BinaryRows)
SAMPLE_SPLIT_SEED = 0


def sample(name: str) -> Any | None:
    """Return (train, test) of a shipped sample, or None where `name` is not one. Samples are public data."""
    import sample_data  # here: a user with own files does not pay for it

    shares = {"sotu": 0.1, "nhanes-stroke": 0.2}
    if name in shares:
        return sample_data.load(name).split(shares[name], SAMPLE_SPLIT_SEED)
    if name == "mnist":
        return sample_data.load("mnist"), sample_data.load("mnist-test")
    return None


def samples_or_files(
    data: str, test: str | None, kind: type[Kind], read: Callable[[Path], Kind]
) -> tuple[Kind, Kind | None]:
    """Return training records, and held-out ones that are public: a sample's, or a file declared as such."""
    found = sample(data)
    if found is None:
        return read(_existing(data)), None if test is None else read(_existing(test))
    if not isinstance(found[0], kind):
        raise ValueError(f"the sample {data!r} is not a {kind.__name__}, which this model needs")
    return found if test is None else (found[0], read(_existing(test)))


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


def _existing(name: str) -> Path:
    path = Path(name)
    if not path.exists():
        raise ValueError(f"data must be sotu, nhanes-stroke, mnist or an existing file, got {name!r}")
    return path


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
