"""A user's file or folder becomes records, given what must be public about it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vips_core.data import BinaryRows, Corpus, LabelledRows
from vips_core.options import Option
from vips_core.readers.documents import COUNT_ARRAYS, read_documents
from vips_core.readers.images import IMAGE_ARRAY, read_images
from vips_core.readers.samples import BUILT_IN
from vips_core.readers.tables import read_table

PERSON = "person"
ARRAYS = (*COUNT_ARRAYS, IMAGE_ARRAY)  # of an .npz, that hold records
_PERSON = Option(
    str,
    "column of a CSV (or array of an .npz) that names the person: all records with one value are protected "
    "together",
)
# What a file may be, in the words of `--help`.
FORMATS: Mapping[type, str] = {
    Corpus: "a .txt with one document per line, a .csv, or an .npz with indptr, indices, counts, vocabulary",
    LabelledRows: "a .csv with a header and commas",
    BinaryRows: "a folder of .png of one size, or an .npz whose array images is n × height × width",
}
# What must be said of a file, because it must not be learned from private records.
FILE_OPTIONS: Mapping[type, Mapping[str, Option]] = {
    Corpus: {
        "vocabulary": Option(
            str, "file of public words, one per line, frequent ones first if known (default: common English)"
        ),
        "column": Option(str, "column of a CSV with one document per row"),
        PERSON: _PERSON,
    },
    LabelledRows: {
        "target": Option(str, "column of a CSV with the 0/1 label"),
        "schema": Option(str, "TOML file with the public range of each predictor"),
        PERSON: _PERSON,
    },
    BinaryRows: {"threshold": Option(float, "grey pixels above are 1", 127.0), PERSON: _PERSON},
}
_READERS: Mapping[type, Callable[..., Any]] = {
    Corpus: read_documents,
    LabelledRows: read_table,
    BinaryRows: read_images,
}


def read(data_type: type, path: Path, options: Mapping[str, Any]) -> Any:
    """Read a user's file or folder.

    Parameters
    ----------
    data_type
        What to make of it: `Corpus`, `LabelledRows` or `BinaryRows`.
    path
        A file, or a folder of images.
    options
        What is public about it, of `FILE_OPTIONS`.

    Returns
    -------
    Corpus, LabelledRows or BinaryRows
        The records; `ValueError` with one sentence where the file has none.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = Path(folder.name) / "letters.txt"
    >>> _ = file.write_text("A letter about rain and sun", encoding="utf-8")
    >>> len(read(Corpus, file, {}))
    1
    >>> folder.cleanup()
    """
    if not path.exists():
        names = [name for name, sample in BUILT_IN.items() if sample.data_type is data_type]
        raise ValueError(f"data must be {', '.join(names)}, a known data set or a file, got {str(path)!r}")
    return _READERS[data_type](path, **checked(data_type, options))


def checked(data_type: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a file as its readers take them, those left out by their defaults."""
    known = FILE_OPTIONS[data_type]
    given = {name: known[name].check(name, value) for name, value in options.items() if value is not None}
    if data_type is LabelledRows and not {"target", "schema"} <= set(given):
        raise ValueError("a CSV needs target, the label's column, and schema, the file of public ranges")
    paths = {name: Path(given[name]) for name in ("vocabulary", "schema") if name in given}
    return {name: option.default for name, option in known.items()} | given | paths
