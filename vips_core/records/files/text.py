"""Text and tables of a user's file, in bounded memory; `ValueError` with one sentence if they are malformed.

Lines and the bytes of a row are bounded: a file of zeros, or a quote that is never closed, would fill the
memory. Errors quote nothing of the file but names of columns.
"""

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import IO, Any

from vips_core import files

CHUNK_BYTES = 16 << 20  # bytes of a file that are read at a time
MOST_LINE = 16 << 20  # bytes of a line: a longer one is not text
# Lines of a text or rows of a CSV in memory, where a short one takes many times its bytes in the file.
MOST_ROWS = 20_000_000
MOST_COLUMNS = 10_000  # of a CSV; pandas takes 3 kB of memory for each
SHARDS = "cut it into shards with vips-explorer data shard"
_LINE_END = re.compile(r"\r?\n")  # unlike str.splitlines, which also splits at form feeds and the like
_BLOCK = 1 << 20  # bytes that are read at once
_COUNTS = re.compile(r"Expected \d+ fields in line \d+, saw \d+|EOF inside string starting at row \d+")


class _Refused(ValueError):
    """A refused file, with a reason that quotes nothing of it."""


def read_text(path: Path, most_bytes: int) -> str:
    """Return the text of a file of at most `most_bytes` bytes, with unchanged line ends."""
    return _decoded(files.read_bytes(path, most_bytes), path, "utf-8-sig", 0)


def read_lines(path: Path) -> Iterator[str]:
    """Return the lines of a text that fits in memory."""
    files.bounded(path, files.MOST_RECORDS, SHARDS)
    for number, line in enumerate(lines(path)):
        if number == MOST_ROWS:
            raise ValueError(f"{path.name} {_TOO_MANY}")
        yield line


def lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text of any size."""
    return chain.from_iterable(some for some, _ in line_chunks(path))


def line_chunks(path: Path) -> Iterator[tuple[list[str], int]]:
    """Yield the lines of a text in chunks, each with the bytes read so far.

    What follows the last line end counts as a line only if it is not empty.
    """
    files.regular_size(path)
    rest, start, codec = b"", 0, "utf-8-sig"
    with path.open("rb") as file:
        while block := file.read(CHUNK_BYTES):
            end = block.rfind(b"\n") + 1
            whole, rest = (rest + block[:end], block[end:]) if end else (b"", rest + block)
            if len(rest) > MOST_LINE:
                raise ValueError(f"{path.name} {_TOO_LONG}")
            if whole:
                yield _LINE_END.split(_decoded(whole, path, codec, start))[:-1], file.tell()
                start, codec = start + len(whole), "utf-8"
        if rest:
            yield [_decoded(rest, path, codec, start)], start + len(rest)


def read_header(path: Path) -> list[str]:
    """Return the names of a CSV's columns as written; pandas would rename repeated ones."""
    with _opened(path) as (_, file), _one_sentence(path.name):
        return _header(file)


def csv_chunks(path: Path, *, whole: bool = False, **options: Any) -> Iterator[tuple[Any, int]]:
    """Yield the rows of a CSV as frames, each with the bytes of the file read so far.

    Parameters
    ----------
    path
        The CSV, with a header.
    whole
        Whether to return all rows in one frame, if they fit in memory; otherwise in chunks.
    options
        Options of `pandas.read_csv`.
    """
    import pandas as pd

    if whole:
        files.bounded(path, files.MOST_RECORDS, SHARDS)
    row_bytes = 8 * len(read_header(path))  # in memory, as numbers
    with _opened(path) as (_, file), _one_sentence(path.name):
        # Refuses a first row that is longer than the header: pandas would take its first value for a name.
        pd.read_csv(file, header=None, nrows=2, dtype=str)
    with _opened(path) as (counted, file), _one_sentence(path.name):
        start = file.peek(_BLOCK)
        rows = CHUNK_BYTES // max(row_bytes, len(start) // max(1, start.count(b"\n")))
        with pd.read_csv(file, iterator=True, **options) as frames, suppress(StopIteration):
            while True:
                frame = frames.get_chunk(MOST_ROWS + 1 if whole else max(1, rows))
                if whole and len(frame) > MOST_ROWS:
                    raise _Refused(_TOO_MANY)
                rows = CHUNK_BYTES // max(row_bytes, counted.held // max(1, len(frame)))
                counted.held = 0
                yield frame, counted.file.tell()


