"""Text and tables of a user's file; `ValueError` with one sentence where they are none."""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHUNK_BYTES = 16 << 20  # of a file that is read some at a time


def read_text(path: Path) -> str:
    """Return a file's text, with its line ends as they are."""
    return decoded(path.read_bytes(), path)


def decoded(content: bytes, path: Path) -> str:
    """Return the text of some bytes of a file, without the mark that some programs begin it with."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_text(path, error) from None


def read_csv(path: Path, **options: Any) -> Any:
    """Return a CSV with a header as a frame; `options` are those of pandas."""
    import pandas as pd

    _first_lines(path, 2)
    with _one_sentence(path):
        return pd.read_csv(path, **options)


def read_header(path: Path) -> list[str]:
    """Return the names of a CSV's columns as they are written, where pandas renames the second of two."""
    return [str(name) for name in _first_lines(path, 1).iloc[0]]


def csv_chunks(path: Path, **options: Any) -> Iterator[tuple[Any, int]]:
    """Return the rows of a CSV some at a time, each time with how many bytes have been read."""
    import pandas as pd

    columns = _first_lines(path, 2).shape[1]
    with path.open("rb") as file, _one_sentence(path):
        rows = max(100, CHUNK_BYTES // (8 * columns))
        packed = "gzip" if path.suffix.lower() == ".gz" else None
        with pd.read_csv(file, compression=packed, chunksize=rows, **options) as frames:
            while (frame := next(frames, None)) is not None:
                yield frame, file.tell()


def _first_lines(path: Path, count: int) -> Any:
    """Return the header, and with it a first row, which is refused where it is longer than the header.

    pandas would take the first values of all rows for their names, and move the others to the column before.
    """
    import pandas as pd

    with _one_sentence(path):
        return pd.read_csv(path, header=None, nrows=count, dtype=str, keep_default_na=False)


@contextmanager
def _one_sentence(path: Path) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        raise _not_text(path, error) from None
    except (ValueError, EOFError, zlib.error, zipfile.BadZipFile) as error:  # of several lines, or packed
        raise ValueError(f"{path.name} is not a readable CSV: {' '.join(str(error).split())}") from None


def _not_text(path: Path, error: UnicodeDecodeError) -> ValueError:
    return ValueError(f"{path.name} is not text in UTF-8: {error.reason} at byte {error.start}")
