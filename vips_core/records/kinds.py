"""The three kinds of records: names, file formats, and the options that describe a file."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from vips_core.options import Option
from vips_core.records.base import Records
from vips_core.records.documents import Documents
from vips_core.records.files import documents, images, table
from vips_core.records.files.identification import source_persons
from vips_core.records.images import Images
from vips_core.records.table import Table

PERSON = "person"
_PERSON = Option(
    str,
    "column of a CSV (or array of an .npz) that names the person: all records with the same value are "
    "protected together",
)


@dataclass(frozen=True)
class Kind:
    """One kind of records.

    Attributes
    ----------
    records_type
        Class of the records.
    record
        What one record is called.
    help
        What the kind holds, in a few words.
    formats
        The file formats that it is read from, as `--help` lists them.
    endings, upload_help, several_files
        What an upload accepts: file endings, a help text, and whether it may be several files.
    options
        What the user must state about a file, because nothing may be learned from private records.
    chunks
        Reads a path, given `options`: yields records, the person of each, and the bytes read so far; all
        records at once if `whole`, otherwise in chunks.
    source_rows
        Reads a path: yields bytes that identify each row.

    Examples
    --------
    >>> KINDS["table"].unit()
    'one row of the file'
    >>> KINDS["table"].unit("patient")
    'one person (all rows with the same value of patient)'
    >>> KINDS["table"].unit("patient", "trial 7")
    'one person (all rows with the same value of patient, as numbered in trial 7)'
    """

    records_type: type[Records]
    record: str
    help: str
    formats: str
    endings: tuple[str, ...]
    upload_help: str
    options: Mapping[str, Option]
    chunks: Callable[..., Iterator[tuple[Any, Any, int]]]
    source_rows: Callable[[Path], Iterator[bytes]]
    several_files: bool = False

    @property
    def name(self) -> str:
        """Name in commands and the store."""
        return self.records_type.kind

    def unit(self, person: str | None = None, namespace: str | None = None) -> str:
        """Return what the guarantee protects, as the code enforces it.

        Parameters
        ----------
        person
            The column (or array) that names the person, None if there is none.
        namespace
            The study that assigned the identifiers; None if they mean the same person in all data sets.
        """
        if person is None:
            return f"one {self.record} of the file"
        study = "" if namespace is None else f", as numbered in {namespace}"
        return f"one person (all {self.record}s with the same value of {person}{study})"

    def checked(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of a file as its readers take them, with defaults filled in."""
        given = {
            name: self.options[name].check(name, value)
            for name, value in options.items()
            if value is not None
        }
        return {name: option.default for name, option in self.options.items()} | given

    def identifying(
        self, paths: Iterable[Path], person: str | None
    ) -> tuple[Iterator[bytes], Iterator[bytes]]:
        """Return bytes that identify each row of some files, and each person if `person` names them."""
        rows = (self.source_rows(path) for path in paths)
        persons = () if person is None else (source_persons(path, person) for path in paths)
        return chain.from_iterable(rows), chain.from_iterable(persons)

    def read_file(self, path: Path, options: Mapping[str, Any]) -> Any:
        """Read a user's file or folder.

        Parameters
        ----------
        path
            A file, or a folder of images.
        options
            Public facts about it, by the names of `options`.

        Returns
        -------
        Documents, Table or Images
            The records; `ValueError` with one sentence if the file has none.

        Examples
        --------
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> file = Path(folder.name) / "letters.txt"
        >>> _ = file.write_text("A letter about rain and sun", encoding="utf-8")
        >>> len(KINDS["documents"].read_file(file, {}))
        1
        >>> folder.cleanup()
        """
        if not path.exists():
            raise ValueError(f"there is no file {str(path)!r}")
        records, persons, _ = next(self.chunks(path, **self.checked(options), whole=True))
        return records if persons is None else records.concatenated([records], persons)


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            Documents,
            "document",
            "texts as word counts",
            "a .txt with one document per line, a .csv, or an .npz with indptr, indices, counts, vocabulary",
            ("txt", "csv", "npz"),
            "A text file with one document per line, a CSV with a column of texts, or an .npz with the "
            "arrays indptr, indices, counts and vocabulary.",
            {
                "vocabulary": Option(
                    str,
                    "file of public words, one per line, frequent ones first if known "
                    "(default: common English)",
                ),
                "column": Option(str, "column of a CSV with one document per row"),
                PERSON: _PERSON,
            },
            documents.chunks,
            documents.source_rows,
        ),
        Kind(
            Table,
            "row",
            "rows of features with a 0/1 label",
            "a .csv with a header and commas",
            ("csv",),
            "A CSV with a header, one row per record, and a column that is 0 or 1.",
            {
                "target": Option(str, "column of a CSV with the 0/1 label"),
                "schema": Option(str, "TOML file with the public range of each predictor"),
                PERSON: _PERSON,
            },
            table.chunks,
            table.source_rows,
        ),
        Kind(
            Images,
            "image",
            "binary images of one size",
            "a folder of .png of one size, or an .npz whose array images is n × height × width",
            ("png", "npz"),
            "PNG files of one size, or an .npz with an array images (n × h × w).",
            {"threshold": Option(float, "grey value above which a pixel is 1", 127.0), PERSON: _PERSON},
            images.chunks,
            images.source_rows,
            several_files=True,
        ),
    )
}