def pandas_columns(content: bytes) -> list[str]:
    """Return the names of a CSV's columns as pandas calls them."""
    import pandas as pd

    with _one_sentence("the file"):
        _header(io.BytesIO(content))
        return [str(name) for name in pd.read_csv(io.BytesIO(content), nrows=0).columns]


class _Counted(io.RawIOBase):
    """The bytes of a CSV, unpacked if its name ends in .gz, until a line or a row has too many."""

    def __init__(self, path: Path) -> None:
        files.regular_size(path)
        self.file = path.open("rb")
        packed = path.suffix.lower() == ".gz"
        self._content: io.BufferedIOBase = gzip.GzipFile(fileobj=self.file) if packed else self.file
        self._line = 0
        self.held = 0  # bytes read since the last rows were taken

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._content.read(len(buffer))
        end = max(content.rfind(b"\n"), content.rfind(b"\r"))
        self._line = len(content) - end - 1 + (self._line if end < 0 else 0)
        self.held += len(content)
        if self._line > MOST_LINE:
            raise _Refused(_TOO_LONG)
        if self.held > files.MOST_RECORDS:
            most = files.written_size(files.MOST_RECORDS)
            raise _Refused(
                f"must not have more than {most} to be read at once: perhaps a quote is not closed"
            )
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        self.file.close()
        super().close()


_TOO_MANY = f"must have at most {MOST_ROWS:,} rows: {SHARDS}"
_TOO_LONG = f"must not have a line of more than {files.written_size(MOST_LINE)}"


@contextmanager
def _opened(path: Path) -> Iterator[tuple[_Counted, io.BufferedReader]]:
    with closing(_Counted(path)) as counted:
        yield counted, io.BufferedReader(counted, _BLOCK)


def _header(file: IO[bytes]) -> list[str]:
    """Return the first row, refused if it has too many columns: pandas would allocate memory for each."""
    text = io.TextIOWrapper(file, "utf-8-sig", newline="")
    header = next(
        (row for row in csv.reader(text) if row == [""] or "".join(row).strip() or len(row) > 1), []
    )
    if not header:
        raise _Refused("is not a readable CSV: it has no columns")
    if len(header) > MOST_COLUMNS:
        raise _Refused(f"must have at most {MOST_COLUMNS:,} columns, got {len(header):,}")
    return header


@contextmanager
def _one_sentence(name: str) -> Iterator[None]:
    try:
        yield
    except _Refused as error:
        raise ValueError(f"{name} {error}") from None
    except UnicodeDecodeError as error:
        raise _not_text(name, error.reason, error.start) from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise ValueError(f"{name} is not a readable CSV: it is not a gzip file, or it is damaged") from None
    except (ValueError, csv.Error) as error:  # the message may quote the file
        found = _COUNTS.search(str(error))
        why = found[0] if found else "its quotes or commas do not match"
        raise ValueError(f"{name} is not a readable CSV: {why}") from None


def _decoded(content: bytes, path: Path, codec: str, start: int) -> str:
    """Decode some bytes of a file; "utf-8-sig" drops the byte order mark that some files begin with."""
    try:
        return content.decode(codec)
    except UnicodeDecodeError as error:
        raise _not_text(path.name, error.reason, start + error.start) from None


def _not_text(name: str, reason: str, byte: int) -> ValueError:
    return ValueError(f"{name} is not text in UTF-8: {reason} at byte {byte}")
